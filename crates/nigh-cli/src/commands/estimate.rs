//! `nigh estimate`: what a run takes, before it is started.

use super::{print, print_json};
use crate::cli::{Estimate, PropagationOptions};
use anyhow::Result;
use nigh::dataset::{Folders, InputFiles};
use nigh::estimate::EstimatedRun;
use nigh::propagation::Workload;

pub fn run(options: &Estimate, _: bool) -> Result<()> {
    let PropagationOptions { signal_dim, hops, hop_storage, memory } = options.of;
    let Estimate { width, epochs, pairs_per_epoch, .. } = *options;
    let (name, size) = match &options.graph {
        Some(graph) => Workload::named(graph, &InputFiles::default(), &Folders::new(None))?,
        None => {
            let (nodes, edges) = (options.nodes.unwrap_or(0), options.edges.unwrap_or(0));
            ("a graph file".into(), Workload::of_counts(nodes, edges)?)
        }
    };
    let run = EstimatedRun { signal_dim, hops, hop_storage, width, epochs, pairs_per_epoch, memory };
    let found = run.on(&name, size)?;
    if options.json { print_json(&found.to_json()) } else { print(&found.to_string()) }
}
