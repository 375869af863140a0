//! `Y = Ã^K X + b`: message passing without weights.

use crate::graph::{EdgeMask, HopBuffers, Operator, apply_hops, apply_masked_hops, buffered_width};
use crate::linalg::half::Storage;
use crate::linalg::{Matrix, column_sums};
use crate::seeds::Purpose;
use crate::tape::{Gradients, Inputs, Operation, Pass};
use std::sync::Arc;

/// `inputs = [X]` or `[X, b]`.
#[derive(Debug)]
pub struct Propagate {
    operator: Operator,
    hops: usize,
    storage: Storage,
    mask: Option<EdgeMask>,
    buffers: HopBuffers,
    sums: Vec<f32>,
}

impl Propagate {
    /// `K = hops` applications of `operator`.
    pub fn new(operator: Operator, hops: usize) -> Propagate {
        let (storage, buffers) = (Storage::Single, HopBuffers::default());
        Propagate { operator, hops, storage, mask: None, buffers, sums: Vec::new() }
    }

    /// With `X` stored like this between hops, and gradients as well.
    pub fn stored(self, storage: Storage) -> Propagate {
        Propagate { storage, ..self }
    }

    /// In training every hop drops each edge with probability `rate`, in both directions alike, and scales those that it keeps by
    /// `1 / (1 - rate)`; self loops stay. `name` is part of the masks' address, and node `i` is known as `addresses[i]`. Rows are
    /// then stored in single precision.
    pub fn with_edge_dropout(self, rate: f32, name: &str, addresses: Arc<[u32]>) -> Propagate {
        Propagate { mask: Some(EdgeMask::new(rate, name, addresses)), ..self }
    }
}

/// Draws the masks of a pass: training drops edges, evaluation does not.
pub(super) fn draw_edges(mask: &mut Option<EdgeMask>, operator: &Operator, hops: usize, pass: &Pass) {
    if let Some(mask) = mask {
        let stream = pass.training.then(|| pass.stream(Purpose::Dropout, mask.layer()));
        mask.draw(operator.graph(), hops, stream);
    }
}

impl Operation for Propagate {
    fn forward(&mut self, inputs: Inputs<'_>, output: &mut Matrix, pass: &Pass) {
        let Propagate { ref operator, hops, storage, ref mut mask, ref mut buffers, .. } = *self;
        let (x, bias) = (inputs.get(0), if inputs.len() == 2 { inputs.get(1).data() } else { &[] });
        draw_edges(mask, operator, hops, pass);
        match mask.as_mut().and_then(EdgeMask::drawn) {
            Some(mask) => apply_masked_hops(operator, (0..hops).rev(), mask, x, bias, output, buffers),
            None => apply_hops(operator, hops, storage, x, bias, output, buffers),
        }
    }

    fn backward(&mut self, _: Inputs<'_>, _: &Matrix, gradient: &Matrix, inputs: &mut Gradients<'_>) {
        let Propagate { ref operator, hops, storage, ref mut mask, ref mut buffers, .. } = *self;
        // d/dX <G, Ã^K X> = (Ã^K)^T G.
        if let Some(x) = inputs.get(0) {
            let transposed = operator.transposed();
            match mask.as_mut().and_then(EdgeMask::drawn) {
                // The masks are symmetric, and the first that was applied is the last here.
                Some(mask) => apply_masked_hops(&transposed, 0..hops, mask, gradient, &[], x, buffers),
                None => apply_hops(&transposed, hops, storage, gradient, &[], x, buffers),
            }
        }
        if let Some(bias) = inputs.get(1) {
            column_sums(gradient, None, bias.data_mut(), &mut self.sums);
        }
    }

    fn buffered_width(&self, inputs: &[usize]) -> usize {
        buffered_width(inputs[0])
    }

    /// Every training pass drops other edges.
    fn is_dynamic(&self) -> bool {
        self.mask.as_ref().is_some_and(EdgeMask::is_active)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;
    use crate::seeds::Seeds;
    use crate::tape::{Tape, Weights, check_gradients, value_and_gradients};

    fn weighted() -> Operator {
        let (graph, _) = Graph::from_weighted_edges(5, &[[0, 1], [1, 2], [0, 3]], &[0.5, 2.0, 1.0]).unwrap();
        Operator::symmetric(graph.into())
    }

    fn complete(n: u32) -> Operator {
        let edges: Vec<[u32; 2]> = (0..n).flat_map(|a| (a + 1..n).map(move |b| [a, b])).collect();
        Operator::symmetric(Graph::from_edges(n as usize, &edges).unwrap().0.into())
    }

    #[test]
    fn gradients_agree_with_finite_differences() {
        for hops in 0..4 {
            check_gradients(&[[5, 3]], || Propagate::new(weighted(), hops));
            check_gradients(&[[5, 3], [1, 3]], || Propagate::new(weighted(), hops));
            for operator in [weighted(), weighted().mean()] {
                let addresses: Arc<[u32]> = [9, 0, 4, 2, 7].into();
                let dropping = || Propagate::new(operator.clone(), hops).with_edge_dropout(0.4, "a", addresses.clone());
                check_gradients(&[[5, 3]], dropping);
                check_gradients(&[[5, 3], [1, 3]], dropping);
            }
        }
    }

    #[test]
    fn dropped_edges_are_missing_in_both_directions_and_kept_ones_are_scaled() {
        let (n, addresses) = (40, (0..40).rev().collect::<Vec<u32>>());
        let dropping = |hops| Propagate::new(complete(n), hops).with_edge_dropout(0.5, "a", addresses.clone().into());
        let whole = complete(n).propagate(Matrix::identity(40), 1);
        let (some, _) = value_and_gradients(&mut dropping(1), &[Matrix::identity(40)]);
        let mut kept = 0;
        for i in 0..40 {
            assert_eq!(some.row(i)[i], whole.row(i)[i]);
            for j in 0..i {
                let (found, entry) = (some.row(i)[j], whole.row(i)[j]);
                assert_eq!(found, some.row(j)[i]);
                assert!(found == 0.0 || (found - 2.0 * entry).abs() < 1e-7, "{found} {entry}");
                kept += usize::from(found > 0.0);
            }
        }
        assert!((300..480).contains(&kept), "{kept} of 780");
        // Another hop drops other edges: two are not the square of one.
        let (two, _) = value_and_gradients(&mut dropping(2), &[Matrix::identity(40)]);
        let (once_more, _) = value_and_gradients(&mut dropping(1), &[some]);
        assert_ne!(two, once_more);
    }

    #[test]
    fn evaluation_drops_no_edge() {
        let mut tape = Tape::default();
        let x = tape.constant(Matrix::identity(40));
        let step = Propagate::new(complete(40), 2).with_edge_dropout(0.5, "a", (0..40).collect());
        let y = tape.push(step, &[x]);
        let weights = Weights::new(Seeds::new(0));
        tape.forward(&weights, &Pass { training: true, seeds: Seeds::new(5), graph: 0, draw: 0 });
        assert_ne!(tape.value(y), &complete(40).propagate(Matrix::identity(40), 2));
        tape.forward(&weights, &Pass { training: false, seeds: Seeds::new(5), graph: 0, draw: 0 });
        assert_eq!(tape.value(y), &complete(40).propagate_stored(&Matrix::identity(40), 2, Storage::Single));
    }
}
