//! `Ã^K` for some rows alone: the hops between the nodes that reach them.

use super::hop::scales_rows;
use super::{Graph, HopOf, Operator, OperatorRows, hop_of_rows};
use crate::linalg::Matrix;

/// Some rows of `Ã^K`. With `N_0` the nodes of these rows and `N_k` those at most `k` links away, hop `k` of `Ã^K X` reads the rows of `N_{K-k+1}`
/// and writes those of `N_{K-k}`; gradients go the other way. Nodes are numbered by the first of these sets that they are in, so that each set is
/// a range. Sums have the order of the whole operator, so that their bits are the same.
#[derive(Debug)]
pub(crate) struct NearRows {
    nodes: Vec<u32>,
    /// How many nodes are in `N_0`, `N_1`, ..., `N_K`.
    sizes: Vec<usize>,
    /// `l` and `r`, which are one for `Ã`.
    scale: Vec<f32>,
    /// Whether rows are multiplied by `r` before they are read.
    is_scaled: bool,
    /// The rows of `N_{K-1}`.
    towards: Links,
    /// The rows of `N_K`, with the links that lead to `N_{K-1}`: gradients of all others are zero.
    back: Links,
}

/// Rows of `A` in the numbers of the nodes near by.
#[derive(Debug)]
struct Links {
    offsets: Vec<usize>,
    neighbours: Vec<u32>,
    weights: Option<Vec<f32>>,
}

impl Links {
    /// From these nodes to those with numbers below `end`.
    fn of(graph: &Graph, nodes: &[u32], numbers: &[u32], end: usize) -> Links {
        let (mut offsets, mut neighbours) = (vec![0], Vec::new());
        let mut weights = graph.is_weighted().then(Vec::new);
        for &node in nodes {
            let of_node = graph.weights(node as usize);
            for (at, &other) in graph.neighbours(node as usize).iter().enumerate() {
                let number = numbers[other as usize];
                if (number as usize) < end {
                    neighbours.push(number);
                    weights.iter_mut().for_each(|all| all.extend(of_node.map(|weights| weights[at])));
                }
            }
            offsets.push(neighbours.len());
        }
        Links { offsets, neighbours, weights }
    }
}

impl NearRows {
    /// Whether rows of the operator can be computed alone: those of `Ã`.
    pub fn can_be_of(operator: &Operator) -> bool {
        operator.self_weight() == 1.0 && std::ptr::eq(operator.left(), operator.right())
    }

    /// Rows `rows` of `operator^hops`.
    pub fn new(operator: &Operator, rows: &[u32], hops: usize) -> NearRows {
        const FAR: u32 = u32::MAX;
        let graph = operator.graph();
        let hops = if operator.is_identity() { 0 } else { hops };
        let mut nodes = rows.to_vec();
        let mut numbers = vec![FAR; graph.num_nodes()];
        (0..).zip(rows).for_each(|(number, &node)| numbers[node as usize] = number);
        let (mut sizes, mut before) = (vec![nodes.len()], 0);
        for _ in 0..hops {
            let first = nodes.len();
            for at in before..first {
                for &other in graph.neighbours(nodes[at] as usize) {
                    if numbers[other as usize] == FAR {
                        numbers[other as usize] = 0;
                        nodes.push(other);
                    }
                }
            }
            nodes[first..].sort_unstable();
            (first as u32..).zip(&nodes[first..]).for_each(|(number, &node)| numbers[node as usize] = number);
            sizes.push(nodes.len());
            before = first;
        }
        let inner = if hops == 0 { 0 } else { sizes[hops - 1] };
        NearRows {
            scale: nodes.iter().map(|&node| operator.right()[node as usize]).collect(),
            is_scaled: scales_rows(operator),
            towards: Links::of(graph, &nodes[..inner], &numbers, nodes.len()),
            back: Links::of(graph, &nodes, &numbers, inner),
            nodes,
            sizes,
        }
    }

    /// `N_K`, in the order of the rows that `gather` reads and `spread` writes.
    pub fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    /// `Y = Ã^K X` for the rows of `N_0`, from those of `N_K`, which are overwritten.
    pub fn gather(&self, x: &mut Matrix, spare: &mut Matrix, y: &mut Matrix) {
        let (width, hops) = (x.cols(), self.sizes.len() - 1);
        if hops == 0 {
            return y.copy_from(x);
        }
        self.scale_rows(x.data_mut(), width);
        spare.reshape(self.sizes[hops - 1], width);
        for (left, &rows) in self.sizes[..hops].iter().enumerate().rev() {
            if left == 0 {
                y.reshape(rows, width);
                self.hop(&self.towards, x.data(), width, HopOf::Last { factor: 1.0 }, y.data_mut());
            } else {
                self.hop(&self.towards, x.data(), width, HopOf::Middle, &mut spare.data_mut()[..rows * width]);
                std::mem::swap(x, spare);
            }
        }
    }

    /// `X = (Ã^K)^T G` for the rows of `N_K`, where `G` has the rows of `N_0` and all others are zero.
    pub fn spread(&self, g: &Matrix, x: &mut Matrix, spare: &mut Matrix) {
        let (width, hops) = (g.cols(), self.sizes.len() - 1);
        let most = self.sizes[hops];
        x.reshape(most, width);
        spare.reshape(most, width);
        x.data_mut()[..g.data().len()].copy_from_slice(g.data());
        if hops > 0 {
            self.scale_rows(&mut x.data_mut()[..g.data().len()], width);
        }
        for hop in 1..=hops {
            // Own rows, and those of all links that are there.
            let read = if hop == hops { most } else { self.sizes[(hop + 1).min(hops - 1)] };
            x.data_mut()[self.sizes[hop - 1] * width..read * width].fill(0.0);
            let kind = if hop == hops { HopOf::Last { factor: 1.0 } } else { HopOf::Middle };
            let rows = &mut spare.data_mut()[..self.sizes[hop] * width];
            self.hop(&self.back, &x.data()[..read * width], width, kind, rows);
            std::mem::swap(x, spare);
        }
    }

    fn scale_rows(&self, rows: &mut [f32], width: usize) {
        if self.is_scaled {
            for (row, r) in rows.chunks_exact_mut(width.max(1)).zip(&self.scale) {
                row.iter_mut().for_each(|x| *x *= r);
            }
        }
    }

    fn hop(&self, links: &Links, x: &[f32], width: usize, hop: HopOf, y: &mut [f32]) {
        let rows = OperatorRows {
            first: 0,
            offsets: &links.offsets,
            neighbours: &links.neighbours,
            weights: links.weights.as_deref(),
            scale: &self.scale,
            right: if self.is_scaled { &[] } else { &self.scale },
        };
        hop_of_rows(rows, x, width, hop, y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::generate;
    use crate::graph::{HopBuffers, apply_hops};
    use crate::linalg::Storage;

    fn whole(operator: &Operator, hops: usize, x: &Matrix) -> Matrix {
        let mut y = Matrix::default();
        apply_hops(operator, hops, Storage::Single, x, &[], &mut y, &mut HopBuffers::default());
        y
    }

    #[test]
    fn rows_alone_have_the_bits_of_the_whole_in_both_directions() {
        let graph = generate::communities(4, 30, 0.1, 1).graph;
        let edges: Vec<[u32; 2]> = graph.edges().collect();
        let weights: Vec<f32> = (0..edges.len()).map(|at| 0.3 + (at * 7 % 11) as f32).collect();
        let dense: Vec<[u32; 2]> = (0..70).flat_map(|a| (a + 1..70).map(move |b| [a, b])).collect();
        let of_dense: Vec<f32> = (0..dense.len()).map(|at| 0.3 + (at * 7 % 11) as f32).collect();
        let weighted =
            |n, edges: &[[u32; 2]], weights: &[f32]| Graph::from_weighted_edges(n, edges, weights).unwrap().0;
        let graphs = [
            Graph::from_edges(graph.num_nodes(), &edges).unwrap().0,
            weighted(graph.num_nodes(), &edges, &weights),
            weighted(90, &dense, &of_dense),
            Graph::from_edges(60, &[]).unwrap().0,
        ];
        let rows = [3, 4, 17, 44, 58];
        for graph in graphs {
            let operator = Operator::symmetric(graph.into());
            let n = operator.graph().num_nodes();
            assert!(NearRows::can_be_of(&operator) && !NearRows::can_be_of(&operator.mean()));
            let x = Matrix::from_fn(n, 19, |i, c| ((i * 31 + c * 17) % 97) as f32 * 0.37 - 11.0);
            for hops in 0..4 {
                let near = NearRows::new(&operator, &rows, hops);
                let (mut from, mut spare, mut y) = (x.permute_rows(near.nodes()), Matrix::default(), Matrix::default());
                near.gather(&mut from, &mut spare, &mut y);
                assert_eq!(y, whole(&operator, hops, &x).permute_rows(&rows), "{hops} hops");
                let mut gradient = Matrix::zeros(n, 19);
                rows.iter().for_each(|&row| gradient.row_mut(row as usize).copy_from_slice(x.row(row as usize)));
                let expected = whole(&operator.transposed(), hops, &gradient);
                near.spread(&x.permute_rows(&rows), &mut from, &mut spare);
                for node in 0..n {
                    match near.nodes().iter().position(|&near| near as usize == node) {
                        Some(at) => assert_eq!(from.row(at), expected.row(node), "{hops} hops"),
                        None => assert!(expected.row(node).iter().all(|&g| g == 0.0)),
                    }
                }
            }
        }
    }
}
