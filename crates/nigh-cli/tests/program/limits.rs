//! Limits of the system, of any kind: what is too large, has no end or is no file is an error, and leaves nothing behind.

use crate::sample_graphs as graphs;
use crate::test_folder::TestFolder;
use std::process::{Command, Output};

const TRAIN: &str = "--model smp-linear --epochs 2 --repeats 1 -q";

/// Runs `nigh` under limits of the shell.
#[cfg(target_os = "linux")]
fn under(folder: &TestFolder, limits: &str, line: &str) -> Output {
    let line = format!("{limits} && exec {} {line}", env!("CARGO_BIN_EXE_nigh"));
    Command::new("sh").arg("-c").arg(line).current_dir(folder.path(".")).output().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn a_limit_on_the_size_of_files_is_an_error_that_leaves_nothing_behind() {
    let folder = TestFolder::with(&[("edges.txt", graphs::edges())]);
    folder.nigh(&format!("train edges.txt {TRAIN} --out model")).ok();
    let before = folder.files("");
    for line in [
        "data convert edges.txt -q --out graph.nigh",
        "propagate edges.txt -q --out x.npy",
        "propagate edges.txt -q --out x.parquet",
        "embed model edges.txt -q --out x.csv",
        "predict model edges.txt -q --pairs edges.txt --out scores.csv",
        &format!("train edges.txt {TRAIN} --out other"),
        "split edges.txt -q --out parts",
    ] {
        let output = under(&folder, "ulimit -f 1", line);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{line}: {stderr}");
        assert!(stderr.contains("error: ") && stderr.contains("File too large"), "{line}: {stderr}");
        let names: Vec<_> = folder.files("").into_keys().collect();
        assert_eq!(names, before.keys().cloned().collect::<Vec<_>>(), "{line}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn devices_sockets_and_folders_are_no_files() {
    let folder = TestFolder::with(&[("edges.txt", graphs::edges())]);
    folder.nigh(&format!("train edges.txt {TRAIN} --out model")).ok();
    let _socket = std::os::unix::net::UnixListener::bind(folder.path("socket")).unwrap();
    std::fs::create_dir(folder.path("folder")).unwrap();
    std::fs::create_dir(folder.path("parts")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", folder.path("parts/train.csv")).unwrap();
    for (path, what) in [("/dev/zero", "is a device"), ("socket", "is a socket"), ("folder", "is a folder")] {
        for line in [
            format!("train {path} {TRAIN}"),
            format!("train edges.txt --features {path} {TRAIN}"),
            format!("train edges.txt --labels {path} {TRAIN}"),
            format!("train edges.txt --nodes {path} {TRAIN}"),
            format!("train edges.txt --config {path} {TRAIN}"),
            format!("predict model edges.txt --pairs {path}"),
            format!("estimate {path}"),
        ] {
            let output = under(&folder, "ulimit -v 2000000", &line);
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(matches!(output.status.code(), Some(1 | 2)) && stderr.contains(what), "{line}: {stderr}");
        }
    }
    let output = under(&folder, "ulimit -v 2000000", &format!("train edges.txt --split parts {TRAIN}"));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && stderr.contains("error: "), "{stderr}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_pipe_without_an_end_is_given_up_after_a_gibibyte() {
    let folder = TestFolder::new();
    let program = env!("CARGO_BIN_EXE_nigh");
    for graph in ["-", "/dev/stdin"] {
        let line = format!("ulimit -v 4000000; yes '1 2' | {program} train {graph} {TRAIN}");
        let output = Command::new("sh").arg("-c").arg(line).current_dir(folder.path(".")).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.code() == Some(1) && stderr.contains("the most that is read at once"),
            "{graph}: {stderr}"
        );
    }
}

#[test]
fn no_message_is_as_long_as_what_it_quotes() {
    let long = "x".repeat(1 << 20);
    let json =
        format!(r#"{{"nodes": [{{"id": "{long}"}}], "links": [{{"source": "{long}", "target": 5.5, "k": [}}]}}"#);
    let files = [
        ("edges.txt", graphs::edges()),
        ("graph.json", json),
        ("unclosed.json", format!(r#"{{"{long}"#)),
        ("wrong.json", format!(r#"{{"nodes": "{long}", "links": []}}"#)),
        ("graph.mtx", format!("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 {}\n", &long[..60_000])),
        ("graph.graphml", format!("<graphml><graph><{long}></graph></graphml>")),
        ("weights.csv", format!("source,target,weight\na,b,{long}\n")),
        ("ragged.csv", format!("a,b\n{long},b,c,d\n")),
        ("names.csv", format!("{long},{long}y\nb,c\nc,d\n{long}z,c\n")),
        ("features.csv", format!("id,f\n{long},1\n")),
        ("values.csv", format!("id,f\nada0,{long}\n")),
        ("config.toml", format!("epochs = \"{long}\"\n")),
        ("key.toml", format!("{long} = 3\n")),
        ("broken.toml", format!("epochs = [{long}\n")),
        ("nodes.csv", format!("id\n{long}\n")),
        ("pairs.csv", format!("ada0,{long}\n")),
    ];
    let folder = TestFolder::with(&files);
    folder.nigh(&format!("train edges.txt {TRAIN} --out model")).ok();
    let lines = [
        "train graph.json",
        "train unclosed.json",
        "train wrong.json",
        "train graph.mtx",
        "train graph.graphml",
        "train weights.csv",
        "train ragged.csv",
        "train names.csv --epochs 1 --repeats 1 --features features.csv",
        "train edges.txt --features features.csv",
        "train edges.txt --features values.csv",
        "train edges.txt --labels features.csv --label none",
        "train edges.txt --nodes nodes.csv",
        "train edges.txt --config config.toml",
        "train edges.txt --config key.toml",
        "train edges.txt --config broken.toml",
        "predict model edges.txt --pairs pairs.csv",
    ];
    for line in lines {
        let answer = folder.nigh(line);
        assert!(matches!(answer.code, Some(1 | 2)), "{line}: {:?} {}", answer.code, answer.stderr.len());
        assert!(answer.stderr.len() < 4000, "{line}: {} bytes", answer.stderr.len());
    }
    let word = &long[..100_000];
    for line in [format!("train {word}"), format!("train edges.txt --model {word}"), format!("{word} x")] {
        let answer = folder.nigh(&line);
        assert!(answer.code != Some(0) && answer.stderr.len() < 4000, "{} bytes", answer.stderr.len());
    }
}
