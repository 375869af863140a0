//! Linear message passing: `Ã^K X`, with or without a map behind it.

use super::{Encoder, Input, Scope};
use crate::ops::propagate::Propagate;
use crate::tape::{Start, Var};

/// `Ã^K X`: nothing to learn. What the signal goes through in the linear instance (Eq. 7).
#[derive(Debug)]
pub struct Propagated;

impl Encoder for Propagated {
    fn stores_hops(&self) -> bool {
        true
    }

    fn encode(&self, scope: &mut Scope<'_>, input: Input) -> (Var, usize) {
        let x = scope.dense(&input);
        let propagate = Propagate::new(scope.operator.clone(), scope.hops).stored(scope.hop_storage);
        (scope.tape.push(propagate, &[x]), input.cols())
    }

    fn learns(&self, _: bool) -> bool {
        false
    }
}

/// `Ã^K X W + b`: SGC, and the feature branch of the linear instance.
#[derive(Debug)]
pub struct Linear;

impl Encoder for Linear {
    fn stores_hops(&self) -> bool {
        true
    }

    fn encode(&self, scope: &mut Scope<'_>, input: Input) -> (Var, usize) {
        (scope.convolve(&input, scope.hops, "linear", scope.width, Start::Plain), scope.width)
    }
}
