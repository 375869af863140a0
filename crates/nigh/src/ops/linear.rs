//! `Y = [X_1, X_2, ...] W + b` without ever writing the concatenation, and the concatenation where it is the result.

use crate::linalg::dispatch::simd;
use crate::linalg::gemm::{InstructionSet, Packed, Start, multiply_transposed};
use crate::linalg::{
    Matrix, ROWS_PER_TASK, WORTH_A_THREAD, entries, for_column_blocks, for_row_blocks, sum_over_row_blocks,
};
use crate::tape::{Gradients, Inputs, Operation, Pass};
use rayon::prelude::*;

/// `inputs = [X_1, ..., X_n, W]` or with `b` behind: rows of `W` belong to the columns of the branches in order.
#[derive(Debug)]
pub struct Linear {
    num_branches: usize,
    packed: Packed,
    scratch: Vec<f32>,
}

impl Linear {
    /// A linear map of `num_branches` matrices side by side.
    pub fn new(num_branches: usize) -> Linear {
        Linear { num_branches, packed: Packed::new(InstructionSet::best()), scratch: Vec::new() }
    }
}

impl Operation for Linear {
    fn is_row_wise(&self) -> bool {
        true
    }

    fn forward(&mut self, inputs: Inputs<'_>, output: &mut Matrix, _: &Pass) {
        let Linear { num_branches, ref mut packed, .. } = *self;
        let w = inputs.get(num_branches);
        let bias = (inputs.len() > num_branches + 1).then(|| inputs.get(num_branches + 1).data());
        let width = w.cols();
        output.reshape(inputs.get(0).rows(), width);
        packed.pack(w.data(), w.shape());
        for_row_blocks(output.data_mut(), width, width * w.rows(), |first, y| {
            let mut above = 0;
            let mut start = bias.map_or(Start::Zero, Start::Row);
            for branch in 0..num_branches {
                let x = inputs.get(branch);
                packed.multiply(rows_of(x, first, y.len() / width), above, x.cols(), start, y);
                above += x.cols();
                start = Start::Present;
            }
        });
    }

    fn backward(&mut self, inputs: Inputs<'_>, _: &Matrix, gradient: &Matrix, wanted: &mut Gradients<'_>) {
        let Linear { num_branches, ref mut packed, ref mut scratch } = *self;
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
                    packed.multiply(rows_of(gradient, first, dx.len() / cols), 0, width, Start::Zero, dx);
                });
            }
            // dW_b = X_b^T G.
            if let Some(dw) = wanted.get(num_branches) {
                dw.reshape(w.rows(), width);
                sum_of_outer_products(x, gradient, &mut dw.data_mut()[above * width..][..cols * width], scratch);
            }
            above += cols;
        }
        if let Some(bias) = wanted.get(num_branches + 1) {
            column_sums(gradient, bias.data_mut(), scratch);
        }
    }
}

/// `dW = X^T G`: blocks of rows apart, then their sums in order. A wide `dW` has fewer blocks, and instead is cut into
/// strips of its own rows, so that partial sums stay within a few megabytes.
fn sum_of_outer_products(x: &Matrix, g: &Matrix, dw: &mut [f32], scratch: &mut Vec<f32>) {
    const LARGEST_SCRATCH: usize = 1 << 20;
    const ENOUGH_TASKS: usize = 16;
    const WORTH_A_TASK: usize = 1 << 20;
    // Every instruction set fills its tiles with this many rows of the result.
    const WHOLE_TILES: usize = 24;
    if dw.is_empty() {
        return;
    }
    let (num_rows, cols, width, length) = (x.rows(), x.cols(), g.cols(), dw.len());
    let most_blocks = (LARGEST_SCRATCH / length).clamp(1, 64);
    let rows_per_block = (4 * ROWS_PER_TASK).max(num_rows.div_ceil(most_blocks));
    let num_blocks = num_rows.div_ceil(rows_per_block);
    let set = InstructionSet::best();
    let strip_of = |first_row: usize, first_col: usize, sum: &mut [f32]| {
        let count = rows_per_block.min(num_rows - first_row);
        multiply_transposed(
            set,
            rows_of(x, first_row, count),
            cols,
            first_col,
            rows_of(g, first_row, count),
            width,
            sum,
        );
    };
    if num_rows * length < WORTH_A_THREAD {
        // Little work has few rows, or a narrow result.
        strip_of(0, 0, dw);
        for block in 1..num_blocks {
            scratch.resize(length, 0.0);
            strip_of(block * rows_per_block, 0, &mut scratch[..length]);
            dw.iter_mut().zip(&*scratch).for_each(|(sum, part)| *sum += part);
        }
        return;
    }
    let num_tasks = (num_rows * length / WORTH_A_TASK).clamp(1, ENOUGH_TASKS);
    let cols_per_strip = cols.div_ceil(num_tasks.div_ceil(num_blocks)).next_multiple_of(WHOLE_TILES);
    let block_of = |block: usize, sum: &mut [f32]| {
        let strips = sum.par_chunks_mut(cols_per_strip * width).enumerate();
        strips.for_each(|(strip, sum)| strip_of(block * rows_per_block, strip * cols_per_strip, sum));
    };
    if num_blocks == 1 {
        return block_of(0, dw);
    }
    scratch.resize(num_blocks * length, 0.0);
    scratch.par_chunks_exact_mut(length).enumerate().for_each(|(block, sum)| block_of(block, sum));
    for_row_blocks(dw, 1, num_blocks, |first, sums| {
        sums.copy_from_slice(&scratch[first..][..sums.len()]);
        for part in scratch.chunks_exact(length).skip(1) {
            sums.iter_mut().zip(&part[first..]).for_each(|(sum, part)| *sum += part);
        }
    });
}

/// `inputs = [X_1, ..., X_n]`; the output is them side by side.
#[derive(Debug)]
pub struct Concatenate;

impl Operation for Concatenate {
    fn is_row_wise(&self) -> bool {
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

/// `sums[c] = Σ_i g_ic`.
pub(crate) fn column_sums(gradient: &Matrix, sums: &mut [f32], scratch: &mut Vec<f32>) {
    sum_over_row_blocks(gradient.rows(), sums, scratch, gradient.cols(), |first, count, sum| {
        sum_rows(rows_of(gradient, first, count), sum);
    });
}

simd! {
    fn sum_rows(rows: &[f32], sum: &mut [f32]) {
        for_column_blocks!(sum.len(), column => add_columns(rows, column, sum));
    }
}

/// `B` columns of all rows, added up in registers.
#[inline(always)]
fn add_columns<const B: usize>(rows: &[f32], column: usize, sum: &mut [f32]) {
    let mut total = [0.0; B];
    for row in rows.chunks_exact(sum.len()) {
        let row = entries::<B>(row, column);
        for c in 0..B {
            total[c] += row[c];
        }
    }
    sum[column..][..B].copy_from_slice(&total);
}

/// Rows `first..first + count` of `x`.
fn rows_of(x: &Matrix, first: usize, count: usize) -> &[f32] {
    &x.data()[first * x.cols()..][..count * x.cols()]
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
