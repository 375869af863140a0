//! What can go wrong with what a user hands over. A mistake of ours panics instead.

use std::path::{Path, PathBuf};

/// The result of anything that reads, checks or writes.
pub type Result<T> = std::result::Result<T, Error>;

/// Every failure carries the values that let a reader act.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder concerned.
        path: PathBuf,
        /// What the system said.
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
    /// A name that is not in the list of its kind.
    #[error("unknown {kind} `{name}`{}", did_you_mean(name, known))]
    UnknownName {
        /// What the name should have named: "model", "task", ...
        kind: &'static str,
        /// What was written.
        name: String,
        /// Every valid name.
        known: Vec<String>,
    },
    /// A hyper-parameter outside its range.
    #[error("`{name}` is {value}, but {problem}")]
    Setting {
        /// As the user types it.
        name: &'static str,
        /// As the user typed it.
        value: String,
        /// What would be right.
        problem: String,
    },
    /// A choice that was to be made already.
    #[error("`{name}` is still auto")]
    OpenChoice {
        /// As the user types it.
        name: String,
    },
    /// The data do not allow what was asked.
    #[error("{0}")]
    Data(String),
    /// What an address did not give.
    #[error("{address}: {problem}; {remedy}")]
    Fetch {
        /// What was asked for.
        address: String,
        /// What came instead.
        problem: String,
        /// How to do without.
        remedy: String,
    },
    /// A saved model that can't be used.
    #[error("model folder {}: {problem}", path.display())]
    Artefact {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

impl Error {
    /// Wraps what the system said about `path`.
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

    /// A hyper-parameter outside its range.
    pub fn setting(name: &'static str, value: impl ToString, problem: impl Into<String>) -> Error {
        Error::Setting { name, value: value.to_string(), problem: problem.into() }
    }
}

/// The nearest of `known`, if any is near enough to be a slip of the finger.
pub fn nearest<'a>(name: &str, known: &'a [String]) -> Option<&'a str> {
    let score = |candidate: &str| strsim::jaro_winkler(&name.to_lowercase(), candidate);
    // The first of equals.
    let best = known.iter().rev().max_by(|a, b| score(a).total_cmp(&score(b)))?;
    (score(best) > 0.75).then_some(best)
}

fn did_you_mean(name: &str, known: &[String]) -> String {
    match nearest(name, known) {
        Some(best) => format!("; did you mean `{best}`?"),
        None => format!("; known are {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_answered_with_the_name_that_was_meant() {
        let known = vec!["smp-linear".to_string(), "gcn".to_string()];
        let error = Error::UnknownName { kind: "model", name: "smp_liner".into(), known: known.clone() };
        assert_eq!(error.to_string(), "unknown model `smp_liner`; did you mean `smp-linear`?");
        let error = Error::UnknownName { kind: "model", name: "xyzzy".into(), known };
        assert_eq!(error.to_string(), "unknown model `xyzzy`; known are smp-linear, gcn");
    }
}
