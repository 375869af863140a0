//! `Ã^K F W + b` with sparse features, mapped before they are propagated.

use super::sparse::{times, times_some};
use crate::graph::{HopBuffers, NearRows, Operator, apply_hops};
use crate::linalg::half::Storage;
use crate::linalg::sparse::Compressed;
use crate::linalg::{Matrix, SelectedRows, SparseMatrix, column_sums};
use crate::tape::{Gradients, Inputs, Operation, Pass};
use std::sync::Arc;

/// `inputs = [W, b]`.
#[derive(Debug)]
pub(crate) struct Convolution {
    matrix: Arc<SparseMatrix>,
    operator: Operator,
    hops: usize,
    storage: Storage,
    /// `F W`, and then its gradient.
    mapped: Matrix,
    buffers: HopBuffers,
    sums: Vec<f32>,
    /// The rows that were selected last.
    near: Option<Near>,
    /// Whether they are selected still.
    is_selected: bool,
}

/// What some rows of the result depend on.
#[derive(Debug)]
struct Near {
    rows: SelectedRows,
    nodes: NearRows,
    /// The rows of `F` that belong to these nodes, by column.
    by_col: Compressed,
    spare: Matrix,
}

impl Convolution {
    /// `Ã^hops F W + b`, with rows stored like this between hops.
    pub fn new(matrix: Arc<SparseMatrix>, operator: Operator, hops: usize, storage: Storage) -> Convolution {
        let (mapped, buffers, sums) = (Matrix::default(), HopBuffers::default(), Vec::new());
        Convolution { matrix, operator, hops, storage, mapped, buffers, sums, near: None, is_selected: false }
    }
}

impl Operation for Convolution {
    fn forward(&mut self, inputs: Inputs<'_>, output: &mut Matrix, _: &Pass) {
        let Convolution { ref matrix, ref operator, hops, storage, ref mut mapped, ref mut buffers, .. } = *self;
        let (w, bias) = (inputs.get(0), inputs.get(1).data());
        match &mut self.near {
            Some(near) if self.is_selected => {
                times_some(&matrix.by_row, near.nodes.nodes(), w, mapped);
                near.nodes.gather(mapped, &mut near.spare, output);
                for row in output.data_mut().chunks_exact_mut(bias.len().max(1)) {
                    row.iter_mut().zip(bias).for_each(|(y, b)| *y += b);
                }
            }
            _ => {
                times(&matrix.by_row, w, mapped, None);
                apply_hops(operator, hops, storage, mapped, bias, output, buffers);
            }
        }
    }

    fn backward(&mut self, _: Inputs<'_>, _: &Matrix, gradient: &Matrix, wanted: &mut Gradients<'_>) {
        let Convolution { ref matrix, ref operator, hops, storage, ref mut mapped, ref mut buffers, .. } = *self;
        let mut near = self.near.as_mut().filter(|_| self.is_selected);
        // dW = F^T (Ã^K)^T G.
        if let Some(dw) = wanted.get(0) {
            match &mut near {
                Some(near) => {
                    near.nodes.spread(gradient, mapped, &mut near.spare);
                    times(&near.by_col, mapped, dw, None);
                }
                None => {
                    apply_hops(&operator.transposed(), hops, storage, gradient, &[], mapped, buffers);
                    times(&matrix.by_col, mapped, dw, None);
                }
            }
        }
        if let Some(bias) = wanted.get(1) {
            column_sums(gradient, near.map(|near| &near.rows), bias.data_mut(), &mut self.sums);
        }
    }

    fn can_select(&self) -> bool {
        self.storage == Storage::Single && NearRows::can_be_of(&self.operator)
    }

    fn select(&mut self, rows: Option<&[u32]>, num_rows: usize) {
        self.is_selected = rows.is_some();
        let Some(rows) = rows else { return };
        if self.near.as_ref().is_none_or(|near| near.rows.numbers() != rows) {
            let nodes = NearRows::new(&self.operator, rows, self.hops);
            let by_col = self.matrix.by_col.only_indices(nodes.nodes(), self.matrix.rows());
            self.near = Some(Near { rows: SelectedRows::new(rows, num_rows), nodes, by_col, spare: Matrix::default() });
        }
    }
}
