//! What runs take in memory and on disk, and how they would be done: by the functions that accept or refuse a limit.

use crate::answer::cost::Answering;
use crate::dataset::{Dataset, Folders, GraphStore, InputFiles};
use crate::display::{AlignedTable, byte_size, duration, pluralize};
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::propagation::{CostEstimate, PartSize, Workload, measure_hop, total};
use crate::task::Task;
use crate::train::limit::{DataSize, PlannedRun};
use crate::train::{Config, Resolved};
use serde_json::{Map, Value, json};
use std::fmt;
use std::path::Path;

/// What is to be estimated.
#[derive(Debug, Clone, PartialEq)]
pub struct EstimatedRun {
    /// Model, task and their settings.
    pub config: Config,
    /// Pairs that are scored.
    pub num_pairs: usize,
    /// The limit.
    pub memory: Option<Memory>,
}

/// What runs on a graph take: propagation, training, evaluation, and the use of the trained model.
#[derive(Debug)]
pub struct RunEstimate {
    name: String,
    config: Resolved,
    workload: Workload,
    memory: Option<Memory>,
    propagation: CostEstimate,
    runs: Vec<(&'static str, Result<CostEstimate>)>,
    /// Nanoseconds.
    per_product: f64,
}

impl EstimatedRun {
    /// On a dataset by its name or file, of which only the degrees are looked at where it is a graph file. A hop is measured on this
    /// machine. An error if the propagation does not fit the limit.
    pub fn on_file(&self, name: &str, input: &InputFiles, folders: &Folders) -> Result<RunEstimate> {
        let dataset = Dataset::load(name, input, folders)?;
        let is_store = GraphStore::is_store(Path::new(name));
        self.on_dataset(if is_store { name } else { &dataset.name }, &dataset)
    }

    /// On the only graph of a dataset.
    pub fn on_dataset(&self, name: &str, dataset: &Dataset) -> Result<RunEstimate> {
        if dataset.samples.len() != 1 {
            return Err(Error::SeveralGraphs { count: dataset.samples.len() });
        }
        let config = self.config.clone().resolve(dataset)?;
        let dataset = &*config.node_features.seen(dataset);
        self.on(name, config.clone(), &DataSize::of(dataset))
    }

    /// On a graph file of these counts, without features.
    pub fn on_counts(&self, nodes: usize, edges: usize) -> Result<RunEstimate> {
        let data = DataSize::of_counts(nodes, edges)?;
        if self.config.task != Task::LinkPrediction {
            let problem = "counts of nodes and edges say nothing of labels; name a graph";
            return Err(Error::setting("task", self.config.task, problem));
        }
        self.on("a graph file", self.config.clone().resolve_counts(data.dimensions)?, &data)
    }

    fn on(&self, name: &str, config: Resolved, data: &DataSize<'_>) -> Result<RunEstimate> {
        let memory = self.memory;
        // `nigh propagate` has settings of its own, whatever a model would choose.
        let (signal_dim, hops) = (self.config.signal_dim.unwrap_or(32), self.config.hops.unwrap_or(2));
        let storage = config.hop_storage;
        let workload = Workload { signal_dim, hops, storage, feature_bytes: 0, ..data.graphs[0].workload };
        let propagation = workload.propagation(memory);
        let propagation = propagation.map_err(|least| memory.unwrap_or(least).too_little(least, workload.remedy()))?;
        let per_product = measure_hop(propagation.panel_width)?;
        let (name, runs) = (name.to_string(), self.runs(&config, data)?);
        Ok(RunEstimate { name, config, workload, memory, propagation, runs, per_product })
    }

    /// Training, evaluation, and the use of the model.
    fn runs(&self, config: &Resolved, data: &DataSize<'_>) -> Result<Vec<(&'static str, Result<CostEstimate>)>> {
        let architecture = &config.architecture(data.dimensions)?;
        let held_out = |run| config.estimate(data, architecture, run, self.memory);
        let shape = config.shape(data.dimensions);
        let size = data.graphs[0].clone();
        let answering = Answering { config, architecture, shape, size, is_only: true };
        let num_pairs = if config.task.is_about_pairs() { self.num_pairs } else { 0 };
        let mut runs = vec![("train", held_out(PlannedRun::Training)), ("evaluate", held_out(PlannedRun::Evaluation))];
        if architecture.has_representations() {
            runs.push(("embed", answering.vectors(self.memory)));
        }
        runs.push(("predict", answering.estimate(num_pairs, 0, self.memory)));
        Ok(runs)
    }
}

impl RunEstimate {
    /// Every part and figure.
    pub fn to_json(&self) -> Value {
        let RunEstimate { config, workload, memory, propagation, runs, per_product, .. } = self;
        let mut of_propagation = planned(propagation);
        of_propagation["result_bytes"] = json!(self.result_bytes());
        of_propagation["seconds"] = json!(workload.propagation_time(*per_product).as_secs_f64());
        of_propagation["nanoseconds_per_edge_and_column"] = json!(per_product);
        let of_run = |run: &Result<CostEstimate>| match run {
            Ok(estimate) => planned(estimate),
            Err(error) => json!({ "fits": false, "problem": error.to_string() }),
        };
        let runs: Map<String, Value> = runs.iter().map(|(name, run)| (name.to_string(), of_run(run))).collect();
        json!({
            "graph": self.name,
            "num_nodes": workload.num_nodes,
            "num_edges": workload.num_edges,
            "graph_file_bytes": workload.csr_bytes() + workload.id_bytes,
            "memory_limit": memory.map(|memory| memory.bytes()),
            "model": config.model,
            "task": config.task,
            "propagation": of_propagation,
            "runs": runs,
        })
    }

    fn result_bytes(&self) -> usize {
        4 * self.workload.num_nodes * self.workload.signal_dim
    }
}

fn planned(estimate: &CostEstimate) -> Value {
    json!({
        "fits": true,
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
        let RunEstimate { name, config, workload, propagation, runs, per_product, .. } = self;
        let (nodes, edges) = (pluralize(workload.num_nodes, "node"), pluralize(workload.num_edges, "edge"));
        let size = |bytes: usize| byte_size(bytes as u64);
        let mut fitting = vec![("propagate", propagation)];
        fitting.extend(runs.iter().filter_map(|(name, run)| Some((*name, run.as_ref().ok()?))));
        let headings: Vec<&str> = ["memory"].into_iter().chain(fitting.iter().map(|run| run.0)).collect();
        let mut table = AlignedTable::new(&headings);
        let mut names: Vec<&str> = Vec::new();
        for part in fitting.iter().flat_map(|(_, run)| &run.memory) {
            if !names.contains(&part.part) {
                names.push(part.part);
            }
        }
        let mut row = |name: &str, cell: &dyn Fn(&CostEstimate) -> String| {
            table.row(&[&[name.to_string()][..], &fitting.iter().map(|run| cell(run.1)).collect::<Vec<_>>()].concat());
        };
        for name in names {
            row(name, &|run| {
                let found = run.memory.iter().find(|part: &&PartSize| part.part == name);
                found.map_or(String::new(), |part| size(part.bytes))
            });
        }
        row("total", &|run| size(run.total()));
        row("disk", &|run| size(total(&run.disk)));
        writeln!(
            f,
            "{name}: {nodes}, {edges}; {} as a graph file\n{}, {}; propagate: Ã^{} E, d = {}\n\n{table}",
            size(workload.csr_bytes() + workload.id_bytes),
            config.model,
            config.task,
            workload.hops,
            workload.signal_dim,
        )?;
        for (name, run) in &fitting {
            writeln!(f, "{name}: {run}")?;
        }
        for (name, run) in runs {
            if let Err(error) = run {
                writeln!(f, "{name}: {error}")?;
            }
        }
        writeln!(
            f,
            "result of propagate: {}, in about {} ({per_product:.2} ns per edge and column, measured here)",
            size(self.result_bytes()),
            duration(workload.propagation_time(*per_product)),
        )
    }
}
