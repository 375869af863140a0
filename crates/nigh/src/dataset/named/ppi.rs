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
