//! Every model by its name. A new kind of model is a new file of this folder and a line in `FAMILIES`, never a new loop.

use super::encoder::Layers;
use super::preset::Preset;
use super::{Architecture, Dimensions, Head, factorization, gated, gnn, heuristics, node2vec, proximity, smp};
use crate::choices::Task;
use crate::error::{Error, Result};
use crate::linalg::half::Storage;
use crate::names::named;
use crate::source::{Node2Vec, Reconstruction};

pub use super::branches::{Sources, directions, features, ids, labels, model, signal};

/// The models of every family, in the order in which they are listed.
const FAMILIES: [&[CatalogModel]; 7] = [
    smp::MODELS,
    proximity::MODELS,
    gated::MODELS,
    gnn::MODELS,
    node2vec::MODELS,
    factorization::MODELS,
    heuristics::MODELS,
];

/// All models, in the order in which they are listed.
pub const MODELS: &[CatalogModel] = &flattened::<{ num_models() }>();

const fn num_models() -> usize {
    let (mut count, mut family) = (0, 0);
    while family < FAMILIES.len() {
        count += FAMILIES[family].len();
        family += 1;
    }
    count
}

const fn flattened<const N: usize>() -> [CatalogModel; N] {
    let mut models = [FAMILIES[0][0]; N];
    let (mut count, mut family) = (0, 0);
    while family < FAMILIES.len() {
        let mut at = 0;
        while at < FAMILIES[family].len() {
            models[count] = FAMILIES[family][at];
            count += 1;
            at += 1;
        }
        family += 1;
    }
    models
}

/// A model by name, as its family declares it.
#[derive(Debug, Clone, Copy)]
pub struct CatalogModel {
    /// What users type.
    pub name: &'static str,
    /// A line about it.
    pub about: &'static str,
    build: fn(&Hyperparameters) -> Architecture,
    preset: fn(Dimensions) -> Preset,
    roles: &'static [Role],
    relative_cost: u64,
}

/// What a model is taken for where the user names none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Role {
    /// The best one for a task, and why.
    Default(Task, &'static str),
    /// The paper's main model, which is also the one that does every task.
    Main,
    /// One of those that are compared by default.
    Compared,
    /// One of those that the demonstration shows.
    Demonstrated,
    /// The one that knows of a node where it is, what it is, or both.
    Knows {
        /// Where it is.
        place: bool,
        /// What it is.
        features: bool,
    },
}

named! {
    /// Where a model can be trained on a task.
    pub enum Ability, "ability" {
        /// Within any memory limit for which there is a plan.
        MemoryLimit = "memory-limit",
        /// With the edges and the panels on disk.
        OutOfCore = "out-of-core",
        /// On many machines.
        Ray = "ray",
    }
}

impl CatalogModel {
    /// A model with the paper's settings and without a role.
    pub(super) const fn new(
        name: &'static str,
        about: &'static str,
        build: fn(&Hyperparameters) -> Architecture,
    ) -> CatalogModel {
        CatalogModel { name, about, build, preset: |_| Preset::PAPER, roles: &[], relative_cost: 1 }
    }

    pub(super) const fn with_preset(self, preset: fn(Dimensions) -> Preset) -> CatalogModel {
        CatalogModel { preset, ..self }
    }

    pub(super) const fn with_roles(self, roles: &'static [Role]) -> CatalogModel {
        CatalogModel { roles, ..self }
    }

    /// An epoch takes about this many times as long as one of most models.
    pub(super) const fn with_relative_cost(self, relative_cost: u64) -> CatalogModel {
        CatalogModel { relative_cost, ..self }
    }

    /// The model that answers a task best, and why it is chosen.
    pub fn default_for(task: Task) -> (&'static CatalogModel, &'static str) {
        let reason = |model: &CatalogModel| {
            model.roles.iter().find_map(|role| match role {
                Role::Default(of, reason) if *of == task => Some(*reason),
                _ => None,
            })
        };
        let default = MODELS.iter().find_map(|model| Some((model, reason(model)?)));
        default.unwrap_or((CatalogModel::main(), "the paper's main model"))
    }

    /// The paper's main model, which does every task.
    pub fn main() -> &'static CatalogModel {
        MODELS.iter().find(|model| model.roles.contains(&Role::Main)).expect("one model is the main one")
    }

    /// The models that are compared by default, those first that are the default for a task.
    pub fn compared() -> Vec<&'static CatalogModel> {
        let is_default = |model: &CatalogModel| model.roles.iter().any(|role| matches!(role, Role::Default(..)));
        let mut models: Vec<_> = MODELS.iter().filter(|model| model.roles.contains(&Role::Compared)).collect();
        models.sort_by_key(|model| !is_default(model));
        models
    }

    /// The models of the demonstration, the paper's main one last.
    pub fn demonstrated() -> Vec<&'static CatalogModel> {
        let mut models: Vec<_> = MODELS.iter().filter(|model| model.roles.contains(&Role::Demonstrated)).collect();
        models.sort_by_key(|model| model.roles.contains(&Role::Main));
        models
    }

    /// The model that knows where a node is (`place`), what it is (`features`), or both: of three that differ in nothing else.
    pub fn knowing(place: bool, features: bool) -> &'static CatalogModel {
        let role = Role::Knows { place, features };
        MODELS.iter().find(|model| model.roles.contains(&role)).expect("a model for either and for both")
    }

    /// The architecture with these settings.
    pub fn architecture(&self, hyperparameters: &Hyperparameters) -> Architecture {
        (self.build)(hyperparameters)
    }

    /// The settings that it brings along on data of some dimensions.
    pub(crate) fn preset(&self, dimensions: Dimensions) -> Preset {
        (self.preset)(dimensions)
    }

    /// Dropout probability on a small graph without features, unless the user sets it.
    pub fn dropout(&self) -> f32 {
        self.preset(Dimensions::default()).dropout
    }

    /// Whether its settings are those of the paper's appendix, where the user leaves them open.
    pub fn has_settings_of_the_paper(&self) -> bool {
        Preset { dropout: Preset::PAPER.dropout, ..self.preset(Dimensions::default()) } == Preset::PAPER
    }

    /// An epoch takes about this many times as long as one of most models.
    pub fn relative_cost(&self) -> u64 {
        self.relative_cost
    }

    /// Whether it answers a task.
    pub fn answers(&self, task: Task) -> bool {
        task.is_about_pairs() || self.architecture(&Hyperparameters::default()).can_classify()
    }

    /// Why its trainings run in memory, whatever the settings; `None` if it propagates before it learns.
    pub fn in_memory_reason(&self) -> Option<&'static str> {
        self.architecture(&Hyperparameters::default()).separation().in_memory_reason()
    }

    /// Where it can be trained on a task, as far as the model decides: [`Training::in_memory_reason`](crate::Training::in_memory_reason)
    /// also looks at the settings and the data.
    pub fn can(&self, task: Task, ability: Ability) -> bool {
        task == Task::LinkPrediction
            && match ability {
                // Tasks do what a run asks for that propagates first, whatever it is.
                Ability::MemoryLimit | Ability::OutOfCore | Ability::Ray => self.in_memory_reason().is_none(),
            }
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
/// use nigh::models::catalog::{Hyperparameters, architecture};
///
/// assert_eq!(architecture("smp-linear", &Hyperparameters::default())?.branches.len(), 2);
/// assert!(architecture("smp-lineal", &Hyperparameters::default()).is_err());
/// # Ok::<(), nigh::Error>(())
/// ```
pub fn architecture(name: &str, hyperparameters: &Hyperparameters) -> Result<Architecture> {
    Ok(find(name)?.architecture(hyperparameters))
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
    pub(super) fn layers(&self) -> Layers {
        Layers { count: self.hops, hidden: self.width, dropout: self.dropout }
    }

    pub(super) fn mlp(&self) -> Head {
        Head::Mlp { hidden: self.width, dropout: self.dropout }
    }
}

named! {
    /// Whether every node has a row of numbers of its own that is learnt.
    pub enum NodeTable, "kind of node table" {
        /// It has not: nothing that is learnt belongs to a single node.
        None = "none",
        /// It has, and messages pass about it.
        Learnt = "learnt",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::Heuristic;

    #[test]
    fn names_are_unique_and_heuristics_stand_under_their_own() {
        for (at, model) in MODELS.iter().enumerate() {
            assert!(MODELS[..at].iter().all(|other| other.name != model.name), "{}", model.name);
            let architecture = model.architecture(&Hyperparameters::default());
            assert!(architecture.heuristic.is_none_or(|heuristic| heuristic.name() == model.name), "{}", model.name);
        }
        for heuristic in Heuristic::ALL {
            assert!(find(heuristic.name()).is_ok(), "{heuristic}");
        }
    }

    #[test]
    fn every_role_has_one_model_and_the_main_one_does_every_task() {
        let names = |models: Vec<&CatalogModel>| models.iter().map(|model| model.name).collect::<Vec<_>>();
        let default = |task| CatalogModel::default_for(task).0.name;
        assert_eq!(
            Task::ALL.iter().map(|&task| default(task)).collect::<Vec<_>>(),
            ["smp-proximity", "smp-gated", "smp-linear", "smp-linear"]
        );
        assert!(Task::ALL.iter().all(|&task| CatalogModel::main().answers(task)));
        let knowing =
            [(true, true), (false, true), (true, false)].map(|(place, what)| CatalogModel::knowing(place, what));
        assert_eq!(names(knowing.to_vec()), ["smp-linear", "sgc", "smp-signal"]);
        assert_eq!(
            names(CatalogModel::compared()),
            [
                "smp-proximity",
                "smp-linear",
                "smp-identity",
                "sgc",
                "gcn",
                "gat",
                "node2vec",
                "matrix-factorization",
                "common-neighbors",
                "adamic-adar",
                "resource-allocation",
                "katz",
            ]
        );
        assert_eq!(names(CatalogModel::demonstrated()), ["sgc", "gcn", "smp-linear"]);
        let beyond = MODELS.iter().filter(|model| !model.has_settings_of_the_paper()).collect();
        assert_eq!(names(beyond), ["smp-proximity", "smp-gated"]);
    }
}
