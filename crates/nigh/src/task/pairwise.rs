//! Pairwise node classification: are two nodes of the same class? Message passing sees the whole graph.

use super::negatives::NegativeRule;
use super::{
    EvaluationPairs, Negatives, PairParts, PairSampler, Part, SplitSettings, Task, TrainingPairs, graphs_by_part,
    labels_of, nodes_by_class, problem, sizes,
};
use crate::dataset::Dataset;
use crate::error::{Result, SplitProblem};
use crate::models::View;
use crate::names::named;
use crate::seeds::{Purpose, Seeds, below};
use std::collections::HashSet;
use std::sync::Arc;

named! {
    /// Which pairs of like nodes are positives.
    pub enum SameLabelPairs, "choice of same-label pairs" {
        /// Every one.
        All = "all",
        /// As many random ones as there are edges.
        Sampled = "sampled",
    }
}

pub(super) fn split(dataset: &Dataset, settings: &SplitSettings, seeds: Seeds) -> Result<PairParts> {
    if dataset.is_multi_label() {
        return Err(problem(dataset, 0, SplitProblem::SeveralLabels));
    }
    let mut parts = PairParts { train: Vec::new(), valid: Vec::new(), test: None };
    let mut tests = Vec::new();
    let several = dataset.samples.len() > 1;
    let graphs = if several { graphs_by_part(dataset, settings, seeds)? } else { Default::default() };
    for (number, sample) in dataset.samples.iter().enumerate() {
        let labels = labels_of(dataset, sample, Task::PairwiseNodeClassification)?;
        let classes = nodes_by_class(labels, dataset.class_names.len());
        let wrong = |wrong| problem(dataset, number, wrong);
        let count = classes.iter().filter(|class| !class.is_empty()).count();
        if count < 2 {
            return Err(wrong(SplitProblem::OneClassForPairs { count }));
        }
        let mut positive = match settings.same_label_pairs {
            SameLabelPairs::All => all_pairs(&classes),
            SameLabelPairs::Sampled => {
                sampled_pairs(&classes, sample.graph.num_edges(), (seeds, number as u64)).map_err(wrong)?
            }
        };
        seeds.rng(Purpose::Split, &[number as u64]).shuffle(&mut positive);
        let [train, valid, _] = sizes(positive.len(), settings, "pairs of nodes with the same label").map_err(wrong)?;
        let (train, rest) = positive.split_at(train);
        let (valid, test) = rest.split_at(valid);
        let view: Arc<View> = Task::PairwiseNodeClassification.whole_view(sample, number as u64)?.into();
        let sampler = |rule| PairSampler::among(labelled(labels), sample.graph.num_nodes(), rule);
        let (training, evaluation) = rules(settings, labels);
        let evaluation = sampler(evaluation);
        let asks = |part: usize| !several || graphs[part].contains(&number);
        if asks(0) {
            let question = TrainingPairs::new(train.to_vec(), sampler(training));
            parts.train.push(Part { view: view.clone(), question });
        }
        for (part, positive, to) in [(1, valid, &mut parts.valid), (2, test, &mut tests)] {
            if asks(part) {
                let mut negative = Vec::new();
                let stream = seeds.stream(Purpose::Negatives, &[number as u64, part as u64]);
                evaluation.draw(stream, settings.num_negatives(part - 1, positive.len()), &mut negative);
                to.push(Part { view: view.clone(), question: EvaluationPairs::pooled(positive.to_vec(), negative) });
            }
        }
    }
    Ok(PairParts { test: Some(tests), ..parts })
}

/// What negatives must not be, in training and in evaluation. The authors listed every positive of the small graphs in
/// one direction and checked against that list, but drew by label where the positives are a sample.
fn rules(settings: &SplitSettings, labels: &Arc<[Option<u32>]>) -> (NegativeRule, NegativeRule) {
    let training = match settings.train_negatives {
        Negatives::Loose => NegativeRule::Any,
        Negatives::Exact => NegativeRule::Unlike(labels.clone()),
    };
    let evaluation = match (settings.pooled(), settings.same_label_pairs) {
        (Negatives::Loose, SameLabelPairs::All) => NegativeRule::NotListedAlike(labels.clone()),
        _ => NegativeRule::Unlike(labels.clone()),
    };
    (training, evaluation)
}

fn labelled(labels: &[Option<u32>]) -> Vec<u32> {
    (0..labels.len() as u32).filter(|&node| labels[node as usize].is_some()).collect()
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
fn sampled_pairs(
    classes: &[Vec<u32>],
    count: usize,
    (seeds, number): (Seeds, u64),
) -> std::result::Result<Vec<[u32; 2]>, SplitProblem> {
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
        return Err(SplitProblem::NoSameLabelPair);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::Config;

    #[test]
    fn pairs_are_two_nodes_of_one_class_and_each_comes_once() {
        let classes = [vec![0, 2, 4], vec![1, 3]];
        assert_eq!(all_pairs(&classes), [[0, 2], [0, 4], [2, 4], [1, 3]]);
        let classes = [(0..30).collect(), (30..50).collect::<Vec<u32>>()];
        let pairs = sampled_pairs(&classes, 250, (Seeds::new(1), 0)).unwrap();
        assert!(pairs.iter().all(|[a, b]| a != b && (*a < 30) == (*b < 30)));
        let distinct: HashSet<[u32; 2]> = pairs.iter().map(|&[a, b]| [a.min(b), a.max(b)]).collect();
        assert_eq!(distinct.len(), 250);
    }

    #[test]
    fn validation_and_test_have_negatives_of_their_own() {
        let dataset = Dataset::built_in("communities").unwrap();
        let config = Config { task: Task::PairwiseNodeClassification, ..Config::default() };
        let settings = config.resolve(&dataset).unwrap().split();
        let parts = split(&dataset, &settings, Seeds::new(1)).unwrap();
        assert_ne!(parts.valid[0].question.negative[..10], parts.test()[0].question.negative[..10]);
    }
}
