//! `nigh data`: what graphs there are, and what is in one.

use super::{fetch, load, new_folder, print, print_json};
use crate::cli::{Data, DataCommand};
use anyhow::Result;
use nigh::dataset::paper::{Counts, KNOWN, Known, Origin};
use nigh::dataset::{BUILT_IN, Folders, export};
use nigh::report::histogram::histogram;
use nigh::report::table::{Table, counted, size};
use nigh::{Dataset, Graph};
use serde_json::json;
use std::fmt::Write;
use std::path::Path;

pub fn run(command: &DataCommand, quiet: bool) -> Result<()> {
    match command {
        DataCommand::List { data } => list(data.as_deref()),
        DataCommand::Show { data, json } => show(data, *json, quiet),
        DataCommand::Fetch { names, data, force } => fetch::run(names, data.as_deref(), *force, quiet),
        DataCommand::Export { data, out } => write(data, out, quiet),
    }
}

fn list(data: Option<&Path>) -> Result<()> {
    let folders = Folders::new(data);
    let mut table =
        Table::new(&["name", "graphs", "nodes", "edges", "features", "classes", "files", "compact", "where"]);
    let none = || "-".to_string();
    let count = |count: usize| if count == 0 { none() } else { count.to_string() };
    let counts = |c: Counts| [c.graphs, c.nodes, c.edges, c.features, c.classes].map(count);
    for (name, _) in BUILT_IN {
        let cells = counts(Counts::of(&Dataset::built_in(name)?));
        table.row(&[&[name.to_string()], &cells[..], &[none(), none(), "built in".to_string()]].concat());
    }
    for known in KNOWN {
        let cells = known.paper.or(known.origin_counts).map_or(["", "", "", "", ""].map(String::from), counts);
        let folder = folders.find(known);
        let bytes = known.bytes().or(folder.as_deref().map(bytes_below));
        let files = bytes.map_or("> 1 GB".to_string(), size);
        let compact = known.compact(&folders).and_then(|path| path.metadata().ok());
        let compact = compact.map_or(none(), |about| size(about.len()));
        let is_there = |root: &Path| folder.as_deref() == Some(&root.join(known.name));
        let place = folders.named().find(|(_, root)| is_there(root)).map_or("not here", |(name, _)| name);
        table.row(&[&[known.name.to_string()], &cells[..], &[files, compact, place.to_string()]].concat());
    }
    let mut text = format!("{table}\n");
    for (name, root) in folders.named() {
        writeln!(text, "{name:<9}  {}", root.display())?;
    }
    text += "compact    a copy in the cache, made at the first use, that is read in no time\n\n\
             Counts of datasets that are read from files are those of the paper's Table 1 (ogbl-ddi: of its origin);\n\
             `nigh data show NAME` measures them, `nigh data fetch NAME` downloads them.\n";
    print(&text)
}

/// The length of all files below a folder, as far as they can be seen.
fn bytes_below(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes =
        |path: &Path| if path.is_dir() { bytes_below(path) } else { path.metadata().map_or(0, |file| file.len()) };
    entries.map(|entry| bytes(&entry.path())).sum()
}

fn write(data: &Data, out: &Path, quiet: bool) -> Result<()> {
    let out = new_folder(out, "; an export is written to a folder of its own")?;
    let dataset = load(data, quiet)?;
    let files = export::write(&dataset, Known::named(&data.graph), &out)?;
    print(&format!("{}: {}\n", out.display(), files.join(", ")))
}

fn show(data: &Data, as_json: bool, quiet: bool) -> Result<()> {
    let dataset = load(data, quiet)?;
    let known = Known::named(&data.graph);
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
            "weighted": facts.weighted,
            "labelled": facts.labelled,
            "notes": dataset.notes,
        }));
    }
    let mut table = match known.and_then(|known| known.paper) {
        Some(_) => Table::new(&[dataset.name.as_str(), "measured", "paper"]),
        None => Table::new(&[dataset.name.as_str(), "measured"]),
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
        "\n{}, {}, largest degree {}{}; {} of {} labelled",
        counted(facts.components, "component"),
        counted(facts.isolated, "isolated node"),
        facts.max_degree,
        if facts.weighted { ", weighted" } else { "" },
        facts.labelled,
        counted(counts.nodes, "node"),
    )?;
    if let Some(known) = known {
        let address = match known.origin {
            Origin::Folder(address) | Origin::Archive(address) => address,
        };
        writeln!(text, "{}\ncleaned: {}\nfrom {address}, under the terms found there", known.about, known.cleaning)?;
    }
    let degrees = |graph: &Graph| (0..graph.num_nodes()).map(|node| graph.degree(node)).collect::<Vec<_>>();
    let all = dataset.samples.iter().flat_map(|sample| degrees(&sample.graph));
    print(&format!("{text}\ndegree  nodes\n{}", histogram(all)))
}

/// What is worth knowing before anyone trains.
struct Facts {
    components: usize,
    isolated: usize,
    max_degree: usize,
    weighted: bool,
    labelled: usize,
}

impl Facts {
    fn of(dataset: &Dataset) -> Facts {
        let graphs = || dataset.samples.iter().map(|sample| &sample.graph);
        let degrees = || graphs().flat_map(|graph| (0..graph.num_nodes()).map(|node| graph.degree(node)));
        let labels = dataset.samples.iter().flat_map(|sample| sample.labels.iter().flat_map(|labels| labels.iter()));
        Facts {
            components: graphs().map(|graph| graph.components(0).len()).sum(),
            isolated: degrees().filter(|&degree| degree == 0).count(),
            max_degree: degrees().max().unwrap_or(0),
            weighted: graphs().any(|graph| graph.is_weighted()),
            labelled: labels.flatten().count(),
        }
    }
}
