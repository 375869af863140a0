//! 3. Message passing: what turns the input of a branch into a row per node.

mod gcn;
mod linear;

pub use gcn::Gcn;
pub use linear::{Linear, Propagated};

use crate::graph::Operator;
use crate::kernel::linear::Linear as LinearMap;
use crate::kernel::propagate::Propagate;
use crate::kernel::sparse::SparseProduct;
use crate::kernel::{Matrix, SparseMatrix};
use crate::tape::{Tape, Var, Weights};
use std::fmt::Debug;
use std::sync::Arc;

/// `F_GNN(A, X; W)`. Bring your own by implementing this: record steps on the tape, return the last.
pub trait Encoder: Debug + Send + Sync {
    /// Records the encoder over one graph. The first is always a graph without nodes, over which weights are declared.
    fn encode(&self, scope: &mut Scope<'_>, input: Input) -> Var;

    /// How wide the result is for an input of `input_width`, if `width` is asked for.
    fn output_width(&self, input_width: usize, width: usize) -> usize {
        let _ = input_width;
        width
    }
}

/// What enters an encoder.
#[derive(Debug, Clone)]
pub enum Input {
    /// A bag of words, or anything else that is mostly zero.
    Sparse(Arc<SparseMatrix>),
    /// A matrix on the tape, and its number of columns.
    Dense(Var, usize),
}

impl Input {
    /// Number of columns.
    pub fn cols(&self) -> usize {
        match self {
            Input::Sparse(matrix) => matrix.cols(),
            Input::Dense(_, cols) => *cols,
        }
    }
}

/// Where and with what an encoder records.
pub struct Scope<'a> {
    /// The steps so far.
    pub tape: &'a mut Tape,
    /// The weights of the model.
    pub weights: &'a mut Weights,
    /// `Ã` of the graph that message passing may see.
    pub operator: &'a Operator,
    /// Names in front of the weights of this branch.
    pub prefix: &'static str,
    /// `K`.
    pub hops: usize,
    /// Width of hidden layers.
    pub hidden: usize,
    /// Width of the result.
    pub width: usize,
    /// Share of entries dropped between layers.
    pub dropout: f32,
}

impl Scope<'_> {
    /// `Ã^hops X W + b`, in the cheaper order: a narrow input that stays the same is propagated once and for all,
    /// a wide one is mapped first.
    pub fn convolve(&mut self, input: &Input, hops: usize, weight: Var, bias: Var, width: usize) -> Var {
        match input {
            Input::Dense(x, cols) if self.tape.is_constant(*x) && *cols <= width => {
                let x = self.tape.push(Propagate::new(self.operator.clone(), hops), &[*x]);
                self.tape.push(LinearMap::new(1), &[x, weight, bias])
            }
            Input::Dense(x, _) => {
                let x = self.tape.push(LinearMap::new(1), &[*x, weight]);
                self.tape.push(Propagate::new(self.operator.clone(), hops), &[x, bias])
            }
            Input::Sparse(matrix) => {
                let x = self.tape.push(SparseProduct(matrix.clone()), &[weight]);
                self.tape.push(Propagate::new(self.operator.clone(), hops), &[x, bias])
            }
        }
    }

    /// The input as a matrix on the tape.
    pub fn dense(&mut self, input: &Input) -> Var {
        match input {
            Input::Dense(x, _) => *x,
            Input::Sparse(sparse) => {
                let mut x = Matrix::zeros(sparse.rows(), sparse.cols());
                for row in 0..sparse.rows() {
                    sparse.row(row).for_each(|(column, value)| x.row_mut(row)[column as usize] = value);
                }
                self.tape.constant(x)
            }
        }
    }

    /// A name in this branch.
    pub fn name(&self, name: &str) -> String {
        format!("{}/{name}", self.prefix)
    }
}
