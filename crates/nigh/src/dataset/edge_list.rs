//! Edge lists: two columns of ids, an optional third of weights; comma, tab or blanks; `#` starts a comment.

use super::Nodes;
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

/// What an edge list says.
#[derive(Debug)]
pub(crate) struct EdgeList {
    pub nodes: Nodes,
    pub edges: Vec<[u32; 2]>,
    pub weights: Option<Vec<f32>>,
    pub notes: Vec<String>,
}

/// The remark on a line that was taken for a header.
pub(crate) fn header_note(path: &Path, line: &Line<'_>) -> String {
    format!("line {} of {} was read as a header: `{}`", line.number, path.display(), line.text.trim())
}

/// Reads an edge list.
pub(crate) fn read(path: &Path) -> Result<EdgeList> {
    let text = Text::open(path)?;
    let mut list = EdgeList { nodes: Nodes::default(), edges: Vec::new(), weights: None, notes: Vec::new() };
    let mut columns = 0;
    let mut header = Vec::new();
    for line in text.lines() {
        let line = line?;
        let fields = line.fields()?;
        if columns == 0 {
            if is_header(&fields) && list.notes.is_empty() {
                list.notes.push(header_note(path, &line));
                header = fields;
                continue;
            }
            columns = fields.len();
            if columns == 3 {
                list.weights = Some(Vec::new());
            }
        }
        if fields.len() < 2 {
            return Err(line.error(format!("`{}` is one column; an edge needs two ids", line.text.trim())));
        }
        if fields.len() > 3 {
            return Err(line.error(format!("{} columns; expected source, target and at most a weight", fields.len())));
        }
        if fields.len() != columns {
            return Err(line.error(format!("{} columns, but the lines above have {columns}", fields.len())));
        }
        if let Some(empty) = fields.iter().position(String::is_empty) {
            return Err(line.error(format!("column {} is empty", empty + 1)));
        }
        if let Some(weights) = &mut list.weights {
            weights.push(match fields[2].parse::<f32>() {
                Ok(weight) if weight.is_finite() && weight > 0.0 => weight,
                _ => return Err(line.error(format!("weight `{}` is not a positive number", fields[2]))),
            });
        }
        list.edges.push([list.nodes.number(&fields[0]), list.nodes.number(&fields[1])]);
    }
    if list.edges.is_empty() {
        return Err(Error::file(path, "no edges; expected lines of two ids"));
    }
    // Words that name nodes further down were no header after all.
    if let [first, second] = &header[..]
        && (list.nodes.find(first).is_some() || list.nodes.find(second).is_some())
        && list.weights.is_none()
    {
        list.edges.push([list.nodes.number(first), list.nodes.number(second)]);
        list.notes.clear();
    }
    Ok(list)
}

/// Pairs of ids to be scored, with the line of each. `is_node` tells an id from a word of a header.
pub fn read_pairs(path: &Path, is_node: impl Fn(&str) -> bool) -> Result<Vec<(usize, [String; 2])>> {
    let text = Text::open(path)?;
    let mut pairs = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line?;
        let fields = line.fields()?;
        if at == 0 && is_header(&fields) && !fields.iter().any(|field| is_node(field)) {
            continue;
        }
        let [source, target, ..] = &fields[..] else {
            return Err(line.error(format!("`{}` is one column; a pair needs two ids", line.text.trim())));
        };
        pairs.push((line.number, [source.clone(), target.clone()]));
    }
    if pairs.is_empty() {
        return Err(Error::file(path, "no pairs; expected lines of two ids"));
    }
    Ok(pairs)
}

/// Whether a first line names its columns: words for them that everyone uses, in both of the first two.
pub(crate) fn is_header(fields: &[String]) -> bool {
    const SECOND: [&str; 16] = [
        "target",
        "dst",
        "to",
        "target_id",
        "node2",
        "node_2",
        "id2",
        "id_2",
        "v",
        "tail",
        "label",
        "class",
        "category",
        "y",
        "group",
        "neighbour",
    ];
    let [first, second, ..] = fields else { return false };
    is_id_word(first) && SECOND.contains(&second.to_lowercase().as_str())
}

/// A word that everyone uses for a column of ids.
pub(crate) fn is_id_word(word: &str) -> bool {
    const WORDS: [&str; 16] = [
        "id",
        "node",
        "node_id",
        "nodeid",
        "source",
        "src",
        "from",
        "source_id",
        "node1",
        "node_1",
        "id1",
        "id_1",
        "u",
        "head",
        "name",
        "",
    ];
    WORDS.contains(&word.to_lowercase().as_str())
}

/// A text file, cut into lines with care.
pub(crate) struct Text {
    path: PathBuf,
    bytes: Vec<u8>,
    separator: Separator,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Separator {
    Comma,
    Tab,
    Blanks,
}

/// One line that is neither empty nor a comment.
pub(crate) struct Line<'a> {
    path: &'a Path,
    /// Counted from one.
    pub number: usize,
    pub text: &'a str,
    separator: Separator,
}

impl Text {
    pub fn open(path: &Path) -> Result<Text> {
        if path.is_dir() {
            return Err(Error::file(path, "is a folder; expected a text file"));
        }
        let bytes = std::fs::read(path).map_err(Error::io(path))?;
        let mut text = Text { path: path.to_path_buf(), bytes, separator: Separator::Blanks };
        // The first line of content shows how the file is separated.
        let first = match text.lines().next() {
            Some(line) => line?.text,
            None => "",
        };
        let separator = match first {
            line if line.contains('\t') => Separator::Tab,
            line if line.contains(',') => Separator::Comma,
            _ => Separator::Blanks,
        };
        text.separator = separator;
        Ok(text)
    }

    pub fn lines(&self) -> impl Iterator<Item = Result<Line<'_>>> {
        let content = self.bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&self.bytes);
        content.split(|&byte| byte == b'\n').enumerate().filter_map(|(at, bytes)| {
            let number = at + 1;
            let text = match std::str::from_utf8(bytes) {
                Ok(text) => text.trim_end_matches('\r'),
                Err(error) => {
                    let column = error.valid_up_to() + 1;
                    let byte = bytes[error.valid_up_to()];
                    let problem = format!("byte {column} (0x{byte:02x}) is not UTF-8 text");
                    return Some(Err(Error::line(&self.path, number, problem)));
                }
            };
            let blank = text.trim().is_empty() || text.trim_start().starts_with('#');
            (!blank).then_some(Ok(Line { path: &self.path, number, text, separator: self.separator }))
        })
    }
}

impl Line<'_> {
    /// The columns, trimmed; with commas and tabs a column may be quoted.
    pub fn fields(&self) -> Result<Vec<String>> {
        let separator = match self.separator {
            Separator::Blanks => return Ok(self.text.split_whitespace().map(str::to_string).collect()),
            Separator::Comma => ',',
            Separator::Tab => '\t',
        };
        let mut fields = vec![String::new()];
        let mut quoted = false;
        let mut characters = self.text.chars().peekable();
        while let Some(character) = characters.next() {
            let field = fields.last_mut().expect("one field at least");
            match character {
                '"' if quoted && characters.peek() == Some(&'"') => {
                    field.push('"');
                    characters.next();
                }
                '"' if quoted || field.trim().is_empty() => quoted = !quoted,
                _ if character == separator && !quoted => fields.push(String::new()),
                _ => field.push(character),
            }
        }
        if quoted {
            return Err(self.error(format!("`{}` opens a quote and does not close it", self.text.trim())));
        }
        Ok(fields.iter().map(|field| field.trim().to_string()).collect())
    }

    pub fn error(&self, problem: impl Into<String>) -> Error {
        Error::line(self.path, self.number, problem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(content: &[u8]) -> (crate::testing::TempDir, PathBuf) {
        let folder = crate::testing::TempDir::new();
        let path = folder.path().join("edges.txt");
        std::fs::write(&path, content).unwrap();
        (folder, path)
    }

    fn message(content: &[u8]) -> String {
        let (_folder, path) = written(content);
        let error = read(&path).unwrap_err().to_string();
        error.rsplit_once("edges.txt").unwrap().1.to_string()
    }

    #[test]
    fn commas_tabs_and_blanks_mean_the_same() {
        for content in ["a,b\nb,c\n", "a\tb\nb\tc", "# two edges\n\na  b\nb c\r\n", "source,target\na, b\n\"b\",\"c\""]
        {
            let (_folder, path) = written(content.as_bytes());
            let list = read(&path).unwrap();
            assert_eq!(list.nodes.names, ["a", "b", "c"], "{content}");
            assert_eq!(list.edges, [[0, 1], [1, 2]]);
            assert!(list.weights.is_none());
        }
    }

    #[test]
    fn ids_may_hold_blanks_and_commas_where_the_separator_allows() {
        let (_folder, path) = written("New York,\"Paris, France\",2.5\n".as_bytes());
        let list = read(&path).unwrap();
        assert_eq!(list.nodes.names, ["New York", "Paris, France"]);
        assert_eq!(list.weights, Some(vec![2.5]));
    }

    #[test]
    fn a_header_is_none_if_its_words_are_nodes() {
        let (_folder, path) = written(b"u v\nv w\nw u\n");
        let list = read(&path).unwrap();
        assert_eq!((list.edges.len(), list.notes.len()), (3, 0));
        let (_folder, path) = written(b"node_1,node_2\n1,2\n2,3\n");
        let list = read(&path).unwrap();
        assert_eq!((list.edges.len(), list.notes.len()), (2, 1));
    }

    #[test]
    fn errors_name_line_and_value() {
        assert_eq!(message(b"a b\nc\n"), ":2: `c` is one column; an edge needs two ids");
        assert_eq!(message(b"a b 1\na c x\n"), ":2: weight `x` is not a positive number");
        assert_eq!(message(b"a b 1\na c -2\n"), ":2: weight `-2` is not a positive number");
        assert_eq!(message(b"a b\na c 1\n"), ":2: 3 columns, but the lines above have 2");
        assert_eq!(message(b"a,b\na,\n"), ":2: column 2 is empty");
        assert_eq!(message(b"a,b\nb,\"c\n"), ":2: `b,\"c` opens a quote and does not close it");
        assert_eq!(message(b"a b\n\xff\xfe c\n"), ":2: byte 1 (0xff) is not UTF-8 text");
        assert_eq!(message(b"# nothing\n"), ": no edges; expected lines of two ids");
        assert_eq!(message(b"a b 1 2\n"), ":1: 4 columns; expected source, target and at most a weight");
    }
}
