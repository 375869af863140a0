//! Questions about some rows of a large graph, answered in ascending order: a graph file is then read from its start to its end, and
//! what was read makes room for what comes.

use super::{CHECKED, Graph};
use crate::threads;
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Entries of a graph file that are read before they are given back: some megabytes.
const READ: usize = 1 << 22;

/// Rows that are looked up between two releases. The system may map some pages around each.
const LOOKED_UP: usize = 256;

impl Graph {
    /// The edges of these numbers, counted as [`Graph::edges`] lists them; numbers ascend.
    pub(crate) fn edges_at(&self, numbers: &[usize]) -> Vec<[u32; 2]> {
        let mut edges = Vec::with_capacity(numbers.len());
        // The number of the first edge of a row.
        let mut before = 0;
        for rows in self.row_stretches(READ) {
            threads::check();
            for a in rows.clone() {
                let row = self.neighbours(a);
                let upper = &row[row.partition_point(|&b| (b as usize) <= a)..];
                while let Some(&number) = numbers.get(edges.len()).filter(|&&number| number < before + upper.len()) {
                    edges.push([a as u32, upper[number - before]]);
                }
                before += upper.len();
            }
            self.release(rows);
            if edges.len() == numbers.len() {
                break;
            }
        }
        assert_eq!(edges.len(), numbers.len(), "numbers of edges");
        edges
    }

    /// Answers a question about each of some pairs, which looks at the row of the first end alone.
    pub(crate) fn ask_each<T: Send + Clone + Default>(
        &self,
        pairs: &[[u32; 2]],
        ask: impl Fn(&Graph, [u32; 2]) -> T + Sync,
    ) -> Vec<T> {
        if !self.is_mapped() {
            let ask = |pairs: &[[u32; 2]]| -> Vec<T> {
                threads::check();
                pairs.iter().map(|&pair| ask(self, pair)).collect()
            };
            return pairs.par_chunks(CHECKED).flat_map_iter(ask).collect();
        }
        let mut order: Vec<u32> = (0..pairs.len() as u32).collect();
        order.par_sort_unstable_by_key(|&at| pairs[at as usize]);
        let (mut answers, mut released) = (vec![T::default(); pairs.len()], 0);
        for some in order.chunks(LOOKED_UP) {
            threads::check();
            some.iter().for_each(|&at| answers[at as usize] = ask(self, pairs[at as usize]));
            let last = some.last().map_or(0, |&at| pairs[at as usize][0] as usize);
            self.release(released..last);
            released = last;
        }
        self.release_all();
        answers
    }

    /// Gives the memory of all rows back, if the graph is in a mapped file.
    pub(crate) fn release_all(&self) {
        self.release(0..self.num_nodes());
    }

    /// Answers for some pairs at a time, in their order, whatever rows that looks at.
    pub(crate) fn ask_some<T: Send>(&self, pairs: &[[u32; 2]], mut ask: impl FnMut(&[[u32; 2]]) -> Vec<T>) -> Vec<T> {
        if !self.is_mapped() {
            return ask(pairs);
        }
        let answer = |some: &[[u32; 2]]| {
            let answers = ask(some);
            self.release_all();
            answers
        };
        pairs.chunks(LOOKED_UP).flat_map(answer).collect()
    }
}

/// Rows in any order, on any thread. Those of a graph file are given back after some of them.
#[derive(Debug)]
pub(crate) struct RowLookup<'a> {
    graph: &'a Graph,
    /// Since the last release.
    looked_up: AtomicUsize,
}

impl<'a> RowLookup<'a> {
    pub fn new(graph: &'a Graph) -> RowLookup<'a> {
        RowLookup { graph, looked_up: AtomicUsize::new(0) }
    }

    /// As [`Graph::neighbours`].
    pub fn neighbours(&self, row: usize) -> &'a [u32] {
        let neighbours = self.graph.neighbours(row);
        // A long row counts as the short ones that would take as many pages.
        self.count(1 + (neighbours.len() >> 14));
        neighbours
    }

    /// As [`Graph::degree`].
    pub fn degree(&self, row: usize) -> usize {
        self.count(1);
        self.graph.degree(row)
    }

    fn count(&self, rows: usize) {
        if self.graph.is_mapped() && self.looked_up.fetch_add(rows, Ordering::Relaxed) >= LOOKED_UP {
            self.looked_up.store(0, Ordering::Relaxed);
            self.graph.release_all();
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
        let mapped = GraphStore::open(&path).unwrap().graph().clone();
        let edges: Vec<[u32; 2]> = graph.edges().collect();
        let numbers: Vec<usize> = (0..edges.len()).filter(|number| number % 7 < 3).flat_map(|at| [at, at]).collect();
        let expected: Vec<[u32; 2]> = numbers.iter().map(|&number| edges[number]).collect();
        let pairs: Vec<[u32; 2]> = (0..5_000u32).map(|at| [at * 7_919 % 2_000, at * 104_729 % 2_000]).collect();
        let pairs = [pairs, edges[..500].to_vec()].concat();
        let linked: Vec<bool> = pairs.iter().map(|&[a, b]| graph.has_edge(a, b)).collect();
        assert!(mapped.is_mapped() && linked.contains(&true) && linked.contains(&false));
        for graph in [&graph, &mapped] {
            assert_eq!(graph.edges_at(&numbers), expected);
            assert!(graph.edges_at(&[]).is_empty());
            assert_eq!(graph.ask_each(&pairs, |graph, [a, b]| graph.has_edge(a, b)), linked);
            let ask = |pairs: &[[u32; 2]]| pairs.iter().map(|&[a, b]| graph.has_edge(b, a)).collect();
            assert_eq!(graph.ask_some(&pairs, ask), linked);
        }
    }
}
