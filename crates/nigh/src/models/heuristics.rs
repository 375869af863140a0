//! Scores that are counted in the graph, with nothing to learn: the baselines of every link predictor.

use super::branches::heuristic;
use super::catalog::{CatalogModel, Role};
use crate::graph::{Graph, Operator};
use crate::linalg::Matrix;
use crate::names::named;
use crate::threads;
use std::sync::Arc;

named! {
    /// How a pair is scored from the visible graph alone. `N(i)` are the neighbours of `i`, `d_i` their number; weights of
    /// edges count for `katz` only.
    pub enum Heuristic, "heuristic" {
        /// `|N(i) ∩ N(j)|`.
        CommonNeighbors = "common-neighbors",
        /// `Σ 1 / log d_k` over common neighbours `k` (Adamic and Adar).
        AdamicAdar = "adamic-adar",
        /// `Σ 1 / d_k` over common neighbours `k` (Zhou et al.).
        ResourceAllocation = "resource-allocation",
        /// `d_i d_j`: nodes with many neighbours find more (Barabási and Albert).
        PreferentialAttachment = "preferential-attachment",
        /// `Σ_l β^l (A^l)_ij` over walks of length 1 to 5, `β = 0.005` (Katz).
        Katz = "katz",
    }
}

pub(super) const MODELS: &[CatalogModel] = &[
    CatalogModel::new("common-neighbors", "untrained: how many neighbours two nodes share", |_| {
        heuristic(Heuristic::CommonNeighbors)
    })
    .with_roles(&[Role::Compared]),
    CatalogModel::new("adamic-adar", "untrained: shared neighbours, rare ones count more", |_| {
        heuristic(Heuristic::AdamicAdar)
    })
    .with_roles(&[Role::Compared]),
    CatalogModel::new("resource-allocation", "untrained: shared neighbours, each shared among its own", |_| {
        heuristic(Heuristic::ResourceAllocation)
    })
    .with_roles(&[Role::Compared]),
    CatalogModel::new("preferential-attachment", "untrained: the product of both degrees", |_| {
        heuristic(Heuristic::PreferentialAttachment)
    }),
    CatalogModel::new("katz", "untrained: walks between two nodes, short ones count more", |_| {
        heuristic(Heuristic::Katz)
    })
    .with_roles(&[Role::Compared]),
];

/// The factor of each step of a walk.
const BETA: f32 = 0.005;

/// Sources whose walks are followed together.
const SOURCES_AT_A_TIME: usize = 16;

impl Heuristic {
    /// Heuristics that links are compared with, the cheapest first.
    pub(crate) const BASELINES: [Heuristic; 4] =
        [Heuristic::PreferentialAttachment, Heuristic::CommonNeighbors, Heuristic::ResourceAllocation, Heuristic::Katz];

    /// Operations over so many pairs, of which some are listed, with so many different first nodes; counted before any is done.
    pub(crate) fn cost(
        self,
        graph: &Graph,
        listed: [&[[u32; 2]]; 2],
        num_scored: u64,
        num_sources: impl FnOnce() -> usize,
    ) -> f64 {
        match self {
            Heuristic::PreferentialAttachment => num_scored as f64,
            Heuristic::Katz => Heuristic::LONGEST_WALK as f64 * num_sources() as f64 * 2.0 * graph.num_edges() as f64,
            Heuristic::CommonNeighbors | Heuristic::AdamicAdar | Heuristic::ResourceAllocation => {
                let steps = |&[a, b]: &[u32; 2]| {
                    let [a, b] = [a, b].map(|node| graph.degree(node as usize) as f64);
                    a.min(b) * (1.0 + a.max(b).max(1.0).log2())
                };
                let num_listed = listed.iter().map(|pairs| pairs.len()).sum::<usize>() as f64;
                let listed = listed.into_iter().flat_map(|pairs| pairs.iter().map(steps));
                let mean_degree = 2.0 * graph.num_edges() as f64 / graph.num_nodes().max(1) as f64;
                let others = num_scored as f64 - num_listed;
                listed.sum::<f64>() + others * mean_degree * (1.0 + mean_degree.max(1.0).log2())
            }
        }
    }

    /// The longest walk of `katz`, so that the sum is finite on every graph.
    pub(crate) const LONGEST_WALK: usize = 5;

    /// The score of every pair, in order.
    ///
    /// ```
    /// use nigh::{Graph, models::Heuristic};
    /// let (square, _) = Graph::from_edges(4, &[[0, 1], [1, 2], [2, 3], [3, 0]])?;
    /// assert_eq!(Heuristic::CommonNeighbors.scores(&square.into(), &[[0, 2], [0, 1]]), [2.0, 0.0]);
    /// # Ok::<(), nigh::Error>(())
    /// ```
    pub fn scores(self, graph: &Arc<Graph>, pairs: &[[u32; 2]]) -> Vec<f32> {
        self.scores_with(graph, pairs, &mut |_, _| ())
    }

    /// As `scores`; `progress` is called with the number of steps done and their total, where there are many.
    pub(crate) fn scores_with(
        self,
        graph: &Arc<Graph>,
        pairs: &[[u32; 2]],
        progress: &mut dyn FnMut(usize, usize),
    ) -> Vec<f32> {
        match self {
            Heuristic::Katz => katz(graph, pairs, progress),
            Heuristic::PreferentialAttachment => {
                pairs.iter().map(|pair| pair.map(|node| graph.degree(node as usize) as f32).iter().product()).collect()
            }
            _ => graph.ask_each(pairs, |graph, [a, b]| {
                let mut sum = 0.0;
                for_common(graph, a, b, |node| sum += self.weight_of_common(graph.degree(node as usize)));
                sum
            }),
        }
    }

    /// How much a shared neighbour of this degree counts.
    fn weight_of_common(self, degree: usize) -> f32 {
        // A node between two others has two neighbours; only between a node and itself there may be one.
        let degree = degree.max(2) as f32;
        match self {
            Heuristic::AdamicAdar => 1.0 / degree.ln(),
            Heuristic::ResourceAllocation => 1.0 / degree,
            _ => 1.0,
        }
    }
}

/// Of each pair, the number of neighbours that both share, and their weights by Adamic and Adar, and by resource allocation.
pub(super) fn shared(graph: &Graph, pairs: &[[u32; 2]]) -> Vec<[f32; 3]> {
    let kinds = [Heuristic::CommonNeighbors, Heuristic::AdamicAdar, Heuristic::ResourceAllocation];
    graph.ask_each(pairs, |graph, [a, b]| {
        let mut sums = [0.0; 3];
        for_common(graph, a, b, |node| {
            let degree = graph.degree(node as usize);
            sums.iter_mut().zip(kinds).for_each(|(sum, kind)| *sum += kind.weight_of_common(degree));
        });
        sums
    })
}

/// Calls `take` for the neighbours that two nodes share, in ascending order; a node shares all of them with itself.
fn for_common(graph: &Graph, a: u32, b: u32, take: impl FnMut(u32)) {
    let (a, b) = (graph.lookup().neighbours(a as usize), graph.lookup().neighbours(b as usize));
    let (few, many) = if a.len() <= b.len() { (&*a, &*b) } else { (&*b, &*a) };
    // Both lists ascend: what lies before a match can't match again.
    let common = few.iter().copied().scan(many, |rest, node| {
        let at = rest.partition_point(|&other| other < node);
        *rest = &rest[at..];
        Some((rest.first() == Some(&node)).then_some(node))
    });
    common.flatten().for_each(take);
}

/// Walks are followed from one end of each pair, a few ends at a time: `x_l = β A x_(l-1)`. From nodes with the same
/// neighbours, as the leaves of a star, they are the same and followed once.
fn katz(graph: &Arc<Graph>, pairs: &[[u32; 2]], progress: &mut dyn FnMut(usize, usize)) -> Vec<f32> {
    let mut by_source: Vec<usize> = (0..pairs.len()).collect();
    by_source.sort_by_key(|&pair| pairs[pair][0]);
    let mut runs: Vec<&[usize]> = by_source.chunk_by(|&a, &b| pairs[a][0] == pairs[b][0]).collect();
    let row = |run: &[usize]| {
        let source = pairs[run[0]][0] as usize;
        (graph.neighbours(source), graph.weights(source))
    };
    runs.sort_by(|a, b| row(a).partial_cmp(&row(b)).expect("weights are numbers"));
    let mut twins: Vec<&[&[usize]]> = runs.chunk_by(|a, b| row(a) == row(b)).collect();
    twins.sort_by_key(|runs| pairs[runs[0][0]][0]);
    let adjacency = Operator::adjacency(graph.clone());
    let mut scores = vec![0.0; pairs.len()];
    let steps = twins.chunks(SOURCES_AT_A_TIME);
    let num_steps = steps.len();
    for (step, twins) in steps.enumerate() {
        threads::check();
        progress(step, num_steps);
        let mut x = Matrix::zeros(graph.num_nodes(), twins.len());
        for (column, runs) in twins.iter().enumerate() {
            x.row_mut(pairs[runs[0][0]][0] as usize)[column] = 1.0;
        }
        for _ in 0..Heuristic::LONGEST_WALK {
            x = adjacency.propagate(x, 1);
            x.data_mut().iter_mut().for_each(|walks| *walks *= BETA);
            for (column, runs) in twins.iter().enumerate() {
                let asked = runs.iter().copied().flatten();
                asked.for_each(|&pair| scores[pair] += x.row(pairs[pair][1] as usize)[column]);
            }
        }
    }
    scores
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::generate;

    #[test]
    fn katz_follows_the_walks_of_all_leaves_at_once() {
        // One by one they would take hours: 200,000 sources and as many edges.
        let leaves = 200_000;
        let edges: Vec<[u32; 2]> = (1..=leaves).map(|leaf| [0, leaf]).collect();
        let star = Arc::new(Graph::from_edges(leaves as usize + 1, &edges).unwrap().0);
        let pairs: Vec<[u32; 2]> = (1..leaves).map(|leaf| [leaf, leaf + 1]).chain([[0, 1]]).collect();
        let scores = Heuristic::Katz.scores(&star, &pairs);
        // Sums over all leaves in f32 are this exact.
        let (beta, n) = (f64::from(BETA), f64::from(leaves));
        // Between two leaves there are as many walks of length 4 as there are leaves to return from.
        let expected = beta.powi(2) + beta.powi(4) * n;
        assert!(scores[..pairs.len() - 1].iter().all(|score| (f64::from(*score) / expected - 1.0).abs() < 0.01));
        let hub = beta + beta.powi(3) * n + beta.powi(5) * n * n;
        assert!((f64::from(scores[pairs.len() - 1]) / hub - 1.0).abs() < 0.01);
    }

    #[test]
    fn katz_of_a_pair_does_not_depend_on_the_other_pairs() {
        let edges = [[0, 1], [0, 2], [0, 3], [1, 4], [2, 4], [3, 5]];
        // 1 and 2 have the same neighbours, with the same weights in one of the graphs only.
        for weights in [[1.0; 6], [0.5, 0.5, 2.0, 3.0, 1.5, 1.0]] {
            let graph = Arc::new(Graph::from_weighted_edges(6, &edges, &weights).unwrap().0);
            let pairs: Vec<[u32; 2]> = (0..6).flat_map(|i| (0..6).map(move |j| [i, j])).collect();
            let together = Heuristic::Katz.scores(&graph, &pairs);
            let one_by_one: Vec<f32> = pairs.iter().flat_map(|&pair| Heuristic::Katz.scores(&graph, &[pair])).collect();
            assert_eq!(together, one_by_one);
        }
    }

    #[test]
    fn scores_are_entries_of_products_of_the_adjacency_matrix() {
        let graph = Arc::new(generate::communities(4, 6, 0.2, 3).graph);
        let n = graph.num_nodes();
        let a = |i: usize, j: usize| f64::from(graph.has_edge(i as u32, j as u32));
        let product = |x: &[Vec<f64>]| -> Vec<Vec<f64>> {
            (0..n).map(|i| (0..n).map(|j| (0..n).map(|k| a(i, k) * x[k][j]).sum()).collect()).collect()
        };
        let through = |worth: &dyn Fn(f64) -> f64, i: usize, j: usize| -> f64 {
            (0..n).filter(|&k| a(i, k) * a(k, j) > 0.0).map(|k| worth(graph.degree(k).max(2) as f64)).sum()
        };
        let pairs: Vec<[u32; 2]> = (0..n as u32).flat_map(|i| (0..n as u32).map(move |j| [i, j])).collect();
        let mut power: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| f64::from(i == j)).collect()).collect();
        let mut walks = vec![vec![0.0; n]; n];
        for length in 1..=Heuristic::LONGEST_WALK {
            power = product(&power);
            let worth = f64::from(BETA).powi(length as i32);
            (0..n).for_each(|i| (0..n).for_each(|j| walks[i][j] += worth * power[i][j]));
        }
        for &heuristic in Heuristic::ALL {
            let scores = heuristic.scores(&graph, &pairs);
            for (&[i, j], score) in pairs.iter().zip(scores) {
                let (i, j) = (i as usize, j as usize);
                let expected = match heuristic {
                    Heuristic::CommonNeighbors => through(&|_| 1.0, i, j),
                    Heuristic::AdamicAdar => through(&|degree| 1.0 / degree.ln(), i, j),
                    Heuristic::ResourceAllocation => through(&|degree| 1.0 / degree, i, j),
                    Heuristic::PreferentialAttachment => (graph.degree(i) * graph.degree(j)) as f64,
                    Heuristic::Katz => walks[i][j],
                };
                let near = (f64::from(score) - expected).abs() < 1e-5 * expected.max(0.01);
                assert!(near, "{heuristic} of {i}, {j}: {score}, expected {expected}");
            }
        }
    }
}
