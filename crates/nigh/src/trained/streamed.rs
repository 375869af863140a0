//! Answers within a limit of memory: vectors row by row, scores of chosen pairs, links of a node.

use super::{Link, Trained};
use crate::dataset::{Dataset, Features, Ids, Sample};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::linalg::Matrix;
use crate::memory::Memory;
use crate::models::decoder::PairDecoder;
use crate::models::{Model, View};
use crate::propagation::{CostEstimate, MODEL_BUFFERS, Workload};
use crate::propagation::{
    Execution, MatrixFile, PanelFile, PanelPlan, PanelProgress, PanelSource, Propagation, rows_at_a_time,
};
use crate::source::Source;
use std::path::Path;
use std::sync::Arc;

/// A model and a graph that may be beyond memory, of whose nodes and pairs it answers within a limit.
#[derive(Debug)]
pub struct StreamedEmbedding<'a> {
    pub(super) trained: &'a Trained,
    answering: Answering,
    memory: Memory,
    /// Bytes of the limit that the caller uses.
    reserved: usize,
    workload: Workload,
    estimate: CostEstimate,
    /// The names of the rows.
    pub ids: Arc<Ids>,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// Who is told how much of a propagation is done: first that of the features, if there are any, then that of the signal.
    pub progress: PanelProgress,
}

/// What message passing gives before anything learnt is applied.
#[derive(Debug)]
enum Answering {
    /// A row per node: `Ã^K E` and `Ã^K F`.
    Rows(Box<RowPropagation>),
    /// Numbers of pairs.
    Pairs(Box<Sample>),
}

#[derive(Debug)]
struct RowPropagation {
    signal: Propagation,
    /// The features, if they are a branch as well.
    features: Option<Propagation>,
    /// Whether these are multiplied already when they are propagated.
    maps_first: bool,
    draw: u64,
}

impl Trained {
    /// Whether [`Trained::embed_within`] can use this model: its message passing has to come before everything that it learnt.
    pub fn can_embed_within(&self) -> bool {
        self.model.architecture().propagates_first()
    }

    /// This model applied to a graph within a limit of memory, for vectors row by row, scores of pairs and links. Features are in memory.
    /// An error for a model with learnt weights between hops, and if the limit is too low.
    pub fn embed_within<'a>(&'a self, dataset: &Dataset, memory: Memory) -> Result<StreamedEmbedding<'a>> {
        let [_] = &dataset.samples[..] else { return Err(Error::SeveralGraphs { count: dataset.samples.len() }) };
        self.model.architecture().check_separable(&self.config.model)?;
        let (aligned, mut notes) = self.align(dataset)?;
        notes.extend(self.note_on_graph(&aligned));
        let sample = aligned.samples.into_iter().next().expect("one graph");
        let (graph, ids) = (&sample.graph, sample.ids.clone());
        let workload = Workload {
            id_bytes: ids.num_bytes(),
            feature_bytes: sample.features.num_bytes(),
            buffers: MODEL_BUFFERS,
            ..Workload::of_graph(graph, self.model.shape().signal_dim, 0)
        };
        let (workload, answering) = match self.row_propagation(&sample) {
            Some(rows) => {
                let feature_columns = rows.features.as_ref().map_or(0, Propagation::cols);
                let (hops, storage) = (rows.signal.hops, rows.signal.storage);
                (Workload { feature_columns, hops, storage, ..workload }, Answering::Rows(rows.into()))
            }
            None => (workload, Answering::Pairs(sample.into())),
        };
        let progress = PanelProgress::default();
        // Filled in below, when all that decides is known.
        let estimate = workload.propagation(None).expect("no limit");
        let mut streamed = StreamedEmbedding {
            trained: self,
            answering,
            memory,
            reserved: 0,
            workload,
            estimate,
            ids,
            notes,
            progress,
        };
        streamed.estimate = streamed.estimate_for(0, workload.remedy())?;
        Ok(streamed)
    }

    /// What is propagated over a graph, if the model has a row per node before it learns.
    fn row_propagation(&self, sample: &Sample) -> Option<RowPropagation> {
        let draw = self.run().best_epoch as u64;
        let graph = &sample.graph;
        let signal = self.model.signal_propagation(graph.clone(), sample.addresses.clone(), draw)?;
        let num_nodes = graph.num_nodes();
        let given =
            if self.config.task.uses_features() { sample.features.clone() } else { Features::Constant(num_nodes) };
        let uses_features = self.model.architecture().uses(Source::Features);
        let source = uses_features.then(|| self.model.feature_source(graph, &given));
        Some(RowPropagation {
            features: source.map(|source| Propagation { source, ..signal.clone() }),
            maps_first: self.model.maps_first(graph, &given).is_some(),
            signal,
            draw,
        })
    }
}

impl StreamedEmbedding<'_> {
    /// What it takes, and how it is done.
    pub fn estimate(&self) -> &CostEstimate {
        &self.estimate
    }

    /// Leaves so many bytes of the limit to the caller.
    pub fn reserve(&mut self, bytes: usize) -> Result<()> {
        self.reserved = bytes;
        self.estimate = self.estimate_for(0, self.workload.remedy())?;
        Ok(())
    }

    /// How message passing is done for this many pairs, or for vectors of all nodes.
    fn estimate_for(&self, num_pairs: usize, remedy: &str) -> Result<CostEstimate> {
        let of_rows = |rows: &RowPropagation| {
            let columns = 2 * (self.workload.signal_dim + rows.features.as_ref().map_or(0, Propagation::cols));
            let ends = self.workload.distinct_ends(num_pairs);
            24 * num_pairs + 4 * ends * (columns + 3 * self.trained.model.representation_width())
        };
        let reserved = self.reserved
            + match &self.answering {
                Answering::Rows(rows) => of_rows(rows),
                Answering::Pairs(_) => 0,
            };
        let left = Some(Memory::new(self.memory.bytes().saturating_sub(reserved)));
        let estimate = match &self.answering {
            Answering::Rows(_) => self.workload.propagation(left),
            Answering::Pairs(sample) => {
                let pairs = self.trained.config.answered_pairs(sample, self.trained.model.architecture(), num_pairs);
                self.workload.pair_training(&pairs, left)
            }
        };
        estimate.map_err(|least| self.memory.too_little(Memory::new(least.bytes() + reserved), remedy))
    }

    /// The number of columns of a row.
    pub fn cols(&self) -> usize {
        match self.answering {
            Answering::Rows(_) => self.trained.model.representation_width(),
            Answering::Pairs(_) => self.trained.model.vectors_width(),
        }
    }

    /// What message passing sees of the graph, done as an estimate says.
    fn view(&self, sample: &Sample, estimate: &CostEstimate, folder: &Path) -> Result<View> {
        let execution = Execution::of(estimate, folder);
        if !execution.panels.reads_edges {
            sample.graph.load()?;
        }
        Ok(self.trained.config.task.whole_view(sample, 0)?.within(execution.into()))
    }

    /// Hands over the vectors of all nodes in order, some at a time; panels are spilled to `folder`.
    pub fn for_each_rows(&self, folder: &Path, mut take: impl FnMut(&Matrix) -> Result<()>) -> Result<()> {
        let rows = match &self.answering {
            Answering::Rows(rows) => rows,
            Answering::Pairs(sample) => {
                let view = self.view(sample, &self.estimate, folder)?;
                let h = self.represented(&view)?;
                return self.trained.model.for_each_vectors(&view, &h, folder, &mut take);
            }
        };
        let plan = PanelPlan { progress: self.progress.clone(), ..self.estimate.plan(folder) };
        let mut features = rows.features.as_ref().map(|features| features.in_file(&plan)).transpose()?;
        let at_a_time = rows_at_a_time(rows.features.as_ref().map_or(1, Propagation::cols));
        rows.signal.for_each_rows(&plan, &mut |first, block| {
            for start in (0..block.rows()).step_by(at_a_time) {
                let some = start..(start + at_a_time).min(block.rows());
                let signal = block.data()[some.start * block.cols()..some.end * block.cols()].to_vec();
                let signal = Matrix::from_data(some.len(), block.cols(), signal);
                let view = rows.some(first + some.start, signal, features.as_mut())?;
                take(&self.trained.model.represent(&view, rows.draw))?;
            }
            Ok(())
        })
    }

    /// `H` of all nodes.
    fn represented(&self, view: &View) -> Result<Matrix> {
        finite(self.trained.model.represent(view, self.trained.run().best_epoch as u64))
    }

    /// The score of each pair of nodes, of which only their ends are represented; panels wait in `folder`.
    pub fn scores(&self, pairs: &[[u32; 2]], folder: &Path) -> Result<Vec<f32>> {
        let mut nodes: Vec<u32> = pairs.as_flattened().to_vec();
        nodes.sort_unstable();
        nodes.dedup();
        if let Some(&last) = nodes.last().filter(|&&last| last as usize >= self.ids.len()) {
            return Err(Error::OutOfRange { what: "node", number: last as usize, count: self.ids.len() });
        }
        let rows = match &self.answering {
            Answering::Rows(rows) => rows,
            Answering::Pairs(sample) => return self.compared(sample, pairs, folder),
        };
        let h = self.rows_of(rows, &nodes, pairs.len(), folder)?;
        let place = |node: u32| nodes.binary_search(&node).expect("an end of a pair") as u32;
        let places: Vec<[u32; 2]> = pairs.iter().map(|pair| pair.map(place)).collect();
        self.score(&h, &places)
    }

    /// The most likely links of a node, best first, as [`Inference::links`](super::Inference::links); panels wait in `folder`.
    pub fn links(&self, node: u32, top: usize, existing: bool, folder: &Path) -> Result<Vec<Link>> {
        let rows = match &self.answering {
            Answering::Rows(rows) => rows,
            Answering::Pairs(sample) => {
                let neighbours = sample.graph.lookup().neighbours(node as usize);
                let is_linked = |other: u32| neighbours.binary_search(&other).is_ok();
                let others = (0..self.ids.len() as u32).filter(|&other| other != node);
                let pairs = others.filter(|&other| existing || !is_linked(other)).map(|other| [node, other]);
                let pairs: Vec<[u32; 2]> = pairs.collect();
                let scores = self.compared(sample, &pairs, folder)?;
                let link = |(pair, score): (&[u32; 2], f32)| Link { node: pair[1], score, exists: is_linked(pair[1]) };
                let mut links: Vec<Link> = pairs.iter().zip(scores).map(link).collect();
                best(&mut links, top);
                return Ok(links);
            }
        };
        let own = self.rows_of(rows, &[node], 1, folder)?;
        let neighbours = rows.signal.operator.graph().lookup().neighbours(node as usize);
        let is_linked = |other: u32| neighbours.binary_search(&other).is_ok();
        let (mut links, mut first) = (Vec::new(), 0);
        self.for_each_rows(folder, |rows| {
            // Its own row in front of the others.
            let mut h = Matrix::zeros(rows.rows() + 1, rows.cols());
            h.row_mut(0).copy_from_slice(own.row(0));
            h.data_mut()[rows.cols()..].copy_from_slice(rows.data());
            let others = (first..first + rows.rows() as u32).filter(|&other| other != node);
            let others: Vec<u32> = others.filter(|&other| existing || !is_linked(other)).collect();
            let pairs: Vec<[u32; 2]> = others.iter().map(|other| [0, other - first + 1]).collect();
            let scores = self.score(&h, &pairs)?;
            let link = |(&other, score)| Link { node: other, score, exists: is_linked(other) };
            links.extend(others.iter().zip(scores).map(link));
            best(&mut links, top);
            first += rows.rows() as u32;
            Ok(())
        })?;
        Ok(links)
    }

    fn score(&self, h: &Matrix, pairs: &[[u32; 2]]) -> Result<Vec<f32>> {
        let trained = self.trained;
        let wrong = || Error::WrongTask { task: trained.config.task.name(), wanted: "scores for pairs" };
        let mut decoder = PairDecoder::new(&trained.model).ok_or_else(wrong)?;
        let (graph, _) = Graph::from_edges(h.rows(), &[])?;
        let view = View::new(graph, Features::Constant(h.rows()))?;
        Ok(decoder.scores(&trained.model, &view, h, pairs).to_vec())
    }

    /// The score of each pair by what is known of it, for as many pairs at a time as the limit allows.
    fn compared(&self, sample: &Sample, pairs: &[[u32; 2]], folder: &Path) -> Result<Vec<f32>> {
        let trained = self.trained;
        let wrong = || Error::WrongTask { task: trained.config.task.name(), wanted: "scores for pairs" };
        let mut decoder = PairDecoder::new(&trained.model).ok_or_else(wrong)?;
        let fits = |count: &usize| self.estimate_for(*count, "fewer pairs take less").ok();
        let portions = [PAIRS_AT_A_TIME, PAIRS_AT_A_TIME / 4, PAIRS_AT_A_TIME / 16].map(|count| count.min(pairs.len()));
        let found = portions.iter().find_map(|count| Some((*count, fits(count)?)));
        let (portion, estimate) = match found {
            Some(found) => found,
            None => (portions[2], self.estimate_for(portions[2], self.workload.remedy())?),
        };
        let view = self.view(sample, &estimate, folder)?;
        let h = self.represented(&view)?;
        let scores =
            pairs.chunks(portion.max(1)).map(|pairs| decoder.scores(&trained.model, &view, &h, pairs).to_vec());
        Ok(scores.collect::<Vec<_>>().concat())
    }

    /// `H` of these nodes alone, which ascend, for so many pairs.
    fn rows_of(&self, rows: &RowPropagation, nodes: &[u32], num_pairs: usize, folder: &Path) -> Result<Matrix> {
        let plan = self.estimate_for(num_pairs, "fewer pairs have fewer rows")?;
        let plan = PanelPlan { progress: self.progress.clone(), ..plan.plan(folder) };
        let [signal] = rows.signal.rows_of(&plan, [nodes])?;
        let features = rows.features.as_ref().map(|features| features.rows_of(&plan, [nodes])).transpose()?;
        let addresses = match &rows.signal.addresses {
            Some(addresses) => nodes.iter().map(|&node| addresses[node as usize]).collect(),
            None => nodes.into(),
        };
        let view = rows.passed(addresses, signal, features.map(|[rows]| rows))?;
        finite(self.trained.model.represent(&view, rows.draw))
    }
}

/// Pairs that are compared at a time where memory allows: every portion propagates again.
const PAIRS_AT_A_TIME: usize = 1 << 21;

impl RowPropagation {
    /// Some consecutive nodes, all of whose messages have passed.
    fn some(&self, first: usize, signal: Matrix, features: Option<&mut PanelFile>) -> Result<View> {
        let nodes = first..first + signal.rows();
        let addresses: Arc<[u32]> = match &self.signal.addresses {
            Some(addresses) => addresses[nodes.clone()].into(),
            None => (nodes.start as u32..nodes.end as u32).collect(),
        };
        let mut rows = features.is_some().then(Matrix::default);
        if let (Some(file), Some(rows)) = (features, &mut rows) {
            file.read(nodes, rows)?;
        }
        self.passed(addresses, signal, rows)
    }

    /// Nodes of these addresses, all of whose messages have passed.
    fn passed(&self, addresses: Arc<[u32]>, signal: Matrix, features: Option<Matrix>) -> Result<View> {
        match self.maps_first {
            true => Ok(passed(addresses, signal, None)?.with_convolved_features(features.unwrap_or_default())),
            false => passed(addresses, signal, features),
        }
    }
}

/// The best links first, and no more than `top`.
pub(super) fn best(links: &mut Vec<Link>, top: usize) {
    links.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.node.cmp(&b.node)));
    links.truncate(top);
}

/// Vectors that can be compared.
pub(super) fn finite(h: Matrix) -> Result<Matrix> {
    check_finite(&h).map(|()| h)
}

pub(super) fn check_finite(h: &Matrix) -> Result<()> {
    match h.data().iter().find(|value| !value.is_finite()) {
        None => Ok(()),
        Some(&value) => Err(Error::NonFinite { what: "a representation", value }),
    }
}

/// Nodes of these addresses, all of whose messages have passed.
fn passed(addresses: Arc<[u32]>, signal: Matrix, features: Option<Matrix>) -> Result<View> {
    let (graph, _) = Graph::from_edges(addresses.len(), &[])?;
    let features = match features {
        Some(rows) => Features::Dense(rows.into()),
        None => Features::Constant(addresses.len()),
    };
    Ok(View::new(graph, features)?.with_addresses(addresses).with_propagated_signal(signal))
}

/// `Ã^K E`, and `Ã^K F` where the model has a branch for features.
#[derive(Debug, Clone)]
pub struct Propagations {
    /// `Ã^K E`.
    pub signal: Propagation,
    /// `Ã^K F`; `Ã^K 1` of nodes without features.
    pub features: Option<Propagation>,
}

impl Propagations {
    /// Of nodes with so many features, which are in a file.
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
        Ok(Some(Propagations { signal, features }))
    }
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

    /// How many features of a node the model looks at, beside the constant.
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
        finite(self.model.represent(&passed(addresses, signal, features)?, self.run().best_epoch as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Sample;
    use crate::propagation::ExecutionMode;
    use crate::train::Config;
    use crate::training::Training;

    /// Communities, with so many features, of which one in `share` is not zero.
    fn with_features(columns: usize, share: usize) -> Dataset {
        let plain = Dataset::built_in("communities").unwrap();
        let n = plain.num_nodes();
        let entry = |row: usize, column: usize| match (row * 7 + column * 13) % share {
            0 => 0.5 + ((row + column) % 5) as f32,
            _ => 0.0,
        };
        let features = Features::from_matrix(Matrix::from_fn(n, columns, entry));
        let sample = Sample { features, ..plain.samples[0].clone() };
        Dataset { samples: vec![sample], ..plain }
    }

    #[test]
    fn features_of_any_kind_give_the_same_rows_within_a_limit() {
        let is_mapped = |embedding: &StreamedEmbedding<'_>| match &embedding.answering {
            Answering::Rows(rows) => rows.maps_first,
            Answering::Pairs(_) => panic!("rows"),
        };
        let folder = tempfile::tempdir().unwrap();
        let mut seen = Vec::new();
        for (columns, share) in [(5, 1), (40, 9), (3_000, 300)] {
            let dataset = with_features(columns, share);
            for (model, storage) in [("smp-linear", "float32"), ("smp-mlp", "float16")] {
                let config = Config {
                    model: model.into(),
                    hop_storage: storage.parse().unwrap(),
                    epochs: 3.into(),
                    repeats: 1,
                    ..Config::default()
                };
                let trained = Training::new(&dataset, config).unwrap().run().unwrap();
                let expected = trained.embed(&dataset).unwrap().matrix;
                for (way, width) in [(ExecutionMode::InMemory, 32), (ExecutionMode::OutOfCore, 8)] {
                    let mut embedding = trained.embed_within(&dataset, Memory::new(1 << 30)).unwrap();
                    (embedding.estimate.way, embedding.estimate.panel_width) = (way, width);
                    seen.push((matches!(dataset.samples[0].features, Features::Sparse(_)), is_mapped(&embedding)));
                    let mut rows = Vec::new();
                    let take = |some: &Matrix| {
                        rows.extend_from_slice(some.data());
                        Ok(())
                    };
                    embedding.for_each_rows(folder.path(), take).unwrap();
                    assert!(rows == expected.data(), "{columns} features, {model}, {way:?}");
                }
            }
        }
        seen.dedup();
        assert_eq!(seen, [(false, false), (true, false), (true, true)]);
        let (dataset, config) = (with_features(5, 1), Config { epochs: 1.into(), repeats: 1, ..linear() });
        let trained = Training::new(&dataset, config).unwrap().run().unwrap();
        let estimate = trained.embed_within(&dataset, Memory::new(1 << 30)).unwrap().estimate;
        let features = estimate.memory.iter().find(|part| part.part == "features").unwrap();
        assert_eq!(features.bytes, 5 * 4 * trained.summary.num_nodes);
    }

    fn linear() -> Config {
        Config { model: "smp-linear".into(), ..Config::default() }
    }
}
