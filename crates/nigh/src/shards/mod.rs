//! A propagation over many machines: tasks, each a pure function from files to files.
//!
//! | stage | tasks | from | to |
//! |---|---|---|---|
//! | ids | one per file of edges | the file | its edges between its own ids, which are in order |
//! | numbers | one per range of ids | all of these | the ids of the range, each once |
//! | entries | one per file of edges | its edges, all ids | what is known of each edge at either end, by blocks of rows |
//! | blocks | one per block of rows | the entries of the block | compressed sparse rows, scales, names |
//! | graph | one | all blocks | the graph file, the bytes that [`Dataset::convert`](crate::Dataset::convert) writes |
//! | slices | one per slice of columns | the graph file | these columns of `Ã^K E` |
//! | hops | one per hop, block and slice | the block, the slice of the hop before | these rows and columns of the next |
//! | rows | one per block of rows | all slices | rows of `Ã^K E`, or of a model's `H`, with the names of their nodes |
//! | features | one | the graph file, the user's features | a row for each node, in order; the graph file if they name more nodes |
//! | requests | one per repeat | the graph file, the user's features | what a training asks for, and the graphs over which messages pass |
//! | levels | one per request and slice | requests, a graph | rows of nodes after several hops |
//! | model | one | the graph file, the user's features, requests and all rows | the model |
//!
//! `slices` needs the edges in one place and nothing from other workers; `hops` needs the edges of one block. Both give the bits of
//! [`Propagation`]. What a task does depends on its description and its files alone, so that a lost one is run
//! again anywhere. The Python package runs them on Ray.

mod edges;
mod features;
mod hops;
mod ids;
mod levels;
mod rows;
mod runs;

use crate::answer::Trained;
use crate::dataset::{EdgeColumns, WeightColumn};
use crate::error::{Error, Result};
use crate::graph::{Graph, whole_vectors};
use crate::linalg::half::Storage;
use crate::models::{Model, Separation};
use crate::propagation::requests::RequestFile;
use crate::propagation::{MatrixFile, PanelSource, Propagation};
use crate::seeds::{Purpose, Seeds, Stream};
use crate::source::{Signal, SignalScale, Source};
use runs::Asked;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What a worker does, from files to files. Read from JSON.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub struct ShardTask(Step);

/// What a task does: from which files, in the order that is stated here, to which.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
enum Step {
    /// From a file of edges to its part. Returns how many ids and edges it has, what its ids are and some of them.
    ReadEdges {
        /// Column of one end, by name or number.
        source: Option<String>,
        /// Column of the other end.
        target: Option<String>,
        /// Column of weights, or `none`.
        weight: Option<String>,
    },
    /// From all parts to the ids from a bound on and below another, each once and in order.
    MergeIds {
        /// What the ids of all parts are.
        kind: IdKind,
        /// The least.
        from: Option<IdBound>,
        /// Above the largest.
        to: Option<IdBound>,
    },
    /// From a part and all merged ids to the entries of each block.
    RouteEdges {
        /// What the ids are.
        kind: IdKind,
        /// The number of the first id of each range.
        bases: Vec<usize>,
        /// Rows of a block.
        block_rows: usize,
    },
    /// From the merged ids that the block has, and its entries of all parts, to the block.
    BuildBlock {
        /// Its rows.
        rows: [usize; 2],
        /// `N`.
        num_nodes: usize,
        /// Whether edges have weights.
        weighted: bool,
        /// The number of the first of each of the merged ids; none if ids are 0, 1, ....
        bases: Vec<usize>,
    },
    /// From a graph file to a block of it.
    CutBlock {
        /// Its rows.
        rows: [usize; 2],
    },
    /// From all blocks in order to the graph file.
    JoinBlocks {},
    /// From a graph file to nothing: reads and checks all of it.
    CheckGraph {},
    /// From the graph file, the features of the user and a model in one file, to a graph file, if features name nodes that the
    /// graph does not have, and to the features in the order of its nodes, if they are propagated.
    ReadFeatures {},
    /// From nothing, or features, to nothing. Returns the scale of halves for some rows.
    FindScale {
        /// What is propagated.
        source: MatrixSettings,
        /// The rows.
        rows: [usize; 2],
    },
    /// From the graph file, and features if they are the matrix, to these columns of `Ã^K E`.
    PropagateSlice {
        /// What is propagated.
        source: MatrixSettings,
        /// `K` and the storage.
        hops: HopSettings,
        /// The columns.
        columns: [usize; 2],
    },
    /// From a block, and features if they are the matrix, to its rows of these columns of `E`, as the first hop reads them.
    StartRows {
        /// What is propagated.
        source: MatrixSettings,
        /// The storage.
        hops: HopSettings,
        /// The columns.
        columns: [usize; 2],
        /// The counts of the graph.
        graph: GraphCounts,
    },
    /// From a block, all rows of the hop before in order, and all blocks if rows are not scaled, to its rows of the next hop.
    HopRows {
        /// `K` and the storage.
        hops: HopSettings,
        /// How many columns.
        width: usize,
        /// Whether it is the last hop.
        last: bool,
        /// The counts of the graph.
        graph: GraphCounts,
    },
    /// From a model in one file and the graph file or the block with the names to nothing: whether the model knows these nodes in this order.
    MatchModel {
        /// The rows.
        rows: [usize; 2],
    },
    /// From the graph file or the block with the names, slices in order, and perhaps a model and slices of `Ã^K F`, to rows as .npy or
    /// .parquet; beside the former goes a file of ids.
    WriteRows {
        /// The rows.
        rows: [usize; 2],
        /// Rows of each slice before the first of these.
        skip: usize,
        /// How many slices there are.
        slices: usize,
        /// Whether rows are representations of a model, which comes behind the slices.
        #[serde(default)]
        model: bool,
        /// How many slices of `Ã^K F` come behind the model.
        #[serde(default)]
        features: usize,
    },
    /// From the rows of a slice, block by block, to all rows of the slice.
    JoinRows {},
    /// From the graph file, and perhaps the features of the user, to what a repeat of a training asks for, and to as many graph files as it
    /// passes messages over. Returns the requests.
    RequestTraining {
        /// The settings of the training, as in a TOML file.
        settings: toml::Table,
        /// Counted from 0.
        repeat: usize,
        /// Whether there are features of the user.
        features: bool,
    },
    /// From a file of requests and the graph file of one of them to its rows in these columns.
    LevelSlice {
        /// The number of the request.
        request: usize,
        /// The columns.
        columns: [usize; 2],
    },
    /// From a file of requests and the graph file of one of them to the scales of all nodes.
    LevelScales {
        /// The number of the request.
        request: usize,
    },
    /// From a file of requests, a block, the scales of all nodes, and all rows of the hop before in order, to the rows of the block after
    /// the next hop; without rows of a hop before, to those before the first.
    LevelRows {
        /// The number of the request.
        request: usize,
        /// The columns.
        columns: [usize; 2],
    },
    /// From a file of requests, and all rows of each hop of one of them in order, to the rows that it asks for.
    GatherLevels {
        /// The number of the request.
        request: usize,
        /// The columns.
        columns: [usize; 2],
    },
    /// From the graph file, perhaps the features of the user, and of each repeat the file of requests and the files of rows of each, to the
    /// model in one file.
    TrainRequested {
        /// The settings of the training, as in a TOML file.
        settings: toml::Table,
        /// Columns of a file of rows.
        width: usize,
        /// Whether there are features of the user.
        features: bool,
    },
    /// From a model in one file, the graph file, perhaps the features of the user and pairs to score, to what vectors or scores ask for, and
    /// to as many graph files as messages pass over.
    RequestAnswers {
        /// What comes behind the model and the graph file.
        given: Given,
    },
    /// From the same, the file of requests and the files of rows of each, to vectors in a file for each range of rows; beside .npy goes a
    /// file of ids.
    WriteVectors {
        /// The ranges.
        rows: Vec<[usize; 2]>,
        /// Columns of a file of rows.
        width: usize,
        /// What comes behind the model and the graph file.
        given: Given,
    },
    /// From the same to a table of pairs with their scores.
    ScorePairs {
        /// Columns of a file of rows.
        width: usize,
        /// What comes behind the model and the graph file.
        given: Given,
    },
    /// From all rows in order, each as so many slices, to nothing. Returns the SHA-256 of their numbers.
    DigestRows {
        /// How many files have the columns of the same rows.
        slices: usize,
    },
}

/// What comes behind a model and the graph file.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    /// Whether there are features of the user.
    features: bool,
    /// Whether there are pairs, which come behind.
    pairs: bool,
    /// The limit of a worker.
    memory: Option<usize>,
}

impl Given {
    /// What is asked, and the files behind it.
    fn asked<'a>(&self, files: &'a [PathBuf]) -> Option<(Asked<'a>, &'a [PathBuf])> {
        let [model, graph, rest @ ..] = files else { return None };
        let (features, rest) = rest.split_at_checked(usize::from(self.features))?;
        let (pairs, rest) = rest.split_at_checked(usize::from(self.pairs))?;
        let (features, pairs, memory) = (features.first(), pairs.first(), self.memory);
        Some((Asked { model, graph, features, pairs, memory }, rest))
    }
}

/// What ids are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum IdKind {
    /// All are integers, in numeric order.
    Integers,
    /// Some are not: all are texts, in the order of their bytes.
    Names,
}

/// Where a range of ids starts or ends.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
enum IdBound {
    /// Of integers.
    Integer(i64),
    /// Of texts.
    Name(String),
}

/// The matrix that is propagated.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "matrix", rename_all = "kebab-case", deny_unknown_fields)]
pub enum MatrixSettings {
    /// `E`.
    Signal {
        /// The distribution of an entry.
        signal: Signal,
        /// Where entries are drawn.
        stream: Stream,
        /// `d`.
        dim: usize,
        /// Multiplies every entry.
        factor: f32,
    },
    /// A column of ones: the constant feature of a graph without features.
    Ones {
        /// 1.
        dim: usize,
    },
    /// `F`, in a file of the task `read-features`.
    Features {
        /// `d0`.
        dim: usize,
    },
    /// The matrix of a request, in the file of requests.
    Requested {
        /// The number of the request.
        request: usize,
        /// Its columns.
        dim: usize,
    },
}

impl MatrixSettings {
    /// `E`, as `nigh propagate` draws it.
    pub fn drawn(signal: Signal, seed: u64, dim: usize) -> MatrixSettings {
        let stream = Seeds::new(seed).stream(Purpose::Signal, &[0]);
        MatrixSettings::Signal { signal, stream, dim, factor: SignalScale::InverseSqrt.factor(dim) }
    }

    /// `E` of a model.
    fn of_source(source: &PanelSource) -> Option<MatrixSettings> {
        match *source {
            PanelSource::Signal { signal, stream, dim, factor } => {
                Some(MatrixSettings::Signal { signal, stream, dim, factor })
            }
            _ => None,
        }
    }

    /// `F` of nodes with so many features.
    fn features(dim: usize) -> MatrixSettings {
        if dim == 0 { MatrixSettings::Ones { dim: 1 } } else { MatrixSettings::Features { dim } }
    }

    /// Whether it is in a file.
    fn is_stored(&self) -> bool {
        matches!(self, MatrixSettings::Features { .. } | MatrixSettings::Requested { .. })
    }

    /// The matrix, which is in this file if it is in one.
    fn source(&self, file: &[PathBuf]) -> Result<PanelSource> {
        Ok(match *self {
            MatrixSettings::Signal { signal, stream, dim, factor } => {
                PanelSource::Signal { signal, stream, dim, factor }
            }
            MatrixSettings::Ones { .. } => PanelSource::Ones,
            MatrixSettings::Features { dim } | MatrixSettings::Requested { dim, .. } => {
                let path = file.first().ok_or_else(|| Error::setting("features", dim, "expected their file"))?;
                let found = match *self {
                    MatrixSettings::Requested { request, .. } => {
                        let file = RequestFile::open(path)?;
                        let matrix = file.stored_matrix(file.get(request)?);
                        matrix.ok_or_else(|| Error::file(path, format!("has no matrix for request {request}")))?
                    }
                    _ => MatrixFile::open(path)?,
                };
                if found.shape()[1] != dim {
                    return Err(Error::file(path, format!("has {} columns; expected {dim}", found.shape()[1])));
                }
                PanelSource::File(found)
            }
        })
    }
}

/// How `E` is propagated.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HopSettings {
    /// `K`.
    pub hops: usize,
    /// How rows are stored between hops.
    pub storage: Storage,
    /// The scale of halves, that of the whole matrix.
    pub scale: Option<f32>,
}

/// The counts of a graph that decide in which order a row is multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphCounts {
    /// `N`.
    pub num_nodes: usize,
    /// `M`.
    pub num_edges: usize,
    /// Whether edges have weights.
    pub weighted: bool,
}

/// What has to be propagated for a model, as a JSON object: `matrix`, `hops`, `storage`, the matrix of `features` if the model has a
/// branch for them, and `num_nodes` that the model knows. `null` for models whose message passing is not all `Ã^K E` and `Ã^K F`: what
/// they need depends on the question.
pub fn message_passing(trained: &Trained) -> Result<Value> {
    let architecture = trained.model().architecture();
    architecture.check_separable(&trained.config.model)?;
    if architecture.separation() == Separation::Pairs {
        return Ok(Value::Null);
    }
    let draw = trained.run().best_epoch as u64;
    message_passing_of(trained.model(), draw, trained.num_features_used(), trained.ids.len())
}

fn message_passing_of(model: &Model, draw: u64, num_features: usize, num_nodes: usize) -> Result<Value> {
    let (nowhere, _) = Graph::from_edges(0, &[])?;
    let signal = model.signal_propagation(nowhere.into(), None, draw);
    let Propagation { hops, storage, source, .. } = signal.expect("a model whose message passing comes first");
    let features = model.architecture().uses(Source::Features).then(|| MatrixSettings::features(num_features));
    Ok(json!({
        "matrix": MatrixSettings::of_source(&source),
        "hops": hops,
        "storage": storage,
        "features": features,
        "num_nodes": num_nodes,
    }))
}

impl GraphCounts {
    /// The memory of a worker that propagates a slice of so many columns, and that of one that does so for a block of so many rows.
    pub fn memory(&self, hops: &HopSettings, columns: usize, block_rows: usize) -> [usize; 2] {
        let GraphCounts { num_nodes, num_edges, weighted } = *self;
        let entry = if hops.storage == Storage::Half { 2 } else { 4 };
        let panel = |rows: usize| rows * whole_vectors(columns) * entry;
        let csr = 8 * (num_nodes + 1) + if weighted { 16 } else { 8 } * num_edges;
        let slice = csr + hops.hops.min(2) * panel(num_nodes) + 4 * num_nodes;
        let share = (csr as f64 * block_rows as f64 / num_nodes.max(1) as f64) as usize;
        let block = share + panel(num_nodes) + panel(block_rows) + if weighted { 4 * num_nodes } else { 0 };
        [slice, block].map(|bytes| bytes + BUFFERS)
    }
}

/// Python, Ray, and rows on their way.
const BUFFERS: usize = 256 << 20;

impl ShardTask {
    /// Does it, on the threads of the caller. Returns what the next stage has to know, as a JSON object. A file that can't be used by
    /// anyone, because an entry overflowed half precision, is not written.
    pub fn run(&self, inputs: &[PathBuf], outputs: &[PathBuf]) -> Result<Value> {
        let range = |[start, end]: [usize; 2]| -> Range<usize> { start..end };
        match (&self.0, inputs, outputs) {
            (Step::ReadEdges { source, target, weight }, [path], [out]) => {
                let weight = weight.as_deref().map_or(WeightColumn::Auto, WeightColumn::from);
                let columns = EdgeColumns { source: source.clone(), target: target.clone(), weight, graph: None };
                ids::read_edges(path, &columns, out)
            }
            (Step::MergeIds { kind, from, to }, parts, [out]) => {
                ids::merge_ids(parts, *kind, from.as_ref(), to.as_ref(), out)
            }
            (Step::RouteEdges { kind, bases, block_rows }, [part, ids @ ..], outs) if ids.len() == bases.len() => {
                edges::route(part, *kind, ids, bases, *block_rows, outs)
            }
            (Step::BuildBlock { rows, num_nodes, weighted, bases }, inputs, [out]) if inputs.len() >= bases.len() => {
                let (ids, entries) = inputs.split_at(bases.len());
                edges::build_block(range(*rows), *num_nodes, *weighted, ids, bases, entries, out)
            }
            (Step::CutBlock { rows }, [graph], [out]) => edges::cut_block(graph, range(*rows), out),
            (Step::JoinBlocks {}, blocks, [out]) => edges::join_blocks(blocks, out),
            (Step::CheckGraph {}, [graph], []) => edges::check_graph(graph),
            (Step::ReadFeatures {}, [graph, features, model], [whole, out]) => {
                features::read(graph, features, model, whole, out)
            }
            (Step::FindScale { source, rows }, file, []) if file.len() == usize::from(source.is_stored()) => {
                Ok(json!({ "scale": source.source(file)?.scale(None, range(*rows)) }))
            }
            (Step::PropagateSlice { source, hops, columns }, [graph, file @ ..], [out])
                if file.len() == usize::from(source.is_stored()) =>
            {
                hops::propagate_slice(graph, source.source(file)?, hops, range(*columns), out)
            }
            (Step::StartRows { source, hops, columns, graph }, [block, file @ ..], [out])
                if file.len() == usize::from(source.is_stored()) =>
            {
                hops::start_rows(block, source.source(file)?, hops, range(*columns), graph, out)
            }
            (Step::HopRows { hops, width, last, graph }, [block, others @ ..], [out]) => {
                hops::hop_rows(block, others, hops, *width, *last, graph, out)
            }
            (Step::MatchModel { rows }, [model, names], []) => rows::match_model(model, names, range(*rows)),
            (Step::WriteRows { rows, skip, slices, model, features }, [names, others @ ..], [out, ..])
                if others.len() == slices + usize::from(*model) + features =>
            {
                let (slices, model) = others.split_at(*slices);
                rows::write_rows(names, range(*rows), slices, *skip, model, out)
            }
            (Step::JoinRows {}, parts, [out]) => rows::join_rows(parts, out),
            (Step::RequestTraining { settings, repeat, features }, [graph, given @ ..], [out, graphs @ ..])
                if given.len() == usize::from(*features) =>
            {
                runs::request_training(graph, given.first(), settings, *repeat, out, graphs)
            }
            (Step::LevelSlice { request, columns }, [requests, graph], [out]) => {
                levels::slice(requests, graph, *request, range(*columns), out)
            }
            (Step::LevelScales { request }, [requests, graph], [out]) => levels::scales(requests, graph, *request, out),
            (Step::LevelRows { request, columns }, [requests, block, scales, others @ ..], [out]) => {
                levels::hop(requests, *request, range(*columns), [block, scales], others, out)
            }
            (Step::GatherLevels { request, columns }, [requests, blocks @ ..], [out]) => {
                levels::gather(requests, *request, range(*columns), blocks, out)
            }
            (Step::TrainRequested { settings, width, features }, [graph, files @ ..], [out])
                if files.len() >= usize::from(*features) =>
            {
                let (features, files) = files.split_at(usize::from(*features));
                runs::train(graph, features.first(), settings, *width, files, out)
            }
            (Step::RequestAnswers { given }, files, [out, graphs @ ..]) if given.asked(files).is_some() => {
                given.asked(files).map_or(Ok(json!({})), |(asked, _)| asked.request(out, graphs))
            }
            (Step::WriteVectors { rows, width, given }, files, outs)
                if given.asked(files).is_some() && !rows.is_empty() && outs.len().is_multiple_of(rows.len()) =>
            {
                let outs: Vec<&Path> = outs.chunks(outs.len() / rows.len()).map(|outs| outs[0].as_path()).collect();
                let write = |(asked, files): (Asked<'_>, &[PathBuf])| asked.write_vectors(*width, files, rows, &outs);
                given.asked(files).map_or(Ok(json!({})), write)
            }
            (Step::ScorePairs { width, given }, files, [out]) if given.asked(files).is_some() => {
                given.asked(files).map_or(Ok(json!({})), |(asked, files)| asked.score(*width, files, out))
            }
            (Step::DigestRows { slices }, files, []) => rows::digest_rows(files, *slices),
            _ => {
                let given = format!("{} and {}", inputs.len(), outputs.len());
                Err(Error::setting("files", given, format!("so many are not read and written by {self:?}")))
            }
        }
    }
}
