//! `Y = F W` with sparse features: bags of words stay bags of words.

use super::dispatch::simd;
use super::dropout::{LANES, Mask};
use super::{Matrix, NEAR, entries, for_column_blocks, for_row_blocks, prefetch};
use crate::error::{Error, Result};
use crate::seeds::Stream;
use crate::tape::{Gradients, Inputs, Operation, Pass};
use std::sync::Arc;

/// A sparse matrix, by rows and by columns: the product reads rows, its gradient reads columns, nobody scatters.
#[derive(Debug, Clone, PartialEq)]
pub struct SparseMatrix {
    by_row: Compressed,
    by_col: Compressed,
}

#[derive(Debug, Clone, PartialEq)]
struct Compressed {
    offsets: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f32>,
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

    /// A matrix as `parts` gave it; what could not be one is refused.
    pub(crate) fn from_parts(
        offsets: Vec<usize>,
        indices: Vec<u32>,
        values: Vec<f32>,
        cols: usize,
    ) -> Result<SparseMatrix> {
        let by_row = Compressed { offsets, indices, values };
        let (offsets, entries) = (&by_row.offsets, by_row.indices.len());
        let fits = offsets.first() == Some(&0)
            && offsets.is_sorted()
            && offsets.last() == Some(&entries)
            && by_row.values.len() == entries
            && by_row.indices.iter().all(|&column| (column as usize) < cols)
            && offsets.windows(2).all(|row| by_row.indices[row[0]..row[1]].is_sorted_by(|a, b| a < b));
        if !fits {
            return Err(Error::Data("these arrays are not a sparse matrix".into()));
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

    /// `P F`: row `i` of the result is row `order[i]` of this matrix.
    pub fn permute_rows(&self, order: &[u32]) -> SparseMatrix {
        let rows: Vec<Vec<_>> = order.iter().map(|&row| self.row(row as usize).collect()).collect();
        SparseMatrix::from_rows(&rows, self.cols())
    }
}

impl Compressed {
    fn transposed(&self, cols: usize) -> Compressed {
        let mut offsets = vec![0usize; cols + 1];
        self.indices.iter().for_each(|&column| offsets[column as usize + 1] += 1);
        (0..cols).for_each(|column| offsets[column + 1] += offsets[column]);
        let mut next = offsets.clone();
        let (mut indices, mut values) = (vec![0; self.indices.len()], vec![0.0; self.indices.len()]);
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

    /// `y = C x`, without the entries that are dropped.
    fn times(&self, x: &Matrix, y: &mut Matrix, dropped: Option<Dropped<'_>>) {
        let (rows, width) = (self.offsets.len() - 1, x.cols());
        y.reshape(rows, width);
        let cost = width * (1 + self.values.len() / rows.max(1));
        for_row_blocks(y.data_mut(), width, cost, |first, rows| match dropped {
            None => gather(self, x, width, first, rows),
            Some(dropped) => gather_kept(self, x, dropped, width, first, rows),
        });
    }
}

/// Which entries a product leaves out.
#[derive(Clone, Copy)]
struct Dropped<'a> {
    mask: &'a Mask,
    stream: Stream,
    /// Whether what the product takes for rows are the columns of the matrix that the mask belongs to.
    transposed: bool,
}

/// Entries whose random numbers are drawn together, as far as whole rows go: short rows leave no lane idle.
const ENTRIES: usize = 512;

simd! {
    fn gather(c: &Compressed, x: &Matrix, width: usize, first: usize, rows: &mut [f32]) {
        let far = size_of_val(x.data()) > NEAR;
        for (at, y) in rows.chunks_exact_mut(width).enumerate() {
            let row = c.offsets[first + at]..c.offsets[first + at + 1];
            let later = if far { c.indices.get(row.start + AHEAD..).unwrap_or(&[]) } else { &[] };
            let (indices, values) = (&c.indices[row.clone()], &c.values[row]);
            for_column_blocks!(width, column => block(indices, values, later, x.data(), width, column, y));
        }
    }
}

/// Entries between the one that is added and the one whose row is asked for.
const AHEAD: usize = 16;

simd! {
    fn gather_kept(c: &Compressed, x: &Matrix, dropped: Dropped<'_>, width: usize, first: usize, rows: &mut [f32]) {
        let Dropped { mask, stream, transposed } = dropped;
        let (mut addresses, mut columns, mut kept) = (Vec::new(), Vec::new(), Vec::new());
        let (mut indices, mut values) = (Vec::new(), Vec::new());
        let last = first + rows.len() / width;
        let mut row = first;
        while row < last {
            let from = row;
            addresses.clear();
            columns.clear();
            while row < last && (row == from || addresses.len() < ENTRIES) {
                for &index in &c.indices[c.offsets[row]..c.offsets[row + 1]] {
                    let (row, column) = if transposed { (index, row as u32) } else { (row as u32, index) };
                    addresses.push(mask.address(row as usize));
                    columns.push(column);
                }
                row += 1;
            }
            let padded = columns.len().next_multiple_of(LANES);
            addresses.resize(padded, 0);
            columns.resize(padded, 0);
            kept.resize(padded, false);
            indices.resize(padded, 0);
            values.resize(padded, 0.0);
            mask.keeps(stream, &addresses, &columns, &mut kept);
            let start = c.offsets[from];
            for row in from..row {
                let entries = c.offsets[row]..c.offsets[row + 1];
                let kept = &kept[entries.start - start..entries.end - start];
                let mut count = 0;
                for ((&index, &value), &kept) in c.indices[entries.clone()].iter().zip(&c.values[entries]).zip(kept) {
                    // What is dropped is written as well, and then written over: no branch to guess wrong.
                    (indices[count], values[count]) = (index, mask.scale() * value);
                    count += usize::from(kept);
                }
                let (indices, values) = (&indices[..count], &values[..count]);
                let y = &mut rows[(row - first) * width..][..width];
                for_column_blocks!(width, column => block(indices, values, &[], x.data(), width, column, y));
            }
        }
    }
}

/// `B` columns of one row, summed in registers in the order of its entries; `later` are the indices of entries to come.
#[inline(always)]
fn block<const B: usize>(
    indices: &[u32],
    values: &[f32],
    later: &[u32],
    x: &[f32],
    width: usize,
    column: usize,
    y: &mut [f32],
) {
    let mut sum = [0.0; B];
    for (at, (&index, &value)) in indices.iter().zip(values).enumerate() {
        if let Some(&index) = later.get(at) {
            prefetch(x, index as usize * width + column, B);
        }
        let x = entries::<B>(x, index as usize * width + column);
        for c in 0..B {
            sum[c] += value * x[c];
        }
    }
    y[column..][..B].copy_from_slice(&sum);
}

/// `inputs = [W]`; the output is `F W`, with entries of `F` dropped in training if there is a mask.
#[derive(Debug)]
pub struct SparseProduct {
    matrix: Arc<SparseMatrix>,
    mask: Option<Mask>,
    /// The stream of the last forward pass, by which its gradient is masked.
    stream: Option<Stream>,
}

impl SparseProduct {
    /// The product with `F` as it is.
    pub fn new(matrix: Arc<SparseMatrix>) -> SparseProduct {
        SparseProduct { matrix, mask: None, stream: None }
    }

    /// With entries of `F` dropped in training.
    pub(crate) fn masked(self, mask: Mask) -> SparseProduct {
        SparseProduct { mask: Some(mask), ..self }
    }

    fn dropped(&self, transposed: bool) -> Option<Dropped<'_>> {
        self.mask.as_ref().zip(self.stream).map(|(mask, stream)| Dropped { mask, stream, transposed })
    }
}

impl Operation for SparseProduct {
    fn forward(&mut self, inputs: Inputs<'_>, output: &mut Matrix, pass: &Pass) {
        self.stream = self.mask.as_ref().and_then(|mask| mask.stream(pass));
        self.matrix.by_row.times(inputs.get(0), output, self.dropped(false));
    }

    fn backward(&mut self, _: Inputs<'_>, _: &Matrix, gradient: &Matrix, wanted: &mut Gradients<'_>) {
        // dW = F^T G.
        if let Some(dw) = wanted.get(0) {
            self.matrix.by_col.times(gradient, dw, self.dropped(true));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::dropout::Dropout;
    use crate::tape::{check_gradients, value_and_gradients};

    fn example() -> SparseMatrix {
        SparseMatrix::from_rows(&[vec![(0, 1.0), (3, -2.0)], vec![], vec![(1, 0.5)], vec![(0, 3.0), (1, 1.0)]], 4)
    }

    #[test]
    fn gradients_agree_with_finite_differences() {
        check_gradients(&[[4, 3]], || SparseProduct::new(example().into()));
    }

    #[test]
    fn dropped_entries_are_those_that_the_dense_matrix_would_lose() {
        let masked = || SparseProduct::new(example().into()).masked(Mask::new(0.4, "a").by([7, 1, 0, 3].into()));
        check_gradients(&[[4, 3]], masked);
        let dense = Matrix::from_fn(4, 4, |i, c| example().row(i).find(|e| e.0 as usize == c).map_or(0.0, |e| e.1));
        let mut dropout = Dropout::new(0.4, "a").by([7, 1, 0, 3].into());
        let (dropped, _) = value_and_gradients(&mut dropout, std::slice::from_ref(&dense));
        assert_ne!(dropped, dense);
        let (found, _) = value_and_gradients(&mut masked(), &[Matrix::identity(4)]);
        assert_eq!(found, dropped);
    }

    #[test]
    fn it_equals_the_dense_product() {
        let f = example();
        let dense = Matrix::from_fn(4, 4, |i, c| f.row(i).find(|e| e.0 as usize == c).map_or(0.0, |e| e.1));
        let w = Matrix::from_fn(4, 5, |i, c| (i * 5 + c) as f32);
        let (sparse, _) = value_and_gradients(&mut SparseProduct::new(f.into()), std::slice::from_ref(&w));
        let (expected, _) = value_and_gradients(&mut super::super::linear::Linear::new(1), &[dense, w]);
        assert_eq!(sparse, expected);
    }
}
