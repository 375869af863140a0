//! Random walks of second order (Grover and Leskovec, node2vec, 2016): where a walk goes next depends on where it is and
//! where it came from.

use super::Graph;
use crate::seeds::{Stream, below};

/// Proposals that a step may reject before it sums up the exact probabilities. Rejections are independent of the next draw,
/// so the change of method leaves the distribution of walks as it is.
const PROPOSALS: u32 = 32;

/// Neighbours that a step can sum over at little cost.
const MANY: usize = 256;

/// Proposals for a step away from a hub that may be refused.
const AWAY_PROPOSALS: u32 = 1024;

/// Walks over one graph. From `t` over `v`, the neighbour `x` of `v` is next with a probability in proportion to
/// `α(t, x) w(v, x)`, where `α` is `1/p` if `x = t`, `1` if `x` is linked to `t`, and `1/q` if it is not.
#[derive(Debug)]
pub struct Walker<'g> {
    graph: &'g Graph,
    /// `1/p`.
    back: f64,
    /// `1/q`.
    away: f64,
    /// The weights of each row summed up to and with each neighbour; empty if the graph has no weights.
    sums: Vec<f64>,
}

impl<'g> Walker<'g> {
    /// Walks that return with weight `1/p` and go away with weight `1/q`; with `p = q = 1` they are of first order.
    ///
    /// # Panics
    /// Unless `p` and `q` are positive numbers.
    pub fn new(graph: &'g Graph, p: f32, q: f32) -> Walker<'g> {
        assert!([p, q].iter().all(|x| x.is_finite() && *x > 0.0), "p = {p} and q = {q} must be positive numbers");
        let mut sums = Vec::new();
        for weights in (0..graph.num_nodes()).map_while(|node| graph.weights(node)) {
            sums.extend(weights.iter().scan(0.0, |sum, &weight| {
                *sum += f64::from(weight);
                Some(*sum)
            }));
        }
        Walker { graph, back: 1.0 / f64::from(p), away: 1.0 / f64::from(q), sums }
    }

    /// Appends the `length` nodes of a walk from `start`, which is a function of `stream` and `start` alone. The walk
    /// from an isolated node ends there.
    pub fn walk(&self, start: u32, length: usize, stream: Stream, walk: &mut Vec<u32>) {
        let (mut previous, mut here) = (None, start);
        for step in 0..length {
            walk.push(here);
            if self.graph.degree(here as usize) == 0 {
                break;
            }
            let next = self.step(previous, here, |trial| stream.at([start, step as u32, trial, 0]));
            (previous, here) = (Some(here), next);
        }
    }

    fn step(&self, previous: Option<u32>, here: u32, draw: impl Fn(u32) -> [u32; 4]) -> u32 {
        let (Some(previous), false) = (previous, self.back == 1.0 && self.away == 1.0) else {
            return self.neighbour(here, draw(0));
        };
        // A very likely return would have most other proposals rejected. So its weight in excess of the others is drawn
        // first, outside of the range of the rejection step.
        let most = self.away.max(1.0);
        let excess = (self.back - most).max(0.0) * self.weight(here, previous);
        let board = most * self.total(here);
        for trial in 0..PROPOSALS {
            let words = draw(trial);
            if excess > 0.0 && share(words[3]) * (board + excess) >= board {
                return previous;
            }
            let next = self.neighbour(here, words);
            let dart = most * share(words[2]);
            // Few draws are in the range where it matters whether there is an edge.
            let sure = next != previous && dart < self.away.min(1.0);
            if sure || dart < self.bias(previous, next) {
                return next;
            }
        }
        let [from, at] = [previous, here].map(|node| self.graph.degree(node as usize));
        match at > MANY && at / 4 > from {
            true => self.step_over_hub(previous, here, |trial| draw(PROPOSALS + trial)),
            false => self.exact_step(previous, here, draw(PROPOSALS)),
        }
    }

    /// A step over a node with far more neighbours than the one before it: first whether it leads back, to a neighbour of
    /// both or away, by the weights of the three, which are known from the shorter row; then where. A sum over all neighbours
    /// of a hub in each of its many steps would take time in proportion to the square of their number.
    fn step_over_hub(&self, previous: u32, here: u32, draw: impl Fn(u32) -> [u32; 4]) -> u32 {
        let shared = self.graph.neighbours(previous as usize).iter().filter(|&&x| self.graph.has_edge(here, x));
        let shared: Vec<u32> = shared.copied().collect();
        let mut sum = self.back * self.weight(here, previous);
        let mut sums = vec![sum];
        let mut away = self.total(here) - self.weight(here, previous);
        for weight in shared.iter().map(|&x| self.weight(here, x)) {
            (sum, away) = (sum + weight, away - weight);
            sums.push(sum);
        }
        sums.push(sum + self.away * away.max(0.0));
        let words = draw(0);
        match place(&sums, words) {
            0 => previous,
            at if at <= shared.len() => shared[at - 1],
            // Three quarters of the neighbours lie away, so few proposals are refused unless the others have nearly all of
            // the weight.
            _ => (1..=AWAY_PROPOSALS)
                .map(|trial| self.neighbour(here, draw(trial)))
                .find(|&next| next != previous && !self.linked(previous, next))
                .unwrap_or_else(|| self.exact_step(previous, here, words)),
        }
    }

    /// A step by the sum over all neighbours.
    fn exact_step(&self, previous: u32, here: u32, words: [u32; 4]) -> u32 {
        let neighbours = self.graph.neighbours(here as usize);
        let weights = self.graph.weights(here as usize);
        let mut sum = 0.0;
        let sums: Vec<f64> = (neighbours.iter().enumerate())
            .map(|(at, &next)| {
                sum += self.bias(previous, next) * weights.map_or(1.0, |weights| f64::from(weights[at]));
                sum
            })
            .collect();
        neighbours[place(&sums, words)]
    }

    /// `α(t, x)`.
    fn bias(&self, previous: u32, next: u32) -> f64 {
        if next == previous {
            self.back
        } else if self.linked(previous, next) {
            1.0
        } else {
            self.away
        }
    }

    /// Whether two nodes are linked, looked up in the shorter row.
    fn linked(&self, a: u32, b: u32) -> bool {
        let a_is_shorter = self.graph.degree(a as usize) < self.graph.degree(b as usize);
        if a_is_shorter { self.graph.has_edge(a, b) } else { self.graph.has_edge(b, a) }
    }

    /// A neighbour in proportion to its weight.
    #[inline]
    fn neighbour(&self, node: u32, words: [u32; 4]) -> u32 {
        let neighbours = self.graph.neighbours(node as usize);
        let at = match self.sums(node) {
            None => below(words[0], words[1], neighbours.len() as u64) as usize,
            Some(sums) => place(sums, words),
        };
        neighbours[at]
    }

    fn sums(&self, node: u32) -> Option<&[f64]> {
        let (offsets, node) = (self.graph.parts().0, node as usize);
        (!self.sums.is_empty()).then(|| &self.sums[offsets[node]..offsets[node + 1]])
    }

    /// `Σ_x w(v, x)`.
    fn total(&self, node: u32) -> f64 {
        self.sums(node).map_or(self.graph.degree(node as usize) as f64, |sums| sums[sums.len() - 1])
    }

    /// `w(v, t)`.
    fn weight(&self, node: u32, neighbour: u32) -> f64 {
        self.graph.weights(node as usize).map_or(1.0, |weights| {
            let at = self.graph.neighbours(node as usize).binary_search(&neighbour);
            f64::from(weights[at.expect("a walk follows edges")])
        })
    }
}

/// The index of a draw among running sums.
fn place(sums: &[f64], words: [u32; 4]) -> usize {
    let last = sums.len() - 1;
    let word = (u64::from(words[0]) << 32) | u64::from(words[1]);
    let dart = (word >> 11) as f64 * (1.0 / (1u64 << 53) as f64) * sums[last];
    sums.partition_point(|&sum| sum <= dart).min(last)
}

/// A number in `[0, 1)`, of all 32 bits.
fn share(word: u32) -> f64 {
    f64::from(word) * (1.0 / 4_294_967_296.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::generate;
    use crate::seeds::{Purpose, Seeds};

    fn walk(graph: &Graph, [p, q]: [f32; 2], start: u32, length: usize, seed: u64) -> Vec<u32> {
        let mut walk = Vec::new();
        Walker::new(graph, p, q).walk(start, length, Seeds::new(seed).stream(Purpose::Walk, &[0]), &mut walk);
        walk
    }

    /// A triangle, a tail of one, and a square beside it.
    fn small(weights: Option<&[f32]>) -> Graph {
        let edges = [[0, 1], [0, 2], [1, 2], [2, 3], [2, 4], [4, 5], [5, 6], [6, 2]];
        match weights {
            None => Graph::from_edges(7, &edges).unwrap().0,
            Some(weights) => Graph::from_weighted_edges(7, &edges, weights).unwrap().0,
        }
    }

    #[test]
    fn walks_follow_edges_and_have_their_length() {
        let graph = generate::communities(4, 6, 0.1, 3).graph;
        for bias in [[1.0, 1.0], [0.25, 4.0], [4.0, 0.25]] {
            for start in 0..24 {
                let walk = walk(&graph, bias, start, 50, 9);
                assert_eq!((walk[0], walk.len()), (start, 50));
                assert!(walk.windows(2).all(|step| graph.has_edge(step[0], step[1])), "{walk:?}");
            }
        }
    }

    #[test]
    fn a_walk_from_an_isolated_node_ends_there() {
        let (graph, _) = Graph::from_edges(3, &[[0, 1]]).unwrap();
        assert_eq!(walk(&graph, [1.0, 1.0], 2, 10, 1), [2]);
        assert_eq!(walk(&graph, [1e30, 1e30], 0, 5, 1), [0, 1, 0, 1, 0]);
        assert!(walk(&graph, [1.0, 1.0], 0, 0, 1).is_empty());
    }

    #[test]
    fn walks_go_back_if_p_is_tiny_and_do_not_if_it_is_huge() {
        let graph = small(None);
        let returns = |p: f32| {
            let walk = walk(&graph, [p, 1.0], 0, 4000, 2);
            let back = walk.windows(3).filter(|step| step[0] == step[2] && step[1] != 3);
            back.count()
        };
        assert!(returns(1e-6) > 3990);
        // Even from the tail, which leaves no choice, a walk returns only to go on elsewhere.
        assert_eq!(returns(1e9), 0);
    }

    #[test]
    fn steps_have_the_probabilities_of_the_paper() {
        let weights = [1.0, 3.0, 0.5, 2.0, 0.25, 1.5, 4.0, 1.0];
        // The last two refuse nearly every proposal, so that steps are summed up exactly.
        for bias in [[1.0, 1.0], [0.25, 1.0], [0.5, 2.0], [4.0, 0.5], [1e-2, 8.0], [1e4, 1e3], [3e3, 1e4]] {
            for graph in [small(None), small(Some(&weights))] {
                agrees(&graph, bias);
            }
        }
    }

    fn agrees(graph: &Graph, [p, q]: [f32; 2]) {
        let mut counts = [[[0f64; 7]; 7]; 7];
        for seed in 0..8 {
            let walk = walk(graph, [p, q], seed as u32 % 7, 10_000, seed);
            walk.windows(3).for_each(|s| counts[s[0] as usize][s[1] as usize][s[2] as usize] += 1.0);
        }
        let (mut chi_square, mut freedom) = (0.0, 0.0);
        for [t, v] in graph.edges().flat_map(|[a, b]| [[a, b], [b, a]]) {
            let counts = counts[t as usize][v as usize];
            let alpha = |x: u32| match x {
                x if x == t => 1.0 / f64::from(p),
                x if graph.has_edge(t, x) => 1.0,
                _ => 1.0 / f64::from(q),
            };
            let weight = |at: usize| graph.weights(v as usize).map_or(1.0, |weights| f64::from(weights[at]));
            let row = graph.neighbours(v as usize).iter().enumerate();
            let odds: Vec<(usize, f64)> = row.map(|(at, &x)| (x as usize, alpha(x) * weight(at))).collect();
            let (all, sum) = (counts.iter().sum::<f64>(), odds.iter().map(|(_, odds)| odds).sum::<f64>());
            // Places that the walks hardly see say nothing.
            for (x, odds) in odds.into_iter().filter(|(_, odds)| all * odds / sum > 8.0) {
                let expected = all * odds / sum;
                chi_square += (counts[x] - expected).powi(2) / expected;
                freedom += 1.0 - odds / sum;
            }
        }
        assert!(chi_square < freedom + 4.5 * (2.0f64 * freedom).sqrt(), "p {p}, q {q}: {chi_square} of {freedom}");
    }

    /// A hub with 400 neighbours; the first few of them are linked in a row.
    fn hub(weighted: bool) -> Graph {
        let spokes = (1..=400).map(|leaf| [0, leaf]);
        let edges: Vec<[u32; 2]> = spokes.chain((1..5).map(|leaf| [leaf, leaf + 1])).collect();
        let weights: Vec<f32> = (0..edges.len()).map(|at| if weighted { 0.5 + (at % 7) as f32 } else { 1.0 }).collect();
        Graph::from_weighted_edges(401, &edges, &weights).unwrap().0
    }

    #[test]
    fn steps_over_a_hub_have_the_probabilities_of_the_paper() {
        for (graph, [p, q]) in [(hub(false), [5.0, 300.0]), (hub(true), [0.5, 100.0]), (hub(true), [1e3, 1e4])] {
            let walker = Walker::new(&graph, p, q);
            let stream = Seeds::new(4).stream(Purpose::Walk, &[0]);
            // From leaf 2 over the hub: back, to 1 or 3, which it is linked to, or to one of 397 others.
            let (mut counts, all) = ([0.0; 4], 40_000);
            for step in 0..all {
                let next = walker.step_over_hub(2, 0, |trial| stream.at([7, step, trial, 0]));
                counts[match next {
                    2 => 0,
                    1 => 1,
                    3 => 2,
                    _ => 3,
                }] += 1.0;
            }
            let weight = |x: u32| walker.weight(0, x);
            let others: f64 = (4..=400).map(weight).sum();
            let odds = [weight(2) / f64::from(p), weight(1), weight(3), others / f64::from(q)];
            for (count, odds) in counts.into_iter().zip(odds.map(|of| of / odds.iter().sum::<f64>() * f64::from(all))) {
                let near: f64 = 5.0 * odds.sqrt() + 1.0;
                assert!((count - odds).abs() < near, "p {p}, q {q}: {counts:?}, expected {odds}");
            }
        }
    }

    #[test]
    fn walks_over_a_star_do_not_take_the_square_of_its_leaves() {
        let leaves = 300_000;
        let (star, _) =
            Graph::from_edges(leaves + 1, &(1..=leaves as u32).map(|leaf| [0, leaf]).collect::<Vec<_>>()).unwrap();
        let walker = Walker::new(&star, 1.0, 1000.0);
        let stream = Seeds::new(1).stream(Purpose::Walk, &[0]);
        let mut walk = Vec::new();
        // With a sum over all leaves at every second step these would be 30,000,000,000 of them.
        (1..=20_000).for_each(|start| walker.walk(start, 10, stream, &mut walk));
        assert!(walk.chunks(10).all(|walk| walk.len() == 10 && walk.iter().skip(1).step_by(2).all(|&node| node == 0)));
        // Back to the only leaf that is not away, with a thousandth of the weight of one in it.
        let back = walk.windows(3).filter(|step| step[1] == 0 && step[0] == step[2]).count();
        assert!((150..600).contains(&back), "{back}");
    }

    #[test]
    #[should_panic(expected = "must be positive numbers")]
    fn p_must_be_positive() {
        Walker::new(&small(None), 0.0, 1.0);
    }
}
