//! Tasks of a propagation over many machines.

use crate::errors::{exception, input_error};
use crate::memory::limit;
use crate::settings::{config, table};
use crate::work;
use nigh::formats::digest;
use nigh::shards::{GraphCounts, HopSettings, MatrixSettings, ShardTask};
use nigh::{Memory, Signal};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// Does a task, described as JSON, from files to files; returns a JSON object.
#[pyfunction]
pub fn run_task(
    py: Python<'_>,
    task: &str,
    inputs: Vec<PathBuf>,
    outputs: Vec<PathBuf>,
    threads: Option<usize>,
) -> PyResult<String> {
    let task: ShardTask = serde_json::from_str(task).map_err(|error| input_error(py, format!("{task}: {error}")))?;
    let facts = work::run_silently(py, threads, move || task.run(&inputs, &outputs))?;
    Ok(facts.to_string())
}

/// The digest of a file by which tasks know it: XXH3 of 128 bits, in hexadecimal.
#[pyfunction]
pub fn file_digest(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    py.detach(|| digest::xxh3_of_file(&path)).map_err(|error| exception(py, error.into()))
}

/// The stochastic matrix of `nigh propagate`, as tasks take it: a JSON object.
#[pyfunction]
pub fn drawn_signal(py: Python<'_>, signal: &str, seed: u64, dim: usize) -> PyResult<String> {
    let signal: Signal = signal.parse().map_err(|error| exception(py, error))?;
    serde_json::to_string(&MatrixSettings::drawn(signal, seed, dim)).map_err(|error| input_error(py, error.to_string()))
}

/// A size of memory such as `8GiB`, in bytes.
#[pyfunction]
pub fn memory_bytes(py: Python<'_>, text: &str) -> PyResult<usize> {
    Ok(limit(py, Some(text))?.map_or(0, Memory::bytes))
}

/// The memory of a worker that propagates a slice of all rows, and that of one that does so for a block of them.
#[pyfunction]
pub fn worker_memory(
    py: Python<'_>,
    graph: &str,
    hops: &str,
    columns: usize,
    block_rows: usize,
) -> PyResult<[usize; 2]> {
    let wrong = |error: serde_json::Error| input_error(py, error.to_string());
    let (graph, hops): (GraphCounts, HopSettings) =
        (serde_json::from_str(graph).map_err(wrong)?, serde_json::from_str(hops).map_err(wrong)?);
    Ok(graph.memory(&hops, columns, block_rows))
}

/// Settings of a training as tasks take them, a JSON object; and how many repeats it has.
#[pyfunction]
pub fn training_settings(py: Python<'_>, settings: &Bound<'_, PyDict>) -> PyResult<(String, usize)> {
    let repeats = config(settings)?.repeats;
    let table = serde_json::to_string(&table(settings)?).map_err(|error| input_error(py, error.to_string()))?;
    Ok((table, repeats))
}
