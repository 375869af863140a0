//! Nodes with several labels, from files to predictions.

use crate::sample_graphs as graphs;
use crate::test_folder::TestFolder;
use serde_json::json;

/// The group of each person, and a club for those with even numbers.
fn labels() -> String {
    let club = |id: &String| if id.ends_with(['0', '2', '4', '6']) { ";club" } else { "" };
    graphs::people().iter().map(|id| format!("{id},team-{}{}\n", &id[..3], club(id))).collect()
}

fn people() -> TestFolder {
    TestFolder::with(&[("edges.txt", graphs::edges()), ("labels.csv", format!("id,labels\n{}", labels()))])
}

const TRAIN: &str = "train edges.txt --labels labels.csv --task node-classification --epochs 30 --repeats 2";

#[test]
fn several_labels_are_trained_evaluated_and_predicted() {
    let folder = people();
    let answer = folder.nigh(&format!("{TRAIN} --out model"));
    let text = answer.stdout.clone();
    assert!(text.contains("micro-f1") && text.contains("majority-labels") && text.contains("neighbour-vote"), "{text}");
    let notes = &answer.stderr;
    assert!(notes.contains("lists separated by `;`; they can be taken as one label each (--label-separator none)"));
    assert!(notes.contains("nodes have several labels: 16 of 32 labelled ones, 1.5 each on average"), "{notes}");
    assert!(notes.contains("model smp-gated: the default for classes"), "{notes}");
    let model: serde_json::Value = serde_json::from_slice(&folder.read("model/model.json")).unwrap();
    assert_eq!(model["summary"]["multi_label"], json!(true));
    let classes = ["club", "team-ada", "team-bob", "team-cho", "team-dee"];
    assert_eq!(model["summary"]["class_names"], json!(classes));
    let card = folder.text("model/README.md");
    assert!(
        card.contains("5 classes, several per node") && card.contains("decoder sigmoid, labels above 0.5"),
        "{card}"
    );
    let again = folder.nigh("evaluate model edges.txt --labels labels.csv --json -q").json();
    assert_eq!((&again["test"], &again["same_split"]), (&again["recorded"]["test"], &json!(true)));
    assert_eq!(again["metrics"].as_object().unwrap().len(), 3);

    let table = folder.nigh("predict model edges.txt -q").ok();
    let mut lines = table.lines();
    let heading: Vec<String> = classes.iter().map(|class| format!("probability of {class}")).collect();
    assert_eq!(lines.next().unwrap(), format!("id,labels,{}", heading.join(",")));
    assert_eq!(lines.clone().count(), 32);
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        let likely = classes.iter().zip(&fields[2..]).filter(|(_, p)| p.parse::<f32>().unwrap() > 0.5);
        let likely: Vec<&str> = likely.map(|(class, _)| *class).collect();
        assert_eq!(fields[1], likely.join(";"), "{line}");
    }
    assert!(table.contains("team-ada;") || table.contains(";team-ada") || table.contains(",team-ada,"), "{table}");
    folder.nigh("predict model edges.txt --out labels.parquet -q").ok();
    // What is predicted can be read as labels again.
    folder.nigh("predict model edges.txt --out predicted.csv -q").ok();
    let shown = folder.nigh("data show edges.txt --labels predicted.csv --json -q").json();
    assert!(shown["num_classes"].as_u64().unwrap() >= 2 && shown["labelled"].as_u64().unwrap() > 20, "{shown}");
    let parquet = folder.nigh("data show edges.txt --labels labels.parquet --json -q").json();
    assert_eq!((&parquet["num_classes"], &parquet["labelled"]), (&shown["num_classes"], &shown["labelled"]));
}

#[test]
fn models_are_compared_on_several_labels_and_a_list_can_be_one_label() {
    let folder = people();
    let line = "edges.txt --labels labels.csv --task node-classification --epochs 4 --repeats 2";
    let compared = folder.nigh(&format!("compare {line} --metric macro-f1 --json -q")).json();
    let models: Vec<&str> =
        compared["models"].as_array().unwrap().iter().map(|m| m["model"].as_str().unwrap()).collect();
    for model in ["smp-gated", "smp-linear", "sgc", "gcn", "gat", "node2vec"] {
        assert!(models.contains(&model), "{models:?}");
    }
    assert_eq!(compared["metric"], "macro-f1");
    let whole = "--label-separator none --valid-fraction 0.3 --test-fraction 0.3 --model sgc --json -q";
    assert_eq!(folder.nigh(&format!("train {line} {whole}")).json()["metric"], "accuracy");
    folder.refuses(&format!("{TRAIN} --train-per-class 3"), 2, &["`train-per-class` is 3", "several labels each"]);
    folder.refuses(&format!("{TRAIN} --metric accuracy"), 2, &["judged by micro-f1, macro-f1 or ap"]);
    folder.refuses(&format!("{TRAIN} --label-separator="), 2, &["label-separator"]);
}

#[test]
fn a_training_on_several_labels_resumes_and_tunes() {
    let folder = people();
    folder.nigh(&format!("{TRAIN} --out one --model gcn -q")).ok();
    folder.nigh(&format!("{TRAIN} --out two --model gcn -q --checkpoint-every 7")).ok();
    assert_eq!(folder.files("one").values().collect::<Vec<_>>(), folder.files("two").values().collect::<Vec<_>>());
    let line = "tune edges.txt --labels labels.csv --task node-classification --epochs 9 --candidates 1 --model sgc";
    folder.nigh(&format!("{line} --repeats 1 --json -q")).json();
}

#[test]
fn an_export_holds_a_row_for_each_label() {
    let folder = people();
    folder.nigh("data export edges.txt --labels labels.csv --out plain -q").ok();
    assert!(folder.text("plain/labels.csv").starts_with("id,label\nada0,club\nada0,team-ada\nada1,team-ada\n"));
    let shown = |labels: &str| folder.nigh(&format!("data show edges.txt --labels {labels} --json -q")).json();
    let (before, after) = (shown("labels.csv"), shown("plain/labels.csv"));
    assert_eq!((&before["multi_label"], &before["labelled"]), (&json!(true), &json!(32)));
    assert_eq!((&before["num_classes"], &before["labelled"]), (&after["num_classes"], &after["labelled"]));
}
