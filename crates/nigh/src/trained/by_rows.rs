//! Representations of some rows on their own, from what message passing gave for them: what a worker does that has no graph.

use super::Trained;
use crate::dataset::Features;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::linalg::Matrix;
use crate::linalg::half::Storage;
use crate::model::View;
use crate::panels::PanelSource;
use crate::source::Source;
use std::ops::Range;
use std::sync::Arc;

/// The message passing of a model, if all of it is `Ã^K E` and `Ã^K 1`.
#[derive(Debug, Clone)]
pub(crate) struct MessagePassing {
    /// `E`.
    pub source: PanelSource,
    /// `K`.
    pub hops: usize,
    /// How rows are stored between hops.
    pub storage: Storage,
    /// Whether `Ã^K 1` is needed as well.
    pub uses_ones: bool,
}

impl Trained {
    /// What has to be propagated before `represent_rows`.
    pub(crate) fn message_passing(&self) -> Result<MessagePassing> {
        let Some((hops, storage)) = self.model.propagated_signal() else {
            let problem = "needs a model whose message passing is Ã^K E alone, such as smp-linear or smp-signal";
            return Err(Error::setting("model", self.model_name(), problem));
        };
        let uses_ones = self.model.architecture().uses(Source::Features);
        let expected = self.summary.num_features;
        if uses_ones && self.config.task.uses_features() && expected > 0 {
            return Err(Error::FeatureCount { dataset: "a graph in files".into(), expected, got: 0 });
        }
        Ok(MessagePassing { source: self.model.signal_source(self.draw()), hops, storage, uses_ones })
    }

    /// `H` of these nodes, from their rows of `Ã^K E` and, if it is needed, of `Ã^K 1`.
    pub(crate) fn represent_rows(&self, nodes: Range<usize>, signal: Matrix, ones: Option<Matrix>) -> Result<Matrix> {
        let (graph, _) = Graph::from_edges(nodes.len(), &[])?;
        let features = ones.map_or(Features::Constant(nodes.len()), |rows| Features::Dense(rows.into()));
        let addresses: Arc<[u32]> = nodes.map(|node| node as u32).collect();
        let view = View::new(graph, features)?.with_addresses(addresses).with_propagated_signal(signal);
        Ok(self.model.represent(&view, self.draw()))
    }

    /// The number of columns of `H`.
    pub(crate) fn width(&self) -> usize {
        self.model.representation_width()
    }

    fn model_name(&self) -> &str {
        &self.config.model
    }

    fn draw(&self) -> u64 {
        self.run().best_epoch as u64
    }
}
