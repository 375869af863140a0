//! Walk proximity `S = Ã^K (Ã^K)^T` exactly, row by row.

use super::Operator;
use crate::threads;
use rayon::prelude::*;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// One row of `Ã^K`: the nodes that `K` steps reach, and the weight of each.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WalkRow {
    nodes: Vec<u32>,
    values: Vec<f64>,
}

impl WalkRow {
    /// `a_i = (Ã^K)_i` by expanding from node `i`, in time proportional to what `K` steps reach; exact in f64.
    pub fn of(operator: &Operator, node: u32, hops: usize) -> WalkRow {
        let mut row = WalkRow { nodes: vec![node], values: vec![1.0] };
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
            row = WalkRow::default();
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
    pub fn dot(&self, other: &WalkRow) -> f64 {
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
/// lengthened one step at a time, those with the largest bound first; once the largest has `hops` steps, no other can exceed
/// it.
pub fn max_row_norm(operator: &Operator, hops: usize) -> f64 {
    /// Rows lengthened in parallel.
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
        let norm = |&(node, length): &(u32, usize)| {
            threads::check();
            Bound(WalkRow::of(operator, node, length).norm())
        };
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
        let rows: Vec<WalkRow> = (0..18).map(|i| WalkRow::of(&operator, i, 3)).collect();
        for i in 0..18 {
            for j in 0..18 {
                let dense: f64 =
                    power.row(i).iter().zip(power.row(j)).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
                assert!((rows[i].dot(&rows[j]) - dense).abs() < 1e-5);
            }
        }
        let largest = rows.iter().map(WalkRow::norm).fold(0.0, f64::max);
        assert!((max_row_norm(&operator, 3) - largest).abs() < 1e-12);
    }
}
