//! Published splits.

/// A published split.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub enum FixedSplit {
    /// Nodes for training, validation and test.
    Nodes([Vec<u32>; 3]),
    /// The graph holds the training edges; these are the pairs for validation and test.
    Pairs([FixedPairs; 2]),
}

/// Pairs with and without an edge.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize)]
pub struct FixedPairs {
    /// Held-out edges.
    pub positive: Vec<[u32; 2]>,
    /// Pairs without an edge.
    pub negative: Vec<[u32; 2]>,
}

impl FixedSplit {
    /// The same split with node `i` renumbered to `place[i]`.
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
