//! Graph convolutions (Kipf and Welling): `X <- Ã X W + b`, with ReLU and dropout between layers.

use super::{Encoder, Input, Scope};
use crate::kernel::dropout::ReluDropout;
use crate::tape::Var;

/// `K` layers of graph convolution.
#[derive(Debug)]
pub struct Gcn;

impl Encoder for Gcn {
    fn encode(&self, scope: &mut Scope<'_>, mut input: Input) -> Var {
        for layer in 1..=scope.hops {
            let last = layer == scope.hops;
            let width = if last { scope.width } else { scope.hidden };
            let w = scope.weights.glorot(&scope.name(&format!("gcn/{layer}/weight")), [input.cols(), width]);
            let b = scope.weights.zeros(&scope.name(&format!("gcn/{layer}/bias")), [1, width]);
            let x = scope.convolve(&input, 1, w, b, width);
            if last {
                return x;
            }
            let name = scope.name(&format!("gcn/{layer}/dropout"));
            let x = scope.tape.push(ReluDropout::new(scope.dropout, &name), &[x]);
            input = Input::Dense(x, width);
        }
        unreachable!("a configuration with zero layers is refused at the door")
    }
}
