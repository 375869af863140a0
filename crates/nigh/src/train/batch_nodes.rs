//! The nodes of a batch, where the others need not be represented.

/// None, or some of the nodes in ascending order.
#[derive(Debug, Default)]
pub(super) struct BatchNodes {
    nodes: Vec<u32>,
    /// The new number of each of them.
    places: Vec<u32>,
}

impl BatchNodes {
    /// All nodes again.
    pub fn clear(&mut self) {
        self.nodes.clear();
    }

    /// The nodes, if not all.
    pub fn nodes(&self) -> Option<&[u32]> {
        (!self.nodes.is_empty()).then_some(&self.nodes)
    }

    /// The ends of these pairs, which are renumbered among them.
    pub fn renumber(&mut self, num_nodes: usize, pairs: [&mut [[u32; 2]]; 2]) {
        const UNKNOWN: u32 = u32::MAX;
        self.places.clear();
        self.places.resize(num_nodes, UNKNOWN);
        for node in pairs.iter().flat_map(|pairs| pairs.iter().flatten()) {
            self.places[*node as usize] = 0;
        }
        self.nodes.clear();
        for (node, place) in (0..).zip(&mut self.places).filter(|(_, place)| **place != UNKNOWN) {
            *place = self.nodes.len() as u32;
            self.nodes.push(node);
        }
        for node in pairs.into_iter().flat_map(|pairs| pairs.iter_mut().flatten()) {
            *node = self.places[*node as usize];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_numbered_among_the_nodes_that_they_name() {
        let (mut a, mut b) = ([[7, 2], [2, 9]], [[0, 7]]);
        let mut batch = BatchNodes::default();
        assert_eq!(batch.nodes(), None);
        for _ in 0..2 {
            batch.renumber(10, [&mut a, &mut b]);
            assert_eq!(batch.nodes(), Some(&[0, 2, 7, 9][..]));
            assert_eq!((a, b), ([[2, 1], [1, 3]], [[0, 2]]));
            (a, b) = ([[7, 2], [2, 9]], [[0, 7]]);
        }
        batch.clear();
        assert_eq!(batch.nodes(), None);
    }
}
