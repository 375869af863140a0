//! nigh: Stochastic Message Passing, graph neural networks whose node representations know where a node is
//! (proximity-aware) and still what a node is (permutation-equivariant).
//!
//! `H = F_output([F_GNN(A, E), F_GNN'(A, F)])`, the framework equation, with a stochastic matrix `E` beside the
//! features `F`. The whole pipeline:
//!
//! ```
//! use nigh::{Config, Dataset, Silent, Task, Trained, train};
//!
//! let dataset = Dataset::built_in("communities")?;                        // 0. data, 1. graph
//! let config = Config {                                                   // 2. to 4. source, encoder, model
//!     task: Task::LinkPrediction,                                         // 5. task
//!     model: "smp-linear".into(),
//!     epochs: 40,
//!     repeats: 1,
//!     ..Config::default()
//! };
//! let outcome = train::train(&dataset, &config, &mut Silent, None)?;      // 6. train
//! assert!(outcome.runs[0].test > 0.9);                                    // 7. metric
//! let mut trained = Trained::new(&dataset, &config, outcome)?;
//! let h = trained.embed(&dataset)?;                                       // a row per node, to search in or feed on
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
//! | `Ẽ = Ã^K E` | [`encoder::Propagated`] | the stochastic representation |
//! | `F_GNN` | [`encoder::Encoder`] | message passing |
//! | `F_output` | [`model::Head`] | what is made of the branches |
//! | `F_de` | [`model::Decoder`] | from two representations to a score |
//! | `S = Ã^K (Ã^K)^T` | [`graph::proximity`] | walk proximity, and Theorem 2 |
//!
//! Nothing later reaches back: data never knows of models, models never of tasks, tasks never of reports. The one
//! exception is [`Config`], the settings, which tasks read as well.

pub mod dataset;
pub mod encoder;
pub mod experiment;
pub mod graph;
pub mod metric;
pub mod model;
pub mod report;
pub mod source;
pub mod task;
pub mod train;
pub mod trained;

pub mod linalg;
pub mod ops;
pub mod tape;

pub mod display;
pub mod error;
pub mod names;
pub mod seeds;
pub mod tensors;

/// Files to columns, arrays and tensors, and back.
pub use nigh_formats as formats;
pub(crate) use nigh_formats::{atomic, digest};

pub use dataset::{Dataset, Features, Ids, Sample};
pub use error::{Error, Result};
pub use graph::{Graph, Operator};
pub use linalg::Matrix;
pub use linalg::half::{Storage, StorageError};
pub use metric::Metric;
pub use model::{Decoder, Model, View};
pub use seeds::{Purpose, Seeds};
pub use source::{Refresh, Signal, SignalScale};
pub use task::{Split, Task};
pub use train::{Checkpoint, Config, Observer, Outcome, Protocol, Run, Silent};
pub use trained::Trained;
