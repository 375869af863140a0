//! Which column of a table of edges is what.

use super::shape;
use crate::error::{Error, Parsed, Result};
use crate::table::find_column;
use crate::text_table::attribute;
use std::path::Path;

/// Which column of a table of edges is what: by the name in its header, or counted from one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EdgeColumns {
    /// Ids of one end.
    pub source: Option<String>,
    /// Ids of the other end.
    pub target: Option<String>,
    /// Positive numbers.
    pub weight: WeightColumn,
    /// The graph to which an edge belongs, where there are several.
    pub graph: Option<String>,
}

/// Where the weights of edges are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum WeightColumn {
    /// In the column or attribute that is called so, or in the entries of a matrix. A note tells.
    #[default]
    Auto,
    /// Nowhere: edges are all alike.
    None,
    /// In this column or attribute: by name, or counted from one.
    Column(String),
}

impl WeightColumn {
    /// The name of an attribute, where edges have attributes instead of columns.
    pub(crate) fn attribute(&self) -> Option<&str> {
        match self {
            WeightColumn::Auto => Some("weight"),
            WeightColumn::None => None,
            WeightColumn::Column(name) => Some(name),
        }
    }
}

/// `none` for no weights, or the name or number of a column.
impl From<&str> for WeightColumn {
    fn from(text: &str) -> WeightColumn {
        if text == "none" { WeightColumn::None } else { WeightColumn::Column(text.to_string()) }
    }
}

/// Which column is what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EdgeLayout {
    pub source: usize,
    pub target: usize,
    pub weight: Option<usize>,
    pub graph: Option<usize>,
    pub width: usize,
    /// Whether lines end with a dictionary, and its key that is the weight.
    pub attributes: Option<Option<String>>,
}

/// The header or the first line of a table, for messages.
#[derive(Debug, Clone, Copy)]
pub(super) struct TablePlace<'a> {
    pub path: &'a Path,
    /// The first line, if it has lines.
    pub line: Option<usize>,
}

impl TablePlace<'_> {
    fn error(self, problem: impl Into<String>) -> Error {
        match self.line {
            Some(line) => Error::line(self.path, line, problem),
            None => Error::file(self.path, problem),
        }
    }
}

impl EdgeLayout {
    /// From the settings of the user, the header and the number of columns.
    pub(super) fn new(
        place: TablePlace<'_>,
        columns: &EdgeColumns,
        header: Option<&[String]>,
        width: usize,
    ) -> Result<(EdgeLayout, Vec<String>)> {
        let find = |name: &String| find_column(name, header, width).map(Some).map_err(|problem| place.error(problem));
        let worded = |words: &[&str]| {
            header.and_then(|header| header.iter().position(|word| words.contains(&word.to_lowercase().as_str())))
        };
        let named = |name: &Option<String>, words: &[&str]| match name {
            Some(name) => find(name),
            None => Ok(worded(words)),
        };
        let (source, target) = (named(&columns.source, SOURCE_WORDS)?, named(&columns.target, TARGET_WORDS)?);
        let weight = match &columns.weight {
            WeightColumn::Auto => worded(WEIGHT_WORDS),
            WeightColumn::None => None,
            WeightColumn::Column(name) => find(name)?,
        };
        let graph = named(&columns.graph, &["graph", "graph_id", "graph_indicator"])?;
        if let (Some(header), None, None) = (header, source, target)
            && let Some(problem) = shape::labels_problem(header)
        {
            let columns = &["source", "target"];
            return Err(Error::UnclearColumns { problem: place.error(problem).into(), columns });
        }
        let few = width <= 3 + usize::from(graph.is_some());
        let (source, target) = match (source, target) {
            (Some(source), Some(target)) => (source, target),
            _ if !few => {
                let problem = format!(
                    "{width} columns; expected source, target and at most a weight, or the names of these columns"
                );
                let columns = &["source", "target", "weight"];
                return Err(Error::UnclearColumns { problem: place.error(problem).into(), columns });
            }
            (source, target) => {
                let taken = [source, target, weight, graph];
                let mut free = (0..width).filter(|at| !taken.contains(&Some(*at)));
                let mut next = |end: Option<usize>| end.or_else(|| free.next());
                match (next(source), next(target)) {
                    (Some(source), Some(target)) => (source, target),
                    _ => return Err(place.error(format!("{width} columns; an edge needs two ids"))),
                }
            }
        };
        let mut notes = Vec::new();
        let rest: Vec<usize> =
            (0..width).filter(|at| ![Some(source), Some(target), weight, graph].contains(&Some(*at))).collect();
        let is_open = columns.weight == WeightColumn::Auto;
        match (header, &rest[..]) {
            (None, &[third]) if is_open && columns.source.is_none() && columns.target.is_none() => notes.push(format!(
                "column {} of {} has no name and is not used; it can be named as the weight",
                third + 1,
                place.path.display()
            )),
            (Some(header), [_, ..]) => {
                let words: Vec<String> = rest.iter().map(|&at| format!("`{}`", header[at])).collect();
                let hint = if weight.is_none() && is_open { "; one can be named as the weight" } else { "" };
                notes.push(format!("not used: {}{hint}", counted_columns(&words)));
            }
            _ => {}
        }
        if let (Some(header), Some(weight), true) = (header, weight, is_open) {
            notes.push(format!("weights are in column `{}`; they can be left out", header[weight]));
        }
        let used = [Some(source), Some(target), weight, graph];
        let twice = (0..4).find(|&at| used[at].is_some() && used[..at].contains(&used[at]));
        if let Some(column) = twice.and_then(|at| used[at]) {
            return Err(place.error(format!("column {} can't be two things at once", column + 1)));
        }
        Ok((EdgeLayout { source, target, weight, graph, width, attributes: None }, notes))
    }
}

impl EdgeLayout {
    /// Of lines that end with a dictionary, the first with this one.
    pub(super) fn with_attributes(
        path: &Path,
        columns: &EdgeColumns,
        dictionary: &str,
    ) -> Parsed<(EdgeLayout, Vec<String>)> {
        let mut notes = Vec::new();
        let is_open = columns.weight == WeightColumn::Auto;
        let mut key = None;
        if let Some(name) = columns.weight.attribute() {
            match (attribute(dictionary, name)?, is_open) {
                (None, true) if dictionary.trim() == "{}" => {}
                (None, true) => notes.push(format!(
                    "attributes of the edges of {} are not used; one can be named as the weight",
                    path.display()
                )),
                (None, false) => return Err(format!("`{dictionary}` has no `{name}`")),
                (Some(_), _) => {
                    key = Some(name.to_string());
                    notes.extend(is_open.then(|| format!("weights are `{name}` of the edges; they can be left out")));
                }
            }
        }
        let attributes = Some(key);
        Ok((EdgeLayout { source: 0, target: 1, weight: None, graph: None, width: 2, attributes }, notes))
    }

    /// Whether edges have weights.
    pub fn is_weighted(&self) -> bool {
        self.weight.is_some() || self.attributes.as_ref().is_some_and(Option::is_some)
    }

    /// Whether there is nothing but source, target and perhaps a weight, in this order.
    pub fn is_plain(&self) -> bool {
        let ends = self.source == 0 && self.target == 1 && self.graph.is_none() && self.attributes.is_none();
        ends && self.weight.is_none_or(|at| at == 2) && self.width == 2 + usize::from(self.weight.is_some())
    }
}

fn counted_columns(words: &[String]) -> String {
    format!("{} {}", if words.len() == 1 { "column" } else { "columns" }, words.join(", "))
}

const WEIGHT_WORDS: &[&str] = &["weight", "weights", "w"];

const SOURCE_WORDS: &[&str] =
    &["source", "src", "from", "source_id", "node1", "node_1", "id1", "id_1", "u", "head", "from_id", "fromnodeid"];

const TARGET_WORDS: &[&str] = &[
    "target",
    "dst",
    "to",
    "target_id",
    "node2",
    "node_2",
    "id2",
    "id_2",
    "v",
    "tail",
    "to_id",
    "tonodeid",
    "neighbour",
    "neighbor",
    "destination",
];

/// The columns that a header calls source and target.
pub(super) fn named_ends(header: &[String]) -> [Option<usize>; 2] {
    [SOURCE_WORDS, TARGET_WORDS]
        .map(|words| header.iter().position(|word| words.contains(&word.to_lowercase().as_str())))
}

/// Whether a first line is a header, judged by itself and by the second line.
pub(super) fn is_header(first: &[String], second: Option<&[String]>, columns: &EdgeColumns) -> bool {
    let weight = match &columns.weight {
        WeightColumn::Column(name) => Some(name),
        _ => None,
    };
    let given = [columns.source.as_ref(), columns.target.as_ref(), weight, columns.graph.as_ref()];
    let named = |field: &String| given.into_iter().flatten().any(|name| name.eq_ignore_ascii_case(field));
    let is_number = |field: &String| field.parse::<f64>().is_ok();
    if first.iter().any(|field| named(field) && !is_number(field)) {
        return true;
    }
    let worded = |words: &[&str]| first.iter().any(|field| words.contains(&field.to_lowercase().as_str()));
    if (worded(SOURCE_WORDS) && worded(TARGET_WORDS)) || shape::labels_problem(first).is_some() {
        return true;
    }
    // Words above numbers.
    let Some(second) = second.filter(|second| first.len() > 1 && second.len() == first.len()) else { return false };
    let over = |at: usize| !is_number(&first[at]) && is_number(&second[at]);
    (over(0) && over(1)) || (2..first.len()).any(over)
}
