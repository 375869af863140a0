//! `nigh diagnose`: whether a task needs where a node is, what it is, or both.

use crate::sample_graphs as graphs;
use crate::test_folder::TestFolder;
use nigh::statistics::paired_p;
use nigh_paper::holm;
use serde_json::Value;

#[test]
fn it_answers_in_three_sentences_with_the_table_and_the_width() {
    let folder = TestFolder::new();
    let text = folder.nigh("diagnose leaders-community --task node-classification --epochs 200 -q").ok();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("leaders-community, node classification (strict protocol): 400 nodes"), "{text}");
    assert!(
        lines[2].contains("which has no features beyond degrees, needs where a node is; what it is adds"),
        "{text}"
    );
    assert!(lines[3].contains("position alone beats degrees alone by") && lines[3].contains("(p < 0.001)"), "{text}");
    assert!(lines[4].starts_with("Of the three take smp-signal: ") && lines[4].contains("smp-gated"), "{text}");
    assert!(lines[2..5].iter().all(|sentence| sentence.ends_with('.')) && lines[5].is_empty(), "{text}");
    let first_words = |line: &&str| line.split("  ").next().unwrap_or_default().to_string();
    let rows: Vec<String> = lines[8..12].iter().map(first_words).collect();
    assert_eq!(rows, ["both", "what", "where", "nothing"], "{text}");
    let rows: Vec<String> = lines[15..18].iter().map(first_words).collect();
    assert_eq!(rows, ["both - what", "both - where", "where - what"], "{text}");
    // What `nigh certify` says of the same graph.
    let certified = folder.nigh("certify leaders-community --json -q").json()["sufficient_width"].as_f64().unwrap();
    let width = lines[lines.len() - 1];
    assert!(width.starts_with(&format!("Theorem 2 asks for a signal of {certified} columns")), "{text}");
    assert!(width.contains("(K = 2); 32 are in use, and suffice here: "), "{text}");
}

#[test]
fn json_has_the_answer_and_every_figure_behind_it() {
    let folder = TestFolder::with(&[("edges.txt", graphs::edges()), ("features.csv", graphs::features())]);
    let line = "diagnose edges.txt --features features.csv --epochs 30 --repeats 3 -q --json";
    let found = folder.nigh(line).json();
    assert_eq!((&found["task"], &found["metric"]), (&"link-prediction".into(), &"auc".into()));
    assert_eq!((&found["has_features"], &found["repeats"]), (&true.into(), &3.into()));
    assert!(["where", "what", "both", "either", "unclear"].contains(&found["needs"].as_str().unwrap()), "{found}");
    assert_eq!(found["answer"].as_array().unwrap().len(), 3);
    let tests = |tests: &Value| -> Vec<f64> { serde_json::from_value(tests.clone()).unwrap() };
    let of = |knows: &str| found["models"].as_array().unwrap().iter().find(|model| model["knows"] == knows).unwrap();
    for (knows, name) in [("both", "smp-linear"), ("what", "sgc"), ("where", "smp-signal")] {
        assert_eq!(of(knows)["model"], name);
        assert!(of(knows)["interval_95"][1].is_number() && of(knows)["metrics"]["ap"].is_number(), "{found}");
        // What `nigh train` finds with the same settings.
        let alone = format!("train edges.txt --features features.csv --model {name} --epochs 30 --repeats 3 -q --json");
        assert_eq!(folder.nigh(&alone).json()["mean"], of(knows)["mean"], "{name}");
    }
    let differences = found["differences"].as_array().unwrap();
    let p: Vec<f64> = differences
        .iter()
        .map(|difference| {
            let [first, second] = ["first", "second"].map(|end| of(difference[end].as_str().unwrap()));
            let mean = first["mean"].as_f64().unwrap() - second["mean"].as_f64().unwrap();
            assert!((difference["mean"].as_f64().unwrap() - mean).abs() < 1e-12, "{difference}");
            paired_p(&tests(&first["tests"]), &tests(&second["tests"])).unwrap()
        })
        .collect();
    for (difference, (p, corrected)) in differences.iter().zip(p.iter().zip(holm(&p))) {
        assert_eq!((difference["p"].as_f64(), difference["p_holm"].as_f64()), (Some(*p), Some(corrected)));
        assert_eq!(difference["better"].is_null(), corrected >= 0.05, "{difference}");
    }
    assert_eq!(tests(&found["chance"]["tests"]), [0.5; 3]);
    assert_eq!((&found["width"]["signal_dim"], &found["width"]["num_pairs"]), (&32.into(), &200.into()));
}

#[test]
fn labels_ask_about_classes_unless_another_task_is_set() {
    let folder = TestFolder::with(&[
        ("edges.txt", graphs::edges()),
        ("labels.csv", graphs::labels()),
        ("links.toml", "task = \"link-prediction\"\nmodel = \"gcn\"\n".to_string()),
    ]);
    let diagnose = |rest: &str| folder.nigh(&format!("diagnose {rest} --epochs 5 --repeats 2 --json"));
    let task = |rest: &str| diagnose(rest).json()["task"].clone();
    assert_eq!(task("edges.txt --labels labels.csv"), "node-classification");
    assert_eq!(task("edges.txt"), "link-prediction");
    assert_eq!(
        task("edges.txt --labels labels.csv --task pairwise-node-classification"),
        "pairwise-node-classification"
    );
    let of_file = diagnose("edges.txt --labels labels.csv --config links.toml");
    assert!(of_file.stderr.contains("note: model gcn of links.toml is not used"), "{}", of_file.stderr);
    assert_eq!(of_file.json()["task"], "link-prediction");
    let of_labelled = diagnose("communities").stderr;
    assert!(of_labelled.contains("note: this is about links; --task node-classification asks"), "{of_labelled}");
    assert!(!diagnose("grid").stderr.contains("this is about links"));
}

#[test]
fn it_resumes_from_its_file_which_a_comparison_may_have_begun() {
    let folder = TestFolder::new();
    let line = "diagnose grid --epochs 5 --repeats 2 --json";
    let whole = folder.nigh(&format!("{line} -q")).json();
    folder.nigh("compare grid --epochs 5 --repeats 1 --models sgc,gcn --out found.jsonl -q").ok();
    let resumed = folder.nigh(&format!("{line} --out found.jsonl"));
    assert!(resumed.stderr.contains("note: resuming: found.jsonl has 2 repeats"), "{}", resumed.stderr);
    let run: Vec<&str> = resumed.stderr.lines().filter(|line| line.contains(", seed ")).collect();
    assert_eq!(run.len(), 5, "{}", resumed.stderr);
    let again = folder.nigh(&format!("{line} --out found.jsonl"));
    assert!(!again.stderr.contains(", seed "), "{}", again.stderr);
    for found in [resumed.json(), again.json()] {
        assert_eq!((&found["answer"], &found["differences"]), (&whole["answer"], &whole["differences"]));
    }
}

#[test]
fn a_diagnosis_that_can_not_be_made_is_refused_before_training() {
    let folder = TestFolder::with(&[("one.toml", "repeats = 1\n")]);
    folder.refuses("diagnose grid --repeats 1", 2, &["`repeats` is 1", "expected 2 or more"]);
    folder.refuses("diagnose grid --config one.toml", 1, &["one.toml", "`repeats` is 1"]);
    folder.refuses("diagnose grid --model gcn", 2, &["--model", "smp-linear, sgc, smp-signal"]);
    folder.refuses("diagnose grid --task node-classification", 1, &["label"]);
    folder.refuses("diagnose gird", 1, &["gird", "grid"]);
    folder.refuses("diagnose grid --out one.toml", 1, &["one.toml:1: not the first line of a comparison"]);
}
