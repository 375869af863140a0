//! A trained model as one folder: weights, configuration, ids, metrics and a card. The same training writes the same
//! bytes; a damaged folder is refused.

use super::{Summary, Trained, card};
use crate::dataset::Ids;
use crate::error::{Error, Result};
use crate::models::catalog::Hyperparameters;
use crate::models::{Architecture, Dimensions, Model};
use crate::seeds::Seeds;
use crate::source::Source;
use crate::tape::{Weight, Weights};
use crate::tensors::{self, Tensors};
use crate::train::{Config, Resolved};
use nigh_formats::digest::{hex, sha256};
use nigh_formats::{MAX_BYTES, Texts, atomic, bundle};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashSet};
use std::io::{BufRead, BufReader, Read};
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

/// No file of text but the lists of names is longer.
const MOST_TEXT: u64 = 1 << 20;

/// No id is longer.
const LONGEST_ID: u64 = 1 << 20;

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
        atomic::create_folder_afresh(&partial).map_err(Error::io(&partial))?;
        let result =
            self.write_files(&partial).and_then(|()| std::fs::rename(&partial, folder).map_err(Error::io(folder)));
        if result.is_err() {
            let _ = std::fs::remove_dir_all(&partial);
        }
        result
    }

    /// The files of the folder in one archive, a zip without compression.
    ///
    /// ```
    /// use nigh::{Config, Dataset, Trained, Training};
    ///
    /// let dataset = Dataset::built_in("communities")?;
    /// let config = Config { epochs: 3.into(), repeats: 1, ..Config::default() };
    /// let trained = Training::new(&dataset, config)?.run()?;
    /// let bytes = trained.to_bytes();
    /// assert_eq!(Trained::from_bytes(&bytes)?.to_bytes(), bytes);
    /// # Ok::<(), nigh::Error>(())
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        bundle::pack(&self.files())
    }

    /// Reads what `to_bytes` wrote, and checks every byte of it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Trained> {
        let name = Path::new("model in memory");
        let files = bundle::unpack(bytes);
        let files = files.map_err(|problem| Error::Artefact { path: name.to_path_buf(), problem })?;
        Trained::read(name, &Files::Memory(files), |config, dimensions| config.architecture(dimensions))
    }

    fn write_files(&self, folder: &Path) -> Result<()> {
        for (name, bytes) in self.files() {
            let path = folder.join(name);
            atomic::write(&path, &bytes).map_err(Error::io(&path))?;
        }
        Ok(())
    }

    /// Names and contents.
    fn files(&self) -> Vec<(&'static str, Vec<u8>)> {
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
        let mut contents: Vec<(&str, Vec<u8>)> = vec![
            (WEIGHTS, tensors::to_bytes(&weights, &[])),
            (CONFIG, toml::to_string(&self.config).expect("a configuration can be written").into_bytes()),
            (IDS, ids.into_bytes()),
            (MODEL, json.into_bytes()),
            (CARD, card::card(self).into_bytes()),
        ];
        let sums: String = contents.iter().map(|(name, bytes)| format!("{}  {name}\n", sha256(bytes))).collect();
        contents.push((SUMS, sums.into_bytes()));
        contents
    }

    /// Reads a folder that `save` wrote, and checks every byte of it.
    pub fn load(folder: &Path) -> Result<Trained> {
        Trained::read_folder(folder, |config, dimensions| config.architecture(dimensions))
    }

    /// As `load`, for a model with the architecture of your own that it was trained with.
    pub fn load_with(folder: &Path, architecture: impl Fn(&Hyperparameters) -> Architecture) -> Result<Trained> {
        Trained::read_folder(folder, |config, dimensions| {
            config.architecture_of(dimensions, |settings| Ok(architecture(settings)))
        })
    }

    fn read_folder(
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
        Trained::read(folder, &Files::Folder(folder), architecture)
    }

    /// `name` stands in messages.
    fn read(
        name: &Path,
        files: &Files<'_>,
        architecture: impl FnOnce(&Resolved, Dimensions) -> Result<Architecture>,
    ) -> Result<Trained> {
        let refused = |problem: String| Error::Artefact { path: name.to_path_buf(), problem };
        let unreadable = |name: &str, error: nigh_formats::Error| {
            refused(match error {
                nigh_formats::Error::Io { source, .. } => format!("{name} can't be read: {source}"),
                nigh_formats::Error::File { problem, .. } => format!("{name} {problem}"),
                other => other.to_string(),
            })
        };
        let read = |name: &str, most: u64| files.read(name, most).map_err(|error| unreadable(name, error));
        let manifest: Manifest = serde_json::from_slice(&read(MODEL, MAX_BYTES)?)
            .map_err(|error| refused(format!("{MODEL} is damaged: {error}")))?;
        if manifest.format != FORMAT {
            let format = manifest.format;
            return Err(refused(format!("format {format} was written by another version; this one reads {FORMAT}")));
        }
        let summary = manifest.summary.clone();
        summary.check_names().map_err(|problem| refused(format!("{MODEL} is damaged: {problem}")))?;
        let sums = String::from_utf8_lossy(&read(SUMS, MOST_TEXT)?).into_owned();
        let check = |name: &str, sum: &str| match sums.lines().any(|line| line == format!("{sum}  {name}")) {
            true => Ok(()),
            false => Err(refused(format!("{name} is damaged: its checksum is not the one in {SUMS}"))),
        };
        let checked = |name: &str, most: u64| -> Result<Vec<u8>> {
            let bytes = read(name, most)?;
            check(name, &sha256(&bytes))?;
            Ok(bytes)
        };
        checked(MODEL, MAX_BYTES)?;
        checked(CARD, MOST_TEXT)?;
        let text = String::from_utf8(checked(CONFIG, MOST_TEXT)?);
        let text = text.map_err(|_| refused(format!("{CONFIG} is damaged: not UTF-8 text")))?;
        let table = text.parse::<toml::Table>();
        let mut table = table.map_err(|error| refused(format!("{CONFIG} is damaged: {error}")))?;
        for (name, value) in BEFORE.parse::<toml::Table>().expect("a table that ships is valid") {
            table.entry(name).or_insert(value);
        }
        let config = Config::from_table(table).and_then(Resolved::try_from);
        let config = config.map_err(|error| refused(format!("{CONFIG} is damaged: {error}")))?;
        let ids = match manifest.numbered_nodes {
            // Of several graphs none is known.
            Some(count) if count == 0 || count == summary.num_nodes => checked(IDS, 0).map(|_| Ids::Numbers(count))?,
            Some(count) => {
                let nodes = summary.num_nodes;
                return Err(refused(format!("{MODEL} is damaged: numbered_nodes is {count}, and num_nodes {nodes}")));
            }
            None => {
                let file = files.open(IDS).map_err(|error| unreadable(IDS, error))?.0;
                let (names, sum) =
                    read_ids(file, summary.num_nodes).map_err(|problem| refused(format!("{IDS} {problem}")))?;
                check(IDS, &sum)?;
                Ids::from_texts(names)
            }
        };
        let run = summary.repeats.get(summary.chosen);
        let seed = run.ok_or_else(|| refused(format!("{MODEL} is damaged: the chosen repeat is missing")))?.seed;
        // Before weights of such a size are made: a count beyond the numbers in the file was never one of this model.
        let architecture = architecture(&config, summary.dimensions())?;
        let length = files.open(WEIGHTS).map_err(|error| unreadable(WEIGHTS, error))?.1;
        let most = usize::try_from(length / 4).unwrap_or(usize::MAX);
        let knows_labels = !config.task.is_about_pairs() && architecture.uses(Source::Labels);
        let knows_ids = architecture.uses(Source::OneHot) || knows_labels;
        let counts = [
            ("num_features", config.task.uses_features() && architecture.uses(Source::Features), summary.num_features),
            ("largest_graph", knows_ids, summary.largest_graph),
        ];
        if let Some((name, _, count)) = counts.into_iter().find(|&(_, counts, count)| counts && count > most) {
            return Err(refused(format!("{MODEL} is damaged: {name} is {count}, and {WEIGHTS} has {most} numbers")));
        }
        let model = Model::build_within(architecture, config.shape(summary.dimensions()), Seeds::new(seed), most)?;
        let too_short = || format!("{WEIGHTS} is too short for the model that {MODEL} and {CONFIG} describe");
        let mut model = model.ok_or_else(|| refused(too_short()))?;
        let (weights, _) = tensors::from_bytes(&checked(WEIGHTS, longest_file(&model.weights))?)
            .map_err(|problem| refused(format!("{WEIGHTS} {problem}")))?;
        for weight in model.weights.entries_mut() {
            let name = &weight.name;
            let value = weights.get(name).ok_or_else(|| refused(format!("{WEIGHTS} has no weight `{name}`")))?;
            if value.shape() != weight.value.shape() {
                let ([a, b], [c, d]) = (value.shape(), weight.value.shape());
                return Err(refused(format!("{WEIGHTS}: `{name}` is {a} × {b}, the model needs {c} × {d}")));
            }
            weight.value = value.clone();
        }
        Ok(Trained { config, summary, ids: ids.into(), millis_per_epoch: None, model: model.into() })
    }

    /// Where the checkpoint of a training for `folder` is kept until the folder is complete.
    pub fn checkpoint_beside(folder: &Path) -> PathBuf {
        atomic::beside(folder, "checkpoint")
    }
}

/// Where the files of a model are.
enum Files<'a> {
    Folder(&'a Path),
    Memory(BTreeMap<String, Vec<u8>>),
}

impl Files<'_> {
    /// A file of at most this many bytes.
    fn read(&self, name: &str, most: u64) -> nigh_formats::Result<Vec<u8>> {
        match self {
            Files::Folder(folder) => nigh_formats::read_regular(&folder.join(name), most),
            Files::Memory(_) => {
                let (mut file, length) = self.open(name)?;
                if length > most {
                    let problem = format!("is {length} bytes long, expected at most {most}");
                    return Err(nigh_formats::Error::file(Path::new(name), problem));
                }
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes).map_err(nigh_formats::Error::io(Path::new(name)))?;
                Ok(bytes)
            }
        }
    }

    /// A file and its length.
    fn open(&self, name: &str) -> nigh_formats::Result<(Box<dyn Read + '_>, u64)> {
        match self {
            Files::Folder(folder) => {
                let file = nigh_formats::open_regular(&folder.join(name))?;
                let length = file.metadata().map_err(nigh_formats::Error::io(folder))?.len();
                Ok((Box::new(file), length))
            }
            Files::Memory(files) => {
                let missing = || nigh_formats::Error::file(Path::new(name), "is missing");
                let bytes = files.get(name).ok_or_else(missing)?;
                Ok((Box::new(&bytes[..]), bytes.len() as u64))
            }
        }
    }
}

impl Summary {
    /// Names that contradict a count or each other.
    fn check_names(&self) -> std::result::Result<(), String> {
        let (names, count) = (&self.feature_names, self.num_features);
        if !names.is_empty() && names.len() != count {
            return Err(format!("num_features is {count}, and there are {} feature_names", names.len()));
        }
        for (what, names) in [("feature_names", names), ("class_names", &self.class_names)] {
            let mut seen = HashSet::with_capacity(names.len());
            if let Some(twice) = names.iter().find(|name| !seen.insert(*name)) {
                return Err(format!("{what} has `{twice}` twice"));
            }
        }
        Ok(())
    }
}

/// The ids of this many nodes, a JSON text per line, and the checksum of the file. What is not such a file is read no further
/// than to its first wrong line.
fn read_ids(file: impl Read, num_nodes: usize) -> std::result::Result<(Texts, String), String> {
    let mut lines = BufReader::new(file);
    let (mut names, mut hash, mut line) = (Texts::default(), Sha256::new(), Vec::new());
    loop {
        line.clear();
        let read = lines.by_ref().take(LONGEST_ID).read_until(b'\n', &mut line);
        if read.map_err(|error| format!("can't be read: {error}"))? == 0 {
            break;
        }
        hash.update(&line);
        let name: String =
            serde_json::from_slice(&line).map_err(|error| format!("is damaged: line {}: {error}", names.len() + 1))?;
        if names.len() == num_nodes {
            return Err(format!("is damaged: it has more than the {num_nodes} ids of {MODEL}"));
        }
        names.push(&name);
    }
    match names.len() == num_nodes {
        true => Ok((names, hex(&hash.finalize()))),
        false => Err(format!("is damaged: it has {} ids, and {MODEL} says {num_nodes}", names.len())),
    }
}

/// How long a file of these weights is at most: four bytes a number, and a header that names them.
fn longest_file(weights: &Weights) -> u64 {
    let entry = |weight: &Weight| 4 * weight.value.data().len() + 2 * weight.name.len() + 256;
    weights.entries().iter().map(entry).sum::<usize>() as u64 + 1024
}
