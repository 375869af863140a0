//! A mixture of neighbourhoods of every size around learnt rows, with learnt shares: `Σ_k a_k Ã^k W`.

use super::{Encoder, Input, Scope};
use crate::ops::hop_sum::HopSum;
use crate::tape::{Init, Var};

/// `Σ_{k=0..K} a_k Ã^k W` with learnt `a`, over ids: messages pass about a learnt row per node, whose rows start orthogonal. `a_0`
/// weighs what a node is itself, `a_K` what is `K` links away; a negative one subtracts it. The propagation is that of GPR-GNN
/// (Chien et al.).
#[derive(Debug)]
pub(crate) struct HopMixture {
    /// `K`.
    pub hops: usize,
}

impl Encoder for HopMixture {
    fn encode(&self, scope: &mut Scope<'_>, input: Input) -> Var {
        let x = scope.product(&input, "hop-mixture/weight", scope.width, Init::Orthogonal { scale: 1.0 });
        let mean = Init::Constant { value: 1.0 / (self.hops + 1) as f32 };
        let a = scope.weight("hop-mixture/shares", [1, self.hops + 1], mean);
        scope.tape.push(HopSum::learnt(scope.operator.clone(), self.hops), &[x, a])
    }
}
