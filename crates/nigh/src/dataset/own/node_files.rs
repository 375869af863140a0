//! Reading files of nodes: lists of ids, features and labels.

use crate::dataset::Features;
use crate::dataset::ids::whole_number;
use crate::dataset::interner::Interner;
use crate::error::{Error, Result};
use crate::linalg::{Matrix, SparseMatrix};
use nigh_formats::matrix_market::{self, SparseEntries};
use nigh_formats::npy::{self, NpyArray, NpzArchive};
use nigh_formats::table::TableReader;
use nigh_formats::{Format, Texts, scipy};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Which column of a table of nodes is what: by the name in its header, or counted from one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeColumns {
    /// Ids of nodes.
    pub id: Option<String>,
    /// Names of classes.
    pub label: Option<String>,
    /// The graph to which a node belongs, where there are several.
    pub graph: Option<String>,
}

/// Something that is known of nodes, a row for each.
#[derive(Debug)]
pub(crate) struct NodeRows<T> {
    pub(super) source: RowSource,
    /// The id of each row; none if row `i` is of node `i`.
    pub(super) ids: Option<Texts>,
    /// The graph of each row, if the table says so.
    pub(super) graphs: Option<Texts>,
    pub len: usize,
    pub rows: T,
    /// The names of the columns, if they have any.
    pub columns: Vec<String>,
    /// Whether nodes without a row have zeros.
    pub(super) gaps: bool,
    pub notes: Vec<String>,
}

impl<T> NodeRows<T> {
    /// Whether row `i` is of node `i`.
    pub fn by_order(&self) -> bool {
        self.ids.is_none()
    }

    pub fn path(&self) -> &Path {
        self.source.path()
    }
}

/// Where rows come from, for messages.
#[derive(Debug)]
pub(super) enum RowSource {
    /// The place of each row.
    Table(TableReader, Vec<usize>),
    Array(PathBuf),
}

impl RowSource {
    pub fn error(&self, row: usize, problem: impl Into<String>) -> Error {
        match self {
            RowSource::Table(table, places) => table.error(places[row], problem).into(),
            RowSource::Array(path) => Error::file(path, format!("row {row}: {}", problem.into())),
        }
    }

    /// The place of a row, in words.
    pub fn place(&self, row: usize) -> String {
        match self {
            RowSource::Table(table, places) => format!("on {} {}", table.unit(), places[row]),
            RowSource::Array(_) => format!("in row {row}"),
        }
    }

    pub fn path(&self) -> &Path {
        match self {
            RowSource::Table(table, _) => &table.path,
            RowSource::Array(path) => path,
        }
    }
}

const ID_WORDS: &[&str] =
    &["id", "ids", "node", "nodes", "node_id", "node_ids", "nodeid", "name", "index", "vertex", ""];
/// The unambiguous ones.
const SURE_ID_WORDS: &[&str] = &["id", "ids", "node", "nodes", "node_id", "node_ids", "nodeid"];
const GRAPH_WORDS: &[&str] = &["graph", "graph_id", "graph_indicator"];
const LABEL_WORDS: &[&str] = &["label", "labels", "class", "category", "y", "group", "target"];
const FEATURE_WORDS: &[&str] = &["feature", "feature_id", "column", "attribute", "term", "word", "token"];
const VALUE_WORDS: &[&str] = &["value", "count", "weight", "tf", "tfidf"];

const NO_FEATURES: &str = "no rows; expected lines of an id and its features";
const NO_LABELS: &str = "no labels; expected lines of an id and its label";

/// Numbers of sparse features are below this.
const MAX_FEATURES: usize = 1 << 24;

/// Opens a table of nodes. A first line is a header if it has a well-known word or only words where features or labels
/// are; but not if its first column is the name of a node.
fn open(
    path: &Path,
    nothing: &str,
    columns: &NodeColumns,
    is_node: &dyn Fn(&str) -> bool,
) -> Result<(TableReader, usize, Option<usize>)> {
    let table = TableReader::open(path, nothing, |first, second| {
        let given = [&columns.id, &columns.label, &columns.graph];
        let named = |field: &String| given.into_iter().flatten().any(|name| name.eq_ignore_ascii_case(field));
        if first.iter().any(|field| named(field) && field.parse::<f64>().is_err()) {
            return true;
        }
        let is_number = |field: &String| field.parse::<f32>().is_ok();
        let is_one_of = |words: &[&str], field: &String| words.contains(&field.to_lowercase().as_str());
        let worded = is_one_of(ID_WORDS, &first[0]) || first.iter().any(|field| is_one_of(SURE_ID_WORDS, field));
        let words = first.len() > 1 && !first[1..].iter().any(is_number);
        let over_numbers = second.is_some_and(|second| second.len() > 1 && second[1..].iter().all(is_number));
        let over_node = !is_number(&first[0]) && second.is_some_and(|second| is_node(&second[0]));
        !is_node(&first[0]) && (worded || words && (over_numbers || over_node))
    })?;
    let id = match &columns.id {
        Some(name) => table.find(name)?,
        None => {
            let named = table.worded(SURE_ID_WORDS).or_else(|| table.worded(&ID_WORDS[..ID_WORDS.len() - 1]));
            named.or_else(|| table.worded(ID_WORDS)).unwrap_or(0)
        }
    };
    let graph = match &columns.graph {
        Some(name) => Some(table.find(name)?),
        None => table.worded(GRAPH_WORDS).filter(|&graph| graph != id),
    };
    if graph == Some(id) {
        return Err(Error::file(path, format!("column {} can't be both id and graph", id + 1)));
    }
    Ok((table, id, graph))
}

/// Reads a list of nodes.
pub(crate) fn read_ids(path: &Path, columns: &NodeColumns, is_node: &dyn Fn(&str) -> bool) -> Result<NodeRows<()>> {
    let (table, id, graph) = open(path, "no nodes; expected a column of ids", columns, is_node)?;
    let names: Vec<usize> = [Some(id), graph].into_iter().flatten().collect();
    let read = table.read(&names, &[])?;
    let notes = table.header_note().into_iter().chain(read.notes).collect();
    let mut names = read.names.into_iter();
    let (ids, graphs, len) = (names.next(), names.next(), read.places.len());
    let (source, columns) = (RowSource::Table(table, read.places), Vec::new());
    Ok(NodeRows { source, ids, graphs, len, rows: (), columns, gaps: true, notes })
}

/// Reads features: `id, number, number, ...`; `id, feature, value` where a header says so; or arrays.
pub(crate) fn read_features(
    path: &Path,
    columns: &NodeColumns,
    is_node: &dyn Fn(&str) -> bool,
) -> Result<NodeRows<Features>> {
    let matrix = |matrix: SparseEntries| -> Result<Features> {
        let mut by_row = vec![Vec::new(); matrix.rows];
        for (at, [row, column]) in matrix.entries.into_iter().enumerate() {
            by_row[row as usize].push((column, matrix.values.as_ref().map_or(1.0, |values| values[at])));
        }
        sparse(path, by_row, matrix.cols)
    };
    match Format::of(path)? {
        Format::Npy => array_rows(path, dense(npy::open(path)?)?, None),
        Format::MatrixMarket => array_rows(path, matrix(matrix_market::open(path)?.spread())?, None),
        Format::Npz => {
            let mut archive = NpzArchive::open(path)?;
            if scipy::is_sparse(&archive) {
                return array_rows(path, matrix(scipy::read(&mut archive)?)?, None);
            }
            let names = ["features", "feature", "x", "feat", "attr", "embedding", "vectors"];
            let (array, ids) = member(&mut archive, &names, 2)?;
            array_rows(path, dense(array)?, ids)
        }
        Format::Json => Err(Error::file(path, "is JSON; expected features as a table or an array")),
        Format::Text | Format::Columnar => table_features(path, columns, is_node),
    }
}

fn array_rows<T: RowCount>(path: &Path, rows: T, ids: Option<Texts>) -> Result<NodeRows<T>> {
    let len = rows.count();
    if let Some(ids) = ids.as_ref().filter(|ids| ids.len() != len) {
        return Err(Error::file(path, format!("{} ids for {len} rows", ids.len())));
    }
    if len == 0 {
        return Err(Error::file(path, "no rows; expected one per node"));
    }
    let source = RowSource::Array(path.to_path_buf());
    let (columns, notes) = (Vec::new(), Vec::new());
    Ok(NodeRows { source, ids, graphs: None, len, rows, columns, gaps: false, notes })
}

/// Something with a number of rows.
trait RowCount {
    fn count(&self) -> usize;
}

impl RowCount for Features {
    fn count(&self) -> usize {
        self.rows()
    }
}

impl RowCount for Texts {
    fn count(&self) -> usize {
        self.len()
    }
}

/// A member of an archive by one of these names, or the only one of this many sides; and ids beside it, if there are any.
fn member(archive: &mut NpzArchive, names: &[&str], sides: usize) -> Result<(NpyArray, Option<Texts>)> {
    let held: Vec<String> = archive.names().map(str::to_string).collect();
    let one_of = |words: &[&str]| held.iter().find(|name| words.contains(&name.to_lowercase().as_str()));
    let ids = match one_of(ID_WORDS) {
        Some(name) => Some(archive.array(name)?.texts()?),
        None => None,
    };
    if let Some(name) = one_of(names) {
        return Ok((archive.array(name)?, ids));
    }
    let mut found = None;
    for name in held.iter().filter(|name| !ID_WORDS.contains(&name.to_lowercase().as_str())).take(20) {
        let array = archive.array(name)?;
        if array.shape().len() == sides && found.replace(array).is_some() {
            found = None;
            break;
        }
    }
    let problem = || format!("which member is meant? call it `{}`; it holds {}", names[0], held.join(", "));
    Ok((found.ok_or_else(|| Error::file(archive.path(), problem()))?, ids))
}

fn dense(array: NpyArray) -> Result<Features> {
    let (rows, cols) = match *array.shape() {
        [rows, cols] if cols > 0 => (rows, cols),
        [rows] => (rows, 1),
        _ => return Err(array.error(format!("has the shape {:?}; expected nodes × features", array.shape())).into()),
    };
    let values = array.floats()?;
    if let Some(at) = values.iter().position(|value| !value.is_finite()) {
        let problem = format!("row {}, column {}: {} is not a finite number", at / cols, at % cols, values[at]);
        return Err(array.error(problem).into());
    }
    Ok(Features::from_matrix(Matrix::from_data(rows, cols, values)))
}

/// Rows of `(column, value)` in any order.
fn sparse(path: &Path, mut rows: Vec<Vec<(u32, f32)>>, cols: usize) -> Result<Features> {
    for (at, row) in rows.iter_mut().enumerate() {
        row.sort_unstable_by_key(|entry| entry.0);
        if let Some(twice) = row.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(Error::file(path, format!("row {at} has two values for feature {}", twice[0].0)));
        }
    }
    if cols == 0 || cols > MAX_FEATURES {
        return Err(Error::file(path, format!("{cols} features; expected 1 to {MAX_FEATURES}")));
    }
    Ok(Features::Sparse(SparseMatrix::from_rows(&rows, cols).into()))
}

fn table_features(path: &Path, columns: &NodeColumns, is_node: &dyn Fn(&str) -> bool) -> Result<NodeRows<Features>> {
    let (table, id, graph) = open(path, NO_FEATURES, columns, is_node)?;
    let mut notes: Vec<String> = table.header_note().into_iter().collect();
    let (rest, left_out) = others(&table, id, graph);
    notes.extend(left_out);
    if rest.is_empty() {
        return Err(table.first_error("has one column; expected an id and its features").into());
    }
    let named = |at: usize, words: &[&str]| {
        table.header.as_ref().is_some_and(|header| words.contains(&header[at].to_lowercase().as_str()))
    };
    if let [feature, value] = rest[..]
        && named(feature, FEATURE_WORDS)
        && named(value, VALUE_WORDS)
    {
        return triples(table, id, graph, feature, value, notes);
    }
    let names: Vec<usize> = [Some(id), graph].into_iter().flatten().collect();
    let mut read = table.read(&names, &rest)?;
    notes.append(&mut read.notes);
    let len = read.places.len();
    let width = read.width;
    // A column of lists is several features, and has one name for all of them.
    let columns = match &table.header {
        Some(header) if width == rest.len() => rest.iter().map(|&at| header[at].clone()).collect(),
        _ => Vec::new(),
    };
    let rows = Features::from_matrix(Matrix::from_data(len, width, std::mem::take(&mut read.numbers)));
    let mut names = read.names.into_iter();
    let (ids, graphs) = (names.next(), graph.and_then(|_| names.next()));
    if len == 0 {
        return Err(Error::file(path, NO_FEATURES));
    }
    let source = RowSource::Table(table, read.places);
    Ok(NodeRows { source, ids, graphs, len, rows, columns, gaps: false, notes })
}

/// The columns that are neither id nor graph, and a remark on those without a name.
fn others(table: &TableReader, id: usize, graph: Option<usize>) -> (Vec<usize>, Option<String>) {
    let nameless = table.nameless();
    let is_other = |&at: &usize| at != id && Some(at) != graph;
    let (left_out, rest): (Vec<usize>, Vec<usize>) =
        (0..table.width).filter(is_other).partition(|at| nameless.contains(at));
    let note =
        left_out.first().map(|at| format!("column {} of {} has no name and is not used", at + 1, table.path.display()));
    (rest, note)
}

/// Features that are mostly zero: `id, feature, value`. Features are numbered from zero, or named and then put in order.
fn triples(
    table: TableReader,
    id: usize,
    graph: Option<usize>,
    feature: usize,
    value: usize,
    mut notes: Vec<String>,
) -> Result<NodeRows<Features>> {
    let names: Vec<usize> = [Some(id), Some(feature), graph].into_iter().flatten().collect();
    let mut read = table.read(&names, &[value])?;
    notes.append(&mut read.notes);
    if read.places.is_empty() {
        return Err(Error::file(&table.path, "no rows; expected lines of an id, a feature and its value"));
    }
    let mut features = Interner::default();
    let of_values: Vec<u32> = read.names[1].iter().map(|name| features.number(name)).collect();
    let numbers: Option<Vec<usize>> = features.names().iter().map(column_number).collect();
    let mut sorted: Vec<u32> = (0..features.len() as u32).collect();
    sorted.sort_unstable_by_key(|&at| &features.names()[at as usize]);
    let (places, width, columns) = match numbers {
        Some(numbers) => {
            let width = numbers.iter().max().map_or(0, |largest| largest + 1);
            (numbers, width, Vec::new())
        }
        None => {
            let mut places = vec![0; sorted.len()];
            sorted.iter().enumerate().for_each(|(place, &at)| places[at as usize] = place);
            let columns = sorted.iter().map(|&at| features.names()[at as usize].to_string()).collect();
            (places, sorted.len(), columns)
        }
    };
    if width > MAX_FEATURES {
        let problem = format!("{width} features, if numbered from zero; expected at most {MAX_FEATURES}");
        return Err(Error::file(&table.path, problem));
    }
    // A row for each node, or for each node of each graph.
    let mut keys: HashMap<(&str, &str), usize> = HashMap::new();
    let mut rows: Vec<Vec<(u32, f32)>> = Vec::new();
    let mut firsts = Vec::new();
    for (at, &value) in read.numbers.iter().enumerate() {
        let key = (&read.names[0][at], read.names.get(2).map_or("", |graphs| &graphs[at]));
        let row = *keys.entry(key).or_insert_with(|| {
            rows.push(Vec::new());
            firsts.push(at);
            rows.len() - 1
        });
        rows[row].push((places[of_values[at] as usize] as u32, value));
    }
    for (row, &first) in rows.iter_mut().zip(&firsts) {
        row.sort_unstable_by_key(|entry| entry.0);
        if row.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            let node = &read.names[0][first];
            return Err(table
                .error(read.places[first], format!("node `{node}` has two values for one feature"))
                .into());
        }
    }
    let ids = firsts.iter().map(|&at| &read.names[0][at]).collect();
    let graphs = read.names.get(2).map(|graphs| firsts.iter().map(|&at| &graphs[at]).collect());
    let places = firsts.iter().map(|&at| read.places[at]).collect();
    notes.push(format!("features are sparse: {} values of {width} features", read.numbers.len()));
    let rows = sparse(&table.path, rows, width)?;
    let (len, source) = (rows.rows(), RowSource::Table(table, places));
    Ok(NodeRows { source, ids: Some(ids), graphs, len, rows, columns, gaps: true, notes })
}

fn column_number(name: &str) -> Option<usize> {
    whole_number(name.as_bytes()).and_then(|number| usize::try_from(number).ok())
}

/// Reads labels: `id, label`, or an array of integers, of which negative ones stand for no label. No label is an empty
/// text.
pub(crate) fn read_labels(
    path: &Path,
    columns: &NodeColumns,
    is_node: &dyn Fn(&str) -> bool,
) -> Result<NodeRows<Texts>> {
    let words = |array: NpyArray| -> Result<Texts> {
        if array.shape().len() != 1 {
            return Err(array.error(format!("has the shape {:?}; expected one label per node", array.shape())).into());
        }
        let labels = array.texts()?;
        Ok(labels.iter().map(|label| if label.starts_with('-') { "" } else { label }).collect())
    };
    match Format::of(path)? {
        Format::Npy => return array_rows(path, words(npy::open(path)?)?, None),
        Format::Npz => {
            let (array, ids) = member(&mut NpzArchive::open(path)?, LABEL_WORDS, 1)?;
            return array_rows(path, words(array)?, ids);
        }
        Format::MatrixMarket | Format::Json => {
            return Err(Error::file(path, "is no table of labels; expected lines of an id and its label, or an array"));
        }
        Format::Text | Format::Columnar => {}
    }
    let (table, id, graph) = open(path, NO_LABELS, columns, is_node)?;
    let (rest, left_out) = others(&table, id, graph);
    let label = match (&columns.label, &rest[..]) {
        (Some(name), _) => table.find(name)?,
        (None, &[only]) => only,
        (None, _) => table.worded(LABEL_WORDS).ok_or_else(|| {
            let problem = format!("{} columns; expected an id and its label, or the name of its column", table.width);
            Error::UnclearColumns { problem: table.first_error(problem).into(), columns: &["label"] }
        })?,
    };
    if label == id || Some(label) == graph {
        return Err(table.first_error(format!("column {} can't be two things at once", label + 1)).into());
    }
    let names: Vec<usize> = [Some(id), Some(label), graph].into_iter().flatten().collect();
    let read = table.read_with_gaps(&names, &[], Some(label))?;
    if read.places.is_empty() {
        return Err(Error::file(path, NO_LABELS));
    }
    let mut notes: Vec<String> = table.header_note().into_iter().chain(left_out).chain(read.notes).collect();
    let without = read.names[1].iter().filter(|label| label.is_empty()).count();
    if without > 0 {
        let (rows, have) = if without == 1 { ("row", "has") } else { ("rows", "have") };
        notes.push(format!("{without} {rows} of {} {have} no label", path.display()));
    }
    let mut names = read.names.into_iter();
    let (ids, rows, graphs) = (names.next(), names.next().unwrap_or_default(), names.next());
    let (len, source) = (read.places.len(), RowSource::Table(table, read.places));
    Ok(NodeRows { source, ids, graphs, len, rows, columns: Vec::new(), gaps: true, notes })
}
