//! 0. Data: graphs with features, labels and ids, generated or read.
//!
//! A user's files are read in `own/`, the public datasets in `named/`; both give a [`Dataset`]. Formats that know no graphs
//! are in the crate `nigh-formats`.

mod align;
mod built_in;
mod check;
mod features;
mod fixed_split;
pub mod generate;
mod ids;
mod interner;
mod named;
mod own;
mod stored;

pub use built_in::BUILT_IN;
pub use features::Features;
pub use fixed_split::{FixedPairs, FixedSplit};
pub use ids::{IdLookup, Ids};
#[cfg(feature = "fetch")]
pub use named::fetch;
pub use named::{Counts, DatasetFile, Folder, Folders, NamedDataset, Origin, REGISTRY};
pub use own::{
    EdgeColumns, FeatureRows, GraphColumns, IdColumn, IdColumns, InputFiles, IntegerColumn, LabelRows, LabelSeparator,
    NodeColumns, Pairs, WeightColumn, read_pairs,
};
pub use stored::Stored;
pub(crate) use {
    ids::whole_float,
    own::edge_list::{EdgeList, ListedEdges},
    own::graph_file::read as read_graph_file,
    stored::{GraphStore, read_ids, store_without, write_ids},
};

use crate::error::{Error, Result};
use crate::graph::{Cleaning, Graph};
use crate::label_sets::LabelSets;
use crate::names::one_of;
use crate::source::SignalScale;
use std::path::Path;
use std::sync::Arc;

/// What a model learns from: one graph, or several for inductive work.
#[derive(Debug, Clone)]
pub struct Dataset {
    /// A built-in name, or the name of the file.
    pub name: String,
    /// The graphs.
    pub samples: Vec<Sample>,
    /// The names of the graphs; none if they are numbered.
    pub graph_names: Vec<String>,
    /// The name of each class.
    pub class_names: Vec<String>,
    /// The name of each feature, where the user's file has them.
    pub feature_names: Vec<String>,
    /// Settings of the paper for these data.
    pub paper_defaults: PaperDefaults,
    /// The published split of these data, where there is one.
    pub fixed_split: Option<FixedSplit>,
    /// Remarks for the user on what was read and cleaned.
    pub notes: Vec<String>,
    /// What was cleaned, if the data were read from a user's files.
    pub cleaning: Option<Cleaning>,
}

/// One graph with what is known of its nodes.
#[derive(Debug, Clone)]
pub struct Sample {
    /// All known edges.
    pub graph: Arc<Graph>,
    /// `F`.
    pub features: Features,
    /// The class of each node, where it is known.
    pub labels: Option<Arc<[Option<u32>]>>,
    /// The classes of each node, where nodes may have several; `labels` is then `None`.
    pub label_sets: Option<Arc<LabelSets>>,
    /// The names of the nodes.
    pub ids: Arc<Ids>,
    /// The number by which the model knows each node, where it differs from the node's own (`Dataset::aligned`).
    pub addresses: Option<Arc<[u32]>>,
}

/// Settings of the paper for one of its datasets (protocol: "Data").
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize)]
pub struct PaperDefaults {
    /// The proof of concept keeps `E` at unit scale.
    pub signal_scale: Option<SignalScale>,
    /// Labelled nodes per class for training, validation and test; 0 for the test part means all the rest.
    pub per_class: Option<[usize; 3]>,
    /// Graphs for training, validation and test, where there are several.
    pub graphs: Option<[usize; 3]>,
}

impl Sample {
    /// How many nodes have a label.
    pub fn num_labelled(&self) -> usize {
        match (&self.labels, &self.label_sets) {
            (Some(labels), _) => labels.iter().flatten().count(),
            (None, Some(sets)) => sets.labelled().count(),
            (None, None) => 0,
        }
    }

    /// Whether a node has a label.
    pub fn is_labelled(&self, node: usize) -> bool {
        self.labels.as_ref().is_some_and(|labels| labels[node].is_some())
            || self.label_sets.as_ref().is_some_and(|sets| !sets.of(node).is_empty())
    }
}

/// Every name of a dataset, built in or public.
pub(crate) fn names() -> Vec<&'static str> {
    BUILT_IN.iter().map(|known| known.0).chain(REGISTRY.iter().map(|known| known.name)).collect()
}

/// Whether this is the name of a dataset, and not of a file.
pub fn is_name(name: &str) -> bool {
    names().contains(&name)
}

impl Dataset {
    /// Loads a graph by its built-in name, a public dataset from one of the folders, or a file of edges with the other
    /// files of `input`.
    pub fn load(name: &str, input: &InputFiles, folders: &Folders) -> Result<Dataset> {
        if is_name(name) {
            if let Some(path) = [&input.nodes, &input.features, &input.labels].into_iter().flatten().next() {
                return Err(Error::BringsOwnFiles { name: name.to_string(), path: path.clone() });
            }
            return match NamedDataset::named(name) {
                Some(known) => known.load(folders),
                None => Dataset::built_in(name),
            };
        }
        let path = Path::new(name);
        if !nigh_formats::is_stdin(path) && !path.exists() && !name.contains(['/', '\\', '.']) {
            // It does not exist and does not look like a file: probably a misspelt name.
            one_of("graph", name, &names())?;
        }
        Dataset::from_files(path, input)
    }

    /// A graph without features or labels, whose nodes are named by their numbers.
    pub fn from_graph(name: &str, graph: Graph) -> Dataset {
        let n = graph.num_nodes();
        let sample = Sample {
            graph: graph.into(),
            features: Features::Constant(n),
            labels: None,
            label_sets: None,
            ids: Ids::Numbers(n).into(),
            addresses: None,
        };
        Dataset {
            name: name.to_string(),
            samples: vec![sample],
            graph_names: Vec::new(),
            class_names: Vec::new(),
            feature_names: Vec::new(),
            paper_defaults: PaperDefaults::default(),
            fixed_split: None,
            notes: Vec::new(),
            cleaning: None,
        }
    }

    /// With a class for every node of the only graph.
    ///
    /// # Panics
    ///
    /// If there is not one label per node, or not a name for each class.
    pub fn with_labels(mut self, labels: &[u32], class_names: Vec<String>) -> Dataset {
        assert_eq!(labels.len(), self.samples[0].graph.num_nodes(), "one label per node");
        assert!(labels.iter().all(|&label| (label as usize) < class_names.len()), "a name per class");
        self.samples[0].labels = Some(labels.iter().map(|&label| Some(label)).collect());
        self.samples[0].label_sets = None;
        self.class_names = class_names;
        self
    }

    /// With a set of classes for every node of the only graph; one without any has no label.
    ///
    /// # Panics
    ///
    /// If there is not one set per node, or not a name for each class.
    pub fn with_label_sets(mut self, sets: LabelSets, class_names: Vec<String>) -> Dataset {
        assert_eq!(sets.len(), self.samples[0].graph.num_nodes(), "one set per node");
        assert!(sets.classes().iter().all(|&label| (label as usize) < class_names.len()), "a name per class");
        (self.samples[0].labels, self.samples[0].label_sets) = (None, Some(sets.into()));
        self.class_names = class_names;
        self
    }

    /// Whether nodes may have several labels each.
    pub fn is_multi_label(&self) -> bool {
        self.samples.iter().any(|sample| sample.label_sets.is_some())
    }

    /// Several graphs, for inductive work.
    pub fn from_samples(name: &str, samples: Vec<Sample>, class_names: Vec<String>) -> Result<Dataset> {
        let (name, paper_defaults) = (name.to_string(), PaperDefaults::default());
        let (graph_names, feature_names, fixed_split, notes) = (Vec::new(), Vec::new(), None, Vec::new());
        let dataset = Dataset {
            name,
            samples,
            graph_names,
            class_names,
            feature_names,
            paper_defaults,
            fixed_split,
            notes,
            cleaning: None,
        };
        dataset.check()?;
        Ok(dataset)
    }

    /// The same graphs and labels without features of the nodes.
    pub fn without_features(&self) -> Dataset {
        let structure =
            |sample: &Sample| Sample { features: Features::Constant(sample.graph.num_nodes()), ..sample.clone() };
        let samples = self.samples.iter().map(structure).collect();
        Dataset { samples, feature_names: Vec::new(), ..self.clone() }
    }

    /// The name of a graph, or its number.
    pub fn graph_name(&self, graph: usize) -> String {
        self.graph_names.get(graph).cloned().unwrap_or_else(|| graph.to_string())
    }

    /// Each graph as a dataset of its own.
    pub fn graphs(&self) -> impl Iterator<Item = Dataset> + '_ {
        (0..self.samples.len()).map(|number| self.graph(number))
    }

    /// One of the graphs as a dataset of its own.
    pub fn graph(&self, number: usize) -> Dataset {
        Dataset {
            name: self.name.clone(),
            samples: vec![self.samples[number].clone()],
            graph_names: Vec::new(),
            class_names: self.class_names.clone(),
            feature_names: self.feature_names.clone(),
            paper_defaults: PaperDefaults { graphs: None, ..self.paper_defaults },
            fixed_split: self.fixed_split.clone().filter(|_| self.samples.len() == 1),
            notes: self.notes.clone(),
            cleaning: self.cleaning,
        }
    }

    /// `N`, over all graphs.
    pub fn num_nodes(&self) -> usize {
        self.samples.iter().map(|sample| sample.graph.num_nodes()).sum()
    }

    /// `M`, over all graphs.
    pub fn num_edges(&self) -> usize {
        self.samples.iter().map(|sample| sample.graph.num_edges()).sum()
    }
}

/// Remarks on edges that were merged or dropped.
fn cleaning_notes(cleaning: Cleaning) -> Vec<String> {
    let mut notes = Vec::new();
    if cleaning.duplicates > 0 {
        notes.push(format!("{} repeated edges (either direction) were merged", cleaning.duplicates));
    }
    if cleaning.self_loops > 0 {
        notes.push(format!("{} self loops were dropped; the operator gives every node its own", cleaning.self_loops));
    }
    notes
}
