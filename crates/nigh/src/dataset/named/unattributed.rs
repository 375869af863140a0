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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read_text(text: &[u8]) -> Result<Dataset> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("Toy.txt"), text).unwrap();
        read(folder.path(), "Toy.txt", "toy")
    }

    #[test]
    fn weights_are_left_aside_and_both_directions_are_one_link() {
        // Leading blanks, Windows line ends and no line end at last, as in the published files.
        let dataset = read_text(b"    7   3  0.25\r\n    3   7  0.5\r\n   12   3  1").unwrap();
        let sample = &dataset.samples[0];
        assert_eq!((sample.graph.num_nodes(), sample.graph.num_edges(), sample.graph.is_weighted()), (3, 2, false));
        assert_eq!(sample.ids.iter().collect::<Vec<_>>(), ["3", "7", "12"]);
        assert!(sample.graph.has_edge(0, 1) && sample.graph.has_edge(0, 2));
        assert_eq!(dataset.notes, ["1 repeated links were merged; 1 are listed in both directions"]);
        let tabs = read_text(b"0\t1\n1\t2\n").unwrap();
        assert_eq!((tabs.num_nodes(), tabs.num_edges(), tabs.notes.len()), (3, 2, 0));
    }

    #[test]
    fn errors_name_line_and_value() {
        let message = |text: &[u8]| read_text(text).unwrap_err().to_string().rsplit_once("/Toy").unwrap().1.to_string();
        assert_eq!(message(b"1 2\n1\n"), ".txt:2: 1 columns; expected two or three");
        assert_eq!(message(b"1 2\n1 -2\n"), ".txt:2: `-2` is no node; expected a whole number");
        assert_eq!(message(b"1 1\n"), ".txt: no line has a link between two nodes");
        assert_eq!(message(b""), ".txt: no line has a link between two nodes");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..100), text in "[0-9 \t\r\n.#-]{0,60}") {
            let _ = read_text(&bytes);
            let _ = read_text(text.as_bytes());
        }
    }
}
