//! What a figure has to beat: answers of the same split that take no model. Links are scored by counting in the visible graph, classes are
//! those of most training nodes or of most neighbours. Nothing held out is looked at.

use super::objective::means;
use crate::error::Result;
use crate::graph::Graph;
use crate::metric::{ClassMetric, Metric, Metrics, PairMetric};
use crate::model::Heuristic;
use crate::task::{EvaluationPairs, LabelledNodes, NodeParts, PairParts, Part, Split, Task};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A simple answer to the questions of a test part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// `majority-class`, `neighbour-vote`, or a heuristic of the catalog.
    pub name: String,
    /// Its metrics on the test part; none if it was left out.
    #[serde(default, skip_serializing_if = "Metrics::is_empty")]
    pub metrics: Metrics,
    /// Why it was left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}

/// Heuristics that links are compared with, the cheapest first.
const HEURISTICS: [Heuristic; 4] =
    [Heuristic::PreferentialAttachment, Heuristic::CommonNeighbors, Heuristic::ResourceAllocation, Heuristic::Katz];

/// Operations that a heuristic may take for one test: a few seconds.
const AFFORDABLE: f64 = 4e9;

/// The baselines of a split by these metrics. Those that `model` is itself are left out.
pub(super) fn baselines(split: &Split, task: Task, metrics: &[Metric], model: &str) -> Result<Vec<Baseline>> {
    match split {
        Split::Pairs(parts) if task == Task::LinkPrediction => {
            let metrics: Vec<PairMetric> = metrics.iter().filter_map(|metric| metric.of_pairs()).collect();
            let others = HEURISTICS.into_iter().filter(|heuristic| heuristic.name() != model);
            others.map(|heuristic| of_links(heuristic, parts, &metrics)).collect()
        }
        Split::Nodes(parts) => {
            let metrics: Vec<ClassMetric> = metrics.iter().filter_map(|metric| metric.of_classes()).collect();
            Ok(of_classes(parts, &metrics))
        }
        // Like nodes are no links, and in a reconstruction nothing is hidden.
        Split::Pairs(_) => Ok(Vec::new()),
    }
}

fn of_links(heuristic: Heuristic, parts: &PairParts, metrics: &[PairMetric]) -> Result<Baseline> {
    let name = heuristic.name().to_string();
    let operations: f64 = parts.test().iter().map(|part| cost(heuristic, part.view.graph(), &part.question)).sum();
    if operations > AFFORDABLE {
        let left_out = format!("it takes {operations:.0e} operations; nigh train --model {name} runs it");
        return Ok(Baseline { name, metrics: Metrics::new(), left_out: Some(left_out) });
    }
    let of_part = |part: &Part<EvaluationPairs>| {
        let graph = part.view.operator.graph();
        part.question.measure_all(metrics, |pairs| Ok(heuristic.scores(graph, pairs)))
    };
    let of_parts = parts.test().iter().map(of_part).collect::<Result<Vec<_>>>()?;
    Ok(Baseline { name, metrics: named(metrics, &of_parts), left_out: None })
}

/// Operations of a heuristic over all pairs of a question, counted before any is done.
fn cost(heuristic: Heuristic, graph: &Graph, question: &EvaluationPairs) -> f64 {
    let num_scored = question.num_scored() as f64;
    match heuristic {
        Heuristic::PreferentialAttachment => num_scored,
        Heuristic::Katz => {
            let sources = question.num_sources() as f64;
            Heuristic::LONGEST_WALK as f64 * sources * 2.0 * graph.num_edges() as f64
        }
        _ => {
            let listed = question.positive.iter().chain(&question.negative);
            let steps = |&[a, b]: &[u32; 2]| {
                let [a, b] = [a, b].map(|node| graph.degree(node as usize) as f64);
                a.min(b) * (1.0 + a.max(b).max(1.0).log2())
            };
            let num_listed = (question.positive.len() + question.negative.len()) as f64;
            let mean_degree = 2.0 * graph.num_edges() as f64 / graph.num_nodes().max(1) as f64;
            listed.map(steps).sum::<f64>()
                + (num_scored - num_listed) * mean_degree * (1.0 + mean_degree.max(1.0).log2())
        }
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

/// The most frequent class among the training nodes that are neighbours of each node asked about; `None` where there are none.
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
