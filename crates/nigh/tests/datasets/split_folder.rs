//! A split in a folder is read as it was written, and what is wrong with it is named.

use nigh::Graph;
use nigh::dataset::{Dataset, FixedPairs, FixedSplit, Ids};

/// A path of six nodes with odd names.
fn dataset() -> Dataset {
    let graph = Graph::from_edges(6, &[[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]]).unwrap().0;
    let mut dataset = Dataset::from_graph("path", graph).with_labels(&[0, 1, 0, 1, 0, 1], vec!["x".into(), "y".into()]);
    dataset.samples[0].ids = Ids::from_names(["source", "Paris, \"F\"", "#3", "id", "5", "target"]).into();
    dataset
}

fn pairs_split() -> FixedSplit {
    let held_out = |edge, negative| FixedPairs { positive: vec![edge], negative: vec![negative] };
    FixedSplit::Edges {
        train: vec![[4, 5], [1, 0], [2, 1]],
        held_out: [held_out([2, 3], [0, 5]), held_out([4, 3], [5, 1])],
    }
}

#[test]
fn what_is_written_is_read_again() {
    let (dataset, folder) = (dataset(), tempfile::tempdir().unwrap());
    let nodes = FixedSplit::Nodes([vec![5, 0], vec![3, 1], vec![2, 4]]);
    for (name, split, count) in [("pairs", pairs_split(), 6), ("nodes", nodes, 4)] {
        let out = folder.path().join(name);
        let files = split.write(&dataset, &out, &toml::Table::from_iter([("seed".to_string(), 1.into())])).unwrap();
        assert_eq!(files.len(), count);
        assert_eq!(std::fs::read_to_string(out.join("split.toml")).unwrap(), "seed = 1\n");
        assert_eq!(FixedSplit::read(&dataset, &out).unwrap(), split);
        let error = split.write(&dataset, &out, &toml::Table::new()).unwrap_err().to_string();
        assert!(error.ends_with("exists already; a split is written to a folder of its own"), "{error}");
    }
    let edges = std::fs::read_to_string(folder.path().join("pairs/train-edges.csv")).unwrap();
    assert_eq!(edges, "source,target\n5,target\n\"Paris, \"\"F\"\"\",source\n\"#3\",\"Paris, \"\"F\"\"\"\n");
}

#[test]
fn what_is_wrong_with_a_folder_is_told() {
    let (dataset, folder) = (dataset(), tempfile::tempdir().unwrap());
    let refused = |files: &[(&str, &str)]| {
        let out = folder.path().join("split");
        let _ = std::fs::remove_dir_all(&out);
        std::fs::create_dir(&out).unwrap();
        files.iter().for_each(|(name, content)| std::fs::write(out.join(name), content).unwrap());
        FixedSplit::read(&dataset, &out).unwrap_err().to_string()
    };
    let (valid, test) = (("valid-positives.csv", "#3,id\n"), ("test-positives.csv", "id,5\n"));
    let valid = (valid.0, "\"#3\",id\n");
    let train = ("train-edges.csv", "source,target\n5,target\n");
    let cases: [(&[(&str, &str)], &str); 10] = [
        (&[], "valid-positives.csv is missing; a split has train-nodes.csv"),
        (&[valid], "test-positives.csv is missing"),
        (
            &[valid, test],
            "2 held-out edges are among those that message passing sees, the first is #3 - id; take them out",
        ),
        (&[train, valid, ("test-positives.csv", "5,target\n")], "1 held-out edge is among those"),
        (
            &[train, valid, ("test-positives.csv", "5,nobody\n")],
            "test-positives.csv:1: node `nobody` is not in the graph",
        ),
        (
            &[train, valid, ("test-positives.csv", "5,5\n")],
            "the test part of the split has a pair of node 5 and itself",
        ),
        (
            &[train, valid, ("test-positives.csv", "id,\"#3\"\n")],
            "id - #3 is in the validation part and in the test part",
        ),
        (
            &[train, valid, test, ("test-negatives.csv", "\"#3\",id\n")],
            "#3 - id is a negative of the test part of the split, and an edge",
        ),
        (
            &[("train-edges.csv", "5,source\n"), valid, test],
            "5 - source is a training edge of the split, and no edge of the graph",
        ),
        (
            &[valid, test, ("train-nodes.csv", "id\n5\n"), ("valid-nodes.csv", "5\n"), ("test-nodes.csv", "id\n")],
            "two kinds of split",
        ),
    ];
    for (files, says) in cases {
        let error = refused(files);
        assert!(error.contains(says), "{error}\n{says}");
    }
    let nodes = |valid: &'static str| {
        [("train-nodes.csv", "id\n5\n"), ("valid-nodes.csv", valid), ("test-nodes.csv", "target\n")]
    };
    assert!(refused(&nodes("5\n")).ends_with("node 5 is in the training part and in the validation part of the split"));
    assert!(refused(&nodes("7\n")).ends_with("valid-nodes.csv:1: node `7` is not in the graph"));
    assert!(refused(&nodes("source\nsource\n")).ends_with("node source is twice in the validation part of the split"));
}
