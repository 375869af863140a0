//! Walk proximity `S = Ã^K (Ã^K)^T` exactly, row by row, and what Theorem 2 promises about its estimate.

use super::{Graph, Operator};
use crate::seeds::{Purpose, Rng, Seeds};
use crate::source::Signal;
use rayon::prelude::*;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// One row of `Ã^K`: the nodes that `K` steps reach, and the weight of each.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Row {
    nodes: Vec<u32>,
    values: Vec<f64>,
}

impl Row {
    /// `a_i = (Ã^K)_i` by expanding from node `i`, in time proportional to what `K` steps reach; exact in f64.
    pub fn of(operator: &Operator, node: u32, hops: usize) -> Row {
        let mut row = Row { nodes: vec![node], values: vec![1.0] };
        let graph = operator.graph();
        let (left, right) = (operator.left(), operator.right());
        for _ in 0..hops {
            // e_i^T Ã^K multiplies from the left: every entry j sends left_j w_jk right_k to its neighbours k.
            let mut sent: Vec<(u32, f64)> = Vec::new();
            for (&j, &value) in row.nodes.iter().zip(&row.values) {
                let from = value * f64::from(left[j as usize]);
                sent.push((j, from * f64::from(operator.self_weight()) * f64::from(right[j as usize])));
                let weights = graph.weights(j as usize);
                for (at, &k) in graph.neighbours(j as usize).iter().enumerate() {
                    let weight = weights.map_or(1.0, |weights| f64::from(weights[at]));
                    sent.push((k, from * weight * f64::from(right[k as usize])));
                }
            }
            sent.sort_by_key(|&(k, _)| k);
            row = Row::default();
            for (k, value) in sent {
                if row.nodes.last() == Some(&k) {
                    *row.values.last_mut().expect("as long as nodes") += value;
                } else {
                    row.nodes.push(k);
                    row.values.push(value);
                }
            }
        }
        row
    }

    /// `S_ij = <a_i, a_j>`.
    pub fn dot(&self, other: &Row) -> f64 {
        let (mut i, mut j, mut sum) = (0, 0, 0.0);
        while i < self.nodes.len() && j < other.nodes.len() {
            match self.nodes[i].cmp(&other.nodes[j]) {
                Ordering::Less => i += 1,
                Ordering::Greater => j += 1,
                Ordering::Equal => {
                    sum += self.values[i] * other.values[j];
                    i += 1;
                    j += 1;
                }
            }
        }
        sum
    }

    /// `|a_i|`.
    pub fn norm(&self) -> f64 {
        self.values.iter().map(|v| v * v).sum::<f64>().sqrt()
    }
}

/// `max_i |a_i|`, exactly.
///
/// The spectral norm of `Ã` is at most one, so `|(Ã^k)_i|` falls as `k` grows and bounds every longer row. Rows are
/// lengthened one step at a time, those with the largest bound first; when the largest of all is as long as asked for, no
/// other can exceed it.
pub fn max_row_norm(operator: &Operator, hops: usize) -> f64 {
    /// Lengthened together, on all threads.
    const TOGETHER: usize = 256;
    let mut rows: BinaryHeap<(Bound, Reverse<u32>, usize)> =
        (0..operator.graph().num_nodes() as u32).map(|node| (Bound(1.0), Reverse(node), 0)).collect();
    while let Some(&(Bound(largest), _, length)) = rows.peek() {
        if length == hops {
            return largest;
        }
        let mut short = Vec::new();
        while short.len() < TOGETHER
            && let Some(&(_, Reverse(node), length)) = rows.peek()
            && length < hops
        {
            rows.pop();
            short.push((node, length + 1));
        }
        let norm = |&(node, length): &(u32, usize)| Bound(Row::of(operator, node, length).norm());
        let norms: Vec<Bound> = short.par_iter().map(norm).collect();
        rows.extend(short.iter().zip(norms).map(|(&(node, length), norm)| (norm, Reverse(node), length)));
    }
    0.0
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

/// The width that Theorem 2 asks for: above it `|S_ij - <Ẽ_i, Ẽ_j>| < epsilon` with probability above `1 - delta`
/// for a pair. `max_norm` is `max_i |a_i|`.
///
/// The lemma behind the theorem needs `epsilon / max_norm < 1/2`; a larger epsilon is served by the bound at one half,
/// which promises more than was asked.
pub fn sufficient_width(max_norm: f64, epsilon: f64, delta: f64) -> f64 {
    let e = (epsilon / max_norm).min(0.5);
    4.0 * (4.0 / delta).ln() / (e * e - e * e * e)
}

/// Pairs that have a proximity to estimate: each is joined by a walk of at most `2 hops` steps. Other pairs have
/// none, and would make any estimate look good.
pub fn sample_pairs(graph: &Graph, hops: usize, count: usize, seed: u64) -> Vec<[u32; 2]> {
    let mut rng = Seeds::new(seed).rng(Purpose::Certify, &[]);
    let step = |at: u32, rng: &mut Rng| match graph.neighbours(at as usize) {
        [] => at,
        neighbours => neighbours[rng.below(neighbours.len())],
    };
    let mut pair = || {
        let start = rng.below(graph.num_nodes()) as u32;
        let steps = rng.below(2 * hops + 1);
        [start, (0..steps).fold(start, |at, _| step(at, &mut rng))]
    };
    (0..count).map(|_| pair()).collect()
}

/// A pair with its proximity and the estimate from a stochastic matrix.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// The two nodes.
    pub pair: [u32; 2],
    /// `S_ij`.
    pub exact: f64,
    /// `<Ẽ_i, Ẽ_j>`.
    pub estimate: f64,
}

impl Measured {
    /// `|S_ij - <Ẽ_i, Ẽ_j>|`.
    pub fn error(&self) -> f64 {
        (self.exact - self.estimate).abs()
    }
}

/// Compares exact and estimated proximity. `E` is made and propagated a few columns at a time, so that any width fits
/// into memory; `progress` hears of the columns done.
pub fn measure(
    operator: &Operator,
    hops: usize,
    signal: Signal,
    dim: usize,
    pairs: &[[u32; 2]],
    seed: u64,
    mut progress: impl FnMut(usize),
) -> Vec<Measured> {
    const COLUMNS: usize = 64;
    let stream = Seeds::new(seed).stream(Purpose::Signal, &[0]);
    let nodes: Vec<u32> = (0..operator.graph().num_nodes() as u32).collect();
    let mut estimates = vec![0f64; pairs.len()];
    for first in (0..dim).step_by(COLUMNS) {
        let columns = first..dim.min(first + COLUMNS);
        let end = columns.end;
        let e = operator.propagate(signal.matrix(stream, &nodes, columns, 1.0), hops);
        estimates.par_iter_mut().zip(pairs).for_each(|(estimate, &[i, j])| {
            let products = e.row(i as usize).iter().zip(e.row(j as usize));
            *estimate += products.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>() / dim as f64;
        });
        progress(end);
    }
    let exact = |&[i, j]: &[u32; 2]| Row::of(operator, i, hops).dot(&Row::of(operator, j, hops));
    let measured = |(pair, estimate): (&[u32; 2], f64)| Measured { pair: *pair, exact: exact(pair), estimate };
    pairs.par_iter().zip(estimates).map(measured).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::generate;
    use crate::linalg::Matrix;
    use std::sync::Arc;

    #[test]
    fn rows_and_their_products_equal_the_dense_power() {
        let graph = Arc::new(generate::communities(3, 6, 0.1, 2).graph);
        let operator = Operator::symmetric(graph.clone());
        let power = operator.propagate(Matrix::identity(18), 3);
        let rows: Vec<Row> = (0..18).map(|i| Row::of(&operator, i, 3)).collect();
        for i in 0..18 {
            for j in 0..18 {
                let dense: f64 =
                    power.row(i).iter().zip(power.row(j)).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
                assert!((rows[i].dot(&rows[j]) - dense).abs() < 1e-5);
            }
        }
        let largest = rows.iter().map(Row::norm).fold(0.0, f64::max);
        assert!((max_row_norm(&operator, 3) - largest).abs() < 1e-12);
    }

    #[test]
    fn the_width_is_the_formula_of_the_proof() {
        let (m, epsilon, delta) = (0.8f64, 0.1f64, 0.05f64);
        let printed = 4.0 * (4.0 / delta).ln() * m.powi(3) / (epsilon * epsilon * m - epsilon.powi(3));
        assert!((sufficient_width(m, epsilon, delta) - printed).abs() < 1e-9 * printed);
        assert!(sufficient_width(0.1, 10.0, 0.05).is_finite());
    }
}
