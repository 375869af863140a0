//! Splits that come with the data: published ones, and those of a user.

use super::{Dataset, Sample};
use crate::error::{Error, Result, SplitProblem};
use std::collections::{HashMap, HashSet};

/// A split that comes with the data. Without a test part, what is reported is the validation.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub enum FixedSplit {
    /// Nodes for training, validation and test.
    Nodes([Vec<u32>; 3]),
    /// The graph holds the training edges; these are the pairs for validation and test.
    Pairs([FixedPairs; 2]),
    /// Only some of the graph's edges are for training; made and checked by [`FixedSplit::pairs`].
    Edges {
        /// These, which are all that message passing sees.
        train: Vec<[u32; 2]>,
        /// The pairs for validation and test.
        held_out: [FixedPairs; 2],
    },
}

/// Pairs with and without an edge.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize)]
pub struct FixedPairs {
    /// Held-out edges.
    pub positive: Vec<[u32; 2]>,
    /// Pairs without an edge; none if they are to be drawn.
    pub negative: Vec<[u32; 2]>,
}

/// Names of the parts in messages.
const PARTS: [&str; 3] = ["training", "validation", "test"];

impl FixedSplit {
    /// Nodes for training, validation and test of the only graph, each with a label and in one part.
    ///
    /// ```
    /// use nigh::dataset::{Dataset, FixedSplit};
    ///
    /// let dataset = Dataset::built_in("leaders")?;
    /// assert!(FixedSplit::nodes(&dataset, [vec![0, 1, 2], vec![3], vec![4]]).is_ok());
    /// let error = FixedSplit::nodes(&dataset, [vec![0, 1, 2], vec![3], vec![2]]).unwrap_err();
    /// assert_eq!(error.to_string(), "leaders: node 2 is in the training part and in the test part of the split");
    /// # Ok::<(), nigh::Error>(())
    /// ```
    pub fn nodes(dataset: &Dataset, parts: [Vec<u32>; 3]) -> Result<FixedSplit> {
        let sample = only_graph(dataset)?;
        let wrong = |problem| Error::Split { dataset: dataset.name.clone(), graph: None, problem };
        let mut part_of: HashMap<u32, &str> = HashMap::new();
        for (part, nodes) in PARTS.into_iter().zip(&parts) {
            if nodes.is_empty() && part != PARTS[2] {
                return Err(wrong(SplitProblem::NothingGiven { part, what: "nodes" }));
            }
            for &node in nodes {
                known(sample, node)?;
                let name = || format!("node {}", sample.ids.name(node as usize));
                if !sample.is_labelled(node as usize) {
                    return Err(wrong(SplitProblem::WithoutLabel { node: name(), part }));
                }
                if let Some(other) = part_of.insert(node, part) {
                    return Err(wrong(SplitProblem::Twice { what: name(), parts: [other, part] }));
                }
            }
        }
        Ok(FixedSplit::Nodes(parts))
    }

    /// Pairs for validation and test of the only graph. Message passing may see the `train` edges, which are edges of the graph; without
    /// them it may see the whole graph. Either way a held-out edge that it could see is refused.
    ///
    /// ```
    /// use nigh::dataset::{Dataset, FixedPairs, FixedSplit};
    ///
    /// let dataset = Dataset::built_in("communities")?;
    /// let edges: Vec<[u32; 2]> = dataset.samples[0].graph.edges().collect();
    /// let pairs = |edges: &[[u32; 2]]| FixedPairs { positive: edges.to_vec(), negative: Vec::new() };
    /// let held_out = [pairs(&edges[..9]), pairs(&edges[9..20])];
    /// assert!(FixedSplit::pairs(&dataset, Some(edges[20..].to_vec()), held_out.clone()).is_ok());
    /// let error = FixedSplit::pairs(&dataset, None, held_out).unwrap_err();
    /// assert!(error.to_string().contains("20 held-out edges are among those that message passing sees"));
    /// # Ok::<(), nigh::Error>(())
    /// ```
    pub fn pairs(dataset: &Dataset, train: Option<Vec<[u32; 2]>>, held_out: [FixedPairs; 2]) -> Result<FixedSplit> {
        FixedSplit::checked_pairs(dataset, train, held_out, true)
    }

    /// As `pairs`. Where negatives were drawn loosely some may be edges.
    pub(super) fn checked_pairs(
        dataset: &Dataset,
        train: Option<Vec<[u32; 2]>>,
        held_out: [FixedPairs; 2],
        strict: bool,
    ) -> Result<FixedSplit> {
        let sample = only_graph(dataset)?;
        let wrong = |problem| Error::Split { dataset: dataset.name.clone(), graph: None, problem };
        let name = |[a, b]: [u32; 2]| format!("{} - {}", sample.ids.name(a as usize), sample.ids.name(b as usize));
        let check = |[a, b]: [u32; 2], part| {
            known(sample, a)?;
            known(sample, b)?;
            match a == b {
                true => Err(wrong(SplitProblem::SelfPair { node: sample.ids.name(a as usize).into(), part })),
                false => Ok(()),
            }
        };
        let mut listed: HashSet<[u32; 2]> = HashSet::new();
        for &edge in train.iter().flatten() {
            check(edge, PARTS[0])?;
            if !sample.graph.has_edge(edge[0], edge[1]) {
                return Err(wrong(SplitProblem::NotAnEdge { edge: name(edge) }));
            }
            if !listed.insert(sorted(edge)) {
                return Err(wrong(SplitProblem::Twice { what: name(edge), parts: [PARTS[0]; 2] }));
            }
        }
        if train.as_ref().is_some_and(Vec::is_empty) || sample.graph.num_edges() == 0 {
            return Err(wrong(SplitProblem::NothingGiven { part: PARTS[0], what: "edges" }));
        }
        let mut part_of: HashMap<[u32; 2], &str> = HashMap::new();
        for (part, pairs) in PARTS[1..].iter().copied().zip(&held_out) {
            if pairs.positive.is_empty() && (part != PARTS[2] || !pairs.negative.is_empty()) {
                return Err(wrong(SplitProblem::NothingGiven { part, what: "edges" }));
            }
            for &pair in &pairs.positive {
                check(pair, part)?;
                if let Some(other) = part_of.insert(sorted(pair), part) {
                    return Err(wrong(SplitProblem::Twice { what: name(pair), parts: [other, part] }));
                }
            }
        }
        let is_visible = |&pair: &[u32; 2]| match &train {
            Some(_) => listed.contains(&sorted(pair)),
            None => sample.graph.has_edge(pair[0], pair[1]),
        };
        let visible: Vec<[u32; 2]> =
            held_out.iter().flat_map(|pairs| &pairs.positive).copied().filter(is_visible).collect();
        if let Some(&first) = visible.first() {
            return Err(wrong(SplitProblem::Visible { count: visible.len(), first: name(first) }));
        }
        for (part, pairs) in PARTS[1..].iter().copied().zip(&held_out) {
            for &pair in &pairs.negative {
                check(pair, part)?;
                if strict && (part_of.contains_key(&sorted(pair)) || is_visible(&pair)) {
                    return Err(wrong(SplitProblem::EdgeAsNegative { pair: name(pair), part }));
                }
            }
        }
        Ok(match train {
            Some(train) => FixedSplit::Edges { train, held_out },
            None => FixedSplit::Pairs(held_out),
        })
    }

    /// The pairs for validation and test, if it is about pairs.
    pub fn held_out(&self) -> Option<&[FixedPairs; 2]> {
        match self {
            FixedSplit::Nodes(_) => None,
            FixedSplit::Pairs(held_out) | FixedSplit::Edges { held_out, .. } => Some(held_out),
        }
    }

    /// The same split with node `i` renumbered to `place[i]`.
    pub(super) fn renumbered(&self, place: &[u32]) -> FixedSplit {
        let node = |&node: &u32| place[node as usize];
        let pairs = |pairs: &Vec<[u32; 2]>| pairs.iter().map(|[a, b]| [node(a), node(b)]).collect();
        let held_out = |parts: &[FixedPairs; 2]| {
            parts.each_ref().map(|part| FixedPairs { positive: pairs(&part.positive), negative: pairs(&part.negative) })
        };
        match self {
            FixedSplit::Nodes(parts) => FixedSplit::Nodes(parts.each_ref().map(|part| part.iter().map(node).collect())),
            FixedSplit::Pairs(parts) => FixedSplit::Pairs(held_out(parts)),
            FixedSplit::Edges { train, held_out: parts } => {
                FixedSplit::Edges { train: pairs(train), held_out: held_out(parts) }
            }
        }
    }
}

fn only_graph(dataset: &Dataset) -> Result<&Sample> {
    match &dataset.samples[..] {
        [sample] => Ok(sample),
        samples => Err(Error::SeveralGraphs { count: samples.len() }),
    }
}

fn sorted([a, b]: [u32; 2]) -> [u32; 2] {
    [a.min(b), a.max(b)]
}

fn known(sample: &Sample, node: u32) -> Result<()> {
    match sample.graph.num_nodes() {
        count if node as usize >= count => Err(Error::OutOfRange { what: "node", number: node as usize, count }),
        _ => Ok(()),
    }
}
