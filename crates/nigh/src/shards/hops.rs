//! `Ã^K E` by slices of columns or by blocks of rows, one file each.

use super::edges::Block;
use super::{GraphCounts, HopSettings};
use crate::dataset::GraphStore;
use crate::error::{Error, Result};
use crate::graph::{HopOf, Operator, PanelEntry, hop_of_rows, whole_vectors};
use crate::linalg::Matrix;
use crate::linalg::aligned::AlignedVec;
use crate::linalg::half::{Half, Storage};
use crate::propagation::{PanelSource, Propagation};
use crate::threads;
use nigh_formats::npy;
use nigh_formats::open_regular;
use nigh_formats::sections::{bytes_of, bytes_of_mut};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Some columns of all rows, from the edges in a graph file: no other worker is needed.
pub(super) fn propagate_slice(
    graph: &Path,
    source: PanelSource,
    settings: &HopSettings,
    columns: Range<usize>,
    out: &Path,
) -> Result<Value> {
    let graph = Arc::new(GraphStore::open(graph)?.graph().clone());
    let HopSettings { hops, storage, scale } = *settings;
    let propagation = Propagation { operator: Operator::symmetric(graph), hops, storage, source, addresses: None };
    let shape = [propagation.operator.graph().num_nodes(), columns.len()];
    let fits = written(out, |file| {
        npy::write_header::<f32>(file, &shape).map_err(Error::io(out))?;
        propagation
            .columns(columns, scale, &mut |_, rows| file.write_all(bytes_of(rows.data())).map_err(Error::io(out)))
    })?;
    Ok(json!({ "fits": fits }))
}

/// Writes a file, which stays if the result is true.
fn written(out: &Path, write: impl FnOnce(&mut BufWriter<File>) -> Result<bool>) -> Result<bool> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(out).map_err(Error::io(out))?);
    let fits = write(&mut file)?;
    file.flush().map_err(Error::io(out))?;
    if !fits {
        std::fs::remove_file(out).map_err(Error::io(out))?;
    }
    Ok(fits)
}

/// Rows and columns of `E` as the first hop reads them.
pub(super) fn start_rows(
    block: &Path,
    source: PanelSource,
    settings: &HopSettings,
    columns: Range<usize>,
    graph: &GraphCounts,
    out: &Path,
) -> Result<Value> {
    let block = Block::open(block)?;
    let fits = match (settings.storage, settings.scale) {
        (Storage::Single, _) => start::<f32>(&block, source, 1.0, columns, graph, out)?,
        (Storage::Half, Some(scale)) => start::<Half>(&block, source, scale, columns, graph, out)?,
        (Storage::Half, None) => false,
    };
    Ok(json!({ "fits": fits }))
}

fn start<S: PanelEntry>(
    block: &Block,
    source: PanelSource,
    scale: f32,
    columns: Range<usize>,
    graph: &GraphCounts,
    out: &Path,
) -> Result<bool> {
    const ROWS: usize = 1 << 16;
    let width = whole_vectors(columns.len());
    let scales_rows = scales_rows::<S>(graph);
    let (mut values, mut entries) = (Matrix::default(), Vec::new());
    written(out, |file| {
        for first in block.rows.clone().step_by(ROWS) {
            threads::check();
            let rows = first..(first + ROWS).min(block.rows.end);
            source.fill(None, rows.clone(), columns.clone(), &mut values);
            let right = &block.scales[rows.start - block.rows.start..][..rows.len()];
            entries.resize(rows.len() * width, S::default());
            let places = entries.par_chunks_exact_mut(width);
            places.zip(values.data().par_chunks_exact(columns.len())).zip(right).for_each(
                |((place, values), &right)| {
                    S::start(values, if scales_rows { right } else { 1.0 }, scale, place);
                },
            );
            file.write_all(bytes_of(&entries)).map_err(Error::io(out))?;
        }
        Ok(true)
    })
}

fn scales_rows<S: PanelEntry>(graph: &GraphCounts) -> bool {
    S::scales_rows_of(graph.num_nodes, graph.num_edges, graph.weighted)
}

/// The rows of a block after a hop. The others are all rows of the hop before and, if these were not multiplied by `r`, all blocks.
pub(super) fn hop_rows(
    block: &Path,
    others: &[PathBuf],
    settings: &HopSettings,
    columns: usize,
    last: bool,
    graph: &GraphCounts,
    out: &Path,
) -> Result<Value> {
    let block = Block::open(block)?;
    let hop = HopFiles { block: &block, others, columns, last, graph, out };
    let fits = match (settings.storage, settings.scale) {
        (Storage::Single, _) => hop.run::<f32>(1.0)?,
        (Storage::Half, Some(scale)) => hop.run::<Half>(scale)?,
        (Storage::Half, None) => false,
    };
    Ok(json!({ "fits": fits }))
}

struct HopFiles<'a> {
    block: &'a Block,
    others: &'a [PathBuf],
    columns: usize,
    last: bool,
    graph: &'a GraphCounts,
    out: &'a Path,
}

impl HopFiles<'_> {
    fn run<S: PanelEntry>(&self, scale: f32) -> Result<bool> {
        let HopFiles { block, others, columns, last, graph, out } = *self;
        let width = whole_vectors(columns);
        let (panels, blocks) = match scales_rows::<S>(graph) {
            true => (others, &[][..]),
            false => others.split_at(others.len() / 2),
        };
        let x = read_panel::<S>(panels, graph.num_nodes * width)?;
        let mut right = Vec::new();
        for path in blocks {
            right.extend_from_slice(&Block::open(path)?.scales);
        }
        if !blocks.is_empty() && right.len() != graph.num_nodes {
            return Err(Error::file(out, format!("{} scales for {} nodes", right.len(), graph.num_nodes)));
        }
        let rows = block.operator_rows(&right);
        let num_rows = block.rows.len();
        if last {
            let mut y = AlignedVec::<f32>::zeros(num_rows * width);
            hop_of_rows(rows, &x, width, HopOf::Last { factor: 1.0 / scale }, &mut y);
            return written(out, |file| {
                npy::write_header::<f32>(file, &[num_rows, columns]).map_err(Error::io(out))?;
                for row in y.chunks_exact(width) {
                    file.write_all(bytes_of(&row[..columns])).map_err(Error::io(out))?;
                }
                Ok(true)
            });
        }
        let mut y = AlignedVec::<S>::zeros(num_rows * width);
        let overflows = hop_of_rows(rows, &x, width, HopOf::Middle, &mut y);
        written(out, |file| {
            file.write_all(bytes_of(&y)).map_err(Error::io(out))?;
            Ok(!overflows)
        })
    }
}

/// All rows of a hop, from the files of all blocks.
fn read_panel<S: PanelEntry>(files: &[PathBuf], len: usize) -> Result<AlignedVec<S>> {
    let mut panel = AlignedVec::<S>::zeros(len);
    let (mut places, mut rest) = (Vec::new(), &mut panel[..]);
    for path in files {
        let entries = path.metadata().map_err(Error::io(path))?.len() as usize / size_of::<S>();
        if entries > rest.len() {
            return Err(Error::file(path, format!("has {entries} numbers; {} are left of {len}", rest.len())));
        }
        let (place, after) = rest.split_at_mut(entries);
        places.push((path, place));
        rest = after;
    }
    if !rest.is_empty() {
        let path = files.last().map_or(Path::new("hop"), PathBuf::as_path);
        return Err(Error::file(path, format!("{} numbers are missing of {len}", rest.len())));
    }
    places
        .into_par_iter()
        .try_for_each(|(path, place)| open_regular(path)?.read_exact(bytes_of_mut(place)).map_err(Error::io(path)))?;
    Ok(panel)
}
