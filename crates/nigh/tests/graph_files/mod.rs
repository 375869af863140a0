//! Every reader of graphs by name, for any bytes: for fuzzing, and for the replay of what fuzzing found.

use nigh::dataset::{InputFiles, NamedDataset};
use nigh::formats::sections::SectionWriter;
use nigh::{Dataset, Result};
use std::cell::RefCell;
use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;
use tempfile::TempDir;

/// A reader of any bytes. Its result matters only where it is an error.
pub type Reader = fn(&[u8]) -> Result<()>;

/// The readers by name.
pub const READERS: &[(&str, Reader)] = &[
    ("csv", read_tables),
    ("gz", read_ogb),
    ("json", read_edges),
    ("json_rows", read_node_tables),
    ("store", read_edges),
];

/// Hands bytes to a reader.
///
/// # Panics
///
/// If there is no such reader, or if it has a bug.
pub fn read(reader: &str, bytes: &[u8]) -> Result<()> {
    let known = READERS.iter().find(|known| known.0 == reader);
    known.unwrap_or_else(|| panic!("no reader is called {reader}")).1(bytes)
}

/// As edges, in whatever format they are.
fn read_edges(bytes: &[u8]) -> Result<()> {
    Dataset::from_files(&written("edges", bytes), &InputFiles::default()).map(drop)
}

/// As edges; then as nodes, features and labels of a graph that is in order.
fn read_tables(bytes: &[u8]) -> Result<()> {
    read_edges(bytes).and(read_node_tables(bytes))
}

/// As nodes, features and labels of a graph that is in order.
fn read_node_tables(bytes: &[u8]) -> Result<()> {
    let [labels, nodes, features] = node_tables(bytes);
    features.and(labels).and(nodes)
}

/// As labels, as nodes and as features of a graph that is in order.
pub fn node_tables(bytes: &[u8]) -> [Result<()>; 3] {
    let (graph, path) = (written("graph", b"a b\nb 1\n"), written("table", bytes));
    let [mut labels, mut nodes, mut features] = [(); 3].map(|()| InputFiles::default());
    (labels.labels, nodes.nodes, features.features) = (Some(path.clone()), Some(path.clone()), Some(path));
    [labels, nodes, features].map(|input| Dataset::from_files(&graph, &input).map(drop))
}

/// As the edges of a dataset of OGB. A text is compressed first, since a fuzzer can hardly change what is behind a checksum.
fn read_ogb(bytes: &[u8]) -> Result<()> {
    let number = gzip(b"1000000000\n");
    let packed = if std::str::from_utf8(bytes).is_ok() { gzip(bytes) } else { bytes.to_vec() };
    let files = [
        ("ogb/raw/num-edge-list.csv.gz", &number[..]),
        ("ogb/raw/num-node-list.csv.gz", &number),
        ("ogb/split/target/valid.pt", b""),
        ("ogb/split/target/test.pt", b""),
    ];
    for (name, content) in files {
        written(name, content);
    }
    let edges = written("ogb/raw/edge.csv.gz", &packed);
    let folder = edges.ancestors().nth(2).expect("written above");
    NamedDataset::named("ogbl-ddi").expect("a public dataset").read_from(folder).map(drop)
}

/// A table of edges as a graph file.
#[allow(dead_code)]
pub fn stored(table: &[u8]) -> Vec<u8> {
    let path = written("edges", table);
    let out = path.with_extension("nigh");
    let stored = Dataset::from_files(&path, &InputFiles::default()).and_then(|dataset| dataset.store(&out));
    stored.expect("a table of edges");
    std::fs::read(out).expect("a file that was written")
}

/// A graph file with these sections, whatever they say: every checksum is right.
#[allow(dead_code)]
pub fn sections(offsets: &[u64], neighbours: &[u32]) -> Vec<u8> {
    let path = written("sections", b"").with_extension("nigh");
    let write = || -> nigh::formats::Result<()> {
        let mut writer = SectionWriter::create(&path)?;
        writer.section("neighbours")?;
        writer.write(neighbours)?;
        writer.section("offsets")?;
        writer.write(offsets)?;
        writer.finish()
    };
    write().expect("a writable folder");
    std::fs::read(path).expect("a file that was written")
}

/// Compressed.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory can be written")
}

/// A file of this name and content, in a folder that the calls of a thread share: a fuzzer makes millions of them.
fn written(name: &str, content: &[u8]) -> PathBuf {
    thread_local! {
        static FOLDER: TempDir = tempfile::tempdir().expect("a temporary folder");
        static WRITTEN: RefCell<HashMap<String, Vec<u8>>> = RefCell::default();
    }
    let path = FOLDER.with(|folder| folder.path().join(name));
    WRITTEN.with_borrow_mut(|written| {
        if written.get(name).is_none_or(|before| before != content) {
            let parent = path.parent().expect("within the folder");
            std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&path, content)).expect("a writable folder");
            written.insert(name.to_string(), content.to_vec());
        }
    });
    path
}
