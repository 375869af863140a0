//! `nigh train`: every model on every task, and settings from options and files.

use crate::models;
use crate::sample_graphs as graphs;
use crate::test_folder::TestFolder;
use serde_json::Value;

const TASKS: [&str; 4] =
    ["link-prediction", "node-classification", "pairwise-node-classification", "graph-reconstruction"];

/// A result without times and memory.
fn lasting(mut result: Value) -> Value {
    let object = result.as_object_mut().expect("one JSON object");
    for measured in ["millis_per_epoch", "peak_rss_bytes"] {
        assert!(object.remove(measured).is_some_and(|value| value.is_number()), "{measured} is missing");
    }
    result
}

fn is_fraction(value: &Value) -> bool {
    value.as_f64().is_some_and(|value| (0.0..=1.0).contains(&value))
}

#[test]
fn every_model_runs_every_task_with_a_full_report() {
    let folder = TestFolder::new();
    for task in TASKS {
        for model in models::all().iter().filter(|model| task != "node-classification" || model.classifies) {
            let (untrained, model) =
                (model.heuristic || (model.name == "node2vec" && task != "node-classification"), &model.name);
            let options = "--epochs 10 --repeats 1 --walks-per-node 2 --walk-length 20 -q --json";
            let line = format!("train communities --task {task} --model {model} {options}");
            let answer = folder.nigh(&line);
            assert_eq!(answer.stderr, "", "{line}");
            let result = answer.json();
            let metric = if task == "node-classification" { "accuracy" } else { "auc" };
            assert_eq!(result["dataset"], "communities");
            assert_eq!(result["task"], task);
            assert_eq!(result["model"], model.as_str());
            assert_eq!(result["metric"], metric);
            assert_eq!(result["num_nodes"], 400);
            assert_eq!(result["num_edges"], 3800);
            assert_eq!(result["config"]["epochs"], if untrained { 1 } else { 10 });
            assert!(result["millis_per_epoch"].as_f64().is_some_and(|millis| millis > 0.0), "{line}");
            assert!(result["peak_rss_bytes"].as_u64().is_some_and(|bytes| bytes > 1 << 20), "{line}");
            let [repeat] = &result["repeats"].as_array().expect("a list")[..] else { panic!("one repeat: {line}") };
            assert_eq!(repeat["seed"], 1);
            let looks: &[u64] = if untrained { &[1] } else { &[1, 5, 10] };
            assert!(repeat["best_epoch"].as_u64().is_some_and(|epoch| looks.contains(&epoch)), "{line}");
            assert!(is_fraction(&repeat["valid"]) && is_fraction(&repeat["test"]), "{line}");
            assert_eq!(result["mean"], repeat["test"]);
            assert_eq!(result["std"], 0.0);
        }
    }
    assert!(folder.names().is_empty(), "nothing is written without --out");
}

#[test]
fn repeats_have_consecutive_seeds_and_a_mean_and_deviation() {
    let result = TestFolder::new().nigh("train grid --epochs 10 --repeats 3 --seed 7 -q --json").json();
    let repeats = result["repeats"].as_array().unwrap();
    let seeds: Vec<u64> = repeats.iter().filter_map(|repeat| repeat["seed"].as_u64()).collect();
    assert_eq!(seeds, [7, 8, 9]);
    let tests: Vec<f64> = repeats.iter().filter_map(|repeat| repeat["test"].as_f64()).collect();
    let mean = tests.iter().sum::<f64>() / 3.0;
    let variance = tests.iter().map(|test| (test - mean).powi(2)).sum::<f64>() / 3.0;
    assert!((result["mean"].as_f64().unwrap() - mean).abs() < 1e-12);
    assert!((result["std"].as_f64().unwrap() - variance.sqrt()).abs() < 1e-12 && variance > 0.0);
}

#[test]
fn a_figure_stands_beside_its_baselines_and_is_marked_in_text_json_folder_and_card() {
    let folder = TestFolder::new();
    let line = "train grid --model gcn --epochs 10 --repeats 2 -q";
    let result = folder.nigh(&format!("{line} --json --out model")).json();
    assert_eq!(result["metrics"]["auc"]["mean"], result["mean"]);
    assert_eq!(result["metrics"]["auc"]["interval_95"], result["interval_95"]);
    let names: Vec<&str> = result["baselines"].as_array().unwrap().iter().filter_map(|b| b["name"].as_str()).collect();
    assert_eq!(names, ["preferential-attachment", "common-neighbors", "resource-allocation", "katz"]);
    let katz = folder.nigh("train grid --model katz --repeats 2 -q --json").json();
    assert_eq!(result["baselines"][3]["metrics"]["auc"], katz["mean"]);
    assert_eq!(result["beats_baselines"], false);
    let warning = result["warnings"][0].as_str().unwrap();
    assert!(warning.contains("does not beat") && warning.contains("katz with"), "{warning}");
    let text = folder.nigh(line).ok();
    let row = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {text}"));
    assert!(row("test, %").split_whitespace().eq("test, % auc ap hits@10 hits@50 mrr".split(' ')), "{text}");
    assert_eq!(
        row("katz").split_whitespace().nth(1).unwrap(),
        format!("{:.1}", 100.0 * katz["mean"].as_f64().unwrap())
    );
    assert!(text.contains(&format!("warning: {warning}\n")) && row("95 % interval").contains(" to "), "{text}");
    let card = folder.text("model/README.md");
    assert!(card.contains(&format!("**Warning:** {warning}.\n")) && card.contains("| auc, test, by katz | "), "{card}");
    assert!(card.contains("| its 95 % interval (Student's t) | ") && card.contains("| hits@10, test | "), "{card}");
    let saved: Value = serde_json::from_str(&folder.text("model/model.json")).unwrap();
    assert_eq!(saved["summary"]["repeats"][1]["baselines"], result["repeats"][1]["baselines"]);
    assert_eq!(saved["summary"]["repeats"][1]["metrics"], result["repeats"][1]["metrics"]);
    let again = folder.nigh("evaluate model grid -q --json").json();
    let best = usize::from(result["repeats"][1]["valid"].as_f64() > result["repeats"][0]["valid"].as_f64());
    assert_eq!(again["metrics"], result["repeats"][best]["metrics"]);
}

#[test]
fn an_auc_below_one_half_is_flagged() {
    let folder = TestFolder::new();
    let result = folder.nigh("train grid --model preferential-attachment --repeats 1 -q --json --out model").json();
    assert!(result["mean"].as_f64().unwrap() < 0.5);
    let warnings = result["warnings"].to_string();
    assert!(warnings.contains("below 50 %"), "{warnings}");
    assert!(folder.text("model/README.md").contains("below 50 %"));
}

#[test]
fn a_setting_without_effect_is_noted() {
    let folder = TestFolder::with(&[("settings.toml", "reconstruction = \"ridge\"\nhops = 3\n")]);
    let line = "train communities --model smp-linear --epochs 2 --repeats 1 --dropout 0";
    let answer = folder.nigh(&format!("{line} --config settings.toml --json"));
    let note = "note: dropout, reconstruction have no effect on smp-linear for link-prediction\n";
    assert!(answer.stderr.contains(note), "{}", answer.stderr);
    assert_eq!(answer.json()["settings_without_effect"], serde_json::json!(["dropout", "reconstruction"]));
    let answer = folder.nigh(&format!("{line} --decoder hadamard-mlp"));
    assert!(!answer.stderr.contains("no effect"), "{}", answer.stderr);
}

#[test]
fn patience_ends_a_training_that_learns_no_more() {
    let folder = TestFolder::new();
    let line = "train communities --model sgc --epochs 2000 --repeats 2 -q";
    let result = folder.nigh(&format!("{line} --json")).json();
    assert_eq!(result["config"]["patience"], 300);
    for repeat in result["repeats"].as_array().unwrap() {
        let [best, run] = ["best_epoch", "epochs"].map(|name| repeat[name].as_u64().unwrap());
        assert!((best + 300..2000).contains(&run), "{repeat}");
    }
    let text = folder.nigh(line).ok();
    assert!(
        text.contains("2 of 2 stopped early: 300 epochs without a better validation metric (--patience)"),
        "{text}"
    );
    let whole = folder.nigh("train communities --model sgc --epochs 400 --patience 0 --repeats 1 -q --json").json();
    assert_eq!(whole["repeats"][0]["epochs"], 400);
}

#[test]
fn the_last_epoch_is_evaluated_even_if_none_is_due() {
    let result = TestFolder::new().nigh("train grid --epochs 3 --repeats 1 -q --json").json();
    assert_eq!(result["repeats"][0]["best_epoch"], 3);
}

#[test]
fn a_model_without_a_layer_for_classes_is_refused_for_classification() {
    let line = "train communities --task node-classification --model smp-identity";
    TestFolder::new().refuses(line, 2, &["`model` is smp-identity", "take smp-linear"]);
}

#[test]
fn a_file_of_settings_gives_the_same_result_as_options() {
    let settings = "task = \"node-classification\"\nmodel = \"smp-mlp\"\nepochs = 10\nrepeats = 2\nhops = 3\n\
                    learning-rate = 0.02\nsignal = \"rademacher\"\nrefresh = \"resampled\"\n";
    let folder = TestFolder::with(&[("settings.toml", settings)]);
    let flags = "--task node-classification --model smp-mlp --epochs 10 --repeats 2 --hops 3 --learning-rate 0.02 \
                 --signal rademacher --refresh resampled";
    let by_flags = folder.nigh(&format!("train communities {flags} -q --json")).json();
    let by_file = folder.nigh("train communities --config settings.toml -q --json").json();
    assert_eq!(by_file["config"]["hops"], 3);
    assert_eq!(lasting(by_file), lasting(by_flags));
}

#[test]
fn options_override_the_file() {
    let folder = TestFolder::with(&[("settings.toml", "model = \"sgc\"\nepochs = 10\nrepeats = 1\n")]);
    let result = folder.nigh("train communities --config settings.toml --model smp-linear -q --json").json();
    assert_eq!(result["model"], "smp-linear");
    assert_eq!(result["config"]["epochs"], 10);
}

#[test]
fn every_setting_of_the_file_is_an_option_too() {
    let folder = TestFolder::new();
    let help = folder.nigh("train --help-all").ok();
    let config = folder.nigh("train grid --epochs 5 --repeats 1 -q --json").json()["config"].clone();
    let names: Vec<&String> = config.as_object().unwrap().keys().collect();
    assert!(names.len() > 20, "{names:?}");
    names.iter().for_each(|name| assert!(help.contains(&format!("--{name} <")), "--{name} is not in the help"));
}

#[test]
fn settings_are_reported_as_they_were_typed() {
    let line = "train grid --epochs 5 --repeats 1 --learning-rate 0.01 --dropout 0.3 -q --json";
    let result = TestFolder::new().nigh(line).json();
    assert_eq!(result["config"]["learning-rate"], 0.01);
    assert_eq!(result["config"]["dropout"], 0.3);
}

#[test]
fn the_configuration_in_the_model_folder_trains_the_same_model_again() {
    let folder = TestFolder::with(&[("edges.txt", graphs::edges()), ("labels.csv", graphs::labels())]);
    let line = "train edges.txt --labels labels.csv -q";
    let flags = "--task node-classification --model smp-linear-gcn-feat --weight-decay 0.003 --epochs 10 --repeats 2";
    folder.nigh(&format!("{line} {flags} --out first")).ok();
    folder.nigh(&format!("{line} --config first/config.toml --out second")).ok();
    folder.assert_same("first", "second");
}

#[test]
fn the_same_edges_in_any_text_format_are_the_same_graph() {
    let plain = graphs::edges();
    let dresses = [
        plain.replace(' ', ","),
        plain.replace(' ', "\t"),
        plain.replace(' ', "   ").replace('\n', "  \r\n"),
        format!("\u{feff}source,target\n{}", plain.replace(' ', ",")),
        format!("# who knows whom\n\n{plain}\n# the end"),
        format!("{plain}ada0 ada0\n{}", graphs::turned(&plain)),
    ];
    let trained = |edges: &str| {
        let folder = TestFolder::with(&[("edges.txt", edges)]);
        lasting(folder.nigh("train edges.txt --epochs 10 --repeats 1 -q --json").json())
    };
    let expected = trained(&plain);
    assert_eq!(expected["num_nodes"], 32);
    dresses.iter().for_each(|dress| assert_eq!(trained(dress), expected, "{dress}"));
}

#[test]
fn ids_may_be_any_text() {
    let folder =
        TestFolder::with(&[("edges.csv", graphs::edges().replace(' ', ",").replace("ada", "Zoë \u{1f98a} & "))]);
    folder.nigh("train edges.csv --epochs 10 --repeats 1 -q --out model").ok();
    folder.nigh("embed model edges.csv -q --out vectors.csv").ok();
    assert!(folder.text("vectors.csv").lines().any(|line| line.starts_with("Zoë \u{1f98a} & 7,")));
    let huge = graphs::edges().replace("ada", "99999999999999999999999999");
    let folder = TestFolder::with(&[("edges.txt", huge)]);
    assert_eq!(folder.nigh("train edges.txt --epochs 10 --repeats 1 -q --json").json()["num_nodes"], 32);
}

#[test]
fn edge_weights_change_the_model() {
    let weighted: String =
        graphs::edges().lines().enumerate().map(|(at, line)| format!("{line} {}\n", 1 + at % 3)).collect();
    let folder = TestFolder::with(&[("weighted.txt", weighted), ("edges.txt", graphs::edges())]);
    let weights = |file: &str| {
        folder.nigh(&format!("train {file} --epochs 10 --repeats 1 -q --out model")).ok();
        let weights = folder.read("model/weights.safetensors");
        std::fs::remove_dir_all(folder.path("model")).unwrap();
        weights
    };
    assert_ne!(weights("weighted.txt --weight 3"), weights("edges.txt"));
    assert_eq!(weights("weighted.txt"), weights("edges.txt"), "a column without a name is no weight");
    assert_eq!(weights("weighted.txt --weight none"), weights("edges.txt"));
}

#[test]
fn cleaning_is_noted_unless_quiet() {
    let edges = format!("{}ada0 ada0\nada1 ada0\n", graphs::edges());
    let features = format!("{}loner,0,0,0\n", graphs::features());
    let folder = TestFolder::with(&[("edges.txt", edges), ("features.csv", features)]);
    let line = "train edges.txt --features features.csv --epochs 10 --repeats 2";
    let notes = folder.nigh(line).stderr;
    for note in ["1 node with", "self loops were dropped", "were merged", "repeat 1/2: auc", "repeat 2/2: auc"] {
        assert!(notes.contains(note), "{note} is missing: {notes}");
    }
    assert_eq!(folder.nigh(&format!("{line} --quiet")).stderr, "");
}

#[test]
fn training_that_diverges_is_an_error_and_leaves_no_files() {
    let folder = TestFolder::with(&[("edges.txt", graphs::edges())]);
    let line = "train edges.txt --learning-rate 1e30 --epochs 10 --repeats 1 --checkpoint-every 1 --out model";
    folder.refuses(line, 1, &["diverged", "smaller learning-rate"]);
}

#[test]
fn fractions_can_replace_numbers_per_class() {
    let folder = TestFolder::new();
    let line = "train communities --task node-classification --train-per-class 0 --epochs 2 --repeats 1 -q --json";
    let config = folder.nigh(line).json()["config"].clone();
    assert_eq!((&config["valid-per-class"], &config["test-per-class"]), (&0.into(), &0.into()));
}

#[test]
fn the_order_of_lines_with_names_as_ids_does_not_change_the_training() {
    // Two people without an edge come with the features.
    let features = || graphs::features() + "zoe,1,2,3\neve,4,5,6\n";
    let folder = TestFolder::with(&[
        ("edges.txt", graphs::edges()),
        ("features.csv", features()),
        ("labels.csv", graphs::labels()),
        ("graphs.csv", several_graphs()),
    ]);
    let trainings = [
        "edges.txt",
        "edges.txt --features features.csv --model smp-linear",
        "edges.txt --labels labels.csv --task node-classification",
        "graphs.csv --model smp-linear --refresh resampled",
    ];
    let train = |name: &str| {
        for (at, line) in trainings.iter().enumerate() {
            folder.nigh(&format!("train {line} --epochs 8 --repeats 1 -q --out {name}{at}")).ok();
        }
    };
    train("as-given");
    folder.write("edges.txt", graphs::turned(&graphs::shuffled(&graphs::edges())));
    folder.write("features.csv", graphs::shuffled(&features()));
    folder.write("labels.csv", graphs::shuffled(&graphs::labels()));
    let (header, rows) = several_graphs().split_once('\n').map(|(a, b)| (a.to_string(), b.to_string())).unwrap();
    folder.write("graphs.csv", format!("{header}\n{}", graphs::shuffled(&rows)));
    train("shuffled");
    (0..trainings.len()).for_each(|at| folder.assert_same(&format!("as-given{at}"), &format!("shuffled{at}")));
    let ids: Vec<String> =
        folder.text("as-given1/ids.jsonl").lines().map(|line| line.trim_matches('"').to_string()).collect();
    assert_eq!(ids, [graphs::people(), vec!["eve".into(), "zoe".into()]].concat());
}

/// The people's graph four times, each time with some edges less.
fn several_graphs() -> String {
    let mut text = "graph,source,target\n".to_string();
    for (at, graph) in ["west", "east", "north", "south"].iter().enumerate() {
        let edges = graphs::edges();
        let kept =
            edges.lines().enumerate().filter(|(line, _)| line % 11 != at).map(|(_, line)| line.replace(' ', ","));
        kept.for_each(|edge| text += &format!("{graph},{edge}\n"));
    }
    text
}

#[test]
fn more_classes_than_fit_into_memory_are_refused_beforehand() {
    let n = 400_000;
    let edges: String = (0..n).map(|node| format!("{node},{}\n", (node + 1) % n)).collect();
    let labels: String = (0..n).map(|node| format!("{node},c{}\n", node / 2)).collect();
    let folder = TestFolder::with(&[("edges.csv", edges), ("labels.csv", labels)]);
    for model in ["smp-gated", "sgc"] {
        let line =
            format!("train edges.csv --labels labels.csv --task node-classification --model {model} -q --out model");
        let says = ["edges.csv: the scores of 200000 classes for 400000 nodes take", "is the label a number or an id?"];
        folder.refuses(&line, 1, &says);
    }
}

#[test]
fn nodes_without_an_edge_cost_little() {
    let n = 500_000;
    let edges: String = (0..1000).map(|node| format!("{node},{}\n", node * 7 % 1000)).collect();
    let nodes: String = (0..n).map(|node| format!("{node}\n")).collect();
    let folder = TestFolder::with(&[("edges.csv", edges), ("nodes.csv", format!("id\n{nodes}"))]);
    let train = |options: &str| {
        folder.nigh(&format!("train edges.csv --nodes nodes.csv --repeats 1 --epochs 2 -q --json {options}")).json()
    };
    // E alone has 64 MB; all that training holds of every node had 640 MB.
    let result = train("--model smp-linear --out model");
    if let Some(peak) = result["peak_rss_bytes"].as_u64() {
        assert!(peak < 400_000_000, "{peak} bytes");
    }
    let evaluated = folder.nigh("evaluate model edges.csv --nodes nodes.csv -q --json").json();
    assert_eq!(evaluated["test"], result["repeats"][0]["test"]);
    assert_eq!(evaluated["same_split"], true);
}
