//! `nigh evaluate`: the metric of a saved model, measured again.

use super::{load, print, print_json, print_notes};
use crate::cli::Evaluate;
use anyhow::Result;
use nigh::Trained;
use nigh::display::percent;
use nigh::report::table::Table;
use serde_json::json;

pub fn run(options: &Evaluate, quiet: bool) -> Result<()> {
    let trained = Trained::load(&options.model)?;
    let dataset = load(&options.data, quiet)?;
    let (verdict, notes) = trained.evaluate(&dataset)?;
    print_notes(&notes, quiet);
    let config = &trained.config;
    let run = trained.run();
    if options.json {
        return print_json(&json!({
            "dataset": dataset.name,
            "task": config.task,
            "model": config.model,
            "metric": config.metric,
            "valid": verdict.valid,
            "test": verdict.test,
            "same_split": verdict.same_split,
            "held_out": verdict.held_out,
            "recorded": { "valid": run.valid, "test": run.test, "split": run.split },
            "num_nodes": dataset.num_nodes(),
            "num_edges": dataset.num_edges(),
        }));
    }
    let mut table = Table::new(&[config.metric.to_string().as_str(), "now", "recorded"]);
    let recorded = |value: f64| if verdict.same_split { percent(value) } else { "-".to_string() };
    let seen = if verdict.held_out { "" } else { ", partly learnt" };
    table.row(&[format!("validation{seen}"), percent(verdict.valid), recorded(run.valid)]);
    table.row(&[format!("test{seen}"), percent(verdict.test), recorded(run.test)]);
    print(&format!("{} on {}, {}\n\n{table}", config.model, dataset.name, config.task))
}
