//! The public files of Planetoid and OGB have the known counts. They are in the folder that `NIGH_DATA` names.

use nigh::Features;
use nigh::dataset::{Dataset, FixedPairs, FixedSplit, ogb, planetoid};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Instant;

fn data(name: &str) -> PathBuf {
    PathBuf::from(std::env::var_os("NIGH_DATA").expect("NIGH_DATA names the folder of the datasets")).join(name)
}

fn timed(name: &str, read: impl FnOnce() -> nigh::Result<Dataset>) -> Dataset {
    let start = Instant::now();
    let dataset = read().unwrap();
    eprintln!("{name}: read in {:.0} ms; {:?}", start.elapsed().as_secs_f64() * 1e3, dataset.notes);
    dataset
}

struct Expected {
    name: &'static str,
    nodes: usize,
    edges: usize,
    features: usize,
    classes: &'static [usize],
    holes: usize,
    isolated: usize,
    train: usize,
    notes: &'static [&'static str],
}

#[test]
#[ignore = "needs NIGH_DATA"]
fn planetoid_files_give_the_known_counts() {
    let expected = [
        Expected {
            name: "cora",
            nodes: 2708,
            edges: 5278,
            features: 1433,
            classes: &[351, 217, 418, 818, 426, 298, 180],
            holes: 0,
            isolated: 0,
            train: 140,
            notes: &["302 repeated"],
        },
        Expected {
            name: "citeseer",
            nodes: 3327,
            edges: 4552,
            features: 3703,
            classes: &[249, 590, 668, 701, 596, 508],
            holes: 15,
            isolated: 48,
            train: 120,
            notes: &["236 repeated", "124 self loops", "48 nodes have no edge", "15 nodes have neither"],
        },
        Expected {
            name: "pubmed",
            nodes: 19717,
            edges: 44324,
            features: 500,
            classes: &[4103, 7739, 7875],
            holes: 0,
            isolated: 0,
            train: 60,
            notes: &["25 repeated", "3 self loops"],
        },
    ];
    for expected in expected {
        let name = expected.name;
        let folder = data(name);
        let dataset = timed(name, || planetoid::read(&folder, name));
        let [sample] = &dataset.samples[..] else { panic!("one graph") };
        let graph = &sample.graph;
        assert_eq!((graph.num_nodes(), graph.num_edges()), (expected.nodes, expected.edges), "{name}");
        assert_eq!((0..expected.nodes).filter(|&node| graph.degree(node) == 0).count(), expected.isolated, "{name}");
        assert_eq!(sample.ids.len(), expected.nodes);
        assert_eq!(dataset.class_names.len(), expected.classes.len());

        let labels = sample.labels.as_ref().unwrap();
        let count = |class| labels.iter().filter(|label| **label == class).count();
        let counts: Vec<usize> = (0..expected.classes.len()).map(|class| count(Some(class as u32))).collect();
        assert_eq!(counts, expected.classes, "{name}");
        assert_eq!(count(None), expected.holes, "{name}");

        let Features::Sparse(features) = &sample.features else { panic!("bags of words are sparse") };
        assert_eq!((features.rows(), features.cols()), (expected.nodes, expected.features), "{name}");
        for node in 0..expected.nodes {
            let sum: f32 = features.row(node).map(|entry| entry.1).sum();
            let whole = if labels[node].is_some() { 1.0 } else { 0.0 };
            assert!(
                (sum - whole).abs() < 1e-5 || features.row(node).next().is_none(),
                "{name}: row {node} adds to {sum}"
            );
        }
        let empty = (0..expected.nodes).filter(|&node| features.row(node).next().is_none()).count();
        assert_eq!(empty, expected.holes, "{name}");

        let Some(FixedSplit::Nodes([train, valid, test])) = &dataset.fixed_split else { panic!("a split of nodes") };
        assert_eq!([train.len(), valid.len(), test.len()], [expected.train, 500, 1000], "{name}");
        for class in 0..expected.classes.len() as u32 {
            assert_eq!(train.iter().filter(|&&node| labels[node as usize] == Some(class)).count(), 20, "{name}");
        }
        let mut all: Vec<u32> = [train, valid, test].into_iter().flatten().copied().collect();
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "{name}: the parts are disjoint");
        assert!(all.iter().all(|&node| labels[node as usize].is_some()), "{name}: every node of the split has a class");
        assert_eq!(dataset.notes.len(), expected.notes.len(), "{:?}", dataset.notes);
        for (note, start) in dataset.notes.iter().zip(expected.notes) {
            assert!(note.starts_with(start), "{note}");
        }
    }
}

#[test]
#[ignore = "needs NIGH_DATA"]
fn ogbl_ddi_gives_the_known_counts_and_its_plain_split() {
    let folder = data("ogbl-ddi");
    let dataset = timed("ogbl-ddi", || ogb::read(&folder, "ogbl-ddi"));
    let sample = &dataset.samples[0];
    assert_eq!((sample.graph.num_nodes(), sample.graph.num_edges()), (4267, 1_067_911));
    assert_eq!(sample.features.cols(), 1);
    assert!(dataset.notes.is_empty(), "{:?}", dataset.notes);
    let Some(FixedSplit::Pairs([valid, test])) = &dataset.fixed_split else { panic!("a split of pairs") };
    let sizes = |part: &FixedPairs| (part.positive.len(), part.negative.len());
    assert_eq!((sizes(valid), sizes(test)), ((133_489, 101_882), (133_489, 95_599)));
    for (file, pairs) in [
        ("valid_pos", &valid.positive),
        ("valid_neg", &valid.negative),
        ("test_pos", &test.positive),
        ("test_neg", &test.negative),
    ] {
        assert_eq!(&plain(&folder.join(format!("split_csv/{file}.csv.gz"))), pairs, "{file}");
    }
}

fn plain(path: &Path) -> Vec<[u32; 2]> {
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    let pair = |line: &str| {
        let (a, b) = line.split_once(',').unwrap();
        [a.parse().unwrap(), b.parse().unwrap()]
    };
    text.lines().map(pair).collect()
}
