//! Features and labels: a line per node, its id first.

use super::Nodes;
use super::edge_list::{Text, header_note, is_header, is_id_word};
use crate::dataset::Features;
use crate::error::{Error, Result};
use crate::kernel::Matrix;
use std::path::Path;

/// Feature rows in the order of the file.
#[derive(Debug)]
pub(crate) struct FeatureRows {
    rows: Vec<(u32, Vec<f32>)>,
    pub notes: Vec<String>,
}

/// Reads `id, number, number, ...`; nodes that the edge list does not mention are added.
pub(crate) fn read_features(path: &Path, nodes: &mut Nodes) -> Result<FeatureRows> {
    let text = Text::open(path)?;
    let mut rows: Vec<(u32, Vec<f32>)> = Vec::new();
    let mut notes = Vec::new();
    let mut line_of: Vec<usize> = vec![0; nodes.names.len()];
    for (at, line) in text.lines().enumerate() {
        let line = line?;
        let fields = line.fields()?;
        if at == 0 && (names_columns(&fields) || is_id_word(&fields[0])) && nodes.find(&fields[0]).is_none() {
            notes.push(header_note(path, &line));
            continue;
        }
        let [id, numbers @ ..] = &fields[..] else { unreachable!("a line has one field at least") };
        if id.is_empty() {
            return Err(line.error("column 1 is empty; expected the id of a node"));
        }
        if numbers.is_empty() {
            return Err(line.error(format!("`{id}` is one column; expected an id and its features")));
        }
        if let Some((_, first)) = rows.first()
            && first.len() != numbers.len()
        {
            return Err(line.error(format!("{} features, but the lines above have {}", numbers.len(), first.len())));
        }
        let mut row = Vec::with_capacity(numbers.len());
        for (at, number) in numbers.iter().enumerate() {
            match number.parse::<f32>() {
                Ok(value) if value.is_finite() => row.push(value),
                _ => return Err(line.error(format!("column {}: `{number}` is not a finite number", at + 2))),
            }
        }
        let node = nodes.number(id);
        line_of.resize(nodes.names.len(), 0);
        match &mut line_of[node as usize] {
            0 => line_of[node as usize] = line.number,
            first => return Err(line.error(format!("node `{id}` has a row already, on line {first}"))),
        }
        rows.push((node, row));
    }
    if rows.is_empty() {
        return Err(Error::file(path, "no rows; expected lines of an id and its features"));
    }
    Ok(FeatureRows { rows, notes })
}

/// Whether the columns after the id are all words; of a first line that names no node, a header's.
fn names_columns(fields: &[String]) -> bool {
    fields.len() > 1 && fields[1..].iter().all(|field| field.parse::<f32>().is_err())
}

impl FeatureRows {
    /// `F`, in the order of the nodes; every node needs a row.
    pub fn into_features(self, path: &Path, nodes: &Nodes) -> Result<Features> {
        let mut by_node: Vec<Option<Vec<f32>>> = vec![None; nodes.names.len()];
        self.rows.into_iter().for_each(|(node, row)| by_node[node as usize] = Some(row));
        let missing: Vec<&String> =
            by_node.iter().zip(&nodes.names).filter(|(row, _)| row.is_none()).map(|(_, name)| name).collect();
        if let Some(first) = missing.first() {
            let count = missing.len();
            return Err(Error::file(path, format!("{count} nodes of the graph have no row, `{first}` for one")));
        }
        let rows: Vec<Vec<f32>> = by_node.into_iter().flatten().collect();
        Ok(Features::from_matrix(Matrix::from_rows(&rows)))
    }
}

/// Labels in the order of the nodes.
#[derive(Debug)]
pub(crate) struct Labels {
    pub labels: Vec<Option<u32>>,
    pub class_names: Vec<String>,
    pub notes: Vec<String>,
}

/// Reads `id, label`; nodes without a line have no label.
pub(crate) fn read_labels(path: &Path, nodes: &Nodes) -> Result<Labels> {
    let text = Text::open(path)?;
    let mut read: Vec<Option<(usize, String)>> = vec![None; nodes.names.len()];
    let mut any = false;
    let mut notes = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line?;
        let fields = line.fields()?;
        let [id, label] = &fields[..] else {
            return Err(line.error(format!("{} columns; expected an id and its label", fields.len())));
        };
        let Some(node) = nodes.find(id) else {
            // A header names no node.
            if at == 0 && is_header(&fields) {
                notes.push(header_note(path, &line));
                continue;
            }
            return Err(line.error(format!("node `{id}` is not in the graph")));
        };
        any = true;
        if label.is_empty() {
            return Err(line.error(format!("node `{id}` has an empty label; leave the line out instead")));
        }
        if let Some((first, _)) = &read[node as usize] {
            return Err(line.error(format!("node `{id}` has a label already, on line {first}")));
        }
        read[node as usize] = Some((line.number, label.clone()));
    }
    if !any {
        return Err(Error::file(path, "no labels; expected lines of an id and its label"));
    }
    let mut class_names: Vec<String> = read.iter().flatten().map(|(_, label)| label.clone()).collect();
    class_names.sort();
    class_names.dedup();
    if class_names.iter().all(|name| name.parse::<i64>().is_ok()) {
        class_names.sort_by_key(|name| name.parse::<i64>().unwrap_or_default());
    }
    let class = |label: &String| class_names.iter().position(|name| name == label).map(|class| class as u32);
    let labels = read.iter().map(|entry| entry.as_ref().and_then(|(_, label)| class(label))).collect();
    Ok(Labels { labels, class_names, notes })
}
