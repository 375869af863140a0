//! `nigh estimate`: what runs take, before they are started.

use super::train::LayeredSettings;
use super::{print, print_json};
use crate::cli::Estimate;
use anyhow::Result;
use nigh::dataset::{Folders, InputFiles};
use nigh::estimate::EstimatedRun;

pub fn run(options: &Estimate, _: bool) -> Result<()> {
    let settings = LayeredSettings::read(options.config.as_deref(), &options.settings)?;
    let run = EstimatedRun { config: settings.config.clone(), num_pairs: options.num_pairs, memory: options.memory };
    let found = match &options.graph {
        Some(graph) => {
            let Estimate { features, labels, .. } = options;
            let input = InputFiles { features: features.clone(), labels: labels.clone(), ..InputFiles::default() };
            run.on_file(graph, &input, &Folders::new(None))
        }
        None => run.on_counts(options.nodes.unwrap_or(0), options.edges.unwrap_or(0)),
    };
    let found = found.map_err(|error| settings.locate(error))?;
    if options.json { print_json(&found.to_json()) } else { print(&found.to_string()) }
}
