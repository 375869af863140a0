//! A mixture of neighbourhoods of every size, with learnt shares: `Σ_k a_k Ã^k (dropout(X) W + b)`.

use super::{Encoder, Input, Scope};
use crate::ops::hop_sum::HopSum;
use crate::tape::{Init, Var};

/// `Σ_{k=0..K} a_k Ã^k (dropout(X) W + b)` with learnt `a`: the propagation of GPR-GNN (Chien et al.) behind a linear map. `a_0`
/// weighs what a node is itself, `a_K` what is `K` links away; a negative one subtracts it.
#[derive(Debug)]
pub(crate) struct HopMixture {
    /// `K`.
    pub hops: usize,
    /// Dropout probability of what enters.
    pub dropout: f32,
    /// Where all of `a` start.
    pub start: Init,
    /// Where `W` starts, if not as a linear map does.
    pub weight: Option<Init>,
}

impl HopMixture {
    /// With `a` at `1 / (K + 1)` each: the mean over hops.
    pub fn new(hops: usize, dropout: f32) -> HopMixture {
        HopMixture { hops, dropout, start: Init::Constant { value: 1.0 / (hops + 1) as f32 }, weight: None }
    }

    /// Over ids, whose rows start orthogonal: messages pass about a learnt row per node.
    pub fn table(hops: usize) -> HopMixture {
        HopMixture { weight: Some(Init::Orthogonal { scale: 1.0 }), ..HopMixture::new(hops, 0.0) }
    }
}

impl Encoder for HopMixture {
    fn encode(&self, scope: &mut Scope<'_>, input: Input) -> Var {
        let input = scope.dropout(input, self.dropout, "hop-mixture/dropout");
        let x = match self.weight {
            None => scope.linear(&input, "hop-mixture", scope.width),
            Some(init) => scope.product(&input, "hop-mixture/weight", scope.width, init),
        };
        let a = scope.weight("hop-mixture/shares", [1, self.hops + 1], self.start);
        scope.tape.push(HopSum::learnt(scope.operator.clone(), self.hops), &[x, a])
    }
}
