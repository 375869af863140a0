//! How families write their architectures: `model([features().linear(h), signal().propagated(h)]).head(Head::Linear)`.

use super::catalog::Hyperparameters;
use super::encoder::{Encoder, Gcn, Linear, Propagated};
use super::{Architecture, Branch, Head, Heuristic};
use crate::source::Source;
use std::sync::Arc;

/// Branches side by side, with nothing on top.
pub fn model<const N: usize>(branches: [Branch; N]) -> Architecture {
    Architecture { branches: branches.into(), head: Head::Identity, heuristic: None, pair_sources: Vec::new() }
}

pub(super) fn heuristic(heuristic: Heuristic) -> Architecture {
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

/// Sources without an encoder so far.
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
