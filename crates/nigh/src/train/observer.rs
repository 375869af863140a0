//! Watching a training, and stopping it.

use super::{Evaluation, Run};
use std::ops::ControlFlow;

/// Called as a training proceeds; bring your own to show, log, plot or stop.
pub trait Observer: Send {
    /// `done` of `total` steps of what a model learns before training.
    fn pretrain(&mut self, done: usize, total: usize) {
        let _ = (done, total);
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
