//! What a task needs, on graphs where it is known.

use nigh::{Config, Dataset, Features, Graph, Matrix, Silent, Task};
use nigh_paper::{Diagnosis, Finding, Need};

fn classes() -> Config {
    Config { task: Task::NodeClassification, epochs: 200.into(), ..Config::default() }
}

fn links() -> Config {
    Config { epochs: 200.into(), ..Config::default() }
}

fn finding(dataset: &Dataset, config: Config) -> Finding {
    let diagnosis = Diagnosis::new(dataset, config).unwrap();
    let models = diagnosis.comparison().run(None, "0", &mut Silent).unwrap();
    diagnosis.conclude(&models).unwrap()
}

fn built_in(name: &str, config: Config) -> Finding {
    finding(&Dataset::built_in(name).unwrap(), config)
}

/// Numbers that look random, the same everywhere.
fn below(at: usize, bound: usize) -> usize {
    let mixed = (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33) as usize % bound
}

const GROUP: usize = 5;
const GROUPS_OF_DISTRICT: usize = 16;
const DISTRICTS: usize = 4;

/// Groups of five in four districts; all of a group know each other, and each knows one of its district. A group has one of three kinds,
/// which follow no place. `features` are noisy; `label` takes the district and the kind of a node.
fn town(features: impl Fn(usize, usize) -> Vec<f32>, label: impl Fn(usize, usize) -> usize) -> Dataset {
    let of_district = GROUP * GROUPS_OF_DISTRICT;
    let nodes = DISTRICTS * of_district;
    let (district, kind) = (|node: usize| node / of_district, |node: usize| below(node / GROUP, 3));
    let friend = |node: usize| district(node) * of_district + below(7 * node, of_district);
    let group = (0..nodes).flat_map(|a| (a + 1..(a / GROUP + 1) * GROUP).map(move |b| [a as u32, b as u32]));
    let friends = (0..nodes).map(|node| [node as u32, friend(node) as u32]);
    let graph = Graph::from_edges(nodes, &group.chain(friends).collect::<Vec<_>>()).unwrap().0;
    let rows: Vec<Vec<f32>> = (0..nodes).map(|node| features(node, kind(node))).collect();
    let labels: Vec<u32> = (0..nodes).map(|node| label(district(node), kind(node)) as u32).collect();
    let classes = labels.iter().max().unwrap() + 1;
    let mut dataset = Dataset::from_graph("town", graph)
        .with_labels(&labels, (0..classes).map(|class| format!("class-{class}")).collect());
    dataset.samples[0].features = Features::Dense(Matrix::from_rows(&rows).into());
    dataset
}

/// The kind, and noise.
fn of_kind(node: usize, kind: usize) -> Vec<f32> {
    (0..3).map(|at| if at == kind { 1.0 } else { 0.0 } + 0.3 * below(31 * node + at, 100) as f32 / 100.0).collect()
}

#[test]
fn in_communities_and_grids_where_counts() {
    for (name, config) in [("grid", links()), ("communities", links()), ("leaders-community", classes())] {
        let found = built_in(name, config);
        assert_eq!(found.need, Need::Where, "{name}: {:?}", found.answer);
        assert!(found.answer[0].contains("no features beyond degrees, needs where a node is"), "{:?}", found.answer);
        assert!(found.answer[1].contains("position alone beats degrees alone by"), "{:?}", found.answer);
        assert!(found.answer[2].contains("take smp-signal: a plain GNN"), "{:?}", found.answer);
    }
}

#[test]
fn the_status_of_leaders_is_what_they_are_and_with_their_community_it_takes_both() {
    let status = built_in("leaders-status", classes());
    assert_eq!(status.need, Need::What, "{:?}", status.answer);
    assert!(status.answer[1].contains("position alone does not beat chance"), "{:?}", status.answer);
    assert!(status.answer[2].contains("take sgc"), "{:?}", status.answer);
    let both = built_in("leaders", classes());
    assert_eq!(both.need, Need::Both, "{:?}", both.answer);
    assert!(both.answer[2].contains("take smp-linear"), "{:?}", both.answer);
}

#[test]
fn labels_that_follow_features_need_what_and_labels_that_follow_places_where() {
    let what = finding(&town(of_kind, |_, kind| kind), classes());
    assert_eq!(what.need, Need::What, "{:?}", what.answer);
    assert!(what.answer[0].contains("with features alone"), "{:?}", what.answer);
    let place = finding(&town(of_kind, |district, _| district), classes());
    assert_eq!(place.need, Need::Where, "{:?}", place.answer);
    assert!(place.answer[2].contains("and features c"), "can be left out, or cost: {:?}", place.answer);
    let both = finding(&town(of_kind, |district, kind| 3 * district + kind), classes());
    assert_eq!(both.need, Need::Both, "{:?}", both.answer);
}

#[test]
fn labels_that_follow_nothing_show_nothing_and_features_that_say_the_place_make_either_do() {
    let town_without_pattern = {
        let mut dataset = town(of_kind, |_, kind| kind);
        let labels: Vec<u32> = (0..dataset.num_nodes()).map(|node| below(977 * node, 3) as u32).collect();
        dataset.class_names.clear();
        dataset.with_labels(&labels, ["a", "b", "c"].map(String::from).into())
    };
    let nothing = finding(&town_without_pattern, classes());
    assert_eq!(nothing.need, Need::Unclear, "{:?}", nothing.answer);
    assert!(nothing.answer[2].starts_with("Rely on none of the three yet"), "{:?}", nothing.answer);
    let of_district = GROUP * GROUPS_OF_DISTRICT;
    let place = |node: usize, _: usize| -> Vec<f32> {
        (0..DISTRICTS).map(|at| if at == node / of_district { 1.0 } else { 0.0 }).collect()
    };
    let config = Config { hops: 4.into(), signal_dim: 256.into(), ..classes() };
    let either = finding(&town(place, |district, _| district), config);
    assert_eq!(either.need, Need::Either, "{:?}", either.answer);
}

#[test]
fn what_features_are_and_whether_they_count_is_said() {
    let dataset = town(of_kind, |_, kind| kind);
    let short = Config { epochs: 5.into(), repeats: 2, ..links() };
    let first = |config: Config| finding(&dataset, config).answer[0].clone();
    assert!(first(short.clone()).starts_with("Predicting the links of town "), "{}", first(short.clone()));
    let none = Config { node_features: "none".parse().unwrap(), ..short.clone() };
    assert!(first(none.clone()).starts_with("Predicting the links of town without features "), "{}", first(none));
    let reconstruction = first(Config { task: Task::GraphReconstruction, ..short.clone() });
    assert!(reconstruction.starts_with("Reconstructing the edges of town without features "), "{reconstruction}");
    assert!(reconstruction.contains("with degrees alone"), "{reconstruction}");
    let pairwise = first(Config { task: Task::PairwiseNodeClassification, ..short });
    assert!(pairwise.starts_with("Telling which nodes of town share a class "), "{pairwise}");
    assert!(pairwise.contains("with features alone"), "{pairwise}");
}

#[test]
fn a_diagnosis_needs_repeats_and_its_own_models() {
    let dataset = Dataset::built_in("grid").unwrap();
    let of = |repeats| Diagnosis::new(&dataset, Config { repeats, epochs: 5.into(), ..links() });
    let message = of(1).unwrap_err().to_string();
    assert!(message.contains("`repeats` is 1") && message.contains("expected 2 or more"), "{message}");
    let models = of(2).unwrap().comparison().run(None, "0", &mut Silent).unwrap();
    assert_eq!(of(2).unwrap().conclude(&models).unwrap().models.len(), 3);
    let message = of(3).unwrap().conclude(&models).unwrap_err().to_string();
    assert!(message.contains("smp-linear") && message.contains("other repeats"), "{message}");
}

#[test]
fn the_width_of_the_theorem_stands_beside_the_one_in_use() {
    let short = |signal_dim: usize, hops: usize| {
        let config =
            Config { epochs: 5.into(), repeats: 2, signal_dim: signal_dim.into(), hops: hops.into(), ..links() };
        built_in("grid", config).width
    };
    let narrow = short(2, 2).unwrap();
    assert_eq!((narrow.signal_dim, narrow.hops, narrow.sufficient_width), (2, 2, 376.0));
    assert!(!narrow.is_certified() && !narrow.is_enough(), "{narrow}");
    assert!(short(400, 2).unwrap().is_certified());
    assert_eq!(short(2, 5), None);
}
