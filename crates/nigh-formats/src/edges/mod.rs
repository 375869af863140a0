//! Lists of edges in files of any format: the ids of two ends, and perhaps weights and graphs.
//!
//! What is read is columns: the names of nodes, and pairs of their numbers. Edges between small whole numbers go to an
//! [`EdgeSink`] of the caller while they are read, so that a file of hundreds of millions of them takes memory once.

mod adjacency_list;
pub(crate) mod arrays;
mod columnar;
mod layout;
mod links;
mod matrix;
mod names;
mod node_link;
mod order;
mod pairs;
mod row;
mod shape;
mod text;

pub use self::columnar::numbered_integers;
pub use self::layout::{EdgeColumns, WeightColumn};
pub use self::order::{Numbered, ascending, numbered};
pub use self::pairs::{Pairs, read_pairs};

use self::links::Links;
use crate::error::{Error, Result};
use crate::format::Format;
use crate::ids::Ids;
use crate::node_rows::{FeatureMatrix, NodeRows, RowLabels};
use crate::texts::Texts;
use crate::{graph_xml, matrix_market, metis};
use std::path::Path;

/// The content of an edge list.
#[derive(Debug, Default)]
pub struct EdgeList {
    /// Of every node: integers and names ascend, so that the order of lines is of no consequence.
    pub ids: Ids,
    /// The edges, as pairs of numbers of nodes, in pieces as they were read.
    pub edges: Vec<Vec<[u32; 2]>>,
    /// A weight per edge, or no pieces.
    pub weights: Vec<Vec<f32>>,
    /// Names of graphs, and the number of one per edge, if there are several.
    pub graphs: Option<(Texts, Vec<Vec<u32>>)>,
    /// Whether the file lists its nodes, which gives them an order.
    pub ordered: bool,
    /// Whether edges have a direction, if the file says so.
    pub directed: Option<bool>,
    /// Whether ids such as `7.0` were read as whole numbers.
    pub respelled: bool,
    /// Remarks on what was read.
    pub notes: Vec<String>,
}

/// What a file of edges holds.
#[derive(Debug)]
pub struct EdgeFile<S> {
    /// Edges and the ids of nodes.
    pub list: EdgeList,
    /// Edges between small whole numbers, as each thread read them: then the list has only remarks.
    pub numbered: Option<Vec<S>>,
    /// The features of nodes, if the file has them.
    pub features: Option<NodeRows<FeatureMatrix>>,
    /// The labels of nodes, if the file has them.
    pub labels: Option<NodeRows<RowLabels>>,
}

impl<S> From<EdgeList> for EdgeFile<S> {
    fn from(list: EdgeList) -> EdgeFile<S> {
        EdgeFile { list, numbered: None, features: None, labels: None }
    }
}

/// Takes edges between small whole numbers while they are read. Every thread fills one of its own.
pub trait EdgeSink: Send {
    /// Numbers of nodes stay below this.
    const LIMIT: usize;

    /// Adds an edge as it is listed.
    fn push(&mut self, edge: [u32; 2]);

    /// As `push`, with a weight.
    fn push_weighted(&mut self, edge: [u32; 2], weight: f32);

    /// An upper bound for the largest number of a node that was added, plus one.
    fn span(&self) -> usize;

    /// Bytes that an edge takes in here, and those that it takes afterwards.
    fn bytes_per_edge(weighted: bool) -> [u64; 2];
}

/// Where edges between small whole numbers go.
#[derive(Debug, Clone, Copy)]
pub struct Sinks<F> {
    /// Makes a sink for edges with weights, or without.
    pub make: F,
    /// Whether the sinks keep to a limit of memory.
    pub are_limited: bool,
}

/// A remedy for edges that do not fit into memory.
pub const LESS: &str = "leave out repeated edges, or write a graph file, whose edges stay on disk";

/// The largest number of a node in any sink, plus one.
fn span<S: EdgeSink>(edges: &[S]) -> usize {
    edges.iter().map(S::span).max().unwrap_or(0)
}

/// Whether a table of all numbers up to the largest would be mostly holes.
fn is_sparse<S: EdgeSink>(edges: &[S], num_edges: usize) -> bool {
    span(edges) > 4 * num_edges + (1 << 20)
}

/// Reads edges from a file of this format, perhaps with features and labels of the nodes.
pub fn read<S: EdgeSink>(
    path: &Path,
    format: Format,
    columns: &EdgeColumns,
    sinks: Sinks<impl Fn(bool) -> S + Sync>,
) -> Result<EdgeFile<S>> {
    let weight = &columns.weight;
    Ok(match format {
        Format::Text => text::read(path, columns, sinks)?,
        Format::Columnar => columnar::read(path, columns, sinks)?,
        Format::Sections => return Err(Error::file(path, "holds sections of numbers; expected edges")),
        Format::MatrixMarket => matrix::adjacency(path, matrix_market::open(path)?, weight)?.into(),
        Format::Metis => matrix::adjacency(path, metis::open(path)?, weight)?.into(),
        Format::Npz => arrays::read_npz(path, weight)?,
        Format::Npy => arrays::read_npy(path, weight)?.into(),
        Format::Matlab => arrays::read_matlab(path, weight)?,
        Format::Xml => Links::from_xml(path, graph_xml::open(path, weight.attribute())?, weight)?.into_list().into(),
        Format::Json => node_link::read(path, weight)?.into_list().into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Edges as they came.
    #[derive(Default)]
    struct Listed(Vec<[u32; 2]>, Vec<f32>);

    impl EdgeSink for Listed {
        const LIMIT: usize = 1 << 31;

        fn push(&mut self, edge: [u32; 2]) {
            self.0.push(edge);
        }

        fn push_weighted(&mut self, edge: [u32; 2], weight: f32) {
            self.0.push(edge);
            self.1.push(weight);
        }

        fn span(&self) -> usize {
            self.0.as_flattened().iter().max().map_or(0, |&last| last as usize + 1)
        }

        fn bytes_per_edge(_: bool) -> [u64; 2] {
            [12, 8]
        }
    }

    /// Reads edges from a file of this name; those between small whole numbers are numbered as others are.
    pub(super) fn read_file(name: &str, content: &[u8], columns: &EdgeColumns) -> Result<EdgeList> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        let sinks = Sinks { make: |_| Listed::default(), are_limited: false };
        let EdgeFile { mut list, numbered, .. } = read(&path, Format::of(&path)?, columns, sinks)?;
        if let Some(sinks) = numbered {
            let (edges, weights): (Vec<_>, Vec<_>) =
                sinks.into_iter().map(|Listed(edges, weights)| (edges, weights)).unzip();
            let ends = edges.concat().into_iter().map(|ends| ends.map(i64::from)).collect();
            let (ids, edges) = numbered_integers(ends);
            (list.ids, list.edges, list.weights) = (ids, vec![edges], vec![weights.concat()]);
        }
        Ok(list)
    }
}
