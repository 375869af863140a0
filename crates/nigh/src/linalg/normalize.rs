//! Rows of length one: `y_i = x_i / max(|x_i|, 1e-12)`, and the gradient through them.

use super::dispatch::simd;
use super::fold::{LANES, fold, fold_one, lane_products};
use super::{Matrix, for_two_row_blocks};

/// A shorter row counts as zero and is not scaled up.
const SHORTEST: f32 = 1e-12;

/// The length of a row, given the sum of its squares.
#[inline(always)]
pub(crate) fn row_length(squares: f32) -> f32 {
    squares.sqrt().max(SHORTEST)
}

/// `y_i = x_i / |x_i|`; `scales` keeps `1 / |x_i|` for the gradient.
pub(crate) fn normalize_rows(x: &Matrix, y: &mut Matrix, scales: &mut Vec<f32>) {
    let [rows, width] = x.shape();
    y.reshape(rows, width);
    scales.resize(rows, 0.0);
    for_two_row_blocks(y.data_mut(), width, scales, 1, 4 * width, |first, y, scales| {
        normalize_block(&x.data()[first * width..][..y.len()], width, y, scales);
    });
}

/// `g_i <- (g_i - <g_i, y_i> y_i) / |x_i|` for `rows` from node `first` on: the gradient through `y = x / |x|`. A zero row
/// has no direction, so its gradient is zero and not 1e12 times too large.
pub(crate) fn project_rows(y: &Matrix, scales: &[f32], first: usize, rows: &mut [f32]) {
    let width = y.cols();
    project_block(&y.data()[first * width..][..rows.len()], &scales[first..], width, rows);
}

simd! {
    fn normalize_block(x: &[f32], width: usize, y: &mut [f32], scales: &mut [f32]) {
        let blocks = x.chunks(LANES * width).zip(y.chunks_mut(LANES * width));
        for ((x, y), scales) in blocks.zip(scales.chunks_mut(LANES)) {
            let (mut parts, mut squares) = ([[0.0; LANES]; LANES], [0.0; LANES]);
            for (part, x) in parts.iter_mut().zip(x.chunks_exact(width)) {
                *part = lane_products(x, x);
            }
            fold(&parts, &mut squares);
            let mut inverse = [0.0; LANES];
            for lane in 0..LANES {
                inverse[lane] = 1.0 / row_length(squares[lane]);
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

/// `x_i <- length x_i / max(|x_i|, shortest)` for rows of this width.
pub(crate) fn scale_rows(length: f32, shortest: f32, width: usize, rows: &mut [f32]) {
    scale_block(length, shortest.max(SHORTEST), width, rows);
}

simd! {
    fn scale_block(length: f32, shortest: f32, width: usize, rows: &mut [f32]) {
        for x in rows.chunks_exact_mut(width) {
            let squares = fold_one(&std::hint::black_box(lane_products(x, x)));
            let inverse = 1.0 / squares.sqrt().max(shortest);
            for x in x {
                *x = length * (*x * inverse);
            }
        }
    }
}

simd! {
    fn project_block(y: &[f32], scales: &[f32], width: usize, rows: &mut [f32]) {
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
    use crate::linalg::dispatch::testing::assert_same_bits_at_every_level;

    #[test]
    fn the_bits_are_the_same_at_every_level() {
        for width in [1, 7, 32, 64, 95] {
            let x = Matrix::from_fn(700, width, |i, c| ((i * 31 + c * 17) % 1013) as f32 * 0.0021 - 1.0);
            assert_same_bits_at_every_level(|| {
                let (mut y, mut scales) = (Matrix::default(), Vec::new());
                normalize_rows(&x, &mut y, &mut scales);
                let mut gradient = x.clone();
                project_rows(&y, &scales, 0, gradient.data_mut());
                (y, gradient)
            });
        }
    }
}
