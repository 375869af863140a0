//! `Y = Ã^K X + b`, hop by hop: the innermost loop of every model.

use super::{EdgeMask, Operator, Rows, STRETCH};
use crate::linalg::aligned::AlignedVec;
use crate::linalg::dispatch::simd;
use crate::linalg::half::{self, Convert, Entry, Half, Storage};
use crate::linalg::{CACHED_BYTES, Matrix, entries, for_column_blocks, for_row_blocks, prefetch};
use crate::threads;
use nigh_formats::sections::Plain;

/// Storage between hops, reused by the next call.
#[derive(Debug, Default)]
pub(crate) struct HopBuffers {
    single: Matrix,
    halves: [AlignedVec<Half>; 2],
    padded: [Matrix; 2],
}

/// Columns of the buffers for rows of this width.
pub(crate) fn buffered_width(width: usize) -> usize {
    let wider = whole_vectors(width);
    if wider == width { width } else { 3 * wider }
}

/// `y = operator^hops x + b`, through buffers; an empty `b` is none.
pub(crate) fn apply_hops(
    operator: &Operator,
    hops: usize,
    storage: Storage,
    x: &Matrix,
    bias: &[f32],
    y: &mut Matrix,
    buffers: &mut HopBuffers,
) {
    if hops == 0 || operator.is_identity() {
        y.copy_from(x);
        return y.data_mut().chunks_exact_mut(bias.len().max(1)).for_each(|row| add_bias(row, bias));
    }
    let wider = whole_vectors(x.cols());
    if wider != x.cols() {
        let [mut from, mut to] = std::mem::take(&mut buffers.padded);
        copy_columns(x, wider, &[], &mut from);
        apply_hops(operator, hops, storage, &from, &[], &mut to, buffers);
        copy_columns(&to, x.cols(), bias, y);
        buffers.padded = [from, to];
        return;
    }
    if storage == Storage::Half && apply_half_hops(operator, hops, x, bias, y, &mut buffers.halves) {
        return;
    }
    let (rows, width) = (x.rows(), x.cols());
    assert_eq!(rows, operator.graph().num_nodes(), "one row per node");
    y.reshape(rows, width);
    buffers.single.reshape(rows, width);
    // The last hop has to end in `y`, so the first one does if their number is odd.
    let (mut from, mut to) = (&mut buffers.single, y);
    if hops.is_multiple_of(2) {
        std::mem::swap(&mut from, &mut to);
    }
    let scales_rows = scales_rows(operator);
    if scales_rows {
        for_row_blocks(from.data_mut(), width, width, |first, block| {
            scale_rows(&x.data()[first * width..], &operator.right()[first..], width, block);
        });
    }
    for hop in 0..hops {
        let is_last = hop + 1 == hops;
        let input = if hop == 0 && !scales_rows { x } else { &*from };
        let bias = if is_last { bias } else { &[] };
        let (is_scaled, scales) = (scales_rows, scales_rows && !is_last);
        Hop { bias, is_scaled, scales, ..Hop::new(operator, input.data(), width) }.run(to.data_mut());
        std::mem::swap(&mut from, &mut to);
    }
}

/// `y = ⋯ Ã_h' Ã_h x + b`, where `Ã_h` has the edges that the mask of hop `h` keeps, for the `hops` in this order.
pub(crate) fn apply_masked_hops(
    operator: &Operator,
    hops: impl ExactSizeIterator<Item = usize>,
    mask: &mut EdgeMask,
    x: &Matrix,
    bias: &[f32],
    y: &mut Matrix,
    buffers: &mut HopBuffers,
) {
    if hops.len() == 0 {
        return apply_hops(operator, 0, Storage::Single, x, bias, y, buffers);
    }
    let wider = whole_vectors(x.cols());
    if wider != x.cols() {
        let [mut from, mut to] = std::mem::take(&mut buffers.padded);
        copy_columns(x, wider, &[], &mut from);
        apply_masked_hops(operator, hops, mask, &from, &[], &mut to, buffers);
        copy_columns(&to, x.cols(), bias, y);
        buffers.padded = [from, to];
        return;
    }
    let (rows, width) = (x.rows(), x.cols());
    assert_eq!(rows, operator.graph().num_nodes(), "one row per node");
    y.reshape(rows, width);
    buffers.single.reshape(rows, width);
    // The last hop has to end in `y`, so the first one does if their number is odd.
    let (mut from, mut to, last) = (&mut buffers.single, y, hops.len() - 1);
    if last % 2 == 1 {
        std::mem::swap(&mut from, &mut to);
    }
    for (at, hop) in hops.enumerate() {
        let input = if at == 0 { x } else { &*from };
        let weights = Some(mask.weights(operator.graph(), hop));
        let bias = if at == last { bias } else { &[] };
        Hop { weights, bias, ..Hop::new(operator, input.data(), width) }.run(to.data_mut());
        std::mem::swap(&mut from, &mut to);
    }
}

/// `y = Σ_k c_k operator^k x` by Horner's rule, `y = c_0 x + Ã (c_1 x + Ã (c_2 x + ...))`: a hop per coefficient but the first,
/// and no power is stored. With a mask, the `Ã` from the left are those of hops 0, 1, ....
pub(crate) fn apply_hop_sum(
    operator: &Operator,
    coefficients: &[f32],
    mut mask: Option<&mut EdgeMask>,
    x: &Matrix,
    y: &mut Matrix,
    buffers: &mut HopBuffers,
) {
    let (rows, width) = (x.rows(), x.cols());
    assert_eq!(rows, operator.graph().num_nodes(), "one row per node");
    let wider = whole_vectors(width);
    if wider != width {
        let [mut from, mut to] = std::mem::take(&mut buffers.padded);
        copy_columns(x, wider, &[], &mut from);
        apply_hop_sum(operator, coefficients, mask, &from, &mut to, buffers);
        copy_columns(&to, width, &[], y);
        buffers.padded = [from, to];
        return;
    }
    let (&last, before) = coefficients.split_last().expect("a coefficient per power, of the zeroth at least");
    y.reshape(rows, width);
    buffers.single.reshape(rows, width);
    // The last hop has to end in `y`.
    let (mut from, mut to) = (&mut buffers.single, y);
    if before.len().is_multiple_of(2) {
        std::mem::swap(&mut from, &mut to);
    }
    let is_scaled = scales_rows(operator) && !before.is_empty();
    for_row_blocks(from.data_mut(), width, width, |first, block| {
        multiply(&x.data()[first * width..][..block.len()], last, block);
        if is_scaled {
            scale_rows_in_place(&operator.right()[first..], width, block);
        }
    });
    for (k, &coefficient) in before.iter().enumerate().rev() {
        let scales = is_scaled && k > 0;
        let (hop, addend) = (Hop::new(operator, from.data(), width), Some((x.data(), coefficient)));
        let weights = mask.as_mut().map_or(hop.weights, |mask| Some(mask.weights(operator.graph(), k)));
        Hop { weights, addend, is_scaled, scales, ..hop }.run(to.data_mut());
        std::mem::swap(&mut from, &mut to);
    }
}

/// The width at which rows are whole vectors. Rows of other widths would be gathered in pieces, with all neighbours read for
/// each, and would not start at cache lines.
pub(crate) fn whole_vectors(width: usize) -> usize {
    match width {
        0 => 0,
        1..=8 => width.next_power_of_two(),
        _ => width.next_multiple_of(16),
    }
}

/// The first columns of `x`, or all of them padded with zeros; then `b` added.
fn copy_columns(x: &Matrix, width: usize, bias: &[f32], y: &mut Matrix) {
    y.reshape(x.rows(), width);
    let kept = width.min(x.cols());
    for_row_blocks(y.data_mut(), width, width, |first, block| {
        for (y, x) in block.chunks_exact_mut(width).zip(x.data()[first * x.cols()..].chunks_exact(x.cols())) {
            y[..kept].copy_from_slice(&x[..kept]);
            y[kept..].fill(0.0);
            add_bias(y, bias);
        }
    });
}

/// From this many edges per node on, rows are multiplied by `diag(r)` once before they are read, not at every edge. The sums
/// are the same to the last bit, if edges have no weights.
const WORTH_A_PASS: usize = 16;

/// Whether rows are multiplied before they are read.
pub(super) fn scales_rows(operator: &Operator) -> bool {
    is_worth_a_pass(operator.graph().num_nodes(), operator.graph().num_edges())
}

fn is_worth_a_pass(num_nodes: usize, num_edges: usize) -> bool {
    num_edges >= WORTH_A_PASS * num_nodes
}

simd! {
    fn scale_rows(x: &[f32], right: &[f32], width: usize, y: &mut [f32]) {
        for ((y, x), r) in y.chunks_exact_mut(width).zip(x.chunks_exact(width)).zip(right) {
            for (y, x) in y.iter_mut().zip(x) {
                *y = r * x;
            }
        }
    }
}

simd! {
    fn scale_rows_in_place(right: &[f32], width: usize, y: &mut [f32]) {
        for (y, r) in y.chunks_exact_mut(width).zip(right) {
            for y in y {
                *y *= r;
            }
        }
    }
}

simd! {
    /// `y = factor x`.
    fn multiply(x: &[f32], factor: f32, y: &mut [f32]) {
        for (y, x) in y.iter_mut().zip(x) {
            *y = factor * x;
        }
    }
}

fn add_bias(row: &mut [f32], bias: &[f32]) {
    row.iter_mut().zip(bias).for_each(|(y, b)| *y += b);
}

/// As `apply_hops`, with every row that is read stored in halves. Entries are scaled by a power of two, which rounds
/// nothing, to where halves are dense. Returns whether all of them stayed in range; if not, `y` is unspecified.
fn apply_half_hops(
    operator: &Operator,
    hops: usize,
    x: &Matrix,
    bias: &[f32],
    y: &mut Matrix,
    [from, to]: &mut [AlignedVec<Half>; 2],
) -> bool {
    assert_eq!(x.rows(), operator.graph().num_nodes(), "one row per node");
    let Some(scale) = half::scale_of(x.data()) else { return false };
    half::narrow(x.data(), operator.right(), scale, from);
    for _ in 1..hops {
        to.reshape(from.len());
        if (Hop { is_scaled: true, scales: true, ..Hop::new(operator, &from[..], x.cols()) }).run(to) {
            return false;
        }
        std::mem::swap(from, to);
    }
    y.reshape(x.rows(), x.cols());
    let last = Hop { factor: 1.0 / scale, bias, is_scaled: true, ..Hop::new(operator, &from[..], x.cols()) };
    last.run(y.data_mut());
    true
}

/// `y = diag(l) (A + s I) diag(r) x + b`, a row at a time: gathered, never scattered. An empty `b` is none. The edges of a graph file that
/// were not loaded are read in stretches.
pub(crate) fn apply_rows(operator: &Operator, x: &Matrix, bias: &[f32], y: &mut Matrix) {
    assert_eq!(x.rows(), operator.graph().num_nodes(), "one row per node");
    let width = x.cols();
    y.reshape(x.rows(), width);
    if operator.graph().held().is_ok() {
        Hop { bias, ..Hop::new(operator, x.data(), width) }.run(y.data_mut());
        return;
    }
    // Edges stay in their file and pass by.
    operator.graph().for_each_stretch(STRETCH, |rows| {
        let (range, Rows { first, offsets, neighbours, weights }) = (rows.range(), rows);
        let (scale, own_right) = (&operator.left()[range.clone()], &operator.right()[range.clone()]);
        let rows = OperatorRows { first, offsets, neighbours, weights, scale, right: operator.right() };
        let hop = Hop { own_right, self_weight: operator.self_weight(), bias, ..Hop::of_rows(rows, x.data(), width) };
        let y = &mut y.data_mut()[range.start * width..range.end * width];
        let _ = !y.is_empty() && hop.divide(first, y);
    });
}

/// Some rows of [`apply_rows`] without a bias, of an operator with `l = r`.
pub(crate) fn apply_some_rows(rows: OperatorRows<'_>, self_weight: f32, x: &[f32], width: usize, y: &mut [f32]) {
    let hop = Hop { self_weight, ..Hop::of_rows(rows, x, width) };
    let _ = !y.is_empty() && hop.divide(rows.first, y);
}

/// Numbers in which panels are kept between hops.
pub(crate) trait PanelEntry: Entry + Plain {
    /// Whether rows are multiplied by `r` before they are read: where it saves time and changes no bit.
    fn scales_rows(operator: &Operator) -> bool {
        let graph = operator.graph();
        Self::scales_rows_of(graph.num_nodes(), graph.num_edges(), graph.is_weighted())
    }

    /// As `scales_rows`, from the counts of the graph.
    fn scales_rows_of(num_nodes: usize, num_edges: usize, weighted: bool) -> bool;

    /// A row as it is read by the first hop: times `r`, and times the scale of halves; zeros behind it.
    fn start(values: &[f32], r: f32, scale: f32, row: &mut [Self]);
}

impl PanelEntry for f32 {
    fn scales_rows_of(num_nodes: usize, num_edges: usize, weighted: bool) -> bool {
        !weighted || is_worth_a_pass(num_nodes, num_edges)
    }

    #[inline]
    fn start(values: &[f32], r: f32, _: f32, row: &mut [f32]) {
        row.iter_mut().zip(values).for_each(|(y, x)| *y = r * x);
        row[values.len()..].fill(0.0);
    }
}

impl PanelEntry for Half {
    fn scales_rows_of(_: usize, _: usize, _: bool) -> bool {
        true
    }

    #[inline]
    fn start(values: &[f32], r: f32, scale: f32, row: &mut [Half]) {
        let factor = r * scale;
        row.iter_mut().zip(values).for_each(|(y, x)| *y = Half::narrow(x * factor));
        row[values.len()..].fill(Half(0));
    }
}

/// Which hop of several.
#[derive(Debug, Clone, Copy)]
pub(crate) enum HopOf {
    /// Its result is read by another.
    Middle,
    /// Its result is what was asked for, times a factor.
    Last { factor: f32 },
}

/// Some rows of one hop, from all rows of `x`. Returns whether an entry is beyond the range of `D`.
pub(crate) fn hop_rows<S: PanelEntry, D: Entry>(
    operator: &Operator,
    rows: Rows<'_>,
    x: &[S],
    width: usize,
    hop: HopOf,
    y: &mut [D],
) -> bool {
    let (range, Rows { first, offsets, neighbours, weights }) = (rows.range(), rows);
    let (scale, own_right) = (&operator.left()[range.clone()], &operator.right()[range]);
    let rows = OperatorRows { first, offsets, neighbours, weights, scale, right: operator.right() };
    let hop = Hop { own_right, self_weight: operator.self_weight(), ..Hop::of_rows(rows, x, width) }
        .of_several(S::scales_rows(operator), hop);
    !y.is_empty() && hop.divide(first, y)
}

/// Some rows of `Ã`, which is all that a hop of these rows needs of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OperatorRows<'a> {
    /// The number of the first of them.
    pub first: usize,
    pub offsets: &'a [usize],
    pub neighbours: &'a [u32],
    pub weights: Option<&'a [f32]>,
    /// `l` and `r` of these rows.
    pub scale: &'a [f32],
    /// `r` of all nodes; empty where rows of `x` were multiplied by it before.
    pub right: &'a [f32],
}

/// These rows of one hop, from all rows of `x`. Returns whether an entry is beyond the range of `D`.
pub(crate) fn hop_of_rows<S: PanelEntry, D: Entry>(
    rows: OperatorRows<'_>,
    x: &[S],
    width: usize,
    hop: HopOf,
    y: &mut [D],
) -> bool {
    let hop = Hop::of_rows(rows, x, width).of_several(rows.right.is_empty(), hop);
    !y.is_empty() && hop.divide(rows.first, y)
}

/// How many edges ahead rows are prefetched, times the bytes of an entry: about the latency of memory.
const AHEAD: usize = 16 * size_of::<f32>();

/// Multiplications of a task. Tasks are split where the edges are halved, so that hubs do not delay one of them. Where
/// exactly changes no sum, because a row is never split.
const TASK: usize = 1 << 16;

/// One hop from rows of `S`.
struct Hop<'a, S> {
    /// The number of the first row of the next four.
    origin: usize,
    offsets: &'a [usize],
    /// `l`, and `r` of the same rows.
    left: &'a [f32],
    own_right: &'a [f32],
    neighbours: &'a [u32],
    /// Of edges: those of the graph, or others in their place.
    weights: Option<&'a [f32]>,
    /// `r` of all nodes.
    right: &'a [f32],
    self_weight: f32,
    x: &'a [S],
    width: usize,
    /// Whether the rows of `x` were multiplied by `r` before.
    is_scaled: bool,
    /// Whether the result is, for the next hop.
    scales: bool,
    /// Multiplies the result.
    factor: f32,
    /// A matrix and its factor, a row of which is added to each row of the result before it is scaled for the next hop.
    addend: Option<(&'a [f32], f32)>,
    /// Is added to each row in the end, unless it is empty.
    bias: &'a [f32],
    ahead: usize,
}

impl<S: Entry> Hop<'_, S> {
    fn new<'a>(operator: &'a Operator, x: &'a [S], width: usize) -> Hop<'a, S> {
        let (offsets, neighbours, weights) = operator.graph().parts();
        let (left, right) = (operator.left(), operator.right());
        let rows = OperatorRows { first: 0, offsets, neighbours, weights, scale: left, right };
        Hop { own_right: right, self_weight: operator.self_weight(), ..Hop::of_rows(rows, x, width) }
    }

    /// Of some rows of `Ã`.
    fn of_rows<'a>(rows: OperatorRows<'a>, x: &'a [S], width: usize) -> Hop<'a, S> {
        // Beyond all edges there is nothing to prefetch.
        let ahead = if size_of_val(x) > CACHED_BYTES { AHEAD / size_of::<S>() } else { usize::MAX >> 1 };
        Hop {
            origin: rows.first,
            offsets: rows.offsets,
            left: rows.scale,
            own_right: rows.scale,
            neighbours: rows.neighbours,
            weights: rows.weights,
            right: rows.right,
            self_weight: 1.0,
            x,
            width,
            is_scaled: false,
            scales: false,
            factor: 1.0,
            addend: None,
            bias: &[],
            ahead,
        }
    }

    /// One of several hops, between which rows are multiplied by `r` if they are scaled.
    fn of_several(self, is_scaled: bool, hop: HopOf) -> Self {
        let (scales, factor) = match hop {
            HopOf::Middle => (is_scaled, 1.0),
            HopOf::Last { factor } => (false, factor),
        };
        Hop { is_scaled, scales, factor, ..self }
    }

    /// Computes all rows; returns whether an entry is beyond the range of `D`.
    fn run<D: Entry>(&self, y: &mut [D]) -> bool {
        !y.is_empty() && self.divide(0, y)
    }

    /// The rows from `first` on, in parallel when the work is worth it.
    fn divide<D: Entry>(&self, first: usize, y: &mut [D]) -> bool {
        let end = first + y.len() / self.width;
        // Reading its own row and writing the result cost a node about as much as two edges.
        let cost = |row: usize| self.offsets[row - self.origin] + 2 * row;
        if end - first == 1 || (cost(end) - cost(first)) * self.width <= TASK {
            threads::check();
            return gather(self, first, y);
        }
        let half = cost(first).midpoint(cost(end));
        let (mut low, mut high) = (first + 1, end - 1);
        while low < high {
            let middle = low.midpoint(high);
            (low, high) = if cost(middle) < half { (middle + 1, high) } else { (low, middle) };
        }
        let (before, after) = y.split_at_mut((low - first) * self.width);
        let (before, after) = rayon::join(|| self.divide(first, before), || self.divide(low, after));
        before | after
    }
}

simd! {
    /// The rows from `first` on; returns whether an entry is beyond the range of `D`.
    fn gather<S: Entry, D: Entry>[convert: Convert](hop: &Hop<'_, S>, first: usize, y: &mut [D]) -> bool {
        let mut overflows = false;
        for (at, y) in y.chunks_exact_mut(hop.width).enumerate() {
            for_column_blocks!(hop.width, column => block(hop, convert, first + at, column, y));
            overflows |= D::overflows(y);
        }
        overflows
    }
}

/// `B` columns of one row, summed in registers in neighbour order.
#[inline(always)]
fn block<const B: usize>(
    hop: &Hop<'_, impl Entry>,
    convert: impl Convert,
    i: usize,
    column: usize,
    y: &mut [impl Entry],
) {
    let (neighbours, right, row) = (hop.neighbours, hop.right, i - hop.origin);
    let mut sum = columns::<B>(hop, convert, i, column);
    let own = hop.self_weight * if hop.is_scaled { 1.0 } else { hop.own_right[row] };
    for value in &mut sum {
        *value *= own;
    }
    let edges = hop.offsets[row]..hop.offsets[row + 1];
    for (e, &j) in edges.clone().zip(&neighbours[edges]) {
        prefetch_row::<B>(hop, neighbours, e + hop.ahead, column);
        let x = columns(hop, convert, j as usize, column);
        match (hop.is_scaled, hop.weights) {
            (true, None) => add::<B>(&mut sum, x),
            (true, Some(weights)) => add_scaled::<B>(&mut sum, weights[e], x),
            (false, None) => add_scaled::<B>(&mut sum, right[j as usize], x),
            (false, Some(weights)) => add_scaled::<B>(&mut sum, weights[e] * right[j as usize], x),
        }
    }
    let l = hop.left[row] * hop.factor;
    for value in &mut sum {
        *value *= l;
    }
    if let Some((addend, factor)) = hop.addend {
        add_scaled(&mut sum, factor, *entries(addend, i * hop.width + column));
    }
    if hop.scales {
        for value in &mut sum {
            *value *= hop.own_right[row];
        }
    }
    if !hop.bias.is_empty() {
        let bias: &[f32; B] = entries(hop.bias, column);
        for c in 0..B {
            sum[c] += bias[c];
        }
    }
    store(y, column, sum, convert);
}

#[inline(always)]
fn store<const B: usize, D: Entry>(y: &mut [D], column: usize, values: [f32; B], convert: impl Convert) {
    y[column..][..B].copy_from_slice(&D::store(values, convert));
}

#[inline(always)]
fn columns<const B: usize>(hop: &Hop<'_, impl Entry>, convert: impl Convert, node: usize, column: usize) -> [f32; B] {
    load(&hop.x[node * hop.width + column..][..B], convert)
}

#[inline(always)]
fn load<const B: usize, S: Entry>(block: &[S], convert: impl Convert) -> [f32; B] {
    S::load(block.try_into().expect("B entries"), convert)
}

#[inline(always)]
fn add<const B: usize>(sum: &mut [f32; B], x: [f32; B]) {
    for c in 0..B {
        sum[c] += x[c];
    }
}

#[inline(always)]
fn add_scaled<const B: usize>(sum: &mut [f32; B], r: f32, x: [f32; B]) {
    for c in 0..B {
        sum[c] += r * x[c];
    }
}

/// Prefetches `B` columns of the neighbour at a later edge, of this row or one after it.
#[inline(always)]
fn prefetch_row<const B: usize>(hop: &Hop<'_, impl Entry>, neighbours: &[u32], edge: usize, column: usize) {
    if let Some(&j) = neighbours.get(edge) {
        prefetch(hop.x, j as usize * hop.width + column, B);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::generate;
    use crate::graph::Graph;
    use crate::linalg::dispatch::testing::assert_same_bits_at_every_level;

    #[test]
    fn every_width_takes_the_same_path_through_every_block() {
        // Column c of a wide product equals the product of column c alone.
        let operator = Operator::symmetric(generate::communities(4, 6, 0.1, 3).graph.into());
        for width in [1, 7, 8, 31, 32, 79] {
            let x = Matrix::from_fn(24, width, |i, c| ((i * 31 + c * 17) % 13) as f32 * 0.1 - 0.6);
            let wide = operator.propagate(x.clone(), 2);
            for c in 0..width {
                let alone = operator.propagate(Matrix::from_fn(24, 1, |i, _| x.row(i)[c]), 2);
                (0..24).for_each(|i| assert_eq!(wide.row(i)[c].to_bits(), alone.row(i)[0].to_bits()));
            }
        }
    }

    /// Weights, hubs, and a last node without a neighbour.
    fn weighted() -> Operator {
        let drawn = generate::power_law(&generate::PowerLaw::new(3_000, 40_000), 5).unwrap().graph;
        let edges: Vec<[u32; 2]> = drawn.edges().collect();
        let weights: Vec<f32> = (0..edges.len()).map(|at| 0.5 + (at % 7) as f32 * 0.25).collect();
        Operator::symmetric(Graph::from_weighted_edges(3_001, &edges, &weights).unwrap().0.into())
    }

    fn filled(rows: usize, cols: usize) -> Matrix {
        Matrix::from_fn(rows, cols, |i, c| ((i * 31 + c * 17) % 1013) as f32 * 0.002 - 1.0)
    }

    #[test]
    fn a_hop_is_the_sum_over_neighbours_with_and_without_prefetching() {
        for operator in [weighted(), Operator::symmetric(weighted().graph().with_edges(&[[0, 1]]).into())] {
            let graph = operator.graph().clone();
            // Larger than the cache, so that rows are prefetched, past the end of the last row as well.
            let x = filled(3_001, 104);
            let y = operator.propagate(x.clone(), 1);
            for i in (0..3_001).step_by(97).chain([3_000]) {
                for c in [0, 63, 64, 95, 96, 103] {
                    let mut sum = operator.self_weight() * operator.right()[i] * x.row(i)[c];
                    for (at, &j) in graph.neighbours(i).iter().enumerate() {
                        let weight = graph.weights(i).map_or(1.0, |weights| weights[at]);
                        sum += weight * operator.right()[j as usize] * x.row(j as usize)[c];
                    }
                    assert_eq!(y.row(i)[c].to_bits(), (operator.left()[i] * sum).to_bits());
                }
            }
        }
    }

    #[test]
    fn nothing_in_gives_nothing_out() {
        let (empty, _) = Graph::from_edges(0, &[]).unwrap();
        let (lone, _) = Graph::from_edges(3, &[]).unwrap();
        for &storage in Storage::ALL {
            let y = Operator::symmetric(empty.clone().into()).propagate_stored(&Matrix::zeros(0, 4), 2, storage);
            assert_eq!(y.shape(), [0, 4]);
            let operator = Operator::symmetric(lone.clone().into());
            assert_eq!(operator.propagate_stored(&Matrix::zeros(3, 0), 2, storage).shape(), [3, 0]);
            assert_eq!(operator.propagate_stored(&Matrix::ones(3, 2), 3, storage), Matrix::ones(3, 2));
        }
    }

    #[test]
    fn halves_between_hops_cost_a_rounding_per_hop() {
        let operator = weighted();
        for (hops, magnitude) in [(1, 1.0), (2, 1e-30), (3, 1e30), (3, 1.0)] {
            let mut x = filled(3_001, 24);
            x.data_mut().iter_mut().for_each(|value| *value *= magnitude);
            let error = operator.storage_error(&x, hops, Storage::Half);
            // A rounding is off by 2^-11 of an entry at most, and hops average it out.
            assert!(error.frobenius < 4e-4 * hops as f64 && error.frobenius > 1e-6, "{error:?}");
            assert!(error.largest < 5e-4 * hops as f64, "{error:?}");
            assert_eq!(operator.storage_error(&x, hops, Storage::Single), Default::default());
        }
    }

    #[test]
    fn what_overflows_halves_is_computed_in_single_precision() {
        // Sums over a hub of 3,000 leaves grow past 65,504 times the largest entry in three hops.
        let star: Vec<[u32; 2]> = (1..3_001).map(|leaf| [0, leaf]).collect();
        let operator = Operator::adjacency(Graph::from_edges(3_001, &star).unwrap().0.into());
        let x = Matrix::ones(3_001, 2);
        assert_eq!(operator.propagate_stored(&x, 4, Storage::Half), operator.propagate(x.clone(), 4));
        let mut x = Matrix::ones(3_001, 2);
        x.row_mut(7)[1] = f32::INFINITY;
        let bits = |y: Matrix| y.data().iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(operator.propagate_stored(&x, 1, Storage::Half)), bits(operator.propagate(x, 1)));
    }

    #[test]
    fn every_storage_has_the_same_bits_on_any_number_of_threads() {
        let operator = weighted();
        let x = filled(3_001, 47);
        for &storage in Storage::ALL {
            let on = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| operator.propagate_stored(&x, 3, storage))
            };
            let alone = on(1);
            assert_eq!(alone, on(2));
            assert_eq!(alone, on(4));
        }
    }

    #[test]
    fn every_storage_has_the_same_bits_at_every_level() {
        for (operator, width) in [(weighted(), 47), (weighted(), 64), (weighted().mean(), 3)] {
            let x = filled(3_001, width);
            for &storage in Storage::ALL {
                assert_same_bits_at_every_level(|| operator.propagate_stored(&x, 3, storage));
            }
        }
    }
}
