//! Training on pairs that are drawn beforehand: the same model under every plan, and no held-out edge in sight.

use crate::models::{Dimensions, Model, Separation};
use crate::train::HeldOut;
use nigh::dataset::InputFiles;
use nigh::dataset::generate::{PowerLaw, power_law};
use nigh::propagation::{CostEstimate, ExecutionMode};
use nigh::propagation::{MatrixFile, PanelSource};
use nigh::task::{EvaluationNegatives, Masking, TestEdges};
use nigh::{Config, Dataset, Features, Graph, Matrix, Reporting, Sample, Trained, Training};
use std::path::Path;
use std::sync::Arc;

fn plain() -> Dataset {
    let shape = PowerLaw { across: 0.1, ..PowerLaw::new(3_000, 20_000) };
    Dataset::from_graph("scattered", power_law(&shape, 1).unwrap().graph)
}

fn config(model: &str) -> Config {
    Config {
        model: model.into(),
        pairs_per_epoch: 500,
        batch_size: 200.into(),
        epochs: 30.into(),
        repeats: 2,
        ..Config::default()
    }
}

fn in_memory(dataset: &Dataset, config: &Config) -> Trained {
    let training = Training::new(dataset, config.clone()).unwrap();
    assert!(matches!(training.separation(), Separation::Rows { .. }));
    training.run().unwrap()
}

fn planned(dataset: &Dataset, config: &Config, way: ExecutionMode, panel_width: usize, folder: &Path) -> Trained {
    let plan = CostEstimate { way, panel_width, memory: Vec::new(), disk: Vec::new() };
    Training::new(dataset, config.clone()).unwrap().planned(&plan, folder).run().unwrap()
}

#[test]
fn every_plan_trains_the_same_model() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scattered.nigh");
    plain().store(&path).unwrap();
    let stored = Dataset { name: "scattered".into(), ..Dataset::from_files(&path, &InputFiles::default()).unwrap() };
    for (model, hop_storage) in [("smp-linear", "float32"), ("smp-mlp", "float16"), ("smp-signal", "float32")] {
        let config = Config { hop_storage: hop_storage.parse().unwrap(), ..config(model) };
        let expected = in_memory(&plain(), &config).to_bytes();
        assert!(in_memory(&stored, &config).to_bytes() == expected, "{model}: a graph file");
        for (way, width) in [(ExecutionMode::InMemory, 32), (ExecutionMode::Panels, 16), (ExecutionMode::OutOfCore, 8)]
        {
            for dataset in [&plain(), &stored] {
                let found = planned(dataset, &config, way, width, folder.path()).to_bytes();
                assert!(found == expected, "{model}: {way:?}");
            }
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "files without names are gone");
}

#[test]
fn features_are_gathered_as_well() {
    let n = 3_000;
    let words = Matrix::from_fn(n, 40, |row, column| f32::from(u8::from((row * 31 + column * 7) % 9 == 0)));
    let numbers = Matrix::from_fn(n, 6, |row, column| ((row * 13 + column) % 17) as f32 / 17.0);
    let folder = tempfile::tempdir().unwrap();
    for features in [words, numbers] {
        let plain = plain();
        let sample = Sample { features: Features::from_matrix(features), ..plain.samples[0].clone() };
        let dataset = Dataset { samples: vec![sample], ..plain };
        let trained = in_memory(&dataset, &config("smp-linear"));
        let panels = planned(&dataset, &config("smp-linear"), ExecutionMode::Panels, 16, folder.path());
        assert!(panels.to_bytes() == trained.to_bytes());
        let (found, notes) = trained.evaluate(&dataset).unwrap();
        assert!(found.same_split && found.held_out, "{notes:?}");
        assert_eq!((found.valid, found.test), (trained.run().valid, trained.run().test));
    }
}

#[test]
fn a_resumed_training_ends_with_the_same_bytes() {
    use nigh::{Checkpoint, Observer, train::Evaluation, train::Progress};
    use std::ops::ControlFlow;
    struct Stop;
    impl Observer for Stop {
        fn epoch(&mut self, progress: &Progress, _: Option<&Evaluation>) -> ControlFlow<()> {
            if progress.repeat == 1 && progress.epoch == 7 { panic!("stopped") } else { ControlFlow::Continue(()) }
        }
    }
    let (dataset, config) = (plain(), config("smp-linear"));
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = || Checkpoint::new(folder.path().join("x.checkpoint")).every_epochs(3);
    let stopped = std::panic::catch_unwind(|| {
        Training::new(&dataset, config.clone()).unwrap().checkpoint(checkpoint()).observer(&mut Stop).run().map(drop)
    });
    assert!(stopped.is_err() && checkpoint().path().exists());
    let resumed = Training::new(&dataset, config.clone()).unwrap().checkpoint(checkpoint()).run().unwrap();
    assert!(resumed.to_bytes() == in_memory(&dataset, &config).to_bytes());
}

/// The features of a dataset in a file, if it has any.
fn feature_file(dataset: &Dataset, folder: &Path) -> Option<MatrixFile> {
    let source = match &dataset.samples[0].features {
        Features::Constant(_) => return None,
        Features::Dense(matrix) => PanelSource::Dense(matrix.clone()),
        Features::Sparse(matrix) => PanelSource::Sparse(matrix.clone()),
    };
    let path = folder.join("features");
    MatrixFile::write(&source, dataset.num_nodes(), &path).unwrap();
    Some(MatrixFile::open(&path).unwrap())
}

#[test]
fn rows_of_vectors_are_made_of_propagated_rows() {
    let numbers = Matrix::from_fn(3_000, 6, |row, column| ((row * 13 + column) % 17) as f32 / 17.0);
    let words = Matrix::from_fn(3_000, 40, |row, column| f32::from(u8::from((row * 31 + column * 7) % 9 == 0)));
    let with = |features: Matrix| {
        let sample = Sample { features: Features::from_matrix(features), ..plain().samples[0].clone() };
        Dataset { samples: vec![sample], ..plain() }
    };
    for (dataset, model) in
        [(plain(), "smp-linear"), (plain(), "smp-signal"), (with(numbers), "smp-linear"), (with(words), "smp-mlp")]
    {
        let folder = tempfile::tempdir().unwrap();
        let trained = in_memory(&dataset, &Config { epochs: 2.into(), repeats: 1, ..config(model) });
        let file = feature_file(&dataset, folder.path());
        let propagations = trained.propagations(dataset.samples[0].graph.clone(), file.as_ref()).unwrap();
        let rows = |propagation: &nigh::propagation::Propagation| {
            let file = folder.path().join("rows.npy");
            propagation.write_columns(0..propagation.cols(), &file).unwrap();
            let array = nigh::formats::npy::open(&file).unwrap();
            Matrix::from_data(array.shape()[0], array.shape()[1], array.floats().unwrap())
        };
        let (signal, features) = (rows(&propagations.signal), propagations.features.as_ref().map(rows));
        let whole = trained.embed(&dataset).unwrap().matrix;
        for nodes in [0..1_000, 1_000..2_999, 2_999..3_000] {
            let some = |all: &Matrix| {
                let data = all.data()[nodes.start * all.cols()..nodes.end * all.cols()].to_vec();
                Matrix::from_data(nodes.len(), all.cols(), data)
            };
            let h = trained.embed_rows(nodes.start, some(&signal), features.as_ref().map(some)).unwrap();
            assert_eq!(h, some(&whole), "{model}");
        }
        let wrong = trained.embed_rows(2_999, Matrix::zeros(2, 32), features.map(|all| Matrix::zeros(2, all.cols())));
        assert!(wrong.unwrap_err().to_string().contains("up to node 3001"));
        if file.is_some() {
            let wrong = trained.propagations(dataset.samples[0].graph.clone(), None).unwrap_err().to_string();
            assert!(wrong.contains("`features` is 0 for 0 nodes, but expected"), "{wrong}");
            let wrong = trained.embed_rows(0, Matrix::zeros(2, 32), Some(Matrix::zeros(2, 1))).unwrap_err().to_string();
            assert!(wrong.contains("32 columns and 1"), "{wrong}");
        }
    }
}

/// The training graph does not have held-out edges, and the rows that weights are learnt from would tell if it had one.
#[test]
fn no_held_out_edge_is_in_sight() {
    let dataset = plain();
    let config = Config { repeats: 1, ..config("smp-signal") }.resolve(&dataset).unwrap();
    let without = |graph: &Graph, hidden: &[[u32; 2]]| Ok(graph.without_edges(hidden));
    let (found, visible) = HeldOut::new(&dataset, &config, Reporting::Nothing, config.seed, without).unwrap();
    let whole = &dataset.samples[0].graph;
    let held_out = [found.pairs.valid.positive.clone(), found.pairs.test.positive.clone()].concat();
    assert_eq!(held_out.len(), 4_000);
    assert!(held_out.iter().all(|&[a, b]| whole.has_edge(a, b) && !visible.has_edge(a, b)));
    assert_eq!(*visible, whole.without_edges(&held_out));
    let train = &found.pairs.train;
    assert!(train.positive.iter().all(|&[a, b]| visible.has_edge(a, b)));
    assert!(train.positive.iter().all(|pair| !held_out.contains(pair)));
    // To avoid a held-out edge as a negative would give it away: some are drawn.
    assert!(train.negative.iter().any(|&[a, b]| whole.has_edge(a, b)) || train.negative.len() < 100_000);
    // A planted edge changes the rows of its ends.
    let planted: Vec<[u32; 2]> = visible.edges().chain([held_out[0]]).collect();
    let planted = Graph::from_edges(3_000, &planted).unwrap().0;
    let dimensions = Dimensions::of(&dataset);
    let shape = config.shape(dimensions);
    let model = Model::build(config.architecture(dimensions).unwrap(), shape, nigh::Seeds::new(config.seed)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let rows = |graph: Arc<Graph>| {
        let out = folder.path().join("rows.npy");
        model.signal_propagation(graph, None, 0).unwrap().write_columns(0..32, &out).unwrap();
        nigh::formats::npy::open(&out).unwrap().floats().unwrap()
    };
    let (without, with) = (rows(visible), rows(planted.into()));
    let row = |rows: &[f32], node: u32| rows[32 * node as usize..][..32].to_vec();
    assert!(held_out[0].iter().all(|&end| row(&without, end) != row(&with, end)));
}

#[test]
fn what_can_not_be_drawn_beforehand_is_trained_in_memory_and_says_why() {
    let dataset = plain();
    let separation = |config: Config| Training::new(&dataset, config).unwrap().separation();
    assert!(matches!(separation(config("smp-linear")), Separation::Rows { .. }));
    assert_eq!(separation(config("smp-proximity")), Separation::Pairs);
    let linear = || config("smp-linear");
    let all_edges = "pairs-per-epoch is not below the number of edges";
    for (config, reason) in [
        (config("gcn"), "weights are learnt between its hops"),
        (Config { pairs_per_epoch: 0, ..linear() }, "pairs-per-epoch is 0, so that all edges are learnt from"),
        (Config { pairs_per_epoch: 1_000_000, ..linear() }, all_edges),
        (Config { refresh: nigh::Refresh::Resampled.into(), ..linear() }, "the signal is resampled in every epoch"),
        (Config { mask_training_pairs: Masking::Folds.into(), ..linear() }, "mask-training-pairs is not none"),
        (Config { test_edges: TestEdges::TrainingAndValidation, ..linear() }, "test-edges is not training"),
        (
            Config { evaluation_negatives: EvaluationNegatives::Heart.into(), ..linear() },
            "every positive has negatives of its own in the evaluation",
        ),
    ] {
        assert_eq!(separation(config), Separation::InMemory(reason));
    }
}
