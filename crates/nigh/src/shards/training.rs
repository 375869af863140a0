//! Training on sampled pairs: edges held out, rows gathered from the slices of many workers, weights learnt on one.

use super::message_passing_of;
use crate::dataset::{Dataset, GraphStore, InputFiles};
use crate::error::{Error, Result};
use crate::sampled::{self, PairsFile, RepeatFiles};
use crate::train::Config;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The graph of a repeat without the edges that are held out, and all of its pairs. Returns what has to be propagated.
pub(super) fn hold_out(
    graph: &Path,
    settings: &toml::Table,
    repeat: usize,
    visible: &Path,
    pairs: &Path,
) -> Result<Value> {
    let dataset = Dataset::from_files(graph, &InputFiles::default())?;
    sampled::hold_out(&dataset, &Config::from_table(settings.clone())?, repeat, visible, pairs)?;
    message_passing_of(&PairsFile::open(pairs)?.propagations(visible)?, dataset.num_nodes())
}

/// Learns weights from the pairs of each repeat and the columns of its graph, and writes the model in one file.
pub(super) fn train(graph: &Path, files: &[PathBuf], columns: usize, ones: bool, out: &Path) -> Result<Value> {
    let files = files.chunks_exact(1 + columns + usize::from(ones)).map(|files| RepeatFiles {
        pairs: files[0].clone(),
        columns: files[1..=columns].to_vec(),
        constant: ones.then(|| files[columns + 1].clone()),
    });
    let ids = GraphStore::open(graph)?.ids()?;
    let trained = sampled::train(&files.collect::<Vec<_>>(), ids.into())?;
    std::fs::write(out, trained.to_bytes()).map_err(Error::io(out))?;
    Ok(trained.to_json())
}
