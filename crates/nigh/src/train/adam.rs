//! Adam (Kingma and Ba), with weight decay as part of the gradient, as in the paper's runs, or apart from it.

use crate::choices::Optimizer;
use crate::linalg::Matrix;
use crate::linalg::dispatch::simd;
use crate::tape::Weights;
use crate::threads;
use rayon::prelude::*;

const BETA_1: f32 = 0.9;
const BETA_2: f32 = 0.999;
const EPSILON: f32 = 1e-8;

/// The state of the optimiser: first and second moments of every weight, in their order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Adam {
    /// Steps taken.
    pub steps: u64,
    /// Running means of the gradients.
    pub first: Vec<Matrix>,
    /// Running means of their squares.
    pub second: Vec<Matrix>,
}

impl Adam {
    /// Before the first step.
    pub fn new(weights: &Weights) -> Adam {
        let zeros = || weights.entries().iter().map(|w| Matrix::zeros(w.value.rows(), w.value.cols())).collect();
        Adam { steps: 0, first: zeros(), second: zeros() }
    }

    /// One step along the gradients that the weights hold, with weight decay as part of them.
    #[cfg(test)]
    pub fn step(&mut self, weights: &mut Weights, learning_rate: f32, weight_decay: f32) {
        self.step_with(weights, learning_rate, weight_decay, Optimizer::Adam);
    }

    /// One step along the gradients that the weights hold.
    pub fn step_with(&mut self, weights: &mut Weights, learning_rate: f32, weight_decay: f32, optimizer: Optimizer) {
        self.steps += 1;
        let (l2, kept) = match optimizer {
            Optimizer::Adam => (weight_decay, 1.0),
            Optimizer::AdamW => (0.0, (1.0 - f64::from(learning_rate) * f64::from(weight_decay)) as f32),
        };
        let correction = |beta: f32| 1.0 - f64::from(beta).powf(self.steps as f64);
        let step = (f64::from(learning_rate) / correction(BETA_1)) as f32;
        let root = correction(BETA_2).sqrt() as f32;
        let entries = weights.entries_mut().iter_mut().zip(&mut self.first).zip(&mut self.second);
        for ((weight, first), second) in entries.filter(|((weight, _), _)| !weight.frozen) {
            let (values, gradients) = (weight.value.data_mut(), weight.gradient.data());
            let moments = first.data_mut().par_chunks_mut(BLOCK).zip(second.data_mut().par_chunks_mut(BLOCK));
            let blocks = values.par_chunks_mut(BLOCK).zip(gradients.par_chunks(BLOCK)).zip(moments);
            threads::check();
            blocks.for_each(|((w, g), (m, v))| update(w, g, m, v, step, root, l2, kept));
        }
    }
}

/// Magnitudes below this become zero: they make no difference beside `EPSILON`, or to a sum. Weights that no gradient reaches
/// any more would decay into denormal numbers, with which processors are a hundred times slower.
const SMALLEST: f32 = 1e-30;

#[inline(always)]
fn or_zero(x: f32) -> f32 {
    if x.abs() < SMALLEST { 0.0 } else { x }
}

/// Weights that one thread updates at a time.
const BLOCK: usize = 1 << 14;

simd! {
    fn update(w: &mut [f32], g: &[f32], m: &mut [f32], v: &mut [f32], step: f32, root: f32, l2: f32, kept: f32) {
        for (((w, &g), m), v) in w.iter_mut().zip(g).zip(m).zip(v) {
            let g = g + l2 * *w;
            *m = or_zero(*m + (1.0 - BETA_1) * (g - *m));
            *v = or_zero(BETA_2 * *v + (1.0 - BETA_2) * g * g);
            *w = or_zero(kept * *w - step * *m / (v.sqrt() / root + EPSILON));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::dispatch::testing::assert_same_bits_at_every_level;
    use crate::seeds::Seeds;

    #[test]
    fn a_weight_without_gradient_decays_to_zero_and_not_to_denormal_numbers() {
        let mut weights = Weights::new(Seeds::new(0));
        weights.declare("w", Matrix::from_rows(&[[0.5, -1e-3, 1e-25, 0.0]]));
        weights.clear_gradients();
        let mut adam = Adam::new(&weights);
        for step in 0..4_000 {
            adam.step(&mut weights, if step < 200 { 0.01 } else { 0.001 }, 5e-4);
            let values = [&weights.entries()[0].value, &adam.first[0], &adam.second[0]];
            assert!(values.iter().all(|matrix| matrix.data().iter().all(|x| *x == 0.0 || x.is_normal())), "{values:?}");
        }
        let left = weights.entries()[0].value.data();
        assert!(left[1..].iter().all(|w| w.abs() < 1e-3), "{left:?}");
    }

    #[test]
    fn without_decay_both_kinds_are_the_same_step() {
        let stepped = |decay| {
            let mut weights = Weights::new(Seeds::new(0));
            weights.declare("w", Matrix::from_rows(&[[0.5, -1.0, 2.0]]));
            weights.entries_mut()[0].gradient = Matrix::from_rows(&[[0.1, -0.2, 3.0]]);
            let mut adam = Adam::new(&weights);
            (0..3).for_each(|_| adam.step_with(&mut weights, 0.01, 0.0, decay));
            weights.entries()[0].value.clone()
        };
        assert_eq!(stepped(Optimizer::Adam), stepped(Optimizer::AdamW));
    }

    #[test]
    fn every_level_gives_the_same_bits() {
        let wave = |at: usize| ((at * 37 % 101) as f32 - 50.0) * 0.01;
        assert_same_bits_at_every_level(|| {
            let mut weights = Weights::new(Seeds::new(0));
            weights.declare("w", Matrix::from_fn(3, 37, |i, c| wave(37 * i + c)));
            let mut adam = Adam::new(&weights);
            for step in 1..4 {
                let gradient = weights.entries_mut()[0].gradient.data_mut().iter_mut().enumerate();
                gradient.for_each(|(at, g)| *g = wave(at * step + 5));
                adam.step(&mut weights, 0.01, 5e-4);
            }
            weights.entries()[0].value.data().to_vec()
        });
    }

    #[test]
    fn the_first_steps_are_as_long_as_the_learning_rate_whatever_the_gradient() {
        let mut weights = Weights::new(Seeds::new(0));
        weights.declare("w", Matrix::from_rows(&[[0.5, -1.0, 2.0]]));
        weights.entries_mut()[0].gradient = Matrix::from_rows(&[[0.1, -20.0, 3.0]]);
        let mut adam = Adam::new(&weights);
        for steps in 1..=3 {
            adam.step(&mut weights, 0.01, 0.0);
            let moved = 0.01 * steps as f32;
            let expected = [0.5 - moved, -1.0 + moved, 2.0 - moved];
            let found = weights.entries()[0].value.data();
            assert!(found.iter().zip(expected).all(|(w, expected)| (w - expected).abs() < 1e-5), "{found:?}");
        }
    }

    #[test]
    fn a_frozen_weight_stays() {
        let mut weights = Weights::new(Seeds::new(0));
        for name in ["learnt", "frozen"] {
            weights.declare(name, Matrix::from_rows(&[[0.5]]));
        }
        weights.entries_mut().iter_mut().for_each(|weight| weight.gradient = Matrix::from_rows(&[[1.0]]));
        weights.entries_mut()[1].frozen = true;
        Adam::new(&weights).step(&mut weights, 0.01, 5e-4);
        let values: Vec<f32> = weights.entries().iter().map(|weight| weight.value.data()[0]).collect();
        assert!(values[0] < 0.5 && values[1] == 0.5, "{values:?}");
    }
}
