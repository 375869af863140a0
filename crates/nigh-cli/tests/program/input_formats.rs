//! Formats of graphs on input, and of results on output.

use crate::sample_graphs as graphs;
use crate::test_folder::TestFolder;

const FAST: &str = "--epochs 10 --repeats 1";

#[test]
fn a_file_is_described_by_data_show() {
    let folder = TestFolder::with(&[("edges.csv", "who,whom,how\na,b,2\nb,a,2\nb,c,0.5\nc,c,1\nd,e,1\n")]);
    let answer = folder.nigh("data show edges.csv --weight how --json");
    assert!(answer.stderr.contains("note: line 1 of edges.csv was read as a header"), "{}", answer.stderr);
    assert!(answer.stderr.contains("the graph is directed: 2 of 3 edges have no way back"), "{}", answer.stderr);
    let found = answer.json();
    for (key, value) in [
        ("num_nodes", 5),
        ("num_edges", 3),
        ("num_components", 2),
        ("largest_component", 3),
        ("num_isolated", 0),
        ("num_repeated", 1),
        ("num_self_loops", 1),
        ("num_both_ways", 1),
    ] {
        assert_eq!(found[key], value, "{key}");
    }
    assert_eq!((found["weights"]["least"].as_f64(), found["weights"]["most"].as_f64()), (Some(0.5), Some(2.0)));
    let text = folder.nigh("data show edges.csv --weight how -q").ok();
    assert!(text.contains("in the file: 1 repetition, 1 self loop, 1 of 3 edges in both directions"), "{text}");
    assert!(text.contains("weights from 0.5 to 2, 1.167 on average") && text.contains("degree  nodes"), "{text}");
}

#[test]
fn columns_are_named_or_counted() {
    let edges = graphs::edges().replace(' ', ",");
    let moved: String = edges.lines().map(|line| format!("x,{line}\n")).collect();
    let folder =
        TestFolder::with(&[("plain.csv", edges), ("named.csv", format!("kind,from,to\n{moved}")), ("bare.csv", moved)]);
    let train = |rest: &str| folder.nigh(&format!("train {rest} {FAST} -q --json")).json()["mean"].clone();
    let expected = train("plain.csv");
    assert_eq!(train("named.csv"), expected);
    assert_eq!(train("named.csv --source from --target to"), expected);
    assert_eq!(train("bare.csv --source 2 --target 3"), expected);
    folder.refuses(
        &format!("train named.csv --source nowhere {FAST}"),
        1,
        &["named.csv:1:", "`nowhere`", "kind, from, to"],
    );
}

#[test]
fn several_graphs_are_read_from_one_table_and_written_to_one() {
    let mut edges = "graph,source,target\n".to_string();
    for graph in ["north", "south", "east", "west"] {
        graphs::edges().lines().for_each(|line| edges += &format!("{graph},{}\n", line.replace(' ', ",")));
    }
    let folder = TestFolder::with(&[("edges.csv", edges)]);
    let result = folder.nigh(&format!("train edges.csv {FAST} --model smp-linear --out model --json -q")).json();
    assert_eq!(
        (&result["num_nodes"], &result["num_edges"]),
        (&128.into(), &(4 * graphs::edges().lines().count()).into())
    );
    for name in ["vectors.csv", "vectors.npy", "vectors.vec", "vectors.parquet"] {
        folder.nigh(&format!("embed model edges.csv -q --out {name}")).ok();
    }
    let csv = folder.text("vectors.csv");
    assert_eq!(csv.lines().count(), 129);
    assert!(csv.starts_with("graph,id,h0,") && csv.contains("\nnorth,ada0,") && csv.contains("\nwest,dee7,"));
    assert!(folder.text("vectors.npy.ids.txt").starts_with("east\tada0\n"), "in the order of names");
    let vectors = folder.text("vectors.vec");
    assert!(vectors.starts_with("128 ") && vectors.lines().nth(1).is_some_and(|row| row.starts_with("east/ada0 ")));
    folder.write("pairs.csv", "ada0,ada7\nada0,dee3\n");
    folder.refuses("predict model edges.csv --pairs pairs.csv", 2, &["4 graphs", "--in-graph"]);
    folder.refuses("predict model edges.csv --pairs pairs.csv --in-graph nort", 1, &["nort", "north"]);
    let scores =
        |graph: &str| folder.nigh(&format!("predict model edges.csv --pairs pairs.csv --in-graph {graph} -q")).ok();
    // The same edges, another draw of the signal.
    assert_eq!(scores("north").lines().count(), 3);
    assert_ne!(scores("north"), scores("south"));
    assert!(folder.nigh("predict model edges.csv --node ada0 --in-graph west -q").ok().contains("ada"));
}

#[test]
fn vectors_in_parquet_are_read_back_as_features() {
    let folder = TestFolder::with(&[("edges.txt", graphs::edges()), ("labels.csv", graphs::labels())]);
    folder.nigh(&format!("train edges.txt {FAST} --out model -q")).ok();
    for name in ["vectors.parquet", "vectors.csv"] {
        folder.nigh(&format!("embed model edges.txt -q --out {name}")).ok();
    }
    let with = |name: &str| {
        let line = format!(
            "train edges.txt --features {name} --labels labels.csv --task node-classification {FAST} -q --json"
        );
        folder.nigh(&line).json()["mean"].clone()
    };
    assert_eq!(with("vectors.parquet"), with("vectors.csv"));
}

#[test]
fn predictions_in_parquet_equal_those_in_csv() {
    let folder = TestFolder::with(&[("edges.txt", graphs::edges()), ("labels.csv", graphs::labels())]);
    folder.nigh(&format!("train edges.txt --labels labels.csv --task node-classification {FAST} --out model -q")).ok();
    folder.nigh("predict model edges.txt -q --out classes.csv").ok();
    folder.nigh("predict model edges.txt -q --out classes.parquet").ok();
    // Predictions can be read as labels.
    let with = |name: &str| {
        let line = format!("data show edges.txt --labels {name} --label label -q --json");
        folder.nigh(&line).json()["labelled"].clone()
    };
    assert_eq!((with("classes.csv"), with("classes.parquet")), (32.into(), 32.into()));
    assert!(folder.read("classes.parquet").starts_with(b"PAR1"));
}

/// The files of `email`, invented: seven groups of departments, a ring of twelve people each.
fn email() -> TestFolder {
    let folder = TestFolder::new();
    std::fs::create_dir_all(folder.path("data/email")).unwrap();
    let people = || (0..7).flat_map(|group| (0..12).map(move |at| (group, at)));
    let edges: String = people().map(|(g, at)| format!("{} {}\n", 12 * g + at, 12 * g + (at + 1) % 12)).collect();
    let labels: String = people().map(|(g, at)| format!("{} {}\n", 12 * g + at, 6 * g + at % 6)).collect();
    folder.write("data/email/email.txt", edges);
    folder.write("data/email/email_labels.txt", labels);
    folder
}

#[cfg(target_os = "linux")]
#[test]
fn processes_can_convert_the_same_dataset_at_the_same_time() {
    let folder = email();
    let home = folder.path("home").display().to_string();
    let start = || {
        let mut command = folder.command("data show email --data data --json -q");
        command.env("HOME", &home).stdout(std::process::Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<_> = (0..6).map(|_| start()).collect();
    let outputs: Vec<_> = children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    assert!(outputs.iter().all(|output| output.status.success() && output.stdout == outputs[0].stdout));
    let kept: Vec<String> =
        folder.files("home/.cache/nigh/compact").keys().map(|name| name.display().to_string()).collect();
    assert_eq!(kept, ["email.nigh"], "one file, and nothing half-written beside it");
}

#[cfg(target_os = "linux")]
#[test]
fn a_damaged_dataset_leaves_no_cache_file() {
    let folder = email();
    folder.write("data/email/email_labels.txt", "0 zero\n");
    let home = folder.path("home").display().to_string();
    let says = ["email_labels.txt:1:", "`zero` is not a department"];
    folder.refuses_with("data show email --data data", &[("HOME", &home)], 1, &says);
    assert!(!folder.path("home").exists());
}

/// Labels and features written by `data export`, and its notes.
fn exported(files: &[(&str, &str)], options: &str) -> (String, String, String) {
    let folder = TestFolder::with(files);
    let answer = folder.nigh(&format!("data export edges.csv {options} --out out"));
    let read = |name: &str| if folder.path(name).exists() { folder.text(name) } else { String::new() };
    (read("out/labels.csv"), read("out/features.csv"), answer.stderr.clone() + &answer.ok())
}

#[test]
fn a_column_of_row_numbers_is_not_a_column_of_ids() {
    // As pandas writes a table with its index.
    let files = [
        ("edges.csv", "source,target\n0,1\n1,2\n2,3\n"),
        ("labels.csv", ",id,label\n0,3,red\n1,2,blue\n2,1,green\n3,0,\n"),
        ("features.csv", "Unnamed: 0,id,height\n0,3,0.3\n1,2,0.2\n2,1,0.1\n3,0,0.5\n"),
    ];
    let shown = TestFolder::with(&files).nigh("data show edges.csv --labels labels.csv --features features.csv");
    assert!(shown.stderr.contains("column 1 of labels.csv has no name and is not used"), "{}", shown.stderr);
    assert!(shown.stderr.contains("column 1 of features.csv has no name"), "{}", shown.stderr);
    let (labels, ..) = exported(&files, "--labels labels.csv");
    // An empty cell is not a label.
    assert_eq!(labels, "id,label\n1,green\n2,blue\n3,red\n");
    // It is one if there is no better column.
    let index = [files[0], ("labels.csv", ",label\n0,x\n1,y\n2,x\n3,y\n")];
    assert_eq!(exported(&index, "--labels labels.csv").0, "id,label\n0,x\n1,y\n2,x\n3,y\n");
}

#[test]
fn ids_are_found_in_any_column() {
    let edges = ("edges.csv", "ann,bob\nbob,cid\ncid,dan\n");
    let labels = exported(&[edges, ("labels.csv", "label,id\nx,ann\ny,bob\nx,cid\ny,dan\n")], "--labels labels.csv").0;
    assert_eq!(labels, "id,label\nann,x\nbob,y\ncid,x\ndan,y\n");
    let features = "f1,node,f2\n1,ann,2\n3,bob,4\n5,cid,6\n7,dan,8\n";
    let shown = TestFolder::with(&[edges, ("features.csv", features)])
        .nigh("data show edges.csv --features features.csv --json");
    assert_eq!(shown.json()["num_features"], 2);
}

#[test]
fn skipped_lines_are_counted() {
    let said = exported(&[("edges.csv", "# of mine\nsource,target\n#cats,#dogs\nann,#cats\nann,bob\n")], "").2;
    assert!(said.contains("1 line that begins with # in edges.csv"), "{said}");
}

#[test]
fn a_first_line_that_may_be_a_header_is_noted() {
    let said = exported(&[("edges.csv", "person_a,person_b\nann,bob\nbob,cid\n")], "").2;
    assert!(
        said.contains("`person_a,person_b`, was read as an edge")
            && said.contains("name its columns as source and target"),
        "{said}"
    );
    let said = exported(&[("edges.csv", "ann,bob\nbob,cid\n")], "").2;
    assert!(!said.contains("was read as an edge"), "{said}");
}

#[test]
fn an_id_with_a_line_break_is_refused() {
    let graph = r#"{"nodes": [{"id": "a\nb"}, {"id": "c"}], "links": [{"source": "a\nb", "target": "c"}]}"#;
    TestFolder::with(&[("graph.json", graph)]).refuses("data show graph.json", 1, &["line break", "a\\nb"]);
}

#[test]
fn notes_on_weights_name_the_option() {
    let folder =
        TestFolder::with(&[("bare.txt", "a b 2\nb c 3\n"), ("named.csv", "source,target,weight\na,b,2\nb,c,3\n")]);
    let said = |line: &str| folder.nigh(&format!("data show {line}")).stderr;
    let note = "note: column 3 of bare.txt has no name and is not used; it can be named as the weight (--weight 3)";
    assert!(said("bare.txt").contains(note), "{}", said("bare.txt"));
    let note = "note: weights are in column `weight`; they can be left out (--weight none)";
    assert!(said("named.csv").contains(note), "{}", said("named.csv"));
    for quiet in ["bare.txt --weight 3", "bare.txt --weight none", "named.csv --weight none"] {
        assert!(!said(quiet).contains("--weight"), "{}", said(quiet));
    }
    let weighted = |line: &str| folder.nigh(&format!("data show {line} --json -q")).json()["weighted"].clone();
    assert_eq!((weighted("bare.txt"), weighted("bare.txt --weight 3")), (false.into(), true.into()));
    assert_eq!((weighted("named.csv"), weighted("named.csv --weight none")), (true.into(), false.into()));
}

/// Runs `nigh` with this on its standard input.
fn with_input(folder: &TestFolder, line: &str, input: &[u8]) -> std::process::Output {
    use std::io::Write;
    use std::process::Stdio;
    let mut child =
        folder.command(line).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A program that refuses its options does not read.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

#[test]
fn a_dash_is_standard_input() {
    let edges = graphs::edges();
    let folder = TestFolder::with(&[("edges.txt", edges.as_bytes()), ("labels.csv", graphs::labels().as_bytes())]);
    let text = |output: std::process::Output| {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    // A hundred copies are more than a pipe holds at once.
    let long = edges.repeat(100);
    let shown = text(with_input(&folder, "data show - --json -q", long.as_bytes()));
    assert!(shown.contains("\"num_nodes\": 32"), "{shown}");
    folder.nigh("data export edges.txt --out plain -q").ok();
    folder.nigh("data export edges.txt --labels labels.csv --out labelled -q").ok();
    text(with_input(&folder, "data export - --out piped -q", edges.as_bytes()));
    assert_eq!(folder.text("plain/edges.csv"), folder.text("piped/edges.csv"));
    text(with_input(&folder, "data export edges.txt --labels - --out labels -q", graphs::labels().as_bytes()));
    assert_eq!(folder.text("labelled/labels.csv"), folder.text("labels/labels.csv"));
    // Formats that are not read from their start to their end.
    folder.nigh(&format!("train edges.txt {FAST} --model smp-linear --out model -q")).ok();
    folder.nigh("predict model edges.txt --node ada0 --include-existing --out links.parquet -q").ok();
    text(with_input(&folder, "data show - -q", &folder.read("links.parquet")));
    let pairs = text(with_input(&folder, "predict model edges.txt --pairs - -q", b"from,to\nada0,ada1\n"));
    assert!(pairs.starts_with("source,target,score\nada0,ada1,"), "{pairs}");
    let wrong = with_input(&folder, "data show -", b"a b\nc\n");
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("error: -:2: `c` is one column"), "{wrong:?}");
    for line in ["data show - --labels -", "predict model - --pairs -"] {
        folder.refuses(line, 2, &["`-` is given for two files; standard input can be read as one"]);
    }
}

#[test]
fn ids_of_pairs_and_nodes_may_end_with_a_fraction_of_zero() {
    let numbered: String = (0..40).map(|at| format!("{at} {}\n{at} {}\n", (at + 1) % 40, (at + 2) % 40)).collect();
    let folder = TestFolder::with(&[("edges.txt", numbered.as_str()), ("pairs.csv", "u,v\n3.0,4.0\n5,6\n")]);
    folder.nigh(&format!("train edges.txt {FAST} --model smp-linear --out model -q")).ok();
    let scores = folder.nigh("predict model edges.txt --pairs pairs.csv -q").ok();
    assert!(
        scores.lines().nth(1).is_some_and(|line| line.starts_with("3.0,4.0,")) && scores.lines().count() == 3,
        "{scores}"
    );
    let links = |node: &str| folder.nigh(&format!("predict model edges.txt --node {node} -q")).ok();
    assert_eq!(links("3"), links("3.0"));
}

#[test]
fn what_is_recognised_and_not_read_is_refused_with_a_remedy() {
    for (name, content, says) in [
        ("x.mat", &b"MATLAB 7.3 MAT-file, Platform: GLNXA64"[..], "is a Matlab 7.3 file; save it as version 7"),
        ("x.pickle", b"\x80\x04\x95\x00", "is a Python pickle"),
        ("x.html", b"<!DOCTYPE html>\n<html></html>", "is a web page"),
        ("x.gml", b"graph [\n  node [ id 1 ]\n]\n", "is a GML file; read it with networkx"),
        ("x.csv", b"node,label\na,x\nb,y\n", "look like labels, not like edges; give them as labels"),
        ("x.xml", b"<?xml version='1.0'?><svg/>", "is XML whose first element is `svg`"),
        ("x.graph", b"9 9\n1 2\n", "announces 9 nodes and has 1 lines below; is this a list of edges?"),
    ] {
        TestFolder::with(&[(name, content)]).refuses(&format!("data show {name}"), 1, &[name, says]);
    }
    let folder = TestFolder::with(&[("edges.txt", graphs::edges())]);
    let rows: String = graphs::labels()
        .lines()
        .skip(1)
        .enumerate()
        .map(|(at, line)| format!("{},{}\n", line.split(',').next().unwrap(), 10 * at))
        .collect();
    folder.write("views.csv", format!("id,views\n{rows}"));
    folder.refuses(
        "data show edges.txt --labels views.csv",
        1,
        &["is this a number to predict?", "hint: say which column is which with --label COLUMN"],
    );
}
