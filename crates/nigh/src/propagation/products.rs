//! Inner products of propagated rows for given pairs, a few columns at a time: `<(M^a X)_i, (M^b X)_j>`. Two panels of columns are in
//! memory, and the rows of the ends of pairs at each hop, whatever the width of `X`.

use super::levels::Levels;
use crate::linalg::dispatch::simd;
use crate::linalg::fold::{LANES, fold_one, lane_products};
use crate::linalg::{Matrix, for_row_blocks, prefetch};
use rayon::prelude::*;

/// Columns that are propagated together where memory allows: narrower panels cost more per column.
pub(crate) const PANEL: usize = 64;

/// Columns whose products are summed before they are added to those of other columns, so that every width of a panel that is a
/// multiple of it gives the same bits.
pub(crate) const GROUP: usize = LANES;

/// The ends of pairs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PairEnds {
    /// Distinct nodes, in ascending order.
    pub nodes: Vec<u32>,
    /// Each pair, by the places of its ends in `nodes`.
    pub pairs: Vec<[u32; 2]>,
}

impl PairEnds {
    pub fn of(pairs: &[[u32; 2]]) -> PairEnds {
        let mut nodes = pairs.as_flattened().to_vec();
        nodes.par_sort_unstable();
        nodes.dedup();
        nodes.shrink_to_fit();
        let place = |node: u32| nodes.binary_search(&node).expect("an end of a pair") as u32;
        let pairs = pairs.par_iter().map(|pair| pair.map(place)).collect();
        PairEnds { nodes, pairs }
    }
}

/// What pairs and nodes have in common over the hops of a matrix.
#[derive(Debug, Default)]
pub(crate) struct HopProducts {
    /// A row per pair, a column per entry `[a, b]` of the list: `½ (<x^a_i, x^b_j> + <x^b_i, x^a_j>)`.
    pub pairs: Matrix,
    /// A row per end: `|x^a_i|²` for `a = 0, 1, ...`, as far as a product takes `x^a`.
    pub squares: Matrix,
}

/// `x^a = M^a X` for `a` up to the largest in `products`, which take `x^a` and `x^b` of the same hop or of one after the other.
pub(crate) fn hop_products(levels: &Levels<'_>, products: &[[usize; 2]], ends: &PairEnds) -> HopProducts {
    assert!(products.iter().all(|[a, b]| a == b || a + 1 == *b), "hops that follow each other");
    let last = products.iter().flatten().copied().max().unwrap_or(0);
    let used: Vec<usize> = (0..=last).filter(|hop| products.as_flattened().contains(hop)).collect();
    let mut found = HopProducts {
        pairs: Matrix::zeros(ends.pairs.len(), products.len()),
        squares: Matrix::zeros(ends.nodes.len(), last + 1),
    };
    // Rows of the ends at the hop before, and at this one.
    let [mut before, mut now] = [(); 2].map(|()| Matrix::default());
    levels.of(&ends.nodes, &used, |columns, hop, rows| {
        assert!(columns.start.is_multiple_of(GROUP), "panels of whole groups");
        std::mem::swap(&mut before, &mut now);
        std::mem::swap(&mut now, rows);
        let of_hop = |kind: [usize; 2]| products.iter().position(|&product| product == kind);
        let (same, across) = (of_hop([hop, hop]), hop.checked_sub(1).and_then(|last| of_hop([last, hop])));
        let cost = 4 * columns.len() * (1 + 2 * usize::from(across.is_some()));
        for_row_blocks(found.pairs.data_mut(), products.len(), cost, |first, rows| {
            add_products([&before, &now], [same, across], products.len(), &ends.pairs[first..], rows);
        });
        for_row_blocks(found.squares.data_mut(), last + 1, 2 * columns.len(), |first, rows| {
            add_squares(&now, hop, last + 1, first, rows);
        });
    });
    found
}

/// The inner product of a group of columns.
#[inline(always)]
fn product(a: &[f32], b: &[f32]) -> f32 {
    // Without the black box the compiler vectorises the sum of lanes, only two wide.
    fold_one(&std::hint::black_box(lane_products(a, b)))
}

/// How many pairs ahead rows are prefetched.
const AHEAD: usize = 4;

simd! {
    /// Adds `<now_i, now_j>` in one column of each row, and `½ (<before_i, now_j> + <now_i, before_j>)` in another: both ways, so that a
    /// pair and its reverse have the same bits.
    fn add_products(
        levels: [&Matrix; 2],
        columns: [Option<usize>; 2],
        count: usize,
        pairs: &[[u32; 2]],
        rows: &mut [f32],
    ) {
        let [before, now] = levels;
        let width = now.cols();
        for (at, row) in rows.chunks_exact_mut(count).enumerate() {
            for &node in pairs.get(at + AHEAD).into_iter().flatten() {
                levels.iter().for_each(|level| prefetch(level.data(), node as usize * width, level.cols()));
            }
            let [i, j] = pairs[at].map(|place| place as usize);
            for start in (0..width).step_by(GROUP) {
                let group = start..width.min(start + GROUP);
                let (now_i, now_j) = (&now.row(i)[group.clone()], &now.row(j)[group.clone()]);
                if let Some(column) = columns[0] {
                    row[column] += product(now_i, now_j);
                }
                if let Some(column) = columns[1] {
                    let (before_i, before_j) = (&before.row(i)[group.clone()], &before.row(j)[group]);
                    row[column] += 0.5 * (product(before_i, now_j) + product(now_i, before_j));
                }
            }
        }
    }
}

simd! {
    fn add_squares(rows: &Matrix, hop: usize, count: usize, first: usize, squares: &mut [f32]) {
        for (at, row) in squares.chunks_exact_mut(count).enumerate() {
            for x in rows.row(first + at).chunks(GROUP) {
                row[hop] += product(x, x);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::generate;
    use crate::graph::Operator;
    use crate::linalg::dispatch::testing::assert_same_bits_at_every_level;
    use crate::propagation::Execution;
    use crate::propagation::levels::LevelSource;
    use std::ops::Range;

    fn example() -> (Operator, Matrix) {
        let operator = Operator::symmetric(generate::communities(3, 6, 0.1, 2).graph.into());
        (operator, Matrix::from_fn(18, 150, |i, c| ((i * 7 + c * 11) % 23) as f32 * 0.1 - 1.0))
    }

    fn products_in_panels(panel: usize, products: &[[usize; 2]], pairs: &[[u32; 2]]) -> HopProducts {
        let (operator, x) = example();
        let fill = |columns: Range<usize>, panel: &mut Matrix| {
            *panel = Matrix::from_fn(18, columns.len(), |i, c| x.row(i)[columns.start + c]);
        };
        let source = LevelSource::Columns { width: 150, fill: &fill };
        let mut execution = Execution::default();
        execution.panels.width = panel;
        hop_products(&Levels { operator: &operator, execution: &execution, source }, products, &PairEnds::of(pairs))
    }

    #[test]
    fn products_equal_those_of_the_propagated_matrix() {
        let pairs = [[0, 1], [1, 0], [4, 17], [3, 3]];
        let found = products_in_panels(64, &[[0, 0], [1, 2]], &pairs);
        let (operator, x) = example();
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
        // The ends in ascending order: 0, 1, 3, 4, 17.
        assert!((found.squares.row(3)[2] - product(2, 4, 2, 4)).abs() < 1e-3);
    }

    #[test]
    fn panels_of_every_width_give_the_same_bits_at_every_level() {
        let pairs: Vec<[u32; 2]> = (0..18).flat_map(|i| (0..18).map(move |j| [i, j])).collect();
        let products = [[1, 1], [1, 2], [2, 2], [2, 3], [3, 3]];
        let expected = products_in_panels(64, &products, &pairs);
        for panel in [16, 32, 48] {
            let found = products_in_panels(panel, &products, &pairs);
            assert!(found.pairs == expected.pairs && found.squares == expected.squares, "{panel}");
        }
        assert_same_bits_at_every_level(|| {
            let found = products_in_panels(64, &products, &pairs);
            (found.pairs, found.squares)
        });
    }

    #[test]
    fn ends_are_numbered_in_ascending_order() {
        let ends = PairEnds::of(&[[7, 2], [2, 9], [9, 9]]);
        assert_eq!(ends, PairEnds { nodes: vec![2, 7, 9], pairs: vec![[1, 0], [0, 2], [2, 2]] });
    }
}
