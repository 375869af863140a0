//! The classes of nodes that may have several each.

/// A set of classes for each of many nodes; a node without any has no label.
///
/// ```
/// use nigh::LabelSets;
/// let sets: LabelSets = [vec![2, 0, 2], vec![], vec![1]].into_iter().collect();
/// assert_eq!((sets.len(), sets.of(0), sets.of(1)), (3, &[0, 2][..], &[][..]));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelSets {
    /// Where the classes of each node start, and the end of the last.
    starts: Vec<u32>,
    /// Those of a node in ascending order, each once.
    classes: Vec<u32>,
}

impl<R: IntoIterator<Item = u32>> FromIterator<R> for LabelSets {
    fn from_iter<I: IntoIterator<Item = R>>(rows: I) -> LabelSets {
        let mut sets = LabelSets { starts: vec![0], classes: Vec::new() };
        let mut set: Vec<u32> = Vec::new();
        for row in rows {
            set.clear();
            set.extend(row);
            set.sort_unstable();
            set.dedup();
            sets.classes.extend_from_slice(&set);
            sets.starts.push(sets.classes.len() as u32);
        }
        sets
    }
}

impl LabelSets {
    /// How many nodes there are, labelled or not.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The classes of a node, in ascending order.
    pub fn of(&self, node: usize) -> &[u32] {
        &self.classes[self.starts[node] as usize..self.starts[node + 1] as usize]
    }

    /// The classes of each node in turn.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u32]> + Clone {
        (0..self.len()).map(|node| self.of(node))
    }

    /// The classes of all nodes, one after the other.
    pub fn classes(&self) -> &[u32] {
        &self.classes
    }

    /// The nodes that have a label, in order.
    pub fn labelled(&self) -> impl Iterator<Item = u32> + Clone {
        (0..self.len() as u32).filter(|&node| !self.of(node as usize).is_empty())
    }

    /// Those of some nodes, in the order in which they are named.
    pub fn select(&self, nodes: &[u32]) -> LabelSets {
        nodes.iter().map(|&node| self.of(node as usize).iter().copied()).collect()
    }

    /// With another number for each class.
    pub fn renumbered(&self, numbers: &[u32]) -> LabelSets {
        self.iter().map(|set| set.iter().map(|&class| numbers[class as usize])).collect()
    }

    /// Where the classes of each node start, the end of the last, and all classes.
    pub(crate) fn parts(&self) -> (&[u32], &[u32]) {
        (&self.starts, &self.classes)
    }

    /// Of what `parts` gives; `None` if it is not such.
    pub(crate) fn from_parts(starts: &[u32], classes: &[u32]) -> Option<LabelSets> {
        let row = |bounds: &[u32]| classes.get(bounds[0] as usize..bounds[1] as usize).map(<[u32]>::to_vec);
        let sets: LabelSets = starts.windows(2).map(row).collect::<Option<Vec<_>>>()?.into_iter().collect();
        (sets.parts() == (starts, classes)).then_some(sets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> LabelSets {
        [vec![3, 1], vec![], vec![2, 2, 0]].into_iter().collect()
    }

    #[test]
    fn sets_are_sorted_and_follow_their_nodes() {
        let sets = example();
        assert_eq!(sets.iter().collect::<Vec<_>>(), [&[1, 3][..], &[], &[0, 2]]);
        assert_eq!(sets.labelled().collect::<Vec<_>>(), [0, 2]);
        assert_eq!(sets.select(&[2, 0]).iter().collect::<Vec<_>>(), [&[0, 2][..], &[1, 3]]);
        assert_eq!(sets.renumbered(&[9, 5, 7, 1]).of(0), [1, 5]);
    }

    #[test]
    fn parts_that_are_no_sets_are_refused() {
        let sets = example();
        let (starts, classes) = sets.parts();
        assert_eq!(LabelSets::from_parts(starts, classes), Some(sets.clone()));
        for (starts, classes) in [(&[0, 3, 1][..], &[0, 1, 2][..]), (&[0, 9], &[0]), (&[0, 2], &[1, 0]), (&[], &[])] {
            assert_eq!(LabelSets::from_parts(starts, classes), None, "{starts:?} {classes:?}");
        }
    }
}
