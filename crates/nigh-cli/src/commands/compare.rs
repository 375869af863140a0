//! `nigh compare`: several models on one graph, with the same splits.

use super::propagate::working_folder;
use super::train::LayeredSettings;
use super::trimmed;
use super::{WrongUsage, check_writable, create_parents, load, note_on_settings, print, print_json, print_notes};
use crate::VERSION;
use crate::cli::Compare;
use crate::progress::{self, Activity, Pace};
use anyhow::Result;
use nigh::display::{AlignedTable, byte_size, duration, mean_and_deviation, percent, pluralize};
use nigh::train::{Evaluation, Observer, Progress, Stage};
use nigh::{Auto, Metric};
use nigh_paper::{ComparedModel, ComparedRepeat, Comparison, ComparisonObserver, PValues, p_value};
use serde_json::json;
use std::ops::ControlFlow;
use std::path::Path;

pub fn run(Compare { models, trainings: options }: &Compare, quiet: bool) -> Result<()> {
    let settings = LayeredSettings::read(options.config.as_deref(), &options.settings)?;
    if options.settings.table().contains_key("model") {
        return Err(WrongUsage("--model names one model; compare takes several: --models a,b,c".into()).into());
    }
    if let Some(out) = &options.out {
        check_writable(out)?;
    }
    let dataset = settings.with_split(&settings.config, load(&options.data, quiet)?)?;
    let models = trimmed(models);
    let comparison =
        Comparison::new(&dataset, settings.config.clone(), &models).map_err(|error| settings.locate(error))?;
    let comparison = match options.memory {
        Some(memory) => comparison.within(memory, &working_folder(options.out.as_deref())),
        None => comparison,
    };
    if let (Auto::Is(model), Some(file)) = (&settings.config.model, &options.config) {
        let note = format!("model {model} of {} is not used: --models names the models", file.display());
        print_notes(&[note], quiet);
    }
    let models = train_all(&comparison, options.out.as_deref(), quiet)?;
    if options.json {
        let mut shown = comparison.to_json(&models);
        shown["out"] = json!(options.out.as_ref().map(|out| out.display().to_string()));
        return print_json(&shown);
    }
    if comparison.config().repeats == 1 {
        print_notes(&["one repeat gives no p-values; use --repeats 5 or more".to_string()], quiet);
    }
    print(&text(&comparison, &models))
}

/// Trains the models of a comparison, shows how far it is, and resumes from `out` if that has repeats.
pub(super) fn train_all(comparison: &Comparison<'_>, out: Option<&Path>, quiet: bool) -> Result<Vec<ComparedModel>> {
    print_notes(note_on_settings(&comparison.without_effect()?, "any of these models").as_slice(), quiet);
    let mut journal = match out {
        Some(path) => {
            create_parents(path)?;
            let journal = comparison.journal(path)?;
            print_notes(&journal.notes, quiet);
            if !journal.entries().is_empty() {
                let repeats = pluralize(journal.entries().len(), "repeat");
                print_notes(&[format!("resuming: {} has {repeats}", path.display())], quiet);
            }
            Some(journal)
        }
        None => None,
    };
    let (metric, repeats) = (comparison.metric(), comparison.config().repeats);
    let steps = (comparison.num_repeats() * STEPS) as u64;
    let mut watch = Watch {
        activity: Activity::of(progress::percentage_bar(steps, quiet), quiet),
        metric,
        repeats,
        first: comparison.config().seed,
        model: String::new(),
        seed: 0,
        done: 0,
        pace: Pace::default(),
        quiet,
    };
    let models = comparison.run(journal.as_mut(), VERSION, &mut watch);
    drop(watch);
    Ok(models?)
}

fn text(comparison: &Comparison<'_>, rows: &[ComparedModel]) -> String {
    let (config, metric) = (comparison.config(), comparison.metric());
    let mut table =
        AlignedTable::new(&["model", &format!("{metric}, %"), "behind", "p", "ms per epoch", "seconds", "memory"]);
    let best = &rows[0];
    let mut tied = Vec::new();
    for row in rows {
        let (mean, std) = row.mean_and_std();
        if row.p_values.is_some_and(|values| !values.is_significant()) {
            tied.push(row.model.as_str());
        }
        let behind = if row.model == best.model { String::new() } else { percent(best.mean_and_std().0 - mean) };
        table.row(&[
            row.model.clone(),
            mean_and_deviation((mean, std), config.repeats),
            behind,
            row.p_values.map_or(String::new(), |values| p_value(values.p)),
            format!("{:.2}", row.millis_per_epoch()),
            format!("{:.1}", row.seconds()),
            row.peak_bytes().map_or(String::new(), byte_size),
        ]);
    }
    let (repeats, others, level) = (config.repeats, tied.join(", "), PValues::LEVEL);
    // A single comparison needs no correction.
    let rule = if rows.len() > 2 { format!(" (Holm's correction, p < {level})") } else { format!(" (p < {level})") };
    let conclusion = match (repeats, tied.is_empty(), rows.len()) {
        (1, ..) | (.., 1) => String::new(),
        (_, true, _) => format!("{} is significantly better than all others{rule}.\n", best.model),
        (_, false, _) => format!("{} is first, but not significantly better than {others}{rule}.\n", best.model),
    };
    format!("{}\n\n{table}\n{conclusion}", heading(comparison))
}

/// What is compared on which graph.
pub(super) fn heading(comparison: &Comparison<'_>) -> String {
    let (dataset, config) = (comparison.dataset(), comparison.config());
    format!(
        "{}, {} ({} protocol): {}, {}; mean of {}",
        dataset.name,
        config.task.to_string().replace('-', " "),
        config.protocol,
        pluralize(dataset.num_nodes(), "node"),
        pluralize(dataset.num_edges(), "edge"),
        pluralize(config.repeats, "repeat"),
    )
}

/// Steps of the bar per repeat.
const STEPS: usize = 100;

/// Shows what is trained, how far it is, and what was found.
struct Watch {
    activity: Activity,
    metric: Metric,
    repeats: usize,
    /// The first seed.
    first: u64,
    model: String,
    seed: u64,
    /// Repeats that have ended.
    done: usize,
    pace: Pace,
    quiet: bool,
}

impl Watch {
    /// Moves the bar to a part of the current repeat.
    fn move_to(&self, part: f64) {
        let position = (self.done * STEPS) as u64 + (STEPS as f64 * part) as u64;
        // Evaluations count from the beginning each time; a bar never runs back.
        self.activity.bar.set_position(position.max(self.activity.bar.position()));
    }
}

impl Observer for Watch {
    fn stage(&mut self, stage: Stage, done: usize, total: usize) {
        if stage == Stage::Scoring {
            self.move_to(done as f64 / total as f64);
        }
        self.activity.show(progress::stage_text(stage, done, total));
    }

    fn epoch(&mut self, progress: &Progress, evaluation: Option<&Evaluation>) -> ControlFlow<()> {
        let Progress { epoch, epochs, .. } = *progress;
        self.move_to(epoch as f64 / epochs as f64);
        if let Some(evaluation) = evaluation {
            self.activity.show(format!("epoch {epoch}/{epochs}, valid {}", percent(evaluation.valid)));
        }
        // The first seed says it of the others.
        let left = (self.seed == self.first).then(|| self.pace.long_time_left(epoch, self.repeats * epochs)).flatten();
        if let Some(left) = left.filter(|_| !self.quiet) {
            let (model, left, repeats) = (&self.model, duration(left), pluralize(self.repeats, "repeat"));
            let remedy = "--repeats, --epochs and --patience make it shorter";
            self.activity.print(&format!("note: {model} takes about {left} at most for {repeats}; {remedy}"));
        }
        ControlFlow::Continue(())
    }
}

impl ComparisonObserver for Watch {
    fn begins(&mut self, model: &str, seed: u64, done: usize) {
        (self.model, self.seed, self.done, self.pace) = (model.to_string(), seed, done, Pace::default());
        self.activity.bar.set_prefix(format!("{model}, seed {seed}"));
        self.move_to(0.0);
    }

    fn ends(&mut self, repeat: &ComparedRepeat) {
        self.move_to(1.0);
        if self.activity.is_log() {
            let (model, seed, metric) = (&repeat.model, repeat.record.seed, self.metric);
            self.activity.print(&format!("{model}, seed {seed}: {metric} {}", percent(repeat.record.test)));
        }
    }
}
