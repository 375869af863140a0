//! The same numbers as scikit-learn, OGB and PyTorch Geometric. `fixtures/make.py` made theirs.

use nigh::models::encoder::{Encoder, Gin, Input, Layers, Propagated, Scope};

use nigh::metric::{ClassMetric, PairMetric, SetAnswers, SetMetric};
use nigh::models::Model;
use nigh::models::catalog::{self, Hyperparameters};
use nigh::models::decoder::PairDecoder;
use nigh::models::{Answer, Architecture, Head, Recording, Scoring, Shape};
use nigh::ops::pairs::{PairLoss, Scale};
use nigh::ops::{sigmoid, softmax};
use nigh::tape::{Var, Weight};
use nigh::train::Adam;
use nigh::{Decoder, Features, Graph, LabelSets, Operator, Seeds, Storage, View};
use nigh::{Matrix, SparseMatrix};
use serde_json::Value;

/// Metrics are sums of a few fractions, and the file rounds them to nine digits.
const METRIC_TOLERANCE: f64 = 1e-8;

/// Layers are computed in `f32` on both sides; relative to the entry, or to the largest of its matrix but at most 1.
const LAYER_TOLERANCE: f64 = 1e-5;

#[test]
fn auc_and_average_precision_are_those_of_scikit_learn() {
    for (case, positive, negative) in rankings() {
        for (metric, key) in [(PairMetric::Auc, "auc"), (PairMetric::AveragePrecision, "ap")] {
            assert_metric(metric.of(&positive, &negative), &case[key], &format!("{key} of {}", case["name"]));
        }
    }
}

#[test]
fn hits_at_k_are_those_of_ogb() {
    for (case, positive, negative) in rankings() {
        for (k, expected) in case["hits"].as_object().unwrap() {
            let metric = PairMetric::HitsAt(k.parse().unwrap());
            assert_metric(metric.of(&positive, &negative), expected, &format!("hits@{k} of {}", case["name"]));
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
        let ranks = alone.map(|(&score, negatives)| PairMetric::MeanReciprocalRank.of(&[score], &scores(negatives)));
        assert_metric(ranks.sum::<f64>() / positives.len() as f64, &case["mrr"], &format!("mrr of {}", case["name"]));
    }
}

#[test]
fn accuracy_and_macro_f1_are_those_of_scikit_learn() {
    for case in cases("classification") {
        let (labels, predictions) = (nodes(&case["labels"]), nodes(&case["predictions"]));
        for (metric, key) in [(ClassMetric::Accuracy, "accuracy"), (ClassMetric::MacroF1, "macro_f1")] {
            let found = metric.of(&labels, &predictions);
            assert_metric(found, &case[key], &format!("{key} of {}", case["name"]));
        }
    }
}

#[test]
fn metrics_of_several_labels_per_node_are_those_of_scikit_learn() {
    for case in cases("label_sets") {
        let (labels, scores) = (matrix(&case["labels"]), matrix(&case["scores"]));
        let rows = |of: &Matrix| -> LabelSets { (0..of.rows()).map(|row| sigmoid::answered(of.row(row))).collect() };
        let answers = SetAnswers { sets: rows(&scores), scores: scores.data().to_vec() };
        let keys =
            [(SetMetric::MicroF1, "micro_f1"), (SetMetric::MacroF1, "macro_f1"), (SetMetric::AveragePrecision, "ap")];
        for (metric, key) in keys {
            let found = metric.of(&rows(&labels), &answers);
            assert_metric(found, &case[key], &format!("{key} of {}", case["name"]));
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
fn every_encoder_gives_what_pytorch_geometric_gives_for_dense_and_for_sparse_features() {
    for (case, mut model) in every_encoder() {
        case.views().iter().for_each(|view| case.check_output_and_gradients(&mut model, view));
    }
}

#[test]
fn the_cosine_loss_and_its_gradients_are_those_of_pytorch_for_every_encoder() {
    for (case, mut model) in every_encoder() {
        for view in case.views() {
            let (mut recording, mut decoder) = (model.record(&view), case.cosine());
            let loss = case.learn_pairs(&mut model, &mut recording, &mut decoder);
            case.check(&[loss as f32], &case.fixture["loss"], "loss");
            case.check_weights(&model, &case.fixture["loss_gradients"], |weight| &weight.gradient);
        }
    }
}

#[test]
fn steps_of_adam_lead_where_those_of_pytorch_lead_for_every_encoder() {
    for (case, mut model) in every_encoder() {
        let adam = &case.fixture["adam"];
        let setting = |name: &str| adam[name].as_f64().unwrap() as f32;
        let (mut recording, mut decoder) = (model.record(&case.views()[0]), case.cosine());
        let mut optimiser = Adam::new(&model.weights);
        for _ in 0..adam["steps"].as_u64().unwrap() {
            case.learn_pairs(&mut model, &mut recording, &mut decoder);
            optimiser.step(&mut model.weights, setting("learning_rate"), setting("weight_decay"));
        }
        case.check_weights(&model, &adam["parameters"], |weight| &weight.value);
    }
}

#[test]
fn a_propagated_signal_is_that_of_pytorch_geometric() {
    for case in ["smp-linear", "attention"].map(Layer::load) {
        let propagated = Operator::symmetric(case.graph().into()).propagate(case.signal(), 2);
        case.check(propagated.data(), &case.fixture["propagated_signal"], "Ã^2 E");
    }
}

#[test]
fn softmax_and_its_gradients_are_those_of_pytorch() {
    let case = Layer::load("softmax");
    let mut model = case.model(row("sgc", 3, 2), 3);
    let view = &case.views()[0];
    case.check_output_and_gradients(&mut model, view);
    let mut recording = model.record(view);
    recording.train(&model, 0);
    let (h, gradient) = recording.representation_and_gradient();
    let loss = softmax::nll(h, &nodes(&case.fixture["nodes"]), &nodes(&case.fixture["labels"]), gradient);
    model.weights.clear_gradients();
    recording.backward(&mut model);
    case.check(&[loss as f32], &case.fixture["loss"], "loss");
    case.check_weights(&model, &case.fixture["loss_gradients"], |weight| &weight.gradient);
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
    let case = Layer::load("gcn");
    let mut model = case.model(row("gcn", 6, 2), 6);
    model.weights.named("features/gcn/1/weight").unwrap().value.data_mut().fill(f32::NAN);
    let h = model.represent(&case.views()[0], 0);
    assert!(h.data().iter().all(|x| x.is_nan()), "the first layer is lost, but H is {:?}", h.row(0));
}

#[test]
fn the_pair_predictor_and_its_gradients_are_those_of_pytorch() {
    let case = Layer::load("hadamard-mlp");
    let (h, pairs) = (matrix(&case.fixture["h"]), pairs(&case.fixture["pairs"]));
    // The representation is given, so any model will do whose representation is 4 wide and whose hidden layers are 5.
    let seeds = Seeds::new(0);
    let answer = Answer::Scores(Scoring { decoder: Decoder::HadamardMlp, hidden: 5, dropout: 0.0 });
    let shape = Shape { num_features: 1, width: 4, answer, ..Shape::default() };
    let mut model = Model::build(row("sgc", 5, 1), shape, seeds).unwrap();
    let mut decoder = PairDecoder::new(&model).unwrap();
    case.set_weights(&mut model);
    let view = View::new(case.graph(), Features::Constant(case.graph().num_nodes())).unwrap();
    case.check(decoder.scores(&model, &view, &h, &pairs), &case.fixture["output"], "scores");

    let labels = nodes(&case.fixture["labels"]);
    let (positive, negative) = pairs.split_at(labels.iter().filter(|&&label| label == 1).count());
    assert!(labels.is_sorted_by(|a, b| a >= b), "positive pairs come first");
    decoder.set_positives(h.rows(), positive);
    model.weights.clear_gradients();
    let pass = model.record(&View::new(case.graph(), Features::Constant(h.rows())).unwrap()).train(&model, 0);
    let mut gradient = Matrix::default();
    decoder.set_negatives(h.rows(), negative);
    let loss = decoder.loss(&h, &mut model.weights, &pass, &mut gradient);
    case.check(&[loss as f32], &case.fixture["loss"], "loss");
    case.check(gradient.data(), &case.fixture["loss_gradients"]["h"], "gradient of H");
    case.check_weights(&model, &case.fixture["loss_gradients"], |weight| &weight.gradient);
}

// ---- what the tests share ----

/// Every encoder of the file with its weights.
fn every_encoder() -> impl Iterator<Item = (Layer, Model)> {
    let signal_of = |case| catalog::signal().through(Given(Layer::load(case).signal()));
    let linear = [catalog::features().linear(&hyperparameters(4, 2)).l2_normalize(), signal_of("smp-linear")];
    let gin = Gin { layers: Layers { count: 2, hidden: 6, dropout: 0.0 } };
    let attention = [catalog::features().through(AsTheyAre), signal_of("attention")];
    // Case, model, width of the representation.
    let rows = [
        ("sgc", row("sgc", 3, 2), 3),
        ("gcn", row("gcn", 6, 2), 6),
        ("weighted-gcn", row("gcn", 3, 1), 3),
        ("gcn-onehot", row("gcn-onehot", 6, 2), 6),
        ("gat", row("gat", 8, 2), 8),
        ("graphsage", row("graphsage", 6, 2), 6),
        ("gin", catalog::model([catalog::features().through(gin)]), 6),
        ("matrix-factorization", row("matrix-factorization", 3, 2), 3),
        ("smp-linear", catalog::model(linear).head(Head::Linear), 4),
        ("attention", catalog::model(attention).head(Head::Attention), 3),
    ];
    rows.into_iter().map(|(name, architecture, width)| {
        let case = Layer::load(name);
        let model = case.model(architecture, width);
        (case, model)
    })
}

/// A signal that someone brings along: `E` of the file in place of our own.
#[derive(Debug)]
struct Given(Matrix);

impl Encoder for Given {
    fn encode(&self, scope: &mut Scope<'_>, _: Input) -> Var {
        let e = scope.tape.constant(self.0.clone());
        Propagated { hops: 2, storage: Storage::Single }.encode(scope, Input::dense(e))
    }
}

/// A branch without message passing.
#[derive(Debug)]
struct AsTheyAre;

impl Encoder for AsTheyAre {
    fn encode(&self, scope: &mut Scope<'_>, input: Input) -> Var {
        scope.dense(&input)
    }
}

/// One case of `layers.json`.
struct Layer {
    name: &'static str,
    fixture: Value,
}

impl Layer {
    fn load(name: &'static str) -> Layer {
        let mut all: Value = serde_json::from_str(include_str!("fixtures/layers.json")).unwrap();
        Layer { name, fixture: all[name].take() }
    }

    fn num_nodes(&self) -> usize {
        self.fixture["num_nodes"].as_u64().unwrap() as usize
    }

    fn graph(&self) -> Graph {
        let edges = pairs(&self.fixture["edges"]);
        let weights = self.fixture.get("edge_weights").map(scores);
        let (graph, _) = match &weights {
            None => Graph::from_edges(self.num_nodes(), &edges),
            Some(weights) => Graph::from_weighted_edges(self.num_nodes(), &edges, weights),
        }
        .unwrap();
        assert_eq!(graph.is_weighted(), weights.is_some());
        graph
    }

    fn signal(&self) -> Matrix {
        matrix(&self.fixture["signal"])
    }

    /// The graph with dense and with sparse features; only once where there are none.
    fn views(&self) -> Vec<View> {
        let features = match self.fixture.get("features").map(matrix) {
            None => vec![Features::Constant(self.num_nodes())],
            Some(features) => vec![Features::Dense(features.clone().into()), sparse(&features)],
        };
        features.into_iter().map(|features| View::new(self.graph(), features).unwrap()).collect()
    }

    /// A model with the weights of the file, and no others.
    fn model(&self, architecture: Architecture, width: usize) -> Model {
        let num_features = self.views()[0].features.cols();
        let shape = Shape { num_features, num_ids: self.num_nodes(), width, signal_dim: 4, ..Shape::default() };
        // The last layer is as wide as the output, for classes or, where there are none, because hidden layers are.
        let answer = match architecture.can_classify() {
            true => Answer::Classes(matrix(&self.fixture["output"]).cols()),
            false => shape.answer,
        };
        let shape = Shape { answer, ..shape };
        let mut model = Model::build(architecture, shape, Seeds::new(0)).unwrap();
        assert_eq!(model.weights.entries().len(), self.names().count(), "every weight of {} is given", self.name);
        self.set_weights(&mut model);
        model
    }

    /// Names of the weights: the file uses ours.
    fn names(&self) -> impl Iterator<Item = &String> {
        self.fixture["parameters"].as_object().unwrap().keys()
    }

    fn set_weights(&self, model: &mut Model) {
        for name in self.names() {
            let weight = model.weights.named(name).unwrap_or_else(|| panic!("{} has no weight {name}", self.name));
            let value = matrix(&self.fixture["parameters"][name]);
            assert_eq!(weight.value.shape(), value.shape(), "shape of {name}");
            weight.value = value;
        }
    }

    fn cosine(&self) -> PairLoss {
        let mut loss = PairLoss::default();
        loss.positive.rebuild(self.num_nodes(), &pairs(&self.fixture["positive"]));
        loss.negative.rebuild(self.num_nodes(), &pairs(&self.fixture["negative"]));
        loss
    }

    /// Loss over the pairs of the file; its gradients are left with the weights.
    fn learn_pairs(&self, model: &mut Model, recording: &mut Recording, cosine: &mut PairLoss) -> f64 {
        model.weights.clear_gradients();
        recording.train(model, 0);
        let (h, gradient) = recording.representation_and_gradient();
        let loss = cosine.loss(h, Scale::Unit, gradient);
        recording.backward(model);
        loss
    }

    /// The output, and the gradients of `sum(output * upstream)`.
    fn check_output_and_gradients(&self, model: &mut Model, view: &View) {
        let mut recording = model.record(view);
        self.check(recording.evaluate(model, 0).data(), &self.fixture["output"], "output");
        recording.train(model, 0);
        recording.representation_and_gradient().1.copy_from(&matrix(&self.fixture["upstream"]));
        model.weights.clear_gradients();
        recording.backward(model);
        self.check_weights(model, &self.fixture["gradients"], |weight| &weight.gradient);
    }

    /// What belongs to each weight, its value or its gradient.
    fn check_weights(&self, model: &Model, expected: &Value, found: fn(&Weight) -> &Matrix) {
        for name in self.names() {
            self.check(found(model.weights.get(name).unwrap()).data(), &expected[name], name);
        }
    }

    fn check(&self, found: &[f32], expected: &Value, what: &str) {
        assert_near(found, expected, &format!("{} of {}", what, self.name));
    }
}

/// A row of the catalog without dropout.
fn row(name: &str, width: usize, hops: usize) -> Architecture {
    catalog::architecture(name, &hyperparameters(width, hops)).unwrap()
}

fn hyperparameters(width: usize, hops: usize) -> Hyperparameters {
    Hyperparameters { hops, width, dropout: 0.0, signal_dim: 4, ..Hyperparameters::default() }
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
    // Gradients of a loss are small: beside 1, any of them would do.
    let largest = expected.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    for (at, (&found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (f64::from(found) - expected).abs() / expected.abs().max(largest.min(1.0));
        assert!(error < LAYER_TOLERANCE, "{what}, entry {at}: {found}, expected {expected}");
    }
}
