//! Graph convolutions (Kipf and Welling): `X <- Ã X W + b`, with ReLU and dropout between layers.

use super::{Encoder, Input, Scope};
use crate::tape::{Start, Var};

/// `K` layers of graph convolution.
#[derive(Debug)]
pub struct Gcn;

impl Encoder for Gcn {
    fn stores_hops(&self) -> bool {
        true
    }

    fn encode(&self, scope: &mut Scope<'_>, input: Input) -> (Var, usize) {
        scope.layers("gcn", input, |scope, input, name, width| scope.convolve(input, 1, name, width, Start::Glorot))
    }
}
