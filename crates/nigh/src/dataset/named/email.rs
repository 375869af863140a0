//! Email: who wrote to whom in a research institution, cut into graphs by groups of six departments.

use crate::dataset::{Dataset, Features, Ids, PaperDefaults, Sample};
use crate::error::{Error, Result};
use crate::graph::{Component, Graph};
use nigh_formats::interner::Interner;
use nigh_formats::text_table::TextTable;
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

/// Departments `0..6` are one group, `6..12` the next.
const GROUP: u32 = 6;
/// Only components of more nodes are graphs.
const TOO_SMALL: usize = 10;

/// Reads `email.txt` (edges) and `email_labels.txt` (departments) from their folder.
///
/// An edge stays when both ends are in the same group; every component of more than ten nodes is a graph, in the order
/// in which the file first mentions one of its nodes (protocol: "Data"). Nodes keep their numbers as names.
pub fn read(folder: &Path) -> Result<Dataset> {
    let path = folder.join("email.txt");
    let departments = read_departments(&folder.join("email_labels.txt"))?;

    let mut nodes = Interner::default();
    let mut labels = Vec::new();
    let (mut edges, mut crossing) = (Vec::new(), 0);
    TextTable::open(&path)?.each_line(0, |line, fields| -> Result<()> {
        let ends = pair(&path, line, fields)?;
        let mut of_end = [0; 2];
        for (end, department) in ends.iter().zip(&mut of_end) {
            let unknown = || Error::line(&path, line, format!("node `{end}` has no department in email_labels.txt"));
            *department = *departments.get(*end).ok_or_else(unknown)?;
        }
        let edge = ends.map(|end| nodes.number(end));
        for (node, department) in edge.into_iter().zip(of_end) {
            if node as usize == labels.len() {
                labels.push(department);
            }
        }
        if of_end[0] / GROUP == of_end[1] / GROUP {
            edges.push(edge);
        } else {
            crossing += 1;
        }
        Ok(())
    })?;
    let (graph, _) = Graph::from_edges(labels.len(), &edges)?;
    let samples: Vec<Sample> =
        graph.components(TOO_SMALL).into_iter().map(|part| sample(part, &nodes, &labels)).collect();
    if samples.is_empty() {
        return Err(Error::file(&path, format!("no connected component has more than {TOO_SMALL} nodes")));
    }
    let kept: usize = samples.iter().map(|sample| sample.graph.num_nodes()).sum();
    let classes = departments.values().max().map_or(0, |&department| department + 1);
    let class_names = (0..classes).map(|department| department.to_string()).collect();
    Ok(Dataset {
        paper_defaults: PaperDefaults { graphs: Some([5, 1, 1]), ..PaperDefaults::default() },
        notes: vec![
            format!("{crossing} lines between departments of different groups were left out"),
            format!("{} nodes in components of at most {TOO_SMALL} nodes were left out", labels.len() - kept),
        ],
        ..Dataset::from_samples("email", samples, class_names)?
    })
}

fn sample(part: Component, nodes: &Interner, labels: &[u32]) -> Sample {
    let names = part.nodes.iter().map(|&node| &nodes.names()[node as usize]);
    Sample {
        features: Features::Constant(part.nodes.len()),
        labels: Some(part.nodes.iter().map(|&node| Some(labels[node as usize])).collect()),
        ids: Ids::from_names(names).into(),
        graph: part.graph.into(),
        label_sets: None,
        addresses: None,
    }
}

/// The department of each node; there can't be more departments than nodes.
fn read_departments(path: &Path) -> Result<HashMap<String, u32>> {
    let mut lines = Vec::new();
    TextTable::open(path)?.each_line(0, |line, fields| -> Result<()> {
        let [node, department] = pair(path, line, fields)?;
        lines.push((line, node.to_string(), department.to_string()));
        Ok(())
    })?;
    let mut departments = HashMap::with_capacity(lines.len());
    for (line, node, department) in &lines {
        let number = department.parse::<u32>().ok().filter(|&number| (number as usize) < lines.len());
        let wrong = |problem: String| Error::line(path, *line, problem);
        let unknown = || wrong(format!("`{department}` is not a department; expected 0 or a little more"));
        if departments.insert(node.clone(), number.ok_or_else(unknown)?).is_some() {
            return Err(wrong(format!("node `{node}` was given a department above")));
        }
    }
    Ok(departments)
}

fn pair<'a>(path: &Path, line: usize, fields: &'a [Cow<'_, str>]) -> Result<[&'a str; 2]> {
    match fields {
        [a, b] => Ok([a, b]),
        _ => Err(Error::line(path, line, format!("{} columns; expected two", fields.len()))),
    }
}
