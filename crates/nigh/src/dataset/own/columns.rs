//! A user's data in memory: columns of ids, weights, features and labels, as another program has them.

use super::graph_file::{EdgeList, GraphFile, ListedEdges};
use crate::dataset::{Dataset, Features, Ids};
use crate::error::{Error, GraphProblem, Result};
use crate::graph::{Edges, build, build_mentioned};
use nigh_formats::edges::{numbered, numbered_integers};
use nigh_formats::interner::Interner;
use nigh_formats::node_rows::{NodeRows, RowLabels, RowSource};
use nigh_formats::{Texts, memory};
use rayon::prelude::*;
use std::path::Path;

/// A graph in memory. What is wrong in it is named as a row of `edges`, `nodes`, `features` or `labels`.
#[derive(Debug, Default)]
pub struct GraphColumns<'a> {
    /// What the graph is called.
    pub name: String,
    /// One end of each edge.
    pub source: IdColumn<'a>,
    /// The other end.
    pub target: IdColumn<'a>,
    /// The weight of each edge.
    pub weights: Option<Vec<f32>>,
    /// Whether edges have a direction, if that is known.
    pub directed: Option<bool>,
    /// All nodes, also those without an edge, in the order of rows that have no ids.
    pub nodes: Option<IdColumn<'a>>,
    /// `F`.
    pub features: Option<FeatureRows<'a>>,
    /// The classes of nodes.
    pub labels: Option<LabelRows<'a>>,
}

/// Ids, a row each.
#[derive(Debug)]
pub enum IdColumn<'a> {
    /// `0`, `1`, ..., so many.
    Counted(usize),
    /// Integers.
    Integers(IntegerColumn<'a>),
    /// Any texts.
    Texts(Texts),
}

impl Default for IdColumn<'_> {
    fn default() -> Self {
        IdColumn::Counted(0)
    }
}

/// Every `step`th of these numbers, from the first on: a row or a column of a matrix.
#[derive(Debug, Clone, Copy)]
pub struct IntegerColumn<'a> {
    values: &'a [i64],
    step: usize,
}

impl<'a> IntegerColumn<'a> {
    /// # Panics
    ///
    /// If `step` is 0.
    pub fn new(values: &'a [i64], step: usize) -> IntegerColumn<'a> {
        assert!(step > 0, "a column goes on");
        IntegerColumn { values, step }
    }

    fn len(&self) -> usize {
        self.values.len().div_ceil(self.step)
    }

    #[inline]
    fn get(&self, row: usize) -> i64 {
        self.values[row * self.step]
    }

    fn iter(self) -> impl Iterator<Item = i64> + use<'a> {
        self.values.iter().step_by(self.step).copied()
    }
}

/// `F`, a row per node.
#[derive(Debug)]
pub struct FeatureRows<'a> {
    /// The node of each row; if none, row `i` is of node `i`.
    pub ids: Option<IdColumn<'a>>,
    /// The rows.
    pub rows: Features,
    /// The name of each feature, or no names.
    pub names: Vec<String>,
}

/// The labels of nodes.
#[derive(Debug)]
pub struct LabelRows<'a> {
    /// The node of each row; if none, row `i` is of node `i`.
    pub ids: Option<IdColumn<'a>>,
    /// The label of each row, of which an empty one is none.
    pub labels: Texts,
    /// Where the labels of each row start, and the end of the last, where a row may have several.
    pub starts: Option<Vec<u32>>,
}

impl Dataset {
    /// A graph in memory, with the order of nodes, the checks and the notes of one that is read from files.
    ///
    /// ```
    /// use nigh::dataset::{Dataset, GraphColumns, IdColumn, IntegerColumn};
    ///
    /// let edges = [7, 3, 3, -1];
    /// let column = |at: usize| IdColumn::Integers(IntegerColumn::new(&edges[at..], 2));
    /// let columns = GraphColumns { name: "mine".into(), source: column(0), target: column(1), ..GraphColumns::default() };
    /// let dataset = Dataset::from_columns(columns)?;
    /// assert_eq!(dataset.samples[0].ids.iter().collect::<Vec<_>>(), ["-1", "3", "7"]);
    /// # Ok::<(), nigh::Error>(())
    /// ```
    pub fn from_columns(columns: GraphColumns<'_>) -> Result<Dataset> {
        let GraphColumns { name, source, target, weights, directed, nodes, features, labels } = columns;
        let path = Path::new("edges");
        let (num_edges, num_targets) = (source.len(), target.len());
        if num_edges != num_targets {
            return Err(Error::file(path, format!("{num_edges} sources, but {num_targets} targets")));
        }
        if num_edges == 0 {
            return Err(Error::file(path, "no edges; message passing needs some"));
        }
        if let Some(weights) = &weights {
            if weights.len() != num_edges {
                return Err(Error::file(path, format!("{num_edges} edges, but {} weights", weights.len())));
            }
            if let Some(at) = weights.par_iter().position_first(|weight| !(weight.is_finite() && *weight > 0.0)) {
                let problem = format!("row {at}: weight {} is not a positive number", weights[at]);
                return Err(Error::weight(nigh_formats::Error::file(path, problem)));
            }
        }
        check_memory(num_edges, &nodes)?;
        let mut list = match (source, target) {
            (IdColumn::Integers(source), IdColumn::Integers(target)) => {
                let counted = match &nodes {
                    Some(IdColumn::Counted(count)) => Some(*count),
                    _ => None,
                };
                integer_edges(path, source, target, weights, counted)?
            }
            (source, target) => named_edges(path, source, target, weights)?,
        };
        list.directed = directed;
        let is_arranged = list.ordered;
        let listed = match nodes.filter(|_| !is_arranged) {
            Some(nodes) => Some(rows(Path::new("nodes"), Some(nodes), (), None, Vec::new())?),
            None => None,
        };
        let features = match features {
            Some(FeatureRows { ids, rows: features, names }) => {
                let path = Path::new("features");
                if let Features::Dense(matrix) = &features
                    && let Some(at) = matrix.data().iter().position(|value| !value.is_finite())
                {
                    let (row, column) = (at / matrix.cols(), at % matrix.cols());
                    let problem = format!("row {row}, column {column}: {} is not a finite number", matrix.data()[at]);
                    return Err(Error::file(path, problem));
                }
                let len = features.rows();
                Some(rows(path, ids, features, Some(len), names)?)
            }
            None => None,
        };
        let labels = match labels {
            Some(LabelRows { ids, labels, starts }) => {
                let labels = match starts {
                    None => labels.into(),
                    Some(starts) => RowLabels::from_starts(labels, starts, "lists"),
                };
                let len = labels.len();
                Some(rows(Path::new("labels"), ids, labels, Some(len), Vec::new())?)
            }
            None => None,
        };
        // An array of labels was chosen by handing it over.
        super::assemble(&name, path, GraphFile { list, features, labels }, listed, true)
    }
}

/// Refuses more nodes or edges than there is memory for.
fn check_memory(num_edges: usize, nodes: &Option<IdColumn<'_>>) -> Result<()> {
    let remedy = "edges in a graph file stay on disk, and nodes without an edge can be left out";
    let too_large = |problem| Error::too_large(problem, remedy);
    // Both ends of an edge, as they are sorted into rows and as they stay there.
    memory::check(20 * num_edges as u64, || format!("a graph of {num_edges} edges")).map_err(too_large)?;
    let Some(IdColumn::Counted(count)) = nodes else { return Ok(()) };
    if *count > Edges::LIMIT {
        return Err(GraphProblem::TooManyNodes { num_nodes: *count }.into());
    }
    // Where the rows start, their lengths, and what is known of each.
    memory::check(24 * *count as u64, || format!("a graph of {count} nodes")).map_err(too_large)
}

impl IdColumn<'_> {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            IdColumn::Counted(count) => *count,
            IdColumn::Integers(numbers) => numbers.len(),
            IdColumn::Texts(texts) => texts.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn into_texts(self) -> Texts {
        match self {
            IdColumn::Counted(count) => (0..count).map(|id| id.to_string()).collect(),
            IdColumn::Integers(numbers) => numbers.iter().map(|id| id.to_string()).collect(),
            IdColumn::Texts(texts) => texts,
        }
    }
}

/// Rows of nodes, named for what they hold.
fn rows<T>(
    path: &Path,
    ids: Option<IdColumn<'_>>,
    rows: T,
    len: Option<usize>,
    columns: Vec<String>,
) -> Result<NodeRows<T>> {
    let ids = ids.map(IdColumn::into_texts);
    let len = len.unwrap_or_else(|| ids.as_ref().map_or(0, Texts::len));
    if let Some(ids) = &ids {
        if ids.len() != len {
            return Err(Error::file(path, format!("{len} rows, but {} ids", ids.len())));
        }
        if let Some(at) = ids.iter().position(str::is_empty) {
            return Err(Error::file(path, format!("row {at}: the id is empty")));
        }
    }
    let source = RowSource::Array(path.to_path_buf());
    Ok(NodeRows { source, ids, graphs: None, len, rows, columns, gaps: false, notes: Vec::new() })
}

/// Edges between integers. Small ones go straight into the rows of the graph; with `counted` they are the numbers of so many
/// nodes.
fn integer_edges(
    path: &Path,
    source: IntegerColumn<'_>,
    target: IntegerColumn<'_>,
    weights: Option<Vec<f32>>,
    counted: Option<usize>,
) -> Result<EdgeList> {
    let num_edges = source.len();
    let share = num_edges.div_ceil(4 * rayon::current_num_threads()).max(1 << 14);
    let shares = || {
        let starts = (0..num_edges.div_ceil(share)).into_par_iter().map(|number| number * share);
        starts.map(|start| start..(start + share).min(num_edges))
    };
    let widest = |range: std::ops::Range<usize>| {
        range.fold((i64::MAX, i64::MIN), |(low, high), row| {
            let (a, b) = (source.get(row), target.get(row));
            (low.min(a).min(b), high.max(a).max(b))
        })
    };
    let (low, high) = shares().map(widest).reduce(|| (i64::MAX, i64::MIN), |a, b| (a.0.min(b.0), a.1.max(b.1)));
    if let Some(count) = counted
        && (low < 0 || high >= count as i64)
    {
        let is_outside = |id: i64| !(0..count as i64).contains(&id);
        let at = (0..num_edges).find(|&row| is_outside(source.get(row)) || is_outside(target.get(row)));
        let at = at.expect("an end is outside");
        let (a, b) = (source.get(at), target.get(at));
        let problem = format!("row {at}: ({a}, {b}) is not between nodes 0 to {}", count as i64 - 1);
        return Err(Error::file(path, problem));
    }
    // A table of all numbers up to the largest would be mostly holes.
    let is_dense = low >= 0 && high < Edges::LIMIT as i64 && high as usize <= 4 * num_edges + (1 << 20);
    if counted.is_none() && !is_dense {
        let edges = (0..num_edges).into_par_iter().map(|row| [source.get(row), target.get(row)]).collect();
        let (ids, edges) = numbered_integers(edges);
        let edges = ListedEdges::Pieces(vec![edges], weights.into_iter().collect());
        return Ok(EdgeList { ids, edges, ..EdgeList::default() });
    }
    let filled = |range: std::ops::Range<usize>| {
        let mut edges = Edges::new(weights.is_some());
        for row in range {
            let edge = [source.get(row) as u32, target.get(row) as u32];
            match &weights {
                None => edges.push(edge),
                Some(weights) => edges.push_weighted(edge, weights[row]),
            }
        }
        edges
    };
    let edges: Vec<Edges> = shares().map(filled).collect();
    drop(weights);
    Ok(match counted {
        Some(count) => {
            let (graph, cleaning) = build(count, edges)?;
            let edges = ListedEdges::Built(graph, cleaning);
            EdgeList { ids: Ids::Numbers(count), edges, ordered: true, ..EdgeList::default() }
        }
        None => {
            let (graph, cleaning, mentioned) = build_mentioned(edges)?;
            let ids = Ids::from_integers(mentioned.into_iter().map(i64::from).collect());
            EdgeList { ids, edges: ListedEdges::Built(graph, cleaning), ..EdgeList::default() }
        }
    })
}

/// Edges between names.
fn named_edges(path: &Path, source: IdColumn<'_>, target: IdColumn<'_>, weights: Option<Vec<f32>>) -> Result<EdgeList> {
    let (source, target) = (source.into_texts(), target.into_texts());
    let is_empty = |row: &usize| source[*row].is_empty() || target[*row].is_empty();
    if let Some(at) = (0..source.len()).find(is_empty) {
        return Err(Error::file(path, format!("row {at}: an id is empty")));
    }
    let mut names = Interner::default();
    let number = |(source, target): (&str, &str)| [names.number(source), names.number(target)];
    let mut edges: Vec<[u32; 2]> = source.iter().zip(target.iter()).map(number).collect();
    let numbered = numbered(path, names.into_names())?;
    if let Some(order) = numbered.order {
        edges.par_iter_mut().flatten().for_each(|end| *end = order[*end as usize]);
    }
    let edges = ListedEdges::Pieces(vec![edges], weights.into_iter().collect());
    let notes = numbered.note.into_iter().collect();
    Ok(EdgeList { ids: numbered.ids, edges, notes, ..EdgeList::default() })
}
