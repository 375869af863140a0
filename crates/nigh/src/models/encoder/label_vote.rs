//! The labels around a node as votes for its class.

use super::{Encoder, Input, Scope};
use crate::linalg::Matrix;
use crate::ops::add::AddScaled;
use crate::ops::block_sum::BlockSum;
use crate::source::labels::{PROPAGATION, SUMMARIES};
use crate::tape::{Init, Var};

/// How far the shares move from where they start when `δ` moves by one. `δ` is drawn to zero as every weight is, so a small number is a strong
/// pull to the start: a few hundred labels say little about eight shares.
const PULLED: f32 = 0.03;

/// `Σ_s a_s Z_s + b` with `a = start + 0.03 δ`, where `Z_s` are the log-posteriors of the classes in one summary of the labels around a node. It
/// starts as label propagation, the mean of two restarts, and learns how far to look as far as the labels allow. The result is a score for each class.
#[derive(Debug)]
pub(crate) struct LabelVote;

impl Encoder for LabelVote {
    fn encode(&self, scope: &mut Scope<'_>, input: Input) -> Var {
        let z = scope.dense(&input);
        let z = scope.select_targets(z);
        let mut start = Matrix::zeros(1, SUMMARIES);
        PROPAGATION.iter().for_each(|&(summary, share)| start.data_mut()[summary] = share);
        let start = scope.tape.constant(start);
        let pulled = scope.tape.constant(Matrix::from_data(1, 1, vec![PULLED]));
        let change = scope.weight("vote/change", [1, SUMMARIES], Init::Zeros);
        let a = scope.tape.push(AddScaled, &[start, change, pulled]);
        let b = scope.weight("vote/bias", [1, z.width() / SUMMARIES], Init::Zeros);
        scope.tape.push(BlockSum::new(SUMMARIES), &[z, a, b])
    }

    fn gives_scores(&self) -> bool {
        true
    }
}
