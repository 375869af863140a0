//! Models whose message passing comes first: rows of `Ã^K E` and `Ã^K F` in panels, and what is learnt applied to some of them at a time.

use super::{Trained, check_finite};
use crate::dataset::{Features, Sample};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::linalg::Matrix;
use crate::models::{Model, View};
use crate::propagation::{Execution, MatrixFile, PanelFile, PanelPlan, PanelSource, Propagation, rows_at_a_time};
use crate::source::Source;
use std::sync::Arc;

/// What is propagated before anything learnt is applied.
#[derive(Debug, Clone)]
pub struct Propagations {
    /// `Ã^K E`.
    pub signal: Propagation,
    /// `Ã^K F`, where the model has a branch for features; `Ã^K 1` of nodes without features.
    pub features: Option<Propagation>,
    /// Whether features are multiplied by their weights before they are propagated.
    maps_first: bool,
}

impl Propagations {
    /// Of a graph whose features, this many per node, are in a file; `None` for a model that does not propagate first.
    pub(crate) fn of(
        model: &Model,
        graph: Arc<Graph>,
        draw: u64,
        num_features: usize,
        features: Option<&MatrixFile>,
    ) -> Result<Option<Propagations>> {
        let num_nodes = graph.num_nodes();
        let Some(signal) = model.signal_propagation(graph, None, draw) else { return Ok(None) };
        let source = match (num_features, features) {
            _ if !model.architecture().uses(Source::Features) => None,
            (0, _) => Some(PanelSource::Ones),
            (_, Some(file)) if file.shape() == [num_nodes, num_features] => Some(PanelSource::File(file.clone())),
            (_, file) => {
                let [rows, cols] = file.map_or([0, 0], MatrixFile::shape);
                let problem = format!("expected {num_features} for each of {num_nodes} nodes");
                return Err(Error::setting("features", format!("{cols} for {rows} nodes"), problem));
            }
        };
        let features = source.map(|source| Propagation { source, ..signal.clone() });
        Ok(Some(Propagations { signal, features, maps_first: false }))
    }

    /// Of a graph in memory with these features.
    pub(super) fn of_sample(model: &Model, sample: &Sample, features: &Features, draw: u64) -> Option<Propagations> {
        let graph = &sample.graph;
        let signal = model.signal_propagation(graph.clone(), sample.addresses.clone(), draw)?;
        let source = model.architecture().uses(Source::Features).then(|| model.feature_source(graph, features));
        Some(Propagations {
            features: source.map(|source| Propagation { source, ..signal.clone() }),
            maps_first: model.maps_first(graph, features).is_some(),
            signal,
        })
    }

    /// Columns of what is propagated in addition to the signal.
    pub(super) fn feature_columns(&self) -> usize {
        self.features.as_ref().map_or(0, Propagation::cols)
    }

    /// Whether features are multiplied by their weights before they are propagated.
    #[cfg(test)]
    pub(super) fn maps_first(&self) -> bool {
        self.maps_first
    }

    /// Calls `take` with `H` of all nodes, some at a time: the first of them, and their rows.
    pub(super) fn for_each_rows(
        &self,
        model: &Model,
        draw: u64,
        plan: &PanelPlan,
        take: &mut dyn FnMut(usize, &Matrix) -> Result<()>,
    ) -> Result<()> {
        let mut features = self.features.as_ref().map(|features| features.in_file(plan)).transpose()?;
        let at_a_time = rows_at_a_time(self.feature_columns().max(1));
        self.signal.for_each_rows(plan, &mut |first, block| {
            for start in (0..block.rows()).step_by(at_a_time) {
                let some = start..(start + at_a_time).min(block.rows());
                let signal = block.data()[some.start * block.cols()..some.end * block.cols()].to_vec();
                let signal = Matrix::from_data(some.len(), block.cols(), signal);
                let nodes = (first + some.start) as u32..(first + some.end) as u32;
                let read = |file: &mut PanelFile| {
                    let mut rows = Matrix::default();
                    file.read(nodes.start as usize..nodes.end as usize, &mut rows).map(|()| rows)
                };
                let features = features.as_mut().map(read).transpose()?;
                take(first + some.start, &self.represented(model, draw, nodes, signal, features)?)?;
            }
            Ok(())
        })
    }

    /// `H` of these nodes alone, which ascend.
    pub(super) fn rows_of(&self, model: &Model, draw: u64, plan: &Execution, nodes: &[u32]) -> Result<Matrix> {
        let [signal] = self.signal.rows_by(plan, [nodes])?;
        let features = self.features.as_ref().map(|features| features.rows_by(plan, [nodes])).transpose()?;
        self.represented(model, draw, nodes.iter().copied(), signal, features.map(|[rows]| rows))
    }

    /// `H` of these nodes, whose messages have passed.
    fn represented(
        &self,
        model: &Model,
        draw: u64,
        nodes: impl Iterator<Item = u32>,
        signal: Matrix,
        features: Option<Matrix>,
    ) -> Result<Matrix> {
        let addresses = match &self.signal.addresses {
            Some(addresses) => nodes.map(|node| addresses[node as usize]).collect(),
            None => nodes.collect(),
        };
        let view = match self.maps_first {
            true => passed(addresses, signal, None)?.with_convolved_features(features.unwrap_or_default()),
            false => passed(addresses, signal, features)?,
        };
        let h = model.represent(&view, draw);
        check_finite(&h).map(|()| h)
    }
}

/// Nodes of these addresses, whose messages have passed.
fn passed(addresses: Arc<[u32]>, signal: Matrix, features: Option<Matrix>) -> Result<View> {
    let features = match features {
        Some(rows) => Features::Dense(rows.into()),
        None => Features::Constant(addresses.len()),
    };
    Ok(without_edges(features)?.with_addresses(addresses).with_propagated_signal(signal))
}

/// Nodes with these features and no edges.
pub(super) fn without_edges(features: Features) -> Result<View> {
    let (graph, _) = Graph::from_edges(features.rows(), &[])?;
    View::new(graph, features)
}

impl Trained {
    /// What has to be propagated over the graph of the training, or one with the same nodes, for [`Trained::embed_rows`]. The features
    /// are those of [`Trained::align`], if the model was trained with any.
    pub fn propagations(&self, graph: Arc<Graph>, features: Option<&MatrixFile>) -> Result<Propagations> {
        let draw = self.run().best_epoch as u64;
        self.model.architecture().check_rows(&self.config.model)?;
        let found = Propagations::of(&self.model, graph, draw, self.num_features_used(), features)?;
        Ok(found.expect("a model of rows"))
    }

    /// How many features of a node the model reads, without the constant.
    pub(crate) fn num_features_used(&self) -> usize {
        let uses = self.config.task.uses_features() && self.model.architecture().uses(Source::Features);
        if uses { self.summary.num_features } else { 0 }
    }

    /// `H` of consecutive nodes from `first` on, from their rows of `Ã^K E`, and of `Ã^K F` where [`Trained::propagations`] has it.
    pub fn embed_rows(&self, first: usize, signal: Matrix, features: Option<Matrix>) -> Result<Matrix> {
        let architecture = self.model.architecture();
        let (rows, dim) = (signal.rows(), self.model.shape().signal_dim);
        architecture.check_rows(&self.config.model)?;
        let width = if architecture.uses(Source::Features) { self.num_features_used().max(1) } else { 0 };
        let fits = match &features {
            Some(features) => features.shape() == [rows, width],
            None => width == 0,
        };
        if signal.cols() != dim || !fits || first + rows > self.summary.num_nodes {
            let (last, n) = (first + rows, self.summary.num_nodes);
            let problem = format!(
                "{rows} rows of {} columns and {}, up to node {last}; expected {dim} columns of Ã^K E, {width} of Ã^K F, and {n} nodes",
                signal.cols(),
                features.map_or(0, |features| features.cols())
            );
            return Err(Error::setting("rows", first, problem));
        }
        let addresses = (first as u32..(first + rows) as u32).collect();
        let h = self.model.represent(&passed(addresses, signal, features)?, self.run().best_epoch as u64);
        check_finite(&h).map(|()| h)
    }
}
