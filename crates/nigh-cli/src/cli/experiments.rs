//! Commands about the paper's tables: reproduce and report.

use super::input::EscapeFormulas;
use super::whole_number;
use crate::suggestions::{self, Suggested};
use clap::Args;
use std::path::PathBuf;

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

pub(super) fn reproduce_notes() -> String {
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
