//! What a figure has to beat: answers of the same split that take no model. Links are scored by counting in the visible graph, classes are
//! those of most training nodes or of most neighbours; so are sets of labels. Nothing held out is looked at.

use super::objective::means;
use crate::error::Result;
use crate::graph::Graph;
use crate::label_sets::LabelSets;
use crate::metric::{ClassMetric, Metric, Metrics, PairMetric, SetAnswers, SetMetric};
use crate::models::Heuristic;
use crate::task::{EvaluationPairs, LabelledNodes, LabelledSets, NodeParts, Part, SetParts, Split, Task};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A simple answer to the questions of a test part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// `majority-class`, `majority-labels`, `neighbour-vote`, or a heuristic of the catalog.
    pub name: String,
    /// Its metrics on the test part; none if it was left out.
    #[serde(default, skip_serializing_if = "Metrics::is_empty")]
    pub metrics: Metrics,
    /// Why it was left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}

/// Operations that a heuristic may take for one test: about a second.
const AFFORDABLE: f64 = 4e9;

/// The baselines of a split by these metrics. Those that `model` is itself are left out.
pub(super) fn baselines(split: &Split, task: Task, metrics: &[Metric], model: &str) -> Result<Vec<Baseline>> {
    match split {
        Split::Pairs(parts) if task == Task::LinkPrediction => {
            let test = parts.test().iter().map(|part| (part.view.operator.graph(), &part.question));
            of_pairs(&test.collect::<Vec<_>>(), metrics, model)
        }
        Split::Nodes(parts) => {
            let metrics: Vec<ClassMetric> = metrics.iter().filter_map(|metric| metric.of_classes()).collect();
            Ok(of_classes(parts, &metrics))
        }
        Split::Sets(parts) => {
            let metrics: Vec<SetMetric> = metrics.iter().filter_map(|metric| metric.of_sets()).collect();
            Ok(of_sets(parts, &metrics))
        }
        // Like nodes are no links, and in a reconstruction nothing is hidden.
        Split::Pairs(_) => Ok(Vec::new()),
    }
}

/// Graphs, each with its test pairs.
type AskedPairs<'a> = (&'a Arc<Graph>, &'a EvaluationPairs);

/// The baselines of links.
pub(super) fn of_pairs(test: &[AskedPairs<'_>], metrics: &[Metric], model: &str) -> Result<Vec<Baseline>> {
    let metrics: Vec<PairMetric> = metrics.iter().filter_map(|metric| metric.of_pairs()).collect();
    let others = Heuristic::BASELINES.into_iter().filter(|heuristic| heuristic.name() != model);
    others.map(|heuristic| of_links(heuristic, test, &metrics)).collect()
}

fn of_links(heuristic: Heuristic, test: &[AskedPairs<'_>], metrics: &[PairMetric]) -> Result<Baseline> {
    let name = heuristic.name().to_string();
    let operations: f64 = test.iter().map(|(graph, question)| cost(heuristic, graph, question)).sum();
    if operations > AFFORDABLE {
        let left_out = format!("it takes {operations:.0e} operations; train it as a model");
        return Ok(Baseline { name, metrics: Metrics::new(), left_out: Some(left_out) });
    }
    let of_part =
        |(graph, question): &AskedPairs<'_>| question.measure_all(metrics, |pairs| Ok(heuristic.scores(graph, pairs)));
    let of_parts = test.iter().map(of_part).collect::<Result<Vec<_>>>()?;
    Ok(Baseline { name, metrics: named(metrics, &of_parts), left_out: None })
}

/// Operations of a heuristic over all pairs of a question, counted before any is done.
fn cost(heuristic: Heuristic, graph: &Graph, question: &EvaluationPairs) -> f64 {
    let listed = [&question.positive[..], &question.negative[..]];
    heuristic.cost(graph, listed, question.num_scored(), || question.num_sources())
}

/// The metric of a constant answer on the test part: one score for all pairs, or the most frequent test class for all nodes. It is
/// the level of chance: no model may know that class.
pub fn constant_answer(split: &Split, metric: Metric) -> Result<f64> {
    match (split, metric) {
        (Split::Pairs(parts), Metric::Pairs(metric)) => {
            let same = |pairs: &[[u32; 2]]| Ok(vec![0.0; pairs.len()]);
            let of_part = |part: &Part<EvaluationPairs>| part.question.measure_all(&[metric], same);
            Ok(means(&parts.test().iter().map(of_part).collect::<Result<Vec<_>>>()?)[0])
        }
        (Split::Nodes(parts), Metric::Classes(metric)) => {
            let labels = || parts.test().iter().map(|part| &part.question.labels);
            let class = most_frequent(labels().flatten().copied(), &BTreeMap::new()).unwrap_or(0);
            let of_parts: Vec<Vec<f64>> =
                labels().map(|labels| vec![metric.of(labels, &vec![class; labels.len()])]).collect();
            Ok(means(&of_parts)[0])
        }
        (Split::Sets(parts), metric) => {
            let test = parts.test().to_vec();
            let known = SetParts { train: test.clone(), valid: Vec::new(), test: Some(test) };
            let metrics: Vec<SetMetric> = metric.of_sets().into_iter().collect();
            Ok(of_sets(&known, &metrics)
                .first()
                .and_then(|majority| majority.metrics.values().next())
                .copied()
                .unwrap_or(0.0))
        }
        _ => unreachable!("the metric is one of the task's"),
    }
}

/// Majority class and neighbour vote; the vote is left out if no test node has a neighbour with a known class, as in graphs of their own.
fn of_classes(parts: &NodeParts, metrics: &[ClassMetric]) -> Vec<Baseline> {
    let majority = most_frequent(parts.train.iter().flat_map(|part| &part.question.labels).copied(), &BTreeMap::new());
    let Some(majority) = majority else { return Vec::new() };
    let frequent = counts(parts.train.iter().flat_map(|part| &part.question.labels).copied());
    let votes: Vec<Vec<Option<u32>>> = parts.test().iter().map(|part| votes(part, parts, &frequent)).collect();
    let measured = |name: &str, answer: &dyn Fn(Option<u32>) -> u32| {
        let of_parts: Vec<Vec<f64>> = parts
            .test()
            .iter()
            .zip(&votes)
            .map(|(part, votes)| {
                let answers: Vec<u32> = votes.iter().map(|&vote| answer(vote)).collect();
                metrics.iter().map(|metric| metric.of(&part.question.labels, &answers)).collect()
            })
            .collect();
        Baseline { name: name.to_string(), metrics: named(metrics, &of_parts), left_out: None }
    };
    let mut baselines = vec![measured("majority-class", &|_| majority)];
    if votes.iter().flatten().any(Option::is_some) {
        baselines.push(measured("neighbour-vote", &|vote| vote.unwrap_or(majority)));
    }
    baselines
}

/// The most frequent set of labels with the frequency of each class as its score; and neighbour vote, left out as above: the classes that more than
/// half of the labelled neighbours have, with their share as the score.
fn of_sets(parts: &SetParts, metrics: &[SetMetric]) -> Vec<Baseline> {
    let sets = || parts.train.iter().flat_map(|part| part.question.sets.iter());
    let mut frequent: BTreeMap<&[u32], usize> = BTreeMap::new();
    sets().for_each(|set| *frequent.entry(set).or_default() += 1);
    // Of equals the first.
    let majority = frequent.iter().rev().max_by_key(|entry| *entry.1).map(|entry| *entry.0);
    let Some(majority) = majority else { return Vec::new() };
    let all = || parts.train.iter().chain(parts.test()).flat_map(|part| part.question.sets.classes());
    let classes = all().max().map_or(0, |&last| last as usize + 1);
    let shares = shares(sets(), classes);
    let votes: Vec<Vec<Option<Vec<f32>>>> = parts.test().iter().map(|part| set_votes(part, parts, classes)).collect();
    let measured = |name: &str, takes_votes: bool| {
        let of_part = |(part, votes): (&Part<LabelledSets>, &Vec<Option<Vec<f32>>>)| {
            let answer = |vote: &Option<Vec<f32>>| match vote.as_ref().filter(|_| takes_votes) {
                Some(shares) => ((0..).zip(shares).filter(|of| *of.1 > 0.5).map(|of| of.0).collect(), shares.clone()),
                None => (majority.to_vec(), shares.clone()),
            };
            let (sets, scores): (Vec<Vec<u32>>, Vec<Vec<f32>>) = votes.iter().map(answer).unzip();
            let answers = SetAnswers { sets: LabelSets::from_iter(sets), scores: scores.concat() };
            metrics.iter().map(|metric| metric.of(&part.question.sets, &answers)).collect()
        };
        let of_parts: Vec<Vec<f64>> = parts.test().iter().zip(&votes).map(of_part).collect();
        Baseline { name: name.to_string(), metrics: named(metrics, &of_parts), left_out: None }
    };
    let mut baselines = vec![measured("majority-labels", false)];
    if votes.iter().flatten().any(Option::is_some) {
        baselines.push(measured("neighbour-vote", true));
    }
    baselines
}

/// The share of these sets that has each class.
fn shares<'a>(sets: impl Iterator<Item = &'a [u32]>, classes: usize) -> Vec<f32> {
    let (mut shares, mut count) = (vec![0.0; classes], 0u32);
    for set in sets {
        set.iter().for_each(|&class| shares[class as usize] += 1.0);
        count += 1;
    }
    shares.iter_mut().for_each(|share| *share /= count.max(1) as f32);
    shares
}

/// For each node to be classified, the share of its labelled neighbours in training that has each class; `None` where there are none.
fn set_votes(part: &Part<LabelledSets>, parts: &SetParts, classes: usize) -> Vec<Option<Vec<f32>>> {
    let graph = part.view.graph();
    let mut known: Vec<Option<&[u32]>> = vec![None; graph.num_nodes()];
    for train in parts.train.iter().filter(|train| Arc::ptr_eq(&train.view, &part.view)) {
        let LabelledSets { nodes, sets } = &train.question;
        nodes.iter().zip(sets.iter()).for_each(|(&node, set)| known[node as usize] = Some(set));
    }
    let vote = |&node: &u32| {
        let neighbours = graph.neighbours(node as usize).iter().filter_map(|&neighbour| known[neighbour as usize]);
        neighbours.clone().next().map(|_| shares(neighbours, classes))
    };
    part.question.nodes.iter().map(vote).collect()
}

/// The most frequent class among the training nodes that are neighbours of each node to be classified; `None` where there are none.
fn votes(part: &Part<LabelledNodes>, parts: &NodeParts, frequent: &BTreeMap<u32, usize>) -> Vec<Option<u32>> {
    let graph = part.view.graph();
    let mut known = vec![None; graph.num_nodes()];
    for train in parts.train.iter().filter(|train| Arc::ptr_eq(&train.view, &part.view)) {
        let LabelledNodes { nodes, labels } = &train.question;
        nodes.iter().zip(labels).for_each(|(&node, &label)| known[node as usize] = Some(label));
    }
    let vote = |&node: &u32| {
        let neighbours = graph.neighbours(node as usize).iter();
        most_frequent(neighbours.filter_map(|&neighbour| known[neighbour as usize]), frequent)
    };
    part.question.nodes.iter().map(vote).collect()
}

fn counts(classes: impl Iterator<Item = u32>) -> BTreeMap<u32, usize> {
    let mut counts = BTreeMap::new();
    classes.for_each(|class| *counts.entry(class).or_default() += 1);
    counts
}

/// The most frequent class; of equals the one that is more frequent in `others`, then the first.
fn most_frequent(classes: impl Iterator<Item = u32>, others: &BTreeMap<u32, usize>) -> Option<u32> {
    let counts = counts(classes);
    let rank = |class: u32| (counts[&class], others.get(&class).copied().unwrap_or(0), std::cmp::Reverse(class));
    counts.keys().copied().max_by_key(|&class| rank(class))
}

/// Means over parts, by metric.
fn named<M: Copy + Into<Metric>>(metrics: &[M], of_parts: &[Vec<f64>]) -> Metrics {
    metrics.iter().map(|&metric| metric.into()).zip(means(of_parts)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Features;
    use crate::models::View;
    use crate::task::PairParts;

    /// A star of four leaves and a pair apart; the nodes to be classified have these labels.
    fn parts(train: &[(u32, u32)], test: &[(u32, u32)]) -> NodeParts {
        let graph = Graph::from_edges(7, &[[0, 1], [0, 2], [0, 3], [0, 4], [5, 6]]).unwrap().0;
        let view: Arc<View> = View::new(graph, Features::Constant(7)).unwrap().into();
        let part = |labelled: &[(u32, u32)]| {
            let (nodes, labels) = labelled.iter().copied().unzip();
            vec![Part { view: view.clone(), question: LabelledNodes { nodes, labels } }]
        };
        NodeParts { train: part(train), valid: part(test), test: Some(part(test)) }
    }

    fn accuracies(parts: &NodeParts) -> Vec<(String, f64)> {
        let accuracy = |baseline: Baseline| (baseline.name, baseline.metrics[&Metric::Classes(ClassMetric::Accuracy)]);
        of_classes(parts, &[ClassMetric::Accuracy]).into_iter().map(accuracy).collect()
    }

    #[test]
    fn neighbours_vote_with_the_classes_of_training_nodes_alone() {
        // The leaves of class 1 are the majority around node 0; node 6 has no neighbour of a known class and node 5 none but node 6.
        let parts = parts(&[(1, 1), (2, 1), (3, 0)], &[(0, 1), (4, 0), (5, 1), (6, 0)]);
        let expected = [("majority-class".to_string(), 0.5), ("neighbour-vote".to_string(), 0.5)];
        assert_eq!(accuracies(&parts), expected);
        let of_test = votes(&parts.test()[0], &parts, &BTreeMap::new());
        // Node 4 has node 0 next to it, whose class is held out.
        assert_eq!(of_test, [Some(1), None, None, None]);
    }

    #[test]
    fn of_equal_votes_the_class_with_more_training_nodes_wins() {
        let parts = parts(&[(1, 1), (2, 0), (5, 0), (6, 0)], &[(0, 0), (3, 1)]);
        assert_eq!(accuracies(&parts), [("majority-class".to_string(), 0.5), ("neighbour-vote".to_string(), 0.5)]);
        let frequent = BTreeMap::from([(0, 3), (1, 1)]);
        assert_eq!(votes(&parts.test()[0], &parts, &frequent)[0], Some(0));
        assert_eq!(votes(&parts.test()[0], &parts, &BTreeMap::from([(1, 9)]))[0], Some(1));
    }

    #[test]
    fn a_vote_that_nobody_casts_is_left_out() {
        let parts = parts(&[(1, 1), (2, 1)], &[(5, 1), (6, 0)]);
        assert_eq!(accuracies(&parts), [("majority-class".to_string(), 0.5)]);
    }

    #[test]
    fn the_same_answer_to_every_question_is_what_chance_gives() {
        let nodes = Split::Nodes(parts(&[(1, 1), (2, 1), (3, 0)], &[(0, 1), (4, 0), (5, 0), (6, 0)]));
        assert_eq!(constant_answer(&nodes, Metric::Classes(ClassMetric::Accuracy)).unwrap(), 0.75);
        let graph = Graph::from_edges(5, &[[0, 1], [0, 2]]).unwrap().0;
        let view: Arc<View> = View::new(graph, Features::Constant(5)).unwrap().into();
        let question = EvaluationPairs::pooled(vec![[0, 1]], vec![[1, 3], [0, 4], [2, 3]]);
        let parts = PairParts { train: Vec::new(), valid: Vec::new(), test: Some(vec![Part { view, question }]) };
        let of = |metric| constant_answer(&Split::Pairs(parts.clone()), Metric::Pairs(metric)).unwrap();
        assert_eq!((of(PairMetric::Auc), of(PairMetric::AveragePrecision)), (0.5, 0.25));
    }

    #[test]
    fn several_labels_are_those_of_most_nodes_or_of_most_neighbours() {
        let graph = Graph::from_edges(7, &[[0, 1], [0, 2], [0, 3], [0, 4], [5, 6]]).unwrap().0;
        let view: Arc<View> = View::new(graph, Features::Constant(7)).unwrap().into();
        let part = |labelled: &[(u32, &[u32])]| {
            let nodes = labelled.iter().map(|of| of.0).collect();
            let sets = labelled.iter().map(|of| of.1.iter().copied()).collect();
            vec![Part { view: view.clone(), question: LabelledSets { nodes, sets } }]
        };
        let test: [(u32, &[u32]); 2] = [(0, &[0, 1]), (5, &[2])];
        let train: [(u32, &[u32]); 4] = [(1, &[0, 1]), (2, &[0, 1]), (3, &[2]), (4, &[1])];
        let parts = SetParts { train: part(&train), valid: part(&test), test: Some(part(&test)) };
        let votes = set_votes(&parts.test()[0], &parts, 3);
        assert_eq!(votes, [Some(vec![0.5, 0.75, 0.25]), None]);
        let found = of_sets(&parts, &[SetMetric::MicroF1]);
        let f1 = |at: usize| found[at].metrics[&Metric::from(SetMetric::MicroF1)];
        // {0, 1} for both nodes: 2 right of 3 labels and 4 answers. By vote {1} for node 0: 1 right of 3 and 3.
        assert_eq!((found[0].name.as_str(), f1(0)), ("majority-labels", 4.0 / 7.0));
        assert_eq!((found[1].name.as_str(), f1(1)), ("neighbour-vote", 2.0 / 6.0));
    }

    #[test]
    fn what_a_heuristic_takes_is_counted_and_what_is_too_much_is_left_out_and_said() {
        let graph = Graph::from_edges(5, &[[0, 1], [0, 2], [0, 3], [1, 2]]).unwrap().0;
        let pairs = EvaluationPairs::pooled(vec![[0, 1], [0, 4]], vec![[1, 3], [0, 4]]);
        assert_eq!(cost(Heuristic::PreferentialAttachment, &graph, &pairs), 4.0);
        // Two sources among negatives and one among positives, five steps over both directions of four edges.
        assert_eq!(cost(Heuristic::Katz, &graph, &pairs), 3.0 * 5.0 * 8.0);
        // min(3, 2) (1 + log2 3) + min(2, 1) (1 + log2 2); node 4 has no neighbours.
        let expected = 2.0 * (1.0 + 3f64.log2()) + 2.0;
        assert!((cost(Heuristic::CommonNeighbors, &graph, &pairs) - expected).abs() < 1e-12);

        let edges: Vec<[u32; 2]> = (1..40_000).map(|leaf| [leaf - 1, leaf]).collect();
        let long: Arc<View> =
            View::new(Graph::from_edges(40_000, &edges).unwrap().0, Features::Constant(40_000)).unwrap().into();
        let part = Part { view: long, question: EvaluationPairs::pooled(edges.clone(), edges) };
        let parts = PairParts { train: Vec::new(), valid: Vec::new(), test: Some(vec![part]) };
        let test = [(parts.test()[0].view.operator.graph(), &parts.test()[0].question)];
        let measured = |heuristic| of_links(heuristic, &test, &[PairMetric::Auc]).unwrap();
        let katz = measured(Heuristic::Katz);
        assert!(katz.metrics.is_empty() && katz.left_out.unwrap().contains("operations; train it as a model"));
        assert_eq!(measured(Heuristic::CommonNeighbors).metrics[&Metric::Pairs(PairMetric::Auc)], 0.5);
    }

    #[test]
    fn training_nodes_of_another_graph_have_no_vote() {
        let (ours, theirs) = (parts(&[(1, 1)], &[(0, 1)]), parts(&[(2, 0), (3, 0)], &[(0, 0)]));
        let both = NodeParts { train: [ours.train, theirs.train].concat(), ..ours };
        assert_eq!(votes(&both.test()[0], &both, &BTreeMap::new()), [Some(1)]);
    }

    #[test]
    fn a_heuristic_is_not_compared_with_itself() {
        let graph = Arc::new(Graph::from_edges(5, &[[0, 1], [0, 2], [1, 2], [2, 3]]).unwrap().0);
        let pairs = EvaluationPairs::pooled(vec![[0, 1]], vec![[0, 4]]);
        let names = |model: &str| -> Vec<String> {
            let metrics = [Metric::Pairs(PairMetric::Auc)];
            of_pairs(&[(&graph, &pairs)], &metrics, model).unwrap().into_iter().map(|found| found.name).collect()
        };
        assert_eq!(names("gcn").len(), Heuristic::BASELINES.len());
        assert_eq!(names("katz"), ["preferential-attachment", "common-neighbors", "resource-allocation"]);
    }
}
