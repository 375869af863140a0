//! Comparisons, tables, the catalog, Theorem 2.

use crate::errors::{exception, input_error};
use crate::graph::Graph;
use crate::memory::limit;
use crate::settings::config;
use crate::work;
use nigh::certify::Certification;
use nigh::dataset::fetch::{Fetch, Fetched};
use nigh::dataset::{BUILT_IN, Folders, InputFiles, NamedDataset, REGISTRY};
use nigh::models::catalog::{Ability, CatalogModel, MODELS};
use nigh::train::Setting;
use nigh::{Dataset, Task};
use nigh_paper::report::json::tables_json;
use nigh_paper::{ComparedTable, Comparison, Experiment, Reproduction, Store};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;
use std::path::PathBuf;

/// Trains several models on the same splits; the result as JSON. `out` is the file of the comparison, from which it resumes.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are named in Python")]
pub fn compare(
    py: Python<'_>,
    graph: &Graph,
    models: Vec<String>,
    settings: &Bound<'_, PyDict>,
    out: Option<PathBuf>,
    watch: Option<&Bound<'_, PyAny>>,
    threads: Option<usize>,
    memory: Option<&str>,
) -> PyResult<(String, Vec<String>)> {
    let (config, dataset, memory) = (config(settings)?, graph.dataset.clone(), limit(py, memory)?);
    work::run(py, threads, watch, false, move |observer| {
        let comparison = Comparison::new(&dataset, config, &models)?;
        let comparison = match memory {
            Some(memory) => comparison.within(memory, &std::env::temp_dir()),
            None => comparison,
        };
        let mut journal = out.map(|path| comparison.journal(&path)).transpose()?;
        let notes = journal.as_ref().map_or(Vec::new(), |journal| journal.notes.clone());
        let models = comparison.run(journal.as_mut(), nigh_cli::VERSION, observer)?;
        Ok((comparison.to_json(&models).to_string(), notes))
    })
}

/// Tables measured beside published figures, from the records of a folder, as JSON; and notes.
#[pyfunction]
pub fn report(
    py: Python<'_>,
    table: &str,
    results: PathBuf,
    epochs: Option<usize>,
    repeats: Option<usize>,
) -> PyResult<(String, Vec<String>)> {
    work::run_silently(py, None, || {
        let tables = tables(table, epochs, repeats)?;
        let records = Store::new(&results).read()?;
        let tables: Vec<ComparedTable> = tables.into_iter().map(|table| ComparedTable::new(table, &records)).collect();
        Ok((tables_json(&tables).to_string(), records.notes))
    })
}

/// Runs the repeats that have no record in a folder; what went wrong, how many another process runs, and notes.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are named in Python")]
pub fn reproduce(
    py: Python<'_>,
    table: &str,
    only: Vec<String>,
    results: PathBuf,
    epochs: Option<usize>,
    repeats: Option<usize>,
    data: Option<PathBuf>,
    watch: Option<&Bound<'_, PyAny>>,
    threads: Option<usize>,
) -> PyResult<(Vec<String>, usize, Vec<String>)> {
    let folders = Folders::new(data.as_deref());
    work::run(py, threads, watch, false, move |observer| {
        let reproduction = Reproduction::new(tables(table, epochs, repeats)?, &only, &results)?;
        let plan = reproduction.plan()?;
        let load =
            |name: &str| Dataset::load(name, &InputFiles::default(), &folders).map_err(|error| error.to_string());
        let found = reproduction.run(&plan, nigh_cli::VERSION, load, observer)?;
        Ok((found.failed, found.elsewhere, plan.notes))
    })
}

fn tables(word: &str, epochs: Option<usize>, repeats: Option<usize>) -> nigh::Result<Vec<Experiment>> {
    Experiment::tables(word)?.into_iter().map(|table| table.with(epochs, repeats)).collect()
}

/// The catalog of models: name, whether it answers classes as well as pairs, the tasks for which it trains within a memory limit, out of
/// core and on Ray, and what it is.
#[pyfunction]
pub fn models() -> Vec<(&'static str, bool, Vec<Vec<&'static str>>, &'static str)> {
    let tasks = |model: &CatalogModel, ability: Ability| {
        Task::ALL.iter().filter(|task| model.can(**task, ability)).map(|task| task.name()).collect()
    };
    let abilities = |model: &CatalogModel| Ability::ALL.iter().map(|ability| tasks(model, *ability)).collect();
    let row =
        |model: &CatalogModel| (model.name, model.answers(Task::NodeClassification), abilities(model), model.about);
    MODELS.iter().map(row).collect()
}

/// Every setting: its name, its group, its default, and what it does.
#[pyfunction]
pub fn settings() -> Vec<(String, &'static str, String, String)> {
    let in_python = |setting: &Setting| {
        (setting.name.replace('-', "_"), setting.group.heading(), setting.default.clone(), setting.help.clone())
    };
    Setting::all().iter().map(in_python).collect()
}

/// The built-in and the public datasets: name, and what it is.
#[pyfunction]
pub fn datasets() -> Vec<(String, String)> {
    let built_in = BUILT_IN.iter().map(|known| (known.0.to_string(), known.1.to_string()));
    let public = REGISTRY.iter().map(|known| (known.name.to_string(), known.about.to_string()));
    built_in.chain(public).collect()
}

/// Downloads a public dataset unless it is there; returns its folder. `watch` is told of progress.
#[pyfunction]
pub fn fetch(
    py: Python<'_>,
    name: &str,
    data: Option<PathBuf>,
    again: bool,
    watch: Option<&Bound<'_, PyAny>>,
) -> PyResult<PathBuf> {
    let known = REGISTRY.iter().map(|known| known.name.to_string()).collect();
    let unknown = || exception(py, nigh::Error::UnknownName { kind: "dataset", name: name.to_string(), known });
    let dataset = NamedDataset::named(name).ok_or_else(unknown)?;
    work::run(py, Some(1), watch, false, move |observer| {
        let fetch = Fetch::from_environment()?;
        let fetch = if again { fetch.again() } else { fetch };
        Ok(match fetch.run(dataset, &Folders::new(data.as_deref()), observer)? {
            Fetched::Here(folder) | Fetched::New(folder, _) => folder,
        })
    })
}

/// The width that Theorem 2 requires on a graph and the error measured there, as JSON.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are named in Python")]
pub fn certify(
    py: Python<'_>,
    graph: &Graph,
    epsilon: f64,
    delta: f64,
    hops: usize,
    signal: &str,
    signal_dim: Option<usize>,
    pairs: usize,
    seed: u64,
    threads: Option<usize>,
    memory: Option<&str>,
) -> PyResult<String> {
    let memory = limit(py, memory)?;
    let signal = signal.parse().map_err(|error| exception(py, error))?;
    let certification = Certification { epsilon, delta, hops, signal, signal_dim, pairs, seed };
    let [sample] = &graph.dataset.samples[..] else {
        return Err(input_error(py, "Theorem 2 is about one graph"));
    };
    let (graph, id_bytes) = (sample.graph.clone(), sample.ids.num_bytes());
    work::run_silently(py, threads, move || {
        let plan = certification.plan(&graph, id_bytes, memory)?;
        Ok(json!(certification.run(&graph, &plan, |_, _| {})?).to_string())
    })
}
