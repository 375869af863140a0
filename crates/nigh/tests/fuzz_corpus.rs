//! What fuzzing starts from or ever found is read again as a graph, whole and damaged. `NIGH_BLESS=1` writes the files that
//! fuzzing starts from.

#[path = "../../nigh-formats/tests/damage/mod.rs"]
mod damage;
mod graph_files;
#[path = "../../nigh-formats/tests/samples/mod.rs"]
mod samples;

use damage::accidents;
use graph_files::{READERS, gzip, node_tables, read};
use proptest::prelude::*;
use samples::{Seed, check_seeds, stored};
use std::time::Instant;

/// All in order.
fn seeds() -> Vec<Seed> {
    vec![
        ("csv", "features.csv", b"id,x,y\na,0.5,1\nb,-1e3,2\n1,0,0\n".to_vec()),
        ("csv", "labels.txt", b"# two\na x\nb \"y\"\n".to_vec()),
        ("csv", "weights.csv", b"source,target,weight\n\"a, b\",c,0.5\nc,d,2\n".to_vec()),
        ("csv", "networkx.edgelist", b"a b {'weight': 2, 'kind': 'x, y'}\nb 1 {'weight': 0.5}\n".to_vec()),
        ("csv", "lists.txt", b"a b c d\nb c\nc\nd 1 e\n".to_vec()),
        ("csv", "label-sets.tsv", b"id\tlabel\na\tx\na\ty\nb\tx\n1\ty\n".to_vec()),
        ("csv", "numbers.txt", b"% 3 2\n1 2 0.5\n2.0 3 1e-3\n".to_vec()),
        ("csv", "utf16.csv", "\u{feff}a,b\nb,1\n".encode_utf16().flat_map(u16::to_le_bytes).collect()),
        ("gz", "edges.csv", b"0,1\n1,2\n".to_vec()),
        ("gz", "edges.csv.gz", gzip(b"0,1\n1,2\n")),
        ("json_rows", "features.json", br#"{"a": [3, 1], "b": [], "1": ["tall"]}"#.to_vec()),
        ("json_rows", "labels.json", br#"{"a": "x", "b": null, "1": 2.5}"#.to_vec()),
        (
            "json",
            "links.json",
            br#"{"directed": false, "multigraph": false, "graph": {}, "nodes": [{"id": 1}, {"id": 2}],
            "links": [{"weight": 0.5, "source": 1, "target": 2}]}"#
                .to_vec(),
        ),
        (
            "json",
            "edges.json",
            br#"{"edges": [{"source": "a", "target": "b"}], "nodes": [{"id": "a"}, {"id": "b"}]}"#.to_vec(),
        ),
        ("store", "names.nigh", graph_files::stored(b"source,target,weight\na,b,0.5\nb,c,2\n")),
        ("store", "numbers.nigh", graph_files::stored(b"0 1\n1 2\n")),
        ("store", "names-1.nigh", include_bytes!("version-1/names.nigh").to_vec()),
    ]
}

/// Also the files for the readers of formats, since any of them may be given as a graph.
fn files() -> Vec<(String, String, Vec<u8>)> {
    let own: Vec<&str> = READERS.iter().map(|reader| reader.0).collect();
    let others =
        ["archive", "arrow", "graph_xml", "matlab", "matrix_market", "metis", "npy", "npz", "parquet", "pickle", "pt"];
    let places = ["tests/hostile", "../nigh-formats/tests/hostile", "../nigh-formats/tests/fixtures/tables"];
    stored(&[&own[..], &others].concat(), &places)
}

#[test]
fn what_fuzzing_starts_from_is_in_order() {
    for (reader, path, bytes) in check_seeds(seeds()) {
        let edges = read(if reader == "gz" { "gz" } else { "json" }, &bytes);
        let in_order = match reader {
            "json" | "store" => edges.is_ok(),
            // It lists fewer edges than are announced, so that memory for those that are announced would show.
            "gz" => edges.as_ref().unwrap_err().to_string().contains("2 edges, but"),
            // A table is one of edges, of labels, of nodes or of features.
            _ => edges.is_ok() || node_tables(&bytes).iter().any(Result::is_ok),
        };
        assert!(in_order, "{}: {edges:?}", path.display());
    }
}

#[test]
fn every_file_can_be_handed_to_every_reader() {
    for (_, path, bytes) in files() {
        for (reader, _) in READERS {
            let start = Instant::now();
            let _ = read(reader, &bytes);
            assert!(start.elapsed().as_secs() < 5, "{path} takes {reader} long");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, max_shrink_iters: 1000, ..Default::default() })]

    #[test]
    fn no_accident_makes_a_reader_panic(
        file in prop::sample::select(files()), accidents in prop::collection::vec(accidents(), 1..6),
    ) {
        let (reader, path, mut bytes) = file;
        accidents.iter().for_each(|accident| accident.happen(&mut bytes));
        let start = Instant::now();
        let reader = if READERS.iter().any(|known| known.0 == reader) { reader.as_str() } else { "csv" };
        let _ = read(reader, &bytes);
        prop_assert!(start.elapsed().as_secs() < 5, "{} takes long", path);
    }
}
