//! Finished parts of long work in a file: a line of JSON each, below a line that says of what. Work that was interrupted resumes from it.

use nigh::{Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// What a line of a journal holds.
pub trait Entry: Clone + Serialize + DeserializeOwned {
    /// One of them: `trial`.
    const NAME: &'static str;
    /// What they are parts of: `search`.
    const WHOLE: &'static str;

    /// Whether both are the same part, of which the first counts.
    fn is_same(&self, other: &Self) -> bool;
}

/// A file of entries, which one process at a time holds.
#[derive(Debug)]
pub struct Journal<T> {
    path: PathBuf,
    file: File,
    entries: Vec<T>,
    /// Notes about lines that were skipped.
    pub notes: Vec<String>,
}

/// What entries must share to be of one work. How much of it there is may differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Identity {
    pub version: String,
    pub dataset: String,
    /// Fingerprint of the first split.
    pub split: String,
    pub settings: toml::Table,
}

impl Identity {
    /// What differs, if anything does.
    fn difference(&self, other: &Identity) -> Option<String> {
        let differs = |what: &str, one: &dyn std::fmt::Display, two: &dyn std::fmt::Display| {
            Some(format!("{what} {one}, not {two}"))
        };
        match () {
            () if self.version != other.version => differs("of version", &self.version, &other.version),
            () if self.dataset != other.dataset => differs("on", &self.dataset, &other.dataset),
            () if self.settings != other.settings => {
                let text = |table: &toml::Table| table.to_string().trim().replace('\n', ", ");
                differs("with", &text(&self.settings), &text(&other.settings))
            }
            () if self.split != other.split => Some("of other data under the same name".to_string()),
            () => None,
        }
    }
}

impl<T: Entry> Journal<T> {
    /// Opens the journal of some work, or begins it. `check` says what is wrong with an entry.
    pub(crate) fn open(
        path: &Path,
        identity: &Identity,
        check: impl Fn(&T) -> std::result::Result<(), String>,
    ) -> Result<Journal<T>> {
        let open = || OpenOptions::new().create(true).append(true).read(true).open(path);
        let mut file = open().map_err(Error::io(path))?;
        match file.try_lock() {
            Ok(()) => (),
            Err(TryLockError::WouldBlock) => return Err(Error::file(path, "another process is writing to it")),
            Err(TryLockError::Error(error)) => return Err(Error::io(path)(error)),
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(Error::io(path))?;
        let mut journal = Journal { path: path.to_path_buf(), file, entries: Vec::new(), notes: Vec::new() };
        // An unfinished line may end within a character.
        let text = String::from_utf8_lossy(&bytes);
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty());
        match lines.next() {
            Some((at, line)) => journal.check_identity(at + 1, line, identity)?,
            None => journal.append(identity)?,
        }
        for (at, line) in lines {
            journal.read(at + 1, line, &check)?;
        }
        Ok(journal)
    }

    /// The entries, in the order in which they were written.
    pub fn entries(&self) -> &[T] {
        &self.entries
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn check_identity(&self, line: usize, text: &str, wanted: &Identity) -> Result<()> {
        let wrong = |problem: String| Err(Error::line(&self.path, line, problem));
        match serde_json::from_str::<Identity>(text) {
            Err(error) => wrong(format!("not the first line of a {}: {error}", T::WHOLE)),
            Ok(identity) => match identity.difference(wanted) {
                Some(difference) => wrong(format!(
                    "these are {}s of another {}, {difference}; another file, or none, starts a new one",
                    T::NAME,
                    T::WHOLE
                )),
                None => Ok(()),
            },
        }
    }

    fn read(&mut self, line: usize, text: &str, check: impl Fn(&T) -> std::result::Result<(), String>) -> Result<()> {
        let wrong = |problem: String| Err(Error::line(&self.path, line, problem));
        let entry = match serde_json::from_str::<T>(text) {
            Ok(entry) => entry,
            // The process was killed while writing; this part is run again.
            Err(error) if error.is_eof() => {
                self.notes.push(format!("{}, line {line}: unfinished {} skipped", self.path.display(), T::NAME));
                return Ok(());
            }
            Err(error) => return wrong(format!("not a {}: {error}", T::NAME)),
        };
        if let Err(problem) = check(&entry) {
            return wrong(problem);
        }
        if !self.entries.iter().any(|known| known.is_same(&entry)) {
            self.entries.push(entry);
        }
        Ok(())
    }

    /// Writes a finished part.
    pub(crate) fn push(&mut self, entry: &T) -> Result<()> {
        self.append(entry)?;
        self.entries.push(entry.clone());
        Ok(())
    }

    fn append(&mut self, content: &impl Serialize) -> Result<()> {
        append_line(&mut self.file, content).map_err(Error::io(&self.path))
    }
}

/// Appends a line of JSON, below what a killed process may have left of one. The file is open for reading as well.
pub(crate) fn append_line(file: &mut File, content: &impl Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_string(content).expect("plain data can be written");
    line.push('\n');
    if file.seek(SeekFrom::End(0))? > 0 {
        let mut last = [0];
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
        if last != [b'\n'] {
            line.insert(0, '\n');
        }
    }
    file.write_all(line.as_bytes())?;
    file.sync_data()
}
