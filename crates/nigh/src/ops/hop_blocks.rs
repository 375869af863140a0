//! Neighbourhoods side by side: `[X_1, ..., X_K]` with `X_k` the rows of `Ã^k X` at one length.

use crate::graph::Operator;
use crate::linalg::{Matrix, for_row_blocks, normalize_rows};
use crate::tape::{Gradients, Inputs, Operation, Pass};

/// `inputs = [X]`, which nothing is learnt from; the output has `K` blocks as wide as `X`: the rows of `Ã X`, ..., `Ã^K X`, each as
/// long as if its entries were ones, so that no hop outweighs another.
#[derive(Debug)]
pub struct HopBlocks {
    operator: Operator,
    hops: usize,
}

impl HopBlocks {
    /// `Ã` and `K`.
    pub fn new(operator: Operator, hops: usize) -> HopBlocks {
        HopBlocks { operator, hops }
    }
}

impl Operation for HopBlocks {
    fn width(&self, inputs: &[usize]) -> usize {
        self.hops * inputs[0]
    }

    fn forward(&mut self, inputs: Inputs<'_>, output: &mut Matrix, _: &Pass) {
        let [rows, width] = inputs.get(0).shape();
        output.reshape(rows, self.hops * width);
        let (mut power, mut next) = (inputs.get(0).clone(), Matrix::default());
        let (mut unit, mut scales) = (Matrix::default(), Vec::new());
        let length = (width as f32).sqrt();
        for hop in 0..self.hops {
            self.operator.apply(&power, &mut next);
            std::mem::swap(&mut power, &mut next);
            normalize_rows(&power, &mut unit, &mut scales);
            for_row_blocks(output.data_mut(), self.hops * width, width, |first, rows| {
                for (at, row) in rows.chunks_exact_mut(self.hops * width).enumerate() {
                    let block = &mut row[hop * width..][..width];
                    block.iter_mut().zip(unit.row(first + at)).for_each(|(block, unit)| *block = length * unit);
                }
            });
        }
    }

    fn backward(&mut self, _: Inputs<'_>, _: &Matrix, _: &Matrix, wanted: &mut Gradients<'_>) {
        assert!(wanted.get(0).is_none(), "hops of what is learnt are for HopSum");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::generate;
    use crate::seeds::Seeds;
    use crate::tape::{Tape, Weights};

    #[test]
    fn every_block_is_a_hop_at_one_length() {
        let operator = Operator::symmetric(generate::communities(4, 6, 0.1, 3).graph.into());
        let x = Matrix::from_fn(24, 5, |i, c| ((i * 31 + c * 17) % 13) as f32 - 6.0);
        let found = forward(HopBlocks::new(operator.clone(), 3), &x);
        for hop in 0..3 {
            let power = operator.propagate(x.clone(), hop + 1);
            for node in 0..24 {
                let length = power.row(node).iter().map(|x| x * x).sum::<f32>().sqrt();
                let block = &found.row(node)[5 * hop..][..5];
                assert!(block.iter().zip(power.row(node)).all(|(a, b)| (a - 5f32.sqrt() * b / length).abs() < 1e-5));
            }
        }
    }

    fn forward(blocks: HopBlocks, x: &Matrix) -> Matrix {
        let (mut tape, seeds) = (Tape::default(), Seeds::new(0));
        let x = tape.constant(x.clone());
        let y = tape.push(blocks, &[x]);
        tape.forward(&Weights::new(seeds), &Pass { training: false, seeds, graph: 0, draw: 0 });
        tape.value(y).clone()
    }
}
