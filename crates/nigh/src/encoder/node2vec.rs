//! Vectors that skip-gram learnt from random walks before training, and that training leaves alone.

use super::{Encoder, Input, Piece, Scope};
use crate::linalg::look_up;
use crate::tape::Var;

/// node2vec: the vectors themselves as representations, under a linear map where nodes are classified.
#[derive(Debug)]
pub struct SkipGram;

impl SkipGram {
    const VECTORS: &str = "node2vec/vectors";
}

impl Encoder for SkipGram {
    fn encode(&self, scope: &mut Scope<'_>, input: Input) -> (Var, usize) {
        let [(_, Piece::OneHot(ids, _))] = &input.pieces[..] else { panic!("vectors are looked up by one-hot ids") };
        let vectors = scope.weights.frozen(&scope.name(Self::VECTORS), [scope.num_ids, scope.dim]);
        let x = scope.tape.constant(look_up(vectors, ids));
        if !scope.classifies {
            return (x, scope.dim);
        }
        let width = scope.width;
        (scope.linear(&Input::dense(x, scope.dim), "linear", width), width)
    }

    fn pretrain(&self, scope: &mut Scope<'_>, progress: &mut dyn FnMut(usize, usize)) {
        let graph = scope.operator.graph();
        // Walks know a node by its place; a graph whose nodes come in another order is brought into that of their addresses.
        let order = crate::graph::order_by(&scope.addresses);
        let walked = graph.permute(&order).expect("an order of the nodes");
        let vectors = scope.walks.vectors(&walked, scope.dim, scope.seeds, progress);
        let name = scope.name(Self::VECTORS);
        let table = scope.weights.named(&name).expect("the vectors are declared");
        for (row, &node) in order.iter().enumerate() {
            let address = scope.addresses[node as usize] as usize;
            table.value.row_mut(address).copy_from_slice(vectors.row(row));
        }
    }

    fn learns(&self, classifies: bool) -> bool {
        classifies
    }
}
