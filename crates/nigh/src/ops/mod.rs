//! Differentiable operations, value and gradient side by side.

// Loops count lanes: a closure would be compiled on its own, without the vector instructions of its caller.
#![allow(clippy::needless_range_loop)]

pub mod add;
pub mod anchors;
pub mod attention;
pub mod blend;
pub mod block_sum;
pub mod drop_rows;
pub mod dropout;
pub mod hop_blocks;
pub mod hop_sum;
pub mod layer_norm;
pub mod linear;
pub mod lookup;
pub mod normalize;
pub mod pairs;
pub mod propagate;
pub mod select_rows;
pub mod sigmoid;
pub mod signal;
pub mod softmax;
pub mod sparse;
