//! Nothing outside `models/` depends on the name or on the kind of a model: families declare what others ask.

mod rust_source;

use nigh::models::catalog::MODELS;
use rust_source::{code_of, literals_of, rust_files, without_tests};
use std::fs;
use std::path::Path;

/// The crates that are searched. Their tests, and the help texts of the program, may name models.
const CRATES: [&str; 4] = ["nigh", "nigh-paper", "nigh-cli", "nigh-python"];

/// Kinds of models, which only families may test for.
const KINDS: [&str; 5] =
    ["Head::Gated", "Head::Attention", "Decoder::Proximity", "Decoder::Graph", "architecture().heuristic.is_"];

#[test]
fn no_code_outside_models_names_a_model_or_tests_for_its_kind() {
    let mut problems = Vec::new();
    for name in CRATES {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src");
        for path in rust_files(&folder) {
            let inside = path.strip_prefix(&folder).unwrap();
            let may_name = |part: &str| inside.components().any(|component| component.as_os_str() == part);
            if may_name("tests") || may_name("tests.rs") || inside.starts_with("models") || inside.starts_with("cli") {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let named = literals_of(&text).into_iter().filter_map(|(line, text)| Some((line, model_in(&text)?)));
            let code = without_tests(&code_of(&text));
            let lines = code.lines().enumerate();
            let kinds =
                lines.filter_map(|(at, line)| Some((at + 1, *KINDS.iter().find(|kind| line.contains(**kind))?)));
            let all = named.chain(kinds);
            problems.extend(all.map(|(line, found)| format!("{}:{line}: {found}", path.display())));
        }
    }
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn names_are_found_in_literals_and_not_in_comments_tests_or_addresses() {
    let text = r##"
        //! "gcn" in a comment
        fn f() -> &'static str { "gcn" }
        const MORE: [&str; 2] = ["take smp-linear, or not", r#"katz"#];
        const ADDRESS: &str = "https://example.org/graphsage/ppi.zip";
        #[cfg(test)]
        mod tests { const NAME: &str = "gat"; }
    "##;
    let found: Vec<_> =
        literals_of(text).into_iter().filter_map(|(line, text)| Some((line, model_in(&text)?))).collect();
    assert_eq!(found, [(3, "gcn"), (4, "smp-linear"), (4, "katz")]);
}

/// The first model that a text names.
fn model_in(text: &str) -> Option<&'static str> {
    let is_name = |c: char| c.is_alphanumeric() || "-_/.".contains(c);
    let mut words = text.split(|c| !is_name(c)).map(|word| word.trim_end_matches('.'));
    words.find_map(|word| MODELS.iter().map(|model| model.name).find(|name| *name == word))
}
