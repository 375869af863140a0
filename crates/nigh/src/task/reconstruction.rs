//! Graph reconstruction: every edge is visible, learnt from and evaluated, against as many non-edges. Features are left out.
//! Nothing is held out, so the test is the validation.

use super::negatives::{NegativeRule, check_non_edges, draw_once};
use super::{EvaluationPairs, PairParts, PairSampler, Part, SplitSettings, Task, TrainingPairs, problem};
use crate::dataset::Dataset;
use crate::error::{Result, SplitProblem};
use crate::models::View;
use crate::seeds::{Purpose, Seeds};
use std::sync::Arc;

pub(super) fn split(dataset: &Dataset, settings: &SplitSettings, seeds: Seeds) -> Result<PairParts> {
    let mut parts = PairParts { train: Vec::new(), valid: Vec::new(), test: None };
    for (number, sample) in dataset.samples.iter().enumerate() {
        let graph = &sample.graph;
        if graph.num_edges() == 0 {
            return Err(problem(dataset, number, SplitProblem::NoEdge));
        }
        check_non_edges(graph, settings, &[graph.num_edges()]).map_err(|wrong| problem(dataset, number, wrong))?;
        let view: Arc<View> = Task::GraphReconstruction.whole_view(sample, number as u64)?.into();
        let positive: Vec<[u32; 2]> = graph.edges().collect();
        let rule = NegativeRule::for_training(settings.train_negatives, graph.clone());
        let question = TrainingPairs::new(positive.clone(), PairSampler::new(graph.num_nodes(), rule));
        parts.train.push(Part { view: view.clone(), question });
        let stream = seeds.stream(Purpose::Negatives, &[number as u64, 1]);
        let negative = draw_once(graph, settings, 0, positive.len(), stream);
        parts.valid.push(Part { view, question: EvaluationPairs::pooled(positive, negative) });
    }
    Ok(parts)
}
