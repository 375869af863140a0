//! The program `nigh`. Its options and help texts are in `cli`.

mod cli;
mod commands;
mod progress;
mod settings;
mod suggestions;

use clap::Parser;
use nigh::display::visible;
use std::process::ExitCode;

fn main() -> ExitCode {
    let command_line = cli::CommandLine::try_parse().unwrap_or_else(|error| refuse(&error));
    match commands::run(command_line) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // A closed pipe, as of `head`, is not a failure.
            if is_broken_pipe(&error) {
                return ExitCode::SUCCESS;
            }
            progress::print_line(&format!("error: {error}"));
            // Causes that the message already contains are not repeated.
            let quoted = error.to_string();
            let causes = error.chain().skip(1).map(|cause| cause.to_string());
            let others = causes.filter(|cause| !quoted.contains(cause.as_str()));
            others.for_each(|cause| progress::print_line(&format!("  caused by: {cause}")));
            if let Some(hint) = hint(&error) {
                progress::print_line(&format!("hint: {hint}"));
            }
            ExitCode::from(if is_wrong_usage(&error) { 2 } else { 1 })
        }
    }
}

/// Ends with help, the version, or what is wrong with the command line. Clap quotes words of it as they are.
fn refuse(error: &clap::Error) -> ! {
    let text = error.render().to_string();
    if visible(&text) == text {
        error.exit();
    }
    progress::print_line(text.trim_end());
    std::process::exit(error.exit_code())
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    io.is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
}

/// A wrong value on the command line is wrong usage; a wrong value in a file is a failure.
fn is_wrong_usage(error: &anyhow::Error) -> bool {
    if error.is::<commands::WrongUsage>() {
        return true;
    }
    match error.downcast_ref::<nigh::Error>() {
        Some(nigh::Error::Setting { .. }) => true,
        Some(nigh::Error::UnknownName { kind, .. }) => *kind != "graph" && *kind != "class",
        _ => false,
    }
}

fn hint(error: &anyhow::Error) -> Option<String> {
    let is_file = |dataset: &str| !nigh::dataset::is_name(dataset);
    Some(match error.downcast_ref::<nigh::Error>()? {
        nigh::Error::Artefact { .. } => "`nigh train ... --out DIR` writes a new one".into(),
        nigh::Error::MissingLabels { dataset, .. } if is_file(dataset) => "give labels with --labels FILE".into(),
        nigh::Error::MissingLabels { dataset, .. } if dataset == "ppi" => {
            "its labels are in ppi-class_map.json of its archive; put it beside the other files".into()
        }
        nigh::Error::FeatureCount { dataset, got: 0, .. } if is_file(dataset) => {
            "give features with --features FILE".into()
        }
        nigh::Error::RowsWithoutIds { .. } => "give the order of nodes with --nodes FILE".into(),
        nigh::Error::NotDownloaded { folders, .. } if folders.is_empty() => "--data DIR names a folder".into(),
        nigh::Error::NoDataFolder { .. } => "--data DIR names a folder".into(),
        nigh::Error::UnclearColumns { columns, .. } => {
            let options: Vec<String> = columns.iter().map(|column| format!("--{column} COLUMN")).collect();
            format!("say which column is which with {}", options.join(", "))
        }
        _ => return None,
    })
}
