//! What `Dataset::export` writes is read back.

use nigh::dataset::{Dataset, FixedPairs, FixedSplit, Ids, InputFiles};
use nigh::formats::npy::{self, NpzArchive};
use nigh::formats::text_table::Formulas;
use nigh::{Features, Graph, Matrix};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

fn text(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap()
}

fn export(dataset: &Dataset) -> (tempfile::TempDir, std::path::PathBuf) {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("out");
    let files = dataset.export(None, &folder, Formulas::Kept).unwrap();
    let mut there: Vec<String> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    there.sort();
    let mut said = files.clone();
    said.sort_unstable();
    assert_eq!(there, said);
    assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 1, "nothing beside the folder");
    (temporary, folder)
}

/// Edges and labels by name, which no order of nodes can change.
type Named = (BTreeSet<[String; 2]>, BTreeMap<String, String>);

fn named(dataset: &Dataset) -> Named {
    let sample = &dataset.samples[0];
    let name = |node: u32| sample.ids.name(node as usize).into_owned();
    let edge = |[a, b]: [u32; 2]| {
        let mut edge = [name(a), name(b)];
        edge.sort();
        edge
    };
    let labels = sample.labels.iter().flat_map(|labels| labels.iter().enumerate());
    let label = |(node, label): (usize, &Option<u32>)| {
        Some((name(node as u32), dataset.class_names[(*label)? as usize].clone()))
    };
    (sample.graph.edges().map(edge).collect(), labels.filter_map(label).collect())
}

fn cora_like() -> Dataset {
    let names = ["a", "Paris, \"F\"", "#3", "d d", "alone", "f"];
    let (graph, _) = Graph::from_edges(6, &[[0, 1], [1, 2], [2, 3], [0, 3], [3, 5]]).unwrap();
    let mut dataset = Dataset::from_graph("papers", graph);
    dataset.samples[0].ids = Ids::from_names(names).into();
    dataset.samples[0].labels = Some([Some(0), Some(1), None, Some(1), Some(0), Some(1)].into());
    dataset.class_names = vec!["theory".into(), "neural, nets".into()];
    dataset.samples[0].features =
        Features::from_matrix(Matrix::from_fn(6, 20, |i, c| if c == 3 * i % 20 { 0.5 + i as f32 } else { 0.0 }));
    dataset.fixed_split = Some(FixedSplit::Nodes([vec![0, 1], vec![3], vec![4, 5]]));
    dataset
}

#[test]
fn what_is_written_is_read_back_as_the_same_graph() {
    let built_in = ["grid", "communities", "leaders"].map(|name| Dataset::built_in(name).unwrap());
    for dataset in built_in.into_iter().chain([cora_like()]) {
        let (_temporary, folder) = export(&dataset);
        let file = |name: &str| Some(folder.join(name)).filter(|path| path.exists());
        let input = InputFiles {
            nodes: file("nodes.csv"),
            features: file("features.npz"),
            labels: file("labels.csv"),
            ..InputFiles::default()
        };
        let back = Dataset::from_files(&folder.join("edges.csv"), &input).unwrap();
        assert_eq!(named(&back), named(&dataset), "{}", dataset.name);
        let (back, sample) = (&back.samples[0], &dataset.samples[0]);
        assert_eq!((back.graph.digest(), &back.ids), (sample.graph.digest(), &sample.ids), "also those alone");
        assert_eq!(back.features.digest(), sample.features.digest());
    }
}

#[test]
fn no_node_gets_lost_and_splits_come_along() {
    let (_temporary, folder) = export(&cora_like());
    assert_eq!(text(&folder, "nodes.csv"), "id\na\n\"Paris, \"\"F\"\"\"\n\"#3\"\nd d\nalone\nf\n");
    assert!(text(&folder, "labels.csv").ends_with("alone,theory\nf,\"neural, nets\"\n"));
    let split = "id,part\na,train\n\"Paris, \"\"F\"\"\",train\nd d,valid\nalone,test\nf,test\n";
    assert_eq!(text(&folder, "split.csv"), split);
    let readme = text(&folder, "README.txt");
    ["nodes.csv", "edges.csv", "features.npz", "labels.csv", "split.csv"]
        .iter()
        .for_each(|name| assert!(readme.contains(name), "{readme}"));
}

#[test]
fn sparse_features_have_the_layout_of_scipy() {
    let dataset = cora_like();
    let (_temporary, folder) = export(&dataset);
    let mut npz = NpzArchive::open(&folder.join("features.npz")).unwrap();
    let integers = |npz: &mut NpzArchive, name: &str| npz.array(name).unwrap().integers().unwrap();
    assert_eq!(integers(&mut npz, "shape"), [6, 20]);
    assert_eq!(integers(&mut npz, "indptr"), [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(integers(&mut npz, "indices"), [0, 3, 6, 9, 12, 15]);
    assert_eq!(npz.array("data").unwrap().floats().unwrap(), [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]);
    assert!(npz.names().any(|name| name == "format"));
}

#[test]
fn several_graphs_have_a_column_and_weights_their_bits() {
    let mut first = Dataset::from_graph("two", Graph::from_edges(2, &[[0, 1]]).unwrap().0).samples.remove(0);
    first.features = Features::Dense(Matrix::from_rows(&[[0.1, 0.2], [0.3, 0.4]]).into());
    let mut second = first.clone();
    second.graph = Graph::from_weighted_edges(2, &[[0, 1]], &[0.1]).unwrap().0.into();
    second.labels = Some([None, Some(0)].into());
    let dataset = Dataset::from_samples("two", vec![first, second], vec!["x".into()]).unwrap();
    let (_temporary, folder) = export(&dataset);
    assert_eq!(text(&folder, "nodes.csv"), "graph,id\n0,0\n0,1\n1,0\n1,1\n");
    assert_eq!(text(&folder, "edges.csv"), "graph,source,target,weight\n0,0,1,1\n1,0,1,0.1\n");
    assert_eq!(text(&folder, "labels.csv"), "graph,id,label\n1,1,x\n");
    let features = npy::open(&folder.join("features.npy")).unwrap();
    assert_eq!((features.shape(), features.floats().unwrap().len()), (&[4, 2][..], 8));
}

#[test]
fn given_pairs_are_listed_with_their_part() {
    let mut dataset = Dataset::from_graph("path", Graph::from_edges(4, &[[0, 1], [1, 2]]).unwrap().0);
    let part = |a, b| FixedPairs { positive: vec![a], negative: vec![b] };
    dataset.fixed_split = Some(FixedSplit::Pairs([part([2, 3], [0, 3]), part([0, 2], [1, 3])]));
    let (_temporary, folder) = export(&dataset);
    let expected = "source,target,exists,part\n2,3,1,valid\n0,3,0,valid\n0,2,1,test\n1,3,0,test\n";
    assert_eq!(text(&folder, "split_pairs.csv"), expected);
    assert_eq!(text(&folder, "nodes.csv"), "id\n0\n1\n2\n3\n");
}

#[test]
fn a_folder_that_exists_is_left_alone() {
    let temporary = tempfile::tempdir().unwrap();
    let error = cora_like().export(None, temporary.path(), Formulas::Kept).unwrap_err().to_string();
    assert!(error.contains("exists already"), "{error}");
    assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 0);
}
