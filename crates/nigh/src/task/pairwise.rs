//! Pairwise node classification: are two nodes of the same class? Message passing sees the whole graph.

use super::negatives::Rule;
use super::{
    NegativePairs, Negatives, PairSampler, Part, Question, Split, Task, graphs_by_part, in_graph, labels_of, sizes,
};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::model::View;
use crate::names::named;
use crate::seeds::{Purpose, Seeds, below};
use crate::train::Config;
use std::collections::HashSet;
use std::sync::Arc;

named! {
    /// Which pairs of like nodes are asked about.
    pub enum SameLabelPairs, "choice of same-label pairs" {
        /// Every one.
        All = "all",
        /// As many random ones as there are edges.
        Sampled = "sampled",
    }
}

pub(super) fn split(dataset: &Dataset, config: &Config, seeds: Seeds) -> Result<Split> {
    let mut split = Split { train: Vec::new(), valid: Vec::new(), test: Vec::new() };
    let several = dataset.samples.len() > 1;
    let graphs = if several { graphs_by_part(dataset, config, seeds)? } else { Default::default() };
    for (number, sample) in dataset.samples.iter().enumerate() {
        let labels = labels_of(dataset, sample, Task::PairwiseNodeClassification)?;
        let classes = nodes_by_class(labels);
        let num_classes = classes.iter().filter(|class| !class.is_empty()).count();
        if num_classes < 2 {
            let problem = format!("labelled nodes of {num_classes} class; pairs of different nodes need at least 2");
            return Err(in_graph(dataset, number, Error::Data(problem)));
        }
        let in_graph = |error| in_graph(dataset, number, error);
        let mut positive = match config.same_label_pairs.get() {
            SameLabelPairs::All => all_pairs(&classes),
            SameLabelPairs::Sampled => {
                sampled_pairs(&classes, sample.graph.num_edges(), (seeds, number as u64)).map_err(in_graph)?
            }
        };
        seeds.rng(Purpose::Split, &[number as u64]).shuffle(&mut positive);
        let [train, valid, _] =
            sizes(positive.len(), config, "pairs of nodes with the same label").map_err(in_graph)?;
        let (train, rest) = positive.split_at(train);
        let (valid, test) = rest.split_at(valid);
        let view: Arc<View> = Task::PairwiseNodeClassification.whole_view(sample, number as u64)?.into();
        let n = sample.graph.num_nodes();
        let sampler = |rule| PairSampler::among(labelled(labels), n, rule);
        let (training, evaluation) = rules(config, labels);
        let (drawn, evaluation) = (sampler(training), sampler(evaluation));
        let given = |part: u64, count: usize| {
            let mut pairs = Vec::new();
            evaluation.draw(seeds.stream(Purpose::Negatives, &[number as u64, part]), count, &mut pairs);
            NegativePairs::Given(pairs)
        };
        let asked =
            [(train, NegativePairs::Drawn(drawn)), (valid, given(1, valid.len())), (test, given(2, test.len()))];
        let parts = [&mut split.train, &mut split.valid, &mut split.test];
        for (part, ((positive, negative), parts)) in asked.into_iter().zip(parts).enumerate() {
            if !several || graphs[part].contains(&number) {
                let question = Question::Pairs { positive: positive.to_vec(), negative };
                parts.push(Part { view: view.clone(), question });
            }
        }
    }
    Ok(split)
}

/// What negatives must not be, in training and in evaluation. The authors listed every positive of the small graphs in
/// one direction and checked against that list, but drew by label where the positives are a sample.
fn rules(config: &Config, labels: &Arc<[Option<u32>]>) -> (Rule, Rule) {
    let training = match config.train_negatives.get() {
        Negatives::Loose => Rule::Any,
        Negatives::Exact => Rule::Unlike(labels.clone()),
    };
    let evaluation = match (config.evaluation_negatives.get(), config.same_label_pairs.get()) {
        (Negatives::Loose, SameLabelPairs::All) => Rule::NotListedAlike(labels.clone()),
        _ => Rule::Unlike(labels.clone()),
    };
    (training, evaluation)
}

fn labelled(labels: &[Option<u32>]) -> Vec<u32> {
    (0..labels.len() as u32).filter(|&node| labels[node as usize].is_some()).collect()
}

fn nodes_by_class(labels: &[Option<u32>]) -> Vec<Vec<u32>> {
    let num_classes = labels.iter().flatten().max().map_or(0, |&largest| largest as usize + 1);
    let mut classes = vec![Vec::new(); num_classes];
    for (node, label) in labels.iter().enumerate() {
        if let Some(label) = label {
            classes[*label as usize].push(node as u32);
        }
    }
    classes
}

fn all_pairs(classes: &[Vec<u32>]) -> Vec<[u32; 2]> {
    let mut pairs = Vec::new();
    for class in classes {
        for (at, &a) in class.iter().enumerate() {
            pairs.extend(class[at + 1..].iter().map(|&b| [a, b]));
        }
    }
    pairs
}

/// Distinct pairs, drawn among all pairs alike: the class by its number of pairs, then two different members of it. What
/// is drawn twice would stand in two parts of the split.
fn sampled_pairs(classes: &[Vec<u32>], count: usize, (seeds, number): (Seeds, u64)) -> Result<Vec<[u32; 2]>> {
    let pairs_in = |class: &Vec<u32>| class.len() as u64 * (class.len() as u64).saturating_sub(1) / 2;
    let ends: Vec<u64> = classes
        .iter()
        .scan(0, |sum, class| {
            *sum += pairs_in(class);
            Some(*sum)
        })
        .collect();
    let total = ends.last().copied().unwrap_or(0);
    if total == 0 {
        return Err(Error::Data("no two nodes have the same label; there is no positive pair".into()));
    }
    let stream = seeds.stream(Purpose::Split, &[number, 1]);
    let pair = |k: u64| {
        let w = stream.at_pair(k, 0);
        let chosen = below(w[0], w[1], total);
        let class = &classes[ends.partition_point(|&end| end <= chosen)];
        let a = below(w[2], 0, class.len() as u64) as usize;
        let b = below(w[3], 0, class.len() as u64 - 1) as usize;
        let b = if b >= a { b + 1 } else { b };
        [class[a], class[b]]
    };
    if total <= 2 * count as u64 {
        let mut pairs = all_pairs(classes);
        stream.rng().shuffle(&mut pairs);
        pairs.truncate(count);
        return Ok(pairs);
    }
    let mut seen = HashSet::with_capacity(count);
    let fresh = (0..).map(pair).filter(|&[a, b]| seen.insert([a.min(b), a.max(b)]));
    Ok(fresh.take(count).collect())
}
