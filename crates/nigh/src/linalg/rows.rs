//! Work on the rows of a matrix, in blocks of a fixed size.

use super::dispatch::simd;
use super::{Matrix, entries, for_column_blocks};
use crate::threads;
use rayon::prelude::*;
use std::ops::Range;

/// Rows of one task. Fixed, so that the order of a sum does not depend on the number of threads.
pub(crate) const ROWS_PER_TASK: usize = 256;

/// Below this many multiplications, a second thread costs more time than it saves.
pub(crate) const WORTH_A_THREAD: usize = 1 << 16;

/// Calls `body(first row, rows)` for consecutive blocks of `data`, in parallel when the work is worth it.
pub(crate) fn for_row_blocks(
    data: &mut [f32],
    width: usize,
    cost_per_row: usize,
    body: impl Fn(usize, &mut [f32]) + Sync,
) {
    if width == 0 || data.is_empty() {
        return;
    }
    if data.len() / width * cost_per_row < WORTH_A_THREAD {
        return body(0, data);
    }
    data.par_chunks_mut(ROWS_PER_TASK * width).enumerate().for_each(|(block, rows)| {
        threads::check();
        body(block * ROWS_PER_TASK, rows)
    });
}

/// As `for_row_blocks`, over the same rows of two arrays.
pub(crate) fn for_two_row_blocks<A: Send, B: Send>(
    a: &mut [A],
    a_width: usize,
    b: &mut [B],
    b_width: usize,
    cost_per_row: usize,
    body: impl Fn(usize, &mut [A], &mut [B]) + Sync,
) {
    if a_width == 0 || b_width == 0 || a.is_empty() {
        return;
    }
    if a.len() / a_width * cost_per_row < WORTH_A_THREAD {
        return body(0, a, b);
    }
    let blocks = a.par_chunks_mut(ROWS_PER_TASK * a_width).zip(b.par_chunks_mut(ROWS_PER_TASK * b_width));
    blocks.enumerate().for_each(|(block, (a, b))| {
        threads::check();
        body(block * ROWS_PER_TASK, a, b)
    });
}

/// Some rows of a matrix, which stand in the place of all: the others are zero. Sums over them have the order, and so the bits, of sums
/// over all rows.
#[derive(Debug)]
pub(crate) struct SelectedRows {
    numbers: Vec<u32>,
    of: usize,
}

impl SelectedRows {
    /// The rows of these numbers, which ascend, of so many.
    pub fn new(numbers: &[u32], of: usize) -> SelectedRows {
        assert!(numbers.is_sorted_by(|a, b| a < b), "numbers of rows ascend");
        SelectedRows { numbers: numbers.to_vec(), of }
    }

    /// Their numbers.
    pub fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// The number of all rows, if those of `x` are all or these.
    pub fn num_rows(selected: Option<&SelectedRows>, x: &Matrix) -> usize {
        selected.map_or(x.rows(), |selected| selected.of)
    }

    /// Where the rows are that stand for rows `first..first + count` of all.
    pub fn place(selected: Option<&SelectedRows>, first: usize, count: usize) -> Range<usize> {
        let Some(SelectedRows { numbers, .. }) = selected else { return first..first + count };
        let place = |row: usize| numbers.partition_point(|&number| (number as usize) < row);
        place(first)..place(first + count)
    }
}

/// Sums each block of rows, then adds the partial sums in order: `total = Σ_block partial(block)`.
///
/// `partial` adds the contribution of rows `first..first + count` to a zeroed slice as long as `total`.
pub(crate) fn sum_over_row_blocks(
    num_rows: usize,
    total: &mut [f32],
    scratch: &mut Vec<f32>,
    cost_per_row: usize,
    partial: impl Fn(usize, usize, &mut [f32]) + Sync,
) {
    let rows_per_block = rows_per_sum(num_rows);
    total.fill(0.0);
    let num_blocks = num_rows.div_ceil(rows_per_block);
    if num_blocks == 0 || total.is_empty() {
        return;
    }
    scratch.clear();
    scratch.resize(num_blocks * total.len(), 0.0);
    let run = |(block, sum): (usize, &mut [f32])| {
        threads::check();
        let first = block * rows_per_block;
        partial(first, rows_per_block.min(num_rows - first), sum);
    };
    if num_rows * cost_per_row < WORTH_A_THREAD {
        scratch.chunks_mut(total.len()).enumerate().for_each(run);
    } else {
        scratch.par_chunks_mut(total.len()).enumerate().for_each(run);
    }
    for sum in scratch.chunks(total.len()) {
        total.iter_mut().zip(sum).for_each(|(total, part)| *total += part);
    }
}

/// As `sum_over_row_blocks`, where `partial` also writes the rows of `data`: one pass over what both read.
pub(crate) fn write_and_sum_row_blocks(
    data: &mut [f32],
    width: usize,
    total: &mut [f32],
    scratch: &mut Vec<f32>,
    cost_per_row: usize,
    partial: impl Fn(usize, &mut [f32], &mut [f32]) + Sync,
) {
    total.fill(0.0);
    if data.is_empty() || total.is_empty() {
        return;
    }
    let num_rows = data.len() / width;
    let rows_per_block = rows_per_sum(num_rows);
    scratch.clear();
    scratch.resize(num_rows.div_ceil(rows_per_block) * total.len(), 0.0);
    let run = |(block, (rows, sum)): (usize, (&mut [f32], &mut [f32]))| {
        threads::check();
        partial(block * rows_per_block, rows, sum)
    };
    if num_rows * cost_per_row < WORTH_A_THREAD {
        data.chunks_mut(rows_per_block * width).zip(scratch.chunks_mut(total.len())).enumerate().for_each(run);
    } else {
        let sums = scratch.par_chunks_mut(total.len());
        data.par_chunks_mut(rows_per_block * width).zip(sums).enumerate().for_each(run);
    }
    for sum in scratch.chunks(total.len()) {
        total.iter_mut().zip(sum).for_each(|(total, part)| *total += part);
    }
}

/// Rows of a partial sum: at most 64 of these sums, whatever the number of rows.
fn rows_per_sum(num_rows: usize) -> usize {
    (4 * ROWS_PER_TASK).max(num_rows.div_ceil(64))
}

/// `sums[c] = Σ_i g_ic`, where the rows are all or those that were selected.
pub(crate) fn column_sums(
    gradient: &Matrix,
    selected: Option<&SelectedRows>,
    sums: &mut [f32],
    scratch: &mut Vec<f32>,
) {
    let num_rows = SelectedRows::num_rows(selected, gradient);
    sum_over_row_blocks(num_rows, sums, scratch, gradient.cols(), |first, count, sum| {
        let rows = SelectedRows::place(selected, first, count);
        sum_rows(rows_of(gradient, rows.start, rows.len()), sum);
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
pub(crate) fn rows_of(x: &Matrix, first: usize, count: usize) -> &[f32] {
    &x.data()[first * x.cols()..][..count * x.cols()]
}

/// Rows `ids` of a table; an id beyond it has a row of zeros.
pub(crate) fn look_up(table: &Matrix, ids: &[u32]) -> Matrix {
    let mut rows = Matrix::default();
    look_up_into(table, ids, &mut rows);
    rows
}

/// As `look_up`, into storage that exists already.
pub(crate) fn look_up_into(table: &Matrix, ids: &[u32], output: &mut Matrix) {
    let width = table.cols();
    output.reshape(ids.len(), width);
    for_row_blocks(output.data_mut(), width, width, |first, rows| {
        for (at, row) in rows.chunks_exact_mut(width).enumerate() {
            match ids[first + at] as usize {
                id if id < table.rows() => row.copy_from_slice(table.row(id)),
                _ => row.fill(0.0),
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::dispatch::testing::assert_same_bits_at_every_level;

    #[test]
    fn column_sums_have_the_same_bits_at_every_level() {
        for width in [1, 7, 64, 95] {
            let x = Matrix::from_fn(3000, width, |i, c| ((i * 31 + c * 17) % 1013) as f32 * 0.0021 - 1.0);
            assert_same_bits_at_every_level(|| {
                let mut sums = vec![0.0; width];
                column_sums(&x, None, &mut sums, &mut Vec::new());
                sums
            });
        }
    }
}
