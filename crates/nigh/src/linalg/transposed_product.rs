//! `Xᵀ G` over many rows, on all threads.

use super::dispatch::Level;
use super::gemm::multiply_transposed;
use super::{Matrix, ROWS_PER_TASK, SelectedRows, WORTH_A_THREAD, for_row_blocks, rows_of};
use crate::threads;
use rayon::prelude::*;

/// `dW = Xᵀ G`: a partial sum per block of rows, added in order. A wide `dW` has fewer blocks and is instead split into strips
/// of its own rows, so that the partial sums take a few megabytes at most. The rows of `X` and `G` are all or those that were selected.
pub(crate) fn transposed_product(
    x: &Matrix,
    g: &Matrix,
    selected: Option<&SelectedRows>,
    dw: &mut [f32],
    scratch: &mut Vec<f32>,
) {
    const LARGEST_SCRATCH: usize = 1 << 20;
    const ENOUGH_TASKS: usize = 16;
    const WORTH_A_TASK: usize = 1 << 20;
    // A multiple of the rows of a tile at every level.
    const WHOLE_TILES: usize = 24;
    if dw.is_empty() {
        return;
    }
    let (num_rows, cols, width, length) = (SelectedRows::num_rows(selected, x), x.cols(), g.cols(), dw.len());
    let most_blocks = (LARGEST_SCRATCH / length).clamp(1, 64);
    let rows_per_block = (4 * ROWS_PER_TASK).max(num_rows.div_ceil(most_blocks));
    let num_blocks = num_rows.div_ceil(rows_per_block);
    let level = Level::current();
    let strip_of = |first_row: usize, first_col: usize, sum: &mut [f32]| {
        let rows = SelectedRows::place(selected, first_row, rows_per_block.min(num_rows - first_row));
        let [x, g] = [x, g].map(|matrix| rows_of(matrix, rows.start, rows.len()));
        multiply_transposed(level, x, cols, first_col, g, width, sum);
    };
    let work = x.rows() * length;
    if work < WORTH_A_THREAD {
        // Little work has few rows, or a narrow result.
        strip_of(0, 0, dw);
        for block in 1..num_blocks {
            scratch.resize(length, 0.0);
            strip_of(block * rows_per_block, 0, &mut scratch[..length]);
            dw.iter_mut().zip(&*scratch).for_each(|(sum, part)| *sum += part);
        }
        return;
    }
    let num_tasks = (work / WORTH_A_TASK).clamp(1, ENOUGH_TASKS);
    let cols_per_strip = cols.div_ceil(num_tasks.div_ceil(num_blocks)).next_multiple_of(WHOLE_TILES);
    let block_of = |block: usize, sum: &mut [f32]| {
        let strips = sum.par_chunks_mut(cols_per_strip * width).enumerate();
        strips.for_each(|(strip, sum)| {
            threads::check();
            strip_of(block * rows_per_block, strip * cols_per_strip, sum)
        });
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
