//! Hard negatives, as HeaRT chooses them (Li et al., NeurIPS 2023, "Evaluating Graph Neural Networks for Link Prediction:
//! Current Pitfalls and New Benchmarking"): in place of one end of a positive comes each of the nodes that are, for the other
//! end, the most alike by the mean of three ranks: resource allocation, personalised PageRank and cosine of features.
//!
//! All three are computed on the graph that message passing sees. Held-out edges are then left out of the list and change
//! nothing else about it. Equal ranks, and nodes that no score knows, are in a random order that goes by addresses; sums are
//! of whole numbers, so that they do not depend on the order of neighbours.

use crate::dataset::Features;
use crate::graph::{Graph, order_by};
use crate::linalg::dispatch::simd;
use crate::linalg::{SparseMatrix, dot};
use crate::models::View;
use crate::seeds::{Stream, below};
use crate::threads;
use rayon::prelude::*;

/// The mass of a walk that starts at a node: 17 times it fits a word.
const ONE: u64 = 1 << 59;

/// A node passes its mass on while it has at least one in so many for each of its neighbours: HeaRT's `eps` of 5e-5.
const TOLERANCE: u64 = 20_000;

/// A walk goes on with probability 17/20: HeaRT's teleport probability of 0.15.
const GOES_ON: [u64; 2] = [17, 20];

/// The worth of a common neighbour with no other neighbour.
const WORTH: u64 = 1 << 40;

/// Products of features above which they are left out, as HeaRT leaves them out on the graphs of OGB.
const MAX_FEATURE_PRODUCTS: f64 = 4e10;

/// For each of the `ends`, up to `count` nodes that it has no known edge to, the hardest to tell from a neighbour first. `view`
/// is what message passing sees, `known` has all edges.
pub(super) fn hard_negatives(view: &View, known: &Graph, ends: &[u32], count: usize, stream: Stream) -> Vec<Vec<u32>> {
    let graph = view.graph();
    let choice = Choice {
        graph,
        known,
        worth: (0..graph.num_nodes()).map(|node| WORTH / graph.degree(node).max(1) as u64).collect(),
        similarity: Similarity::of(&view.features, ends),
        addresses: &view.addresses,
        by_address: order_by(&view.addresses),
        stream,
    };
    let ranked = |scratch: &mut Scratch, &end: &u32| {
        threads::check();
        choice.hardest(end, count, scratch)
    };
    ends.par_iter().map_init(|| Scratch::new(graph.num_nodes()), ranked).collect()
}

struct Choice<'a> {
    graph: &'a Graph,
    known: &'a Graph,
    /// `1 / d` of each node.
    worth: Vec<u64>,
    similarity: Option<Similarity<'a>>,
    addresses: &'a [u32],
    by_address: Vec<u32>,
    stream: Stream,
}

/// Per node, all zero between two ends.
struct Scratch {
    allocation: Vec<u64>,
    pagerank: Vec<u64>,
    residual: Vec<u64>,
    is_next: Vec<bool>,
    /// What a node is to the end.
    role: Vec<Role>,
    cosine: Vec<f32>,
    /// Nodes with a score from the graph.
    near: Vec<u32>,
    /// Nodes that a walk reached.
    reached: Vec<u32>,
    sorted: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq)]
enum Role {
    Other,
    /// The end itself or a neighbour that is seen.
    Excluded,
    /// With a score from the graph.
    Near,
    /// Listed.
    Listed,
}

impl Scratch {
    fn new(n: usize) -> Scratch {
        Scratch {
            allocation: vec![0; n],
            pagerank: vec![0; n],
            residual: vec![0; n],
            is_next: vec![false; n],
            role: vec![Role::Other; n],
            cosine: vec![0.0; n],
            near: Vec::new(),
            reached: Vec::new(),
            sorted: Vec::new(),
        }
    }
}

impl Choice<'_> {
    fn hardest(&self, end: u32, count: usize, scratch: &mut Scratch) -> Vec<u32> {
        let (graph, n) = (self.graph, self.graph.num_nodes());
        let seen = graph.neighbours(end as usize);
        let count = count.min(n - 1 - self.known.degree(end as usize));
        // So many of the hardest suffice, whichever of them turn out to be held-out edges.
        let wanted = count + self.known.degree(end as usize) - seen.len();
        self.pagerank(end, scratch);
        self.allocation(end, scratch);
        let Scratch { allocation, pagerank, role, cosine, near, sorted, .. } = scratch;
        let excluded = || seen.iter().copied().chain([end]);
        excluded().for_each(|node| role[node as usize] = Role::Excluded);
        near.retain(|&node| role[node as usize] != Role::Excluded);
        near.iter().for_each(|&node| role[node as usize] = Role::Near);
        let scores = |of: &[u64]| Ranks::of(near.iter().map(|&node| of[node as usize]).collect());
        let (by_allocation, by_pagerank) = (scores(allocation), scores(pagerank));
        let by_features = self.similarity.as_ref().map(|similarity| {
            similarity.fill(end, cosine);
            sorted.clear();
            let others = (0..n).filter(|&node| role[node] != Role::Excluded && cosine[node] > 0.0);
            // Numbers above zero are ordered as their bits are.
            sorted.extend(others.map(|node| cosine[node].to_bits()));
            Ranks::of(std::mem::take(sorted))
        });
        let rank_of_features = |node: u32| match &by_features {
            None => 0,
            Some(ranks) => {
                let cosine = cosine[node as usize];
                if cosine > 0.0 { ranks.rank(cosine.to_bits()) } else { ranks.unranked() + usize::from(cosine < 0.0) }
            }
        };
        let mut ranked: Vec<(usize, (u64, u32), u32)> = near
            .iter()
            .map(|&node| {
                let at = node as usize;
                let rank = by_allocation.rank(allocation[at]) + by_pagerank.rank(pagerank[at]) + rank_of_features(node);
                (rank, self.key(end, node), node)
            })
            .collect();
        let mut num_alike = 0;
        if let Some(ranks) = &by_features {
            let unranked = by_allocation.unranked() + by_pagerank.unranked();
            // Those near may be among the most alike, so as many more are looked at.
            let least = ranks.nth_best(wanted + near.len());
            for node in (0..n as u32).filter(|&node| role[node as usize] == Role::Other) {
                let cosine = cosine[node as usize];
                if cosine > 0.0 {
                    num_alike += 1;
                    if cosine.to_bits() >= least {
                        ranked.push((unranked + ranks.rank(cosine.to_bits()), self.key(end, node), node));
                    }
                }
            }
        }
        if ranked.len() > wanted && wanted > 0 {
            ranked.select_nth_unstable(wanted - 1);
            ranked.truncate(wanted);
        }
        ranked.sort_unstable();
        let mut chosen: Vec<u32> = ranked.iter().map(|entry| entry.2).collect();
        if chosen.len() < wanted {
            // All that a score knows are listed.
            chosen.iter().for_each(|&node| role[node as usize] = Role::Listed);
            let num_unknown = n - 1 - seen.len() - near.len() - num_alike;
            self.extend_at_random(end, wanted, num_unknown, role, &mut chosen);
        }
        near.iter().chain(&chosen).for_each(|&node| role[node as usize] = Role::Other);
        excluded().for_each(|node| role[node as usize] = Role::Other);
        near.iter().for_each(|&node| allocation[node as usize] = 0);
        excluded().for_each(|node| allocation[node as usize] = 0);
        scratch.reached.iter().for_each(|&node| {
            (scratch.pagerank[node as usize], scratch.residual[node as usize]) = (0, 0);
        });
        scratch.near.clear();
        scratch.reached.clear();
        if let Some(ranks) = by_features {
            scratch.sorted = ranks.ascending;
        }
        chosen.retain(|&node| !self.known.has_edge(end, node));
        chosen.truncate(count);
        chosen
    }

    /// `Σ 1 / d_k` over the neighbours `k` that two nodes share.
    fn allocation(&self, end: u32, scratch: &mut Scratch) {
        for &between in self.graph.neighbours(end as usize) {
            let worth = self.worth[between as usize];
            for &node in self.graph.neighbours(between as usize) {
                let at = node as usize;
                if scratch.allocation[at] == 0 && scratch.pagerank[at] == 0 {
                    scratch.near.push(node);
                }
                scratch.allocation[at] += worth;
            }
        }
    }

    /// Personalised PageRank from `end` by pushing (Andersen, Chung and Lang, 2006), all nodes of a round at once.
    fn pagerank(&self, end: u32, scratch: &mut Scratch) {
        let Scratch { pagerank, residual, is_next, near, reached, .. } = scratch;
        residual[end as usize] = ONE;
        reached.push(end);
        let (mut round, mut next) = (vec![(end, 0)], Vec::new());
        while !round.is_empty() {
            for (node, mass) in &mut round {
                let at = *node as usize;
                *mass = std::mem::take(&mut residual[at]);
                if pagerank[at] == 0 {
                    near.push(*node);
                }
                pagerank[at] += *mass;
                is_next[at] = false;
            }
            for &(node, mass) in &round {
                let neighbours = self.graph.neighbours(node as usize);
                let share = GOES_ON[0] * mass / (GOES_ON[1] * neighbours.len().max(1) as u64);
                if share == 0 {
                    continue;
                }
                for &neighbour in neighbours {
                    let at = neighbour as usize;
                    if residual[at] == 0 && pagerank[at] == 0 {
                        reached.push(neighbour);
                    }
                    residual[at] += share;
                    let least = ONE / TOLERANCE * self.graph.degree(at) as u64;
                    if residual[at] >= least && !is_next[at] {
                        is_next[at] = true;
                        next.push((neighbour, 0));
                    }
                }
            }
            std::mem::swap(&mut round, &mut next);
            next.clear();
        }
    }

    /// Brings nodes of the same rank into a random order.
    fn key(&self, end: u32, node: u32) -> (u64, u32) {
        let [end, node] = [end, node].map(|node| self.addresses[node as usize]);
        let w = self.stream.at([end, node, 1, 0]);
        ((u64::from(w[0]) << 32) | u64::from(w[1]), node)
    }

    /// Nodes that no score knows, in a random order, until there are `wanted`.
    fn extend_at_random(&self, end: u32, wanted: usize, num_unknown: usize, role: &mut [Role], chosen: &mut Vec<u32>) {
        let wanted = wanted.min(chosen.len() + num_unknown);
        let (n, address) = (role.len(), self.addresses[end as usize]);
        if 2 * num_unknown >= n {
            // Half of the first draws are one of them.
            for draw in 0.. {
                if chosen.len() == wanted {
                    return;
                }
                let w = self.stream.at([address, draw, 2, 0]);
                let node = self.by_address[below(w[0], w[1], n as u64) as usize];
                if role[node as usize] == Role::Other {
                    role[node as usize] = Role::Listed;
                    chosen.push(node);
                }
            }
        }
        let unknown = (0..n as u32).filter(|&node| role[node as usize] == Role::Other);
        let mut unknown: Vec<u32> = unknown.collect();
        unknown.sort_by_cached_key(|&node| self.key(end, node));
        chosen.extend(unknown.into_iter().take(wanted - chosen.len()));
    }
}

/// Ranks of scores above zero, the best first. Equal ones share the last of their ranks, counted from the last of the best, as
/// HeaRT has it; what has no score comes after all of them.
struct Ranks<T> {
    ascending: Vec<T>,
    num_best: usize,
}

impl<T: Copy + Ord + Default> Ranks<T> {
    fn of(mut scores: Vec<T>) -> Ranks<T> {
        scores.retain(|&score| score > T::default());
        scores.sort_unstable();
        let num_best = scores.last().map_or(0, |best| scores.len() - scores.partition_point(|score| score < best));
        Ranks { ascending: scores, num_best }
    }

    fn rank(&self, score: T) -> usize {
        if score == T::default() {
            return self.unranked();
        }
        let at_least = self.ascending.len() - self.ascending.partition_point(|&other| other < score);
        at_least - self.num_best + 1
    }

    /// The rank after the last.
    fn unranked(&self) -> usize {
        if self.ascending.is_empty() { 1 } else { self.ascending.len() - self.num_best + 2 }
    }

    /// The `n`-th best score, or the last.
    fn nth_best(&self, n: usize) -> T {
        let at = self.ascending.len().saturating_sub(n);
        self.ascending.get(at).copied().unwrap_or_default()
    }
}

/// Cosines of features, up to a factor that is the same for all pairs of one node.
struct Similarity<'a> {
    features: &'a Features,
    /// `1 / |f|` of each node, 0 for one without features.
    scale: Vec<f32>,
}

impl Similarity<'_> {
    /// `None` without features, or where comparing all of them would take too long.
    fn of<'a>(features: &'a Features, ends: &[u32]) -> Option<Similarity<'a>> {
        let (products, lengths): (f64, Vec<f32>) = match features {
            Features::Constant(_) => return None,
            Features::Dense(matrix) => (
                (ends.len() * matrix.cols()) as f64 * matrix.rows() as f64,
                (0..matrix.rows()).map(|row| dot(matrix.row(row), matrix.row(row)).sqrt()).collect(),
            ),
            Features::Sparse(matrix) => {
                let per_column = |column: u32| column_of(matrix, column).0.len() as f64;
                let per_row = |&row: &u32| matrix.row(row as usize).map(|entry| per_column(entry.0)).sum::<f64>();
                let length = |row: usize| matrix.row(row).map(|entry| entry.1 * entry.1).sum::<f32>().sqrt();
                (ends.iter().map(per_row).sum(), (0..matrix.rows()).map(length).collect())
            }
        };
        let scale = lengths.into_iter().map(|length| if length > 0.0 { 1.0 / length } else { 0.0 }).collect();
        (products <= MAX_FEATURE_PRODUCTS).then_some(Similarity { features, scale })
    }

    fn fill(&self, end: u32, cosine: &mut [f32]) {
        match self.features {
            Features::Constant(_) => unreachable!("no features to compare"),
            Features::Dense(matrix) => dots(matrix.data(), matrix.row(end as usize), cosine),
            Features::Sparse(matrix) => {
                cosine.fill(0.0);
                for (column, value) in matrix.row(end as usize) {
                    let (rows, values) = column_of(matrix, column);
                    for (&row, other) in rows.iter().zip(values) {
                        cosine[row as usize] += value * other;
                    }
                }
            }
        }
        cosine.iter_mut().zip(&self.scale).for_each(|(cosine, scale)| *cosine *= scale);
    }
}

/// Rows and values of one column.
fn column_of(matrix: &SparseMatrix, column: u32) -> (&[u32], &[f32]) {
    let columns = &matrix.by_col;
    let range = columns.offsets[column as usize]..columns.offsets[column as usize + 1];
    (&columns.indices[range.clone()], &columns.values[range])
}

simd! {
    /// `<x, row>` of every row of a matrix.
    fn dots(rows: &[f32], x: &[f32], output: &mut [f32]) {
        for (row, output) in rows.chunks_exact(x.len()).zip(output) {
            *output = dot(row, x);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::generate;
    use crate::linalg::Matrix;
    use crate::models::Heuristic;
    use crate::seeds::{Purpose, Rng, Seeds};
    use std::sync::Arc;

    fn stream() -> Stream {
        Seeds::new(5).stream(Purpose::Negatives, &[0, 3])
    }

    /// A view with a tenth of the edges held out, and the graph with all of them.
    fn example(features: bool, seed: u64) -> (View, Graph) {
        let known = generate::communities(8, 12, 0.02, seed).graph;
        let mut rng = Seeds::new(seed).rng(Purpose::Generate, &[7]);
        let n = known.num_nodes();
        let seen: Vec<[u32; 2]> = known.edges().filter(|_| rng.unit() > 0.1).collect();
        let view = View::new(known.with_edges(&seen), random_features(n, features, &mut rng)).unwrap();
        (view, known)
    }

    /// Few enough different values that many cosines are equal.
    fn random_features(n: usize, some: bool, rng: &mut Rng) -> Features {
        if !some {
            return Features::Constant(n);
        }
        let value = |rng: &mut Rng| if rng.unit() < 0.15 { 1.0 + rng.below(2) as f32 } else { 0.0 };
        Features::from_matrix(Matrix::from_data(n, 20, (0..20 * n).map(|_| value(rng)).collect()))
    }

    fn all_nodes(view: &View) -> Vec<u32> {
        (0..view.graph().num_nodes() as u32).collect()
    }

    #[test]
    fn ranks_are_those_of_heart() {
        // scipy's rankdata with method "min" from the last to the first, zeros after the last: by hand.
        let ranks = Ranks::of(vec![5u64, 3, 0, 3, 1, 5, 0]);
        assert_eq!([5, 3, 1, 0].map(|score| ranks.rank(score)), [1, 3, 4, 5]);
        let ranks = Ranks::of(vec![7u64, 2, 2]);
        assert_eq!([7, 2, 0].map(|score| ranks.rank(score)), [1, 3, 4]);
        assert_eq!(Ranks::of(vec![0u64; 3]).rank(0), 1);
        assert_eq!([1, 2, 3, 9].map(|n| ranks.nth_best(n)), [7, 2, 2, 2]);
    }

    #[test]
    fn walks_and_shared_neighbours_are_those_of_their_definitions() {
        let (view, known) = example(false, 3);
        let (graph, n) = (view.graph(), view.graph().num_nodes());
        let choice = choice(&view, &known);
        for end in [0u32, 17, 40] {
            let mut scratch = Scratch::new(n);
            choice.pagerank(end, &mut scratch);
            choice.allocation(end, &mut scratch);
            let mut walk = vec![0.0; n];
            walk[end as usize] = 1.0;
            let mut exact = vec![0.0; n];
            for _ in 0..200 {
                let mut next = vec![0.0; n];
                for node in 0..n {
                    exact[node] += walk[node];
                    let share = 0.85 * walk[node] / graph.degree(node).max(1) as f64;
                    graph.neighbours(node).iter().for_each(|&other| next[other as usize] += share);
                }
                walk = next;
            }
            for node in 0..n as u32 {
                let at = node as usize;
                let (found, bound) =
                    (scratch.pagerank[at] as f64 / ONE as f64, 5e-5 * graph.degree(at).max(1) as f64 / 0.15);
                let error = exact[at] - found;
                assert!((-1e-9..bound + 1e-9).contains(&error), "{node}: {found}, exactly {}", exact[at]);
                let shared = scratch.allocation[at] as f64 / WORTH as f64;
                let expected = Heuristic::ResourceAllocation.scores(&Arc::new(graph.clone()), &[[end, node]])[0];
                if node != end {
                    assert!((shared - f64::from(expected)).abs() < 1e-6);
                }
            }
        }
    }

    fn choice<'a>(view: &'a View, known: &'a Graph) -> Choice<'a> {
        let graph = view.graph();
        Choice {
            graph,
            known,
            worth: (0..graph.num_nodes()).map(|node| WORTH / graph.degree(node).max(1) as u64).collect(),
            similarity: Similarity::of(&view.features, &[]),
            addresses: &view.addresses,
            by_address: order_by(&view.addresses),
            stream: stream(),
        }
    }

    #[test]
    fn the_chosen_have_the_best_mean_of_three_ranks() {
        for features in [false, true] {
            let (view, known) = example(features, 4);
            let n = view.graph().num_nodes();
            let choice = choice(&view, &known);
            let chosen = hard_negatives(&view, &known, &all_nodes(&view), 10, stream());
            for (end, chosen) in (0u32..).zip(&chosen) {
                let mut scratch = Scratch::new(n);
                choice.pagerank(end, &mut scratch);
                choice.allocation(end, &mut scratch);
                let mut cosine = vec![0.0; n];
                if let Some(similarity) = &choice.similarity {
                    similarity.fill(end, &mut cosine);
                }
                let others: Vec<usize> =
                    (0..n).filter(|&node| node as u32 != end && !view.graph().has_edge(end, node as u32)).collect();
                // HeaRT's rule, score by score.
                let rank = |score: &dyn Fn(usize) -> f64, node: usize| {
                    let positive: Vec<f64> =
                        others.iter().map(|&node| score(node)).filter(|&score| score > 0.0).collect();
                    let less = |than: f64| positive.iter().filter(|&&score| score < than).count();
                    let best = positive.iter().copied().fold(0.0, f64::max);
                    let last = positive.iter().copied().fold(best, f64::min);
                    match score(node) {
                        score if score > 0.0 => less(best) - less(score) + 1,
                        _ if positive.is_empty() => 1,
                        _ => less(best) - less(last) + 2,
                    }
                };
                let sum = |node: usize| {
                    rank(&|node| scratch.allocation[node] as f64, node)
                        + rank(&|node| scratch.pagerank[node] as f64, node)
                        + if features { rank(&|node| f64::from(cosine[node]), node) } else { 0 }
                };
                let allowed = others.iter().filter(|&&node| !known.has_edge(end, node as u32));
                let mut sums: Vec<usize> = allowed.map(|&node| sum(node)).collect();
                sums.sort_unstable();
                let found: Vec<usize> = chosen.iter().map(|&node| sum(node as usize)).collect();
                assert_eq!(found, sums[..10], "end {end}, features {features}");
            }
        }
    }

    #[test]
    fn no_negative_is_known_and_none_comes_twice_however_many_are_wanted() {
        for (features, seed) in [(false, 1), (true, 2)] {
            let (view, known) = example(features, seed);
            let n = known.num_nodes();
            for count in [1, 30, 10_000] {
                for (end, chosen) in (0u32..).zip(hard_negatives(&view, &known, &all_nodes(&view), count, stream())) {
                    assert_eq!(chosen.len(), count.min(n - 1 - known.degree(end as usize)));
                    assert!(chosen.iter().all(|&node| node != end && !known.has_edge(end, node)));
                    let mut distinct = chosen.clone();
                    distinct.sort_unstable();
                    distinct.dedup();
                    assert_eq!(distinct.len(), chosen.len());
                }
            }
        }
    }

    #[test]
    fn nodes_that_no_score_knows_are_drawn_at_random() {
        // One edge among a thousand nodes.
        let (graph, _) = Graph::from_edges(1000, &[[0, 1]]).unwrap();
        let view = View::new(graph.clone(), Features::Constant(1000)).unwrap();
        let chosen = hard_negatives(&view, &graph, &[0, 1, 2], 250, stream());
        let mean = |nodes: &[u32]| nodes.iter().map(|&node| f64::from(node)).sum::<f64>() / 250.0;
        assert!(chosen.iter().all(|nodes| nodes.len() == 250 && (mean(nodes) - 500.0).abs() < 80.0));
        assert_ne!(chosen[0], chosen[1]);
    }

    #[test]
    fn a_planted_held_out_edge_changes_nothing_but_its_own_absence() {
        for features in [false, true] {
            let (view, known) = example(features, 6);
            let ends = all_nodes(&view);
            let before = hard_negatives(&view, &known, &ends, 21, stream());
            // The hardest negative of one of the nodes, and one of a node that no score knows of.
            for planted in [before[3][0], before[3][20]] {
                let edges: Vec<[u32; 2]> = known.edges().chain([[3, planted]]).collect();
                let with = Graph::from_edges(known.num_nodes(), &edges).unwrap().0;
                let after = hard_negatives(&view, &with, &ends, 20, stream());
                for end in ends.iter().map(|&end| end as usize) {
                    let other = if end == 3 { planted } else { 3 };
                    let is_its_own = end == 3 || end == planted as usize;
                    let rest = before[end].iter().copied().filter(|&node| !(is_its_own && node == other));
                    assert!(after[end].iter().copied().eq(rest.take(20)), "end {end}");
                }
            }
        }
    }

    #[test]
    fn the_same_nodes_are_chosen_on_any_number_of_threads_and_under_any_numbering() {
        for features in [false, true] {
            let (view, known) = example(features, 8);
            let n = known.num_nodes();
            let chosen = hard_negatives(&view, &known, &all_nodes(&view), 60, stream());
            for threads in [1, 2, 4] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let again = pool.install(|| hard_negatives(&view, &known, &all_nodes(&view), 60, stream()));
                assert_eq!(again, chosen);
            }
            let mut order = all_nodes(&view);
            Seeds::new(3).rng(Purpose::Order, &[]).shuffle(&mut order);
            let mut places = vec![0; n];
            (0..).zip(&order).for_each(|(place, &node)| places[node as usize] = place);
            let moved =
                hard_negatives(&view.permute(&order).unwrap(), &known.permute(&order).unwrap(), &places, 60, stream());
            let back: Vec<Vec<u32>> =
                moved.iter().map(|nodes| nodes.iter().map(|&node| order[node as usize]).collect()).collect();
            assert_eq!(back, chosen);
        }
    }
}
