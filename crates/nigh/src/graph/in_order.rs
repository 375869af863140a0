//! Questions about some rows of a large graph: a graph file is read from its start to its end, or a few blocks of it.

use super::stored::{Entries, StoredRows};
use super::{Arrays, CHECKED, Graph, STRETCH};
use crate::threads;
use rayon::prelude::*;
use std::ops::Range;

/// Pairs of a graph file between two checks for an interruption.
const LOOKED_UP: usize = 256;

impl Graph {
    /// The edges of these numbers, counted as [`Graph::edges`] lists them; numbers ascend.
    pub(crate) fn edges_at(&self, numbers: &[usize]) -> Vec<[u32; 2]> {
        let mut edges = Vec::with_capacity(numbers.len());
        // The number of the first edge of a row.
        let mut before = 0;
        self.for_each_stretch(STRETCH, |rows| {
            if edges.len() == numbers.len() {
                return;
            }
            for a in rows.range() {
                let row = rows.neighbours(a);
                let upper = &row[row.partition_point(|&b| (b as usize) <= a)..];
                while let Some(&number) = numbers.get(edges.len()).filter(|&&number| number < before + upper.len()) {
                    edges.push([a as u32, upper[number - before]]);
                }
                before += upper.len();
            }
        });
        assert_eq!(edges.len(), numbers.len(), "numbers of edges");
        edges
    }

    /// Every edge, as [`Graph::edges`] lists them.
    pub(crate) fn listed(&self) -> Vec<[u32; 2]> {
        let mut edges = Vec::with_capacity(self.num_edges());
        self.for_each_stretch(STRETCH, |rows| {
            for a in rows.range() {
                let row = rows.neighbours(a);
                let upper = &row[row.partition_point(|&b| (b as usize) <= a)..];
                edges.extend(upper.iter().map(|&b| [a as u32, b]));
            }
        });
        edges
    }

    /// Answers a question about each of some pairs, which looks at the row of the first end alone. Those of a graph file are answered in
    /// ascending order, so that it passes by once.
    pub(crate) fn ask_each<T: Send + Clone + Default>(
        &self,
        pairs: &[[u32; 2]],
        ask: impl Fn(&Graph, [u32; 2]) -> T + Sync,
    ) -> Vec<T> {
        if self.held().is_ok() {
            let ask = |pairs: &[[u32; 2]]| -> Vec<T> {
                threads::check();
                pairs.iter().map(|&pair| ask(self, pair)).collect()
            };
            return pairs.par_chunks(CHECKED).flat_map_iter(ask).collect();
        }
        let mut order: Vec<u32> = (0..pairs.len() as u32).collect();
        order.par_sort_unstable_by_key(|&at| pairs[at as usize]);
        let ask = |some: &[u32]| -> Vec<T> {
            threads::check();
            some.iter().map(|&at| ask(self, pairs[at as usize])).collect()
        };
        let found: Vec<T> = order.par_chunks(LOOKED_UP).flat_map_iter(ask).collect();
        let mut answers = vec![T::default(); pairs.len()];
        order.iter().zip(found).for_each(|(&at, answer)| answers[at as usize] = answer);
        answers
    }

    /// A number for each of some nodes, which ascend, from its neighbours. A graph file is read from its start to its end.
    pub(crate) fn of_some_rows(&self, nodes: &[u32], number: impl Fn(&[u32]) -> f32 + Sync) -> Vec<f32> {
        if self.held().is_ok() {
            return nodes.par_iter().map(|&node| number(self.neighbours(node as usize))).collect();
        }
        let mut numbers = Vec::with_capacity(nodes.len());
        self.for_each_stretch(STRETCH, |rows| {
            let count = nodes[numbers.len()..].partition_point(|&node| (node as usize) < rows.range().end);
            let here = &nodes[numbers.len()..][..count];
            numbers.par_extend(here.par_iter().map(|&node| number(rows.neighbours(node as usize))));
        });
        numbers
    }

    /// Rows in any order, on any thread.
    pub(crate) fn lookup(&self) -> RowLookup<'_> {
        match self.held() {
            Ok(arrays) => RowLookup::InMemory(arrays),
            Err(stored) => RowLookup::Stored(stored),
        }
    }
}

/// Rows in any order, on any thread. Of those of a graph file only the blocks are read that are needed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RowLookup<'a> {
    InMemory(&'a Arrays),
    Stored(&'a StoredRows),
}

impl<'a> RowLookup<'a> {
    /// As [`Graph::neighbours`].
    pub fn neighbours(&self, row: usize) -> Entries<'a, u32> {
        self.neighbours_at(self.entries(row))
    }

    /// Where the neighbours of a node are among those of all nodes.
    pub fn entries(&self, row: usize) -> Range<usize> {
        match self {
            RowLookup::InMemory(arrays) => arrays.offsets[row]..arrays.offsets[row + 1],
            RowLookup::Stored(stored) => stored.entries(row),
        }
    }

    /// The neighbours in these places.
    pub fn neighbours_at(&self, places: Range<usize>) -> Entries<'a, u32> {
        match self {
            RowLookup::InMemory(arrays) => Entries::InMemory(&arrays.neighbours[places]),
            RowLookup::Stored(stored) => stored.neighbours_at(places),
        }
    }

    /// Their weights, if the graph has any.
    pub fn weights_at(&self, places: Range<usize>) -> Option<Entries<'a, f32>> {
        match self {
            RowLookup::InMemory(arrays) => Some(Entries::InMemory(&arrays.weights.as_ref()?[places])),
            RowLookup::Stored(stored) => stored.weights_at(places),
        }
    }

    /// How many of the neighbours in these places, which ascend, are before a node.
    pub fn count_below(&self, places: Range<usize>, node: u32) -> usize {
        match self {
            RowLookup::InMemory(arrays) => arrays.neighbours[places].partition_point(|&neighbour| neighbour < node),
            RowLookup::Stored(stored) => stored.count_below(places, node),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::dataset::generate::{PowerLaw, power_law};
    use crate::dataset::{Dataset, GraphStore};

    #[test]
    fn a_graph_file_answers_as_the_graph_in_memory_does() {
        let graph = power_law(&PowerLaw::new(2_000, 9_000), 3).unwrap().graph;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.nigh");
        Dataset::from_graph("x", graph.clone()).store(&path).unwrap();
        let stored = GraphStore::open(&path).unwrap().graph().clone();
        let edges: Vec<[u32; 2]> = graph.edges().collect();
        let numbers: Vec<usize> = (0..edges.len()).filter(|number| number % 7 < 3).flat_map(|at| [at, at]).collect();
        let expected: Vec<[u32; 2]> = numbers.iter().map(|&number| edges[number]).collect();
        let pairs: Vec<[u32; 2]> = (0..5_000u32).map(|at| [at * 7_919 % 2_000, at * 104_729 % 2_000]).collect();
        let pairs = [pairs, edges[..500].to_vec()].concat();
        let linked: Vec<bool> = pairs.iter().map(|&[a, b]| graph.has_edge(a, b)).collect();
        assert!(stored.is_stored() && linked.contains(&true) && linked.contains(&false));
        for graph in [&graph, &stored] {
            assert_eq!(graph.edges_at(&numbers), expected);
            assert!(graph.edges_at(&[]).is_empty());
            assert_eq!(graph.ask_each(&pairs, |graph, [a, b]| graph.has_edge(a, b)), linked);
            assert!(pairs.iter().zip(&linked).all(|(&[a, b], &linked)| graph.has_edge(b, a) == linked));
        }
    }
}
