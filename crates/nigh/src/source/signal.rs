//! The stochastic matrix `E`: every entry a pure function of (seed, node, column), so that any part of it can be made
//! anywhere, in any order.

use crate::kernel::Matrix;
use crate::names::named;
use crate::seeds::{Purpose, Stream, unit};
use crate::tape::{Gradients, Inputs, Operation, Pass};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

named! {
    /// The distribution of an entry of `E`; all have mean zero and variance one, which is all that the estimate
    /// of the proximity needs to be unbiased.
    pub enum Signal, "signal" {
        /// `N(0, 1)`, the paper's choice.
        Gaussian = "gaussian",
        /// Uniform in `±sqrt(3)`.
        Uniform = "uniform",
        /// `±1`.
        Rademacher = "rademacher",
        /// `±sqrt(3)` with probability 1/6 each, otherwise 0 (Achlioptas).
        Sparse = "sparse",
    }
}

named! {
    /// Whether `E` stays the same for the whole training (section 4.1).
    pub enum Refresh, "refresh" {
        /// Drawn once: the model may learn the signal of each node by heart.
        Fixed = "fixed",
        /// Drawn anew in every pass: the model can only use proximities, and can meet nodes it has never seen.
        Resampled = "resampled",
    }
}

named! {
    /// The scale of `E` before it is propagated.
    pub enum SignalScale, "signal scale" {
        /// `d^-1/2`, so that `<Ẽ_i, Ẽ_j>` estimates the proximity of Theorem 2 as it stands.
        InverseSqrt = "inverse-sqrt",
        /// 1, as in the proof of concept.
        Unit = "unit",
    }
}

impl SignalScale {
    /// The factor for a signal `dim` wide.
    pub fn factor(self, dim: usize) -> f32 {
        match self {
            SignalScale::InverseSqrt => 1.0 / (dim as f32).sqrt(),
            SignalScale::Unit => 1.0,
        }
    }
}

impl Signal {
    /// `E[nodes, columns]`, each entry times `factor`.
    ///
    /// ```
    /// use nigh::{Purpose, Seeds, Signal};
    /// let stream = Seeds::new(1).stream(Purpose::Signal, &[0]);
    /// let all = Signal::Gaussian.matrix(stream, &[0, 1, 2, 3], 0..8, 1.0);
    /// let part = Signal::Gaussian.matrix(stream, &[2], 5..7, 1.0);
    /// assert_eq!(part.row(0), &all.row(2)[5..7]);
    /// ```
    pub fn matrix(self, stream: Stream, nodes: &[u32], columns: Range<usize>, factor: f32) -> Matrix {
        let mut e = Matrix::default();
        self.fill(stream, nodes, columns, factor, &mut e);
        e
    }

    /// As `matrix`, into storage that is there already.
    pub fn fill(self, stream: Stream, nodes: &[u32], columns: Range<usize>, factor: f32, e: &mut Matrix) {
        e.reshape(nodes.len(), columns.len());
        if columns.is_empty() {
            return;
        }
        const ROWS: usize = 256;
        e.data_mut().par_chunks_mut(ROWS * columns.len()).zip(nodes.par_chunks(ROWS)).for_each(|(rows, nodes)| {
            for (row, &node) in rows.chunks_exact_mut(columns.len()).zip(nodes) {
                self.fill_row(stream, node, columns.clone(), factor, row);
            }
        });
    }

    /// A position of the stream holds four columns.
    fn fill_row(self, stream: Stream, node: u32, columns: Range<usize>, factor: f32, row: &mut [f32]) {
        let mut column = columns.start;
        while column < columns.end {
            let values = self.four(stream.at([node, (column / 4) as u32, 0, 0]));
            let until = columns.end.min(column / 4 * 4 + 4);
            for at in column..until {
                row[at - columns.start] = values[at % 4] * factor;
            }
            column = until;
        }
    }

    fn four(self, words: [u32; 4]) -> [f32; 4] {
        let root3 = 3f32.sqrt();
        match self {
            Signal::Gaussian => {
                let [a, b] = gaussian_pair(words[0], words[1]);
                let [c, d] = gaussian_pair(words[2], words[3]);
                [a, b, c, d]
            }
            Signal::Uniform => words.map(|word| (2.0 * unit(word) - 1.0) * root3),
            Signal::Rademacher => words.map(|word| if word >> 31 == 0 { 1.0 } else { -1.0 }),
            Signal::Sparse => words.map(|word| match (u64::from(word) * 6) >> 32 {
                0 => root3,
                1 => -root3,
                _ => 0.0,
            }),
        }
    }
}

/// Two independent normal numbers (Box and Muller). The radius uses `1 - u`, which is never zero.
fn gaussian_pair(a: u32, b: u32) -> [f32; 2] {
    let radius = (-2.0 * (1.0 - unit(a)).ln()).sqrt();
    let (sine, cosine) = (std::f32::consts::TAU * unit(b)).sin_cos();
    [radius * cosine, radius * sine]
}

/// The step of the tape that yields `E`.
#[derive(Debug)]
pub struct Stochastic {
    /// Distribution of an entry.
    pub signal: Signal,
    /// `d`.
    pub dim: usize,
    /// Scale of an entry.
    pub scale: SignalScale,
    /// Drawn once or in every pass.
    pub refresh: Refresh,
    /// The address of each node: its number in the graph that the model was trained on.
    pub nodes: Arc<[u32]>,
}

impl Operation for Stochastic {
    fn forward(&mut self, _: Inputs<'_>, output: &mut Matrix, pass: &Pass) {
        let stream = match self.refresh {
            Refresh::Fixed => pass.seeds.stream(Purpose::Signal, &[pass.graph]),
            Refresh::Resampled => pass.stream(Purpose::Signal, 0),
        };
        self.signal.fill(stream, &self.nodes, 0..self.dim, self.scale.factor(self.dim), output);
    }

    fn backward(&mut self, _: Inputs<'_>, _: &Matrix, _: &Matrix, _: &mut Gradients<'_>) {}

    fn varies(&self) -> bool {
        self.refresh == Refresh::Resampled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeds::Seeds;

    #[test]
    fn every_signal_has_mean_zero_variance_one_and_independent_columns() {
        let nodes: Vec<u32> = (0..20_000).collect();
        for &signal in Signal::ALL {
            let e = signal.matrix(Seeds::new(4).stream(Purpose::Signal, &[0]), &nodes, 0..6, 1.0);
            for a in 0..6 {
                let mean = nodes.iter().map(|&i| e.row(i as usize)[a]).sum::<f32>() / 20_000.0;
                assert!(mean.abs() < 0.03, "{signal}: mean {mean}");
                for b in 0..=a {
                    let product = |&i: &u32| e.row(i as usize)[a] * e.row(i as usize)[b];
                    let moment = nodes.iter().map(product).sum::<f32>() / 20_000.0;
                    assert!((moment - f32::from(a == b)).abs() < 0.04, "{signal}: {a},{b}: {moment}");
                }
            }
        }
    }

    #[test]
    fn a_gaussian_signal_is_normal_in_its_tails_as_well() {
        let nodes: Vec<u32> = (0..50_000).collect();
        let e = Signal::Gaussian.matrix(Seeds::new(5).stream(Purpose::Signal, &[0]), &nodes, 0..4, 1.0);
        for (beyond, expected) in [(1.0f32, 0.317_31f32), (2.0, 0.045_50), (3.0, 0.002_70)] {
            let share = e.data().iter().filter(|x| x.abs() > beyond).count() as f32 / 200_000.0;
            let deviation = (expected * (1.0 - expected) / 200_000.0).sqrt();
            assert!((share - expected).abs() < 5.0 * deviation, "{beyond}: {share}");
        }
    }
}
