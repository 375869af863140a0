//! A block of tall vectors in double precision, the products that eigenvectors and singular vectors need of it, and what makes
//! its columns orthonormal.
//!
//! Innermost loops are plain `for`: a closure may be compiled on its own, without the instructions of the kernel around it,
//! which made them five times slower.

use super::dispatch::simd;
use crate::seeds::{Stream, unit};
use crate::threads;
use rayon::prelude::*;

/// Rows of one task. Fixed, so that sums have one order on any number of threads.
pub(crate) const ROWS: usize = 512;

/// `width` vectors side by side, row-major.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    pub width: usize,
    pub data: Vec<f64>,
}

impl Block {
    pub fn zeros(rows: usize, width: usize) -> Block {
        Block { width, data: vec![0.0; rows * width] }
    }

    pub fn identity(n: usize) -> Block {
        let mut block = Block::zeros(n, n);
        (0..n).for_each(|i| block.data[i * n + i] = 1.0);
        block
    }

    pub fn rows(&self) -> usize {
        self.data.len() / self.width
    }

    /// `X^T Y`, row-major.
    pub fn gram(&self, other: &Block) -> Vec<f64> {
        self.sum_over_rows(other, self.width * other.width, |x, y, part| {
            gram_of_rows(x, y, self.width, other.width, part);
        })
    }

    /// `|x|²` of every column.
    pub fn squared_lengths(&self) -> Vec<f64> {
        self.sum_over_rows(self, self.width, |x, _, part| {
            let rows = x.chunks_exact(self.width);
            rows.for_each(|row| part.iter_mut().zip(row).for_each(|(sum, x)| *sum += x * x));
        })
    }

    /// Sums what `part` adds up of the same rows of two blocks.
    fn sum_over_rows(&self, other: &Block, size: usize, part: impl Fn(&[f64], &[f64], &mut [f64]) + Sync) -> Vec<f64> {
        // At most 64 partial sums, whatever the number of rows.
        let rows = ROWS.max(self.rows().div_ceil(64));
        let blocks = self.data.par_chunks(rows * self.width).zip(other.data.par_chunks(rows * other.width));
        let sum_of_rows = |(x, y): (&[f64], &[f64])| {
            threads::check();
            let mut sum = vec![0.0; size];
            part(x, y, &mut sum);
            sum
        };
        let parts: Vec<Vec<f64>> = blocks.map(sum_of_rows).collect();
        parts.iter().fold(vec![0.0; size], |mut sum, part| {
            sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
            sum
        })
    }

    /// `X W`, where `w` is row-major with as many rows as `X` has columns.
    pub fn times(&self, w: &[f64], product: &mut Block) {
        product.width = w.len() / self.width;
        product.data.resize(self.rows() * product.width, 0.0);
        let rows = product.data.par_chunks_mut(ROWS * product.width).zip(self.data.par_chunks(ROWS * self.width));
        rows.for_each(|(y, x)| {
            threads::check();
            rows_times(x, w, self.width, product.width, y)
        });
    }
}

simd! {
    fn gram_of_rows(x: &[f64], y: &[f64], width: usize, other: usize, sum: &mut [f64]) {
        for i in (0..width).step_by(4) {
            for j in (0..other).step_by(8) {
                if i + 4 <= width && j + 8 <= other {
                    gram_tile::<4, 8>(x, y, [width, other], [i, j], sum);
                } else {
                    for i in i..width.min(i + 4) {
                        (j..other.min(j + 8)).for_each(|j| gram_tile::<1, 1>(x, y, [width, other], [i, j], sum));
                    }
                }
            }
        }
    }
}

/// An `I × J` part of `X^T Y`, kept in registers while the rows go by.
#[inline(always)]
fn gram_tile<const I: usize, const J: usize>(
    x: &[f64],
    y: &[f64],
    [width, other]: [usize; 2],
    [i, j]: [usize; 2],
    sum: &mut [f64],
) {
    let mut tile = [[0.0; J]; I];
    for (x, y) in x.chunks_exact(width).zip(y.chunks_exact(other)) {
        let x: &[f64; I] = x[i..][..I].try_into().expect("I entries");
        let y: &[f64; J] = y[j..][..J].try_into().expect("J entries");
        for (tile, x) in tile.iter_mut().zip(x) {
            for (tile, y) in tile.iter_mut().zip(y) {
                *tile += x * y;
            }
        }
    }
    (0..I).for_each(|p| sum[(i + p) * other + j..][..J].copy_from_slice(&tile[p]));
}

simd! {
    fn rows_times(x: &[f64], w: &[f64], width: usize, cols: usize, y: &mut [f64]) {
        let rows = x.len() / width;
        for i in (0..rows).step_by(4) {
            for j in (0..cols).step_by(8) {
                if i + 4 <= rows && j + 8 <= cols {
                    product_tile::<4, 8>(x, w, [width, cols], [i, j], y);
                } else {
                    for i in i..rows.min(i + 4) {
                        (j..cols.min(j + 8)).for_each(|j| product_tile::<1, 1>(x, w, [width, cols], [i, j], y));
                    }
                }
            }
        }
    }
}

/// An `I × J` part of `X W`.
#[inline(always)]
fn product_tile<const I: usize, const J: usize>(
    x: &[f64],
    w: &[f64],
    [width, cols]: [usize; 2],
    [i, j]: [usize; 2],
    y: &mut [f64],
) {
    let mut tile = [[0.0; J]; I];
    let rows: [&[f64]; I] = std::array::from_fn(|p| &x[(i + p) * width..][..width]);
    for (k, w) in w.chunks_exact(cols).enumerate() {
        let w: &[f64; J] = w[j..][..J].try_into().expect("J entries");
        for (tile, row) in tile.iter_mut().zip(rows) {
            for (tile, w) in tile.iter_mut().zip(w) {
                *tile += row[k] * w;
            }
        }
    }
    (0..I).for_each(|p| y[(i + p) * cols + j..][..J].copy_from_slice(&tile[p]));
}

/// Gives `x` orthonormal columns with the same span (Cholesky's factor of `X^T X`, twice or more). A column that is
/// zero or in the span of those before it becomes a random one.
pub(crate) fn orthonormalise(x: &mut Block, stream: Stream) {
    let (width, mut spare) = (x.width, Block::zeros(x.rows(), x.width));
    // The second pass removes what rounding left in the first; random columns need two of their own.
    let mut passes_left = 2;
    for draw in 0..6 {
        let (inverse, lost) = inverse_factor(x.gram(x), width);
        x.times(&inverse, &mut spare);
        std::mem::swap(x, &mut spare);
        if !lost.is_empty() {
            x.data.par_chunks_mut(width).enumerate().for_each(|(node, row)| {
                for &column in &lost {
                    let [word, ..] = stream.at([node as u32, column as u32, draw, 0]);
                    row[column] = 2.0 * f64::from(unit(word)) - 1.0;
                }
            });
            passes_left = 3;
        }
        passes_left -= 1;
        if passes_left == 0 {
            return;
        }
    }
}

/// The upper triangular `R^-1` where `R^T R` is the matrix given, and the columns that depend on those before them:
/// zero in the result.
fn inverse_factor(mut gram: Vec<f64>, n: usize) -> (Vec<f64>, Vec<usize>) {
    /// Below this part of a column's squared length, what is orthogonal to the others is rounding error.
    const DEPENDENT: f64 = 1e-13;
    let mut lost = Vec::new();
    // Row k becomes row k of R, or zero.
    for k in 0..n {
        let length = gram[k * n + k];
        let left = (0..k).fold(length, |left, i| left - gram[i * n + k] * gram[i * n + k]);
        let independent = left > DEPENDENT * length;
        if !independent {
            lost.push(k);
            gram[k * n..][..n].fill(0.0);
            (0..k).for_each(|i| gram[i * n + k] = 0.0);
            continue;
        }
        gram[k * n + k] = left.sqrt();
        let (above, row) = gram.split_at_mut(k * n);
        let row = &mut row[..n];
        for above in above.chunks_exact(n) {
            let factor = above[k];
            row[k + 1..].iter_mut().zip(&above[k + 1..]).for_each(|(r, a)| *r -= factor * a);
        }
        let scale = 1.0 / row[k];
        row[k + 1..].iter_mut().for_each(|r| *r *= scale);
    }
    // R^-1 from the last row up: row i is (e_i - Σ_{j>i} R_ij row_j) / R_ii.
    let mut inverse = vec![0.0; n * n];
    for i in (0..n).rev() {
        let pivot = gram[i * n + i];
        if pivot == 0.0 {
            continue;
        }
        let (row, below) = inverse[i * n..].split_at_mut(n);
        row[i] = 1.0;
        for (j, below) in (i + 1..n).zip(below.chunks_exact(n)) {
            let factor = gram[i * n + j];
            row[j..].iter_mut().zip(&below[j..]).for_each(|(r, b)| *r -= factor * b);
        }
        row[i..].iter_mut().for_each(|r| *r /= pivot);
    }
    (inverse, lost)
}

/// The sign that makes the largest entry of a column positive. Of entries that are nearly as large the first one counts:
/// in `(1, -1) / sqrt(2)` rounding would decide otherwise.
pub(crate) fn sign(x: &Block, column: usize) -> f64 {
    let entries = || x.data.iter().skip(column).step_by(x.width);
    let largest = entries().fold(0.0f64, |largest, entry| largest.max(entry.abs()));
    let first = entries().find(|entry| entry.abs() >= (1.0 - 1e-4) * largest);
    first.map_or(1.0, |entry| 1f64.copysign(*entry))
}
