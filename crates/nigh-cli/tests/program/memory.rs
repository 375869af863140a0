//! Graphs beyond memory: `propagate`, `embed --memory` and `estimate`. Every plan gives the same bytes and keeps to its limit.

use crate::sample_graphs as graphs;
use crate::test_folder::{Answer, TestFolder};

const TRAIN: &str = "--epochs 10 --repeats 1 -q --out model";

/// The peak that a run printed, in bytes.
fn peak(stderr: &str) -> f64 {
    let text = stderr.split("peak memory ").nth(1).expect("a peak").trim();
    let (number, unit) = text.split_once(' ').expect("a number and a unit");
    let size = match unit.trim() {
        "MiB" => 1048576.0,
        "GiB" => 1073741824.0,
        other => panic!("{other}"),
    };
    number.parse::<f64>().expect("a number") * size
}

/// Runs a command within each limit. It has to say which plan it takes, to keep to 1.1 times the limit, and to leave the same result.
#[cfg(target_os = "linux")]
fn same_within<T: PartialEq>(
    folder: &TestFolder,
    line: &str,
    limits: &[(f64, &str)],
    mut result: impl FnMut(Answer) -> T,
) -> T {
    let mut expected = None;
    for &(limit, way) in limits {
        let answer = folder.nigh(&format!("{line} --memory {limit}"));
        assert!(answer.code == Some(0) && answer.stderr.contains(way), "{limit}: {}", answer.stderr);
        let peak = peak(&answer.stderr);
        assert!(peak <= 1.1 * limit, "{way}: {peak} of {limit}");
        let found = result(answer);
        assert!(expected.as_ref().is_none_or(|expected| *expected == found), "{way}: another result");
        expected = Some(found);
    }
    expected.expect("a limit")
}

#[test]
#[cfg(target_os = "linux")]
fn every_plan_has_the_same_bytes_and_keeps_to_its_memory() {
    let folder = TestFolder::new();
    folder.nigh("data convert ppa-sized -q --out graph.nigh").ok();
    let limits = [
        (660_000_000.0, "in memory, 64 columns"),
        (490_000_000.0, "in panels of columns, edges in memory, 32 columns"),
        (200_000_000.0, "out of core"),
        (160_000_000.0, "8 columns"),
        (115_000_000.0, "4 columns"),
    ];
    same_within(&folder, "propagate graph.nigh --signal-dim 64 --out x.npy", &limits, |_| folder.read("x.npy"));
    folder.refuses(
        "propagate graph.nigh --signal-dim 64 --out x.npy --memory 100MiB",
        2,
        &["`memory` is 100 MiB", "takes", "MiB at least", "--hop-storage float16"],
    );
}

#[test]
#[cfg(target_os = "linux")]
fn small_graphs_keep_to_small_limits() {
    let folder = TestFolder::new();
    let pairs = (0..500_000u64).map(|at| (at * 48_271 % 99_991, at * 69_621 % 99_989));
    folder.write("edges.txt", pairs.map(|(a, b)| format!("{a} {b}\n")).collect::<String>());
    folder.nigh("data convert edges.txt -q --out graph.nigh").ok();
    for graph in ["edges.txt", "graph.nigh"] {
        for out in ["x.npy", "x.parquet"] {
            let limits = [(150.0 * 1048576.0, "in memory, 64 columns")];
            same_within(&folder, &format!("propagate {graph} --signal-dim 64 --out {out}"), &limits, |_| ());
        }
        // The program alone takes no more than a few megabytes beside its plan.
        let limits = [(100.0 * 1048576.0, "columns at a time")];
        same_within(&folder, &format!("propagate {graph} --signal-dim 32 --out x.npy"), &limits, |_| ());
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_training_on_sampled_pairs_keeps_to_its_memory_and_learns_the_same() {
    let folder = TestFolder::new();
    folder.nigh("data convert ppa-sized -q --out graph.nigh").ok();
    let train = "train graph.nigh --model smp-linear --signal-dim 64 --pairs-per-epoch 2000 --epochs 6 --repeats 1";
    let limits = [
        (800_000_000.0, "in memory, 64 columns"),
        (620_000_000.0, "in panels of columns, edges in memory"),
        (500_000_000.0, "out of core"),
        (410_000_000.0, "out of core"),
    ];
    same_within(&folder, &format!("{train} --out model"), &limits, |_| {
        let files = std::fs::read_dir(folder.path("model")).unwrap().map(|file| file.unwrap().path());
        let mut files: Vec<_> = files.map(|file| (file.clone(), std::fs::read(&file).unwrap())).collect();
        files.sort();
        std::fs::remove_dir_all(folder.path("model")).unwrap();
        files
    });
    assert_eq!(std::fs::read_dir(folder.path(".")).unwrap().count(), 1, "nothing but the graph file stays");
    // Under a limit of the system: so much memory, the program itself, and what threads reserve for stacks and heaps.
    let under = |limit: usize, system: usize| {
        let kib = (system + (192 << 20)) / 1024;
        let program = env!("CARGO_BIN_EXE_nigh");
        let line = format!("ulimit -v {kib} && exec {program} {train} --threads 2 -q --memory {limit}");
        let output = std::process::Command::new("sh").arg("-c").arg(line).current_dir(folder.path(".")).output();
        output.unwrap().status.success()
    };
    assert!(under(500_000_000, 550_000_000), "it takes more than 1.1 times its limit");
    assert!(!under(900_000_000, 550_000_000), "the system refuses what is beyond it");
    folder.refuses(
        &format!("{train} --memory 300MB"),
        2,
        &["`memory` is", "at least", "float16", "reduce pairs-per-epoch"],
    );
    folder.refuses(
        "train graph.nigh --model smp-linear --memory 300MB",
        2,
        &["this run takes", "pairs-per-epoch", "nigh data convert"],
    );
    let settings = "--model smp-linear --signal-dim 64 --pairs-per-epoch 2000 --epochs 6";
    let found = folder.nigh(&format!("estimate graph.nigh {settings} --memory 900MB --json"));
    let sampled = &found.json()["runs"]["train"];
    assert_eq!((&sampled["way"], &sampled["fits"]), (&"in-memory".into(), &true.into()));
    let parts = sampled["memory"].as_array().unwrap();
    assert!(["pairs", "gathered rows"].iter().all(|name| parts.iter().any(|part| part["part"] == *name)), "{parts:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_certificate_is_the_same_on_every_plan_and_keeps_to_its_memory() {
    let folder = TestFolder::new();
    folder.nigh("data convert ppa-sized -q --out graph.nigh").ok();
    let certify = "certify graph.nigh --signal-dim 48 --pairs 40 --json";
    let limits = [
        (660_000_000.0, "in memory, 48 columns"),
        (490_000_000.0, "in panels of columns, edges in memory, 32 columns"),
        (170_000_000.0, "out of core"),
    ];
    let found = same_within(&folder, certify, &limits, |answer| answer.json());
    assert!(found["num_pairs"] == 40 && found["signal_dim"] == 48 && found["mean_error"].as_f64().unwrap() > 0.0);
    assert_eq!(std::fs::read_dir(folder.path(".")).unwrap().count(), 1, "nothing but the graph file stays");
    folder.refuses(&format!("{certify} --memory 100MiB"), 2, &["`memory` is 100 MiB", "at least", "fewer pairs"]);
}

#[test]
#[cfg(target_os = "linux")]
fn classes_of_a_large_graph_keep_to_their_memory() {
    let folder = TestFolder::new();
    folder.nigh("data convert ppa-sized -q --out graph.nigh").ok();
    folder
        .write("labels.csv", (0..3_000).map(|at| format!("{},{}\n", 190 * at, ["x", "y"][at % 2])).collect::<String>());
    let settings = "--labels labels.csv --task node-classification --model smp-linear --epochs 2 --repeats 1";
    folder.nigh(&format!("train graph.nigh {settings} -q --out model")).ok();
    let limits = [(735_000_000.0, "in memory"), (390_000_000.0, "out of core"), (240_000_000.0, "16 columns")];
    let found = same_within(&folder, "predict model graph.nigh --out a.csv", &limits, |_| folder.read("a.csv"));
    folder.nigh("predict model graph.nigh -q --out b.csv").ok();
    assert!(found == folder.read("b.csv"), "as without a limit");
    folder.refuses("predict model graph.nigh --out c.csv --memory 110MB", 2, &["this run takes"]);
}

#[test]
fn classes_within_a_limit_are_those_without() {
    let folder = TestFolder::with(&[("edges.txt", graphs::edges()), ("labels.csv", graphs::labels())]);
    folder.nigh("data convert edges.txt -q --out graph.nigh").ok();
    let several = graphs::labels() + "ada3,team-bob\nbob3,team-ada\n";
    for labels in [graphs::labels(), several] {
        folder.write("labels.csv", labels);
        let settings = "--labels labels.csv --task node-classification --model smp-linear --split random";
        folder.nigh(&format!("train edges.txt {settings} {TRAIN}")).ok();
        let expected = folder.nigh("predict model edges.txt -q").ok();
        assert_eq!(expected.lines().count(), 33, "{expected}");
        folder.nigh("predict model edges.txt -q --out a.parquet").ok();
        for graph in ["edges.txt", "graph.nigh"] {
            let found = folder.nigh(&format!("predict model {graph} --memory 1GiB"));
            assert!(found.stderr.contains("columns at a time") && found.stderr.contains("peak memory"));
            assert_eq!(found.ok(), expected, "{graph}");
            folder.nigh(&format!("predict model {graph} -q --memory 1GiB --out b.csv")).ok();
            assert_eq!(folder.text("b.csv"), expected, "{graph}");
            folder.nigh(&format!("predict model {graph} -q --memory 1GiB --out b.parquet")).ok();
            assert_eq!(folder.read("b.parquet"), folder.read("a.parquet"), "{graph}");
        }
        std::fs::remove_file(folder.path("b.csv")).unwrap();
        folder.refuses("predict model edges.txt --memory 1MiB --out b.csv", 2, &["this run takes"]);
        assert!(!folder.path("b.csv").exists());
        std::fs::remove_dir_all(folder.path("model")).unwrap();
    }
}

#[test]
fn scores_and_links_within_a_limit_are_those_without() {
    let folder = TestFolder::with(&[("edges.txt", graphs::edges())]);
    folder.nigh("data convert edges.txt -q --out graph.nigh").ok();
    let text = graphs::edges();
    let node = text.split([' ', ',', '\t', '\n']).next().unwrap();
    for settings in
        ["--model smp-linear", "--model smp-mlp --decoder hadamard-mlp", "--model auto", "--model gcn", "--model katz"]
    {
        folder.nigh(&format!("train edges.txt {settings} {TRAIN}")).ok();
        let links = format!("--node {node} --top 5");
        for asked in ["--pairs edges.txt", &links, &format!("{links} --include-existing")] {
            let expected = folder.nigh(&format!("predict model edges.txt -q {asked}")).ok();
            for graph in ["edges.txt", "graph.nigh"] {
                let found = folder.nigh(&format!("predict model {graph} {asked} --memory 1GiB"));
                assert!(found.stderr.contains("columns at a time"), "{}", found.stderr);
                assert_eq!(found.ok(), expected, "{settings} {asked} {graph}");
            }
        }
        folder.refuses("predict model edges.txt --pairs edges.txt --memory 1MiB", 2, &["this run takes"]);
        folder.refuses("predict model edges.txt --node nobody --memory 1GiB", 1, &["`nobody` is not in the graph"]);
        std::fs::remove_dir_all(folder.path("model")).unwrap();
    }
}

#[test]
fn vectors_within_a_limit_are_those_without() {
    let folder = TestFolder::with(&[("edges.txt", graphs::edges())]);
    folder.nigh("data convert edges.txt -q --out graph.nigh").ok();
    for (model, settings) in [
        ("smp-linear", ""),
        ("smp-signal", "--refresh resampled"),
        ("smp-mlp", "--signal-dim 40 --hop-storage float16"),
        ("smp-proximity", ""),
        ("gcn", ""),
    ] {
        folder.nigh(&format!("train edges.txt --model {model} {settings} {TRAIN}")).ok();
        folder.nigh("embed model edges.txt -q --out a.npy").ok();
        for graph in ["edges.txt", "graph.nigh"] {
            let answer = folder.nigh(&format!("embed model {graph} --out b.npy --memory 1GiB"));
            assert!(answer.code == Some(0) && answer.stderr.contains("in memory"), "{}", answer.stderr);
            assert_eq!(folder.read("a.npy"), folder.read("b.npy"), "{model} {graph}");
            assert_eq!(folder.read("a.npy.ids.txt"), folder.read("b.npy.ids.txt"), "{model} {graph}");
        }
        std::fs::remove_dir_all(folder.path("model")).unwrap();
    }
}

#[test]
fn a_model_that_runs_in_memory_says_so_where_the_limit_is_too_low() {
    let folder = TestFolder::with(&[("edges.txt", graphs::edges()), ("labels.csv", graphs::labels())]);
    folder.nigh(&format!("train edges.txt --model gcn {TRAIN}")).ok();
    let reason = ["`memory` is 1 MiB, but this run takes", "gcn runs in memory", "hint: ", "nigh data convert"];
    for line in ["predict model edges.txt --pairs edges.txt", "embed model edges.txt --out x.npy"] {
        folder.refuses(&format!("{line} --memory 1MiB"), 2, &reason);
    }
    assert!(!folder.path("x.npy").exists());
    std::fs::remove_dir_all(folder.path("model")).unwrap();
    folder.nigh(&format!("train edges.txt --labels labels.csv --task node-classification {TRAIN}")).ok();
    let expected = folder.nigh("predict model edges.txt -q").ok();
    assert_eq!(folder.nigh("predict model edges.txt -q --memory 1GiB").ok(), expected);
    folder.refuses("predict model edges.txt --memory 1MiB", 2, &["smp-gated runs in memory"]);
}

#[test]
fn metrics_on_a_split_of_ones_own_within_a_limit_are_those_without() {
    let folder = TestFolder::with(&[("edges.txt", graphs::edges())]);
    folder.nigh("split edges.txt --seed 3 -q --out parts").ok();
    folder.nigh(&format!("train edges.txt --split parts --model smp-linear {TRAIN}")).ok();
    let expected = folder.nigh("evaluate model edges.txt --split parts -q --json").ok();
    assert_eq!(folder.nigh("evaluate model edges.txt --split parts -q --json --memory 1GiB").ok(), expected);
    folder.refuses("evaluate model edges.txt --split parts --memory 1MiB", 2, &["this run takes"]);
}

#[test]
fn rows_of_parquet_are_those_of_npy() {
    let folder = TestFolder::with(&[("edges.txt", graphs::edges().replace('1', "x"))]);
    folder.nigh("propagate edges.txt -q --out a.parquet").ok();
    folder.nigh("propagate edges.txt -q --out a.npy --seed 1 --memory 1GiB").ok();
    let file = nigh::formats::columnar::Columnar::open(&folder.path("a.parquet")).unwrap();
    assert_eq!(file.names()[..3], ["id", "h0", "h1"]);
    let array = nigh::formats::npy::open(&folder.path("a.npy")).unwrap();
    let (rows, values) = (array.shape()[0], array.floats().unwrap());
    let nigh::formats::columnar::Batch { columns, .. } = file.batches(&[0, 32]).unwrap().next().unwrap().unwrap();
    let nigh::formats::columnar::ColumnValues::Texts(ids) = &columns[0] else { panic!("names") };
    assert_eq!(ids.iter().collect::<Vec<_>>(), folder.text("a.npy.ids.txt").lines().collect::<Vec<_>>());
    let last = (0..rows).map(|row| values[32 * row + 31]).collect();
    assert_eq!(columns[1], nigh::formats::columnar::ColumnValues::Numbers(last));
}

#[test]
fn what_a_run_takes_is_told_before_it_is_started() {
    let folder = TestFolder::with(&[("edges.txt", graphs::edges())]);
    let large = "estimate --nodes 50000000 --edges 1000000000";
    let found = folder.nigh(&format!("{large} --memory 8GiB --json")).json();
    assert_eq!(found["propagation"]["way"], "out-of-core");
    assert_eq!(
        (&found["propagation"]["panel_width"], &found["graph_file_bytes"]),
        (&16.into(), &8_400_000_008u64.into())
    );
    assert!(found["propagation"]["memory_bytes"].as_f64().unwrap() <= 8.0 * 1073741824.0);
    assert_eq!(found["propagation"]["disk_bytes"], 6_400_000_000u64);
    assert!(found["propagation"]["seconds"].as_f64().unwrap() > 1.0);
    assert_eq!((&found["model"], &found["runs"]["train"]["fits"]), (&"smp-proximity".into(), &true.into()));
    assert!(found["runs"]["train"]["memory_bytes"].as_f64().unwrap() <= 8.0 * 1073741824.0);
    let refused = folder.nigh(&format!("{large} --memory 8GiB --model gcn --json")).json()["runs"]["train"].clone();
    assert!(refused["fits"] == false && refused["problem"].as_str().unwrap().contains("gcn runs in memory"));
    let gcn = folder.nigh("estimate --nodes 1000000 --edges 6000000 --model gcn --json").json();
    let bytes = ["train", "evaluate", "embed", "predict"].map(|run| gcn["runs"][run]["memory_bytes"].as_u64().unwrap());
    assert!(bytes[1..].iter().all(|&used| used > 100 << 20 && used < bytes[0]), "{bytes:?}");
    let text = folder.nigh(&format!("{large} --memory 8GiB")).ok();
    for words in ["50000000 nodes, 1000000000 edges", "panels of Ã^K E", "out of core", "16 columns", "measured here"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    folder.nigh("data convert edges.txt -q --out graph.nigh").ok();
    let counts = |graph: &str| folder.nigh(&format!("estimate {graph} --json")).json()["num_edges"].clone();
    assert_eq!(counts("graph.nigh"), counts("edges.txt"));
    folder.refuses(&format!("{large} --memory 1GiB"), 2, &["this run takes", "at least"]);
    folder.refuses("estimate --nodes 5", 2, &["--edges"]);
    folder.refuses("estimate --nodes 5 --edges 9 --task node-classification", 2, &["labels", "name a graph"]);
    folder.refuses("estimate", 2, &["GRAPH"]);
}

#[test]
fn a_training_that_would_not_fit_is_refused_with_what_it_takes() {
    let folder = TestFolder::with(&[("edges.txt", graphs::edges())]);
    folder.refuses("train edges.txt --memory 1MiB", 2, &["this run takes", "at least", "graph file", "hop-storage"]);
    folder.refuses("train edges.txt --memory lots", 2, &["such as 8GiB"]);
    let result =
        folder.nigh("train edges.txt --memory 1GiB --model smp-linear --epochs 5 --repeats 1 --json -q").json();
    assert!(result["peak_rss_bytes"].as_f64().is_none_or(|peak| peak < 1.1 * 1073741824.0));
    for command in ["predict model edges.txt --pairs edges.txt", "certify edges.txt"] {
        folder.nigh(&format!("train edges.txt --model smp-linear {TRAIN}"));
        folder.refuses(&format!("{command} --memory 1MiB"), 2, &["this run takes"]);
    }
}
