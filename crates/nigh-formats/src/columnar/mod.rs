//! Tables by column: Parquet, and Arrow as a file (also called Feather or IPC) or a stream. Only the requested columns are
//! read, a bounded number of rows at a time.
//!
//! Both are read by hand, like NumPy's arrays, because the usual crates trust what a file claims: a Parquet file of a few
//! bytes that announces two thousand million columns, or nests them deep, ends the whole program
//! (docs/decisions/0003-formats-and-fetch.md).

mod arrow;
mod parquet;
mod source;
mod unpack;

pub use self::parquet::write::{GROUP, OutputColumn, ParquetWriter, write_parquet};
use self::source::SeekSource;
use crate::Texts;
use crate::error::{Error, Parsed, Result};
use crate::files::{self, ReadSeek};
use std::io::Cursor;
use std::path::{Path, PathBuf};

/// No batch has more rows.
const BATCH: usize = 1 << 16;

/// An open file whose columns are known.
pub struct Columnar {
    path: PathBuf,
    source: SeekSource,
    names: Vec<String>,
    content: ColumnarContent,
}

enum ColumnarContent {
    Parquet(parquet::footer::Footer),
    Arrow(arrow::ArrowFile),
}

/// Some rows.
#[derive(Debug, PartialEq)]
pub struct Batch {
    /// The number of the first row, counted from one.
    pub first_row: usize,
    /// In the order of the request.
    pub columns: Vec<ColumnValues>,
}

/// The values of one column.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnValues {
    /// Integers; booleans as 0 and 1.
    Integers(Vec<i64>),
    /// Numbers, rounded to 32 bits. Infinities and NaN pass.
    Numbers(Vec<f32>),
    /// Text; also integers of a batch where one is beyond `i64`.
    Texts(Texts),
    /// A list of `width` numbers per row.
    Vectors {
        /// The same for all rows.
        width: usize,
        /// Row by row.
        values: Vec<f32>,
    },
}

impl Columnar {
    /// Opens a file. Its first bytes decide what it is, not its name.
    pub fn open(path: &Path) -> Result<Columnar> {
        Columnar::read(path, files::open_input(path)?)
    }

    /// From memory; `name` stands in messages.
    pub fn from_bytes(name: &Path, bytes: Vec<u8>) -> Result<Columnar> {
        Columnar::read(name, Cursor::new(bytes))
    }

    /// From anything that can be read at any place; `name` stands in messages.
    pub fn read(name: &Path, source: impl ReadSeek + 'static) -> Result<Columnar> {
        let mut source = SeekSource::new(source).map_err(Error::io(name))?;
        let (names, content) = open_content(&mut source).map_err(|problem| Error::file(name, problem))?;
        Ok(Columnar { path: name.to_path_buf(), source, names, content })
    }

    /// The columns in the order of the file.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// How many rows it announces; Arrow does not say so beforehand.
    pub fn num_rows(&self) -> Option<u64> {
        match &self.content {
            ColumnarContent::Parquet(footer) => Some(footer.num_rows()),
            ColumnarContent::Arrow(_) => None,
        }
    }

    /// The rows of these columns, in batches. After an error there are no more.
    ///
    /// # Panics
    ///
    /// If a column is requested twice.
    pub fn batches(self, columns: &[usize]) -> Result<impl Iterator<Item = Result<Batch>> + use<>> {
        let twice = |(at, column): (usize, &usize)| columns[..at].contains(column);
        assert!(!columns.iter().enumerate().any(twice), "a column is requested once");
        let path = self.path;
        let batches: Parsed<Box<dyn Iterator<Item = Parsed<Batch>>>> = match self.content {
            ColumnarContent::Parquet(footer) => {
                parquet::ParquetBatches::new(self.source, footer, columns).map(|batches| Box::new(batches) as _)
            }
            ColumnarContent::Arrow(opened) => {
                arrow::ArrowBatches::new(self.source, opened, columns).map(|batches| Box::new(batches) as _)
            }
        };
        let mut batches = batches.map_err(|problem| Error::file(&path, problem))?;
        let mut failed = false;
        Ok(std::iter::from_fn(move || {
            let batch = if failed { None } else { batches.next() }?;
            failed = batch.is_err();
            Some(batch.map_err(|problem| Error::file(&path, problem)))
        }))
    }
}

fn open_content(source: &mut SeekSource) -> Parsed<(Vec<String>, ColumnarContent)> {
    let start = source.bytes(0, source.length().min(8), "its first bytes")?;
    match &start[..] {
        start if start.starts_with(b"PAR1") => {
            let footer = parquet::footer::Footer::read(source)?;
            Ok((footer.columns.iter().map(|column| column.name.clone()).collect(), ColumnarContent::Parquet(footer)))
        }
        start if start.starts_with(b"PARE") => Err("is encrypted; save it without encryption".into()),
        start if start.starts_with(b"FEA1") => {
            Err("is Feather version 1; save it again with today's pandas or pyarrow (version 2)".into())
        }
        start if start.starts_with(b"ARROW1") || start.starts_with(b"\xff\xff\xff\xff") => {
            let opened = arrow::ArrowFile::read(source, start.starts_with(b"ARROW1"))?;
            Ok((opened.fields.iter().map(|field| field.name.clone()).collect(), ColumnarContent::Arrow(opened)))
        }
        _ => Err("is neither Parquet nor Arrow: it starts with neither PAR1 nor ARROW1".into()),
    }
}

impl ColumnValues {
    /// The number of rows.
    pub fn len(&self) -> usize {
        match self {
            ColumnValues::Integers(values) => values.len(),
            ColumnValues::Numbers(values) => values.len(),
            ColumnValues::Texts(texts) => texts.len(),
            ColumnValues::Vectors { width, values } => values.len().checked_div(*width).unwrap_or(0),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// As integers if they are numbers without fractions, as pandas stores integers beside missing values. Beyond 2^24
    /// numbers of 32 bits are not exact.
    pub fn with_whole_numbers(self) -> ColumnValues {
        match self {
            ColumnValues::Numbers(values) if values.iter().all(|v| v.fract() == 0.0 && v.abs() < 16_777_216.0) => {
                ColumnValues::Integers(values.into_iter().map(|value| value as i64).collect())
            }
            other => other,
        }
    }
}

/// From the bits of unsigned integers.
fn unsigned(values: Vec<i64>) -> ColumnValues {
    if values.iter().all(|&value| value >= 0) {
        return ColumnValues::Integers(values);
    }
    let mut texts = Texts::default();
    values.iter().for_each(|&value| texts.push(&(value as u64).to_string()));
    ColumnValues::Texts(texts)
}

/// The problem with a missing value.
fn missing(column: &str, row: usize) -> String {
    format!("column `{column}`, row {row}: no value (null); fill such rows in or leave them out")
}

/// The problem with a list that is empty, or of another length than those above it.
fn ragged(column: &str, row: usize, length: usize, width: Option<usize>) -> String {
    let problem = match width {
        Some(width) => format!("a list of {length} numbers, but the rows above have {width}"),
        None => "an empty list; every row needs the same count of numbers, one at least".into(),
    };
    format!("column `{column}`, row {row}: {problem}")
}

/// The problem with a column of a type that is not read.
fn unsupported(column: &str, kind: &str) -> String {
    format!("column `{column}` holds values of type {kind}; whole numbers, floats, texts and lists of numbers are read")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::damaged;
    use proptest::prelude::*;

    /// What others wrote; `tests/fixtures/tables/make.py`.
    fn fixtures() -> Vec<(String, Vec<u8>)> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/tables");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|ending| ending != "py")).collect();
        files.sort();
        let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
        files.iter().map(|path| (name(path), std::fs::read(path).unwrap())).collect()
    }

    /// Those of them that hold the same rows.
    fn right() -> Vec<(String, Vec<u8>)> {
        fixtures().into_iter().filter(|file| !file.0.starts_with("wrong")).collect()
    }

    fn opened(bytes: &[u8]) -> Result<Columnar> {
        Columnar::from_bytes(Path::new("x"), bytes.to_vec())
    }

    fn column(bytes: &[u8], name: &str) -> Result<Vec<ColumnValues>> {
        let file = opened(bytes)?;
        let at = file.names().iter().position(|known| known == name).expect("a column of this name");
        let batches: Vec<Batch> = file.batches(&[at])?.collect::<Result<_>>()?;
        let mut next = 1;
        for batch in &batches {
            assert_eq!(batch.first_row, next);
            next += batch.columns[0].len();
        }
        Ok(batches.into_iter().flat_map(|batch| batch.columns).collect())
    }

    fn message(bytes: &[u8], name: &str) -> String {
        column(bytes, name).unwrap_err().to_string().strip_prefix("x: ").unwrap().to_string()
    }

    fn integers(columns: Vec<ColumnValues>) -> Vec<i64> {
        let each = columns.into_iter().map(|column| match column {
            ColumnValues::Integers(values) => values,
            other => panic!("{other:?}"),
        });
        each.flatten().collect()
    }

    /// Reads all columns that can be read, and ignores errors.
    fn read_all(bytes: &[u8]) {
        let columns = opened(bytes).map_or(0, |file| file.names().len());
        for at in 0..columns {
            let file = opened(bytes).expect("it was opened before");
            let _ = file.batches(&[at]).map(|batches| batches.map(|batch| batch.is_ok()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn everyone_s_files_say_the_same() {
        let files = right();
        assert_eq!(files.len(), 14);
        for (file, bytes) in &files {
            let read = |name: &str| column(bytes, name).unwrap_or_else(|error| panic!("{file}: {error}"));
            let ids: Vec<i64> = (0..40).map(|i| i * 1_000_003 - 20_000_000).collect();
            assert_eq!(integers(read("id")), ids, "{file}");
            assert_eq!(integers(read("small")), (0..40).map(|i| i % 7).collect::<Vec<_>>(), "{file}");
            assert_eq!(integers(read("flag")), (0..40).map(|i| i64::from(i % 3 == 0)).collect::<Vec<_>>(), "{file}");
            let names = read("name").into_iter().flat_map(|column| match column {
                ColumnValues::Texts(texts) => texts.iter().map(str::to_string).collect::<Vec<_>>(),
                other => panic!("{file}: {other:?}"),
            });
            let expected = (0..40).map(|i| match i % 10 {
                0 => "Zürich".to_string(),
                _ => format!("node-{}-of-the-graph", i / 3).chars().take(8 + i % 11).collect(),
            });
            assert!(names.eq(expected), "{file}");
            let weights = read("weight").into_iter().flat_map(|column| match column {
                ColumnValues::Numbers(values) => values,
                other => panic!("{file}: {other:?}"),
            });
            assert!(weights.eq((0..40).map(|i| i as f32 / 8.0 - 2.0)), "{file}");
            if !opened(bytes).unwrap().names().contains(&"vector".to_string()) {
                continue;
            }
            let vectors = read("vector").into_iter().flat_map(|column| match column {
                ColumnValues::Vectors { width: 3, values } => values,
                other => panic!("{file}: {other:?}"),
            });
            assert!(vectors.eq((0..40).flat_map(|i| [i as f32, i as f32 / 2.0, -i as f32])), "{file}");
        }
    }

    #[test]
    fn columns_come_side_by_side_in_the_order_of_the_request() {
        for (file, bytes) in right() {
            let batches = opened(&bytes).unwrap().batches(&[3, 0]).unwrap();
            let mut rows = 0;
            for batch in batches.map(Result::unwrap) {
                let [ColumnValues::Numbers(weights), ColumnValues::Integers(ids)] = &batch.columns[..] else {
                    panic!("{file}")
                };
                assert_eq!((weights.len(), batch.first_row), (ids.len(), rows + 1), "{file}");
                rows += ids.len();
            }
            assert_eq!(rows, 40, "{file}");
        }
    }

    #[test]
    fn errors_name_column_and_row() {
        for (file, bytes) in fixtures().into_iter().filter(|file| file.0.starts_with("wrong")) {
            let missing = |column: &str, row: usize| {
                format!("column `{column}`, row {row}: no value (null); fill such rows in or leave them out")
            };
            for (column, row) in [("null", 3), ("null-text", 2), ("null-in-list", 2), ("null-list", 3)] {
                assert_eq!(message(&bytes, column), missing(column, row), "{file}");
            }
            let ragged = "column `ragged`, row 3: a list of 1 numbers, but the rows above have 2";
            assert_eq!(message(&bytes, "ragged"), ragged, "{file}");
            let empty = "column `empty`, row 2: a list of 0 numbers, but the rows above have 1";
            assert_eq!(message(&bytes, "empty"), empty, "{file}");
            let empty = message(&bytes, "all-empty");
            assert!(empty.starts_with("column `all-empty`, row 1: an empty list; "), "{file}: {empty}");
            for (column, kind) in [("texts", "list of "), ("lists", "list of "), ("time", "timestamp")] {
                let expected = format!("column `{column}` holds values of type {kind}");
                assert!(message(&bytes, column).starts_with(&expected), "{file}");
            }
            let ColumnValues::Texts(large) = column(&bytes, "large").unwrap().remove(0) else { panic!("{file}") };
            assert_eq!(large.iter().collect::<Vec<_>>(), ["1", "2", "18446744073709551615"]);
        }
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let (_, bytes) = fixtures().into_iter().find(|file| file.0 == "pyarrow-pages.parquet").unwrap();
        let kinds = "whole numbers, floats, texts and lists of numbers are read";
        assert_eq!(message(&bytes, "day"), format!("column `day` holds values of type date; {kinds}"));
        assert_eq!(message(&bytes, "struct"), format!("column `struct` holds values of type struct or map; {kinds}"));
        let opening = |bytes: &[u8]| opened(bytes).err().unwrap().to_string();
        assert_eq!(
            opening(b"FEA1 and more"),
            "x: is Feather version 1; save it again with today's pandas or pyarrow (version 2)"
        );
        assert_eq!(opening(b"PARE and more"), "x: is encrypted; save it without encryption");
        assert_eq!(opening(b"a,b"), "x: is neither Parquet nor Arrow: it starts with neither PAR1 nor ARROW1");
        assert_eq!(opening(b""), "x: is neither Parquet nor Arrow: it starts with neither PAR1 nor ARROW1");
    }

    #[test]
    fn a_file_that_ends_early_is_an_error_wherever_it_ends() {
        for (file, bytes) in fixtures() {
            for end in 0..bytes.len() {
                let read = opened(&bytes[..end]).and_then(|file| file.batches(&[0])?.collect::<Result<Vec<_>>>());
                // A stream may end behind any message.
                assert!(read.is_err() || file.ends_with(".arrows"), "{file} cut at {end}");
            }
        }
    }

    #[test]
    fn numbers_beyond_64_bits_with_a_sign_are_text() {
        assert_eq!(unsigned(vec![0, 7]), ColumnValues::Integers(vec![0, 7]));
        let ColumnValues::Texts(texts) = unsigned(vec![-1, 7]) else { panic!("texts") };
        assert_eq!(texts.iter().collect::<Vec<_>>(), ["18446744073709551615", "7"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn no_damage_makes_it_panic(
            file in prop::sample::select(fixtures()), cut in 0..2usize,
            changes in prop::collection::vec((any::<usize>(), any::<u8>()), 0..8),
        ) {
            read_all(&damaged(file.1, &changes, cut));
        }

        #[test]
        fn no_noise_makes_it_panic(
            magic in prop::sample::select(vec![(&b"PAR1"[..], &b"PAR1"[..]), (b"ARROW1\0\0", b"ARROW1"), (b"\xff\xff\xff\xff", b"")]),
            noise in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let length = (noise.len() as u32).to_le_bytes();
            let lengths = if magic.1.is_empty() { (&length[..], &[][..]) } else { (&[][..], &length[..]) };
            read_all(&[magic.0, lengths.0, &noise, lengths.1, magic.1].concat());
        }
    }
}
