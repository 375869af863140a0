//! Runs within a limit of memory: which can keep to any limit that a plan finds enough, and which are only checked against it.

use super::Resolved;
use super::pair_table::PairTable;
use super::resolve::PAIRS_FOR_A_HEAD;
use crate::dataset::{Dataset, FixedSplit, Sample};
use crate::display::byte_size;
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::model::Architecture;
use crate::propagation::Execution;
use crate::propagation::Proximities;
use crate::propagation::walks::{self, ExactCost};
use crate::propagation::{CostEstimate, PairWorkload, PartSize, Workload, total};
use crate::source::Source;
use crate::task::{Folds, MOST_LISTED, Masking, SplitChoice, Task, TestEdges, num_held_out};
use std::path::Path;

/// What is done with a graph of which edges are held out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlannedRun {
    Training,
    /// Of a trained model, on validation and test.
    Evaluation,
}

impl Resolved {
    /// Whether such a training, or its evaluation, keeps to any limit that a plan finds enough: message passing comes before everything that
    /// is learnt, and the pairs that are asked about are drawn at random.
    pub(crate) fn has_plan(&self, dataset: &Dataset, architecture: &Architecture) -> bool {
        self.is_sampled(dataset, architecture) || self.compares_pairs(dataset, architecture)
    }

    /// How a run is done within a limit, or without one; `None` if it has no plan. An error if the limit is too low.
    pub(crate) fn plan(
        &self,
        dataset: &Dataset,
        architecture: &Architecture,
        run: PlannedRun,
        memory: Option<Memory>,
    ) -> Result<Option<CostEstimate>> {
        let workload = self.workload(&dataset.samples[0], architecture);
        let estimate = if self.is_sampled(dataset, architecture) {
            workload.sampled_training(&self.sampled_workload(workload.num_edges), memory)
        } else if self.compares_pairs(dataset, architecture) {
            workload.pair_training(&self.pair_workload(&dataset.samples[0], architecture, run), memory)
        } else {
            return Ok(None);
        };
        estimate.map(Some).map_err(|least| memory.unwrap_or(least).too_little(least, workload.remedy()))
    }

    /// How the evaluation of a trained model keeps to a limit. An error if the limit is too low.
    pub(crate) fn evaluation_within(
        &self,
        dataset: &Dataset,
        architecture: &Architecture,
        memory: Memory,
        folder: &Path,
    ) -> Result<Execution> {
        if let Some(plan) = self.plan(dataset, architecture, PlannedRun::Evaluation, Some(memory))? {
            return Ok(Execution::of(&plan, folder));
        }
        let needed = self.needed_in_memory(dataset, architecture);
        if total(&needed) <= memory.bytes() { Ok(Execution::default()) } else { Err(beyond(memory, &needed)) }
    }

    /// What a training takes that represents all nodes at once, on the largest of the graphs.
    pub(crate) fn needed_in_memory(&self, dataset: &Dataset, architecture: &Architecture) -> Vec<PartSize> {
        let of_graph = |sample: &Sample| {
            let workload = self.workload(sample, architecture);
            let pairs = match (self.task.is_about_pairs(), self.pairs_per_epoch) {
                (false, _) => 0,
                (true, 0) => workload.num_edges,
                (true, pairs) => pairs.min(workload.num_edges),
            };
            workload.training(pairs)
        };
        dataset.samples.iter().map(of_graph).max_by_key(|parts| total(parts)).unwrap_or_default()
    }

    fn workload(&self, sample: &Sample, architecture: &Architecture) -> Workload {
        let uses_features = architecture.uses(Source::Features);
        Workload {
            id_bytes: sample.ids.num_bytes(),
            feature_bytes: sample.features.num_bytes(),
            feature_columns: if uses_features { sample.features.cols() } else { 0 },
            width: self.width,
            storage: self.hop_storage,
            ..Workload::of_graph(&sample.graph, self.signal_dim, self.hops)
        }
    }

    /// Whether pairs are compared over rows that message passing gives, and numbers of pairs are all that is learnt from: of links of one
    /// graph, with a random split.
    fn compares_pairs(&self, dataset: &Dataset, architecture: &Architecture) -> bool {
        let is_given = |split: &FixedSplit| split.held_out().is_some() && self.split == SplitChoice::Given;
        dataset.samples.len() == 1
            && self.task == Task::LinkPrediction
            && self.mask_training_pairs == Masking::Folds
            && self.evaluation_negatives.pooled().is_some()
            && !dataset.fixed_split.as_ref().is_some_and(is_given)
            && architecture.compares_first()
    }

    fn pair_workload(&self, sample: &Sample, architecture: &Architecture, run: PlannedRun) -> PairWorkload {
        let num_edges = sample.graph.num_edges();
        // Too few edges for a split are an error when it is drawn.
        let held_out = num_held_out(num_edges, &self.split()).unwrap_or_default();
        let ratios = [self.valid_negative_ratio, self.test_negative_ratio].map(f64::from);
        let evaluated =
            held_out.iter().zip(ratios).map(|(&count, ratio)| (count as f64 * (1.0 + ratio)).ceil() as usize);
        let Folds { size, count } = Folds::of(num_edges - held_out.iter().sum::<usize>(), PAIRS_FOR_A_HEAD);
        let draws = PairTable::draws(size * count * self.negatives_per_positive, self.epochs);
        PairWorkload {
            is_large: num_edges > MOST_LISTED,
            holds_out: true,
            folds: if run == PlannedRun::Training { count } else { 0 },
            fold_pairs: if run == PlannedRun::Training { size * (1 + draws * self.negatives_per_positive) } else { 0 },
            has_test_view: self.test_edges == TestEdges::TrainingAndValidation,
            ..self.answered_pairs(sample, architecture, evaluated.sum())
        }
    }

    /// What it takes to answer for this many pairs of a graph.
    pub(crate) fn answered_pairs(
        &self,
        sample: &Sample,
        architecture: &Architecture,
        num_pairs: usize,
    ) -> PairWorkload {
        let exact = || ExactCost::within(&sample.graph, self.longest_walk, |_| true).map(|cost| cost.bytes as usize);
        let exact = if self.proximities == Proximities::Exact { exact() } else { None };
        let width = architecture.directions_width(sample.features.count());
        PairWorkload {
            is_large: exact.is_none(),
            holds_out: false,
            exact,
            folds: 0,
            fold_pairs: 0,
            evaluated: num_pairs,
            has_test_view: false,
            numbers: architecture.pair_sources.iter().map(|source| source.width(self.longest_walk)).sum(),
            hops: self.longest_walk.div_ceil(2),
            products: walks::lengths(self.longest_walk).count(),
            represented: [width * (self.hops + 1), width],
        }
    }
}

/// A run that does not fit, with its parts and what would.
pub(crate) fn beyond(memory: Memory, needed: &[PartSize]) -> Error {
    let parts: Vec<String> =
        needed.iter().map(|part| format!("{} {}", part.part, byte_size(part.bytes as u64))).collect();
    let remedy = format!(
        "{}; a model that propagates before it learns keeps to any memory if the edges are in a graph file (`nigh data convert`):          smp-proximity, or smp-linear with pairs-per-epoch; a smaller signal-dim or width needs less",
        parts.join(", ")
    );
    memory.too_little(Memory::new(total(needed)), &remedy)
}
