//! t-SNE (van der Maaten and Hinton, 2008): places on a plane for rows of a matrix.
//!
//! Deterministic: no random numbers, and the same bits on any number of threads. Repulsion is exact, so time grows with
//! the square of the number of rows: meant for a few thousand.

use nigh::threads;
use rayon::prelude::*;

const PERPLEXITY: f64 = 30.0;
const ITERATIONS: usize = 750;
const EXAGGERATED_ITERATIONS: usize = 250;
const EXAGGERATION: f32 = 12.0;

/// The rows with every column centred and the largest absolute entry 1. Neither changes the result.
struct Rows {
    values: Vec<f64>,
    num_columns: usize,
}

/// The neighbours `j` of one row with `p_ij`. A mutual neighbour is listed twice: only the sum of its entries matters.
type Neighbours = Vec<(usize, f32)>;

/// One coordinate of all rows per axis.
type Map = [Vec<f32>; 2];

/// What moves row `i`: the sums of `p q (y_i - y_j)`, of `q² (y_i - y_j)` and of `q = 1 / (1 + |y_i - y_j|²)`.
struct Force {
    attraction: [f32; 2],
    repulsion: [f32; 2],
    similarity: f32,
}

/// A place on the plane for each row; similar rows have places near each other.
///
/// `rows` is `num_rows × num_columns`, row by row; entries that are not finite count as zero. Places are finite.
/// Only neighbourhoods have a meaning: axes, sizes and gaps have none.
///
/// ```
/// let places = nigh_paper::report::layout::tsne(&[0.0, 0.1, 0.2, 7.0, 7.1, 7.2], 6, 1);
/// assert_eq!(places.len(), 6);
/// ```
pub fn tsne(rows: &[f32], num_rows: usize, num_columns: usize) -> Vec<[f32; 2]> {
    assert_eq!(rows.len(), num_rows * num_columns, "{num_rows} rows of {num_columns} columns");
    if num_rows < 2 || num_columns == 0 {
        return vec![[0.0; 2]; num_rows];
    }
    let rows = Rows::new(rows, num_columns);
    let [x, y] = descend(principal_components(&rows), &affinities(&rows));
    x.into_iter().zip(y).map(|(x, y)| [x, y]).collect()
}

impl Rows {
    fn new(rows: &[f32], num_columns: usize) -> Self {
        let mut values: Vec<f64> = rows.iter().map(|&v| if v.is_finite() { v.into() } else { 0.0 }).collect();
        for column in 0..num_columns {
            let num_rows = values.len() / num_columns;
            let mean = values.iter().skip(column).step_by(num_columns).sum::<f64>() / num_rows as f64;
            values.iter_mut().skip(column).step_by(num_columns).for_each(|value| *value -= mean);
        }
        let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        if largest > 0.0 {
            values.iter_mut().for_each(|value| *value /= largest);
        }
        Self { values, num_columns }
    }

    fn len(&self) -> usize {
        self.values.len() / self.num_columns
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.num_columns..][..self.num_columns]
    }

    /// The `count` rows nearest to row `i` with their squared distances; of rows equally far, the first.
    fn nearest(&self, i: usize, count: usize) -> Vec<(f64, usize)> {
        let squared = |j| self.row(i).iter().zip(self.row(j)).map(|(a, b)| (a - b) * (a - b)).sum();
        let mut others: Vec<(f64, usize)> = (0..self.len()).filter(|&j| j != i).map(|j| (squared(j), j)).collect();
        let by_distance = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        if count < others.len() {
            others.select_nth_unstable_by(count, by_distance);
            others.truncate(count);
        }
        others.sort_unstable_by(by_distance);
        others
    }
}

/// `p_ij = (p_j|i + p_i|j) / 2n` over the nearest neighbours; everything farther is zero.
fn affinities(rows: &Rows) -> Vec<Neighbours> {
    let n = rows.len();
    // No bandwidth gives less than 1: a single neighbour has perplexity 1.
    let perplexity = PERPLEXITY.min((n - 1) as f64 / 3.0).max(1.0);
    let count = (3.0 * perplexity).ceil() as usize;
    let conditional: Vec<_> = (0..n)
        .into_par_iter()
        .map(|i| {
            threads::check();
            let (squared, neighbours): (Vec<f64>, Vec<usize>) = rows.nearest(i, count).into_iter().unzip();
            neighbours.into_iter().zip(conditional(&squared, perplexity)).collect::<Vec<_>>()
        })
        .collect();
    let mut symmetric = vec![Neighbours::new(); n];
    for (i, neighbours) in conditional.into_iter().enumerate() {
        for (j, p) in neighbours {
            let half = (p / (2 * n) as f64) as f32;
            symmetric[i].push((j, half));
            symmetric[j].push((i, half));
        }
    }
    symmetric
}

/// `p_j|i ∝ exp(-β d_j²)`, nearest first, with the `β` that gives them the wanted perplexity.
fn conditional(squared: &[f64], perplexity: f64) -> Vec<f64> {
    let count = squared.len() as f64;
    let mean = squared.iter().map(|d| d - squared[0]).sum::<f64>() / count;
    if mean == 0.0 {
        return vec![1.0 / count; squared.len()];
    }
    // Beyond the nearest, which then weighs 1 so that the sum cannot vanish, and in units that put β near 1.
    let excess: Vec<f64> = squared.iter().map(|d| (d - squared[0]) / mean).collect();
    let (mut beta, mut low, mut high) = (1.0, 0.0, f64::INFINITY);
    // Some perplexities cannot be reached (40 equal rows at perplexity 30), so the number of steps is bounded.
    for _ in 0..64 {
        let (total, weighted) = excess.iter().fold((0.0, 0.0), |(total, weighted), e| {
            let weight = (-beta * e).exp();
            (total + weight, weighted + weight * e)
        });
        let surplus = total.ln() + beta * weighted / total - perplexity.ln();
        if surplus.abs() < 1e-5 {
            break;
        }
        *(if surplus > 0.0 { &mut low } else { &mut high }) = beta;
        beta = if high.is_finite() { (low + high) / 2.0 } else { 2.0 * beta };
    }
    let weights: Vec<f64> = excess.iter().map(|e| (-beta * e).exp()).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}

/// The first two principal components by subspace iteration, the first with standard deviation 1e-4: an initialisation that
/// keeps the global shape and is small enough for rows to pass each other.
fn principal_components(rows: &Rows) -> Map {
    let width = rows.num_columns;
    // Multiples of irrational numbers modulo 1: unlikely to be orthogonal to anything, the same on every machine.
    let start = |step: f64| (1..=width).map(|c| (c as f64 * step).fract() - 0.5).collect();
    let mut directions: [Vec<f64>; 2] = [start(0.618_033_988_75), start(0.754_877_666_25)];
    orthonormalise(&mut directions);
    for _ in 0..50 {
        for direction in &mut directions {
            *direction = covariance_product(rows, direction);
        }
        orthonormalise(&mut directions);
    }
    // A direction and its opposite are equally principal; take the one whose largest entry is positive.
    let scores = directions.map(|direction| {
        let largest = direction.iter().fold(0.0, |a: f64, &b| if b.abs() > a.abs() { b } else { a });
        (0..rows.len()).map(|i| largest.signum() * dot(rows.row(i), &direction)).collect::<Vec<_>>()
    });
    let deviation = (dot(&scores[0], &scores[0]) / rows.len() as f64).sqrt();
    let scale = if deviation > 0.0 { 1e-4 / deviation } else { 0.0 };
    scores.map(|scores| scores.into_iter().map(|score| (scale * score) as f32).collect())
}

/// `Xᵀ X v` without the matrix `Xᵀ X`.
fn covariance_product(rows: &Rows, direction: &[f64]) -> Vec<f64> {
    let mut product = vec![0.0; direction.len()];
    for row in (0..rows.len()).map(|i| rows.row(i)) {
        let score = dot(row, direction);
        product.iter_mut().zip(row).for_each(|(sum, value)| *sum += score * value);
    }
    product
}

/// Gram-Schmidt. A direction that depends on the first becomes zero.
fn orthonormalise([first, second]: &mut [Vec<f64>; 2]) {
    normalise(first, 0.0);
    let (overlap, length) = (dot(first, second), dot(second, second).sqrt());
    second.iter_mut().zip(&*first).for_each(|(b, a)| *b -= overlap * a);
    normalise(second, 1e-10 * length);
}

fn normalise(direction: &mut [f64], negligible: f64) {
    let length = dot(direction, direction).sqrt();
    let factor = if length > negligible { 1.0 / length } else { 0.0 };
    direction.iter_mut().for_each(|value| *value *= factor);
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Gradient descent on the divergence of `q` from `p`, with momentum and a gain per coordinate (Jacobs, 1988).
fn descend(mut map: Map, neighbours: &[Neighbours]) -> Map {
    let n = neighbours.len();
    let learning_rate = (n as f32 / EXAGGERATION / 4.0).max(50.0);
    let mut velocity = [vec![0.0; n], vec![0.0; n]];
    let mut gain = [vec![1.0f32; n], vec![1.0; n]];
    for iteration in 0..ITERATIONS {
        threads::check();
        let (exaggeration, momentum) =
            if iteration < EXAGGERATED_ITERATIONS { (EXAGGERATION, 0.5) } else { (1.0, 0.8) };
        let forces: Vec<Force> =
            (0..n).into_par_iter().with_min_len(16).map(|i| force(&map, &neighbours[i], i)).collect();
        // Summed here in row order rather than by rayon, whose order depends on the threads.
        let total: f64 = forces.iter().map(|force| f64::from(force.similarity)).sum();
        // If few rows are far apart, the sum is mostly rounding error.
        let total = (total as f32).max(n as f32 * f32::EPSILON);
        for axis in 0..2 {
            for (i, force) in forces.iter().enumerate() {
                let gradient = 4.0 * (exaggeration * force.attraction[axis] - force.repulsion[axis] / total);
                let (velocity, gain) = (&mut velocity[axis][i], &mut gain[axis][i]);
                *gain = if *velocity * gradient < 0.0 { *gain + 0.2 } else { (*gain * 0.8).max(0.01) };
                *velocity = momentum * *velocity - learning_rate * *gain * gradient;
                map[axis][i] += *velocity;
            }
        }
    }
    map
}

fn force(map: &Map, neighbours: &Neighbours, i: usize) -> Force {
    let here = [map[0][i], map[1][i]];
    let mut attraction = [0.0; 2];
    for &(j, p) in neighbours {
        let (q, dx, dy) = similarity(here, [map[0][j], map[1][j]]);
        attraction[0] += p * q * dx;
        attraction[1] += p * q * dy;
    }
    let (repulsion, similarity) = repulsion(map, here);
    // The row itself is at distance 0: it has no force, but added 1 to the sum of q.
    Force { attraction, repulsion, similarity: similarity - 1.0 }
}

/// The sums of `q² (y - y_j)` and of `q` over all `j`.
fn repulsion([xs, ys]: &Map, here: [f32; 2]) -> ([f32; 2], f32) {
    // One sum per lane, since the compiler may not reorder additions into vectors: four times faster than one sum.
    const LANES: usize = 16;
    let (mut sum_x, mut sum_y, mut sum_q) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
    let mut add = |xs: &[f32], ys: &[f32]| {
        for (lane, (&x, &y)) in xs.iter().zip(ys).enumerate() {
            let (q, dx, dy) = similarity(here, [x, y]);
            sum_x[lane] += q * q * dx;
            sum_y[lane] += q * q * dy;
            sum_q[lane] += q;
        }
    };
    let (xs, last_xs) = xs.as_chunks::<LANES>();
    let (ys, last_ys) = ys.as_chunks::<LANES>();
    xs.iter().zip(ys).for_each(|(xs, ys)| add(xs, ys));
    add(last_xs, last_ys);
    ([sum_x.iter().sum(), sum_y.iter().sum()], sum_q.iter().sum())
}

/// `q = 1 / (1 + |a - b|²)` and `a - b`.
fn similarity(a: [f32; 2], b: [f32; 2]) -> (f32, f32, f32) {
    let (dx, dy) = (a[0] - b[0], a[1] - b[1]);
    (1.0 / (1.0 + dx * dx + dy * dy), dx, dy)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gaussian blobs around far corners, row by row in turn, so that row `i` belongs to blob `i % num_blobs`.
    fn blobs(num_blobs: usize, num_rows: usize, num_columns: usize) -> Vec<f32> {
        let mut state = 7u64;
        let mut uniform = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1u64 << 24) as f32
        };
        let entry = |i: usize, c: usize| if c % num_blobs == i % num_blobs { 5.0 } else { 0.0 };
        (0..num_rows * num_columns)
            .map(|k| entry(k / num_columns, k % num_columns) + (0..12).map(|_| uniform()).sum::<f32>() - 6.0)
            .collect()
    }

    fn with_threads<T: Send>(num_threads: usize, work: impl FnOnce() -> T + Send) -> T {
        rayon::ThreadPoolBuilder::new().num_threads(num_threads).build().expect("a small pool").install(work)
    }

    fn squared_distance(a: [f32; 2], b: [f32; 2]) -> f32 {
        (a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2)
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let rows = blobs(3, 90, 8);
        let bits =
            |num_threads| with_threads(num_threads, || tsne(&rows, 90, 8)).concat().into_iter().map(f32::to_bits);
        assert!(bits(1).eq(bits(4)));
    }

    #[test]
    fn blobs_stay_apart() {
        let n = 150;
        let places = tsne(&blobs(3, n, 32), n, 32);
        let nearest = |i: usize| {
            let distance = |&j: &usize| squared_distance(places[i], places[j]);
            (0..n).filter(|&j| j != i).min_by(|a, b| distance(a).total_cmp(&distance(b))).expect("other rows")
        };
        let kept = (0..n).filter(|&i| nearest(i) % 3 == i % 3).count();
        assert!(kept * 100 >= n * 99, "{kept} of {n} rows have a neighbour of their blob");
    }

    #[test]
    fn the_bandwidth_gives_the_wanted_perplexity() {
        let squared: Vec<f64> = (0..90).map(|k| 1.0 + 0.1 * k as f64).collect();
        let entropy: f64 = conditional(&squared, 30.0).iter().map(|p| -p * p.ln()).sum();
        assert!((entropy.exp() - 30.0).abs() < 1e-2, "{}", entropy.exp());
    }

    #[test]
    fn the_start_is_principal_and_small() {
        // Long along (3, 4), short across it.
        let steps = [[-2.0, 0.1], [-1.0, -0.1], [1.0, -0.1], [2.0, 0.1]];
        let rows = steps.map(|[along, across]| [0.6 * along - 0.8 * across, 0.8 * along + 0.6 * across]).concat();
        let [x, y] = principal_components(&Rows::new(&rows, 2));
        for (i, [along, across]) in steps.into_iter().enumerate() {
            let unit = 1e-4 / 2.5f32.sqrt();
            assert!((x[i] / unit - along).abs() < 0.01, "{x:?}");
            assert!((y[i].abs() / unit - across.abs()).abs() < 0.01, "{y:?}");
        }
    }

    #[test]
    fn rows_that_are_all_equal_share_a_place() {
        assert_eq!(tsne(&[2.5; 50 * 3], 50, 3), vec![[0.0; 2]; 50]);
    }

    #[test]
    fn degenerate_rows_give_finite_places() {
        let check = |name: &str, rows: &[f32], num_rows: usize, num_columns: usize| {
            let places = tsne(rows, num_rows, num_columns);
            assert_eq!(places.len(), num_rows, "{name}");
            assert!(places.iter().flatten().all(|value| value.is_finite()), "{name}: {places:?}");
        };
        for num_rows in 0..8 {
            check("few rows", &blobs(3, num_rows, 4), num_rows, 4);
            check("few equal rows", &vec![1.0; num_rows * 4], num_rows, 4);
            check("no columns", &[], num_rows, 0);
        }
        check("one column", &blobs(2, 100, 1), 100, 1);
        check(
            "dependent columns",
            &blobs(2, 100, 1).into_iter().flat_map(|v| [v, 2.0 * v]).collect::<Vec<_>>(),
            100,
            2,
        );
        check("two places", &(0..100).map(|i| (i % 2) as f32).collect::<Vec<_>>(), 100, 1);
        check("more duplicates than the perplexity", &[vec![0.0; 80], blobs(1, 20, 4)].concat(), 40, 4);
        check("one far away", &[vec![0.0; 99], vec![f32::MAX]].concat(), 100, 1);
        check("tiny", &blobs(3, 50, 2).into_iter().map(|v| v * 1e-44).collect::<Vec<_>>(), 50, 2);
        check("huge", &blobs(3, 50, 2).into_iter().map(|v| v * 1e37).collect::<Vec<_>>(), 50, 2);
        check("not finite", &[1.0, f32::NAN, f32::INFINITY, 2.0, f32::NEG_INFINITY, 3.0], 3, 2);
    }
}
