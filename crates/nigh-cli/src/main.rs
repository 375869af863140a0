//! The program `nigh`.

use std::process::ExitCode;

fn main() -> ExitCode {
    nigh_cli::run(std::env::args_os()).into()
}
