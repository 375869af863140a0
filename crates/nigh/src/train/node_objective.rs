//! The classes of nodes: softmax and negative log-likelihood, or a sigmoid per class and binary cross-entropy where nodes may have several, for each
//! branch of a gated model on its own; and agreement of two passes that dropped different nodes.

use super::objective::{Objective, PartName, Step, check_finite};
use super::resolve::FitSettings;
use crate::error::Result;
use crate::linalg::Matrix;
use crate::metric::{ClassMetric, SetAnswers, SetMetric};
use crate::models::{Ask, KnownClasses, Model, Recording};
use crate::ops::{sigmoid, softmax};
use crate::task::{LabelledNodes, LabelledSets, Part, Question};
use std::marker::PhantomData;
use std::sync::Arc;

/// How much the agreement of two passes counts beside the likelihood of the labels.
const AGREEMENT: f32 = 2.0;

/// Epochs until it counts fully.
const WARM_UP: f32 = 100.0;

/// What passes agree on is their mean, raised to the inverse of this power: below one, more certain than they are.
const TEMPERATURE: f32 = 0.5;

/// Nodes whose classes are asked for.
pub(super) trait ClassQuestion: Question {
    /// What is measured.
    type Metric: Copy;

    fn nodes(&self) -> &[u32];

    /// The mean loss of blocks of scores side by side, where the scores of the nodes are in these rows; its gradient goes to `gradient`.
    fn loss(&self, scores: &Matrix, blocks: usize, rows: &[u32], gradient: &mut Matrix) -> f64;

    /// What two passes should agree on.
    fn agreed(a: &Matrix, b: &Matrix, blocks: usize, target: &mut Matrix);

    /// `weight` times how far scores are from it; the gradient is added to `gradient`.
    fn add_disagreement(scores: &Matrix, target: &Matrix, blocks: usize, weight: f32, gradient: &mut Matrix) -> f64;

    /// Shows the classes of training nodes to the model.
    fn show(parts: &[Part<Self>], model: &mut Model);

    /// The classes of all parts, one after the other.
    fn known(parts: &[&Self]) -> KnownClasses;

    /// The metrics of scores of all nodes.
    fn measure(&self, metrics: &[Self::Metric], scores: &Matrix) -> Vec<f64>;
}

/// The nodes of parts by their addresses.
fn addressed<Q: ClassQuestion>(part: &Part<Q>) -> impl Iterator<Item = u32> + '_ {
    part.question.nodes().iter().map(|&node| part.view.addresses[node as usize])
}

impl ClassQuestion for LabelledNodes {
    type Metric = ClassMetric;

    fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    fn loss(&self, scores: &Matrix, blocks: usize, rows: &[u32], gradient: &mut Matrix) -> f64 {
        softmax::nll_of_blocks(scores, blocks, rows, &self.labels, gradient)
    }

    fn agreed(a: &Matrix, b: &Matrix, blocks: usize, target: &mut Matrix) {
        softmax::sharpened_mean(a, b, blocks, TEMPERATURE, target);
    }

    fn add_disagreement(scores: &Matrix, target: &Matrix, blocks: usize, weight: f32, gradient: &mut Matrix) -> f64 {
        softmax::add_disagreement(scores, target, blocks, weight, gradient)
    }

    fn show(parts: &[Part<LabelledNodes>], model: &mut Model) {
        model.learn_labels(parts.iter().flat_map(|part| addressed(part).zip(part.question.labels.iter().copied())));
    }

    fn known(parts: &[&LabelledNodes]) -> KnownClasses {
        KnownClasses::One(parts.iter().flat_map(|part| part.labels.iter().copied()).collect())
    }

    fn measure(&self, metrics: &[ClassMetric], scores: &Matrix) -> Vec<f64> {
        let predictions = self.nodes.iter().map(|&node| softmax::most_likely(scores.row(node as usize)));
        let predictions: Vec<u32> = predictions.collect();
        metrics.iter().map(|metric| metric.of(&self.labels, &predictions)).collect()
    }
}

impl ClassQuestion for LabelledSets {
    type Metric = SetMetric;

    fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    fn loss(&self, scores: &Matrix, blocks: usize, rows: &[u32], gradient: &mut Matrix) -> f64 {
        sigmoid::cross_entropy_of_blocks(scores, blocks, rows, &self.sets, gradient)
    }

    fn agreed(a: &Matrix, b: &Matrix, _: usize, target: &mut Matrix) {
        sigmoid::mean(a, b, target);
    }

    fn add_disagreement(scores: &Matrix, target: &Matrix, _: usize, weight: f32, gradient: &mut Matrix) -> f64 {
        sigmoid::add_disagreement(scores, target, weight, gradient)
    }

    fn show(parts: &[Part<LabelledSets>], model: &mut Model) {
        model.learn_label_sets(parts.iter().flat_map(|part| addressed(part).zip(part.question.sets.iter())));
    }

    fn known(parts: &[&LabelledSets]) -> KnownClasses {
        KnownClasses::Several(parts.iter().flat_map(|part| part.sets.iter()).map(|set| set.iter().copied()).collect())
    }

    fn measure(&self, metrics: &[SetMetric], scores: &Matrix) -> Vec<f64> {
        let rows = || self.nodes.iter().map(|&node| scores.row(node as usize));
        let sets = rows().map(sigmoid::answered).collect();
        let answers = SetAnswers { sets, scores: rows().flatten().copied().collect() };
        metrics.iter().map(|metric| metric.of(&self.sets, &answers)).collect()
    }
}

/// The classes of nodes.
#[derive(Debug)]
pub(super) struct NodeObjective<Q> {
    /// The branches of a gated model over each training part, recorded when it is first seen.
    branches: Vec<Option<TrainedBranches>>,
    /// The nodes of each training part, where they are few.
    labelled: Vec<Option<Labelled>>,
    /// Mean log-likelihood of the validation labels by a gated model when it was last evaluated.
    likelihood: Option<f64>,
    question: PhantomData<Q>,
}

impl<Q> NodeObjective<Q> {
    pub fn for_evaluation() -> NodeObjective<Q> {
        NodeObjective { branches: Vec::new(), labelled: Vec::new(), likelihood: None, question: PhantomData }
    }
}

impl<Q: ClassQuestion> Objective for NodeObjective<Q> {
    type Training = Q;
    type Evaluation = Q;
    type Metric = Q::Metric;

    fn new(
        _: &FitSettings,
        model: &mut Model,
        train: &[Part<Q>],
        _: &mut dyn FnMut(usize, usize),
    ) -> Result<NodeObjective<Q>> {
        // Nodes of several graphs are strangers to each other: no labels are near a node that is asked about.
        if train.iter().all(|part| Arc::ptr_eq(&part.view, &train[0].view)) {
            Q::show(train, model);
        }
        let labelled = train.iter().map(|part| Labelled::of(part.question.nodes(), part.view.graph().num_nodes()));
        Ok(NodeObjective { labelled: labelled.collect(), ..NodeObjective::for_evaluation() })
    }

    fn num_batches(&self, _: &Part<Q>) -> usize {
        1
    }

    fn loss(&mut self, step: Step, part: &Part<Q>, recording: &mut Recording, model: &mut Model) -> f64 {
        if model.gated_branches().is_some() {
            self.branches.resize_with(self.branches.len().max(step.part + 1), || None);
            let branches = self.branches[step.part].get_or_insert_with(|| TrainedBranches::new(part, model));
            return branches.loss(step, &part.question, model);
        }
        let labelled = self.labelled[step.part].as_ref().filter(|_| recording.can_select());
        if let Some(Labelled { nodes, .. }) = labelled {
            recording.select(model, nodes);
        }
        recording.train(model, step.draw);
        let (h, gradient) = recording.representation_and_gradient();
        let rows = labelled.map_or(part.question.nodes(), |labelled| &labelled.places);
        part.question.loss(h, 1, rows, gradient)
    }

    fn backward(&mut self, recording: &mut Recording, model: &mut Model) {
        // The branches of a gated model did so one by one.
        if model.gated_branches().is_none() {
            recording.backward(model);
        }
    }

    fn fit_to_validation<'a>(&mut self, model: &mut Model, valid: impl Iterator<Item = (&'a Part<Q>, &'a Recording)>)
    where
        Q: 'a,
    {
        if model.gated_branches().is_none() {
            return;
        }
        let (mut rows, mut asked, mut width, mut count) = (Vec::new(), Vec::new(), 0, 0);
        for (part, recording) in valid {
            let scores = recording.scores();
            width = scores.cols();
            part.question.nodes().iter().for_each(|&node| rows.extend_from_slice(scores.row(node as usize)));
            count += part.question.nodes().len();
            asked.push(&part.question);
        }
        self.likelihood = model.fit_gate(&Matrix::from_data(count, width, rows), Q::known(&asked));
    }

    /// A few hundred nodes take the same accuracy in many epochs, and the highest by chance; how likely their classes are says more.
    fn selection_score(&self, valid: f64) -> f64 {
        valid + self.likelihood.unwrap_or(0.0)
    }

    fn metrics(
        &mut self,
        metrics: &[Q::Metric],
        _: PartName,
        part: &Part<Q>,
        h: &Matrix,
        _: &Model,
        _: &mut dyn FnMut(usize, usize),
    ) -> Result<Vec<f64>> {
        part.question.nodes().iter().try_for_each(|&node| check_finite(h.row(node as usize)))?;
        Ok(part.question.measure(metrics, h))
    }
}

/// The nodes with a loss.
#[derive(Debug)]
struct Labelled {
    /// In ascending order.
    nodes: Vec<u32>,
    /// The place among them of each node of the question.
    places: Vec<u32>,
}

impl Labelled {
    /// If so few of all nodes have a loss that the others are better left out.
    fn of(question: &[u32], num_nodes: usize) -> Option<Labelled> {
        let mut nodes = question.to_vec();
        nodes.sort_unstable();
        nodes.dedup();
        let place = |node: &u32| nodes.binary_search(node).expect("it is one of them") as u32;
        let places = question.iter().map(place).collect();
        (2 * nodes.len() <= num_nodes).then_some(Labelled { nodes, places })
    }
}

/// The branches of a gated model over one training part. Each has a loss of its own, so they are recorded as it suits their losses and not as they
/// are evaluated.
#[derive(Debug)]
struct TrainedBranches {
    /// Those whose passes have to agree, for all nodes.
    agreement: Option<Agreement>,
    /// All others, for the training nodes alone.
    classes: Option<Recording>,
    /// Places of the training nodes among themselves.
    places: Vec<u32>,
}

#[derive(Debug)]
struct Agreement {
    recording: Recording,
    /// Scores of the first pass.
    first: Matrix,
    /// What both passes should agree on.
    target: Matrix,
}

impl TrainedBranches {
    fn new<Q: ClassQuestion>(part: &Part<Q>, model: &Model) -> TrainedBranches {
        let nodes = part.question.nodes();
        let agreement = model.record_branches(&part.view, Ask::Agreement);
        TrainedBranches {
            agreement: agreement.map(|recording| Agreement {
                recording,
                first: Matrix::default(),
                target: Matrix::default(),
            }),
            classes: model.record_branches(&part.view, Ask::Classes(nodes)),
            places: (0..nodes.len() as u32).collect(),
        }
    }

    fn loss<Q: ClassQuestion>(&mut self, step: Step, question: &Q, model: &mut Model) -> f64 {
        let mut loss = 0.0;
        if let Some(recording) = &mut self.classes {
            recording.train(model, step.draw);
            let (scores, gradient) = recording.representation_and_gradient();
            let blocks = scores.cols() / model.num_classes();
            loss += question.loss(scores, blocks, &self.places, gradient);
            recording.backward(model);
        }
        if let Some(agreement) = &mut self.agreement {
            loss += agreement.loss(step, question, model);
        }
        loss
    }
}

impl Agreement {
    fn loss<Q: ClassQuestion>(&mut self, step: Step, question: &Q, model: &mut Model) -> f64 {
        let Agreement { recording, first, target } = self;
        // Both passes have to be known before either has a gradient, and a tape holds one: the first is run again at the end.
        let draws = [2 * step.draw, 2 * step.draw + 1];
        recording.train(model, draws[0]);
        first.copy_from(recording.scores());
        recording.train(model, draws[1]);
        let blocks = first.cols() / model.num_classes();
        Q::agreed(first, recording.scores(), blocks, target);
        // Before anything is learnt, passes agree best where all nodes are alike.
        let agreement = AGREEMENT * (step.epoch as f32 / WARM_UP).min(1.0);
        let mut loss = 0.0;
        for draw in [draws[1], draws[0]] {
            if draw == draws[0] {
                recording.train(model, draw);
            }
            let (scores, gradient) = recording.representation_and_gradient();
            loss += question.loss(scores, blocks, question.nodes(), gradient);
            loss += Q::add_disagreement(scores, target, blocks, agreement, gradient);
            // The loss is the mean of both passes.
            gradient.data_mut().iter_mut().for_each(|g| *g *= 0.5);
            recording.backward(model);
        }
        loss / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{Dataset, Features, Sample};
    use crate::models::Dimensions;
    use crate::seeds::Seeds;
    use crate::task::{Split, Task};
    use crate::train::Config;

    #[test]
    fn of_epochs_of_one_accuracy_that_of_likelier_labels_is_worth_more() {
        let judged = |likelihood| NodeObjective::<LabelledNodes> { likelihood, ..NodeObjective::for_evaluation() };
        assert!(judged(Some(-0.6)).selection_score(0.8) > judged(Some(-0.7)).selection_score(0.8));
        assert_eq!(judged(None).selection_score(0.8), 0.8, "only a gated model has a likelihood to go by");
    }

    #[test]
    fn two_passes_that_drop_different_nodes_are_to_agree_the_more_the_longer_it_was_learnt() {
        let dataset = Dataset::built_in("communities").unwrap();
        let n = dataset.num_nodes();
        let features = Features::from_matrix(Matrix::from_fn(n, 8, |i, c| ((i * 7 + c * 3) % 5) as f32));
        let dataset = Dataset { samples: vec![Sample { features, ..dataset.samples[0].clone() }], ..dataset };
        let config = Config { task: Task::NodeClassification, model: "smp-gated".into(), ..Config::default() };
        let config = config.resolve(&dataset).unwrap();
        let (seeds, dimensions) = (Seeds::new(1), Dimensions::of(&dataset));
        let architecture = config.architecture(dimensions).unwrap();
        let mut model = Model::build(architecture, config.shape(dimensions), seeds).unwrap();
        let Split::Nodes(parts) = config.split().split(&dataset, seeds).unwrap() else { panic!("nodes") };
        let part = &parts.train[0];
        model.pretrain(&part.view, &mut |_, _| ());
        let mut branches = TrainedBranches::new(part, &model);
        let agreement = branches.agreement.as_mut().expect("a branch for features");
        let mut loss =
            |epoch: usize| agreement.loss(Step { part: 0, batch: 0, epoch, draw: 1 }, &part.question, &mut model);
        let (first, later, last) = (loss(1), loss(50), loss(100));
        assert!(first < later && later < last, "{first} {later} {last}");
        assert_eq!(loss(900), last);
        let mut of_one_pass = Matrix::default();
        let blocks = agreement.first.cols() / model.num_classes();
        LabelledNodes::agreed(&agreement.first, &agreement.first, blocks, &mut of_one_pass);
        assert!(of_one_pass != agreement.target);
    }
}
