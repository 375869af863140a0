//! Linear message passing: `Ã^K X`, with or without a map behind it.

use super::{Encoder, Input, Scope, is_cheaper_dense};
use crate::graph::Graph;
use crate::linalg::SparseMatrix;
use crate::linalg::half::Storage;
use crate::tape::{InitScheme, Var};

/// `Ã^K X`: nothing to learn. What the signal goes through in the linear instance (Eq. 7).
#[derive(Debug)]
pub struct Propagated {
    /// `K`.
    pub hops: usize,
    /// How rows are stored between hops.
    pub storage: Storage,
}

impl Encoder for Propagated {
    fn hop_storage(&self) -> Option<Storage> {
        Some(self.storage)
    }

    fn hops_first(&self) -> Option<(usize, Storage)> {
        Some((self.hops, self.storage))
    }

    fn encode(&self, scope: &mut Scope<'_>, input: Input) -> Var {
        let x = scope.dense(&input);
        scope.propagated(x, self.hops, self.storage)
    }

    fn learns(&self, _: bool) -> bool {
        false
    }
}

/// `Ã^K X W + b`: SGC, and the feature branch of the linear instance.
#[derive(Debug)]
pub struct Linear {
    /// `K`.
    pub hops: usize,
    /// How rows are stored between hops.
    pub storage: Storage,
}

impl Encoder for Linear {
    fn hop_storage(&self) -> Option<Storage> {
        Some(self.storage)
    }

    fn hops_first(&self) -> Option<(usize, Storage)> {
        Some((self.hops, self.storage))
    }

    fn maps_first(&self, graph: &Graph, features: &SparseMatrix) -> Option<&'static str> {
        (!is_cheaper_dense(graph, features, self.hops)).then_some("linear/weight")
    }

    fn encode(&self, scope: &mut Scope<'_>, input: Input) -> Var {
        scope.convolve(&input, self.hops, self.storage, "linear", scope.width, InitScheme::FanIn)
    }
}
