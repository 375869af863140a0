//! Connected components.

use super::{CHECKED, Graph};
use crate::threads;

/// A connected component of a graph.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Component {
    /// Its nodes, ascending, as the whole graph numbers them.
    pub nodes: Vec<u32>,
    /// Its edges; node `i` here is `nodes[i]` of the whole graph.
    pub graph: Graph,
}

impl Graph {
    /// The connected components of more than `size` nodes, in the order of their first node.
    pub(crate) fn components(&self, size: usize) -> Vec<Component> {
        // The number of each node within its component.
        let mut place = vec![0u32; self.num_nodes()];
        let mut components = Vec::new();
        self.each_component(|nodes| {
            if nodes.len() > size {
                let mut nodes = nodes.to_vec();
                nodes.sort_unstable();
                nodes.iter().enumerate().for_each(|(at, &node)| place[node as usize] = at as u32);
                let graph = self.closed_part(&nodes, &place);
                components.push(Component { nodes, graph });
            }
        });
        components
    }

    /// How many nodes each connected component has, in the order of their first node.
    pub fn component_sizes(&self) -> Vec<usize> {
        let mut sizes = Vec::new();
        self.each_component(|nodes| sizes.push(nodes.len()));
        sizes
    }

    fn each_component(&self, mut each: impl FnMut(&[u32])) {
        let mut seen = vec![false; self.num_nodes()];
        let mut nodes = Vec::new();
        for first in 0..self.num_nodes() {
            if std::mem::replace(&mut seen[first], true) {
                continue;
            }
            nodes.clear();
            nodes.push(first as u32);
            let mut visited = 0;
            while let Some(&node) = nodes.get(visited) {
                if visited.is_multiple_of(CHECKED) {
                    threads::check();
                }
                visited += 1;
                for &next in self.neighbours(node as usize) {
                    if !std::mem::replace(&mut seen[next as usize], true) {
                        nodes.push(next);
                    }
                }
            }
            each(&nodes);
        }
    }

    /// The graph on ascending `nodes` that no edge leaves. Rows stay sorted, since `place` ascends with the nodes.
    fn closed_part(&self, nodes: &[u32], place: &[u32]) -> Graph {
        let mut offsets = vec![0];
        let mut neighbours = Vec::new();
        let mut weights = self.is_weighted().then(Vec::new);
        for &node in nodes {
            neighbours.extend(self.neighbours(node as usize).iter().map(|&next| place[next as usize]));
            if let (Some(out), Some(row)) = (&mut weights, self.weights(node as usize)) {
                out.extend_from_slice(row);
            }
            offsets.push(neighbours.len());
        }
        Graph::from_vecs(offsets, neighbours, weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn components_come_by_their_first_node_and_small_ones_stay_away() {
        let (graph, _) = Graph::from_edges(8, &[[7, 0], [2, 1], [1, 4], [6, 7]]).unwrap();
        let nodes = |size| graph.components(size).into_iter().map(|part| part.nodes).collect::<Vec<_>>();
        assert_eq!(nodes(0), [vec![0, 6, 7], vec![1, 2, 4], vec![3], vec![5]]);
        assert_eq!(nodes(1), [[0, 6, 7], [1, 2, 4]]);
        assert!(nodes(3).is_empty());
        assert!(Graph::from_edges(0, &[]).unwrap().0.components(0).is_empty());
    }

    #[test]
    fn a_long_path_needs_no_deep_stack() {
        let edges: Vec<_> = (0..200_000).map(|node| [node, node + 1]).collect();
        let (graph, _) = Graph::from_edges(200_001, &edges).unwrap();
        assert_eq!(graph.components(10), [Component { nodes: (0..200_001).collect(), graph }]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn components_hold_every_node_once_and_every_edge_with_its_weight(
            edges in prop::collection::vec(([0..30u32, 0..30u32], 1..9u8), 0..40),
        ) {
            let (edges, weights): (Vec<_>, Vec<_>) = edges.into_iter().map(|(edge, w)| (edge, f32::from(w))).unzip();
            let (graph, _) = Graph::from_weighted_edges(30, &edges, &weights).unwrap();
            let parts = graph.components(0);
            let mut nodes: Vec<u32> = parts.iter().flat_map(|part| part.nodes.clone()).collect();
            nodes.sort_unstable();
            prop_assert_eq!(nodes, (0..30).collect::<Vec<_>>());
            let mut found = Vec::new();
            for part in &parts {
                let named = part.graph.edges().map(|edge| edge.map(|end| part.nodes[end as usize]));
                found.extend(named.zip(part.graph.edge_weights()));
            }
            found.sort_unstable_by_key(|edge| edge.0);
            prop_assert_eq!(found, graph.edges().zip(graph.edge_weights()).collect::<Vec<_>>());
        }
    }
}
