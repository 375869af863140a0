//! `nigh data convert`: a graph file is used like the edges that it was made from.

use crate::sample_graphs as graphs;
use crate::test_folder::TestFolder;

const FAST: &str = "--epochs 10 --repeats 1 --model smp-linear";

#[test]
fn a_graph_file_gives_the_figures_of_its_edges() {
    let edges = graphs::edges();
    let weighted: String = edges.lines().enumerate().map(|(at, line)| format!("{line} {}\n", 1 + at % 3)).collect();
    let folder = TestFolder::with(&[("edges.txt", edges), ("weighted.txt", weighted)]);
    for (name, options) in [("edges", ""), ("weighted", "--weight 3")] {
        let answer = folder.nigh(&format!("data convert {name}.txt {options} --out new/{name}.nigh --memory 64MiB"));
        assert!(answer.stdout.starts_with(&format!("new/{name}.nigh: ")), "{answer:?}");
        let train = |graph: &str| {
            let result = folder.nigh(&format!("train {graph} {FAST} -q --json")).json();
            (result["mean"].clone(), result["num_nodes"].clone(), result["num_edges"].clone())
        };
        assert_eq!(train(&format!("new/{name}.nigh")), train(&format!("{name}.txt {options}")));
    }
    folder.nigh("data convert communities --out communities.nigh -q").ok();
    let counts = folder.nigh("data show communities.nigh --json -q").json();
    assert_eq!((counts["num_nodes"].as_u64(), counts["num_repeated"].as_u64()), (Some(400), Some(0)));
}

#[test]
fn a_model_trained_on_edges_is_used_with_their_graph_file() {
    let named: String = graphs::edges().lines().map(|line| format!("n{}\n", line.replace(' ', " n"))).collect();
    let folder = TestFolder::with(&[("edges.txt", named)]);
    folder.nigh(&format!("train edges.txt {FAST} -q --out model")).ok();
    folder.nigh("data convert edges.txt -q --out graph.nigh").ok();
    folder.nigh("embed model edges.txt -q --out a.csv").ok();
    let answer = folder.nigh("embed model graph.nigh --out b.csv");
    assert!(answer.code == Some(0) && !answer.stderr.contains("not the graph of the training"), "{}", answer.stderr);
    assert_eq!(folder.read("a.csv"), folder.read("b.csv"));
}

#[test]
fn what_can_not_be_converted_leaves_nothing() {
    let several = "graph,source,target\na,1,2\nb,1,2\n";
    let files =
        [("edges.txt", "1 2\n2 3\n"), ("several.csv", several), ("bad.csv", "1,2\n3\n"), ("loops.txt", "1 1\n")];
    let folder = TestFolder::with(&files);
    let before = folder.files(".");
    for (line, code, words) in [
        ("data convert several.csv --out x.nigh", 1, &["2 graphs"][..]),
        ("data convert bad.csv --out x.nigh", 1, &["bad.csv:2:"]),
        ("data convert loops.txt --out x.nigh", 1, &["no edge between two different nodes"]),
        ("data convert missing.csv --out x.nigh", 1, &["missing.csv", "no such file"]),
        ("data convert edges.txt --features edges.txt --out x.nigh", 2, &["holds edges and ids"]),
        ("data convert edges.txt --out x.nigh --memory 8", 2, &["64 MiB at least"]),
        ("data convert edges.txt --out x.nigh --memory much", 2, &["such as 8GiB"]),
        ("data convert edges.txt", 2, &["--out <FILE>"]),
    ] {
        folder.refuses(line, code, words);
        assert!(folder.files(".") == before, "{line}");
    }
    // A damaged file is named with what is damaged.
    folder.nigh("data convert edges.txt --out x.nigh -q").ok();
    let mut bytes = folder.read("x.nigh");
    bytes[4096] ^= 1;
    folder.write("x.nigh", bytes);
    folder.refuses("data show x.nigh", 1, &["x.nigh", "section `neighbours` is damaged"]);
}
