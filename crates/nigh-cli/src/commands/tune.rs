//! `nigh tune`: a search for settings, with progress, a table of what was tried, and the best settings as TOML.

use super::propagate::working_folder;
use super::train::LayeredSettings;
use super::{WrongUsage, check_writable, create_parents, load, print, print_json, print_notes};
use crate::cli::Tune;
use crate::progress::{self, Activity};
use anyhow::Result;
use nigh::display::{AlignedTable, mean_and_deviation, percent, pluralize};
use nigh::formats::atomic;
use nigh::train::{Progress, Stage, mean_and_std};
use nigh::{Error, Metric};
use nigh_paper::tune::{PlannedTrial, Search, SearchObserver, Trial, TrialLog, about};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Candidates that the table shows.
const SHOWN: usize = 15;

pub fn run(options: &Tune, quiet: bool) -> Result<()> {
    let started = Instant::now();
    let deadline = options.minutes.map(|minutes| deadline(started, minutes)).transpose()?;
    let log_path = options.out.as_deref().map(log_beside);
    if let (Some(out), Some(log)) = (&options.out, &log_path) {
        if out.exists() && !log.exists() {
            let problem = format!("exists already, and not from a search: there is no {} beside it", log.display());
            return Err(Error::file(out, problem).into());
        }
        check_writable(out)?;
    }
    let settings = LayeredSettings::read(options.config.as_deref(), &options.settings)?;
    let dataset = settings.with_split(&settings.config, load(&options.data, quiet)?)?;
    let search = Search::new(&dataset, settings.config.clone()).map_err(|error| settings.locate(error))?;
    let search = search.candidates(options.candidates)?;
    let search = match options.memory {
        Some(memory) => search.within(memory, &working_folder(options.out.as_deref())),
        None => search,
    };
    let mut log = match &log_path {
        Some(path) => {
            create_parents(path)?;
            Some(search.log(path)?)
        }
        None => None,
    };
    print_notes(&introduction(&search, log.as_ref()), quiet);
    let total = search.num_trials();
    let mut watch = Watch {
        search: &search,
        out: options.out.as_deref(),
        deadline,
        activity: Activity::of(progress::bar(total as u64, quiet), quiet),
        total,
        metric: search.defaults().metric,
        best: String::new(),
    };
    let trials = search.run(log.as_mut(), &mut watch);
    drop(watch);
    let trials = trials?;
    let best = search.best(&trials).expect("the defaults have been run");
    write_best(&search, options.out.as_deref(), best)?;
    if search.next(&trials).is_some() {
        let left = total.saturating_sub(trials.len());
        let how =
            if options.out.is_some() { "; the same command resumes it" } else { "; with --out it could be resumed" };
        print_notes(&[format!("time is up: {} of {total} not run{how}", pluralize(left, "trial"))], quiet);
    }
    if let Some(out) = &options.out {
        print_notes(&[format!("the best settings are in {}", out.display())], quiet);
    }
    match options.json {
        true => print_json(&as_json(&search, &trials, best, options.out.as_deref())?),
        false => print(&text(&search, &trials, best, options.out.as_deref())?),
    }
}

fn deadline(started: Instant, minutes: f64) -> Result<Instant> {
    let time = Duration::try_from_secs_f64(60.0 * minutes).ok().filter(|time| !time.is_zero());
    let deadline = time.and_then(|time| started.checked_add(time));
    deadline.ok_or_else(|| WrongUsage(format!("--minutes {minutes}: expected a number above 0")).into())
}

/// The file of trials of a search that writes its best settings to `out`.
fn log_beside(out: &Path) -> PathBuf {
    let mut name = out.file_name().unwrap_or_default().to_os_string();
    name.push(".trials.jsonl");
    out.with_file_name(name)
}

fn introduction(search: &Search<'_>, log: Option<&TrialLog>) -> Vec<String> {
    let defaults = search.defaults();
    let mut notes = vec![format!(
        "{} for {}: {} beside the defaults, {} in all; varied are {}",
        defaults.model,
        defaults.task,
        pluralize(search.all_candidates().len() - 1, "candidate"),
        pluralize(search.num_trials(), "trial"),
        search.varied().join(", "),
    )];
    if let Some(log) = log {
        notes.extend(log.notes.iter().cloned());
        if !log.entries().is_empty() {
            let trials = pluralize(log.entries().len(), "trial");
            notes.push(format!("resuming: {} has {trials}", log.path().display()));
        }
    }
    notes
}

/// Writes the best settings, below a line on where they are from.
fn write_best(search: &Search<'_>, out: Option<&Path>, best: &Trial) -> Result<(), Error> {
    let Some(out) = out else { return Ok(()) };
    atomic::write(out, best_toml(search, best)?.as_bytes()).map_err(Error::io(out))
}

fn best_toml(search: &Search<'_>, best: &Trial) -> Result<String, Error> {
    let (metric, valid) = (search.defaults().metric, percent(best.mean()));
    let head = format!("# Found by nigh tune: candidate {}, validation {metric} {valid} %.\n", best.candidate + 1);
    Ok(head + &search.toml(best.candidate)?)
}

/// Shows progress, keeps the best settings in their file, and stops in time.
struct Watch<'a> {
    search: &'a Search<'a>,
    out: Option<&'a Path>,
    deadline: Option<Instant>,
    activity: Activity,
    total: usize,
    metric: Metric,
    /// The best so far, as the bar shows it.
    best: String,
}

impl SearchObserver for Watch<'_> {
    fn should_stop(&mut self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    fn begins(&mut self, trial: PlannedTrial, done: usize) {
        self.activity.bar.set_position(done as u64);
        self.activity.bar.set_prefix(format!("candidate {}", trial.candidate + 1));
        self.activity.show(self.best.clone());
    }

    fn stage(&mut self, stage: Stage, done: usize, total: usize) {
        self.activity.show(format!("{} {}", progress::stage_text(stage, done, total), self.best));
    }

    fn epoch(&mut self, progress: &Progress, valid: Option<f64>) {
        if let Some(valid) = valid {
            let (epoch, epochs, valid) = (progress.epoch, progress.epochs, percent(valid));
            self.activity.show(format!("epoch {epoch}/{epochs} valid {valid} {}", self.best));
        }
    }

    fn ends(&mut self, trial: &Trial, trials: &[Trial]) -> nigh::Result<()> {
        let best = self.search.best(trials);
        if let Some(best) = best.filter(|best| *best == trial) {
            self.best = format!("(best {})", percent(best.mean()));
            write_best(self.search, self.out, best)?;
        }
        if self.activity.is_log() {
            let (number, total, candidate) = (trials.len(), self.total, trial.candidate + 1);
            let found = match &trial.problem {
                Some(problem) => format!("failed: {problem}"),
                None => format!("{} valid {}", self.metric, percent(trial.mean())),
            };
            let (epochs, settings) = (pluralize(trial.epochs, "epoch"), trial.about());
            self.activity.print(&format!("{number}/{total} candidate {candidate}, {epochs}: {found} ({settings})"));
        }
        Ok(())
    }
}

fn text(search: &Search<'_>, trials: &[Trial], best: &Trial, out: Option<&Path>) -> Result<String> {
    let defaults = search.defaults();
    let heading = ["settings", "candidate", &format!("valid {}, %", defaults.metric), "epochs", "runs", "seconds"];
    let mut table = AlignedTable::new(&heading);
    let ranking = search.ranking(trials);
    for trial in ranking.iter().take(SHOWN) {
        let (mean, std) = if trial.valid.is_empty() { (0.0, 0.0) } else { mean_and_std(&trial.valid) };
        let valid = match trial.valid.len() {
            0 => "failed".to_string(),
            runs => mean_and_deviation((mean, std), runs),
        };
        let (candidate, epochs, runs) = (trial.candidate + 1, trial.epochs, trial.valid.len());
        let numbers = [candidate.to_string(), valid, epochs.to_string(), runs.to_string()];
        let seconds = format!("{:.1}", trial.seconds);
        table.row(&[&[about(&trial.settings)], &numbers[..], &[seconds]].concat());
    }
    let hidden = ranking.len().saturating_sub(SHOWN);
    let more = if hidden > 0 { format!("and {} more\n", pluralize(hidden, "candidate")) } else { String::new() };
    let gain = trials.iter().find(|trial| trial.candidate == 0).map_or(0.0, |first| best.mean() - first.mean());
    let conclusion = match best.candidate {
        0 => "The default settings are the best of these.".to_string(),
        _ => format!("{} on validation by candidate {}.", gain_text(gain), best.candidate + 1),
    };
    let settings = match out {
        Some(_) => String::new(),
        None => format!("\n{}", best_toml(search, best)?),
    };
    Ok(format!(
        "{} on {}, {}: best first, those that were trained in full above the others\n\n{table}{more}\n{conclusion}\n{settings}",
        defaults.model,
        search.dataset().name,
        defaults.task,
    ))
}

fn gain_text(gain: f64) -> String {
    format!("{} points better than the defaults", percent(gain))
}

fn as_json(search: &Search<'_>, trials: &[Trial], best: &Trial, out: Option<&Path>) -> Result<Value> {
    let defaults = search.defaults();
    let trial = |trial: &Trial| {
        json!({
            "candidate": trial.candidate + 1, "settings": trial.settings, "valid": trial.valid,
            "valid_mean": (!trial.valid.is_empty()).then(|| trial.mean()), "epochs": trial.epochs,
            "in_full": trial.is_full(), "problem": trial.problem, "seconds": trial.seconds,
        })
    };
    Ok(json!({
        "dataset": search.dataset().name,
        "task": defaults.task,
        "model": defaults.model,
        "metric": defaults.metric,
        "seed": defaults.seed,
        "varied": search.varied(),
        "complete": search.next(trials).is_none(),
        "num_trials": search.num_trials(),
        "best": trial(best),
        "best_settings": search.toml(best.candidate)?.parse::<toml::Table>()?,
        "trials": trials.iter().map(trial).collect::<Vec<_>>(),
        "out": out.map(|out| out.display().to_string()),
    }))
}
