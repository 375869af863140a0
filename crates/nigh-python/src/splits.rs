//! Splits: those of the user, as part of a graph, and ours, as ids.

use crate::errors::{exception, input_error};
use crate::graph::{Graph, given};
use crate::ids::{IdArray, to_python};
use crate::settings::config;
use crate::work;
use nigh::dataset::{FixedPairs, FixedSplit};
use nigh::{Dataset, Ids, Seeds};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// Parts of nodes, and of pairs, by the names that Python gives them.
const NODES: [&str; 3] = ["train", "valid", "test"];
const PAIRS: [[&str; 2]; 2] = [["valid_positive", "valid_negative"], ["test_positive", "test_negative"]];

/// The same graph with a split of the user's: ids of nodes under `train`, `valid` and `test`; or pairs of columns of ids under
/// `valid_positive`, `valid_negative`, `test_positive`, `test_negative` and perhaps `train_edges`.
#[pyfunction]
pub fn with_split(graph: &Graph, parts: &Bound<'_, PyDict>) -> PyResult<Graph> {
    let py = parts.py();
    let sample = &graph.dataset.samples[0];
    let nodes = |name: &str| -> PyResult<Option<Vec<u32>>> {
        let ids = given(parts, name, IdArray::new)?;
        ids.map(|ids| ids.find(&sample.ids).map_err(|error| exception(py, error))).transpose()
    };
    let pairs = |name: &str| -> PyResult<Option<Vec<[u32; 2]>>> {
        let columns = given(parts, name, |columns| {
            let (source, target): (Bound<'_, PyAny>, Bound<'_, PyAny>) = columns.extract()?;
            Ok([IdArray::new(&source)?, IdArray::new(&target)?])
        })?;
        let Some([source, target]) = columns else { return Ok(None) };
        let find = |ids: IdArray<'_>| ids.find(&sample.ids).map_err(|error| exception(py, error));
        Ok(Some(find(source)?.into_iter().zip(find(target)?).map(|(a, b)| [a, b]).collect()))
    };
    let is_of_nodes = parts.contains(NODES[0])?;
    let fixed = if is_of_nodes {
        let [train, valid, test] = NODES.map(nodes);
        let parts = [train?, valid?, test?].map(Option::unwrap_or_default);
        FixedSplit::nodes(&graph.dataset, parts)
    } else {
        let part = |[positive, negative]: [&str; 2]| -> PyResult<FixedPairs> {
            let (positive, negative) = (pairs(positive)?.unwrap_or_default(), pairs(negative)?.unwrap_or_default());
            Ok(FixedPairs { positive, negative })
        };
        let [valid, test] = PAIRS.map(part);
        FixedSplit::pairs(&graph.dataset, pairs("train_edges")?, [valid?, test?])
    };
    Ok(graph.split_by(fixed.map_err(|error| exception(py, error))?))
}

/// The same graph with the split of a folder.
#[pyfunction]
pub fn with_split_folder(graph: &Graph, py: Python<'_>, folder: PathBuf) -> PyResult<Graph> {
    let fixed = work::run_silently(py, Some(1), || FixedSplit::read(&graph.dataset, &folder))?;
    Ok(graph.split_by(fixed))
}

/// The split of a seed, as ids by the names of `with_split`, and its fingerprint under `digest`.
#[pyfunction]
pub fn split<'py>(
    graph: &Graph,
    py: Python<'py>,
    settings: &Bound<'py, PyDict>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let (config, dataset) = (config(settings)?, graph.dataset.clone());
    let listed = work::run_silently(py, threads, move || {
        let config = config.resolve(&dataset)?;
        config.list_split(&config.node_features.seen(&dataset), Seeds::new(config.seed))
    })?;
    let found = graph.parts(py, &listed.fixed)?;
    found.set_item("digest", listed.digest)?;
    Ok(found)
}

/// Writes the split that comes with the graph as a new folder.
#[pyfunction]
pub fn write_split(graph: &Graph, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
    let Some(fixed) = &graph.dataset.fixed_split else { return Err(input_error(py, "the graph has no split")) };
    work::run_silently(py, Some(1), || fixed.write(&graph.dataset, &folder, &toml::Table::new()).map(drop))
}

/// The split that comes with the graph, in the same form.
#[pyfunction]
pub fn given_split<'py>(graph: &Graph, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
    graph.dataset.fixed_split.as_ref().map(|fixed| graph.parts(py, fixed)).transpose()
}

impl Graph {
    fn split_by(&self, fixed: FixedSplit) -> Graph {
        let dataset = Dataset { fixed_split: Some(fixed), ..(*self.dataset).clone() };
        Graph { dataset: dataset.into(), has_text_ids: self.has_text_ids }
    }

    fn parts<'py>(&self, py: Python<'py>, fixed: &FixedSplit) -> PyResult<Bound<'py, PyDict>> {
        let (found, ids): (_, &Ids) = (PyDict::new(py), &self.dataset.samples[0].ids);
        let set_nodes =
            |name: &str, nodes: &[u32]| found.set_item(name, to_python(py, &ids.select(nodes), self.has_text_ids)?);
        let set_pairs = |name: &str, pairs: &[[u32; 2]]| {
            let end = |at: usize| {
                let nodes: Vec<u32> = pairs.iter().map(|pair| pair[at]).collect();
                to_python(py, &ids.select(&nodes), self.has_text_ids)
            };
            found.set_item(name, (end(0)?, end(1)?))
        };
        if let FixedSplit::Nodes(parts) = fixed {
            NODES.iter().zip(parts).try_for_each(|(name, nodes)| set_nodes(name, nodes))?;
        }
        if let FixedSplit::Edges { train, .. } = fixed {
            set_pairs("train_edges", train)?;
        }
        for ([positive, negative], part) in PAIRS.iter().zip(fixed.held_out().into_iter().flatten()) {
            set_pairs(positive, &part.positive)?;
            set_pairs(negative, &part.negative)?;
        }
        Ok(found)
    }
}
