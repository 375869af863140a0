//! Walk proximity estimated from the stochastic matrix, `S_ij ≈ <Ẽ_i, Ẽ_j>`: what Theorem 2 promises, and what is measured.

use super::Signal;
use crate::graph::proximity::WalkRow;
use crate::graph::{Graph, Operator};
use crate::seeds::{Purpose, Rng, Seeds};
use rayon::prelude::*;

/// The width that Theorem 2 requires: above it `|S_ij - <Ẽ_i, Ẽ_j>| < epsilon` with probability above `1 - delta`
/// for a pair. `max_norm` is `max_i |a_i|`.
///
/// The lemma behind the theorem needs `epsilon / max_norm < 1/2`; a larger epsilon is served by the bound at one half,
/// which is stricter.
pub fn sufficient_width(max_norm: f64, epsilon: f64, delta: f64) -> f64 {
    let e = (epsilon / max_norm).min(0.5);
    4.0 * (4.0 / delta).ln() / (e * e - e * e * e)
}

/// The error that Theorem 2 promises for a signal `dim` wide, with probability above `1 - delta` for a pair; `None` if the signal is
/// too narrow for any promise. The inverse of [`sufficient_width`].
pub fn certified_error(max_norm: f64, dim: usize, delta: f64) -> Option<f64> {
    let enough = |epsilon: f64| sufficient_width(max_norm, epsilon, delta) <= dim as f64;
    let (mut low, mut high) = (0.0, 0.5 * max_norm);
    if !enough(high) {
        return None;
    }
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        (low, high) = if enough(middle) { (low, middle) } else { (middle, high) };
    }
    Some(high)
}

/// Pairs with a proximity to estimate: each is joined by a walk of at most `2 hops` steps. Other pairs have none, and any
/// estimate would look good on them.
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
pub struct MeasuredPair {
    /// The two nodes.
    pub pair: [u32; 2],
    /// `S_ij`.
    pub exact: f64,
    /// `<Ẽ_i, Ẽ_j>`.
    pub estimate: f64,
}

impl MeasuredPair {
    /// `|S_ij - <Ẽ_i, Ẽ_j>|`.
    pub fn error(&self) -> f64 {
        (self.exact - self.estimate).abs()
    }
}

/// Compares exact and estimated proximity. `E` is drawn and propagated a few columns at a time, so that any width fits
/// into memory; `progress` is called with the number of columns done.
pub fn measure(
    operator: &Operator,
    hops: usize,
    signal: Signal,
    dim: usize,
    pairs: &[[u32; 2]],
    seed: u64,
    mut progress: impl FnMut(usize),
) -> Vec<MeasuredPair> {
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
    let exact = |&[i, j]: &[u32; 2]| WalkRow::of(operator, i, hops).dot(&WalkRow::of(operator, j, hops));
    let measured = |(pair, estimate): (&[u32; 2], f64)| MeasuredPair { pair: *pair, exact: exact(pair), estimate };
    pairs.par_iter().zip(estimates).map(measured).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_width_is_the_formula_of_the_proof() {
        let (m, epsilon, delta) = (0.8f64, 0.1f64, 0.05f64);
        let printed = 4.0 * (4.0 / delta).ln() * m.powi(3) / (epsilon * epsilon * m - epsilon.powi(3));
        assert!((sufficient_width(m, epsilon, delta) - printed).abs() < 1e-9 * printed);
        assert!(sufficient_width(0.1, 10.0, 0.05).is_finite());
    }
}
