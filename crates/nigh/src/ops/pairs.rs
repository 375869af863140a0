//! Scores of pairs of nodes, their loss and its gradient in one pass over an incidence list: every node gathers from its
//! pairs, so there is no scatter, no atomic operation and no tensor with a row per pair.

use crate::linalg::dispatch::simd;
use crate::linalg::fold::{LANES, fold, lane_products};
use crate::linalg::incidence::Incidence;
use crate::linalg::logistic::cross_entropies;
use crate::linalg::{
    CACHED_BYTES, Matrix, entries, for_column_blocks, for_row_blocks, for_two_row_blocks, normalize_rows, prefetch,
    project_rows, row_length,
};

/// Whether rows are scaled to length one before their inner product is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// `<h_i, h_j>`, as in the text of the paper.
    Raw,
    /// `<h_i, h_j> / (|h_i| |h_j|)`, as in the runs behind its figures.
    Unit,
}

/// Binary cross-entropy of `sigmoid(<h_i, h_j>)` over linked and unlinked pairs, with its buffers.
#[derive(Debug, Default)]
pub struct PairLoss {
    /// Pairs that should score high.
    pub positive: Incidence,
    /// Pairs that should score low.
    pub negative: Incidence,
    buffers: Buffers,
}

impl PairLoss {
    /// The mean loss; its gradient with respect to `h` goes to `gradient`.
    pub fn loss(&mut self, h: &Matrix, scale: Scale, gradient: &mut Matrix) -> f64 {
        let [rows, width] = h.shape();
        let mut buffers = std::mem::take(&mut self.buffers);
        let z = match scale {
            Scale::Raw => h,
            Scale::Unit => {
                normalize_rows(h, &mut buffers.unit, &mut buffers.scales);
                &buffers.unit
            }
        };
        gradient.reshape(rows, width);
        buffers.losses.resize(rows, 0.0);
        let num_pairs = self.positive.num_pairs() + self.negative.num_pairs();
        let share = 1.0 / num_pairs as f32;
        let cost = 4 * width * num_pairs / rows.max(1);
        for_two_row_blocks(gradient.data_mut(), width, &mut buffers.losses, 1, cost, |first, rows, losses| {
            self.gather(z, share, first, rows, losses);
            if scale == Scale::Unit {
                project_rows(z, &buffers.scales, first, rows);
            }
        });
        // Both ends of a pair count its loss.
        let loss = 0.5 * buffers.losses.iter().sum::<f64>() / num_pairs as f64;
        self.buffers = buffers;
        loss
    }
}

/// Storage that the next loss reuses.
#[derive(Debug, Default)]
struct Buffers {
    unit: Matrix,
    /// One over the length of each row.
    scales: Vec<f32>,
    /// By node.
    losses: Vec<f64>,
}

/// Ends of pairs whose scores are computed together: enough to hide latencies, few enough for the nearest cache.
const GROUP_SIZE: usize = 256;

/// Some of the pairs of one node.
#[derive(Clone, Copy)]
struct NodePairs<'a> {
    node: usize,
    others: &'a [u32],
}

/// Pairs of consecutive nodes that are scored together.
struct Group<'a> {
    nodes: [NodePairs<'a>; GROUP_SIZE],
    num_nodes: usize,
    num_ends: usize,
    labels: [f32; GROUP_SIZE],
    /// Partial sums of the inner products.
    parts: [[f32; LANES]; GROUP_SIZE],
    /// Scores, then the derivative of the loss by them.
    scores: [f32; GROUP_SIZE],
}

impl Group<'_> {
    fn new() -> Self {
        Group {
            nodes: [NodePairs { node: 0, others: &[] }; GROUP_SIZE],
            num_nodes: 0,
            num_ends: 0,
            labels: [0.0; GROUP_SIZE],
            parts: [[0.0; LANES]; GROUP_SIZE],
            scores: [0.0; GROUP_SIZE],
        }
    }
}

impl PairLoss {
    /// Losses and gradients of consecutive nodes from `first` on.
    fn gather(&self, z: &Matrix, share: f32, first: usize, rows: &mut [f32], losses: &mut [f64]) {
        rows.fill(0.0);
        let far = size_of_val(z.data()) > CACHED_BYTES;
        let mut group = Group::new();
        for (at, loss) in losses.iter_mut().enumerate() {
            *loss = 0.0;
            for (pairs, label) in [(&self.positive, 1.0), (&self.negative, 0.0)] {
                let mut others = pairs.others(first + at);
                while !others.is_empty() {
                    if group.num_ends == GROUP_SIZE {
                        *loss += loss_of_group(&mut group, z, share, first, rows);
                    }
                    let (now, later) = others.split_at(others.len().min(GROUP_SIZE - group.num_ends));
                    group.labels[group.num_ends..][..now.len()].fill(label);
                    group.nodes[group.num_nodes] = NodePairs { node: first + at, others: now };
                    group.num_nodes += 1;
                    group.num_ends += now.len();
                    if far {
                        // Read when the group is full.
                        now.iter().for_each(|&other| prefetch(z.data(), other as usize * z.cols(), z.cols()));
                    }
                    others = later;
                }
            }
        }
        if let Some(loss) = losses.last_mut() {
            *loss += loss_of_group(&mut group, z, share, first, rows);
        }
    }
}

simd! {
    /// The loss of a group, whose gradient is added to `rows`, of which the first belongs to node `first`.
    fn loss_of_group(group: &mut Group<'_>, z: &Matrix, share: f32, first: usize, rows: &mut [f32]) -> f64 {
        let (width, nodes) = (z.cols(), &group.nodes[..group.num_nodes]);
        let mut end = 0;
        for pairs_of in nodes {
            let a = z.row(pairs_of.node);
            for &other in pairs_of.others {
                group.parts[end] = lane_products(a, z.row(other as usize));
                end += 1;
            }
        }
        // In whole blocks of sixteen; sums beyond the last end are not used.
        let filled = group.num_ends.next_multiple_of(LANES);
        fold(&group.parts[..filled], &mut group.scores[..filled]);
        let mut sums = [0.0; LANES];
        let blocks = group.scores[..filled].as_chunks_mut::<LANES>().0;
        for (block, (scores, labels)) in blocks.iter_mut().zip(group.labels.as_chunks::<LANES>().0).enumerate() {
            let (losses, slopes) = cross_entropies(scores, labels);
            for lane in 0..LANES {
                let counts = block * LANES + lane < group.num_ends;
                sums[lane] += if counts { f64::from(losses[lane]) } else { 0.0 };
                scores[lane] = slopes[lane] * share;
            }
        }
        let mut slopes = &group.scores[..group.num_ends];
        for pairs_of in nodes {
            let (now, later) = slopes.split_at(pairs_of.others.len());
            let g = &mut rows[(pairs_of.node - first) * width..][..width];
            for_column_blocks!(width, column => add_rows(z, pairs_of.others, now, column, g));
            slopes = later;
        }
        (group.num_nodes, group.num_ends) = (0, 0);
        let mut loss = 0.0;
        for sum in sums {
            loss += sum;
        }
        loss
    }
}

/// `g += Σ_j scale_j z_j`, `B` columns of it, in registers.
#[inline(always)]
fn add_rows<const B: usize>(z: &Matrix, others: &[u32], scales: &[f32], column: usize, g: &mut [f32]) {
    let mut sum = *entries::<B>(g, column);
    for (&j, scale) in others.iter().zip(scales) {
        let z = entries::<B>(z.data(), j as usize * z.cols() + column);
        for c in 0..B {
            sum[c] += scale * z[c];
        }
    }
    g[column..][..B].copy_from_slice(&sum);
}

/// The score of every pair, in order. Only the lengths of rows in these pairs are computed.
pub fn scores(h: &Matrix, pairs: &[[u32; 2]], scale: Scale, out: &mut Vec<f32>) {
    out.resize(pairs.len(), 0.0);
    for_row_blocks(out, 1, 4 * h.cols(), |first, scores| {
        score_some(h, &pairs[first..][..scores.len()], scale, scores);
    });
}

simd! {
    fn score_some(h: &Matrix, pairs: &[[u32; 2]], scale: Scale, scores: &mut [f32]) {
        for (pairs, scores) in pairs.chunks(LANES).zip(scores.chunks_mut(LANES)) {
            let mut parts = [[[0.0; LANES]; LANES]; 3];
            for (at, &[i, j]) in pairs.iter().enumerate() {
                let (a, b) = (h.row(i as usize), h.row(j as usize));
                parts[0][at] = lane_products(a, b);
                if scale == Scale::Unit {
                    parts[1][at] = lane_products(a, a);
                    parts[2][at] = lane_products(b, b);
                }
            }
            let mut sums = [[0.0; LANES]; 3];
            for (parts, sums) in parts.iter().zip(&mut sums) {
                fold(parts, sums);
            }
            for (at, score) in scores.iter_mut().enumerate() {
                let lengths = row_length(sums[1][at]) * row_length(sums[2][at]);
                *score = if scale == Scale::Unit { sums[0][at] / lengths } else { sums[0][at] };
            }
        }
    }
}

/// `out_p = h_i ⊙ h_j`, the input of the pair predictor.
pub fn hadamard(h: &Matrix, pairs: &[[u32; 2]], out: &mut Matrix) {
    let width = h.cols();
    out.reshape(pairs.len(), width);
    for_row_blocks(out.data_mut(), width, 2 * width, |first, rows| hadamard_rows(h, &pairs[first..], rows));
}

/// How many pairs ahead rows are prefetched.
const AHEAD: usize = 4;

simd! {
    fn hadamard_rows(h: &Matrix, pairs: &[[u32; 2]], rows: &mut [f32]) {
        let width = h.cols();
        for (at, row) in rows.chunks_exact_mut(width).enumerate() {
            if let Some(later) = pairs.get(at + AHEAD) {
                for &node in later {
                    prefetch(h.data(), node as usize * width, width);
                }
            }
            let [i, j] = pairs[at];
            for ((out, a), b) in row.iter_mut().zip(h.row(i as usize)).zip(h.row(j as usize)) {
                *out = a * b;
            }
        }
    }
}

/// The gradient of `hadamard` with respect to `h`: `g_i = Σ_(p∋i) gradient_p ⊙ h_j`.
pub fn hadamard_gradient(h: &Matrix, incidence: &Incidence, pair_gradient: &Matrix, gradient: &mut Matrix) {
    let [rows, width] = h.shape();
    gradient.reshape(rows, width);
    let cost = width * (1 + 4 * incidence.num_pairs() / rows.max(1));
    for_row_blocks(gradient.data_mut(), width, cost, |first, rows| {
        gather_products(h, incidence, pair_gradient, first, rows);
    });
}

simd! {
    fn gather_products(h: &Matrix, incidence: &Incidence, pair_gradient: &Matrix, first: usize, rows: &mut [f32]) {
        let width = h.cols();
        for (at, g) in rows.chunks_exact_mut(width).enumerate() {
            let (others, pairs) = (incidence.others(first + at), incidence.pairs(first + at));
            for (&other, &pair) in others.iter().zip(pairs) {
                prefetch(h.data(), other as usize * width, width);
                prefetch(pair_gradient.data(), pair as usize * width, width);
            }
            for_column_blocks!(width, column => add_products(h, others, pair_gradient, pairs, column, g));
        }
    }
}

/// `g = Σ_p h_j ⊙ gradient_p`, `B` columns of it, in registers.
#[inline(always)]
fn add_products<const B: usize>(
    h: &Matrix,
    others: &[u32],
    pair_gradient: &Matrix,
    pairs: &[u32],
    column: usize,
    g: &mut [f32],
) {
    let width = h.cols();
    let mut sum = [0.0; B];
    for (&other, &pair) in others.iter().zip(pairs) {
        let a = entries::<B>(h.data(), other as usize * width + column);
        let b = entries::<B>(pair_gradient.data(), pair as usize * width + column);
        for c in 0..B {
            sum[c] += a[c] * b[c];
        }
    }
    g[column..][..B].copy_from_slice(&sum);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::dispatch::testing::assert_same_bits_at_every_level;
    use crate::tape::check_loss_gradient;

    /// A repeated pair, a pair with itself and a node without pairs.
    const POSITIVE: [[u32; 2]; 3] = [[0, 1], [2, 1], [0, 1]];
    const NEGATIVE: [[u32; 2]; 2] = [[3, 3], [0, 3]];

    #[test]
    fn gradients_agree_with_finite_differences() {
        for scale in [Scale::Raw, Scale::Unit] {
            let mut loss = PairLoss::default();
            loss.positive.rebuild(5, &POSITIVE);
            loss.negative.rebuild(5, &NEGATIVE);
            check_loss_gradient([5, 3], |h, gradient| loss.loss(h, scale, gradient));
        }
    }

    #[test]
    fn a_node_of_many_pairs_is_computed_in_several_groups() {
        // Node 0 is in 700 pairs of either kind, more than a group holds.
        let positive: Vec<[u32; 2]> = (0..700).map(|p| [0, 1 + p % 30]).collect();
        let negative: Vec<[u32; 2]> = (0..700).map(|p| [p % 31, 0]).collect();
        for width in [3, 32, 40, 64] {
            let h = Matrix::from_fn(31, width, |i, c| ((i * 7 + c * 5) % 11) as f32 * 0.1 - 0.45);
            let mut loss = PairLoss::default();
            loss.positive.rebuild(31, &positive);
            loss.negative.rebuild(31, &negative);
            let mut gradient = Matrix::default();
            let found = loss.loss(&h, Scale::Raw, &mut gradient);
            let (mut sum, mut expected) = (0.0, vec![0f64; 31 * width]);
            for (pairs, label) in [(&positive, 1.0), (&negative, 0.0)] {
                for &[i, j] in pairs {
                    let (i, j) = (i as usize, j as usize);
                    let s: f64 = h.row(i).iter().zip(h.row(j)).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
                    let p = 1.0 / (1.0 + (-s).exp());
                    sum -= if label > 0.5 { p.ln() } else { (1.0 - p).ln() };
                    for c in 0..width {
                        expected[i * width + c] += (p - label) / 1400.0 * f64::from(h.row(j)[c]);
                        expected[j * width + c] += (p - label) / 1400.0 * f64::from(h.row(i)[c]);
                    }
                }
            }
            assert!((found - sum / 1400.0).abs() < 1e-5, "width {width}: {found} {}", sum / 1400.0);
            let near = |(&a, &b): (&f32, &f64)| (f64::from(a) - b).abs() < 1e-5;
            assert!(gradient.data().iter().zip(&expected).all(near), "width {width}");
        }
    }

    #[test]
    fn scores_of_unit_rows_are_cosines() {
        let h = Matrix::from_fn(6, 20, |i, c| if i == 5 { 0.0 } else { ((i * 3 + c * 5) % 7) as f32 - 2.5 });
        let pairs: Vec<[u32; 2]> = (0..6).flat_map(|i| (0..6).map(move |j| [i, j])).collect();
        let (mut raw, mut unit) = (Vec::new(), Vec::new());
        scores(&h, &pairs, Scale::Raw, &mut raw);
        scores(&h, &pairs, Scale::Unit, &mut unit);
        for (at, &[i, j]) in pairs.iter().enumerate() {
            let dot = |i: u32, j: u32| -> f64 {
                h.row(i as usize).iter().zip(h.row(j as usize)).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
            };
            let cosine = dot(i, j) / (dot(i, i).sqrt() * dot(j, j).sqrt()).max(1e-24);
            assert!((f64::from(raw[at]) - dot(i, j)).abs() < 1e-4);
            assert!((f64::from(unit[at]) - cosine).abs() < 1e-6, "{i}, {j}: {} {cosine}", unit[at]);
        }
    }

    #[test]
    fn the_loss_is_the_mean_over_pairs() {
        let h = Matrix::from_fn(5, 3, |i, c| ((i * 3 + c) % 4) as f32 - 1.2);
        let mut loss = PairLoss::default();
        loss.positive.rebuild(5, &POSITIVE);
        loss.negative.rebuild(5, &NEGATIVE);
        let one = |&[i, j]: &[u32; 2], label: f32| {
            let s: f32 = h.row(i as usize).iter().zip(h.row(j as usize)).map(|(a, b)| a * b).sum();
            let p = 1.0 / (1.0 + (-f64::from(s)).exp());
            if label > 0.5 { -p.ln() } else { -(1.0 - p).ln() }
        };
        let sum: f64 = POSITIVE.iter().map(|p| one(p, 1.0)).chain(NEGATIVE.iter().map(|p| one(p, 0.0))).sum();
        let found = loss.loss(&h, Scale::Raw, &mut Matrix::default());
        assert!((found - sum / 5.0).abs() < 1e-6, "{found} {}", sum / 5.0);
    }

    #[test]
    fn the_gradient_of_the_hadamard_product_agrees_with_finite_differences() {
        let pairs = [[0, 1], [1, 2], [3, 3]];
        let mut incidence = Incidence::with_pairs();
        incidence.rebuild(4, &pairs);
        let upstream = Matrix::from_fn(3, 2, |p, c| (p + 2 * c) as f32 - 0.7);
        check_loss_gradient([4, 2], |h, gradient| {
            let mut product = Matrix::default();
            hadamard(h, &pairs, &mut product);
            hadamard_gradient(h, &incidence, &upstream, gradient);
            product.data().iter().zip(upstream.data()).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
        });
    }

    #[test]
    fn the_bits_are_the_same_at_every_level() {
        let positive: Vec<[u32; 2]> = (0..900).map(|p| [p * 7 % 90, p * 11 % 90]).collect();
        let negative: Vec<[u32; 2]> = (0..900).map(|p| [p * 13 % 90, p * 17 % 90]).collect();
        for width in [3, 32, 40, 64] {
            let h = Matrix::from_fn(90, width, |i, c| ((i * 7 + c * 5) % 11) as f32 * 0.1 - 0.45);
            for scale in [Scale::Raw, Scale::Unit] {
                assert_same_bits_at_every_level(|| {
                    let (mut loss, mut gradient, mut scored) = (PairLoss::default(), Matrix::default(), Vec::new());
                    loss.positive.rebuild(90, &positive);
                    loss.negative.rebuild(90, &negative);
                    let found = loss.loss(&h, scale, &mut gradient);
                    scores(&h, &positive, scale, &mut scored);
                    ((found, gradient), scored)
                });
            }
            assert_same_bits_at_every_level(|| {
                let (mut product, mut gradient) = (Matrix::default(), Matrix::default());
                let mut incidence = Incidence::with_pairs();
                incidence.rebuild(90, &positive);
                hadamard(&h, &positive, &mut product);
                hadamard_gradient(&h, &incidence, &product, &mut gradient);
                (product, gradient)
            });
        }
    }
}
