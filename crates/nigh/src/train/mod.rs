//! 6. Learning: settings, the loop over repeats, and what it leaves.

mod adam;
mod baseline;
mod batch_nodes;
mod checkpoint;
pub(crate) mod class_memory;
mod config;
mod effect;
pub(crate) mod limit;
mod measured_errors;
pub(crate) mod model_memory;
mod node_objective;
mod objective;
mod observer;
mod pair_objective;
mod pair_table;
mod pool;
mod reordered;
mod resolve;
pub(crate) mod sampled;
mod setting;
mod trainer;

pub(crate) use adam::Adam;
pub use baseline::Baseline;
pub use baseline::constant_answer;
pub use checkpoint::Checkpoint;
pub use config::{Config, NodeFeatures, Protocol, Resolved};
pub use observer::{Observer, Progress, Silent, Stage};
pub use resolve::ChosenModel;
#[cfg(test)]
pub(crate) use resolve::FitSettings;
#[cfg(test)]
pub(crate) use sampled::HeldOut;
pub use setting::{Setting, SettingGroup};

pub use crate::choices::{Optimizer, Schedule};
pub use crate::statistics::mean_and_std;

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::linalg::half::StorageError;
use crate::metric::{ClassMetric, Metric, Metrics, PairMetric, SetMetric};
use crate::models::{Architecture, Dimensions, Model};
use crate::propagation::Execution;
use crate::seeds::Seeds;
use crate::task::{ConnectedPairs, EvaluationPairs, LabelledNodes, LabelledSets, Masking, Part, Parts, Split, Task};
use checkpoint::CheckpointWriter;
use measured_errors::{proximity_error, storage_error};
use node_objective::NodeObjective;
use objective::Objective;
use pair_objective::PairObjective;
use pool::on_the_pool;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};
use trainer::{Best, Finished, State, Trainer};

/// What one repeat found.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
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
    /// Every evaluation.
    pub curve: Vec<Evaluation>,
    /// Link prediction: the test metric on pairs both of whose ends have a visible edge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connected: Option<Connected>,
    /// Hits@K: the number of negatives, where a positive of validation or test is ranked among fewer than K. Each such positive
    /// counts as a hit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub few_negatives: Option<usize>,
    /// Tasks about pairs: AUC of the cosines of vectors alone on test pairs, where the model has vectors and positives are ranked
    /// among all negatives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vectors_auc: Option<f64>,
    /// Rank correlation of the cosines of vectors and the model's scores on test pairs, where vectors are not all that the model
    /// scores by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement: Option<f64>,
    /// Every metric of the task on the test part, at the same epoch.
    #[serde(default, skip_serializing_if = "Metrics::is_empty")]
    pub metrics: Metrics,
    /// Simple answers to the same test.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub baselines: Vec<Baseline>,
}

impl Run {
    /// Epochs that were run: fewer than planned if validation had not become better for long.
    pub fn epochs(&self) -> usize {
        self.curve.last().map_or(0, |evaluation| evaluation.epoch)
    }
}

/// What a run reports in addition to the metric that chooses the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Reporting {
    /// Nothing: for tables and searches.
    Nothing,
    /// Every metric of the task.
    Metrics,
    /// Every metric of the task, and simple baselines of the same split.
    #[default]
    MetricsAndBaselines,
}

/// The test metric on pairs both of whose ends have an edge that message passing sees. A node without one may tell by that
/// alone that its pairs were held out.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Connected {
    /// The metric on those pairs.
    pub test: f64,
    /// The fraction of positives among them.
    pub positives: f64,
    /// The fraction of negatives among them.
    pub negatives: f64,
}

impl Connected {
    /// Whether every pair of the test is one of them.
    pub fn is_all(&self) -> bool {
        self.positives == 1.0 && self.negatives == 1.0
    }
}

/// The metrics after one epoch.
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

/// What is trained, on what, and how.
pub(crate) struct Job<'a> {
    pub dataset: &'a Dataset,
    pub dimensions: Dimensions,
    pub config: &'a Resolved,
    pub architecture: &'a Architecture,
    pub splits: Splits<'a>,
    /// How it keeps to its memory.
    pub execution: &'a Arc<Execution>,
    pub reporting: Reporting,
}

/// Where the split of each repeat comes from.
#[derive(Clone, Copy)]
pub(crate) enum Splits<'a> {
    /// Its seed gives it.
    Drawn,
    /// The same for all of them.
    Given(&'a Split),
    /// Its seed gives it: pairs are sampled, and rows gathered for them.
    Sampled,
}

/// The split of a repeat, with what is known of it before training.
#[derive(Debug)]
pub(crate) struct PreparedSplit {
    pub split: Split,
    /// Its fingerprint.
    pub digest: String,
    pub baselines: Vec<Baseline>,
    /// The pairs of the test both of whose ends have a visible edge.
    pub connected: Option<Vec<Part<ConnectedPairs>>>,
}

/// What a training leaves: every repeat, and the model of the one that was best on its validation part.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// In order of their seeds.
    pub runs: Vec<Run>,
    /// Which of them the model comes from.
    pub best: usize,
    /// With the weights of that repeat's best epoch.
    pub model: Model,
    /// Time per epoch, evaluations included, over what was run in this process.
    pub millis_per_epoch: f64,
    /// What storing rows in half precision between hops changed, if they were.
    pub storage_error: Option<StorageError>,
    /// The error of estimated walk proximities that Theorem 2 promises for 95 of 100 pairs, if they are estimated.
    pub proximity_error: Option<f64>,
}

/// Trains `config.repeats` models and keeps the best. With a checkpoint, a training that was killed resumes and ends with the
/// same bytes.
pub(crate) fn fit(job: &Job<'_>, observer: &mut dyn Observer, checkpoint: Option<&Checkpoint>) -> Result<Outcome> {
    on_the_pool(|| fit_repeats(job, observer, checkpoint))
}

fn fit_repeats(job: &Job<'_>, observer: &mut dyn Observer, checkpoint: Option<&Checkpoint>) -> Result<Outcome> {
    let config = job.config;
    let mut ended = EndedRepeats::default();
    let writer = checkpoint.map(|checkpoint| checkpoint.writer(job));
    let mut resumed = match &writer {
        Some(writer) => writer.load(&job.build(config.seed)?, &mut ended)?,
        None => None,
    };
    let (started, mut epochs_run, mut not_training) = (Instant::now(), 0, Duration::ZERO);
    while ended.runs.len() < config.repeats {
        let seed = config.seed + ended.runs.len() as u64;
        observer.stage(Stage::Split, 0, 1);
        let aside = Instant::now();
        let PreparedSplit { split, digest, baselines, connected } = job.prepare(seed, observer)?;
        not_training += aside.elapsed();
        let few_negatives = few_negatives(&split, config.metric);
        let metrics = reported(&split, config.metric, job.reporting);
        let test = connected.filter(|parts| !parts.is_empty()).map(|parts| ConnectedTest { parts });
        let repeat = Repeat {
            config,
            seed,
            digest,
            model: job.build(seed)?,
            resumed: resumed.take(),
            observer,
            ended: &ended,
            writer: writer.as_ref(),
            metrics: &metrics,
        };
        if matches!(split, Split::Pairs(_)) != config.task.is_about_pairs() {
            return Err(wrong_kind(&split, config));
        }
        let mut finished = match split {
            Split::Nodes(parts) => fit_repeat::<NodeObjective<LabelledNodes>>(repeat, parts, Metric::of_classes)?,
            Split::Sets(parts) => fit_repeat::<NodeObjective<LabelledSets>>(repeat, parts, Metric::of_sets)?,
            Split::Pairs(parts) => fit_repeat::<PairObjective>(repeat, parts, Metric::of_pairs)?,
        };
        let aside = Instant::now();
        finished.run.few_negatives = few_negatives;
        finished.run.baselines = baselines;
        finished.run.connected = test.map(|test| test.measure(job, &finished)).transpose()?.flatten();
        not_training += aside.elapsed() + finished.not_training;
        observer.repeat(&finished.run);
        epochs_run += finished.epochs_run;
        ended.push(finished.run, finished.weights);
        if let Some(writer) = &writer {
            writer.save(&ended, None)?;
        }
        if finished.flow.is_break() {
            break;
        }
    }
    let best = ended.best();
    let mut model = job.build(ended.runs[best].seed)?;
    model.weights.set_values(ended.best_weights);
    let millis_per_epoch = (started.elapsed() - not_training).as_secs_f64() * 1e3 / epochs_run.max(1) as f64;
    Ok(Outcome {
        best,
        model,
        millis_per_epoch,
        storage_error: storage_error(job),
        proximity_error: proximity_error(job),
        runs: ended.runs,
    })
}

/// One repeat before it is run.
struct Repeat<'a> {
    config: &'a Resolved,
    seed: u64,
    /// Fingerprint of the split.
    digest: String,
    /// At its random start.
    model: Model,
    /// Where an earlier process stopped.
    resumed: Option<State>,
    observer: &'a mut dyn Observer,
    /// The repeats before it, for the checkpoint.
    ended: &'a EndedRepeats,
    writer: Option<&'a CheckpointWriter<'a>>,
    /// To measure on the test part at the end.
    metrics: &'a [Metric],
}

/// One repeat after it was run.
struct FinishedRepeat {
    run: Run,
    /// Of its best epoch.
    weights: Vec<Matrix>,
    epochs_run: usize,
    /// Time after the last epoch.
    not_training: Duration,
    /// Whether the observer stopped it.
    flow: ControlFlow<()>,
}

fn fit_repeat<O: Objective>(
    repeat: Repeat<'_>,
    parts: Parts<O::Training, O::Evaluation>,
    of_kind: fn(Metric) -> Option<O::Metric>,
) -> Result<FinishedRepeat> {
    let Repeat { config, seed, digest, model, resumed, observer, ended, writer, metrics } = repeat;
    let metric = of_kind(config.metric).ok_or_else(|| wrong_metric(config.metric))?;
    let reported: Vec<O::Metric> = metrics.iter().copied().filter_map(of_kind).collect();
    let mut trainer = Trainer::<O>::new(parts, metric, reported, model, config.fit(), resumed, observer)?;
    let (number, mut epochs_run, mut flow) = (ended.runs.len(), 0, ControlFlow::Continue(()));
    while !trainer.has_ended() && flow.is_continue() {
        let (loss, evaluation) = trainer.run_epoch(observer)?;
        epochs_run += 1;
        let (repeats, epochs, epoch) = (config.repeats, config.epochs, trainer.epoch);
        flow = observer.epoch(&Progress { repeat: number, repeats, epoch, epochs, loss }, evaluation.as_ref());
        if let Some(writer) = writer {
            writer.save_if_due(ended, &trainer.snapshot())?;
        }
    }
    let aside = Instant::now();
    let Finished { best, metrics: values, curve, cosines } = trainer.finish(observer)?;
    let not_training = aside.elapsed();
    let Best { epoch: best_epoch, valid, test, weights, .. } = best;
    let run = Run {
        seed,
        test,
        valid,
        best_epoch,
        split: digest,
        curve,
        vectors_auc: cosines.auc,
        agreement: cosines.agreement,
        metrics: metrics.iter().copied().zip(values).collect(),
        ..Run::default()
    };
    Ok(FinishedRepeat { run, weights, epochs_run, not_training, flow })
}

/// What is reported of a split: every metric of its kind and the one that chooses the epoch. Hits@K among fewer than K negatives says
/// nothing and is left out.
fn reported(split: &Split, chosen: Metric, reporting: Reporting) -> Vec<Metric> {
    let mut metrics: Vec<Metric> = match split {
        _ if reporting == Reporting::Nothing => return Vec::new(),
        Split::Nodes(_) => ClassMetric::REPORTED.map(Metric::from).to_vec(),
        Split::Sets(_) => SetMetric::ALL.map(Metric::from).to_vec(),
        Split::Pairs(parts) => {
            let fewest = parts.test().iter().map(|part| part.question.fewest_negatives()).min().unwrap_or(0);
            return reported_of_pairs(fewest, chosen);
        }
    };
    metrics.push(chosen);
    metrics.sort_unstable();
    metrics.dedup();
    metrics
}

/// What is reported of pairs, of which the fewest negatives that a positive of the test is ranked among are so many.
fn reported_of_pairs(fewest: usize, chosen: Metric) -> Vec<Metric> {
    let says_something = |metric: &PairMetric| !matches!(metric, PairMetric::HitsAt(k) if fewest < *k);
    let said = PairMetric::REPORTED.into_iter().filter(says_something).map(Metric::from);
    let mut metrics: Vec<Metric> = said.chain([chosen]).collect();
    metrics.sort_unstable();
    metrics.dedup();
    metrics
}

/// The fewest negatives that a positive of validation or test is ranked among, if Hits@K needs more.
fn few_negatives(split: &Split, metric: Metric) -> Option<usize> {
    let (Split::Pairs(parts), Metric::Pairs(PairMetric::HitsAt(k))) = (split, metric) else { return None };
    let counts = parts.valid.iter().chain(parts.test()).map(|part| part.question.fewest_negatives());
    counts.min().filter(|&count| count < k)
}

/// The pairs of the test both of whose ends have a visible edge.
struct ConnectedTest {
    parts: Vec<Part<ConnectedPairs>>,
}

/// The pairs of the test both of whose ends have an edge, as message passing sees them.
fn connected_parts(split: &Split, config: &Resolved) -> Option<Vec<Part<ConnectedPairs>>> {
    let Split::Pairs(parts) = split else { return None };
    if config.task != Task::LinkPrediction {
        return None;
    }
    let connected = |part: &Part<EvaluationPairs>| {
        let question = part.question.connected(part.view.graph())?;
        Some(Part { view: part.view.clone(), question })
    };
    Some(parts.test.as_ref()?.iter().filter_map(connected).collect())
}

impl ConnectedTest {
    /// With the weights of the best epoch. One more pass, and none if no pair is left out.
    fn measure(self, job: &Job<'_>, finished: &FinishedRepeat) -> Result<Option<Connected>> {
        let Metric::Pairs(metric) = job.config.metric else { return Ok(None) };
        let mean = |of: fn(&ConnectedPairs) -> f64| {
            mean_and_std(&self.parts.iter().map(|part| of(&part.question)).collect::<Vec<_>>()).0
        };
        let run = &finished.run;
        let (positives, negatives) = (mean(|pairs| pairs.positives), mean(|pairs| pairs.negatives));
        let connected = Connected { test: run.test, positives, negatives };
        if connected.is_all() {
            return Ok(Some(connected));
        }
        let mut model = job.build(run.seed)?;
        model.weights.set_values(finished.weights.clone());
        let draw = run.best_epoch as u64;
        let mut objective = PairObjective::for_evaluation(&model)?;
        let parts = self.parts.into_iter().map(|part| Part { view: part.view, question: part.question.pairs });
        let parts: Vec<_> = parts.collect();
        let test = objective::mean_metrics(&mut objective, &[metric], 0, &parts, &model, draw)?[0];
        Ok(Some(Connected { test, ..connected }))
    }
}

fn wrong_metric(metric: Metric) -> Error {
    Error::setting("metric", metric, "it does not fit the split")
}

fn wrong_kind(split: &Split, config: &Resolved) -> Error {
    let kind = |pairs: bool| if pairs { "pairs" } else { "nodes" };
    Error::SplitKind {
        task: config.task.name(),
        expected: kind(config.task.is_about_pairs()),
        split: kind(matches!(split, Split::Pairs(_))),
    }
}

impl Job<'_> {
    /// The model at its random start.
    fn build(&self, seed: u64) -> Result<Model> {
        Model::build(self.architecture.clone(), self.config.shape(self.dimensions), Seeds::new(seed))
    }

    /// The split of a repeat, and what is known of it.
    fn prepare(&self, seed: u64, observer: &mut dyn Observer) -> Result<PreparedSplit> {
        let (config, dataset) = (self.config, self.dataset);
        let split = match self.splits {
            Splits::Given(split) => split.clone(),
            Splits::Sampled => return self.prepare_sampled(seed, observer),
            Splits::Drawn => {
                // Masks choose a few edges by their numbers, and the same ones for all epochs.
                let lists = config.mask_training_pairs != Masking::Folds;
                config.split().split_within(dataset, Seeds::new(seed), lists, self.execution)?
            }
        };
        let baselines = match self.reporting {
            Reporting::MetricsAndBaselines => {
                observer.stage(Stage::Baselines, 0, 1);
                let metrics = reported(&split, config.metric, self.reporting);
                baseline::baselines(&split, config.task, &metrics, &config.model)?
            }
            Reporting::Nothing | Reporting::Metrics => Vec::new(),
        };
        let connected = connected_parts(&split, config);
        let digest = config.split().fingerprint(dataset, &split);
        Ok(PreparedSplit { digest, split, baselines, connected })
    }
}

/// Repeats that have ended.
#[derive(Debug, Default)]
struct EndedRepeats {
    runs: Vec<Run>,
    /// Of the repeat that was best on its validation part.
    best_weights: Vec<Matrix>,
}

impl EndedRepeats {
    fn push(&mut self, run: Run, weights: Vec<Matrix>) {
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

/// The metrics of a trained model on the validation and the test part of a split, each part seen through its own view.
pub(crate) fn evaluate(model: &Model, metric: Metric, split: &Split, draw: u64) -> Result<[Metrics; 2]> {
    let metrics = reported(split, metric, Reporting::Metrics);
    let values = match split {
        Split::Nodes(parts) => {
            let metrics = of_kind(&metrics, Metric::of_classes)?;
            objective::evaluate(&mut NodeObjective::<LabelledNodes>::for_evaluation(), &metrics, parts, model, draw)?
        }
        Split::Sets(parts) => {
            let metrics = of_kind(&metrics, Metric::of_sets)?;
            objective::evaluate(&mut NodeObjective::<LabelledSets>::for_evaluation(), &metrics, parts, model, draw)?
        }
        Split::Pairs(parts) => {
            let metrics = of_kind(&metrics, Metric::of_pairs)?;
            objective::evaluate(&mut PairObjective::for_evaluation(model)?, &metrics, parts, model, draw)?
        }
    };
    Ok(values.map(|values| metrics.iter().copied().zip(values).collect()))
}

fn of_kind<M>(metrics: &[Metric], of_kind: fn(Metric) -> Option<M>) -> Result<Vec<M>> {
    metrics.iter().map(|&metric| of_kind(metric).ok_or_else(|| wrong_metric(metric))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Features;
    use crate::graph::Graph;
    use crate::models::View;
    use crate::source::Refresh;
    use crate::task::PairParts;

    #[test]
    fn the_model_is_that_of_the_repeat_that_was_best_on_validation() {
        let mut ended = EndedRepeats::default();
        for (number, (valid, test)) in [(0.7, 0.9), (0.8, 0.1), (0.8, 0.2)].into_iter().enumerate() {
            ended.push(Run { valid, test, ..Run::default() }, vec![Matrix::from_rows(&[[number as f32]])]);
        }
        assert_eq!((ended.best(), ended.best_weights[0].data()), (1, &[1.0][..]));
    }

    /// A test of one pair among so many others.
    fn among(negatives: u32) -> Split {
        let graph = Graph::from_edges(200, &[[0, 1]]).unwrap().0;
        let view = View::new(graph, Features::Constant(200)).unwrap().into();
        let question = EvaluationPairs::pooled(vec![[0, 1]], (0..negatives).map(|node| [0, 2 + node]).collect());
        let part = vec![Part { view, question }];
        Split::Pairs(PairParts { train: Vec::new(), valid: part.clone(), test: Some(part) })
    }

    #[test]
    fn hits_among_fewer_negatives_than_their_number_are_marked_or_left_out() {
        let hits = |k| Metric::Pairs(PairMetric::HitsAt(k));
        assert_eq!(few_negatives(&among(50), hits(50)), None);
        assert_eq!(few_negatives(&among(49), hits(50)), Some(49));
        let of = |negatives| reported(&among(negatives), Metric::Pairs(PairMetric::Auc), Reporting::Metrics);
        assert!(of(50).contains(&hits(50)) && !of(50).contains(&hits(100)), "{:?}", of(50));
        assert!(!of(49).contains(&hits(50)), "{:?}", of(49));
    }

    #[test]
    fn connected_pairs_are_scored_with_the_signal_of_the_best_epoch() {
        // A pair apart, one end of which may lose its only edge.
        let edges: Vec<[u32; 2]> = (0..60).flat_map(|a| [[a, (a + 1) % 60], [a, (a + 7) % 60]]).collect();
        let edges = [edges, (60..100).map(|leaf| [leaf, leaf - 60]).collect()].concat();
        let dataset = Dataset::from_graph("ring", Graph::from_edges(100, &edges).unwrap().0);
        let config = Config { model: "smp-linear".into(), refresh: Refresh::Resampled.into(), ..Config::default() };
        let config = config.resolve(&dataset).unwrap();
        let architecture = config.architecture(Dimensions::of(&dataset)).unwrap();
        let job = Job {
            dataset: &dataset,
            dimensions: Dimensions::of(&dataset),
            config: &config,
            architecture: &architecture,
            splits: Splits::Drawn,
            execution: &Arc::default(),
            reporting: Reporting::Nothing,
        };
        let split = config.split().split(&dataset, Seeds::new(1)).unwrap();
        let weights: Vec<Matrix> =
            job.build(1).unwrap().weights.entries().iter().map(|weight| weight.value.clone()).collect();
        let tests: Vec<f64> = (1..=4)
            .map(|best_epoch| {
                let run = Run { seed: 1, best_epoch, ..Run::default() };
                let (weights, flow) = (weights.clone(), ControlFlow::Continue(()));
                let finished = FinishedRepeat { run, weights, epochs_run: 1, not_training: Duration::ZERO, flow };
                let test = ConnectedTest { parts: connected_parts(&split, &config).unwrap() };
                let connected = test.measure(&job, &finished).unwrap().unwrap();
                assert!(!connected.is_all(), "some pairs are left out");
                connected.test
            })
            .collect();
        assert!(tests.windows(2).any(|pair| pair[0] != pair[1]), "{tests:?}");
    }
}
