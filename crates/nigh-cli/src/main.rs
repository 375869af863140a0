//! The program `nigh`.

use std::process::ExitCode;

fn main() -> ExitCode {
    fail_at_file_size_limits();
    nigh_cli::run(std::env::args_os()).into()
}

/// Where `ulimit -f` ends a file, the system would end the program, which then leaves half of it behind. Without the signal the write
/// fails, as on a full disk. Python ignores it, too.
fn fail_at_file_size_limits() {
    #[cfg(unix)]
    // SAFETY: no handler is set, and no other thread runs yet.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}
