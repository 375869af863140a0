//! `nigh reproduce`: runs the repeats that have no record yet, and writes a record as soon as each ends.

use super::{WrongUsage, check_writable, is_styled, load, print, print_notes, print_page, trimmed};
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

/// Version and commit, which records carry.
const VERSION: &str = env!("NIGH_VERSION");

pub fn run(options: &Reproduce, quiet: bool) -> Result<()> {
    let tables = tables(&options.table, options.epochs, options.repeats)?;
    let words = trimmed(&options.only);
    if words.is_empty() && !options.only.is_empty() {
        return Err(WrongUsage("--only names nothing".into()).into());
    }
    let only = Selection::new(&words, &tables)?;
    let store = Store::new(&options.results);
    let records = store.read()?;
    print_notes(&records.notes, quiet);
    let cells = cells(&tables, &only);
    if cells.is_empty() && !words.is_empty() {
        let problem = format!("--only {}: no figure has these together", words.join(","));
        return Err(WrongUsage(problem).into());
    }
    let mut left = repeats_left(&cells, &records);
    if options.dry_run {
        return print(&plan(&left, &cells));
    }
    check_writable(&options.results.join("records"))?;
    let mut data = DatasetReader { folder: options.data.as_deref(), current: None, quiet };
    let Sizes { sizes, notes, mut failed } = data.sizes(&left, &tables);
    print_notes(&notes, quiet);
    left.retain(|(cell, _)| sizes.contains_key(&cell.dataset));
    let queue = RunQueue::new(&left, &sizes, quiet);
    let mut elsewhere = Vec::new();
    for (at, &(cell, seed)) in left.iter().enumerate() {
        match queue.repeat(&store, cell, seed, &mut data, at)? {
            RepeatOutcome::Done => (),
            RepeatOutcome::Elsewhere => elsewhere.push((cell, seed)),
            RepeatOutcome::Failed(problem) => failed.push(problem),
        }
    }
    queue.bar.finish_and_clear();
    let records = store.read()?;
    for table in tables {
        let mut compared = ComparedTable::new(table, &records);
        // What others printed stays beside the figures of ours in the same column.
        let ours =
            compared.figures.iter().filter(|figure| figure.cell.as_ref().is_some_and(|cell| only.contains(cell)));
        let columns: BTreeSet<usize> = ours.map(|figure| figure.column).collect();
        compared.figures.retain(|figure| match &figure.cell {
            Some(cell) => only.contains(cell),
            None => columns.contains(&figure.column),
        });
        if !columns.is_empty() {
            print_page(&format!("{}\n", paper::text(&compared, is_styled())))?;
        }
    }
    elsewhere.retain(|(cell, seed)| !records.has(cell, *seed));
    if !elsewhere.is_empty() {
        print_notes(&[format!("{} being run by another process", pluralize(elsewhere.len(), "repeat"))], quiet);
    }
    match &failed[..] {
        [] => Ok(()),
        problems => Err(anyhow!("{}", problems.join("\n       "))),
    }
}

/// The tables that a word names, with other numbers of epochs and repeats if given.
pub fn tables(word: &str, epochs: Option<usize>, repeats: Option<usize>) -> Result<Vec<Experiment>> {
    let tables = match word {
        "all" => Experiment::all(),
        "beyond" => Experiment::all_beyond(),
        file if file.ends_with(".toml") => vec![Experiment::read(Path::new(file))?],
        name => vec![Experiment::named(name)?],
    };
    Ok(tables.into_iter().map(|table| table.with(epochs, repeats)).collect::<nigh::Result<_>>()?)
}

/// The datasets and models of `--only`; an empty set means all.
struct Selection {
    datasets: BTreeSet<String>,
    models: BTreeSet<String>,
}

impl Selection {
    fn new(words: &[String], tables: &[Experiment]) -> Result<Selection> {
        let columns = || tables.iter().flat_map(|table| &table.columns);
        let rows = || tables.iter().flat_map(|table| &table.rows);
        let mut only = Selection { datasets: BTreeSet::new(), models: BTreeSet::new() };
        for word in words {
            // By the name of this program or by that of the paper.
            let is = |name: &str, label: &str| [name, label].iter().any(|name| word.eq_ignore_ascii_case(name));
            let datasets = columns().filter(|column| is(&column.dataset, &column.label)).map(|column| &column.dataset);
            let run = rows().filter_map(|row| Some((row.model.as_ref()?, &row.label)));
            let models = run.filter(|(model, label)| is(model, label)).map(|(model, _)| model);
            let (datasets, mut models): (BTreeSet<&String>, BTreeSet<&String>) = (datasets.collect(), models.collect());
            if models.len() > 1 {
                // Rows of several models share this label, so it names no model.
                models.clear();
            }
            if datasets.is_empty() && models.is_empty() {
                let datasets: BTreeSet<&str> = columns().map(|column| column.dataset.as_str()).collect();
                let models: BTreeSet<&str> = rows().filter_map(|row| row.model.as_deref()).collect();
                let list = |names: BTreeSet<&str>| names.into_iter().collect::<Vec<_>>().join(", ");
                let (datasets, models) = (list(datasets), list(models));
                let problem = format!("--only {word}: not in the table. Datasets: {datasets}. Models: {models}");
                return Err(WrongUsage(problem).into());
            }
            only.datasets.extend(datasets.into_iter().cloned());
            only.models.extend(models.into_iter().cloned());
        }
        Ok(only)
    }

    fn contains(&self, cell: &Cell) -> bool {
        let in_set = |set: &BTreeSet<String>, name: &str| set.is_empty() || set.contains(name);
        in_set(&self.datasets, &cell.dataset) && in_set(&self.models, &cell.config.chosen_model().name)
    }
}

/// The cells of the tables.
fn cells(tables: &[Experiment], only: &Selection) -> Vec<Cell> {
    let cells = tables.iter().flat_map(|table| table.places().filter_map(|(row, column)| table.cell(row, column)));
    cells.filter(|cell| only.contains(cell)).collect()
}

/// The repeats without a record, each once. The first repeat of every cell comes before the second of any, so that an
/// interrupted run has figures for the whole table.
fn repeats_left<'a>(cells: &'a [Cell], records: &RecordSet) -> Vec<(&'a Cell, u64)> {
    let (mut planned, mut left) = (BTreeSet::new(), Vec::new());
    for cell in cells {
        let (address, run) = (format!("{:?}", cell.address()), records.of(cell).map(|record| record.seed));
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
    let mut text = format!("{repeats} of {open} to run; {all} in total\n");
    lines.iter().for_each(|(dataset, count)| text += &format!("  {dataset}: {}\n", pluralize(*count, "repeat")));
    text
}

/// Reads datasets when they are needed and holds one at a time, so that others do not count in the memory of a repeat.
struct DatasetReader<'a> {
    folder: Option<&'a Path>,
    current: Option<(String, Dataset)>,
    quiet: bool,
}

/// Nodes plus edges of every dataset that could be read.
#[derive(Default)]
struct Sizes {
    sizes: BTreeMap<String, usize>,
    notes: Vec<String>,
    failed: Vec<String>,
}

impl DatasetReader<'_> {
    fn dataset(&mut self, name: &str, quiet: bool) -> Result<&Dataset> {
        if self.current.as_ref().is_none_or(|(current, _)| current != name) {
            self.current = None;
            let data = Data { graph: name.into(), data: self.folder.map(Path::to_path_buf), ..Data::default() };
            self.current = Some((name.into(), load(&data, quiet)?));
        }
        Ok(&self.current.as_ref().expect("read above").1)
    }

    /// Reads every dataset once, so that a missing one is reported before hours are spent on others.
    fn sizes(&mut self, left: &[(&Cell, u64)], tables: &[Experiment]) -> Sizes {
        let mut sizes = Sizes::default();
        let wanted: BTreeSet<&str> = left.iter().map(|(cell, _)| cell.dataset.as_str()).collect();
        for name in wanted {
            match self.dataset(name, self.quiet) {
                Ok(dataset) => {
                    sizes.sizes.insert(name.into(), dataset.num_nodes() + dataset.num_edges());
                }
                Err(error) => {
                    let mut columns = tables.iter().flat_map(|table| &table.columns);
                    if columns.any(|column| column.dataset == name && column.missing.is_some()) {
                        sizes.notes.push(format!("{name} is skipped: {error}"));
                    } else {
                        sizes.failed.push(format!("{name}: {error}"));
                    }
                }
            }
        }
        sizes
    }
}

/// The repeats that are left to run, with their progress.
struct RunQueue {
    bar: ProgressBar,
    /// The estimated cost of each, in steps of the bar.
    costs: Vec<u64>,
    total: usize,
    lines: bool,
    started: Instant,
}

enum RepeatOutcome {
    Done,
    /// Another process runs it, or has finished it meanwhile.
    Elsewhere,
    Failed(String),
}

impl RunQueue {
    fn new(left: &[(&Cell, u64)], sizes: &BTreeMap<String, usize>, quiet: bool) -> RunQueue {
        let costs: Vec<u64> = left.iter().map(|(cell, _)| cost(cell, sizes[&cell.dataset])).collect();
        let bar = progress::percentage_bar(costs.iter().sum(), quiet);
        RunQueue { lines: !quiet && bar.is_hidden(), bar, costs, total: left.len(), started: Instant::now() }
    }

    /// Estimated from the repeats that are done.
    fn time_left(&self, done: u64) -> String {
        let left = self.costs.iter().sum::<u64>() - done;
        let time = self.started.elapsed().mul_f64(left as f64 / done as f64);
        if left == 0 { String::new() } else { format!(", {} left", HumanDuration(time)) }
    }

    fn repeat(
        &self,
        store: &Store,
        cell: &Cell,
        seed: u64,
        data: &mut DatasetReader<'_>,
        at: usize,
    ) -> Result<RepeatOutcome> {
        let before: u64 = self.costs[..at].iter().sum();
        self.bar.set_position(before);
        let Some(_lock) = store.try_lock(cell, seed)? else { return Ok(RepeatOutcome::Elsewhere) };
        // Another process may have finished it since the records were read.
        if store.has(cell, seed)? {
            return Ok(RepeatOutcome::Elsewhere);
        }
        let what = format!("{} {} {}", cell.dataset, cell.config.model, cell.config.task);
        self.bar.set_prefix(format!("{}/{} {what}", at + 1, self.total));
        let started = Instant::now();
        let mut observer = RepeatProgress { bar: &self.bar, before, cost: self.costs[at] };
        // The notes on the data have been printed already.
        let dataset = data.dataset(&cell.dataset, true);
        let measured = dataset.and_then(|dataset| Ok(measure(cell, dataset, seed, VERSION, &mut observer)?));
        let record = match measured {
            Ok(record) => record,
            Err(error) => return Ok(RepeatOutcome::Failed(format!("{what}, seed {seed}: {error}"))),
        };
        store.append(&record)?;
        if self.lines {
            let (number, total, left) = (at + 1, self.total, self.time_left(before + self.costs[at]));
            progress::print_line(&format!("{number}/{total} {what}: {}{left}", result_line(&record, started)));
        }
        Ok(RepeatOutcome::Done)
    }
}

fn result_line(record: &Record, started: Instant) -> String {
    let (metric, seconds) = (record.config.metric, started.elapsed().as_secs_f64());
    format!("seed {}, {metric} {} at epoch {}, {seconds:.1} s", record.seed, percent(record.test), record.best_epoch)
}

/// Approximate cost of a repeat, to estimate the time left.
fn cost(cell: &Cell, size: usize) -> u64 {
    let factor = match cell.config.chosen_model().name.as_str() {
        "p-gnn" => 12,
        "gat" => 4,
        "graphsage" | "smp-linear-gcn-both" => 2,
        _ => 1,
    };
    (cell.config.epochs.unwrap_or(1000) * (1000 + size) * factor) as u64 / 1000 + 1
}

/// Moves the bar during one repeat.
struct RepeatProgress<'a> {
    bar: &'a ProgressBar,
    before: u64,
    cost: u64,
}

impl Observer for RepeatProgress<'_> {
    fn epoch(&mut self, progress: &Progress, evaluation: Option<&Evaluation>) -> ControlFlow<()> {
        if let Some(evaluation) = evaluation {
            self.bar.set_position(self.before + self.cost * progress.epoch as u64 / progress.epochs as u64);
            self.bar.set_message(format!("valid {}", percent(evaluation.valid)));
        }
        ControlFlow::Continue(())
    }
}
