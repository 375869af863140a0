//! `nigh models`: the catalog, and the page of each model.

use super::{print, print_json};
use crate::cli::Models;
use crate::settings::{groups, list};
use anyhow::Result;
use nigh::models::catalog::{self, Ability, CatalogModel, Hyperparameters, MODELS};
use nigh::train::SettingGroup;
use nigh::{Source, Task};
use serde_json::json;
use std::collections::BTreeMap;

pub fn run(options: &Models) -> Result<()> {
    if let Some(model) = &options.model {
        return print(&page_with_settings(catalog::find(model)?));
    }
    if options.json {
        let models: Vec<_> = MODELS.iter().map(entry).collect();
        return print_json(&json!({ "models": models }));
    }
    let row = |model: &CatalogModel| {
        let answers = in_short(Task::ALL.iter().copied().filter(|task| model.answers(*task)));
        let abilities = Ability::ALL.iter().map(|ability| trained(model, *ability));
        [vec![model.name.to_string(), answers], abilities.collect(), vec![model.about.to_string()]].concat()
    };
    let heading = ["model", "answers", "limit", "disk", "Ray", "about"].map(String::from).to_vec();
    let rows: Vec<Vec<String>> = [heading].into_iter().chain(MODELS.iter().map(row)).collect();
    let text = "pairs    link-prediction, pairwise-node-classification and graph-reconstruction\n\
                classes  node-classification\n\
                links    link-prediction\n\n\
                limit    tasks for which a training keeps to --memory; all others run in memory\n\
                disk     tasks for which a training works with its edges on disk\n\
                Ray      tasks for which nigh.ray trains on many machines\n\n\
                `nigh models MODEL` shows the page of one, `nigh train GRAPH --model MODEL` trains it.\n";
    print(&format!("{}\n{text}", aligned(&rows)))
}

/// Rows of text in columns, all aligned to the left.
fn aligned(rows: &[Vec<String>]) -> String {
    let widest = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(widest).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_string() + "\n"
    };
    rows.iter().map(line).collect()
}

/// The tasks for which a model can be trained so.
fn trained(model: &CatalogModel, ability: Ability) -> String {
    in_short(Task::ALL.iter().copied().filter(|task| model.can(*task, ability)))
}

/// Tasks in a few words.
fn in_short(tasks: impl Iterator<Item = Task>) -> String {
    let tasks: Vec<Task> = tasks.collect();
    let all_pairs = Task::ALL.iter().filter(|task| task.is_about_pairs()).all(|task| tasks.contains(task));
    let words: Vec<&str> = tasks
        .iter()
        .filter_map(|task| match task {
            Task::LinkPrediction if all_pairs => Some("pairs"),
            Task::LinkPrediction => Some("links"),
            Task::NodeClassification => Some("classes"),
            _ if all_pairs => None,
            other => Some(other.name()),
        })
        .collect();
    if words.is_empty() { "-".to_string() } else { words.join(", ") }
}

fn entry(model: &CatalogModel) -> serde_json::Value {
    let architecture = model.architecture(&Hyperparameters::default());
    let branches: Vec<_> = architecture
        .branches
        .iter()
        .map(|branch| json!({ "sources": branch.sources, "encoder": branch.encoder.name() }))
        .collect();
    let tasks = Task::ALL.iter().filter(|task| model.answers(**task)).map(|task| {
        let abilities = Ability::ALL.iter().map(|ability| (ability.name(), model.can(*task, *ability)));
        (task.name(), abilities.collect::<BTreeMap<_, _>>())
    });
    let classes = model.answers(Task::NodeClassification).then_some("classes");
    let answers: Vec<&str> = ["pairs"].into_iter().chain(classes).collect();
    json!({
        "name": model.name,
        "about": model.about,
        "answers": answers,
        "tasks": tasks.collect::<BTreeMap<_, _>>(),
        "branches": branches,
        "head": architecture.head.name(),
        "in_memory": model.in_memory_reason(),
        "dropout": model.dropout(),
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

    /// The table of what works, in Markdown.
    fn table() -> String {
        let cell = |model: &CatalogModel, task: Task| {
            let abilities = Ability::ALL.iter().filter(|ability| model.can(task, **ability));
            let abilities: Vec<&str> = abilities.map(|ability| ability.name()).collect();
            match model.answers(task) {
                false => "-".to_string(),
                true if abilities.is_empty() => "in memory".to_string(),
                true => abilities.join(", "),
            }
        };
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let heading = ["model"].into_iter().chain(Task::ALL.iter().map(|task| task.name())).chain(["why in memory"]);
        let heading: Vec<String> = heading.map(String::from).collect();
        let rule = "|---".repeat(heading.len());
        let rows = MODELS.iter().map(|model| {
            let cells = Task::ALL.iter().map(|task| cell(model, *task));
            let why = model.in_memory_reason().unwrap_or_default().to_string();
            line([model.name.to_string()].into_iter().chain(cells).chain([why]).collect())
        });
        format!("{}{rule}|\n{}", line(heading), rows.collect::<String>())
    }

    #[test]
    fn the_page_on_models_has_the_table_of_what_works() {
        const START: &str = "<!-- Written by `NIGH_BLESS=1 cargo test -p nigh-cli models` -->\n";
        const END: &str = "<!-- End of what is written -->";
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/models/README.md");
        let page = std::fs::read_to_string(&path).unwrap();
        let (before, rest) = page.split_once(START).expect("the start of the table");
        let (_, after) = rest.split_once(END).expect("the end of the table");
        let text = format!("{before}{START}\n{}\n{END}{after}", table());
        if std::env::var_os("NIGH_BLESS").is_some_and(|bless| bless == "1") {
            std::fs::write(&path, &text).unwrap();
            return;
        }
        assert!(page == text, "{} does not match; NIGH_BLESS=1 writes it:\n{}", path.display(), table());
    }

    #[test]
    fn every_model_has_a_page_and_every_page_a_model() {
        let models: BTreeSet<&str> = catalog::MODELS.iter().map(|model| model.name).collect();
        assert_eq!(PAGES.iter().map(|page| page.0).collect::<BTreeSet<_>>(), models);
    }
}
