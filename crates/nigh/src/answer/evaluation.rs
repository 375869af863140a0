//! A trained model measured again, on the split of its training or on another.

use super::{Trained, graph_digest};
use crate::dataset::{Dataset, FixedSplit};
use crate::error::Result;
use crate::memory::Memory;
use crate::metric::Metrics;
use crate::models::Separation;
use crate::propagation::Execution;
use crate::seeds::Seeds;
use crate::task::{Masking, SplitChoice, SplitSettings};
use crate::train::limit::DataSize;
use crate::train::{self, Reporting, Resolved, Silent, sampled};
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

/// The metrics of a model on a split.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitMetrics {
    /// The metric that chose the epoch, on the validation part.
    pub valid: f64,
    /// The same on the test part.
    pub test: f64,
    /// Every metric of the task on the test part.
    pub metrics: Metrics,
    /// Whether graph and split are those of the training.
    pub same_split: bool,
    /// Whether the metrics are held out: not if the model knows some of the nodes from another split.
    pub held_out: bool,
}

impl Trained {
    /// Splits the data as the training did and measures again. Held-out edges stay out of message passing.
    pub fn evaluate(&self, dataset: &Dataset) -> Result<(SplitMetrics, Vec<String>)> {
        self.evaluate_with(dataset, None, None)
    }

    /// As `evaluate`, on a split of one's own, as [`Config::with_split`](crate::Config::with_split) has it, and within a limit of memory,
    /// with anonymous temporary files in a folder. An error if the limit is too low.
    pub fn evaluate_with(
        &self,
        dataset: &Dataset,
        split: Option<FixedSplit>,
        limit: Option<(Memory, &Path)>,
    ) -> Result<(SplitMetrics, Vec<String>)> {
        let (mut dataset, mut config, mut settings) =
            (Cow::Borrowed(dataset), self.config.clone(), self.config.split());
        if let Some(split) = split {
            config.task.check_split(&split)?;
            config.split = SplitChoice::Given;
            settings = SplitSettings { choice: SplitChoice::Given, per_class: None, ..settings };
            dataset.to_mut().fixed_split = Some(split);
        }
        let (aligned, mut notes, num_known) = self.align_and_count(&dataset)?;
        let (seed, architecture) = (self.run().seed, self.model.architecture());
        let execution: Arc<Execution> = match limit {
            Some((memory, folder)) => config.evaluation_within(&aligned, architecture, memory, folder)?.into(),
            None => Arc::default(),
        };
        if execution.graph_in.is_none() {
            aligned.samples.iter().try_for_each(|sample| sample.graph.load())?;
        }
        let (split, digest) = match config.separation(&DataSize::of(&aligned), architecture) {
            Separation::Rows { .. } => {
                let nothing = Reporting::Nothing;
                let prepared = sampled::prepare(&aligned, &config, &self.model, nothing, &execution, &mut Silent)?;
                (prepared.split, prepared.digest)
            }
            Separation::Pairs | Separation::InMemory(_) => {
                let lists = config.mask_training_pairs != Masking::Folds;
                let split = settings.split_within(&aligned, Seeds::new(seed), lists, &execution)?;
                let digest = settings.fingerprint(&aligned, &split);
                (split, digest)
            }
        };
        let same_split = digest == self.run().split;
        let held_out = same_split || num_known == 0;
        if !same_split {
            let problem = "these are not the graph, features and labels of the training, or not its split: measured on a split of their own";
            let warning =
                if held_out { "" } else { ", most of which the model has learnt: these metrics are not held out" };
            notes.push(format!("{problem}{warning}"));
        }
        let draw = self.run().best_epoch as u64;
        let metric = config.metric;
        let [valid, metrics] = train::evaluate(&self.model, metric, &split, draw)?;
        Ok((SplitMetrics { valid: valid[&metric], test: metrics[&metric], metrics, same_split, held_out }, notes))
    }

    /// Whether this is what a training with these settings on these data gives: graph, split and metrics are the recorded
    /// ones to the last bit.
    pub fn is_result_of(&self, config: &Resolved, dataset: &Dataset) -> Result<bool> {
        if self.config != *config || graph_digest(&self.align(dataset)?.0) != self.summary.graph {
            return Ok(false);
        }
        let (found, run) = (self.evaluate(dataset)?.0, self.run());
        Ok(found.same_split && (found.valid, found.test) == (run.valid, run.test))
    }
}
