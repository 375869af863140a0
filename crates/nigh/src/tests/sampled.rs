//! Training on pairs that are drawn beforehand: the same model under every plan, in steps from file to file, and no held-out edge
//! in sight.

use crate::models::Separation;
use nigh::dataset::generate::{PowerLaw, power_law};
use nigh::dataset::{GraphStore, InputFiles};
use nigh::formats::sections::{SectionWriter, Sections};
use nigh::propagation::{CostEstimate, ExecutionMode};
use nigh::propagation::{MatrixFile, PanelSource};
use nigh::sampled::{self, PairsFile, RepeatFiles};
use nigh::task::{EvaluationNegatives, Masking, TestEdges};
use nigh::{Config, Dataset, Features, Graph, Matrix, Sample, Trained, Training};
use std::path::{Path, PathBuf};

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

fn steps(dataset: &Dataset, config: &Config, folder: &Path, widths: &[usize]) -> Trained {
    let path = |name: String| folder.join(name);
    let features = feature_file(dataset, folder);
    let repeats = (0..config.repeats).map(|repeat| {
        let [graph, pairs] = ["graph", "pairs"].map(|kind| path(format!("{kind}-{repeat}.nigh")));
        sampled::hold_out(dataset, config, repeat, &graph, &pairs).unwrap();
        let propagations = PairsFile::open(&pairs).unwrap().propagations(&graph, features.as_ref()).unwrap();
        let mut first = 0;
        let columns = widths.iter().map(|width| {
            let slice = path(format!("{repeat}-{first}.npy"));
            assert!(propagations.signal.write_columns(first..first + width, &slice).unwrap());
            first += width;
            slice
        });
        let columns: Vec<PathBuf> = columns.collect();
        let features = propagations.features.map_or(Vec::new(), |features| {
            let starts = (0..features.cols()).step_by(4);
            let write = |start: usize| {
                let file = path(format!("{repeat}-features-{start}.npy"));
                assert!(features.write_columns(start..(start + 4).min(features.cols()), &file).unwrap());
                file
            };
            starts.map(write).collect()
        });
        RepeatFiles { pairs, columns, features }
    });
    sampled::train(&repeats.collect::<Vec<_>>(), dataset.samples[0].ids.clone()).unwrap()
}

#[test]
fn steps_from_file_to_file_give_the_model_and_the_vectors_of_one_machine() {
    let numbers = Matrix::from_fn(3_000, 6, |row, column| ((row * 13 + column) % 17) as f32 / 17.0);
    let words = Matrix::from_fn(3_000, 40, |row, column| f32::from(u8::from((row * 31 + column * 7) % 9 == 0)));
    let with = |features: Matrix| {
        let sample = Sample { features: Features::from_matrix(features), ..plain().samples[0].clone() };
        Dataset { samples: vec![sample], ..plain() }
    };
    for (dataset, model, widths) in [
        (plain(), "smp-linear", &[16, 16][..]),
        (plain(), "smp-signal", &[8, 20, 4]),
        (with(numbers), "smp-linear", &[32]),
        (with(words), "smp-mlp", &[16, 16]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let expected = in_memory(&dataset, &config(model));
        let trained = steps(&dataset, &config(model), folder.path(), widths);
        assert!(trained.to_bytes() == expected.to_bytes(), "{model}");
        let file = feature_file(&dataset, folder.path());
        let propagations = trained.propagations(dataset.samples[0].graph.clone(), file.as_ref()).unwrap();
        let rows = |propagation: &nigh::propagation::Propagation| {
            let file = folder.path().join("rows.npy");
            propagation.write_columns(0..propagation.cols(), &file).unwrap();
            let array = nigh::formats::npy::open(&file).unwrap();
            Matrix::from_data(array.shape()[0], array.shape()[1], array.floats().unwrap())
        };
        let (signal, features) = (rows(&propagations.signal), propagations.features.as_ref().map(rows));
        let whole = expected.embed(&dataset).unwrap().matrix;
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

#[test]
fn files_of_other_runs_are_refused() {
    let (dataset, config) = (plain(), Config { repeats: 1, ..config("smp-signal") });
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    steps(&dataset, &config, folder.path(), &[32]);
    let other = Config { seed: 9, ..config.clone() };
    sampled::hold_out(&dataset, &other, 0, &path("other.nigh"), &path("other-pairs.nigh")).unwrap();
    let ids = || dataset.samples[0].ids.clone();
    let repeat = RepeatFiles { pairs: path("pairs-0.nigh"), columns: vec![path("0-0.npy")], features: vec![] };
    let problem = |repeats: &[RepeatFiles]| sampled::train(repeats, ids()).unwrap_err().to_string();
    assert!(problem(&[]).contains("1 or more"));
    assert!(problem(&[repeat.clone(), repeat.clone()]).contains("2 were prepared"));
    let half = RepeatFiles { columns: vec![path("0-0.npy"), path("0-0.npy")], ..repeat.clone() };
    assert!(problem(&[half]).contains("64 columns; expected 32"));
    let graph = RepeatFiles { pairs: path("graph-0.nigh"), ..repeat.clone() };
    assert!(problem(&[graph]).contains("holds no pairs"));
    let mut bytes = std::fs::read(path("pairs-0.nigh")).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(path("damaged.nigh"), bytes).unwrap();
    assert!(problem(&[RepeatFiles { pairs: path("damaged.nigh"), ..repeat }]).contains("is damaged"));
    // Checksums that are right, and contents that are not.
    let damaged = |changed: &[(&str, &[u32])]| {
        let sections = Sections::open(&path("pairs-0.nigh")).unwrap();
        let mut writer = SectionWriter::create(&path("lies.nigh")).unwrap();
        let names =
            ["train-positive", "train-negative", "valid-positive", "valid-negative", "test-positive", "test-negative"];
        writer.section("about").unwrap();
        writer.write(&sections.get::<u8>("about").unwrap().unwrap().read_all().unwrap()).unwrap();
        for name in names.into_iter().chain(["isolated"]) {
            writer.section(name).unwrap();
            let own = sections.get::<u32>(name).unwrap().unwrap().read_all().unwrap();
            let numbers = changed.iter().find(|section| section.0 == name).map(|section| section.1);
            writer.write(numbers.unwrap_or(&own)).unwrap();
        }
        writer.finish().unwrap();
        PairsFile::open(&path("lies.nigh")).unwrap_err().to_string()
    };
    assert!(damaged(&[("train-positive", &[1, 2])]).contains("other numbers of training pairs"));
    let fewer: [(&str, &[u32]); 2] = [("train-positive", &[1, 2]), ("train-negative", &[3, 4])];
    assert!(damaged(&fewer).contains("other numbers of training pairs"));
    assert!(damaged(&[("valid-positive", &[])]).contains("no pairs for the valid part"));
    assert!(damaged(&[("test-negative", &[1, 3_000])]).contains("names node 3000 of 3000"));
    assert!(damaged(&[("test-negative", &[1, 2, 3])]).contains("ends within a pair"));
    let ordinary = Config { pairs_per_epoch: 0, ..config.clone() };
    let refused = sampled::hold_out(&dataset, &ordinary, 0, &path("x.nigh"), &path("y.nigh")).unwrap_err().to_string();
    assert!(refused.contains("pairs-per-epoch is 0") && !path("x.nigh").exists(), "{refused}");
    assert!(sampled::hold_out(&dataset, &config, 1, &path("x.nigh"), &path("y.nigh")).is_err());
}

/// The training graph does not have held-out edges, and the rows that weights are learnt from would tell if it had one.
#[test]
fn no_held_out_edge_is_in_sight() {
    let (dataset, config) = (plain(), Config { repeats: 1, ..config("smp-signal") });
    let folder = tempfile::tempdir().unwrap();
    let [graph, pairs] = ["graph.nigh", "pairs.nigh"].map(|name| folder.path().join(name));
    sampled::hold_out(&dataset, &config, 0, &graph, &pairs).unwrap();
    let stored = GraphStore::open(&graph).unwrap();
    stored.verify().unwrap();
    let (visible, whole) = (stored.graph().clone(), &dataset.samples[0].graph);
    let file = PairsFile::open(&pairs).unwrap();
    let held_out = [file.held_out.pairs.valid.positive.clone(), file.held_out.pairs.test.positive.clone()].concat();
    assert_eq!(held_out.len(), 4_000);
    assert!(held_out.iter().all(|&[a, b]| whole.has_edge(a, b) && !visible.has_edge(a, b)));
    assert_eq!(visible, whole.without_edges(&held_out));
    let train = &file.held_out.pairs.train;
    assert!(train.positive.iter().all(|&[a, b]| visible.has_edge(a, b)));
    assert!(train.positive.iter().all(|pair| !held_out.contains(pair)));
    // To avoid a held-out edge as a negative would give it away: some are drawn.
    assert!(train.negative.iter().any(|&[a, b]| whole.has_edge(a, b)) || train.negative.len() < 100_000);
    // A planted edge changes the rows of its ends.
    let planted: Vec<[u32; 2]> = visible.edges().chain([held_out[0]]).collect();
    let planted = Dataset::from_graph("planted", Graph::from_edges(3_000, &planted).unwrap().0);
    planted.store(&folder.path().join("planted.nigh")).unwrap();
    let rows = |name: &str| {
        let out = folder.path().join("rows.npy");
        let signal = file.propagations(&folder.path().join(name), None).unwrap().signal;
        signal.write_columns(0..32, &out).unwrap();
        nigh::formats::npy::open(&out).unwrap().floats().unwrap()
    };
    let (without, with) = (rows("graph.nigh"), rows("planted.nigh"));
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

#[test]
fn every_repeat_is_trained_from_its_own_files_over_its_own_graph() {
    let (dataset, config) = (plain(), Config { epochs: 2.into(), ..config("smp-signal") });
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    steps(&dataset, &config, folder.path(), &[32]);
    let files = |repeat: usize| RepeatFiles {
        pairs: path(&format!("pairs-{repeat}.nigh")),
        columns: vec![path(&format!("{repeat}-0.npy"))],
        features: vec![],
    };
    let problem = |repeats: &[RepeatFiles], nodes: usize| {
        sampled::train(repeats, std::sync::Arc::new(nigh::Ids::Numbers(nodes))).unwrap_err().to_string()
    };
    assert!(problem(&[files(0), files(0)], 3_000).contains("is not repeat 1 of the training"));
    assert!(problem(&[files(1), files(0)], 3_000).contains("is not repeat 0 of the training"));
    assert!(problem(&[files(0), files(1)], 2_999).contains("node"), "ids of another graph");
    let [tiny, rows] = ["tiny.nigh", "tiny.npy"].map(path);
    Dataset::from_graph("tiny", Graph::from_edges(3, &[[0, 1], [1, 2]]).unwrap().0).store(&tiny).unwrap();
    let pairs = PairsFile::open(&path("pairs-0.nigh")).unwrap();
    let refused = pairs.propagations(&tiny, None).unwrap_err().to_string();
    assert!(refused.contains("has 3 nodes; the data have 3000"), "{refused}");
    let source = PanelSource::Dense(Matrix::ones(2_999, 32).into());
    let operator = nigh::Operator::symmetric(Graph::from_edges(2_999, &[[0, 1]]).unwrap().0.into());
    let storage = nigh::Storage::Single;
    let fewer = nigh::propagation::Propagation { operator, hops: 1, storage, source, addresses: None };
    assert!(fewer.write_columns(0..32, &rows).unwrap());
    let found = problem(&[RepeatFiles { columns: vec![rows], ..files(0) }, files(1)], 3_000);
    assert!(found.contains("has 2999 rows; expected one for each of 3000 nodes"), "{found}");
}
