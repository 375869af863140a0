//! What is known of a pair before anything is learnt: walk proximities of several lengths, degrees, shared neighbours and, with
//! features, their similarity over hops. Everything is computed from a view, so from what message passing may see.

use super::expected_pairs::KnownBy;
use super::projection::Directions;
use crate::graph::{Graph, Operator};
use crate::linalg::{Matrix, for_row_blocks};
use crate::models::heuristics::shared;
use crate::models::{Model, View};
use crate::names::named;
use crate::propagation::Proximities;
use crate::propagation::levels::{LevelSource, Levels};
use crate::propagation::products::{HopProducts, PairEnds, hop_products};
use crate::propagation::walks::{self, walk_products};
use crate::seeds::{Purpose, Seeds};
use crate::source::Signal;
use crate::tape::{WeightAccess, Weights};
use std::ops::Range;

named! {
    /// What a pair head may know of a pair.
    pub enum PairSource, "source of pairs" {
        /// Walk proximities `(M^k)_ij` of lengths 2 to `longest-walk`, `M = D^-1/2 A D^-1/2`: three scales of each.
        Walks = "walks",
        /// The degrees of both nodes and of their neighbours.
        Degrees = "degrees",
        /// Neighbours that both share: their number, and weighed by Adamic and Adar, and by resource allocation.
        SharedNeighbours = "shared-neighbours",
        /// How much the edges of either node ask for the other: ridge regression on the edges of all nodes.
        Reconstruction = "reconstruction",
        /// Cosines of the features of both nodes, of their neighbourhoods, and across.
        Similarities = "similarities",
    }
}

/// Which pairs of hops of the features are compared.
const SIMILARITIES: [[usize; 2]; 5] = [[0, 0], [1, 1], [2, 2], [0, 1], [1, 2]];

impl PairSource {
    /// How many numbers it gives for a pair, with walks up to a length.
    pub fn width(self, longest_walk: usize) -> usize {
        match self {
            PairSource::Walks => 3 * walks::lengths(longest_walk).count(),
            PairSource::Degrees => 7,
            PairSource::SharedNeighbours => 3,
            PairSource::Reconstruction => 3,
            PairSource::Similarities => SIMILARITIES.len(),
        }
    }
}

/// Means and scales of the numbers of a pair, over the training pairs.
const MEAN: &str = "pairs/mean";
const SCALE: &str = "pairs/scale";

/// Standardised numbers are clipped here: one outlier must not decide about a pair.
const MOST: f32 = 5.0;

/// Declares means and scales: zero until they are learnt.
pub(in crate::models) fn declare(width: usize, weights: &mut WeightAccess<'_>) {
    if width > 0 {
        weights.frozen(MEAN, [1, width]);
        weights.frozen(SCALE, [1, width]);
    }
}

/// How the sources of pairs are computed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PairSettings {
    /// Exact walks, or estimated ones.
    pub proximities: Proximities,
    /// The length of the longest walks.
    pub longest_walk: usize,
    /// Distribution of `E`, for estimates.
    pub signal: Signal,
    /// `d`, for estimates.
    pub signal_dim: usize,
}

impl Model {
    /// What is known of every pair, standardised over the training pairs.
    pub(crate) fn pair_scalars(&self, view: &View, pairs: &[[u32; 2]]) -> Matrix {
        let mut scalars = self.raw_pair_scalars(view, pairs);
        self.standardize(&mut scalars);
        scalars
    }

    /// What is known of every pair.
    pub(crate) fn raw_pair_scalars(&self, view: &View, pairs: &[[u32; 2]]) -> Matrix {
        let shape = self.shape();
        let settings = PairSettings {
            proximities: shape.proximities,
            longest_walk: shape.longest_walk,
            signal: shape.signal,
            signal_dim: shape.signal_dim,
        };
        let sources = &self.architecture().pair_sources;
        let compares = sources.contains(&PairSource::Similarities);
        let directions = if compares { self.directions(&view.features) } else { None };
        let compute =
            |pairs: &[[u32; 2]]| pair_scalars(sources, &settings, view, directions.as_ref(), self.seeds(), pairs);
        match &view.expected {
            Some(expected) => {
                let by = KnownBy { sources: sources.clone(), settings, seed: self.seeds().root() };
                expected.numbers(by, pairs, compute)
            }
            None => compute(pairs),
        }
    }

    /// Learns means and scales from the numbers of training pairs: a mean of zero and a deviation of one, both kinds of pairs
    /// with the same weight.
    pub(crate) fn learn_scales(&mut self, positive: &[&[f32]], negative: &[&[f32]]) {
        let width = self.num_pair_scalars();
        let mut moments = vec![[0.0f64; 2]; width];
        for tables in [positive, negative] {
            let rows: usize = tables.iter().map(|table| table.len() / width).sum();
            let share = 0.5 / rows.max(1) as f64;
            for row in tables.iter().flat_map(|table| table.chunks_exact(width)) {
                for (moment, &value) in moments.iter_mut().zip(row) {
                    moment[0] += share * f64::from(value);
                    moment[1] += share * f64::from(value) * f64::from(value);
                }
            }
        }
        let set = |weights: &mut Weights, name: &str, value: &dyn Fn(&[f64; 2]) -> f64| {
            let values = moments.iter().map(|moment| value(moment) as f32).collect();
            weights.named(name).expect("declared with the sources").value = Matrix::from_data(1, width, values);
        };
        set(&mut self.weights, MEAN, &|moment| moment[0]);
        // A number that is always the same says nothing.
        set(&mut self.weights, SCALE, &|&[mean, square]| match (square - mean * mean).max(0.0).sqrt() {
            deviation if deviation > 1e-6 * (1.0 + mean.abs()) => 1.0 / deviation,
            _ => 0.0,
        });
    }

    /// `(x - mean) / deviation`, clipped.
    pub(crate) fn standardize(&self, scalars: &mut Matrix) {
        let [mean, scale] = [MEAN, SCALE].map(|name| self.weights.get(name).expect("declared with the sources"));
        let width = scalars.cols();
        for row in scalars.data_mut().chunks_exact_mut(width.max(1)) {
            for ((value, mean), scale) in row.iter_mut().zip(mean.value.data()).zip(scale.value.data()) {
                *value = ((*value - mean) * scale).clamp(-MOST, MOST);
            }
        }
    }
}

/// The numbers of all sources for every pair, side by side. `directions` are rows whose inner products say how similar two nodes are;
/// only [`PairSource::Similarities`] needs them.
pub(crate) fn pair_scalars(
    sources: &[PairSource],
    settings: &PairSettings,
    view: &View,
    directions: Option<&Directions<'_>>,
    seeds: Seeds,
    pairs: &[[u32; 2]],
) -> Matrix {
    let width = sources.iter().map(|source| source.width(settings.longest_walk)).sum();
    let mut scalars = Matrix::zeros(pairs.len(), width);
    let ends = PairEnds::of(pairs);
    let mut left = 0;
    for &source in sources {
        let place = left..left + source.width(settings.longest_walk);
        left = place.end;
        let columns = Columns { scalars: &mut scalars, place };
        match source {
            PairSource::Walks => walk_scalars(settings, view, seeds, &ends, columns),
            PairSource::Degrees => degree_scalars(view.graph(), &ends, columns),
            PairSource::SharedNeighbours => shared_neighbours(view.graph(), pairs, columns),
            PairSource::Reconstruction => {
                let found = view.ridge().reconstructed(pairs);
                columns.write(1, |pair, out| out.copy_from_slice(found.row(pair)));
            }
            PairSource::Similarities => similarities(view, directions.expect("features to compare"), &ends, columns),
        }
    }
    scalars
}

/// The columns of a source among those of all.
struct Columns<'a> {
    scalars: &'a mut Matrix,
    place: Range<usize>,
}

impl Columns<'_> {
    /// Calls `row(pair, out)` for every pair, which costs about so many operations per number.
    fn write(self, cost: usize, row: impl Fn(usize, &mut [f32]) + Sync) {
        let width = self.scalars.cols();
        for_row_blocks(self.scalars.data_mut(), width, cost * self.place.len(), |first, rows| {
            for (at, out) in rows.chunks_exact_mut(width).enumerate() {
                row(first + at, &mut out[self.place.clone()]);
            }
        });
    }
}

/// For each length: the proximity as a count of walks, `ln(p sqrt(d_i d_j) + 1e-4)`; relative to a random graph of these degrees,
/// `ln(p n d̄ / sqrt(d_i d_j) + 1e-2)`; and relative to the walks of both nodes back to themselves.
fn walk_scalars(settings: &PairSettings, view: &View, seeds: Seeds, ends: &PairEnds, columns: Columns<'_>) {
    let graph = view.operator.graph();
    let operator = Operator::walk(graph.clone());
    let stream = seeds.stream(Purpose::Signal, &[view.graph]);
    let PairSettings { proximities, longest_walk, signal, signal_dim: dim } = *settings;
    let factor = 1.0 / (dim as f32).sqrt();
    let source = LevelSource::Signal { signal, stream, addresses: &view.addresses, dim, factor };
    let levels = Levels { operator: &operator, ..view.levels(source) };
    let HopProducts { pairs: products, squares } = walk_products(&levels, proximities, longest_walk, ends);
    let roots: Vec<f32> = ends.nodes.iter().map(|&node| graph.degree(node as usize).max(1) as f32).collect();
    let num_ends = 2.0 * graph.num_edges() as f32;
    columns.write(16, |pair, out| {
        let [i, j] = ends.pairs[pair].map(|place| place as usize);
        let root = (roots[i] * roots[j]).sqrt();
        let of_lengths = products.row(pair).iter().zip(walks::lengths(settings.longest_walk));
        for ((&p, length), out) in of_lengths.zip(out.chunks_exact_mut(3)) {
            // An estimate may fall below zero.
            let p = p.max(0.0);
            let [a, b] = walks::halves(length);
            let returns = |place: usize| (squares.row(place)[a] * squares.row(place)[b]).sqrt();
            let both = (returns(i) * returns(j)).sqrt();
            out[0] = (p * root + 1e-4).ln();
            out[1] = (p * num_ends / root + 1e-2).ln();
            out[2] = if both > 0.0 { p / both } else { 0.0 };
        }
    });
}

/// Of `ln(1 + d)`: sum, difference, smaller one and product; of the mean over neighbours: sum, difference and smaller one.
fn degree_scalars(graph: &Graph, ends: &PairEnds, columns: Columns<'_>) {
    let mut logs = vec![0f32; graph.num_nodes()];
    graph.each_degree(|node, degree| logs[node] = (degree as f32).ln_1p());
    let means = graph.of_some_rows(&ends.nodes, |neighbours| {
        neighbours.iter().map(|&other| logs[other as usize]).sum::<f32>() / neighbours.len().max(1) as f32
    });
    columns.write(1, |pair, out| {
        let [i, j] = ends.pairs[pair].map(|place| place as usize);
        let ([a, b], [c, d]) = ([i, j].map(|at| logs[ends.nodes[at] as usize]), [means[i], means[j]]);
        out.copy_from_slice(&[a + b, (a - b).abs(), a.min(b), a * b, c + d, (c - d).abs(), c.min(d)]);
    });
}

fn shared_neighbours(graph: &Graph, pairs: &[[u32; 2]], columns: Columns<'_>) {
    let counts = shared(graph, pairs);
    // Resource allocation is small where neighbours have many others.
    let scales = [1.0, 1.0, 10.0];
    columns.write(4, |pair, out| {
        out.iter_mut().zip(scales).zip(counts[pair]).for_each(|((out, scale), count)| *out = (scale * count).ln_1p());
    });
}

/// Cosines of `Ã^a X` and `Ã^b X`.
fn similarities(view: &View, directions: &Directions<'_>, ends: &PairEnds, columns: Columns<'_>) {
    let fill = |columns, panel: &mut Matrix| directions.fill(columns, panel);
    let source = LevelSource::Columns { width: directions.cols(), fill: &fill };
    let found = hop_products(&view.levels(source), &SIMILARITIES, ends);
    let length = |place: u32, [a, b]: [usize; 2]| {
        let squares = found.squares.row(place as usize);
        (squares[a] * squares[b]).sqrt()
    };
    columns.write(4, |pair, out| {
        let [i, j] = ends.pairs[pair];
        for ((out, hops), product) in out.iter_mut().zip(SIMILARITIES).zip(found.pairs.row(pair)) {
            let lengths = (length(i, hops) * length(j, hops)).sqrt();
            *out = if lengths > 0.0 { product / lengths } else { 0.0 };
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{Dataset, Features, generate};
    use crate::graph::order_by;
    use crate::models::Dimensions;
    use crate::train::Config;

    const ALL: [PairSource; 5] = [
        PairSource::Walks,
        PairSource::Degrees,
        PairSource::SharedNeighbours,
        PairSource::Reconstruction,
        PairSource::Similarities,
    ];

    // Eq. 3 for pairs, with what is drawn for a node as one more attribute of it.
    #[test]
    fn relabelling_nodes_with_their_addresses_keeps_what_is_known_of_a_pair() {
        let graph = generate::communities(4, 8, 0.2, 3).graph;
        let n = graph.num_nodes();
        let features = Matrix::from_fn(n, 5, |i, c| ((i * 7 + c * 3) % 11) as f32 - 5.0);
        let view = View::new(graph, Features::Dense(features.into())).unwrap();
        let order = order_by(&(0..n as u32).map(|i| i * 13 % n as u32).collect::<Vec<u32>>());
        let moved = view.permute(&order).unwrap();
        let mut places = vec![0u32; n];
        (0..).zip(&order).for_each(|(place, &node)| places[node as usize] = place);
        let pairs: Vec<[u32; 2]> = (0..n as u32).flat_map(|i| (0..i).map(move |j| [i, j])).collect();
        let moved_pairs: Vec<[u32; 2]> = pairs.iter().map(|pair| pair.map(|node| places[node as usize])).collect();
        for proximities in [Proximities::Exact, Proximities::Estimated] {
            let settings = PairSettings { proximities, longest_walk: 6, signal: Signal::Gaussian, signal_dim: 24 };
            let known = |view: &View, pairs: &[[u32; 2]]| {
                let (features, rarity, projection) = (&view.features, &[1.0; 5], &Matrix::identity(5));
                let directions = Directions { features, rarity, projection };
                pair_scalars(&ALL, &settings, view, Some(&directions), Seeds::new(5), pairs)
            };
            let here = known(&view, &pairs);
            let there = known(&moved, &moved_pairs);
            let near = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-3 * a.abs().max(1.0);
            assert!(here.data().iter().zip(there.data()).all(near), "{proximities}");
            // Both directions of a pair are one pair.
            let reversed: Vec<[u32; 2]> = pairs.iter().map(|&[i, j]| [j, i]).collect();
            assert!(here.data().iter().zip(known(&view, &reversed).data()).all(near), "{proximities}");
        }
    }

    #[test]
    fn a_planted_edge_between_others_changes_only_what_passes_over_it() {
        // Two paths of six nodes each, far apart.
        let path = |first: u32| (first..first + 5).map(|i| [i, i + 1]);
        let edges: Vec<[u32; 2]> = path(0).chain(path(6)).collect();
        let known = |edges: &[[u32; 2]], pairs: &[[u32; 2]]| {
            let view = View::new(Graph::from_edges(12, edges).unwrap().0, Features::Constant(12)).unwrap();
            let settings = PairSettings {
                proximities: Proximities::Exact,
                longest_walk: 4,
                signal: Signal::Gaussian,
                signal_dim: 8,
            };
            let sources = [PairSource::Walks, PairSource::Degrees, PairSource::SharedNeighbours];
            pair_scalars(&sources, &settings, &view, None, Seeds::new(1), pairs)
        };
        let with = [&edges[..], &[[6, 8]]].concat();
        let here = [[0, 2], [1, 3]];
        let there = [[6, 8], [7, 9]];
        // One number is relative to all edges of the graph.
        let near = |a: &Matrix, b: &Matrix| a.data().iter().zip(b.data()).all(|(a, b)| (a - b).abs() < 0.2);
        assert!(near(&known(&edges, &here), &known(&with, &here)));
        assert!(!near(&known(&edges, &there), &known(&with, &there)));
    }

    /// The walks of length two and all else that is known of a pair, in a graph of four nodes without features.
    fn known_of(edges: &[[u32; 2]], source: PairSource, pair: [u32; 2]) -> Vec<f32> {
        let view = View::new(Graph::from_edges(4, edges).unwrap().0, Features::Constant(4)).unwrap();
        let (proximities, signal) = (Proximities::Exact, Signal::Gaussian);
        let settings = PairSettings { proximities, longest_walk: 2, signal, signal_dim: 8 };
        pair_scalars(&[source], &settings, &view, None, Seeds::new(1), &[pair]).data().to_vec()
    }

    fn assert_near(found: &[f32], expected: &[f32]) {
        let near = found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5);
        assert!(near, "{found:?}, expected {expected:?}");
    }

    #[test]
    fn walks_are_told_as_a_count_against_chance_and_against_walks_back() {
        // Two leaves of a star of three: (M^2)_12 = (M^2)_11 = 1/3; six ends of edges, and degrees of one.
        let found = known_of(&[[0, 1], [0, 2], [0, 3]], PairSource::Walks, [1, 2]);
        assert_near(&found, &[(1f32 / 3.0 + 1e-4).ln(), (6f32 / 3.0 + 1e-2).ln(), 1.0]);
    }

    #[test]
    fn degrees_and_shared_neighbours_are_those_of_the_graph() {
        // A triangle with a tail: nodes 0 and 3 have degrees 2 and 1, and share node 2 with degree 3.
        let edges = [[0, 1], [0, 2], [1, 2], [2, 3]];
        let [one, two, three] = [2f32, 3.0, 4.0].map(f32::ln);
        let (of_0, of_3) = ((two + three) / 2.0, three);
        let expected = [two + one, two - one, one, two * one, of_0 + of_3, of_3 - of_0, of_0];
        assert_near(&known_of(&edges, PairSource::Degrees, [0, 3]), &expected);
        let expected = [1f32, 1.0 / 3f32.ln(), 10.0 / 3.0].map(f32::ln_1p);
        assert_near(&known_of(&edges, PairSource::SharedNeighbours, [0, 3]), &expected);
    }

    #[test]
    fn similarities_are_cosines() {
        // Two pairs of nodes: what is compared are the rows themselves, and means of rows.
        let rows = Matrix::from_rows(&[[2.0, 0.0], [2.0, 0.0], [0.5, 0.5], [0.5, 0.5]]);
        let view = View::new(Graph::from_edges(4, &[[0, 1], [2, 3]]).unwrap().0, Features::Dense(rows.into())).unwrap();
        let (features, rarity, projection) = (&view.features, &[1.0; 2], &Matrix::identity(2));
        let directions = Directions { features, rarity, projection };
        let mut found = Matrix::zeros(2, SIMILARITIES.len());
        let columns = Columns { scalars: &mut found, place: 0..SIMILARITIES.len() };
        similarities(&view, &directions, &PairEnds::of(&[[0, 2], [0, 1]]), columns);
        assert_near(found.row(0), &[0.5f32.sqrt(); 5]);
        assert_near(found.row(1), &[1.0; 5]);
    }

    #[test]
    fn estimates_in_different_graphs_are_drawn_independently() {
        let graph = generate::communities(4, 8, 0.2, 3).graph;
        let estimated = |number: u64| {
            let view = View::new(graph.clone(), Features::Constant(32)).unwrap().numbered(number);
            let proximities = Proximities::Estimated;
            let settings = PairSettings { proximities, longest_walk: 4, signal: Signal::Gaussian, signal_dim: 8 };
            pair_scalars(&[PairSource::Walks], &settings, &view, None, Seeds::new(1), &[[0, 1], [0, 9]])
        };
        assert_eq!(estimated(1), estimated(1));
        assert_ne!(estimated(1), estimated(0));
    }

    fn model_of(dataset: &Dataset) -> Model {
        let config = Config { model: "smp-proximity".into(), ..Config::default() }.resolve(dataset).unwrap();
        let dimensions = Dimensions::of(dataset);
        Model::build(config.architecture(dimensions).unwrap(), config.shape(dimensions), Seeds::new(1)).unwrap()
    }

    #[test]
    fn both_kinds_of_training_pairs_together_have_mean_zero_and_deviation_one() {
        let mut model = model_of(&Dataset::built_in("communities").unwrap());
        let width = model.num_pair_scalars();
        // Far from zero, with more negatives than positives; every other number is the same in all pairs.
        let numbers = |rows: usize, first: f32| {
            Matrix::from_fn(rows, width, |row, column| match column % 2 {
                0 => 0.1 * (1 + column) as f32,
                _ => first + column as f32 + (row % 2) as f32,
            })
        };
        let (mut positive, mut negative) = (numbers(6, 20.0), numbers(42, 22.0));
        model.learn_scales(&[positive.data()], &[negative.data()]);
        model.standardize(&mut positive);
        model.standardize(&mut negative);
        let mean = |column: usize, power: i32| -> f64 {
            let of = |matrix: &Matrix| {
                let values = (0..matrix.rows()).map(|row| f64::from(matrix.row(row)[column]).powi(power));
                values.sum::<f64>() / matrix.rows() as f64
            };
            (of(&positive) + of(&negative)) / 2.0
        };
        for column in (1..width).step_by(2) {
            assert!(mean(column, 1).abs() < 1e-4 && (mean(column, 2) - 1.0).abs() < 1e-4, "{column}");
        }
        // One outlier must not decide about a pair, and a number that was always the same says nothing.
        let mut outliers = Matrix::from_fn(2, width, |row, _| if row == 0 { 1e6 } else { -1e6 });
        model.standardize(&mut outliers);
        for (column, (&high, &low)) in outliers.row(0).iter().zip(outliers.row(1)).enumerate() {
            assert_eq!([high, low], if column % 2 == 1 { [5.0, -5.0] } else { [0.0, 0.0] }, "{column}");
        }
    }
}
