//! GraphSAGE (Hamilton et al.) with the mean: `X <- mean_N(X) W_neighbours + X W_own + b`, ReLU and dropout between
//! layers.

use super::{Encoder, Input, Layers, Scope};
use crate::linalg::half::Storage;
use crate::ops::add::Add;
use crate::ops::propagate::Propagate;
use crate::tape::{Init, Var};

/// `K` layers of GraphSAGE over all neighbours.
#[derive(Debug)]
pub struct Sage {
    /// Their number, width and dropout probability.
    pub layers: Layers,
    /// How rows are stored between hops.
    pub storage: Storage,
}

impl Encoder for Sage {
    fn hop_storage(&self) -> Option<Storage> {
        Some(self.storage)
    }

    fn encode(&self, scope: &mut Scope<'_>, input: Input) -> Var {
        let mean = scope.operator.mean();
        scope.layers(self.layers, "sage", input, |scope, input, name, width| {
            let init = Init::fan_in(input.cols());
            let neighbours = scope.product(input, &format!("{name}/neighbours"), width, init);
            let bias = scope.weight(&format!("{name}/bias"), [1, width], init);
            let own = scope.product(input, &format!("{name}/own"), width, init);
            let propagate = Propagate::new(mean.clone(), 1).stored(self.storage);
            let neighbours = scope.tape.push(propagate, &[neighbours, bias]);
            scope.tape.push(Add, &[neighbours, own])
        })
    }
}
