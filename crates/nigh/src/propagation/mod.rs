//! What passes messages over a graph before anything is learnt: `Ã^K X`, rows of it, and inner products of its rows.
//!
//! An entry of `E` is a function of its node and its column, and no hop mixes columns: a panel of columns needs no other. Two
//! panels are in memory at a time, the edges are in memory or pass by from the graph file, and the result leaves row by row. A row is
//! summed in the order of its neighbours whatever the panel, so the bits are those of `Ã^K X` in one piece. [`CostEstimate`] says what a
//! request takes.

pub(crate) mod cost;
mod execution;
mod gathered;
pub(crate) mod levels;
mod matrix_file;
mod panels;
pub(crate) mod products;
mod progress;
pub(crate) mod requests;
mod source;
mod spill;
pub(crate) mod walks;

pub(crate) use cost::{
    BUFFERS, Footprint, KEPT_RECORDINGS, PairWorkload, PartSize, SampledWorkload, WholeWorkload, measure_hop, total,
};
pub use cost::{CostEstimate, ExecutionMode, Workload};
pub(crate) use execution::Execution;
pub(crate) use gathered::GatheredRows;
pub use matrix_file::MatrixFile;
pub(crate) use panels::rows_at_a_time;
pub use panels::{PanelPlan, Propagation};
pub use progress::PanelProgress;
pub use source::PanelSource;
pub(crate) use spill::PanelFile;
pub use walks::Proximities;
