//! Link prediction: a tenth of the edges is held out for validation, a tenth for the test, at most 100,000 each; messages pass over
//! the rest.

use super::hard_negatives::hard_negatives;
use super::negatives::{NegativeRule, check_non_edges, draw_once};
use super::ranking::Ends;
use super::{
    EvaluationNegatives, EvaluationPairs, PairParts, PairSampler, Part, Ranking, SplitChoice, SplitSettings, Task,
    TrainingPairs, graphs_by_part, held_out_edges, num_held_out, problem,
};
use crate::dataset::{Dataset, FixedPairs, FixedSplit, Sample};
use crate::error::{Result, SplitProblem};
use crate::graph::Graph;
use crate::model::View;
use crate::names::named;
use crate::propagation::Execution;
use crate::seeds::{Purpose, Seeds};
use std::sync::Arc;

pub(super) fn split(
    dataset: &Dataset,
    settings: &SplitSettings,
    seeds: Seeds,
    execution: &Arc<Execution>,
) -> Result<PairParts> {
    if let Some(given) = dataset.fixed_split.as_ref().filter(|_| settings.choice == SplitChoice::Given)
        && let Some(parts) = fixed(dataset, given, settings, seeds, execution)?
    {
        return Ok(parts);
    }
    let mut held_out = Vec::new();
    for (number, sample) in dataset.samples.iter().enumerate() {
        let mut edges: Vec<[u32; 2]> = sample.graph.edges().collect();
        seeds.rng(Purpose::Split, &[number as u64]).shuffle(&mut edges);
        let [valid, test] = num_held_out(edges.len(), settings).map_err(|wrong| problem(dataset, number, wrong))?;
        let (train, rest) = edges.split_at(edges.len() - valid - test);
        let (valid, test) = rest.split_at(valid);
        check_non_edges(&sample.graph, settings, &[valid.len(), test.len()])
            .map_err(|wrong| problem(dataset, number, wrong))?;
        let parts = hold_out_within(sample, number as u64, [train, valid, test], settings, seeds, execution)?;
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

/// A random split of one graph, whose training edges are not listed.
pub(super) fn split_unlisted(
    dataset: &Dataset,
    settings: &SplitSettings,
    seeds: Seeds,
    execution: &Arc<Execution>,
) -> Result<PairParts> {
    let sample = &dataset.samples[0];
    let known = &sample.graph;
    let held_out = held_out_edges(known, settings, seeds).map_err(|wrong| problem(dataset, 0, wrong))?;
    let visible = Arc::new(execution.without(known, &held_out.concat())?);
    let seen_in_test = match settings.test_edges {
        TestEdges::Training => None,
        TestEdges::TrainingAndValidation => Some(execution.without(known, &held_out[1])?),
    };
    let positives = [&held_out[0][..], &held_out[1]];
    let edges = DividedEdges { known, visible, train: None, positives, negatives: [&[], &[]], seen_in_test, execution };
    let parts = edges.parts(sample, 0, settings, seeds)?;
    check_cost(&parts).map_err(|wrong| problem(dataset, 0, wrong))?;
    let GraphParts { train, valid, test } = parts;
    Ok(PairParts { train: vec![train], valid: vec![valid], test: Some(vec![test]) })
}

/// The split that comes with the data: all edges of the graph are for training, or those that it lists. Its negatives serve unless
/// each positive has its own.
fn fixed(
    dataset: &Dataset,
    given: &FixedSplit,
    settings: &SplitSettings,
    seeds: Seeds,
    execution: &Arc<Execution>,
) -> Result<Option<PairParts>> {
    let ([sample], Some(held_out)) = (&dataset.samples[..], given.held_out()) else { return Ok(None) };
    let graph = &sample.graph;
    let train = match given {
        FixedSplit::Edges { train, .. } => train.clone(),
        _ => graph.edges().collect(),
    };
    let positives = held_out.each_ref().map(|pairs| &pairs.positive[..]);
    // A large graph is not built again if nothing is drawn or shown by it.
    let looks_at_known = settings.evaluation_negatives.pooled().is_none()
        || held_out.iter().any(|pairs| pairs.negative.is_empty())
        || settings.test_edges == TestEdges::TrainingAndValidation;
    let mut known = graph.clone();
    if looks_at_known {
        let beyond: Vec<[u32; 2]> = positives.concat().into_iter().filter(|&[a, b]| !graph.has_edge(a, b)).collect();
        if !beyond.is_empty() {
            known = extended(graph, &beyond)?.into();
        }
        // Given negatives are not drawn.
        let drawn = |pairs: &FixedPairs| if pairs.negative.is_empty() { pairs.positive.len() } else { 0 };
        check_non_edges(&known, settings, &held_out.each_ref().map(drawn))
            .map_err(|wrong| problem(dataset, 0, wrong))?;
    }
    let visible = match given {
        FixedSplit::Edges { .. } => Arc::new(graph.with_edges(&train)),
        _ => graph.clone(),
    };
    let negatives = held_out.each_ref().map(|pairs| &pairs.negative[..]);
    let seen_in_test = seen_in_test(&known, [&train, positives[0]], settings);
    let train = Some(&train[..]);
    let edges = DividedEdges { known: &known, visible, train, positives, negatives, seen_in_test, execution };
    let parts = edges.parts(sample, 0, settings, seeds)?;
    check_cost(&parts).map_err(|wrong| problem(dataset, 0, wrong))?;
    let GraphParts { train, valid, test } = parts;
    let test = (!positives[1].is_empty()).then(|| vec![test]);
    Ok(Some(PairParts { train: vec![train], valid: vec![valid], test }))
}

/// A graph with more edges, of weight 1 if the others have one.
fn extended(graph: &Graph, beyond: &[[u32; 2]]) -> Result<Graph> {
    let edges: Vec<[u32; 2]> = graph.edges().chain(beyond.iter().copied()).collect();
    let (graph, _) = match graph.is_weighted() {
        false => Graph::from_edges(graph.num_nodes(), &edges)?,
        true => {
            let mut weights = graph.edge_weights();
            weights.resize(edges.len(), 1.0);
            Graph::from_weighted_edges(graph.num_nodes(), &edges, &weights)?
        }
    };
    Ok(graph)
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
#[cfg(test)]
pub fn hold_out(
    sample: &Sample,
    number: u64,
    parts: [&[[u32; 2]]; 3],
    settings: &SplitSettings,
    seeds: Seeds,
) -> Result<GraphParts> {
    hold_out_within(sample, number, parts, settings, seeds, &Arc::default())
}

fn hold_out_within(
    sample: &Sample,
    number: u64,
    [train, positives @ ..]: [&[[u32; 2]]; 3],
    settings: &SplitSettings,
    seeds: Seeds,
    execution: &Arc<Execution>,
) -> Result<GraphParts> {
    let (known, visible) = (&sample.graph, Arc::new(sample.graph.with_edges(train)));
    let seen_in_test = seen_in_test(known, [train, positives[0]], settings);
    let (train, negatives) = (Some(train), [&[][..]; 2]);
    DividedEdges { known, visible, train, positives, negatives, seen_in_test, execution }
        .parts(sample, number, settings, seeds)
}

/// What messages pass over in the test, if that is not what they pass over in training.
fn seen_in_test(known: &Graph, [train, valid]: [&[[u32; 2]]; 2], settings: &SplitSettings) -> Option<Graph> {
    match settings.test_edges {
        TestEdges::Training => None,
        TestEdges::TrainingAndValidation => Some(known.with_edges(&[train, valid].concat())),
    }
}

/// The edges of one graph, divided.
struct DividedEdges<'a> {
    /// All of them.
    known: &'a Arc<Graph>,
    /// Those that message passing sees.
    visible: Arc<Graph>,
    /// The same, in the order in which they are learnt from; `None` if they are too many to list.
    train: Option<&'a [[u32; 2]]>,
    /// Held out for validation and test.
    positives: [&'a [[u32; 2]]; 2],
    /// Drawn where there are none.
    negatives: [&'a [[u32; 2]]; 2],
    /// What messages pass over in the test, if it is another graph.
    seen_in_test: Option<Graph>,
    execution: &'a Arc<Execution>,
}

impl DividedEdges<'_> {
    fn parts(self, sample: &Sample, number: u64, settings: &SplitSettings, seeds: Seeds) -> Result<GraphParts> {
        let DividedEdges { known, visible, train, positives, negatives, seen_in_test, execution } = self;
        let view = Task::LinkPrediction.view_of(sample, visible.clone(), number)?.within(execution.clone());
        let rule = NegativeRule::for_training(settings.train_negatives, visible);
        let sampler = PairSampler::new(known.num_nodes(), rule);
        let question = match train {
            Some(edges) => TrainingPairs::new(edges.to_vec(), sampler),
            None => TrainingPairs::edges_of_view(sampler),
        };
        // Evaluation may look at every known edge to make sure that a negative is none.
        let questions = match settings.evaluation_negatives.pooled() {
            Some(_) => [0, 1].map(|part| {
                let positive = positives[part].to_vec();
                if !negatives[part].is_empty() {
                    return EvaluationPairs::pooled(positive, negatives[part].to_vec());
                }
                let stream = seeds.stream(Purpose::Negatives, &[number, part as u64 + 1]);
                let negative = draw_once(known, settings, part, positive.len(), stream);
                EvaluationPairs::pooled(positive, negative)
            }),
            None => own_negatives(&view, known, positives, settings, seeds),
        };
        let [view, test_view] = evaluation_views(view, seen_in_test, &questions);
        let [valid, test] = questions;
        let (valid, test) = (Part { view: view.clone(), question: valid }, Part { view: test_view, question: test });
        Ok(GraphParts { train: Part { view, question }, valid, test })
    }
}

/// Pairs for which it pays to know beforehand that they will be scored.
const MOST_EXPECTED: usize = 1 << 22;

/// The views of validation and test, which is another one if messages pass over other edges there, each with the pairs that will be
/// scored over it.
fn evaluation_views(view: View, seen_in_test: Option<Graph>, questions: &[EvaluationPairs; 2]) -> [Arc<View>; 2] {
    let expecting = |view: View, questions: &[EvaluationPairs]| -> Arc<View> {
        let pairs = || questions.iter().flat_map(|question| [&question.positive, &question.negative]);
        let are_listed = questions.iter().all(|question| question.ranking == Ranking::Pooled);
        match are_listed && pairs().map(Vec::len).sum::<usize>() <= MOST_EXPECTED {
            true => view.expecting(pairs().flatten().copied().collect()).into(),
            false => view.into(),
        }
    };
    match seen_in_test {
        Some(graph) => {
            let test_view = view.over(graph);
            [expecting(view, &questions[..1]), expecting(test_view, &questions[1..])]
        }
        None => {
            let view = expecting(view, questions);
            [view.clone(), view]
        }
    }
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
