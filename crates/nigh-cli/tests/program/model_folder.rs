//! The model folder: what is in it, and `evaluate`, `embed` and `predict` with it.

use crate::sample_graphs as graphs;
use crate::test_folder::{TestFolder, copy};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

const FAST: &str = "--epochs 40 --repeats 2 -q";

/// A folder with the people's graph, and `model` trained on it.
fn trained(options: &str) -> TestFolder {
    let folder = TestFolder::with(&[
        ("edges.txt", graphs::edges()),
        ("labels.csv", graphs::labels()),
        ("features.csv", graphs::features()),
    ]);
    folder.nigh(&format!("train edges.txt {FAST} --out model {options}")).ok();
    folder
}

/// Names and numbers of a csv file.
fn csv(text: &str) -> BTreeMap<String, Vec<f32>> {
    let row = |line: &str| {
        let mut cells = line.split(',').map(str::to_string);
        (cells.next().expect("an id"), cells.map(|cell| cell.parse().expect("a number")).collect())
    };
    text.lines().skip(1).map(row).collect()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|word| f32::from_le_bytes(word.try_into().expect("four bytes"))).collect()
}

fn rows(ids: Vec<String>, numbers: Vec<f32>) -> BTreeMap<String, Vec<f32>> {
    let width = numbers.len() / ids.len();
    ids.into_iter().zip(numbers.chunks_exact(width).map(<[f32]>::to_vec)).collect()
}

#[test]
fn the_folder_has_weights_settings_ids_figures_and_a_card() {
    let folder = trained("");
    let files: Vec<String> = folder.files("model").keys().map(|name| name.display().to_string()).collect();
    assert_eq!(files, ["README.md", "SHA256SUMS", "config.toml", "ids.jsonl", "model.json", "weights.safetensors"]);
    let config: toml::Table = folder.text("model/config.toml").parse().unwrap();
    assert_eq!(config["epochs"].as_integer(), Some(40));
    let ids: BTreeSet<String> =
        folder.text("model/ids.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(ids, graphs::people().into_iter().collect());
    let manifest: Value = serde_json::from_str(&folder.text("model/model.json")).unwrap();
    let summary = &manifest["summary"];
    let chosen = &summary["repeats"][summary["chosen"].as_u64().unwrap() as usize];
    let split = chosen["split"].as_str().unwrap();
    assert!(split.len() == 64 && summary["repeats"].as_array().unwrap().len() == 2);
    let card = folder.text("model/README.md");
    for text in ["# smp-proximity for link-prediction on edges.txt", "32 nodes", split, "nigh embed"] {
        assert!(card.contains(text), "{text} is not in {card}");
    }
}

#[test]
fn evaluating_gives_the_recorded_figures_to_the_last_bit() {
    for options in [
        "",
        "--refresh resampled --model smp-mlp --metric ap",
        "--features features.csv --model smp-linear --decoder hadamard-mlp --metric hits@3",
        "--task graph-reconstruction --features features.csv",
        "--task node-classification --labels labels.csv --metric macro-f1",
        "--task pairwise-node-classification --labels labels.csv --model gcn --features features.csv",
    ] {
        let folder = trained(options);
        let words: Vec<&str> = options.split_whitespace().collect();
        let files = words.chunks(2).filter(|pair| ["--features", "--labels"].contains(&pair[0]));
        let files: String = files.map(|pair| format!(" {} {}", pair[0], pair[1])).collect();
        let evaluated = |graph: &str| folder.nigh(&format!("evaluate model {graph}{files} -q --json")).json();
        let now = evaluated("edges.txt");
        assert_eq!(now["same_split"], true, "{options}");
        assert_eq!(now["test"], now["recorded"]["test"], "{options}");
        assert_eq!(now["valid"], now["recorded"]["valid"], "{options}");
        // The order of lines and the direction of edges do not matter.
        folder.write("shuffled.txt", graphs::turned(&graphs::shuffled(&graphs::edges())));
        assert_eq!(evaluated("shuffled.txt")["test"], now["recorded"]["test"], "{options}");
    }
}

#[test]
fn another_graph_is_evaluated_on_its_own_split() {
    let folder = trained("--refresh resampled");
    let answer = folder.nigh("evaluate model communities --json");
    assert!(answer.stderr.contains("measured on a split of their own"), "{}", answer.stderr);
    let result = answer.json();
    assert_eq!(result["same_split"], false);
    assert!(result["test"].as_f64().unwrap() > 0.8, "a resampled signal carries over: {result}");
}

#[test]
fn embedding_twice_writes_the_same_bytes() {
    let folder = trained("--features features.csv");
    for extension in ["npy", "csv", "safetensors"] {
        let line = "embed model edges.txt --features features.csv -q --out";
        folder.nigh(&format!("{line} one.{extension} --threads 1")).ok();
        folder.nigh(&format!("{line} two.{extension} --threads 3")).ok();
        assert_eq!(folder.read(&format!("one.{extension}")), folder.read(&format!("two.{extension}")), "{extension}");
    }
    assert_eq!(folder.read("one.npy.ids.txt"), folder.read("two.npy.ids.txt"));
}

#[test]
fn the_order_of_lines_does_not_change_vectors() {
    for options in ["", "--refresh resampled"] {
        let folder = trained(&format!("{options} --features features.csv"));
        folder.nigh("embed model edges.txt --features features.csv -q --out one.csv").ok();
        folder.write("edges.txt", graphs::turned(&graphs::shuffled(&graphs::edges())));
        folder.write("features.csv", graphs::shuffled(&graphs::features()));
        folder.nigh("embed model edges.txt --features features.csv -q --out two.csv").ok();
        let (one, two) = (csv(&folder.text("one.csv")), csv(&folder.text("two.csv")));
        assert_eq!(one.keys().cloned().collect::<Vec<_>>(), graphs::people());
        assert_eq!(one, two, "{options}");
    }
}

#[test]
fn every_format_has_the_same_ids_and_numbers() {
    let folder = trained("--model smp-linear");
    for extension in ["npy", "csv", "safetensors"] {
        folder.nigh(&format!("embed model edges.txt -q --out vectors.{extension}")).ok();
    }
    let expected = csv(&folder.text("vectors.csv"));
    assert!(expected.len() == 32 && expected.values().all(|row| row.len() == 32));
    let ids = folder.text("vectors.npy.ids.txt").lines().map(str::to_string).collect();
    let npy = folder.read("vectors.npy");
    let data = 10 + usize::from(u16::from_le_bytes([npy[8], npy[9]]));
    assert!(npy.starts_with(b"\x93NUMPY\x01\x00"));
    assert!(
        String::from_utf8_lossy(&npy[10..data]).contains("'descr': '<f4', 'fortran_order': False, 'shape': (32, 32)")
    );
    assert_eq!(rows(ids, floats(&npy[data..])), expected);
    let safetensors = folder.read("vectors.safetensors");
    let data = 8 + u64::from_le_bytes(safetensors[..8].try_into().unwrap()) as usize;
    let header: Value = serde_json::from_slice(&safetensors[8..data]).unwrap();
    let ids: Vec<String> = serde_json::from_str(header["__metadata__"]["ids"].as_str().unwrap()).unwrap();
    assert_eq!(header["embedding"]["shape"], serde_json::json!([32, 32]));
    assert_eq!(rows(ids, floats(&safetensors[data..])), expected);
}

#[test]
fn pairs_are_scored_in_the_order_of_their_file() {
    let folder = trained("");
    folder.write("pairs.csv", "source,target\nada0,ada5\nada0,cho4\nada5,ada0\n");
    let text = folder.nigh("predict model edges.txt --pairs pairs.csv -q").ok();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines[0], ["source", "target", "score"]);
    assert_eq!(
        [&lines[1][..2], &lines[2][..2], &lines[3][..2]],
        [["ada0", "ada5"], ["ada0", "cho4"], ["ada5", "ada0"]]
    );
    let score = |line: usize| lines[line][2].parse::<f32>().unwrap();
    assert!(score(1) > score(2), "a missing link inside a group is likelier than one to a distant group: {text}");
    assert_eq!(score(1), score(3), "a score has no direction");
    folder.nigh("predict model edges.txt --pairs pairs.csv -q --out scores.csv").ok();
    assert_eq!(folder.text("scores.csv"), text);
}

/// The rows `target -> (score, exists)` of a list of links, in order.
fn links(folder: &TestFolder, options: &str) -> Vec<(String, f32, bool)> {
    folder.nigh(&format!("predict model edges.txt --node ada0 -q --out links.csv {options}")).ok();
    let text = folder.text("links.csv");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("source,target,score,exists"));
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells[0], "ada0");
        (cells[1].to_string(), cells[2].parse().unwrap(), cells[3].parse().unwrap())
    };
    lines.map(row).collect()
}

#[test]
fn links_of_a_node_are_listed_best_first_with_or_without_existing_ones() {
    let folder = trained("");
    let edges = graphs::edges();
    let known = |id: &str| edges.contains(&format!("ada0 {id}\n")) || edges.contains(&format!("{id} ada0\n"));
    let all = links(&folder, "--include-existing --top 1000");
    assert_eq!(all.len(), 31, "everyone else");
    assert!(all.is_sorted_by(|a, b| a.1 >= b.1), "{all:?}");
    all.iter().for_each(|(id, _, exists)| assert_eq!(*exists, known(id), "{id}"));
    let new: Vec<_> = all.iter().filter(|link| !link.2).take(5).cloned().collect();
    assert_eq!(links(&folder, "--top 5"), new);
    assert_eq!(new[0].0, "ada5", "the one of the group that ada0 does not know");
    let shown = folder.nigh("predict model edges.txt --node ada0 --top 5 -q").ok();
    assert_eq!(shown.lines().count(), 2 + 5, "{shown}");
    assert!(shown.lines().nth(2).unwrap().starts_with("ada5 "), "{shown}");
    let marked = folder.nigh("predict model edges.txt --node ada0 --top 5 --include-existing -q").ok();
    assert!(marked.lines().next().unwrap().ends_with("exists") && marked.contains(" yes\n"), "{marked}");
}

#[test]
fn every_node_gets_a_label_and_its_probability() {
    let folder = trained("--task node-classification --labels labels.csv");
    let text = folder.nigh("predict model edges.txt -q").ok();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("id,label,probability"));
    let answers: BTreeMap<&str, (&str, f32)> = lines
        .map(|line| {
            let [id, label, probability] = line.split(',').collect::<Vec<_>>()[..] else { panic!("{line}") };
            (id, (label, probability.parse().unwrap()))
        })
        .collect();
    assert_eq!(answers.keys().copied().collect::<Vec<_>>(), graphs::people());
    let right = answers.iter().filter(|(id, (label, _))| *label == format!("team-{}", &id[..3])).count();
    assert!(right >= 28, "{right} of 32 are right");
    // The likeliest of four classes has more than a quarter.
    assert!(answers.values().all(|(_, probability)| (0.25..=1.0).contains(probability)), "{text}");
}

#[test]
fn a_task_the_model_was_not_trained_for_is_refused() {
    let folder = trained("");
    folder.refuses("predict model edges.txt", 2, &["link-prediction", "--pairs FILE or --node ID"]);
    let folder = trained("--task node-classification --labels labels.csv");
    folder.write("pairs.txt", "ada0 ada1\n");
    folder.refuses("predict model edges.txt --node ada0", 2, &["a node-classification model predicts labels"]);
    folder.refuses("predict model edges.txt --pairs pairs.txt", 2, &["a node-classification model predicts labels"]);
    folder.refuses("evaluate model edges.txt", 1, &["needs labels", "--labels FILE"]);
    folder.write("others.csv", graphs::labels().replace("team-ada", "team-eve"));
    folder.refuses("evaluate model edges.txt --labels others.csv", 1, &["unknown class `team-eve`"]);
}

#[test]
fn a_resampled_model_embeds_unseen_nodes_and_a_fixed_one_refuses_them() {
    let strangers = graphs::edges().replace("ada", "eve").replace("bob", "fay").replace("cho", "gus");
    let strangers = strangers.replace("dee", "hal");
    let folder = trained("--model smp-linear --refresh resampled");
    folder.write("strangers.txt", &strangers);
    folder.nigh("embed model strangers.txt -q --out vectors.csv").ok();
    let vectors = csv(&folder.text("vectors.csv"));
    assert_eq!(vectors.len(), 32);
    assert!(vectors["hal7"].iter().any(|value| *value != 0.0));
    let result = folder.nigh("evaluate model strangers.txt -q --json").json();
    assert!(result["test"].as_f64().unwrap() > 0.8, "{result}");
    let folder = trained("--model smp-linear --refresh fixed");
    folder.write("strangers.txt", &strangers);
    let says = ["has met none of the 32 nodes of strangers.txt", "refresh = resampled"];
    folder.refuses("embed model strangers.txt --out vectors.csv", 1, &says);
    folder.refuses("evaluate model strangers.txt", 1, &says);
    folder.refuses("predict model strangers.txt --node hal7", 1, &says);
}

#[test]
fn a_fixed_model_accepts_a_new_node_with_a_note_and_distant_vectors_stay() {
    let folder = trained("--model smp-linear");
    folder.nigh("embed model edges.txt -q --out before.csv").ok();
    folder.write("grown.txt", format!("new ada7\n{}", graphs::edges()));
    let answer = folder.nigh("embed model grown.txt --out after.csv");
    assert!(answer.stderr.contains("of 33 nodes are new to the model"), "{}", answer.stderr);
    answer.ok();
    let (before, after) = (csv(&folder.text("before.csv")), csv(&folder.text("after.csv")));
    assert!(after.contains_key("new"));
    // Three steps from ada7 is further than two rounds of messages reach.
    assert_eq!(before["cho5"], after["cho5"]);
    assert_ne!(before["ada7"], after["ada7"]);
}

#[test]
fn a_model_trained_with_features_needs_them_again() {
    let folder = trained("--features features.csv");
    folder.refuses("embed model edges.txt --out vectors.csv", 1, &["trained with 3 features", "--features FILE"]);
    let narrow: String = graphs::people().iter().map(|id| format!("{id},1,2\n")).collect();
    folder.write("narrow.csv", narrow);
    let line = "embed model edges.txt --features narrow.csv --out vectors.csv";
    folder.refuses(line, 1, &["trained with 3 features", "edges.txt has 2"]);
}

#[test]
fn a_model_trained_with_a_single_feature_needs_it_again() {
    let folder = trained("");
    let ages = graphs::people().into_iter().enumerate().map(|(at, id)| format!("{id},{at}\n"));
    folder.write("age.csv", ages.collect::<String>());
    folder.nigh(&format!("train edges.txt --features age.csv {FAST} --out aged")).ok();
    folder.refuses("embed aged edges.txt --out vectors.csv", 1, &["has none", "--features FILE"]);
    // A named dataset has its own features and accepts no others.
    let stderr = folder.nigh("embed aged grid --out vectors.csv").stderr;
    assert!(stderr.contains("grid has none") && !stderr.contains("--features"), "{stderr}");
}

#[test]
fn a_missing_empty_truncated_or_changed_file_of_the_folder_is_named() {
    let folder = trained("");
    for file in ["weights.safetensors", "config.toml", "ids.jsonl", "model.json"] {
        let whole = folder.read(&format!("model/{file}"));
        let mut changed = whole.clone();
        changed[whole.len() / 2] ^= 0x80;
        let damages = [None, Some(vec![]), Some(whole[..whole.len() / 2].to_vec()), Some(changed)];
        for (at, damage) in damages.into_iter().enumerate() {
            let model = format!("{file}-{at}");
            copy(&folder.path("model"), &folder.path(&model));
            match damage {
                None => std::fs::remove_file(folder.path(&format!("{model}/{file}"))).unwrap(),
                Some(bytes) => folder.write(&format!("{model}/{file}"), bytes),
            }
            let says = [format!("model folder {model}: {file}"), "hint: `nigh train ... --out DIR`".to_string()];
            let says = says.each_ref().map(String::as_str);
            folder.refuses(&format!("embed {model} edges.txt --out vectors.npy"), 1, &says);
            folder.refuses(&format!("evaluate {model} edges.txt"), 1, &says);
            folder.refuses(&format!("predict {model} edges.txt --node ada0"), 1, &says);
        }
    }
}

#[test]
fn a_figure_changed_in_model_json_is_noticed() {
    // The epoch picks the draw of a resampled signal: with another one every vector would be another.
    let folder = trained("--refresh resampled");
    let manifest = folder.text("model/model.json");
    let changed = manifest.replace("\"best_epoch\": ", "\"best_epoch\": 1");
    assert_ne!(manifest, changed);
    folder.write("model/model.json", changed);
    folder.refuses("embed model edges.txt --out vectors.npy", 1, &["model.json"]);
}

/// Replaces a file of the folder and its checksum.
fn forge(folder: &TestFolder, file: &str, content: &[u8]) {
    let path = format!("model/{file}");
    let sum = nigh::formats::digest::sha256;
    let sums = folder.text("model/SHA256SUMS").replace(&sum(&folder.read(&path)), &sum(content));
    folder.write(&path, content);
    folder.write("model/SHA256SUMS", sums);
}

fn forge_summary(folder: &TestFolder, change: impl FnOnce(&mut Value)) {
    let mut manifest: Value = serde_json::from_str(&folder.text("model/model.json")).unwrap();
    change(&mut manifest["summary"]);
    forge(folder, "model.json", (serde_json::to_string_pretty(&manifest).unwrap() + "\n").as_bytes());
}

#[test]
fn names_of_features_that_are_repeated_or_miscounted_are_refused() {
    for (names, says) in [
        (vec!["age", "age"], "model.json is damaged: feature_names has `age` twice"),
        (vec!["age"], "model.json is damaged: num_features is 2, and there are 1 feature_names"),
        (vec!["age", "height", "more"], "model.json is damaged: num_features is 2, and there are 3 feature_names"),
    ] {
        let folder = trained("");
        let rows: String = graphs::people().iter().zip(0..).map(|(id, at)| format!("{id},{at},{}\n", at % 5)).collect();
        folder.write("features.csv", format!("id,age,height\n{rows}"));
        folder.nigh(&format!("train edges.txt --features features.csv {FAST} --out described")).ok();
        std::fs::remove_dir_all(folder.path("model")).unwrap();
        std::fs::rename(folder.path("described"), folder.path("model")).unwrap();
        forge_summary(&folder, |summary| {
            assert_eq!(summary["feature_names"], serde_json::json!(["age", "height"]));
            summary["feature_names"] = names.into();
        });
        for command in
            ["embed model edges.txt --out h.npy", "evaluate model edges.txt", "predict model edges.txt --node ada0"]
        {
            folder.refuses(&format!("{command} --features features.csv"), 1, &[says]);
        }
    }
}

#[test]
fn a_list_of_ids_that_contradicts_the_count_is_refused() {
    let folder = trained("");
    let ids = folder.text("model/ids.jsonl");
    for (forged, says) in [
        (format!("{ids}\"more\"\n"), "ids.jsonl is damaged: it has more than the 32 ids of model.json"),
        (ids.replacen("\"ada0\"\n", "", 1), "ids.jsonl is damaged: it has 31 ids, and model.json says 32"),
        (ids.replacen("\"ada0\"\n", "7\n", 1), "ids.jsonl is damaged: line 1: invalid type"),
    ] {
        forge(&folder, "ids.jsonl", forged.as_bytes());
        folder.refuses("embed model edges.txt --out h.npy", 1, &[says]);
    }
}

#[cfg(unix)]
#[test]
fn only_regular_files_of_the_announced_size_are_read() {
    let folder = trained("");
    let files = ["weights.safetensors", "config.toml", "ids.jsonl", "model.json", "SHA256SUMS", "README.md"];
    for file in files {
        let refused = |kind: &str, place: &dyn Fn(std::path::PathBuf), says: &str| {
            let model = format!("{kind}-{file}");
            copy(&folder.path("model"), &folder.path(&model));
            let path = folder.path(&format!("{model}/{file}"));
            std::fs::remove_file(&path).unwrap();
            place(path);
            let answer = folder.nigh(&format!("predict {model} edges.txt --node ada0"));
            let expected = format!("model folder {model}: {file} {says}");
            assert!(answer.code == Some(1) && answer.stderr.contains(&expected), "{expected}: {}", answer.stderr);
            std::fs::remove_dir_all(folder.path(&model)).unwrap();
        };
        let zeros = |path: std::path::PathBuf| std::os::unix::fs::symlink("/dev/zero", path).unwrap();
        refused("device", &zeros, "is a device; expected a regular file");
        let pipe = |path: std::path::PathBuf| assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
        refused("pipe", &pipe, "is a pipe; expected a regular file");
        refused("folder", &|path| std::fs::create_dir(path).unwrap(), "is a folder; expected a regular file");
        // A terabyte of nothing takes no place on the disk.
        let sparse = |path: std::path::PathBuf| std::fs::File::create(path).unwrap().set_len(1 << 40).unwrap();
        refused("sparse", &sparse, "is ");
    }
    // A link to a file is as good as the file.
    std::fs::rename(folder.path("model/weights.safetensors"), folder.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink(folder.path("elsewhere"), folder.path("model/weights.safetensors")).unwrap();
    folder.nigh("evaluate model edges.txt -q").ok();
}

#[test]
fn a_count_that_contradicts_the_weights_is_refused_even_with_a_valid_checksum() {
    for (model, count) in [("gcn-onehot", "largest_graph"), ("smp-linear", "num_features")] {
        let folder = trained(&format!("--model {model}"));
        forge_summary(&folder, |summary| summary[count] = 9_000_000_000_000_000u64.into());
        folder.refuses("embed model edges.txt --out h.npy", 1, &["model.json is damaged", count]);
    }
}

#[test]
fn a_folder_that_is_not_a_model_is_refused() {
    let folder = trained("");
    std::fs::create_dir(folder.path("empty")).unwrap();
    folder.refuses("embed nowhere edges.txt --out vectors.npy", 1, &["model folder nowhere", "no such folder"]);
    folder.refuses("embed edges.txt edges.txt --out vectors.npy", 1, &["model folder edges.txt"]);
    folder.refuses("embed empty edges.txt --out vectors.npy", 1, &["model folder empty: model.json can't be read"]);
    let manifest = folder.text("model/model.json").replace("\"format\": 1", "\"format\": 999");
    folder.write("model/model.json", manifest);
    folder.refuses("embed model edges.txt --out vectors.npy", 1, &["format 999", "another version"]);
}

#[test]
fn an_embedding_without_its_ids_is_not_left_behind() {
    let folder = trained("");
    std::fs::create_dir(folder.path("vectors.npy.ids.txt")).unwrap();
    folder.refuses("embed model edges.txt --out vectors.npy", 1, &["vectors.npy.ids.txt"]);
}

#[test]
fn features_are_matched_by_name() {
    let folder = trained("");
    let named = |header: &str, order: [usize; 3]| {
        let row = |line: &str| {
            let cells: Vec<&str> = line.split(',').collect();
            format!("{},{},{},{}\n", cells[0], cells[order[0]], cells[order[1]], cells[order[2]])
        };
        format!("{header}\n{}", graphs::features().lines().map(row).collect::<String>())
    };
    folder.write("named.csv", named("id,a,b,c", [1, 2, 3]));
    folder.write("moved.csv", named("id,c,a,b", [3, 1, 2]));
    folder.write("other.csv", named("id,a,b,zebra", [1, 2, 3]));
    folder.nigh(&format!("train edges.txt {FAST} --features named.csv --out of_features")).ok();
    for file in ["named", "moved"] {
        folder.nigh(&format!("embed of_features edges.txt --features {file}.csv --out {file}_vectors.csv -q")).ok();
    }
    assert_eq!(folder.text("named_vectors.csv"), folder.text("moved_vectors.csv"));
    let line = "embed of_features edges.txt --out v.csv --features";
    folder.refuses(&format!("{line} other.csv"), 1, &["feature `zebra` is new to the model", "a, b, c"]);
    // Without names, features are matched by order.
    folder.nigh(&format!("{line} features.csv")).ok();
}

#[test]
fn edges_seen_in_training_are_not_reported_as_a_test() {
    let folder = trained("");
    folder.write("more.txt", graphs::edges() + "ada0 dee5\n");
    let text = folder.nigh("evaluate model more.txt").ok();
    assert!(text.contains("test, partly in training"), "{text}");
    assert_eq!(folder.nigh("evaluate model more.txt --json").json()["held_out"], false);
    assert_eq!(folder.nigh("evaluate model edges.txt --json").json()["held_out"], true);
}

#[test]
fn graphs_differ_in_their_signals_and_labels_that_are_not_needed_are_ignored() {
    let table: String = ["one", "two", "three", "four", "five"]
        .iter()
        .flat_map(|graph| graphs::edges().lines().map(|line| format!("{graph} {line}\n")).collect::<Vec<_>>())
        .collect();
    let folder = TestFolder::with(&[
        ("several.txt", "graph source target\n".to_string() + &table),
        ("edges.txt", graphs::edges()),
        ("labels.csv", graphs::labels()),
        ("others.csv", graphs::labels().replace("team", "crew")),
    ]);
    folder.nigh(&format!("train several.txt {FAST} --model smp-identity --out model")).ok();
    folder.nigh("embed model several.txt --out vectors.csv -q").ok();
    folder.nigh("embed model several.txt --out made/up/vectors.safetensors -q").ok();
    let vector = |graph: &str| {
        let text = folder.text("vectors.csv");
        let start = format!("{graph},ada3,");
        text.lines().find(|line| line.starts_with(&start)).unwrap()[start.len()..].to_string()
    };
    assert_ne!(vector("one"), vector("two"));
    folder.nigh(&format!("train edges.txt --labels labels.csv {FAST} --out links")).ok();
    folder.nigh("embed links edges.txt --labels others.csv --out v.npy -q").ok();
}

#[test]
fn scores_that_are_not_finite_are_an_error() {
    let huge: String = graphs::people().iter().enumerate().map(|(at, id)| format!("{id},{}e21\n", at + 1)).collect();
    let folder = TestFolder::with(&[("edges.txt", graphs::edges()), ("huge.csv", huge)]);
    let line = "train edges.txt --features huge.csv --model gcn --epochs 5 --repeats 1 -q";
    folder.refuses(line, 1, &["features are enormous"]);
}

#[test]
fn probabilities_stand_next_to_scores_and_follow_the_prior() {
    let folder = TestFolder::with(&[("edges.txt", graphs::edges()), ("labels.csv", graphs::labels())]);
    let train = "train edges.txt --epochs 10 --repeats 1 -q";
    folder.nigh(&format!("{train} --model smp-linear --decoder inner-product --out model")).ok();
    let rows = |line: &str| -> Vec<Vec<String>> {
        let text = folder.nigh(&format!("{line} -q")).ok();
        text.lines().map(|line| line.split(',').map(String::from).collect()).collect()
    };
    let number = |cell: &String| cell.parse::<f64>().expect("a number");
    for (prior, shift) in [("", 0.0), ("--prior 0.5", 0.0), ("--prior 0.01", (0.01f64 / 0.99).ln())] {
        let question = format!("predict model edges.txt --pairs edges.txt --probabilities {prior}");
        let found = rows(&question);
        assert_eq!(found[0], ["source", "target", "score", "probability"]);
        for row in &found[1..] {
            let expected = 1.0 / (1.0 + (-number(&row[2]) - shift).exp());
            assert!((number(&row[3]) - expected).abs() < 1e-5, "{prior}: {row:?}");
        }
        assert_eq!(rows(&format!("{question} --memory 1GiB")), found, "{prior}");
        let links = format!("predict model edges.txt --node ada0 --top 3 --probabilities {prior}");
        let table = folder.nigh(&format!("{links} -q")).ok();
        assert!(table.lines().next().unwrap().split_whitespace().eq(["node", "score", "probability"]), "{table}");
        for memory in ["", "--memory 1GiB"] {
            folder.nigh(&format!("{links} {memory} -q --out links.csv")).ok();
            let text = folder.text("links.csv");
            assert!(text.starts_with("source,target,score,probability,exists\n"), "{text}");
        }
    }
    // A score is called so, whatever the decoder.
    let table = folder.nigh("predict model edges.txt --node ada0 -q").ok();
    assert!(table.lines().next().unwrap().split_whitespace().eq(["node", "score"]), "{table}");
    folder.refuses("predict model edges.txt --node ada0 --probabilities --prior 2", 2, &["`prior` is 2"]);
    folder.refuses("predict model edges.txt --node ada0 --prior 0.5", 2, &["--probabilities"]);
    folder.nigh(&format!("{train} --model smp-linear --out cosine")).ok();
    let says = ["scores of smp-linear with the decoder cosine are not logits", "hadamard-mlp"];
    folder.refuses("predict cosine edges.txt --node ada0 --probabilities", 1, &says);
    folder.nigh(&format!("{train} --labels labels.csv --task node-classification --split random --out classes")).ok();
    folder.refuses("predict classes edges.txt --probabilities", 2, &["labels with their probabilities"]);
}
