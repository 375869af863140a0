//! Cora, CiteSeer and PubMed in the files of Planetoid, right and damaged.

use nigh::dataset::{Dataset, FixedSplit, NamedDataset};
use nigh::{Features, Result};
use nigh_formats::samples::pickle as build;
use proptest::prelude::*;

/// Two training nodes, 500 to validate with, then test nodes 504 and 502; 503 is a hole.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let features = |rows: i32| {
        let (ends, columns): (Vec<i32>, Vec<i32>) = ((0..=rows).map(|i| 2 * i).collect(), [0, 2].repeat(rows as usize));
        build::pickle(build::sparse([rows, 3], &ends, &columns, &[1.0, 3.0].repeat(rows as usize)))
    };
    let classes = |rows: i32| {
        let entries: Vec<i32> = (0..rows).flat_map(|row| [1 - row % 2, row % 2]).collect();
        build::pickle(build::array("<i4", &[rows, 2], false, &build::i4(&entries)))
    };
    let mut lists = vec![vec![]; 505];
    lists[0] = vec![1, 1, 0];
    lists[1] = vec![0, 504];
    lists[504] = vec![1];
    let lists: Vec<&[i32]> = lists.iter().map(Vec::as_slice).collect();
    vec![
        ("x", features(2)),
        ("y", classes(2)),
        ("allx", features(502)),
        ("ally", classes(502)),
        ("tx", features(2)),
        ("ty", classes(2)),
        ("graph", build::pickle(build::graph(&lists))),
        ("test.index", b"504\n502\n".to_vec()),
    ]
}

fn read_with(changed: &str, content: &[u8]) -> Result<Dataset> {
    let folder = tempfile::tempdir().unwrap();
    for (part, bytes) in files() {
        let content = if part == changed { content } else { &bytes };
        std::fs::write(folder.path().join(format!("ind.cora.{part}")), content).unwrap();
    }
    NamedDataset::named("cora").expect("it is public").read_from(folder.path())
}

fn message(changed: &str, content: &[u8]) -> String {
    let error = read_with(changed, content).unwrap_err().to_string();
    error.split_once("ind.cora.").unwrap().1.to_string()
}

#[test]
fn the_parts_make_one_graph_with_the_public_split() {
    let dataset = read_with("", b"").unwrap();
    let sample = &dataset.samples[0];
    assert_eq!((sample.graph.num_nodes(), sample.graph.num_edges()), (505, 2));
    assert!(sample.graph.has_edge(1, 504));
    let labels = sample.labels.as_ref().unwrap();
    assert_eq!(labels[501..], [Some(1), Some(1), None, Some(0)]);
    let Features::Sparse(features) = &sample.features else { panic!("sparse") };
    assert_eq!(features.row(0).collect::<Vec<_>>(), [(0, 0.25), (2, 0.75)]);
    assert_eq!(features.row(503).count(), 0);
    assert_eq!(dataset.class_names, ["0", "1"]);
    let Some(FixedSplit::Nodes(parts)) = &dataset.fixed_split else { panic!("a split of nodes") };
    assert_eq!(parts, &[vec![0, 1], (2..502).collect(), vec![504, 502]]);
    let expected = [
        "1 repeated entries of the neighbour lists were merged",
        "1 self loops were dropped; the operator gives every node its own",
        "502 nodes have no edge; they are kept, isolated",
        "1 nodes have neither features nor a class: test.index leaves them out",
    ];
    assert_eq!(dataset.notes, expected);
}

#[test]
fn what_does_not_fit_is_named() {
    let sparse = |shape, ends: &[i32], columns: &[i32], values: &[f32]| {
        build::pickle(build::sparse(shape, ends, columns, values))
    };
    let classes = |shape: &[i32], values: &[i32]| build::pickle(build::array("<i4", shape, false, &build::i4(values)));
    let one = sparse([1, 3], &[0, 1], &[0], &[1.0]);
    assert!(message("x", &one).starts_with("y: 2 rows, but 1 in "));
    let wide = sparse([2, 4], &[0, 1, 1], &[0], &[1.0]);
    assert!(message("tx", &wide).starts_with("tx: 4 features and 2 classes, but 3 features and 2 classes in "));
    let other = sparse([2, 3], &[0, 1, 1], &[0], &[1.0]);
    assert!(message("x", &other).starts_with("x: is not the beginning of "));
    let expected = "ty: row 1 does not hold exactly one 1; every row has one class";
    assert_eq!(message("ty", &classes(&[2, 2], &[1, 0, 1, 1])), expected);
    assert_eq!(message("ty", &classes(&[2, 2], &[1, 0, 0, 0])), expected);
    assert!(message("ty", &classes(&[4], &[1, 0, 0, 1])).starts_with("ty: shape [4]; expected a row per node"));
    assert!(message("ty", &classes(&[0, i32::MAX], &[])).starts_with("ty: shape [0, 2147483647]"));
    assert_eq!(message("ty", &one), "ty: expected a numpy array, found a sparse matrix");
    assert_eq!(
        message("tx", b"cos\nsystem\n."),
        format!("tx: byte 0: {}", "`os.system` is refused: the data that are read here need no such class or function")
    );
}

#[test]
fn graphs_and_test_nodes_are_checked() {
    let graph = |lists: &[&[i32]]| build::pickle(build::graph(lists));
    assert_eq!(
        message("graph", &graph(&[&[1], &[7]])),
        "graph: neighbours of node 1: node 7 is not among the 2 nodes, which are numbered from 0"
    );
    assert!(message("graph", &graph(&[&[1], &[0]])).contains("test.index:1: `504` is no test node"));
    // One list for many nodes: a small file that would grow large.
    let shared = b"}(K\x00](K\x00K\x00K\x00K\x00K\x00K\x00eq\x00K\x01h\x00K\x02h\x00K\x03h\x00u".to_vec();
    assert_eq!(message("graph", &build::pickle(shared)), "graph: nodes share their lists of neighbours");
    let twice = b"}(K\x00]K\x00]u".to_vec();
    assert_eq!(message("graph", &build::pickle(twice)), "graph: node 0 has two lists of neighbours");

    let bounds = "is no test node; these are numbered from 502 to below 505";
    assert_eq!(message("test.index", b"504\n99999999999\n"), format!("test.index:2: `99999999999` {bounds}"));
    assert_eq!(message("test.index", b"501\n504\n"), format!("test.index:1: `501` {bounds}"));
    assert_eq!(message("test.index", b"504\n504\n"), "test.index:2: `504` is listed before");
    assert_eq!(message("test.index", b"504\nx\xff\n"), "test.index:2: `x\\xff` is no node number");
    assert_eq!(message("test.index", b"504\n"), "test.index: 1 nodes, but 2 rows in tx");
    assert_eq!(message("test.index", b""), "test.index:1: `` is no node number");
}

#[test]
fn a_missing_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = NamedDataset::named("cora").unwrap().read_from(folder.path()).unwrap_err().to_string();
    assert!(error.contains("ind.cora.x: "), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_change_of_a_file_makes_it_panic(
        file in prop::sample::select(files()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let (part, mut bytes) = file;
        changes.iter().for_each(|(at, byte)| { let at = at.index(bytes.len()); bytes[at] = *byte; });
        let _ = read_with(part, &bytes);
    }
}
