//! P-GNN (You et al.), the fast version: messages come from random sets of anchors, from the closest member of each within
//! two hops, so that a node learns where it is.

use super::{Encoder, Input, Layers, Scope};
use crate::graph::anchors::{num_sets, num_sizes};
use crate::linalg::Matrix;
use crate::ops::anchors::{Anchors, CLOSENESS, Position, Structure};
use crate::ops::linear::LinearMap;
use crate::tape::{Init, Var};

/// A linear map in front, then `K` layers with dropout between them. The last gives a column per set of anchors, or, where
/// nodes are classified, the mean over sets as all layers before it do.
#[derive(Debug)]
pub struct PGnn {
    /// Their number, width and dropout probability.
    pub layers: Layers,
}

impl Encoder for PGnn {
    fn encode(&self, scope: &mut Scope<'_>, input: Input) -> Var {
        let Layers { count, hidden, dropout } = self.layers;
        // A graph larger than those of the training has no more sets than the model has columns.
        let at_most = Some(num_sizes(scope.num_ids));
        let anchors = Anchors::new(scope.operator.graph().clone(), scope.addresses.clone(), at_most);
        let closeness = scope.tape.constant(Matrix::from_rows(&[CLOSENESS]));
        let x = scope.linear(&input, "p-gnn/0", hidden);
        let mut input = Input::dense(x);
        for layer in 1..=count {
            let last = layer == count;
            let width = if last && scope.classifies { scope.width } else { hidden };
            let name = format!("p-gnn/{layer}");
            // The map of [c x_a, x_u] in two parts, each of which is as large as X and no larger.
            let init = before_relu([2 * hidden, width]);
            let x = scope.dense(&input);
            let anchor = scope.weight(&format!("{name}/anchor"), [hidden, width], init);
            let own = scope.weight(&format!("{name}/own"), [hidden, width], init);
            let bias = scope.weight(&format!("{name}/bias"), [1, width], Init::Zeros);
            let p = scope.tape.push(LinearMap::new(1), &[x, anchor]);
            let q = scope.tape.push(LinearMap::new(1), &[x, own, bias]);
            if !last || scope.classifies {
                let x = scope.tape.push(Structure::new(anchors.clone()), &[p, q, closeness]);
                if last {
                    return x;
                }
                input = scope.dropout(Input::dense(x), dropout, &format!("{name}/dropout"));
                continue;
            }
            let v = scope.weight(&format!("{name}/position"), [width, 1], before_relu([width, 1]));
            let v0 = scope.weight(&format!("{name}/position-bias"), [1, 1], Init::Zeros);
            let sets = num_sets(scope.num_ids);
            return scope.tape.push(Position::new(anchors.clone(), sets), &[p, q, closeness, v, v0]);
        }
        unreachable!("a configuration with zero layers is refused on input")
    }
}

/// Glorot's start for a map in front of a ReLU, which lets half of the variance through.
fn before_relu(fans: [usize; 2]) -> Init {
    Init::glorot(fans).times(2f32.sqrt())
}
