//! The graphs of the benchmarks: real data if available, otherwise generated with the same counts.

use nigh::SparseMatrix;
use nigh::dataset::generate::{PowerLaw, power_law};
use nigh::dataset::{Folders, InputFiles, NamedDataset};
use nigh::task::Split;
use nigh::{Config, Dataset, Features, Graph, Protocol, Purpose, Result, Sample, Seeds, Task, View};
use serde_json::json;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

/// Nodes for a million edges of the graphs that grow: twenty neighbours each.
const NODES_PER_MILLION: usize = 100_000;

/// The data behind a name.
pub fn dataset(shape: &str) -> Result<Dataset> {
    let millions = |count: usize| {
        let drawn = PowerLaw { exponent: 3.0, ..PowerLaw::new(count * NODES_PER_MILLION, count * 1_000_000) };
        Ok(Dataset::from_graph(shape, power_law(&drawn, 1)?.graph))
    };
    match shape {
        "ppa" => Dataset::ppa_sized(shape, 0.2),
        "ppa-random" => Dataset::ppa_sized(shape, 1.0),
        "1m" => millions(1),
        "3m" => millions(3),
        "10m" => millions(10),
        "30m" => millions(30),
        "30x1m" => side_by_side(&millions(1)?.samples[0].graph, 30).map(|graph| Dataset::from_graph(shape, graph)),
        name => match NamedDataset::named(name) {
            Some(known) if Folders::new(None).find(known).is_none() => stand_in(known),
            _ => Dataset::load(name, &InputFiles::default(), &Folders::new(None)),
        },
    }
}

/// The settings and the split of a shape, by the paper's protocol.
pub fn split(dataset: &Dataset, task: Task) -> Result<(Config, Split)> {
    let config = Config { task, protocol: Protocol::Published, repeats: 1, ..Config::default() };
    let split = config.clone().resolve(dataset)?.draw_split(dataset, Seeds::new(config.seed))?;
    Ok((config, split))
}

/// The graphs that message passing sees in training. Those that are drawn for their size are seen whole.
pub fn views(shape: &str) -> Result<Vec<Arc<View>>> {
    let dataset = dataset(shape)?;
    if is_drawn(shape) {
        return Ok(vec![Task::LinkPrediction.whole_view(&dataset.samples[0], 0)?.into()]);
    }
    let (_, split) = split(&dataset, Task::LinkPrediction)?;
    let Split::Pairs(parts) = split else { unreachable!("link prediction is about pairs") };
    Ok(parts.train.into_iter().map(|part| part.view).collect())
}

fn is_drawn(shape: &str) -> bool {
    shape.starts_with("ppa") || ["1m", "3m", "10m", "30m", "30x1m"].contains(&shape)
}

/// A graph of many copies of another: large, with the memory locality of one of them.
fn side_by_side(graph: &Graph, copies: u32) -> Result<Graph> {
    let nodes = graph.num_nodes() as u32;
    let shifted = |copy: u32| graph.edges().map(move |[a, b]| [a + copy * nodes, b + copy * nodes]);
    let edges: Vec<[u32; 2]> = (0..copies).flat_map(shifted).collect();
    Ok(Graph::from_edges((nodes * copies) as usize, &edges)?.0)
}

/// A graph, or several, with the counts of a dataset that is not available.
fn stand_in(known: &NamedDataset) -> Result<Dataset> {
    let counts = known.paper.or(known.origin_counts).expect("every dataset has its counts");
    let (nodes, edges) = (counts.nodes / counts.graphs, counts.edges / counts.graphs);
    let mut samples = Vec::new();
    for number in 0..counts.graphs {
        let communities = power_law(&PowerLaw::new(nodes, edges), number as u64)?;
        let mut rng = Seeds::new(number as u64).rng(Purpose::Generate, &[1]);
        // About as many words as a paper of these data has.
        let entries = (counts.features / 2).clamp(1, 40);
        let mut row = || {
            let mut columns: Vec<u32> = (0..entries).map(|_| rng.below(counts.features) as u32).collect();
            columns.sort_unstable();
            columns.dedup();
            columns.into_iter().map(|column| (column, 1.0 / entries as f32)).collect()
        };
        let features = SparseMatrix::from_rows(&(0..nodes).map(|_| row()).collect::<Vec<_>>(), counts.features);
        let labels = communities.labels.iter().map(|&label| Some(label % counts.classes as u32)).collect();
        samples.push(Sample {
            features: Features::Sparse(features.into()),
            labels: Some(labels),
            ..Dataset::from_graph("", communities.graph).samples.remove(0)
        });
    }
    let classes = (0..counts.classes).map(|class| class.to_string()).collect();
    Dataset::from_samples(known.name, samples, classes)
}

/// Writes a shape for the peers: what message passing sees in training, as plain arrays. `benches/peers` reads them.
pub fn write(shape: &str, folder: &Path) -> std::io::Result<()> {
    let dataset = dataset(shape).map_err(std::io::Error::other)?;
    let classes = split(&dataset, Task::NodeClassification).ok().filter(|_| dataset.samples.len() == 1);
    let mut graphs = Vec::new();
    for (number, view) in views(shape).map_err(std::io::Error::other)?.iter().enumerate() {
        let folder = folder.join(number.to_string());
        fs::create_dir_all(&folder)?;
        let (graph, features) = (view.graph(), &view.features);
        write_array(&folder.join("edges.u32"), graph.edges().flatten().map(u32::to_le_bytes))?;
        let entries = write_features(&folder, features)?;
        if let Some((_, Split::Nodes(parts))) = &classes {
            let nodes = &parts.train[0].question.nodes;
            let labels = dataset.samples[0].labels.iter().flat_map(|labels| labels.iter());
            write_array(&folder.join("labels.u32"), labels.map(|label| label.unwrap_or(u32::MAX).to_le_bytes()))?;
            write_array(&folder.join("train.u32"), nodes.iter().map(|node| node.to_le_bytes()))?;
        }
        graphs.push(json!({
            "nodes": graph.num_nodes(), "edges": graph.num_edges(), "features": features.cols(),
            "classes": dataset.class_names.len(), "entries": entries,
        }));
        if is_drawn(shape) {
            write_text(graph, features, folder.parent().expect("a folder in the shape's"))?;
        }
    }
    fs::write(folder.join("meta.json"), json!({ "graphs": graphs }).to_string())
}

fn write_features(folder: &Path, features: &Features) -> std::io::Result<usize> {
    let rows: Vec<Vec<(u32, f32)>> = match features {
        Features::Constant(_) => return Ok(0),
        Features::Dense(matrix) => {
            (0..matrix.rows()).map(|i| (0..).zip(matrix.row(i).iter().copied()).collect()).collect()
        }
        Features::Sparse(matrix) => (0..matrix.rows()).map(|i| matrix.row(i).collect()).collect(),
    };
    let offsets = std::iter::once(0).chain(rows.iter().scan(0u64, |sum, row| {
        *sum += row.len() as u64;
        Some(*sum)
    }));
    write_array(&folder.join("indptr.u64"), offsets.map(u64::to_le_bytes))?;
    write_array(&folder.join("indices.u32"), rows.iter().flatten().map(|entry| entry.0.to_le_bytes()))?;
    write_array(&folder.join("values.f32"), rows.iter().flatten().map(|entry| entry.1.to_le_bytes()))?;
    Ok(rows.iter().map(Vec::len).sum())
}

fn write_array<const B: usize>(path: &Path, numbers: impl Iterator<Item = [u8; B]>) -> std::io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    for number in numbers {
        file.write_all(&number)?;
    }
    file.flush()
}

/// A whole graph as a user would have it: a list of edges, and features by node.
fn write_text(graph: &Graph, features: &Features, folder: &Path) -> std::io::Result<()> {
    let mut file = BufWriter::new(File::create(folder.join("edges.csv"))?);
    for [a, b] in graph.edges() {
        writeln!(file, "{a},{b}")?;
    }
    file.flush()?;
    let Features::Sparse(matrix) = features else { return Ok(()) };
    let mut file = BufWriter::new(File::create(folder.join("features.csv"))?);
    writeln!(file, "node,feature,value")?;
    for node in 0..matrix.rows() {
        for (feature, value) in matrix.row(node) {
            writeln!(file, "{node},{feature},{value}")?;
        }
    }
    file.flush()
}
