//! Graph reconstruction: every edge is seen, learnt from and asked about, against as many non-edges. Features are left
//! out. There is nothing to hold out, so validation and test are the same questions.

use super::negatives::{Rule, draw_once};
use super::{NegativePairs, PairSampler, Part, Question, Split, Task, in_graph};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::model::View;
use crate::seeds::{Purpose, Seeds};
use crate::train::Config;
use std::sync::Arc;

pub(super) fn split(dataset: &Dataset, config: &Config, seeds: Seeds) -> Result<Split> {
    let mut split = Split { train: Vec::new(), valid: Vec::new(), test: Vec::new() };
    for (number, sample) in dataset.samples.iter().enumerate() {
        let graph = &sample.graph;
        if graph.num_edges() == 0 {
            let problem = Error::Data("there is no edge to reconstruct".into());
            return Err(in_graph(dataset, number, problem));
        }
        if graph.num_non_edges() == 0 {
            let problem = Error::Data("every pair of nodes is linked; there is no non-edge to compare with".into());
            return Err(in_graph(dataset, number, problem));
        }
        let view: Arc<View> = Task::GraphReconstruction.whole_view(sample, number as u64)?.into();
        let positive: Vec<[u32; 2]> = graph.edges().collect();
        let part =
            |negative| Part { view: view.clone(), question: Question::Pairs { positive: positive.clone(), negative } };
        let rule = Rule::for_training(config.train_negatives.get(), graph.clone());
        split.train.push(part(NegativePairs::Drawn(PairSampler::new(graph.num_nodes(), rule))));
        let negatives = config.evaluation_negatives.get();
        let sampler = PairSampler::new(graph.num_nodes(), Rule::for_evaluation(negatives, graph.clone()));
        let stream = seeds.stream(Purpose::Negatives, &[number as u64, 1]);
        let given = draw_once(&sampler, negatives, stream, positive.len(), graph.num_non_edges());
        split.valid.push(part(NegativePairs::Given(given.clone())));
        split.test.push(part(NegativePairs::Given(given)));
    }
    Ok(split)
}
