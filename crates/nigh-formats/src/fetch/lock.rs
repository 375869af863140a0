//! A lock between processes.

use crate::error::{Error, Result};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

/// Held until it is dropped. The system releases it when the process ends.
pub(super) struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    /// Waits until the lock is free; calls `waiting` if it is not.
    pub fn take(path: &Path, mut waiting: impl FnMut()) -> Result<Lock> {
        loop {
            // It stays empty, so there is nothing to truncate.
            let options = File::options().write(true).create(true).truncate(false).open(path);
            let file = options.map_err(Error::io(path))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    waiting();
                    file.lock().map_err(Error::io(path))?;
                }
                // Some network drives have no locks; one process alone is fine there.
                Err(TryLockError::Error(error)) if error.kind() == std::io::ErrorKind::Unsupported => {}
                Err(TryLockError::Error(error)) => return Err(Error::io(path)(error)),
            }
            if still_there(&file, path) {
                return Ok(Lock { path: path.to_path_buf(), _file: file });
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Removed while it is held: a waiting process notices and creates a new one.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Whether the name still leads to the file that was locked.
fn still_there(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let id = |about: std::fs::Metadata| (about.dev(), about.ino());
        file.metadata().is_ok_and(|file| path.metadata().is_ok_and(|path| id(file) == id(path)))
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        path.exists()
    }
}
