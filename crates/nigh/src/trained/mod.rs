//! A trained model and its use: embed, score, classify, evaluate again. Nothing here changes the model, so one serves many
//! threads.

mod answers;
mod card;
mod embedding;
mod evaluation;
mod figures;
mod folder;
mod probabilities;
mod row_writer;
mod streamed;

pub use answers::{Classified, LabelledNode};
pub use embedding::Embedding;
pub use evaluation::SplitMetrics;
pub use figures::{BaselineSummary, MetricSummary};
pub use probabilities::LinkProbabilities;
pub use row_writer::RowWriter;
#[cfg(test)]
pub(crate) use streamed::Propagations;
pub use streamed::StreamedEmbedding;

use crate::dataset::{Dataset, Ids, Sample};
use crate::display::pluralize;
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::linalg::half::StorageError;
use crate::metric::Metric;
use crate::models::decoder::PairDecoder;
use crate::models::{Answer, Dimensions, Model, View};
use crate::ops::{sigmoid, softmax};
use crate::source::{Refresh, Source};
use crate::tape::Weights;
use crate::task::Task;
use crate::train::{Connected, Evaluation, Outcome, Resolved, Run, class_memory, mean_and_std};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A model with all that is needed to use it on its own graph or on another.
#[derive(Debug)]
pub struct Trained {
    /// The settings of the training.
    pub config: Resolved,
    /// What it was trained on and how well.
    pub summary: Summary,
    /// The nodes of its training, in order; they keep their signals.
    pub ids: Arc<Ids>,
    /// Time per epoch, evaluations included; `None` for a model that was loaded.
    pub millis_per_epoch: Option<f64>,
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
    /// The name of each class.
    pub class_names: Vec<String>,
    /// Whether a node may have several classes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub multi_label: bool,
    /// The name of each feature, where the user's file had them.
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
    /// The error of half-precision storage between hops, where it is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_error: Option<StorageError>,
    /// The error of estimated walk proximities that Theorem 2 promises for 95 of 100 pairs, where they are estimated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proximity_error: Option<f64>,
}

/// The test metric on pairs both of whose ends have a visible edge, over the repeats.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ConnectedSummary {
    /// Mean of the metric.
    pub mean: f64,
    /// Its population standard deviation.
    pub std: f64,
    /// The mean fraction of positives among those pairs.
    pub positives: f64,
    /// The mean fraction of negatives among those pairs.
    pub negatives: f64,
}

impl Summary {
    /// What is known of the data before anything is trained.
    pub(crate) fn of_data(dataset: &Dataset) -> Summary {
        Summary {
            dataset: dataset.name.clone(),
            num_nodes: dataset.num_nodes(),
            num_edges: dataset.num_edges(),
            num_features: dataset.samples[0].features.count(),
            class_names: dataset.class_names.clone(),
            multi_label: dataset.is_multi_label(),
            feature_names: dataset.feature_names.clone(),
            largest_graph: Dimensions::of(dataset).nodes,
            graph: graph_digest(dataset),
            mean: 0.0,
            std: 0.0,
            repeats: Vec::new(),
            chosen: 0,
            storage_error: None,
            proximity_error: None,
        }
    }

    /// The test metric on pairs both of whose ends have a visible edge, where some have not: those may tell by that alone that
    /// they were held out.
    pub fn connected(&self) -> Option<ConnectedSummary> {
        let runs: Vec<Connected> = self.repeats.iter().filter_map(|run| run.connected).collect();
        if runs.iter().all(Connected::is_all) {
            return None;
        }
        let of = |value: fn(&Connected) -> f64| mean_and_std(&runs.iter().map(value).collect::<Vec<_>>());
        let (mean, std) = of(|run| run.test);
        let (positives, negatives) = (of(|run| run.positives).0, of(|run| run.negatives).0);
        Some(ConnectedSummary { mean, std, positives, negatives })
    }

    /// What a reader of Hits@K has to know where a positive is ranked among fewer than K negatives.
    pub fn note_on_hits(&self, metric: Metric) -> Option<String> {
        let count = self.repeats.iter().filter_map(|run| run.few_negatives).min()?;
        let negatives = pluralize(count, "negative");
        Some(format!(
            "{metric} counts every positive as a hit that is ranked among fewer; here some are among {negatives}"
        ))
    }

    /// The dimensions of the data on which the shape of the model depends.
    pub(crate) fn dimensions(&self) -> Dimensions {
        Dimensions {
            features: self.num_features,
            classes: self.class_names.len(),
            multi_label: self.multi_label,
            nodes: self.largest_graph,
            edges: self.num_edges,
        }
    }
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
    pub(crate) fn new(dataset: &Dataset, config: Resolved, outcome: Outcome) -> Trained {
        let ids = match &dataset.samples[..] {
            [only] => only.ids.clone(),
            // Nodes of several graphs have no names of their own; their signals are resampled.
            _ => Ids::Numbers(0).into(),
        };
        Trained::on(Summary::of_data(dataset), ids, config, outcome)
    }

    /// The best model of a training on data of which this is known.
    pub(crate) fn on(data: Summary, ids: Arc<Ids>, config: Resolved, outcome: Outcome) -> Trained {
        let tests: Vec<f64> = outcome.runs.iter().map(|run| run.test).collect();
        let (mean, std) = mean_and_std(&tests);
        let summary = Summary {
            mean,
            std,
            repeats: outcome.runs,
            chosen: outcome.best,
            storage_error: outcome.storage_error,
            proximity_error: outcome.proximity_error,
            ..data
        };
        Trained { config, summary, ids, millis_per_epoch: Some(outcome.millis_per_epoch), model: outcome.model }
    }

    /// The repeat behind the weights.
    pub fn run(&self) -> &Run {
        &self.summary.repeats[self.summary.chosen]
    }

    /// What it is, what it was trained on and how good it is, as Markdown.
    pub fn card(&self) -> String {
        card::card(self)
    }

    /// The learning curve of the repeat behind the weights: loss and metrics of every evaluation.
    pub fn curve(&self) -> &[Evaluation] {
        &self.run().curve
    }

    /// How many numbers were trained.
    pub fn num_parameters(&self) -> usize {
        self.model.weights.num_parameters()
    }

    /// All weights by their names.
    pub fn weights(&self) -> &Weights {
        &self.model.weights
    }

    /// The model.
    pub(crate) fn model(&self) -> &Model {
        &self.model
    }

    /// The data as this model sees them: known nodes in their old places, classes by their old numbers. Notes on
    /// what is new come along.
    pub fn align(&self, dataset: &Dataset) -> Result<(Dataset, Vec<String>)> {
        self.align_and_count(dataset).map(|(aligned, notes, _)| (aligned, notes))
    }

    /// As `align`, with the number of nodes that the model knows by their ids.
    fn align_and_count(&self, dataset: &Dataset) -> Result<(Dataset, Vec<String>, usize)> {
        let dataset = &*self.config.node_features.seen(dataset);
        let (expected, got) = (self.summary.num_features, dataset.samples[0].features.count());
        let architecture = self.model.architecture();
        if self.config.task.uses_features() && architecture.uses(Source::Features) && expected != got {
            return Err(Error::FeatureCount { dataset: dataset.name.clone(), expected, got });
        }
        dataset.samples.iter().try_for_each(|sample| self.config.reconstruction.check(sample.graph.num_nodes()))?;
        class_memory::check(dataset, self.summary.class_names.len(), self.config.task, architecture)?;
        let (mut aligned, num_known) = dataset.aligned(&self.ids)?;
        if self.config.task.uses_features() && architecture.uses(Source::Features) {
            aligned = aligned.with_features(&self.summary.feature_names)?;
        }
        let num_new = aligned.num_nodes() - num_known;
        let mut notes = Vec::new();
        let (memory, remedy) = match self.model.shape().refresh {
            _ if architecture.uses(Source::OneHot) => {
                ("knows nodes by their ids", "a model without node ids and refresh = resampled")
            }
            Refresh::Fixed if architecture.uses(Source::Signal) => ("has a fixed signal", "refresh = resampled"),
            _ => ("", ""),
        };
        if !memory.is_empty() && num_new > 0 {
            if num_known == 0 {
                return Err(Error::UnknownNodes { dataset: dataset.name.clone(), count: num_new, memory, remedy });
            }
            notes.push(format!(
                "{num_new} of {} nodes are new to the model, which {memory}; their representations are less reliable \
                 than with {remedy}",
                aligned.num_nodes()
            ));
        }
        // Pairs of nodes are compared by their labels whatever these are called.
        if self.config.task == Task::NodeClassification && !aligned.class_names.is_empty() {
            aligned = match (self.summary.multi_label, aligned.is_multi_label()) {
                (true, false) => aligned.with_sets_of_labels(),
                (false, true) => return Err(Error::SeveralLabels { dataset: dataset.name.clone() }),
                _ => aligned,
            };
            aligned = aligned.with_classes(&self.summary.class_names)?;
        }
        Ok((aligned, notes, if self.ids.is_empty() { 0 } else { num_known }))
    }

    /// Passes messages over all of a graph; the result gives the answers.
    pub fn apply(&self, dataset: &Dataset) -> Result<Inference<'_>> {
        if dataset.samples.len() != 1 {
            return Err(Error::SeveralGraphs { count: dataset.samples.len() });
        }
        let (aligned, mut notes) = self.align(dataset)?;
        notes.extend(self.note_on_graph(&aligned));
        self.infer(aligned.samples.into_iter().next().expect("one graph"), 0, notes)
    }

    /// A note on a graph that is not that of the training.
    fn note_on_graph(&self, aligned: &Dataset) -> Option<String> {
        (graph_digest(aligned) != self.summary.graph).then(|| {
            format!(
                "not the graph of the training, which had {} and {}",
                pluralize(self.summary.num_nodes, "node"),
                pluralize(self.summary.num_edges, "edge"),
            )
        })
    }

    /// As `apply`, to every graph in turn.
    pub fn apply_each(
        &self,
        dataset: &Dataset,
        mut each: impl FnMut(usize, Inference<'_>) -> Result<()>,
    ) -> Result<()> {
        let whole = self.whole(dataset)?;
        for number in 0..dataset.samples.len() {
            each(number, self.apply_to_part(dataset, whole.as_ref(), number)?)?;
        }
        Ok(())
    }

    /// As `apply`, to one of several graphs.
    pub fn apply_to_graph(&self, dataset: &Dataset, number: usize) -> Result<Inference<'_>> {
        let count = dataset.samples.len();
        if number >= count {
            return Err(Error::OutOfRange { what: "graph", number, count });
        }
        let whole = self.whole(dataset)?;
        self.apply_to_part(dataset, whole.as_ref(), number)
    }

    /// All graphs as a model of several graphs sees them: it knows nodes by their places in all of them.
    fn whole(&self, dataset: &Dataset) -> Result<Option<(Dataset, Vec<String>)>> {
        let is_known_by_places = dataset.samples.len() > 1 && self.ids.is_empty();
        is_known_by_places.then(|| self.align(dataset)).transpose()
    }

    fn apply_to_part(
        &self,
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

    fn infer(&self, sample: Sample, number: u64, notes: Vec<String>) -> Result<Inference<'_>> {
        let view = self.config.task.whole_view(&sample, number)?;
        let draw = self.run().best_epoch as u64;
        let h = streamed::finite(self.model.represent(&view, draw))?;
        Ok(Inference { trained: self, sample, view, h, notes })
    }

    /// The score of every pair of nodes of the only graph.
    pub fn scores(&self, dataset: &Dataset, pairs: &[[u32; 2]]) -> Result<Vec<f32>> {
        let (applied, pairs) = self.asked(dataset, pairs)?;
        applied.scores(&pairs)
    }

    /// The probability of every pair of nodes of the only graph: [`Inference::probabilities`].
    pub fn probabilities(&self, dataset: &Dataset, pairs: &[[u32; 2]], prior: Option<f64>) -> Result<Vec<f32>> {
        self.link_probabilities(prior)?;
        let (applied, pairs) = self.asked(dataset, pairs)?;
        applied.probabilities(&pairs, prior)
    }

    /// The probability of every class for nodes of the only graph: [`Inference::class_probabilities`].
    ///
    /// ```
    /// use nigh::{Config, Dataset, Task, Training};
    ///
    /// let dataset = Dataset::built_in("leaders")?;
    /// let config = Config { task: Task::NodeClassification, epochs: 5.into(), repeats: 1, ..Config::default() };
    /// let trained = Training::new(&dataset, config)?.run()?;
    /// let probabilities = trained.class_probabilities(&dataset, &[7, 3])?;
    /// assert_eq!(probabilities.shape(), [2, dataset.class_names.len()]);
    /// assert!((probabilities.row(0).iter().sum::<f32>() - 1.0).abs() < 1e-5);
    /// # Ok::<(), nigh::Error>(())
    /// ```
    pub fn class_probabilities(&self, dataset: &Dataset, nodes: &[u32]) -> Result<Matrix> {
        let (applied, nodes) = self.asked(dataset, nodes.iter().map(|&node| [node]).collect::<Vec<_>>().as_slice())?;
        applied.class_probabilities(nodes.as_flattened())
    }

    /// The most likely links of a node of the only graph, best first; nodes are numbered as the data number them.
    pub fn links(&self, dataset: &Dataset, node: u32, top: usize, existing: bool) -> Result<Vec<Link>> {
        let (applied, nodes) = self.asked(dataset, &[[node]])?;
        let mut links = applied.links(nodes[0][0], top, existing)?;
        if let Some(places) = applied.places(dataset) {
            let mut numbers = vec![0; places.len()];
            (0..).zip(&places).for_each(|(number, &place)| numbers[place as usize] = number);
            links.iter_mut().for_each(|link| link.node = numbers[link.node as usize]);
        }
        Ok(links)
    }

    /// This model applied to the only graph, and nodes of the data by their places in the model's order.
    fn asked<const N: usize>(&self, dataset: &Dataset, asked: &[[u32; N]]) -> Result<(Inference<'_>, Vec<[u32; N]>)> {
        let applied = self.apply(dataset)?;
        asked.as_flattened().iter().try_for_each(|&node| applied.check(node))?;
        let asked = match applied.places(dataset) {
            Some(places) => asked.iter().map(|nodes| nodes.map(|node| places[node as usize])).collect(),
            None => asked.to_vec(),
        };
        Ok((applied, asked))
    }

    /// `H` of all graphs, all of whose edges are known.
    pub fn embed(&self, dataset: &Dataset) -> Result<Embedding> {
        self.embed_with_notes(dataset).map(|embedded| embedded.0)
    }

    /// As `embed`, with notes for the user.
    pub fn embed_with_notes(&self, dataset: &Dataset) -> Result<(Embedding, Vec<String>)> {
        if !self.model.architecture().has_representations() {
            return Err(Error::NoRepresentations { model: self.config.model.clone() });
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
}

/// A model applied to a graph.
#[derive(Debug)]
pub struct Inference<'a> {
    trained: &'a Trained,
    /// The graph, its nodes in the model's order.
    pub sample: Sample,
    view: View,
    h: Matrix,
    /// Notes for the user.
    pub notes: Vec<String>,
}

impl Inference<'_> {
    /// The vectors of the nodes with their names: their representations; for a model that knows more of a pair, blocks whose cosines
    /// agree with its scores; for a gated model, what its branches know, weighed as their class scores are.
    pub fn into_embedding(self) -> Embedding {
        let model = &self.trained.model;
        let matrix = match model.gated_branches() {
            Some(_) => model.gated_vectors(&self.view, self.trained.run().best_epoch as u64),
            None if model.architecture().has_pair_features() => model.vectors(&self.view, &self.h),
            None => self.h,
        };
        Embedding { graphs: None, ids: self.sample.ids, matrix }
    }

    /// The score of every pair.
    pub fn scores(&self, pairs: &[[u32; 2]]) -> Result<Vec<f32>> {
        let model = &self.trained.model;
        let wrong = || Error::WrongTask { task: self.trained.config.task.name(), wanted: "scores for pairs" };
        let mut decoder = PairDecoder::new(model).ok_or_else(wrong)?;
        pairs.iter().flatten().try_for_each(|&node| self.check(node))?;
        Ok(decoder.scores(model, &self.view, &self.h, pairs).to_vec())
    }

    /// The probability of every pair, as [`Trained::link_probabilities`] has it.
    pub fn probabilities(&self, pairs: &[[u32; 2]], prior: Option<f64>) -> Result<Vec<f32>> {
        let probabilities = self.trained.link_probabilities(prior)?;
        Ok(self.scores(pairs)?.into_iter().map(|score| probabilities.of(score)).collect())
    }

    /// The probability of every class, a row for each of these nodes: the classes of a node add up to one, unless a node may
    /// have several.
    pub fn class_probabilities(&self, nodes: &[u32]) -> Result<Matrix> {
        let answer = self.trained.model.shape().answer;
        if matches!(answer, Answer::Scores(_)) {
            return Err(Error::WrongTask { task: self.trained.config.task.name(), wanted: "classes" });
        }
        nodes.iter().try_for_each(|&node| self.check(node))?;
        let mut probabilities = Matrix::zeros(nodes.len(), self.h.cols());
        for (row, &node) in nodes.iter().enumerate() {
            let (scores, row) = (self.h.row(node as usize), probabilities.row_mut(row));
            match answer {
                Answer::Sets(_) => row.iter_mut().zip(scores).for_each(|(p, &score)| *p = sigmoid::sigmoid(score)),
                _ => drop(softmax::probabilities(scores, row)),
            }
        }
        Ok(probabilities)
    }

    /// The node of the model's order for each node of the data that it was applied to, if they differ.
    pub fn places(&self, dataset: &Dataset) -> Option<Vec<u32>> {
        let ids = &dataset.samples[0].ids;
        if *ids == self.sample.ids {
            return None;
        }
        let numbers = self.sample.ids.lookup();
        Some(ids.iter().map(|name| numbers.find(&name).expect("a node of the data")).collect())
    }

    /// The most likely links of a node, best first.
    pub fn links(&self, node: u32, top: usize, existing: bool) -> Result<Vec<Link>> {
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
        streamed::best(&mut links, top);
        Ok(links)
    }

    fn check(&self, node: u32) -> Result<()> {
        match self.sample.graph.num_nodes() {
            n if (node as usize) < n => Ok(()),
            count => Err(Error::OutOfRange { what: "node", number: node as usize, count }),
        }
    }

    /// Every class of every node, by a model of nodes with several labels each.
    pub fn label_sets(&self) -> Result<Vec<LabelledNode>> {
        self.trained.labelled(0, &self.h)
    }

    /// The most likely class of every node, by a model of nodes with one label each.
    pub fn classes(&self) -> Result<Vec<Classified>> {
        self.trained.classified(0, &self.h)
    }
}

fn graph_digest(dataset: &Dataset) -> String {
    let all: String = dataset.samples.iter().map(|sample| sample.graph.digest()).collect();
    nigh_formats::digest::sha256(all.as_bytes())
}
