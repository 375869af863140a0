//! A trained model is used by many threads at once, and saved and loaded with an architecture of its own.

use nigh::Auto;
use nigh::encoder::Gcn;
use nigh::model::Architecture;
use nigh::model::catalog::{self, Hyperparameters};
use nigh::{Config, Dataset, Decoder, Task, Trained, Training};

fn short(model: &str, task: Task) -> Config {
    Config { model: model.into(), task, epochs: 5.into(), repeats: 1, walks_per_node: 2, ..Config::default() }
}

#[test]
fn eight_threads_score_with_one_model() {
    let dataset = Dataset::built_in("communities").unwrap();
    let pairs: Vec<[u32; 2]> = (0..400).map(|node| [node, (7 * node + 1) % 400]).collect();
    for model in ["smp-linear", "gcn", "node2vec", "katz"] {
        let decoder = if model == "smp-linear" { Auto::Is(Decoder::HadamardMlp) } else { Auto::Auto };
        let config = Config { decoder, ..short(model, Task::LinkPrediction) };
        let trained = Training::new(&dataset, config).unwrap().run().unwrap();
        let expected = trained.apply(&dataset).unwrap().scores(&pairs).unwrap();
        assert!(expected.iter().any(|score| *score != expected[0]), "{model}");
        let (trained, dataset, pairs, inference) = (&trained, &dataset, &pairs, &trained.apply(&dataset).unwrap());
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|thread| {
                    scope.spawn(move || match thread % 2 {
                        0 => inference.scores(pairs).unwrap(),
                        _ => trained.apply(dataset).unwrap().scores(pairs).unwrap(),
                    })
                })
                .collect();
            threads.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap(), expected, "{model}"));
        });
    }
}

#[test]
fn an_architecture_of_ones_own_is_trained_saved_loaded_and_used() {
    fn architecture(h: &Hyperparameters) -> Architecture {
        let layers = nigh::encoder::Layers { count: h.hops, hidden: h.width, dropout: h.dropout };
        catalog::model([catalog::signal().through(Gcn { layers, storage: h.hop_storage })])
    }
    let dataset = Dataset::built_in("leaders").unwrap();
    let folder = tempfile::tempdir().unwrap();
    for task in [Task::LinkPrediction, Task::NodeClassification] {
        let saved = folder.path().join(task.name());
        let config = short("gcn-over-noise", task);
        assert!(Training::new(&dataset, config.clone()).is_err(), "the catalog does not have it");
        let trained = Training::with_architecture(&dataset, config, architecture).unwrap().run().unwrap();
        trained.save(&saved).unwrap();
        let error = Trained::load(&saved).unwrap_err().to_string();
        assert!(error.contains("unknown model `gcn-over-noise`"), "{error}");
        let loaded = Trained::load_with(&saved, architecture).unwrap();
        assert_eq!(loaded.embed(&dataset).unwrap().matrix, trained.embed(&dataset).unwrap().matrix);
        assert_eq!(loaded.evaluate(&dataset).unwrap().0.test, trained.run().test);
    }
}
