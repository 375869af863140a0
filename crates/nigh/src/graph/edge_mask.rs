//! Dropout on `Ã`: which edges a hop of message passing omits in training.

use super::Graph;
use crate::linalg::dispatch::simd;
use crate::seeds::{self, Stream};
use crate::threads;
use rayon::prelude::*;
use std::sync::Arc;

/// Masks of the off-diagonal entries of `Ã`, one per hop. An edge is dropped in both directions, by the addresses of its two ends
/// and the number of the hop; self loops stay as they are.
#[derive(Debug)]
pub(crate) struct EdgeMask {
    rate: f32,
    /// The name of the layer as an address.
    layer: u64,
    addresses: Arc<[u32]>,
    /// Whether the last pass dropped anything.
    is_drawn: bool,
    /// Of eight hops a byte per entry of the graph's neighbours, of which a bit says whether a hop keeps it; then the next eight.
    kept: Vec<u8>,
    /// The weights of one hop.
    weights: Vec<f32>,
}

/// Hops that one position of the random stream serves, sixteen bits each.
const HOPS: usize = 8;

/// Positions of the stream that are computed at once.
const LANES: usize = 16;

/// Entries of one task.
const ENTRIES: usize = 1 << 12;

impl EdgeMask {
    pub fn new(rate: f32, name: &str, addresses: Arc<[u32]>) -> EdgeMask {
        EdgeMask { rate, layer: seeds::named(name), addresses, is_drawn: false, kept: Vec::new(), weights: Vec::new() }
    }

    /// Whether it ever drops anything.
    pub fn is_active(&self) -> bool {
        self.rate > 0.0
    }

    /// The address of the layer.
    pub fn layer(&self) -> u64 {
        self.layer
    }

    /// Draws the masks of a pass; without a stream nothing is dropped.
    pub fn draw(&mut self, graph: &Graph, hops: usize, stream: Option<Stream>) {
        assert_eq!(self.addresses.len(), graph.num_nodes(), "an address per node");
        self.is_drawn = self.is_active() && stream.is_some();
        let Some(stream) = stream.filter(|_| self.is_drawn) else { return };
        let (offsets, neighbours, _) = graph.parts();
        let (threshold, addresses) = ((self.rate * 65_536.0) as u32, &self.addresses);
        self.kept.resize(hops.div_ceil(HOPS) * neighbours.len(), 0);
        for (eight, kept) in self.kept.chunks_mut(neighbours.len().max(1)).enumerate() {
            kept.par_chunks_mut(ENTRIES).enumerate().for_each(|(task, kept)| {
                threads::check();
                draw_entries(stream, threshold, offsets, neighbours, addresses, eight as u32, task * ENTRIES, kept);
            });
        }
    }

    /// The masks of the last pass, if it dropped anything.
    pub fn drawn(&mut self) -> Option<&mut EdgeMask> {
        self.is_drawn.then_some(self)
    }

    /// The weights of a hop, counted from zero, in the place of the graph's: zero for a dropped edge, and larger by
    /// `1 / (1 - rate)` for a kept one.
    pub fn weights(&mut self, graph: &Graph, hop: usize) -> &[f32] {
        let (_, neighbours, weights) = graph.parts();
        let kept = &self.kept[hop / HOPS * neighbours.len()..][..neighbours.len()];
        let (bit, scale) = (1 << (hop % HOPS), 1.0 / (1.0 - self.rate));
        self.weights.resize(neighbours.len(), 0.0);
        self.weights.par_chunks_mut(ENTRIES).enumerate().for_each(|(task, to)| {
            threads::check();
            let range = task * ENTRIES..task * ENTRIES + to.len();
            select(&kept[range.clone()], bit, weights.map(|weights| &weights[range]), scale, to);
        });
        &self.weights
    }
}

simd! {
    /// The bytes of the entries from `first` on.
    fn draw_entries(
        stream: Stream,
        threshold: u32,
        offsets: &[usize],
        neighbours: &[u32],
        addresses: &[u32],
        eight: u32,
        first: usize,
        kept: &mut [u8],
    ) {
        // The node whose row holds the entry.
        let mut node = offsets.partition_point(|&offset| offset <= first) - 1;
        for (block, kept) in kept.chunks_mut(LANES).enumerate() {
            let start = first + LANES * block;
            let (mut low, mut high) = ([0; LANES], [0; LANES]);
            for lane in 0..kept.len() {
                while offsets[node + 1] <= start + lane {
                    node += 1;
                }
                let (a, b) = (addresses[node], addresses[neighbours[start + lane] as usize]);
                (low[lane], high[lane]) = (a.min(b), a.max(b));
            }
            let words = stream.at_each(&low, &high, &[eight; LANES]);
            let mut bits = [0; LANES];
            for hop in 0..HOPS {
                for lane in 0..LANES {
                    let half = (words[hop / 2][lane] >> (16 * (hop % 2))) & 0xFFFF;
                    bits[lane] |= u32::from(half >= threshold) << hop;
                }
            }
            for (kept, bits) in kept.iter_mut().zip(bits) {
                *kept = bits as u8;
            }
        }
    }
}

simd! {
    fn select(kept: &[u8], bit: u8, weights: Option<&[f32]>, scale: f32, to: &mut [f32]) {
        match weights {
            None => {
                for (to, kept) in to.iter_mut().zip(kept) {
                    *to = if kept & bit != 0 { scale } else { 0.0 };
                }
            }
            Some(weights) => {
                for ((to, kept), weight) in to.iter_mut().zip(kept).zip(weights) {
                    *to = if kept & bit != 0 { scale * weight } else { 0.0 };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::generate;
    use crate::linalg::dispatch::testing::assert_same_bits_at_every_level;
    use crate::seeds::{Purpose, Seeds};

    fn drawn(graph: &Graph, addresses: &[u32], hops: usize) -> EdgeMask {
        let mut mask = EdgeMask::new(0.4, "a", addresses.into());
        mask.draw(graph, hops, Some(Seeds::new(3).stream(Purpose::Dropout, &[])));
        mask
    }

    fn graph() -> Graph {
        generate::power_law(&generate::PowerLaw::new(1_000, 9_000), 5).unwrap().graph
    }

    #[test]
    fn both_directions_of_an_edge_are_dropped_together_and_every_hop_drops_others() {
        let graph = graph();
        let addresses: Vec<u32> = (0..1_000).map(|node| 5_000 - 3 * node).collect();
        let mut mask = drawn(&graph, &addresses, 11);
        let hops: Vec<Vec<f32>> = (0..11).map(|hop| mask.weights(&graph, hop).to_vec()).collect();
        let (offsets, neighbours, _) = graph.parts();
        for weights in &hops {
            for i in 0..1_000 {
                for e in offsets[i]..offsets[i + 1] {
                    let j = neighbours[e] as usize;
                    let back = offsets[j] + graph.neighbours(j).binary_search(&(i as u32)).unwrap();
                    assert_eq!(weights[e], weights[back]);
                }
            }
            assert!(weights.iter().all(|&weight| weight == 0.0 || weight == 1.0 / (1.0 - 0.4f32)));
            let kept = weights.iter().filter(|&&weight| weight > 0.0).count() as f64 / weights.len() as f64;
            assert!((kept - 0.6).abs() < 0.03, "{kept}");
        }
        for (at, a) in hops.iter().enumerate() {
            assert!(hops[at + 1..].iter().all(|b| a != b));
        }
    }

    #[test]
    fn an_edge_is_known_by_the_addresses_of_its_ends() {
        let graph = graph();
        let order: Vec<u32> = (0..1_000).map(|i| i * 7 % 1_000).collect();
        let moved = graph.permute(&order).unwrap();
        let dropped = |graph: &Graph, addresses: &[u32]| {
            let mut mask = drawn(graph, addresses, 2);
            let weights = mask.weights(graph, 1).to_vec();
            let nodes = (0..graph.num_nodes()).flat_map(|i| graph.neighbours(i).iter().map(move |&j| (i, j as usize)));
            let mut edges: Vec<_> = nodes.zip(weights).filter(|(_, weight)| *weight == 0.0).collect();
            edges.iter_mut().for_each(|((i, j), _)| (*i, *j) = (addresses[*i] as usize, addresses[*j] as usize));
            edges.sort_by_key(|(edge, _)| *edge);
            edges
        };
        let own: Vec<u32> = (0..1_000).collect();
        assert_eq!(dropped(&moved, &order), dropped(&graph, &own));
    }

    #[test]
    fn the_bits_do_not_depend_on_threads_or_level() {
        let (graph, addresses) = (graph(), (0..1_000).collect::<Vec<u32>>());
        let run = || drawn(&graph, &addresses, 9).weights(&graph, 8).to_vec();
        let on = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(run);
        let alone = on(1);
        assert_eq!(alone, on(2));
        assert_eq!(alone, on(4));
        assert_same_bits_at_every_level(run);
    }
}
