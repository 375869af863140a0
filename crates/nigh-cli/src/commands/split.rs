//! `nigh split`: the split of a training as csv files.

use super::train::LayeredSettings;
use super::{load, new_folder, print, print_json};
use crate::cli::Split;
use anyhow::Result;
use nigh::Seeds;
use nigh::dataset::FixedSplit;
use nigh::display::pluralize;
use serde_json::json;

pub fn run(options: &Split, quiet: bool) -> Result<()> {
    let out = new_folder(&options.out, "; a split is written to a folder of its own")?;
    let settings = LayeredSettings::read(options.config.as_deref(), &options.settings)?;
    let dataset = settings.with_split(&settings.config, load(&options.data, quiet)?)?;
    let config = settings.config.clone().resolve(&dataset).map_err(|error| settings.locate(error))?;
    let listed = config.list_split(&config.node_features.seen(&dataset), Seeds::new(config.seed))?;
    let mut about = toml::Table::from_iter([
        ("nigh".to_string(), env!("CARGO_PKG_VERSION").into()),
        ("graph".to_string(), dataset.name.clone().into()),
        ("task".to_string(), config.task.to_string().into()),
        ("seed".to_string(), (config.seed as i64).into()),
        ("split".to_string(), listed.digest.clone().into()),
    ]);
    if config.task.is_about_pairs() {
        about.insert("evaluation-negatives".to_string(), config.evaluation_negatives.to_string().into());
    }
    let files = listed.fixed.write(&dataset, &out, &about)?;
    if options.json {
        return print_json(&json!({ "folder": out, "files": files, "about": about }));
    }
    let what = match &listed.fixed {
        FixedSplit::Nodes([train, valid, test]) => {
            format!(
                "{} for training, {} for validation, {} for the test",
                pluralize(train.len(), "node"),
                valid.len(),
                test.len()
            )
        }
        FixedSplit::Pairs([valid, test]) | FixedSplit::Edges { held_out: [valid, test], .. } => {
            let train = match &listed.fixed {
                FixedSplit::Edges { train, .. } => train.len(),
                _ => dataset.num_edges(),
            };
            format!(
                "{} for training, {} for validation, {} for the test",
                pluralize(train, "edge"),
                valid.positive.len(),
                test.positive.len()
            )
        }
    };
    print(&format!("{what}\n{}: {}\nsplit {}\n", out.display(), files.join(", "), listed.digest))
}
