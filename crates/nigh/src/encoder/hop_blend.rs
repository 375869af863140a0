//! The signal at several distances, each at one length, under learnt shares.

use super::{Encoder, Input, Scope};
use crate::ops::block_sum::BlockSum;
use crate::ops::dropout::Dropout;
use crate::ops::hop_blocks::HopBlocks;
use crate::tape::{Init, Var};

/// `dropout(Σ_{k=1..K} a_k N(Ã^k X))` with `N` scaling rows to one length: messages that fade with distance count as much as near ones until `a`
/// says otherwise.
#[derive(Debug)]
pub(crate) struct HopBlend {
    /// `K`.
    pub hops: usize,
    /// Dropout probability.
    pub dropout: f32,
}

impl Encoder for HopBlend {
    fn encode(&self, scope: &mut Scope<'_>, input: Input) -> Var {
        let x = scope.dense(&input);
        let x = scope.tape.push(HopBlocks::new(scope.operator.clone(), self.hops), &[x]);
        let x = scope.only_asked(x);
        let start = Init::Constant { value: 1.0 / self.hops as f32 };
        let a = scope.weight("hop-blend/shares", [1, self.hops], start);
        let x = scope.tape.push(BlockSum::new(self.hops), &[x, a]);
        let dropout = Dropout::new(self.dropout, &scope.name("hop-blend/dropout")).by(scope.addresses.clone());
        scope.tape.push(dropout, &[x])
    }
}
