//! What a model brings along where the user leaves a choice open: its widths and its schedule. The paper's models bring the
//! settings of its appendix.

use super::adam::Optimizer;
use super::schedule::Schedule;
use crate::error::Result;
use crate::model::Dimensions;
use crate::model::catalog;
use crate::source::Reconstruction;
use crate::task::Masking;

/// The settings of a model on data of some dimensions. What the user sets goes before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Preset {
    pub hops: usize,
    pub width: usize,
    pub dropout: f32,
    pub signal_dim: usize,
    pub epochs: usize,
    pub learning_rate: f32,
    pub weight_decay: f32,
    pub decay_at: usize,
    pub optimizer: Optimizer,
    pub schedule: Schedule,
    /// `None` leaves it to the decoder.
    pub batch_size: Option<usize>,
    pub evaluate_every: usize,
    pub mask_training_pairs: Masking,
    pub negatives_per_positive: usize,
    pub reconstruction: Reconstruction,
}

impl Preset {
    /// Nodes from which models of our own are narrower, for the sake of memory.
    const MANY_NODES: usize = 100_000;

    /// The paper's appendix.
    pub const PAPER: Preset = Preset {
        hops: 2,
        width: 32,
        dropout: 0.5,
        signal_dim: 32,
        epochs: 1000,
        learning_rate: 0.01,
        weight_decay: 5e-4,
        decay_at: 200,
        optimizer: Optimizer::Adam,
        schedule: Schedule::Step,
        batch_size: None,
        evaluate_every: 5,
        mask_training_pairs: Masking::None,
        negatives_per_positive: 1,
        reconstruction: Reconstruction::None,
    };

    /// Links by `smp-proximity` in graphs without features: a small head over a few dozen numbers.
    const PROXIMITY: Preset = Preset {
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

    /// Links by `smp-proximity` in graphs with features: a step for every fold, if that is not too large for memory.
    const PROXIMITY_WITH_FEATURES: Preset = Preset {
        width: 256,
        dropout: 0.5,
        epochs: 40,
        learning_rate: 0.004,
        batch_size: Some(1 << 15),
        evaluate_every: 2,
        negatives_per_positive: 1,
        ..Preset::PROXIMITY
    };

    /// The same in large graphs: narrower for the sake of memory, and shorter, since every step passes over all edges.
    const PROXIMITY_WITH_FEATURES_OF_MANY_NODES: Preset =
        Preset { width: 64, epochs: 15, ..Preset::PROXIMITY_WITH_FEATURES };

    /// Links by `smp-proximity` in dense graphs without features: pairs are many, and soon they teach the head nothing new.
    const PROXIMITY_OF_MANY_EDGES: Preset =
        Preset { epochs: 15, learning_rate: 0.003, batch_size: Some(4096), ..Preset::PROXIMITY };

    /// The same in graphs so large that propagation takes most of the time.
    const PROXIMITY_OF_HUNDREDS_OF_MILLIONS: Preset = Preset { signal_dim: 128, ..Preset::PROXIMITY };

    /// Edges from which that is so.
    const HUNDREDS_OF_MILLIONS: usize = 300_000_000;

    /// Edges per node from which a graph is dense.
    const EDGES_PER_NODE: usize = 50;

    /// Nodes of the largest graph whose edges are reconstructed: the inverse of every view takes 400 MB.
    const MAX_RECONSTRUCTED: usize = 10_000;

    /// Classes by `smp-gated`.
    const GATED: Preset = Preset {
        hops: 5,
        width: 64,
        signal_dim: 256,
        epochs: 200,
        weight_decay: 3e-3,
        decay_at: 0,
        evaluate_every: 4,
        ..Preset::PAPER
    };

    /// Classes by `smp-gated` in a graph of some size: the signal takes as much memory in a large one as in a small one.
    fn gated(nodes: usize) -> Preset {
        let widest = Preset::GATED.signal_dim;
        Preset {
            width: if nodes < Preset::MANY_NODES { Preset::GATED.width } else { Preset::GATED.width / 2 },
            signal_dim: ((1 << 24) / nodes.max(1)).clamp(widest / 16, widest),
            ..Preset::GATED
        }
    }

    /// What a model of the catalog brings along.
    pub fn of(model: &str, dimensions: Dimensions) -> Result<Preset> {
        let row = catalog::find(model)?;
        Ok(match row.name {
            "smp-proximity" if dimensions.features > 0 => match dimensions.nodes {
                ..Preset::MANY_NODES => Preset::PROXIMITY_WITH_FEATURES,
                _ => Preset::PROXIMITY_WITH_FEATURES_OF_MANY_NODES,
            },
            "smp-proximity" if dimensions.edges >= Preset::HUNDREDS_OF_MILLIONS => {
                Preset::PROXIMITY_OF_HUNDREDS_OF_MILLIONS
            }
            "smp-proximity" if dimensions.edges >= Preset::EDGES_PER_NODE * dimensions.nodes => {
                let is_small = dimensions.nodes <= Preset::MAX_RECONSTRUCTED;
                let reconstruction = if is_small { Reconstruction::Ridge } else { Reconstruction::None };
                Preset { reconstruction, ..Preset::PROXIMITY_OF_MANY_EDGES }
            }
            "smp-proximity" => Preset::PROXIMITY,
            "smp-gated" => Preset::gated(dimensions.nodes),
            _ => Preset { dropout: row.dropout, ..Preset::PAPER },
        })
    }
}
