//! A trained model as one folder: weights, configuration, ids, metrics and a card. The same training writes the same
//! bytes; a damaged folder is refused.

use super::{Summary, Trained, card};
use crate::dataset::Ids;
use crate::error::{Error, Result};
use crate::model::catalog::Hyperparameters;
use crate::model::{Architecture, Dimensions, Model};
use crate::seeds::Seeds;
use crate::source::Source;
use crate::tensors::{self, Tensors};
use crate::train::{Config, Resolved};
use nigh_formats::atomic;
use nigh_formats::digest::sha256;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

const WEIGHTS: &str = "weights.safetensors";
const CONFIG: &str = "config.toml";
const IDS: &str = "ids.jsonl";
const MODEL: &str = "model.json";
const CARD: &str = "README.md";
/// In the format of `sha256sum`, which can check a folder as well.
const SUMS: &str = "SHA256SUMS";

/// The layout of the folder; a number that this program does not know is refused.
const FORMAT: u32 = 1;

/// Settings that earlier versions did not have, and what they did.
const BEFORE: &str = r#"
valid-negative-ratio = 1.0
test-negative-ratio = 1.0
mask-training-pairs = "none"
negatives-per-positive = 1
proximities = "exact"
longest-walk = 6
node-table = "none"
reconstruction = "none"
optimizer = "adam"
schedule = "step"
patience = 0
"#;

/// `model.json`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    format: u32,
    nigh: String,
    summary: Summary,
    /// How many nodes are called by their numbers; `null` when `ids.jsonl` lists their names.
    numbered_nodes: Option<usize>,
}

impl Trained {
    /// Writes the model as a new folder; it appears atomically.
    pub fn save(&self, folder: &Path) -> Result<()> {
        if folder.exists() {
            return Err(Error::file(folder, "exists already; a model is saved to a folder of its own"));
        }
        let partial = atomic::beside(folder, "partial");
        if partial.exists() {
            // Left by a process that was killed while it saved.
            std::fs::remove_dir_all(&partial).map_err(Error::io(&partial))?;
        }
        let result =
            self.write_files(&partial).and_then(|()| std::fs::rename(&partial, folder).map_err(Error::io(folder)));
        if result.is_err() {
            let _ = std::fs::remove_dir_all(&partial);
        }
        result
    }

    fn write_files(&self, folder: &Path) -> Result<()> {
        let entries = self.model.weights.entries().iter();
        let weights: Tensors = entries.map(|weight| (weight.name.clone(), weight.value.clone())).collect();
        let (numbered_nodes, ids) = match self.ids.as_ref() {
            Ids::Numbers(count) => (Some(*count), String::new()),
            ids => {
                let line = |name| serde_json::to_string(&name).expect("a name can be written") + "\n";
                (None, ids.iter().map(line).collect())
            }
        };
        let manifest = Manifest {
            format: FORMAT,
            nigh: env!("CARGO_PKG_VERSION").to_string(),
            summary: self.summary.clone(),
            numbered_nodes,
        };
        let json = serde_json::to_string_pretty(&manifest).expect("plain data can be written") + "\n";
        let contents: Vec<(&str, Vec<u8>)> = vec![
            (WEIGHTS, tensors::to_bytes(&weights, &[])),
            (CONFIG, toml::to_string(&self.config).expect("a configuration can be written").into_bytes()),
            (IDS, ids.into_bytes()),
            (MODEL, json.into_bytes()),
            (CARD, card::card(self).into_bytes()),
        ];
        let sums: String = contents.iter().map(|(name, bytes)| format!("{}  {name}\n", sha256(bytes))).collect();
        std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
        for (name, bytes) in contents.into_iter().chain([(SUMS, sums.into_bytes())]) {
            let path = folder.join(name);
            atomic::write(&path, &bytes).map_err(Error::io(&path))?;
        }
        Ok(())
    }

    /// Reads a folder that `save` wrote, and checks every byte of it.
    pub fn load(folder: &Path) -> Result<Trained> {
        Trained::read(folder, |config, dimensions| config.architecture(dimensions))
    }

    /// As `load`, for a model with the architecture of your own that it was trained with.
    pub fn load_with(folder: &Path, architecture: impl Fn(&Hyperparameters) -> Architecture) -> Result<Trained> {
        Trained::read(folder, |config, dimensions| {
            config.architecture_of(dimensions, |settings| Ok(architecture(settings)))
        })
    }

    fn read(
        folder: &Path,
        architecture: impl FnOnce(&Resolved, Dimensions) -> Result<Architecture>,
    ) -> Result<Trained> {
        let refused = |problem: String| Error::Artefact { path: folder.to_path_buf(), problem };
        if folder.is_file() {
            return Err(refused("is a file; expected the folder of a saved model".into()));
        }
        if !folder.is_dir() {
            return Err(refused("there is no such folder; expected the folder of a saved model".into()));
        }
        let read = |name: &str| {
            std::fs::read(folder.join(name)).map_err(|error| refused(format!("{name} can't be read: {error}")))
        };
        let manifest: Manifest =
            serde_json::from_slice(&read(MODEL)?).map_err(|error| refused(format!("{MODEL} is damaged: {error}")))?;
        if manifest.format != FORMAT {
            let format = manifest.format;
            return Err(refused(format!("format {format} was written by another version; this one reads {FORMAT}")));
        }
        let sums = String::from_utf8_lossy(&read(SUMS)?).into_owned();
        let checked = |name: &str| -> Result<Vec<u8>> {
            let bytes = read(name)?;
            if !sums.lines().any(|line| line == format!("{}  {name}", sha256(&bytes))) {
                return Err(refused(format!("{name} is damaged: its checksum is not the one in {SUMS}")));
            }
            Ok(bytes)
        };
        for name in [MODEL, CARD] {
            checked(name)?;
        }
        let text = |name: &str| -> Result<String> {
            String::from_utf8(checked(name)?).map_err(|_| refused(format!("{name} is damaged: not UTF-8 text")))
        };
        let table = text(CONFIG)?.parse::<toml::Table>();
        let mut table = table.map_err(|error| refused(format!("{CONFIG} is damaged: {error}")))?;
        for (name, value) in BEFORE.parse::<toml::Table>().expect("a table that ships is valid") {
            table.entry(name).or_insert(value);
        }
        let config = Config::from_table(table).and_then(Resolved::try_from);
        let config = config.map_err(|error| refused(format!("{CONFIG} is damaged: {error}")))?;
        let ids = match manifest.numbered_nodes {
            Some(count) => checked(IDS).map(|_| Ids::Numbers(count))?,
            None => {
                let line = |line: &str| serde_json::from_str(line);
                let names: std::result::Result<Vec<String>, _> = text(IDS)?.lines().map(line).collect();
                Ids::from_names(names.map_err(|error| refused(format!("{IDS} is damaged: {error}")))?)
            }
        };
        let summary = manifest.summary.clone();
        let run = summary.repeats.get(summary.chosen);
        let seed = run.ok_or_else(|| refused(format!("{MODEL} is damaged: the chosen repeat is missing")))?.seed;
        let (weights, _) =
            tensors::from_bytes(&checked(WEIGHTS)?).map_err(|problem| refused(format!("{WEIGHTS} {problem}")))?;
        // Before weights of such a size are made: a count that no weight in the file shows was never one of this model.
        let architecture = architecture(&config, summary.dimensions())?;
        let longest = weights.values().flat_map(|weight| weight.shape()).max().unwrap_or(0);
        let knows_labels = !config.task.is_about_pairs() && architecture.uses(Source::Labels);
        let knows_ids = architecture.uses(Source::OneHot) || knows_labels;
        let counts = [
            ("num_features", config.task.uses_features() && architecture.uses(Source::Features), summary.num_features),
            ("largest_graph", knows_ids, summary.largest_graph),
        ];
        if let Some((name, _, count)) = counts.into_iter().find(|&(_, counts, count)| counts && count > longest) {
            return Err(refused(format!("{MODEL} is damaged: {name} is {count}, and no weight is that long")));
        }
        let mut model = Model::build(architecture, config.shape(summary.dimensions()), Seeds::new(seed))?;
        for weight in model.weights.entries_mut() {
            let name = &weight.name;
            let value = weights.get(name).ok_or_else(|| refused(format!("{WEIGHTS} has no weight `{name}`")))?;
            if value.shape() != weight.value.shape() {
                let ([a, b], [c, d]) = (value.shape(), weight.value.shape());
                return Err(refused(format!("{WEIGHTS}: `{name}` is {a} × {b}, the model needs {c} × {d}")));
            }
            weight.value = value.clone();
        }
        Ok(Trained { config, summary, ids: ids.into(), millis_per_epoch: None, model })
    }

    /// Where the checkpoint of a training for `folder` is kept until the folder is complete.
    pub fn checkpoint_beside(folder: &Path) -> PathBuf {
        atomic::beside(folder, "checkpoint")
    }
}
