//! Pairs sorted by node, so that every node can gather from its pairs.

use crate::threads;
use rayon::prelude::*;
use std::ops::Range;

/// For every end of every pair, the node at the other end.
#[derive(Debug, Default)]
pub struct Incidence {
    offsets: Vec<u32>,
    others: Vec<u32>,
    /// The number of the pair of each entry of `others`, if recorded.
    pairs: Option<Vec<u32>>,
    shares: Vec<Share>,
}

/// Pairs of one task.
const PAIRS_PER_SHARE: usize = 1 << 13;
/// Nodes of one range: their counts fit the nearest cache.
const NODES_PER_RANGE: usize = 1 << 10;

/// The ends of some pairs, sorted by the range of their node.
#[derive(Debug, Default)]
struct Share {
    ends: Vec<End>,
    /// Where the ends of each range start, and where the last range ends.
    starts: Vec<u32>,
}

#[derive(Debug, Clone, Copy, Default)]
struct End {
    node: u32,
    other: u32,
    pair: u32,
}

impl Incidence {
    /// An empty one that also records the number of the pair of each entry.
    pub fn with_pairs() -> Incidence {
        Incidence { pairs: Some(Vec::new()), ..Incidence::default() }
    }

    /// Sorts the ends of `pairs` by node, those of one node by the number of their pair. Keeps its storage.
    pub fn rebuild(&mut self, num_nodes: usize, pairs: &[[u32; 2]]) {
        assert!(pairs.len() <= u32::MAX as usize / 2, "more pairs than 32 bits can number");
        let num_shares = pairs.len().div_ceil(PAIRS_PER_SHARE);
        if self.shares.len() < num_shares {
            self.shares.resize_with(num_shares, Share::default);
        }
        let num_ranges = num_nodes.div_ceil(NODES_PER_RANGE);
        let shares = &mut self.shares[..num_shares];
        let sort = |(number, (share, pairs)): (usize, (&mut Share, &[[u32; 2]]))| {
            threads::check();
            share.sort(num_ranges, number * PAIRS_PER_SHARE, pairs)
        };
        if num_shares > 1 {
            shares.par_iter_mut().zip(pairs.par_chunks(PAIRS_PER_SHARE)).enumerate().for_each(sort);
        } else {
            shares.iter_mut().zip(pairs.chunks(PAIRS_PER_SHARE)).enumerate().for_each(sort);
        }
        self.offsets.resize(num_nodes + 1, 0);
        self.others.resize(2 * pairs.len(), 0);
        if let Some(numbers) = &mut self.pairs {
            numbers.resize(2 * pairs.len(), 0);
        }
        let (zero, ends) = self.offsets.split_first_mut().expect("one more than nodes");
        *zero = 0;
        let slices = RangeSlices { ends, others: &mut self.others, pairs: self.pairs.as_deref_mut(), before: 0 };
        slices.fill(0..num_ranges, shares);
    }

    /// Number of pairs.
    pub fn num_pairs(&self) -> usize {
        self.others.len() / 2
    }

    /// Where the entries of a node are.
    #[inline]
    pub(crate) fn range(&self, node: usize) -> Range<usize> {
        self.offsets[node] as usize..self.offsets[node + 1] as usize
    }

    /// The node at the other end of each pair of a node.
    #[inline]
    pub(crate) fn others(&self, node: usize) -> &[u32] {
        &self.others[self.range(node)]
    }

    /// The numbers of the pairs of a node.
    ///
    /// # Panics
    /// If they were not recorded.
    #[inline]
    pub(crate) fn pairs(&self, node: usize) -> &[u32] {
        &self.pairs.as_ref().expect("an incidence made by `with_pairs`")[self.range(node)]
    }
}

impl Share {
    fn sort(&mut self, num_ranges: usize, first: usize, pairs: &[[u32; 2]]) {
        let range = |node: u32| node as usize / NODES_PER_RANGE;
        self.starts.clear();
        self.starts.resize(num_ranges + 2, 0);
        pairs.iter().flatten().for_each(|&node| self.starts[range(node) + 2] += 1);
        (2..num_ranges + 2).for_each(|at| self.starts[at] += self.starts[at - 1]);
        self.ends.resize(2 * pairs.len(), End::default());
        for (pair, &[a, b]) in (first as u32..).zip(pairs) {
            for (node, other) in [(a, b), (b, a)] {
                // One place ahead while filling, which leaves the starts right at the end.
                let slot = &mut self.starts[range(node) + 1];
                self.ends[*slot as usize] = End { node, other, pair };
                *slot += 1;
            }
        }
        self.starts.truncate(num_ranges + 1);
    }

    fn ends(&self, ranges: Range<usize>) -> &[End] {
        &self.ends[self.starts[ranges.start] as usize..self.starts[ranges.end] as usize]
    }
}

/// The slices of an incidence that belong to some ranges of nodes.
struct RangeSlices<'a> {
    /// Where the entries of each node end.
    ends: &'a mut [u32],
    others: &'a mut [u32],
    pairs: Option<&'a mut [u32]>,
    /// Entries of nodes before these.
    before: u32,
}

impl RangeSlices<'_> {
    fn fill(self, ranges: Range<usize>, shares: &[Share]) {
        if ranges.len() <= 1 {
            threads::check();
            return self.fill_range(ranges, shares);
        }
        let middle = ranges.start + ranges.len() / 2;
        let num_nodes = (middle - ranges.start) * NODES_PER_RANGE;
        let num_entries = shares.iter().map(|share| share.ends(ranges.start..middle).len()).sum();
        let (ends, ends_above) = self.ends.split_at_mut(num_nodes);
        let (others, others_above) = self.others.split_at_mut(num_entries);
        let (pairs, pairs_above) = self.pairs.map(|pairs| pairs.split_at_mut(num_entries)).unzip();
        let worth_a_thread = others.len() + others_above.len() > PAIRS_PER_SHARE;
        let below = RangeSlices { ends, others, pairs, before: self.before };
        let before = self.before + num_entries as u32;
        let above = RangeSlices { ends: ends_above, others: others_above, pairs: pairs_above, before };
        let (lower, upper) = (ranges.start..middle, middle..ranges.end);
        if worth_a_thread {
            rayon::join(|| below.fill(lower, shares), || above.fill(upper, shares));
        } else {
            below.fill(lower, shares);
            above.fill(upper, shares);
        }
    }

    /// Shares and the ends within each are in the order of their pairs.
    fn fill_range(mut self, range: Range<usize>, shares: &[Share]) {
        let first = range.start * NODES_PER_RANGE;
        let mut next = [0u32; NODES_PER_RANGE + 1];
        for end in shares.iter().flat_map(|share| share.ends(range.clone())) {
            next[end.node as usize - first + 1] += 1;
        }
        for (at, end) in self.ends.iter_mut().enumerate() {
            next[at + 1] += next[at];
            *end = self.before + next[at + 1];
        }
        for end in shares.iter().flat_map(|share| share.ends(range.clone())) {
            let slot = &mut next[end.node as usize - first];
            self.others[*slot as usize] = end.other;
            if let Some(pairs) = &mut self.pairs {
                pairs[*slot as usize] = end.pair;
            }
            *slot += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeds::{Purpose, Seeds};

    #[test]
    fn every_node_finds_its_pairs_in_order() {
        let mut incidence = Incidence::with_pairs();
        // One range and several, one share and several; storage is used again, first for more and then for less.
        for (num_nodes, num_pairs) in [(5, 3), (3000, 20_000), (1024, 8192), (1025, 8193), (2500, 40), (4, 0), (0, 0)] {
            let mut rng = Seeds::new(3).rng(Purpose::Generate, &[]);
            let mut node = || rng.below(num_nodes) as u32;
            let pairs: Vec<[u32; 2]> = (0..num_pairs).map(|_| [node(), node()]).collect();
            incidence.rebuild(num_nodes, &pairs);
            let mut expected: Vec<Vec<(u32, u32)>> = vec![Vec::new(); num_nodes];
            for (number, &[a, b]) in (0..).zip(&pairs) {
                expected[a as usize].push((b, number));
                expected[b as usize].push((a, number));
            }
            for (node, expected) in expected.iter().enumerate() {
                let found = incidence.others(node).iter().copied().zip(incidence.pairs(node).iter().copied());
                assert!(found.eq(expected.iter().copied()), "node {node} of {num_nodes}");
            }
            assert_eq!(incidence.num_pairs(), num_pairs);
        }
    }
}
