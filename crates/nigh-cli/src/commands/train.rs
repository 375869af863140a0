//! `nigh train`: split, build, train, report, save.

use super::propagate::{peak, working_folder};
use super::{load, new_folder, note_on_settings, print, print_json, print_notes};
use crate::cli::Train;
use crate::progress::TrainingBar;
use crate::settings::{Settings, split_folder};
use anyhow::{Result, anyhow};
use nigh::answer::{BaselineSummary, MetricSummary};
use nigh::dataset::FixedSplit;
use nigh::display::{AlignedTable, mean_and_deviation, percent, pluralize};
use nigh::models::{Dimensions, PairSource};
use nigh::threads::MAX_THREADS;
use nigh::train::mean_and_std;
use nigh::{Checkpoint, Config, Dataset, Error, Memory, Metric, Proximities, Resolved, Trained, Training};
use nigh_paper::Peak;
use serde_json::json;
use std::path::{Path, PathBuf};

pub fn run(options: &Train, quiet: bool) -> Result<()> {
    let ended = options.out.as_deref().filter(|out| options.resume && out.exists());
    let out = match ended {
        Some(_) => None,
        None => options.out.as_deref().map(|out| free_folder(out, options.resume)).transpose()?,
    };
    let settings = LayeredSettings::read(options.config.as_deref(), &options.settings)?;
    let dataset = settings.with_split(&settings.config, load(&options.data, quiet)?)?;
    let training = Training::new(&dataset, settings.config.clone()).map_err(|error| settings.locate(error))?;
    let training = within(training, options, quiet)?;
    let chosen = settings.config.chosen_model();
    if let Some(reason) = chosen.reason {
        print_notes(&[format!("model {}: {reason}; `--model` takes another", chosen.name)], quiet);
    }
    let unused = settings.config.without_effect(&dataset)?;
    let whom = format!("{} for {}", chosen.name, training.config().task);
    print_notes(note_on_settings(&unused, &whom).as_slice(), quiet);
    if let Some(out) = ended {
        let trained = ended_training(out, training.config(), &dataset)?;
        print_notes(&[format!("{} is complete; there is nothing left to resume", out.display())], quiet);
        return show(options, &dataset, &trained, &unused, Some(out), quiet);
    }
    let checkpoint = match &out {
        Some(out) => Some(checkpoint(out, options)?),
        None => None,
    };
    let created = match out.as_deref().and_then(Path::parent) {
        Some(parent) => CreatedFolders::above(parent)?,
        None => CreatedFolders::default(),
    };
    let resumed = checkpoint.as_ref().is_some_and(|checkpoint| checkpoint.path().exists());
    if let Some(checkpoint) = checkpoint.as_ref().filter(|_| options.resume) {
        let path = checkpoint.path().display();
        let note = if resumed {
            format!("resuming from {path}")
        } else {
            format!("{path} does not exist; starting from the beginning")
        };
        print_notes(&[note], quiet);
    }
    let config = training.config();
    let mut bar = TrainingBar::new(config.metric, config.repeats, config.epochs, quiet);
    let training = match &checkpoint {
        Some(checkpoint) => training.checkpoint(checkpoint.clone()),
        None => training,
    };
    let trained = training.observer(&mut bar).run();
    drop(bar);
    let trained = trained.inspect_err(|error| {
        let checkpoint = checkpoint.as_ref().map(Checkpoint::path);
        let is_interrupted = matches!(error, Error::Interrupted);
        match checkpoint.filter(|path| path.exists()) {
            Some(path) if is_interrupted => {
                print_notes(&[format!("{} has what was learned; --resume continues from it", path.display())], quiet);
            }
            // A checkpoint of this run would fail again; one that was there before is kept.
            Some(path) if !resumed => drop(std::fs::remove_file(path)),
            _ => {}
        }
        created.remove();
    })?;
    if let Some(out) = &out {
        trained.save(out)?;
        if let Some(checkpoint) = &checkpoint {
            let _ = std::fs::remove_file(checkpoint.path());
        }
        print_notes(&[format!("model saved to {}", out.display())], quiet);
    }
    show(options, &dataset, &trained, &unused, out.as_deref(), quiet)
}

/// A training that keeps to the limit, or to what is free.
fn within<'d>(training: Training<'d, 'static>, options: &Train, quiet: bool) -> Result<Training<'d, 'static>> {
    let folder = working_folder(options.out.as_deref());
    match (options.memory, Memory::available()) {
        (Some(limit), _) => {
            if training.in_memory_reason().is_none() {
                print_notes(&[training.estimate(Some(limit))?.to_string()], quiet);
            }
            Ok(training.within(limit, &folder)?)
        }
        (None, Some(free)) if training.in_memory_reason().is_none() => {
            if training.estimate(None)?.total() <= free.bytes() {
                return Ok(training);
            }
            let plan = training.estimate(Some(free))?;
            print_notes(&[plan.to_string()], quiet);
            Ok(training.planned(&plan, &folder))
        }
        (None, Some(free)) => {
            training.check_memory(free)?;
            Ok(training)
        }
        (None, None) => Ok(training),
    }
}

fn show(
    options: &Train,
    dataset: &Dataset,
    trained: &Trained,
    unused: &[String],
    out: Option<&Path>,
    quiet: bool,
) -> Result<()> {
    print_notes(trained.summary.note_on_hits(trained.config.metric).as_slice(), quiet);
    print_notes(&[peak()], quiet || options.memory.is_none());
    match options.json {
        true => print_json(&json(trained, unused, out)),
        false => print(&text(dataset, trained)),
    }
}

/// The model that a run with these settings and data had saved before it was killed; its checkpoint is removed.
fn ended_training(out: &Path, config: &Resolved, dataset: &Dataset) -> Result<Trained> {
    let out: PathBuf = out.components().collect();
    let trained = Trained::load(&out)?;
    if !trained.is_result_of(config, dataset)? {
        let problem = "exists already, of a training with other settings or data; a model needs a new folder";
        return Err(Error::file(&out, problem).into());
    }
    let _ = std::fs::remove_file(Trained::checkpoint_beside(&out));
    Ok(trained)
}

/// Settings of the file, overridden by those of the command line.
pub(super) struct LayeredSettings {
    pub config: Config,
    /// Settings of the command line and of the file.
    given: toml::Table,
    /// Settings of the command line.
    typed: toml::Table,
    file: Option<PathBuf>,
    /// The folder of a split.
    split: Option<PathBuf>,
}

impl LayeredSettings {
    pub fn read(file: Option<&Path>, settings: &Settings) -> Result<LayeredSettings> {
        let mut table = match file {
            Some(path) => read_file(path)?,
            None => toml::Table::new(),
        };
        if let (Some(threads), Some(path)) = (table.remove("threads"), file) {
            number_of_threads(&threads, path)?;
        }
        let typed = settings.table().clone();
        table.extend(typed.clone());
        let file = file.map(Path::to_path_buf);
        let split = split_folder(&table);
        if split.is_some() {
            table.remove("split");
        }
        Ok(LayeredSettings { config: Config::from_table(table.clone())?, given: table, typed, file, split })
    }

    /// The data with the split of `--split DIR`, if there is one.
    pub fn with_split(&self, config: &Config, dataset: Dataset) -> Result<Dataset> {
        Ok(match &self.split {
            Some(folder) => {
                let split = FixedSplit::read(&dataset, folder)?;
                config.with_split(dataset, split).map_err(|error| self.locate(error))?
            }
            None => dataset,
        })
    }

    /// Whether the user has set it, on the command line or in the file.
    pub fn is_set(&self, name: &str) -> bool {
        self.given.contains_key(name)
    }

    /// Names the file in an error about a setting that is not on the command line.
    pub fn locate(&self, error: Error) -> Error {
        match (&error, &self.file) {
            (Error::Setting { name, .. }, Some(path)) if !self.typed.contains_key(*name) => {
                Error::file(path, error.to_string())
            }
            _ => error,
        }
    }
}

/// A settings file, which may have `threads`, and a folder as `split`; neither is a setting of the library.
fn read_file(path: &Path) -> Result<toml::Table> {
    let table = Config::read_table(path, &["threads", "split"])?;
    Ok(match split_folder(&table) {
        Some(_) => table,
        None => Config::read_table(path, &["threads"])?,
    })
}

/// The `threads` of a settings file, if it has any. What is wrong with the file is told when its settings are read.
pub(super) fn threads_of(file: &Path) -> Option<usize> {
    let table = read_file(file).ok()?;
    number_of_threads(table.get("threads")?, file).ok()
}

fn number_of_threads(value: &toml::Value, file: &Path) -> Result<usize> {
    let number = value.as_integer().and_then(|number| usize::try_from(number).ok());
    Ok(number.filter(|number| (1..=MAX_THREADS).contains(number)).ok_or_else(|| {
        let problem = format!("`threads` is {value}, but expected a whole number from 1 to {MAX_THREADS}");
        Error::file(file, problem)
    })?)
}

/// Folders that were created for the output, to be removed if training fails.
#[derive(Default)]
struct CreatedFolders(Vec<PathBuf>);

impl CreatedFolders {
    fn above(folder: &Path) -> Result<CreatedFolders> {
        let missing = folder.ancestors().take_while(|above| !above.as_os_str().is_empty() && !above.exists());
        let created = CreatedFolders(missing.map(Path::to_path_buf).collect());
        if !created.0.is_empty() {
            std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
        }
        Ok(created)
    }

    fn remove(&self) {
        // The deepest first; a folder that is not empty stays.
        self.0.iter().for_each(|folder| drop(std::fs::remove_dir(folder)));
    }
}

fn free_folder(out: &Path, resume: bool) -> Result<PathBuf> {
    let out = new_folder(out, "; a model needs a new folder")?;
    let checkpoint = Trained::checkpoint_beside(&out);
    if checkpoint.exists() && !resume {
        let path = checkpoint.display();
        return Err(anyhow!(
            "{path} is left from an interrupted run; --resume continues it, removing the file starts over"
        ));
    }
    Ok(out)
}

fn checkpoint(out: &Path, options: &Train) -> Result<Checkpoint> {
    let checkpoint = Checkpoint::new(Trained::checkpoint_beside(out));
    Ok(match options.checkpoint_every {
        Some(0) => return Err(Error::setting("checkpoint-every", 0, "expected 1 or more").into()),
        Some(epochs) => checkpoint.every_epochs(epochs),
        None => checkpoint,
    })
}

fn json(trained: &Trained, unused: &[String], out: Option<&Path>) -> serde_json::Value {
    let mut shown = trained.to_json();
    shown["peak_rss_bytes"] = json!(Peak::so_far().bytes());
    shown["settings_without_effect"] = json!(unused);
    shown["out"] = json!(out.map(|out| out.display().to_string()));
    shown
}

fn text(dataset: &Dataset, trained: &Trained) -> String {
    let Trained { config, summary, .. } = trained;
    let mut table = AlignedTable::new(&["seed", "test", "valid", "best epoch"]);
    for run in &summary.repeats {
        table.row(&[run.seed.to_string(), percent(run.test), percent(run.valid), run.best_epoch.to_string()]);
    }
    let stopped = summary.repeats.iter().filter(|run| run.epochs() < config.epochs).count();
    let stopped = match stopped {
        0 => String::new(),
        _ => format!(
            "{} of {} stopped early: {} without a better validation metric (--patience)\n",
            stopped,
            summary.repeats.len(),
            pluralize(config.patience, "epoch"),
        ),
    };
    let hops = match summary.storage_error {
        None => String::new(),
        Some(error) => format!("hops stored as {}: {error}\n", config.hop_storage),
    };
    let connected = match summary.connected() {
        None => String::new(),
        Some(figure) => format!(
            "{} {} % on pairs whose ends both have a visible edge: {} % of positives, {} % of negatives\n",
            config.metric,
            mean_and_deviation((figure.mean, figure.std), summary.repeats.len()),
            percent(figure.positives),
            percent(figure.negatives),
        ),
    };
    let architecture = config.architecture(Dimensions::of(dataset));
    let knows = |source| architecture.as_ref().is_ok_and(|architecture| architecture.pair_sources.contains(&source));
    let reconstruction = match knows(PairSource::Reconstruction) {
        true => "reconstruction: the edges of each node from those of all others, by ridge regression\n",
        false => "",
    };
    let proximities = match (knows(PairSource::Walks), config.proximities, summary.proximity_error) {
        (false, ..) => String::new(),
        (_, Proximities::Exact, _) => {
            "walk proximities: exact, since counting walks says that they are few\n".to_string()
        }
        (_, Proximities::Estimated, error) => {
            let error = error.map_or("with no promise at this width".to_string(), |error| {
                format!("within {error:.2} for 95 of 100 pairs (Theorem 2)")
            });
            format!("walk proximities: estimated from E, d = {}, {error}\n", config.signal_dim)
        }
    };
    let agreements: Vec<f64> = summary.repeats.iter().filter_map(|run| run.agreement).collect();
    let agreement = match agreements.is_empty() {
        true => String::new(),
        false => {
            let aucs: Vec<f64> = summary.repeats.iter().filter_map(|run| run.vectors_auc).collect();
            let auc = match aucs.is_empty() {
                true => String::new(),
                false => format!(", whose AUC by these cosines alone is {} %", percent(mean_and_std(&aucs).0)),
            };
            format!(
                "vectors of `nigh embed`: the rank correlation of their cosines and the scores is {:.2} on test pairs{auc}\n",
                mean_and_std(&agreements).0
            )
        }
    };
    let time = trained.millis_per_epoch.map_or(String::new(), |millis| format!("; {millis:.2} ms per epoch"));
    let interval = match summary.chosen_metric().interval_95 {
        None => String::new(),
        Some([low, high]) => format!(" (95 % interval by Student's t: {} to {} %)", percent(low), percent(high)),
    };
    let warnings: String = summary.warnings(config.metric).iter().map(|text| format!("warning: {text}\n")).collect();
    format!(
        "{} on {}, {} ({} protocol)\n{}, {}, {}; {}{time}\n{hops}{proximities}{reconstruction}\n\
         {table}{stopped}\n{}\n{} {} %{interval}\n{warnings}{connected}{agreement}",
        config.model,
        dataset.name,
        config.task,
        config.protocol,
        pluralize(dataset.num_nodes(), "node"),
        pluralize(dataset.num_edges(), "edge"),
        pluralize(trained.summary.num_features, "feature"),
        pluralize(trained.num_parameters(), "parameter"),
        metrics_text(trained),
        config.metric,
        mean_and_deviation((summary.mean, summary.std), summary.repeats.len()),
    )
}

/// Every metric of the model, its interval, and the baselines of the same splits, a row each.
fn metrics_text(trained: &Trained) -> String {
    let (summary, metrics) = (&trained.summary, trained.summary.metrics());
    let name = |metric: &Metric| metric.to_string();
    let mut table =
        AlignedTable::new(&[&["test, %".to_string()], &metrics.keys().map(name).collect::<Vec<_>>()[..]].concat());
    let mut row = |name: &str, cell: &dyn Fn(&Metric) -> String| {
        table.row(&[&[name.to_string()], &metrics.keys().map(cell).collect::<Vec<_>>()[..]].concat());
    };
    let figure = |of: &MetricSummary| mean_and_deviation((of.mean, of.std), summary.repeats.len());
    row(&trained.config.model, &|metric| figure(&metrics[metric]));
    if summary.repeats.len() > 1 {
        let interval = |[low, high]: [f64; 2]| format!("{} to {}", percent(low), percent(high));
        row("95 % interval", &|metric| metrics[metric].interval_95.map_or(String::new(), interval));
    }
    let mut left_out = String::new();
    for BaselineSummary { name, metrics, left_out: reason } in summary.baselines() {
        match reason {
            Some(reason) => left_out += &format!("{name} is left out: {reason}\n"),
            None => row(&name, &|metric| metrics.get(metric).map_or(String::new(), |figure| percent(*figure))),
        }
    }
    format!("{table}{left_out}")
}
