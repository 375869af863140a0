//! How the learning rate changes in the course of a training.

use crate::names::named;

named! {
    /// How the learning rate changes in the course of a training.
    pub enum Schedule, "schedule" {
        /// It is multiplied by a factor once, after a given epoch.
        Step = "step",
        /// It follows half a cosine from its start to zero, over all epochs.
        Cosine = "cosine",
        /// It stays.
        Constant = "constant",
    }
}

impl Schedule {
    /// `(1 + cos(π p)) / 2`: the part of the learning rate that is left when a part `p` of the training is done.
    pub(super) fn cosine(done: f64) -> f64 {
        (1.0 + (std::f64::consts::PI * done).cos()) / 2.0
    }
}
