//! Results as a table that other programs read: csv or Parquet.

use crate::atomic::{self, PartialFile};
use crate::columnar::{GROUP, OutputColumn, ParquetWriter, write_parquet};
use crate::error::{Error, Result};
use crate::text_table::Formulas;
use crate::texts::Texts;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Columns of results, all of the same length.
#[derive(Debug, Clone, Default)]
pub struct Records {
    columns: Vec<(String, RecordColumn)>,
    /// In csv.
    formulas: Formulas,
}

/// The values of one column.
#[derive(Debug, Clone)]
pub enum RecordColumn {
    /// The integers from zero to below this number.
    Counter(usize),
    /// Integers.
    Integers(Arc<[i64]>),
    /// Text.
    Texts(Arc<Texts>),
    /// Numbers.
    Numbers(Vec<f32>),
    /// True or false.
    Booleans(Vec<bool>),
}

impl RecordColumn {
    /// From any texts.
    pub fn from_texts<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> RecordColumn {
        RecordColumn::Texts(Arc::new(texts.into_iter().collect()))
    }

    /// From any integers.
    pub fn from_integers(integers: impl IntoIterator<Item = i64>) -> RecordColumn {
        RecordColumn::Integers(integers.into_iter().collect())
    }

    fn len(&self) -> usize {
        match self {
            RecordColumn::Counter(count) => *count,
            RecordColumn::Integers(integers) => integers.len(),
            RecordColumn::Texts(texts) => texts.len(),
            RecordColumn::Numbers(numbers) => numbers.len(),
            RecordColumn::Booleans(booleans) => booleans.len(),
        }
    }

    fn write_csv(&self, row: usize, formulas: Formulas, text: &mut String) {
        let written = match self {
            RecordColumn::Counter(_) => write!(text, "{row}"),
            RecordColumn::Integers(integers) => write!(text, "{}", integers[row]),
            RecordColumn::Texts(texts) => write!(text, "{}", formulas.field(&texts[row])),
            // The shortest text that is read back to the same bits.
            RecordColumn::Numbers(numbers) => write!(text, "{}", numbers[row]),
            RecordColumn::Booleans(booleans) => write!(text, "{}", booleans[row]),
        };
        written.expect("memory can be written");
    }

    fn parquet(&self) -> OutputColumn<'_> {
        match self {
            RecordColumn::Counter(count) => OutputColumn::Integers(Box::new(0..*count as i64)),
            RecordColumn::Integers(integers) => OutputColumn::Integers(Box::new(integers.iter().copied())),
            RecordColumn::Texts(texts) => OutputColumn::Texts(Box::new(texts.iter().map(Into::into))),
            RecordColumn::Numbers(numbers) => OutputColumn::Numbers(Box::new(numbers.iter().copied())),
            RecordColumn::Booleans(booleans) => OutputColumn::Bools(Box::new(booleans.iter().copied())),
        }
    }
}

impl Records {
    /// With one more column.
    ///
    /// # Panics
    ///
    /// If it is not as long as the others.
    pub fn with(mut self, name: impl Into<String>, column: RecordColumn) -> Records {
        assert!(self.columns.is_empty() || column.len() == self.len(), "columns of the same length");
        self.columns.push((name.into(), column));
        self
    }

    /// What becomes of texts in csv that a spreadsheet would execute; by default they are kept.
    pub fn with_formulas(self, formulas: Formulas) -> Records {
        Records { formulas, ..self }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, |column| column.1.len())
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Lines of fields with commas between them, below a header.
    pub fn to_csv(&self) -> String {
        self.csv_header() + &self.csv_rows()
    }

    /// The names of the columns with commas between them.
    pub fn csv_header(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| name.as_str()).collect();
        names.join(",") + "\n"
    }

    /// Lines of fields with commas between them.
    pub fn csv_rows(&self) -> String {
        let mut text = String::new();
        let end = |text: &mut String, at: usize| text.push(if at + 1 < self.columns.len() { ',' } else { '\n' });
        for row in 0..self.len() {
            for (at, (_, column)) in self.columns.iter().enumerate() {
                column.write_csv(row, self.formulas, &mut text);
                end(&mut text, at);
            }
        }
        text
    }

    /// The same as Parquet; integers keep their type.
    pub fn to_parquet(&self) -> Vec<u8> {
        write_parquet(self.len(), self.parquet_columns())
    }

    fn parquet_columns(&self) -> Vec<(String, OutputColumn<'_>)> {
        self.columns.iter().map(|(name, column)| (name.clone(), column.parquet())).collect()
    }

    /// Writes Parquet or csv, by the name of the file.
    pub fn write(&self, path: &Path) -> Result<()> {
        let bytes = if is_parquet(path) { self.to_parquet() } else { self.to_csv().into_bytes() };
        atomic::write(path, &bytes).map_err(Error::io(path))
    }
}

/// Writes records piece by piece, as [`Records::write`] writes all of them. The file appears when it is complete.
#[derive(Debug)]
pub struct RecordWriter {
    path: PathBuf,
    file: PartialFile,
    /// From the first piece on.
    parquet: Option<ParquetWriter<File>>,
    is_empty: bool,
}

impl RecordWriter {
    /// Parquet or csv, by the name of the file.
    pub fn create(path: &Path) -> Result<RecordWriter> {
        let file = PartialFile::create(path).map_err(Error::io(path))?;
        Ok(RecordWriter { path: path.to_path_buf(), file, parquet: None, is_empty: true })
    }

    /// Rows of a piece, but for the last: the bytes are then those of all at once.
    pub fn piece(&self) -> usize {
        if is_parquet(&self.path) { GROUP } else { 1 << 16 }
    }

    /// The next rows, with the same columns as before.
    pub fn write(&mut self, records: &Records) -> Result<()> {
        let written = match is_parquet(&self.path) {
            true => self.write_group(records),
            false => {
                let header = if self.is_empty { records.csv_header() } else { String::new() };
                self.file.file().write_all((header + &records.csv_rows()).as_bytes())
            }
        };
        self.is_empty = false;
        written.map_err(Error::io(&self.path))
    }

    fn write_group(&mut self, records: &Records) -> io::Result<()> {
        let mut columns = records.parquet_columns();
        if self.parquet.is_none() {
            self.parquet = Some(ParquetWriter::new(self.file.file().try_clone()?, &columns)?);
        }
        self.parquet.as_mut().expect("made above").group(records.len(), &mut columns)
    }

    /// Completes the file.
    pub fn finish(self) -> Result<()> {
        let RecordWriter { path, file, parquet, .. } = self;
        let ended = parquet.map_or(Ok(()), |writer| writer.finish().map(drop));
        ended.and_then(|()| file.complete()).map_err(Error::io(&path))
    }
}

/// Whether `Records::write` makes a file Parquet, by its name.
pub fn is_parquet(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("parquet"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_have_the_bytes_of_all_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let records = |rows: std::ops::Range<usize>| {
            let names = RecordColumn::from_texts(rows.clone().map(|row| format!("n{},x", row % 7)));
            let numbers = RecordColumn::Numbers(rows.map(|row| row as f32 / 3.0).collect());
            Records::default().with("id", names).with("score", numbers)
        };
        for name in ["x.csv", "x.parquet"] {
            let [whole, pieces] = ["whole", "pieces"].map(|part| folder.path().join(format!("{part}-{name}")));
            let rows = GROUP + 5;
            records(0..rows).write(&whole).unwrap();
            let mut writer = RecordWriter::create(&pieces).unwrap();
            let piece = writer.piece();
            for first in (0..rows).step_by(piece) {
                writer.write(&records(first..(first + piece).min(rows))).unwrap();
                assert!(!pieces.exists(), "complete or not there");
            }
            writer.finish().unwrap();
            assert!(std::fs::read(&whole).unwrap() == std::fs::read(&pieces).unwrap(), "{name}");
        }
    }
}
