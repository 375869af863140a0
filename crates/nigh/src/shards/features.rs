//! The features of nodes: a user's file, a row for each node in order.

use super::rows::read_model;
use crate::dataset::{Dataset, Features, GraphStore, InputFiles};
use crate::error::{Error, Result};
use crate::propagation::{MatrixFile, PanelSource};
use crate::source::Source;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The graph and the features of its nodes, as the program reads them.
pub(super) fn dataset_of(graph: &Path, features: Option<&PathBuf>) -> Result<Dataset> {
    Dataset::from_files(graph, &InputFiles { features: features.cloned(), ..InputFiles::default() })
}

/// Writes features in the order of nodes, if a model propagates them, and the graph, if features name nodes that it does not have or change
/// their order. Returns how many features a node has.
pub(super) fn read(graph: &Path, features: &PathBuf, model: &Path, whole: &Path, out: &Path) -> Result<Value> {
    let dataset = dataset_of(graph, Some(features))?;
    let sample = &dataset.samples[0];
    if *sample.ids != GraphStore::open(graph)?.ids()? {
        dataset.store(whole)?;
    }
    let trained = read_model(model)?;
    let (seen, architecture) = (trained.align(&dataset)?.0, trained.model().architecture());
    let sample = &seen.samples[0];
    let num_features = sample.features.count();
    if architecture.uses(Source::Features) {
        if architecture.maps_first(&sample.graph, &sample.features).is_some() {
            return Err(Error::file(features, format!("{num_features} columns: {TOO_WIDE}")));
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

/// Why features can't be propagated by columns.
const TOO_WIDE: &str = "sparse features this wide are projected before message passing, which tasks do not do. Train on one machine, \
     or use features with fewer columns";
