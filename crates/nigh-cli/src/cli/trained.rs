//! Commands that use a saved model: evaluate, embed and predict.

use super::input::{Data, EscapeFormulas};
use super::whole_number;
use clap::Args;
use nigh::Memory;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct Evaluate {
    /// Model folder, written by `nigh train --out`
    #[arg(value_name = "DIR")]
    pub model: PathBuf,

    /// Measure on the split in this folder, as for a model that was trained on it [default: split as the training did]
    #[arg(long, value_name = "DIR")]
    pub split: Option<PathBuf>,

    /// Memory limit, such as 8GiB [default: none]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Memory>,

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

    /// Memory limit, such as 8GiB, for .npy or .parquet, which are written row by row. Models that propagate before they learn, such as
    /// smp-proximity and smp-linear, keep to it by panels of columns and files; others run in memory [default: none]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Memory>,

    #[command(flatten)]
    pub formulas: EscapeFormulas,

    #[command(flatten)]
    pub data: Data,
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

    /// Add the probability that each pair is a link, of models with the decoder inner-product, hadamard-mlp or proximity
    #[arg(long)]
    pub probabilities: bool,

    /// Share of pairs that you expect to be links [default: as in the training, where as many pairs are links as are not, unless
    /// `negatives-per-positive` says more]
    #[arg(long, value_name = "P", requires = "probabilities", allow_negative_numbers = true)]
    pub prior: Option<f64>,

    /// Write csv, or Parquet if it ends in .parquet, to this file instead of stdout
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Memory limit, such as 8GiB. Models that propagate before they learn, such as smp-proximity and smp-linear, keep to it by panels of
    /// columns and files; others run in memory [default: none]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Memory>,

    #[command(flatten)]
    pub formulas: EscapeFormulas,

    #[command(flatten)]
    pub data: Data,
}

pub(super) const PREDICT_EXAMPLES: &str = "Examples:
  nigh predict model edges.csv --pairs pairs.csv
  nigh predict model edges.csv --pairs pairs.csv --probabilities --prior 0.01
  nigh predict model edges.csv --node alice --top 10
  nigh predict model edges.csv --out classes.csv      (a node-classification model)";
