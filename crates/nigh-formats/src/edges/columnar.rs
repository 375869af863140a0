//! Edges in Parquet or Arrow.

use super::layout::{EdgeLayout, TablePlace};
use super::order::{numbered, sorted_graphs};
use super::{EdgeColumns, EdgeFile, EdgeList, EdgeSink, LESS, Sinks, is_sparse};
use crate::columnar::{Batch, ColumnValues, Columnar};
use crate::error::{Error, Result};
use crate::ids::Ids;
use crate::interner::Interner;
use crate::interrupt;
use crate::memory::{self, Growth};
use rayon::prelude::*;
use std::path::Path;

/// As `read`, from Parquet or Arrow.
pub(super) fn read<S: EdgeSink>(
    path: &Path,
    columns: &EdgeColumns,
    sinks: Sinks<impl Fn(bool) -> S>,
) -> Result<EdgeFile<S>> {
    if let Some(file) = read_integers(path, columns, sinks)? {
        return Ok(file);
    }
    let file = Columnar::open(path)?;
    let header = file.names().to_vec();
    let (layout, notes) = EdgeLayout::new(TablePlace { path, line: None }, columns, Some(&header), header.len())?;
    let wanted = [Some(layout.source), Some(layout.target), layout.weight, layout.graph];
    let wanted: Vec<usize> = wanted.into_iter().flatten().collect();
    let mut list = EdgeList { notes, ..EdgeList::default() };
    let (mut names, mut graph_names) = (Interner::default(), Interner::default());
    let (mut pieces, mut all_weights, mut of_edges) = (Vec::new(), Vec::new(), Vec::new());
    // Integers are kept as such until another type comes.
    let mut integers: Vec<[i64; 2]> = Vec::new();
    // Pairs are sorted, numbered and moved to the rows of their ends.
    let growth = Growth::new("its edges", 3.0);
    for batch in file.batches(&wanted)? {
        interrupt::check();
        let Batch { first_row, columns: read } = batch?;
        let bytes = |column: &ColumnValues| match column {
            ColumnValues::Texts(texts) => 16 * texts.len() + texts.num_bytes(),
            other => 8 * other.len(),
        };
        let grown = growth.add(read.iter().map(bytes).sum::<usize>() as u64);
        grown.map_err(|problem| Error::file(path, format!("{problem}; {LESS}")))?;
        let wrong = |at: usize, found: &str, expected: &str| {
            Error::file(path, format!("column `{}` holds {found}; expected {expected}", header[wanted[at]]))
        };
        let mut read = read.into_iter().map(ColumnValues::with_whole_numbers);
        let mut next = || read.next().expect("a column for each that was wanted");
        match (next(), next()) {
            (ColumnValues::Integers(source), ColumnValues::Integers(target)) if names.is_empty() => {
                integers.extend(source.into_iter().zip(target).map(|(source, target)| [source, target]));
            }
            (source, target) => {
                if !integers.is_empty() {
                    let edge = |ends: [i64; 2]| ends.map(|end| names.number(&end.to_string()));
                    pieces.push(std::mem::take(&mut integers).into_iter().map(edge).collect());
                }
                let mut number = |at: usize, column: &ColumnValues, row: usize| match column {
                    ColumnValues::Integers(values) => Ok(names.number(&values[row].to_string())),
                    ColumnValues::Texts(texts) => Ok(names.number(&texts[row])),
                    _ => Err(wrong(at, "numbers with fractions", "ids")),
                };
                let edge = |row| Ok([number(0, &source, row)?, number(1, &target, row)?]);
                pieces.push((0..source.len()).map(edge).collect::<Result<Vec<_>>>()?);
            }
        }
        if layout.weight.is_some() {
            all_weights.push(positive_weights(path, &header[wanted[2]], first_row, next())?);
        }
        if layout.graph.is_some() {
            of_edges.push(match next() {
                ColumnValues::Integers(values) => {
                    values.iter().map(|graph| graph_names.number(&graph.to_string())).collect()
                }
                ColumnValues::Texts(texts) => texts.iter().map(|graph| graph_names.number(graph)).collect(),
                _ => return Err(wrong(wanted.len() - 1, "numbers with fractions", "names of graphs")),
            });
        }
    }
    if !integers.is_empty() {
        let (ids, edges) = numbered_integers(integers);
        // Edges in one piece; weights and graphs follow.
        list.ids = ids;
        pieces = vec![edges];
        all_weights = if all_weights.is_empty() { all_weights } else { vec![all_weights.concat()] };
        of_edges = if of_edges.is_empty() { of_edges } else { vec![of_edges.concat()] };
    } else {
        let numbered = numbered(path, names.into_names())?;
        if let Some(order) = numbered.order {
            pieces.par_iter_mut().flatten().flatten().for_each(|end| *end = order[*end as usize]);
        }
        list.ids = numbered.ids;
        list.respelled = numbered.note.is_some();
        list.notes.extend(numbered.note);
    }
    list.graphs = layout.graph.map(|_| sorted_graphs(graph_names.into_names(), of_edges));
    if pieces.iter().all(Vec::is_empty) {
        return Err(Error::file(path, "no edges; expected rows of two ids"));
    }
    (list.edges, list.weights) = (pieces, all_weights);
    Ok(list.into())
}

/// Edges between integers that are their own numbers go straight into buckets. `None` if some are not, or if there are several graphs.
fn read_integers<S: EdgeSink>(
    path: &Path,
    columns: &EdgeColumns,
    sinks: Sinks<impl Fn(bool) -> S>,
) -> Result<Option<EdgeFile<S>>> {
    let file = Columnar::open(path)?;
    let header = file.names().to_vec();
    let (layout, notes) = EdgeLayout::new(TablePlace { path, line: None }, columns, Some(&header), header.len())?;
    if layout.graph.is_some() {
        return Ok(None);
    }
    let wanted: Vec<usize> = [Some(layout.source), Some(layout.target), layout.weight].into_iter().flatten().collect();
    let weighted = layout.weight.is_some();
    let mut edges = (sinks.make)(weighted);
    let mut num_edges = 0;
    let [here, afterwards] = S::bytes_per_edge(weighted);
    let too_large = |problem| Error::file(path, format!("{problem}; {LESS}"));
    let growth = Growth::new("its edges", afterwards as f64 / here as f64);
    if let (false, Some(rows)) = (sinks.are_limited, file.num_rows()) {
        let bytes = rows.saturating_mul(here + afterwards);
        memory::check(bytes, || format!("a graph of its {rows} rows")).map_err(too_large)?;
    }
    for batch in file.batches(&wanted)? {
        interrupt::check();
        let Batch { first_row, columns } = batch?;
        let mut columns = columns.into_iter().map(ColumnValues::with_whole_numbers);
        let (Some(ColumnValues::Integers(sources)), Some(ColumnValues::Integers(targets))) =
            (columns.next(), columns.next())
        else {
            return Ok(None);
        };
        if sources.iter().chain(&targets).any(|id| !(0..S::LIMIT as i64).contains(id)) {
            return Ok(None);
        }
        num_edges += sources.len();
        if !sinks.are_limited {
            growth.add(here * sources.len() as u64).map_err(too_large)?;
        }
        let pairs = sources.into_iter().zip(targets).map(|(source, target)| [source as u32, target as u32]);
        match columns.next() {
            None => pairs.for_each(|edge| edges.push(edge)),
            Some(weights) => {
                let weights = positive_weights(path, &header[wanted[2]], first_row, weights)?;
                pairs.zip(weights).for_each(|(edge, weight)| edges.push_weighted(edge, weight));
            }
        }
    }
    let edges = vec![edges];
    if num_edges == 0 || is_sparse(&edges, num_edges) {
        return Ok(None);
    }
    let list = EdgeList { notes, ..EdgeList::default() };
    Ok(Some(EdgeFile { list, numbered: Some(edges), features: None, labels: None }))
}

/// The weights of a batch.
fn positive_weights(path: &Path, column: &str, first_row: usize, values: ColumnValues) -> Result<Vec<f32>> {
    let weights: Vec<f32> = match values {
        ColumnValues::Integers(values) => values.into_iter().map(|value| value as f32).collect(),
        ColumnValues::Numbers(values) => values,
        _ => {
            let problem = format!("column `{column}` holds no numbers; expected positive numbers");
            return Err(Error::weight(Error::file(path, problem)));
        }
    };
    if let Some(at) = weights.iter().position(|weight| !(weight.is_finite() && *weight > 0.0)) {
        let problem = format!("row {}: weight {} is not a positive number", first_row + at, weights[at]);
        return Err(Error::weight(Error::file(path, problem)));
    }
    Ok(weights)
}

/// Ids in ascending order, and edges between their numbers.
pub fn numbered_integers(edges: Vec<[i64; 2]>) -> (Ids, Vec<[u32; 2]>) {
    let mut ids = edges.as_flattened().to_vec();
    ids.par_sort_unstable();
    ids.dedup();
    let counted = ids.first() == Some(&0) && ids.last() == Some(&(ids.len() as i64 - 1));
    let number = |id: i64| if counted { id as u32 } else { ids.binary_search(&id).expect("an id of the list") as u32 };
    let edges = edges.par_iter().map(|ends| ends.map(number)).collect();
    (Ids::from_integers(ids), edges)
}
