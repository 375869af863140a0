//! The edges of a node, reconstructed from those of all others: linear regression with an L2 penalty, in closed form.
//!
//! With `M = D^-1/2 A D^-1/2`, every column of `M` is explained by the other ones,
//!
//! ```text
//! B = argmin |M - M B|² + λ |B|²,  B_jj = 0
//! ```
//!
//! and `(M B)_ij` says how much `i` should be linked to `j`, given its other edges. In terms of walks it sums all odd lengths, those of
//! many steps with alternating signs, so that dominant directions do not outweigh the rest. The solution follows from one
//! inverse, `P = (M² + λ I)^-1`: `B_ij = -P_ij / P_jj` beside the diagonal. In recommendation this is known as EASE (Steck, WWW 2019).

use crate::error::{Error, Result};
use crate::graph::{Graph, Operator};
use crate::linalg::Matrix;
use crate::linalg::inverse::invert_positive_definite;
use crate::names::named;
use crate::threads;
use rayon::prelude::*;
use std::sync::Arc;

named! {
    /// Whether the edges of a node are reconstructed from those of others.
    pub enum Reconstruction, "kind of reconstruction" {
        /// They are not.
        None = "none",
        /// By ridge regression, with the inverse of an `N × N` matrix.
        Ridge = "ridge",
    }
}

/// Nodes of the largest graph that can be asked for: an inverse takes 1.6 GB then, and every view has one.
const MAX_NODES: usize = 20_000;

impl Reconstruction {
    /// Whether a graph of so many nodes can be reconstructed.
    pub(crate) fn check(self, num_nodes: usize) -> Result<()> {
        if self == Reconstruction::None || num_nodes <= MAX_NODES {
            return Ok(());
        }
        let problem =
            format!("the graph has {num_nodes} nodes, and above {MAX_NODES} the inverse is too large; train with none");
        Err(Error::setting("reconstruction", self, problem))
    }
}

/// The regression on the edges of one graph.
#[derive(Debug)]
pub struct Ridge {
    /// `M`.
    operator: Operator,
    /// `P = (M² + λ I)^-1`.
    inverse: Matrix,
    /// For each node, how much of its known edges is reconstructed, on average over them: 1 is everything.
    known: Vec<f32>,
}

impl Ridge {
    /// The penalty `λ` is the mean of `(M²)_ii`, the square of a row: about `1/d̄`, the variance of the eigenvalues that a random
    /// graph of these degrees has.
    pub fn new(graph: Arc<Graph>) -> Ridge {
        let n = graph.num_nodes();
        let operator = Operator::walk(graph);
        let mut inverse = square(&operator);
        let trace: f64 = (0..n).map(|i| f64::from(inverse.row(i)[i])).sum();
        // Without edges M is zero, and so is what is reconstructed.
        let penalty = if trace > 0.0 { trace / n as f64 } else { 1.0 };
        (0..n).for_each(|i| inverse.row_mut(i)[i] += penalty as f32);
        invert_positive_definite(&mut inverse);
        let mut ridge = Ridge { operator, inverse, known: Vec::new() };
        let known = |i: usize| {
            threads::check();
            ridge.known_edges(i)
        };
        ridge.known = (0..n).into_par_iter().map(known).collect();
        ridge
    }

    /// Three numbers for every pair: what is found for it, the mean of `(M B)_ij` and `(M B)_ji`; the same times `sqrt(d_i d_j)`, in
    /// terms of `A`; and that relative to the known edges of both nodes.
    pub fn reconstructed(&self, pairs: &[[u32; 2]]) -> Matrix {
        let of_pair = |&[i, j]: &[u32; 2]| {
            let [i, j] = [i as usize, j as usize];
            let edge = self.edge(i, j);
            let known = (self.known[i] * self.known[j]).max(0.0).sqrt();
            let found = edge * self.roots(i, j);
            [found, edge, if known > 0.0 { edge / known } else { 0.0 }]
        };
        let of_pairs = |pairs: &[[u32; 2]]| -> Vec<[f32; 3]> {
            threads::check();
            pairs.iter().map(of_pair).collect()
        };
        let rows: Vec<[f32; 3]> = pairs.par_chunks(256).flat_map_iter(of_pairs).collect();
        Matrix::from_data(pairs.len(), 3, rows.into_flattened())
    }

    /// `1 / sqrt(d_i d_j)`, and 0 for nodes without edges.
    fn roots(&self, i: usize, j: usize) -> f32 {
        self.operator.left()[i] * self.operator.right()[j]
    }

    /// The mean of `(M B)_ij` and `(M B)_ji`, times `sqrt(d_i d_j)`. `M P` is symmetric, and `(M B)_ij = M_ij - (M P)_ij / P_jj`.
    fn edge(&self, i: usize, j: usize) -> f32 {
        let (p, row) = (&self.inverse, self.inverse.row(j));
        let (mut sum, mut own) = (0.0f64, 0.0);
        for_entries(&self.operator, i, |k, m| {
            sum += f64::from(m) * f64::from(row[k]);
            own = if k == j { f64::from(m) } else { own };
        });
        let found = own - 0.5 * sum * (1.0 / f64::from(p.row(i)[i]) + 1.0 / f64::from(row[j]));
        match self.roots(i, j) {
            0.0 => 0.0,
            roots => (found / f64::from(roots)) as f32,
        }
    }

    fn known_edges(&self, i: usize) -> f32 {
        let neighbours = self.operator.graph().neighbours(i);
        let sum: f64 = neighbours.iter().map(|&j| f64::from(self.edge(i, j as usize))).sum();
        (sum / neighbours.len().max(1) as f64) as f32
    }
}

/// Calls `body(k, M_ik)` for every neighbour `k`.
fn for_entries(operator: &Operator, i: usize, mut body: impl FnMut(usize, f32)) {
    let (graph, left, right) = (operator.graph(), operator.left()[i], operator.right());
    let weights = graph.weights(i);
    for (at, &k) in graph.neighbours(i).iter().enumerate() {
        body(k as usize, left * weights.map_or(1.0, |weights| weights[at]) * right[k as usize]);
    }
}

/// `M²` as a dense matrix.
fn square(operator: &Operator) -> Matrix {
    let n = operator.graph().num_nodes();
    let mut square = Matrix::zeros(n, n);
    square.data_mut().par_chunks_mut(n.max(1)).enumerate().for_each(|(i, row)| {
        threads::check();
        for_entries(operator, i, |k, m| for_entries(operator, k, |j, next| row[j] += m * next));
    });
    square
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::generate;
    use crate::graph::Graph;

    fn dense(operator: &Operator) -> Vec<Vec<f64>> {
        let n = operator.graph().num_nodes();
        let row = |i| {
            let mut row = vec![0.0; n];
            for_entries(operator, i, |k, m| row[k] = f64::from(m));
            row
        };
        (0..n).map(row).collect()
    }

    // Every column alone, by its normal equations without the entry of the diagonal.
    fn regression(m: &[Vec<f64>], penalty: f64, j: usize) -> Vec<f64> {
        let n = m.len();
        let others: Vec<usize> = (0..n).filter(|&k| k != j).collect();
        let gram = |a: usize, b: usize| (0..n).map(|i| m[i][a] * m[i][b]).sum::<f64>();
        let mut system: Vec<Vec<f64>> = others
            .iter()
            .map(|&a| {
                let row = others.iter().map(|&b| gram(a, b) + if a == b { penalty } else { 0.0 });
                row.chain([gram(a, j)]).collect()
            })
            .collect();
        for k in 0..n - 1 {
            let pivot = system[k].clone();
            for (_, row) in system.iter_mut().enumerate().filter(|(i, _)| *i != k) {
                let factor = row[k] / pivot[k];
                row.iter_mut().zip(&pivot).for_each(|(x, p)| *x -= factor * p);
            }
        }
        let solution: Vec<f64> = (0..n - 1).map(|k| system[k][n - 1] / system[k][k]).collect();
        (0..n).map(|i| others.iter().zip(&solution).map(|(&k, b)| m[i][k] * b).sum()).collect()
    }

    #[test]
    fn one_inverse_solves_the_regression_of_every_node() {
        let graph = generate::communities(3, 7, 0.1, 5).graph;
        let n = graph.num_nodes();
        let ridge = Ridge::new(graph.into());
        let m = dense(&ridge.operator);
        let penalty = m.iter().flatten().map(|x| x * x).sum::<f64>() / n as f64;
        let columns: Vec<Vec<f64>> = (0..n).map(|j| regression(&m, penalty, j)).collect();
        let pairs: Vec<[u32; 2]> = (0..n as u32).flat_map(|i| (0..i).map(move |j| [i, j])).collect();
        let found = ridge.reconstructed(&pairs);
        let degree = |i: usize| ridge.operator.graph().degree(i) as f64;
        let pair = |i: usize, j: usize| (columns[j][i] + columns[i][j]) / 2.0;
        let edge = |i: usize, j: usize| pair(i, j) * (degree(i) * degree(j)).sqrt();
        let known = |i: usize| {
            let neighbours = ridge.operator.graph().neighbours(i);
            neighbours.iter().map(|&j| edge(i, j as usize)).sum::<f64>() / neighbours.len() as f64
        };
        for (at, &[i, j]) in pairs.iter().enumerate() {
            let [i, j] = [i as usize, j as usize];
            let expected = [pair(i, j), edge(i, j), edge(i, j) / (known(i) * known(j)).sqrt()];
            for (&found, expected) in found.row(at).iter().zip(expected) {
                assert!((f64::from(found) - expected).abs() < 1e-3, "{i}, {j}: {found}, {expected}");
            }
        }
    }

    #[test]
    fn a_graph_whose_inverse_is_too_large_is_refused() {
        assert!(Reconstruction::Ridge.check(MAX_NODES).is_ok());
        assert!(Reconstruction::None.check(MAX_NODES + 1).is_ok());
        let message = Reconstruction::Ridge.check(MAX_NODES + 1).unwrap_err().to_string();
        assert!(message.contains("20001 nodes") && message.contains("none"), "{message}");
    }

    #[test]
    fn nodes_without_edges_are_linked_to_nothing() {
        let (graph, _) = Graph::from_edges(4, &[[0, 1]]).unwrap();
        assert_eq!(Ridge::new(graph.into()).reconstructed(&[[0, 2], [2, 3]]).data(), [0.0; 6]);
        let (graph, _) = Graph::from_edges(3, &[]).unwrap();
        assert_eq!(Ridge::new(graph.into()).reconstructed(&[[0, 2]]).data(), [0.0; 3]);
    }
}
