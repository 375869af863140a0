//! A file with a graph in it, in any format, perhaps with features and labels of its nodes.

use crate::dataset::stored::GraphStore;
use crate::dataset::{Features, Ids};
use crate::error::{Error, Result};
use crate::graph::{Cleaning, Edges, Graph, Spill, build, build_mentioned};
use crate::linalg::{Matrix, SparseMatrix};
use crate::threads;
use nigh_formats::edges::{self, EdgeColumns, EdgeFile, EdgeSink, LESS, Sinks};
use nigh_formats::node_rows::{FeatureMatrix, NodeRows, RowLabels};
use nigh_formats::{Format, Texts, memory};
use rayon::prelude::*;
use std::path::Path;

/// What a file holds.
#[derive(Debug, Default)]
pub(crate) struct GraphFile {
    pub list: EdgeList,
    pub features: Option<NodeRows<Features>>,
    pub labels: Option<NodeRows<RowLabels>>,
}

/// The content of an edge list, whose edges are on the way to a graph.
#[derive(Debug, Default)]
pub(crate) struct EdgeList {
    /// Of every node: integers and names ascend, so that the order of lines is of no consequence.
    pub ids: Ids,
    pub edges: ListedEdges,
    /// What was cleaned so far.
    pub cleaned: Cleaning,
    /// Names of graphs, and the number of one per edge, if there are several.
    pub graphs: Option<(Texts, Vec<Vec<u32>>)>,
    /// Whether the file lists its nodes, which gives them an order.
    pub ordered: bool,
    /// Whether edges have a direction, if the file says so.
    pub directed: Option<bool>,
    /// Whether ids such as `7.0` were read as whole numbers.
    pub respelled: bool,
    pub notes: Vec<String>,
}

/// Edges that were read.
#[derive(Debug)]
pub(crate) enum ListedEdges {
    /// In pieces, as they were read; with a weight per edge, or without any.
    Pieces(Vec<Vec<[u32; 2]>>, Vec<Vec<f32>>),
    /// As a graph.
    Built(Graph, Cleaning),
    /// Between numbers as they were read, in buckets, to be built piece by piece.
    Bucketed(Vec<Edges>),
}

impl Default for ListedEdges {
    fn default() -> ListedEdges {
        ListedEdges::Pieces(Vec::new(), Vec::new())
    }
}

impl From<edges::EdgeList> for EdgeList {
    fn from(list: edges::EdgeList) -> EdgeList {
        let edges::EdgeList { ids, edges, weights, graphs, ordered, directed, respelled, notes } = list;
        let edges = ListedEdges::Pieces(edges, weights);
        EdgeList { ids, edges, graphs, ordered, directed, respelled, notes, ..EdgeList::default() }
    }
}

impl ListedEdges {
    /// Renumbers the nodes. Returns what was cleaned so far.
    pub fn renumber(&mut self, places: &[u32]) -> Cleaning {
        let mut cleaned = Cleaning::default();
        if let ListedEdges::Built(graph, cleaning) = self {
            let weights = if graph.is_weighted() { vec![graph.edge_weights()] } else { Vec::new() };
            cleaned = *cleaning;
            *self = ListedEdges::Pieces(vec![graph.edges().collect()], weights);
        }
        if let ListedEdges::Pieces(pieces, _) = self {
            pieces.par_iter_mut().flatten().flatten().for_each(|end| *end = places[*end as usize]);
        }
        cleaned
    }

    /// The graph on this many nodes, of which the last may have no edge.
    pub fn into_graph(self, num_nodes: usize) -> Result<(Graph, Cleaning)> {
        let (pieces, weights) = match self {
            ListedEdges::Built(graph, cleaning) => return Ok((graph.with_nodes(num_nodes), cleaning)),
            ListedEdges::Bucketed(edges) => return build(num_nodes, edges),
            ListedEdges::Pieces(pieces, weights) => (pieces, weights),
        };
        let weighted = !weights.is_empty();
        let num_edges: usize = pieces.iter().map(Vec::len).sum();
        // Both ends of an edge, sorted into rows and in the rows; with a weight in each.
        let bytes = num_edges as u64 * if weighted { 36 } else { 20 };
        memory::check(bytes, || format!("a graph of {num_edges} edges, beside their list,"))
            .map_err(|problem| Error::too_large(problem, LESS))?;
        let share = pieces.len().div_ceil(rayon::current_num_threads()).max(1);
        let shared = |number: usize| {
            let mut edges = Edges::new(weighted);
            for (at, piece) in pieces.iter().enumerate().skip(number * share).take(share) {
                threads::check();
                match weights.get(at) {
                    None => piece.iter().for_each(|&edge| edges.push(edge)),
                    Some(weights) => piece.iter().zip(weights).for_each(|(&edge, &w)| edges.push_weighted(edge, w)),
                }
            }
            edges
        };
        let edges = (0..pieces.len().div_ceil(share)).into_par_iter().map(shared).collect();
        drop((pieces, weights));
        build(num_nodes, edges)
    }
}

impl EdgeSink for Edges {
    const LIMIT: usize = Edges::LIMIT;

    #[inline(always)]
    fn push(&mut self, edge: [u32; 2]) {
        self.push(edge);
    }

    #[inline(always)]
    fn push_weighted(&mut self, edge: [u32; 2], weight: f32) {
        self.push_weighted(edge, weight);
    }

    fn span(&self) -> usize {
        self.span()
    }

    /// Both ends of an edge in a bucket, then in the rows of a graph; with a weight in each.
    fn bytes_per_edge(weighted: bool) -> [u64; 2] {
        if weighted { [20, 16] } else { [12, 8] }
    }
}

impl From<FeatureMatrix> for Features {
    fn from(matrix: FeatureMatrix) -> Features {
        match matrix {
            FeatureMatrix::Full { rows, cols, values } => Features::from_matrix(Matrix::from_data(rows, cols, values)),
            FeatureMatrix::Sparse { rows, cols } => Features::Sparse(SparseMatrix::from_rows(&rows, cols).into()),
        }
    }
}

/// Reads a graph from a file of any format. With a place for them, edges between integers stay in buckets, and beyond a limit in
/// a file.
pub(crate) fn read(path: &Path, columns: &EdgeColumns, spill: Option<&Spill>) -> Result<GraphFile> {
    let format = Format::of(path)?;
    if format == Format::Sections {
        let list = GraphStore::open(path)?.into_list(&columns.weight)?;
        return Ok(GraphFile { list, ..GraphFile::default() });
    }
    let sinks = Sinks { make: |weighted| Edges::spilling(weighted, spill), are_limited: spill.is_some() };
    let EdgeFile { list, numbered, features, labels } = edges::read(path, format, columns, sinks)?;
    let mut list = EdgeList::from(list);
    match numbered {
        Some(edges) if spill.is_some() => list.edges = ListedEdges::Bucketed(edges),
        Some(edges) => {
            let (graph, cleaning, mentioned) = build_mentioned(edges)?;
            list.ids = Ids::from_integers(mentioned.into_iter().map(i64::from).collect());
            list.edges = ListedEdges::Built(graph, cleaning);
        }
        None => {}
    }
    Ok(GraphFile { list, features: features.map(|rows| rows.map(Features::from)), labels })
}
