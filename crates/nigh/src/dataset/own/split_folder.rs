//! A split as a folder of csv files with the ids of nodes.

use super::read_pairs;
use crate::dataset::{Dataset, FixedPairs, FixedSplit, IdLookup, Sample};
use crate::error::{Error, Result};
use nigh_formats::table::TableReader;
use nigh_formats::{atomic, text_table::csv_field};
use std::path::Path;

const NODES: [&str; 3] = ["train-nodes.csv", "valid-nodes.csv", "test-nodes.csv"];
const TRAIN: &str = "train-edges.csv";
const POSITIVES: [&str; 2] = ["valid-positives.csv", "test-positives.csv"];
const NEGATIVES: [&str; 2] = ["valid-negatives.csv", "test-negatives.csv"];
const ABOUT: &str = "split.toml";

/// No description is longer.
const MOST_TEXT: u64 = 1 << 16;

impl FixedSplit {
    /// Writes the split as a new folder, atomically: a csv file per part, and `about`, which says where it comes from, as
    /// `split.toml`. Returns the names of the files.
    ///
    /// - of nodes: `train-nodes.csv`, `valid-nodes.csv` and `test-nodes.csv`, a column `id` each
    /// - of edges: `train-edges.csv`, `valid-positives.csv` and `test-positives.csv`, with columns `source` and `target`; and the pairs that
    ///   they are told from, unless these are to be drawn, as `valid-negatives.csv` and `test-negatives.csv`
    pub fn write(&self, dataset: &Dataset, folder: &Path, about: &toml::Table) -> Result<Vec<&'static str>> {
        if folder.exists() {
            return Err(Error::file(folder, "exists already; a split is written to a folder of its own"));
        }
        let sample = &dataset.samples[0];
        let mut files = match self {
            FixedSplit::Nodes(parts) => {
                NODES.iter().zip(parts).map(|(name, nodes)| (*name, ids(sample, nodes))).collect()
            }
            FixedSplit::Pairs(held_out) => pair_files(sample, held_out),
            FixedSplit::Edges { train, held_out } => {
                let mut files = vec![(TRAIN, pairs(sample, train))];
                files.extend(pair_files(sample, held_out));
                files
            }
        };
        files.push((ABOUT, about.to_string()));
        let partial = atomic::beside(folder, "partial");
        atomic::create_folder_afresh(&partial).map_err(Error::io(&partial))?;
        let write = |(name, content): &(&str, String)| {
            let path = partial.join(name);
            atomic::write(&path, content.as_bytes()).map_err(Error::io(&path))
        };
        let written = files.iter().try_for_each(write);
        let result = written.and_then(|()| std::fs::rename(&partial, folder).map_err(Error::io(folder)));
        if result.is_err() {
            let _ = std::fs::remove_dir_all(&partial);
        }
        result.map(|()| files.into_iter().map(|file| file.0).collect())
    }

    /// Reads what `write` wrote, or a folder of the same files by somebody else: `split.toml` may be missing, and so may
    /// negatives, which are then drawn, and the training edges, which are then all edges of the graph. The split is checked as in
    /// [`FixedSplit::nodes`] and [`FixedSplit::pairs`].
    pub fn read(dataset: &Dataset, folder: &Path) -> Result<FixedSplit> {
        if !folder.is_dir() {
            return Err(Error::file(folder, "there is no such folder; expected the folder of a split"));
        }
        let [sample] = &dataset.samples[..] else {
            return Err(Error::SeveralGraphs { count: dataset.samples.len() });
        };
        let numbers = sample.ids.lookup();
        let has = |name: &str| folder.join(name).exists();
        let there: Vec<&str> = NODES.into_iter().chain(POSITIVES).filter(|name| has(name)).collect();
        let needed = match there.iter().any(|name| NODES.contains(name)) {
            true => &NODES[..],
            false => &POSITIVES[..],
        };
        if let Some(missing) = needed.iter().find(|name| !has(name)) {
            let problem =
                format!("{missing} is missing; a split has {}, or {}", NODES.join(", "), POSITIVES.join(", "));
            return Err(Error::file(folder, problem));
        }
        if let Some(other) = there.iter().find(|name| !needed.contains(name)) {
            return Err(Error::file(folder, format!("{} and {other} are two kinds of split", needed[0])));
        }
        if needed == &NODES[..] {
            let [train, valid, test] = NODES.map(|name| read_nodes(&folder.join(name), &numbers));
            return FixedSplit::nodes(dataset, [train?, valid?, test?]);
        }
        let list = |name: &str| {
            let pairs = has(name).then(|| read_listed(&folder.join(name), &numbers));
            pairs.transpose().map(Option::unwrap_or_default)
        };
        let held_out = |part: usize| -> Result<FixedPairs> {
            Ok(FixedPairs { positive: list(POSITIVES[part])?, negative: list(NEGATIVES[part])? })
        };
        let train = has(TRAIN).then(|| list(TRAIN)).transpose()?;
        let is_loose = about(folder)?.get("evaluation-negatives").and_then(toml::Value::as_str) == Some("loose");
        FixedSplit::checked_pairs(dataset, train, [held_out(0)?, held_out(1)?], !is_loose)
    }
}

/// What `split.toml` says, if it is there.
fn about(folder: &Path) -> Result<toml::Table> {
    let path = folder.join(ABOUT);
    if !path.exists() {
        return Ok(toml::Table::new());
    }
    let text = String::from_utf8(nigh_formats::read_regular(&path, MOST_TEXT)?);
    let text = text.map_err(|_| Error::file(&path, "is not UTF-8 text"))?;
    text.parse().map_err(|error: toml::de::Error| Error::file(&path, error.message().to_string()))
}

fn ids(sample: &Sample, nodes: &[u32]) -> String {
    let line = |&node: &u32| csv_field(&sample.ids.name(node as usize)) + "\n";
    ["id\n".to_string()].into_iter().chain(nodes.iter().map(line)).collect()
}

fn pairs(sample: &Sample, pairs: &[[u32; 2]]) -> String {
    let id = |node: u32| csv_field(&sample.ids.name(node as usize));
    let line = |&[a, b]: &[u32; 2]| format!("{},{}\n", id(a), id(b));
    ["source,target\n".to_string()].into_iter().chain(pairs.iter().map(line)).collect()
}

fn pair_files(sample: &Sample, held_out: &[FixedPairs; 2]) -> Vec<(&'static str, String)> {
    let positives = POSITIVES.iter().zip(held_out).map(|(name, part)| (*name, pairs(sample, &part.positive)));
    let negatives = NEGATIVES.iter().zip(held_out).filter(|(_, part)| !part.negative.is_empty());
    positives.chain(negatives.map(|(name, part)| (*name, pairs(sample, &part.negative)))).collect()
}

fn read_nodes(path: &Path, numbers: &IdLookup<'_>) -> Result<Vec<u32>> {
    let is_header = |first: &[String], _: Option<&[String]>| first == ["id"];
    let table = TableReader::open(path, "no nodes; expected a line per id", is_header)?;
    let rows = table.read(&[0], &[])?;
    let find = |(name, &line): (&str, &usize)| {
        numbers.find(name).ok_or_else(|| Error::line(path, line, format!("node `{name}` is not in the graph")))
    };
    rows.names[0].iter().zip(&rows.places).map(find).collect()
}

fn read_listed(path: &Path, numbers: &IdLookup<'_>) -> Result<Vec<[u32; 2]>> {
    let is_node = |name: &str| !["source", "target"].contains(&name) && numbers.find(name).is_some();
    let find = |(line, names): &(usize, [String; 2])| {
        let [a, b] = names.each_ref().map(|name| {
            numbers.find(name).ok_or_else(|| Error::line(path, *line, format!("node `{name}` is not in the graph")))
        });
        Ok([a?, b?])
    };
    read_pairs(path, is_node)?.pairs.iter().map(find).collect()
}
