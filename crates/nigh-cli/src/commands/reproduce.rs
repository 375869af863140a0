//! `nigh reproduce`: runs the repeats that have no record yet, and writes a record as soon as each ends.

use super::{WrongUsage, check_writable, is_styled, load, print, print_notes, print_page, trimmed};
use crate::VERSION;
use crate::cli::{Data, Reproduce};
use crate::progress;
use anyhow::{Result, anyhow};
use indicatif::{HumanDuration, ProgressBar};
use nigh::Error;
use nigh::display::{percent, pluralize};
use nigh::train::{Evaluation, Observer, Progress};
use nigh_paper::report::paper;
use nigh_paper::{
    Cell, Experiment, PlannedRepeat, Record, Reproduced, Reproduction, ReproductionObserver, ReproductionPlan,
};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::time::Instant;

pub fn run(options: &Reproduce, quiet: bool) -> Result<()> {
    let tables = tables(&options.table, options.epochs, options.repeats)?;
    let only = trimmed(&options.only);
    if only.is_empty() && !options.only.is_empty() {
        return Err(WrongUsage("--only names nothing".into()).into());
    }
    let reproduction = Reproduction::new(tables, &only, &options.results).map_err(|error| match error {
        Error::Setting { name: "only", value, problem } => WrongUsage(format!("--only {value}: {problem}")).into(),
        other => anyhow::Error::from(other),
    })?;
    let plan = reproduction.plan()?;
    print_notes(&plan.notes, quiet);
    if options.dry_run {
        return print(&text(&plan));
    }
    check_writable(&options.results.join("records"))?;
    let mut noted = BTreeSet::new();
    let read = |name: &str| {
        let data = Data { graph: name.into(), data: options.data.clone(), ..Data::default() };
        // The notes on the data are printed once.
        let is_noted = !noted.insert(name.to_string());
        load(&data, quiet || is_noted).map_err(|error| error.to_string())
    };
    let mut watch = Watch::new(quiet);
    let reproduced = reproduction.run(&plan, VERSION, read, &mut watch);
    watch.bar.finish_and_clear();
    let Reproduced { failed, elsewhere, .. } = reproduced?;
    for table in reproduction.compared()? {
        print_page(&format!("{}\n", paper::text(&table, is_styled())))?;
    }
    if elsewhere > 0 {
        print_notes(&[format!("{} being run by another process", pluralize(elsewhere, "repeat"))], quiet);
    }
    match &failed[..] {
        [] => Ok(()),
        problems => Err(anyhow!("{}", problems.join("\n       "))),
    }
}

/// The tables that a word names, with other numbers of epochs and repeats if given.
pub fn tables(word: &str, epochs: Option<usize>, repeats: Option<usize>) -> Result<Vec<Experiment>> {
    let tables = Experiment::tables(word)?.into_iter();
    Ok(tables.map(|table| table.with(epochs, repeats)).collect::<nigh::Result<_>>()?)
}

fn text(plan: &ReproductionPlan<'_>) -> String {
    let (repeats, open) = (pluralize(plan.repeats().len(), "repeat"), pluralize(plan.num_open_cells(), "cell"));
    let mut text = format!("{repeats} of {open} to run; {} in total\n", plan.num_cells);
    plan.by_dataset().iter().for_each(|(name, count)| text += &format!("  {name}: {}\n", pluralize(*count, "repeat")));
    text
}

/// Shows how far it is.
struct Watch {
    bar: ProgressBar,
    quiet: bool,
    /// Without a bar every repeat is a line.
    lines: bool,
    /// Number and cost of all repeats.
    total: (usize, u64),
    /// Cost of the repeats before this one, and of this one.
    before: u64,
    cost: u64,
    started: Instant,
    repeat_started: Instant,
}

impl Watch {
    fn new(quiet: bool) -> Watch {
        let (bar, now) = (ProgressBar::hidden(), Instant::now());
        Watch { bar, quiet, lines: false, total: (0, 0), before: 0, cost: 0, started: now, repeat_started: now }
    }

    /// Estimated from the repeats that are done.
    fn time_left(&self, done: u64) -> String {
        let left = self.total.1 - done;
        let time = self.started.elapsed().mul_f64(left as f64 / done as f64);
        if left == 0 { String::new() } else { format!(", {} left", HumanDuration(time)) }
    }
}

fn name(cell: &Cell) -> String {
    format!("{} {} {}", cell.dataset, cell.config.model, cell.config.task)
}

impl ReproductionObserver for Watch {
    fn planned(&mut self, repeats: &[PlannedRepeat<'_>], notes: &[String]) {
        print_notes(notes, self.quiet);
        self.total = (repeats.len(), repeats.iter().map(|repeat| repeat.cost).sum());
        self.bar = progress::percentage_bar(self.total.1, self.quiet);
        self.lines = !self.quiet && self.bar.is_hidden();
        self.started = Instant::now();
    }

    fn begins(&mut self, repeat: &PlannedRepeat<'_>) {
        self.before += self.cost;
        (self.cost, self.repeat_started) = (repeat.cost, Instant::now());
        self.bar.set_position(self.before);
        self.bar.set_prefix(format!("{}/{} {}", repeat.number + 1, self.total.0, name(repeat.cell)));
    }

    fn ends(&mut self, repeat: &PlannedRepeat<'_>, record: &Record) {
        if self.lines {
            let (seconds, left) =
                (self.repeat_started.elapsed().as_secs_f64(), self.time_left(self.before + self.cost));
            let (metric, test, epoch) = (record.config.metric, percent(record.test), record.best_epoch);
            let result = format!("seed {}, {metric} {test} at epoch {epoch}, {seconds:.1} s", record.seed);
            let (number, total) = (repeat.number + 1, self.total.0);
            progress::print_line(&format!("{number}/{total} {}: {result}{left}", name(repeat.cell)));
        }
    }
}

impl Observer for Watch {
    fn epoch(&mut self, progress: &Progress, evaluation: Option<&Evaluation>) -> ControlFlow<()> {
        if let Some(evaluation) = evaluation {
            self.bar.set_position(self.before + self.cost * progress.epoch as u64 / progress.epochs as u64);
            self.bar.set_message(format!("valid {}", percent(evaluation.valid)));
        }
        ControlFlow::Continue(())
    }
}
