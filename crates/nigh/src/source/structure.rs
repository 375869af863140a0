//! What the graph around a node looks like, whoever is there: degrees, triangles, walks.

use crate::graph::Graph;
use crate::linalg::Matrix;
use crate::threads;
use rayon::prelude::*;

/// Distances over which degrees and clustering are averaged.
const DISTANCES: usize = 3;

/// Longest walks that are counted.
const LONGEST_WALK: usize = 4;

/// Numbers per node.
pub const STRUCTURE_WIDTH: usize = 3 + 2 * 2 * DISTANCES + (LONGEST_WALK - 1) + 1;

/// Steps of PageRank, of which little is left then.
const PAGE_RANK_STEPS: usize = 30;

/// Nodes between two checks for an interruption.
const NODES_PER_CHECK: usize = 256;

/// Per node: `ln(1 + degree)`, `ln(1 + triangles)`, clustering; of degree and clustering, deviation and mean over walks of one to three
/// steps; `ln(1 + walks)` of two to four steps; `ln(N PageRank)`.
pub fn structure_rows(graph: &Graph) -> Matrix {
    let nodes = graph.num_nodes();
    let triangles = triangles(graph);
    let clustering = |node: usize| {
        let degree = graph.degree(node) as f64;
        if degree > 1.0 { triangles[node] as f64 / (degree * (degree - 1.0) / 2.0) } else { 0.0 }
    };
    let degrees: Vec<f64> = (0..nodes).map(|node| (graph.degree(node) as f64).ln_1p()).collect();
    let clustering: Vec<f64> = (0..nodes).map(clustering).collect();
    let logs = triangles.iter().map(|&count| (count as f64).ln_1p()).collect();
    let mut columns = vec![degrees.clone(), logs, clustering.clone()];
    let squares = |values: &[f64]| -> Vec<f64> { values.iter().map(|value| value * value).collect() };
    for values in [degrees, clustering] {
        let (mut mean, mut square) = (values.clone(), squares(&values));
        for _ in 0..DISTANCES {
            (mean, square) = (averages(graph, &mean), averages(graph, &square));
            // In single precision, rounding would pass for a deviation.
            columns
                .push(square.iter().zip(&mean).map(|(square, mean)| (square - mean * mean).max(0.0).sqrt()).collect());
            columns.push(mean.clone());
        }
    }
    let mut walks = sums(graph, &vec![1.0; nodes]);
    for _ in 2..=LONGEST_WALK {
        walks = sums(graph, &walks);
        columns.push(walks.iter().map(|walks| walks.ln_1p()).collect());
    }
    columns.push(page_rank(graph).iter().map(|rank| rank.ln()).collect());
    assert_eq!(columns.len(), STRUCTURE_WIDTH);
    Matrix::from_fn(nodes, STRUCTURE_WIDTH, |node, column| columns[column][node] as f32)
}

/// The sum of what neighbours have, by the weights of their edges.
fn sums(graph: &Graph, values: &[f64]) -> Vec<f64> {
    let sum = |node: usize| -> f64 {
        let of_neighbours = graph.neighbours(node).iter().map(|&other| values[other as usize]);
        match graph.weights(node) {
            Some(weights) => of_neighbours.zip(weights).map(|(value, &weight)| f64::from(weight) * value).sum(),
            None => of_neighbours.sum(),
        }
    };
    threads::check();
    (0..graph.num_nodes()).into_par_iter().map(sum).collect()
}

/// The mean of what neighbours have; zero for a node without any.
fn averages(graph: &Graph, values: &[f64]) -> Vec<f64> {
    let mean = |(node, sum): (usize, f64)| {
        let total = weight(graph, node);
        if total > 0.0 { sum / total } else { 0.0 }
    };
    sums(graph, values).into_iter().enumerate().map(mean).collect()
}

/// Of all edges of a node.
fn weight(graph: &Graph, node: usize) -> f64 {
    match graph.weights(node) {
        Some(weights) => weights.iter().map(|&weight| f64::from(weight)).sum(),
        None => graph.degree(node) as f64,
    }
}

/// `N` times the PageRank of every node, with restart probability 0.15.
fn page_rank(graph: &Graph) -> Vec<f64> {
    let nodes = graph.num_nodes();
    let weights: Vec<f64> = (0..nodes).map(|node| weight(graph, node)).collect();
    (0..PAGE_RANK_STEPS).fold(vec![1.0; nodes], |ranks, _| {
        let shares = ranks.iter().zip(&weights).map(|(rank, weight)| if *weight > 0.0 { rank / weight } else { 0.0 });
        let shares: Vec<f64> = shares.collect();
        sums(graph, &shares).into_iter().map(|sum| 0.15 + 0.85 * sum).collect()
    })
}

/// How many pairs of a node's neighbours are neighbours of each other.
fn triangles(graph: &Graph) -> Vec<u64> {
    let of = |node: usize| {
        if node.is_multiple_of(NODES_PER_CHECK) {
            threads::check();
        }
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
        structure_rows(&Graph::from_edges(nodes, edges).unwrap().0)
    }

    #[test]
    fn a_triangle_with_a_tail() {
        let found = rows(5, &[[0, 1], [1, 2], [0, 2], [2, 3]]);
        let near = |a: f32, b: f32| (a - b).abs() < 1e-5;
        let two = found.row(2);
        assert!(near(two[0], 4f32.ln()) && near(two[1], 2f32.ln()) && near(two[2], 1.0 / 3.0));
        // The neighbours of node 3 have degree 3 on average, without deviation.
        assert!(near(found.row(3)[3], 0.0) && near(found.row(3)[4], 4f32.ln()));
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

    #[test]
    fn page_ranks_solve_their_equation() {
        // A star: centre c = 0.15 + 0.85 · 3 leaf, leaf = 0.15 + 0.85 c / 3.
        let ranks = page_rank(&Graph::from_edges(5, &[[0, 1], [0, 2], [0, 3]]).unwrap().0);
        let centre = (0.15 + 0.85 * 3.0 * 0.15) / (1.0 - 0.85 * 0.85);
        let leaf = 0.15 + 0.85 * centre / 3.0;
        let slack = 4.0 * 0.85f64.powi(PAGE_RANK_STEPS as i32);
        for (rank, expected) in ranks.iter().zip([centre, leaf, leaf, leaf, 0.15]) {
            assert!((rank - expected).abs() < slack, "{ranks:?}");
        }
    }
}
