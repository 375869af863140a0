//! The softmax of a row, and its largest entry.

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

    #[test]
    fn large_logits_neither_overflow_nor_lose_the_answer() {
        let mut p = [0.0; 3];
        probabilities(&[1000.0, 1000.0, -1000.0], &mut p);
        assert_eq!(p, [0.5, 0.5, 0.0]);
        assert_eq!(most_likely(&[1.0, 3.0, 3.0]), 1);
    }
}
