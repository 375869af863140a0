//! Commands for graphs beyond memory.

use super::input::Data;
use super::{seed, whole_number};
use crate::settings::{Settings, is_setting};
use crate::suggestions::{self, Suggested};
use clap::{Arg, Args};
use nigh::{Memory, Signal, Storage};
use std::path::PathBuf;

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
#[command(mut_args(with_cost_settings))]
pub struct Estimate {
    /// Graph file, another file of edges, or the name of a dataset
    #[arg(value_name = "GRAPH", required_unless_present = "nodes", conflicts_with_all = ["nodes", "edges"])]
    #[arg(value_parser = Suggested(suggestions::datasets), hide_possible_values = true)]
    pub graph: Option<String>,

    /// Number of nodes, in place of a graph
    #[arg(long, value_name = "N", requires = "edges", value_parser = whole_number, allow_negative_numbers = true)]
    pub nodes: Option<usize>,

    /// Number of edges, in place of a graph
    #[arg(long, value_name = "M", requires = "nodes", value_parser = whole_number, allow_negative_numbers = true)]
    pub edges: Option<usize>,

    /// Node features, as `nigh train` reads them
    #[arg(long, value_name = "FILE", requires = "graph")]
    pub features: Option<PathBuf>,

    /// Node labels, as `nigh train` reads them
    #[arg(long, value_name = "FILE", requires = "graph")]
    pub labels: Option<PathBuf>,

    /// Pairs of `nigh predict --pairs`
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = whole_number, allow_negative_numbers = true)]
    pub num_pairs: usize,

    /// Memory limit, such as 8GiB [default: none]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Memory>,

    /// TOML file of settings, with the names of the options; options override it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub settings: Settings,
}

/// The settings on which memory depends most. Every other setting is taken as well.
const COST_SETTINGS: [&str; 9] =
    ["task", "model", "signal-dim", "hops", "hop-storage", "width", "epochs", "pairs-per-epoch", "batch-size"];

fn with_cost_settings(option: Arg) -> Arg {
    if !is_setting(&option) {
        return option;
    }
    let counts = COST_SETTINGS.contains(&option.get_id().as_str());
    option.hide(!counts).hide_short_help(!counts)
}

pub(super) const PROPAGATE_NOTES: &str = "\
Inner products of two rows estimate how close the nodes are (Theorem 2; `nigh certify`). Rows depend
on --seed and the ids alone: every --memory gives the same bits, and so does any number of threads.

With --memory, E is propagated in panels of columns that fit, and the edges of a graph file stay on
disk if they have to (`nigh data convert`). `nigh estimate` shows how it would be done.

Examples:
  nigh propagate graph.nigh --out vectors.npy --memory 8GiB
  nigh propagate edges.csv --signal-dim 64 --out vectors.parquet";

pub(super) const ESTIMATE_NOTES: &str = "\
Memory and disk of propagate, train, evaluate, embed and predict, by the rules that accept or refuse
--memory there. Settings are those of `nigh train`; propagate takes 32 columns and 2 hops unless set.
Vectors without --memory are held together; with it, they are written row by row.

Examples:
  nigh estimate graph.nigh --memory 8GiB
  nigh estimate graph.nigh --features features.npy --model smp-linear --pairs-per-epoch 20480 --epochs 30
  nigh estimate --nodes 50000000 --edges 1000000000 --memory 12GiB --json";
