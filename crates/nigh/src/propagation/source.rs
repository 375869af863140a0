//! What is propagated.

use super::{MatrixFile, rows_at_a_time};
use crate::linalg::half::scale_of;
use crate::linalg::{Matrix, SparseMatrix};
use crate::seeds::Stream;
use crate::source::Signal;
use std::ops::Range;
use std::sync::Arc;

/// The matrix that is propagated. Any part of it can be computed anywhere.
#[derive(Debug, Clone)]
pub enum PanelSource {
    /// `E`.
    Signal {
        /// The distribution of an entry.
        signal: Signal,
        /// Where entries are drawn: `seeds.stream(Purpose::Signal, &[graph])`.
        stream: Stream,
        /// `d`.
        dim: usize,
        /// Multiplies every entry.
        factor: f32,
    },
    /// A column of ones: the constant feature of a graph without features.
    Ones,
    /// `F`, in memory.
    Dense(Arc<Matrix>),
    /// `F`, in memory and mostly zeros.
    Sparse(Arc<SparseMatrix>),
    /// `F`, in a file.
    File(MatrixFile),
    /// `F W` of sparse features, computed where it is used.
    Product(Arc<SparseMatrix>, Arc<Matrix>),
}

impl PanelSource {
    /// The number of columns.
    pub fn cols(&self) -> usize {
        match self {
            PanelSource::Signal { dim, .. } => *dim,
            PanelSource::Ones => 1,
            PanelSource::Dense(matrix) => matrix.cols(),
            PanelSource::Sparse(matrix) => matrix.cols(),
            PanelSource::File(file) => file.shape()[1],
            PanelSource::Product(_, weight) => weight.cols(),
        }
    }

    /// `X[rows, columns]`.
    pub(crate) fn fill(
        &self,
        addresses: Option<&[u32]>,
        rows: Range<usize>,
        columns: Range<usize>,
        block: &mut Matrix,
    ) {
        match self {
            PanelSource::Ones => {
                block.reshape(rows.len(), columns.len());
                block.data_mut().fill(1.0);
            }
            PanelSource::Signal { signal, stream, factor, .. } => match addresses {
                Some(addresses) => signal.fill(*stream, &addresses[rows], columns, *factor, block),
                None => {
                    let addresses: Vec<u32> = (rows.start as u32..rows.end as u32).collect();
                    signal.fill(*stream, &addresses, columns, *factor, block);
                }
            },
            PanelSource::Dense(matrix) => {
                block.reshape(rows.len(), columns.len());
                for (to, row) in block.data_mut().chunks_exact_mut(columns.len().max(1)).zip(rows) {
                    to.copy_from_slice(&matrix.row(row)[columns.clone()]);
                }
            }
            PanelSource::Sparse(matrix) => {
                block.reshape(rows.len(), columns.len());
                block.data_mut().fill(0.0);
                for (to, row) in block.data_mut().chunks_exact_mut(columns.len().max(1)).zip(rows) {
                    let inside = matrix.row(row).filter(|(column, _)| columns.contains(&(*column as usize)));
                    inside.for_each(|(column, value)| to[column as usize - columns.start] = value);
                }
            }
            PanelSource::File(file) => file.copy(rows, columns, block),
            PanelSource::Product(matrix, weight) => match columns.len() == weight.cols() {
                true => matrix.times_rows(weight, rows, block),
                false => matrix.times_rows(&weight.columns(columns), rows, block),
            },
        }
    }

    /// The scale of halves for these rows; the smallest is that of all. None if they have no room for an entry.
    pub(crate) fn scale(&self, addresses: Option<&[u32]>, rows: Range<usize>) -> Option<f32> {
        let (mut block, mut scale) = (Matrix::default(), f32::INFINITY);
        let at_a_time = rows_at_a_time(self.cols());
        for first in rows.clone().step_by(at_a_time) {
            self.fill(addresses, first..(first + at_a_time).min(rows.end), 0..self.cols(), &mut block);
            // The larger the entries, the smaller it is.
            scale = scale.min(scale_of(block.data())?);
        }
        scale.is_finite().then_some(scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_of_many_rows_is_that_of_the_largest_wherever_it_is() {
        for place in [0, 69_999] {
            let x = Matrix::from_fn(70_000, 1, |row, _| if row == place { 1_000.0 } else { 1.0 });
            let expected = scale_of(x.data());
            assert_eq!(PanelSource::Dense(x.into()).scale(None, 0..70_000), expected);
        }
    }
}
