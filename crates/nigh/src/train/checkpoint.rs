//! The state of a training in a file, to resume from. Randomness has an address, so weights, optimiser and counters are all
//! there is to keep.

use super::trainer::{Best, Snapshot, State};
use super::{Adam, EndedRepeats, Evaluation, Job, Run, Splits};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::models::Model;
use crate::tensors::{self, Tensors};
use nigh_formats::atomic;
use nigh_formats::digest;
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A file that a training writes regularly, and from which it resumes.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    path: PathBuf,
    every: Every,
}

/// Writes and reads the checkpoint of one training.
#[derive(Debug)]
pub(super) struct CheckpointWriter<'a> {
    checkpoint: &'a Checkpoint,
    /// Of configuration and data, which do not change during training.
    fingerprint: String,
    last_written: Cell<Instant>,
    last_duration: Cell<Duration>,
}

#[derive(Debug, Clone, Copy)]
enum Every {
    Epochs(usize),
    Time(Duration),
}

/// Metadata beside the matrices.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    /// Of configuration and data: no other training resumes from it.
    fingerprint: String,
    runs: Vec<Run>,
    current: Option<Current>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Current {
    epoch: usize,
    steps: u64,
    best: Option<Evaluation>,
    /// What the best epoch was chosen by.
    #[serde(rename = "best_worth")]
    best_selection_score: Option<f64>,
    /// The epoch since which no selection score was higher.
    best_since: Option<usize>,
    curve: Vec<Evaluation>,
}

impl Checkpoint {
    /// Written every few seconds.
    pub fn new(path: impl Into<PathBuf>) -> Checkpoint {
        Checkpoint { path: path.into(), every: Every::Time(Duration::from_secs(3)) }
    }

    /// Written every `epochs` epochs.
    pub fn every_epochs(self, epochs: usize) -> Checkpoint {
        Checkpoint { every: Every::Epochs(epochs), ..self }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn writer(&self, job: &Job<'_>) -> CheckpointWriter<'_> {
        let (fingerprint, now) = (fingerprint(job), Cell::new(Instant::now()));
        CheckpointWriter { checkpoint: self, fingerprint, last_written: now, last_duration: Cell::default() }
    }
}

/// Of everything that decides about the result of a training.
fn fingerprint(job: &Job<'_>) -> String {
    let Job { dataset, config, splits, .. } = job;
    let mut text = toml::to_string(config).expect("a configuration can be written");
    for sample in &dataset.samples {
        text += &sample.graph.digest();
        text += &sample.features.digest();
        let labels = sample.labels.iter().flat_map(|labels| labels.iter());
        let labels: Vec<u8> = labels.flat_map(|label| label.unwrap_or(u32::MAX).to_le_bytes()).collect();
        text += &digest::sha256(&labels);
        if let Some(sets) = &sample.label_sets {
            let (starts, classes) = sets.parts();
            let sets: Vec<u8> = starts.iter().chain(classes).flat_map(|number| number.to_le_bytes()).collect();
            text += &digest::sha256(&sets);
        }
    }
    let rest = (&dataset.class_names, &dataset.paper_defaults, &dataset.fixed_split);
    text += &serde_json::to_string(&rest).expect("plain data can be written");
    if let Splits::Given(split) = splits {
        text += &split.digest();
    }
    digest::sha256(text.as_bytes())
}

impl CheckpointWriter<'_> {
    pub(super) fn save_if_due(&self, ended: &EndedRepeats, current: &Snapshot<'_>) -> Result<()> {
        let due = match self.checkpoint.every {
            Every::Epochs(epochs) => current.epoch.is_multiple_of(epochs),
            // Writing must not take more than a twentieth of the time.
            Every::Time(time) => self.last_written.get().elapsed() >= time.max(20 * self.last_duration.get()),
        };
        if due { self.save(ended, Some(current)) } else { Ok(()) }
    }

    pub(super) fn save(&self, ended: &EndedRepeats, current: Option<&Snapshot<'_>>) -> Result<()> {
        let started = Instant::now();
        let mut tensors = Tensors::new();
        let mut put = |group: &str, matrices: &mut dyn Iterator<Item = &Matrix>| {
            for (at, matrix) in matrices.enumerate() {
                tensors.insert(format!("{group}/{at:04}"), matrix.clone());
            }
        };
        put("best-repeat", &mut ended.best_weights.iter());
        let current = current.map(|current| {
            put("weights", &mut current.weights.entries().iter().map(|weight| &weight.value));
            put("first", &mut current.adam.first.iter());
            put("second", &mut current.adam.second.iter());
            put("best", &mut current.best.iter().flat_map(|best| &best.weights));
            let best = current.best;
            Current {
                epoch: current.epoch,
                steps: current.adam.steps,
                best: best.map(|best| Evaluation { epoch: best.epoch, loss: 0.0, valid: best.valid, test: best.test }),
                best_selection_score: best.map(|best| best.selection_score),
                best_since: best.map(|best| best.since),
                curve: current.curve.to_vec(),
            }
        });
        let header = Header { fingerprint: self.fingerprint.clone(), runs: ended.runs.clone(), current };
        let text = serde_json::to_string(&header).expect("plain data can be written");
        let bytes = tensors::to_bytes(&tensors, &[("nigh", &text)]);
        let path = &self.checkpoint.path;
        atomic::write_as_only_writer(path, &bytes).map_err(Error::io(path))?;
        self.last_duration.set(started.elapsed());
        self.last_written.set(Instant::now());
        Ok(())
    }

    /// Fills `ended` with the repeats that have ended and returns the state of the one that had not. `model` is any of the
    /// training.
    pub(super) fn load(&self, model: &Model, ended: &mut EndedRepeats) -> Result<Option<State>> {
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
                "belongs to a training with other settings or data; repeat those, or remove it to start over",
            ));
        }
        let mut take = |group: &str| -> Vec<Matrix> {
            let prefix = format!("{group}/");
            let names: Vec<String> = tensors.keys().filter(|name| name.starts_with(&prefix)).cloned().collect();
            names.iter().filter_map(|name| tensors.remove(name)).collect()
        };
        let expected: Vec<[usize; 2]> = model.weights.entries().iter().map(|weight| weight.value.shape()).collect();
        let mut checked = |group: &str| -> Result<Vec<Matrix>> {
            let matrices = take(group);
            let fits = matrices.iter().map(Matrix::shape).eq(expected.iter().copied());
            if fits { Ok(matrices) } else { Err(damaged(&format!("the matrices of `{group}` do not fit the model"))) }
        };
        if !header.runs.is_empty() {
            ended.best_weights = checked("best-repeat")?;
        }
        ended.runs = header.runs;
        let Some(current) = header.current else { return Ok(None) };
        let best = match current.best {
            Some(Evaluation { epoch, valid, test, .. }) => {
                let (selection_score, since) =
                    (current.best_selection_score.unwrap_or(valid), current.best_since.unwrap_or(epoch));
                Some(Best { epoch, valid, test, selection_score, since, weights: checked("best")?, reported: None })
            }
            None => None,
        };
        let adam = Adam { steps: current.steps, first: checked("first")?, second: checked("second")? };
        Ok(Some(State { epoch: current.epoch, weights: checked("weights")?, adam, best, curve: current.curve }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Dataset;
    use crate::models::Dimensions;
    use crate::seeds::Seeds;
    use crate::train::Config;

    fn writer<'a>(checkpoint: &'a Checkpoint, fingerprint: &str) -> CheckpointWriter<'a> {
        let now = Cell::new(Instant::now());
        let fingerprint = fingerprint.to_string();
        CheckpointWriter { checkpoint, fingerprint, last_written: now, last_duration: Cell::default() }
    }

    #[test]
    fn a_state_comes_back_as_it_was_and_to_its_own_training_alone() {
        let dataset = Dataset::built_in("communities").unwrap();
        let config = Config { model: "sgc".into(), ..Config::default() }.resolve(&dataset).unwrap();
        let dimensions = Dimensions::of(&dataset);
        let architecture = config.architecture(dimensions).unwrap();
        let model = Model::build(architecture, config.shape(dimensions), Seeds::new(1)).unwrap();
        let values: Vec<Matrix> = model.weights.entries().iter().map(|weight| weight.value.clone()).collect();
        let adam = Adam { steps: 70, ..Adam::new(&model.weights) };
        let best = Best {
            epoch: 9,
            valid: 0.8,
            test: 0.7,
            selection_score: 0.3,
            since: 4,
            weights: values.clone(),
            reported: None,
        };
        let curve = [Evaluation { epoch: 9, loss: 0.5, valid: 0.8, test: 0.7 }];
        let now = Snapshot { epoch: 10, weights: &model.weights, adam: &adam, best: Some(&best), curve: &curve };
        let folder = tempfile::tempdir().unwrap();
        let checkpoint = Checkpoint::new(folder.path().join("state"));
        writer(&checkpoint, "ours").save(&EndedRepeats::default(), Some(&now)).unwrap();

        let read = writer(&checkpoint, "ours").load(&model, &mut EndedRepeats::default()).unwrap().unwrap();
        assert_eq!((read.epoch, read.adam.steps, &read.curve[..]), (10, 70, &curve[..]));
        assert_eq!((read.weights, read.adam.first), (values.clone(), adam.first));
        let found = read.best.unwrap();
        assert_eq!((found.epoch, found.valid, found.test, found.selection_score, found.since), (9, 0.8, 0.7, 0.3, 4));
        assert_eq!(found.weights, values);
        let other = writer(&checkpoint, "theirs").load(&model, &mut EndedRepeats::default());
        assert!(other.err().unwrap().to_string().contains("other settings or data"));
    }
}
