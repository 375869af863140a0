//! Edges as the entries of a matrix.

use super::{EdgeList, WeightColumn};
use crate::error::{Error, Result};
use crate::ids::Ids;
use crate::matrix_market::SparseEntries;
use std::path::Path;

/// The graph whose adjacency matrix this is. A one is not a weight, and a zero is not an edge.
pub(super) fn adjacency(path: &Path, matrix: SparseEntries, weight: &WeightColumn) -> Result<EdgeList> {
    let (rows, cols) = (matrix.rows, matrix.cols);
    if rows != cols {
        return Err(Error::file(path, format!("is {rows} × {cols}; the adjacency matrix of a graph is square")));
    }
    if let WeightColumn::Column(name) = weight {
        let problem = format!("is a matrix, whose entries are the weights; there is no column `{name}`");
        return Err(Error::file(path, problem));
    }
    let mut list = EdgeList { ids: Ids::Numbers(rows), ..EdgeList::default() };
    // A stored triangle stands for both.
    list.directed = matrix.symmetric.then_some(false);
    let mut edges = matrix.entries;
    if let Some(mut values) = matrix.values {
        let zeros = values.iter().filter(|value| **value == 0.0).count();
        if zeros > 0 {
            let mut kept = values.iter().map(|value| *value != 0.0);
            edges.retain(|_| kept.next().unwrap_or(false));
            values.retain(|value| *value != 0.0);
            list.notes.push(format!("{zeros} entries are zero and no edges"));
        }
        if *weight == WeightColumn::Auto && values.iter().any(|value| *value != 1.0) {
            if let Some(at) = values.iter().position(|value| !(value.is_finite() && *value > 0.0)) {
                let ([row, column], value) = (edges[at], values[at]);
                let problem = format!("entry ({row}, {column}) is {value}; a weight must be a positive number");
                return Err(Error::weight(Error::file(path, problem)));
            }
            list.notes.push(format!("the entries of {} are weights; they can be left out", path.display()));
            list.weights.push(values);
        }
    }
    if edges.is_empty() {
        return Err(Error::file(path, "no edges; expected a matrix with entries"));
    }
    list.edges.push(edges);
    Ok(list)
}
