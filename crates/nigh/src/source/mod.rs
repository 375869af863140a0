//! 2. What enters a branch: the features `F`, or the stochastic matrix `E`.

pub mod signal;

pub use signal::{Refresh, Signal, SignalScale, Stochastic};

use crate::names::named;

named! {
    /// What a branch passes messages about.
    pub enum Source, "source" {
        /// The node features `F`.
        Features = "features",
        /// The stochastic matrix `E` (section 4.1).
        Signal = "signal",
    }
}
