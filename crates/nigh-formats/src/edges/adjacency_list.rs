//! Adjacency lists: a node and its neighbours on each line, as `networkx.write_adjlist` writes them.

use super::EdgeList;
use super::order::numbered;
use crate::error::{Error, Result};
use crate::interner::Interner;
use crate::is_named;
use crate::text_table::TextTable;
use std::collections::BTreeSet;
use std::path::Path;

/// Whether the name of a file says so, or the different lengths of its lines. An edge list with a damaged line has two
/// lengths.
pub(super) fn is_adjacency_list(path: &Path, sample: &[Vec<String>]) -> bool {
    let widths: BTreeSet<usize> = sample.iter().map(Vec::len).collect();
    is_named(path, &["adjlist", "adj"]) || widths.len() > 2
}

/// Reads the lists.
pub(super) fn read(text: &TextTable) -> Result<EdgeList> {
    let (mut names, mut edges) = (Interner::default(), Vec::new());
    text.each_line(0, |_, fields| {
        let mut nodes = fields.iter().filter(|field| !field.is_empty()).map(|field| names.number(field));
        if let Some(node) = nodes.next() {
            edges.extend(nodes.map(|neighbour| [node, neighbour]));
        }
        Ok::<(), Error>(())
    })?;
    let numbered = numbered(&text.path, names.into_names())?;
    if let Some(order) = &numbered.order {
        edges.iter_mut().flatten().for_each(|end| *end = order[*end as usize]);
    }
    let what = format!("lines of {} are adjacency lists: a node and its neighbours", text.path.display());
    let notes = std::iter::once(what).chain(numbered.note).collect();
    Ok(EdgeList { ids: numbered.ids, edges: vec![edges], notes, ..EdgeList::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edges::{EdgeColumns, tests};
    use crate::ids::Ids;

    fn read_file(name: &str, content: &str) -> Result<EdgeList> {
        tests::read_file(name, content.as_bytes(), &EdgeColumns::default())
    }

    #[test]
    fn a_line_is_a_node_and_its_neighbours() {
        // As networkx writes it.
        let content = "#make.py\n# GMT Mon\n# \n3 1 2 0\n1 2\n2\n0\n4\n";
        for name in ["x.adjlist", "x.txt"] {
            let list = read_file(name, content).unwrap();
            assert_eq!(list.ids, Ids::Numbers(5), "node 4 has no neighbour");
            assert_eq!(list.edges.concat(), [[3, 1], [3, 2], [3, 0], [1, 2]]);
            assert!(list.notes[0].ends_with("are adjacency lists: a node and its neighbours"), "{:?}", list.notes);
        }
        let named = read_file("x.adjlist", "ann,bob,\nbob,cid\n").unwrap();
        assert_eq!(named.ids.iter().collect::<Vec<_>>(), ["ann", "bob", "cid"]);
    }

    #[test]
    fn a_damaged_edge_list_is_none() {
        let error = read_file("x.txt", "1 2\n2 3\n3 4 5 6\n4 5\n").unwrap_err().to_string();
        assert!(error.ends_with("x.txt:3: 4 columns, but the lines above have 2"), "{error}");
    }
}
