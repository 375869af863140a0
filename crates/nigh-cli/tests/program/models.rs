//! `nigh models`, and every model in every command that supports it.

use crate::sample_graphs as graphs;
use crate::test_folder::TestFolder;
use serde_json::Value;
use std::path::PathBuf;

/// A model as the catalog shows it.
pub struct Model {
    pub name: String,
    pub classifies: bool,
    /// Computed from the graph, without representations.
    pub heuristic: bool,
    /// It learns from node ids alone.
    pub ids_alone: bool,
}

pub fn all() -> Vec<Model> {
    let catalog = TestFolder::new().nigh("models --json").json();
    let models = catalog["models"].as_array().expect("a list").iter().map(|model| {
        let branches = model["branches"].as_array().expect("branches");
        let ids = |branch: &Value| branch["sources"] == serde_json::json!(["one-hot"]);
        Model {
            name: model["name"].as_str().expect("a name").to_string(),
            classifies: model["answers"].as_array().expect("answers").iter().any(|answer| answer == "classes"),
            heuristic: branches.is_empty(),
            ids_alone: !branches.is_empty() && branches.iter().all(ids),
        }
    });
    let models: Vec<Model> = models.collect();
    assert_eq!(models.len(), nigh::models::catalog::MODELS.len());
    models
}

#[test]
fn every_model_has_a_page_with_formula_shapes_cost_and_use() {
    let folder = TestFolder::new();
    for model in all() {
        let page = folder.nigh(&format!("models {}", model.name)).ok();
        assert!(page.starts_with(&format!("# {}\n", model.name)), "{page}");
        for heading in ["Formula", "Shapes", "Cost", "When to use it", "Settings", "From"] {
            assert!(page.contains(&format!("\n## {heading}\n")), "{} has no {heading}", model.name);
        }
        assert!(page.lines().all(|line| line.chars().count() <= 100), "{page}");
    }
    let settings = |model: &str, setting: &str| {
        folder.nigh(&format!("models {model}")).ok().contains(&format!("\n- `--{setting} "))
    };
    assert!(settings("node2vec", "walk-length") && !settings("gcn", "walk-length"));
    assert!(settings("smp-proximity", "longest-walk") && !settings("node2vec", "longest-walk"));
    assert!(settings("smp-linear", "signal-dim") && !settings("gcn", "signal-dim"));
    folder.refuses("models gatt", 2, &["gatt", "did you mean `gat`"]);
}

#[test]
fn every_model_is_saved_evaluated_embedded_and_used_to_predict() {
    let folder = TestFolder::with(&[("edges.txt", graphs::edges()), ("features.csv", graphs::features())]);
    let data = "edges.txt --features features.csv -q";
    for Model { name, heuristic, .. } in all() {
        let options = "--epochs 12 --repeats 2 --walks-per-node 2 --walk-length 10";
        let trained = folder.nigh(&format!("train {data} --model {name} {options} --out {name} --json")).json();
        let chosen = |result: &Value| -> f64 {
            let repeats = result["repeats"].as_array().expect("repeats");
            let valid = |run: &Value| run["valid"].as_f64().expect("a figure");
            let best = repeats.iter().fold(&repeats[0], |best, run| if valid(run) > valid(best) { run } else { best });
            best["test"].as_f64().expect("a figure")
        };
        let again = folder.nigh(&format!("evaluate {name} {data} --json")).json();
        assert_eq!(again["test"].as_f64(), Some(chosen(&trained)), "{name}: {again}");
        if heuristic {
            folder.refuses(&format!("embed {name} {data} --out h.npy"), 1, &[&name, "no representations"]);
        } else {
            folder.nigh(&format!("embed {name} {data} --out {name}.csv")).ok();
            assert_eq!(folder.text(&format!("{name}.csv")).lines().count(), 33, "{name}");
        }
        let links = folder.nigh(&format!("predict {name} {data} --node {} --top 5", graphs::people()[0])).ok();
        assert_eq!(links.lines().count(), 2 + 5, "{name}: {links}");
    }
}

#[test]
fn every_model_works_on_several_graphs_except_those_of_ids_alone() {
    // Four copies of a graph, of different size.
    let mut edges = "graph,source,target\n".to_string();
    for graph in 0..4u32 {
        let n = 24 + 4 * graph;
        for i in 0..n {
            edges += &format!("g{graph},{i},{}\ng{graph},{i},{}\n", (i + 1) % n, (i * 5 + 2) % n);
        }
    }
    let folder = TestFolder::with(&[("edges.csv", edges)]);
    for Model { name, ids_alone, .. } in all() {
        let line = format!("train edges.csv --model {name} --epochs 5 --repeats 1 -q --out {name} --json");
        if ids_alone {
            folder.refuses(&line, 2, &[&name, "one graph"]);
            continue;
        }
        let trained = folder.nigh(&line).json();
        let again = folder.nigh(&format!("evaluate {name} edges.csv -q --json")).json();
        assert_eq!(trained["mean"], again["test"], "{name}");
    }
}

#[test]
fn the_pair_predictor_works_with_every_model_that_has_representations() {
    for Model { name, heuristic, .. } in all() {
        let options = "--decoder hadamard-mlp --epochs 4 --repeats 1 --walks-per-node 1 --walk-length 10 -q";
        let line = format!("train grid --model {name} {options} --json");
        if heuristic {
            TestFolder::new().refuses(&line, 2, &["decoder", "no representations"]);
            continue;
        }
        if name == "smp-proximity" {
            TestFolder::new().refuses(&line, 2, &["decoder", "all that it knows"]);
            continue;
        }
        let result = TestFolder::new().nigh(&line).json();
        assert_eq!(result["config"]["epochs"], 4, "{name}: the predictor has something to learn");
        assert!(result["mean"].as_f64().is_some_and(|mean| (0.0..=1.0).contains(&mean)), "{name}");
    }
    TestFolder::new().refuses("train grid --decoder graph --epochs 4", 2, &["decoder", "heuristics"]);
    TestFolder::new().refuses("train grid --dropout half", 2, &["--dropout", "expected `auto` or a number"]);
}

#[test]
fn a_model_of_node_ids_accepts_a_new_node_with_a_note() {
    let folder = TestFolder::with(&[("edges.txt", graphs::edges())]);
    for name in ["gcn-onehot", "node2vec", "matrix-factorization"] {
        folder.nigh(&format!("train edges.txt --model {name} --epochs 10 --repeats 1 -q --out {name}")).ok();
        folder.write("more.txt", graphs::edges() + &format!("newcomer {}\n", graphs::people()[0]));
        let answer = folder.nigh(&format!("embed {name} more.txt --out {name}.csv"));
        assert!(answer.stderr.contains("1 of 33 nodes are new"), "{name}: {}", answer.stderr);
        let text = folder.text(&format!("{name}.csv"));
        let row = text.lines().find(|line| line.starts_with("newcomer,")).expect("the newcomer has a row");
        assert!(row.split(',').skip(1).all(|cell| cell.parse::<f32>().is_ok_and(f32::is_finite)), "{row}");
        folder.write("others.txt", "x y\ny z\nz x\n");
        folder.refuses(&format!("embed {name} others.txt --out h.npy"), 1, &["none of the 3 nodes"]);
    }
}

/// Where the paper ran out of memory.
#[test]
#[ignore = "needs NIGH_DATA"]
fn models_that_ran_out_of_memory_in_the_paper_need_less_than_4_gib() {
    let root = PathBuf::from(std::env::var_os("NIGH_DATA").expect("NIGH_DATA names the folder of the datasets"));
    for (model, graph) in [("p-gnn", "coauthor-physics"), ("p-gnn", "pubmed"), ("gcn-onehot", "coauthor-physics")] {
        for task in ["link-prediction", "node-classification"] {
            let options = "--epochs 2 --repeats 1 --protocol published -q --json";
            let line = format!("train {graph} --data {} --task {task} --model {model} {options}", root.display());
            let result = TestFolder::new().nigh(&line).json();
            let peak = result["peak_rss_bytes"].as_u64().expect("a number of bytes");
            assert!(peak < 4 << 30, "{model} on {graph}, {task}: {peak} bytes");
        }
    }
}
