//! No module reaches up the order of layers that lib.rs states.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn no_module_reaches_up_the_layers() {
    let library = Library::read();
    let mut problems = Vec::new();
    for path in rust_files(&library.folder) {
        let module = module_of(&library.folder, &path);
        if module.is_empty() || library.test_modules.iter().any(|tests| module.starts_with(tests)) {
            continue;
        }
        let code = without_tests(&code_of(&fs::read_to_string(&path).unwrap()));
        for (name, line) in names_used(&code, module.len()) {
            if let Err(problem) = library.may_use(&module[0], &name) {
                problems.push(format!("{}:{line}: {problem}", path.strip_prefix(&library.folder).unwrap().display()));
            }
        }
    }
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn a_use_of_a_higher_layer_would_be_noticed() {
    let library = Library::read();
    assert_eq!(library.may_use("ops", "linalg"), Ok(()));
    assert_eq!(library.may_use("ops", "ops"), Ok(()));
    assert_eq!(library.may_use("graph", "source"), Err("graph uses source, which is above it".into()));
    assert_eq!(library.may_use("graph", "Signal"), Err("graph uses source, which is above it".into()));
    assert!(library.may_use("graph", "nonsense").unwrap_err().contains("not in the order"));
}

#[test]
fn the_order_names_every_module_once_and_nothing_else() {
    let library = Library::read();
    let mut modules = library.modules.clone();
    let mut order = library.order.clone();
    modules.sort();
    order.sort();
    assert_eq!(order, modules, "the line `Layers:` in lib.rs against its modules");
}

#[test]
fn the_page_on_the_architecture_shows_the_layers_in_their_order() {
    let library = Library::read();
    let page = fs::read_to_string(library.folder.join("../../../docs/architecture.md")).unwrap();
    let picture =
        page.split("## Layers").nth(1).and_then(|rest| rest.split("\n## ").next()).expect("a section on layers");
    // Names stand before the gap of a line that is indented by four.
    let lines = picture.lines().filter_map(|line| line.strip_prefix("    "));
    let named: Vec<&str> =
        lines.flat_map(|line| line.split("   ").next().unwrap_or_default().split_whitespace()).collect();
    assert_eq!(named, library.order);
}

#[test]
fn what_is_used_is_found_wherever_it_is_written() {
    let text = r##"
        //! [`crate::above`] in a comment is none.
        use crate::{a::x, b::{self, y}, C as D};
        pub(crate) use crate :: d;
        fn f<'a>(x: &'a str) -> char { $crate::e::g!(x); let _ = "crate::above"; let _ = r#"crate::above " "#; '"' }
        #[cfg(test)]
        mod tests { use crate::above; fn f() { "}" } }
        #[cfg(all(test, unix))]
        use crate::above;
        #[cfg(test)]
        #[derive(Debug)]
        fn t() -> [u8; 1] { [crate::above::N] }
        mod inner { use super::f; }
        use super::h::i;
    "##;
    let code = without_tests(&code_of(text));
    let names = |depth| names_used(&code, depth).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(names(1), ["a", "b", "C", "d", "e", "h"]);
    assert_eq!(names(2), ["a", "b", "C", "d", "e"]);
    assert_eq!(names_used(&code, 2)[3], ("d".to_string(), 4));
}

/// What lib.rs says.
struct Library {
    folder: PathBuf,
    /// Lowest first.
    order: Vec<String>,
    modules: Vec<String>,
    /// Paths of modules that are compiled for tests alone.
    test_modules: Vec<Vec<String>>,
    /// Names at the root, and the modules that they come from.
    reexports: BTreeMap<String, String>,
}

impl Library {
    fn read() -> Library {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let text = fs::read_to_string(folder.join("lib.rs")).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("//! Layers: ")).expect("a line `//! Layers: ...`");
        let order = line.trim_end_matches('.').split(" < ").map(str::to_string).collect();
        let kept = without_tests(&code_of(&text));
        let modules = modules_in(&kept);
        let mut test_modules = Vec::new();
        for file in rust_files(&folder) {
            let all = code_of(&fs::read_to_string(&file).unwrap());
            let (path, kept) = (module_of(&folder, &file), modules_in(&without_tests(&all)));
            let tests = modules_in(&all).into_iter().filter(|module| !kept.contains(module));
            test_modules.extend(tests.map(|module| [&path[..], &[module]].concat()));
        }
        let mut reexports = BTreeMap::new();
        for statement in kept.split(';').filter_map(|statement| statement.split("pub use ").nth(1)) {
            // Another crate under a name of its own is no module.
            let Some((module, names)) = statement.split_once("::") else { continue };
            let names = names.rsplit_once('{').map_or_else(
                || names.rsplit("::").next().unwrap_or(names),
                |(_, names)| names.trim_end_matches(['}', ' ', '\n']),
            );
            for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
                reexports.insert(name.to_string(), module.trim().to_string());
            }
        }
        Library { folder, order, modules, test_modules, reexports }
    }

    /// The module that a name at the root comes from.
    fn module_behind<'a>(&'a self, name: &'a str) -> &'a str {
        self.reexports.get(name).map_or(name, String::as_str)
    }

    fn may_use(&self, module: &str, name: &str) -> Result<(), String> {
        let layer = |module: &str| {
            let place = self.order.iter().position(|name| name == module);
            place.ok_or_else(|| format!("`{module}` is not in the order of layers that lib.rs states"))
        };
        let used = self.module_behind(name);
        if layer(used)? > layer(module)? {
            return Err(format!("{module} uses {used}, which is above it"));
        }
        Ok(())
    }
}

fn modules_in(code: &str) -> Vec<String> {
    let words: Vec<&str> = code.split(|c: char| !is_word(c)).filter(|word| !word.is_empty()).collect();
    words.windows(2).filter(|pair| pair[0] == "mod").map(|pair| pair[1].to_string()).collect()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            files.extend(rust_files(&entry));
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            files.push(entry);
        }
    }
    files.sort();
    files
}

/// The path of the module in a file: `graph/eigen/block.rs` is `[graph, eigen, block]`, and `lib.rs` is nothing.
fn module_of(folder: &Path, file: &Path) -> Vec<String> {
    let path = file.strip_prefix(folder).unwrap().with_extension("");
    let parts = path.iter().map(|part| part.to_str().unwrap().to_string());
    parts.filter(|part| part != "mod" && part != "lib").collect()
}

/// A text without comments and with nothing between quotation marks; lines stay where they are.
fn code_of(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let (mut code, mut at) = (String::new(), 0);
    let skip = |code: &mut String, from: usize, to: usize| {
        code.extend(chars[from..to].iter().filter(|&&c| c == '\n'));
        to
    };
    while at < chars.len() {
        let rest = &chars[at..];
        let starts = |word: &str| word.chars().enumerate().all(|(i, c)| rest.get(i) == Some(&c));
        let find = |from: usize, end: &[char]| {
            let found = (from..chars.len()).find(|&at| chars[at..].starts_with(end));
            found.map_or(chars.len(), |found| found + end.len())
        };
        if starts("//") {
            at = skip(&mut code, at, find(at, &['\n']) - 1);
        } else if starts("/*") {
            at = skip(&mut code, at, find(at, &['*', '/']));
        } else if rest[0] == 'r' && matches!(rest.get(1), Some('"' | '#')) && !code.ends_with(is_word) {
            let marks = rest[1..].iter().take_while(|&&c| c == '#').count();
            let mut end = vec!['"'];
            end.extend(std::iter::repeat_n('#', marks));
            if rest.get(1 + marks) != Some(&'"') {
                // A raw identifier.
                code.push(rest[0]);
                at += 1;
                continue;
            }
            at = skip(&mut code, at, find(at + 2 + marks, &end));
        } else if rest[0] == '"' {
            let mut end = 1;
            while rest.get(end).is_some_and(|&c| c != '"') {
                end += if rest[end] == '\\' { 2 } else { 1 };
            }
            at = skip(&mut code, at, (at + end + 1).min(chars.len()));
        } else if rest[0] == '\'' && (rest.get(1) == Some(&'\\') || rest.get(2) == Some(&'\'')) {
            // A character, not a lifetime.
            let end = (2..rest.len()).find(|&end| rest[end] == '\'' && (end > 2 || rest[1] != '\\'));
            at += end.unwrap_or(rest.len() - 1) + 1;
        } else {
            code.push(rest[0]);
            at += 1;
        }
    }
    code
}

/// Without the items under `#[cfg(test)]` or `#[cfg(all(test, ...))]`; lines stay where they are.
fn without_tests(code: &str) -> String {
    let mut kept = String::new();
    let mut rest = code;
    while let Some(start) = ["#[cfg(test)]", "#[cfg(all(test"].iter().filter_map(|mark| rest.find(mark)).min() {
        kept.push_str(&rest[..start]);
        let after = rest[start..].split_once(']').map_or("", |(_, after)| after);
        // An item ends at a semicolon, or with the block that it opens.
        let (mut depth, mut end) = (0usize, after.len());
        for (at, c) in after.char_indices() {
            depth = match c {
                '(' | '[' | '{' => depth + 1,
                ')' | ']' | '}' => depth.saturating_sub(1),
                _ => depth,
            };
            if depth == 0 && (c == ';' || c == '}') {
                end = at + 1;
                break;
            }
        }
        kept.extend(after[..end].chars().filter(|&c| c == '\n'));
        rest = &after[end..];
    }
    kept + rest
}

/// The names at the root of the crate that code reaches for, `crate::X` or `super::X` from a module that is `depth` below the
/// root, and their lines.
fn names_used(code: &str, depth: usize) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for (at, word) in words(code) {
        let line = 1 + code[..at].matches('\n').count();
        let rest = match word {
            "crate" => &code[at + word.len()..],
            // One for each level, and not in a module within the file.
            "super" if nesting(code, at) == 0 && !code[..at].trim_end().ends_with("::") => {
                let mut rest = &code[at + word.len()..];
                for _ in 1..depth {
                    rest = after_colons(rest).and_then(|rest| rest.strip_prefix("super")).unwrap_or("");
                }
                rest
            }
            _ => continue,
        };
        let Some(rest) = after_colons(rest) else { continue };
        if let Some(group) = rest.strip_prefix('{') {
            for (at, word) in words(group) {
                let before = &group[..at];
                let (opened, closed) = (before.matches('{').count(), before.matches('}').count());
                if closed > opened {
                    break;
                }
                if opened == closed && matches!(before.trim_end().chars().next_back(), None | Some(',')) {
                    found.push((word.to_string(), line + before.matches('\n').count()));
                }
            }
        } else if let Some((0, word)) = words(rest).next() {
            found.push((word.to_string(), line));
        }
    }
    found
}

fn after_colons(rest: &str) -> Option<&str> {
    rest.trim_start().strip_prefix("::").map(str::trim_start)
}

/// How many blocks are open at a place.
fn nesting(code: &str, at: usize) -> usize {
    code[..at].matches('{').count().saturating_sub(code[..at].matches('}').count())
}

fn words(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + code[at..].find(is_word)?;
        let end = code[start..].find(|c| !is_word(c)).map_or(code.len(), |length| start + length);
        at = end;
        Some((start, &code[start..end]))
    })
}
