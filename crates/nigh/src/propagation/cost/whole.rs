//! What it takes to represent all nodes of a graph at once, in the steps that a model records.

use super::{BUFFERS, PartSize, Workload, part, total};

/// Columns that a recorded model holds for every node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Footprint {
    /// Of what message passing starts from, until what it gives is known.
    pub inner: usize,
    /// Of what stays from pass to pass.
    pub kept: usize,
    /// Of what every pass computes.
    pub values: usize,
    /// Of gradients, and of all that is only there to learn.
    pub gradients: usize,
    /// Of `H`.
    pub output: usize,
    /// Of features, where a step reads them as they are.
    pub features: usize,
    /// Whether `H` is computed block by block where nothing is learnt: message passing precedes all that is.
    pub in_blocks: bool,
    /// For every pair that a learnt decoder scores: of values, and of gradients.
    pub head: [usize; 2],
    /// Numbers in the weights.
    pub numbers: usize,
}

/// What decides how much a run in memory takes, in addition to the graph.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct WholeWorkload {
    /// Of the model.
    pub footprint: Footprint,
    /// Whether features are stored sparse, and read as they are.
    pub is_sparse: bool,
    /// Whether weights are learnt; a trained model is evaluated otherwise.
    pub trains: bool,
    /// Whether edges are held out of the graph.
    pub holds_out: bool,
    /// Positive pairs that are learnt from, those of a step, and negative ones for each.
    pub pairs: usize,
    pub batch: usize,
    pub negatives_per_positive: usize,
    /// Pairs of validation and test.
    pub evaluated: usize,
}

/// Matrices of the shape of a weight: its value, the gradient and its next contribution, both moments of Adam, and the best value.
const COPIES: usize = 6;

/// Bytes of a pair in a list, and in lists by its ends.
const LISTED: usize = 8;
const BY_ENDS: usize = 32;

impl Workload {
    /// Edges are divided, and then weights are learnt: what takes more memory counts.
    pub(crate) fn whole_run(&self, run: &WholeWorkload) -> Vec<PartSize> {
        let WholeWorkload { footprint, pairs, batch, negatives_per_positive: ratio, evaluated, .. } = *run;
        let (n, csr) = (self.num_nodes, self.csr_bytes());
        let rows = |columns: usize| 4 * n * columns;
        let views = if run.holds_out { 2 } else { 1 };
        let dividing = vec![part("edges (CSR)", views * csr), part("pairs", 2 * LISTED * pairs + LISTED * evaluated)];
        let learning = vec![
            part("edges (CSR)", views * csr),
            part("operator, addresses", 12 * n),
            part("representations", self.representations(run)),
            part(
                "pairs",
                if run.trains {
                    LISTED * (pairs + evaluated) + (BY_ENDS + LISTED) * batch * ratio + BY_ENDS * batch + rows(2)
                } else {
                    LISTED * evaluated
                },
            ),
            part("steps of pairs", footprint.head_bytes(if run.trains { batch * (1 + ratio) } else { 0 }, evaluated)),
            part("weights", 4 * COPIES * footprint.numbers),
        ];
        let most = [dividing, learning].into_iter().max_by_key(|parts| total(parts)).expect("two stages");
        let held = [part("features", self.feature_bytes), part("ids", self.id_bytes), part("buffers", BUFFERS)];
        let mut parts: Vec<PartSize> = most.into_iter().chain(held).collect();
        parts.retain(|part| part.bytes > 0);
        parts
    }

    /// Values and gradients of all steps, and rows of length one under the loss of pairs.
    fn representations(&self, run: &WholeWorkload) -> usize {
        let Footprint { kept, values, gradients, output, .. } = run.footprint.without_features(run.is_sparse);
        let of_loss = if run.pairs > 0 { output } else { 0 };
        let learning = if run.trains { 4 * self.num_nodes * (kept + values + gradients + of_loss) } else { 0 };
        learning.max(self.represented(&run.footprint, run.is_sparse))
    }

    /// Values of all steps of a trained model.
    pub(crate) fn represented(&self, footprint: &Footprint, is_sparse: bool) -> usize {
        let Footprint { inner, kept, values, output, in_blocks, .. } = footprint.without_features(is_sparse);
        match in_blocks && self.num_nodes > BLOCK_OF_NODES {
            true => 4 * self.num_nodes * (kept + inner.max(output)) + 4 * BLOCK_OF_NODES * (kept + values),
            false => 4 * self.num_nodes * (kept + inner.max(values)),
        }
    }
}

/// Nodes that are represented at a time.
pub(super) const BLOCK_OF_NODES: usize = 1 << 16;

/// Pairs that a decoder scores at a time outside of training.
const SCORED_TOGETHER: usize = 1 << 16;

impl Footprint {
    /// What a learnt decoder takes for a batch that is learnt from, and for pairs that are scored.
    pub fn head_bytes(&self, batch: usize, scored: usize) -> usize {
        let [values, gradients] = self.head;
        4 * ((values + gradients) * batch + values * scored.min(SCORED_TOGETHER))
    }

    /// Without the features, if they are sparse: here they are dense.
    fn without_features(self, is_sparse: bool) -> Footprint {
        match (is_sparse, self.inner >= self.features) {
            (false, _) => self,
            (true, true) => Footprint { inner: self.inner - self.features, ..self },
            (true, false) => Footprint { kept: self.kept.saturating_sub(self.features), ..self },
        }
    }
}
