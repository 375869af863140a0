//! Same seed, same bits: on 1, 2 and 4 threads, and after an interruption.

use nigh::Auto;
use nigh::dataset::generate::{self, PowerLaw};
use nigh::models::catalog::MODELS;
use nigh::train::{Evaluation, Observer, Progress, Stage};
use nigh::{Checkpoint, Config, Dataset, Decoder, Features, Matrix, Refresh, Seeds, Task, Trained, Training};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn one_two_and_four_threads_give_the_same_bits() {
    let dataset = large();
    for name in MODELS.iter().map(|model| model.name) {
        for task in [Task::LinkPrediction, Task::NodeClassification] {
            let refresh = Auto::Is(if task == Task::LinkPrediction { Refresh::Resampled } else { Refresh::Fixed });
            let config = Config { task, model: name.into(), refresh, ..short() };
            if config.clone().resolve(&dataset).is_err() {
                let pairs_alone = [
                    "smp-identity",
                    "smp-proximity",
                    "matrix-factorization",
                    "common-neighbors",
                    "adamic-adar",
                    "resource-allocation",
                    "preferential-attachment",
                    "katz",
                ];
                assert!(task == Task::NodeClassification && pairs_alone.contains(&name), "{name}: {task}");
                continue;
            }
            let outcomes = [1, 2, 4].map(|threads| on(threads, &dataset, &config));
            assert_same(&outcomes[0], &outcomes[1], name);
            assert_same(&outcomes[0], &outcomes[2], name);
        }
    }
}

#[test]
fn the_pair_predictor_and_batches_give_the_same_bits() {
    let dataset = large();
    let config =
        Config { decoder: Auto::Is(Decoder::HadamardMlp), batch_size: Auto::Is(4000), clip_norm: 1.0, ..short() };
    assert_same(&on(1, &dataset, &config), &on(4, &dataset, &config), "hadamard-mlp");
}

#[test]
fn nodes_in_another_order_and_batches_of_few_of_them_give_the_same_bits_and_learn() {
    // Large enough to be put in order, batches small enough to leave most nodes out.
    let dataset = of_size(10_000, 30_000);
    let batches = Config { decoder: Auto::Is(Decoder::HadamardMlp), batch_size: Auto::Is(1000), ..short() };
    let config = Config { epochs: 20.into(), evaluate_every: 20.into(), ..batches };
    let outcomes = [1, 4].map(|threads| on(threads, &dataset, &config));
    assert_same(&outcomes[0], &outcomes[1], "small batches");
    assert!(outcomes[0].run().test > 0.7, "{}", outcomes[0].run().test);
}

#[test]
fn another_seed_gives_other_bits() {
    let dataset = Dataset::built_in("communities").unwrap();
    let first = train(&dataset, &short());
    let second = train(&dataset, &Config { seed: 2, ..short() });
    assert_ne!(first.weights().entries(), second.weights().entries());
}

#[test]
fn a_repeat_alone_gives_what_it_gave_among_others() {
    let dataset = Dataset::built_in("communities").unwrap();
    let among = train(&dataset, &Config { repeats: 3, ..short() });
    let alone = train(&dataset, &Config { seed: 3, ..short() });
    assert_eq!(among.summary.repeats[2], alone.summary.repeats[0]);
}

#[test]
fn an_interrupted_training_ends_as_an_uninterrupted_one() {
    let dataset = Dataset::built_in("communities").unwrap();
    let folder = tempfile::tempdir().unwrap();
    // Dropout, resampling, batches and decay all have to find their place again.
    let config = Config {
        model: "smp-linear-gcn-both".into(),
        refresh: Auto::Is(Refresh::Resampled),
        epochs: 30.into(),
        repeats: 2,
        batch_size: Auto::Is(1000),
        decay_at: 20.into(),
        ..short()
    };
    let whole = train(&dataset, &config);
    for stop_at in [(0, 13), (1, 2), (1, 29)] {
        let checkpoint = Checkpoint::new(folder.path().join("checkpoint")).every_epochs(4);
        let start = |config: &Config| Training::new(&dataset, config.clone()).unwrap().checkpoint(checkpoint.clone());
        let mut kill = KillAt(stop_at);
        // The panic stands in for a kill; the program's tests do it with SIGKILL.
        let stopped = catch_unwind(AssertUnwindSafe(|| start(&config).observer(&mut kill).run()));
        assert!(stopped.is_err() && checkpoint.path().exists());
        let resumed = start(&config).run().unwrap();
        assert_same(&whole, &resumed, &format!("{stop_at:?}"));
        // Other settings do not resume from it.
        let refused = start(&Config { width: 16.into(), ..config.clone() }).run().unwrap_err().to_string();
        assert!(refused.contains("other settings"), "{refused}");
        std::fs::remove_file(checkpoint.path()).unwrap();
    }
}

#[test]
fn a_resumed_node2vec_does_not_learn_its_vectors_again() {
    let dataset = Dataset::built_in("communities").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = Checkpoint::new(folder.path().join("checkpoint")).every_epochs(2);
    let config = Config { task: Task::NodeClassification, model: "node2vec".into(), ..short() };
    let start = || Training::new(&dataset, config.clone()).unwrap().checkpoint(checkpoint.clone());
    let mut kill = KillAt((0, 5));
    assert!(catch_unwind(AssertUnwindSafe(|| start().observer(&mut kill).run())).is_err());
    let mut steps = PretrainSteps(0);
    let resumed = start().observer(&mut steps).run().unwrap();
    assert_eq!(steps.0, 0);
    let whole = Training::new(&dataset, config.clone()).unwrap().observer(&mut steps).run().unwrap();
    assert!(steps.0 > 0, "an uninterrupted training learns its vectors");
    assert_same(&whole, &resumed, "node2vec");
}

#[test]
fn an_observer_that_stops_keeps_the_best_epoch_so_far() {
    let dataset = Dataset::built_in("communities").unwrap();
    let config = Config { epochs: 40.into(), repeats: 3, evaluate_every: 4.into(), ..short() };
    let stopped = Training::new(&dataset, config.clone()).unwrap().observer(&mut StopAt((1, 9))).run().unwrap();
    let whole = train(&dataset, &config);
    let [first, second] = &stopped.summary.repeats[..] else { panic!("the second of three repeats was stopped") };
    assert_eq!(first, &whole.summary.repeats[0]);
    assert_eq!(second.curve, whole.summary.repeats[1].curve[..3], "epochs 1, 4 and 8 were evaluated");
    let best = second.curve.iter().map(|evaluation| evaluation.valid).fold(0.0, f64::max);
    assert_eq!(second.valid, best);
    // A model that was stopped is a model: it is used like any other.
    assert_eq!(stopped.embed(&dataset).unwrap().matrix.rows(), 400);
}

#[test]
fn a_resumed_training_remembers_an_epoch_that_was_best_before_it_stopped() {
    let dataset = Dataset::built_in("leaders").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = Checkpoint::new(folder.path().join("checkpoint")).every_epochs(1);
    let config = Config { task: Task::NodeClassification, model: "gcn".into(), epochs: 60.into(), ..short() };
    let config = Config { evaluate_every: 1.into(), ..config };
    // A seed whose best epoch is far from the last.
    let (config, whole) = (1..40)
        .map(|seed| Config { seed, ..config.clone() })
        .map(|config| (train(&dataset, &config), config))
        .find_map(|(whole, config)| (whole.run().best_epoch < 50).then_some((config, whole)))
        .expect("some training is at its best before epoch 50");
    let start = || Training::new(&dataset, config.clone()).unwrap().checkpoint(checkpoint.clone());
    let mut kill = KillAt((0, 55));
    assert!(catch_unwind(AssertUnwindSafe(|| start().observer(&mut kill).run())).is_err());
    assert_same(&whole, &start().run().unwrap(), "the best epoch came before the kill");
}

struct KillAt((usize, usize));

impl Observer for KillAt {
    fn epoch(&mut self, progress: &Progress, _: Option<&Evaluation>) -> ControlFlow<()> {
        assert_ne!((progress.repeat, progress.epoch), self.0, "killed here on purpose");
        ControlFlow::Continue(())
    }
}

struct StopAt((usize, usize));

impl Observer for StopAt {
    fn epoch(&mut self, progress: &Progress, _: Option<&Evaluation>) -> ControlFlow<()> {
        match (progress.repeat, progress.epoch) == self.0 {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

struct PretrainSteps(usize);

impl Observer for PretrainSteps {
    fn stage(&mut self, stage: Stage, _: usize, total: usize) {
        self.0 += usize::from(stage == Stage::SetUp && total > 1);
    }
}

fn train(dataset: &Dataset, config: &Config) -> Trained {
    Training::new(dataset, config.clone()).unwrap().run().unwrap()
}

fn short() -> Config {
    Config {
        model: "smp-linear".into(),
        epochs: 6.into(),
        repeats: 1,
        evaluate_every: 2.into(),
        walk_length: 20,
        walks_per_node: 2,
        ..Config::default()
    }
}

/// Large enough for the kernels to take their parallel paths, with sparse features and labels.
fn large() -> Dataset {
    of_size(4000, 20_000)
}

fn of_size(nodes: usize, edges: usize) -> Dataset {
    let drawn = generate::power_law(&PowerLaw::new(nodes, edges), 1).unwrap();
    let mut rng = Seeds::new(1).rng(nigh::Purpose::Generate, &[7]);
    let features = Matrix::from_fn(nodes, 60, |_, _| if rng.below(10) == 0 { 1.0 } else { 0.0 });
    let labels: Vec<u32> = drawn.labels.iter().map(|label| label % 4).collect();
    let mut dataset = Dataset::from_graph("large", drawn.graph);
    dataset.samples[0].features = Features::from_matrix(features);
    assert!(matches!(dataset.samples[0].features, Features::Sparse(_)));
    dataset.with_labels(&labels, (0..4).map(|class| class.to_string()).collect())
}

fn on(threads: usize, dataset: &Dataset, config: &Config) -> Trained {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| train(dataset, config))
}

fn assert_same(a: &Trained, b: &Trained, what: &str) {
    assert_eq!(a.summary, b.summary, "{what}");
    for (a, b) in a.weights().entries().iter().zip(b.weights().entries()) {
        assert_eq!(a.name, b.name);
        assert_eq!(a.value, b.value, "{what}: {}", a.name);
    }
}
