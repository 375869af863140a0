//! What a run takes in memory, on disk and in time, and how it is done within a limit.

mod pairs;
mod whole;

pub(crate) use pairs::PairWorkload;
pub(crate) use whole::{Footprint, WholeWorkload};

use super::{PanelPlan, PanelProgress};
use crate::error::Result;
use crate::graph::{Graph, Operator, whole_vectors};
use crate::linalg::Matrix;
use crate::linalg::half::Storage;
use crate::memory::Memory;
use crate::seeds::{Purpose, Seeds};
use nigh_formats::sections::BLOCK;
use serde::Serialize;
use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

/// What decides how much a run takes: counts, not the graph itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Workload {
    /// `N`.
    pub num_nodes: usize,
    /// `M`.
    pub num_edges: usize,
    /// Whether edges have weights.
    pub weighted: bool,
    /// Whether the graph is in a graph file, from which edges can be read again and again.
    pub stored: bool,
    /// Bytes of the names of nodes in memory: none if they are 0, 1, ....
    pub id_bytes: usize,
    /// Bytes of the features of nodes in memory.
    pub feature_bytes: usize,
    /// Columns of what is propagated beside `E`: the features, the constant in their place, or what they are mapped to; 0 for none.
    pub feature_columns: usize,
    /// `d`.
    pub signal_dim: usize,
    /// Columns of `H`.
    pub width: usize,
    /// `K`.
    pub hops: usize,
    /// How rows are stored between hops.
    pub storage: Storage,
}

/// What decides how much training on sampled pairs takes, beside the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SampledWorkload {
    /// Positive pairs of all epochs.
    pub positives: usize,
    /// Negative pairs for each of them.
    pub negatives_per_positive: usize,
    /// Pairs of validation and test, positive and negative.
    pub evaluated: usize,
}

/// How `Ã^K E` is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExecutionMode {
    /// All columns at once, edges in memory.
    InMemory,
    /// Some columns at a time, edges in memory.
    Panels,
    /// Some columns at a time, edges read from the graph file in every hop.
    OutOfCore,
}

impl ExecutionMode {
    /// In words.
    pub fn describe(self) -> &'static str {
        match self {
            ExecutionMode::InMemory => "in memory",
            ExecutionMode::Panels => "in panels of columns, edges in memory",
            ExecutionMode::OutOfCore => {
                "out of core: in panels of columns, edges read from the graph file in every hop"
            }
        }
    }
}

/// A part of what a run takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct PartSize {
    /// What it is.
    pub part: &'static str,
    /// How much of it.
    pub bytes: usize,
}

fn part(part: &'static str, bytes: usize) -> PartSize {
    PartSize { part, bytes }
}

/// What a propagation takes, or a training, and how it is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CostEstimate {
    /// How.
    pub way: ExecutionMode,
    /// Columns of a panel.
    pub panel_width: usize,
    /// In memory, at most.
    pub(crate) memory: Vec<PartSize>,
    /// On disk, beside the result.
    pub(crate) disk: Vec<PartSize>,
}

const PANELS: &str = "panels of Ã^K E";
/// The program and its threads, and blocks of rows on their way into a file or through a model. Measured beyond what is counted: 14 MiB
/// before anything is propagated, 18 to 30 MiB for .npy, 20 to 57 MiB for .parquet, 3 to 75 MiB where weights are learnt or applied.
pub(crate) const BUFFERS: usize = 64 << 20;
/// The recordings of all masked parts are kept while their propagated rows together take no more than this.
pub(crate) const KEPT_RECORDINGS: usize = 512 << 20;
/// Edges of a graph file that are in memory at a time: two stretches of rows, and blocks that were looked up.
const STREAMED: usize = 24 << 20;
/// From here on a column costs little more in a narrower panel.
const GOOD_WIDTH: usize = 16;
const LEAST_WIDTH: usize = 4;

impl Workload {
    /// Of a graph, with the usual settings.
    pub fn of_graph(graph: &Graph, signal_dim: usize, hops: usize) -> Workload {
        let (weighted, stored) = (graph.is_weighted(), graph.is_stored());
        let counts = Workload::of_counts(graph.num_nodes(), graph.num_edges());
        Workload { weighted, stored, signal_dim, width: signal_dim, hops, ..counts }
    }

    /// A graph file of these counts, without weights and names.
    pub(crate) fn of_counts(num_nodes: usize, num_edges: usize) -> Workload {
        Workload {
            num_nodes,
            num_edges,
            weighted: false,
            stored: true,
            id_bytes: 0,
            feature_bytes: 0,
            feature_columns: 0,
            signal_dim: 0,
            width: 0,
            hops: 0,
            storage: Storage::Single,
        }
    }

    /// Offsets, neighbours and weights.
    pub fn csr_bytes(&self) -> usize {
        8 * (self.num_nodes + 1) + if self.weighted { 16 } else { 8 } * self.num_edges
    }

    /// Edges of a graph file that are in memory at a time, and the checksums of all.
    fn streamed_bytes(&self) -> usize {
        let csr = self.csr_bytes();
        (STREAMED + csr / (BLOCK / 8)).min(csr)
    }

    fn entry_bytes(&self) -> usize {
        if self.storage == Storage::Half { 2 } else { 4 }
    }

    /// Two panels of so many columns; one where there is no second hop.
    fn panel_bytes(&self, columns: usize) -> usize {
        self.hops.min(2) * self.num_nodes * whole_vectors(columns) * self.entry_bytes()
    }

    /// How `Ã^K E` is computed within this memory, or the least that would be enough.
    pub fn propagation(&self, memory: Option<Memory>) -> std::result::Result<CostEstimate, Memory> {
        self.first_within(memory, |way, width| self.estimate(way, width))
    }

    /// The same, with `gathered` bytes of rows while panels are in memory, and `answered` bytes after them.
    pub(crate) fn propagation_of(
        &self,
        memory: Option<Memory>,
        gathered: usize,
        answered: usize,
    ) -> std::result::Result<CostEstimate, Memory> {
        self.first_within(memory, |way, width| {
            let estimate = self.estimate(way, width);
            let answers = gathered.max(answered.saturating_sub(estimate.panel_bytes()));
            estimate.with("answers", answers)
        })
    }

    /// The best way that fits.
    fn first_within(
        &self,
        memory: Option<Memory>,
        estimate: impl Fn(ExecutionMode, usize) -> CostEstimate,
    ) -> std::result::Result<CostEstimate, Memory> {
        self.first_of(&self.candidates(), memory, estimate)
    }

    /// The first of some ways that fits; the first of all without a limit.
    fn first_of(
        &self,
        candidates: &[(ExecutionMode, usize)],
        memory: Option<Memory>,
        estimate: impl Fn(ExecutionMode, usize) -> CostEstimate,
    ) -> std::result::Result<CostEstimate, Memory> {
        let mut all = candidates.iter().map(|(way, width)| estimate(*way, *width));
        match memory {
            None => Ok(all.next().expect("a way")),
            Some(memory) => match all.clone().find(|estimate| estimate.total() <= memory.bytes()) {
                Some(estimate) => Ok(estimate),
                None => Err(Memory::new(all.map(|estimate| estimate.total()).min().unwrap_or(0))),
            },
        }
    }

    /// The best first: wide panels read the edges less often, and narrow ones cost more per column.
    fn candidates(&self) -> Vec<(ExecutionMode, usize)> {
        let widths = || (1..self.signal_dim.div_ceil(GOOD_WIDTH)).rev().map(|count| count * GOOD_WIDTH);
        let narrow = || [8, LEAST_WIDTH].into_iter().filter(|&width| width < self.signal_dim);
        let mut candidates = vec![(ExecutionMode::InMemory, self.signal_dim)];
        candidates.extend(widths().map(|width| (ExecutionMode::Panels, width)));
        if self.stored {
            candidates.push((ExecutionMode::OutOfCore, self.signal_dim));
            candidates.extend(widths().chain(narrow()).map(|width| (ExecutionMode::OutOfCore, width)));
        }
        candidates.extend(narrow().map(|width| (ExecutionMode::Panels, width)));
        candidates
    }

    fn estimate(&self, way: ExecutionMode, panel_width: usize) -> CostEstimate {
        let edges = match way {
            ExecutionMode::OutOfCore => self.streamed_bytes(),
            ExecutionMode::InMemory | ExecutionMode::Panels => self.csr_bytes(),
        };
        let mut memory = vec![
            part("edges (CSR)", edges),
            part("operator", 4 * self.num_nodes),
            part(PANELS, self.panel_bytes(panel_width)),
            part("features", self.feature_bytes),
            part("ids", self.id_bytes),
            part("buffers", BUFFERS),
        ];
        memory.retain(|part| part.bytes > 0);
        let waiting = if panel_width < self.signal_dim { self.signal_dim } else { 0 };
        let mut disk = vec![
            part("spilled panels", 4 * self.num_nodes * waiting),
            part("propagated features", 4 * self.num_nodes * self.feature_columns),
        ];
        disk.retain(|part| part.bytes > 0);
        CostEstimate { way, panel_width, memory, disk }
    }

    /// Different ends of so many pairs, if they were drawn evenly; those of edges are fewer.
    pub(crate) fn distinct_ends(&self, pairs: usize) -> usize {
        let (drawn, n) = (2.0 * pairs as f64, self.num_nodes.max(1) as f64);
        (1.01 * n * (1.0 - (-drawn / n).exp())).min(n).min(drawn) as usize
    }

    /// How a training on sampled pairs is done within this memory, or the least that would be enough.
    pub(crate) fn sampled_training(
        &self,
        sampled: &SampledWorkload,
        memory: Option<Memory>,
    ) -> std::result::Result<CostEstimate, Memory> {
        self.first_within(memory, |way, width| self.sampled_estimate(sampled, way, width, memory.is_some()))
    }

    /// Pairs are drawn, rows are gathered, weights are learnt: what takes the most memory counts.
    fn sampled_estimate(
        &self,
        sampled: &SampledWorkload,
        way: ExecutionMode,
        panel_width: usize,
        is_limited: bool,
    ) -> CostEstimate {
        let SampledWorkload { positives, negatives_per_positive: ratio, evaluated } = *sampled;
        let ends = |pairs: usize| self.distinct_ends(pairs);
        let nodes = ends(positives * (1 + ratio)) + ends(evaluated);
        let (rows, pairs) = (4 * nodes * (self.signal_dim + self.feature_columns), positives * (1 + ratio) + evaluated);
        let (csr, operator) = (self.csr_bytes(), 4 * self.num_nodes);
        // A graph in memory stays there, in addition to the one without held-out edges.
        let stays_on_disk = self.stored && is_limited;
        let (held, streamed) = if stays_on_disk { (0, self.streamed_bytes()) } else { (csr, csr) };
        let edges = if way == ExecutionMode::OutOfCore { self.streamed_bytes() } else { csr };
        let lengths = if stays_on_disk { 4 * self.num_nodes } else { 0 };
        let widest = self.signal_dim.max(self.feature_columns);
        let panel = if is_limited { panel_width } else { widest };
        let drawing = vec![
            part("edges (CSR)", held + streamed + lengths),
            // Numbers of edges and their order, then the edges.
            part("pairs", (48 * positives).max(8 * positives + 16 * positives * ratio) + 8 * evaluated),
        ];
        let gathering = vec![
            part("edges (CSR)", held + edges),
            part("operator", operator),
            part(PANELS, self.panel_bytes(panel)),
            part("pairs", 8 * pairs + 4 * nodes),
            part("gathered rows", rows),
        ];
        let learning = vec![
            part("edges (CSR)", held),
            part("pairs", 8 * pairs + 8 * nodes),
            // As they were gathered, and as they are read.
            part("gathered rows", 2 * rows),
            part("representations", 4 * ends(evaluated) * self.width),
        ];
        let most = [drawing, gathering, learning].into_iter().max_by_key(|parts| total(parts)).expect("three");
        let kept = [part("features", self.feature_bytes), part("ids", self.id_bytes), part("buffers", BUFFERS)];
        let mut memory: Vec<PartSize> = most.into_iter().chain(kept).collect();
        memory.retain(|part| part.bytes > 0);
        let mut disk = vec![
            part("spilled panels", if panel < widest { 4 * self.num_nodes * widest } else { 0 }),
            part("graph without held-out edges", if stays_on_disk { csr } else { 0 }),
        ];
        disk.retain(|part| part.bytes > 0);
        CostEstimate { way, panel_width, memory, disk }
    }

    /// How Theorem 2 is measured on so many pairs within this memory, or the least that would be enough. Norms of rows, panels, and
    /// exact rows follow each other; `rows` is what one of the first or the last takes at least.
    pub fn certification(
        &self,
        pairs: usize,
        rows: usize,
        memory: Option<Memory>,
    ) -> std::result::Result<CostEstimate, Memory> {
        let ends = self.num_nodes.min(2 * pairs);
        self.first_within(memory, |way, width| {
            let mut estimate = self.estimate(way, width);
            for part in &mut estimate.memory {
                if part.part == PANELS {
                    part.bytes = part.bytes.max(rows);
                }
            }
            let bytes = 64 * pairs + 4 * ends * (1 + self.signal_dim);
            estimate.memory.push(PartSize { part: "pairs", bytes });
            estimate.memory.push(PartSize { part: "norms of rows", bytes: 8 * self.num_nodes });
            // Nothing waits: rows of the pairs alone are kept.
            estimate.disk.clear();
            estimate
        })
    }

    /// What makes a run take less memory.
    pub fn remedy(&self) -> &'static str {
        match (self.stored, self.storage) {
            (true, Storage::Single) => "reduce pairs-per-epoch or epochs, or set hop-storage to float16",
            (true, Storage::Half) => "reduce pairs-per-epoch, epochs or signal-dim",
            (false, _) => "write a graph file, whose edges can stay on disk, or set hop-storage to float16",
        }
    }

    /// The time that all hops take, given the nanoseconds of one edge and column.
    pub fn propagation_time(&self, nanoseconds: f64) -> Duration {
        let products = 2.0 * self.num_edges as f64 * (self.signal_dim * self.hops) as f64;
        Duration::from_secs_f64(1e-9 * products * nanoseconds)
    }
}

impl CostEstimate {
    /// Of a run that holds all that it needs.
    pub(crate) fn in_memory(panel_width: usize, memory: Vec<PartSize>) -> CostEstimate {
        CostEstimate { way: ExecutionMode::InMemory, panel_width, memory, disk: Vec::new() }
    }

    /// With something else in memory.
    pub(crate) fn with(mut self, what: &'static str, bytes: usize) -> CostEstimate {
        self.memory.extend((bytes > 0).then_some(part(what, bytes)));
        self
    }

    /// In memory altogether.
    pub fn total(&self) -> usize {
        total(&self.memory)
    }

    /// What panels take of it.
    pub(crate) fn panel_bytes(&self) -> usize {
        self.memory.iter().filter(|part| part.part == PANELS).map(|part| part.bytes).sum()
    }

    /// As the propagation takes it; panels wait in `folder`.
    pub fn plan(&self, folder: &Path) -> PanelPlan {
        let (reads_edges, progress) = (self.way == ExecutionMode::OutOfCore, PanelProgress::default());
        PanelPlan { width: self.panel_width, reads_edges, folder: folder.to_path_buf(), progress }
    }
}

impl fmt::Display for CostEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = Memory::new(self.total());
        write!(f, "{}, {} columns at a time; about {total} of memory", self.way.describe(), self.panel_width)
    }
}

/// The sum of some parts.
pub(crate) fn total(parts: &[PartSize]) -> usize {
    parts.iter().map(|part| part.bytes).sum()
}

/// The nanoseconds of one edge and column of a hop through a graph beyond the caches, measured here in about half a second.
pub(crate) fn measure_hop(columns: usize) -> Result<f64> {
    const NODES: usize = 1 << 20;
    const EDGES: usize = 1 << 21;
    let mut rng = Seeds::new(0).rng(Purpose::Generate, &[]);
    let edges: Vec<[u32; 2]> = (0..EDGES).map(|_| [rng.below(NODES) as u32, rng.below(NODES) as u32]).collect();
    let operator = Operator::symmetric(Graph::from_edges(NODES, &edges)?.0.into());
    let (x, mut y) = (Matrix::ones(NODES, columns), Matrix::zeros(NODES, columns));
    operator.apply(&x, &mut y);
    let started = Instant::now();
    operator.apply(&x, &mut y);
    // Less than one: a `Duration` would round it.
    Ok(1e9 * started.elapsed().as_secs_f64() / (2 * operator.graph().num_edges() * columns) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn billion() -> Workload {
        Workload { signal_dim: 32, width: 32, hops: 2, ..Workload::of_counts(50_000_000, 1_000_000_000) }
    }

    #[test]
    fn the_less_memory_the_narrower_the_panels() {
        let gib = |count: usize| Some(Memory::new(count << 30));
        let way = |workload: Workload, memory| workload.propagation(memory).map(|plan| (plan.way, plan.panel_width));
        assert_eq!(way(billion(), None), Ok((ExecutionMode::InMemory, 32)));
        assert_eq!(way(billion(), gib(24)), Ok((ExecutionMode::InMemory, 32)));
        assert_eq!(way(billion(), gib(16)), Ok((ExecutionMode::Panels, 16)));
        assert_eq!(way(billion(), gib(14)), Ok((ExecutionMode::OutOfCore, 32)));
        assert_eq!(way(billion(), gib(8)), Ok((ExecutionMode::OutOfCore, 16)));
        assert_eq!(way(billion(), gib(4)), Ok((ExecutionMode::OutOfCore, 8)));
        assert_eq!(way(Workload { storage: Storage::Half, ..billion() }, gib(8)), Ok((ExecutionMode::OutOfCore, 32)));
        let least = way(billion(), gib(1)).unwrap_err();
        assert_eq!(way(billion(), Some(least)).unwrap().1, LEAST_WIDTH);
        // Edges that are in memory stay there.
        let owned = Workload { stored: false, ..billion() };
        assert_eq!(way(owned, gib(14)), Ok((ExecutionMode::Panels, 8)));
        assert!(owned.propagation(gib(8)).is_err());
    }

    #[test]
    fn parts_are_those_of_the_arithmetic() {
        let found = billion().propagation(Some(Memory::new(8 << 30))).unwrap();
        let bytes = |part: &str| found.memory.iter().find(|found| found.part == part).map(|part| part.bytes);
        assert_eq!(bytes("panels of Ã^K E"), Some(2 * 50_000_000 * 16 * 4));
        assert_eq!(bytes("edges (CSR)"), Some(STREAMED + 8_400_000_008 / 2048));
        assert_eq!(found.disk, [PartSize { part: "spilled panels", bytes: 50_000_000 * 32 * 4 }]);
        assert_eq!(billion().csr_bytes(), 8_400_000_008);
        let measured = measure_hop(16).unwrap();
        assert!(measured > 0.0 && measured.fract() != 0.0 && measured < 1e3, "{measured}");
        assert_eq!(billion().propagation_time(0.25), Duration::from_secs(32));
    }

    fn bytes(parts: &[PartSize], part: &str) -> usize {
        parts.iter().filter(|found| found.part == part).map(|found| found.bytes).sum()
    }

    #[test]
    fn one_hop_needs_one_panel_and_weights_have_a_place() {
        let panels = |hops: usize| bytes(&Workload { hops, ..billion() }.propagation(None).unwrap().memory, PANELS);
        assert_eq!([panels(1), panels(2), panels(5)], [1, 2, 2].map(|count| count * 50_000_000 * 32 * 4));
        assert_eq!(Workload { weighted: true, ..billion() }.csr_bytes(), 16_400_000_008);
    }

    #[test]
    fn parts_of_a_training_on_sampled_pairs_are_those_of_the_arithmetic() {
        // So many pairs that every node is an end, of those to learn from and of those to evaluate on.
        let n = 100_000;
        let sampled = SampledWorkload { positives: 150_000, negatives_per_positive: 1, evaluated: 300_000 };
        let workload = Workload {
            num_nodes: n,
            num_edges: 1_000_000,
            stored: false,
            feature_bytes: 4 * 100 * n,
            feature_columns: 100,
            signal_dim: 64,
            ..billion()
        };
        let csr = 8 * (n + 1) + 8 * 1_000_000;
        let found = workload.sampled_estimate(&sampled, ExecutionMode::Panels, 8, true);
        // Rows are learnt from once they are gathered, and are there twice then: as they were gathered, and as they are read.
        assert_eq!(bytes(&found.memory, "gathered rows"), 2 * 4 * (2 * n) * (64 + 100));
        assert_eq!(bytes(&found.memory, "pairs"), 8 * 600_000 + 8 * (2 * n));
        assert_eq!(bytes(&found.memory, "representations"), 4 * n * 32);
        assert_eq!(bytes(&found.memory, "features"), 4 * 100 * n);
        assert_eq!(bytes(&found.memory, "edges (CSR)"), csr, "a graph in memory stays there");
        assert_eq!(found.disk, [PartSize { part: "spilled panels", bytes: 4 * n * 100 }]);
        let stored =
            Workload { stored: true, ..workload }.sampled_estimate(&sampled, ExecutionMode::OutOfCore, 8, true);
        assert_eq!(bytes(&stored.memory, "edges (CSR)"), 0, "one in a file is not needed any more");
        assert_eq!(bytes(&stored.disk, "graph without held-out edges"), csr);
    }

    #[test]
    fn a_certificate_takes_its_rows_or_its_panels_whichever_are_more() {
        let panels = |rows: usize| bytes(&billion().certification(40, rows, None).unwrap().memory, PANELS);
        let least = 2 * 50_000_000 * 32 * 4;
        assert_eq!([panels(1), panels(least + 7)], [least, least + 7]);
    }
}
