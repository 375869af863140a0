//! Every word of help.

use clap::{Args, Parser, Subcommand};
use nigh::dataset::{EdgeColumns, InputFiles, NodeColumns};
use nigh::names::Auto;
use nigh::source::{Refresh, Signal, SignalScale};
use nigh::task::{Negatives, SameLabelPairs};
use nigh::{Decoder, Metric, Protocol, Storage, Task};
use serde::Serialize;
use std::path::PathBuf;

/// Stochastic Message Passing: graph neural networks that know where a node is and still what a node is
#[derive(Debug, Parser)]
#[command(name = "nigh", version, max_term_width = 100)]
pub struct CommandLine {
    #[command(subcommand)]
    pub command: Command,

    /// Threads to use; results have the same bits on any number [default: all cores]
    #[arg(long, global = true, value_name = "N", value_parser = whole_number, allow_negative_numbers = true)]
    pub threads: Option<usize>,

    /// No progress and no remarks on stderr, only errors
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

/// A count; what is sensible for each option is checked with the rest of the settings.
fn whole_number(text: &str) -> Result<usize, String> {
    seed(text)?.try_into().map_err(|_| "too large for this machine".to_string())
}

/// Up to 2^53, which every file format can hold.
fn seed(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|&number: &u64| number <= 1 << 53);
    number.ok_or_else(|| "expected a whole number from 0 to 2^53".to_string())
}

fn auto_or_whole_number(text: &str) -> Result<Auto<usize>, String> {
    if text == "auto" { Ok(Auto::Auto) } else { whole_number(text).map(Auto::Is) }
}

fn auto_or_number(text: &str) -> Result<Auto<f32>, String> {
    text.parse().map_err(|_| "expected `auto` or a number".to_string())
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show what SMP is for, on the paper's communities and leaders (in under a minute)
    Demo(Demo),
    /// Train a model on a graph and report how good it is
    #[command(after_help = train_examples())]
    Train(Box<Train>),
    /// Measure a saved model again, on its own graph or on another
    Evaluate(Evaluate),
    /// Write the representation of every node of a graph
    Embed(Embed),
    /// Score pairs, list the most likely links of a node, or classify nodes
    #[command(after_help = PREDICT_EXAMPLES)]
    Predict(Predict),
    /// The width d that Theorem 2 asks for on a graph, and the error measured
    Certify(Certify),
    /// Every model, and what it can answer
    Models(Models),
    /// Train several models on a graph, and say which is better and how surely
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(Box<Compare>),
    /// Run the tables of the paper, as far as they have not been run yet
    #[command(after_help = REPRODUCE_NOTES)]
    Reproduce(Reproduce),
    /// Show the tables of the paper with ours beside theirs, from what was run
    Report(Report),
    /// Graphs by name: list them, look into one, fetch it, write it as plain files
    Data {
        #[command(subcommand)]
        command: DataCommand,
    },
}

fn train_examples() -> String {
    format!("{TRAIN_EXAMPLES}\nModels: `nigh models`")
}

const TRAIN_EXAMPLES: &str = "Examples:
  nigh train communities --task link-prediction --model smp-linear
  nigh train edges.csv --labels labels.csv --task node-classification --out model
  nigh train edges.csv --config settings.toml --out model --resume

Graphs by name: `nigh data list`";

const PREDICT_EXAMPLES: &str = "Examples:
  nigh predict model edges.csv --pairs pairs.csv
  nigh predict model edges.csv --node alice --top 10
  nigh predict model edges.csv --out classes.csv      (a node-classification model)";

#[derive(Debug, Args)]
pub struct Demo {
    /// Draw the nodes by their learnt representation, for SGC and for SMP (.svg or .png)
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,

    /// Runs per figure
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = whole_number, allow_negative_numbers = true)]
    pub repeats: usize,

    /// Passes over the training data
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = whole_number, allow_negative_numbers = true)]
    pub epochs: usize,

    /// Root of all randomness
    #[arg(long, value_name = "SEED", default_value_t = 1, value_parser = seed, allow_negative_numbers = true)]
    pub seed: u64,

    /// Print one JSON object instead of the table
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Models {
    /// Show the page of one model: formula, shapes, cost, when to use it
    #[arg(value_name = "MODEL")]
    pub model: Option<String>,

    /// Print one JSON object instead of the table
    #[arg(long, conflicts_with = "model")]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(mut_arg("model", |model| model.hide(true)))]
pub struct Compare {
    /// Models with commas between them (`nigh models`) [default: smp-linear, smp-identity, sgc, gcn, gat and, for links,
    /// common-neighbors, adamic-adar; those that can answer]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub models: Vec<String>,

    /// Print one JSON object instead of the table
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub data: Data,

    #[command(flatten)]
    pub settings: Settings,
}

const COMPARE_EXAMPLES: &str = "\
Every model meets the same splits: repeats with the same seed differ in nothing else.
p is that of a paired t-test over them against the best model; what is said of all models
together is corrected for their number (Holm).

Examples:
  nigh compare edges.csv --task link-prediction --models smp-linear,gcn,adamic-adar
  nigh compare edges.csv --labels labels.csv --task node-classification --repeats 10";

#[derive(Debug, Args)]
pub struct Reproduce {
    /// A table by name, `all`, or a TOML file of your own
    #[arg(value_name = "TABLE")]
    pub table: String,

    /// Only these datasets and models, with commas between them
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub only: Vec<String>,

    /// Runs per figure [default: the table's, mostly 5]
    #[arg(long, value_name = "N", value_parser = whole_number, allow_negative_numbers = true)]
    pub repeats: Option<usize>,

    /// Passes over the training data [default: the table's, mostly 1000]
    #[arg(long, value_name = "N", value_parser = whole_number, allow_negative_numbers = true)]
    pub epochs: Option<usize>,

    /// Keep records in this folder
    #[arg(long, value_name = "DIR", default_value = RESULTS)]
    pub results: PathBuf,

    /// Look for datasets in this folder first, then in NIGH_DATA and the user's cache
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,

    /// Only say what is left to run
    #[arg(long)]
    pub dry_run: bool,
}

const RESULTS: &str = "experiments/results";

const REPRODUCE_NOTES: &str = "\
Tables: poc, link-prediction, ppa, node-classification, pairwise-node-classification,
graph-reconstruction, ablation-link, ablation-signal, runtime, one-hot,
link-prediction-citation, ablation-node, ablation-pairwise, position-encoding

Every finished repeat is kept at once. A run that was stopped, in whatever way, goes on where it
was; several processes share the work. Cells that stand in several tables are run once.

Examples:
  nigh reproduce poc
  nigh reproduce link-prediction --only communities,grid --repeats 1
  nigh reproduce all";

#[derive(Debug, Args)]
pub struct Report {
    /// A table by name, or a TOML file of your own [default: all tables of the paper]
    #[arg(value_name = "TABLE")]
    pub table: Option<String>,

    /// text, markdown, latex, csv, html or json [default: by the name of --out, otherwise text]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<ReportFormat>,

    /// Write it to this file
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Print one JSON object: a summary, and every figure with ours, theirs and the verdict
    #[arg(long, conflicts_with = "format")]
    pub json: bool,

    /// Of runs with so many repeats [default: the table's]
    #[arg(long, value_name = "N", value_parser = whole_number, allow_negative_numbers = true)]
    pub repeats: Option<usize>,

    /// Of runs with so many epochs [default: the table's]
    #[arg(long, value_name = "N", value_parser = whole_number, allow_negative_numbers = true)]
    pub epochs: Option<usize>,

    /// Where the records are
    #[arg(long, value_name = "DIR", default_value = RESULTS)]
    pub results: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ReportFormat {
    Text,
    Markdown,
    Latex,
    Csv,
    Html,
    Json,
}

#[derive(Debug, Subcommand)]
pub enum DataCommand {
    /// Every graph that has a name, how large it is and where it is
    List {
        /// Look for datasets in this folder first, then in NIGH_DATA and the user's cache
        #[arg(long, value_name = "DIR")]
        data: Option<PathBuf>,
    },
    /// Counts, components, degrees and origin of one graph, by name or in files
    Show {
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,

        #[command(flatten)]
        data: Data,
    },
    /// Download datasets of the paper from their public origin
    #[command(after_help = FETCH_NOTES)]
    Fetch {
        /// Names of datasets (`nigh data list`)
        #[arg(value_name = "NAME", required = true)]
        names: Vec<String>,

        /// Put them into this folder instead of the user's cache
        #[arg(long, value_name = "DIR")]
        data: Option<PathBuf>,

        /// Download again what is here already
        #[arg(long)]
        force: bool,
    },
    /// Write a graph as plain files: csv, and NumPy's arrays for features
    Export {
        /// A new folder for the files
        #[arg(long, value_name = "DIR")]
        out: PathBuf,

        #[command(flatten)]
        data: Data,
    },
}

const FETCH_NOTES: &str = "\
An interrupted download goes on where it stopped. Every file is checked before it is put in place.
Other commands fetch a dataset by themselves when they need it, all but ogbl-ppa, which is large.
The terms of use are those of the origin (`nigh data show NAME`).

NIGH_ORIGIN=ADDRESS names a mirror: files come from ADDRESS/NAME/FILE, archives (ppi, ogbl-ddi,
ogbl-ppa) from ADDRESS/NAME.zip. ALL_PROXY, HTTPS_PROXY and NO_PROXY are honoured.";

/// A graph and what is known of its nodes.
#[derive(Debug, Default, Args)]
pub struct Data {
    /// A name (`nigh data list`) or a file of edges: csv, tsv or blank-separated (also .gz, .zst), Parquet, Arrow,
    /// Matrix Market, scipy's .npz, networkx's node-link .json
    #[arg(value_name = "GRAPH")]
    pub graph: String,

    /// All nodes, a table with a column of ids: adds those without an edge, and orders features that have no ids
    #[arg(long, value_name = "FILE")]
    pub nodes: Option<PathBuf>,

    /// Node features: a table of id and numbers, or of id, feature and value; or .npy, .npz, .mtx with a row per node
    #[arg(long, value_name = "FILE")]
    pub features: Option<PathBuf>,

    /// Node labels: a table of id and label; or .npy, .npz with a number per node
    #[arg(long, value_name = "FILE")]
    pub labels: Option<PathBuf>,

    /// Look for named datasets in this folder first, then in NIGH_DATA and the user's cache; one that is
    /// fetched goes into this folder
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,

    #[command(flatten)]
    pub columns: Columns,
}

/// Which column is what.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Columns, by name or counted from 1")]
pub struct Columns {
    /// Edges: ids of one end [default: source, src, from ..., or the first]
    #[arg(long, value_name = "COLUMN")]
    pub source: Option<String>,

    /// Edges: ids of the other end [default: target, dst, to ..., or the second]
    #[arg(long, value_name = "COLUMN")]
    pub target: Option<String>,

    /// Edges: positive weights [default: weight; without a header the third]
    #[arg(long, value_name = "COLUMN")]
    pub weight: Option<String>,

    /// All tables: the graph to which a row belongs, where there are several [default: graph, graph_id]
    #[arg(long, value_name = "COLUMN")]
    pub graph_column: Option<String>,

    /// Features and labels: ids of nodes [default: id, node ..., or the first]
    #[arg(long, value_name = "COLUMN")]
    pub id: Option<String>,

    /// Labels: the label [default: label, class ..., or the only other]
    #[arg(long, value_name = "COLUMN")]
    pub label: Option<String>,
}

impl Data {
    pub fn input(&self) -> InputFiles {
        let columns = &self.columns;
        InputFiles {
            edge_columns: EdgeColumns {
                source: columns.source.clone(),
                target: columns.target.clone(),
                weight: columns.weight.clone(),
                graph: columns.graph_column.clone(),
            },
            nodes: self.nodes.clone(),
            features: self.features.clone(),
            labels: self.labels.clone(),
            node_columns: NodeColumns {
                id: columns.id.clone(),
                label: columns.label.clone(),
                graph: columns.graph_column.clone(),
            },
        }
    }
}

#[derive(Debug, Args)]
pub struct Train {
    /// Save the best model to this new folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Go on where a killed run with the same settings and --out stopped
    #[arg(long, requires = "out")]
    pub resume: bool,

    /// Keep a checkpoint every N epochs [default: every 3 seconds]
    #[arg(long, value_name = "N", requires = "out", value_parser = whole_number, allow_negative_numbers = true)]
    pub checkpoint_every: Option<usize>,

    /// Settings in a TOML file, by the names of the options below; the command line goes first
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Print one JSON object instead of the table
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub data: Data,

    #[command(flatten)]
    pub settings: Settings,
}

/// The fields of `nigh::Config`, each of which may be left out.
#[derive(Debug, Default, Args, Serialize)]
#[serde(rename_all = "kebab-case")]
#[command(next_help_heading = "Settings")]
pub struct Settings {
    /// link-prediction, node-classification, pairwise-node-classification or graph-reconstruction
    /// [default: link-prediction]
    #[arg(long, value_name = "TASK")]
    pub task: Option<Task>,

    /// A model of the catalog (`nigh models`) [default: smp-linear]
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,

    /// strict, or published: cosine scores and loose negatives, as the paper's figures were made
    /// [default: strict]
    #[arg(long, value_name = "PROTOCOL")]
    pub protocol: Option<Protocol>,

    /// Propagation steps or layers K [default: 2]
    #[arg(long, value_name = "K", value_parser = whole_number, allow_negative_numbers = true)]
    pub hops: Option<usize>,

    /// How rows are stored between hops (linear, gcn, sage): float32, or float16, faster on graphs beyond
    /// the caches; the error is told [default: float32]
    #[arg(long, value_name = "STORAGE")]
    pub hop_storage: Option<Storage>,

    /// Width of hidden layers and of the representation [default: 32]
    #[arg(long, value_name = "W", value_parser = whole_number, allow_negative_numbers = true)]
    pub width: Option<usize>,

    /// Share of entries dropped between layers: auto (0.6 for gat, 0.5 for others) or a number
    /// [default: auto]
    #[arg(long, value_name = "P", value_parser = auto_or_number, allow_negative_numbers = true)]
    pub dropout: Option<Auto<f32>>,

    /// Distribution of the stochastic matrix E: gaussian, uniform, rademacher or sparse
    /// [default: gaussian]
    #[arg(long, value_name = "SIGNAL")]
    pub signal: Option<Signal>,

    /// Width d of the stochastic matrix E; number of eigenvectors (eigen-gnn); width of vectors
    /// (node2vec) [default: 32]
    #[arg(long, value_name = "D", value_parser = whole_number, allow_negative_numbers = true)]
    pub signal_dim: Option<usize>,

    /// Scale of E: auto, inverse-sqrt (d^-1/2) or unit [default: auto]
    #[arg(long, value_name = "SCALE")]
    pub signal_scale: Option<Auto<SignalScale>>,

    /// Whether E stays: auto, fixed or resampled; a resampled model can embed graphs it has never seen
    /// [default: auto]
    #[arg(long, value_name = "REFRESH")]
    pub refresh: Option<Auto<Refresh>>,

    /// node2vec: nodes on a walk [default: 80]
    #[arg(long, value_name = "N", value_parser = whole_number, allow_negative_numbers = true)]
    pub walk_length: Option<usize>,

    /// node2vec: walks from every node [default: 10]
    #[arg(long, value_name = "N", value_parser = whole_number, allow_negative_numbers = true)]
    pub walks_per_node: Option<usize>,

    /// node2vec: how far apart two nodes of a walk may be to make a pair [default: 10]
    #[arg(long, value_name = "N", value_parser = whole_number, allow_negative_numbers = true)]
    pub walk_context: Option<usize>,

    /// node2vec: the larger, the less a walk goes back [default: 1]
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub walk_p: Option<f32>,

    /// node2vec: the larger, the nearer a walk stays [default: 1]
    #[arg(long, value_name = "Q", allow_negative_numbers = true)]
    pub walk_q: Option<f32>,

    /// node2vec: passes over the walks [default: 1]
    #[arg(long, value_name = "N", value_parser = whole_number, allow_negative_numbers = true)]
    pub walk_epochs: Option<usize>,

    /// Score of a pair: auto, cosine, inner-product or hadamard-mlp [default: auto]
    #[arg(long, value_name = "DECODER")]
    pub decoder: Option<Auto<Decoder>>,

    /// auto, auc, ap, hits@K, mrr, accuracy or macro-f1 [default: auto]
    #[arg(long, value_name = "METRIC")]
    pub metric: Option<Auto<Metric>>,

    /// Passes over the training data [default: 1000]
    #[arg(long, value_name = "N", value_parser = whole_number, allow_negative_numbers = true)]
    pub epochs: Option<usize>,

    /// Step of Adam [default: 0.01]
    #[arg(long, value_name = "LR", allow_negative_numbers = true)]
    pub learning_rate: Option<f32>,

    /// L2 penalty on weights [default: 0.0005]
    #[arg(long, value_name = "WD", allow_negative_numbers = true)]
    pub weight_decay: Option<f32>,

    /// Epoch after which the learning rate falls, 0 for never [default: 200]
    #[arg(long, value_name = "N", value_parser = whole_number, allow_negative_numbers = true)]
    pub decay_at: Option<usize>,

    /// Factor by which it falls [default: 0.1]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub decay_factor: Option<f32>,

    /// Longest gradient, 0 for any length [default: 0]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub clip_norm: Option<f32>,

    /// Positive pairs per step, 0 for all at once [default: auto, 65536 for hadamard-mlp]
    #[arg(long, value_name = "N", value_parser = auto_or_whole_number, allow_negative_numbers = true)]
    pub batch_size: Option<Auto<usize>>,

    /// Epochs between two evaluations; the first and the last have one [default: 5]
    #[arg(long, value_name = "N", value_parser = whole_number, allow_negative_numbers = true)]
    pub evaluate_every: Option<usize>,

    /// Runs, with seeds SEED, SEED+1, ... [default: 5]
    #[arg(long, value_name = "N", value_parser = whole_number, allow_negative_numbers = true)]
    pub repeats: Option<usize>,

    /// Root of all randomness [default: 1]
    #[arg(long, value_name = "SEED", value_parser = seed, allow_negative_numbers = true)]
    pub seed: Option<u64>,

    /// Share held out for validation [default: 0.1]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub valid_fraction: Option<f32>,

    /// Share held out for the test [default: 0.1]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub test_fraction: Option<f32>,

    /// Training nodes per class, 0 for shares [default: auto]
    #[arg(long, value_name = "N", value_parser = auto_or_whole_number, allow_negative_numbers = true)]
    pub train_per_class: Option<Auto<usize>>,

    /// Validation nodes per class [default: auto]
    #[arg(long, value_name = "N", value_parser = auto_or_whole_number, allow_negative_numbers = true)]
    pub valid_per_class: Option<Auto<usize>>,

    /// Test nodes per class, 0 for all the rest [default: auto]
    #[arg(long, value_name = "N", value_parser = auto_or_whole_number, allow_negative_numbers = true)]
    pub test_per_class: Option<Auto<usize>>,

    /// auto, loose or exact [default: auto, by protocol]
    #[arg(long, value_name = "KIND")]
    pub train_negatives: Option<Auto<Negatives>>,

    /// auto, loose or exact [default: auto, by protocol]
    #[arg(long, value_name = "KIND")]
    pub evaluation_negatives: Option<Auto<Negatives>>,

    /// Positives of pairwise classification: auto, all or sampled [default: auto]
    #[arg(long, value_name = "CHOICE")]
    pub same_label_pairs: Option<Auto<SameLabelPairs>>,
}

#[derive(Debug, Args)]
pub struct Evaluate {
    /// A folder that `nigh train --out` wrote
    #[arg(value_name = "DIR")]
    pub model: PathBuf,

    /// Print one JSON object instead of the table
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub data: Data,
}

#[derive(Debug, Args)]
pub struct Embed {
    /// A folder that `nigh train --out` wrote
    #[arg(value_name = "DIR")]
    pub model: PathBuf,

    /// Where to write: .npy (ids in FILE.ids.txt), .csv, .parquet, .safetensors, or .vec (word2vec)
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,

    #[command(flatten)]
    pub data: Data,
}

#[derive(Debug, Args)]
pub struct Predict {
    /// A folder that `nigh train --out` wrote
    #[arg(value_name = "DIR")]
    pub model: PathBuf,

    /// Score the pairs of this file: two columns of ids
    #[arg(long, value_name = "FILE", conflicts_with = "node")]
    pub pairs: Option<PathBuf>,

    /// List the most likely links of this node
    #[arg(long, value_name = "ID")]
    pub node: Option<String>,

    /// The graph of these pairs, or of this node, where there are several
    #[arg(long, value_name = "NAME")]
    pub in_graph: Option<String>,

    /// How many links to list
    #[arg(long, value_name = "N", default_value_t = 10, requires = "node", value_parser = whole_number, allow_negative_numbers = true)]
    pub top: usize,

    /// List links that exist already as well, and mark them
    #[arg(long, requires = "node")]
    pub include_existing: bool,

    /// Write csv, or Parquet if the name ends in .parquet, here instead of to stdout
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    #[command(flatten)]
    pub data: Data,
}

#[derive(Debug, Args)]
pub struct Certify {
    /// Largest error of the estimated proximity
    #[arg(long, value_name = "E", default_value_t = 0.1, allow_negative_numbers = true)]
    pub epsilon: f64,

    /// Probability with which it may be larger
    #[arg(long, value_name = "D", default_value_t = 0.05, allow_negative_numbers = true)]
    pub delta: f64,

    /// Propagation steps K
    #[arg(long, value_name = "K", default_value_t = 2, value_parser = whole_number, allow_negative_numbers = true)]
    pub hops: usize,

    /// Width of E to measure [default: the width that the theorem asks for]
    #[arg(long, value_name = "D", value_parser = whole_number, allow_negative_numbers = true)]
    pub signal_dim: Option<usize>,

    /// Distribution of E: gaussian, uniform, rademacher or sparse
    #[arg(long, value_name = "SIGNAL", default_value = "gaussian")]
    pub signal: Signal,

    /// Pairs to measure
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = whole_number, allow_negative_numbers = true)]
    pub pairs: usize,

    /// Root of all randomness
    #[arg(long, value_name = "SEED", default_value_t = 1, value_parser = seed, allow_negative_numbers = true)]
    pub seed: u64,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub data: Data,
}
