//! Walk proximity `S = Ã^K (Ã^K)^T` exactly, row by row.

use super::{Operator, RowLookup, Rows, STRETCH};
use crate::threads;
use rayon::prelude::*;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// One row of `Ã^K`: the nodes that `K` steps reach, and the weight of each.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WalkRow {
    nodes: Vec<u32>,
    values: Vec<f64>,
}

impl WalkRow {
    fn add_products(&self, other: &WalkRow, sum: &mut f64) {
        let (mut i, mut j) = (0, 0);
        while i < self.nodes.len() && j < other.nodes.len() {
            match self.nodes[i].cmp(&other.nodes[j]) {
                Ordering::Less => i += 1,
                Ordering::Greater => j += 1,
                Ordering::Equal => {
                    *sum += self.values[i] * other.values[j];
                    i += 1;
                    j += 1;
                }
            }
        }
    }
}

/// Rows of `Ã^K` by expanding from a node, in time proportional to what `K` steps reach; exact in f64.
#[derive(Debug)]
pub struct Walks<'a> {
    operator: &'a Operator,
    rows: RowLookup<'a>,
    /// Expanded in parallel at most.
    at_a_time: usize,
    /// Messages of all steps so far: what takes time.
    sent: AtomicU64,
}

/// Messages that are sorted, or targets that are summed up, at a time: some megabytes.
const PIECE: usize = 1 << 17;

impl<'a> Walks<'a> {
    /// Over all edges of an operator.
    pub fn new(operator: &'a Operator) -> Walks<'a> {
        Walks { operator, rows: operator.graph().lookup(), at_a_time: usize::MAX, sent: AtomicU64::new(0) }
    }

    /// Expands fewer rows in parallel: a row has as many entries as nodes are within reach.
    pub fn at_a_time(self, at_a_time: usize) -> Walks<'a> {
        Walks { at_a_time: at_a_time.max(1), ..self }
    }

    /// `a_i = (Ã^K)_i`.
    pub fn row(&self, node: u32, hops: usize) -> WalkRow {
        let mut row = WalkRow { nodes: vec![node], values: vec![1.0] };
        for _ in 0..hops {
            let reached = self.messages(&row, &self.all()).min(self.all().len());
            let mut next = WalkRow { nodes: Vec::with_capacity(reached), values: Vec::with_capacity(reached) };
            self.step([&row], self.all(), &mut |[piece]| {
                next.nodes.extend(piece.nodes);
                next.values.extend(piece.values);
            });
            row = next;
        }
        row
    }

    /// `|a_i|`.
    pub fn norm(&self, node: u32, hops: usize) -> f64 {
        let Some(before) = hops.checked_sub(1) else { return 1.0 };
        let mut sum = 0.0;
        let mut add = |[piece]: [WalkRow; 1]| piece.values.iter().for_each(|value| sum += value * value);
        self.step([&self.row(node, before)], self.all(), &mut add);
        sum.sqrt()
    }

    /// `S_ij = <a_i, a_j>`, added up in pieces of the last step.
    pub fn proximity(&self, [i, j]: [u32; 2], hops: usize) -> f64 {
        let Some(before) = hops.checked_sub(1) else { return f64::from(u8::from(i == j)) };
        let mut sum = 0.0;
        let [left, right] = [i, j].map(|node| self.row(node, before));
        self.step([&left, &right], self.all(), &mut |[left, right]| left.add_products(&right, &mut sum));
        sum
    }

    /// `S_ij` of some pairs.
    pub fn proximities(&self, pairs: &[[u32; 2]], hops: usize) -> Vec<f64> {
        self.each(pairs, |&pair| self.proximity(pair, hops))
    }

    /// `max_i |a_i|`, exactly; `None` if that takes more messages than these.
    ///
    /// The spectral norm of `Ã` is at most one, so `|(Ã^k)_i|` falls as `k` grows and bounds every longer row. Rows are
    /// lengthened one step at a time, those with the largest bound first; once the largest has `hops` steps, no other can exceed
    /// it.
    pub fn max_row_norm(&self, hops: usize, most_messages: u64) -> Option<f64> {
        /// Rows lengthened before the largest is looked for again.
        const TOGETHER: usize = 256;
        if hops == 0 {
            return Some(1.0);
        }
        let mut rows = self.bounds();
        while let Some(&(Bound(largest), _, length)) = rows.peek() {
            if length as usize == hops {
                return Some(largest);
            }
            // Counted between batches, which do not depend on threads or memory.
            if self.sent.load(Relaxed) > most_messages {
                return None;
            }
            let mut short = Vec::new();
            while short.len() < TOGETHER
                && let Some(&(_, Reverse(node), length)) = rows.peek()
                && (length as usize) < hops
            {
                rows.pop();
                short.push((node, length + 1));
            }
            let norms = self.each(&short, |&(node, length)| self.norm(node, length as usize));
            rows.extend(short.iter().zip(norms).map(|(&(node, length), norm)| (Bound(norm), Reverse(node), length)));
        }
        Some(0.0)
    }

    /// `|a_i|` of some nodes.
    pub fn norms(&self, nodes: &[u32], hops: usize) -> Vec<f64> {
        self.each(nodes, |&node| self.norm(node, hops))
    }

    /// `|Ã_i|` of all rows: a graph file passes by once.
    fn bounds(&self) -> BinaryHeap<(Bound, Reverse<u32>, u32)> {
        let graph = self.operator.graph();
        let mut bounds = Vec::with_capacity(graph.num_nodes());
        graph.for_each_stretch(STRETCH, |rows| {
            let bound = |row: usize| (Bound(self.one_step_norm(&rows, row)), Reverse(row as u32), 1);
            bounds.par_extend(rows.range().into_par_iter().map(bound));
        });
        bounds.into()
    }

    /// `|Ã_i|`.
    fn one_step_norm(&self, rows: &Rows<'_>, row: usize) -> f64 {
        let operator = self.operator;
        let right = operator.right();
        let own = f64::from(operator.self_weight()) * f64::from(right[row]);
        let weights = rows.weights(row);
        let value = |(at, &k): (usize, &u32)| {
            let weight = weights.map_or(1.0, |weights| f64::from(weights[at]));
            weight * f64::from(right[k as usize])
        };
        let squares = rows.neighbours(row).iter().enumerate().map(value).map(|value| value * value);
        f64::from(operator.left()[row]) * squares.fold(own * own, |sum, square| sum + square).sqrt()
    }

    /// Answers for some rows or pairs in parallel, in their order.
    fn each<T: Sync, R: Send>(&self, asked: &[T], answer: impl Fn(&T) -> R + Sync) -> Vec<R> {
        let checked = |asked: &T| {
            threads::check();
            answer(asked)
        };
        asked
            .chunks(self.at_a_time.min(asked.len().max(1)))
            .flat_map(|some| some.par_iter().map(checked).collect::<Vec<R>>())
            .collect()
    }

    fn all(&self) -> Range<u32> {
        0..self.operator.graph().num_nodes() as u32
    }

    /// One more step of some rows. Hands over pieces of what they reach, in ascending order: none takes more than some megabytes,
    /// so that a row through a hub needs no more than others.
    fn step<const R: usize>(&self, rows: [&WalkRow; R], targets: Range<u32>, take: &mut impl FnMut([WalkRow; R])) {
        let messages = rows.map(|row| self.messages(row, &targets));
        let size: usize = messages.iter().map(|&messages| messages.min(targets.len())).sum();
        if size > PIECE && targets.len() > 1 {
            let middle = targets.start.midpoint(targets.end);
            self.step(rows, targets.start..middle, take);
            self.step(rows, middle..targets.end, take);
        } else if messages.iter().any(|&messages| messages > 0) {
            threads::check();
            take(rows.map(|row| self.received(row, &targets)));
        }
    }

    /// How many messages a row sends to these targets.
    fn messages(&self, row: &WalkRow, targets: &Range<u32>) -> usize {
        let own = row.nodes.partition_point(|&j| j < targets.end) - row.nodes.partition_point(|&j| j < targets.start);
        let sent = row.nodes.iter().map(|&j| self.targets_of(j, targets).len());
        own + sent.sum::<usize>()
    }

    /// The places of these targets among the neighbours of a node.
    fn targets_of(&self, node: u32, targets: &Range<u32>) -> Range<usize> {
        let places = self.rows.entries(node as usize);
        if *targets == self.all() {
            return places;
        }
        let first = places.start + self.rows.count_below(places.clone(), targets.start);
        first..first + self.rows.count_below(first..places.end, targets.end)
    }

    /// The next row at these targets. Messages to a target are added in the order of their senders, so that both ways give the same bits.
    fn received(&self, row: &WalkRow, targets: &Range<u32>) -> WalkRow {
        let messages = self.messages(row, targets);
        self.sent.fetch_add(messages as u64, Relaxed);
        match messages > targets.len() {
            true => self.received_by_all(row, targets),
            false => self.received_by_some(row, targets, messages),
        }
    }

    /// Of messages to most targets: a sum for each of them.
    fn received_by_all(&self, row: &WalkRow, targets: &Range<u32>) -> WalkRow {
        /// Adding to it changes no bit of a number, and no message is as negative.
        const NOTHING: f64 = -0.0;
        let mut sums = vec![NOTHING; targets.len()];
        self.send(row, targets, |k, value| sums[(k - targets.start) as usize] += value);
        let is_reached = |sum: f64| sum.to_bits() != NOTHING.to_bits();
        let reached = targets.clone().zip(sums).filter(|&(_, sum)| is_reached(sum));
        let (nodes, values) = reached.unzip();
        WalkRow { nodes, values }
    }

    /// Of messages to a few targets: they are sorted.
    fn received_by_some(&self, row: &WalkRow, targets: &Range<u32>, messages: usize) -> WalkRow {
        let mut sent: Vec<(u32, f64)> = Vec::with_capacity(messages);
        self.send(row, targets, |k, value| sent.push((k, value)));
        sent.sort_by_key(|&(k, _)| k);
        let mut received = WalkRow::default();
        for (k, value) in sent {
            if received.nodes.last() == Some(&k) {
                *received.values.last_mut().expect("as long as nodes") += value;
            } else {
                received.nodes.push(k);
                received.values.push(value);
            }
        }
        received
    }

    /// Hands over the messages to these targets. `e_i^T Ã^K` multiplies from the left: every entry `j` sends `left_j w_jk right_k` to
    /// its neighbours `k`.
    fn send(&self, row: &WalkRow, targets: &Range<u32>, mut receive: impl FnMut(u32, f64)) {
        /// Senders between two checks for an interruption.
        const CHECKED: usize = 256;
        let (left, right) = (self.operator.left(), self.operator.right());
        for (sender, (&j, &value)) in row.nodes.iter().zip(&row.values).enumerate() {
            if sender % CHECKED == CHECKED - 1 {
                threads::check();
            }
            let from = value * f64::from(left[j as usize]);
            if targets.contains(&j) {
                receive(j, from * f64::from(self.operator.self_weight()) * f64::from(right[j as usize]));
            }
            let places = self.targets_of(j, targets);
            let neighbours = self.rows.neighbours_at(places.clone());
            match self.rows.weights_at(places) {
                None => neighbours.iter().for_each(|&k| receive(k, from * f64::from(right[k as usize]))),
                Some(weights) => neighbours.iter().zip(weights.iter()).for_each(|(&k, &weight)| {
                    receive(k, from * f64::from(weight) * f64::from(right[k as usize]));
                }),
            }
        }
    }
}

/// A norm in a queue.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Bound(f64);

impl Eq for Bound {}

impl PartialOrd for Bound {
    fn partial_cmp(&self, other: &Bound) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Bound {
    fn cmp(&self, other: &Bound) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::generate::{self, PowerLaw, power_law};
    use crate::dataset::{Dataset, GraphStore};
    use crate::graph::Graph;
    use crate::linalg::Matrix;
    use std::sync::Arc;

    #[test]
    fn rows_and_their_products_equal_the_dense_power() {
        let graph = Arc::new(generate::communities(3, 6, 0.1, 2).graph);
        let operator = Operator::symmetric(graph.clone());
        let power = operator.propagate(Matrix::identity(18), 3);
        let walks = Walks::new(&operator);
        for i in 0..18u32 {
            for j in 0..18u32 {
                let products = power.row(i as usize).iter().zip(power.row(j as usize));
                let dense: f64 = products.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
                assert!((walks.proximity([i, j], 3) - dense).abs() < 1e-5);
            }
        }
        let largest = (0..18).map(|i| walks.norm(i, 3)).fold(0.0, f64::max);
        assert!((walks.max_row_norm(3, u64::MAX).unwrap() - largest).abs() < 1e-12);
        let of_one = walks.norms(&Vec::from_iter(0..18), 1).into_iter().fold(0.0, f64::max);
        assert!((walks.max_row_norm(1, u64::MAX).unwrap() - of_one).abs() < 1e-12);
        assert_eq!(Walks::new(&operator).max_row_norm(3, 10), None);
        // No step: the identity.
        let identity =
            (walks.norm(4, 0), walks.proximity([4, 4], 0), walks.proximity([4, 5], 0), walks.max_row_norm(0, 0));
        assert_eq!(identity, (1.0, 1.0, 0.0, Some(1.0)));
    }

    #[test]
    fn messages_are_added_in_one_order_whether_they_are_sorted_or_not() {
        let drawn = power_law(&PowerLaw::new(600, 20_000), 3).unwrap().graph;
        let edges: Vec<[u32; 2]> = drawn.edges().collect();
        let weights: Vec<f32> = (0..edges.len()).map(|at| 0.25 + (at % 7) as f32).collect();
        let weighted = Graph::from_weighted_edges(600, &edges, &weights).unwrap().0;
        for graph in [drawn, weighted] {
            let operator = Operator::symmetric(graph.into());
            let walks = Walks::new(&operator);
            for (node, targets) in [(0, 0..600), (5, 17..400), (80, 300..301)] {
                let row = walks.row(node, 1);
                let messages = walks.messages(&row, &targets);
                let [sums, sorted] =
                    [walks.received_by_all(&row, &targets), walks.received_by_some(&row, &targets, messages)];
                assert!(!sums.nodes.is_empty() && sums.nodes == sorted.nodes, "{node}");
                assert!(sums.values.iter().zip(&sorted.values).all(|(a, b)| a.to_bits() == b.to_bits()), "{node}");
            }
        }
    }

    #[test]
    fn rows_through_hubs_are_the_same_in_pieces_and_from_a_graph_file() {
        // Messages of two steps through a hub of 3,000 leaves with 100 others each are more than fit one piece.
        let drawn = power_law(&PowerLaw::new(4_000, 160_000), 3).unwrap().graph;
        let hub = (1..3_001).map(|leaf| [0, leaf]);
        let edges: Vec<[u32; 2]> = drawn.edges().chain(hub).collect();
        let weights: Vec<f32> = (0..edges.len()).map(|at| 0.25 + (at % 7) as f32).collect();
        let graph = Graph::from_weighted_edges(4_000, &edges, &weights).unwrap().0;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.nigh");
        Dataset::from_graph("x", graph.clone()).store(&path).unwrap();
        let mapped = GraphStore::open(&path).unwrap().graph().clone();
        let [memory, file] = [graph, mapped].map(|graph| Operator::symmetric(graph.into()));
        let (whole, pieces) = (Walks::new(&memory), Walks::new(&file).at_a_time(1));
        assert!(whole.messages(&whole.row(0, 1), &whole.all()) > PIECE, "pieces");
        // As one matrix product would have it.
        let row = whole.row(0, 2);
        let power = memory.propagate(Matrix::from_fn(4_000, 1, |i, _| if i == 0 { 1.0 } else { 0.0 }), 2);
        assert!(row.nodes.is_sorted_by(|a, b| a < b));
        let dense = |node: u32| f64::from(power.row(node as usize)[0]);
        assert!(row.nodes.iter().zip(&row.values).all(|(&node, value)| (value - dense(node)).abs() < 1e-6));
        assert_eq!(row.nodes.len(), power.data().iter().filter(|value| **value != 0.0).count());
        let pairs = [[0, 0], [0, 5], [17, 3_500]];
        let squares: f64 = row.values.iter().map(|value| value * value).sum();
        assert_eq!(whole.proximity([0, 0], 2).to_bits(), squares.to_bits());
        let bits = |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect::<Vec<_>>();
        for hops in [1, 2] {
            assert_eq!(bits(whole.proximities(&pairs, hops)), bits(pieces.proximities(&pairs, hops)));
        }
        assert_eq!(whole.max_row_norm(1, 0), pieces.max_row_norm(1, 0));
    }
}
