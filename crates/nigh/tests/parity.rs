//! The same numbers as scikit-learn, OGB and PyTorch Geometric. `fixtures/make.py` made theirs.

use nigh::encoder::{Encoder, Input, Propagated, Scope};
use nigh::kernel::{Matrix, SparseMatrix, softmax};
use nigh::model::decoder::PairDecoder;
use nigh::model::{Architecture, Head, Recording, Shape, catalog};
use nigh::tape::Var;
use nigh::train::Adam;
use nigh::{Decoder, Features, Graph, Metric, Model, Operator, Refresh, Seeds, Signal, SignalScale, View};
use serde_json::Value;

/// Metrics are sums of a few fractions, and the file rounds them to nine digits.
const METRIC_TOLERANCE: f64 = 1e-8;

/// Layers are computed in `f32` on both sides; relative to `max(1, |x|)`.
const LAYER_TOLERANCE: f64 = 1e-5;

#[test]
fn auc_and_average_precision_are_those_of_scikit_learn() {
    for (case, positive, negative) in rankings() {
        for (metric, key) in [(Metric::Auc, "auc"), (Metric::AveragePrecision, "ap")] {
            assert_metric(metric.of_pairs(&positive, &negative), &case[key], &format!("{metric} of {}", case["name"]));
        }
    }
}

#[test]
fn hits_at_k_are_those_of_ogb() {
    for (case, positive, negative) in rankings() {
        for (k, expected) in case["hits"].as_object().unwrap() {
            let metric: Metric = format!("hits@{k}").parse().unwrap();
            assert_metric(metric.of_pairs(&positive, &negative), expected, &format!("{metric} of {}", case["name"]));
        }
    }
}

#[test]
fn the_mean_reciprocal_rank_is_that_of_ogb() {
    for case in cases("mrr") {
        // OGB gives every positive its own negatives; ours rank all positives among the same ones.
        let negatives = case["negatives"].as_array().unwrap();
        let positives = scores(&case["positive"]);
        assert_eq!(positives.len(), negatives.len(), "{}", case["name"]);
        let alone = positives.iter().zip(negatives);
        let ranks = alone.map(|(&score, negatives)| Metric::MeanReciprocalRank.of_pairs(&[score], &scores(negatives)));
        assert_metric(ranks.sum::<f64>() / positives.len() as f64, &case["mrr"], &format!("mrr of {}", case["name"]));
    }
}

#[test]
fn accuracy_and_macro_f1_are_those_of_scikit_learn() {
    for case in cases("classification") {
        let (labels, predictions) = (nodes(&case["labels"]), nodes(&case["predictions"]));
        for (metric, key) in [(Metric::Accuracy, "accuracy"), (Metric::MacroF1, "macro_f1")] {
            let found = metric.of_classes(&labels, &predictions);
            assert_metric(found, &case[key], &format!("{metric} of {}", case["name"]));
        }
    }
}

#[test]
fn single_precision_keeps_order_and_ties_of_every_score() {
    let ranking = cases("ranking").into_iter().map(|case| [flat(&case["positive"]), flat(&case["negative"])].concat());
    let mrr = cases("mrr").into_iter().map(|case| [flat(&case["positive"]), flat(&case["negatives"])].concat());
    for mut scores in ranking.chain(mrr) {
        scores.sort_by(f64::total_cmp);
        assert!(scores.windows(2).all(|pair| (pair[0] < pair[1]) == ((pair[0] as f32) < (pair[1] as f32))));
    }
}

#[test]
fn sgc_is_that_of_pytorch_geometric_for_dense_and_for_sparse_features() {
    let case = Layer::load("sgc", SGC);
    let mut model = case.model(catalog::architecture("sgc").unwrap(), shape(5, 3, 3, 2));
    case.check_output_and_gradients(&mut model, &case.view());
    let sparse = View { features: sparse(&case.features()), ..case.view() };
    case.check_output_and_gradients(&mut model, &sparse);
}

#[test]
fn gcn_is_that_of_pytorch_geometric_for_dense_and_for_sparse_features() {
    let case = Layer::load("gcn", GCN);
    let mut model = case.model(catalog::architecture("gcn").unwrap(), shape(4, 6, 3, 2));
    case.check_output_and_gradients(&mut model, &case.view());
    let sparse = View { features: sparse(&case.features()), ..case.view() };
    case.check_output_and_gradients(&mut model, &sparse);
}

#[test]
fn gcn_on_a_weighted_graph_is_that_of_pytorch_geometric() {
    let case = Layer::load("weighted-gcn", &GCN_OF_ONE_LAYER);
    let mut model = case.model(catalog::architecture("gcn").unwrap(), shape(4, 3, 3, 1));
    let view = case.view();
    assert!(view.graph().is_weighted());
    case.check_output_and_gradients(&mut model, &view);
}

#[test]
fn smp_linear_over_a_signal_of_ones_own_is_that_of_pytorch_geometric() {
    let case = Layer::load("smp-linear", SMP_LINEAR);
    let mut model = case.smp_linear();
    case.check_output_and_gradients(&mut model, &case.view());
    let propagated = Operator::symmetric(case.graph().into()).propagate(case.signal(), 2);
    assert_near(propagated.data(), &case.fixture["propagated_signal"], "Ã^2 E");
}

#[test]
fn the_cosine_loss_and_its_gradients_are_those_of_pytorch() {
    let case = Layer::load("smp-linear", SMP_LINEAR);
    let mut model = case.smp_linear();
    let (mut recording, mut decoder) = (model.record(&case.view()), case.cosine(&mut model));
    let loss = case.learn_pairs(&mut model, &mut recording, &mut decoder);
    assert_near(&[loss as f32], &case.fixture["loss"], "loss");
    case.check_gradients(&model, "loss_gradients");
}

#[test]
fn two_steps_of_adam_lead_where_those_of_pytorch_lead() {
    let case = Layer::load("smp-linear", SMP_LINEAR);
    let setting = |name: &str| case.fixture["adam"][name].as_f64().unwrap() as f32;
    let mut model = case.smp_linear();
    let (mut recording, mut decoder) = (model.record(&case.view()), case.cosine(&mut model));
    let mut adam = Adam::new(&model.weights);
    for _ in 0..case.fixture["adam"]["steps"].as_u64().unwrap() {
        case.learn_pairs(&mut model, &mut recording, &mut decoder);
        adam.step(&mut model.weights, setting("learning_rate"), setting("weight_decay"));
    }
    for (key, name) in case.names {
        let moved = &model.weights.named(name).unwrap().value;
        assert_near(moved.data(), &case.fixture["adam"]["parameters"][key], name);
    }
}

#[test]
fn softmax_and_its_gradients_are_those_of_pytorch() {
    let case = Layer::load("softmax", SGC);
    let mut model = case.model(catalog::architecture("sgc").unwrap(), shape(5, 3, 3, 2));
    case.check_output_and_gradients(&mut model, &case.view());
    let mut recording = model.record(&case.view());
    recording.train(&model, 0);
    let (h, gradient) = recording.representation_and_gradient();
    let loss = softmax::nll(h, &nodes(&case.fixture["nodes"]), &nodes(&case.fixture["labels"]), gradient);
    model.weights.clear_gradients();
    recording.backward(&mut model);
    assert_near(&[loss as f32], &case.fixture["loss"], "loss");
    case.check_gradients(&model, "loss_gradients");
}

#[test]
fn softmax_is_exact_where_probabilities_vanish_and_hides_nothing_that_is_not_a_number() {
    // As log_softmax and nll_loss of PyTorch: 200 and NaN.
    let loss = |logits: [f32; 2]| softmax::nll(&Matrix::from_rows(&[logits]), &[0], &[0], &mut Matrix::default());
    assert_near(&[loss([0.0, 200.0]) as f32], &Value::from(200.0), "loss of a confident mistake");
    assert!(loss([f32::NAN, 0.0]).is_nan(), "a training that diverged must be seen: {}", loss([f32::NAN, 0.0]));
}

#[test]
fn relu_hides_nothing_that_is_not_a_number() {
    // As torch.relu: NaN. A zero in its place would turn a diverged layer into a silent one.
    let case = Layer::load("gcn", GCN);
    let mut model = case.model(catalog::architecture("gcn").unwrap(), shape(4, 6, 3, 2));
    model.weights.named(GCN[0].1).unwrap().value.data_mut().fill(f32::NAN);
    let h = model.represent(&case.view(), 0);
    assert!(h.data().iter().all(|x| x.is_nan()), "the first layer is lost, but H is {:?}", h.row(0));
}

#[test]
fn the_pair_predictor_and_its_gradients_are_those_of_pytorch() {
    let case = Layer::load("hadamard-mlp", PREDICTOR);
    let (h, pairs) = (matrix(&case.fixture["h"]), pairs(&case.fixture["pairs"]));
    // The representation is given, so any model will do whose representation is 4 wide and whose hidden layers are 5.
    let seeds = Seeds::new(0);
    let mut model = Model::build(catalog::architecture("sgc").unwrap(), shape(1, 5, 4, 1), seeds).unwrap();
    let mut decoder = PairDecoder::new(Decoder::HadamardMlp, &mut model);
    case.set_weights(&mut model);
    assert_near(decoder.scores(&h, &pairs, &model.weights), &case.fixture["output"], "scores");

    let labels = nodes(&case.fixture["labels"]);
    let (positive, negative) = pairs.split_at(labels.iter().filter(|&&label| label == 1).count());
    assert!(labels.is_sorted_by(|a, b| a >= b), "positive pairs come first");
    decoder.expect(h.rows(), positive);
    model.weights.clear_gradients();
    let pass = model.record(&View::new(case.graph(), Features::Constant(h.rows())).unwrap()).train(&model, 0);
    let mut gradient = Matrix::default();
    let loss = decoder.loss(&h, negative, &mut model.weights, &pass, &mut gradient);
    assert_near(&[loss as f32], &case.fixture["loss"], "loss");
    assert_near(gradient.data(), &case.fixture["loss_gradients"]["h"], "gradient of H");
    case.check_gradients(&model, "loss_gradients");
}

// ---- what the tests share ----

/// Names in the file, and ours.
type Names = &'static [(&'static str, &'static str)];

const SGC: Names = &[("w", "features/linear/weight"), ("b", "features/linear/bias")];
const GCN: Names = &[
    ("w1", "features/gcn/1/weight"),
    ("b1", "features/gcn/1/bias"),
    ("w2", "features/gcn/2/weight"),
    ("b2", "features/gcn/2/bias"),
];
const GCN_OF_ONE_LAYER: [(&str, &str); 2] = [("w", GCN[0].1), ("b", GCN[1].1)];
const SMP_LINEAR: Names = &[("w1", SGC[0].1), ("b1", SGC[1].1), ("w2", "head/1/weight"), ("b2", "head/1/bias")];
const PREDICTOR: Names = &[
    ("w1", "predictor/1/weight"),
    ("b1", "predictor/1/bias"),
    ("w2", "predictor/2/weight"),
    ("b2", "predictor/2/bias"),
    ("w3", "predictor/3/weight"),
    ("b3", "predictor/3/bias"),
];

/// A signal that someone brings along: `E` of the file in place of our own.
#[derive(Debug)]
struct Given(Matrix);

impl Encoder for Given {
    fn encode(&self, scope: &mut Scope<'_>, _: Input) -> Var {
        let e = scope.tape.constant(self.0.clone());
        Propagated.encode(scope, Input::Dense(e, self.0.cols()))
    }

    fn output_width(&self, _: usize, _: usize) -> usize {
        self.0.cols()
    }
}

/// One case of `layers.json`.
struct Layer {
    fixture: Value,
    names: Names,
}

impl Layer {
    fn load(case: &str, names: Names) -> Layer {
        let mut all: Value = serde_json::from_str(include_str!("fixtures/layers.json")).unwrap();
        Layer { fixture: all[case].take(), names }
    }

    fn graph(&self) -> Graph {
        let n = self.fixture["num_nodes"].as_u64().unwrap() as usize;
        let edges = pairs(&self.fixture["edges"]);
        match self.fixture.get("edge_weights") {
            None => Graph::from_edges(n, &edges),
            Some(weights) => Graph::from_weighted_edges(n, &edges, &scores(weights)),
        }
        .unwrap()
        .0
    }

    fn features(&self) -> Matrix {
        matrix(&self.fixture["features"])
    }

    fn signal(&self) -> Matrix {
        matrix(&self.fixture["signal"])
    }

    fn view(&self) -> View {
        View::new(self.graph(), Features::Dense(self.features().into())).unwrap()
    }

    /// A model with the weights of the file.
    fn model(&self, architecture: Architecture, shape: Shape) -> Model {
        let mut model = Model::build(architecture, shape, Seeds::new(0)).unwrap();
        assert_eq!(model.weights.entries().len(), self.names.len(), "every weight is given");
        self.set_weights(&mut model);
        model
    }

    fn set_weights(&self, model: &mut Model) {
        for (key, name) in self.names {
            let weight = model.weights.named(name).unwrap_or_else(|| panic!("no weight {name}"));
            let value = matrix(&self.fixture["parameters"][key]);
            assert_eq!(weight.value.shape(), value.shape(), "shape of {name}");
            weight.value = value;
        }
    }

    fn smp_linear(&self) -> Model {
        let branches = [catalog::features().linear().unit_rows(), catalog::signal().through(Given(self.signal()))];
        self.model(catalog::model(branches).head(Head::Linear), shape(5, 4, 3, 2))
    }

    fn cosine(&self, model: &mut Model) -> PairDecoder {
        let mut decoder = PairDecoder::new(Decoder::Cosine, model);
        decoder.expect(self.graph().num_nodes(), &pairs(&self.fixture["positive"]));
        decoder
    }

    /// Loss over the pairs of the file, its gradients left with the weights.
    fn learn_pairs(&self, model: &mut Model, recording: &mut Recording, decoder: &mut PairDecoder) -> f64 {
        model.weights.clear_gradients();
        let pass = recording.train(model, 0);
        let (h, gradient) = recording.representation_and_gradient();
        let negative = pairs(&self.fixture["negative"]);
        let loss = decoder.loss(h, &negative, &mut model.weights, &pass, gradient);
        recording.backward(model);
        loss
    }

    /// The output, and the gradients of `sum(output * upstream)`.
    fn check_output_and_gradients(&self, model: &mut Model, view: &View) {
        let mut recording = model.record(view);
        assert_near(recording.evaluate(model, 0).data(), &self.fixture["output"], "output");
        recording.train(model, 0);
        recording.representation_and_gradient().1.copy_from(&matrix(&self.fixture["upstream"]));
        model.weights.clear_gradients();
        recording.backward(model);
        self.check_gradients(model, "gradients");
    }

    fn check_gradients(&self, model: &Model, of: &str) {
        for (key, name) in self.names {
            let weight = model.weights.entries().iter().find(|weight| weight.name == *name).unwrap();
            assert_near(weight.gradient.data(), &self.fixture[of][key], name);
        }
    }
}

/// `outputs` may differ from `width` because the last layer is as wide as there are classes.
fn shape(num_features: usize, width: usize, outputs: usize, hops: usize) -> Shape {
    Shape {
        num_features,
        num_classes: Some(outputs),
        hops,
        width,
        dropout: 0.0,
        signal: Signal::Gaussian,
        signal_dim: 4,
        signal_scale: SignalScale::InverseSqrt,
        refresh: Refresh::Fixed,
    }
}

fn sparse(features: &Matrix) -> Features {
    let row = |i: usize| -> Vec<(u32, f32)> { (0..).zip(features.row(i)).map(|(c, &x)| (c, x)).collect() };
    let rows: Vec<_> = (0..features.rows()).map(row).collect();
    Features::Sparse(SparseMatrix::from_rows(&rows, features.cols()).into())
}

fn cases(kind: &str) -> Vec<Value> {
    let mut all: Value = serde_json::from_str(include_str!("fixtures/metrics.json")).unwrap();
    let Value::Array(cases) = all[kind].take() else { panic!("no cases of {kind}") };
    assert!(!cases.is_empty());
    cases
}

fn rankings() -> impl Iterator<Item = (Value, Vec<f32>, Vec<f32>)> {
    cases("ranking").into_iter().map(|case| {
        let (positive, negative) = (scores(&case["positive"]), scores(&case["negative"]));
        (case, positive, negative)
    })
}

/// Every number, row by row.
fn flat(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(values) => values.iter().flat_map(flat).collect(),
        number => vec![number.as_f64().unwrap_or_else(|| panic!("{number} is not a number"))],
    }
}

fn scores(value: &Value) -> Vec<f32> {
    flat(value).into_iter().map(|x| x as f32).collect()
}

fn nodes(value: &Value) -> Vec<u32> {
    flat(value).into_iter().map(|x| x as u32).collect()
}

fn pairs(value: &Value) -> Vec<[u32; 2]> {
    nodes(value).chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect()
}

/// A list of rows, or a single row.
fn matrix(value: &Value) -> Matrix {
    let rows = if value[0].is_array() { value.as_array().unwrap().len() } else { 1 };
    let data = scores(value);
    Matrix::from_data(rows, data.len() / rows, data)
}

fn assert_metric(found: f64, expected: &Value, what: &str) {
    let expected = expected.as_f64().unwrap();
    assert!((found - expected).abs() < METRIC_TOLERANCE, "{what}: {found}, expected {expected}");
}

fn assert_near(found: &[f32], expected: &Value, what: &str) {
    let expected = flat(expected);
    assert_eq!(found.len(), expected.len(), "{what}");
    for (at, (&found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (f64::from(found) - expected).abs() / expected.abs().max(1.0);
        assert!(error < LAYER_TOLERANCE, "{what}, entry {at}: {found}, expected {expected}");
    }
}
