//! 5. What is asked. A task is a split: which pairs or nodes are asked about, and which edges message passing may see.

mod link_prediction;
pub mod negatives;
mod node_classification;
mod pairwise;
mod reconstruction;

pub use link_prediction::hold_out;
pub use negatives::{Negatives, PairSampler};
pub use pairwise::SameLabelPairs;

use crate::dataset::{Dataset, Features, Sample};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::model::View;
use crate::names::named;
use crate::seeds::{Purpose, Seeds};
use crate::train::Config;
use sha2::{Digest, Sha256};
use std::sync::Arc;

named! {
    /// What is asked of a model.
    pub enum Task, "task" {
        /// Which of the missing edges exist?
        LinkPrediction = "link-prediction",
        /// What class is a node of?
        NodeClassification = "node-classification",
        /// Are two nodes of the same class?
        PairwiseNodeClassification = "pairwise-node-classification",
        /// Which edges has the graph, told from the representations alone?
        GraphReconstruction = "graph-reconstruction",
    }
}

/// Questions about one graph, with the view of it that message passing may see and nothing else: held-out edges can't
/// leak, because they are not here.
#[derive(Debug, Clone)]
pub struct Part {
    /// What message passing sees. Parts of one graph share it.
    pub view: Arc<View>,
    /// What is asked.
    pub question: Question,
}

/// What is asked about a graph.
#[derive(Debug, Clone)]
pub enum Question {
    /// The class of each node.
    Nodes {
        /// Which nodes.
        nodes: Vec<u32>,
        /// Their classes.
        labels: Vec<u32>,
    },
    /// Which pairs belong together.
    Pairs {
        /// Those that do.
        positive: Vec<[u32; 2]>,
        /// Where those that do not come from.
        negative: NegativePairs,
    },
}

/// Pairs that do not belong together.
#[derive(Debug, Clone)]
pub enum NegativePairs {
    /// For evaluation: drawn once.
    Given(Vec<[u32; 2]>),
    /// For training: as many as positives, drawn anew every epoch.
    Drawn(PairSampler),
}

/// Questions to learn from, to choose the epoch by, and to report.
#[derive(Debug, Clone)]
pub struct Split {
    /// To learn from.
    pub train: Vec<Part>,
    /// To choose the epoch by.
    pub valid: Vec<Part>,
    /// To report.
    pub test: Vec<Part>,
}

impl Task {
    /// Whether pairs of nodes are asked about, and not single nodes.
    pub fn asks_pairs(self) -> bool {
        self != Task::NodeClassification
    }

    /// Reconstruction leaves features out, so that only structure counts.
    pub fn uses_features(self) -> bool {
        self != Task::GraphReconstruction
    }

    /// Whether the questions of the test are others than those of validation.
    pub fn holds_out(self) -> bool {
        self != Task::GraphReconstruction
    }

    /// Splits the data. The configuration must be resolved; `seeds` are those of the repeat.
    pub fn split(self, dataset: &Dataset, config: &Config, seeds: Seeds) -> Result<Split> {
        let split = match self {
            Task::LinkPrediction => link_prediction::split(dataset, config, seeds),
            Task::NodeClassification => node_classification::split(dataset, config, seeds),
            Task::PairwiseNodeClassification => pairwise::split(dataset, config, seeds),
            Task::GraphReconstruction => reconstruction::split(dataset, config, seeds),
        };
        split.map_err(|error| match error {
            Error::Data(problem) => Error::Data(format!("{}: {problem}", dataset.name)),
            other => other,
        })
    }

    /// What message passing sees of a sample when every one of its edges is known.
    pub fn whole_view(self, sample: &Sample, graph: u64) -> Result<View> {
        self.view_of(sample, sample.graph.clone(), graph)
    }

    fn view_of(self, sample: &Sample, visible: Arc<Graph>, graph: u64) -> Result<View> {
        let features =
            if self.uses_features() { sample.features.clone() } else { Features::Constant(visible.num_nodes()) };
        let view = View::new(visible, features)?.numbered(graph);
        Ok(match &sample.addresses {
            Some(rows) => view.with_addresses(rows.clone()),
            None => view,
        })
    }
}

impl Split {
    /// A fingerprint of everything that is asked and seen.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        let mut seen: Vec<&Arc<View>> = Vec::new();
        for (name, parts) in [("train", &self.train), ("valid", &self.valid), ("test", &self.test)] {
            for part in parts {
                hash.update(name);
                hash.update(part.view.graph.to_le_bytes());
                // Parts of one graph share their view.
                if !seen.iter().any(|view| Arc::ptr_eq(view, &part.view)) {
                    seen.push(&part.view);
                    hash.update(part.view.graph().digest());
                    hash.update(part.view.features.digest());
                }
                match &part.question {
                    Question::Nodes { nodes, labels } => {
                        nodes.iter().chain(labels).for_each(|number| hash.update(number.to_le_bytes()));
                    }
                    Question::Pairs { positive, negative } => {
                        let given: &[[u32; 2]] = if let NegativePairs::Given(given) = negative { given } else { &[] };
                        for pairs in [&positive[..], given] {
                            hash.update((pairs.len() as u64).to_le_bytes());
                            pairs.iter().flatten().for_each(|end| hash.update(end.to_le_bytes()));
                        }
                    }
                }
            }
        }
        crate::digest::hex(&hash.finalize())
    }
}

/// The problem of one graph, by its name if there are others.
fn in_graph(dataset: &Dataset, number: usize, error: Error) -> Error {
    match error {
        Error::Data(problem) if dataset.samples.len() > 1 => {
            Error::Data(format!("graph {}: {problem}", dataset.graph_name(number)))
        }
        other => other,
    }
}

/// The parts of the whole that a share makes, at least one each: `[train, valid, test]`.
fn sizes(total: usize, config: &Config, what: &str) -> Result<[usize; 3]> {
    if total < 3 {
        return Err(Error::Data(format!(
            "{total} {what} can't be split into training, validation and test; at least 3 are needed"
        )));
    }
    let share = |fraction: f32| ((total as f64 * f64::from(fraction)).round() as usize).clamp(1, total - 2);
    let valid = share(config.valid_fraction);
    let test = share(config.test_fraction).min(total - 1 - valid);
    Ok([total - valid - test, valid, test])
}

/// Which graphs are for training, validation and test, when there are several.
fn graphs_by_part(dataset: &Dataset, config: &Config, seeds: Seeds) -> Result<[Vec<usize>; 3]> {
    let mut order: Vec<usize> = (0..dataset.samples.len()).collect();
    seeds.rng(Purpose::Split, &[u64::MAX]).shuffle(&mut order);
    let [train, valid, _] = match dataset.paper_defaults.graphs {
        Some(counts) => counts,
        None => sizes(order.len(), config, "graphs")?,
    };
    Ok([order[..train].to_vec(), order[train..train + valid].to_vec(), order[train + valid..].to_vec()])
}

/// The labels of a sample, without which the task can't be asked.
fn labels_of<'a>(dataset: &Dataset, sample: &'a Sample, task: Task) -> Result<&'a Arc<[Option<u32>]>> {
    let missing = || Error::MissingLabels { dataset: dataset.name.clone(), task: task.to_string() };
    sample.labels.as_ref().ok_or_else(missing)
}
