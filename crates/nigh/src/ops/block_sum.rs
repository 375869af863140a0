//! Blocks of columns under learnt coefficients: `Y = Σ_k a_k X_k + b`, where the `X_k` stand side by side.

use crate::linalg::{Matrix, add_scaled, column_sums, dot, for_row_blocks, sum_over_row_blocks};
use crate::tape::{Gradients, Inputs, Operation, Pass};

/// `inputs = [X, a]` or `[X, a, b]`, with `X = [X_1, ..., X_n]` of `n` blocks of the same width, a row `a` of `n` numbers and a row `b`
/// as wide as a block; the output is `Σ_k a_k X_k + b`, as wide as a block.
#[derive(Debug)]
pub struct BlockSum {
    blocks: usize,
    scratch: Vec<f32>,
}

impl BlockSum {
    /// Of this many blocks.
    pub fn new(blocks: usize) -> BlockSum {
        BlockSum { blocks, scratch: Vec::new() }
    }
}

impl Operation for BlockSum {
    fn width(&self, inputs: &[usize]) -> usize {
        inputs[0] / self.blocks
    }

    fn is_row_wise(&self) -> bool {
        true
    }

    fn forward(&mut self, inputs: Inputs<'_>, output: &mut Matrix, _: &Pass) {
        let (x, a) = (inputs.get(0), inputs.get(1).data());
        let bias = (inputs.len() > 2).then(|| inputs.get(2).data());
        assert_eq!(a.len(), self.blocks, "a coefficient per block");
        let width = x.cols() / self.blocks;
        output.reshape(x.rows(), width);
        for_row_blocks(output.data_mut(), width, x.cols(), |first, rows| {
            for (at, y) in rows.chunks_exact_mut(width).enumerate() {
                match bias {
                    Some(bias) => y.copy_from_slice(bias),
                    None => y.fill(0.0),
                }
                for (block, &a) in x.row(first + at).chunks_exact(width).zip(a) {
                    add_scaled(y, a, block);
                }
            }
        });
    }

    fn backward(&mut self, inputs: Inputs<'_>, _: &Matrix, gradient: &Matrix, wanted: &mut Gradients<'_>) {
        let (x, a) = (inputs.get(0), inputs.get(1).data());
        let width = x.cols() / self.blocks;
        if let Some(dx) = wanted.get(0) {
            dx.reshape(x.rows(), x.cols());
            for_row_blocks(dx.data_mut(), self.blocks * width, x.cols(), |first, rows| {
                for (at, row) in rows.chunks_exact_mut(self.blocks * width).enumerate() {
                    for (block, &a) in row.chunks_exact_mut(width).zip(a) {
                        block.iter_mut().zip(gradient.row(first + at)).for_each(|(dx, g)| *dx = a * g);
                    }
                }
            });
        }
        if let Some(da) = wanted.get(1) {
            da.reshape(1, self.blocks);
            sum_over_row_blocks(x.rows(), da.data_mut(), &mut self.scratch, x.cols(), |first, count, sum| {
                for row in first..first + count {
                    for (sum, block) in sum.iter_mut().zip(x.row(row).chunks_exact(width)) {
                        *sum += dot(gradient.row(row), block);
                    }
                }
            });
        }
        if let Some(db) = wanted.get(2) {
            db.reshape(1, width);
            column_sums(gradient, None, db.data_mut(), &mut self.scratch);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::{check_gradients, value_and_gradients};

    #[test]
    fn gradients_agree_with_finite_differences() {
        check_gradients(&[[5, 6], [1, 3], [1, 2]], || BlockSum::new(3));
        check_gradients(&[[5, 8], [1, 2]], || BlockSum::new(2));
    }

    #[test]
    fn it_adds_blocks_and_not_columns() {
        let inputs = [[[1.0, 2.0, 3.0, 4.0]].as_slice(), &[[10.0, 1.0, 0.0, 0.0]]].map(Matrix::from_rows);
        let a = Matrix::from_rows(&[&inputs[1].data()[..2]]);
        let (y, _) = value_and_gradients(&mut BlockSum::new(2), &[inputs[0].clone(), a]);
        assert_eq!(y.data(), [13.0, 24.0]);
    }
}
