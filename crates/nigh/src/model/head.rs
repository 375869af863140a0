//! `F_output`: what is made of the branches side by side.

use crate::kernel::dropout::ReluDropout;
use crate::kernel::linear::{Concatenate, Linear};
use crate::names::named;
use crate::tape::{Tape, Var, Weights};

named! {
    /// `F_output` of the framework equation.
    pub enum Head, "head" {
        /// `[X, Ẽ]` as it is.
        Identity = "identity",
        /// `[X, Ẽ] W + b`.
        Linear = "linear",
        /// Linear, ReLU, dropout, linear.
        Mlp = "mlp",
    }
}

impl Head {
    /// Records the head over branches, given with their widths.
    pub(super) fn record(
        self,
        tape: &mut Tape,
        weights: &mut Weights,
        branches: &[(Var, usize)],
        hidden: usize,
        width: usize,
        dropout: f32,
    ) -> Var {
        let inputs: Vec<Var> = branches.iter().map(|branch| branch.0).collect();
        let input_width = branches.iter().map(|branch| branch.1).sum();
        let mut layer = |tape: &mut Tape, number: usize, inputs: &[Var], [fan_in, fan_out]: [usize; 2]| {
            let w = weights.plain(&format!("head/{number}/weight"), [fan_in, fan_out], fan_in);
            let b = weights.plain(&format!("head/{number}/bias"), [1, fan_out], fan_in);
            tape.push(Linear::new(inputs.len()), &[inputs, &[w, b]].concat())
        };
        match self {
            Head::Identity if inputs.len() == 1 => inputs[0],
            Head::Identity => tape.push(Concatenate, &inputs),
            Head::Linear => layer(tape, 1, &inputs, [input_width, width]),
            Head::Mlp => {
                let x = layer(tape, 1, &inputs, [input_width, hidden]);
                let x = tape.push(ReluDropout::new(dropout, "head/1/dropout"), &[x]);
                layer(tape, 2, &[x], [hidden, width])
            }
        }
    }
}
