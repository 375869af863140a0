//! Edges to blocks of rows, and blocks to a graph file.

use super::IdKind;
use super::ids::{ids_of, numbers};
use crate::dataset::{GraphStore, Ids, read_ids, write_ids};
use crate::error::{Error, Result};
use crate::graph::{Edges, Graph, OperatorRows, build_rows, symmetric_scale};
use nigh_formats::Texts;
use nigh_formats::open_regular;
use nigh_formats::sections::{Plain, Section, SectionWriter, Sections, bytes_of, bytes_of_mut};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What is known of edges at those of their ends that are in one block: rows, entries of [`Edges::push_entry`], weights.
#[derive(Debug, Default)]
struct Entries {
    rows: Vec<u32>,
    entries: Vec<u32>,
    weights: Vec<f32>,
}

impl Entries {
    fn push(&mut self, row: u32, entry: u32, weight: Option<f32>) {
        self.rows.push(row);
        self.entries.push(entry);
        self.weights.extend(weight);
    }

    /// Counts of the three, then their numbers.
    fn write(&self, path: &Path) -> Result<()> {
        let write = || -> std::io::Result<()> {
            let mut file = BufWriter::new(File::create(path)?);
            file.write_all(bytes_of(&[self.rows.len() as u64, self.weights.len() as u64]))?;
            file.write_all(bytes_of(&self.rows))?;
            file.write_all(bytes_of(&self.entries))?;
            file.write_all(bytes_of(&self.weights))?;
            file.flush()
        };
        write().map_err(Error::io(path))
    }

    fn read(path: &Path) -> Result<Entries> {
        let mut file = open_regular(path)?;
        let length = file.metadata().map_err(Error::io(path))?.len();
        let mut counts = [0u64; 2];
        file.read_exact(bytes_of_mut(&mut counts)).map_err(Error::io(path))?;
        let [count, weights] = counts;
        if count.checked_mul(8).and_then(|bytes| bytes.checked_add(weights.checked_mul(4)?)?.checked_add(16))
            != Some(length)
        {
            return Err(Error::file(path, format!("has {length} bytes, which is not what its counts say")));
        }
        let mut entries = Entries {
            rows: vec![0; count as usize],
            entries: vec![0; count as usize],
            weights: vec![0.0; weights as usize],
        };
        let mut read = |bytes: &mut [u8]| file.read_exact(bytes).map_err(Error::io(path));
        read(bytes_of_mut(&mut entries.rows))?;
        read(bytes_of_mut(&mut entries.entries))?;
        read(bytes_of_mut(&mut entries.weights))?;
        Ok(entries)
    }
}

/// Edges, or other numbers, that are read at a time.
const EDGES: usize = 1 << 18;

/// The edges of a part, at both ends, to the blocks that have them.
pub(super) fn route(
    part: &Path,
    kind: IdKind,
    merged: &[PathBuf],
    bases: &[usize],
    block_rows: usize,
    outs: &[PathBuf],
) -> Result<Value> {
    let numbers = numbers(&ids_of(part)?, kind, merged, bases)?;
    let sections = Sections::open(part)?;
    let edges = sections.get::<u32>("edges")?.ok_or_else(|| Error::file(part, "has no section `edges`"))?;
    let mut weights =
        sections.get::<f32>("weights")?.map(|weights| weights.read_all()).transpose()?.into_iter().flatten();
    let mut blocks: Vec<Entries> = outs.iter().map(|_| Entries::default()).collect();
    let mut at = 0;
    for ends in edges.chunks(2 * EDGES) {
        for &[a, b] in ends?.as_chunks::<2>().0 {
            let (Some(&a), Some(&b)) = (numbers.get(a as usize), numbers.get(b as usize)) else {
                return Err(Error::file(part, format!("edge {at} has an end beyond its {} ids", numbers.len())));
            };
            let weight = weights.next();
            blocks[a as usize / block_rows].push(a, b << 1, weight);
            // A self loop is kept once, to be counted.
            if a != b {
                blocks[b as usize / block_rows].push(b, a << 1 | 1, weight);
            }
            at += 1;
        }
    }
    blocks.par_iter().zip(outs).try_for_each(|(entries, out)| entries.write(out))?;
    Ok(json!({}))
}

/// The rows of a block, from the entries of all parts.
pub(super) fn build_block(
    rows: Range<usize>,
    num_nodes: usize,
    weighted: bool,
    merged: &[PathBuf],
    bases: &[usize],
    entries: &[PathBuf],
    out: &Path,
) -> Result<Value> {
    let gathered = |path: &PathBuf| -> Result<Edges> {
        let Entries { rows: of_rows, entries, weights } = Entries::read(path)?;
        let mut edges = Edges::new(weighted);
        for (at, (&row, &entry)) in of_rows.iter().zip(&entries).enumerate() {
            if !rows.contains(&(row as usize)) {
                return Err(Error::file(path, format!("has an entry of row {row}, not of {rows:?}")));
            }
            edges.push_entry(row, entry, weights.get(at).copied());
        }
        Ok(edges)
    };
    let edges = entries.par_iter().map(gathered).collect::<Result<Vec<_>>>()?;
    let (block, cleaning) = build_rows(&edges, rows.clone());
    drop(edges);
    let mut offsets = vec![0usize];
    for &length in &block.lengths {
        offsets.push(offsets[offsets.len() - 1] + length as usize);
    }
    let weights = weighted.then_some(&block.weights[..]);
    let ids = names_of(rows.clone(), merged, bases)?;
    write_block(out, rows, num_nodes, &offsets, &block.neighbours, weights, &ids)?;
    Ok(json!({
        "entries": block.neighbours.len(),
        "self_loops": cleaning.self_loops,
        "duplicates": cleaning.duplicates,
        "both_ways": cleaning.both_ways,
    }))
}

/// The names of some rows from the ranges of ids that have them.
fn names_of(rows: Range<usize>, merged: &[PathBuf], bases: &[usize]) -> Result<Ids> {
    let (mut names, mut integers, mut has_names) = (Texts::default(), Vec::new(), false);
    for (path, &base) in merged.iter().zip(bases) {
        let ids = ids_of(path)?;
        let places = rows.start.max(base) - base..rows.end.min(base + ids.len()).max(base) - base;
        match &ids {
            Ids::Names(all) => {
                has_names = true;
                places.for_each(|at| names.push(&all[at]));
            }
            _ => integers.extend(places.filter_map(|at| ids.integer(at))),
        }
    }
    Ok(match (merged, has_names) {
        ([], _) => Ids::Numbers(rows.len()),
        (_, true) => Ids::Names(names),
        (_, false) => Ids::Integers(integers),
    })
}

/// A block of a graph file.
pub(super) fn cut_block(graph: &Path, rows: Range<usize>, out: &Path) -> Result<Value> {
    let store = GraphStore::open(graph)?;
    if rows.end > store.graph().num_nodes() {
        return Err(Error::file(graph, format!("has {} nodes, not rows {rows:?}", store.graph().num_nodes())));
    }
    let (offsets, neighbours, weights) = store.graph().read_rows(rows.clone())?;
    let ids = store.ids_of(rows.clone())?;
    write_block(out, rows, store.graph().num_nodes(), &offsets, &neighbours, weights.as_deref(), &ids)?;
    Ok(json!({ "entries": neighbours.len() }))
}

fn write_block(
    out: &Path,
    rows: Range<usize>,
    num_nodes: usize,
    offsets: &[usize],
    neighbours: &[u32],
    weights: Option<&[f32]>,
    ids: &Ids,
) -> Result<()> {
    let scale = |row: usize| {
        let entries = offsets[row]..offsets[row + 1];
        symmetric_scale(entries.len(), weights.map(|weights| &weights[entries]))
    };
    let scales: Vec<f32> = (0..rows.len()).map(scale).collect();
    let mut writer = SectionWriter::create(out)?;
    writer.section("rows")?;
    writer.write(&[rows.start, rows.end, num_nodes])?;
    writer.section("neighbours")?;
    writer.write(neighbours)?;
    if let Some(weights) = weights {
        writer.section("weights")?;
        writer.write(weights)?;
    }
    writer.section("offsets")?;
    writer.write(offsets)?;
    writer.section("scales")?;
    writer.write(&scales)?;
    write_ids(&mut writer, ids)?;
    writer.finish()?;
    Ok(())
}

/// Some rows of a graph, in memory.
pub(super) struct Block {
    sections: Sections,
    pub rows: Range<usize>,
    offsets: Vec<usize>,
    neighbours: Vec<u32>,
    weights: Option<Vec<f32>>,
    pub scales: Vec<f32>,
}

impl Block {
    /// Whether a file is one, and not a whole graph.
    pub fn is_block(path: &Path) -> Result<bool> {
        Ok(Sections::open(path)?.get::<usize>("rows")?.is_some())
    }

    pub fn open(path: &Path) -> Result<Block> {
        let BlockFile { sections, rows, num_nodes, offsets, neighbours, weights, scales } = BlockFile::open(path)?;
        let (offsets, neighbours, scales) = (offsets.read_all()?, neighbours.read_all()?, scales.read_all()?);
        let weights = weights.map(|weights| weights.read_all()).transpose()?;
        let fits = offsets.first() == Some(&0)
            && offsets.is_sorted()
            && offsets.last() == Some(&neighbours.len())
            && neighbours.par_iter().all(|&neighbour| (neighbour as usize) < num_nodes);
        match fits {
            true => Ok(Block { sections, rows, offsets, neighbours, weights, scales }),
            false => Err(no_block(path, &rows, num_nodes)),
        }
    }

    /// As a hop takes them, with the scales `l = r` of all nodes.
    pub fn rows_scaled<'a>(&'a self, scales: &'a [f32]) -> OperatorRows<'a> {
        OperatorRows { scale: &scales[self.rows.clone()], ..self.operator_rows(scales) }
    }

    /// As a hop takes them; `right` is that of all nodes, or empty.
    pub fn operator_rows<'a>(&'a self, right: &'a [f32]) -> OperatorRows<'a> {
        OperatorRows {
            first: self.rows.start,
            offsets: &self.offsets,
            neighbours: &self.neighbours,
            weights: self.weights.as_deref(),
            scale: &self.scales,
            right,
        }
    }

    /// The names of the nodes, where these are not their numbers.
    pub fn ids(&self) -> Result<Ids> {
        read_ids(&self.sections, self.rows.len(), 0..self.rows.len())
    }
}

fn no_block(path: &Path, rows: &Range<usize>, num_nodes: usize) -> Error {
    Error::file(path, format!("is no block of rows {} to {} of {num_nodes}", rows.start, rows.end))
}

/// Some rows of a graph, which stay in the file.
struct BlockFile {
    sections: Sections,
    rows: Range<usize>,
    num_nodes: usize,
    offsets: Section<usize>,
    neighbours: Section<u32>,
    weights: Option<Section<f32>>,
    scales: Section<f32>,
}

impl BlockFile {
    /// Checks that the sections have the lengths of a block.
    fn open(path: &Path) -> Result<BlockFile> {
        let sections = Sections::open(path)?;
        fn section<T: Plain>(sections: &Sections, name: &str) -> Result<Section<T>> {
            let found = sections.get::<T>(name)?;
            found.ok_or_else(|| {
                Error::file(sections.path(), format!("has no section `{name}`; it is no block of a graph"))
            })
        }
        let bounds = section::<usize>(&sections, "rows")?.read_all()?;
        let &[start, end, num_nodes] = &bounds[..] else {
            return Err(Error::file(path, "does not say which rows it has"));
        };
        let (offsets, neighbours) = (section::<usize>(&sections, "offsets")?, section::<u32>(&sections, "neighbours")?);
        let (weights, scales) = (sections.get::<f32>("weights")?, section::<f32>(&sections, "scales")?);
        let fits = start <= end
            && end <= num_nodes
            && offsets.len() == end - start + 1
            && weights.as_ref().is_none_or(|weights| weights.len() == neighbours.len())
            && scales.len() == end - start;
        match fits {
            true => Ok(BlockFile { sections, rows: start..end, num_nodes, offsets, neighbours, weights, scales }),
            false => Err(no_block(path, &(start..end), num_nodes)),
        }
    }

    fn contradicts_itself(&self) -> Error {
        no_block(self.sections.path(), &self.rows, self.num_nodes)
    }

    /// Its neighbours, all of which have to exist, to another file.
    fn copy_neighbours(&self, to: &mut SectionWriter) -> Result<()> {
        self.neighbours.chunks(EDGES).try_for_each(|chunk| {
            let chunk = chunk?;
            match chunk.iter().all(|&neighbour| (neighbour as usize) < self.num_nodes) {
                true => Ok(to.write(&chunk)?),
                false => Err(self.contradicts_itself()),
            }
        })
    }

    /// Whether offsets ascend from zero to the number of neighbours.
    fn check_offsets(&self) -> Result<()> {
        let mut before = 0;
        for (number, chunk) in self.offsets.chunks(EDGES).enumerate() {
            let chunk = chunk?;
            let starts = number > 0 || chunk.first() == Some(&0);
            if !starts || chunk.first().is_some_and(|&first| first < before) || !chunk.is_sorted() {
                return Err(self.contradicts_itself());
            }
            before = chunk.last().copied().unwrap_or(before);
        }
        if before == self.neighbours.len() { Ok(()) } else { Err(self.contradicts_itself()) }
    }
}

/// All blocks in one graph file.
pub(super) fn join_blocks(blocks: &[PathBuf], out: &Path) -> Result<Value> {
    let blocks = blocks.iter().map(|path| BlockFile::open(path)).collect::<Result<Vec<_>>>()?;
    let mut end = 0;
    for block in &blocks {
        if block.rows.start != end || block.num_nodes != blocks[0].num_nodes {
            return Err(Error::file(block.sections.path(), format!("does not start at row {end}")));
        }
        block.check_offsets()?;
        end = block.rows.end;
    }
    let num_entries: usize = blocks.iter().map(|block| block.neighbours.len()).sum();
    if num_entries == 0 {
        return Err(Error::file(out, "no edge between two different nodes; message passing needs some"));
    }
    let weighted = blocks.iter().any(|block| block.weights.is_some());
    let mut writer = SectionWriter::create(out)?;
    writer.section("neighbours")?;
    blocks.iter().try_for_each(|block| block.copy_neighbours(&mut writer))?;
    if weighted {
        writer.section("weights")?;
        blocks.iter().flat_map(|block| &block.weights).try_for_each(|weights| copy(weights, &mut writer))?;
    }
    writer.section("offsets")?;
    writer.write(&[0usize])?;
    let mut before = 0;
    for block in &blocks {
        copy_ends(&block.offsets, before, &mut writer)?;
        before += block.neighbours.len();
    }
    write_all_ids(&mut writer, &blocks)?;
    writer.finish()?;
    Ok(json!({ "num_nodes": end, "num_edges": num_entries / 2, "weighted": weighted }))
}

/// A section of one file to another.
fn copy<T: Plain>(from: &Section<T>, to: &mut SectionWriter) -> Result<()> {
    from.chunks(EDGES).try_for_each(|chunk| Ok(to.write(&chunk?)?))
}

/// All ends but the start, which is the end of what is before. Returns the last.
fn copy_ends(ends: &Section<usize>, before: usize, to: &mut SectionWriter) -> Result<usize> {
    let mut last = before;
    for (number, chunk) in ends.chunks(EDGES).enumerate() {
        let chunk: Vec<usize> =
            chunk?.iter().skip(usize::from(number == 0)).map(|end| before.wrapping_add(*end)).collect();
        last = chunk.last().copied().unwrap_or(last);
        to.write(&chunk)?;
    }
    Ok(last)
}

/// The names of all blocks, in the sections of one file.
fn write_all_ids(writer: &mut SectionWriter, blocks: &[BlockFile]) -> Result<()> {
    fn of<T: Plain>(blocks: &[BlockFile], name: &str) -> Result<Vec<Section<T>>> {
        blocks.iter().filter_map(|block| block.sections.get::<T>(name).transpose()).map(|found| Ok(found?)).collect()
    }
    let (integers, names) = (of::<i64>(blocks, "ids")?, of::<u8>(blocks, "names")?);
    if !integers.is_empty() {
        writer.section("ids")?;
        integers.iter().try_for_each(|ids| copy(ids, writer))?;
    }
    if !names.is_empty() {
        writer.section("names")?;
        names.iter().try_for_each(|names| copy(names, writer))?;
        writer.section("name-bounds")?;
        writer.write(&[0u64])?;
        of::<usize>(blocks, "name-bounds")?.iter().try_fold(0, |before, bounds| copy_ends(bounds, before, writer))?;
    }
    Ok(())
}

/// Checks a graph file that somebody else wrote, and counts.
pub(super) fn check_graph(path: &Path) -> Result<Value> {
    let store = GraphStore::open(path)?;
    store.verify()?;
    store.ids()?;
    let graph: &Graph = store.graph();
    Ok(json!({ "num_nodes": graph.num_nodes(), "num_edges": graph.num_edges(), "weighted": graph.is_weighted() }))
}
