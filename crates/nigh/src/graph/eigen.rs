//! The leading eigenvectors of the adjacency matrix: coordinates in which linked nodes are near each other.
//!
//! A block of vectors, wider than wanted, is filtered by a Chebyshev polynomial of `A` that is small on the
//! unwanted part of the spectrum and steep beyond it, made orthonormal, and turned into the best approximations
//! within its span (Rayleigh and Ritz), until they satisfy `A v = λ v`.
//!
//! Why not Lanczos: a graph has few links per node, so a product with `A` costs far less than making vectors orthogonal,
//! and a filter spends many products on each time it does so. And a graph has eigenvalues of any multiplicity (equal
//! components, leaves of one hub): a block that is wider than `count` holds them all, whereas a narrow Krylov space
//! does not show how many there are.

mod pass;

use super::Graph;
use crate::linalg::Matrix;
use crate::linalg::symmetric::symmetric;
use crate::linalg::tall::{Block, orthonormalise, sign};
use crate::seeds::{Purpose, Seeds};
use pass::pass;
use rayon::prelude::*;

/// Pairs are good enough when `|A v - λ v|` is at most this times the largest `|λ|`.
pub const TOLERANCE: f64 = 1e-6;

/// Rounds of filtering before the search gives up. Usual graphs take five.
const MAX_ROUNDS: usize = 40;

/// Products with `A` in one round.
const MAX_DEGREE: usize = 200;

/// Which eigenvalues lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leading {
    /// Those with the largest `|λ|`; of `λ` and `-λ`, as bipartite graphs have them, the positive one first.
    Magnitude,
    /// The largest `λ`.
    #[cfg_attr(not(test), expect(dead_code, reason = "the search has both cases, and models use one"))]
    Value,
}

/// Some eigenvalues of a graph and their eigenvectors, leading ones first.
#[derive(Debug, Clone, PartialEq)]
pub struct Eigen {
    /// `λ`, leading ones first.
    pub values: Vec<f64>,
    /// `N × count`: the column of each value, of unit length, its largest entry positive.
    pub vectors: Matrix,
    /// The largest `|A v - λ v|` of all pairs, as a part of the largest `|λ|`. At most [`TOLERANCE`] unless the search
    /// gave up.
    pub residual: f64,
}

/// The `count` leading eigenpairs of the adjacency matrix `A`, with weights if the graph has them, without self loops.
///
/// A graph of fewer nodes has fewer pairs: the columns that are missing are zero, and so are their values. The sign of
/// a column makes its largest entry positive; the first of them, if several differ by less than a ten-thousandth.
/// Where eigenvalues coincide, any basis of their common space is right: `seeds` and the order of the nodes
/// decide which one, the same on any number of threads. So is the choice among more pairs of
/// one rank than are wanted.
///
/// The search always ends. On a graph whose eigenvalues are too dense to separate (a path of many thousand nodes)
/// it may give up: the pairs are then the best that were found, and `residual` is above [`TOLERANCE`].
pub fn leading(graph: &Graph, count: usize, by: Leading, seeds: Seeds) -> Eigen {
    let n = graph.num_nodes();
    let wanted = count.min(n);
    if wanted == 0 {
        return Eigen { values: vec![0.0; count], vectors: Matrix::zeros(n, count), residual: 0.0 };
    }
    // Half as many again: convergence depends on the gap between the last one wanted and the first one outside.
    let width = (wanted + (wanted / 2).max(8)).next_multiple_of(8);
    let stream = seeds.stream(Purpose::Eigen, &[]);
    let mut x = if 2 * width < n { Block::zeros(n, width) } else { Block::identity(n) };
    if x.width < n {
        orthonormalise(&mut x, stream);
    }
    let size = spectral_radius(graph);
    let (mut round, mut degree, mut before) = (0, 8, f64::INFINITY);
    loop {
        let ritz = Ritz::rotate(graph, &mut x, by);
        let size = ritz.values.iter().fold(size, |size, value| size.max(value.abs()));
        let residual = ritz.residual(wanted) / size.max(f64::MIN_POSITIVE);
        // A block as wide as the graph is exact at once.
        if residual <= TOLERANCE || x.width == n || round == MAX_ROUNDS {
            return finish(&x, &ritz.values[..wanted], residual, count);
        }
        if by == Leading::Magnitude && round > 3 && residual > before / 2.0 {
            let mixed = (0..wanted).filter(|&column| ritz.residuals[column] > TOLERANCE * size);
            unmix(graph, &mut x, wanted, mixed.collect());
            before = f64::INFINITY;
        } else {
            Filter::new(&ritz, wanted, by, size, degree).apply(graph, &mut x);
            degree = (2 * degree).min(MAX_DEGREE);
            before = residual;
        }
        orthonormalise(&mut x, stream);
        round += 1;
    }
}

/// Puts `A v` in the place of spare columns for columns `v` that no filter can improve.
///
/// The filter treats `λ` and `-λ` alike. Where there are more of them than the block is wide, as in a graph of many equal
/// pairs, a column may be a mixture `u + w` of both. `A (u + w) = λ (u - w)`, which with the mixture gives
/// `u` and `w`.
fn unmix(graph: &Graph, x: &mut Block, wanted: usize, mixed: Vec<usize>) {
    let mut ax = Block::zeros(x.rows(), x.width);
    pass(graph, x, [1.0, 0.0, 0.0], &mut ax);
    for (x, ax) in x.data.chunks_exact_mut(x.width).zip(ax.data.chunks_exact(x.width)) {
        x[wanted..].iter_mut().zip(&mixed).for_each(|(spare, &column)| *spare = ax[column]);
    }
}

/// An estimate of the largest `|λ|`, from below. It converges quickly: no entry of the eigenvector is negative, so a start of
/// all ones has a large part of it.
fn spectral_radius(graph: &Graph) -> f64 {
    let mut x = Block { width: 1, data: vec![1.0; graph.num_nodes()] };
    let mut y = x.clone();
    let mut size = 0.0;
    for _ in 0..20 {
        pass(graph, &x, [1.0, 0.0, 0.0], &mut y);
        let [xx, yy] = [x.gram(&x)[0], y.gram(&y)[0]];
        if yy == 0.0 {
            return 0.0;
        }
        size = (yy / xx).sqrt();
        y.data.iter_mut().for_each(|y| *y /= yy.sqrt());
        std::mem::swap(&mut x, &mut y);
    }
    size
}

/// `T_degree((A - middle) / half)`: within `middle ± half` it stays between -1 and 1, beyond it grows as fast as a
/// polynomial of its degree can.
struct Filter {
    middle: f64,
    half: f64,
    degree: usize,
}

impl Filter {
    /// Keeps the first `wanted` of what was found so far and damps the rest of the spectrum, by a polynomial of at most
    /// this degree.
    fn new(ritz: &Ritz, wanted: usize, by: Leading, size: f64, degree: usize) -> Filter {
        let mut filter = Filter::up_to_degree(&ritz.ranks, wanted, by, size, degree);
        // The error of a leading vector is amplified in all columns and must not exceed what they hold.
        let drowned = |filter: &Filter| {
            let mut leading = ritz.ranks.iter().zip(&ritz.residuals);
            leading.any(|(&rank, residual)| (residual / size).max(1e-13) * filter.gain(rank) > 1e5)
        };
        while filter.degree > 1 && drowned(&filter) {
            filter = Filter::up_to_degree(&ritz.ranks, wanted, by, size, filter.degree - 1);
        }
        // No more than ten times the gain that is still needed.
        let enough = 10.0 * ritz.residual(wanted) / (TOLERANCE * size);
        while filter.degree > 1 && filter.gain(ritz.ranks[wanted - 1]) > enough {
            filter.degree -= 1;
        }
        filter
    }

    fn up_to_degree(ranks: &[f64], wanted: usize, by: Leading, size: f64, degree: usize) -> Filter {
        let (at, last) = (ranks[wanted - 1], ranks[ranks.len() - 1]);
        // The cut leaves the last one wanted beyond it by enough to grow e^4/2-fold. If it were always at the last value of
        // the block, a cluster of more values than the block has columns would make no progress.
        let beyond = (4.0 / degree as f64).cosh();
        let (low, high) = match by {
            Leading::Magnitude => {
                let cut = last.min(at / beyond).max(1e-3 * size);
                (-cut, cut)
            }
            Leading::Value => {
                // No eigenvalue is below minus the largest. The estimate of that one comes from below.
                let low = -1.02 * size;
                (low, last.min((2.0 * at + (beyond - 1.0) * low) / (1.0 + beyond)))
            }
        };
        Filter { middle: (high + low) / 2.0, half: (high - low) / 2.0, degree }
    }

    /// `|T(value)|`, or 1 within the interval.
    fn gain(&self, value: f64) -> f64 {
        let x = ((value - self.middle) / self.half).abs().max(1.0);
        (self.degree as f64 * x.acosh()).cosh()
    }

    /// `X = T(A) X` by the three-term recurrence.
    fn apply(&self, graph: &Graph, x: &mut Block) {
        let (scale, shift) = (1.0 / self.half, -self.middle / self.half);
        let mut next = Block::zeros(x.rows(), x.width);
        pass(graph, x, [scale, shift, 0.0], &mut next);
        std::mem::swap(x, &mut next);
        for _ in 1..self.degree {
            pass(graph, x, [2.0 * scale, 2.0 * shift, -1.0], &mut next);
            std::mem::swap(x, &mut next);
        }
    }
}

/// The best approximations to eigenpairs that the span of a block holds, leading ones first.
struct Ritz {
    values: Vec<f64>,
    residuals: Vec<f64>,
    /// What they are ordered by.
    ranks: Vec<f64>,
}

impl Ritz {
    /// The largest `|A v - λ v|` of the first pairs.
    fn residual(&self, wanted: usize) -> f64 {
        self.residuals[..wanted].iter().fold(0.0, |largest, &residual| largest.max(residual))
    }

    /// Turns the orthonormal `x` so that its columns are the vectors.
    fn rotate(graph: &Graph, x: &mut Block, by: Leading) -> Ritz {
        let width = x.width;
        let mut ax = Block::zeros(x.rows(), width);
        pass(graph, x, [1.0, 0.0, 0.0], &mut ax);
        let (values, rotation) = symmetric(x.gram(&ax), width);
        let rotation: Vec<f64> = (0..width * width).map(|at| rotation[at % width * width + at / width]).collect();
        let mut spare = Block::zeros(x.rows(), width);
        ax.times(&rotation, &mut spare);
        x.times(&rotation, &mut ax);
        let (mut rest, turned) = (spare, ax);
        // A X less X Λ.
        rest.data.par_chunks_mut(width).zip(turned.data.par_chunks(width)).for_each(|(ax, x)| {
            ax.iter_mut().zip(x.iter().zip(&values)).for_each(|(ax, (x, value))| *ax -= value * x);
        });
        let residuals: Vec<f64> = rest.squared_lengths().into_iter().map(f64::sqrt).collect();
        let rank = |(&value, &residual): (&f64, &f64)| match by {
            // |A x|, which is |λ| in the end. On the way, the value of a mixture of λ and -λ may be about zero.
            Leading::Magnitude => value.hypot(residual),
            Leading::Value => value,
        };
        let ranks: Vec<f64> = values.iter().zip(&residuals).map(rank).collect();
        let order = leading_first(&ranks, &values);
        x.data.par_chunks_mut(width).zip(turned.data.par_chunks(width)).for_each(|(x, turned)| {
            x.iter_mut().zip(&order).for_each(|(x, &k)| *x = turned[k]);
        });
        let [values, residuals, ranks] = [values, residuals, ranks].map(|all| order.iter().map(|&k| all[k]).collect());
        Ritz { values, residuals, ranks }
    }
}

/// Positions by rank, the highest first; where ranks are equal but for rounding, as those of `λ` and `-λ` are, by value.
fn leading_first(ranks: &[f64], values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..ranks.len()).collect();
    order.sort_by(|&i, &j| ranks[j].total_cmp(&ranks[i]));
    let near = TOLERANCE * values.iter().fold(0.0, |size: f64, value| size.max(value.abs()));
    let mut rest = &mut order[..];
    while let Some(&head) = rest.first() {
        let equal = rest.partition_point(|&k| ranks[k] >= ranks[head] - near);
        let (group, others) = rest.split_at_mut(equal);
        group.sort_by(|&i, &j| values[j].total_cmp(&values[i]));
        rest = others;
    }
    order
}

/// The result: the first columns of `x` with their signs.
fn finish(x: &Block, values: &[f64], residual: f64, count: usize) -> Eigen {
    let signs: Vec<f64> = (0..values.len()).map(|column| sign(x, column)).collect();
    let entry = |i: usize, c: usize| signs.get(c).map_or(0.0, |sign| (sign * x.data[i * x.width + c]) as f32);
    let values = values.iter().copied().chain(std::iter::repeat(0.0)).take(count).collect();
    Eigen { values, vectors: Matrix::from_fn(x.rows(), count, entry), residual }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::generate;
    use crate::linalg::dispatch::testing::assert_same_bits_at_every_level;
    use crate::seeds::Rng;

    fn graph(num_nodes: usize, edges: &[[u32; 2]]) -> Graph {
        Graph::from_edges(num_nodes, edges).unwrap().0
    }

    fn cliques(sizes: &[u32]) -> Graph {
        let starts = sizes.iter().scan(0, |next, &size| Some(std::mem::replace(next, *next + size)));
        let clique = |(start, &size): (u32, &u32)| {
            (start..start + size).flat_map(move |a| (a + 1..start + size).map(move |b| [a, b]))
        };
        let edges: Vec<_> = starts.zip(sizes).flat_map(clique).collect();
        graph(sizes.iter().sum::<u32>() as usize, &edges)
    }

    /// `num_edges` pairs, each with one end below `middle` and one not below `from`.
    fn random_edges(num_nodes: usize, middle: usize, from: usize, num_edges: usize) -> Vec<[u32; 2]> {
        let mut rng: Rng = Seeds::new(5).rng(Purpose::Generate, &[num_nodes as u64]);
        (0..num_edges).map(|_| [rng.below(middle) as u32, (from + rng.below(num_nodes - from)) as u32]).collect()
    }

    fn star(num_nodes: u32) -> Graph {
        graph(num_nodes as usize, &(1..num_nodes).map(|leaf| [0, leaf]).collect::<Vec<_>>())
    }

    fn path(num_nodes: u32) -> Graph {
        graph(num_nodes as usize, &(1..num_nodes).map(|i| [i - 1, i]).collect::<Vec<_>>())
    }

    fn weighted() -> Graph {
        let edges = random_edges(150, 150, 0, 500);
        let weights: Vec<f32> = (0..edges.len()).map(|at| 0.1 + (at * 37 % 101) as f32 * 0.05).collect();
        Graph::from_weighted_edges(150, &edges, &weights).unwrap().0
    }

    fn graphs() -> Vec<(&'static str, Graph)> {
        let mixed: Vec<_> = path(60).edges().chain(cliques(&[61, 5, 5, 2]).edges().filter(|e| e[0] > 60)).collect();
        vec![
            ("no edges", graph(200, &[])),
            ("a single node", graph(1, &[])),
            ("a pair", graph(2, &[[0, 1]])),
            ("a pair among isolated nodes", graph(180, &[[3, 170]])),
            ("a small path", path(9)),
            ("a path", path(150)),
            ("a small star", star(12)),
            ("a star", star(150)),
            ("a complete graph", cliques(&[130])),
            ("a small complete graph", cliques(&[20])),
            ("equal cliques", cliques(&[4; 40])),
            ("equal pairs", cliques(&[2; 90])),
            ("cliques of all sizes", cliques(&[9, 9, 8, 8, 8, 7, 6, 5, 5, 5, 4, 4, 4, 4, 3, 3, 2, 2, 2, 1, 1, 12, 12])),
            ("several components", graph(160, &mixed)),
            ("a bipartite graph", graph(150, &random_edges(150, 60, 60, 400))),
            ("a grid", generate::grid(20, 20)),
            ("a random graph", graph(160, &random_edges(160, 160, 0, 480))),
            ("a sparse random graph", graph(200, &random_edges(200, 200, 0, 150))),
            ("a weighted graph", weighted()),
        ]
    }

    fn adjacency(graph: &Graph) -> Vec<Vec<f64>> {
        let n = graph.num_nodes();
        let mut a = vec![vec![0.0; n]; n];
        for ([i, j], weight) in graph.edges().zip(graph.edge_weights()) {
            a[i as usize][j as usize] = f64::from(weight);
            a[j as usize][i as usize] = f64::from(weight);
        }
        a
    }

    /// All eigenpairs by Jacobi's rotations, which share nothing with the search. Row `k` is vector `k`.
    fn jacobi(mut a: Vec<Vec<f64>>) -> (Vec<f64>, Vec<Vec<f64>>) {
        let n = a.len();
        let mut vectors: Vec<Vec<f64>> =
            (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
        let turn = |rows: &mut [Vec<f64>], p: usize, q: usize, c: f64, s: f64| {
            let (head, tail) = rows.split_at_mut(q);
            for (x, y) in head[p].iter_mut().zip(&mut tail[0]) {
                (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
            }
        };
        for _ in 0..60 {
            let mut moved = false;
            for p in 0..n {
                for q in p + 1..n {
                    if a[p][q].abs() < 1e-13 {
                        continue;
                    }
                    moved = true;
                    let slope = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
                    let tangent = 1f64.copysign(slope) / (slope.abs() + slope.hypot(1.0));
                    let c = 1.0 / tangent.hypot(1.0);
                    turn(&mut a, p, q, c, c * tangent);
                    for row in &mut a {
                        let (x, y) = (row[p], row[q]);
                        (row[p], row[q]) = (c * x - c * tangent * y, c * tangent * x + c * y);
                    }
                    turn(&mut vectors, p, q, c, c * tangent);
                }
            }
            if !moved {
                break;
            }
        }
        ((0..n).map(|i| a[i][i]).collect(), vectors)
    }

    fn dot(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    fn columns(eigen: &Eigen) -> Vec<Vec<f64>> {
        let column = |c: usize| (0..eigen.vectors.rows()).map(|i| f64::from(eigen.vectors.row(i)[c])).collect();
        (0..eigen.vectors.cols()).map(column).collect()
    }

    #[test]
    fn pairs_are_those_of_a_dense_solver_whatever_their_multiplicity() {
        for (name, graph) in graphs() {
            let (n, a) = (graph.num_nodes(), adjacency(&graph));
            let (exact, exact_vectors) = jacobi(a.clone());
            let size = exact.iter().fold(0.0f64, |size, value| size.max(value.abs()));
            for (by, count) in
                [(Leading::Magnitude, 32), (Leading::Value, 32), (Leading::Magnitude, 7), (Leading::Value, n + 3)]
            {
                let eigen = leading(&graph, count, by, Seeds::new(3));
                let about = format!("{name}, {count} by {by:?}");
                assert_eq!((eigen.values.len(), eigen.vectors.shape()), (count, [n, count]), "{about}");
                assert!(eigen.residual <= TOLERANCE, "{about}: residual {}", eigen.residual);
                let key = |value: &f64| if by == Leading::Value { *value } else { value.abs() };
                let mut expected: Vec<f64> = exact.iter().map(key).collect();
                expected.sort_by(|a, b| b.total_cmp(a));
                expected.resize(expected.len().max(count), 0.0);
                for (value, expected) in eigen.values.iter().zip(&expected) {
                    assert!((key(value) - expected).abs() < 1e-6, "{about}: {:?}", eigen.values);
                }
                let vectors = columns(&eigen);
                assert!(vectors[n.min(count)..].iter().flatten().all(|&x| x == 0.0), "{about}: no pair, no column");
                let vectors = &vectors[..n.min(count)];
                for (c, (x, value)) in vectors.iter().zip(&eigen.values).enumerate() {
                    for (d, y) in vectors.iter().enumerate() {
                        assert!((dot(x, y) - f64::from(u8::from(c == d))).abs() < 1e-6, "{about}: {c}, {d}");
                    }
                    let rest: f64 = a.iter().zip(x).map(|(row, own)| (dot(row, x) - value * own).powi(2)).sum();
                    assert!(rest.sqrt() <= 3e-6 * size, "{about}: |A v - λ v| = {}", rest.sqrt());
                    // The column is in the space of all vectors that have this value; with orthonormal columns, as many of
                    // them as the space has dimensions, the projectors agree.
                    let beyond = exact.iter().map(|e| (e - value).abs()).filter(|&far| far > 1e-5);
                    let gap = beyond.fold(f64::INFINITY, f64::min);
                    let within = exact_vectors.iter().zip(&exact).filter(|(_, e)| (*e - value).abs() <= 1e-5);
                    let inside: f64 = within.map(|(v, _)| dot(v, x).powi(2)).sum();
                    let sine = (1.0 - inside).max(0.0).sqrt();
                    assert!(sine <= 1e-3 + 2.0 * TOLERANCE * size / gap, "{about}: {c} is off by {sine}, gap {gap}");
                }
            }
        }
    }

    #[test]
    fn of_opposite_values_the_positive_one_comes_first() {
        for graph in [path(150), star(150), generate::grid(20, 20), graph(150, &random_edges(150, 60, 60, 400))] {
            let values = leading(&graph, 15, Leading::Magnitude, Seeds::new(1)).values;
            let mut signs = vec![0i32];
            for (at, &value) in values.iter().enumerate().filter(|(_, value)| value.abs() > 1e-3) {
                if at > 0 && value.abs() < values[at - 1].abs() - 1e-5 {
                    assert_eq!(signs.iter().sum::<i32>(), 0, "{values:?}");
                    signs.clear();
                }
                assert!(value < 0.0 || !signs.contains(&-1), "{values:?}");
                signs.push(value.signum() as i32);
            }
        }
    }

    #[test]
    fn the_largest_values_of_a_triangle_and_a_pair_are_two_and_one() {
        let (graph, _) = Graph::from_edges(5, &[[0, 1], [1, 2], [2, 0], [3, 4]]).unwrap();
        let eigen = leading(&graph, 2, Leading::Value, Seeds::new(1));
        assert!((eigen.values[0] - 2.0).abs() < 1e-6 && (eigen.values[1] - 1.0).abs() < 1e-6);
        assert!((eigen.vectors.row(0)[0] - 3f32.sqrt().recip()).abs() < 1e-6);
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let shape = generate::PowerLaw::new(3_000, 9_000);
        let graph = generate::power_law(&shape, 2).unwrap().graph;
        for by in [Leading::Magnitude, Leading::Value] {
            let on = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| leading(&graph, 16, by, Seeds::new(1)))
            };
            let alone = on(1);
            assert!(alone.residual <= TOLERANCE);
            assert!([2, 4].iter().all(|&threads| on(threads) == alone));
        }
    }

    #[test]
    fn relabelling_nodes_relabels_rows_where_values_are_simple() {
        let graph = weighted();
        let mut order: Vec<u32> = (0..graph.num_nodes() as u32).collect();
        Seeds::new(9).rng(Purpose::Order, &[]).shuffle(&mut order);
        let eigen = leading(&graph, 6, Leading::Value, Seeds::new(1));
        let moved = leading(&graph.permute(&order).unwrap(), 6, Leading::Value, Seeds::new(1));
        let expected = eigen.vectors.permute_rows(&order);
        for (a, b) in moved.vectors.data().iter().zip(expected.data()) {
            assert!((a - b).abs() < 1e-4, "{a} {b}");
        }
    }

    #[test]
    fn signs_are_fixed_by_the_first_of_the_largest_entries() {
        for seed in 0..8 {
            let pair = leading(&graph(300, &[[40, 50]]), 2, Leading::Magnitude, Seeds::new(seed));
            let half = 0.5f32.sqrt();
            for (node, expected) in [(40, [half, half]), (50, [half, -half])] {
                let row = pair.vectors.row(node);
                assert!(row.iter().zip(expected).all(|(x, e)| (x - e).abs() < 1e-6), "{seed}: {row:?}");
            }
        }
    }

    #[test]
    fn the_search_ends_on_a_graph_that_is_too_hard() {
        // A hub far above a spectrum too dense to separate.
        let hub = (1_501..4_000).map(|leaf| [1_500, leaf]);
        let edges: Vec<_> = (1..1_500).map(|i| [i - 1, i]).chain(hub).collect();
        let eigen = leading(&graph(4_000, &edges), 4, Leading::Magnitude, Seeds::new(1));
        assert!((eigen.values[0] - 2499f64.sqrt()).abs() < 1e-6 && (eigen.values[1] + 2499f64.sqrt()).abs() < 1e-6);
        assert!(eigen.values[2..].iter().all(|value| (1.9..2.0).contains(&value.abs())), "{eigen:?}");
    }

    #[test]
    fn the_bits_are_the_same_at_every_level() {
        for by in [Leading::Magnitude, Leading::Value] {
            assert_same_bits_at_every_level(|| {
                let found = leading(&weighted(), 13, by, Seeds::new(1));
                (found.values, found.vectors)
            });
        }
    }
}
