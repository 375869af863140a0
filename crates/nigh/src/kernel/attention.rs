//! Attention over neighbours, with no number kept per edge: weights of neighbours are computed where they are needed,
//! in the forward pass and again in the gradient, and their dropout is a function of the two nodes' addresses.

use super::dispatch::simd;
use super::linear::column_sums;
use super::{Matrix, add_scaled, dot, for_row_blocks, for_two_row_blocks, sum_over_row_blocks};
use crate::graph::{Graph, Operator};
use crate::seeds::{self, Purpose, Stream};
use crate::tape::{Gradients, Inputs, Operation, Pass};
use std::sync::Arc;

/// Slope of the leaky ReLU below zero.
const SLOPE: f32 = 0.2;

/// More heads would need a second position of the random stream per edge.
const MOST_HEADS: usize = 4;

/// `inputs = [X, source, target, b]`, with the columns of `X` in `heads` groups of equal width, and one head's part of
/// `source` and `target` (both one row) over each:
///
/// `y_i = Σ_j α_ij x_j + b`, `α_i = softmax_j leaky(<target, x_i> + <source, x_j>)` over the neighbours `j` of `i` and
/// `i` itself, a head at a time. Weights of edges play no part.
#[derive(Debug)]
pub struct Attention {
    operator: Operator,
    heads: usize,
    rate: f32,
    layer: u64,
    /// The address of each node, if it is not its number.
    addresses: Option<Arc<[u32]>>,
    mask: Option<Stream>,
    /// `<source, x_i>` of every head, then `<target, x_i>` of every head.
    fits: Matrix,
    /// Of every head the largest exponent of a node's neighbours, then of every head the sum of their exponentials.
    norms: Matrix,
    /// `<g_i, y_i - b>` by head.
    along: Matrix,
    /// Gradients with respect to `x_i` (as far as it is summed), `<source, x_i>` and `<target, x_i>`.
    parts: Matrix,
    scratch: Vec<f32>,
}

impl Attention {
    /// Over the graph below an operator.
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
            along: Matrix::default(),
            parts: Matrix::default(),
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

    fn cost_per_row(&self, width: usize) -> usize {
        let graph = self.operator.graph();
        (width + 8 * self.heads) * (1 + 2 * graph.num_edges() / graph.num_nodes().max(1))
    }

    fn edges<'a>(&'a self, x: &'a Matrix) -> Edges<'a> {
        Edges {
            graph: self.operator.graph(),
            x,
            heads: self.heads,
            fits: &self.fits,
            mask: self.mask,
            rate: self.rate,
            addresses: self.addresses.as_deref(),
        }
    }
}

/// What the weight of an edge follows from.
#[derive(Clone, Copy)]
struct Edges<'a> {
    graph: &'a Graph,
    x: &'a Matrix,
    heads: usize,
    fits: &'a Matrix,
    mask: Option<Stream>,
    rate: f32,
    addresses: Option<&'a [u32]>,
}

impl Edges<'_> {
    /// `<target, x_i> + <source, x_j>` of a head.
    #[inline(always)]
    fn fit(&self, i: usize, j: usize, head: usize) -> f32 {
        self.fits.row(i)[self.heads + head] + self.fits.row(j)[head]
    }

    /// By what `α_ij` of each head is multiplied: one, or with dropout zero or `1 / (1 - rate)`.
    #[inline(always)]
    fn kept(&self, i: usize, j: usize) -> [f32; MOST_HEADS] {
        let Some(stream) = self.mask else { return [1.0; MOST_HEADS] };
        let address = |node: usize| self.addresses.map_or(node as u32, |all| all[node]);
        let words = stream.at([address(i), address(j), 0, 0]);
        words.map(|word| if seeds::unit(word) >= self.rate { 1.0 / (1.0 - self.rate) } else { 0.0 })
    }

    /// The neighbours of a node, and itself.
    fn around(&self, i: usize) -> impl Iterator<Item = usize> {
        self.graph.neighbours(i).iter().map(|&j| j as usize).chain([i])
    }
}

/// What the gradient of an edge follows from.
#[derive(Clone, Copy)]
struct Backward<'a> {
    edges: Edges<'a>,
    norms: &'a Matrix,
    along: &'a Matrix,
    gradient: &'a Matrix,
}

impl Backward<'_> {
    /// The gradient with respect to the fit of `j` to `i`, and the weight `α_ij` as far as it is kept.
    // No closure: it would be compiled apart, without the vectors of its caller.
    #[inline(always)]
    fn edge(&self, i: usize, j: usize, head: usize, kept: f32) -> (f32, f32) {
        let (edges, heads) = (self.edges, self.edges.heads);
        let head_width = edges.x.cols() / heads;
        let columns = head * head_width..(head + 1) * head_width;
        let (fit, norms) = (edges.fit(i, j, head), self.norms.row(i));
        let alpha = (leaky(fit) - norms[head]).exp() / norms[heads + head];
        let slope = kept * dot(&self.gradient.row(i)[columns.clone()], &edges.x.row(j)[columns]);
        (alpha * (slope - self.along.row(i)[head]) * leaky_slope(fit), alpha * kept)
    }
}

#[inline(always)]
fn leaky(fit: f32) -> f32 {
    if fit > 0.0 { fit } else { SLOPE * fit }
}

#[inline(always)]
fn leaky_slope(fit: f32) -> f32 {
    if fit > 0.0 { 1.0 } else { SLOPE }
}

impl Operation for Attention {
    fn forward(&mut self, inputs: Inputs<'_>, output: &mut Matrix, pass: &Pass) {
        let (x, source, target, bias) = (inputs.get(0), inputs.get(1), inputs.get(2), inputs.get(3));
        let ([rows, width], heads) = (x.shape(), self.heads);
        assert_eq!(rows, self.operator.graph().num_nodes(), "one row per node");
        self.mask = (pass.training && self.rate > 0.0).then(|| pass.stream(Purpose::Dropout, self.layer));
        let mut fits = std::mem::take(&mut self.fits);
        fits.reshape(rows, 2 * heads);
        for_row_blocks(fits.data_mut(), 2 * heads, 2 * width, |first, fits| {
            products(x, source.data(), target.data(), heads, first, fits);
        });
        self.fits = fits;
        output.reshape(rows, width);
        let mut norms = std::mem::take(&mut self.norms);
        norms.reshape(rows, 2 * heads);
        let (edges, cost) = (self.edges(x), self.cost_per_row(width));
        for_two_row_blocks(output.data_mut(), width, norms.data_mut(), 2 * heads, cost, |first, y, norms| {
            attend(edges, bias.data(), first, y, norms);
        });
        self.norms = norms;
    }

    fn backward(&mut self, inputs: Inputs<'_>, output: &Matrix, gradient: &Matrix, wanted: &mut Gradients<'_>) {
        let (x, bias) = (inputs.get(0), inputs.get(3));
        let vectors = [inputs.get(1).data(), inputs.get(2).data()];
        let ([rows, width], heads) = (x.shape(), self.heads);
        let head_width = width / heads;
        let mut along = std::mem::take(&mut self.along);
        along.reshape(rows, heads);
        for_row_blocks(along.data_mut(), heads, 2 * width, |first, along| {
            products_along(gradient, output, bias.data(), heads, first, along);
        });
        let mut parts = std::mem::take(&mut self.parts);
        let part_width = width + 2 * heads;
        parts.reshape(rows, part_width);
        let (edges, norms, cost) = (self.edges(x), &self.norms, 2 * self.cost_per_row(width));
        for_row_blocks(parts.data_mut(), part_width, cost, |first, parts| {
            attend_back(edges, norms, &along, gradient, first, parts);
        });
        if let Some(dx) = wanted.get(0) {
            dx.reshape(rows, width);
            for_row_blocks(dx.data_mut(), width, 3 * width, |first, dx| {
                for (at, dx) in dx.chunks_exact_mut(width).enumerate() {
                    let (summed, fits) = parts.row(first + at).split_at(width);
                    dx.copy_from_slice(summed);
                    for (which, vector) in vectors.iter().enumerate() {
                        for head in 0..heads {
                            let columns = head * head_width..(head + 1) * head_width;
                            add_scaled(&mut dx[columns.clone()], fits[which * heads + head], &vector[columns]);
                        }
                    }
                }
            });
        }
        for which in 0..2 {
            let Some(dv) = wanted.get(1 + which) else { continue };
            dv.reshape(1, width);
            sum_over_row_blocks(rows, dv.data_mut(), &mut self.scratch, width, |first, count, sum| {
                for row in first..first + count {
                    let fits = &parts.row(row)[width + which * heads..];
                    for (head, &fit) in fits[..heads].iter().enumerate() {
                        let columns = head * head_width..(head + 1) * head_width;
                        add_scaled(&mut sum[columns.clone()], fit, &x.row(row)[columns]);
                    }
                }
            });
        }
        if let Some(db) = wanted.get(3) {
            column_sums(gradient, db.data_mut(), &mut self.scratch);
        }
        (self.along, self.parts) = (along, parts);
    }
}

simd! {
    fn products(x: &Matrix, source: &[f32], target: &[f32], heads: usize, first: usize, fits: &mut [f32]) {
        let head_width = x.cols() / heads;
        for (at, fits) in fits.chunks_exact_mut(2 * heads).enumerate() {
            for head in 0..heads {
                let columns = head * head_width..(head + 1) * head_width;
                let x = &x.row(first + at)[columns.clone()];
                fits[head] = dot(x, &source[columns.clone()]);
                fits[heads + head] = dot(x, &target[columns]);
            }
        }
    }
}

simd! {
    fn products_along(
        gradient: &Matrix, output: &Matrix, bias: &[f32], heads: usize, first: usize, along: &mut [f32],
    ) {
        let head_width = bias.len() / heads;
        for (at, along) in along.chunks_exact_mut(heads).enumerate() {
            for (head, along) in along.iter_mut().enumerate() {
                let columns = head * head_width..(head + 1) * head_width;
                let g = &gradient.row(first + at)[columns.clone()];
                let y = output.row(first + at)[columns.clone()].iter().zip(&bias[columns]);
                *along = g.iter().zip(y).map(|(g, (y, b))| g * (y - b)).sum();
            }
        }
    }
}

simd! {
    fn attend(edges: Edges<'_>, bias: &[f32], first: usize, y: &mut [f32], norms: &mut [f32]) {
        let (heads, width) = (edges.heads, bias.len());
        let head_width = width / heads;
        for (at, (y, norms)) in y.chunks_exact_mut(width).zip(norms.chunks_exact_mut(2 * heads)).enumerate() {
            let i = first + at;
            let (tops, sums) = norms.split_at_mut(heads);
            for head in 0..heads {
                // The leaky ReLU rises everywhere, so the best source has the largest exponent.
                let best = edges.around(i).map(|j| edges.fits.row(j)[head]).fold(f32::NEG_INFINITY, f32::max);
                tops[head] = leaky(edges.fits.row(i)[heads + head] + best);
                sums[head] = 0.0;
            }
            y.fill(0.0);
            for j in edges.around(i) {
                let kept = edges.kept(i, j);
                for head in 0..heads {
                    let weight = (leaky(edges.fit(i, j, head)) - tops[head]).exp();
                    sums[head] += weight;
                    let columns = head * head_width..(head + 1) * head_width;
                    add_scaled(&mut y[columns.clone()], kept[head] * weight, &edges.x.row(j)[columns]);
                }
            }
            for (head, &sum) in sums.iter().enumerate() {
                let columns = head * head_width..(head + 1) * head_width;
                let scale = 1.0 / sum;
                y[columns.clone()].iter_mut().zip(&bias[columns]).for_each(|(y, b)| *y = *y * scale + b);
            }
        }
    }
}

simd! {
    /// Every node gathers what it sent to its neighbours, and what their fits did to its own weights.
    fn attend_back(
        edges: Edges<'_>, norms: &Matrix, along: &Matrix, gradient: &Matrix, first: usize, parts: &mut [f32],
    ) {
        let (heads, width) = (edges.heads, edges.x.cols());
        let head_width = width / heads;
        let back = Backward { edges, norms, along, gradient };
        for (at, parts) in parts.chunks_exact_mut(width + 2 * heads).enumerate() {
            let i = first + at;
            parts.fill(0.0);
            let (dx, fits) = parts.split_at_mut(width);
            for j in edges.around(i) {
                let (sent, received) = (edges.kept(j, i), edges.kept(i, j));
                for head in 0..heads {
                    let columns = head * head_width..(head + 1) * head_width;
                    let (slope, weight) = back.edge(j, i, head, sent[head]);
                    fits[head] += slope;
                    add_scaled(&mut dx[columns.clone()], weight, &gradient.row(j)[columns]);
                    fits[heads + head] += back.edge(i, j, head, received[head]).0;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        // All x_j alike: whatever the weights, the mean is x. Node 5 has itself alone.
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
}
