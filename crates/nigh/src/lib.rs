//! nigh: Stochastic Message Passing, graph neural networks whose node representations know where a node is
//! (proximity-aware) and still what a node is (permutation-equivariant).
//!
//! `H = F_output([F_GNN(A, E), F_GNN'(A, F)])`, the framework equation, with a stochastic matrix `E` beside the
//! features `F`. The whole pipeline:
//!
//! ```
//! use nigh::{Config, Dataset, Task, Training};
//!
//! let dataset = Dataset::built_in("communities")?;                        // 0. data, 1. graph
//! let config = Config {                                                   // 2. to 4. source, encoder, model
//!     task: Task::LinkPrediction,                                         // 5. task
//!     model: "smp-linear".into(),
//!     epochs: 40.into(),
//!     repeats: 1,
//!     ..Config::default()
//! };
//! let trained = Training::new(&dataset, config)?.run()?;                  // 6. train
//! assert!(trained.summary.mean > 0.9);                                    // 7. metric
//! let h = trained.embed(&dataset)?;                                       // a row per node, to search or to feed on
//! assert_eq!(h.matrix.shape(), [400, 32]);
//! # Ok::<(), nigh::Error>(())
//! ```
//!
//! | symbol | here | |
//! |---|---|---|
//! | `A`, `N`, `M` | [`Graph`] | who is linked to whom |
//! | `Ã` | [`Operator::symmetric`] | `(D+I)^-1/2 (A+I) (D+I)^-1/2` |
//! | `F` | [`Features`] | what is known of each node |
//! | `E`, `d` | [`Signal`] | the stochastic matrix and its width |
//! | `Ẽ = Ã^K E` | [`models::encoder::Propagated`] | the stochastic representation |
//! | `F_GNN` | [`models::encoder::Encoder`] | message passing |
//! | `F_output` | [`models::Head`] | what is made of the branches |
//! | `F_de` | [`models::Decoder`] | from two representations to a score |
//! | `S = Ã^K (Ã^K)^T` | [`certify::Certification`] | walk proximity, and Theorem 2 |
//!
//! Nothing reaches up: data never knows of models, models never of tasks, tasks never of training. Modules from the
//! lowest to the highest, as `tests/layers.rs` holds them:
//!
//! Layers: display < error < threads < names < choices < memory < seeds < statistics < label_sets < metric < linalg < tensors < graph < source < propagation < certify < tape < ops < dataset < models < task < train < answer < training < shards < estimate

pub mod answer;
pub mod certify;
pub mod dataset;
pub mod display;
pub mod estimate;
pub mod graph;
pub mod metric;
pub mod models;
pub mod ops;
pub mod propagation;
pub mod shards;
pub mod statistics;
pub mod tape;
pub mod task;
pub mod threads;
pub mod train;

mod choices;
mod error;
mod label_sets;
mod linalg;
mod memory;
mod names;
mod seeds;
mod source;
mod tensors;
#[cfg(test)]
mod tests;
mod training;

// Tests of the whole library name it as its users do.
#[cfg(test)]
extern crate self as nigh;

/// Files to columns, arrays and tensors, and back.
pub use nigh_formats as formats;

pub use answer::{Session, Trained};
pub use dataset::{Dataset, Features, Ids, Sample};
pub use error::{Error, GraphProblem, Result, SplitProblem, nearest};
pub use graph::{Graph, Operator};
pub use label_sets::LabelSets;
pub use linalg::{Matrix, SparseMatrix, Storage, StorageError};
pub use memory::Memory;
pub use metric::Metric;
pub use models::{Decoder, View};
pub use names::Auto;
pub use propagation::Proximities;
pub use seeds::{Purpose, Seeds};
pub use source::{Node2Vec, Reconstruction, Refresh, Signal, SignalScale, Source};
pub use task::{Split, Task};
pub use train::{Checkpoint, Config, Connected, Observer, Protocol, Reporting, Resolved, Run, Silent};
pub use training::Training;
