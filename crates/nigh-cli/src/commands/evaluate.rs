//! `nigh evaluate`: the metric of a saved model, measured again.

use super::{load, print, print_json, print_notes};
use crate::cli::Evaluate;
use anyhow::Result;
use nigh::Trained;
use nigh::dataset::FixedSplit;
use nigh::display::AlignedTable;
use nigh::display::percent;
use serde_json::json;

pub fn run(options: &Evaluate, quiet: bool) -> Result<()> {
    let trained = Trained::load(&options.model)?;
    let dataset = load(&options.data, quiet)?;
    let split = options.split.as_deref().map(|folder| FixedSplit::read(&dataset, folder)).transpose()?;
    let folder = std::env::temp_dir();
    let limit = options.memory.map(|memory| (memory, folder.as_path()));
    let (evaluation, notes) = trained.evaluate_with(&dataset, split, limit)?;
    print_notes(&notes, quiet);
    let config = &trained.config;
    let run = trained.run();
    if options.json {
        return print_json(&json!({
            "dataset": dataset.name,
            "task": config.task,
            "model": config.model,
            "metric": config.metric,
            "valid": evaluation.valid,
            "test": evaluation.test,
            "metrics": evaluation.metrics,
            "same_split": evaluation.same_split,
            "held_out": evaluation.held_out,
            "recorded": { "valid": run.valid, "test": run.test, "split": run.split },
            "num_nodes": dataset.num_nodes(),
            "num_edges": dataset.num_edges(),
        }));
    }
    let mut table = AlignedTable::new(&[config.metric.to_string().as_str(), "now", "recorded"]);
    let recorded = |value: f64| if evaluation.same_split { percent(value) } else { "-".to_string() };
    let seen = if evaluation.held_out { "" } else { ", partly in training" };
    table.row(&[format!("validation{seen}"), percent(evaluation.valid), recorded(run.valid)]);
    table.row(&[format!("test{seen}"), percent(evaluation.test), recorded(run.test)]);
    for (metric, value) in evaluation.metrics.iter().filter(|(metric, _)| **metric != config.metric) {
        table.row(&[
            format!("test{seen}, {metric}"),
            percent(*value),
            run.metrics.get(metric).map_or("-".into(), |value| recorded(*value)),
        ]);
    }
    print(&format!("{} on {}, {}\n\n{table}", config.model, dataset.name, config.task))
}
