//! Limits of memory, and what a run takes.

use crate::errors::input_error;
use crate::graph::Graph;
use crate::settings::config;
use crate::work;
use nigh::Memory;
use nigh::dataset::{Folders, InputFiles};
use nigh::estimate::EstimatedRun;
use nigh::formats::memory;
use pyo3::prelude::*;
use pyo3::types::PyDict;

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

/// What runs take, as JSON and as the program shows it. Of a graph, of a file or dataset by its name, or of counts.
#[pyfunction]
pub fn estimate(
    py: Python<'_>,
    graph: Option<&Graph>,
    name: Option<&str>,
    counts: [usize; 2],
    settings: &Bound<'_, PyDict>,
    num_pairs: usize,
    memory: Option<&str>,
) -> PyResult<(String, String)> {
    let run = EstimatedRun { config: config(settings)?, num_pairs, memory: limit(py, memory)? };
    let dataset = graph.map(|graph| graph.dataset.clone());
    let found = work::run_silently(py, None, move || match (&dataset, name) {
        (Some(dataset), _) => run.on_dataset(&dataset.name, dataset),
        (None, Some(name)) => run.on_file(name, &InputFiles::default(), &Folders::new(None)),
        (None, None) => run.on_counts(counts[0], counts[1]),
    })?;
    Ok((found.to_json().to_string(), found.to_string()))
}
