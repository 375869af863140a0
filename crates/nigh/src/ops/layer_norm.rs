//! Layer normalisation (Ba, Kiros and Hinton): rows of mean zero and variance one, then a learnt gain and bias per column.

use crate::linalg::dispatch::simd;
use crate::linalg::fold::{LANES, fold};
use crate::linalg::{
    Matrix, entries, for_column_blocks, for_two_row_blocks, rows_of, sum_over_row_blocks, write_and_sum_row_blocks,
};
use crate::tape::{Gradients, Inputs, Operation, Pass};

/// Added to the variance, so that a constant row is not divided by zero. PyTorch's value.
const EPSILON: f32 = 1e-5;

/// `inputs = [X, gain, bias]`, the last two `1 × w`; row by row the output is `gain ⊙ x̂ + bias` with
/// `x̂ = (x - mean(x)) / sqrt(var(x) + 1e-5)` and the variance over all `w` entries.
#[derive(Debug, Default)]
pub struct LayerNorm {
    /// Mean and `1 / sqrt(var + 1e-5)` of each row in the last forward pass.
    statistics: Vec<[f32; 2]>,
    /// The gradients of gain and bias, one after the other.
    sums: Vec<f32>,
    scratch: Vec<f32>,
}

impl Operation for LayerNorm {
    fn is_row_wise(&self) -> bool {
        true
    }

    fn forward(&mut self, inputs: Inputs<'_>, output: &mut Matrix, _: &Pass) {
        let (x, gain, bias) = (inputs.get(0), inputs.get(1).data(), inputs.get(2).data());
        let [rows, width] = x.shape();
        assert!(gain.len() == width && bias.len() == width, "a gain and a bias per column");
        output.reshape(rows, width);
        self.statistics.resize(rows, [0.0; 2]);
        for_two_row_blocks(output.data_mut(), width, &mut self.statistics, 1, 8 * width, |first, y, statistics| {
            normalize(rows_of(x, first, statistics.len()), gain, bias, y, statistics);
        });
    }

    fn backward(&mut self, inputs: Inputs<'_>, _: &Matrix, gradient: &Matrix, wanted: &mut Gradients<'_>) {
        let (x, gain) = (inputs.get(0), inputs.get(1).data());
        let [rows, width] = x.shape();
        let LayerNorm { statistics, sums, scratch } = self;
        // d gain = Σ_i g_i ⊙ x̂_i and d bias = Σ_i g_i, in the same pass over the rows as dx.
        sums.resize(2 * width, 0.0);
        let read = |first, count| (rows_of(x, first, count), rows_of(gradient, first, count), &statistics[first..]);
        match wanted.get(0) {
            Some(dx) => {
                dx.reshape(rows, width);
                write_and_sum_row_blocks(dx.data_mut(), width, sums, scratch, 12 * width, |first, dx, sums| {
                    let (x, g, statistics) = read(first, dx.len() / width);
                    differentiate(x, g, gain, statistics, dx, sums);
                });
            }
            None => sum_over_row_blocks(rows, sums, scratch, 4 * width, |first, count, sums| {
                let (x, g, statistics) = read(first, count);
                differentiate(x, g, gain, statistics, &mut [], sums);
            }),
        }
        for (input, sums) in [1, 2].into_iter().zip(sums.chunks(width.max(1))) {
            if let Some(gradient) = wanted.get(input) {
                gradient.reshape(1, width);
                gradient.data_mut().copy_from_slice(sums);
            }
        }
    }
}

simd! {
    fn normalize(x: &[f32], gain: &[f32], bias: &[f32], y: &mut [f32], statistics: &mut [[f32; 2]]) {
        let width = gain.len();
        let share = 1.0 / width as f32;
        let blocks = x.chunks(LANES * width).zip(y.chunks_mut(LANES * width));
        for ((x, y), statistics) in blocks.zip(statistics.chunks_mut(LANES)) {
            let (mut parts, mut sums, mut squares) = ([[0.0; LANES]; LANES], [0.0; LANES], [0.0; LANES]);
            for (part, x) in parts.iter_mut().zip(x.chunks_exact(width)) {
                *part = lane_sums(x);
            }
            fold(&parts, &mut sums);
            for ((part, x), sum) in parts.iter_mut().zip(x.chunks_exact(width)).zip(&sums) {
                *part = lane_squares(x, sum * share);
            }
            fold(&parts, &mut squares);
            let rows = x.chunks_exact(width).zip(y.chunks_exact_mut(width)).zip(statistics);
            for (at, ((x, y), statistics)) in rows.enumerate() {
                let (mean, scale) = (sums[at] * share, 1.0 / (squares[at] * share + EPSILON).sqrt());
                *statistics = [mean, scale];
                for (((y, x), gain), bias) in y.iter_mut().zip(x).zip(gain).zip(bias) {
                    *y = (x - mean) * scale * gain + bias;
                }
            }
        }
    }
}

simd! {
    /// `sums = [Σ_i g_i ⊙ x̂_i, Σ_i g_i]` and, unless it is empty, row by row
    /// `dx = (h - mean(h) - x̂ mean(h ⊙ x̂)) / sqrt(var + 1e-5)` with `h = g ⊙ gain`.
    fn differentiate(x: &[f32], g: &[f32], gain: &[f32], statistics: &[[f32; 2]], dx: &mut [f32], sums: &mut [f32]) {
        let width = gain.len();
        let (gains, biases) = sums.split_at_mut(width);
        let inputs = x.chunks(LANES * width).zip(g.chunks(LANES * width)).zip(statistics.chunks(LANES));
        for (block, ((x, g), statistics)) in inputs.enumerate() {
            for_column_blocks!(width, column => add_columns(x, g, statistics, column, gains, biases));
            if !dx.is_empty() {
                project(x, g, gain, statistics, &mut dx[LANES * width * block..][..x.len()]);
            }
        }
    }
}

/// `dx` of up to sixteen rows.
#[inline(always)]
fn project(x: &[f32], g: &[f32], gain: &[f32], statistics: &[[f32; 2]], dx: &mut [f32]) {
    let width = gain.len();
    let share = 1.0 / width as f32;
    let (mut parts, mut sums) = ([[0.0; LANES]; LANES], [0.0; LANES]);
    let (mut parts_along, mut along) = ([[0.0; LANES]; LANES], [0.0; LANES]);
    let rows = x.chunks_exact(width).zip(g.chunks_exact(width)).zip(statistics);
    for (at, (((x, g), &[mean, scale]), dx)) in rows.zip(dx.chunks_exact_mut(width)).enumerate() {
        // `dx` holds h until the sums are known.
        for ((dx, g), gain) in dx.iter_mut().zip(g).zip(gain) {
            *dx = g * gain;
        }
        parts[at] = lane_sums(dx);
        parts_along[at] = lane_centred_products(x, mean, dx, scale);
    }
    fold(&parts, &mut sums);
    fold(&parts_along, &mut along);
    let rows = x.chunks_exact(width).zip(statistics);
    for (at, ((x, &[mean, scale]), dx)) in rows.zip(dx.chunks_exact_mut(width)).enumerate() {
        let (level, slope) = (sums[at] * share, along[at] * share);
        for (dx, x) in dx.iter_mut().zip(x) {
            *dx = scale * (*dx - level - (x - mean) * scale * slope);
        }
    }
}

/// The partial sums of a row: `x_c` goes to lane `c mod 16`.
#[inline(always)]
fn lane_sums(x: &[f32]) -> [f32; LANES] {
    let mut sums = [0.0; LANES];
    let (blocks, rest) = x.as_chunks::<LANES>();
    for x in blocks {
        for lane in 0..LANES {
            sums[lane] += x[lane];
        }
    }
    for (sum, x) in sums.iter_mut().zip(rest) {
        *sum += x;
    }
    sums
}

/// Those of `(x_c - mean)²`.
#[inline(always)]
fn lane_squares(x: &[f32], mean: f32) -> [f32; LANES] {
    let mut sums = [0.0; LANES];
    let (blocks, rest) = x.as_chunks::<LANES>();
    for x in blocks {
        for lane in 0..LANES {
            let centred = x[lane] - mean;
            sums[lane] += centred * centred;
        }
    }
    for (sum, x) in sums.iter_mut().zip(rest) {
        *sum += (x - mean) * (x - mean);
    }
    sums
}

/// Those of `(x_c - mean) scale h_c`.
#[inline(always)]
fn lane_centred_products(x: &[f32], mean: f32, h: &[f32], scale: f32) -> [f32; LANES] {
    let mut sums = [0.0; LANES];
    let ((x, x_rest), (h, h_rest)) = (x.as_chunks::<LANES>(), h.as_chunks::<LANES>());
    for (x, h) in x.iter().zip(h) {
        for lane in 0..LANES {
            sums[lane] += (x[lane] - mean) * scale * h[lane];
        }
    }
    for ((sum, x), h) in sums.iter_mut().zip(x_rest).zip(h_rest) {
        *sum += (x - mean) * scale * h;
    }
    sums
}

/// `B` columns of some rows, added up in registers.
#[inline(always)]
fn add_columns<const B: usize>(
    x: &[f32],
    g: &[f32],
    statistics: &[[f32; 2]],
    column: usize,
    gains: &mut [f32],
    biases: &mut [f32],
) {
    let width = gains.len();
    let (mut gain, mut bias): ([f32; B], [f32; B]) = (*entries(gains, column), *entries(biases, column));
    for ((x, g), &[mean, scale]) in x.chunks_exact(width).zip(g.chunks_exact(width)).zip(statistics) {
        let (x, g) = (entries::<B>(x, column), entries::<B>(g, column));
        for c in 0..B {
            gain[c] += g[c] * ((x[c] - mean) * scale);
            bias[c] += g[c];
        }
    }
    gains[column..][..B].copy_from_slice(&gain);
    biases[column..][..B].copy_from_slice(&bias);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::dispatch::testing::assert_same_bits_at_every_level;
    use crate::tape::{check_gradients, value_and_gradients};

    fn inputs(rows: usize, width: usize) -> [Matrix; 3] {
        let wave = |at: usize, step: usize| ((at * step) % 1013) as f32 * 0.002 - 1.0;
        [
            Matrix::from_fn(rows, width, |i, c| wave(i * 31 + c * 17, 7)),
            Matrix::from_fn(1, width, |_, c| 1.0 + 0.3 * wave(c, 411)),
            Matrix::from_fn(1, width, |_, c| wave(c, 97)),
        ]
    }

    #[test]
    fn gradients_agree_with_finite_differences() {
        check_gradients(&[[6, 5], [1, 5], [1, 5]], LayerNorm::default);
        check_gradients(&[[18, 19], [1, 19], [1, 19]], LayerNorm::default);
    }

    #[test]
    fn it_is_the_formula_written_out_in_double_precision() {
        for (rows, width) in [(3, 1), (5, 7), (40, 64), (33, 95)] {
            let inputs = inputs(rows, width);
            let (y, _) = value_and_gradients(&mut LayerNorm::default(), &inputs);
            for i in 0..rows {
                let x: Vec<f64> = inputs[0].row(i).iter().map(|&x| f64::from(x)).collect();
                let mean = x.iter().sum::<f64>() / width as f64;
                let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / width as f64;
                for c in 0..width {
                    let [gain, bias] = [1, 2].map(|input| f64::from(inputs[input].data()[c]));
                    let expected = gain * (x[c] - mean) / (variance + 1e-5).sqrt() + bias;
                    assert!((f64::from(y.row(i)[c]) - expected).abs() < 1e-5, "{i}, {c}: {} {expected}", y.row(i)[c]);
                }
            }
        }
    }

    #[test]
    fn a_constant_row_becomes_the_bias_and_its_gradient_is_finite() {
        let [_, gain, bias] = inputs(1, 4);
        let (y, gradients) = value_and_gradients(&mut LayerNorm::default(), &[Matrix::ones(1, 4), gain, bias.clone()]);
        assert_eq!(y, bias);
        assert!(gradients[0].data().iter().all(|g| g.is_finite()));
    }

    #[test]
    fn the_bits_do_not_depend_on_threads_or_level() {
        for (rows, width) in [(3000, 47), (2500, 64)] {
            let inputs = inputs(rows, width);
            let run = || value_and_gradients(&mut LayerNorm::default(), &inputs);
            let on = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(run);
            let alone = on(1);
            assert_eq!(alone, on(2));
            assert_eq!(alone, on(4));
            assert_same_bits_at_every_level(run);
        }
    }
}
