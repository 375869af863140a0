//! `nigh reproduce`: runs what has no record yet, and keeps a record of every repeat the moment it ends.

use super::{WrongUsage, check_place, load, print, say};
use crate::cli::{Data, Reproduce};
use crate::progress;
use anyhow::{Result, anyhow};
use indicatif::ProgressBar;
use nigh::experiment::{Cell, Experiment, Judged, Record, Store, measure};
use nigh::report::paper;
use nigh::report::table::{counted, percent};
use nigh::train::{Evaluation, Observer, Progress};
use nigh::{Dataset, Error};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Version and commit, for the records.
const VERSION: &str = env!("NIGH_VERSION");

pub fn run(options: &Reproduce, quiet: bool) -> Result<()> {
    let tables = tables(&options.table)?;
    let only = Only::new(&options.only, &tables)?;
    let (repeats, epochs) = (options.repeats, options.epochs);
    if repeats == Some(0) || epochs == Some(0) {
        let name = if repeats == Some(0) { "repeats" } else { "epochs" };
        return Err(Error::setting(name, 0, "expected 1 or more").into());
    }
    let store = Store::new(&options.results);
    let found = store.read()?;
    say(&found.notes, quiet);
    // The first repeat of every cell goes before the second of any: whoever stops early has seen the whole table.
    let cells = cells(&tables, &only, epochs, repeats);
    if cells.is_empty() && !options.only.is_empty() {
        let problem = format!("--only {}: no figure has these together", options.only.join(","));
        return Err(WrongUsage(problem).into());
    }
    let most = cells.iter().map(|cell| cell.config.repeats).max().unwrap_or(0);
    let mut left: Vec<(&Cell, u64)> = (0..most)
        .flat_map(|repeat| cells.iter().filter_map(move |cell| Some((cell, cell.seeds().nth(repeat)?))))
        .filter(|(cell, seed)| !found.has(cell, *seed))
        .collect();
    if options.dry_run {
        return print(&plan(&left, &cells));
    }
    check_place(&options.results.join("records"))?;
    let mut data = Loaded { folder: options.data.as_deref(), datasets: BTreeMap::new(), quiet };
    let missing = data.load_all(&mut left, &tables);
    say(&missing.notes, quiet);
    let mut failed = missing.failed;
    let work = Work::new(&left, &data, quiet);
    for (at, &(cell, seed)) in left.iter().enumerate() {
        let dataset = data.datasets[&cell.dataset].clone();
        match work.repeat(&store, cell, seed, &dataset, at)? {
            Repeat::Done | Repeat::Elsewhere => (),
            Repeat::Failed(problem) => failed.push(problem),
        }
    }
    work.bar.finish_and_clear();
    let found = store.read()?;
    for table in tables {
        let mut judged = Judged::new(table, &found, epochs, repeats);
        judged.figures.retain(|figure| only.takes(&figure.cell));
        if !judged.figures.is_empty() {
            print(&format!("{}\n", paper::text(&judged)))?;
        }
    }
    let elsewhere = left.iter().filter(|(cell, seed)| !found.has(cell, *seed)).count();
    if elsewhere > failed.len() {
        say(&[format!("{} in the hands of another process", counted(elsewhere - failed.len(), "repeat"))], quiet);
    }
    match &failed[..] {
        [] => Ok(()),
        problems => Err(anyhow!("{}", problems.join("\n       "))),
    }
}

/// The tables that a word stands for.
pub fn tables(word: &str) -> Result<Vec<Experiment>> {
    Ok(match word {
        "all" => Experiment::all(),
        file if file.ends_with(".toml") => vec![Experiment::read(Path::new(file))?],
        name => vec![Experiment::named(name)?],
    })
}

/// Which datasets and models are wanted; an empty set means all.
struct Only {
    datasets: BTreeSet<String>,
    models: BTreeSet<String>,
}

impl Only {
    fn new(words: &[String], tables: &[Experiment]) -> Result<Only> {
        let columns = || tables.iter().flat_map(|table| &table.columns);
        let rows = || tables.iter().flat_map(|table| &table.rows);
        let mut only = Only { datasets: BTreeSet::new(), models: BTreeSet::new() };
        for word in words {
            // By our name or by the paper's.
            let is = |name: &str, label: &str| word == name || word.eq_ignore_ascii_case(label);
            let datasets = columns().filter(|column| is(&column.dataset, &column.label)).map(|column| &column.dataset);
            let models = rows().filter(|row| is(&row.model, &row.label)).map(|row| &row.model);
            let (datasets, models): (Vec<&String>, Vec<&String>) = (datasets.collect(), models.collect());
            if datasets.is_empty() && models.is_empty() {
                let datasets: BTreeSet<&str> = columns().map(|column| column.dataset.as_str()).collect();
                let models: BTreeSet<&str> = rows().map(|row| row.model.as_str()).collect();
                let list = |names: BTreeSet<&str>| names.into_iter().collect::<Vec<_>>().join(", ");
                let (datasets, models) = (list(datasets), list(models));
                let problem = format!("--only {word}: not here. Datasets: {datasets}. Models: {models}");
                return Err(WrongUsage(problem).into());
            }
            only.datasets.extend(datasets.into_iter().cloned());
            only.models.extend(models.into_iter().cloned());
        }
        Ok(only)
    }

    fn takes(&self, cell: &Cell) -> bool {
        let in_set = |set: &BTreeSet<String>, name: &str| set.is_empty() || set.contains(name);
        in_set(&self.datasets, &cell.dataset) && in_set(&self.models, &cell.config.model)
    }
}

fn cells_of(tables: &[Experiment]) -> Vec<Cell> {
    tables.iter().flat_map(|table| table.places().filter_map(|(row, column)| table.cell(row, column))).collect()
}

/// The cells of the tables, each once.
fn cells(tables: &[Experiment], only: &Only, epochs: Option<usize>, repeats: Option<usize>) -> Vec<Cell> {
    let mut seen = BTreeSet::new();
    let mut cells = cells_of(tables);
    cells.retain(|cell| only.takes(cell));
    let cells = cells.into_iter().map(|cell| cell.with(epochs, repeats));
    cells.filter(|cell| seen.insert(format!("{:?}", cell.address()))).collect()
}

fn plan(left: &[(&Cell, u64)], cells: &[Cell]) -> String {
    let mut lines: BTreeMap<&str, usize> = BTreeMap::new();
    left.iter().for_each(|(cell, _)| *lines.entry(&cell.dataset).or_default() += 1);
    let mut text = format!("{} of {} to run\n", counted(left.len(), "repeat"), counted(cells.len(), "cell"));
    lines.iter().for_each(|(dataset, count)| text += &format!("  {dataset}: {}\n", counted(*count, "repeat")));
    text
}

/// Datasets, each read once.
struct Loaded<'a> {
    folder: Option<&'a Path>,
    datasets: BTreeMap<String, Arc<Dataset>>,
    quiet: bool,
}

/// Data that could not be had.
#[derive(Default)]
struct Missing {
    notes: Vec<String>,
    failed: Vec<String>,
}

impl Loaded<'_> {
    /// Reads what the work needs, and takes from it what can't be run without its data.
    fn load_all(&mut self, left: &mut Vec<(&Cell, u64)>, tables: &[Experiment]) -> Missing {
        let mut missing = Missing::default();
        let wanted: BTreeSet<String> = left.iter().map(|(cell, _)| cell.dataset.clone()).collect();
        for name in wanted {
            let data = Data { graph: name.clone(), data: self.folder.map(Path::to_path_buf), ..Data::default() };
            match load(&data, self.quiet) {
                Ok(dataset) => drop(self.datasets.insert(name, dataset.into())),
                Err(error) => {
                    let is_expected = tables
                        .iter()
                        .flat_map(|table| &table.columns)
                        .any(|column| column.dataset == name && column.missing.is_some());
                    if is_expected {
                        missing.notes.push(format!("{name} is left out: {error}"));
                    } else {
                        missing.failed.push(format!("{name}: {error}"));
                    }
                }
            }
        }
        left.retain(|(cell, _)| self.datasets.contains_key(&cell.dataset));
        missing
    }
}

/// The repeats that are left, and how far they are.
struct Work {
    bar: ProgressBar,
    /// What each of them costs, in steps of the bar.
    costs: Vec<u64>,
    total: usize,
    lines: bool,
}

enum Repeat {
    Done,
    /// Another process has it, or had it meanwhile.
    Elsewhere,
    Failed(String),
}

impl Work {
    fn new(left: &[(&Cell, u64)], data: &Loaded<'_>, quiet: bool) -> Work {
        let costs: Vec<u64> = left.iter().map(|(cell, _)| cost(cell, &data.datasets[&cell.dataset])).collect();
        let bar = progress::share(costs.iter().sum(), quiet);
        Work { lines: !quiet && bar.is_hidden(), bar, costs, total: left.len() }
    }

    fn repeat(&self, store: &Store, cell: &Cell, seed: u64, dataset: &Dataset, at: usize) -> Result<Repeat> {
        let before: u64 = self.costs[..at].iter().sum();
        self.bar.set_position(before);
        let Some(_claim) = store.claim(cell, seed)? else { return Ok(Repeat::Elsewhere) };
        // Whoever had it may have finished since the records were read.
        if store.has(cell, seed)? {
            return Ok(Repeat::Elsewhere);
        }
        let what = format!("{} {} {}", cell.dataset, cell.config.model, cell.config.task);
        self.bar.set_prefix(format!("{}/{} {what}", at + 1, self.total));
        let started = Instant::now();
        let mut ticks = Ticks { bar: &self.bar, before, cost: self.costs[at] };
        let record = match measure(cell, dataset, seed, VERSION, &mut ticks) {
            Ok(record) => record,
            Err(error) => return Ok(Repeat::Failed(format!("{what}, seed {seed}: {error}"))),
        };
        store.append(&record)?;
        if self.lines {
            eprintln!("{}/{} {what}: {}", at + 1, self.total, ending(&record, started));
        }
        Ok(Repeat::Done)
    }
}

fn ending(record: &Record, started: Instant) -> String {
    let (metric, seconds) = (record.config.metric, started.elapsed().as_secs_f64());
    format!("seed {}, {metric} {} at epoch {}, {seconds:.1} s", record.seed, percent(record.test), record.best_epoch)
}

/// What a repeat costs, about, so that the time left is no surprise.
fn cost(cell: &Cell, dataset: &Dataset) -> u64 {
    let dearer = match cell.config.model.as_str() {
        "p-gnn" => 12,
        "gat" => 4,
        "graphsage" | "smp-linear-gcn-both" => 2,
        _ => 1,
    };
    let size = 1000 + dataset.num_nodes() + dataset.num_edges();
    (cell.config.epochs * size * dearer) as u64 / 1000 + 1
}

/// Moves the bar through one repeat.
struct Ticks<'a> {
    bar: &'a ProgressBar,
    before: u64,
    cost: u64,
}

impl Observer for Ticks<'_> {
    fn epoch(&mut self, progress: &Progress, evaluation: Option<&Evaluation>) {
        if let Some(evaluation) = evaluation {
            self.bar.set_position(self.before + self.cost * progress.epoch as u64 / progress.epochs as u64);
            self.bar.set_message(format!("valid {}", percent(evaluation.valid)));
        }
    }
}
