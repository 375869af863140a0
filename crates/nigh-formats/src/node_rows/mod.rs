//! What is known of nodes, a row for each: lists of ids, features and labels, in files of any format.

mod json_rows;
mod labels;

pub use self::labels::{LabelSeparator, RowLabels};

use crate::edges::arrays::{self, FEATURE_ARRAYS, LABEL_ARRAYS, MatrixArray};
use crate::error::{Error, Result};
use crate::ids::{whole_float, whole_number};
use crate::interner::Interner;
use crate::matrix_market;
use crate::npy::{self, NpyArray, NpzArchive};
use crate::table::TableReader;
use crate::{Format, Texts, scipy};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Which column of a table of nodes is what: by the name in its header, or counted from one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeColumns {
    /// Ids of nodes.
    pub id: Option<String>,
    /// Names of classes.
    pub label: Option<String>,
    /// What stands between several names of classes.
    pub label_separator: LabelSeparator,
    /// The graph to which a node belongs, where there are several.
    pub graph: Option<String>,
}

/// Something that is known of nodes, a row for each.
#[derive(Debug)]
pub struct NodeRows<T> {
    /// Where they come from.
    pub source: RowSource,
    /// The id of each row; none if row `i` is of node `i`.
    pub ids: Option<Texts>,
    /// The graph of each row, if the table says so.
    pub graphs: Option<Texts>,
    /// How many there are.
    pub len: usize,
    /// What is known.
    pub rows: T,
    /// The names of the columns, if they have any.
    pub columns: Vec<String>,
    /// Whether nodes without a row have zeros.
    pub gaps: bool,
    /// Remarks on what was read.
    pub notes: Vec<String>,
}

impl<T> NodeRows<T> {
    /// Whether row `i` is of node `i`.
    pub fn by_order(&self) -> bool {
        self.ids.is_none()
    }

    /// The same rows in another form.
    pub fn map<U>(self, form: impl FnOnce(T) -> U) -> NodeRows<U> {
        let NodeRows { source, ids, graphs, len, rows, columns, gaps, notes } = self;
        NodeRows { source, ids, graphs, len, rows: form(rows), columns, gaps, notes }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        self.source.path()
    }
}

/// Where rows come from, for messages.
#[derive(Debug)]
pub enum RowSource {
    /// The place of each row.
    Table(TableReader, Vec<usize>),
    /// An array, or an object.
    Array(PathBuf),
}

impl RowSource {
    /// Something wrong with a row.
    pub fn error(&self, row: usize, problem: impl Into<String>) -> Error {
        match self {
            RowSource::Table(table, places) => table.error(places[row], problem),
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

    /// The file.
    pub fn path(&self) -> &Path {
        match self {
            RowSource::Table(table, _) => &table.path,
            RowSource::Array(path) => path,
        }
    }
}

/// Features, a row per node.
#[derive(Debug, Clone, PartialEq)]
pub enum FeatureMatrix {
    /// Every value, row by row.
    Full {
        /// Number of rows.
        rows: usize,
        /// Number of features.
        cols: usize,
        /// One row after the other.
        values: Vec<f32>,
    },
    /// Values other than zero.
    Sparse {
        /// The number and the value of each feature of a row, ascending.
        rows: Vec<Vec<(u32, f32)>>,
        /// Number of features.
        cols: usize,
    },
}

impl FeatureMatrix {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self {
            FeatureMatrix::Full { rows, .. } => *rows,
            FeatureMatrix::Sparse { rows, .. } => rows.len(),
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
        let counted = columns.id.as_ref().and_then(|id| id.parse().ok()).filter(|id| (1..=first.len()).contains(id));
        let id = counted.map_or(0, |id: usize| id - 1);
        let mut others = (0..first.len()).filter(|&at| at != id);
        let worded = is_one_of(ID_WORDS, &first[id]) || first.iter().any(|field| is_one_of(SURE_ID_WORDS, field));
        let words = first.len() > 1 && !others.clone().any(|at| is_number(&first[at]));
        let second = second.filter(|second| second.len() == first.len());
        let over_numbers = second.is_some_and(|second| first.len() > 1 && others.all(|at| is_number(&second[at])));
        let over_node = !is_number(&first[id]) && second.is_some_and(|second| is_node(&second[id]));
        !is_node(&first[id]) && (worded || words && (over_numbers || over_node))
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
pub fn read_ids(path: &Path, columns: &NodeColumns, is_node: &dyn Fn(&str) -> bool) -> Result<NodeRows<()>> {
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
pub fn read_features(
    path: &Path,
    columns: &NodeColumns,
    is_node: &dyn Fn(&str) -> bool,
) -> Result<NodeRows<FeatureMatrix>> {
    match Format::of(path)? {
        Format::Npy => array_rows(path, dense(npy::open(path)?)?, None),
        Format::MatrixMarket => array_rows(path, MatrixArray::Sparse(matrix_market::open(path)?).features(path)?, None),
        Format::Npz => {
            let mut archive = NpzArchive::open(path)?;
            if scipy::is_sparse(&archive) {
                return array_rows(path, MatrixArray::Sparse(scipy::read(&mut archive)?).features(path)?, None);
            }
            if let Some(matrix) = arrays::npz_sparse_features(&mut archive)? {
                return array_rows(path, matrix.features(path)?, None);
            }
            let (array, ids) = member(&mut archive, FEATURE_ARRAYS, 2)?;
            array_rows(path, dense(array)?, ids)
        }
        Format::Matlab => array_rows(path, arrays::matlab_matrix(path, FEATURE_ARRAYS)?.features(path)?, None),
        Format::Json => json_rows::read_features(path),
        Format::Xml | Format::Metis | Format::Sections => {
            Err(Error::file(path, "is a graph; expected features as a table or an array"))
        }
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

/// Labels as whole numbers, if all are and some are written as `1.0`.
fn whole_labels(labels: &Texts) -> Option<Texts> {
    if !labels.iter().any(|label| whole_float(label).is_some()) {
        return None;
    }
    let whole = |label: &str| match label {
        "" => Some(String::new()),
        label => whole_number(label.as_bytes()).or_else(|| whole_float(label)).map(|number| number.to_string()),
    };
    labels.iter().map(whole).collect::<Option<Vec<String>>>().map(|labels| labels.iter().collect())
}

/// The names of the columns of an id and of a label in a header that says so without doubt.
pub(crate) fn id_and_label(header: &[String]) -> Option<[&String; 2]> {
    let find = |words: &[&str]| header.iter().find(|word| words.contains(&word.to_lowercase().as_str()));
    // The target of an edge is no label.
    let label = find(&["label", "labels", "class", "category", "group"])?;
    Some([find(SURE_ID_WORDS)?, label])
}

/// Something with a number of rows.
trait RowCount {
    fn count(&self) -> usize;
}

impl RowCount for FeatureMatrix {
    fn count(&self) -> usize {
        self.rows()
    }
}

impl RowCount for RowLabels {
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

fn dense(array: NpyArray) -> Result<FeatureMatrix> {
    let (rows, cols) = match *array.shape() {
        [rows, cols] if cols > 0 => (rows, cols),
        [rows] => (rows, 1),
        _ => return Err(array.error(format!("has the shape {:?}; expected nodes × features", array.shape()))),
    };
    let values = array.floats()?;
    if let Some(at) = values.iter().position(|value| !value.is_finite()) {
        let problem = format!("row {}, column {}: {} is not a finite number", at / cols, at % cols, values[at]);
        return Err(array.error(problem));
    }
    Ok(FeatureMatrix::Full { rows, cols, values })
}

/// Rows of `(column, value)` in any order.
pub(crate) fn sparse(path: &Path, mut rows: Vec<Vec<(u32, f32)>>, cols: usize) -> Result<FeatureMatrix> {
    for (at, row) in rows.iter_mut().enumerate() {
        row.sort_unstable_by_key(|entry| entry.0);
        if let Some(twice) = row.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(Error::file(path, format!("row {at} has two values for feature {}", twice[0].0)));
        }
    }
    if cols == 0 || cols > MAX_FEATURES {
        return Err(Error::file(path, format!("{cols} features; expected 1 to {MAX_FEATURES}")));
    }
    Ok(FeatureMatrix::Sparse { rows, cols })
}

fn table_features(
    path: &Path,
    columns: &NodeColumns,
    is_node: &dyn Fn(&str) -> bool,
) -> Result<NodeRows<FeatureMatrix>> {
    let (table, id, graph) = open(path, NO_FEATURES, columns, is_node)?;
    let mut notes: Vec<String> = table.header_note().into_iter().collect();
    let (rest, left_out) = others(&table, id, graph);
    notes.extend(left_out);
    if rest.is_empty() {
        return Err(table.first_error("has one column; expected an id and its features"));
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
    let values = std::mem::take(&mut read.numbers);
    if len == 0 {
        return Err(Error::file(path, NO_FEATURES));
    }
    if let [only] = rest[..]
        && table.worded(SURE_ID_WORDS).is_none()
        && are_edges(&read.names[0], &values, is_node)
    {
        let problem = format!(
            "columns {} and {} both have ids, like edges: are the graph and its features swapped?",
            id + 1,
            only + 1
        );
        return Err(table.first_error(problem));
    }
    let rows = FeatureMatrix::Full { rows: len, cols: width, values };
    let mut names = read.names.into_iter();
    let (ids, graphs) = (names.next(), graph.and_then(|_| names.next()));
    let source = RowSource::Table(table, read.places);
    Ok(NodeRows { source, ids, graphs, len, rows, columns, gaps: false, notes })
}

/// Whether ids repeat, and the only number beside each is the id of a node as well.
fn are_edges(ids: &Texts, values: &[f32], is_node: &dyn Fn(&str) -> bool) -> bool {
    // Most features fail at the first value.
    values.iter().all(|value| is_node(&value.to_string())) && ids.iter().collect::<HashSet<&str>>().len() < ids.len()
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
) -> Result<NodeRows<FeatureMatrix>> {
    let names: Vec<usize> = [Some(id), Some(feature), graph].into_iter().flatten().collect();
    let mut read = table.read(&names, &[value])?;
    notes.append(&mut read.notes);
    if read.places.is_empty() {
        return Err(Error::file(&table.path, "no rows; expected lines of an id, a feature and its value"));
    }
    let (places, width, columns) = column_places(&table.path, read.names[1].iter())?;
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
        rows[row].push((places[at] as u32, value));
    }
    for (row, &first) in rows.iter_mut().zip(&firsts) {
        row.sort_unstable_by_key(|entry| entry.0);
        if row.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            let node = &read.names[0][first];
            return Err(table.error(read.places[first], format!("node `{node}` has two values for one feature")));
        }
    }
    let ids = firsts.iter().map(|&at| &read.names[0][at]).collect();
    let graphs = read.names.get(2).map(|graphs| firsts.iter().map(|&at| &graphs[at]).collect());
    let places_of_rows = firsts.iter().map(|&at| read.places[at]).collect();
    notes.push(format!("features are sparse: {} values of {width} features", read.numbers.len()));
    let rows = sparse(&table.path, rows, width)?;
    let (len, source) = (rows.rows(), RowSource::Table(table, places_of_rows));
    Ok(NodeRows { source, ids: Some(ids), graphs, len, rows, columns, gaps: true, notes })
}

/// The column of each feature that is named, the number of columns, and their names unless they are numbers from zero.
pub(super) fn column_places<'a>(
    path: &Path,
    named: impl Iterator<Item = &'a str>,
) -> Result<(Vec<usize>, usize, Vec<String>)> {
    let mut features = Interner::default();
    let of_values: Vec<u32> = named.map(|name| features.number(name)).collect();
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
        return Err(Error::file(path, problem));
    }
    Ok((of_values.into_iter().map(|feature| places[feature as usize]).collect(), width, columns))
}

fn column_number(name: &str) -> Option<usize> {
    whole_number(name.as_bytes()).and_then(|number| usize::try_from(number).ok())
}

/// Reads labels: `id, label`, where the label may be a list; `id, class, class, ...` of zeros and ones; or an array of integers, of
/// which negative ones stand for no label. No label is an empty text.
pub fn read_labels(path: &Path, columns: &NodeColumns, is_node: &dyn Fn(&str) -> bool) -> Result<NodeRows<RowLabels>> {
    match Format::of(path)? {
        Format::Npy => return array_rows(path, arrays::npy_labels(path, &npy::open(path)?)?, None),
        Format::Npz => {
            let mut archive = NpzArchive::open(path)?;
            if scipy::is_sparse(&archive) {
                let matrix = MatrixArray::Sparse(scipy::read(&mut archive)?);
                return array_rows(path, matrix.labels(path)?, None);
            }
            let chosen = columns.label.as_deref().map(|label| [label]);
            let names = chosen.as_ref().map_or(LABEL_ARRAYS, |chosen| &chosen[..]);
            let (array, ids) = member(&mut archive, names, 1)?;
            return array_rows(path, arrays::npy_labels(path, &array)?, ids);
        }
        Format::Matlab => return array_rows(path, arrays::matlab_labels(path)?, None),
        Format::Json => return json_rows::read_labels(path),
        Format::MatrixMarket => {
            return array_rows(path, MatrixArray::Sparse(matrix_market::open(path)?).labels(path)?, None);
        }
        Format::Xml | Format::Metis | Format::Sections => {
            return Err(Error::file(path, "is no table of labels; expected lines of an id and its label, or an array"));
        }
        Format::Text | Format::Columnar => {}
    }
    let (table, id, graph) = open(path, NO_LABELS, columns, is_node)?;
    let (rest, left_out) = others(&table, id, graph);
    let label = match (&columns.label, &rest[..]) {
        (Some(name), _) => table.find(name)?,
        (None, &[only]) => only,
        (None, _) => match table.worded(LABEL_WORDS) {
            Some(label) => label,
            None => return indicator_columns(table, id, graph, rest, left_out),
        },
    };
    if label == id || Some(label) == graph {
        return Err(table.first_error(format!("column {} can't be two things at once", label + 1)));
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
    let (ids, cells, graphs) = (names.next(), names.next().unwrap_or_default(), names.next());
    let count = cells.len();
    let has_repeats = || {
        let mut seen = HashSet::new();
        let key = |row: usize| (ids.as_ref().map(|ids| &ids[row]), graphs.as_ref().map(|graphs| &graphs[row]));
        (0..count).any(|row| !seen.insert(key(row)))
    };
    let (mut rows, note) = RowLabels::from_cells(path, cells, &columns.label_separator, has_repeats);
    notes.extend(note);
    if let Some(whole) = whole_labels(&rows.names) {
        rows = rows.renamed(whole);
        notes.push(format!("labels such as `1.0` in {} were read as whole numbers", path.display()));
    }
    let (len, source) = (read.places.len(), RowSource::Table(table, read.places));
    Ok(NodeRows { source, ids, graphs, len, rows, columns: Vec::new(), gaps: true, notes })
}

/// Labels with a column per class, which has a one for every node of this class.
fn indicator_columns(
    table: TableReader,
    id: usize,
    graph: Option<usize>,
    classes: Vec<usize>,
    left_out: Option<String>,
) -> Result<NodeRows<RowLabels>> {
    let unclear = |problem: String| {
        let expected = "expected an id and its label, the name of its column, or a column of 0 and 1 per class";
        let problem = table.first_error(format!("{} columns; {expected}{problem}", table.width)).into();
        Error::UnclearColumns { problem, columns: &["label"] }
    };
    if classes.is_empty() {
        return Err(unclear(String::new()));
    }
    let names: Vec<usize> = [Some(id), graph].into_iter().flatten().collect();
    let read = table.read(&names, &classes).map_err(|error| unclear(format!(" ({error})")))?;
    if read.width != classes.len() || read.places.is_empty() {
        return Err(unclear(String::new()));
    }
    if let Some(at) = read.numbers.iter().position(|value| *value != 0.0 && *value != 1.0) {
        let problem = format!(
            "column {} has {}; expected 0 or 1, since there is a column per class and none of labels",
            classes[at % classes.len()] + 1,
            read.numbers[at]
        );
        let problem = table.error(read.places[at / classes.len()], problem).into();
        return Err(Error::UnclearColumns { problem, columns: &["label"] });
    }
    let class_names: Vec<String> = match &table.header {
        Some(header) => classes.iter().map(|&at| header[at].clone()).collect(),
        None => (0..classes.len()).map(|class| class.to_string()).collect(),
    };
    let ones = |row: &[f32]| -> Vec<&str> {
        row.iter().zip(&class_names).filter(|(value, _)| **value == 1.0).map(|(_, name)| name.as_str()).collect()
    };
    let rows = RowLabels::several(read.numbers.chunks_exact(classes.len()).map(ones), "columns of 0 and 1");
    let notes = table.header_note().into_iter().chain(left_out).chain(read.notes).collect();
    let mut names = read.names.into_iter();
    let (ids, graphs) = (names.next(), graph.and_then(|_| names.next()));
    let (len, source) = (read.places.len(), RowSource::Table(table, read.places));
    Ok(NodeRows { source, ids, graphs, len, rows, columns: Vec::new(), gaps: true, notes })
}
