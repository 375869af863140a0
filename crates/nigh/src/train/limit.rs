//! Runs within a limit of memory: which can keep to any limit that a plan finds enough, and which are only checked against it.

use super::Resolved;
use super::pair_table::PairTable;
use crate::dataset::{Dataset, FixedSplit, Sample};
use crate::display::byte_size;
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::models::decoder::PAIRS_FOR_A_HEAD;
use crate::models::{Architecture, Separation, why_in_memory};
use crate::propagation::Execution;
use crate::propagation::Proximities;
use crate::propagation::walks::{self, ExactCost};
use crate::propagation::{CostEstimate, PairWorkload, PartSize, Workload, total};
use crate::source::{Refresh, Source};
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
    /// How a training with these settings, or its evaluation, is separated into propagation and learning. One in memory is not planned,
    /// but only checked against a limit.
    pub(crate) fn separation(&self, dataset: &Dataset, architecture: &Architecture) -> Separation {
        let separation = architecture.separation();
        let of_settings = match separation {
            Separation::Rows { .. } => self.against_links(dataset).or_else(|| self.against_rows(dataset, architecture)),
            Separation::Pairs => self.against_links(dataset).or_else(|| match self.mask_training_pairs {
                Masking::Folds => None,
                Masking::Batch | Masking::None => Some("mask-training-pairs is not folds"),
            }),
            Separation::InMemory(_) => None,
        };
        of_settings.map_or(separation, Separation::InMemory)
    }

    /// What speaks against a plan for links with random held-out edges.
    fn against_links(&self, dataset: &Dataset) -> Option<&'static str> {
        let is_given = |split: &FixedSplit| split.held_out().is_some() && self.split == SplitChoice::Given;
        if self.task != Task::LinkPrediction {
            Some("only link-prediction is planned")
        } else if dataset.samples.len() != 1 {
            Some("there are several graphs")
        } else if self.evaluation_negatives.pooled().is_none() {
            Some("every positive has negatives of its own in the evaluation")
        } else if dataset.fixed_split.as_ref().is_some_and(is_given) {
            Some("the split is given")
        } else {
            None
        }
    }

    /// What speaks against sampled pairs whose rows are gathered.
    fn against_rows(&self, dataset: &Dataset, architecture: &Architecture) -> Option<&'static str> {
        let sample = &dataset.samples[0];
        if self.pairs_per_epoch == 0 {
            Some("pairs-per-epoch is 0, so that all edges are learnt from")
        } else if self.pairs_per_epoch >= sample.graph.num_edges() {
            Some("pairs-per-epoch is not below the number of edges")
        } else if self.refresh != Refresh::Fixed {
            Some("the signal is resampled in every epoch")
        } else if self.mask_training_pairs != Masking::None {
            Some("mask-training-pairs is not none")
        } else if self.test_edges != TestEdges::Training {
            Some("test-edges is not training")
        } else if architecture.maps_first(&sample.graph, &sample.features).is_some() {
            Some("features are so wide and sparse that they are multiplied by a learnt weight before hops")
        } else {
            None
        }
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
        let estimate = match self.separation(dataset, architecture) {
            Separation::Rows { .. } => workload.sampled_training(&self.sampled_workload(workload.num_edges), memory),
            Separation::Pairs => {
                workload.pair_training(&self.pair_workload(&dataset.samples[0], architecture, run), memory)
            }
            Separation::InMemory(_) => return Ok(None),
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
        match total(&needed) <= memory.bytes() {
            true => Ok(Execution::default()),
            false => Err(beyond(memory, &needed, &self.model, self.separation(dataset, architecture))),
        }
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

/// A run in memory that does not fit, with its parts and what would.
pub(crate) fn beyond(memory: Memory, needed: &[PartSize], model: &str, separation: Separation) -> Error {
    let parts: Vec<String> =
        needed.iter().map(|part| format!("{} {}", part.part, byte_size(part.bytes as u64))).collect();
    let reason = separation.in_memory_reason().map_or(String::new(), |reason| why_in_memory(model, reason));
    let remedy = format!("{}; {reason}; a smaller signal-dim or width needs less", parts.join(", "));
    memory.too_little(Memory::new(total(needed)), &remedy)
}
