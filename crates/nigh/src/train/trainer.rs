//! One repeat: the loop over epochs and steps, readable top to bottom.

use super::objective::{Objective, Step};
use super::observer::Observer;
use super::reordered::reorder;
use super::resolve::FitSettings;
use super::{Adam, Evaluation, mean_and_std};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::model::{Model, Recording, View};
use crate::seeds::Purpose;
use crate::tape::Weights;
use crate::task::{Part, Parts};
use std::sync::Arc;

/// One repeat in progress.
pub(super) struct Trainer<O: Objective> {
    fit: FitSettings,
    parts: Parts<O::Training, O::Evaluation>,
    model: Model,
    /// One per view.
    recordings: Vec<Recording>,
    /// Which recording belongs to each part of training, validation and test.
    recording_of: [Vec<usize>; 3],
    objective: O,
    adam: Adam,
    pub(super) epoch: usize,
    best: Option<Best>,
    curve: Vec<Evaluation>,
}

/// The model at its best so far.
#[derive(Debug, Clone)]
pub(super) struct Best {
    pub epoch: usize,
    pub valid: f64,
    pub test: f64,
    pub weights: Vec<Matrix>,
}

/// Everything that changes while a repeat is trained; all randomness follows from it.
pub(super) struct State {
    pub epoch: usize,
    pub weights: Vec<Matrix>,
    pub adam: Adam,
    pub best: Option<Best>,
    pub curve: Vec<Evaluation>,
}

/// A state that is looked at.
pub(super) struct Snapshot<'a> {
    pub epoch: usize,
    pub weights: &'a Weights,
    pub adam: &'a Adam,
    pub best: Option<&'a Best>,
    pub curve: &'a [Evaluation],
}

impl<O: Objective> Trainer<O> {
    /// A repeat at its start, or where an earlier process stopped.
    pub fn new(
        mut parts: Parts<O::Training, O::Evaluation>,
        metric: O::Metric,
        mut model: Model,
        fit: FitSettings,
        resumed: Option<State>,
        observer: &mut dyn Observer,
    ) -> Result<Trainer<O>> {
        reorder(&mut parts, fit.epochs);
        // Recordings copy frozen weights, so these come first.
        let (adam, epoch, best, curve) = match resumed {
            Some(state) => {
                model.weights.set_values(state.weights);
                (state.adam, state.epoch, state.best, state.curve)
            }
            None => {
                // Only models of one graph learn before training.
                model.pretrain(&parts.train[0].view, &mut |done, total| observer.pretrain(done, total));
                (Adam::new(&model.weights), 0, None, Vec::new())
            }
        };
        let mut views = Views::default();
        let recording_of = [
            views.of(&parts.train),
            views.of(&parts.valid),
            parts.test.as_ref().map(|test| views.of(test)).unwrap_or_default(),
        ];
        let recordings = views.0.iter().map(|view| model.record(view)).collect();
        let objective = O::new(metric, &fit, &model, &parts.train)?;
        Ok(Trainer { fit, parts, model, recordings, recording_of, objective, adam, epoch, best, curve })
    }

    /// One epoch, and the evaluation that may be due after it. Returns the mean loss of its steps.
    pub fn run_epoch(&mut self) -> Result<(f64, Option<Evaluation>)> {
        self.epoch += 1;
        let mut order: Vec<usize> = (0..self.parts.train.len()).collect();
        self.model.seeds().rng(Purpose::Order, &[self.epoch as u64]).shuffle(&mut order);
        let (mut sum, mut steps) = (0.0, 0);
        for part in order {
            for batch in 0..self.objective.num_batches(&self.parts.train[part]) {
                sum += self.step(part, batch);
                steps += 1;
            }
        }
        let loss = sum / f64::from(steps);
        if !loss.is_finite() {
            return Err(Error::Diverged { epoch: self.epoch, loss });
        }
        let evaluation = self.fit.evaluates_after(self.epoch).then(|| self.evaluate(loss)).transpose()?;
        Ok((loss, evaluation))
    }

    /// Represent, score, loss, backward, update.
    fn step(&mut self, part: usize, batch: usize) -> f64 {
        let model = &mut self.model;
        if model.weights.num_parameters() == 0 {
            return 0.0;
        }
        model.weights.clear_gradients();
        let recording = &mut self.recordings[self.recording_of[0][part]];
        let step = Step { part, batch, epoch: self.epoch, draw: self.adam.steps };
        let loss = self.objective.loss(step, &self.parts.train[part], recording, model);
        recording.backward(model);
        if self.fit.clip_norm > 0.0 {
            model.weights.clip_gradients(self.fit.clip_norm);
        }
        self.adam.step(&mut model.weights, self.fit.learning_rate_at(self.epoch), self.fit.weight_decay);
        loss
    }

    /// The metric on validation and test; keeps the weights if validation was never better.
    fn evaluate(&mut self, loss: f64) -> Result<Evaluation> {
        let (mut valid, mut test) = (Vec::new(), Vec::new());
        let tests: &[Part<O::Evaluation>] = self.parts.test.as_deref().unwrap_or(&[]);
        for (at, recording) in self.recordings.iter_mut().enumerate() {
            let seen = |of: &[usize], parts| parts_of::<O::Evaluation>(of, at, parts);
            let asked = [seen(&self.recording_of[1], &self.parts.valid), seen(&self.recording_of[2], tests)];
            if asked.iter().all(Vec::is_empty) {
                continue;
            }
            recording.restrict(&self.model, None);
            // One pass serves validation and test alike.
            let h = recording.evaluate(&self.model, self.epoch as u64);
            for (asked, values) in asked.into_iter().zip([&mut valid, &mut test]) {
                for part in asked {
                    values.push(self.objective.metric(part, h, &self.model)?);
                }
            }
        }
        let valid = mean_and_std(&valid).0;
        let test = if self.parts.test.is_some() { mean_and_std(&test).0 } else { valid };
        let evaluation = Evaluation { epoch: self.epoch, loss, valid, test };
        self.curve.push(evaluation);
        // Of equally good epochs the latest counts: with a handful of validation nodes the first perfect epoch comes long
        // before training ends.
        if self.best.as_ref().is_none_or(|best| valid >= best.valid) {
            let weights = self.model.weights.entries().iter().map(|weight| weight.value.clone()).collect();
            self.best = Some(Best { epoch: self.epoch, valid, test, weights });
        }
        Ok(evaluation)
    }

    /// What a checkpoint keeps.
    pub fn snapshot(&self) -> Snapshot<'_> {
        Snapshot {
            epoch: self.epoch,
            weights: &self.model.weights,
            adam: &self.adam,
            best: self.best.as_ref(),
            curve: &self.curve,
        }
    }

    /// The best epoch, and every evaluation.
    pub fn finish(self) -> (Best, Vec<Evaluation>) {
        (self.best.expect("the first epoch is always evaluated"), self.curve)
    }
}

/// The parts that are seen through view number `at`.
fn parts_of<'a, E>(of: &[usize], at: usize, parts: &'a [Part<E>]) -> Vec<&'a Part<E>> {
    of.iter().zip(parts).filter(|(view, _)| **view == at).map(|(_, part)| part).collect()
}

/// The different views of all parts.
#[derive(Default)]
struct Views(Vec<Arc<View>>);

impl Views {
    /// The number of the view of each part.
    fn of<Q>(&mut self, parts: &[Part<Q>]) -> Vec<usize> {
        let mut number = |part: &Part<Q>| {
            self.0.iter().position(|view| Arc::ptr_eq(view, &part.view)).unwrap_or_else(|| {
                self.0.push(part.view.clone());
                self.0.len() - 1
            })
        };
        parts.iter().map(&mut number).collect()
    }
}
