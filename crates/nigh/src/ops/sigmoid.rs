//! Classification with several labels per node: a sigmoid for each class and the binary cross-entropy of the labels.

use crate::label_sets::LabelSets;
use crate::linalg::Matrix;
use crate::linalg::logistic::cross_entropies;

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
