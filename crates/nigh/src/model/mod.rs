//! 4. The framework equation: `H = F_output([F_GNN(A, E), F_GNN'(A, F)])`. A model is branches and a head.

pub mod catalog;
pub mod decoder;
mod head;
mod heuristic;
mod view;

pub use decoder::Decoder;
pub use head::Head;
pub use heuristic::Heuristic;
pub use view::View;

use crate::dataset::Features;
use crate::encoder::{Encoder, Input, Piece, Scope};
use crate::error::{Error, Result};
use crate::graph::{eigen, order_by};
use crate::linalg::Matrix;
use crate::linalg::half::Storage;
use crate::ops::normalize::NormalizeRows;
use crate::ops::signal::Stochastic;
use crate::seeds::Seeds;
use crate::source::{Node2Vec, Refresh, Signal, SignalScale, Source};
use crate::tape::{Pass, Tape, Var, Weights};
use std::sync::Arc;

/// One branch: sources and the message passing they go through.
#[derive(Debug, Clone)]
pub struct Branch {
    /// What enters, side by side.
    pub sources: Vec<Source>,
    /// What it goes through.
    pub encoder: Arc<dyn Encoder>,
    /// Whether rows are scaled to length one before they stand beside the other branch.
    pub l2_normalize: bool,
}

/// A row of the catalog: branches side by side and what is made of them.
#[derive(Debug, Clone)]
pub struct Architecture {
    /// In the order in which they stand side by side; none for a heuristic.
    pub branches: Vec<Branch>,
    /// `F_output`.
    pub head: Head,
    /// What scores pairs in the place of representations.
    pub heuristic: Option<Heuristic>,
    /// Share of entries dropped, unless the user sets it.
    pub dropout: f32,
}

impl Architecture {
    /// Whether the last layer can be made as wide as there are classes, and means something to nodes without a label.
    pub fn can_classify(&self) -> bool {
        let as_wide = self.head != Head::Identity || self.branches.len() == 1;
        as_wide && self.branches.iter().any(|branch| branch.encoder.generalises())
    }

    /// Whether any branch keeps rows between hops as `hop_storage` says.
    pub fn stores_hops(&self) -> bool {
        self.branches.iter().any(|branch| branch.encoder.stores_hops())
    }

    /// Whether a source takes part.
    pub fn uses(&self, source: Source) -> bool {
        self.branches.iter().any(|branch| branch.sources.contains(&source))
    }

    /// Whether all that is learnt belongs to single nodes, so that nothing carries over to another graph.
    pub fn knows_nodes_alone(&self) -> bool {
        !self.branches.is_empty() && self.branches.iter().all(|branch| branch.sources == [Source::OneHot])
    }

    /// Whether training has anything to change, in the model or in its decoder.
    pub fn learns(&self, classifies: bool, decoder: Decoder) -> bool {
        self.head != Head::Identity
            || self.branches.iter().any(|branch| branch.encoder.learns(classifies))
            || (!classifies && decoder == Decoder::HadamardMlp)
    }
}

/// The numbers that turn an architecture into a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// `d0`, the width of `F`.
    pub num_features: usize,
    /// The number of classes, when nodes are classified.
    pub num_classes: Option<usize>,
    /// How many nodes can be known by their ids: those of the largest graph.
    pub num_ids: usize,
    /// `K`: propagation steps, or layers.
    pub hops: usize,
    /// How rows are stored between hops.
    pub hop_storage: Storage,
    /// Width of hidden layers and of the representation.
    pub width: usize,
    /// Share of entries dropped between layers.
    pub dropout: f32,
    /// Distribution of `E`.
    pub signal: Signal,
    /// `d`, the width of `E`, or of what takes its place.
    pub signal_dim: usize,
    /// Scale of `E`.
    pub signal_scale: SignalScale,
    /// Whether `E` stays.
    pub refresh: Refresh,
    /// How node2vec walks.
    pub walks: Node2Vec,
}

impl Default for Shape {
    /// The paper's, for a graph without features.
    fn default() -> Shape {
        Shape {
            num_features: 1,
            num_classes: None,
            num_ids: 0,
            hops: 2,
            hop_storage: Storage::Single,
            width: 32,
            dropout: 0.5,
            signal: Signal::Gaussian,
            signal_dim: 32,
            signal_scale: SignalScale::InverseSqrt,
            refresh: Refresh::Fixed,
            walks: Node2Vec::default(),
        }
    }
}

/// An architecture with its weights.
#[derive(Debug, Clone)]
pub struct Model {
    architecture: Architecture,
    shape: Shape,
    seeds: Seeds,
    representation_width: usize,
    /// Everything that is learnt.
    pub weights: Weights,
}

/// A model recorded over one graph, ready to be run again and again.
#[derive(Debug)]
pub struct Recording {
    tape: Tape,
    output: Var,
    /// The number of columns of the output.
    width: usize,
    graph: u64,
    is_restricted: bool,
}

impl Model {
    /// A model at its random start, which follows from `seeds`.
    pub fn build(architecture: Architecture, shape: Shape, seeds: Seeds) -> Result<Model> {
        if shape.num_classes.is_some() && !architecture.can_classify() {
            return Err(Error::Data("this model does not classify nodes; take smp-linear".into()));
        }
        let mut model = Model { architecture, shape, seeds, representation_width: 0, weights: Weights::new(seeds) };
        // Recording over a graph without nodes declares every weight.
        model.representation_width = model.record(&View::empty(shape.num_features)).width;
        Ok(model)
    }

    /// The numbers behind the model.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The root of the model's randomness.
    pub fn seeds(&self) -> Seeds {
        self.seeds
    }

    /// The row of the catalog.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// The number of columns of `H`.
    pub fn representation_width(&self) -> usize {
        self.representation_width
    }

    /// Learns what is learnt from the training graph alone, before training. `progress` is told how much of it is done.
    pub fn pretrain(&mut self, view: &View, progress: &mut dyn FnMut(usize, usize)) {
        let mut tape = Tape::default();
        for branch in self.architecture.branches.clone() {
            branch.encoder.pretrain(&mut self.scope(&mut tape, view, branch.prefix()), progress);
        }
    }

    /// Writes the framework equation down for one graph.
    pub fn record(&mut self, view: &View) -> Recording {
        let fits = view.features.cols() == self.shape.num_features || !self.architecture.uses(Source::Features);
        assert!(fits, "features of the width the model was built for");
        let mut tape = Tape::default();
        let mut branches = Vec::new();
        for branch in self.architecture.branches.clone() {
            let pieces = branch.sources.iter().map(|&source| (source.name(), self.piece(source, view, &mut tape)));
            let input = Input::new(pieces.collect());
            let last = self.architecture.head == Head::Identity;
            let mut scope = self.scope(&mut tape, view, branch.prefix());
            if !last {
                // Layers behind it make of it what is asked.
                (scope.width, scope.classifies) = (scope.hidden, false);
            }
            let (mut x, width) = branch.encoder.encode(&mut scope, input);
            if branch.l2_normalize {
                x = tape.push(NormalizeRows::default(), &[x]);
            }
            branches.push((x, width));
        }
        let head = self.architecture.head;
        let (output, width) = head.record(&mut self.scope(&mut tape, view, "head".into()), &branches);
        Recording { tape, output, width, graph: view.graph, is_restricted: false }
    }

    /// Where the last layer of the model, or one on the way to it, is recorded.
    fn scope<'a>(&'a mut self, tape: &'a mut Tape, view: &'a View, prefix: String) -> Scope<'a> {
        let shape = self.shape;
        Scope {
            tape,
            weights: &mut self.weights,
            operator: &view.operator,
            addresses: view.addresses.clone(),
            prefix,
            hops: shape.hops,
            hop_storage: shape.hop_storage,
            hidden: shape.width,
            width: shape.num_classes.unwrap_or(shape.width),
            classifies: shape.num_classes.is_some(),
            dropout: shape.dropout,
            dim: shape.signal_dim,
            num_ids: shape.num_ids,
            walks: shape.walks,
            seeds: self.seeds,
        }
    }

    /// What a source has to say of the nodes of a graph.
    fn piece(&self, source: Source, view: &View, tape: &mut Tape) -> Piece {
        let shape = self.shape;
        match source {
            Source::Features => match &view.features {
                Features::Constant(rows) => Piece::Dense(tape.constant(Matrix::ones(*rows, 1)), 1),
                Features::Dense(matrix) => Piece::Dense(tape.constant(matrix.as_ref().clone()), matrix.cols()),
                Features::Sparse(matrix) => Piece::Sparse(matrix.clone(), None),
            },
            Source::Signal => {
                let signal = Stochastic {
                    signal: shape.signal,
                    dim: shape.signal_dim,
                    scale: shape.signal_scale,
                    refresh: shape.refresh,
                    nodes: view.addresses.clone(),
                };
                Piece::Dense(tape.push(signal, &[]), shape.signal_dim)
            }
            Source::Eigenvectors => {
                let vectors = eigenvectors(view, shape.signal_dim, self.seeds);
                Piece::Dense(tape.constant(vectors), shape.signal_dim)
            }
            Source::OneHot => Piece::OneHot(view.addresses.clone(), shape.num_ids),
        }
    }

    /// `H` over one graph, as it is used after training: nothing is dropped, and a resampled `E` comes from `draw`.
    pub fn represent(&mut self, view: &View, draw: u64) -> Matrix {
        let mut recording = self.record(view);
        recording.evaluate(self, draw);
        recording.tape.value(recording.output).clone()
    }
}

impl Branch {
    /// Its sources by name, in front of the names of its weights.
    fn prefix(&self) -> String {
        self.sources.iter().map(|source| source.name()).collect::<Vec<_>>().join("+")
    }
}

/// The leading eigenvectors of the visible graph, each times its eigenvalue: unit vectors fade beside the features as a graph
/// grows. Signs, and bases where eigenvalues coincide, go with the addresses of the nodes and not with their places.
fn eigenvectors(view: &View, count: usize, seeds: Seeds) -> Matrix {
    let order = order_by(&view.addresses);
    let graph = view.graph().permute(&order).expect("an order of the nodes");
    let leading = eigen::leading(&graph, count, eigen::Leading::Magnitude, seeds);
    let mut places = vec![0; order.len()];
    (0..).zip(&order).for_each(|(place, &node)| places[node as usize] = place);
    let mut vectors = leading.vectors.permute_rows(&places);
    for row in vectors.data_mut().chunks_mut(count.max(1)) {
        row.iter_mut().zip(&leading.values).for_each(|(entry, &value)| *entry *= value as f32);
    }
    vectors
}

impl Recording {
    fn pass(&self, model: &Model, training: bool, draw: u64) -> Pass {
        Pass { training, seeds: model.seeds, graph: self.graph, draw }
    }

    /// Whether `H` can be computed for some nodes alone: message passing comes before all that is learnt.
    pub fn can_restrict(&self) -> bool {
        self.tape.can_restrict()
    }

    /// From now on `H` has these nodes for rows, in this order; or all nodes again.
    pub fn restrict(&mut self, model: &Model, nodes: Option<&[u32]>) {
        if nodes.is_some() || self.is_restricted {
            let pass = self.pass(model, true, 0);
            self.tape.restrict(nodes, &model.weights, &pass);
            self.is_restricted = nodes.is_some();
        }
    }

    /// Computes `H` for a training step, with dropout.
    pub fn train(&mut self, model: &Model, draw: u64) -> Pass {
        let pass = self.pass(model, true, draw);
        self.tape.forward(&model.weights, &pass);
        pass
    }

    /// Computes `H` as it is used after training.
    pub fn evaluate(&mut self, model: &Model, draw: u64) -> &Matrix {
        let pass = self.pass(model, false, draw);
        self.tape.forward(&model.weights, &pass);
        self.tape.value(self.output)
    }

    /// `H` of the last pass, and where its gradient belongs.
    pub fn representation_and_gradient(&mut self) -> (&Matrix, &mut Matrix) {
        self.tape.output_and_gradient(self.output)
    }

    /// Carries the gradient of `H` to the weights.
    pub fn backward(&mut self, model: &mut Model) {
        self.tape.backward(self.output, &mut model.weights);
    }
}
