//! Atomic writes: a file has its old content or all of the new one. A link stays a link; a pipe or a device is written to.

use std::ffi::OsString;
use std::io::{Result, Write};
use std::path::{Path, PathBuf};

/// Writes a file under another name and renames it when it is complete. Several processes may write the same file.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    write_through(&beside(path, &format!("{}.partial", std::process::id())), path, bytes)
}

/// As `write`, for a file with one writer: what a killed process left behind is overwritten by the next.
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

/// Whether the path is neither a file nor a folder, but for instance a device or a pipe.
pub fn is_special(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// `path` with `.suffix` appended.
pub fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path.as_os_str());
    name.push(format!(".{suffix}"));
    PathBuf::from(name)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_link_stays_a_link_and_a_device_a_device() {
        let folder = tempfile::tempdir().unwrap();
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
