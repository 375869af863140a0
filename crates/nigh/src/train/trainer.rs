//! One repeat: the loop over epochs and steps, readable top to bottom.

use super::objective::{CosinesOfVectors, Objective, Step};
use super::observer::Observer;
use super::reordered::reorder;
use super::resolve::FitSettings;
use super::{Adam, Evaluation, mean_and_std};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::model::{Model, Recording, View};
use crate::seeds::Purpose;
use crate::tape::Weights;
use crate::task::{Masking, Part, Parts};
use std::sync::Arc;

/// One repeat in progress.
pub(super) struct Trainer<O: Objective> {
    fit: FitSettings,
    parts: Parts<O::Training, O::Evaluation>,
    model: Model,
    /// One per view, but for those of masked training parts.
    recordings: Vec<Recording>,
    /// Which recording belongs to each part of training, validation and test.
    recording_of: [Vec<usize>; 3],
    /// Training parts that do not see their own answers.
    masked: Option<MaskedParts<O::Training>>,
    objective: O,
    adam: Adam,
    pub(super) epoch: usize,
    best: Option<Best>,
    curve: Vec<Evaluation>,
}

/// Training parts with views of their own. There are many of them, so one is recorded at a time.
struct MaskedParts<T> {
    parts: Vec<Part<T>>,
    /// The parts before anything was hidden, if the folds change from epoch to epoch.
    whole: Vec<Part<T>>,
    recorded: Option<(usize, Recording)>,
}

impl<T> MaskedParts<T> {
    /// The recording over the view of a part.
    fn recording(&mut self, part: usize, model: &Model) -> (&Part<T>, &mut Recording) {
        let recording = match self.recorded.take() {
            Some((recorded, recording)) if recorded == part => recording,
            before => {
                let mut recording = model.record(&self.parts[part].view);
                if let Some((_, before)) = before {
                    recording.reuse(before);
                }
                recording
            }
        };
        (&self.parts[part], &mut self.recorded.insert((part, recording)).1)
    }
}

/// The model at its best so far.
#[derive(Debug, Clone)]
pub(super) struct Best {
    pub epoch: usize,
    pub valid: f64,
    pub test: f64,
    /// What it was chosen by.
    pub worth: f64,
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
        let masked = O::mask(&parts.train, &fit, model.seeds(), epoch + 1).map(|masked| MaskedParts {
            parts: masked,
            whole: parts.train.clone(),
            recorded: None,
        });
        let train = masked.as_ref().map_or(&parts.train, |masked| &masked.parts);
        let mut progress = |done, total| observer.pretrain(done, total);
        let objective = O::new(metric, &fit, &mut model, train, &mut progress)?;
        let mut views = Views::default();
        let recording_of = [
            if masked.is_none() { views.of(&parts.train) } else { Vec::new() },
            views.of(&parts.valid),
            parts.test.as_ref().map(|test| views.of(test)).unwrap_or_default(),
        ];
        let recordings = views.0.iter().map(|view| model.record(view)).collect();
        Ok(Trainer { fit, parts, model, recordings, recording_of, masked, objective, adam, epoch, best, curve })
    }

    /// One epoch, and the evaluation that may be due after it. Returns the mean loss of its steps.
    pub fn run_epoch(&mut self) -> Result<(f64, Option<Evaluation>)> {
        self.epoch += 1;
        self.mask_again();
        let mut order: Vec<usize> = (0..self.train().len()).collect();
        self.model.seeds().rng(Purpose::Order, &[self.epoch as u64]).shuffle(&mut order);
        let batches = |trainer: &Trainer<O>, part: usize| trainer.objective.num_batches(&trainer.train()[part]);
        let num_steps = order.iter().map(|&part| batches(self, part)).sum();
        let (mut sum, mut steps) = (0.0, 0);
        for part in order {
            for batch in 0..batches(self, part) {
                let learning_rate = self.fit.learning_rate_within(self.epoch, steps, num_steps);
                sum += self.step(part, batch, learning_rate);
                steps += 1;
            }
        }
        let loss = sum / steps as f64;
        if !loss.is_finite() {
            return Err(Error::Diverged { epoch: self.epoch, loss });
        }
        let evaluation = self.fit.evaluates_after(self.epoch).then(|| self.evaluate(loss)).transpose()?;
        Ok((loss, evaluation))
    }

    /// The training parts of this epoch.
    fn train(&self) -> &[Part<O::Training>] {
        self.masked.as_ref().map_or(&self.parts.train, |masked| &masked.parts)
    }

    /// Hides other training pairs together than in the epoch before, if the folds change.
    fn mask_again(&mut self) {
        let Some(masked) = &mut self.masked else { return };
        if self.fit.masking == Masking::Batch {
            let parts = O::mask(&masked.whole, &self.fit, self.model.seeds(), self.epoch);
            (masked.parts, masked.recorded) = (parts.expect("masked as before"), None);
            self.objective.replace_parts(&masked.parts, &self.model, self.epoch);
        }
    }

    /// Represent, score, loss, backward, update.
    fn step(&mut self, part: usize, batch: usize, learning_rate: f32) -> f64 {
        let model = &mut self.model;
        if model.weights.num_parameters() == 0 {
            return 0.0;
        }
        model.weights.clear_gradients();
        let step = Step { part, batch, epoch: self.epoch, draw: self.adam.steps };
        let (asked, recording) = match &mut self.masked {
            Some(masked) => masked.recording(part, model),
            None => (&self.parts.train[part], &mut self.recordings[self.recording_of[0][part]]),
        };
        let loss = self.objective.loss(step, asked, recording, model);
        self.objective.backward(recording, model);
        if self.fit.clip_norm > 0.0 {
            model.weights.clip_gradients(self.fit.clip_norm);
        }
        self.adam.step_with(&mut model.weights, learning_rate, self.fit.weight_decay, self.fit.optimizer);
        loss
    }

    /// The metric on validation and test; keeps the weights if no epoch was worth more.
    fn evaluate(&mut self, loss: f64) -> Result<Evaluation> {
        let (mut valid, mut test) = (Vec::new(), Vec::new());
        let tests: &[Part<O::Evaluation>] = self.parts.test.as_deref().unwrap_or(&[]);
        let is_asked = |at: usize| self.recording_of[1..].iter().any(|of| of.contains(&at));
        for (_, recording) in self.recordings.iter_mut().enumerate().filter(|(at, _)| is_asked(*at)) {
            // One pass serves validation and test alike.
            recording.evaluate_all(&self.model, self.epoch as u64);
        }
        let recordings = self.recording_of[1].iter().map(|&at| &self.recordings[at]);
        self.objective.fit_to_validation(&mut self.model, self.parts.valid.iter().zip(recordings));
        for (at, recording) in self.recordings.iter_mut().enumerate() {
            let seen = |of: &[usize]| -> Vec<usize> { (0..of.len()).filter(|&part| of[part] == at).collect() };
            let asked = [seen(&self.recording_of[1]), seen(&self.recording_of[2])];
            if asked.iter().all(Vec::is_empty) {
                continue;
            }
            let h = recording.answer(&self.model);
            let stages = asked.into_iter().zip([&self.parts.valid[..], tests]).zip([&mut valid, &mut test]);
            for (stage, ((asked, parts), values)) in stages.enumerate() {
                for part in asked {
                    values.push(self.objective.metric((stage, part), &parts[part], h, &self.model)?);
                }
            }
        }
        let valid = mean_and_std(&valid).0;
        let test = if self.parts.test.is_some() { mean_and_std(&test).0 } else { valid };
        let evaluation = Evaluation { epoch: self.epoch, loss, valid, test };
        self.curve.push(evaluation);
        // Of equally good epochs the latest counts: with a handful of validation nodes the first perfect epoch comes long
        // before training ends.
        let worth = self.objective.worth(valid);
        if self.best.as_ref().is_none_or(|best| worth >= best.worth) {
            let weights = self.model.weights.entries().iter().map(|weight| weight.value.clone()).collect();
            self.best = Some(Best { epoch: self.epoch, valid, test, worth, weights });
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

    /// The best epoch, every evaluation, and what the cosines of vectors are worth.
    pub fn finish(self) -> Result<(Best, Vec<Evaluation>, CosinesOfVectors)> {
        let Trainer { mut model, parts, curve, best, recordings, masked, objective, .. } = self;
        // Buffers of the training, which the vectors need not wait for.
        drop((recordings, masked, objective));
        let mut best = best.expect("the first epoch is always evaluated");
        model.weights.set_values(best.weights);
        let cosines = O::finish(&mut model, &parts, best.epoch as u64)?;
        best.weights = model.weights.entries().iter().map(|weight| weight.value.clone()).collect();
        Ok((best, curve, cosines))
    }
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
