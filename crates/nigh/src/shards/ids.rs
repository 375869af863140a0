//! Ids to numbers. Ranges of ids are merged each on its own; the counts of the ranges before it are the number of its first id.

use super::{IdBound, IdKind};
use crate::dataset::{EdgeColumns, EdgeList, Ids, ListedEdges, read_graph_file, read_ids, write_ids};
use crate::error::{Error, Result};
use nigh_formats::ids::whole_float;
use nigh_formats::sections::{SectionWriter, Sections};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::path::{Path, PathBuf};

/// Ids of a part that show how its ids are distributed.
const SAMPLES: usize = 256;

/// Reads a file of edges as the program does. Its part has the ids in order, and edges between their places.
pub(super) fn read_edges(path: &Path, columns: &EdgeColumns, out: &Path) -> Result<Value> {
    let file = read_graph_file(path, columns, None)?;
    let EdgeList { ids, edges, cleaned, graphs, respelled, notes, .. } = file.list;
    if graphs.is_some() {
        return Err(Error::file(path, "has several graphs; give one at a time"));
    }
    let ascends = match &ids {
        Ids::Numbers(_) => true,
        Ids::Integers(numbers) => numbers.is_sorted(),
        Ids::Names(names) => names.iter().is_sorted(),
    };
    if !ascends {
        let problem = "lists its nodes in an order of its own, which parts of a graph can't have; convert it to a graph \
                       file (`nigh data convert`) and give that";
        return Err(Error::file(path, problem));
    }
    let mut cleaning = cleaned;
    let (pieces, weights) = match edges {
        ListedEdges::Pieces(pieces, weights) => (pieces, weights),
        ListedEdges::Built(graph, cleaned) => {
            cleaning.add(cleaned);
            let weights = if graph.is_weighted() { vec![graph.edge_weights()] } else { Vec::new() };
            (vec![graph.edges().collect()], weights)
        }
        ListedEdges::Bucketed(_) => unreachable!("no memory was given to keep to"),
    };
    let mut writer = SectionWriter::create(out)?;
    writer.section("num-ids")?;
    writer.write(&[ids.len() as u64])?;
    writer.section("edges")?;
    pieces.iter().try_for_each(|piece| writer.write(piece.as_flattened()))?;
    if !weights.is_empty() {
        writer.section("weights")?;
        weights.iter().try_for_each(|weights| writer.write(weights))?;
    }
    write_ids(&mut writer, &ids)?;
    writer.finish()?;
    let is_integer = !matches!(ids, Ids::Names(_));
    let step = ids.len().div_ceil(SAMPLES).max(1);
    let sample = |node: usize| ids.integer(node).map_or_else(|| json!(ids.name(node)), |number| json!(number));
    Ok(json!({
        "kind": if is_integer { "integers" } else { "names" },
        "respelled": respelled,
        "num_ids": ids.len(),
        "num_edges": pieces.iter().map(Vec::len).sum::<usize>(),
        "weighted": !weights.is_empty(),
        "samples": (0..ids.len()).step_by(step).map(sample).collect::<Vec<_>>(),
        "self_loops": cleaning.self_loops,
        "duplicates": cleaning.duplicates,
        "notes": notes,
    }))
}

/// The ids of a part or of a range that were merged.
pub(super) fn ids_of(path: &Path) -> Result<Ids> {
    let sections = Sections::open(path)?;
    let count = sections.get::<u64>("num-ids")?.map(|count| count.read_all()).transpose()?;
    let count = count.and_then(|count| count.first().copied());
    let count = count.ok_or_else(|| Error::file(path, "has no section `num-ids`; it holds no part of a graph"))?;
    read_ids(&sections, count as usize, 0..count as usize)
}

/// The ids of all parts that are in a range, each once and in order.
pub(super) fn merge_ids(
    parts: &[PathBuf],
    kind: IdKind,
    from: Option<&IdBound>,
    to: Option<&IdBound>,
    out: &Path,
) -> Result<Value> {
    let parts = parts.iter().map(|path| ids_of(path)).collect::<Result<Vec<_>>>()?;
    let merged = match kind {
        IdKind::Integers => Ids::Integers(merged_integers(&parts, from, to)),
        IdKind::Names => Ids::Names(merged_names(&parts, from, to)?.iter().collect()),
    };
    let mut writer = SectionWriter::create(out)?;
    writer.section("num-ids")?;
    writer.write(&[merged.len() as u64])?;
    write_ids(&mut writer, &merged)?;
    writer.finish()?;
    let last = merged.len().checked_sub(1).and_then(|last| merged.integer(last));
    Ok(json!({ "count": merged.len(), "first": merged.integer(0), "last": last }))
}

fn merged_integers(parts: &[Ids], from: Option<&IdBound>, to: Option<&IdBound>) -> Vec<i64> {
    let mut merged: Vec<i64> = Vec::new();
    for part in parts {
        let place = |bound: Option<&IdBound>, open: usize| match bound {
            Some(IdBound::Integer(number)) => {
                let (Ok(place) | Err(place)) = place_of(part.len(), |at| part.integer(at).cmp(&Some(*number)));
                place
            }
            _ => open,
        };
        merged.extend((place(from, 0)..place(to, part.len())).filter_map(|at| part.integer(at)));
    }
    merged.par_sort_unstable();
    merged.dedup();
    merged
}

fn merged_names<'a>(parts: &'a [Ids], from: Option<&IdBound>, to: Option<&IdBound>) -> Result<Vec<Cow<'a, str>>> {
    let is_below = |name: &str, bound: &IdBound| matches!(bound, IdBound::Name(bound) if name < bound.as_str());
    let is_inside =
        |name: &str| !from.is_some_and(|from| is_below(name, from)) && to.is_none_or(|to| is_below(name, to));
    let mut merged: Vec<Cow<'a, str>> = parts.iter().flat_map(Ids::iter).filter(|name| is_inside(name)).collect();
    merged.par_sort_unstable();
    merged.dedup();
    for name in &merged {
        let number = whole_float(name).map(|number| number.to_string());
        if let Some(number) = number.filter(|number| merged.binary_search(&Cow::Borrowed(number)).is_ok()) {
            let problem =
                format!("`{number}` is an id beside names as well; if they are one node, write it in one way");
            return Err(Error::setting("source", name, problem));
        }
    }
    Ok(merged)
}

/// The number of each id of a part, given all ids in ranges and the number of the first id of each.
pub(super) fn numbers(part: &Ids, kind: IdKind, merged: &[PathBuf], bases: &[usize]) -> Result<Vec<u32>> {
    let mut order: Vec<u32> = (0..part.len() as u32).collect();
    // Integers beside names are in the order of texts.
    if kind == IdKind::Names && !matches!(part, Ids::Names(_)) {
        order.par_sort_by_cached_key(|&at| part.name(at as usize).into_owned());
    }
    let mut numbers = vec![0; part.len()];
    let mut rest = &order[..];
    for (path, &base) in merged.iter().zip(bases) {
        let ids = ids_of(path)?;
        let compare = |at: usize, wanted: u32| match kind {
            IdKind::Integers => ids.integer(at).cmp(&part.integer(wanted as usize)),
            IdKind::Names => ids.name(at).cmp(&part.name(wanted as usize)),
        };
        while let [first, others @ ..] = rest {
            match place_of(ids.len(), |at| compare(at, *first)) {
                Ok(place) => numbers[*first as usize] = (base + place) as u32,
                // Of a later range.
                Err(place) if place == ids.len() => break,
                Err(_) => return Err(missing(path, part, *first)),
            }
            rest = others;
        }
    }
    match (rest, merged.last()) {
        ([first, ..], Some(path)) => Err(missing(path, part, *first)),
        _ => Ok(numbers),
    }
}

fn missing(path: &Path, part: &Ids, at: u32) -> Error {
    Error::file(path, format!("lacks the id `{}`; were the ids merged from other parts?", part.name(at as usize)))
}

/// The place of what is looked for among `len` things in order, or where it would be.
fn place_of(len: usize, compare: impl Fn(usize) -> Ordering) -> std::result::Result<usize, usize> {
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = low.midpoint(high);
        match compare(middle) {
            Ordering::Equal => return Ok(middle),
            Ordering::Less => low = middle + 1,
            Ordering::Greater => high = middle,
        }
    }
    Err(low)
}
