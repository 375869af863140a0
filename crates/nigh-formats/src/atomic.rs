//! Atomic writes: a file has its old content or all of the new one, and keeps its mode. A link that the user names stays a
//! link; a pipe or a device is written to. Temporary files are created exclusively: what another user placed under their
//! name is never written through.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Result, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Writes a file under another name and renames it when it is complete. Several processes may write the same file. What
/// killed ones left beside it is removed.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if is_special(path) {
        return OpenOptions::new().write(true).open(path)?.write_all(bytes);
    }
    let target = if path.is_symlink() { std::fs::canonicalize(path).ok() } else { None };
    let path = target.as_deref().unwrap_or(path);
    remove_abandoned(path);
    let (partial, file) = create_own(path)?;
    complete(file, &partial, path, bytes)
}

/// As `write`, for a file with one writer: what a killed process left behind is replaced by the next. A link in its place is
/// replaced as well, since the program and not the user chose the name.
pub fn write_as_only_writer(path: &Path, bytes: &[u8]) -> Result<()> {
    if path.symlink_metadata().is_ok_and(|found| !found.is_file() && !found.is_symlink()) {
        return Err(Error::new(ErrorKind::InvalidInput, "there is something else than a file of this name"));
    }
    let partial = beside(path, "partial");
    let file = create_to_replace(&partial, path)?;
    complete(file, &partial, path, bytes)
}

/// Writes, and renames to `path`.
fn complete(mut file: File, partial: &Path, path: &Path, bytes: &[u8]) -> Result<()> {
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    let result = written.and_then(|()| std::fs::rename(partial, path));
    if result.is_err() {
        let _ = std::fs::remove_file(partial);
    }
    result
}

/// A file that is written piece by piece under another name, and appears under its own when it is complete. Dropped before, it
/// leaves nothing behind.
#[derive(Debug)]
pub struct PartialFile {
    file: File,
    partial: PathBuf,
    path: PathBuf,
}

impl PartialFile {
    /// What killed processes left beside `path` is removed. A pipe or a device is refused: it can't be renamed.
    pub fn create(path: &Path) -> Result<PartialFile> {
        if is_special(path) {
            return Err(Error::new(
                ErrorKind::InvalidInput,
                "is no regular file; this is written to a file of its own",
            ));
        }
        let target = if path.is_symlink() { std::fs::canonicalize(path).ok() } else { None };
        let path = target.unwrap_or_else(|| path.to_path_buf());
        remove_abandoned(&path);
        let (partial, file) = create_own(&path)?;
        Ok(PartialFile { file, partial, path })
    }

    /// To write to.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Gives the file its name.
    pub fn complete(self) -> Result<()> {
        self.file.sync_all()?;
        std::fs::rename(&self.partial, &self.path)
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        // Once it has its name there is nothing of this one.
        let _ = std::fs::remove_file(&self.partial);
    }
}

/// A temporary file of this process alone for `path`. It is locked while it is written: that is how others know that it is
/// not abandoned.
fn create_own(path: &Path) -> Result<(PathBuf, File)> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    loop {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let partial = beside(path, &format!("{}.{count}.partial", std::process::id()));
        match create_new(&partial, path) {
            Ok(file) => {
                // Some network drives have no locks; nothing is removed there.
                let _ = file.lock();
                // Another process may have taken it for abandoned before it was locked.
                if partial.exists() {
                    return Ok((partial, file));
                }
            }
            // Of a process with the same number, in another container or before this one.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// A file that did not exist, with the mode of the one that it will replace. A link is not followed.
fn create_new(path: &Path, to_replace: &Path) -> Result<File> {
    let replaced = to_replace.symlink_metadata().ok().filter(|found| found.is_file());
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    // From its first moment nobody may read it who could not read the old one.
    #[cfg(unix)]
    if let Some(found) = &replaced {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
        options.mode(found.permissions().mode());
    }
    let file = options.open(path)?;
    if let Some(found) = replaced {
        file.set_permissions(found.permissions())?;
    }
    Ok(file)
}

/// A file without a name in this folder, to be written and read: the system removes it when the process ends, however it does.
pub fn unnamed_file(folder: &Path) -> Result<File> {
    tempfile::tempfile_in(folder)
}

/// As `File::create`, but what is there is removed first, be it a file or a link; what a link leads to stays as it is.
pub fn create_afresh(path: &Path) -> Result<File> {
    create_to_replace(path, path)
}

fn create_to_replace(partial: &Path, path: &Path) -> Result<File> {
    match std::fs::remove_file(partial) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => create_new(partial, path),
    }
}

/// An empty folder for the files of another that will appear when they are complete. What a killed process left there is
/// removed.
pub fn create_folder_afresh(folder: &Path) -> Result<()> {
    if folder.symlink_metadata().is_ok() {
        // Of a link, only the link.
        std::fs::remove_dir_all(folder)?;
    }
    if let Some(above) = folder.parent().filter(|above| !above.as_os_str().is_empty()) {
        std::fs::create_dir_all(above)?;
    }
    std::fs::create_dir(folder)
}

/// Removes the temporary files of killed processes for `path`: those that nobody has locked.
fn remove_abandoned(path: &Path) {
    let folder = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Some(name) = path.file_name() else { return };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|found| found.is_file()));
    for file in files.filter(|file| is_temporary(&file.file_name(), name)) {
        // Removed while it is locked, so that a process that has just created it notices.
        if let Ok(opened) = File::open(file.path())
            && opened.try_lock().is_ok()
        {
            let _ = std::fs::remove_file(file.path());
        }
    }
}

/// Whether this is `NAME.PID.partial` or `NAME.PID.COUNT.partial`.
fn is_temporary(file: &OsStr, name: &OsStr) -> bool {
    let rest = file.as_encoded_bytes().strip_prefix(name.as_encoded_bytes());
    let numbers = rest.and_then(|rest| rest.strip_prefix(b".")?.strip_suffix(b".partial"));
    let is_number = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    numbers.is_some_and(|numbers| numbers.split(|&byte| byte == b'.').all(is_number))
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

    #[test]
    fn temporary_files_are_never_written_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (file, victim) = (folder.path().join("file"), folder.path().join("victim"));
        std::fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, beside(&file, "partial")).unwrap();
        write_as_only_writer(&file, b"state").unwrap();
        assert_eq!(
            (std::fs::read(&file).unwrap(), std::fs::read(&victim).unwrap()),
            (b"state".into(), b"precious".into())
        );
        // A link in the place of the file itself is replaced.
        std::fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink(&victim, &file).unwrap();
        write_as_only_writer(&file, b"state").unwrap();
        assert!(!file.is_symlink() && std::fs::read(&victim).unwrap() == b"precious");
        std::os::unix::fs::symlink(&victim, folder.path().join("fresh")).unwrap();
        create_afresh(&folder.path().join("fresh")).unwrap().write_all(b"new").unwrap();
        assert_eq!(std::fs::read(&victim).unwrap(), b"precious");
        let (link, inside) = (folder.path().join("link"), folder.path().join("inside"));
        std::fs::create_dir(&inside).unwrap();
        std::fs::write(inside.join("kept"), "").unwrap();
        std::os::unix::fs::symlink(&inside, &link).unwrap();
        create_folder_afresh(&link).unwrap();
        assert!(link.is_dir() && !link.is_symlink() && inside.join("kept").exists());
    }

    #[test]
    fn a_replaced_file_keeps_its_mode() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for writer in [write, write_as_only_writer] {
            for mode in [0o600, 0o666, 0o444, 0o640] {
                std::fs::write(&path, "before").unwrap();
                std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
                writer(&path, b"after").unwrap();
                assert_eq!(std::fs::read(&path).unwrap(), b"after");
                assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, mode);
                std::fs::remove_file(&path).unwrap();
            }
        }
    }

    #[test]
    fn what_killed_processes_left_is_removed_and_what_others_are_writing_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["x.csv.17.partial", "x.csv.17.3.partial", "y.csv.17.partial", "x.csv.partial", "x.csv.a.partial"] {
            std::fs::write(at(name), "half").unwrap();
        }
        let (own, file) = create_own(&at("x.csv")).unwrap();
        write(&at("x.csv"), b"whole").unwrap();
        let names = |folder: &Path| {
            let entries = std::fs::read_dir(folder).unwrap();
            entries
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect::<std::collections::BTreeSet<_>>()
        };
        let own_name = own.file_name().unwrap().to_str().unwrap().to_string();
        let left = ["x.csv", "x.csv.a.partial", "x.csv.partial", "y.csv.17.partial"].map(String::from);
        assert_eq!(names(folder.path()), left.iter().cloned().chain([own_name]).collect());
        // Its writer has gone.
        drop(file);
        write(&at("x.csv"), b"whole").unwrap();
        assert_eq!(names(folder.path()), left.into_iter().collect());
    }
}
