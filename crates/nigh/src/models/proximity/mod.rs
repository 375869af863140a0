//! Links from numbers of pairs: walk proximities, degrees, shared neighbours and features under one pair head.

pub(crate) mod expected_pairs;
pub(crate) mod pair_head;
pub(crate) mod pair_scalars;
pub(crate) mod projection;
pub(crate) mod vectors;
mod without;

pub use pair_scalars::PairSource;
pub use without::Without;

use super::catalog::{CatalogModel, Hyperparameters, NodeTable, Role, directions, ids, model};
use super::encoder::{HopBlend, HopMixture};
use super::preset::Preset;
use super::{Architecture, Dimensions};
use crate::choices::{Masking, Optimizer, Schedule, Task};
use crate::source::Reconstruction;

/// The model that the settings of pairs belong to.
pub(crate) const NAME: &str = "smp-proximity";

pub(super) const MODELS: &[CatalogModel] = &[CatalogModel::new(
    NAME,
    "walk proximities of several lengths, degrees and features of both nodes under one pair head",
    architecture,
)
.with_preset(preset)
.with_roles(&[Role::Default(Task::LinkPrediction, "the default for links, with or without features"), Role::Compared])];

/// Dropout probability of what is known of the features around a node: they are in a few directions already.
const BLEND_DROPOUT: f32 = 0.1;

/// Rows of `Ã^k X̂ V` that are shorter are not scaled to length one. Rows of `X̂` have length one.
const SHORTEST_DIRECTIONS: f32 = 1e-3;

fn architecture(h: &Hyperparameters) -> Architecture {
    let mut sources = vec![PairSource::Walks, PairSource::Degrees, PairSource::SharedNeighbours];
    let mut branches = Vec::new();
    if h.has_features {
        sources.push(PairSource::Similarities);
        branches.push(directions().through(HopBlend {
            hops: 0..=h.hops,
            shortest: SHORTEST_DIRECTIONS,
            dropout: BLEND_DROPOUT,
        }));
    }
    if h.reconstruction == Reconstruction::Ridge {
        sources.push(PairSource::Reconstruction);
    }
    if h.node_table == NodeTable::Learnt {
        branches.push(ids().through(HopMixture { hops: h.hops }));
    }
    Architecture { branches, pair_sources: sources, ..model([]) }
}

/// Graphs without features: a small head over a few dozen numbers.
const WITHOUT_FEATURES: Preset = Preset {
    dropout: 0.2,
    signal_dim: 256,
    epochs: 30,
    learning_rate: 0.006,
    weight_decay: 0.0,
    decay_at: 0,
    optimizer: Optimizer::AdamW,
    schedule: Schedule::Cosine,
    batch_size: Some(256),
    evaluate_every: 1,
    mask_training_pairs: Masking::Folds,
    negatives_per_positive: 2,
    ..Preset::PAPER
};

/// Graphs with features: a step for every fold, if that is not too large for memory.
const WITH_FEATURES: Preset = Preset {
    width: 256,
    dropout: 0.5,
    epochs: 40,
    learning_rate: 0.004,
    batch_size: Some(1 << 15),
    evaluate_every: 2,
    negatives_per_positive: 1,
    ..WITHOUT_FEATURES
};

/// The same in large graphs: narrower for the sake of memory, and shorter, since every step passes over all edges.
const WITH_FEATURES_OF_MANY_NODES: Preset = Preset { width: 64, epochs: 15, ..WITH_FEATURES };

/// Dense graphs without features: pairs are many, and soon they teach the head nothing new.
const OF_MANY_EDGES: Preset = Preset { epochs: 15, learning_rate: 0.003, batch_size: Some(4096), ..WITHOUT_FEATURES };

/// Graphs so large that propagation takes most of the time.
const OF_HUNDREDS_OF_MILLIONS: Preset = Preset { signal_dim: 128, ..WITHOUT_FEATURES };

/// Edges from which that is so.
const HUNDREDS_OF_MILLIONS: usize = 300_000_000;

/// Edges per node from which a graph is dense.
const EDGES_PER_NODE: usize = 50;

/// Nodes of the largest graph whose edges are reconstructed: the inverse of every view takes 400 MB.
const MAX_RECONSTRUCTED: usize = 10_000;

fn preset(dimensions: Dimensions) -> Preset {
    if dimensions.features > 0 {
        return if dimensions.nodes < Preset::MANY_NODES { WITH_FEATURES } else { WITH_FEATURES_OF_MANY_NODES };
    }
    if dimensions.edges >= HUNDREDS_OF_MILLIONS {
        OF_HUNDREDS_OF_MILLIONS
    } else if dimensions.edges >= EDGES_PER_NODE * dimensions.nodes {
        let is_small = dimensions.nodes <= MAX_RECONSTRUCTED;
        let reconstruction = if is_small { Reconstruction::Ridge } else { Reconstruction::None };
        Preset { reconstruction, ..OF_MANY_EDGES }
    } else {
        WITHOUT_FEATURES
    }
}
