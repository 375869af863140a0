//! Graph convolutions (Kipf and Welling): `X <- Ã X W + b`, with ReLU and dropout between layers.

use super::{Encoder, Input, Layers, Scope};
use crate::linalg::half::Storage;
use crate::tape::{InitScheme, Var};

/// `K` layers of graph convolution.
#[derive(Debug)]
pub struct Gcn {
    /// Their number, width and dropout probability.
    pub layers: Layers,
    /// How rows are stored between hops.
    pub storage: Storage,
}

impl Encoder for Gcn {
    fn hop_storage(&self) -> Option<Storage> {
        Some(self.storage)
    }

    fn encode(&self, scope: &mut Scope<'_>, input: Input) -> Var {
        scope.layers(self.layers, "gcn", input, |scope, input, name, width| {
            scope.convolve(input, 1, self.storage, name, width, InitScheme::Glorot)
        })
    }
}
