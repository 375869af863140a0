//! Classes from several views of a node: features, labels around it, structure and signal, each with a head, weighed by validation.

pub(crate) mod gate;

use super::catalog::{CatalogModel, Hyperparameters, Role, features, labels, model, signal};
use super::encoder::{HiddenLayer, HopBlend, LabelVote, Neighbourhoods, RandomPropagation};
use super::preset::Preset;
use super::{Architecture, Dimensions, Head};
use crate::choices::Task;
use crate::source::Source;

pub(super) const MODELS: &[CatalogModel] = &[CatalogModel::new(
    "smp-gated",
    "features, labels around a node, structure and signal, each with a head, weighed by validation",
    architecture,
)
.with_preset(preset)
.with_roles(&[Role::Default(Task::NodeClassification, "the default for classes, with or without features")])];

/// Distances at which the signal is heard.
const SIGNAL_HOPS: usize = 4;

fn architecture(h: &Hyperparameters) -> Architecture {
    let dropout = h.dropout;
    let propagation = RandomPropagation { hops: h.hops, input_dropout: dropout, node_dropout: dropout, dropout };
    let of_features = [features().through(propagation), features().through(Neighbourhoods { hops: 2, dropout })];
    let of_all = [
        labels().through(LabelVote),
        labels().and(Source::Structure).through(HiddenLayer { dropout }),
        signal().through(HopBlend { hops: 1..=SIGNAL_HOPS, shortest: 0.0, dropout }),
    ];
    let branches = of_features.into_iter().filter(|_| h.has_features).chain(of_all).collect();
    Architecture { branches, ..model([]) }.head(Head::Gated)
}

const SMALL: Preset = Preset {
    hops: 5,
    width: 64,
    signal_dim: 256,
    epochs: 200,
    weight_decay: 3e-3,
    decay_at: 0,
    evaluate_every: 4,
    ..Preset::PAPER
};

/// The signal takes as much memory in a large graph as in a small one.
fn preset(Dimensions { nodes, .. }: Dimensions) -> Preset {
    let widest = SMALL.signal_dim;
    Preset {
        width: if nodes < Preset::MANY_NODES { SMALL.width } else { SMALL.width / 2 },
        signal_dim: ((1 << 24) / nodes.max(1)).clamp(widest / 16, widest),
        ..SMALL
    }
}
