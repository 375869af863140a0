//! What a training leaves behind and what can be done with it: embed, score, classify, evaluate again.

mod card;
mod embedding;
mod folder;

pub use embedding::Embedding;

use crate::dataset::{Dataset, Ids, Sample};
use crate::display::pluralize;
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::linalg::half::StorageError;
use crate::model::Model;
use crate::model::decoder::PairDecoder;
use crate::ops::softmax;
use crate::seeds::Seeds;
use crate::source::{Refresh, Source};
use crate::task::Task;
use crate::train::{self, Config, Counts, Outcome, Run};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A model with all that is needed to use it on its own graph or on another.
#[derive(Debug)]
pub struct Trained {
    /// Every choice made.
    pub config: Config,
    /// What it was trained on and how well.
    pub summary: Summary,
    /// The nodes it has met, in order; they keep their signals.
    pub ids: Arc<Ids>,
    model: Model,
}

/// What a model was trained on and how well.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// Name of the data.
    pub dataset: String,
    /// `N`.
    pub num_nodes: usize,
    /// `M`.
    pub num_edges: usize,
    /// Features per node, 0 for none.
    pub num_features: usize,
    /// The word for each class.
    pub class_names: Vec<String>,
    /// The word for each feature, where the user's file had them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feature_names: Vec<String>,
    /// Nodes of the largest graph, which is how many can be known by their ids.
    #[serde(default)]
    pub largest_graph: usize,
    /// Fingerprint of the graphs.
    pub graph: String,
    /// Mean of the test metric over the repeats.
    pub mean: f64,
    /// Its population standard deviation.
    pub std: f64,
    /// Every repeat.
    pub repeats: Vec<Run>,
    /// The repeat behind the weights: the best on its validation part.
    pub chosen: usize,
    /// What storing rows in halves between hops changed, if they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_error: Option<StorageError>,
}

impl Summary {
    /// What decides about the shape of the model.
    fn counts(&self) -> Counts {
        Counts { features: self.num_features, classes: self.class_names.len(), nodes: self.largest_graph }
    }
}

/// What `evaluate` found.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The metric on the validation part.
    pub valid: f64,
    /// The metric on the test part.
    pub test: f64,
    /// Whether graph and split are those of the training.
    pub same_split: bool,
    /// Whether the model has met nothing of what it is asked: not if some nodes are known and the split is another.
    pub held_out: bool,
}

/// A node and its class.
#[derive(Debug, Clone, PartialEq)]
pub struct Classified {
    /// The node.
    pub node: u32,
    /// The most likely class.
    pub class: u32,
    /// How likely it is.
    pub probability: f32,
}

/// A possible link of a node.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// The node at the other end.
    pub node: u32,
    /// The decoder's score.
    pub score: f32,
    /// Whether the graph has the link already.
    pub exists: bool,
}

impl Trained {
    /// The best model of a training.
    pub fn new(dataset: &Dataset, config: &Config, outcome: Outcome) -> Result<Trained> {
        let (mean, std) = outcome.mean_and_std();
        let summary = Summary {
            dataset: dataset.name.clone(),
            num_nodes: dataset.num_nodes(),
            num_edges: dataset.num_edges(),
            num_features: dataset.samples[0].features.count(),
            class_names: dataset.class_names.clone(),
            feature_names: dataset.feature_names.clone(),
            largest_graph: Counts::of(dataset).nodes,
            graph: graph_digest(dataset),
            mean,
            std,
            repeats: outcome.runs,
            chosen: outcome.best,
            storage_error: outcome.storage_error,
        };
        let ids = match &dataset.samples[..] {
            [only] => only.ids.clone(),
            // Nodes of several graphs are not told apart by name; their signals are resampled.
            _ => Ids::Numbers(0).into(),
        };
        Ok(Trained { config: config.clone().resolve(dataset)?, summary, ids, model: outcome.model })
    }

    /// The repeat behind the weights.
    pub fn run(&self) -> &Run {
        &self.summary.repeats[self.summary.chosen]
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The data as this model sees them: known nodes in their old places, classes by their old numbers. Remarks on
    /// what is new come along.
    pub fn align(&self, dataset: &Dataset) -> Result<(Dataset, Vec<String>)> {
        self.align_and_count(dataset).map(|(aligned, notes, _)| (aligned, notes))
    }

    /// As `align`, with the number of nodes that the model knows by their ids.
    fn align_and_count(&self, dataset: &Dataset) -> Result<(Dataset, Vec<String>, usize)> {
        let (expected, got) = (self.summary.num_features, dataset.samples[0].features.count());
        let architecture = self.model.architecture();
        if self.config.task.uses_features() && architecture.uses(Source::Features) && expected != got {
            return Err(Error::FeatureCount { dataset: dataset.name.clone(), expected, got });
        }
        let (mut aligned, num_known) = dataset.aligned(&self.ids)?;
        if self.config.task.uses_features() && architecture.uses(Source::Features) {
            aligned = aligned.with_features(&self.summary.feature_names)?;
        }
        let num_new = aligned.num_nodes() - num_known;
        let mut notes = Vec::new();
        let (memory, remedy) = match self.model.shape().refresh {
            _ if architecture.uses(Source::OneHot) => {
                ("knows nodes by their ids", "smp-linear and --refresh resampled")
            }
            Refresh::Fixed if architecture.uses(Source::Signal) => ("has a fixed signal", "--refresh resampled"),
            _ => ("", ""),
        };
        if !memory.is_empty() && num_new > 0 {
            if num_known == 0 {
                return Err(Error::Data(format!(
                    "the model {memory} and has met none of the {num_new} nodes of {}; \
                     train with {remedy} to use it on graphs it has never seen",
                    dataset.name
                )));
            }
            notes.push(format!(
                "{num_new} of {} nodes are new to the model, which {memory}; their representations are less reliable \
                 than with {remedy}",
                aligned.num_nodes()
            ));
        }
        // Pairs of nodes are compared by their labels whatever these are called.
        if self.config.task == Task::NodeClassification && !aligned.class_names.is_empty() {
            aligned = aligned.with_classes(&self.summary.class_names)?;
        }
        Ok((aligned, notes, if self.ids.is_empty() { 0 } else { num_known }))
    }

    /// Passes messages over all of a graph; answers are asked of the result.
    pub fn apply(&mut self, dataset: &Dataset) -> Result<Inference<'_>> {
        if dataset.samples.len() != 1 {
            return Err(Error::Data(format!("{} graphs; one at a time can be asked", dataset.samples.len())));
        }
        let (aligned, mut notes) = self.align(dataset)?;
        if graph_digest(&aligned) != self.summary.graph {
            notes.push(format!(
                "not the graph of the training, which had {} and {}",
                pluralize(self.summary.num_nodes, "node"),
                pluralize(self.summary.num_edges, "edge"),
            ));
        }
        self.infer(aligned.samples.into_iter().next().expect("one graph"), 0, notes)
    }

    /// As `apply`, of every graph in turn.
    pub fn apply_each(
        &mut self,
        dataset: &Dataset,
        mut each: impl FnMut(usize, Inference<'_>) -> Result<()>,
    ) -> Result<()> {
        let whole = self.whole(dataset)?;
        for number in 0..dataset.samples.len() {
            each(number, self.apply_to_part(dataset, whole.as_ref(), number)?)?;
        }
        Ok(())
    }

    /// As `apply`, of one of several graphs.
    pub fn apply_to_graph(&mut self, dataset: &Dataset, number: usize) -> Result<Inference<'_>> {
        let count = dataset.samples.len();
        if number >= count {
            return Err(Error::Data(format!("graph {number} is not there; {count} are counted from zero")));
        }
        let whole = self.whole(dataset)?;
        self.apply_to_part(dataset, whole.as_ref(), number)
    }

    /// All graphs as a model of several graphs sees them, which knows nodes by their places in all of them.
    fn whole(&self, dataset: &Dataset) -> Result<Option<(Dataset, Vec<String>)>> {
        let is_known_by_places = dataset.samples.len() > 1 && self.ids.is_empty();
        is_known_by_places.then(|| self.align(dataset)).transpose()
    }

    fn apply_to_part(
        &mut self,
        dataset: &Dataset,
        whole: Option<&(Dataset, Vec<String>)>,
        number: usize,
    ) -> Result<Inference<'_>> {
        if dataset.samples.len() == 1 {
            return self.apply(dataset);
        }
        let (sample, notes) = match whole {
            Some((aligned, notes)) => (aligned.samples[number].clone(), notes.clone()),
            None => {
                let (aligned, notes) = self.align(&dataset.graph(number))?;
                (aligned.samples.into_iter().next().expect("one graph"), notes)
            }
        };
        self.infer(sample, number as u64, notes)
    }

    fn infer(&mut self, sample: Sample, number: u64, notes: Vec<String>) -> Result<Inference<'_>> {
        let view = self.config.task.whole_view(&sample, number)?;
        let draw = self.run().best_epoch as u64;
        let h = self.model.represent(&view, draw);
        if h.data().iter().any(|value| !value.is_finite()) {
            return Err(Error::Data("the representations are not finite; features or weights must be enormous".into()));
        }
        Ok(Inference { trained: self, sample, h, notes })
    }

    /// `H` of all graphs, all of whose edges are known.
    pub fn embed(&mut self, dataset: &Dataset) -> Result<Embedding> {
        self.embed_with_notes(dataset).map(|embedded| embedded.0)
    }

    /// As `embed`, with remarks for the user.
    pub fn embed_with_notes(&mut self, dataset: &Dataset) -> Result<(Embedding, Vec<String>)> {
        if self.model.architecture().heuristic.is_some() {
            let model = &self.config.model;
            return Err(Error::Data(format!("{model} counts in the graph; it has no representations to write")));
        }
        let (mut parts, mut notes) = (Vec::new(), Vec::new());
        self.apply_each(dataset, |number, applied| {
            let new: Vec<String> = applied.notes.iter().filter(|note| !notes.contains(*note)).cloned().collect();
            notes.extend(new);
            parts.push((dataset.graph_name(number), applied.into_embedding()));
            Ok(())
        })?;
        match parts.len() {
            1 => Ok((parts.remove(0).1, notes)),
            _ => Ok((Embedding::of_graphs(parts), notes)),
        }
    }

    /// Splits the data as the training did and measures again. Held-out edges stay out of message passing.
    pub fn evaluate(&mut self, dataset: &Dataset) -> Result<(Verdict, Vec<String>)> {
        let (aligned, mut notes, num_known) = self.align_and_count(dataset)?;
        let split = self.config.task.split(&aligned, &self.config, Seeds::new(self.run().seed))?;
        let same_split = split.digest() == self.run().split;
        let held_out = same_split || num_known == 0;
        if !same_split {
            let problem =
                "these are not the graph, features and labels of the training: measured on a split of their own";
            let warning = if held_out { "" } else { ", of which the model has learnt most: no held-out figures" };
            notes.push(format!("{problem}{warning}"));
        }
        let draw = self.run().best_epoch as u64;
        let valid = train::evaluate(&mut self.model, &self.config, &split.valid, draw)?;
        let test = train::evaluate(&mut self.model, &self.config, &split.test, draw)?;
        Ok((Verdict { valid, test, same_split, held_out }, notes))
    }
}

/// A model applied to a graph.
#[derive(Debug)]
pub struct Inference<'a> {
    trained: &'a mut Trained,
    /// The graph, its nodes in the model's order.
    pub sample: Sample,
    h: Matrix,
    /// Remarks for the user.
    pub notes: Vec<String>,
}

impl Inference<'_> {
    /// The representations with the names of their nodes.
    pub fn into_embedding(self) -> Embedding {
        Embedding { graphs: None, ids: self.sample.ids, matrix: self.h }
    }

    /// The score of every pair.
    pub fn scores(&mut self, pairs: &[[u32; 2]]) -> Result<Vec<f32>> {
        let task = self.trained.config.task;
        if !task.asks_pairs() {
            return Err(Error::Data(format!("the model was trained for {task}; it has no scores for pairs")));
        }
        pairs.iter().flatten().try_for_each(|&node| self.check(node))?;
        let model = &mut self.trained.model;
        let mut decoder = PairDecoder::new(self.trained.config.decoder.get(), model);
        Ok(decoder.scores(&self.sample.graph, &self.h, pairs, &model.weights).to_vec())
    }

    /// The most likely links of a node, best first.
    pub fn links(&mut self, node: u32, top: usize, existing: bool) -> Result<Vec<Link>> {
        self.check(node)?;
        let n = self.sample.graph.num_nodes() as u32;
        let graph = self.sample.graph.clone();
        let others = (0..n).filter(|&other| other != node && (existing || !graph.has_edge(node, other)));
        let pairs: Vec<[u32; 2]> = others.map(|other| [node, other]).collect();
        let scores = self.scores(&pairs)?;
        let mut links: Vec<Link> = pairs
            .iter()
            .zip(scores)
            .map(|(&[_, other], score)| Link { node: other, score, exists: graph.has_edge(node, other) })
            .collect();
        links.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.node.cmp(&b.node)));
        links.truncate(top);
        Ok(links)
    }

    fn check(&self, node: u32) -> Result<()> {
        match self.sample.graph.num_nodes() {
            n if (node as usize) < n => Ok(()),
            n => Err(Error::Data(format!("node {node} is not in the graph, whose {n} nodes are counted from zero"))),
        }
    }

    /// The most likely class of every node.
    pub fn classes(&self) -> Result<Vec<Classified>> {
        let task = self.trained.config.task;
        if task != Task::NodeClassification {
            return Err(Error::Data(format!("the model was trained for {task}; it knows no classes")));
        }
        let mut p = vec![0.0; self.h.cols()];
        let classified = |node: usize| {
            softmax::probabilities(self.h.row(node), &mut p);
            let class = softmax::most_likely(self.h.row(node));
            Classified { node: node as u32, class, probability: p[class as usize] }
        };
        Ok((0..self.h.rows()).map(classified).collect())
    }
}

fn graph_digest(dataset: &Dataset) -> String {
    let all: String = dataset.samples.iter().map(|sample| sample.graph.digest()).collect();
    crate::digest::sha256(all.as_bytes())
}
