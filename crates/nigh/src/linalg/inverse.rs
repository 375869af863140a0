//! The inverse of a dense symmetric matrix.

use super::Matrix;
use super::dispatch::Level;
use super::gemm::{Addend, Packed};
use crate::threads;
use rayon::prelude::*;

/// Rows and columns that are eliminated together: a product of that depth runs at full speed.
const BLOCK: usize = 256;

/// `A^-1` in the place of `A`, which is symmetric and positive definite: Gauss-Jordan elimination, a block of rows at a time. With
/// `A_KK` the block on the diagonal, `R = A_KK^-1 A_K` takes the place of its rows, and `A_i - A_iK R` of every other row; the columns
/// `K` become those of the inverse.
pub(crate) fn invert_positive_definite(a: &mut Matrix) {
    let n = a.rows();
    assert_eq!(a.cols(), n, "a square matrix");
    let (mut packed, mut solved, mut columns) = (Packed::new(Level::current()), Vec::new(), Vec::new());
    for first in (0..n).step_by(BLOCK) {
        let size = BLOCK.min(n - first);
        let block = first..first + size;
        let pivot = inverse_of_block(block.clone().map(|i| &a.row(i)[block.clone()]));
        // R, with the inverse of the pivot in its own columns.
        packed.pack(&a.data()[first * n..][..size * n], [size, n]);
        solved.resize(size * n, 0.0);
        packed.multiply(&pivot, 0, size, Addend::Zero, &mut solved);
        for (row, of_pivot) in solved.chunks_exact_mut(n).zip(pivot.chunks_exact(size)) {
            row[block.clone()].copy_from_slice(of_pivot);
        }
        packed.pack(&solved, [size, n]);
        columns.clear();
        columns.extend((0..n).flat_map(|i| a.row(i)[block.clone()].iter().map(|x| -x)));
        a.data_mut().par_chunks_mut(BLOCK * n).enumerate().for_each(|(at, rows)| {
            threads::check();
            if at * BLOCK == first {
                return rows.copy_from_slice(&solved);
            }
            rows.chunks_exact_mut(n).for_each(|row| row[block.clone()].fill(0.0));
            let factors = &columns[at * BLOCK * size..][..rows.len() / n * size];
            packed.multiply(factors, 0, size, Addend::Present, rows);
        });
    }
}

/// The same for one block, in double precision and one row at a time.
fn inverse_of_block<'a>(rows: impl ExactSizeIterator<Item = &'a [f32]>) -> Vec<f32> {
    let n = rows.len();
    let mut a: Vec<f64> = rows.flatten().map(|&x| f64::from(x)).collect();
    for k in 0..n {
        let inverse = 1.0 / a[k * n + k];
        let mut pivot = a[k * n..][..n].to_vec();
        pivot.iter_mut().for_each(|x| *x *= inverse);
        pivot[k] = inverse;
        for (_, row) in a.chunks_exact_mut(n).enumerate().filter(|(i, _)| *i != k) {
            let factor = std::mem::take(&mut row[k]);
            row.iter_mut().zip(&pivot).for_each(|(x, p)| *x -= factor * p);
        }
        a[k * n..][..n].copy_from_slice(&pivot);
    }
    a.into_iter().map(|x| x as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_product_with_the_inverse_is_the_identity() {
        for n in [1, 2, 255, 256, 300, 600] {
            // E E^T / n + I / 2 for an E without structure.
            let e = Matrix::from_fn(n, n, |i, j| ((i * 7919 + j * j * 31 + i * j * 17) % 1009) as f32 / 504.0 - 1.0);
            let a = Matrix::from_fn(n, n, |i, j| {
                let product: f32 = e.row(i).iter().zip(e.row(j)).map(|(x, y)| x * y).sum();
                product / n as f32 + if i == j { 0.5 } else { 0.0 }
            });
            let mut inverse = a.clone();
            invert_positive_definite(&mut inverse);
            for i in (0..n).step_by(7) {
                for j in 0..n {
                    let entry: f64 =
                        a.row(i).iter().zip(inverse.row(j)).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum();
                    assert!((entry - f64::from(u8::from(i == j))).abs() < 1e-4, "{n}: {i}, {j}: {entry}");
                }
            }
        }
    }
}
