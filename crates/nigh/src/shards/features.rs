//! The features of nodes: a user's file, a row for each node in order.

use super::rows::read_model;
use crate::dataset::{Dataset, Features, GraphStore, InputFiles};
use crate::error::{Error, Result};
use crate::model::Dimensions;
use crate::propagation::{MatrixFile, PanelSource};
use crate::sampled::TOO_WIDE;
use crate::source::Source;
use crate::train::Config;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The graph and the features of its nodes, as the program reads them.
pub(super) fn dataset_of(graph: &Path, features: Option<&PathBuf>) -> Result<Dataset> {
    Dataset::from_files(graph, &InputFiles { features: features.cloned(), ..InputFiles::default() })
}

/// Writes features in the order of nodes, if a model or a training with these settings propagates them, and the graph, if features name
/// nodes that it does not have or change their order. Returns how many features a node has.
pub(super) fn read(
    graph: &Path,
    features: &PathBuf,
    settings: Option<&toml::Table>,
    model: Option<&Path>,
    whole: &Path,
    out: &Path,
) -> Result<Value> {
    let dataset = dataset_of(graph, Some(features))?;
    let sample = &dataset.samples[0];
    if *sample.ids != GraphStore::open(graph)?.ids()? {
        dataset.store(whole)?;
    }
    let (seen, architecture) = match model {
        Some(path) => {
            let trained = read_model(path)?;
            (trained.align(&dataset)?.0, trained.model().architecture().clone())
        }
        None => {
            let config = Config::from_table(settings.cloned().unwrap_or_default())?.resolve(&dataset)?;
            let seen = config.node_features.seen(&dataset).into_owned();
            let architecture = config.architecture(Dimensions::of(&seen))?;
            (seen, architecture)
        }
    };
    let sample = &seen.samples[0];
    let num_features = sample.features.count();
    if architecture.uses(Source::Features) {
        if architecture.maps_first(&sample.graph, &sample.features).is_some() {
            return Err(Error::file(features, format!("{num_features} features: {TOO_WIDE}")));
        }
        let source = match &sample.features {
            Features::Constant(_) => None,
            Features::Dense(matrix) => Some(PanelSource::Dense(matrix.clone())),
            Features::Sparse(matrix) => Some(PanelSource::Sparse(matrix.clone())),
        };
        source.map_or(Ok(()), |source| MatrixFile::write(&source, sample.graph.num_nodes(), out))?;
    }
    Ok(json!({ "num_features": num_features, "notes": dataset.notes }))
}
