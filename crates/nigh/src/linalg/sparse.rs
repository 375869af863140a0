//! Sparse matrices, in compressed form.

use super::{Matrix, for_row_blocks};
use crate::error::{Error, Result};
use nigh_formats::memory;
use std::ops::Range;

/// A sparse matrix, by rows and by columns: a product reads the rows, its gradient the columns, and neither scatters.
#[derive(Debug, Clone, PartialEq)]
pub struct SparseMatrix {
    pub(crate) by_row: Compressed,
    pub(crate) by_col: Compressed,
}

/// Entries row by row (or column by column): those of row `i` are at `offsets[i]..offsets[i + 1]`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Compressed {
    pub(crate) offsets: Vec<usize>,
    pub(crate) indices: Vec<u32>,
    pub(crate) values: Vec<f32>,
}

impl SparseMatrix {
    /// From rows of `(column, value)`, in ascending order of columns.
    pub fn from_rows(rows: &[Vec<(u32, f32)>], cols: usize) -> SparseMatrix {
        let mut by_row = Compressed { offsets: vec![0], indices: Vec::new(), values: Vec::new() };
        for row in rows {
            assert!(row.windows(2).all(|pair| pair[0].0 < pair[1].0), "columns ascend");
            assert!(row.last().is_none_or(|&(column, _)| (column as usize) < cols), "a column beyond {cols}");
            by_row.indices.extend(row.iter().map(|entry| entry.0));
            by_row.values.extend(row.iter().map(|entry| entry.1));
            by_row.offsets.push(by_row.indices.len());
        }
        SparseMatrix { by_col: by_row.transposed(cols), by_row }
    }

    /// Offsets, columns and values by row, as they are stored.
    pub(crate) fn parts(&self) -> (&[usize], &[u32], &[f32]) {
        (&self.by_row.offsets, &self.by_row.indices, &self.by_row.values)
    }

    /// A matrix from offsets of rows, columns and values: the arrays of compressed rows, with ascending columns in each. Invalid arrays
    /// are an error.
    pub fn from_parts(offsets: Vec<usize>, indices: Vec<u32>, values: Vec<f32>, cols: usize) -> Result<SparseMatrix> {
        let by_row = Compressed { offsets, indices, values };
        let (offsets, entries) = (&by_row.offsets, by_row.indices.len());
        let fits = offsets.first() == Some(&0)
            && offsets.is_sorted()
            && offsets.last() == Some(&entries)
            && by_row.values.len() == entries
            && by_row.indices.iter().all(|&column| (column as usize) < cols)
            && offsets.windows(2).all(|row| by_row.indices[row[0]..row[1]].is_sorted_by(|a, b| a < b));
        if !fits {
            return Err(Error::NotSparse);
        }
        Ok(SparseMatrix { by_col: by_row.transposed(cols), by_row })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.by_row.offsets.len() - 1
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.by_col.offsets.len() - 1
    }

    /// Number of stored entries.
    pub fn num_entries(&self) -> usize {
        self.by_row.values.len()
    }

    /// `(column, value)` of one row.
    pub fn row(&self, row: usize) -> impl Iterator<Item = (u32, f32)> + '_ {
        let range = self.by_row.offsets[row]..self.by_row.offsets[row + 1];
        self.by_row.indices[range.clone()].iter().copied().zip(self.by_row.values[range].iter().copied())
    }

    /// `F W` of some rows, each summed in the order of its entries.
    pub(crate) fn times_rows(&self, weight: &Matrix, rows: Range<usize>, product: &mut Matrix) {
        let width = weight.cols();
        product.reshape(rows.len(), width);
        let entries = self.by_row.offsets[rows.end] - self.by_row.offsets[rows.start];
        for_row_blocks(product.data_mut(), width, width * (1 + entries / rows.len().max(1)), |first, block| {
            for (sums, row) in block.chunks_exact_mut(width).zip(rows.start + first..) {
                sums.fill(0.0);
                for (column, value) in self.row(row) {
                    sums.iter_mut().zip(weight.row(column as usize)).for_each(|(sum, &weight)| *sum += value * weight);
                }
            }
        });
    }

    /// With no entries in rows that are not wanted.
    pub fn only_rows(&self, is_wanted: &[bool]) -> SparseMatrix {
        let row = |row: usize| if is_wanted[row] { self.row(row).collect() } else { Vec::new() };
        SparseMatrix::from_rows(&(0..self.rows()).map(row).collect::<Vec<_>>(), self.cols())
    }

    /// `P F`: row `i` of the result is row `order[i]` of this matrix.
    pub fn permute_rows(&self, order: &[u32]) -> SparseMatrix {
        let rows: Vec<Vec<_>> = order.iter().map(|&row| self.row(row as usize).collect()).collect();
        SparseMatrix::from_rows(&rows, self.cols())
    }
}

impl Compressed {
    /// The entries with these indices alone, renumbered in their order. All are below `end`.
    pub(crate) fn only_indices(&self, kept: &[u32], end: usize) -> Compressed {
        const LEFT_OUT: u32 = u32::MAX;
        let mut numbers = vec![LEFT_OUT; end];
        (0..).zip(kept).for_each(|(number, &index)| numbers[index as usize] = number);
        let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in self.offsets.windows(2) {
            for at in row[0]..row[1] {
                let number = numbers[self.indices[at] as usize];
                if number != LEFT_OUT {
                    indices.push(number);
                    values.push(self.values[at]);
                }
            }
            offsets.push(indices.len());
        }
        Compressed { offsets, indices, values }
    }

    fn transposed(&self, cols: usize) -> Compressed {
        let rows = self.offsets.len() - 1;
        let what = || format!("a sparse matrix of {rows} × {cols}");
        // Offsets, where the next entry of each column goes, and the entries.
        let bytes = (cols as u64).saturating_mul(16).saturating_add(8 * self.indices.len() as u64);
        memory::or_stop(memory::check(bytes, what));
        let mut offsets = memory::or_stop(memory::filled(cols.saturating_add(1), 0usize, what));
        self.indices.iter().for_each(|&column| offsets[column as usize + 1] += 1);
        (0..cols).for_each(|column| offsets[column + 1] += offsets[column]);
        let mut next = memory::or_stop(memory::vector(offsets.len(), what));
        next.extend_from_slice(&offsets);
        let mut indices = memory::or_stop(memory::filled(self.indices.len(), 0u32, what));
        let mut values = memory::or_stop(memory::filled(self.indices.len(), 0f32, what));
        for row in 0..self.offsets.len() - 1 {
            for at in self.offsets[row]..self.offsets[row + 1] {
                let slot = &mut next[self.indices[at] as usize];
                indices[*slot] = row as u32;
                values[*slot] = self.values[at];
                *slot += 1;
            }
        }
        Compressed { offsets, indices, values }
    }
}
