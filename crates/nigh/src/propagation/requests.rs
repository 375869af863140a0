//! Requests for rows after hops: written to a file by a run that goes without the rows, done by tasks, and read by the run that learns or
//! answers from them.

use super::levels::{LevelSource, Levels, LevelsBy};
use super::products::GROUP;
use super::{Execution, GatheredRows, MatrixFile, PanelSource, Propagation, rows_at_a_time};
use crate::error::{Error, Result};
use crate::graph::{Graph, Operator, stop};
use crate::linalg::Matrix;
use crate::linalg::half::Storage;
use crate::seeds::Stream;
use crate::source::Signal;
use nigh_formats::interrupt::fail;
use nigh_formats::npy::NpyRows;
use nigh_formats::sections::{Plain, Section, SectionWriter, Sections, bytes_of};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

/// `M^a X` for several `a`, for some nodes of a graph or all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Request {
    /// Fingerprint of all that its rows depend on.
    key: String,
    /// The number of the graph.
    pub graph: usize,
    /// Whether walks never stay: `M = D^-1/2 A D^-1/2` instead of `Ã`.
    walks: bool,
    /// Columns of `X`.
    pub columns: usize,
    /// In ascending order.
    pub hops: Vec<usize>,
    /// How rows are stored between hops where only those after the last of them are wanted, as [`Propagation`] computes them.
    pub storage: Option<Storage>,
    source: RequestSource,
    /// Where the nodes are among those of all requests; `None` for all nodes.
    nodes: Option<[usize; 2]>,
}

impl Request {
    /// How much of a node its own row is.
    pub fn self_weight(&self) -> f32 {
        if self.walks { 0.0 } else { 1.0 }
    }

    /// `E`, if that is what is propagated and no node is known by another number.
    pub fn signal(&self) -> Option<PanelSource> {
        match self.source {
            RequestSource::Signal { signal, stream, factor, addresses: None } => {
                Some(PanelSource::Signal { signal, stream, dim: self.columns, factor })
            }
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum RequestSource {
    /// `E`. The addresses of its rows start here, if they are not 0, 1, ....
    Signal { signal: Signal, stream: Stream, factor: f32, addresses: Option<usize> },
    /// The number in the file at which `X` starts, group by group of columns.
    Matrix { start: usize },
}

/// What is in the file in addition to numbers.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    /// Of the graphs, in order.
    num_nodes: Vec<usize>,
    requests: Vec<Request>,
}

/// Fingerprints of graphs, each computed once.
#[derive(Debug, Default)]
struct GraphDigests(Mutex<Vec<(Weak<Graph>, String)>>);

impl GraphDigests {
    fn of(&self, graph: &Arc<Graph>) -> String {
        let mut known = locked(&self.0);
        known.retain(|(other, _)| other.strong_count() > 0);
        let same = |other: &Weak<Graph>| std::ptr::eq(other.as_ptr(), Arc::as_ptr(graph));
        if let Some((_, digest)) = known.iter().find(|(other, _)| same(other)) {
            return digest.clone();
        }
        let digest = graph.digest();
        known.push((Arc::downgrade(graph), digest.clone()));
        digest
    }

    /// The key of a request.
    fn key(&self, levels: &Levels<'_>, nodes: Option<&[u32]>, power: Option<(usize, Storage)>) -> String {
        let mut hash = Sha256::new();
        hash.update(self.of(levels.operator.graph()));
        hash.update([u8::from(is_of_walks(levels.operator)), u8::from(nodes.is_some())]);
        hash.update(serde_json::to_vec(&power).expect("plain data can be written"));
        let nodes = nodes.unwrap_or_default();
        hash.update((nodes.len() as u64).to_le_bytes());
        hash.update(bytes_of(nodes));
        let width = levels.source.width();
        hash.update((width as u64).to_le_bytes());
        match &levels.source {
            LevelSource::Signal { signal, stream, addresses, factor, .. } => {
                hash.update(serde_json::to_vec(&(signal, stream, factor)).expect("plain data can be written"));
                hash.update(bytes_of(addresses));
            }
            LevelSource::Columns { .. } => {
                each_group(&levels.source, |group| hash.update(bytes_of(group.data())));
            }
        }
        nigh_formats::digest::hex(&hash.finalize())
    }
}

fn is_of_walks(operator: &Operator) -> bool {
    operator.self_weight() == 0.0
}

/// Calls `take` with the columns of each group.
fn each_group(source: &LevelSource<'_>, mut take: impl FnMut(&Matrix)) {
    let (width, mut group) = (source.width(), Matrix::default());
    for start in (0..width).step_by(GROUP) {
        source.fill(start..width.min(start + GROUP), &mut group);
        take(&group);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

const MATRICES: &str = "matrices";
const NODES: &str = "nodes";
const ADDRESSES: &str = "addresses";
const CONTENTS: &str = "requests";

/// Writes requests down, and the graphs that they are about to files of their own.
pub(crate) struct RequestRecorder {
    digests: GraphDigests,
    /// Files for graphs, of which the first are taken.
    graphs: Vec<PathBuf>,
    /// Writes a graph file.
    store: fn(&Graph, &Path) -> Result<()>,
    state: Mutex<Recorded>,
}

struct Recorded {
    writer: SectionWriter,
    /// Of the graphs that are stored.
    stored: Vec<String>,
    contents: Contents,
    nodes: Vec<u32>,
    addresses: Vec<u32>,
    /// How many numbers of matrices are written.
    written: usize,
}

impl std::fmt::Debug for RequestRecorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RequestRecorder").field("graphs", &self.graphs).finish_non_exhaustive()
    }
}

impl RequestRecorder {
    /// To a file of requests, and to as many of these files as there are graphs.
    pub fn create(path: &Path, graphs: &[PathBuf], store: fn(&Graph, &Path) -> Result<()>) -> Result<RequestRecorder> {
        let mut writer = SectionWriter::create(path)?;
        writer.section(MATRICES)?;
        let state = Recorded {
            writer,
            stored: Vec::new(),
            contents: Contents::default(),
            nodes: Vec::new(),
            addresses: Vec::new(),
            written: 0,
        };
        Ok(RequestRecorder { digests: GraphDigests::default(), graphs: graphs.to_vec(), store, state: state.into() })
    }

    /// A request, unless it was written down before.
    pub fn add(&self, levels: &Levels<'_>, hops: &[usize], nodes: Option<&[u32]>) {
        if !hops.is_empty() && nodes.is_none_or(|nodes| !nodes.is_empty()) {
            self.record(levels, hops, nodes, None).unwrap_or_else(|error| stop(error));
        }
    }

    fn record(
        &self,
        levels: &Levels<'_>,
        hops: &[usize],
        nodes: Option<&[u32]>,
        storage: Option<Storage>,
    ) -> Result<()> {
        let key = self.digests.key(levels, nodes, storage.map(|storage| (hops[0], storage)));
        let state = &mut *locked(&self.state);
        if let Some(request) = state.contents.requests.iter_mut().find(|request| request.key == key) {
            request.hops.extend(hops);
            request.hops.sort_unstable();
            request.hops.dedup();
            return Ok(());
        }
        let graph = levels.operator.graph();
        let digest = self.digests.of(graph);
        let number = match state.stored.iter().position(|stored| *stored == digest) {
            Some(number) => number,
            None => {
                let number = state.stored.len();
                let last = || self.graphs.last().map_or(Path::new("graph"), PathBuf::as_path);
                let path = self.graphs.get(number);
                let path = path.ok_or_else(|| Error::file(last(), format!("is the last of {number} graphs")))?;
                (self.store)(graph, path)?;
                state.contents.num_nodes.push(graph.num_nodes());
                state.stored.push(digest);
                number
            }
        };
        let source = match &levels.source {
            LevelSource::Signal { signal, stream, addresses, factor, .. } => RequestSource::Signal {
                signal: *signal,
                stream: *stream,
                factor: *factor,
                addresses: state.place_of_addresses(addresses),
            },
            LevelSource::Columns { .. } => RequestSource::Matrix { start: state.write_matrix(&levels.source)? },
        };
        let nodes = nodes.map(|nodes| {
            let start = state.nodes.len();
            state.nodes.extend(nodes);
            [start, state.nodes.len()]
        });
        let walks = is_of_walks(levels.operator);
        let (columns, hops) = (levels.source.width(), hops.to_vec());
        state.contents.requests.push(Request { key, graph: number, walks, columns, hops, storage, source, nodes });
        Ok(())
    }

    /// Ends the file.
    pub fn finish(self: Arc<RequestRecorder>) -> Result<Vec<Request>> {
        let recorder = Arc::into_inner(self).expect("the run has ended");
        let Recorded { mut writer, contents, nodes, addresses, .. } =
            recorder.state.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        writer.section(NODES)?;
        writer.write(&nodes)?;
        writer.section(ADDRESSES)?;
        writer.write(&addresses)?;
        writer.section(CONTENTS)?;
        writer.write(&serde_json::to_vec(&contents).expect("plain data can be written"))?;
        writer.finish()?;
        Ok(contents.requests)
    }
}

impl Recorded {
    /// Where these addresses start; `None` if they are 0, 1, ....
    fn place_of_addresses(&mut self, addresses: &[u32]) -> Option<usize> {
        if (0..).zip(addresses).all(|(node, &address)| node == address) {
            return None;
        }
        let known = self.addresses.chunks_exact(addresses.len()).position(|known| known == addresses);
        let start = known.map_or(self.addresses.len(), |at| at * addresses.len());
        if known.is_none() {
            self.addresses.extend(addresses);
        }
        Some(start)
    }

    /// Where a matrix starts.
    fn write_matrix(&mut self, source: &LevelSource<'_>) -> Result<usize> {
        let (start, mut result) = (self.written, Ok(()));
        each_group(source, |group| {
            if result.is_ok() {
                result = self.writer.write(group.data());
                self.written += group.data().len();
            }
        });
        Ok(result.map(|()| start)?)
    }
}

/// A file of a [`RequestRecorder`].
pub(crate) struct RequestFile {
    path: PathBuf,
    contents: Contents,
    nodes: Section<u32>,
    addresses: Section<u32>,
    matrices: Section<f32>,
}

impl RequestFile {
    pub fn open(path: &Path) -> Result<RequestFile> {
        fn section<T: Plain>(sections: &Sections, name: &str) -> Result<Section<T>> {
            let missing = || Error::file(sections.path(), format!("has no section `{name}`; it has no requests"));
            sections.get::<T>(name)?.ok_or_else(missing)
        }
        let sections = Sections::open(path)?;
        let damaged = |error: serde_json::Error| Error::file(path, format!("section `{CONTENTS}` is damaged: {error}"));
        let contents = serde_json::from_slice(&section::<u8>(&sections, CONTENTS)?.read_all()?).map_err(damaged)?;
        let (nodes, addresses) = (section(&sections, NODES)?, section(&sections, ADDRESSES)?);
        let matrices = section(&sections, MATRICES)?;
        let file = RequestFile { path: path.to_path_buf(), contents, nodes, addresses, matrices };
        match file.contents.requests.iter().position(|request| !file.has(request)) {
            None => Ok(file),
            Some(number) => Err(Error::file(path, format!("request {number} needs more than the file has"))),
        }
    }

    /// Whether what a request names is in the file.
    fn has(&self, request: &Request) -> bool {
        let Some(&num_nodes) = self.contents.num_nodes.get(request.graph) else { return false };
        let fits = |start: usize, count: Option<usize>, len: usize| {
            count.and_then(|count| start.checked_add(count)).is_some_and(|end| end <= len)
        };
        let source = match request.source {
            RequestSource::Signal { addresses: Some(start), .. } => fits(start, Some(num_nodes), self.addresses.len()),
            RequestSource::Signal { .. } => true,
            RequestSource::Matrix { start } => fits(start, num_nodes.checked_mul(request.columns), self.matrices.len()),
        };
        let nodes = request.nodes.is_none_or(|[start, end]| start <= end && end <= self.nodes.len());
        source && nodes && request.hops.is_sorted() && request.hops.last().is_some_and(|&last| last < 1 << 10)
    }

    /// A request by its number.
    pub fn get(&self, number: usize) -> Result<&Request> {
        let count = self.contents.requests.len();
        self.contents.requests.get(number).ok_or(Error::OutOfRange { what: "request", number, count })
    }

    /// How many nodes the graph of a request has.
    pub fn num_nodes(&self, request: &Request) -> usize {
        self.contents.num_nodes[request.graph]
    }

    /// The nodes of a request, if they are not all.
    pub fn nodes(&self, request: &Request) -> Result<Option<Vec<u32>>> {
        let Some([start, end]) = request.nodes else { return Ok(None) };
        let (nodes, num_nodes) = (self.nodes.read(start..end)?.to_vec(), self.num_nodes(request));
        match nodes.iter().find(|&&node| node as usize >= num_nodes) {
            None => Ok(Some(nodes)),
            Some(&node) => Err(Error::OutOfRange { what: "node", number: node as usize, count: num_nodes }),
        }
    }

    /// `M` over the graph of a request.
    pub fn operator(&self, request: &Request, graph: Arc<Graph>) -> Result<Operator> {
        let (expected, count) = (self.num_nodes(request), graph.num_nodes());
        match expected == count {
            false => Err(Error::file(&self.path, format!("asks for {expected} nodes, but the graph has {count}"))),
            true if request.walks => Ok(Operator::walk(graph)),
            true => Ok(Operator::symmetric(graph)),
        }
    }

    /// Columns of `X` that a request may take.
    pub fn check_columns(&self, request: &Request, columns: &Range<usize>) -> Result<()> {
        match columns.start.is_multiple_of(GROUP) && columns.start < columns.end && columns.end <= request.columns {
            true => Ok(()),
            false => {
                let problem = format!("expected columns of {} from a multiple of {GROUP} on", request.columns);
                Err(Error::setting("columns", format!("{columns:?}"), problem))
            }
        }
    }

    /// Some columns of some rows of `X`.
    pub fn fill(&self, request: &Request, rows: Range<usize>, columns: Range<usize>, block: &mut Matrix) {
        match request.source {
            RequestSource::Signal { signal, stream, factor, addresses } => {
                let addresses = match addresses {
                    None => (rows.start as u32..rows.end as u32).collect(),
                    Some(start) => {
                        let read = self.addresses.read(start + rows.start..start + rows.end);
                        read.unwrap_or_else(|error| fail(error)).to_vec()
                    }
                };
                signal.fill(stream, &addresses, columns, factor, block);
            }
            RequestSource::Matrix { start } => self.matrix(request, start).copy(rows, columns, block),
        }
    }

    fn matrix(&self, request: &Request, start: usize) -> MatrixFile {
        MatrixFile::in_groups([self.num_nodes(request), request.columns], self.matrices.clone(), start)
    }

    /// The matrix of a request; `None` if it is `E`.
    pub fn stored_matrix(&self, request: &Request) -> Option<MatrixFile> {
        match request.source {
            RequestSource::Matrix { start } => Some(self.matrix(request, start)),
            RequestSource::Signal { .. } => None,
        }
    }
}

/// The rows of requests, in files of tasks.
#[derive(Debug, Default)]
pub(crate) struct LevelFiles {
    digests: GraphDigests,
    done: Vec<(Request, Vec<PathBuf>)>,
}

impl LevelFiles {
    /// The requests of a file, each with the files of `width` columns.
    pub fn add(&mut self, requests: &Path, width: usize, files: &mut impl Iterator<Item = PathBuf>) -> Result<()> {
        for request in RequestFile::open(requests)?.contents.requests {
            let count = request.columns.div_ceil(width.max(1));
            let slices: Vec<PathBuf> = files.by_ref().take(count).collect();
            if slices.len() < count {
                return Err(Error::file(requests, format!("needs {count} files of rows; found {}", slices.len())));
            }
            self.done.push((request, slices));
        }
        Ok(())
    }

    /// As tasks computed them: `take` gets the columns of a file after each hop.
    pub fn each(
        &self,
        levels: &Levels<'_>,
        hops: &[usize],
        nodes: Option<&[u32]>,
        take: impl FnMut(&Range<usize>, usize, &mut Matrix),
    ) {
        let count = nodes.map_or(levels.operator.graph().num_nodes(), <[u32]>::len);
        if !hops.is_empty() && count > 0 {
            self.read(levels, hops, nodes, count, take).unwrap_or_else(|error| stop(error));
        }
    }

    fn read(
        &self,
        levels: &Levels<'_>,
        hops: &[usize],
        nodes: Option<&[u32]>,
        count: usize,
        mut take: impl FnMut(&Range<usize>, usize, &mut Matrix),
    ) -> Result<()> {
        let (request, slices) = self.find(&self.digests.key(levels, nodes, None))?;
        let mut first = 0;
        for path in slices {
            let mut file = NpyRows::open(path)?;
            let [rows, width] = file.shape();
            let columns = first..first + width;
            if rows != request.hops.len() * count || columns.end > request.columns {
                return Err(Error::file(path, format!("has {rows} rows of {width} columns, which were not asked for")));
            }
            for &hop in hops {
                let at = request.hops.binary_search(&hop).map_err(|_| missing_rows())?;
                let mut values = Vec::new();
                file.read(at * count..(at + 1) * count, &mut values)?;
                take(&columns, hop, &mut Matrix::from_data(count, width, values));
            }
            first = columns.end;
        }
        if first < request.columns {
            let path = slices.last().map_or(Path::new("rows"), PathBuf::as_path);
            return Err(Error::file(path, format!("is the last, but columns from {first} on are missing")));
        }
        Ok(())
    }

    fn find(&self, key: &str) -> Result<(&Request, &[PathBuf])> {
        let found = self.done.iter().find(|(request, _)| request.key == key);
        found.map(|(request, slices)| (request, &slices[..])).ok_or_else(missing_rows)
    }

    /// Rows of [`Propagation::rows_of`].
    fn rows_of<const L: usize>(&self, propagation: &Propagation, nodes: [&[u32]; L]) -> Result<[Matrix; L]> {
        let key = propagation
            .as_levels(|levels| self.digests.key(levels, None, Some((propagation.hops, propagation.storage))));
        let (num_nodes, cols) = (propagation.operator.graph().num_nodes(), propagation.cols());
        let (mut found, mut first) = (nodes.map(|nodes| Matrix::zeros(nodes.len(), cols)), 0);
        for path in self.find(&key)?.1 {
            let mut file = NpyRows::open(path)?;
            let [rows, width] = file.shape();
            if rows != num_nodes || first + width > cols {
                return Err(Error::file(path, format!("has {rows} rows of {width} columns, which were not asked for")));
            }
            let (mut gathered, mut values) = (GatheredRows::new(nodes, width), Vec::new());
            let at_a_time = rows_at_a_time(width);
            for start in (0..rows).step_by(at_a_time) {
                let some = start..(start + at_a_time).min(rows);
                if gathered.wants(some.clone()) {
                    file.read(some.clone(), &mut values)?;
                    let block = Matrix::from_data(some.len(), width, std::mem::take(&mut values));
                    gathered.take(start, &block);
                }
            }
            for (all, some) in found.iter_mut().zip(&gathered.rows) {
                for row in 0..some.rows() {
                    all.row_mut(row)[first..first + width].copy_from_slice(some.row(row));
                }
            }
            first += width;
        }
        if first < cols { Err(missing_rows()) } else { Ok(found) }
    }
}

fn missing_rows() -> Error {
    Error::file(Path::new("requests"), "rows are missing that a run of the same settings asks for")
}

impl Propagation {
    /// The rows of these nodes alone, which ascend in each of some lists, from the executor.
    pub(crate) fn rows_by<const L: usize>(&self, execution: &Execution, nodes: [&[u32]; L]) -> Result<[Matrix; L]> {
        match &execution.levels_by {
            LevelsBy::Panels => self.rows_of(&execution.panels, nodes),
            LevelsBy::Requests(recorder) => {
                self.as_levels(|levels| recorder.record(levels, &[self.hops], None, Some(self.storage)))?;
                Ok(nodes.map(|nodes| Matrix::zeros(nodes.len(), self.cols())))
            }
            LevelsBy::Files(files) => files.rows_of(self, nodes),
        }
    }

    fn as_levels<T>(&self, ask: impl FnOnce(&Levels<'_>) -> T) -> T {
        let num_nodes = self.operator.graph().num_nodes();
        let addresses: Vec<u32>;
        let fill = |columns: Range<usize>, panel: &mut Matrix| self.source.fill(None, 0..num_nodes, columns, panel);
        let source = match self.source {
            PanelSource::Signal { signal, stream, dim, factor } => {
                addresses = match &self.addresses {
                    Some(addresses) => addresses.to_vec(),
                    None => (0..num_nodes as u32).collect(),
                };
                LevelSource::Signal { signal, stream, addresses: &addresses, dim, factor }
            }
            _ => LevelSource::Columns { width: self.cols(), fill: &fill },
        };
        ask(&Levels { operator: &self.operator, execution: &Execution::default(), source })
    }
}
