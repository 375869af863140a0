//! Walk proximities of several lengths for given pairs: `p_k(i, j) = (M^k)_ij` with `M = D^-1/2 A D^-1/2`, the paper's quantity
//! for one length. Exact with `E = I`, whose rows are kept sparse, or estimated by `<(M^a E)_i, (M^b E)_j>`, `a + b = k`.

use super::levels::Levels;
use super::products::{HopProducts, PairEnds, hop_products};
use crate::graph::{Graph, Operator, STRETCH};
use crate::linalg::Matrix;
use crate::names::named;
use crate::threads;
use rayon::prelude::*;
use std::ops::RangeInclusive;
use std::sync::Arc;

named! {
    /// How walk proximities are computed.
    pub enum Proximities, "kind of proximities" {
        /// From sparse rows of `M`, `M^2` and `M^3`.
        Exact = "exact",
        /// From a stochastic matrix `E`, with the error of Theorem 2.
        Estimated = "estimated",
    }
}

/// The longest walks that can be asked for.
pub const MAX_LENGTH: usize = 10;

/// Rows of `M^a` up to this `a` make walks of twice the length.
const MAX_HOPS: usize = MAX_LENGTH / 2;

/// Lengths of walks, in the order of the columns of [`HopProducts::pairs`].
pub fn lengths(longest: usize) -> RangeInclusive<usize> {
    2..=longest
}

/// The two rows whose inner product counts walks of a length. In [`HopProducts::squares`] each stands for the closed walks of twice
/// its own: `(M^2a)_ii = |(M^a)_i|²`.
pub fn halves(length: usize) -> [usize; 2] {
    [length / 2, length.div_ceil(2)]
}

/// What exact proximities cost, counted before anything is computed: upper bounds, in time linear in the edges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExactCost {
    /// Multiplications to expand the rows of all nodes once.
    pub expansion: f64,
    /// Multiplications per pair, on average over nodes.
    pub per_pair: f64,
    /// Bytes of all rows.
    pub bytes: f64,
}

impl ExactCost {
    /// Counts walks: a row of `M^a` has at most as many entries as there are walks of length `a`, and as nodes. `None` as soon as the
    /// cost is not `affordable`: every step adds to it, and nothing is read of a graph that is too large anyway.
    pub fn within(graph: &Graph, longest: usize, affordable: impl Fn(&ExactCost) -> bool) -> Option<ExactCost> {
        let n = graph.num_nodes();
        let all = 2.0 * graph.num_edges() as f64;
        let cost = |expansion: f64, entries: f64| {
            let cost = ExactCost { expansion, per_pair: entries / n.max(1) as f64, bytes: 8.0 * entries };
            affordable(&cost).then_some(cost)
        };
        // Of the first step, one walk per end of an edge.
        let (mut found, mut expansion, mut entries) = (cost(all, all)?, 0.0, 0.0);
        let mut walks: Vec<f64> = vec![1.0; n];
        for _ in 0..longest.div_ceil(2) {
            let mut longer = vec![0.0; n];
            graph.for_each_stretch(STRETCH, |rows| {
                for row in rows.range() {
                    longer[row] = rows.neighbours(row).iter().map(|&j| walks[j as usize]).sum();
                }
            });
            walks = longer;
            expansion += walks.iter().map(|&count| count.min(all)).sum::<f64>();
            entries += walks.iter().map(|&count| count.min(n as f64)).sum::<f64>();
            found = cost(expansion, entries)?;
        }
        Some(found)
    }
}

/// `max_i |M_i|`, which bounds the rows of every power of `M`: its spectral norm is at most one.
pub fn max_row_norm(graph: &Arc<Graph>) -> f64 {
    let operator = Operator::walk(graph.clone());
    let (scale, mut largest) = (operator.left(), 0f64);
    graph.for_each_stretch(STRETCH, |rows| {
        for i in rows.range() {
            let weight = |at: usize| rows.weights(i).map_or(1.0, |weights| f64::from(weights[at]));
            let entry = |(at, &j): (usize, &u32)| weight(at) * f64::from(scale[i]) * f64::from(scale[j as usize]);
            let square: f64 = rows.neighbours(i).iter().enumerate().map(|neighbour| entry(neighbour).powi(2)).sum();
            largest = largest.max(square);
        }
    });
    largest.sqrt()
}

/// Proximities of the pairs of these ends in one graph; the levels are those of a signal, of which exact ones need nothing but the operator.
pub(crate) fn walk_products(
    levels: &Levels<'_>,
    proximities: Proximities,
    longest: usize,
    ends: &PairEnds,
) -> HopProducts {
    let products: Vec<[usize; 2]> = lengths(longest).map(halves).collect();
    match proximities {
        Proximities::Exact => exact(levels.operator, &products, ends),
        Proximities::Estimated => hop_products(levels, &products, ends),
    }
}

/// One row of `M^a` for every `a` from 1: nodes and values.
type Rows = Vec<Vec<(u32, f32)>>;

fn exact(operator: &Operator, products: &[[usize; 2]], ends: &PairEnds) -> HopProducts {
    let n = operator.graph().num_nodes();
    let hops = products.iter().flatten().copied().max().unwrap_or(0);
    let PairEnds { nodes, pairs } = ends;
    let rows: Vec<Rows> = nodes
        .par_chunks(EXPANDED_TOGETHER)
        .flat_map_iter(|nodes| {
            threads::check();
            let mut expansion = Expansion::new(n);
            nodes.iter().map(|&node| expansion.rows(operator, node, hops)).collect::<Vec<_>>()
        })
        .collect();
    let mut squares = Matrix::zeros(nodes.len(), hops + 1);
    for (place, rows) in rows.iter().enumerate() {
        let row = squares.row_mut(place);
        row[0] = 1.0;
        for (square, entries) in row[1..].iter_mut().zip(rows) {
            *square = entries.iter().map(|&(_, value)| value * value).sum();
        }
    }
    let mut by_first: Vec<u32> = (0..pairs.len() as u32).collect();
    by_first.sort_by_key(|&pair| pairs[pair as usize][0]);
    let runs: Vec<&[u32]> = by_first.chunk_by(|&a, &b| pairs[a as usize][0] == pairs[b as usize][0]).collect();
    let width = products.len();
    let of_runs: Vec<Vec<f32>> = runs
        .par_chunks(RUNS_TOGETHER)
        .map(|runs| {
            threads::check();
            let mut levels = vec![[0.0; MAX_HOPS + 1]; n];
            let mut found = Vec::new();
            for run in runs {
                let first = &rows[pairs[run[0] as usize][0] as usize];
                for (level, entries) in (1..).zip(first) {
                    entries.iter().for_each(|&(node, value)| levels[node as usize][level] = value);
                }
                for &pair in *run {
                    let [_, second] = pairs[pair as usize];
                    let sums = products_of(&levels, &rows[second as usize]);
                    // M is symmetric, so it does not matter which end takes the shorter row.
                    found.extend(products.iter().map(|&[a, b]| sums[a][b - a]));
                }
                for entries in first {
                    entries.iter().for_each(|&(node, _)| levels[node as usize] = [0.0; MAX_HOPS + 1]);
                }
            }
            found
        })
        .collect();
    let mut found = HopProducts { pairs: Matrix::zeros(pairs.len(), width), squares };
    let products = of_runs.iter().flat_map(|of_run| of_run.chunks_exact(width));
    for (&pair, products) in by_first.iter().zip(products) {
        found.pairs.row_mut(pair as usize).copy_from_slice(products);
    }
    found
}

/// Nodes whose rows one task expands; each task has an array as long as the graph.
const EXPANDED_TOGETHER: usize = 512;

/// First ends whose pairs one task scores.
const RUNS_TOGETHER: usize = 256;

/// The inner products of row `a` of the second node with rows `a` and `a + 1` of the first, whose rows `levels` holds, spread out
/// over all nodes.
fn products_of(levels: &[[f32; MAX_HOPS + 1]], second: &Rows) -> [[f32; 2]; MAX_HOPS + 1] {
    let mut sums = [[0.0; 2]; MAX_HOPS + 1];
    for (a, entries) in (1..).zip(second) {
        let next = (a + 1).min(MAX_HOPS);
        let [mut same, mut longer] = [0.0; 2];
        for &(node, value) in entries {
            let level = &levels[node as usize];
            same += level[a] * value;
            longer += level[next] * value;
        }
        sums[a] = [same, longer];
    }
    sums
}

/// Expands rows of `M^a` from one node at a time.
struct Expansion {
    sums: Vec<f32>,
    is_reached: Vec<bool>,
}

impl Expansion {
    fn new(num_nodes: usize) -> Expansion {
        Expansion { sums: vec![0.0; num_nodes], is_reached: vec![false; num_nodes] }
    }

    /// `e_i^T M^a`: every entry `j` sends `l_j w_jk r_k` to its neighbours `k`.
    fn rows(&mut self, operator: &Operator, node: u32, hops: usize) -> Rows {
        let graph = operator.graph();
        let (left, right) = (operator.left(), operator.right());
        let mut rows = vec![Vec::new(); hops];
        let mut before = vec![(node, 1.0)];
        for row in &mut rows {
            let mut reached = Vec::new();
            for &(j, value) in &before {
                let from = value * left[j as usize];
                let neighbours = graph.neighbours(j as usize);
                for (at, &k) in neighbours.iter().enumerate() {
                    if !std::mem::replace(&mut self.is_reached[k as usize], true) {
                        reached.push(k);
                    }
                    let weight = graph.weights(j as usize).map_or(1.0, |weights| weights[at]);
                    self.sums[k as usize] += from * weight * right[k as usize];
                }
            }
            // Ascending, so that sums over a row do not jump through memory.
            reached.sort_unstable();
            *row = reached
                .into_iter()
                .map(|k| {
                    self.is_reached[k as usize] = false;
                    (k, std::mem::take(&mut self.sums[k as usize]))
                })
                .collect();
            before.clone_from(row);
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::generate;
    use crate::propagation::Execution;
    use crate::propagation::levels::LevelSource;
    use crate::seeds::{Purpose, Seeds};
    use crate::source::Signal;

    fn operator() -> Operator {
        Operator::walk(generate::communities(3, 6, 0.1, 2).graph.into())
    }

    #[test]
    fn exact_proximities_are_entries_of_powers() {
        let operator = operator();
        let pairs: Vec<[u32; 2]> = (0..18).flat_map(|i| (0..18).map(move |j| [i, j])).collect();
        let products: Vec<[usize; 2]> = lengths(MAX_LENGTH).map(halves).collect();
        let found = exact(&operator, &products, &PairEnds::of(&pairs));
        for (column, length) in lengths(MAX_LENGTH).enumerate() {
            let power = operator.propagate(Matrix::identity(18), length);
            for (pair, &[i, j]) in pairs.iter().enumerate() {
                let (ours, theirs) = (found.pairs.row(pair)[column], power.row(i as usize)[j as usize]);
                assert!((ours - theirs).abs() < 1e-5, "{length}: {i}, {j}");
                let [half, other] = halves(length);
                if i == j && half == other {
                    assert!((found.squares.row(i as usize)[half] - theirs).abs() < 1e-5);
                }
            }
        }
    }

    #[test]
    fn estimates_come_closer_to_the_exact_ones_as_the_signal_widens() {
        let operator = operator();
        let pairs: Vec<[u32; 2]> = (0..18).flat_map(|i| (i..18).map(move |j| [i, j])).collect();
        let addresses: Vec<u32> = (0..18).collect();
        let stream = Seeds::new(3).stream(Purpose::Signal, &[0]);
        let ends = PairEnds::of(&pairs);
        let execution = Execution::default();
        let of = |dim: usize, proximities: Proximities| {
            let factor = 1.0 / (dim as f32).sqrt();
            let source = LevelSource::Signal { signal: Signal::Gaussian, stream, addresses: &addresses, dim, factor };
            let levels = Levels { operator: &operator, execution: &execution, source };
            walk_products(&levels, proximities, 6, &ends).pairs
        };
        let exact = of(1, Proximities::Exact);
        let error = |dim: usize| {
            let found = of(dim, Proximities::Estimated);
            let squares = found.data().iter().zip(exact.data()).map(|(a, b)| f64::from(a - b).powi(2));
            (squares.sum::<f64>() / found.data().len() as f64).sqrt()
        };
        let errors = [64, 1024, 16_384].map(error);
        // The deviation falls with the root of the width.
        assert!(errors[1] < 0.4 * errors[0] && errors[2] < 0.4 * errors[1] && errors[2] < 0.01, "{errors:?}");
    }

    #[test]
    fn counted_costs_are_upper_bounds() {
        let operator = operator();
        let pairs: Vec<[u32; 2]> = (0..18).map(|i| [i, i]).collect();
        let cost = ExactCost::within(operator.graph(), 6, |_| true).unwrap();
        let mut expansion = Expansion::new(18);
        let entries: usize = (0..18).map(|i| expansion.rows(&operator, i, 3).iter().map(Vec::len).sum::<usize>()).sum();
        assert!(8.0 * entries as f64 <= cost.bytes && entries as f64 / pairs.len() as f64 <= cost.per_pair);
        assert!(cost.expansion >= entries as f64);
        assert_eq!(ExactCost::within(operator.graph(), 6, |found| found.bytes < cost.bytes), None);
    }
}
