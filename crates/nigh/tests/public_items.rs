//! How many items the library shows to its users: fewer are easier to learn and to keep.

mod rust_source;

use rust_source::{code_of, is_word, module_of, rust_files, without_tests};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// An upper bound for the types, functions, traits, constants and macros that can be named from outside. Methods are not counted, and neither is
/// what `nigh_formats` has. Raise it only for an item that users need.
const MOST_ITEMS: usize = 216;

#[test]
fn few_items_can_be_named_from_outside() {
    let library = Library::read();
    let items = library.reachable();
    let mut of_modules: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for item in &items {
        let (module, name) = item.rsplit_once("::").unwrap_or(("", item));
        of_modules.entry(module).or_default().push(name);
    }
    let listed: Vec<String> =
        of_modules.iter().map(|(module, names)| format!("{module}: {}", names.join(" "))).collect();
    assert!(items.len() <= MOST_ITEMS, "{} items:\n{}", items.len(), listed.join("\n"));
    // The bound follows when items go.
    assert!(items.len() + 5 > MOST_ITEMS, "{} items: lower the bound to this number", items.len());
}

#[test]
fn items_are_counted_once_wherever_they_are_shown() {
    let files = [
        ("", "pub mod a; mod b; pub use a::{x::Deep as Shallow, One}; pub use b::Two; pub use other as third;"),
        (
            "a",
            "mod x; pub mod y; pub use x::{self, Deep}; pub use crate::b::*; pub struct One; pub(crate) struct Not; fn f() { pub struct No; }",
        ),
        ("a::x", "pub struct Deep { pub field: u8 } pub fn hidden() {}"),
        (
            "a::y",
            "pub trait T { fn f(); } impl T for u8 {} pub const fn g() {} pub use super::x::Deep; named! { pub enum E { A } }",
        ),
        ("b", "pub struct Two; pub type Three = u8; struct Four;"),
    ];
    let library = Library::of(files.map(|(module, code)| (module.to_string(), code.to_string())));
    let found: Vec<String> = library.reachable().into_iter().collect();
    assert_eq!(
        found,
        ["a::One", "a::x::Deep", "a::x::hidden", "a::y::E", "a::y::T", "a::y::g", "b::Three", "b::Two", "third"]
    );
}

/// What each module declares and shows.
#[derive(Default)]
struct Module {
    items: BTreeSet<String>,
    modules: BTreeSet<String>,
    /// Names and the paths that they stand for; `*` for all of a module. Those visible outside, and all.
    shown: BTreeSet<(String, String)>,
    used: BTreeMap<String, String>,
}

struct Library {
    /// By path: `graph::eigen`; the root is empty.
    modules: BTreeMap<String, Module>,
}

impl Library {
    fn read() -> Library {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let code = |path: &Path| without_tests(&code_of(&fs::read_to_string(path).unwrap()));
        Library::of(rust_files(&folder).iter().map(|path| (module_of(&folder, path).join("::"), code(path))))
    }

    fn of(files: impl IntoIterator<Item = (String, String)>) -> Library {
        Library { modules: files.into_iter().map(|(path, code)| (path, Module::of(&code))).collect() }
    }

    /// The items that can be named from outside, by the paths of their declarations.
    fn reachable(&self) -> BTreeSet<String> {
        let (mut items, mut seen) = (BTreeSet::new(), BTreeSet::new());
        self.add_module("", &mut items, &mut seen);
        items
    }

    fn add_module(&self, path: &str, items: &mut BTreeSet<String>, seen: &mut BTreeSet<String>) {
        if !seen.insert(path.to_string()) {
            return;
        }
        let module = &self.modules[path];
        items.extend(module.items.iter().map(|name| joined(path, name)));
        for name in &module.modules {
            self.add_module(&joined(path, name), items, seen);
        }
        for (name, target) in &module.shown {
            let target = self.resolved(path, target);
            match target.strip_suffix("::*") {
                Some(module) => self.add_module(module, items, seen),
                None if self.modules.contains_key(&target) => self.add_module(&target, items, seen),
                None if target.contains("::") => _ = items.insert(target),
                // Another crate.
                None => _ = items.insert(name.clone()),
            }
        }
    }

    /// Where the item of a path is declared, as seen from a module.
    fn resolved(&self, from: &str, path: &str) -> String {
        let mut place = from.to_string();
        let mut rest: Vec<&str> = path.split("::").collect();
        while let [first, ..] = rest[..] {
            match first {
                "crate" => place.clear(),
                "self" => (),
                "super" => place = place.rsplit_once("::").map_or("", |(above, _)| above).to_string(),
                name => {
                    let module = self.modules.get(&place);
                    let inner = joined(&place, name);
                    match module.and_then(|module| module.used.get(name)) {
                        // Declared elsewhere.
                        Some(target) if !self.modules.contains_key(&inner) && rest.len() <= 1 => {
                            return self.resolved(&place, target);
                        }
                        _ => place = inner,
                    }
                }
            }
            rest.remove(0);
        }
        place
    }
}

impl Module {
    fn of(code: &str) -> Module {
        let mut module = Module::default();
        for statement in statements(code) {
            let words: Vec<&str> = statement.split(|c: char| !is_word(c) && !"!:{},*()<>".contains(c)).collect();
            let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
            let (is_pub, rest) = match words[..] {
                ["pub", ref rest @ ..] => (true, rest),
                [first, ref rest @ ..] if first.starts_with("pub(") => (false, rest),
                ref all => (false, all),
            };
            let names: Vec<&str> =
                rest.iter().copied().filter(|word| !["const", "unsafe", "async"].contains(word)).collect();
            let declared = |word: &str| word.split(|c| !is_word(c)).next().unwrap_or_default().to_string();
            match (rest, &names[..]) {
                (_, ["use", ..]) => {
                    let text = statement.split_once("use").map_or("", |(_, path)| path);
                    for (name, path) in paths(&text.replace(char::is_whitespace, " ")) {
                        if is_pub {
                            module.shown.insert((name.clone(), path.clone()));
                        }
                        module.used.insert(name, path);
                    }
                }
                (_, ["mod", name, ..]) if is_pub => _ = module.modules.insert(declared(name)),
                (_, ["struct" | "enum" | "trait" | "fn" | "type" | "static" | "union", name, ..]) if is_pub => {
                    module.items.insert(declared(name));
                }
                (["const", name, ..], _) if is_pub => _ = module.items.insert(declared(name)),
                _ => (),
            }
        }
        module.items.remove("");
        module
    }
}

/// The beginnings of the items of a file, those within a macro's braces included.
fn statements(code: &str) -> Vec<String> {
    let (mut found, mut current, mut depth) = (Vec::new(), String::new(), 0usize);
    let mut attribute = 0usize;
    for c in code.chars() {
        if depth == 0 && attribute == 0 && c == '#' && current.trim().is_empty() {
            attribute = 1;
            continue;
        }
        if attribute > 0 {
            // `#[...]`, brackets within it included.
            match c {
                '[' => attribute += 1,
                ']' if attribute == 2 => attribute = 0,
                ']' => attribute -= 1,
                _ => (),
            }
            continue;
        }
        let is_use = current.trim_start().trim_start_matches("pub ").starts_with("use ")
            || (current.trim_start().starts_with("pub(") && current.contains(") use "));
        let is_macro = current.trim_end().ends_with('!');
        match c {
            '{' if depth == 0 && is_macro => current.clear(),
            '{' if !is_use => {
                if depth == 0 {
                    found.push(std::mem::take(&mut current));
                }
                depth += 1;
            }
            '}' if !is_use => depth = depth.saturating_sub(1),
            ';' if depth == 0 => found.push(std::mem::take(&mut current)),
            c if depth == 0 => current.push(c),
            _ => (),
        }
    }
    found
}

/// The names that a `use` brings, and the paths that they stand for.
fn paths(text: &str) -> Vec<(String, String)> {
    let text = text.trim();
    let Some((prefix, group)) = text.split_once('{') else {
        let (path, name) = text.split_once(" as ").unwrap_or((text, text.rsplit("::").next().unwrap_or(text)));
        let path = path.trim().trim_end_matches("::self");
        let name = if name.trim() == "self" { path.rsplit("::").next().unwrap_or(path) } else { name.trim() };
        return vec![(name.to_string(), path.to_string())];
    };
    let group = group.rsplit_once('}').map_or(group, |(group, _)| group);
    let (mut parts, mut depth) = (vec![String::new()], 0usize);
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => (),
        }
        if c == ',' && depth == 0 { parts.push(String::new()) } else { parts.last_mut().unwrap().push(c) }
    }
    let parts = parts.iter().filter(|part| !part.trim().is_empty());
    parts.flat_map(|part| paths(&format!("{}{}", prefix.trim(), part.trim()))).collect()
}

fn joined(module: &str, name: &str) -> String {
    if module.is_empty() { name.to_string() } else { format!("{module}::{name}") }
}
