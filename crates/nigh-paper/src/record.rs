//! Records of finished repeats: a line of JSON each, written as soon as the repeat ends.

use crate::cell::Cell;
use crate::journal::append_line;
use nigh::metric::Metrics;
use nigh::train::Evaluation;
use nigh::{Config, Error, Result};
use nigh_formats::digest;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Read;
use std::path::{Path, PathBuf};

/// One repeat of one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Dataset and settings: `Cell::address`.
    pub cell: BTreeMap<String, serde_json::Value>,
    /// Random seed of the repeat.
    pub seed: u64,
    /// The test metric at the epoch with the best validation metric.
    pub test: f64,
    /// The best validation metric.
    pub valid: f64,
    /// That epoch, counted from one.
    pub best_epoch: usize,
    /// Fingerprint of the split.
    pub split: String,
    /// Time per epoch, evaluations included.
    pub millis_per_epoch: f64,
    /// Peak memory, if the system reports it.
    pub peak_bytes: Option<u64>,
    /// Number of threads.
    pub threads: usize,
    /// Version of the program.
    pub version: String,
    /// Every setting, resolved.
    pub config: Config,
    /// The learning curve.
    pub curve: Curve,
    /// AUC of the cosines of vectors alone: [`nigh::Run::vectors_auc`]. Records of earlier versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vectors_auc: Option<f64>,
    /// Their rank correlation with the scores: [`nigh::Run::agreement`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement: Option<f64>,
    /// Every metric of the task on the test part, in comparisons: [`nigh::Run::metrics`].
    #[serde(default, skip_serializing_if = "Metrics::is_empty")]
    pub metrics: Metrics,
}

impl Record {
    /// What is wrong with the figures of a record that was read.
    pub(crate) fn check(&self) -> Option<String> {
        let Record { test, valid, .. } = self;
        let is_fraction = |value: &f64| (0.0..=1.0).contains(value);
        (!is_fraction(test) || !is_fraction(valid)).then(|| format!("test {test}, valid {valid}; expected 0 to 1"))
    }
}

/// The evaluations of a training, every `every` epochs and at the end, to four decimals. The first epoch is left out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Curve {
    /// Epochs between two evaluations.
    pub every: usize,
    /// Training loss.
    pub loss: Vec<f64>,
    /// Validation metric.
    pub valid: Vec<f64>,
    /// Test metric.
    pub test: Vec<f64>,
}

impl Curve {
    pub(crate) fn of(every: usize, evaluations: &[Evaluation]) -> Curve {
        let last = evaluations.last().map(|evaluation| evaluation.epoch);
        // The first epoch is always evaluated; it is on the curve only if the step says so.
        let on_curve = |e: &&Evaluation| e.epoch.is_multiple_of(every) || Some(e.epoch) == last;
        let rounded = |value: fn(&Evaluation) -> f64| {
            evaluations.iter().filter(on_curve).map(|evaluation| (value(evaluation) * 1e4).round() / 1e4).collect()
        };
        Curve { every, loss: rounded(|e| e.loss), valid: rounded(|e| e.valid), test: rounded(|e| e.test) }
    }
}

/// A folder of records: one JSON Lines file per dataset.
#[derive(Debug, Clone)]
pub struct Store {
    folder: PathBuf,
}

/// The exclusive right to run a repeat. The system releases it when it is dropped or the process ends.
#[derive(Debug)]
pub struct RunLock(#[expect(dead_code, reason = "the lock is held while the file is open")] File);

/// Records, indexed by cell and seed.
#[derive(Debug, Default)]
pub struct RecordSet {
    of_cells: HashMap<String, BTreeMap<u64, Record>>,
    /// Notes about lines that were skipped.
    pub notes: Vec<String>,
}

impl RecordSet {
    /// The repeats of a cell, in the order of its seeds.
    pub fn of(&self, cell: &Cell) -> impl Iterator<Item = &Record> {
        let of_cell = self.of_cells.get(&key(&cell.address()));
        cell.seeds().filter_map(move |seed| of_cell?.get(&seed))
    }

    /// Whether a repeat has been run.
    pub fn has(&self, cell: &Cell, seed: u64) -> bool {
        self.of_cells.get(&key(&cell.address())).is_some_and(|repeats| repeats.contains_key(&seed))
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.of_cells.values().map(BTreeMap::len).sum()
    }

    /// Whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.of_cells.is_empty()
    }

    fn add(&mut self, path: &Path) -> Result<()> {
        let mut file = nigh_formats::open_regular(path)?;
        let mut read = || {
            // Waits for a process that is writing.
            file.lock_shared()?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).map(|_| bytes)
        };
        let bytes = read().map_err(Error::io(path))?;
        // An unfinished line may end within a character.
        let text = String::from_utf8_lossy(&bytes);
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
            match serde_json::from_str::<Record>(line) {
                Ok(record) => {
                    if let Some(problem) = record.check() {
                        return Err(Error::line(path, at + 1, format!("not a record of a repeat: {problem}")));
                    }
                    self.of_cells.entry(key(&record.cell)).or_default().entry(record.seed).or_insert(record);
                }
                // The process was killed while writing; the repeat is run again.
                Err(error) if error.is_eof() => {
                    self.notes.push(format!("{}, line {}: unfinished record skipped", path.display(), at + 1));
                }
                Err(error) => return Err(Error::line(path, at + 1, format!("not a record of a repeat: {error}"))),
            }
        }
        Ok(())
    }
}

fn key(address: &BTreeMap<String, serde_json::Value>) -> String {
    serde_json::to_string(address).expect("settings can be written")
}

impl Store {
    /// Records in this folder, which need not exist yet.
    pub fn new(folder: &Path) -> Store {
        Store { folder: folder.to_path_buf() }
    }

    /// All records. If a repeat has several, the first counts.
    pub fn read(&self) -> Result<RecordSet> {
        let mut found = RecordSet::default();
        let mut paths = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(found),
            entries => entries
                .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>())
                .map_err(Error::io(&self.folder))?,
        };
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
        paths.sort();
        paths.iter().try_for_each(|path| found.add(path))?;
        Ok(found)
    }

    /// Whether a repeat has a record by now, written by any process.
    pub fn has(&self, cell: &Cell, seed: u64) -> Result<bool> {
        let (path, mut found) = (self.path(&cell.dataset), RecordSet::default());
        if path.exists() {
            found.add(&path)?;
        }
        Ok(found.has(cell, seed))
    }

    /// The file with the records of a dataset.
    fn path(&self, dataset: &str) -> PathBuf {
        let name: String = dataset.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        self.folder.join(format!("{name}.jsonl"))
    }

    /// Appends a record. Several processes may append at the same time.
    pub fn append(&self, record: &Record) -> Result<()> {
        let dataset = record.cell.get("dataset").and_then(|name| name.as_str()).unwrap_or("other");
        let path = self.path(dataset);
        let write = || -> std::io::Result<()> {
            fs::create_dir_all(&self.folder)?;
            let mut file = OpenOptions::new().create(true).append(true).read(true).open(&path)?;
            file.lock()?;
            append_line(&mut file, record)
        };
        write().map_err(Error::io(&path))
    }

    /// Locks a repeat; `None` if another process is running it.
    pub fn try_lock(&self, cell: &Cell, seed: u64) -> Result<Option<RunLock>> {
        let folder = self.folder.join(".locks");
        let name = digest::sha256(format!("{} {seed}", key(&cell.address())).as_bytes());
        let path = folder.join(&name[..16]);
        let open = || {
            fs::create_dir_all(&folder).and_then(|()| {
                // Nothing is ever in it, and nothing that a link leads to may be lost.
                OpenOptions::new().write(true).create(true).truncate(false).open(&path)
            })
        };
        let file = open().map_err(Error::io(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(RunLock(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(Error::io(&path)(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Experiment, measure};
    use nigh::{Dataset, Silent};

    fn cell() -> Cell {
        Experiment::named("poc").unwrap().with(Some(3), Some(2)).unwrap().cell(1, 0).unwrap()
    }

    fn record(seed: u64) -> Record {
        let cell = cell();
        measure(&cell, &Dataset::built_in(&cell.dataset).unwrap(), seed, "0", &mut Silent).unwrap()
    }

    #[test]
    fn records_are_read_back_to_the_last_bit() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(&folder.path().join("results"));
        assert!(store.read().unwrap().is_empty());
        let records = [record(1), record(2)];
        records.iter().for_each(|record| store.append(record).unwrap());
        store.append(&Record { test: 0.0, ..records[0].clone() }).unwrap();
        let other = Store::new(&folder.path().join("other"));
        other.append(&Record { test: 53.4, ..records[0].clone() }).unwrap();
        assert!(other.read().unwrap_err().to_string().contains("test 53.4"));
        let found = store.read().unwrap();
        // The first record of a repeat counts.
        assert_eq!(found.of(&cell()).cloned().collect::<Vec<_>>(), records);
        assert!(found.has(&cell(), 2) && !found.has(&cell(), 3) && store.has(&cell(), 1).unwrap());
    }

    #[test]
    fn an_unfinished_line_leaves_other_records_readable() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(&folder.path().join("results"));
        let path = folder.path().join("results/leaders-community.jsonl");
        store.append(&record(1)).unwrap();
        let whole = fs::read_to_string(&path).unwrap();
        // The writer may be killed anywhere.
        for end in [1, whole.len() / 2, whole.len() - 2] {
            fs::write(&path, format!("{whole}{}", &whole[..end])).unwrap();
            assert_eq!(store.read().unwrap().notes.len(), 1, "{end}");
            store.append(&record(2)).unwrap();
            let found = store.read().unwrap();
            assert_eq!((found.len(), found.notes.len()), (2, 1), "{end}");
        }
    }

    #[test]
    fn one_process_at_a_time_runs_a_repeat() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(&folder.path().join("results"));
        let held = store.try_lock(&cell(), 1).unwrap();
        assert!(held.is_some());
        assert!(store.try_lock(&cell(), 1).unwrap().is_none());
        assert!(store.try_lock(&cell(), 2).unwrap().is_some());
        drop(held);
        assert!(store.try_lock(&cell(), 1).unwrap().is_some());
    }
}
