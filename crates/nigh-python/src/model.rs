//! `Model`: a trained model, and its use on a graph.

use crate::arrow;
use crate::errors::{exception, input_error};
use crate::graph::Graph;
use crate::ids::{IdArray, to_python};
use crate::memory::limit;
use crate::settings::config;
use crate::work;
use nigh::answer::{RowWriter, SessionOptions};
use nigh::formats::text_table::Formulas;
use nigh::{Memory, Session, Task, Trained, Training};
use numpy::ndarray::ArrayView2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A trained model.
#[pyclass(frozen, module = "nigh._nigh")]
pub struct Model {
    trained: Arc<Trained>,
}

/// Trains on a graph. `watch` is told of progress, after each epoch if `each` is set.
#[pyfunction]
#[pyo3(signature = (graph, settings, watch, each, threads, memory=None))]
pub fn train(
    py: Python<'_>,
    graph: &Graph,
    settings: &Bound<'_, PyDict>,
    watch: Option<&Bound<'_, PyAny>>,
    each: bool,
    threads: Option<usize>,
    memory: Option<&str>,
) -> PyResult<(Model, Vec<String>)> {
    let memory = limit(py, memory)?;
    let (config, dataset) = (config(settings)?, graph.dataset.clone());
    let given: Vec<String> = settings.keys().extract()?;
    let (trained, unused) = work::run(py, threads, watch, each, move |observer| {
        let unused = config.without_effect(&dataset)?;
        let training = Training::new(&dataset, config)?;
        let training = match memory {
            Some(memory) => training.within(memory, &std::env::temp_dir())?,
            None => {
                if let Some(free) = Memory::available().filter(|_| training.in_memory_reason().is_some()) {
                    training.check_memory(free)?;
                }
                training
            }
        };
        Ok((training.observer(observer).run()?, unused))
    })?;
    let unused = unused.iter().map(|name| name.replace('-', "_")).filter(|name| given.contains(name)).collect();
    Ok((Model { trained: trained.into() }, unused))
}

/// In the folder of temporary files.
fn options(memory: Option<Memory>) -> SessionOptions {
    SessionOptions { memory, ..SessionOptions::default() }
}

impl Model {
    /// What a session on a graph answers; and notes.
    fn answered<T: Send>(
        &self,
        py: Python<'_>,
        graph: &Graph,
        memory: Option<&str>,
        threads: Option<usize>,
        answer: impl FnOnce(&Session) -> nigh::Result<T> + Send,
    ) -> PyResult<(T, Vec<String>)> {
        let (trained, dataset, memory) = (self.trained.clone(), graph.dataset.clone(), limit(py, memory)?);
        work::run_silently(py, threads, move || {
            let session = trained.session_with(&dataset, &options(memory))?;
            let answer = answer(&session)?;
            Ok((answer, session.notes))
        })
    }

    /// A number for each pair of ids; and notes.
    fn of_pairs<'py>(
        &self,
        py: Python<'py>,
        graph: &Graph,
        ends: [&Bound<'py, PyAny>; 2],
        memory: Option<&str>,
        threads: Option<usize>,
        answer: impl FnOnce(&Session, &[[u32; 2]]) -> nigh::Result<Vec<f32>> + Send,
    ) -> PyResult<(Bound<'py, PyArray1<f32>>, Vec<String>)> {
        let ids = &graph.dataset.samples[0].ids;
        let find = |wanted: &Bound<'py, PyAny>| IdArray::new(wanted)?.find(ids).map_err(|error| exception(py, error));
        let (source, target) = (find(ends[0])?, find(ends[1])?);
        if source.len() != target.len() {
            return Err(input_error(py, format!("{} sources, but {} targets", source.len(), target.len())));
        }
        let pairs: Vec<[u32; 2]> = source.into_iter().zip(target).map(|(a, b)| [a, b]).collect();
        let (answers, notes) = self.answered(py, graph, memory, threads, |session| answer(session, &pairs))?;
        Ok((answers.into_pyarray(py), notes))
    }
}

#[pymethods]
impl Model {
    /// Reads the folder of a model.
    #[staticmethod]
    fn load(py: Python<'_>, folder: PathBuf) -> PyResult<Model> {
        let trained = work::run_silently(py, Some(1), || Trained::load(&folder))?;
        Ok(Model { trained: trained.into() })
    }

    /// Writes the folder of the model.
    fn save(&self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        let trained = self.trained.clone();
        work::run_silently(py, Some(1), move || trained.save(&folder))
    }

    /// The files of the folder, in one.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.trained.to_bytes())
    }

    /// The model whose folder has these files.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Model> {
        let trained = Trained::from_bytes(bytes).map_err(|error| exception(py, error))?;
        Ok(Model { trained: trained.into() })
    }

    /// What has to be propagated for it on many machines, as JSON.
    fn message_passing(&self, py: Python<'_>) -> PyResult<String> {
        let passing = nigh::shards::message_passing(&self.trained).map_err(|error| exception(py, error))?;
        Ok(passing.to_string())
    }

    /// Everything that the training found, as JSON.
    fn summary(&self) -> String {
        self.trained.to_json().to_string()
    }

    /// The model card, as Markdown.
    fn card(&self) -> String {
        self.trained.card()
    }

    /// Every evaluation of the kept repeat: epoch, loss, and the metric on validation and test.
    fn curve(&self) -> Vec<(usize, f64, f64, f64)> {
        let curve = &self.trained.run().curve;
        curve.iter().map(|evaluation| (evaluation.epoch, evaluation.loss, evaluation.valid, evaluation.test)).collect()
    }

    #[getter]
    fn task(&self) -> &'static str {
        self.trained.config.task.name()
    }

    #[getter]
    fn answers_pairs(&self) -> bool {
        self.trained.config.task != Task::NodeClassification
    }

    #[getter]
    fn class_names(&self) -> Vec<String> {
        self.trained.summary.class_names.clone()
    }

    #[getter]
    fn is_multi_label(&self) -> bool {
        self.trained.summary.multi_label
    }

    #[getter]
    fn num_parameters(&self) -> usize {
        self.trained.num_parameters()
    }

    /// The metrics on the split of the training, measured again, as JSON; and notes.
    fn evaluate(
        &self,
        py: Python<'_>,
        graph: &Graph,
        memory: Option<&str>,
        threads: Option<usize>,
    ) -> PyResult<(String, Vec<String>)> {
        let (trained, dataset, memory) = (self.trained.clone(), graph.dataset.clone(), limit(py, memory)?);
        let (found, notes) = work::run_silently(py, threads, move || {
            let folder = std::env::temp_dir();
            trained.evaluate_with(&dataset, None, memory.map(|memory| (memory, folder.as_path())))
        })?;
        let json = serde_json::json!({
            "valid": found.valid, "test": found.test, "metrics": found.metrics, "metric": self.trained.config.metric,
            "same_split": found.same_split, "held_out": found.held_out,
        });
        Ok((json.to_string(), notes))
    }

    /// The score of each pair of ids; and notes.
    fn scores<'py>(
        &self,
        py: Python<'py>,
        graph: &Graph,
        source: &Bound<'py, PyAny>,
        target: &Bound<'py, PyAny>,
        memory: Option<&str>,
        threads: Option<usize>,
    ) -> PyResult<(Bound<'py, PyArray1<f32>>, Vec<String>)> {
        self.of_pairs(py, graph, [source, target], memory, threads, Session::scores)
    }

    /// The probability of each pair of ids; and notes.
    #[expect(clippy::too_many_arguments, reason = "they are named in Python")]
    fn link_probabilities<'py>(
        &self,
        py: Python<'py>,
        graph: &Graph,
        source: &Bound<'py, PyAny>,
        target: &Bound<'py, PyAny>,
        prior: Option<f64>,
        memory: Option<&str>,
        threads: Option<usize>,
    ) -> PyResult<(Bound<'py, PyArray1<f32>>, Vec<String>)> {
        // Refused before anything is computed.
        self.trained.link_probabilities(prior).map_err(|error| exception(py, error))?;
        let answer = |session: &Session, pairs: &[[u32; 2]]| session.probabilities(pairs, prior);
        self.of_pairs(py, graph, [source, target], memory, threads, answer)
    }

    /// The most likely links of some nodes, one node after the other: ids, scores, whether the graph has them, and the number of links of
    /// each node; and notes.
    #[expect(clippy::type_complexity, reason = "a tuple of Python")]
    #[expect(clippy::too_many_arguments, reason = "they are named in Python")]
    fn links<'py>(
        &self,
        py: Python<'py>,
        graph: &Graph,
        nodes: &Bound<'py, PyAny>,
        top: usize,
        existing: bool,
        memory: Option<&str>,
        threads: Option<usize>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyArray1<f32>>, Bound<'py, PyArray1<bool>>, Vec<usize>, Vec<String>)>
    {
        let ids = &graph.dataset.samples[0].ids;
        let nodes = IdArray::new(nodes)?.find(ids).map_err(|error| exception(py, error))?;
        let (links, notes) =
            self.answered(py, graph, memory, threads, |session| session.links(&nodes, top, existing))?;
        let counts = links.iter().map(Vec::len).collect();
        let links = links.concat();
        let names = ids.select(&links.iter().map(|link| link.node).collect::<Vec<_>>());
        let scores: Vec<f32> = links.iter().map(|link| link.score).collect();
        let exists: Vec<bool> = links.iter().map(|link| link.exists).collect();
        let names = to_python(py, &names, graph.has_text_ids)?;
        Ok((names, scores.into_pyarray(py), exists.into_pyarray(py), counts, notes))
    }

    /// The probability of every class of every node of a graph, in the order of its nodes; and notes.
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        graph: &Graph,
        memory: Option<&str>,
        threads: Option<usize>,
    ) -> PyResult<(Bound<'py, PyArray2<f32>>, Vec<String>)> {
        let nodes: Vec<u32> = (0..graph.dataset.samples[0].ids.len() as u32).collect();
        let (rows, notes) =
            self.answered(py, graph, memory, threads, |session| Ok(session.classes(&nodes)?.probabilities))?;
        let shape = rows.shape();
        Ok((rows.data().to_vec().into_pyarray(py).reshape(shape)?, notes))
    }

    /// The vectors of all graphs; and notes.
    fn embed(
        &self,
        py: Python<'_>,
        graph: &Graph,
        memory: Option<&str>,
        threads: Option<usize>,
    ) -> PyResult<(Embedding, Vec<String>)> {
        let (trained, dataset, memory) = (self.trained.clone(), graph.dataset.clone(), limit(py, memory)?);
        let (embedding, notes) =
            work::run_silently(py, threads, move || trained.embed_with(&dataset, &options(memory)))?;
        Ok((Embedding { embedding: embedding.into(), has_text_ids: graph.has_text_ids }, notes))
    }

    /// Writes vectors row by row; returns every file written, and notes.
    fn embed_to(
        &self,
        py: Python<'_>,
        graph: &Graph,
        path: PathBuf,
        memory: Option<&str>,
        threads: Option<usize>,
    ) -> PyResult<(Vec<PathBuf>, Vec<String>)> {
        let (trained, dataset, memory) = (self.trained.clone(), graph.dataset.clone(), limit(py, memory)?);
        work::run_silently(py, threads, move || {
            RowWriter::check_name(&path)?;
            // Without a limit, all columns at once.
            let memory = memory.unwrap_or(Memory::new(usize::MAX));
            let folder = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let options = SessionOptions { folder: folder.to_path_buf(), ..options(Some(memory)) };
            let session = trained.session_with(&dataset, &options)?;
            let (files, _) = session.write_vectors(&path)?;
            Ok((files, session.notes))
        })
    }
}

/// Vectors with the ids of their nodes.
#[pyclass(frozen, module = "nigh._nigh")]
pub struct Embedding {
    embedding: Arc<nigh::answer::Embedding>,
    has_text_ids: bool,
}

#[pymethods]
impl Embedding {
    /// The graph of each row, if there are several.
    #[getter]
    fn graphs(&self) -> Option<Vec<String>> {
        self.embedding.graphs.clone()
    }

    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.embedding.ids, self.has_text_ids)
    }

    /// The vectors, a row per node. The array is a view that keeps this object alive.
    fn array<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray2<f32>> {
        let matrix = &slf.get().embedding.matrix;
        let view = ArrayView2::from_shape(matrix.shape(), matrix.data()).expect("a matrix is full");
        // SAFETY: the object is frozen, so its matrix neither moves nor changes while the array holds a reference to it.
        let array = unsafe { PyArray2::borrow_from_array(&view, slf.clone().into_any()) };
        array.readwrite().make_nonwriteable();
        array
    }

    /// A table with the columns `id` and `vector`, and `graph` if there are several. The vectors are not copied; what reads
    /// them keeps them alive. A requested schema is a wish that a producer may pass over, as this one does.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        // A stream that nobody took is released with the capsule.
        PyCapsule::new_with_value(py, arrow::stream(&self.embedding, self.has_text_ids), arrow::STREAM)
    }

    /// Writes a file in the format of its name; returns every file written.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<Vec<PathBuf>> {
        let embedding = self.embedding.clone();
        work::run_silently(py, Some(1), move || embedding.write(&path, Formulas::Kept))
    }
}
