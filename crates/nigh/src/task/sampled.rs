//! Link prediction on a sample of the edges, for graphs whose edges are too many to list: which are held out, and all pairs that
//! a training will ask about. They are known before it starts, so that only their nodes have to be represented.

use super::negatives::{NegativeRule, check_non_edges, draw_once};
use super::{EvaluationPairs, PairSampler, SplitSettings, hash_pairs, sizes};
use crate::error::{Error, Result, SplitProblem};
use crate::graph::Graph;
use crate::seeds::{Purpose, Seeds, Stream};
use rayon::prelude::*;
use sha2::Sha256;
use std::sync::Arc;

/// Edges that are held out for validation and for the test, at most: AUC is then within 0.001.
pub const MOST_HELD_OUT: usize = 100_000;

/// Edges that a split lists, at most: of more, a model that learns from some pairs chooses them by their numbers.
pub const MOST_LISTED: usize = 3_000_000;

/// Which pairs a training asks about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampling {
    /// Epochs, if none is left out.
    pub epochs: usize,
    /// Positive pairs of each.
    pub pairs_per_epoch: usize,
    /// Positive pairs of a step; 0 for all of an epoch.
    pub batch_size: usize,
    /// Negative pairs for each positive one.
    pub negatives_per_positive: usize,
}

/// All pairs that a training learns from, epoch by epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawnPairs {
    /// Positive pairs of an epoch.
    pub per_epoch: usize,
    /// Pairs that belong together.
    pub positive: Vec<[u32; 2]>,
    /// As many for each of these.
    pub negative: Vec<[u32; 2]>,
}

impl DrawnPairs {
    /// The positive and the negative pairs of a step.
    pub(crate) fn batch(&self, epoch: usize, batch: usize, size: usize) -> [&[[u32; 2]]; 2] {
        let first = (epoch - 1) * self.per_epoch;
        let start = first + batch * size;
        let end = (start + size).min(first + self.per_epoch);
        let negatives = self.negative.len() / self.positive.len().max(1);
        [&self.positive[start..end], &self.negative[start * negatives..end * negatives]]
    }

    pub(super) fn hash(&self, hash: &mut Sha256) {
        hash_pairs(&self.positive, hash);
        hash_pairs(&self.negative, hash);
    }
}

/// What one repeat asks about.
#[derive(Debug, Clone, PartialEq)]
pub struct SampledPairs {
    /// To learn from.
    pub train: DrawnPairs,
    /// To choose the epoch by.
    pub valid: EvaluationPairs,
    /// To report.
    pub test: EvaluationPairs,
}

/// The edges of validation and test: the last of the shuffled edges, as in a split that lists them all, but no more than
/// [`MOST_HELD_OUT`] each.
pub(crate) fn held_out_edges(
    known: &Graph,
    settings: &SplitSettings,
    seeds: Seeds,
) -> std::result::Result<[Vec<[u32; 2]>; 2], SplitProblem> {
    let [valid, test] = num_held_out(known.num_edges(), settings)?;
    check_non_edges(known, settings, &[valid, test])?;
    let numbers = seeds.rng(Purpose::Split, &[0]).shuffled_last(valid + test, known.num_edges());
    let mut valid_edges = edges_at(known, &numbers);
    let test_edges = valid_edges.split_off(valid);
    Ok([valid_edges, test_edges])
}

/// Edges that are held out of so many.
pub(crate) fn num_held_out(
    num_edges: usize,
    settings: &SplitSettings,
) -> std::result::Result<[usize; 2], SplitProblem> {
    let [_, valid, test] = sizes(num_edges, settings, "edges")?;
    Ok([valid, test].map(|count| count.min(MOST_HELD_OUT)))
}

/// The edges of these numbers, in any order.
pub(crate) fn edges_at(graph: &Graph, numbers: &[usize]) -> Vec<[u32; 2]> {
    let mut order: Vec<(usize, u32)> = numbers.iter().copied().zip(0..).collect();
    order.par_sort_unstable();
    let sorted: Vec<usize> = order.iter().map(|of| of.0).collect();
    let found = graph.edges_at(&sorted);
    drop(sorted);
    let mut edges = vec![[0; 2]; numbers.len()];
    order.iter().zip(found).for_each(|(&(_, at), edge)| edges[at as usize] = edge);
    edges
}

/// All pairs of a repeat. `known` has all edges, `visible` those that are not held out.
pub(crate) fn sample_pairs(
    known: &Arc<Graph>,
    visible: &Arc<Graph>,
    held_out: [Vec<[u32; 2]>; 2],
    settings: &SplitSettings,
    sampling: Sampling,
    seeds: Seeds,
) -> Result<SampledPairs> {
    let mut part = 0;
    let [valid, test] = held_out.map(|positive| {
        let stream = seeds.stream(Purpose::Negatives, &[0, part as u64 + 1]);
        let negative = draw_once(known, settings, part, positive.len(), stream);
        part += 1;
        EvaluationPairs::pooled(positive, negative)
    });
    let rule = NegativeRule::for_training(settings.train_negatives, visible.clone());
    let train = draw(visible, &PairSampler::new(visible.num_nodes(), rule), sampling, seeds)?;
    Ok(SampledPairs { train, valid, test })
}

/// Every epoch has other edges, each of them once; negatives are at the addresses of the steps.
fn draw(visible: &Graph, negatives: &PairSampler, sampling: Sampling, seeds: Seeds) -> Result<DrawnPairs> {
    let Sampling { epochs, pairs_per_epoch, batch_size, negatives_per_positive } = sampling;
    let per_epoch = pairs_per_epoch.min(visible.num_edges());
    let most = u32::MAX as usize / negatives_per_positive.max(1);
    if epochs.saturating_mul(per_epoch) > most {
        let problem = format!("in {epochs} epochs that makes more than {most} pairs, which are drawn beforehand");
        return Err(Error::setting("pairs-per-epoch", pairs_per_epoch, problem));
    }
    let of_epoch =
        |epoch: usize| seeds.rng(Purpose::Order, &[epoch as u64, 0]).chosen_first(per_epoch, visible.num_edges());
    let numbers: Vec<usize> = (1..=epochs).into_par_iter().flat_map_iter(of_epoch).collect();
    let positive = edges_at(visible, &numbers);
    drop(numbers);
    let size = if batch_size == 0 { per_epoch.max(1) } else { batch_size };
    let steps = (1..=epochs).flat_map(|epoch| {
        (0..per_epoch.div_ceil(size)).map(move |batch| {
            let stream = seeds.stream(Purpose::Negatives, &[0, epoch as u64, batch as u64]);
            (stream, negatives_per_positive * size.min(per_epoch - batch * size))
        })
    });
    let steps: Vec<(Stream, usize)> = steps.collect();
    Ok(DrawnPairs { per_epoch, positive, negative: negatives.draw_each(&steps) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::generate::{PowerLaw, power_law};
    use crate::dataset::{Dataset, GraphStore};
    use crate::task::{Negatives, Split};
    use crate::train::Config;
    use sha2::Digest;
    use std::collections::HashSet;

    fn graph() -> Graph {
        power_law(&PowerLaw::new(1_000, 5_000), 3).unwrap().graph
    }

    const SAMPLING: Sampling = Sampling { epochs: 4, pairs_per_epoch: 700, batch_size: 300, negatives_per_positive: 2 };

    fn sampled(known: &Arc<Graph>, negatives: Negatives) -> (Graph, SampledPairs) {
        let dataset = Dataset::from_graph("x", graph());
        let settings = Config { train_negatives: negatives.into(), ..Config::default() };
        let settings = settings.resolve(&dataset).unwrap().split();
        let seeds = Seeds::new(5);
        let held_out = held_out_edges(known, &settings, seeds).unwrap();
        let visible = known.without_edges(&held_out.concat());
        let pairs = sample_pairs(known, &visible.clone().into(), held_out, &settings, SAMPLING, seeds).unwrap();
        (visible, pairs)
    }

    #[test]
    fn what_is_held_out_is_what_a_split_of_all_edges_holds_out() {
        let dataset = Dataset::from_graph("x", graph());
        let config = Config::default().resolve(&dataset).unwrap();
        let Split::Pairs(listed) = config.split().split(&dataset, Seeds::new(5)).unwrap() else { panic!("pairs") };
        let (visible, pairs) = sampled(&Arc::new(graph()), Negatives::Exact);
        assert_eq!((&pairs.valid, &pairs.test), (&listed.valid[0].question, &listed.test()[0].question));
        assert_eq!(visible.digest(), listed.train[0].view.graph().digest());
    }

    #[test]
    fn pairs_of_an_epoch_are_edges_once_each_and_negatives_those_of_their_steps() {
        let (visible, SampledPairs { train, .. }) = sampled(&Arc::new(graph()), Negatives::Exact);
        let visible = Arc::new(visible);
        let rule = NegativeRule::for_training(Negatives::Exact, visible.clone());
        let sampler = PairSampler::new(1_000, rule);
        let mut before = Vec::new();
        for epoch in 1..=4 {
            let mut edges: HashSet<[u32; 2]> = HashSet::new();
            for batch in 0..3 {
                let [positive, negative] = train.batch(epoch, batch, 300);
                assert_eq!((positive.len(), negative.len()), ([300, 300, 100][batch], [600, 600, 200][batch]));
                assert!(positive.iter().all(|&[a, b]| visible.has_edge(a, b)));
                edges.extend(positive);
                let mut drawn = Vec::new();
                let address = [0, epoch as u64, batch as u64];
                sampler.draw(Seeds::new(5).stream(Purpose::Negatives, &address), negative.len(), &mut drawn);
                assert_eq!(negative, drawn);
            }
            assert_eq!(edges.len(), 700);
            assert!(!before.contains(&edges));
            before.push(edges);
        }
    }

    #[test]
    fn a_graph_file_is_asked_for_the_same_pairs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.nigh");
        Dataset::from_graph("x", graph()).store(&path).unwrap();
        let known = Arc::new(GraphStore::open(&path).unwrap().graph().clone());
        for negatives in [Negatives::Exact, Negatives::Loose] {
            let (visible, expected) = sampled(&Arc::new(graph()), negatives);
            let hidden = [expected.valid.positive.clone(), expected.test.positive.clone()].concat();
            let on_disk = crate::propagation::Execution::on_disk(Some(folder.path()));
            let stored = Arc::new(on_disk.without(&known, &hidden).unwrap());
            assert!(stored.is_stored() && stored.digest() == visible.digest());
            let dataset = Dataset::from_graph("x", graph());
            let settings = Config { train_negatives: negatives.into(), ..Config::default() };
            let settings = settings.resolve(&dataset).unwrap().split();
            let held_out = held_out_edges(&known, &settings, Seeds::new(5)).unwrap();
            let found = sample_pairs(&known, &stored, held_out, &settings, SAMPLING, Seeds::new(5)).unwrap();
            assert_eq!(found, expected);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "the training graph has no name");
    }

    #[test]
    fn no_more_than_a_hundred_thousand_edges_are_held_out_for_each_part() {
        let settings = Config::default().resolve(&Dataset::built_in("communities").unwrap()).unwrap().split();
        assert_eq!(num_held_out(1_000_000, &settings).unwrap(), [100_000, 100_000]);
        assert_eq!(num_held_out(1_000_000_000, &settings).unwrap(), [100_000, 100_000]);
        assert_eq!(num_held_out(20_000, &settings).unwrap(), [2_000, 2_000]);
        let settings = SplitSettings { valid_fraction: 0.001, ..settings };
        assert_eq!(num_held_out(10_000_000, &settings).unwrap(), [10_000, 100_000]);
    }

    #[test]
    fn a_graph_without_a_non_edge_is_refused() {
        let settings = Config::default().resolve(&Dataset::built_in("communities").unwrap()).unwrap().split();
        let complete = Graph::from_edges(4, &[[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]).unwrap().0;
        assert!(matches!(held_out_edges(&complete, &settings, Seeds::new(1)), Err(SplitProblem::NoNonEdge)));
    }

    #[test]
    fn every_drawn_pair_is_in_the_fingerprint() {
        let digest = |positive: [u32; 2], negative: [u32; 2]| {
            let mut hash = Sha256::new();
            DrawnPairs { per_epoch: 1, positive: vec![positive], negative: vec![negative] }.hash(&mut hash);
            hash.finalize()
        };
        let one = digest([0, 1], [2, 3]);
        assert!(one == digest([0, 1], [2, 3]) && one != digest([0, 2], [2, 3]) && one != digest([0, 1], [2, 4]));
    }
}
