//! Rows after several hops, `M^a X` for each `a`: computed a few columns at a time, or read from files that tasks on other machines wrote.

use super::Execution;
use super::requests::{LevelFiles, RequestRecorder};
use crate::graph::Operator;
use crate::linalg::{Matrix, for_row_blocks};
use crate::seeds::Stream;
use crate::source::Signal;
use std::ops::Range;
use std::sync::Arc;

/// `X`, of which any columns can be computed.
#[derive(Clone, Copy)]
pub(crate) enum LevelSource<'a> {
    /// `E`, with node `i` known as `addresses[i]`.
    Signal { signal: Signal, stream: Stream, addresses: &'a [u32], dim: usize, factor: f32 },
    /// As many columns, which a function fills in.
    Columns { width: usize, fill: &'a dyn Fn(Range<usize>, &mut Matrix) },
}

impl LevelSource<'_> {
    /// The number of columns.
    pub fn width(&self) -> usize {
        match self {
            LevelSource::Signal { dim, .. } => *dim,
            LevelSource::Columns { width, .. } => *width,
        }
    }

    /// Some columns of all rows.
    pub fn fill(&self, columns: Range<usize>, panel: &mut Matrix) {
        match self {
            LevelSource::Signal { signal, stream, addresses, factor, .. } => {
                signal.fill(*stream, addresses, columns, *factor, panel);
            }
            LevelSource::Columns { fill, .. } => fill(columns, panel),
        }
    }
}

/// Who computes rows after hops.
#[derive(Debug, Clone, Default)]
pub(crate) enum LevelsBy {
    /// This process, when they are asked for.
    #[default]
    Panels,
    /// Nobody: requests are recorded, and no rows are computed.
    Requests(Arc<RequestRecorder>),
    /// Tasks that have ended.
    Files(Arc<LevelFiles>),
}

/// `M^a X` for several `a`, to be asked for.
pub(crate) struct Levels<'a> {
    /// `M`: `Ã`, or the operator of walks.
    pub operator: &'a Operator,
    /// How the columns keep to the memory, and who computes them.
    pub execution: &'a Execution,
    /// `X`.
    pub source: LevelSource<'a>,
}

impl Levels<'_> {
    /// Calls `take` for every panel of columns after each of these hops, which ascend: with the columns, the hop, and the rows of all nodes.
    pub fn all(&self, hops: &[usize], mut take: impl FnMut(&Range<usize>, usize, &Matrix)) {
        match &self.execution.levels_by {
            LevelsBy::Panels => self.panels(hops, &mut take),
            LevelsBy::Requests(recorder) => recorder.add(self, hops, None),
            LevelsBy::Files(files) => files.each(self, hops, None, |columns, hop, rows| take(columns, hop, rows)),
        }
    }

    /// As `all`, with the rows of these nodes alone, which `take` may keep.
    pub fn of(&self, nodes: &[u32], hops: &[usize], mut take: impl FnMut(&Range<usize>, usize, &mut Matrix)) {
        match &self.execution.levels_by {
            LevelsBy::Panels => {
                let mut rows = Matrix::default();
                self.panels(hops, &mut |columns, hop, x| {
                    gather(x, nodes, &mut rows);
                    take(columns, hop, &mut rows);
                });
            }
            LevelsBy::Requests(recorder) => recorder.add(self, hops, Some(nodes)),
            LevelsBy::Files(files) => files.each(self, hops, Some(nodes), take),
        }
    }

    /// The rows of these nodes, or of all, in all columns: a matrix for each hop.
    pub fn rows(&self, hops: &[usize], nodes: Option<&[u32]>) -> Vec<Matrix> {
        let (width, num_nodes) = (self.source.width(), self.operator.graph().num_nodes());
        let count = nodes.map_or(num_nodes, <[u32]>::len);
        let mut found = vec![Matrix::zeros(count, width); hops.len()];
        let mut keep = |columns: &Range<usize>, hop: usize, rows: &Matrix| {
            for (whole, _) in found.iter_mut().zip(hops).filter(|of| *of.1 == hop) {
                for_row_blocks(whole.data_mut(), width, columns.len(), |first, block| {
                    for (at, row) in block.chunks_exact_mut(width).enumerate() {
                        row[columns.clone()].copy_from_slice(rows.row(first + at));
                    }
                });
            }
        };
        match nodes {
            Some(nodes) => self.of(nodes, hops, |columns, hop, rows| keep(columns, hop, rows)),
            None => self.all(hops, keep),
        }
        found
    }

    /// Two panels of columns are in memory, whatever the width of `X`.
    fn panels(&self, hops: &[usize], take: &mut dyn FnMut(&Range<usize>, usize, &Matrix)) {
        let Some(&last) = hops.last() else { return };
        let [mut from, mut to] = [(); 2].map(|()| Matrix::default());
        let (width, panel) = (self.source.width(), self.execution.columns());
        for start in (0..width).step_by(panel) {
            let columns = start..width.min(start + panel);
            self.source.fill(columns.clone(), &mut from);
            for hop in 0..=last {
                if hop > 0 {
                    self.operator.apply(&from, &mut to);
                    std::mem::swap(&mut from, &mut to);
                }
                if hops.contains(&hop) {
                    take(&columns, hop, &from);
                }
            }
        }
    }
}

/// The rows of some nodes.
fn gather(x: &Matrix, nodes: &[u32], rows: &mut Matrix) {
    let width = x.cols();
    rows.reshape(nodes.len(), width);
    for_row_blocks(rows.data_mut(), width, width, |first, rows| {
        for (row, &node) in rows.chunks_exact_mut(width.max(1)).zip(&nodes[first..]) {
            row.copy_from_slice(x.row(node as usize));
        }
    });
}
