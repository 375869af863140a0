//! A dense matrix that keeps its storage when its shape changes.

use super::aligned::AlignedVec;
use super::for_row_blocks;
use std::ops::Range;

/// Row-major `f32` matrix.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Matrix {
    rows: usize,
    cols: usize,
    data: AlignedVec<f32>,
}

impl Matrix {
    /// The first `rows × cols` of these numbers, row by row. A shape that does not fit into memory stops the work.
    fn collect(rows: usize, cols: usize, entries: impl Iterator<Item = f32>) -> Matrix {
        let len = rows.saturating_mul(cols);
        Matrix { rows, cols, data: AlignedVec::collect_as(|| shape_in_words(rows, cols), len, entries) }
    }

    /// All zero.
    pub fn zeros(rows: usize, cols: usize) -> Matrix {
        Matrix::collect(rows, cols, std::iter::repeat(0.0))
    }

    /// All one: the constant feature of a graph without features.
    pub fn ones(rows: usize, cols: usize) -> Matrix {
        Matrix::collect(rows, cols, std::iter::repeat(1.0))
    }

    /// `I`.
    pub fn identity(n: usize) -> Matrix {
        Matrix::from_fn(n, n, |i, j| f32::from(i == j))
    }

    /// Entry by entry.
    pub fn from_fn(rows: usize, cols: usize, mut entry: impl FnMut(usize, usize) -> f32) -> Matrix {
        Matrix::collect(rows, cols, (0..rows.saturating_mul(cols)).map(|at| entry(at / cols, at % cols)))
    }

    /// Row by row; all rows have the same length.
    pub fn from_rows<R: AsRef<[f32]>>(rows: &[R]) -> Matrix {
        let cols = rows.first().map_or(0, |row| row.as_ref().len());
        assert!(rows.iter().all(|row| row.as_ref().len() == cols), "rows of different length");
        Matrix::collect(rows.len(), cols, rows.iter().flat_map(|row| row.as_ref()).copied())
    }

    /// From row-major storage.
    ///
    /// # Panics
    /// If `data` does not hold `rows × cols` numbers.
    pub fn from_data(rows: usize, cols: usize, data: Vec<f32>) -> Matrix {
        assert_eq!(data.len(), rows * cols, "storage for {rows} × {cols}");
        Matrix { rows, cols, data: data.into() }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Rows, then columns.
    pub fn shape(&self) -> [usize; 2] {
        [self.rows, self.cols]
    }

    /// Row-major storage.
    pub fn data(&self) -> &[f32] {
        &self.data
    }

    /// Row-major storage.
    pub fn data_mut(&mut self) -> &mut [f32] {
        &mut self.data
    }

    /// One row.
    #[inline]
    pub fn row(&self, row: usize) -> &[f32] {
        &self.data[row * self.cols..][..self.cols]
    }

    /// One row.
    #[inline]
    pub fn row_mut(&mut self, row: usize) -> &mut [f32] {
        &mut self.data[row * self.cols..][..self.cols]
    }

    /// Changes the shape and keeps the storage. The contents are unspecified until they are written.
    pub fn reshape(&mut self, rows: usize, cols: usize) {
        self.rows = rows;
        self.cols = cols;
        self.data.reshape_as(|| shape_in_words(rows, cols), rows.saturating_mul(cols));
    }

    /// Copies shape and contents of another matrix, into the same storage.
    pub fn copy_from(&mut self, other: &Matrix) {
        self.reshape(other.rows, other.cols);
        self.data.copy_from_slice(&other.data);
    }

    /// Copies some rows of another matrix, in the given order.
    pub fn copy_rows(&mut self, other: &Matrix, rows: &[u32]) {
        let width = other.cols();
        self.reshape(rows.len(), width);
        super::for_row_blocks(self.data_mut(), width, width, |first, block| {
            for (row, &from) in block.chunks_exact_mut(width).zip(&rows[first..]) {
                row.copy_from_slice(other.row(from as usize));
            }
        });
    }

    /// `self += other`.
    pub fn add(&mut self, other: &Matrix) {
        assert_eq!(self.shape(), other.shape());
        self.data.iter_mut().zip(&*other.data).for_each(|(a, b)| *a += b);
    }

    /// Some columns.
    pub(crate) fn columns(&self, columns: Range<usize>) -> Matrix {
        let width = columns.len();
        Matrix::from_fn(self.rows, width, |row, column| self.row(row)[columns.start + column])
    }

    /// As `columns`, into storage that exists already.
    pub(crate) fn copy_columns(&self, columns: Range<usize>, to: &mut Matrix) {
        to.reshape(self.rows, columns.len());
        let width = columns.len();
        for_row_blocks(to.data_mut(), width, width, |first, rows| {
            for (at, row) in rows.chunks_exact_mut(width.max(1)).enumerate() {
                row.copy_from_slice(&self.row(first + at)[columns.clone()]);
            }
        });
    }

    /// `P X`: row `i` of the result is row `order[i]` of this matrix.
    pub fn permute_rows(&self, order: &[u32]) -> Matrix {
        Matrix::collect(order.len(), self.cols, order.iter().flat_map(|&row| self.row(row as usize)).copied())
    }
}

fn shape_in_words(rows: usize, cols: usize) -> String {
    format!("a matrix of {rows} × {cols} numbers")
}
