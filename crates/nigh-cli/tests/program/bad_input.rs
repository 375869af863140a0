//! Bad input: a message with the place on stderr, nothing on stdout, no files; exit code 1, or 2 for wrong usage.

use crate::sample_graphs as graphs;
use crate::test_folder::TestFolder;

const FAST: &str = "--epochs 10 --repeats 1";

/// A folder with the people's graph.
fn people() -> TestFolder {
    TestFolder::with(&[
        ("edges.txt", graphs::edges()),
        ("labels.csv", graphs::labels()),
        ("features.csv", graphs::features()),
    ])
}

/// A folder with the people's graph and `model` trained on it.
fn people_with_model() -> TestFolder {
    let folder = people();
    folder.nigh(&format!("train edges.txt {FAST} -q --out model")).ok();
    folder
}

#[test]
fn a_file_that_is_not_an_edge_list_is_refused() {
    let cases: [(&[u8], &[&str]); 11] = [
        (b"a b\nb c\nlonely\n", &["graph.txt:3:", "`lonely` is one column"]),
        (b"a b\nb \xff\n", &["graph.txt:2:", "byte 3 (0xff) is not UTF-8"]),
        (b"\xff\xfea\x00 \x00b", &["graph.txt: is UTF-16 and ends within a character"]),
        (b"", &["graph.txt", "no edges"]),
        (b"# a comment\n\n   \n", &["graph.txt", "no edges"]),
        (b"source,target\n", &["graph.txt", "no edges"]),
        (b"a a\nb b\n", &["graph.txt", "no edge between two different nodes"]),
        (b"a,b\nb,\n", &["graph.txt:2:", "column 2 is empty"]),
        (b"a b 1\nb c\n", &["graph.txt:2:", "2 columns, but the lines above have 3"]),
        (b"u v weight\na b 1\nb c nan\n", &["graph.txt:3:", "weight `nan` is not a positive number"]),
        (b"a b 1 2 3\n", &["graph.txt:1:", "5 columns"]),
    ];
    for (content, says) in cases {
        let folder = TestFolder::with(&[("graph.txt", content)]);
        folder.refuses(&format!("train graph.txt {FAST} --out model"), 1, says);
    }
}

#[test]
fn a_weight_that_is_none_is_refused_with_the_option_that_leaves_weights_out() {
    let weighted = |weight: &str| format!("u,v,weight\na,b,1\nb,c,{weight}\nc,d,2\n");
    for weight in ["-2", "0", "nan", "heavy"] {
        let folder = TestFolder::with(&[("graph.csv", weighted(weight)), ("ids.csv", "u v weight\n1 2 -1\n".into())]);
        let says = format!("weight `{weight}` is not a positive number");
        folder.refuses("data show graph.csv", 1, &["graph.csv:3:", &says, "hint: --weight none"]);
        folder.refuses("data show ids.csv", 1, &["ids.csv:2:", "hint: --weight none"]);
        assert!(folder.nigh("data show graph.csv --weight none").ok().contains("no weights"));
    }
    // What is wrong without weights, too, has nothing to do with them.
    let folder = TestFolder::with(&[("graph.csv", "u,v,weight\na,b,1\nb\nc,d,-2\n")]);
    let stderr = folder.nigh("data show graph.csv").stderr;
    assert!(stderr.contains("graph.csv:3:") && !stderr.contains("--weight"), "{stderr}");
}

#[test]
fn a_first_pair_of_unknown_nodes_may_be_a_header() {
    let folder = people_with_model();
    folder.write("pairs.csv", "a,b\nada0,ada1\n");
    let says = ["pairs.csv:1: node `a` is not in the graph; if it is a header, name its columns as source and target"];
    folder.refuses("predict model edges.txt --pairs pairs.csv", 1, &says);
    folder.write("pairs.csv", "source,target\nada0,ada1\n");
    assert!(folder.nigh("predict model edges.txt --pairs pairs.csv").ok().starts_with("source,target,score\n"));
    // Another line, a known node, or a line below a header is none.
    for pairs in ["ada0,ada1\na,b\n", "ada0,b\nada0,ada1\n", "source,target\na,b\n"] {
        folder.write("pairs.csv", pairs);
        let stderr = folder.nigh("predict model edges.txt --pairs pairs.csv").stderr;
        assert!(stderr.contains("is not in the graph") && !stderr.contains("header, name"), "{stderr}");
    }
}

#[test]
fn a_graph_with_hardly_any_non_edge_is_refused_with_a_remedy() {
    let pairs = (0..60).flat_map(|a| (a + 1..60).map(move |b| (a, b)));
    let edges: String = pairs.filter(|pair| *pair != (7, 19)).map(|(a, b)| format!("{a} {b}\n")).collect();
    let folder = TestFolder::with(&[("graph.txt", edges)]);
    let says = ["1 pair is of nodes not linked", "valid-negative-ratio", "test-negative-ratio"];
    for task in ["link-prediction", "graph-reconstruction"] {
        folder.refuses(&format!("train graph.txt --task {task} {FAST}"), 1, &says);
    }
    let ratios = "--valid-negative-ratio 0.005 --test-negative-ratio 0.005";
    folder.nigh(&format!("train graph.txt --model gcn {ratios} {FAST} -q")).ok();
}

#[test]
fn a_graph_too_small_to_split_is_refused() {
    let cases = [
        ("a b\n", "link-prediction", "can't be split"),
        ("a b\nb c\n", "link-prediction", "can't be split"),
        ("a b\nb c\na c\n", "link-prediction", "every pair of nodes is linked"),
        ("a b\nb c\na c\n", "graph-reconstruction", "every pair of nodes is linked"),
    ];
    for (edges, task, says) in cases {
        let folder = TestFolder::with(&[("graph.txt", edges)]);
        folder.refuses(&format!("train graph.txt --task {task} {FAST} --out model"), 1, &[says]);
    }
}

#[test]
fn features_that_miss_or_repeat_a_node_or_hold_no_number_are_refused() {
    let whole = graphs::features();
    let cases = [
        (whole.replace("dee7,", "new,"), vec!["features.csv", "have no row", "`dee7`"]),
        (format!("{whole}ada0,1,2,3\n"), vec!["features.csv:33:", "`ada0` has a row already, on line 1"]),
        (whole.replace("ada1,1,", "ada1,NaN,"), vec!["features.csv:2: column 2", "`NaN` is not a finite number"]),
        (whole.replace("ada1,1,", "ada1,1e39,"), vec!["features.csv:2: column 2", "`1e39` is not a finite number"]),
        (whole.replace("ada1,1,", "ada1,,"), vec!["features.csv:2: column 2", "is not a finite number"]),
        (whole.replace("ada1,1,", "ada1,"), vec!["features.csv:2:", "3 columns, but the lines above have 4"]),
        ("id,age,size\n".to_string(), vec!["features.csv", "no rows"]),
        (String::new(), vec!["features.csv", "no rows"]),
        ("ada0\n".to_string(), vec!["features.csv:1:", "one column"]),
    ];
    for (features, says) in cases {
        let folder = people();
        folder.write("features.csv", features);
        folder.refuses(&format!("train edges.txt --features features.csv {FAST}"), 1, &says);
    }
}

#[test]
fn a_first_row_of_features_with_text_is_not_a_header_if_it_names_a_node() {
    let folder = people();
    folder.write("features.csv", graphs::features().replace("ada0,0,0,0\n", "ada0,zero,zero,zero\n"));
    folder.refuses(&format!("train edges.txt --features features.csv {FAST}"), 1, &["features.csv:1:", "`zero`"]);
}

#[test]
fn labels_that_do_not_fit_are_refused() {
    let cases = [
        ("ada0,x\nnobody,y\n", "node-classification", vec!["labels.csv:2:", "`nobody` is not in the graph"]),
        ("ada0,x\nada0,y\n", "node-classification", vec!["1 labelled nodes can't be split"]),
        ("ada0,x\nada0,y\n", "pairwise-node-classification", vec!["several labels each", "take node-classification"]),
        ("ada0,0,1\nada1,1,2\n", "node-classification", vec!["labels.csv:2:", "column 3 has 2; expected 0 or 1"]),
        ("ada0,x\nada1\n", "node-classification", vec!["labels.csv:2:", "1 columns, but the lines above have 2"]),
        ("ada0,x,1\n", "node-classification", vec!["labels.csv:1:", "3 columns; expected an id and its label"]),
        ("ada0,x\n,y\n", "node-classification", vec!["labels.csv:2:", "column 1 is empty"]),
        ("ada0,x\nada1,\n", "node-classification", vec!["1 row of labels.csv has no label", "1 class"]),
        ("", "node-classification", vec!["labels.csv", "no labels"]),
        ("ada0,x\nada1,y\n", "node-classification", vec!["too small to split"]),
        ("ada0,x\nada1,x\nada2,x\n", "node-classification", vec!["1 class"]),
        ("ada0,x\nada1,x\nada2,x\n", "pairwise-node-classification", vec!["labelled nodes of 1 class"]),
        ("ada0,x\nada1,y\nada2,z\n", "pairwise-node-classification", vec!["same label", "can't be split"]),
    ];
    for (labels, task, says) in cases {
        let folder = people();
        folder.write("labels.csv", labels);
        folder.refuses(&format!("train edges.txt --labels labels.csv --task {task} {FAST}"), 1, &says);
    }
}

#[test]
fn a_class_of_its_own_for_every_node_is_refused() {
    let folder = people();
    folder.write("labels.csv", graphs::people().iter().map(|id| format!("{id},{id}\n")).collect::<String>());
    let line = format!("train edges.txt --labels labels.csv {FAST}");
    folder.refuses(&format!("{line} --task node-classification"), 1, &["too small to split"]);
    folder.refuses(&format!("{line} --task pairwise-node-classification"), 1, &["same label"]);
    let sampled = format!("{line} --task pairwise-node-classification --same-label-pairs sampled");
    folder.refuses(&sampled, 1, &["no two nodes have the same label"]);
}

#[test]
fn a_task_that_needs_labels_asks_for_them() {
    let folder = people();
    for task in ["node-classification", "pairwise-node-classification"] {
        folder.refuses(&format!("train edges.txt --task {task} {FAST}"), 1, &["needs labels", "--labels FILE"]);
    }
}

#[test]
fn a_built_in_graph_without_labels_does_not_ask_for_labels_that_it_would_refuse() {
    let folder = people();
    folder.refuses("train communities --labels labels.csv", 1, &["`communities` is built in", "labels.csv"]);
    folder.refuses("train grid --task node-classification", 1, &["labels"]);
    let stderr = folder.nigh("train grid --task node-classification").stderr;
    assert!(!stderr.contains("--labels FILE"), "{stderr}");
}

#[test]
fn names_that_do_not_exist_are_answered_with_those_that_do() {
    let folder = people();
    let cases = [
        ("train comunities", 1, vec!["unknown graph `comunities`", "did you mean `communities`"]),
        ("train xyzzy", 1, vec!["unknown graph `xyzzy`", "known are grid, communities, leaders"]),
        ("train edges.txt --model smp-liner", 2, vec!["unknown model `smp-liner`", "did you mean `smp-linear`"]),
        ("train edges.txt --model SGC", 2, vec!["unknown model `SGC`", "did you mean `sgc`"]),
        ("train edges.txt --task link-predicton", 2, vec!["`link-predicton`", "did you mean `link-prediction`"]),
        ("train edges.txt --task classify", 2, vec!["unknown task `classify`", "node-classification"]),
        ("train edges.txt --protocol publish", 2, vec!["`publish`", "did you mean `published`"]),
        ("train edges.txt --signal normal", 2, vec!["`normal`", "gaussian"]),
        ("train edges.txt --refresh fixd", 2, vec!["`fixd`", "did you mean `fixed`"]),
        ("train edges.txt --decoder dot", 2, vec!["`dot`", "inner-product"]),
        ("train edges.txt --metric f1", 2, vec!["`f1`", "macro-f1"]),
        ("train edges.txt --metric accuracy", 2, vec!["`metric` is accuracy", "judged by auc"]),
        ("train edges.txt --hop 2", 2, vec!["--hop", "--hops"]),
        ("trian edges.txt", 2, vec!["trian", "train"]),
        ("train", 2, vec!["<GRAPH>"]),
        ("train edges.txt --resume", 2, vec!["--out <DIR>"]),
        ("train edges.txt --checkpoint-every 5", 2, vec!["--out <DIR>"]),
    ];
    cases.iter().for_each(|(line, code, says)| folder.refuses(line, *code, says));
}

#[test]
fn sizes_out_of_range_are_refused() {
    let folder = people();
    let cases = [
        ("--hops 0", "`hops` is 0"),
        ("--hops 1000", "`hops` is 1000, but expected a whole number from 1 to 64"),
        ("--width 0", "`width` is 0"),
        ("--signal-dim 0", "`signal-dim` is 0"),
        ("--epochs 0", "`epochs` is 0"),
        ("--repeats 0", "`repeats` is 0"),
        ("--evaluate-every 0", "`evaluate-every` is 0"),
        ("--checkpoint-every 0", "`checkpoint-every` is 0"),
        ("--threads 0", "`threads` is 0"),
        ("--threads 99999", "`threads` is 99999"),
        ("--dropout 1", "`dropout` is 1"),
        ("--dropout -0.1", "`dropout` is -0.1"),
        ("--learning-rate 0", "`learning-rate` is 0"),
        ("--learning-rate nan", "`learning-rate` is NaN"),
        ("--weight-decay -1", "`weight-decay` is -1"),
        ("--clip-norm -1", "`clip-norm` is -1"),
        ("--valid-fraction 0", "`valid-fraction` is 0"),
        ("--test-fraction 1", "`test-fraction` is 1"),
        ("--valid-fraction 0.9 --test-fraction 0.9", "nothing is left to train on"),
        ("--seed 9007199254740993", "from 0 to 2^53"),
        ("--seed 99999999999999999999", "99999999999999999999"),
        ("--width wide", "wide"),
        ("--width 3.5", "3.5"),
    ];
    for (options, says) in cases {
        folder.refuses(&format!("train edges.txt --out model {options}"), 2, &[says]);
    }
}

#[test]
fn a_negative_size_is_answered_with_what_would_be_right() {
    let folder = people();
    for option in
        ["--hops", "--width", "--signal-dim", "--epochs", "--repeats", "--threads", "--seed", "--train-per-class"]
    {
        folder.refuses(&format!("train edges.txt {option} -1"), 2, &["-1", option, "whole number"]);
    }
}

#[test]
fn sizes_beyond_all_bounds_are_wrong_usage() {
    let folder = people();
    for option in ["--batch-size", "--decay-at", "--seed", "--train-per-class"] {
        let line = format!("train edges.txt {FAST} {option} 18446744073709551615");
        folder.refuses(&line, 2, &[&option[2..]]);
    }
}

#[test]
fn more_nodes_per_class_than_there_are_is_refused() {
    let folder = people();
    let line = format!("train edges.txt --labels labels.csv --task node-classification {FAST}");
    folder.refuses(&format!("{line} --train-per-class 50"), 1, &["class `team-ada` has 8 labelled nodes"]);
    folder.refuses(&format!("{line} --train-per-class 2 --valid-per-class 0"), 2, &["`valid-per-class` is 0"]);
}

#[test]
fn a_number_of_nodes_per_class_that_overflows_is_refused() {
    let many = "9223372036854775807";
    let line = format!("train edges.txt --labels labels.csv --task node-classification {FAST}");
    let sizes = format!("--train-per-class {many} --valid-per-class {many} --test-per-class {many}");
    let stderr = people().nigh(&format!("{line} {sizes}")).stderr;
    assert!(stderr.starts_with("error: "), "{stderr}");
}

#[test]
fn a_file_that_is_missing_or_a_folder_is_named() {
    let folder = people_with_model();
    std::fs::create_dir(folder.path("folder")).unwrap();
    for file in ["missing.txt", "folder/missing", "folder"] {
        folder.refuses(&format!("train {file} {FAST}"), 1, &[file]);
        folder.refuses(&format!("train edges.txt --features {file} {FAST}"), 1, &[file]);
        folder.refuses(&format!("train edges.txt --labels {file} {FAST}"), 1, &[file]);
        folder.refuses(&format!("train edges.txt --config {file} {FAST}"), 1, &[file]);
        folder.refuses(&format!("predict model edges.txt --pairs {file}"), 1, &[file]);
    }
    let says = ["missing.txt", "a graph is a file of edges or one of grid, communities"];
    folder.refuses("evaluate model missing.txt", 1, &says);
}

#[test]
fn a_missing_file_of_another_kind_gives_no_hint_about_graphs() {
    let folder = people_with_model();
    for line in [
        "train edges.txt --features missing.csv",
        "train edges.txt --labels missing.csv",
        "train edges.txt --config missing.toml",
        "predict model edges.txt --pairs missing.csv",
    ] {
        let answer = folder.nigh(line);
        assert_eq!(answer.code, Some(1), "{line}");
        assert!(!answer.stderr.contains("a graph is a file of edges"), "nigh {line}\n{}", answer.stderr);
    }
}

#[test]
fn a_cause_is_reported_once() {
    let stderr = people().nigh("train missing.txt").stderr;
    assert_eq!(stderr.to_lowercase().matches("no such file").count(), 1, "{stderr}");
}

#[test]
fn a_file_of_settings_that_is_wrong_is_refused_with_its_line() {
    let cases: [(&[u8], &[&str]); 6] = [
        (b"epochs = 10\n\nhop = 2\n", &["settings.toml:3:", "unknown setting `hop`", "did you mean `hops`"]),
        (b"epochs = 10\nhops = \"two\"\n", &["settings.toml:2:", "two"]),
        (b"epochs = 10\nepochs -5\n", &["settings.toml:2:"]),
        (b"task = \"link\"\n", &["settings.toml:1:", "unknown task `link`", "did you mean `link-prediction`"]),
        (b"[train]\nepochs = 3\n", &["settings.toml:1:", "unknown setting `train`"]),
        (b"\xff\xfe", &["settings.toml", "UTF-8"]),
    ];
    for (settings, says) in cases {
        let folder = people();
        folder.write("settings.toml", settings);
        folder.refuses("train edges.txt --config settings.toml --out model", 1, says);
    }
}

#[test]
fn an_unknown_setting_with_the_prefix_of_a_known_one_is_found() {
    let folder = people();
    folder.write("settings.toml", "hops = 2\nhop = 3\n");
    folder.refuses("train edges.txt --config settings.toml", 1, &["settings.toml:2:", "unknown setting `hop`"]);
}

#[test]
fn a_setting_that_is_given_twice_is_refused_with_the_line_of_the_second() {
    let folder = people();
    folder.write("settings.toml", "epochs = 10\nhops = 2\nepochs = 20\n");
    folder.refuses("train edges.txt --config settings.toml", 1, &["settings.toml:3:", "duplicate"]);
}

#[test]
fn a_value_out_of_range_in_a_file_is_a_fault_of_the_file() {
    let folder = people();
    let cases = [("hops = 0\n", "`hops` is 0"), ("model = \"smp-liner\"\n", "did you mean `smp-linear`")];
    for (settings, says) in cases {
        folder.write("settings.toml", settings);
        folder.refuses("train edges.txt --config settings.toml", 1, &["settings.toml", says]);
    }
}

#[test]
fn settings_of_a_file_that_contradict_each_other_are_a_fault_of_the_file() {
    let folder = people();
    let cases = [
        ("valid-fraction = 0.9\ntest-fraction = 0.9\n", "nothing is left to train on"),
        ("task = \"link-prediction\"\nmetric = \"accuracy\"\n", "judged by auc"),
        ("task = \"node-classification\"\nmodel = \"smp-identity\"\n", "take smp-linear"),
    ];
    for (settings, says) in cases {
        folder.write("settings.toml", settings);
        folder.refuses("train edges.txt --labels labels.csv --config settings.toml", 1, &["settings.toml", says]);
    }
}

#[test]
fn a_wrong_type_in_a_file_is_reported_without_type_names() {
    let folder = people();
    for settings in ["refresh = true\n", "train-per-class = -1\n", "epochs = 2.5\n", "seed = 99999999999999999999\n"] {
        folder.write("settings.toml", settings);
        folder.refuses("train edges.txt --config settings.toml", 1, &["settings.toml:1:"]);
        let stderr = folder.nigh("train edges.txt --config settings.toml").stderr;
        for jargon in ["untagged", "enum", "usize", "i128", "u64"] {
            assert!(!stderr.contains(jargon), "`{jargon}` in the answer to {settings}{stderr}");
        }
    }
}

#[test]
fn an_output_that_exists_is_left_alone() {
    let folder = people_with_model();
    folder.write("notes.txt", "mine\n");
    std::fs::create_dir(folder.path("empty")).unwrap();
    for out in ["model", "model/", "empty", "notes.txt", "."] {
        folder.refuses(&format!("train edges.txt {FAST} --out {out}"), 1, &["exists already"]);
    }
    folder.refuses(&format!("train edges.txt {FAST} --out notes.txt/model"), 1, &["notes.txt"]);
    folder.refuses("predict model edges.txt --node ada0 --out empty", 1, &["empty"]);
}

#[test]
fn a_run_that_fails_removes_the_folders_it_created() {
    let folder = people();
    folder.refuses("train missing.txt --out new/model", 1, &["missing.txt"]);
    folder.refuses("train edges.txt --hops 0 --out new/model", 2, &["`hops` is 0"]);
    let diverging = format!("train edges.txt {FAST} --learning-rate 1e30 --out new/model");
    folder.refuses(&diverging, 1, &["diverged"]);
}

#[test]
fn folders_above_the_output_are_created() {
    let folder = people();
    folder.nigh(&format!("train edges.txt {FAST} -q --out new/and/newer/")).ok();
    folder.nigh("evaluate new/and/newer edges.txt -q").ok();
    folder.nigh("embed new/and/newer edges.txt -q --out vectors/of/mine.npy").ok();
    folder.nigh("predict new/and/newer edges.txt -q --node ada0 --out links/of/hers.csv").ok();
    assert!(folder.path("vectors/of/mine.npy").exists() && folder.path("links/of/hers.csv").exists());
    assert_eq!(std::fs::read_dir(folder.path("new/and")).unwrap().count(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn an_output_that_can_not_be_written_is_refused_before_training() {
    let folder = people();
    let line = format!("train edges.txt {FAST} --out /proc/model");
    folder.refuses(&line, 1, &["/proc/model"]);
    assert!(!folder.nigh(&line).stderr.contains("repeat 1/1"), "it trained first");
}

#[test]
fn an_embedding_of_another_format_is_wrong_usage() {
    let folder = people_with_model();
    let says = [".npy, .csv, .parquet, .safetensors, .vec"];
    folder.refuses("embed model edges.txt --out vectors.xls", 2, &says);
    folder.refuses("embed model edges.txt --out vectors", 2, &says);
}

#[test]
fn pairs_and_nodes_that_are_not_in_the_graph_are_refused() {
    let folder = people_with_model();
    let cases = [
        ("ada0 ada1\nada0 nobody\n", "pairs.txt:2: node `nobody` is not in the graph"),
        ("ada0\n", "pairs.txt:1: `ada0` is one column"),
        ("", "no pairs"),
    ];
    for (pairs, says) in cases {
        folder.write("pairs.txt", pairs);
        folder.refuses("predict model edges.txt --pairs pairs.txt --out scores.csv", 1, &[says]);
    }
    folder.refuses("predict model edges.txt --node ada", 1, &["node `ada` is not in the graph", "did you mean `ada"]);
    folder.refuses("predict model edges.txt --node ada0 --top 0", 2, &["`top` is 0"]);
    folder.refuses("predict model edges.txt --top 3", 2, &["--node <ID>"]);
    folder.refuses("predict model edges.txt --node ada0 --pairs pairs.txt", 2, &["--pairs", "--node"]);
}

#[test]
fn only_the_first_line_can_be_a_header() {
    let edges = "name first\nname second\nfirst second\nsecond third\nthird fourth\n";
    let folder = TestFolder::with(&[("graph.txt", edges)]);
    let result = folder.nigh(&format!("train graph.txt {FAST} -q --json")).json();
    assert!(result["num_edges"].as_u64().unwrap() >= 4, "{} of 5 edges were read", result["num_edges"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported_and_a_closed_pipe_is_not() {
    let folder = TestFolder::new();
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = folder.command("certify grid -q").stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: "));
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = folder.command("certify grid -q").stdout(writer).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
