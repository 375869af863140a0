//! A user's files: edges in any of several formats, perhaps with features and labels.

mod columns;
mod export;
pub(super) mod graph_file;
mod nodes;
mod split_folder;

pub use self::columns::{FeatureRows, GraphColumns, IdColumn, IntegerColumn, LabelRows};
pub use nigh_formats::edges::{EdgeColumns, Pairs, WeightColumn, read_pairs};
pub use nigh_formats::node_rows::{LabelSeparator, NodeColumns};

use self::graph_file::{EdgeList, GraphFile, ListedEdges};
use self::nodes::{GraphLabels, NodeLabels, Nodes};
use super::{Dataset, Features, Ids, Sample, cleaning_notes, names};
use crate::display::{abbreviate, pluralize};
use crate::error::{Error, Result};
use crate::graph::Cleaning;
use nigh_formats::node_rows::{self, NodeRows};
use nigh_formats::{Texts, is_stdin};
use rayon::prelude::*;
use std::cell::LazyCell;
use std::path::{Path, PathBuf};

/// A user's files beside the edges, and which of their columns is what.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InputFiles {
    /// Which column of the table of edges is what.
    pub edge_columns: EdgeColumns,
    /// A file of ids: all nodes, also those without an edge, in the order of features that have no ids.
    pub nodes: Option<PathBuf>,
    /// A file of features.
    pub features: Option<PathBuf>,
    /// A file of labels.
    pub labels: Option<PathBuf>,
    /// Which column of these three is what.
    pub node_columns: NodeColumns,
    /// Columns of ids, where those of the three differ.
    pub id_columns: IdColumns,
}

/// The column of ids of each file of nodes, where it is not that of [`NodeColumns`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IdColumns {
    /// Of the list of nodes.
    pub nodes: Option<String>,
    /// Of the features.
    pub features: Option<String>,
    /// Of the labels.
    pub labels: Option<String>,
}

impl InputFiles {
    fn columns(&self, id: &Option<String>) -> NodeColumns {
        NodeColumns { id: id.clone().or_else(|| self.node_columns.id.clone()), ..self.node_columns.clone() }
    }
}

impl Dataset {
    /// Edges with optional features and labels: text, Parquet, Arrow, Matrix Market, METIS, NumPy's arrays, Matlab's matrices,
    /// GraphML, GEXF, node-link JSON. The path `-` is standard input.
    pub fn from_files(path: &Path, input: &InputFiles) -> Result<Dataset> {
        if !is_stdin(path) && !path.exists() {
            let names = names().join(", ");
            return Err(Error::file(path, format!("no such file; a graph is a file of edges or one of {names}")));
        }
        let mut file = graph_file::read(path, &input.edge_columns, None)?;
        // Only files of nodes are looked up in it, and for many names it takes time.
        let lookup = LazyCell::new(|| file.list.ids.lookup());
        let is_node = |name: &str| lookup.find(name).is_some();
        let ids = &input.id_columns;
        let read_ids = |path: &PathBuf| node_rows::read_ids(path, &input.columns(&ids.nodes), &is_node);
        let read_features = |path: &PathBuf| node_rows::read_features(path, &input.columns(&ids.features), &is_node);
        let read_labels = |path: &PathBuf| node_rows::read_labels(path, &input.columns(&ids.labels), &is_node);
        let listed = input.nodes.as_ref().map(read_ids).transpose()?;
        let features = input.features.as_ref().map(read_features).transpose()?;
        let labels = input.labels.as_ref().map(read_labels).transpose()?;
        drop(lookup);
        file.features = features.map(|rows| rows.map(Features::from)).or(file.features);
        file.labels = labels.or(file.labels);
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        assemble(&name, path, file, listed, input.node_columns.label.is_some())
    }
}

/// The dataset of a graph and what is known of its nodes. `listed` gives nodes an order; `path` is that of the edges, for
/// messages; `chosen` says whether the user named the labels.
fn assemble(name: &str, path: &Path, file: GraphFile, listed: Option<NodeRows<()>>, chosen: bool) -> Result<Dataset> {
    let GraphFile { mut list, features, labels } = file;
    let mut notes = std::mem::take(&mut list.notes);
    if let Some(rows) = features.as_ref().filter(|rows| rows.by_order() && listed.is_none()) {
        list.number_by_order(rows)?.into_iter().for_each(|note| notes.push(note));
    }
    let directed = list.directed;
    let (graph_names, mut parts) = list.into_parts();
    let ids = parts.iter_mut().map(|part| std::mem::take(&mut part.ids)).collect();
    let mut nodes = Nodes::new(ids, graph_names);
    if let Some(listed) = listed {
        notes.extend(listed.notes.iter().cloned());
        let places = nodes.arrange(&listed)?;
        parts.iter_mut().zip(places).for_each(|(part, places)| part.cleaned.add(part.edges.renumber(&places)));
    }

    let mut feature_names = Vec::new();
    let features = match features {
        Some(mut rows) => {
            notes.extend(rows.notes.iter().cloned());
            feature_names = std::mem::take(&mut rows.columns);
            let of_nodes = nodes.rows_of(&rows, true)?;
            Some(nodes.features(rows, of_nodes)?)
        }
        None => None,
    };
    if nodes.num_added() > 0 {
        notes.push(format!("{} with features but no edge: kept, isolated", pluralize(nodes.num_added(), "node")));
    }
    let (mut class_names, mut labels_of_graphs) = (Vec::new(), None);
    if let Some(rows) = labels {
        notes.extend(rows.notes.iter().cloned());
        let (of_nodes, repeats) = nodes.rows_and_repeats(&rows)?;
        let labels = nodes::labels_of_nodes(&rows, of_nodes, &repeats);
        let NodeLabels { class_names: names, graphs, notes: remarks } = labels;
        notes.extend(nodes::question_labels(&rows, &names, chosen)?);
        notes.extend(remarks);
        if names.is_empty() {
            return Err(Error::file(rows.path(), "no node has a label"));
        }
        (class_names, labels_of_graphs) = (names, Some(graphs));
    }

    notes.append(&mut nodes.notes);
    let mut names = nodes.ids.iter().filter_map(|ids| match ids {
        Ids::Names(names) => Some(names),
        _ => None,
    });
    if let Some(name) = names.find_map(|names| names.iter().find(|name| name.contains(['\n', '\r']))) {
        let problem = format!("node {name:?} has a line break in its id, which no table of lines can hold");
        return Err(Error::file(path, problem));
    }

    let mut cleaning = Cleaning::default();
    let mut samples = Vec::new();
    for (number, (part, ids)) in parts.into_iter().zip(nodes.ids).enumerate() {
        let n = ids.len();
        let (graph, cleaned) = part.edges.into_graph(n)?;
        cleaning.add(cleaned);
        cleaning.add(part.cleaned);
        samples.push(Sample {
            graph: graph.into(),
            features: features.as_ref().map_or(Features::Constant(n), |features| features[number].clone()),
            labels: match &labels_of_graphs {
                Some(GraphLabels::One(labels)) => Some(labels[number].clone()),
                _ => None,
            },
            label_sets: match &labels_of_graphs {
                Some(GraphLabels::Several(sets)) => Some(sets[number].clone()),
                _ => None,
            },
            ids: ids.into(),
            addresses: None,
        });
    }
    let mut dataset = Dataset { cleaning: Some(cleaning), ..Dataset::from_samples(name, samples, class_names)? };
    if dataset.num_edges() == 0 {
        return Err(Error::file(path, "no edge between two different nodes; message passing needs some"));
    }
    notes.extend(cleaning_notes(cleaning));
    notes.extend(direction(cleaning, dataset.num_edges(), directed));
    if let Some(graphs) = &nodes.graphs {
        notes.push(format!("{}: {}", pluralize(graphs.len(), "graph"), abbreviate(graphs.iter())));
        dataset.graph_names = graphs.iter().map(String::from).collect();
    }
    (dataset.notes, dataset.feature_names) = (notes, feature_names);
    Ok(dataset)
}

/// A remark that edges lose their direction, unless they have none.
pub(super) fn direction(cleaning: Cleaning, num_edges: usize, directed: Option<bool>) -> Option<String> {
    let one_way = num_edges - cleaning.both_ways;
    match (directed, cleaning.both_ways) {
        (Some(false), _) => None,
        _ if one_way == 0 => None,
        (None, 0) => Some("edges are taken in both directions".into()),
        (_, _) => Some(format!(
            "the graph is directed: {one_way} of {} have no way back; all are taken in both directions",
            pluralize(num_edges, "edge")
        )),
    }
}

/// One of the user's graphs.
struct OneGraph {
    ids: Ids,
    edges: ListedEdges,
    cleaned: Cleaning,
}

impl EdgeList {
    /// Gives every node the number of its row: ids below the number of rows are row numbers, other integers are taken in
    /// ascending order. Names have no order.
    fn number_by_order(&mut self, rows: &NodeRows<Features>) -> Result<Option<String>> {
        match &self.ids {
            Ids::Numbers(_) => {}
            _ if self.ordered => {}
            Ids::Integers(ids) if ids.iter().all(|id| (0..rows.len as i64).contains(id)) => {
                self.cleaned = self.edges.renumber(&ids.iter().map(|&id| id as u32).collect::<Vec<_>>());
                self.ids = Ids::Numbers(rows.len);
            }
            Ids::Integers(_) => {
                return Ok(Some("features have no ids; their rows are taken in the order of ascending ids".into()));
            }
            Ids::Names(_) => {
                return Err(Error::RowsWithoutIds { path: rows.path().to_path_buf() });
            }
        }
        Ok(None)
    }

    /// The graphs, and their names if there are several.
    fn into_parts(self) -> (Option<Texts>, Vec<OneGraph>) {
        let (names, of_edges, pieces, all_weights) = match (self.graphs, self.edges) {
            (Some((names, of_edges)), ListedEdges::Pieces(pieces, weights)) => (names, of_edges, pieces, weights),
            (_, edges) => return (None, vec![OneGraph { ids: self.ids, edges, cleaned: self.cleaned }]),
        };
        let mut edges = vec![Vec::new(); names.len()];
        let mut weights = vec![Vec::new(); names.len()];
        for (piece, graphs) in of_edges.iter().enumerate() {
            for (at, &graph) in graphs.iter().enumerate() {
                edges[graph as usize].push(pieces[piece][at]);
                weights[graph as usize].extend(all_weights.get(piece).map(|weights| weights[at]));
            }
        }
        let part = |(mut edges, weights): (Vec<[u32; 2]>, Vec<f32>)| {
            let mut nodes = edges.as_flattened().to_vec();
            nodes.sort_unstable();
            nodes.dedup();
            let number = |end: u32| nodes.binary_search(&end).expect("every end is listed") as u32;
            edges.iter_mut().flatten().for_each(|end| *end = number(*end));
            let weights = if weights.is_empty() { Vec::new() } else { vec![weights] };
            OneGraph {
                ids: self.ids.select(&nodes),
                edges: ListedEdges::Pieces(vec![edges], weights),
                cleaned: Cleaning::default(),
            }
        };
        let parts = edges.into_par_iter().zip(weights).map(part).collect();
        (Some(names), parts)
    }
}
