//! Files that are there whole or not at all. A link stays a link, and what is no file, such as a pipe, is written into.

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
    if is_special(path) {
        return std::fs::OpenOptions::new().write(true).open(path)?.write_all(bytes);
    }
    if path.is_symlink()
        && let Ok(target) = std::fs::canonicalize(path)
    {
        return write(&target, bytes);
    }
    let result = std::fs::File::create(partial)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| std::fs::rename(partial, path));
    if result.is_err() {
        let _ = std::fs::remove_file(partial);
    }
    result
}

/// Whether there is something that is neither a file nor a folder: a device, a pipe.
pub fn is_special(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// `path` with `.suffix` behind its name.
pub fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path.as_os_str());
    name.push(format!(".{suffix}"));
    PathBuf::from(name)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::testing::TempDir;

    #[test]
    fn a_link_stays_a_link_and_a_device_a_device() {
        let folder = TempDir::new();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        std::fs::write(&file, "before").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write(&link, b"after").unwrap();
        assert!(link.is_symlink() && std::fs::read(&file).unwrap() == b"after");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "nothing else is left");
        // A link to a device, so that no device is at risk.
        let null = folder.path().join("null");
        std::os::unix::fs::symlink("/dev/null", &null).unwrap();
        write(&null, b"gone").unwrap();
        assert!(null.is_symlink() && is_special(Path::new("/dev/null")));
    }
}
