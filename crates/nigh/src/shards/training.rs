//! Training on sampled pairs: edges held out, rows gathered from the slices of many workers, weights learnt on one.

use super::features::dataset_of;
use super::message_passing_of;
use crate::dataset::GraphStore;
use crate::error::{Error, Result};
use crate::sampled::{self, PairsFile, RepeatFiles};
use crate::train::Config;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The graph of a repeat without the edges that are held out, and all of its pairs. Returns what has to be propagated.
pub(super) fn hold_out(
    graph: &Path,
    features: Option<&PathBuf>,
    settings: &toml::Table,
    repeat: usize,
    visible: &Path,
    pairs: &Path,
) -> Result<Value> {
    let dataset = dataset_of(graph, features)?;
    sampled::hold_out(&dataset, &Config::from_table(settings.clone())?, repeat, visible, pairs)?;
    let pairs = PairsFile::open(pairs)?;
    message_passing_of(&pairs.start()?, 0, pairs.num_features(), dataset.num_nodes())
}

/// Learns weights from the pairs of each repeat and the columns of its graph, and writes the model in one file.
pub(super) fn train(graph: &Path, files: &[PathBuf], columns: usize, features: usize, out: &Path) -> Result<Value> {
    let files = files.chunks_exact(1 + columns + features).map(|files| RepeatFiles {
        pairs: files[0].clone(),
        columns: files[1..=columns].to_vec(),
        features: files[columns + 1..].to_vec(),
    });
    let ids = GraphStore::open(graph)?.ids()?;
    let trained = sampled::train(&files.collect::<Vec<_>>(), ids.into())?;
    std::fs::write(out, trained.to_bytes()).map_err(Error::io(out))?;
    Ok(trained.to_json())
}
