//! Graph isomorphism network (Xu et al.): `X <- MLP((1 + ε) X + A X)`. A sum tells multisets of neighbours apart that a
//! mean does not, which is what Theorem 3 asks of an encoder for `E`.

use super::{Encoder, Input, Layers, Scope};
use crate::ops::add::AddScaled;
use crate::ops::dropout::ReluDropout;
use crate::ops::propagate::Propagate;
use crate::tape::{Init, Var};

/// `K` layers of sums under an MLP of one hidden layer, with ReLU and dropout between layers. `ε` is learnt from zero on.
#[derive(Debug)]
pub struct Gin {
    /// Their number, width and dropout probability.
    pub layers: Layers,
}

impl Encoder for Gin {
    fn encode(&self, scope: &mut Scope<'_>, input: Input) -> Var {
        let sum = scope.operator.sum();
        scope.layers(self.layers, "gin", input, |scope, input, name, width| {
            // The first map of the MLP is linear and goes before the sum, which is then as narrow as the layer.
            let (hidden, init) = (self.layers.hidden, Init::fan_in(input.cols()));
            let epsilon = scope.weight(&format!("{name}/epsilon"), [1, 1], Init::Zeros);
            let x = scope.product(input, &format!("{name}/1/weight"), hidden, init);
            let bias = scope.weight(&format!("{name}/1/bias"), [1, hidden], init);
            let summed = scope.tape.push(Propagate::new(sum.clone(), 1), &[x, bias]);
            let x = scope.tape.push(AddScaled, &[summed, x, epsilon]);
            let x = scope.tape.push(ReluDropout::new(0.0, name), &[x]);
            scope.linear(&Input::dense(x), &format!("{name}/2"), width)
        })
    }
}
