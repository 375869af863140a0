//! Results as a table that other programs read: csv or Parquet.

use crate::atomic;
use crate::dataset::columnar::{OutColumn, id_column, write_parquet};
use crate::dataset::{Ids, csv_field};
use crate::error::{Error, Result};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

/// Columns of results, all of the same length.
#[derive(Debug, Clone, Default)]
pub struct Records {
    columns: Vec<(String, Values)>,
}

/// The values of one column.
#[derive(Debug, Clone)]
pub enum Values {
    /// What the user calls nodes.
    Ids(Arc<Ids>),
    /// Words.
    Words(Vec<String>),
    /// Numbers.
    Numbers(Vec<f32>),
    /// Yes or no.
    Truths(Vec<bool>),
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Values::Ids(ids) => ids.len(),
            Values::Words(words) => words.len(),
            Values::Numbers(numbers) => numbers.len(),
            Values::Truths(truths) => truths.len(),
        }
    }
}

impl Records {
    /// With one more column.
    pub fn with(mut self, name: impl Into<String>, values: Values) -> Records {
        assert!(self.columns.is_empty() || values.len() == self.len(), "columns of the same length");
        self.columns.push((name.into(), values));
        self
    }

    /// How many rows.
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
            for (at, (_, values)) in self.columns.iter().enumerate() {
                match values {
                    Values::Ids(ids) => text += &csv_field(&ids.name(row)),
                    Values::Words(words) => text += &csv_field(&words[row]),
                    // The shortest text that is read back to the same bits.
                    Values::Numbers(numbers) => write!(text, "{}", numbers[row]).expect("memory can be written"),
                    Values::Truths(truths) => text += if truths[row] { "true" } else { "false" },
                }
                end(&mut text, at);
            }
        }
        text
    }

    /// The same as Parquet; ids that are whole numbers stay such.
    pub fn to_parquet(&self) -> Vec<u8> {
        fn column(values: &Values) -> OutColumn<'_> {
            match values {
                Values::Ids(ids) => id_column(ids),
                Values::Words(words) => OutColumn::Texts(Box::new(words.iter().map(Into::into))),
                Values::Numbers(numbers) => OutColumn::Numbers(Box::new(numbers.iter().copied())),
                Values::Truths(truths) => OutColumn::Bools(Box::new(truths.iter().copied())),
            }
        }
        write_parquet(self.len(), self.columns.iter().map(|(name, values)| (name.clone(), column(values))).collect())
    }

    /// Writes Parquet or csv, by the name of the file.
    pub fn write(&self, path: &Path) -> Result<()> {
        let bytes = if is_parquet(path) { self.to_parquet() } else { self.to_csv().into_bytes() };
        atomic::write(path, &bytes).map_err(Error::io(path))
    }
}

/// Whether a file is to be Parquet.
fn is_parquet(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("parquet"))
}
