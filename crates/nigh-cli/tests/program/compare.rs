//! `nigh compare`: several models on one graph.

use crate::sample_graphs as graphs;
use crate::test_folder::TestFolder;
use nigh::statistics::paired_p;

#[test]
fn models_share_their_splits_and_differences_have_p_values() {
    let folder = TestFolder::with(&[("edges.txt", graphs::edges())]);
    let line = "compare edges.txt --models gcn,smp-linear,adamic-adar --epochs 30 --repeats 3 -q";
    let compared = folder.nigh(&format!("{line} --json")).json();
    let models = compared["models"].as_array().unwrap();
    let tests = |at: usize| -> Vec<f64> {
        models[at]["tests"].as_array().unwrap().iter().map(|test| test.as_f64().unwrap()).collect()
    };
    assert_eq!(models.len(), 3);
    for (at, model) in models.iter().enumerate() {
        let mean = tests(at).iter().sum::<f64>() / 3.0;
        assert!((model["mean"].as_f64().unwrap() - mean).abs() < 1e-12);
        assert!(at == 0 || mean <= models[at - 1]["mean"].as_f64().unwrap(), "the best comes first");
        assert_eq!(model["p"].as_f64(), if at == 0 { None } else { paired_p(&tests(0), &tests(at)) });
        assert!(at == 0 || model["p_holm"].as_f64() >= model["p"].as_f64(), "two comparisons are more than one");
        // What `nigh train` finds with the same settings.
        let name = model["model"].as_str().unwrap();
        let alone = folder.nigh(&format!("train edges.txt --model {name} --epochs 30 --repeats 3 -q --json")).json();
        assert_eq!(alone["mean"], model["mean"], "{name}");
    }
    let text = folder.nigh(line).ok();
    assert!(
        text.contains("behind")
            && text.contains("smp-linear")
            && text.contains("significantly better")
            && text.contains("Holm"),
        "{text}"
    );
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn memory_is_measured_for_each_model_alone() {
    let folder = TestFolder::new();
    let line = "compare communities --models gcn,adamic-adar --width 4096 --epochs 1 --repeats 2 -q --json --threads 2";
    let models = folder.nigh(line).json()["models"].clone();
    let peak = |name: &str| {
        let model = models.as_array().unwrap().iter().find(|model| model["model"] == name).unwrap();
        model["peak_bytes"].as_u64().unwrap()
    };
    // The weights of the second layer, their gradients and Adam's two moments: four times 64 MiB.
    assert!(peak("gcn") > 256 << 20 && peak("adamic-adar") < 64 << 20, "{} {}", peak("gcn"), peak("adamic-adar"));
}

#[test]
fn models_that_support_the_task_are_compared_by_default() {
    let folder = TestFolder::new();
    let names = |task: &str| -> Vec<String> {
        let line = format!("compare communities --task {task} --epochs 2 --repeats 1 -q --json");
        let models = folder.nigh(&line).json()["models"].clone();
        let mut names: Vec<String> =
            models.as_array().unwrap().iter().map(|model| model["model"].as_str().unwrap().to_string()).collect();
        names.sort();
        names
    };
    let for_links = [
        "adamic-adar",
        "common-neighbors",
        "gat",
        "gcn",
        "katz",
        "matrix-factorization",
        "node2vec",
        "resource-allocation",
        "sgc",
        "smp-identity",
        "smp-linear",
        "smp-proximity",
    ];
    assert_eq!(names("link-prediction"), for_links);
    assert_eq!(names("node-classification"), ["gat", "gcn", "node2vec", "sgc", "smp-gated", "smp-linear"]);
}

#[test]
fn a_comparison_resumes_from_its_file_and_is_extended() {
    let folder = TestFolder::with(&[("settings.toml", "epochs = 5\nrepeats = 2\n")]);
    let compare = |models: &str, rest: &str| {
        folder.nigh(&format!("compare communities --config settings.toml --models {models} {rest}"))
    };
    let tests = |answer: &serde_json::Value| -> Vec<(String, serde_json::Value)> {
        let models = answer["models"].as_array().unwrap();
        models.iter().map(|model| (model["model"].to_string(), model["tests"].clone())).collect()
    };
    let whole = compare("gcn,katz,sgc", "-q --json").json();
    assert_eq!((&whole["repeats"], &whole["config"]["epochs"]), (&2.into(), &5.into()));
    assert_eq!(folder.names(), ["settings.toml"], "nothing is written without --out");
    compare("gcn,katz", "-q --out found/records.jsonl --repeats 1").ok();
    assert_eq!(folder.text("found/records.jsonl").lines().count(), 1 + 2);
    // Killed while it wrote.
    let text = folder.text("found/records.jsonl");
    let half = &text.lines().last().unwrap()[..200];
    std::fs::write(folder.path("found/records.jsonl"), format!("{text}{half}")).unwrap();
    let resumed = compare("gcn,katz,sgc", "--out found/records.jsonl --json");
    assert!(resumed.stderr.contains("note: resuming: found/records.jsonl has 2 repeats"), "{}", resumed.stderr);
    let run: Vec<&str> = resumed.stderr.lines().filter(|line| line.contains(", seed ")).collect();
    assert_eq!(run.len(), 4, "{}", resumed.stderr);
    assert_eq!(tests(&resumed.json()), tests(&whole));
    let other = "compare communities --models gcn --epochs 6 --out found/records.jsonl";
    let message = folder.nigh(other).stderr;
    assert!(message.contains("records.jsonl:1: these are repeats of another comparison, with epochs = 5"), "{message}");
}

#[test]
fn every_metric_and_settings_without_effect_are_reported() {
    let folder = TestFolder::new();
    let line = "compare communities --models gcn,katz --epochs 5 --repeats 2 --longest-walk 4 --dropout 0.2 --json";
    let answer = folder.nigh(line);
    let notes: Vec<&str> = answer.stderr.lines().filter(|line| line.starts_with("note:")).collect();
    assert_eq!(notes, ["note: longest-walk has no effect on any of these models"]);
    for model in answer.json()["models"].as_array().unwrap() {
        assert_eq!(model["metrics"]["auc"], model["mean"], "{model}");
        assert!(model["metrics"]["hits@10"].is_number() && model["interval_95"][1].is_number(), "{model}");
    }
}

#[test]
fn a_wrong_comparison_is_refused_before_training() {
    let folder = TestFolder::new();
    folder.refuses("compare communities --models gcn,gatt", 2, &["gatt", "gat"]);
    folder.refuses("compare communities --models gcn,gcn", 2, &["gcn twice"]);
    folder.refuses("compare communities --model gcn", 2, &["--models"]);
    folder.refuses("compare grid --models gcn --task node-classification", 1, &["label"]);
    let line = "compare communities --models gcn,katz --task node-classification";
    folder.refuses(line, 2, &["katz", "pairs alone"]);
}
