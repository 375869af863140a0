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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Ids;
    use crate::graph::Graph;

    /// A path of six nodes with odd names.
    fn dataset() -> Dataset {
        let graph = Graph::from_edges(6, &[[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]]).unwrap().0;
        let mut dataset =
            Dataset::from_graph("path", graph).with_labels(&[0, 1, 0, 1, 0, 1], vec!["x".into(), "y".into()]);
        dataset.samples[0].ids = Ids::from_names(["source", "Paris, \"F\"", "#3", "id", "5", "target"]).into();
        dataset
    }

    fn pairs_split() -> FixedSplit {
        let held_out = |edge, negative| FixedPairs { positive: vec![edge], negative: vec![negative] };
        FixedSplit::Edges {
            train: vec![[4, 5], [1, 0], [2, 1]],
            held_out: [held_out([2, 3], [0, 5]), held_out([4, 3], [5, 1])],
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let (dataset, folder) = (dataset(), tempfile::tempdir().unwrap());
        let nodes = FixedSplit::Nodes([vec![5, 0], vec![3, 1], vec![2, 4]]);
        for (name, split, count) in [("pairs", pairs_split(), 6), ("nodes", nodes, 4)] {
            let out = folder.path().join(name);
            let files = split.write(&dataset, &out, &toml::Table::from_iter([("seed".to_string(), 1.into())])).unwrap();
            assert_eq!(files.len(), count);
            assert_eq!(std::fs::read_to_string(out.join("split.toml")).unwrap(), "seed = 1\n");
            assert_eq!(FixedSplit::read(&dataset, &out).unwrap(), split);
            let error = split.write(&dataset, &out, &toml::Table::new()).unwrap_err().to_string();
            assert!(error.ends_with("exists already; a split is written to a folder of its own"), "{error}");
        }
        let edges = std::fs::read_to_string(folder.path().join("pairs/train-edges.csv")).unwrap();
        assert_eq!(edges, "source,target\n5,target\n\"Paris, \"\"F\"\"\",source\n\"#3\",\"Paris, \"\"F\"\"\"\n");
    }

    #[test]
    fn what_is_wrong_with_a_folder_is_told() {
        let (dataset, folder) = (dataset(), tempfile::tempdir().unwrap());
        let refused = |files: &[(&str, &str)]| {
            let out = folder.path().join("split");
            let _ = std::fs::remove_dir_all(&out);
            std::fs::create_dir(&out).unwrap();
            files.iter().for_each(|(name, content)| std::fs::write(out.join(name), content).unwrap());
            FixedSplit::read(&dataset, &out).unwrap_err().to_string()
        };
        let (valid, test) = (("valid-positives.csv", "#3,id\n"), ("test-positives.csv", "id,5\n"));
        let valid = (valid.0, "\"#3\",id\n");
        let train = ("train-edges.csv", "source,target\n5,target\n");
        let cases: [(&[(&str, &str)], &str); 10] = [
            (&[], "valid-positives.csv is missing; a split has train-nodes.csv"),
            (&[valid], "test-positives.csv is missing"),
            (
                &[valid, test],
                "2 held-out edges are among those that message passing sees, the first is #3 - id; take them out",
            ),
            (&[train, valid, ("test-positives.csv", "5,target\n")], "1 held-out edge is among those"),
            (
                &[train, valid, ("test-positives.csv", "5,nobody\n")],
                "test-positives.csv:1: node `nobody` is not in the graph",
            ),
            (
                &[train, valid, ("test-positives.csv", "5,5\n")],
                "the test part of the split has a pair of node 5 and itself",
            ),
            (
                &[train, valid, ("test-positives.csv", "id,\"#3\"\n")],
                "id - #3 is in the validation part and in the test part",
            ),
            (
                &[train, valid, test, ("test-negatives.csv", "\"#3\",id\n")],
                "#3 - id is a negative of the test part of the split, and an edge",
            ),
            (
                &[("train-edges.csv", "5,source\n"), valid, test],
                "5 - source is a training edge of the split, and no edge of the graph",
            ),
            (
                &[valid, test, ("train-nodes.csv", "id\n5\n"), ("valid-nodes.csv", "5\n"), ("test-nodes.csv", "id\n")],
                "two kinds of split",
            ),
        ];
        for (files, says) in cases {
            let error = refused(files);
            assert!(error.contains(says), "{error}\n{says}");
        }
        let nodes = |valid: &'static str| {
            [("train-nodes.csv", "id\n5\n"), ("valid-nodes.csv", valid), ("test-nodes.csv", "target\n")]
        };
        assert!(
            refused(&nodes("5\n")).ends_with("node 5 is in the training part and in the validation part of the split")
        );
        assert!(refused(&nodes("7\n")).ends_with("valid-nodes.csv:1: node `7` is not in the graph"));
        assert!(
            refused(&nodes("source\nsource\n")).ends_with("node source is twice in the validation part of the split")
        );
    }
}
