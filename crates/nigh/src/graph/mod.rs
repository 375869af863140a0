//! 1. The graph: links between nodes, each stored once per direction in four bytes (eight with weights).

pub(crate) mod anchors;
mod builder;
mod components;
mod digest;
mod edge_mask;
pub(crate) mod eigen;
mod hop;
mod in_order;
mod locality;
mod near;
mod operator;
pub(crate) mod proximity;
mod spill;
mod stored;
mod verify;
mod walk;

pub(crate) use builder::{Edges, Mentioned, RowBlock, build, build_in_pieces, build_mentioned, build_rows};
pub(crate) use components::Component;
pub(crate) use edge_mask::EdgeMask;
pub(crate) use hop::{
    HopBuffers, HopOf, OperatorRows, PanelEntry, apply_hop_sum, apply_hops, apply_masked_hops, apply_some_rows,
    buffered_width, hop_of_rows, hop_rows, whole_vectors,
};
pub(crate) use in_order::RowLookup;
pub(crate) use near::NearRows;
pub use operator::Operator;
pub(crate) use operator::symmetric_scale;
pub(crate) use spill::Spill;
pub(crate) use stored::Rows;
use stored::{RowArrays, StoredRows};
pub(crate) use walk::Walker;

use crate::error::{Error, GraphProblem, Result};
use crate::threads;
use nigh_formats::interrupt::fail;
use nigh_formats::sections::Section;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Entries of a graph file that are read at a time, of some bytes each: another stretch is read meanwhile.
pub(crate) const STRETCH: usize = 1 << 20;

/// An undirected graph in compressed sparse rows: the neighbours of `i` are a sorted slice, without `i` itself.
///
/// It is in memory, or stays in a graph file ([`Dataset::store`](crate::Dataset::store)). Work out of core reads such a file in
/// stretches; [`Graph::neighbours`] and everything else that returns a slice reads all of it into memory first ([`Graph::load`]). A file
/// that can't be read any more, or not as it was when it was opened, stops the work as an interruption does: within
/// [`threads::run`] the result is an error that names the file, elsewhere it is a panic.
#[derive(Debug, Clone)]
pub struct Graph(Held);

#[derive(Debug, Clone)]
enum Held {
    InMemory(Arrays),
    Stored(Arc<StoredRows>),
}

/// A graph in memory.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Arrays {
    offsets: Vec<usize>,
    neighbours: Vec<u32>,
    weights: Option<Vec<f32>>,
}

impl PartialEq for Graph {
    fn eq(&self, other: &Graph) -> bool {
        self.arrays() == other.arrays()
    }
}

/// What was removed or merged while a graph was built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cleaning {
    /// Links from a node to itself, dropped: the operator adds one to every node anyway.
    pub self_loops: usize,
    /// Repetitions of a link, in either direction, merged into one.
    pub duplicates: usize,
    /// Of the edges that stay, those that were listed in both directions.
    pub both_ways: usize,
}

impl Cleaning {
    /// Adds the counts of another graph.
    pub fn add(&mut self, other: Cleaning) {
        self.self_loops += other.self_loops;
        self.duplicates += other.duplicates;
        self.both_ways += other.both_ways;
    }
}

/// The nodes in ascending order of their addresses. What is drawn in this order does not depend on how nodes are numbered.
pub(crate) fn order_by(addresses: &[u32]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..addresses.len() as u32).collect();
    order.sort_by_key(|&node| addresses[node as usize]);
    order
}

/// Nodes or edges between two checks for an interruption.
const CHECKED: usize = 1 << 16;

impl Graph {
    /// An unweighted graph on nodes `0..num_nodes`, isolated nodes included.
    ///
    /// ```
    /// let (graph, cleaning) = nigh::Graph::from_edges(4, &[[0, 1], [1, 0], [1, 2], [2, 2]])?;
    /// assert_eq!(graph.num_edges(), 2);
    /// assert_eq!(graph.neighbours(1), [0, 2]);
    /// assert_eq!((cleaning.duplicates, cleaning.self_loops), (1, 1));
    /// # Ok::<(), nigh::Error>(())
    /// ```
    pub fn from_edges(num_nodes: usize, edges: &[[u32; 2]]) -> Result<(Graph, Cleaning)> {
        Graph::build(num_nodes, edges, None)
    }

    /// A graph with a positive weight per edge. A repeated edge keeps its largest weight, so that listing
    /// both directions is the same as listing one.
    pub fn from_weighted_edges(num_nodes: usize, edges: &[[u32; 2]], weights: &[f32]) -> Result<(Graph, Cleaning)> {
        if edges.len() != weights.len() {
            return Err(GraphProblem::WeightCount { edges: edges.len(), weights: weights.len() }.into());
        }
        if let Some(at) = weights.iter().position(|w| !(w.is_finite() && *w > 0.0)) {
            return Err(GraphProblem::Weight { edge: at, weight: weights[at] }.into());
        }
        Graph::build(num_nodes, edges, Some(weights))
    }

    fn build(num_nodes: usize, edges: &[[u32; 2]], weights: Option<&[f32]>) -> Result<(Graph, Cleaning)> {
        let beyond = |edge: &&[u32; 2]| edge.iter().any(|&end| end as usize >= num_nodes);
        if let Some([a, b]) = edges.iter().find(beyond) {
            return Err(GraphProblem::UnknownEnd { edge: [*a, *b], num_nodes }.into());
        }
        let share = edges.len().div_ceil(rayon::current_num_threads()).max(1 << 14);
        let shared = |(number, edges): (usize, &[[u32; 2]])| {
            let mut listed = Edges::new(weights.is_some());
            for (at, edges) in edges.chunks(CHECKED).enumerate() {
                threads::check();
                match weights.map(|weights| &weights[number * share + at * CHECKED..]) {
                    None => edges.iter().for_each(|&edge| listed.push(edge)),
                    Some(weights) => {
                        edges.iter().zip(weights).for_each(|(&edge, &weight)| listed.push_weighted(edge, weight))
                    }
                }
            }
            listed
        };
        let shares = edges.par_chunks(share).enumerate().map(shared).collect::<Vec<_>>();
        let shares = if shares.is_empty() { vec![Edges::new(weights.is_some())] } else { shares };
        build(num_nodes, shares)
    }

    /// In memory. A graph file is read.
    #[inline]
    fn arrays(&self) -> &Arrays {
        match &self.0 {
            Held::InMemory(arrays) => arrays,
            Held::Stored(stored) => stored.demand(),
        }
    }

    /// Takes the arrays, or a copy of them if the graph is in a file that others have, too.
    fn into_arrays(self) -> Arrays {
        match self.0 {
            Held::InMemory(arrays) => arrays,
            Held::Stored(stored) => match Arc::try_unwrap(stored).map(StoredRows::into_arrays) {
                Ok(arrays) => arrays.unwrap_or_else(|error| fail(error)),
                Err(shared) => shared.demand().clone(),
            },
        }
    }

    /// What is in memory now, or the file.
    #[inline]
    fn held(&self) -> std::result::Result<&Arrays, &StoredRows> {
        match &self.0 {
            Held::InMemory(arrays) => Ok(arrays),
            Held::Stored(stored) => stored.loaded().ok_or(stored),
        }
    }

    /// Offsets, neighbours and weights in memory.
    pub(crate) fn parts(&self) -> (&[usize], &[u32], Option<&[f32]>) {
        let Arrays { offsets, neighbours, weights } = self.arrays();
        (offsets, neighbours, weights.as_deref())
    }

    /// Of arrays that are in order.
    fn from_vecs(offsets: Vec<usize>, neighbours: Vec<u32>, weights: Option<Vec<f32>>) -> Graph {
        Graph(Held::InMemory(Arrays { offsets, neighbours, weights }))
    }

    /// A graph from what `parts` returns; invalid arrays are an error.
    pub(crate) fn from_parts(offsets: Vec<usize>, neighbours: Vec<u32>, weights: Option<Vec<f32>>) -> Result<Graph> {
        let ends = neighbours.len();
        let fits = offsets.first() == Some(&0)
            && offsets.is_sorted()
            && offsets.last() == Some(&ends)
            && weights.as_ref().is_none_or(|weights| weights.len() == ends);
        let graph = Graph::from_vecs(offsets, neighbours, weights);
        let row_fits = |i: usize| {
            let row = graph.neighbours(i);
            let ordered =
                row.is_sorted_by(|a, b| a < b) && row.last().is_none_or(|&last| (last as usize) < graph.num_nodes());
            ordered && row.iter().all(|&j| j as usize != i && graph.has_edge(j, i as u32))
        };
        if !fits || !(0..graph.num_nodes()).all(row_fits) {
            return Err(GraphProblem::NotUndirected.into());
        }
        Ok(graph)
    }

    /// A graph that stays in a file, of sections with the lengths of a graph. What is read is checked as far as that is needed to use it
    /// safely; [`Graph::verify`] checks the rest.
    pub(crate) fn from_sections(
        offsets: Section<usize>,
        neighbours: Section<u32>,
        weights: Option<Section<f32>>,
    ) -> Result<Graph> {
        let stored = StoredRows::new(offsets, neighbours, weights);
        stored.check_ends()?;
        Ok(Graph(Held::Stored(stored.into())))
    }

    /// Whether the graph belongs to a graph file, from which work out of core reads it.
    pub fn is_stored(&self) -> bool {
        matches!(self.0, Held::Stored(_))
    }

    /// Reads a graph that stays in a file into memory. An error if the file is not what it was when it was opened.
    pub fn load(&self) -> Result<()> {
        if let Held::Stored(stored) = &self.0 {
            stored.load()?;
        }
        Ok(())
    }

    /// Hands over all rows in order, in stretches of about so many entries: from a file, unless they are in memory.
    pub(crate) fn each_stretch(&self, entries: usize, mut work: impl FnMut(Rows<'_>) -> Result<()>) -> Result<()> {
        match self.held() {
            Ok(arrays) => arrays.stretches(entries).try_for_each(|range| {
                threads::check();
                work(arrays.rows(range))
            }),
            Err(stored) => stored.each_stretch(entries, |rows| {
                threads::check();
                work(rows)
            }),
        }
    }

    /// As [`Graph::each_stretch`], where nothing can fail but the file.
    pub(crate) fn for_each_stretch(&self, entries: usize, mut work: impl FnMut(Rows<'_>)) {
        let done = self.each_stretch(entries, |rows| {
            work(rows);
            Ok(())
        });
        done.unwrap_or_else(|error| stop(error));
    }

    /// Some rows in memory: offsets from zero on, neighbours and weights.
    pub(crate) fn read_rows(&self, rows: Range<usize>) -> Result<RowArrays> {
        match self.held() {
            Ok(arrays) => {
                let offsets = &arrays.offsets[rows.start..=rows.end];
                let entries = offsets[0]..offsets[rows.len()];
                let weights = arrays.weights.as_ref().map(|weights| weights[entries.clone()].to_vec());
                let own = offsets.iter().map(|end| end - entries.start).collect();
                Ok((own, arrays.neighbours[entries].to_vec(), weights))
            }
            Err(stored) => Ok(stored.read_rows(rows)?),
        }
    }

    /// `N`.
    pub fn num_nodes(&self) -> usize {
        match &self.0 {
            Held::InMemory(arrays) => arrays.offsets.len() - 1,
            Held::Stored(stored) => stored.num_nodes(),
        }
    }

    /// `M`, each undirected edge counted once.
    pub fn num_edges(&self) -> usize {
        self.num_entries() / 2
    }

    fn num_entries(&self) -> usize {
        match &self.0 {
            Held::InMemory(arrays) => arrays.neighbours.len(),
            Held::Stored(stored) => stored.num_entries(),
        }
    }

    /// The sorted neighbours of a node.
    #[inline]
    pub fn neighbours(&self, node: usize) -> &[u32] {
        self.arrays().neighbours(node)
    }

    /// The weights beside `neighbours`, if the graph has any.
    #[inline]
    pub fn weights(&self, node: usize) -> Option<&[f32]> {
        self.arrays().weights(node)
    }

    /// The largest degree.
    pub fn max_degree(&self) -> usize {
        let mut largest = 0;
        self.each_degree(|_, degree| largest = largest.max(degree));
        largest
    }

    /// The degree of each node, in order.
    pub(crate) fn each_degree(&self, mut take: impl FnMut(usize, usize)) {
        match self.held() {
            Ok(arrays) => arrays.offsets.windows(2).enumerate().for_each(|(node, ends)| take(node, ends[1] - ends[0])),
            Err(stored) => stored.each_degree(take).unwrap_or_else(|error| fail(error)),
        }
    }

    /// A number for each node, of its degree and its weights.
    fn of_rows(&self, number: impl Fn(usize, Option<&[f32]>) -> f32) -> Arc<[f32]> {
        let mut numbers: Arc<[f32]> = std::iter::repeat_n(0.0, self.num_nodes()).collect();
        let places = Arc::get_mut(&mut numbers).expect("nobody else has it yet");
        match self.is_weighted() {
            false => self.each_degree(|node, degree| places[node] = number(degree, None)),
            true => self.for_each_stretch(STRETCH, |rows| {
                for row in rows.range() {
                    places[row] = number(rows.neighbours(row).len(), rows.weights(row));
                }
            }),
        }
        numbers
    }

    /// Whether edges carry weights.
    pub fn is_weighted(&self) -> bool {
        match &self.0 {
            Held::InMemory(arrays) => arrays.weights.is_some(),
            Held::Stored(stored) => stored.is_weighted(),
        }
    }

    /// The number of neighbours of a node.
    #[inline]
    pub fn degree(&self, node: usize) -> usize {
        match self.held() {
            Ok(arrays) => arrays.offsets[node + 1] - arrays.offsets[node],
            Err(stored) => stored.entries(node).len(),
        }
    }

    /// Whether two nodes are linked.
    #[inline]
    pub fn has_edge(&self, a: u32, b: u32) -> bool {
        match self.held() {
            Ok(arrays) => arrays.neighbours(a as usize).binary_search(&b).is_ok(),
            Err(stored) => {
                let entries = stored.entries(a as usize);
                let place = entries.start + stored.count_below(entries.clone(), b);
                place < entries.end && stored.neighbours_at(place..place + 1)[0] == b
            }
        }
    }

    /// With isolated nodes appended.
    pub(crate) fn with_nodes(self, num_nodes: usize) -> Graph {
        assert!(num_nodes >= self.num_nodes(), "no node is taken away");
        if num_nodes == self.num_nodes() {
            return self;
        }
        let mut arrays = self.into_arrays();
        arrays.offsets.resize(num_nodes + 1, arrays.neighbours.len());
        Graph(Held::InMemory(arrays))
    }

    /// Every edge once, smaller end first, in ascending order.
    pub fn edges(&self) -> impl Iterator<Item = [u32; 2]> + '_ {
        (0..self.num_nodes()).flat_map(move |a| {
            let row = self.neighbours(a);
            let after = row.partition_point(|&b| (b as usize) <= a);
            row[after..].iter().map(move |&b| [a as u32, b])
        })
    }

    /// Number of pairs of distinct nodes without a link.
    pub fn num_non_edges(&self) -> u64 {
        let n = self.num_nodes() as u64;
        n * n.saturating_sub(1) / 2 - self.num_edges() as u64
    }

    /// The graph on the same nodes without the edges in `hidden`; pairs that are no edges change nothing. Linear in the edges.
    ///
    /// ```
    /// let (graph, _) = nigh::Graph::from_edges(3, &[[0, 1], [1, 2], [0, 2]])?;
    /// let (rest, _) = nigh::Graph::from_edges(3, &[[0, 1], [0, 2]])?;
    /// assert_eq!(graph.without_edges(&[[2, 1]]), rest);
    /// # Ok::<(), nigh::Error>(())
    /// ```
    pub fn without_edges(&self, hidden: &[[u32; 2]]) -> Graph {
        let mut offsets = Vec::with_capacity(self.num_nodes() + 1);
        let mut neighbours = Vec::with_capacity(self.num_entries());
        let mut weights = self.is_weighted().then(|| Vec::with_capacity(self.num_entries()));
        offsets.push(0);
        let keep = |block: RowBlock| {
            neighbours.extend_from_slice(&block.neighbours);
            weights.iter_mut().for_each(|weights| weights.extend_from_slice(&block.weights));
            block.lengths.iter().for_each(|&length| offsets.push(offsets[offsets.len() - 1] + length as usize));
            Ok(())
        };
        self.rows_without(hidden, keep).unwrap_or_else(|error| stop(error));
        Graph::from_vecs(offsets, neighbours, weights)
    }

    /// The rows of [`Graph::without_edges`], some at a time.
    pub(crate) fn rows_without(&self, hidden: &[[u32; 2]], mut take: impl FnMut(RowBlock) -> Result<()>) -> Result<()> {
        let mut ends: Vec<[u32; 2]> = hidden.iter().flat_map(|&[a, b]| [[a, b], [b, a]]).collect();
        ends.par_sort_unstable();
        let mut ends = &ends[..];
        self.each_stretch(STRETCH, |rows| {
            let mut block = RowBlock { lengths: Vec::new(), neighbours: Vec::new(), weights: Vec::new() };
            for node in rows.range() {
                let count = ends.partition_point(|end| end[0] as usize <= node);
                let (of_node, rest) = ends.split_at(count);
                ends = rest;
                let before = block.neighbours.len();
                for (at, &other) in rows.neighbours(node).iter().enumerate() {
                    if of_node.is_empty() || of_node.binary_search(&[node as u32, other]).is_err() {
                        block.neighbours.push(other);
                        block.weights.extend(rows.weights(node).map(|weights| weights[at]));
                    }
                }
                block.lengths.push((block.neighbours.len() - before) as u32);
            }
            take(block)
        })
    }

    /// The graph on the same nodes with only the edges in `kept`, which must be edges of this graph.
    pub fn with_edges(&self, kept: &[[u32; 2]]) -> Graph {
        let (graph, _) = match self.is_weighted() {
            false => Graph::from_edges(self.num_nodes(), kept),
            true => {
                let weight = |&[a, b]: &[u32; 2]| {
                    let at = self.neighbours(a as usize).binary_search(&b).expect("an edge of this graph");
                    self.weights(a as usize).expect("the graph is weighted")[at]
                };
                Graph::from_weighted_edges(self.num_nodes(), kept, &kept.iter().map(weight).collect::<Vec<_>>())
            }
        }
        .expect("edges of a valid graph");
        graph
    }

    /// `P A P^T`: node `i` of the result is node `order[i]` of this graph.
    pub fn permute(&self, order: &[u32]) -> Result<Graph> {
        let n = self.num_nodes();
        let mut position = vec![u32::MAX; n];
        for (new, &old) in order.iter().enumerate() {
            if old as usize >= n || position[old as usize] != u32::MAX {
                return Err(GraphProblem::OrderEntry { entry: new, node: old }.into());
            }
            position[old as usize] = new as u32;
        }
        if order.len() != n {
            return Err(GraphProblem::OrderLength { entries: order.len(), num_nodes: n }.into());
        }
        let moved = |[a, b]: [u32; 2]| [position[a as usize], position[b as usize]];
        let edges: Vec<_> = self.edges().map(moved).collect();
        let (graph, _) = match self.is_weighted() {
            false => Graph::from_edges(n, &edges)?,
            true => Graph::from_weighted_edges(n, &edges, &self.edge_weights())?,
        };
        Ok(graph)
    }

    /// Weights in the order of `edges`; all one for an unweighted graph.
    pub fn edge_weights(&self) -> Vec<f32> {
        let mut weights = Vec::with_capacity(self.num_edges());
        for a in 0..self.num_nodes() {
            let after = self.neighbours(a).partition_point(|&b| (b as usize) <= a);
            match self.weights(a) {
                Some(row) => weights.extend_from_slice(&row[after..]),
                None => weights.resize(weights.len() + self.degree(a) - after, 1.0),
            }
        }
        weights
    }
}

impl Arrays {
    fn neighbours(&self, node: usize) -> &[u32] {
        &self.neighbours[self.offsets[node]..self.offsets[node + 1]]
    }

    fn weights(&self, node: usize) -> Option<&[f32]> {
        self.weights.as_ref().map(|weights| &weights[self.offsets[node]..self.offsets[node + 1]])
    }

    fn rows(&self, range: Range<usize>) -> Rows<'_> {
        let offsets = &self.offsets[range.start..=range.end];
        Rows { first: range.start, offsets, neighbours: &self.neighbours, weights: self.weights.as_deref() }
    }

    /// Consecutive rows that together have about this many entries, one stretch after the other.
    fn stretches(&self, entries: usize) -> impl Iterator<Item = Range<usize>> + '_ {
        let mut first = 0;
        std::iter::from_fn(move || {
            let n = self.offsets.len() - 1;
            // A row takes an offset of the size of two neighbours.
            let cost = |row: usize| self.offsets[row] + 2 * row;
            let (start, most) = (first, cost(first) + entries);
            let (mut low, mut high) = (start + 1, n);
            while low < high {
                let middle = low.midpoint(high);
                (low, high) = if cost(middle) < most { (middle + 1, high) } else { (low, middle) };
            }
            first = low;
            (start < n).then_some(start..low)
        })
    }
}

/// Stops the work with the error of a file.
pub(crate) fn stop(error: Error) -> ! {
    match error {
        Error::Format(error) => fail(error),
        other => unreachable!("a graph in memory can be read: {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_merge_self_loops_go_isolated_nodes_stay() {
        let edges = [[3, 1], [1, 3], [1, 1], [0, 3], [3, 1]];
        let (graph, cleaning) = Graph::from_edges(5, &edges).unwrap();
        assert_eq!(cleaning, Cleaning { self_loops: 1, duplicates: 2, both_ways: 1 });
        assert_eq!((graph.num_nodes(), graph.num_edges()), (5, 2));
        assert_eq!(graph.edges().collect::<Vec<_>>(), [[0, 3], [1, 3]]);
        assert_eq!((graph.degree(2), graph.degree(3)), (0, 2));
        assert!(graph.has_edge(3, 0) && !graph.has_edge(0, 1));
        assert_eq!(graph.num_non_edges(), 8);
    }

    #[test]
    fn the_heaviest_of_repeated_edges_stays() {
        let (graph, cleaning) = Graph::from_weighted_edges(3, &[[0, 1], [1, 0], [1, 2]], &[1.0, 2.5, 0.5]).unwrap();
        assert_eq!(cleaning.duplicates, 1);
        assert_eq!(graph.weights(0), Some(&[2.5][..]));
        assert_eq!(graph.weights(1), Some(&[2.5, 0.5][..]));
        assert_eq!(graph.edge_weights(), [2.5, 0.5]);
        assert_eq!(graph.with_edges(&[[1, 2]]).edge_weights(), [0.5]);
    }

    #[test]
    fn what_can_not_be_a_graph_is_refused() {
        assert!(Graph::from_edges(2, &[[0, 2]]).unwrap_err().to_string().contains("edge 0-2"));
        for bad in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            let error = Graph::from_weighted_edges(2, &[[0, 1]], &[bad]).unwrap_err().to_string();
            assert!(error.contains("positive number"), "{error}");
        }
        let (graph, _) = Graph::from_edges(3, &[[0, 1]]).unwrap();
        assert!(graph.permute(&[0, 0, 1]).is_err() && graph.permute(&[0, 1]).is_err());
    }

    #[test]
    fn a_permutation_moves_edges_and_weights_along() {
        let (graph, _) = Graph::from_weighted_edges(4, &[[0, 1], [1, 2]], &[2.0, 3.0]).unwrap();
        let moved = graph.permute(&[3, 1, 0, 2]).unwrap();
        assert_eq!(moved.edges().collect::<Vec<_>>(), [[1, 2], [1, 3]]);
        assert_eq!(moved.edge_weights(), [2.0, 3.0]);
        assert_ne!(moved.digest(), graph.digest());
    }
}
