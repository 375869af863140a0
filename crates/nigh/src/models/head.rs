//! `F_output`: what is made of the branches side by side.

use crate::linalg::Matrix;
use crate::models::encoder::{Input, Scope};
use crate::ops::blend::{Blend, Tanh};
use crate::ops::linear::{Concatenate, LinearMap};
use crate::tape::{Init, Var};

/// `F_output` of the framework equation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Head {
    /// `[X, Ẽ]` as it is.
    Identity,
    /// `[X, Ẽ] W + b`.
    Linear,
    /// Linear, ReLU, dropout, linear.
    Mlp {
        /// Width of the hidden layer.
        hidden: usize,
        /// Dropout probability.
        dropout: f32,
    },
    /// `Σ_b α_b z_b`, `z_b` a linear map of branch `b`: every node weighs its branches by
    /// `α = softmax_b <q, tanh(z_b V + v)>`.
    Attention,
    /// Class scores `z_b` of each branch, by a linear map of its own, each trained by a loss of its own; the answer is `softmax(Σ_b w_b ln softmax(z_b))` with
    /// weights that are fitted on validation nodes. Without classes, the branches side by side.
    Gated,
}

/// A branch before the head.
pub(super) struct EncodedBranch {
    pub x: Var,
    /// Counted from one.
    pub number: usize,
    /// Whether its rows are class scores already.
    pub is_scores: bool,
}

impl Head {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Head::Identity => "identity",
            Head::Linear => "linear",
            Head::Mlp { .. } => "mlp",
            Head::Attention => "attention",
            Head::Gated => "gated",
        }
    }

    /// Records the head over branches.
    pub(super) fn record(self, scope: &mut Scope<'_>, branches: &[EncodedBranch]) -> Var {
        let (encoded, branches) = (branches, branches.iter().map(|branch| branch.x).collect::<Vec<Var>>());
        let branches = &branches[..];
        let width = scope.width;
        let layer = |scope: &mut Scope<'_>, number: usize, inputs: &[Var], fan_out: usize| {
            let fan_in = inputs.iter().map(|input| input.width()).sum();
            let w = scope.weight(&format!("{number}/weight"), [fan_in, fan_out], Init::fan_in(fan_in));
            let b = scope.weight(&format!("{number}/bias"), [1, fan_out], Init::fan_in(fan_in));
            scope.tape.push(LinearMap::new(inputs.len()), &[inputs, &[w, b]].concat())
        };
        match (self, branches) {
            // A heuristic has no representations.
            (Head::Identity, []) => scope.tape.constant(Matrix::zeros(scope.addresses.len(), 0)),
            (Head::Identity, [only]) => *only,
            (Head::Identity, _) => scope.tape.push(Concatenate, branches),
            (Head::Linear, _) => layer(scope, 1, branches, width),
            (Head::Mlp { hidden, dropout }, _) => {
                let x = layer(scope, 1, branches, hidden);
                let x = scope.relu_dropout(x, dropout, "1/dropout");
                layer(scope, 2, &[x], width)
            }
            (Head::Attention, _) => {
                let mapped = branches.iter().enumerate().map(|(at, &x)| layer(scope, at + 1, &[x], width));
                let mapped: Vec<Var> = mapped.collect();
                let query = scope.weight("attention/query", [width, 1], Init::fan_in(width));
                let mut steps = mapped.clone();
                for &z in &mapped {
                    let x = scope.linear(&Input::dense(z), "attention", width);
                    let x = scope.tape.push(Tanh, &[x]);
                    steps.push(scope.tape.push(LinearMap::new(1), &[x, query]));
                }
                scope.tape.push(Blend, &steps)
            }
            (Head::Gated, _) if !scope.classifies => scope.tape.push(Concatenate, branches),
            (Head::Gated, _) => {
                let scores = encoded.iter().map(|branch| match branch.is_scores {
                    true => branch.x,
                    false => layer(scope, branch.number, &[branch.x], width),
                });
                let scores: Vec<Var> = scores.collect();
                scope.tape.push(Concatenate, &scores)
            }
        }
    }
}
