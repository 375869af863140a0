//! 0. Data: graphs with features, labels and ids, generated or read.

mod cache;
pub mod coauthor;
pub(crate) mod columnar;
mod compressed;
mod csv;
#[doc(hidden)]
pub mod doors;
pub mod edge_list;
pub mod email;
pub mod export;
mod features;
#[cfg(feature = "fetch")]
pub mod fetch;
mod folders;
mod format;
pub mod generate;
mod ids;
mod input;
mod interner;
mod matrix_market;
mod node_link;
mod nodes;
pub mod npy;
pub mod ogb;
pub mod paper;
mod pickle;
pub mod planetoid;
pub mod ppi;
mod scipy;
mod table;
mod text;
mod texts;
mod torch;

pub use csv::csv_field;
pub use edge_list::EdgeColumns;
pub use features::Features;
pub use folders::Folders;
pub use ids::{Ids, Lookup};
pub use input::Input;
pub use nodes::NodeColumns;
pub use texts::Texts;

use crate::display::abbreviate;
use crate::error::{Error, Result};
use crate::graph::{Cleaning, Graph};
use crate::linalg::SparseMatrix;
use crate::names::one_of;
use crate::source::SignalScale;
use paper::{Counts, NamedDataset, REGISTRY};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

/// What a model learns from: one graph, or several for inductive work.
#[derive(Debug, Clone)]
pub struct Dataset {
    /// A built-in name, or the name of the file.
    pub name: String,
    /// The graphs.
    pub samples: Vec<Sample>,
    /// What the user calls the graphs; none where they are numbered.
    pub graph_names: Vec<String>,
    /// The word for each class.
    pub class_names: Vec<String>,
    /// The word for each feature, where the user's file has them.
    pub feature_names: Vec<String>,
    /// What the paper does on these data and nowhere else.
    pub paper_defaults: PaperDefaults,
    /// A split that everyone uses on these data, where there is one.
    pub fixed_split: Option<FixedSplit>,
    /// Remarks for the user on what was read and tidied.
    pub notes: Vec<String>,
    /// What was tidied away, if it was read from files of the user's own.
    pub cleaning: Option<Cleaning>,
}

/// One graph with what is known about its nodes.
#[derive(Debug, Clone)]
pub struct Sample {
    /// All known edges.
    pub graph: Arc<Graph>,
    /// `F`.
    pub features: Features,
    /// The class of each node, where it is known.
    pub labels: Option<Arc<[Option<u32>]>>,
    /// What the user calls the nodes.
    pub ids: Arc<Ids>,
    /// The number by which each node is known, where it is not the node's own (`Dataset::aligned`).
    pub addresses: Option<Arc<[u32]>>,
}

/// Choices that belong to a dataset of the paper (protocol: "Data").
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize)]
pub struct PaperDefaults {
    /// The proof of concept keeps `E` at unit scale.
    pub signal_scale: Option<SignalScale>,
    /// Labelled nodes per class for training, validation and test; 0 for the test part means all the rest.
    pub per_class: Option<[usize; 3]>,
    /// Graphs for training, validation and test, where there are several.
    pub graphs: Option<[usize; 3]>,
}

/// A split that comes with the data.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub enum FixedSplit {
    /// The nodes to learn from, to validate with and to test with.
    Nodes([Vec<u32>; 3]),
    /// The graph holds the training edges; these are the pairs to validate with and to test with.
    Pairs([FixedPairs; 2]),
}

/// Pairs with and without an edge.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize)]
pub struct FixedPairs {
    /// Held-out edges.
    pub positive: Vec<[u32; 2]>,
    /// Pairs that are none.
    pub negative: Vec<[u32; 2]>,
}

/// The graphs that need no file.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("grid", "20 × 20 grid, 400 nodes, no features"),
    ("communities", "20 cliques of 20 in a ring, 1 % of the edges rewired; label = clique"),
    ("leaders", "400 nodes in 10 communities, active or inactive; label = both"),
    ("leaders-community", "the same graph; label = community"),
    ("leaders-status", "the same graph; label = active or inactive"),
    ("ppa-sized", "as large as ogbl-ppa: 30 million edges, most of them inside communities; one of 58 species a node"),
];

/// How large `ppa-sized` is, which takes seconds to draw.
pub const PPA_SIZED: Counts = Counts { graphs: 1, nodes: 576_289, edges: 30_326_273, features: 58, classes: 0 };

/// Every name that stands for data: generated, or of the paper.
pub fn names() -> Vec<&'static str> {
    BUILT_IN.iter().map(|known| known.0).chain(REGISTRY.iter().map(|known| known.name)).collect()
}

/// Whether a name stands for data, and not for a file.
pub fn is_name(name: &str) -> bool {
    names().contains(&name)
}

/// Built-in graphs are the same for everyone.
const BUILT_IN_SEED: u64 = 0;

impl Dataset {
    /// A built-in name, a dataset of the paper that lies in one of the folders, or a file of edges with what the user
    /// says about it.
    pub fn load(name: &str, input: &Input, folders: &Folders) -> Result<Dataset> {
        if is_name(name) {
            if let Some(path) = [&input.nodes, &input.features, &input.labels].into_iter().flatten().next() {
                return Err(Error::Data(format!(
                    "`{name}` is built in and brings its own features and labels; {} can't be added",
                    path.display()
                )));
            }
            return match NamedDataset::named(name) {
                Some(known) => known.load(folders),
                None => Dataset::built_in(name),
            };
        }
        let path = Path::new(name);
        if !path.exists() && !name.contains(['/', '\\', '.']) {
            // Not there, and it does not look like a file either: probably a slip in a built-in name.
            one_of("graph", name, &names())?;
        }
        Dataset::from_files(path, input)
    }

    /// A graph as large as ogbl-ppa, with this share of edges between communities.
    pub fn ppa_sized(name: &str, across: f32) -> Result<Dataset> {
        let Counts { nodes, edges, features, .. } = PPA_SIZED;
        let shape = generate::PowerLaw { across, exponent: 3.0, ..generate::PowerLaw::new(nodes, edges) };
        let mut dataset = Dataset::from_graph(name, generate::power_law(&shape, 1)?.graph);
        let species: Vec<_> = (0..nodes).map(|i| vec![((i * 31 % features) as u32, 1.0)]).collect();
        dataset.samples[0].features = Features::Sparse(SparseMatrix::from_rows(&species, features).into());
        Ok(dataset)
    }

    /// One of `BUILT_IN`.
    pub fn built_in(name: &str) -> Result<Dataset> {
        let known: Vec<&str> = BUILT_IN.iter().map(|known| known.0).collect();
        one_of("graph", name, &known)?;
        let paper_defaults =
            PaperDefaults { signal_scale: Some(SignalScale::Unit), per_class: Some([5, 5, 0]), graphs: None };
        Ok(match name {
            "grid" => Dataset::from_graph(name, generate::grid(20, 20)),
            "communities" => {
                let generated = generate::communities(20, 20, 0.01, BUILT_IN_SEED);
                let dataset = Dataset::from_graph(name, generated.graph);
                let paper_defaults = PaperDefaults { per_class: Some([5, 5, 10]), ..PaperDefaults::default() };
                let words = (0..20).map(|c| format!("clique-{c}")).collect();
                Dataset { paper_defaults, ..dataset.with_labels(&generated.labels, words) }
            }
            "ppa-sized" => Dataset::ppa_sized(name, 0.2)?,
            leaders => {
                let generated = generate::leaders(&generate::Leaders::default(), BUILT_IN_SEED);
                let dataset = Dataset { paper_defaults, ..Dataset::from_graph(name, generated.graph) };
                let status = |active: u32| if active == 1 { "active" } else { "inactive" };
                match leaders {
                    "leaders-community" => {
                        dataset.with_labels(&generated.community, (0..10).map(|c| format!("community-{c}")).collect())
                    }
                    "leaders-status" => {
                        dataset.with_labels(&generated.active, (0..2).map(|s| status(s).to_string()).collect())
                    }
                    _ => {
                        let both = generated.community.iter().zip(&generated.active).map(|(c, a)| 2 * c + a);
                        let words = (0..20).map(|class| format!("community-{}-{}", class / 2, status(class % 2)));
                        dataset.with_labels(&both.collect::<Vec<_>>(), words.collect())
                    }
                }
            }
        })
    }

    /// A graph without features or labels, its nodes called by their numbers.
    pub fn from_graph(name: &str, graph: Graph) -> Dataset {
        let n = graph.num_nodes();
        let sample = Sample {
            graph: graph.into(),
            features: Features::Constant(n),
            labels: None,
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
    pub fn with_labels(mut self, labels: &[u32], class_names: Vec<String>) -> Dataset {
        assert_eq!(labels.len(), self.samples[0].graph.num_nodes(), "one label per node");
        assert!(labels.iter().all(|&label| (label as usize) < class_names.len()), "a name per class");
        self.samples[0].labels = Some(labels.iter().map(|&label| Some(label)).collect());
        self.class_names = class_names;
        self
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

    /// Whether everything fits together; data built by hand are checked here, at the door.
    pub fn check(&self) -> Result<()> {
        let wrong = |problem: String| Err(Error::Data(format!("{}: {problem}", self.name)));
        let Some(first) = self.samples.first() else { return wrong("no graph at all".into()) };
        for (number, sample) in self.samples.iter().enumerate() {
            let n = sample.graph.num_nodes();
            let labels = sample.labels.as_ref().map_or(n, |labels| labels.len());
            let addresses = sample.addresses.as_ref().map_or(n, |rows| rows.len());
            let lengths = [
                ("rows of features", sample.features.rows()),
                ("labels", labels),
                ("ids", sample.ids.len()),
                ("addresses", addresses),
            ];
            if let Some((what, count)) = lengths.into_iter().find(|length| length.1 != n) {
                return wrong(format!("graph {number} has {n} nodes but {count} {what}"));
            }
            let (width, expected) = (sample.features.cols(), first.features.cols());
            if width != expected {
                return wrong(format!("graph {number} has {width} features per node, graph 0 has {expected}"));
            }
            let largest = sample.labels.iter().flat_map(|labels| labels.iter()).flatten().max();
            if let Some(label) = largest.filter(|&&label| label as usize >= self.class_names.len()) {
                let classes = self.class_names.len();
                return wrong(format!("graph {number} has label {label}, but there are {classes} classes"));
            }
        }
        if let Some(counts) = self.paper_defaults.graphs
            && (counts.iter().sum::<usize>() != self.samples.len() || counts.contains(&0))
        {
            return wrong(format!("{} graphs can't be shared out as {counts:?}", self.samples.len()));
        }
        if !(self.graph_names.is_empty() || self.graph_names.len() == self.samples.len()) {
            return wrong(format!("{} names for {} graphs", self.graph_names.len(), self.samples.len()));
        }
        let n = first.graph.num_nodes() as u32;
        let labelled =
            |&node: &u32| node < n && first.labels.as_ref().is_some_and(|labels| labels[node as usize].is_some());
        match &self.fixed_split {
            Some(FixedSplit::Nodes(parts)) if !parts.iter().flatten().all(labelled) => {
                wrong("the given split names a node without a label".into())
            }
            Some(FixedSplit::Pairs(parts)) => {
                let pairs = || parts.iter().flat_map(|part| [&part.positive, &part.negative]);
                if pairs().flatten().flatten().any(|&node| node >= n) || pairs().any(Vec::is_empty) {
                    return wrong("the given split has an empty part or names an unknown node".into());
                }
                let seen = parts.iter().flat_map(|part| &part.positive).find(|[a, b]| first.graph.has_edge(*a, *b));
                match seen {
                    Some([a, b]) => wrong(format!("edge {a}-{b} is held out and yet part of the graph")),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    /// The same data with nodes in the order in which a model first met them, and new nodes behind; also the number
    /// of nodes that the model knows. Each known node keeps its signal, whatever the order of the lines in a file.
    pub fn aligned(&self, known: &Ids) -> Result<(Dataset, usize)> {
        let [sample] = &self.samples[..] else {
            // Nodes of several graphs are known by their places, to a model of several graphs.
            return Ok((self.clone(), if known.is_empty() { self.num_nodes() } else { 0 }));
        };
        let numbers = known.lookup();
        let mut order: Vec<(u32, u32)> = Vec::with_capacity(sample.ids.len());
        let mut next_new = known.len() as u32;
        let mut num_known = 0;
        for node in 0..sample.ids.len() {
            let row = numbers.find(&sample.ids.name(node)).inspect(|_| num_known += 1);
            order.push((
                row.unwrap_or_else(|| {
                    next_new += 1;
                    next_new - 1
                }),
                node as u32,
            ));
        }
        if order.iter().enumerate().all(|(at, &(row, _))| row as usize == at) {
            return Ok((self.clone(), num_known));
        }
        order.sort_unstable();
        let nodes: Vec<u32> = order.iter().map(|entry| entry.1).collect();
        let aligned = Sample {
            graph: sample.graph.permute(&nodes)?.into(),
            features: sample.features.permute_rows(&nodes),
            labels: sample.labels.as_ref().map(|labels| nodes.iter().map(|&node| labels[node as usize]).collect()),
            ids: sample.ids.select(&nodes).into(),
            addresses: Some(order.iter().map(|entry| entry.0).collect()),
        };
        let mut place = vec![0u32; nodes.len()];
        nodes.iter().enumerate().for_each(|(new, &old)| place[old as usize] = new as u32);
        let fixed_split = self.fixed_split.as_ref().map(|split| split.renumbered(&place));
        Ok((Dataset { samples: vec![aligned], fixed_split, ..self.clone() }, num_known))
    }

    /// The same data with classes numbered as a model numbers them.
    pub fn with_classes(mut self, class_names: &[String]) -> Result<Dataset> {
        let mut numbers = Vec::new();
        for name in &self.class_names {
            let number = class_names.iter().position(|known| known == name);
            let unknown = || Error::UnknownName { kind: "class", name: name.clone(), known: class_names.to_vec() };
            numbers.push(number.ok_or_else(unknown)? as u32);
        }
        for sample in &mut self.samples {
            let renumbered = |labels: &Arc<[Option<u32>]>| -> Arc<[Option<u32>]> {
                labels.iter().map(|label| label.map(|class| numbers[class as usize])).collect()
            };
            sample.labels = sample.labels.as_ref().map(renumbered);
        }
        self.class_names = class_names.to_vec();
        Ok(self)
    }

    /// The same data with features in the order in which a model knows them. Without names on either side their order
    /// is taken for granted.
    pub fn with_features(mut self, known: &[String]) -> Result<Dataset> {
        if self.feature_names.is_empty() || known.is_empty() || self.feature_names == known {
            return Ok(self);
        }
        let wrong = |problem: String| Error::Data(format!("{}: {problem}", self.name));
        let expected: HashSet<&String> = known.iter().collect();
        let mut places: HashMap<&String, u32> = HashMap::new();
        for (name, place) in self.feature_names.iter().zip(0..) {
            if !expected.contains(name) {
                return Err(wrong(format!("feature `{name}` is new to the model; it knows {}", abbreviate(known))));
            }
            if places.insert(name, place).is_some() {
                return Err(wrong(format!("two features are called `{name}`")));
            }
        }
        let missing = |name: &String| wrong(format!("there is no feature `{name}`, which the model knows"));
        let place = |name: &String| places.get(name).copied().ok_or_else(|| missing(name));
        let order = known.iter().map(place).collect::<Result<Vec<u32>>>()?;
        self.samples.iter_mut().for_each(|sample| sample.features = sample.features.permute_cols(&order));
        self.feature_names = known.to_vec();
        Ok(self)
    }

    /// What a graph is called.
    pub fn graph_name(&self, graph: usize) -> String {
        self.graph_names.get(graph).cloned().unwrap_or_else(|| graph.to_string())
    }

    /// Each graph for itself.
    pub fn graphs(&self) -> impl Iterator<Item = Dataset> + '_ {
        (0..self.samples.len()).map(|number| self.graph(number))
    }

    /// One of the graphs as data of its own.
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

impl FixedSplit {
    /// The same split with node `i` called `place[i]`.
    fn renumbered(&self, place: &[u32]) -> FixedSplit {
        let node = |&node: &u32| place[node as usize];
        let pairs = |pairs: &Vec<[u32; 2]>| pairs.iter().map(|[a, b]| [node(a), node(b)]).collect();
        match self {
            FixedSplit::Nodes(parts) => FixedSplit::Nodes(parts.each_ref().map(|part| part.iter().map(node).collect())),
            FixedSplit::Pairs(parts) => FixedSplit::Pairs(
                parts
                    .each_ref()
                    .map(|part| FixedPairs { positive: pairs(&part.positive), negative: pairs(&part.negative) }),
            ),
        }
    }
}

fn remarks(cleaning: Cleaning) -> Vec<String> {
    let mut remarks = Vec::new();
    if cleaning.duplicates > 0 {
        remarks.push(format!("{} repeated edges (either direction) were merged", cleaning.duplicates));
    }
    if cleaning.self_loops > 0 {
        remarks.push(format!("{} self loops were dropped; the operator gives every node its own", cleaning.self_loops));
    }
    remarks
}
