//! An order of nodes that puts neighbours close together. Message passing over a large graph is bound by memory; adjacent rows
//! of a community are loaded once for all its members.

use super::{CHECKED, Graph};
use crate::threads;

/// Nodes whose rows fit the nearest caches.
const CACHED_NODES: usize = 1 << 13;
/// Rounds of label propagation: more change little.
const ROUNDS: usize = 3;
/// The least gain in the share of near neighbours that is worth a new order.
const WORTHWHILE_GAIN: f64 = 0.2;

impl Graph {
    /// An order of the nodes with more neighbours close to each other, or none if there is little to gain: the graph is
    /// small, ordered already, or has no communities.
    ///
    /// Communities are found by label propagation (Raghavan et al.): in time linear in the edges, about that of ten hops.
    pub fn locality_order(&self) -> Option<Vec<u32>> {
        if self.num_nodes() <= CACHED_NODES {
            return None;
        }
        let before = share_near(self, |node| node);
        if before > 1.0 - WORTHWHILE_GAIN {
            return None;
        }
        let order = by_label(&labels(self));
        let mut places = vec![0; order.len()];
        (0..).zip(&order).for_each(|(place, &node)| places[node as usize] = place);
        (share_near(self, |node| places[node as usize]) >= before + WORTHWHILE_GAIN).then_some(order)
    }
}

/// The share of neighbours that are near once every node is at `place(node)`.
fn share_near(graph: &Graph, place: impl Fn(u32) -> u32) -> f64 {
    // A sample of nodes is enough.
    let step = graph.num_nodes().div_ceil(1 << 14);
    let (mut near, mut all) = (0usize, 0usize);
    for node in (0..graph.num_nodes()).step_by(step) {
        let here = place(node as u32);
        let neighbours = graph.neighbours(node);
        near += neighbours.iter().filter(|&&other| (here.abs_diff(place(other)) as usize) < CACHED_NODES / 2).count();
        all += neighbours.len();
    }
    near as f64 / all.max(1) as f64
}

/// A label per node, the most frequent of its neighbours. A hash decides between equally frequent ones: the smallest label
/// would spread one hub over the graph, because in the first round all are equally frequent.
fn labels(graph: &Graph) -> Vec<u32> {
    let mut labels: Vec<u32> = (0..graph.num_nodes() as u32).collect();
    let mut counts = vec![0u32; graph.num_nodes()];
    for _ in 0..ROUNDS {
        for node in 0..graph.num_nodes() {
            if node.is_multiple_of(CHECKED) {
                threads::check();
            }
            let neighbours = graph.neighbours(node);
            let hash = |label: u32| (label.wrapping_mul(0x9E37_79B1) ^ node as u32).wrapping_mul(0xC2B2_AE35);
            let (mut best, mut label) = ((0, 0), labels[node]);
            for &other in neighbours {
                let of_other = labels[other as usize];
                let count = &mut counts[of_other as usize];
                *count += 1;
                if *count >= best.0 && (*count, hash(of_other)) > best {
                    (best, label) = ((*count, hash(of_other)), of_other);
                }
            }
            neighbours.iter().for_each(|&other| counts[labels[other as usize] as usize] = 0);
            labels[node] = label;
        }
    }
    labels
}

/// Nodes by label, those of one label in their old order.
fn by_label(labels: &[u32]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..labels.len() as u32).collect();
    order.sort_by_key(|&node| labels[node as usize]);
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::generate::{self, PowerLaw, power_law};
    use crate::seeds::{Purpose, Seeds};

    #[test]
    fn scattered_communities_are_gathered() {
        let shape = PowerLaw { across: 0.1, ..PowerLaw::new(20_000, 200_000) };
        let graph = power_law(&shape, 1).unwrap().graph;
        let order = graph.locality_order().expect("communities to be found");
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert!(sorted.iter().copied().eq(0..20_000), "every node once");
        let near = |graph: &Graph| share_near(graph, |node| node);
        assert!(near(&graph.permute(&order).unwrap()) > near(&graph) + 0.3);
    }

    #[test]
    fn what_has_no_communities_or_is_small_or_ordered_stays_as_it_is() {
        let mut rng = Seeds::new(1).rng(Purpose::Generate, &[]);
        let edges: Vec<_> = (0..200_000).map(|_| [rng.below(20_000) as u32, rng.below(20_000) as u32]).collect();
        assert_eq!(Graph::from_edges(20_000, &edges).unwrap().0.locality_order(), None);
        assert_eq!(generate::communities(20, 20, 0.1, 1).graph.locality_order(), None);
        assert_eq!(generate::grid(100, 200).locality_order(), None);
    }
}
