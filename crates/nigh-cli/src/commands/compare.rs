//! `nigh compare`: several models on one graph, with the same splits.

use super::{WrongUsage, load, print, print_json, print_notes, trimmed};
use crate::cli::Compare;
use crate::progress;
use anyhow::Result;
use indicatif::ProgressBar;
use nigh::display::{byte_size, percent, pluralize};
use nigh::experiment::{Cell, Record, holm, measure, paired_p};
use nigh::report::aligned_table::AlignedTable;
use nigh::train::{Evaluation, Observer, Progress, mean_and_std};
use nigh::{Config, Dataset};
use serde_json::json;
use std::ops::ControlFlow;
use std::time::Instant;

/// The models compared by default, as far as they support the task.
const DEFAULT_MODELS: [&str; 8] =
    ["smp-proximity", "smp-linear", "smp-identity", "sgc", "gcn", "gat", "common-neighbors", "adamic-adar"];

/// Differences with a smaller p-value are significant.
const SIGNIFICANCE_LEVEL: f64 = 0.05;

pub fn run(options: &Compare, quiet: bool) -> Result<()> {
    if options.settings.table().contains_key("model") {
        return Err(WrongUsage("--model names one model; compare takes several: --models a,b,c".into()).into());
    }
    let config = Config::from_table(options.settings.table().clone())?;
    let dataset = load(&options.data, quiet)?;
    let cells = cells(options, &config, &dataset)?;
    let (metric, repeats) = (cells[0].config.clone().resolve(&dataset)?.metric, config.repeats);
    let bar = progress::bar((cells.len() * repeats) as u64, quiet);
    let mut rows: Vec<ComparedModel> =
        cells.iter().map(|cell| ComparedModel::new(&cell.config.chosen_model().name)).collect();
    // Seed by seed, so that an interrupted run has shown every model.
    for seed in cells[0].seeds() {
        for (cell, row) in cells.iter().zip(&mut rows) {
            bar.set_prefix(row.model.clone());
            let started = Instant::now();
            row.records.push(measure(cell, &dataset, seed, env!("NIGH_VERSION"), &mut EpochMessage { bar: &bar })?);
            row.seconds += started.elapsed().as_secs_f64();
            bar.inc(1);
            if !quiet && bar.is_hidden() {
                let test = percent(row.records.last().expect("one").test);
                progress::print_line(&format!("{}, seed {seed}: {metric} {test}", row.model));
            }
        }
    }
    bar.finish_and_clear();
    rows.sort_by(|a, b| b.mean_and_std().0.total_cmp(&a.mean_and_std().0));
    if options.json {
        let p_values = p_values(&rows);
        let models: Vec<_> = rows.iter().zip(p_values).map(|(row, p_values)| row.json(&rows[0], p_values)).collect();
        return print_json(&json!({
            "dataset": dataset.name, "task": config.task, "metric": metric, "protocol": config.protocol,
            "repeats": repeats, "epochs": config.epochs, "seed": config.seed, "config": config, "models": models,
        }));
    }
    if repeats == 1 {
        print_notes(&["one repeat gives no p-values; use --repeats 5 or more".to_string()], quiet);
    }
    print(&text(&dataset, &config, &metric.to_string(), &rows))
}

/// A cell for each model. Every model supports the task.
fn cells(options: &Compare, config: &Config, dataset: &Dataset) -> Result<Vec<Cell>> {
    let cell =
        |model: &str| Cell { dataset: dataset.name.clone(), config: Config { model: model.into(), ..config.clone() } };
    let resolves = |cell: &Cell| cell.config.clone().resolve(dataset).map(drop);
    let models = trimmed(&options.models);
    if models.is_empty() {
        let cells: Vec<Cell> = DEFAULT_MODELS.map(cell).into_iter().filter(|cell| resolves(cell).is_ok()).collect();
        if cells.is_empty() {
            // If no model works, the problem is in the settings or the data.
            resolves(&cell(DEFAULT_MODELS[0]))?;
        }
        return Ok(cells);
    }
    let mut cells: Vec<Cell> = Vec::new();
    for model in &models {
        if cells.iter().any(|cell| cell.config.model == model.as_str().into()) {
            return Err(WrongUsage(format!("--models names {model} twice")).into());
        }
        cells.push(cell(model));
        resolves(&cells[cells.len() - 1])?;
    }
    Ok(cells)
}

/// One model with the records of its repeats.
struct ComparedModel {
    model: String,
    records: Vec<Record>,
    seconds: f64,
}

impl ComparedModel {
    fn new(model: &str) -> ComparedModel {
        ComparedModel { model: model.to_string(), records: Vec::new(), seconds: 0.0 }
    }

    fn tests(&self) -> Vec<f64> {
        self.records.iter().map(|record| record.test).collect()
    }

    fn mean_and_std(&self) -> (f64, f64) {
        mean_and_std(&self.tests())
    }

    fn millis_per_epoch(&self) -> f64 {
        mean_and_std(&self.records.iter().map(|record| record.millis_per_epoch).collect::<Vec<_>>()).0
    }

    fn peak_bytes(&self) -> Option<u64> {
        self.records.iter().filter_map(|record| record.peak_bytes).max()
    }

    fn json(&self, best: &ComparedModel, p_values: Option<PValues>) -> serde_json::Value {
        let (mean, std) = self.mean_and_std();
        json!({
            "model": self.model, "mean": mean, "std": std, "tests": self.tests(),
            "behind": best.mean_and_std().0 - mean,
            "p": p_values.map(|values| values.p), "p_holm": p_values.map(|values| values.corrected),
            "millis_per_epoch": self.millis_per_epoch(), "seconds": self.seconds, "peak_bytes": self.peak_bytes(),
        })
    }
}

/// P-values of the difference to the best model.
#[derive(Clone, Copy)]
struct PValues {
    /// Of this comparison alone.
    p: f64,
    /// Corrected for the number of comparisons (Holm).
    corrected: f64,
}

/// P-values of every row but the first, if there are at least two repeats.
fn p_values(rows: &[ComparedModel]) -> Vec<Option<PValues>> {
    let best = rows[0].tests();
    let p: Option<Vec<f64>> = rows[1..].iter().map(|row| paired_p(&best, &row.tests())).collect();
    let p = p.unwrap_or_default();
    let mut p_values = p.iter().zip(holm(&p)).map(|(&p, corrected)| Some(PValues { p, corrected }));
    std::iter::once(None).chain(rows[1..].iter().map(|_| p_values.next().flatten())).collect()
}

fn text(dataset: &Dataset, config: &Config, metric: &str, rows: &[ComparedModel]) -> String {
    let mut table =
        AlignedTable::new(&["model", &format!("{metric}, %"), "behind", "p", "ms per epoch", "seconds", "memory"]);
    let best = &rows[0];
    let mut tied = Vec::new();
    for (row, p_values) in rows.iter().zip(p_values(rows)) {
        let (mean, std) = row.mean_and_std();
        if p_values.is_some_and(|values| values.corrected >= SIGNIFICANCE_LEVEL) {
            tied.push(row.model.as_str());
        }
        let behind = if row.model == best.model { String::new() } else { percent(best.mean_and_std().0 - mean) };
        table.row(&[
            row.model.clone(),
            if config.repeats > 1 { format!("{} ± {}", percent(mean), percent(std)) } else { percent(mean) },
            behind,
            p_values.map_or(
                String::new(),
                |PValues { p, .. }| {
                    if p < 0.001 { "< 0.001".to_string() } else { format!("{p:.3}") }
                },
            ),
            format!("{:.2}", row.millis_per_epoch()),
            format!("{:.1}", row.seconds),
            row.peak_bytes().map_or(String::new(), byte_size),
        ]);
    }
    let (repeats, others) = (config.repeats, tied.join(", "));
    // A single comparison needs no correction.
    let rule = if rows.len() > 2 {
        format!(" (Holm's correction, p < {SIGNIFICANCE_LEVEL})")
    } else {
        format!(" (p < {SIGNIFICANCE_LEVEL})")
    };
    let conclusion = match (repeats, tied.is_empty(), rows.len()) {
        (1, ..) | (.., 1) => String::new(),
        (_, true, _) => format!("{} is significantly better than all others{rule}.\n", best.model),
        (_, false, _) => format!("{} is first, but not significantly better than {others}{rule}.\n", best.model),
    };
    format!(
        "{}, {} ({} protocol): {}, {}; mean of {}\n\n{table}\n{conclusion}",
        dataset.name,
        config.task.to_string().replace('-', " "),
        config.protocol,
        pluralize(dataset.num_nodes(), "node"),
        pluralize(dataset.num_edges(), "edge"),
        pluralize(repeats, "repeat"),
    )
}

/// Shows the epoch and the validation metric of a training.
struct EpochMessage<'a> {
    bar: &'a ProgressBar,
}

impl Observer for EpochMessage<'_> {
    fn epoch(&mut self, progress: &Progress, evaluation: Option<&Evaluation>) -> ControlFlow<()> {
        if let Some(evaluation) = evaluation {
            let (epoch, epochs) = (progress.epoch, progress.epochs);
            self.bar.set_message(format!("epoch {epoch}/{epochs}, valid {}", percent(evaluation.valid)));
        }
        ControlFlow::Continue(())
    }
}
