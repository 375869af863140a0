//! A node beside its neighbourhoods: what tells classes apart where neighbours are unlike.

use super::{Encoder, Input, Pretraining, Scope, standardization};
use crate::linalg::Matrix;
use crate::ops::linear::Concatenate;
use crate::ops::propagate::Propagate;
use crate::tape::{Init, Var};

/// `ReLU([drop(X) W_0, P drop(X) W_1, ..., P^K drop(X) W_K])` with `P = D^-1 A`: each distance has weights of its own, as in MixHop and H2GCN, so
/// that neighbours of another class are a hint and not noise.
#[derive(Debug)]
pub(crate) struct Neighbourhoods {
    /// `K`.
    pub hops: usize,
    /// Dropout probability, of entries of `X` and of the result.
    pub dropout: f32,
}

impl Encoder for Neighbourhoods {
    fn encode(&self, scope: &mut Scope<'_>, input: Input) -> Var {
        let input = scope.standardize(input);
        let input = scope.only_near_asked(input, self.hops);
        let input = scope.dropout(input, self.dropout, "neighbourhoods/entries");
        let (cols, width) = (input.cols(), scope.width);
        let mean = scope.operator.mean();
        let hop = |hop: usize| {
            let x = scope.product(&input, &format!("neighbourhoods/{hop}/weight"), width, Init::glorot([cols, width]));
            if hop == 0 { x } else { scope.tape.push(Propagate::new(mean.clone(), hop), &[x]) }
        };
        let hops: Vec<Var> = (0..=self.hops).map(hop).collect();
        let x = scope.tape.push(Concatenate, &hops);
        let x = scope.select_targets(x);
        scope.relu_dropout(x, self.dropout, "neighbourhoods/dropout")
    }

    fn pretrain(&self, pretraining: &Pretraining<'_>, _: &mut dyn FnMut(usize, usize)) -> Vec<(&'static str, Matrix)> {
        standardization(pretraining.features)
    }
}
