//! Graphs, features and labels in arrays: NumPy's `.npy` and `.npz`, Matlab's `.mat`. What is pickled in them is passed over.

use super::matrix::adjacency;
use super::{EdgeFile, EdgeList, WeightColumn, numbered_integers};
use crate::error::{Error, Result};
use crate::ids::Ids;
use crate::matlab::{self, MatValue, MatVariable};
use crate::matrix_market::SparseEntries;
use crate::node_rows::{FeatureMatrix, NodeRows, RowLabels, RowSource, sparse};
use crate::npy::{self, NpyArray, NpzArchive};
use crate::{Texts, memory, scipy};
use std::path::Path;

/// Names of adjacency matrices, of lists of edges, of features and of labels, in small letters.
const GRAPH_WORDS: &[&str] = &["net", "network", "a", "adj", "adjacency", "adj_matrix", "graph", "w", "g"];
const EDGE_WORDS: &[&str] = &["edges", "edge_index", "edge_list"];
pub(crate) const FEATURE_ARRAYS: &[&str] = &[
    "features",
    "feature",
    "x",
    "feat",
    "attr",
    "attr_matrix",
    "attributes",
    "attrb",
    "node_features",
    "embedding",
    "vectors",
    "fea",
];
pub(crate) const LABEL_ARRAYS: &[&str] =
    &["label", "labels", "class", "category", "y", "group", "target", "node_labels", "gnd"];

/// What the names of the arrays of a sparse matrix start with, in the layouts of public benchmarks.
const GRAPH_STARTS: &[&str] = &["adj_", "adj_matrix."];
const FEATURE_STARTS: &[&str] = &["attr_", "attr_matrix."];
const LABEL_STARTS: &[&str] = &["labels_", "labels."];

/// A matrix in memory.
#[derive(Debug)]
pub(crate) enum MatrixArray {
    Sparse(SparseEntries),
    /// Row by row.
    Full(usize, usize, Vec<f32>),
}

impl MatrixArray {
    fn from_npy(array: &NpyArray) -> Result<MatrixArray> {
        match *array.shape() {
            [rows, cols] => Ok(MatrixArray::Full(rows, cols, array.floats()?)),
            _ => Err(array.error(format!("has the shape {:?}; expected a matrix", array.shape()))),
        }
    }

    fn shape(&self) -> [usize; 2] {
        match self {
            MatrixArray::Sparse(matrix) => [matrix.rows, matrix.cols],
            MatrixArray::Full(rows, cols, _) => [*rows, *cols],
        }
    }

    /// Its entries other than zero.
    fn entries(self) -> SparseEntries {
        let (rows, cols, values) = match self {
            MatrixArray::Sparse(matrix) => return matrix.spread(),
            MatrixArray::Full(rows, cols, values) => (rows, cols, values),
        };
        let places = || (0..values.len()).filter(|&at| values[at] != 0.0);
        let count = places().count();
        let what = || format!("{count} entries of a matrix of {rows} × {cols}");
        let mut entries = memory::or_stop(memory::vector(count, what));
        entries.extend(places().map(|at| [(at / cols) as u32, (at % cols) as u32]));
        SparseEntries { rows, cols, entries, values: Some(places().map(|at| values[at]).collect()), symmetric: false }
    }

    /// With a row per node, where a column per node was stored.
    fn by_nodes(self, num_nodes: usize) -> MatrixArray {
        let [rows, cols] = self.shape();
        if rows == num_nodes || cols != num_nodes || rows == 1 {
            return self;
        }
        let SparseEntries { entries, values, .. } = self.entries();
        let entries = entries.into_iter().map(|[row, col]| [col, row]).collect();
        MatrixArray::Sparse(SparseEntries { rows: cols, cols: rows, entries, values, symmetric: false })
    }

    /// `F`, a row per node.
    pub fn features(self, path: &Path) -> Result<FeatureMatrix> {
        match self {
            MatrixArray::Full(rows, cols, values) => {
                if let Some(at) = values.iter().position(|value| !value.is_finite()) {
                    let problem =
                        format!("row {}, column {}: {} is not a finite number", at / cols, at % cols, values[at]);
                    return Err(Error::file(path, problem));
                }
                Ok(FeatureMatrix::Full { rows, cols, values })
            }
            MatrixArray::Sparse(matrix) => {
                let matrix = matrix.spread();
                let (rows, cols, count) = (matrix.rows, matrix.cols, matrix.entries.len());
                // Rows that grow one by one, then the entries by row and by column.
                let bytes = 40 * rows as u64 + 16 * cols as u64 + 64 * count as u64;
                memory::check(bytes, || format!("sparse features of {rows} × {cols} with {count} entries"))
                    .map_err(|problem| Error::file(path, format!("{problem}; leave out columns without entries")))?;
                let mut by_row = vec![Vec::new(); rows];
                for (at, [row, column]) in matrix.entries.into_iter().enumerate() {
                    let value = matrix.values.as_ref().map_or(1.0, |values| values[at]);
                    if !value.is_finite() {
                        let problem = format!("row {row}, column {column}: {value} is not a finite number");
                        return Err(Error::file(path, problem));
                    }
                    by_row[row as usize].push((column, value));
                }
                by_row.iter_mut().for_each(add_up);
                sparse(path, by_row, cols)
            }
        }
    }

    /// The label of each node: a column of numbers, of which negative ones are none; or a column per class with a one in
    /// the row of every node that is of this class.
    pub fn labels(self, path: &Path) -> Result<RowLabels> {
        match self {
            MatrixArray::Full(rows, cols, values) if rows.min(cols) == 1 => {
                let name = |&value: &f32| if value >= 0.0 { value.to_string() } else { String::new() };
                Ok(values.iter().map(name).collect::<Texts>().into())
            }
            indicators => {
                let ones = indicators.entries();
                let value = |at: usize| ones.values.as_ref().map_or(1.0, |values| values[at]);
                let mut classes = vec![Vec::new(); ones.rows];
                for (at, [row, class]) in ones.entries.iter().enumerate().filter(|&(at, _)| value(at) != 0.0) {
                    if value(at) != 1.0 {
                        let problem = format!("row {row}, column {class} is {}", value(at));
                        return Err(Error::file(path, format!("{problem}; expected 0 or 1, with a column per class")));
                    }
                    classes[*row as usize].push(class.to_string());
                }
                Ok(RowLabels::several(classes, "columns of 0 and 1"))
            }
        }
    }
}

/// Sorts a row by columns. Entries of one place add up, as SciPy has it.
fn add_up(row: &mut Vec<(u32, f32)>) {
    row.sort_by_key(|entry| entry.0);
    row.dedup_by(|next, first| {
        let is_same = next.0 == first.0;
        if is_same {
            first.1 += next.1;
        }
        is_same
    });
}

/// Labels in an array of NumPy: a text or a number per node, or a column per class.
pub(crate) fn npy_labels(path: &Path, array: &NpyArray) -> Result<RowLabels> {
    match array.shape() {
        [_] | [_, 1] => {
            // Numbers with fractions are told from classes later.
            let labels = array.texts().or_else(|error| {
                let numbers = array.floats().map_err(|_| error)?;
                Ok::<Texts, Error>(numbers.iter().map(f32::to_string).collect())
            })?;
            let name = |label| if str::starts_with(label, '-') { "" } else { label };
            Ok(labels.iter().map(name).collect::<Texts>().into())
        }
        [_, _] => MatrixArray::from_npy(array)?.labels(path),
        shape => Err(array.error(format!("has the shape {shape:?}; expected one label per node"))),
    }
}

/// Rows of the nodes 0, 1, ... of the same file.
fn own_rows<T>(path: &Path, what: &str, rows: T, len: usize, num_nodes: usize) -> Result<NodeRows<T>> {
    if len != num_nodes {
        return Err(Error::file(path, format!("{len} rows of {what}, but the graph has {num_nodes} nodes")));
    }
    let ids = Some((0..len).map(|row| row.to_string()).collect());
    let (source, notes) =
        (RowSource::Array(path.to_path_buf()), vec![format!("{what} are those of {}", path.display())]);
    Ok(NodeRows { source, ids, graphs: None, len, rows, columns: Vec::new(), gaps: false, notes })
}

/// Reads a graph of SciPy's, or one in the layout of a benchmark with features and labels.
pub(super) fn read_npz<S>(path: &Path, weight: &WeightColumn) -> Result<EdgeFile<S>> {
    let mut archive = NpzArchive::open(path)?;
    if scipy::is_sparse(&archive) {
        return Ok(adjacency(path, scipy::read(&mut archive)?, weight)?.into());
    }
    let held: Vec<String> = archive.names().map(str::to_string).collect();
    let one_of =
        |words: &[&str]| words.iter().find_map(|word| held.iter().find(|name| name.eq_ignore_ascii_case(word)));
    let features = npz_features(&mut archive)?.map(|array| array.features(path)).transpose()?;
    let labels = npz_labels(&mut archive)?;
    let list = if let Some(matrix) = npz_sparse(&mut archive, GRAPH_STARTS)? {
        adjacency(path, matrix, weight)?
    } else if let Some(name) = one_of(GRAPH_WORDS) {
        adjacency(path, MatrixArray::from_npy(&archive.array(name)?)?.entries(), weight)?
    } else if let Some(name) = one_of(EDGE_WORDS) {
        let count = features.as_ref().map(FeatureMatrix::rows).or(labels.as_ref().map(RowLabels::len));
        pairs(path, &archive.array(name)?, weight, count)?
    } else {
        return Err(Error::file(
            path,
            format!(
                "is no graph; expected a sparse matrix of scipy.sparse.save_npz, or members adj_data, adj_indices, \
                 adj_indptr and adj_shape, or edges; it holds {}",
                held.join(", ")
            ),
        ));
    };
    let n = list.ids.len();
    let rows_of = |features: FeatureMatrix| {
        let len = features.rows();
        own_rows(path, "features", features, len, n)
    };
    let labels_of = |labels: RowLabels| {
        let len = labels.len();
        own_rows(path, "labels", labels, len, n)
    };
    let (features, labels) = (features.map(rows_of).transpose()?, labels.map(labels_of).transpose()?);
    Ok(EdgeFile { list, numbered: None, features, labels })
}

/// The sparse matrix whose arrays have names that start so.
fn npz_sparse(archive: &mut NpzArchive, starts: &[&str]) -> Result<Option<SparseEntries>> {
    let start = starts.iter().find(|start| scipy::holds_csr(archive, start));
    start.map(|start| scipy::read_csr(archive, start)).transpose()
}

/// The sparse features of a benchmark's archive.
pub(crate) fn npz_sparse_features(archive: &mut NpzArchive) -> Result<Option<MatrixArray>> {
    Ok(npz_sparse(archive, FEATURE_STARTS)?.map(MatrixArray::Sparse))
}

/// The features of a benchmark's archive, sparse or full.
fn npz_features(archive: &mut NpzArchive) -> Result<Option<MatrixArray>> {
    if let Some(matrix) = npz_sparse_features(archive)? {
        return Ok(Some(matrix));
    }
    let name = FEATURE_ARRAYS.iter().find(|name| archive.holds(name));
    name.map(|name| MatrixArray::from_npy(&archive.array(name)?)).transpose()
}

/// The labels of a benchmark's archive, by the names of classes if it has them as text.
fn npz_labels(archive: &mut NpzArchive) -> Result<Option<RowLabels>> {
    let path = archive.path().to_path_buf();
    if let Some(matrix) = npz_sparse(archive, LABEL_STARTS)? {
        return MatrixArray::Sparse(matrix).labels(&path).map(Some);
    }
    let Some(name) = LABEL_ARRAYS.iter().find(|name| archive.holds(name)) else { return Ok(None) };
    let labels = npy_labels(&path, &archive.array(name)?)?;
    // Names of classes are mostly pickled, and then not read.
    let names = archive.array("class_names").and_then(|names| names.texts()).unwrap_or_default();
    let named = |label: &str| label.parse::<usize>().ok().filter(|&class| class < names.len());
    let numbers = &labels.names;
    if names.is_empty() || numbers.iter().any(|label| !label.is_empty() && named(label).is_none()) {
        return Ok(Some(labels));
    }
    let names = numbers.iter().map(|label| named(label).map_or("", |class| &names[class])).collect();
    Ok(Some(labels.renamed(names)))
}

/// Reads an adjacency matrix, or edges: a row, or a column, of two ids each.
pub(super) fn read_npy(path: &Path, weight: &WeightColumn) -> Result<EdgeList> {
    let array = npy::open(path)?;
    match *array.shape() {
        [rows, cols] if rows == cols => adjacency(path, MatrixArray::from_npy(&array)?.entries(), weight),
        _ => pairs(path, &array, weight, None),
    }
}

/// Edges as rows or columns of two ids. With `num_nodes`, ids are the numbers of nodes.
fn pairs(path: &Path, array: &NpyArray, weight: &WeightColumn, num_nodes: Option<usize>) -> Result<EdgeList> {
    let (count, width, by_rows) = match *array.shape() {
        [count, width @ (2 | 3)] => (count, width, true),
        [2, count] => (count, 2, false),
        _ => {
            let shape = array.shape();
            let problem = format!("has the shape {shape:?}; expected edges (M, 2) or a square adjacency matrix");
            return Err(array.error(problem));
        }
    };
    if count == 0 {
        return Err(array.error("no edges; expected rows of two ids"));
    }
    let at = |edge: usize, column: usize| if by_rows { width * edge + column } else { count * column + edge };
    let values = array.floats()?;
    let ids: Vec<i64> = array.integers().or_else(|error| {
        // Beyond 2^24 numbers of 32 bits are not exact.
        let is_whole = |edge: usize| {
            (0..2).all(|c| values[at(edge, c)].fract() == 0.0 && values[at(edge, c)].abs() < 16_777_216.0)
        };
        if (0..count).all(is_whole) { Ok(values.iter().map(|&value| value as i64).collect()) } else { Err(error) }
    })?;
    let ends: Vec<[i64; 2]> = (0..count).map(|edge| [ids[at(edge, 0)], ids[at(edge, 1)]]).collect();
    let mut list = EdgeList::default();
    let third = match weight {
        WeightColumn::Column(name) if name == "3" && width == 3 => true,
        WeightColumn::Column(name) => return Err(array.error(format!("has no column `{name}` of weights"))),
        WeightColumn::Auto if width == 3 => {
            list.notes.push(format!(
                "column 3 of {} has no name and is not used; it can be named as the weight",
                path.display()
            ));
            false
        }
        _ => false,
    };
    let weights: Vec<f32> = if third { (0..count).map(|edge| values[at(edge, 2)]).collect() } else { Vec::new() };
    if let Some(edge) = weights.iter().position(|weight| !(weight.is_finite() && *weight > 0.0)) {
        let problem = format!("row {edge}: weight {} is not a positive number", weights[edge]);
        return Err(Error::weight(array.error(problem)));
    }
    let edges = match num_nodes {
        None => {
            let (ids, edges) = numbered_integers(ends);
            list.ids = ids;
            edges
        }
        Some(n) => {
            list.ids = Ids::Numbers(n);
            let inside = |id: i64| {
                let beyond = || array.error(format!("names node {id}; there are rows for 0 to {}", n as i64 - 1));
                usize::try_from(id).ok().filter(|&id| id < n).map(|id| id as u32).ok_or_else(beyond)
            };
            ends.into_iter().map(|[a, b]| Ok([inside(a)?, inside(b)?])).collect::<Result<_>>()?
        }
    };
    list.edges.push(edges);
    list.weights.extend(third.then_some(weights));
    Ok(list)
}

/// Reads a graph of Matlab, with features and labels where there are matrices of these names.
pub(super) fn read_matlab<S>(path: &Path, weight: &WeightColumn) -> Result<EdgeFile<S>> {
    let mut variables = matlab::open(path)?;
    let names = variable_names(&variables);
    let graph = match take_variable(path, &mut variables, GRAPH_WORDS)? {
        Some(matrix) => Some(matrix),
        None => only_square(&mut variables),
    };
    let Some(matrix) = graph else {
        return Err(Error::file(
            path,
            format!("is no graph; expected a square matrix `net`, `network` or `A`; it holds {names}"),
        ));
    };
    let list = adjacency(path, matrix.entries(), weight)?;
    let n = list.ids.len();
    // A matrix of another size is about something else.
    let mut of_nodes = |words: &[&str]| -> Result<Option<MatrixArray>> {
        let found = take_variable(path, &mut variables, words)?;
        Ok(found.filter(|matrix| matrix.shape().contains(&n)).map(|matrix| matrix.by_nodes(n)))
    };
    let features = of_nodes(FEATURE_ARRAYS)?.map(|matrix| own_rows(path, "features", matrix.features(path)?, n, n));
    let labels = of_nodes(LABEL_ARRAYS)?.map(|matrix| own_rows(path, "labels", matrix.labels(path)?, n, n));
    Ok(EdgeFile { list, numbered: None, features: features.transpose()?, labels: labels.transpose()? })
}

/// The matrix of one of these names, or the only one, for features and labels in a file of their own.
pub(crate) fn matlab_matrix(path: &Path, words: &[&str]) -> Result<MatrixArray> {
    let mut variables = matlab::open(path)?;
    let names = variable_names(&variables);
    if let Some(matrix) = take_variable(path, &mut variables, words)? {
        return Ok(matrix);
    }
    let mut matrices = variables.into_iter().filter_map(|variable| matrix_of(variable.value).ok());
    match (matrices.next(), matrices.next()) {
        (Some(only), None) => Ok(only),
        _ => Err(Error::file(path, format!("which matrix is meant? call it `{}`; it holds {names}", words[0]))),
    }
}

/// The labels in a file of their own.
pub(crate) fn matlab_labels(path: &Path) -> Result<RowLabels> {
    matlab_matrix(path, &["group", "label", "labels", "y", "gnd", "class"])?.labels(path)
}

fn variable_names(variables: &[MatVariable]) -> String {
    let names: Vec<&str> = variables.iter().map(|variable| variable.name.as_str()).collect();
    if names.is_empty() { "nothing".into() } else { names.join(", ") }
}

fn matrix_of(value: MatValue) -> std::result::Result<MatrixArray, &'static str> {
    match value {
        MatValue::Sparse(matrix) => Ok(MatrixArray::Sparse(matrix)),
        MatValue::Full { rows, cols, values } => Ok(MatrixArray::Full(rows, cols, values)),
        MatValue::Other(what) => Err(what),
    }
}

fn take_variable(path: &Path, variables: &mut Vec<MatVariable>, words: &[&str]) -> Result<Option<MatrixArray>> {
    let place = |word: &&str| variables.iter().position(|variable| variable.name.eq_ignore_ascii_case(word));
    let Some(at) = words.iter().find_map(place) else { return Ok(None) };
    let MatVariable { name, value } = variables.swap_remove(at);
    let wrong = |what: &str| Error::file(path, format!("variable `{name}` is {what}; expected a matrix of numbers"));
    matrix_of(value).map(Some).map_err(wrong)
}

fn only_square(variables: &mut Vec<MatVariable>) -> Option<MatrixArray> {
    let is_square = |variable: &MatVariable| match &variable.value {
        MatValue::Sparse(matrix) => matrix.rows == matrix.cols && matrix.rows > 1,
        MatValue::Full { rows, cols, .. } => rows == cols && *rows > 1,
        MatValue::Other(_) => false,
    };
    let squares: Vec<usize> = (0..variables.len()).filter(|&at| is_square(&variables[at])).collect();
    match squares[..] {
        [only] => matrix_of(variables.swap_remove(only).value).ok(),
        _ => None,
    }
}
