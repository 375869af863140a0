//! The pairs of nodes without an edge, by number. Where a graph has nearly all edges, random pairs hardly ever hit one of these.

use crate::graph::Graph;
use std::sync::Arc;

/// Ordered pairs of two different nodes without an edge, in ascending order. They are counted per node and found from the neighbours,
/// so that no pair is listed.
#[derive(Debug)]
pub(super) struct NonEdges {
    graph: Arc<Graph>,
    /// The number of the first pair of each node, and the number of all pairs.
    starts: Vec<u64>,
}

impl NonEdges {
    pub fn new(graph: Arc<Graph>) -> NonEdges {
        let n = graph.num_nodes();
        let mut starts = Vec::with_capacity(n + 1);
        starts.push(0);
        for node in 0..n {
            starts.push(starts[node] + (n - 1 - graph.degree(node)) as u64);
        }
        NonEdges { graph, starts }
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.starts[self.graph.num_nodes()]
    }

    /// The pair of a number.
    pub fn pair(&self, number: u64) -> [u32; 2] {
        let a = self.starts.partition_point(|&start| start <= number) - 1;
        [a as u32, self.nth_of(a, (number - self.starts[a]) as usize)]
    }

    /// All pairs, the smaller node first.
    pub fn listed(&self) -> impl Iterator<Item = [u32; 2]> + '_ {
        (0..self.count()).map(|number| self.pair(number)).filter(|[a, b]| a < b)
    }

    /// The `n`-th node without an edge to `node`.
    fn nth_of(&self, node: usize, n: usize) -> u32 {
        let neighbours = self.graph.neighbours(node);
        let own = neighbours.partition_point(|&other| (other as usize) < node);
        // Neighbours and the node itself, in ascending order.
        let excluded = |at: usize| match at {
            at if at < own => neighbours[at] as usize,
            at if at == own => node,
            at => neighbours[at - 1] as usize,
        };
        let (mut low, mut high) = (0, neighbours.len() + 1);
        while low < high {
            let middle = low.midpoint(high);
            (low, high) = if excluded(middle) - middle <= n { (middle + 1, high) } else { (low, middle) };
        }
        (n + low) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::generate;

    #[test]
    fn pairs_are_those_that_a_search_finds() {
        let (path, _) = Graph::from_edges(3, &[[0, 1], [1, 2]]).unwrap();
        for graph in [generate::communities(3, 6, 0.1, 2).graph, path] {
            let n = graph.num_nodes() as u32;
            let is_free = |&[a, b]: &[u32; 2]| a != b && !graph.has_edge(a, b);
            let pairs = (0..n).flat_map(|a| (0..n).map(move |b| [a, b]));
            let free: Vec<[u32; 2]> = pairs.filter(is_free).collect();
            let non_edges = NonEdges::new(graph.clone().into());
            assert_eq!(non_edges.count(), 2 * graph.num_non_edges());
            let found: Vec<[u32; 2]> = (0..non_edges.count()).map(|number| non_edges.pair(number)).collect();
            assert_eq!(found, free);
            let listed: Vec<[u32; 2]> = free.into_iter().filter(|[a, b]| a < b).collect();
            assert_eq!(non_edges.listed().collect::<Vec<_>>(), listed);
        }
    }
}
