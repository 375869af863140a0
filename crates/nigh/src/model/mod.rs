//! 4. The framework equation: `H = F_output([F_GNN(A, E), F_GNN'(A, F)])`. A model is branches and a head.

pub mod catalog;
pub mod decoder;
mod head;
mod view;

pub use decoder::Decoder;
pub use head::Head;
pub use view::View;

use crate::dataset::Features;
use crate::encoder::{Encoder, Input, Scope};
use crate::error::{Error, Result};
use crate::kernel::Matrix;
use crate::kernel::normalize::NormalizeRows;
use crate::seeds::Seeds;
use crate::source::{Refresh, Signal, SignalScale, Source, Stochastic};
use crate::tape::{Pass, Tape, Var, Weights};
use std::sync::Arc;

/// One branch: a source and the message passing it goes through.
#[derive(Debug, Clone)]
pub struct Branch {
    /// What enters.
    pub source: Source,
    /// What it goes through.
    pub encoder: Arc<dyn Encoder>,
    /// Whether rows are scaled to length one before they stand beside the other branch.
    pub unit_rows: bool,
}

/// A row of the catalog: branches side by side and what is made of them.
#[derive(Debug, Clone)]
pub struct Architecture {
    /// In the order in which they stand side by side.
    pub branches: Vec<Branch>,
    /// `F_output`.
    pub head: Head,
}

impl Architecture {
    /// Whether the last layer can be made as wide as there are classes.
    pub fn can_classify(&self) -> bool {
        self.head != Head::Identity || self.branches.len() == 1
    }

    /// Whether the stochastic matrix takes part.
    pub fn uses_signal(&self) -> bool {
        self.branches.iter().any(|branch| branch.source == Source::Signal)
    }
}

/// The numbers that turn an architecture into a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// `d0`, the width of `F`.
    pub num_features: usize,
    /// The number of classes, when nodes are classified.
    pub num_classes: Option<usize>,
    /// `K`: propagation steps, or layers.
    pub hops: usize,
    /// Width of hidden layers and of the representation.
    pub width: usize,
    /// Share of entries dropped between layers.
    pub dropout: f32,
    /// Distribution of `E`.
    pub signal: Signal,
    /// `d`, the width of `E`.
    pub signal_dim: usize,
    /// Scale of `E`.
    pub signal_scale: SignalScale,
    /// Whether `E` stays.
    pub refresh: Refresh,
}

/// An architecture with its weights.
#[derive(Debug, Clone)]
pub struct Model {
    architecture: Architecture,
    shape: Shape,
    seeds: Seeds,
    /// Everything that training changes.
    pub weights: Weights,
}

/// A model recorded over one graph, ready to be run again and again.
#[derive(Debug)]
pub struct Recording {
    tape: Tape,
    output: Var,
    graph: u64,
}

impl Model {
    /// A model at its random start, which follows from `seeds`.
    pub fn build(architecture: Architecture, shape: Shape, seeds: Seeds) -> Result<Model> {
        if shape.num_classes.is_some() && !architecture.can_classify() {
            return Err(Error::Data(
                "this model has no layer that could be as wide as the number of classes; \
                 take smp-linear for node classification"
                    .into(),
            ));
        }
        let mut model = Model { architecture, shape, seeds, weights: Weights::new(seeds) };
        // Recording over a graph without nodes declares every weight.
        model.record(&View::empty(shape.num_features));
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
        if self.architecture.can_classify() {
            return self.shape.num_classes.unwrap_or(self.shape.width);
        }
        let width = |branch: &Branch| {
            let input = match branch.source {
                Source::Features => self.shape.num_features,
                Source::Signal => self.shape.signal_dim,
            };
            branch.encoder.output_width(input, self.shape.width)
        };
        self.architecture.branches.iter().map(width).sum()
    }

    /// Writes the framework equation down for one graph.
    pub fn record(&mut self, view: &View) -> Recording {
        assert_eq!(view.features.cols(), self.shape.num_features, "features of the width the model was built for");
        let shape = self.shape;
        let mut tape = Tape::default();
        let output_width = shape.num_classes.unwrap_or(shape.width);
        let mut branches = Vec::new();
        for branch in &self.architecture.branches {
            let input = match branch.source {
                Source::Features => feature_input(&view.features, &mut tape),
                Source::Signal => {
                    let signal = Stochastic {
                        signal: shape.signal,
                        dim: shape.signal_dim,
                        scale: shape.signal_scale,
                        refresh: shape.refresh,
                        nodes: view.signal_rows.clone(),
                    };
                    Input::Dense(tape.push(signal, &[]), shape.signal_dim)
                }
            };
            let input_width = input.cols();
            // Without a layer behind it, the last layer of the branch is the last of the model.
            let width = if self.architecture.head == Head::Identity { output_width } else { shape.width };
            let mut scope = Scope {
                tape: &mut tape,
                weights: &mut self.weights,
                operator: &view.operator,
                prefix: branch.source.name(),
                hops: shape.hops,
                hidden: shape.width,
                width,
                dropout: shape.dropout,
            };
            let mut x = branch.encoder.encode(&mut scope, input);
            if branch.unit_rows {
                x = tape.push(NormalizeRows, &[x]);
            }
            branches.push((x, branch.encoder.output_width(input_width, width)));
        }
        let head = self.architecture.head;
        let output = head.record(&mut tape, &mut self.weights, &branches, shape.width, output_width, shape.dropout);
        Recording { tape, output, graph: view.graph }
    }

    /// `H` over one graph, as it is used after training: nothing is dropped, and a resampled `E` comes from `draw`.
    pub fn represent(&mut self, view: &View, draw: u64) -> Matrix {
        let mut recording = self.record(view);
        recording.evaluate(self, draw);
        recording.tape.value(recording.output).clone()
    }
}

/// What enters a branch over the features.
fn feature_input(features: &Features, tape: &mut Tape) -> Input {
    match features {
        Features::Constant(rows) => Input::Dense(tape.constant(Matrix::ones(*rows, 1)), 1),
        Features::Dense(matrix) => Input::Dense(tape.constant(matrix.as_ref().clone()), matrix.cols()),
        Features::Sparse(matrix) => Input::Sparse(matrix.clone()),
    }
}

impl Recording {
    fn pass(&self, model: &Model, training: bool, draw: u64) -> Pass {
        Pass { training, seeds: model.seeds, graph: self.graph, draw }
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
