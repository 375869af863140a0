//! `Y = [X_1, X_2, ...] W + b` without ever writing the concatenation, and the concatenation where it is the result.

use super::{Matrix, for_row_blocks, sum_over_row_blocks};
use crate::tape::{Gradients, Inputs, Operation, Pass};
use faer::{Accum, MatMut, MatRef, Par};

/// `inputs = [X_1, ..., X_n, W]` or with `b` behind: rows of `W` belong to the columns of the branches in order.
#[derive(Debug)]
pub struct Linear {
    num_branches: usize,
    scratch: Vec<f32>,
}

impl Linear {
    /// A linear map of `num_branches` matrices side by side.
    pub fn new(num_branches: usize) -> Linear {
        Linear { num_branches, scratch: Vec::new() }
    }
}

impl Operation for Linear {
    fn forward(&mut self, inputs: Inputs<'_>, output: &mut Matrix, _: &Pass) {
        let w = inputs.get(self.num_branches);
        let bias = (inputs.len() > self.num_branches + 1).then(|| inputs.get(self.num_branches + 1).data());
        let width = w.cols();
        output.reshape(inputs.get(0).rows(), width);
        for_row_blocks(output.data_mut(), width, width * w.rows(), |first, rows| {
            match bias {
                Some(bias) => rows.chunks_exact_mut(width).for_each(|row| row.copy_from_slice(bias)),
                None => rows.fill(0.0),
            }
            let count = rows.len() / width;
            let mut y = MatMut::from_row_major_slice_mut(rows, count, width);
            let mut above = 0;
            for branch in 0..self.num_branches {
                let x = inputs.get(branch);
                let part = rows_of(w, above, x.cols());
                multiply(y.as_mut(), rows_of(x, first, count), part);
                above += x.cols();
            }
        });
    }

    fn backward(&mut self, inputs: Inputs<'_>, _: &Matrix, gradient: &Matrix, wanted: &mut Gradients<'_>) {
        let w = inputs.get(self.num_branches);
        let width = w.cols();
        let mut above = 0;
        for branch in 0..self.num_branches {
            let x = inputs.get(branch);
            let cols = x.cols();
            // dX_b = G W_b^T.
            if let Some(dx) = wanted.get(branch) {
                dx.reshape(x.rows(), cols);
                let part = rows_of(w, above, cols);
                for_row_blocks(dx.data_mut(), cols, width * cols, |first, rows| {
                    rows.fill(0.0);
                    let count = rows.len() / cols;
                    let dx = MatMut::from_row_major_slice_mut(rows, count, cols);
                    multiply(dx, rows_of(gradient, first, count), part.transpose());
                });
            }
            // dW_b = X_b^T G, block of rows by block of rows.
            if let Some(dw) = wanted.get(self.num_branches) {
                dw.reshape(w.rows(), width);
                let part = &mut dw.data_mut()[above * width..][..cols * width];
                sum_over_row_blocks(x.rows(), part, &mut self.scratch, width * cols, |first, count, sum| {
                    let sum = MatMut::from_row_major_slice_mut(sum, cols, width);
                    multiply(sum, rows_of(x, first, count).transpose(), rows_of(gradient, first, count));
                });
            }
            above += cols;
        }
        if let Some(bias) = wanted.get(self.num_branches + 1) {
            column_sums(gradient, bias.data_mut(), &mut self.scratch);
        }
    }
}

/// `inputs = [X_1, ..., X_n]`; the output is them side by side.
#[derive(Debug)]
pub struct Concatenate;

impl Operation for Concatenate {
    fn forward(&mut self, inputs: Inputs<'_>, output: &mut Matrix, _: &Pass) {
        let width = (0..inputs.len()).map(|branch| inputs.get(branch).cols()).sum();
        output.reshape(inputs.get(0).rows(), width);
        for row in 0..output.rows() {
            let mut left = 0;
            for branch in 0..inputs.len() {
                let x = inputs.get(branch).row(row);
                output.row_mut(row)[left..][..x.len()].copy_from_slice(x);
                left += x.len();
            }
        }
    }

    fn backward(&mut self, inputs: Inputs<'_>, _: &Matrix, gradient: &Matrix, wanted: &mut Gradients<'_>) {
        let mut left = 0;
        for branch in 0..inputs.len() {
            let [rows, cols] = inputs.get(branch).shape();
            if let Some(dx) = wanted.get(branch) {
                dx.reshape(rows, cols);
                (0..rows).for_each(|row| dx.row_mut(row).copy_from_slice(&gradient.row(row)[left..][..cols]));
            }
            left += cols;
        }
    }
}

/// `sums[c] = Σ_i g_ic`.
pub(crate) fn column_sums(gradient: &Matrix, sums: &mut [f32], scratch: &mut Vec<f32>) {
    let width = gradient.cols();
    sum_over_row_blocks(gradient.rows(), sums, scratch, width, |first, count, sum| {
        for row in gradient.data()[first * width..][..count * width].chunks_exact(width) {
            sum.iter_mut().zip(row).for_each(|(sum, g)| *sum += g);
        }
    });
}

/// `y += a b`, on the calling thread.
fn multiply(y: MatMut<'_, f32>, a: MatRef<'_, f32>, b: MatRef<'_, f32>) {
    faer::linalg::matmul::matmul(y, Accum::Add, a, b, 1.0, Par::Seq);
}

/// Rows `first..first + count` of `x`.
fn rows_of(x: &Matrix, first: usize, count: usize) -> MatRef<'_, f32> {
    MatRef::from_row_major_slice(&x.data()[first * x.cols()..][..count * x.cols()], count, x.cols())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::check_gradients;

    #[test]
    fn gradients_agree_with_finite_differences() {
        check_gradients(&[[5, 3], [3, 4]], || Linear::new(1));
        check_gradients(&[[5, 3], [5, 2], [5, 4], [1, 4]], || Linear::new(2));
        check_gradients(&[[4, 3], [4, 2]], || Concatenate);
    }

    #[test]
    fn large_sums_do_not_depend_on_the_threads() {
        // More rows than a block, more work than the threshold: this is the parallel path.
        let x = Matrix::from_fn(3000, 40, |i, c| ((i * 7 + c * 13) % 101) as f32 * 0.01 - 0.5);
        let w = Matrix::from_fn(40, 24, |i, c| ((i * 5 + c * 3) % 17) as f32 * 0.1 - 0.8);
        let products: Vec<_> = [1, 2, 4]
            .map(|threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| crate::tape::value_and_gradients(&mut Linear::new(1), &[x.clone(), w.clone()]))
            })
            .into();
        assert_eq!(products[0], products[1]);
        assert_eq!(products[0], products[2]);
    }
}
