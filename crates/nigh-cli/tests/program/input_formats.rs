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
