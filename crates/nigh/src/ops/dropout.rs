//! Dropout, and ReLU with dropout in one pass. The mask is a function of its address, so it is never stored.

use crate::linalg::dispatch::simd;
use crate::linalg::{Matrix, for_row_blocks};
use crate::seeds::{self, Purpose, Stream};
use crate::tape::{Gradients, Inputs, Operation, Pass};
use std::sync::Arc;

/// Which entries a layer drops.
#[derive(Debug, Clone)]
pub(crate) struct Mask {
    rate: f32,
    /// The name of the layer as an address, so that every layer of a model drops other entries.
    layer: u64,
    /// The address of each row, if it is not its number.
    addresses: Option<Arc<[u32]>>,
    /// The addresses of the rows that were selected, if not all are there.
    selected: Option<Vec<u32>>,
}

impl Mask {
    pub fn new(rate: f32, name: &str) -> Mask {
        Mask { rate, layer: seeds::named(name), addresses: None, selected: None }
    }

    /// With row `i` drawn as row `addresses[i]`.
    pub fn by(self, addresses: Arc<[u32]>) -> Mask {
        Mask { addresses: Some(addresses), ..self }
    }

    /// With these rows alone from now on, or all again.
    fn select(&mut self, rows: Option<&[u32]>) {
        self.selected = None;
        self.selected = rows.map(|rows| rows.iter().map(|&row| self.address(row as usize)).collect());
    }

    /// The random stream of a pass, if it drops anything.
    pub fn stream(&self, pass: &Pass) -> Option<Stream> {
        (pass.training && self.rate > 0.0).then(|| pass.stream(Purpose::Dropout, self.layer))
    }

    pub fn rate(&self) -> f32 {
        self.rate
    }

    pub fn scale(&self) -> f32 {
        1.0 / (1.0 - self.rate)
    }

    /// The address of a row, part of a position of the stream.
    #[inline(always)]
    pub fn address(&self, row: usize) -> u32 {
        let addresses = self.selected.as_deref().or(self.addresses.as_deref());
        addresses.map_or(row as u32, |addresses| addresses[row])
    }

    /// An entry whose sixteen random bits are below this is dropped; one position of the stream serves eight entries.
    fn threshold(&self) -> u32 {
        (self.rate * 65_536.0) as u32
    }

    /// Whether the entries at `(address of the row, column)` are kept. All slices have one length, a multiple of `LANES`.
    pub fn keeps(&self, stream: Stream, addresses: &[u32], columns: &[u32], kept: &mut [bool]) {
        keep_entries(stream, self.threshold(), addresses, columns, kept);
    }

    /// `y` is `x` scaled, with zero for every dropped entry and, if `RELU`, for every negative one. Without a stream nothing is
    /// dropped or scaled.
    fn apply<const RELU: bool>(&self, stream: Option<Stream>, x: &Matrix, y: &mut Matrix) {
        let width = x.cols();
        y.reshape(x.rows(), width);
        for_row_blocks(y.data_mut(), width, 2 * width, |first, rows| {
            rows.copy_from_slice(&x.data()[first * width..][..rows.len()]);
            match stream {
                Some(stream) => drop_entries(stream, self, first, width, RELU, rows),
                None if RELU => rows.iter_mut().for_each(|value| *value = relu(*value)),
                None => (),
            }
        });
    }
}

/// Positions of the stream that are computed at once.
pub(crate) const LANES: usize = 16;

simd! {
    fn keep_entries(stream: Stream, threshold: u32, addresses: &[u32], columns: &[u32], kept: &mut [bool]) {
        let blocks = addresses.as_chunks::<LANES>().0.iter().zip(columns.as_chunks::<LANES>().0);
        for ((addresses, columns), kept) in blocks.zip(kept.as_chunks_mut::<LANES>().0) {
            let mut eights = [0; LANES];
            for lane in 0..LANES {
                eights[lane] = columns[lane] / 8;
            }
            let words = stream.at_each(addresses, &[0; LANES], &eights);
            for lane in 0..LANES {
                let at = columns[lane] % 8;
                let (low, high) = (
                    if at < 2 { words[0][lane] } else { words[1][lane] },
                    if at < 6 { words[2][lane] } else { words[3][lane] },
                );
                let word = if at < 4 { low } else { high };
                kept[lane] = (word >> (16 * (at % 2))) & 0xFFFF >= threshold;
            }
        }
    }
}

simd! {
    fn drop_entries(stream: Stream, mask: &Mask, first: usize, width: usize, relu: bool, rows: &mut [f32]) {
        let (threshold, scale) = (mask.threshold(), mask.scale());
        let eights = width.div_ceil(8);
        let total = rows.len() / width * eights;
        // Eight entries of a row have one position; positions of several rows are computed at once.
        let (mut row, mut eight) = (0, 0);
        let mut done = 0;
        while done < total {
            let count = LANES.min(total - done);
            let (mut addresses, mut columns, mut starts) = ([0; LANES], [0; LANES], [0; LANES]);
            for lane in 0..count {
                addresses[lane] = mask.address(first + row);
                columns[lane] = eight as u32;
                starts[lane] = row * width + 8 * eight;
                eight += 1;
                if eight == eights {
                    (row, eight) = (row + 1, 0);
                }
            }
            let words = stream.at_each(&addresses, &[0; LANES], &columns);
            let mut bits = [0; LANES];
            for at in 0..8 {
                for lane in 0..LANES {
                    let half = (words[at / 2][lane] >> (16 * (at % 2))) & 0xFFFF;
                    bits[lane] |= u32::from(half >= threshold) << at;
                }
            }
            for lane in 0..count {
                let rest = width - 8 * columns[lane] as usize;
                let entries = &mut rows[starts[lane]..][..rest.min(8)];
                match <&mut [f32; 8]>::try_from(&mut *entries) {
                    Ok(entries) => drop_some(entries, bits[lane], scale, relu),
                    Err(_) => drop_some(entries, bits[lane], scale, relu),
                }
            }
            done += count;
        }
    }
}

#[inline(always)]
fn drop_some(entries: &mut [f32], bits: u32, scale: f32, relu: bool) {
    for (at, entry) in entries.iter_mut().enumerate() {
        let x = if relu { self::relu(*entry) } else { *entry };
        *entry = if bits & (1 << at) != 0 { x * scale } else { 0.0 };
    }
}

/// `inputs = [X]`; training keeps each entry with probability `1 - rate`, scaled by `1 / (1 - rate)`.
#[derive(Debug)]
pub struct Dropout {
    mask: Mask,
    /// The stream of the last forward pass, which also masks its gradient.
    stream: Option<Stream>,
}

impl Dropout {
    /// `name` is part of the mask's address.
    pub fn new(rate: f32, name: &str) -> Dropout {
        Dropout { mask: Mask::new(rate, name), stream: None }
    }

    /// With the mask of row `i` drawn as that of row `addresses[i]`.
    pub fn by(self, addresses: Arc<[u32]>) -> Dropout {
        Dropout { mask: self.mask.by(addresses), ..self }
    }
}

impl Operation for Dropout {
    fn forward(&mut self, inputs: Inputs<'_>, output: &mut Matrix, pass: &Pass) {
        self.stream = self.mask.stream(pass);
        self.mask.apply::<false>(self.stream, inputs.get(0), output);
    }

    fn backward(&mut self, _: Inputs<'_>, _: &Matrix, gradient: &Matrix, wanted: &mut Gradients<'_>) {
        if let Some(dx) = wanted.get(0) {
            self.mask.apply::<false>(self.stream, gradient, dx);
        }
    }

    /// Every training pass drops other entries.
    fn is_dynamic(&self) -> bool {
        self.mask.rate > 0.0
    }

    fn can_select(&self) -> bool {
        true
    }

    fn select(&mut self, rows: Option<&[u32]>, _: usize) {
        self.mask.select(rows);
    }
}

/// `inputs = [X]`; the output is `max(X, 0)`, of which training keeps each entry with probability `1 - rate`,
/// scaled by `1 / (1 - rate)`.
#[derive(Debug)]
pub struct ReluDropout {
    mask: Mask,
    scale: f32,
}

impl ReluDropout {
    /// `name` is part of the mask's address.
    pub fn new(rate: f32, name: &str) -> ReluDropout {
        ReluDropout { mask: Mask::new(rate, name), scale: 1.0 }
    }

    /// With the mask of row `i` drawn as that of row `addresses[i]`.
    pub fn by(self, addresses: Arc<[u32]>) -> ReluDropout {
        ReluDropout { mask: self.mask.by(addresses), ..self }
    }
}

impl Operation for ReluDropout {
    fn forward(&mut self, inputs: Inputs<'_>, output: &mut Matrix, pass: &Pass) {
        let stream = self.mask.stream(pass);
        self.scale = if stream.is_some() { self.mask.scale() } else { 1.0 };
        self.mask.apply::<true>(stream, inputs.get(0), output);
    }

    fn backward(&mut self, _: Inputs<'_>, output: &Matrix, gradient: &Matrix, wanted: &mut Gradients<'_>) {
        // An entry of the output is positive exactly where it passed ReLU and dropout.
        if let Some(dx) = wanted.get(0) {
            let (width, scale) = (output.cols(), self.scale);
            dx.reshape(output.rows(), width);
            for_row_blocks(dx.data_mut(), width, width, |first, rows| {
                let place = first * width..first * width + rows.len();
                scale_where_positive(&output.data()[place.clone()], &gradient.data()[place], scale, rows);
            });
        }
    }

    fn is_dynamic(&self) -> bool {
        self.mask.rate > 0.0
    }

    fn can_select(&self) -> bool {
        true
    }

    fn select(&mut self, rows: Option<&[u32]>, _: usize) {
        self.mask.select(rows);
    }
}

simd! {
    /// `dx = scale g` where `y > 0`, and zero elsewhere.
    fn scale_where_positive(y: &[f32], g: &[f32], scale: f32, dx: &mut [f32]) {
        for ((dx, &y), &g) in dx.iter_mut().zip(y).zip(g) {
            // Scaled before the choice: a branch on a random mask would be mispredicted half of the time.
            let scaled = g * scale;
            *dx = if y > 0.0 { scaled } else { 0.0 };
        }
    }
}

/// `max(x, 0)`, except that NaN stays NaN and is noticed.
#[inline(always)]
fn relu(x: f32) -> f32 {
    if x < 0.0 { 0.0 } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::dispatch::testing::assert_same_bits_at_every_level;
    use crate::tape::{check_gradients, value_and_gradients};

    #[test]
    fn gradients_agree_with_finite_differences() {
        check_gradients(&[[6, 11]], || ReluDropout::new(0.0, "a"));
        check_gradients(&[[6, 11]], || ReluDropout::new(0.4, "a"));
        check_gradients(&[[6, 11]], || Dropout::new(0.4, "a").by([5, 0, 1, 9, 2, 3].into()));
    }

    #[test]
    fn it_keeps_the_share_and_the_mean_that_it_promises() {
        for rate in [0.5, 0.6] {
            let (y, _) = value_and_gradients(&mut ReluDropout::new(rate, "a"), &[Matrix::ones(500, 33)]);
            assert_eq!(y, value_and_gradients(&mut Dropout::new(rate, "a"), &[Matrix::ones(500, 33)]).0);
            let kept = y.data().iter().filter(|&&value| value > 0.0).count() as f32 / y.data().len() as f32;
            assert!((kept - (1.0 - rate)).abs() < 0.02, "{kept}");
            let mean = y.data().iter().sum::<f32>() / y.data().len() as f32;
            assert!((mean - 1.0).abs() < 0.04, "{mean}");
        }
    }

    #[test]
    fn the_bits_are_the_same_at_every_level() {
        let x = Matrix::from_fn(300, 45, |i, c| ((i * 31 + c * 17) % 101) as f32 - 50.0);
        assert_same_bits_at_every_level(|| {
            let inputs = std::slice::from_ref(&x);
            let plain = value_and_gradients(&mut Dropout::new(0.3, "a"), inputs);
            (plain, value_and_gradients(&mut ReluDropout::new(0.3, "a"), inputs))
        });
    }
}
