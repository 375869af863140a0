//! Several models on one graph, with the same splits: repeats with the same seed share theirs, so differences are paired.

use crate::cell::Cell;
use crate::journal::{Entry, Identity, Journal};
use crate::measure::{Limit, measure_reporting};
use crate::record::Record;
use crate::significance::holm;
use nigh::metric::Metrics;
use nigh::models::catalog::CatalogModel;
use nigh::statistics::{interval_95, mean_and_std, paired_p};
use nigh::{Auto, Config, Dataset, Error, Memory, Metric, Observer, Reporting, Resolved, Result, Seeds};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Instant;

/// Several models on one graph.
///
/// ```
/// use nigh_paper::Comparison;
/// use nigh::{Config, Dataset, Silent};
///
/// let dataset = Dataset::built_in("communities")?;
/// let config = Config { epochs: 9.into(), repeats: 2, ..Config::default() };
/// let comparison = Comparison::new(&dataset, config, &["gcn", "katz"])?;
/// let models = comparison.run(None, "0", &mut Silent)?;
/// assert_eq!(models[0].model, "katz", "the best comes first");
/// assert!(models[1].p_values.is_some());
/// # Ok::<(), nigh::Error>(())
/// ```
#[derive(Debug)]
pub struct Comparison<'d> {
    dataset: &'d Dataset,
    config: Config,
    resolved: Resolved,
    cells: Vec<Cell>,
    limit: Option<Limit>,
}

/// A finished repeat of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComparedRepeat {
    /// The model.
    pub model: String,
    /// How long it took, set-up included.
    pub seconds: f64,
    /// What was found.
    pub record: Record,
}

impl Entry for ComparedRepeat {
    const NAME: &'static str = "repeat";
    const WHOLE: &'static str = "comparison";

    fn is_same(&self, other: &ComparedRepeat) -> bool {
        (&self.model, self.record.seed) == (&other.model, other.record.seed)
    }
}

/// A model with its repeats.
#[derive(Debug, Clone)]
pub struct ComparedModel {
    /// Its name.
    pub model: String,
    /// In order of their seeds.
    pub repeats: Vec<ComparedRepeat>,
    /// Of the difference to the best model; `None` for that one, and for a single repeat.
    pub p_values: Option<PValues>,
}

/// P-values of the difference between two models.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PValues {
    /// Of a paired t-test on this comparison alone.
    pub p: f64,
    /// Corrected for the number of comparisons (Holm).
    pub corrected: f64,
}

impl PValues {
    /// Differences with a smaller corrected p-value are significant.
    pub const LEVEL: f64 = 0.05;

    /// Whether the difference is significant among all comparisons.
    pub fn is_significant(&self) -> bool {
        self.corrected < PValues::LEVEL
    }
}

impl ComparedModel {
    /// The mean of every metric over the repeats.
    pub fn mean_metrics(&self) -> Metrics {
        let of_repeats = || self.repeats.iter().map(|repeat| &repeat.record.metrics);
        let mean = |metric: &Metric| {
            let values: Option<Vec<f64>> = of_repeats().map(|metrics| metrics.get(metric).copied()).collect();
            values.map(|values| (*metric, mean_and_std(&values).0))
        };
        of_repeats().next().into_iter().flat_map(|metrics| metrics.keys().filter_map(mean)).collect()
    }

    /// The test metric of each repeat.
    pub fn tests(&self) -> Vec<f64> {
        self.of_repeats(|repeat| repeat.record.test)
    }

    /// Mean and population standard deviation of the test metric.
    pub fn mean_and_std(&self) -> (f64, f64) {
        mean_and_std(&self.tests())
    }

    /// Mean time per epoch.
    pub fn millis_per_epoch(&self) -> f64 {
        mean_and_std(&self.of_repeats(|repeat| repeat.record.millis_per_epoch)).0
    }

    /// Time of all repeats.
    pub fn seconds(&self) -> f64 {
        self.of_repeats(|repeat| repeat.seconds).iter().sum()
    }

    /// Peak memory, if the system reports it.
    pub fn peak_bytes(&self) -> Option<u64> {
        self.repeats.iter().filter_map(|repeat| repeat.record.peak_bytes).max()
    }

    fn of_repeats(&self, value: fn(&ComparedRepeat) -> f64) -> Vec<f64> {
        self.repeats.iter().map(value).collect()
    }
}

/// Called as a comparison proceeds, in addition to what its trainings call.
pub trait ComparisonObserver: Observer {
    /// A repeat of a model begins; `done` have ended.
    fn begins(&mut self, _model: &str, _seed: u64, _done: usize) {}

    /// A repeat of a model has ended.
    fn ends(&mut self, _repeat: &ComparedRepeat) {}
}

impl ComparisonObserver for nigh::Silent {}

impl<'d> Comparison<'d> {
    /// Of these models, or of those that support the task if none is named. Settings are checked for each.
    pub fn new(dataset: &'d Dataset, config: Config, models: &[impl AsRef<str>]) -> Result<Comparison<'d>> {
        let cell = |model: &str| Cell {
            dataset: dataset.name.clone(),
            config: Config { model: model.into(), ..config.clone() },
        };
        let resolve = |cell: &Cell| cell.config.clone().resolve(dataset);
        let mut cells: Vec<Cell> = Vec::new();
        if models.is_empty() {
            let best = Config { model: Auto::Auto, ..config.clone() }.chosen_model().name;
            let others = CatalogModel::compared().into_iter().map(|model| model.name).filter(|model| *model != best);
            // If the best does not work, the problem is in the settings or the data.
            resolve(&cell(&best))?;
            cells = [&best[..]].into_iter().chain(others).map(cell).filter(|cell| resolve(cell).is_ok()).collect();
        }
        for model in models.iter().map(AsRef::as_ref) {
            if cells.iter().any(|cell| cell.config.model == model.into()) {
                return Err(Error::setting("models", model, format!("it names {model} twice")));
            }
            cells.push(cell(model));
            resolve(&cells[cells.len() - 1])?;
        }
        let resolved = resolve(&cells[0])?;
        Ok(Comparison { dataset, config, resolved, cells, limit: None })
    }

    /// Keeps every training to this memory, with anonymous temporary files in `folder`; one that can't is an error.
    pub fn within(self, memory: Memory, folder: &Path) -> Comparison<'d> {
        Comparison { limit: Some(Limit { memory, folder: folder.to_path_buf() }), ..self }
    }

    /// The folder of temporary files, if there is a limit.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.limit.as_ref().map(|limit| &*limit.folder)
    }

    /// The data.
    pub fn dataset(&self) -> &'d Dataset {
        self.dataset
    }

    /// The settings that all models share.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// What is compared.
    pub fn metric(&self) -> Metric {
        self.resolved.metric
    }

    /// The settings of the first model, with every choice made.
    pub(crate) fn resolved(&self) -> &Resolved {
        &self.resolved
    }

    /// The models, in the order in which they are trained.
    pub fn models(&self) -> Vec<String> {
        self.cells.iter().map(|cell| cell.config.chosen_model().name).collect()
    }

    /// The seeds of the repeats, which all models share.
    pub(crate) fn seeds(&self) -> impl Iterator<Item = u64> + use<> {
        self.cells[0].seeds()
    }

    /// How many repeats all models have.
    pub fn num_repeats(&self) -> usize {
        self.cells.len() * self.config.repeats
    }

    /// The settings that are not the default and have no effect on any of the models.
    pub fn without_effect(&self) -> Result<Vec<String>> {
        let mut of_cells = self.cells.iter().map(|cell| cell.config.without_effect(self.dataset));
        let first = of_cells.next().unwrap_or(Ok(Vec::new()))?;
        of_cells.try_fold(first, |unused, of_cell| {
            let of_cell = of_cell?;
            Ok(unused.into_iter().filter(|name| of_cell.contains(name)).collect())
        })
    }

    /// The file of a comparison, which `run` writes and resumes from. More models and more repeats may be added to it.
    pub fn journal(&self, path: &Path) -> Result<Journal<ComparedRepeat>> {
        let seen = self.config.node_features.seen(self.dataset);
        let split = self.resolved.fingerprint(&seen, Seeds::new(self.resolved.seed), self.folder())?;
        let shared = Config { model: Auto::Auto, repeats: Config::default().repeats, ..self.config.clone() };
        let identity = Identity {
            version: env!("CARGO_PKG_VERSION").to_string(),
            dataset: self.dataset.name.clone(),
            split,
            settings: shared.to_table(),
        };
        Journal::open(path, &identity, |repeat: &ComparedRepeat| match repeat.record.check() {
            Some(problem) => Err(format!("not a repeat: {problem}")),
            None => Ok(()),
        })
    }

    /// What was found, with the settings.
    pub fn to_json(&self, models: &[ComparedModel]) -> Value {
        let (config, best) = (self.config(), models.first().map_or(0.0, |best| best.mean_and_std().0));
        let model = |model: &ComparedModel| {
            let ((mean, std), tests) = (model.mean_and_std(), model.tests());
            json!({
                "model": model.model, "mean": mean, "std": std, "interval_95": interval_95(&tests), "tests": tests,
                "metrics": model.mean_metrics(), "behind": best - mean,
                "p": model.p_values.map(|values| values.p), "p_holm": model.p_values.map(|values| values.corrected),
                "millis_per_epoch": model.millis_per_epoch(), "seconds": model.seconds(), "peak_bytes": model.peak_bytes(),
            })
        };
        json!({
            "dataset": self.dataset().name, "task": config.task, "metric": self.metric(),
            "protocol": config.protocol, "repeats": config.repeats, "epochs": config.epochs, "seed": config.seed,
            "config": config, "models": models.iter().map(model).collect::<Vec<_>>(),
        })
    }

    /// Trains all models, and writes every repeat to the journal as it ends; those that are there are not run again. Seed by seed, so
    /// that an interrupted comparison has shown every model. The best model comes first.
    pub fn run(
        &self,
        mut journal: Option<&mut Journal<ComparedRepeat>>,
        version: &str,
        observer: &mut dyn ComparisonObserver,
    ) -> Result<Vec<ComparedModel>> {
        let models = self.models();
        let mut ended: Vec<ComparedRepeat> = journal.as_ref().map_or(Vec::new(), |journal| journal.entries().to_vec());
        let mut done = 0;
        for seed in self.seeds() {
            for (cell, model) in self.cells.iter().zip(&models) {
                if find(&ended, model, seed).is_none() {
                    observer.begins(model, seed, done);
                    let started = Instant::now();
                    let (reporting, limit) = (Reporting::Metrics, self.limit.as_ref());
                    let record = measure_reporting(cell, self.dataset, seed, version, observer, reporting, limit)?;
                    let seconds = started.elapsed().as_secs_f64();
                    let repeat = ComparedRepeat { model: model.clone(), seconds, record };
                    if let Some(journal) = &mut journal {
                        journal.push(&repeat)?;
                    }
                    observer.ends(&repeat);
                    ended.push(repeat);
                }
                done += 1;
            }
        }
        let repeats = |model: &String| -> Vec<ComparedRepeat> {
            self.seeds().filter_map(|seed| find(&ended, model, seed).cloned()).collect()
        };
        let compared = |model: &String| ComparedModel { model: model.clone(), repeats: repeats(model), p_values: None };
        Ok(ranked(models.iter().map(compared).collect()))
    }
}

fn find<'r>(repeats: &'r [ComparedRepeat], model: &str, seed: u64) -> Option<&'r ComparedRepeat> {
    repeats.iter().find(|repeat| (&repeat.model[..], repeat.record.seed) == (model, seed))
}

/// The best first, with p-values of the others against it if there are at least two repeats.
fn ranked(mut models: Vec<ComparedModel>) -> Vec<ComparedModel> {
    models.sort_by(|a, b| b.mean_and_std().0.total_cmp(&a.mean_and_std().0));
    let Some((best, others)) = models.split_first_mut() else { return models };
    let best = best.tests();
    let p: Option<Vec<f64>> = others.iter().map(|model| paired_p(&best, &model.tests())).collect();
    let p = p.unwrap_or_default();
    for (model, (&p, corrected)) in others.iter_mut().zip(p.iter().zip(holm(&p))) {
        model.p_values = Some(PValues { p, corrected });
    }
    models
}

#[cfg(test)]
mod tests {
    use super::*;
    use nigh::train::{Evaluation, Progress};
    use std::ops::ControlFlow;

    fn comparison(dataset: &Dataset) -> Comparison<'_> {
        let config = Config { epochs: 5.into(), repeats: 2, ..Config::default() };
        Comparison::new(dataset, config, &["gcn", "katz", "smp-linear"]).unwrap()
    }

    /// Counts the trainings, and fails in the one after the last that it allows.
    struct Allow(usize);

    impl Observer for Allow {
        fn epoch(&mut self, _: &Progress, _: Option<&Evaluation>) -> ControlFlow<()> {
            ControlFlow::Continue(())
        }
    }

    impl ComparisonObserver for Allow {
        fn begins(&mut self, model: &str, seed: u64, _: usize) {
            assert!(self.0 > 0, "{model}, seed {seed} is run again");
            self.0 -= 1;
        }
    }

    fn figures(models: &[ComparedModel]) -> Vec<(String, Vec<f64>, Option<PValues>)> {
        models.iter().map(|model| (model.model.clone(), model.tests(), model.p_values)).collect()
    }

    #[test]
    fn an_interrupted_comparison_resumes_and_finds_the_same() {
        let (dataset, folder) = (Dataset::built_in("communities").unwrap(), tempfile::tempdir().unwrap());
        let comparison = comparison(&dataset);
        let whole = figures(&comparison.run(None, "0", &mut Allow(6)).unwrap());
        let path = folder.path().join("compared.jsonl");
        let mut journal = comparison.journal(&path).unwrap();
        assert_eq!(figures(&comparison.run(Some(&mut journal), "0", &mut Allow(6)).unwrap()), whole);
        assert!(comparison.journal(&path).unwrap_err().to_string().contains("another process"));
        drop(journal);
        // Killed while it wrote its fifth line.
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        std::fs::write(&path, format!("{}\n{}", lines[..4].join("\n"), &lines[4][..40])).unwrap();
        let mut journal = comparison.journal(&path).unwrap();
        assert!(journal.notes[0].ends_with("line 5: unfinished repeat skipped"), "{:?}", journal.notes);
        assert_eq!(figures(&comparison.run(Some(&mut journal), "0", &mut Allow(3)).unwrap()), whole);
        drop(journal);
        // More repeats and more models are added to it.
        let config = Config { repeats: 3, ..comparison.config().clone() };
        let more = Comparison::new(&dataset, config, &["gcn", "katz", "smp-linear", "sgc"]).unwrap();
        let mut journal = more.journal(&path).unwrap();
        assert_eq!(more.run(Some(&mut journal), "0", &mut Allow(6)).unwrap().len(), 4);
    }

    #[test]
    fn a_file_of_another_comparison_or_a_bad_line_is_named() {
        let (dataset, folder) = (Dataset::built_in("communities").unwrap(), tempfile::tempdir().unwrap());
        let path = folder.path().join("compared.jsonl");
        let first = comparison(&dataset);
        drop(first.journal(&path).unwrap());
        let other = Config { epochs: 6.into(), ..first.config().clone() };
        let other = Comparison::new(&dataset, other, &["gcn"]).unwrap();
        let error = |comparison: &Comparison<'_>| comparison.journal(&path).unwrap_err().to_string();
        assert!(error(&other).contains("compared.jsonl:1: these are repeats of another comparison, with epochs = 5"));
        std::fs::write(&path, format!("{}{{\"model\": 1}}\n", std::fs::read_to_string(&path).unwrap())).unwrap();
        assert!(error(&first).contains("compared.jsonl:2: not a repeat: invalid type"), "{}", error(&first));
        std::fs::write(&path, "a,b\n").unwrap();
        assert!(error(&first).contains("compared.jsonl:1: not the first line of a comparison"));
    }

    #[test]
    fn the_model_of_the_task_comes_first_and_a_setting_counts_if_it_does_for_any() {
        let dataset = Dataset::built_in("communities").unwrap();
        let none: [&str; 0] = [];
        let of = |task| Comparison::new(&dataset, Config { task, ..Config::default() }, &none).unwrap().models();
        assert_eq!(
            of(nigh::Task::LinkPrediction),
            CatalogModel::compared().iter().map(|model| model.name).collect::<Vec<_>>()
        );
        assert_eq!(of(nigh::Task::NodeClassification), ["smp-gated", "smp-linear", "sgc", "gcn", "gat", "node2vec"]);
        let config = Config { dropout: 0.0.into(), longest_walk: 4.into(), ..Config::default() };
        let unused =
            |models: &[&str]| Comparison::new(&dataset, config.clone(), models).unwrap().without_effect().unwrap();
        assert_eq!(unused(&["smp-linear", "katz"]), ["dropout", "longest-walk"]);
        assert_eq!(unused(&["smp-linear", "gcn"]), ["longest-walk"]);
    }
}
