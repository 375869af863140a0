//! What message passing may see of a graph, and nothing else: held-out edges are not in here.

use crate::encoder::Input;
use crate::error::{Error, Result};
use crate::graph::{Graph, Operator};
use crate::kernel::{Matrix, SparseMatrix};
use crate::tape::Tape;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// `F`, one row per node.
#[derive(Debug, Clone)]
pub enum Features {
    /// None: the single constant 1 on so many nodes.
    Constant(usize),
    /// Mostly numbers.
    Dense(Arc<Matrix>),
    /// Mostly zeros.
    Sparse(Arc<SparseMatrix>),
}

impl Features {
    /// From a full matrix, kept sparse when that is smaller and faster to multiply.
    pub fn from_matrix(matrix: Matrix) -> Features {
        let entries = matrix.data().iter().filter(|&&value| value != 0.0).count();
        if matrix.cols() < 16 || entries * 4 > matrix.data().len() {
            return Features::Dense(matrix.into());
        }
        let row = |i: usize| -> Vec<(u32, f32)> {
            let entries = matrix.row(i).iter().enumerate().filter(|(_, value)| **value != 0.0);
            entries.map(|(column, &value)| (column as u32, value)).collect()
        };
        let rows: Vec<_> = (0..matrix.rows()).map(row).collect();
        Features::Sparse(SparseMatrix::from_rows(&rows, matrix.cols()).into())
    }

    /// Number of nodes.
    pub fn rows(&self) -> usize {
        match self {
            Features::Constant(rows) => *rows,
            Features::Dense(matrix) => matrix.rows(),
            Features::Sparse(matrix) => matrix.rows(),
        }
    }

    /// `d0`: how wide the input of the feature branch is.
    pub fn cols(&self) -> usize {
        match self {
            Features::Constant(_) => 1,
            Features::Dense(matrix) => matrix.cols(),
            Features::Sparse(matrix) => matrix.cols(),
        }
    }

    /// How many features are known of a node; the constant is none.
    pub fn count(&self) -> usize {
        if matches!(self, Features::Constant(_)) { 0 } else { self.cols() }
    }

    /// `P F`: row `i` of the result is row `order[i]`.
    pub fn permute_rows(&self, order: &[u32]) -> Features {
        match self {
            Features::Constant(_) => Features::Constant(order.len()),
            Features::Dense(matrix) => Features::Dense(matrix.permute_rows(order).into()),
            Features::Sparse(matrix) => Features::Sparse(matrix.permute_rows(order).into()),
        }
    }

    /// A fingerprint of shape and values.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        hash.update((self.cols() as u64).to_le_bytes());
        match self {
            Features::Constant(rows) => hash.update((*rows as u64).to_le_bytes()),
            Features::Dense(matrix) => matrix.data().iter().for_each(|value| hash.update(value.to_le_bytes())),
            Features::Sparse(matrix) => (0..matrix.rows()).for_each(|row| {
                hash.update((row as u64).to_le_bytes());
                for (column, value) in matrix.row(row) {
                    hash.update(column.to_le_bytes());
                    hash.update(value.to_le_bytes());
                }
            }),
        }
        crate::digest::hex(&hash.finalize())
    }

    pub(super) fn input(&self, tape: &mut Tape) -> Input {
        match self {
            Features::Constant(rows) => Input::Dense(tape.constant(Matrix::ones(*rows, 1)), 1),
            Features::Dense(matrix) => Input::Dense(tape.constant(matrix.as_ref().clone()), matrix.cols()),
            Features::Sparse(matrix) => Input::Sparse(matrix.clone()),
        }
    }
}

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
