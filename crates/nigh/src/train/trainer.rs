//! One repeat: the loop over epochs and steps, readable top to bottom.

use super::objective::{CosinesOfVectors, Objective, Step, means};
use super::observer::{Observer, Stage};
use super::reordered::reorder;
use super::resolve::FitSettings;
use super::{Adam, Evaluation};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::models::{Model, Recording, View};
use crate::propagation::KEPT_RECORDINGS;
use crate::seeds::{Purpose, Seeds};
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
    /// What chooses the epoch.
    metric: O::Metric,
    /// What is measured on the test part at the best epoch.
    reported: Vec<O::Metric>,
    adam: Adam,
    pub(super) epoch: usize,
    best: Option<Best>,
    curve: Vec<Evaluation>,
}

/// Training parts with views of their own. There are many of them: their recordings share one set of buffers, and all are kept
/// only if what message passing gave them is small.
struct MaskedParts<T> {
    parts: Vec<Part<T>>,
    /// The parts before anything was hidden, if the folds change from epoch to epoch.
    whole: Vec<Part<T>>,
    /// One per part, as far as they are kept.
    recorded: Vec<Option<Recording>>,
    /// The part whose recording has the buffers.
    last: Option<usize>,
}

impl<T> MaskedParts<T> {
    fn new(parts: Vec<Part<T>>, whole: Vec<Part<T>>) -> MaskedParts<T> {
        let recorded = parts.iter().map(|_| None).collect();
        MaskedParts { parts, whole, recorded, last: None }
    }

    /// The recording over the view of a part.
    fn recording(&mut self, part: usize, model: &Model) -> (&Part<T>, &mut Recording) {
        let last = self.last.replace(part).filter(|&last| last != part);
        let before = last.and_then(|last| self.recorded[last].take());
        let mut recording = match self.recorded[part].take() {
            Some(recording) => recording,
            None => model.record(&self.parts[part].view),
        };
        if let (Some(mut before), Some(last)) = (before, last) {
            if before.constant_bytes() * self.parts.len() <= KEPT_RECORDINGS {
                recording.borrow_buffers(&mut before);
                self.recorded[last] = Some(before);
            } else {
                recording.reuse(before);
            }
        }
        (&self.parts[part], self.recorded[part].insert(recording))
    }
}

/// The order in which an epoch goes through the training parts.
fn order_of_parts(count: usize, seeds: Seeds, epoch: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    seeds.rng(Purpose::Order, &[epoch as u64]).shuffle(&mut order);
    order
}

/// The model at its best so far.
#[derive(Debug, Clone)]
pub(super) struct Best {
    pub epoch: usize,
    pub valid: f64,
    pub test: f64,
    /// What it was chosen by.
    pub selection_score: f64,
    /// The epoch since which no selection score was higher. Equally good epochs after it are taken, but do not prolong a training.
    pub since: usize,
    pub weights: Vec<Matrix>,
    /// The reported metrics on the test part, if they are known already.
    pub reported: Option<Vec<f64>>,
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
        reported: Vec<O::Metric>,
        mut model: Model,
        fit: FitSettings,
        resumed: Option<State>,
        observer: &mut dyn Observer,
    ) -> Result<Trainer<O>> {
        observer.stage(Stage::SetUp, 0, 1);
        reorder(&mut parts, fit.epochs);
        // Recordings copy frozen weights, so these come first.
        let (adam, epoch, best, curve) = match resumed {
            Some(state) => {
                model.weights.set_values(state.weights);
                (state.adam, state.epoch, state.best, state.curve)
            }
            None => {
                // Only models of one graph learn before training.
                let mut progress = |done, total| observer.stage(Stage::SetUp, done, total);
                model.pretrain(&parts.train[0].view, &mut progress);
                (Adam::new(&model.weights), 0, None, Vec::new())
            }
        };
        let masked = O::mask(&parts.train, &fit, model.seeds(), epoch + 1)
            .map(|masked| MaskedParts::new(masked, parts.train.clone()));
        let train = masked.as_ref().map_or(&parts.train, |masked| &masked.parts);
        let mut progress = |done, total| observer.stage(Stage::SetUp, done, total);
        let objective = O::new(&fit, &mut model, train, &mut progress)?;
        let mut views = Views::default();
        let recording_of = [
            if masked.is_none() { views.of(&parts.train) } else { Vec::new() },
            views.of(&parts.valid),
            parts.test.as_ref().map(|test| views.of(test)).unwrap_or_default(),
        ];
        let recordings = views.0.iter().map(|view| model.record(view)).collect();
        Ok(Trainer {
            fit,
            parts,
            model,
            recordings,
            recording_of,
            masked,
            objective,
            metric,
            reported,
            adam,
            epoch,
            best,
            curve,
        })
    }

    /// One epoch, and the evaluation that may be due after it. Returns the mean loss of its steps.
    pub fn run_epoch(&mut self, observer: &mut dyn Observer) -> Result<(f64, Option<Evaluation>)> {
        self.epoch += 1;
        self.mask_again();
        let order = order_of_parts(self.train().len(), self.model.seeds(), self.epoch);
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
        let evaluation = self.fit.evaluates_after(self.epoch).then(|| self.evaluate(loss, observer)).transpose()?;
        Ok((loss, evaluation))
    }

    /// Whether all epochs are run, or none of the last ones was better than those before.
    pub fn has_ended(&self) -> bool {
        let FitSettings { epochs, patience, .. } = self.fit;
        let is_stale = |best: &Best| patience > 0 && self.epoch - best.since >= patience;
        self.epoch >= epochs || self.best.as_ref().is_some_and(is_stale)
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
            *masked = MaskedParts::new(parts.expect("masked as before"), std::mem::take(&mut masked.whole));
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

    /// The metric on validation and test; keeps the weights unless an epoch had a higher selection score.
    fn evaluate(&mut self, loss: f64, observer: &mut dyn Observer) -> Result<Evaluation> {
        let (chosen, mut asked) = ([self.metric], vec![self.metric]);
        // A single evaluation is that of the best epoch, and scoring the same pairs again would take as long.
        let reports = self.fit.epochs == 1;
        if reports {
            asked.extend_from_slice(&self.reported);
        }
        let [valid, mut test] = self.measure([&chosen, &asked], self.epoch, observer)?;
        let reported = reports.then(|| test.split_off(1));
        let (valid, test) = (valid[0], test[0]);
        let evaluation = Evaluation { epoch: self.epoch, loss, valid, test };
        self.curve.push(evaluation);
        // Of equally good epochs the latest counts: with a handful of validation nodes the first perfect epoch comes long
        // before training ends.
        let selection_score = self.objective.selection_score(valid);
        if self.best.as_ref().is_none_or(|best| selection_score >= best.selection_score) {
            let weights = self.model.weights.entries().iter().map(|weight| weight.value.clone()).collect();
            let since = self
                .best
                .as_ref()
                .filter(|best| selection_score == best.selection_score)
                .map_or(self.epoch, |best| best.since);
            self.best = Some(Best { epoch: self.epoch, valid, test, selection_score, since, weights, reported });
        }
        Ok(evaluation)
    }

    /// Metrics on validation and others on test, with the weights that the model has after an epoch.
    fn measure(
        &mut self,
        metrics: [&[O::Metric]; 2],
        epoch: usize,
        observer: &mut dyn Observer,
    ) -> Result<[Vec<f64>; 2]> {
        // Where nothing is held out, the test is the validation.
        let metrics = if self.parts.test.is_some() { metrics } else { [metrics[1], &[]] };
        let (num_parts, mut part_number) = (self.recording_of[1].len() + self.recording_of[2].len(), 0);
        let (mut valid, mut test) = (Vec::new(), Vec::new());
        let tests: &[Part<O::Evaluation>] = self.parts.test.as_deref().unwrap_or(&[]);
        let is_asked = |at: usize| self.recording_of[1..].iter().any(|of| of.contains(&at));
        for (_, recording) in self.recordings.iter_mut().enumerate().filter(|(at, _)| is_asked(*at)) {
            // One pass serves validation and test alike.
            recording.evaluate_all(&self.model, epoch as u64);
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
                for part in asked.into_iter().filter(|_| !metrics[stage].is_empty()) {
                    let mut progress = |done: usize, total: usize| {
                        // In thousandths of all parts.
                        let done = 1000.0 * (part_number as f64 + done as f64 / total as f64) / num_parts as f64;
                        observer.stage(Stage::Scoring, done as usize, 1000);
                    };
                    let (name, part) = ((stage, part), &parts[part]);
                    values.push(self.objective.metrics(metrics[stage], name, part, h, &self.model, &mut progress)?);
                    part_number += 1;
                }
            }
        }
        let valid = means(&valid);
        let test = if self.parts.test.is_some() { means(&test) } else { valid.clone() };
        Ok([valid, test])
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

    /// The best epoch, with all that is reported of it.
    pub fn finish(mut self, observer: &mut dyn Observer) -> Result<Finished> {
        observer.stage(Stage::Report, 0, 1);
        let mut best = self.best.take().expect("the first epoch is always evaluated");
        self.model.weights.set_values(best.weights);
        let reported = std::mem::take(&mut self.reported);
        let metrics = match best.reported.take() {
            Some(known) => known,
            None if reported.is_empty() => Vec::new(),
            None => self.measure([&[], &reported], best.epoch, observer)?[1].clone(),
        };
        let Trainer { mut model, parts, curve, recordings, masked, objective, .. } = self;
        // Buffers of the training, which the vectors need not wait for.
        drop((recordings, masked, objective));
        let cosines = O::finish(&mut model, &parts, best.epoch as u64)?;
        best.weights = model.weights.entries().iter().map(|weight| weight.value.clone()).collect();
        Ok(Finished { best, metrics, curve, cosines })
    }
}

/// What a repeat leaves.
pub(super) struct Finished {
    pub best: Best,
    /// Those that are reported, in order.
    pub metrics: Vec<f64>,
    /// Every evaluation.
    pub curve: Vec<Evaluation>,
    /// What the cosines of vectors are worth.
    pub cosines: CosinesOfVectors,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Dataset;
    use crate::source::Refresh;
    use crate::task::Task;
    use crate::train::Config;
    use crate::training::Training;

    /// The classes of the leaders without dropout or decay, so that a loss depends on the weights alone.
    fn settings() -> Config {
        let config = Config { task: Task::NodeClassification, model: "gcn".into(), repeats: 1, ..Config::default() };
        let config = Config { dropout: 0.0.into(), weight_decay: 0.0.into(), decay_at: 0.into(), ..config };
        Config { epochs: 4.into(), evaluate_every: 1.into(), ..config }
    }

    /// As `settings`, for links and with steps that are lost in rounding.
    fn links_at_rest() -> Config {
        let config = Config { task: Task::LinkPrediction, model: "smp-linear".into(), ..settings() };
        Config { learning_rate: 1e-30.into(), ..config }
    }

    fn curve(config: Config) -> Vec<Evaluation> {
        let dataset = Dataset::built_in("leaders").unwrap();
        Training::new(&dataset, config).unwrap().run().unwrap().summary.repeats.remove(0).curve
    }

    fn losses(config: Config) -> Vec<f64> {
        curve(config).iter().map(|evaluation| evaluation.loss).collect()
    }

    #[test]
    fn every_step_drops_entries_of_its_own() {
        let at_rest = Config { learning_rate: 1e-30.into(), ..settings() };
        let all_kept = losses(at_rest.clone());
        assert!(all_kept.iter().all(|loss| *loss == all_kept[0]), "{all_kept:?}");
        let some_dropped = losses(Config { dropout: 0.5.into(), ..at_rest });
        assert!(some_dropped.windows(2).all(|pair| pair[0] != pair[1]), "{some_dropped:?}");
    }

    #[test]
    fn a_gradient_that_is_clipped_to_nearly_nothing_teaches_nearly_nothing() {
        let learnt = |clip_norm: f32| {
            let losses = losses(Config { clip_norm, ..settings() });
            losses[0] - losses[3]
        };
        let (free, clipped) = (learnt(0.0), learnt(1e-12));
        assert!(free > 1e-3 && clipped.abs() < 1e-2 * free, "{free} {clipped}");
    }

    #[test]
    fn patience_ends_a_training_whose_metric_stays_as_it_was() {
        let config = Config { learning_rate: 1e-30.into(), patience: 3.into(), epochs: 50.into(), ..settings() };
        // Every epoch is as good as the first.
        assert_eq!(curve(config).len(), 4);
    }

    #[test]
    fn every_evaluation_draws_a_resampled_signal_of_its_own() {
        let valid = |refresh: Refresh| -> Vec<f64> {
            curve(Config { refresh: refresh.into(), ..links_at_rest() }).iter().map(|found| found.valid).collect()
        };
        let (fixed, resampled) = (valid(Refresh::Fixed), valid(Refresh::Resampled));
        assert!(fixed.iter().all(|valid| *valid == fixed[0]), "{fixed:?}");
        assert!(resampled.windows(2).any(|pair| pair[0] != pair[1]), "{resampled:?}");
    }

    #[test]
    fn the_loss_of_an_epoch_is_the_mean_over_its_steps() {
        let loss = |batch_size: usize| losses(Config { batch_size: batch_size.into(), ..links_at_rest() })[0];
        let (one_step, many_steps) = (loss(0), loss(100));
        assert!((one_step / many_steps - 1.0).abs() < 0.1, "{one_step} {many_steps}");
    }

    #[test]
    fn more_negatives_per_positive_are_more_negatives() {
        let loss = |count: usize| losses(Config { negatives_per_positive: count.into(), ..links_at_rest() })[0];
        assert_ne!(loss(1), loss(4));
    }

    #[test]
    fn a_learning_rate_that_falls_to_nearly_nothing_ends_learning() {
        let losses = losses(Config { decay_at: 1.into(), decay_factor: 1e-20, ..settings() });
        // A loss is that before the step of its epoch.
        assert!((losses[0] - losses[1]).abs() > 1e-4, "{losses:?}");
        assert!(losses[1] == losses[2] && losses[2] == losses[3], "{losses:?}");
    }

    #[test]
    fn every_epoch_goes_through_the_graphs_in_an_order_of_its_own() {
        let orders: Vec<Vec<usize>> = (1..=4).map(|epoch| order_of_parts(9, Seeds::new(1), epoch)).collect();
        assert!(orders.windows(2).all(|pair| pair[0] != pair[1]), "{orders:?}");
        for mut order in orders {
            order.sort_unstable();
            assert_eq!(order, (0..9).collect::<Vec<_>>());
        }
    }
}
