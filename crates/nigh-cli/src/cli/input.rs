//! A graph on the command line, with its tables and their columns, and what is written back.

use super::{LAST, help};
use crate::commands::WrongUsage;
use crate::suggestions::{self, Suggested};
use clap::{Arg, ArgAction, Args, Subcommand};
use nigh::Memory;
use nigh::dataset::{EdgeColumns, IdColumns, InputFiles, LabelSeparator, NodeColumns, WeightColumn};
use nigh::formats::text_table::Formulas;
use std::path::PathBuf;

/// A graph with features and labels of its nodes.
#[derive(Debug, Default, Args)]
// Errors name the first flag for help that the command has.
#[command(args = [help(), help_all()])]
pub struct Data {
    /// Name of a dataset (`nigh data list`) or file of edges, such as csv, Parquet or GraphML
    ///
    /// Files may be csv, tsv or blank-separated, adjacency lists (also .gz, .zst, .zip, .tar.gz), Parquet, Arrow, .nigh, Matrix
    /// Market, METIS .graph, .npy, .npz, Matlab .mat, GraphML, GEXF or node-link .json; `-` is standard input.
    #[arg(value_name = "GRAPH", value_parser = Suggested(suggestions::datasets), hide_possible_values = true)]
    pub graph: String,

    /// Table of all node ids: adds nodes without edges, and gives the order of features without ids (`-` is standard input,
    /// here and below)
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub nodes: Option<PathBuf>,

    /// Node features: a table of id and numbers, .npy, .npz, .mtx, .mat or .json
    ///
    /// A table of id and numbers, or of id, feature and value; .npy, .npz, .mtx or .mat with a row per node; or .json with a list of
    /// features per id.
    #[arg(long, value_name = "FILE")]
    pub features: Option<PathBuf>,

    /// Node labels: a table of id and label, .npy, .npz, .mat or .json
    ///
    /// A table of id and label; .npy, .npz or .mat with a number per node or a column per class; or .json with a label per id. A
    /// node may have several: in repeated rows, a list, or columns of 0 and 1.
    #[arg(long, value_name = "FILE")]
    pub labels: Option<PathBuf>,

    /// Look for named datasets in this folder first, then in NIGH_DATA and the user's cache; downloads go into this
    /// folder
    #[arg(long, hide_short_help = true, value_name = "DIR")]
    pub data: Option<PathBuf>,

    #[command(flatten)]
    pub columns: Columns,
}

/// Shows the options that `--help` hides.
fn help_all() -> Arg {
    let help = Arg::new("help-all").long("help-all").action(ArgAction::HelpLong).help_heading(None).display_order(LAST);
    help.help("Print help with every option, in groups")
}

/// Which column has which content.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Columns, by name or counted from 1")]
pub struct Columns {
    /// Edges: ids of the source node [default: source, src, from ..., or the first]
    #[arg(long, hide_short_help = true, value_name = "COLUMN")]
    pub source: Option<String>,

    /// Edges: ids of the target node [default: target, dst, to ..., or the second]
    #[arg(long, hide_short_help = true, value_name = "COLUMN")]
    pub target: Option<String>,

    /// Edges: positive weights, or `none` to leave them out [default: weight, w, if a header says so]
    #[arg(long, hide_short_help = true, value_name = "COLUMN")]
    pub weight: Option<String>,

    /// All tables: the graph of a row, if there are several graphs [default: graph, graph_id]
    #[arg(long, hide_short_help = true, value_name = "COLUMN")]
    pub graph_column: Option<String>,

    /// Nodes, features and labels: node ids [default: id, node ..., or the first]
    #[arg(long, hide_short_help = true, value_name = "COLUMN")]
    pub id: Option<String>,

    /// Nodes: node ids, if --id is not their column in this file
    #[arg(long, hide_short_help = true, value_name = "COLUMN")]
    pub node_id: Option<String>,

    /// Features: node ids, if --id is not their column in this file
    #[arg(long, hide_short_help = true, value_name = "COLUMN")]
    pub feature_id: Option<String>,

    /// Labels: node ids, if --id is not their column in this file
    #[arg(long, hide_short_help = true, value_name = "COLUMN")]
    pub label_id: Option<String>,

    /// Labels: the label [default: label, class ..., or the only other column]
    #[arg(long, hide_short_help = true, value_name = "COLUMN")]
    pub label: Option<String>,

    /// Labels: what stands between several labels of a node, `none` if a cell is one label [default: `;`, `|`, or a comma
    /// where the parts of cells recur]
    #[arg(long, hide_short_help = true, value_name = "TEXT")]
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
