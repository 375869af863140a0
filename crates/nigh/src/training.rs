//! The one way to train: data, settings and, if wanted, an architecture, a split, an observer and a checkpoint of your own.

use crate::answer::Trained;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::memory::Memory;
use crate::models::catalog::Hyperparameters;
use crate::models::preset::Preset;
use crate::models::{Architecture, Dimensions, Separation};
use crate::propagation::{CostEstimate, Execution};
use crate::task::Split;
use crate::train::limit::{DataSize, PlannedRun};
use crate::train::{
    self, Checkpoint, Config, Job, Observer, Reporting, Resolved, Silent, Splits, class_memory, model_memory,
};
use nigh_formats::interrupt::catch;
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

/// A training that is ready to run.
///
/// ```
/// use nigh::{Config, Dataset, Training};
///
/// let dataset = Dataset::built_in("communities")?;
/// let config = Config { epochs: 40.into(), repeats: 1, ..Config::default() };
/// let trained = Training::new(&dataset, config)?.run()?;
/// assert!(trained.summary.mean > 0.9);
/// # Ok::<(), nigh::Error>(())
/// ```
pub struct Training<'d, 'o> {
    dataset: Cow<'d, Dataset>,
    config: Resolved,
    architecture: Architecture,
    split: Option<Split>,
    observer: Option<&'o mut (dyn Observer + 'o)>,
    checkpoint: Option<Checkpoint>,
    reporting: Reporting,
    execution: Arc<Execution>,
}

impl<'d> Training<'d, 'static> {
    /// Of a model of the catalog. The settings are checked and resolved.
    pub fn new(dataset: &'d Dataset, config: Config) -> Result<Training<'d, 'static>> {
        let config = config.resolve(dataset)?;
        let dataset = config.node_features.seen(dataset);
        let architecture = config.architecture(Dimensions::of(&dataset))?;
        Training::ready(dataset, config, architecture)
    }

    /// Of an architecture of your own, made from the settings. `config.model` is the name that the folder of the model
    /// remembers, and [`Trained::load_with`] reads that folder.
    pub fn with_architecture(
        dataset: &'d Dataset,
        config: Config,
        architecture: impl Fn(&Hyperparameters) -> Architecture,
    ) -> Result<Training<'d, 'static>> {
        let model = config.chosen_model().name;
        let dataset = config.node_features.seen(dataset);
        let config = config.resolve_for(&dataset, model, &architecture(&Hyperparameters::default()), Preset::PAPER)?;
        let architecture = config.architecture_of(Dimensions::of(&dataset), |settings| Ok(architecture(settings)))?;
        Training::ready(dataset, config, architecture)
    }

    fn ready(dataset: Cow<'d, Dataset>, config: Resolved, architecture: Architecture) -> Result<Training<'d, 'static>> {
        class_memory::check(&dataset, dataset.class_names.len(), config.task, &architecture)?;
        model_memory::check(&config, &architecture, Dimensions::of(&dataset))?;
        Ok(Training {
            dataset,
            config,
            architecture,
            split: None,
            observer: None,
            checkpoint: None,
            reporting: Reporting::default(),
            execution: Arc::default(),
        })
    }
}

impl<'d, 'o> Training<'d, 'o> {
    /// Learns from, chooses by and reports this split in every repeat.
    pub fn split(self, split: Split) -> Training<'d, 'o> {
        Training { split: Some(split), ..self }
    }

    /// Calls `observer` as the training proceeds; it may stop it.
    pub fn observer<'p>(self, observer: &'p mut (dyn Observer + 'p)) -> Training<'d, 'p> {
        let Training { dataset, config, architecture, split, checkpoint, reporting, execution, .. } = self;
        let observer: Option<&mut dyn Observer> = Some(observer);
        Training { dataset, config, architecture, split, checkpoint, reporting, execution, observer }
    }

    /// Writes the state of the training to a file, and resumes from it if it is there.
    pub fn checkpoint(self, checkpoint: Checkpoint) -> Training<'d, 'o> {
        Training { checkpoint: Some(checkpoint), ..self }
    }

    /// What is reported in addition to the metric that chooses the epoch: by default every metric of the task, and simple baselines.
    pub fn reporting(self, reporting: Reporting) -> Training<'d, 'o> {
        Training { reporting, ..self }
    }

    /// How it is separated into propagation and learning.
    pub(crate) fn separation(&self) -> Separation {
        match self.split {
            Some(_) => Separation::InMemory("the split is given"),
            None => self.config.separation(&DataSize::of(&self.dataset), &self.architecture),
        }
    }

    /// Why it runs in memory and is only checked against a limit; `None` for a training that [`Training::within`] keeps to any limit for
    /// which there is a plan: its message passing comes before everything that is learnt, and edges are held out at random.
    pub fn in_memory_reason(&self) -> Option<&'static str> {
        self.separation().in_memory_reason()
    }

    /// What it takes and how it is done, within a limit or without one: by the first plan that fits, or [in
    /// memory](Training::in_memory_reason), which is only checked against the limit. An error if the limit is too low.
    pub fn estimate(&self, memory: Option<Memory>) -> Result<CostEstimate> {
        let data = DataSize::of(&self.dataset);
        match self.split {
            Some(_) => {
                self.config.in_memory(&data, &self.architecture, PlannedRun::Training, self.separation(), memory)
            }
            None => self.config.estimate(&data, &self.architecture, PlannedRun::Training, memory),
        }
    }

    /// Keeps a training to this memory as [`Training::estimate`] says, with anonymous temporary files in `folder`. An error if the
    /// limit is too low.
    pub fn within(self, memory: Memory, folder: &Path) -> Result<Training<'d, 'o>> {
        let estimate = self.estimate(Some(memory))?;
        Ok(match self.in_memory_reason() {
            Some(_) => self,
            None => self.planned(&estimate, folder),
        })
    }

    /// An error if a training in memory would exceed this memory beyond doubt: estimates are at most 1.3 times what is taken.
    pub fn check_memory(&self, memory: Memory) -> Result<()> {
        match self.estimate(None)?.total() / 4 * 3 <= memory.bytes() {
            true => Ok(()),
            false => self.estimate(Some(memory)).map(|_| ()),
        }
    }

    /// As this plan says. The graph without held-out edges and panels are spilled to anonymous temporary files in `folder`.
    pub fn planned(self, plan: &CostEstimate, folder: &Path) -> Training<'d, 'o> {
        Training { execution: Execution::of(plan, folder).into(), ..self }
    }

    /// With this execution.
    pub(crate) fn executed(self, execution: Execution) -> Training<'d, 'o> {
        Training { execution: execution.into(), ..self }
    }

    /// Every setting, with all choices made.
    pub fn config(&self) -> &Resolved {
        &self.config
    }

    /// Trains, and keeps the model of the best repeat. Within [`threads::run`](crate::threads::run) it can be interrupted; what a
    /// checkpoint has then stays.
    pub fn run(self) -> Result<Trained> {
        let separation = self.separation();
        let Training { dataset, config, architecture, split, observer, checkpoint, reporting, execution } = self;
        if separation.in_memory_reason().is_some() || execution.graph_in.is_none() {
            dataset.samples.iter().try_for_each(|sample| sample.graph.load())?;
        }
        let splits = match &split {
            Some(split) => Splits::Given(split),
            None if matches!(separation, Separation::Rows { .. }) => Splits::Sampled,
            None => Splits::Drawn,
        };
        let dimensions = Dimensions::of(&dataset);
        let job = Job {
            dataset: &dataset,
            dimensions,
            config: &config,
            architecture: &architecture,
            splits,
            execution: &execution,
            reporting,
        };
        let mut silent = Silent;
        let outcome = catch(|| train::fit(&job, observer.unwrap_or(&mut silent), checkpoint.as_ref()))??;
        Ok(Trained::new(&dataset, config, outcome))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{Features, FixedPairs, FixedSplit, Sample};
    use crate::linalg::Matrix;
    use crate::task::{EvaluationNegatives, SplitChoice, Task};
    use crate::train::NodeFeatures;

    fn with_features() -> Dataset {
        let plain = Dataset::built_in("communities").unwrap();
        let features = |sample: &Sample| {
            let n = sample.graph.num_nodes();
            Features::Dense(Matrix::from_fn(n, 3, |row, column| (row * column % 7) as f32).into())
        };
        let samples =
            plain.samples.iter().map(|sample| Sample { features: features(sample), ..sample.clone() }).collect();
        Dataset { samples, feature_names: ["a", "b", "c"].map(String::from).to_vec(), ..plain }
    }

    #[test]
    fn a_model_without_features_neither_learns_from_them_nor_is_used_with_them() {
        let config = Config { epochs: 5.into(), repeats: 1, ..Config::default() };
        let blind = Config { node_features: NodeFeatures::None, ..config.clone() };
        let (given, plain) = (with_features(), Dataset::built_in("communities").unwrap());
        let train = |dataset: &Dataset, config: &Config| Training::new(dataset, config.clone()).unwrap().run().unwrap();
        let (with, without, alone) = (train(&given, &config), train(&given, &blind), train(&plain, &config));
        assert_eq!((with.summary.num_features, without.summary.num_features), (3, 0));
        assert!(without.summary.feature_names.is_empty());
        assert_eq!(without.summary.repeats[0].test, alone.summary.repeats[0].test);
        let rows = |trained: &Trained, dataset: &Dataset| trained.embed(dataset).unwrap().matrix.data().to_vec();
        assert_eq!(rows(&without, &given), rows(&alone, &plain));
        assert_ne!(rows(&without, &given), rows(&with, &given));
        // Another graph need not have the features either, and its evaluation is that of the same split.
        assert_eq!(rows(&without, &plain), rows(&alone, &plain));
        assert!(without.evaluate(&given).unwrap().0.held_out);
    }

    #[test]
    fn a_model_without_some_of_its_parts_is_saved_and_used_without_them() {
        let dataset = with_features();
        let folder = tempfile::tempdir().unwrap();
        let config = |without: &str| Config {
            model: "smp-proximity".into(),
            without: without.parse().unwrap(),
            epochs: 2.into(),
            repeats: 1,
            ..Config::default()
        };
        let train = |without| Training::new(&dataset, config(without)).unwrap().run().unwrap();
        let whole = train("none");
        // Of representations, and of numbers of pairs, which similarities are five of.
        let sizes = |trained: &Trained| {
            let size = |name: &str| trained.weights().get(name).map_or(0, |weight| weight.value.data().len());
            [size("pairs/product/1/weight"), size("pairs/mean")]
        };
        let [product, scalars] = sizes(&whole);
        for (without, left) in [("representations", [0, scalars]), ("similarities", [product, scalars - 5])] {
            let trained = train(without);
            assert_eq!(sizes(&trained), left, "{without}");
            let path = folder.path().join(without);
            trained.save(&path).unwrap();
            let loaded = Trained::load(&path).unwrap();
            assert_eq!(loaded.config.without.to_string(), without);
            let rows = |trained: &Trained| trained.embed(&dataset).unwrap().matrix.data().to_vec();
            assert_eq!(rows(&loaded), rows(&trained), "{without}");
            assert_ne!(rows(&loaded), rows(&whole), "{without}");
        }
        let wrong = |config: Config, dataset: &Dataset| Training::new(dataset, config).err().unwrap().to_string();
        let plain = Dataset::built_in("communities").unwrap();
        assert!(wrong(config("similarities"), &plain).contains("has no similarities on these data"));
        let linear = Config { model: "smp-linear".into(), ..config("degrees") };
        assert!(wrong(linear, &dataset).contains("smp-linear has no sources of pairs"));
    }

    #[test]
    fn a_run_says_what_the_cosines_of_its_vectors_are_worth_on_test_pairs() {
        let dataset = Dataset::built_in("communities").unwrap();
        let run = |model: &str, settings: Config| {
            let config = Config { model: model.into(), epochs: 5.into(), repeats: 1, ..settings };
            let trained = Training::new(&dataset, config).unwrap().run().unwrap();
            trained.summary.repeats[0].clone()
        };
        // Its score is the cosine.
        let linear = run("smp-linear", Config::default());
        assert_eq!((linear.vectors_auc, linear.agreement), (Some(linear.test), None));
        let proximity = run("smp-proximity", Config::default());
        assert!(proximity.agreement.unwrap() > 0.5 && proximity.vectors_auc.unwrap() > 0.8, "{proximity:?}");
        assert_ne!(proximity.vectors_auc, Some(proximity.test));
        assert_eq!(run("katz", Config::default()).vectors_auc, None);
        let heart = Config { evaluation_negatives: EvaluationNegatives::Heart.into(), ..Config::default() };
        assert_eq!(run("smp-linear", heart).vectors_auc, None);
        // Runs of earlier versions have no such figure.
        let written = serde_json::to_string(&linear).unwrap();
        let before = written.replace(&format!(",\"vectors_auc\":{}", linear.test), "");
        assert_ne!(before, written);
        assert_eq!(serde_json::from_str::<crate::Run>(&before).unwrap().vectors_auc, None);
    }

    #[test]
    fn without_a_test_part_the_validation_is_reported() {
        let run = |name: &str, task, split: &dyn Fn(&Dataset) -> FixedSplit| {
            let mut dataset = Dataset::built_in(name).unwrap();
            dataset.fixed_split = Some(split(&dataset));
            let config = Config { task, model: "smp-linear".into(), epochs: 5.into(), repeats: 1, ..Config::default() };
            let config = Config { train_per_class: 0.into(), ..config };
            let run = Training::new(&dataset, config).unwrap().run().unwrap().summary.repeats[0].clone();
            assert_eq!(run.test, run.valid, "{name}");
        };
        run("leaders", Task::NodeClassification, &|dataset| {
            FixedSplit::nodes(dataset, [(0..300).collect(), (300..400).collect(), Vec::new()]).unwrap()
        });
        run("communities", Task::LinkPrediction, &|dataset| {
            let edges: Vec<[u32; 2]> = dataset.samples[0].graph.edges().collect();
            let valid = FixedPairs { positive: edges[..300].to_vec(), negative: Vec::new() };
            FixedSplit::pairs(dataset, Some(edges[300..].to_vec()), [valid, FixedPairs::default()]).unwrap()
        });
    }

    #[test]
    fn a_random_split_sets_the_given_one_aside() {
        let mut dataset = Dataset::built_in("leaders").unwrap();
        dataset.fixed_split = Some(FixedSplit::Nodes([vec![0, 1], vec![2, 3], vec![4, 5]]));
        let config = Config { task: Task::NodeClassification, train_per_class: 0.into(), ..Config::default() };
        let split = |choice, seed| {
            let config = Config { split: choice, seed, ..config.clone() }.resolve(&dataset).unwrap();
            config.split().split(&dataset, crate::seeds::Seeds::new(seed)).unwrap().digest()
        };
        assert_eq!(split(SplitChoice::Given, 1), split(SplitChoice::Given, 2));
        assert_ne!(split(SplitChoice::Random, 1), split(SplitChoice::Random, 2));
    }
}
