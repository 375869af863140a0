//! Rows of all columns, with the names of their nodes.

use super::edges::Block;
use crate::dataset::{GraphStore, Ids};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::threads;
use crate::trained::{RowWriter, Trained};
use nigh_formats::columnar::{ColumnValues, Columnar};
use nigh_formats::records::is_parquet;
use nigh_formats::sections::{bytes_of, bytes_of_mut};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Rows that are in memory at a time.
const ROWS: usize = 1 << 16;

/// Some rows of all slices, beside each other.
pub(super) struct SliceRows {
    slices: Vec<(PathBuf, File, usize)>,
    part: Vec<f32>,
}

impl SliceRows {
    /// The first `skip` rows of each slice are passed over.
    pub fn open(slices: &[PathBuf], widths: &[usize], skip: usize) -> Result<SliceRows> {
        let open = |(path, &width): (&PathBuf, &usize)| {
            let mut file = File::open(path).map_err(Error::io(path))?;
            file.seek(SeekFrom::Start((skip * width * size_of::<f32>()) as u64)).map_err(Error::io(path))?;
            Ok((path.clone(), file, width))
        };
        let slices = slices.iter().zip(widths).map(open).collect::<Result<Vec<_>>>()?;
        Ok(SliceRows { slices, part: Vec::new() })
    }

    pub fn cols(&self) -> usize {
        self.slices.iter().map(|slice| slice.2).sum()
    }

    /// The next rows.
    pub fn read(&mut self, rows: usize) -> Result<Matrix> {
        let cols = self.cols();
        let (mut matrix, mut first) = (Matrix::zeros(rows, cols), 0);
        for (path, file, width) in &mut self.slices {
            self.part.resize(rows * *width, 0.0);
            file.read_exact(bytes_of_mut(&mut self.part)).map_err(Error::io(path))?;
            for (to, from) in matrix.data_mut().chunks_exact_mut(cols).zip(self.part.chunks_exact(*width)) {
                to[first..first + *width].copy_from_slice(from);
            }
            first += *width;
        }
        Ok(matrix)
    }
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
fn read_model(path: &Path) -> Result<Trained> {
    Trained::from_bytes(&std::fs::read(path).map_err(Error::io(path))?)
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

/// Rows from all slices, with names; those of a model's representations, if there is a model and perhaps `Ã^K 1`.
pub(super) fn write_rows(
    names: &Path,
    rows: Range<usize>,
    slices: &[PathBuf],
    skip: usize,
    widths: &[usize],
    model: &[PathBuf],
    out: &Path,
) -> Result<Value> {
    let ids = names_of(names, rows.clone())?;
    let (model, ones) = match model {
        [] => (None, None),
        [model, ones @ ..] => (Some(read_model(model)?), ones.first().cloned()),
    };
    let mut slices = SliceRows::open(slices, widths, skip)?;
    let mut ones = ones.map(|path| SliceRows::open(&[path], &[1], skip)).transpose()?;
    let cols = model.as_ref().map_or(slices.cols(), Trained::width);
    let mut writer = RowWriter::create(out, ids.into(), cols)?;
    for first in rows.clone().step_by(ROWS) {
        threads::check();
        let nodes = first..(first + ROWS).min(rows.end);
        let mut matrix = slices.read(nodes.len())?;
        if let Some(model) = &model {
            let ones = ones.as_mut().map(|ones| ones.read(nodes.len())).transpose()?;
            matrix = model.represent_rows(nodes, matrix, ones)?;
        }
        writer.rows(&matrix)?;
    }
    writer.finish()?;
    Ok(json!({}))
}

/// The SHA-256 of all numbers, row by row, as little-endian `f32`: that of the data of one NumPy array.
pub(super) fn digest_rows(files: &[PathBuf]) -> Result<Value> {
    let mut hash = Sha256::new();
    for path in files {
        threads::check();
        if is_parquet(path) {
            digest_parquet(path, &mut hash)?;
        } else {
            digest_npy(path, &mut hash)?;
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

/// The numbers of an array follow its header, whose length is in its tenth byte and the next.
fn digest_npy(path: &Path, hash: &mut Sha256) -> Result<()> {
    let mut file = BufReader::with_capacity(1 << 20, File::open(path).map_err(Error::io(path))?);
    let mut start = [0; 10];
    file.read_exact(&mut start).map_err(Error::io(path))?;
    let header = u16::from_le_bytes([start[8], start[9]]);
    file.seek_relative(i64::from(header)).map_err(Error::io(path))?;
    let mut bytes = vec![0; 1 << 20];
    loop {
        match file.read(&mut bytes).map_err(Error::io(path))? {
            0 => return Ok(()),
            count => hash.update(&bytes[..count]),
        }
    }
}
