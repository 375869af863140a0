//! Tables with a header or without: text, Parquet or Arrow, read column by column.

use crate::columnar::{Batch, ColumnValues, Columnar};
use crate::error::{Error, Parsed, Result};
use crate::format::Format;
use crate::memory::{self, Growth};
use crate::text_table::{BadLine, ParsedLine, TextTable, comments_note};
use crate::texts::Texts;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A table of which only the requested columns are read.
#[derive(Debug)]
pub struct TableReader {
    /// The file, or the name of what is in memory.
    pub path: PathBuf,
    /// The names of the columns, if it has any.
    pub header: Option<Vec<String>>,
    /// Number of columns.
    pub width: usize,
    content: TableContent,
}

#[derive(Debug)]
enum TableContent {
    Text(TextTable),
    /// Read from the file, or from memory, each time.
    Columnar(Option<Arc<[u8]>>),
}

/// Some columns of a table.
#[derive(Debug, Default)]
pub struct TableRows {
    /// The line, or row, of each.
    pub places: Vec<usize>,
    /// Columns of names.
    pub names: Vec<Texts>,
    /// Columns of numbers, row by row.
    pub numbers: Vec<f32>,
    /// Number of numbers in a row.
    pub width: usize,
    /// Remarks on what was left out.
    pub notes: Vec<String>,
}

impl TableRows {
    /// Bytes in memory.
    fn num_bytes(&self) -> u64 {
        let names: usize = self.names.iter().map(|names| names.num_bytes() + 8 * names.len()).sum();
        (names + 8 * self.places.len() + 4 * self.numbers.len()) as u64
    }
}

impl TableReader {
    /// Opens a file. `empty` is the problem with an empty one; `is_header` judges the first two lines of a text.
    pub fn open(
        path: &Path,
        empty: &str,
        is_header: impl Fn(&[String], Option<&[String]>) -> bool,
    ) -> Result<TableReader> {
        match Format::of(path)? {
            Format::Columnar => TableReader::columnar(path, Columnar::open(path)?, None),
            _ => TableReader::text(TextTable::open(path)?, empty, is_header),
        }
    }

    /// As `open`, from memory; `name` stands in messages.
    pub fn from_bytes(
        name: &Path,
        bytes: Vec<u8>,
        empty: &str,
        is_header: impl Fn(&[String], Option<&[String]>) -> bool,
    ) -> Result<TableReader> {
        match Format::of_start(&bytes) {
            Format::Columnar => {
                TableReader::columnar(name, Columnar::from_bytes(name, bytes.clone())?, Some(bytes.into()))
            }
            _ => TableReader::text(TextTable::from_bytes(name, bytes)?, empty, is_header),
        }
    }

    fn columnar(path: &Path, file: Columnar, memory: Option<Arc<[u8]>>) -> Result<TableReader> {
        let header = file.names().to_vec();
        let (path, width) = (path.to_path_buf(), header.len());
        Ok(TableReader { path, header: Some(header), width, content: TableContent::Columnar(memory) })
    }

    fn text(
        text: TextTable,
        empty: &str,
        is_header: impl Fn(&[String], Option<&[String]>) -> bool,
    ) -> Result<TableReader> {
        let Some(first) = text.head.first() else { return Err(Error::file(&text.path, empty)) };
        let fields = text.fields(first)?;
        let second = text.head.get(1).map(|line| text.fields(line)).transpose()?;
        let width = fields.len();
        let header = is_header(&fields, second.as_deref()).then_some(fields);
        Ok(TableReader { path: text.path.clone(), header, width, content: TableContent::Text(text) })
    }

    /// The column of this name, or of this number.
    pub fn find(&self, name: &str) -> Result<usize> {
        let found = find_column(name, self.header.as_deref(), self.width);
        found.map_err(|problem| Error::file(&self.path, problem))
    }

    /// The first column whose name is one of these words.
    pub fn worded(&self, words: &[&str]) -> Option<usize> {
        self.header.as_ref()?.iter().position(|word| words.contains(&word.to_lowercase().as_str()))
    }

    /// A remark on a line that was taken for a header.
    pub fn header_note(&self) -> Option<String> {
        match &self.content {
            TableContent::Text(text) => self.header.as_ref().map(|_| header_note(text)),
            TableContent::Columnar(_) => None,
        }
    }

    /// Something wrong with the row at a place.
    pub fn error(&self, place: usize, problem: impl Into<String>) -> Error {
        match self.content {
            TableContent::Text(_) => Error::line(&self.path, place, problem),
            TableContent::Columnar(_) => Error::file(&self.path, format!("row {place}: {}", problem.into())),
        }
    }

    /// Something wrong with the first row, or with the header.
    pub fn first_error(&self, problem: impl Into<String>) -> Error {
        match &self.content {
            TableContent::Text(text) => Error::line(&self.path, text.head[0].number, problem),
            TableContent::Columnar(_) => Error::file(&self.path, problem),
        }
    }

    /// What places count: lines or rows.
    pub fn unit(&self) -> &'static str {
        match self.content {
            TableContent::Text(_) => "line",
            TableContent::Columnar(_) => "row",
        }
    }

    /// Reads columns of names and columns of numbers.
    pub fn read(&self, names: &[usize], numbers: &[usize]) -> Result<TableRows> {
        self.read_with_gaps(names, numbers, None)
    }

    /// As `read`; a column of names may have gaps, which are empty names.
    pub fn read_with_gaps(&self, names: &[usize], numbers: &[usize], gaps: Option<usize>) -> Result<TableRows> {
        match &self.content {
            TableContent::Text(text) => self.read_text(text, names, numbers, gaps),
            TableContent::Columnar(_) => self.read_columnar(names, numbers),
        }
    }

    /// The columns without a name in a table whose others have one. Programs write such columns to count rows.
    pub fn nameless(&self) -> Vec<usize> {
        let is_nameless = |word: &String| word.is_empty() || word.starts_with("Unnamed:");
        let header = self.header.as_deref().unwrap_or_default();
        (0..header.len()).filter(|&at| is_nameless(&header[at])).collect()
    }

    fn read_text(
        &self,
        text: &TextTable,
        names: &[usize],
        numbers: &[usize],
        gaps: Option<usize>,
    ) -> Result<TableRows> {
        let empty =
            || TableRows { names: vec![Texts::default(); names.len()], width: numbers.len(), ..TableRows::default() };
        let growth = Growth::new(format!("the columns of {}", self.path.display()), 2.0);
        let (_, blocks) = text.blocks(
            usize::from(self.header.is_some()),
            || (),
            |(), block| {
                let (mut rows, mut fields) = (empty(), Vec::new());
                for line in block.lines() {
                    let (at, line) = line?;
                    text.split(line, self.width, &mut fields).map_err(|problem| BadLine::new(at, problem))?;
                    self.row(&fields, at, names, numbers, gaps, &mut rows)?;
                }
                memory::or_stop(growth.add(rows.num_bytes()));
                Ok(rows)
            },
        )?;
        let notes = comments_note(&self.path, &blocks).into_iter().chain(text.notes()).collect();
        let mut all = TableRows { notes, ..empty() };
        all.numbers.reserve_exact(blocks.iter().map(|block| block.result.numbers.len()).sum());
        for block in blocks {
            all.places.extend(block.result.places.iter().map(|place| block.above + place));
            all.numbers.extend(block.result.numbers);
            for (all, names) in all.names.iter_mut().zip(block.result.names) {
                names.iter().for_each(|name| all.push(name));
            }
        }
        Ok(all)
    }

    fn open_columnar(&self) -> Result<Columnar> {
        match &self.content {
            TableContent::Columnar(Some(bytes)) => Columnar::from_bytes(&self.path, bytes.to_vec()),
            _ => Columnar::open(&self.path),
        }
    }

    fn read_columnar(&self, names: &[usize], numbers: &[usize]) -> Result<TableRows> {
        let wanted: Vec<usize> = names.iter().chain(numbers).copied().collect();
        let mut rows = TableRows { names: vec![Texts::default(); names.len()], ..TableRows::default() };
        let header = self.header.as_deref().unwrap_or_default();
        let growth = Growth::new("its columns", 2.0);
        let mut before = 0;
        for batch in self.open_columnar()?.batches(&wanted)? {
            let Batch { first_row, mut columns } = batch?;
            let now = rows.num_bytes();
            growth.add(now - before).map_err(|problem| Error::file(&self.path, problem.to_string()))?;
            before = now;
            for column in &mut columns[..names.len()] {
                *column = std::mem::replace(column, ColumnValues::Integers(Vec::new())).with_whole_numbers();
            }
            let wrong = |at: usize, found: &str, expected: &str| {
                let column = &header[wanted[at]];
                Error::file(&self.path, format!("column `{column}` holds {found}; expected {expected}"))
            };
            let count = columns.first().map_or(0, ColumnValues::len);
            let (of_names, of_numbers) = columns.split_at(names.len());
            for (at, column) in of_names.iter().enumerate() {
                match column {
                    ColumnValues::Integers(values) => {
                        values.iter().for_each(|value| rows.names[at].push(&value.to_string()))
                    }
                    ColumnValues::Texts(texts) => texts.iter().for_each(|text| rows.names[at].push(text)),
                    _ => return Err(wrong(at, "numbers with fractions", "names or whole numbers")),
                }
            }
            let mut widths = Vec::new();
            for (at, column) in of_numbers.iter().enumerate() {
                widths.push(match column {
                    ColumnValues::Integers(_) | ColumnValues::Numbers(_) => 1,
                    ColumnValues::Vectors { width, .. } => *width,
                    ColumnValues::Texts(_) => return Err(wrong(names.len() + at, "texts", "numbers")),
                });
            }
            let width: usize = widths.iter().sum();
            if rows.places.is_empty() {
                rows.width = width;
            } else if rows.width != width {
                let problem = format!("row {first_row}: lists of another length than in the rows above");
                return Err(Error::file(&self.path, problem));
            }
            rows.numbers.reserve(count * width);
            for row in 0..count {
                for (column, &width) in of_numbers.iter().zip(&widths) {
                    match column {
                        ColumnValues::Integers(values) => rows.numbers.push(values[row] as f32),
                        ColumnValues::Numbers(values) => rows.numbers.push(values[row]),
                        ColumnValues::Vectors { values, .. } => rows.numbers.extend(&values[row * width..][..width]),
                        ColumnValues::Texts(_) => {}
                    }
                }
                rows.places.push(first_row + row);
                let start = rows.numbers.len() - width;
                if let Some(value) = rows.numbers[start..].iter().find(|value| !value.is_finite()) {
                    let problem = format!("row {}: {value} is not a finite number", first_row + row);
                    return Err(Error::file(&self.path, problem));
                }
            }
        }
        Ok(rows)
    }

    fn row(
        &self,
        fields: &[Cow<'_, str>],
        at: usize,
        names: &[usize],
        numbers: &[usize],
        gaps: Option<usize>,
        rows: &mut TableRows,
    ) -> ParsedLine<()> {
        let wrong = |problem: String| Err(BadLine::new(at, problem));
        if fields.len() != self.width {
            return wrong(format!("{} columns, but the lines above have {}", fields.len(), self.width));
        }
        for (&column, all) in names.iter().zip(&mut rows.names) {
            if fields[column].is_empty() && gaps != Some(column) {
                return wrong(format!("column {} is empty", column + 1));
            }
            all.push(&fields[column]);
        }
        for &column in numbers {
            match fields[column].parse::<f32>() {
                Ok(value) if value.is_finite() => rows.numbers.push(value),
                _ => return wrong(format!("column {}: `{}` is not a finite number", column + 1, fields[column])),
            }
        }
        rows.places.push(at + 1);
        Ok(())
    }
}

/// A remark on a line that was taken for a header.
pub fn header_note(text: &TextTable) -> String {
    let line = &text.head[0];
    format!("line {} of {} was read as a header: `{}`", line.number, text.path.display(), line.text.trim())
}

/// The column of this name, or of this number.
pub fn find_column(name: &str, header: Option<&[String]>, width: usize) -> Parsed<usize> {
    let header = header.unwrap_or_default();
    let exact = header.iter().position(|word| word == name);
    let found = exact.or_else(|| header.iter().position(|word| word.eq_ignore_ascii_case(name)));
    let counted = || name.parse().ok().filter(|number| (1..=width).contains(number)).map(|number: usize| number - 1);
    found.or_else(counted).ok_or_else(|| {
        let known = match header {
            [] => format!("a number from 1 to {width}, as it has no header"),
            words => words.join(", "),
        };
        format!("has no column `{name}`; expected {known}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::{RecordColumn, Records};

    #[test]
    fn text_and_parquet_give_the_same_rows_from_a_file_and_from_memory() {
        let records = Records::default()
            .with("id", RecordColumn::from_texts(["a", "b, c", "Zürich"]))
            .with("x", RecordColumn::Numbers(vec![0.5, -1.0, 3e-9]))
            .with("n", RecordColumn::from_integers([1, -2, 3]));
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in [("x.csv", records.to_csv().into_bytes()), ("x.parquet", records.to_parquet())] {
            let path = folder.path().join(name);
            records.write(&path).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), bytes);
            let is_header = |first: &[String], _: Option<&[String]>| first[0] == "id";
            let in_memory = TableReader::from_bytes(Path::new(name), bytes, "empty", is_header).unwrap();
            for table in [TableReader::open(&path, "empty", is_header).unwrap(), in_memory] {
                assert_eq!((table.header.as_ref().unwrap().join(" "), table.width), ("id x n".to_string(), 3));
                let rows = table.read(&[table.find("ID").unwrap()], &[table.find("3").unwrap(), 1]).unwrap();
                assert_eq!(rows.names[0].iter().collect::<Vec<_>>(), ["a", "b, c", "Zürich"]);
                assert_eq!((rows.width, rows.numbers), (2, vec![1.0, 0.5, -2.0, -1.0, 3.0, 3e-9]));
                let error = table.find("y").unwrap_err().to_string();
                assert!(error.ends_with(&format!("{name}: has no column `y`; expected id, x, n")), "{error}");
            }
        }
    }

    #[test]
    fn a_row_of_another_width_is_refused_with_its_line() {
        let table = TableReader::from_bytes(Path::new("x.csv"), b"a,1\nb\n".to_vec(), "empty", |_, _| false).unwrap();
        let error = table.read(&[0], &[1]).unwrap_err().to_string();
        assert_eq!(error, "x.csv:2: 1 columns, but the lines above have 2");
        let error = TableReader::from_bytes(Path::new("x.csv"), Vec::new(), "no rows", |_, _| false).unwrap_err();
        assert_eq!(error.to_string(), "x.csv: no rows");
    }
}
