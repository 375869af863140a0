//! The lists of Email, right and damaged.

use nigh::Result;
use nigh::dataset::{Dataset, NamedDataset};
use proptest::prelude::*;

fn read_texts(edges: &[u8], labels: &[u8]) -> Result<Dataset> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("email.txt"), edges).unwrap();
    std::fs::write(folder.path().join("email_labels.txt"), labels).unwrap();
    NamedDataset::named("email").expect("it is public").read_from(folder.path())
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
