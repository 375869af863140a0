//! Writing rows with the names of their nodes as they are computed.

use super::streamed::check_finite;
use crate::dataset::Ids;
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use nigh_formats::atomic::{self, PartialFile};
use nigh_formats::columnar::{OutputColumn, ParquetWriter};
use nigh_formats::npy;
use nigh_formats::sections::bytes_of;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Writes rows with the names of their nodes as they come: `.npy` (ids beside it in `FILE.ids.txt`) or `.parquet`. The files appear when
/// they are complete.
pub struct RowWriter {
    path: PathBuf,
    ids: Arc<Ids>,
    cols: usize,
    next: usize,
    out: RowFile,
}

enum RowFile {
    Npy(PartialFile),
    /// Rows that wait for the rest of their group.
    Parquet(ParquetWriter<BufWriter<File>>, PartialFile, Vec<f32>),
}

/// Rows of a group of a Parquet file: some megabytes.
fn group_rows(cols: usize) -> usize {
    ((4 << 20) / cols.max(1)).clamp(1 << 10, 1 << 17)
}

impl RowWriter {
    /// For a row of `cols` numbers per name.
    pub fn create(path: &Path, ids: Arc<Ids>, cols: usize) -> Result<RowWriter> {
        RowWriter::check_name(path)?;
        let mut file = PartialFile::create(path).map_err(Error::io(path))?;
        let out = match is_npy(path) {
            true => {
                npy::write_header::<f32>(file.file(), &[ids.len(), cols]).map_err(Error::io(path))?;
                RowFile::Npy(file)
            }
            false => {
                let buffered = BufWriter::new(file.file().try_clone().map_err(Error::io(path))?);
                let writer = ParquetWriter::new(buffered, &columns(&ids, 0, 0, cols, &[]));
                RowFile::Parquet(writer.map_err(Error::io(path))?, file, Vec::new())
            }
        };
        Ok(RowWriter { path: path.to_path_buf(), ids, cols, next: 0, out })
    }

    /// Whether the format of a name can be written row by row.
    pub fn check_name(path: &Path) -> Result<()> {
        if is_npy(path) || nigh_formats::records::is_parquet(path) {
            return Ok(());
        }
        let problem = "what is written row by row must end in .npy or .parquet";
        Err(Error::setting("out", path.display(), problem))
    }

    /// The next rows.
    pub fn rows(&mut self, rows: &Matrix) -> Result<()> {
        assert_eq!(rows.cols(), self.cols, "rows of one width");
        check_finite(rows)?;
        match &mut self.out {
            RowFile::Npy(file) => {
                file.file().write_all(bytes_of(rows.data())).map_err(Error::io(&self.path))?;
                self.next += rows.rows();
            }
            RowFile::Parquet(_, _, waiting) => {
                waiting.extend_from_slice(rows.data());
                while self.flush(group_rows(self.cols))? {}
            }
        }
        Ok(())
    }

    /// Writes a group, if there are enough rows.
    fn flush(&mut self, rows: usize) -> Result<bool> {
        let RowFile::Parquet(writer, _, waiting) = &mut self.out else { return Ok(false) };
        let values = rows * self.cols;
        if rows == 0 || waiting.len() < values {
            return Ok(false);
        }
        let mut columns = columns(&self.ids, self.next, rows, self.cols, &waiting[..values]);
        writer.group(rows, &mut columns).map_err(Error::io(&self.path))?;
        drop(columns);
        waiting.drain(..values);
        self.next += rows;
        Ok(true)
    }

    /// Completes the files and names them.
    pub fn finish(mut self) -> Result<Vec<PathBuf>> {
        let left = match &self.out {
            RowFile::Npy(_) => 0,
            RowFile::Parquet(_, _, waiting) => waiting.len() / self.cols.max(1),
        };
        self.flush(left)?;
        assert_eq!(self.next, self.ids.len(), "a row for each name");
        let RowWriter { path, ids, out, .. } = self;
        match out {
            RowFile::Npy(file) => {
                let beside = atomic::beside(&path, "ids.txt");
                let mut names = PartialFile::create(&beside).map_err(Error::io(&beside))?;
                let mut lines = BufWriter::with_capacity(1 << 20, names.file());
                let written = ids.iter().try_for_each(|id| writeln!(lines, "{id}"));
                written.and_then(|()| lines.flush()).map_err(Error::io(&beside))?;
                drop(lines);
                names.complete().map_err(Error::io(&beside))?;
                // Vectors without their ids are of no use to anyone: they come last.
                file.complete().map_err(Error::io(&path))?;
                Ok(vec![path, beside])
            }
            RowFile::Parquet(writer, file, _) => {
                let written = writer.finish().and_then(|mut out| out.flush());
                written.and_then(|()| file.complete()).map_err(Error::io(&path))?;
                Ok(vec![path])
            }
        }
    }
}

fn is_npy(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "npy")
}

/// `id`, `h0`, `h1`, ... of some rows.
fn columns<'a>(
    ids: &'a Ids,
    first: usize,
    rows: usize,
    cols: usize,
    values: &'a [f32],
) -> Vec<(String, OutputColumn<'a>)> {
    let nodes = first..first + rows;
    let id = match ids {
        Ids::Names(names) => OutputColumn::Texts(Box::new(nodes.map(|node| names[node].into()))),
        _ => OutputColumn::Integers(Box::new(nodes.map(|node| ids.integer(node).unwrap_or_default()))),
    };
    let number = |column: usize| {
        let values = values.iter().skip(column).step_by(cols).copied();
        (format!("h{column}"), OutputColumn::Numbers(Box::new(values)))
    };
    std::iter::once(("id".to_string(), id)).chain((0..cols).map(number)).collect()
}
