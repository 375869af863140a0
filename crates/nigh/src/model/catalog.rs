//! Every model as one row: sources, encoders, head. A new model is a new row, never a new loop.

use super::{Architecture, Branch, Head, Heuristic, PairSource};
use crate::encoder::{
    Encoder, Gat, Gcn, Gin, HiddenLayer, HopBlend, HopMixture, LabelVote, Layers, Linear, Neighbourhoods, PGnn,
    Propagated, RandomPropagation, Sage, SkipGram, Table,
};
use crate::error::{Error, Result};
use crate::linalg::half::Storage;
use crate::names::named;
use crate::source::{Node2Vec, Reconstruction, Source};
use std::sync::Arc;

/// A model by name.
#[derive(Debug, Clone, Copy)]
pub struct CatalogModel {
    /// What users type.
    pub name: &'static str,
    /// A line about it.
    pub about: &'static str,
    /// Dropout probability unless the user sets it.
    pub dropout: f32,
    build: fn(&Hyperparameters) -> Architecture,
}

/// The settings from which a row builds its encoders and head.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hyperparameters {
    /// `K`: propagation steps, or layers.
    pub hops: usize,
    /// How rows are stored between hops.
    pub hop_storage: Storage,
    /// Width of hidden layers.
    pub width: usize,
    /// Dropout probability.
    pub dropout: f32,
    /// Width of node2vec's vectors.
    pub signal_dim: usize,
    /// Random walks of node2vec.
    pub walks: Node2Vec,
    /// Whether nodes have features, which leave out branches if not.
    pub has_features: bool,
    /// Whether nodes have learnt rows of their own.
    pub node_table: NodeTable,
    /// Whether `smp-proximity` reconstructs the edges of a node from those of others.
    pub reconstruction: Reconstruction,
}

impl Default for Hyperparameters {
    /// The paper's.
    fn default() -> Hyperparameters {
        Hyperparameters {
            hops: 2,
            hop_storage: Storage::Single,
            width: 32,
            dropout: 0.5,
            signal_dim: 32,
            walks: Node2Vec::default(),
            has_features: true,
            node_table: NodeTable::None,
            reconstruction: Reconstruction::None,
        }
    }
}

impl Hyperparameters {
    fn layers(&self) -> Layers {
        Layers { count: self.hops, hidden: self.width, dropout: self.dropout }
    }

    fn mlp(&self) -> Head {
        Head::Mlp { hidden: self.width, dropout: self.dropout }
    }
}

named! {
    /// Whether every node has a row of numbers that is learnt for it, beside what it has in common with others.
    pub enum NodeTable, "kind of node table" {
        /// It has not: nothing that is learnt belongs to a single node.
        None = "none",
        /// It has, and messages pass about it.
        Learnt = "learnt",
    }
}

/// Dropout probability of what `smp-proximity` knows of the features around a node: they are in a few directions already.
const BLEND_DROPOUT: f32 = 0.1;

/// Rows of `Ã^k X̂ V` that are shorter are not scaled to length one. Rows of `X̂` have length one.
const SHORTEST_DIRECTIONS: f32 = 1e-3;

/// Distances at which `smp-gated` hears the signal.
const SIGNAL_HOPS: usize = 4;

/// All models, in the order in which they are listed.
pub const MODELS: &[CatalogModel] = &[
    row("smp-linear", "Ã^K E and Ã^K F under a linear map: the paper's main model", |h| {
        model([features().linear(h).l2_normalize(), signal().propagated(h)]).head(Head::Linear)
    }),
    row("smp-identity", "Ã^K E and Ã^K F side by side, nothing learnt on top", |h| {
        model([features().linear(h).l2_normalize(), signal().propagated(h)])
    }),
    row("smp-mlp", "Ã^K E and Ã^K F under one hidden layer", |h| {
        model([features().linear(h).l2_normalize(), signal().propagated(h)]).head(h.mlp())
    }),
    row("smp-linear-gcn-feat", "Ã^K E and a GCN over F under a linear map", |h| {
        model([features().gcn(h).l2_normalize(), signal().propagated(h)]).head(Head::Linear)
    }),
    row("smp-linear-gcn-both", "a GCN over E and a GCN over F under a linear map", |h| {
        model([features().gcn(h), signal().gcn(h)]).head(Head::Linear)
    }),
    row("smp-attention", "Ã^K E and Ã^K F, weighed against each other by every node", |h| {
        model([features().linear(h).l2_normalize(), signal().propagated(h)]).head(Head::Attention)
    }),
    row("smp-gin", "a GIN over E (Theorem 3) and Ã^K F under a linear map", |h| {
        let gin = Gin { layers: h.layers() };
        model([features().linear(h).l2_normalize(), signal().through(gin)]).head(Head::Linear)
    }),
    row("smp-signal", "Ã^K E alone under a linear map: where a node is, not what", |h| {
        model([signal().propagated(h)]).head(Head::Linear)
    }),
    row(
        "smp-proximity",
        "walk proximities of several lengths, degrees and features of both nodes under one pair head",
        |h| {
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
        },
    ),
    row(
        "smp-gated",
        "features, labels around a node, structure and signal, each with a head, weighed by validation",
        |h| {
            let dropout = h.dropout;
            let propagation =
                RandomPropagation { hops: h.hops, input_dropout: dropout, node_dropout: dropout, dropout };
            let of_features =
                [features().through(propagation), features().through(Neighbourhoods { hops: 2, dropout })];
            let of_all = [
                labels().through(LabelVote),
                labels().and(Source::Structure).through(HiddenLayer { dropout }),
                signal().through(HopBlend { hops: 1..=SIGNAL_HOPS, shortest: 0.0, dropout }),
            ];
            let branches = of_features.into_iter().filter(|_| h.has_features).chain(of_all).collect();
            Architecture { branches, ..model([]) }.head(Head::Gated)
        },
    ),
    row("sgc", "Ã^K F W + b: what a node is, not where", |h| model([features().linear(h)])),
    row("gcn", "graph convolutions over F: what a node is, not where", |h| model([features().gcn(h)])),
    row("gat", "attention over neighbours: what a node is, not where", |h| {
        model([features().through(Gat { layers: h.layers(), heads: 4 })])
    })
    .with_dropout(0.6),
    row("graphsage", "means of neighbours beside a node's own: what it is, not where", |h| {
        model([features().through(Sage { layers: h.layers(), storage: h.hop_storage })])
    }),
    row("p-gnn", "messages from the nearest of random anchors: where a node is", |h| {
        model([features().through(PGnn { layers: h.layers() })])
    }),
    row("gcn-onehot", "a GCN over F and one-hot ids: a learnt row per node", |h| {
        model([features().and(Source::OneHot).gcn(h)])
    }),
    row("eigen-gnn", "a GCN over F and the leading eigenvectors of A", |h| {
        model([features().and(Source::Eigenvectors).gcn(h)])
    }),
    row("node2vec", "skip-gram over random walks, without features", |h| {
        model([ids().through(SkipGram { walks: h.walks, dim: h.signal_dim })])
    }),
    row("matrix-factorization", "a learnt row per node, without features or messages", |_| {
        model([ids().through(Table)])
    }),
    row("common-neighbors", "untrained: how many neighbours two nodes share", |_| {
        heuristic(Heuristic::CommonNeighbors)
    }),
    row("adamic-adar", "untrained: shared neighbours, rare ones count more", |_| heuristic(Heuristic::AdamicAdar)),
    row("resource-allocation", "untrained: shared neighbours, each shared among its own", |_| {
        heuristic(Heuristic::ResourceAllocation)
    }),
    row("preferential-attachment", "untrained: the product of both degrees", |_| {
        heuristic(Heuristic::PreferentialAttachment)
    }),
    row("katz", "untrained: walks between two nodes, short ones count more", |_| heuristic(Heuristic::Katz)),
];

const fn row(name: &'static str, about: &'static str, build: fn(&Hyperparameters) -> Architecture) -> CatalogModel {
    CatalogModel { name, about, dropout: 0.5, build }
}

impl CatalogModel {
    const fn with_dropout(self, dropout: f32) -> CatalogModel {
        CatalogModel { dropout, ..self }
    }

    /// The architecture with these settings.
    pub fn architecture(&self, hyperparameters: &Hyperparameters) -> Architecture {
        (self.build)(hyperparameters)
    }
}

/// The model of a name.
pub fn find(name: &str) -> Result<&'static CatalogModel> {
    MODELS.iter().find(|model| model.name == name).ok_or_else(|| Error::UnknownName {
        kind: "model",
        name: name.to_string(),
        known: MODELS.iter().map(|model| model.name.to_string()).collect(),
    })
}

/// The architecture behind a name.
///
/// ```
/// use nigh::model::catalog::{Hyperparameters, architecture};
///
/// assert_eq!(architecture("smp-linear", &Hyperparameters::default())?.branches.len(), 2);
/// assert!(architecture("smp-lineal", &Hyperparameters::default()).is_err());
/// # Ok::<(), nigh::Error>(())
/// ```
pub fn architecture(name: &str, hyperparameters: &Hyperparameters) -> Result<Architecture> {
    Ok(find(name)?.architecture(hyperparameters))
}

/// Branches side by side, with nothing on top.
pub fn model<const N: usize>(branches: [Branch; N]) -> Architecture {
    Architecture { branches: branches.into(), head: Head::Identity, heuristic: None, pair_sources: Vec::new() }
}

fn heuristic(heuristic: Heuristic) -> Architecture {
    Architecture { heuristic: Some(heuristic), ..model([]) }
}

impl Architecture {
    /// With `F_output`.
    pub fn head(self, head: Head) -> Architecture {
        Architecture { head, ..self }
    }
}

/// `F -> ...`
pub fn features() -> Sources {
    Sources(vec![Source::Features])
}

/// `E -> ...`
pub fn signal() -> Sources {
    Sources(vec![Source::Signal])
}

/// Labels of training nodes `-> ...`
pub fn labels() -> Sources {
    Sources(vec![Source::Labels])
}

/// `X̂ V -> ...`
pub fn directions() -> Sources {
    Sources(vec![Source::Directions])
}

/// `I -> ...`
pub fn ids() -> Sources {
    Sources(vec![Source::OneHot])
}

/// Sources that wait for their encoder.
#[derive(Debug, Clone)]
pub struct Sources(Vec<Source>);

impl Sources {
    /// With another source beside.
    pub fn and(mut self, source: Source) -> Sources {
        self.0.push(source);
        self
    }

    /// `-> Ã^K X`
    pub fn propagated(self, h: &Hyperparameters) -> Branch {
        self.through(Propagated { hops: h.hops, storage: h.hop_storage })
    }

    /// `-> Ã^K X W + b`
    pub fn linear(self, h: &Hyperparameters) -> Branch {
        self.through(Linear { hops: h.hops, storage: h.hop_storage })
    }

    /// `-> graph convolutions`
    pub fn gcn(self, h: &Hyperparameters) -> Branch {
        self.through(Gcn { layers: h.layers(), storage: h.hop_storage })
    }

    /// `->` an encoder of your own.
    pub fn through(self, encoder: impl Encoder + 'static) -> Branch {
        Branch { sources: self.0, encoder: Arc::new(encoder), l2_normalize: false }
    }
}

impl Branch {
    /// Rows scaled to length one.
    pub fn l2_normalize(self) -> Branch {
        Branch { l2_normalize: true, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_heuristics_stand_under_their_own() {
        for (at, row) in MODELS.iter().enumerate() {
            assert!(MODELS[..at].iter().all(|other| other.name != row.name), "{}", row.name);
            let architecture = row.architecture(&Hyperparameters::default());
            assert!(architecture.heuristic.is_none_or(|heuristic| heuristic.name() == row.name), "{}", row.name);
        }
        for heuristic in Heuristic::ALL {
            assert!(find(heuristic.name()).is_ok(), "{heuristic}");
        }
    }
}
