//! `Y = F W` with sparse features.

use super::dropout::{LANES, Mask};
use crate::linalg::dispatch::simd;
use crate::linalg::sparse::Compressed;
use crate::linalg::{CACHED_BYTES, Matrix, SparseMatrix, entries, for_column_blocks, for_row_blocks, prefetch};
use crate::seeds::Stream;
use crate::tape::{Gradients, Inputs, Operation, Pass};
use std::sync::Arc;

/// `y = C x`, without the entries that are dropped.
pub(super) fn times(c: &Compressed, x: &Matrix, y: &mut Matrix, dropped: Option<Dropped<'_>>) {
    let (rows, width) = (c.offsets.len() - 1, x.cols());
    y.reshape(rows, width);
    for_row_blocks(y.data_mut(), width, cost_per_row(c, width), |first, rows| match dropped {
        None => gather(c, x, width, None, first, rows),
        Some(dropped) => gather_kept(c, x, dropped, width, first, rows),
    });
}

/// These rows of `C x`.
pub(super) fn times_some(c: &Compressed, rows: &[u32], x: &Matrix, y: &mut Matrix) {
    let width = x.cols();
    y.reshape(rows.len(), width);
    for_row_blocks(y.data_mut(), width, cost_per_row(c, width), |first, block| {
        gather(c, x, width, Some(rows), first, block);
    });
}

fn cost_per_row(c: &Compressed, width: usize) -> usize {
    width * (1 + c.values.len() / (c.offsets.len() - 1).max(1))
}

/// Which entries a product omits.
#[derive(Clone, Copy)]
pub(super) struct Dropped<'a> {
    /// Entry by entry.
    entries: Option<(&'a Mask, Stream)>,
    /// Row by row: what its entries are multiplied by; zero for a row that is dropped. Empty if none is.
    row_factors: &'a [f32],
    /// Whether the product runs over the transposed matrix: both are by its rows and columns, exchanged.
    transposed: bool,
}

/// Entries whose random numbers are drawn together, in whole rows: short rows leave no lane idle.
const ENTRIES: usize = 512;

simd! {
    /// All rows from `first` on, or those of `some` from there on.
    fn gather(c: &Compressed, x: &Matrix, width: usize, some: Option<&[u32]>, first: usize, rows: &mut [f32]) {
        let far = size_of_val(x.data()) > CACHED_BYTES;
        for (at, y) in rows.chunks_exact_mut(width).enumerate() {
            let row = some.map_or(first + at, |some| some[first + at] as usize);
            let row = c.offsets[row]..c.offsets[row + 1];
            let later = if far { c.indices.get(row.start + AHEAD..).unwrap_or(&[]) } else { &[] };
            let (indices, values) = (&c.indices[row.clone()], &c.values[row]);
            for_column_blocks!(width, column => block(indices, values, later, x.data(), width, column, y));
        }
    }
}

/// How many entries ahead rows are prefetched.
const AHEAD: usize = 16;

simd! {
    fn gather_kept(c: &Compressed, x: &Matrix, dropped: Dropped<'_>, width: usize, first: usize, rows: &mut [f32]) {
        let Dropped { entries, row_factors, transposed } = dropped;
        let scale = entries.map_or(1.0, |(mask, _)| mask.scale());
        let (mut addresses, mut columns, mut kept) = (Vec::new(), Vec::new(), Vec::new());
        let (mut indices, mut values) = (Vec::new(), Vec::new());
        let last = first + rows.len() / width;
        let mut row = first;
        while row < last {
            let (from, start) = (row, c.offsets[row]);
            row += 1;
            while row < last && c.offsets[row] - start < ENTRIES {
                row += 1;
            }
            let padded = (c.offsets[row] - start).next_multiple_of(LANES);
            kept.resize(padded, true);
            indices.resize(padded, 0);
            values.resize(padded, 0.0);
            if let Some((mask, stream)) = entries {
                addresses.clear();
                columns.clear();
                for row in from..row {
                    for &index in &c.indices[c.offsets[row]..c.offsets[row + 1]] {
                        let (row, column) = if transposed { (index, row as u32) } else { (row as u32, index) };
                        addresses.push(mask.address(row as usize));
                        columns.push(column);
                    }
                }
                addresses.resize(padded, 0);
                columns.resize(padded, 0);
                mask.keeps(stream, &addresses, &columns, &mut kept);
            }
            for row in from..row {
                let entries = c.offsets[row]..c.offsets[row + 1];
                let kept = &kept[entries.start - start..entries.end - start];
                let mut count = 0;
                for ((&index, &value), &kept) in c.indices[entries.clone()].iter().zip(&c.values[entries]).zip(kept) {
                    let own = if transposed { index as usize } else { row };
                    let factor = if row_factors.is_empty() { 1.0 } else { row_factors[own] };
                    // Dropped entries are written too, and then overwritten: no branch to mispredict.
                    (indices[count], values[count]) = (index, scale * factor * value);
                    count += usize::from(kept & (factor != 0.0));
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

/// `inputs = [W]`; the output is `F W`, with entries or whole rows of `F` dropped in training if there are masks.
#[derive(Debug)]
pub struct SparseProduct {
    matrix: Arc<SparseMatrix>,
    mask: Option<Mask>,
    row_mask: Option<Mask>,
    /// The stream of the last forward pass, which also masks its gradient.
    stream: Option<Stream>,
    /// Those of the last forward pass; empty if no row was dropped.
    row_factors: Vec<f32>,
}

impl SparseProduct {
    /// The product with `F` as it is.
    pub fn new(matrix: Arc<SparseMatrix>) -> SparseProduct {
        SparseProduct { matrix, mask: None, row_mask: None, stream: None, row_factors: Vec::new() }
    }

    /// With entries of `F` dropped in training.
    pub(crate) fn masked(self, mask: Mask) -> SparseProduct {
        SparseProduct { mask: Some(mask), ..self }
    }

    /// With whole rows of `F` dropped in training.
    pub(crate) fn with_dropped_rows(self, mask: Mask) -> SparseProduct {
        SparseProduct { row_mask: Some(mask), ..self }
    }

    fn dropped(&self, transposed: bool) -> Option<Dropped<'_>> {
        let entries = self.mask.as_ref().zip(self.stream);
        let drops = entries.is_some() || !self.row_factors.is_empty();
        drops.then_some(Dropped { entries, row_factors: &self.row_factors, transposed })
    }
}

impl Operation for SparseProduct {
    fn forward(&mut self, inputs: Inputs<'_>, output: &mut Matrix, pass: &Pass) {
        self.stream = self.mask.as_ref().and_then(|mask| mask.stream(pass));
        if let Some(mask) = &self.row_mask {
            mask.row_factors(pass, self.matrix.rows(), &mut self.row_factors);
        }
        times(&self.matrix.by_row, inputs.get(0), output, self.dropped(false));
    }

    fn backward(&mut self, _: Inputs<'_>, _: &Matrix, gradient: &Matrix, wanted: &mut Gradients<'_>) {
        // dW = F^T G.
        if let Some(dw) = wanted.get(0) {
            times(&self.matrix.by_col, gradient, dw, self.dropped(true));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::dispatch::testing::assert_same_bits_at_every_level;
    use crate::ops::drop_rows::DropRows;
    use crate::ops::dropout::Dropout;
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
    fn dropped_rows_are_those_that_the_dense_matrix_would_lose() {
        let rows = || Mask::new(0.5, "rows").by([7, 1, 0, 3].into());
        let without_rows = || SparseProduct::new(example().into()).with_dropped_rows(rows());
        let both = || without_rows().masked(Mask::new(0.4, "a"));
        check_gradients(&[[4, 3]], without_rows);
        check_gradients(&[[4, 3]], both);
        let dense = Matrix::from_fn(4, 4, |i, c| example().row(i).find(|e| e.0 as usize == c).map_or(0.0, |e| e.1));
        let mut drop_rows = DropRows::new(0.5, "rows").by([7, 1, 0, 3].into());
        let (dropped, _) = value_and_gradients(&mut drop_rows, std::slice::from_ref(&dense));
        assert_ne!(dropped, dense);
        assert_eq!(value_and_gradients(&mut without_rows(), &[Matrix::identity(4)]).0, dropped);
        let (dropped, _) = value_and_gradients(&mut Dropout::new(0.4, "a"), &[dropped]);
        assert_eq!(value_and_gradients(&mut both(), &[Matrix::identity(4)]).0, dropped);
    }

    #[test]
    fn it_equals_the_dense_product() {
        let f = example();
        let dense = Matrix::from_fn(4, 4, |i, c| f.row(i).find(|e| e.0 as usize == c).map_or(0.0, |e| e.1));
        let w = Matrix::from_fn(4, 5, |i, c| (i * 5 + c) as f32);
        let (sparse, _) = value_and_gradients(&mut SparseProduct::new(f.into()), std::slice::from_ref(&w));
        let (expected, _) = value_and_gradients(&mut super::super::linear::LinearMap::new(1), &[dense, w]);
        assert_eq!(sparse, expected);
    }

    #[test]
    fn the_bits_are_the_same_at_every_level() {
        let row = |i: u32| {
            let columns = (0..60).filter(|c| (i * 7 + c * 13) % 11 < 3);
            columns.map(|c| (c, (i + c) as f32 * 0.37 - 9.0)).collect::<Vec<_>>()
        };
        let f = Arc::new(SparseMatrix::from_rows(&(0..400).map(row).collect::<Vec<_>>(), 60));
        for width in [5, 32, 79] {
            let w = [Matrix::from_fn(60, width, |i, c| ((i * 5 + c * 3) % 17) as f32 * 0.1 - 0.8)];
            assert_same_bits_at_every_level(|| {
                let whole = value_and_gradients(&mut SparseProduct::new(f.clone()), &w);
                let mut masked = SparseProduct::new(f.clone()).masked(Mask::new(0.4, "a"));
                let mut without_rows = SparseProduct::new(f.clone()).with_dropped_rows(Mask::new(0.5, "a"));
                (whole, (value_and_gradients(&mut masked, &w), value_and_gradients(&mut without_rows, &w)))
            });
        }
    }
}
