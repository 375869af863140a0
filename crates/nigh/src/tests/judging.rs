//! How links are judged: protocols, hard negatives, ranking against all nodes, and what is said about the figures.

use nigh::dataset::generate::{PowerLaw, communities, power_law};
use nigh::task::{EvaluationNegatives, EvaluationPairs, Part, Ranking};
use nigh::{Config, Dataset, Graph, Metric, Protocol, Seeds, Split, Task, Trained, Training};
use sha2::{Digest, Sha256};

fn metric(name: &str) -> Metric {
    name.parse().unwrap()
}

fn dataset() -> Dataset {
    Dataset::from_graph("communities", communities(8, 15, 0.02, 3).graph)
}

fn parts(config: &Config, dataset: &Dataset) -> nigh::Result<[Part<EvaluationPairs>; 2]> {
    let settings = config.clone().resolve(dataset)?.split();
    let Split::Pairs(mut parts) = settings.split(dataset, Seeds::new(1))? else { panic!("pairs") };
    Ok([parts.valid.remove(0), parts.test.unwrap().remove(0)])
}

#[test]
fn ncn_fills_what_the_user_left_open() {
    let dataset = dataset();
    let ncn = Config { protocol: Protocol::Ncn, ..Config::default() };
    let resolved = ncn.clone().resolve(&dataset).unwrap();
    assert_eq!((resolved.valid_fraction, resolved.test_fraction), (0.1, 0.2));
    assert_eq!((resolved.valid_negative_ratio, resolved.test_negative_ratio), (2.0, 1.0));
    assert_eq!((resolved.metric, resolved.evaluation_negatives), (metric("hits@100"), EvaluationNegatives::Exact));
    let [valid, test] = parts(&ncn, &dataset).unwrap();
    assert_eq!(valid.question.negative.len(), 2 * valid.question.positive.len());
    assert_eq!(test.question.negative.len(), test.question.positive.len());
    let mine = Config { test_fraction: 0.3.into(), metric: metric("auc").into(), ..ncn.clone() };
    let resolved = mine.resolve(&dataset).unwrap();
    assert_eq!((resolved.test_fraction, resolved.metric), (0.3, metric("auc")));
    let strict = Config::default().resolve(&dataset).unwrap();
    assert_eq!((strict.valid_fraction, strict.test_fraction), (0.1, 0.1));
    assert_eq!((strict.valid_negative_ratio, strict.test_negative_ratio), (1.0, 1.0));
    let classes = Config { task: Task::NodeClassification, ..ncn };
    assert!(classes.resolve(&dataset).unwrap_err().to_string().contains("it judges link-prediction"));
}

#[test]
fn negatives_that_make_no_sense_are_refused() {
    let dataset = dataset();
    let error = |config: Config| config.resolve(&dataset).unwrap_err().to_string();
    let heart = Config { evaluation_negatives: EvaluationNegatives::Heart.into(), ..Config::default() };
    let reconstruction = Config { task: Task::GraphReconstruction, ..heart.clone() };
    assert!(error(reconstruction).contains("it is for link-prediction"));
    assert!(error(Config { test_negative_ratio: 5.0.into(), ..heart }).contains("an even number"));
    let all = Config { evaluation_negatives: EvaluationNegatives::All.into(), ..Config::default() };
    assert!(error(Config { valid_negative_ratio: 3.0.into(), ..all.clone() }).contains("leave it out"));
    assert!(error(Config { valid_negative_ratio: 0.0.into(), ..Config::default() }).contains("above 0"));
    let large = Dataset::from_graph("large", power_law(&PowerLaw::new(40_000, 100_000), 1).unwrap().graph);
    let error = parts(&all, &large).unwrap_err().to_string();
    assert!(error.contains("10000 positives") && error.contains("more than 200000000"), "{error}");
}

#[test]
fn hard_negatives_belong_to_the_ends_of_a_positive_and_are_no_known_edge() {
    let dataset = dataset();
    let graph = &dataset.samples[0].graph;
    let heart = Config {
        evaluation_negatives: EvaluationNegatives::Heart.into(),
        valid_negative_ratio: 20.0.into(),
        test_negative_ratio: 30.0.into(),
        ..Config::default()
    };
    for (part, count) in parts(&heart, &dataset).unwrap().into_iter().zip([20, 30]) {
        let Ranking::PerPositive { ends, starts } = &part.question.ranking else { panic!("negatives of its own") };
        assert_eq!(part.question.fewest_negatives(), count);
        for (positive, places) in part.question.positive.iter().zip(&ends.of_positives) {
            for (&end, &place) in positive.iter().zip(places) {
                let negative = &part.question.negative[starts[place as usize]..starts[place as usize + 1]];
                assert_eq!(negative.len(), count / 2);
                assert!(negative.iter().all(|&[a, b]| a == end && a != b && !graph.has_edge(a, b)));
            }
        }
    }
    // With as many as there are nodes, hard negatives are all of them.
    let auc = |negatives: EvaluationNegatives, ratio: Option<f32>, dataset: &Dataset| {
        let config = Config {
            model: "resource-allocation".into(),
            repeats: 1,
            metric: metric("auc").into(),
            evaluation_negatives: negatives.into(),
            test_negative_ratio: ratio.map_or(Config::default().test_negative_ratio, Into::into),
            ..Config::default()
        };
        Training::new(dataset, config).unwrap().run().unwrap().summary.mean
    };
    assert_eq!(auc(EvaluationNegatives::Heart, None, &dataset), auc(EvaluationNegatives::All, None, &dataset));
    let large = Dataset::from_graph("large", power_law(&PowerLaw::new(2_000, 8_000), 1).unwrap().graph);
    let [drawn, all] = [EvaluationNegatives::Exact, EvaluationNegatives::All].map(|kind| auc(kind, None, &large));
    let hard = auc(EvaluationNegatives::Heart, Some(40.0), &large);
    assert!(hard < drawn - 0.05 && (all - drawn).abs() < 0.1, "{hard} {drawn} {all}");
}

#[test]
fn a_training_with_negatives_of_its_own_can_be_saved_and_measured_again_on_any_number_of_threads() {
    let dataset = dataset();
    let folder = tempfile::tempdir().unwrap();
    for kind in [EvaluationNegatives::Heart, EvaluationNegatives::All] {
        let config = Config {
            model: "smp-linear".into(),
            epochs: 10.into(),
            repeats: 1,
            evaluation_negatives: kind.into(),
            ..Config::default()
        };
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| Training::new(&dataset, config.clone()).unwrap().run().unwrap())
        };
        let trained = run(1);
        assert_eq!(trained.config.metric, metric("mrr"));
        assert!([2, 4].iter().all(|&threads| run(threads).summary == trained.summary));
        let path = folder.path().join(kind.name());
        trained.save(&path).unwrap();
        let (again, _) = Trained::load(&path).unwrap().evaluate(&dataset).unwrap();
        assert!(again.same_split);
        assert_eq!((again.valid, again.test), (trained.run().valid, trained.run().test));
    }
}

#[test]
fn pairs_without_a_visible_edge_are_set_aside_beside_the_figure() {
    // A star of stars: to hold an edge of a leaf out leaves the leaf alone.
    let edges: Vec<[u32; 2]> = (1..400).map(|node| [node / 4, node]).collect();
    let dataset = Dataset::from_graph("tree", Graph::from_edges(400, &edges).unwrap().0);
    let config = Config { model: "smp-linear".into(), epochs: 5.into(), repeats: 2, ..Config::default() };
    let hits = Config { metric: metric("hits@100").into(), ..config.clone() };
    let trained = Training::new(&dataset, config).unwrap().run().unwrap();
    let connected = trained.summary.connected().unwrap();
    assert!(connected.positives < 0.6 && connected.negatives > connected.positives, "{connected:?}");
    assert!((0.0..=1.0).contains(&connected.mean));
    assert_eq!(trained.run().few_negatives, None);
    let trained = Training::new(&dataset, hits).unwrap().run().unwrap();
    assert_eq!((trained.run().few_negatives, trained.run().test), (Some(40), 1.0));
    let note = trained.summary.note_on_hits(trained.config.metric).unwrap();
    assert!(note.contains("hits@100") && note.contains("40 negatives"), "{note}");
    let folder = tempfile::tempdir().unwrap();
    trained.save(&folder.path().join("model")).unwrap();
    let card = std::fs::read_to_string(folder.path().join("model/README.md")).unwrap();
    assert!(card.contains("pairs whose ends both have a visible edge") && card.contains(&note), "{card}");
}

#[test]
fn a_model_of_a_version_without_these_settings_is_still_read() {
    let dataset = dataset();
    let config = Config { model: "smp-linear".into(), epochs: 2.into(), repeats: 1, ..Config::default() };
    let trained = Training::new(&dataset, config).unwrap().run().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    trained.save(&path).unwrap();
    let read = |name: &str| std::fs::read_to_string(path.join(name)).unwrap();
    let sum = |text: &str| Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let (new, sums) = (read("config.toml"), read("SHA256SUMS"));
    let old: Vec<&str> = new.lines().filter(|line| !line.contains("negative-ratio")).collect();
    let old = old.join("\n") + "\n";
    assert_eq!(new.lines().count(), old.lines().count() + 2);
    std::fs::write(path.join("config.toml"), &old).unwrap();
    std::fs::write(path.join("SHA256SUMS"), sums.replace(&sum(&new), &sum(&old))).unwrap();
    assert_eq!(Trained::load(&path).unwrap().config, trained.config);
}
