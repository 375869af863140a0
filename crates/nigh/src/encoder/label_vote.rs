//! The labels around a node as votes for its class.

use super::{Encoder, Input, Scope};
use crate::ops::block_sum::BlockSum;
use crate::source::labels::{PROPAGATION, SUMMARIES};
use crate::tape::{Init, Var};

/// `Σ_s a_s Z_s + b`, where `Z_s` are the log-posteriors of the classes in one summary of the labels around a node: label propagation that learns
/// how far to look. It starts as plain label propagation, so that few labels to learn from do no harm. The result is a score for each class.
#[derive(Debug)]
pub struct LabelVote;

impl Encoder for LabelVote {
    fn encode(&self, scope: &mut Scope<'_>, input: Input) -> Var {
        let z = scope.dense(&input);
        let z = scope.only_asked(z);
        let a = scope.weight("vote/shares", [1, SUMMARIES], Init::Column { column: PROPAGATION, value: 1.0 });
        let b = scope.weight("vote/bias", [1, z.width() / SUMMARIES], Init::Zeros);
        scope.tape.push(BlockSum::new(SUMMARIES), &[z, a, b])
    }

    fn gives_scores(&self) -> bool {
        true
    }
}
