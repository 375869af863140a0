//! `nigh reproduce`: runs what has no record yet, and keeps a record of every repeat the moment it ends.

use super::{WrongUsage, check_place, is_dressed, load, print, print_notes, trimmed};
use crate::cli::{Data, Reproduce};
use crate::progress;
use anyhow::{Result, anyhow};
use indicatif::{HumanDuration, ProgressBar};
use nigh::Dataset;
use nigh::display::{percent, pluralize};
use nigh::experiment::{Cell, ComparedTable, Experiment, Record, RecordSet, Store, measure};
use nigh::report::paper;
use nigh::train::{Evaluation, Observer, Progress};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

/// Version and commit, for the records.
const VERSION: &str = env!("NIGH_VERSION");

pub fn run(options: &Reproduce, quiet: bool) -> Result<()> {
    let tables = tables(&options.table, options.epochs, options.repeats)?;
    let words = trimmed(&options.only);
    if words.is_empty() && !options.only.is_empty() {
        return Err(WrongUsage("--only names nothing".into()).into());
    }
    let only = Only::new(&words, &tables)?;
    let store = Store::new(&options.results);
    let found = store.read()?;
    print_notes(&found.notes, quiet);
    let cells = cells(&tables, &only);
    if cells.is_empty() && !words.is_empty() {
        let problem = format!("--only {}: no figure has these together", words.join(","));
        return Err(WrongUsage(problem).into());
    }
    let mut left = repeats_left(&cells, &found);
    if options.dry_run {
        return print(&plan(&left, &cells));
    }
    check_place(&options.results.join("records"))?;
    let mut data = Reader { folder: options.data.as_deref(), at_hand: None, quiet };
    let Sizes { sizes, notes, mut failed } = data.sizes(&left, &tables);
    print_notes(&notes, quiet);
    left.retain(|(cell, _)| sizes.contains_key(&cell.dataset));
    let work = Work::new(&left, &sizes, quiet);
    let mut elsewhere = Vec::new();
    for (at, &(cell, seed)) in left.iter().enumerate() {
        match work.repeat(&store, cell, seed, &mut data, at)? {
            Repeat::Done => (),
            Repeat::Elsewhere => elsewhere.push((cell, seed)),
            Repeat::Failed(problem) => failed.push(problem),
        }
    }
    work.bar.finish_and_clear();
    let found = store.read()?;
    for table in tables {
        let mut judged = ComparedTable::new(table, &found);
        judged.figures.retain(|figure| only.takes(&figure.cell));
        if !judged.figures.is_empty() {
            print(&format!("{}\n", paper::text(&judged, is_dressed())))?;
        }
    }
    elsewhere.retain(|(cell, seed)| !found.has(cell, *seed));
    if !elsewhere.is_empty() {
        print_notes(&[format!("{} in the hands of another process", pluralize(elsewhere.len(), "repeat"))], quiet);
    }
    match &failed[..] {
        [] => Ok(()),
        problems => Err(anyhow!("{}", problems.join("\n       "))),
    }
}

/// The tables that a word stands for, with other numbers of epochs and repeats if wanted.
pub fn tables(word: &str, epochs: Option<usize>, repeats: Option<usize>) -> Result<Vec<Experiment>> {
    let tables = match word {
        "all" => Experiment::all(),
        file if file.ends_with(".toml") => vec![Experiment::read(Path::new(file))?],
        name => vec![Experiment::named(name)?],
    };
    Ok(tables.into_iter().map(|table| table.with(epochs, repeats)).collect::<nigh::Result<_>>()?)
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
            let is = |name: &str, label: &str| [name, label].iter().any(|name| word.eq_ignore_ascii_case(name));
            let datasets = columns().filter(|column| is(&column.dataset, &column.label)).map(|column| &column.dataset);
            let models = rows().filter(|row| is(&row.model, &row.label)).map(|row| &row.model);
            let (datasets, mut models): (BTreeSet<&String>, BTreeSet<&String>) = (datasets.collect(), models.collect());
            if models.len() > 1 {
                // Rows of several models are called so: it is the name of none.
                models.clear();
            }
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

/// The cells of the tables.
fn cells(tables: &[Experiment], only: &Only) -> Vec<Cell> {
    let cells = tables.iter().flat_map(|table| table.places().filter_map(|(row, column)| table.cell(row, column)));
    cells.filter(|cell| only.takes(cell)).collect()
}

/// What has no record, each once. The first repeat of every cell goes before the second of any: whoever stops early has
/// seen the whole table.
fn repeats_left<'a>(cells: &'a [Cell], found: &RecordSet) -> Vec<(&'a Cell, u64)> {
    let (mut planned, mut left) = (BTreeSet::new(), Vec::new());
    for cell in cells {
        let (address, run) = (format!("{:?}", cell.address()), found.of(cell).map(|record| record.seed));
        let run: BTreeSet<u64> = run.collect();
        let seeds = cell.seeds().enumerate().filter(|(_, seed)| !run.contains(seed));
        left.extend(seeds.filter(|(_, seed)| planned.insert((address.clone(), *seed))).map(|entry| (cell, entry)));
    }
    left.sort_by_key(|(_, (repeat, _))| *repeat);
    left.into_iter().map(|(cell, (_, seed))| (cell, seed)).collect()
}

fn plan(left: &[(&Cell, u64)], cells: &[Cell]) -> String {
    let mut lines: BTreeMap<&str, usize> = BTreeMap::new();
    left.iter().for_each(|(cell, _)| *lines.entry(&cell.dataset).or_default() += 1);
    let open: BTreeSet<String> = left.iter().map(|(cell, _)| format!("{:?}", cell.address())).collect();
    let all: BTreeSet<String> = cells.iter().map(|cell| format!("{:?}", cell.address())).collect();
    let (repeats, open, all) = (pluralize(left.len(), "repeat"), pluralize(open.len(), "cell"), all.len());
    let mut text = format!("{repeats} of {open} to run; {all} in all\n");
    lines.iter().for_each(|(dataset, count)| text += &format!("  {dataset}: {}\n", pluralize(*count, "repeat")));
    text
}

/// Reads datasets as they are needed and holds one at a time: what the others take is no part of a repeat's memory.
struct Reader<'a> {
    folder: Option<&'a Path>,
    at_hand: Option<(String, Dataset)>,
    quiet: bool,
}

/// Nodes and edges of every dataset that can be had.
#[derive(Default)]
struct Sizes {
    sizes: BTreeMap<String, usize>,
    notes: Vec<String>,
    failed: Vec<String>,
}

impl Reader<'_> {
    fn dataset(&mut self, name: &str, quiet: bool) -> Result<&Dataset> {
        if self.at_hand.as_ref().is_none_or(|(at_hand, _)| at_hand != name) {
            self.at_hand = None;
            let data = Data { graph: name.into(), data: self.folder.map(Path::to_path_buf), ..Data::default() };
            self.at_hand = Some((name.into(), load(&data, quiet)?));
        }
        Ok(&self.at_hand.as_ref().expect("a dataset that was read").1)
    }

    /// Looks into everything that the work needs before hours are spent on some of it.
    fn sizes(&mut self, left: &[(&Cell, u64)], tables: &[Experiment]) -> Sizes {
        let mut found = Sizes::default();
        let wanted: BTreeSet<&str> = left.iter().map(|(cell, _)| cell.dataset.as_str()).collect();
        for name in wanted {
            match self.dataset(name, self.quiet) {
                Ok(dataset) => {
                    found.sizes.insert(name.into(), dataset.num_nodes() + dataset.num_edges());
                }
                Err(error) => {
                    let mut columns = tables.iter().flat_map(|table| &table.columns);
                    if columns.any(|column| column.dataset == name && column.missing.is_some()) {
                        found.notes.push(format!("{name} is left out: {error}"));
                    } else {
                        found.failed.push(format!("{name}: {error}"));
                    }
                }
            }
        }
        found
    }
}

/// The repeats that are left, and how far they are.
struct Work {
    bar: ProgressBar,
    /// What each of them costs, in steps of the bar.
    costs: Vec<u64>,
    total: usize,
    lines: bool,
    started: Instant,
}

enum Repeat {
    Done,
    /// Another process has it, or had it meanwhile.
    Elsewhere,
    Failed(String),
}

impl Work {
    fn new(left: &[(&Cell, u64)], sizes: &BTreeMap<String, usize>, quiet: bool) -> Work {
        let costs: Vec<u64> = left.iter().map(|(cell, _)| cost(cell, sizes[&cell.dataset])).collect();
        let bar = progress::share(costs.iter().sum(), quiet);
        Work { lines: !quiet && bar.is_hidden(), bar, costs, total: left.len(), started: Instant::now() }
    }

    /// As far as it can be told from what was done.
    fn time_left(&self, done: u64) -> String {
        let left = self.costs.iter().sum::<u64>() - done;
        let time = self.started.elapsed().mul_f64(left as f64 / done as f64);
        if left == 0 { String::new() } else { format!(", {} left", HumanDuration(time)) }
    }

    fn repeat(&self, store: &Store, cell: &Cell, seed: u64, data: &mut Reader<'_>, at: usize) -> Result<Repeat> {
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
        // What there is to say of the data was said.
        let dataset = data.dataset(&cell.dataset, true);
        let measured = dataset.and_then(|dataset| Ok(measure(cell, dataset, seed, VERSION, &mut ticks)?));
        let record = match measured {
            Ok(record) => record,
            Err(error) => return Ok(Repeat::Failed(format!("{what}, seed {seed}: {error}"))),
        };
        store.append(&record)?;
        if self.lines {
            let (number, total, left) = (at + 1, self.total, self.time_left(before + self.costs[at]));
            progress::print_line(&format!("{number}/{total} {what}: {}{left}", ending(&record, started)));
        }
        Ok(Repeat::Done)
    }
}

fn ending(record: &Record, started: Instant) -> String {
    let (metric, seconds) = (record.config.metric, started.elapsed().as_secs_f64());
    format!("seed {}, {metric} {} at epoch {}, {seconds:.1} s", record.seed, percent(record.test), record.best_epoch)
}

/// What a repeat costs, about, so that the time left is no surprise.
fn cost(cell: &Cell, size: usize) -> u64 {
    let dearer = match cell.config.model.as_str() {
        "p-gnn" => 12,
        "gat" => 4,
        "graphsage" | "smp-linear-gcn-both" => 2,
        _ => 1,
    };
    (cell.config.epochs * (1000 + size) * dearer) as u64 / 1000 + 1
}

/// Moves the bar through one repeat.
struct Ticks<'a> {
    bar: &'a ProgressBar,
    before: u64,
    cost: u64,
}

impl Observer for Ticks<'_> {
    fn epoch(&mut self, progress: &Progress, evaluation: Option<&Evaluation>) -> ControlFlow<()> {
        if let Some(evaluation) = evaluation {
            self.bar.set_position(self.before + self.cost * progress.epoch as u64 / progress.epochs as u64);
            self.bar.set_message(format!("valid {}", percent(evaluation.valid)));
        }
        ControlFlow::Continue(())
    }
}
