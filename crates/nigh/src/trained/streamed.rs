//! Representations of graphs beyond memory: computed panel by panel, written row by row.

use super::{Link, Trained};
use crate::dataset::{Dataset, Features, Ids};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::linalg::Matrix;
use crate::memory::Memory;
use crate::model::decoder::PairDecoder;
use crate::model::{Model, View};
use crate::panels::{MatrixFile, PanelFile, PanelPlan, PanelProgress, PanelSource, Propagation, rows_at_a_time};
use crate::plan::{MODEL_BUFFERS, PropagationEstimate, Workload};
use crate::source::Source;
use nigh_formats::atomic::{self, PartialFile};
use nigh_formats::columnar::{OutputColumn, ParquetWriter};
use nigh_formats::npy;
use nigh_formats::sections::bytes_of;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Writes rows with the names of their nodes as they come: `.npy` (ids beside it in `FILE.ids.txt`) or `.parquet`. The files appear when
/// they are complete.
pub struct RowWriter {
    path: PathBuf,
    ids: Arc<Ids>,
    cols: usize,
    next: usize,
    out: RowFile,
}

enum RowFile {
    Npy(PartialFile),
    /// Rows that wait for the rest of their group.
    Parquet(ParquetWriter<BufWriter<File>>, PartialFile, Vec<f32>),
}

/// Rows of a group of a Parquet file: some megabytes.
fn group_rows(cols: usize) -> usize {
    ((4 << 20) / cols.max(1)).clamp(1 << 10, 1 << 17)
}

impl RowWriter {
    /// For a row of `cols` numbers per name.
    pub fn create(path: &Path, ids: Arc<Ids>, cols: usize) -> Result<RowWriter> {
        RowWriter::check_name(path)?;
        let mut file = PartialFile::create(path).map_err(Error::io(path))?;
        let out = match is_npy(path) {
            true => {
                npy::write_header::<f32>(file.file(), &[ids.len(), cols]).map_err(Error::io(path))?;
                RowFile::Npy(file)
            }
            false => {
                let buffered = BufWriter::new(file.file().try_clone().map_err(Error::io(path))?);
                let writer = ParquetWriter::new(buffered, &columns(&ids, 0, 0, cols, &[]));
                RowFile::Parquet(writer.map_err(Error::io(path))?, file, Vec::new())
            }
        };
        Ok(RowWriter { path: path.to_path_buf(), ids, cols, next: 0, out })
    }

    /// Whether the format of a name can be written row by row.
    pub fn check_name(path: &Path) -> Result<()> {
        if is_npy(path) || nigh_formats::records::is_parquet(path) {
            return Ok(());
        }
        let problem = "what is written row by row must end in .npy or .parquet";
        Err(Error::setting("out", path.display(), problem))
    }

    /// The next rows.
    pub fn rows(&mut self, rows: &Matrix) -> Result<()> {
        assert_eq!(rows.cols(), self.cols, "rows of one width");
        check_finite(rows)?;
        match &mut self.out {
            RowFile::Npy(file) => {
                file.file().write_all(bytes_of(rows.data())).map_err(Error::io(&self.path))?;
                self.next += rows.rows();
            }
            RowFile::Parquet(_, _, waiting) => {
                waiting.extend_from_slice(rows.data());
                while self.flush(group_rows(self.cols))? {}
            }
        }
        Ok(())
    }

    /// Writes a group, if there are enough rows.
    fn flush(&mut self, rows: usize) -> Result<bool> {
        let RowFile::Parquet(writer, _, waiting) = &mut self.out else { return Ok(false) };
        let values = rows * self.cols;
        if rows == 0 || waiting.len() < values {
            return Ok(false);
        }
        let mut columns = columns(&self.ids, self.next, rows, self.cols, &waiting[..values]);
        writer.group(rows, &mut columns).map_err(Error::io(&self.path))?;
        drop(columns);
        waiting.drain(..values);
        self.next += rows;
        Ok(true)
    }

    /// Completes the files and names them.
    pub fn finish(mut self) -> Result<Vec<PathBuf>> {
        let left = match &self.out {
            RowFile::Npy(_) => 0,
            RowFile::Parquet(_, _, waiting) => waiting.len() / self.cols.max(1),
        };
        self.flush(left)?;
        assert_eq!(self.next, self.ids.len(), "a row for each name");
        let RowWriter { path, ids, out, .. } = self;
        match out {
            RowFile::Npy(file) => {
                let beside = atomic::beside(&path, "ids.txt");
                let mut names = PartialFile::create(&beside).map_err(Error::io(&beside))?;
                let mut lines = BufWriter::with_capacity(1 << 20, names.file());
                let written = ids.iter().try_for_each(|id| writeln!(lines, "{id}"));
                written.and_then(|()| lines.flush()).map_err(Error::io(&beside))?;
                drop(lines);
                names.complete().map_err(Error::io(&beside))?;
                // Vectors without their ids are of no use to anyone: they come last.
                file.complete().map_err(Error::io(&path))?;
                Ok(vec![path, beside])
            }
            RowFile::Parquet(writer, file, _) => {
                let written = writer.finish().and_then(|mut out| out.flush());
                written.and_then(|()| file.complete()).map_err(Error::io(&path))?;
                Ok(vec![path])
            }
        }
    }
}

fn is_npy(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "npy")
}

/// `id`, `h0`, `h1`, ... of some rows.
fn columns<'a>(
    ids: &'a Ids,
    first: usize,
    rows: usize,
    cols: usize,
    values: &'a [f32],
) -> Vec<(String, OutputColumn<'a>)> {
    let nodes = first..first + rows;
    let id = match ids {
        Ids::Names(names) => OutputColumn::Texts(Box::new(nodes.map(|node| names[node].into()))),
        _ => OutputColumn::Integers(Box::new(nodes.map(|node| ids.integer(node).unwrap_or_default()))),
    };
    let number = |column: usize| {
        let values = values.iter().skip(column).step_by(cols).copied();
        (format!("h{column}"), OutputColumn::Numbers(Box::new(values)))
    };
    std::iter::once(("id".to_string(), id)).chain((0..cols).map(number)).collect()
}

/// A model and a graph beyond memory, of whose nodes it computes the representations.
#[derive(Debug)]
pub struct StreamedEmbedding<'a> {
    pub(super) trained: &'a Trained,
    signal: Propagation,
    /// The features, if they are a branch as well.
    features: Option<Propagation>,
    /// Whether these are multiplied already when they are propagated.
    maps_first: bool,
    memory: Memory,
    workload: Workload,
    estimate: PropagationEstimate,
    draw: u64,
    /// The names of the rows.
    pub ids: Arc<Ids>,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// Who is told how much of a propagation is done: first that of the features, if there are any, then that of the signal.
    pub progress: PanelProgress,
}

impl Trained {
    /// Whether [`Trained::embed_within`] can use this model: all of its message passing has to be `Ã^K E` and `Ã^K F`.
    pub fn can_embed_within(&self) -> bool {
        self.model.architecture().propagated_signal().is_some()
    }

    /// As `embed`, within a limit of memory and row by row. Of models all of whose message passing is `Ã^K E` and `Ã^K F`, such as
    /// `smp-linear`. Features are in memory.
    pub fn embed_within<'a>(&'a self, dataset: &Dataset, memory: Memory) -> Result<StreamedEmbedding<'a>> {
        let [_] = &dataset.samples[..] else { return Err(Error::SeveralGraphs { count: dataset.samples.len() }) };
        let (aligned, mut notes) = self.align(dataset)?;
        let sample = &aligned.samples[0];
        let Some((hops, storage)) = self.model.architecture().propagated_signal() else {
            let problem = "needs a model whose message passing is Ã^K E alone, such as smp-linear or smp-signal";
            return Err(Error::setting("memory", memory, problem));
        };
        let (graph, n) = (&sample.graph, sample.graph.num_nodes());
        let given = if self.config.task.uses_features() { sample.features.clone() } else { Features::Constant(n) };
        let uses_features = self.model.architecture().uses(Source::Features);
        let source = uses_features.then(|| self.model.feature_source(graph, &given));
        let workload = Workload {
            id_bytes: sample.ids.num_bytes(),
            feature_bytes: sample.features.num_bytes(),
            feature_columns: source.as_ref().map_or(0, |source| source.cols()),
            storage,
            buffers: MODEL_BUFFERS,
            ..Workload::of_graph(graph, self.model.shape().signal_dim, hops)
        };
        let estimate =
            workload.propagation(Some(memory)).map_err(|least| memory.too_little(least, workload.remedy()))?;
        notes.extend(self.note_on_graph(&aligned));
        let draw = self.run().best_epoch as u64;
        let signal = self.model.signal_propagation(graph.clone(), sample.addresses.clone(), draw);
        let signal = signal.expect("a model whose message passing comes first");
        Ok(StreamedEmbedding {
            trained: self,
            memory,
            workload,
            features: source.map(|source| Propagation { source, ..signal.clone() }),
            maps_first: self.model.maps_first(graph, &given).is_some(),
            signal,
            estimate,
            draw,
            ids: sample.ids.clone(),
            notes,
            progress: PanelProgress::default(),
        })
    }
}

impl StreamedEmbedding<'_> {
    /// What it takes, and how it is done.
    pub fn estimate(&self) -> &PropagationEstimate {
        &self.estimate
    }

    /// Leaves so many bytes of the limit to the caller: what is kept beside the panels.
    pub fn reserve(&mut self, bytes: usize) -> Result<()> {
        self.estimate = self.estimate_beside(bytes, self.workload.remedy())?;
        Ok(())
    }

    fn estimate_beside(&self, reserved: usize, remedy: &str) -> Result<PropagationEstimate> {
        let left = Memory::new(self.memory.bytes().saturating_sub(reserved));
        self.workload
            .propagation(Some(left))
            .map_err(|least| self.memory.too_little(Memory::new(least.bytes() + reserved), remedy))
    }

    /// The number of columns of `H`.
    pub fn cols(&self) -> usize {
        self.trained.model.representation_width()
    }

    /// Hands over all rows of `H` in order; panels wait in `folder`.
    pub fn for_each_rows(&self, folder: &Path, mut take: impl FnMut(&Matrix) -> Result<()>) -> Result<()> {
        let plan = PanelPlan { progress: self.progress.clone(), ..self.estimate.plan(folder) };
        let mut features = self.features.as_ref().map(|features| features.in_file(&plan)).transpose()?;
        let at_a_time = rows_at_a_time(self.features.as_ref().map_or(1, Propagation::cols));
        self.signal.for_each_rows(&plan, &mut |first, rows| {
            for start in (0..rows.rows()).step_by(at_a_time) {
                let some = start..(start + at_a_time).min(rows.rows());
                let signal = rows.data()[some.start * rows.cols()..some.end * rows.cols()].to_vec();
                let signal = Matrix::from_data(some.len(), rows.cols(), signal);
                let view = self.view(first + some.start, signal, features.as_mut())?;
                take(&self.trained.model.represent(&view, self.draw))?;
            }
            Ok(())
        })
    }

    /// The score of each pair of nodes, of which only their ends are represented; panels wait in `folder`.
    pub fn scores(&self, pairs: &[[u32; 2]], folder: &Path) -> Result<Vec<f32>> {
        let mut nodes: Vec<u32> = pairs.as_flattened().to_vec();
        nodes.sort_unstable();
        nodes.dedup();
        if let Some(&last) = nodes.last().filter(|&&last| last as usize >= self.ids.len()) {
            return Err(Error::OutOfRange { what: "node", number: last as usize, count: self.ids.len() });
        }
        let h = self.rows_of(&nodes, pairs.len(), folder)?;
        let place = |node: u32| nodes.binary_search(&node).expect("an end of a pair") as u32;
        let places: Vec<[u32; 2]> = pairs.iter().map(|pair| pair.map(place)).collect();
        self.score(&h, &places)
    }

    /// The most likely links of a node, best first, as [`Inference::links`](super::Inference::links); panels wait in `folder`.
    pub fn links(&self, node: u32, top: usize, existing: bool, folder: &Path) -> Result<Vec<Link>> {
        let own = self.rows_of(&[node], 1, folder)?;
        let neighbours = self.signal.operator.graph().lookup().neighbours(node as usize);
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

    /// `H` of these nodes alone, which ascend, beside so many pairs.
    fn rows_of(&self, nodes: &[u32], num_pairs: usize, folder: &Path) -> Result<Matrix> {
        let columns = 2 * (self.workload.signal_dim + self.workload.feature_columns) + 3 * self.cols();
        let reserved = 24 * num_pairs + 4 * nodes.len() * columns;
        let plan = self.estimate_beside(reserved, "fewer pairs have fewer rows")?;
        let plan = PanelPlan { progress: self.progress.clone(), ..plan.plan(folder) };
        let [signal] = self.signal.rows_of(&plan, [nodes])?;
        let features = self.features.as_ref().map(|features| features.rows_of(&plan, [nodes])).transpose()?;
        let addresses = match &self.signal.addresses {
            Some(addresses) => nodes.iter().map(|&node| addresses[node as usize]).collect(),
            None => nodes.into(),
        };
        let view = self.passed(addresses, signal, features.map(|[rows]| rows))?;
        finite(self.trained.model.represent(&view, self.draw))
    }

    /// Some consecutive nodes, all of whose messages have passed.
    fn view(&self, first: usize, signal: Matrix, features: Option<&mut PanelFile>) -> Result<View> {
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
        let found = Propagations::of(&self.model, graph, draw, self.num_features_used(), features)?;
        found.ok_or_else(|| Error::setting("model", &self.config.model, NOT_FIRST))
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
        if architecture.propagated_signal().is_none() {
            return Err(Error::setting("model", &self.config.model, NOT_FIRST));
        }
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

/// What a model has to be to be used row by row.
pub(crate) const NOT_FIRST: &str =
    "needs a model whose message passing is Ã^K E and Ã^K F alone, such as smp-linear or smp-signal";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Sample;
    use crate::plan::Way;
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
                for (way, width) in [(Way::InMemory, 32), (Way::OutOfCore, 8)] {
                    let mut embedding = trained.embed_within(&dataset, Memory::new(1 << 30)).unwrap();
                    (embedding.estimate.way, embedding.estimate.panel_width) = (way, width);
                    seen.push((matches!(dataset.samples[0].features, Features::Sparse(_)), embedding.maps_first));
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
