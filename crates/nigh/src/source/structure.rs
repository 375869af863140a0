//! What the graph around a node looks like, whoever is there: degrees, triangles, walks.

use crate::graph::{Graph, Operator};
use crate::linalg::Matrix;
use rayon::prelude::*;

/// Distances over which degrees and clustering are averaged.
const DISTANCES: usize = 3;

/// Longest walks that are counted.
const LONGEST_WALK: usize = 4;

/// Numbers per node.
pub const STRUCTURE_WIDTH: usize = 3 + 2 * 2 * DISTANCES + (LONGEST_WALK - 1) + 1;

/// Steps of PageRank, of which little is left then.
const PAGE_RANK_STEPS: usize = 30;

/// Per node: `ln(1 + degree)`, `ln(1 + triangles)`, clustering; of degree and clustering, mean and deviation over walks of one to three
/// steps; `ln(1 + walks)` of two to four steps; `ln(N PageRank)`.
pub fn structure_rows(operator: &Operator) -> Matrix {
    let graph = operator.graph();
    let nodes = graph.num_nodes();
    let triangles = triangles(graph);
    let degree: Vec<f32> = (0..nodes).map(|node| graph.degree(node) as f32).collect();
    let clustering = |node: usize| {
        let pairs = f64::from(degree[node]) * (f64::from(degree[node]) - 1.0) / 2.0;
        if pairs > 0.0 { (triangles[node] as f64 / pairs) as f32 } else { 0.0 }
    };
    let mut columns: Vec<Vec<f32>> = vec![
        degree.iter().map(|degree| degree.ln_1p()).collect(),
        triangles.iter().map(|&count| (count as f32).ln_1p()).collect(),
        (0..nodes).map(clustering).collect(),
    ];
    let mean = operator.mean();
    // Means of x and x², of degree and clustering, one step further each time.
    let mut moments = Matrix::from_fn(nodes, 4, |node, column| columns[column / 2 * 2][node].powi(1 + column as i32 % 2));
    for _ in 0..DISTANCES {
        moments = mean.propagate(moments, 1);
        for at in [0, 2] {
            columns.push((0..nodes).map(|node| moments.row(node)[at]).collect());
            let deviation = |row: &[f32]| (row[at + 1] - row[at] * row[at]).max(0.0).sqrt();
            columns.push((0..nodes).map(|node| deviation(moments.row(node))).collect());
        }
    }
    let adjacency = Operator::adjacency(graph.clone());
    let mut walks = adjacency.propagate(Matrix::ones(nodes, 1), 1);
    for _ in 2..=LONGEST_WALK {
        walks = adjacency.propagate(walks, 1);
        columns.push(walks.data().iter().map(|walks| walks.min(f32::MAX).ln_1p()).collect());
    }
    columns.push(page_rank(&mean.transposed()).data().iter().map(|rank| rank.max(1e-12).ln()).collect());
    assert_eq!(columns.len(), STRUCTURE_WIDTH);
    Matrix::from_fn(nodes, STRUCTURE_WIDTH, |node, column| columns[column][node])
}

/// `N` times the PageRank of every node, with restart probability 0.15.
fn page_rank(transition: &Operator) -> Matrix {
    let ones = Matrix::ones(transition.graph().num_nodes(), 1);
    (0..PAGE_RANK_STEPS).fold(ones, |ranks, _| {
        let mut ranks = transition.propagate(ranks, 1);
        ranks.data_mut().iter_mut().for_each(|rank| *rank = 0.15 + 0.85 * *rank);
        ranks
    })
}

/// How many pairs of a node's neighbours are neighbours of each other.
fn triangles(graph: &Graph) -> Vec<u64> {
    let of = |node: usize| {
        let own = graph.neighbours(node);
        let shared: u64 = own.iter().map(|&other| count_shared(own, graph.neighbours(other as usize))).sum();
        shared / 2
    };
    (0..graph.num_nodes()).into_par_iter().map(of).collect()
}

/// How many numbers two ascending lists share, in time that grows with the shorter one.
fn count_shared(a: &[u32], b: &[u32]) -> u64 {
    let (short, mut long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let mut count = 0;
    if short.len() * 16 > long.len() {
        let mut at = 0;
        for &number in short {
            while at < long.len() && long[at] < number {
                at += 1;
            }
            count += u64::from(at < long.len() && long[at] == number);
        }
        return count;
    }
    for number in short {
        let found = long.binary_search(number);
        count += u64::from(found.is_ok());
        long = &long[found.unwrap_or_else(|at| at)..];
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(nodes: usize, edges: &[[u32; 2]]) -> Matrix {
        structure_rows(&Operator::symmetric(Graph::from_edges(nodes, edges).unwrap().0.into()))
    }

    #[test]
    fn a_triangle_with_a_tail() {
        let found = rows(5, &[[0, 1], [1, 2], [0, 2], [2, 3]]);
        let near = |a: f32, b: f32| (a - b).abs() < 1e-5;
        let two = found.row(2);
        assert!(near(two[0], 4f32.ln()) && near(two[1], 2f32.ln()) && near(two[2], 1.0 / 3.0));
        // The neighbours of node 3 have degree 3 on average, without deviation.
        assert!(near(found.row(3)[3], 4f32.ln()) && near(found.row(3)[4], 0.0));
        // Walks of two steps from node 3: to 0, 1 and back.
        assert!(near(found.row(3)[15], 4f32.ln()), "{:?}", found.row(3));
        assert!(found.row(4)[..3].iter().all(|&value| value == 0.0), "a node without edges");
        assert!(found.data().iter().all(|value| value.is_finite()));
    }

    #[test]
    fn shared_neighbours_are_counted_however_long_the_lists() {
        let long: Vec<u32> = (0..1000).map(|number| 3 * number).collect();
        assert_eq!(count_shared(&[0, 4, 9, 2997, 5000], &long), 3);
        assert_eq!(count_shared(&long, &(0..1000).collect::<Vec<_>>()), 334);
        assert_eq!(count_shared(&[], &long), 0);
    }
}
