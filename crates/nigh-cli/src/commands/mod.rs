//! One file per command, and what they share.

mod certify;
mod compare;
mod completions;
mod data;
mod demo;
mod diagnose;
mod embed;
mod estimate;
mod evaluate;
#[cfg_attr(not(feature = "fetch"), path = "no_fetch.rs")]
mod fetch;
mod man;
mod models;
mod predict;
mod propagate;
mod report;
mod reproduce;
mod split;
mod train;
mod tune;

use crate::cli::{Command, CommandLine, Data};
use crate::progress;
use anyhow::Result;
use nigh::dataset::Folders;
use nigh::display::visible;
use nigh::formats::{atomic, brief, is_stdin};
use nigh::threads::Interrupt;
use nigh::{Dataset, Error};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

/// A wrong combination of options that the parser does not detect.
#[derive(Debug)]
pub struct WrongUsage(String);

impl WrongUsage {
    pub fn new(problem: impl Into<String>) -> WrongUsage {
        WrongUsage(problem.into())
    }
}

impl std::fmt::Display for WrongUsage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WrongUsage {}

/// Runs a command on threads that stop at an interruption.
pub fn run(command_line: CommandLine, interrupt: &Interrupt) -> Result<()> {
    let CommandLine { command, threads, quiet } = command_line;
    let file = match &command {
        Command::Train(options) => options.config.as_deref(),
        Command::Compare(options) => options.trainings.config.as_deref(),
        Command::Diagnose(options) => options.trainings.config.as_deref(),
        Command::Tune(options) => options.config.as_deref(),
        Command::Split(options) => options.config.as_deref(),
        _ => None,
    };
    let threads = threads.or_else(|| train::threads_of(file?));
    nigh::threads::run(threads, interrupt, || dispatch(command, quiet))
}

fn dispatch(command: Command, quiet: bool) -> Result<()> {
    match command {
        Command::Data { command } => data::run(&command, quiet),
        Command::Demo(options) => demo::run(&options, quiet),
        Command::Train(options) => train::run(&options, quiet),
        Command::Split(options) => split::run(&options, quiet),
        Command::Evaluate(options) => evaluate::run(&options, quiet),
        Command::Embed(options) => embed::run(&options, quiet),
        Command::Propagate(options) => propagate::run(&options, quiet),
        Command::Estimate(options) => estimate::run(&options, quiet),
        Command::Predict(options) => predict::run(&options, quiet),
        Command::Certify(options) => certify::run(&options, quiet),
        Command::Models(options) => models::run(&options),
        Command::Completions { shell } => completions::run(shell),
        Command::Man(options) => man::run(&options, quiet),
        Command::Compare(options) => compare::run(&options, quiet),
        Command::Diagnose(options) => diagnose::run(&options, quiet),
        Command::Reproduce(options) => reproduce::run(&options, quiet),
        Command::Report(options) => report::run(&options, quiet),
        Command::Tune(options) => tune::run(&options, quiet),
    }
}

/// Checks that a folder does not exist and can be created. `remedy` completes the message for one that exists.
fn new_folder(out: &Path, remedy: &str) -> Result<PathBuf> {
    // Without a trailing slash, so that a file beside the folder is not a file inside it.
    let out: PathBuf = out.components().collect();
    if out.exists() {
        return Err(Error::file(&out, format!("exists already{remedy}")).into());
    }
    check_writable(&out)?;
    Ok(out)
}

/// Checks that a file or folder can be written, before hours are spent on its content.
fn check_writable(path: &Path) -> Result<()> {
    if atomic::is_special(path) {
        return Ok(());
    }
    let above = path.ancestors().skip(1).find(|above| above.as_os_str().is_empty() || above.exists());
    let above = above.filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // The same name in all processes: the next one removes what a killed one left.
    let probe = above.join(".nigh.partial");
    let result = atomic::create_afresh(&probe).and_then(|_| match std::fs::remove_file(&probe) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        result => result,
    });
    result.map_err(|error| Error::file(path, format!("can't be written: {error}")))?;
    Ok(())
}

/// Creates the folders above a file.
fn create_parents(path: &Path) -> Result<()> {
    if let Some(above) = path.parent().filter(|above| !above.as_os_str().is_empty()) {
        std::fs::create_dir_all(above).map_err(Error::io(above))?;
    }
    Ok(())
}

impl Data {
    /// Refuses standard input for more than one file; `other` is one more that the command reads.
    fn check_stdin(&self, other: Option<&Path>) -> Result<()> {
        let files = [self.nodes.as_deref(), self.features.as_deref(), self.labels.as_deref(), other];
        let graph = Path::new(&self.graph);
        match files.into_iter().flatten().chain([graph]).filter(|path| is_stdin(path)).count() {
            0 | 1 => Ok(()),
            _ => Err(WrongUsage("`-` is given for two files; standard input can be read as one".into()).into()),
        }
    }
}

/// Loads a graph, downloads it if it has a name and is missing, and prints notes about it.
fn load(data: &Data, quiet: bool) -> Result<Dataset> {
    data.check_stdin(None)?;
    let folders = Folders::new(data.data.as_deref());
    fetch::if_missing(data, &folders, quiet)?;
    let reading = progress::Activity::uncounted(format!("reading {}", data.graph), quiet);
    let dataset = Dataset::load(&data.graph, &data.input(), &folders)?;
    drop(reading);
    print_notes(&dataset.notes, quiet);
    Ok(dataset)
}

/// A note on settings that change nothing.
fn note_on_settings(names: &[String], whom: &str) -> Option<String> {
    let (has, have) = ("has no effect", "have no effect");
    (!names.is_empty()).then(|| format!("{} {} on {whom}", names.join(", "), if names.len() == 1 { has } else { have }))
}

/// Notes on stderr, apart from the results on stdout.
fn print_notes(notes: &[String], quiet: bool) {
    if !quiet {
        notes.iter().for_each(|note| progress::print_line(&format!("note: {}{}", brief(note, 1600), options_of(note))));
    }
}

/// The options that do what a note of the library suggests.
fn options_of(note: &str) -> String {
    // `column 3 of FILE has no name ...`
    let column = || note.split(' ').nth(1).unwrap_or_default();
    match note {
        _ if note.ends_with("name its columns as source and target") => " (--source, --target)".into(),
        _ if note.ends_with("one can be named as the weight") => " (--weight)".into(),
        _ if note.ends_with("it can be named as the weight") => format!(" (--weight {})", column()),
        _ if note.ends_with("they can be left out") => " (--weight none)".into(),
        _ if note.ends_with("they can be taken as one label each") => " (--label-separator none)".into(),
        _ if note.ends_with("the graph is another file") => " (--labels)".into(),
        _ => String::new(),
    }
}

/// Prints text for people to stdout: nothing of their data commands the terminal.
fn print(text: &str) -> Result<()> {
    print_page(&visible(text))
}

/// Prints csv, JSON or another format for programs to stdout: exactly, unless it is shown on a terminal.
fn print_data(text: &str) -> Result<()> {
    if std::io::stdout().is_terminal() { print(text) } else { print_page(text) }
}

/// Prints what the program wrote itself, styles and all, to stdout. A closed pipe is an error, not a panic.
fn print_page(text: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    Ok(stdout.flush()?)
}

/// Whether stdout can show bold and underlined text.
fn is_styled() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// Names without surrounding blanks, and without empty ones.
fn trimmed(names: &[String]) -> Vec<String> {
    names.iter().map(|name| name.trim().to_string()).filter(|name| !name.is_empty()).collect()
}

fn print_json(value: &serde_json::Value) -> Result<()> {
    print_data(&format!("{}\n", serde_json::to_string_pretty(value)?))
}
