//! Trainings of models that compare pairs before they learn: walks, degrees, shared neighbours and similarities of chosen pairs. They need
//! the rows of the ends of pairs at each hop and nothing else, so they keep to any memory that two panels fit.

use super::Resolved;
use super::pair_table::PairTable;
use super::resolve::PAIRS_FOR_A_HEAD;
use crate::dataset::{Dataset, FixedSplit, Sample};
use crate::model::Architecture;
use crate::plan::PairWorkload;
use crate::source::Proximities;
use crate::source::walks::{self, ExactCost};
use crate::task::{Folds, MOST_LISTED, Masking, SplitChoice, Task, TestEdges, num_held_out};

impl Resolved {
    /// What such a training takes in addition to its graph, if it is one: of links of one graph, with a random split.
    pub(crate) fn pair_workload(
        &self,
        dataset: &Dataset,
        sample: &Sample,
        architecture: &Architecture,
    ) -> Option<PairWorkload> {
        let is_given = |split: &FixedSplit| split.held_out().is_some() && self.split == SplitChoice::Given;
        let keeps = self.task == Task::LinkPrediction
            && self.mask_training_pairs == Masking::Folds
            && self.evaluation_negatives.pooled().is_some()
            && !dataset.fixed_split.as_ref().is_some_and(is_given)
            && architecture.compares_first();
        if !keeps {
            return None;
        }
        let num_edges = sample.graph.num_edges();
        let held_out = num_held_out(num_edges, &self.split()).ok()?;
        let ratios = [self.valid_negative_ratio, self.test_negative_ratio].map(f64::from);
        let evaluated =
            held_out.iter().zip(ratios).map(|(&count, ratio)| (count as f64 * (1.0 + ratio)).ceil() as usize);
        let Folds { size, count } = Folds::of(num_edges - held_out.iter().sum::<usize>(), PAIRS_FOR_A_HEAD);
        let draws = PairTable::draws(size * count * self.negatives_per_positive, self.epochs);
        Some(PairWorkload {
            is_large: num_edges > MOST_LISTED,
            holds_out: true,
            folds: count,
            fold_pairs: size * (1 + draws * self.negatives_per_positive),
            has_test_view: self.test_edges == TestEdges::TrainingAndValidation,
            ..self.answered_pairs(sample, architecture, evaluated.sum())
        })
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
