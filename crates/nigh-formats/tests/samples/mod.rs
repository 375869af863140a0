//! Files made byte by byte, right or wrong.

#![allow(dead_code, reason = "each test uses some of it")]

use std::error::Error;
use std::io::{Cursor, Write};
use std::path::PathBuf;
use std::time::Instant;

/// Whether stored files are to be written instead of read.
pub fn bless() -> bool {
    std::env::var_os("NIGH_BLESS").is_some()
}

/// A folder of the crate that is tested.
pub fn folder(name: &str) -> PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// An array in C order; `shape` as Python writes it.
pub fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), data].concat()
}

/// A vector of 32-bit integers.
pub fn ints(values: &[i32]) -> Vec<u8> {
    let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    npy("<i4", &format!("({},)", values.len()), &data)
}

/// An archive of `(name, content)`, deflated.
pub fn zipped(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in members {
        let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
        zip.start_file(*name, options).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// A matrix as SciPy saves it.
pub fn sparse(format: &str, indptr: &[i32], indices: &[i32]) -> Vec<u8> {
    let data = npy(
        "<f8",
        &format!("({},)", indices.len()),
        &vec![1f64; indices.len()].iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>(),
    );
    zipped(&[
        ("indices.npy", &ints(indices)),
        ("indptr.npy", &ints(indptr)),
        ("format.npy", &npy("|S3", "()", format.as_bytes())),
        ("shape.npy", &ints(&[3, 3])),
        ("data.npy", &data),
    ])
}

/// The graph of a benchmark, whose matrix has its arrays under names of its own.
pub fn benchmark(indptr: &[i32], indices: &[i32]) -> Vec<u8> {
    zipped(&[
        ("adj_data.npy", &npy("<f4", "(2,)", &[0, 0, 0x80, 0x3f, 0, 0, 0x80, 0x3f])),
        ("adj_indices.npy", &ints(indices)),
        ("adj_indptr.npy", &ints(indptr)),
        ("adj_shape.npy", &ints(&[2, 2])),
        ("labels.npy", &ints(&[0, 1])),
        ("metadata.npy", &npy("|O", "()", b"cos\nsystem\n.")),
    ])
}

/// One member of a tar, with this size and type in its header.
pub fn tar(name: &str, size: &str, kind: u8, content: &[u8]) -> Vec<u8> {
    let mut header = vec![0; 512];
    let mut put = |at: usize, text: &[u8]| header[at..at + text.len()].copy_from_slice(text);
    put(0, name.as_bytes());
    put(124, size.as_bytes());
    put(148, b"        ");
    put(156, &[kind]);
    put(257, b"ustar\x0000");
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header.extend(content);
    header.resize(header.len().next_multiple_of(512), 0);
    header
}

/// One sparse variable `net` of Matlab, 2 × 2 unless its words say otherwise: rows of entries and bounds of columns.
pub fn mat(shape: [u32; 2], rows: &[u32], ends: &[u32]) -> Vec<u8> {
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let element = |kind: u32, content: &[u8]| {
        let padding = content.len().next_multiple_of(8) - content.len();
        [&words(&[kind, content.len() as u32])[..], content, &[0; 8][..padding]].concat()
    };
    let values: Vec<u8> = rows.iter().flat_map(|_| 1f64.to_le_bytes()).collect();
    let parts = [
        (6, words(&[5, 0])),
        (5, words(&shape)),
        (1, b"net".to_vec()),
        (5, words(rows)),
        (5, words(ends)),
        (9, values),
    ];
    let variable = element(14, &parts.map(|(kind, content)| element(kind, &content)).concat());
    let mut bytes = b"MATLAB 5.0 MAT-file".to_vec();
    bytes.resize(124, b' ');
    [bytes, b"\0\x01IM".to_vec(), variable].concat()
}

/// `{"edge": tensor}` as torch saves it, the tensor being 3 × 2 in a storage of six entries.
pub const TENSOR: &[u8] = b"\x80\x02}q\x00X\x04\x00\x00\x00edgeq\x01ctorch._utils\n_rebuild_tensor_v2\nq\x02((X\x07\x00\x00\
    \x00storageq\x03ctorch\nLongStorage\nq\x04X\x01\x00\x00\x000q\x05X\x03\x00\x00\x00cpuq\x06K\x06tq\x07QK\x00K\x03K\x02\
    \x86q\x08K\x02K\x01\x86q\x09\x89ccollections\nOrderedDict\nq\n)Rq\x0btq\x0cRq\x0ds.";

/// What torch saves: a pickle, and a storage beside it.
pub fn pt(pickle: &[u8]) -> Vec<u8> {
    let storage: Vec<u8> = (0..6i64).flat_map(|value| value.to_le_bytes()).collect();
    zipped(&[("edge/data.pkl", pickle), ("edge/data/0", &storage)])
}

/// A stored file, its reader, a part of the message that it is refused with, and how it was made.
pub type Hostile = (&'static str, &'static str, &'static str, fn() -> Vec<u8>);

/// Checks that every file of `tests/hostile` is listed, small, and refused quickly with its message.
pub fn check_hostile<E: Error>(listed: &[Hostile], read: impl Fn(&str, &[u8]) -> Result<(), E>) {
    let hostile = folder("tests/hostile");
    if bless() {
        let _ = std::fs::remove_dir_all(&hostile);
        std::fs::create_dir_all(&hostile).unwrap();
        listed.iter().for_each(|(file, _, _, make)| std::fs::write(hostile.join(file), make()).unwrap());
    }
    let stored = std::fs::read_dir(&hostile).unwrap().map(|entry| entry.unwrap().file_name());
    let mut stored: Vec<String> = stored.map(|name| name.into_string().unwrap()).collect();
    stored.sort();
    let mut names: Vec<&str> = listed.iter().map(|hostile| hostile.0).collect();
    names.sort();
    assert_eq!(stored, names, "every file is in the table");
    let mut wrong = Vec::new();
    for (file, reader, message, _) in listed {
        let bytes = std::fs::read(hostile.join(file)).unwrap();
        assert!(bytes.len() < 16 << 10, "{file} is small");
        let start = Instant::now();
        match read(reader, &bytes) {
            Err(error) if error.to_string().contains(message) => {}
            other => wrong.push(format!("{file}: {other:?}")),
        }
        assert!(start.elapsed().as_secs() < 5, "{file} takes long");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What fuzzing starts from: reader, name and content.
pub type Seed = (&'static str, &'static str, Vec<u8>);

/// What fuzzing found and starts from.
pub fn corpus() -> PathBuf {
    folder("../../fuzz/corpus")
}

/// Writes the seeds if requested and checks that each is stored. Returns their readers and contents as stored.
pub fn check_seeds(seeds: Vec<Seed>) -> Vec<(&'static str, PathBuf, Vec<u8>)> {
    let mut stored = Vec::new();
    for (reader, file, bytes) in seeds {
        let path = corpus().join(reader).join(file);
        if bless() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &bytes).unwrap();
        }
        // Those that are compressed may change with the compressor.
        assert!(path.exists(), "{} is missing; NIGH_BLESS=1 writes it", path.display());
        let bytes = std::fs::read(&path).unwrap();
        stored.push((reader, path, bytes));
    }
    let files =
        std::fs::read_dir(corpus()).unwrap().flat_map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap());
    let sizes = files.map(|file| file.unwrap().metadata().unwrap().len());
    assert!(sizes.sum::<u64>() < 100 << 10, "the corpus stays small");
    stored
}

/// Stored files with the reader of each, by the folder of the corpus or by the end of the name.
pub fn stored(readers: &[&str], places: &[&str]) -> Vec<(String, String, Vec<u8>)> {
    let mut found = Vec::new();
    for &reader in readers {
        for file in std::fs::read_dir(corpus().join(reader)).into_iter().flatten() {
            found.push((reader.to_string(), file.unwrap().path()));
        }
    }
    for place in places {
        for file in std::fs::read_dir(folder(place)).unwrap() {
            let path = file.unwrap().path();
            let reader = match path.extension().unwrap().to_str().unwrap() {
                "feather" | "arrows" => "arrow",
                "mtx" => "matrix_market",
                ending => ending,
            };
            if readers.contains(&reader) {
                found.push((reader.to_string(), path));
            }
        }
    }
    found.sort();
    found.into_iter().map(|(reader, path)| (reader, path.display().to_string(), std::fs::read(path).unwrap())).collect()
}
