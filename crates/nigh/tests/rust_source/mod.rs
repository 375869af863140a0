//! Rust files as the tests of the layers, of the public items and of the names of models read them.
#![allow(dead_code, reason = "neither test uses all of it")]

use std::fs;
use std::path::{Path, PathBuf};

/// The names of the modules that code declares.
pub fn modules_in(code: &str) -> Vec<String> {
    let words: Vec<&str> = code.split(|c: char| !is_word(c)).filter(|word| !word.is_empty()).collect();
    words.windows(2).filter(|pair| pair[0] == "mod").map(|pair| pair[1].to_string()).collect()
}

/// Whether a character belongs to a name.
pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The Rust files of a folder and of those in it.
pub fn rust_files(folder: &Path) -> Vec<PathBuf> {
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
pub fn module_of(folder: &Path, file: &Path) -> Vec<String> {
    let path = file.strip_prefix(folder).unwrap().with_extension("");
    let parts = path.iter().map(|part| part.to_str().unwrap().to_string());
    parts.filter(|part| part != "mod" && part != "lib").collect()
}

/// A text without comments and with nothing between quotation marks; lines stay where they are.
pub fn code_of(text: &str) -> String {
    code_and_literals(text, "").0
}

/// Around the number of a literal that stands in its place.
const MARK: &str = "\u{1}";

/// What is between quotation marks outside tests, and on which line, counted from one.
pub fn literals_of(text: &str) -> Vec<(usize, String)> {
    let (code, literals) = code_and_literals(text, MARK);
    let kept = without_tests(&code);
    let mut line = 1;
    let mut found = Vec::new();
    for (at, part) in kept.split(MARK).enumerate() {
        match at % 2 {
            1 => found.push((line, literals[part.parse::<usize>().unwrap()].clone())),
            _ => line += part.matches('\n').count(),
        }
    }
    found
}

/// Code in which the number of each literal stands between marks, unless the mark is empty; and all literals.
fn code_and_literals(text: &str, mark: &str) -> (String, Vec<String>) {
    let chars: Vec<char> = text.chars().collect();
    let (mut code, mut at) = (String::new(), 0);
    let mut literals: Vec<String> = Vec::new();
    let mut keep = |code: &mut String, from: usize, to: usize| {
        if !mark.is_empty() {
            *code += &format!("{mark}{}{mark}", literals.len());
        }
        literals.push(chars[from..to].iter().collect());
    };
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
            let to = find(at + 2 + marks, &end);
            keep(&mut code, at, to);
            at = skip(&mut code, at, to);
        } else if rest[0] == '"' {
            let mut end = 1;
            while rest.get(end).is_some_and(|&c| c != '"') {
                end += if rest[end] == '\\' { 2 } else { 1 };
            }
            let to = (at + end + 1).min(chars.len());
            keep(&mut code, at, to);
            at = skip(&mut code, at, to);
        } else if rest[0] == '\'' && (rest.get(1) == Some(&'\\') || rest.get(2) == Some(&'\'')) {
            // A character, not a lifetime.
            let end = (2..rest.len()).find(|&end| rest[end] == '\'' && (end > 2 || rest[1] != '\\'));
            at += end.unwrap_or(rest.len() - 1) + 1;
        } else {
            code.push(rest[0]);
            at += 1;
        }
    }
    (code, literals)
}

/// Without the items under `#[cfg(test)]` or `#[cfg(all(test, ...))]`; lines stay where they are.
pub fn without_tests(code: &str) -> String {
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

/// The names and keywords of code, and where they begin.
pub fn words(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + code[at..].find(is_word)?;
        let end = code[start..].find(|c| !is_word(c)).map_or(code.len(), |length| start + length);
        at = end;
        Some((start, &code[start..end]))
    })
}
