//! Weights whose columns are orthogonal.

use crate::linalg::Matrix;
use crate::linalg::tall::{Block, orthonormalise};
use crate::seeds::{Stream, unit};
use rayon::prelude::*;

/// A random matrix with columns (or rows, if there are fewer) orthogonal and of length `scale`: `scale Q` of a Gaussian
/// `Z = Q R` with a positive diagonal in `R`, so that `Q` is uniform over all such matrices.
pub(super) fn orthogonal([rows, cols]: [usize; 2], scale: f32, stream: Stream) -> Matrix {
    let (tall, narrow) = (rows.max(cols), rows.min(cols));
    if narrow == 0 {
        return Matrix::zeros(rows, cols);
    }
    let mut block = Block::zeros(tall, narrow);
    block.data.par_chunks_mut(narrow).enumerate().for_each(|(row, entries)| {
        for (four, entries) in entries.chunks_mut(4).enumerate() {
            // The third word tells these numbers from others of the stream.
            let words = stream.at([row as u32, four as u32, u32::MAX, 0]);
            entries.iter_mut().zip(gaussian(words)).for_each(|(entry, drawn)| *entry = drawn);
        }
    });
    orthonormalise(&mut block, stream);
    let entry = |i: usize, c: usize| {
        let at = if rows >= cols { i * narrow + c } else { c * narrow + i };
        scale * block.data[at] as f32
    };
    Matrix::from_fn(rows, cols, entry)
}

/// Four normal numbers (Box and Muller). The radius uses `1 - u`, which is never zero.
fn gaussian([a, b, c, d]: [u32; 4]) -> [f64; 4] {
    let pair = |a, b| {
        let radius = (-2.0 * (1.0 - f64::from(unit(a))).ln()).sqrt();
        let (sin, cos) = (std::f64::consts::TAU * f64::from(unit(b))).sin_cos();
        [radius * cos, radius * sin]
    };
    let ([w, x], [y, z]) = (pair(a, b), pair(c, d));
    [w, x, y, z]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeds::{Purpose, Seeds};

    #[test]
    fn columns_are_orthogonal_and_as_long_as_asked_for_and_rows_if_they_are_fewer() {
        let stream = Seeds::new(3).stream(Purpose::Weights, &[1]);
        for (rows, cols, scale) in [(700, 32, 1.0), (40, 40, 0.5), (12, 50, 2.0), (5, 1, 1.0), (0, 3, 1.0)] {
            let q = orthogonal([rows, cols], scale, stream);
            let entry = |i: usize, c: usize| f64::from(if rows >= cols { q.row(i)[c] } else { q.row(c)[i] });
            let (tall, narrow) = (rows.max(cols), rows.min(cols));
            for a in 0..narrow {
                for b in 0..=a {
                    let product: f64 = (0..tall).map(|i| entry(i, a) * entry(i, b)).sum();
                    let expected = if a == b { f64::from(scale * scale) } else { 0.0 };
                    assert!((product - expected).abs() < 1e-5, "{rows} × {cols}: {a}, {b}: {product}");
                }
            }
        }
    }

    #[test]
    fn entries_are_as_large_on_average_whatever_their_sign_and_place() {
        let q = orthogonal([4_000, 16], 1.0, Seeds::new(3).stream(Purpose::Weights, &[1]));
        let mean = |entries: &[f32], power: i32| {
            entries.iter().map(|&q| (f64::from(q) * 4_000f64.sqrt()).powi(power)).sum::<f64>() / entries.len() as f64
        };
        for part in q.data().chunks(16_000) {
            assert!(
                mean(part, 1).abs() < 0.03 && (mean(part, 2) - 1.0).abs() < 0.05 && (mean(part, 4) - 3.0).abs() < 0.3
            );
        }
    }

    #[test]
    fn the_bits_do_not_depend_on_threads() {
        let run = || orthogonal([3_000, 24], 1.0, Seeds::new(3).stream(Purpose::Weights, &[1]));
        let on = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(run);
        assert!([2, 4].iter().all(|&threads| on(threads) == on(1)));
    }
}
