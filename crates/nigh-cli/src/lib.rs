//! The program `nigh`, which `main.rs` and the Python package start. Its options and help texts are in `cli`.

mod cli;
mod commands;
mod progress;
mod settings;
mod suggestions;

use clap::Parser;
use nigh::display::visible;
use nigh::formats::brief;
use nigh::threads::Interrupt;
use std::ffi::OsString;
use std::time::Duration;

/// Runs the program with these arguments, of which the first is its name. Returns its exit code: 0 done, 1 failed, 2 wrong usage, 130
/// ended by Ctrl-C.
pub fn run(arguments: impl IntoIterator<Item: Into<OsString> + Clone>) -> u8 {
    let command_line = match cli::CommandLine::try_parse_from(arguments) {
        Ok(command_line) => command_line,
        Err(error) => return refuse(&error),
    };
    match commands::run(command_line, &interrupted_by_ctrl_c()) {
        Ok(()) => 0,
        Err(error) => {
            // A closed pipe, as of `head`, is not a failure.
            if is_broken_pipe(&error) {
                return 0;
            }
            progress::print_line(&format!("error: {}", brief(&error.to_string(), LONGEST_MESSAGE)));
            // Causes that the message already contains are not repeated.
            let quoted = error.to_string();
            let causes = error.chain().skip(1).map(|cause| cause.to_string());
            let others = causes.filter(|cause| !quoted.contains(cause.as_str()));
            others.for_each(|cause| progress::print_line(&format!("  caused by: {}", brief(&cause, LONGEST_MESSAGE))));
            if let Some(hint) = hint(&error) {
                progress::print_line(&format!("hint: {hint}"));
            }
            match error.downcast_ref() {
                Some(nigh::Error::Interrupted) => INTERRUPTED,
                _ if is_wrong_usage(&error) => 2,
                _ => 1,
            }
        }
    }
}

/// Version and commit, which records carry.
pub const VERSION: &str = env!("NIGH_VERSION");

/// Characters of an error. A word of the command line or of a file that it quotes may have any length.
const LONGEST_MESSAGE: usize = 1600;

/// What shells return for a command that Ctrl-C has ended.
const INTERRUPTED: u8 = 130;

/// A switch that the first Ctrl-C trips, so that nothing half-written stays behind. What does not look at it, as while it waits for
/// a pipe, ends a little later; at a second Ctrl-C all ends at once.
fn interrupted_by_ctrl_c() -> Interrupt {
    let interrupt = Interrupt::new();
    let switch = interrupt.clone();
    let end = || std::process::exit(INTERRUPTED.into());
    // Refused where somebody else handles Ctrl-C, or has it ignored, as a shell does for a command in the background.
    let _ = ctrlc::try_set_handler(move || {
        if switch.is_tripped() {
            end();
        }
        switch.trip();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs(2));
            end();
        });
    });
    interrupt
}

/// Ends with help, the version, or what is wrong with the command line. Clap quotes words of it as they are.
fn refuse(error: &clap::Error) -> u8 {
    let text = error.render().to_string();
    let is_help = !error.use_stderr();
    if is_help || visible(&text) == text && text.len() <= LONGEST_MESSAGE {
        // A closed pipe is not a failure here either.
        let _ = error.print();
    } else {
        progress::print_line(&brief(text.trim_end(), LONGEST_MESSAGE));
    }
    error.exit_code() as u8
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
        nigh::Error::Weight { .. } => "--weight none reads edges without weights".into(),
        nigh::Error::RowsWithoutIds { .. } => "give the order of nodes with --nodes FILE".into(),
        nigh::Error::NotDownloaded { folders, .. } if folders.is_empty() => "--data DIR names a folder".into(),
        nigh::Error::NoDataFolder { .. } => "--data DIR names a folder".into(),
        nigh::Error::Setting { name: "memory", .. } => {
            "`nigh estimate GRAPH` shows what runs take; `nigh data convert GRAPH --out FILE.nigh` writes a graph file, whose edges can \
             stay on disk"
                .into()
        }
        nigh::Error::UnclearColumns { columns, .. } => {
            let options: Vec<String> = columns.iter().map(|column| format!("--{column} COLUMN")).collect();
            format!("say which column is which with {}", options.join(", "))
        }
        _ => return None,
    })
}
