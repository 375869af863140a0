//! Where a model is cut into propagation and learning, and what it says if it cannot be cut.

use super::catalog::{Ability, CatalogModel, MODELS};
use super::{Architecture, Head, PairSource};
use crate::choices::Task;
use crate::error::{Error, Result};
use crate::linalg::half::Storage;
use crate::source::Source;

/// What message passing gives before anything is learnt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Separation {
    /// A row per node: all message passing is `Ã^K E` and `Ã^K F`.
    Rows {
        /// `K`.
        hops: usize,
        /// How rows are stored between hops.
        storage: Storage,
    },
    /// Numbers per pair, from rows at several hops.
    Pairs,
    /// Not what a plan could compute by parts: the model runs in memory, for this reason.
    InMemory(&'static str),
}

/// The reason of models whose message passing is interleaved with learning.
const INTERLEAVED: &str = "weights are learnt between its hops";

impl Separation {
    /// Why the model runs in memory, if it does.
    pub fn in_memory_reason(self) -> Option<&'static str> {
        match self {
            Separation::InMemory(reason) => Some(reason),
            Separation::Rows { .. } | Separation::Pairs => None,
        }
    }
}

impl Architecture {
    /// What its message passing gives before anything is learnt.
    pub(crate) fn separation(&self) -> Separation {
        let Architecture { branches, head, heuristic, pair_sources } = self;
        let is_of_ids = |sources: &[Source]| *sources == [Source::OneHot];
        let in_memory = Separation::InMemory;
        if heuristic.is_some() {
            return in_memory("it counts in the whole graph");
        }
        if branches.iter().any(|branch| is_of_ids(&branch.sources)) {
            return in_memory("it learns a row for every node");
        }
        if self.has_pair_features() {
            let is_plain = branches.iter().all(|branch| branch.sources == [Source::Directions]);
            return match pair_sources.contains(&PairSource::Reconstruction) {
                true => in_memory("ridge regression inverts a matrix of all nodes"),
                false if is_plain => Separation::Pairs,
                false => in_memory(INTERLEAVED),
            };
        }
        if *head == Head::Gated {
            return in_memory(
                "random propagation draws other nodes in every epoch, and labels are voted on in the whole graph",
            );
        }
        let is_plain =
            branches.iter().all(|branch| matches!(branch.sources[..], [Source::Signal] | [Source::Features]));
        let hops: Option<Vec<_>> = branches.iter().map(|branch| branch.encoder.hops_first()).collect();
        match hops.filter(|_| is_plain).as_deref() {
            None => in_memory(INTERLEAVED),
            Some([(hops, storage), others @ ..]) if others.iter().all(|other| other == &(*hops, *storage)) => {
                match self.uses(Source::Signal) {
                    true => Separation::Rows { hops: *hops, storage: *storage },
                    false => {
                        in_memory("without a signal its features would be all that is propagated, which no plan does")
                    }
                }
            }
            Some(_) => in_memory("its branches do not take the same hops"),
        }
    }

    /// Refuses a model that has to be in memory, where it may not be. It is the only place that says so.
    pub(crate) fn check_separable(&self, model: &str) -> Result<()> {
        match self.separation().in_memory_reason() {
            Some(reason) => Err(runs_in_memory(model, reason)),
            None => Ok(()),
        }
    }

    /// Refuses a model whose representations are not made of rows of `Ã^K E` and `Ã^K F`.
    pub(crate) fn check_rows(&self, model: &str) -> Result<()> {
        self.check_separable(model)?;
        match self.separation() {
            Separation::Rows { .. } => Ok(()),
            _ => Err(Error::setting("model", model, "it needs rows at several hops for pairs, and not one for a node")),
        }
    }
}

/// The error of a model that runs in memory for a reason.
pub(crate) fn runs_in_memory(model: &str, reason: &str) -> Error {
    Error::setting("model", model, why_in_memory("it", reason))
}

/// Why a model runs in memory, and which models would not.
pub(crate) fn why_in_memory(model: &str, reason: &str) -> String {
    let others = names_of(Ability::MemoryLimit);
    format!("{model} runs in memory: {reason}; models that propagate before they learn are {others}")
}

fn names_of(ability: Ability) -> String {
    let can = |model: &&CatalogModel| model.can(Task::LinkPrediction, ability);
    let names: Vec<&str> = MODELS.iter().filter(can).map(|model| model.name).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::catalog::{self, Hyperparameters, NodeTable};
    use crate::source::Reconstruction;

    fn separation(model: &str, settings: Hyperparameters) -> Separation {
        catalog::architecture(model, &settings).unwrap().separation()
    }

    #[test]
    fn models_of_rows_and_of_pairs_propagate_first_and_all_others_say_why_not() {
        let (mut rows, mut pairs) = (Vec::new(), Vec::new());
        for model in MODELS {
            match separation(model.name, Hyperparameters::default()) {
                Separation::Rows { hops, storage } => {
                    assert_eq!((hops, storage), (2, Storage::Single));
                    rows.push(model.name);
                }
                Separation::Pairs => pairs.push(model.name),
                Separation::InMemory(reason) => assert!(reason.len() > 10, "{}", model.name),
            }
        }
        assert_eq!(rows, ["smp-linear", "smp-identity", "smp-mlp", "smp-attention", "smp-signal"]);
        assert_eq!(pairs, ["smp-proximity"]);
    }

    #[test]
    fn settings_decide_whether_pairs_are_separated() {
        let of = |settings| separation("smp-proximity", settings);
        let default = Hyperparameters::default();
        assert_eq!(of(Hyperparameters { has_features: false, ..default }), Separation::Pairs);
        let ridge = of(Hyperparameters { reconstruction: Reconstruction::Ridge, ..default });
        assert_eq!(ridge, Separation::InMemory("ridge regression inverts a matrix of all nodes"));
        let table = of(Hyperparameters { node_table: NodeTable::Learnt, ..default });
        assert_eq!(table, Separation::InMemory("it learns a row for every node"));
    }

    #[test]
    fn a_refusal_names_the_reason_and_the_models_that_would_do() {
        let of = |model: &str| catalog::architecture(model, &Hyperparameters::default()).unwrap();
        assert_eq!(
            of("gcn").check_separable("gcn").unwrap_err().to_string(),
            "`model` is gcn, but it runs in memory: weights are learnt between its hops; models that propagate before they \
             learn are smp-linear, smp-identity, smp-mlp, smp-attention, smp-signal, smp-proximity"
        );
        assert!(of("smp-proximity").check_separable("smp-proximity").is_ok());
        let no_rows = of("smp-proximity").check_rows("smp-proximity").unwrap_err().to_string();
        assert!(no_rows.contains("rows at several hops for pairs"), "{no_rows}");
        assert!(of("smp-mlp").check_rows("smp-mlp").is_ok());
    }
}
