//! Whether what a graph file has is a graph.

use super::{Graph, Held, Rows, STRETCH};
use crate::error::{Error, GraphProblem, Result};
use crate::seeds::mix;
use rayon::prelude::*;

impl Graph {
    /// Checks that a graph is one: ascending offsets and rows, neighbours that exist, and that each edge is there from both ends. One pass.
    pub(crate) fn verify(&self) -> Result<()> {
        let (mut balance, n) = (0u64, self.num_nodes());
        self.each_stretch(STRETCH, |rows| {
            let sums = rows.range().into_par_iter().with_min_len(1 << 10).map(|i| verify_row(&rows, i, n));
            let sum = sums.try_reduce(|| 0, |a, b| Ok(a.wrapping_add(b)));
            balance = balance.wrapping_add(sum.map_err(|problem| self.wrong(problem))?);
            Ok(())
        })?;
        match balance {
            0 => Ok(()),
            _ => Err(self.wrong("an edge is listed at one of its ends and not at the other".into())),
        }
    }

    fn wrong(&self, problem: String) -> Error {
        match &self.0 {
            Held::InMemory(_) => GraphProblem::NotUndirected.into(),
            Held::Stored(stored) => stored.wrong(problem).into(),
        }
    }
}

/// A number that those of all rows cancel if every edge is listed at both ends, with the same weight.
fn verify_row(rows: &Rows<'_>, i: usize, n: usize) -> std::result::Result<u64, String> {
    let (row, weights) = (rows.neighbours(i), rows.weights(i));
    if !row.is_sorted_by(|a, b| a < b) || row.last().is_some_and(|&last| last as usize >= n) {
        return Err(format!("neighbours of node {i} do not ascend, or exceed the {n} nodes"));
    }
    let mut balance = 0u64;
    for (at, &j) in row.iter().enumerate() {
        let weight = weights.map_or(1.0, |weights| weights[at]);
        if j as usize == i || !(weight.is_finite() && weight > 0.0) {
            return Err(format!("node {i} has a link to {j} of weight {weight}"));
        }
        let (low, high) = (i.min(j as usize) as u64, i.max(j as usize) as u64);
        let hash = mix(mix(low << 32 | high) ^ u64::from(weight.to_bits()));
        balance = if i < j as usize { balance.wrapping_add(hash) } else { balance.wrapping_sub(hash) };
    }
    Ok(balance)
}
