//! Classification with several labels per node: a sigmoid for each class and the binary cross-entropy of the labels.

use crate::label_sets::LabelSets;
use crate::linalg::logistic::cross_entropies;
use crate::linalg::{Matrix, for_row_blocks, for_two_row_blocks};

/// Scores that are computed at once.
const LANES: usize = 8;

/// `1 / (1 + e^-x)`.
pub fn sigmoid(x: f32) -> f32 {
    let small = (-x.abs()).exp();
    if x >= 0.0 { 1.0 / (1.0 + small) } else { small / (1.0 + small) }
}

/// The classes that are more likely than not, `σ(x) > 0.5`, in a row of scores.
pub fn answered(scores: &[f32]) -> impl Iterator<Item = u32> + '_ {
    scores.iter().zip(0..).filter(|(score, _)| **score > 0.0).map(|(_, class)| class)
}

/// Binary cross-entropy of `sets` at `nodes`, summed over classes, as a mean over nodes; its gradient with respect to `logits` goes to `gradient`.
#[cfg(test)]
pub fn cross_entropy(logits: &Matrix, nodes: &[u32], sets: &LabelSets, gradient: &mut Matrix) -> f64 {
    cross_entropy_of_blocks(logits, 1, nodes, sets, gradient)
}

/// As `cross_entropy`, of several blocks of logits side by side: the sum of their losses.
pub fn cross_entropy_of_blocks(
    logits: &Matrix,
    blocks: usize,
    nodes: &[u32],
    sets: &LabelSets,
    gradient: &mut Matrix,
) -> f64 {
    assert_eq!(nodes.len(), sets.len());
    let [rows, cols] = logits.shape();
    gradient.reshape(rows, cols);
    gradient.data_mut().fill(0.0);
    let (share, classes) = (1.0 / nodes.len() as f32, cols / blocks);
    let mut loss = 0.0;
    // Filled up with scores whose losses are left out.
    let mut labels = vec![0.0; classes.next_multiple_of(LANES)];
    for (&node, set) in nodes.iter().zip(sets.iter()) {
        set.iter().for_each(|&class| labels[class as usize] = 1.0);
        let logits = logits.row(node as usize).chunks_exact(classes);
        for (x, g) in logits.zip(gradient.row_mut(node as usize).chunks_exact_mut(classes)) {
            let scores = x.chunks(LANES).zip(labels.as_chunks::<LANES>().0).zip(g.chunks_mut(LANES));
            for ((scores, labels), gradients) in scores {
                let mut filled = [0.0; LANES];
                filled[..scores.len()].copy_from_slice(scores);
                let (losses, slopes) = cross_entropies(&filled, labels);
                loss += losses[..scores.len()].iter().map(|&loss| f64::from(loss)).sum::<f64>();
                gradients.iter_mut().zip(slopes).for_each(|(g, slope)| *g += slope * share);
            }
        }
        set.iter().for_each(|&class| labels[class as usize] = 0.0);
    }
    loss / nodes.len() as f64
}

/// What two passes over the same nodes should agree on: the mean of both sigmoids. It is not made more certain, as that of a softmax is: most classes
/// are less likely than not, and would be ruled out.
pub fn mean(a: &Matrix, b: &Matrix, target: &mut Matrix) {
    let [rows, cols] = a.shape();
    target.reshape(rows, cols);
    for_row_blocks(target.data_mut(), cols, 32 * cols, |first, targets| {
        for (at, target) in targets.chunks_exact_mut(cols).enumerate() {
            let pairs = a.row(first + at).iter().zip(b.row(first + at));
            target.iter_mut().zip(pairs).for_each(|(t, (&a, &b))| *t = 0.5 * (sigmoid(a) + sigmoid(b)));
        }
    });
}

/// `weight` times the mean over all rows of `|σ(x) - target|²`; its gradient is added to `gradient`. The target is taken as it is.
pub fn add_disagreement(logits: &Matrix, target: &Matrix, weight: f32, gradient: &mut Matrix) -> f64 {
    let [rows, cols] = logits.shape();
    let share = weight / rows as f32;
    let mut squares = vec![0.0f32; rows];
    for_two_row_blocks(gradient.data_mut(), cols, &mut squares, 1, 32 * cols, |first, gradients, squares| {
        for (at, (gradient, square)) in gradients.chunks_exact_mut(cols).zip(squares).enumerate() {
            let scores = logits.row(first + at).iter().zip(target.row(first + at));
            for (g, (&x, t)) in gradient.iter_mut().zip(scores) {
                let p = sigmoid(x);
                *square += (p - t) * (p - t);
                *g += 2.0 * share * (p - t) * p * (1.0 - p);
            }
        }
    });
    f64::from(weight) * squares.iter().map(|&square| f64::from(square)).sum::<f64>() / rows as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::check_loss_gradient;

    #[test]
    fn gradients_agree_with_finite_differences() {
        // Node 2 occurs twice, node 1 not at all; more classes than lanes.
        let sets: LabelSets = [vec![1, 9], vec![0, 2, 5], vec![], vec![10]].into_iter().collect();
        check_loss_gradient([4, 11], |h, gradient| cross_entropy(h, &[0, 2, 3, 2], &sets, gradient));
        check_loss_gradient([4, 22], |h, gradient| cross_entropy_of_blocks(h, 2, &[0, 2, 3, 2], &sets, gradient));
        let mut target = Matrix::default();
        let passes = [1.0, -2.0].map(|scale| Matrix::from_fn(4, 9, |i, c| scale * ((i + 3 * c) % 5) as f32));
        mean(&passes[0], &passes[1], &mut target);
        assert!((target.row(0)[3] - 0.5 * (sigmoid(4.0) + sigmoid(-8.0))).abs() < 1e-7);
        check_loss_gradient([4, 9], |h, gradient| {
            gradient.reshape(4, 9);
            gradient.data_mut().fill(0.0);
            add_disagreement(h, &target, 0.7, gradient)
        });
    }

    #[test]
    fn the_loss_is_that_of_each_class_on_its_own() {
        // torch.nn.functional.binary_cross_entropy_with_logits(..., reduction="sum") / 2 by hand: softplus(x) - y x.
        let logits = Matrix::from_rows(&[[1.0, -2.0, 0.5], [0.0, 3.0, -1.0]]);
        let sets: LabelSets = [vec![0, 2], vec![1]].into_iter().collect();
        let softplus = |x: f64| (1.0 + x.exp()).ln();
        let expected = softplus(1.0) - 1.0 + softplus(-2.0) + softplus(0.5) - 0.5 + 2f64.ln() + softplus(3.0) - 3.0
            + softplus(-1.0);
        let loss = cross_entropy(&logits, &[0, 1], &sets, &mut Matrix::default());
        assert!((loss - expected / 2.0).abs() < 1e-6, "{loss}");
        assert!((sigmoid(-2.0) - 0.119_202_92).abs() < 1e-7 && sigmoid(500.0) == 1.0 && sigmoid(-500.0) == 0.0);
        assert_eq!(answered(&[0.1, -2.0, 0.0, 3.0]).collect::<Vec<_>>(), [0, 3], "as likely as not is no answer");
    }
}
