//! Link prediction: a tenth of the edges is held out for validation, a tenth for the test; messages pass over the rest.

use super::negatives::{NegativeRule, draw_once};
use super::{
    EvaluationPairs, PairParts, PairSampler, Part, SplitChoice, SplitSettings, Task, TrainingPairs, graphs_by_part,
    problem, sizes,
};
use crate::dataset::{Dataset, FixedPairs, FixedSplit, Sample};
use crate::error::{Result, SplitProblem};
use crate::model::View;
use crate::seeds::{Purpose, Seeds};
use std::sync::Arc;

pub(super) fn split(dataset: &Dataset, settings: &SplitSettings, seeds: Seeds) -> Result<PairParts> {
    if let (Some(FixedSplit::Pairs(parts)), [sample]) = (&dataset.fixed_split, &dataset.samples[..])
        && settings.choice == SplitChoice::Given
    {
        return fixed(sample, parts, settings);
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
        held_out.push(hold_out(sample, number as u64, [train, valid, test], settings, seeds)?);
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

/// The split that comes with the data: all edges of the graph are for training.
fn fixed(sample: &Sample, parts: &[FixedPairs; 2], settings: &SplitSettings) -> Result<PairParts> {
    let view: Arc<View> = Task::LinkPrediction.whole_view(sample, 0)?.into();
    let rule = NegativeRule::for_training(settings.train_negatives, sample.graph.clone());
    let negatives = PairSampler::new(sample.graph.num_nodes(), rule);
    let question = TrainingPairs::new(sample.graph.edges().collect(), negatives);
    let [valid, test] = parts.each_ref().map(|pairs| {
        let question = EvaluationPairs { positive: pairs.positive.clone(), negative: pairs.negative.clone() };
        vec![Part { view: view.clone(), question }]
    });
    Ok(PairParts { train: vec![Part { view, question }], valid, test: Some(test) })
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

/// The three parts of one graph for a given division of its edges, of which there must be non-edges: all of the parts see
/// the training edges alone.
pub fn hold_out(
    sample: &Sample,
    number: u64,
    [train, valid, test]: [&[[u32; 2]]; 3],
    settings: &SplitSettings,
    seeds: Seeds,
) -> Result<GraphParts> {
    let whole = &sample.graph;
    let visible = Arc::new(whole.with_edges(train));
    let view: Arc<View> = Task::LinkPrediction.view_of(sample, visible.clone(), number)?.into();
    let rule = NegativeRule::for_training(settings.train_negatives, visible);
    let question = TrainingPairs::new(train.to_vec(), PairSampler::new(whole.num_nodes(), rule));
    // Evaluation may look at every known edge to make sure that a negative is none.
    let negatives = settings.evaluation_negatives;
    let sampler = PairSampler::new(whole.num_nodes(), NegativeRule::for_evaluation(negatives, whole.clone()));
    let evaluation = |part: u64, positive: &[[u32; 2]]| {
        let stream = seeds.stream(Purpose::Negatives, &[number, part]);
        let negative = draw_once(&sampler, negatives, stream, positive.len(), whole.num_non_edges());
        Part { view: view.clone(), question: EvaluationPairs { positive: positive.to_vec(), negative } }
    };
    let (valid, test) = (evaluation(1, valid), evaluation(2, test));
    Ok(GraphParts { train: Part { view, question }, valid, test })
}
