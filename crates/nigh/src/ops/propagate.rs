//! `Y = Ã^K X + b`: message passing without weights.

use crate::graph::{HopBuffers, Operator, apply_hops};
use crate::linalg::half::Storage;
use crate::linalg::{Matrix, column_sums};
use crate::tape::{Gradients, Inputs, Operation, Pass};

/// `inputs = [X]` or `[X, b]`.
#[derive(Debug)]
pub struct Propagate {
    operator: Operator,
    hops: usize,
    storage: Storage,
    buffers: HopBuffers,
    sums: Vec<f32>,
}

impl Propagate {
    /// `K = hops` applications of `operator`.
    pub fn new(operator: Operator, hops: usize) -> Propagate {
        Propagate { operator, hops, storage: Storage::Single, buffers: HopBuffers::default(), sums: Vec::new() }
    }

    /// With `X` stored like this between hops, and gradients as well.
    pub fn stored(self, storage: Storage) -> Propagate {
        Propagate { storage, ..self }
    }
}

impl Operation for Propagate {
    fn forward(&mut self, inputs: Inputs<'_>, output: &mut Matrix, _: &Pass) {
        let bias = if inputs.len() == 2 { inputs.get(1).data() } else { &[] };
        apply_hops(&self.operator, self.hops, self.storage, inputs.get(0), bias, output, &mut self.buffers);
    }

    fn backward(&mut self, _: Inputs<'_>, _: &Matrix, gradient: &Matrix, inputs: &mut Gradients<'_>) {
        // d/dX <G, Ã^K X> = (Ã^K)^T G.
        if let Some(x) = inputs.get(0) {
            apply_hops(&self.operator.transposed(), self.hops, self.storage, gradient, &[], x, &mut self.buffers);
        }
        if let Some(bias) = inputs.get(1) {
            column_sums(gradient, bias.data_mut(), &mut self.sums);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;
    use crate::tape::check_gradients;

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
