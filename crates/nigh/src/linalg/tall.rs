//! A block of tall vectors in double precision, and the three products that eigenvectors need of it.
//!
//! Innermost loops are plain `for`: a closure may be compiled on its own, without the instructions of the kernel around it,
//! which made them five times slower.

use crate::graph::Graph;
use crate::linalg::dispatch::simd;
use rayon::prelude::*;

/// Rows of one task. Fixed, so that sums have one order on any number of threads.
const ROWS: usize = 512;

/// `width` vectors side by side, row-major.
#[derive(Debug, Clone)]
pub(super) struct Block {
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
        rows.for_each(|(y, x)| rows_times(x, w, self.width, product.width, y));
    }

    /// `Y = a A X + b X + c Y`, where `A` is the adjacency matrix. Each row is summed in neighbour order.
    pub fn pass(&self, graph: &Graph, [a, b, c]: [f64; 3], y: &mut Block) {
        let rows = y.data.par_chunks_mut(ROWS / 4 * self.width).enumerate();
        rows.for_each(|(at, rows)| pass_rows(graph, &self.data, self.width, at * (ROWS / 4), [a, b, c], rows));
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

simd! {
    fn pass_rows(graph: &Graph, x: &[f64], width: usize, first: usize, factors: [f64; 3], rows: &mut [f64]) {
        for (at, y) in rows.chunks_exact_mut(width).enumerate() {
            let mut column = 0;
            while width - column >= 24 {
                pass_columns::<24>(graph, x, first + at, column, factors, y);
                column += 24;
            }
            while width - column >= 8 {
                pass_columns::<8>(graph, x, first + at, column, factors, y);
                column += 8;
            }
            (column..width).for_each(|column| pass_columns::<1>(graph, x, first + at, column, factors, y));
        }
    }
}

/// `B` columns of row `i`.
#[inline(always)]
fn pass_columns<const B: usize>(graph: &Graph, x: &[f64], i: usize, column: usize, factors: [f64; 3], y: &mut [f64]) {
    let width = y.len();
    let columns = |j: usize| -> &[f64; B] { x[j * width + column..][..B].try_into().expect("B entries") };
    let mut sum = [0.0; B];
    match graph.weights(i) {
        None => {
            for &j in graph.neighbours(i) {
                let x = columns(j as usize);
                for (sum, x) in sum.iter_mut().zip(x) {
                    *sum += x;
                }
            }
        }
        Some(weights) => {
            for (&j, &weight) in graph.neighbours(i).iter().zip(weights) {
                let (x, weight) = (columns(j as usize), f64::from(weight));
                for (sum, x) in sum.iter_mut().zip(x) {
                    *sum += weight * x;
                }
            }
        }
    }
    let ([a, b, c], own) = (factors, columns(i));
    for (y, (sum, own)) in y[column..][..B].iter_mut().zip(sum.iter().zip(own)) {
        *y = a * sum + b * own + c * *y;
    }
}
