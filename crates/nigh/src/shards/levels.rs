//! Rows after several hops, as the run of a model asks for them: by slices of columns, or by blocks of rows and hop by hop.

use super::edges::Block;
use crate::dataset::GraphStore;
use crate::error::{Error, Result};
use crate::graph::apply_some_rows;
use crate::linalg::Matrix;
use crate::propagation::levels::{LevelSource, Levels};
use crate::propagation::requests::{Request, RequestFile};
use crate::propagation::{Execution, GatheredRows};
use crate::threads;
use nigh_formats::npy::{self, NpyRows};
use nigh_formats::sections::bytes_of;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Some columns of all rows of a request, from the edges in a graph file: no other worker is needed.
pub(super) fn slice(requests: &Path, graph: &Path, number: usize, columns: Range<usize>, out: &Path) -> Result<Value> {
    let file = RequestFile::open(requests)?;
    let request = file.get(number)?;
    file.check_columns(request, &columns)?;
    let graph: Arc<_> = GraphStore::open(graph)?.graph().clone().into();
    graph.load()?;
    let (operator, nodes) = (file.operator(request, graph)?, file.nodes(request)?);
    let fill = |some: Range<usize>, panel: &mut Matrix| {
        let some = columns.start + some.start..columns.start + some.end;
        file.fill(request, 0..file.num_nodes(request), some, panel);
    };
    let source = LevelSource::Columns { width: columns.len(), fill: &fill };
    let levels = Levels { operator: &operator, execution: &Execution::default(), source };
    write(out, columns.len(), levels.rows(&request.hops, nodes.as_deref()))
}

/// A matrix for each hop, below each other.
fn write(out: &Path, cols: usize, of_hops: Vec<Matrix>) -> Result<Value> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(out).map_err(Error::io(out))?);
    let rows = of_hops.iter().map(Matrix::rows).sum();
    npy::write_header::<f32>(&mut file, &[rows, cols]).map_err(Error::io(out))?;
    for matrix in of_hops {
        threads::check();
        file.write_all(bytes_of(matrix.data())).map_err(Error::io(out))?;
    }
    file.flush().map_err(Error::io(out))?;
    Ok(json!({}))
}

/// `l = r` of the operator of a request, for all nodes.
pub(super) fn scales(requests: &Path, graph: &Path, number: usize, out: &Path) -> Result<Value> {
    let file = RequestFile::open(requests)?;
    let operator = file.operator(file.get(number)?, Arc::new(GraphStore::open(graph)?.graph().clone()))?;
    let scales = operator.right().to_vec();
    write(out, 1, vec![Matrix::from_data(scales.len(), 1, scales)])
}

/// A block of rows of some columns after a hop. The others are all rows of the hop before.
pub(super) fn hop(
    requests: &Path,
    number: usize,
    columns: Range<usize>,
    [block, scales]: [&Path; 2],
    others: &[PathBuf],
    out: &Path,
) -> Result<Value> {
    let file = RequestFile::open(requests)?;
    let request = file.get(number)?;
    file.check_columns(request, &columns)?;
    let block = Block::open(block)?;
    let (num_nodes, width) = (file.num_nodes(request), columns.len());
    if block.rows.end > num_nodes {
        return Err(Error::OutOfRange { what: "row", number: block.rows.end, count: num_nodes });
    }
    if others.is_empty() {
        let mut rows = Matrix::default();
        file.fill(request, block.rows.clone(), columns, &mut rows);
        return write(out, width, vec![rows]);
    }
    let x = stacked(others, num_nodes, width)?;
    let scales = stacked(&[scales.to_path_buf()], num_nodes, 1)?;
    let mut rows = Matrix::zeros(block.rows.len(), width);
    apply_some_rows(block.rows_scaled(scales.data()), request.self_weight(), x.data(), width, rows.data_mut());
    write(out, width, vec![rows])
}

/// The rows of several files below each other.
fn stacked(files: &[PathBuf], rows: usize, cols: usize) -> Result<Matrix> {
    let (mut data, mut part) = (Vec::with_capacity(rows * cols), Vec::new());
    for path in files {
        let mut file = NpyRows::open(path)?;
        let [of_file, width] = file.shape();
        if width != cols || data.len() + of_file * width > rows * cols {
            return Err(Error::file(path, format!("has {of_file} rows of {width} columns; expected {rows} of {cols}")));
        }
        file.read(0..of_file, &mut part)?;
        data.extend_from_slice(&part);
    }
    match data.len() == rows * cols {
        true => Ok(Matrix::from_data(rows, cols, data)),
        false => {
            let path = files.last().map_or(Path::new("rows"), PathBuf::as_path);
            Err(Error::file(path, format!("is the last of {} rows; expected {rows}", data.len() / cols.max(1))))
        }
    }
}

/// The rows that a request asks for, from the blocks of each of its hops.
pub(super) fn gather(
    requests: &Path,
    number: usize,
    columns: Range<usize>,
    blocks: &[PathBuf],
    out: &Path,
) -> Result<Value> {
    let file = RequestFile::open(requests)?;
    let request = file.get(number)?;
    file.check_columns(request, &columns)?;
    let (nodes, width) = (file.nodes(request)?, columns.len());
    let per_hop = blocks.len() / request.hops.len();
    let of_hop = |blocks: &[PathBuf]| gathered(&file, request, nodes.as_deref(), width, blocks);
    let found = blocks.chunks(per_hop.max(1)).map(of_hop).collect::<Result<Vec<_>>>()?;
    match found.len() == request.hops.len() {
        true => write(out, width, found),
        false => Err(Error::setting("files", blocks.len(), format!("expected as many for each of {:?}", request.hops))),
    }
}

fn gathered(
    file: &RequestFile,
    request: &Request,
    nodes: Option<&[u32]>,
    width: usize,
    blocks: &[PathBuf],
) -> Result<Matrix> {
    let Some(nodes) = nodes else { return stacked(blocks, file.num_nodes(request), width) };
    let (mut gathered, mut first) = (GatheredRows::new([nodes], width), 0);
    for path in blocks {
        let rows = NpyRows::open(path)?.shape()[0];
        if gathered.wants(first..first + rows) {
            gathered.take(first, &stacked(std::slice::from_ref(path), rows, width)?);
        }
        first += rows;
    }
    let [rows] = gathered.rows;
    Ok(rows)
}
