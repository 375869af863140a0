//! Features of some nodes at a time, spread over neighbourhoods of every size: what a node is must follow from parts of them.

use super::{Encoder, Input, Pretraining, Scope, standardization};
use crate::linalg::Matrix;
use crate::ops::hop_sum::HopSum;
use crate::tape::{Init, Var};

/// `ReLU(1 / (K + 1) Σ_{k=0..K} Ã^k drop(X) W)`: the random propagation of GRAND (Feng et al. 2020). Training drops entries of `X` and whole
/// rows, so that a node has to be known by what is left around it; a head that asks passes to agree uses nodes without a label, too. `W`
/// comes before the propagation, which then costs `N` times the width.
#[derive(Debug)]
pub(crate) struct RandomPropagation {
    /// `K`.
    pub hops: usize,
    /// Dropout probability of entries of `X`.
    pub input_dropout: f32,
    /// Dropout probability of rows of `X`.
    pub node_dropout: f32,
    /// Dropout probability of the result.
    pub dropout: f32,
}

impl Encoder for RandomPropagation {
    fn encode(&self, scope: &mut Scope<'_>, input: Input) -> Var {
        let input = scope.standardize(input);
        let input = scope.dropout(input, self.input_dropout, "random-propagation/entries");
        let input = scope.drop_rows(input, self.node_dropout, "random-propagation/rows");
        let (cols, width) = (input.cols(), scope.width);
        let x = scope.product(&input, "random-propagation/weight", width, Init::glorot([cols, width]));
        let mean = vec![1.0 / (self.hops + 1) as f32; self.hops + 1];
        let x = scope.tape.push(HopSum::fixed(scope.operator.clone(), mean), &[x]);
        scope.relu_dropout(x, self.dropout, "random-propagation/dropout")
    }

    fn pretrain(&self, pretraining: &Pretraining<'_>, _: &mut dyn FnMut(usize, usize)) -> Vec<(&'static str, Matrix)> {
        standardization(pretraining.features)
    }

    fn seeks_agreement(&self) -> bool {
        true
    }
}
