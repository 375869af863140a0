//! `Y = [X_1, X_2, ...] W + b` without storing the concatenation, and the concatenation itself.

use crate::linalg::dispatch::Level;
use crate::linalg::gemm::{Addend, Packed};
use crate::linalg::{Matrix, SelectedRows, column_sums, for_row_blocks, rows_of, transposed_product};
use crate::tape::{Gradients, Inputs, Operation, Pass};

/// `inputs = [X_1, ..., X_n, W]` or `[X_1, ..., X_n, W, b]`: rows of `W` belong to the columns of the branches in order.
#[derive(Debug)]
pub struct LinearMap {
    num_branches: usize,
    packed: Packed,
    scratch: Vec<f32>,
    selected: Option<SelectedRows>,
}

impl LinearMap {
    /// A linear map of `num_branches` matrices side by side.
    pub fn new(num_branches: usize) -> LinearMap {
        LinearMap { num_branches, packed: Packed::new(Level::current()), scratch: Vec::new(), selected: None }
    }
}

impl Operation for LinearMap {
    fn width(&self, inputs: &[usize]) -> usize {
        inputs[self.num_branches]
    }

    fn is_row_wise(&self) -> bool {
        true
    }

    fn can_select(&self) -> bool {
        true
    }

    fn select(&mut self, rows: Option<&[u32]>, num_rows: usize) {
        self.selected = rows.map(|rows| SelectedRows::new(rows, num_rows));
    }

    fn forward(&mut self, inputs: Inputs<'_>, output: &mut Matrix, _: &Pass) {
        let LinearMap { num_branches, ref mut packed, .. } = *self;
        let w = inputs.get(num_branches);
        let bias = (inputs.len() > num_branches + 1).then(|| inputs.get(num_branches + 1).data());
        let width = w.cols();
        output.reshape(inputs.get(0).rows(), width);
        packed.pack(w.data(), w.shape());
        for_row_blocks(output.data_mut(), width, width * w.rows(), |first, y| {
            let mut above = 0;
            let mut addend = bias.map_or(Addend::Zero, Addend::Row);
            for branch in 0..num_branches {
                let x = inputs.get(branch);
                packed.multiply(rows_of(x, first, y.len() / width), above, x.cols(), addend, y);
                above += x.cols();
                addend = Addend::Present;
            }
        });
    }

    fn backward(&mut self, inputs: Inputs<'_>, _: &Matrix, gradient: &Matrix, wanted: &mut Gradients<'_>) {
        let LinearMap { num_branches, ref mut packed, ref mut scratch, ref selected } = *self;
        let w = inputs.get(num_branches);
        let width = w.cols();
        let mut above = 0;
        for branch in 0..num_branches {
            let x = inputs.get(branch);
            let cols = x.cols();
            // dX_b = G W_b^T.
            if let Some(dx) = wanted.get(branch) {
                dx.reshape(x.rows(), cols);
                packed.pack_transposed(rows_of(w, above, cols), [cols, width]);
                for_row_blocks(dx.data_mut(), cols, width * cols, |first, dx| {
                    packed.multiply(rows_of(gradient, first, dx.len() / cols), 0, width, Addend::Zero, dx);
                });
            }
            // dW_b = X_b^T G.
            if let Some(dw) = wanted.get(num_branches) {
                dw.reshape(w.rows(), width);
                let dw = &mut dw.data_mut()[above * width..][..cols * width];
                transposed_product(x, gradient, selected.as_ref(), dw, scratch);
            }
            above += cols;
        }
        if let Some(bias) = wanted.get(num_branches + 1) {
            column_sums(gradient, selected.as_ref(), bias.data_mut(), scratch);
        }
    }
}

/// `inputs = [X_1, ..., X_n]`; the output is the inputs side by side.
#[derive(Debug)]
pub struct Concatenate;

impl Operation for Concatenate {
    fn width(&self, inputs: &[usize]) -> usize {
        inputs.iter().sum()
    }

    fn is_row_wise(&self) -> bool {
        true
    }

    fn can_select(&self) -> bool {
        true
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::check_gradients;

    #[test]
    fn gradients_agree_with_finite_differences() {
        check_gradients(&[[5, 3], [3, 4]], || LinearMap::new(1));
        check_gradients(&[[5, 3], [5, 2], [5, 4], [1, 4]], || LinearMap::new(2));
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
                pool.install(|| crate::tape::value_and_gradients(&mut LinearMap::new(1), &[x.clone(), w.clone()]))
            })
            .into();
        assert_eq!(products[0], products[1]);
        assert_eq!(products[0], products[2]);
    }
}
