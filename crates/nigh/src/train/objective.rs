//! What a model is trained for and judged by: the classes of nodes, or the scores of pairs. An objective owns decoder, loss
//! and metric.

use super::batch_nodes::BatchNodes;
use super::mean_and_std;
use super::resolve::FitSettings;
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::metric::{ClassMetric, PairMetric};
use crate::model::decoder::PairDecoder;
use crate::model::{Model, Recording};
use crate::ops::softmax;
use crate::seeds::Purpose;
use crate::task::{EvaluationPairs, LabelledNodes, Part, Parts, Question, TrainingPairs};

/// The address of one step of training.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    /// Which training part.
    pub part: usize,
    /// Which batch of it.
    pub batch: usize,
    /// Counted from one.
    pub epoch: usize,
    /// Steps of the optimiser before it.
    pub draw: u64,
}

pub(super) trait Objective: Sized {
    /// What training parts ask.
    type Training: Question;
    /// What evaluation parts ask.
    type Evaluation: Question;
    /// What is measured.
    type Metric;

    /// For one repeat over these training parts.
    fn new(metric: Self::Metric, fit: &FitSettings, model: &Model, train: &[Part<Self::Training>]) -> Result<Self>;

    /// Steps of an epoch over a training part.
    fn num_batches(&self, part: &Part<Self::Training>) -> usize;

    /// Represents the nodes of one step and computes its loss. The gradients of `H` are left in the recording, those of the
    /// decoder's weights in the model.
    fn loss(&mut self, step: Step, part: &Part<Self::Training>, recording: &mut Recording, model: &mut Model) -> f64;

    /// The metric of one part, given the representations.
    fn metric(&mut self, part: &Part<Self::Evaluation>, h: &Matrix, model: &Model) -> Result<f64>;
}

/// The metric of a trained model on validation and test.
pub(super) fn evaluate<O: Objective>(
    objective: &mut O,
    parts: &Parts<O::Training, O::Evaluation>,
    model: &Model,
    draw: u64,
) -> Result<[f64; 2]> {
    let valid = mean_metric(objective, &parts.valid, model, draw)?;
    Ok([valid, parts.test.as_ref().map_or(Ok(valid), |test| mean_metric(objective, test, model, draw))?])
}

/// The metric of a trained model, as the mean over parts.
pub(super) fn mean_metric<O: Objective>(
    objective: &mut O,
    parts: &[Part<O::Evaluation>],
    model: &Model,
    draw: u64,
) -> Result<f64> {
    let values = parts.iter().map(|part| objective.metric(part, &model.represent(&part.view, draw), model));
    Ok(mean_and_std(&values.collect::<Result<Vec<f64>>>()?).0)
}

/// Scores that can't be compared would be ranked by accident.
fn check_finite(scores: &[f32]) -> Result<()> {
    match scores.iter().find(|score| !score.is_finite()) {
        None => Ok(()),
        Some(&value) => Err(Error::NonFinite { what: "a score", value }),
    }
}

/// The classes of nodes: softmax and negative log-likelihood.
#[derive(Debug)]
pub(super) struct NodeObjective {
    metric: ClassMetric,
}

impl NodeObjective {
    pub fn for_evaluation(metric: ClassMetric) -> NodeObjective {
        NodeObjective { metric }
    }
}

impl Objective for NodeObjective {
    type Training = LabelledNodes;
    type Evaluation = LabelledNodes;
    type Metric = ClassMetric;

    fn new(metric: ClassMetric, _: &FitSettings, _: &Model, _: &[Part<LabelledNodes>]) -> Result<NodeObjective> {
        Ok(NodeObjective { metric })
    }

    fn num_batches(&self, _: &Part<LabelledNodes>) -> usize {
        1
    }

    fn loss(&mut self, step: Step, part: &Part<LabelledNodes>, recording: &mut Recording, model: &mut Model) -> f64 {
        recording.train(model, step.draw);
        let (h, gradient) = recording.representation_and_gradient();
        softmax::nll(h, &part.question.nodes, &part.question.labels, gradient)
    }

    fn metric(&mut self, part: &Part<LabelledNodes>, h: &Matrix, _: &Model) -> Result<f64> {
        let LabelledNodes { nodes, labels } = &part.question;
        nodes.iter().try_for_each(|&node| check_finite(h.row(node as usize)))?;
        let predictions: Vec<u32> = nodes.iter().map(|&node| softmax::most_likely(h.row(node as usize))).collect();
        Ok(self.metric.of(labels, &predictions))
    }
}

/// The scores of pairs: a decoder and binary cross-entropy.
#[derive(Debug)]
pub(super) struct PairObjective {
    metric: PairMetric,
    batch_size: usize,
    /// One per training part, so that its positive pairs are sorted once.
    decoders: Vec<PairDecoder>,
    /// Scores pairs for evaluation.
    evaluator: PairDecoder,
    /// All positive pairs of the part, in the order of this epoch, if they are taken in batches.
    shuffled: Vec<[u32; 2]>,
    batch: Vec<[u32; 2]>,
    negative: Vec<[u32; 2]>,
    batch_nodes: BatchNodes,
}

impl PairObjective {
    pub fn for_evaluation(metric: PairMetric, model: &Model) -> Result<PairObjective> {
        Ok(PairObjective {
            metric,
            batch_size: 0,
            decoders: Vec::new(),
            evaluator: decoder_of(model)?,
            shuffled: Vec::new(),
            batch: Vec::new(),
            negative: Vec::new(),
            batch_nodes: BatchNodes::default(),
        })
    }

    /// The positive pairs of a batch, as many negatives, and the nodes that have to be represented for them.
    fn choose_batch(&mut self, step: Step, part: &Part<TrainingPairs>, recording: &Recording, model: &Model) {
        if step.batch == 0 {
            self.shuffled.clone_from(&part.question.positive);
            let address = [step.epoch as u64, step.part as u64];
            model.seeds().rng(Purpose::Order, &address).shuffle(&mut self.shuffled);
        }
        let pairs = self.shuffled.chunks(self.batch_size).nth(step.batch).expect("a batch that was counted");
        self.batch.clear();
        self.batch.extend_from_slice(pairs);
        draw_negatives(step, part, model, pairs.len(), &mut self.negative);
        let num_nodes = part.view.graph().num_nodes();
        self.batch_nodes.clear();
        // With all ends different this is half of the nodes at most: it pays to leave the others out.
        if 8 * pairs.len() <= num_nodes && recording.can_restrict() {
            self.batch_nodes.renumber(num_nodes, [&mut self.batch, &mut self.negative]);
        }
        let num_rows = self.batch_nodes.nodes().map_or(num_nodes, <[u32]>::len);
        self.decoders[step.part].set_positives(num_rows, &self.batch);
        self.decoders[step.part].set_negatives(num_rows, &self.negative);
    }
}

fn decoder_of(model: &Model) -> Result<PairDecoder> {
    PairDecoder::new(model).ok_or(Error::WrongTask { task: "node-classification", wanted: "scores for pairs" })
}

/// Negatives at the address of a step. Validation and test draw theirs at addresses of two parts, not three.
fn draw_negatives(step: Step, part: &Part<TrainingPairs>, model: &Model, count: usize, negative: &mut Vec<[u32; 2]>) {
    let address = [part.view.graph, step.epoch as u64, step.batch as u64];
    part.question.draw_negatives(model.seeds().stream(Purpose::Negatives, &address), count, negative);
}

impl Objective for PairObjective {
    type Training = TrainingPairs;
    type Evaluation = EvaluationPairs;
    type Metric = PairMetric;

    fn new(
        metric: PairMetric,
        fit: &FitSettings,
        model: &Model,
        train: &[Part<TrainingPairs>],
    ) -> Result<PairObjective> {
        let decoder = |part: &Part<TrainingPairs>| -> Result<PairDecoder> {
            let mut decoder = decoder_of(model)?;
            decoder.set_positives(part.view.graph().num_nodes(), &part.question.positive);
            Ok(decoder)
        };
        let decoders = train.iter().map(decoder).collect::<Result<_>>()?;
        Ok(PairObjective { batch_size: fit.batch_size, decoders, ..PairObjective::for_evaluation(metric, model)? })
    }

    fn num_batches(&self, part: &Part<TrainingPairs>) -> usize {
        match self.batch_size {
            0 => 1,
            size => part.question.positive.len().div_ceil(size),
        }
    }

    fn loss(&mut self, step: Step, part: &Part<TrainingPairs>, recording: &mut Recording, model: &mut Model) -> f64 {
        let pass = if self.batch_size > 0 {
            self.choose_batch(step, part, recording, model);
            recording.restrict(model, self.batch_nodes.nodes());
            recording.train(model, step.draw)
        } else {
            let (negative, decoder) = (&mut self.negative, &mut self.decoders[step.part]);
            // Neither needs the other, and sorting pairs keeps one thread busy.
            let represent = || recording.train(model, step.draw);
            let draw = || {
                draw_negatives(step, part, model, part.question.positive.len(), negative);
                decoder.set_negatives(part.view.graph().num_nodes(), negative);
            };
            rayon::join(represent, draw).0
        };
        let (h, gradient) = recording.representation_and_gradient();
        self.decoders[step.part].loss(h, &mut model.weights, &pass, gradient)
    }

    fn metric(&mut self, part: &Part<EvaluationPairs>, h: &Matrix, model: &Model) -> Result<f64> {
        let graph = part.view.operator.graph();
        let evaluator = &mut self.evaluator;
        part.question.measure(self.metric, |pairs| {
            let scores = evaluator.scores(graph, h, pairs, &model.weights);
            check_finite(scores).map(|()| scores.to_vec())
        })
    }
}
