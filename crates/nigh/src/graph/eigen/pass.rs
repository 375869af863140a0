//! `Y = a A X + b X + c Y` with the adjacency matrix of a graph.
//!
//! Innermost loops are plain `for`: a closure may be compiled on its own, without the instructions of the kernel around it,
//! which made them five times slower.

use crate::graph::Graph;
use crate::linalg::dispatch::simd;
use crate::linalg::tall::{Block, ROWS};
use crate::threads;
use rayon::prelude::*;

/// `Y = a A X + b X + c Y`. Each row is summed in neighbour order.
pub(super) fn pass(graph: &Graph, x: &Block, factors: [f64; 3], y: &mut Block) {
    let rows = y.data.par_chunks_mut(ROWS / 4 * x.width).enumerate();
    rows.for_each(|(at, rows)| {
        threads::check();
        pass_rows(graph, &x.data, x.width, at * (ROWS / 4), factors, rows)
    });
}

simd! {
    fn pass_rows(graph: &Graph, x: &[f64], width: usize, first: usize, factors: [f64; 3], rows: &mut [f64]) {
        for (at, y) in rows.chunks_exact_mut(width).enumerate() {
            let mut column = 0;
            while width - column >= 24 {
                pass_columns::<24>(graph, x, first + at, column, factors, y);
                column += 24;
            }
            while width - column >= 8 {
                pass_columns::<8>(graph, x, first + at, column, factors, y);
                column += 8;
            }
            (column..width).for_each(|column| pass_columns::<1>(graph, x, first + at, column, factors, y));
        }
    }
}

/// `B` columns of row `i`.
#[inline(always)]
fn pass_columns<const B: usize>(graph: &Graph, x: &[f64], i: usize, column: usize, factors: [f64; 3], y: &mut [f64]) {
    let width = y.len();
    let columns = |j: usize| -> &[f64; B] { x[j * width + column..][..B].try_into().expect("B entries") };
    let mut sum = [0.0; B];
    match graph.weights(i) {
        None => {
            for &j in graph.neighbours(i) {
                let x = columns(j as usize);
                for (sum, x) in sum.iter_mut().zip(x) {
                    *sum += x;
                }
            }
        }
        Some(weights) => {
            for (&j, &weight) in graph.neighbours(i).iter().zip(weights) {
                let (x, weight) = (columns(j as usize), f64::from(weight));
                for (sum, x) in sum.iter_mut().zip(x) {
                    *sum += weight * x;
                }
            }
        }
    }
    let ([a, b, c], own) = (factors, columns(i));
    for (y, (sum, own)) in y[column..][..B].iter_mut().zip(sum.iter().zip(own)) {
        *y = a * sum + b * own + c * *y;
    }
}
