//! Walk proximity estimated from the stochastic matrix, `S_ij ≈ <Ẽ_i, Ẽ_j>`: what Theorem 2 promises, and what is measured.

use super::Signal;
use crate::error::{Error, Result};
use crate::graph::proximity::{WalkRow, max_row_norm};
use crate::graph::{Graph, Operator};
use crate::seeds::{Purpose, Rng, Seeds};
use crate::threads;
use rayon::prelude::*;
use serde::Serialize;
use std::fmt;
use std::sync::Arc;

/// The error of an estimated proximity that is usually asked for.
pub const USUAL_EPSILON: f64 = 0.1;

/// The usual probability of a larger one.
pub const USUAL_DELTA: f64 = 0.05;

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

/// Columns of `E` that are measured at a time.
pub const COLUMNS: usize = 64;

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
    let exact = |&[i, j]: &[u32; 2]| {
        threads::check();
        WalkRow::of(operator, i, hops).dot(&WalkRow::of(operator, j, hops))
    };
    let measured = |(pair, estimate): (&[u32; 2], f64)| MeasuredPair { pair: *pair, exact: exact(pair), estimate };
    pairs.par_iter().zip(estimates).map(measured).collect()
}

/// The share of pairs whose error is below `epsilon`.
pub fn share_within(measured: &[MeasuredPair], epsilon: f64) -> f64 {
    measured.iter().filter(|pair| pair.error() < epsilon).count() as f64 / measured.len() as f64
}

/// What Theorem 2 is asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Certification {
    /// The error asked for.
    pub epsilon: f64,
    /// The probability of a larger one.
    pub delta: f64,
    /// Propagation steps `K`.
    pub hops: usize,
    /// The distribution of `E`.
    pub signal: Signal,
    /// The width to measure; by default the one that the theorem requires.
    pub signal_dim: Option<usize>,
    /// How many pairs to measure.
    pub pairs: usize,
    /// The random seed.
    pub seed: u64,
}

impl Default for Certification {
    fn default() -> Certification {
        let (epsilon, delta) = (USUAL_EPSILON, USUAL_DELTA);
        Certification { epsilon, delta, hops: 2, signal: Signal::Gaussian, signal_dim: None, pairs: 1000, seed: 1 }
    }
}

/// The bound of Theorem 2 on a graph, and the error measured there.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Certificate {
    /// Propagation steps `K`.
    pub hops: usize,
    /// The error asked for.
    pub epsilon: f64,
    /// The probability of a larger one.
    pub delta: f64,
    /// The largest norm of a row of `Ã^K`.
    pub max_row_norm: f64,
    /// The width that the theorem requires.
    pub sufficient_width: f64,
    /// The distribution of `E`.
    pub signal: Signal,
    /// The width that was measured.
    pub signal_dim: usize,
    /// Pairs that were measured.
    pub num_pairs: usize,
    /// The mean error of a pair.
    pub mean_error: f64,
    /// The error that a share of `1 - delta` stays below.
    pub quantile_error: f64,
    /// The largest error.
    pub max_error: f64,
    /// The share of pairs whose error is below `epsilon`.
    pub share_within_epsilon: f64,
}

impl Certification {
    /// Larger widths are measured only on request: they take long and change little.
    const MAX_DEFAULT_WIDTH: f64 = 65_536.0;

    /// Whether every number is in its range.
    pub fn check(&self) -> Result<()> {
        let Certification { epsilon, delta, hops, pairs, signal_dim, .. } = *self;
        if !(epsilon.is_finite() && epsilon > 0.0) {
            return Err(Error::setting("epsilon", epsilon, "expected a number above 0"));
        }
        if !(delta > 0.0 && delta < 1.0) {
            return Err(Error::setting("delta", delta, "expected a probability between 0 and 1"));
        }
        let counts = [("hops", hops, 16), ("pairs", pairs, 1 << 24), ("signal-dim", signal_dim.unwrap_or(1), 1 << 22)];
        match counts.into_iter().find(|(_, value, most)| !(1..=*most).contains(value)) {
            Some((name, value, most)) => {
                Err(Error::setting(name, value, format!("expected a whole number from 1 to {most}")))
            }
            None => Ok(()),
        }
    }

    /// The width that the theorem requires on a graph, and the error measured there. `progress` is called with the number of
    /// columns of `E` that are done and with their number.
    pub fn run(&self, graph: &Arc<Graph>, mut progress: impl FnMut(usize, usize)) -> Result<Certificate> {
        self.check()?;
        let Certification { epsilon, delta, hops, signal, pairs, seed, .. } = *self;
        let operator = Operator::symmetric(graph.clone());
        let max_norm = max_row_norm(&operator, hops);
        let sufficient = sufficient_width(max_norm, epsilon, delta).ceil();
        let dim = self.signal_dim.unwrap_or_else(|| sufficient.min(Self::MAX_DEFAULT_WIDTH) as usize);
        let sample = sample_pairs(graph, hops, pairs, seed);
        let measured = measure(&operator, hops, signal, dim, &sample, seed, |done| progress(done, dim));
        let mut errors: Vec<f64> = measured.iter().map(MeasuredPair::error).collect();
        errors.sort_by(f64::total_cmp);
        Ok(Certificate {
            hops,
            epsilon,
            delta,
            max_row_norm: max_norm,
            sufficient_width: sufficient,
            signal,
            signal_dim: dim,
            num_pairs: errors.len(),
            mean_error: errors.iter().sum::<f64>() / errors.len() as f64,
            quantile_error: errors[((1.0 - delta) * (errors.len() - 1) as f64).round() as usize],
            max_error: errors[errors.len() - 1],
            share_within_epsilon: share_within(&measured, epsilon),
        })
    }
}

impl Certificate {
    /// Whether as many of the measured pairs are within the error as the theorem promises.
    pub fn holds(&self) -> bool {
        self.share_within_epsilon > 1.0 - self.delta
    }
}

/// The width that Theorem 2 requires at the usual tolerance, beside the one in use.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WidthCheck {
    /// Propagation steps `K`.
    pub hops: usize,
    /// The error asked for.
    pub epsilon: f64,
    /// The probability of a larger one.
    pub delta: f64,
    /// The width that the theorem requires.
    pub sufficient_width: f64,
    /// The width in use.
    pub signal_dim: usize,
    /// Pairs that were measured at the width in use.
    pub num_pairs: usize,
    /// The share of them whose error is below `epsilon`.
    pub share_within_epsilon: f64,
}

impl WidthCheck {
    /// Pairs to measure: the exact proximity of a pair takes milliseconds in a dense graph.
    const PAIRS: usize = 200;

    /// More steps reach so many nodes that exact rows take long; a user may still ask for them.
    pub const MOST_HOPS: usize = 4;

    /// Of the graph that needs the widest signal; `None` for many hops.
    pub fn of(operators: &[Operator], hops: usize, signal: Signal, signal_dim: usize, seed: u64) -> Option<WidthCheck> {
        if hops > WidthCheck::MOST_HOPS {
            return None;
        }
        let norms = operators.iter().map(|operator| (max_row_norm(operator, hops), operator));
        let (max_norm, operator) = norms.max_by(|a, b| a.0.total_cmp(&b.0))?;
        let pairs = sample_pairs(operator.graph(), hops, WidthCheck::PAIRS, seed);
        let measured = measure(operator, hops, signal, signal_dim, &pairs, seed, |_| {});
        Some(WidthCheck {
            hops,
            epsilon: USUAL_EPSILON,
            delta: USUAL_DELTA,
            sufficient_width: sufficient_width(max_norm, USUAL_EPSILON, USUAL_DELTA).ceil(),
            signal_dim,
            num_pairs: measured.len(),
            share_within_epsilon: share_within(&measured, USUAL_EPSILON),
        })
    }

    /// Whether the width in use is the theorem's.
    pub fn is_certified(&self) -> bool {
        self.signal_dim as f64 >= self.sufficient_width
    }

    /// Whether as many of the measured pairs are within the error as the theorem promises.
    pub fn is_enough(&self) -> bool {
        self.share_within_epsilon >= 1.0 - self.delta
    }
}

impl fmt::Display for WidthCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WidthCheck { hops, epsilon, sufficient_width, signal_dim, num_pairs, .. } = self;
        let (promised, within) = (100.0 * (1.0 - self.delta), 100.0 * self.share_within_epsilon);
        write!(
            f,
            "Theorem 2 asks for a signal of {sufficient_width} columns to estimate how near two nodes are within {epsilon} with a probability of \
             {promised:.0} % (K = {hops}); {signal_dim} are in use, "
        )?;
        match (self.is_certified(), self.is_enough()) {
            (true, _) => write!(f, "so the guarantee holds"),
            (false, true) => {
                write!(f, "and suffice here: {within:.1} % of {num_pairs} measured pairs are within {epsilon}")
            }
            (false, false) => write!(
                f,
                "which is too narrow here: {within:.1} % of {num_pairs} measured pairs are within {epsilon}, so position may count \
                 for more than these figures say"
            ),
        }?;
        write!(f, ".")
    }
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

    #[test]
    fn a_width_is_checked_on_the_graph_that_needs_most_and_said_in_words() {
        let path = Operator::symmetric(Graph::from_edges(3, &[[0, 1], [1, 2]]).unwrap().0.into());
        let grid = Operator::symmetric(crate::dataset::generate::grid(8, 8).into());
        let of = |dim| WidthCheck::of(&[grid.clone(), path.clone()], 2, Signal::Gaussian, dim, 1).unwrap();
        let narrow = of(4);
        let expected = sufficient_width(max_row_norm(&path, 2), 0.1, 0.05).ceil();
        assert_eq!((narrow.sufficient_width, narrow.num_pairs), (expected, WidthCheck::PAIRS));
        assert!(expected > sufficient_width(max_row_norm(&grid, 2), 0.1, 0.05));
        assert!(!narrow.is_enough() && narrow.to_string().contains("4 are in use, which is too narrow"), "{narrow}");
        assert!(of(500).to_string().contains("500 are in use, and suffice here: "), "{}", of(500));
        assert!(of(5000).to_string().ends_with("5000 are in use, so the guarantee holds."), "{}", of(5000));
        assert_eq!(WidthCheck::of(&[grid], 5, Signal::Gaussian, 4, 1), None);
    }
}
