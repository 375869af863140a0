//! Pairs to evaluate on, and what each positive is ranked among. Negatives of one positive belong to its ends, so those of an
//! end are listed and scored once, however many positives it has.

use super::{Question, hash_pairs, renumber};
use crate::error::Result;
use crate::graph::Graph;
use crate::metric::{PairMetric, Standing};
use crate::threads;
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// Pairs to evaluate on, the same in every evaluation.
#[derive(Debug, Clone, PartialEq)]
pub struct EvaluationPairs {
    /// Pairs that belong together.
    pub positive: Vec<[u32; 2]>,
    /// Pairs that do not; none for `Ranking::AllNodes`, which lists them when they are scored.
    pub negative: Vec<[u32; 2]>,
    /// Which negatives each positive is ranked among.
    pub(crate) ranking: Ranking,
}

/// Which negatives a positive is ranked among.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ranking {
    /// All of them.
    Pooled,
    /// Those of its two ends: the negatives of end number `e` are at `starts[e]..starts[e + 1]`.
    PerPositive {
        /// The ends of positives.
        ends: Ends,
        /// Where the negatives of each end start, and the end.
        starts: Vec<usize>,
    },
    /// Each of its ends with every node that it has no known edge to.
    AllNodes {
        /// The ends of positives.
        ends: Ends,
        /// All known edges.
        known: Arc<Graph>,
        /// The nodes to rank with, in ascending order, if not all.
        others: Option<Vec<u32>>,
    },
}

/// The ends of positives.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ends {
    /// Every node that is an end, once.
    pub nodes: Vec<u32>,
    /// The places in `nodes` of the two ends of each positive.
    pub of_positives: Vec<[u32; 2]>,
}

impl Ends {
    /// Of these pairs.
    pub fn of(pairs: &[[u32; 2]]) -> Ends {
        let mut nodes: Vec<u32> = pairs.iter().flatten().copied().collect();
        nodes.sort_unstable();
        nodes.dedup();
        let place = |node: u32| nodes.binary_search(&node).expect("every end is listed") as u32;
        let of_positives = pairs.iter().map(|pair| pair.map(place)).collect();
        Ends { nodes, of_positives }
    }

    /// The positives of each end, in order: those of end `e` are at `starts[e]..starts[e + 1]`.
    fn positives(&self) -> (Vec<usize>, Vec<u32>) {
        let mut starts = vec![0; self.nodes.len() + 1];
        self.of_positives.iter().flatten().for_each(|&end| starts[end as usize + 1] += 1);
        (0..self.nodes.len()).for_each(|end| starts[end + 1] += starts[end]);
        let mut next = starts.clone();
        let mut positives = vec![0; 2 * self.of_positives.len()];
        for (positive, ends) in (0..).zip(&self.of_positives) {
            for &end in ends {
                positives[next[end as usize]] = positive;
                next[end as usize] += 1;
            }
        }
        (starts, positives)
    }
}

/// The pairs both of whose ends have an edge that message passing sees.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ConnectedPairs {
    /// Those pairs.
    pub pairs: EvaluationPairs,
    /// The fraction of positives among them.
    pub positives: f64,
    /// The fraction of negatives among them.
    pub negatives: f64,
}

/// Pairs that are scored at a time where they are not listed.
const PAIRS_AT_A_TIME: usize = 1 << 20;

/// Positives of an end above which its negatives are sorted rather than counted.
const WORTH_SORTING: usize = 12;

impl EvaluationPairs {
    /// Every positive is ranked among all negatives.
    pub fn pooled(positive: Vec<[u32; 2]>, negative: Vec<[u32; 2]>) -> EvaluationPairs {
        EvaluationPairs { positive, negative, ranking: Ranking::Pooled }
    }

    /// Every positive is ranked among the pairs of each of its ends with the nodes that `others` gives for that end.
    pub(super) fn per_positive<'a>(
        positive: Vec<[u32; 2]>,
        mut others: impl FnMut(u32) -> &'a [u32],
    ) -> EvaluationPairs {
        let ends = Ends::of(&positive);
        let (mut starts, mut negative) = (vec![0], Vec::new());
        for &end in &ends.nodes {
            negative.extend(others(end).iter().map(|&other| [end, other]));
            starts.push(negative.len());
        }
        EvaluationPairs { positive, negative, ranking: Ranking::PerPositive { ends, starts } }
    }

    /// Every positive is ranked among the pairs of each of its ends with every node that it has no known edge to.
    pub(super) fn among_all_nodes(positive: Vec<[u32; 2]>, known: Arc<Graph>) -> EvaluationPairs {
        let ends = Ends::of(&positive);
        EvaluationPairs { positive, negative: Vec::new(), ranking: Ranking::AllNodes { ends, known, others: None } }
    }

    /// Positives and negatives that an evaluation scores.
    pub fn num_scored(&self) -> u64 {
        let negative = match &self.ranking {
            Ranking::Pooled | Ranking::PerPositive { .. } => self.negative.len() as u64,
            Ranking::AllNodes { ends, .. } => (0..ends.nodes.len()).map(|end| self.num_negatives_of(end) as u64).sum(),
        };
        self.positive.len() as u64 + negative
    }

    /// First ends of the pairs that an evaluation scores, each counted once in positives and once in negatives at least.
    pub(crate) fn num_sources(&self) -> usize {
        let distinct = |pairs: &[[u32; 2]]| {
            let mut sources: Vec<u32> = pairs.iter().map(|pair| pair[0]).collect();
            sources.par_sort_unstable();
            sources.dedup();
            sources.len()
        };
        let negative = match &self.ranking {
            Ranking::Pooled | Ranking::PerPositive { .. } => distinct(&self.negative),
            Ranking::AllNodes { ends, .. } => ends.nodes.len(),
        };
        distinct(&self.positive) + negative
    }

    /// The fewest negatives that a positive is ranked among.
    pub fn fewest_negatives(&self) -> usize {
        match &self.ranking {
            Ranking::Pooled => self.negative.len(),
            Ranking::PerPositive { ends, .. } | Ranking::AllNodes { ends, .. } => {
                let counts: Vec<usize> = (0..ends.nodes.len()).map(|end| self.num_negatives_of(end)).collect();
                let of_both = |[a, b]: &[u32; 2]| counts[*a as usize] + counts[*b as usize];
                ends.of_positives.iter().map(of_both).min().unwrap_or(0)
            }
        }
    }

    /// The negatives of end number `end`.
    fn num_negatives_of(&self, end: usize) -> usize {
        match &self.ranking {
            Ranking::Pooled => self.negative.len(),
            Ranking::PerPositive { starts, .. } => starts[end + 1] - starts[end],
            Ranking::AllNodes { ends, known, others: None } => {
                known.num_nodes() - 1 - known.degree(ends.nodes[end] as usize)
            }
            Ranking::AllNodes { ends, known, others: Some(others) } => {
                unlinked(known, ends.nodes[end], others.iter().copied()).count()
            }
        }
    }

    /// The metric under a score: `score` gives one number per pair. Pairs come in portions where they are many.
    pub fn measure(&self, metric: PairMetric, score: impl FnMut(&[[u32; 2]]) -> Result<Vec<f32>>) -> Result<f64> {
        Ok(self.measure_all(&[metric], score)?[0])
    }

    /// As `measure`, for several metrics of the same scores.
    pub fn measure_all(
        &self,
        metrics: &[PairMetric],
        mut score: impl FnMut(&[[u32; 2]]) -> Result<Vec<f32>>,
    ) -> Result<Vec<f64>> {
        let positive = score(&self.positive)?;
        if self.ranking == Ranking::Pooled {
            let negative = score(&self.negative)?;
            return Ok(metrics.iter().map(|metric| metric.of(&positive, &negative)).collect());
        }
        let standings = self.standings(&positive, score)?;
        Ok(metrics.iter().map(|metric| metric.of_standings(&standings)).collect())
    }

    /// Where each positive stands among its own negatives.
    fn standings(
        &self,
        positive: &[f32],
        mut score: impl FnMut(&[[u32; 2]]) -> Result<Vec<f32>>,
    ) -> Result<Vec<Standing>> {
        let (Ranking::PerPositive { ends, .. } | Ranking::AllNodes { ends, .. }) = &self.ranking else {
            unreachable!("a pool has no standings");
        };
        let (of_end, positives) = ends.positives();
        let mut standings = vec![Standing::default(); positive.len()];
        let mut pairs = Vec::new();
        let mut first = 0;
        while first < ends.nodes.len() {
            threads::check();
            pairs.clear();
            let mut starts = vec![0];
            while first + starts.len() <= ends.nodes.len() && (starts.len() == 1 || pairs.len() < PAIRS_AT_A_TIME) {
                self.extend_with_negatives(first + starts.len() - 1, &mut pairs);
                starts.push(pairs.len());
            }
            let scores = score(&pairs)?;
            let counted: Vec<Vec<Standing>> = (0..starts.len() - 1)
                .into_par_iter()
                .map(|at| {
                    let asked = &positives[of_end[first + at]..of_end[first + at + 1]];
                    standings_among(&scores[starts[at]..starts[at + 1]], asked, positive)
                })
                .collect();
            for (end, counted) in (first..).zip(counted) {
                let asked = &positives[of_end[end]..of_end[end + 1]];
                for (&positive, standing) in asked.iter().zip(counted) {
                    let sum = &mut standings[positive as usize];
                    sum.above += standing.above;
                    sum.level += standing.level;
                    sum.total += standing.total;
                }
            }
            first += starts.len() - 1;
        }
        Ok(standings)
    }

    fn extend_with_negatives(&self, end: usize, pairs: &mut Vec<[u32; 2]>) {
        match &self.ranking {
            Ranking::Pooled => unreachable!("a pool has no ends"),
            Ranking::PerPositive { starts, .. } => {
                pairs.extend_from_slice(&self.negative[starts[end]..starts[end + 1]]);
            }
            Ranking::AllNodes { ends, known, others } => {
                let end = ends.nodes[end];
                let pair = |other| [end, other];
                match others {
                    Some(others) => pairs.extend(unlinked(known, end, others.iter().copied()).map(pair)),
                    None => pairs.extend(unlinked(known, end, 0..known.num_nodes() as u32).map(pair)),
                }
            }
        }
    }

    /// The pairs both of whose ends have an edge in `visible`; `None` if there is no such positive or negative. A node without
    /// an edge may give its pairs away, since few non-edges have one.
    pub(crate) fn connected(&self, visible: &Graph) -> Option<ConnectedPairs> {
        self.between(|node| visible.degree(node as usize) > 0)
    }

    /// As `connected`, for nodes of which it is known whether they have an edge.
    pub(crate) fn between(&self, has_edge: impl Fn(u32) -> bool) -> Option<ConnectedPairs> {
        let keeps = |pair: &[u32; 2]| pair.iter().all(|&node| has_edge(node));
        let kept: Vec<bool> = self.positive.iter().map(keeps).collect();
        let only = |ends: &Ends| Ends {
            nodes: ends.nodes.clone(),
            of_positives: ends
                .of_positives
                .iter()
                .zip(&kept)
                .filter(|(_, kept)| **kept)
                .map(|(ends, _)| *ends)
                .collect(),
        };
        let negative: Vec<[u32; 2]> = self.negative.iter().copied().filter(keeps).collect();
        let ranking = match &self.ranking {
            Ranking::Pooled => Ranking::Pooled,
            Ranking::PerPositive { ends, starts } => {
                let mut count = 0;
                let kept_of = |range: &[usize]| {
                    count += self.negative[range[0]..range[1]].iter().filter(|pair| keeps(pair)).count();
                    count
                };
                let starts = [0].into_iter().chain(starts.windows(2).map(kept_of)).collect();
                Ranking::PerPositive { ends: only(ends), starts }
            }
            Ranking::AllNodes { known, others, .. } => {
                let all = (0..known.num_nodes() as u32).filter(|&node| has_edge(node));
                let others = match others {
                    Some(others) => others.iter().copied().filter(|&node| has_edge(node)).collect(),
                    None => all.collect(),
                };
                // Ends without an edge have no positive left to rank.
                let ends = Ends::of(&self.positive.iter().copied().filter(keeps).collect::<Vec<_>>());
                Ranking::AllNodes { ends, known: known.clone(), others: Some(others) }
            }
        };
        let positive: Vec<[u32; 2]> = self.positive.iter().copied().filter(keeps).collect();
        let pairs = EvaluationPairs { positive, negative, ranking };
        let [all, left] = [self, &pairs].map(|pairs| [pairs.positive.len() as u64, pairs.num_scored()]);
        let [negatives, negatives_left] = [all[1] - all[0], left[1] - left[0]];
        (left[0] > 0 && negatives_left > 0).then(|| ConnectedPairs {
            pairs,
            positives: left[0] as f64 / all[0] as f64,
            negatives: negatives_left as f64 / negatives as f64,
        })
    }
}

/// Those of ascending nodes that `end` has no known edge to, itself left out.
fn unlinked(known: &Graph, end: u32, others: impl Iterator<Item = u32>) -> impl Iterator<Item = u32> {
    let mut linked = known.neighbours(end as usize);
    others.filter(move |&other| {
        while linked.first().is_some_and(|&first| first < other) {
            linked = &linked[1..];
        }
        other != end && linked.first() != Some(&other)
    })
}

/// Where each of the `asked` positives stands among these negatives.
fn standings_among(negative: &[f32], asked: &[u32], positive: &[f32]) -> Vec<Standing> {
    let total = negative.len();
    if asked.len() < WORTH_SORTING {
        let count = |&asked: &u32| {
            let score = positive[asked as usize];
            let above = negative.iter().filter(|other| **other > score).count();
            Standing { above, level: negative.iter().filter(|other| **other == score).count(), total }
        };
        return asked.iter().map(count).collect();
    }
    let mut sorted = negative.to_vec();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    let find = |&asked: &u32| {
        let score = positive[asked as usize];
        let above = sorted.partition_point(|other| *other > score);
        Standing { above, level: sorted.partition_point(|other| *other >= score) - above, total }
    };
    asked.iter().map(find).collect()
}

impl Question for EvaluationPairs {
    fn renumber(&mut self, places: &Arc<[u32]>) {
        renumber(places, &mut self.positive);
        renumber(places, &mut self.negative);
        let moved = |nodes: &mut Vec<u32>| nodes.iter_mut().for_each(|node| *node = places[*node as usize]);
        match &mut self.ranking {
            Ranking::Pooled => {}
            Ranking::PerPositive { ends, .. } => moved(&mut ends.nodes),
            Ranking::AllNodes { ends, known, others } => {
                moved(&mut ends.nodes);
                if let Some(others) = others {
                    moved(others);
                    others.sort_unstable();
                }
                let mut order = vec![0; places.len()];
                (0..).zip(places.iter()).for_each(|(node, &place)| order[place as usize] = node);
                *known = known.permute(&order).expect("every node once").into();
            }
        }
    }

    fn hash(&self, hash: &mut Sha256) {
        hash_pairs(&self.positive, hash);
        hash_pairs(&self.negative, hash);
        match &self.ranking {
            Ranking::Pooled => {}
            Ranking::PerPositive { starts, .. } => {
                hash.update("per positive");
                starts.iter().for_each(|start| hash.update((*start as u64).to_le_bytes()));
            }
            Ranking::AllNodes { known, others, .. } => {
                hash.update("all nodes");
                hash.update(known.digest());
                others.iter().flatten().for_each(|other| hash.update(other.to_le_bytes()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::generate;
    use crate::seeds::{Purpose, Seeds};

    const METRICS: [PairMetric; 4] =
        [PairMetric::Auc, PairMetric::AveragePrecision, PairMetric::HitsAt(5), PairMetric::MeanReciprocalRank];

    /// Symmetric, with many equal scores.
    fn score(pairs: &[[u32; 2]]) -> Result<Vec<f32>> {
        Ok(pairs.iter().map(|&[a, b]| ((a * b + a + b) % 37) as f32).collect())
    }

    fn example() -> (Arc<Graph>, Vec<[u32; 2]>) {
        let known = generate::communities(6, 10, 0.05, 2).graph;
        let mut edges: Vec<[u32; 2]> = known.edges().collect();
        Seeds::new(1).rng(Purpose::Split, &[]).shuffle(&mut edges);
        edges.truncate(80);
        (known.into(), edges)
    }

    /// The mean of what each positive gives alone.
    fn one_by_one(pairs: &[[u32; 2]], metric: PairMetric, negatives: impl Fn([u32; 2]) -> Vec<[u32; 2]>) -> f64 {
        let alone = |&pair: &[u32; 2]| metric.of(&score(&[pair]).unwrap(), &score(&negatives(pair)).unwrap());
        pairs.iter().map(alone).sum::<f64>() / pairs.len() as f64
    }

    #[test]
    fn a_positive_with_negatives_of_its_own_counts_as_if_it_were_asked_alone() {
        let (known, positive) = example();
        let n = known.num_nodes() as u32;
        let others = |end: u32| (0..n).filter(|&node| node != end && !known.has_edge(end, node)).collect::<Vec<_>>();
        let lists: Vec<Vec<u32>> =
            (0..n).map(|end| others(end).into_iter().step_by(1 + end as usize % 3).collect()).collect();
        let own = EvaluationPairs::per_positive(positive.clone(), |end| &lists[end as usize]);
        let all = EvaluationPairs::among_all_nodes(positive.clone(), known.clone());
        for metric in METRICS {
            let both = |of: &dyn Fn(u32) -> Vec<u32>, pair: [u32; 2]| -> Vec<[u32; 2]> {
                pair.iter().flat_map(|&end| of(end).into_iter().map(move |other| [end, other])).collect()
            };
            let expected = one_by_one(&positive, metric, |pair| both(&|end| lists[end as usize].clone(), pair));
            assert!((own.measure(metric, score).unwrap() - expected).abs() < 1e-12);
            let expected = one_by_one(&positive, metric, |pair| both(&others, pair));
            assert!((all.measure(metric, score).unwrap() - expected).abs() < 1e-12);
        }
        let fewest = positive.iter().map(|pair| pair.map(|end| lists[end as usize].len()).iter().sum::<usize>()).min();
        assert_eq!(Some(own.fewest_negatives()), fewest);
        let listed: usize = Ends::of(&positive).nodes.iter().map(|&end| others(end).len()).sum();
        assert_eq!(all.num_scored() as usize, positive.len() + listed);
    }

    #[test]
    fn counting_and_sorting_agree() {
        let positive: Vec<f32> = (0..40).map(|at| (at % 7) as f32).collect();
        let negative: Vec<f32> = (0..100).map(|at| (at % 11) as f32).collect();
        let asked: Vec<u32> = (0..40).collect();
        let alone = asked.iter().flat_map(|asked| standings_among(&negative, &[*asked], &positive));
        assert!(standings_among(&negative, &asked, &positive).into_iter().eq(alone));
    }

    #[test]
    fn the_order_of_nodes_changes_no_figure() {
        let (known, positive) = example();
        let n = known.num_nodes() as u32;
        let mut places: Vec<u32> = (0..n).collect();
        Seeds::new(4).rng(Purpose::Order, &[]).shuffle(&mut places);
        let mut order = vec![0; n as usize];
        (0..).zip(&places).for_each(|(node, &place)| order[place as usize] = node);
        let lists: Vec<Vec<u32>> =
            (0..n).map(|end| (0..n).filter(|&node| !known.has_edge(end, node)).collect()).collect();
        let kinds = [
            EvaluationPairs::per_positive(positive.clone(), |end| &lists[end as usize]),
            EvaluationPairs::among_all_nodes(positive.clone(), known.clone()),
            EvaluationPairs::pooled(positive.clone(), lists[1].iter().map(|&other| [1, other]).collect()),
        ];
        for before in kinds {
            let mut after = before.clone();
            after.renumber(&places.clone().into());
            let by_place = |pairs: &[[u32; 2]]| {
                score(&pairs.iter().map(|pair| pair.map(|place| order[place as usize])).collect::<Vec<_>>())
            };
            for metric in METRICS {
                assert_eq!(after.measure(metric, by_place).unwrap(), before.measure(metric, score).unwrap());
            }
        }
    }

    #[test]
    fn connected_pairs_have_an_edge_at_both_ends() {
        let (known, positive) = example();
        let n = known.num_nodes() as u32;
        // Nodes 0 to 9 and what they touch lose their edges.
        let visible = known.with_edges(&known.edges().filter(|&[a, _]| a >= 10).collect::<Vec<_>>());
        let has_edge = |node: u32| visible.degree(node as usize) > 0;
        let keeps = |pair: &[u32; 2]| pair.iter().all(|&node| has_edge(node));
        let others = |end: u32| (0..n).filter(|&node| node != end && !known.has_edge(end, node)).collect::<Vec<_>>();
        let lists: Vec<Vec<u32>> = (0..n).map(others).collect();
        let kept: Vec<[u32; 2]> = positive.iter().copied().filter(keeps).collect();
        let lists_kept: Vec<Vec<u32>> =
            lists.iter().map(|list| list.iter().copied().filter(|&node| has_edge(node)).collect()).collect();
        let pool: Vec<[u32; 2]> = lists[40].iter().map(|&other| [40, other]).collect();
        let pool_kept: Vec<[u32; 2]> = pool.iter().copied().filter(keeps).collect();
        let own = |positive: &[[u32; 2]], lists: &[Vec<u32>]| {
            EvaluationPairs::per_positive(positive.to_vec(), |end| &lists[end as usize])
        };
        let cases = [
            (own(&positive, &lists), own(&kept, &lists_kept)),
            (EvaluationPairs::among_all_nodes(positive.clone(), known.clone()), own(&kept, &lists_kept)),
            (EvaluationPairs::pooled(positive.clone(), pool), EvaluationPairs::pooled(kept.clone(), pool_kept)),
        ];
        for (whole, expected) in cases {
            let connected = whole.connected(&visible).unwrap();
            assert_eq!(connected.positives, kept.len() as f64 / positive.len() as f64);
            assert!(connected.negatives > 0.5 && connected.negatives < 1.0);
            for metric in METRICS {
                let [found, expected] =
                    [&connected.pairs, &expected].map(|pairs| pairs.measure(metric, score).unwrap());
                assert_eq!(found, expected);
            }
            assert_eq!(whole.connected(&known).map(|all| (all.positives, all.negatives)), Some((1.0, 1.0)));
        }
        assert!(own(&positive, &lists).connected(&Graph::from_edges(n as usize, &[]).unwrap().0).is_none());
    }
}
