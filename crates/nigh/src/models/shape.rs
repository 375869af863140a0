//! What turns an architecture into a model: its widths, its signal and what it answers.

use super::{Architecture, Decoder, PairSource, Scoring};
use crate::dataset::Dataset;
use crate::propagation::Proximities;
use crate::source::labels::LabelKind;
use crate::source::{Refresh, Signal, SignalScale, Source};

/// What a model answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Answer {
    /// A score for each of this many classes, per node.
    Classes(usize),
    /// A score for each of this many classes, per node, each decided on its own: a node may have several.
    Sets(usize),
    /// A score for a pair of nodes.
    Scores(Scoring),
}

/// The dimensions of the data on which the shape of a model depends.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Dimensions {
    /// Features per node, 0 for none.
    pub features: usize,
    /// Classes, 0 for none.
    pub classes: usize,
    /// Whether a node may have several.
    pub multi_label: bool,
    /// Nodes of the largest graph.
    pub nodes: usize,
    /// Edges of all graphs.
    pub edges: usize,
}

impl Dimensions {
    /// Those of a dataset.
    pub fn of(dataset: &Dataset) -> Dimensions {
        let nodes = dataset.samples.iter().map(|sample| sample.graph.num_nodes()).max();
        Dimensions {
            features: dataset.samples.first().map_or(0, |sample| sample.features.count()),
            classes: dataset.class_names.len(),
            multi_label: dataset.is_multi_label(),
            nodes: nodes.unwrap_or(0),
            edges: dataset.num_edges(),
        }
    }
}

/// What turns an architecture into a model: its widths, its signal and what it answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Shape {
    /// `d0`, the width of `F`.
    pub num_features: usize,
    /// How many nodes can be known by their ids: those of the largest graph.
    pub num_ids: usize,
    /// Width of the representation.
    pub width: usize,
    /// Distribution of `E`.
    pub signal: Signal,
    /// `d`, the width of `E`, or of what takes its place.
    pub signal_dim: usize,
    /// Scale of `E`.
    pub signal_scale: SignalScale,
    /// Whether `E` stays the same.
    pub refresh: Refresh,
    /// How walk proximities are computed.
    pub proximities: Proximities,
    /// The length of the longest walks between pairs.
    pub longest_walk: usize,
    /// Classes or scores.
    pub answer: Answer,
}

impl Default for Shape {
    /// The paper's, for links in a graph without features.
    fn default() -> Shape {
        Shape {
            num_features: 1,
            num_ids: 0,
            width: 32,
            signal: Signal::Gaussian,
            signal_dim: 32,
            signal_scale: SignalScale::InverseSqrt,
            refresh: Refresh::Fixed,
            proximities: Proximities::Exact,
            longest_walk: 6,
            answer: Answer::Scores(Scoring { decoder: Decoder::Cosine, hidden: 32, dropout: 0.5 }),
        }
    }
}

impl Shape {
    /// The shape without what the architecture does not use. Widths and lengths show in its weights.
    pub fn in_use(self, architecture: &Architecture) -> Shape {
        let (shape, usual) = (self, Shape::default());
        let uses_signal = architecture.uses(Source::Signal);
        let walks = architecture.pair_sources.contains(&PairSource::Walks);
        let is_estimated = walks && shape.proximities == Proximities::Estimated;
        let uses_width = uses_signal || is_estimated || architecture.uses(Source::Eigenvectors);
        Shape {
            // Vectors of a model with pair features are made from it as well.
            signal: if uses_signal || architecture.has_pair_features() { shape.signal } else { usual.signal },
            signal_dim: if uses_width { shape.signal_dim } else { usual.signal_dim },
            signal_scale: if uses_signal { shape.signal_scale } else { usual.signal_scale },
            refresh: if uses_signal { shape.refresh } else { usual.refresh },
            num_features: if architecture.uses(Source::Features) { shape.num_features } else { usual.num_features },
            proximities: if walks { shape.proximities } else { usual.proximities },
            answer: match (shape.answer, usual.answer) {
                (Answer::Scores(scoring), Answer::Scores(usual)) => Answer::Scores(match scoring.decoder {
                    Decoder::HadamardMlp | Decoder::Proximity => scoring,
                    decoder => Scoring { decoder, ..usual },
                }),
                (answer, _) => answer,
            },
            ..shape
        }
    }

    pub(super) fn label_kind(&self) -> LabelKind {
        match self.answer {
            Answer::Sets(_) => LabelKind::Several,
            Answer::Classes(_) | Answer::Scores(_) => LabelKind::One,
        }
    }

    pub(super) fn num_classes(&self) -> Option<usize> {
        match self.answer {
            Answer::Classes(classes) | Answer::Sets(classes) => Some(classes),
            Answer::Scores(_) => None,
        }
    }
}
