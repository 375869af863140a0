//! How much each branch counts that gives class scores of its own: `softmax(Σ_b w_b ln p_b)` with weights `w ≥ 0` that are fitted on validation nodes.

use crate::linalg::softmax::{most_likely, probabilities};
use crate::linalg::{Matrix, add_scaled, for_row_blocks};

/// The name of the weights of the branches.
pub(crate) const GATE: &str = "head/gate";

/// How strongly weights are drawn to those of the best branch alone.
const PULL: f64 = 0.05;

/// Validation nodes that the weights are fitted to, at most: a handful of weights needs no more.
const MOST_NODES: usize = 5_000;

/// Rounds over the weights, each of which is moved by a Newton step in turn.
const ROUNDS: usize = 8;

/// The weights as they are used: before anything was fitted, all branches count the same.
pub(super) fn in_use(weights: &[f32]) -> Vec<f32> {
    match weights.iter().all(|&weight| weight == 0.0) {
        true => vec![1.0 / weights.len() as f32; weights.len()],
        false => weights.to_vec(),
    }
}

/// `Σ_b w_b ln p_b` of every row, from the scores of all branches side by side.
pub(super) fn combine(scores: &Matrix, weights: &[f32], answer: &mut Matrix) {
    let (weights, classes) = (in_use(weights), scores.cols() / weights.len());
    answer.reshape(scores.rows(), classes);
    for_row_blocks(answer.data_mut(), classes, 16 * scores.cols(), |first, rows| {
        let mut logs = vec![0.0; classes];
        for (at, row) in rows.chunks_exact_mut(classes).enumerate() {
            row.fill(0.0);
            for (scores, &weight) in scores.row(first + at).chunks_exact(classes).zip(&weights) {
                if weight > 0.0 {
                    log_probabilities(scores, &mut logs);
                    add_scaled(row, weight, &logs);
                }
            }
        }
    });
}

/// `ln softmax(x)`.
fn log_probabilities(scores: &[f32], logs: &mut [f32]) {
    let (largest, total) = probabilities(scores, logs);
    let shift = largest + total.ln();
    logs.iter_mut().zip(scores).for_each(|(log, score)| *log = score - shift);
}

/// Weights of the branches for nodes whose classes are known: a row of scores per node, those of all `branches` side by side.
///
/// The first branch is the best one, or the `simplest` if the best is no better than that by more than a standard error; it alone has weight one.
/// Others join it one by one, the most useful first, as long as the accuracy rises by more than a standard error; the weights of those
/// that joined minimise the negative log-likelihood, with a pull to the first branch alone. Returned with the mean log-likelihood that they give.
pub(crate) fn fit(scores: &Matrix, labels: &[u32], branches: usize, simplest: Option<usize>) -> (Vec<f32>, f64) {
    let nodes = Nodes::new(scores, labels, branches);
    let alone = |branch: usize| {
        let weights: Vec<f64> = (0..branches).map(|other| f64::from(u8::from(other == branch))).collect();
        nodes.judge(&weights)
    };
    let judged: Vec<Judgement> = (0..branches).map(alone).collect();
    let best = (1..branches).fold(0, |best, at| if judged[at].is_better_than(&judged[best]) { at } else { best });
    let first = simplest.filter(|&at| !nodes.is_clearly_better(&judged[best], &judged[at])).unwrap_or(best);
    let mut taken = vec![first];
    let (mut weights, mut found) = (vec![0.0; branches], judged[first]);
    weights[first] = 1.0;
    while taken.len() < branches {
        let tried = (0..branches).filter(|branch| !taken.contains(branch)).map(|branch| {
            let weights = nodes.minimise(&[&taken[..], &[branch]].concat(), first);
            (branch, nodes.judge(&weights), weights)
        });
        let Some(next) = tried.reduce(|a, b| if b.1.is_better_than(&a.1) { b } else { a }) else { break };
        if !nodes.is_clearly_better(&next.1, &found) {
            break;
        }
        taken.push(next.0);
        (found, weights) = (next.1, next.2);
    }
    (weights.iter().map(|&weight| weight as f32).collect(), -found.loss / nodes.count as f64)
}

/// How well weights do.
#[derive(Debug, Clone, Copy)]
struct Judgement {
    right: usize,
    loss: f64,
}

impl Judgement {
    fn is_better_than(&self, other: &Judgement) -> bool {
        self.right > other.right || (self.right == other.right && self.loss < other.loss)
    }
}

/// Log-probabilities of every branch for nodes whose classes are known.
struct Nodes {
    logs: Matrix,
    labels: Vec<u32>,
    count: usize,
    classes: usize,
    branches: usize,
}

impl Nodes {
    fn new(scores: &Matrix, labels: &[u32], branches: usize) -> Nodes {
        let classes = scores.cols() / branches;
        let step = labels.len().div_ceil(MOST_NODES).max(1);
        let labels: Vec<u32> = labels.iter().copied().step_by(step).collect();
        let count = labels.len();
        let mut logs = Matrix::zeros(count, scores.cols());
        for node in 0..count {
            let rows = logs.row_mut(node).chunks_exact_mut(classes).zip(scores.row(node * step).chunks_exact(classes));
            rows.for_each(|(logs, scores)| log_probabilities(scores, logs));
        }
        Nodes { logs, labels, count, classes, branches }
    }

    fn combined(&self, node: usize, weights: &[f64], sum: &mut [f32]) {
        sum.fill(0.0);
        for (logs, &weight) in self.logs.row(node).chunks_exact(self.classes).zip(weights) {
            if weight > 0.0 {
                add_scaled(sum, weight as f32, logs);
            }
        }
    }

    fn judge(&self, weights: &[f64]) -> Judgement {
        let (mut sum, mut logs) = (vec![0.0; self.classes], vec![0.0; self.classes]);
        let (mut right, mut loss) = (0, 0.0);
        for node in 0..self.count {
            self.combined(node, weights, &mut sum);
            right += usize::from(most_likely(&sum) == self.labels[node]);
            log_probabilities(&sum, &mut logs);
            loss -= f64::from(logs[self.labels[node] as usize]);
        }
        Judgement { right, loss }
    }

    /// Whether one gets more nodes right than another by more than a standard error of the other's count: a difference that few hundred nodes show
    /// by chance is none.
    fn is_clearly_better(&self, one: &Judgement, other: &Judgement) -> bool {
        let (right, count) = (other.right as f64, self.count as f64);
        one.right as f64 > right + (right * (1.0 - right / count)).sqrt()
    }

    /// The weights of some branches that minimise mean loss and pull; a convex problem, solved one weight after the other.
    fn minimise(&self, taken: &[usize], first: usize) -> Vec<f64> {
        let mut weights = vec![0.0; self.branches];
        weights[first] = 1.0;
        let (mut sum, mut p) = (vec![0.0; self.classes], vec![0.0; self.classes]);
        for _ in 0..ROUNDS {
            for &branch in taken {
                let (mut slope, mut curvature) = (0.0, 0.0);
                for node in 0..self.count {
                    self.combined(node, &weights, &mut sum);
                    probabilities(&sum, &mut p);
                    let logs = &self.logs.row(node)[branch * self.classes..][..self.classes];
                    let moment = |power: i32| -> f64 {
                        p.iter().zip(logs).map(|(&p, &log)| f64::from(p) * f64::from(log).powi(power)).sum()
                    };
                    let mean = moment(1);
                    slope += mean - f64::from(logs[self.labels[node] as usize]);
                    curvature += moment(2) - mean * mean;
                }
                let start = f64::from(u8::from(branch == first));
                let slope = slope / self.count as f64 + 2.0 * PULL * (weights[branch] - start);
                let curvature = curvature / self.count as f64 + 2.0 * PULL;
                weights[branch] = (weights[branch] - slope / curvature).max(0.0);
            }
        }
        weights
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeds::{Purpose, Seeds};

    /// Scores of branches that are right with these probabilities, independently of each other, and more certain where they are.
    fn scores(right: &[f32], nodes: usize) -> (Matrix, Vec<u32>) {
        let mut rng = Seeds::new(5).rng(Purpose::Guess, &[]);
        let labels: Vec<u32> = (0..nodes).map(|_| rng.below(3) as u32).collect();
        let mut scores = Matrix::zeros(nodes, 3 * right.len());
        for (node, &label) in labels.iter().enumerate() {
            for (branch, &right) in right.iter().enumerate() {
                let class = if rng.unit() < right { label as usize } else { rng.below(3) };
                let certain = if class == label as usize { 1.0 } else { 0.0 };
                scores.row_mut(node)[3 * branch + class] = right * (certain + 2.0 * rng.unit());
            }
        }
        (scores, labels)
    }

    #[test]
    fn a_branch_that_adds_nothing_has_no_weight() {
        let (scores, labels) = scores(&[0.0, 0.8, 0.0], 300);
        assert_eq!(fit(&scores, &labels, 3, None).0, [0.0, 1.0, 0.0]);
    }

    #[test]
    fn the_simplest_branch_stays_unless_another_is_clearly_better() {
        // The second is right 6 times more of 400: less than the standard error of 9.5. The third is right 40 times more.
        let (labels, mut scores) = (vec![0; 400], Matrix::zeros(400, 6));
        for node in 0..400 {
            for (branch, right) in [260, 266, 300].into_iter().enumerate() {
                scores.row_mut(node)[2 * branch + usize::from(node >= right)] = 4.0;
            }
        }
        let two = Matrix::from_fn(400, 4, |node, column| scores.row(node)[column]);
        assert_eq!(fit(&two, &labels, 2, Some(0)).0, [1.0, 0.0]);
        assert_eq!(fit(&two, &labels, 2, None).0, [0.0, 1.0], "without a simplest branch, the best is first");
        assert_eq!(fit(&scores, &labels, 3, Some(0)).0, [0.0, 0.0, 1.0]);
    }

    #[test]
    fn branches_that_know_different_things_are_combined() {
        let (scores, labels) = scores(&[0.5, 0.5, 0.5, 0.0], 600);
        let (weights, likelihood) = fit(&scores, &labels, 4, None);
        assert!(weights[..3].iter().all(|&weight| weight > 0.2) && weights[3] == 0.0, "{weights:?}");
        let mut answer = Matrix::default();
        combine(&scores, &weights, &mut answer);
        let right = |matrix: &Matrix| (0..600).filter(|&i| most_likely(&matrix.row(i)[..3]) == labels[i]).count();
        assert!(right(&answer) > right(&scores) + 60, "{} {}", right(&answer), right(&scores));
        let mut logs = [0.0; 3];
        let log = |node: usize| {
            log_probabilities(answer.row(node), &mut logs);
            f64::from(logs[labels[node] as usize])
        };
        assert!((likelihood - (0..600).map(log).sum::<f64>() / 600.0).abs() < 1e-6, "{likelihood}");
    }

    #[test]
    fn one_branch_alone_keeps_its_probabilities() {
        let scores = Matrix::from_rows(&[[1.0, 3.0, 0.5, 9.0, 0.0, 0.0]]);
        let (mut answer, mut p, mut q) = (Matrix::default(), [0.0; 3], [0.0; 3]);
        combine(&scores, &[1.0, 0.0], &mut answer);
        probabilities(answer.data(), &mut p);
        probabilities(&scores.data()[..3], &mut q);
        assert!(p.iter().zip(q).all(|(p, q)| (p - q).abs() < 1e-6));
    }
}
