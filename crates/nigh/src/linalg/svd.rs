//! The leading right singular vectors of a matrix with a row per node: the few directions in which features differ most.
//!
//! A random block, a little wider than wanted, is multiplied by `G = XᵀX`, then filtered by Chebyshev polynomials of `G` that are
//! small below the smallest value found so far, made orthonormal, and turned into the best approximations within its span
//! (Rayleigh and Ritz). A round makes the energy that is still missed ten to twenty times smaller, and the search ends when a
//! round gains less than a hundredth: 0.05 % of the energy is missed on CiteSeer's words. Singular vectors to the last digit would
//! take many more rounds, since their values are dense, and would serve no model better.
//!
//! Cost of a round, for `m` entries, `f` columns and a block `w` wide: five products with `G`, each `2 m w` multiplications (or
//! `f² w` where it is cheaper to write `G` down), and seven of `f w²`. Two rounds and a half are usual. Memory: four blocks of
//! `f w` numbers, and a few megabytes for rows.

use super::dispatch::{Level, simd};
use super::gemm::{Addend, Packed};
use super::symmetric::symmetric;
use super::tall::{Block, orthonormalise, sign};
use super::{Matrix, SparseMatrix, add_scaled, for_row_blocks, rows_of, transposed_product};
use crate::seeds::{Purpose, Seeds, Stream, unit};
use crate::threads;
use rayon::prelude::*;

/// A matrix with a row per node.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rows<'a> {
    /// `X` by its entries.
    Sparse(&'a SparseMatrix),
    /// `X` as it is.
    Dense(&'a Matrix),
}

/// `X ≈ U Σ Vᵀ`, leading values first.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TruncatedSvd {
    /// Singular values; zero beyond the rank of `X`.
    pub values: Vec<f64>,
    /// `V`, a row per column of `X`: a column of unit length per value, its largest entry positive, or of zeros where the value
    /// is zero.
    pub right: Matrix,
}

/// A value smaller than this, as a part of the largest, is rounding error of a matrix in single precision.
const SMALLEST: f64 = 1e-6;

/// A round that gains no more than this part of the energy is the last.
const ENOUGH: f64 = 1e-2;

/// Rounds before the search gives up: the energy that is missed is then small, but not ten times smaller than `ENOUGH`.
const MAX_ROUNDS: usize = 8;

/// Products with `G` in one round.
const DEGREE: usize = 4;

/// The `rank` leading right singular vectors of `X`. The start is random by column, so the order of the rows does not matter but
/// for rounding; where values coincide, any basis of their common space is right.
pub(crate) fn truncated_svd(x: Rows<'_>, rank: usize, seeds: Seeds) -> TruncatedSvd {
    let (n, f) = (x.rows(), x.cols());
    let wanted = rank.min(n).min(f);
    if wanted == 0 {
        return TruncatedSvd { values: vec![0.0; rank], right: Matrix::zeros(f, rank) };
    }
    let width = (wanted + (wanted / 8).max(8)).next_multiple_of(8);
    // A block as wide as the matrix is exact at once.
    let is_exact = 4 * f <= 5 * width;
    let stream = seeds.stream(Purpose::Eigen, &[1]);
    let mut normal = Normal::new(x, if is_exact { 1 } else { 3 * DEGREE });
    let mut v = if is_exact { Block::identity(f) } else { start(f, width, stream) };
    if !is_exact {
        let mut product = Block::zeros(f, width);
        normal.apply(&v, &mut product);
        v = product;
        orthonormalise(&mut v, stream);
    }
    let (mut before, mut round) = (0.0, 0);
    let values = loop {
        let ritz = Ritz::rotate(&mut normal, &mut v);
        let energy: f64 = ritz.values[..wanted].iter().sum();
        if is_exact || round == MAX_ROUNDS || energy - before <= ENOUGH * energy {
            break ritz.values;
        }
        Filter::new(&ritz).apply(&mut normal, &mut v);
        orthonormalise(&mut v, stream);
        (before, round) = (energy, round + 1);
    };
    finish(&v, &values[..wanted], rank)
}

/// Uniform entries, by the number of the column of `X` and not by anything about its rows.
fn start(f: usize, width: usize, stream: Stream) -> Block {
    let mut block = Block::zeros(f, width);
    block.data.par_chunks_mut(width).enumerate().for_each(|(row, entries)| {
        for (four, entries) in entries.chunks_mut(4).enumerate() {
            // The third word tells the start from what replaces lost columns.
            let words = stream.at([row as u32, four as u32, u32::MAX, 0]);
            entries.iter_mut().zip(words).for_each(|(entry, word)| *entry = 2.0 * f64::from(unit(word)) - 1.0);
        }
    });
    block
}

impl Rows<'_> {
    fn rows(self) -> usize {
        match self {
            Rows::Sparse(x) => x.rows(),
            Rows::Dense(x) => x.rows(),
        }
    }

    fn cols(self) -> usize {
        match self {
            Rows::Sparse(x) => x.cols(),
            Rows::Dense(x) => x.cols(),
        }
    }
}

impl TruncatedSvd {
    /// `X V`: each row in the leading directions. Of `X` itself the columns are `U Σ`.
    pub fn project(&self, x: Rows<'_>) -> Matrix {
        let (right, width) = (&self.right, self.right.cols());
        assert_eq!(x.cols(), right.rows(), "a row of V per column of X");
        let mut y = Matrix::zeros(x.rows(), width);
        match x {
            Rows::Sparse(x) => {
                let cost = width * (1 + x.num_entries() / x.rows().max(1));
                for_row_blocks(y.data_mut(), width, cost, |first, y| project_rows(x, right, first, y));
            }
            Rows::Dense(x) => {
                let mut packed = Packed::new(Level::current());
                packed.pack(right.data(), right.shape());
                for_row_blocks(y.data_mut(), width, width * x.cols(), |first, y| {
                    packed.multiply(rows_of(x, first, y.len() / width), 0, x.cols(), Addend::Zero, y);
                });
            }
        }
        y
    }
}

simd! {
    fn project_rows(x: &SparseMatrix, right: &Matrix, first: usize, y: &mut [f32]) {
        let (offsets, indices, values) = x.parts();
        for (at, y) in y.chunks_exact_mut(right.cols()).enumerate() {
            for entry in offsets[first + at]..offsets[first + at + 1] {
                add_scaled(y, values[entry], right.row(indices[entry] as usize));
            }
        }
    }
}

/// `G = XᵀX`, written down where that is cheaper.
struct Normal<'a> {
    x: Rows<'a>,
    gram: Option<Block>,
    /// A panel of some rows of `X V`.
    rows: Vec<f64>,
}

/// Columns of a block that are multiplied at a time.
const PANEL: usize = 32;

/// Rows of `X V` that are kept at a time: a panel of them fits the caches.
const KEPT_ROWS: usize = 1 << 14;

/// The widest `G` that is written down: it takes 128 MiB.
const WIDEST_GRAM: usize = 4096;

impl<'a> Normal<'a> {
    /// For about so many products.
    fn new(x: Rows<'a>, products: usize) -> Normal<'a> {
        let gram = match x {
            Rows::Sparse(x) => {
                let squares: usize = x.parts().0.windows(2).map(|row| (row[1] - row[0]).pow(2)).sum();
                // Of one column of the block. A multiplication that gathers a row takes about twice as long as a dense one.
                let written = products * x.cols().pow(2) + squares / 64;
                let cheaper = written < products * 4 * x.num_entries();
                (cheaper && x.cols() <= WIDEST_GRAM).then(|| gram_of(x))
            }
            Rows::Dense(_) => None,
        };
        Normal { x, gram, rows: Vec::new() }
    }

    /// `Z = G V`.
    fn apply(&mut self, v: &Block, z: &mut Block) {
        let width = v.width;
        match (&self.gram, self.x) {
            (Some(gram), _) => gram.times(&v.data, z),
            (None, Rows::Sparse(x)) => {
                z.data.fill(0.0);
                // Some columns at a time: what is gathered from then stays in the cache.
                for column in (0..width).step_by(PANEL) {
                    for first in (0..x.rows()).step_by(KEPT_ROWS) {
                        let panel = Panel { first, column, count: PANEL.min(width - column), width };
                        let range = first..x.rows().min(first + KEPT_ROWS);
                        self.rows.resize(range.len() * panel.count, 0.0);
                        self.rows.par_chunks_mut(TASK * panel.count).enumerate().for_each(|(task, rows)| {
                            threads::check();
                            gather_rows(x, &v.data, panel, first + task * TASK, rows);
                        });
                        let rows = &self.rows;
                        z.data.par_chunks_mut(TASK * width).enumerate().for_each(|(task, sums)| {
                            threads::check();
                            gather_columns(x, rows, panel, range.end, task * TASK, sums);
                        });
                    }
                }
            }
            (None, Rows::Dense(x)) => self.apply_dense(x, v, z),
        }
    }

    /// In single precision, whose products are several times faster.
    fn apply_dense(&self, x: &Matrix, v: &Block, z: &mut Block) {
        let (width, f) = (v.width, x.cols());
        let right: Vec<f32> = v.data.iter().map(|&entry| entry as f32).collect();
        let mut packed = Packed::new(Level::current());
        packed.pack(&right, [f, width]);
        let (mut y, mut part, mut scratch) = (Matrix::default(), vec![0.0; f * width], Vec::new());
        z.data.fill(0.0);
        for first in (0..x.rows()).step_by(KEPT_ROWS) {
            let count = KEPT_ROWS.min(x.rows() - first);
            let rows = Matrix::from_data(count, f, rows_of(x, first, count).to_vec());
            y.reshape(count, width);
            for_row_blocks(y.data_mut(), width, width * f, |first, y| {
                packed.multiply(rows_of(&rows, first, y.len() / width), 0, f, Addend::Zero, y);
            });
            transposed_product(&rows, &y, None, &mut part, &mut scratch);
            z.data.iter_mut().zip(&part).for_each(|(z, part)| *z += f64::from(*part));
        }
    }
}

/// Rows or columns of one task.
const TASK: usize = 64;

/// `XᵀX` by its rows: that of column `w` is the sum over the rows that have an entry there, in their order.
fn gram_of(x: &SparseMatrix) -> Block {
    let f = x.cols();
    let mut gram = Block::zeros(f, f);
    let (offsets, indices, values) = x.parts();
    gram.data.par_chunks_mut(f.max(1)).enumerate().for_each(|(column, sums)| {
        threads::check();
        let entries = x.by_col.offsets[column]..x.by_col.offsets[column + 1];
        for (&row, &factor) in x.by_col.indices[entries.clone()].iter().zip(&x.by_col.values[entries]) {
            let row = offsets[row as usize]..offsets[row as usize + 1];
            for (&other, &value) in indices[row.clone()].iter().zip(&values[row]) {
                sums[other as usize] += f64::from(factor) * f64::from(value);
            }
        }
    });
    gram
}

/// Some columns of a block, and the first of the rows of `X` at hand.
#[derive(Clone, Copy)]
struct Panel {
    first: usize,
    column: usize,
    count: usize,
    /// Of the whole block.
    width: usize,
}

simd! {
    /// A panel of the rows of `X V` from `first` on.
    fn gather_rows(x: &SparseMatrix, v: &[f64], panel: Panel, first: usize, rows: &mut [f64]) {
        let (offsets, indices, values) = x.parts();
        for (at, y) in rows.chunks_exact_mut(panel.count).enumerate() {
            let entries = offsets[first + at]..offsets[first + at + 1];
            y.fill(0.0);
            add_entries(&indices[entries.clone()], &values[entries], 0, &v[panel.column..], panel.width, y);
        }
    }
}

simd! {
    /// Adds a panel of the rows of `XᵀY` from `first` on, over the rows of `X` up to `end`, of which `y` has the panel.
    fn gather_columns(x: &SparseMatrix, y: &[f64], panel: Panel, end: usize, first: usize, sums: &mut [f64]) {
        for (at, sums) in sums.chunks_exact_mut(panel.width).enumerate() {
            let entries = x.by_col.offsets[first + at]..x.by_col.offsets[first + at + 1];
            let (indices, values) = (&x.by_col.indices[entries.clone()], &x.by_col.values[entries]);
            let start = indices.partition_point(|&row| (row as usize) < panel.first);
            let end = indices.partition_point(|&row| (row as usize) < end);
            let sums = &mut sums[panel.column..][..panel.count];
            add_entries(&indices[start..end], &values[start..end], panel.first, y, panel.count, sums);
        }
    }
}

/// `sum += Σ value x_(index - first)`, in the order of the entries, with rows of `x` so far apart.
#[inline(always)]
fn add_entries(indices: &[u32], values: &[f32], first: usize, x: &[f64], apart: usize, sum: &mut [f64]) {
    let mut column = 0;
    while sum.len() - column >= PANEL {
        add_columns::<PANEL>(indices, values, first, x, apart, column, sum);
        column += PANEL;
    }
    while sum.len() - column >= 8 {
        add_columns::<8>(indices, values, first, x, apart, column, sum);
        column += 8;
    }
    while column < sum.len() {
        add_columns::<1>(indices, values, first, x, apart, column, sum);
        column += 1;
    }
}

#[inline(always)]
fn add_columns<const B: usize>(
    indices: &[u32],
    values: &[f32],
    first: usize,
    x: &[f64],
    apart: usize,
    column: usize,
    sum: &mut [f64],
) {
    let mut total: [f64; B] = sum[column..][..B].try_into().expect("B entries");
    for (&index, &value) in indices.iter().zip(values) {
        let x: &[f64; B] = x[(index as usize - first) * apart + column..][..B].try_into().expect("B entries");
        let value = f64::from(value);
        for c in 0..B {
            total[c] += value * x[c];
        }
    }
    sum[column..][..B].copy_from_slice(&total);
}

/// The best approximations to eigenpairs of `G` that the span of a block holds, largest first.
struct Ritz {
    values: Vec<f64>,
    /// `|G v - λ v|` of each.
    residuals: Vec<f64>,
}

impl Ritz {
    /// Turns the orthonormal `v` so that its columns are the vectors.
    fn rotate(normal: &mut Normal<'_>, v: &mut Block) -> Ritz {
        let width = v.width;
        let mut gv = Block::zeros(v.rows(), width);
        normal.apply(v, &mut gv);
        let (found, vectors) = symmetric(v.gram(&gv), width);
        let mut order: Vec<usize> = (0..width).collect();
        order.sort_by(|&a, &b| found[b].total_cmp(&found[a]));
        let rotation: Vec<f64> = (0..width * width).map(|at| vectors[order[at % width] * width + at / width]).collect();
        let values: Vec<f64> = order.iter().map(|&k| found[k]).collect();
        let mut rest = Block::zeros(v.rows(), width);
        gv.times(&rotation, &mut rest);
        v.times(&rotation, &mut gv);
        std::mem::swap(v, &mut gv);
        rest.data.par_chunks_mut(width).zip(v.data.par_chunks(width)).for_each(|(rest, v)| {
            rest.iter_mut().zip(v.iter().zip(&values)).for_each(|(rest, (v, value))| *rest -= value * v);
        });
        let residuals = rest.squared_lengths().into_iter().map(f64::sqrt).collect();
        Ritz { values, residuals }
    }
}

/// `T_degree(2 G / cut - 1)`: between -1 and 1 up to `cut`, and beyond it as steep as a polynomial of its degree can be.
struct Filter {
    cut: f64,
    degree: usize,
}

impl Filter {
    fn new(ritz: &Ritz) -> Filter {
        let size = ritz.values[0].max(f64::MIN_POSITIVE);
        let last = ritz.values[ritz.values.len() - 1];
        let mut filter = Filter { cut: last.max(1e-6 * size), degree: DEGREE };
        // The error of a leading vector is amplified in all columns and must not exceed what they hold.
        let drowned = |filter: &Filter| {
            let mut pairs = ritz.values.iter().zip(&ritz.residuals);
            pairs.any(|(&value, residual)| (residual / size).max(1e-13) * filter.gain(value) > 1e5)
        };
        while filter.degree > 1 && drowned(&filter) {
            filter.degree -= 1;
        }
        filter
    }

    fn gain(&self, value: f64) -> f64 {
        let x = (2.0 * value / self.cut - 1.0).max(1.0);
        (self.degree as f64 * x.acosh()).cosh()
    }

    /// `V = T(G) V` by the three-term recurrence.
    fn apply(&self, normal: &mut Normal<'_>, v: &mut Block) {
        let width = v.width;
        let mut before = Block::zeros(v.rows(), width);
        let mut next = Block::zeros(v.rows(), width);
        for step in 0..self.degree {
            normal.apply(v, &mut next);
            let (twice, subtracted) = if step == 0 { (1.0, 0.0) } else { (2.0, 1.0) };
            let scale = 2.0 * twice / self.cut;
            let rows = next.data.par_chunks_mut(TASK * width).zip(v.data.par_chunks(TASK * width));
            rows.zip(before.data.par_chunks(TASK * width)).for_each(|((next, v), before)| {
                recur(scale, twice, subtracted, v, before, next);
            });
            std::mem::swap(&mut before, v);
            std::mem::swap(v, &mut next);
        }
    }
}

simd! {
    /// `next = scale next - twice v - subtracted before`.
    fn recur(scale: f64, twice: f64, subtracted: f64, v: &[f64], before: &[f64], next: &mut [f64]) {
        for ((next, v), before) in next.iter_mut().zip(v).zip(before) {
            *next = scale * *next - twice * v - subtracted * before;
        }
    }
}

/// The result: the first columns of `v` with their signs, of values above rounding error.
fn finish(v: &Block, squares: &[f64], rank: usize) -> TruncatedSvd {
    let smallest = SMALLEST * SMALLEST * squares[0];
    let found = squares.iter().take_while(|&&square| square > smallest && square > 0.0).count();
    let signs: Vec<f64> = (0..found).map(|column| sign(v, column)).collect();
    let entry = |i: usize, c: usize| signs.get(c).map_or(0.0, |sign| (sign * v.data[i * v.width + c]) as f32);
    let values = squares[..found].iter().map(|square| square.sqrt());
    TruncatedSvd {
        values: values.chain(std::iter::repeat(0.0)).take(rank).collect(),
        right: Matrix::from_fn(v.rows(), rank, entry),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeds::Rng;

    /// Entries in a third of all places, and columns of falling weight.
    fn words(rows: usize, cols: usize) -> SparseMatrix {
        let mut rng: Rng = Seeds::new(5).rng(Purpose::Generate, &[rows as u64]);
        let mut row = |_| {
            let columns = (0..cols as u32).filter(|_| rng.below(3) == 0).collect::<Vec<_>>();
            columns.into_iter().map(|column| (column, (0.2 + rng.unit()) / (1.0 + 0.1 * column as f32))).collect()
        };
        SparseMatrix::from_rows(&(0..rows).map(&mut row).collect::<Vec<_>>(), cols)
    }

    fn dense(x: &SparseMatrix) -> Matrix {
        let mut y = Matrix::zeros(x.rows(), x.cols());
        (0..x.rows()).for_each(|i| x.row(i).for_each(|(column, value)| y.row_mut(i)[column as usize] = value));
        y
    }

    /// Singular values and right singular vectors by Jacobi rotations of pairs of columns (Hestenes): shares no code with the
    /// search.
    fn reference(x: &Matrix) -> (Vec<f64>, Vec<Vec<f64>>) {
        let (n, f) = (x.rows(), x.cols());
        let mut columns: Vec<Vec<f64>> = (0..f).map(|c| (0..n).map(|i| f64::from(x.row(i)[c])).collect()).collect();
        let mut v: Vec<Vec<f64>> = (0..f).map(|c| (0..f).map(|i| f64::from(u8::from(i == c))).collect()).collect();
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        for _ in 0..30 {
            for p in 0..f {
                for q in p + 1..f {
                    let [pp, qq, pq] = [[p, p], [q, q], [p, q]].map(|[a, b]| product(&columns[a], &columns[b]));
                    if pq.abs() <= 1e-15 * (pp * qq).sqrt() {
                        continue;
                    }
                    let zeta = (qq - pp) / (2.0 * pq);
                    let t = zeta.signum() / (zeta.abs() + (1.0 + zeta * zeta).sqrt());
                    let (c, s) = (1.0 / (1.0 + t * t).sqrt(), t / (1.0 + t * t).sqrt());
                    for all in [&mut columns, &mut v] {
                        let (before, after) = all.split_at_mut(q);
                        for (a, b) in before[p].iter_mut().zip(&mut after[0]) {
                            (*a, *b) = (c * *a - s * *b, s * *a + c * *b);
                        }
                    }
                }
            }
        }
        let mut order: Vec<(f64, Vec<f64>)> =
            columns.iter().map(|column| product(column, column).sqrt()).zip(v).collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0));
        order.into_iter().unzip()
    }

    #[test]
    fn it_is_the_decomposition_by_rotations() {
        // Wide enough to be searched, and narrow enough to be exact; more columns than rows as well.
        for (rows, cols, rank) in [(120, 90, 8), (60, 100, 12), (150, 20, 12), (9, 30, 9)] {
            let sparse = words(rows, cols);
            let x = dense(&sparse);
            let (values, vectors) = reference(&x);
            for source in [Rows::Sparse(&sparse), Rows::Dense(&x)] {
                let svd = truncated_svd(source, rank, Seeds::new(1));
                let energy = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>();
                let missed = 1.0 - energy(&svd.values) / energy(&values[..rank]);
                assert!((-1e-6..2e-3).contains(&missed), "{rows} × {cols}: {missed}");
                // The leading half of the space is found to more digits.
                for (at, expected) in vectors[..rank / 2].iter().enumerate() {
                    assert!((svd.values[at] / values[at] - 1.0).abs() < 1e-3);
                    let inside: f64 = (0..rank)
                        .map(|c| (0..cols).map(|i| expected[i] * f64::from(svd.right.row(i)[c])).sum::<f64>().powi(2))
                        .sum();
                    assert!(inside > 0.99, "{rows} × {cols}, vector {at}: {inside}");
                }
            }
        }
    }

    #[test]
    fn vectors_are_orthonormal_with_their_largest_entry_positive_and_their_projections_as_long_as_their_values() {
        let x = words(200, 150);
        let svd = truncated_svd(Rows::Sparse(&x), 16, Seeds::new(1));
        let y = svd.project(Rows::Sparse(&x));
        let product = |m: &Matrix, a: usize, b: usize| {
            (0..m.rows()).map(|i| f64::from(m.row(i)[a]) * f64::from(m.row(i)[b])).sum::<f64>()
        };
        for a in 0..16 {
            for b in 0..=a {
                let expected = f64::from(u8::from(a == b));
                assert!((product(&svd.right, a, b) - expected).abs() < 1e-5);
                let size = svd.values[0] * svd.values[0];
                assert!((product(&y, a, b) - expected * svd.values[a].powi(2)).abs() < 1e-5 * size, "{a}, {b}");
            }
            let column = || (0..150).map(|i| svd.right.row(i)[a]);
            assert_eq!(column().fold(0.0, |largest: f32, x| largest.max(x.abs())), column().fold(0.0, f32::max));
        }
        let of_dense = svd.project(Rows::Dense(&dense(&x)));
        assert!(y.data().iter().zip(of_dense.data()).all(|(a, b)| (a - b).abs() < 1e-5));
    }

    #[test]
    fn rows_in_another_order_give_rows_in_another_order() {
        let x = words(200, 90);
        let mut order: Vec<u32> = (0..200).collect();
        Seeds::new(9).rng(Purpose::Order, &[]).shuffle(&mut order);
        let moved = x.permute_rows(&order);
        let projected = |x: Rows<'_>| truncated_svd(x, 8, Seeds::new(1)).project(x);
        let (expected, found) = (projected(Rows::Sparse(&x)).permute_rows(&order), projected(Rows::Sparse(&moved)));
        assert!(expected.data().iter().zip(found.data()).all(|(a, b)| (a - b).abs() < 1e-5));
        // Products of the dense matrix are in single precision.
        let (x, moved) = (dense(&x), dense(&moved));
        let (expected, found) = (projected(Rows::Dense(&x)).permute_rows(&order), projected(Rows::Dense(&moved)));
        assert!(expected.data().iter().zip(found.data()).all(|(a, b)| (a - b).abs() < 1e-3));
    }

    #[test]
    fn beyond_the_rank_of_the_matrix_there_is_nothing() {
        // Three different rows, and columns to spare; then a matrix of zeros, and one without rows or columns.
        let rows: Vec<_> = (0..50u32).map(|i| vec![(i % 3, 1.0), (10 + i % 3, 2.0)]).collect();
        let svd = truncated_svd(Rows::Sparse(&SparseMatrix::from_rows(&rows, 60)), 5, Seeds::new(1));
        assert!(svd.values[2] > 1.0 && svd.values[3..] == [0.0, 0.0], "{:?}", svd.values);
        assert!((0..60).all(|i| svd.right.row(i)[3..] == [0.0, 0.0]));
        let zeros = truncated_svd(Rows::Sparse(&SparseMatrix::from_rows(&vec![vec![]; 40], 60)), 5, Seeds::new(1));
        assert_eq!((zeros.values, zeros.right), (vec![0.0; 5], Matrix::zeros(60, 5)));
        let nothing = truncated_svd(Rows::Dense(&Matrix::zeros(0, 4)), 3, Seeds::new(1));
        assert_eq!(nothing.project(Rows::Dense(&Matrix::zeros(0, 4))).shape(), [0, 3]);
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        // The second is cheaper with G written down.
        for x in [words(900, 400), words(3_000, 60)] {
            for x in [Rows::Sparse(&x), Rows::Dense(&dense(&x))] {
                let on = |threads| {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                    pool.install(|| truncated_svd(x, 12, Seeds::new(1)))
                };
                let alone = on(1);
                assert!([2, 4].iter().all(|&threads| on(threads) == alone));
            }
        }
    }

    #[test]
    fn many_rows_at_a_time_are_as_good_as_all_at_once() {
        // So few entries in so many columns that G is not written down.
        let row = |i: u32| vec![(i, 0.5 + i as f32 * 0.01), (80 + i / 2, 1.0), (120 + i / 4, 1.5), (140 + i / 16, 1.0)];
        let x = SparseMatrix::from_rows(&(0..80).map(row).collect::<Vec<_>>(), 2_000);
        let many = SparseMatrix::from_rows(&(0..40_000).map(|i| row(i % 80)).collect::<Vec<_>>(), 2_000);
        assert!(many.rows() > KEPT_ROWS && Normal::new(Rows::Sparse(&many), 3 * DEGREE).gram.is_none());
        let [svd, of_many] = [&x, &many].map(|x| truncated_svd(Rows::Sparse(x), 3, Seeds::new(1)));
        for (a, b) in svd.values.iter().zip(&of_many.values) {
            assert!((a * 500f64.sqrt() / b - 1.0).abs() < 1e-3, "{a} {b}");
        }
    }
}
