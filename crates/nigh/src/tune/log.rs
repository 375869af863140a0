//! The finished trials of a search in a file: a line of JSON each, below a line that says of which search.

use super::{Search, Trial};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A file of trials, which one search at a time holds.
#[derive(Debug)]
pub struct TrialLog {
    path: PathBuf,
    file: File,
    trials: Vec<Trial>,
    /// Notes about lines that were skipped.
    pub notes: Vec<String>,
}

/// What trials must share to be of one search. The number of candidates may differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Identity {
    pub version: String,
    pub dataset: String,
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

impl TrialLog {
    /// Opens the file of a search, or begins it. The trials in it are not run again.
    pub fn open(path: &Path, search: &Search<'_>) -> Result<TrialLog> {
        let open = || OpenOptions::new().create(true).append(true).read(true).open(path);
        let mut file = open().map_err(Error::io(path))?;
        match file.try_lock() {
            Ok(()) => (),
            Err(TryLockError::WouldBlock) => return Err(Error::file(path, "another process is searching with it")),
            Err(TryLockError::Error(error)) => return Err(Error::io(path)(error)),
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(Error::io(path))?;
        let mut log = TrialLog { path: path.to_path_buf(), file, trials: Vec::new(), notes: Vec::new() };
        // An unfinished line may end within a character.
        let text = String::from_utf8_lossy(&bytes);
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty());
        match lines.next() {
            Some((at, line)) => log.check_identity(at + 1, line, search)?,
            None => log.append(&search.identity)?,
        }
        for (at, line) in lines {
            log.read_trial(at + 1, line, search)?;
        }
        Ok(log)
    }

    /// The trials, in the order in which they were run.
    pub fn trials(&self) -> &[Trial] {
        &self.trials
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn check_identity(&self, line: usize, text: &str, search: &Search<'_>) -> Result<()> {
        let wrong = |problem: String| Err(Error::line(&self.path, line, problem));
        match serde_json::from_str::<Identity>(text) {
            Err(error) => wrong(format!("not the first line of a search: {error}")),
            Ok(identity) => match identity.difference(&search.identity) {
                Some(difference) => wrong(format!(
                    "these are trials of another search, {difference}; another file, or none, starts a new one"
                )),
                None => Ok(()),
            },
        }
    }

    fn read_trial(&mut self, line: usize, text: &str, search: &Search<'_>) -> Result<()> {
        let wrong = |problem: String| Err(Error::line(&self.path, line, problem));
        let trial = match serde_json::from_str::<Trial>(text) {
            Ok(trial) => trial,
            // The process was killed while writing; the trial is run again.
            Err(error) if error.is_eof() => {
                self.notes.push(format!("{}, line {line}: unfinished trial skipped", self.path.display()));
                return Ok(());
            }
            Err(error) => return wrong(format!("not a trial: {error}")),
        };
        if trial.valid.iter().any(|valid| !(0.0..=1.0).contains(valid)) {
            return wrong(format!("not a trial: a metric of {:?}; expected 0 to 1", trial.valid));
        }
        if let Err(problem) = search.accepts(&trial) {
            return wrong(problem);
        }
        if !self.trials.iter().any(|known| (known.candidate, known.rung) == (trial.candidate, trial.rung)) {
            self.trials.push(trial);
        }
        Ok(())
    }

    /// Writes a finished trial.
    pub(super) fn push(&mut self, trial: &Trial) -> Result<()> {
        self.append(trial)?;
        self.trials.push(trial.clone());
        Ok(())
    }

    fn append(&mut self, content: &impl Serialize) -> Result<()> {
        let mut line = serde_json::to_string(content).expect("plain data can be written");
        line.push('\n');
        let file = &mut self.file;
        let mut write = || -> std::io::Result<()> {
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
        };
        write().map_err(Error::io(&self.path))
    }
}
