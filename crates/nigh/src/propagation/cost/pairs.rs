//! What it takes to compare many pairs over one graph, and how that is done within a limit.

use super::whole::BLOCK_OF_NODES;
use super::{
    BUFFERS, CostEstimate, ExecutionMode, Footprint, KEPT_RECORDINGS, PANELS, PartSize, Workload, part, total,
};
use crate::memory::Memory;
use crate::propagation::products::{GROUP, PANEL};

/// What decides how much training on compared pairs takes, in addition to the graph.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PairWorkload {
    /// Whether training edges are too many to be listed. Those of a graph file can then stay there.
    pub is_large: bool,
    /// Bytes of the rows of exact proximities of all nodes, where they are exact.
    pub exact: Option<usize>,
    /// Whether edges are held out of the graph; the answers of a trained model take it as it is.
    pub holds_out: bool,
    /// Training graphs from which the edges of a fold are taken.
    pub folds: usize,
    /// Pairs of a fold, negatives of all epochs included.
    pub fold_pairs: usize,
    /// Pairs of validation and test.
    pub evaluated: usize,
    /// Whether messages pass over other edges in the test.
    pub has_test_view: bool,
    /// Numbers that are known of a pair.
    pub numbers: usize,
    /// Hops at which the rows of the ends of pairs are gathered, and inner products of a pair.
    pub hops: usize,
    pub products: usize,
    /// Columns that representations take, if there are any.
    pub footprint: Footprint,
    /// Features that are compared, seen in 256 directions at most.
    pub directions: usize,
    /// Positive pairs of a step, 0 for all of a fold, and negative ones for each.
    pub batch: usize,
    pub negatives_per_positive: usize,
}

/// Nodes whose vectors are held at a time.
const VECTORS: usize = 1 << 16;

impl Workload {
    /// How a training on compared pairs is done within this memory, or the least that would be enough.
    pub(crate) fn pair_training(&self, pairs: &PairWorkload, memory: Option<Memory>) -> Result<CostEstimate, Memory> {
        let widths = || (GROUP..=PANEL).rev().step_by(GROUP);
        let mut candidates: Vec<(ExecutionMode, usize)> =
            widths().map(|width| (ExecutionMode::Panels, width)).collect();
        candidates[0].0 = ExecutionMode::InMemory;
        if self.stored && pairs.is_large {
            candidates.extend(widths().map(|width| (ExecutionMode::OutOfCore, width)));
        }
        self.first_of(&candidates, memory, |way, width| self.pair_estimate(pairs, way, width, memory.is_some()))
    }

    /// Edges are held out, pairs are compared over the graph of each fold and then over that of validation and test, and weights are learnt
    /// from the numbers: what takes the most memory counts.
    fn pair_estimate(&self, pairs: &PairWorkload, way: ExecutionMode, width: usize, is_limited: bool) -> CostEstimate {
        let (n, csr) = (self.num_nodes, self.csr_bytes());
        let PairWorkload { folds, fold_pairs, evaluated, numbers, hops, products, footprint, .. } = *pairs;
        let views = 1 + folds + usize::from(pairs.has_test_view);
        let stays_on_disk = self.stored && pairs.is_large && is_limited;
        let known = if !pairs.holds_out || stays_on_disk { 0 } else { csr };
        let edges = match way {
            ExecutionMode::OutOfCore => self.streamed_bytes(),
            ExecutionMode::InMemory | ExecutionMode::Panels => views * csr,
        };
        let fixed = |more: Vec<PartSize>| {
            // Addresses, the operator of each view, and that of walks.
            let vectors = part("operators, addresses", 4 * n * (2 + views));
            let mut parts = vec![part("edges (CSR)", known + edges), vectors];
            parts.extend(more);
            parts
        };
        let ends = |pairs: usize| self.distinct_ends(pairs);
        let compared = |count: usize| {
            let ends = ends(count);
            let rows = match pairs.exact {
                // Two threads spread rows out over all nodes.
                Some(bytes) => (bytes as f64 * ends as f64 / n.max(1) as f64) as usize + 64 * n,
                // Of a hop, and of the one before.
                None => 8 * width * ends,
            };
            [
                part("gathered rows", rows + 4 * ends * (2 + hops)),
                part("pairs", count * (24 + 4 * (numbers + products))),
            ]
        };
        let has_features = pairs.directions > 0;
        let panels = if pairs.exact.is_none() || has_features { 8 * n * width } else { 0 };
        let tables = |folds: usize| folds * fold_pairs * (8 + 4 * numbers);
        let listed = if pairs.is_large || !pairs.holds_out { 0 } else { 16 * self.num_edges };
        let drawing = fixed(vec![part("pairs", listed + 8 * (fold_pairs * folds + evaluated))]);
        // Those of all folds share what a step computes, and keep what messages gave them where that is little.
        let Footprint { inner, kept, values, gradients, output, .. } = footprint;
        let step = match (pairs.batch, folds) {
            (_, 0) => 0,
            (0, _) => fold_pairs,
            (batch, _) => (batch * (1 + pairs.negatives_per_positive)).min(fold_pairs),
        };
        let of_step = || part("steps of pairs", footprint.head_bytes(step, evaluated) + 48 * step + 4 * n);
        let kept_folds = if 4 * n * kept * folds <= KEPT_RECORDINGS { folds } else { folds.min(1) };
        let trained = if folds > 0 { kept * kept_folds + values + gradients } else { 0 };
        let evaluations = views - folds;
        let rows = |columns: usize| part("representations", 4 * n * columns);
        let tables_of = |count: usize| part("numbers of pairs", tables(count));
        let panel = part(PANELS, panels);
        let of_fold = fixed([compared(fold_pairs).to_vec(), vec![panel, tables_of(folds.saturating_sub(1))]].concat());
        // Representations of the evaluation follow the first step.
        let starting = fixed(vec![
            part(PANELS, if has_features { 8 * n * width } else { 0 }),
            tables_of(folds),
            of_step(),
            rows(trained + evaluations * (inner + kept)),
        ]);
        // All nodes are represented block by block.
        let block = 4 * n.min(BLOCK_OF_NODES) * (kept + values);
        let held = part("representations", 4 * n * (trained + evaluations * (kept + output)) + block);
        let of_evaluation =
            fixed([compared(evaluated).to_vec(), vec![panel, tables_of(folds), of_step(), held]].concat());
        // Blocks of columns as they are gathered, at length one, and side by side.
        let vectors = fixed(vec![
            part(PANELS, 8 * n * width),
            part("vectors", if folds > 0 { 4 * 960 * ends(evaluated).min(VECTORS) } else { 0 }),
            rows(if has_features { kept + output } else { 0 }),
        ]);
        let stages = [drawing, of_fold, starting, of_evaluation, vectors];
        let most = stages.into_iter().max_by_key(|parts| total(parts)).expect("five stages");
        let kept = [part("features", self.feature_bytes), part("ids", self.id_bytes), part("buffers", BUFFERS)];
        let mut memory: Vec<PartSize> = most.into_iter().chain(kept).collect();
        memory.retain(|part| part.bytes > 0);
        let disk = if way == ExecutionMode::OutOfCore && pairs.holds_out { views * csr } else { 0 };
        let mut disk = vec![part("graphs without held-out edges", disk)];
        disk.retain(|part| part.bytes > 0);
        CostEstimate { way, panel_width: width, memory, disk }
    }
}
