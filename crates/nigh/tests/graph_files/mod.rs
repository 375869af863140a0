//! Every reader of graphs by name, for any bytes: for fuzzing, and for the replay of what fuzzing found.

use nigh::dataset::{InputFiles, NamedDataset};
use nigh::{Dataset, Result};
use std::io::Write;
use std::path::Path;

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
    with_file(bytes, |path| Dataset::from_files(path, &InputFiles::default()).map(drop))
}

/// As edges; then as nodes, features and labels of a graph that is in order.
fn read_tables(bytes: &[u8]) -> Result<()> {
    read_edges(bytes).and(read_node_tables(bytes))
}

/// As nodes, features and labels of a graph that is in order.
fn read_node_tables(bytes: &[u8]) -> Result<()> {
    with_file(b"a b\nb 1\n", |graph| {
        with_file(bytes, |path| {
            let read = |input: InputFiles| Dataset::from_files(graph, &input).map(drop);
            let labels = read(InputFiles { labels: Some(path.to_path_buf()), ..InputFiles::default() });
            let nodes = read(InputFiles { nodes: Some(path.to_path_buf()), ..InputFiles::default() });
            read(InputFiles { features: Some(path.to_path_buf()), ..InputFiles::default() }).and(labels).and(nodes)
        })
    })
}

/// As the edges of a dataset of OGB.
fn read_ogb(bytes: &[u8]) -> Result<()> {
    let mut number = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let number = number.write_all(b"1000000000\n").and_then(|()| number.finish()).expect("memory can be written");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let files = [
        ("raw/num-edge-list.csv.gz", &number[..]),
        ("raw/num-node-list.csv.gz", &number),
        ("raw/edge.csv.gz", bytes),
        ("split/target/valid.pt", b""),
        ("split/target/test.pt", b""),
    ];
    for (name, content) in files {
        let file = folder.path().join(name);
        let parent = file.parent().expect("within the folder");
        std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&file, content)).expect("a writable folder");
    }
    NamedDataset::named("ogbl-ddi").expect("a public dataset").read_from(folder.path()).map(drop)
}

/// A table of edges as a graph file.
#[allow(dead_code)]
pub fn stored(table: &[u8]) -> Vec<u8> {
    let stored = with_file(table, |path| {
        let out = path.with_extension("nigh");
        Dataset::from_files(path, &InputFiles::default())?.store(&out)?;
        Ok(std::fs::read(out).expect("a file that was written"))
    });
    stored.expect("a table of edges")
}

fn with_file<T>(bytes: &[u8], read: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("file");
    std::fs::write(&path, bytes).expect("a writable folder");
    read(&path)
}
