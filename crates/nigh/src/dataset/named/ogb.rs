//! Link datasets of the Open Graph Benchmark (ogbl-ddi, ogbl-ppa), as its archives unpack.
//!
//! `raw/edge.csv.gz` holds the training edges, `raw/num-node-list.csv.gz` and `raw/num-edge-list.csv.gz` how many nodes
//! and edges there are, `raw/node-feat.csv.gz` the features, if any. `split/*/valid.pt` and `test.pt` hold the pairs to
//! validate and test with. (`train.pt` repeats the training edges and is not read.)

use crate::dataset::{Dataset, Features, FixedPairs, FixedSplit, cleaning_notes};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::linalg::Matrix;
use nigh_formats::gzip_lines::{GzipLine, GzipLines};
use nigh_formats::pickle::numpy::NumpyArray;
use nigh_formats::torch;
use std::path::{Path, PathBuf};

/// A file of a few bytes may announce this many nodes; more are accepted only with edges.
const FREE_NODES: usize = 1 << 20;

/// Reads a link dataset from a folder. Its graph holds the training edges only.
pub fn read(folder: &Path, name: &str) -> Result<Dataset> {
    let raw = |file: &str| folder.join("raw").join(file);
    let split = find_split(folder)?;
    let num_edges = read_number(&raw("num-edge-list.csv.gz"))?;
    let num_nodes = read_number(&raw("num-node-list.csv.gz"))?;
    let edges = read_edges(&raw("edge.csv.gz"), num_nodes, num_edges)?;
    if num_nodes > FREE_NODES.max(edges.len().saturating_mul(8)) {
        let problem = format!("announces {num_nodes} nodes, which is not plausible for {} edges", edges.len());
        return Err(Error::file(&raw("num-node-list.csv.gz"), problem));
    }
    let (graph, cleaning) = Graph::from_edges(num_nodes, &edges)?;
    let [valid, test] = ["valid.pt", "test.pt"].map(|file| read_pairs(&split.join(file), &graph));
    let given = [valid?, test?];

    let mut dataset = Dataset::from_graph(name, graph);
    if raw("node-feat.csv.gz").exists() {
        dataset.samples[0].features = read_features(&raw("node-feat.csv.gz"), num_nodes)?;
    }
    dataset.notes = cleaning_notes(cleaning);
    let graph = &dataset.samples[0].graph;
    let linked = given.iter().flat_map(|part| &part.negative).filter(|[a, b]| graph.has_edge(*a, *b)).count();
    if linked > 0 {
        dataset.notes.push(format!("{linked} negative pairs of the split are training edges; they are kept"));
    }
    dataset.fixed_split = Some(FixedSplit::Pairs(given));
    Ok(dataset)
}

/// The folder of the split: `split/target`, `split/throughput`, ...
fn find_split(folder: &Path) -> Result<PathBuf> {
    let split = folder.join("split");
    if !split.is_dir() {
        return Err(Error::file(&split, "is missing; expected a folder in it with valid.pt and test.pt"));
    }
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(&split).map_err(Error::io(&split))? {
        let path = entry.map_err(Error::io(&split))?.path();
        if path.is_dir() {
            folders.push(path);
        }
    }
    folders.sort();
    let whole = |folder: &&PathBuf| ["valid.pt", "test.pt"].iter().all(|file| folder.join(file).is_file());
    let complete: Vec<&PathBuf> = folders.iter().filter(whole).collect();
    match (&complete[..], &folders[..]) {
        ([only], _) => Ok(only.to_path_buf()),
        ([first, second, ..], _) => {
            let problem = format!("two splits, {} and {}; leave one", first.display(), second.display());
            Err(Error::file(&split, problem))
        }
        ([], []) => Err(Error::file(&split, "is empty; expected a folder in it with valid.pt and test.pt")),
        ([], [first, ..]) => {
            let file = if first.join("valid.pt").is_file() { "test.pt" } else { "valid.pt" };
            Err(Error::file(&first.join(file), "is missing; the split needs valid.pt and test.pt"))
        }
    }
}

/// The only line of a file, a number.
fn read_number(path: &Path) -> Result<usize> {
    let mut lines = GzipLines::open(path)?;
    let number = match lines.next_line()? {
        Some(line) => number(&line, line.text, usize::MAX)?,
        None => return Err(Error::file(path, "is empty; expected a number")),
    };
    match lines.next_line()? {
        Some(line) => Err(line.error("a second graph; link datasets have one").into()),
        None => Ok(number),
    }
}

fn read_edges(path: &Path, num_nodes: usize, num_edges: usize) -> Result<Vec<[u32; 2]>> {
    let mut lines = GzipLines::open(path)?;
    let mut edges = Vec::new();
    while let Some(line) = lines.next_line()? {
        let Some((a, b)) = line.text.split_once(',') else {
            return Err(line.error(format!("`{}` is one column; an edge needs two nodes", cut(line.text))).into());
        };
        if edges.len() == num_edges {
            return Err(line.error(format!("one edge more than the {num_edges} of num-edge-list.csv.gz")).into());
        }
        edges.push([number(&line, a, num_nodes)? as u32, number(&line, b, num_nodes)? as u32]);
    }
    if edges.len() != num_edges {
        let problem = format!("{} edges, but num-edge-list.csv.gz announces {num_edges}", edges.len());
        return Err(Error::file(path, problem));
    }
    Ok(edges)
}

/// `F_i / max(Σ_j F_ij, 1)`.
fn read_features(path: &Path, num_nodes: usize) -> Result<Features> {
    let mut lines = GzipLines::open(path)?;
    let (mut data, mut rows, mut columns): (Vec<f32>, usize, usize) = (Vec::new(), 0, 0);
    while let Some(line) = lines.next_line()? {
        if rows == num_nodes {
            return Err(line.error(format!("one row more than the {num_nodes} nodes of the graph")).into());
        }
        let start = data.len();
        for field in line.text.split(',') {
            match field.trim().parse::<f32>() {
                Ok(value) if value.is_finite() => data.push(value),
                _ => {
                    return Err(line
                        .error(format!("column {}: `{}` is no finite number", data.len() - start + 1, cut(field)))
                        .into());
                }
            }
        }
        let row = &mut data[start..];
        if rows == 0 {
            columns = row.len();
        }
        if row.len() != columns {
            return Err(line.error(format!("{} columns, but the lines above have {columns}", row.len())).into());
        }
        let sum: f64 = row.iter().map(|&value| f64::from(value)).sum();
        row.iter_mut().for_each(|value| *value = (f64::from(*value) / sum.max(1.0)) as f32);
        rows += 1;
    }
    if rows != num_nodes {
        return Err(Error::file(path, format!("{rows} rows, but the graph has {num_nodes} nodes")));
    }
    Ok(Features::from_matrix(Matrix::from_data(rows, columns, data)))
}

/// The pairs of one part of the split; none of its edges may be known to the graph.
fn read_pairs(path: &Path, graph: &Graph) -> Result<FixedPairs> {
    let [positive, negative] = torch::open(path, ["edge", "edge_neg"])?;
    let positive = pairs(path, "edge", &positive, graph.num_nodes())?;
    let negative = pairs(path, "edge_neg", &negative, graph.num_nodes())?;
    if let Some(row) = positive.iter().position(|[a, b]| graph.has_edge(*a, *b)) {
        let [a, b] = positive[row];
        let problem = format!("row {row} of `edge`, {a}-{b}, is a training edge too; held-out edges must not be seen");
        return Err(Error::file(path, problem));
    }
    Ok(FixedPairs { positive, negative })
}

fn pairs(path: &Path, name: &str, array: &NumpyArray<i64>, num_nodes: usize) -> Result<Vec<[u32; 2]>> {
    if !matches!(array.shape[..], [_, 2]) {
        return Err(Error::file(path, format!("`{name}` has shape {:?}; expected rows of two nodes", array.shape)));
    }
    if let Some(at) = array.data.iter().position(|&node| node < 0 || node >= num_nodes as i64) {
        let problem = format!("row {} of `{name}` names node {}; there are {num_nodes}", at / 2, array.data[at]);
        return Err(Error::file(path, problem));
    }
    Ok(array.data.chunks_exact(2).map(|pair| [pair[0] as u32, pair[1] as u32]).collect())
}

/// An integer below `bound`.
fn number(line: &GzipLine<'_>, text: &str, bound: usize) -> Result<usize> {
    let problem = match text.trim_ascii().parse::<usize>() {
        Ok(number) if number < bound => return Ok(number),
        Ok(number) => format!("node {number}, but there are {bound}, numbered from 0"),
        Err(_) => format!("`{}` is no whole number", cut(text)),
    };
    Err(line.error(problem).into())
}

fn cut(text: &str) -> String {
    text.chars().take(40).collect::<String>().escape_debug().to_string()
}
