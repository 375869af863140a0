//! `nigh man`: manual pages.

use super::{WrongUsage, print_notes, print_page};
use crate::cli::{CommandLine, Man};
use anyhow::Result;
use clap::{Command, CommandFactory};
use nigh::Error;

pub fn run(options: &Man, quiet: bool) -> Result<()> {
    let mut program = CommandLine::command().disable_help_subcommand(true);
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
