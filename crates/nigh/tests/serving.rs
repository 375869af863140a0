//! A trained model is used by many threads at once, and saved and loaded with an architecture of its own.

use nigh::Auto;
use nigh::models::Architecture;
use nigh::models::catalog::{self, Hyperparameters};
use nigh::models::encoder::Gcn;
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
        let expected = trained.session(&dataset).unwrap().scores(&pairs).unwrap();
        assert!(expected.iter().any(|score| *score != expected[0]), "{model}");
        let (trained, dataset, pairs, session) = (&trained, &dataset, &pairs, &trained.session(&dataset).unwrap());
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|thread| {
                    scope.spawn(move || match thread % 2 {
                        0 => session.scores(pairs).unwrap(),
                        _ => trained.session(dataset).unwrap().scores(pairs).unwrap(),
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
        let layers = nigh::models::encoder::Layers { count: h.hops, hidden: h.width, dropout: h.dropout };
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

/// The same graph with its nodes in another order, and the number of each node there.
fn shuffled(dataset: &Dataset) -> (Dataset, Vec<u32>) {
    let mut order: Vec<u32> = (0..dataset.num_nodes() as u32).collect();
    nigh::Seeds::new(5).rng(nigh::Purpose::Order, &[]).shuffle(&mut order);
    let sample = &dataset.samples[0];
    let mut other = Dataset::from_graph("shuffled", sample.graph.permute(&order).unwrap());
    let names = order.iter().map(|&node| format!("n{node}"));
    other.samples[0].ids = nigh::Ids::from_names(names).into();
    if let Some(labels) = &sample.labels {
        other.samples[0].labels = Some(order.iter().map(|&node| labels[node as usize]).collect());
        other.class_names = dataset.class_names.clone();
    }
    let mut places = vec![0; order.len()];
    (0..).zip(&order).for_each(|(place, &node)| places[node as usize] = place);
    (other, places)
}

/// A built-in graph whose nodes have names.
fn named(name: &str) -> Dataset {
    let mut dataset = Dataset::built_in(name).unwrap();
    let names = (0..dataset.num_nodes()).map(|node| format!("n{node}"));
    dataset.samples[0].ids = nigh::Ids::from_names(names).into();
    dataset
}

#[test]
fn answers_go_by_the_numbers_of_nodes_in_the_data_whatever_their_order() {
    let close = |a: f32, b: f32| (a - b).abs() < 1e-4;
    let dataset = named("communities");
    let (other, places) = shuffled(&dataset);
    let trained = Training::new(&dataset, short("smp-linear", Task::LinkPrediction)).unwrap().run().unwrap();
    let pairs: Vec<[u32; 2]> = (0..50).map(|node| [node, (7 * node + 1) % 400]).collect();
    let moved: Vec<[u32; 2]> = pairs.iter().map(|pair| pair.map(|node| places[node as usize])).collect();
    let [session, of_other] = [&dataset, &other].map(|dataset| trained.session(dataset).unwrap());
    let scores = session.scores(&pairs).unwrap();
    assert!(scores.iter().zip(of_other.scores(&moved).unwrap()).all(|(a, b)| close(*a, b)));
    let [links, again] = [(&session, 9), (&of_other, places[9])]
        .map(|(session, node)| session.links(&[node], 5, false).unwrap().remove(0));
    assert_eq!(links.len(), 5);
    assert!(links.iter().zip(&again).all(|(a, b)| close(a.score, b.score)));
    assert!(again.iter().any(|link| link.node == places[links[0].node as usize]));
    let beyond = session.scores(&[[0, 400]]).unwrap_err().to_string();
    assert_eq!(beyond, "node 400 is out of range: there are 400, numbered from 0");
    assert!(session.classes(&[0]).is_err());

    let dataset = named("leaders");
    let (other, places) = shuffled(&dataset);
    let trained = Training::new(&dataset, short("smp-linear", Task::NodeClassification)).unwrap().run().unwrap();
    assert!(!trained.curve().is_empty() && trained.curve() == trained.run().curve);
    let [session, of_other] = [&dataset, &other].map(|dataset| trained.session(dataset).unwrap());
    let expected = session.classes(&[4, 2, 8]).unwrap().probabilities;
    let found = of_other.classes(&[4usize, 2, 8].map(|node| places[node])).unwrap().probabilities;
    assert!(expected.data().iter().zip(found.data()).all(|(a, b)| close(*a, *b)));
    let mut classes = Vec::new();
    session
        .for_each_classes(11, |some| {
            classes.push(some);
            Ok(())
        })
        .unwrap();
    for (row, node) in [4usize, 2, 8].into_iter().enumerate() {
        let of_node = &classes[node / 11].probabilities.row(node % 11);
        let (sum, best) = (of_node.iter().sum::<f32>(), of_node.iter().copied().fold(0.0, f32::max));
        let class = classes[node / 11].labels.of(node % 11)[0] as usize;
        assert!(close(sum, 1.0) && of_node[class] == best && *of_node == expected.row(row));
    }
    let pieces: Vec<usize> = classes.iter().map(|some| some.labels.len()).collect();
    assert_eq!(pieces.iter().sum::<usize>(), dataset.num_nodes());
    assert!(pieces[..pieces.len() - 1].iter().all(|&count| count == 11));
}

#[test]
fn a_model_as_bytes_is_the_same_model_and_damage_is_told() {
    let (dataset, folder) = (named("communities"), tempfile::tempdir().unwrap());
    let trained = Training::new(&dataset, short("smp-linear", Task::LinkPrediction)).unwrap().run().unwrap();
    let bytes = trained.to_bytes();
    let again = Trained::from_bytes(&bytes).unwrap();
    assert_eq!(again.to_bytes(), bytes);
    for (name, model) in [("one", &trained), ("two", &again)] {
        model.save(&folder.path().join(name)).unwrap();
    }
    for entry in std::fs::read_dir(folder.path().join("one")).unwrap() {
        let name = entry.unwrap().file_name();
        let [one, two] = ["one", "two"].map(|of| std::fs::read(folder.path().join(of).join(&name)).unwrap());
        assert!(one == two, "{name:?}");
    }
    let mut damaged = bytes.clone();
    let at = damaged.len() / 3;
    damaged[at] ^= 1;
    for wrong in [&damaged[..], &bytes[..at], b""] {
        let error = Trained::from_bytes(wrong).unwrap_err().to_string();
        assert!(error.starts_with("model folder model in memory: "), "{error}");
    }
}
