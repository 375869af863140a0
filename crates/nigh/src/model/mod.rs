//! 4. The framework equation: `H = F_output([F_GNN(A, E), F_GNN'(A, F)])`. A model is branches and a head.

pub mod catalog;
pub(crate) mod decoder;
mod expected_pairs;
pub(crate) mod gate;
pub(crate) use gate::KnownClasses;
mod head;
mod heuristic;
mod pair_head;
mod pair_scalars;
mod projection;
mod vectors;
mod view;
mod without;

pub use decoder::Decoder;
pub(crate) use decoder::Scoring;
use head::EncodedBranch;
pub use head::Head;
pub use heuristic::Heuristic;
pub use pair_scalars::PairSource;
pub use view::View;
pub use without::Without;

use crate::dataset::{Dataset, Features};
use crate::encoder::{Encoder, Input, Piece, Pretraining, Scope, standardization, standardize};
use crate::error::{Error, Result};
use crate::graph::{Graph, Operator, eigen, order_by};
use crate::label_sets::LabelSets;
use crate::linalg::Matrix;
use crate::linalg::half::Storage;
use crate::ops::normalize::NormalizeRows;
use crate::ops::signal::{Stochastic, signal_stream};
use crate::propagation::Proximities;
use crate::propagation::{PanelSource, Propagation};
use crate::seeds::{Purpose, Seeds};
use crate::source::labels::{LabelKind, label_rows};
use crate::source::structure::{STRUCTURE_WIDTH, structure_rows};
use crate::source::{Refresh, Signal, SignalScale, Source};
use crate::tape::{Pass, Tape, Var, WeightAccess, Weights};
use std::sync::Arc;

/// One branch: sources and the message passing they go through.
#[derive(Debug, Clone)]
pub struct Branch {
    /// What enters, side by side.
    pub sources: Vec<Source>,
    /// What it goes through.
    pub encoder: Arc<dyn Encoder>,
    /// Whether rows are scaled to length one before they stand beside those of the other branches.
    pub l2_normalize: bool,
}

/// A row of the catalog: branches side by side and the head over them.
#[derive(Debug, Clone)]
pub struct Architecture {
    /// In the order in which they stand side by side; none for a heuristic.
    pub branches: Vec<Branch>,
    /// `F_output`.
    pub head: Head,
    /// What scores pairs in the place of representations.
    pub heuristic: Option<Heuristic>,
    /// What is known of a pair before anything is learnt, under the decoder `proximity`.
    pub pair_sources: Vec<PairSource>,
}

impl Architecture {
    /// Whether the output can be as wide as there are classes, and carries over to nodes without a label.
    pub fn can_classify(&self) -> bool {
        let as_wide = self.head != Head::Identity || self.branches.len() == 1;
        !self.knows_pairs() && as_wide && self.branches.iter().any(|branch| branch.encoder.generalises())
    }

    /// How rows are stored between hops, if any branch keeps them.
    pub fn hop_storage(&self) -> Option<Storage> {
        self.branches.iter().find_map(|branch| branch.encoder.hop_storage())
    }

    /// Whether a source takes part.
    pub fn uses(&self, source: Source) -> bool {
        let projects = source == Source::Features && self.projects_features();
        projects || self.branches.iter().any(|branch| branch.sources.contains(&source))
    }

    /// Whether features are seen in their leading directions.
    fn projects_features(&self) -> bool {
        self.pair_sources.contains(&PairSource::Similarities)
            || self.branches.iter().any(|branch| branch.sources.contains(&Source::Directions))
    }

    /// Whether all that is learnt belongs to single nodes, so that nothing carries over to another graph.
    pub fn knows_nodes_alone(&self) -> bool {
        !self.branches.is_empty() && self.branches.iter().all(|branch| branch.sources == [Source::OneHot])
    }

    /// Whether training changes anything, in the model or in its decoder.
    pub fn learns(&self, classifies: bool, decoder: Decoder) -> bool {
        self.head != Head::Identity
            || self.branches.iter().any(|branch| branch.encoder.learns(classifies))
            || (!classifies && decoder.learns())
    }

    /// Whether scores of pairs under a decoder are logits: learnt by binary cross-entropy, and of any size.
    pub fn gives_logits(&self, decoder: Decoder) -> bool {
        self.heuristic.is_none() && decoder.is_unbounded() && self.learns(false, decoder)
    }

    /// Whether pairs are scored by what is known of them as well.
    pub fn knows_pairs(&self) -> bool {
        !self.pair_sources.is_empty()
    }

    /// Whether pairs are compared over rows that message passing gives, before anything is learnt, and nothing else needs a graph.
    pub(crate) fn compares_first(&self) -> bool {
        self.knows_pairs()
            && !self.pair_sources.contains(&PairSource::Reconstruction)
            && self.branches.iter().all(|branch| branch.sources == [Source::Directions])
    }

    /// Columns of `X̂ V` in which nodes with so many features are represented; 0 if they are not.
    pub(crate) fn directions_width(&self, num_features: usize) -> usize {
        let is_used = self.branches.iter().any(|branch| branch.sources == [Source::Directions]);
        if is_used { projection::leading_width(num_features) } else { 0 }
    }

    /// `K` and the storage between hops, if all message passing is `Ã^K E` and `Ã^K F`.
    pub(crate) fn propagated_signal(&self) -> Option<(usize, Storage)> {
        let Architecture { branches, head, heuristic, pair_sources } = self;
        let hops: Vec<_> = branches.iter().map(|branch| branch.encoder.hops_first()).collect();
        let sources = branches.iter().all(|branch| matches!(branch.sources[..], [Source::Signal] | [Source::Features]));
        let plain = heuristic.is_none() && pair_sources.is_empty() && *head != Head::Gated;
        let same = hops.windows(2).all(|pair| pair[0] == pair[1]);
        if plain && sources && same && self.uses(Source::Signal) { hops.first().copied().flatten() } else { None }
    }

    /// The name of the weight that features of a graph are multiplied by before message passing, if they are so wide and sparse that
    /// it pays.
    pub(crate) fn maps_first(&self, graph: &Graph, features: &Features) -> Option<String> {
        let Features::Sparse(matrix) = features else { return None };
        let mut of_features = self.branches.iter().filter(|branch| branch.sources == [Source::Features]);
        of_features
            .find_map(|branch| Some(format!("{}/{}", branch.prefix(), branch.encoder.maps_first(graph, matrix)?)))
    }
}

/// What a model answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Answer {
    /// A score for each of this many classes, per node.
    Classes(usize),
    /// A score for each of this many classes, per node, each decided on its own: a node may have several.
    Sets(usize),
    /// A score for a pair of nodes.
    Scores(Scoring),
}

/// The dimensions of the data on which the shape of a model depends.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dimensions {
    /// Features per node, 0 for none.
    pub features: usize,
    /// Classes, 0 for none.
    pub classes: usize,
    /// Whether a node may have several.
    pub multi_label: bool,
    /// Nodes of the largest graph.
    pub nodes: usize,
    /// Edges of all graphs.
    pub edges: usize,
}

impl Dimensions {
    /// Those of a dataset.
    pub fn of(dataset: &Dataset) -> Dimensions {
        let nodes = dataset.samples.iter().map(|sample| sample.graph.num_nodes()).max();
        Dimensions {
            features: dataset.samples.first().map_or(0, |sample| sample.features.count()),
            classes: dataset.class_names.len(),
            multi_label: dataset.is_multi_label(),
            nodes: nodes.unwrap_or(0),
            edges: dataset.num_edges(),
        }
    }
}

/// What turns an architecture into a model: its widths, its signal and what it answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Shape {
    /// `d0`, the width of `F`.
    pub num_features: usize,
    /// How many nodes can be known by their ids: those of the largest graph.
    pub num_ids: usize,
    /// Width of the representation.
    pub width: usize,
    /// Distribution of `E`.
    pub signal: Signal,
    /// `d`, the width of `E`, or of what takes its place.
    pub signal_dim: usize,
    /// Scale of `E`.
    pub signal_scale: SignalScale,
    /// Whether `E` stays the same.
    pub refresh: Refresh,
    /// How walk proximities are computed.
    pub proximities: Proximities,
    /// The length of the longest walks between pairs.
    pub longest_walk: usize,
    /// Classes or scores.
    pub answer: Answer,
}

impl Default for Shape {
    /// The paper's, for links in a graph without features.
    fn default() -> Shape {
        Shape {
            num_features: 1,
            num_ids: 0,
            width: 32,
            signal: Signal::Gaussian,
            signal_dim: 32,
            signal_scale: SignalScale::InverseSqrt,
            refresh: Refresh::Fixed,
            proximities: Proximities::Exact,
            longest_walk: 6,
            answer: Answer::Scores(Scoring { decoder: Decoder::Cosine, hidden: 32, dropout: 0.5 }),
        }
    }
}

impl Shape {
    fn label_kind(&self) -> LabelKind {
        match self.answer {
            Answer::Sets(_) => LabelKind::Several,
            Answer::Classes(_) | Answer::Scores(_) => LabelKind::One,
        }
    }

    fn num_classes(&self) -> Option<usize> {
        match self.answer {
            Answer::Classes(classes) | Answer::Sets(classes) => Some(classes),
            Answer::Scores(_) => None,
        }
    }
}

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

/// A model recorded over one graph, to be run many times.
#[derive(Debug)]
pub(crate) struct Recording {
    tape: Tape,
    /// `H`; under a gated head, the class scores of all branches side by side.
    output: Var,
    /// The branches before the head.
    branches: Vec<Var>,
    /// What a gated head makes of its branches.
    gated: Matrix,
    graph: u64,
    num_nodes: usize,
    is_restricted: bool,
    /// Whether a training step represented all nodes.
    trained_whole: bool,
    /// `H` of all nodes, if they were evaluated block by block.
    in_blocks: Option<Matrix>,
}

/// Nodes that are represented at a time where nothing holds the representations of all of them anyway.
const EVALUATED_AT_A_TIME: usize = 1 << 16;

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
        let (weights, width) = declared(&architecture, &shape, seeds, most)?;
        let fits = weights.fits();
        Ok(fits.then_some(Model { architecture, shape, seeds, representation_width: width, weights }))
    }

    /// How many numbers a model has, for which no memory is allocated.
    pub(crate) fn num_numbers(architecture: &Architecture, shape: &Shape) -> Result<usize> {
        Ok(declared(architecture, shape, Seeds::new(0), 0)?.0.num_declared())
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
        let (hops, storage) = self.architecture.propagated_signal()?;
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

    /// Columns of everything that is in memory while `H` of this many nodes with such features is computed.
    pub(crate) fn recorded_width(&self, features: &Features, num_nodes: usize) -> usize {
        let recording = self.record(&View::empty(self.shape.num_features));
        let in_blocks = recording.represents_in_blocks(num_nodes) && self.gated_branches().is_none();
        // Here features are dense.
        let is_sparse = matches!(features, Features::Sparse(_)) && self.architecture.uses(Source::Features);
        let left_out = if is_sparse { self.shape.num_features } else { 0 };
        (recording.tape.total_width(in_blocks) + recording.output.width()).saturating_sub(left_out)
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

/// The weights of a model, with memory for at most so many numbers, and the width of its representations.
fn declared(architecture: &Architecture, shape: &Shape, seeds: Seeds, most: usize) -> Result<(Weights, usize)> {
    if shape.num_classes().is_some() && !architecture.can_classify() {
        return Err(Error::CannotClassify);
    }
    let mut weights = Weights::with_room(seeds, most);
    let mut access = WeightAccess::Declare(&mut weights);
    let view = View::empty(shape.num_features);
    let recording = record(architecture, shape, seeds, access.reborrow(), &view, Ask::Everything);
    let width = recording.output.width();
    if shape.num_classes().is_some() && architecture.head == Head::Gated {
        access.frozen(gate::GATE, [1, architecture.branches.len()]);
    }
    if let Answer::Scores(scoring) = shape.answer {
        scoring.record(&mut access, width, num_pair_scalars(architecture, shape));
    }
    let num_scalars = num_pair_scalars(architecture, shape);
    pair_scalars::declare(num_scalars, &mut access);
    if architecture.projects_features() {
        projection::declare(shape.num_features, &mut access);
    }
    vectors::declare(&architecture.pair_sources, &mut access);
    Ok((weights, width))
}

/// What a recording answers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ask<'a> {
    /// All branches, for all nodes.
    Everything,
    /// The branches whose passes are asked to agree, for all nodes.
    Agreement,
    /// All other branches, for these nodes alone.
    Classes(&'a [u32]),
}

impl Ask<'_> {
    fn takes(self, branch: &Branch) -> bool {
        match self {
            Ask::Everything => true,
            Ask::Agreement => branch.encoder.seeks_agreement(),
            Ask::Classes(_) => !branch.encoder.seeks_agreement(),
        }
    }
}

fn num_pair_scalars(architecture: &Architecture, shape: &Shape) -> usize {
    architecture.pair_sources.iter().map(|source| source.width(shape.longest_walk)).sum()
}

/// The framework equation over one graph. Weights are declared or looked up.
fn record(
    architecture: &Architecture,
    shape: &Shape,
    seeds: Seeds,
    mut weights: WeightAccess<'_>,
    view: &View,
    ask: Ask<'_>,
) -> Recording {
    let mut tape = Tape::default();
    let mut branches = Vec::new();
    let mut known: Vec<(Source, Piece)> = Vec::new();
    let is_last = architecture.head == Head::Identity;
    for (number, branch) in (1..).zip(&architecture.branches).filter(|(_, branch)| ask.takes(branch)) {
        let mut pieces = Vec::new();
        for &source in &branch.sources {
            // There are no labels to learn from where pairs are scored.
            if source == Source::Labels && shape.num_classes().is_none() {
                continue;
            }
            let piece = match known.iter().find(|(other, _)| *other == source) {
                Some((_, piece)) => piece.clone(),
                None => piece(source, shape, seeds, view, &mut tape, &mut weights),
            };
            known.push((source, piece.clone()));
            pieces.push((source.name(), piece));
        }
        if pieces.is_empty() {
            continue;
        }
        let mut scope = scope(shape, &mut tape, weights.reborrow(), view, branch.prefix());
        if let Ask::Classes(nodes) = ask {
            scope.asked = Some(nodes.into());
        }
        if !is_last {
            // The head behind it gives the answer.
            (scope.width, scope.classifies) = (shape.width, false);
        }
        let x = branch.encoder.encode(&mut scope, Input::new(pieces));
        let mut x = scope.only_asked(x);
        if branch.l2_normalize {
            x = tape.push(NormalizeRows::default(), &[x]);
        }
        branches.push(EncodedBranch { x, number, is_scores: branch.encoder.gives_scores() });
    }
    let mut scope = scope(shape, &mut tape, weights, view, "head".into());
    let output = architecture.head.record(&mut scope, &branches);
    let branches = branches.iter().map(|branch| branch.x).collect();
    Recording {
        tape,
        output,
        branches,
        gated: Matrix::default(),
        graph: view.graph,
        num_nodes: view.graph().num_nodes(),
        is_restricted: false,
        trained_whole: false,
        in_blocks: None,
    }
}

/// Where the answer of the model is recorded.
fn scope<'a>(
    shape: &Shape,
    tape: &'a mut Tape,
    weights: WeightAccess<'a>,
    view: &'a View,
    prefix: String,
) -> Scope<'a> {
    Scope {
        tape,
        weights,
        operator: &view.operator,
        addresses: view.addresses.clone(),
        prefix,
        width: shape.num_classes().unwrap_or(shape.width),
        classifies: shape.num_classes().is_some(),
        num_ids: shape.num_ids,
        panel: view.execution.columns(),
        asked: None,
    }
}

/// What a source says about the nodes of a graph.
fn piece(
    source: Source,
    shape: &Shape,
    seeds: Seeds,
    view: &View,
    tape: &mut Tape,
    weights: &mut WeightAccess<'_>,
) -> Piece {
    match source {
        Source::Features if view.convolved_features.is_some() => {
            let rows = view.convolved_features.as_ref().expect("it is there");
            Piece::Convolved(tape.constant(rows.as_ref().clone()))
        }
        Source::Features => match &view.features {
            Features::Constant(rows) => Piece::Dense(tape.constant(Matrix::ones(*rows, 1))),
            Features::Dense(matrix) => Piece::Dense(tape.constant(matrix.as_ref().clone())),
            Features::Sparse(matrix) => Piece::Sparse(matrix.clone(), None),
        },
        Source::Signal if view.propagated_signal.is_some() => {
            let rows = view.propagated_signal.as_ref().expect("it is there");
            Piece::Dense(tape.constant(rows.as_ref().clone()))
        }
        Source::Signal => {
            let signal = Stochastic {
                signal: shape.signal,
                dim: shape.signal_dim,
                scale: shape.signal_scale,
                refresh: shape.refresh,
                nodes: view.addresses.clone(),
            };
            Piece::Dense(tape.push(signal, &[]))
        }
        Source::Eigenvectors => {
            let vectors = eigenvectors(view, shape.signal_dim, seeds);
            Piece::Dense(tape.constant(vectors))
        }
        Source::OneHot => Piece::OneHot(view.addresses.clone(), shape.num_ids),
        Source::Labels => {
            let classes = shape.num_classes().expect("labels are of classes");
            let kind = shape.label_kind();
            let labels: LabelSets = match kind {
                LabelKind::One => {
                    let known = weights.frozen(KNOWN_LABELS, [shape.num_ids, 1]).data();
                    let label = |&address: &u32| known.get(address as usize).map(|class| class.round() as usize);
                    let label = |address: &u32| label(address).filter(|class| (1..=classes).contains(class));
                    view.addresses.iter().map(|address| label(address).map(|class| class as u32 - 1)).collect()
                }
                LabelKind::Several => {
                    let known = weights.frozen(KNOWN_LABELS, [shape.num_ids, classes]);
                    let row = |&address: &u32| {
                        if (address as usize) < known.rows() { known.row(address as usize) } else { &[] }
                    };
                    let set = |row: &'_ [f32]| (0..).zip(row.to_vec()).filter(|of| of.1 > 0.5).map(|of| of.0);
                    view.addresses.iter().map(|address| set(row(address))).collect()
                }
            };
            let folds = seeds.stream(Purpose::Folds, &[]);
            Piece::Dense(tape.constant(label_rows(&view.operator, &labels, kind, classes, folds, &view.addresses)))
        }
        Source::Directions => {
            Piece::Dense(tape.constant(projection::leading(&view.features, shape.num_features, weights)))
        }
        Source::Structure => {
            let [mean, scale] = ["mean", "scale"]
                .map(|name| weights.frozen(&format!("structure/{name}"), [1, STRUCTURE_WIDTH]).clone());
            let mut rows = structure_rows(view.graph());
            standardize(&mut rows, &mean, &scale);
            Piece::Dense(tape.constant(rows))
        }
    }
}

impl Branch {
    /// Its sources by name, in front of the names of its weights.
    fn prefix(&self) -> String {
        self.sources.iter().map(|source| source.name()).collect::<Vec<_>>().join("+")
    }
}

/// The leading eigenvectors of the visible graph, each times its eigenvalue: unit vectors would fade beside the features as a
/// graph grows. Signs, and bases where eigenvalues coincide, depend on the addresses of the nodes and not on their places.
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
    /// Takes over the storage of another recording of the same model.
    pub fn reuse(&mut self, other: Recording) {
        self.tape.reuse(other.tape);
    }

    /// Takes over the storage of another recording of the same model, which keeps what message passing gave it.
    pub fn borrow_buffers(&mut self, other: &mut Recording) {
        self.tape.borrow_buffers(&mut other.tape);
    }

    /// The memory of what message passing gave it, where that comes first.
    pub fn constant_bytes(&self) -> usize {
        self.tape.constant_bytes()
    }

    fn into_representation(mut self, model: &Model) -> Matrix {
        match (self.in_blocks, model.gated_branches()) {
            (Some(h), _) => h,
            (None, Some(_)) => self.gated,
            (None, None) => std::mem::take(self.tape.value_mut(self.output)),
        }
    }

    fn pass(&self, model: &Model, training: bool, draw: u64) -> Pass {
        Pass { training, seeds: model.seeds, graph: self.graph, draw }
    }

    /// Whether `H` can be computed for some nodes alone: only if message passing precedes all that is learnt.
    pub fn can_restrict(&self) -> bool {
        self.tape.can_restrict()
    }

    /// Whether `H` of this many nodes is computed block by block.
    fn represents_in_blocks(&self, num_nodes: usize) -> bool {
        num_nodes > EVALUATED_AT_A_TIME && !self.trained_whole && self.can_restrict()
    }

    /// Restricts the rows of `H` to these nodes, in this order; `None` for all nodes again.
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
        self.trained_whole |= !self.is_restricted;
        self.tape.forward(&model.weights, &pass);
        pass
    }

    /// As `evaluate`, of all nodes whatever the last step was restricted to. Block by block, if training never held all of
    /// them: of a million nodes with hardly an edge, few are in a step.
    pub fn evaluate_all(&mut self, model: &Model, draw: u64) {
        if !self.represents_in_blocks(self.num_nodes) || model.gated_branches().is_some() {
            self.restrict(model, None);
            self.evaluate(model, draw);
            return;
        }
        let mut h = self.in_blocks.take().unwrap_or_default();
        let nodes: Vec<u32> = (0..self.num_nodes as u32).collect();
        for (nodes, rows) in nodes.chunks(EVALUATED_AT_A_TIME).zip((0..).step_by(EVALUATED_AT_A_TIME)) {
            self.restrict(model, Some(nodes));
            // Not before: the first restriction frees what message passing started from.
            h.reshape(self.num_nodes, self.output.width());
            let block = self.evaluate(model, draw);
            h.data_mut()[rows * block.cols()..][..block.data().len()].copy_from_slice(block.data());
        }
        self.in_blocks = Some(h);
    }

    /// Computes `H` as it is used after training.
    pub fn evaluate(&mut self, model: &Model, draw: u64) -> &Matrix {
        let pass = self.pass(model, false, draw);
        self.in_blocks = None;
        self.tape.forward(&model.weights, &pass);
        self.answer(model)
    }

    /// `H` after the last pass, with the weights of a gated head as they are now.
    pub fn answer(&mut self, model: &Model) -> &Matrix {
        match (&self.in_blocks, model.weights.get(gate::GATE)) {
            (Some(h), _) => h,
            (None, Some(gate)) => {
                let kind = model.shape.label_kind();
                gate::combine(self.tape.value(self.output), gate.value.data(), kind, &mut self.gated);
                &self.gated
            }
            (None, None) => self.tape.value(self.output),
        }
    }

    /// The output of the last pass before a gate weighs it: the class scores of all branches side by side.
    pub(crate) fn scores(&self) -> &Matrix {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::catalog::{self, Hyperparameters};

    #[test]
    fn nodes_represented_block_by_block_have_the_same_rows() {
        let num_nodes = EVALUATED_AT_A_TIME + 500;
        let edges: Vec<[u32; 2]> = (0..700).map(|node| [node, num_nodes as u32 - 1 - node * 7 % 900]).collect();
        let graph = Graph::from_edges(num_nodes, &edges).unwrap().0;
        let view = View::new(graph, Features::Constant(num_nodes)).unwrap();
        for name in ["smp-linear", "sgc"] {
            let architecture = catalog::architecture(name, &Hyperparameters::default()).unwrap();
            let model = Model::build(architecture, Shape::default(), Seeds::new(2)).unwrap();
            let mut whole = model.record(&view);
            let rows = whole.evaluate(&model, 3).clone();
            assert!(whole.can_restrict(), "{name}");
            let mut blocks = model.record(&view);
            blocks.evaluate_all(&model, 3);
            assert!(blocks.in_blocks.is_some() && *blocks.answer(&model) == rows, "{name}");
            assert_eq!(model.represent(&view, 3), rows, "{name}");
            // A step with all nodes, and with two of them in between, changes nothing.
            blocks.restrict(&model, Some(&[7, 5]));
            assert_eq!(blocks.evaluate(&model, 3).row(0), rows.row(7));
            blocks.restrict(&model, None);
            assert_eq!(*blocks.evaluate(&model, 3), rows, "{name}");
        }
    }
}
