//! What a model brings along where the user leaves a choice open: its widths and its schedule. The paper's models bring the
//! settings of its appendix.

use crate::choices::{Masking, Optimizer, Schedule};
use crate::source::Reconstruction;

/// The settings of a model on data of some dimensions. What the user sets goes before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Preset {
    pub hops: usize,
    pub width: usize,
    pub dropout: f32,
    pub signal_dim: usize,
    pub epochs: usize,
    pub learning_rate: f32,
    pub weight_decay: f32,
    pub decay_at: usize,
    pub optimizer: Optimizer,
    pub schedule: Schedule,
    /// `None` leaves it to the decoder.
    pub batch_size: Option<usize>,
    pub evaluate_every: usize,
    pub mask_training_pairs: Masking,
    pub negatives_per_positive: usize,
    pub reconstruction: Reconstruction,
}

impl Preset {
    /// Nodes from which models of our own are narrower, for the sake of memory.
    pub const MANY_NODES: usize = 100_000;

    /// The paper's appendix.
    pub const PAPER: Preset = Preset {
        hops: 2,
        width: 32,
        dropout: 0.5,
        signal_dim: 32,
        epochs: 1000,
        learning_rate: 0.01,
        weight_decay: 5e-4,
        decay_at: 200,
        optimizer: Optimizer::Adam,
        schedule: Schedule::Step,
        batch_size: None,
        evaluate_every: 5,
        mask_training_pairs: Masking::None,
        negatives_per_positive: 1,
        reconstruction: Reconstruction::None,
    };
}
