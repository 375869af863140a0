//! Cora, CiteSeer and PubMed in the files of Planetoid, `ind.NAME.{x,tx,allx,y,ty,ally,graph,test.index}`.
//!
//! `allx` and `ally` are features and one-hot classes of the first nodes, `x` and `y` of the first of these: the
//! training part. Row `i` of `tx` and `ty` belongs to the node on line `i` of `test.index`. CiteSeer's `test.index`
//! leaves out 15 numbers; those nodes exist in the graph and have neither features nor a class.

use crate::dataset::{Dataset, Features, FixedSplit, Ids, PaperDefaults, Sample};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::linalg::SparseMatrix;
use nigh_formats::pickle::numpy::{NumpyArray, SparseRows, integers, sparse_rows};
use nigh_formats::pickle::{Pickle, ValueId};
use nigh_formats::{Parsed, read_bounded};
use std::path::{Path, PathBuf};

/// The public split validates with this many nodes after the training part.
const VALIDATION: usize = 500;

/// Reads `cora`, `citeseer` or `pubmed` from a folder, with the public split.
pub fn read(folder: &Path, name: &str) -> Result<Dataset> {
    let file = |part: &str| folder.join(format!("ind.{name}.{part}"));
    let x = LabelledRows::read(&file("x"), &file("y"))?;
    let all = LabelledRows::read(&file("allx"), &file("ally"))?;
    let test = LabelledRows::read(&file("tx"), &file("ty"))?;
    for part in [&x, &test] {
        part.must_fit(&all)?;
    }
    let num_train = x.rows.rows.len();
    if !all.rows.rows.starts_with(&x.rows.rows) || !all.classes.starts_with(&x.classes) {
        return Err(Error::file(&x.path, format!("is not the beginning of {}", all.path.display())));
    }
    let num_listed = all.rows.rows.len();
    if num_listed < num_train + VALIDATION {
        let problem =
            format!("{num_listed} rows are too few for {num_train} training and {VALIDATION} validation nodes");
        return Err(Error::file(&all.path, problem));
    }
    let lists = in_pickle(&file("graph"), neighbours)?;
    let n = lists.len();
    let test_ids = read_test_index(&file("test.index"), num_listed, n)?;
    if test_ids.len() != test.rows.rows.len() {
        let problem = format!("{} nodes, but {} rows in tx", test_ids.len(), test.rows.rows.len());
        return Err(Error::file(&file("test.index"), problem));
    }

    let num_classes = all.num_classes;
    let (mut rows, columns) = (all.rows.rows, all.rows.columns);
    let mut labels: Vec<Option<u32>> = all.classes.into_iter().map(Some).collect();
    if n < rows.len() {
        let problem = format!("{n} nodes, but {} rows in {}", rows.len(), all.path.display());
        return Err(Error::file(&file("graph"), problem));
    }
    rows.resize(n, Vec::new());
    labels.resize(n, None);
    for ((&node, row), class) in test_ids.iter().zip(test.rows.rows).zip(test.classes) {
        rows[node as usize] = row;
        labels[node as usize] = Some(class);
    }
    rows.iter_mut().for_each(|row| divide_by_sum(row));

    let (graph, mut notes) = cleaned(lists)?;
    let holes = labels.iter().filter(|label| label.is_none()).count();
    if holes > 0 {
        notes.push(format!("{holes} nodes have neither features nor a class: test.index leaves them out"));
    }
    let sample = Sample {
        graph: graph.into(),
        features: Features::Sparse(SparseMatrix::from_rows(&rows, columns).into()),
        labels: Some(labels.into()),
        ids: Ids::Numbers(n).into(),
        label_sets: None,
        addresses: None,
    };
    let nodes = |range: std::ops::Range<usize>| range.map(|node| node as u32).collect();
    let valid = nodes(num_train..num_train + VALIDATION);
    Ok(Dataset {
        name: name.to_string(),
        samples: vec![sample],
        graph_names: Vec::new(),
        class_names: (0..num_classes).map(|class| class.to_string()).collect(),
        feature_names: Vec::new(),
        paper_defaults: PaperDefaults::default(),
        fixed_split: Some(FixedSplit::Nodes([nodes(0..num_train), valid, test_ids])),
        notes,
        cleaning: None,
    })
}

/// Features and classes of some nodes.
struct LabelledRows {
    path: PathBuf,
    rows: SparseRows,
    classes: Vec<u32>,
    num_classes: usize,
}

impl LabelledRows {
    fn read(features: &Path, labels: &Path) -> Result<LabelledRows> {
        let rows = in_pickle(features, sparse_rows)?;
        let (classes, num_classes) = in_pickle(labels, |pickle, id| one_hot(&integers(pickle, id)?))?;
        if rows.rows.len() != classes.len() {
            let problem = format!("{} rows, but {} in {}", classes.len(), rows.rows.len(), features.display());
            return Err(Error::file(labels, problem));
        }
        Ok(LabelledRows { path: features.to_path_buf(), rows, classes, num_classes })
    }

    fn must_fit(&self, all: &LabelledRows) -> Result<()> {
        let (mine, theirs) = ((self.rows.columns, self.num_classes), (all.rows.columns, all.num_classes));
        if mine == theirs {
            return Ok(());
        }
        let what = |(features, classes)| format!("{features} features and {classes} classes");
        Err(Error::file(&self.path, format!("{}, but {} in {}", what(mine), what(theirs), all.path.display())))
    }
}

/// Reads a file as one pickle and takes something out of it.
fn in_pickle<T>(path: &Path, take: impl FnOnce(&Pickle<'_>, ValueId) -> Parsed<T>) -> Result<T> {
    let bytes = read_bounded(path)?;
    let taken = Pickle::read(&bytes).and_then(|pickle| take(&pickle, pickle.root()));
    taken.map_err(|problem| Error::file(path, problem))
}

/// The class of each row, and how many there are.
fn one_hot(array: &NumpyArray<i64>) -> Parsed<(Vec<u32>, usize)> {
    let num_classes = match array.shape[..] {
        [rows, columns] if rows > 0 && columns > 0 => columns,
        _ => return Err(format!("shape {:?}; expected a row per node and a column per class", array.shape)),
    };
    let mut classes = Vec::with_capacity(array.data.len() / num_classes);
    for (at, row) in array.data.chunks_exact(num_classes).enumerate() {
        let class = row.iter().position(|&value| value == 1);
        match class {
            Some(class) if row.iter().filter(|&&value| value != 0).count() == 1 => classes.push(class as u32),
            _ => return Err(format!("row {at} does not hold exactly one 1; every row has one class")),
        }
    }
    Ok((classes, num_classes))
}

/// The neighbours of every node: a dictionary from `0..n` to lists of these.
fn neighbours(pickle: &Pickle<'_>, root: ValueId) -> Parsed<Vec<Vec<u32>>> {
    let dict = pickle.dict(root)?;
    let n = dict.len();
    // A list that several nodes share would be multiplied here, from few bytes to many.
    let mut budget = pickle.ids().count();
    let mut lists: Vec<Option<Vec<u32>>> = vec![None; n];
    let node = |id: ValueId| {
        let node = pickle.integer(id)?;
        let known = usize::try_from(node).ok().filter(|&node| node < n);
        known.ok_or_else(|| format!("node {node} is not among the {n} nodes, which are numbered from 0"))
    };
    for &(key, list) in dict {
        let key = node(key)?;
        let list = pickle.list(list).map_err(|problem| format!("neighbours of node {key}: {problem}"))?;
        budget = budget.checked_sub(list.len()).ok_or("nodes share their lists of neighbours")?;
        let list = list.iter().map(|&id| Ok(node(id)? as u32)).collect::<Parsed<_>>();
        let list = list.map_err(|problem| format!("neighbours of node {key}: {problem}"))?;
        if lists[key].replace(list).is_some() {
            return Err(format!("node {key} has two lists of neighbours"));
        }
    }
    Ok(lists.into_iter().flatten().collect())
}

/// Numbers of test nodes, one per line; they follow the numbers of all other nodes.
fn read_test_index(path: &Path, num_listed: usize, num_nodes: usize) -> Result<Vec<u32>> {
    let bytes = read_bounded(path)?;
    let mut seen = vec![false; num_nodes];
    let mut nodes = Vec::new();
    let content = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    for (at, line) in content.split(|&byte| byte == b'\n').enumerate() {
        let text = line.trim_ascii();
        let wrong = |problem: &str| {
            let value = text[..text.len().min(40)].escape_ascii();
            Error::line(path, at + 1, format!("`{value}` {problem}"))
        };
        let node = std::str::from_utf8(text).ok().and_then(|text| text.parse::<usize>().ok());
        let node = node.ok_or_else(|| wrong("is no node number"))?;
        if !(num_listed..num_nodes).contains(&node) {
            return Err(wrong(&format!("is no test node; these are numbered from {num_listed} to below {num_nodes}")));
        }
        if std::mem::replace(&mut seen[node], true) {
            return Err(wrong("is listed before"));
        }
        nodes.push(node as u32);
    }
    Ok(nodes)
}

/// The graph of the lists, and remarks on what was cleaned.
fn cleaned(mut lists: Vec<Vec<u32>>) -> Result<(Graph, Vec<String>)> {
    let n = lists.len();
    let (mut repeated, mut loops) = (0, 0);
    let mut edges = Vec::new();
    for (node, list) in lists.iter_mut().enumerate() {
        let listed = list.len();
        list.sort_unstable();
        list.dedup();
        repeated += listed - list.len();
        loops += list.iter().filter(|&&other| other as usize == node).count();
        edges.extend(list.iter().filter(|&&other| other as usize != node).map(|&other| [node as u32, other]));
    }
    let (graph, _) = Graph::from_edges(n, &edges)?;
    let isolated = (0..n).filter(|&node| graph.degree(node) == 0).count();
    let remarks = [
        (repeated, "repeated entries of the neighbour lists were merged"),
        (loops, "self loops were dropped; the operator gives every node its own"),
        (2 * graph.num_edges() - edges.len(), "edges were listed by one of their ends only; they count all the same"),
        (isolated, "nodes have no edge; they are kept, isolated"),
    ];
    let notes = remarks.iter().filter(|(count, _)| *count > 0).map(|(count, text)| format!("{count} {text}")).collect();
    Ok((graph, notes))
}

/// `F_i / Σ_j F_ij`; a row of zeros stays.
fn divide_by_sum(row: &mut [(u32, f32)]) {
    let sum: f64 = row.iter().map(|&(_, value)| f64::from(value)).sum();
    if sum != 0.0 {
        row.iter_mut().for_each(|entry| entry.1 = (f64::from(entry.1) / sum) as f32);
    }
}
