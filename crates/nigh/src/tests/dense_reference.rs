//! P-GNN and EigenGNN, which PyTorch Geometric lacks, against the same models written out in dense `f64` arrays: output,
//! loss, its gradient by central differences, and steps of Adam. Only random words come from the crate.

use nigh::Matrix;
use nigh::models::Model;
use nigh::models::catalog::{self, Hyperparameters};
use nigh::models::decoder::PairDecoder;
use nigh::models::{Answer, Shape};
use nigh::ops::softmax;
use nigh::train::Adam;
use nigh::{Features, Graph, Purpose, Seeds, View};
use std::collections::BTreeMap;

/// Relative to the entry, but at least to a tenth of the largest in its matrix: smaller ones are sums that cancel, of
/// which single precision keeps less. `parity.rs` takes the largest itself.
const TOLERANCE: f64 = 1e-4;
const SEED: u64 = 5;
/// Which of the data's graphs it is: a part of the address of random words.
const GRAPH: u64 = 2;
const NUM_FEATURES: usize = 3;
const LEARNING_RATE: f64 = 0.01;
const WEIGHT_DECAY: f64 = 5e-4;

type Rows = Vec<Vec<f64>>;
/// Weights, or what belongs to each of them, by name.
type Named = BTreeMap<String, Rows>;

#[test]
fn p_gnn_is_what_the_full_tensor_of_nodes_sets_and_messages_gives() {
    Case { num_ids: 70, ..Case::new("p-gnn", 36, &chain_with_chords()) }.check();
}

#[test]
fn p_gnn_agrees_where_it_classifies_nodes_that_are_known_by_other_addresses() {
    let case = Case { num_classes: Some(3), width: 17, ..Case::new("p-gnn", 12, &chain_with_chords()[..11]) };
    Case { addresses: (0..12).map(|u| 90 - 7 * u).collect(), ..case }.check();
}

#[test]
fn eigen_gnn_is_what_two_dense_convolutions_of_features_and_vectors_by_jacobi_give() {
    Case { dim: 3, ..Case::new("eigen-gnn", 36, &chain_with_chords()) }.check();
}

#[test]
fn eigen_gnn_agrees_where_columns_outnumber_nodes_and_the_first_address_decides_about_a_sign() {
    // Nodes 1, 2, 3 mirror 4, 5, 6: some vectors have two largest entries, of opposite signs.
    let mirrored = [[0, 1], [0, 3], [0, 4], [0, 6], [1, 2], [1, 4], [4, 5]];
    Case { addresses: (0..7).map(|u| 50 - 7 * u).collect(), ..Case::new("eigen-gnn", 7, &mirrored) }.check();
}

/// 35 nodes in a row with some chords; a node beyond them is isolated.
fn chain_with_chords() -> Vec<[u32; 2]> {
    let chords = (0..34).step_by(3).map(|i| [i, (i * i + 3 * i + 1) % 35]);
    (0..34).map(|i| [i, i + 1]).chain(chords).collect()
}

/// A model on a graph, and what it is asked: classes, or pairs if there are none.
struct Case {
    model: &'static str,
    edges: Vec<[u32; 2]>,
    addresses: Vec<u32>,
    num_ids: usize,
    num_classes: Option<usize>,
    width: usize,
    dim: usize,
}

impl Case {
    fn new(model: &'static str, num_nodes: usize, edges: &[[u32; 2]]) -> Case {
        let addresses = (0..num_nodes as u32).collect();
        Case { model, edges: edges.into(), addresses, num_ids: num_nodes, num_classes: None, width: 6, dim: 9 }
    }

    fn num_nodes(&self) -> usize {
        self.addresses.len()
    }

    /// Pairs that should score high, and as many that should not.
    fn pairs(&self) -> [Vec<[u32; 2]>; 2] {
        let n = self.num_nodes() as u32;
        [self.edges.clone(), (0..).zip(&self.edges).map(|(i, _)| [(5 * i + 1) % n, (3 * i * i + 2) % n]).collect()]
    }

    /// Some nodes and their classes.
    fn labels(&self) -> [Vec<u32>; 2] {
        let nodes: Vec<u32> = (0..self.num_nodes() as u32).filter(|u| u % 5 != 3).collect();
        let labels = nodes.iter().map(|u| (u * u + 1) % self.num_classes.unwrap() as u32).collect();
        [nodes, labels]
    }

    /// Output, loss, gradient and step of the model, beside those of the reference, twice: only the second step of Adam
    /// knows of a first, and P-GNN draws new anchors.
    fn check(&self) {
        let (n, width, signal_dim) = (self.num_nodes(), self.width, self.dim);
        let shape = Shape { num_features: NUM_FEATURES, num_ids: self.num_ids, width, signal_dim, ..Shape::default() };
        let shape = Shape { answer: self.num_classes.map_or(shape.answer, Answer::Classes), ..shape };
        let settings = Hyperparameters { width, dropout: 0.0, signal_dim, ..Hyperparameters::default() };
        let architecture = catalog::architecture(self.model, &settings).unwrap();
        let mut model = Model::build(architecture, shape, Seeds::new(SEED)).unwrap();
        // Biases start at zero, where a mistake about them would not show.
        for (at, weight) in model.weights.entries_mut().iter_mut().enumerate() {
            let [rows, cols] = weight.value.shape();
            weight.value = Matrix::from_fn(rows, cols, |i, c| wave(41 * at + cols * i + c));
        }
        let (graph, _) = Graph::from_edges(n, &self.edges).unwrap();
        let features = Matrix::from_fn(n, NUM_FEATURES, |u, c| wave(NUM_FEATURES * u + c + 1000));
        let f = rows(&features);
        let view = View::new(graph, Features::Dense(features.into())).unwrap().numbered(GRAPH);
        let mut recording = model.record(&view.with_addresses(self.addresses.clone()));

        let mut w = weights(&model, |weight| &weight.value);
        let (mut first, mut second) = (w.clone(), w.clone());
        first.values_mut().chain(second.values_mut()).flatten().flatten().for_each(|moment| *moment = 0.0);
        let (mut adam, mut decoder) = (Adam::new(&model.weights), PairDecoder::new(&model));
        let [positive, negative] = self.pairs();
        decoder.iter_mut().for_each(|decoder| decoder.set_positives(n, &positive));

        assert_near(&rows(recording.evaluate(&model, 4)), &self.reference(&f, false, 4)(&w), "output");
        for step in 1..=2 {
            let pass = recording.train(&model, step);
            let (h, gradient) = recording.representation_and_gradient();
            let reference = self.reference(&f, true, step);
            assert_near(&rows(h), &reference(&w), "output in training");
            let loss = match &mut decoder {
                None => softmax::nll(h, &self.labels()[0], &self.labels()[1], gradient),
                Some(decoder) => {
                    decoder.set_negatives(h.rows(), &negative);
                    decoder.loss(h, &mut model.weights, &pass, gradient)
                }
            };
            assert_near(&vec![vec![loss]], &vec![vec![self.loss(&reference(&w))]], "loss");
            model.weights.clear_gradients();
            recording.backward(&mut model);
            let gradients = central_differences(&mut w, |w| self.loss(&reference(w)));
            for (name, found) in weights(&model, |weight| &weight.gradient) {
                assert_near(&found, &gradients[&name], &format!("gradient of {name} in step {step}"));
            }

            let before = [weights(&model, |weight| &weight.value), w.clone()];
            adam.step(&mut model.weights, LEARNING_RATE as f32, WEIGHT_DECAY as f32);
            for ((name, w), g) in w.iter_mut().zip(gradients.values()) {
                let moments = [&mut first, &mut second].map(|moments| moments.get_mut(name).unwrap());
                adam_step(w, g, moments, step as i32);
            }
            for (name, found) in weights(&model, |weight| &weight.value) {
                // How far a weight went, because that is little beside the weight. First and second gradient may cancel,
                // so the longest step is the measure.
                let [found, expected] = [minus(&found, &before[0][&name]), minus(&w[&name], &before[1][&name])];
                assert_within(1.0, &found, &expected, &format!("step {step} of {name}"));
            }
        }
    }

    /// The model as a function of its weights, for one pass over the graph.
    fn reference(&self, f: &Rows, training: bool, draw: u64) -> Box<dyn Fn(&Named) -> Rows> {
        let (a, mut f) = (self.adjacency(), f.clone());
        if self.model == "eigen-gnn" {
            f.iter_mut().zip(eigenvectors(&a, &self.addresses, self.dim)).for_each(|(f, v)| f.extend(v));
            let operator = symmetric(&a);
            return Box::new(move |w| gcn(&operator, &f, w));
        }
        let heard = self.heard(&distances(&a), training, draw);
        let columns = self.num_classes.is_none().then(|| self.num_ids.ilog2().pow(2) as usize);
        Box::new(move |w| p_gnn(&heard, &f, w, columns))
    }

    fn adjacency(&self) -> Rows {
        let mut a = square(self.num_nodes());
        for &[i, j] in self.edges.iter().filter(|[i, j]| i != j) {
            (a[i as usize][j as usize], a[j as usize][i as usize]) = (1.0, 1.0);
        }
        a
    }

    /// Which member of each set of anchors a node hears, and how loud.
    fn heard(&self, distance: &Rows, training: bool, draw: u64) -> Vec<Vec<(usize, f64)>> {
        let (n, k) = (self.num_nodes(), self.num_nodes().min(self.num_ids).ilog2() as usize);
        let words = Seeds::new(SEED).stream(Purpose::Anchors, &[u64::from(training), GRAPH, draw, 0]);
        let sets = (0..k * k).map(|s| {
            let mut members: Vec<usize> = (0..n).collect();
            members.sort_by_key(|&u| words.at([self.addresses[u], s as u32 / 4, 0, 0])[s % 4]);
            members.truncate(n >> (1 + s / k));
            members
        });
        let sets: Vec<_> = sets.collect();
        let closest = |u: usize, set: &Vec<usize>| {
            // Of several, the first.
            let a = *set.iter().min_by(|&&a, &&b| distance[u][a].total_cmp(&distance[u][b])).unwrap();
            (a, if distance[u][a] <= 2.0 { 1.0 / (distance[u][a] + 1.0) } else { 0.0 })
        };
        (0..n).map(|u| sets.iter().map(|set| closest(u, set)).collect()).collect()
    }

    fn loss(&self, h: &Rows) -> f64 {
        if self.num_classes.is_some() {
            let [nodes, labels] = self.labels();
            let nll = |(&u, &label): (&u32, &u32)| {
                let h = &h[u as usize];
                h.iter().map(|x| x.exp()).sum::<f64>().ln() - h[label as usize]
            };
            return nodes.iter().zip(&labels).map(nll).sum::<f64>() / nodes.len() as f64;
        }
        let cosine = |[i, j]: [u32; 2]| {
            let (x, y) = (&h[i as usize], &h[j as usize]);
            dot(x, y) / (dot(x, x) * dot(y, y)).sqrt()
        };
        let [positive, negative] = self.pairs();
        let high = positive.iter().map(|&pair| (-cosine(pair)).exp().ln_1p());
        let low = negative.iter().map(|&pair| cosine(pair).exp().ln_1p());
        high.chain(low).sum::<f64>() / (positive.len() + negative.len()) as f64
    }
}

// ---- the models, dense ----

/// Two layers over all `[c x_a, x_u]`. The second gives a column per set, zero beyond the last, or the mean as the first.
fn p_gnn(heard: &[Vec<(usize, f64)>], f: &Rows, w: &Named, columns: Option<usize>) -> Rows {
    let weight = |layer: usize, part: &str| &w[&format!("features/p-gnn/{layer}/{part}")];
    let mut x = affine(f, weight(0, "weight"), weight(0, "bias"));
    for layer in [1, 2] {
        let stacked = [&weight(layer, "anchor")[..], weight(layer, "own")].concat();
        let messages = heard.iter().zip(&x).map(|(sets, own)| {
            let both = |&(a, c): &(usize, f64)| x[a].iter().map(|x| c * x).chain(own.iter().copied()).collect();
            relu(affine(&sets.iter().map(both).collect(), &stacked, weight(layer, "bias")))
        });
        x = match columns.filter(|_| layer == 2) {
            None => messages
                .map(|m| transposed(&m).iter().map(|x| x.iter().sum::<f64>() / x.len() as f64).collect())
                .collect(),
            Some(columns) => {
                let position = |m| affine(&m, weight(2, "position"), weight(2, "position-bias")).concat();
                let padded = |row: Vec<f64>| row.into_iter().chain(std::iter::repeat(0.0)).take(columns).collect();
                messages.map(position).map(padded).collect()
            }
        };
    }
    x
}

/// Two layers `Ã X W + b`, ReLU between them. `W` of the first stands in two parts, one for each source.
fn gcn(operator: &Rows, x: &Rows, w: &Named) -> Rows {
    let weight = |name: &str| &w[&format!("features+eigenvectors/gcn/{name}")];
    let stacked = [&weight("1/weight/features")[..], weight("1/weight/eigenvectors")].concat();
    let x = relu(affine(&times(operator, x), &stacked, weight("1/bias")));
    affine(&times(operator, &x), weight("2/weight"), weight("2/bias"))
}

/// `(D+I)^-1/2 (A+I) (D+I)^-1/2`.
fn symmetric(a: &Rows) -> Rows {
    let root = |i: usize| (a[i].iter().sum::<f64>() + 1.0).sqrt();
    let entry = |i: usize, j: usize| (a[i][j] + f64::from(u8::from(i == j))) / (root(i) * root(j));
    (0..a.len()).map(|i| (0..a.len()).map(|j| entry(i, j)).collect()).collect()
}

/// Hops between all pairs (Floyd and Warshall).
fn distances(a: &Rows) -> Rows {
    let hops = |&link: &f64| if link > 0.0 { 1.0 } else { f64::INFINITY };
    let mut d: Rows = a.iter().map(|row| row.iter().map(hops).collect()).collect();
    for m in 0..d.len() {
        d[m][m] = 0.0;
        let from = d[m].clone();
        d.iter_mut().for_each(|row| (0..from.len()).for_each(|j| row[j] = row[j].min(row[m] + from[j])));
    }
    d
}

/// A row per node of the vectors whose `|λ|` are largest, times `λ`, with the sign that makes the largest entry of the vector
/// positive: of several, that of the first address. Zero columns where nodes are too few.
fn eigenvectors(a: &Rows, addresses: &[u32], dim: usize) -> Rows {
    let mut pairs = jacobi(a.clone());
    pairs.sort_by(|x, y| y.0.abs().total_cmp(&x.0.abs()));
    let leading = &pairs[..pairs.len().min(dim + 1)];
    let simple = leading.windows(2).all(|pair| pair[0].0.abs() - pair[1].0.abs() > 0.1);
    assert!(simple, "only where no |λ| is that of another are vectors unique: {leading:?}");
    let mut order: Vec<usize> = (0..a.len()).collect();
    order.sort_by_key(|&u| addresses[u]);
    let column = |(value, v): &(f64, Vec<f64>)| -> Vec<f64> {
        let largest = v.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
        let decides = *order.iter().find(|&&u| v[u].abs() >= (1.0 - 1e-4) * largest).unwrap();
        v.iter().map(|x| x * v[decides].signum() * value).collect()
    };
    let columns: Rows = pairs.iter().map(column).chain(std::iter::repeat(vec![0.0; a.len()])).take(dim).collect();
    transposed(&columns)
}

/// Eigenvalues with their vectors: planes are turned, one after the other, until nothing is left beside the diagonal.
fn jacobi(mut a: Rows) -> Vec<(f64, Vec<f64>)> {
    let n = a.len();
    let mut v = square(n);
    (0..n).for_each(|i| v[i][i] = 1.0);
    for _ in 0..20 {
        for (p, q) in (0..n).flat_map(|p| (p + 1..n).map(move |q| (p, q))) {
            let angle = 0.5 * (2.0 * a[p][q]).atan2(a[q][q] - a[p][p]);
            let turn = |row: &mut Vec<f64>| {
                (row[p], row[q]) =
                    (angle.cos() * row[p] - angle.sin() * row[q], angle.sin() * row[p] + angle.cos() * row[q]);
            };
            a.iter_mut().for_each(turn);
            a = transposed(&a);
            a.iter_mut().for_each(turn);
            v.iter_mut().for_each(turn);
        }
    }
    let beside: f64 = (0..n).map(|i| dot(&a[i], &a[i]) - a[i][i] * a[i][i]).sum();
    assert!(beside < 1e-20, "{beside} is left beside the diagonal");
    transposed(&v).into_iter().enumerate().map(|(i, v)| (a[i][i], v)).collect()
}

/// `(f(w + ε) - f(w - ε)) / 2ε` for every entry; half of `ε` would tell if it crossed a kink of a ReLU.
fn central_differences(w: &mut Named, f: impl Fn(&Named) -> f64) -> Named {
    let mut gradients = w.clone();
    for (name, gradient) in &mut gradients {
        for (i, c) in (0..gradient.len()).flat_map(|i| (0..gradient[0].len()).map(move |c| (i, c))).collect::<Vec<_>>()
        {
            let at = gradient[i][c];
            let mut value = |x: f64| {
                w.get_mut(name).unwrap()[i][c] = x;
                f(w)
            };
            let [slope, halved] = [1e-5, 5e-6].map(|e| (value(at + e) - value(at - e)) / (2.0 * e));
            value(at);
            assert!((slope - halved).abs() < 1e-8, "{name}[{i}][{c}] crosses a kink: {slope}, {halved}");
            gradient[i][c] = slope;
        }
    }
    gradients
}

/// Step number `step` of Adam, decay being part of the gradient.
fn adam_step(w: &mut Rows, g: &Rows, [first, second]: [&mut Rows; 2], step: i32) {
    let moments = first.iter_mut().flatten().zip(second.iter_mut().flatten());
    for ((w, g), (m, v)) in w.iter_mut().flatten().zip(g.iter().flatten()).zip(moments) {
        let g = g + WEIGHT_DECAY * *w;
        assert!(g.abs() > 1e-6, "the first step is the sign of {g}, which single precision might not know");
        *m = 0.9 * *m + 0.1 * g;
        *v = 0.999 * *v + 0.001 * g * g;
        let (m, v) = (*m / (1.0 - 0.9f64.powi(step)), *v / (1.0 - 0.999f64.powi(step)));
        *w -= LEARNING_RATE * m / (v.sqrt() + 1e-8);
    }
}

// ---- arrays ----

/// Between 0.1 and 0.7, of either sign: decay alone gives an unused weight a gradient, which must not vanish.
fn wave(at: usize) -> f32 {
    let x = (at as f32 * 2.4).sin();
    0.1f32.copysign(x) + 0.6 * x
}

fn rows(x: &Matrix) -> Rows {
    (0..x.rows()).map(|i| x.row(i).iter().map(|&x| f64::from(x)).collect()).collect()
}

fn weights(model: &Model, part: fn(&nigh::tape::Weight) -> &Matrix) -> Named {
    model.weights.entries().iter().map(|weight| (weight.name.clone(), rows(part(weight)))).collect()
}

fn square(n: usize) -> Rows {
    vec![vec![0.0; n]; n]
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

fn transposed(x: &Rows) -> Rows {
    (0..x[0].len()).map(|c| x.iter().map(|row| row[c]).collect()).collect()
}

fn times(x: &Rows, y: &Rows) -> Rows {
    let columns = transposed(y);
    x.iter().map(|row| columns.iter().map(|column| dot(row, column)).collect()).collect()
}

fn affine(x: &Rows, w: &Rows, b: &Rows) -> Rows {
    let mut y = times(x, w);
    y.iter_mut().for_each(|row| row.iter_mut().zip(&b[0]).for_each(|(y, b)| *y += b));
    y
}

fn relu(mut x: Rows) -> Rows {
    x.iter_mut().flatten().for_each(|x| *x = x.max(0.0));
    x
}

fn minus(x: &Rows, y: &Rows) -> Rows {
    x.iter().zip(y).map(|(x, y)| x.iter().zip(y).map(|(x, y)| x - y).collect()).collect()
}

fn assert_near(found: &Rows, expected: &Rows, what: &str) {
    assert_within(0.1, found, expected, what);
}

/// Relative to the entry, or to this share of the largest one if that is more.
fn assert_within(share: f64, found: &Rows, expected: &Rows, what: &str) {
    let shape = |x: &Rows| x.iter().map(Vec::len).collect::<Vec<_>>();
    assert_eq!(shape(found), shape(expected), "shape of {what}");
    let largest = expected.iter().flatten().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    for (at, (found, expected)) in found.iter().flatten().zip(expected.iter().flatten()).enumerate() {
        let allowed = TOLERANCE * expected.abs().max(share * largest);
        let close = (found - expected).abs() <= allowed;
        assert!(close, "{what}, entry {at}: {found}, expected {expected}");
    }
}
