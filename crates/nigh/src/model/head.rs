//! `F_output`: what is made of the branches side by side.

use crate::encoder::{Input, Scope};
use crate::linalg::Matrix;
use crate::names::named;
use crate::ops::blend::{Blend, Tanh};
use crate::ops::linear::{Concatenate, Linear};
use crate::tape::Var;

named! {
    /// `F_output` of the framework equation.
    pub enum Head, "head" {
        /// `[X, Ẽ]` as it is.
        Identity = "identity",
        /// `[X, Ẽ] W + b`.
        Linear = "linear",
        /// Linear, ReLU, dropout, linear.
        Mlp = "mlp",
        /// `Σ_b α_b z_b`, `z_b` a linear map of branch `b`: every node weighs its branches by
        /// `α = softmax_b <q, tanh(z_b V + v)>`.
        Attention = "attention",
    }
}

impl Head {
    /// Records the head over branches, given with their widths; the result comes with its own.
    pub(super) fn record(self, scope: &mut Scope<'_>, branches: &[(Var, usize)]) -> (Var, usize) {
        let inputs: Vec<Var> = branches.iter().map(|branch| branch.0).collect();
        let input_width = branches.iter().map(|branch| branch.1).sum();
        let (width, hidden) = (scope.width, scope.hidden);
        let layer = |scope: &mut Scope<'_>, number: usize, inputs: &[Var], [fan_in, fan_out]: [usize; 2]| {
            let w = scope.weights.plain(&format!("head/{number}/weight"), [fan_in, fan_out], fan_in);
            let b = scope.weights.plain(&format!("head/{number}/bias"), [1, fan_out], fan_in);
            scope.tape.push(Linear::new(inputs.len()), &[inputs, &[w, b]].concat())
        };
        match (self, branches) {
            // A model without branches has nothing to say of a node.
            (Head::Identity, []) => (scope.tape.constant(Matrix::zeros(scope.addresses.len(), 0)), 0),
            (Head::Identity, [only]) => *only,
            (Head::Identity, _) => (scope.tape.push(Concatenate, &inputs), input_width),
            (Head::Linear, _) => (layer(scope, 1, &inputs, [input_width, width]), width),
            (Head::Mlp, _) => {
                let x = layer(scope, 1, &inputs, [input_width, hidden]);
                let x = scope.relu_dropout(x, "1/dropout");
                (layer(scope, 2, &[x], [hidden, width]), width)
            }
            (Head::Attention, _) => {
                let mapped =
                    branches.iter().enumerate().map(|(at, &(x, cols))| layer(scope, at + 1, &[x], [cols, width]));
                let mapped: Vec<Var> = mapped.collect();
                let query = scope.weights.plain("head/attention/query", [width, 1], width);
                let mut steps = mapped.clone();
                for &z in &mapped {
                    let x = scope.linear(&Input::dense(z, width), "attention", width);
                    let x = scope.tape.push(Tanh, &[x]);
                    steps.push(scope.tape.push(Linear::new(1), &[x, query]));
                }
                (scope.tape.push(Blend, &steps), width)
            }
        }
    }
}
