//! What it takes to compare many pairs over one graph, and how that is done within a limit.

use super::{CostEstimate, ExecutionMode, KEPT_RECORDINGS, LEARNING_BUFFERS, PANELS, PartSize, Workload, part, total};
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
    /// Columns of all `Ã^k X̂ V` that represent a node, and of one of them; zero without features.
    pub represented: [usize; 2],
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
        self.first_of(&candidates, memory, |way, width| self.pair_estimate(pairs, way, width))
    }

    /// Edges are held out, pairs are compared over the graph of each fold and then over that of validation and test, and weights are learnt
    /// from the numbers: what takes the most memory counts.
    fn pair_estimate(&self, pairs: &PairWorkload, way: ExecutionMode, width: usize) -> CostEstimate {
        let (n, csr) = (self.num_nodes, self.csr_bytes());
        let PairWorkload {
            folds, fold_pairs, evaluated, numbers, hops, products, represented: [blocks, columns], ..
        } = *pairs;
        let views = 1 + folds + usize::from(pairs.has_test_view);
        let known = if !pairs.holds_out || self.stored && pairs.is_large { 0 } else { csr };
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
        let panels = if pairs.exact.is_none() || columns > 0 { 8 * n * width } else { 0 };
        let tables = |folds: usize| folds * fold_pairs * (8 + 4 * numbers);
        let listed = if pairs.is_large || !pairs.holds_out { 0 } else { 16 * self.num_edges };
        let drawing = fixed(vec![part("pairs", listed + 8 * (fold_pairs * folds + evaluated))]);
        let of_fold = [compared(fold_pairs).to_vec(), vec![part("numbers of pairs", tables(folds.saturating_sub(1)))]];
        let of_evaluation = [compared(evaluated).to_vec(), vec![part("numbers of pairs", tables(folds))]];
        let comparing = [of_fold, of_evaluation].map(|parts| {
            let panels = part(PANELS, panels);
            let features = part("propagated features", 4 * n * if columns > 0 { blocks + columns } else { 0 });
            fixed([vec![panels, features], parts.concat()].concat())
        });
        let kept_folds = if 4 * n * blocks * folds <= KEPT_RECORDINGS { folds } else { 1 };
        let learning = fixed(vec![
            part("numbers of pairs", tables(folds) + evaluated * (16 + 8 * numbers)),
            part("propagated features", 4 * n * blocks * (kept_folds + views - folds)),
            part("representations", 4 * n * columns),
        ]);
        // Blocks of columns as they are gathered, at length one, and side by side.
        let vectors = fixed(vec![part(PANELS, 8 * n * width), part("vectors", 4 * 960 * ends(evaluated).min(VECTORS))]);
        let [of_fold, of_evaluation] = comparing;
        let stages = [drawing, of_fold, of_evaluation, learning, vectors];
        let most = stages.into_iter().max_by_key(|parts| total(parts)).expect("five stages");
        let kept =
            [part("features", self.feature_bytes), part("ids", self.id_bytes), part("buffers", LEARNING_BUFFERS)];
        let mut memory: Vec<PartSize> = most.into_iter().chain(kept).collect();
        memory.retain(|part| part.bytes > 0);
        let disk = if way == ExecutionMode::OutOfCore && pairs.holds_out { views * csr } else { 0 };
        let mut disk = vec![part("graphs without held-out edges", disk)];
        disk.retain(|part| part.bytes > 0);
        CostEstimate { way, panel_width: width, memory, disk }
    }
}
