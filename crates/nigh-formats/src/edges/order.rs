//! The order of nodes and graphs: that of their ids, so that the order of lines is of no consequence.

use crate::Texts;
use crate::error::{Error, Result};
use crate::ids::{Ids, whole_float, whole_number};
use rayon::prelude::*;
use std::collections::HashSet;
use std::path::Path;

/// Ascending ids, and the number of each name if they were not in this order.
pub fn ascending(names: Texts) -> (Ids, Option<Vec<u32>>) {
    let ids = Ids::from_texts(names);
    let mut sorted: Vec<u32> = (0..ids.len() as u32).collect();
    match &ids {
        Ids::Integers(numbers) if !numbers.is_sorted() => sorted.par_sort_unstable_by_key(|&at| numbers[at as usize]),
        Ids::Names(names) if !names.iter().is_sorted() => sorted.par_sort_unstable_by_key(|&at| &names[at as usize]),
        _ => return (ids, None),
    }
    let mut order = vec![0; ids.len()];
    sorted.iter().zip(0..).for_each(|(&at, place)| order[at as usize] = place);
    (ids.select(&sorted), Some(order))
}

/// Graphs in ascending order of their names, and the number of one per edge.
pub(super) fn sorted_graphs(names: Texts, mut of_edges: Vec<Vec<u32>>) -> (Texts, Vec<Vec<u32>>) {
    let (names, order) = ascending(names);
    if let Some(order) = order {
        of_edges.par_iter_mut().flatten().for_each(|graph| *graph = order[*graph as usize]);
    }
    (names.iter().collect(), of_edges)
}

/// Names as ids.
#[derive(Debug)]
pub struct Numbered {
    /// Ascending.
    pub ids: Ids,
    /// The node of each name, where it is another than that of the same number.
    pub order: Option<Vec<u32>>,
    /// A remark on names that were read as numbers.
    pub note: Option<String>,
}

/// Ascending ids. `7` and `7.0` are one node if all names are such numbers, and ambiguous if not.
pub fn numbered(path: &Path, names: Texts) -> Result<Numbered> {
    let integer = |name: &str| whole_number(name.as_bytes()).or_else(|| whole_float(name));
    let float = names.iter().find(|name| whole_float(name).is_some());
    let numbers: Option<Vec<i64>> = float.and_then(|_| names.iter().map(integer).collect());
    let (Some(float), Some(numbers)) = (float, numbers) else {
        let known: HashSet<&str> = float.iter().flat_map(|_| names.iter()).collect();
        let twice = names.iter().find_map(|name| {
            let number = whole_float(name)?.to_string();
            known.contains(number.as_str()).then(|| format!("`{number}` and `{name}`"))
        });
        if let Some(twice) = twice {
            let problem = format!("{twice} are ids beside names; if they are one node, write it in one way");
            return Err(Error::file(path, problem));
        }
        let (ids, order) = ascending(names);
        return Ok(Numbered { ids, order, note: None });
    };
    let note = Some(format!("ids such as `{float}` in {} were read as whole numbers", path.display()));
    let mut ids = numbers.clone();
    ids.par_sort_unstable();
    ids.dedup();
    let place = |number: &i64| ids.binary_search(number).expect("every number is listed") as u32;
    let order = Some(numbers.par_iter().map(place).collect());
    Ok(Numbered { ids: Ids::from_integers(ids), order, note })
}
