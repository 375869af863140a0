//! `nigh man`: manual pages.

use super::{WrongUsage, print_notes, print_page};
use crate::cli::{CommandLine, Man};
use anyhow::Result;
use clap::{Command, CommandFactory};
use nigh::Error;

pub fn run(options: &Man, quiet: bool) -> Result<()> {
    let mut program = with_all_options(CommandLine::command()).disable_help_subcommand(true);
    if let Some(folder) = &options.out {
        std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
        clap_mangen::generate_to(program, folder).map_err(Error::io(folder))?;
        print_notes(&[format!("the manual pages are in {}", folder.display())], quiet);
        return Ok(());
    }
    // Gives the subcommands their full names.
    program.build();
    let command = options.command.iter().try_fold(&program, |command, word| subcommand(command, word))?;
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    print_page(&String::from_utf8(page)?)
}

/// What `--help` leaves out for the sake of one screen is on the pages.
fn with_all_options(command: Command) -> Command {
    command.mut_args(|option| option.hide_short_help(false)).mut_subcommands(with_all_options)
}

fn subcommand<'a>(command: &'a Command, word: &str) -> Result<&'a Command> {
    let names: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
    if names.is_empty() {
        return Err(WrongUsage(format!("`{}` has no command `{word}`", command.get_name())).into());
    }
    let unknown = || Error::UnknownName {
        kind: "command",
        name: word.to_string(),
        known: names.iter().map(|name| name.to_string()).collect(),
    };
    Ok(command.find_subcommand(word).ok_or_else(unknown)?)
}
