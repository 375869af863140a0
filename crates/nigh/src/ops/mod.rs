//! Differentiable operations, value and gradient side by side.

// Loops count lanes: a closure would be compiled on its own, without the vector instructions of its caller.
#![allow(clippy::needless_range_loop)]

pub(crate) mod add;
pub(crate) mod anchors;
pub(crate) mod attention;
pub(crate) mod blend;
pub(crate) mod block_sum;
pub(crate) mod convolution;
pub(crate) mod drop_rows;
pub(crate) mod dropout;
pub(crate) mod hop_blocks;
pub(crate) mod hop_sum;
pub(crate) mod layer_norm;
pub(crate) mod linear;
pub(crate) mod lookup;
pub(crate) mod normalize;
pub(crate) mod pairs;
pub(crate) mod propagate;
pub(crate) mod select_rows;
pub(crate) mod sigmoid;
pub(crate) mod signal;
pub(crate) mod softmax;
pub(crate) mod sparse;

pub use add::Add;
pub use anchors::{Anchors, CLOSENESS, Structure};
pub use attention::Attention;
pub use hop_sum::HopSum;
pub use linear::{Concatenate, LinearMap};
pub use pairs::{PairLoss, Scale};
pub use propagate::Propagate;
pub use sparse::SparseProduct;
