//! Matrices and plain functions on slices. Every sum has one order, fixed by the shapes alone, so results have the same
//! bits on any number of threads.

// Loops count lanes: a closure would be compiled on its own, without the vector instructions of its caller.
#![allow(clippy::needless_range_loop)]

pub(crate) mod aligned;
pub(crate) mod dispatch;
pub(crate) mod fold;
pub(crate) mod gemm;
pub(crate) mod half;
pub(crate) mod incidence;
pub(crate) mod inverse;
pub(crate) mod logistic;
mod matrix;
mod normalize;
mod prefetch;
mod rows;
pub(crate) mod softmax;
pub(crate) mod sort;
pub(crate) mod sparse;
pub(crate) mod svd;
pub(crate) mod symmetric;
pub(crate) mod tall;
mod tf_idf;
mod transposed_product;

pub use half::{Storage, StorageError};
pub use matrix::Matrix;
pub(crate) use normalize::{normalize_rows, project_rows, row_length, scale_rows};
pub(crate) use prefetch::{prefetch, prefetch_line};
pub(crate) use rows::{
    ROWS_PER_TASK, SelectedRows, WORTH_A_THREAD, column_sums, for_row_blocks, for_two_row_blocks, look_up,
    look_up_into, rows_of, sum_over_row_blocks, write_and_sum_row_blocks,
};
pub use sparse::SparseMatrix;
pub(crate) use svd::{Rows, truncated_svd};
pub(crate) use transposed_product::transposed_product;

/// Bytes that fit the cache of a core: rows of anything larger are prefetched.
pub(crate) const CACHED_BYTES: usize = 1 << 18;

/// `<a, b>` in sixteen interleaved partial sums: the compiler can use vectors, and the order of additions is fixed.
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
    // Without the black box the compiler vectorises the loop for the sum below it, only two lanes wide.
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

/// Calls `$block::<B>(column)` for consecutive blocks of `B` columns that together are `$width` wide. A block fits into
/// registers, so that a sum over rows is written once.
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
