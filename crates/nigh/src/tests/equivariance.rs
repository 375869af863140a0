//! What holds for every model of the catalog: relabelling nodes relabels rows of `H`, and gradients are derivatives.

use nigh::Matrix;
use nigh::models::Model;
use nigh::models::catalog::{self, Hyperparameters};
use nigh::models::decoder::PairDecoder;
use nigh::models::{Answer, Architecture, Recording, Scoring, Shape};
use nigh::ops::softmax;
use nigh::tape::Weight;
use nigh::{Decoder, Features, Graph, Purpose, Refresh, Seeds, Signal, View};
use nigh::{Node2Vec, Source};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Sums over neighbours change their order with the nodes; relative to `max(1, |x|)`.
const EQUIVARIANCE_TOLERANCE: f32 = 1e-5;

/// What a node is, not where: nothing is drawn for a node, except which entries are dropped in training. The representations of
/// smp-proximity are of this kind; what it knows of pairs is not.
const PLAIN: [&str; 5] = ["sgc", "gcn", "gat", "graphsage", "smp-proximity"];

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 100,
        rng_seed: RngSeed::Fixed(2),
        failure_persistence: None,
        ..Default::default()
    })]

    // Eq. 3, with what is drawn for a node (signal, id, anchors, walks, masks of dropout) as one more attribute of it.
    #[test]
    fn relabelling_nodes_with_their_addresses_relabels_rows(
        (graph, features, order) in inputs(), settings in settings(),
    ) {
        for name in models(|architecture| architecture.heuristic.is_none()) {
            prop_assert!(is_equivariant(name, settings, &graph, &features, &order, Some(&order)), "{}", name);
        }
    }

    #[test]
    fn relabelling_nodes_of_a_weighted_graph_relabels_rows(
        (graph, features, order) in inputs(), weights in prop::collection::vec(0.1f32..4.0, 200), settings in settings(),
    ) {
        let edges: Vec<_> = graph.edges().collect();
        let (graph, _) = Graph::from_weighted_edges(graph.num_nodes(), &edges, &weights[..edges.len()]).unwrap();
        for name in models(|architecture| architecture.heuristic.is_none()) {
            prop_assert!(is_equivariant(name, settings, &graph, &features, &order, Some(&order)), "{}", name);
        }
    }

    #[test]
    fn for_plain_gnns_relabelling_nodes_alone_relabels_rows(
        (graph, features, order) in inputs(), settings in settings(),
    ) {
        for name in PLAIN {
            prop_assert!(is_equivariant(name, settings, &graph, &features, &order, None), "{}", name);
        }
    }
}

#[test]
fn with_addresses_that_stay_behind_relabelling_nodes_changes_rows() {
    // Eigenvectors follow the graph: an address decides about no more than a sign.
    let addressed = models(|architecture| architecture.heuristic.is_none() && !architecture.uses(Source::Eigenvectors));
    for name in addressed.into_iter().filter(|name| !PLAIN.contains(name)) {
        assert!(!is_equivariant(name, with_dropout(0.0), &graph(), &features(), &[3, 0, 5, 1, 4, 2], None), "{name}");
    }
}

#[test]
fn gradients_of_every_model_under_every_decoder_agree_with_finite_differences() {
    for name in models(|architecture| architecture.heuristic.is_none()) {
        for decoder in [Decoder::Cosine, Decoder::InnerProduct, Decoder::HadamardMlp] {
            check_gradients(name, Some(decoder), with_dropout(0.0));
        }
    }
}

#[test]
fn gradients_of_every_model_that_classifies_agree_with_finite_differences() {
    for name in models(|architecture| architecture.can_classify()) {
        check_gradients(name, None, with_dropout(0.0));
    }
}

// A mask is a function of its address: two passes at one address drop the same entries, and can be compared.
#[test]
fn gradients_through_dropout_agree_with_finite_differences() {
    for name in models(|architecture| architecture.heuristic.is_none()) {
        check_gradients(name, Some(Decoder::HadamardMlp), with_dropout(0.5));
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

/// The settings of a model: those of its encoders, and its shape.
#[derive(Debug, Clone, Copy)]
struct Settings {
    hyperparameters: Hyperparameters,
    shape: Shape,
}

impl Settings {
    fn architecture(&self, name: &str) -> Architecture {
        catalog::architecture(name, &self.hyperparameters).unwrap()
    }
}

fn settings() -> impl Strategy<Value = Settings> {
    (1usize..4, 1usize..20, prop::sample::select(Signal::ALL), prop::sample::select(Refresh::ALL)).prop_map(
        |(hops, width, signal, refresh)| {
            let Settings { hyperparameters, shape } = with_dropout(0.5);
            Settings {
                hyperparameters: Hyperparameters { hops, width, signal_dim: 5, ..hyperparameters },
                shape: Shape { width, signal, refresh, signal_dim: 5, ..shape },
            }
        },
    )
}

/// The names of the catalog whose architecture is of a kind.
fn models(kind: impl Fn(&Architecture) -> bool) -> Vec<&'static str> {
    let names = catalog::MODELS.iter().map(|model| model.name);
    let names: Vec<_> = names.filter(|name| kind(&with_dropout(0.0).architecture(name))).collect();
    assert!(!names.is_empty());
    names
}

/// Whether `H` of the relabelled graph is `H`, relabelled, if its node `i` is known as node `addresses[i]`; without them,
/// as node `i`. With addresses that holds in training as well, where entries are dropped.
fn is_equivariant(
    name: &str,
    settings: Settings,
    graph: &Graph,
    features: &Features,
    order: &[u32],
    addresses: Option<&[u32]>,
) -> bool {
    let shape = Shape { num_features: features.cols(), num_ids: graph.num_nodes(), ..settings.shape };
    let represent = |view: &View, training: bool| {
        let mut model = Model::build(settings.architecture(name), shape, Seeds::new(SEED)).unwrap();
        model.pretrain(view, &mut |_, _| ());
        let mut recording = model.record(view);
        if training {
            recording.train(&model, DRAW);
            return recording.representation_and_gradient().0.clone();
        }
        recording.evaluate(&model, DRAW).clone()
    };
    let still = View::new(graph.clone(), features.clone()).unwrap();
    let moved = View::new(graph.permute(order).unwrap(), features.permute_rows(order)).unwrap();
    let moved = match addresses {
        Some(addresses) => moved.with_addresses(addresses),
        None => moved,
    };
    let near = |(a, b): (&f32, &f32)| (a - b).abs() <= EQUIVARIANCE_TOLERANCE * b.abs().max(1.0);
    [false, true].into_iter().filter(|&training| !training || addresses.is_some()).all(|training| {
        let (h, moved) = (represent(&still, training).permute_rows(order), represent(&moved, training));
        moved.shape() == h.shape() && moved.data().iter().zip(h.data()).all(near)
    })
}

// ---- gradients ----

/// The first seed.
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

fn with_dropout(dropout: f32) -> Settings {
    let walks = Node2Vec { walk_length: 5, walks_per_node: 2, ..Node2Vec::default() };
    Settings {
        hyperparameters: Hyperparameters { width: 4, dropout, signal_dim: 3, walks, ..Hyperparameters::default() },
        shape: Shape { num_features: 3, num_ids: 6, width: 4, signal_dim: 3, ..Shape::default() },
    }
}

/// Every entry of every weight against differences of the loss: of pairs under a decoder, or of classes. Starts from the
/// first seed that lets every weight take part: where a ReLU that all paths pass is dead, or about to turn, there is
/// nothing to compare with.
fn check_gradients(name: &str, decoder: Option<Decoder>, settings: Settings) {
    let checked = (SEED..SEED + 200).any(|seed| gradients_agree(name, decoder, settings, Seeds::new(seed)));
    assert!(checked, "{name}, {decoder:?}: no seed lets every weight take part");
}

/// False if a weight hardly takes part, or if more than a few entries lie beside kinks.
fn gradients_agree(name: &str, decoder: Option<Decoder>, settings: Settings, seeds: Seeds) -> bool {
    let Hyperparameters { width, dropout, .. } = settings.hyperparameters;
    let answer = match decoder {
        Some(decoder) => Answer::Scores(Scoring { decoder, hidden: width, dropout }),
        None => Answer::Classes(4),
    };
    let shape = Shape { answer, ..settings.shape };
    let mut model = Model::build(settings.architecture(name), shape, seeds).unwrap();
    let mut pairs = PairDecoder::new(&model);
    assert_eq!(pairs.is_some(), decoder.is_some());
    pairs.iter_mut().for_each(|pairs| pairs.set_positives(6, &POSITIVE));
    // Away from the start, where the biases of convolutions are zero and gradients faint.
    let mut rng = seeds.rng(Purpose::Weights, &[]);
    for weight in model.weights.entries_mut() {
        weight.value.data_mut().iter_mut().for_each(|w| *w = 2.0 * rng.unit() - 1.0);
        if weight.name == "labels/known" {
            // Training nodes of several classes, by address: a class counted from one, or zero.
            weight.value = Matrix::from_rows(&[[1.0], [2.0], [3.0], [4.0], [1.0], [0.0]]);
        }
    }
    let mut recording = model.record(&View::new(graph(), features()).unwrap());
    model.weights.clear_gradients();
    loss(&mut model, &mut recording, pairs.as_mut());
    recording.backward(&mut model);
    let weights = model.weights.entries().to_vec();
    let takes_part = |weight: &Weight| weight.gradient.data().iter().any(|gradient| gradient.abs() > 1e-3);
    if !weights.iter().filter(|weight| !weight.frozen).all(takes_part) {
        return false;
    }
    let (mut entries, mut beside_kinks) = (0, 0);
    for (at, weight) in weights.iter().enumerate().filter(|(_, weight)| !weight.frozen) {
        for (entry, (&value, &gradient)) in weight.value.data().iter().zip(weight.gradient.data()).enumerate() {
            let moved = |by: f32| {
                model.weights.entries_mut()[at].value.data_mut()[entry] = value + by;
                loss(&mut model, &mut recording, pairs.as_mut())
            };
            let slopes = slopes(moved);
            // Within a hundredth; far below 0.01 the rounding of `f32` in the loss is all that a difference shows.
            let near = |a: f64, b: f64| (a - b).abs() < 1e-2 * b.abs().max(1e-2);
            let place = format!("{name}, {decoder:?}, {}, entry {entry}", weight.name);
            let agrees = slopes.iter().any(|&slope| near(f64::from(gradient), slope));
            // Kinks on both sides leave no derivative to compare with.
            let kink = !near(slopes[1], slopes[2]);
            assert!(agrees || kink, "{place}: gradient {gradient}, differences {slopes:?}");
            (entries, beside_kinks) = (entries + 1, beside_kinks + usize::from(!agrees));
            model.weights.entries_mut()[at].value.data_mut()[entry] = value;
        }
    }
    20 * beside_kinks <= entries
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
        Some(decoder) => {
            decoder.set_negatives(h.rows(), &NEGATIVE);
            decoder.loss(h, &mut model.weights, &pass, gradient)
        }
        None => softmax::nll(h, &[0, 1, 3, 5], &[2, 0, 1, 3], gradient),
    }
}
