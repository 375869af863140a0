//! 1. The graph: links between nodes, each stored once per direction in four bytes (eight with weights).

pub(crate) mod anchors;
mod buffer;
mod builder;
mod components;
mod edge_mask;
pub(crate) mod eigen;
mod hop;
mod in_order;
mod locality;
mod operator;
pub(crate) mod proximity;
mod spill;
mod walk;

use buffer::Buffer;
pub(crate) use builder::{Edges, Mentioned, RowBlock, build, build_in_pieces, build_mentioned, build_rows, span};
pub(crate) use components::Component;
pub(crate) use edge_mask::EdgeMask;
pub(crate) use hop::{
    HopBuffers, HopOf, OperatorRows, PanelEntry, apply_hop_sum, apply_hops, apply_masked_hops, hop_of_rows, hop_rows,
    whole_vectors,
};
pub(crate) use in_order::RowLookup;
pub use operator::Operator;
pub(crate) use operator::symmetric_scale;
pub(crate) use spill::Spill;
pub(crate) use walk::Walker;

use crate::error::{GraphProblem, Result};
use crate::seeds::mix;
use crate::threads;
use nigh_formats::sections::{Mapped, Plain};
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use std::ops::Range;

/// Entries of a mapped graph that are in use at a time, where its memory is given back behind them.
pub(crate) const STRETCH: usize = 1 << 24;

/// An undirected graph in compressed sparse rows: the neighbours of `i` are a sorted slice, without `i` itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Graph {
    offsets: Buffer<usize>,
    neighbours: Buffer<u32>,
    weights: Option<Buffer<f32>>,
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

/// Entries of rows that are handed over at a time.
const BLOCK: usize = 1 << 20;

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

    /// Offsets, neighbours and weights as they are stored.
    pub(crate) fn parts(&self) -> (&[usize], &[u32], Option<&[f32]>) {
        (&self.offsets, &self.neighbours, self.weights.as_deref())
    }

    /// Of arrays that are in order.
    fn from_vecs(offsets: Vec<usize>, neighbours: Vec<u32>, weights: Option<Vec<f32>>) -> Graph {
        Graph { offsets: offsets.into(), neighbours: neighbours.into(), weights: weights.map(Buffer::from) }
    }

    /// A graph from what `parts` returns; invalid arrays are an error.
    pub(crate) fn from_parts(offsets: Vec<usize>, neighbours: Vec<u32>, weights: Option<Vec<f32>>) -> Result<Graph> {
        let graph = Graph::from_vecs(offsets, neighbours, weights);
        let (offsets, ends) = (&graph.offsets, graph.neighbours.len());
        let fits = offsets.first() == Some(&0)
            && offsets.is_sorted()
            && offsets.last() == Some(&ends)
            && graph.weights.as_ref().is_none_or(|weights| weights.len() == ends);
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

    /// A graph whose arrays are in a mapped file. They have the lengths of a graph; [`Graph::verify`] checks the rest.
    pub(crate) fn from_mapped(offsets: Mapped<usize>, neighbours: Mapped<u32>, weights: Option<Mapped<f32>>) -> Graph {
        let (offsets, neighbours) = (Buffer::Mapped(offsets), Buffer::Mapped(neighbours));
        Graph { offsets, neighbours, weights: weights.map(Buffer::Mapped) }
    }

    /// Whether the arrays are in a mapped file, and not in memory.
    pub fn is_mapped(&self) -> bool {
        self.neighbours.is_mapped()
    }

    /// Gives the memory of these rows back to the system, if the graph is in a mapped file. They are read again when they are used.
    pub(crate) fn release(&self, rows: Range<usize>) {
        let entries = self.offsets[rows.start]..self.offsets[rows.end];
        self.neighbours.release(entries.clone());
        self.weights.iter().for_each(|weights| weights.release(entries.clone()));
        self.offsets.release(rows);
    }

    /// Tells the system that these rows are used soon, if the graph is in a mapped file.
    pub(crate) fn will_need(&self, rows: Range<usize>) {
        let entries = self.offsets[rows.start]..self.offsets[rows.end];
        self.neighbours.will_need(entries.clone());
        self.weights.iter().for_each(|weights| weights.will_need(entries.clone()));
    }

    /// Consecutive rows that together have about this many entries, one stretch after the other.
    pub(crate) fn row_stretches(&self, entries: usize) -> impl Iterator<Item = Range<usize>> + '_ {
        let mut first = 0;
        std::iter::from_fn(move || {
            let n = self.num_nodes();
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

    /// Checks what `from_mapped` takes on trust: ascending offsets and rows, neighbours that exist, and that each edge is there from
    /// both ends. One pass over the arrays, whose memory is given back behind it.
    pub(crate) fn verify(&self) -> std::result::Result<(), String> {
        let n = self.num_nodes();
        let ends = self.neighbours.len();
        let mut balance = 0u64;
        if self.offsets[0] != 0 || self.offsets[n] != ends {
            return Err(format!("offsets from {} to {}, but {ends} neighbours", self.offsets[0], self.offsets[n]));
        }
        // In pieces of equal numbers of nodes, since offsets are not trusted yet.
        const NODES: usize = 1 << 20;
        for first in (0..n).step_by(NODES) {
            let piece = first..(first + NODES).min(n);
            let fits = self.offsets[piece.start..=piece.end].par_windows(2).all(|pair| pair[0] <= pair[1]);
            if !fits || self.offsets[piece.end] > ends {
                return Err(format!("offsets of nodes {} to {} do not ascend", piece.start, piece.end));
            }
            self.offsets.release(piece);
        }
        for rows in self.row_stretches(STRETCH) {
            threads::check();
            let sums = rows.clone().into_par_iter().with_min_len(1 << 10).map(|i| self.verify_row(i));
            let sum = sums.try_reduce(|| 0, |a, b| Ok(a.wrapping_add(b)))?;
            balance = balance.wrapping_add(sum);
            self.release(rows);
        }
        match balance {
            0 => Ok(()),
            _ => Err("an edge is listed at one of its ends and not at the other".into()),
        }
    }

    /// A number that those of all rows cancel if every edge is listed at both ends, with the same weight.
    fn verify_row(&self, i: usize) -> std::result::Result<u64, String> {
        let (row, weights) = (self.neighbours(i), self.weights(i));
        let n = self.num_nodes();
        if !row.is_sorted_by(|a, b| a < b) || row.last().is_some_and(|&last| last as usize >= n) {
            return Err(format!("neighbours of node {i} do not ascend, or exceed the {n} nodes"));
        }
        let mut balance = 0u64;
        for (at, &j) in row.iter().enumerate() {
            let weight = weights.map_or(1.0, |weights| weights[at]);
            if j as usize == i || !(weight.is_finite() && weight > 0.0) {
                return Err(format!("node {i} has a link to {j} of weight {weight}"));
            }
            let (low, high) = (i.min(j as usize) as u64, i.max(j as usize) as u64);
            let hash = mix(mix(low << 32 | high) ^ u64::from(weight.to_bits()));
            balance = if i < j as usize { balance.wrapping_add(hash) } else { balance.wrapping_sub(hash) };
        }
        Ok(balance)
    }

    /// `N`.
    pub fn num_nodes(&self) -> usize {
        self.offsets.len() - 1
    }

    /// `M`, each undirected edge counted once.
    pub fn num_edges(&self) -> usize {
        self.neighbours.len() / 2
    }

    /// The sorted neighbours of a node.
    #[inline]
    pub fn neighbours(&self, node: usize) -> &[u32] {
        &self.neighbours[self.offsets[node]..self.offsets[node + 1]]
    }

    /// The weights beside `neighbours`, if the graph has any.
    #[inline]
    pub fn weights(&self, node: usize) -> Option<&[f32]> {
        self.weights.as_ref().map(|weights| &weights[self.offsets[node]..self.offsets[node + 1]])
    }

    /// The largest degree.
    pub fn max_degree(&self) -> usize {
        let largest = |rows: Range<usize>| {
            let largest = self.offsets[rows.start..=rows.end].windows(2).map(|ends| ends[1] - ends[0]).max();
            self.offsets.release(rows);
            largest.unwrap_or(0)
        };
        (0..self.num_nodes())
            .step_by(STRETCH)
            .map(|row| largest(row..(row + STRETCH).min(self.num_nodes())))
            .max()
            .unwrap_or(0)
    }

    /// Whether edges carry weights.
    pub fn is_weighted(&self) -> bool {
        self.weights.is_some()
    }

    /// The number of neighbours of a node.
    pub fn degree(&self, node: usize) -> usize {
        self.offsets[node + 1] - self.offsets[node]
    }

    /// Whether two nodes are linked.
    #[inline]
    pub fn has_edge(&self, a: u32, b: u32) -> bool {
        self.neighbours(a as usize).binary_search(&b).is_ok()
    }

    /// With isolated nodes appended.
    pub(crate) fn with_nodes(mut self, num_nodes: usize) -> Graph {
        assert!(num_nodes >= self.num_nodes(), "no node is taken away");
        if num_nodes > self.num_nodes() {
            let mut offsets = self.offsets.into_vec();
            offsets.resize(num_nodes + 1, self.neighbours.len());
            self.offsets = offsets.into();
        }
        self
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
        let mut offsets = Vec::with_capacity(self.offsets.len());
        let mut neighbours = Vec::with_capacity(self.neighbours.len());
        let mut weights = self.weights.as_ref().map(|weights| Vec::with_capacity(weights.len()));
        offsets.push(0);
        let keep = |block: RowBlock| {
            neighbours.extend_from_slice(&block.neighbours);
            weights.iter_mut().for_each(|weights| weights.extend_from_slice(&block.weights));
            block.lengths.iter().for_each(|&length| offsets.push(offsets[offsets.len() - 1] + length as usize));
            Ok(())
        };
        self.rows_without(hidden, keep).expect("nothing is written");
        Graph::from_vecs(offsets, neighbours, weights)
    }

    /// The rows of [`Graph::without_edges`], some at a time. Those of a mapped file are given back behind it.
    pub(crate) fn rows_without(&self, hidden: &[[u32; 2]], mut take: impl FnMut(RowBlock) -> Result<()>) -> Result<()> {
        let mut ends: Vec<[u32; 2]> = hidden.iter().flat_map(|&[a, b]| [[a, b], [b, a]]).collect();
        ends.par_sort_unstable();
        let mut ends = &ends[..];
        for rows in self.row_stretches(BLOCK) {
            threads::check();
            let mut block = RowBlock { lengths: Vec::new(), neighbours: Vec::new(), weights: Vec::new() };
            for node in rows.clone() {
                let count = ends.partition_point(|end| end[0] as usize <= node);
                let (of_node, rest) = ends.split_at(count);
                ends = rest;
                let before = block.neighbours.len();
                for (at, &other) in self.neighbours(node).iter().enumerate() {
                    if of_node.is_empty() || of_node.binary_search(&[node as u32, other]).is_err() {
                        block.neighbours.push(other);
                        block.weights.extend(self.weights(node).map(|weights| weights[at]));
                    }
                }
                block.lengths.push((block.neighbours.len() - before) as u32);
            }
            self.release(rows);
            take(block)?;
        }
        Ok(())
    }

    /// The graph on the same nodes with only the edges in `kept`, which must be edges of this graph.
    pub fn with_edges(&self, kept: &[[u32; 2]]) -> Graph {
        let (graph, _) = match &self.weights {
            None => Graph::from_edges(self.num_nodes(), kept),
            Some(_) => {
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
        let (graph, _) = match &self.weights {
            None => Graph::from_edges(n, &edges)?,
            Some(_) => Graph::from_weighted_edges(n, &edges, &self.edge_weights())?,
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

    /// A fingerprint of nodes, edges and weights.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        hash.update((self.num_nodes() as u64).to_le_bytes());
        update(&mut hash, &self.offsets, |offset| (offset as u64).to_le_bytes());
        update(&mut hash, &self.neighbours, u32::to_le_bytes);
        self.weights.iter().for_each(|weights| update(&mut hash, weights, f32::to_le_bytes));
        nigh_formats::digest::hex(&hash.finalize())
    }
}

/// Adds the bytes of numbers, lowest first. What a file has is given back behind it.
fn update<T: Plain, const B: usize>(hash: &mut Sha256, numbers: &Buffer<T>, bytes: fn(T) -> [u8; B]) {
    const AT_A_TIME: usize = 1 << 16;
    let mut block: Vec<[u8; B]> = Vec::with_capacity(AT_A_TIME);
    for (chunk, first) in numbers.chunks(AT_A_TIME).zip((0..).step_by(AT_A_TIME)) {
        block.clear();
        block.extend(chunk.iter().map(|&number| bytes(number)));
        hash.update(block.as_flattened());
        numbers.release(first..first + chunk.len());
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
