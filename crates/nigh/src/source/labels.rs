//! The labels of training nodes, propagated to all others; a training node never sees its own.

use crate::graph::Operator;
use crate::label_sets::LabelSets;
use crate::linalg::{Matrix, for_row_blocks};
use crate::seeds::Stream;

/// Distances at which labels are shown one by one.
const DISTANCES: usize = 4;

/// Restart probabilities of the personalised PageRanks that show labels at all distances together.
const RESTARTS: [f32; 4] = [0.01, 0.05, 0.1, 0.5];

/// How often labels are passed on. What is left of a PageRank then is left out; for the smallest restart that is more than half of it, but
/// labels so far away are the same for all nodes of a component.
const STEPS: usize = 50;

/// Ways in which the labels around a node are summed up.
pub const SUMMARIES: usize = DISTANCES + RESTARTS.len();

/// The summaries that are label propagation as it is used for classes, PageRanks with a small restart, and their shares of a vote.
pub const PROPAGATION: [(usize, f32); 2] = [(DISTANCES, 0.5), (DISTANCES + 1, 0.5)];

/// Training nodes are hidden together in this many folds: each sees the labels of the other folds.
const FOLDS: u32 = 10;

/// How much of the mean weight of labels around a node the prior counts.
const SMOOTHING: f64 = 0.1;

/// Probabilities below are as good as zero.
const LEAST: f32 = 1e-6;

/// For every node and summary `s` of the labels around it, `ln(C p_s(c))` for each of `C` classes `c`: how much more likely `c` is here
/// than by a blind guess, where `p_s` is smoothed by the shares of the classes among training nodes. `N x (SUMMARIES * classes)`, the classes of a summary side by side.
///
/// With `P = D^-1 A` and `Y = D^-1/2 L` of the classes `L` of the training nodes, the summaries are `P^k Y` for distances `k = 1..4`, and
/// `Σ_{k=1..50} α (1 - α)^k P^k Y` for restart probabilities `α`. A label counts less the more neighbours its node has; but for a factor per row,
/// `P^k D^-1/2` is `M^k` with `M = D^-1/2 A D^-1/2`, so these are label propagation as Zhou et al. have it. A training node is in one of ten folds,
/// by its address, and its row is that of `Y` without its fold: neither its own label nor that of another node of the fold counts.
///
/// Where nodes may have several labels each class is a question of its own: `p_s(c)` is the share of the labels' nodes that have `c`, and the rows
/// are its log-odds `ln(p_s(c) / (1 - p_s(c)))`.
pub fn label_rows(
    operator: &Operator,
    labels: &LabelSets,
    kind: LabelKind,
    classes: usize,
    folds: Stream,
    addresses: &[u32],
) -> Matrix {
    let width = SUMMARIES * classes;
    let mut rows = Matrix::zeros(labels.len(), width);
    if width == 0 || labels.classes().is_empty() {
        return rows;
    }
    let (mean, walk) = (operator.mean(), Operator::walk(operator.graph().clone()));
    let is_labelled = |node: usize| !labels.of(node).is_empty();
    let fold = |node: usize| is_labelled(node).then(|| folds.at_pair(u64::from(addresses[node]), 0)[0] % FOLDS);
    let fold_of: Vec<Option<u32>> = (0..labels.len()).map(fold).collect();
    // Beside the classes a column for all labelled nodes, where their labels do not add up to them.
    let columns = match kind {
        LabelKind::One => classes,
        LabelKind::Several => classes + 1,
    };
    for fold in (0..FOLDS).map(Some).chain([None]) {
        if !fold_of.contains(&fold) {
            continue;
        }
        let (mut prior, mut count) = (vec![0.0f32; classes], 0usize);
        let mut y = Matrix::zeros(labels.len(), columns);
        for node in (0..labels.len()).filter(|&node| is_labelled(node) && (fold.is_none() || fold_of[node] != fold)) {
            count += 1;
            y.row_mut(node)[columns - 1] = if columns > classes { walk.left()[node] } else { 0.0 };
            for &class in labels.of(node) {
                y.row_mut(node)[class as usize] = walk.left()[node];
                prior[class as usize] += 1.0;
            }
        }
        prior.iter_mut().for_each(|share| *share /= count.max(1) as f32);
        let asked: Vec<u32> = (0..).zip(&fold_of).filter(|(_, of)| **of == fold).map(|(node, _)| node).collect();
        let summaries = summaries(&mean, y, &asked, kind);
        for (at, summary) in summaries.iter().enumerate() {
            let smoothing = (SMOOTHING * summary.mean_weight) as f32;
            for (row, &node) in asked.iter().enumerate() {
                let around = summary.rows.row(row);
                let total = smoothing
                    + match kind {
                        LabelKind::One => around.iter().sum::<f32>(),
                        LabelKind::Several => around[classes],
                    };
                let out = &mut rows.row_mut(node as usize)[at * classes..][..classes];
                for ((out, &weight), &prior) in out.iter_mut().zip(around).zip(&prior) {
                    let p = if total > 0.0 { (weight + smoothing * prior) / total } else { prior };
                    *out = match kind {
                        LabelKind::One => (classes as f32 * (p + LEAST)).ln(),
                        LabelKind::Several => ((p + LEAST) / ((1.0 - p).max(0.0) + LEAST)).ln(),
                    };
                }
            }
        }
    }
    rows
}

/// How many labels a node may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelKind {
    /// One.
    One,
    /// Any number.
    Several,
}

/// The weight of each class around some nodes.
struct LabelSummary {
    /// A row per node that was asked about.
    rows: Matrix,
    /// Over all nodes, of all labelled nodes together.
    mean_weight: f64,
}

fn summaries(mean: &Operator, y: Matrix, asked: &[u32], kind: LabelKind) -> Vec<LabelSummary> {
    let (nodes, classes) = (y.rows(), y.cols());
    let empty = || LabelSummary { rows: Matrix::zeros(asked.len(), classes), mean_weight: 0.0 };
    let mut summaries: Vec<LabelSummary> = (0..SUMMARIES).map(|_| empty()).collect();
    let (mut power, mut next) = (y, Matrix::default());
    for step in 1..=STEPS {
        mean.apply(&power, &mut next);
        std::mem::swap(&mut power, &mut next);
        let counted = match kind {
            LabelKind::One => power.data().iter().step_by(1),
            LabelKind::Several => power.data()[classes - 1..].iter().step_by(classes),
        };
        let weight = counted.map(|&weight| f64::from(weight)).sum::<f64>() / nodes as f64;
        let mut add = |summary: usize, scale: f32| {
            let LabelSummary { rows, mean_weight } = &mut summaries[summary];
            *mean_weight += f64::from(scale) * weight;
            for_row_blocks(rows.data_mut(), classes, classes, |first, rows| {
                for (row, &node) in rows.chunks_exact_mut(classes).zip(&asked[first..]) {
                    let around = power.row(node as usize);
                    row.iter_mut().zip(around).for_each(|(sum, weight)| *sum += scale * weight);
                }
            });
        };
        if step <= DISTANCES {
            add(step - 1, 1.0);
        }
        for (at, restart) in RESTARTS.into_iter().enumerate() {
            add(DISTANCES + at, restart * (1.0 - restart).powi(step as i32));
        }
    }
    summaries
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::generate;
    use crate::graph::Graph;
    use crate::seeds::{Purpose, Seeds};
    use proptest::prelude::*;

    fn rows(operator: &Operator, labels: &[Option<u32>]) -> Matrix {
        rows_of(operator, &labels.iter().copied().collect(), LabelKind::One)
    }

    fn rows_of(operator: &Operator, labels: &LabelSets, kind: LabelKind) -> Matrix {
        let addresses: Vec<u32> = (0..labels.len() as u32).collect();
        label_rows(operator, labels, kind, 3, Seeds::new(1).stream(Purpose::Folds, &[0]), &addresses)
    }

    #[test]
    fn classes_of_several_per_node_are_asked_about_one_by_one() {
        // A triangle whose labelled nodes are 0 and 1, seen by node 2; nodes 3 and 4 have labels far away.
        let operator = Operator::symmetric(Graph::from_edges(5, &[[0, 1], [1, 2], [0, 2], [3, 4]]).unwrap().0.into());
        let sets: LabelSets = [vec![0, 1], vec![1], vec![], vec![2], vec![]].into_iter().collect();
        let found = rows_of(&operator, &sets, LabelKind::Several);
        let odds = &found.row(2)[..3];
        // Class 1 is that of both neighbours, class 0 of one of them, class 2 of none.
        assert!(odds[1] > 1.0 && odds[0].abs() < 0.2 && odds[2] < -1.0, "{odds:?}");
        // A node does not see its own labels.
        let changed: LabelSets = [vec![0, 1], vec![1], vec![], vec![0, 1, 2], vec![]].into_iter().collect();
        assert_eq!(rows_of(&operator, &changed, LabelKind::Several).row(3), found.row(3));
        assert_ne!(rows_of(&operator, &changed, LabelKind::Several).row(4), found.row(4));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 30, failure_persistence: None, ..Default::default() })]
        #[test]
        fn a_node_never_sees_its_own_label(
            labels in prop::collection::vec(prop::option::of(0u32..3), 24), node in 0usize..24, other in 0u32..3,
        ) {
            let operator = Operator::symmetric(generate::communities(4, 6, 0.1, 3).graph.into());
            let mut changed = labels.clone();
            prop_assume!(labels[node].is_some());
            changed[node] = Some(other);
            let (before, after) = (rows(&operator, &labels), rows(&operator, &changed));
            prop_assert_eq!(before.row(node), after.row(node));
            // The test can fail: others do see it.
            if labels[node] != changed[node] {
                prop_assert_ne!(before, after);
            }
        }
    }

    #[test]
    fn labels_of_neighbours_speak_for_a_class_and_no_labels_say_nothing() {
        // Three triangles in a row.
        let edges = [[0, 1], [1, 2], [0, 2], [2, 3], [3, 4], [4, 5], [3, 5], [5, 6], [6, 7], [7, 8], [6, 8]];
        let operator = Operator::symmetric(Graph::from_edges(9, &edges).unwrap().0.into());
        let mut labels = vec![None; 9];
        assert!(rows(&operator, &labels).data().iter().all(|&value| value == 0.0));
        (labels[0], labels[4], labels[8]) = (Some(0), Some(1), Some(2));
        let found = rows(&operator, &labels);
        for (node, class) in [(1, 0), (2, 0), (3, 1), (7, 2)] {
            for summary in found.row(node).chunks(3) {
                let best = (0..3).max_by(|&a, &b| summary[a].total_cmp(&summary[b])).unwrap();
                assert_eq!(best, class, "{node}: {summary:?}");
            }
        }
    }

    #[test]
    fn the_likeliest_class_is_that_of_symmetric_label_propagation() {
        // Against `Σ_k (1 - α)^k M^k L` with `M = D^-1/2 A D^-1/2`, in dense `f64`: the order of classes is the same where no prior takes part.
        let graph = generate::communities(4, 6, 0.3, 7).graph;
        let operator = Operator::symmetric(graph.clone().into());
        let labels: Vec<Option<u32>> = (0..24).map(|node| (node % 5 == 0).then_some(node as u32 / 10)).collect();
        let degree: Vec<f64> = (0..24).map(|node| graph.degree(node) as f64).collect();
        let found = rows(&operator, &labels);
        for (at, restart) in RESTARTS.iter().enumerate() {
            let mut power = [[0.0; 3]; 24];
            let mut sum = power;
            labels.iter().zip(&mut power).for_each(|(label, row)| label.iter().for_each(|&l| row[l as usize] = 1.0));
            for step in 1..=STEPS {
                let mut next = [[0.0; 3]; 24];
                for (i, row) in next.iter_mut().enumerate() {
                    for &j in graph.neighbours(i) {
                        let weight = 1.0 / (degree[i] * degree[j as usize]).sqrt();
                        row.iter_mut().zip(power[j as usize]).for_each(|(sum, y)| *sum += weight * y);
                    }
                }
                power = next;
                let scale = f64::from(1.0 - restart).powi(step as i32);
                sum.iter_mut().flatten().zip(power.iter().flatten()).for_each(|(sum, y)| *sum += scale * y);
            }
            for node in (0..24).filter(|&node| labels[node].is_none()) {
                // The prior counts a tenth of the mean weight, so it is taken off before the ratios of classes are compared.
                let logs = &found.row(node)[(DISTANCES + at) * 3..][..3];
                let p: Vec<f64> = logs.iter().map(|log| f64::from(log.exp()) / 3.0).collect();
                let total: f64 = sum[node].iter().sum();
                let prior = [2.0 / 5.0, 2.0 / 5.0, 1.0 / 5.0];
                // p = (1 - s) q + s prior for one `s` per node: the part of `p - q` along `prior - q` is all of it.
                let q = sum[node].map(|weight| weight / total);
                let toward: Vec<f64> = (0..3).map(|c| prior[c] - q[c]).collect();
                let s =
                    (0..3).map(|c| (p[c] - q[c]) * toward[c]).sum::<f64>() / toward.iter().map(|x| x * x).sum::<f64>();
                assert!((0.0..0.6).contains(&s), "{node}: {s}");
                (0..3).for_each(|c| assert!((p[c] - q[c] - s * toward[c]).abs() < 1e-4, "{node}: {p:?} {q:?}"));
            }
        }
    }
}
