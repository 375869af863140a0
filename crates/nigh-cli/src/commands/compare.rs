//! `nigh compare`: several models on one graph, on the same splits.

use super::{WrongUsage, load, print, print_json, print_notes, trimmed};
use crate::cli::Compare;
use crate::progress;
use anyhow::Result;
use indicatif::ProgressBar;
use nigh::display::{byte_size, percent, pluralize};
use nigh::experiment::{Cell, Record, holm, measure, paired_p};
use nigh::report::table::Table;
use nigh::train::{Evaluation, Observer, Progress, mean_and_std};
use nigh::{Config, Dataset};
use serde_json::json;
use std::ops::ControlFlow;
use std::time::Instant;

/// What is compared unless the user says otherwise, as far as it can answer.
const MODELS: [&str; 7] = ["smp-linear", "smp-identity", "sgc", "gcn", "gat", "common-neighbors", "adamic-adar"];

/// From here on a difference may well be luck.
const SIGNIFICANCE_LEVEL: f64 = 0.05;

pub fn run(options: &Compare, quiet: bool) -> Result<()> {
    if options.settings.model.is_some() {
        return Err(WrongUsage("--model names one; --models a,b,c names those that are compared".into()).into());
    }
    let config = Config::from_table(toml::Table::try_from(&options.settings)?)?;
    let dataset = load(&options.data, quiet)?;
    let cells = cells(options, &config, &dataset)?;
    let (metric, repeats) = (cells[0].config.clone().resolve(&dataset)?.metric, config.repeats);
    let bar = progress::bar((cells.len() * repeats) as u64, quiet);
    let mut rows: Vec<Entry> = cells.iter().map(|cell| Entry::new(&cell.config.model)).collect();
    // Seed by seed, so that a run that is stopped has shown every model.
    for seed in cells[0].seeds() {
        for (cell, row) in cells.iter().zip(&mut rows) {
            bar.set_prefix(row.model.clone());
            let started = Instant::now();
            row.records.push(measure(cell, &dataset, seed, env!("NIGH_VERSION"), &mut Message { bar: &bar })?);
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
        let chances = chances(&rows);
        let models: Vec<_> = rows.iter().zip(chances).map(|(row, chance)| row.json(&rows[0], chance)).collect();
        return print_json(&json!({
            "dataset": dataset.name, "task": config.task, "metric": metric, "protocol": config.protocol,
            "repeats": repeats, "epochs": config.epochs, "seed": config.seed, "config": config, "models": models,
        }));
    }
    if repeats == 1 {
        print_notes(&["one repeat says nothing about luck; --repeats 5 does".to_string()], quiet);
    }
    print(&text(&dataset, &config, &metric.to_string(), &rows))
}

/// A cell for each model, all of which can answer.
fn cells(options: &Compare, config: &Config, dataset: &Dataset) -> Result<Vec<Cell>> {
    let cell = |model: &str| Cell {
        dataset: dataset.name.clone(),
        config: Config { model: model.to_string(), ..config.clone() },
    };
    let answers = |cell: &Cell| cell.config.clone().resolve(dataset).map(drop);
    let models = trimmed(&options.models);
    if models.is_empty() {
        let cells: Vec<Cell> = MODELS.map(cell).into_iter().filter(|cell| answers(cell).is_ok()).collect();
        if cells.is_empty() {
            // What stands in the way of all of them is in the settings or the data.
            answers(&cell(MODELS[0]))?;
        }
        return Ok(cells);
    }
    let mut cells: Vec<Cell> = Vec::new();
    for model in &models {
        if cells.iter().any(|cell| cell.config.model == *model) {
            return Err(WrongUsage(format!("--models names {model} twice")).into());
        }
        cells.push(cell(model));
        answers(&cells[cells.len() - 1])?;
    }
    Ok(cells)
}

/// One model with its repeats.
struct Entry {
    model: String,
    records: Vec<Record>,
    seconds: f64,
}

impl Entry {
    fn new(model: &str) -> Entry {
        Entry { model: model.to_string(), records: Vec::new(), seconds: 0.0 }
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

    fn json(&self, best: &Entry, chance: Option<Chance>) -> serde_json::Value {
        let (mean, std) = self.mean_and_std();
        json!({
            "model": self.model, "mean": mean, "std": std, "tests": self.tests(),
            "behind": best.mean_and_std().0 - mean,
            "p": chance.map(|chance| chance.p), "p_holm": chance.map(|chance| chance.among_all),
            "millis_per_epoch": self.millis_per_epoch(), "seconds": self.seconds, "peak_bytes": self.peak_bytes(),
        })
    }
}

/// How likely a difference to the best is luck.
#[derive(Clone, Copy)]
struct Chance {
    /// Were there no others to compare.
    p: f64,
    /// As one of several comparisons.
    among_all: f64,
}

/// Of every row but the first, where there are repeats to tell.
fn chances(rows: &[Entry]) -> Vec<Option<Chance>> {
    let best = rows[0].tests();
    let p: Option<Vec<f64>> = rows[1..].iter().map(|row| paired_p(&best, &row.tests())).collect();
    let p = p.unwrap_or_default();
    let mut chances = p.iter().zip(holm(&p)).map(|(&p, among_all)| Some(Chance { p, among_all }));
    std::iter::once(None).chain(rows[1..].iter().map(|_| chances.next().flatten())).collect()
}

fn text(dataset: &Dataset, config: &Config, metric: &str, rows: &[Entry]) -> String {
    let mut table = Table::new(&["model", &format!("{metric}, %"), "behind", "p", "ms per epoch", "seconds", "memory"]);
    let best = &rows[0];
    let mut level = Vec::new();
    for (row, chance) in rows.iter().zip(chances(rows)) {
        let (mean, std) = row.mean_and_std();
        if chance.is_some_and(|chance| chance.among_all >= SIGNIFICANCE_LEVEL) {
            level.push(row.model.as_str());
        }
        let behind = if row.model == best.model { String::new() } else { percent(best.mean_and_std().0 - mean) };
        table.row(&[
            row.model.clone(),
            if config.repeats > 1 { format!("{} ± {}", percent(mean), percent(std)) } else { percent(mean) },
            behind,
            chance.map_or(
                String::new(),
                |Chance { p, .. }| {
                    if p < 0.001 { "< 0.001".to_string() } else { format!("{p:.3}") }
                },
            ),
            format!("{:.2}", row.millis_per_epoch()),
            format!("{:.1}", row.seconds),
            row.peak_bytes().map_or(String::new(), byte_size),
        ]);
    }
    let (repeats, others) = (config.repeats, level.join(", "));
    // One comparison needs no correction.
    let rule = if rows.len() > 2 {
        format!(" (Holm's correction, p < {SIGNIFICANCE_LEVEL})")
    } else {
        format!(" (p < {SIGNIFICANCE_LEVEL})")
    };
    let lesson = match (repeats, level.is_empty(), rows.len()) {
        (1, ..) | (.., 1) => String::new(),
        (_, true, _) => format!("{} is ahead of all others by more than luck{rule}.\n", best.model),
        (_, false, _) => format!("{} is first, but not ahead of {others} by more than luck{rule}.\n", best.model),
    };
    format!(
        "{}, {} ({} protocol): {}, {}; mean of {}\n\n{table}\n{lesson}",
        dataset.name,
        config.task.to_string().replace('-', " "),
        config.protocol,
        pluralize(dataset.num_nodes(), "node"),
        pluralize(dataset.num_edges(), "edge"),
        pluralize(repeats, "repeat"),
    )
}

/// Says how a training goes on.
struct Message<'a> {
    bar: &'a ProgressBar,
}

impl Observer for Message<'_> {
    fn epoch(&mut self, progress: &Progress, evaluation: Option<&Evaluation>) -> ControlFlow<()> {
        if let Some(evaluation) = evaluation {
            let (epoch, epochs) = (progress.epoch, progress.epochs);
            self.bar.set_message(format!("epoch {epoch}/{epochs}, valid {}", percent(evaluation.valid)));
        }
        ControlFlow::Continue(())
    }
}
