//! Pairs that do not belong together. Each is a function of its number, so that threads share the work and not the
//! result.

use super::SplitSettings;
use super::non_edges::NonEdges;
use crate::error::SplitProblem;
use crate::graph::Graph;
use crate::linalg::dispatch::simd;
use crate::names::named;
use crate::seeds::{Stream, below};
use crate::threads;
use rayon::prelude::*;
use std::collections::HashSet;
use std::sync::Arc;

named! {
    /// How carefully negatives are drawn.
    pub enum Negatives, "kind of negatives" {
        /// As in the authors' runs: any pair for training; for evaluation two nodes that are not listed as an edge in
        /// that order.
        Loose = "loose",
        /// Two nodes without an edge in either direction: none that training can see, or, for evaluation, none at all.
        Exact = "exact",
    }
}

named! {
    /// What positives are told from in evaluation.
    pub enum EvaluationNegatives, "kind of negatives" {
        /// Drawn as in the authors' runs: two nodes that are not listed as an edge in that order.
        Loose = "loose",
        /// Drawn at random: two nodes without an edge in either direction.
        Exact = "exact",
        /// Hard ones for each positive, by resource allocation, personalised PageRank and similar features, as HeaRT
        /// chooses them (Li et al., NeurIPS 2023).
        Heart = "heart",
        /// All nodes in place of either end, known edges left out.
        All = "all",
    }
}

impl EvaluationNegatives {
    /// How they are drawn, if one pool serves all positives.
    pub fn pooled(self) -> Option<Negatives> {
        match self {
            EvaluationNegatives::Loose => Some(Negatives::Loose),
            EvaluationNegatives::Exact => Some(Negatives::Exact),
            EvaluationNegatives::Heart | EvaluationNegatives::All => None,
        }
    }
}

impl From<Negatives> for EvaluationNegatives {
    fn from(negatives: Negatives) -> EvaluationNegatives {
        match negatives {
            Negatives::Loose => EvaluationNegatives::Loose,
            Negatives::Exact => EvaluationNegatives::Exact,
        }
    }
}

/// What a negative must not be.
#[derive(Debug, Clone)]
pub enum NegativeRule {
    /// Anything goes, a node with itself included.
    Any,
    /// Two nodes; not an edge as listed, smaller end first.
    NotListed(Arc<Graph>),
    /// Two nodes without an edge.
    NotLinked(Arc<Graph>),
    /// Two nodes of different classes.
    Unlike(Arc<[Option<u32>]>),
    /// Two nodes; not a pair of like nodes as listed, smaller end first.
    NotListedAlike(Arc<[Option<u32>]>),
}

impl NegativeRule {
    /// For training: only edges that training can see may be avoided; to avoid a held-out edge would give it away.
    pub fn for_training(negatives: Negatives, visible: Arc<Graph>) -> NegativeRule {
        match negatives {
            Negatives::Loose => NegativeRule::Any,
            Negatives::Exact => NegativeRule::NotLinked(visible),
        }
    }

    /// For evaluation: every known edge is avoided.
    pub fn for_evaluation(negatives: Negatives, whole: Arc<Graph>) -> NegativeRule {
        match negatives {
            Negatives::Loose => NegativeRule::NotListed(whole),
            Negatives::Exact => NegativeRule::NotLinked(whole),
        }
    }

    fn allows(&self, [a, b]: [u32; 2]) -> bool {
        match self {
            NegativeRule::Any => true,
            NegativeRule::NotListed(graph) => a != b && !(a < b && graph.has_edge(a, b)),
            NegativeRule::NotLinked(graph) => a != b && !graph.has_edge(a, b),
            NegativeRule::Unlike(labels) => labels[a as usize] != labels[b as usize],
            NegativeRule::NotListedAlike(labels) => a > b || labels[a as usize] != labels[b as usize],
        }
    }
}

/// Draws pairs of nodes that a rule allows.
#[derive(Debug, Clone)]
pub struct PairSampler {
    /// The nodes to draw from, if not all.
    nodes: Option<Arc<[u32]>>,
    num_nodes: usize,
    rule: NegativeRule,
    /// Those to draw from where the rule would refuse nearly every draw.
    allowed: Option<Allowed>,
}

/// Pairs that a rule allows, by number.
#[derive(Debug, Clone)]
enum Allowed {
    /// For `NegativeRule::Unlike`, which would refuse nearly every draw where one class is nearly all.
    OfClasses(Arc<Classes>),
    /// For `NegativeRule::NotLinked` in a nearly complete graph.
    NonEdges(Arc<NonEdges>),
}

/// The nodes to draw from by class, so that two of different classes are drawn without a refusal.
#[derive(Debug)]
struct Classes {
    /// Sorted by class.
    nodes: Vec<u32>,
    /// Where each class starts, and the end.
    starts: Vec<usize>,
    /// Pairs with a first node in this class or one before.
    pairs: Vec<u64>,
}

impl Classes {
    fn new(mut nodes: Vec<u32>, labels: &[Option<u32>]) -> Classes {
        nodes.sort_by_key(|&node| labels[node as usize]);
        let changes = |at: &usize| *at == 0 || labels[nodes[*at] as usize] != labels[nodes[at - 1] as usize];
        let mut starts: Vec<usize> = (0..nodes.len()).filter(changes).collect();
        starts.push(nodes.len());
        let pairs = starts.windows(2).scan(0u64, |sum, class| {
            let size = class[1] - class[0];
            *sum += size as u64 * (nodes.len() - size) as u64;
            Some(*sum)
        });
        Classes { pairs: pairs.collect(), nodes, starts }
    }

    /// Every ordered pair of different classes is as likely as any other.
    fn pair(&self, stream: Stream, number: u64) -> [u32; 2] {
        let w = stream.at_pair(number, 0);
        let total = *self.pairs.last().expect("two classes at least");
        let chosen = below(w[0], w[1], total);
        let class = self.pairs.partition_point(|&end| end <= chosen);
        let (start, end) = (self.starts[class], self.starts[class + 1]);
        let first = start + below(w[2], 0, (end - start) as u64) as usize;
        let second = below(w[3], 0, (self.nodes.len() - (end - start)) as u64) as usize;
        let second = if second >= start { second + (end - start) } else { second };
        [self.nodes[first], self.nodes[second]]
    }
}

/// Refused draws after which the next allowed pair is searched for.
const MAX_DRAWS: u64 = 256;

/// Pairs that are looked at for one non-edge, as expected: where it takes more, non-edges are counted, and drawn without refusals.
const MAX_LOOKS: f64 = 64.0;

/// Pairs that are drawn together where each must differ from those before.
const PAIRS_AT_A_TIME: usize = 1 << 16;

impl PairSampler {
    /// From all nodes.
    pub fn new(num_nodes: usize, rule: NegativeRule) -> PairSampler {
        let allowed = match &rule {
            NegativeRule::NotLinked(graph) if expected_looks(graph) > MAX_LOOKS => {
                Some(Allowed::NonEdges(NonEdges::new(graph.clone()).into()))
            }
            _ => None,
        };
        PairSampler { nodes: None, num_nodes, rule, allowed }
    }

    /// From some of the nodes.
    pub fn among(nodes: Vec<u32>, num_nodes: usize, rule: NegativeRule) -> PairSampler {
        let all = nodes.len() == num_nodes;
        let allowed = match &rule {
            NegativeRule::Unlike(labels) => Some(Allowed::OfClasses(Classes::new(nodes.clone(), labels).into())),
            _ => None,
        };
        PairSampler { nodes: (!all).then(|| nodes.into()), num_nodes, rule, allowed }
    }

    /// Draws `count` pairs into `pairs`, whose storage is reused.
    pub fn draw(&self, stream: Stream, count: usize, pairs: &mut Vec<[u32; 2]>) {
        const PAIRS_PER_TASK: usize = 1 << 12;
        if self.stored().is_some() {
            *pairs = self.draw_each(&[(stream, count)]);
            return;
        }
        pairs.resize(count, [0; 2]);
        pairs.par_chunks_mut(PAIRS_PER_TASK).enumerate().for_each(|(task, pairs)| {
            threads::check();
            self.draw_some(stream, (task * PAIRS_PER_TASK) as u64, pairs);
        });
    }

    /// The pairs of `draw` for each stream and its count, one after the other. A graph file is looked at in ascending order.
    pub(crate) fn draw_each(&self, streams: &[(Stream, usize)]) -> Vec<[u32; 2]> {
        self.draw_from(0, streams)
    }

    /// As `draw_each`, from this number of each stream on.
    fn draw_from(&self, number: u64, streams: &[(Stream, usize)]) -> Vec<[u32; 2]> {
        let total = streams.iter().map(|of| of.1).sum();
        let mut pairs = vec![[0; 2]; total];
        let mut rest = &mut pairs[..];
        let mut tasks = Vec::new();
        for &(stream, count) in streams {
            let (own, others) = rest.split_at_mut(count);
            tasks.push((stream, own));
            rest = others;
        }
        let Some(graph) = self.stored() else {
            tasks.into_par_iter().for_each(|(stream, pairs)| {
                threads::check();
                self.draw_some(stream, number, pairs);
            });
            return pairs;
        };
        tasks.into_par_iter().for_each(|(stream, pairs)| {
            draw_places(stream, number, self.len() as u64, pairs);
            pairs.iter_mut().for_each(|pair| *pair = pair.map(|place| self.node(place as usize)));
        });
        // The stream of each pair, and its number there.
        let starts: Vec<usize> = streams.iter().scan(0, |end, of| Some(std::mem::replace(end, *end + of.1))).collect();
        let address = |at: u32| {
            let step = starts.partition_point(|&start| start <= at as usize) - 1;
            (streams[step].0, number + (at as usize - starts[step]) as u64)
        };
        let refused = |pairs: &[[u32; 2]]| graph.ask_each(pairs, |_, pair| !self.rule.allows(pair));
        let all = refused(&pairs);
        let mut open: Vec<u32> = (0..total as u32).filter(|&at| all[at as usize]).collect();
        drop(all);
        for attempt in 1..MAX_DRAWS {
            let again = |&at: &u32| {
                let (stream, number) = address(at);
                self.drawn(stream, number, attempt)
            };
            let drawn: Vec<[u32; 2]> = open.par_iter().map(again).collect();
            open.iter().zip(&drawn).for_each(|(&at, &pair)| pairs[at as usize] = pair);
            let refused = refused(&drawn);
            let mut refused = refused.iter();
            open.retain(|_| *refused.next().expect("one answer each"));
            if open.is_empty() {
                break;
            }
        }
        for at in open {
            let (stream, number) = address(at);
            pairs[at as usize] = self.pair(stream, number);
        }
        pairs
    }

    /// The graph file that is looked at for every draw.
    fn stored(&self) -> Option<&Graph> {
        match &self.rule {
            NegativeRule::NotLinked(graph) | NegativeRule::NotListed(graph)
                if graph.is_stored() && self.allowed.is_none() =>
            {
                Some(graph)
            }
            _ => None,
        }
    }

    /// The pairs of consecutive numbers. Most first draws are allowed, so they are drawn several at a time.
    fn draw_some(&self, stream: Stream, first: u64, pairs: &mut [[u32; 2]]) {
        if self.allowed.is_some() {
            (first..).zip(pairs).for_each(|(number, pair)| *pair = self.pair(stream, number));
            return;
        }
        draw_places(stream, first, self.len() as u64, pairs);
        for (number, pair) in (first..).zip(pairs) {
            let drawn = pair.map(|place| self.node(place as usize));
            *pair = if self.rule.allows(drawn) { drawn } else { self.pair(stream, number) };
        }
    }

    /// The pair of a number: the first of its draws that the rule allows.
    fn pair(&self, stream: Stream, number: u64) -> [u32; 2] {
        match &self.allowed {
            Some(Allowed::OfClasses(classes)) => return classes.pair(stream, number),
            Some(Allowed::NonEdges(non_edges)) => {
                let w = stream.at_pair(number, 0);
                return non_edges.pair(below(w[0], w[1], non_edges.count()));
            }
            None => {}
        }
        let drawn = (0..MAX_DRAWS).map(|attempt| self.drawn(stream, number, attempt));
        let found = drawn.into_iter().find(|&pair| self.rule.allows(pair));
        found.unwrap_or_else(|| self.next_allowed(self.drawn(stream, number, MAX_DRAWS)))
    }

    fn drawn(&self, stream: Stream, number: u64, attempt: u64) -> [u32; 2] {
        let w = stream.at_pair(number, attempt);
        let n = self.len() as u64;
        [self.node(below(w[0], w[1], n) as usize), self.node(below(w[2], w[3], n) as usize)]
    }

    /// The first allowed pair at or after a place, around the end and on.
    ///
    /// # Panics
    /// If there is none; every split makes sure of one before it builds a sampler.
    fn next_allowed(&self, [a, b]: [u32; 2]) -> [u32; 2] {
        let n = self.len();
        let place = |node: u32| match &self.nodes {
            None => node as usize,
            Some(nodes) => nodes.binary_search(&node).expect("a node of the list"),
        };
        let start = place(a) * n + place(b);
        let pairs = (start..n * n).chain(0..start).map(|at| [self.node(at / n), self.node(at % n)]);
        pairs.into_iter().find(|&pair| self.rule.allows(pair)).expect("a pair that the rule allows")
    }

    fn len(&self) -> usize {
        self.nodes.as_ref().map_or(self.num_nodes, |nodes| nodes.len())
    }

    fn node(&self, at: usize) -> u32 {
        self.nodes.as_ref().map_or(at as u32, |nodes| nodes[at])
    }
}

/// Draws until one is a non-edge, and the search through all pairs after the last.
fn expected_looks(graph: &Graph) -> f64 {
    let n = graph.num_nodes() as f64;
    let share = 2.0 * graph.num_non_edges() as f64 / (n * n);
    1.0 / share + (1.0 - share).powi(MAX_DRAWS as i32) * n * n
}

simd! {
    /// What `PairSampler::drawn` draws first for consecutive numbers, before places become nodes.
    fn draw_places(stream: Stream, first: u64, n: u64, pairs: &mut [[u32; 2]]) {
        const LANES: usize = 8;
        for (block, pairs) in pairs.chunks_mut(LANES).enumerate() {
            let (mut low, mut high) = ([0; LANES], [0; LANES]);
            for lane in 0..LANES {
                let number = first + (block * LANES + lane) as u64;
                (low[lane], high[lane]) = (number as u32, (number >> 32) as u32);
            }
            let words = stream.at_each(&low, &high, &[0; LANES]);
            let mut places = [[0; 2]; LANES];
            for lane in 0..LANES {
                for end in 0..2 {
                    // `seeds::below` without its 128 bits, for n below 2^32.
                    let (high, low) = (u64::from(words[2 * end][lane]), u64::from(words[2 * end + 1][lane]));
                    places[lane][end] = ((high * n + ((low * n) >> 32)) >> 32) as u32;
                }
            }
            pairs.copy_from_slice(&places[..pairs.len()]);
        }
    }
}

/// Positives of a part for each non-edge, at most: fewer non-edges measure nothing.
const MAX_PER_NON_EDGE: u64 = 100;

/// Refuses a graph with hardly any non-edge to draw the negatives of validation and test from, for so many positives each. Fewer
/// negatives than positives may be set.
pub(super) fn check_non_edges(
    known: &Graph,
    settings: &SplitSettings,
    num_positives: &[usize],
) -> Result<(), SplitProblem> {
    let available = known.num_non_edges();
    if available == 0 {
        return Err(SplitProblem::NoNonEdge);
    }
    let are_few = |(part, &positives): (usize, &usize)| {
        let wanted = settings.num_negatives(part, positives).min(positives) as u64;
        wanted > available.saturating_mul(MAX_PER_NON_EDGE)
    };
    let few = num_positives.iter().enumerate().find(|&part| are_few(part));
    match (settings.evaluation_negatives, few) {
        (EvaluationNegatives::Exact, Some((_, &positives))) => Err(SplitProblem::FewNonEdges { available, positives }),
        _ => Ok(()),
    }
}

/// Negatives of validation (`part` 0) or test (1) for so many positives, among all nodes of `known`. Exact ones are also distinct;
/// where fewer exist than the settings ask for, all of them are taken.
pub(super) fn draw_once(
    known: &Arc<Graph>,
    settings: &SplitSettings,
    part: usize,
    num_positives: usize,
    stream: Stream,
) -> Vec<[u32; 2]> {
    let (negatives, count) = (settings.pooled(), settings.num_negatives(part, num_positives));
    let sampler = PairSampler::new(known.num_nodes(), NegativeRule::for_evaluation(negatives, known.clone()));
    match negatives {
        Negatives::Loose => sampler.draw_each(&[(stream, count)]),
        Negatives::Exact => draw_distinct(&sampler, stream, count, known.num_non_edges()),
    }
}

/// Distinct pairs without an edge, of which so many are `available`; fewer than `count` if there are no more.
fn draw_distinct(sampler: &PairSampler, stream: Stream, count: usize, available: u64) -> Vec<[u32; 2]> {
    if available <= 2 * count as u64 {
        // So few are left that the graph is as large as its complement: listing them is linear in its edges.
        let n = sampler.num_nodes as u32;
        let mut pairs: Vec<[u32; 2]> = match &sampler.allowed {
            Some(Allowed::NonEdges(non_edges)) => non_edges.listed().collect(),
            _ => {
                let pairs = (0..n).flat_map(|a| (a + 1..n).map(move |b| [a, b]));
                pairs.filter(|&pair| sampler.rule.allows(pair)).collect()
            }
        };
        stream.rng().shuffle(&mut pairs);
        pairs.truncate(count);
        return pairs;
    }
    let mut pairs = Vec::with_capacity(count);
    let mut seen = HashSet::with_capacity(count);
    let mut number = 0u64;
    while pairs.len() < count {
        threads::check();
        let drawn = sampler.draw_from(number, &[(stream, (count - pairs.len()).min(PAIRS_AT_A_TIME))]);
        number += drawn.len() as u64;
        pairs.extend(drawn.into_iter().filter(|&[a, b]| seen.insert([a.min(b), a.max(b)])));
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::generate;
    use crate::linalg::dispatch::testing::at_every_level;
    use crate::seeds::{Purpose, Seeds};

    fn stream(address: u64) -> Stream {
        Seeds::new(2).stream(Purpose::Negatives, &[address])
    }

    #[test]
    fn exact_negatives_are_never_edges_and_loose_ones_sometimes_are() {
        let graph = Arc::new(generate::communities(4, 10, 0.01, 1).graph);
        let share_of_edges = |rule: NegativeRule| {
            let mut pairs = Vec::new();
            PairSampler::new(40, rule).draw(stream(0), 20_000, &mut pairs);
            assert_eq!(pairs.len(), 20_000);
            pairs.iter().filter(|&&[a, b]| graph.has_edge(a, b)).count() as f64 / 20_000.0
        };
        let density = 2.0 * graph.num_edges() as f64 / (40.0 * 40.0);
        assert_eq!(share_of_edges(NegativeRule::NotLinked(graph.clone())), 0.0);
        assert!((share_of_edges(NegativeRule::Any) - density).abs() < 0.02);
        // Only one direction is checked, so half of the edges slip through.
        let loose = share_of_edges(NegativeRule::NotListed(graph.clone()));
        assert!(loose > 0.3 * density && loose < 0.8 * density, "{loose} of {density}");
    }

    #[test]
    fn many_pairs_at_once_are_those_of_their_numbers_at_every_level() {
        let graph = Arc::new(generate::communities(4, 10, 0.01, 1).graph);
        let every_other: Vec<u32> = (0..40).step_by(2).collect();
        for rule in [NegativeRule::Any, NegativeRule::NotLinked(graph.clone()), NegativeRule::NotListed(graph)] {
            for sampler in [PairSampler::new(40, rule.clone()), PairSampler::among(every_other.clone(), 40, rule)] {
                for (level, pairs) in at_every_level(|| {
                    let mut pairs = Vec::new();
                    sampler.draw(stream(1), 5003, &mut pairs);
                    pairs
                }) {
                    let agree = (0..).zip(&pairs).all(|(number, &pair)| pair == sampler.pair(stream(1), number));
                    assert!(agree, "{level:?}");
                }
            }
        }
    }

    #[test]
    fn pairs_of_different_classes_are_all_alike_likely_however_small_a_class() {
        // Two nodes among a thousand, at the end.
        let label = |i: u32| if i >= 998 { Some(1) } else { Some(0) };
        let labels: Arc<[Option<u32>]> = (0..1000).map(label).collect();
        let sampler = PairSampler::among((0..1000).collect(), 1000, NegativeRule::Unlike(labels.clone()));
        let mut pairs = Vec::new();
        sampler.draw(stream(3), 20_000, &mut pairs);
        assert!(pairs.iter().all(|&[a, b]| labels[a as usize] != labels[b as usize]));
        let share = |node: u32| pairs.iter().filter(|pair| pair.contains(&node)).count() as f64 / 20_000.0;
        assert!((share(998) - 0.5).abs() < 0.02 && (share(999) - 0.5).abs() < 0.02);
        let first = pairs.iter().filter(|pair| pair[0] >= 998).count() as f64 / 20_000.0;
        assert!((first - 0.5).abs() < 0.02, "{first}");
        assert!((0..998).all(|node| share(node) < 0.004));
    }

    #[test]
    fn the_only_non_edge_is_found() {
        let edges: Vec<[u32; 2]> =
            (0..30).flat_map(|a| (a + 1..30).map(move |b| [a, b])).filter(|e| *e != [7, 19]).collect();
        let (graph, _) = Graph::from_edges(30, &edges).unwrap();
        let sampler = PairSampler::new(30, NegativeRule::NotLinked(graph.clone().into()));
        let mut pairs = Vec::new();
        sampler.draw(stream(1), 5, &mut pairs);
        assert!(pairs.iter().all(|&[a, b]| [a.min(b), a.max(b)] == [7, 19]));
        assert_eq!(draw_distinct(&sampler, stream(1), 43, graph.num_non_edges()), [[7, 19]]);
    }

    /// A complete graph without the edges among its first nodes.
    fn all_but_a_block(num_nodes: u32, block: u32) -> Arc<Graph> {
        let pairs = (0..num_nodes).flat_map(|a| (a + 1..num_nodes).map(move |b| [a, b]));
        let edges: Vec<[u32; 2]> = pairs.filter(|[_, b]| *b >= block).collect();
        Graph::from_edges(num_nodes as usize, &edges).unwrap().0.into()
    }

    #[test]
    fn rare_non_edges_are_drawn_alike_and_without_a_search() {
        // By refused draws and a search, a million pairs would take hours.
        for (block, is_counted) in [(2, true), (60, true), (150, true), (220, false)] {
            let graph = all_but_a_block(1_000, block);
            let sampler = PairSampler::new(1_000, NegativeRule::NotLinked(graph.clone()));
            assert_eq!(sampler.allowed.is_some(), is_counted, "{block}");
            let mut pairs = Vec::new();
            sampler.draw(stream(4), 1_000_000, &mut pairs);
            assert!(pairs.iter().all(|&[a, b]| a != b && a < block && b < block));
            let of_first = pairs.iter().filter(|pair| pair[0] == 0).count() as f64 / 1e6;
            assert!((of_first * f64::from(block) - 1.0).abs() < 0.1, "{of_first} of {block}");
            assert_eq!(sampler.draw_each(&[(stream(4), 5_000)]), pairs[..5_000]);
            let distinct = draw_distinct(&sampler, stream(5), 20, graph.num_non_edges());
            assert_eq!(distinct.len(), if block == 2 { 1 } else { 20 });
        }
        // The search through a small graph is short.
        let small = PairSampler::new(10, NegativeRule::NotLinked(all_but_a_block(10, 2)));
        assert!(small.allowed.is_none());
    }

    #[test]
    fn loose_negatives_are_two_nodes_and_listed_pairs_of_like_nodes_are_none() {
        let (graph, _) = Graph::from_edges(4, &[[0, 1]]).unwrap();
        let listed = NegativeRule::for_evaluation(Negatives::Loose, graph.into());
        let allows = |rule: &NegativeRule, pairs: [[u32; 2]; 4]| pairs.map(|pair| rule.allows(pair));
        assert_eq!(allows(&listed, [[2, 2], [0, 1], [1, 0], [2, 3]]), [false, false, true, true]);
        let alike = NegativeRule::NotListedAlike([Some(0), Some(0), Some(1), Some(1)].into());
        assert_eq!(allows(&alike, [[0, 1], [1, 0], [2, 2], [1, 2]]), [false, true, false, true]);
    }

    #[test]
    fn negatives_of_exact_training_are_no_visible_edges() {
        let graph: Arc<Graph> = Graph::from_edges(4, &[[0, 1], [1, 2]]).unwrap().0.into();
        let rule = NegativeRule::for_training(Negatives::Exact, graph.clone());
        assert_eq!([[0, 1], [2, 1], [0, 2], [3, 3]].map(|pair| rule.allows(pair)), [false, false, true, false]);
        assert!(NegativeRule::for_training(Negatives::Loose, graph).allows([0, 1]));
    }

    #[test]
    fn exact_negatives_of_an_evaluation_are_distinct_and_drawn_from_all() {
        let (graph, _) = Graph::from_edges(30, &[[0, 1]]).unwrap();
        let sampler = PairSampler::new(30, NegativeRule::NotLinked(graph.clone().into()));
        // Of 434, by draws and by listing them all.
        for count in [200, 300] {
            let pairs = draw_distinct(&sampler, stream(2), count, graph.num_non_edges());
            let distinct: HashSet<[u32; 2]> = pairs.iter().map(|&[a, b]| [a.min(b), a.max(b)]).collect();
            assert_eq!((pairs.len(), distinct.len()), (count, count));
            let ends = |node: u32| distinct.iter().filter(|pair| pair.contains(&node)).count();
            let (first, last) = (ends(2), ends(29));
            assert!(first < 29 && last > 29 * count / 434 / 2, "{first} {last} of {count}");
        }
    }
}
