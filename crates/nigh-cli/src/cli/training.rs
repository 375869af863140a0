//! Commands that train on a graph, or split it as a training does: train, split, compare, diagnose and tune.

use super::input::Data;
use super::whole_number;
use crate::settings::{Settings, is_setting};
use crate::suggestions::{self, Suggested};
use clap::{Arg, Args};
use nigh::Memory;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct Train {
    /// Save the best model to this folder, which must not exist
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Resume an interrupted run with the same settings and --out; does nothing if the model was saved
    #[arg(long, hide_short_help = true, requires = "out")]
    pub resume: bool,

    /// Write a checkpoint every N epochs [default: every 3 seconds]
    #[arg(long, hide_short_help = true, value_name = "N", requires = "out", value_parser = whole_number, allow_negative_numbers = true)]
    pub checkpoint_every: Option<usize>,

    /// TOML file of settings, with the names of the options; options override it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Memory limit, such as 8GiB. Models that propagate before they learn keep to it by working in panels of columns and on disk:
    /// smp-proximity, and smp-linear with --pairs-per-epoch. Other trainings that would exceed it are refused [default: the free memory]
    #[arg(long, hide_short_help = true, value_name = "SIZE")]
    pub memory: Option<Memory>,

    /// Print one JSON object instead of the table
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub data: Data,

    #[command(flatten)]
    pub settings: Settings,
}

pub(super) const TRAIN_EXAMPLES: &str = "Examples:
  nigh train communities --task link-prediction --model smp-linear
  nigh train edges.csv --labels labels.csv --task node-classification --out model
  nigh train edges.csv --config settings.toml --out model --resume
  nigh train graph.nigh --memory 8GiB

All options and settings: `nigh train --help-all`. The settings of a model: `nigh models MODEL`.";

#[derive(Debug, Args)]
#[command(mut_args(with_split_settings))]
pub struct Split {
    /// Write the split to this folder, which must not exist
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,

    /// TOML file of settings, with the names of the options; options override it
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

/// The settings that a split depends on.
const SPLIT_SETTINGS: [&str; 13] = [
    "task",
    "seed",
    "protocol",
    "split",
    "valid-fraction",
    "test-fraction",
    "train-per-class",
    "valid-per-class",
    "test-per-class",
    "evaluation-negatives",
    "valid-negative-ratio",
    "test-negative-ratio",
    "test-edges",
];

/// Shows these settings in every help, and hides all others.
fn with_split_settings(option: Arg) -> Arg {
    if !is_setting(&option) {
        return option;
    }
    let counts = SPLIT_SETTINGS.contains(&option.get_id().as_str());
    option.hide(!counts).hide_short_help(!counts)
}

pub(super) const SPLIT_NOTES: &str = "\
Files of links: train-edges.csv, the edges that message passing uses; valid-positives.csv and
test-positives.csv, the held-out edges; valid-negatives.csv and test-negatives.csv, negative pairs.
Files of classes: train-nodes.csv, valid-nodes.csv, test-nodes.csv. split.toml records the origin.

`--split DIR` of train, compare, diagnose, tune and evaluate reads the folder, or your own folder
with the same files. Without files of negatives, negatives are sampled; without train-edges.csv, all
edges of the graph are training edges. Training on a split with its seed gives the same results as
training without the folder.

Examples:
  nigh split edges.csv --seed 7 --out split
  nigh split edges.csv --labels labels.csv --task node-classification --out split
  nigh train edges.csv --split split --seed 7 --repeats 1";

/// Trainings of several models, which the command names, on the same splits.
#[derive(Debug, Args)]
#[command(mut_arg("model", |model| model.hide(true)))]
pub struct Trainings {
    /// Write every finished repeat to this file, as a line of JSON; the same command resumes from it
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// TOML file of settings; options override it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Memory limit of every training, such as 8GiB; as in `nigh train` [default: none]
    #[arg(long, hide_short_help = true, value_name = "SIZE")]
    pub memory: Option<Memory>,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub data: Data,

    #[command(flatten)]
    pub settings: Settings,
}

#[derive(Debug, Args)]
pub struct Compare {
    /// Models, separated by commas (`nigh models`) [default: the best model for the task, smp-proximity, smp-linear,
    /// smp-identity, sgc, gcn, gat, node2vec, matrix-factorization, common-neighbors, adamic-adar, resource-allocation, katz; those that
    /// support the task]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = Suggested(suggestions::models))]
    #[arg(hide_possible_values = true)]
    pub models: Vec<String>,

    #[command(flatten)]
    pub trainings: Trainings,
}

pub(super) const COMPARE_EXAMPLES: &str = "\
All models are trained on the same splits: repeats with the same seed share their split.
p is the p-value of a paired t-test against the best model; the conclusion about all models is
corrected for their number (Holm).

With --out the same command resumes an interrupted comparison; more repeats or models extend it.

Examples:
  nigh compare edges.csv --task link-prediction --models smp-linear,gcn,adamic-adar
  nigh compare edges.csv --repeats 10 --out compared.jsonl
  nigh compare edges.csv --labels labels.csv --task node-classification --repeats 10";

#[derive(Debug, Args)]
#[command(mut_arg("task", |task| task.help(
    "link-prediction, node-classification, pairwise-node-classification or graph-reconstruction [default: node-classification with \
     --labels, otherwise link-prediction]"
)))]
pub struct Diagnose {
    #[command(flatten)]
    pub trainings: Trainings,
}

pub(super) const DIAGNOSE_NOTES: &str = "\
Three models of one family are trained on the same splits: smp-linear knows both, sgc only what a
node is (its features; without features, the degrees around it), smp-signal only where it is.
Paired t-tests over the repeats, with Holm's correction, show which differences are significant.
The answer has three sentences: what the task needs, how certain that is, and what to do. The table
follows, and the signal width that Theorem 2 requires (`nigh certify`), compared with --signal-dim.

With --out the same command resumes an interrupted diagnosis; more repeats extend it, and it shares
its file with `nigh compare` under the same settings.

Examples:
  nigh diagnose edges.csv
  nigh diagnose edges.csv --features features.csv --labels labels.csv
  nigh diagnose cora --task node-classification --repeats 10 --out diagnosed.jsonl";

#[derive(Debug, Args)]
pub struct Tune {
    /// Write the best settings to this TOML file, and every finished trial to FILE.trials.jsonl; the same command resumes from it
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Start no trial after M minutes; the defaults always run [default: no limit]
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub minutes: Option<f64>,

    /// Number of candidates, in addition to the default settings
    #[arg(long, value_name = "N", default_value_t = nigh_paper::tune::CANDIDATES, value_parser = whole_number)]
    #[arg(allow_negative_numbers = true)]
    pub candidates: usize,

    /// TOML file of settings to start from; options override it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Memory limit of every training, such as 8GiB; as in `nigh train` [default: none]
    #[arg(long, hide_short_help = true, value_name = "SIZE")]
    pub memory: Option<Memory>,

    /// Print one JSON object instead of the table
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub data: Data,

    #[command(flatten)]
    pub settings: Settings,
}

pub(super) const TUNE_NOTES: &str = "\
Settings that you give are kept; settings that are `auto` are varied around the model's defaults.
The default settings are trained in full first. Then candidates are trained in rounds of nine: all
for a ninth of their epochs, the best three for a third, the best one in full. The best validation
metric wins; the test metric is neither shown nor stored.

The candidates follow from --seed and their number; --minutes and --threads only change how many of
them are tried.

Examples:
  nigh tune edges.csv --minutes 10 --out best.toml
  nigh tune edges.csv --labels labels.csv --task node-classification --out best.toml
  nigh train edges.csv --config best.toml --out model";
