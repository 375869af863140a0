//! Dropout of whole rows ("DropNode", Feng et al.): what is known of a node is taken away, so that a model learns to rely on its
//! neighbours.

use super::dropout::{LANES, Mask};
use crate::linalg::dispatch::simd;
use crate::linalg::{Matrix, for_row_blocks};
use crate::seeds::{Stream, unit};
use crate::tape::{Gradients, Inputs, Operation, Pass};
use std::sync::Arc;

impl Mask {
    /// What each row is multiplied by in a pass, as a dropped row or a kept one: `0` or `1 / (1 - rate)`. None of them if nothing
    /// is dropped.
    pub fn row_factors(&self, pass: &Pass, rows: usize, factors: &mut Vec<f32>) {
        match self.stream(pass) {
            Some(stream) => {
                factors.resize(rows, 0.0);
                for_row_blocks(factors, 1, 8, |first, factors| draw_rows(stream, self, first, factors));
            }
            None => factors.clear(),
        }
    }
}

simd! {
    fn draw_rows(stream: Stream, mask: &Mask, first: usize, factors: &mut [f32]) {
        let (rate, scale) = (mask.rate(), mask.scale());
        for (block, factors) in factors.chunks_mut(LANES).enumerate() {
            let mut addresses = [0; LANES];
            for lane in 0..factors.len() {
                addresses[lane] = mask.address(first + LANES * block + lane);
            }
            // The second word of the position tells rows from entries, which have a zero there.
            let words = stream.at_each(&addresses, &[1; LANES], &[0; LANES]);
            for (factor, &word) in factors.iter_mut().zip(&words[0]) {
                *factor = if unit(word) < rate { 0.0 } else { scale };
            }
        }
    }
}

/// `inputs = [X]`; training keeps each row with probability `1 - rate`, scaled by `1 / (1 - rate)`, and sets the others to zero.
#[derive(Debug)]
pub struct DropRows {
    mask: Mask,
    /// Those of the last forward pass, which also scale its gradient.
    factors: Vec<f32>,
}

impl DropRows {
    /// `name` is part of the mask's address.
    pub fn new(rate: f32, name: &str) -> DropRows {
        DropRows { mask: Mask::new(rate, name), factors: Vec::new() }
    }

    /// With row `i` dropped as row `addresses[i]`.
    pub fn by(self, addresses: Arc<[u32]>) -> DropRows {
        DropRows { mask: self.mask.by(addresses), ..self }
    }

    fn scale(&self, x: &Matrix, y: &mut Matrix) {
        let width = x.cols();
        y.reshape(x.rows(), width);
        for_row_blocks(y.data_mut(), width, width, |first, rows| {
            let x = &x.data()[first * width..][..rows.len()];
            if self.factors.is_empty() {
                rows.copy_from_slice(x);
            } else {
                scale_rows(x, &self.factors[first..], width, rows);
            }
        });
    }
}

simd! {
    fn scale_rows(x: &[f32], factors: &[f32], width: usize, y: &mut [f32]) {
        for ((y, x), factor) in y.chunks_exact_mut(width).zip(x.chunks_exact(width)).zip(factors) {
            for (y, x) in y.iter_mut().zip(x) {
                *y = factor * x;
            }
        }
    }
}

impl Operation for DropRows {
    fn forward(&mut self, inputs: Inputs<'_>, output: &mut Matrix, pass: &Pass) {
        self.mask.row_factors(pass, inputs.get(0).rows(), &mut self.factors);
        self.scale(inputs.get(0), output);
    }

    fn backward(&mut self, _: Inputs<'_>, _: &Matrix, gradient: &Matrix, wanted: &mut Gradients<'_>) {
        if let Some(dx) = wanted.get(0) {
            self.scale(gradient, dx);
        }
    }

    /// Every training pass drops other rows.
    fn is_dynamic(&self) -> bool {
        self.mask.rate() > 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::dispatch::testing::assert_same_bits_at_every_level;
    use crate::tape::{check_gradients, value_and_gradients};

    #[test]
    fn gradients_agree_with_finite_differences() {
        check_gradients(&[[6, 5]], || DropRows::new(0.0, "a"));
        check_gradients(&[[6, 5]], || DropRows::new(0.5, "a").by([5, 0, 1, 9, 2, 3].into()));
    }

    #[test]
    fn it_keeps_the_share_of_whole_rows_that_it_promises() {
        for rate in [0.3, 0.5] {
            let (y, _) = value_and_gradients(&mut DropRows::new(rate, "a"), &[Matrix::ones(4_000, 3)]);
            let rows: Vec<&[f32]> = y.data().chunks(3).collect();
            let scale = 1.0 / (1.0 - rate);
            assert!(rows.iter().all(|row| *row == [0.0; 3] || *row == [scale; 3]));
            let kept = rows.iter().filter(|row| row[0] > 0.0).count() as f32 / 4_000.0;
            assert!((kept - (1.0 - rate)).abs() < 0.03, "{kept}");
        }
    }

    #[test]
    fn a_row_is_dropped_by_its_address_and_not_by_its_place() {
        let order: Vec<u32> = (0..300).map(|i| i * 7 % 300).collect();
        let x = Matrix::from_fn(300, 5, |i, c| (i + c) as f32);
        let (y, _) = value_and_gradients(&mut DropRows::new(0.5, "a"), std::slice::from_ref(&x));
        let moved = &mut DropRows::new(0.5, "a").by(order.clone().into());
        assert_eq!(value_and_gradients(moved, &[x.permute_rows(&order)]).0, y.permute_rows(&order));
        let (other, _) = value_and_gradients(&mut DropRows::new(0.5, "b"), &[x]);
        assert_ne!(other, y);
    }

    #[test]
    fn the_bits_do_not_depend_on_threads_or_level() {
        let x = [Matrix::from_fn(9_000, 45, |i, c| ((i * 31 + c * 17) % 101) as f32 - 50.0)];
        let run = || value_and_gradients(&mut DropRows::new(0.3, "a"), &x);
        let on = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(run);
        let alone = on(1);
        assert_eq!(alone, on(2));
        assert_eq!(alone, on(4));
        assert_same_bits_at_every_level(run);
    }
}
