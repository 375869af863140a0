//! A matrix at several distances, each at one length, under learnt shares.

use super::{Encoder, Input, Scope};
use crate::ops::block_sum::BlockSum;
use crate::ops::dropout::Dropout;
use crate::ops::hop_blocks::HopBlocks;
use crate::tape::{Init, Var};
use std::ops::RangeInclusive;

/// `dropout(Σ_k a_k N(Ã^k X))` with `N` scaling rows to one length: messages that fade with distance count as much as near ones
/// until `a` says otherwise. Message passing comes first, so a step can be restricted to some nodes.
#[derive(Debug)]
pub(crate) struct HopBlend {
    /// The values of `k`.
    pub hops: RangeInclusive<usize>,
    /// Shorter rows stay short: where neighbours cancel each other, what is left is rounding.
    pub shortest: f32,
    /// Dropout probability.
    pub dropout: f32,
}

impl Encoder for HopBlend {
    fn encode(&self, scope: &mut Scope<'_>, input: Input) -> Var {
        let x = scope.dense(&input);
        let execution = scope.execution.clone();
        let x =
            scope.tape.push(HopBlocks::new(scope.operator.clone(), self.hops.clone(), self.shortest, execution), &[x]);
        let x = scope.select_targets(x);
        let count = self.hops.clone().count();
        let start = Init::Constant { value: 1.0 / count as f32 };
        let a = scope.weight("hop-blend/shares", [1, count], start);
        let x = scope.tape.push(BlockSum::new(count), &[x, a]);
        let dropout = Dropout::new(self.dropout, &scope.name("hop-blend/dropout")).by(scope.addresses.clone());
        scope.tape.push(dropout, &[x])
    }
}
