//! A task is a split: what is asked in training, validation and test, and which edges message passing may see.

use crate::train::HeldOut;
use nigh::Auto;
use nigh::dataset::{FixedPairs, FixedSplit, PaperDefaults, generate};
use nigh::models::catalog::MODELS;
use nigh::task::{EvaluationPairs, LabelledNodes, MOST_HELD_OUT, Part, SameLabelPairs, TrainingPairs};
use nigh::{
    Config, Dataset, Features, Graph, Matrix, Protocol, Purpose, Refresh, Result, Sample, Seeds, Split, Task, Training,
    View,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::BTreeSet;
use std::sync::Arc;

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn every_edge_is_in_one_part_and_each_part_has_its_fraction(
        graph in graphs(), valid in 0.05f32..0.4, test in 0.05f32..0.4, seed: u64,
    ) {
        let dataset = Dataset::from_graph("random", graph.clone());
        let config = Config { valid_fraction: valid.into(), test_fraction: test.into(), ..with_task(Task::LinkPrediction) };
        let split = split(&dataset, &config, seed).unwrap();
        let parts = [&split.train, &split.valid, &split.test].map(|parts| positive(only(parts)));
        let mut asked = parts.concat();
        asked.sort_unstable();
        prop_assert_eq!(asked, graph.edges().collect::<Vec<_>>());
        let total = graph.num_edges() as f32;
        for (part, share) in parts[1..].iter().zip([valid, test]) {
            // Rounding moves half an edge; in a small graph no part stays empty, which moves another half.
            let slack = if total < 20.0 { 1.0 } else { 0.5 };
            prop_assert!((part.len() as f32 - share * total).abs() < slack + 1e-3);
        }
        prop_assert!(parts.iter().all(|part| !part.is_empty()));
    }

    #[test]
    fn every_part_sees_the_training_edges_and_no_other(graph in weighted_graphs(), seed: u64) {
        let dataset = Dataset::from_graph("random", graph.clone());
        let split = split(&dataset, &with_task(Task::LinkPrediction), seed).unwrap();
        let visible = graph.with_edges(positive(only(&split.train)));
        for part in [&split.train, &split.valid, &split.test] {
            prop_assert_eq!(only(part).view.graph(), &visible);
        }
        let held_out = [positive(only(&split.valid)), positive(only(&split.test))].concat();
        prop_assert!(held_out.iter().all(|&[a, b]| !visible.has_edge(a, b) && !visible.has_edge(b, a)));
    }

    #[test]
    fn exact_negatives_are_distinct_and_never_an_edge(graph in graphs(), seed: u64) {
        let dataset = Dataset::from_graph("random", graph.clone());
        for task in [Task::LinkPrediction, Task::GraphReconstruction] {
            let split = split(&dataset, &with_task(task), seed).unwrap();
            for part in [only(&split.valid), only(&split.test)] {
                let negative = negative(part);
                let distinct: BTreeSet<[u32; 2]> = negative.iter().map(|&[a, b]| [a.min(b), a.max(b)]).collect();
                prop_assert!(negative.iter().all(|&[a, b]| a != b && !graph.has_edge(a, b)));
                prop_assert_eq!(distinct.len(), negative.len());
                // As many as positives, or all there are.
                prop_assert_eq!(negative.len(), positive(part).len().min(graph.num_non_edges() as usize));
            }
        }
    }

    #[test]
    fn exact_training_negatives_avoid_what_training_sees_and_give_no_held_out_edge_away(
        graph in graphs(), seed: u64,
    ) {
        let dataset = Dataset::from_graph("random", graph.clone());
        let split = split(&dataset, &with_task(Task::LinkPrediction), seed).unwrap();
        let part = only(&split.train);
        let drawn = drawn(part, seed, 2_000);
        prop_assert!(drawn.iter().all(|&[a, b]| a != b && !part.view.graph().has_edge(a, b)));
        // Had held-out edges been avoided, their absence among the negatives would tell them from non-edges.
        let drawn: BTreeSet<[u32; 2]> = drawn.into_iter().map(|[a, b]| [a.min(b), a.max(b)]).collect();
        let held_out = [positive(only(&split.valid)), positive(only(&split.test))].concat();
        prop_assert!(held_out.iter().all(|edge| drawn.contains(edge)));
    }

    #[test]
    fn loose_negatives_are_two_nodes_not_listed_as_an_edge_in_that_order(graph in graphs(), seed: u64) {
        let dataset = Dataset::from_graph("random", graph.clone());
        let config = Config { protocol: Protocol::Published, ..with_task(Task::LinkPrediction) };
        let split = split(&dataset, &config, seed).unwrap();
        for part in [only(&split.valid), only(&split.test)] {
            prop_assert_eq!(negative(part).len(), positive(part).len());
            prop_assert!(negative(part).iter().all(|&[a, b]| a != b && (a > b || !graph.has_edge(a, b))));
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_split_and_another_seed_another(sample in labelled(12..24), seed: u64) {
        // Enough edges and non-edges that two seeds can't well choose alike.
        prop_assume!(sample.graph.num_edges() >= 10 && sample.graph.num_non_edges() >= 10);
        let dataset = dataset(vec![sample]);
        for &task in Task::ALL {
            let digest = |seed| split(&dataset, &with_task(task), seed).unwrap().digest;
            prop_assert_eq!(digest(seed), digest(seed), "{}", task);
            prop_assert_ne!(digest(seed), digest(seed ^ 1), "{}", task);
        }
    }

    #[test]
    fn shares_of_labelled_nodes_are_disjoint_and_complete(sample in labelled(12..24), seed: u64) {
        let labels = sample.labels.clone().unwrap();
        let graph = sample.graph.clone();
        let split = split(&dataset(vec![sample]), &with_task(Task::NodeClassification), seed).unwrap();
        let parts = [&split.train, &split.valid, &split.test].map(|parts| only(parts));
        let mut asked = Vec::new();
        for part in parts {
            prop_assert_eq!(part.view.graph(), graph.as_ref());
            let (nodes, classes) = labelled_nodes(part);
            prop_assert!(!nodes.is_empty());
            prop_assert!(nodes.iter().zip(classes).all(|(&node, &class)| labels[node as usize] == Some(class)));
            asked.extend_from_slice(nodes);
        }
        asked.sort_unstable();
        let known: Vec<u32> = (0..labels.len() as u32).filter(|&node| labels[node as usize].is_some()).collect();
        prop_assert_eq!(asked, known);
    }

    #[test]
    fn pairs_of_like_nodes_are_in_one_part_and_negatives_are_unlike(sample in labelled(8..20), seed: u64) {
        let (labels, graph) = (sample.labels.clone().unwrap(), sample.graph.clone());
        let split = split(&dataset(vec![sample]), &with_task(Task::PairwiseNodeClassification), seed).unwrap();
        let parts = [&split.train, &split.valid, &split.test].map(|parts| only(parts));
        let mut asked: Vec<[u32; 2]> = parts.iter().flat_map(|part| positive(part)).copied().collect();
        asked.sort_unstable();
        let like = |&[a, b]: &[u32; 2]| labels[a as usize].is_some() && labels[a as usize] == labels[b as usize];
        let expected: Vec<_> = all_pairs(graph.num_nodes() as u32).into_iter().filter(like).collect();
        prop_assert_eq!(asked, expected);
        let [train, valid, test] = parts;
        for negative in [drawn(train, seed, 200), negative(valid).to_vec(), negative(test).to_vec()] {
            let known = |node: u32| labels[node as usize].is_some();
            prop_assert!(negative.iter().all(|pair| known(pair[0]) && known(pair[1]) && !like(pair)));
        }
        for part in [valid, test] {
            prop_assert_eq!(negative(part).len(), positive(part).len());
        }
        prop_assert!(parts.iter().all(|part| part.view.graph() == graph.as_ref()));
    }

    #[test]
    fn sampled_pairs_of_like_nodes_are_as_many_as_edges_and_alike(sample in labelled(8..20), seed: u64) {
        let (labels, num_edges) = (sample.labels.clone().unwrap(), sample.graph.num_edges());
        let config = Config {
            same_label_pairs: Auto::Is(SameLabelPairs::Sampled),
            ..with_task(Task::PairwiseNodeClassification)
        };
        let split = split(&dataset(vec![sample]), &config, seed).unwrap();
        let parts = [&split.train, &split.valid, &split.test].map(|parts| positive(only(parts)));
        // Distinct, so no part holds a pair of another; and never more than there are.
        let distinct: BTreeSet<[u32; 2]> = parts.concat().iter().map(|&[a, b]| [a.min(b), a.max(b)]).collect();
        prop_assert_eq!(distinct.len(), parts.concat().len());
        let like = (0..labels.len()).flat_map(|a| (a + 1..labels.len()).map(move |b| (a, b)));
        let possible = like.filter(|&(a, b)| labels[a].is_some() && labels[a] == labels[b]).count();
        prop_assert_eq!(distinct.len(), num_edges.min(possible));
        let label = |node: u32| labels[node as usize];
        let alike = |&[a, b]: &[u32; 2]| a != b && label(a).is_some() && label(a) == label(b);
        prop_assert!(parts.concat().iter().all(alike));
    }

    #[test]
    fn reconstruction_sees_and_evaluates_every_edge_and_leaves_features_out(
        sample in labelled(6..20), seed: u64,
    ) {
        let graph = sample.graph.clone();
        let split = split(&dataset(vec![sample]), &with_task(Task::GraphReconstruction), seed).unwrap();
        for part in [only(&split.train), only(&split.valid), only(&split.test)] {
            prop_assert_eq!(part.view.graph(), graph.as_ref());
            prop_assert_eq!(positive(part), &graph.edges().collect::<Vec<_>>()[..]);
            prop_assert_eq!(part.view.features.digest(), Features::Constant(graph.num_nodes()).digest());
        }
        prop_assert!(drawn(only(&split.train), seed, 200).iter().all(|&[a, b]| a != b && !graph.has_edge(a, b)));
    }
}

#[test]
fn the_papers_graphs_are_split_by_so_many_nodes_per_class() {
    for (name, per_class) in [
        ("leaders", [5, 5, usize::MAX]),
        ("leaders-community", [5, 5, usize::MAX]),
        ("leaders-status", [5, 5, usize::MAX]),
        ("communities", [5, 5, 10]),
    ] {
        let dataset = Dataset::built_in(name).unwrap();
        let labels = dataset.samples[0].labels.clone().unwrap();
        for seed in 0..5 {
            let split = split(&dataset, &with_task(Task::NodeClassification), seed).unwrap();
            let parts = [&split.train, &split.valid, &split.test].map(|parts| labelled_nodes(only(parts)));
            let distinct: BTreeSet<u32> = parts.iter().flat_map(|(nodes, _)| *nodes).copied().collect();
            assert_eq!(distinct.len(), parts.iter().map(|part| part.0.len()).sum::<usize>(), "{name}: disjoint");
            for (nodes, classes) in parts {
                assert!(nodes.iter().zip(classes).all(|(&node, &class)| labels[node as usize] == Some(class)));
            }
            for class in 0..dataset.class_names.len() as u32 {
                let total = labels.iter().filter(|&&label| label == Some(class)).count();
                let found = parts.map(|part| part.1.iter().filter(|&&asked| asked == class).count());
                let rest = total - per_class[0] - per_class[1];
                assert_eq!(found, [per_class[0], per_class[1], per_class[2].min(rest)], "{name}, class {class}");
            }
        }
    }
}

#[test]
fn of_several_graphs_each_stands_in_exactly_one_part() {
    let dataset = seven_graphs();
    for task in INDUCTIVE {
        let mut first_graphs = BTreeSet::new();
        for seed in 0..20 {
            let split = split(&dataset, &with_task(task), seed).unwrap();
            let parts = [&split.train, &split.valid, &split.test];
            assert_eq!(parts.map(Vec::len), [5, 1, 1], "{task}");
            let mut graphs: Vec<u64> = parts.into_iter().flatten().map(|part| part.view.graph).collect();
            first_graphs.insert(graphs[0]);
            graphs.sort_unstable();
            assert_eq!(graphs, [0, 1, 2, 3, 4, 5, 6], "{task}");
        }
        assert!(first_graphs.len() > 1, "{task}: the seed decides which graph stands where");
    }
}

#[test]
fn link_prediction_on_several_graphs_has_one_part_of_each_and_sees_its_training_edges() {
    let dataset = seven_graphs();
    let split = split(&dataset, &with_task(Task::LinkPrediction), 3).unwrap();
    for part in &split.train {
        // What training asks about is what it sees: the other fifth of the edges is gone.
        let seen: Vec<_> = part.view.graph().edges().collect();
        let mut asked = positive(part).to_vec();
        asked.sort_unstable();
        assert_eq!(seen, asked);
        assert!(seen.len() < dataset.samples[part.view.graph as usize].graph.num_edges());
    }
    for part in split.valid.iter().chain(&split.test) {
        let (whole, seen) = (&dataset.samples[part.view.graph as usize].graph, part.view.graph());
        assert!(positive(part).iter().all(|&[a, b]| whole.has_edge(a, b) && !seen.has_edge(a, b)));
        assert!(negative(part).iter().all(|&[a, b]| a != b && !whole.has_edge(a, b)));
        assert!(seen.edges().all(|[a, b]| whole.has_edge(a, b)));
        let share = seen.num_edges() as f32 / whole.num_edges() as f32;
        assert!((0.7..0.9).contains(&share), "{share} of the edges are seen");
    }
}

#[test]
fn classification_on_several_graphs_sees_and_labels_whole_graphs() {
    let dataset = seven_graphs();
    for task in [Task::NodeClassification, Task::PairwiseNodeClassification] {
        let split = split(&dataset, &with_task(task), 3).unwrap();
        for part in split.train.iter().chain(&split.valid).chain(&split.test) {
            let sample = &dataset.samples[part.view.graph as usize];
            let labels = sample.labels.as_ref().unwrap();
            let like = |pair: &[u32; 2]| labels[pair[0] as usize] == labels[pair[1] as usize];
            assert_eq!(part.view.graph(), sample.graph.as_ref());
            if task.is_about_pairs() {
                assert!(!positive(part).is_empty() && positive(part).iter().all(like));
            } else {
                let (nodes, asked) = labelled_nodes(part);
                assert_eq!(nodes, (0..labels.len() as u32).collect::<Vec<_>>());
                assert!(asked.iter().zip(labels.iter()).all(|(&asked, &label)| Some(asked) == label));
            }
        }
        for part in split.valid.iter().chain(&split.test).filter(|_| task.is_about_pairs()) {
            let labels = dataset.samples[part.view.graph as usize].labels.as_ref().unwrap();
            assert!(negative(part).iter().all(|&[a, b]| labels[a as usize] != labels[b as usize]));
        }
    }
}

#[test]
fn several_graphs_resample_their_signal_and_can_be_learnt_from() {
    let dataset = seven_graphs();
    for task in INDUCTIVE {
        let config = Config { epochs: 4.into(), evaluate_every: 2.into(), repeats: 1, ..with_task(task) };
        let resolved = config.clone().resolve(&dataset).unwrap();
        assert_eq!(resolved.refresh, Refresh::Resampled);
        let trained = Training::new(&dataset, config.clone()).unwrap().run().unwrap();
        let [run] = &trained.summary.repeats[..] else { panic!("one repeat") };
        assert_eq!(run.split, split(&dataset, &config, run.seed).unwrap().digest);
        assert!(run.curve.iter().all(|look| look.loss.is_finite() && (0.0..=1.0).contains(&look.test)), "{task}");
    }
    let alone = dataset_of(&dataset.samples[..1]);
    assert_eq!(with_task(Task::LinkPrediction).resolve(&alone).unwrap().refresh, Refresh::Fixed);
}

#[test]
fn a_graph_too_small_for_its_task_is_refused_with_the_reason() {
    let plain = |n, edges: &[[u32; 2]]| Dataset::from_graph("small", Graph::from_edges(n, edges).unwrap().0);
    let refusal = |dataset: &Dataset, task| split(dataset, &with_task(task), 1).unwrap_err().to_string();

    let two_edges = refusal(&plain(4, &[[0, 1], [1, 2]]), Task::LinkPrediction);
    assert_eq!(two_edges, "small: 2 edges can't be split into training, validation and test; at least 3 are needed");

    let complete = plain(5, &all_pairs(5));
    for task in [Task::LinkPrediction, Task::GraphReconstruction] {
        let error = refusal(&complete, task);
        assert!(error.starts_with("small: every pair of nodes is linked"), "{task}: {error}");
    }

    let path = plain(6, &[[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]]);
    for task in [Task::NodeClassification, Task::PairwiseNodeClassification] {
        let error = refusal(&path, task);
        assert!(error.contains("needs labels"), "{task}: {error}");
    }
    let one_class = path.clone().with_labels(&[0; 6], vec!["only".into()]);
    assert!(refusal(&one_class, Task::NodeClassification).contains("1 class; at least 2 are needed"));
    assert!(refusal(&one_class, Task::PairwiseNodeClassification).contains("labelled nodes of 1 class"));

    let two_classes = path.with_labels(&[0, 0, 0, 1, 1, 1], vec!["left".into(), "right".into()]);
    assert!(refusal(&two_classes, Task::NodeClassification).contains("too small to split"));
    let paper_defaults = PaperDefaults { per_class: Some([2, 1, 1]), ..PaperDefaults::default() };
    let error = refusal(&Dataset { paper_defaults, ..two_classes.clone() }, Task::NodeClassification);
    assert_eq!(error, "small: class `left` has 3 labelled nodes, too few for 2 + 1 + 1");
    let paper_defaults = PaperDefaults { per_class: Some([2, 1, 0]), ..PaperDefaults::default() };
    let error = refusal(&Dataset { paper_defaults, ..two_classes }, Task::NodeClassification);
    assert_eq!(error, "small: class `left` has 3 labelled nodes, too few for 2 + 1 + the rest");
}

#[test]
fn a_graph_without_any_edge_is_refused_by_reconstruction() {
    let dataset = Dataset::from_graph("empty", Graph::from_edges(4, &[]).unwrap().0);
    let error = split(&dataset, &with_task(Task::GraphReconstruction), 1).map(|split| split.digest);
    let error = error.expect_err("nothing to ask about").to_string();
    assert!(error.contains("edge"), "{error}");
}

#[test]
fn data_that_do_not_fit_together_are_refused_on_input() {
    let graphs = seven_graphs();
    let mut widths = graphs.clone();
    widths.samples[4].features = Features::Constant(widths.samples[4].graph.num_nodes());
    let unnamed = with_label(&graphs, 4, Some(2));
    for (what, dataset, tasks) in [
        ("features of two widths", widths, &INDUCTIVE[..]),
        ("a label without a class", unnamed, &[Task::NodeClassification]),
        ("no graph at all", dataset_of(&[]), Task::ALL),
    ] {
        for &task in tasks {
            let config = Config { epochs: 1.into(), evaluate_every: 1.into(), repeats: 1, ..with_task(task) };
            let trained = Training::new(&dataset, config).and_then(Training::run);
            assert!(trained.is_err(), "{what}, {task}");
        }
    }
}

#[test]
fn a_split_that_comes_with_the_data_is_kept() {
    let mut dataset = dataset_of(&seven_graphs().samples[..1]);
    let nodes = [vec![0, 1, 2], vec![5, 4], vec![9]];
    dataset.fixed_split = Some(FixedSplit::Nodes(nodes.clone()));
    let by_nodes = split(&dataset, &with_task(Task::NodeClassification), 1).unwrap();
    for (part, mut nodes) in [&by_nodes.train, &by_nodes.valid, &by_nodes.test].into_iter().zip(nodes) {
        nodes.sort_unstable();
        let labels: Vec<u32> = nodes.iter().map(|node| node % 2).collect();
        assert_eq!(labelled_nodes(only(part)), (&nodes[..], &labels[..]));
    }

    let pairs = |positive, negative| FixedPairs { positive: vec![positive], negative: vec![negative, [9, 0]] };
    let held_out = [pairs([0, 5], [1, 6]), pairs([2, 7], [3, 8])];
    dataset.fixed_split = Some(FixedSplit::Pairs(held_out.clone()));
    let by_pairs = split(&dataset, &with_task(Task::LinkPrediction), 1).unwrap();
    let whole = &dataset.samples[0].graph;
    assert_eq!(positive(only(&by_pairs.train)), whole.edges().collect::<Vec<_>>());
    for (part, asked) in [&by_pairs.valid, &by_pairs.test].into_iter().zip(&held_out) {
        assert_eq!((positive(only(part)), negative(only(part))), (&asked.positive[..], &asked.negative[..]));
        assert_eq!(only(part).view.graph(), whole.as_ref());
    }

    let paper_defaults = PaperDefaults { graphs: Some([3, 2, 2]), ..PaperDefaults::default() };
    let by_graphs = split(&Dataset { paper_defaults, ..seven_graphs() }, &with_task(Task::LinkPrediction), 1).unwrap();
    assert_eq!([by_graphs.train.len(), by_graphs.valid.len(), by_graphs.test.len()], [3, 2, 2]);
}

#[test]
fn two_graphs_are_too_few_to_split_by_graph() {
    let dataset = dataset_of(&seven_graphs().samples[..2]);
    for task in INDUCTIVE {
        let error = split(&dataset, &with_task(task), 1).unwrap_err().to_string();
        assert!(error.contains("2 graphs can't be split"), "{task}: {error}");
    }
}

// ---- what the tests share ----

/// Tasks that several graphs divide among themselves; reconstruction asks about every one of them.
const INDUCTIVE: [Task; 3] = [Task::LinkPrediction, Task::PairwiseNodeClassification, Task::NodeClassification];

fn all_pairs(n: u32) -> Vec<[u32; 2]> {
    (0..n).flat_map(|a| (a + 1..n).map(move |b| [a, b])).collect()
}

/// Any graph that can be split, from three edges up to all but one.
fn graphs() -> impl Strategy<Value = Graph> {
    (4u32..18).prop_flat_map(graphs_on)
}

/// Graphs that are refused for too few non-edges have a test of their own.
fn graphs_on(n: u32) -> impl Strategy<Value = Graph> {
    let has_enough = |graph: &Graph| graph.num_edges() as u64 <= 100 * graph.num_non_edges();
    let pairs = all_pairs(n);
    let most = pairs.len() - 1;
    let edges = prop::sample::subsequence(pairs, 3..=most);
    let graphs = edges.prop_map(move |edges| Graph::from_edges(n as usize, &edges).unwrap().0);
    graphs.prop_filter("too few non-edges", has_enough)
}

fn weighted_graphs() -> impl Strategy<Value = Graph> {
    (graphs(), prop::collection::vec(0.1f32..4.0, 200), any::<bool>()).prop_map(|(graph, weights, weighted)| {
        let edges: Vec<_> = graph.edges().collect();
        if !weighted {
            return graph;
        }
        Graph::from_weighted_edges(graph.num_nodes(), &edges, &weights[..edges.len()]).unwrap().0
    })
}

/// A graph with features and labels of which some are unknown; both classes have five members or more, or as many as
/// make three pairs in a small graph.
fn labelled(num_nodes: std::ops::Range<u32>) -> impl Strategy<Value = Sample> {
    num_nodes.prop_flat_map(|n| (graphs_on(n), Just(n as usize))).prop_flat_map(|(graph, n)| {
        let labels = (0..n).map(|node| (node >= n / 6).then_some((node % 2) as u32)).collect::<Vec<_>>();
        Just(labels).prop_shuffle().prop_map(move |labels| sample(graph.clone(), labels))
    })
}

fn sample(graph: Graph, labels: Vec<Option<u32>>) -> Sample {
    let features = Matrix::from_fn(graph.num_nodes(), 3, |i, c| (i * c) as f32 * 0.1);
    let [plain] = Dataset::from_graph("plain", graph).samples.try_into().expect("one graph");
    Sample { features: Features::Dense(features.into()), labels: Some(labels.into()), ..plain }
}

fn dataset(samples: Vec<Sample>) -> Dataset {
    let class_names = vec!["even".to_string(), "odd".to_string()];
    Dataset { samples, class_names, ..Dataset::from_graph("test", Graph::from_edges(0, &[]).unwrap().0) }
}

fn dataset_of(samples: &[Sample]) -> Dataset {
    dataset(samples.to_vec())
}

/// Rings of 10 to 16 nodes with chords.
fn seven_graphs() -> Dataset {
    let ring = |n: u32| {
        let edges = (0..n).flat_map(|a| [[a, (a + 1) % n], [a, (a + 3) % n]]).collect::<Vec<_>>();
        let graph = Graph::from_edges(n as usize, &edges).unwrap().0;
        sample(graph, (0..n).map(|node| Some(node % 2)).collect())
    };
    dataset((10..17).map(ring).collect())
}

/// The same data, but for the label of the first node of one graph.
fn with_label(dataset: &Dataset, graph: usize, label: Option<u32>) -> Dataset {
    let mut dataset = dataset.clone();
    let labels = dataset.samples[graph].labels.as_ref().unwrap();
    dataset.samples[graph].labels = Some([&[label], &labels[1..]].concat().into());
    dataset
}

/// Of a graph with 1.2 million edges: more than are held out as a fraction of a smaller one.
#[test]
fn every_model_holds_out_the_same_edges_of_a_large_graph() {
    let shape = generate::PowerLaw::new(60_000, 1_200_000);
    let dataset = Dataset::from_graph("large", generate::power_law(&shape, 3).unwrap().graph);
    assert!(dataset.num_edges() > 1_050_000, "{}", dataset.num_edges());
    let for_links = |name: &str, settings: Config| {
        let config = Config { model: name.into(), repeats: 1, ..settings };
        config.resolve(&dataset).unwrap()
    };
    // The models differ in nothing that a split depends on.
    let expected = for_links("smp-linear", Config::default()).split();
    for model in MODELS {
        assert_eq!(for_links(model.name, Config::default()).split(), expected, "{}", model.name);
    }
    let listed = expected.listed(&dataset, Seeds::new(1)).unwrap();
    let FixedSplit::Edges { train, held_out } = &listed.fixed else { panic!("edges are listed") };
    assert_eq!(held_out.each_ref().map(|part| part.positive.len()), [MOST_HELD_OUT; 2]);
    assert_eq!(train.len() + 2 * MOST_HELD_OUT, dataset.num_edges());
    // Pairs that are drawn beforehand are of the same split.
    let sampled = Config { pairs_per_epoch: 1_000, epochs: 2.into(), ..Config::default() };
    let config = Config { model: "smp-linear".into(), repeats: 1, ..sampled }.resolve(&dataset).unwrap();
    let visible = |graph: &Graph, hidden: &[[u32; 2]]| Ok(graph.without_edges(hidden));
    let sampled = HeldOut::new(&dataset, &config, nigh::Reporting::Nothing, 1, visible).unwrap().0.pairs;
    for (listed, sampled) in held_out.iter().zip([&sampled.valid, &sampled.test]) {
        assert!(listed.positive == sampled.positive && listed.negative == sampled.negative);
    }
}

/// The defaults, hence exact negatives.
fn with_task(task: Task) -> Config {
    Config { task, ..Config::default() }
}

/// A split of any kind, all of whose parts are looked at alike.
#[derive(Debug)]
struct AnySplit {
    train: Vec<AnyPart>,
    valid: Vec<AnyPart>,
    test: Vec<AnyPart>,
    digest: String,
}

#[derive(Debug)]
struct AnyPart {
    view: Arc<View>,
    question: AnyQuestion,
}

#[derive(Debug)]
enum AnyQuestion {
    Nodes(LabelledNodes),
    Training(TrainingPairs),
    Evaluation(EvaluationPairs),
}

fn split(dataset: &Dataset, config: &Config, seed: u64) -> Result<AnySplit> {
    fn parts<Q: Clone>(parts: &[Part<Q>], question: fn(Q) -> AnyQuestion) -> Vec<AnyPart> {
        let part = |part: &Part<Q>| AnyPart { view: part.view.clone(), question: question(part.question.clone()) };
        parts.iter().map(part).collect()
    }
    let split = config.clone().resolve(dataset)?.split().split(dataset, Seeds::new(seed))?;
    let digest = split.digest();
    Ok(match split {
        Split::Sets(_) => panic!("these data have one label per node"),
        Split::Nodes(split) => AnySplit {
            train: parts(&split.train, AnyQuestion::Nodes),
            valid: parts(&split.valid, AnyQuestion::Nodes),
            test: parts(split.test(), AnyQuestion::Nodes),
            digest,
        },
        Split::Pairs(split) => AnySplit {
            train: parts(&split.train, AnyQuestion::Training),
            valid: parts(&split.valid, AnyQuestion::Evaluation),
            test: parts(split.test(), AnyQuestion::Evaluation),
            digest,
        },
    })
}

fn only(parts: &[AnyPart]) -> &AnyPart {
    let [part] = parts else { panic!("one part for one graph, not {}", parts.len()) };
    part
}

fn labelled_nodes(part: &AnyPart) -> (&[u32], &[u32]) {
    let AnyQuestion::Nodes(LabelledNodes { nodes, labels }) = &part.question else { panic!("a part about pairs") };
    (nodes, labels)
}

fn positive(part: &AnyPart) -> &[[u32; 2]] {
    match &part.question {
        AnyQuestion::Training(pairs) => &pairs.positive,
        AnyQuestion::Evaluation(pairs) => &pairs.positive,
        AnyQuestion::Nodes(_) => panic!("a part about nodes"),
    }
}

fn negative(part: &AnyPart) -> &[[u32; 2]] {
    let AnyQuestion::Evaluation(pairs) = &part.question else { panic!("only evaluation has fixed negatives") };
    &pairs.negative
}

fn drawn(part: &AnyPart, seed: u64, count: usize) -> Vec<[u32; 2]> {
    let AnyQuestion::Training(pairs) = &part.question else { panic!("only training draws negatives") };
    let mut negative = Vec::new();
    pairs.draw_negatives(Seeds::new(seed).stream(Purpose::Negatives, &[0, 1, 0]), count, &mut negative);
    negative
}
