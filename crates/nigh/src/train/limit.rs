//! Runs within a limit of memory: which can keep to any limit that a plan finds enough, and which are only checked against it.

use super::Resolved;
use super::pair_table::PairTable;
use crate::dataset::{Dataset, Features, FixedSplit, Sample};
use crate::display::byte_size;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::memory::Memory;
use crate::models::decoder::PAIRS_FOR_A_HEAD;
use crate::models::{Architecture, Dimensions, Separation, why_in_memory};
use crate::propagation::walks::{self, ExactCost};
use crate::propagation::{
    CostEstimate, Execution, Footprint, PairWorkload, PartSize, Proximities, WholeWorkload, Workload, total,
};
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

/// A graph with its features, as far as the cost of a run depends on them.
#[derive(Debug, Clone)]
pub(crate) struct GraphSize<'a> {
    /// The graph; none if only its counts are known.
    pub graph: Option<&'a Graph>,
    pub features: Features,
    /// Without the settings of a run.
    pub workload: Workload,
}

impl GraphSize<'_> {
    pub fn of(sample: &Sample) -> GraphSize<'_> {
        let (id_bytes, feature_bytes) = (sample.ids.num_bytes(), sample.features.num_bytes());
        GraphSize {
            graph: Some(&sample.graph),
            features: sample.features.clone(),
            workload: Workload { id_bytes, feature_bytes, ..Workload::of_graph(&sample.graph, 0, 0) },
        }
    }

    pub fn is_sparse(&self) -> bool {
        matches!(self.features, Features::Sparse(_))
    }

    /// Bytes of the rows of exact proximities, where there is a graph to count walks in.
    fn exact_bytes(&self, longest_walk: usize) -> Option<usize> {
        ExactCost::within(self.graph?, longest_walk, |_| true).map(|cost| cost.bytes as usize)
    }
}

/// The data of a run, as far as its cost depends on them.
#[derive(Debug, Clone)]
pub(crate) struct DataSize<'a> {
    pub graphs: Vec<GraphSize<'a>>,
    pub dimensions: Dimensions,
    /// Whether the data come with pairs that are held out.
    has_held_out: bool,
}

impl DataSize<'_> {
    pub fn of(dataset: &Dataset) -> DataSize<'_> {
        DataSize {
            graphs: dataset.samples.iter().map(GraphSize::of).collect(),
            dimensions: Dimensions::of(dataset),
            has_held_out: dataset.fixed_split.as_ref().is_some_and(|split: &FixedSplit| split.held_out().is_some()),
        }
    }

    /// A graph file of these counts, without features.
    pub fn of_counts(nodes: usize, edges: usize) -> Result<DataSize<'static>> {
        if nodes == 0 || nodes > 1 << 31 {
            return Err(Error::setting("nodes", nodes, "expected a whole number from 1 to 2^31"));
        }
        let workload = Workload::of_counts(nodes, edges);
        let graph = GraphSize { graph: None, features: Features::Constant(nodes), workload };
        let dimensions = Dimensions { nodes, edges, ..Dimensions::default() };
        Ok(DataSize { graphs: vec![graph], dimensions, has_held_out: false })
    }
}

impl Resolved {
    /// How a training with these settings, or its evaluation, is separated into propagation and learning. One in memory is not planned,
    /// but only checked against a limit.
    pub(crate) fn separation(&self, data: &DataSize<'_>, architecture: &Architecture) -> Separation {
        let separation = architecture.separation();
        let of_settings = match separation {
            Separation::Rows { .. } => self.against_links(data).or_else(|| self.against_rows(data, architecture)),
            Separation::Pairs => self.against_links(data).or(match self.mask_training_pairs {
                Masking::Folds => None,
                Masking::Batch | Masking::None => Some("mask-training-pairs is not folds"),
            }),
            Separation::InMemory(_) => None,
        };
        of_settings.map_or(separation, Separation::InMemory)
    }

    /// What speaks against a plan for links with random held-out edges.
    fn against_links(&self, data: &DataSize<'_>) -> Option<&'static str> {
        if self.task != Task::LinkPrediction {
            Some("only link-prediction is planned")
        } else if data.graphs.len() != 1 {
            Some("there are several graphs")
        } else if self.evaluation_negatives.pooled().is_none() {
            Some("every positive has negatives of its own in the evaluation")
        } else if data.has_held_out && self.split == SplitChoice::Given {
            Some("the split is given")
        } else {
            None
        }
    }

    /// What speaks against sampled pairs whose rows are gathered.
    fn against_rows(&self, data: &DataSize<'_>, architecture: &Architecture) -> Option<&'static str> {
        let size = &data.graphs[0];
        if self.pairs_per_epoch == 0 {
            Some("pairs-per-epoch is 0, so that all edges are learnt from")
        } else if self.pairs_per_epoch >= size.workload.num_edges {
            Some("pairs-per-epoch is not below the number of edges")
        } else if self.refresh != Refresh::Fixed {
            Some("the signal is resampled in every epoch")
        } else if self.mask_training_pairs != Masking::None {
            Some("mask-training-pairs is not none")
        } else if self.test_edges != TestEdges::Training {
            Some("test-edges is not training")
        } else if size.graph.is_some_and(|graph| architecture.maps_first(graph, &size.features).is_some()) {
            Some("features are so wide and sparse that they are multiplied by a learnt weight before hops")
        } else {
            None
        }
    }

    /// What a run takes and how it is done, within a limit or without one. A run in memory has no plan, but is checked against the
    /// limit. An error if the limit is too low.
    pub(crate) fn estimate(
        &self,
        data: &DataSize<'_>,
        architecture: &Architecture,
        run: PlannedRun,
        memory: Option<Memory>,
    ) -> Result<CostEstimate> {
        let separation = self.separation(data, architecture);
        let size = &data.graphs[0];
        let workload = self.workload(size, architecture);
        let estimate = match separation {
            Separation::Rows { .. } => workload.sampled_training(&self.sampled_workload(workload.num_edges), memory),
            Separation::Pairs => {
                let footprint = architecture.footprint(&self.shape(data.dimensions))?;
                workload.pair_training(&self.pair_workload(size, architecture, footprint, run), memory)
            }
            Separation::InMemory(_) => return self.in_memory(data, architecture, run, separation, memory),
        };
        estimate.map_err(|least| memory.unwrap_or(least).too_little(least, workload.remedy()))
    }

    /// How the evaluation of a trained model keeps to a limit. An error if the limit is too low.
    pub(crate) fn evaluation_within(
        &self,
        dataset: &Dataset,
        architecture: &Architecture,
        memory: Memory,
        folder: &Path,
    ) -> Result<Execution> {
        let data = DataSize::of(dataset);
        let estimate = self.estimate(&data, architecture, PlannedRun::Evaluation, Some(memory))?;
        Ok(match self.separation(&data, architecture) {
            Separation::InMemory(_) => Execution::default(),
            _ => Execution::of(&estimate, folder),
        })
    }

    /// What a run takes that represents all nodes at once, on the largest of the graphs. An error if that is beyond the limit.
    pub(crate) fn in_memory(
        &self,
        data: &DataSize<'_>,
        architecture: &Architecture,
        run: PlannedRun,
        separation: Separation,
        memory: Option<Memory>,
    ) -> Result<CostEstimate> {
        let footprint = architecture.footprint(&self.shape(data.dimensions))?;
        let of_graph = |size: &GraphSize<'_>| {
            let workload = self.workload(size, architecture);
            workload.whole_run(&self.whole_workload(size, &footprint, run))
        };
        let needed = data.graphs.iter().map(of_graph).max_by_key(|parts| total(parts)).unwrap_or_default();
        match memory {
            Some(memory) if total(&needed) > memory.bytes() => Err(beyond(memory, &needed, &self.model, separation)),
            _ => Ok(CostEstimate::in_memory(self.signal_dim, needed)),
        }
    }

    fn whole_workload(&self, size: &GraphSize<'_>, footprint: &Footprint, run: PlannedRun) -> WholeWorkload {
        let num_edges = size.workload.num_edges;
        let (pairs, evaluated) = match self.task {
            Task::NodeClassification => (0, 0),
            _ => (num_edges, self.num_evaluated(num_edges)),
        };
        WholeWorkload {
            footprint: *footprint,
            is_sparse: size.is_sparse(),
            trains: run == PlannedRun::Training,
            holds_out: self.task == Task::LinkPrediction,
            pairs,
            batch: self.batch_of(pairs),
            negatives_per_positive: self.negatives_per_positive,
            evaluated,
        }
    }

    /// Positive pairs of a step, of this many.
    fn batch_of(&self, pairs: usize) -> usize {
        let sizes = [self.batch_size, self.pairs_per_epoch].into_iter().filter(|&size| size > 0);
        sizes.fold(pairs, usize::min)
    }

    /// Pairs of validation and test, negative ones included. Too few edges for a split are an error when it is drawn.
    pub(super) fn num_evaluated(&self, num_edges: usize) -> usize {
        let held_out = num_held_out(num_edges, &self.split()).unwrap_or_default();
        let ratios = [self.valid_negative_ratio, self.test_negative_ratio].map(f64::from);
        held_out.iter().zip(ratios).map(|(&count, ratio)| (count as f64 * (1.0 + ratio)).ceil() as usize).sum()
    }

    fn workload(&self, size: &GraphSize<'_>, architecture: &Architecture) -> Workload {
        let uses_features = architecture.uses(Source::Features);
        Workload {
            feature_columns: if uses_features { size.features.cols() } else { 0 },
            signal_dim: self.signal_dim,
            width: self.width,
            hops: self.hops,
            storage: self.hop_storage,
            ..size.workload
        }
    }

    fn pair_workload(
        &self,
        size: &GraphSize<'_>,
        architecture: &Architecture,
        footprint: Footprint,
        run: PlannedRun,
    ) -> PairWorkload {
        let num_edges = size.workload.num_edges;
        let held_out = num_held_out(num_edges, &self.split()).unwrap_or_default();
        let Folds { size: fold, count } = Folds::of(num_edges - held_out.iter().sum::<usize>(), PAIRS_FOR_A_HEAD);
        let draws = PairTable::draws(fold * count * self.negatives_per_positive, self.epochs);
        let fold_pairs = fold * (1 + draws * self.negatives_per_positive);
        PairWorkload {
            is_large: num_edges > MOST_LISTED,
            holds_out: true,
            folds: if run == PlannedRun::Training { count } else { 0 },
            fold_pairs: if run == PlannedRun::Training { fold_pairs } else { 0 },
            has_test_view: self.test_edges == TestEdges::TrainingAndValidation,
            ..self.answered_pairs(size, architecture, footprint, self.num_evaluated(num_edges))
        }
    }

    /// What it takes to answer for this many pairs of a graph.
    pub(crate) fn answered_pairs(
        &self,
        size: &GraphSize<'_>,
        architecture: &Architecture,
        footprint: Footprint,
        num_pairs: usize,
    ) -> PairWorkload {
        let exact = match self.proximities {
            Proximities::Exact => size.exact_bytes(self.longest_walk),
            Proximities::Estimated => None,
        };
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
            footprint,
            directions: if footprint.output > 0 { size.features.count() } else { 0 },
            batch: self.batch_size,
            negatives_per_positive: self.negatives_per_positive,
        }
    }
}

/// A run in memory that does not fit, with its parts and what would.
fn beyond(memory: Memory, needed: &[PartSize], model: &str, separation: Separation) -> Error {
    let parts: Vec<String> =
        needed.iter().map(|part| format!("{} {}", part.part, byte_size(part.bytes as u64))).collect();
    let reason = separation.in_memory_reason().map_or(String::new(), |reason| why_in_memory(model, reason));
    let remedy = format!("{}; {reason}; a smaller signal-dim or width needs less", parts.join(", "));
    memory.too_little(Memory::new(total(needed)), &remedy)
}
