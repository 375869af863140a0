//! Training on pairs that are drawn beforehand, for graphs beyond memory. What message passing gives for the ends of these pairs is
//! gathered once; the weights are then learnt from it without the graph. Every way of computing `Ã^K E` gives the same bits, so that a
//! training does not depend on the memory that it had.

use super::baseline::{self, Baseline};
use super::{Job, Observer, PreparedSplit, Reporting, Resolved, Stage, reported_of_pairs};
use crate::dataset::{Dataset, Features, Sample};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::linalg::Matrix;
use crate::models::{Model, View};
use crate::propagation::SampledWorkload;
use crate::propagation::{Execution, PanelSource, Propagation};
use crate::seeds::Seeds;
use crate::source::Source;
use crate::task::{
    DrawnPairs, EvaluationPairs, PairParts, Part, SampledPairs, Sampling, Split, TrainingPairs, held_out_edges,
    sample_pairs,
};
use rayon::prelude::*;
use std::sync::Arc;

/// What is asked in one repeat, before anything is computed. Nodes have the numbers of the data.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldOut {
    /// Of the repeat.
    pub seed: u64,
    /// All pairs.
    pub pairs: SampledPairs,
    /// Ends of test pairs without a visible edge, in ascending order.
    pub isolated: Vec<u32>,
    /// Fingerprint of the split: of the visible graph, the features, and the pairs of validation and test.
    pub digest: String,
    /// Simple answers to the same test.
    pub baselines: Vec<Baseline>,
}

/// The nodes whose rows a training needs, in ascending order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequiredNodes {
    /// Ends of pairs to learn from.
    pub train: Vec<u32>,
    /// Ends of pairs of validation and test.
    pub evaluated: Vec<u32>,
}

impl RequiredNodes {
    /// Those to learn from, and those of validation and test.
    pub(crate) fn lists(&self) -> [&[u32]; 2] {
        [&self.train, &self.evaluated]
    }
}

impl Resolved {
    /// How many pairs such a training asks about in a graph of so many edges.
    pub(crate) fn sampled_workload(&self, num_edges: usize) -> SampledWorkload {
        SampledWorkload {
            positives: self.epochs.saturating_mul(self.pairs_per_epoch.min(num_edges)),
            negatives_per_positive: self.negatives_per_positive,
            evaluated: self.num_evaluated(num_edges),
        }
    }

    /// Which pairs such a training asks about.
    pub(crate) fn sampling(&self) -> Sampling {
        Sampling {
            epochs: self.epochs,
            pairs_per_epoch: self.pairs_per_epoch,
            batch_size: self.batch_size,
            negatives_per_positive: self.negatives_per_positive,
        }
    }
}

impl HeldOut {
    /// Holds edges out and draws all pairs of a repeat. `visible` makes the graph without the held-out edges, which is returned, too.
    pub(crate) fn new(
        dataset: &Dataset,
        config: &Resolved,
        reporting: Reporting,
        seed: u64,
        visible: impl FnOnce(&Graph, &[[u32; 2]]) -> Result<Graph>,
    ) -> Result<(HeldOut, Arc<Graph>)> {
        let [sample] = &dataset.samples[..] else { return Err(Error::SeveralGraphs { count: dataset.samples.len() }) };
        let (known, seeds, settings) = (&sample.graph, Seeds::new(seed), config.split());
        let problem = |problem| Error::Split { dataset: dataset.name.clone(), graph: None, problem };
        let held_out = held_out_edges(known, &settings, seeds).map_err(problem)?;
        let visible = Arc::new(visible(known, &held_out.concat())?);
        let pairs = sample_pairs(known, &visible, held_out, &settings, config.sampling(), seeds)?;
        let baselines = match reporting {
            Reporting::MetricsAndBaselines => {
                let metrics = reported_of_pairs(pairs.test.fewest_negatives(), config.metric);
                baseline::of_pairs(&[(&visible, &pairs.test)], &metrics, &config.model)?
            }
            Reporting::Nothing | Reporting::Metrics => Vec::new(),
        };
        let mut ends: Vec<[u32; 2]> =
            ends_of([&pairs.test.positive, &pairs.test.negative]).map(|end| [end; 2]).collect();
        ends.par_sort_unstable();
        ends.dedup();
        let has_edge = visible.ask_each(&ends, |graph, [node, _]| graph.degree(node as usize) > 0);
        let isolated = ends.iter().zip(has_edge).filter(|(_, has_edge)| !has_edge).map(|(end, _)| end[0]).collect();
        let digest = settings.fingerprint_of_known(dataset, &visible, [&pairs.valid, &pairs.test], seeds);
        Ok((HeldOut { seed, pairs, isolated, digest, baselines }, visible))
    }

    /// The nodes whose rows are needed.
    pub fn nodes(&self) -> RequiredNodes {
        let SampledPairs { train, valid, test } = &self.pairs;
        let distinct = |mut nodes: Vec<u32>| {
            nodes.par_sort_unstable();
            nodes.dedup();
            nodes.shrink_to_fit();
            nodes
        };
        let of_both = [&valid.positive, &valid.negative].into_iter().chain([&test.positive, &test.negative]);
        RequiredNodes {
            train: distinct(ends_of([&train.positive, &train.negative]).collect()),
            evaluated: distinct(of_both.flatten().flatten().copied().collect()),
        }
    }

    /// The split of a repeat, given what message passing gives for [`RequiredNodes::lists`]: `Ẽ`, and `Ã^K F` where the model has a branch
    /// for it. Node `i` is known as `addresses[i]`.
    pub(crate) fn prepared(
        self,
        nodes: RequiredNodes,
        [train_signal, evaluated_signal]: [Matrix; 2],
        features: Option<[Matrix; 2]>,
        addresses: Option<&[u32]>,
    ) -> Result<PreparedSplit> {
        let HeldOut { pairs: SampledPairs { train, valid, test }, isolated, digest, baselines, .. } = self;
        let view = |nodes: &[u32], signal: Matrix, features: Option<Matrix>| -> Result<Arc<View>> {
            let (graph, _) = Graph::from_edges(nodes.len(), &[])?;
            let features = match features {
                Some(rows) => Features::Dense(rows.into()),
                None => Features::Constant(nodes.len()),
            };
            let known_as: Arc<[u32]> = match addresses {
                Some(addresses) => nodes.iter().map(|&node| addresses[node as usize]).collect(),
                None => nodes.into(),
            };
            Ok(View::new(graph, features)?.with_addresses(known_as).with_propagated_signal(signal).into())
        };
        let (of_train, of_evaluated) = features.map(|[train, evaluated]| (train, evaluated)).unzip();
        let train_view = view(&nodes.train, train_signal, of_train)?;
        let evaluated = view(&nodes.evaluated, evaluated_signal, of_evaluated)?;
        let drawn = DrawnPairs {
            positive: places(train.positive, &nodes.train),
            negative: places(train.negative, &nodes.train),
            ..train
        };
        let asked = |pairs: EvaluationPairs| {
            let [positive, negative] = [pairs.positive, pairs.negative].map(|pairs| places(pairs, &nodes.evaluated));
            Part { view: evaluated.clone(), question: EvaluationPairs::pooled(positive, negative) }
        };
        let (valid, test) = (asked(valid), asked(test));
        let has_edge = |place: u32| isolated.binary_search(&nodes.evaluated[place as usize]).is_err();
        let connected =
            test.question.between(has_edge).map(|question| vec![Part { view: evaluated.clone(), question }]);
        let train = vec![Part { view: train_view, question: TrainingPairs::of_epochs(drawn) }];
        let split = Split::Pairs(PairParts { train, valid: vec![valid], test: Some(vec![test]) });
        Ok(PreparedSplit { split, digest, baselines, connected })
    }
}

fn ends_of(pairs: [&Vec<[u32; 2]>; 2]) -> impl Iterator<Item = u32> + '_ {
    pairs.into_iter().flatten().flatten().copied()
}

/// Pairs by the places of their ends among ascending nodes.
fn places(mut pairs: Vec<[u32; 2]>, nodes: &[u32]) -> Vec<[u32; 2]> {
    let place = |node: u32| nodes.binary_search(&node).expect("an end of a pair") as u32;
    pairs.par_iter_mut().for_each(|pair| *pair = pair.map(place));
    pairs
}

/// The features that are propagated beside the signal, if the model has a branch for them.
fn features_of(model: &Model, sample: &Sample) -> Option<PanelSource> {
    let uses = model.architecture().uses(Source::Features);
    uses.then(|| match &sample.features {
        Features::Constant(_) => PanelSource::Ones,
        Features::Dense(matrix) => PanelSource::Dense(matrix.clone()),
        Features::Sparse(matrix) => PanelSource::Sparse(matrix.clone()),
    })
}

/// Holds out, propagates and gathers what one repeat needs.
pub(crate) fn prepare(
    dataset: &Dataset,
    config: &Resolved,
    model: &Model,
    reporting: Reporting,
    plan: &Execution,
    observer: &mut dyn Observer,
) -> Result<PreparedSplit> {
    let seed = model.seeds().root();
    let sample = &dataset.samples[0];
    let (held_out, visible) =
        HeldOut::new(dataset, config, reporting, seed, |graph, hidden| plan.without(graph, hidden))?;
    observer.stage(Stage::Propagation, 0, 1);
    let nodes = held_out.nodes();
    let signal = model.signal_propagation(visible, sample.addresses.clone(), 0);
    let signal = signal.expect("a model whose message passing comes first");
    let rows = signal.rows_by(plan, nodes.lists())?;
    let features = features_of(model, sample).map(|source| Propagation { source, ..signal.clone() });
    let features = features.map(|features| features.rows_by(plan, nodes.lists())).transpose()?;
    drop(signal);
    held_out.prepared(nodes, rows, features, sample.addresses.as_deref())
}

impl Job<'_> {
    /// What a repeat on sampled pairs learns from.
    pub(super) fn prepare_sampled(&self, seed: u64, observer: &mut dyn Observer) -> Result<PreparedSplit> {
        prepare(self.dataset, self.config, &self.build(seed)?, self.reporting, self.execution, observer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Auto;

    use crate::dataset::generate::{PowerLaw, power_law};
    use crate::train::Config;
    use std::collections::BTreeSet;

    /// So many nodes for so few edges that some test pairs have an end without any.
    fn scattered() -> Dataset {
        Dataset::from_graph("scattered", power_law(&PowerLaw::new(600, 900), 1).unwrap().graph)
    }

    fn config() -> Config {
        Config { model: "smp-linear".into(), pairs_per_epoch: 50, epochs: 3.into(), ..Config::default() }
    }

    fn held_out(dataset: &Dataset, config: Config) -> (HeldOut, Arc<Graph>) {
        let config = config.resolve(dataset).unwrap();
        HeldOut::new(dataset, &config, Reporting::Nothing, 1, |graph, hidden| Ok(graph.without_edges(hidden))).unwrap()
    }

    #[test]
    fn the_fingerprint_is_of_test_pairs_and_features_as_well() {
        let digest = |dataset: &Dataset, config: Config| held_out(dataset, config).0.digest;
        let dataset = scattered();
        let same = digest(&dataset, config());
        assert_eq!(same, digest(&dataset, config()));
        // More negatives in the test: everything else is as it was.
        let more = Config { test_negative_ratio: Auto::Is(2.0), ..config() };
        assert_ne!(same, digest(&dataset, more));
        let features = Features::from_matrix(Matrix::from_fn(600, 3, |row, column| (row * column) as f32));
        let featured = Dataset { samples: vec![Sample { features, ..dataset.samples[0].clone() }], ..dataset };
        assert_ne!(same, digest(&featured, config()));
    }

    #[test]
    fn ends_of_test_pairs_without_a_visible_edge_are_known_and_their_pairs_are_left_out_of_the_connected_ones() {
        let dataset = scattered();
        let (found, visible) = held_out(&dataset, config());
        let ends: BTreeSet<u32> = ends_of([&found.pairs.test.positive, &found.pairs.test.negative]).collect();
        let isolated: Vec<u32> = ends.into_iter().filter(|&end| visible.degree(end as usize) == 0).collect();
        let has_edge = |end: &u32| dataset.samples[0].graph.degree(*end as usize) > 0;
        assert!(isolated.iter().any(has_edge) && !isolated.iter().all(has_edge), "ends of both kinds of pairs");
        assert_eq!(found.isolated, isolated);

        let nodes = found.nodes();
        let rows = |of: &[Vec<u32>; 2]| of.each_ref().map(|nodes| Matrix::zeros(nodes.len(), 4));
        let signal = rows(&[nodes.train.clone(), nodes.evaluated.clone()]);
        let addresses: Vec<u32> = (0..600).map(|node| 7_000 - node).collect();
        let expected = nodes.clone();
        let counts = found.pairs.test.between(|node| isolated.binary_search(&node).is_err()).unwrap();
        let prepared = found.prepared(nodes, signal, None, Some(&addresses)).unwrap();
        let connected = &prepared.connected.unwrap()[0].question;
        assert_eq!(connected.pairs.positive.len(), counts.pairs.positive.len());
        assert_eq!((connected.positives, connected.negatives), (counts.positives, counts.negatives));
        assert!(connected.positives < 1.0 && connected.negatives < 1.0);
        // Nodes are known as in the data, however few of them have a row.
        let Split::Pairs(parts) = prepared.split else { panic!("pairs") };
        for (view, nodes) in [(&parts.train[0].view, expected.train), (&parts.valid[0].view, expected.evaluated)] {
            let known_as: Vec<u32> = nodes.iter().map(|&node| 7_000 - node).collect();
            assert_eq!(&view.addresses[..], known_as);
        }
    }

    #[test]
    fn what_is_asked_about_is_counted_with_its_negatives() {
        let config = Config { valid_negative_ratio: Auto::Is(2.0), test_negative_ratio: Auto::Is(3.0), ..config() };
        let resolved = config.resolve(&scattered()).unwrap();
        let found = resolved.sampled_workload(10_000_000);
        assert_eq!((found.positives, found.negatives_per_positive), (150, 1));
        assert_eq!(found.evaluated, 100_000 * 3 + 100_000 * 4);
    }
}
