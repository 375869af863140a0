//! Link prediction: a tenth of the edges is held out for validation, a tenth for the test; messages pass over the rest.

use super::negatives::{Rule, draw_once};
use super::{NegativePairs, PairSampler, Part, Question, Split, Task, graphs_by_part, in_graph, sizes};
use crate::dataset::{Dataset, FixedPairs, FixedSplit, Sample};
use crate::error::{Error, Result};
use crate::model::View;
use crate::seeds::{Purpose, Seeds};
use crate::train::Config;
use std::sync::Arc;

pub(super) fn split(dataset: &Dataset, config: &Config, seeds: Seeds) -> Result<Split> {
    if let (Some(FixedSplit::Pairs(parts)), [sample]) = (&dataset.fixed_split, &dataset.samples[..]) {
        return given(sample, parts, config);
    }
    let mut split = Split { train: Vec::new(), valid: Vec::new(), test: Vec::new() };
    let mut held_out = Vec::new();
    for (number, sample) in dataset.samples.iter().enumerate() {
        let mut edges: Vec<[u32; 2]> = sample.graph.edges().collect();
        seeds.rng(Purpose::Split, &[number as u64]).shuffle(&mut edges);
        let in_graph = |error| in_graph(dataset, number, error);
        let [train, valid, _] = sizes(edges.len(), config, "edges").map_err(in_graph)?;
        let (train, rest) = edges.split_at(train);
        let (valid, test) = rest.split_at(valid);
        let parts = hold_out(sample, number as u64, [train, valid, test], config, seeds).map_err(in_graph)?;
        held_out.push(Some(parts));
    }
    if let [only] = &mut held_out[..] {
        let [train, valid, test] = only.take().expect("every sample was split");
        return Ok(Split { train: vec![train], valid: vec![valid], test: vec![test] });
    }
    // Several graphs: each is asked about one part of its own edges only.
    let graphs = graphs_by_part(dataset, config, seeds)?;
    for (part, (graphs, parts)) in graphs.iter().zip([&mut split.train, &mut split.valid, &mut split.test]).enumerate()
    {
        for &graph in graphs {
            let [train, valid, test] = held_out[graph].take().expect("a graph stands in one part");
            parts.push([train, valid, test].into_iter().nth(part).expect("three parts"));
        }
    }
    Ok(split)
}

/// The split that comes with the data: all edges of the graph are for training.
fn given(sample: &Sample, parts: &[FixedPairs; 2], config: &Config) -> Result<Split> {
    let view: Arc<View> = Task::LinkPrediction.whole_view(sample, 0)?.into();
    let rule = Rule::for_training(config.train_negatives.get(), sample.graph.clone());
    let drawn = NegativePairs::Drawn(PairSampler::new(sample.graph.num_nodes(), rule));
    let part = |positive: Vec<[u32; 2]>, negative| {
        vec![Part { view: view.clone(), question: Question::Pairs { positive, negative } }]
    };
    let asked = |pairs: &FixedPairs| part(pairs.positive.clone(), NegativePairs::Given(pairs.negative.clone()));
    Ok(Split { train: part(sample.graph.edges().collect(), drawn), valid: asked(&parts[0]), test: asked(&parts[1]) })
}

/// The three parts of one graph for a given division of its edges: all of them see the training edges alone.
pub fn hold_out(
    sample: &Sample,
    number: u64,
    [train, valid, test]: [&[[u32; 2]]; 3],
    config: &Config,
    seeds: Seeds,
) -> Result<[Part; 3]> {
    let whole = &sample.graph;
    if whole.num_non_edges() == 0 {
        return Err(Error::Data("every pair of nodes is linked; there is no negative to tell a link from".into()));
    }
    let visible = Arc::new(whole.with_edges(train));
    let view: Arc<View> = Task::LinkPrediction.view_of(sample, visible.clone(), number)?.into();
    let rule = Rule::for_training(config.train_negatives.get(), visible);
    let drawn = NegativePairs::Drawn(PairSampler::new(whole.num_nodes(), rule));
    let mut parts =
        vec![Part { view: view.clone(), question: Question::Pairs { positive: train.to_vec(), negative: drawn } }];
    // Evaluation may look at every known edge to make sure that a negative is none.
    let rule = Rule::for_evaluation(config.evaluation_negatives.get(), whole.clone());
    let sampler = PairSampler::new(whole.num_nodes(), rule);
    for (part, positive) in [(1, valid), (2, test)] {
        let stream = seeds.stream(Purpose::Negatives, &[number, part]);
        let given =
            draw_once(&sampler, config.evaluation_negatives.get(), stream, positive.len(), whole.num_non_edges());
        let question = Question::Pairs { positive: positive.to_vec(), negative: NegativePairs::Given(given) };
        parts.push(Part { view: view.clone(), question });
    }
    Ok(parts.try_into().expect("three parts"))
}
