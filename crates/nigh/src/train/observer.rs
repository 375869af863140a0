//! Watching a training, and stopping it.

use super::{Evaluation, Run};
use std::ops::ControlFlow;

/// Called as a training proceeds; bring your own to show, log, plot or stop.
pub trait Observer: Send {
    /// `done` of `total` steps of what is not an epoch: before the first, behind the last, or while a heuristic scores.
    fn stage(&mut self, stage: Stage, done: usize, total: usize) {
        let _ = (stage, done, total);
    }

    /// An epoch has ended; `evaluation` if the model was evaluated after it. `Break` ends the training: the best epoch so
    /// far is kept, and no further repeat begins.
    fn epoch(&mut self, progress: &Progress, evaluation: Option<&Evaluation>) -> ControlFlow<()> {
        let _ = (progress, evaluation);
        ControlFlow::Continue(())
    }

    /// A repeat has ended.
    fn repeat(&mut self, run: &Run) {
        let _ = run;
    }
}

/// What a repeat does beside its epochs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Edges, pairs or nodes are held out, and negatives drawn.
    Split,
    /// The simple baselines of the split are measured.
    Baselines,
    /// The rows of sampled pairs are computed and gathered.
    Propagation,
    /// What a model learns and computes before its first epoch.
    SetUp,
    /// A heuristic scores the pairs of validation and test.
    Scoring,
    /// Everything that is reported of the best epoch is measured.
    Report,
}

impl std::fmt::Display for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Stage::Split => "splitting the data",
            Stage::Baselines => "measuring baselines",
            Stage::Propagation => "propagating over the graph",
            Stage::SetUp => "setting up the model",
            Stage::Scoring => "scoring pairs",
            Stage::Report => "measuring the best epoch",
        })
    }
}

/// Watches nothing.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

impl Observer for Silent {}

/// How far a training is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Counted from zero.
    pub repeat: usize,
    /// Their number.
    pub repeats: usize,
    /// Counted from one.
    pub epoch: usize,
    /// Their number.
    pub epochs: usize,
    /// Training loss of the epoch.
    pub loss: f64,
}
