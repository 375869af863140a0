//! A model recorded over one graph: the framework equation, step by step.

use super::encoder::{Input, Piece, Scope, standardize};
use super::gated::gate;
use super::head::EncodedBranch;
use super::proximity::projection;
use super::{Architecture, Branch, Head, KNOWN_LABELS, Model, Shape, View};
use crate::dataset::Features;
use crate::graph::{eigen, order_by};
use crate::label_sets::LabelSets;
use crate::linalg::Matrix;
use crate::ops::normalize::NormalizeRows;
use crate::ops::signal::Stochastic;
use crate::propagation::Footprint;
use crate::seeds::{Purpose, Seeds};
use crate::source::Source;
use crate::source::labels::{LabelKind, label_rows};
use crate::source::structure::{STRUCTURE_WIDTH, structure_rows};
use crate::tape::{Pass, Tape, Var, WeightAccess};

/// A model recorded over one graph, to be run many times.
#[derive(Debug)]
pub(crate) struct Recording {
    pub(super) tape: Tape,
    /// `H`; under a gated head, the class scores of all branches side by side.
    pub(super) output: Var,
    /// The branches before the head.
    pub(super) branches: Vec<Var>,
    /// What a gated head makes of its branches.
    gated: Matrix,
    graph: u64,
    num_nodes: usize,
    is_restricted: bool,
    /// The nodes that were selected, if not all are represented.
    selected: Option<Vec<u32>>,
    /// Whether a training step represented all nodes.
    trained_whole: bool,
    /// `H` of all nodes, if they were evaluated block by block.
    in_blocks: Option<Matrix>,
}

/// Nodes that are represented at a time where nothing holds the representations of all of them anyway.
const EVALUATED_AT_A_TIME: usize = 1 << 16;

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
    pub(super) fn takes(self, branch: &Branch) -> bool {
        match self {
            Ask::Everything => true,
            Ask::Agreement => branch.encoder.seeks_agreement(),
            Ask::Classes(_) => !branch.encoder.seeks_agreement(),
        }
    }
}

/// The framework equation over one graph. Weights are declared or looked up.
pub(super) fn record(
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
        let mut x = scope.select_targets(x);
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
        selected: None,
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
        execution: view.execution.clone(),
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

    pub(super) fn into_representation(mut self, model: &Model) -> Matrix {
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

    /// Columns of all that is held for every node.
    pub(super) fn footprint(&self) -> Footprint {
        Footprint { output: self.output.width(), ..self.tape.footprint() }
    }

    /// Restricts the rows of `H` to these nodes, in this order; `None` for all nodes again.
    pub fn restrict(&mut self, model: &Model, nodes: Option<&[u32]>) {
        if nodes.is_some() || self.is_restricted || self.selected.is_some() {
            let pass = self.pass(model, true, 0);
            self.tape.restrict(nodes, &model.weights, &pass);
            (self.is_restricted, self.selected) = (nodes.is_some(), None);
        }
    }

    /// Whether a training step can do without the rows of `H` that have no loss.
    pub fn can_select(&self) -> bool {
        self.tape.can_select()
    }

    /// Restricts the rows of `H` to these nodes, in ascending order. What a step learns from them has the bits that it would have if all nodes were
    /// represented and the others had no loss.
    pub fn select(&mut self, model: &Model, nodes: &[u32]) {
        if self.selected.as_deref() != Some(nodes) {
            let pass = self.pass(model, true, 0);
            self.tape.select(nodes, self.num_nodes, &model.weights, &pass);
            (self.is_restricted, self.selected) = (false, Some(nodes.to_vec()));
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
    use crate::graph::Graph;
    use crate::linalg::SparseMatrix;
    use crate::models::Answer;
    use crate::models::catalog::{self, Hyperparameters};

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

    /// The gradients of the weights where these rows of `H` have a loss.
    fn learnt(model: &mut Model, recording: &mut Recording, rows: &[u32]) -> Vec<Matrix> {
        recording.train(model, 7);
        let (h, gradient) = recording.representation_and_gradient();
        gradient.reshape(h.rows(), h.cols());
        gradient.data_mut().fill(0.0);
        for (at, &row) in rows.iter().enumerate() {
            let entries = gradient.row_mut(row as usize).iter_mut().zip(h.row(row as usize));
            entries.enumerate().for_each(|(c, (g, h))| *g = h * 0.3 + ((at * 5 + c) % 7) as f32 - 2.5);
        }
        model.weights.clear_gradients();
        recording.backward(model);
        model.weights.entries().iter().map(|weight| weight.gradient.clone()).collect()
    }

    #[test]
    fn nodes_without_a_loss_need_no_rows_and_the_gradients_keep_their_bits() {
        const NODES: usize = 3000;
        let edges: Vec<[u32; 2]> = (0..9000).map(|at| [at * 7 % 2917, at * 31 % 2999]).collect();
        let graph = Graph::from_edges(NODES, &edges).unwrap().0;
        let row = |node: u32| {
            (0..400).filter(move |column| (node * 37 + column * 101).is_multiple_of(97)).map(|column| (column, 0.5))
        };
        let sparse: Vec<Vec<(u32, f32)>> = (0..NODES as u32).map(|node| row(node).collect()).collect();
        let wide = Features::Sparse(SparseMatrix::from_rows(&sparse, 400).into());
        let narrow = Features::from_matrix(Matrix::from_fn(NODES, 9, |i, c| ((i * 7 + c * 3) % 5) as f32 - 1.5));
        let nodes: Vec<u32> = (0..NODES as u32).filter(|node| node * 7919 % 50 == 3).collect();
        let places: Vec<u32> = (0..nodes.len() as u32).collect();
        let mut selected = Vec::new();
        for (features, name) in
            [&wide, &narrow].into_iter().flat_map(|f| catalog::MODELS.iter().map(move |m| (f, m.name)))
        {
            let settings = Hyperparameters { dropout: 0.4, ..Hyperparameters::default() };
            let architecture = catalog::architecture(name, &settings).unwrap();
            if !architecture.can_classify() || architecture.head == Head::Gated {
                continue;
            }
            let shape =
                Shape { num_features: features.cols(), num_ids: NODES, answer: Answer::Classes(5), ..Shape::default() };
            let mut model = Model::build(architecture, shape, Seeds::new(2)).unwrap();
            let mut recording = model.record(&View::new(graph.clone(), features.clone()).unwrap());
            if !recording.can_select() {
                continue;
            }
            let whole = learnt(&mut model, &mut recording, &nodes);
            recording.select(&model, &nodes);
            assert!(learnt(&mut model, &mut recording, &places) == whole, "{name}");
            recording.restrict(&model, None);
            assert!(learnt(&mut model, &mut recording, &nodes) == whole, "{name}");
            selected.push(name);
        }
        // With either kind of features.
        assert_eq!(selected, ["smp-linear", "smp-mlp", "smp-signal", "sgc", "node2vec"].repeat(2));
    }
}
