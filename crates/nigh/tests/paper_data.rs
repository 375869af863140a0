//! Counts of the paper's datasets and of SEAL's. They are in the folder that `NIGH_DATA` names.

use nigh::dataset::{Counts, NamedDataset, PaperDefaults};
use nigh::{Dataset, Features};
use std::path::PathBuf;
use std::time::Instant;

/// Reads a dataset and prints how long it took.
fn load(name: &str) -> Dataset {
    let root = PathBuf::from(std::env::var_os("NIGH_DATA").expect("NIGH_DATA names the folder of the datasets"));
    let start = Instant::now();
    let known = NamedDataset::named(name).unwrap();
    let dataset = known.read_from(&root.join(known.folder)).unwrap();
    println!("{name}: read in {:.0} ms", start.elapsed().as_secs_f64() * 1e3);
    dataset
}

fn sizes(dataset: &Dataset) -> Vec<usize> {
    dataset.samples.iter().map(|sample| sample.graph.num_nodes()).collect()
}

/// How many nodes each class has.
fn class_sizes(dataset: &Dataset) -> Vec<usize> {
    let mut counts = vec![0; dataset.class_names.len()];
    let labels = dataset.samples.iter().flat_map(|sample| sample.labels.as_ref().unwrap().iter());
    labels.for_each(|label| counts[label.unwrap() as usize] += 1);
    counts
}

#[test]
#[ignore = "needs NIGH_DATA"]
fn coauthor_counts_are_those_of_table_1() {
    for (name, nodes, edges, features, classes, entries) in [
        ("coauthor-cs", 18_333, 81_894, 6_805, 15, 1_092_079),
        ("coauthor-physics", 34_493, 247_962, 8_415, 5, 1_137_311),
    ] {
        let dataset = load(name);
        assert_eq!((dataset.num_nodes(), dataset.num_edges(), dataset.samples.len()), (nodes, edges, 1));
        let Features::Sparse(matrix) = &dataset.samples[0].features else { panic!("sparse features") };
        assert_eq!((matrix.rows(), matrix.cols(), matrix.num_entries()), (nodes, features, entries));
        for row in 0..nodes {
            let sum: f32 = matrix.row(row).map(|entry| entry.1).sum();
            assert!((sum - 1.0).abs() < 1e-4 || matrix.row(row).next().is_none(), "row {row} sums to {sum}");
        }
        assert_eq!(dataset.class_names.len(), classes);
        // Every class has nodes to test with.
        assert!(class_sizes(&dataset).iter().all(|&size| size > 50));
        assert_eq!(dataset.samples[0].graph.component_sizes().len(), 1);
        assert!(dataset.notes.is_empty(), "no self loops: {:?}", dataset.notes);
    }
}

#[test]
#[ignore = "needs NIGH_DATA"]
fn email_is_seven_graphs() {
    let dataset = load("email");
    assert_eq!(sizes(&dataset), [245, 139, 32, 223, 186, 37, 58]);
    assert_eq!((dataset.num_nodes(), dataset.num_edges(), dataset.class_names.len()), (920, 7_201, 42));
    assert_eq!(dataset.paper_defaults, PaperDefaults { graphs: Some([5, 1, 1]), ..PaperDefaults::default() });
    assert_eq!(dataset.notes[1], "85 nodes in components of at most 10 nodes were left out");
    for sample in &dataset.samples {
        let labels = sample.labels.as_ref().unwrap();
        let mut communities: Vec<u32> = labels.iter().map(|label| label.unwrap()).collect();
        communities.sort_unstable();
        communities.dedup();
        assert_eq!(communities.len(), if labels.len() == 37 { 5 } else { 6 });
        assert!(communities.iter().all(|department| department / 6 == communities[0] / 6));
    }
}

#[test]
#[ignore = "needs NIGH_DATA"]
fn ppi_is_twenty_four_graphs() {
    let dataset = load("ppi");
    let expected = [
        1546, 1377, 2263, 2339, 1578, 1021, 1823, 2488, 591, 3312, 2401, 1878, 1819, 3480, 2794, 2326, 2650, 2815,
        3163, 3021, 3195, 3284, 3194, 2300,
    ];
    assert_eq!(sizes(&dataset), expected);
    assert_eq!((dataset.num_nodes(), dataset.num_edges()), (56_658, 793_617));
    assert_eq!(dataset.paper_defaults.graphs, Some([16, 4, 4]));
    assert!(dataset.notes.iter().any(|note| note.starts_with("25084 self loops")), "{:?}", dataset.notes);
    for sample in &dataset.samples {
        let Features::Dense(features) = &sample.features else { panic!("dense features") };
        assert_eq!(features.shape(), [sample.graph.num_nodes(), 50]);
        // Fifty times 0.1 is more than 1, so every row is divided by its sum.
        for row in 0..features.rows() {
            assert!((features.row(row).iter().sum::<f32>() - 1.0).abs() < 1e-5);
        }
    }
    assert!(dataset.samples[1].ids.name(0).parse::<u32>().unwrap() >= 1554, "the second tissue starts at node 1554");
}

#[test]
#[ignore = "needs NIGH_DATA"]
fn the_eight_graphs_of_seal_have_their_published_counts_and_files() {
    let root = PathBuf::from(std::env::var_os("NIGH_DATA").expect("NIGH_DATA names the folder of the datasets"));
    let merged = [("pb", 2_307), ("celegans", 211)];
    for name in ["usair", "ns", "pb", "yeast", "celegans", "power", "router", "ecoli"] {
        let known = NamedDataset::named(name).unwrap();
        let [file] = known.files else { panic!("{name} is one file") };
        let bytes = std::fs::read(root.join(known.folder).join(file.name)).unwrap();
        assert_eq!((bytes.len() as u64, nigh_formats::digest::sha256(&bytes).as_str()), (file.bytes, file.sha256));
        let dataset = load(name);
        assert_eq!(Some(Counts::of(&dataset)), known.origin_counts, "{name}");
        let sample = &dataset.samples[0];
        assert!((0..dataset.num_nodes()).all(|node| sample.graph.degree(node) > 0), "{name}");
        assert!(!sample.graph.is_weighted() && sample.ids.len() == dataset.num_nodes(), "{name}");
        let expected = merged.iter().find(|graph| graph.0 == name).map(|graph| format!("{} repeated", graph.1));
        let note = dataset.notes.first();
        assert_eq!(note.is_some(), expected.is_some(), "{name}: {note:?}");
        assert!(note.zip(expected).is_none_or(|(note, expected)| note.starts_with(&expected)), "{name}: {note:?}");
    }
}
