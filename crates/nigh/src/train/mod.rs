//! 6. Learning: the loop, readable top to bottom.

mod adam;
mod batch_nodes;
mod checkpoint;
mod config;
mod pool;
mod reordered;
mod resolve;
mod setting;

pub use adam::Adam;
use batch_nodes::BatchNodes;
pub use checkpoint::Checkpoint;
pub use config::{Config, Protocol, Resolved, SETTINGS};
use pool::on_the_pool;
use reordered::Reordered;
pub use setting::Setting;

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::graph::Operator;
use crate::linalg::Matrix;
use crate::linalg::half::{Storage, StorageError};
use crate::model::decoder::PairDecoder;
use crate::model::{Model, Recording, View, catalog};
use crate::ops::softmax;
use crate::seeds::{Purpose, Seeds};
use crate::task::{NegativePairs, Part, Question, Split};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Instant;

/// What one repeat found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Repeats differ in nothing else.
    pub seed: u64,
    /// The metric on the test part at the epoch that was best on the validation part.
    pub test: f64,
    /// The best metric on the validation part.
    pub valid: f64,
    /// That epoch, counted from one.
    pub best_epoch: usize,
    /// Fingerprint of the split.
    pub split: String,
    /// Every evaluation on the way.
    pub curve: Vec<Evaluation>,
}

/// One look at the model on the way.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Counted from one.
    pub epoch: usize,
    /// Training loss of that epoch.
    pub loss: f64,
    /// The metric on the validation part.
    pub valid: f64,
    /// The metric on the test part.
    pub test: f64,
}

/// Told of every step; bring your own to show, log or plot.
pub trait Observer: Send {
    /// What a model learns before training, as far as it is done.
    fn pretrain(&mut self, done: usize, total: usize) {
        let _ = (done, total);
    }

    /// An epoch has ended; `evaluation` if it was one of those that are evaluated.
    fn epoch(&mut self, progress: &Progress, evaluation: Option<&Evaluation>) {
        let _ = (progress, evaluation);
    }

    /// A repeat has ended.
    fn repeat(&mut self, run: &Run) {
        let _ = run;
    }
}

/// Watches nothing.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

impl Observer for Silent {}

/// How far a training is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Counted from zero.
    pub repeat: usize,
    /// Of so many.
    pub repeats: usize,
    /// Counted from one.
    pub epoch: usize,
    /// Of so many.
    pub epochs: usize,
    /// Training loss of the epoch.
    pub loss: f64,
}

/// What a training leaves: every repeat, and the model of the one that was best on its validation part.
#[derive(Debug)]
pub struct Outcome {
    /// In order of their seeds.
    pub runs: Vec<Run>,
    /// Which of them the model comes from.
    pub best: usize,
    /// With the weights of that repeat's best epoch.
    pub model: Model,
    /// Time per epoch, evaluations included, over what was run in this process.
    pub millis_per_epoch: f64,
    /// What storing rows in halves between hops changed, if they were.
    pub storage_error: Option<StorageError>,
}

impl Outcome {
    /// Mean and population standard deviation of the test metric.
    pub fn mean_and_std(&self) -> (f64, f64) {
        mean_and_std(&self.runs.iter().map(|run| run.test).collect::<Vec<_>>())
    }
}

/// Mean and population standard deviation.
pub fn mean_and_std(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
    (mean, variance.sqrt())
}

/// Trains `config.repeats` models and keeps the best. With a checkpoint, a run that was killed goes on where it was and
/// ends with the same bytes.
pub fn train(
    dataset: &Dataset,
    config: &Config,
    observer: &mut dyn Observer,
    checkpoint: Option<&Checkpoint>,
) -> Result<Outcome> {
    on_the_pool(|| train_all(dataset, config, observer, checkpoint))
}

fn train_all(
    dataset: &Dataset,
    config: &Config,
    observer: &mut dyn Observer,
    checkpoint: Option<&Checkpoint>,
) -> Result<Outcome> {
    let config = config.clone().resolve(dataset)?;
    let mut job = Job { runs: Vec::new(), best_weights: Vec::new() };
    let writer = checkpoint.map(|checkpoint| checkpoint.writer(&config, dataset));
    let mut resumed = match &writer {
        Some(writer) => writer.load(&config, dataset, &mut job)?,
        None => None,
    };
    let (started, mut epochs_run) = (Instant::now(), 0usize);
    while job.runs.len() < config.repeats {
        let repeat = job.runs.len();
        let seed = config.seed + repeat as u64;
        let split = config.task.split(dataset, &config, Seeds::new(seed))?;
        let mut trainer = Trainer::new(split, build(dataset, &config, seed)?, &config, seed, observer);
        if let Some(state) = resumed.take() {
            trainer.restore(state);
        }
        while trainer.epoch < config.epochs {
            trainer.advance(repeat, observer)?;
            epochs_run += 1;
            if let Some(writer) = &writer {
                writer.save_if_due(&job, &trainer)?;
            }
        }
        let (run, weights) = trainer.finish();
        observer.repeat(&run);
        job.end(run, weights);
        if let Some(writer) = &writer {
            writer.save(&job, None)?;
        }
    }
    let best = job.best();
    let mut model = build(dataset, &config, job.runs[best].seed)?;
    model.weights.set_values(job.best_weights);
    let millis_per_epoch = started.elapsed().as_secs_f64() * 1e3 / epochs_run.max(1) as f64;
    let storage_error = storage_error(dataset, &config);
    Ok(Outcome { best, model, millis_per_epoch, storage_error, runs: job.runs })
}

/// Columns of `E` on which the error of halves is measured.
const MEASURED: usize = 16;

/// The error of `Ã^K E` through halves, if that is how it is computed: the worst over the graphs of the data, all edges
/// in, on the first columns of `E`.
fn storage_error(dataset: &Dataset, config: &Config) -> Option<StorageError> {
    let stores = catalog::architecture(&config.model).is_ok_and(|architecture| architecture.stores_hops());
    if config.hop_storage == Storage::Single || !stores {
        return None;
    }
    let factor = config.signal_scale.get().factor(config.signal_dim);
    let errors = dataset.samples.iter().zip(0..).map(|(sample, graph)| {
        let nodes: Vec<u32> = (0..sample.graph.num_nodes() as u32).collect();
        let stream = Seeds::new(config.seed).stream(Purpose::Signal, &[graph]);
        let e = config.signal.matrix(stream, &nodes, 0..config.signal_dim.min(MEASURED), factor);
        Operator::symmetric(sample.graph.clone()).storage_error(&e, config.hops, config.hop_storage)
    });
    errors.reduce(StorageError::max)
}

/// Trains one model on a split of your own making. The configuration must be resolved; `model` is at its start.
pub fn train_on(split: Split, model: Model, config: &Config, observer: &mut dyn Observer) -> Result<(Run, Model)> {
    on_the_pool(|| {
        let mut trainer = Trainer::new(split, model, config, config.seed, observer);
        while trainer.epoch < config.epochs {
            trainer.advance(0, observer)?;
        }
        // With the weights of the decoder, which it may have been given without.
        let mut model = trainer.model.clone();
        let (run, weights) = trainer.finish();
        observer.repeat(&run);
        model.weights.set_values(weights);
        Ok((run, model))
    })
}

/// The model of a resolved configuration at its start, the decoder's weights included.
pub fn build(dataset: &Dataset, config: &Config, seed: u64) -> Result<Model> {
    build_for(config, Counts::of(dataset), seed)
}

/// The counts of the data that decide about the shape of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Features per node, 0 for none.
    pub features: usize,
    /// Classes, 0 for none.
    pub classes: usize,
    /// Nodes of the largest graph.
    pub nodes: usize,
}

impl Counts {
    /// Those of a dataset.
    pub fn of(dataset: &Dataset) -> Counts {
        let nodes = dataset.samples.iter().map(|sample| sample.graph.num_nodes()).max();
        Counts {
            features: dataset.samples[0].features.count(),
            classes: dataset.class_names.len(),
            nodes: nodes.unwrap_or(0),
        }
    }
}

/// As `build`, for data known by their counts alone.
pub(crate) fn build_for(config: &Config, counts: Counts, seed: u64) -> Result<Model> {
    let shape = config.shape(counts);
    let mut model = Model::build(catalog::architecture(&config.model)?, shape, Seeds::new(seed))?;
    if config.task.asks_pairs() {
        PairDecoder::new(config.decoder.get(), &mut model);
    }
    Ok(model)
}

/// Repeats that have ended.
#[derive(Debug)]
struct Job {
    runs: Vec<Run>,
    /// Of the repeat that was best on its validation part.
    best_weights: Vec<Matrix>,
}

impl Job {
    fn end(&mut self, run: Run, weights: Vec<Matrix>) {
        self.runs.push(run);
        if self.best() == self.runs.len() - 1 {
            self.best_weights = weights;
        }
    }

    /// The first of the best.
    fn best(&self) -> usize {
        (1..self.runs.len()).fold(0, |best, at| if self.runs[at].valid > self.runs[best].valid { at } else { best })
    }
}

/// One repeat on its way.
struct Trainer<'a> {
    config: &'a Config,
    seed: u64,
    /// Fingerprint of the split as it was given.
    digest: String,
    split: Split,
    /// Where the nodes of each training part are, if not in their own place.
    places: Vec<Option<Arc<[u32]>>>,
    model: Model,
    /// One per view; the parts point at them.
    recordings: Vec<Recording>,
    recording_of: [Vec<usize>; 3],
    /// One per training part, so that its positive pairs are sorted once; none for nodes.
    decoders: Vec<PairDecoder>,
    /// Scores pairs for evaluation.
    judge: Option<PairDecoder>,
    adam: Adam,
    epoch: usize,
    best: Option<Best>,
    curve: Vec<Evaluation>,
    /// All positive pairs of the part, in the order of this epoch, if they are taken in batches.
    positive: Vec<[u32; 2]>,
    batch: Vec<[u32; 2]>,
    negative: Vec<[u32; 2]>,
    asked: BatchNodes,
}

/// The model at its best so far.
#[derive(Debug, Clone)]
struct Best {
    epoch: usize,
    valid: f64,
    test: f64,
    weights: Vec<Matrix>,
}

/// Everything that changes while a repeat is trained; all randomness follows from it.
struct State {
    epoch: usize,
    weights: Vec<Matrix>,
    adam: Adam,
    best: Option<Best>,
    curve: Vec<Evaluation>,
}

impl<'a> Trainer<'a> {
    fn new(split: Split, mut model: Model, config: &'a Config, seed: u64, observer: &mut dyn Observer) -> Trainer<'a> {
        let digest = split.digest();
        let Reordered { split, places } = Reordered::new(split, config);
        // Several graphs have nothing in common that could be learnt without features; `resolve` lets one through.
        model.pretrain(&split.train[0].view, &mut |done, total| observer.pretrain(done, total));
        let mut views: Vec<Arc<View>> = Vec::new();
        let mut place = |part: &Part| {
            views.iter().position(|view| Arc::ptr_eq(view, &part.view)).unwrap_or_else(|| {
                views.push(part.view.clone());
                views.len() - 1
            })
        };
        let recording_of =
            [&split.train, &split.valid, &split.test].map(|parts| parts.iter().map(&mut place).collect());
        let recordings = views.iter().map(|view| model.record(view)).collect();
        let mut decoders = Vec::new();
        for part in &split.train {
            if let Question::Pairs { positive, .. } = &part.question {
                let mut decoder = PairDecoder::new(config.decoder.get(), &mut model);
                decoder.set_positives(part.view.graph().num_nodes(), positive);
                decoders.push(decoder);
            }
        }
        let judge = config.task.asks_pairs().then(|| PairDecoder::new(config.decoder.get(), &mut model));
        let adam = Adam::new(&model.weights);
        Trainer {
            config,
            seed,
            digest,
            split,
            places,
            model,
            recordings,
            recording_of,
            decoders,
            judge,
            adam,
            epoch: 0,
            best: None,
            curve: Vec::new(),
            positive: Vec::new(),
            batch: Vec::new(),
            negative: Vec::new(),
            asked: BatchNodes::default(),
        }
    }

    /// One epoch, with the look at the model that may be due after it.
    fn advance(&mut self, repeat: usize, observer: &mut dyn Observer) -> Result<()> {
        let loss = self.run_epoch()?;
        let Config { repeats, epochs, evaluate_every, .. } = *self.config;
        // Some models are never better than after their first epoch: GAT on the links of a graph with good features.
        let due = self.epoch.is_multiple_of(evaluate_every) || self.epoch == 1 || self.epoch == epochs;
        let evaluation = due.then(|| self.evaluate(loss)).transpose()?;
        observer.epoch(&Progress { repeat, repeats, epoch: self.epoch, epochs, loss }, evaluation.as_ref());
        Ok(())
    }

    /// One pass over the training parts, a step for each batch of each. Returns the mean loss of the steps.
    fn run_epoch(&mut self) -> Result<f64> {
        self.epoch += 1;
        let mut order: Vec<usize> = (0..self.split.train.len()).collect();
        self.model.seeds().rng(Purpose::Order, &[self.epoch as u64]).shuffle(&mut order);
        let (mut sum, mut steps) = (0.0, 0);
        for part in order {
            for batch in 0..self.num_batches(part) {
                sum += self.step(part, batch);
                steps += 1;
            }
        }
        let loss = sum / f64::from(steps);
        if !loss.is_finite() {
            let epoch = self.epoch;
            return Err(Error::Data(format!(
                "training diverged: the loss of epoch {epoch} is {loss}; a smaller learning-rate or clip-norm = 1 helps"
            )));
        }
        Ok(loss)
    }

    /// Represent, score, loss, backward, step.
    fn step(&mut self, part: usize, batch: usize) -> f64 {
        if self.model.weights.num_parameters() == 0 {
            return 0.0;
        }
        self.model.weights.clear_gradients();
        let in_batches = self.config.batch_size.get() > 0;
        if in_batches {
            self.choose_batch(part, batch);
        }
        let asked = &self.split.train[part];
        let recording = &mut self.recordings[self.recording_of[0][part]];
        let (model, steps) = (&self.model, self.adam.steps);
        let pass = match &asked.question {
            Question::Pairs { positive, .. } if !in_batches => {
                let (places, address) = (self.places[part].as_deref(), [self.epoch, batch]);
                let (negative, decoder) = (&mut self.negative, &mut self.decoders[part]);
                // Neither needs the other, and to sort pairs keeps one thread busy.
                let represent = || recording.train(model, steps);
                let set_negatives = || {
                    draw_negatives(asked, places, model.seeds(), address, positive.len(), negative);
                    decoder.set_negatives(asked.view.graph().num_nodes(), negative);
                };
                rayon::join(represent, set_negatives).0
            }
            _ => {
                recording.restrict(model, self.asked.nodes());
                recording.train(model, steps)
            }
        };
        let (h, gradient) = recording.representation_and_gradient();
        let loss = match &asked.question {
            Question::Nodes { nodes, labels } => softmax::nll(h, nodes, labels, gradient),
            Question::Pairs { .. } => self.decoders[part].loss(h, &mut self.model.weights, &pass, gradient),
        };
        recording.backward(&mut self.model);
        if self.config.clip_norm > 0.0 {
            self.model.weights.clip_gradients(self.config.clip_norm);
        }
        let learning_rate = self.config.learning_rate_at(self.epoch);
        self.adam.step(&mut self.model.weights, learning_rate, self.config.weight_decay);
        loss
    }

    fn num_batches(&self, part: usize) -> usize {
        match &self.split.train[part].question {
            Question::Pairs { positive, .. } if self.config.batch_size.get() > 0 => {
                positive.len().div_ceil(self.config.batch_size.get())
            }
            _ => 1,
        }
    }

    /// The positive pairs of a batch, as many negatives, and the nodes that have to be represented for them.
    fn choose_batch(&mut self, part: usize, batch: usize) {
        let asked = &self.split.train[part];
        let Question::Pairs { positive, .. } = &asked.question else { return };
        if batch == 0 {
            self.positive.clone_from(positive);
            let address = [self.epoch as u64, part as u64];
            self.model.seeds().rng(Purpose::Order, &address).shuffle(&mut self.positive);
        }
        let pairs = self.positive.chunks(self.config.batch_size.get()).nth(batch).expect("a batch that was counted");
        self.batch.clear();
        self.batch.extend_from_slice(pairs);
        let (places, address) = (self.places[part].as_deref(), [self.epoch, batch]);
        draw_negatives(asked, places, self.model.seeds(), address, pairs.len(), &mut self.negative);
        let num_nodes = asked.view.graph().num_nodes();
        self.asked.clear();
        // All ends different would be half of the nodes at most: it pays to leave the others out.
        if 8 * pairs.len() <= num_nodes && self.recordings[self.recording_of[0][part]].can_restrict() {
            self.asked.renumber(num_nodes, [&mut self.batch, &mut self.negative]);
        }
        let num_rows = self.asked.nodes().map_or(num_nodes, <[u32]>::len);
        self.decoders[part].set_positives(num_rows, &self.batch);
        self.decoders[part].set_negatives(num_rows, &self.negative);
    }

    /// The metric on validation and test; remembers the weights if validation was never better.
    fn evaluate(&mut self, loss: f64) -> Result<Evaluation> {
        let mut values: [Vec<f64>; 2] = Default::default();
        let num_parts = if self.config.task.holds_out() { 2 } else { 1 };
        for (at, recording) in self.recordings.iter_mut().enumerate() {
            let asked = |part: usize| self.recording_of[part].iter().enumerate().filter(move |entry| *entry.1 == at);
            if asked(1).chain(asked(2)).next().is_none() {
                continue;
            }
            recording.restrict(&self.model, None);
            // One pass serves validation and test alike.
            let h = recording.evaluate(&self.model, self.epoch as u64);
            for (part, parts) in [(1, &self.split.valid), (2, &self.split.test)].into_iter().take(num_parts) {
                for (number, _) in asked(part) {
                    let asked = &parts[number];
                    values[part - 1].push(judge(self.config, asked, h, self.judge.as_mut(), &self.model)?);
                }
            }
        }
        let [valid, test] = [0, num_parts - 1].map(|part| mean_and_std(&values[part]).0);
        let evaluation = Evaluation { epoch: self.epoch, loss, valid, test };
        self.curve.push(evaluation);
        // Of equally good epochs the latest counts: a handful of validation nodes is all right long before training ends.
        if self.best.as_ref().is_none_or(|best| valid >= best.valid) {
            let weights = self.model.weights.entries().iter().map(|weight| weight.value.clone()).collect();
            self.best = Some(Best { epoch: self.epoch, valid, test, weights });
        }
        Ok(evaluation)
    }

    fn finish(self) -> (Run, Vec<Matrix>) {
        let best = self.best.expect("the last epoch is always evaluated");
        let run = Run {
            seed: self.seed,
            test: best.test,
            valid: best.valid,
            best_epoch: best.epoch,
            split: self.digest,
            curve: self.curve,
        };
        (run, best.weights)
    }

    fn restore(&mut self, state: State) {
        self.model.weights.set_values(state.weights);
        self.adam = state.adam;
        self.epoch = state.epoch;
        self.best = state.best;
        self.curve = state.curve;
    }
}

/// Negatives for one step, at the address of its epoch and batch.
fn draw_negatives(
    part: &Part,
    places: Option<&[u32]>,
    seeds: Seeds,
    [epoch, batch]: [usize; 2],
    count: usize,
    pairs: &mut Vec<[u32; 2]>,
) {
    let Question::Pairs { negative: NegativePairs::Drawn(sampler), .. } = &part.question else {
        panic!("negatives for training are drawn")
    };
    // Validation and test draw theirs at addresses of two parts.
    sampler.draw(seeds.stream(Purpose::Negatives, &[part.view.graph, epoch as u64, batch as u64]), count, pairs);
    if let Some(places) = places {
        reordered::place(places, pairs);
    }
}

/// The metric of one part, given the representations.
fn judge(config: &Config, part: &Part, h: &Matrix, decoder: Option<&mut PairDecoder>, model: &Model) -> Result<f64> {
    let metric = config.metric.get();
    // What can't be compared would be ranked by accident.
    let check = |scores: &[f32]| match scores.iter().find(|score| !score.is_finite()) {
        None => Ok(()),
        Some(score) => Err(Error::Data(format!(
            "a score is {score}: training diverged, or features are enormous; a smaller learning-rate, clip-norm = 1 or \
             scaled features help"
        ))),
    };
    Ok(match &part.question {
        Question::Nodes { nodes, labels } => {
            nodes.iter().try_for_each(|&i| check(h.row(i as usize)))?;
            let predictions: Vec<u32> = nodes.iter().map(|&i| softmax::most_likely(h.row(i as usize))).collect();
            metric.of_classes(labels, &predictions)
        }
        Question::Pairs { positive, negative } => {
            let decoder = decoder.expect("pairs are asked with a decoder");
            let NegativePairs::Given(negative) = negative else { panic!("negatives for evaluation are given") };
            let graph = part.view.operator.graph();
            let positive = decoder.scores(graph, h, positive, &model.weights).to_vec();
            let negative = decoder.scores(graph, h, negative, &model.weights);
            check(&positive)?;
            check(negative)?;
            metric.of_pairs(&positive, negative)
        }
    })
}

/// The metric of a trained model on given parts, each seen through its own view.
pub fn evaluate(model: &mut Model, config: &Config, parts: &[Part], draw: u64) -> Result<f64> {
    let mut decoder = config.task.asks_pairs().then(|| PairDecoder::new(config.decoder.get(), model));
    let values = parts.iter().map(|part| {
        let h = model.represent(&part.view, draw);
        judge(config, part, &h, decoder.as_mut(), model)
    });
    Ok(mean_and_std(&values.collect::<Result<Vec<f64>>>()?).0)
}
