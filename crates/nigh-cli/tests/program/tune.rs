//! `nigh tune`: the search, its files, and the settings that `train` takes.

use crate::test_folder::TestFolder;
use serde_json::Value;

/// A search of four candidates that takes a moment.
const SMALL: &str = "tune communities --model smp-linear --epochs 9 --repeats 1 --candidates 4";

/// The trials of a result without times.
fn trials(result: &Value) -> Vec<Value> {
    let mut trials = result["trials"].as_array().expect("a list").clone();
    trials.iter_mut().for_each(|trial| drop(trial.as_object_mut().unwrap().remove("seconds")));
    trials
}

#[test]
fn the_best_settings_are_a_file_for_train_and_a_search_resumes() {
    let folder = TestFolder::new();
    let whole = folder.nigh(&format!("{SMALL} -q --json")).json();
    assert_eq!((&whole["complete"], &whole["dataset"]), (&Value::Bool(true), &Value::from("communities")));
    assert_eq!(trials(&whole).len(), whole["num_trials"].as_u64().unwrap() as usize);
    assert!(!whole.to_string().contains("\"test\""), "{whole}");
    let mean = |trial: &Value| trial["valid_mean"].as_f64().unwrap();
    assert!(mean(&whole["best"]) >= mean(&whole["trials"][0]));
    assert!(folder.names().is_empty(), "nothing is written without --out");

    // No time but for the defaults; then the rest, on another number of threads.
    let line = format!("{SMALL} --out found/best.toml");
    let boxed = folder.nigh(&format!("{line} --minutes 0.000001 --json --threads 1"));
    assert!(
        boxed.stderr.contains("time is up: 6 trials of 7 not run; the same command resumes it"),
        "{}",
        boxed.stderr
    );
    assert_eq!(trials(&boxed.json()).len(), 1);
    let rest = folder.nigh(&format!("{line} --json --threads 2"));
    assert!(rest.stderr.contains("resuming: found/best.toml.trials.jsonl has 1 trial"), "{}", rest.stderr);
    let rest = rest.json();
    assert_eq!(trials(&rest), trials(&whole));
    assert_eq!(rest["best_settings"], whole["best_settings"]);
    // Nothing is left to run.
    let table = folder.nigh(&format!("{line} -q")).ok();
    assert!(table.contains("smp-linear on communities, link-prediction: best first"), "{table}");

    let trained = folder.nigh("train communities --config found/best.toml -q --json").json();
    for (name, value) in whole["best_settings"].as_object().unwrap() {
        assert_eq!(&trained["config"][name], value, "{name}");
    }
    assert_eq!(trained["repeats"][0]["valid"], whole["best"]["valid"][0]);
}

#[test]
fn wrong_usage_and_files_of_something_else_are_refused() {
    let folder = TestFolder::new();
    let error = |line: &str| folder.nigh(line).stderr;
    assert!(error("tune communities --minutes 0").contains("--minutes 0: expected a number above 0"));
    assert!(error("tune communities --candidates 0").contains("`candidates` is 0, but expected"));
    assert!(error("tune communities --model katz").contains("nothing to search for"));
    folder.write("mine.toml", "hops = 3\n");
    assert!(error("tune communities --out mine.toml").contains("mine.toml: exists already, and not from a search"));
    folder.write("mine.toml.trials.jsonl", "{\"hops\": 3}\n");
    let found = error("tune communities --out mine.toml -q");
    assert!(found.contains("mine.toml.trials.jsonl:1: not the first line of a search"), "{found}");
}
