//! The classes of nodes: softmax and negative log-likelihood, for each branch of a gated model on its own; and agreement of two passes that dropped
//! different nodes.

use super::objective::{Objective, PartName, Step, check_finite};
use super::resolve::FitSettings;
use crate::error::Result;
use crate::linalg::Matrix;
use crate::metric::ClassMetric;
use crate::model::{Ask, Model, Recording};
use crate::ops::softmax;
use crate::task::{LabelledNodes, Part};
use std::sync::Arc;

/// How much the agreement of two passes counts beside the likelihood of the labels.
const AGREEMENT: f32 = 2.0;

/// Epochs until it counts fully.
const WARM_UP: f32 = 100.0;

/// What passes agree on is their mean, raised to the inverse of this power: below one, more certain than they are.
const TEMPERATURE: f32 = 0.5;

/// The classes of nodes.
#[derive(Debug)]
pub(super) struct NodeObjective {
    /// The branches of a gated model over each training part, recorded when it is first seen.
    branches: Vec<Option<TrainedBranches>>,
    /// Mean log-likelihood of the validation labels by a gated model when it was last evaluated.
    likelihood: Option<f64>,
}

impl NodeObjective {
    pub fn for_evaluation() -> NodeObjective {
        NodeObjective { branches: Vec::new(), likelihood: None }
    }
}

impl Objective for NodeObjective {
    type Training = LabelledNodes;
    type Evaluation = LabelledNodes;
    type Metric = ClassMetric;

    fn new(
        _: &FitSettings,
        model: &mut Model,
        train: &[Part<LabelledNodes>],
        _: &mut dyn FnMut(usize, usize),
    ) -> Result<NodeObjective> {
        // Nodes of several graphs are strangers to each other: no labels are near a node that is asked about.
        if train.iter().all(|part| Arc::ptr_eq(&part.view, &train[0].view)) {
            let labelled = |part: &Part<LabelledNodes>| {
                let addresses = part.view.addresses.clone();
                let LabelledNodes { nodes, labels } = part.question.clone();
                nodes.into_iter().map(move |node| addresses[node as usize]).zip(labels)
            };
            model.learn_labels(train.iter().flat_map(labelled));
        }
        Ok(NodeObjective::for_evaluation())
    }

    fn num_batches(&self, _: &Part<LabelledNodes>) -> usize {
        1
    }

    fn loss(&mut self, step: Step, part: &Part<LabelledNodes>, recording: &mut Recording, model: &mut Model) -> f64 {
        if model.gated_branches().is_some() {
            self.branches.resize_with(self.branches.len().max(step.part + 1), || None);
            let branches = self.branches[step.part].get_or_insert_with(|| TrainedBranches::new(part, model));
            return branches.loss(step, &part.question, model);
        }
        recording.train(model, step.draw);
        let (h, gradient) = recording.representation_and_gradient();
        softmax::nll(h, &part.question.nodes, &part.question.labels, gradient)
    }

    fn backward(&mut self, recording: &mut Recording, model: &mut Model) {
        // The branches of a gated model did so one by one.
        if model.gated_branches().is_none() {
            recording.backward(model);
        }
    }

    fn fit_to_validation<'a>(
        &mut self,
        model: &mut Model,
        valid: impl Iterator<Item = (&'a Part<LabelledNodes>, &'a Recording)>,
    ) {
        if model.gated_branches().is_none() {
            return;
        }
        let (mut rows, mut classes, mut width) = (Vec::new(), Vec::new(), 0);
        for (part, recording) in valid {
            let scores = recording.scores();
            width = scores.cols();
            part.question.nodes.iter().for_each(|&node| rows.extend_from_slice(scores.row(node as usize)));
            classes.extend_from_slice(&part.question.labels);
        }
        self.likelihood = model.fit_gate(&Matrix::from_data(classes.len(), width, rows), &classes);
    }

    /// A few hundred nodes take the same accuracy in many epochs, and the highest by chance; how likely their classes are says more.
    fn worth(&self, valid: f64) -> f64 {
        valid + self.likelihood.unwrap_or(0.0)
    }

    fn metrics(
        &mut self,
        metrics: &[ClassMetric],
        _: PartName,
        part: &Part<LabelledNodes>,
        h: &Matrix,
        _: &Model,
        _: &mut dyn FnMut(usize, usize),
    ) -> Result<Vec<f64>> {
        let LabelledNodes { nodes, labels } = &part.question;
        nodes.iter().try_for_each(|&node| check_finite(h.row(node as usize)))?;
        let predictions: Vec<u32> = nodes.iter().map(|&node| softmax::most_likely(h.row(node as usize))).collect();
        Ok(metrics.iter().map(|metric| metric.of(labels, &predictions)).collect())
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
    fn new(part: &Part<LabelledNodes>, model: &Model) -> TrainedBranches {
        let nodes = &part.question.nodes;
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

    fn loss(&mut self, step: Step, question: &LabelledNodes, model: &mut Model) -> f64 {
        let mut loss = 0.0;
        if let Some(recording) = &mut self.classes {
            recording.train(model, step.draw);
            let (scores, gradient) = recording.representation_and_gradient();
            let blocks = scores.cols() / model.num_classes();
            loss += softmax::nll_of_blocks(scores, blocks, &self.places, &question.labels, gradient);
            recording.backward(model);
        }
        if let Some(agreement) = &mut self.agreement {
            loss += agreement.loss(step, question, model);
        }
        loss
    }
}

impl Agreement {
    fn loss(&mut self, step: Step, question: &LabelledNodes, model: &mut Model) -> f64 {
        let Agreement { recording, first, target } = self;
        // Both passes have to be known before either has a gradient, and a tape holds one: the first is run again at the end.
        let draws = [2 * step.draw, 2 * step.draw + 1];
        recording.train(model, draws[0]);
        first.copy_from(recording.scores());
        recording.train(model, draws[1]);
        let blocks = first.cols() / model.num_classes();
        softmax::sharpened_mean(first, recording.scores(), blocks, TEMPERATURE, target);
        // Before anything is learnt, passes agree best where all nodes are alike.
        let agreement = AGREEMENT * (step.epoch as f32 / WARM_UP).min(1.0);
        let mut loss = 0.0;
        for draw in [draws[1], draws[0]] {
            if draw == draws[0] {
                recording.train(model, draw);
            }
            let (scores, gradient) = recording.representation_and_gradient();
            loss += softmax::nll_of_blocks(scores, blocks, &question.nodes, &question.labels, gradient);
            loss += softmax::add_disagreement(scores, target, blocks, agreement, gradient);
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

    #[test]
    fn of_epochs_of_one_accuracy_that_of_likelier_labels_is_worth_more() {
        let judged = |likelihood| NodeObjective { likelihood, ..NodeObjective::for_evaluation() };
        assert!(judged(Some(-0.6)).worth(0.8) > judged(Some(-0.7)).worth(0.8));
        assert_eq!(judged(None).worth(0.8), 0.8, "only a gated model has a likelihood to go by");
    }
}
