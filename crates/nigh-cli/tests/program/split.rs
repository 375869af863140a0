//! `nigh split`, and training on the folder that it writes or on one of a user.

use crate::sample_graphs as graphs;
use crate::test_folder::TestFolder;
use serde_json::Value;

/// The figures of a run.
fn figures(run: &Value) -> [Value; 4] {
    let repeat = &run["repeats"][0];
    ["test", "valid", "metrics", "split"].map(|name| repeat[name].clone())
}

#[test]
fn training_on_a_written_split_gives_the_figures_of_training_with_its_seed() {
    let folder = TestFolder::new();
    let tasks = [
        ("communities --task link-prediction --model smp-linear", 6),
        ("communities --task link-prediction --model gcn --evaluation-negatives heart", 4),
        ("communities --task link-prediction --model smp-linear --protocol published", 6),
        ("leaders --task node-classification --model smp-linear", 4),
    ];
    for (at, (settings, count)) in tasks.into_iter().enumerate() {
        let written = folder.nigh(&format!("split {settings} --seed 7 --json --out split-{at}")).json();
        assert_eq!(written["files"].as_array().unwrap().len(), count, "{settings}");
        let line = format!("train {settings} --seed 7 --repeats 1 --epochs 9 --json -q");
        let expected = folder.nigh(&line).json();
        let found = folder.nigh(&format!("{line} --split split-{at} --out model-{at}")).json();
        assert_eq!(figures(&found), figures(&expected), "{settings}");
        assert_eq!(found["repeats"][0]["split"], written["about"]["split"], "{settings}");
        let graph = settings.split(' ').next().unwrap();
        let again = folder.nigh(&format!("evaluate model-{at} {graph} --split split-{at} --json")).json();
        assert_eq!((&again["same_split"], &again["test"]), (&Value::Bool(true), &found["repeats"][0]["test"]));
    }
}

#[test]
fn every_repeat_and_every_model_is_trained_on_the_given_split() {
    let folder = TestFolder::with(&[("edges.txt", graphs::edges())]);
    folder.nigh("split edges.txt --seed 3 --out split").ok();
    let run = folder.nigh("train edges.txt --split split --repeats 3 --epochs 3 --json -q --out model").json();
    let digests: Vec<&Value> = run["repeats"].as_array().unwrap().iter().map(|repeat| &repeat["split"]).collect();
    assert!(digests.len() == 3 && digests.iter().all(|digest| *digest == digests[0]));
    assert!(folder.text("model/model.json").contains(digests[0].as_str().unwrap()));
    folder.nigh("compare edges.txt --split ./split --models gcn,katz --repeats 2 --epochs 3 -q").ok();
    folder.write("settings.toml", "split = \"./split\"\nepochs = 3\nrepeats = 1\n");
    let of_file = folder.nigh("train edges.txt --config settings.toml --json -q").json();
    assert_eq!(&of_file["repeats"][0]["split"], digests[0]);
}

#[test]
fn a_split_that_does_not_fit_is_refused() {
    let folder = TestFolder::with(&[("edges.txt", graphs::edges())]);
    folder.nigh("split edges.txt --out split").ok();
    folder.refuses("split edges.txt --out split", 1, &["split: exists already; a split is written to a folder"]);
    folder.refuses("train edges.txt --split ./nowhere", 1, &["./nowhere: there is no such folder"]);
    folder.refuses("train edges.txt --split randm", 2, &["randm", "random"]);
    let nodes = "train leaders --task node-classification --split ./split";
    folder.refuses(nodes, 1, &["node"]);
    folder.refuses(
        "train edges.txt --task graph-reconstruction --split split",
        1,
        &["the split is about edges, but graph-reconstruction is about all edges"],
    );
    std::fs::remove_file(folder.path("split/train-edges.csv")).unwrap();
    let says = ["held-out edges are among those that message passing sees, the first is", "take them out of the graph"];
    folder.refuses("train edges.txt --split split", 1, &says);
    folder.refuses("split edges.txt --task graph-reconstruction --out other", 2, &["`task` is graph-reconstruction"]);
}
