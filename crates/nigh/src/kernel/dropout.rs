//! ReLU and dropout in one pass. The mask is a function of its address, so it is never stored.

use super::{Matrix, for_row_blocks};
use crate::seeds::{self, Purpose, Stream};
use crate::tape::{Gradients, Inputs, Operation, Pass};

/// `inputs = [X]`; the output is `max(X, 0)`, of which training keeps each entry with probability `1 - rate`,
/// scaled by `1 / (1 - rate)`.
#[derive(Debug)]
pub struct ReluDropout {
    rate: f32,
    /// The name of the layer as an address: no two layers of a model drop alike.
    layer: u64,
    scale: f32,
}

impl ReluDropout {
    /// `name` is part of the mask's address.
    pub fn new(rate: f32, name: &str) -> ReluDropout {
        ReluDropout { rate, layer: seeds::named(name), scale: 1.0 }
    }
}

impl Operation for ReluDropout {
    fn forward(&mut self, inputs: Inputs<'_>, output: &mut Matrix, pass: &Pass) {
        output.copy_from(inputs.get(0));
        let width = output.cols();
        let drops = pass.training && self.rate > 0.0;
        self.scale = if drops { 1.0 / (1.0 - self.rate) } else { 1.0 };
        if !drops {
            return for_row_blocks(output.data_mut(), width, width, |_, rows| {
                rows.iter_mut().for_each(|value| *value = relu(*value));
            });
        }
        let stream = pass.stream(Purpose::Dropout, self.layer);
        let (scale, rate) = (self.scale, self.rate);
        for_row_blocks(output.data_mut(), width, 8 * width, |first, rows| {
            for (at, row) in rows.chunks_exact_mut(width).enumerate() {
                drop_entries(stream, (first + at) as u64, rate, scale, row);
            }
        });
    }

    fn backward(&mut self, _: Inputs<'_>, output: &Matrix, gradient: &Matrix, wanted: &mut Gradients<'_>) {
        // An entry of the output is positive exactly where it passed both.
        if let Some(dx) = wanted.get(0) {
            dx.copy_from(gradient);
            let (width, scale) = (output.cols(), self.scale);
            for_row_blocks(dx.data_mut(), width, width, |first, rows| {
                let output = &output.data()[first * width..][..rows.len()];
                rows.iter_mut().zip(output).for_each(|(g, &y)| *g = if y > 0.0 { *g * scale } else { 0.0 });
            });
        }
    }
}

/// `max(x, 0)`, except that what is not a number stays so and is noticed.
#[inline(always)]
fn relu(x: f32) -> f32 {
    if x < 0.0 { 0.0 } else { x }
}

/// Sixteen random bits decide about an entry, so one position of the stream serves eight.
fn drop_entries(stream: Stream, row: u64, rate: f32, scale: f32, entries: &mut [f32]) {
    let below = (rate * 65_536.0) as u32;
    for (block, entries) in entries.chunks_mut(8).enumerate() {
        let words = stream.at_pair(row, block as u64);
        for (at, entry) in entries.iter_mut().enumerate() {
            let bits = (words[at / 2] >> (16 * (at % 2))) & 0xFFFF;
            *entry = if bits >= below { relu(*entry) * scale } else { 0.0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::{check_gradients, value_and_gradients};

    #[test]
    fn gradients_agree_with_finite_differences() {
        check_gradients(&[[6, 11]], || ReluDropout::new(0.0, "a"));
        check_gradients(&[[6, 11]], || ReluDropout::new(0.4, "a"));
    }

    #[test]
    fn it_keeps_the_share_and_the_mean_that_it_promises() {
        for rate in [0.5, 0.6] {
            let (y, _) = value_and_gradients(&mut ReluDropout::new(rate, "a"), &[Matrix::ones(500, 33)]);
            let kept = y.data().iter().filter(|&&value| value > 0.0).count() as f32 / y.data().len() as f32;
            assert!((kept - (1.0 - rate)).abs() < 0.02, "{kept}");
            let mean = y.data().iter().sum::<f32>() / y.data().len() as f32;
            assert!((mean - 1.0).abs() < 0.04, "{mean}");
        }
    }
}
