//! A matrix in a file, from which any part is propagated.

use super::products::GROUP;
use super::{PanelSource, rows_at_a_time};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::threads;
use nigh_formats::interrupt::fail;
use nigh_formats::sections::{Numbers, Section, SectionWriter, Sections};
use std::ops::Range;
use std::path::Path;

/// A matrix in a file: sections `shape` and `rows`; or in groups of columns, of which each has all rows, among other matrices.
#[derive(Debug, Clone)]
pub struct MatrixFile {
    shape: [usize; 2],
    rows: Section<f32>,
    /// Where the first group starts.
    groups: Option<usize>,
}

impl MatrixFile {
    /// Opens a file of [`MatrixFile::write`].
    pub fn open(path: &Path) -> Result<MatrixFile> {
        let sections = Sections::open(path)?;
        let shape = sections.get::<usize>("shape")?.map(|shape| shape.read_all()).transpose()?;
        match (shape.as_deref(), sections.get::<f32>("rows")?) {
            (Some(&[num_rows, cols]), Some(rows)) if num_rows.checked_mul(cols) == Some(rows.len()) => {
                Ok(MatrixFile { shape: [num_rows, cols], rows, groups: None })
            }
            _ => Err(Error::file(path, "holds no matrix")),
        }
    }

    /// A matrix in groups of [`GROUP`] columns, of which the first starts here.
    pub(super) fn in_groups(shape: [usize; 2], rows: Section<f32>, start: usize) -> MatrixFile {
        MatrixFile { shape, rows, groups: Some(start) }
    }

    /// Writes the first rows of a matrix.
    pub fn write(source: &PanelSource, num_rows: usize, path: &Path) -> Result<()> {
        let mut writer = SectionWriter::create(path)?;
        writer.section("shape")?;
        writer.write(&[num_rows, source.cols()])?;
        writer.section("rows")?;
        let (mut block, at_a_time) = (Matrix::default(), rows_at_a_time(source.cols()));
        for first in (0..num_rows).step_by(at_a_time) {
            threads::check();
            source.fill(None, first..(first + at_a_time).min(num_rows), 0..source.cols(), &mut block);
            writer.write(block.data())?;
        }
        Ok(writer.finish()?)
    }

    /// Rows and columns.
    pub fn shape(&self) -> [usize; 2] {
        self.shape
    }

    /// `X[rows, columns]`. Stops the work if they can't be read any more.
    pub(super) fn copy(&self, rows: Range<usize>, columns: Range<usize>, block: &mut Matrix) {
        /// Numbers that are read at a time, of all columns.
        const READ: usize = 1 << 18;
        let [num_rows, cols] = self.shape;
        block.reshape(rows.len(), columns.len());
        if let Some(start) = self.groups {
            for first in (columns.start / GROUP * GROUP..columns.end).step_by(GROUP) {
                let width = GROUP.min(cols - first);
                let start = start + first * num_rows;
                let read = self.rows.read(start + rows.start * width..start + rows.end * width);
                let read = read.unwrap_or_else(|error| fail(error));
                let wanted = columns.start.max(first)..columns.end.min(first + width);
                let from = wanted.start - first..wanted.end - first;
                let to = wanted.start - columns.start..wanted.end - columns.start;
                for (row, values) in block.data_mut().chunks_exact_mut(columns.len()).zip(read.chunks_exact(width)) {
                    row[to.clone()].copy_from_slice(&values[from.clone()]);
                }
            }
            return;
        }
        let (mut read, at_a_time) = (Numbers::default(), (READ / cols.max(1)).max(1));
        let places = block.data_mut().chunks_mut((at_a_time * columns.len()).max(1));
        for (first, places) in rows.clone().step_by(at_a_time).zip(places) {
            let some = first * cols..(first + at_a_time).min(rows.end) * cols;
            self.rows.read_into(some, &mut read).unwrap_or_else(|error| fail(error));
            for (to, from) in places.chunks_exact_mut(columns.len().max(1)).zip(read.chunks_exact(cols.max(1))) {
                to.copy_from_slice(&from[columns.clone()]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_the_file_are_those_of_the_matrix() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("matrix");
        let matrix = Matrix::from_fn(1_000, 7, |row, column| (row * 7 + column) as f32);
        MatrixFile::write(&PanelSource::Dense(matrix.clone().into()), 1_000, &path).unwrap();
        let file = MatrixFile::open(&path).unwrap();
        assert_eq!(file.shape(), [1_000, 7]);
        let mut part = Matrix::default();
        for (rows, columns) in [(0..1_000, 0..7), (3..900, 2..5), (3..900, 2..5), (999..1_000, 6..7)] {
            file.copy(rows.clone(), columns.clone(), &mut part);
            let expected = Matrix::from_fn(rows.len(), columns.len(), |row, column| {
                matrix.row(rows.start + row)[columns.start + column]
            });
            assert_eq!(part, expected);
        }
        std::fs::write(&path, b"1,2\n").unwrap();
        assert!(MatrixFile::open(&path).is_err());
    }

    #[test]
    fn a_file_with_fewer_rows_than_it_says_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("matrix");
        let mut writer = SectionWriter::create(&path).unwrap();
        writer.section("shape").unwrap();
        writer.write(&[3usize, 2]).unwrap();
        writer.section("rows").unwrap();
        writer.write(&[1f32; 5]).unwrap();
        writer.finish().unwrap();
        assert!(MatrixFile::open(&path).unwrap_err().to_string().contains("holds no matrix"));
    }
}
