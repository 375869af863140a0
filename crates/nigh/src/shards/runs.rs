//! A run of a model whose message passing is done by tasks: first without rows, to find out which of them it asks for, then with them.

use super::MatrixSettings;
use super::features::dataset_of;
use super::rows::read_model;
use crate::answer::{RowWriter, Session, SessionOptions, Trained};
use crate::dataset::{Dataset, GraphStore, store_without};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::linalg::Matrix;
use crate::memory::Memory;
use crate::models::runs_in_memory;
use crate::propagation::Execution;
use crate::propagation::levels::LevelsBy;
use crate::propagation::requests::{LevelFiles, Request, RequestRecorder};
use crate::task::MOST_LISTED;
use crate::train::{Config, Evaluation, Observer, Progress, Reporting, Silent};
use crate::training::Training;
use nigh_formats::interrupt::catch;
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
    let recorder = Arc::new(RequestRecorder::create(out, graphs, store)?);
    // Later epochs ask for nothing new.
    let levels_by = LevelsBy::Requests(recorder.clone());
    let dataset = dataset_of(graph, features)?;
    run_training(&dataset, graph, config, levels_by, out, Reporting::Metrics, &mut FirstEpoch)?;
    requested(recorder, &dataset.notes, dataset.num_nodes())
}

/// Ends a file of requests; returns what has to be known of each.
fn requested(recorder: Arc<RequestRecorder>, notes: &[String], num_nodes: usize) -> Result<Value> {
    let requests = recorder.finish()?;
    let facts: Vec<Value> = requests.iter().enumerate().map(|(number, request)| facts_of(number, request)).collect();
    Ok(json!({ "requests": facts, "notes": notes, "num_nodes": num_nodes }))
}

/// What has to be known of a request to do it: for a power of the operator the matrix and the storage.
fn facts_of(number: usize, request: &Request) -> Value {
    let Request { graph, columns, hops, storage, .. } = request;
    let matrix = storage.map(|_| match request.signal() {
        Some(signal) => MatrixSettings::of_source(&signal),
        None => Some(MatrixSettings::Requested { request: number, dim: *columns }),
    });
    json!({ "graph": graph, "columns": columns, "hops": hops, "storage": storage, "matrix": matrix })
}

fn store(graph: &Graph, path: &Path) -> Result<()> {
    store_without(graph, &[], path).map(drop)
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
    let dataset = dataset_of(graph, features)?;
    let trained = run_training(&dataset, graph, config, levels_by, out, Reporting::default(), &mut Silent)?;
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
    dataset: &Dataset,
    graph: &Path,
    config: Config,
    levels_by: LevelsBy,
    out: &Path,
    reporting: Reporting,
    observer: &mut dyn Observer,
) -> Result<Trained> {
    let training = Training::new(dataset, config)?;
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

/// What is asked of a trained model, with the files of the user.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'a> {
    pub model: &'a Path,
    pub graph: &'a Path,
    pub features: Option<&'a PathBuf>,
    /// Pairs to score; without them vectors of all nodes are asked for.
    pub pairs: Option<&'a PathBuf>,
    /// The limit of a worker.
    pub memory: Option<usize>,
}

impl Asked<'_> {
    /// Calls `answer` with a session, and the data that it is about.
    fn answer<T>(
        &self,
        levels_by: LevelsBy,
        out: &Path,
        answer: impl FnOnce(&Session, &Dataset) -> Result<T>,
    ) -> Result<T> {
        let dataset = dataset_of(self.graph, self.features)?;
        let folder = out.parent().map_or_else(std::env::temp_dir, Path::to_path_buf);
        let memory = Some(Memory::new(self.memory.unwrap_or(usize::MAX)));
        let options = SessionOptions { memory, folder, ..SessionOptions::default() };
        catch(|| {
            let session = read_model(self.model)?.session_with(&dataset, &options)?.executed_by(levels_by)?;
            answer(&session, &dataset)
        })?
    }

    /// Writes down what the answers need.
    pub fn request(&self, out: &Path, graphs: &[PathBuf]) -> Result<Value> {
        let recorder = Arc::new(RequestRecorder::create(out, graphs, store)?);
        let (notes, num_nodes) = self.answer(LevelsBy::Requests(recorder.clone()), out, |session, dataset| {
            match self.pairs {
                Some(pairs) => session.scores_of_file(&dataset.samples[0].ids, pairs, None).map(drop)?,
                None => session.for_each_vectors(|_| Ok(()))?,
            }
            Ok(([&dataset.notes[..], &session.notes].concat(), session.ids().len()))
        })?;
        requested(recorder, &notes, num_nodes)
    }

    /// Writes vectors, with the names of their nodes, in as many files as there are ranges of rows.
    pub fn write_vectors(&self, width: usize, files: &[PathBuf], rows: &[[usize; 2]], outs: &[&Path]) -> Result<Value> {
        let levels_by = LevelsBy::Files(level_files(width, files)?.into());
        let first = outs.first().copied().unwrap_or(Path::new("vectors"));
        self.answer(levels_by, first, |session, _| {
            let (ids, mut parts, mut next) = (session.ids(), rows.iter().zip(outs), 0);
            let mut part: Option<(RowWriter, usize)> = None;
            session.for_each_vectors(|block| {
                let mut from = 0;
                while from < block.rows() {
                    let (writer, end) = match &mut part {
                        Some(part) => part,
                        None => {
                            let wrong = || Error::OutOfRange { what: "row", number: next, count: next };
                            let (&[start, end], out) = parts.next().ok_or_else(wrong)?;
                            if start != next || end <= start || end > ids.len() {
                                return Err(wrong());
                            }
                            let names = ids.select(&(start as u32..end as u32).collect::<Vec<_>>());
                            part.insert((RowWriter::create(out, names.into(), block.cols())?, end))
                        }
                    };
                    let count = (block.rows() - from).min(*end - next);
                    let some = block.data()[from * block.cols()..(from + count) * block.cols()].to_vec();
                    writer.rows(&Matrix::from_data(count, block.cols(), some))?;
                    (from, next) = (from + count, next + count);
                    if next == *end
                        && let Some((writer, _)) = part.take()
                    {
                        writer.finish()?;
                    }
                }
                Ok(())
            })
        })?;
        Ok(json!({}))
    }

    /// Writes the scores of pairs.
    pub fn score(&self, width: usize, files: &[PathBuf], out: &Path) -> Result<Value> {
        let levels_by = LevelsBy::Files(level_files(width, files)?.into());
        let pairs = self.pairs.ok_or_else(|| Error::setting("pairs", 0, "expected a file"))?;
        let score = |session: &Session, dataset: &Dataset| session.scores_of_file(&dataset.samples[0].ids, pairs, None);
        let (records, notes) = self.answer(levels_by, out, score)?;
        records.write(out)?;
        Ok(json!({ "notes": notes }))
    }
}
