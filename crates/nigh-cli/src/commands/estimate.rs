//! `nigh estimate`: what a run takes, before it is started.

use super::propagate::{check_counts, described, within};
use super::{print, print_json};
use crate::cli::{Estimate, PropagationOptions};
use anyhow::Result;
use nigh::dataset::{Folders, GraphStore, InputFiles};
use nigh::display::{byte_size, duration, pluralize};
use nigh::plan::{PartSize, PropagationEstimate, SampledWorkload, Workload, measure_hop, total};
use nigh::report::aligned_table::AlignedTable;
use nigh::task::MOST_HELD_OUT;
use nigh::{Dataset, Error, Memory};
use serde_json::json;
use std::path::Path;
use std::time::Duration;

pub fn run(options: &Estimate, _: bool) -> Result<()> {
    check_counts(&options.of)?;
    let PropagationOptions { signal_dim, hops, hop_storage: storage, memory } = options.of;
    let (name, workload) = workload(options)?;
    let workload = Workload { signal_dim, hops, storage, width: options.width, ..workload };
    let propagation = within(&workload, memory)?;
    let training = Training::of(&workload, options)?;
    let per_product = measure_hop(propagation.panel_width)?;
    let time = workload.propagation_time(per_product);
    if options.json {
        return print_json(&json!({
            "graph": name,
            "num_nodes": workload.num_nodes,
            "num_edges": workload.num_edges,
            "graph_file_bytes": workload.csr_bytes() + workload.id_bytes,
            "memory_limit": memory.map(|memory| memory.bytes()),
            "propagation": {
                "way": propagation.way,
                "panel_width": propagation.panel_width,
                "memory": propagation.memory,
                "memory_bytes": propagation.total(),
                "disk": propagation.disk,
                "disk_bytes": total(&propagation.disk),
                "result_bytes": result_bytes(&workload),
                "seconds": time.as_secs_f64(),
                "nanoseconds_per_edge_and_column": 1e9 * per_product.as_secs_f64(),
            },
            "training_in_memory": training.in_memory.as_ref().map(|parts| json!({
                "memory": parts,
                "memory_bytes": total(parts),
                "fits": memory.map(|memory| total(parts) <= memory.bytes()),
            })),
            "training_on_sampled_pairs": training.sampled.as_ref().map(|found| match found {
                Ok(estimate) => json!({
                    "way": estimate.way,
                    "panel_width": estimate.panel_width,
                    "memory": estimate.memory,
                    "memory_bytes": estimate.total(),
                    "disk": estimate.disk,
                    "disk_bytes": total(&estimate.disk),
                    "fits": memory.map(|_| true),
                }),
                Err(least) => json!({ "memory_bytes": least.bytes(), "fits": false }),
            }),
        }));
    }
    print(&text(&name, &workload, &propagation, &training, time, per_product))
}

/// What a training takes: of all edges, or of some that are drawn.
struct Training {
    in_memory: Option<Vec<PartSize>>,
    /// Or the least memory that would be enough.
    sampled: Option<std::result::Result<PropagationEstimate, Memory>>,
}

impl Training {
    fn of(workload: &Workload, options: &Estimate) -> Result<Training> {
        if options.pairs_per_epoch == 0 || options.pairs_per_epoch >= workload.num_edges {
            return Ok(Training { in_memory: Some(workload.training(workload.num_edges)), sampled: None });
        }
        if !(1..=1 << 24).contains(&options.epochs) {
            return Err(Error::setting("epochs", options.epochs, "expected a whole number from 1 to 2^24").into());
        }
        // As smp-linear has it.
        let held_out = (workload.num_edges / 10).min(MOST_HELD_OUT);
        let sampled = SampledWorkload {
            positives: options.epochs * options.pairs_per_epoch,
            negatives_per_positive: 1,
            evaluated: 4 * held_out,
        };
        let workload = Workload { feature_columns: workload.feature_columns.max(1), ..*workload };
        Ok(Training { in_memory: None, sampled: Some(workload.sampled_training(&sampled, options.of.memory)) })
    }

    fn text(&self, table: impl Fn(&str, &[PartSize]) -> String) -> String {
        if let Some(parts) = &self.in_memory {
            return table("training in memory", parts);
        }
        match &self.sampled {
            Some(Ok(estimate)) => {
                let disk = byte_size(total(&estimate.disk) as u64);
                format!(
                    "{}\n{}; {disk} on disk\n",
                    table("training on sampled pairs", &estimate.memory),
                    described(estimate)
                )
            }
            Some(Err(least)) => format!("training on sampled pairs takes {least} at least\n"),
            None => String::new(),
        }
    }
}

fn result_bytes(workload: &Workload) -> usize {
    4 * workload.num_nodes * workload.signal_dim
}

/// From counts, from the header of a graph file, or from a graph that is read.
fn workload(options: &Estimate) -> Result<(String, Workload)> {
    let Some(graph) = &options.graph else {
        let (nodes, edges) = (options.nodes.unwrap_or(0), options.edges.unwrap_or(0));
        if nodes == 0 || nodes > 1 << 31 {
            return Err(Error::setting("nodes", nodes, "expected a whole number from 1 to 2^31").into());
        }
        let workload = Workload {
            num_nodes: nodes,
            num_edges: edges,
            weighted: false,
            mapped: true,
            id_bytes: 0,
            feature_bytes: 0,
            feature_columns: 0,
            signal_dim: 0,
            width: 0,
            hops: 0,
            storage: options.of.hop_storage,
        };
        return Ok(("a graph file".into(), workload));
    };
    if GraphStore::is_store(Path::new(graph)) {
        let store = GraphStore::open(Path::new(graph))?;
        let workload = Workload::of_graph(store.graph(), 0, 0);
        return Ok((graph.clone(), Workload { id_bytes: store.num_id_bytes()?, ..workload }));
    }
    let dataset = Dataset::load(graph, &InputFiles::default(), &Folders::new(None))?;
    let [sample] = &dataset.samples[..] else {
        return Err(Error::SeveralGraphs { count: dataset.samples.len() }.into());
    };
    let workload = Workload::of_graph(&sample.graph, 0, 0);
    let (feature_bytes, feature_columns) = (sample.features.num_bytes(), sample.features.cols());
    let id_bytes = sample.ids.num_bytes();
    Ok((dataset.name.clone(), Workload { id_bytes, feature_bytes, feature_columns, ..workload }))
}

fn text(
    name: &str,
    workload: &Workload,
    propagation: &PropagationEstimate,
    training: &Training,
    time: Duration,
    per_product: Duration,
) -> String {
    let (nodes, edges) = (pluralize(workload.num_nodes, "node"), pluralize(workload.num_edges, "edge"));
    let table = |title: &str, parts: &[PartSize]| {
        let mut table = AlignedTable::new(&[title, "memory"]);
        let sum = PartSize { part: "total", bytes: total(parts) };
        parts.iter().chain([&sum]).for_each(|part| table.row(&[part.part.to_string(), byte_size(part.bytes as u64)]));
        table.to_string()
    };
    let title = format!("Ã^{} E, d = {}", workload.hops, workload.signal_dim);
    let waiting = match total(&propagation.disk) {
        0 => String::new(),
        bytes => format!(", {} for panels that wait", byte_size(bytes as u64)),
    };
    format!(
        "{name}: {nodes}, {edges}; {} as a graph file\n\n{}\n{}\n\
         disk: {} for the result{waiting}\n\
         time: about {} ({:.2} ns per edge and column, measured here)\n\n{}",
        byte_size((workload.csr_bytes() + workload.id_bytes) as u64),
        table(&title, &propagation.memory),
        described(propagation),
        byte_size(result_bytes(workload) as u64),
        duration(time),
        1e9 * per_product.as_secs_f64(),
        training.text(table),
    )
}
