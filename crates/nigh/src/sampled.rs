//! Training on sampled pairs in steps, each a function of files, so that they can run on different machines: edges are held out and
//! pairs drawn ([`hold_out`]), `Ã^K E` of the training graph is computed by columns
//! ([`Propagation::write_columns`](crate::propagation::Propagation::write_columns)), weights are learnt from the rows of those pairs ([`train()`]), and vectors are made
//! row by row ([`Trained::embed_rows`]). The model is that of one machine, byte by byte.

#[cfg(test)]
use crate::answer::Propagations;
use crate::answer::{Summary, Trained};
use crate::dataset::{Dataset, GraphStore, Ids, store_without};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::models::{Architecture, Dimensions, Model};
#[cfg(test)]
use crate::propagation::MatrixFile;
use crate::propagation::{GatheredRows, rows_at_a_time};
use crate::seeds::Seeds;
use crate::task::{DrawnPairs, EvaluationPairs, SampledPairs};
use crate::train::{
    self, Baseline, Config, HeldOut, Job, PreparedSplit, Reporting, RequiredNodes, Resolved, Silent, Splits,
};
use nigh_formats::interrupt::catch;
use nigh_formats::npy::NpyRows;
use nigh_formats::sections::{Plain, SectionWriter, Sections};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file with all pairs of one repeat, and all that is known of it before training.
#[derive(Debug)]
pub struct PairsFile {
    /// What is asked.
    pub held_out: HeldOut,
    /// The settings of the training.
    pub config: Resolved,
    data: Summary,
    path: PathBuf,
}

/// What is in the file beside numbers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct About {
    seed: u64,
    /// In TOML, as in the folder of a model.
    config: String,
    data: Summary,
    digest: String,
    baselines: Vec<Baseline>,
    pairs_per_epoch: usize,
}

/// The files that one repeat is trained from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepeatFiles {
    /// Of [`hold_out`].
    pub pairs: PathBuf,
    /// `Ã^K E` of the training graph by columns, in order: `.npy` files of all rows each.
    pub columns: Vec<PathBuf>,
    /// `Ã^K F` by columns, where [`PairsFile::propagations`] has it.
    pub features: Vec<PathBuf>,
}

/// Holds edges out for a repeat (0, 1, ...) of a training and draws all of its pairs. Writes the graph without the held-out edges, over
/// which messages pass, and a [`PairsFile`]. For models and settings that tasks can propagate.
pub fn hold_out(dataset: &Dataset, config: &Config, repeat: usize, graph: &Path, pairs: &Path) -> Result<()> {
    let config = config.clone().resolve(dataset)?;
    let dataset = &*config.node_features.seen(dataset);
    let architecture = config.architecture(Dimensions::of(dataset))?;
    if let Some(sample) = dataset.samples.first()
        && architecture.maps_first(&sample.graph, &sample.features).is_some()
    {
        return Err(Error::setting("features", sample.features.count(), TOO_WIDE));
    }
    config.check_rows(dataset, &architecture)?;
    if repeat >= config.repeats {
        return Err(Error::OutOfRange { what: "repeat", number: repeat, count: config.repeats });
    }
    let seed = config.seed + repeat as u64;
    let stored = |whole: &crate::Graph, hidden: &[[u32; 2]]| {
        store_without(whole, hidden, graph)?;
        Ok(GraphStore::open(graph)?.graph().clone())
    };
    let held_out = catch(|| HeldOut::new(dataset, &config, Reporting::default(), seed, stored))??.0;
    PairsFile { held_out, config, data: Summary::of_data(dataset), path: pairs.to_path_buf() }.write()
}

/// Trains all repeats, each from its files, and keeps the best. `ids` are those of the graph: of a graph file, [`GraphStore::ids`].
pub fn train(repeats: &[RepeatFiles], ids: Arc<Ids>) -> Result<Trained> {
    let Some(first) = repeats.first() else { return Err(Error::setting("repeats", 0, "expected 1 or more")) };
    let PairsFile { config, data, .. } = PairsFile::open(&first.pairs)?;
    if repeats.len() != config.repeats {
        let problem = format!("{} were prepared", repeats.len());
        return Err(Error::setting("repeats", config.repeats, problem));
    }
    if ids.len() != data.num_nodes {
        return Err(Error::OutOfRange { what: "node", number: ids.len(), count: data.num_nodes });
    }
    let architecture = config.architecture(data.dimensions())?;
    let prepared = |number: usize| -> Result<PreparedSplit> {
        let files = &repeats[number];
        let found = PairsFile::open(&files.pairs)?;
        if found.config != config || found.data != data || found.held_out.seed != config.seed + number as u64 {
            let problem = format!("is not repeat {number} of the training of {}", first.pairs.display());
            return Err(Error::file(&files.pairs, problem));
        }
        found.prepared(&architecture, files)
    };
    let (dimensions, splits) = (data.dimensions(), Splits::Prepared(&prepared));
    let reporting = Reporting::default();
    let execution = Arc::default();
    let job = Job {
        dataset: None,
        dimensions,
        config: &config,
        architecture: &architecture,
        splits,
        execution: &execution,
        reporting,
    };
    let outcome = catch(|| train::fit(&job, &mut Silent, None))??;
    Ok(Trained::on(data, ids, config, outcome))
}

impl PairsFile {
    /// Reads a file that [`hold_out`] wrote, and checks all of it.
    pub fn open(path: &Path) -> Result<PairsFile> {
        let sections = Sections::open(path)?;
        sections.verify()?;
        let about = section::<u8>(&sections, "about")?;
        let damaged = |problem: String| Error::file(path, format!("section `about` is damaged: {problem}"));
        let About { seed, config, data, digest, baselines, pairs_per_epoch } =
            serde_json::from_slice(&about).map_err(|error| damaged(error.to_string()))?;
        let table = config.parse().map_err(|error: toml::de::Error| damaged(error.message().to_string()))?;
        let config = Resolved::try_from(Config::from_table(table)?).map_err(|error| damaged(error.to_string()))?;
        let pairs = |name: &str| -> Result<Vec<[u32; 2]>> {
            let ends = section::<u32>(&sections, name)?;
            let (pairs, rest) = ends.as_chunks::<2>();
            match ends.iter().find(|&&end| end as usize >= data.num_nodes) {
                None if rest.is_empty() => Ok(pairs.to_vec()),
                None => Err(Error::file(path, format!("section `{name}` ends within a pair"))),
                Some(end) => Err(Error::file(path, format!("section `{name}` names node {end} of {}", data.num_nodes))),
            }
        };
        let asked = |part: &str| -> Result<EvaluationPairs> {
            let asked =
                EvaluationPairs::pooled(pairs(&format!("{part}-positive"))?, pairs(&format!("{part}-negative"))?);
            match asked.positive.is_empty() || asked.negative.is_empty() {
                false => Ok(asked),
                true => Err(Error::file(path, format!("has no pairs for the {part} part"))),
            }
        };
        let (positive, negative) = (pairs("train-positive")?, pairs("train-negative")?);
        let expected = config.epochs.checked_mul(pairs_per_epoch);
        let ratio = config.negatives_per_positive;
        if expected != Some(positive.len()) || positive.len().checked_mul(ratio) != Some(negative.len()) {
            return Err(Error::file(path, "has other numbers of training pairs than its settings"));
        }
        let train = DrawnPairs { per_epoch: pairs_per_epoch, positive, negative };
        let pairs = SampledPairs { train, valid: asked("valid")?, test: asked("test")? };
        let isolated = section(&sections, "isolated")?;
        let held_out = HeldOut { seed, pairs, isolated, digest, baselines };
        Ok(PairsFile { held_out, config, data, path: path.to_path_buf() })
    }

    fn write(&self) -> Result<()> {
        let HeldOut { seed, pairs: SampledPairs { train, valid, test }, isolated, digest, baselines } = &self.held_out;
        let about = About {
            seed: *seed,
            config: toml::to_string(&self.config).expect("a configuration can be written"),
            data: self.data.clone(),
            digest: digest.clone(),
            baselines: baselines.clone(),
            pairs_per_epoch: train.per_epoch,
        };
        let mut writer = SectionWriter::create(&self.path)?;
        writer.section("about")?;
        writer.write(&serde_json::to_vec(&about).expect("plain data can be written"))?;
        let RequiredNodes { train: of_train, evaluated } = self.nodes();
        for (name, numbers) in [
            ("train-positive", train.positive.as_flattened()),
            ("train-negative", train.negative.as_flattened()),
            ("valid-positive", valid.positive.as_flattened()),
            ("valid-negative", valid.negative.as_flattened()),
            ("test-positive", test.positive.as_flattened()),
            ("test-negative", test.negative.as_flattened()),
            ("isolated", isolated),
            ("train-nodes", &of_train),
            ("evaluated-nodes", &evaluated),
        ] {
            writer.section(name)?;
            writer.write(numbers)?;
        }
        Ok(writer.finish()?)
    }

    /// The nodes whose rows are needed.
    pub fn nodes(&self) -> RequiredNodes {
        self.held_out.nodes()
    }

    /// What has to be propagated over the training graph, which [`hold_out`] wrote. The features are those of the nodes in its order,
    /// if there are any.
    #[cfg(test)]
    pub fn propagations(&self, training_graph: &Path, features: Option<&MatrixFile>) -> Result<Propagations> {
        let graph = GraphStore::open(training_graph)?.graph().clone();
        if graph.num_nodes() != self.data.num_nodes {
            let problem = format!("has {} nodes; the data have {}", graph.num_nodes(), self.data.num_nodes);
            return Err(Error::file(training_graph, problem));
        }
        let found = Propagations::of(&self.start()?, graph.into(), 0, self.num_features(), features)?;
        Ok(found.expect("settings that were checked"))
    }

    /// The model at its random start.
    pub(crate) fn start(&self) -> Result<Model> {
        self.model(&self.config.architecture(self.data.dimensions())?)
    }

    /// How many features a node has.
    pub(crate) fn num_features(&self) -> usize {
        self.data.num_features
    }

    fn model(&self, architecture: &Architecture) -> Result<Model> {
        let shape = self.config.shape(self.data.dimensions());
        Model::build(architecture.clone(), shape, Seeds::new(self.held_out.seed))
    }

    fn prepared(self, architecture: &Architecture, files: &RepeatFiles) -> Result<PreparedSplit> {
        let nodes = self.nodes();
        let num_nodes = self.data.num_nodes;
        let signal = gather(&files.columns, &nodes, [num_nodes, self.config.signal_dim])?;
        let uses_features = architecture.uses(crate::Source::Features);
        let features = match (&files.features[..], uses_features) {
            ([], true) => return Err(Error::file(&files.pairs, "needs Ã^K F beside the columns of Ã^K E")),
            (files, true) => Some(gather(files, &nodes, [num_nodes, self.num_features().max(1)])?),
            (_, false) => None,
        };
        self.held_out.prepared(nodes, signal, features, None)
    }
}

/// Why features can't be propagated by columns.
pub(crate) const TOO_WIDE: &str = "so many, of which most are zero, are multiplied by weights before messages pass, and not propagated \
     themselves; nigh on one machine does that, or features of fewer columns";

/// Some rows of columns in several files.
fn gather(files: &[PathBuf], nodes: &RequiredNodes, [rows, cols]: [usize; 2]) -> Result<[Matrix; 2]> {
    let mut opened = files.iter().map(|path| Ok(NpyRows::open(path)?)).collect::<Result<Vec<NpyRows>>>()?;
    if let Some((file, path)) = opened.iter().zip(files).find(|(file, _)| file.shape()[0] != rows) {
        return Err(Error::file(path, format!("has {} rows; expected one for each of {rows} nodes", file.shape()[0])));
    }
    let found: usize = opened.iter().map(|file| file.shape()[1]).sum();
    if found != cols {
        let first = files.first().map_or(Path::new("columns"), PathBuf::as_path);
        return Err(Error::file(first, format!("and those with it have {found} columns; expected {cols}")));
    }
    let mut gathered = GatheredRows::new(nodes.lists(), cols);
    let (mut block, mut part) = (Matrix::default(), Vec::new());
    let at_a_time = rows_at_a_time(cols);
    for first in (0..rows).step_by(at_a_time) {
        let some = first..(first + at_a_time).min(rows);
        if !gathered.wants(some.clone()) {
            continue;
        }
        block.reshape(some.len(), cols);
        let mut column = 0;
        for file in &mut opened {
            let width = file.shape()[1];
            file.read(some.clone(), &mut part)?;
            for (to, from) in block.data_mut().chunks_exact_mut(cols).zip(part.chunks_exact(width.max(1))) {
                to[column..column + width].copy_from_slice(from);
            }
            column += width;
        }
        gathered.take(first, &block);
    }
    Ok(gathered.rows)
}

fn section<T: Plain>(sections: &Sections, name: &str) -> Result<Vec<T>> {
    let missing = || Error::file(sections.path(), format!("has no section `{name}`; it holds no pairs"));
    Ok(sections.get::<T>(name)?.ok_or_else(missing)?.read_all()?)
}
