//! `nigh models`: the catalog, and the page of each model.

use super::{print, print_json};
use crate::cli::Models;
use crate::settings::{groups, list};
use anyhow::Result;
use nigh::Source;
use nigh::model::Architecture;
use nigh::model::catalog::{self, CatalogModel, Hyperparameters};
use nigh::train::SettingGroup;
use serde_json::json;

pub fn run(options: &Models) -> Result<()> {
    if let Some(model) = &options.model {
        return print(&page_with_settings(catalog::find(model)?));
    }
    let architecture = |model: &CatalogModel| model.architecture(&Hyperparameters::default());
    if options.json {
        let models: Vec<_> = catalog::MODELS.iter().map(|model| entry(model, &architecture(model))).collect();
        return print_json(&json!({ "models": models }));
    }
    let widest = catalog::MODELS.iter().map(|model| model.name.len()).max().unwrap_or(0);
    let line = |model: &str, answers: &str, about: &str| format!("{model:<widest$}  {answers:<14}  {about}\n");
    let mut text = line("model", "answers", "about");
    for model in catalog::MODELS {
        text += &line(model.name, &answers(&architecture(model)).join(", "), model.about);
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

/// The pages in `models/`, each under the name of its model.
const PAGES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// The page of a model, and the settings that belong to its family.
fn page_with_settings(model: &CatalogModel) -> String {
    let has_signal = model.architecture(&Hyperparameters::default()).uses(Source::Signal);
    let belongs = |group: SettingGroup| match group {
        SettingGroup::Model(name) => name == model.name,
        SettingGroup::Signal => has_signal,
        _ => false,
    };
    let section = |group: SettingGroup| format!("\n## Settings: {}\n\n{}", group.heading(), list(group));
    page(model.name).to_string() + &groups().filter(|group| belongs(*group)).map(section).collect::<String>()
}

fn page(model: &str) -> &'static str {
    PAGES.iter().find(|page| page.0 == model).expect("a page for every model, which a test checks").1
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_model_has_a_page_and_every_page_a_model() {
        let models: BTreeSet<&str> = catalog::MODELS.iter().map(|model| model.name).collect();
        assert_eq!(PAGES.iter().map(|page| page.0).collect::<BTreeSet<_>>(), models);
    }
}
