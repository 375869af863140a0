//! One hidden layer, without messages.

use super::{Encoder, Input, Scope};
use crate::tape::Var;

/// `dropout(ReLU(X W + b))`: what is known of a node is combined, and nothing is passed on.
#[derive(Debug)]
pub(crate) struct HiddenLayer {
    /// Dropout probability.
    pub dropout: f32,
}

impl Encoder for HiddenLayer {
    fn encode(&self, scope: &mut Scope<'_>, input: Input) -> Var {
        let input = scope.select_target_inputs(input);
        let x = scope.linear(&input, "hidden-layer", scope.width);
        scope.relu_dropout(x, self.dropout, "hidden-layer/dropout")
    }
}
