//! Edge lists whose ids are any names.

use super::EdgeList;
use super::layout::EdgeLayout;
use super::order::{numbered, sorted_graphs};
use super::row::{EdgeRow, plain_pair};
use crate::error::Result;
use crate::interner::Interner;
use crate::interrupt;
use crate::memory::{self, Growth};
use crate::text_table::{BlockResult, LineBlock, ParsedLine, TextTable, comments_note};
use crate::texts::Texts;
use rayon::prelude::*;
use std::borrow::Cow;

/// The edges of one block.
#[derive(Debug, Default)]
struct EdgePiece {
    edges: Vec<[u32; 2]>,
    weights: Vec<f32>,
    graphs: Vec<u32>,
}

/// What a thread keeps from block to block.
#[derive(Debug, Default)]
struct EdgeWorker {
    nodes: SeenNames,
    graphs: SeenNames,
    piece: EdgePiece,
    numbers: Vec<u32>,
}

/// Names that a thread has seen, with the place of the first mention of each.
#[derive(Debug, Default)]
struct SeenNames {
    interner: Interner,
    firsts: Vec<u64>,
}

impl SeenNames {
    /// `first` is the place of the first of these names in the file.
    fn numbers(&mut self, names: &[&str], block: usize, numbers: &mut Vec<u32>) {
        numbers.clear();
        self.interner.numbers(names, numbers);
        let mut next = self.firsts.len() as u32;
        if self.interner.len() as u32 == next {
            return;
        }
        for (at, &number) in numbers.iter().enumerate() {
            if number == next {
                self.firsts.push((block as u64) << 32 | at as u64);
                next += 1;
            }
        }
    }
}

/// Names of all threads in the order of their first mention, and for each thread the numbers of its names.
fn merged(names: Vec<SeenNames>) -> (Texts, Vec<Vec<u32>>) {
    let mut places: Vec<Vec<u32>> = names.iter().map(|names| vec![0; names.firsts.len()]).collect();
    let mut order: Vec<(u64, u32, u32)> = Vec::new();
    for (worker, names) in names.iter().enumerate() {
        order.extend(names.firsts.iter().enumerate().map(|(at, &first)| (first, worker as u32, at as u32)));
    }
    order.par_sort_unstable();
    let mut all = Interner::default();
    for (_, worker, at) in order {
        let name = &names[worker as usize].interner.names()[at as usize];
        places[worker as usize][at as usize] = all.number(name);
    }
    (all.into_names(), places)
}

/// Reads ids of any kind.
pub(super) fn read_names(text: &TextTable, layout: &EdgeLayout, skip: usize) -> Result<EdgeList> {
    // Names are joined, sorted and looked up again; edges are moved to the rows of their ends.
    let growth = Growth::new(format!("the edges of {}", text.path.display()), 3.0);
    let (workers, pieces) = text.blocks(skip, EdgeWorker::default, |worker, block| {
        let before = worker.nodes.interner.names().num_bytes();
        let piece = named_piece(worker, block, layout, text)?;
        let names = worker.nodes.interner.names().num_bytes() - before;
        memory::or_stop(growth.add((names + 12 * piece.edges.len()) as u64));
        Ok(piece)
    })?;
    let (nodes, graphs): (Vec<SeenNames>, Vec<SeenNames>) =
        workers.into_iter().map(|worker| (worker.nodes, worker.graphs)).unzip();
    let (names, places) = merged(nodes);
    let numbered = numbered(&text.path, names)?;
    let of_piece: Vec<usize> = pieces.iter().map(|piece| piece.worker).collect();
    let note = comments_note(&text.path, &pieces);
    let mut list = gathered(layout, pieces, graphs);
    list.respelled = numbered.note.is_some();
    list.notes.extend(note.into_iter().chain(numbered.note));
    let place = |name: u32| numbered.order.as_ref().map_or(name, |order| order[name as usize]);
    let places: Vec<Vec<u32>> = places.into_iter().map(|places| places.into_iter().map(place).collect()).collect();
    list.edges.par_iter_mut().zip(of_piece).for_each(|(edges, worker)| {
        interrupt::check();
        edges.iter_mut().flatten().for_each(|end| *end = places[worker][*end as usize]);
    });
    list.ids = numbered.ids;
    Ok(list)
}

fn gathered(layout: &EdgeLayout, pieces: Vec<BlockResult<EdgePiece>>, graphs: Vec<SeenNames>) -> EdgeList {
    let (names, places) = merged(graphs);
    let (mut edges, mut weights, mut of_edges) = (Vec::new(), Vec::new(), Vec::new());
    for BlockResult { worker, result: piece, .. } in pieces {
        edges.push(piece.edges);
        weights.extend(layout.is_weighted().then_some(piece.weights));
        of_edges.push(piece.graphs.iter().map(|&graph| places[worker][graph as usize]).collect());
    }
    let graphs = layout.graph.map(|_| sorted_graphs(names, of_edges));
    EdgeList { edges, weights, graphs, ..EdgeList::default() }
}

/// The edges of a block whose ids are any names, numbered in the order in which this thread saw them.
fn named_piece(
    worker: &mut EdgeWorker,
    block: &LineBlock<'_>,
    layout: &EdgeLayout,
    table: &TextTable,
) -> ParsedLine<EdgePiece> {
    let plain = layout.is_plain() && layout.weight.is_none();
    let mut fields = Vec::new();
    let (mut ends, mut graphs) = (Vec::new(), Vec::new());
    let piece = &mut worker.piece;
    piece.weights.clear();
    for line in block.lines() {
        let (number, text) = line?;
        if plain && let Some(pair) = plain_pair(text, table.separator) {
            ends.extend(pair.map(Cow::Borrowed));
            continue;
        }
        let row = EdgeRow::parse(text, number, layout, table, &mut fields)?;
        ends.extend([row.source, row.target]);
        piece.weights.extend(row.weight);
        graphs.extend(row.graph);
    }
    let graphs: Vec<&str> = graphs.iter().map(|graph: &Cow<'_, str>| graph.as_ref()).collect();
    let ends: Vec<&str> = ends.iter().map(|end| end.as_ref()).collect();
    worker.nodes.numbers(&ends, block.index, &mut worker.numbers);
    piece.edges.clear();
    piece.edges.extend(worker.numbers.as_chunks::<2>().0);
    worker.graphs.numbers(&graphs, block.index, &mut worker.numbers);
    Ok(piece.taken(&worker.numbers))
}

impl EdgePiece {
    /// A copy of exact size; the buffers are reused for the next block.
    fn taken(&self, graphs: &[u32]) -> EdgePiece {
        EdgePiece { edges: self.edges.clone(), weights: self.weights.clone(), graphs: graphs.to_vec() }
    }
}
