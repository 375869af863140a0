//! No module of `nigh` or `nigh-paper` reaches up the order of layers that its lib.rs states.

mod rust_source;

use rust_source::{code_of, module_of, modules_in, rust_files, without_tests, words};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The crates whose lib.rs states an order.
const CRATES: [&str; 2] = ["nigh", "nigh-paper"];

#[test]
fn no_module_reaches_up_the_layers() {
    let mut problems = Vec::new();
    for library in CRATES.map(Library::read) {
        for path in rust_files(&library.folder) {
            let module = module_of(&library.folder, &path);
            if module.is_empty() || library.test_modules.iter().any(|tests| module.starts_with(tests)) {
                continue;
            }
            let code = without_tests(&code_of(&fs::read_to_string(&path).unwrap()));
            for (name, line) in names_used(&code, module.len()) {
                if let Err(problem) = library.may_use(&module[0], &name) {
                    problems.push(format!("{}:{line}: {problem}", path.display()));
                }
            }
        }
    }
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn a_use_of_a_higher_layer_would_be_noticed() {
    let library = Library::read("nigh");
    assert_eq!(library.may_use("ops", "linalg"), Ok(()));
    assert_eq!(library.may_use("ops", "ops"), Ok(()));
    assert_eq!(library.may_use("graph", "source"), Err("graph uses source, which is above it".into()));
    assert_eq!(library.may_use("graph", "Signal"), Err("graph uses source, which is above it".into()));
    assert!(library.may_use("graph", "nonsense").unwrap_err().contains("not in the order"));
}

#[test]
fn the_order_names_every_module_once_and_nothing_else() {
    for mut library in CRATES.map(Library::read) {
        library.modules.sort();
        library.order.sort();
        assert_eq!(library.order, library.modules, "the line `Layers:` in lib.rs against its modules");
    }
}

#[test]
fn the_page_on_the_architecture_shows_the_layers_in_their_order() {
    for (name, library) in CRATES.iter().zip(CRATES.map(Library::read)) {
        let page = fs::read_to_string(library.folder.join("../../../docs/architecture.md")).unwrap();
        let heading = format!("## Layers of `crates/{name}/src`");
        let picture =
            page.split(&heading).nth(1).and_then(|rest| rest.split("\n## ").next()).expect("a section on layers");
        // Names stand before the gap of a line that is indented by four.
        let lines = picture.lines().filter_map(|line| line.strip_prefix("    "));
        let named: Vec<&str> =
            lines.flat_map(|line| line.split("   ").next().unwrap_or_default().split_whitespace()).collect();
        assert_eq!(named, library.order);
    }
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
    fn read(name: &str) -> Library {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src");
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
