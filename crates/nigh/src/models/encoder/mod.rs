//! 3. Message passing: what turns the input of a branch into a row per node.

mod gat;
mod gcn;
mod gin;
mod hidden_layer;
mod hop_blend;
mod hop_mixture;
mod label_vote;
mod linear;
mod neighbourhoods;
mod node2vec;
mod pgnn;
mod random_propagation;
mod sage;
mod table;

pub use gat::Gat;
pub use gcn::Gcn;
pub use gin::Gin;
pub(crate) use hidden_layer::HiddenLayer;
pub(crate) use hop_blend::HopBlend;
pub(crate) use hop_mixture::HopMixture;
pub(crate) use label_vote::LabelVote;
pub use linear::{Linear, Propagated};
pub(crate) use neighbourhoods::Neighbourhoods;
pub(crate) use node2vec::SkipGram;
pub use pgnn::PGnn;
pub(crate) use random_propagation::RandomPropagation;
pub use sage::Sage;
pub(crate) use table::Table;

use crate::dataset::Features;
use crate::graph::{Graph, Operator};
use crate::linalg::half::Storage;
use crate::linalg::{Matrix, SparseMatrix};
use crate::ops::add::Add;
use crate::ops::convolution::Convolution;
use crate::ops::drop_rows::DropRows;
use crate::ops::dropout::{Dropout, Mask, ReluDropout};
use crate::ops::layer_norm::LayerNorm;
use crate::ops::linear::LinearMap;
use crate::ops::lookup::Lookup;
use crate::ops::propagate::Propagate;
use crate::ops::select_rows::SelectRows;
use crate::ops::sparse::SparseProduct;
use crate::propagation::Execution;
use crate::seeds::Seeds;
use crate::tape::{Init, InitScheme, Tape, Var, WeightAccess};
use std::fmt::Debug;
use std::sync::Arc;

/// `F_GNN(A, X; W)`. Bring your own by implementing this: record steps on the tape, return the last. Settings of an encoder
/// are its fields.
pub trait Encoder: Debug + Send + Sync {
    /// Records the encoder over one graph and returns its result. When a model is built, this is called over a graph without
    /// nodes: weights that are mentioned then are declared, later they are looked up.
    fn encode(&self, scope: &mut Scope<'_>, input: Input) -> Var;

    /// What it is called in listings: the name of its type.
    fn name(&self) -> &'static str {
        std::any::type_name::<Self>().rsplit("::").next().unwrap_or_default()
    }

    /// Values for frozen weights, by name, learnt from the training graph before training. `progress` is called with the
    /// number of steps done and their total.
    fn pretrain(
        &self,
        pretraining: &Pretraining<'_>,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Vec<(&'static str, Matrix)> {
        let _ = (pretraining, progress);
        Vec::new()
    }

    /// Whether what is learnt from labelled nodes carries over to other nodes.
    fn generalises(&self) -> bool {
        true
    }

    /// `K` and the storage between hops, if all its message passing is `Ã^K X` of its input, before anything is learnt.
    fn hops_first(&self) -> Option<(usize, Storage)> {
        None
    }

    /// The weight that sparse features of a graph are multiplied by before its hops, if they are not multiplied after them.
    fn maps_first(&self, graph: &Graph, features: &SparseMatrix) -> Option<&'static str> {
        let _ = (graph, features);
        None
    }

    /// How rows are stored between hops, if it keeps any.
    fn hop_storage(&self) -> Option<Storage> {
        None
    }

    /// Whether two training passes differ so much that they are asked to agree, on nodes without a label, too.
    fn seeks_agreement(&self) -> bool {
        false
    }

    /// Whether its rows are scores of the classes, whatever stands on top.
    fn gives_scores(&self) -> bool {
        false
    }

    /// Whether training changes anything in it.
    fn learns(&self, classifies: bool) -> bool {
        let _ = classifies;
        true
    }
}

/// What pre-training may see.
#[derive(Debug)]
pub struct Pretraining<'a> {
    /// The training graph.
    pub graph: &'a Graph,
    /// `F` of its nodes.
    pub features: &'a Features,
    /// The number by which each node is known; random draws for a node are addressed by it.
    pub addresses: &'a [u32],
    /// How many nodes the model knows by their ids.
    pub num_ids: usize,
    /// The root of the model's randomness.
    pub seeds: Seeds,
}

/// Layers of one kind, with ReLU and dropout between them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Layers {
    /// `K`.
    pub count: usize,
    /// Width of all layers but the last.
    pub hidden: usize,
    /// Dropout probability.
    pub dropout: f32,
}

/// What enters an encoder: one matrix, or several side by side, each with its name.
#[derive(Debug, Clone)]
pub struct Input {
    pieces: Vec<(&'static str, Piece)>,
}

/// One of the matrices side by side.
#[derive(Debug, Clone)]
pub enum Piece {
    /// A bag of words, or anything else that is mostly zero, and what training drops of it.
    Sparse(Arc<SparseMatrix>, Option<SparseDropout>),
    /// A matrix on the tape.
    Dense(Var),
    /// `Ã^K X W`, where it was computed already.
    Convolved(Var),
    /// The identity, never written out: row `i` is one at column `ids[i]`, and zero all along for an id beyond the
    /// number of columns.
    OneHot(Arc<[u32]>, usize),
}

/// What training drops of a sparse matrix: probability and name of a mask each.
#[derive(Debug, Clone, Default)]
pub struct SparseDropout {
    entries: Option<(f32, String)>,
    rows: Option<(f32, String)>,
}

impl Piece {
    fn cols(&self) -> usize {
        match self {
            Piece::Sparse(matrix, _) => matrix.cols(),
            Piece::Dense(x) | Piece::Convolved(x) => x.width(),
            Piece::OneHot(_, cols) => *cols,
        }
    }
}

impl Input {
    /// Matrices side by side.
    pub fn new(pieces: Vec<(&'static str, Piece)>) -> Input {
        assert!(!pieces.is_empty(), "something enters");
        Input { pieces }
    }

    /// A matrix on the tape.
    pub fn dense(x: Var) -> Input {
        Input { pieces: vec![("x", Piece::Dense(x))] }
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.pieces.iter().map(|piece| piece.1.cols()).sum()
    }
}

/// Whether `Ã^hops F` times a weight, a dense product, costs less than `F` times it and then `hops` hops.
fn is_cheaper_dense(graph: &Graph, matrix: &SparseMatrix, hops: usize) -> bool {
    /// How many times faster a multiplication in a dense product is than one that waits for a row.
    const DENSE_SPEEDUP: usize = 4;
    let gathered = matrix.num_entries() + hops * (graph.num_nodes() + 2 * graph.num_edges());
    hops > 0 && matrix.rows() * matrix.cols() <= DENSE_SPEEDUP * gathered
}

/// Where an encoder records its steps.
pub struct Scope<'a> {
    /// The steps so far.
    pub tape: &'a mut Tape,
    pub(crate) weights: WeightAccess<'a>,
    /// `Ã` of the graph that message passing may see.
    pub operator: &'a Operator,
    /// The number by which each node is known; random draws for a node are addressed by it.
    pub addresses: Arc<[u32]>,
    /// In front of the names of weights and masks.
    pub prefix: String,
    /// Width of the result.
    pub width: usize,
    /// Whether the result is a row of class scores, and not a representation.
    pub classifies: bool,
    /// How many nodes the model knows by their ids: those of the largest graph that it was built for.
    pub num_ids: usize,
    /// How message passing keeps to its memory where nothing is learnt before, and who does it.
    pub(crate) execution: Arc<Execution>,
    /// The nodes that are asked about, if others need no answer and rows of others are still here.
    pub(crate) asked: Option<Arc<[u32]>>,
}

impl Scope<'_> {
    /// A weight of this branch, with its random start.
    pub fn weight(&mut self, name: &str, shape: [usize; 2], init: Init) -> Var {
        let name = self.name(name);
        self.weights.weight(&name, shape, init)
    }

    /// A matrix that training leaves alone: zero until `Encoder::pretrain` gives its value.
    pub fn frozen(&mut self, name: &str, shape: [usize; 2]) -> &Matrix {
        let name = self.name(name);
        self.weights.frozen(&name, shape)
    }

    /// `X W`, with a weight `name` for each matrix side by side.
    pub fn product(&mut self, input: &Input, name: &str, width: usize, init: Init) -> Var {
        let alone = input.pieces.len() == 1;
        let mut sum = None;
        for (source, piece) in &input.pieces {
            let name = if alone { name.to_string() } else { format!("{name}/{source}") };
            let weight = self.weight(&name, [piece.cols(), width], init);
            let part = match piece {
                Piece::Dense(x) => self.tape.push(LinearMap::new(1), &[*x, weight]),
                Piece::Sparse(matrix, dropout) => {
                    let mut product = SparseProduct::new(matrix.clone());
                    let mask = |(rate, name): &(f32, String)| Mask::new(*rate, name).by(self.addresses.clone());
                    if let Some(SparseDropout { entries, rows }) = dropout {
                        product = entries.iter().map(mask).fold(product, SparseProduct::masked);
                        product = rows.iter().map(mask).fold(product, SparseProduct::with_dropped_rows);
                    }
                    self.tape.push(product, &[weight])
                }
                Piece::OneHot(ids, _) => self.tape.push(Lookup::new(ids.clone()), &[weight]),
                Piece::Convolved(_) => panic!("what was multiplied already only lacks its bias"),
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
        if let [(_, Piece::Dense(x))] = input.pieces[..] {
            let cols = x.width();
            let w = self.weight(&format!("{name}/weight"), [cols, width], Init::fan_in(cols));
            let b = self.weight(&format!("{name}/bias"), [1, width], Init::fan_in(cols));
            return self.tape.push(LinearMap::new(1), &[x, w, b]);
        }
        self.convolve(input, 0, Storage::Single, name, width, InitScheme::FanIn)
    }

    /// `Ã^hops X W + b`, in the cheaper order: an input that stays the same is propagated once, unless it is a sparse
    /// matrix so wide that propagation would make it dense; that is mapped first, and so is what changes.
    pub fn convolve(
        &mut self,
        input: &Input,
        hops: usize,
        storage: Storage,
        name: &str,
        width: usize,
        init: InitScheme,
    ) -> Var {
        let propagate = Propagate::new(self.operator.clone(), hops).stored(storage);
        let (weight, bias) = (format!("{name}/weight"), format!("{name}/bias"));
        if let [(_, Piece::Convolved(x))] = input.pieces[..] {
            let b = self.weight(&bias, [1, width], init.bias(width));
            return self.tape.push(propagate, &[x, b]);
        }
        let propagated = match &input.pieces[..] {
            [(_, Piece::Dense(x))] if self.tape.is_constant(*x) => Some(*x),
            [(_, Piece::Sparse(matrix, None))] if is_cheaper_dense(self.operator.graph(), matrix, hops) => {
                Some(self.dense(input))
            }
            _ => None,
        };
        let fan_in = input.cols();
        match propagated {
            Some(x) => {
                let x = self.propagated(x, hops, storage);
                let w = self.weight(&weight, [fan_in, width], init.weight([fan_in, width]));
                let b = self.weight(&bias, [1, width], init.bias(fan_in));
                self.tape.push(LinearMap::new(1), &[x, w, b])
            }
            None => match &input.pieces[..] {
                [(_, Piece::Sparse(matrix, None))] => {
                    let w = self.weight(&weight, [fan_in, width], init.weight([fan_in, width]));
                    let b = self.weight(&bias, [1, width], init.bias(fan_in));
                    let step = Convolution::new(matrix.clone(), self.operator.clone(), hops, storage);
                    self.tape.push(step, &[w, b])
                }
                _ => {
                    let x = self.product(input, &weight, width, init.weight([fan_in, width]));
                    let b = self.weight(&bias, [1, width], init.bias(fan_in));
                    self.tape.push(propagate, &[x, b])
                }
            },
        }
    }

    /// `Ã^hops X` without a bias. Where `Ã` is the identity, `X` is not copied.
    pub(crate) fn propagated(&mut self, x: Var, hops: usize, storage: Storage) -> Var {
        match self.operator.is_identity() {
            true => x,
            false => self.tape.push(Propagate::new(self.operator.clone(), hops).stored(storage), &[x]),
        }
    }

    /// The rows of the nodes that are asked about, from here on: to be called after the last message was passed, before what is learnt.
    /// All rows, where all are asked about.
    pub fn select_targets(&mut self, x: Var) -> Var {
        let Some(rows) = self.asked.take() else { return x };
        self.addresses = rows.iter().map(|&row| self.addresses[row as usize]).collect();
        self.tape.push(SelectRows::new(rows), &[x])
    }

    /// As `select_targets`, for matrices side by side that are all on the tape.
    pub fn select_target_inputs(&mut self, mut input: Input) -> Input {
        let Some(rows) = self.asked.take() else { return input };
        self.addresses = rows.iter().map(|&row| self.addresses[row as usize]).collect();
        for (_, piece) in &mut input.pieces {
            let Piece::Dense(x) = piece else { panic!("a matrix on the tape is expected") };
            *x = self.tape.push(SelectRows::new(rows.clone()), &[*x]);
        }
        input
    }

    /// Sparse input without the rows of nodes that are more than `hops` links away from all that are asked about: nobody reads them.
    pub fn only_near_asked(&self, mut input: Input, hops: usize) -> Input {
        let Some(asked) = &self.asked else { return input };
        let graph = self.operator.graph();
        let mut is_near = vec![false; graph.num_nodes()];
        let mut edge: Vec<u32> = asked.to_vec();
        edge.iter().for_each(|&node| is_near[node as usize] = true);
        for _ in 0..hops {
            let mut next = Vec::new();
            for &other in edge.iter().flat_map(|&node| graph.neighbours(node as usize)) {
                if !std::mem::replace(&mut is_near[other as usize], true) {
                    next.push(other);
                }
            }
            edge = next;
        }
        for (_, piece) in &mut input.pieces {
            if let Piece::Sparse(matrix, _) = piece {
                *matrix = matrix.only_rows(&is_near).into();
            }
        }
        input
    }

    /// The input as one matrix on the tape.
    pub fn dense(&mut self, input: &Input) -> Var {
        let [(_, piece)] = &input.pieces[..] else { panic!("one matrix is expected, not several side by side") };
        match piece {
            Piece::Dense(x) => *x,
            Piece::Sparse(sparse, _) => {
                let mut x = Matrix::zeros(sparse.rows(), sparse.cols());
                for row in 0..sparse.rows() {
                    sparse.row(row).for_each(|(column, value)| x.row_mut(row)[column as usize] = value);
                }
                self.tape.constant(x)
            }
            Piece::OneHot(..) => panic!("one-hot ids are never written out"),
            Piece::Convolved(_) => panic!("what was multiplied already is not `X`"),
        }
    }

    /// ReLU, and dropout with the mask `name`.
    pub fn relu_dropout(&mut self, x: Var, dropout: f32, name: &str) -> Var {
        let step = ReluDropout::new(dropout, &self.name(name)).by(self.addresses.clone());
        self.tape.push(step, &[x])
    }

    /// Rows of mean zero and variance one, times a gain and plus a bias per column, which start at one and zero.
    pub fn layer_norm(&mut self, x: Var, name: &str) -> Var {
        let gain = self.weight(&format!("{name}/gain"), [1, x.width()], Init::Constant { value: 1.0 });
        let bias = self.weight(&format!("{name}/bias"), [1, x.width()], Init::Zeros);
        self.tape.push(LayerNorm::default(), &[x, gain, bias])
    }

    /// The input with entries dropped in training, by the mask `name`. Ids are not dropped.
    pub fn dropout(&mut self, mut input: Input, dropout: f32, name: &str) -> Input {
        let name = self.name(name);
        for (_, piece) in &mut input.pieces {
            match piece {
                Piece::Dense(x) => {
                    let step = Dropout::new(dropout, &name).by(self.addresses.clone());
                    *x = self.tape.push(step, &[*x]);
                }
                Piece::Sparse(_, dropped) => {
                    dropped.get_or_insert_default().entries = Some((dropout, name.clone()));
                }
                Piece::OneHot(..) | Piece::Convolved(_) => (),
            }
        }
        input
    }

    /// The input with whole rows dropped in training, by the mask `name`: a node loses all matrices side by side together. Ids are
    /// not dropped.
    pub fn drop_rows(&mut self, mut input: Input, dropout: f32, name: &str) -> Input {
        let name = self.name(name);
        for (_, piece) in &mut input.pieces {
            match piece {
                Piece::Dense(x) => {
                    let step = DropRows::new(dropout, &name).by(self.addresses.clone());
                    *x = self.tape.push(step, &[*x]);
                }
                Piece::Sparse(_, dropped) => {
                    dropped.get_or_insert_default().rows = Some((dropout, name.clone()));
                }
                Piece::OneHot(..) | Piece::Convolved(_) => (),
            }
        }
        input
    }

    /// Features at one scale. Dense ones lose the mean of their column and are divided by its deviation, as `standardization` found
    /// them on the training graph, and all rows have a length of about one; sparse ones, such as bags of words, are scaled to rows
    /// of length one.
    pub fn standardize(&mut self, mut input: Input) -> Input {
        let [(_, piece)] = &mut input.pieces[..] else { panic!("one matrix is expected, not several side by side") };
        let cols = piece.cols();
        let mean = self.frozen("mean", [1, cols]).clone();
        let scale = self.frozen("scale", [1, cols]).clone();
        match piece {
            Piece::Dense(x) => {
                let mut value = self.tape.value(*x).clone();
                standardize(&mut value, &mean, &scale);
                let length = (cols as f32).sqrt();
                value.data_mut().iter_mut().for_each(|x| *x /= length);
                *x = self.tape.constant(value);
            }
            Piece::Sparse(matrix, _) => *matrix = matrix.with_unit_rows().into(),
            Piece::OneHot(..) | Piece::Convolved(_) => (),
        }
        input
    }

    /// `K` layers of a kind, with ReLU and dropout between them; `layer(scope, input, name, width)` records one.
    pub fn layers(
        &mut self,
        layers: Layers,
        kind: &str,
        mut input: Input,
        layer: impl Fn(&mut Scope<'_>, &Input, &str, usize) -> Var,
    ) -> Var {
        for number in 1..layers.count {
            let name = format!("{kind}/{number}");
            let x = layer(self, &input, &name, layers.hidden);
            let x = self.relu_dropout(x, layers.dropout, &format!("{name}/dropout"));
            input = Input::dense(x);
        }
        let width = self.width;
        layer(self, &input, &format!("{kind}/{}", layers.count), width)
    }

    /// A name in this branch.
    pub fn name(&self, name: &str) -> String {
        format!("{}/{name}", self.prefix)
    }
}

/// Standardised features are clipped here: one outlier must not decide about a node.
const MOST_DEVIATIONS: f32 = 5.0;

/// `(x - mean) * scale` column by column, clipped.
pub(crate) fn standardize(rows: &mut Matrix, mean: &Matrix, scale: &Matrix) {
    let cols = rows.cols();
    for row in rows.data_mut().chunks_exact_mut(cols.max(1)) {
        for ((x, mean), scale) in row.iter_mut().zip(mean.data()).zip(scale.data()) {
            *x = ((*x - mean) * scale).clamp(-MOST_DEVIATIONS, MOST_DEVIATIONS);
        }
    }
}

/// Mean and inverse deviation of every column of dense features, for [`Scope::standardize`].
pub(crate) fn standardization(features: &Features) -> Vec<(&'static str, Matrix)> {
    let cols = features.cols();
    let mut moments = vec![[0.0f64; 2]; cols];
    if let Features::Dense(matrix) = features {
        let share = 1.0 / matrix.rows().max(1) as f64;
        for row in matrix.data().chunks_exact(cols.max(1)) {
            for (moment, &x) in moments.iter_mut().zip(row) {
                moment[0] += share * f64::from(x);
                moment[1] += share * f64::from(x) * f64::from(x);
            }
        }
    }
    let scale = |&[mean, square]: &[f64; 2]| match (square - mean * mean).max(0.0).sqrt() {
        deviation if deviation > 1e-6 * (1.0 + mean.abs()) => (1.0 / deviation) as f32,
        // A column that is always the same says nothing.
        _ => 0.0,
    };
    let mean = moments.iter().map(|moment| moment[0] as f32).collect();
    let scale = moments.iter().map(scale).collect();
    vec![("mean", Matrix::from_data(1, cols, mean)), ("scale", Matrix::from_data(1, cols, scale))]
}
