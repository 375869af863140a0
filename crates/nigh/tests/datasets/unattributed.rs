//! Lists of links of SEAL's benchmark, right and damaged.

use nigh::Result;
use nigh::dataset::{Dataset, NamedDataset};
use proptest::prelude::*;

fn read_text(text: &[u8]) -> Result<Dataset> {
    let folder = tempfile::tempdir().unwrap();
    let known = NamedDataset::named("ecoli").expect("it is public");
    std::fs::write(folder.path().join("Ecoli.txt"), text).unwrap();
    known.read_from(folder.path())
}

#[test]
fn weights_are_left_aside_and_both_directions_are_one_link() {
    // Leading blanks, Windows line ends and no line end at last, as in the published files.
    let dataset = read_text(b"    7   3  0.25\r\n    3   7  0.5\r\n   12   3  1").unwrap();
    let sample = &dataset.samples[0];
    assert_eq!((sample.graph.num_nodes(), sample.graph.num_edges(), sample.graph.is_weighted()), (3, 2, false));
    assert_eq!(sample.ids.iter().collect::<Vec<_>>(), ["3", "7", "12"]);
    assert!(sample.graph.has_edge(0, 1) && sample.graph.has_edge(0, 2));
    assert_eq!(dataset.notes, ["1 repeated links were merged; 1 are listed in both directions"]);
    let tabs = read_text(b"0\t1\n1\t2\n").unwrap();
    assert_eq!((tabs.num_nodes(), tabs.num_edges(), tabs.notes.len()), (3, 2, 0));
}

#[test]
fn errors_name_line_and_value() {
    let message = |text: &[u8]| read_text(text).unwrap_err().to_string().rsplit_once("/Ecoli").unwrap().1.to_string();
    assert_eq!(message(b"1 2\n1\n"), ".txt:2: 1 columns; expected two or three");
    assert_eq!(message(b"1 2\n1 -2\n"), ".txt:2: `-2` is no node; expected a whole number");
    assert_eq!(message(b"1 1\n"), ".txt: no line has a link between two nodes");
    assert_eq!(message(b""), ".txt: no line has a link between two nodes");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..100), text in "[0-9 \t\r\n.#-]{0,60}") {
        let _ = read_text(&bytes);
        let _ = read_text(text.as_bytes());
    }
}
