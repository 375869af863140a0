//! Rows of all columns, with the names of their nodes.

use super::edges::Block;
use crate::answer::{RowWriter, Trained};
use crate::dataset::{GraphStore, Ids};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::threads;
use nigh_formats::columnar::{ColumnValues, Columnar};
use nigh_formats::npy::{self, NpyRows};
use nigh_formats::records::is_parquet;
use nigh_formats::sections::bytes_of;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Rows of a model that are in memory at a time.
const ROWS: usize = 1 << 16;

/// Rows that are copied at a time, so that they stay in the cache of a core from the file that they are read from to the one that they go
/// to.
fn rows_in_cache(cols: usize) -> usize {
    ((1 << 16) / cols.max(1)).clamp(1 << 6, ROWS)
}

/// Some rows of all slices, beside each other.
struct SliceRows {
    slices: Vec<NpyRows>,
    next: usize,
    part: Vec<f32>,
}

impl SliceRows {
    /// The first `skip` rows of each slice are passed over.
    fn open(slices: &[PathBuf], skip: usize) -> Result<SliceRows> {
        let slices = slices.iter().map(|path| Ok(NpyRows::open(path)?)).collect::<Result<Vec<_>>>()?;
        Ok(SliceRows { slices, next: skip, part: Vec::new() })
    }

    fn rows(&self) -> usize {
        self.slices.first().map_or(0, |slice| slice.shape()[0])
    }

    fn cols(&self) -> usize {
        self.slices.iter().map(|slice| slice.shape()[1]).sum()
    }

    /// The next rows.
    fn read(&mut self, rows: usize, matrix: &mut Matrix) -> Result<()> {
        let (cols, mut first) = (self.cols(), 0);
        matrix.reshape(rows, cols);
        for slice in &mut self.slices {
            slice.read(self.next..self.next + rows, &mut self.part)?;
            let width = slice.shape()[1];
            for (to, from) in matrix.data_mut().chunks_exact_mut(cols).zip(self.part.chunks_exact(width)) {
                to[first..first + width].copy_from_slice(from);
            }
            first += width;
        }
        self.next += rows;
        Ok(())
    }
}

/// The rows of a slice in one file.
pub(super) fn join_rows(parts: &[PathBuf], out: &Path) -> Result<Value> {
    let mut parts = parts.iter().map(|path| Ok(NpyRows::open(path)?)).collect::<Result<Vec<_>>>()?;
    let rows = parts.iter().map(|part| part.shape()[0]).sum();
    let cols = parts.first().map_or(0, |part| part.shape()[1]);
    let mut file = BufWriter::with_capacity(1 << 20, File::create(out).map_err(Error::io(out))?);
    npy::write_header::<f32>(&mut file, &[rows, cols]).map_err(Error::io(out))?;
    let (mut values, at_a_time) = (Vec::new(), rows_in_cache(cols));
    for part in &mut parts {
        for first in (0..part.shape()[0]).step_by(at_a_time) {
            threads::check();
            part.read(first..(first + at_a_time).min(part.shape()[0]), &mut values)?;
            file.write_all(bytes_of(&values)).map_err(Error::io(out))?;
        }
    }
    file.flush().map_err(Error::io(out))?;
    Ok(json!({}))
}

/// The names of some rows, from a graph file or from a block that has just these.
fn names_of(path: &Path, rows: Range<usize>) -> Result<Ids> {
    let ids = match Block::is_block(path)? {
        false => GraphStore::open(path)?.ids_of(rows.clone())?,
        true => {
            let block = Block::open(path)?;
            if block.rows != rows {
                return Err(Error::file(path, format!("has rows {:?}, not {rows:?}", block.rows)));
            }
            block.ids()?
        }
    };
    Ok(match ids {
        Ids::Numbers(_) => Ids::from_integers((rows.start as i64..rows.end as i64).collect()),
        named => named,
    })
}

/// Reads a model from one file.
pub(super) fn read_model(path: &Path) -> Result<Trained> {
    Trained::from_bytes(&nigh_formats::read_regular(path, u64::MAX)?)
}

/// Checks that a model knows some nodes in the order in which a graph has them.
pub(super) fn match_model(model: &Path, names: &Path, rows: Range<usize>) -> Result<Value> {
    let (known, names) = (read_model(model)?.ids, names_of(names, rows.clone())?);
    for (at, node) in rows.enumerate() {
        let (name, expected) = (names.name(at), (node < known.len()).then(|| known.name(node)));
        if expected.as_ref() != Some(&name) {
            let problem = match expected {
                Some(expected) => format!("the model has `{expected}` in this place; it has to be of the same graph"),
                None => format!("the model knows {} nodes; it has to be of the same graph", known.len()),
            };
            return Err(Error::setting("node", name, problem));
        }
    }
    Ok(json!({}))
}

/// Rows from all slices, with names; those of a model's representations, if there is a model and perhaps slices of `Ã^K F`.
pub(super) fn write_rows(
    names: &Path,
    rows: Range<usize>,
    slices: &[PathBuf],
    skip: usize,
    model: &[PathBuf],
    out: &Path,
) -> Result<Value> {
    let ids = names_of(names, rows.clone())?;
    let (model, features) = match model {
        [] => (None, &[][..]),
        [model, features @ ..] => (Some(read_model(model)?), features),
    };
    let mut slices = SliceRows::open(slices, skip)?;
    let mut features = if features.is_empty() { None } else { Some(SliceRows::open(features, skip)?) };
    let cols = model.as_ref().map_or(slices.cols(), |model| model.model().representation_width());
    let mut writer = RowWriter::create(out, ids.into(), cols)?;
    let at_a_time = if model.is_some() { ROWS } else { rows_in_cache(cols) };
    let mut matrix = Matrix::default();
    for first in rows.clone().step_by(at_a_time) {
        threads::check();
        let nodes = first..(first + at_a_time).min(rows.end);
        slices.read(nodes.len(), &mut matrix)?;
        if let Some(model) = &model {
            let features = features.as_mut().map(|features| {
                let mut matrix = Matrix::default();
                features.read(nodes.len(), &mut matrix).map(|()| matrix)
            });
            matrix = model.embed_rows(nodes.start, matrix, features.transpose()?)?;
        }
        writer.rows(&matrix)?;
    }
    writer.finish()?;
    Ok(json!({}))
}

/// The SHA-256 of all numbers, row by row, as little-endian `f32`: that of the data of one NumPy array. So many files have the columns
/// of the same rows each, and those of the next rows follow.
pub(super) fn digest_rows(files: &[PathBuf], slices: usize) -> Result<Value> {
    let mut hash = Sha256::new();
    for slices in files.chunks(slices.max(1)) {
        match slices {
            [path] if is_parquet(path) => digest_parquet(path, &mut hash)?,
            _ => digest_slices(slices, &mut hash)?,
        }
    }
    let digest = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    Ok(json!({ "sha256": digest }))
}

fn digest_parquet(path: &Path, hash: &mut Sha256) -> Result<()> {
    let file = Columnar::open(path)?;
    let wanted: Vec<usize> = (1..file.names().len()).collect();
    let mut rows = Vec::new();
    for batch in file.batches(&wanted)? {
        threads::check();
        let columns = batch?.columns;
        let count = columns.first().map_or(0, ColumnValues::len);
        rows.resize(count * columns.len(), 0f32);
        for (column, values) in columns.iter().enumerate() {
            let ColumnValues::Numbers(values) = values else {
                return Err(Error::file(path, format!("column {column} of the vectors holds no numbers")));
            };
            rows.iter_mut().skip(column).step_by(columns.len()).zip(values).for_each(|(to, &from)| *to = from);
        }
        hash.update(bytes_of(&rows));
    }
    Ok(())
}

fn digest_slices(slices: &[PathBuf], hash: &mut Sha256) -> Result<()> {
    let mut slices = SliceRows::open(slices, 0)?;
    let (mut matrix, at_a_time) = (Matrix::default(), rows_in_cache(slices.cols()));
    for first in (0..slices.rows()).step_by(at_a_time) {
        threads::check();
        slices.read(at_a_time.min(slices.rows() - first), &mut matrix)?;
        hash.update(bytes_of(matrix.data()));
    }
    Ok(())
}
