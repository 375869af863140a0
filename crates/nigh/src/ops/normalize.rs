//! Rows of length one: `y_i = x_i / max(|x_i|, 1e-12)`.

use crate::linalg::dispatch::simd;
use crate::linalg::fold::{LANES, fold, lane_products};
use crate::linalg::{Matrix, for_row_blocks, for_two_row_blocks};
use crate::tape::{Gradients, Inputs, Operation, Pass};

/// Below this length a row counts as zero and is not blown up.
const SHORTEST: f32 = 1e-12;

/// `inputs = [X]`.
#[derive(Debug, Default)]
pub struct NormalizeRows {
    scales: Vec<f32>,
}

impl Operation for NormalizeRows {
    fn is_row_wise(&self) -> bool {
        true
    }

    fn forward(&mut self, inputs: Inputs<'_>, output: &mut Matrix, _: &Pass) {
        normalize(inputs.get(0), output, &mut self.scales);
    }

    fn backward(&mut self, _: Inputs<'_>, output: &Matrix, gradient: &Matrix, wanted: &mut Gradients<'_>) {
        if let Some(dx) = wanted.get(0) {
            let [rows, width] = output.shape();
            dx.reshape(rows, width);
            for_row_blocks(dx.data_mut(), width, 4 * width, |first, rows| {
                rows.copy_from_slice(&gradient.data()[first * width..][..rows.len()]);
                project(output, &self.scales, first, rows);
            });
        }
    }
}

/// The length of a row, given the sum of its squares.
#[inline(always)]
pub(super) fn length(squares: f32) -> f32 {
    squares.sqrt().max(SHORTEST)
}

/// `y_i = x_i / |x_i|`; `scales` keeps `1 / |x_i|` for the gradient.
pub(crate) fn normalize(x: &Matrix, y: &mut Matrix, scales: &mut Vec<f32>) {
    let [rows, width] = x.shape();
    y.reshape(rows, width);
    scales.resize(rows, 0.0);
    for_two_row_blocks(y.data_mut(), width, scales, 1, 4 * width, |first, y, scales| {
        normalize_rows(&x.data()[first * width..][..y.len()], width, y, scales);
    });
}

/// `g_i <- (g_i - <g_i, y_i> y_i) / |x_i|` for `rows` from node `first` on: the gradient through `y = x / |x|`. A zero row
/// has no direction to improve, so it receives zero rather than a gradient of 1e12.
pub(super) fn project(y: &Matrix, scales: &[f32], first: usize, rows: &mut [f32]) {
    let width = y.cols();
    project_rows(&y.data()[first * width..][..rows.len()], &scales[first..], width, rows);
}

simd! {
    fn normalize_rows(x: &[f32], width: usize, y: &mut [f32], scales: &mut [f32]) {
        let blocks = x.chunks(LANES * width).zip(y.chunks_mut(LANES * width));
        for ((x, y), scales) in blocks.zip(scales.chunks_mut(LANES)) {
            let (mut parts, mut squares) = ([[0.0; LANES]; LANES], [0.0; LANES]);
            for (part, x) in parts.iter_mut().zip(x.chunks_exact(width)) {
                *part = lane_products(x, x);
            }
            fold(&parts, &mut squares);
            let mut inverse = [0.0; LANES];
            for lane in 0..LANES {
                inverse[lane] = 1.0 / length(squares[lane]);
            }
            for (at, (x, y)) in x.chunks_exact(width).zip(y.chunks_exact_mut(width)).enumerate() {
                scales[at] = if inverse[at] < 1.0 / SHORTEST { inverse[at] } else { 0.0 };
                for (y, x) in y.iter_mut().zip(x) {
                    *y = x * inverse[at];
                }
            }
        }
    }
}

simd! {
    fn project_rows(y: &[f32], scales: &[f32], width: usize, rows: &mut [f32]) {
        let blocks = y.chunks(LANES * width).zip(rows.chunks_mut(LANES * width));
        for ((y, g), scales) in blocks.zip(scales.chunks(LANES)) {
            let (mut parts, mut along) = ([[0.0; LANES]; LANES], [0.0; LANES]);
            for ((part, y), g) in parts.iter_mut().zip(y.chunks_exact(width)).zip(g.chunks_exact(width)) {
                *part = lane_products(g, y);
            }
            fold(&parts, &mut along);
            for (at, (y, g)) in y.chunks_exact(width).zip(g.chunks_exact_mut(width)).enumerate() {
                for (g, y) in g.iter_mut().zip(y) {
                    *g = (*g - along[at] * y) * scales[at];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::{check_gradients, value_and_gradients};

    #[test]
    fn gradients_agree_with_finite_differences() {
        check_gradients(&[[6, 5]], NormalizeRows::default);
    }

    #[test]
    fn a_zero_row_stays_zero() {
        let (y, _) =
            value_and_gradients(&mut NormalizeRows::default(), &[Matrix::from_rows(&[[0.0, 0.0], [3.0, 4.0]])]);
        assert_eq!(y.row(0), [0.0, 0.0]);
        assert!((y.row(1)[0] - 0.6).abs() < 1e-6 && (y.row(1)[1] - 0.8).abs() < 1e-6);
    }
}
