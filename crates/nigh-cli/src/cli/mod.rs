//! Commands, options and help texts.

mod experiments;
mod input;
mod scale;
mod trained;
mod training;

pub use experiments::{Report, ReportFormat, Reproduce};
pub use input::{Data, DataCommand};
pub use scale::{Estimate, Propagate, PropagationOptions};
pub use trained::{Embed, Evaluate, Predict};
pub use training::{Compare, Diagnose, Split, Train, Tune};

use crate::suggestions::{self, Suggested};
use clap::{Arg, ArgAction, Args, Parser, Subcommand};
use clap_complete::Shell;
use experiments::reproduce_notes;
use nigh::certify::Certification;
use nigh::{Memory, Signal};
use scale::{ESTIMATE_NOTES, PROPAGATE_NOTES};
use std::path::PathBuf;
use trained::PREDICT_EXAMPLES;
use training::{COMPARE_EXAMPLES, DIAGNOSE_NOTES, SPLIT_NOTES, TRAIN_EXAMPLES, TUNE_NOTES};

/// Stochastic Message Passing: graph neural networks that know where a node is and still what a node is
#[derive(Debug, Parser)]
#[command(name = "nigh", version, max_term_width = 100, disable_help_flag = true, arg = help())]
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

/// `--help` fits on a screen everywhere. Commands that have more to show have `--help-all` as well.
fn help() -> Arg {
    let help = Arg::new("help").short('h').long("help").action(ArgAction::HelpShort).global(true);
    help.help_heading(None).display_order(LAST - 1).help("Print help")
}

/// The display order of an option that is listed after all others.
const LAST: usize = 1000;

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
    /// Write the split that a training uses, as csv files
    #[command(after_help = SPLIT_NOTES)]
    Split(Box<Split>),
    /// Evaluate a saved model, on its own graph or on another
    Evaluate(Evaluate),
    /// Write the representation of every node of a graph
    Embed(Embed),
    /// Write the propagated signal, a vector per node that needs no training, of graphs of any size
    #[command(after_help = PROPAGATE_NOTES)]
    Propagate(Propagate),
    /// Show what a run takes in memory, on disk and in time, and how it would be done
    #[command(after_help = ESTIMATE_NOTES)]
    Estimate(Box<Estimate>),
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
pub struct Certify {
    /// Error bound of the estimated proximity
    #[arg(long, value_name = "E", default_value_t = Certification::EPSILON, allow_negative_numbers = true)]
    pub epsilon: f64,

    /// Probability that the error is larger
    #[arg(long, value_name = "D", default_value_t = Certification::DELTA, allow_negative_numbers = true)]
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

    /// Memory to keep to, such as 8GiB: in memory, in panels of columns, or out of core from a graph file
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
