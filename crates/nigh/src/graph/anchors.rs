//! Random sets of anchors, and for every node the closest member of each: the position of a node in P-GNN
//! (You et al., ICML 2019; the fast variant, limited to two hops).

use super::{CHECKED, Graph};
use crate::linalg::dispatch::simd;
use crate::seeds::Stream;
use crate::threads;
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};

/// Sets that are processed together, one per lane.
pub(crate) const LANES: usize = 16;

/// Where in an entry the distance begins; below it is a node or a rank.
const DISTANCE: u32 = 30;
const NODE: u32 = (1 << DISTANCE) - 1;
/// No member found: larger than every other entry.
const FAR: u32 = u32::MAX;

/// Below this many entries, a second thread costs more time than it saves.
const WORTH_A_THREAD: usize = 1 << 14;

/// How many sizes of anchor sets a graph has, and how many sets of each size: `m = ⌊log2 N⌋`.
pub fn num_sizes(num_nodes: usize) -> usize {
    num_nodes.checked_ilog2().unwrap_or(0) as usize
}

/// How many anchor sets a graph has: `m²`.
pub fn num_sets(num_nodes: usize) -> usize {
    num_sizes(num_nodes).pow(2)
}

/// Entries of one node for sixteen consecutive sets: the distance in the upper bits, the anchor in the lower.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
pub(crate) struct Entries(pub [u32; LANES]);

/// The node and the distance in an entry.
#[inline(always)]
pub(crate) fn unpack(entry: u32) -> (usize, usize) {
    ((entry & NODE) as usize, (entry >> DISTANCE) as usize)
}

/// For every node the closest member of each anchor set, and how many hops away it is.
///
/// Of `m` sizes, size `i = 1..=m` has `m` sets of `⌊N / 2^i⌋` nodes each, drawn without replacement: those with the
/// smallest keys. A key is a function of the set and of the address of a node, so relabelling nodes together with their
/// addresses relabels the sets. Of several members equally close, the one with the smallest key is taken.
#[derive(Debug, Default)]
pub struct Closest {
    num_nodes: usize,
    num_sets: usize,
    /// Sixteen sets at a time: all nodes for the first sixteen, then all nodes for the next.
    entries: Vec<Entries>,
    /// Nodes by address.
    order: Vec<u32>,
    spare: Mutex<Vec<Spare>>,
}

/// Buffers of one thread.
#[derive(Debug, Default)]
struct Spare {
    /// One hop.
    near: Vec<Entries>,
    /// Per lane the members of its set, smallest key first: the key in the upper half, the place in the order of addresses in the
    /// lower.
    members: [Vec<u64>; LANES],
}

impl Closest {
    /// Draws the sets of a graph and finds their members within two hops of every node; keeps its storage. `addresses[u]`
    /// is the address of node `u`, and no two nodes share one. With `at_most`, there are at most this many sizes, and this many
    /// sets of each. Weights of edges are ignored.
    pub fn rebuild(&mut self, graph: &Graph, addresses: &[u32], stream: Stream, at_most: Option<usize>) {
        let n = graph.num_nodes();
        assert_eq!(addresses.len(), n, "one address per node");
        assert!(n < 1 << DISTANCE, "more nodes than {DISTANCE} bits can number");
        let num_sizes = num_sizes(n).min(at_most.unwrap_or(usize::MAX));
        (self.num_nodes, self.num_sets) = (n, num_sizes * num_sizes);
        self.order.clear();
        self.order.extend(0..n as u32);
        self.order.sort_unstable_by_key(|&node| (addresses[node as usize], node));
        self.entries.resize(n * self.num_sets.div_ceil(LANES), Entries::default());
        if self.num_sets == 0 {
            return;
        }
        let sizes: Vec<usize> = (0..self.num_sets).map(|set| n >> (1 + set / num_sizes)).collect();
        let (order, spare) = (&self.order, &self.spare);
        let body = |(block, entries): (usize, &mut [Entries])| {
            threads::check();
            let sizes = &sizes[block * LANES..sizes.len().min((block + 1) * LANES)];
            let own = spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut own = own.unwrap_or_default();
            draw(stream, block as u32, order, addresses, sizes, SLACK, &mut own.members);
            find(graph, order, sizes.len(), &mut own, entries);
            spare.lock().unwrap_or_else(PoisonError::into_inner).push(own);
        };
        // A set belongs to one thread from its first key to its last hop.
        if n * self.num_sets < WORTH_A_THREAD {
            self.entries.chunks_mut(n).enumerate().for_each(body);
        } else {
            self.entries.par_chunks_mut(n).enumerate().for_each(body);
        }
    }

    /// The member of a set that is closest to a node, and how many hops away it is (0, 1 or 2).
    #[cfg(test)]
    pub fn find(&self, node: usize, set: usize) -> Option<(usize, usize)> {
        assert!(node < self.num_nodes && set < self.num_sets, "node {node} and set {set} are not in this table");
        let (anchor, distance) = unpack(self.block(set / LANES)[node].0[set % LANES]);
        (distance < 3).then_some((anchor, distance))
    }

    /// `N`.
    pub fn num_nodes(&self) -> usize {
        self.num_nodes
    }

    /// How many sets were drawn.
    pub fn num_sets(&self) -> usize {
        self.num_sets
    }

    /// The entries of a node, sixteen sets at a time. Distance 3 means too far, and then the anchor is the node itself;
    /// entries beyond the last set are unspecified.
    #[inline(always)]
    pub(crate) fn row(&self, node: usize) -> impl Iterator<Item = &Entries> {
        self.entries.get(node..).unwrap_or_default().iter().step_by(self.num_nodes)
    }

    #[cfg(test)]
    fn block(&self, block: usize) -> &[Entries] {
        &self.entries[block * self.num_nodes..][..self.num_nodes]
    }
}

/// Candidates beyond the expected number, in its standard deviations: too few are very rare.
const SLACK: f64 = 6.0;

/// Per lane the `sizes[lane]` smallest keys, in order. Only keys below a bound, which enough of them should pass, are
/// collected and sorted; all of them only if they were too few.
fn draw(
    stream: Stream,
    block: u32,
    order: &[u32],
    addresses: &[u32],
    sizes: &[usize],
    slack: f64,
    members: &mut [Vec<u64>; LANES],
) {
    let n = order.len();
    let bound = |size: usize| {
        let share = (size as f64 + slack * ((size as f64).sqrt() + 1.0)) / n as f64;
        // Saturates: every key is at most `u32::MAX`.
        (share * 4_294_967_296.0) as u32
    };
    let mut bounds = [0; LANES];
    for (lane, &size) in sizes.iter().enumerate() {
        bounds[lane] = bound(size);
    }
    // One place more than there are keys, because every key is written and only the small ones are kept.
    members.iter_mut().take(sizes.len()).for_each(|keys| keys.resize(n + 1, 0));
    let mut filled = collect(stream, block, order, addresses, &bounds[..sizes.len()], members);
    if sizes.iter().zip(filled).any(|(&size, filled)| filled < size) {
        filled = collect(stream, block, order, addresses, &[u32::MAX; LANES][..sizes.len()], members);
    }
    for ((keys, &size), filled) in members.iter_mut().zip(sizes).zip(filled) {
        keys.truncate(filled);
        keys.sort_unstable();
        keys.truncate(size);
    }
}

simd! {
    /// Writes the keys within its bound to the front of each lane and returns their numbers. A position of the stream
    /// serves four sets.
    fn collect(
        stream: Stream, block: u32, order: &[u32], addresses: &[u32], bounds: &[u32], members: &mut [Vec<u64>; LANES],
    ) -> [usize; LANES] {
        let mut filled = [0; LANES];
        for (place, &node) in order.iter().enumerate() {
            for (four, bounds) in bounds.chunks(4).enumerate() {
                let keys = stream.at([addresses[node as usize], 4 * block + four as u32, 0, 0]);
                for (at, (&bound, key)) in bounds.iter().zip(keys).enumerate() {
                    let lane = 4 * four + at;
                    members[lane][filled[lane]] = (u64::from(key) << 32) | place as u64;
                    filled[lane] += usize::from(key <= bound);
                }
            }
        }
        filled
    }
}

/// The closest members of up to sixteen sets. Members are compared by rank, which is the order of their keys; the
/// distance is in the bits above the rank, so one comparison of integers covers both, and a hop is one step of message
/// passing that takes minima.
fn find(graph: &Graph, order: &[u32], num_lanes: usize, spare: &mut Spare, entries: &mut [Entries]) {
    entries.fill(Entries([FAR; LANES]));
    for (lane, members) in spare.members[..num_lanes].iter().enumerate() {
        for (rank, &member) in members.iter().enumerate() {
            entries[order[member as u32 as usize] as usize].0[lane] = rank as u32;
        }
    }
    spare.near.resize(entries.len(), Entries::default());
    hop(graph, entries, &mut spare.near);
    hop(graph, &spare.near, entries);
    for (node, entries) in entries.iter_mut().enumerate() {
        for (entry, members) in entries.0.iter_mut().zip(&spare.members[..num_lanes]) {
            let found = match *entry {
                FAR => node as u32,
                entry => order[members[(entry & NODE) as usize] as u32 as usize],
            };
            *entry = (*entry & !NODE) | found;
        }
    }
}

simd! {
    /// `to_u = min(from_u, 1 + min_(w∈N(u)) from_w)`, where 1 is one hop.
    fn hop(graph: &Graph, from: &[Entries], to: &mut [Entries]) {
        for (u, (to, Entries(own))) in to.iter_mut().zip(from).enumerate() {
            if u.is_multiple_of(CHECKED) {
                threads::check();
            }
            let mut best = [FAR; LANES];
            for &w in graph.neighbours(u) {
                let Entries(other) = &from[w as usize];
                for lane in 0..LANES {
                    best[lane] = best[lane].min(other[lane]);
                }
            }
            for lane in 0..LANES {
                best[lane] = own[lane].min(best[lane].saturating_add(1 << DISTANCE));
            }
            *to = Entries(best);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::generate;
    use crate::linalg::dispatch::testing::assert_same_bits_at_every_level;
    use crate::seeds::{Purpose, Seeds};
    use proptest::prelude::*;

    fn stream(seed: u64) -> Stream {
        Seeds::new(seed).stream(Purpose::Anchors, &[0])
    }

    fn rebuilt(graph: &Graph, addresses: &[u32], seed: u64, at_most: Option<usize>) -> Closest {
        let mut closest = Closest::default();
        closest.rebuild(graph, addresses, stream(seed), at_most);
        closest
    }

    fn table(closest: &Closest) -> Vec<Option<(usize, usize)>> {
        let [n, sets] = [closest.num_nodes(), closest.num_sets()];
        (0..n * sets).map(|at| closest.find(at / sets, at % sets)).collect()
    }

    /// Key and address of a node, by which the members of a set are ordered.
    fn key(address: u32, set: usize, seed: u64) -> (u32, u32) {
        (stream(seed).at([address, (set / 4) as u32, 0, 0])[set % 4], address)
    }

    /// Sorts all nodes and searches breadth first from each.
    fn by_search(graph: &Graph, addresses: &[u32], seed: u64, at_most: usize) -> Vec<Option<(usize, usize)>> {
        let n = graph.num_nodes();
        let sizes = num_sizes(n).min(at_most);
        let distances: Vec<Vec<usize>> = (0..n).map(|u| distances_from(graph, u)).collect();
        let mut table = vec![None; n * sizes * sizes];
        for set in 0..sizes * sizes {
            let mut members: Vec<usize> = (0..n).collect();
            members.sort_by_key(|&node| key(addresses[node], set, seed));
            members.truncate(n >> (1 + set / sizes));
            for u in 0..n {
                let closest = members.iter().min_by_key(|&&a| (distances[u][a], key(addresses[a], set, seed))).unwrap();
                let distance = distances[u][*closest];
                table[u * sizes * sizes + set] = (distance <= 2).then_some((*closest, distance));
            }
        }
        table
    }

    fn distances_from(graph: &Graph, source: usize) -> Vec<usize> {
        let mut distances = vec![usize::MAX; graph.num_nodes()];
        distances[source] = 0;
        let mut queue = std::collections::VecDeque::from([source]);
        while let Some(u) = queue.pop_front() {
            for &w in graph.neighbours(u) {
                if distances[w as usize] == usize::MAX {
                    distances[w as usize] = distances[u] + 1;
                    queue.push_back(w as usize);
                }
            }
        }
        distances
    }

    /// A graph, distinct addresses and an order of the nodes.
    fn inputs() -> impl Strategy<Value = (Graph, Vec<u32>, Vec<u32>)> {
        (0u32..70).prop_flat_map(|n| {
            let end = 0..n.max(1);
            let edges = prop::collection::vec([end.clone(), end], 0..=if n == 0 { 0 } else { 2 * n as usize });
            let graph = edges.prop_map(move |edges| Graph::from_edges(n as usize, &edges).unwrap().0);
            let addresses = Just((0..n).map(|i| i * 7 + 3).collect::<Vec<u32>>()).prop_shuffle();
            (graph, addresses, Just((0..n).collect::<Vec<u32>>()).prop_shuffle())
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

        #[test]
        fn every_node_finds_what_a_search_from_it_finds(
            (graph, addresses, _) in inputs(), seed: u64, at_most in 0usize..8,
        ) {
            let closest = rebuilt(&graph, &addresses, seed, Some(at_most));
            prop_assert_eq!(table(&closest), by_search(&graph, &addresses, seed, at_most));
        }

        #[test]
        fn relabelling_nodes_with_their_addresses_relabels_anchors((graph, addresses, order) in inputs(), seed: u64) {
            let closest = rebuilt(&graph, &addresses, seed, None);
            let new_addresses: Vec<u32> = order.iter().map(|&old| addresses[old as usize]).collect();
            let moved = rebuilt(&graph.permute(&order).unwrap(), &new_addresses, seed, None);
            for (new, &old) in order.iter().enumerate() {
                for set in 0..closest.num_sets() {
                    let found = moved.find(new, set).map(|(anchor, hops)| (order[anchor] as usize, hops));
                    prop_assert_eq!(found, closest.find(old as usize, set));
                }
            }
        }
    }

    #[test]
    fn there_are_log_squared_sets_of_halving_sizes() {
        for n in [0, 1, 2, 3, 9, 100, 1000] {
            let (graph, _) = Graph::from_edges(n, &[]).unwrap();
            let addresses: Vec<u32> = (0..n as u32).collect();
            let mut closest = Closest::default();
            for at_most in [None, Some(2), Some(0), Some(100)] {
                closest.rebuild(&graph, &addresses, stream(3), at_most);
                let sizes = num_sizes(n).min(at_most.unwrap_or(100));
                assert_eq!(closest.num_sets(), sizes * sizes);
                for set in 0..closest.num_sets() {
                    let members = (0..n).filter(|&u| closest.find(u, set) == Some((u, 0))).count();
                    assert_eq!(members, n / (2 << (set / sizes)));
                    assert!(members > 0);
                }
            }
        }
        assert_eq!([0, 1, 2, 3, 4, 18_333, 34_493].map(num_sets), [0, 0, 1, 1, 4, 196, 225]);
    }

    #[test]
    fn sets_differ_from_each_other_and_nodes_are_members_equally_often() {
        let n = 64;
        let (graph, _) = Graph::from_edges(n, &[]).unwrap();
        let addresses: Vec<u32> = (0..n as u32).collect();
        let members = |closest: &Closest, set| (0..n).map(|u| closest.find(u, set).is_some()).collect::<Vec<_>>();
        let mut counts = vec![0; n];
        for seed in 0..500 {
            let closest = rebuilt(&graph, &addresses, seed, None);
            assert!((1..6).all(|set| members(&closest, set) != members(&closest, 0)));
            members(&closest, 0).iter().zip(&mut counts).for_each(|(&is, count)| *count += usize::from(is));
        }
        // Each of the sums has mean 250 and deviation 11.
        assert!(counts.iter().all(|count| (200..300).contains(count)), "{counts:?}");
    }

    #[test]
    fn too_few_candidates_are_made_up_for() {
        let n = 500;
        let order: Vec<u32> = (0..n).collect();
        let sizes = [250, 125, 62, 31, 15, 7, 3, 1];
        let [mut enough, mut few] = [const { Vec::new() }; 2].map(|_: Vec<u64>| [const { Vec::new() }; LANES]);
        draw(stream(1), 3, &order, &order, &sizes, SLACK, &mut enough);
        draw(stream(1), 3, &order, &order, &sizes, -1.0, &mut few);
        assert_eq!(enough, few);
        assert!(enough.iter().zip(sizes).all(|(members, size)| members.len() == size));
    }

    #[test]
    fn the_number_of_threads_and_what_was_before_do_not_matter() {
        let graph = generate::power_law(&generate::PowerLaw::new(3000, 9000), 1).unwrap().graph;
        let addresses: Vec<u32> = (0..3000).rev().collect();
        let smaller = generate::communities(4, 6, 0.1, 3).graph;
        let on = |num_threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(num_threads).build().unwrap();
            pool.install(|| {
                let mut closest = rebuilt(&smaller, &(0..24).collect::<Vec<_>>(), 1, None);
                closest.rebuild(&graph, &addresses, stream(2), None);
                table(&closest)
            })
        };
        let one = on(1);
        assert_eq!(one, table(&rebuilt(&graph, &addresses, 2, None)));
        assert!([2, 4].into_iter().all(|num_threads| on(num_threads) == one));
    }

    #[test]
    fn the_same_members_are_found_at_every_level() {
        let graph = generate::communities(20, 20, 0.05, 3).graph;
        let addresses: Vec<u32> = (0..400).collect();
        let entry = |found: Option<(usize, usize)>| found.map_or(u32::MAX, |(node, hops)| (4 * node + hops) as u32);
        assert_same_bits_at_every_level(|| {
            table(&rebuilt(&graph, &addresses, 7, None)).into_iter().map(entry).collect::<Vec<u32>>()
        });
    }

    #[test]
    fn a_node_without_neighbours_finds_itself_or_nothing() {
        let (graph, _) = Graph::from_edges(5, &[[0, 1], [1, 2], [2, 3]]).unwrap();
        let closest = rebuilt(&graph, &[0, 1, 2, 3, 4], 1, None);
        assert_eq!(closest.num_sets(), num_sets(5));
        assert!((0..4).all(|set| matches!(closest.find(4, set), None | Some((4, 0)))));
        assert_eq!((num_sets(1), num_sets(400), num_sets(18_333)), (0, 64, 196));
    }
}
