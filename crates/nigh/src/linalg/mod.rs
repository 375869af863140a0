//! Matrices and plain functions on slices. Every sum has one order, fixed by the shapes alone, so results have the same
//! bits on any number of threads.

// Lanes are counted: an iterator with a closure would be compiled apart, without the vectors of its caller.
#![allow(clippy::needless_range_loop)]

pub(crate) mod dispatch;
pub(crate) mod fold;
pub(crate) mod gemm;
pub mod half;
pub mod incidence;
pub(crate) mod logistic;
mod matrix;
pub mod pages;
pub mod sort;
pub(crate) mod sparse;

pub use matrix::Matrix;
pub use sparse::SparseMatrix;

use rayon::prelude::*;

/// Rows that one task works on. Fixed, because the number of threads must not decide where a sum is cut.
pub(crate) const ROWS_PER_TASK: usize = 256;

/// Bytes that a core keeps in its own cache: rows of anything larger are prefetched.
pub(crate) const CACHED_BYTES: usize = 1 << 18;

/// Below this many multiplications, waking a second thread costs more than it saves.
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
    data.par_chunks_mut(ROWS_PER_TASK * width).enumerate().for_each(|(block, rows)| body(block * ROWS_PER_TASK, rows));
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
    blocks.enumerate().for_each(|(block, (a, b))| body(block * ROWS_PER_TASK, a, b));
}

/// Sums blocks of rows apart and then the partial sums in order: `total = Σ_block partial(block)`.
///
/// `partial` adds the contribution of rows `first..first + count` to a zeroed slice as long as `total`.
pub(crate) fn sum_over_row_blocks(
    num_rows: usize,
    total: &mut [f32],
    scratch: &mut Vec<f32>,
    cost_per_row: usize,
    partial: impl Fn(usize, usize, &mut [f32]) + Sync,
) {
    // At most 64 partial sums, whatever the number of rows.
    let rows_per_block = (4 * ROWS_PER_TASK).max(num_rows.div_ceil(64));
    total.fill(0.0);
    let num_blocks = num_rows.div_ceil(rows_per_block);
    if num_blocks == 0 || total.is_empty() {
        return;
    }
    scratch.clear();
    scratch.resize(num_blocks * total.len(), 0.0);
    let run = |(block, sum): (usize, &mut [f32])| {
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

/// `<a, b>` in sixteen interleaved partial sums: the compiler can use vectors, and the order stays the same.
#[inline(always)]
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = fold::LANES;
    let mut sums = [0f32; LANES];
    let (a_blocks, a_rest) = a.as_chunks::<LANES>();
    let (b_blocks, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a_blocks.iter().zip(b_blocks) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    // Otherwise the compiler lays the loop out for the sum below it, two lanes wide.
    let sum = fold::fold_one(&std::hint::black_box(sums));
    a_rest.iter().zip(b_rest).fold(sum, |sum, (a, b)| sum + a * b)
}

/// `y += scale * x`.
#[inline(always)]
pub(crate) fn add_scaled(y: &mut [f32], scale: f32, x: &[f32]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += scale * x;
    }
}

/// Calls `$block::<B>(column)` for consecutive blocks of `B` columns that together are `$width` wide: as many as fit into
/// registers at a time, so that a sum over rows is written once.
macro_rules! for_column_blocks {
    ($width:expr, $column:ident => $block:ident($($argument:expr),* $(,)?)) => {{
        let width: usize = $width;
        let mut $column = 0;
        while width - $column >= 64 {
            $block::<64>($($argument),*);
            $column += 64;
        }
        if width - $column >= 32 {
            $block::<32>($($argument),*);
            $column += 32;
        }
        if width - $column >= 16 {
            $block::<16>($($argument),*);
            $column += 16;
        }
        if width - $column >= 8 {
            $block::<8>($($argument),*);
            $column += 8;
        }
        if width - $column >= 4 {
            $block::<4>($($argument),*);
            $column += 4;
        }
        while $column < width {
            $block::<1>($($argument),*);
            $column += 1;
        }
    }};
}
pub(crate) use for_column_blocks;

/// `B` entries of a slice from `start` on.
#[inline(always)]
pub(crate) fn entries<const B: usize>(slice: &[f32], start: usize) -> &[f32; B] {
    slice[start..][..B].try_into().expect("a slice of B entries")
}

/// Has the memory bring `count` entries from `start` on, which are read soon.
#[inline(always)]
pub(crate) fn prefetch<T>(entries: &[T], start: usize, count: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let mut at = 0;
        while at < count {
            // SAFETY: a hint, which reads nothing and may name any address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(entries.as_ptr().wrapping_add(start + at).cast()) };
            at += 64 / size_of::<T>();
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (entries, start, count);
}
