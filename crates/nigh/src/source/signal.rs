//! The stochastic matrix `E`: every entry a pure function of (seed, node, column), so that any part of it can be
//! computed anywhere, in any order.

use crate::linalg::Matrix;
use crate::linalg::dispatch::simd;
use crate::names::named;
use crate::seeds::{Stream, unit};
use crate::threads;
use rayon::prelude::*;
use std::ops::Range;

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
        /// Drawn once: the model may memorise the signal of each node.
        Fixed = "fixed",
        /// Drawn in every pass: the model can only use proximities, and applies to nodes that it has never seen.
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

    /// As `matrix`, into storage that exists already.
    pub fn fill(self, stream: Stream, nodes: &[u32], columns: Range<usize>, factor: f32, e: &mut Matrix) {
        e.reshape(nodes.len(), columns.len());
        if columns.is_empty() {
            return;
        }
        const ROWS: usize = 256;
        e.data_mut().par_chunks_mut(ROWS * columns.len()).zip(nodes.par_chunks(ROWS)).for_each(|(rows, nodes)| {
            threads::check();
            fill_rows(self, stream, nodes, columns.clone(), factor, rows);
        });
    }
}

/// Positions of the stream that are computed at once.
const LANES: usize = 16;

simd! {
    /// A position holds four columns of a node; those of several nodes are computed at once.
    fn fill_rows(signal: Signal, stream: Stream, nodes: &[u32], columns: Range<usize>, factor: f32, rows: &mut [f32]) {
        let width = columns.len();
        let (first, last) = (columns.start / 4, columns.end.div_ceil(4));
        let total = nodes.len() * (last - first);
        let (mut row, mut position) = (0, first);
        let mut done = 0;
        while done < total {
            let count = LANES.min(total - done);
            let (mut of_rows, mut addresses, mut positions) = ([0; LANES], [0; LANES], [0; LANES]);
            for lane in 0..count {
                (of_rows[lane], addresses[lane], positions[lane]) = (row, nodes[row], position as u32);
                position += 1;
                if position == last {
                    (row, position) = (row + 1, first);
                }
            }
            let mut values = entries_at(signal, &stream.at_each(&addresses, &positions, &[0; LANES]));
            for value in &mut values {
                *value *= factor;
            }
            if columns.start.is_multiple_of(4) && width.is_multiple_of(4) {
                // Whole positions at both ends: they are consecutive in memory as well.
                rows[4 * done..][..4 * count].copy_from_slice(&values[..4 * count]);
            } else {
                for lane in 0..count {
                    let at = 4 * positions[lane] as usize;
                    let (from, until) = (columns.start.max(at), columns.end.min(at + 4));
                    let row = &mut rows[of_rows[lane] * width..][from - columns.start..until - columns.start];
                    row.copy_from_slice(&values[4 * lane + from - at..4 * lane + until - at]);
                }
            }
            done += count;
        }
    }
}

/// The four entries of each position, one position after the other.
#[inline(always)]
fn entries_at(signal: Signal, words: &[[u32; LANES]; 4]) -> [f32; 4 * LANES] {
    let root3 = 3f32.sqrt();
    let mut values = [[0.0; LANES]; 4];
    match signal {
        Signal::Gaussian => {
            let (first, second) = values.split_at_mut(2);
            gaussian_pairs(&words[0], &words[1], first);
            gaussian_pairs(&words[2], &words[3], second);
        }
        Signal::Uniform => {
            for word in 0..4 {
                for lane in 0..LANES {
                    values[word][lane] = (2.0 * unit(words[word][lane]) - 1.0) * root3;
                }
            }
        }
        Signal::Rademacher => {
            for word in 0..4 {
                for lane in 0..LANES {
                    values[word][lane] = if words[word][lane] >> 31 == 0 { 1.0 } else { -1.0 };
                }
            }
        }
        Signal::Sparse => {
            for word in 0..4 {
                for lane in 0..LANES {
                    let sixth = (u64::from(words[word][lane]) * 6) >> 32;
                    values[word][lane] = if sixth > 1 { 0.0 } else { root3 - 2.0 * root3 * sixth as f32 };
                }
            }
        }
    }
    // In pairs, as the halves of a 64-bit number: a form that the compiler vectorises.
    let pair = |a: f32, b: f32| u64::from(a.to_bits()) | u64::from(b.to_bits()) << 32;
    let mut pairs = [0; 2 * LANES];
    for lane in 0..LANES {
        pairs[2 * lane] = pair(values[0][lane], values[1][lane]);
        pairs[2 * lane + 1] = pair(values[2][lane], values[3][lane]);
    }
    let mut entries = [0.0; 4 * LANES];
    for (entry, pair) in entries.as_chunks_mut::<2>().0.iter_mut().zip(pairs) {
        *entry = [f32::from_bits(pair as u32), f32::from_bits((pair >> 32) as u32)];
    }
    entries
}

/// Two independent normal numbers per lane (Box and Muller). The radius uses `1 - u`, which is never zero.
#[inline(always)]
fn gaussian_pairs(a: &[u32; LANES], b: &[u32; LANES], values: &mut [[f32; LANES]]) {
    for lane in 0..LANES {
        let radius = (-2.0 * ln(1.0 - unit(a[lane]))).sqrt();
        let (sine, cosine) = sin_cos_of_turn(unit(b[lane]));
        (values[0][lane], values[1][lane]) = (radius * cosine, radius * sine);
    }
}

/// `ln x` of a positive normal number: `e ln 2 + 2 artanh((m - 1) / (m + 1))` for `x = 2^e m`, `m` near one. In arithmetic
/// that the compiler can vectorise, like the next function.
#[inline(always)]
fn ln(x: f32) -> f32 {
    // So that the mantissa is from sqrt(1/2) to sqrt(2).
    let shifted = x.to_bits().wrapping_sub(std::f32::consts::FRAC_1_SQRT_2.to_bits());
    let exponent = (shifted as i32) >> 23;
    let mantissa = f32::from_bits(x.to_bits().wrapping_sub((exponent << 23) as u32));
    let z = (mantissa - 1.0) / (mantissa + 1.0);
    let s = z * z;
    let series = s * (1.0 / 3.0 + s * (1.0 / 5.0 + s * (1.0 / 7.0 + s * (1.0 / 9.0))));
    exponent as f32 * std::f32::consts::LN_2 + 2.0 * (z + z * series)
}

/// Sine and cosine of a share of the full turn, from 0 to 1.
#[inline(always)]
fn sin_cos_of_turn(share: f32) -> (f32, f32) {
    // The nearest quarter turn, and the angle from there. The addition rounds the fraction away and leaves the
    // integer in the lowest bits.
    const ROUND: f32 = 8_388_608.0;
    let rounded = 4.0 * share + ROUND;
    let quarter = rounded.to_bits();
    let x = std::f32::consts::TAU * (share - 0.25 * (rounded - ROUND));
    let s = x * x;
    let sine = x * (1.0 + s * (-1.0 / 6.0 + s * (1.0 / 120.0 + s * (-1.0 / 5040.0 + s * (1.0 / 362_880.0)))));
    let cosine = 1.0 + s * (-0.5 + s * (1.0 / 24.0 + s * (-1.0 / 720.0 + s * (1.0 / 40_320.0))));
    let (along, across) = if quarter & 1 == 0 { (cosine, sine) } else { (sine, cosine) };
    let sine_sign = if quarter & 2 == 0 { 1.0 } else { -1.0 };
    let cosine_sign = if quarter.wrapping_add(1) & 2 == 0 { 1.0 } else { -1.0 };
    (sine_sign * across, cosine_sign * along)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::dispatch::testing::assert_same_bits_at_every_level;
    use crate::seeds::{Purpose, Seeds};

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
    fn logarithm_sine_and_cosine_are_those_of_the_library() {
        for step in 0..=1 << 16 {
            let share = step as f32 / 65_536.0;
            let (x, exact) = (1.0 - share, f64::from(1.0 - share).ln());
            assert!(x == 0.0 || (f64::from(ln(x)) - exact).abs() <= 3e-7 * exact.abs().max(1e-3), "ln {x}: {}", ln(x));
            let (sine, cosine) = sin_cos_of_turn(share);
            let (exact_sine, exact_cosine) = (std::f64::consts::TAU * f64::from(share)).sin_cos();
            assert!((f64::from(sine) - exact_sine).abs() < 2e-7, "sine of {share} turns: {sine}");
            assert!((f64::from(cosine) - exact_cosine).abs() < 2e-7, "cosine of {share} turns: {cosine}");
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

    #[test]
    fn the_bits_are_the_same_at_every_level() {
        let nodes: Vec<u32> = (0..700).collect();
        for &signal in Signal::ALL {
            for columns in [0..32, 3..10] {
                let stream = Seeds::new(4).stream(Purpose::Signal, &[0]);
                assert_same_bits_at_every_level(|| signal.matrix(stream, &nodes, columns.clone(), 0.25));
            }
        }
    }

    #[test]
    fn a_wide_signal_is_scaled_so_that_its_rows_have_length_one_on_average() {
        assert_eq!((SignalScale::InverseSqrt.factor(16), SignalScale::Unit.factor(16)), (0.25, 1.0));
        let stream = Seeds::new(1).stream(Purpose::Signal, &[0]);
        let e = Signal::Gaussian.matrix(stream, &[0, 1, 2, 3], 0..1024, SignalScale::InverseSqrt.factor(1024));
        let squares: f32 = e.data().iter().map(|x| x * x).sum();
        assert!((squares / 4.0 - 1.0).abs() < 0.1, "{squares}");
    }
}
