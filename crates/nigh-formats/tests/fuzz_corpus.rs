//! What fuzzing starts from or ever found is read again by every reader, whole and damaged. `NIGH_BLESS=1` writes the files
//! that fuzzing starts from.

mod damage;
mod readers;
mod samples;

use damage::accidents;
use proptest::prelude::*;
use readers::{READERS, read};
use samples::{Seed, TENSOR, benchmark, check_seeds, folder, ints, mat, npy, pt, sparse, stored, tar, zipped};
use std::time::Instant;

/// All in order.
fn seeds() -> Vec<Seed> {
    let table = |file: &str| std::fs::read(folder("tests/fixtures/tables").join(file)).unwrap();
    let utf16: Vec<u8> = std::iter::once(0xfeff).chain("a,b\n".encode_utf16()).flat_map(u16::to_le_bytes).collect();
    vec![
        ("archive", "edges.zip", zipped(&[("README", b"x"), ("edges.csv", b"1,2\n")])),
        ("archive", "edges.tar", [tar("edges.csv", "00000000004", b'0', b"1,2\n"), vec![0; 1024]].concat()),
        ("archive", "utf16.csv", utf16),
        (
            "graph_xml",
            "edges.graphml",
            br#"<graphml><key id="w" for="edge" attr.name="weight"/><graph edgedefault="directed"><node id="a"/><node id="b"/>
<edge source="a" target="b"><data key="w">2</data></edge></graph></graphml>"#
                .to_vec(),
        ),
        (
            "graph_xml",
            "edges.gexf",
            br#"<gexf><graph><nodes><node id="a"/></nodes><edges><edge source="a" target="a" weight="2"/></edges></graph></gexf>"#
                .to_vec(),
        ),
        ("matlab", "net.mat", mat([2, 2], &[1, 0], &[0, 1, 2])),
        ("metis", "weights.graph", b"% x\n3 2 011\n9 2 5\n9 1 5 3 6\n9 2 6\n".to_vec()),
        ("npz", "benchmark.npz", benchmark(&[0, 1, 2], &[1, 0])),
        ("arrow", "pyarrow.arrow", table("pyarrow-dictionary.arrow")),
        ("arrow", "polars.arrow", table("polars.arrow")),
        ("arrow", "pyarrow.arrows", table("pyarrow-stream.arrows")),
        (
            "matrix_market",
            "real.mtx",
            b"%%MatrixMarket matrix coordinate real general\n%\n2 2 2\n1 2 0.5\n2 1 -1e3\n".to_vec(),
        ),
        ("matrix_market", "pattern.mtx", b"%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n".to_vec()),
        ("npy", "floats.npy", npy("<f4", "(2, 2)", &[0; 16])),
        ("npy", "ints.npy", ints(&[1, -2, 3])),
        ("npz", "csc.npz", sparse("csc", &[0, 1, 2, 3], &[0, 1, 2])),
        ("npz", "csr.npz", sparse("csr", &[0, 1, 2, 3], &[0, 1, 2])),
        ("parquet", "delta-lz4.parquet", table("pyarrow-v2-delta-lz4.parquet")),
        ("parquet", "dictionary-snappy.parquet", table("pyarrow-default.parquet")),
        ("parquet", "plain.parquet", table("pyarrow-required-plain.parquet")),
        (
            "pickle",
            "graph.pickle",
            b"\x80\x02ccollections\ndefaultdict\nq\x00c__builtin__\nlist\nq\x01\x85q\x02Rq\x03(K\x00]q\x04(K\
            \x01K\x02eK\x01]q\x05K\x00au."
                .to_vec(),
        ),
        ("pickle", "tensor.pickle", TENSOR.to_vec()),
        ("pt", "edge.pt", pt(TENSOR)),
    ]
}

fn files() -> Vec<(String, String, Vec<u8>)> {
    let readers: Vec<&str> = READERS.iter().map(|reader| reader.0).collect();
    stored(&readers, &["tests/hostile", "tests/fixtures/tables"])
}

#[test]
fn what_fuzzing_starts_from_is_in_order() {
    for (reader, path, bytes) in check_seeds(seeds()) {
        read(reader, &bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
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
        let _ = read(&reader, &bytes);
        prop_assert!(start.elapsed().as_secs() < 5, "{} takes long", path);
    }
}
