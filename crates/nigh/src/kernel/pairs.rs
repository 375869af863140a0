//! Pairs of nodes scored, judged and differentiated in one pass over an incidence list: every node gathers what its
//! pairs send it, so there is no scatter, no atomic, and no tensor with a row per pair.

use super::dispatch::simd;
use super::logistic::cross_entropies;
use super::normalize::{normalize, project};
use super::{Matrix, dot, entries, for_column_blocks, for_row_blocks, for_two_row_blocks};

/// Pairs by node: for every end of every pair, who is at the other end.
#[derive(Debug, Default)]
pub struct Incidence {
    offsets: Vec<u32>,
    others: Vec<u32>,
    /// The pair behind each entry of `others`, for those who ask.
    pairs: Option<Vec<u32>>,
}

impl Incidence {
    /// One that also remembers which pair an entry belongs to.
    pub fn with_pairs() -> Incidence {
        Incidence { pairs: Some(Vec::new()), ..Incidence::default() }
    }

    /// Sorts the ends of `pairs` by node and keeps the storage of the last time.
    pub fn rebuild(&mut self, num_nodes: usize, pairs: &[[u32; 2]]) {
        assert!(pairs.len() <= u32::MAX as usize / 2, "more pairs than 32 bits can number");
        self.offsets.clear();
        self.offsets.resize(num_nodes + 2, 0);
        pairs.iter().flatten().for_each(|&node| self.offsets[node as usize + 2] += 1);
        (2..num_nodes + 2).for_each(|at| self.offsets[at] += self.offsets[at - 1]);
        self.others.resize(2 * pairs.len(), 0);
        if let Some(numbers) = &mut self.pairs {
            numbers.resize(2 * pairs.len(), 0);
        }
        for (pair, &[a, b]) in pairs.iter().enumerate() {
            for (node, other) in [(a, b), (b, a)] {
                // One place ahead while filling, which leaves the offsets right at the end.
                let slot = &mut self.offsets[node as usize + 1];
                self.others[*slot as usize] = other;
                if let Some(numbers) = &mut self.pairs {
                    numbers[*slot as usize] = pair as u32;
                }
                *slot += 1;
            }
        }
        self.offsets.truncate(num_nodes + 1);
    }

    /// Number of pairs.
    pub fn num_pairs(&self) -> usize {
        self.others.len() / 2
    }

    fn range(&self, node: usize) -> std::ops::Range<usize> {
        self.offsets[node] as usize..self.offsets[node + 1] as usize
    }
}

/// Pairs of one node whose losses are computed together.
const AT_ONCE: usize = 16;

/// Whether rows are scaled to length one before their inner product is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// `<h_i, h_j>`, as the paper's text says.
    Raw,
    /// `<h_i, h_j> / (|h_i| |h_j|)`, as its figures were made.
    Unit,
}

/// Binary cross-entropy of `sigmoid(<h_i, h_j>)` over linked and unlinked pairs, with its buffers.
#[derive(Debug, Default)]
pub struct PairLoss {
    /// Pairs that should score high.
    pub positive: Incidence,
    /// Pairs that should score low.
    pub negative: Incidence,
    unit: Matrix,
    losses: Vec<f64>,
}

impl PairLoss {
    /// The mean loss; its gradient with respect to `h` goes to `gradient`.
    pub fn loss(&mut self, h: &Matrix, scale: Scale, gradient: &mut Matrix) -> f64 {
        let [rows, width] = h.shape();
        let z = match scale {
            Scale::Raw => h,
            Scale::Unit => {
                normalize(h, &mut self.unit);
                &self.unit
            }
        };
        gradient.reshape(rows, width);
        self.losses.resize(rows, 0.0);
        let num_pairs = self.positive.num_pairs() + self.negative.num_pairs();
        let share = 1.0 / num_pairs as f32;
        let (positive, negative) = (&self.positive, &self.negative);
        let cost = 4 * width * num_pairs / rows.max(1);
        for_two_row_blocks(gradient.data_mut(), width, &mut self.losses, 1, cost, |first, rows, losses| {
            gather(z, h, scale, positive, negative, share, first, rows, losses);
        });
        // Both ends of a pair report its loss.
        0.5 * self.losses.iter().sum::<f64>() / num_pairs as f64
    }
}

simd! {
    fn gather(
        z: &Matrix, h: &Matrix, scale: Scale, positive: &Incidence, negative: &Incidence, share: f32, first: usize,
        rows: &mut [f32], losses: &mut [f64],
    ) {
        for (at, (g, loss)) in rows.chunks_exact_mut(z.cols()).zip(losses).enumerate() {
            let i = first + at;
            g.fill(0.0);
            *loss = 0.0;
            for (pairs, label) in [(positive, 1.0f32), (negative, 0.0)] {
                for others in pairs.others[pairs.range(i)].chunks(AT_ONCE) {
                    let mut scores = [0.0; AT_ONCE];
                    for (score, &j) in scores.iter_mut().zip(others) {
                        *score = dot(z.row(i), z.row(j as usize));
                    }
                    let (pair_losses, slopes) = cross_entropies(&scores, label);
                    for pair_loss in &pair_losses[..others.len()] {
                        *loss += f64::from(*pair_loss);
                    }
                    let scales = slopes.map(|slope| slope * share);
                    for_column_blocks!(z.cols(), column => add_rows(z, others, &scales, column, g));
                }
            }
            if scale == Scale::Unit {
                project(h.row(i), z.row(i), g);
            }
        }
    }
}

/// `g += Σ_j scale_j z_j`, `B` columns of it, in registers.
#[inline(always)]
fn add_rows<const B: usize>(z: &Matrix, others: &[u32], scales: &[f32; AT_ONCE], column: usize, g: &mut [f32]) {
    let mut sum = *entries::<B>(g, column);
    for (&j, scale) in others.iter().zip(scales) {
        let z = entries::<B>(z.data(), j as usize * z.cols() + column);
        for c in 0..B {
            sum[c] += scale * z[c];
        }
    }
    g[column..][..B].copy_from_slice(&sum);
}

/// The score of every pair, in order.
pub fn scores(h: &Matrix, pairs: &[[u32; 2]], scale: Scale, unit: &mut Matrix, out: &mut Vec<f32>) {
    let z = match scale {
        Scale::Raw => h,
        Scale::Unit => {
            normalize(h, unit);
            unit
        }
    };
    out.resize(pairs.len(), 0.0);
    for_row_blocks(out, 1, 2 * h.cols(), |first, scores| score_block(z, &pairs[first..][..scores.len()], scores));
}

simd! {
    fn score_block(z: &Matrix, pairs: &[[u32; 2]], scores: &mut [f32]) {
        for (score, &[i, j]) in scores.iter_mut().zip(pairs) {
            *score = dot(z.row(i as usize), z.row(j as usize));
        }
    }
}

/// `out_p = h_i ⊙ h_j`, what the pair predictor reads.
pub fn hadamard(h: &Matrix, pairs: &[[u32; 2]], out: &mut Matrix) {
    let width = h.cols();
    out.reshape(pairs.len(), width);
    for_row_blocks(out.data_mut(), width, 2 * width, |first, rows| {
        for (at, row) in rows.chunks_exact_mut(width).enumerate() {
            let [i, j] = pairs[first + at];
            let (a, b) = (h.row(i as usize), h.row(j as usize));
            row.iter_mut().zip(a.iter().zip(b)).for_each(|(out, (a, b))| *out = a * b);
        }
    });
}

/// The gradient of `hadamard` with respect to `h`: `g_i = Σ_(p∋i) gradient_p ⊙ h_j`.
pub fn hadamard_gradient(h: &Matrix, incidence: &Incidence, pair_gradient: &Matrix, gradient: &mut Matrix) {
    let [rows, width] = h.shape();
    let pairs = incidence.pairs.as_ref().expect("an incidence that remembers its pairs");
    gradient.reshape(rows, width);
    let cost = width * (1 + 4 * incidence.num_pairs() / rows.max(1));
    for_row_blocks(gradient.data_mut(), width, cost, |first, rows| {
        for (at, g) in rows.chunks_exact_mut(width).enumerate() {
            g.fill(0.0);
            for entry in incidence.range(first + at) {
                let (other, pair) = (incidence.others[entry] as usize, pairs[entry] as usize);
                let sent = h.row(other).iter().zip(pair_gradient.row(pair));
                g.iter_mut().zip(sent).for_each(|(g, (h, p))| *g += h * p);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::check_loss_gradient;

    /// A repeated pair, a pair with itself and a node that nobody asks about.
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
    fn the_gradient_of_the_hadamard_product_is_gathered_right() {
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
}
