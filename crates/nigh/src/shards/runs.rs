//! A run of a model whose message passing is done by tasks: first without rows, to find out which of them it asks for, then with them.

use super::features::dataset_of;
use crate::answer::Trained;
use crate::dataset::{GraphStore, store_without};
use crate::error::{Error, Result};
use crate::models::runs_in_memory;
use crate::propagation::Execution;
use crate::propagation::levels::LevelsBy;
use crate::propagation::requests::{LevelFiles, RequestRecorder};
use crate::task::MOST_LISTED;
use crate::train::{Config, Evaluation, Observer, Progress, Reporting, Silent};
use crate::training::Training;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Writes down what one repeat of a training asks for, and the graphs over which messages pass.
pub(super) fn request_training(
    graph: &Path,
    features: Option<&PathBuf>,
    settings: &toml::Table,
    repeat: usize,
    out: &Path,
    graphs: &[PathBuf],
) -> Result<Value> {
    let mut config = Config::from_table(settings.clone())?;
    if repeat >= config.repeats {
        return Err(Error::OutOfRange { what: "repeat", number: repeat, count: config.repeats });
    }
    // A repeat is a training with a seed of its own.
    (config.seed, config.repeats) = (config.seed + repeat as u64, 1);
    let store = |graph: &crate::Graph, path: &Path| store_without(graph, &[], path).map(drop);
    let recorder = Arc::new(RequestRecorder::create(out, graphs, store)?);
    // Later epochs ask for nothing new.
    let levels_by = LevelsBy::Requests(recorder.clone());
    run_training(graph, features, config, levels_by, out, Reporting::Metrics, &mut FirstEpoch)?;
    Ok(json!({ "requests": recorder.finish()? }))
}

/// Ends a training after its first epoch.
struct FirstEpoch;

impl Observer for FirstEpoch {
    fn epoch(&mut self, _: &Progress, _: Option<&Evaluation>) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}

/// Trains with the rows that tasks computed, `width` columns in a file: of each repeat the file of requests, then those of its rows.
/// Writes the model in one file.
pub(super) fn train(
    graph: &Path,
    features: Option<&PathBuf>,
    settings: &toml::Table,
    width: usize,
    files: &[PathBuf],
    out: &Path,
) -> Result<Value> {
    let (config, levels) = (Config::from_table(settings.clone())?, level_files(width, files)?);
    let levels_by = LevelsBy::Files(levels.into());
    let trained = run_training(graph, features, config, levels_by, out, Reporting::default(), &mut Silent)?;
    std::fs::write(out, trained.to_bytes()).map_err(Error::io(out))?;
    Ok(trained.to_json())
}

/// The rows of some files of requests, each of which is followed by its rows.
fn level_files(width: usize, files: &[PathBuf]) -> Result<LevelFiles> {
    let (mut levels, mut files) = (LevelFiles::default(), files.iter().cloned());
    while let Some(requests) = files.next() {
        levels.add(&requests, width, &mut files)?;
    }
    Ok(levels)
}

fn run_training(
    graph: &Path,
    features: Option<&PathBuf>,
    config: Config,
    levels_by: LevelsBy,
    out: &Path,
    reporting: Reporting,
    observer: &mut dyn Observer,
) -> Result<Trained> {
    let dataset = dataset_of(graph, features)?;
    let training = Training::new(&dataset, config)?;
    if let Some(reason) = training.in_memory_reason() {
        return Err(runs_in_memory(&training.config().model, reason));
    }
    let execution = Execution { levels_by, ..execution_of(graph, out)? };
    training.executed(execution).reporting(reporting).observer(observer).run()
}

/// The edges of a large graph stay in files, next to what is written.
fn execution_of(graph: &Path, out: &Path) -> Result<Execution> {
    let is_large = GraphStore::open(graph)?.graph().num_edges() > MOST_LISTED;
    Ok(Execution::on_disk(out.parent().filter(|_| is_large)))
}
