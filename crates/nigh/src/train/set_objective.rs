//! The classes of nodes that may have several: a sigmoid per class and the binary cross-entropy of the labels.

use super::objective::{Objective, PartName, Step, check_finite};
use super::resolve::FitSettings;
use crate::error::Result;
use crate::linalg::Matrix;
use crate::metric::{SetAnswers, SetMetric};
use crate::model::{Model, Recording};
use crate::ops::sigmoid;
use crate::task::{LabelledSets, Part};

/// The classes of nodes that may have several.
#[derive(Debug, Default)]
pub(super) struct SetObjective;

impl Objective for SetObjective {
    type Training = LabelledSets;
    type Evaluation = LabelledSets;
    type Metric = SetMetric;

    fn new(
        _: &FitSettings,
        _: &mut Model,
        _: &[Part<LabelledSets>],
        _: &mut dyn FnMut(usize, usize),
    ) -> Result<SetObjective> {
        Ok(SetObjective)
    }

    fn num_batches(&self, _: &Part<LabelledSets>) -> usize {
        1
    }

    fn loss(&mut self, step: Step, part: &Part<LabelledSets>, recording: &mut Recording, model: &mut Model) -> f64 {
        recording.train(model, step.draw);
        let (h, gradient) = recording.representation_and_gradient();
        sigmoid::cross_entropy(h, &part.question.nodes, &part.question.sets, gradient)
    }

    fn metrics(
        &mut self,
        metrics: &[SetMetric],
        _: PartName,
        part: &Part<LabelledSets>,
        h: &Matrix,
        _: &Model,
        _: &mut dyn FnMut(usize, usize),
    ) -> Result<Vec<f64>> {
        let LabelledSets { nodes, sets } = &part.question;
        let rows = || nodes.iter().map(|&node| h.row(node as usize));
        rows().try_for_each(check_finite)?;
        let answers = SetAnswers { sets: rows().map(sigmoid::answered).collect(), scores: rows().flatten().copied().collect() };
        Ok(metrics.iter().map(|metric| metric.of(sets, &answers)).collect())
    }
}
