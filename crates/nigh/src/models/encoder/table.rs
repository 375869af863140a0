//! A row of numbers per node and no message passing: matrix factorisation.

use super::{Encoder, Input, Scope};
use crate::tape::{Init, Var};

/// `X W`. Over one-hot ids that is a table with a learnt row per node.
#[derive(Debug)]
pub(crate) struct Table;

impl Encoder for Table {
    fn encode(&self, scope: &mut Scope<'_>, input: Input) -> Var {
        let width = scope.width;
        scope.product(&input, "table/weight", width, Init::glorot([input.cols(), width]))
    }

    fn generalises(&self) -> bool {
        false
    }
}
