//! Walk proximity estimated from the stochastic matrix, `S_ij ≈ <Ẽ_i, Ẽ_j>`: what Theorem 2 promises, and what is measured.

use crate::error::{Error, Result};
use crate::graph::proximity::Walks;
use crate::graph::{Graph, Operator};
use crate::linalg::Storage;
use crate::memory::Memory;
use crate::propagation::{CostEstimate, ExecutionMode, Workload};
use crate::propagation::{PanelPlan, PanelSource, Propagation};
use crate::seeds::{Purpose, Rng, Seeds};
use crate::source::Signal;
use rayon::prelude::*;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// The width that Theorem 2 requires: above it `|S_ij - <Ẽ_i, Ẽ_j>| < epsilon` with probability above `1 - delta`
/// for a pair. `max_norm` is `max_i |a_i|`.
///
/// The lemma behind the theorem needs `epsilon / max_norm < 1/2`; a larger epsilon is served by the bound at one half,
/// which is stricter.
pub(crate) fn sufficient_width(max_norm: f64, epsilon: f64, delta: f64) -> f64 {
    let e = (epsilon / max_norm).min(0.5);
    4.0 * (4.0 / delta).ln() / (e * e - e * e * e)
}

/// The error that Theorem 2 promises for a signal `dim` wide, with probability above `1 - delta` for a pair; `None` if the signal is
/// too narrow for any promise. The inverse of [`sufficient_width`].
pub(crate) fn certified_error(max_norm: f64, dim: usize, delta: f64) -> Option<f64> {
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
pub(crate) fn sample_pairs(graph: &Graph, hops: usize, count: usize, seed: u64) -> Vec<[u32; 2]> {
    let mut rng = Seeds::new(seed).rng(Purpose::Certify, &[]);
    let rows = graph.lookup();
    let step = |at: u32, rng: &mut Rng| match rows.entries(at as usize) {
        places if places.is_empty() => at,
        places => {
            let place = places.start + rng.below(places.len());
            rows.neighbours_at(place..place + 1)[0]
        }
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
pub(crate) struct MeasuredPair {
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

/// Columns of `E` whose products are summed at a time.
const COLUMNS: usize = 64;

/// The share of pairs whose error is below `epsilon`.
pub(crate) fn share_within(measured: &[MeasuredPair], epsilon: f64) -> f64 {
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
        let (epsilon, delta) = (Certification::EPSILON, Certification::DELTA);
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
    /// The largest norm of a row of `Ã^K`, or what no row exceeds with a probability of 0.999.
    pub max_row_norm: f64,
    /// Whether it is the largest norm itself. In large graphs that would take rows of all nodes.
    pub max_row_norm_is_exact: bool,
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
    /// The usual bound of the error of an estimated proximity.
    pub const EPSILON: f64 = 0.1;

    /// The usual probability of a larger error.
    pub const DELTA: f64 = 0.05;

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

    /// How it is done within a limit of memory, beside so many bytes of names.
    pub fn plan(&self, graph: &Graph, id_bytes: usize, memory: Option<Memory>) -> Result<CertificationPlan> {
        self.check()?;
        // Entries of rows before the last step, which comes in pieces.
        let longest = match self.hops {
            1 => 1,
            2 => 1 + graph.max_degree(),
            _ => graph.num_nodes(),
        };
        // Two rows of a pair, and the one before the second.
        let (pair_bytes, bound_bytes) = (3 * 12 * longest, 16 * graph.num_nodes());
        let columns = self.signal_dim.unwrap_or(COLUMNS).min(COLUMNS);
        let workload = Workload { id_bytes, ..Workload::of_graph(graph, columns, self.hops) };
        let estimate = workload.certification(self.pairs, pair_bytes.max(bound_bytes), memory);
        let remedy = match graph.is_stored() {
            true => "compare fewer pairs",
            false => "write a graph file, whose edges can stay on disk, or compare fewer pairs",
        };
        let estimate = estimate.map_err(|least| memory.unwrap_or(least).too_little(least, remedy))?;
        // Where panels have been, there is room for rows.
        let rows_at_a_time = (estimate.panel_bytes() / pair_bytes).max(1);
        Ok(CertificationPlan { estimate, rows_at_a_time })
    }

    /// `max_i |a_i|`: exactly where that takes few rows, from `E` where not.
    fn max_row_norm(&self, operator: &Operator, plan: &CertificationPlan) -> RowNorm {
        /// Messages that take some seconds.
        const MESSAGES: u64 = 1 << 28;
        let walks = Walks::new(operator).at_a_time(plan.rows_at_a_time);
        match walks.max_row_norm(self.hops, MESSAGES) {
            Some(norm) => RowNorm { norm, is_exact: true },
            None => RowNorm { norm: self.bounded_row_norm(operator, &walks, plan), is_exact: false },
        }
    }

    /// A norm that no row of `Ã^K` exceeds with a probability of 0.999.
    ///
    /// `d` columns of Gaussian `E` estimate `|a_i|²` as `|a_i|² χ²_d / d`. Rows with the largest estimates are computed exactly; the
    /// others are bounded by the largest estimate among them and by how far the smallest of all estimates may fall short.
    fn bounded_row_norm(&self, operator: &Operator, walks: &Walks<'_>, plan: &CertificationPlan) -> f64 {
        const COLUMNS: usize = 256;
        const EXACT: usize = 256;
        const FAILS: f64 = 0.001;
        let n = operator.graph().num_nodes();
        let stream = Seeds::new(self.seed).stream(Purpose::Certify, &[1]);
        let source = PanelSource::Signal { signal: Signal::Gaussian, stream, dim: COLUMNS, factor: 1.0 };
        let (operator, hops, storage) = (operator.clone(), self.hops, Storage::Single);
        let propagation = Propagation { operator, hops, storage, source, addresses: None };
        // Column after column, so that panels of any width give the same sums.
        let mut squares = vec![0f64; n];
        propagation.each_panel(&plan.panels(), 0..COLUMNS, &mut Default::default(), |_, first, rows| {
            let sums =
                squares[first..first + rows.rows()].par_iter_mut().zip(rows.data().par_chunks_exact(rows.cols()));
            sums.for_each(|(sum, row)| row.iter().for_each(|&x| *sum += f64::from(x) * f64::from(x)));
        });
        let mut largest: BinaryHeap<Reverse<(u64, Reverse<u32>)>> = BinaryHeap::with_capacity(EXACT + 2);
        for (node, sum) in (0..).zip(&squares) {
            // Bits of positive numbers are in their order.
            let estimate = Reverse((sum.to_bits(), Reverse(node)));
            if largest.len() <= EXACT || largest.peek().is_some_and(|least| estimate < *least) {
                largest.push(estimate);
            }
            if largest.len() > EXACT + 1 {
                largest.pop();
            }
        }
        let rest = largest.pop().filter(|_| largest.len() == EXACT);
        let bound = rest.map_or(0.0, |Reverse((bits, _))| {
            (f64::from_bits(bits) / COLUMNS as f64 / (1.0 - shortfall(COLUMNS, FAILS / n as f64))).sqrt()
        });
        let nodes: Vec<u32> = largest.into_iter().map(|Reverse((_, Reverse(node)))| node).collect();
        walks.norms(&nodes, self.hops).into_iter().fold(bound, f64::max)
    }

    /// Compares exact and estimated proximity at a width. `E` is drawn and propagated some columns at a time, so that any width fits
    /// into memory; `progress` is called with the number of columns done.
    pub(crate) fn measure(
        &self,
        operator: &Operator,
        dim: usize,
        pairs: &[[u32; 2]],
        plan: &CertificationPlan,
        mut progress: impl FnMut(usize),
    ) -> Vec<MeasuredPair> {
        let Certification { hops, signal, seed, .. } = *self;
        let stream = Seeds::new(seed).stream(Purpose::Signal, &[0]);
        let source = PanelSource::Signal { signal, stream, dim, factor: 1.0 };
        let storage = Storage::Single;
        let propagation = Propagation { operator: operator.clone(), hops, storage, source, addresses: None };
        let mut nodes: Vec<u32> = pairs.as_flattened().to_vec();
        nodes.sort_unstable();
        nodes.dedup();
        let place = |node: u32| nodes.binary_search(&node).expect("an end of a pair");
        let places: Vec<[usize; 2]> = pairs.iter().map(|pair| pair.map(place)).collect();
        let mut estimates = vec![0f64; pairs.len()];
        let (panels, mut buffers) = (plan.panels(), Default::default());
        for first in (0..dim).step_by(COLUMNS) {
            let columns = first..dim.min(first + COLUMNS);
            let e = propagation.columns_of_rows(&panels, columns.clone(), &nodes, &mut buffers);
            estimates.par_iter_mut().zip(&places).for_each(|(estimate, &[i, j])| {
                let products = e.row(i).iter().zip(e.row(j));
                *estimate += products.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>() / dim as f64;
            });
            progress(columns.end);
        }
        drop(buffers);
        let exact = Walks::new(operator).at_a_time(plan.rows_at_a_time).proximities(pairs, hops);
        let measured = |((&pair, exact), estimate)| MeasuredPair { pair, exact, estimate };
        pairs.iter().zip(exact).zip(estimates).map(measured).collect()
    }

    /// The width that the theorem requires on a graph, and the error measured there. `progress` is called with the number of
    /// columns of `E` that are done and with their number.
    pub fn run(
        &self,
        graph: &Arc<Graph>,
        plan: &CertificationPlan,
        mut progress: impl FnMut(usize, usize),
    ) -> Result<Certificate> {
        self.check()?;
        if plan.estimate.way != ExecutionMode::OutOfCore {
            graph.load()?;
        }
        let Certification { epsilon, delta, hops, signal, pairs, seed, .. } = *self;
        let operator = Operator::symmetric(graph.clone());
        let RowNorm { norm: max_norm, is_exact } = self.max_row_norm(&operator, plan);
        let sufficient = sufficient_width(max_norm, epsilon, delta).ceil();
        let dim = self.signal_dim.unwrap_or_else(|| sufficient.min(Self::MAX_DEFAULT_WIDTH) as usize);
        let sample = sample_pairs(graph, hops, pairs, seed);
        let measured = self.measure(&operator, dim, &sample, plan, |done| progress(done, dim));
        let mut errors: Vec<f64> = measured.iter().map(MeasuredPair::error).collect();
        errors.sort_by(f64::total_cmp);
        Ok(Certificate {
            hops,
            epsilon,
            delta,
            max_row_norm: max_norm,
            max_row_norm_is_exact: is_exact,
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

/// `max_i |a_i|`, or a bound of it.
struct RowNorm {
    norm: f64,
    is_exact: bool,
}

/// The share by which `χ²_d / d` falls short of one with at most this probability: Chernoff's bound
/// `P(χ²_d / d <= 1 - s) <= exp(d (s + ln(1 - s)) / 2)`.
fn shortfall(dim: usize, probability: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let s = 0.5 * (low + high);
        let is_likelier = 0.5 * dim as f64 * (s + (1.0f64 - s).ln()) > probability.ln();
        (low, high) = if is_likelier { (s, high) } else { (low, s) };
    }
    high
}

/// How a certification keeps to its memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificationPlan {
    /// What it takes, and how `Ã^K E` is computed.
    pub estimate: CostEstimate,
    /// Exact rows that are expanded in parallel at most.
    pub rows_at_a_time: usize,
}

impl CertificationPlan {
    /// Rows of the pairs alone are kept, so that nothing waits in a folder.
    fn panels(&self) -> PanelPlan {
        self.estimate.plan(Path::new(""))
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
        let certification = Certification { hops, signal, seed, ..Certification::default() };
        let plan = |operator: &Operator| certification.plan(operator.graph(), 0, None).expect("no limit of memory");
        let norms =
            operators.iter().map(|operator| (certification.max_row_norm(operator, &plan(operator)).norm, operator));
        let (max_norm, operator) = norms.max_by(|a, b| a.0.total_cmp(&b.0))?;
        let pairs = sample_pairs(operator.graph(), hops, WidthCheck::PAIRS, seed);
        let plan = plan(operator);
        let measured = certification.measure(operator, signal_dim, &pairs, &plan, |_| {});
        Some(WidthCheck {
            hops,
            epsilon: Certification::EPSILON,
            delta: Certification::DELTA,
            sufficient_width: sufficient_width(max_norm, Certification::EPSILON, Certification::DELTA).ceil(),
            signal_dim,
            num_pairs: measured.len(),
            share_within_epsilon: share_within(&measured, Certification::EPSILON),
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
        let norm = |operator: &Operator| Walks::new(operator).max_row_norm(2, u64::MAX).unwrap();
        let narrow = of(4);
        let expected = sufficient_width(norm(&path), 0.1, 0.05).ceil();
        assert_eq!((narrow.sufficient_width, narrow.num_pairs), (expected, WidthCheck::PAIRS));
        assert!(expected > sufficient_width(norm(&grid), 0.1, 0.05));
        assert!(!narrow.is_enough() && narrow.to_string().contains("4 are in use, which is too narrow"), "{narrow}");
        assert!(of(500).to_string().contains("500 are in use, and suffice here: "), "{}", of(500));
        assert!(of(5000).to_string().ends_with("5000 are in use, so the guarantee holds."), "{}", of(5000));
        assert_eq!(WidthCheck::of(&[grid], 5, Signal::Gaussian, 4, 1), None);
    }

    #[test]
    fn a_bound_from_the_signal_holds_for_every_row_and_is_the_same_in_panels() {
        let graph = crate::dataset::generate::power_law(&crate::dataset::generate::PowerLaw::new(3_000, 30_000), 3);
        let graph: Arc<Graph> = graph.unwrap().graph.into();
        let operator = Operator::symmetric(graph.clone());
        let walks = Walks::new(&operator);
        let exact = walks.max_row_norm(2, u64::MAX).unwrap();
        for seed in 1..4 {
            let certification = Certification { seed, ..Certification::default() };
            let mut plan = certification.plan(&graph, 0, None).unwrap();
            let bound = certification.bounded_row_norm(&operator, &walks, &plan);
            assert!(exact <= bound && bound < 2.0 * exact, "{bound} for {exact}");
            plan.estimate.panel_width = 8;
            assert_eq!(certification.bounded_row_norm(&operator, &walks, &plan), bound);
        }
    }

    #[test]
    fn the_shortfall_is_that_of_the_chernoff_bound() {
        for (dim, probability) in [(256, 1e-11), (64, 1e-3)] {
            let s = shortfall(dim, probability);
            assert!(((dim as f64 / 2.0 * (s + (1.0 - s).ln())).exp() / probability - 1.0).abs() < 1e-6);
        }
        assert!(shortfall(1024, 1e-9) < shortfall(256, 1e-9));
    }
}
