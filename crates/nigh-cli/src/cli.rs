//! Commands, options and help texts.

use crate::commands::WrongUsage;
use crate::settings::Settings;
use crate::suggestions::{self, Suggested};
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use nigh::dataset::{EdgeColumns, IdColumns, InputFiles, LabelSeparator, NodeColumns, WeightColumn};
use nigh::formats::text_table::Formulas;
use nigh::{Memory, Signal, Storage, estimate};
use std::path::PathBuf;

/// Stochastic Message Passing: graph neural networks that know where a node is and still what a node is
#[derive(Debug, Parser)]
#[command(name = "nigh", version, max_term_width = 100)]
pub struct CommandLine {
    #[command(subcommand)]
    pub command: Command,

    /// Number of threads; results do not depend on it [default: all cores]
    #[arg(long, global = true, value_name = "N", value_parser = whole_number, allow_negative_numbers = true)]
    pub threads: Option<usize>,

    /// No progress and no notes on stderr, only errors
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

/// A count. The range of each option is checked with the rest of the settings.
fn whole_number(text: &str) -> Result<usize, String> {
    seed(text)?.try_into().map_err(|_| "too large for this machine".to_string())
}

/// Up to 2^53, which every file format can represent.
fn seed(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|&number: &u64| number <= 1 << 53);
    number.ok_or_else(|| "expected a whole number from 0 to 2^53".to_string())
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show what SMP does, on the paper's communities and leaders (in under a minute)
    Demo(Demo),
    /// Train a model on a graph and report its test metric
    #[command(after_help = TRAIN_EXAMPLES)]
    Train(Box<Train>),
    /// Evaluate a saved model, on its own graph or on another
    Evaluate(Evaluate),
    /// Write the representation of every node of a graph
    Embed(Embed),
    /// Write Ã^K E, a vector per node that needs no training, of graphs of any size
    #[command(after_help = PROPAGATE_NOTES)]
    Propagate(Propagate),
    /// Show what a run takes in memory, on disk and in time, and how it would be done
    #[command(after_help = ESTIMATE_EXAMPLES)]
    Estimate(Estimate),
    /// Score pairs, list the most likely links of a node, or classify nodes
    #[command(after_help = PREDICT_EXAMPLES)]
    Predict(Predict),
    /// Show the width d that Theorem 2 requires on a graph, and the measured error
    Certify(Certify),
    /// List the models, or show the page of one
    Models(Models),
    /// Train several models on a graph and test which differences are significant
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(Box<Compare>),
    /// Tell whether a task needs where a node is, what it is, or both
    #[command(after_help = DIAGNOSE_NOTES)]
    Diagnose(Box<Diagnose>),
    /// Search for better settings on a graph, chosen on the validation metric
    #[command(after_help = TUNE_NOTES)]
    Tune(Box<Tune>),
    /// Run the experiments of the paper that have no record yet
    #[command(after_help = reproduce_notes())]
    Reproduce(Reproduce),
    /// Show the tables of the paper: recorded figures beside published ones
    Report(Report),
    /// List, show, fetch, convert and export datasets
    Data {
        #[command(subcommand)]
        command: DataCommand,
    },
    /// Print a script that completes commands, options and names in a shell
    #[command(after_help = COMPLETIONS_NOTES)]
    Completions {
        /// bash, elvish, fish, powershell or zsh
        #[arg(value_name = "SHELL", hide_possible_values = true)]
        shell: Shell,
    },
    /// Print the manual page of the program or of a command
    #[command(after_help = MAN_EXAMPLES)]
    Man(Man),
}

const TRAIN_EXAMPLES: &str = "Examples:
  nigh train communities --task link-prediction --model smp-linear
  nigh train edges.csv --labels labels.csv --task node-classification --out model
  nigh train edges.csv --config settings.toml --out model --resume

Datasets: `nigh data list`
Models: `nigh models`";

const COMPLETIONS_NOTES: &str = "\
Where to put the script:
  nigh completions bash > ~/.local/share/bash-completion/completions/nigh
  nigh completions zsh > ~/.zfunc/_nigh                 (with ~/.zfunc in fpath, before compinit)
  nigh completions fish > ~/.config/fish/completions/nigh.fish";

const MAN_EXAMPLES: &str = "Examples:
  nigh man | man -l -
  nigh man data fetch | man -l -
  nigh man --out ~/.local/share/man/man1      (a page per command)";

#[derive(Debug, Args)]
pub struct Man {
    /// The command, such as `train` or `data fetch` [default: the program]
    #[arg(value_name = "COMMAND", conflicts_with = "out")]
    pub command: Vec<String>,

    /// Write the pages of the program and of all commands to this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

const PROPAGATE_NOTES: &str = "\
Inner products of two rows estimate how close the nodes are (Theorem 2; `nigh certify`). Rows depend
on --seed and the ids alone: every --memory gives the same bits, and so does any number of threads.

With --memory, E is propagated in panels of columns that fit, and the edges of a graph file stay on
disk if they have to (`nigh data convert`). `nigh estimate` shows how it would be done.

Examples:
  nigh propagate graph.nigh --out vectors.npy --memory 8GiB
  nigh propagate edges.csv --signal-dim 64 --out vectors.parquet";

const ESTIMATE_EXAMPLES: &str = "Examples:
  nigh estimate graph.nigh --memory 8GiB
  nigh estimate --nodes 50000000 --edges 1000000000 --memory 12GiB --json";

const PREDICT_EXAMPLES: &str = "Examples:
  nigh predict model edges.csv --pairs pairs.csv
  nigh predict model edges.csv --node alice --top 10
  nigh predict model edges.csv --out classes.csv      (a node-classification model)";

#[derive(Debug, Args)]
pub struct Demo {
    /// Draw the nodes by their learnt representations, for SGC and SMP (.svg or .png)
    #[cfg(feature = "pictures")]
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,

    /// Runs per figure, with different random seeds
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = whole_number, allow_negative_numbers = true)]
    pub repeats: usize,

    /// Passes over the training data
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = whole_number, allow_negative_numbers = true)]
    pub epochs: usize,

    /// Random seed
    #[arg(long, value_name = "SEED", default_value_t = 1, value_parser = seed, allow_negative_numbers = true)]
    pub seed: u64,

    /// Print one JSON object instead of the table
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Models {
    /// Show the page of this model: formula, shapes, cost, when to use it
    #[arg(value_name = "MODEL", value_parser = Suggested(suggestions::models), hide_possible_values = true)]
    pub model: Option<String>,

    /// Print one JSON object instead of the table
    #[arg(long, conflicts_with = "model")]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(mut_arg("model", |model| model.hide(true)))]
pub struct Compare {
    /// Models, separated by commas (`nigh models`) [default: the model that answers the task best, smp-proximity, smp-linear,
    /// smp-identity, sgc, gcn, gat, node2vec, matrix-factorization, common-neighbors, adamic-adar, resource-allocation, katz; those that
    /// support the task]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = Suggested(suggestions::models))]
    #[arg(hide_possible_values = true)]
    pub models: Vec<String>,

    /// Write every finished repeat to this file, a line of JSON each, from which an interrupted comparison resumes
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// TOML file of settings; options override it
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

const COMPARE_EXAMPLES: &str = "\
All models are trained on the same splits: repeats with the same seed share their split.
p is the p-value of a paired t-test against the best model; the conclusion about all models is
corrected for their number (Holm).

With --out the same command resumes an interrupted comparison; more repeats or models extend it.

Examples:
  nigh compare edges.csv --task link-prediction --models smp-linear,gcn,adamic-adar
  nigh compare edges.csv --repeats 10 --out compared.jsonl
  nigh compare edges.csv --labels labels.csv --task node-classification --repeats 10";

#[derive(Debug, Args)]
#[command(mut_arg("model", |model| model.hide(true)))]
#[command(mut_arg("task", |task| task.help(
    "link-prediction, node-classification, pairwise-node-classification or graph-reconstruction [default: node-classification with \
     --labels, otherwise link-prediction]"
)))]
pub struct Diagnose {
    /// Write every finished repeat to this file, a line of JSON each, from which an interrupted diagnosis resumes
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// TOML file of settings; options override it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Print one JSON object instead of the answer and the table
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub data: Data,

    #[command(flatten)]
    pub settings: Settings,
}

const DIAGNOSE_NOTES: &str = "\
Three models of one family are trained on the same splits: smp-linear knows both, sgc only what a
node is (its features; without any, the degrees around it), smp-signal only where it is.
Paired t-tests over the repeats, corrected for their number (Holm), say which differences are there.
The answer has three sentences: what the task needs, how sure that is, and what to do; then the
table, and the width of the signal that Theorem 2 asks for (`nigh certify`) beside the one in use.

With --out the same command resumes an interrupted diagnosis; more repeats extend it, and it shares
its file with `nigh compare` under the same settings.

Examples:
  nigh diagnose edges.csv
  nigh diagnose edges.csv --features features.csv --labels labels.csv
  nigh diagnose cora --task node-classification --repeats 10 --out diagnosed.jsonl";

#[derive(Debug, Args)]
pub struct Tune {
    /// Write the best settings to this TOML file, and every finished trial to FILE.trials.jsonl beside it, from which an
    /// interrupted search resumes
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Start no trial after this many minutes; the defaults are always run [default: run the whole search]
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub minutes: Option<f64>,

    /// Candidates to draw beside the default settings
    #[arg(long, value_name = "N", default_value_t = nigh::tune::CANDIDATES, value_parser = whole_number)]
    #[arg(allow_negative_numbers = true)]
    pub candidates: usize,

    /// TOML file of settings to start from; options override it
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

const TUNE_NOTES: &str = "\
Settings that you give are kept; those that are `auto` are varied around what the model brings along.
The default settings are trained in full first. Then, in rounds of nine, candidates are trained for a
ninth of their epochs, the best three for a third, the best one in full. The best on the validation
metric wins; the test metric is neither shown nor stored.

Candidates follow from --seed and their number: --minutes and --threads change how many are tried in
what time, never which. The same command resumes an interrupted search.

Examples:
  nigh tune edges.csv --minutes 10 --out best.toml
  nigh tune edges.csv --labels labels.csv --task node-classification --out best.toml
  nigh train edges.csv --config best.toml --out model";

#[derive(Debug, Args)]
pub struct Reproduce {
    /// Name of a table, `all` of the paper, `beyond`, or a TOML file
    #[arg(value_name = "TABLE", value_parser = Suggested(suggestions::all_tables_or_all), hide_possible_values = true)]
    pub table: String,

    /// Run only these datasets and models, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub only: Vec<String>,

    /// Runs per figure [default: the table's, mostly 5]
    #[arg(long, value_name = "N", value_parser = whole_number, allow_negative_numbers = true)]
    pub repeats: Option<usize>,

    /// Passes over the training data [default: the table's, mostly 1000]
    #[arg(long, value_name = "N", value_parser = whole_number, allow_negative_numbers = true)]
    pub epochs: Option<usize>,

    /// Folder of the records
    #[arg(long, value_name = "DIR", default_value = RESULTS)]
    pub results: PathBuf,

    /// Look for datasets in this folder first, then in NIGH_DATA and the user's cache
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,

    /// Show what is left to run, and run nothing
    #[arg(long)]
    pub dry_run: bool,
}

const RESULTS: &str = "experiments/results";

fn reproduce_notes() -> String {
    let paper = wrapped("Tables:", &suggestions::tables(), 95);
    let beyond = wrapped("Beyond the paper, beside what others printed:", &suggestions::tables_beyond(), 95);
    format!("{paper}\n{beyond}\n\n{REPRODUCE_NOTES}")
}

/// Words with commas between them, in lines of at most `width` characters.
fn wrapped(first: &str, words: &[&str], width: usize) -> String {
    let (mut text, mut length) = (first.to_string(), first.len());
    for (at, word) in words.iter().enumerate() {
        let comma = if at + 1 < words.len() { "," } else { "" };
        length += 1 + word.len() + comma.len();
        let fits = length <= width;
        if !fits {
            length = word.len() + comma.len();
        }
        text += &format!("{}{word}{comma}", if fits { " " } else { "\n" });
    }
    text
}

const REPRODUCE_NOTES: &str = "\
Every finished repeat is recorded immediately. An interrupted run resumes where it stopped, and
several processes share the work. Cells that occur in several tables are run once.

Examples:
  nigh reproduce poc
  nigh reproduce link-prediction --only communities,grid --repeats 1
  nigh reproduce all";

#[derive(Debug, Args)]
pub struct Report {
    /// Name of a table, `beyond`, or a TOML file [default: all tables of the paper]
    #[arg(value_name = "TABLE", value_parser = Suggested(suggestions::all_tables), hide_possible_values = true)]
    pub table: Option<String>,

    /// text, markdown, latex, csv, html or json [default: by the extension of --out, or text]
    #[arg(long, value_name = "FORMAT", hide_possible_values = true)]
    pub format: Option<ReportFormat>,

    /// Write the report to this file
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    #[command(flatten)]
    pub formulas: EscapeFormulas,

    /// Print one JSON object: a summary, and every figure with both values and the verdict
    #[arg(long, conflicts_with = "format")]
    pub json: bool,

    /// Use runs with this number of repeats [default: the table's]
    #[arg(long, value_name = "N", value_parser = whole_number, allow_negative_numbers = true)]
    pub repeats: Option<usize>,

    /// Use runs with this number of epochs [default: the table's]
    #[arg(long, value_name = "N", value_parser = whole_number, allow_negative_numbers = true)]
    pub epochs: Option<usize>,

    /// Folder of the records
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
    /// List the named datasets with their sizes and where they are
    List {
        /// Look for datasets in this folder first, then in NIGH_DATA and the user's cache
        #[arg(long, value_name = "DIR")]
        data: Option<PathBuf>,
    },
    /// Show counts, components, degrees and origin of a graph
    Show {
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,

        #[command(flatten)]
        data: Data,
    },
    /// Download datasets from their public origin
    #[command(after_help = FETCH_NOTES)]
    Fetch {
        /// Names of datasets (`nigh data list`)
        #[arg(value_name = "NAME", required = true, value_parser = Suggested(suggestions::downloads))]
        #[arg(hide_possible_values = true)]
        names: Vec<String>,

        /// Folder to put them into, instead of the user's cache
        #[arg(long, value_name = "DIR")]
        data: Option<PathBuf>,

        /// Download again even if the files are there
        #[arg(long)]
        force: bool,
    },
    /// Write a graph as one file that is opened in milliseconds and never read as a whole
    #[command(after_help = CONVERT_NOTES)]
    Convert {
        /// Graph file to write, such as graph.nigh
        #[arg(long, value_name = "FILE")]
        out: PathBuf,

        /// Memory to keep to, such as 8GiB; edges beyond it wait in a file beside the output [default: half of what is free]
        #[arg(long, value_name = "SIZE")]
        memory: Option<Memory>,

        #[command(flatten)]
        data: Data,
    },
    /// Write a graph as plain files: csv, and NumPy arrays for features
    Export {
        /// New folder for the files
        #[arg(long, value_name = "DIR")]
        out: PathBuf,

        #[command(flatten)]
        formulas: EscapeFormulas,

        #[command(flatten)]
        data: Data,
    },
}

const CONVERT_NOTES: &str = "\
A graph file holds the edges of one graph, cleaned and sorted, and the ids of its nodes; features and
labels stay in their own files. Every command reads it where it reads edges, and checks it in one pass.

Edges between integers from 0 to 2^31, in text, Parquet or Arrow, are converted within --memory, however
many they are; they need 12 bytes each beside the output (20 with weights). Other ids, and other formats,
are read into memory first.

Examples:
  nigh data convert edges.parquet --out graph.nigh --memory 8GiB
  nigh train graph.nigh --out model";

const FETCH_NOTES: &str = "\
An interrupted download resumes where it stopped. Every file is checked by its SHA-256 before use.
Other commands download a dataset when they need it, except ogbl-ppa, which is large. Nothing
downloads ecoli, which is published as a matrix of MATLAB; `nigh data fetch ecoli` says what to do.
The terms of use are those of the origin (`nigh data show NAME`).

NIGH_ORIGIN=URL names a mirror: files come from URL/NAME/FILE, archives (ppi, ogbl-ddi, ogbl-ppa)
from URL/NAME.zip, the eight graphs of SEAL from URL/unattributed/FILE. The proxy settings ALL_PROXY,
HTTPS_PROXY and NO_PROXY are respected.";

/// What becomes of formulas in csv.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct EscapeFormulas {
    /// In csv, put an apostrophe before texts that a spreadsheet would execute: those that begin with =, +, -, @, a tab or
    /// a carriage return
    #[arg(long)]
    escape_formulas: bool,
}

impl EscapeFormulas {
    /// For what is written as csv, or not.
    pub fn of_csv(self, is_csv: bool) -> Result<Formulas, WrongUsage> {
        match (self.escape_formulas, is_csv) {
            (false, _) => Ok(Formulas::Kept),
            (true, true) => Ok(Formulas::Escaped),
            (true, false) => Err(WrongUsage::new("--escape-formulas is for csv; no other format is executed")),
        }
    }
}

/// A graph with features and labels of its nodes.
#[derive(Debug, Default, Args)]
pub struct Data {
    /// Name of a dataset (`nigh data list`) or file of edges: csv, tsv or blank-separated, adjacency lists (also .gz, .zst,
    /// .zip, .tar.gz), Parquet, Arrow, .nigh, Matrix Market, METIS .graph, .npy, .npz, Matlab .mat, GraphML, GEXF, node-link .json;
    /// `-` is standard input
    #[arg(value_name = "GRAPH", value_parser = Suggested(suggestions::datasets), hide_possible_values = true)]
    pub graph: String,

    /// Table of all node ids: adds nodes without edges, and gives the order of features without ids (`-` is standard input,
    /// here and below)
    #[arg(long, value_name = "FILE")]
    pub nodes: Option<PathBuf>,

    /// Node features: a table of id and numbers, or of id, feature and value; .npy, .npz, .mtx, .mat with a row per node; or
    /// .json with a list of features per id
    #[arg(long, value_name = "FILE")]
    pub features: Option<PathBuf>,

    /// Node labels: a table of id and label; .npy, .npz, .mat with a number per node or a column per class; or .json with a label per
    /// id. A node may have several: in repeated rows, a list, or columns of 0 and 1
    #[arg(long, value_name = "FILE")]
    pub labels: Option<PathBuf>,

    /// Look for named datasets in this folder first, then in NIGH_DATA and the user's cache; downloads go into this
    /// folder
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,

    #[command(flatten)]
    pub columns: Columns,
}

/// Which column has which content.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Columns, by name or counted from 1")]
pub struct Columns {
    /// Edges: ids of the source node [default: source, src, from ..., or the first]
    #[arg(long, value_name = "COLUMN")]
    pub source: Option<String>,

    /// Edges: ids of the target node [default: target, dst, to ..., or the second]
    #[arg(long, value_name = "COLUMN")]
    pub target: Option<String>,

    /// Edges: positive weights, or `none` to leave them out [default: weight, w, if a header says so]
    #[arg(long, value_name = "COLUMN")]
    pub weight: Option<String>,

    /// All tables: the graph of a row, if there are several graphs [default: graph, graph_id]
    #[arg(long, value_name = "COLUMN")]
    pub graph_column: Option<String>,

    /// Nodes, features and labels: node ids [default: id, node ..., or the first]
    #[arg(long, value_name = "COLUMN")]
    pub id: Option<String>,

    /// Nodes: node ids, if --id is not their column in this file
    #[arg(long, value_name = "COLUMN")]
    pub node_id: Option<String>,

    /// Features: node ids, if --id is not their column in this file
    #[arg(long, value_name = "COLUMN")]
    pub feature_id: Option<String>,

    /// Labels: node ids, if --id is not their column in this file
    #[arg(long, value_name = "COLUMN")]
    pub label_id: Option<String>,

    /// Labels: the label [default: label, class ..., or the only other column]
    #[arg(long, value_name = "COLUMN")]
    pub label: Option<String>,

    /// Labels: what stands between several labels of a node, `none` if a cell is one label [default: `;`, `|`, or a comma
    /// where the parts of cells recur]
    #[arg(long, value_name = "TEXT")]
    pub label_separator: Option<LabelSeparator>,
}

impl Data {
    pub fn input(&self) -> InputFiles {
        let columns = &self.columns;
        InputFiles {
            edge_columns: EdgeColumns {
                source: columns.source.clone(),
                target: columns.target.clone(),
                weight: columns.weight.as_deref().map(WeightColumn::from).unwrap_or_default(),
                graph: columns.graph_column.clone(),
            },
            nodes: self.nodes.clone(),
            features: self.features.clone(),
            labels: self.labels.clone(),
            node_columns: NodeColumns {
                id: columns.id.clone(),
                label: columns.label.clone(),
                label_separator: columns.label_separator.clone().unwrap_or_default(),
                graph: columns.graph_column.clone(),
            },
            id_columns: IdColumns {
                nodes: columns.node_id.clone(),
                features: columns.feature_id.clone(),
                labels: columns.label_id.clone(),
            },
        }
    }
}

#[derive(Debug, Args)]
pub struct Train {
    /// Save the best model to this folder, which must not exist
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Resume an interrupted run with the same settings and --out; one that had saved its model ends at once
    #[arg(long, requires = "out")]
    pub resume: bool,

    /// Write a checkpoint every N epochs [default: every 3 seconds]
    #[arg(long, value_name = "N", requires = "out", value_parser = whole_number, allow_negative_numbers = true)]
    pub checkpoint_every: Option<usize>,

    /// TOML file of settings, named like the options below; options override it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Memory to keep to, such as 8GiB; a training that would take more is refused [default: what is free]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Memory>,

    /// Print one JSON object instead of the table
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub data: Data,

    #[command(flatten)]
    pub settings: Settings,
}

#[derive(Debug, Args)]
pub struct Evaluate {
    /// Model folder, written by `nigh train --out`
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
    /// Model folder, written by `nigh train --out`
    #[arg(value_name = "DIR")]
    pub model: PathBuf,

    /// Output file: .npy (ids in FILE.ids.txt), .csv, .parquet, .safetensors or .vec (word2vec)
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,

    /// Memory to keep to, such as 8GiB: vectors are computed in panels and written row by row, as .npy or .parquet [default: all
    /// that is needed]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Memory>,

    #[command(flatten)]
    pub formulas: EscapeFormulas,

    #[command(flatten)]
    pub data: Data,
}

#[derive(Debug, Args)]
pub struct Propagate {
    /// Output file: .npy (ids in FILE.ids.txt) or .parquet
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,

    #[command(flatten)]
    pub of: PropagationOptions,

    /// Distribution of E: gaussian, uniform, rademacher or sparse
    #[arg(long, value_name = "SIGNAL", default_value = "gaussian")]
    pub signal: Signal,

    /// Random seed
    #[arg(long, value_name = "SEED", default_value_t = 1, value_parser = seed, allow_negative_numbers = true)]
    pub seed: u64,

    #[command(flatten)]
    pub data: Data,
}

/// What decides how much a propagation takes.
#[derive(Debug, Clone, Args)]
pub struct PropagationOptions {
    /// Width d of the stochastic matrix E
    #[arg(long, value_name = "D", default_value_t = 32, value_parser = whole_number, allow_negative_numbers = true)]
    pub signal_dim: usize,

    /// Propagation steps K
    #[arg(long, value_name = "K", default_value_t = 2, value_parser = whole_number, allow_negative_numbers = true)]
    pub hops: usize,

    /// How rows are stored between hops: float32 or float16
    #[arg(long, value_name = "TYPE", default_value = "float32")]
    pub hop_storage: Storage,

    /// Memory to keep to, such as 8GiB [default: all that is needed]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Memory>,
}

#[derive(Debug, Args)]
pub struct Estimate {
    /// Graph file, of which only the header is read, another file of edges, or the name of a dataset
    #[arg(value_name = "GRAPH", required_unless_present = "nodes", conflicts_with_all = ["nodes", "edges"])]
    #[arg(value_parser = Suggested(suggestions::datasets), hide_possible_values = true)]
    pub graph: Option<String>,

    /// Number of nodes, in place of a graph
    #[arg(long, value_name = "N", requires = "edges", value_parser = whole_number, allow_negative_numbers = true)]
    pub nodes: Option<usize>,

    /// Number of edges, in place of a graph
    #[arg(long, value_name = "M", requires = "nodes", value_parser = whole_number, allow_negative_numbers = true)]
    pub edges: Option<usize>,

    #[command(flatten)]
    pub of: PropagationOptions,

    /// Columns of H, for training
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = whole_number, allow_negative_numbers = true)]
    pub width: usize,

    /// Positive training pairs of an epoch, 0 for all edges
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole_number, allow_negative_numbers = true)]
    pub pairs_per_epoch: usize,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Predict {
    /// Model folder, written by `nigh train --out`
    #[arg(value_name = "DIR")]
    pub model: PathBuf,

    /// Score the pairs in this file, a table with two columns of ids (`-` is standard input)
    #[arg(long, value_name = "FILE", conflicts_with = "node")]
    pub pairs: Option<PathBuf>,

    /// List the most likely links of this node
    #[arg(long, value_name = "ID")]
    pub node: Option<String>,

    /// Graph of the pairs or the node, if there are several graphs
    #[arg(long, value_name = "NAME")]
    pub in_graph: Option<String>,

    /// Number of links to list
    #[arg(long, value_name = "N", default_value_t = 10, requires = "node", value_parser = whole_number, allow_negative_numbers = true)]
    pub top: usize,

    /// List existing links too, and mark them
    #[arg(long, requires = "node")]
    pub include_existing: bool,

    /// Write csv, or Parquet if it ends in .parquet, to this file instead of stdout
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Memory to keep to, such as 8GiB; what would take more is refused
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Memory>,

    #[command(flatten)]
    pub formulas: EscapeFormulas,

    #[command(flatten)]
    pub data: Data,
}

#[derive(Debug, Args)]
pub struct Certify {
    /// Error bound of the estimated proximity
    #[arg(long, value_name = "E", default_value_t = estimate::USUAL_EPSILON, allow_negative_numbers = true)]
    pub epsilon: f64,

    /// Probability that the error is larger
    #[arg(long, value_name = "D", default_value_t = estimate::USUAL_DELTA, allow_negative_numbers = true)]
    pub delta: f64,

    /// Propagation steps K
    #[arg(long, value_name = "K", default_value_t = 2, value_parser = whole_number, allow_negative_numbers = true)]
    pub hops: usize,

    /// Width of E to measure [default: the width that the theorem requires]
    #[arg(long, value_name = "D", value_parser = whole_number, allow_negative_numbers = true)]
    pub signal_dim: Option<usize>,

    /// Distribution of E: gaussian, uniform, rademacher or sparse
    #[arg(long, value_name = "SIGNAL", default_value = "gaussian")]
    pub signal: Signal,

    /// Memory to keep to, such as 8GiB; what would take more is refused
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Memory>,

    /// Number of pairs to measure
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = whole_number, allow_negative_numbers = true)]
    pub pairs: usize,

    /// Random seed
    #[arg(long, value_name = "SEED", default_value_t = 1, value_parser = seed, allow_negative_numbers = true)]
    pub seed: u64,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub data: Data,
}
