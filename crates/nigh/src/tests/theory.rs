//! The paper's statements, one test each.

use nigh::certify::{Certification, MeasuredPair, sample_pairs, sufficient_width};
use nigh::dataset::generate;
use nigh::encoder::Gin;
use nigh::encoder::Layers;
use nigh::graph::proximity::Walks;
use nigh::model::Model;
use nigh::model::catalog::{self, Hyperparameters};
use nigh::model::{Architecture, Shape};
use nigh::{Features, Graph, Matrix, Operator, Seeds, Signal, View};
use std::sync::Arc;

/// Corollary 1.
#[test]
fn automorphic_nodes_coincide_without_a_signal_and_part_with_one() {
    let n = 15;
    let view = two_copies(&generate::communities(3, 5, 0.1, 1).graph);
    for name in ["sgc", "gcn", "gat", "graphsage"] {
        let h = model(name, 3).represent(&view, 0);
        (0..n).for_each(|i| assert_eq!(h.row(i), h.row(i + n), "{name}, node {i}"));
    }
    for name in [
        "smp-linear",
        "smp-identity",
        "smp-mlp",
        "smp-linear-gcn-feat",
        "smp-linear-gcn-both",
        "smp-attention",
        "smp-gin",
        "smp-signal",
    ] {
        let h = model(name, 3).represent(&view, 0);
        (0..n).for_each(|i| assert_ne!(h.row(i), h.row(i + n), "{name}, node {i}"));
    }
}

/// Theorem 1: whatever a decoder makes of two rows, it makes of the same pair across the copies.
#[test]
fn an_equivariant_model_takes_a_neighbour_for_its_copy_in_another_component() {
    let graph = generate::communities(3, 5, 0.1, 1).graph;
    let (view, n) = (two_copies(&graph), 15);
    let plain = model("gcn", 3);
    let h = plain.represent(&view, 0);
    let e = Operator::symmetric(two_copies(&graph).graph().clone().into());
    for [i, j] in graph.edges() {
        let (i, j) = (i as usize, j as usize);
        assert_eq!(dot(h.row(i), h.row(j)), dot(h.row(i), h.row(j + n)));
    }
    // The proximities themselves differ, and the stochastic representation estimates both.
    let pairs: Vec<[u32; 2]> = graph.edges().flat_map(|[i, j]| [[i, j], [i, j + n as u32]]).collect();
    let measured = measure(&e, Signal::Gaussian, 4096, &pairs, 1);
    for pair in measured.chunks(2) {
        assert!(pair[0].exact > 0.0 && pair[1].exact == 0.0);
        assert!(pair[0].estimate > pair[1].estimate, "{pair:?}");
    }
}

/// Theorem 2.
#[test]
fn the_error_of_the_estimate_falls_as_d_grows_and_stays_within_the_bound() {
    let graph = Arc::new(generate::leaders(&generate::Leaders::default(), 2).graph);
    let operator = Operator::symmetric(graph.clone());
    let pairs = sample_pairs(&graph, 2, 2000, 5);
    let (epsilon, delta) = (0.05, 0.05);
    let max_norm = Walks::new(&operator).max_row_norm(2, u64::MAX).unwrap();
    let enough = sufficient_width(max_norm, epsilon, delta).ceil() as usize;
    for &signal in Signal::ALL {
        let mean_error = |d: usize| {
            let errors = measure(&operator, signal, d, &pairs, 7);
            errors.iter().map(|pair| pair.error()).sum::<f64>() / errors.len() as f64
        };
        // Sixteen times the width, a quarter of the error.
        let (narrow, wide) = (mean_error(32), mean_error(512));
        assert!((narrow / wide - 4.0).abs() < 1.0, "{signal}: {narrow} at 32, {wide} at 512");
        let measured = measure(&operator, signal, enough, &pairs, 8);
        let within = measured.iter().filter(|pair| pair.error() < epsilon).count() as f64 / 2000.0;
        assert!(within > 1.0 - delta, "{signal}: {within} within {epsilon} at d = {enough}");
    }
}

/// The estimate of Theorem 2 is the inner product of the rows that the model itself uses, at `d^-1/2`.
#[test]
fn the_stochastic_representation_of_the_model_is_the_estimate_of_the_theorem() {
    let graph = Arc::new(generate::communities(4, 8, 0.05, 3).graph);
    let view = View::new(graph.clone(), Features::Constant(32)).unwrap();
    let shape = Shape { signal_dim: 2048, ..shape(1) };
    let identity = row("smp-identity");
    let h = Model::build(identity, shape, Seeds::new(3)).unwrap().represent(&view, 0);
    let pairs: Vec<[u32; 2]> = graph.edges().collect();
    for pair in measure(&Operator::symmetric(graph), Signal::Gaussian, 2048, &pairs, 3) {
        // The signal stands behind the features.
        let signal = |node: u32| &h.row(node as usize)[shape.width..];
        let estimate = dot(signal(pair.pair[0]), signal(pair.pair[1]));
        assert!((f64::from(estimate) - pair.estimate).abs() < 1e-4, "{estimate} {pair:?}");
    }
}

/// Remark 1.
#[test]
fn zeroing_the_signal_gives_the_plain_gnn() {
    let (graph, features) = (generate::communities(3, 5, 0.1, 1).graph, features(15, 3));
    let view = View::new(graph, Features::Dense(features.into())).unwrap();
    let width = shape(3).width;
    let mut smp = model("smp-linear-gcn-both", 3);
    let head = smp.weights.named("head/1/weight").unwrap();
    // Identity for the features, nothing for the signal.
    head.value = Matrix::from_fn(2 * width, width, |i, c| f32::from(i == c));
    smp.weights.named("head/1/bias").unwrap().value = Matrix::zeros(1, width);
    let mut gcn = model("gcn", 3);
    for weight in gcn.weights.entries_mut() {
        weight.value = smp.weights.named(&weight.name).expect("the same branch").value.clone();
    }
    assert_eq!(smp.represent(&view, 0), gcn.represent(&view, 0));
}

/// Theorem 3 asks for an injective encoder: a sum counts neighbours that a mean takes for one.
#[test]
fn a_gin_tells_apart_what_a_mean_does_not() {
    // Node 0 has one neighbour, node 2 has three; without features all are alike.
    let (graph, _) = Graph::from_edges(6, &[[0, 1], [2, 3], [2, 4], [2, 5]]).unwrap();
    let view = View::new(graph, Features::Constant(6)).unwrap();
    let rows = |architecture: Architecture| {
        let model = Model::build(architecture, shape(1), Seeds::new(4)).unwrap();
        let h = model.represent(&view, 0);
        [h.row(0).to_vec(), h.row(2).to_vec()]
    };
    let layers = Layers { count: 2, hidden: 6, dropout: 0.5 };
    let [one, three] = rows(row("graphsage"));
    assert_eq!(one, three);
    let [one, three] = rows(catalog::model([catalog::features().through(Gin { layers })]));
    assert_ne!(one, three);
}

/// Section 4.1: distances between signals, divided by the square root of two, follow a chi distribution.
#[test]
fn two_signals_are_far_apart() {
    let d = 32;
    let nodes: Vec<u32> = (0..2000).collect();
    let e = Signal::Gaussian.matrix(Seeds::new(1).stream(nigh::Purpose::Signal, &[0]), &nodes, 0..d, 1.0);
    let squares: Vec<f64> = (0..1000)
        .map(|i| e.row(2 * i).iter().zip(e.row(2 * i + 1)).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>() / 2.0)
        .collect();
    let mean = squares.iter().sum::<f64>() / 1000.0;
    let variance = squares.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / 1000.0;
    // A chi-squared variable with d degrees of freedom has mean d and variance 2 d.
    assert!((mean - d as f64).abs() < 1.0 && (variance - 2.0 * d as f64).abs() < 10.0, "{mean} {variance}");
    assert!(squares.iter().all(|&s| s > 4.0), "no two signals come close");
}

fn shape(num_features: usize) -> Shape {
    Shape { num_features, width: 6, signal_dim: 8, ..Shape::default() }
}

fn row(name: &str) -> Architecture {
    let settings = Hyperparameters { width: 6, signal_dim: 8, ..Hyperparameters::default() };
    catalog::architecture(name, &settings).unwrap()
}

fn model(name: &str, num_features: usize) -> Model {
    Model::build(row(name), shape(num_features), Seeds::new(4)).unwrap()
}

fn features(num_nodes: usize, cols: usize) -> Matrix {
    Matrix::from_fn(num_nodes, cols, |i, c| ((i * 5 + c * 3) % 7) as f32 * 0.3 - 0.8)
}

/// The construction in the proof of Theorem 1.
fn two_copies(graph: &Graph) -> View {
    let n = graph.num_nodes();
    let edges: Vec<[u32; 2]> = graph.edges().flat_map(|[a, b]| [[a, b], [a + n as u32, b + n as u32]]).collect();
    let (both, _) = Graph::from_edges(2 * n, &edges).unwrap();
    let once = features(n, 3);
    View::new(both, Features::Dense(Matrix::from_fn(2 * n, 3, |i, c| once.row(i % n)[c]).into())).unwrap()
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn measure(operator: &Operator, signal: Signal, dim: usize, pairs: &[[u32; 2]], seed: u64) -> Vec<MeasuredPair> {
    let certification = Certification { hops: 2, signal, seed, ..Certification::default() };
    let plan = certification.plan(operator.graph(), 0, None).unwrap();
    certification.measure(operator, dim, pairs, &plan, |_| {})
}
