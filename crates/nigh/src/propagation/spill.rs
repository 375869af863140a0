//! Panels that wait for each other.

use crate::error::{Error, Result};
use crate::linalg::Matrix;
use nigh_formats::atomic::unnamed_file;
use nigh_formats::sections::{bytes_of, bytes_of_mut};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A matrix in an anonymous temporary file, as panels of its columns, each of them row by row.
#[derive(Debug)]
pub(crate) struct PanelFile {
    file: File,
    folder: PathBuf,
    num_rows: usize,
    num_cols: usize,
    /// Columns, and the place of the first row.
    panels: Vec<(Range<usize>, u64)>,
    length: u64,
}

impl PanelFile {
    pub fn create(folder: &Path, num_rows: usize, num_cols: usize) -> Result<PanelFile> {
        let file = unnamed_file(folder).map_err(Error::io(folder))?;
        Ok(PanelFile { file, folder: folder.to_path_buf(), num_rows, num_cols, panels: Vec::new(), length: 0 })
    }

    /// Begins a panel.
    pub fn panel(&mut self, columns: Range<usize>) {
        self.panels.push((columns, self.length));
    }

    /// The next rows of the panel.
    pub fn write(&mut self, rows: &Matrix) -> Result<()> {
        let bytes = bytes_of(rows.data());
        self.length += bytes.len() as u64;
        self.file.write_all(bytes).map_err(Error::io(&self.folder))
    }

    /// Some rows, with all columns.
    pub fn read(&mut self, rows: Range<usize>, matrix: &mut Matrix) -> Result<()> {
        assert!(rows.end <= self.num_rows, "rows that were written");
        matrix.reshape(rows.len(), self.num_cols);
        let mut part = Vec::new();
        for (columns, start) in &self.panels {
            let width = columns.len();
            part.resize(rows.len() * width, 0f32);
            let place = start + (rows.start * width * size_of::<f32>()) as u64;
            let read = self.file.seek(SeekFrom::Start(place));
            read.and_then(|_| self.file.read_exact(bytes_of_mut(&mut part))).map_err(Error::io(&self.folder))?;
            for (to, from) in matrix.data_mut().chunks_exact_mut(self.num_cols).zip(part.chunks_exact(width.max(1))) {
                to[columns.clone()].copy_from_slice(from);
            }
        }
        Ok(())
    }
}
