//! Whatever fuzzing starts from or ever found is brought to every door again, whole and damaged. `NIGH_BLESS=1` makes the
//! files anew that fuzzing starts from.

mod made;

use made::{TENSOR, bless, folder, ints, npy, pt, sparse};
use nigh::dataset::doors::{DOORS, read};
use proptest::prelude::*;
use std::path::PathBuf;
use std::time::Instant;

/// Door, name and content of what fuzzing starts from; all in order.
fn seeds() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let table = |file: &str| std::fs::read(folder("tests/fixtures/tables").join(file)).unwrap();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut gz, b"0,1\n1,2\n").unwrap();
    vec![
        ("arrow", "pyarrow.arrow", table("pyarrow-dictionary.arrow")),
        ("arrow", "polars.arrow", table("polars.arrow")),
        ("arrow", "pyarrow.arrows", table("pyarrow-stream.arrows")),
        ("csv", "features.csv", b"id,x,y\na,0.5,1\nb,-1e3,2\n1,0,0\n".to_vec()),
        ("csv", "labels.txt", b"# two\na x\nb \"y\"\n".to_vec()),
        ("csv", "weights.csv", b"source,target,weight\n\"a, b\",c,0.5\nc,d,2\n".to_vec()),
        ("gz", "edges.csv.gz", gz.finish().unwrap()),
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

fn corpus() -> PathBuf {
    folder("../../fuzz/corpus")
}

/// The door of a file by its place or its name, and its content.
fn stored() -> Vec<(String, String, Vec<u8>)> {
    let mut found = Vec::new();
    for &(door, _) in DOORS {
        for file in std::fs::read_dir(corpus().join(door)).into_iter().flatten() {
            found.push((door.to_string(), file.unwrap().path()));
        }
    }
    for place in ["tests/hostile", "tests/fixtures/tables"] {
        for file in std::fs::read_dir(folder(place)).unwrap() {
            let path = file.unwrap().path();
            let door = match path.extension().unwrap().to_str().unwrap() {
                "feather" | "arrows" => "arrow",
                "mtx" => "matrix_market",
                ending => ending,
            };
            if DOORS.iter().any(|known| known.0 == door) {
                found.push((door.to_string(), path));
            }
        }
    }
    found.sort();
    found.into_iter().map(|(door, path)| (door, path.display().to_string(), std::fs::read(path).unwrap())).collect()
}

#[test]
fn what_fuzzing_starts_from_is_in_order() {
    for (door, file, bytes) in seeds() {
        let path = corpus().join(door).join(file);
        if bless() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &bytes).unwrap();
        }
        // Those that are compressed may change with the compressor.
        assert!(path.exists(), "{} is missing; NIGH_BLESS=1 makes it", path.display());
        // A lone table is not all that these two ask for.
        if !["csv", "gz"].contains(&door) {
            read(door, &std::fs::read(&path).unwrap()).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
    }
    let sizes = stored().into_iter().filter(|file| file.1.contains("corpus")).map(|file| file.2.len());
    assert!(sizes.sum::<usize>() < 100 << 10, "the corpus stays small");
}

#[test]
fn every_file_can_be_brought_to_every_door() {
    for (_, path, bytes) in stored() {
        for (door, _) in DOORS {
            let start = Instant::now();
            let _ = read(door, &bytes);
            assert!(start.elapsed().as_secs() < 5, "{path} at {door} takes long");
        }
    }
}

/// A small accident.
#[derive(Debug, Clone)]
enum Accident {
    Flip(usize, u8),
    Cut(usize, usize),
    Insert(usize, Vec<u8>),
    Repeat(usize, usize),
    /// A number at the edge of its type.
    Number(usize, Vec<u8>),
}

fn accidents() -> impl Strategy<Value = Accident> {
    let extremes = [0, 1, 0x7f, 0x80, 0xff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 1 << 60, u64::MAX >> 1, u64::MAX];
    let number = (prop::sample::select(extremes.to_vec()), prop::sample::select(vec![1, 2, 4, 8]));
    let at = any::<usize>;
    prop_oneof![
        (at(), any::<u8>()).prop_map(|(at, byte)| Accident::Flip(at, byte)),
        (at(), 1..40usize).prop_map(|(at, length)| Accident::Cut(at, length)),
        (at(), prop::collection::vec(any::<u8>(), 1..10)).prop_map(|(at, bytes)| Accident::Insert(at, bytes)),
        (at(), 1..40usize).prop_map(|(at, length)| Accident::Repeat(at, length)),
        (at(), number).prop_map(|(at, (value, size))| Accident::Number(at, value.to_le_bytes()[..size].to_vec())),
    ]
}

impl Accident {
    fn happen(&self, bytes: &mut Vec<u8>) {
        let length = bytes.len();
        let place = |at: &usize| at % (length + 1);
        match self {
            Accident::Flip(at, byte) if length > 0 => bytes[at % length] ^= byte,
            Accident::Flip(..) => {}
            Accident::Cut(at, count) => drop(bytes.drain(place(at)..(place(at) + count).min(length))),
            Accident::Insert(at, more) => drop(bytes.splice(place(at)..place(at), more.iter().copied())),
            Accident::Repeat(at, count) => {
                let part = bytes[place(at)..(place(at) + count).min(length)].to_vec();
                bytes.splice(place(at)..place(at), part);
            }
            Accident::Number(at, number) => {
                let end = (place(at) + number.len()).min(length);
                bytes.splice(place(at)..end, number.iter().copied());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, max_shrink_iters: 1000, ..Default::default() })]

    #[test]
    fn no_accident_makes_a_door_panic(
        file in prop::sample::select(stored()), accidents in prop::collection::vec(accidents(), 1..6),
    ) {
        let (door, path, mut bytes) = file;
        accidents.iter().for_each(|accident| accident.happen(&mut bytes));
        let start = Instant::now();
        let _ = read(&door, &bytes);
        prop_assert!(start.elapsed().as_secs() < 5, "{} takes long", path);
    }
}
