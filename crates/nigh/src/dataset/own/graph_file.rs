//! A file with a graph in it, in any format, perhaps with features and labels of its nodes.

use super::arrays;
use super::edge_list::{self, EdgeColumns, EdgeList, ListedEdges, WeightColumn};
use super::links::Links;
use super::node_files::NodeRows;
use super::node_link;
use super::row_labels::RowLabels;
use crate::dataset::stored::GraphStore;
use crate::dataset::{Features, Ids};
use crate::error::{Error, Result};
use crate::graph::Spill;
use nigh_formats::matrix_market::{self, SparseEntries};
use nigh_formats::{Format, graph_xml, metis};
use std::path::Path;

/// What a file holds.
#[derive(Debug, Default)]
pub(crate) struct GraphFile {
    pub list: EdgeList,
    pub features: Option<NodeRows<Features>>,
    pub labels: Option<NodeRows<RowLabels>>,
}

impl From<EdgeList> for GraphFile {
    fn from(list: EdgeList) -> GraphFile {
        GraphFile { list, ..GraphFile::default() }
    }
}

/// Reads a graph from a file of any format. With a place for them, edges between integers stay in buckets, and beyond a limit in
/// a file.
pub(crate) fn read(path: &Path, columns: &EdgeColumns, spill: Option<&Spill>) -> Result<GraphFile> {
    let weight = &columns.weight;
    Ok(match Format::of(path)? {
        Format::Text => edge_list::read(path, columns, spill)?.into(),
        Format::Columnar => edge_list::read_columnar(path, columns, spill)?.into(),
        Format::Sections => GraphStore::open(path)?.into_list(weight)?.into(),
        Format::MatrixMarket => adjacency(path, matrix_market::open(path)?, weight)?.into(),
        Format::Metis => adjacency(path, metis::open(path)?, weight)?.into(),
        Format::Npz => arrays::read_npz(path, weight)?,
        Format::Npy => arrays::read_npy(path, weight)?.into(),
        Format::Matlab => arrays::read_matlab(path, weight)?,
        Format::Xml => Links::from_xml(path, graph_xml::open(path, weight.attribute())?, weight)?.into_list().into(),
        Format::Json => node_link::read(path, weight)?.into_list().into(),
    })
}

/// The graph whose adjacency matrix this is. Ones are no weights, and a zero is no edge.
pub(super) fn adjacency(path: &Path, matrix: SparseEntries, weight: &WeightColumn) -> Result<EdgeList> {
    let (rows, cols) = (matrix.rows, matrix.cols);
    if rows != cols {
        return Err(Error::file(path, format!("is {rows} × {cols}; the adjacency matrix of a graph is square")));
    }
    if let WeightColumn::Column(name) = weight {
        let problem = format!("is a matrix, whose entries are the weights; there is no column `{name}`");
        return Err(Error::file(path, problem));
    }
    let mut list = EdgeList { ids: Ids::Numbers(rows), ..EdgeList::default() };
    // A stored triangle stands for both.
    list.directed = matrix.symmetric.then_some(false);
    let (mut edges, mut weights) = (matrix.entries, Vec::new());
    if let Some(mut values) = matrix.values {
        let zeros = values.iter().filter(|value| **value == 0.0).count();
        if zeros > 0 {
            let mut kept = values.iter().map(|value| *value != 0.0);
            edges.retain(|_| kept.next().unwrap_or(false));
            values.retain(|value| *value != 0.0);
            list.notes.push(format!("{zeros} entries are zero and no edges"));
        }
        if *weight == WeightColumn::Auto && values.iter().any(|value| *value != 1.0) {
            if let Some(at) = values.iter().position(|value| !(value.is_finite() && *value > 0.0)) {
                let ([row, column], value) = (edges[at], values[at]);
                let problem = format!("entry ({row}, {column}) is {value}; a weight must be a positive number");
                return Err(Error::weight(nigh_formats::Error::file(path, problem)));
            }
            list.notes.push(format!("the entries of {} are weights; they can be left out", path.display()));
            weights.push(values);
        }
    }
    if edges.is_empty() {
        return Err(Error::file(path, "no edges; expected a matrix with entries"));
    }
    list.edges = ListedEdges::Pieces(vec![edges], weights);
    Ok(list)
}
