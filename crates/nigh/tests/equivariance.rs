//! What holds for every model of the catalog: relabelling nodes relabels rows of `H`, and gradients are derivatives.

use nigh::kernel::{Matrix, softmax};
use nigh::model::decoder::PairDecoder;
use nigh::model::{Recording, Shape, catalog};
use nigh::{Decoder, Features, Graph, Model, Purpose, Refresh, Seeds, Signal, SignalScale, View};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Sums over neighbours change their order with the nodes; relative to `max(1, |x|)`.
const EQUIVARIANCE_TOLERANCE: f32 = 1e-5;

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 100,
        rng_seed: RngSeed::Fixed(2),
        failure_persistence: None,
        ..Default::default()
    })]

    // Eq. 3, with the signal as one more attribute of a node.
    #[test]
    fn relabelling_nodes_with_their_signals_relabels_rows((graph, features, order) in inputs(), shape in shapes()) {
        for (name, _) in catalog::MODELS {
            prop_assert!(is_equivariant(name, shape, &graph, &features, &order, Some(&order)), "{}", name);
        }
    }

    #[test]
    fn relabelling_nodes_of_a_weighted_graph_relabels_rows(
        (graph, features, order) in inputs(), weights in prop::collection::vec(0.1f32..4.0, 200), shape in shapes(),
    ) {
        let edges: Vec<_> = graph.edges().collect();
        let (graph, _) = Graph::from_weighted_edges(graph.num_nodes(), &edges, &weights[..edges.len()]).unwrap();
        for (name, _) in catalog::MODELS {
            prop_assert!(is_equivariant(name, shape, &graph, &features, &order, Some(&order)), "{}", name);
        }
    }

    #[test]
    fn without_a_signal_relabelling_nodes_alone_relabels_rows(
        (graph, features, order) in inputs(), shape in shapes(),
    ) {
        for name in models(|architecture| !architecture.uses_signal()) {
            prop_assert!(is_equivariant(name, shape, &graph, &features, &order, None), "{}", name);
        }
    }
}

#[test]
fn with_a_signal_that_stays_behind_relabelling_nodes_changes_rows() {
    for name in models(|architecture| architecture.uses_signal()) {
        assert!(!is_equivariant(name, shape(0.0), &graph(), &features(), &[3, 0, 5, 1, 4, 2], None), "{name}");
    }
}

#[test]
fn gradients_of_every_model_under_every_decoder_agree_with_finite_differences() {
    for (name, _) in catalog::MODELS {
        for &decoder in Decoder::ALL {
            check_gradients(name, Some(decoder), shape(0.0));
        }
    }
}

#[test]
fn gradients_of_every_model_that_classifies_agree_with_finite_differences() {
    for name in models(|architecture| architecture.can_classify()) {
        check_gradients(name, None, Shape { num_classes: Some(4), ..shape(0.0) });
    }
}

// A mask is a function of its address: two passes at one address drop the same entries, and can be compared.
#[test]
fn gradients_through_dropout_agree_with_finite_differences() {
    for (name, _) in catalog::MODELS {
        check_gradients(name, Some(Decoder::HadamardMlp), shape(0.5));
    }
}

// ---- relabelling ----

fn all_pairs(n: u32) -> Vec<[u32; 2]> {
    (0..n).flat_map(|a| (a + 1..n).map(move |b| [a, b])).collect()
}

/// A graph, features (narrow, wide, or wide and sparse) and an order of its nodes.
fn inputs() -> impl Strategy<Value = (Graph, Features, Vec<u32>)> {
    (2u32..14, prop::sample::select(&[1usize, 3, 9, 40][..])).prop_flat_map(|(n, cols)| {
        let pairs = all_pairs(n);
        let most = pairs.len();
        let graph = prop::sample::subsequence(pairs, 0..=most)
            .prop_map(move |edges| Graph::from_edges(n as usize, &edges).unwrap().0);
        let entry =
            if cols < 40 { (-1.0f32..1.0).boxed() } else { prop_oneof![7 => Just(0.0), 1 => 0.5f32..1.0].boxed() };
        let features = prop::collection::vec(entry, n as usize * cols)
            .prop_map(move |data| Features::from_matrix(Matrix::from_data(n as usize, cols, data)));
        (graph, features, Just((0..n).collect::<Vec<u32>>()).prop_shuffle())
    })
}

fn shapes() -> impl Strategy<Value = Shape> {
    (1usize..4, 1usize..20, prop::sample::select(Signal::ALL), prop::sample::select(Refresh::ALL))
        .prop_map(|(hops, width, signal, refresh)| Shape { hops, width, signal, refresh, signal_dim: 5, ..shape(0.5) })
}

/// The names of the catalog whose architecture is of a kind.
fn models(kind: impl Fn(&nigh::model::Architecture) -> bool) -> Vec<&'static str> {
    let names = catalog::MODELS.iter().map(|model| model.0);
    let names: Vec<_> = names.filter(|name| kind(&catalog::architecture(name).unwrap())).collect();
    assert!(!names.is_empty());
    names
}

/// Whether `H` of the relabelled graph is `H`, relabelled, if the signal of its node `i` is that of node
/// `signal_rows[i]`; without them, of node `i`.
fn is_equivariant(
    name: &str,
    shape: Shape,
    graph: &Graph,
    features: &Features,
    order: &[u32],
    signal_rows: Option<&[u32]>,
) -> bool {
    let shape = Shape { num_features: features.cols(), ..shape };
    let mut model = Model::build(catalog::architecture(name).unwrap(), shape, Seeds::new(SEED)).unwrap();
    let h = model.represent(&View::new(graph.clone(), features.clone()).unwrap(), DRAW).permute_rows(order);
    let moved = View::new(graph.permute(order).unwrap(), features.permute_rows(order)).unwrap();
    let moved = match signal_rows {
        Some(rows) => moved.with_signal_rows(rows),
        None => moved,
    };
    let moved = model.represent(&moved, DRAW);
    let near = |(a, b): (&f32, &f32)| (a - b).abs() <= EQUIVARIANCE_TOLERANCE * b.abs().max(1.0);
    moved.shape() == h.shape() && moved.data().iter().zip(h.data()).all(near)
}

// ---- gradients ----

/// Chosen such that every weight takes part (no ReLU that all paths pass is dead) and no difference steps across kinks
/// on both sides; about every sixth seed is such a one.
const SEED: u64 = 1;

/// Any number: the address of the pass.
const DRAW: u64 = 7;

/// A repeated pair, both directions of one and a node with itself.
const POSITIVE: [[u32; 2]; 4] = [[0, 1], [1, 2], [2, 1], [3, 4]];
const NEGATIVE: [[u32; 2]; 4] = [[0, 4], [5, 1], [5, 1], [3, 3]];

/// A triangle, an edge and a node without one.
fn graph() -> Graph {
    Graph::from_edges(6, &[[0, 1], [1, 2], [0, 2], [3, 4]]).unwrap().0
}

fn features() -> Features {
    let mut rng = Seeds::new(SEED).rng(Purpose::Generate, &[]);
    Features::from_matrix(Matrix::from_fn(6, 3, |_, _| 2.0 * rng.unit() - 1.0))
}

fn shape(dropout: f32) -> Shape {
    Shape {
        num_features: 3,
        num_classes: None,
        hops: 2,
        width: 4,
        dropout,
        signal: Signal::Gaussian,
        signal_dim: 3,
        signal_scale: SignalScale::InverseSqrt,
        refresh: Refresh::Fixed,
    }
}

/// Every entry of every weight against differences of the loss: of pairs under a decoder, or of classes.
fn check_gradients(name: &str, decoder: Option<Decoder>, shape: Shape) {
    let seeds = Seeds::new(SEED);
    let mut model = Model::build(catalog::architecture(name).unwrap(), shape, seeds).unwrap();
    let mut pairs = decoder.map(|decoder| PairDecoder::new(decoder, &mut model));
    pairs.iter_mut().for_each(|pairs| pairs.expect(6, &POSITIVE));
    // Away from the start, where the biases of convolutions are zero and gradients faint.
    let mut rng = seeds.rng(Purpose::Weights, &[]);
    for weight in model.weights.entries_mut() {
        weight.value.data_mut().iter_mut().for_each(|w| *w = 2.0 * rng.unit() - 1.0);
    }
    let mut recording = model.record(&View::new(graph(), features()).unwrap());
    model.weights.clear_gradients();
    loss(&mut model, &mut recording, pairs.as_mut());
    recording.backward(&mut model);
    for (at, weight) in model.weights.entries().to_vec().iter().enumerate() {
        for (entry, (&value, &gradient)) in weight.value.data().iter().zip(weight.gradient.data()).enumerate() {
            let moved = |by: f32| {
                model.weights.entries_mut()[at].value.data_mut()[entry] = value + by;
                loss(&mut model, &mut recording, pairs.as_mut())
            };
            let slopes = slopes(moved);
            // Within a hundredth; far below 0.01 the rounding of `f32` in the loss is all that a difference shows.
            let near = |slope: &f64| (f64::from(gradient) - slope).abs() < 1e-2 * slope.abs().max(1e-2);
            let place = format!("{name}, {decoder:?}, {}, entry {entry}", weight.name);
            assert!(slopes.iter().any(near), "{place}: gradient {gradient}, differences {slopes:?}");
        }
        let takes_part = weight.gradient.data().iter().any(|gradient| gradient.abs() > 1e-3);
        assert!(takes_part, "{name}, {decoder:?}: {} hardly takes part; another seed may help", weight.name);
    }
}

/// The slope at zero from both sides, from above and from below, each with an error of second order. Beside the kink
/// of a ReLU only the one that does not reach across it is a derivative.
fn slopes(mut f: impl FnMut(f32) -> f64) -> [f64; 3] {
    const STEP: f32 = 1e-2;
    let [two_down, down, up, two_up, here] = [-2.0, -1.0, 1.0, 2.0, 0.0].map(|steps| f(steps * STEP));
    let differences = [up - down, 4.0 * up - 3.0 * here - two_up, 3.0 * here + two_down - 4.0 * down];
    differences.map(|difference| difference / (2.0 * f64::from(STEP)))
}

fn loss(model: &mut Model, recording: &mut Recording, pairs: Option<&mut PairDecoder>) -> f64 {
    let pass = recording.train(model, DRAW);
    let (h, gradient) = recording.representation_and_gradient();
    match pairs {
        Some(decoder) => decoder.loss(h, &NEGATIVE, &mut model.weights, &pass, gradient),
        None => softmax::nll(h, &[0, 1, 3, 5], &[2, 0, 1, 3], gradient),
    }
}
