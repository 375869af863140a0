//! `Graph`: a dataset of the library, and how Python's user wrote its ids.

use crate::errors::{exception, input_error, reading};
use crate::ids::{IdArray, texts, to_python};
use crate::work;
use nigh::dataset::{
    EdgeColumns, FeatureRows, Folders, GraphColumns, IdColumn, IdColumns, InputFiles, LabelRows, NodeColumns,
    PaperDefaults, WeightColumn,
};
use nigh::formats::memory::{self, TooLarge};
use nigh::{Dataset, Features, Matrix, SparseMatrix};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::path::PathBuf;
use std::sync::Arc;

/// A graph with what is known of its nodes.
#[pyclass(frozen, module = "nigh._nigh")]
pub struct Graph {
    pub dataset: Arc<Dataset>,
    /// Whether the user's ids were texts, also where all of them are numbers.
    pub has_text_ids: bool,
}

/// A matrix of features: full, or in compressed rows.
enum FeatureArray<'py> {
    Full(PyReadonlyArray2<'py, f32>),
    Sparse {
        starts: PyReadonlyArray1<'py, i64>,
        columns: PyReadonlyArray1<'py, i64>,
        values: PyReadonlyArray1<'py, f32>,
        width: usize,
    },
}

type Array<'py, T> = Bound<'py, PyArray1<T>>;

impl<'py> FeatureArray<'py> {
    fn new(array: &Bound<'py, PyAny>) -> PyResult<FeatureArray<'py>> {
        if let Ok(full) = array.cast::<PyArray2<f32>>() {
            return Ok(FeatureArray::Full(full.try_readonly()?));
        }
        let (starts, columns, values, width) =
            array.extract::<(Array<'py, i64>, Array<'py, i64>, Array<'py, f32>, usize)>()?;
        Ok(FeatureArray::Sparse {
            starts: starts.try_readonly()?,
            columns: columns.try_readonly()?,
            values: values.try_readonly()?,
            width,
        })
    }

    fn features(&self) -> nigh::Result<Features> {
        match self {
            FeatureArray::Full(matrix) => {
                let matrix = matrix.as_array();
                let (rows, cols) = matrix.dim();
                let what = || format!("features of {rows} × {cols}");
                let mut values = memory::vector(matrix.len(), what).map_err(too_large)?;
                values.extend(matrix.iter());
                Ok(Features::from_matrix(Matrix::from_data(rows, cols, values)))
            }
            FeatureArray::Sparse { starts, columns, values, width } => {
                let (rows, entries) = (starts.as_array().len().saturating_sub(1), columns.as_array().len());
                let what = || format!("sparse features of {rows} × {width} with {entries} entries");
                // By rows and by columns, in 64 bits each where rows and columns start, and twice while they are counted.
                let bytes = 8 * rows as u64 + 16 * entries as u64;
                let bytes = bytes.saturating_add((16 * *width as u128).try_into().unwrap_or(u64::MAX));
                memory::check(bytes, what).map_err(too_large)?;
                let starts = starts.as_array().iter().map(|&start| usize::try_from(start).ok()).collect();
                let columns = columns.as_array().iter().map(|&column| u32::try_from(column).ok()).collect();
                let (Some(starts), Some(columns)) = (starts, columns) else { return Err(nigh::Error::NotSparse) };
                let matrix = SparseMatrix::from_parts(starts, columns, values.as_array().to_vec(), *width)?;
                Ok(Features::Sparse(matrix.into()))
            }
        }
    }
}

/// Features that do not fit into memory, and what to do.
fn too_large(problem: TooLarge) -> nigh::Error {
    let remedy = "leave out columns without entries (`x[:, x.getnnz(axis=0) > 0]`), or reduce them by hashing or a truncated SVD";
    nigh::Error::too_large(problem, remedy)
}

/// Any of the arguments that may be absent.
pub fn given<'py, T>(
    arguments: &Bound<'py, PyDict>,
    name: &str,
    read: impl FnOnce(&Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<Option<T>> {
    arguments.get_item(name)?.filter(|value| !value.is_none()).map(|value| read(&value)).transpose()
}

#[pymethods]
impl Graph {
    /// From columns, as `_inputs.py` prepares them.
    #[staticmethod]
    fn from_columns(py: Python<'_>, columns: &Bound<'_, PyDict>, threads: Option<usize>) -> PyResult<Graph> {
        let ids = |name: &str| given(columns, name, IdArray::new);
        let missing = |name: &str| input_error(py, format!("no {name}"));
        let source = ids("source")?.ok_or_else(|| missing("source"))?;
        let target = ids("target")?.ok_or_else(|| missing("target"))?;
        let weights: Option<PyReadonlyArray1<'_, f32>> =
            given(columns, "weights", |array| Ok(array.cast::<PyArray1<f32>>()?.try_readonly()?))?;
        let counted: Option<usize> = given(columns, "num_nodes", |count| count.extract())?;
        let (nodes, feature_ids, label_ids) = (ids("nodes")?, ids("feature_ids")?, ids("label_ids")?);
        let features = given(columns, "features", FeatureArray::new)?;
        let names: Vec<String> = given(columns, "feature_names", |names| names.extract())?.unwrap_or_default();
        let labels = given(columns, "labels", |list| texts(list.cast::<PyList>()?))?;
        let starts: Option<Vec<u32>> = given(columns, "label_starts", |starts| starts.extract())?;
        let name: String = given(columns, "name", |name| name.extract())?.unwrap_or_else(|| "graph".to_string());
        let directed: Option<bool> = given(columns, "directed", |directed| directed.extract())?;
        let classes: Vec<String> = given(columns, "class_names", |names| names.extract())?.unwrap_or_default();
        let signal_scale: Option<String> = given(columns, "signal_scale", |name| name.extract())?;
        let per_class: Option<[usize; 3]> = given(columns, "per_class", |counts| counts.extract())?;
        let features = features.map(|features| work::guarded(py, || features.features())).transpose()?;
        let has_text_ids = matches!((&source, &nodes), (IdArray::Texts(_), _) | (_, Some(IdArray::Texts(_))));
        let columns = GraphColumns {
            name,
            source: source.column(),
            target: target.column(),
            weights: weights.map(|weights| weights.as_array().to_vec()),
            directed,
            nodes: counted.map(IdColumn::Counted).or(nodes.as_ref().map(IdArray::column)),
            features: features.map(|rows| {
                let ids = feature_ids.as_ref().map(IdArray::column);
                FeatureRows { ids, rows, names }
            }),
            labels: labels.map(|labels| LabelRows { ids: label_ids.as_ref().map(IdArray::column), labels, starts }),
        };
        let dataset = work::run_silently(py, threads, || {
            let dataset = Dataset::from_columns(columns)?;
            // A pickled graph numbers its classes as before.
            let dataset = if classes.is_empty() { dataset } else { dataset.with_classes(&classes)? };
            let signal_scale = signal_scale.map(|name| name.parse()).transpose()?;
            Ok(Dataset { paper_defaults: PaperDefaults { signal_scale, per_class, graphs: None }, ..dataset })
        })?;
        Ok(Graph { dataset: dataset.into(), has_text_ids })
    }

    /// A named dataset, or a file with further files and columns, by the names of the program's options.
    #[staticmethod]
    fn load(
        py: Python<'_>,
        name: &str,
        options: &Bound<'_, PyDict>,
        data: Option<PathBuf>,
        threads: Option<usize>,
    ) -> PyResult<Graph> {
        let path = |name: &str| given(options, name, |path| path.extract::<PathBuf>());
        let text = |name: &str| given(options, name, |text| text.extract::<String>());
        let weight = match text("weight")?.as_deref() {
            None | Some("auto") => WeightColumn::Auto,
            Some("none") => WeightColumn::None,
            Some(column) => WeightColumn::Column(column.to_string()),
        };
        let separator = text("label_separator")?.map(|text| text.parse().map_err(nigh::Error::from)).transpose();
        let input = InputFiles {
            edge_columns: EdgeColumns {
                source: text("source")?,
                target: text("target")?,
                weight,
                graph: text("graph_column")?,
            },
            nodes: path("nodes")?,
            features: path("features")?,
            labels: path("labels")?,
            node_columns: NodeColumns {
                id: text("id")?,
                label: text("label")?,
                label_separator: separator.map_err(|error| exception(py, error))?.unwrap_or_default(),
                graph: text("graph_column")?,
            },
            id_columns: IdColumns { nodes: text("node_id")?, features: text("feature_id")?, labels: text("label_id")? },
        };
        let folders = Folders::new(data.as_deref());
        let dataset = work::run_silently(py, threads, || Dataset::load(name, &input, &folders))?;
        Ok(Graph { dataset: dataset.into(), has_text_ids: false })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.dataset.name
    }

    #[getter]
    fn num_nodes(&self) -> usize {
        self.dataset.num_nodes()
    }

    #[getter]
    fn num_edges(&self) -> usize {
        self.dataset.num_edges()
    }

    /// 0 for none.
    #[getter]
    fn num_features(&self) -> usize {
        self.dataset.samples[0].features.count()
    }

    #[getter]
    fn num_graphs(&self) -> usize {
        self.dataset.samples.len()
    }

    #[getter]
    fn num_labelled(&self) -> usize {
        self.dataset.samples.iter().map(|sample| sample.num_labelled()).sum()
    }

    #[getter]
    fn class_names(&self) -> Vec<String> {
        self.dataset.class_names.clone()
    }

    #[getter]
    fn feature_names(&self) -> Vec<String> {
        self.dataset.feature_names.clone()
    }

    #[getter]
    fn notes(&self) -> Vec<String> {
        self.dataset.notes.clone()
    }

    #[getter]
    fn is_weighted(&self) -> bool {
        self.dataset.samples[0].graph.is_weighted()
    }

    #[getter]
    fn is_multi_label(&self) -> bool {
        self.dataset.is_multi_label()
    }

    /// The paper's scale of the signal and numbers of nodes per class for these data, if it has its own.
    #[getter]
    fn paper_defaults(&self) -> (Option<&'static str>, Option<[usize; 3]>) {
        let defaults = &self.dataset.paper_defaults;
        (defaults.signal_scale.map(|scale| scale.name()), defaults.per_class)
    }

    #[getter]
    fn has_text_ids(&self) -> bool {
        self.has_text_ids
    }

    /// Of nodes, edges and weights of every graph.
    fn digest(&self, py: Python<'_>) -> PyResult<String> {
        let digests = || self.dataset.samples.iter().map(|sample| sample.graph.digest()).collect::<Vec<_>>();
        Ok(reading(py, digests)?.join("-"))
    }

    /// The ids of a graph, in the order of its nodes.
    #[pyo3(signature = (number = 0))]
    fn ids<'py>(&self, py: Python<'py>, number: usize) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.sample(py, number)?.ids, self.has_text_ids)
    }

    /// The place of each of these ids among the nodes.
    fn find<'py>(&self, ids: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let (py, wanted) = (ids.py(), IdArray::new(ids)?);
        let found = wanted.find(&self.sample(py, 0)?.ids).map_err(|error| exception(py, error))?;
        Ok(found.into_pyarray(py))
    }

    /// Every edge once, as places of its ends, the smaller first.
    #[pyo3(signature = (number = 0))]
    fn edges<'py>(&self, py: Python<'py>, number: usize) -> PyResult<Bound<'py, PyArray2<u32>>> {
        let graph = &self.sample(py, number)?.graph;
        let ends = reading(py, || graph.edges().flatten().collect::<Vec<u32>>())?;
        ends.into_pyarray(py).reshape([graph.num_edges(), 2])
    }

    /// A weight per edge, in the order of `edges`.
    #[pyo3(signature = (number = 0))]
    fn weights<'py>(&self, py: Python<'py>, number: usize) -> PyResult<Option<Bound<'py, PyArray1<f32>>>> {
        let graph = &self.sample(py, number)?.graph;
        let weights = reading(py, || graph.is_weighted().then(|| graph.edge_weights()))?;
        Ok(weights.map(|weights| weights.into_pyarray(py)))
    }

    /// The number of neighbours of each node.
    #[pyo3(signature = (number = 0))]
    fn degrees<'py>(&self, py: Python<'py>, number: usize) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let graph = &self.sample(py, number)?.graph;
        let degrees = || (0..graph.num_nodes()).map(|node| graph.degree(node) as u32).collect::<Vec<_>>();
        Ok(reading(py, degrees)?.into_pyarray(py))
    }

    /// `F` as a matrix, or as starts, columns, values and width of its compressed rows; `None` for no features.
    #[pyo3(signature = (number = 0))]
    fn features<'py>(&self, py: Python<'py>, number: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
        match &self.sample(py, number)?.features {
            Features::Constant(_) => Ok(None),
            Features::Dense(matrix) => {
                let [rows, cols] = matrix.shape();
                let copy = memory::vector(matrix.data().len(), || format!("a copy of the features of {rows} × {cols}"));
                let mut copy = copy.map_err(|problem| input_error(py, problem.to_string()))?;
                copy.extend_from_slice(matrix.data());
                Ok(Some(copy.into_pyarray(py).reshape([rows, cols])?.into_any()))
            }
            Features::Sparse(matrix) => {
                let (mut starts, mut columns, mut values) = (vec![0i64], Vec::new(), Vec::new());
                for row in 0..matrix.rows() {
                    matrix.row(row).for_each(|(column, value)| {
                        columns.push(i64::from(column));
                        values.push(value);
                    });
                    starts.push(columns.len() as i64);
                }
                let arrays =
                    (starts.into_pyarray(py), columns.into_pyarray(py), values.into_pyarray(py), matrix.cols());
                Ok(Some(arrays.into_pyobject(py)?.into_any()))
            }
        }
    }

    /// The number of each node's class, -1 for none; where nodes may have several, a row of 0 and 1 per node. `None` if
    /// nothing is labelled.
    #[pyo3(signature = (number = 0))]
    fn labels<'py>(&self, py: Python<'py>, number: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
        let sample = self.sample(py, number)?;
        if let Some(labels) = &sample.labels {
            let labels: Vec<i64> = labels.iter().map(|label| label.map_or(-1, i64::from)).collect();
            return Ok(Some(labels.into_pyarray(py).into_any()));
        }
        let Some(sets) = &sample.label_sets else { return Ok(None) };
        let classes = self.dataset.class_names.len();
        let what = || format!("labels of {} × {classes}", sets.len());
        let rows = memory::filled(sets.len().saturating_mul(classes), 0i64, what);
        let mut rows = rows.map_err(|problem| input_error(py, problem.to_string()))?;
        for node in 0..sets.len() {
            sets.of(node).iter().for_each(|&class| rows[node * classes + class as usize] = 1);
        }
        Ok(Some(rows.into_pyarray(py).reshape([sets.len(), classes])?.into_any()))
    }
}

impl Graph {
    fn sample(&self, py: Python<'_>, number: usize) -> PyResult<&nigh::Sample> {
        let count = self.dataset.samples.len();
        self.dataset
            .samples
            .get(number)
            .ok_or_else(|| exception(py, nigh::Error::OutOfRange { what: "graph", number, count }))
    }
}
