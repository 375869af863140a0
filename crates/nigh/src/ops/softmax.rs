//! Node classification: softmax over the classes and the negative log-likelihood of the labels.

use crate::linalg::Matrix;

pub use crate::linalg::softmax::{most_likely, probabilities};

/// Mean negative log-likelihood of `labels` at `nodes`; its gradient with respect to `logits` goes to `gradient`.
pub fn nll(logits: &Matrix, nodes: &[u32], labels: &[u32], gradient: &mut Matrix) -> f64 {
    assert_eq!(nodes.len(), labels.len());
    let [rows, cols] = logits.shape();
    gradient.reshape(rows, cols);
    gradient.data_mut().fill(0.0);
    let share = 1.0 / nodes.len() as f32;
    let mut loss = 0.0;
    let mut p = vec![0.0; cols];
    for (&node, &label) in nodes.iter().zip(labels) {
        let x = logits.row(node as usize);
        let (largest, total) = probabilities(x, &mut p);
        // From the logits and not from p, which may be zero.
        loss += f64::from(largest) + f64::from(total).ln() - f64::from(x[label as usize]);
        let g = gradient.row_mut(node as usize);
        g.iter_mut().zip(&p).for_each(|(g, p)| *g += p * share);
        g[label as usize] -= share;
    }
    loss / nodes.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::check_loss_gradient;

    #[test]
    fn gradients_agree_with_finite_differences() {
        // Node 2 occurs twice, node 1 not at all.
        check_loss_gradient([4, 3], |h, gradient| nll(h, &[0, 2, 3, 2], &[1, 0, 2, 2], gradient));
    }
}
