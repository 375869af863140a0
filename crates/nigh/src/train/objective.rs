//! What a model is trained for and judged by: the classes of nodes, or the scores of pairs. An objective owns decoder, loss
//! and metric.

use super::mean_and_std;
use super::resolve::FitSettings;
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::models::{Model, Recording};
use crate::seeds::Seeds;
use crate::task::{Part, Parts, Question};

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

/// What the cosines of vectors are worth on test pairs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct CosinesOfVectors {
    /// AUC of the cosines alone, if the model has vectors.
    pub auc: Option<f64>,
    /// Rank correlation with the scores of the model, where it scores by more than its vectors.
    pub agreement: Option<f64>,
}

pub(super) trait Objective: Sized {
    /// What training parts ask.
    type Training: Question;
    /// What evaluation parts ask.
    type Evaluation: Question;
    /// What is measured.
    type Metric: Copy;

    /// For one repeat over these training parts. What the model learns from them before training, it learns here; `progress` is
    /// called with the number of steps done and their total.
    fn new(
        fit: &FitSettings,
        model: &mut Model,
        train: &[Part<Self::Training>],
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Self>;

    /// The training parts of an epoch with their own answers hidden from message passing; `None` if they stay as they are.
    fn mask(parts: &[Part<Self::Training>], fit: &FitSettings, seeds: Seeds, epoch: usize) -> Masked<Self::Training> {
        let _ = (parts, fit, seeds, epoch);
        None
    }

    /// What the model learns from its answers on the validation parts, once it is trained. Returns what the cosines of its
    /// vectors are worth on the test.
    fn finish(
        model: &mut Model,
        parts: &Parts<Self::Training, Self::Evaluation>,
        draw: u64,
    ) -> Result<CosinesOfVectors> {
        let _ = (model, parts, draw);
        Ok(CosinesOfVectors::default())
    }

    /// Other training parts than before.
    fn replace_parts(&mut self, train: &[Part<Self::Training>], model: &Model, epoch: usize) {
        let _ = (train, model, epoch);
    }

    /// Steps of an epoch over a training part.
    fn num_batches(&self, part: &Part<Self::Training>) -> usize;

    /// Represents the nodes of one step and computes its loss. The gradients of `H` are left in the recording, those of the
    /// decoder's weights in the model.
    fn loss(&mut self, step: Step, part: &Part<Self::Training>, recording: &mut Recording, model: &mut Model) -> f64;

    /// Carries the gradients of the last loss to the weights of the model.
    fn backward(&mut self, recording: &mut Recording, model: &mut Model) {
        recording.backward(model);
    }

    /// Fits what belongs to the validation parts, each seen through a recording after its last pass: the weights of a gated model.
    fn fit_to_validation<'a>(
        &mut self,
        model: &mut Model,
        valid: impl Iterator<Item = (&'a Part<Self::Evaluation>, &'a Recording)>,
    ) where
        Self::Evaluation: 'a,
    {
        let _ = (model, valid);
    }

    /// What an epoch is chosen by, the larger the better, given its metric on validation.
    fn selection_score(&self, valid: f64) -> f64 {
        valid
    }

    /// The metrics of one part, given the representations. What does not change between epochs may be kept under its name. `progress` is
    /// called with the number of pairs scored and their total, where that takes long.
    fn metrics(
        &mut self,
        metrics: &[Self::Metric],
        name: PartName,
        part: &Part<Self::Evaluation>,
        h: &Matrix,
        model: &Model,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Vec<f64>>;
}

/// Training parts that do not see their own answers.
pub(super) type Masked<T> = Option<Vec<Part<T>>>;

/// Which evaluation part: validation (0) or test (1), and its number there.
pub(super) type PartName = (usize, usize);

/// The metrics of a trained model on validation and test.
pub(super) fn evaluate<O: Objective>(
    objective: &mut O,
    metrics: &[O::Metric],
    parts: &Parts<O::Training, O::Evaluation>,
    model: &Model,
    draw: u64,
) -> Result<[Vec<f64>; 2]> {
    let valid = mean_metrics(objective, metrics, 0, &parts.valid, model, draw)?;
    let test = match &parts.test {
        Some(test) => mean_metrics(objective, metrics, 1, test, model, draw)?,
        None => valid.clone(),
    };
    Ok([valid, test])
}

/// The metrics of a trained model, as means over the parts of a stage: validation (0) or test (1).
pub(super) fn mean_metrics<O: Objective>(
    objective: &mut O,
    metrics: &[O::Metric],
    stage: usize,
    parts: &[Part<O::Evaluation>],
    model: &Model,
    draw: u64,
) -> Result<Vec<f64>> {
    let of = |(number, part): (usize, &Part<O::Evaluation>)| {
        let h = model.represent(&part.view, draw);
        objective.metrics(metrics, (stage, number), part, &h, model, &mut |_, _| ())
    };
    Ok(means(&parts.iter().enumerate().map(of).collect::<Result<Vec<_>>>()?))
}

/// The mean of each metric over parts.
pub(super) fn means(of_parts: &[Vec<f64>]) -> Vec<f64> {
    let metrics = 0..of_parts.first().map_or(0, Vec::len);
    metrics.map(|at| mean_and_std(&of_parts.iter().map(|values| values[at]).collect::<Vec<_>>()).0).collect()
}

/// Scores that can't be compared would be ranked by accident.
pub(super) fn check_finite(scores: &[f32]) -> Result<()> {
    match scores.iter().find(|score| !score.is_finite()) {
        None => Ok(()),
        Some(&value) => Err(Error::NonFinite { what: "a score", value }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_that_is_no_finite_number_is_refused() {
        assert!(check_finite(&[0.5, -1e30]).is_ok());
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert!(check_finite(&[0.5, value]).unwrap_err().to_string().contains("a score"), "{value}");
        }
    }
}
