//! What answers take in memory, and how they keep to a limit.

use crate::error::Result;
use crate::memory::Memory;
use crate::models::proximity::vectors::most_vectors_width;
use crate::models::{Architecture, Separation, Shape, why_in_memory};
use crate::propagation::{BUFFERS, CostEstimate, PartSize, Workload};
use crate::source::Source;
use crate::train::Resolved;
use crate::train::limit::GraphSize;

/// A model and a graph for which it answers.
#[derive(Debug, Clone)]
pub(crate) struct Answering<'a> {
    pub config: &'a Resolved,
    pub architecture: &'a Architecture,
    pub shape: Shape,
    pub size: GraphSize<'a>,
    /// Whether it is the only graph of the data.
    pub is_only: bool,
}

impl Answering<'_> {
    /// Whether representations of all nodes are held: without a limit, and where a model cannot compute some of them alone.
    pub fn holds_all(&self, memory: Option<Memory>) -> bool {
        match self.architecture.separation() {
            // `Ã^K E` of one of several graphs is drawn with its number.
            Separation::Rows { .. } => memory.is_none() || !self.is_only,
            Separation::Pairs => false,
            Separation::InMemory(_) => true,
        }
    }

    /// How answers for this many pairs, or for all nodes, are computed within a limit, of which some bytes are left to the answers and
    /// the caller; or without a limit. An error if it is too low.
    pub fn estimate(&self, num_pairs: usize, reserved: usize, memory: Option<Memory>) -> Result<CostEstimate> {
        let workload = self.workload();
        if self.holds_all(memory) {
            return self.held(&workload, num_pairs, reserved, memory);
        }
        let architecture = self.architecture;
        let of_rows = match architecture.separation() {
            Separation::Rows { hops, storage } => Some(Workload { hops, storage, ..workload }),
            Separation::Pairs | Separation::InMemory(_) => None,
        };
        let left = memory.map(|memory| Memory::new(memory.bytes().saturating_sub(reserved)));
        let footprint = architecture.footprint(&self.shape)?;
        let estimate = match of_rows {
            Some(workload) => {
                let (ends, columns) =
                    (workload.distinct_ends(num_pairs), workload.signal_dim + workload.feature_columns);
                // Rows of the ends as they are gathered, and again with all that is computed from them.
                let of_rows = |columns: usize| 24 * num_pairs + 4 * ends * columns;
                workload.propagation_of(left, of_rows(columns), of_rows(2 * columns + 3 * footprint.output))
            }
            None => {
                let pairs = self.config.answered_pairs(&self.size, architecture, footprint, num_pairs);
                workload.pair_training(&pairs, left)
            }
        };
        let remedy = match (workload.stored, num_pairs) {
            (false, _) => "edges of a graph file can stay on disk",
            (true, 0) => "a model with a smaller signal-dim or hop-storage float16 takes less",
            (true, _) => "fewer pairs at a time take less",
        };
        let estimate = estimate.map_err(|least| {
            let least = Memory::new(least.bytes() + reserved);
            memory.unwrap_or(least).too_little(least, remedy)
        })?;
        Ok(estimate.with("answers", reserved))
    }

    /// The same for the vectors of all nodes. They leave row by row within a limit, and are in memory together without one: for a model
    /// that compares pairs with all blocks, of which it may need only some.
    pub fn vectors(&self, memory: Option<Memory>) -> Result<CostEstimate> {
        let held = match (memory, self.architecture.separation()) {
            (None, Separation::Pairs) => {
                let width = self.architecture.footprint(&self.shape)?.output;
                4 * self.size.workload.num_nodes * most_vectors_width(self.size.features.count(), width)
            }
            // What the steps computed is gone by then.
            _ => 0,
        };
        self.estimate(0, held, memory)
    }

    fn workload(&self) -> Workload {
        let (config, size) = (self.config, &self.size);
        let maps_first = size.graph.and_then(|graph| self.architecture.maps_first(graph, &size.features));
        let feature_columns = match maps_first {
            _ if !self.architecture.uses(Source::Features) => 0,
            Some(_) => config.width,
            None if config.task.uses_features() => size.features.cols(),
            None => 1,
        };
        Workload { signal_dim: self.shape.signal_dim, feature_columns, ..size.workload }
    }

    /// With the representations of all nodes at once.
    fn held(
        &self,
        workload: &Workload,
        num_pairs: usize,
        reserved: usize,
        memory: Option<Memory>,
    ) -> Result<CostEstimate> {
        let footprint = self.architecture.footprint(&self.shape)?;
        let parts = [
            ("edges (CSR)", workload.csr_bytes()),
            ("operator, addresses", 12 * workload.num_nodes),
            ("features", workload.feature_bytes),
            ("representations", workload.represented(&footprint, self.size.is_sparse())),
            ("weights", 4 * footprint.numbers),
            ("ids", workload.id_bytes),
            ("answers", reserved + 24 * num_pairs),
            ("buffers", BUFFERS),
        ];
        let parts = parts.into_iter().filter(|(_, bytes)| *bytes > 0);
        let estimate =
            CostEstimate::in_memory(workload.signal_dim, parts.map(|(part, bytes)| PartSize { part, bytes }).collect());
        match (memory, estimate.total()) {
            (Some(memory), total) if total > memory.bytes() => {
                let reason = self.architecture.separation().in_memory_reason().unwrap_or_default();
                Err(memory.too_little(Memory::new(total), &why_in_memory(&self.config.model, reason)))
            }
            _ => Ok(estimate),
        }
    }
}
