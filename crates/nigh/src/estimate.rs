//! What a run takes in memory, on disk and in time, and how it would be done.

use crate::dataset::{Dataset, Folders, GraphStore, InputFiles};
use crate::display::{AlignedTable, byte_size, duration, pluralize};
use crate::error::{Error, Result};
use crate::linalg::Storage;
use crate::memory::Memory;
use crate::propagation::{CostEstimate, PROPAGATION_BUFFERS, PartSize, SampledWorkload, Workload, measure_hop, total};
use crate::task::MOST_HELD_OUT;
use serde_json::{Value, json};
use std::fmt;
use std::path::Path;

/// The settings of a run on which that depends; the rest is as `smp-linear` has it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EstimatedRun {
    /// `d`.
    pub signal_dim: usize,
    /// `K`.
    pub hops: usize,
    /// How rows are stored between hops.
    pub hop_storage: Storage,
    /// Columns of `H`.
    pub width: usize,
    /// Epochs, for training on sampled pairs.
    pub epochs: usize,
    /// Positive training pairs of an epoch, drawn at random; 0 for all edges.
    pub pairs_per_epoch: usize,
    /// The limit.
    pub memory: Option<Memory>,
}

/// What a run on a graph takes.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEstimate {
    name: String,
    workload: Workload,
    memory: Option<Memory>,
    propagation: CostEstimate,
    training: TrainingEstimate,
    /// Nanoseconds.
    per_product: f64,
}

/// Of all edges at once, or of some that are drawn, for which the least memory may be too much.
#[derive(Debug, Clone, PartialEq)]
enum TrainingEstimate {
    InMemory(Vec<PartSize>),
    Sampled(std::result::Result<CostEstimate, Memory>),
}

impl Workload {
    /// The name and the size of a graph: of a graph file from its header alone, of another file or a dataset once it is read.
    pub fn named(name: &str, input: &InputFiles, folders: &Folders) -> Result<(String, Workload)> {
        if GraphStore::is_store(Path::new(name)) {
            let store = GraphStore::open(Path::new(name))?;
            let workload = Workload::of_graph(store.graph(), 0, 0);
            return Ok((name.to_string(), Workload { id_bytes: store.num_id_bytes()?, ..workload }));
        }
        let dataset = Dataset::load(name, input, folders)?;
        Ok((dataset.name.clone(), Workload::of_dataset(&dataset)?))
    }

    /// The size of the only graph of the data.
    pub fn of_dataset(dataset: &Dataset) -> Result<Workload> {
        let [sample] = &dataset.samples[..] else { return Err(Error::SeveralGraphs { count: dataset.samples.len() }) };
        let (feature_bytes, feature_columns) = (sample.features.num_bytes(), sample.features.cols());
        let id_bytes = sample.ids.num_bytes();
        Ok(Workload { id_bytes, feature_bytes, feature_columns, ..Workload::of_graph(&sample.graph, 0, 0) })
    }

    /// A graph file with these numbers of nodes and edges.
    pub fn of_counts(nodes: usize, edges: usize) -> Result<Workload> {
        if nodes == 0 || nodes > 1 << 31 {
            return Err(Error::setting("nodes", nodes, "expected a whole number from 1 to 2^31"));
        }
        Ok(Workload {
            num_nodes: nodes,
            num_edges: edges,
            weighted: false,
            stored: true,
            id_bytes: 0,
            feature_bytes: 0,
            feature_columns: 0,
            signal_dim: 0,
            width: 0,
            hops: 0,
            storage: Storage::Single,
            buffers: PROPAGATION_BUFFERS,
        })
    }
}

impl EstimatedRun {
    /// On a graph of this size; a hop is measured on this machine. An error if nothing fits the limit.
    pub fn on(&self, name: &str, size: Workload) -> Result<RunEstimate> {
        let EstimatedRun { signal_dim, hops, hop_storage: storage, width, epochs, memory, .. } = *self;
        for (name, value, most) in
            [("signal-dim", signal_dim, 1 << 16), ("hops", hops, 64), ("epochs", epochs, 1 << 24)]
        {
            if !(1..=most).contains(&value) {
                return Err(Error::setting(name, value, format!("expected a whole number from 1 to {most}")));
            }
        }
        let workload = Workload { signal_dim, hops, storage, width, ..size };
        let propagation = workload.propagation(memory);
        let propagation = propagation.map_err(|least| memory.unwrap_or(least).too_little(least, workload.remedy()))?;
        let training = self.training(&workload);
        let per_product = measure_hop(propagation.panel_width)?;
        Ok(RunEstimate { name: name.to_string(), workload, memory, propagation, training, per_product })
    }

    fn training(&self, workload: &Workload) -> TrainingEstimate {
        if self.pairs_per_epoch == 0 || self.pairs_per_epoch >= workload.num_edges {
            return TrainingEstimate::InMemory(workload.training(workload.num_edges));
        }
        let sampled = SampledWorkload {
            positives: self.epochs.saturating_mul(self.pairs_per_epoch),
            negatives_per_positive: 1,
            // A tenth for validation and for the test, and as many negatives.
            evaluated: 4 * (workload.num_edges / 10).min(MOST_HELD_OUT),
        };
        let workload = Workload { feature_columns: workload.feature_columns.max(1), ..*workload };
        TrainingEstimate::Sampled(workload.sampled_training(&sampled, self.memory))
    }
}

impl RunEstimate {
    /// Every part and figure.
    pub fn to_json(&self) -> Value {
        let RunEstimate { workload, memory, propagation, per_product, .. } = self;
        let (in_memory, sampled) = match &self.training {
            TrainingEstimate::InMemory(parts) => (
                Some(json!({
                    "memory": parts,
                    "memory_bytes": total(parts),
                    "fits": memory.map(|memory| total(parts) <= memory.bytes()),
                })),
                None,
            ),
            TrainingEstimate::Sampled(Ok(estimate)) => {
                let mut shown = planned(estimate);
                shown["fits"] = json!(memory.map(|_| true));
                (None, Some(shown))
            }
            TrainingEstimate::Sampled(Err(least)) => {
                (None, Some(json!({ "memory_bytes": least.bytes(), "fits": false })))
            }
        };
        let mut of_propagation = planned(propagation);
        of_propagation["result_bytes"] = json!(self.result_bytes());
        of_propagation["seconds"] = json!(workload.propagation_time(*per_product).as_secs_f64());
        of_propagation["nanoseconds_per_edge_and_column"] = json!(per_product);
        json!({
            "graph": self.name,
            "num_nodes": workload.num_nodes,
            "num_edges": workload.num_edges,
            "graph_file_bytes": workload.csr_bytes() + workload.id_bytes,
            "memory_limit": memory.map(|memory| memory.bytes()),
            "propagation": of_propagation,
            "training_in_memory": in_memory,
            "training_on_sampled_pairs": sampled,
        })
    }

    fn result_bytes(&self) -> usize {
        4 * self.workload.num_nodes * self.workload.signal_dim
    }
}

fn planned(estimate: &CostEstimate) -> Value {
    json!({
        "way": estimate.way,
        "panel_width": estimate.panel_width,
        "memory": estimate.memory,
        "memory_bytes": estimate.total(),
        "disk": estimate.disk,
        "disk_bytes": total(&estimate.disk),
    })
}

impl fmt::Display for RunEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RunEstimate { name, workload, propagation, per_product, .. } = self;
        let (nodes, edges) = (pluralize(workload.num_nodes, "node"), pluralize(workload.num_edges, "edge"));
        let table = |title: &str, parts: &[PartSize]| {
            let mut table = AlignedTable::new(&[title, "memory"]);
            let sum = PartSize { part: "total", bytes: total(parts) };
            let parts = parts.iter().chain([&sum]);
            parts.for_each(|part| table.row(&[part.part.to_string(), byte_size(part.bytes as u64)]));
            table.to_string()
        };
        let title = format!("Ã^{} E, d = {}", workload.hops, workload.signal_dim);
        let waiting = match total(&propagation.disk) {
            0 => String::new(),
            bytes => format!(", {} for panels that wait", byte_size(bytes as u64)),
        };
        write!(
            f,
            "{name}: {nodes}, {edges}; {} as a graph file\n\n{}\n{propagation}\n\
             disk: {} for the result{waiting}\n\
             time: about {} ({:.2} ns per edge and column, measured here)\n\n",
            byte_size((workload.csr_bytes() + workload.id_bytes) as u64),
            table(&title, &propagation.memory),
            byte_size(self.result_bytes() as u64),
            duration(workload.propagation_time(*per_product)),
            per_product,
        )?;
        match &self.training {
            TrainingEstimate::InMemory(parts) => f.write_str(&table("training in memory", parts)),
            TrainingEstimate::Sampled(Ok(estimate)) => {
                let disk = byte_size(total(&estimate.disk) as u64);
                let table = table("training on sampled pairs", &estimate.memory);
                writeln!(f, "{table}\n{estimate}\ndisk: {disk}")
            }
            TrainingEstimate::Sampled(Err(least)) => {
                writeln!(f, "training on sampled pairs takes {least} at least; fewer pairs or epochs have fewer rows")
            }
        }
    }
}
