//! `nigh data`: lists, shows, fetches, converts and exports graphs.

use super::{WrongUsage, check_writable, create_parents, fetch, load, new_folder, print, print_json, print_notes};
use crate::cli::{Data, DataCommand};
use crate::progress::Activity;
use anyhow::Result;
use nigh::dataset::{BUILT_IN, Counts, Folder, Folders, NamedDataset, REGISTRY, is_name};
use nigh::display::AlignedTable;
use nigh::display::{byte_size, pluralize};
use nigh::formats::text_table::Formulas;
use nigh::{Dataset, Graph, Memory, Sample};
use nigh_paper::report::histogram::histogram;
use serde_json::json;
use std::fmt::Write;
use std::path::Path;

pub fn run(command: &DataCommand, quiet: bool) -> Result<()> {
    match command {
        DataCommand::List { data } => list(data.as_deref()),
        DataCommand::Show { data, json } => show(data, *json, quiet),
        DataCommand::Fetch { names, data, force } => fetch::run(names, data.as_deref(), *force, quiet),
        DataCommand::Convert { data, out, memory } => convert(data, out, *memory, quiet),
        DataCommand::Export { data, formulas, out } => export_files(data, out, formulas.of_csv(true)?, quiet),
    }
}

fn list(data: Option<&Path>) -> Result<()> {
    let folders = Folders::new(data);
    let mut table =
        AlignedTable::new(&["name", "graphs", "nodes", "edges", "features", "classes", "files", "compact", "where"]);
    let none = || "-".to_string();
    let count = |count: usize| if count == 0 { none() } else { count.to_string() };
    let counts = |c: Counts| [c.graphs, c.nodes, c.edges, c.features, c.classes].map(count);
    for (name, _) in BUILT_IN {
        // Generating it takes seconds.
        let is_large = *name == "ppa-sized";
        let cells = counts(if is_large { Counts::PPA_SIZED } else { Counts::of(&Dataset::built_in(name)?) });
        table.row(&[&[name.to_string()], &cells[..], &[none(), none(), "built in".to_string()]].concat());
    }
    for known in REGISTRY {
        let cells = known.paper.or(known.origin_counts).map_or(["", "", "", "", ""].map(String::from), counts);
        let folder = folders.find(known);
        let bytes = known.bytes().or(folder.as_deref().map(bytes_below));
        let files = bytes.map_or("> 1 GB".to_string(), byte_size);
        let compact = known.compact(&folders).and_then(|path| path.metadata().ok());
        let compact = compact.map_or(none(), |about| byte_size(about.len()));
        let is_there = |root: &Path| folder.as_deref() == Some(&root.join(known.folder));
        let place =
            folders.iter().find(|(_, root)| is_there(root)).map_or("not here", |(folder, _)| folder_name(folder));
        table.row(&[&[known.name.to_string()], &cells[..], &[files, compact, place.to_string()]].concat());
    }
    let mut text = format!("{table}\n");
    for (folder, root) in folders.iter() {
        writeln!(text, "{:<9}  {}", folder_name(folder), root.display())?;
    }
    text += "compact    a copy in the cache, written at the first use, that is read much faster\n\n\
             Counts of datasets that are read from files are from Table 1 of the paper, or else from their origin;\n\
             `nigh data show NAME` counts them, `nigh data fetch NAME` downloads them.\n";
    print(&text)
}

fn folder_name(folder: Folder) -> &'static str {
    match folder {
        Folder::Given => "--data",
        Folder::Variable => "NIGH_DATA",
        Folder::Cache => "cache",
    }
}

/// The size of all readable files below a folder.
fn bytes_below(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes =
        |path: &Path| if path.is_dir() { bytes_below(path) } else { path.metadata().map_or(0, |file| file.len()) };
    entries.map(|entry| bytes(&entry.path())).sum()
}

fn export_files(data: &Data, out: &Path, formulas: Formulas, quiet: bool) -> Result<()> {
    let out = new_folder(out, "; an export needs a new folder")?;
    let dataset = load(data, quiet)?;
    let files = dataset.export(NamedDataset::named(&data.graph), &out, formulas)?;
    print(&format!("{}: {}\n", out.display(), files.join(", ")))
}

/// Half of what is free, so that other programs keep some.
fn usual_memory() -> Memory {
    Memory::available().map_or(Memory::new(4 << 30), |free| Memory::new(free.bytes() / 2))
}

fn convert(data: &Data, out: &Path, memory: Option<Memory>, quiet: bool) -> Result<()> {
    if data.features.is_some() || data.labels.is_some() {
        let problem = "a graph file holds edges and ids; give --features and --labels to the commands that use them";
        return Err(WrongUsage::new(problem).into());
    }
    check_writable(out)?;
    create_parents(out)?;
    let stored = match is_name(&data.graph) {
        true => load(data, quiet)?.store(out)?,
        false => {
            data.check_stdin(None)?;
            let converting = Activity::uncounted(format!("converting {}", data.graph), quiet);
            let memory = memory.unwrap_or_else(usual_memory);
            let converted = Dataset::convert(Path::new(&data.graph), &data.input(), out, memory);
            drop(converting);
            let (stored, notes) = converted?;
            print_notes(&notes, quiet);
            stored
        }
    };
    let (nodes, edges) = (pluralize(stored.num_nodes, "node"), pluralize(stored.num_edges, "edge"));
    print(&format!("{}: {nodes}, {edges}, {}\n", out.display(), byte_size(stored.num_bytes)))
}

fn show(data: &Data, as_json: bool, quiet: bool) -> Result<()> {
    let dataset = load(data, quiet)?;
    let known = NamedDataset::named(&data.graph);
    let counts = Counts::of(&dataset);
    let facts = Facts::of(&dataset);
    if as_json {
        return print_json(&json!({
            "dataset": dataset.name,
            "graphs": counts.graphs,
            "num_nodes": counts.nodes,
            "num_edges": counts.edges,
            "num_features": counts.features,
            "num_classes": counts.classes,
            "num_components": facts.components,
            "num_isolated": facts.isolated,
            "max_degree": facts.max_degree,
            "largest_component": facts.largest,
            "weighted": facts.weights.is_some(),
            "weights": facts.weights.map(|[least, mean, most]| json!({ "least": least, "mean": mean, "most": most })),
            "num_repeated": dataset.cleaning.map(|cleaning| cleaning.duplicates),
            "num_self_loops": dataset.cleaning.map(|cleaning| cleaning.self_loops),
            "num_both_ways": dataset.cleaning.map(|cleaning| cleaning.both_ways),
            "labelled": facts.labelled,
            "multi_label": dataset.is_multi_label(),
            "notes": dataset.notes,
        }));
    }
    let mut table = match known.and_then(|known| known.paper) {
        Some(_) => AlignedTable::new(&[dataset.name.as_str(), "measured", "paper"]),
        None => AlignedTable::new(&[dataset.name.as_str(), "measured"]),
    };
    let mut row = |what: &str, here: usize, paper: fn(Counts) -> usize| {
        let mut cells = vec![what.to_string(), here.to_string()];
        cells.extend(known.and_then(|known| known.paper).map(|counts| paper(counts).to_string()));
        table.row(&cells);
    };
    row("graphs", counts.graphs, |c| c.graphs);
    row("nodes", counts.nodes, |c| c.nodes);
    row("edges", counts.edges, |c| c.edges);
    row("features", counts.features, |c| c.features);
    row("classes", counts.classes, |c| c.classes);
    let mut text = table.to_string();
    writeln!(
        text,
        "\n{} (the largest has {}), {}\ndegree {:.1} on average, {} at most; {} of {} labelled{}",
        pluralize(facts.components, "component"),
        pluralize(facts.largest, "node"),
        pluralize(facts.isolated, "isolated node"),
        2.0 * counts.edges as f64 / counts.nodes.max(1) as f64,
        facts.max_degree,
        facts.labelled,
        pluralize(counts.nodes, "node"),
        if dataset.is_multi_label() { ", some with several labels" } else { "" },
    )?;
    match facts.weights {
        Some([least, mean, most]) => writeln!(text, "weights from {least} to {most}, {mean:.3} on average")?,
        None => writeln!(text, "no weights")?,
    }
    if let Some(cleaning) = dataset.cleaning {
        writeln!(
            text,
            "in the file: {}, {}, {} of {} in both directions",
            pluralize(cleaning.duplicates, "repetition"),
            pluralize(cleaning.self_loops, "self loop"),
            cleaning.both_ways,
            pluralize(counts.edges, "edge"),
        )?;
    }
    if let Some(known) = known {
        let address = known.origin.address();
        writeln!(text, "{}\ncleaned: {}\nfrom {address}, under the terms found there", known.about, known.cleaning)?;
    }
    let degrees = |graph: &Graph| (0..graph.num_nodes()).map(|node| graph.degree(node)).collect::<Vec<_>>();
    let all = dataset.samples.iter().flat_map(|sample| degrees(&sample.graph));
    print(&format!("{text}\ndegree  nodes\n{}", histogram(all)))
}

/// Properties of a graph that matter for training.
struct Facts {
    components: usize,
    /// Nodes of the largest component.
    largest: usize,
    isolated: usize,
    max_degree: usize,
    /// Minimum, mean and maximum.
    weights: Option<[f32; 3]>,
    labelled: usize,
}

impl Facts {
    fn of(dataset: &Dataset) -> Facts {
        let graphs = || dataset.samples.iter().map(|sample| &sample.graph);
        let degrees = || graphs().flat_map(|graph| (0..graph.num_nodes()).map(|node| graph.degree(node)));
        let sizes: Vec<usize> = graphs().flat_map(|graph| graph.component_sizes()).collect();
        let weights = || graphs().filter(|graph| graph.is_weighted()).flat_map(|graph| graph.edge_weights());
        let (count, sum) = weights().fold((0u32, 0.0), |(count, sum), weight| (count + 1, sum + f64::from(weight)));
        let (least, most) = (weights().fold(f32::INFINITY, f32::min), weights().fold(0.0, f32::max));
        Facts {
            components: sizes.len(),
            largest: sizes.into_iter().max().unwrap_or(0),
            isolated: degrees().filter(|&degree| degree == 0).count(),
            max_degree: degrees().max().unwrap_or(0),
            weights: (count > 0).then_some([least, (sum / f64::from(count.max(1))) as f32, most]),
            labelled: dataset.samples.iter().map(Sample::num_labelled).sum(),
        }
    }
}
