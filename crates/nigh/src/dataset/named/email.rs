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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read_texts(edges: &[u8], labels: &[u8]) -> Result<Dataset> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("email.txt"), edges).unwrap();
        std::fs::write(folder.path().join("email_labels.txt"), labels).unwrap();
        read(folder.path())
    }

    fn message(edges: &str, labels: &str) -> String {
        let error = read_texts(edges.as_bytes(), labels.as_bytes()).unwrap_err().to_string();
        error.rsplit_once("/email").unwrap().1.to_string()
    }

    /// Nodes 100..111 in a path and 200..212 in another, of groups 0 and 1, listed in turn and joined by one edge.
    fn texts() -> (String, String) {
        let path = |first: u32, length: u32| (first..first + length - 1).map(|node| format!("{node} {}\n", node + 1));
        let edges = format!("205 105\n105 105\n101 100\n{}", path(200, 12).chain(path(100, 11)).collect::<String>());
        let labels = |first: u32, length: u32, department: u32| {
            (first..first + length).map(move |node| format!("{node} {}\n", department + node % 2))
        };
        (edges, labels(100, 11, 0).chain(labels(200, 12, 6)).collect())
    }

    #[test]
    fn groups_of_departments_are_graphs_and_nodes_keep_their_names() {
        let (edges, labels) = texts();
        let dataset = read_texts(edges.as_bytes(), labels.as_bytes()).unwrap();
        let sizes: Vec<_> = dataset.samples.iter().map(|s| (s.graph.num_nodes(), s.graph.num_edges())).collect();
        assert_eq!(sizes, [(12, 11), (11, 10)], "the order of first mention");
        let sample = &dataset.samples[1];
        assert_eq!(sample.ids.iter().take(3).collect::<Vec<_>>(), ["105", "101", "100"]);
        assert_eq!(sample.labels.as_ref().unwrap()[..3], [Some(1), Some(1), Some(0)]);
        assert!(sample.graph.has_edge(1, 2) && !sample.graph.has_edge(0, 1));
        assert_eq!((dataset.class_names.len(), dataset.paper_defaults.graphs), (8, Some([5, 1, 1])));
        assert_eq!(dataset.notes[0], "1 lines between departments of different groups were left out");
    }

    #[test]
    fn errors_name_line_and_value() {
        assert_eq!(message("1 2 3\n", "1 0\n"), ".txt:1: 3 columns; expected two");
        assert_eq!(message("1 1\n1 2\n", "1 0\n"), ".txt:2: node `2` has no department in email_labels.txt");
        assert_eq!(message("1 1\n", "1 0\n"), ".txt: no connected component has more than 10 nodes");
        assert_eq!(message("1 1\n", "1 x\n"), "_labels.txt:1: `x` is not a department; expected 0 or a little more");
        let many = "_labels.txt:2: `4294967295` is not a department; expected 0 or a little more";
        assert_eq!(message("1 1\n", "1 0\n2 4294967295\n"), many);
        assert_eq!(message("1 1\n", "1 0\n1 0\n"), "_labels.txt:2: node `1` was given a department above");
        assert_eq!(message("", ""), ".txt: no connected component has more than 10 nodes");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn no_damage_makes_it_panic(
            changes in prop::collection::vec((any::<usize>(), prop::sample::select(&b"0 19\n,\t#\"\xff-"[..])), 0..5),
            noise in prop::collection::vec(any::<u8>(), 0..100), in_labels: bool,
        ) {
            use nigh_formats::samples::damaged;
            let (edges, labels) = texts();
            let (mut edges, mut labels) = (edges.into_bytes(), labels.into_bytes());
            let _ = read_texts(&noise, &labels);
            let _ = read_texts(&edges, &noise);
            let part = if in_labels { &mut labels } else { &mut edges };
            *part = damaged(std::mem::take(part), &changes, 0);
            let _ = read_texts(&edges, &labels);
        }
    }
}
