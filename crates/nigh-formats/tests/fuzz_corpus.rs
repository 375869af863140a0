//! What fuzzing starts from or ever found is read again by every reader, whole and damaged. `NIGH_BLESS=1` writes the files
//! that fuzzing starts from.

mod damage;
mod readers;
mod samples;
#[allow(dead_code, reason = "the tests of the readers use the rest")]
#[path = "../src/samples/mod.rs"]
mod written;

use damage::accidents;
use proptest::prelude::*;
use readers::{READERS, read};
use samples::{Seed, TENSOR, benchmark, check_seeds, folder, ints, mat, npy, pt, sparse, stored, tar, zipped};
use std::io::Write;
use std::time::Instant;
use written::matlab::MatSample;
use written::pickle as build;
use zip::CompressionMethod;

/// All in order. Every part of a format that a reader knows is in one of them, since a fuzzer seldom invents it.
fn seeds() -> Vec<Seed> {
    [tables(), arrays(), matrices(), pickles()].concat()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn tables() -> Vec<Seed> {
    let table = |file: &str| std::fs::read(folder("tests/fixtures/tables").join(file)).unwrap();
    let utf16: Vec<u8> = std::iter::once(0xfeff).chain("a,b\n".encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let tar = [tar("edges.csv", "00000000004", b'0', b"1,2\n"), vec![0; 1024]].concat();
    vec![
        ("archive", "edges.zip", zipped(&[("README", b"x"), ("edges.csv", b"1,2\n")])),
        ("archive", "edges.tgz", gzip(&tar)),
        ("archive", "edges.tar", tar),
        ("archive", "edges.gz", gzip(b"1,2\n")),
        // One block, not compressed, with its length of four bytes.
        ("archive", "edges.zst", b"\x28\xb5\x2f\xfd\x20\x04\x21\0\x001,2\n".to_vec()),
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
        (
            "graph_xml",
            "values.gexf",
            br#"<?xml version="1.0"?><!-- x --><gexf><graph defaultedgetype="directed"><attributes class="edge">
<attribute id="0" title="weight" type="float"><default>1</default></attribute></attributes><nodes><node id="&#97;&amp;"/></nodes>
<edges><edge source="a" target="b"><attvalues><attvalue for="0" value="2"/></attvalues></edge></edges></graph></gexf>"#
                .to_vec(),
        ),
        ("arrow", "pyarrow.arrow", table("pyarrow-dictionary.arrow")),
        ("arrow", "polars.arrow", table("polars.arrow")),
        ("arrow", "pyarrow.arrows", table("pyarrow-stream.arrows")),
        ("arrow", "polars-categories.arrows", table("polars-categories.arrows")),
        ("arrow", "lz4.feather", table("pyarrow-lz4.feather")),
        ("parquet", "delta-gzip.parquet", table("pyarrow-delta-gzip.parquet")),
        ("parquet", "delta-lz4.parquet", table("pyarrow-v2-delta-lz4.parquet")),
        ("parquet", "dictionary-snappy.parquet", table("pyarrow-default.parquet")),
        ("parquet", "duckdb.parquet", table("duckdb.parquet")),
        ("parquet", "narrow.parquet", table("pyarrow-narrow.parquet")),
        ("parquet", "plain.parquet", table("pyarrow-required-plain.parquet")),
        ("parquet", "polars.parquet", table("polars.parquet")),
        ("parquet", "zstd.parquet", table("pyarrow-v2-zstd.parquet")),
    ]
}

fn arrays() -> Vec<Seed> {
    let coo = [
        ("row", ints(&[0, 2])),
        ("col", ints(&[1, 0])),
        ("format", npy("|S3", "()", b"coo")),
        ("shape", ints(&[3, 3])),
        ("data", npy("|b1", "(2,)", &[1, 1])),
    ];
    let by_columns = "{'descr': '<u2', 'fortran_order': True, 'shape': (2, 2), }\n";
    let version_2 = {
        let mut bytes = ints(&[1]);
        bytes[6] = 2;
        bytes.splice(10..10, [0, 0]);
        bytes
    };
    vec![
        ("npy", "floats.npy", npy("<f4", "(2, 2)", &[0; 16])),
        ("npy", "halves.npy", npy("<f2", "(2,)", &[0, 0x3c, 0, 0xc0])),
        ("npy", "doubles.npy", npy(">f8", "(1, 2)", &[0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        ("npy", "ints.npy", ints(&[1, -2, 3])),
        ("npy", "columns.npy", written::headed(by_columns, &[1, 0, 2, 0, 3, 0, 4, 0])),
        ("npy", "booleans.npy", npy("|b1", "(3,)", &[1, 0, 1])),
        ("npy", "bytes.npy", npy("|S2", "(2,)", b"abc\0")),
        ("npy", "texts.npy", npy("<U2", "(1,)", b"a\0\0\0\xe9\0\0\0")),
        ("npy", "version2.npy", version_2),
        ("npz", "benchmark.npz", benchmark(&[0, 1, 2], &[1, 0])),
        ("npz", "csc.npz", sparse("csc", &[0, 1, 2, 3], &[0, 1, 2])),
        ("npz", "csr.npz", sparse("csr", &[0, 1, 2, 3], &[0, 1, 2])),
        ("npz", "coo.npz", written::npz(&coo, CompressionMethod::Stored)),
    ]
}

fn matrices() -> Vec<Seed> {
    let net = MatSample::Sparse { shape: [2, 2], rows: &[1, 0], ends: &[0, 1, 2], values: &[1.0, 0.5] };
    let group = MatSample::Full { shape: [2, 2], values: &[0.0, 1.0, 1.0, 0.0] };
    let variables = [("net", net), ("group", group), ("about", MatSample::Text("two nodes"))];
    let integers = b"%%MatrixMarket matrix coordinate integer symmetric\n3 3 2\n2 1 7\n3 3 -1\n";
    vec![
        ("matlab", "net.mat", mat([2, 2], &[1, 0], &[0, 1, 2])),
        ("matlab", "variables.mat", written::matlab::mat(&variables, false, false)),
        ("matlab", "big-endian.mat", written::matlab::mat(&variables, true, false)),
        ("matlab", "compressed.mat", written::matlab::mat(&variables, false, true)),
        ("metis", "plain.graph", b"3 2\n2\n1 3\n2\n".to_vec()),
        ("metis", "sizes.graph", b"2 1 110 2\n7 1 2 2\n7 1 2 1\n".to_vec()),
        ("metis", "weights.graph", b"% x\n3 2 011\n9 2 5\n9 1 5 3 6\n9 2 6\n".to_vec()),
        ("matrix_market", "integer.mtx.gz", gzip(integers)),
        ("matrix_market", "integer.mtx", integers.to_vec()),
        (
            "matrix_market",
            "real.mtx",
            b"%%MatrixMarket matrix coordinate real general\n%\n2 2 2\n1 2 0.5\n2 1 -1e3\n".to_vec(),
        ),
        ("matrix_market", "pattern.mtx", b"%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n".to_vec()),
    ]
}

fn pickles() -> Vec<Seed> {
    let array = |kind: &str, by_columns: bool| build::array(kind, &[1, 2], by_columns, &build::i4(&[3, 4]));
    let arrays = build::dict(&[("edge", array("<i4", false)), ("x", array(">f4", true))]);
    let storage: Vec<u8> = [6u64, 0, 1, 2, 3, 4, 5].iter().flat_map(|number| number.to_le_bytes()).collect();
    let old = [
        b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.".to_vec(),
        build::pickle(build::dict(&[("little_endian", vec![0x88])])),
        TENSOR.to_vec(),
        b"\x80\x02]X\x01\0\0\x000a.".to_vec(),
        storage,
    ];
    vec![
        ("pickle", "arrays.pickle", build::pickle(arrays.clone())),
        (
            "pickle",
            "graph.pickle",
            b"\x80\x02ccollections\ndefaultdict\nq\x00c__builtin__\nlist\nq\x01\x85q\x02Rq\x03(K\x00]q\x04(K\
            \x01K\x02eK\x01]q\x05K\x00au."
                .to_vec(),
        ),
        (
            "pickle",
            "protocol0.pickle",
            b"(dp0\nVa\\u00e9\np1\n(lp2\nI-2\naL1099511627776L\naF3.5\naI01\naNag1\nasS'b\\x00'\n(I1\nI2\nI3\nI4\nts."
                .to_vec(),
        ),
        ("pickle", "rows.pickle", build::pickle(build::sparse([2, 3], &[0, 1, 2], &[2, 0], &[1.0, 0.5]))),
        ("pickle", "tensor.pickle", TENSOR.to_vec()),
        ("pt", "arrays.pt", pt(&build::pickle(arrays))),
        ("pt", "edge.pt", pt(TENSOR)),
        ("pt", "old-form.pt", old.concat()),
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
