//! 2. The inputs of a branch: the features `F`, the stochastic matrix `E`, and the alternatives to it.

pub mod labels;
mod node2vec;
pub mod ridge;
mod signal;
pub mod structure;

pub use node2vec::Node2Vec;
pub use ridge::Reconstruction;
pub use signal::{Refresh, Signal, SignalScale};

use crate::names::named;

named! {
    /// What a branch passes messages about.
    pub enum Source, "source" {
        /// The node features `F`.
        Features = "features",
        /// The stochastic matrix `E` (section 4.1).
        Signal = "signal",
        /// The leading eigenvectors of the adjacency matrix, `d` of them, each times its eigenvalue.
        Eigenvectors = "eigenvectors",
        /// The identity: a column of its own for every node, padded to the largest graph.
        OneHot = "one-hot",
        /// The labels of training nodes, as they are around a node that does not see its own.
        Labels = "labels",
        /// Degrees, triangles and walks around a node.
        Structure = "structure",
        /// `X̂ V`: the features with rare words weighed more and rows of length one, in their leading directions.
        Directions = "directions",
    }
}
