//! Several labels per node: read in every form, split, learnt by every model that classifies, judged, saved, used and exported.

use nigh::dataset::{FixedSplit, InputFiles, LabelSeparator, NodeColumns};
use nigh::formats::text_table::Formulas;
use nigh::metric::SetMetric;
use nigh::models::catalog::{Hyperparameters, MODELS};
use nigh::task::{LabelledSets, Part, SetParts};
use nigh::train::Baseline;
use nigh::{Config, Dataset, Error, Graph, LabelSets, Metric, Sample, Seeds, Split, Task, Trained, Training};
use std::path::{Path, PathBuf};

const GROUPS: u32 = 4;

/// The groups of a node: one, or two for every third.
fn groups(node: u32) -> Vec<u32> {
    let second = (node / GROUPS + 1) % GROUPS;
    if node.is_multiple_of(3) { vec![node % GROUPS, second] } else { vec![node % GROUPS] }
}

/// Nodes that share a group are linked now and then, others hardly ever.
fn edges(nodes: u32) -> Vec<[u32; 2]> {
    let share = |a: u32, b: u32| groups(a).iter().any(|group| groups(b).contains(group));
    let chance = |a: u32, b: u32| (a * 7919 + b * 104_729) % 101;
    let pairs = (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| [a, b]));
    pairs.filter(|&[a, b]| chance(a, b) < if share(a, b) { 14 } else { 1 }).collect()
}

fn names() -> Vec<String> {
    ["arts", "biology", "law; politics", "sports"].map(String::from).to_vec()
}

fn overlapping(nodes: u32) -> Dataset {
    let graph = Graph::from_edges(nodes as usize, &edges(nodes)).unwrap().0;
    Dataset::from_graph("overlapping", graph).with_label_sets((0..nodes).map(groups).collect(), names())
}

fn config(model: &str, epochs: usize) -> Config {
    let task = Task::NodeClassification;
    Config { model: model.into(), task, epochs: epochs.into(), repeats: 1, ..Config::default() }
}

fn train(dataset: &Dataset, config: Config) -> Trained {
    Training::new(dataset, config).unwrap().run().unwrap()
}

fn refused(dataset: &Dataset, config: Config) -> String {
    Training::new(dataset, config).and_then(|training| training.run()).expect_err("refused").to_string()
}

const MICRO: SetMetric = SetMetric::MicroF1;

#[test]
fn every_model_that_classifies_learns_sets_of_labels_and_gives_the_same_answers_when_loaded() {
    let (dataset, folder) = (overlapping(120), tempfile::tempdir().unwrap());
    let models = MODELS.iter().filter(|row| row.architecture(&Hyperparameters::default()).can_classify());
    let mut count = 0;
    for row in models {
        let trained = train(&dataset, config(row.name, 6));
        assert_eq!(trained.config.metric, Metric::from(MICRO), "{}", row.name);
        let run = trained.run();
        let found: Vec<String> = run.metrics.keys().map(Metric::to_string).collect();
        assert_eq!(found, ["ap", "micro-f1", "macro-f1"], "{}", row.name);
        assert_eq!(trained.evaluate(&dataset).unwrap().0.metrics, run.metrics, "{}", row.name);
        let path = folder.path().join(row.name);
        trained.save(&path).unwrap();
        let loaded = Trained::load(&path).unwrap();
        let nodes: Vec<u32> = (0..dataset.num_nodes() as u32).collect();
        let answers = |trained: &Trained| trained.session(&dataset).unwrap().classes(&nodes).unwrap();
        assert_eq!(answers(&loaded), answers(&trained), "{}", row.name);
        let answers = answers(&trained);
        for node in 0..nodes.len() {
            let likely = (0..).zip(answers.probabilities.row(node)).filter(|of| *of.1 > 0.5).map(|of| of.0);
            assert_eq!(answers.labels.of(node), likely.collect::<Vec<u32>>(), "{}", row.name);
        }
        count += 1;
    }
    assert!(count >= 14, "{count} models classify");
}

#[test]
fn overlapping_groups_are_found_and_simple_answers_beaten() {
    let dataset = overlapping(240);
    let trained = train(&dataset, config("smp-gated", 120));
    let run = trained.run();
    assert!(run.test > 0.8, "{}", run.test);
    let names: Vec<&str> = run.baselines.iter().map(|Baseline { name, .. }| name.as_str()).collect();
    assert_eq!(names, ["majority-labels", "neighbour-vote"]);
    assert_eq!(trained.summary.beats_baselines(trained.config.metric), Some(true), "{:?}", run.baselines);
    let sets = dataset.samples[0].label_sets.clone().unwrap();
    let nodes: Vec<u32> = (0..240).collect();
    let answers = trained.session(&dataset).unwrap().classes(&nodes).unwrap();
    let exact = answers.labels.iter().zip(sets.iter()).filter(|(found, expected)| found == expected).count();
    assert!(exact > 160, "{exact} of 240 sets are right as a whole");
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let dataset = overlapping(120);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| train(&dataset, config("smp-gated", 12)).embed(&dataset).unwrap().matrix.data().to_vec())
    };
    assert_eq!(on(1), on(3));
}

#[test]
fn the_metric_that_is_asked_for_chooses_the_epoch_and_others_are_refused() {
    let dataset = overlapping(120);
    for name in ["ap", "macro-f1"] {
        let metric: Metric = name.parse().unwrap();
        let trained = train(&dataset, Config { metric: metric.into(), ..config("gcn", 10) });
        assert_eq!(trained.run().metrics[&metric], trained.run().test, "{name}");
    }
    for name in ["accuracy", "auc"] {
        let error = refused(&dataset, Config { metric: name.parse::<Metric>().unwrap().into(), ..config("gcn", 2) });
        assert!(error.contains("judged by micro-f1, macro-f1 or ap where nodes have several labels"), "{error}");
    }
    let single = Dataset::built_in("communities").unwrap();
    let error = refused(&single, Config { metric: "ap".parse::<Metric>().unwrap().into(), ..config("gcn", 2) });
    assert!(error.contains("judged by accuracy, micro-f1 or macro-f1"), "{error}");
}

fn split(dataset: &Dataset, config: &Config, seed: u64) -> SetParts {
    match config.clone().resolve(dataset).unwrap().draw_split(dataset, Seeds::new(seed)).unwrap() {
        Split::Sets(parts) => parts,
        other => panic!("{other:?}"),
    }
}

fn asked(parts: &[Part<LabelledSets>]) -> Vec<u32> {
    parts.iter().flat_map(|part| part.question.nodes.clone()).collect()
}

#[test]
fn labelled_nodes_are_split_by_fractions_each_into_one_part() {
    let mut sets: Vec<Vec<u32>> = (0..100).map(groups).collect();
    (sets[7], sets[50]) = (Vec::new(), Vec::new());
    let graph = Graph::from_edges(100, &edges(100)).unwrap().0;
    let mut dataset = Dataset::from_graph("gaps", graph).with_label_sets(sets.into_iter().collect(), names());
    let fractions = Config { valid_fraction: 0.2.into(), test_fraction: 0.3.into(), ..config("gcn", 2) };
    let parts = split(&dataset, &fractions, 1);
    let of = |parts: &SetParts| [asked(&parts.train), asked(&parts.valid), asked(parts.test())];
    let [train, valid, test] = of(&parts);
    assert_eq!([train.len(), valid.len(), test.len()], [49, 20, 29]);
    let mut all = [train, valid, test].concat();
    all.sort_unstable();
    assert_eq!(all, (0..100).filter(|node| ![7, 50].contains(node)).collect::<Vec<u32>>());
    for part in parts.train.iter().chain(&parts.valid) {
        for (&node, set) in part.question.nodes.iter().zip(part.question.sets.iter()) {
            let mut expected = groups(node);
            expected.sort_unstable();
            expected.dedup();
            assert_eq!(set, expected);
        }
    }
    assert_ne!(of(&split(&dataset, &fractions, 2)), of(&parts));
    assert_ne!(Split::Sets(split(&dataset, &fractions, 2)).digest(), Split::Sets(parts).digest());
    let error = refused(&dataset, Config { train_per_class: 5.into(), ..config("gcn", 2) });
    assert!(error.contains("`train-per-class` is 5, but nodes have several labels each"), "{error}");
    // The split that comes with the data.
    dataset.fixed_split = Some(FixedSplit::Nodes([vec![3, 1], vec![2], vec![9, 8]]));
    assert_eq!(of(&split(&dataset, &config("gcn", 2), 1)), [vec![1, 3], vec![2], vec![8, 9]]);
    dataset.fixed_split = Some(FixedSplit::Nodes([vec![7], vec![2], vec![9]]));
    assert!(refused(&dataset, config("gcn", 2)).contains("names a node without a label"));
}

#[test]
fn of_several_graphs_each_is_in_one_part() {
    let sample = |nodes: u32| -> Sample { overlapping(nodes).samples.remove(0) };
    let sizes = [60, 70, 80, 90, 100];
    let dataset = Dataset::from_samples("tissues", sizes.map(sample).to_vec(), names()).unwrap();
    let config = Config { valid_fraction: 0.2.into(), test_fraction: 0.2.into(), ..config("smp-linear", 10) };
    let parts = split(&dataset, &config, 1);
    assert_eq!([parts.train.len(), parts.valid.len(), parts.test().len()], [3, 1, 1]);
    let trained = train(&dataset, config);
    assert_eq!(trained.evaluate(&dataset).unwrap().0.test, trained.run().test);
    let mut mixed = dataset.clone();
    mixed.samples[1].label_sets = None;
    mixed.samples[1].labels = Some((0..70).map(|_| Some(0)).collect());
    assert!(mixed.check().unwrap_err().to_string().contains("one label per node and others several"));
}

#[test]
fn a_model_of_several_labels_takes_files_with_one_and_not_the_reverse() {
    let dataset = overlapping(120);
    let trained = train(&dataset, config("sgc", 4));
    let single = dataset.clone().with_labels(&(0..120).map(|node| node % GROUPS).collect::<Vec<_>>(), names());
    let (metrics, notes) = trained.evaluate(&single).unwrap();
    assert!(!metrics.same_split && notes.iter().any(|note| note.contains("not the graph, features and labels")));
    let one = train(&single, config("sgc", 4));
    let error = one.evaluate(&dataset).unwrap_err();
    assert!(matches!(error, Error::SeveralLabels { .. }), "{error}");
    let only = one.session(&single).unwrap().classes(&[0, 1, 2]).unwrap();
    assert!(only.labels.iter().all(|labels| labels.len() == 1), "one label per node");
    let pairs = Config { task: Task::PairwiseNodeClassification, ..config("sgc", 2) };
    assert!(refused(&dataset, pairs).contains("nodes have several labels each"));
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    fn labels(&self, name: &str, content: impl AsRef<[u8]>, separator: LabelSeparator) -> nigh::Result<Dataset> {
        let (edges, labels) = (self.file("edges.csv", "a,b\nb,c\nc,d\n"), Some(self.file(name, content)));
        let node_columns = NodeColumns { label_separator: separator, ..NodeColumns::default() };
        Dataset::from_files(&edges, &InputFiles { labels, node_columns, ..InputFiles::default() })
    }
}

/// The names of the labels of each node.
fn sets(dataset: &Dataset) -> Vec<String> {
    let sets = dataset.samples[0].label_sets.as_ref().expect("sets of labels");
    let names = |set: &[u32]| set.iter().map(|&class| dataset.class_names[class as usize].as_str()).collect::<Vec<_>>();
    sets.iter().map(|set| names(set).join("+")).collect()
}

#[test]
fn labels_in_rows_lists_columns_and_json_are_the_same() {
    let folder = Folder(tempfile::tempdir().unwrap());
    let repeated = "repeated rows in";
    for (name, content, says) in [
        ("rows.csv", "id,label\na,p\nb,q\na,q\nd,r\nd,r\nd,p\n", repeated),
        ("list.csv", "id,labels\na,p;q\nb,q\nc,\nd,r; p\n", "lists in"),
        ("bars.tsv", "id\tlabels\na\tp|q\nb\tq\nd\tr|p\n", "lists in"),
        ("commas.csv", "id,labels\na,\"p,q\"\nb,q\nd,\"r,p\"\n", "lists in"),
        ("brackets.csv", "id,labels\na,\"[\"\"p\"\",\"\"q\"\"]\"\nb,['q']\nc,[]\nd,\"[r, p]\"\n", "lists in"),
        ("columns.csv", "id,p,q,r\na,1,1,0\nb,0,1,0\nc,0,0,0\nd,1,0,1\n", "columns of 0 and 1 in"),
        ("sets.json", r#"{"a": ["p", "q"], "b": "q", "c": null, "d": ["r", "p"]}"#, "lists in"),
    ] {
        let dataset = folder.labels(name, content, LabelSeparator::Auto).unwrap();
        assert_eq!(sets(&dataset), ["p+q", "q", "", "p+r"], "{name}");
        let note = dataset.notes.iter().find(|note| note.starts_with("nodes have several labels")).unwrap();
        assert!(note.contains("2 of 3 labelled ones, 1.7 each on average") && note.contains(says), "{note}");
    }
    // As PPI has them: an entry per class.
    let map = r#"{"a": [1, 1, 0], "b": [0, 1, 0], "c": [0, 0, 0], "d": [1.0, 0, 1]}"#;
    assert_eq!(sets(&folder.labels("map.json", map, LabelSeparator::Auto).unwrap()), ["0+1", "1", "", "0+2"]);
    let error = folder.labels("bad.json", r#"{"a": ["p", {"q": 1}]}"#, LabelSeparator::Auto).unwrap_err().to_string();
    assert!(error.contains("a label of `a` is {\"q\":1}; expected a text or a number"), "{error}");
}

#[test]
fn one_label_per_node_stays_one_however_it_is_written() {
    let folder = Folder(tempfile::tempdir().unwrap());
    let plain = folder.labels("plain.csv", "id,label\na,p\nb,q\nd,p\n", LabelSeparator::Auto).unwrap();
    let expected = [Some(0), Some(1), None, Some(0)];
    assert_eq!(plain.samples[0].labels.as_deref(), Some(&expected[..]));
    for (name, content) in [
        ("twice.csv", "id,label\na,p\nb,q\nd,p\na,p\n"),
        ("one-hot.csv", "id,p,q\na,1,0\nb,0,1\nd,1,0\n"),
        ("lists.json", r#"{"a": ["p"], "b": ["q"], "c": [], "d": ["p"]}"#),
    ] {
        let dataset = folder.labels(name, content, LabelSeparator::Auto).unwrap();
        assert_eq!(dataset.samples[0].labels.as_deref(), Some(&expected[..]), "{name}");
        assert_eq!((&dataset.class_names, dataset.is_multi_label()), (&plain.class_names, false), "{name}");
        assert_eq!(
            dataset.notes.iter().any(|note| note.contains("1 row of")),
            name == "twice.csv",
            "{:?}",
            dataset.notes
        );
    }
    // A separator is no list where the user says so, or where each row has a label.
    let whole = folder.labels("x.csv", "id,label\na,p;q\nb,r\nd,r\n", LabelSeparator::None).unwrap();
    assert_eq!((whole.class_names, whole.samples[0].label_sets.is_none()), (vec!["p;q".into(), "r".into()], true));
    let rows = folder.labels("x.csv", "id,label\na,p;q\na,r\nd,r\n", LabelSeparator::Auto).unwrap();
    assert_eq!(sets(&rows), ["p;q+r", "", "", "r"]);
    let chosen = folder.labels("x.csv", "id,label\na,p/q\nb,q\n", LabelSeparator::Text("/".into())).unwrap();
    assert_eq!(sets(&chosen), ["p+q", "q", "", ""]);
}

#[test]
fn what_is_exported_is_read_back_as_the_same_sets() {
    let (dataset, folder) = (overlapping(60), tempfile::tempdir().unwrap());
    let out = folder.path().join("out");
    dataset.export(None, &out, Formulas::Kept).unwrap();
    let input = InputFiles {
        nodes: Some(out.join("nodes.csv")),
        labels: Some(out.join("labels.csv")),
        ..InputFiles::default()
    };
    let back = Dataset::from_files(&out.join("edges.csv"), &input).unwrap();
    let of = |dataset: &Dataset| -> LabelSets { dataset.samples[0].label_sets.as_deref().unwrap().clone() };
    assert_eq!((of(&back), &back.class_names), (of(&dataset), &dataset.class_names));
    let read = |name: &str| std::fs::read_to_string(Path::new(&out).join(name)).unwrap();
    assert!(read("README.txt").contains("60 nodes with a label, of 4 classes, a row for each label of a node"));
}
