//! An architecture: branches side by side and the head over them.

use super::proximity::{self, PairSource};
use super::{Decoder, Head, Heuristic};
use crate::dataset::Features;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::linalg::half::Storage;
use crate::models::encoder::Encoder;
use crate::source::Source;
use std::sync::Arc;

/// One branch: sources and the message passing they go through.
#[derive(Debug, Clone)]
pub struct Branch {
    /// What enters, side by side.
    pub sources: Vec<Source>,
    /// What it goes through.
    pub encoder: Arc<dyn Encoder>,
    /// Whether rows are scaled to length one before they stand beside those of the other branches.
    pub l2_normalize: bool,
}

/// A row of the catalog: branches side by side and the head over them.
#[derive(Debug, Clone)]
pub struct Architecture {
    /// In the order in which they stand side by side; none for a heuristic.
    pub branches: Vec<Branch>,
    /// `F_output`.
    pub head: Head,
    /// What scores pairs in the place of representations.
    pub heuristic: Option<Heuristic>,
    /// What is known of a pair before anything is learnt, under the decoder `proximity`.
    pub pair_sources: Vec<PairSource>,
}

/// Matrices of `N × C` numbers in training: scores and their gradient. Measured with 1,000 classes:
/// 2.1 for sgc, 7.2 for gcn.
const PLAIN: u64 = 2;

/// As above under a gated head, whose branches all have scores, and one of which knows the labels around a node at several
/// distances. Measured: 51.
const GATED: u64 = 48;

impl Architecture {
    /// Whether the output can be as wide as there are classes, and carries over to nodes without a label.
    pub fn can_classify(&self) -> bool {
        let as_wide = self.head != Head::Identity || self.branches.len() == 1;
        !self.has_pair_features() && as_wide && self.branches.iter().any(|branch| branch.encoder.generalises())
    }

    /// How rows are stored between hops, if any branch keeps them.
    pub fn hop_storage(&self) -> Option<Storage> {
        self.branches.iter().find_map(|branch| branch.encoder.hop_storage())
    }

    /// Whether a source takes part.
    pub fn uses(&self, source: Source) -> bool {
        let projects = source == Source::Features && self.projects_features();
        projects || self.branches.iter().any(|branch| branch.sources.contains(&source))
    }

    /// Whether features are seen in their leading directions.
    pub(super) fn projects_features(&self) -> bool {
        self.pair_sources.contains(&PairSource::Similarities)
            || self.branches.iter().any(|branch| branch.sources.contains(&Source::Directions))
    }

    /// Whether all that is learnt belongs to single nodes, so that nothing carries over to another graph.
    pub fn knows_nodes_alone(&self) -> bool {
        !self.branches.is_empty() && self.branches.iter().all(|branch| branch.sources == [Source::OneHot])
    }

    /// Whether training changes anything, in the model or in its decoder.
    pub fn learns(&self, classifies: bool, decoder: Decoder) -> bool {
        self.head != Head::Identity
            || self.branches.iter().any(|branch| branch.encoder.learns(classifies))
            || (!classifies && decoder.learns())
    }

    /// Whether scores of pairs under a decoder are logits: learnt by binary cross-entropy, and of any size.
    pub fn gives_logits(&self, decoder: Decoder) -> bool {
        self.heuristic.is_none() && decoder.is_unbounded() && self.learns(false, decoder)
    }

    /// Matrices of `N × C` numbers that training holds at once, at least.
    pub(crate) fn class_matrices(&self) -> u64 {
        if self.head == Head::Gated { GATED } else { PLAIN }
    }

    /// Whether it represents nodes, and does not only score pairs.
    pub(crate) fn has_representations(&self) -> bool {
        self.heuristic.is_none()
    }

    /// How pairs are scored where the user leaves it open.
    pub(crate) fn usual_decoder(&self) -> Decoder {
        match self.heuristic {
            _ if self.has_pair_features() => Decoder::Proximity,
            Some(_) => Decoder::Graph,
            None => Decoder::Cosine,
        }
    }

    /// Refuses a decoder that the model has nothing for.
    pub(crate) fn check_decoder(&self, model: &str, decoder: Decoder) -> Result<()> {
        let usual = self.usual_decoder();
        let is_special = |decoder: Decoder| matches!(decoder, Decoder::Graph | Decoder::Proximity);
        let problem = match (usual, decoder) {
            _ if usual == decoder || !(is_special(usual) || is_special(decoder)) => return Ok(()),
            (Decoder::Graph, _) => {
                format!("{model} counts in the graph and has no representations to decode; leave it out")
            }
            (_, Decoder::Graph) => {
                format!("it belongs to heuristics like {}; {model} has representations to decode", Heuristic::ALL[0])
            }
            (Decoder::Proximity, _) => format!("{model} scores pairs by all that it knows of them; leave it out"),
            _ => format!("it belongs to {}; {model} knows representations alone", proximity::NAME),
        };
        Err(Error::setting("decoder", decoder, problem))
    }

    /// Whether pairs have features of their own, by which they are scored.
    pub fn has_pair_features(&self) -> bool {
        !self.pair_sources.is_empty()
    }

    /// The name of the weight that features of a graph are multiplied by before message passing, if they are so wide and sparse that
    /// it pays.
    pub(crate) fn maps_first(&self, graph: &Graph, features: &Features) -> Option<String> {
        let Features::Sparse(matrix) = features else { return None };
        let mut of_features = self.branches.iter().filter(|branch| branch.sources == [Source::Features]);
        of_features
            .find_map(|branch| Some(format!("{}/{}", branch.prefix(), branch.encoder.maps_first(graph, matrix)?)))
    }
}

impl Branch {
    /// Its sources by name, in front of the names of its weights.
    pub(super) fn prefix(&self) -> String {
        self.sources.iter().map(|source| source.name()).collect::<Vec<_>>().join("+")
    }
}
