//! The eight graphs of SEAL's benchmark: lists of links, without features or labels.

use crate::dataset::{Dataset, Ids};
use crate::error::{Error, Result};
use crate::graph::Graph;
use nigh_formats::text_table::TextTable;
use std::path::Path;

/// Reads one list of links. Nodes are those that it names, in the order of their numbers. A third column has weights,
/// which the published figures leave aside.
pub fn read(folder: &Path, file: &str, name: &str) -> Result<Dataset> {
    let path = folder.join(file);
    let mut links: Vec<[i64; 2]> = Vec::new();
    TextTable::open(&path)?.each_line(0, |line, fields| -> Result<()> {
        let [source, target] = match fields {
            [source, target] | [source, target, _] => [source, target],
            _ => return Err(Error::line(&path, line, format!("{} columns; expected two or three", fields.len()))),
        };
        let number = |field: &str| {
            let number = field.parse::<u32>().map(i64::from);
            number.map_err(|_| Error::line(&path, line, format!("`{field}` is no node; expected a whole number")))
        };
        links.push([number(source)?, number(target)?]);
        Ok(())
    })?;
    let mut nodes = links.concat();
    nodes.sort_unstable();
    nodes.dedup();
    let place = |node: i64| nodes.binary_search(&node).expect("a node of a link") as u32;
    let edges: Vec<[u32; 2]> = links.iter().map(|link| link.map(place)).collect();
    let (graph, cleaning) = Graph::from_edges(nodes.len(), &edges)?;
    if graph.num_edges() == 0 {
        return Err(Error::file(&path, "no line has a link between two nodes"));
    }
    let mut dataset = Dataset::from_graph(name, graph);
    dataset.samples[0].ids = Ids::from_integers(nodes).into();
    if cleaning.duplicates > 0 {
        let (repeated, both) = (cleaning.duplicates, cleaning.both_ways);
        dataset.notes.push(format!("{repeated} repeated links were merged; {both} are listed in both directions"));
    }
    Ok(dataset)
}
