//! Errors that a training measures or promises: of rows stored in half precision, and of estimated proximities.

use super::{Job, Splits};
use crate::certify;
use crate::graph::Operator;
use crate::linalg::half::{Storage, StorageError};
use crate::models::PairSource;
use crate::propagation::Proximities;
use crate::propagation::walks::max_row_norm;
use crate::seeds::{Purpose, Seeds};

/// Columns of `E` on which the error of half precision is measured.
const MEASURED_COLUMNS: usize = 16;

/// The error of `Ã^K E` in half precision, if that is how it is computed: the worst over the graphs of the data, with all
/// edges, on the first columns of `E`.
pub(super) fn storage_error(job: &Job<'_>) -> Option<StorageError> {
    let (dataset, config) = (job.dataset, job.config);
    // Graphs whose rows are gathered may be beyond memory.
    if matches!(job.splits, Splits::Sampled) {
        return None;
    }
    let storage = job.architecture.hop_storage().filter(|storage| *storage != Storage::Single)?;
    let factor = config.signal_scale.factor(config.signal_dim);
    let errors = dataset.samples.iter().zip(0..).map(|(sample, graph)| {
        let nodes: Vec<u32> = (0..sample.graph.num_nodes() as u32).collect();
        let stream = Seeds::new(config.seed).stream(Purpose::Signal, &[graph]);
        let e = config.signal.matrix(stream, &nodes, 0..config.signal_dim.min(MEASURED_COLUMNS), factor);
        Operator::symmetric(sample.graph.clone()).storage_error(&e, config.hops, storage)
    });
    errors.reduce(StorageError::max)
}

/// The error that Theorem 2 promises with this probability, at the worst of the graphs.
pub(super) fn proximity_error(job: &Job<'_>) -> Option<f64> {
    const DELTA: f64 = 0.05;
    let is_estimated = job.config.proximities == Proximities::Estimated;
    let estimates = is_estimated && job.architecture.pair_sources.contains(&PairSource::Walks);
    let norms = job.dataset.samples.iter().map(|sample| max_row_norm(&sample.graph));
    estimates.then(|| certify::certified_error(norms.fold(0.0, f64::max), job.config.signal_dim, DELTA))?
}
