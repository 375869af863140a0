//! Writing rows with the names of their nodes as they are computed.

use super::check_finite;
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

/// Writes rows with the names of their nodes as they come: `.npy` (ids next to it in `FILE.ids.txt`) or `.parquet`. The files appear when
/// they are complete.
pub struct RowWriter {
    path: PathBuf,
    names: RowNames,
    cols: usize,
    next: usize,
    out: RowFile,
}

/// What rows are called.
struct RowNames {
    /// The graph of each row, if there are several.
    graphs: Option<Vec<String>>,
    ids: Arc<Ids>,
}

enum RowFile {
    Npy(PartialFile),
    /// With rows of an unfinished group.
    Parquet(ParquetWriter<BufWriter<File>>, PartialFile, Vec<f32>),
}

/// Rows of a group of a Parquet file: some megabytes.
fn group_rows(cols: usize) -> usize {
    ((4 << 20) / cols.max(1)).clamp(1 << 10, 1 << 17)
}

impl RowWriter {
    /// For a row of `cols` numbers per name.
    pub fn create(path: &Path, ids: Arc<Ids>, cols: usize) -> Result<RowWriter> {
        RowWriter::of_graphs(path, None, ids, cols)
    }

    /// As `create`, with the graph of each row if there are several.
    pub(super) fn of_graphs(path: &Path, graphs: Option<Vec<String>>, ids: Arc<Ids>, cols: usize) -> Result<RowWriter> {
        RowWriter::check_name(path)?;
        let names = RowNames { graphs, ids };
        let mut file = PartialFile::create(path).map_err(Error::io(path))?;
        let out = match is_npy(path) {
            true => {
                npy::write_header::<f32>(file.file(), &[names.ids.len(), cols]).map_err(Error::io(path))?;
                RowFile::Npy(file)
            }
            false => {
                let buffered = BufWriter::new(file.file().try_clone().map_err(Error::io(path))?);
                let writer = ParquetWriter::new(buffered, &names.columns(0, 0, cols, &[]));
                RowFile::Parquet(writer.map_err(Error::io(path))?, file, Vec::new())
            }
        };
        Ok(RowWriter { path: path.to_path_buf(), names, cols, next: 0, out })
    }

    /// Whether the format of a name can be written row by row.
    pub fn check_name(path: &Path) -> Result<()> {
        if is_npy(path) || nigh_formats::records::is_parquet(path) {
            return Ok(());
        }
        let problem = "a file written row by row must end in .npy or .parquet";
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
        let mut columns = self.names.columns(self.next, rows, self.cols, &waiting[..values]);
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
        assert_eq!(self.next, self.names.ids.len(), "a row for each name");
        let RowWriter { path, names: RowNames { graphs, ids }, out, .. } = self;
        match out {
            RowFile::Npy(file) => {
                let beside = atomic::beside(&path, "ids.txt");
                let mut names = PartialFile::create(&beside).map_err(Error::io(&beside))?;
                let mut lines = BufWriter::with_capacity(1 << 20, names.file());
                let written = ids.iter().enumerate().try_for_each(|(row, id)| match &graphs {
                    Some(graphs) => writeln!(lines, "{}\t{id}", graphs[row]),
                    None => writeln!(lines, "{id}"),
                });
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

impl RowNames {
    /// `id`, `h0`, `h1`, ... of some rows, behind `graph` if there are several.
    fn columns<'a>(
        &'a self,
        first: usize,
        rows: usize,
        cols: usize,
        values: &'a [f32],
    ) -> Vec<(String, OutputColumn<'a>)> {
        let (ids, nodes) = (self.ids.as_ref(), first..first + rows);
        let graphs = self.graphs.as_ref().map(|graphs| {
            let texts = graphs[nodes.clone()].iter().map(|graph| graph.as_str().into());
            ("graph".to_string(), OutputColumn::Texts(Box::new(texts)))
        });
        let id = match ids {
            Ids::Names(names) => OutputColumn::Texts(Box::new(nodes.map(|node| names[node].into()))),
            _ => OutputColumn::Integers(Box::new(nodes.map(|node| ids.integer(node).unwrap_or_default()))),
        };
        let number = |column: usize| {
            let values = values.iter().skip(column).step_by(cols).copied();
            (format!("h{column}"), OutputColumn::Numbers(Box::new(values)))
        };
        graphs.into_iter().chain([("id".to_string(), id)]).chain((0..cols).map(number)).collect()
    }
}
