//! What message passing may see of a graph, and nothing else: held-out edges are not in here.

use super::proximity::expected_pairs::ExpectedPairs;
use crate::dataset::Features;
use crate::error::{Error, Result};
use crate::graph::{Graph, Operator};
use crate::linalg::Matrix;
use crate::propagation::Execution;
use crate::propagation::levels::{LevelSource, Levels};
use crate::source::ridge::Ridge;
use std::sync::{Arc, OnceLock};

/// A graph with its features, and the address of each node.
#[derive(Debug, Clone)]
pub struct View {
    /// `Ã` of the visible edges.
    pub operator: Operator,
    /// `F`.
    pub features: Features,
    /// The number by which each node is known: its own, unless a saved model knows the node by another. Signals, masks,
    /// anchors and walks are addressed by it.
    pub addresses: Arc<[u32]>,
    /// Which of the data's graphs this is.
    pub graph: u64,
    /// How message passing keeps to its memory.
    pub(crate) execution: Arc<Execution>,
    /// Pairs that will be scored, if they are known.
    pub(super) expected: Option<Arc<ExpectedPairs>>,
    /// `Ẽ` of the nodes, where it was computed already: the graph then has no edges, and `Ã` is the identity.
    pub(super) propagated_signal: Option<Arc<Matrix>>,
    /// `Ã^K F W` in the place of `F`, where it was computed already.
    pub(super) convolved_features: Option<Arc<Matrix>>,
    /// Computed when it is asked for, since it takes time, and kept.
    ridge: Arc<OnceLock<Ridge>>,
}

impl View {
    /// A graph with one row of features per node.
    pub fn new(graph: impl Into<Arc<Graph>>, features: Features) -> Result<View> {
        let graph = graph.into();
        if features.rows() != graph.num_nodes() {
            let (got, expected) = (features.rows(), graph.num_nodes());
            return Err(Error::FeatureRows { expected, got });
        }
        Ok(View {
            addresses: (0..graph.num_nodes() as u32).collect(),
            operator: Operator::symmetric(graph),
            features,
            graph: 0,
            execution: Arc::default(),
            expected: None,
            propagated_signal: None,
            convolved_features: None,
            ridge: Arc::default(),
        })
    }

    /// As graph number `graph` of several.
    pub fn numbered(self, graph: u64) -> View {
        View { graph, ..self }
    }

    /// The same nodes with other edges.
    pub(crate) fn over(&self, graph: impl Into<Arc<Graph>>) -> View {
        let graph = graph.into();
        assert_eq!(graph.num_nodes(), self.addresses.len(), "the same nodes");
        View { operator: Operator::symmetric(graph), expected: None, ridge: Arc::default(), ..self.clone() }
    }

    /// Keeps message passing to its memory as `execution` says.
    pub(crate) fn within(self, execution: Arc<Execution>) -> View {
        View { execution, ..self }
    }

    /// Knows which pairs will be scored, in whatever portions: what does not depend on learnt weights is then computed once for all of
    /// them.
    pub(crate) fn expecting(self, pairs: Vec<[u32; 2]>) -> View {
        View { expected: Some(ExpectedPairs::new(pairs).into()), ..self }
    }

    /// With node `i` known as node `addresses[i]`.
    pub fn with_addresses(self, addresses: impl Into<Arc<[u32]>>) -> View {
        let addresses = addresses.into();
        assert_eq!(addresses.len(), self.addresses.len(), "one address per node");
        View { addresses, ..self }
    }

    /// With `Ẽ` in the place of `E`. `Ã^K` has to be the identity: without edges, it is.
    pub(crate) fn with_propagated_signal(self, rows: Matrix) -> View {
        assert!(self.graph().num_edges() == 0 && rows.rows() == self.addresses.len(), "a row per node without edges");
        View { propagated_signal: Some(rows.into()), ..self }
    }

    /// With `Ã^K F W` in the place of `F W`, under the same condition.
    pub(crate) fn with_convolved_features(self, rows: Matrix) -> View {
        assert!(self.graph().num_edges() == 0 && rows.rows() == self.addresses.len(), "a row per node without edges");
        View { convolved_features: Some(rows.into()), ..self }
    }

    /// The same graph with its nodes in another order; they keep their addresses and with them their random draws.
    pub fn permute(&self, order: &[u32]) -> Result<View> {
        let graph = self.graph().permute(order)?;
        let addresses = order.iter().map(|&node| self.addresses[node as usize]).collect::<Arc<[u32]>>();
        let view = View::new(graph, self.features.permute_rows(order))?;
        Ok(view.numbered(self.graph).with_addresses(addresses).within(self.execution.clone()))
    }

    pub(super) fn empty(num_features: usize) -> View {
        let (graph, _) = Graph::from_edges(0, &[]).expect("no edges");
        View::new(graph, Features::Dense(Matrix::zeros(0, num_features).into())).expect("no rows for no nodes")
    }

    /// `Ã^k X` for several `k`.
    pub(crate) fn levels<'a>(&'a self, source: LevelSource<'a>) -> Levels<'a> {
        Levels { operator: &self.operator, execution: &self.execution, source }
    }

    /// No nodes, under an operator that is not the identity, so that every step of message passing is recorded.
    pub(super) fn of_steps(num_features: usize) -> View {
        let view = View::empty(num_features);
        View { operator: Operator::walk(view.operator.graph().clone()), ..view }
    }

    /// The reconstruction of the visible edges.
    pub(super) fn ridge(&self) -> &Ridge {
        self.ridge.get_or_init(|| Ridge::new(self.operator.graph().clone()))
    }

    /// The visible graph.
    pub fn graph(&self) -> &Graph {
        self.operator.graph()
    }
}
