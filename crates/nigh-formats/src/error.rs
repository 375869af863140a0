//! What can be wrong with a file.

use std::path::{Path, PathBuf};

/// The result of reading or writing a file.
pub type Result<T> = std::result::Result<T, Error>;

/// What was read, or what is wrong with it, where only the caller knows the name of the file.
pub type Parsed<T> = std::result::Result<T, String>;

/// What is wrong, and where.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder concerned.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A line of a text file is not what it should be.
    #[error("{}:{line}: {problem}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Counted from one.
        line: usize,
        /// The value found and what would be right.
        problem: String,
    },
    /// A file as a whole is not what it should be.
    #[error("{}: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

impl Error {
    /// Adds the path to an error of the system.
    pub fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Error + '_ {
        move |source| Error::Io { path: path.to_path_buf(), source }
    }

    /// Something wrong on one line of `path`.
    pub fn line(path: &Path, line: usize, problem: impl Into<String>) -> Error {
        Error::Line { path: path.to_path_buf(), line, problem: problem.into() }
    }

    /// Something wrong with `path` as a whole.
    pub fn file(path: &Path, problem: impl Into<String>) -> Error {
        Error::File { path: path.to_path_buf(), problem: problem.into() }
    }
}
