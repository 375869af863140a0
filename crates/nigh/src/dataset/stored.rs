//! The graph file, `*.nigh`: compressed sparse rows and the names of nodes, opened in milliseconds and read where they are used.
//!
//! Sections of [`nigh_formats::sections`]: `neighbours` (u32, sorted within a row), `offsets` (u64, one more than there are
//! nodes), `weights` (f32, beside the neighbours) if edges have any, and names of nodes that are not their numbers: `ids` (i64), or
//! `names` (UTF-8, back to back) with `name-bounds` (u64, one more than there are nodes).

use super::own::graph_file::{self, EdgeList, ListedEdges};
use super::own::{WeightColumn, direction};
use super::{Dataset, Ids, InputFiles, cleaning_notes};
use crate::error::{Error, Result};
use crate::graph::{Cleaning, Edges, Graph, Mentioned, RowBlock, Spill, build_in_pieces};
use crate::memory::Memory;
use crate::propagation::Execution;
use nigh_formats::atomic::unnamed_file;
use nigh_formats::sections::{Section, SectionWriter, Sections, bytes_of};
use nigh_formats::{Format, Texts};
use std::fs::File;
use std::io::{BufReader, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A graph file whose header was read, and nothing else.
#[derive(Debug, Clone)]
pub struct GraphStore {
    sections: Sections,
    graph: Graph,
}

/// What a conversion wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    /// `N`.
    pub num_nodes: usize,
    /// `M`.
    pub num_edges: usize,
    /// Of the file.
    pub num_bytes: u64,
    /// What was dropped and merged.
    pub cleaning: Cleaning,
}

impl GraphStore {
    /// Whether a file is one of these, by its first bytes.
    pub fn is_store(path: &Path) -> bool {
        path.is_file() && Format::of(path).is_ok_and(|format| format == Format::Sections)
    }

    /// Opens a graph file in milliseconds, whatever its size: checks the header and the lengths of the arrays. If the file is changed, cut or
    /// damaged while it is in use, the next read of that part is an error.
    pub fn open(path: &Path) -> Result<GraphStore> {
        GraphStore::of_sections(Sections::open(path)?)
    }

    fn of_sections(sections: Sections) -> Result<GraphStore> {
        let path = sections.path();
        let missing = |name: &str| Error::file(path, format!("has no section `{name}`; it holds no graph"));
        let offsets = sections.get::<usize>("offsets")?.ok_or_else(|| missing("offsets"))?;
        let neighbours = sections.get::<u32>("neighbours")?.ok_or_else(|| missing("neighbours"))?;
        let weights = sections.get::<f32>("weights")?;
        let ends = neighbours.len();
        if offsets.is_empty() || offsets.len() > u32::MAX as usize {
            return Err(Error::file(path, format!("has {} offsets that do not fit {ends} neighbours", offsets.len())));
        }
        if weights.as_ref().is_some_and(|weights| weights.len() != ends) {
            return Err(Error::file(path, format!("has {ends} neighbours, but not as many weights")));
        }
        Ok(GraphStore { graph: Graph::from_sections(offsets, neighbours, weights)?, sections })
    }

    /// Reads all of the file and checks it: the checksum of each section, ascending rows, neighbours that exist, edges that are listed
    /// at both ends. A graph that is loaded for use is checked so first; that takes about as long as reading the file.
    pub fn verify(&self) -> Result<()> {
        self.sections.verify_all_but(&["offsets", "neighbours", "weights"])?;
        self.graph.verify()
    }

    /// The graph, which stays in the file.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The names of the nodes.
    pub fn ids(&self) -> Result<Ids> {
        read_ids(&self.sections, self.graph.num_nodes(), 0..self.graph.num_nodes())
    }

    /// The names of some nodes; how many they are, if they are known by their numbers.
    pub(crate) fn ids_of(&self, rows: Range<usize>) -> Result<Ids> {
        read_ids(&self.sections, self.graph.num_nodes(), rows)
    }

    /// As one of the formats of edges, checked.
    pub(super) fn into_list(self, weight: &WeightColumn) -> Result<EdgeList> {
        if *weight != WeightColumn::Auto {
            let problem = "is a graph file, whose weights were chosen when it was written; write it again with others";
            return Err(Error::file(self.sections.path(), problem));
        }
        self.verify()?;
        let (ids, edges) = (self.ids()?, ListedEdges::Built(self.graph, Cleaning::default()));
        Ok(EdgeList { ids, edges, ordered: true, directed: Some(false), ..EdgeList::default() })
    }
}

/// Some of the names in a file of `n` nodes. Two nodes of one name, or one without a name, are an error.
pub(crate) fn read_ids(sections: &Sections, n: usize, rows: Range<usize>) -> Result<Ids> {
    let path = sections.path();
    let wrong = |count: usize| Error::file(path, format!("has {n} nodes, but {count} names of nodes"));
    let (bounds, text) = (sections.get::<u64>("name-bounds")?, sections.get::<u8>("names")?);
    let found = match (sections.get::<i64>("ids")?, bounds, text) {
        (Some(ids), ..) if ids.len() == n => Ids::Integers(ids.read(rows.clone())?.to_vec()),
        (Some(ids), ..) => return Err(wrong(ids.len())),
        (None, Some(bounds), Some(_)) if bounds.len() != n + 1 => return Err(wrong(bounds.len().saturating_sub(1))),
        (None, Some(bounds), Some(text)) => {
            let mut names = Texts::default();
            for first in rows.clone().step_by(NAMES) {
                let some = first..(first + NAMES).min(rows.end);
                read_names(&bounds, &text, some, &mut names)?;
            }
            Ids::Names(names)
        }
        _ => return Ok(Ids::Numbers(rows.len())),
    };
    found.check_distinct(rows.start).map_err(|problem| Error::file(path, problem))?;
    Ok(found)
}

/// Names that are read at a time.
const NAMES: usize = 1 << 16;

fn read_names(bounds: &Section<u64>, text: &Section<u8>, rows: Range<usize>, names: &mut Texts) -> Result<()> {
    let wrong = |problem: String| Error::file(bounds.path(), problem);
    let bounds = bounds.read(rows.start..rows.end + 1)?;
    let (first, last) = (bounds[0] as usize, bounds[rows.len()] as usize);
    if !bounds.is_sorted() || last > text.len() {
        return Err(wrong(format!("the names of nodes {} to {} do not follow each other", rows.start, rows.end - 1)));
    }
    let text = text.read(first..last)?;
    for (node, pair) in rows.zip(bounds.windows(2)) {
        let name = std::str::from_utf8(&text[pair[0] as usize - first..pair[1] as usize - first]);
        names.push(name.map_err(|_| wrong(format!("the name of node {node} is no text")))?);
    }
    Ok(())
}

/// Adds the sections of names, unless nodes are known by their numbers.
pub(crate) fn write_ids(writer: &mut SectionWriter, ids: &Ids) -> Result<()> {
    match ids {
        Ids::Numbers(_) => {}
        Ids::Integers(numbers) => {
            writer.section("ids")?;
            writer.write(numbers)?;
        }
        Ids::Names(names) => {
            writer.section("names")?;
            let mut bounds = vec![0u64];
            for name in names.iter() {
                writer.write(name.as_bytes())?;
                bounds.push(bounds[bounds.len() - 1] + name.len() as u64);
            }
            writer.section("name-bounds")?;
            writer.write(&bounds)?;
        }
    }
    Ok(())
}

impl Dataset {
    /// Writes the only graph and the names of its nodes as a graph file, which appears when it is complete.
    pub fn store(&self, path: &Path) -> Result<Stored> {
        let [sample] = &self.samples[..] else { return Err(Error::SeveralGraphs { count: self.samples.len() }) };
        store(path, &sample.graph, &sample.ids, self.cleaning.unwrap_or_default())
    }

    /// Writes a file of edges in any format as a graph file. Edges between integers wait in a file without a name beside it, where they
    /// exceed the memory; for all else the graph is built in memory. Returns what was written, and notes on what was read.
    pub fn convert(path: &Path, input: &InputFiles, out: &Path, memory: Memory) -> Result<(Stored, Vec<String>)> {
        let (spill, share) = limits(out, memory)?;
        convert(path, input, out, &spill, share)
    }
}

/// Where edges wait, and the memory for rows that are built: a third for edges that are read, a third for rows, the rest for what
/// holds them together.
fn limits(out: &Path, memory: Memory) -> Result<(Spill, usize)> {
    if memory.bytes() < LEAST_MEMORY {
        let least = Memory::new(LEAST_MEMORY);
        return Err(Error::setting("memory", memory, format!("a graph file takes {least} at least")));
    }
    let folder = folder_of(out);
    let share = memory.bytes() / 3;
    Ok((Spill { folder: folder.to_path_buf(), bytes: share / rayon::current_num_threads() }, share))
}

/// Writes edges that threads make, task by task, as a graph file. It depends on the edges alone, not on their order.
pub(super) fn store_edges<I: Iterator<Item = [u32; 2]>>(
    out: &Path,
    memory: Memory,
    num_tasks: u64,
    edges_of: impl Fn(u64) -> I + Sync,
) -> Result<Stored> {
    let (spill, share) = limits(out, memory)?;
    let next = AtomicU64::new(0);
    let edges = rayon::broadcast(|_| {
        let mut edges = Edges::spilling(false, Some(&spill));
        let task = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&task| task < num_tasks);
        std::iter::from_fn(task).flat_map(&edges_of).for_each(|edge| edges.push(edge));
        edges
    });
    store_bucketed(edges, out, &spill, share)
}

fn store_bucketed(edges: Vec<Edges>, out: &Path, spill: &Spill, memory: usize) -> Result<Stored> {
    let mut writer = StoreWriter::create(out, &spill.folder)?;
    let (mentioned, cleaning) = build_in_pieces(edges, memory, |block| writer.rows(&block))?;
    writer.finish(&mentioned, cleaning)
}

fn convert(path: &Path, input: &InputFiles, out: &Path, spill: &Spill, memory: usize) -> Result<(Stored, Vec<String>)> {
    if input.nodes.is_none() && path.exists() {
        let list = graph_file::read(path, &input.edge_columns, Some(spill))?.list;
        if let ListedEdges::Bucketed(edges) = list.edges {
            let stored = store_bucketed(edges, out, spill, memory)?;
            let mut notes = list.notes;
            notes.extend(cleaning_notes(stored.cleaning));
            notes.extend(direction(stored.cleaning, stored.num_edges, None));
            return Ok((stored, notes));
        }
    }
    let dataset = Dataset::from_files(path, input)?;
    let stored = dataset.store(out)?;
    Ok((stored, dataset.notes))
}

/// Less would spill every few edges.
const LEAST_MEMORY: usize = 64 << 20;

fn store(path: &Path, graph: &Graph, ids: &Ids, cleaning: Cleaning) -> Result<Stored> {
    ids.check_distinct(0).map_err(|problem| Error::file(path, format!("can't be written: {problem}")))?;
    if graph.is_stored() {
        return store_streamed(path, graph, ids, cleaning);
    }
    let (offsets, neighbours, weights) = graph.parts();
    let mut writer = SectionWriter::create(path)?;
    writer.section("neighbours")?;
    neighbours.chunks(CHUNK).try_for_each(|chunk| writer.write(chunk))?;
    if let Some(weights) = weights {
        writer.section("weights")?;
        weights.chunks(CHUNK).try_for_each(|chunk| writer.write(chunk))?;
    }
    writer.section("offsets")?;
    offsets.chunks(CHUNK).try_for_each(|chunk| writer.write(chunk))?;
    write_ids(&mut writer, ids)?;
    finish(writer, path, cleaning, graph.num_nodes(), graph.num_edges())
}

/// As `store`, of a graph in a file that may be larger than memory.
fn store_streamed(path: &Path, graph: &Graph, ids: &Ids, cleaning: Cleaning) -> Result<Stored> {
    let mut writer = StoreWriter::create(path, folder_of(path))?;
    graph.rows_without(&[], |block| writer.rows(&block))?;
    writer.finish_rows()?;
    write_ids(&mut writer.sections, ids)?;
    finish(writer.sections, path, cleaning, graph.num_nodes(), graph.num_edges())
}

/// The folder of a file.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Numbers that are written at once.
const CHUNK: usize = 1 << 20;

fn finish(
    writer: SectionWriter,
    path: &Path,
    cleaning: Cleaning,
    num_nodes: usize,
    num_edges: usize,
) -> Result<Stored> {
    writer.finish()?;
    let num_bytes = path.metadata().map_err(Error::io(path))?.len();
    Ok(Stored { num_nodes, num_edges, num_bytes, cleaning })
}

/// A graph file that is written row by row.
struct StoreWriter {
    path: PathBuf,
    folder: PathBuf,
    sections: SectionWriter,
    lengths: Vec<u32>,
    /// They have a section of their own, and wait for it without a name.
    weights: Option<File>,
    num_entries: usize,
}

impl StoreWriter {
    fn create(path: &Path, folder: &Path) -> Result<StoreWriter> {
        StoreWriter::to(SectionWriter::create(path)?, path, folder)
    }

    fn to(mut sections: SectionWriter, path: &Path, folder: &Path) -> Result<StoreWriter> {
        sections.section("neighbours")?;
        let (path, folder) = (path.to_path_buf(), folder.to_path_buf());
        Ok(StoreWriter { path, folder, sections, lengths: Vec::new(), weights: None, num_entries: 0 })
    }

    fn rows(&mut self, block: &RowBlock) -> Result<()> {
        self.lengths.extend(&block.lengths);
        self.num_entries += block.neighbours.len();
        self.sections.write(&block.neighbours)?;
        if !block.weights.is_empty() {
            if self.weights.is_none() {
                self.weights = Some(unnamed_file(&self.folder).map_err(Error::io(&self.folder))?);
            }
            let file = self.weights.as_mut().expect("it was created");
            file.write_all(bytes_of(&block.weights)).map_err(Error::io(&self.folder))?;
        }
        Ok(())
    }

    fn finish(mut self, mentioned: &Mentioned, cleaning: Cleaning) -> Result<Stored> {
        if self.num_entries == 0 {
            return Err(Error::file(&self.path, "no edge between two different nodes; message passing needs some"));
        }
        self.finish_rows()?;
        let StoreWriter { path, mut sections, num_entries, .. } = self;
        if !mentioned.is_counted() {
            sections.section("ids")?;
            let mut ids = mentioned.iter().peekable();
            while ids.peek().is_some() {
                sections.write(&ids.by_ref().take(CHUNK).collect::<Vec<i64>>())?;
            }
        }
        finish(sections, &path, cleaning, mentioned.len(), num_entries / 2)
    }

    /// Weights and offsets, which follow the neighbours.
    fn finish_rows(&mut self) -> Result<()> {
        let StoreWriter { folder, sections, lengths, weights, .. } = self;
        if let Some(weights) = weights {
            weights.seek(SeekFrom::Start(0)).map_err(Error::io(folder))?;
            sections.section("weights")?;
            sections.copy(&mut BufReader::new(weights))?;
        }
        sections.section("offsets")?;
        let mut end = 0u64;
        sections.write(&[end])?;
        for lengths in lengths.chunks(CHUNK) {
            let ends = lengths.iter().map(|&length| {
                end += u64::from(length);
                end
            });
            sections.write(&ends.collect::<Vec<u64>>())?;
        }
        Ok(())
    }
}

/// Writes a graph without some of its edges as a graph file, whose nodes are named by their numbers.
pub(crate) fn store_without(graph: &Graph, hidden: &[[u32; 2]], path: &Path) -> Result<Stored> {
    let mut writer = StoreWriter::create(path, folder_of(path))?;
    graph.rows_without(hidden, |block| writer.rows(&block))?;
    writer.finish_rows()?;
    let StoreWriter { path, sections, num_entries, .. } = writer;
    finish(sections, &path, Cleaning::default(), graph.num_nodes(), num_entries / 2)
}

/// As `store_without`, in an anonymous temporary file in this folder.
fn stored_without(graph: &Graph, hidden: &[[u32; 2]], folder: &Path) -> Result<Graph> {
    let mut writer = StoreWriter::to(SectionWriter::unnamed(folder)?, folder, folder)?;
    graph.rows_without(hidden, |block| writer.rows(&block))?;
    writer.finish_rows()?;
    Ok(GraphStore::of_sections(writer.sections.into_sections()?)?.graph)
}

impl Execution {
    /// The graph without some of its edges. One in a file stays in a file if edges are read from it in every hop.
    pub fn without(&self, graph: &Graph, hidden: &[[u32; 2]]) -> Result<Graph> {
        match &self.graph_in {
            Some(folder) if graph.is_stored() && self.panels.reads_edges => stored_without(graph, hidden, folder),
            _ => Ok(graph.without_edges(hidden)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeds::{Purpose, Seeds};
    use nigh_formats::records::{RecordColumn, Records};

    fn loaded(path: &Path) -> Dataset {
        Dataset::from_files(path, &InputFiles::default()).unwrap()
    }

    fn same(a: &Dataset, b: &Dataset) -> bool {
        a.samples[0].graph.digest() == b.samples[0].graph.digest() && a.samples[0].ids == b.samples[0].ids
    }

    /// Repetitions, self loops and holes in the numbers of nodes, over several buckets.
    fn edges(seed: u64, holes: bool) -> Vec<[u32; 2]> {
        let mut rng = Seeds::new(seed).rng(Purpose::Generate, &[]);
        let end = |at: usize| if holes { 3 * at as u32 + 5 } else { at as u32 };
        (0..30_000).map(|_| [end(rng.below(12_000)), end(rng.below(12_000) / (1 + rng.below(50)))]).collect()
    }

    #[test]
    fn edges_that_waited_in_a_file_give_the_graph_of_those_in_memory() {
        let folder = tempfile::tempdir().unwrap();
        let (text, parquet) = (folder.path().join("x.csv"), folder.path().join("x.parquet"));
        let out = folder.path().join("x.nigh");
        for (holes, weighted) in [(false, false), (true, false), (false, true), (true, true)] {
            let edges = edges(1, holes);
            let weight = |at: usize| (1 + at % 7) as f32 / 4.0;
            let row = |(at, [a, b]): (usize, &[u32; 2])| match weighted {
                true => format!("{a},{b},{}\n", weight(at)),
                false => format!("{a},{b}\n"),
            };
            let header = if weighted { "source,target,weight\n" } else { "source,target\n" };
            std::fs::write(&text, header.to_string() + &edges.iter().enumerate().map(row).collect::<String>()).unwrap();
            let end = |end: usize| RecordColumn::from_integers(edges.iter().map(move |edge| i64::from(edge[end])));
            let mut records = Records::default().with("source", end(0)).with("target", end(1));
            if weighted {
                let weights = (0..edges.len()).map(weight).collect();
                records = records.with("weight", RecordColumn::Numbers(weights));
            }
            records.write(&parquet).unwrap();
            for (path, bytes) in [(&text, 100_000), (&parquet, 100_000), (&text, 1 << 30)] {
                let spill = Spill { folder: folder.path().to_path_buf(), bytes };
                let (stored, notes) = convert(path, &InputFiles::default(), &out, &spill, 50_000).unwrap();
                let expected = loaded(path);
                assert!(same(&loaded(&out), &expected), "{path:?} {holes} {weighted}");
                assert_eq!(Some(stored.cleaning), expected.cleaning);
                assert_eq!(notes, expected.notes);
                assert_eq!(stored.num_bytes, out.metadata().unwrap().len());
            }
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3, "nothing else is left");
    }

    #[test]
    fn two_nodes_of_one_name_and_nodes_without_a_name_are_neither_written_nor_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.nigh");
        let named = |names: [&str; 3]| {
            let mut dataset = Dataset::from_graph("x", Graph::from_edges(3, &[[0, 1], [1, 2]]).unwrap().0);
            dataset.samples[0].ids = Ids::Names(names.iter().collect()).into();
            dataset
        };
        named(["b", "a", "c"]).store(&path).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for (names, problem) in [
            (["b", "a", "b"], "nodes 0 and 2 are both called `b`; give every node a name of its own"),
            (["b", "", "c"], "node 1 has an empty name; give every node a name of its own"),
        ] {
            let error = named(names).store(&path).unwrap_err().to_string();
            assert!(error.contains("x.nigh: can't be written: ") && error.contains(problem), "{error}");
            assert!(std::fs::read(&path).unwrap() == whole, "what was there stays");
            // As another program may write it.
            let mut writer = SectionWriter::create(&folder.path().join("y.nigh")).unwrap();
            writer.section("neighbours").unwrap();
            writer.write(&[1u32, 0, 2, 1]).unwrap();
            writer.section("offsets").unwrap();
            writer.write(&[0u64, 1, 3, 4]).unwrap();
            write_ids(&mut writer, &Ids::Names(names.iter().collect())).unwrap();
            writer.finish().unwrap();
            let read = Dataset::from_files(&folder.path().join("y.nigh"), &InputFiles::default());
            let error = read.unwrap_err().to_string();
            assert!(error.contains("y.nigh: node") && error.contains(problem), "{error}");
        }
    }
}
