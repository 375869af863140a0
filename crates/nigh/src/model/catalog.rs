//! Every model as one row: sources, encoders, head. A new model is a new row, never a new loop.

use super::{Architecture, Branch, Head};
use crate::encoder::{Encoder, Gat, Gcn, Gin, Linear, PGnn, Propagated, Sage, SkipGram, Table};
use crate::error::Result;
use crate::names::one_of;
use crate::source::Source;
use std::sync::Arc;

/// The names that users type, and a line about each.
pub const MODELS: &[(&str, &str)] = &[
    ("smp-linear", "Ã^K E and Ã^K F under a linear map: the paper's main model"),
    ("smp-identity", "Ã^K E and Ã^K F side by side, nothing learnt on top"),
    ("smp-mlp", "Ã^K E and Ã^K F under one hidden layer"),
    ("smp-linear-gcn-feat", "Ã^K E and a GCN over F under a linear map"),
    ("smp-linear-gcn-both", "a GCN over E and a GCN over F under a linear map"),
    ("smp-attention", "Ã^K E and Ã^K F, weighed against each other by every node"),
    ("smp-gin", "a GIN over E (Theorem 3) and Ã^K F under a linear map"),
    ("sgc", "Ã^K F W + b: what a node is, not where"),
    ("gcn", "graph convolutions over F: what a node is, not where"),
    ("gat", "attention over neighbours: what a node is, not where"),
    ("graphsage", "means of neighbours beside a node's own: what it is, not where"),
    ("p-gnn", "messages from the nearest of random anchors: where a node is"),
    ("gcn-onehot", "a GCN over F and one-hot ids: learns every node by heart"),
    ("eigen-gnn", "a GCN over F and the leading eigenvectors of A"),
    ("node2vec", "skip-gram over random walks, without features"),
    ("matrix-factorization", "a learnt row per node, without features or messages"),
    ("common-neighbors", "untrained: how many neighbours two nodes share"),
    ("adamic-adar", "untrained: shared neighbours, rare ones count more"),
    ("resource-allocation", "untrained: shared neighbours, each shared among its own"),
    ("katz", "untrained: walks between two nodes, short ones count more"),
];

/// The architecture behind a name.
///
/// ```
/// assert_eq!(nigh::model::catalog::architecture("smp-linear")?.branches.len(), 2);
/// assert!(nigh::model::catalog::architecture("smp-lineal").is_err());
/// # Ok::<(), nigh::Error>(())
/// ```
pub fn architecture(name: &str) -> Result<Architecture> {
    find(name)?;
    Ok(match name {
        "smp-linear" => model([features().linear().l2_normalize(), signal().propagated()]).head(Head::Linear),
        "smp-identity" => model([features().linear().l2_normalize(), signal().propagated()]),
        "smp-mlp" => model([features().linear().l2_normalize(), signal().propagated()]).head(Head::Mlp),
        "smp-linear-gcn-feat" => model([features().gcn().l2_normalize(), signal().propagated()]).head(Head::Linear),
        "smp-linear-gcn-both" => model([features().gcn(), signal().gcn()]).head(Head::Linear),
        "smp-attention" => model([features().linear().l2_normalize(), signal().propagated()]).head(Head::Attention),
        "smp-gin" => model([features().linear().l2_normalize(), signal().through(Gin)]).head(Head::Linear),
        "sgc" => model([features().linear()]),
        "gcn" => model([features().gcn()]),
        "gat" => model([features().through(Gat)]).dropout(0.6),
        "graphsage" => model([features().through(Sage)]),
        "p-gnn" => model([features().through(PGnn)]),
        "gcn-onehot" => model([features().and(Source::OneHot).gcn()]),
        "eigen-gnn" => model([features().and(Source::Eigenvectors).gcn()]),
        "node2vec" => model([ids().through(SkipGram)]),
        "matrix-factorization" => model([ids().through(Table)]),
        other => Architecture { heuristic: Some(other.parse()?), ..model([]) },
    })
}

/// Checks that there is a model of that name.
pub fn find(name: &str) -> Result<()> {
    let names: Vec<&str> = MODELS.iter().map(|model| model.0).collect();
    one_of("model", name, &names)
}

/// Branches side by side, with nothing on top.
pub fn model<const N: usize>(branches: [Branch; N]) -> Architecture {
    Architecture { branches: branches.into(), head: Head::Identity, heuristic: None, dropout: 0.5 }
}

impl Architecture {
    /// With `F_output`.
    pub fn head(self, head: Head) -> Architecture {
        Architecture { head, ..self }
    }

    /// With another share of entries dropped.
    pub fn dropout(self, dropout: f32) -> Architecture {
        Architecture { dropout, ..self }
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
    pub fn propagated(self) -> Branch {
        self.through(Propagated)
    }

    /// `-> Ã^K X W + b`
    pub fn linear(self) -> Branch {
        self.through(Linear)
    }

    /// `-> graph convolutions`
    pub fn gcn(self) -> Branch {
        self.through(Gcn)
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
    fn every_name_has_a_row() {
        MODELS.iter().for_each(|(name, _)| assert!(architecture(name).is_ok(), "{name}"));
    }
}
