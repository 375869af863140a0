//! Node classification: softmax over the classes and the negative log-likelihood of the labels.

use crate::linalg::Matrix;

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
        // From the logits and not from p, which is zero where the model is sure of something else.
        loss += f64::from(largest) + f64::from(total).ln() - f64::from(x[label as usize]);
        let g = gradient.row_mut(node as usize);
        g.iter_mut().zip(&p).for_each(|(g, p)| *g += p * share);
        g[label as usize] -= share;
    }
    loss / nodes.len() as f64
}

/// `p_c = exp(x_c) / Σ exp(x)`, shifted so that nothing overflows; returns the shift and the shifted sum.
pub fn probabilities(logits: &[f32], p: &mut [f32]) -> (f32, f32) {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    p.iter_mut().zip(logits).for_each(|(p, x)| *p = (x - largest).exp());
    let total: f32 = p.iter().sum();
    p.iter_mut().for_each(|p| *p /= total);
    (largest, total)
}

/// The most likely class; the first of equals.
pub fn most_likely(logits: &[f32]) -> u32 {
    (1..logits.len()).fold(0, |best, class| if logits[class] > logits[best] { class } else { best }) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::check_loss_gradient;

    #[test]
    fn gradients_agree_with_finite_differences() {
        // Node 2 is asked twice, node 1 never.
        check_loss_gradient([4, 3], |h, gradient| nll(h, &[0, 2, 3, 2], &[1, 0, 2, 2], gradient));
    }

    #[test]
    fn large_logits_neither_overflow_nor_lose_the_answer() {
        let mut p = [0.0; 3];
        probabilities(&[1000.0, 1000.0, -1000.0], &mut p);
        assert_eq!(p, [0.5, 0.5, 0.0]);
        assert_eq!(most_likely(&[1.0, 3.0, 3.0]), 1);
    }
}
