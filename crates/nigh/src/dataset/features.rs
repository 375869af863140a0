//! `F`: what is known of each node.

use crate::linalg::{Matrix, Rows, SparseMatrix, truncated_svd};
use crate::seeds::Seeds;
use nigh_formats::digest::hex;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// `F`, one row per node.
#[derive(Debug, Clone)]
pub enum Features {
    /// No features: the constant 1 for this many nodes.
    Constant(usize),
    /// Mostly numbers.
    Dense(Arc<Matrix>),
    /// Mostly zeros.
    Sparse(Arc<SparseMatrix>),
}

impl Features {
    /// Bytes in memory.
    pub fn num_bytes(&self) -> usize {
        match self {
            Features::Constant(_) => 0,
            Features::Dense(matrix) => size_of_val(matrix.data()),
            // By rows and by columns.
            Features::Sparse(matrix) => 8 * (2 * matrix.num_entries() + matrix.rows() + matrix.cols()),
        }
    }

    /// From a full matrix, kept sparse when that is smaller and faster to multiply.
    pub fn from_matrix(matrix: Matrix) -> Features {
        let entries = matrix.data().iter().filter(|&&value| value != 0.0).count();
        if matrix.cols() < 16 || entries * 4 > matrix.data().len() {
            return Features::Dense(matrix.into());
        }
        let row = |i: usize| -> Vec<(u32, f32)> {
            let entries = matrix.row(i).iter().enumerate().filter(|(_, value)| **value != 0.0);
            entries.map(|(column, &value)| (column as u32, value)).collect()
        };
        let rows: Vec<_> = (0..matrix.rows()).map(row).collect();
        Features::Sparse(SparseMatrix::from_rows(&rows, matrix.cols()).into())
    }

    /// Number of nodes.
    pub fn rows(&self) -> usize {
        match self {
            Features::Constant(rows) => *rows,
            Features::Dense(matrix) => matrix.rows(),
            Features::Sparse(matrix) => matrix.rows(),
        }
    }

    /// `d0`: the width of the input of the feature branch.
    pub fn cols(&self) -> usize {
        match self {
            Features::Constant(_) => 1,
            Features::Dense(matrix) => matrix.cols(),
            Features::Sparse(matrix) => matrix.cols(),
        }
    }

    /// Number of features; 0 for the constant.
    pub fn count(&self) -> usize {
        if matches!(self, Features::Constant(_)) { 0 } else { self.cols() }
    }

    /// `P F`: row `i` of the result is row `order[i]`.
    pub fn permute_rows(&self, order: &[u32]) -> Features {
        match self {
            Features::Constant(_) => Features::Constant(order.len()),
            Features::Dense(matrix) => Features::Dense(matrix.permute_rows(order).into()),
            Features::Sparse(matrix) => Features::Sparse(matrix.permute_rows(order).into()),
        }
    }

    /// Column `j` of the result is column `order[j]`; every column comes once.
    pub(crate) fn permute_cols(&self, order: &[u32]) -> Features {
        match self {
            Features::Constant(rows) => Features::Constant(*rows),
            Features::Dense(matrix) => {
                let rows = (0..matrix.rows()).map(|row| matrix.row(row));
                let data = rows.flat_map(|row| order.iter().map(|&column| row[column as usize])).collect();
                Features::Dense(Matrix::from_data(matrix.rows(), order.len(), data).into())
            }
            Features::Sparse(matrix) => {
                let mut place = vec![0u32; matrix.cols()];
                order.iter().zip(0..).for_each(|(&column, at)| place[column as usize] = at);
                let moved = |row: usize| {
                    let mut row: Vec<_> = matrix.row(row).map(|(at, value)| (place[at as usize], value)).collect();
                    row.sort_unstable_by_key(|entry| entry.0);
                    row
                };
                let rows: Vec<_> = (0..matrix.rows()).map(moved).collect();
                Features::Sparse(SparseMatrix::from_rows(&rows, order.len()).into())
            }
        }
    }

    /// With one more row, of zeros.
    pub(crate) fn with_empty_row(self) -> Features {
        match self {
            Features::Constant(rows) => Features::Constant(rows + 1),
            Features::Dense(matrix) => {
                let mut data = matrix.data().to_vec();
                data.resize(data.len() + matrix.cols(), 0.0);
                Features::Dense(Matrix::from_data(matrix.rows() + 1, matrix.cols(), data).into())
            }
            Features::Sparse(matrix) => {
                let rows = (0..matrix.rows()).map(|row| matrix.row(row).collect()).chain([Vec::new()]);
                Features::Sparse(SparseMatrix::from_rows(&rows.collect::<Vec<_>>(), matrix.cols()).into())
            }
        }
    }

    /// `X̂ V`: the features in the `rank` leading directions in which they differ, a dense row per node. `X̂` has rows of unit
    /// length, after tf-idf if it is sparse, and `V` its leading right singular vectors; columns beyond the rank of `X̂` are zero.
    /// Inner products of rows then approximate the cosines of the features.
    ///
    /// ```
    /// let words = nigh::Features::from_matrix(nigh::Matrix::from_fn(20, 30, |i, w| f32::from((i * w) % 7 == 1)));
    /// assert_eq!(words.reduced(4, nigh::Seeds::new(1)).shape(), [20, 4]);
    /// ```
    pub fn reduced(&self, rank: usize, seeds: Seeds) -> Matrix {
        match self {
            Features::Constant(rows) => Features::Dense(Matrix::ones(*rows, 1).into()).reduced(rank, seeds),
            Features::Dense(matrix) => {
                let rows = matrix.with_unit_rows();
                truncated_svd(Rows::Dense(&rows), rank, seeds).project(Rows::Dense(&rows))
            }
            Features::Sparse(matrix) => {
                let rows = matrix.tf_idf();
                truncated_svd(Rows::Sparse(&rows), rank, seeds).project(Rows::Sparse(&rows))
            }
        }
    }

    /// A fingerprint of shape and values.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        hash.update((self.cols() as u64).to_le_bytes());
        match self {
            Features::Constant(rows) => hash.update((*rows as u64).to_le_bytes()),
            Features::Dense(matrix) => matrix.data().iter().for_each(|value| hash.update(value.to_le_bytes())),
            Features::Sparse(matrix) => (0..matrix.rows()).for_each(|row| {
                hash.update((row as u64).to_le_bytes());
                for (column, value) in matrix.row(row) {
                    hash.update(column.to_le_bytes());
                    hash.update(value.to_le_bytes());
                }
            }),
        }
        hex(&hash.finalize())
    }
}
