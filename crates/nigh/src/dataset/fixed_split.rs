//! Splits that come with the data.

/// A split that comes with the data.
#[derive(Debug, Clone, PartialEq)]
pub enum FixedSplit {
    /// The nodes to learn from, to validate with and to test with.
    Nodes([Vec<u32>; 3]),
    /// The graph holds the training edges; these are the pairs to validate with and to test with.
    Pairs([FixedPairs; 2]),
}

/// Pairs with and without an edge.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FixedPairs {
    /// Held-out edges.
    pub positive: Vec<[u32; 2]>,
    /// Pairs that are none.
    pub negative: Vec<[u32; 2]>,
}

impl FixedSplit {
    /// The same split with node `i` called `place[i]`.
    pub(super) fn renumbered(&self, place: &[u32]) -> FixedSplit {
        let node = |&node: &u32| place[node as usize];
        let pairs = |pairs: &Vec<[u32; 2]>| pairs.iter().map(|[a, b]| [node(a), node(b)]).collect();
        match self {
            FixedSplit::Nodes(parts) => FixedSplit::Nodes(parts.each_ref().map(|part| part.iter().map(node).collect())),
            FixedSplit::Pairs(parts) => FixedSplit::Pairs(
                parts
                    .each_ref()
                    .map(|part| FixedPairs { positive: pairs(&part.positive), negative: pairs(&part.negative) }),
            ),
        }
    }
}
