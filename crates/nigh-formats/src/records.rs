//! Results as a table that other programs read: csv or Parquet.

use crate::atomic;
use crate::columnar::{OutputColumn, write_parquet};
use crate::error::{Error, Result};
use crate::text_table::Formulas;
use crate::texts::Texts;
use std::fmt::Write;
use std::path::Path;
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
        let mut text = String::new();
        let end = |text: &mut String, at: usize| text.push(if at + 1 < self.columns.len() { ',' } else { '\n' });
        for (at, (name, _)) in self.columns.iter().enumerate() {
            text += name;
            end(&mut text, at);
        }
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
        write_parquet(self.len(), self.columns.iter().map(|(name, column)| (name.clone(), column.parquet())).collect())
    }

    /// Writes Parquet or csv, by the name of the file.
    pub fn write(&self, path: &Path) -> Result<()> {
        let bytes = if is_parquet(path) { self.to_parquet() } else { self.to_csv().into_bytes() };
        atomic::write(path, &bytes).map_err(Error::io(path))
    }
}

/// Whether `Records::write` makes a file Parquet, by its name.
pub fn is_parquet(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("parquet"))
}
