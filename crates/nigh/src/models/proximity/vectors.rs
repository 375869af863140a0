//! Vectors of nodes for a model that scores pairs by more than their representations. Blocks stand side by side, each scaled to
//! length one and weighed: the cosine of two vectors is the weighted mean of the cosines of their blocks. The weights are fitted
//! so that cosines rank validation pairs as the model does.

use super::pair_scalars::PairSource;
use crate::error::Result;
use crate::linalg::{Matrix, dot, for_row_blocks, normalize_rows};
use crate::models::{Model, View};
use crate::propagation::levels::LevelSource;
use crate::propagation::{PanelFile, rows_at_a_time};
use crate::seeds::Purpose;
use crate::tape::WeightAccess;
use std::ops::Range;
use std::path::Path;

/// The weight of each block; blocks of weight zero are left out.
const BLOCKS: &str = "vectors/blocks";

/// Columns of a block of walks or features: the deviation of an estimated cosine is one over the root of it.
const COLUMNS: usize = 64;

/// `a` of the blocks `Ã^a E`. The last says in which part of a graph of large diameter a node is.
const WALKS: [usize; 4] = [1, 2, 3, 8];

/// `k` of the blocks `Ã^k X`, if there are features.
const HOPS_OF_FEATURES: [usize; 3] = [0, 1, 2];

/// Where the blocks are, by kind: walks, features, `H`, and two of degrees.
const FIRST_OF_FEATURES: usize = WALKS.len();
const REPRESENTATION: usize = FIRST_OF_FEATURES + HOPS_OF_FEATURES.len();
const FIRST_OF_DEGREES: usize = REPRESENTATION + 1;
const COUNT: usize = FIRST_OF_DEGREES + 2;

/// Declares the weights of blocks.
pub(in crate::models) fn declare(sources: &[PairSource], weights: &mut WeightAccess<'_>) {
    if !sources.is_empty() {
        weights.frozen(BLOCKS, [1, COUNT]);
    }
}

/// The width of a vector with all of its blocks, of nodes with this many features that are represented in so many columns.
pub(crate) fn most_vectors_width(num_features: usize, representation: usize) -> usize {
    COLUMNS * (WALKS.len() + 2) + HOPS_OF_FEATURES.len() * num_features.min(COLUMNS) + representation
}

impl Model {
    /// The vectors of all nodes, given their representations.
    pub(crate) fn vectors(&self, view: &View, h: &Matrix) -> Matrix {
        self.vectors_of(view, h, &(0..view.graph().num_nodes() as u32).collect::<Vec<_>>())
    }

    /// The vectors of these nodes, given the representations of all.
    pub(crate) fn vectors_of(&self, view: &View, h: &Matrix, nodes: &[u32]) -> Matrix {
        let weights = self.weights.get(BLOCKS).expect("declared with the sources of pairs").value.data();
        let mut blocks = Vec::new();
        let take = |at: usize, block| blocks.push((weights[at].sqrt(), block));
        self.for_blocks(view, h, nodes, |block| weights[block] > 0.0, take);
        side_by_side(&blocks, nodes.len())
    }

    /// The width of a vector.
    pub(crate) fn vectors_width(&self) -> usize {
        let weights = self.weights.get(BLOCKS).expect("declared with the sources of pairs").value.data();
        let directions = self.num_directions().min(COLUMNS);
        let width = |block: usize| match block {
            FIRST_OF_FEATURES..REPRESENTATION => directions,
            REPRESENTATION => self.representation_width(),
            _ => COLUMNS,
        };
        (0..COUNT).filter(|&block| weights[block] > 0.0).map(width).sum()
    }

    /// Hands over the vectors of all nodes in order, some at a time; what message passing gives is spilled to `folder`.
    pub(crate) fn for_each_vectors(
        &self,
        view: &View,
        h: &Matrix,
        folder: &Path,
        take: &mut dyn FnMut(&Matrix) -> Result<()>,
    ) -> Result<()> {
        let weights = self.weights.get(BLOCKS).expect("declared with the sources of pairs").value.data();
        let n = view.graph().num_nodes();
        let spilled = |first: usize, source: LevelSource<'_>, hops: &[usize]| {
            let wanted = hops.iter().enumerate().filter(|(at, _)| weights[first + at] > 0.0);
            let hops: Vec<usize> = wanted.map(|(_, hop)| *hop).collect();
            let width = source.width();
            let mut file = PanelFile::create(folder, n, hops.len() * width)?;
            let mut written = Ok(());
            view.levels(source).all(&hops, |columns, hop, x| {
                if let (Some(at), true) = (hops.iter().position(|&of| of == hop), written.is_ok()) {
                    file.panel(at * width + columns.start..at * width + columns.end);
                    written = file.write(x);
                }
            });
            written.map(|()| (file, hops.len(), width))
        };
        let stream = self.seeds().stream(Purpose::Signal, &[view.graph]);
        let signal = |addresses: &[u32], columns, e: &mut Matrix| {
            self.shape().signal.fill(stream, addresses, columns, 1.0, e);
        };
        let mut files = vec![(0, spilled(0, self.walk_source(view), &WALKS)?)];
        if let Some(directions) = self.directions(&view.features) {
            let fill = |columns: Range<usize>, x: &mut Matrix| directions.fill(columns, x);
            let source = LevelSource::Columns { width: directions.cols().min(COLUMNS), fill: &fill };
            files.push((FIRST_OF_FEATURES, spilled(FIRST_OF_FEATURES, source, &HOPS_OF_FEATURES)?));
        }
        let scale_of = |block: usize| weights[block].sqrt();
        let (mut rows, mut e) = (Matrix::default(), Matrix::default());
        let at_a_time = rows_at_a_time(self.vectors_width());
        for first in (0..n).step_by(at_a_time) {
            let some = first..(first + at_a_time).min(n);
            let mut blocks = Vec::new();
            for (kind, (file, count, width)) in &mut files {
                file.read(some.clone(), &mut rows)?;
                let wanted = (*kind..).filter(|&block| weights[block] > 0.0).take(*count);
                for (at, block) in wanted.enumerate() {
                    let own = rows.columns(at * *width..(at + 1) * *width);
                    blocks.push((scale_of(block), unit_rows(&own)));
                }
            }
            let nodes: Vec<u32> = (some.start as u32..some.end as u32).collect();
            if h.cols() > 0 && weights[REPRESENTATION] > 0.0 {
                blocks.push((scale_of(REPRESENTATION), unit_rows(&h.permute_rows(&nodes))));
            }
            signal(&view.addresses[some], COLUMNS..2 * COLUMNS - 1, &mut e);
            let push = |block: usize, rows| blocks.push((scale_of(block), rows));
            degree_blocks(view, &nodes, &unit_rows(&e), |block| weights[block] > 0.0, push);
            take(&side_by_side(&blocks, nodes.len()))?;
        }
        Ok(())
    }

    /// All blocks of some nodes, from which weights are fitted and vectors are made.
    pub(crate) fn vector_blocks(&self, view: &View, h: &Matrix, mut nodes: Vec<u32>) -> VectorBlocks {
        nodes.sort_unstable();
        nodes.dedup();
        let mut blocks = Vec::new();
        self.for_blocks(view, h, &nodes, |_| true, |at, block| blocks.push((at, block)));
        VectorBlocks { nodes, blocks }
    }

    /// Fits the weights of blocks to the scores of pairs.
    pub(crate) fn learn_vectors(&mut self, blocks: &VectorBlocks, pairs: &[[u32; 2]], scores: &[f32]) {
        let mut rows = vec![vec![0.0; COUNT]; pairs.len()];
        for (at, block) in &blocks.blocks {
            for (row, pair) in rows.iter_mut().zip(pairs) {
                let [i, j] = pair.map(|node| blocks.place(node));
                row[*at] = f64::from(dot(block.row(i), block.row(j)));
            }
        }
        let fitted = non_negative_fit(&rows, &crate::metric::ranks(scores));
        let total: f64 = fitted.iter().sum();
        // Where no block agrees with the scores, the shortest walks are as good as any.
        let weight = |block: usize| match total > 0.0 {
            true => (fitted[block] / total) as f32,
            false => f32::from(u8::from(block < WALKS.len())) / WALKS.len() as f32,
        };
        let values = (0..COUNT).map(weight).collect();
        self.weights.named(BLOCKS).expect("declared with the sources of pairs").value =
            Matrix::from_data(1, COUNT, values);
    }

    /// The vectors of some of the nodes of these blocks.
    pub(crate) fn vectors_from(&self, blocks: &VectorBlocks, nodes: &[u32]) -> Matrix {
        let weights = self.weights.get(BLOCKS).expect("declared with the sources of pairs").value.data();
        let places: Vec<u32> = nodes.iter().map(|&node| blocks.place(node) as u32).collect();
        let wanted = blocks.blocks.iter().filter(|(at, _)| weights[*at] > 0.0);
        let chosen: Vec<(f32, Matrix)> =
            wanted.map(|(at, block)| (weights[*at].sqrt(), block.permute_rows(&places))).collect();
        side_by_side(&chosen, nodes.len())
    }

    /// Calls `take(number, block)` for every block that the model has and somebody wants, in ascending order: a row of length one for
    /// each of some nodes.
    fn for_blocks(
        &self,
        view: &View,
        h: &Matrix,
        nodes: &[u32],
        wanted: impl Fn(usize) -> bool,
        mut take: impl FnMut(usize, Matrix),
    ) {
        // Which blocks are wanted may depend on what is only known once the rows are there.
        let is_recording = view.execution.is_recording();
        let of_kind = |blocks: Range<usize>, hops: &[usize]| -> (Vec<usize>, Vec<usize>) {
            let is_wanted = |block: usize| is_recording || wanted(block);
            blocks.zip(hops).filter(|(block, _)| is_wanted(*block)).map(|(block, hop)| (block, *hop)).unzip()
        };
        let (blocks, hops) = of_kind(0..WALKS.len(), &WALKS);
        let walks = view.levels(self.walk_source(view)).rows(&hops, Some(nodes));
        blocks.into_iter().zip(walks).for_each(|(block, rows)| take(block, unit_rows(&rows)));
        if let Some(directions) = self.directions(&view.features) {
            let (blocks, hops) = of_kind(FIRST_OF_FEATURES..REPRESENTATION, &HOPS_OF_FEATURES);
            let fill = |columns: Range<usize>, x: &mut Matrix| directions.fill(columns, x);
            let source = LevelSource::Columns { width: directions.cols().min(COLUMNS), fill: &fill };
            let features = view.levels(source).rows(&hops, Some(nodes));
            blocks.into_iter().zip(features).for_each(|(block, rows)| take(block, unit_rows(&rows)));
        }
        if h.cols() > 0 && wanted(REPRESENTATION) {
            take(REPRESENTATION, unit_rows(&h.permute_rows(nodes)));
        }
        let own: Vec<u32> = nodes.iter().map(|&node| view.addresses[node as usize]).collect();
        let (stream, mut directions) = (self.seeds().stream(Purpose::Signal, &[view.graph]), Matrix::default());
        self.shape().signal.fill(stream, &own, COLUMNS..2 * COLUMNS - 1, 1.0, &mut directions);
        degree_blocks(view, nodes, &unit_rows(&directions), wanted, take);
    }

    /// `E` of the blocks of walks: those of Ã, which lets a walk stay. Without that, neighbours in a graph without triangles have nothing in
    /// common.
    fn walk_source<'a>(&self, view: &'a View) -> LevelSource<'a> {
        let (signal, stream) = (self.shape().signal, self.seeds().stream(Purpose::Signal, &[view.graph]));
        LevelSource::Signal { signal, stream, addresses: &view.addresses, dim: COLUMNS, factor: 1.0 }
    }
}

/// The blocks of degrees, for nodes with these directions.
fn degree_blocks(
    view: &View,
    nodes: &[u32],
    directions: &Matrix,
    wanted: impl Fn(usize) -> bool,
    mut take: impl FnMut(usize, Matrix),
) {
    let degree = |place: usize| view.graph().degree(nodes[place] as usize) as f32;
    let share = |place: usize| 1.0 - 1.0 / (1.0 + degree(place).ln_1p());
    let shares: [&dyn Fn(usize) -> f32; 2] = [&share, &|place| 1.0 - share(place)];
    for (block, share) in (FIRST_OF_DEGREES..).zip(shares).filter(|(block, _)| wanted(*block)) {
        take(block, products(directions, share));
    }
}

/// The blocks of some nodes, by number, with rows of length one.
#[derive(Debug)]
pub(crate) struct VectorBlocks {
    /// In ascending order.
    nodes: Vec<u32>,
    blocks: Vec<(usize, Matrix)>,
}

impl VectorBlocks {
    fn place(&self, node: u32) -> usize {
        self.nodes.binary_search(&node).expect("a node of these blocks")
    }
}

/// Rows `[b_i, sqrt(1 - b_i²) e_i]` with directions `e_i` that have nothing in common: their inner products are about `b_i b_j`.
fn products(directions: &Matrix, share: &dyn Fn(usize) -> f32) -> Matrix {
    let mut rows = Matrix::zeros(directions.rows(), directions.cols() + 1);
    for node in 0..rows.rows() {
        let (b, row) = (share(node), rows.row_mut(node));
        row[0] = b;
        let rest = (1.0 - b * b).max(0.0).sqrt();
        row[1..].iter_mut().zip(directions.row(node)).for_each(|(x, e)| *x = rest * e);
    }
    rows
}

/// Blocks of columns, each with its factor.
pub(in crate::models) fn side_by_side(blocks: &[(f32, Matrix)], nodes: usize) -> Matrix {
    let width: usize = blocks.iter().map(|(_, block)| block.cols()).sum();
    let mut vectors = Matrix::zeros(nodes, width);
    for_row_blocks(vectors.data_mut(), width, 2 * width, |first, rows| {
        for (at, row) in rows.chunks_exact_mut(width.max(1)).enumerate() {
            let mut left = 0;
            for (scale, block) in blocks {
                let entries = block.row(first + at);
                row[left..][..entries.len()].iter_mut().zip(entries).for_each(|(out, x)| *out = scale * x);
                left += entries.len();
            }
        }
    });
    vectors
}

pub(in crate::models) fn unit_rows(x: &Matrix) -> Matrix {
    let mut unit = Matrix::default();
    normalize_rows(x, &mut unit, &mut Vec::new());
    unit
}

/// `w >= 0` that minimises `|y - X w - c|²` by coordinate descent; a small penalty decides between columns that are alike.
fn non_negative_fit(x: &[Vec<f64>], y: &[f64]) -> Vec<f64> {
    const ROUNDS: usize = 500;
    const PENALTY: f64 = 1e-3;
    let (count, width) = (x.len().max(1) as f64, x.first().map_or(0, Vec::len));
    let mean_of = |value: &dyn Fn(usize) -> f64| (0..x.len()).map(value).sum::<f64>() / count;
    let means: Vec<f64> = (0..width).map(|column| mean_of(&|row| x[row][column])).collect();
    let mean = mean_of(&|row| y[row]);
    let gram = |a: usize, b: usize| mean_of(&|row| (x[row][a] - means[a]) * (x[row][b] - means[b]));
    let products: Vec<Vec<f64>> = (0..width).map(|a| (0..width).map(|b| gram(a, b)).collect()).collect();
    let targets: Vec<f64> = (0..width).map(|a| mean_of(&|row| (x[row][a] - means[a]) * (y[row] - mean))).collect();
    let size = products.iter().enumerate().map(|(a, row)| row[a]).fold(0.0, f64::max);
    let mut w = vec![0.0; width];
    for _ in 0..ROUNDS {
        for a in 0..width {
            let others: f64 = (0..width).filter(|&b| b != a).map(|b| products[a][b] * w[b]).sum();
            let diagonal = products[a][a] + PENALTY * size;
            w[a] = if diagonal > 0.0 { ((targets[a] - others) / diagonal).max(0.0) } else { 0.0 };
        }
    }
    w
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeds::Seeds;

    #[test]
    fn a_fit_finds_the_weights_and_leaves_out_what_opposes() {
        let mut rng = Seeds::new(3).rng(Purpose::Generate, &[]);
        let mut row = |_: usize| {
            let [a, b, c] = [(); 3].map(|()| f64::from(rng.unit()));
            (vec![a, b, c], 0.3 * a + 0.6 * b - 0.5 * c + 2.0)
        };
        let (x, y): (Vec<Vec<f64>>, Vec<f64>) = (0..4_000).map(&mut row).unzip();
        let w = non_negative_fit(&x, &y);
        assert!((w[0] - 0.3).abs() < 0.05 && (w[1] - 0.6).abs() < 0.05 && w[2] == 0.0, "{w:?}");
    }

    #[test]
    fn cosines_of_degrees_are_products_of_shares() {
        let stream = Seeds::new(3).stream(Purpose::Signal, &[0]);
        let nodes: Vec<u32> = (0..200).collect();
        let e = unit_rows(&crate::source::Signal::Gaussian.matrix(stream, &nodes, 0..COLUMNS - 1, 1.0));
        let share = |node: usize| (node % 10) as f32 / 10.0;
        let rows = products(&e, &share);
        for i in 0..200 {
            assert!((dot(rows.row(i), rows.row(i)) - 1.0).abs() < 1e-5);
            let error = |j: usize| f64::from(dot(rows.row(i), rows.row(j)) - share(i) * share(j)).powi(2);
            let mean = (0..200).filter(|&j| j != i).map(error).sum::<f64>() / 199.0;
            assert!(mean.sqrt() < 1.5 / (COLUMNS as f64).sqrt(), "{mean}");
        }
    }
}
