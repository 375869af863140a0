//! Classes by branches that are weighed against each other: what each may see, what the weights follow from, and that the model can be used.

use nigh::dataset::generate::{self, PowerLaw};
use nigh::train::{Evaluation, Observer, Progress};
use nigh::{
    Auto, Checkpoint, Config, Dataset, Features, Graph, Matrix, Purpose, Sample, Seeds, Task, Trained, Training,
};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn config(epochs: usize) -> Config {
    let (task, model) = (Task::NodeClassification, "smp-gated".into());
    Config { task, model, epochs: epochs.into(), repeats: 1, ..Config::default() }
}

fn train(dataset: &Dataset, config: Config) -> Trained {
    Training::new(dataset, config).unwrap().run().unwrap()
}

/// The weights of the branches.
fn gate(trained: &Trained) -> Vec<f32> {
    trained.weights().get("head/gate").unwrap().value.data().to_vec()
}

/// Communities, with features that say little.
fn communities() -> Dataset {
    let mut rng = Seeds::new(5).rng(Purpose::Generate, &[1]);
    let mut dataset = Dataset::built_in("communities").unwrap();
    let labels = dataset.samples[0].labels.clone().unwrap();
    let entry = |node: usize, column: usize| {
        let says = labels[node] == Some(column as u32);
        f32::from(u8::from(rng.unit() < if says { 0.3 } else { 0.1 }))
    };
    dataset.samples[0].features = Features::from_matrix(Matrix::from_fn(400, 40, entry));
    dataset
}

/// Every class links to the next one, so that neighbours are unlike; features say as much about a neighbour as about the node.
fn unlike_neighbours() -> Dataset {
    let (nodes, classes) = (600, 3);
    let mut rng = Seeds::new(5).rng(Purpose::Generate, &[2]);
    let labels: Vec<u32> = (0..nodes).map(|_| rng.below(classes) as u32).collect();
    let mut edges = Vec::new();
    while edges.len() < 3 * nodes {
        let [a, b] = [rng.below(nodes), rng.below(nodes)];
        if (labels[a] + 1) % classes as u32 == labels[b] && a != b {
            edges.push([a as u32, b as u32]);
        }
    }
    let features = Matrix::from_fn(nodes, 6, |i, c| rng.unit() + if labels[i] == c as u32 { 0.3 } else { 0.0 });
    let dataset = Dataset::from_graph("unlike", Graph::from_edges(nodes, &edges).unwrap().0);
    let mut dataset = dataset.with_labels(&labels, (0..classes).map(|class| class.to_string()).collect());
    dataset.samples[0].features = Features::from_matrix(features);
    dataset
}

#[test]
fn labels_of_the_test_change_nothing_that_is_learnt() {
    let dataset = communities();
    let config = Config { valid_fraction: Auto::Is(0.2), test_fraction: Auto::Is(0.5), ..config(10) };
    let training = Training::new(&dataset, config).unwrap();
    let seeds = Seeds::new(training.config().seed);
    let nigh::Split::Nodes(mut parts) = training.config().draw_split(&dataset, seeds).unwrap() else {
        panic!("nodes and their classes")
    };
    let learn = |parts: &nigh::task::NodeParts| {
        let training = Training::new(&dataset, config_of(&training)).unwrap();
        let trained = training.split(nigh::Split::Nodes(parts.clone())).run().unwrap();
        let learnt: Vec<(f64, f64)> = trained.run().curve.iter().map(|look| (look.loss, look.valid)).collect();
        let weights: Vec<Matrix> = trained.weights().entries().iter().map(|weight| weight.value.clone()).collect();
        (learnt, weights, trained.run().test)
    };
    let before = learn(&parts);
    let test = &mut parts.test.as_mut().unwrap()[0].question.labels;
    test.iter_mut().for_each(|label| *label = (*label + 1) % 20);
    let after = learn(&parts);
    assert_eq!(before.0, after.0);
    assert_eq!(before.1, after.1);
    assert_ne!(before.2, after.2, "the test has other answers");
    // The test above can fail: another validation label changes the weights of branches or the figure, never the loss.
    let valid = &mut parts.valid[0].question.labels;
    valid.iter_mut().for_each(|label| *label = (*label + 1) % 20);
    let losses = |learnt: &[(f64, f64)]| learnt.iter().map(|look| look.0).collect::<Vec<_>>();
    let changed = learn(&parts);
    assert_eq!(losses(&changed.0), losses(&before.0));
    assert_ne!(changed.0, before.0);
}

fn config_of(training: &Training<'_, '_>) -> Config {
    let table = toml::Table::try_from(training.config()).unwrap();
    Config::from_table(table).unwrap()
}

#[test]
fn only_training_nodes_have_a_known_label() {
    let dataset = communities();
    let trained = train(&dataset, config(2));
    let known = trained.weights().get("labels/known").unwrap().value.data().to_vec();
    let split = trained.config.draw_split(&dataset, Seeds::new(trained.run().seed)).unwrap();
    let nigh::Split::Nodes(parts) = split else { panic!("nodes and their classes") };
    let question = &parts.train[0].question;
    let mut expected = vec![0.0; 400];
    question
        .nodes
        .iter()
        .zip(&question.labels)
        .for_each(|(&node, &label)| expected[node as usize] = 1.0 + label as f32);
    assert_eq!(known, expected);
}

#[test]
fn it_learns_classes_that_follow_communities_and_classes_that_neighbours_do_not_share() {
    let accuracy = |dataset: &Dataset, model: &str| {
        let fractions = (Auto::Is(0.2), Auto::Is(0.6));
        let (valid_fraction, test_fraction) = fractions;
        train(dataset, Config { model: model.into(), valid_fraction, test_fraction, ..config(60) }).run().test
    };
    let like = communities();
    assert!(accuracy(&like, "smp-gated") > 0.95);
    assert!(accuracy(&like.without_features(), "smp-gated") > 0.95);
    let unlike = unlike_neighbours();
    let [gated, gcn] = ["smp-gated", "gcn"].map(|model| accuracy(&unlike, model));
    assert!(gated > 0.8 && gated > gcn, "{gated} {gcn}");
}

#[test]
fn a_branch_that_says_nothing_is_left_out() {
    // Labels at random: whatever wins, little is combined.
    let mut dataset = communities();
    let mut rng = Seeds::new(7).rng(Purpose::Generate, &[3]);
    let labels: Vec<u32> = dataset.samples[0].labels.as_ref().unwrap().iter().map(|label| label.unwrap()).collect();
    // The features are noise, the communities are not.
    dataset.samples[0].features = Features::from_matrix(Matrix::from_fn(400, 10, |_, _| rng.unit()));
    let names = dataset.class_names.clone();
    let weights = gate(&train(&dataset.with_labels(&labels, names), config(40)));
    assert!(weights.iter().any(|&weight| weight > 0.0) && weights.contains(&0.0), "{weights:?}");
}

#[test]
fn a_saved_model_classifies_and_embeds_as_before_and_knows_its_nodes_in_any_order() {
    let dataset = communities();
    let folder = tempfile::tempdir().unwrap();
    for dataset in [dataset.without_features(), dataset] {
        let trained = train(&dataset, config(30));
        let saved = folder.path().join(format!("model-{}", dataset.samples[0].features.count()));
        trained.save(&saved).unwrap();
        let loaded = Trained::load(&saved).unwrap();
        let nodes: Vec<u32> = (0..400).collect();
        let classes = trained.session(&dataset).unwrap().classes(&nodes).unwrap();
        assert_eq!(loaded.session(&dataset).unwrap().classes(&nodes).unwrap(), classes);
        assert_eq!(loaded.evaluate(&dataset).unwrap().0.test, trained.run().test);
        let vectors = loaded.embed(&dataset).unwrap().matrix;
        assert_eq!(vectors, trained.embed(&dataset).unwrap().matrix);
        let total: f32 = gate(&trained).iter().sum();
        let square = |node: usize| vectors.row(node).iter().map(|x| x * x).sum::<f32>();
        assert!((0..400).all(|node| square(node) <= total + 1e-4), "branches at length one, weighed");
        // The graph without one node's edges is another graph of the same nodes.
        let edges: Vec<[u32; 2]> = dataset.samples[0].graph.edges().filter(|edge| !edge.contains(&3)).collect();
        let mut other = dataset.clone();
        other.samples[0].graph = Graph::from_edges(400, &edges).unwrap().0.into();
        let found = loaded.session(&other).unwrap().classes(&nodes).unwrap();
        let same = classes.labels.iter().zip(found.labels.iter()).filter(|(a, b)| a == b).count();
        assert!(same > 360, "{same}");
    }
}

#[test]
fn an_interrupted_training_ends_as_an_uninterrupted_one() {
    let dataset = communities();
    let folder = tempfile::tempdir().unwrap();
    let whole = train(&dataset, config(12));
    let checkpoint = Checkpoint::new(folder.path().join("checkpoint")).every_epochs(3);
    let start = || Training::new(&dataset, config(12)).unwrap().checkpoint(checkpoint.clone());
    let stopped = catch_unwind(AssertUnwindSafe(|| start().observer(&mut KillAt(8)).run()));
    assert!(stopped.is_err() && checkpoint.path().exists());
    let resumed = start().run().unwrap();
    assert_eq!(whole.summary, resumed.summary);
    for (a, b) in whole.weights().entries().iter().zip(resumed.weights().entries()) {
        assert_eq!(a.value, b.value, "{}", a.name);
    }
}

struct KillAt(usize);

impl Observer for KillAt {
    fn epoch(&mut self, progress: &Progress, _: Option<&Evaluation>) -> ControlFlow<()> {
        assert_ne!(progress.epoch, self.0, "killed here on purpose");
        ControlFlow::Continue(())
    }
}

#[test]
fn several_graphs_are_classified_without_labels_around_a_node() {
    let sample = |seed: u64| {
        let drawn = generate::power_law(&PowerLaw::new(80, 300), seed).unwrap();
        let labels: Vec<Option<u32>> = (0..80).map(|node| Some(node % 3)).collect();
        let mut sample: Sample = Dataset::from_graph("one", drawn.graph).samples.remove(0);
        let entry = |i: usize, c: usize| f32::from(u8::from(labels[i] == Some(c as u32))) + 0.1 * (i % 3) as f32;
        sample.features = Features::from_matrix(Matrix::from_fn(80, 4, entry));
        sample.labels = Some(labels.into());
        sample
    };
    let names = (0..3).map(|class| class.to_string()).collect();
    let dataset = Dataset::from_samples("several", (0..6).map(sample).collect(), names).unwrap();
    let trained = train(&dataset, config(40));
    assert!(trained.run().test > 0.9, "{}", trained.run().test);
    assert!(trained.weights().get("labels/known").unwrap().value.data().iter().all(|&known| known == 0.0));
    assert_eq!(trained.embed(&dataset).unwrap().matrix.rows(), 480);
}
