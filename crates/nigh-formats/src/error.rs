//! What can be wrong with a file.

use std::borrow::Cow;
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
    #[error("{}: {source}", shown(path))]
    Io {
        /// The file or folder concerned.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A line of a text file is not what it should be.
    #[error("{}:{line}: {}", shown(path), brief(problem, LONGEST_PROBLEM))]
    Line {
        /// The file.
        path: PathBuf,
        /// Counted from one.
        line: usize,
        /// The value found and what would be right.
        problem: String,
    },
    /// A file as a whole is not what it should be.
    #[error("{}: {}", shown(path), brief(problem, LONGEST_PROBLEM))]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A table does not show which of its columns is what.
    #[error("{problem}")]
    UnclearColumns {
        /// The place, what was found and what was expected.
        problem: Box<Error>,
        /// The columns that can be named: "source", "label", ...
        columns: &'static [&'static str],
    },
    /// A setting outside its range.
    #[error("`{name}` is {}, but {problem}", brief(value, LONGEST_VALUE))]
    Setting {
        /// As the user types it.
        name: &'static str,
        /// As the user typed it.
        value: String,
        /// What would be right.
        problem: String,
    },
    /// The files of a named dataset are in none of the folders.
    #[error("{name} is not here; put {files} into {}", one_of_folders(folders))]
    NotDownloaded {
        /// The dataset.
        name: String,
        /// The files and where they are published.
        files: String,
        /// Where they were looked for.
        folders: Vec<PathBuf>,
    },
    /// There is neither a cache of the user nor a given folder to download to.
    #[error("there is no folder to put {name} into: neither a cache of the user nor a given folder")]
    NoDataFolder {
        /// The dataset.
        name: String,
    },
    /// A download that failed.
    #[error("{address}: {problem}; {remedy}")]
    Fetch {
        /// What was requested.
        address: String,
        /// What came instead.
        problem: String,
        /// How to do without.
        remedy: String,
    },
    /// Edges that can't be read with their weights, but could without.
    #[error("{problem}")]
    Weight {
        /// The place, the value and what would be right.
        problem: Box<Error>,
    },
}

/// Characters of what is wrong that a message shows. A value of a file, or what a parser says of it, may have any length.
const LONGEST_PROBLEM: usize = 1000;

/// Characters of a name or a value of the user's that a message shows.
const LONGEST_VALUE: usize = 400;

/// Characters of a path.
const LONGEST_PATH: usize = 500;

/// A text of at most about `most` characters: of a longer one the start and the end, which mostly says what to do.
///
/// ```
/// use nigh_formats::brief;
/// assert_eq!(brief("a,b", 40), "a,b");
/// assert_eq!(brief(&"x".repeat(1000), 20), "xxxxxxxxxxxxxxx[980 characters]xxxxx");
/// ```
pub fn brief(text: &str, most: usize) -> Cow<'_, str> {
    // Bytes are at least as many, and are counted at once.
    if text.len() <= most || text.chars().nth(most).is_none() {
        return text.into();
    }
    let (start, end) = (most - most / 4, most / 4);
    let start = text.char_indices().nth(start).map_or(text.len(), |(at, _)| at);
    let end = text.char_indices().rev().nth(end.saturating_sub(1)).map_or(start, |(at, _)| at);
    let left_out = text[start..end].chars().count();
    format!("{}[{left_out} characters]{}", &text[..start], &text[end..]).into()
}

fn shown(path: &Path) -> String {
    brief(&path.display().to_string(), LONGEST_PATH).into_owned()
}

fn one_of_folders(folders: &[PathBuf]) -> String {
    let shown: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    if shown.is_empty() { "a folder of your own".into() } else { format!("one of {}", shown.join(", ")) }
}

impl Error {
    /// Adds the path to an error of the system.
    pub fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Error + '_ {
        move |source| Error::Io { path: path.to_path_buf(), source }
    }

    /// Something wrong on one line of `path`.
    pub fn line(path: &Path, line: usize, problem: impl Into<String>) -> Error {
        Error::Line { path: path.to_path_buf(), line, problem: shortened(problem.into()) }
    }

    /// Something wrong with `path` as a whole.
    pub fn file(path: &Path, problem: impl Into<String>) -> Error {
        Error::File { path: path.to_path_buf(), problem: shortened(problem.into()) }
    }

    /// A setting outside its range.
    pub fn setting(name: &'static str, value: impl ToString, problem: impl Into<String>) -> Error {
        Error::Setting { name, value: value.to_string(), problem: problem.into() }
    }

    /// A weight that can't be one.
    pub fn weight(problem: Error) -> Error {
        Error::Weight { problem: problem.into() }
    }
}

/// The problem, which others take up into messages of their own.
fn shortened(problem: String) -> String {
    match brief(&problem, LONGEST_PROBLEM) {
        Cow::Borrowed(_) => problem,
        Cow::Owned(short) => short,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_the_start_and_the_end_of_what_is_long() {
        let value = "é".repeat(1_000_000);
        for error in [
            Error::file(Path::new(&value), format!("`{value}` is no number; expected one")),
            Error::line(Path::new("x"), 7, format!("`{value}` is no number; expected one")),
            Error::io(Path::new(&value))(std::io::Error::other("as asked")),
        ] {
            let message = error.to_string();
            assert!(message.chars().count() < 2000, "{}", message.len());
            assert!(message.ends_with("is no number; expected one") || message.ends_with("as asked"), "{message}");
        }
        assert_eq!(brief("éééé", 4), "éééé");
        assert_eq!(brief("ééééé", 4), "ééé[1 characters]é");
        assert_eq!(brief("", 0), "");
    }
}
