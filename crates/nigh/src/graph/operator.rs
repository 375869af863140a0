//! The message-passing operator `diag(l) (A + s I) diag(r)`: two vectors, and nothing stored per edge.

use super::Graph;
use super::hop::{HopBuffers, apply_hops, apply_rows};
use crate::linalg::Matrix;
use crate::linalg::half::{Storage, StorageError};
use std::sync::Arc;

/// `diag(left) (A + self_weight I) diag(right)` on one graph. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Operator {
    graph: Arc<Graph>,
    left: Arc<[f32]>,
    right: Arc<[f32]>,
    self_weight: f32,
}

impl Operator {
    /// `Ã = (D+I)^-1/2 (A+I) (D+I)^-1/2`, the operator of the linear instance. With weights, `D` sums them.
    pub fn symmetric(graph: Arc<Graph>) -> Operator {
        let scale = graph.of_rows(symmetric_scale);
        Operator { graph, left: scale.clone(), right: scale, self_weight: 1.0 }
    }

    /// `D^-1 A` on the same graph: the mean over neighbours, zero for a node without any. With weights, their mean.
    pub fn mean(&self) -> Operator {
        let inverse = |degree: f64| if degree > 0.0 { (1.0 / degree) as f32 } else { 0.0 };
        let left = self.graph.of_rows(|num_edges, weights| inverse(sum_of(num_edges, weights)));
        let right = vec![1.0; self.graph.num_nodes()].into();
        Operator { graph: self.graph.clone(), left, right, self_weight: 0.0 }
    }

    /// `A + I` on the same graph: the sum over a node and its neighbours.
    pub fn sum(&self) -> Operator {
        Operator { self_weight: 1.0, ..Operator::adjacency(self.graph.clone()) }
    }

    /// `M = D^-1/2 A D^-1/2`, walks that do not stay; zero for a node without edges. With weights, `D` sums them.
    pub fn walk(graph: Arc<Graph>) -> Operator {
        let scale = |degree: f64| if degree > 0.0 { (1.0 / degree.sqrt()) as f32 } else { 0.0 };
        let scale = graph.of_rows(|num_edges, weights| scale(sum_of(num_edges, weights)));
        Operator { graph, left: scale.clone(), right: scale, self_weight: 0.0 }
    }

    /// `A` itself.
    pub fn adjacency(graph: Arc<Graph>) -> Operator {
        let ones: Arc<[f32]> = vec![1.0; graph.num_nodes()].into();
        Operator { graph, left: ones.clone(), right: ones, self_weight: 0.0 }
    }

    /// The graph of the operator.
    pub fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    /// The operator of the gradient: `l` and `r` change places, because `A` is symmetric.
    pub fn transposed(&self) -> Operator {
        Operator { left: self.right.clone(), right: self.left.clone(), ..self.clone() }
    }

    /// `y = diag(l) (A + s I) diag(r) x`.
    pub fn apply(&self, x: &Matrix, y: &mut Matrix) {
        apply_rows(self, x, &[], y);
    }

    /// `Ã^K X` (Eq. 7). Keeps the shape of `x`.
    ///
    /// ```
    /// use nigh::{Graph, Matrix, Operator};
    /// let (graph, _) = Graph::from_edges(2, &[[0, 1]])?;
    /// let x = Matrix::from_rows(&[[1.0], [0.0]]);
    /// let y = Operator::symmetric(graph.into()).propagate(x, 2);
    /// assert!((y.row(1)[0] - 0.5).abs() < 1e-6);
    /// # Ok::<(), nigh::Error>(())
    /// ```
    pub fn propagate(&self, x: Matrix, hops: usize) -> Matrix {
        let mut spare = Matrix::default();
        (0..hops).fold(x, |x, _| {
            let mut y = std::mem::take(&mut spare);
            self.apply(&x, &mut y);
            spare = x;
            y
        })
    }

    /// `Ã^K X` with a choice of storage for `X` between hops. Halves take two thirds of the time or less where a graph is
    /// too large for the caches. If entries overflow them (they grow 127-fold or are not finite), single precision is used.
    ///
    /// ```
    /// use nigh::{Graph, Matrix, Operator, Storage};
    /// let (graph, _) = Graph::from_edges(2, &[[0, 1]])?;
    /// let x = Matrix::from_rows(&[[1.0], [0.0]]);
    /// let y = Operator::symmetric(graph.into()).propagate_stored(&x, 2, Storage::Half);
    /// assert!((y.row(1)[0] - 0.5).abs() < 1e-3);
    /// # Ok::<(), nigh::Error>(())
    /// ```
    pub fn propagate_stored(&self, x: &Matrix, hops: usize, storage: Storage) -> Matrix {
        let mut y = Matrix::default();
        apply_hops(self, hops, storage, x, &[], &mut y, &mut HopBuffers::default());
        y
    }

    /// The error of `propagate_stored` on this graph, for this `X`.
    pub fn storage_error(&self, x: &Matrix, hops: usize, storage: Storage) -> StorageError {
        let [rounded, exact] = [storage, Storage::Single].map(|storage| self.propagate_stored(x, hops, storage));
        StorageError::between(rounded.data(), exact.data())
    }

    /// Whether it changes nothing, as `Ã` of a graph without edges. Halves would still round.
    pub(crate) fn is_identity(&self) -> bool {
        let are_ones = |scale: &[f32]| scale.iter().all(|&scale| scale == 1.0);
        self.graph.num_edges() == 0 && self.self_weight == 1.0 && are_ones(&self.left) && are_ones(&self.right)
    }

    pub(crate) fn left(&self) -> &[f32] {
        &self.left
    }

    pub(crate) fn right(&self) -> &[f32] {
        &self.right
    }

    pub(crate) fn self_weight(&self) -> f32 {
        self.self_weight
    }
}

/// `(D+I)^-1/2` of a node with so many edges, or of these weights.
pub(crate) fn symmetric_scale(num_edges: usize, weights: Option<&[f32]>) -> f32 {
    (1.0 / (sum_of(num_edges, weights) + 1.0).sqrt()) as f32
}

/// The sum of the weights of a node's edges, or their number.
fn sum_of(num_edges: usize, weights: Option<&[f32]>) -> f64 {
    weights.map_or(num_edges as f64, |weights| weights.iter().map(|&w| f64::from(w)).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::generate;

    #[test]
    fn it_is_the_matrix_of_the_paper() {
        let (graph, _) = Graph::from_edges(4, &[[0, 1], [1, 2]]).unwrap();
        let identity = Matrix::identity(4);
        let a = Operator::symmetric(graph.into()).propagate(identity, 1);
        let d: [f32; 4] = [2.0, 3.0, 2.0, 1.0];
        let linked = |i: usize, j: usize| i == j || matches!((i, j), (0, 1) | (1, 0) | (1, 2) | (2, 1));
        for i in 0..4 {
            for j in 0..4 {
                let expected = if linked(i, j) { 1.0 / (d[i] * d[j]).sqrt() } else { 0.0 };
                assert!((a.row(i)[j] - expected).abs() < 1e-6, "{i},{j}");
            }
        }
    }

    #[test]
    fn the_transposed_operator_is_the_adjoint() {
        let graph = Arc::new(generate::communities(3, 5, 0.1, 1).graph);
        let n = graph.num_nodes();
        // Left and right differ here, as they do for the mean of neighbours.
        let left: Arc<[f32]> = (0..n).map(|i| 0.5 + i as f32 * 0.1).collect();
        let right: Arc<[f32]> = (0..n).map(|i| 1.0 / (1.0 + i as f32)).collect();
        let operator = Operator { graph, left, right, self_weight: 0.3 };
        let x = Matrix::from_fn(n, 3, |i, c| ((i * 7 + c * 3) % 5) as f32 - 2.0);
        let y = Matrix::from_fn(n, 3, |i, c| ((i * 3 + c) % 7) as f32 - 3.0);
        let dot = |a: &Matrix, b: &Matrix| -> f64 {
            a.data().iter().zip(b.data()).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
        };
        let forward = dot(&operator.propagate(x.clone(), 2), &y);
        let backward = dot(&x, &operator.transposed().propagate(y.clone(), 2));
        assert!((forward - backward).abs() < 1e-4 * forward.abs().max(1.0), "{forward} {backward}");
    }
}
