//! Matrix Market: a header line, the size, then a line per entry, counted from one.

use crate::compressed;
use crate::error::{Error, Parsed, Result};
use crate::lines::Lines;
use crate::memory::KeptRead;
use std::io::{BufRead, Read};
use std::path::Path;

/// A sparse matrix, entry by entry.
#[derive(Debug, PartialEq)]
pub struct SparseEntries {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// Row and column of each, counted from zero.
    pub entries: Vec<[u32; 2]>,
    /// None if all are one.
    pub values: Option<Vec<f32>>,
    /// Whether each entry stands for its transposed one as well.
    pub symmetric: bool,
}

impl SparseEntries {
    /// Refuses sides far beyond the number of entries, because callers allocate memory for them.
    pub(crate) fn checked(self) -> Parsed<SparseEntries> {
        let most = 10_000_000.max(100 * self.entries.len());
        if self.rows.max(self.cols) > most {
            let (rows, cols, count) = (self.rows, self.cols, self.entries.len());
            return Err(format!("is {rows} × {cols} with {count} entries; expected sides up to {most}"));
        }
        Ok(self)
    }

    /// As `checked`, of a file.
    pub(crate) fn bounded(self, path: &Path) -> Result<SparseEntries> {
        self.checked().map_err(|problem| Error::file(path, problem))
    }

    /// With the other triangle of a symmetric matrix added.
    pub fn spread(mut self) -> SparseEntries {
        if std::mem::take(&mut self.symmetric) {
            let across: Vec<usize> =
                (0..self.entries.len()).filter(|&at| self.entries[at][0] != self.entries[at][1]).collect();
            self.entries
                .extend(across.iter().map(|&at| self.entries[at]).map(|[row, col]| [col, row]).collect::<Vec<_>>());
            if let Some(values) = &mut self.values {
                values.extend(across.iter().map(|&at| values[at]).collect::<Vec<_>>());
            }
        }
        self
    }
}

/// Longer than any line needs to be.
const LONGEST_LINE: u64 = 1 << 16;

/// Opens and reads a file, plain or compressed.
pub fn open(path: &Path) -> Result<SparseEntries> {
    read(path, KeptRead::new(compressed::open(path)?, 3.0))
}

/// Reads a matrix of numbers or of mere places (`pattern`), whole or as one of its triangles; `name` stands in messages.
pub fn read(name: &Path, source: impl Read) -> Result<SparseEntries> {
    let path = name;
    let mut lines = Lines::new(path, source, LONGEST_LINE);
    lines.next()?;
    let banner = lines.text()?.to_lowercase();
    let words: Vec<&str> = banner.split_ascii_whitespace().collect();
    let (has_values, symmetric) = match words[..] {
        ["%%matrixmarket", "matrix", "coordinate", field, symmetry] => {
            let has_values = match field {
                "real" | "integer" | "double" => true,
                "pattern" => false,
                _ => return Err(lines.error(format!("entries are `{field}`; expected real, integer or pattern"))),
            };
            match symmetry {
                "general" => (has_values, false),
                "symmetric" => (has_values, true),
                _ => return Err(lines.error(format!("the matrix is `{symmetry}`; expected general or symmetric"))),
            }
        }
        ["%%matrixmarket", "matrix", "array", ..] => {
            return Err(lines.error("lists all entries of a dense matrix (`array`); expected `coordinate`"));
        }
        _ => return Err(lines.error("expected `%%MatrixMarket matrix coordinate ...`")),
    };
    let sizes = loop {
        if !lines.next()? {
            return Err(Error::file(path, "ends before its size; expected rows, columns and entries"));
        }
        if !lines.is_blank() {
            break lines.numbers::<3>("rows, columns and the number of entries")?;
        }
    };
    let [rows, cols, count] = sizes;
    if rows >= 1 << 31 || cols >= 1 << 31 {
        return Err(lines.error(format!("is {rows} × {cols}; sides must stay below 2^31")));
    }
    // As many as announced, but never more than there are lines.
    let mut entries = Vec::new();
    let mut values = has_values.then(Vec::new);
    while lines.next()? {
        if lines.is_blank() {
            continue;
        }
        if entries.len() as u64 == count {
            return Err(lines.error(format!("more lines than the {count} entries announced")));
        }
        let (place, rest) = lines.place(rows, cols)?;
        match (&mut values, rest.trim_ascii()) {
            (None, b"") => {}
            (Some(values), text) => values.push(lines.value(text)?),
            (None, text) => {
                let text = String::from_utf8_lossy(text).into_owned();
                return Err(lines.error(format!("`{text}` behind a place; a pattern has no values")));
            }
        }
        entries.push(place);
    }
    if entries.len() as u64 != count {
        return Err(Error::file(path, format!("{} entries, but {count} were announced", entries.len())));
    }
    SparseEntries { rows: rows as usize, cols: cols as usize, entries, values, symmetric }.bounded(path)
}

/// A line of the matrix.
impl<R: BufRead> Lines<'_, R> {
    fn is_blank(&self) -> bool {
        let line = self.line.trim_ascii();
        line.is_empty() || line[0] == b'%'
    }

    fn numbers<const COUNT: usize>(&self, what: &str) -> Result<[u64; COUNT]> {
        let text = self.text()?;
        let numbers: Option<Vec<u64>> = text.split_ascii_whitespace().map(|word| word.parse().ok()).collect();
        let numbers = numbers.and_then(|numbers| numbers.try_into().ok());
        numbers.ok_or_else(|| self.error(format!("`{}`; expected {what}", text.trim())))
    }

    /// Row and column, counted from zero, and the rest of the line.
    fn place(&self, rows: u64, cols: u64) -> Result<([u32; 2], &[u8])> {
        let mut rest = &self.line[..];
        let mut next = |limit: u64, what: &str| {
            rest = rest.trim_ascii_start();
            let length = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
            let digits = &rest[..length];
            rest = &rest[length..];
            let number = digits
                .iter()
                .try_fold(0u64, |number, digit| number.checked_mul(10)?.checked_add(u64::from(digit - b'0')));
            let inside = number.filter(|number| (1..=limit).contains(number) && length > 0);
            inside.map(|number| (number - 1) as u32).ok_or_else(|| {
                let line = String::from_utf8_lossy(&self.line).trim().to_string();
                self.error(format!("`{line}`: expected a {what} from 1 to {limit}"))
            })
        };
        let place = [next(rows, "row")?, next(cols, "column")?];
        Ok((place, rest))
    }

    fn value(&self, text: &[u8]) -> Result<f32> {
        let value = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
        let value = value.filter(|value: &f32| value.is_finite());
        value.ok_or_else(|| self.error(format!("`{}` is not a finite number", String::from_utf8_lossy(text))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read_text(text: &[u8]) -> Result<SparseEntries> {
        read(Path::new("x.mtx"), text)
    }

    fn message(text: &str) -> String {
        read_text(text.as_bytes()).unwrap_err().to_string().split_once("x.mtx").unwrap().1.to_string()
    }

    #[test]
    fn numbers_and_places_are_read_whole_or_as_a_triangle() {
        let general = "%%MatrixMarket matrix coordinate real general\n% by hand\n\n3 4 2\n1 4 2.5\n  3   1  -1e2 \n";
        let matrix = read_text(general.as_bytes()).unwrap();
        let expected = SparseEntries {
            rows: 3,
            cols: 4,
            entries: vec![[0, 3], [2, 0]],
            values: Some(vec![2.5, -100.0]),
            symmetric: false,
        };
        assert_eq!(matrix, expected);
        let triangle = "%%matrixmarket MATRIX coordinate pattern symmetric\r\n3 3 2\r\n2 1\r\n3 3\r\n";
        let matrix = read_text(triangle.as_bytes()).unwrap();
        assert_eq!((matrix.symmetric, &matrix.values), (true, &None));
        assert_eq!(matrix.spread().entries, [[1, 0], [2, 2], [0, 1]]);
    }

    #[test]
    fn errors_name_line_and_value() {
        let start = "%%MatrixMarket matrix coordinate integer general\n";
        let wrong = |rest: &str| message(&format!("{start}{rest}"));
        assert_eq!(wrong("2 2\n"), ":2: `2 2`; expected rows, columns and the number of entries");
        assert_eq!(wrong("2 2 1\n1 3 1\n"), ":3: `1 3 1`: expected a column from 1 to 2");
        assert_eq!(wrong("2 2 1\n0 1 1\n"), ":3: `0 1 1`: expected a row from 1 to 2");
        assert_eq!(wrong("2 2 1\n1 1 x\n"), ":3: `x` is not a finite number");
        assert_eq!(wrong("2 2 1\n1 1 1\n1 2 1\n"), ":4: more lines than the 1 entries announced");
        assert_eq!(wrong("2 2 1152921504606846976\n1 1 1\n"), ": 1 entries, but 1152921504606846976 were announced");
        assert_eq!(wrong("1152921504606846976 2 1\n"), ":2: is 1152921504606846976 × 2; sides must stay below 2^31");
        let bare = ": is 2000000000 × 2 with 1 entries; expected sides up to 10000000";
        assert_eq!(wrong("2000000000 2 1\n1 1 1\n"), bare);
        assert_eq!(wrong(""), ": ends before its size; expected rows, columns and entries");
        assert_eq!(
            message("%%MatrixMarket matrix array real general\n"),
            ":1: lists all entries of a dense matrix (`array`); expected `coordinate`"
        );
        assert_eq!(
            message("%%MatrixMarket matrix coordinate complex general\n"),
            ":1: entries are `complex`; expected real, integer or pattern"
        );
        assert_eq!(
            message("%%MatrixMarket matrix coordinate real hermitian\n"),
            ":1: the matrix is `hermitian`; expected general or symmetric"
        );
        assert_eq!(
            message("%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1 5\n"),
            ":3: `5` behind a place; a pattern has no values"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn no_text_makes_it_panic(rest in "[0-9 .e\n%x-]{0,60}") {
            let _ = read_text(format!("%%MatrixMarket matrix coordinate real symmetric\n{rest}").as_bytes());
        }
    }
}
