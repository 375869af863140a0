//! Node classification: softmax over the classes and the negative log-likelihood of the labels.

use crate::linalg::{Matrix, for_row_blocks, for_two_row_blocks};

pub use crate::linalg::softmax::{most_likely, probabilities};

/// Mean negative log-likelihood of `labels` at `nodes`; its gradient with respect to `logits` goes to `gradient`.
#[cfg(test)]
pub fn nll(logits: &Matrix, nodes: &[u32], labels: &[u32], gradient: &mut Matrix) -> f64 {
    nll_of_blocks(logits, 1, nodes, labels, gradient)
}

/// As `nll`, of several blocks of logits side by side: the sum of their losses.
pub fn nll_of_blocks(logits: &Matrix, blocks: usize, nodes: &[u32], labels: &[u32], gradient: &mut Matrix) -> f64 {
    assert_eq!(nodes.len(), labels.len());
    let [rows, cols] = logits.shape();
    gradient.reshape(rows, cols);
    gradient.data_mut().fill(0.0);
    let share = 1.0 / nodes.len() as f32;
    let classes = cols / blocks;
    let mut loss = 0.0;
    let mut p = vec![0.0; classes];
    for (&node, &label) in nodes.iter().zip(labels) {
        let logits = logits.row(node as usize).chunks_exact(classes);
        for (x, g) in logits.zip(gradient.row_mut(node as usize).chunks_exact_mut(classes)) {
            let (largest, total) = probabilities(x, &mut p);
            // From the logits and not from p, which may be zero.
            loss += f64::from(largest) + f64::from(total).ln() - f64::from(x[label as usize]);
            g.iter_mut().zip(&p).for_each(|(g, p)| *g += p * share);
            g[label as usize] -= share;
        }
    }
    loss / nodes.len() as f64
}

/// What two passes over the same nodes should agree on (Feng et al. 2020): for each block of logits, the mean of both softmaxes to the
/// power `1 / temperature`, scaled to sum one.
pub fn sharpened_mean(a: &Matrix, b: &Matrix, blocks: usize, temperature: f32, target: &mut Matrix) {
    let [rows, cols] = a.shape();
    let classes = cols / blocks;
    target.reshape(rows, cols);
    for_row_blocks(target.data_mut(), cols, 32 * cols, |first, targets| {
        let mut p = vec![0.0; classes];
        for (at, target) in targets.chunks_exact_mut(cols).enumerate() {
            let pairs = a.row(first + at).chunks_exact(classes).zip(b.row(first + at).chunks_exact(classes));
            for ((a, b), target) in pairs.zip(target.chunks_exact_mut(classes)) {
                probabilities(a, target);
                probabilities(b, &mut p);
                target.iter_mut().zip(&p).for_each(|(t, p)| *t = (0.5 * (*t + p)).powf(1.0 / temperature));
                let total: f32 = target.iter().sum();
                target.iter_mut().for_each(|t| *t /= total);
            }
        }
    });
}

/// `weight` times the mean over all rows of `|p - target|²`, summed over blocks of logits; its gradient is added to `gradient`. The target is
/// taken as it is.
pub fn add_disagreement(logits: &Matrix, target: &Matrix, blocks: usize, weight: f32, gradient: &mut Matrix) -> f64 {
    let [rows, cols] = logits.shape();
    let (classes, share) = (cols / blocks, weight / rows as f32);
    let mut squares = vec![0.0f32; rows];
    for_two_row_blocks(gradient.data_mut(), cols, &mut squares, 1, 32 * cols, |first, gradients, squares| {
        let mut p = vec![0.0; classes];
        for (at, (gradient, square)) in gradients.chunks_exact_mut(cols).zip(squares).enumerate() {
            let rows = logits.row(first + at).chunks_exact(classes).zip(target.row(first + at).chunks_exact(classes));
            for ((x, t), g) in rows.zip(gradient.chunks_exact_mut(classes)) {
                probabilities(x, &mut p);
                *square += p.iter().zip(t).map(|(p, t)| (p - t) * (p - t)).sum::<f32>();
                let mean: f32 = p.iter().zip(t).map(|(p, t)| p * (p - t)).sum();
                g.iter_mut().zip(p.iter().zip(t)).for_each(|(g, (p, t))| *g += 2.0 * share * p * (p - t - mean));
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
        // Node 2 occurs twice, node 1 not at all.
        check_loss_gradient([4, 3], |h, gradient| nll(h, &[0, 2, 3, 2], &[1, 0, 2, 2], gradient));
        check_loss_gradient([4, 6], |h, gradient| nll_of_blocks(h, 2, &[0, 2, 3, 2], &[1, 0, 2, 2], gradient));
        let mut target = Matrix::default();
        let passes = [1.0, -2.0].map(|scale| Matrix::from_fn(4, 9, |i, c| scale * ((i + 3 * c) % 5) as f32));
        sharpened_mean(&passes[0], &passes[1], 3, 0.5, &mut target);
        check_loss_gradient([4, 9], |h, gradient| {
            gradient.reshape(4, 9);
            gradient.data_mut().fill(0.0);
            add_disagreement(h, &target, 3, 0.7, gradient)
        });
    }

    #[test]
    fn passes_agree_on_something_more_certain_than_their_mean() {
        let [a, b] = [[[1.0, 0.0]], [[0.0, 0.0]]].map(|rows| Matrix::from_rows(&rows));
        let mut target = Matrix::default();
        sharpened_mean(&a, &b, 1, 0.5, &mut target);
        let p = target.row(0);
        let mean = 0.5 * (0.731_058_6 + 0.5);
        assert!((p[0] - mean * mean / (mean * mean + (1.0 - mean) * (1.0 - mean))).abs() < 1e-6, "{p:?}");
    }
}
