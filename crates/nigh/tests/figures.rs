//! What a figure means: every metric, intervals, baselines of the same split, and the end of a training that learns no more.

use nigh::answer::MetricSummary;
use nigh::metric::{ClassMetric, PairMetric};
use nigh::train::{Evaluation, Observer, Progress};
use nigh::{Checkpoint, Config, Dataset, Metric, Protocol, Reporting, Task, Trained, Training};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

const AUC: Metric = Metric::Pairs(PairMetric::Auc);

fn config(model: &str, task: Task) -> Config {
    Config { model: model.into(), task, epochs: 10.into(), repeats: 2, ..Config::default() }
}

fn train(dataset: &Dataset, config: &Config) -> Trained {
    Training::new(dataset, config.clone()).unwrap().run().unwrap()
}

#[test]
fn all_metrics_are_those_of_the_chosen_epoch() {
    let dataset = Dataset::built_in("communities").unwrap();
    for (model, task) in [
        ("smp-linear", Task::LinkPrediction),
        ("smp-proximity", Task::LinkPrediction),
        ("katz", Task::LinkPrediction),
        ("smp-gated", Task::NodeClassification),
        ("gcn", Task::NodeClassification),
        ("smp-linear", Task::GraphReconstruction),
        ("gcn", Task::PairwiseNodeClassification),
    ] {
        let trained = train(&dataset, &config(model, task));
        for run in &trained.summary.repeats {
            assert_eq!(run.metrics[&trained.config.metric].to_bits(), run.test.to_bits(), "{model}, {task}");
        }
        let names: Vec<String> = trained.run().metrics.keys().map(Metric::to_string).collect();
        let expected = match task {
            Task::NodeClassification => "accuracy micro-f1 macro-f1",
            _ => "auc ap hits@10 hits@50 hits@100 mrr",
        };
        assert_eq!(names.join(" "), expected, "{model}, {task}");
        // What is measured beside the metric changes nothing about it.
        let alone = Training::new(&dataset, config(model, task)).unwrap().reporting(Reporting::Nothing).run().unwrap();
        assert!(alone.run().metrics.is_empty() && alone.run().baselines.is_empty());
        assert_eq!((alone.run().test, alone.run().valid), (trained.run().test, trained.run().valid));
        let again = trained.evaluate(&dataset).unwrap().0;
        assert_eq!(again.metrics, trained.run().metrics, "{model}, {task}");
    }
}

#[test]
fn the_chosen_metric_selects_the_epoch_and_stands_beside_the_others() {
    let dataset = Dataset::built_in("grid").unwrap();
    for name in ["ap", "hits@20", "mrr"] {
        let metric: Metric = name.parse().unwrap();
        let trained = train(&dataset, &Config { metric: metric.into(), ..config("smp-linear", Task::LinkPrediction) });
        let run = trained.run();
        assert_eq!(run.metrics[&metric], run.test, "{name}");
        assert!(run.metrics.contains_key(&AUC) && run.metrics[&AUC] != run.test);
        let best = run.curve.iter().map(|evaluation| evaluation.valid).fold(0.0, f64::max);
        assert_eq!(run.valid, best, "{name}");
    }
    // 76 negatives are in the test of the grid: a hit among 100 would be none.
    let trained = train(&dataset, &config("smp-linear", Task::LinkPrediction));
    let hits = |k: usize| trained.run().metrics.contains_key(&Metric::Pairs(PairMetric::HitsAt(k)));
    assert_eq!([10, 50, 100].map(hits), [true, true, false]);
}

#[test]
fn intervals_are_those_of_students_t() {
    let dataset = Dataset::built_in("grid").unwrap();
    let trained = train(&dataset, &Config { repeats: 3, ..config("smp-linear", Task::LinkPrediction) });
    let tests: Vec<f64> = trained.summary.repeats.iter().map(|run| run.test).collect();
    let mean = tests.iter().sum::<f64>() / 3.0;
    let variance = tests.iter().map(|test| (test - mean).powi(2)).sum::<f64>() / 2.0;
    // t of 97.5 % with two degrees of freedom.
    let reach = 4.302_652_729_911_275 * (variance / 3.0).sqrt();
    let MetricSummary { mean: found, interval_95, .. } = trained.summary.chosen_metric();
    let [low, high] = interval_95.unwrap();
    assert!((found - mean).abs() < 1e-12 && (low - (mean - reach).max(0.0)).abs() < 1e-9, "{low} {mean} {reach}");
    assert!((high - (mean + reach).min(1.0)).abs() < 1e-9);
    assert_eq!(trained.summary.metrics()[&AUC], trained.summary.chosen_metric());
    let once = train(&dataset, &Config { repeats: 1, ..config("smp-linear", Task::LinkPrediction) });
    assert_eq!(once.summary.chosen_metric().interval_95, None);
}

#[test]
fn baselines_of_links_are_the_heuristics_on_the_same_split() {
    for name in ["grid", "communities"] {
        let dataset = Dataset::built_in(name).unwrap();
        let trained = train(&dataset, &config("gcn", Task::LinkPrediction));
        let names: Vec<&str> = trained.run().baselines.iter().map(|baseline| &baseline.name[..]).collect();
        assert_eq!(names, ["preferential-attachment", "common-neighbors", "resource-allocation", "katz"]);
        for (at, baseline) in names.iter().enumerate() {
            let alone = train(&dataset, &config(baseline, Task::LinkPrediction));
            for (run, reporting) in alone.summary.repeats.iter().zip(&trained.summary.repeats) {
                assert_eq!(reporting.baselines[at].metrics, run.metrics, "{name}: {baseline}");
            }
            // A model is no baseline of itself.
            assert!(alone.run().baselines.iter().all(|other| other.name != *baseline));
        }
    }
    let dataset = Dataset::built_in("communities").unwrap();
    for task in [Task::PairwiseNodeClassification, Task::GraphReconstruction] {
        assert!(train(&dataset, &config("gcn", task)).run().baselines.is_empty(), "{task}");
    }
}

#[test]
fn a_figure_that_does_not_beat_its_baselines_is_marked() {
    let (grid, communities) = (Dataset::built_in("grid").unwrap(), Dataset::built_in("communities").unwrap());
    let gcn = train(&grid, &config("gcn", Task::LinkPrediction)).summary;
    assert_eq!(gcn.beats_baselines(AUC), Some(false));
    let warnings = gcn.warnings(AUC);
    assert!(warnings[0].contains("does not beat") && warnings[0].contains("katz with 8"), "{warnings:?}");
    let degrees = train(&grid, &config("preferential-attachment", Task::LinkPrediction)).summary;
    assert!(degrees.mean < 0.5);
    let warnings = degrees.warnings(AUC);
    assert!(warnings.iter().any(|warning| warning.contains("is below 50 %")), "{warnings:?}");
    // It is flagged too where another metric chose the epoch.
    let ap = Metric::Pairs(PairMetric::AveragePrecision);
    let by_ap = Config { metric: ap.into(), ..config("preferential-attachment", Task::LinkPrediction) };
    assert!(train(&grid, &by_ap).summary.warnings(ap).iter().any(|warning| warning.contains("auc")));
    let accuracy = Metric::Classes(ClassMetric::Accuracy);
    let classes = Config { epochs: 60.into(), ..config("gcn", Task::NodeClassification) };
    let good = train(&Dataset::built_in("leaders-status").unwrap(), &classes).summary;
    assert_eq!((good.beats_baselines(accuracy), good.warnings(accuracy)), (Some(true), Vec::new()));
    let blind = train(&communities, &config("sgc", Task::NodeClassification)).summary;
    assert_eq!(blind.beats_baselines(accuracy), Some(false));
    assert!(blind.warnings(accuracy)[0].contains("neighbour-vote"));
    assert_eq!(train(&grid, &config("gcn", Task::GraphReconstruction)).summary.beats_baselines(AUC), None);
}

/// Strict improvements of validation, the first epoch included.
fn improvements(curve: &[Evaluation]) -> Vec<usize> {
    let mut best = f64::NEG_INFINITY;
    let better = |evaluation: &&Evaluation| {
        let is_better = evaluation.valid > best;
        best = best.max(evaluation.valid);
        is_better
    };
    curve.iter().filter(better).map(|evaluation| evaluation.epoch).collect()
}

#[test]
fn a_patient_training_keeps_the_bits_of_one_that_runs_to_its_end() {
    let dataset = Dataset::built_in("leaders").unwrap();
    let whole_config = Config {
        task: Task::NodeClassification,
        model: "gcn".into(),
        epochs: 200.into(),
        patience: 0.into(),
        repeats: 1,
        ..Config::default()
    };
    let whole = train(&dataset, &whole_config);
    assert_eq!(whole.run().epochs(), 200);
    let improved = improvements(&whole.run().curve);
    let (&last, longest) = (improved.last().unwrap(), improved.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap());
    let patience = longest + 5;
    assert!(last + patience < 200 && longest > 5, "{improved:?}");
    let patient = train(&dataset, &Config { patience: patience.into(), ..whole_config.clone() });
    // Evaluations are five epochs apart.
    assert_eq!(patient.run().epochs(), (last + patience).next_multiple_of(5));
    assert!(whole.run().curve.starts_with(&patient.run().curve));
    let weights = |trained: &Trained| -> Vec<_> {
        trained.weights().entries().iter().map(|weight| weight.value.clone()).collect()
    };
    // One that stops sooner keeps what a training that is stopped there keeps.
    let hasty = train(&dataset, &Config { patience: 5.into(), ..whole_config.clone() });
    assert!(hasty.run().epochs() < patient.run().epochs());
    let mut stop = StopAt(hasty.run().epochs());
    let stopped = Training::new(&dataset, whole_config).unwrap().observer(&mut stop).run().unwrap();
    assert_eq!(weights(&hasty), weights(&stopped));
    assert_eq!(hasty.summary, stopped.summary);
}

#[test]
fn the_kept_epoch_of_a_patient_training_has_the_weights_of_the_same_epoch() {
    let dataset = Dataset::built_in("communities").unwrap();
    let mut compared = 0;
    for seed in 1..=6 {
        let base = Config { epochs: 400.into(), repeats: 1, seed, ..config("sgc", Task::LinkPrediction) };
        let whole = train(&dataset, &Config { patience: 0.into(), ..base.clone() });
        let improved = improvements(&whole.run().curve);
        let gap = improved.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
        let (last, patience) = (*improved.last().unwrap(), gap + 5);
        // It must have time to stop behind the best epoch, which has no equals.
        if last + patience >= 400 || whole.run().best_epoch != last {
            continue;
        }
        let patient = train(&dataset, &Config { patience: patience.into(), ..base });
        assert!(patient.run().epochs() < 400);
        assert_eq!((patient.run().best_epoch, patient.run().test), (last, whole.run().test));
        for (a, b) in patient.weights().entries().iter().zip(whole.weights().entries()) {
            assert_eq!(a.value, b.value, "{}", a.name);
        }
        compared += 1;
    }
    assert!(compared > 0, "no seed whose best epoch is early enough");
}

#[test]
fn a_patient_training_that_was_killed_resumes_and_ends_where_it_would_have() {
    let dataset = Dataset::built_in("leaders").unwrap();
    let config = Config {
        task: Task::NodeClassification,
        model: "gcn".into(),
        epochs: 200.into(),
        patience: 15.into(),
        repeats: 2,
        ..Config::default()
    };
    let whole = train(&dataset, &config);
    let ends: Vec<usize> = whole.summary.repeats.iter().map(|run| run.epochs()).collect();
    assert!(ends.iter().all(|&end| end < 200), "{ends:?}");
    let folder = tempfile::tempdir().unwrap();
    for (repeat, epoch) in [(0, ends[0] - 7), (0, ends[0]), (1, ends[1] - 3)] {
        let checkpoint = Checkpoint::new(folder.path().join(format!("{repeat}-{epoch}"))).every_epochs(1);
        let start = || Training::new(&dataset, config.clone()).unwrap().checkpoint(checkpoint.clone());
        let mut kill = KillAt(repeat, epoch);
        assert!(catch_unwind(AssertUnwindSafe(|| start().observer(&mut kill).run())).is_err());
        let resumed = start().run().unwrap();
        assert_eq!(resumed.summary, whole.summary, "{repeat}, {epoch}");
    }
}

#[test]
fn the_published_protocol_and_cosine_schedules_train_all_epochs() {
    let grid = Dataset::built_in("grid").unwrap();
    let patience = |config: Config| config.resolve(&grid).unwrap().patience;
    let linear = Config { model: "smp-linear".into(), ..Config::default() };
    assert_eq!(patience(linear.clone()), 300);
    assert_eq!(patience(Config { protocol: Protocol::Published, ..linear.clone() }), 0);
    assert_eq!(patience(Config::default()), 0, "smp-proximity follows a cosine");
    assert_eq!(patience(Config { patience: 9.into(), ..Config::default() }), 9);
}

struct StopAt(usize);

impl Observer for StopAt {
    fn epoch(&mut self, progress: &Progress, _: Option<&Evaluation>) -> ControlFlow<()> {
        if progress.epoch == self.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Panics after an epoch; the panic stands in for a kill.
struct KillAt(usize, usize);

impl Observer for KillAt {
    fn epoch(&mut self, progress: &Progress, _: Option<&Evaluation>) -> ControlFlow<()> {
        assert_ne!((progress.repeat, progress.epoch), (self.0, self.1), "killed");
        ControlFlow::Continue(())
    }
}
