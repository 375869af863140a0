//! Vectors that skip-gram learns from random walks before training, and that training leaves alone.

use super::{Encoder, Input, Piece, Pretraining, Scope};
use crate::graph::order_by;
use crate::linalg::{Matrix, look_up};
use crate::source::Node2Vec;
use crate::tape::Var;

/// node2vec: the vectors themselves as representations, under a linear map where nodes are classified.
#[derive(Debug)]
pub(crate) struct SkipGram {
    /// Random walks and how they are learnt from.
    pub walks: Node2Vec,
    /// Width of the vectors.
    pub dim: usize,
}

impl SkipGram {
    const VECTORS: &str = "node2vec/vectors";
}

impl Encoder for SkipGram {
    fn encode(&self, scope: &mut Scope<'_>, input: Input) -> Var {
        let [(_, Piece::OneHot(ids, _))] = &input.pieces[..] else { panic!("vectors are looked up by one-hot ids") };
        let num_ids = scope.num_ids;
        let vectors = look_up(scope.frozen(Self::VECTORS, [num_ids, self.dim]), ids);
        let x = scope.tape.constant(vectors);
        if !scope.classifies {
            return x;
        }
        scope.linear(&Input::dense(x), "linear", scope.width)
    }

    fn pretrain(
        &self,
        pretraining: &Pretraining<'_>,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Vec<(&'static str, Matrix)> {
        let Pretraining { graph, addresses, num_ids, seeds, .. } = *pretraining;
        // Walks identify a node by its place, so the nodes are brought into the order of their addresses.
        let order = order_by(addresses);
        let walked = graph.permute(&order).expect("an order of the nodes");
        let learnt = self.walks.vectors(&walked, self.dim, seeds, progress);
        let mut vectors = Matrix::zeros(num_ids, self.dim);
        for (row, &node) in order.iter().enumerate() {
            vectors.row_mut(addresses[node as usize] as usize).copy_from_slice(learnt.row(row));
        }
        vec![(Self::VECTORS, vectors)]
    }

    fn learns(&self, classifies: bool) -> bool {
        classifies
    }
}
