//! How much each branch counts that gives class scores of its own: `softmax(Σ_b w_b ln p_b)` with weights `w ≥ 0` that are fitted on validation nodes.
//! Where nodes may have several labels, `σ(Σ_b w_b x_b)` for each class, with the log-odds `x_b` that a branch gives it.

use crate::label_sets::LabelSets;
use crate::linalg::logistic::cross_entropies;
use crate::linalg::softmax::{most_likely, probabilities};
use crate::linalg::{Matrix, add_scaled, for_row_blocks};
use crate::source::labels::LabelKind;
use crate::statistics::mean_and_std;

/// The name of the weights of the branches.
pub(crate) const GATE: &str = "head/gate";

/// How strongly weights are drawn to those of the best branch alone.
const PULL: f64 = 0.05;

/// Validation nodes that the weights are fitted to, at most: a handful of weights needs no more.
const MOST_NODES: usize = 5_000;

/// Where nodes may have several labels every class of each is a decision, and these are as many as they are fitted to.
const MOST_DECISIONS: usize = 50_000;

/// Rounds over the weights, each of which is moved by a Newton step in turn.
const ROUNDS: usize = 8;

/// The weights as they are used: before anything was fitted, all branches count the same.
pub(in crate::models) fn in_use(weights: &[f32]) -> Vec<f32> {
    match weights.iter().all(|&weight| weight == 0.0) {
        true => vec![1.0 / weights.len() as f32; weights.len()],
        false => weights.to_vec(),
    }
}

/// `Σ_b w_b ln p_b` of every row, or `Σ_b w_b x_b`, from the scores of all branches side by side.
pub(in crate::models) fn combine(scores: &Matrix, weights: &[f32], kind: LabelKind, answer: &mut Matrix) {
    let (weights, classes) = (in_use(weights), scores.cols() / weights.len());
    answer.reshape(scores.rows(), classes);
    for_row_blocks(answer.data_mut(), classes, 16 * scores.cols(), |first, rows| {
        let mut logs = vec![0.0; classes];
        for (at, row) in rows.chunks_exact_mut(classes).enumerate() {
            row.fill(0.0);
            for (scores, &weight) in scores.row(first + at).chunks_exact(classes).zip(&weights) {
                if weight > 0.0 {
                    logs_of(scores, kind, &mut logs);
                    add_scaled(row, weight, &logs);
                }
            }
        }
    });
}

/// What is summed over branches.
fn logs_of(scores: &[f32], kind: LabelKind, logs: &mut [f32]) {
    match kind {
        LabelKind::One => log_probabilities(scores, logs),
        LabelKind::Several => logs.copy_from_slice(scores),
    }
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
///
/// Where nodes may have several labels, the mean cross-entropy of their classes is what has to fall by more than a standard error, in the place of the accuracy.
pub(crate) fn fit(scores: &Matrix, labels: KnownClasses, branches: usize, simplest: Option<usize>) -> (Vec<f32>, f64) {
    let nodes = Nodes::new(scores, labels, branches);
    let alone = |branch: usize| {
        let weights: Vec<f64> = (0..branches).map(|other| f64::from(u8::from(other == branch))).collect();
        nodes.judge(&weights)
    };
    let judged: Vec<Judgement> = (0..branches).map(alone).collect();
    let best = (1..branches).fold(0, |best, at| if judged[at].is_better_than(&judged[best]) { at } else { best });
    let first = simplest.filter(|&at| !nodes.is_clearly_better(&judged[best], &judged[at])).unwrap_or(best);
    let mut taken = vec![first];
    let (mut weights, mut found) = (vec![0.0; branches], judged[first].clone());
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

/// The right answers for nodes.
#[derive(Debug, Clone)]
pub(crate) enum KnownClasses {
    One(Vec<u32>),
    Several(LabelSets),
}

impl KnownClasses {
    fn kind(&self) -> LabelKind {
        match self {
            KnownClasses::One(_) => LabelKind::One,
            KnownClasses::Several(_) => LabelKind::Several,
        }
    }

    fn len(&self) -> usize {
        match self {
            KnownClasses::One(labels) => labels.len(),
            KnownClasses::Several(sets) => sets.len(),
        }
    }

    fn step_by(self, step: usize) -> KnownClasses {
        match self {
            KnownClasses::One(labels) => KnownClasses::One(labels.into_iter().step_by(step).collect()),
            KnownClasses::Several(sets) => {
                KnownClasses::Several(sets.iter().step_by(step).map(|set| set.iter().copied()).collect())
            }
        }
    }
}

/// How well weights do.
#[derive(Debug, Clone)]
struct Judgement {
    /// Nodes whose class is right; none where they may have several.
    right: usize,
    loss: f64,
    /// By node, where they may have several classes.
    losses: Vec<f64>,
}

impl Judgement {
    fn is_better_than(&self, other: &Judgement) -> bool {
        self.right > other.right || (self.right == other.right && self.loss < other.loss)
    }
}

/// Log-probabilities of every branch for nodes whose classes are known.
struct Nodes {
    logs: Matrix,
    labels: KnownClasses,
    count: usize,
    classes: usize,
    branches: usize,
}

impl Nodes {
    fn new(scores: &Matrix, labels: KnownClasses, branches: usize) -> Nodes {
        let classes = scores.cols() / branches;
        let most = match labels.kind() {
            LabelKind::One => MOST_NODES,
            LabelKind::Several => (MOST_DECISIONS / classes.max(1)).clamp(MOST_NODES / 10, MOST_NODES),
        };
        let step = labels.len().div_ceil(most).max(1);
        let labels = labels.step_by(step);
        let count = labels.len();
        let mut logs = Matrix::zeros(count, scores.cols());
        for node in 0..count {
            let rows = logs.row_mut(node).chunks_exact_mut(classes).zip(scores.row(node * step).chunks_exact(classes));
            rows.for_each(|(logs, scores)| logs_of(scores, labels.kind(), logs));
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
        let (mut right, mut loss, mut losses) = (0, 0.0, Vec::new());
        for node in 0..self.count {
            self.combined(node, weights, &mut sum);
            match &self.labels {
                KnownClasses::One(labels) => {
                    right += usize::from(most_likely(&sum) == labels[node]);
                    log_probabilities(&sum, &mut logs);
                    loss -= f64::from(logs[labels[node] as usize]);
                }
                KnownClasses::Several(sets) => {
                    let of_class = |(loss, _): (f64, f64)| loss;
                    let of_node: f64 = self.decisions(&sum, sets.of(node)).map(of_class).sum();
                    losses.push(of_node / self.classes as f64);
                    loss += of_node / self.classes as f64;
                }
            }
        }
        Judgement { right, loss, losses }
    }

    /// The cross-entropy of each class, and its slope by the score.
    fn decisions<'a>(&self, scores: &'a [f32], set: &'a [u32]) -> impl Iterator<Item = (f64, f64)> + 'a {
        scores.iter().zip(0..).map(|(&score, class)| {
            let label = f32::from(u8::from(set.binary_search(&class).is_ok()));
            let ([loss], [slope]) = cross_entropies(&[score], &[label]);
            (f64::from(loss), f64::from(slope))
        })
    }

    /// Whether one gets more nodes right than another by more than a standard error of the other's count: a difference that few hundred nodes show
    /// by chance is none. Where nodes may have several classes, whether the mean loss is lower by more than a standard error of the difference.
    fn is_clearly_better(&self, one: &Judgement, other: &Judgement) -> bool {
        if !one.losses.is_empty() {
            let differences: Vec<f64> = other.losses.iter().zip(&one.losses).map(|(other, one)| other - one).collect();
            let (mean, deviation) = mean_and_std(&differences);
            return mean > deviation / (self.count as f64).sqrt();
        }
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
                    let logs = &self.logs.row(node)[branch * self.classes..][..self.classes];
                    let labels = match &self.labels {
                        KnownClasses::One(labels) => labels,
                        KnownClasses::Several(sets) => {
                            for ((_, by_score), &x) in self.decisions(&sum, sets.of(node)).zip(logs) {
                                let (share, x) = (1.0 / self.classes as f64, f64::from(x));
                                // The slope is the sigmoid, or it less one.
                                let variance = by_score.abs() * (1.0 - by_score.abs());
                                slope += share * by_score * x;
                                curvature += share * variance * x * x;
                            }
                            continue;
                        }
                    };
                    probabilities(&sum, &mut p);
                    let moment = |power: i32| -> f64 {
                        p.iter().zip(logs).map(|(&p, &log)| f64::from(p) * f64::from(log).powi(power)).sum()
                    };
                    let mean = moment(1);
                    slope += mean - f64::from(logs[labels[node] as usize]);
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
        assert_eq!(fit(&scores, KnownClasses::One(labels.clone()), 3, None).0, [0.0, 1.0, 0.0]);
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
        assert_eq!(fit(&two, KnownClasses::One(labels.clone()), 2, Some(0)).0, [1.0, 0.0]);
        assert_eq!(
            fit(&two, KnownClasses::One(labels.clone()), 2, None).0,
            [0.0, 1.0],
            "without a simplest branch, the best is first"
        );
        assert_eq!(fit(&scores, KnownClasses::One(labels.clone()), 3, Some(0)).0, [0.0, 0.0, 1.0]);
    }

    #[test]
    fn branches_that_know_different_things_are_combined() {
        let (scores, labels) = scores(&[0.5, 0.5, 0.5, 0.0], 600);
        let (weights, likelihood) = fit(&scores, KnownClasses::One(labels.clone()), 4, None);
        assert!(weights[..3].iter().all(|&weight| weight > 0.2) && weights[3] == 0.0, "{weights:?}");
        let mut answer = Matrix::default();
        combine(&scores, &weights, LabelKind::One, &mut answer);
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
        combine(&scores, &[1.0, 0.0], LabelKind::One, &mut answer);
        probabilities(answer.data(), &mut p);
        probabilities(&scores.data()[..3], &mut q);
        assert!(p.iter().zip(q).all(|(p, q)| (p - q).abs() < 1e-6));
    }

    #[test]
    fn branches_that_know_different_classes_of_a_node_are_combined_and_noise_has_no_weight() {
        let mut rng = Seeds::new(3).rng(Purpose::Guess, &[]);
        let sets: LabelSets = (0..400).map(|_| (0..4).filter(|_| rng.below(2) == 0).collect::<Vec<u32>>()).collect();
        // The first branch knows classes 0 and 1, the second 2 and 3, the third none.
        let mut scores = Matrix::zeros(400, 12);
        for (node, set) in sets.iter().enumerate() {
            for class in 0..4u32 {
                let sure = if set.contains(&class) { 3.0 } else { -3.0 };
                scores.row_mut(node)[(4 * (class / 2) + class) as usize] = sure * (0.5 + rng.unit());
                scores.row_mut(node)[8 + class as usize] = 4.0 * rng.unit() - 2.0;
            }
        }
        let (weights, likelihood) = fit(&scores, KnownClasses::Several(sets.clone()), 3, None);
        assert!(weights[0] > 0.5 && weights[1] > 0.5 && weights[2] == 0.0, "{weights:?}");
        let mut answer = Matrix::default();
        combine(&scores, &weights, LabelKind::Several, &mut answer);
        let right = |node: usize| {
            (0..4).all(|class| (answer.row(node)[class] > 0.0) == sets.of(node).contains(&(class as u32)))
        };
        assert!((0..400).all(right));
        assert!((-0.3..0.0).contains(&likelihood), "{likelihood}");
    }

    /// Nodes of class 0, for which branches have these log-odds.
    fn sure(logs: &[f32], nodes: usize) -> Nodes {
        let scores =
            Matrix::from_fn(nodes, 2 * logs.len(), |_, column| if column % 2 == 0 { logs[column / 2] } else { 0.0 });
        Nodes::new(&scores, KnownClasses::One(vec![0; nodes]), logs.len())
    }

    #[test]
    fn weights_are_pulled_to_one_where_every_node_is_right() {
        // The likelihood alone would raise them with every step.
        let [weight] = sure(&[4.0], 50).minimise(&[0], 0)[..] else { panic!("one branch") };
        assert!(weight > 1.1 && weight < 1.5, "{weight}");
    }

    #[test]
    fn no_branch_counts_against_what_it_says() {
        // The second branch is always wrong: its weight would fall below zero.
        let weights = sure(&[1.0, -1.0], 50).minimise(&[0, 1], 0);
        assert!(weights[0] > 1.0 && weights[1] == 0.0, "{weights:?}");
    }

    #[test]
    fn of_equally_accurate_branches_the_likelier_is_first() {
        let scores = Matrix::from_fn(20, 4, |_, column| [1.0, 0.0, 2.0, 0.0][column]);
        assert_eq!(fit(&scores, KnownClasses::One(vec![0; 20]), 2, None).0, [0.0, 1.0]);
    }

    #[test]
    fn before_anything_is_fitted_all_branches_count_the_same() {
        let scores = Matrix::from_rows(&[[1.0, 3.0, 9.0, 0.0], [0.0, 1.0, 2.0, 5.0]]);
        let combined = |weights: &[f32]| {
            let mut answer = Matrix::default();
            combine(&scores, weights, LabelKind::One, &mut answer);
            answer
        };
        assert_eq!(combined(&[0.0, 0.0]), combined(&[0.5, 0.5]));
    }

    #[test]
    fn classes_of_several_have_to_be_told_better_by_more_than_a_standard_error() {
        // Both branches are right about every node; the second is more certain about the first nodes, and less about all others.
        let judged = |more_certain: usize| {
            let branch = |node: usize| if node < more_certain { 1.25 } else { 0.75 };
            let scores = Matrix::from_fn(400, 2, |node, column| if column == 0 { 1.0 } else { branch(node) });
            let sets = (0..400).map(|_| [0u32]).collect();
            let nodes = Nodes::new(&scores, KnownClasses::Several(sets), 2);
            let (first, second) = (nodes.judge(&[1.0, 0.0]), nodes.judge(&[0.0, 1.0]));
            assert!(second.is_better_than(&first));
            nodes.is_clearly_better(&second, &first)
        };
        // The mean loss is lower by 0.0013, and then by 0.017; a standard error is 0.0034.
        assert!(!judged(222) && judged(270));
    }

    #[test]
    fn of_several_classes_weights_minimise_the_mean_loss_of_a_class() {
        // One branch that is right about three of four classes of every node: ln 3 would be its log-odds, and 2 ln 3 is twice that.
        let scores = Matrix::from_fn(40, 4, |_, _| 2.0 * 3f32.ln());
        let sets = (0..40).map(|_| [0u32, 1, 2]).collect();
        let [weight] = Nodes::new(&scores, KnownClasses::Several(sets), 1).minimise(&[0], 0)[..] else { panic!("one") };
        // Half is best for the likelihood, and the pull adds a twentieth.
        assert!((weight - 0.55).abs() < 0.01, "{weight}");
    }

    #[test]
    fn of_many_nodes_some_are_fitted_with_scores_and_classes_of_their_own() {
        let labels: Vec<u32> = (0..3 * MOST_NODES as u32).map(|node| node / 3 % 2).collect();
        let scores =
            Matrix::from_fn(labels.len(), 2, |node, column| f32::from(u8::from(labels[node] == column as u32)));
        let nodes = Nodes::new(&scores, KnownClasses::One(labels), 1);
        assert_eq!((nodes.count, nodes.judge(&[1.0]).right), (MOST_NODES, MOST_NODES));
        // Where every class of a node is a decision, fewer nodes are enough.
        let sets = (0..2_000).map(|_| [0u32]).collect();
        let nodes = Nodes::new(&Matrix::zeros(2_000, 100), KnownClasses::Several(sets), 1);
        assert_eq!(nodes.count * nodes.classes, MOST_DECISIONS);
    }
}
