//! Rows of length one: `y_i = x_i / max(|x_i|, 1e-12)`.

use super::dispatch::simd;
use super::{Matrix, add_scaled, dot, for_row_blocks};
use crate::tape::{Gradients, Inputs, Operation, Pass};

/// Below this length a row counts as zero and is not blown up.
const SHORTEST: f32 = 1e-12;

/// `inputs = [X]`.
#[derive(Debug)]
pub struct NormalizeRows;

impl Operation for NormalizeRows {
    fn forward(&mut self, inputs: Inputs<'_>, output: &mut Matrix, _: &Pass) {
        normalize(inputs.get(0), output);
    }

    fn backward(&mut self, inputs: Inputs<'_>, output: &Matrix, gradient: &Matrix, wanted: &mut Gradients<'_>) {
        if let Some(dx) = wanted.get(0) {
            let (x, width) = (inputs.get(0), output.cols());
            dx.copy_from(gradient);
            for_row_blocks(dx.data_mut(), width, 4 * width, |first, rows| {
                project_rows(x.data(), output.data(), width, first, rows);
            });
        }
    }
}

/// `y_i = x_i / |x_i|`.
pub(crate) fn normalize(x: &Matrix, y: &mut Matrix) {
    y.copy_from(x);
    let width = x.cols();
    for_row_blocks(y.data_mut(), width, 2 * width, |_, rows| normalize_rows(width, rows));
}

simd! {
    fn normalize_rows(width: usize, rows: &mut [f32]) {
        for row in rows.chunks_exact_mut(width) {
            let scale = 1.0 / dot(row, row).sqrt().max(SHORTEST);
            for value in row {
                *value *= scale;
            }
        }
    }
}

simd! {
    fn project_rows(x: &[f32], y: &[f32], width: usize, first: usize, rows: &mut [f32]) {
        for (at, g) in rows.chunks_exact_mut(width).enumerate() {
            let here = (first + at) * width;
            project(&x[here..][..width], &y[here..][..width], g);
        }
    }
}

/// `g <- (g - <g, y> y) / |x|`: the gradient through `y = x / |x|`. A zero row has no direction to improve, so it
/// receives zero rather than a gradient of 1e12.
#[inline(always)]
pub(crate) fn project(x: &[f32], y: &[f32], g: &mut [f32]) {
    let length = dot(x, x).sqrt();
    if length <= SHORTEST {
        return g.fill(0.0);
    }
    let along = dot(g, y);
    add_scaled(g, -along, y);
    let scale = 1.0 / length;
    for value in g {
        *value *= scale;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::{check_gradients, value_and_gradients};

    #[test]
    fn gradients_agree_with_finite_differences() {
        check_gradients(&[[6, 5]], || NormalizeRows);
    }

    #[test]
    fn a_zero_row_stays_zero() {
        let (y, _) = value_and_gradients(&mut NormalizeRows, &[Matrix::from_rows(&[[0.0, 0.0], [3.0, 4.0]])]);
        assert_eq!(y.row(0), [0.0, 0.0]);
        assert!((y.row(1)[0] - 0.6).abs() < 1e-6 && (y.row(1)[1] - 0.8).abs() < 1e-6);
    }
}
