//! What the figures of a training mean: every metric over the repeats, with an interval, beside the simple baselines of the same splits.

use super::{Summary, Trained};
use crate::display::percent;
use crate::metric::{Metric, PairMetric};
use crate::statistics::{interval_95, mean_and_std};
use crate::train::{Baseline, Run};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A test metric over the repeats.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MetricSummary {
    /// The mean.
    pub mean: f64,
    /// The population standard deviation.
    pub std: f64,
    /// Student's 95 % confidence interval of the mean; `None` for one repeat.
    pub interval_95: Option<[f64; 2]>,
}

/// A baseline over the repeats.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BaselineSummary {
    /// Its name.
    pub name: String,
    /// The mean of each metric; none if it was left out.
    pub metrics: BTreeMap<Metric, f64>,
    /// Why it was left out.
    pub left_out: Option<String>,
}

impl MetricSummary {
    fn of(values: &[f64]) -> MetricSummary {
        let (mean, std) = mean_and_std(values);
        MetricSummary { mean, std, interval_95: interval_95(values) }
    }
}

impl Trained {
    /// Everything that a training found: figures, intervals, baselines, warnings, every repeat, and the settings.
    pub fn to_json(&self) -> Value {
        let Trained { config, summary, .. } = self;
        let repeat = |run: &Run| {
            json!({
                "seed": run.seed, "test": run.test, "valid": run.valid, "best_epoch": run.best_epoch,
                "epochs": run.epochs(),
                "split": run.split, "connected": run.connected, "few_negatives": run.few_negatives,
                "vectors_auc": run.vectors_auc, "agreement": run.agreement, "metrics": run.metrics,
                "baselines": run.baselines,
            })
        };
        json!({
            "dataset": summary.dataset,
            "task": config.task,
            "model": config.model,
            "metric": config.metric,
            "mean": summary.mean,
            "std": summary.std,
            "interval_95": summary.chosen_metric().interval_95,
            "metrics": summary.metrics(),
            "baselines": summary.baselines(),
            "beats_baselines": summary.beats_baselines(config.metric),
            "warnings": summary.warnings(config.metric),
            "connected": summary.connected(),
            "repeats": summary.repeats.iter().map(repeat).collect::<Vec<_>>(),
            "millis_per_epoch": self.millis_per_epoch,
            "num_nodes": summary.num_nodes,
            "num_edges": summary.num_edges,
            "storage_error": summary.storage_error,
            "proximity_error": summary.proximity_error,
            "num_parameters": self.num_parameters(),
            "config": config,
        })
    }
}

impl Summary {
    /// The metric that chose the epochs, on the test part.
    pub fn chosen_metric(&self) -> MetricSummary {
        MetricSummary::of(&self.repeats.iter().map(|run| run.test).collect::<Vec<_>>())
    }

    /// Every metric of the task on the test part; none where they were not measured.
    pub fn metrics(&self) -> BTreeMap<Metric, MetricSummary> {
        let of_runs = self.repeats.iter().map(|run| &run.metrics);
        in_all(of_runs).map(|(metric, values)| (metric, MetricSummary::of(&values))).collect()
    }

    /// The simple baselines of the same splits; none where they were not measured.
    pub fn baselines(&self) -> Vec<BaselineSummary> {
        let first = self.repeats.first().map_or(&[][..], |run| &run.baselines);
        let summary = |Baseline { name, .. }: &Baseline| {
            let find = |run: &'_ Run| run.baselines.iter().find(|baseline| baseline.name == *name).cloned();
            let of_runs: Vec<Baseline> = self.repeats.iter().filter_map(find).collect();
            let metrics = in_all(of_runs.iter().map(|baseline| &baseline.metrics));
            BaselineSummary {
                name: name.clone(),
                metrics: metrics.map(|(metric, values)| (metric, mean_and_std(&values).0)).collect(),
                left_out: of_runs.iter().find_map(|baseline| baseline.left_out.clone()),
            }
        };
        first.iter().map(summary).collect()
    }

    /// The baselines that the model does not beat by this metric, the best first.
    fn unbeaten(&self, metric: Metric) -> Vec<(String, f64)> {
        let figures = self.baselines().into_iter().filter_map(|baseline| {
            let figure = *baseline.metrics.get(&metric)?;
            Some((baseline.name, figure))
        });
        let mut unbeaten: Vec<(String, f64)> = figures.filter(|(_, figure)| *figure >= self.mean).collect();
        unbeaten.sort_by(|a, b| b.1.total_cmp(&a.1));
        unbeaten
    }

    /// Whether the model beats every simple baseline by this metric; `None` where none was measured.
    pub fn beats_baselines(&self, metric: Metric) -> Option<bool> {
        let is_measured = self.baselines().iter().any(|baseline| baseline.metrics.contains_key(&metric));
        is_measured.then(|| self.unbeaten(metric).is_empty())
    }

    /// What a reader of the figures should be warned of: a model that does not beat simple baselines, an AUC below 50 %.
    pub fn warnings(&self, metric: Metric) -> Vec<String> {
        let mut warnings = Vec::new();
        let unbeaten = self.unbeaten(metric);
        if !unbeaten.is_empty() {
            let figures: Vec<String> =
                unbeaten.iter().map(|(name, figure)| format!("{name} with {} %", percent(*figure))).collect();
            warnings.push(format!(
                "{metric} {} % does not beat what takes no model on the same test: {}",
                percent(self.mean),
                figures.join(", ")
            ));
        }
        let auc = Metric::Pairs(PairMetric::Auc);
        let below = |figure: &f64| *figure < 0.5;
        let chosen = (metric == auc).then_some(self.mean);
        if let Some(figure) = chosen.or_else(|| Some(self.metrics().get(&auc)?.mean)).filter(below) {
            let figure = percent(figure);
            warnings.push(format!(
                "auc {figure} % is below 50 %: negative pairs score above positive ones, guessing does better"
            ));
        }
        warnings
    }
}

/// What all maps have, with its values in order.
fn in_all<'a>(
    maps: impl Iterator<Item = &'a BTreeMap<Metric, f64>> + Clone + 'a,
) -> impl Iterator<Item = (Metric, Vec<f64>)> + 'a {
    let first = maps.clone().next().into_iter().flat_map(|map| map.keys().copied());
    first.filter_map(move |metric| {
        Some((metric, maps.clone().map(|map| map.get(&metric).copied()).collect::<Option<_>>()?))
    })
}
