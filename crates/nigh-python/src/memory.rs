//! Limits of memory, and what a run takes.

use crate::errors::{exception, input_error};
use crate::graph::Graph;
use crate::work;
use nigh::Memory;
use nigh::dataset::{Folders, InputFiles};
use nigh::estimate::EstimatedRun;
use nigh::formats::memory;
use nigh::propagation::Workload;
use pyo3::prelude::*;

/// A limit as users write it: `"8GiB"`.
pub fn limit(py: Python<'_>, memory: Option<&str>) -> PyResult<Option<Memory>> {
    let read =
        |text: &str| text.parse().map_err(|problem| input_error(py, format!("`memory` is {text:?}, but {problem}")));
    memory.map(read).transpose()
}

/// Refuses what takes more memory than is left.
#[pyfunction]
pub fn check_memory(py: Python<'_>, bytes: u128, what: &str) -> PyResult<()> {
    let found = memory::check(bytes.try_into().unwrap_or(u64::MAX), || what.to_string());
    found.map_err(|problem| input_error(py, format!("{problem}; fewer rows, columns or entries take less")))
}

/// What a run takes, as JSON and as the program shows it. Of a graph, of a file or dataset by its name, or of counts.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are named in Python")]
pub fn estimate(
    py: Python<'_>,
    graph: Option<&Graph>,
    name: Option<&str>,
    counts: [usize; 2],
    signal_dim: usize,
    hops: usize,
    hop_storage: &str,
    width: usize,
    epochs: usize,
    pairs_per_epoch: usize,
    memory: Option<&str>,
) -> PyResult<(String, String)> {
    let memory = limit(py, memory)?;
    let hop_storage = hop_storage.parse().map_err(|error| exception(py, error))?;
    let run = EstimatedRun { signal_dim, hops, hop_storage, width, epochs, pairs_per_epoch, memory };
    let dataset = graph.map(|graph| graph.dataset.clone());
    let found = work::run_silently(py, None, move || {
        let (name, size) = match (&dataset, name) {
            (Some(dataset), _) => (dataset.name.clone(), Workload::of_dataset(dataset)?),
            (None, Some(name)) => Workload::named(name, &InputFiles::default(), &Folders::new(None))?,
            (None, None) => ("a graph file".into(), Workload::of_counts(counts[0], counts[1])?),
        };
        run.on(&name, size)
    })?;
    Ok((found.to_json().to_string(), found.to_string()))
}
