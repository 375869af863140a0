//! Where a training was when its process ended. Randomness has an address, so weights, optimiser and counters are all
//! there is to keep.

use super::{Adam, Best, Config, Evaluation, Job, Run, State, Trainer};
use crate::atomic;
use crate::dataset::Dataset;
use crate::digest;
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::tensors::{self, Tensors};
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A file that a training writes now and then, and from which it goes on.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    path: PathBuf,
    every: Every,
}

/// A checkpoint at work for one training.
#[derive(Debug)]
pub(super) struct CheckpointWriter<'a> {
    checkpoint: &'a Checkpoint,
    /// Of configuration and data, which do not change while they are trained.
    fingerprint: String,
    written: Cell<Instant>,
    /// How long the last write took.
    cost: Cell<Duration>,
}

#[derive(Debug, Clone, Copy)]
enum Every {
    Epochs(usize),
    Time(Duration),
}

/// What stands beside the matrices.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    /// Of configuration and data: a checkpoint continues nothing else.
    fingerprint: String,
    runs: Vec<Run>,
    current: Option<Current>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Current {
    epoch: usize,
    steps: u64,
    best: Option<Evaluation>,
    curve: Vec<Evaluation>,
}

impl Checkpoint {
    /// Written every few seconds.
    pub fn new(path: impl Into<PathBuf>) -> Checkpoint {
        Checkpoint { path: path.into(), every: Every::Time(Duration::from_secs(3)) }
    }

    /// Written every so many epochs.
    pub fn every_epochs(self, epochs: usize) -> Checkpoint {
        Checkpoint { every: Every::Epochs(epochs), ..self }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn writer(&self, config: &Config, dataset: &Dataset) -> CheckpointWriter<'_> {
        let mut text = toml::to_string(config).expect("a configuration can be written");
        for sample in &dataset.samples {
            text += &sample.graph.digest();
            text += &sample.features.digest();
            let labels = sample.labels.iter().flat_map(|labels| labels.iter());
            let labels: Vec<u8> = labels.flat_map(|label| label.unwrap_or(u32::MAX).to_le_bytes()).collect();
            text += &digest::sha256(&labels);
        }
        text += &format!("{:?} {:?} {:?}", dataset.class_names, dataset.paper_defaults, dataset.fixed_split);
        let fingerprint = digest::sha256(text.as_bytes());
        CheckpointWriter { checkpoint: self, fingerprint, written: Cell::new(Instant::now()), cost: Cell::default() }
    }
}

impl CheckpointWriter<'_> {
    pub(super) fn save_if_due(&self, job: &Job, trainer: &Trainer<'_>) -> Result<()> {
        let due = match self.checkpoint.every {
            Every::Epochs(epochs) => trainer.epoch.is_multiple_of(epochs),
            // Writing must not take more than a twentieth of the time.
            Every::Time(time) => self.written.get().elapsed() >= time.max(20 * self.cost.get()),
        };
        if due { self.save(job, Some(trainer)) } else { Ok(()) }
    }

    pub(super) fn save(&self, job: &Job, trainer: Option<&Trainer<'_>>) -> Result<()> {
        let started = Instant::now();
        let mut tensors = Tensors::new();
        let mut put = |group: &str, matrices: &mut dyn Iterator<Item = &Matrix>| {
            for (at, matrix) in matrices.enumerate() {
                tensors.insert(format!("{group}/{at:04}"), matrix.clone());
            }
        };
        put("best-repeat", &mut job.best_weights.iter());
        let current = trainer.map(|trainer| {
            put("weights", &mut trainer.model.weights.entries().iter().map(|weight| &weight.value));
            put("first", &mut trainer.adam.first.iter());
            put("second", &mut trainer.adam.second.iter());
            put("best", &mut trainer.best.iter().flat_map(|best| &best.weights));
            let best = trainer.best.as_ref();
            Current {
                epoch: trainer.epoch,
                steps: trainer.adam.steps,
                best: best.map(|best| Evaluation { epoch: best.epoch, loss: 0.0, valid: best.valid, test: best.test }),
                curve: trainer.curve.clone(),
            }
        });
        let header = Header { fingerprint: self.fingerprint.clone(), runs: job.runs.clone(), current };
        let text = serde_json::to_string(&header).expect("plain data can be written");
        let bytes = tensors::to_bytes(&tensors, &[("nigh", &text)]);
        let path = &self.checkpoint.path;
        atomic::write_as_only_writer(path, &bytes).map_err(Error::io(path))?;
        self.cost.set(started.elapsed());
        self.written.set(Instant::now());
        Ok(())
    }

    /// Fills `job` with the repeats that have ended and returns the state of the one that had not.
    pub(super) fn load(&self, config: &Config, dataset: &Dataset, job: &mut Job) -> Result<Option<State>> {
        if !self.checkpoint.path.exists() {
            return Ok(None);
        }
        let (mut tensors, notes) = tensors::read(&self.checkpoint.path)?;
        let damaged =
            |problem: &str| Error::file(&self.checkpoint.path, format!("is not a usable checkpoint: {problem}"));
        let header: Header = notes
            .get("nigh")
            .and_then(|text| serde_json::from_str(text).ok())
            .ok_or_else(|| damaged("its header can't be read"))?;
        if header.fingerprint != self.fingerprint {
            return Err(Error::file(
                &self.checkpoint.path,
                "belongs to a training with other settings or data; repeat those, or remove it and start anew",
            ));
        }
        let mut take = |group: &str| -> Vec<Matrix> {
            let prefix = format!("{group}/");
            let names: Vec<String> = tensors.keys().filter(|name| name.starts_with(&prefix)).cloned().collect();
            names.iter().filter_map(|name| tensors.remove(name)).collect()
        };
        let expected: Vec<[usize; 2]> =
            super::build(dataset, config, config.seed)?.weights.entries().iter().map(|w| w.value.shape()).collect();
        let mut checked = |group: &str| -> Result<Vec<Matrix>> {
            let matrices = take(group);
            let fits = matrices.iter().map(Matrix::shape).eq(expected.iter().copied());
            if fits { Ok(matrices) } else { Err(damaged(&format!("the matrices of `{group}` do not fit the model"))) }
        };
        if !header.runs.is_empty() {
            job.best_weights = checked("best-repeat")?;
        }
        job.runs = header.runs;
        let Some(current) = header.current else { return Ok(None) };
        let best = match current.best {
            Some(best) => {
                Some(Best { epoch: best.epoch, valid: best.valid, test: best.test, weights: checked("best")? })
            }
            None => None,
        };
        let adam = Adam { steps: current.steps, first: checked("first")?, second: checked("second")? };
        Ok(Some(State { epoch: current.epoch, weights: checked("weights")?, adam, best, curve: current.curve }))
    }
}
