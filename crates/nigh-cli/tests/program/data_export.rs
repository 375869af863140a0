//! `nigh data export`: plain files that other programs and nigh itself can read.

use crate::sample_graphs as graphs;
use crate::test_folder::TestFolder;

#[test]
fn an_exported_graph_can_be_trained_on() {
    let folder = TestFolder::new();
    let answer = folder.nigh("data export communities --out new/plain/").ok();
    assert_eq!(answer, "new/plain: nodes.csv, edges.csv, labels.csv, README.txt\n");
    let line = "train new/plain/edges.csv --labels new/plain/labels.csv --task node-classification --epochs 2";
    let result = folder.nigh(&format!("{line} --repeats 1 --json -q")).json();
    assert_eq!((&result["num_nodes"], &result["num_edges"]), (&400.into(), &3800.into()));
    assert_eq!(std::fs::read_dir(folder.path("new")).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn files_of_a_user_are_exported_too() {
    let folder =
        TestFolder::with(&[("edges.txt", "b a 2\na c 0.5\n"), ("features.txt", "a 1 2\nb 3 4\nc 5 6\nd 7 8\n")]);
    folder.nigh("data export edges.txt --weight 3 --features features.txt --out plain -q").ok();
    assert_eq!(folder.text("plain/nodes.csv"), "id\na\nb\nc\nd\n");
    assert_eq!(folder.text("plain/edges.csv"), "source,target,weight\na,b,2\na,c,0.5\n");
    assert!(folder.text("plain/README.txt").contains("4 × 2, rows in the order of nodes.csv; numpy.load"));
    assert!(folder.read("plain/features.npy").starts_with(b"\x93NUMPY"));
}

#[test]
fn an_export_needs_a_new_folder() {
    let folder = TestFolder::with(&[("edges.txt", graphs::edges())]);
    std::fs::create_dir(folder.path("old")).unwrap();
    for out in ["old", "old/", "edges.txt", "."] {
        folder.refuses(
            &format!("data export edges.txt --out {out}"),
            1,
            &["exists already", "an export needs a new folder"],
        );
    }
    folder.refuses("data export edges.txt --out edges.txt/plain", 1, &["edges.txt"]);
    folder.refuses("data export missing.txt --out new", 1, &["missing.txt"]);
    folder.refuses("data export edges.txt", 2, &["--out <DIR>"]);
}
