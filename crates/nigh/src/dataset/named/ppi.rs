//! PPI: which proteins interact in each of 24 human tissues. A node-link JSON, a `.npy` of features, a map between, and perhaps labels.

use crate::dataset::{Dataset, Features, Ids, PaperDefaults, Sample, cleaning_notes};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::label_sets::LabelSets;
use crate::linalg::Matrix;
use nigh_formats::npy;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::path::Path;

/// Only components of more nodes are graphs.
const TOO_SMALL: usize = 10;

/// The part of a node-link file that is needed; the rest is skipped.
#[derive(Deserialize)]
struct PpiGraph {
    nodes: Vec<PpiNode>,
    links: Vec<PpiLink>,
}

#[derive(Deserialize)]
struct PpiNode {
    id: u64,
}

#[derive(Deserialize)]
struct PpiLink {
    source: u64,
    target: u64,
}

/// Reads `ppi-G.json`, `ppi-feats.npy` and `ppi-id_map.json` from their folder; and `ppi-class_map.json` if it is there, which has a zero or a one
/// for each of 121 gene ontology sets that a node may be in.
///
/// Every component of more than ten nodes is a graph, in the order of its first node; nodes keep their ids as names.
/// A row of features `f` becomes `x / max(Σ x, 1)` where `x = f + 0.1`, with `log(f + 1)` for `f` in the first two
/// columns (protocol: "Data"). The authors shift the second column by its minimum where that is below -1; the columns
/// are binary, so both are `log(f + 1)`, and 0 stays 0.
pub fn read(folder: &Path) -> Result<Dataset> {
    let path = folder.join("ppi-G.json");
    let listed: PpiGraph = read_json(&path)?;
    let mut numbers = HashMap::with_capacity(listed.nodes.len());
    for (number, node) in listed.nodes.iter().enumerate() {
        if numbers.insert(node.id, number as u32).is_some() {
            return Err(Error::file(&path, format!("node {} is listed twice", node.id)));
        }
    }
    let mut edges = Vec::with_capacity(listed.links.len());
    for (at, link) in listed.links.iter().enumerate() {
        let number = |id: u64| {
            let unknown = || Error::file(&path, format!("link {at} names node {id}, which is not listed"));
            numbers.get(&id).copied().ok_or_else(unknown)
        };
        edges.push([number(link.source)?, number(link.target)?]);
    }
    let (graph, cleaning) = Graph::from_edges(listed.nodes.len(), &edges)?;
    let rows = read_rows(folder, &listed.nodes)?;
    let labels = read_labels(&folder.join("ppi-class_map.json"), &listed.nodes)?;

    let mut samples = Vec::new();
    for part in graph.components(TOO_SMALL) {
        let names = part.nodes.iter().map(|&node| listed.nodes[node as usize].id.to_string());
        samples.push(Sample {
            features: Features::Dense(rows.permute_rows(&part.nodes).into()),
            labels: None,
            label_sets: labels.as_ref().map(|(sets, _)| sets.select(&part.nodes).into()),
            ids: Ids::from_names(names).into(),
            graph: part.graph.into(),
            addresses: None,
        });
    }
    if samples.is_empty() {
        return Err(Error::file(&path, format!("no connected component has more than {TOO_SMALL} nodes")));
    }
    let kept: usize = samples.iter().map(|sample| sample.graph.num_nodes()).sum();
    let mut notes = cleaning_notes(cleaning);
    let left_out = listed.nodes.len() - kept;
    notes.push(format!("{left_out} nodes in components of at most {TOO_SMALL} nodes were left out"));
    let num_classes = labels.map_or(0, |(_, classes)| classes);
    let class_names = (0..num_classes).map(|class| class.to_string()).collect();
    let paper_defaults = PaperDefaults { graphs: Some([16, 4, 4]), ..PaperDefaults::default() };
    Ok(Dataset { paper_defaults, notes, ..Dataset::from_samples("ppi", samples, class_names)? })
}

/// The sets that each node is in, and how many there are; `None` without the file.
fn read_labels(path: &Path, nodes: &[PpiNode]) -> Result<Option<(LabelSets, usize)>> {
    if !path.exists() {
        return Ok(None);
    }
    let lists: HashMap<u64, Vec<u8>> = read_json(path)?;
    let list = |node: &PpiNode| {
        lists.get(&node.id).ok_or_else(|| Error::file(path, format!("node {} has no list of labels", node.id)))
    };
    let classes = nodes.first().map(list).transpose()?.map_or(0, Vec::len);
    let set = |node: &PpiNode| {
        let list = list(node)?;
        if list.len() != classes || list.iter().any(|&entry| entry > 1) {
            let problem = format!("the list of node {} is not of {classes} zeros and ones", node.id);
            return Err(Error::file(path, problem));
        }
        Ok((0..).zip(list).filter(|entry| *entry.1 == 1).map(|entry| entry.0).collect::<Vec<u32>>())
    };
    Ok(Some((nodes.iter().map(set).collect::<Result<Vec<_>>>()?.into_iter().collect(), classes)))
}

/// A row of scaled features for each node.
fn read_rows(folder: &Path, nodes: &[PpiNode]) -> Result<Matrix> {
    let path = folder.join("ppi-id_map.json");
    let rows: HashMap<u64, u64> = read_json(&path)?;
    let array = npy::open(&folder.join("ppi-feats.npy"))?;
    let &[num_rows, columns] = array.shape() else {
        return Err(array.error(format!("has {} dimensions; expected two", array.shape().len())).into());
    };
    if columns < 2 {
        return Err(array.error(format!("has {columns} columns; expected two and more")).into());
    }
    let mut scaled = Matrix::from_data(num_rows, columns, array.floats()?);
    for row in 0..num_rows {
        let bad = |(column, value): (usize, &f32)| !value.is_finite() || column < 2 && *value <= -1.0;
        if let Some(column) = scaled.row(row).iter().enumerate().position(bad) {
            let value = scaled.row(row)[column];
            return Err(array.error(format!("row {row}, column {column} is {value}, which can't be scaled")).into());
        }
        scale(scaled.row_mut(row));
    }
    let mut order = Vec::with_capacity(nodes.len());
    let mut taken = vec![false; num_rows];
    for &PpiNode { id } in nodes {
        let row = *rows.get(&id).ok_or_else(|| Error::file(&path, format!("node {id} has no row of features")))?;
        if row >= num_rows as u64 {
            let problem = format!("node {id} has row {row}, but ppi-feats.npy has {num_rows} rows");
            return Err(Error::file(&path, problem));
        }
        // One long row for very many nodes would fill the memory.
        if std::mem::replace(&mut taken[row as usize], true) {
            return Err(Error::file(&path, format!("node {id} has row {row}, like another node")));
        }
        order.push(row as u32);
    }
    Ok(scaled.permute_rows(&order))
}

/// `x / max(Σ x, 1)`, the first two columns by their logarithm, all plus 0.1.
fn scale(x: &mut [f32]) {
    x[..2].iter_mut().for_each(|value| *value = (*value + 1.0).ln());
    x.iter_mut().for_each(|value| *value += 0.1);
    let sum = x.iter().sum::<f32>().max(1.0);
    x.iter_mut().for_each(|value| *value /= sum);
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let bytes = nigh_formats::read_bounded(path)?;
    serde_json::from_slice(&bytes).map_err(|error| Error::file(path, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nigh_formats::samples::{damaged, npy};
    use proptest::prelude::*;

    /// A ring of eleven nodes 10, 11, ... with a self loop, and a pair; features of node `10 + i` are in row `12 - i`.
    struct Files {
        graph: String,
        map: String,
        features: Vec<u8>,
    }

    fn files() -> Files {
        let nodes = (0..13).map(|i| format!(r#"{{"test": false, "id": {}, "val": [{{}}]}}"#, 10 + i));
        let link = |a: usize, b: usize| format!(r#"{{"source": {}, "target": {}}}"#, 10 + a, 10 + b);
        let links = (0..11).map(|i| link(i, (i + 1) % 11)).chain([link(3, 3), link(11, 12)]);
        let list = |items: Vec<String>| items.join(", ");
        let rows: Vec<f64> = (0..13).flat_map(|row| [f64::from(row % 2), 0.0, f64::from(row)]).collect();
        Files {
            graph: format!(
                r#"{{"directed": false, "graph": {{}}, "nodes": [{}], "links": [{}], "multigraph": false}}"#,
                list(nodes.collect()),
                list(links.collect())
            ),
            map: format!("{{{}}}", list((0..13).map(|i| format!(r#""{}": {}"#, 10 + i, 12 - i)).collect())),
            features: npy("<f8", "(13, 3)", &rows.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>()),
        }
    }

    fn read_files(graph: &[u8], map: &[u8], features: &[u8]) -> Result<Dataset> {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in [("ppi-G.json", graph), ("ppi-id_map.json", map), ("ppi-feats.npy", features)] {
            std::fs::write(folder.path().join(name), content).unwrap();
        }
        read(folder.path())
    }

    fn message(change: impl FnOnce(&mut Files)) -> String {
        let mut files = files();
        change(&mut files);
        let error = read_files(files.graph.as_bytes(), files.map.as_bytes(), &files.features);
        error.unwrap_err().to_string().rsplit_once("/ppi-").unwrap().1.to_string()
    }

    #[test]
    fn large_components_are_graphs_and_features_follow_the_map() {
        let files = files();
        let dataset = read_files(files.graph.as_bytes(), files.map.as_bytes(), &files.features).unwrap();
        let [sample] = &dataset.samples[..] else { panic!("one graph") };
        assert_eq!((sample.graph.num_nodes(), sample.graph.num_edges()), (11, 11));
        assert_eq!((sample.ids.name(0), sample.ids.name(10)), ("10".into(), "20".into()));
        let Features::Dense(features) = &sample.features else { panic!("dense features") };
        // Node 11 has row 11: (1, 0, 11).
        let row = [2f32.ln() + 0.1, 0.1, 11.1];
        assert_eq!(features.row(1), row.map(|x| x / row.iter().sum::<f32>()));
        assert_eq!((dataset.paper_defaults.graphs, sample.labels.is_none()), (Some([16, 4, 4]), true));
        let left_out = "2 nodes in components of at most 10 nodes were left out";
        assert_eq!(dataset.notes.last().unwrap(), left_out);
    }

    #[test]
    fn labels_are_read_where_the_folder_holds_them() {
        let (folder, files) = (tempfile::tempdir().unwrap(), files());
        let put = |name: &str, content: &[u8]| std::fs::write(folder.path().join(name), content).unwrap();
        put("ppi-G.json", files.graph.as_bytes());
        put("ppi-id_map.json", files.map.as_bytes());
        put("ppi-feats.npy", &files.features);
        // Node `10 + i` is in set 0 if `i` is even and in set 2 if it is below 3.
        let list = |i: usize| format!(r#""{}": [{}, 0, {}]"#, 10 + i, (i + 1) % 2, u8::from(i < 3));
        let lists: Vec<String> = (0..13).map(list).collect();
        put("ppi-class_map.json", format!("{{{}}}", lists.join(", ")).as_bytes());
        let dataset = read(folder.path()).unwrap();
        let sets = dataset.samples[0].label_sets.as_ref().unwrap();
        assert_eq!((sets.of(0), sets.of(1), sets.of(3)), (&[0, 2][..], &[2][..], &[][..]));
        assert_eq!((dataset.class_names.len(), dataset.samples[0].num_labelled()), (3, 7));
        let refused = |lists: &[String]| {
            put("ppi-class_map.json", format!("{{{}}}", lists.join(", ")).as_bytes());
            read(folder.path()).unwrap_err().to_string()
        };
        assert!(refused(&lists[..12]).contains("node 22 has no list of labels"));
        let wrong = [&lists[..12], &[r#""22": [1, 2, 0]"#.to_string()]].concat();
        assert!(refused(&wrong).contains("the list of node 22 is not of 3 zeros and ones"));
    }

    #[test]
    fn small_rows_are_not_blown_up() {
        let mut row = [0.0, 1.0, 0.0];
        scale(&mut row);
        assert_eq!(row, [0.1, 2f32.ln() + 0.1, 0.1], "a sum below 1 divides nothing");
    }

    #[test]
    fn errors_name_the_file_and_the_value() {
        let graph = |from: &str, to: &str| message(|files| files.graph = files.graph.replace(from, to));
        assert_eq!(graph(r#""target": 22"#, r#""target": 99"#), "G.json: link 12 names node 99, which is not listed");
        assert_eq!(graph(r#""id": 21,"#, r#""id": 20,"#), "G.json: node 20 is listed twice");
        assert!(graph(r#""links""#, r#""lonks""#).starts_with("G.json: missing field `links` at line 1 column "));
        assert!(graph(r#""id": 21,"#, r#""id": -1,"#).starts_with("G.json: invalid value: integer `-1`, expected u64"));
        let empty = message(|files| files.graph = r#"{"nodes": [], "links": []}"#.into());
        assert_eq!(empty, "G.json: no connected component has more than 10 nodes");
        let map = |from: &str, to: &str| message(|files| files.map = files.map.replace(from, to));
        assert_eq!(map(r#""10""#, r#""9""#), "id_map.json: node 10 has no row of features");
        assert_eq!(map(": 12", ": 13"), "id_map.json: node 10 has row 13, but ppi-feats.npy has 13 rows");
        assert_eq!(map(": 12", ": 11"), "id_map.json: node 11 has row 11, like another node");
        let features = |features: Vec<u8>| message(|files| files.features = features);
        assert_eq!(features(npy("|u1", "(3,)", &[0; 3])), "feats.npy: has 1 dimensions; expected two");
        assert_eq!(features(npy("|u1", "(3, 1)", &[0; 3])), "feats.npy: has 1 columns; expected two and more");
        let minus = npy("|i1", "(1, 2)", &[0, 0xff]);
        assert_eq!(features(minus), "feats.npy: row 0, column 1 is -1, which can't be scaled");
    }

    #[test]
    fn deep_nesting_in_a_skipped_field_needs_no_deep_stack() {
        let deep = "[".repeat(1_000_000);
        let error = message(|files| files.graph = format!(r#"{{"graph": {deep}"#));
        assert!(error.starts_with("G.json: "), "{error}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn no_damage_makes_it_panic(
            changes in prop::collection::vec((any::<usize>(), prop::sample::select(&b"019-{}[]\",: \xff"[..])), 0..4),
            noise in prop::collection::vec(any::<u8>(), 0..100), part in 0..3usize, cut in 0..2usize,
        ) {
            let files = files();
            let _ = read_files(&noise, files.map.as_bytes(), &files.features);
            let mut parts = [files.graph.into_bytes(), files.map.into_bytes(), files.features];
            parts[part] = damaged(std::mem::take(&mut parts[part]), &changes, cut);
            let _ = read_files(&parts[0], &parts[1], &parts[2]);
        }
    }
}
