//! `nigh completions`: a script that completes commands, options and names in a shell.

use super::print_page;
use crate::cli::CommandLine;
use crate::suggestions;
use anyhow::Result;
use clap::CommandFactory;
use clap_complete::Shell;

pub fn run(shell: Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut CommandLine::command(), "nigh", &mut script);
    let script = String::from_utf8(script)?;
    print_page(&if shell == Shell::Zsh { with_files(script) } else { script })
}

/// Lets zsh complete files beside the names of datasets and tables; other shells do so without help.
fn with_files(script: String) -> String {
    let names = [suggestions::datasets(), suggestions::all_tables(), suggestions::all_tables_or_all()];
    names.iter().map(|names| names.join(" ")).fold(script, |script, names| {
        let both = format!(r#":{{_alternative "names:name:({names})" "files:file:_files"}}'"#);
        script.replace(&format!(":({names})'"), &both)
    })
}
