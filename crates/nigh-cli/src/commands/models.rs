//! `nigh models`: the catalog, and the page of each model.

use super::{print, print_json};
use crate::cli::Models;
use anyhow::Result;
use nigh::model::{Architecture, catalog};
use serde_json::json;

pub fn run(options: &Models) -> Result<()> {
    if let Some(model) = &options.model {
        catalog::architecture(model)?;
        return print(page(model));
    }
    let models: Vec<(&str, &str, Architecture)> = catalog::MODELS
        .iter()
        .map(|&(name, about)| Ok((name, about, catalog::architecture(name)?)))
        .collect::<Result<_>>()?;
    if options.json {
        let models: Vec<_> =
            models.iter().map(|(name, about, architecture)| entry(name, about, architecture)).collect();
        return print_json(&json!({ "models": models }));
    }
    let mut text = format!("{:<22}{:<16}about\n", "model", "answers");
    for (name, about, architecture) in &models {
        text += &format!("{name:<22}{:<16}{about}\n", answers(architecture).join(", "));
    }
    text += "\npairs      link-prediction, pairwise-node-classification, graph-reconstruction\n\
             classes    node-classification\n\n\
             `nigh models MODEL` shows the page of one, `nigh train GRAPH --model MODEL` trains it.\n";
    print(&text)
}

/// What a model can predict.
fn answers(architecture: &Architecture) -> Vec<&'static str> {
    let classes = architecture.can_classify().then_some("classes");
    ["pairs"].into_iter().chain(classes).collect()
}

fn entry(name: &str, about: &str, architecture: &Architecture) -> serde_json::Value {
    let branches: Vec<_> = architecture
        .branches
        .iter()
        .map(|branch| json!({ "sources": branch.sources, "encoder": format!("{:?}", branch.encoder) }))
        .collect();
    json!({
        "name": name,
        "about": about,
        "answers": answers(architecture),
        "branches": branches,
        "head": architecture.head,
        "dropout": architecture.dropout,
    })
}

/// The pages in `models/`, each under the name of its model.
const PAGES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/pages.rs"));

fn page(model: &str) -> &'static str {
    PAGES.iter().find(|page| page.0 == model).expect("a page for every model, which a test checks").1
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_model_has_a_page_and_every_page_a_model() {
        let models: BTreeSet<&str> = catalog::MODELS.iter().map(|model| model.0).collect();
        assert_eq!(PAGES.iter().map(|page| page.0).collect::<BTreeSet<_>>(), models);
    }
}
