//! The program `nigh`. Its options and help texts are in `cli.rs`.

mod cli;
mod commands;
mod progress;
mod settings;
mod suggestions;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let command_line = cli::CommandLine::parse();
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
    match error.downcast_ref::<nigh::Error>()? {
        nigh::Error::Artefact { .. } => Some("`nigh train ... --out DIR` writes a new one".into()),
        _ => None,
    }
}
