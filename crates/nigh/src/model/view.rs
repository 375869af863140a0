//! What message passing may see of a graph, and nothing else: held-out edges are not in here.

use crate::dataset::Features;
use crate::error::{Error, Result};
use crate::graph::{Graph, Operator};
use crate::kernel::Matrix;
use std::sync::Arc;

/// A graph with its features, and the address of each node's signal.
#[derive(Debug, Clone)]
pub struct View {
    /// `Ã` of the visible edges.
    pub operator: Operator,
    /// `F`.
    pub features: Features,
    /// The number by which each node's signal is drawn: its own, unless a saved model knows the node by another.
    pub signal_rows: Arc<[u32]>,
    /// Which of the data's graphs this is.
    pub graph: u64,
}

impl View {
    /// A graph with one row of features per node.
    pub fn new(graph: impl Into<Arc<Graph>>, features: Features) -> Result<View> {
        let graph = graph.into();
        if features.rows() != graph.num_nodes() {
            let (got, expected) = (features.rows(), graph.num_nodes());
            return Err(Error::Data(format!("features have {got} rows but the graph has {expected} nodes")));
        }
        let signal_rows = (0..graph.num_nodes() as u32).collect();
        Ok(View { operator: Operator::symmetric(graph), features, signal_rows, graph: 0 })
    }

    /// As graph number `graph` of several.
    pub fn numbered(self, graph: u64) -> View {
        View { graph, ..self }
    }

    /// With the signal of node `i` drawn as that of node `rows[i]`.
    pub fn with_signal_rows(self, rows: impl Into<Arc<[u32]>>) -> View {
        let rows = rows.into();
        assert_eq!(rows.len(), self.signal_rows.len(), "one signal row per node");
        View { signal_rows: rows, ..self }
    }

    pub(super) fn empty(num_features: usize) -> View {
        let (graph, _) = Graph::from_edges(0, &[]).expect("no edges");
        View::new(graph, Features::Dense(Matrix::zeros(0, num_features).into())).expect("no rows for no nodes")
    }

    /// The visible graph.
    pub fn graph(&self) -> &Graph {
        self.operator.graph()
    }
}
