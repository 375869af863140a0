//! Pairs of ids to be scored.

use super::layout::{self, EdgeColumns, is_header};
use crate::error::{Error, Result};
use crate::table::TableReader;
use std::path::Path;

/// Pairs of ids to be scored.
#[derive(Debug, Clone, PartialEq)]
pub struct Pairs {
    /// The line, or row, of each pair, and its ids.
    pub pairs: Vec<(usize, [String; 2])>,
    /// Whether there was a header above them.
    pub has_header: bool,
    /// Remarks on what was read.
    pub notes: Vec<String>,
}

/// Reads pairs of ids to be scored from a table. `is_node` distinguishes an id from a header.
pub fn read_pairs(path: &Path, is_node: impl Fn(&str) -> bool) -> Result<Pairs> {
    let nothing = "no pairs; expected lines of two ids";
    let columns = EdgeColumns::default();
    let table = TableReader::open(path, nothing, |first, second| {
        is_header(first, second, &columns) && !first.iter().any(|field| is_node(field))
    })?;
    if table.width < 2 {
        let only = table.read(&[0], &[])?.names[0].iter().next().unwrap_or_default().to_string();
        return Err(table.first_error(format!("`{only}` is one column; a pair needs two ids")));
    }
    let ends = match table.header.as_deref().map(layout::named_ends) {
        Some([Some(source), Some(target)]) if source != target => [source, target],
        _ => [0, 1],
    };
    let mut read = table.read(&ends, &[])?;
    if read.places.is_empty() {
        return Err(Error::file(path, nothing));
    }
    let notes = table.header_note().into_iter().chain(std::mem::take(&mut read.notes)).collect();
    let pair = |(at, &line): (usize, &usize)| (line, [0, 1].map(|end| read.names[end][at].to_string()));
    let has_header = table.header.is_some();
    Ok(Pairs { pairs: read.places.iter().enumerate().map(pair).collect(), has_header, notes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_have_the_headers_of_edges() {
        let folder = tempfile::tempdir().unwrap();
        let pairs = |content: &str| {
            let path = folder.path().join("pairs.csv");
            std::fs::write(&path, content).unwrap();
            let read = read_pairs(&path, |name| ["a", "b", "1", "2"].contains(&name));
            read.map(|read| read.pairs)
                .map_err(|error| error.to_string().rsplit_once("pairs.csv").unwrap().1.to_string())
        };
        let pair = |line: usize, a: &str, b: &str| (line, [a.to_string(), b.to_string()]);
        assert_eq!(pairs("a,b\nb,a\n").unwrap(), [pair(1, "a", "b"), pair(2, "b", "a")]);
        assert_eq!(pairs("who,whom\n1,2\n").unwrap(), [pair(2, "1", "2")], "words above numbers");
        assert_eq!(pairs("score,dst,src\n0.5,a,b\n").unwrap(), [pair(2, "b", "a")]);
        assert_eq!(pairs("a,b,\nb,a,\n").unwrap(), [pair(1, "a", "b"), pair(2, "b", "a")]);
        assert_eq!(pairs("x,y\na,b\n").unwrap()[0], pair(1, "x", "y"), "a wrong pair is not a header");
        assert_eq!(pairs("a\nb\n").unwrap_err(), ":1: `a` is one column; a pair needs two ids");
        assert_eq!(pairs("").unwrap_err(), ": no pairs; expected lines of two ids");
    }
}
