//! Adam (Kingma and Ba) with L2 as part of the gradient, as the paper's figures were made.

use crate::kernel::Matrix;
use crate::kernel::dispatch::simd;
use crate::tape::Weights;
use rayon::prelude::*;

const BETA_1: f32 = 0.9;
const BETA_2: f32 = 0.999;
const EPSILON: f32 = 1e-8;

/// The state of the optimiser: first and second moments of every weight, in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct Adam {
    /// How many steps were taken.
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

    /// One step along the gradients that the weights hold.
    pub fn step(&mut self, weights: &mut Weights, learning_rate: f32, weight_decay: f32) {
        self.steps += 1;
        let correction = |beta: f32| 1.0 - f64::from(beta).powf(self.steps as f64);
        let step = (f64::from(learning_rate) / correction(BETA_1)) as f32;
        let root = correction(BETA_2).sqrt() as f32;
        let entries = weights.entries_mut().iter_mut().zip(&mut self.first).zip(&mut self.second);
        for ((weight, first), second) in entries.filter(|((weight, _), _)| !weight.frozen) {
            let (values, gradients) = (weight.value.data_mut(), weight.gradient.data());
            let moments = first.data_mut().par_chunks_mut(BLOCK).zip(second.data_mut().par_chunks_mut(BLOCK));
            let blocks = values.par_chunks_mut(BLOCK).zip(gradients.par_chunks(BLOCK)).zip(moments);
            blocks.for_each(|((w, g), (m, v))| update(w, g, m, v, step, root, weight_decay));
        }
    }
}

/// Weights that one thread moves at a time.
const BLOCK: usize = 1 << 14;

simd! {
    fn update(w: &mut [f32], g: &[f32], m: &mut [f32], v: &mut [f32], step: f32, root: f32, weight_decay: f32) {
        for (((w, &g), m), v) in w.iter_mut().zip(g).zip(m).zip(v) {
            let g = g + weight_decay * *w;
            *m += (1.0 - BETA_1) * (g - *m);
            *v = BETA_2 * *v + (1.0 - BETA_2) * g * g;
            *w -= step * *m / (v.sqrt() / root + EPSILON);
        }
    }
}
