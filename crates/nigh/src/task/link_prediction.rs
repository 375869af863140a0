//! Link prediction: a tenth of the edges is held out for validation, a tenth for the test; messages pass over the rest.

use super::hard_negatives::hard_negatives;
use super::negatives::{NegativeRule, draw_once};
use super::ranking::Ends;
use super::{
    EvaluationNegatives, EvaluationPairs, PairParts, PairSampler, Part, Ranking, SplitChoice, SplitSettings, Task,
    TrainingPairs, graphs_by_part, problem, sizes,
};
use crate::dataset::{Dataset, FixedPairs, FixedSplit, Sample};
use crate::error::{Result, SplitProblem};
use crate::graph::Graph;
use crate::model::View;
use crate::names::named;
use crate::seeds::{Purpose, Seeds};
use std::sync::Arc;

pub(super) fn split(dataset: &Dataset, settings: &SplitSettings, seeds: Seeds) -> Result<PairParts> {
    if let (Some(FixedSplit::Pairs(parts)), [sample]) = (&dataset.fixed_split, &dataset.samples[..])
        && settings.choice == SplitChoice::Given
    {
        return fixed(dataset, sample, parts, settings, seeds);
    }
    let mut held_out = Vec::new();
    for (number, sample) in dataset.samples.iter().enumerate() {
        let mut edges: Vec<[u32; 2]> = sample.graph.edges().collect();
        seeds.rng(Purpose::Split, &[number as u64]).shuffle(&mut edges);
        let [train, valid, _] =
            sizes(edges.len(), settings, "edges").map_err(|wrong| problem(dataset, number, wrong))?;
        let (train, rest) = edges.split_at(train);
        let (valid, test) = rest.split_at(valid);
        if sample.graph.num_non_edges() == 0 {
            return Err(problem(dataset, number, SplitProblem::NoNonEdge));
        }
        let parts = hold_out(sample, number as u64, [train, valid, test], settings, seeds)?;
        check_cost(&parts).map_err(|wrong| problem(dataset, number, wrong))?;
        held_out.push(parts);
    }
    if held_out.len() == 1 {
        let GraphParts { train, valid, test } = held_out.remove(0);
        return Ok(PairParts { train: vec![train], valid: vec![valid], test: Some(vec![test]) });
    }
    // Several graphs: each stands in one part, with the edges of its own that this part has.
    let [train, valid, test] = graphs_by_part(dataset, settings, seeds)?;
    Ok(PairParts {
        train: train.iter().map(|&graph| held_out[graph].train.clone()).collect(),
        valid: valid.iter().map(|&graph| held_out[graph].valid.clone()).collect(),
        test: Some(test.iter().map(|&graph| held_out[graph].test.clone()).collect()),
    })
}

/// The split that comes with the data: all edges of the graph are for training. Its negatives serve unless each positive has
/// its own.
fn fixed(
    dataset: &Dataset,
    sample: &Sample,
    parts: &[FixedPairs; 2],
    settings: &SplitSettings,
    seeds: Seeds,
) -> Result<PairParts> {
    let view: Arc<View> = Task::LinkPrediction.whole_view(sample, 0)?.into();
    let rule = NegativeRule::for_training(settings.train_negatives, sample.graph.clone());
    let negatives = PairSampler::new(sample.graph.num_nodes(), rule);
    let question = TrainingPairs::new(sample.graph.edges().collect(), negatives);
    let train = Part { view: view.clone(), question };
    let [valid, test] = if settings.evaluation_negatives.pooled().is_some() {
        parts.each_ref().map(|pairs| EvaluationPairs::pooled(pairs.positive.clone(), pairs.negative.clone()))
    } else {
        let held_out = parts.iter().flat_map(|pairs| &pairs.positive).copied();
        let edges: Vec<[u32; 2]> = sample.graph.edges().chain(held_out).collect();
        let known = Graph::from_edges(sample.graph.num_nodes(), &edges)?.0.into();
        own_negatives(&view, &known, parts.each_ref().map(|pairs| &pairs.positive[..]), settings, seeds)
    };
    let test_view = match settings.test_edges {
        TestEdges::Training => view.clone(),
        TestEdges::TrainingAndValidation => {
            let edges: Vec<[u32; 2]> = sample.graph.edges().chain(parts[0].positive.iter().copied()).collect();
            let graph = Graph::from_edges(sample.graph.num_nodes(), &edges)?.0;
            Task::LinkPrediction.view_of(sample, graph.into(), 0)?.into()
        }
    };
    let parts =
        GraphParts { train, valid: Part { view, question: valid }, test: Part { view: test_view, question: test } };
    check_cost(&parts).map_err(|wrong| problem(dataset, 0, wrong))?;
    let GraphParts { train, valid, test } = parts;
    Ok(PairParts { train: vec![train], valid: vec![valid], test: Some(vec![test]) })
}

named! {
    /// Which edges message passing sees in the test.
    pub enum TestEdges, "choice of edges" {
        /// Those of the training.
        Training = "training",
        /// Those of the validation as well: they are known by then, and only a model that is not trained again can be told.
        TrainingAndValidation = "training-and-validation",
    }
}

/// The three parts of one graph.
#[derive(Debug, Clone)]
pub struct GraphParts {
    /// To learn from.
    pub train: Part<TrainingPairs>,
    /// To choose the epoch by.
    pub valid: Part<EvaluationPairs>,
    /// To report.
    pub test: Part<EvaluationPairs>,
}

/// The three parts of one graph for a given division of its edges, of which there must be non-edges. All of the parts see the
/// training edges alone, unless the settings let the test see those of the validation as well.
pub fn hold_out(
    sample: &Sample,
    number: u64,
    [train, held_out @ ..]: [&[[u32; 2]]; 3],
    settings: &SplitSettings,
    seeds: Seeds,
) -> Result<GraphParts> {
    let whole = &sample.graph;
    let visible = Arc::new(whole.with_edges(train));
    let view: Arc<View> = Task::LinkPrediction.view_of(sample, visible.clone(), number)?.into();
    let rule = NegativeRule::for_training(settings.train_negatives, visible);
    let question = TrainingPairs::new(train.to_vec(), PairSampler::new(whole.num_nodes(), rule));
    // Evaluation may look at every known edge to make sure that a negative is none.
    let [valid, test] = match settings.evaluation_negatives.pooled() {
        Some(negatives) => {
            let sampler = PairSampler::new(whole.num_nodes(), NegativeRule::for_evaluation(negatives, whole.clone()));
            [(0, held_out[0]), (1, held_out[1])].map(|(part, positive)| {
                let stream = seeds.stream(Purpose::Negatives, &[number, part as u64 + 1]);
                let count = settings.num_negatives(part, positive.len());
                let negative = draw_once(&sampler, negatives, stream, count, whole.num_non_edges());
                EvaluationPairs::pooled(positive.to_vec(), negative)
            })
        }
        None => own_negatives(&view, whole, held_out, settings, seeds),
    };
    let test_view = match settings.test_edges {
        TestEdges::Training => view.clone(),
        TestEdges::TrainingAndValidation => {
            let known = Arc::new(whole.with_edges(&[train, held_out[0]].concat()));
            Task::LinkPrediction.view_of(sample, known, number)?.into()
        }
    };
    let (valid, test) = (Part { view: view.clone(), question: valid }, Part { view: test_view, question: test });
    Ok(GraphParts { train: Part { view, question }, valid, test })
}

/// Validation and test, each positive ranked among negatives of its own.
fn own_negatives(
    view: &View,
    known: &Arc<Graph>,
    positives: [&[[u32; 2]]; 2],
    settings: &SplitSettings,
    seeds: Seeds,
) -> [EvaluationPairs; 2] {
    if settings.evaluation_negatives == EvaluationNegatives::All {
        return positives.map(|positive| EvaluationPairs::among_all_nodes(positive.to_vec(), known.clone()));
    }
    // Half for each end. An end has the same negatives in validation and test.
    let counts = settings.negative_ratios.map(|ratio| (ratio / 2.0).round() as usize);
    let ends = Ends::of(&positives.concat()).nodes;
    let stream = seeds.stream(Purpose::Negatives, &[view.graph, 3]);
    let hardest = hard_negatives(view, known, &ends, counts[0].max(counts[1]), stream);
    [0, 1].map(|part| {
        EvaluationPairs::per_positive(positives[part].to_vec(), |end| {
            let others = &hardest[ends.binary_search(&end).expect("an end of a positive")];
            &others[..counts[part].min(others.len())]
        })
    })
}

/// Pairs that one evaluation may score against all nodes.
const MAX_SCORED: u64 = 200_000_000;

fn check_cost(parts: &GraphParts) -> std::result::Result<(), SplitProblem> {
    for part in [&parts.valid, &parts.test] {
        let (pairs, most) = (part.question.num_scored(), MAX_SCORED);
        if matches!(part.question.ranking, Ranking::AllNodes { .. }) && pairs > most {
            return Err(SplitProblem::TooManyPairs { positives: part.question.positive.len(), pairs, most });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::generate;
    use crate::train::Config;
    use std::collections::HashSet;

    #[test]
    fn parts_see_training_edges_and_negatives_are_no_known_edges() {
        let dataset = Dataset::from_graph("communities", generate::communities(4, 10, 0.05, 1).graph);
        let settings = Config::default().resolve(&dataset).unwrap().split();
        let settings = SplitSettings { test_edges: TestEdges::TrainingAndValidation, ..settings };
        let whole = &dataset.samples[0].graph;
        let edges: Vec<[u32; 2]> = whole.edges().collect();
        let (train, rest) = edges.split_at(edges.len() / 2);
        let (valid, test) = rest.split_at(rest.len() / 2);
        let parts = hold_out(&dataset.samples[0], 0, [train, valid, test], &settings, Seeds::new(1)).unwrap();
        let seen = |view: &View| view.graph().edges().collect::<HashSet<_>>();
        let training: HashSet<[u32; 2]> = train.iter().copied().collect();
        assert_eq!((seen(&parts.train.view), seen(&parts.valid.view)), (training.clone(), training.clone()));
        assert_eq!(seen(&parts.test.view), training.iter().chain(valid).copied().collect());
        for part in [&parts.valid, &parts.test] {
            assert!(part.question.negative.iter().all(|&[a, b]| a != b && !whole.has_edge(a, b)));
        }
        assert_ne!(parts.valid.question.negative[..10], parts.test.question.negative[..10]);
    }
}
