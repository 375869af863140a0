//! Files that are there whole or not at all.

use std::ffi::OsString;
use std::io::{Result, Write};
use std::path::{Path, PathBuf};

/// Writes a file beside its place and moves it there when it is complete. Several processes may write the same file.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    write_through(&beside(path, &format!("{}.partial", std::process::id())), path, bytes)
}

/// As `write`, for a file of which this process is the only writer: what a killed one left is overwritten next time.
pub fn write_as_only_writer(path: &Path, bytes: &[u8]) -> Result<()> {
    write_through(&beside(path, "partial"), path, bytes)
}

fn write_through(partial: &Path, path: &Path, bytes: &[u8]) -> Result<()> {
    let result = std::fs::File::create(partial)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| std::fs::rename(partial, path));
    if result.is_err() {
        let _ = std::fs::remove_file(partial);
    }
    result
}

/// `path` with `.suffix` behind its name.
pub fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path.as_os_str());
    name.push(format!(".{suffix}"));
    PathBuf::from(name)
}
