//! `nigh models`: the catalog, and a page for each model.

use super::{print, print_json};
use crate::cli::Models;
use anyhow::Result;
use nigh::model::Architecture;
use nigh::model::catalog::{self, CatalogModel, Hyperparameters};
use serde_json::json;

pub fn run(options: &Models) -> Result<()> {
    if let Some(model) = &options.model {
        catalog::find(model)?;
        return print(page(model));
    }
    let architecture = |model: &CatalogModel| model.architecture(&Hyperparameters::default());
    if options.json {
        let models: Vec<_> = catalog::MODELS.iter().map(|model| entry(model, &architecture(model))).collect();
        return print_json(&json!({ "models": models }));
    }
    let mut text = format!("{:<22}{:<16}about\n", "model", "answers");
    for model in catalog::MODELS {
        text += &format!("{:<22}{:<16}{}\n", model.name, answers(&architecture(model)).join(", "), model.about);
    }
    text += "\npairs      link-prediction, pairwise-node-classification, graph-reconstruction\n\
             classes    node-classification\n\n\
             `nigh models MODEL` shows the page of one, `nigh train GRAPH --model MODEL` trains it.\n";
    print(&text)
}

/// What can be asked of a model.
fn answers(architecture: &Architecture) -> Vec<&'static str> {
    let classes = architecture.can_classify().then_some("classes");
    ["pairs"].into_iter().chain(classes).collect()
}

fn entry(model: &CatalogModel, architecture: &Architecture) -> serde_json::Value {
    let branches: Vec<_> = architecture
        .branches
        .iter()
        .map(|branch| json!({ "sources": branch.sources, "encoder": branch.encoder.name() }))
        .collect();
    json!({
        "name": model.name,
        "about": model.about,
        "answers": answers(architecture),
        "branches": branches,
        "head": architecture.head.name(),
        "dropout": model.dropout,
    })
}

/// `docs/models/NAME.md`, as it is.
fn page(model: &str) -> &'static str {
    macro_rules! pages {
        ($($name:literal)*) => {
            match model {
                $($name => include_str!(concat!("../../../../docs/models/", $name, ".md")),)*
                _ => unreachable!("a model without a page"),
            }
        };
    }
    pages! {
        "smp-linear" "smp-identity" "smp-mlp" "smp-linear-gcn-feat" "smp-linear-gcn-both" "smp-attention" "smp-gin"
        "sgc" "gcn" "gat" "graphsage" "p-gnn" "gcn-onehot" "eigen-gnn" "node2vec" "matrix-factorization"
        "common-neighbors" "adamic-adar" "resource-allocation" "katz"
    }
}
