//! From a list of edges to compressed sparse rows.
//!
//! Edges come in any order, and rows are scattered over memory: writing each neighbour to its row at once takes longer than
//! reading the file. So every edge is first appended, once for each end, to the bucket that holds the row of that end. The
//! rows of a bucket fit the cache of a core, where they are counted, filled, sorted and cleaned.

use super::spill::{Entries, Part, Spill, Spilled, entry_bytes};
use super::{Arrays, Cleaning, Graph};
use crate::error::{Error, GraphProblem, Result};
use crate::linalg::sort::sort_rows;
use crate::threads;
use nigh_formats::memory::prefer_large_pages;
use rayon::prelude::*;
use std::ops::Range;

/// Rows of a bucket, as a power of two.
const SHIFT: u32 = 13;
const ROWS: usize = 1 << SHIFT;
/// Entries by which a bucket grows.
const CHUNK: usize = 1 << 12;
/// Entries per allocation.
const SLAB: usize = 1 << 20;

/// Edges, sorted into buckets by their ends. Every thread fills one of its own.
#[derive(Debug, Default)]
pub(crate) struct Edges {
    buckets: Vec<Bucket>,
    /// Where the next entry of each bucket goes; a multiple of `CHUNK` if there is no room. Separate from the rest, which
    /// is rarely needed, so that all of these stay in the nearest cache.
    next: Vec<usize>,
    slabs: Vec<Slab>,
    num_chunks: usize,
    weighted: bool,
    /// What did not fit, if there is a limit.
    spilled: Option<Spilled>,
}

/// The entries of consecutive rows.
#[derive(Debug, Default)]
struct Bucket {
    /// Numbers of its chunks, all of which but the last are full.
    chunks: Vec<u32>,
}

/// Storage of entries: the row within the bucket; twice the neighbour, plus one for the reverse direction; and the weight, if
/// edges have any.
#[derive(Debug)]
struct Slab {
    rows: Vec<u16>,
    neighbours: Vec<u32>,
    weights: Vec<f32>,
}

impl Slab {
    fn new(first: bool, weighted: bool) -> Slab {
        let weights = vec![0.0; if weighted { SLAB } else { 0 }];
        let mut slab = Slab { rows: vec![0; SLAB], neighbours: vec![0; SLAB], weights };
        // Small graphs use only the start of their first.
        if !first {
            prefer_large_pages(&mut slab.rows);
            prefer_large_pages(&mut slab.neighbours);
        }
        slab
    }
}

impl Edges {
    /// Ends have to stay below this.
    pub const LIMIT: usize = 1 << 31;

    /// Empty; every edge will have a weight, or none.
    pub fn new(weighted: bool) -> Edges {
        Edges { weighted, ..Edges::default() }
    }

    /// As `new`; what exceeds a limit waits in a file.
    pub fn spilling(weighted: bool, spill: Option<&Spill>) -> Edges {
        Edges { spilled: spill.map(|spill| Spilled::new(spill, weighted)), ..Edges::new(weighted) }
    }

    /// Adds an edge as it is listed.
    #[inline(always)]
    pub fn push(&mut self, [a, b]: [u32; 2]) {
        self.put(a, b << 1);
        // A self loop is kept once, to be counted.
        if a != b {
            self.put(b, a << 1 | 1);
        }
    }

    /// As `push`, with a weight.
    pub fn push_weighted(&mut self, [a, b]: [u32; 2], weight: f32) {
        debug_assert!(self.weighted, "either all edges have a weight or none has");
        let place = self.put(a, b << 1);
        self.slabs[place / SLAB].weights[place % SLAB] = weight;
        if a != b {
            let place = self.put(b, a << 1 | 1);
            self.slabs[place / SLAB].weights[place % SLAB] = weight;
        }
    }

    /// Adds what is known of an edge at one of its ends: twice the other end, plus one for the reverse direction.
    pub fn push_entry(&mut self, row: u32, entry: u32, weight: Option<f32>) {
        let place = self.put(row, entry);
        if let Some(weight) = weight {
            self.slabs[place / SLAB].weights[place % SLAB] = weight;
        }
    }

    /// Returns the place of the entry.
    #[inline(always)]
    fn put(&mut self, row: u32, neighbour: u32) -> usize {
        let bucket = (row >> SHIFT) as usize;
        let mut next = self.next.get(bucket).copied().unwrap_or(0);
        if next % CHUNK == 0 {
            next = self.new_chunk(bucket);
        }
        let slab = &mut self.slabs[next / SLAB];
        slab.rows[next % SLAB] = row as u16 % ROWS as u16;
        slab.neighbours[next % SLAB] = neighbour;
        self.next[bucket] = next + 1;
        next
    }

    /// Adds a chunk to a bucket.
    #[cold]
    fn new_chunk(&mut self, bucket: usize) -> usize {
        if self.spilled.as_ref().is_some_and(|spilled| spilled.is_due(self.num_chunks * CHUNK)) {
            self.spill();
        }
        if bucket >= self.buckets.len() {
            self.buckets.resize_with(bucket + 1, Bucket::default);
            self.next.resize(bucket + 1, 0);
        }
        if self.num_chunks * CHUNK == self.slabs.len() * SLAB {
            self.slabs.push(Slab::new(self.slabs.is_empty(), self.weighted));
        }
        self.buckets[bucket].chunks.push(self.num_chunks as u32);
        self.num_chunks += 1;
        (self.num_chunks - 1) * CHUNK
    }

    /// Writes all entries to the file, and keeps the storage.
    fn spill(&mut self) {
        if let Some(mut spilled) = self.spilled.take() {
            spilled.write((0..self.buckets.len()).map(|bucket| self.parts(bucket)));
            self.spilled = Some(spilled);
        }
        self.buckets.iter_mut().for_each(|bucket| bucket.chunks.clear());
        self.next.fill(0);
        self.num_chunks = 0;
    }

    /// An upper bound for the largest number of an end, plus one.
    pub fn span(&self) -> usize {
        self.num_buckets() << SHIFT
    }

    fn num_buckets(&self) -> usize {
        self.spilled.as_ref().map_or(0, Spilled::num_buckets).max(self.buckets.len())
    }

    /// Gives the memory back, if there is a file; errors of that are returned here.
    pub fn settle(&mut self) -> Result<()> {
        if self.spilled.as_ref().is_some_and(|spilled| spilled.num_buckets() > 0) {
            self.spill();
            self.slabs = Vec::new();
        }
        self.spilled.as_mut().map_or(Ok(()), Spilled::check)
    }

    /// How many entries of a bucket are in memory.
    fn len_here(&self, bucket: usize) -> usize {
        match self.buckets.get(bucket).map_or(&[][..], |bucket| &bucket.chunks) {
            [] => 0,
            [full @ .., last] => full.len() * CHUNK + self.next[bucket] - *last as usize * CHUNK,
        }
    }

    /// How many entries a bucket has.
    fn len(&self, bucket: usize) -> usize {
        self.len_here(bucket) + self.spilled.as_ref().map_or(0, |spilled| spilled.len(bucket))
    }

    /// What of a bucket is in memory, some at a time.
    fn parts(&self, bucket: usize) -> impl Iterator<Item = Part<'_>> + Clone {
        let count = self.len_here(bucket);
        self.buckets.get(bucket).into_iter().flat_map(move |bucket| {
            bucket.chunks.iter().enumerate().map(move |(at, &chunk)| {
                let (start, len) = (chunk as usize * CHUNK, CHUNK.min(count - at * CHUNK));
                let (slab, start) = (&self.slabs[start / SLAB], start % SLAB);
                let weights = if self.weighted { &slab.weights[start..start + len] } else { &[] };
                (&slab.rows[start..start + len], &slab.neighbours[start..start + len], weights)
            })
        })
    }

    /// What of a bucket is in the file.
    fn entries(&self, bucket: usize, rows_alone: bool) -> Result<Entries> {
        let mut entries = Entries::default();
        if let Some(spilled) = &self.spilled {
            spilled.read(bucket, rows_alone, &mut entries).map_err(Error::io(spilled.folder()))?;
        }
        Ok(entries)
    }
}

/// One more than the largest end, rounded up to whole buckets.
fn span(edges: &[Edges]) -> usize {
    edges.iter().map(Edges::span).max().unwrap_or(0)
}

/// Builds the graph on `num_nodes` nodes, which all ends are below.
pub(crate) fn build(num_nodes: usize, edges: Vec<Edges>) -> Result<(Graph, Cleaning)> {
    build_marked(num_nodes, edges).map(|(graph, cleaning, _)| (graph, cleaning))
}

/// Builds the graph on those nodes that edges mention, and lists them, ascending.
pub(crate) fn build_mentioned(edges: Vec<Edges>) -> Result<(Graph, Cleaning, Vec<u32>)> {
    let (graph, cleaning, marks) = build_marked(span(&edges), edges)?;
    let Arrays { mut offsets, mut neighbours, weights } = graph.into_arrays();
    let mentioned: Vec<u32> = (0..).zip(&marks).filter_map(|(node, &there)| there.then_some(node)).collect();
    let count = mentioned.len();
    if mentioned.last().is_some_and(|&last| last as usize >= count) {
        let mut numbers = vec![0; marks.len()];
        (0..).zip(&mentioned).for_each(|(number, &node)| numbers[node as usize] = number);
        neighbours.par_iter_mut().for_each(|neighbour| *neighbour = numbers[*neighbour as usize]);
        offsets = mentioned.iter().map(|&node| offsets[node as usize]).collect();
        offsets.push(neighbours.len());
    }
    offsets.truncate(count + 1);
    Ok((Graph::from_vecs(offsets, neighbours, weights), cleaning, mentioned))
}

/// Consecutive rows, as a graph file stores them.
#[derive(Debug, Default)]
pub(crate) struct RowBlock {
    pub lengths: Vec<u32>,
    pub neighbours: Vec<u32>,
    pub weights: Vec<f32>,
}

/// As `build_mentioned`, within about `memory` bytes: rows are handed over in order, some at a time, and the nodes that edges
/// mention are returned.
pub(crate) fn build_in_pieces(
    mut edges: Vec<Edges>,
    memory: usize,
    mut take: impl FnMut(RowBlock) -> Result<()>,
) -> Result<(Mentioned, Cleaning)> {
    edges.iter_mut().try_for_each(Edges::settle)?;
    let num_buckets = span(&edges) >> SHIFT;
    let marks = |bucket: usize| -> Result<Vec<u64>> {
        let mut words = vec![0; ROWS / 64];
        let mut mark = |rows: &[u16]| rows.iter().for_each(|row| words[*row as usize / 64] |= 1 << (row % 64));
        for edges in &edges {
            edges.parts(bucket).for_each(|part| mark(part.0));
            mark(&edges.entries(bucket, true)?.rows);
        }
        Ok(words)
    };
    let words = (0..num_buckets).into_par_iter().map(marks).collect::<Result<Vec<_>>>()?;
    let mentioned = Mentioned::new(words.into_iter().flatten().collect());
    let lengths: Vec<usize> =
        (0..num_buckets).map(|bucket| edges.iter().map(|edges| edges.len(bucket)).sum()).collect();
    let weighted = edges.iter().any(|edges| edges.weighted);
    // An entry as it was read, and as it is sorted.
    let entry = 2 * entry_bytes(weighted);
    let mut cleaning = Cleaning::default();
    let mut first = 0;
    while first < num_buckets {
        threads::check();
        let (mut end, mut bytes) = (first + 1, lengths[first] * entry);
        while end < num_buckets && bytes + lengths[end] * entry <= memory {
            bytes += lengths[end] * entry;
            end += 1;
        }
        let piece = |bucket: usize| -> Result<(RowBlock, Cleaning)> {
            let mut neighbours = vec![0; lengths[bucket]];
            let mut weights = vec![0.0; if weighted { lengths[bucket] } else { 0 }];
            let read = edges.iter().map(|edges| edges.entries(bucket, false)).collect::<Result<Vec<_>>>()?;
            let read = read.iter().map(|entries| (&entries.rows[..], &entries.neighbours[..], &entries.weights[..]));
            let parts = edges.iter().flat_map(|edges| edges.parts(bucket)).chain(read).collect::<Vec<_>>();
            let rows = Rows::fill(bucket, &parts, &mut neighbours, &mut weights);
            neighbours.truncate(rows.kept);
            weights.truncate(rows.kept);
            neighbours.iter_mut().for_each(|neighbour| *neighbour = mentioned.number(*neighbour));
            let lengths = rows.lengths.iter().zip(rows.marks).filter_map(|(&length, there)| there.then_some(length));
            Ok((RowBlock { lengths: lengths.collect(), neighbours, weights }, rows.cleaning))
        };
        for (block, cleaned) in (first..end).into_par_iter().map(piece).collect::<Result<Vec<_>>>()? {
            cleaning.add(cleaned);
            take(block)?;
        }
        first = end;
    }
    Ok((mentioned, cleaning))
}

/// Some consecutive rows, sorted and cleaned as those of a whole graph are. All entries are of these rows.
pub(crate) fn build_rows(edges: &[Edges], rows: Range<usize>) -> (RowBlock, Cleaning) {
    let weighted = edges.iter().any(|edges| edges.weighted);
    let piece = |bucket: usize| {
        threads::check();
        let length = edges.iter().map(|edges| edges.len(bucket)).sum();
        let (mut neighbours, mut weights) = (vec![0; length], vec![0.0; if weighted { length } else { 0 }]);
        let parts = edges.iter().flat_map(|edges| edges.parts(bucket)).collect::<Vec<_>>();
        let filled = Rows::fill(bucket, &parts, &mut neighbours, &mut weights);
        neighbours.truncate(filled.kept);
        weights.truncate(filled.kept);
        let first = rows.start.max(bucket << SHIFT) - (bucket << SHIFT);
        let end = rows.end.min((bucket + 1) << SHIFT) - (bucket << SHIFT);
        (RowBlock { lengths: filled.lengths[first..end].to_vec(), neighbours, weights }, filled.cleaning)
    };
    let buckets = rows.start >> SHIFT..rows.end.div_ceil(ROWS);
    let pieces: Vec<_> = buckets.into_par_iter().map(piece).collect();
    let (mut block, mut cleaning) = (RowBlock::default(), Cleaning::default());
    for (piece, cleaned) in pieces {
        block.lengths.extend(piece.lengths);
        block.neighbours.extend(piece.neighbours);
        block.weights.extend(piece.weights);
        cleaning.add(cleaned);
    }
    (block, cleaning)
}

/// The numbers that edges mention, and the place of each among them.
#[derive(Debug)]
pub(crate) struct Mentioned {
    words: Vec<u64>,
    /// How many are mentioned before each word.
    before: Vec<u32>,
    count: usize,
}

impl Mentioned {
    fn new(words: Vec<u64>) -> Mentioned {
        let mut count = 0;
        let mut before = Vec::with_capacity(words.len());
        for word in &words {
            before.push(count);
            count += word.count_ones();
        }
        Mentioned { words, before, count: count as usize }
    }

    #[inline]
    fn number(&self, id: u32) -> u32 {
        let (word, bit) = (id as usize / 64, id % 64);
        self.before[word] + (self.words[word] & ((1 << bit) - 1)).count_ones()
    }

    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether they are `0`, `1`, ... without a gap.
    pub fn is_counted(&self) -> bool {
        self.iter().last().is_none_or(|last| last as usize + 1 == self.count)
    }

    /// In ascending order.
    pub fn iter(&self) -> impl Iterator<Item = i64> + '_ {
        self.words.iter().enumerate().flat_map(|(at, &word)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at as i64 * 64 + bit)
        })
    }
}

/// As `build`; also returns for each node whether an edge mentions it.
fn build_marked(num_nodes: usize, edges: Vec<Edges>) -> Result<(Graph, Cleaning, Vec<bool>)> {
    if num_nodes > Edges::LIMIT {
        return Err(GraphProblem::TooManyNodes { num_nodes }.into());
    }
    let weighted = edges.iter().any(|edges| edges.weighted);
    let num_buckets = num_nodes.div_ceil(ROWS).max(edges.iter().map(|edges| edges.buckets.len()).max().unwrap_or(0));
    let length = |bucket: usize| edges.iter().map(|edges| edges.len(bucket)).sum();
    let lengths: Vec<usize> = (0..num_buckets).map(length).collect();
    let mut neighbours = vec![0u32; lengths.iter().sum()];
    prefer_large_pages(&mut neighbours);
    let mut weights = vec![0f32; if weighted { neighbours.len() } else { 0 }];
    let mut jobs = Vec::with_capacity(num_buckets);
    let (mut rest, mut rest_weights) = (&mut neighbours[..], &mut weights[..]);
    for (number, &length) in lengths.iter().enumerate() {
        let (mine, after) = rest.split_at_mut(length);
        let (my_weights, after_weights) = rest_weights.split_at_mut(if weighted { length } else { 0 });
        jobs.push((number, mine, my_weights));
        (rest, rest_weights) = (after, after_weights);
    }
    let cleaned: Vec<Rows> = jobs
        .into_par_iter()
        .map(|(number, neighbours, weights)| {
            threads::check();
            let parts = edges.iter().flat_map(|edges| edges.parts(number)).collect::<Vec<_>>();
            Rows::fill(number, &parts, neighbours, weights)
        })
        .collect();
    drop(edges);

    let mut offsets = Vec::with_capacity(num_nodes + 1);
    offsets.push(0usize);
    let mut cleaning = Cleaning::default();
    let mut marks = Vec::with_capacity(num_nodes);
    let (mut kept, mut start) = (0, 0);
    for (rows, length) in cleaned.into_iter().zip(lengths) {
        threads::check();
        let left = start..start + rows.kept;
        if start != kept && !left.is_empty() {
            neighbours.copy_within(left.clone(), kept);
            if weighted {
                weights.copy_within(left, kept);
            }
        }
        for length in rows.lengths.iter().take(num_nodes + 1 - offsets.len()) {
            kept += *length as usize;
            offsets.push(kept);
        }
        start += length;
        marks.extend(rows.marks);
        cleaning.add(rows.cleaning);
    }
    offsets.resize(num_nodes + 1, kept);
    neighbours.truncate(kept);
    weights.truncate(kept);
    if start > kept + kept / 8 {
        neighbours.shrink_to_fit();
        weights.shrink_to_fit();
    }
    Ok((Graph::from_vecs(offsets, neighbours, weighted.then_some(weights)), cleaning, marks))
}

/// The rows of a bucket, sorted and cleaned.
struct Rows {
    lengths: Vec<u32>,
    /// Whether an edge mentions each.
    marks: Vec<bool>,
    kept: usize,
    cleaning: Cleaning,
}

impl Rows {
    fn fill(number: usize, parts: &[Part<'_>], neighbours: &mut [u32], weights: &mut [f32]) -> Rows {
        let mut next = vec![0u32; ROWS];
        parts.iter().flat_map(|part| part.0).for_each(|&row| next[row as usize % ROWS] += 1);
        let mut end = 0;
        for slot in &mut next {
            end += std::mem::replace(slot, end);
        }
        for (rows, entries, listed) in parts {
            for (at, (&row, &neighbour)) in rows.iter().zip(*entries).enumerate() {
                let slot = next[row as usize % ROWS] as usize;
                next[row as usize % ROWS] += 1;
                neighbours[slot] = neighbour;
                if !weights.is_empty() {
                    weights[slot] = listed[at];
                }
            }
        }

        if weights.is_empty() {
            sort_rows(neighbours, &next);
        }
        let (lengths, marks) = (Vec::with_capacity(ROWS), Vec::with_capacity(ROWS));
        let mut rows = Rows { lengths, marks, kept: 0, cleaning: Cleaning::default() };
        let (mut start, mut spare) = (0, Vec::new());
        for (row, &end) in next.iter().enumerate() {
            let node = (number << SHIFT | row) as u32;
            let range = start..end as usize;
            start = end as usize;
            rows.marks.push(!range.is_empty());
            if !weights.is_empty() {
                sort_by_weight(&mut neighbours[range.clone()], &mut weights[range.clone()], &mut spare);
            }
            let first = rows.kept;
            if is_tidy(&mut neighbours[range.clone()], node) {
                if first != range.start {
                    neighbours.copy_within(range.clone(), first);
                    if !weights.is_empty() {
                        weights.copy_within(range.clone(), first);
                    }
                }
                rows.kept += range.len();
            } else {
                rows.tidy(range, node, neighbours, weights);
            }
            rows.lengths.push((rows.kept - first) as u32);
        }
        rows
    }

    /// Takes the entries of a sorted row, each neighbour once.
    fn tidy(&mut self, range: Range<usize>, node: u32, neighbours: &mut [u32], weights: &mut [f32]) {
        // No neighbour has this number.
        let (mut last, mut ways) = (u32::MAX, 0);
        for at in range {
            let (neighbour, way) = (neighbours[at] >> 1, 1 << (neighbours[at] & 1));
            if neighbour == last {
                // Each edge is met from both its ends, and counted from one.
                let above = usize::from(neighbour > node);
                self.cleaning.duplicates += above;
                self.cleaning.both_ways += above * usize::from(ways != 3 && ways | way == 3);
                ways |= way;
            } else if neighbour == node {
                self.cleaning.self_loops += 1;
            } else {
                neighbours[self.kept] = neighbour;
                if !weights.is_empty() {
                    weights[self.kept] = weights[at];
                }
                self.kept += 1;
                (last, ways) = (neighbour, way);
            }
        }
    }
}

/// Whether a sorted row has every neighbour once and not its own node; if so, entries become neighbours.
fn is_tidy(row: &mut [u32], node: u32) -> bool {
    // Without an early exit, so that the comparisons are vectorised.
    let twice = row.windows(2).fold(false, |twice, pair| twice | (pair[0] >> 1 == pair[1] >> 1));
    let own = row.iter().fold(false, |own, entry| own | (entry >> 1 == node));
    if !twice && !own {
        row.iter_mut().for_each(|entry| *entry >>= 1);
    }
    !twice && !own
}

/// Sorts a row by neighbour; the heaviest of equal ones comes first, and the first stays.
fn sort_by_weight(neighbours: &mut [u32], weights: &mut [f32], spare: &mut Vec<(u32, f32)>) {
    spare.clear();
    spare.extend(neighbours.iter().copied().zip(weights.iter().copied()));
    spare.sort_unstable_by(|a, b| (a.0 >> 1).cmp(&(b.0 >> 1)).then(b.1.total_cmp(&a.1)).then(a.0.cmp(&b.0)));
    for (at, &(neighbour, weight)) in spare.iter().enumerate() {
        (neighbours[at], weights[at]) = (neighbour, weight);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        /// Compared with a map, over several buckets and shares.
        #[test]
        fn rows_are_those_of_a_map(
            list in prop::collection::vec((0u32..20_000, 0u32..20_000, 1u8..4), 0..200), small: bool, shares in 1usize..4,
        ) {
            let list: Vec<([u32; 2], f32)> = list.iter().map(|&(a, b, w)| {
                ([a, b].map(|end| if small { end % 7 } else { end }), f32::from(w))
            }).collect();
            for weighted in [false, true] {
                let mut edges: Vec<Edges> = (0..shares).map(|_| Edges::new(weighted)).collect();
                for (at, &(edge, weight)) in list.iter().enumerate() {
                    let share = &mut edges[at % shares];
                    if weighted { share.push_weighted(edge, weight) } else { share.push(edge) }
                }
                let mut expected: BTreeMap<[u32; 2], (f32, usize, u8)> = BTreeMap::new();
                for &([a, b], weight) in list.iter().filter(|(edge, _)| edge[0] != edge[1]) {
                    let entry = expected.entry([a.min(b), a.max(b)]).or_insert((0.0, 0, 0));
                    *entry = (entry.0.max(weight), entry.1 + 1, entry.2 | if a < b { 1 } else { 2 });
                }
                let (graph, cleaning) = build(20_000, edges).unwrap();
                prop_assert_eq!(graph.edges().collect::<Vec<_>>(), expected.keys().copied().collect::<Vec<_>>());
                if weighted && !expected.is_empty() {
                    prop_assert_eq!(graph.edge_weights(), expected.values().map(|entry| entry.0).collect::<Vec<_>>());
                }
                prop_assert_eq!(cleaning.self_loops, list.iter().filter(|(edge, _)| edge[0] == edge[1]).count());
                prop_assert_eq!(cleaning.duplicates, expected.values().map(|entry| entry.1 - 1).sum::<usize>());
                prop_assert_eq!(cleaning.both_ways, expected.values().filter(|entry| entry.2 == 3).count());
                let parts = graph.parts();
                Graph::from_parts(parts.0.to_vec(), parts.1.to_vec(), parts.2.map(<[f32]>::to_vec)).unwrap();
            }
        }

        /// Numbers without holes give the graph on the nodes that are mentioned.
        #[test]
        fn what_is_not_mentioned_can_be_left_out(list in prop::collection::vec((0u32..30_000, 0u32..30_000), 1..100)) {
            let mut edges = Edges::default();
            list.iter().for_each(|&(a, b)| edges.push([a, b]));
            let (graph, cleaning, mentioned) = build_mentioned(vec![edges]).unwrap();
            let ends: BTreeSet<u32> = list.iter().flat_map(|&(a, b)| [a, b]).collect();
            prop_assert_eq!(&mentioned, &ends.into_iter().collect::<Vec<_>>());
            let number = |end: u32| mentioned.binary_search(&end).unwrap() as u32;
            let moved: Vec<[u32; 2]> = list.iter().map(|&(a, b)| [number(a), number(b)]).collect();
            let (expected, expected_cleaning) = Graph::from_edges(mentioned.len(), &moved).unwrap();
            prop_assert_eq!(graph, expected);
            prop_assert_eq!(cleaning, expected_cleaning);
        }
    }
}
