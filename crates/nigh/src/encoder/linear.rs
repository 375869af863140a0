//! Linear message passing: `Ã^K X`, with or without a map behind it.

use super::{Encoder, Input, Scope};
use crate::kernel::propagate::Propagate;
use crate::tape::Var;

/// `Ã^K X`: nothing to learn. What the signal goes through in the linear instance (Eq. 7).
#[derive(Debug)]
pub struct Propagated;

impl Encoder for Propagated {
    fn encode(&self, scope: &mut Scope<'_>, input: Input) -> Var {
        let x = scope.dense(&input);
        scope.tape.push(Propagate::new(scope.operator.clone(), scope.hops), &[x])
    }

    fn output_width(&self, input_width: usize, _: usize) -> usize {
        input_width
    }
}

/// `Ã^K X W + b`: SGC, and the feature branch of the linear instance.
#[derive(Debug)]
pub struct Linear;

impl Encoder for Linear {
    fn encode(&self, scope: &mut Scope<'_>, input: Input) -> Var {
        let cols = input.cols();
        let w = scope.weights.plain(&scope.name("linear/weight"), [cols, scope.width], cols);
        let b = scope.weights.plain(&scope.name("linear/bias"), [1, scope.width], cols);
        scope.convolve(&input, scope.hops, w, b, scope.width)
    }
}
