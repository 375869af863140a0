//! `nigh train`: split, build, train, report, save.

use super::{load, peak_rss_bytes, print, print_json, say};
use crate::cli::Train;
use crate::progress::Bar;
use anyhow::{Result, anyhow};
use nigh::report::table::{Table, percent};
use nigh::{Checkpoint, Config, Dataset, Error, Outcome, Trained, train};
use serde_json::json;
use std::path::{Path, PathBuf};

pub fn run(options: &Train, quiet: bool) -> Result<()> {
    // The folder is checked before hours are spent.
    let out = options.out.as_deref().map(|out| free_folder(out, options.resume)).transpose()?;
    let config = settings(options)?;
    let dataset = load(&options.data, quiet)?;
    let config = config.resolve(&dataset)?;
    let checkpoint = match &out {
        Some(out) => Some(checkpoint(out, options)?),
        None => None,
    };
    if let Some(checkpoint) = checkpoint.as_ref().filter(|checkpoint| checkpoint.path().exists()) {
        say(&[format!("going on from {}", checkpoint.path().display())], quiet);
    }
    let mut bar = Bar::new(config.metric.get(), config.repeats, config.epochs, quiet);
    let resumed = checkpoint.as_ref().is_some_and(|checkpoint| checkpoint.path().exists());
    let outcome = train::train(&dataset, &config, &mut bar, checkpoint.as_ref());
    bar.finish();
    let outcome = outcome.inspect_err(|_| {
        // A checkpoint that this run made leads nowhere else; one that it was given stays.
        if let Some(checkpoint) = checkpoint.as_ref().filter(|_| !resumed) {
            let _ = std::fs::remove_file(checkpoint.path());
        }
    })?;
    let report = if options.json {
        Report::Json(json(&dataset, &config, &outcome, out.as_deref()))
    } else {
        Report::Text(text(&dataset, &config, &outcome))
    };
    if let Some(out) = &out {
        Trained::new(&dataset, &config, outcome)?.save(out)?;
        if let Some(checkpoint) = &checkpoint {
            let _ = std::fs::remove_file(checkpoint.path());
        }
        say(&[format!("the model is in {}", out.display())], quiet);
    }
    match report {
        Report::Json(value) => print_json(&value),
        Report::Text(text) => print(&text),
    }
}

enum Report {
    Json(serde_json::Value),
    Text(String),
}

/// The defaults, under the file, under the command line.
fn settings(options: &Train) -> Result<Config> {
    let mut table = match &options.config {
        Some(path) => Config::read_table(path)?,
        None => toml::Table::new(),
    };
    table.extend(toml::Table::try_from(&options.settings)?);
    Ok(Config::from_table(table)?)
}

fn free_folder(out: &Path, resume: bool) -> Result<PathBuf> {
    // Without a trailing slash, so that a file beside the folder is not a file inside it.
    let out: PathBuf = out.components().collect();
    if out.exists() {
        return Err(Error::file(&out, "exists already; a model is saved to a folder of its own").into());
    }
    let checkpoint = Trained::checkpoint_beside(&out);
    if checkpoint.exists() && !resume {
        let path = checkpoint.display();
        return Err(anyhow!(
            "{path} is left from a run that did not end; --resume goes on with it, removing it starts anew"
        ));
    }
    if let Some(parent) = out.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        std::fs::create_dir_all(parent).map_err(Error::io(parent))?;
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

fn json(dataset: &Dataset, config: &Config, outcome: &Outcome, out: Option<&Path>) -> serde_json::Value {
    let (mean, std) = outcome.mean_and_std();
    let repeats: Vec<_> = outcome
        .runs
        .iter()
        .map(|run| {
            json!({
                "seed": run.seed, "test": run.test, "valid": run.valid, "best_epoch": run.best_epoch,
                "split": run.split,
            })
        })
        .collect();
    json!({
        "dataset": dataset.name,
        "task": config.task,
        "model": config.model,
        "metric": config.metric,
        "mean": mean,
        "std": std,
        "repeats": repeats,
        "millis_per_epoch": outcome.millis_per_epoch,
        "peak_rss_bytes": peak_rss_bytes(),
        "num_nodes": dataset.num_nodes(),
        "num_edges": dataset.num_edges(),
        "num_parameters": outcome.model.weights.num_parameters(),
        "config": config,
        "out": out,
    })
}

fn text(dataset: &Dataset, config: &Config, outcome: &Outcome) -> String {
    let (mean, std) = outcome.mean_and_std();
    let mut table = Table::new(&["seed", "test", "valid", "best epoch"]);
    for run in &outcome.runs {
        table.row(&[run.seed.to_string(), percent(run.test), percent(run.valid), run.best_epoch.to_string()]);
    }
    format!(
        "{} on {}, {} ({} protocol)\n{} nodes, {} edges, {} features; {} parameters; {:.2} ms per epoch\n\n\
         {table}\n{} {} ± {} %\n",
        config.model,
        dataset.name,
        config.task,
        config.protocol,
        dataset.num_nodes(),
        dataset.num_edges(),
        dataset.samples[0].features.cols(),
        outcome.model.weights.num_parameters(),
        outcome.millis_per_epoch,
        config.metric,
        percent(mean),
        percent(std),
    )
}
