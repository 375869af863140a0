//! Attention over neighbours that stores nothing per edge: weights of neighbours are computed in the forward pass and again
//! in the gradient, and their dropout is a function of the addresses of the two nodes.
//!
//! The gradient needs no product per edge either. The slope of the leaky ReLU has two values, `s_ij`, so with
//! `z_i = Σ_j α_ij s_ij x_j` beside `y_i` the gradient with respect to `<target, x_i>` is
//! `<g_i, z_i> - <g_i, y_i> Σ_j α_ij s_ij`; for the source, gradients take the place of rows.

use super::dropout::LANES;
use crate::graph::{Graph, Operator};
use crate::linalg::dispatch::simd;
use crate::linalg::logistic::exp_of_negative;
use crate::linalg::{Matrix, add_scaled, column_sums, for_row_blocks, for_two_row_blocks, sum_over_row_blocks};
use crate::seeds::{self, Purpose, Stream};
use crate::tape::{Gradients, Inputs, Operation, Pass};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Slope of the leaky ReLU below zero.
const SLOPE: f32 = 0.2;

/// More heads would need a second position of the random stream per edge.
const MOST_HEADS: usize = 4;

/// Neighbours whose weights are computed together, in whole nodes: short rows leave no lane idle.
const NEIGHBOURS: usize = 512;

/// `inputs = [X, source, target, b]`, with the columns of `X` in `heads` groups of equal width, and one head's part of
/// `source` and `target` (both one row) over each:
///
/// `y_i = Σ_j α_ij x_j + b`, `α_i = softmax_j leaky(<target, x_i> + <source, x_j>)` over the neighbours `j` of `i` and
/// `i` itself, a head at a time. Weights of edges are ignored.
#[derive(Debug)]
pub struct Attention {
    operator: Operator,
    heads: usize,
    rate: f32,
    layer: u64,
    /// The address of each node, if it is not its number.
    addresses: Option<Arc<[u32]>>,
    mask: Option<Stream>,
    /// `<source, x_i>` of every lane, then `<target, x_i>` of every lane; a lane is a head, or nothing.
    fits: Matrix,
    /// Of every lane the largest exponent of a node's neighbours, one by the sum of their exponentials, and
    /// `Σ_j α_ij s_ij`; then `z_i`.
    norms: Matrix,
    /// What the gradient reads of a neighbour: of every lane `<target, x_i>`, the largest exponent, one by the
    /// sum, and `<g_i, y_i - b>`.
    records: Matrix,
    /// Gradients with respect to `fits`.
    slopes: Matrix,
    /// Takes the gradient with respect to `X` if it is not wanted.
    unwanted: Matrix,
    scratch: Vec<f32>,
}

impl Attention {
    /// Over the graph of an operator.
    pub fn new(operator: Operator, heads: usize) -> Attention {
        assert!((1..=MOST_HEADS).contains(&heads), "one to {MOST_HEADS} heads");
        Attention {
            operator,
            heads,
            rate: 0.0,
            layer: 0,
            addresses: None,
            mask: None,
            fits: Matrix::default(),
            norms: Matrix::default(),
            records: Matrix::default(),
            slopes: Matrix::default(),
            unwanted: Matrix::default(),
            scratch: Vec::new(),
        }
    }

    /// Training drops this share of the weights `α_ij`; `name` is part of their address.
    pub fn dropping(self, rate: f32, name: &str) -> Attention {
        Attention { rate, layer: seeds::named(name), ..self }
    }

    /// With the weights of node `i` dropped as those of node `addresses[i]`.
    pub fn by(self, addresses: Arc<[u32]>) -> Attention {
        Attention { addresses: Some(addresses), ..self }
    }

    /// One lane for one head, and otherwise four, so that all heads of a neighbour fit into a register.
    fn lanes(&self) -> usize {
        if self.heads == 1 { 1 } else { MOST_HEADS }
    }

    fn cost_per_row(&self, width: usize) -> usize {
        let graph = self.operator.graph();
        (width + 4 * self.heads) * (1 + 2 * graph.num_edges() / graph.num_nodes().max(1))
    }

    fn edges<'a>(&'a self, width: usize) -> Edges<'a> {
        Edges {
            graph: self.operator.graph(),
            heads: self.heads,
            head_width: width / self.heads,
            fits: &self.fits,
            mask: self.mask,
            rate: self.rate,
            addresses: self.addresses.as_deref(),
        }
    }
}

/// What determines the weight of an edge.
#[derive(Clone, Copy)]
struct Edges<'a> {
    graph: &'a Graph,
    heads: usize,
    head_width: usize,
    fits: &'a Matrix,
    mask: Option<Stream>,
    rate: f32,
    addresses: Option<&'a [u32]>,
}

impl Edges<'_> {
    #[inline(always)]
    fn address(&self, node: usize) -> u32 {
        match self.addresses {
            Some(addresses) => addresses[node],
            None => node as u32,
        }
    }

    #[inline(always)]
    fn columns(&self, head: usize) -> Range<usize> {
        head * self.head_width..(head + 1) * self.head_width
    }
}

/// The weights of the neighbours of some consecutive nodes, each node itself after its neighbours, in `H` lanes.
struct NeighbourBatch<const H: usize> {
    /// Where the neighbours of each node begin, and those of the last one end.
    starts: Vec<usize>,
    neighbours: Vec<u32>,
    /// The address of each node, once per neighbour, and the addresses of the neighbours.
    addresses: [Vec<u32>; 2],
    /// A bit for each lane that is kept.
    kept: Vec<u8>,
    /// Exponents, then exponentials.
    weights: Vec<[f32; H]>,
    /// Slopes of the leaky ReLU.
    slopes: Vec<[f32; H]>,
    /// `weights` as far as they are kept, and scaled; then these times `slopes`.
    kept_weights: [Vec<[f32; H]>; 2],
}

impl<const H: usize> NeighbourBatch<H> {
    fn new() -> NeighbourBatch<H> {
        NeighbourBatch {
            starts: Vec::new(),
            neighbours: Vec::new(),
            addresses: [Vec::new(), Vec::new()],
            kept: Vec::new(),
            weights: Vec::new(),
            slopes: Vec::new(),
            kept_weights: [Vec::new(), Vec::new()],
        }
    }

    /// Lists the neighbours of nodes from `first` on, before `last`, up to a full batch. Returns the node after the last listed.
    #[inline(always)]
    fn list(&mut self, edges: &Edges<'_>, first: usize, last: usize) -> usize {
        self.starts.clear();
        self.neighbours.clear();
        self.starts.push(0);
        let mut node = first;
        while node < last && (node == first || self.neighbours.len() < NEIGHBOURS) {
            self.neighbours.extend_from_slice(edges.graph.neighbours(node));
            self.neighbours.push(node as u32);
            self.starts.push(self.neighbours.len());
            node += 1;
        }
        let padded = self.neighbours.len().next_multiple_of(LANES);
        self.weights.resize(padded, [0.0; H]);
        self.slopes.resize(padded, [0.0; H]);
        self.kept_weights[0].resize(padded, [0.0; H]);
        self.kept_weights[1].resize(padded, [0.0; H]);
        node
    }

    /// Which lanes are kept, from each node to its neighbours, or from its neighbours to it.
    #[inline(always)]
    fn draw(&mut self, edges: &Edges<'_>, stream: Stream, first: usize, towards: bool) {
        let padded = self.weights.len();
        let [own, others] = &mut self.addresses;
        own.resize(padded, 0);
        others.resize(padded, 0);
        self.kept.resize(padded, 0);
        for (at, range) in self.starts.windows(2).enumerate() {
            let address = edges.address(first + at);
            for slot in range[0]..range[1] {
                own[slot] = address;
                others[slot] = edges.address(self.neighbours[slot] as usize);
            }
        }
        let (from, to) = if towards { (others, own) } else { (own, others) };
        // The rate as an integer that words are compared with.
        let threshold = (edges.rate * 16_777_216.0).ceil() as u32;
        let positions = from.as_chunks::<LANES>().0.iter().zip(to.as_chunks::<LANES>().0);
        for ((from, to), kept) in positions.zip(self.kept.as_chunks_mut::<LANES>().0) {
            let words = stream.at_each(from, to, &[0; LANES]);
            let mut bits = [0; LANES];
            for (head, words) in words[..H].iter().enumerate() {
                for lane in 0..LANES {
                    bits[lane] |= u32::from(words[lane] >> 8 >= threshold) << head;
                }
            }
            for lane in 0..LANES {
                kept[lane] = bits[lane] as u8;
            }
        }
    }

    /// Turns exponents into weights, times `scales` if given, and applies dropout.
    #[inline(always)]
    fn weigh(&mut self, edges: &Edges<'_>, scales: Option<&[[f32; H]]>) {
        for exponents in self.weights.as_flattened_mut().as_chunks_mut::<LANES>().0 {
            for exponent in exponents {
                *exponent = exp_of_negative(*exponent);
            }
        }
        if let Some(scales) = scales {
            for (weights, scales) in self.weights.iter_mut().zip(scales) {
                for h in 0..H {
                    weights[h] *= scales[h];
                }
            }
        }
        let [kept_weights, tilted] = &mut self.kept_weights;
        if edges.mask.is_some() {
            let factor = 1.0 / (1.0 - edges.rate);
            let mut factors = [[0.0; H]; 1 << MOST_HEADS];
            for (bits, factors) in factors.iter_mut().enumerate() {
                for (h, kept) in factors.iter_mut().enumerate() {
                    *kept = if bits >> h & 1 == 1 { factor } else { 0.0 };
                }
            }
            for slot in 0..self.weights.len() {
                let factors = &factors[usize::from(self.kept[slot] & 15)];
                for h in 0..H {
                    kept_weights[slot][h] = factors[h] * self.weights[slot][h];
                }
            }
        } else {
            kept_weights.copy_from_slice(&self.weights);
        }
        for (tilted, (kept, slopes)) in tilted.iter_mut().zip(kept_weights.iter().zip(&self.slopes)) {
            for h in 0..H {
                tilted[h] = kept[h] * slopes[h];
            }
        }
    }

    /// Both weighted sums of rows of `x`, over the neighbours in a range of slots. In `x` and the sums every head is as
    /// wide as `padded`.
    #[inline(always)]
    fn sums(&self, slots: Range<usize>, x: &[f32], heads: usize, padded: usize, y: &mut [f32], z: &mut [f32]) {
        let neighbours = &self.neighbours[slots.clone()];
        let weights = [&self.kept_weights[0][slots.clone()], &self.kept_weights[1][slots]];
        let width = heads * padded;
        if heads == H && H == 4 && padded == 8 {
            return sums::<H, 4, 8>(neighbours, weights, 0, x, width, 0, y, z);
        }
        for head in 0..heads {
            let mut at = 0;
            while at < padded {
                let column = head * padded + at;
                at += match padded - at {
                    32.. => {
                        sums::<H, 1, 32>(neighbours, weights, head, x, width, column, y, z);
                        32
                    }
                    16.. => {
                        sums::<H, 1, 16>(neighbours, weights, head, x, width, column, y, z);
                        16
                    }
                    _ => {
                        sums::<H, 1, 8>(neighbours, weights, head, x, width, column, y, z);
                        8
                    }
                };
            }
        }
    }
}

/// `B` columns of `G` heads from `head` on, summed in registers in the order of the neighbours.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn sums<const H: usize, const G: usize, const B: usize>(
    neighbours: &[u32],
    weights: [&[[f32; H]]; 2],
    head: usize,
    x: &[f32],
    width: usize,
    column: usize,
    y: &mut [f32],
    z: &mut [f32],
) {
    let (mut plain, mut tilted) = ([[0.0; B]; G], [[0.0; B]; G]);
    for ((&j, kept), leant) in neighbours.iter().zip(weights[0]).zip(weights[1]) {
        let x = x[j as usize * width + column..][..G * B].as_chunks::<B>().0;
        for g in 0..G {
            for c in 0..B {
                plain[g][c] += kept[head + g] * x[g][c];
                tilted[g][c] += leant[head + g] * x[g][c];
            }
        }
    }
    y[column..][..G * B].copy_from_slice(plain.as_flattened());
    z[column..][..G * B].copy_from_slice(tilted.as_flattened());
}

/// A matrix with the columns of every head padded to whole registers, and their number; borrowed if nothing is padded.
fn padded(x: &Matrix, heads: usize) -> (Cow<'_, [f32]>, usize) {
    let head_width = x.cols() / heads;
    let padded = head_width.next_multiple_of(8);
    if padded == head_width {
        return (Cow::Borrowed(x.data()), padded);
    }
    let mut wide = vec![0.0; x.rows() * heads * padded];
    for_row_blocks(&mut wide, heads * padded, 2 * heads * padded, |first, rows| {
        for (at, row) in rows.chunks_exact_mut(heads * padded).enumerate() {
            for (row, x) in row.chunks_exact_mut(padded).zip(x.row(first + at).chunks_exact(head_width)) {
                row[..head_width].copy_from_slice(x);
            }
        }
    });
    (Cow::Owned(wide), padded)
}

#[inline(always)]
fn leaky(fit: f32) -> f32 {
    if fit > 0.0 { fit } else { SLOPE * fit }
}

#[inline(always)]
fn leaky_slope(fit: f32) -> f32 {
    if fit > 0.0 { 1.0 } else { SLOPE }
}

/// `<a, b>` in eight interleaved partial sums: heads are narrow.
#[inline(always)]
fn narrow_dot(a: &[f32], b: &[f32]) -> f32 {
    let (a_blocks, a_rest) = a.as_chunks::<8>();
    let (b_blocks, b_rest) = b.as_chunks::<8>();
    let mut sums = [0f32; 8];
    for (a, b) in a_blocks.iter().zip(b_blocks) {
        for lane in 0..8 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    for lane in 0..a_rest.len().min(b_rest.len()) {
        sums[lane] += a_rest[lane] * b_rest[lane];
    }
    let [a, b, c, d, e, f, g, h] = sums;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// `H` lanes of a row, from lane `start` on.
#[inline(always)]
fn lanes<const H: usize>(row: &[f32], start: usize) -> &[f32; H] {
    row[start..][..H].try_into().expect("a row of whole lanes")
}

impl Operation for Attention {
    fn forward(&mut self, inputs: Inputs<'_>, output: &mut Matrix, pass: &Pass) {
        let (x, source, target, bias) = (inputs.get(0), inputs.get(1), inputs.get(2), inputs.get(3));
        let ([rows, width], lanes) = (x.shape(), self.lanes());
        assert_eq!(rows, self.operator.graph().num_nodes(), "one row per node");
        self.mask = (pass.training && self.rate > 0.0).then(|| pass.stream(Purpose::Dropout, self.layer));
        let mut fits = std::mem::take(&mut self.fits);
        fits.reshape(rows, 2 * lanes);
        for_row_blocks(fits.data_mut(), 2 * lanes, 2 * width, |first, fits| {
            products(x, source.data(), target.data(), self.heads, first, fits);
        });
        self.fits = fits;
        output.reshape(rows, width);
        let mut norms = std::mem::take(&mut self.norms);
        let norm_width = 3 * lanes + width;
        norms.reshape(rows, norm_width);
        let (edges, cost) = (self.edges(width), self.cost_per_row(width));
        let (x, padded) = padded(x, self.heads);
        for_two_row_blocks(output.data_mut(), width, norms.data_mut(), norm_width, cost, |first, y, norms| {
            attend(edges, &x, padded, bias.data(), first, y, norms);
        });
        self.norms = norms;
    }

    fn backward(&mut self, inputs: Inputs<'_>, output: &Matrix, gradient: &Matrix, wanted: &mut Gradients<'_>) {
        let (x, bias) = (inputs.get(0), inputs.get(3));
        let vectors = [inputs.get(1).data(), inputs.get(2).data()];
        let ([rows, width], heads, lanes) = (x.shape(), self.heads, self.lanes());
        let (mut records, mut slopes) = (std::mem::take(&mut self.records), std::mem::take(&mut self.slopes));
        records.reshape(rows, 4 * lanes);
        slopes.reshape(rows, 2 * lanes);
        let (edges, norms) = (self.edges(width), &self.norms);
        let sizes = (4 * lanes, 2 * lanes);
        for_two_row_blocks(
            records.data_mut(),
            sizes.0,
            slopes.data_mut(),
            sizes.1,
            4 * width,
            |first, records, slopes| {
                describe(edges, norms, gradient, output, bias.data(), first, records, slopes);
            },
        );
        let mut unwanted = std::mem::take(&mut self.unwanted);
        let dx = wanted.get(0).unwrap_or(&mut unwanted);
        dx.reshape(rows, width);
        let (edges, cost) = (self.edges(width), self.cost_per_row(width));
        let (g, padded) = padded(gradient, heads);
        for_two_row_blocks(dx.data_mut(), width, slopes.data_mut(), sizes.1, cost, |first, dx, slopes| {
            attend_back(edges, &records, &g, padded, x, vectors, first, dx, slopes);
        });
        self.unwanted = unwanted;
        for which in 0..2 {
            let Some(dv) = wanted.get(1 + which) else { continue };
            dv.reshape(1, width);
            sum_over_row_blocks(rows, dv.data_mut(), &mut self.scratch, width, |first, count, sum| {
                add_rows(x, &slopes, which * lanes, heads, first, count, sum);
            });
        }
        if let Some(db) = wanted.get(3) {
            column_sums(gradient, None, db.data_mut(), &mut self.scratch);
        }
        (self.records, self.slopes) = (records, slopes);
    }
}

simd! {
    fn products(x: &Matrix, source: &[f32], target: &[f32], heads: usize, first: usize, fits: &mut [f32]) {
        let head_width = x.cols() / heads;
        let lanes = if heads == 1 { 1 } else { MOST_HEADS };
        for (at, fits) in fits.chunks_exact_mut(2 * lanes).enumerate() {
            let x = x.row(first + at);
            fits.fill(0.0);
            for head in 0..heads {
                let columns = head * head_width..(head + 1) * head_width;
                fits[head] = narrow_dot(&x[columns.clone()], &source[columns.clone()]);
                fits[lanes + head] = narrow_dot(&x[columns.clone()], &target[columns]);
            }
        }
    }
}

simd! {
    fn attend(
        edges: Edges<'_>, x: &[f32], padded: usize, bias: &[f32], first: usize, y: &mut [f32], norms: &mut [f32],
    ) {
        if edges.heads == 1 {
            attend_in_lanes::<1>(edges, x, padded, bias, first, y, norms)
        } else {
            attend_in_lanes::<MOST_HEADS>(edges, x, padded, bias, first, y, norms)
        }
    }
}

#[inline(always)]
fn attend_in_lanes<const H: usize>(
    edges: Edges<'_>,
    x: &[f32],
    padded: usize,
    bias: &[f32],
    first: usize,
    y: &mut [f32],
    norms: &mut [f32],
) {
    let (width, norm_width) = (bias.len(), 3 * H + bias.len());
    let last = first + y.len() / width;
    let mut batch = NeighbourBatch::<H>::new();
    let (mut plain, mut tilted) = (vec![0.0; edges.heads * padded], vec![0.0; edges.heads * padded]);
    let mut from = first;
    while from < last {
        let to = batch.list(&edges, from, last);
        if let Some(stream) = edges.mask {
            batch.draw(&edges, stream, from, false);
        }
        for i in from..to {
            let slots = batch.starts[i - from]..batch.starts[i - from + 1];
            let (weights, slopes) = (&mut batch.weights[slots.clone()], &mut batch.slopes[slots.clone()]);
            let mut best = [f32::NEG_INFINITY; H];
            for (weights, &j) in weights.iter_mut().zip(&batch.neighbours[slots]) {
                *weights = *lanes::<H>(edges.fits.row(j as usize), 0);
                for h in 0..H {
                    best[h] = if weights[h] > best[h] { weights[h] } else { best[h] };
                }
            }
            // The leaky ReLU is increasing, so the best source has the largest exponent.
            let target = lanes::<H>(edges.fits.row(i), H);
            let tops = &mut norms[(i - first) * norm_width..][..H];
            for h in 0..H {
                tops[h] = leaky(target[h] + best[h]);
            }
            let tops = *lanes::<H>(tops, 0);
            for (weights, slopes) in weights.iter_mut().zip(slopes) {
                for h in 0..H {
                    let fit = target[h] + weights[h];
                    weights[h] = leaky(fit) - tops[h];
                    slopes[h] = leaky_slope(fit);
                }
            }
        }
        batch.weigh(&edges, None);
        for i in from..to {
            let slots = batch.starts[i - from]..batch.starts[i - from + 1];
            let (mut sum, mut tilted_sum) = ([0.0; H], [0.0; H]);
            for (weights, slopes) in batch.weights[slots.clone()].iter().zip(&batch.slopes[slots.clone()]) {
                for h in 0..H {
                    sum[h] += weights[h];
                    tilted_sum[h] += weights[h] * slopes[h];
                }
            }
            batch.sums(slots, x, edges.heads, padded, &mut plain, &mut tilted);
            let y = &mut y[(i - first) * width..][..width];
            let (norms, z) = norms[(i - first) * norm_width..][..norm_width].split_at_mut(3 * H);
            for h in 0..H {
                norms[H + h] = 1.0 / sum[h];
                norms[2 * H + h] = tilted_sum[h] * norms[H + h];
            }
            for head in 0..edges.heads {
                let scale = norms[H + head];
                for c in 0..edges.head_width {
                    let column = head * edges.head_width + c;
                    y[column] = plain[head * padded + c] * scale + bias[column];
                    z[column] = tilted[head * padded + c] * scale;
                }
            }
        }
        from = to;
    }
}

simd! {
    /// What the gradient reads of each node, and the gradient with respect to `<target, x_i>`.
    fn describe(
        edges: Edges<'_>, norms: &Matrix, gradient: &Matrix, output: &Matrix, bias: &[f32], first: usize,
        records: &mut [f32], slopes: &mut [f32],
    ) {
        let lanes = if edges.heads == 1 { 1 } else { MOST_HEADS };
        let mut y = vec![0.0; bias.len()];
        let rows = records.chunks_exact_mut(4 * lanes).zip(slopes.chunks_exact_mut(2 * lanes));
        for (at, (record, slopes)) in rows.enumerate() {
            let i = first + at;
            let (norms, z) = norms.row(i).split_at(3 * lanes);
            for ((y, out), bias) in y.iter_mut().zip(output.row(i)).zip(bias) {
                *y = out - bias;
            }
            record[..lanes].copy_from_slice(&edges.fits.row(i)[lanes..]);
            record[lanes..3 * lanes].copy_from_slice(&norms[..2 * lanes]);
            record[3 * lanes..].fill(0.0);
            slopes.fill(0.0);
            for head in 0..edges.heads {
                let columns = edges.columns(head);
                let g = &gradient.row(i)[columns.clone()];
                let along = narrow_dot(g, &y[columns.clone()]);
                record[3 * lanes + head] = along;
                slopes[lanes + head] = narrow_dot(g, &z[columns]) - along * norms[2 * lanes + head];
            }
        }
    }
}

simd! {
    /// Every node gathers the gradients of what it sent to its neighbours.
    fn attend_back(
        edges: Edges<'_>, records: &Matrix, gradient: &[f32], padded: usize, x: &Matrix, vectors: [&[f32]; 2],
        first: usize, dx: &mut [f32], slopes: &mut [f32],
    ) {
        if edges.heads == 1 {
            attend_back_in_lanes::<1>(edges, records, gradient, padded, x, vectors, first, dx, slopes)
        } else {
            attend_back_in_lanes::<MOST_HEADS>(edges, records, gradient, padded, x, vectors, first, dx, slopes)
        }
    }
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn attend_back_in_lanes<const H: usize>(
    edges: Edges<'_>,
    records: &Matrix,
    gradient: &[f32],
    padded: usize,
    x: &Matrix,
    vectors: [&[f32]; 2],
    first: usize,
    dx: &mut [f32],
    fit_slopes: &mut [f32],
) {
    let (width, head_width) = (x.cols(), edges.head_width);
    let last = first + dx.len() / width;
    let mut batch = NeighbourBatch::<H>::new();
    let (mut plain, mut tilted) = (vec![0.0; edges.heads * padded], vec![0.0; edges.heads * padded]);
    let (mut scales, mut alongs) = (Vec::new(), Vec::new());
    let mut from = first;
    while from < last {
        let to = batch.list(&edges, from, last);
        if let Some(stream) = edges.mask {
            batch.draw(&edges, stream, from, true);
        }
        scales.resize(batch.weights.len(), [0.0; H]);
        alongs.resize(batch.weights.len(), [0.0; H]);
        for i in from..to {
            let source = lanes::<H>(edges.fits.row(i), 0);
            for slot in batch.starts[i - from]..batch.starts[i - from + 1] {
                let record = records.row(batch.neighbours[slot] as usize);
                let (targets, tops) = (lanes::<H>(record, 0), lanes::<H>(record, H));
                for h in 0..H {
                    let fit = targets[h] + source[h];
                    batch.weights[slot][h] = leaky(fit) - tops[h];
                    batch.slopes[slot][h] = leaky_slope(fit);
                }
                scales[slot] = *lanes::<H>(record, 2 * H);
                alongs[slot] = *lanes::<H>(record, 3 * H);
            }
        }
        batch.weigh(&edges, Some(&scales));
        for i in from..to {
            let slots = batch.starts[i - from]..batch.starts[i - from + 1];
            let mut along = [0.0; H];
            for slot in slots.clone() {
                for h in 0..H {
                    along[h] += batch.weights[slot][h] * batch.slopes[slot][h] * alongs[slot][h];
                }
            }
            batch.sums(slots, gradient, edges.heads, padded, &mut plain, &mut tilted);
            let fit_slopes = &mut fit_slopes[(i - first) * 2 * H..][..2 * H];
            let dx = &mut dx[(i - first) * width..][..width];
            for head in 0..edges.heads {
                let columns = edges.columns(head);
                let (plain, tilted) = (&plain[head * padded..][..head_width], &tilted[head * padded..][..head_width]);
                let to_source = narrow_dot(&x.row(i)[columns.clone()], tilted) - along[head];
                let to_target = fit_slopes[H + head];
                fit_slopes[head] = to_source;
                let (source, target) = (&vectors[0][columns.clone()], &vectors[1][columns.clone()]);
                let dx = &mut dx[columns];
                for c in 0..head_width {
                    dx[c] = plain[c] + to_source * source[c] + to_target * target[c];
                }
            }
        }
        from = to;
    }
}

simd! {
    /// Adds rows of `x`, the columns of each head times the row's number in its lane, from lane `start` on.
    fn add_rows(
        x: &Matrix, scales: &Matrix, start: usize, heads: usize, first: usize, count: usize, sum: &mut [f32],
    ) {
        let head_width = x.cols() / heads;
        for row in first..first + count {
            for head in 0..heads {
                let columns = head * head_width..(head + 1) * head_width;
                add_scaled(&mut sum[columns.clone()], scales.row(row)[start + head], &x.row(row)[columns]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::dispatch::testing::assert_same_bits_at_every_level;
    use crate::tape::{check_gradients, value_and_gradients};

    fn graph() -> Operator {
        let (graph, _) = Graph::from_edges(6, &[[0, 1], [0, 2], [1, 2], [2, 3], [3, 4]]).unwrap();
        Operator::symmetric(graph.into())
    }

    #[test]
    fn gradients_agree_with_finite_differences() {
        // Widths for which no difference steps across the kink of the leaky ReLU.
        for (heads, width) in [(1, 5), (2, 6), (4, 12)] {
            let shapes = [[6, width], [1, width], [1, width], [1, width]];
            check_gradients(&shapes, || Attention::new(graph(), heads));
            let addresses: Arc<[u32]> = [3, 0, 1, 9, 2, 5].into();
            check_gradients(&shapes, || Attention::new(graph(), heads).dropping(0.4, "a").by(addresses.clone()));
        }
    }

    #[test]
    fn weights_of_neighbours_add_up_to_one_and_large_fits_do_not_overflow() {
        // All x_j are equal: the mean is x for any weights. Node 5 has no neighbour but itself.
        let x = Matrix::from_fn(6, 4, |_, c| 30.0 * c as f32);
        let vector = |scale: f32| Matrix::from_fn(1, 4, |_, c| scale * c as f32);
        let inputs = [x.clone(), vector(5.0), vector(-3.0), Matrix::zeros(1, 4)];
        let (y, _) = value_and_gradients(&mut Attention::new(graph(), 2), &inputs);
        assert!(y.data().iter().zip(x.data()).all(|(y, x)| (y - x).abs() < 1e-4 * x.abs().max(1.0)), "{y:?}");
    }

    #[test]
    fn dropout_keeps_the_share_that_it_promises_and_lets_heads_differ() {
        let (graph, _) = Graph::from_edges(300, &(1..300).map(|i| [0, i]).collect::<Vec<_>>()).unwrap();
        let inputs = [Matrix::ones(300, 4), Matrix::zeros(1, 4), Matrix::zeros(1, 4), Matrix::zeros(1, 4)];
        let operator = Operator::symmetric(graph.into());
        let (y, _) = value_and_gradients(&mut Attention::new(operator, 4).dropping(0.6, "a"), &inputs);
        assert!(y.row(0).iter().all(|y| (y - 1.0).abs() < 0.25), "{:?}", y.row(0));
        assert!(y.row(0).windows(2).all(|heads| heads[0] != heads[1]));
    }

    #[test]
    fn the_bits_are_the_same_at_every_level() {
        let (graph, _) = Graph::from_edges(300, &(1..900).map(|i| [i % 300, i * 7 % 300]).collect::<Vec<_>>()).unwrap();
        let operator = Operator::symmetric(graph.into());
        let filled = |rows, cols| Matrix::from_fn(rows, cols, |i, c| ((i * 31 + c * 17) % 101) as f32 * 0.02 - 1.0);
        for (heads, width) in [(1, 5), (2, 36), (4, 32)] {
            let inputs = [filled(300, width), filled(1, width), filled(1, width), filled(1, width)];
            assert_same_bits_at_every_level(|| {
                value_and_gradients(&mut Attention::new(operator.clone(), heads).dropping(0.4, "a"), &inputs)
            });
        }
    }
}
