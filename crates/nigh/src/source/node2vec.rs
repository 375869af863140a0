//! node2vec (Grover and Leskovec, 2016): nodes that walks meet close together get vectors that point the same way.
//!
//! Vectors are learned as word2vec does, by skip-gram with negative sampling: for every pair of nodes within a window
//! of a walk, `x_u` moves to raise `log σ(<x_u, y_v>) + Σ_k log σ(-<x_u, y_(n_k)>)`, one step after the other. What
//! differs is the order of steps. Nodes are in a fixed number of buckets, and pairs are sorted by the buckets of their two
//! ends. Bucket `a` of `x` with bucket `a + r` of `y`, for all `a` at once, share no vector: one thread each, no lock,
//! and the same bits on any number of threads. Negatives are drawn from all nodes and sorted likewise, so that what
//! is learned does not depend on the buckets.

use crate::graph::{Graph, Walker};
use crate::linalg::dispatch::simd;
use crate::linalg::{Matrix, dot};
use crate::seeds::{Purpose, Rng, Seeds, unit};
use crate::threads;
use nigh_formats::memory::prefer_large_pages;
use rayon::prelude::*;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where the learning rate ends.
const LAST_RATE: f32 = 1e-4;
/// Buckets of nodes: as many threads can learn at once.
const BUCKETS: usize = 16;
/// Nodes that are worth another bucket.
const NODES_PER_BUCKET: usize = 32;
/// Places in walks whose pairs are sorted by one thread.
const PLACES_PER_CHUNK: usize = 256;
/// Chunks whose pairs are learned from at once: enough to share among threads, few enough for memory.
const CHUNKS_PER_BLOCK: RangeInclusive<usize> = 8..=256;
/// Pairs of one centre that are scored before any of them changes a vector.
const GROUP: usize = 8;
/// Columns that are updated at a time.
const LANES: usize = 16;

/// How node2vec walks and learns. The default is what its authors used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Node2Vec {
    /// Nodes of a walk.
    pub walk_length: usize,
    /// Walks from every node.
    pub walks_per_node: usize,
    /// The widest window: how far apart in a walk two nodes may be to count as a pair. Each place draws its own window
    /// up to this.
    pub context: usize,
    /// `p`: a large value keeps a walk from going straight back.
    pub return_parameter: f32,
    /// `q`: a large value keeps a walk near where it was, a small one sends it away.
    pub in_out_parameter: f32,
    /// Nodes drawn per pair that it is held against, in proportion to their frequency in walks to the power 3/4.
    pub negatives: usize,
    /// Passes over the walks.
    pub epochs: usize,
    /// The first learning rate; it falls to 1e-4 in a straight line.
    pub learning_rate: f32,
}

impl Default for Node2Vec {
    fn default() -> Node2Vec {
        Node2Vec {
            walk_length: 80,
            walks_per_node: 10,
            context: 10,
            return_parameter: 1.0,
            in_out_parameter: 1.0,
            negatives: 5,
            epochs: 1,
            learning_rate: 0.025,
        }
    }
}

impl Node2Vec {
    /// A vector of `dim` numbers for every node, as the rows of an `N × dim` matrix; the same bits on any number of
    /// threads. A node without neighbours keeps the small random vector that all start with.
    ///
    /// `progress` is called with the number of walks learned from, and of all walks.
    ///
    /// ```
    /// use nigh::{Graph, Node2Vec, Seeds};
    /// let (graph, _) = Graph::from_edges(4, &[[0, 1], [2, 3]])?;
    /// let vectors = Node2Vec::default().vectors(&graph, 8, Seeds::new(1), &mut |_, _| {});
    /// assert_eq!(vectors.shape(), [4, 8]);
    /// # Ok::<(), nigh::Error>(())
    /// ```
    ///
    /// # Panics
    /// Unless `p` and `q` are positive numbers, and length and context at least one.
    pub fn vectors(&self, graph: &Graph, dim: usize, seeds: Seeds, progress: &mut dyn FnMut(usize, usize)) -> Matrix {
        assert!(self.walk_length > 0 && self.context > 0, "a walk and its windows have at least one node");
        let walker = Walker::new(graph, self.return_parameter, self.in_out_parameter);
        let mut vectors = Vectors::new(graph.num_nodes(), dim, seeds);
        let starts: Vec<u32> = (0..graph.num_nodes() as u32).filter(|&node| graph.degree(node as usize) > 0).collect();
        let total = self.epochs * self.walks_per_node * starts.len();
        if dim == 0 || total == 0 {
            return vectors.matrix();
        }
        let noise = Noise::new(&self.frequencies(&walker, &starts, seeds));
        let walks_per_chunk = PLACES_PER_CHUNK.div_ceil(self.walk_length);
        // A block visits each node about once. In larger ones a node meets one bucket many times before it meets the
        // next, and ends further from where word2vec's order would leave it.
        let (fewest, most) = CHUNKS_PER_BLOCK.into_inner();
        let chunks_per_block = (graph.num_nodes() / PLACES_PER_CHUNK).clamp(fewest, most);
        let mut block: Vec<Chunk> = (0..chunks_per_block).map(|_| Chunk::default()).collect();
        let mut done = 0;
        for epoch in 0..self.epochs as u64 {
            for round in 0..self.walks_per_node as u64 {
                let stream = seeds.stream(Purpose::Walk, &[round]);
                let mut order = starts.clone();
                seeds.rng(Purpose::SkipGram, &[epoch, round]).shuffle(&mut order);
                let chunks: Vec<&[u32]> = order.chunks(walks_per_chunk).collect();
                for (number, starts) in chunks.chunks(chunks_per_block).enumerate() {
                    let block = &mut block[..starts.len()];
                    block.par_iter_mut().zip(starts).enumerate().for_each(|(at, (chunk, starts))| {
                        threads::check();
                        let number = number * chunks_per_block + at;
                        let walked = (done + at * walks_per_chunk) as f32 / total as f32;
                        chunk.rate = self.learning_rate + (LAST_RATE - self.learning_rate) * walked;
                        chunk.walks.clear();
                        starts.iter().for_each(|&s| walker.walk(s, self.walk_length, stream, &mut chunk.walks));
                        let rng = seeds.rng(Purpose::SkipGram, &[epoch, round, number as u64]);
                        chunk.collect_pairs(self, &noise, vectors.buckets, rng);
                    });
                    vectors.learn(block);
                    done += starts.iter().map(|starts| starts.len()).sum::<usize>();
                    progress(done, total);
                }
            }
        }
        vectors.matrix()
    }

    /// How often walks visit each node. The walks are made twice rather than kept: a large graph has gigabytes of them.
    fn frequencies(&self, walker: &Walker<'_>, starts: &[u32], seeds: Seeds) -> Vec<u64> {
        let counts: Vec<AtomicU64> =
            starts.last().map_or(0..0, |&last| 0..last + 1).map(|_| AtomicU64::new(0)).collect();
        for round in 0..self.walks_per_node as u64 {
            let stream = seeds.stream(Purpose::Walk, &[round]);
            starts.par_chunks(64).for_each_init(Vec::new, |walk, starts| {
                threads::check();
                walk.clear();
                starts.iter().for_each(|&start| walker.walk(start, self.walk_length, stream, walk));
                // Whole numbers add up to the same in any order.
                walk.iter().for_each(|&node: &u32| {
                    counts[node as usize].fetch_add(1, Ordering::Relaxed);
                });
            });
        }
        counts.into_iter().map(AtomicU64::into_inner).collect()
    }
}

/// Draws nodes in proportion to `frequency^(3/4)`, by the alias method (Walker, 1977; tables after Vose, 1991).
struct Noise {
    /// For each node, the share of its draws that stay, in units of `2^-32`, and the node that gets the others.
    table: Vec<[u32; 2]>,
}

impl Noise {
    fn new(frequencies: &[u64]) -> Noise {
        let powers: Vec<f64> = frequencies.iter().map(|&count| (count as f64).powf(0.75)).collect();
        let mean = powers.iter().sum::<f64>() / powers.len() as f64;
        let mut shares: Vec<f64> = powers.iter().map(|power| power / mean).collect();
        let mut table: Vec<[u32; 2]> = (0..shares.len() as u32).map(|node| [u32::MAX, node]).collect();
        let (mut poor, mut rich): (Vec<usize>, Vec<usize>) = (0..shares.len()).partition(|&node| shares[node] < 1.0);
        while let (Some(from), Some(&to)) = (poor.pop(), rich.last()) {
            table[from] = [(shares[from] * 4_294_967_296.0) as u32, to as u32];
            shares[to] -= 1.0 - shares[from];
            if shares[to] < 1.0 {
                poor.push(to);
                rich.pop();
            }
        }
        Noise { table }
    }

    /// The product's upper half is the node, its lower half the place within the node's share.
    #[inline]
    fn draw(&self, word: u32) -> u32 {
        let product = u64::from(word) * self.table.len() as u64;
        let node = (product >> 32) as usize;
        let [stays, other] = self.table[node];
        if (product as u32) < stays { node as u32 } else { other }
    }
}

/// Where vectors are stored: with `P = 2^shift` buckets, node `i` is in bucket `i mod P`, at row `i / P` of it.
#[derive(Debug, Clone, Copy)]
struct Buckets {
    shift: u32,
    rows: usize,
}

impl Buckets {
    /// Their number depends on the nodes, never on the threads.
    fn new(num_nodes: usize) -> Buckets {
        let shift = (num_nodes / NODES_PER_BUCKET).clamp(1, BUCKETS).ilog2();
        Buckets { shift, rows: num_nodes.div_ceil(1 << shift) }
    }

    /// `P`.
    fn count(self) -> usize {
        1 << self.shift
    }

    /// Bucket of a node, and row within it.
    #[inline(always)]
    fn place(self, node: u32) -> (u32, u32) {
        (node & ((1 << self.shift) - 1), node >> self.shift)
    }

    /// The row of a node among all rows, bucket after bucket.
    fn row(self, node: u32) -> usize {
        let (bucket, row) = self.place(node);
        bucket as usize * self.rows + row as usize
    }
}

/// A centre and a node that was met near it or drawn against it.
#[derive(Debug, Clone, Copy, Default)]
struct Pair {
    /// Row of `x` in its bucket.
    centre: u32,
    /// Twice the row of `y` in its bucket, plus one if the two met.
    other: u32,
}

/// The walks from a few nodes and their pairs, sorted by bucket of the centre and bucket of the other.
#[derive(Debug, Default)]
struct Chunk {
    walks: Vec<u32>,
    pairs: Vec<Pair>,
    /// Where the pairs of each two buckets start.
    starts: Vec<u32>,
    rate: f32,
    /// In the order of the walks, with the number of their two buckets.
    unsorted: Vec<(u16, Pair)>,
}

impl Chunk {
    fn collect_pairs(&mut self, settings: &Node2Vec, noise: &Noise, buckets: Buckets, mut rng: Rng) {
        self.unsorted.clear();
        for walk in self.walks.chunks(settings.walk_length) {
            for (at, &centre) in walk.iter().enumerate() {
                let window = 1 + rng.below(settings.context);
                let (bucket, centre) = buckets.place(centre);
                let mut push = |other: u32, met: u32| {
                    let (other_bucket, other) = buckets.place(other);
                    let cell = (bucket << buckets.shift | other_bucket) as u16;
                    self.unsorted.push((cell, Pair { centre, other: 2 * other + met }));
                };
                let near = at.saturating_sub(window)..(at + window + 1).min(walk.len());
                for &other in near.filter(|&place| place != at).map(|place| &walk[place]) {
                    push(other, 1);
                    for _ in 0..settings.negatives {
                        let drawn = noise.draw(rng.word());
                        if drawn != other {
                            push(drawn, 0);
                        }
                    }
                }
            }
        }
        self.sort(buckets.count() * buckets.count());
    }

    /// By counting, and stable: within two buckets pairs stay in the order of the walks.
    fn sort(&mut self, num_cells: usize) {
        self.starts.clear();
        self.starts.resize(num_cells + 2, 0);
        self.unsorted.iter().for_each(|&(cell, _)| self.starts[cell as usize + 2] += 1);
        (2..num_cells + 2).for_each(|cell| self.starts[cell] += self.starts[cell - 1]);
        self.pairs.resize(self.unsorted.len(), Pair::default());
        for &(cell, pair) in &self.unsorted {
            // One place ahead while filling, which leaves the starts right at the end.
            let slot = &mut self.starts[cell as usize + 1];
            self.pairs[*slot as usize] = pair;
            *slot += 1;
        }
    }

    fn cell(&self, cell: usize) -> &[Pair] {
        &self.pairs[self.starts[cell] as usize..self.starts[cell + 1] as usize]
    }
}

/// The vectors while they are learned: `x` of a node as a centre, `y` of a node near one.
struct Vectors {
    num_nodes: usize,
    dim: usize,
    buckets: Buckets,
    x: Vec<f32>,
    y: Vec<f32>,
}

impl Vectors {
    /// `x` uniform within `±1/2d`, `y` zero.
    fn new(num_nodes: usize, dim: usize, seeds: Seeds) -> Vectors {
        let buckets = Buckets::new(num_nodes);
        let size = buckets.count() * buckets.rows * dim;
        let [mut x, mut y] = [vec![0.0; size], vec![0.0; size]];
        prefer_large_pages(&mut x);
        prefer_large_pages(&mut y);
        let stream = seeds.stream(Purpose::SkipGram, &[]);
        for node in 0..num_nodes as u32 {
            for (at, four) in x[buckets.row(node) * dim..][..dim].chunks_mut(4).enumerate() {
                let words = stream.at_pair(node.into(), at as u64);
                four.iter_mut().zip(words).for_each(|(x, word)| *x = (unit(word) - 0.5) / dim as f32);
            }
        }
        Vectors { num_nodes, dim, buckets, x, y }
    }

    /// One step for each pair of a block: in every round each bucket of `x` meets another bucket of `y`.
    fn learn(&mut self, block: &[Chunk]) {
        let (count, bucket) = (self.buckets.count(), self.buckets.rows * self.dim);
        let mut ys: Vec<(usize, &mut [f32])> = self.y.chunks_mut(bucket).enumerate().collect();
        for _ in 0..count {
            self.x.par_chunks_mut(bucket).zip(&mut ys).enumerate().for_each(|(a, (x, (b, y)))| {
                threads::check();
                block.iter().for_each(|chunk| learn(chunk.cell(a * count + *b), chunk.rate, self.dim, x, y));
            });
            ys.rotate_left(1);
        }
    }

    /// `x` by node.
    fn matrix(self) -> Matrix {
        let order: Vec<u32> = (0..self.num_nodes as u32).map(|node| self.buckets.row(node) as u32).collect();
        Matrix::from_data(self.buckets.count() * self.buckets.rows, self.dim, self.x).permute_rows(&order)
    }
}

simd! {
    /// `s_v = rate (met - σ(<x_u, y_v>))`, `x_u += Σ_v s_v y_v` and `y_v += s_v x_u`, group by group.
    fn learn(pairs: &[Pair], rate: f32, dim: usize, x: &mut [f32], y: &mut [f32]) {
        for same_centre in pairs.chunk_by(|a, b| a.centre == b.centre) {
            let x = &mut x[same_centre[0].centre as usize * dim..][..dim];
            for group in same_centre.chunks(GROUP) {
                let (mut rows, mut met, mut steps) = ([0; GROUP], [0.0; GROUP], [0.0; GROUP]);
                for (at, pair) in group.iter().enumerate() {
                    rows[at] = (pair.other / 2) as usize * dim;
                    met[at] = (pair.other % 2) as f32;
                    steps[at] = dot(x, &y[rows[at]..][..dim]);
                }
                for at in 0..GROUP {
                    steps[at] = rate * (met[at] - sigmoid(steps[at]));
                }
                let (rows, steps) = (&rows[..group.len()], &steps[..group.len()]);
                let whole = dim - dim % LANES;
                // Loops, not closures: those would be compiled without the vector instructions.
                for first in (0..whole).step_by(LANES) {
                    step::<LANES>(first, rows, steps, x, y);
                }
                for first in whole..dim {
                    step::<1>(first, rows, steps, x, y);
                }
            }
        }
    }
}

/// A step in a few columns, which stay in registers from pair to pair.
#[inline(always)]
fn step<const COLUMNS: usize>(first: usize, rows: &[usize], steps: &[f32], x: &mut [f32], y: &mut [f32]) {
    let x = &mut x[first..][..COLUMNS];
    let mut change = [0.0; COLUMNS];
    for (&row, &step) in rows.iter().zip(steps) {
        let y = &mut y[row + first..][..COLUMNS];
        for c in 0..COLUMNS {
            change[c] += step * y[c];
            y[c] += step * x[c];
        }
    }
    for c in 0..COLUMNS {
        x[c] += change[c];
    }
}

/// `σ(s)` to seven digits, in arithmetic that the compiler can vectorise and that every system rounds alike.
#[inline(always)]
fn sigmoid(s: f32) -> f32 {
    use std::f32::consts::{LN_2, LOG2_E};
    // Adding this leaves the integer in the lowest bits.
    const ROUND: f32 = 12_582_912.0;
    // `e^-s = 2^whole 2^rest`, the second factor by its series.
    let exponent = (-s * LOG2_E).clamp(-60.0, 60.0);
    let whole = exponent + ROUND;
    let t = (exponent - (whole - ROUND)) * LN_2;
    let series = 1.0 + t * (1.0 + t * (1.0 / 2.0 + t * (1.0 / 6.0 + t * (1.0 / 24.0 + t * (1.0 / 120.0 + t / 720.0)))));
    let power = f32::from_bits(series.to_bits().wrapping_add(whole.to_bits() << 23));
    1.0 / (1.0 + power)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::generate;
    use crate::linalg::dispatch::testing::assert_same_bits_at_every_level;

    fn vectors(settings: Node2Vec, graph: &Graph, dim: usize, seed: u64) -> Matrix {
        settings.vectors(graph, dim, Seeds::new(seed), &mut |_, _| {})
    }

    fn cosine(h: &Matrix, i: usize, j: usize) -> f32 {
        let norm = |i: usize| dot(h.row(i), h.row(i)).sqrt();
        dot(h.row(i), h.row(j)) / (norm(i) * norm(j))
    }

    /// Two cliques of `size`, joined by an edge, and an isolated node.
    fn two_cliques(size: u32) -> Graph {
        let clique = |first: u32| (0..size).flat_map(move |i| (0..i).map(move |j| [first + i, first + j]));
        let edges: Vec<_> = clique(0).chain(clique(size)).chain([[0, size]]).collect();
        Graph::from_edges(2 * size as usize + 1, &edges).unwrap().0
    }

    #[test]
    fn two_cliques_are_told_apart() {
        let graph = two_cliques(8);
        for bias in [[1.0, 1.0], [0.5, 2.0]] {
            let settings =
                Node2Vec { return_parameter: bias[0], in_out_parameter: bias[1], epochs: 5, ..Node2Vec::default() };
            let h = vectors(settings, &graph, 16, 3);
            let pairs = |same: bool| {
                let all = (0..16).flat_map(|i| (0..i).map(move |j| (i, j)));
                let found = all.filter(|(i, j)| (i / 8 == j / 8) == same).map(|(i, j)| cosine(&h, i, j));
                found.collect::<Vec<_>>()
            };
            let (inside, across) = (pairs(true), pairs(false));
            let lowest = inside.iter().copied().fold(f32::INFINITY, f32::min);
            let highest = across.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            assert!(lowest > highest + 0.2, "{bias:?}: {lowest} inside, {highest} across");
        }
    }

    #[test]
    fn one_two_and_four_threads_give_the_same_bits() {
        let graph = generate::communities(10, 20, 0.05, 1).graph;
        for bias in [[1.0, 1.0], [0.25, 4.0]] {
            let settings = Node2Vec {
                walks_per_node: 2,
                walk_length: 20,
                epochs: 2,
                return_parameter: bias[0],
                in_out_parameter: bias[1],
                ..Node2Vec::default()
            };
            let on = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| vectors(settings, &graph, 20, 5))
            };
            let one = on(1);
            assert!(one == on(2) && one == on(4));
            assert!(one != vectors(settings, &graph, 20, 6));
        }
    }

    #[test]
    fn an_isolated_node_keeps_its_first_vector() {
        let graph = two_cliques(4);
        let first = Vectors::new(9, 6, Seeds::new(2)).matrix();
        let last = vectors(Node2Vec::default(), &graph, 6, 2);
        assert_eq!(first.row(8), last.row(8));
        assert!((0..8).all(|node| first.row(node) != last.row(node)));
        assert!(first.data().iter().all(|x| x.abs() <= 0.5 / 6.0));
    }

    #[test]
    fn the_smallest_graphs_and_vectors_work() {
        let shape = |num_nodes: usize, edges: &[[u32; 2]], dim: usize| {
            let (graph, _) = Graph::from_edges(num_nodes, edges).unwrap();
            let h = vectors(Node2Vec::default(), &graph, dim, 1);
            assert!(h.data().iter().all(|x| x.is_finite()));
            h.shape()
        };
        assert_eq!(shape(0, &[], 4), [0, 4]);
        assert_eq!(shape(3, &[], 4), [3, 4]);
        assert_eq!(shape(2, &[[0, 1]], 4), [2, 4]);
        assert_eq!(shape(5, &[[0, 1], [1, 4]], 1), [5, 1]);
        assert_eq!(shape(2, &[[0, 1]], 0), [2, 0]);
    }

    #[test]
    fn weights_decide_who_is_near() {
        // A ring in which every second edge is heavy.
        let edges: Vec<_> = (0..20u32).map(|i| [i, (i + 1) % 20]).collect();
        let weights: Vec<_> = (0..20).map(|i| if i % 2 == 0 { 50.0 } else { 1.0 }).collect();
        let (graph, _) = Graph::from_weighted_edges(20, &edges, &weights).unwrap();
        let h = vectors(Node2Vec { context: 2, epochs: 10, ..Node2Vec::default() }, &graph, 8, 4);
        let mean = |odd: usize| (0..10).map(|i| cosine(&h, 2 * i + odd, (2 * i + odd + 1) % 20)).sum::<f32>() / 10.0;
        assert!(mean(0) > mean(1) + 0.1, "{} {}", mean(0), mean(1));
    }

    #[test]
    fn progress_ends_with_all_walks() {
        let mut heard = Vec::new();
        let settings = Node2Vec { walks_per_node: 3, epochs: 2, ..Node2Vec::default() };
        settings.vectors(&two_cliques(3), 4, Seeds::new(1), &mut |done, total| heard.push((done, total)));
        assert_eq!(heard, (1..=6).map(|round| (6 * round, 36)).collect::<Vec<_>>());
    }

    #[test]
    fn noise_follows_the_frequencies_to_the_power_of_three_quarters() {
        let frequencies = [0, 1, 16, 81, 256, 3, 0];
        let noise = Noise::new(&frequencies);
        let mut rng = Seeds::new(1).rng(Purpose::SkipGram, &[]);
        let mut counts = [0f64; 7];
        (0..200_000).for_each(|_| counts[noise.draw(rng.word()) as usize] += 1.0);
        let sum: f64 = frequencies.iter().map(|&f| (f as f64).powf(0.75)).sum();
        for (count, frequency) in counts.into_iter().zip(frequencies) {
            let expected = 200_000.0 * (frequency as f64).powf(0.75) / sum;
            assert!((count - expected).abs() <= 5.0 * expected.sqrt(), "{count} {expected}");
        }
    }

    #[test]
    fn the_sigmoid_is_one() {
        for at in -2000..=2000 {
            let s = at as f32 * 0.01;
            let expected = 1.0 / (1.0 + (-f64::from(s)).exp());
            assert!((f64::from(sigmoid(s)) - expected).abs() < 3e-7, "{s}: {}", sigmoid(s));
        }
        assert!(sigmoid(1e30) == 1.0 && sigmoid(-1e30) < 1e-17);
    }

    #[test]
    fn a_step_is_the_gradient_of_the_objective() {
        // One pair that met and one that was drawn: steps agree with finite differences of the objective.
        let pairs = [Pair { centre: 0, other: 3 }, Pair { centre: 0, other: 0 }];
        let x: Vec<f32> = (0..5).map(|i| 0.3 - 0.1 * i as f32).collect();
        let y: Vec<f32> = (0..10).map(|i| (i as f32 * 0.7).sin()).collect();
        let objective = |x: &[f32], y: &[f32]| {
            let log_sigmoid = |s: f32| -(-f64::from(s)).exp().ln_1p();
            log_sigmoid(dot(x, &y[5..])) + log_sigmoid(-dot(x, &y[..5]))
        };
        let (mut moved_x, mut moved_y) = (x.clone(), y.clone());
        learn(&pairs, 1.0, 5, &mut moved_x, &mut moved_y);
        let nudged = |v: &[f32], at: usize, by: f32| {
            let mut v = v.to_vec();
            v[at] += by;
            v
        };
        for at in 0..5 {
            let slope = (objective(&nudged(&x, at, 1e-2), &y) - objective(&nudged(&x, at, -1e-2), &y)) / 2e-2;
            assert!((slope - f64::from(moved_x[at] - x[at])).abs() < 1e-3, "x {at}: {slope}");
        }
        for at in 0..10 {
            let slope = (objective(&x, &nudged(&y, at, 1e-2)) - objective(&x, &nudged(&y, at, -1e-2))) / 2e-2;
            assert!((slope - f64::from(moved_y[at] - y[at])).abs() < 1e-3, "y {at}: {slope}");
        }
    }

    #[test]
    fn the_bits_are_the_same_at_every_level() {
        let graph = generate::communities(5, 20, 0.05, 1).graph;
        let settings = Node2Vec { walks_per_node: 2, walk_length: 20, ..Node2Vec::default() };
        assert_same_bits_at_every_level(|| vectors(settings, &graph, 20, 5));
    }

    #[test]
    fn every_place_draws_its_own_window_up_to_the_widest() {
        let settings = Node2Vec { walk_length: 20_000, context: 4, negatives: 0, ..Node2Vec::default() };
        let (buckets, noise) = (Buckets::new(1), Noise::new(&[1]));
        let mut chunk = Chunk { walks: vec![0; 20_000], ..Chunk::default() };
        chunk.collect_pairs(&settings, &noise, buckets, Seeds::new(1).rng(Purpose::SkipGram, &[]));
        // Windows of 1 to 4 to both sides: five pairs per place on average.
        let mean = chunk.pairs.len() as f64 / 20_000.0;
        assert!((mean - 5.0).abs() < 0.1, "{mean}");
    }
}
