//! Inner products of propagated rows for given pairs, a few columns at a time: `<(M^a X)_i, (M^b X)_j>`. Memory is that of a
//! panel, whatever the width of `X`.

use crate::graph::Operator;
use crate::linalg::dispatch::simd;
use crate::linalg::{Matrix, dot, for_row_blocks, prefetch};
use std::ops::Range;

/// Columns that are propagated together: narrower panels cost more per column, wider ones more memory.
const PANEL: usize = 64;

/// What pairs and nodes have in common over the hops of a matrix.
#[derive(Debug, Default)]
pub struct HopProducts {
    /// A row per pair, a column per entry `[a, b]` of the list: `½ (<x^a_i, x^b_j> + <x^b_i, x^a_j>)`.
    pub pairs: Matrix,
    /// A row per node: `|x^a_i|²` for `a = 0, 1, ...`.
    pub squares: Matrix,
}

/// `x^a = M^a X` for `a` up to the largest in `products`. `panel` gives columns of `X`, of which there are `width`.
pub fn hop_products(
    operator: &Operator,
    width: usize,
    panel: impl Fn(Range<usize>) -> Matrix,
    products: &[[usize; 2]],
    pairs: &[[u32; 2]],
) -> HopProducts {
    let hops = products.iter().flatten().copied().max().unwrap_or(0);
    let num_nodes = operator.graph().num_nodes();
    let mut found =
        HopProducts { pairs: Matrix::zeros(pairs.len(), products.len()), squares: Matrix::zeros(num_nodes, hops + 1) };
    for start in (0..width).step_by(PANEL) {
        let mut levels = vec![panel(start..width.min(start + PANEL))];
        for hop in 0..hops {
            let mut next = Matrix::default();
            operator.apply(&levels[hop], &mut next);
            levels.push(next);
        }
        let cost = 4 * levels[0].cols() * products.len();
        for_row_blocks(found.pairs.data_mut(), products.len(), cost, |first, rows| {
            add_products(&levels, products, &pairs[first..], rows);
        });
        for_row_blocks(found.squares.data_mut(), hops + 1, 2 * levels[0].cols() * (hops + 1), |first, rows| {
            for (at, row) in rows.chunks_exact_mut(hops + 1).enumerate() {
                for (square, level) in row.iter_mut().zip(&levels) {
                    let x = level.row(first + at);
                    *square += dot(x, x);
                }
            }
        });
    }
    found
}

/// How many pairs ahead rows are prefetched.
const AHEAD: usize = 4;

simd! {
    fn add_products(levels: &[Matrix], products: &[[usize; 2]], pairs: &[[u32; 2]], rows: &mut [f32]) {
        let width = levels[0].cols();
        for (at, row) in rows.chunks_exact_mut(products.len()).enumerate() {
            for &node in pairs.get(at + AHEAD).into_iter().flatten() {
                levels.iter().for_each(|level| prefetch(level.data(), node as usize * width, width));
            }
            let [i, j] = pairs[at].map(|node| node as usize);
            for (sum, &[a, b]) in row.iter_mut().zip(products) {
                let there = dot(levels[a].row(i), levels[b].row(j));
                // Both ways, so that a pair and its reverse have the same bits.
                *sum += if a == b { there } else { 0.5 * (there + dot(levels[b].row(i), levels[a].row(j))) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::generate;

    #[test]
    fn products_equal_those_of_the_propagated_matrix_in_any_number_of_panels() {
        let graph = generate::communities(3, 6, 0.1, 2).graph;
        let operator = Operator::symmetric(graph.into());
        let x = Matrix::from_fn(18, 150, |i, c| ((i * 7 + c * 11) % 23) as f32 * 0.1 - 1.0);
        let panel = |columns: Range<usize>| Matrix::from_fn(18, columns.len(), |i, c| x.row(i)[columns.start + c]);
        let pairs = [[0, 1], [1, 0], [4, 17], [3, 3]];
        let found = hop_products(&operator, 150, panel, &[[0, 0], [1, 2]], &pairs);
        let hops: Vec<Matrix> = (0..3).map(|hop| operator.propagate(x.clone(), hop)).collect();
        let product = |a: usize, i: u32, b: usize, j: u32| -> f32 {
            hops[a].row(i as usize).iter().zip(hops[b].row(j as usize)).map(|(x, y)| x * y).sum()
        };
        for (pair, &[i, j]) in pairs.iter().enumerate() {
            let expected = [product(0, i, 0, j), 0.5 * (product(1, i, 2, j) + product(2, i, 1, j))];
            let near = found.pairs.row(pair).iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-4 * b.abs().max(1.0));
            assert!(near, "{:?} {expected:?}", found.pairs.row(pair));
        }
        assert_eq!(found.pairs.row(0), found.pairs.row(1));
        assert!((found.squares.row(4)[2] - product(2, 4, 2, 4)).abs() < 1e-3);
    }
}
