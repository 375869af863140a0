//! Held-out edges never reach message passing or training: one is planted, and nothing changes.

use nigh::models::catalog;
use nigh::models::decoder::PairDecoder;
use nigh::task::{EvaluationPairs, GraphParts, Masking, PairParts, Part, Split, hold_out, mask};
use nigh::{Config, Dataset, Graph, Matrix, Protocol, Reconstruction, Run, Seeds, Training, View};

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

/// Section "links" of docs/beyond.md: a training pair is asked about as a test pair is, without its own edge.
#[test]
fn a_planted_training_edge_does_not_change_its_own_score() {
    let mut dataset = Dataset::built_in("communities").unwrap();
    let edges: Vec<[u32; 2]> = dataset.samples[0].graph.edges().collect();
    let planted = [3, 377];
    assert!(!edges.contains(&planted));
    dataset.samples[0].graph = Graph::from_edges(400, &[&edges[..], &[planted]].concat()).unwrap().0.into();
    let config = Config {
        model: "smp-proximity".into(),
        reconstruction: Reconstruction::Ridge.into(),
        epochs: 2.into(),
        repeats: 1,
        ..Config::default()
    };
    let training = Training::new(&dataset, config).unwrap();
    let settings = training.config().split();
    let all = [&edges[..], &[planted]].concat();
    let parts = [&all[..], &edges[..1], &edges[1..2]];
    let GraphParts { train, valid, test } = hold_out(&dataset.samples[0], 0, parts, &settings, Seeds::new(1)).unwrap();
    let folds = mask(std::slice::from_ref(&train), Masking::Folds, usize::MAX, Seeds::new(1), 1).unwrap();
    let asked = folds.iter().find(|part| part.question.positive.contains(&planted)).unwrap();
    let parts = PairParts { train: vec![train.clone()], valid: vec![valid], test: Some(vec![test]) };
    let trained = training.split(Split::Pairs(parts)).run().unwrap();
    let score = |view: &View| {
        let model = trained.model();
        PairDecoder::new(model).unwrap().scores(model, view, &model.represent(view, 0), &[planted])[0]
    };
    // The graph that never had the edge, without the other edges that are asked about together with it.
    let hidden = &asked.question.positive;
    let never: Vec<[u32; 2]> = edges.iter().copied().filter(|edge| !hidden.contains(edge)).collect();
    let never = View::new(Graph::from_edges(400, &never).unwrap().0, train.view.features.clone()).unwrap();
    assert_eq!(score(&asked.view), score(&never), "it sees its own edge");
    assert_eq!(asked.view.graph().degree(3), never.graph().degree(3));
    // The comparison can fail: with its own edge in sight the score is another.
    let seen: Vec<[u32; 2]> = never.graph().edges().chain([planted]).collect();
    let seen = View::new(Graph::from_edges(400, &seen).unwrap().0, train.view.features.clone()).unwrap();
    assert_ne!(score(&seen), score(&never));
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
    let model = trained.model();
    match model.architecture().has_pair_features() {
        // It has no representations without features: what it learns is all in its weights.
        true => (trained.run().clone(), model.weights.get("pairs/scalars/1/weight").unwrap().value.clone()),
        false => (trained.run().clone(), model.represent(&view, 0)),
    }
}

fn has_negative(part: &Part<EvaluationPairs>, [a, b]: [u32; 2]) -> bool {
    let negative = &part.question.negative;
    negative.contains(&[a, b]) || negative.contains(&[b, a])
}
