//! Generated graphs: the paper's three, and one of any size for benchmarks.

use super::stored::{Stored, store_edges};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::memory::Memory;
use crate::seeds::{Purpose, Seeds, Stream, below, unit};
use crate::threads;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::path::Path;

/// A graph and the community of each node.
#[derive(Debug, Clone)]
pub struct Communities {
    /// The graph.
    pub graph: Graph,
    /// The community of each node.
    pub labels: Vec<u32>,
}

/// A `rows × cols` grid.
pub(crate) fn grid(rows: usize, cols: usize) -> Graph {
    let node = |r: usize, c: usize| (r * cols + c) as u32;
    let cells = (0..rows).flat_map(|r| (0..cols).map(move |c| (r, c)));
    let right = cells.clone().filter(|&(_, c)| c + 1 < cols).map(|(r, c)| [node(r, c), node(r, c + 1)]);
    let down = cells.filter(|&(r, _)| r + 1 < rows).map(|(r, c)| [node(r, c), node(r + 1, c)]);
    built(rows * cols, right.chain(down).collect())
}

/// The connected caveman graph (`cliques` cliques of `size`, one edge of each turned to the clique before it), in
/// which every edge is then rewired at one end with probability `rewired`. The number of edges stays.
pub(crate) fn communities(cliques: usize, size: usize, rewired: f32, seed: u64) -> Communities {
    let n = cliques * size;
    let mut edges = BTreeSet::new();
    for clique in 0..cliques {
        let start = clique * size;
        for a in start..start + size {
            edges.extend((a + 1..start + size).map(|b| ordered(a, b)));
        }
        if cliques > 1 && size > 1 {
            edges.remove(&ordered(start, start + 1));
            edges.insert(ordered(start, (start + n - 1) % n));
        }
    }
    let mut rng = Seeds::new(seed).rng(Purpose::Generate, &[]);
    for edge in edges.clone() {
        if rng.unit() >= rewired {
            continue;
        }
        let kept = edge[rng.below(2)] as usize;
        // A few tries find a free place in anything but a complete graph, which then keeps its edge.
        let free = (0..64).map(|_| rng.below(n)).find(|&b| b != kept && !edges.contains(&ordered(kept, b)));
        if let Some(other) = free {
            edges.remove(&edge);
            edges.insert(ordered(kept, other));
        }
    }
    let labels = (0..n).map(|node| (node / size) as u32).collect();
    Communities { graph: built(n, edges.into_iter().collect()), labels }
}

/// The proof of concept: communities, and in each of them active and inactive members.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leaders {
    /// Nodes in all.
    pub num_nodes: usize,
    /// Communities of equal size.
    pub num_communities: usize,
    /// Probability of an edge inside a community: both inactive, mixed, both active.
    pub inside: [f32; 3],
    /// Probability of an edge across.
    pub across: f32,
}

impl Default for Leaders {
    fn default() -> Leaders {
        Leaders { num_nodes: 400, num_communities: 10, inside: [0.2, 0.5, 0.8], across: 0.005 }
    }
}

/// A graph of communities and leaders, with both properties of each node.
#[derive(Debug, Clone)]
pub(crate) struct CommunitiesAndLeaders {
    /// The graph.
    pub graph: Graph,
    /// The community of each node.
    pub community: Vec<u32>,
    /// 1 for an active node, 0 for an inactive one.
    pub active: Vec<u32>,
}

/// Draws the proof-of-concept graph.
pub(crate) fn leaders(shape: &Leaders, seed: u64) -> CommunitiesAndLeaders {
    let n = shape.num_nodes;
    let mut rng = Seeds::new(seed).rng(Purpose::Generate, &[]);
    let community: Vec<u32> = (0..n).map(|node| (node * shape.num_communities / n) as u32).collect();
    let active: Vec<u32> = (0..n).map(|_| rng.below(2) as u32).collect();
    let mut edges = Vec::new();
    for a in 0..n {
        for b in a + 1..n {
            let together = community[a] == community[b];
            let p = if together { shape.inside[(active[a] + active[b]) as usize] } else { shape.across };
            if rng.unit() < p {
                edges.push([a as u32, b as u32]);
            }
        }
    }
    CommunitiesAndLeaders { graph: built(n, edges), community, active }
}

/// A graph of any size in linear time: degrees follow a power law and most edges stay inside planted communities.
#[derive(Debug, Clone, Copy)]
pub struct PowerLaw {
    /// `N`.
    pub num_nodes: usize,
    /// `M`, met exactly.
    pub num_edges: usize,
    /// Planted communities.
    pub num_communities: usize,
    /// Exponent of the degree distribution, above 2.
    pub exponent: f32,
    /// Share of edges that leave their community.
    pub across: f32,
}

impl PowerLaw {
    /// Communities of about a hundred nodes, exponent 2.5, a fifth of the edges across.
    pub fn new(num_nodes: usize, num_edges: usize) -> PowerLaw {
        let num_communities = (num_nodes / 100).max(1);
        PowerLaw { num_nodes, num_edges, num_communities, exponent: 2.5, across: 0.2 }
    }
}

impl PowerLaw {
    /// Refuses what can't be drawn.
    fn check(&self) -> Result<()> {
        let PowerLaw { num_nodes: n, num_edges, num_communities, exponent, across } = *self;
        let possible = n as u64 * (n as u64).saturating_sub(1) / 2;
        if num_edges as u64 > possible / 2 {
            return Err(Error::setting(
                "num-edges",
                num_edges,
                format!("{n} nodes allow at most {} here", possible / 2),
            ));
        }
        if !(exponent > 2.0 && exponent.is_finite()) {
            return Err(Error::setting("exponent", exponent, "a power law needs more than 2 here"));
        }
        if num_communities == 0 || num_communities > n || !(0.0..=1.0).contains(&across) {
            return Err(Error::setting(
                "num-communities",
                num_communities,
                format!("expected 1 to {n}, and across in 0..1"),
            ));
        }
        Ok(())
    }

    /// A draw, which is a function of its number. It may be a self loop or a repetition.
    fn draw(&self, stream: Stream, number: u64) -> [u32; 2] {
        let PowerLaw { num_nodes: n, num_communities, exponent, across, .. } = *self;
        // Weight of the node of rank r is r^-beta; the inverse of its distribution function is a power of the uniform.
        let beta = 1.0 / (exponent - 1.0);
        let power = 1.0 / (1.0 - beta);
        let rank = |word: u32, among: usize| ((unit(word).powf(power) * among as f32) as usize).min(among - 1);
        let members = |community: usize| (n - community).div_ceil(num_communities);
        let words = stream.at_pair(number, 0);
        let a = rank(words[0], n);
        let community = a % num_communities;
        let b = if unit(words[1]) < across || members(community) < 2 {
            rank(words[2], n)
        } else {
            rank(words[2], members(community)) * num_communities + community
        };
        ordered(a, b)
    }
}

/// Draws a power-law graph. Each draw is a function of its number, so threads share the work and not the result.
pub fn power_law(shape: &PowerLaw, seed: u64) -> Result<Communities> {
    let PowerLaw { num_nodes: n, num_edges, num_communities, .. } = *shape;
    shape.check()?;
    let mut edges: Vec<[u32; 2]> = Vec::new();
    let mut round = 0u64;
    while edges.len() < num_edges {
        threads::check();
        let stream = Seeds::new(seed).stream(Purpose::Generate, &[round]);
        let missing = (num_edges - edges.len()) as u64;
        // Hubs saturate in a dense graph: the last rounds draw any pair, which always ends.
        let any = |number: u64| {
            let w = stream.at_pair(number, 1);
            ordered(below(w[0], w[1], n as u64) as usize, below(w[2], w[3], n as u64) as usize)
        };
        let count = missing + missing / 8 + 16;
        edges.par_extend((0..count).into_par_iter().map(|k| if round < 12 { shape.draw(stream, k) } else { any(k) }));
        edges.retain(|[a, b]| a != b);
        edges.par_sort_unstable();
        edges.dedup();
        round += 1;
    }
    if edges.len() > num_edges {
        // Drop the surplus evenly, not from the end, which would thin out the last nodes.
        let mut order: Vec<u32> = (0..edges.len() as u32).collect();
        Seeds::new(seed).rng(Purpose::Order, &[]).shuffle(&mut order);
        let mut kept: Vec<[u32; 2]> = order[..num_edges].iter().map(|&at| edges[at as usize]).collect();
        kept.par_sort_unstable();
        edges = kept;
    }
    let labels = (0..n).map(|node| (node % num_communities) as u32).collect();
    Ok(Communities { graph: built(n, edges), labels })
}

/// Draws a power-law graph of any size straight into a graph file, within a limit of memory. `num_edges` draws are made;
/// repetitions among them are merged, and nodes without an edge are left out.
pub fn store_power_law(shape: &PowerLaw, seed: u64, path: &Path, memory: Memory) -> Result<Stored> {
    /// Draws of a task.
    const DRAWS: u64 = 1 << 20;
    shape.check()?;
    let (stream, total) = (Seeds::new(seed).stream(Purpose::Generate, &[0]), shape.num_edges as u64);
    store_edges(path, memory, total.div_ceil(DRAWS), |task| {
        (task * DRAWS..((task + 1) * DRAWS).min(total)).map(|number| shape.draw(stream, number))
    })
}

fn ordered(a: usize, b: usize) -> [u32; 2] {
    [a.min(b) as u32, a.max(b) as u32]
}

fn built(num_nodes: usize, edges: Vec<[u32; 2]>) -> Graph {
    let (graph, _) = Graph::from_edges(num_nodes, &edges).expect("generated edges are between generated nodes");
    graph
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_has_the_counts_of_the_paper() {
        let graph = grid(20, 20);
        assert_eq!((graph.num_nodes(), graph.num_edges()), (400, 760));
        assert_eq!((graph.degree(0), graph.degree(1), graph.degree(21)), (2, 3, 4));
    }

    #[test]
    fn communities_have_the_counts_of_the_paper_and_mostly_stay_inside() {
        let Communities { graph, labels } = communities(20, 20, 0.01, 1);
        assert_eq!((graph.num_nodes(), graph.num_edges()), (400, 3800));
        let inside = graph.edges().filter(|&[a, b]| labels[a as usize] == labels[b as usize]).count();
        assert!((3700..=3790).contains(&inside), "{inside}");
        let straight = communities(20, 20, 0.0, 1);
        let across = straight.graph.edges().filter(|&[a, b]| labels[a as usize] != labels[b as usize]).count();
        assert_eq!(across, 20);
    }

    #[test]
    fn leaders_have_more_links_and_communities_are_dense() {
        let drawn = leaders(&Leaders::default(), 3);
        assert_eq!(drawn.graph.num_nodes(), 400);
        let mean_degree = |status: u32| {
            let nodes: Vec<usize> = (0..400).filter(|&i| drawn.active[i] == status).collect();
            nodes.iter().map(|&i| drawn.graph.degree(i)).sum::<usize>() as f64 / nodes.len() as f64
        };
        // Expected 40 (0.8 + 0.5) / 2 + 360 · 0.005 and 40 (0.5 + 0.2) / 2 + 1.8.
        assert!((mean_degree(1) - 27.4).abs() < 1.5 && (mean_degree(0) - 15.6).abs() < 1.5);
        let share = drawn.active.iter().sum::<u32>();
        assert!((160..=240).contains(&share), "{share}");
        assert_ne!(leaders(&Leaders::default(), 4).graph, drawn.graph);
    }

    #[test]
    fn a_power_law_graph_meets_its_size_exactly_and_has_hubs_and_communities() {
        for (n, m) in [(1000, 5000), (50, 300), (20_000, 100_000)] {
            let Communities { graph, labels } = power_law(&PowerLaw::new(n, m), 9).unwrap();
            assert_eq!((graph.num_nodes(), graph.num_edges()), (n, m));
            let largest = (0..n).map(|i| graph.degree(i)).max().unwrap();
            assert!(largest > 4 * m / n, "largest degree {largest}");
            let inside = graph.edges().filter(|&[a, b]| labels[a as usize] == labels[b as usize]).count();
            assert!(inside * 2 > m || n < 1000, "{inside} of {m} inside");
        }
        assert!(power_law(&PowerLaw::new(10, 40), 1).is_err());
    }

    #[test]
    fn a_graph_drawn_into_a_file_is_the_same_within_any_memory() {
        let folder = tempfile::tempdir().unwrap();
        let shape = PowerLaw::new(20_000, 2_500_000);
        let draw = |name: &str, memory: usize| {
            let path = folder.path().join(name);
            let stored = store_power_law(&shape, 1, &path, Memory::new(memory)).unwrap();
            assert!(stored.num_edges > 1_000_000 && stored.num_edges + stored.cleaning.duplicates < 2_500_000);
            assert!(stored.num_nodes > 19_000);
            std::fs::read(path).unwrap()
        };
        assert!(draw("a.nigh", 64 << 20) == draw("b.nigh", 1 << 30));
        assert!(store_power_law(&PowerLaw::new(10, 100), 1, &folder.path().join("c"), Memory::new(1 << 30)).is_err());
    }
}
