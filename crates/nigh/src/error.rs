//! What can go wrong with data and settings. A mistake of this library panics instead.

use crate::display::{abbreviate, byte_size};
use nigh_formats::brief;
use nigh_formats::interrupt::Stopped;
use nigh_formats::memory::TooLarge;
use std::path::{Path, PathBuf};

/// Characters of a name or a value of the user's that a message shows.
const LONGEST_VALUE: usize = 400;

/// The result of anything that reads, checks or writes.
pub type Result<T> = std::result::Result<T, Error>;

/// Every failure carries the values that let a reader act.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file that can't be read or written, or is not what it should be.
    #[error(transparent)]
    Format(nigh_formats::Error),
    /// A table does not show which of its columns is what.
    #[error("{problem}")]
    UnclearColumns {
        /// The place, what was found and what was expected.
        problem: Box<nigh_formats::Error>,
        /// The columns that can be named: "source", "label", ...
        columns: &'static [&'static str],
    },
    /// Edges that can't be read with their weights, but could without.
    #[error("{problem}")]
    Weight {
        /// The place, the value and what would be right.
        problem: Box<nigh_formats::Error>,
    },
    /// Rows of features have no ids, and nodes have no order.
    #[error("{}: rows without ids, but nodes have names; give ids, or a list of nodes in the order of the rows", path.display())]
    RowsWithoutIds {
        /// The features.
        path: PathBuf,
    },
    /// A named dataset has all of its files; others can't be added.
    #[error("`{name}` is built in and brings its own features and labels; {} can't be added", path.display())]
    BringsOwnFiles {
        /// The dataset.
        name: String,
        /// The file to be added.
        path: PathBuf,
    },
    /// The files of a named dataset are in none of the folders.
    #[error("{name} is not here; put {files} into {}", one_of_folders(folders))]
    NotDownloaded {
        /// The dataset.
        name: String,
        /// The files and where they are published.
        files: String,
        /// Where they were looked for.
        folders: Vec<PathBuf>,
    },
    /// There is neither a cache of the user nor a given folder to download to.
    #[error("there is no folder to put {name} into: neither a cache of the user nor a given folder")]
    NoDataFolder {
        /// The dataset.
        name: String,
    },
    /// A graph and what belongs to its nodes have different lengths.
    #[error("{dataset}: graph {graph} has {nodes} nodes but {count} {what}")]
    NodeCount {
        /// The dataset.
        dataset: String,
        /// The number of the graph.
        graph: usize,
        /// Nodes of the graph.
        nodes: usize,
        /// What should be as many.
        what: &'static str,
        /// How many there are.
        count: usize,
    },
    /// The parts of a dataset do not fit together.
    #[error("{dataset}: {}", brief(problem, LONGEST_VALUE))]
    Inconsistent {
        /// The dataset.
        dataset: String,
        /// What does not fit.
        problem: String,
    },
    /// The data have a feature that the model does not know.
    #[error(
        "{dataset}: feature `{}` is new to the model; it knows {}", brief(feature, LONGEST_VALUE),
        brief(&abbreviate(known), LONGEST_VALUE)
    )]
    UnknownFeature {
        /// The dataset.
        dataset: String,
        /// The feature.
        feature: String,
        /// Every feature of the model.
        known: Vec<String>,
    },
    /// The data lack a feature that the model knows.
    #[error("{dataset}: there is no feature `{}`, which the model knows", brief(feature, LONGEST_VALUE))]
    MissingFeature {
        /// The dataset.
        dataset: String,
        /// The feature.
        feature: String,
    },
    /// The data have another number of features than the model was trained with.
    #[error("the model was trained with {expected} features per node, {dataset} has {}", none_or(*got))]
    FeatureCount {
        /// The dataset.
        dataset: String,
        /// Features per node of the training.
        expected: usize,
        /// Features per node of the dataset.
        got: usize,
    },
    /// The task needs labels, and the data have none.
    #[error("{dataset}: {task} needs labels, and this graph has none")]
    MissingLabels {
        /// The dataset.
        dataset: String,
        /// The name of the task.
        task: String,
    },
    /// The scores of all classes for all nodes do not fit into memory.
    #[error(
        "{dataset}: the scores of {classes} classes for {nodes} nodes take {} of memory or more, and there are {}; is the \
         label a number or an id? Fewer classes{} take less",
        byte_size(*needed), byte_size(*available),
        plain.map(|(model, bytes)| format!(", or {model}, which takes {},", byte_size(bytes))).unwrap_or_default()
    )]
    TooManyClasses {
        /// The dataset.
        dataset: String,
        /// Nodes of the largest graph.
        nodes: usize,
        /// How many classes there are.
        classes: usize,
        /// Bytes that are needed at least.
        needed: u64,
        /// Bytes that are left.
        available: u64,
        /// Bytes that a plain model needs, if that would fit.
        plain: Option<(&'static str, u64)>,
    },
    /// Sets of labels for a model that tells one class per node.
    #[error("{dataset}: nodes have several labels each, and the model was trained for one label per node")]
    SeveralLabels {
        /// The dataset.
        dataset: String,
    },
    /// A name that is not in the list of its kind.
    #[error("unknown {kind} `{}`{}", brief(name, LONGEST_VALUE), did_you_mean(name, known))]
    UnknownName {
        /// What the name should have named: "model", "task", ...
        kind: &'static str,
        /// What was written.
        name: String,
        /// Every valid name.
        known: Vec<String>,
    },
    /// A hyper-parameter outside its range.
    #[error("`{name}` is {}, but {problem}", brief(value, LONGEST_VALUE))]
    Setting {
        /// As the user types it.
        name: &'static str,
        /// As the user typed it.
        value: String,
        /// What would be right.
        problem: String,
    },
    /// A choice that was to be made already.
    #[error("`{name}` is still auto")]
    OpenChoice {
        /// As the user types it.
        name: String,
    },
    /// The data can't be split for the task.
    #[error("{dataset}: {}{problem}", graph.as_ref().map(|graph| format!("graph {graph}: ")).unwrap_or_default())]
    Split {
        /// Name of the data.
        dataset: String,
        /// Name of the graph, if there are several.
        graph: Option<String>,
        /// What is missing.
        problem: SplitProblem,
    },
    /// A split of nodes for a task about pairs, or the reverse.
    #[error("the split is about {split}, but {task} is about {expected}")]
    SplitKind {
        /// Name of the task.
        task: &'static str,
        /// What the task is about: nodes or pairs.
        expected: &'static str,
        /// What the split is about.
        split: &'static str,
    },
    /// A loss that is not a finite number.
    #[error("training diverged: the loss of epoch {epoch} is {loss}; a smaller learning-rate or clip-norm = 1 helps")]
    Diverged {
        /// Counted from one.
        epoch: usize,
        /// Infinite, or not a number.
        loss: f64,
    },
    /// A score or representation that is not a finite number.
    #[error(
        "{what} is {value}: training diverged, or features are enormous; a smaller learning-rate, clip-norm = 1 or scaled \
         features help"
    )]
    NonFinite {
        /// What has the value.
        what: &'static str,
        /// Infinite, or not a number.
        value: f32,
    },
    /// A model was used for something it was not trained for.
    #[error("the model was trained for {task}; it has no {wanted}")]
    WrongTask {
        /// The task of the training.
        task: &'static str,
        /// What it was used for.
        wanted: &'static str,
    },
    /// A model that knows nodes, on a graph of which it knows none.
    #[error(
        "the model {memory} and has met none of the {count} nodes of {dataset}; train with {remedy} to use it on graphs it \
         has never seen"
    )]
    UnknownNodes {
        /// Name of the data.
        dataset: String,
        /// How many nodes it has.
        count: usize,
        /// How the model knows nodes.
        memory: &'static str,
        /// With what settings it would not have to.
        remedy: &'static str,
    },
    /// A heuristic was asked for representations.
    #[error("{model} counts in the graph; it has no representations to write")]
    NoRepresentations {
        /// The model.
        model: String,
    },
    /// A model whose scores are not logits was asked for probabilities of links.
    #[error(
        "scores of {model} with the decoder {decoder} are not logits, so they give no probabilities; a trained model with the decoder \
         inner-product, hadamard-mlp or proximity has logits"
    )]
    NoProbabilities {
        /// The model.
        model: String,
        /// Its decoder.
        decoder: &'static str,
    },
    /// Several graphs where one is expected.
    #[error("{count} graphs, where one is expected")]
    SeveralGraphs {
        /// How many there are.
        count: usize,
    },
    /// A node or graph number beyond the last.
    #[error("{what} {number} is out of range: there are {count}, numbered from 0")]
    OutOfRange {
        /// `node` or `graph`.
        what: &'static str,
        /// The number.
        number: usize,
        /// How many there are.
        count: usize,
    },
    /// A setting of the wrong type, as a line of a file has it.
    #[error("`{}`: {}", brief(written, LONGEST_VALUE), brief(problem, LONGEST_VALUE))]
    SettingValue {
        /// The line.
        written: String,
        /// What would be right.
        problem: String,
    },
    /// Edges, weights or an order of nodes that make no graph.
    #[error(transparent)]
    Graph(#[from] GraphProblem),
    /// Features of another number of nodes.
    #[error("features have {got} rows but the graph has {expected} nodes")]
    FeatureRows {
        /// Nodes of the graph.
        expected: usize,
        /// Rows of the features.
        got: usize,
    },
    /// Offsets, columns and values that do not fit together.
    #[error("these arrays are not a sparse matrix")]
    NotSparse,
    /// An architecture without an output per class.
    #[error("this model has no output per class")]
    CannotClassify,
    /// A download that failed.
    #[error("{address}: {problem}; {remedy}")]
    Fetch {
        /// What was requested.
        address: String,
        /// What came instead.
        problem: String,
        /// How to do without.
        remedy: String,
    },
    /// Something as large as the data say takes more memory than is left.
    #[error("{problem}; {remedy}")]
    TooLarge {
        /// What it is, what it takes and what is left.
        problem: TooLarge,
        /// What takes less.
        remedy: &'static str,
    },
    /// The work was stopped from outside.
    #[error("interrupted")]
    Interrupted,
    /// A saved model that can't be used.
    #[error("model folder {}: {problem}", path.display())]
    Artefact {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

/// Why edges make no graph.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphProblem {
    /// Edges and weights of different lengths.
    #[error("{edges} edges come with {weights} weights")]
    WeightCount {
        /// Number of edges.
        edges: usize,
        /// Number of weights.
        weights: usize,
    },
    /// A weight that is not a positive number.
    #[error("edge {edge} has weight {weight}; a weight must be a positive number")]
    Weight {
        /// The number of the edge.
        edge: usize,
        /// Its weight.
        weight: f32,
    },
    /// An edge to a node that is not there.
    #[error("edge {}-{} names a node beyond the {num_nodes} nodes of the graph", edge[0], edge[1])]
    UnknownEnd {
        /// The edge.
        edge: [u32; 2],
        /// Nodes of the graph.
        num_nodes: usize,
    },
    /// More nodes than ids have bits for.
    #[error("{num_nodes} nodes are more than 31-bit ids can number")]
    TooManyNodes {
        /// Nodes of the graph.
        num_nodes: usize,
    },
    /// Arrays of a file that are no symmetric adjacency lists.
    #[error("these arrays are not an undirected graph")]
    NotUndirected,
    /// An order of nodes with an entry that is no node, or not for the first time.
    #[error("entry {entry} of the order, {node}, is unknown or repeated")]
    OrderEntry {
        /// The entry, counted from zero.
        entry: usize,
        /// The node it names.
        node: u32,
    },
    /// An order of other nodes than the graph has.
    #[error("the order has {entries} entries but the graph has {num_nodes} nodes")]
    OrderLength {
        /// Entries of the order.
        entries: usize,
        /// Nodes of the graph.
        num_nodes: usize,
    },
}

/// Why data can't be split.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SplitProblem {
    /// Fewer than one for each part.
    #[error("{total} {what} can't be split into training, validation and test; at least 3 are needed")]
    TooFew {
        /// How many there are.
        total: usize,
        /// Of what.
        what: &'static str,
    },
    /// A complete graph.
    #[error("every pair of nodes is linked; there is no negative to tell a link from")]
    NoNonEdge,
    /// A nearly complete graph.
    #[error(
        "only {} of nodes not linked, too few negatives to compare {positives} links with; set valid-negative-ratio and \
         test-negative-ratio to {:.1e} or less to measure on these",
        if *available == 1 { "1 pair is".to_string() } else { format!("{available} pairs are") },
        *available as f64 / *positives as f64
    )]
    FewNonEdges {
        /// Pairs without an edge.
        available: u64,
        /// Edges of a part.
        positives: usize,
    },
    /// A graph too large to rank against all of its nodes.
    #[error(
        "ranking {positives} positives against all nodes takes the scores of {pairs} pairs, more than {most}; \
         with evaluation-negatives = heart each positive has hard negatives of its own"
    )]
    TooManyPairs {
        /// Positives of a part.
        positives: usize,
        /// How many pairs would be scored.
        pairs: u64,
        /// How many may be.
        most: u64,
    },
    /// A graph without edges.
    #[error("there is no edge to reconstruct")]
    NoEdge,
    /// Nothing to tell apart.
    #[error("labelled nodes of {count} class; at least 2 are needed to tell apart")]
    OneClass {
        /// How many classes there are.
        count: usize,
    },
    /// No two nodes differ.
    #[error("labelled nodes of {count} class; pairs of different nodes need at least 2")]
    OneClassForPairs {
        /// How many classes there are.
        count: usize,
    },
    /// Nodes with several labels are neither alike nor different.
    #[error(
        "nodes have several labels each, and whether two are of the same class is asked of nodes with one; take node-classification"
    )]
    SeveralLabels,
    /// All labels differ.
    #[error("no two nodes have the same label; there is no positive pair")]
    NoSameLabelPair,
    /// A part of a given split that is empty.
    #[error("the {part} part of the split has no {what}")]
    NothingGiven {
        /// Training, validation or test.
        part: &'static str,
        /// Of what.
        what: &'static str,
    },
    /// A node or an edge that a given split has in two places.
    #[error(
        "{} is {}", brief(what, LONGEST_VALUE), if parts[0] == parts[1] { format!("twice in the {} part of the split", parts[0]) } else {
            format!("in the {} part and in the {} part of the split", parts[0], parts[1])
        }
    )]
    Twice {
        /// The node or edge.
        what: String,
        /// Where it is.
        parts: [&'static str; 2],
    },
    /// A node of a given split that has no label.
    #[error("{} of the {part} part of the split has no label", brief(node, LONGEST_VALUE))]
    WithoutLabel {
        /// The node.
        node: String,
        /// Training, validation or test.
        part: &'static str,
    },
    /// A pair of a node and itself.
    #[error("the {part} part of the split has a pair of node {} and itself", brief(node, LONGEST_VALUE))]
    SelfPair {
        /// The node.
        node: String,
        /// Training, validation or test.
        part: &'static str,
    },
    /// A training edge of a given split that the graph does not have.
    #[error("{} is a training edge of the split, and no edge of the graph", brief(edge, LONGEST_VALUE))]
    NotAnEdge {
        /// The edge.
        edge: String,
    },
    /// Held-out edges that message passing would see.
    #[error(
        "{} among those that message passing sees, the first is {}; take them out of the graph, or list the training edges \
         without them",
        if *count == 1 { "1 held-out edge is".to_string() } else { format!("{count} held-out edges are") }, brief(first, LONGEST_VALUE)
    )]
    Visible {
        /// How many there are.
        count: usize,
        /// One of them.
        first: String,
    },
    /// A negative of a given split that is an edge.
    #[error("{} is a negative of the {part} part of the split, and an edge as well", brief(pair, LONGEST_VALUE))]
    EdgeAsNegative {
        /// The pair.
        pair: String,
        /// Validation or test.
        part: &'static str,
    },
    /// A graph too small for its fractions.
    #[error("the graph is too small to split: no labelled node is left for {part}")]
    EmptyPart {
        /// Training, validation or test.
        part: &'static str,
    },
    /// A graph of several without a label.
    #[error("it has no labelled node")]
    NoLabelledNode,
    /// Classes that training never meets.
    #[error("no class of the {part} graphs occurs in a training graph; nothing can be learnt about them")]
    UnseenClasses {
        /// Validation or test.
        part: &'static str,
    },
    /// Fewer nodes than are wanted of each class.
    #[error(
        "class `{}` has {total} labelled nodes, too few for {} + {} + {}", brief(class, LONGEST_VALUE), wanted[0], wanted[1], if wanted[2] == 0 { "the rest".to_string() } else { wanted[2].to_string() }
    )]
    SmallClass {
        /// The class.
        class: String,
        /// Its labelled nodes.
        total: usize,
        /// For training, validation and test (0 for all others).
        wanted: [usize; 3],
    },
}

impl From<nigh_formats::Error> for Error {
    fn from(error: nigh_formats::Error) -> Error {
        match error {
            nigh_formats::Error::UnclearColumns { problem, columns } => Error::UnclearColumns { problem, columns },
            nigh_formats::Error::Weight { problem } => Error::Weight { problem },
            nigh_formats::Error::Setting { name, value, problem } => Error::Setting { name, value, problem },
            nigh_formats::Error::NotDownloaded { name, files, folders } => {
                Error::NotDownloaded { name, files, folders }
            }
            nigh_formats::Error::NoDataFolder { name } => Error::NoDataFolder { name },
            nigh_formats::Error::Fetch { address, problem, remedy } => Error::Fetch { address, problem, remedy },
            error => Error::Format(error),
        }
    }
}

impl From<Stopped> for Error {
    fn from(stopped: Stopped) -> Error {
        match stopped {
            Stopped::Interrupted => Error::Interrupted,
            Stopped::TooLarge(problem) => {
                Error::too_large(problem, "fewer nodes, edges or features, or a smaller width or signal-dim take less")
            }
            Stopped::Failed(error) => Error::Format(error),
        }
    }
}

impl Error {
    /// Adds the path to an error of the system.
    pub fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Error + '_ {
        move |source| nigh_formats::Error::io(path)(source).into()
    }

    /// Something wrong on one line of `path`.
    pub fn line(path: &Path, line: usize, problem: impl Into<String>) -> Error {
        nigh_formats::Error::line(path, line, problem).into()
    }

    /// Something wrong with `path` as a whole.
    pub fn file(path: &Path, problem: impl Into<String>) -> Error {
        nigh_formats::Error::file(path, problem).into()
    }

    /// What takes too much memory, and what takes less.
    pub fn too_large(problem: TooLarge, remedy: &'static str) -> Error {
        Error::TooLarge { problem, remedy }
    }

    /// A weight that can't be one.
    pub(crate) fn weight(problem: nigh_formats::Error) -> Error {
        Error::Weight { problem: problem.into() }
    }

    /// A hyper-parameter outside its range.
    pub fn setting(name: &'static str, value: impl ToString, problem: impl Into<String>) -> Error {
        Error::Setting { name, value: value.to_string(), problem: problem.into() }
    }
}

/// The nearest of `known`, if any is near enough to be a typing mistake.
pub fn nearest<'a>(name: &str, known: &'a [String]) -> Option<&'a str> {
    // A comparison takes as long as both are, multiplied.
    let name = name.get(..name.len().min(100))?.to_lowercase();
    let score = |candidate: &str| strsim::jaro_winkler(&name, candidate);
    // The first of equals.
    let best = known.iter().rev().max_by(|a, b| score(a).total_cmp(&score(b)))?;
    (score(best) > 0.75).then_some(best)
}

fn did_you_mean(name: &str, known: &[String]) -> String {
    match nearest(name, known) {
        Some(best) => format!("; did you mean `{best}`?"),
        None => format!("; known are {}", brief(&known.join(", "), 1000)),
    }
}

fn one_of_folders(folders: &[PathBuf]) -> String {
    let shown: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    if shown.is_empty() { "a folder of your own".into() } else { format!("one of {}", shown.join(", ")) }
}

fn none_or(count: usize) -> String {
    if count == 0 { "none".into() } else { count.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_mistake_is_answered_with_the_name_that_was_meant() {
        let known = vec!["smp-linear".to_string(), "gcn".to_string()];
        let error = Error::UnknownName { kind: "model", name: "smp_liner".into(), known: known.clone() };
        assert_eq!(error.to_string(), "unknown model `smp_liner`; did you mean `smp-linear`?");
        let error = Error::UnknownName { kind: "model", name: "xyzzy".into(), known };
        assert_eq!(error.to_string(), "unknown model `xyzzy`; known are smp-linear, gcn");
    }
}
