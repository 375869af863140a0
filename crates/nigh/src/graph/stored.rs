//! Rows of a graph that stay in a graph file: read in stretches from the first to the last, some at any place, or all into memory.
//!
//! Everything that is read was compared with its checksum, and is checked as far as the code that uses it relies on it: offsets ascend
//! and neighbours exist. So a file that changes while it is in use is an error, never a panic or another result.

use super::Arrays;
use nigh_formats::interrupt::fail;
use nigh_formats::sections::{BLOCK, Numbers, Plain, Section};
use nigh_formats::{Error, Result};
use std::ops::{Deref, Range};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Offsets that are read at a time.
const OFFSETS: usize = 1 << 16;

#[derive(Debug)]
pub(crate) struct StoredRows {
    offsets: Section<usize>,
    neighbours: Section<u32>,
    weights: Option<Section<f32>>,
    offset_blocks: BlockCache<usize>,
    neighbour_blocks: BlockCache<u32>,
    weight_blocks: BlockCache<f32>,
    /// Whether all neighbours exist. Their checksums are known since, so that it stays true.
    is_checked: AtomicBool,
    /// All of it, once somebody needed it.
    loaded: OnceLock<Arrays>,
}

/// Rows in memory: offsets from zero on, neighbours and weights.
pub(crate) type RowArrays = (Vec<usize>, Vec<u32>, Option<Vec<f32>>);

/// Consecutive rows of a graph.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows<'a> {
    /// The number of the first of them.
    pub first: usize,
    /// Where each row starts in `neighbours`, and the end of the last.
    pub offsets: &'a [usize],
    pub neighbours: &'a [u32],
    pub weights: Option<&'a [f32]>,
}

impl<'a> Rows<'a> {
    pub fn range(&self) -> Range<usize> {
        self.first..self.first + self.offsets.len() - 1
    }

    /// As [`Graph::neighbours`](super::Graph::neighbours), for one of these rows.
    pub fn neighbours(&self, row: usize) -> &'a [u32] {
        &self.neighbours[self.entries(row)]
    }

    /// As [`Graph::weights`](super::Graph::weights), for one of these rows.
    pub fn weights(&self, row: usize) -> Option<&'a [f32]> {
        self.weights.map(|weights| &weights[self.entries(row)])
    }

    fn entries(&self, row: usize) -> Range<usize> {
        self.offsets[row - self.first]..self.offsets[row - self.first + 1]
    }
}

/// Rows that were read together.
#[derive(Debug, Default)]
struct Stretch {
    first: usize,
    offsets: Vec<usize>,
    neighbours: Numbers<u32>,
    weights: Option<Numbers<f32>>,
}

impl StoredRows {
    pub fn new(offsets: Section<usize>, neighbours: Section<u32>, weights: Option<Section<f32>>) -> StoredRows {
        StoredRows {
            offsets,
            neighbours,
            weights,
            offset_blocks: BlockCache::new(),
            neighbour_blocks: BlockCache::new(),
            weight_blocks: BlockCache::new(),
            is_checked: AtomicBool::new(false),
            loaded: OnceLock::new(),
        }
    }

    pub fn num_nodes(&self) -> usize {
        self.offsets.len() - 1
    }

    pub fn num_entries(&self) -> usize {
        self.neighbours.len()
    }

    pub fn is_weighted(&self) -> bool {
        self.weights.is_some()
    }

    pub fn offsets(&self) -> &Section<usize> {
        &self.offsets
    }

    pub fn neighbours(&self) -> &Section<u32> {
        &self.neighbours
    }

    pub fn weights(&self) -> Option<&Section<f32>> {
        self.weights.as_ref()
    }

    pub fn wrong(&self, problem: impl Into<String>) -> Error {
        Error::file(self.offsets.path(), problem)
    }

    /// What is in memory, if all of it is.
    pub fn loaded(&self) -> Option<&Arrays> {
        self.loaded.get()
    }

    /// Reads all of it into memory, where it stays.
    pub fn load(&self) -> Result<&Arrays> {
        if self.loaded().is_none() {
            let arrays = self.read_all()?;
            // If two threads read it, both have the same.
            let _ = self.loaded.set(arrays);
        }
        Ok(self.loaded().expect("it was read"))
    }

    /// As [`StoredRows::load`], once, for callers that can't return an error.
    pub fn demand(&self) -> &Arrays {
        self.loaded.get_or_init(|| self.read_all().unwrap_or_else(|error| fail(error)))
    }

    pub fn into_arrays(mut self) -> Result<Arrays> {
        self.loaded.take().map_or_else(|| self.read_all(), Ok)
    }

    /// A copy in memory.
    pub fn read_all(&self) -> Result<Arrays> {
        let offsets = self.offsets.read_all()?;
        self.check_offsets(0, &offsets)?;
        if offsets.first() != Some(&0) || offsets.last() != Some(&self.num_entries()) {
            return Err(self.unfitting());
        }
        let neighbours = self.neighbours.read_all()?;
        self.check_neighbours(&neighbours)?;
        let weights = self.weights.as_ref().map(Section::read_all).transpose()?;
        Ok(Arrays { offsets, neighbours, weights })
    }

    /// Some rows: offsets from zero on, neighbours and weights.
    pub fn read_rows(&self, rows: Range<usize>) -> Result<RowArrays> {
        let offsets = self.offsets.read(rows.start..rows.end + 1)?;
        self.check_offsets(rows.start, &offsets)?;
        let entries = offsets[0]..offsets[rows.len()];
        let neighbours = self.neighbours.read(entries.clone())?.to_vec();
        self.check_neighbours(&neighbours)?;
        let weights = self.weights.as_ref().map(|weights| weights.read(entries.clone())).transpose()?;
        let own = offsets.iter().map(|end| end - entries.start).collect();
        Ok((own, neighbours, weights.map(|weights| weights.to_vec())))
    }

    fn unfitting(&self) -> Error {
        let (offsets, ends) = (self.offsets.len(), self.num_entries());
        self.wrong(format!("has {offsets} offsets that do not fit {ends} neighbours"))
    }

    /// Whether the first and the last offset fit, as far as can be told without reading everything.
    pub fn check_ends(&self) -> Result<()> {
        let n = self.num_nodes();
        let (first, last) = (self.offsets.read(0..1)?[0], self.offsets.read(n..n + 1)?[0]);
        if first == 0 && last == self.num_entries() { Ok(()) } else { Err(self.unfitting()) }
    }

    /// Offsets of the rows from `first` on.
    fn check_offsets(&self, first: usize, offsets: &[usize]) -> Result<()> {
        let ends = self.num_entries();
        match offsets.windows(2).position(|pair| pair[0] > pair[1]) {
            None if offsets.last().is_none_or(|&last| last <= ends) => Ok(()),
            at => {
                let node = first + at.unwrap_or(offsets.len() - 1);
                Err(self.wrong(format!("offsets of node {node} do not ascend to {ends} neighbours")))
            }
        }
    }

    fn check_neighbours(&self, neighbours: &[u32]) -> Result<()> {
        let n = self.num_nodes();
        if self.is_checked.load(Ordering::Relaxed) {
            return Ok(());
        }
        match neighbours.iter().copied().max() {
            Some(largest) if largest as usize >= n => {
                Err(self.wrong(format!("has a link to node {largest}; neighbours exceed the {n} nodes")))
            }
            _ => Ok(()),
        }
    }

    /// Hands over all rows in order, in stretches of about so many entries. A thread reads the next stretch meanwhile.
    pub fn each_stretch<E: From<Error>>(
        &self,
        entries: usize,
        mut work: impl FnMut(Rows<'_>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let mut reader = StretchReader::new(self, entries);
        std::thread::scope(|scope| {
            let (filled, to_use) = sync_channel::<Result<Stretch>>(0);
            let (used, to_fill) = channel::<Stretch>();
            let read_ahead = move || {
                for mut stretch in to_fill {
                    let read = match reader.read(&mut stretch) {
                        Ok(false) => return,
                        Ok(true) => Ok(stretch),
                        Err(error) => Err(error),
                    };
                    // The other end is gone after an error.
                    if filled.send(read).is_err() {
                        return;
                    }
                }
            };
            let thread = std::thread::Builder::new().name("nigh-reader".into()).stack_size(1 << 18);
            if thread.spawn_scoped(scope, read_ahead).is_err() {
                // The system has no thread to spare.
                let (mut reader, mut stretch) = (StretchReader::new(self, entries), Stretch::default());
                while reader.read(&mut stretch)? {
                    work(stretch.rows())?;
                }
                return Ok(());
            }
            // One that is used, and one that is read.
            for _ in 0..2 {
                let _ = used.send(Stretch::default());
            }
            for stretch in to_use {
                let stretch = stretch?;
                work(stretch.rows())?;
                let _ = used.send(stretch);
            }
            Ok(())
        })
    }

    /// The number of neighbours of each node in order, some nodes at a time. Reads offsets alone.
    pub fn each_degree(&self, mut take: impl FnMut(usize, usize)) -> Result<()> {
        for first in (0..self.num_nodes()).step_by(OFFSETS) {
            nigh_formats::interrupt::check();
            let offsets = self.offsets.read(first..(first + OFFSETS).min(self.num_nodes()) + 1)?;
            self.check_offsets(first, &offsets)?;
            (first..).zip(offsets.windows(2)).for_each(|(node, ends)| take(node, ends[1] - ends[0]));
        }
        Ok(())
    }

    /// Where the entries of a row are.
    pub fn entries(&self, row: usize) -> Range<usize> {
        let offset = |at: usize| {
            let (block, place) = (at / OFFSETS_PER_BLOCK, at % OFFSETS_PER_BLOCK);
            self.offset_blocks.block(&self.offsets, block, |_| Ok(()))[place]
        };
        let entries = offset(row)..offset(row + 1);
        if entries.start > entries.end || entries.end > self.num_entries() {
            fail(self.wrong(format!("offsets of node {row} do not ascend to {} neighbours", self.num_entries())));
        }
        entries
    }

    /// Some neighbours, by their places in the section.
    pub fn neighbours_at(&self, places: Range<usize>) -> Entries<'_, u32> {
        self.neighbour_blocks.entries(&self.neighbours, places, |numbers| self.check_neighbours(numbers))
    }

    /// Some weights, by their places in the section.
    pub fn weights_at(&self, places: Range<usize>) -> Option<Entries<'_, f32>> {
        Some(self.weight_blocks.entries(self.weights.as_ref()?, places, |_| Ok(())))
    }

    /// How many of these neighbours of a node are before `node`. Of a long row, only some blocks are read.
    pub fn count_below(&self, places: Range<usize>, node: u32) -> usize {
        let (mut low, mut high) = (places.start, places.end);
        while low / NEIGHBOURS_PER_BLOCK != high.saturating_sub(1) / NEIGHBOURS_PER_BLOCK && low < high {
            let middle = (low.midpoint(high) / NEIGHBOURS_PER_BLOCK * NEIGHBOURS_PER_BLOCK).max(low);
            let end = (middle + NEIGHBOURS_PER_BLOCK - middle % NEIGHBOURS_PER_BLOCK).min(high);
            let block = self.neighbours_at(middle..end);
            match block.partition_point(|&neighbour| neighbour < node) {
                0 if middle > low => high = middle,
                count if count == block.len() => low = end,
                count => return middle + count - places.start,
            }
        }
        match low < high {
            true => low + self.neighbours_at(low..high).partition_point(|&neighbour| neighbour < node) - places.start,
            false => low - places.start,
        }
    }
}

const OFFSETS_PER_BLOCK: usize = BLOCK / size_of::<usize>();
const NEIGHBOURS_PER_BLOCK: usize = BLOCK / size_of::<u32>();

/// Reads one stretch after the other.
struct StretchReader<'a> {
    rows: &'a StoredRows,
    entries: usize,
    /// The next row, and where it starts.
    next: usize,
    start: usize,
    /// Offsets that were read, from this one on.
    offsets: Numbers<usize>,
    offsets_first: usize,
}

impl<'a> StretchReader<'a> {
    fn new(rows: &'a StoredRows, entries: usize) -> StretchReader<'a> {
        StretchReader { rows, entries, next: 0, start: 0, offsets: Numbers::default(), offsets_first: 0 }
    }

    /// Reads the next rows. Returns whether there are any.
    fn read(&mut self, into: &mut Stretch) -> Result<bool> {
        let (rows, n) = (self.rows, self.rows.num_nodes());
        into.first = self.next;
        into.offsets.clear();
        into.offsets.push(0);
        let mut end = self.start;
        // A row takes an offset of the size of two neighbours.
        while self.next < n && end - self.start + 2 * (self.next - into.first) < self.entries {
            let offset = self.offset(self.next + 1)?;
            if offset < end || offset > rows.num_entries() {
                let problem =
                    format!("offsets of node {} do not ascend to {} neighbours", self.next, rows.num_entries());
                return Err(rows.wrong(problem));
            }
            end = offset;
            self.next += 1;
            into.offsets.push(end - self.start);
        }
        if self.next == into.first {
            return Ok(false);
        }
        if self.next == n && end != rows.num_entries() {
            return Err(rows.unfitting());
        }
        rows.neighbours.read_into(self.start..end, &mut into.neighbours)?;
        rows.check_neighbours(&into.neighbours)?;
        if let Some(weights) = &rows.weights {
            weights.read_into(self.start..end, into.weights.get_or_insert_default())?;
        }
        self.start = end;
        if self.next == n {
            rows.is_checked.store(true, Ordering::Relaxed);
        }
        Ok(true)
    }

    fn offset(&mut self, at: usize) -> Result<usize> {
        if self.offsets.is_empty() {
            let first = self.rows.offsets.read(0..1)?;
            if first[0] != 0 {
                return Err(self.rows.unfitting());
            }
        }
        if !(self.offsets_first..self.offsets_first + self.offsets.len()).contains(&at) {
            let end = (at + OFFSETS).min(self.rows.offsets.len());
            self.rows.offsets.read_into(at..end, &mut self.offsets)?;
            self.offsets_first = at;
        }
        Ok(self.offsets[at - self.offsets_first])
    }
}

impl Stretch {
    fn rows(&self) -> Rows<'_> {
        let Stretch { first, offsets, neighbours, weights } = self;
        Rows { first: *first, offsets, neighbours, weights: weights.as_deref() }
    }
}

/// The blocks of a section that were read last, a few megabytes of them.
struct BlockCache<T>(Box<[Slot<T>]>);

/// The block with this number.
type Slot<T> = Mutex<Option<(usize, Arc<Numbers<T>>)>>;

/// Each block has its place in the cache.
const SLOTS: usize = 256;

impl<T> std::fmt::Debug for BlockCache<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BlockCache({SLOTS})")
    }
}

impl<T: Plain> BlockCache<T> {
    const PER_BLOCK: usize = BLOCK / size_of::<T>();

    fn new() -> BlockCache<T> {
        BlockCache((0..SLOTS).map(|_| Mutex::default()).collect())
    }

    /// A block, which is checked when it is read.
    fn block(&self, section: &Section<T>, number: usize, check: impl FnOnce(&[T]) -> Result<()>) -> Arc<Numbers<T>> {
        let slot = || self.0[number % SLOTS].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, block)) = slot().as_ref().filter(|known| known.0 == number) {
            return block.clone();
        }
        let first = number * Self::PER_BLOCK;
        let read = section.read(first..(first + Self::PER_BLOCK).min(section.len()));
        let block = match read.and_then(|block| check(&block).map(|()| block)) {
            Ok(block) => Arc::new(block),
            Err(error) => fail(error),
        };
        *slot() = Some((number, block.clone()));
        block
    }

    /// Some numbers: of a block in the cache, or read on their own if they are in several.
    fn entries(
        &self,
        section: &Section<T>,
        places: Range<usize>,
        check: impl FnOnce(&[T]) -> Result<()>,
    ) -> Entries<'static, T> {
        if places.is_empty() {
            return Entries::InMemory(&[]);
        }
        let number = places.start / Self::PER_BLOCK;
        if (places.end - 1) / Self::PER_BLOCK == number {
            let first = number * Self::PER_BLOCK;
            return Entries::OfBlock(self.block(section, number, check), places.start - first..places.end - first);
        }
        match section.read(places).and_then(|numbers| check(&numbers).map(|()| numbers)) {
            Ok(numbers) => Entries::Read(numbers),
            Err(error) => fail(error),
        }
    }
}

/// Entries of a row, wherever they are.
pub(crate) enum Entries<'a, T> {
    InMemory(&'a [T]),
    OfBlock(Arc<Numbers<T>>, Range<usize>),
    Read(Numbers<T>),
}

impl<T> Deref for Entries<'_, T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Entries::InMemory(numbers) => numbers,
            Entries::OfBlock(block, places) => &block[places.clone()],
            Entries::Read(numbers) => numbers,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::dataset::{Dataset, GraphStore};
    use crate::graph::Graph;
    use std::path::Path;

    /// A hub whose row is longer than a block, and rows across the ends of blocks.
    fn graph(weighted: bool) -> Graph {
        let hub = (1..13_000u32).map(|leaf| [5_000, if leaf == 5_000 { 0 } else { leaf }]);
        let edges: Vec<[u32; 2]> = hub.chain((0..40_000).map(|at| [at % 12_999, at * 7 % 13_001 % 13_000])).collect();
        let weights: Vec<f32> = (0..edges.len()).map(|at| 0.5 + (at % 9) as f32).collect();
        let graph = match weighted {
            true => Graph::from_weighted_edges(13_010, &edges, &weights),
            false => Graph::from_edges(13_010, &edges),
        };
        graph.unwrap().0
    }

    fn stored(graph: &Graph, path: &Path) -> Graph {
        Dataset::from_graph("x", graph.clone()).store(path).unwrap();
        GraphStore::open(path).unwrap().graph().clone()
    }

    #[test]
    fn rows_are_the_same_from_a_file_however_they_are_read() {
        let folder = tempfile::tempdir().unwrap();
        for weighted in [false, true] {
            let graph = graph(weighted);
            let stored = stored(&graph, &folder.path().join("x.nigh"));
            stored.verify().unwrap();
            for entries in [1, 1_000, 20_000, 1 << 30] {
                let mut next = 0;
                stored.for_each_stretch(entries, |rows| {
                    assert_eq!(rows.first, next);
                    for row in rows.range() {
                        assert_eq!(
                            (rows.neighbours(row), rows.weights(row)),
                            (graph.neighbours(row), graph.weights(row))
                        );
                    }
                    next = rows.range().end;
                });
                assert_eq!(next, graph.num_nodes());
            }
            let (lookup, expected) = (stored.lookup(), graph.lookup());
            for row in (0..13_010).step_by(3).chain([5_000]) {
                let places = lookup.entries(row);
                assert_eq!((places.clone(), stored.degree(row)), (expected.entries(row), graph.degree(row)));
                assert_eq!(*lookup.neighbours(row), *graph.neighbours(row));
                assert_eq!(lookup.weights_at(places.clone()).as_deref(), graph.weights(row));
                for node in [0, 1, 4_999, 5_000, 6_000, 12_999, 13_009] {
                    let below = lookup.count_below(places.clone(), node);
                    assert_eq!(below, expected.count_below(places.clone(), node), "{row} {node}");
                    assert_eq!(stored.has_edge(row as u32, node), graph.has_edge(row as u32, node));
                }
            }
            assert!((0..13_000).all(|node| lookup.count_below(lookup.entries(5_000), node)
                == expected.count_below(expected.entries(5_000), node)));
            assert_eq!(stored.read_rows(4_990..5_010).unwrap(), graph.read_rows(4_990..5_010).unwrap());
            assert_eq!((stored.max_degree(), stored.digest()), (graph.max_degree(), graph.digest()));
            assert!(stored.held().is_err(), "nothing so far needs all of it in memory");
            assert_eq!(stored, graph);
            assert!(stored.held().is_ok());
        }
    }

    #[test]
    fn a_graph_in_a_file_is_written_again_without_being_in_memory() {
        let folder = tempfile::tempdir().unwrap();
        let [one, two] = ["x.nigh", "y.nigh"].map(|name| folder.path().join(name));
        for weighted in [false, true] {
            let stored = stored(&graph(weighted), &one);
            Dataset::from_graph("x", stored.clone()).store(&two).unwrap();
            assert!(stored.held().is_err());
            assert_eq!(std::fs::read(&one).unwrap(), std::fs::read(&two).unwrap());
        }
    }
}
