//! Every model as one row: sources, encoders, head. A new model is a new row, never a new loop.

use super::{Architecture, Branch, Head};
use crate::encoder::{Encoder, Gcn, Linear, Propagated};
use crate::error::Result;
use crate::names::one_of;
use crate::source::Source;
use std::sync::Arc;

/// The names that users type, and a line about each.
pub const MODELS: &[(&str, &str)] = &[
    ("smp-linear", "Ã^K E and Ã^K F under a linear map: the paper's main model"),
    ("smp-identity", "Ã^K E and Ã^K F side by side, nothing learnt on top; not for node classification"),
    ("smp-mlp", "Ã^K E and Ã^K F under one hidden layer"),
    ("smp-linear-gcn-feat", "Ã^K E and a GCN over F under a linear map"),
    ("smp-linear-gcn-both", "a GCN over E and a GCN over F under a linear map"),
    ("sgc", "Ã^K F W + b: what a node is, not where"),
    ("gcn", "graph convolutions over F: what a node is, not where"),
];

/// The architecture behind a name.
///
/// ```
/// assert_eq!(nigh::model::catalog::architecture("smp-linear")?.branches.len(), 2);
/// assert!(nigh::model::catalog::architecture("smp-lineal").is_err());
/// # Ok::<(), nigh::Error>(())
/// ```
pub fn architecture(name: &str) -> Result<Architecture> {
    let names: Vec<&str> = MODELS.iter().map(|model| model.0).collect();
    one_of("model", name, &names)?;
    Ok(match name {
        "smp-linear" => model([features().linear().unit_rows(), signal().propagated()]).head(Head::Linear),
        "smp-identity" => model([features().linear().unit_rows(), signal().propagated()]),
        "smp-mlp" => model([features().linear().unit_rows(), signal().propagated()]).head(Head::Mlp),
        "smp-linear-gcn-feat" => model([features().gcn().unit_rows(), signal().propagated()]).head(Head::Linear),
        "smp-linear-gcn-both" => model([features().gcn(), signal().gcn()]).head(Head::Linear),
        "sgc" => model([features().linear()]),
        "gcn" => model([features().gcn()]),
        _ => unreachable!("a name without a row"),
    })
}

/// Branches side by side, with nothing on top.
pub fn model<const N: usize>(branches: [Branch; N]) -> Architecture {
    Architecture { branches: branches.into(), head: Head::Identity }
}

impl Architecture {
    /// With `F_output`.
    pub fn head(self, head: Head) -> Architecture {
        Architecture { head, ..self }
    }
}

/// `F -> ...`
pub fn features() -> From {
    From(Source::Features)
}

/// `E -> ...`
pub fn signal() -> From {
    From(Source::Signal)
}

/// A source that waits for its encoder.
#[derive(Debug, Clone, Copy)]
pub struct From(Source);

impl From {
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
        Branch { source: self.0, encoder: Arc::new(encoder), unit_rows: false }
    }
}

impl Branch {
    /// Rows scaled to length one.
    pub fn unit_rows(self) -> Branch {
        Branch { unit_rows: true, ..self }
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
