//! 4. The framework equation: `H = F_output([F_GNN(A, E), F_GNN'(A, F)])`.
//!
//! A model is branches and a head. A family of models is a file or folder here, and nothing elsewhere depends on the name or the
//! kind of a model.

mod architecture;
mod branches;
pub mod catalog;
pub(crate) mod decoder;
pub mod encoder;
mod factorization;
pub(crate) mod gated;
mod gnn;
mod head;
mod heuristics;
pub(crate) mod node2vec;
pub(crate) mod preset;
pub(crate) mod proximity;
mod recording;
mod separation;
mod shape;
mod smp;
mod view;

pub use architecture::{Architecture, Branch};
pub use decoder::Decoder;
pub(crate) use decoder::Scoring;
pub(crate) use gated::gate::KnownClasses;
pub use head::Head;
pub use heuristics::Heuristic;
pub use proximity::{PairSource, Without};
use recording::record;
pub(crate) use recording::{Ask, Recording};
pub(crate) use separation::{Separation, runs_in_memory, why_in_memory};
pub use shape::Dimensions;
pub(crate) use shape::{Answer, Shape};
pub use view::View;

use crate::dataset::Features;
use crate::error::{Error, Result};
use crate::graph::{Graph, Operator};
use crate::linalg::Matrix;
use crate::ops::signal::signal_stream;
use crate::propagation::{Footprint, PanelSource, Propagation};
use crate::seeds::Seeds;
use crate::source::Source;
use crate::source::structure::structure_rows;
use crate::tape::{Pass, WeightAccess, Weights};
use encoder::{Pretraining, standardization};
use gated::gate;
use proximity::pair_head::PairHead;
use proximity::{pair_scalars, projection, vectors};
use std::sync::Arc;

/// An architecture with its weights. Using it changes nothing, so one model serves many threads.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    architecture: Architecture,
    shape: Shape,
    seeds: Seeds,
    representation_width: usize,
    /// Everything that is learnt.
    pub weights: Weights,
}

/// The class of each training node plus one, by address, and zero for all others; or a column per class, of zeros and ones, where nodes may have several.
const KNOWN_LABELS: &str = "labels/known";

impl Model {
    /// A model at its random start, which follows from `seeds`.
    pub fn build(architecture: Architecture, shape: Shape, seeds: Seeds) -> Result<Model> {
        let model = Model::build_within(architecture, shape, seeds, usize::MAX)?;
        Ok(model.expect("no model has as many numbers"))
    }

    /// As `build`, or `None` if the model has more than this many numbers, for which no memory is then allocated.
    pub(crate) fn build_within(
        architecture: Architecture,
        shape: Shape,
        seeds: Seeds,
        most: usize,
    ) -> Result<Option<Model>> {
        let view = View::empty(shape.num_features);
        let Declared { weights, recording, .. } = declared(&architecture, &shape, seeds, most, &view)?;
        let (fits, representation_width) = (weights.fits(), recording.output.width());
        Ok(fits.then_some(Model { architecture, shape, seeds, representation_width, weights }))
    }

    /// How many numbers a model has, for which no memory is allocated.
    pub(crate) fn num_numbers(architecture: &Architecture, shape: &Shape) -> Result<usize> {
        let view = View::empty(shape.num_features);
        Ok(declared(architecture, shape, Seeds::new(0), 0, &view)?.weights.num_declared())
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

    /// Learns frozen weights from the training graph alone, before training; those of pairs follow from the training pairs. `progress` is called with the number of steps
    /// done and their total.
    pub fn pretrain(&mut self, view: &View, progress: &mut dyn FnMut(usize, usize)) {
        let (addresses, num_ids, seeds) = (&view.addresses, self.shape.num_ids, self.seeds);
        let pretraining = Pretraining { graph: view.graph(), features: &view.features, addresses, num_ids, seeds };
        for branch in &self.architecture.branches {
            for (name, value) in branch.encoder.pretrain(&pretraining, progress) {
                let name = format!("{}/{name}", branch.prefix());
                self.weights.named(&name).expect("a weight that the encoder declared").value = value;
            }
        }
        self.learn_projection(&view.features);
        if self.architecture.uses(Source::Structure) {
            let rows = Features::Dense(structure_rows(view.graph()).into());
            for (name, value) in standardization(&rows) {
                let weight = self.weights.named(&format!("structure/{name}"));
                weight.expect("declared with the source").value = value;
            }
        }
    }

    /// Learns the classes of training nodes, which are known by their addresses, for the label source.
    pub(crate) fn learn_labels(&mut self, labelled: impl Iterator<Item = (u32, u32)>) {
        if let Some(known) = self.weights.named(KNOWN_LABELS) {
            known.value.data_mut().fill(0.0);
            labelled.for_each(|(address, class)| known.value.data_mut()[address as usize] = 1.0 + class as f32);
        }
    }

    /// As `learn_labels`, where nodes may have several classes.
    pub(crate) fn learn_label_sets<'a>(&mut self, labelled: impl Iterator<Item = (u32, &'a [u32])>) {
        if let Some(known) = self.weights.named(KNOWN_LABELS) {
            known.value.data_mut().fill(0.0);
            for (address, set) in labelled {
                set.iter().for_each(|&class| known.value.row_mut(address as usize)[class as usize] = 1.0);
            }
        }
    }

    /// The vectors of all nodes by a gated model: what its branches know before they give class scores. Rows of a branch are scaled to length one
    /// and then by the root of its weight, so that the cosine of two vectors is the weighted mean of the cosines of branches; those
    /// without weight are left out.
    pub(crate) fn gated_vectors(&self, view: &View, draw: u64) -> Matrix {
        let mut recording = self.record(view);
        recording.evaluate(self, draw);
        let weights = gate::in_use(self.weights.get(gate::GATE).expect("a gated model").value.data());
        let blocks = recording.branches.iter().zip(weights).filter(|(_, weight)| *weight > 0.0);
        let blocks = blocks.map(|(&branch, weight)| (weight.sqrt(), vectors::unit_rows(recording.tape.value(branch))));
        vectors::side_by_side(&blocks.collect::<Vec<_>>(), view.graph().num_nodes())
    }

    /// How many classes it tells apart.
    pub(crate) fn num_classes(&self) -> usize {
        self.shape.num_classes().unwrap_or(0)
    }

    /// How many branches give class scores of their own, if any do.
    pub(crate) fn gated_branches(&self) -> Option<usize> {
        self.weights.get(gate::GATE).map(|gate| gate.value.cols())
    }

    /// Fits the weights of the branches to nodes whose classes are known: a row of the branches' scores per node. Returns the mean
    /// log-likelihood of the classes, if there are such branches.
    pub(crate) fn fit_gate(&mut self, scores: &Matrix, labels: KnownClasses) -> Option<f64> {
        let branches = self.gated_branches()?;
        // What gives scores of itself has next to nothing to learn.
        let simplest = self.architecture.branches.iter().position(|branch| branch.encoder.gives_scores());
        let (weights, likelihood) = gate::fit(scores, labels, branches, simplest);
        self.weights.named(gate::GATE).expect("it was found").value = Matrix::from_data(1, branches, weights);
        Some(likelihood)
    }

    /// What features of a graph are multiplied by before message passing, if they are.
    pub(crate) fn maps_first(&self, graph: &Graph, features: &Features) -> Option<&Matrix> {
        let name = self.architecture.maps_first(graph, features)?;
        self.weights.get(&name).map(|weight| &weight.value)
    }

    /// `F` of a graph, or `F W`, to be propagated in panels.
    pub(crate) fn feature_source(&self, graph: &Graph, features: &Features) -> PanelSource {
        match (features, self.maps_first(graph, features)) {
            (Features::Constant(_), _) => PanelSource::Ones,
            (Features::Dense(matrix), _) => PanelSource::Dense(matrix.clone()),
            (Features::Sparse(matrix), None) => PanelSource::Sparse(matrix.clone()),
            (Features::Sparse(matrix), Some(weight)) => PanelSource::Product(matrix.clone(), weight.clone().into()),
        }
    }

    /// `Ã^K E` of a graph, if all message passing of the model is that and `Ã^K F`. Node `i` is known as `addresses[i]`.
    pub(crate) fn signal_propagation(
        &self,
        graph: Arc<Graph>,
        addresses: Option<Arc<[u32]>>,
        draw: u64,
    ) -> Option<Propagation> {
        let Separation::Rows { hops, storage } = self.architecture.separation() else { return None };
        let (operator, source) = (Operator::symmetric(graph), self.signal_source(draw));
        Some(Propagation { operator, hops, storage, source, addresses })
    }

    /// `E` of a pass after training, to be propagated in panels.
    fn signal_source(&self, draw: u64) -> PanelSource {
        let Shape { signal, signal_dim: dim, signal_scale, refresh, .. } = self.shape;
        let pass = Pass { training: false, seeds: self.seeds, graph: 0, draw };
        PanelSource::Signal { signal, stream: signal_stream(refresh, &pass), dim, factor: signal_scale.factor(dim) }
    }

    /// How many numbers are known of a pair.
    pub(crate) fn num_pair_scalars(&self) -> usize {
        num_pair_scalars(&self.architecture, &self.shape)
    }

    /// Records the framework equation over one graph.
    pub fn record(&self, view: &View) -> Recording {
        let fits = view.features.cols() == self.shape.num_features
            || view.convolved_features.is_some()
            || !self.architecture.uses(Source::Features);
        assert!(fits, "features of the width the model was built for");
        record(&self.architecture, &self.shape, self.seeds, WeightAccess::LookUp(&self.weights), view, Ask::Everything)
    }

    /// Records some branches of a gated model on their own; none if there are none of the kind.
    pub(crate) fn record_branches(&self, view: &View, ask: Ask<'_>) -> Option<Recording> {
        let taken = self.architecture.branches.iter().filter(|branch| ask.takes(branch)).count();
        let weights = WeightAccess::LookUp(&self.weights);
        (taken > 0).then(|| record(&self.architecture, &self.shape, self.seeds, weights, view, ask))
    }

    /// `H` over one graph, as it is used after training: nothing is dropped, and a resampled `E` comes from `draw`.
    pub fn represent(&self, view: &View, draw: u64) -> Matrix {
        let mut recording = self.record(view);
        recording.evaluate_all(self, draw);
        recording.into_representation(self)
    }
}

impl Architecture {
    /// What a model of this shape holds for every node, and in its weights. No memory is allocated for them.
    pub(crate) fn footprint(&self, shape: &Shape) -> Result<Footprint> {
        let view = View::of_steps(shape.num_features);
        let Declared { mut weights, recording, head } = declared(self, shape, Seeds::new(0), 0, &view)?;
        let features = if self.uses(Source::Features) { shape.num_features } else { 0 };
        let numbers = weights.num_declared();
        let mut branches = |ask: Ask<'_>| {
            let is_taken = self.head == Head::Gated && self.branches.iter().any(|branch| ask.takes(branch));
            let access = WeightAccess::Declare(&mut weights);
            if is_taken {
                record(self, shape, Seeds::new(0), access, &view, ask).footprint()
            } else {
                Default::default()
            }
        };
        let [agreement, classes] = [Ask::Agreement, Ask::Classes(&[])].map(&mut branches);
        let head = head.map_or([0; 2], |head| head.footprint());
        let recorded = Footprint { features, numbers, head, ..recording.footprint() };
        if self.head != Head::Gated {
            return Ok(recorded);
        }
        // Its branches are learnt in recordings of their own: two passes agree, whose scores are compared.
        let learnt = |of: Footprint| of.kept + of.values + of.gradients;
        let gradients = learnt(agreement) + 2 * agreement.output + learnt(classes);
        Ok(Footprint { gradients, in_blocks: false, ..recorded })
    }
}

/// The weights of a model, and the steps in which they are used.
struct Declared {
    weights: Weights,
    recording: Recording,
    /// Of pairs, if scores are learnt.
    head: Option<PairHead>,
}

/// With memory for at most so many numbers.
fn declared(architecture: &Architecture, shape: &Shape, seeds: Seeds, most: usize, view: &View) -> Result<Declared> {
    if shape.num_classes().is_some() && !architecture.can_classify() {
        return Err(Error::CannotClassify);
    }
    let mut weights = Weights::with_room(seeds, most);
    let mut access = WeightAccess::Declare(&mut weights);
    let recording = record(architecture, shape, seeds, access.reborrow(), view, Ask::Everything);
    let width = recording.output.width();
    if shape.num_classes().is_some() && architecture.head == Head::Gated {
        access.frozen(gate::GATE, [1, architecture.branches.len()]);
    }
    let head = match shape.answer {
        Answer::Scores(scoring) => scoring.record(&mut access, width, num_pair_scalars(architecture, shape)),
        Answer::Classes(_) | Answer::Sets(_) => None,
    };
    let num_scalars = num_pair_scalars(architecture, shape);
    pair_scalars::declare(num_scalars, &mut access);
    if architecture.projects_features() {
        projection::declare(shape.num_features, &mut access);
    }
    vectors::declare(&architecture.pair_sources, &mut access);
    Ok(Declared { weights, recording, head })
}

fn num_pair_scalars(architecture: &Architecture, shape: &Shape) -> usize {
    architecture.pair_sources.iter().map(|source| source.width(shape.longest_walk)).sum()
}
