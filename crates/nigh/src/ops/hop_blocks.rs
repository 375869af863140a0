//! Neighbourhoods side by side: blocks `X_k`, the rows of `Ã^k X` at one length.

use crate::graph::Operator;
use crate::linalg::{Matrix, for_row_blocks, scale_rows};
use crate::propagation::Execution;
use crate::propagation::levels::{LevelSource, Levels};
use crate::tape::{Gradients, Inputs, Operation, Pass};
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

/// `inputs = [X]`, which nothing is learnt from; the output has a block as wide as `X` for each `k`: the rows of `Ã^k X`, each as
/// long as if its entries were ones, so that no hop outweighs another.
#[derive(Debug)]
pub struct HopBlocks {
    operator: Operator,
    hops: RangeInclusive<usize>,
    shortest: f32,
    execution: Arc<Execution>,
}

impl HopBlocks {
    /// `Ã` and the values of `k`. Rows shorter than `shortest` stay short.
    pub(crate) fn new(
        operator: Operator,
        hops: RangeInclusive<usize>,
        shortest: f32,
        execution: Arc<Execution>,
    ) -> HopBlocks {
        HopBlocks { operator, hops, shortest, execution }
    }
}

impl Operation for HopBlocks {
    fn width(&self, inputs: &[usize]) -> usize {
        self.hops.clone().count() * inputs[0]
    }

    fn forward(&mut self, inputs: Inputs<'_>, output: &mut Matrix, _: &Pass) {
        let x = inputs.get(0);
        let [rows, width] = x.shape();
        let all = self.width(&[width]);
        output.reshape(rows, all);
        let fill = |columns: Range<usize>, panel: &mut Matrix| x.copy_columns(columns, panel);
        let source = LevelSource::Columns { width, fill: &fill };
        let (first, hops) = (*self.hops.start(), self.hops.clone().collect::<Vec<_>>());
        let levels = Levels { operator: &self.operator, execution: &self.execution, source };
        levels.all(&hops, |columns, hop, panel| {
            let number = hop - first;
            let place = number * width + columns.start..number * width + columns.end;
            for_row_blocks(output.data_mut(), all, columns.len(), |first, rows| {
                for (at, row) in rows.chunks_exact_mut(all).enumerate() {
                    row[place.clone()].copy_from_slice(panel.row(first + at));
                }
            });
        });
        let (length, shortest) = ((width as f32).sqrt(), self.shortest);
        for_row_blocks(output.data_mut(), all, 4 * all, |_, rows| {
            scale_rows(length, shortest, width, rows);
        });
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
        for (hops, count) in [(1..=3, 3), (0..=2, 3), (2..=2, 1)] {
            let found = forward(HopBlocks::new(operator.clone(), hops.clone(), 0.0, Arc::default()), &x);
            assert_eq!(found.cols(), 5 * count);
            for (block, hop) in hops.enumerate() {
                let power = operator.propagate(x.clone(), hop);
                for node in 0..24 {
                    let length = power.row(node).iter().map(|x| x * x).sum::<f32>().sqrt();
                    let block = &found.row(node)[5 * block..][..5];
                    assert!(
                        block.iter().zip(power.row(node)).all(|(a, b)| (a - 5f32.sqrt() * b / length).abs() < 1e-5)
                    );
                }
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
