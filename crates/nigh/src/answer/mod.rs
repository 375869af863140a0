//! A trained model and its answers. A [`Session`] has a model and a graph, and answers through `&self`, from many threads.

mod answers;
mod card;
pub(crate) mod cost;
mod embedding;
mod evaluation;
mod folder;
mod pair_files;
mod probabilities;
mod row_writer;
mod rows;
mod session;
mod summary;

pub use answers::{Classes, Link};
pub use embedding::Embedding;
pub use evaluation::SplitMetrics;
pub use probabilities::LinkProbabilities;
pub use row_writer::RowWriter;
pub use session::{Session, SessionOptions};
pub use summary::{BaselineSummary, ConnectedSummary, MetricSummary, Summary};

use crate::dataset::{Dataset, Ids};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::models::Model;
use crate::source::{Refresh, Source};
use crate::tape::Weights;
use crate::task::Task;
use crate::train::{Evaluation, Outcome, Resolved, Run, class_memory, mean_and_std};
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
    model: Arc<Model>,
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
        Trained { config, summary, ids, millis_per_epoch: Some(outcome.millis_per_epoch), model: outcome.model.into() }
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

    /// The data as this model sees them: known nodes in their old places, classes by their old numbers; and notes on what is new.
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
}

/// Numbers that can be compared.
fn check_finite(h: &Matrix) -> Result<()> {
    match h.data().iter().find(|value| !value.is_finite()) {
        None => Ok(()),
        Some(&value) => Err(Error::NonFinite { what: "a representation", value }),
    }
}

/// A fingerprint of all graphs.
fn graph_digest(dataset: &Dataset) -> String {
    let all: String = dataset.samples.iter().map(|sample| sample.graph.digest()).collect();
    nigh_formats::digest::sha256(all.as_bytes())
}
