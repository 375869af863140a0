//! Link datasets of OGB as their archives unpack, right and damaged.

use flate2::{Compression, write::GzEncoder};
use nigh::dataset::{Dataset, FixedPairs, FixedSplit, NamedDataset};
use nigh::{Features, Result};
use nigh_formats::samples::pickle as build;
use proptest::prelude::*;
use std::io::Write;

fn zipped(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// A part of a split in the old form of torch.save, as OGB has them.
fn saved(positive: &[[i32; 2]], negative: &[[i32; 2]]) -> Vec<u8> {
    let head = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.".to_vec();
    let array =
        |pairs: &[[i32; 2]]| build::array("<i4", &[pairs.len() as i32, 2], false, &build::i4(pairs.as_flattened()));
    let system = build::pickle(build::dict(&[("little_endian", vec![0x88])]));
    let pairs = build::pickle(build::dict(&[("edge", array(positive)), ("edge_neg", array(negative))]));
    [head, system, pairs, b"\x80\x02].".to_vec()].concat()
}

/// A path of six nodes without its last two edges.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("raw/edge.csv.gz", zipped(b"0,1\n1,2\n2,3\n")),
        ("raw/num-node-list.csv.gz", zipped(b"6\n")),
        ("raw/num-edge-list.csv.gz", zipped(b"3\n")),
        ("split/time/valid.pt", saved(&[[3, 4]], &[[0, 5], [0, 2]])),
        ("split/time/test.pt", saved(&[[5, 4]], &[[1, 5]])),
    ]
}

/// The files with one of them changed, added, or (without content) left out.
fn read_with(changed: &str, content: Option<Vec<u8>>) -> Result<Dataset> {
    let folder = tempfile::tempdir().unwrap();
    for part in ["raw", "split/time"] {
        std::fs::create_dir_all(folder.path().join(part)).unwrap();
    }
    let kept = files().into_iter().filter(|file| file.0 != changed);
    for (part, bytes) in kept.chain(content.map(|content| (changed, content))) {
        std::fs::write(folder.path().join(part), bytes).unwrap();
    }
    NamedDataset::named("ogbl-ddi").expect("it is public").read_from(folder.path())
}

fn message(changed: &str, content: &[u8]) -> String {
    let content = if changed.ends_with(".gz") { zipped(content) } else { content.to_vec() };
    read_with(changed, Some(content)).unwrap_err().to_string()
}

#[test]
fn the_graph_holds_training_edges_and_the_split_the_rest() {
    let dataset = read_with("", None).unwrap();
    let sample = &dataset.samples[0];
    assert_eq!((sample.graph.num_nodes(), sample.graph.num_edges()), (6, 3));
    assert_eq!((sample.features.rows(), sample.features.cols()), (6, 1));
    let valid = FixedPairs { positive: vec![[3, 4]], negative: vec![[0, 5], [0, 2]] };
    let test = FixedPairs { positive: vec![[5, 4]], negative: vec![[1, 5]] };
    assert_eq!(dataset.fixed_split, Some(FixedSplit::Pairs([valid, test])));
    assert!(dataset.notes.is_empty());
    let linked = read_with("split/time/test.pt", Some(saved(&[[5, 4]], &[[1, 0]]))).unwrap();
    assert_eq!(linked.notes, ["1 negative pairs of the split are training edges; they are kept"]);
}

#[test]
fn features_are_divided_by_their_sum_or_one() {
    let rows = zipped(b"1,3\n0.25,0.25\n0,0\n1,0\n0,1\n1,1\n");
    let dataset = read_with("raw/node-feat.csv.gz", Some(rows)).unwrap();
    let Features::Dense(features) = &dataset.samples[0].features else { panic!("dense") };
    assert_eq!(features.data()[..6], [0.25, 0.75, 0.25, 0.25, 0.0, 0.0]);
    let message = |content: &[u8]| message("raw/node-feat.csv.gz", content);
    assert!(message(b"1,3\n").ends_with("node-feat.csv.gz: 1 rows, but the graph has 6 nodes"));
    assert!(message(&b"1,3\n".repeat(7)).ends_with(":7: one row more than the 6 nodes of the graph"));
    assert!(message(b"1,3\n1\n").ends_with(":2: 1 columns, but the lines above have 2"));
    assert!(message(b"1,x\n").ends_with(":1: column 2: `x` is no finite number"));
    assert!(message(b"1,inf\n").ends_with(":1: column 2: `inf` is no finite number"));
}

#[test]
fn errors_name_file_line_and_value() {
    let message_of = |content: &[u8]| message("raw/edge.csv.gz", content);
    assert!(message_of(b"0,1\n1;2\n2,3\n").ends_with("edge.csv.gz:2: `1;2` is one column; an edge needs two nodes"));
    assert!(message_of(b"0,1\n1,x\n2,3\n").ends_with("edge.csv.gz:2: `x` is no whole number"));
    assert!(message_of(b"0,1\n1,6\n2,3\n").ends_with("edge.csv.gz:2: node 6, but there are 6, numbered from 0"));
    assert!(message_of(b"0,1\n1,2\n2,3\n3,5\n").ends_with(":4: one edge more than the 3 of num-edge-list.csv.gz"));
    assert!(message_of(b"0,1\n").ends_with("1 edges, but num-edge-list.csv.gz announces 3"));
    assert!(message_of(b"0,\xff\n").ends_with(":1: is no text"));
    assert!(message("raw/num-node-list.csv.gz", b"6\n7\n").ends_with(":2: a second graph; link datasets have one"));
    assert!(message("raw/num-node-list.csv.gz", b"").ends_with("is empty; expected a number"));
    let announced = message("raw/num-node-list.csv.gz", b"1152921504606846976\n");
    assert!(announced.ends_with("announces 1152921504606846976 nodes, which is not plausible for 3 edges"));
}

#[test]
fn held_out_edges_must_not_be_in_the_graph() {
    let message = |positive| message("split/time/valid.pt", &saved(positive, &[]));
    let expected = "row 1 of `edge`, 2-1, is a training edge too; held-out edges must not be seen";
    assert!(message(&[[3, 4], [2, 1]]).ends_with(expected));
    assert!(message(&[[3, 4], [2, 9]]).ends_with("row 1 of `edge` names node 9; there are 6"));
    assert!(message(&[[3, 4], [-2, 1]]).ends_with("row 1 of `edge` names node -2; there are 6"));
}

#[test]
fn what_is_missing_is_named() {
    for part in ["raw/edge.csv.gz", "split/time/valid.pt", "split/time/test.pt"] {
        let error = read_with(part, None).unwrap_err().to_string();
        assert!(error.contains(&format!("{part}: ")), "{error}");
    }
    let folder = tempfile::tempdir().unwrap();
    let known = NamedDataset::named("ogbl-ddi").unwrap();
    let missing = || known.read_from(folder.path()).unwrap_err().to_string();
    assert!(missing().ends_with("split: is missing; expected a folder in it with valid.pt and test.pt"));
    std::fs::create_dir(folder.path().join("split")).unwrap();
    assert!(missing().ends_with("split: is empty; expected a folder in it with valid.pt and test.pt"));
}

#[test]
fn a_gz_bomb_is_refused() {
    let error = message("raw/edge.csv.gz", &b"0,1\n".repeat(1 << 20));
    assert!(error.contains("one edge more than"), "{error}");
    let error = message("raw/num-edge-list.csv.gz", &vec![b'0'; 8 << 20]);
    assert!(error.contains("is longer than 1048576 bytes"), "{error}");
    let error = message("raw/num-edge-list.csv.gz", &[&b"3\n"[..], &vec![b'\n'; 8 << 20]].concat());
    assert!(error.contains("a second graph"), "{error}");
    // Long lines where no line is too many: only the bound helps.
    let long = [b"0,".repeat(500_000), b"0\n".to_vec()].concat();
    let error = message("raw/node-feat.csv.gz", &long.repeat(6));
    assert!(error.contains("the most that is read"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_change_of_a_file_makes_it_panic(
        file in prop::sample::select(files()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let (part, mut bytes) = file;
        changes.iter().for_each(|(at, byte)| { let at = at.index(bytes.len()); bytes[at] = *byte; });
        let _ = read_with(part, Some(bytes));
    }

    #[test]
    fn no_text_makes_it_panic(part in 0usize..3, text in "[0-9,.\\-\n e]{0,40}") {
        let _ = read_with(files()[part].0, Some(zipped(text.as_bytes())));
    }
}
