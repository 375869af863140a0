//! `Y = Ã^K X + b`: message passing without weights, the heart of every model.

use super::dispatch::simd;
use super::linear::column_sums;
use super::{Matrix, entries, for_column_blocks, for_row_blocks};
use crate::graph::Operator;
use crate::tape::{Gradients, Inputs, Operation, Pass};

/// `inputs = [X]` or `[X, b]`.
#[derive(Debug)]
pub struct Propagate {
    operator: Operator,
    hops: usize,
    spare: Matrix,
    sums: Vec<f32>,
}

impl Propagate {
    /// `K = hops` applications of `operator`.
    pub fn new(operator: Operator, hops: usize) -> Propagate {
        Propagate { operator, hops, spare: Matrix::default(), sums: Vec::new() }
    }
}

impl Operation for Propagate {
    fn forward(&mut self, inputs: Inputs<'_>, output: &mut Matrix, _: &Pass) {
        apply_hops(&self.operator, self.hops, inputs.get(0), output, &mut self.spare);
        if inputs.len() == 2 {
            let (bias, width) = (inputs.get(1).data(), output.cols());
            for_row_blocks(output.data_mut(), width, width, |_, rows| {
                rows.chunks_exact_mut(width).for_each(|row| row.iter_mut().zip(bias).for_each(|(y, b)| *y += b));
            });
        }
    }

    fn backward(&mut self, _: Inputs<'_>, _: &Matrix, gradient: &Matrix, inputs: &mut Gradients<'_>) {
        // d/dX <G, Ã^K X> = (Ã^K)^T G.
        if let Some(x) = inputs.get(0) {
            apply_hops(&self.operator.transposed(), self.hops, gradient, x, &mut self.spare);
        }
        if let Some(bias) = inputs.get(1) {
            column_sums(gradient, bias.data_mut(), &mut self.sums);
        }
    }
}

/// `y = operator^hops x`, with one spare buffer to pass through.
fn apply_hops(operator: &Operator, hops: usize, x: &Matrix, y: &mut Matrix, spare: &mut Matrix) {
    if hops == 0 {
        return y.copy_from(x);
    }
    // The last hop has to land in `y`, so the first one does when their number is odd.
    operator.apply(x, if hops.is_multiple_of(2) { spare } else { y });
    for hop in 1..hops {
        let (from, to) = if (hops - hop).is_multiple_of(2) { (&*y, &mut *spare) } else { (&*spare, &mut *y) };
        operator.apply(from, to);
    }
}

/// `y = diag(l) (A + s I) diag(r) x`, a row at a time: gathered, never scattered.
pub(crate) fn apply_rows(operator: &Operator, x: &Matrix, y: &mut Matrix) {
    let (graph, width) = (operator.graph(), x.cols());
    assert_eq!(x.rows(), graph.num_nodes(), "one row per node");
    y.reshape(x.rows(), width);
    let mean_degree = 1 + 2 * graph.num_edges() / graph.num_nodes().max(1);
    for_row_blocks(y.data_mut(), width, width * mean_degree, |first, rows| {
        gather(operator, x.data(), width, first, rows)
    });
}

simd! {
    fn gather(operator: &Operator, x: &[f32], width: usize, first: usize, rows: &mut [f32]) {
        for (at, y) in rows.chunks_exact_mut(width).enumerate() {
            for_column_blocks!(width, column => block(operator, x, width, first + at, column, y));
        }
    }
}

/// `B` columns of one row, summed in registers in neighbour order.
#[inline(always)]
fn block<const B: usize>(operator: &Operator, x: &[f32], width: usize, i: usize, column: usize, y: &mut [f32]) {
    let columns = |node: usize| entries::<B>(x, node * width + column);
    let right = operator.right();
    let own = operator.self_weight() * right[i];
    let mut sum = columns(i).map(|value| own * value);
    let neighbours = operator.graph().neighbours(i);
    match operator.graph().weights(i) {
        None => {
            for &j in neighbours {
                let (r, x) = (right[j as usize], columns(j as usize));
                (0..B).for_each(|c| sum[c] += r * x[c]);
            }
        }
        Some(weights) => {
            for (&j, &weight) in neighbours.iter().zip(weights) {
                let (r, x) = (weight * right[j as usize], columns(j as usize));
                (0..B).for_each(|c| sum[c] += r * x[c]);
            }
        }
    }
    let l = operator.left()[i];
    y[column..][..B].iter_mut().zip(sum).for_each(|(y, sum)| *y = l * sum);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::generate;
    use crate::graph::Graph;
    use crate::tape::check_gradients;

    #[test]
    fn every_width_takes_the_same_path_through_every_block() {
        // Column c of a wide product equals the product of column c alone.
        let operator = Operator::symmetric(generate::communities(4, 6, 0.1, 3).graph.into());
        for width in [1, 7, 8, 31, 32, 79] {
            let x = Matrix::from_fn(24, width, |i, c| ((i * 31 + c * 17) % 13) as f32 * 0.1 - 0.6);
            let wide = operator.propagate(x.clone(), 2);
            for c in 0..width {
                let alone = operator.propagate(Matrix::from_fn(24, 1, |i, _| x.row(i)[c]), 2);
                (0..24).for_each(|i| assert_eq!(wide.row(i)[c].to_bits(), alone.row(i)[0].to_bits()));
            }
        }
    }

    #[test]
    fn gradients_agree_with_finite_differences() {
        let (graph, _) = Graph::from_weighted_edges(5, &[[0, 1], [1, 2], [0, 3]], &[0.5, 2.0, 1.0]).unwrap();
        for hops in 0..4 {
            let operator = Operator::symmetric(graph.clone().into());
            check_gradients(&[[5, 3]], || Propagate::new(operator.clone(), hops));
            check_gradients(&[[5, 3], [1, 3]], || Propagate::new(operator.clone(), hops));
        }
    }
}
