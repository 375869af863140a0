//! `Ã^K X` in panels of columns, for graphs whose representations do not fit into memory.

use super::progress::DoneEntries;
use super::{GatheredRows, PanelFile, PanelProgress, PanelSource};
use crate::error::{Error, Result};
use crate::graph::{HopOf, Operator, PanelEntry, Rows, hop_rows, stop, whole_vectors};
use crate::linalg::Matrix;
use crate::linalg::aligned::AlignedVec;
use crate::linalg::half::{Half, Storage};
use nigh_formats::atomic::PartialFile;
use nigh_formats::npy;
use nigh_formats::sections::bytes_of;
use rayon::prelude::*;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// `Ã^K X`, to be computed panel by panel.
#[derive(Debug, Clone)]
pub struct Propagation {
    /// `Ã`.
    pub operator: Operator,
    /// `K`.
    pub hops: usize,
    /// How rows are stored between hops.
    pub storage: Storage,
    /// `X`.
    pub source: PanelSource,
    /// The number by which each node is known, if it is not its own.
    pub addresses: Option<Arc<[u32]>>,
}

/// How a propagation keeps to its memory.
#[derive(Debug, Clone)]
pub struct PanelPlan {
    /// Columns of a panel.
    pub width: usize,
    /// Whether the edges of a graph file are read from it in every hop, and not into memory before the first.
    pub reads_edges: bool,
    /// The folder of the anonymous temporary file to which panels are spilled.
    pub folder: PathBuf,
    /// Who is told how much is done.
    pub progress: PanelProgress,
}

/// Rows that are started, merged and handed on at a time: some megabytes.
pub(crate) fn rows_at_a_time(cols: usize) -> usize {
    ((4 << 20) / cols.max(1)).clamp(1 << 8, 1 << 16)
}

impl Propagation {
    /// The number of columns.
    pub fn cols(&self) -> usize {
        self.source.cols()
    }

    fn num_nodes(&self) -> usize {
        self.operator.graph().num_nodes()
    }

    /// Hands over all rows of `Ã^K X` in order, some at a time: the first of them, and a matrix.
    pub fn for_each_rows(&self, plan: &PanelPlan, take: &mut dyn FnMut(usize, &Matrix) -> Result<()>) -> Result<()> {
        match self.scale() {
            Some(scale) if self.panels::<Half>(plan, scale, take)? => Ok(()),
            _ => self.panels::<f32>(plan, 1.0, take).map(|_| ()),
        }
    }

    /// Writes some columns of `Ã^K X` as a NumPy array, which appears when it is complete. Returns whether half precision, if it
    /// was asked for, had room for all entries; if not, nothing was written, and all columns have to be computed in single precision.
    ///
    /// ```
    /// use nigh::propagation::{PanelSource, Propagation};
    /// use nigh::{Graph, Operator, Purpose, Seeds, Signal, Storage};
    ///
    /// let (graph, _) = Graph::from_edges(3, &[[0, 1], [1, 2]])?;
    /// let stream = Seeds::new(1).stream(Purpose::Signal, &[0]);
    /// let source = PanelSource::Signal { signal: Signal::Gaussian, stream, dim: 32, factor: 1.0 };
    /// let operator = Operator::symmetric(graph.into());
    /// let propagation = Propagation { operator, hops: 2, storage: Storage::Single, source, addresses: None };
    /// let path = std::env::temp_dir().join(format!("nigh-panel-{}.npy", std::process::id()));
    /// assert!(propagation.write_columns(16..32, &path)?);
    /// # std::fs::remove_file(path).unwrap();
    /// # Ok::<(), nigh::Error>(())
    /// ```
    pub fn write_columns(&self, columns: Range<usize>, path: &Path) -> Result<bool> {
        let scale = self.scale();
        let mut file = PartialFile::create(path).map_err(Error::io(path))?;
        let mut out = BufWriter::with_capacity(1 << 20, file.file());
        npy::write_header::<f32>(&mut out, &[self.num_nodes(), columns.len()]).map_err(Error::io(path))?;
        let mut take = |_: usize, rows: &Matrix| out.write_all(bytes_of(rows.data())).map_err(Error::io(path));
        let fits = self.columns(columns, scale, &mut take)?;
        out.flush().map_err(Error::io(path))?;
        drop(out);
        if fits {
            file.complete().map_err(Error::io(path))?;
        }
        Ok(fits)
    }

    /// Hands over all rows of some columns, with the scale of halves if they are asked for. Returns whether these had room for all
    /// entries; if not, no row was handed over.
    pub(crate) fn columns(
        &self,
        columns: Range<usize>,
        scale: Option<f32>,
        take: &mut dyn FnMut(usize, &Matrix) -> Result<()>,
    ) -> Result<bool> {
        let nobody = PanelProgress::default();
        let done = nobody.begin(0);
        match (self.storage, scale) {
            (Storage::Half, None) if self.hops > 0 => Ok(false),
            (Storage::Half, Some(scale)) => {
                self.panel::<Half>(columns, scale, true, &done, &mut Default::default(), take)
            }
            _ => self.panel::<f32>(columns, 1.0, true, &done, &mut Default::default(), take),
        }
    }

    /// The scale of halves, one for all panels: that of the whole matrix. None for single precision.
    fn scale(&self) -> Option<f32> {
        if self.storage == Storage::Single || self.hops == 0 {
            return None;
        }
        self.source.scale(self.addresses.as_deref(), 0..self.num_nodes())
    }

    /// `X[rows, columns]`.
    fn fill(&self, rows: Range<usize>, columns: Range<usize>, block: &mut Matrix) {
        self.source.fill(self.addresses.as_deref(), rows, columns, block);
    }

    /// The rows of these nodes alone, which ascend in each of some lists.
    pub(crate) fn rows_of<const L: usize>(&self, plan: &PanelPlan, nodes: [&[u32]; L]) -> Result<[Matrix; L]> {
        let mut gathered = GatheredRows::new(nodes, self.cols());
        self.for_each_rows(plan, &mut |first, rows| {
            gathered.take(first, rows);
            Ok(())
        })?;
        Ok(gathered.rows)
    }

    /// Some columns in single precision, a panel after the other: hands over the columns of the panel and all of its rows in order,
    /// some at a time. `buffers` serve the next call as well.
    pub(crate) fn each_panel(
        &self,
        plan: &PanelPlan,
        columns: Range<usize>,
        buffers: &mut [AlignedVec<f32>; 2],
        mut take: impl FnMut(Range<usize>, usize, &Matrix),
    ) {
        let done = plan.progress.begin(0);
        for first in columns.clone().step_by(plan.width.max(1)) {
            let panel = first..(first + plan.width).min(columns.end);
            let mut taken = |first: usize, rows: &Matrix| {
                take(panel.clone(), first, rows);
                Ok(())
            };
            let ended = self.panel::<f32>(panel.clone(), 1.0, plan.reads_edges, &done, buffers, &mut taken);
            // Taking rows does not fail; reading the edges may.
            ended.unwrap_or_else(|error| stop(error));
        }
    }

    /// Some columns of the rows of these nodes alone, which ascend, as [`Propagation::each_panel`] computes them.
    pub(crate) fn columns_of_rows(
        &self,
        plan: &PanelPlan,
        columns: Range<usize>,
        nodes: &[u32],
        buffers: &mut [AlignedVec<f32>; 2],
    ) -> Matrix {
        let mut found = Matrix::zeros(nodes.len(), columns.len());
        self.each_panel(plan, columns.clone(), buffers, |panel, first, rows| {
            let start = nodes.partition_point(|&node| (node as usize) < first);
            let here = nodes[start..].iter().take_while(|&&node| (node as usize) < first + rows.rows());
            for (place, &node) in (start..).zip(here) {
                let places = panel.start - columns.start..panel.end - columns.start;
                found.row_mut(place)[places].copy_from_slice(rows.row(node as usize - first));
            }
        });
        found
    }

    /// All rows of `Ã^K X` in an anonymous temporary file, from which any of them can be read.
    pub(crate) fn in_file(&self, plan: &PanelPlan) -> Result<PanelFile> {
        let mut kept = PanelFile::create(&plan.folder, self.num_nodes(), self.cols())?;
        if let Some(scale) = self.scale() {
            if self.write_panels::<Half>(plan, scale, &self.done_entries(plan, false), &mut kept)? {
                return Ok(kept);
            }
            kept = PanelFile::create(&plan.folder, self.num_nodes(), self.cols())?;
        }
        self.write_panels::<f32>(plan, 1.0, &self.done_entries(plan, false), &mut kept)?;
        Ok(kept)
    }

    /// Nothing yet of all hops and, if panels are merged, of that.
    fn done_entries<'a>(&self, plan: &'a PanelPlan, merges: bool) -> DoneEntries<'a> {
        let total = (self.hops + usize::from(merges)) as u64 * self.num_nodes() as u64 * self.cols() as u64;
        plan.progress.begin(total)
    }

    /// All panels. Returns whether `S` had room for all entries; if not, no row was handed over.
    fn panels<S: PanelEntry>(
        &self,
        plan: &PanelPlan,
        scale: f32,
        take: &mut dyn FnMut(usize, &Matrix) -> Result<()>,
    ) -> Result<bool> {
        if plan.width >= self.cols() {
            let done = self.done_entries(plan, false);
            return self.panel::<S>(0..self.cols(), scale, plan.reads_edges, &done, &mut Default::default(), take);
        }
        let mut waiting = PanelFile::create(&plan.folder, self.num_nodes(), self.cols())?;
        let done = self.done_entries(plan, true);
        if !self.write_panels::<S>(plan, scale, &done, &mut waiting)? {
            return Ok(false);
        }
        let mut rows = Matrix::default();
        let at_a_time = rows_at_a_time(self.cols());
        for first in (0..self.num_nodes()).step_by(at_a_time) {
            waiting.read(first..(first + at_a_time).min(self.num_nodes()), &mut rows)?;
            take(first, &rows)?;
            done.add(rows.rows(), rows.cols());
        }
        Ok(true)
    }

    /// All panels to a file, one after the other. Returns whether `S` had room for all entries.
    fn write_panels<S: PanelEntry>(
        &self,
        plan: &PanelPlan,
        scale: f32,
        done: &DoneEntries<'_>,
        to: &mut PanelFile,
    ) -> Result<bool> {
        let mut buffers = Default::default();
        for first in (0..self.cols()).step_by(plan.width.max(1)) {
            let columns = first..(first + plan.width).min(self.cols());
            to.panel(columns.clone());
            let mut keep = |_: usize, rows: &Matrix| to.write(rows);
            if !self.panel::<S>(columns, scale, plan.reads_edges, done, &mut buffers, &mut keep)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// One panel, whose rows are handed over in order.
    fn panel<S: PanelEntry>(
        &self,
        columns: Range<usize>,
        scale: f32,
        reads_edges: bool,
        done: &DoneEntries<'_>,
        [from, to]: &mut [AlignedVec<S>; 2],
        take: &mut dyn FnMut(usize, &Matrix) -> Result<()>,
    ) -> Result<bool> {
        let (n, width) = (self.num_nodes(), whole_vectors(columns.len()));
        let mut block = Matrix::default();
        let at_a_time = rows_at_a_time(width);
        if self.hops == 0 || columns.is_empty() {
            for first in (0..n).step_by(at_a_time) {
                self.fill(first..(first + at_a_time).min(n), columns.clone(), &mut block);
                take(first, &block)?;
            }
            return Ok(true);
        }
        from.reshape(n * width);
        let scales_rows = S::scales_rows(&self.operator);
        for first in (0..n).step_by(at_a_time) {
            let rows = first..(first + at_a_time).min(n);
            self.fill(rows.clone(), columns.clone(), &mut block);
            let right = &self.operator.right()[rows.clone()];
            let places = from[rows.start * width..rows.end * width].par_chunks_mut(width << 10);
            let values = block.data().par_chunks(columns.len() << 10).zip(right.par_chunks(1 << 10));
            places.zip(values).for_each(|(places, (values, right))| {
                for (row, place) in places.chunks_exact_mut(width).enumerate() {
                    let values = &values[row * columns.len()..][..columns.len()];
                    S::start(values, if scales_rows { right[row] } else { 1.0 }, scale, place);
                }
            });
        }
        let graph = self.operator.graph();
        if !reads_edges {
            graph.load()?;
        }
        // So that rows of the result and the edges that they need are some ten megabytes.
        let stretch = ((8 << 20) / width).clamp(1 << 16, 1 << 21);
        let mut overflows = false;
        let each = |work: &mut dyn FnMut(Rows<'_>) -> Result<()>| -> Result<()> {
            graph.each_stretch(stretch, |rows| {
                work(rows)?;
                done.add(rows.range().len(), columns.len());
                Ok(())
            })
        };
        for _ in 1..self.hops {
            to.reshape(n * width);
            each(&mut |rows| {
                let place = &mut to[rows.range().start * width..rows.range().end * width];
                overflows |= hop_rows(&self.operator, rows, from, width, HopOf::Middle, place);
                Ok(())
            })?;
            if overflows {
                return Ok(false);
            }
            std::mem::swap(from, to);
        }
        let mut result = AlignedVec::<f32>::default();
        each(&mut |rows| {
            let last = HopOf::Last { factor: 1.0 / scale };
            block.reshape(rows.range().len(), columns.len());
            if columns.len() == width {
                hop_rows(&self.operator, rows, from, width, last, block.data_mut());
                return take(rows.first, &block);
            }
            result.reshape(rows.range().len() * width);
            hop_rows(&self.operator, rows, from, width, last, &mut result);
            for (to, from) in block.data_mut().chunks_exact_mut(columns.len()).zip(result.chunks_exact(width)) {
                to.copy_from_slice(&from[..columns.len()]);
            }
            take(rows.first, &block)
        })?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::generate::{PowerLaw, power_law};
    use crate::dataset::{Dataset, GraphStore};
    use crate::graph::Graph;
    use crate::linalg::SparseMatrix;
    use crate::seeds::{Purpose, Seeds};
    use crate::source::Signal;
    use std::sync::Mutex;

    fn weighted() -> Graph {
        let graph = power_law(&PowerLaw::new(3_001, 9_000), 3).unwrap().graph;
        let edges: Vec<[u32; 2]> = graph.edges().collect();
        let weights: Vec<f32> = (0..edges.len()).map(|at| 0.25 + (at % 7) as f32).collect();
        Graph::from_weighted_edges(3_001, &edges, &weights).unwrap().0
    }

    fn propagation(graph: Arc<Graph>, dim: usize, hops: usize, storage: Storage) -> Propagation {
        let stream = Seeds::new(1).stream(Purpose::Signal, &[0]);
        let source = PanelSource::Signal { signal: Signal::Gaussian, stream, dim, factor: 0.5 };
        Propagation { operator: Operator::symmetric(graph), hops, storage, source, addresses: None }
    }

    fn whole(propagation: &Propagation) -> Matrix {
        let mut x = Matrix::default();
        propagation.fill(0..propagation.num_nodes(), 0..propagation.cols(), &mut x);
        propagation.operator.propagate_stored(&x, propagation.hops, propagation.storage)
    }

    fn in_panels(propagation: &Propagation, width: usize, reads_edges: bool, folder: &Path) -> Matrix {
        let mut data = Vec::new();
        let plan = PanelPlan { width, reads_edges, folder: folder.to_path_buf(), progress: Default::default() };
        let mut take = |first: usize, rows: &Matrix| {
            assert_eq!(first * propagation.cols(), data.len(), "rows come in order");
            data.extend_from_slice(rows.data());
            Ok(())
        };
        propagation.for_each_rows(&plan, &mut take).unwrap();
        Matrix::from_data(propagation.num_nodes(), propagation.cols(), data)
    }

    #[test]
    fn features_are_propagated_as_they_are_in_memory() {
        let folder = tempfile::tempdir().unwrap();
        let graph: Arc<Graph> = weighted().into();
        let rows: Vec<Vec<(u32, f32)>> = (0..3_001)
            .map(|row| (0..50u32).filter(|column| (row + column) % 7 == 0).map(|column| (column, row as f32)).collect())
            .collect();
        let sparse = Arc::new(SparseMatrix::from_rows(&rows, 50));
        let dense = Matrix::from_fn(3_001, 50, |row, column| match (row + column) % 7 {
            0 => row as f32,
            _ => 0.0,
        });
        let weight = Matrix::from_fn(50, 20, |row, column| ((row * column) % 11) as f32 - 0.3);
        let product = Matrix::from_fn(3_001, 20, |row, column| {
            sparse.row(row).fold(0.0, |sum, (at, value)| sum + value * weight.row(at as usize)[column])
        });
        let operator = Operator::symmetric(graph);
        for (source, x) in [
            (PanelSource::Dense(dense.clone().into()), &dense),
            (PanelSource::Sparse(sparse.clone()), &dense),
            (PanelSource::Product(sparse.clone(), weight.into()), &product),
        ] {
            let expected = operator.propagate_stored(x, 2, Storage::Single);
            let (operator, storage) = (operator.clone(), Storage::Single);
            let propagation = Propagation { operator, hops: 2, storage, source, addresses: None };
            for width in [64, 16, 6] {
                assert_eq!(in_panels(&propagation, width, false, folder.path()), expected);
                let plan =
                    PanelPlan { width, reads_edges: false, folder: folder.path().into(), progress: Default::default() };
                let (mut file, mut rows) = (propagation.in_file(&plan).unwrap(), Matrix::default());
                file.read(7..2_000, &mut rows).unwrap();
                assert_eq!(rows.data(), &expected.data()[7 * x.cols()..2_000 * x.cols()]);
            }
        }
    }

    #[test]
    fn every_plan_has_the_bits_of_one_piece() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.nigh");
        Dataset::from_graph("x", weighted()).store(&path).unwrap();
        let mapped: Arc<Graph> = GraphStore::open(&path).unwrap().graph().clone().into();
        let (plain, _) = Graph::from_edges(3_001, &weighted().edges().collect::<Vec<_>>()).unwrap();
        for graph in [weighted().into(), mapped, plain.into()] {
            for &storage in Storage::ALL {
                for (dim, hops) in [(32, 2), (20, 3), (5, 1), (16, 0)] {
                    let propagation = propagation(graph.clone(), dim, hops, storage);
                    let expected = whole(&propagation);
                    for width in [64, 16, 8, 3] {
                        for reads_edges in [false, true] {
                            let found = in_panels(&propagation, width, reads_edges, folder.path());
                            assert_eq!(found, expected, "{storage} {dim} {hops} {width} {reads_edges}");
                        }
                    }
                }
            }
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn what_is_done_is_told_up_to_all_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let propagation = propagation(weighted().into(), 32, 2, Storage::Single);
        for width in [32, 20] {
            let told = Arc::new(Mutex::new(Vec::new()));
            let kept = told.clone();
            let progress = PanelProgress::new(move |done, total| kept.lock().unwrap().push((done, total)));
            let plan = PanelPlan { width, reads_edges: false, folder: folder.path().into(), progress };
            propagation.for_each_rows(&plan, &mut |_, _| Ok(())).unwrap();
            let told = told.lock().unwrap();
            assert!(told.is_sorted() && told.len() > 1);
            let total = 3_001 * 32 * if width < 32 { 3 } else { 2 };
            assert_eq!(told.last(), Some(&(total, total)));
        }
    }

    #[test]
    fn columns_on_their_own_are_those_of_the_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        for &storage in Storage::ALL {
            let propagation = propagation(weighted().into(), 32, 2, storage);
            let expected = whole(&propagation);
            assert!(propagation.write_columns(8..24, &path).unwrap());
            let found = npy::open(&path).unwrap();
            assert_eq!(found.shape(), [3_001, 16]);
            let columns = (0..3_001).flat_map(|row| expected.row(row)[8..24].to_vec());
            assert_eq!(found.floats().unwrap(), columns.collect::<Vec<_>>());
        }
    }

    #[test]
    fn what_overflows_halves_is_computed_in_single_precision_in_every_panel() {
        let folder = tempfile::tempdir().unwrap();
        // Sums over a hub of 3,000 leaves grow past the range of halves.
        let star: Vec<[u32; 2]> = (1..3_001).map(|leaf| [0, leaf]).collect();
        let graph = Graph::from_edges(3_001, &star).unwrap().0;
        let mut propagation = propagation(graph.clone().into(), 32, 4, Storage::Half);
        propagation.operator = Operator::adjacency(graph.into());
        let expected = whole(&propagation);
        assert_eq!(in_panels(&propagation, 16, false, folder.path()), expected);
        let path = folder.path().join("x.npy");
        assert!(!propagation.write_columns(0..32, &path).unwrap() && !path.exists());
    }

    #[test]
    fn a_constant_feature_is_propagated_as_well() {
        let folder = tempfile::tempdir().unwrap();
        let propagation =
            Propagation { source: PanelSource::Ones, ..propagation(weighted().into(), 1, 2, Storage::Single) };
        let expected = propagation.operator.propagate(Matrix::ones(3_001, 1), 2);
        assert_eq!(in_panels(&propagation, 16, true, folder.path()), expected);
    }

    #[test]
    fn an_overflow_among_the_first_rows_is_not_forgotten_behind_them() {
        let folder = tempfile::tempdir().unwrap();
        // A hub and its leaves, whose sums overflow, and so many nodes without an edge that edges are read in several stretches.
        let star: Vec<[u32; 2]> = (1..3_001).map(|leaf| [0, leaf]).collect();
        let graph = Graph::from_edges(40_000, &star).unwrap().0;
        let mut stretches = 0;
        graph.for_each_stretch(1 << 16, |_| stretches += 1);
        assert!(stretches > 1);
        let mut propagation = propagation(graph.clone().into(), 256, 4, Storage::Half);
        propagation.operator = Operator::adjacency(graph.into());
        let path = folder.path().join("x.npy");
        assert!(!propagation.write_columns(0..256, &path).unwrap() && !path.exists());
    }

    #[test]
    fn rows_in_a_file_are_in_single_precision_where_halves_overflow() {
        let folder = tempfile::tempdir().unwrap();
        let star: Vec<[u32; 2]> = (1..3_001).map(|leaf| [0, leaf]).collect();
        let graph = Graph::from_edges(3_001, &star).unwrap().0;
        let mut propagation = propagation(graph.clone().into(), 32, 4, Storage::Half);
        propagation.operator = Operator::adjacency(graph.into());
        let plan =
            PanelPlan { width: 16, reads_edges: false, folder: folder.path().into(), progress: Default::default() };
        let mut rows = Matrix::default();
        propagation.in_file(&plan).unwrap().read(0..3_001, &mut rows).unwrap();
        assert!(rows == whole(&propagation));
    }

    #[test]
    fn an_entry_without_a_half_leaves_no_columns() {
        let folder = tempfile::tempdir().unwrap();
        let x = Matrix::from_fn(3_001, 16, |row, _| if row == 7 { f32::INFINITY } else { 1.0 });
        let source = PanelSource::Dense(x.into());
        let propagation = Propagation { source, ..propagation(weighted().into(), 16, 1, Storage::Half) };
        let path = folder.path().join("x.npy");
        assert!(!propagation.write_columns(0..16, &path).unwrap() && !path.exists());
    }
}
