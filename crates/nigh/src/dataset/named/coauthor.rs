//! Coauthor CS and Physics: who wrote with whom, words of their papers, their field. One `.npz` of SciPy's sparse rows.

use crate::dataset::{Dataset, Features, PaperDefaults, cleaning_notes};
use crate::error::{Error, Result};
use crate::graph::{Cleaning, Graph};
use crate::linalg::SparseMatrix;
use crate::names::one_of;
use nigh_formats::npy::{NpyArray, NpzArchive};
use std::path::Path;

/// The file behind each name.
const FILES: [(&str, &str); 2] = [("coauthor-cs", "ms_academic_cs.npz"), ("coauthor-physics", "ms_academic_phy.npz")];

/// A header that announces more columns is refused; the widest of the paper has 8,415.
const MAX_COLUMNS: usize = 1 << 20;

/// Reads `coauthor-cs` or `coauthor-physics` from its folder.
///
/// Word counts become 1 and rows are divided by their sum (protocol: "Data"). Classes are called by their numbers,
/// since their words are in a pickle.
pub fn read(folder: &Path, name: &str) -> Result<Dataset> {
    one_of("graph", name, &FILES.map(|file| file.0))?;
    let file = FILES.iter().find(|file| file.0 == name).expect("one of the files").1;
    let path = folder.join(file);
    let mut archive = NpzArchive::open(&path)?;

    let links = CsrArrays::read(&mut archive, "adj")?;
    let words = CsrArrays::read(&mut archive, "attr")?;
    let n = links.num_rows();
    if links.columns != n {
        return Err(links.shape.error(format!("{n} × {} is not square; links need it to be", links.columns)).into());
    }
    if words.num_rows() != n {
        return Err(words.shape.error(format!("{} rows of features for {n} nodes", words.num_rows())).into());
    }
    let labels = read_labels(&mut archive, n)?;

    let linked = |from: usize| links.row(from).map(move |(to, _)| [from as u32, to]);
    let (graph, cleaning) = Graph::from_edges(n, &(0..n).flat_map(linked).collect::<Vec<_>>())?;
    if graph.num_edges() == 0 {
        return Err(Error::file(&path, "no edge between two different nodes; message passing needs some"));
    }
    let rows: Vec<_> = (0..n).map(|node| shares(words.row(node))).collect();
    let features = Features::Sparse(SparseMatrix::from_rows(&rows, words.columns).into());

    let classes = labels.iter().max().map_or(0, |&label| label + 1);
    let mut dataset =
        Dataset::from_graph(name, graph).with_labels(&labels, (0..classes).map(|c| c.to_string()).collect());
    dataset.samples[0].features = features;
    dataset.paper_defaults = PaperDefaults { per_class: Some([20, 30, 0]), ..PaperDefaults::default() };
    // Both directions are listed, so duplicates mean nothing.
    dataset.notes = cleaning_notes(Cleaning { duplicates: 0, ..cleaning });
    Ok(dataset)
}

/// Words that occur, in order, each with the same share of 1.
fn shares(row: impl Iterator<Item = (u32, f32)>) -> Vec<(u32, f32)> {
    let mut words: Vec<u32> = row.map(|entry| entry.0).collect();
    words.sort_unstable();
    words.dedup();
    let share = 1.0 / words.len() as f32;
    words.into_iter().map(|word| (word, share)).collect()
}

/// A sparse matrix as SciPy stores it: the entries of row `i` are `ends[i]..ends[i + 1]`.
struct CsrArrays {
    shape: NpyArray,
    columns: usize,
    ends: Vec<usize>,
    indices: Vec<u32>,
    data: Vec<f32>,
}

impl CsrArrays {
    /// Reads and checks `{name}_shape`, `{name}_indptr`, `{name}_indices` and `{name}_data`.
    fn read(archive: &mut NpzArchive, name: &str) -> nigh_formats::Result<CsrArrays> {
        let mut vector = |part: &str| -> nigh_formats::Result<NpyArray> {
            let array = archive.array(&format!("{name}_{part}"))?;
            if array.shape().len() != 1 {
                let problem = format!("has {} dimensions; expected one", array.shape().len());
                return Err(array.error(problem));
            }
            Ok(array)
        };
        let (shape, indptr, indices, data) = (vector("shape")?, vector("indptr")?, vector("indices")?, vector("data")?);

        let [num_rows, columns] = shape.integers()?[..] else {
            return Err(shape.error(format!("has {} entries; expected rows and columns", shape.shape()[0])));
        };
        let columns = match usize::try_from(columns) {
            Ok(columns) if columns <= MAX_COLUMNS => columns,
            _ => return Err(shape.error(format!("{columns} columns; expected at most {MAX_COLUMNS}"))),
        };

        let ends = indptr.integers()?;
        if usize::try_from(num_rows).ok().and_then(|rows| rows.checked_add(1)) != Some(ends.len()) {
            let problem = format!("has {} entries; {num_rows} rows need one more than that", ends.len());
            return Err(indptr.error(problem));
        }
        if let Some(at) = ends.windows(2).position(|pair| pair[0] > pair[1]) {
            let problem = format!("falls from {} to {} at entry {}", ends[at], ends[at + 1], at + 1);
            return Err(indptr.error(problem));
        }
        let num_entries = indices.shape()[0];
        if (ends[0], ends[ends.len() - 1]) != (0, num_entries as i64) {
            let (first, last) = (ends[0], ends[ends.len() - 1]);
            return Err(indptr.error(format!("runs from {first} to {last}; expected 0 to {num_entries}")));
        }
        if data.shape()[0] != num_entries {
            return Err(data.error(format!("has {} entries beside {num_entries} indices", data.shape()[0])));
        }
        let index = |(at, value): (usize, i64)| match u32::try_from(value) {
            Ok(index) if (index as usize) < columns => Ok(index),
            _ => Err(indices.error(format!("entry {at} is {value}; there are {columns} columns"))),
        };
        let checked = indices.integers()?.into_iter().enumerate().map(index).collect::<nigh_formats::Result<_>>()?;
        let values = data.floats()?;
        if let Some(at) = values.iter().position(|value| !(value.is_finite() && *value >= 0.0)) {
            return Err(data.error(format!("entry {at} is {}; expected a count", values[at])));
        }
        let ends = ends.into_iter().map(|end| end as usize).collect();
        Ok(CsrArrays { shape, columns, ends, indices: checked, data: values })
    }

    fn num_rows(&self) -> usize {
        self.ends.len() - 1
    }

    /// `(column, value)` of one row, without stored zeros.
    fn row(&self, row: usize) -> impl Iterator<Item = (u32, f32)> + '_ {
        let range = self.ends[row]..self.ends[row + 1];
        let entries = self.indices[range.clone()].iter().copied().zip(self.data[range].iter().copied());
        entries.filter(|entry| entry.1 != 0.0)
    }
}

/// A class per node; there can't be more classes than nodes.
fn read_labels(archive: &mut NpzArchive, num_nodes: usize) -> nigh_formats::Result<Vec<u32>> {
    let array = archive.array("labels")?;
    if array.shape() != [num_nodes] {
        return Err(
            array.error(format!("has shape {:?}; expected one label for each of {num_nodes} nodes", array.shape()))
        );
    }
    let label = |(node, value): (usize, i64)| match u32::try_from(value) {
        Ok(label) if (label as usize) < num_nodes => Ok(label),
        _ => Err(array.error(format!("node {node} has label {value}; expected 0 or a little more"))),
    };
    array.integers()?.into_iter().enumerate().map(label).collect()
}
