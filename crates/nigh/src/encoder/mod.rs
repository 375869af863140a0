//! 3. Message passing: what turns the input of a branch into a row per node.

mod gat;
mod gcn;
mod gin;
mod linear;
mod node2vec;
mod pgnn;
mod sage;
mod table;

pub use gat::Gat;
pub use gcn::Gcn;
pub use gin::Gin;
pub use linear::{Linear, Propagated};
pub use node2vec::SkipGram;
pub use pgnn::PGnn;
pub use sage::Sage;
pub use table::Table;

use crate::graph::Operator;
use crate::linalg::half::Storage;
use crate::linalg::{Matrix, SparseMatrix};
use crate::ops::add::Add;
use crate::ops::dropout::{Dropout, Mask, ReluDropout};
use crate::ops::linear::Linear as LinearMap;
use crate::ops::lookup::Lookup;
use crate::ops::propagate::Propagate;
use crate::ops::sparse::SparseProduct;
use crate::seeds::Seeds;
use crate::source::Node2Vec;
use crate::tape::{Start, Tape, Var, Weights};
use std::fmt::Debug;
use std::sync::Arc;

/// `F_GNN(A, X; W)`. Bring your own by implementing this: record steps on the tape, return the last.
pub trait Encoder: Debug + Send + Sync {
    /// Records the encoder over one graph and returns its result with the number of columns. The first graph is always
    /// one without nodes, over which weights are declared.
    fn encode(&self, scope: &mut Scope<'_>, input: Input) -> (Var, usize);

    /// What is learnt from the training graph alone, before training: nothing, for most. `progress` is told how much of
    /// it is done.
    fn pretrain(&self, scope: &mut Scope<'_>, progress: &mut dyn FnMut(usize, usize)) {
        let _ = (scope, progress);
    }

    /// Whether what is learnt of labelled nodes says anything about others.
    fn generalises(&self) -> bool {
        true
    }

    /// Whether it keeps rows between hops as `hop_storage` says.
    fn stores_hops(&self) -> bool {
        false
    }

    /// Whether training has anything to change in it.
    fn learns(&self, classifies: bool) -> bool {
        let _ = classifies;
        true
    }
}

/// What enters an encoder: one matrix, or several side by side, each with its name.
#[derive(Debug, Clone)]
pub struct Input {
    pieces: Vec<(&'static str, Piece)>,
}

/// One of the matrices side by side.
#[derive(Debug, Clone)]
pub enum Piece {
    /// A bag of words, or anything else that is mostly zero; training drops entries of it by the name of a mask.
    Sparse(Arc<SparseMatrix>, Option<String>),
    /// A matrix on the tape, and its number of columns.
    Dense(Var, usize),
    /// The identity, never written out: row `i` is one at column `ids[i]`, and zero all along for an id beyond the
    /// number of columns.
    OneHot(Arc<[u32]>, usize),
}

impl Piece {
    fn cols(&self) -> usize {
        match self {
            Piece::Sparse(matrix, _) => matrix.cols(),
            Piece::Dense(_, cols) | Piece::OneHot(_, cols) => *cols,
        }
    }
}

impl Input {
    /// Matrices side by side.
    pub fn new(pieces: Vec<(&'static str, Piece)>) -> Input {
        assert!(!pieces.is_empty(), "something enters");
        Input { pieces }
    }

    /// A matrix on the tape, and its number of columns.
    pub fn dense(x: Var, cols: usize) -> Input {
        Input { pieces: vec![("x", Piece::Dense(x, cols))] }
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.pieces.iter().map(|piece| piece.1.cols()).sum()
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
    /// The number by which each node is known; what is drawn for a node is drawn by it.
    pub addresses: Arc<[u32]>,
    /// Names in front of the weights of this branch.
    pub prefix: String,
    /// `K`.
    pub hops: usize,
    /// How rows are stored between hops.
    pub hop_storage: Storage,
    /// Width of hidden layers.
    pub hidden: usize,
    /// Width of the result.
    pub width: usize,
    /// Whether the result is a row of class scores, and not a representation.
    pub classifies: bool,
    /// Share of entries dropped between layers.
    pub dropout: f32,
    /// `d`: the width of what tells a node where it is.
    pub dim: usize,
    /// How many nodes the model knows by their ids: those of the largest graph that it was built for.
    pub num_ids: usize,
    /// How node2vec walks.
    pub walks: Node2Vec,
    /// The root of the model's randomness.
    pub seeds: Seeds,
}

impl Scope<'_> {
    /// `X W`, with a weight `name` for each matrix side by side.
    pub fn product(&mut self, input: &Input, name: &str, width: usize, start: Start) -> Var {
        let bound = start.bound([input.cols(), width]);
        let alone = input.pieces.len() == 1;
        let mut sum = None;
        for (source, piece) in &input.pieces {
            let name = if alone { self.name(name) } else { self.name(&format!("{name}/{source}")) };
            let weight = self.weights.uniform(&name, [piece.cols(), width], bound);
            let part = match piece {
                Piece::Dense(x, _) => self.tape.push(LinearMap::new(1), &[*x, weight]),
                Piece::Sparse(matrix, mask) => {
                    let product = SparseProduct::new(matrix.clone());
                    let product = match mask {
                        Some(mask) => product.masked(Mask::new(self.dropout, mask).by(self.addresses.clone())),
                        None => product,
                    };
                    self.tape.push(product, &[weight])
                }
                Piece::OneHot(ids, _) => self.tape.push(Lookup::new(ids.clone()), &[weight]),
            };
            sum = Some(match sum {
                Some(sum) => self.tape.push(Add, &[sum, part]),
                None => part,
            });
        }
        sum.expect("at least one matrix")
    }

    /// `X W + b`.
    pub fn linear(&mut self, input: &Input, name: &str, width: usize) -> Var {
        if let [(_, Piece::Dense(x, cols))] = input.pieces[..] {
            let w = self.weights.plain(&self.name(&format!("{name}/weight")), [cols, width], cols);
            let b = self.weights.plain(&self.name(&format!("{name}/bias")), [1, width], cols);
            return self.tape.push(LinearMap::new(1), &[x, w, b]);
        }
        self.convolve(input, 0, name, width, Start::Plain)
    }

    /// `Ã^hops X W + b`, in the cheaper order: an input that stays the same is propagated once and for all, unless it is a
    /// sparse matrix so wide that it would become dense by it; that is mapped first, and so is what changes.
    pub fn convolve(&mut self, input: &Input, hops: usize, name: &str, width: usize, start: Start) -> Var {
        let propagate = Propagate::new(self.operator.clone(), hops).stored(self.hop_storage);
        let weight = format!("{name}/weight");
        let propagated = match &input.pieces[..] {
            [(_, Piece::Dense(x, cols))] if self.tape.is_constant(*x) => Some((*x, *cols)),
            [(_, Piece::Sparse(matrix, None))] if self.is_cheaper_dense(matrix, hops) => {
                Some((self.dense(input), matrix.cols()))
            }
            _ => None,
        };
        let fan_in = input.cols();
        let bias = |scope: &mut Self| {
            let name = scope.name(&format!("{name}/bias"));
            match start {
                Start::Glorot => scope.weights.zeros(&name, [1, width]),
                Start::Plain => scope.weights.plain(&name, [1, width], fan_in),
            }
        };
        match propagated {
            Some((x, cols)) => {
                let x = self.tape.push(propagate, &[x]);
                let w = self.weights.uniform(&self.name(&weight), [cols, width], start.bound([cols, width]));
                let b = bias(self);
                self.tape.push(LinearMap::new(1), &[x, w, b])
            }
            None => {
                let x = self.product(input, &weight, width, start);
                let b = bias(self);
                self.tape.push(propagate, &[x, b])
            }
        }
    }

    /// Whether `Ã^hops F` times a weight, a dense product, costs less than `F` times it and then `hops` hops.
    fn is_cheaper_dense(&self, matrix: &SparseMatrix, hops: usize) -> bool {
        /// A multiplication in a dense product is so many times faster than one that waits for a row.
        const DENSE: usize = 4;
        let graph = self.operator.graph();
        let gathered = matrix.num_entries() + hops * (graph.num_nodes() + 2 * graph.num_edges());
        hops > 0 && matrix.rows() * matrix.cols() <= DENSE * gathered
    }

    /// The input as one matrix on the tape.
    pub fn dense(&mut self, input: &Input) -> Var {
        let [(_, piece)] = &input.pieces[..] else { panic!("one matrix is expected, not several side by side") };
        match piece {
            Piece::Dense(x, _) => *x,
            Piece::Sparse(sparse, _) => {
                let mut x = Matrix::zeros(sparse.rows(), sparse.cols());
                for row in 0..sparse.rows() {
                    sparse.row(row).for_each(|(column, value)| x.row_mut(row)[column as usize] = value);
                }
                self.tape.constant(x)
            }
            Piece::OneHot(..) => panic!("one-hot ids are never written out"),
        }
    }

    /// ReLU and dropout; the mask belongs to `name`.
    pub fn relu_dropout(&mut self, x: Var, name: &str) -> Var {
        let step = ReluDropout::new(self.dropout, &self.name(name)).by(self.addresses.clone());
        self.tape.push(step, &[x])
    }

    /// The input with entries dropped in training; the mask belongs to `name`. Ids are not dropped.
    pub fn dropout(&mut self, mut input: Input, name: &str) -> Input {
        let name = self.name(name);
        for (_, piece) in &mut input.pieces {
            match piece {
                Piece::Dense(x, _) => {
                    let step = Dropout::new(self.dropout, &name).by(self.addresses.clone());
                    *x = self.tape.push(step, &[*x]);
                }
                Piece::Sparse(_, mask) => *mask = Some(name.clone()),
                Piece::OneHot(..) => (),
            }
        }
        input
    }

    /// `K` layers of a kind, with ReLU and dropout between them; `layer(scope, input, name, width)` records one.
    pub fn layers(
        &mut self,
        kind: &str,
        mut input: Input,
        layer: impl Fn(&mut Scope<'_>, &Input, &str, usize) -> Var,
    ) -> (Var, usize) {
        let (last, hidden, width) = (self.hops, self.hidden, self.width);
        for number in 1..last {
            let name = format!("{kind}/{number}");
            let x = layer(self, &input, &name, hidden);
            let x = self.relu_dropout(x, &format!("{name}/dropout"));
            input = Input::dense(x, hidden);
        }
        (layer(self, &input, &format!("{kind}/{last}"), width), width)
    }

    /// A name in this branch.
    pub fn name(&self, name: &str) -> String {
        format!("{}/{name}", self.prefix)
    }
}
