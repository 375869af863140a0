//! GraphSAGE (Hamilton et al.) with the mean: `X <- mean_N(X) W_neighbours + X W_own + b`, ReLU and dropout between
//! layers.

use super::{Encoder, Input, Scope};
use crate::ops::add::Add;
use crate::ops::propagate::Propagate;
use crate::tape::{Start, Var};

/// `K` layers of GraphSAGE over all neighbours.
#[derive(Debug)]
pub struct Sage;

impl Encoder for Sage {
    fn stores_hops(&self) -> bool {
        true
    }

    fn encode(&self, scope: &mut Scope<'_>, input: Input) -> (Var, usize) {
        let mean = scope.operator.mean();
        scope.layers("sage", input, |scope, input, name, width| {
            let neighbours = scope.product(input, &format!("{name}/neighbours"), width, Start::Plain);
            let bias = scope.weights.plain(&scope.name(&format!("{name}/bias")), [1, width], input.cols());
            let own = scope.product(input, &format!("{name}/own"), width, Start::Plain);
            let propagate = Propagate::new(mean.clone(), 1).stored(scope.hop_storage);
            let neighbours = scope.tape.push(propagate, &[neighbours, bias]);
            scope.tape.push(Add, &[neighbours, own])
        })
    }
}
