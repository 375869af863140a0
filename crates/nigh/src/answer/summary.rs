//! What a training found: data, metrics over the repeats with intervals, and the simple baselines of the same splits.

use super::{Trained, graph_digest};
use crate::dataset::Dataset;
use crate::display::{percent, pluralize};
use crate::linalg::half::StorageError;
use crate::metric::{Metric, PairMetric};
use crate::models::Dimensions;
use crate::statistics::{interval_95, mean_and_std};
use crate::train::{Baseline, Connected, Run};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What a model was trained on and how well.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// Name of the data.
    pub dataset: String,
    /// `N`.
    pub num_nodes: usize,
    /// `M`.
    pub num_edges: usize,
    /// Features per node, 0 for none.
    pub num_features: usize,
    /// The name of each class.
    pub class_names: Vec<String>,
    /// Whether a node may have several classes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub multi_label: bool,
    /// The name of each feature, where the user's file had them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feature_names: Vec<String>,
    /// Nodes of the largest graph, which is how many can be known by their ids.
    #[serde(default)]
    pub largest_graph: usize,
    /// Fingerprint of the graphs.
    pub graph: String,
    /// Mean of the test metric over the repeats.
    pub mean: f64,
    /// Its population standard deviation.
    pub std: f64,
    /// Every repeat.
    pub repeats: Vec<Run>,
    /// The repeat behind the weights: the best on its validation part.
    pub chosen: usize,
    /// The error of half-precision storage between hops, where it is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_error: Option<StorageError>,
    /// The error of estimated walk proximities that Theorem 2 promises for 95 of 100 pairs, where they are estimated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proximity_error: Option<f64>,
}

/// The test metric on pairs both of whose ends have a visible edge, over the repeats.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ConnectedSummary {
    /// Mean of the metric.
    pub mean: f64,
    /// Its population standard deviation.
    pub std: f64,
    /// The mean fraction of positives among those pairs.
    pub positives: f64,
    /// The mean fraction of negatives among those pairs.
    pub negatives: f64,
}

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
    /// Everything that a training found: metrics, intervals, baselines, warnings, every repeat, and the settings.
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
    /// Of data before anything is trained.
    pub(crate) fn of_data(dataset: &Dataset) -> Summary {
        Summary {
            dataset: dataset.name.clone(),
            num_nodes: dataset.num_nodes(),
            num_edges: dataset.num_edges(),
            num_features: dataset.samples[0].features.count(),
            class_names: dataset.class_names.clone(),
            multi_label: dataset.is_multi_label(),
            feature_names: dataset.feature_names.clone(),
            largest_graph: Dimensions::of(dataset).nodes,
            graph: graph_digest(dataset),
            mean: 0.0,
            std: 0.0,
            repeats: Vec::new(),
            chosen: 0,
            storage_error: None,
            proximity_error: None,
        }
    }

    /// The test metric on pairs whose ends both have a visible edge, where other pairs exist: a missing edge alone may tell that a
    /// pair was held out.
    pub fn connected(&self) -> Option<ConnectedSummary> {
        let runs: Vec<Connected> = self.repeats.iter().filter_map(|run| run.connected).collect();
        if runs.iter().all(Connected::is_all) {
            return None;
        }
        let of = |value: fn(&Connected) -> f64| mean_and_std(&runs.iter().map(value).collect::<Vec<_>>());
        let (mean, std) = of(|run| run.test);
        let (positives, negatives) = (of(|run| run.positives).0, of(|run| run.negatives).0);
        Some(ConnectedSummary { mean, std, positives, negatives })
    }

    /// A note on Hits@K where a positive is ranked among fewer than K negatives.
    pub fn note_on_hits(&self, metric: Metric) -> Option<String> {
        let count = self.repeats.iter().filter_map(|run| run.few_negatives).min()?;
        let negatives = pluralize(count, "negative");
        Some(format!(
            "{metric} counts every positive as a hit that is ranked among fewer; here some are among {negatives}"
        ))
    }

    /// The dimensions of the data on which the shape of the model depends.
    pub(crate) fn dimensions(&self) -> Dimensions {
        Dimensions {
            features: self.num_features,
            classes: self.class_names.len(),
            multi_label: self.multi_label,
            nodes: self.largest_graph,
            edges: self.num_edges,
        }
    }

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
        let values = self.baselines().into_iter().filter_map(|baseline| {
            let value = *baseline.metrics.get(&metric)?;
            Some((baseline.name, value))
        });
        let mut unbeaten: Vec<(String, f64)> = values.filter(|(_, value)| *value >= self.mean).collect();
        unbeaten.sort_by(|a, b| b.1.total_cmp(&a.1));
        unbeaten
    }

    /// Whether the model beats every simple baseline by this metric; `None` where none was measured.
    pub fn beats_baselines(&self, metric: Metric) -> Option<bool> {
        let is_measured = self.baselines().iter().any(|baseline| baseline.metrics.contains_key(&metric));
        is_measured.then(|| self.unbeaten(metric).is_empty())
    }

    /// Warnings for a reader of the metrics: a model that does not beat simple baselines, an AUC below 50 %.
    pub fn warnings(&self, metric: Metric) -> Vec<String> {
        let mut warnings = Vec::new();
        let unbeaten = self.unbeaten(metric);
        if !unbeaten.is_empty() {
            let better: Vec<String> =
                unbeaten.iter().map(|(name, value)| format!("{name} with {} %", percent(*value))).collect();
            warnings.push(format!(
                "{metric} {} % does not beat untrained baselines on the same test: {}",
                percent(self.mean),
                better.join(", ")
            ));
        }
        let auc = Metric::Pairs(PairMetric::Auc);
        let below = |auc: &f64| *auc < 0.5;
        let chosen = (metric == auc).then_some(self.mean);
        if let Some(mean) = chosen.or_else(|| Some(self.metrics().get(&auc)?.mean)).filter(below) {
            let mean = percent(mean);
            warnings.push(format!(
                "auc {mean} % is below 50 %: negative pairs score above positive ones, guessing does better"
            ));
        }
        warnings
    }
}

/// The keys that all maps have, with their values in order.
fn in_all<'a>(
    maps: impl Iterator<Item = &'a BTreeMap<Metric, f64>> + Clone + 'a,
) -> impl Iterator<Item = (Metric, Vec<f64>)> + 'a {
    let first = maps.clone().next().into_iter().flat_map(|map| map.keys().copied());
    first.filter_map(move |metric| {
        Some((metric, maps.clone().map(|map| map.get(&metric).copied()).collect::<Option<_>>()?))
    })
}
