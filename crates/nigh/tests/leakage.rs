//! Held-out edges never reach message passing or training: one is planted, and nothing changes.

use nigh::model::catalog;
use nigh::task::{EvaluationPairs, GraphParts, PairParts, Part, Split, hold_out};
use nigh::{Config, Dataset, Graph, Matrix, Protocol, Run, Seeds, Training};

/// Where an extra edge goes.
#[derive(Clone, Copy, PartialEq)]
enum Plant {
    Nowhere,
    InTheTest,
    InTheTraining,
}

#[test]
fn a_planted_test_edge_changes_nothing_that_is_learnt() {
    for protocol in [Protocol::Published, Protocol::Strict] {
        // Untrained models are evaluated once; walks and eigenvectors are used before the first epoch.
        for name in catalog::MODELS.iter().map(|model| model.name) {
            let (clean_run, clean_h) = learn(name, protocol, Plant::Nowhere);
            let (run, h) = learn(name, protocol, Plant::InTheTest);
            assert_eq!(h, clean_h, "{name}, {protocol}: the representations moved");
            let losses = |run: &Run| run.curve.iter().map(|look| (look.loss, look.valid)).collect::<Vec<_>>();
            assert_eq!(losses(&run), losses(&clean_run), "{name}, {protocol}: the training moved");
            assert_ne!(run.split, clean_run.split, "the planted edge is part of the test");
        }
    }
}

/// The test above can fail: an edge that training may see does change what is learnt.
#[test]
fn a_planted_training_edge_changes_what_is_learnt() {
    for model in catalog::MODELS {
        let name = model.name;
        if model.architecture(&Default::default()).heuristic.is_none() {
            let (_, clean) = learn(name, Protocol::Strict, Plant::Nowhere);
            let (_, changed) = learn(name, Protocol::Strict, Plant::InTheTraining);
            assert_ne!(clean, changed, "{name}");
        }
    }
}

#[test]
fn no_part_of_any_split_sees_a_held_out_edge() {
    let dataset = Dataset::built_in("communities").unwrap();
    let config = Config::default().resolve(&dataset).unwrap();
    let Split::Pairs(parts) = config.split().split(&dataset, Seeds::new(3)).unwrap() else { panic!("pairs of nodes") };
    assert!(parts.test.is_some());
    for held_out in parts.valid.iter().chain(parts.test()) {
        let training = parts.train.iter().map(|part| &part.view);
        for view in training.chain(parts.valid.iter().chain(parts.test()).map(|part| &part.view)) {
            assert!(held_out.question.positive.iter().all(|&[a, b]| !view.graph().has_edge(a, b)));
        }
    }
}

fn learn(model: &str, protocol: Protocol, plant: Plant) -> (Run, Matrix) {
    let mut dataset = Dataset::built_in("communities").unwrap();
    let mut edges: Vec<[u32; 2]> = dataset.samples[0].graph.edges().collect();
    Seeds::new(9).rng(nigh::Purpose::Split, &[]).shuffle(&mut edges);
    let planted = [3, 377];
    assert!(!edges.contains(&planted));
    let mut parts = [edges[..3000].to_vec(), edges[3000..3400].to_vec(), edges[3400..].to_vec()];
    match plant {
        Plant::Nowhere => {}
        Plant::InTheTest => parts[2].push(planted),
        Plant::InTheTraining => parts[0].push(planted),
    }
    dataset.samples[0].graph = Graph::from_edges(400, &parts.concat()).unwrap().0.into();
    let config = Config { model: model.into(), protocol, epochs: 20.into(), walks_per_node: 2, ..Config::default() };
    let training = Training::new(&dataset, Config { repeats: 1, ..config }).unwrap();
    let parts = parts.each_ref().map(Vec::as_slice);
    let settings = training.config().split();
    let GraphParts { train, valid, test } = hold_out(&dataset.samples[0], 0, parts, &settings, Seeds::new(1)).unwrap();
    assert!(!has_negative(&valid, planted), "another edge must be planted: this one is a validation negative");
    let view = train.view.clone();
    let parts = PairParts { train: vec![train], valid: vec![valid], test: Some(vec![test]) };
    let trained = training.split(Split::Pairs(parts)).run().unwrap();
    (trained.run().clone(), trained.model().represent(&view, 0))
}

fn has_negative(part: &Part<EvaluationPairs>, [a, b]: [u32; 2]) -> bool {
    let negative = &part.question.negative;
    negative.contains(&[a, b]) || negative.contains(&[b, a])
}
