//! Rows of some nodes alone.

use crate::linalg::Matrix;
use std::ops::Range;

/// Rows of some nodes, copied out of all of them as these are handed over in order.
#[derive(Debug)]
pub(crate) struct GatheredRows<'a, const L: usize> {
    /// In ascending order each.
    nodes: [&'a [u32]; L],
    pub rows: [Matrix; L],
}

impl<const L: usize> GatheredRows<'_, L> {
    pub fn new(nodes: [&[u32]; L], cols: usize) -> GatheredRows<'_, L> {
        GatheredRows { nodes, rows: nodes.map(|nodes| Matrix::zeros(nodes.len(), cols)) }
    }

    /// Whether any of these rows is wanted.
    pub fn wants(&self, rows: Range<usize>) -> bool {
        let first = |nodes: &&[u32]| nodes.get(nodes.partition_point(|&node| (node as usize) < rows.start)).copied();
        self.nodes.iter().filter_map(first).any(|node| (node as usize) < rows.end)
    }

    /// Consecutive rows, from `first` on.
    pub fn take(&mut self, first: usize, rows: &Matrix) {
        for (nodes, gathered) in self.nodes.iter().zip(&mut self.rows) {
            let start = nodes.partition_point(|&node| (node as usize) < first);
            let here = nodes[start..].iter().take_while(|&&node| (node as usize) < first + rows.rows());
            for (place, &node) in (start..).zip(here) {
                gathered.row_mut(place).copy_from_slice(rows.row(node as usize - first));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_wanted_that_any_list_names() {
        let mut gathered = GatheredRows::new([&[1, 9], &[4]], 1);
        let wanted = [0..1, 1..2, 2..4, 4..5, 2..5, 5..9, 5..10, 10..99].map(|rows| gathered.wants(rows));
        assert_eq!(wanted, [false, true, false, true, true, false, true, false]);
        for first in [0, 5] {
            gathered.take(first, &Matrix::from_fn(5, 1, |row, _| (first + row) as f32));
        }
        assert_eq!(gathered.rows.each_ref().map(|rows| rows.data().to_vec()), [vec![1.0, 9.0], vec![4.0]]);
    }
}
