//! Tables that are no edges, recognised by their shape: labels and features that were given as the graph.

use super::layout::EdgeLayout;
use super::row::EdgeRow;
use crate::error::Error;
use crate::node_rows;
use crate::text_table::{LineBlock, TextTable};
use std::collections::HashSet;
use std::path::Path;

/// Fewer lines show no shape.
const LEAST: usize = 20;

/// The problem with a header that names an id and a label, and no ends of edges.
pub(super) fn labels_problem(header: &[String]) -> Option<String> {
    let [id, label] = node_rows::id_and_label(header)?;
    Some(format!(
        "columns `{id}` and `{label}` look like labels, not like edges; give them as labels, and a file of edges as the graph"
    ))
}

/// A remark on lines that look like a node and its label: each begins with another id, and what follows is one of a few.
pub(super) fn labels_note(path: &Path, layout: &EdgeLayout, sample: &[Vec<String>]) -> Option<String> {
    let column = |at: usize| sample.iter().filter_map(move |row| row.get(at)).collect::<HashSet<&String>>().len();
    let (sources, targets) = (column(layout.source), column(layout.target));
    let is_labels = sample.len() >= LEAST && layout.width == 2 && sources == sample.len() && 5 * targets <= sources;
    is_labels.then(|| {
        format!(
            "the first {sources} lines of {} begin with different ids, and the second column has {targets} values: if these \
             are labels, the graph is another file",
            path.display()
        )
    })
}

/// Adds to columns that are unclear that they look like features.
pub(super) fn explained(error: Error, sample: &[Vec<String>]) -> Error {
    let is_number = |field: &String| field.parse::<f32>().is_ok();
    let has_fraction = |row: &Vec<String>| row.iter().skip(1).any(|field| is_number(field) && field.contains('.'));
    let is_features = sample.iter().all(|row| row.len() > 3 && row.iter().skip(1).all(is_number))
        && (sample.iter().any(has_fraction) || sample.iter().all(|row| row.len() > 8));
    match error {
        Error::UnclearColumns { problem, columns } if is_features => {
            let more = "; an id and numbers look like features: are the graph and its features swapped?";
            Error::UnclearColumns { problem: Box::new(with_more(*problem, more)), columns }
        }
        error => error,
    }
}

/// Marks the problem of a line that is right without its weight.
pub(super) fn of_weight(error: Error, text: &TextTable, layout: &EdgeLayout, skip: usize) -> Error {
    let problem = match error {
        problem @ Error::Line { .. } if layout.is_weighted() => problem,
        error => return error,
    };
    let attributes = layout.attributes.as_ref().map(|_| None);
    let plain = EdgeLayout { weight: None, attributes, ..layout.clone() };
    let check = |_: &mut (), block: &LineBlock<'_>| {
        let mut fields = Vec::new();
        block.lines().try_for_each(|line| {
            let (at, line) = line?;
            EdgeRow::parse(line, at, &plain, text, &mut fields).map(drop)
        })
    };
    let line = |error: &Error| match error {
        Error::Line { line, .. } => *line,
        _ => 0,
    };
    match text.blocks(skip, || (), check) {
        Err(without) if line(&without) <= line(&problem) => problem,
        _ => Error::weight(problem),
    }
}

fn with_more(error: Error, more: &str) -> Error {
    match error {
        Error::Line { path, line, problem } => Error::Line { path, line, problem: problem + more },
        Error::File { path, problem } => Error::File { path, problem: problem + more },
        error => error,
    }
}
