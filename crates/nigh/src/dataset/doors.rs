//! Every door through which a file comes in, by name: for fuzzing, and for the replay of what that found.

use super::pickle::{self, Pickle};
use super::{Dataset, Input, matrix_market, node_link, npy, ogb, scipy, torch};
use crate::error::{Error, Result};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A reader of whatever bytes there are. What it returns is of no use; that it returns is.
type Door = fn(&[u8]) -> Result<()>;

/// The doors by name.
pub const DOORS: &[(&str, Door)] = &[
    ("arrow", columnar),
    ("csv", csv),
    ("gz", gz),
    ("json", |bytes| with_file(bytes, |path| node_link::read(path, None).map(drop))),
    ("matrix_market", |bytes| with_file(bytes, |path| matrix_market::read(path).map(drop))),
    ("npy", |bytes| with_file(bytes, |path| npy::read(path).map(|array| array.ask_everything()))),
    ("npz", npz),
    ("parquet", columnar),
    ("pickle", pickle),
    ("pt", |bytes| with_file(bytes, |path| torch::read(path, ["edge"]).map(drop))),
];

/// Brings bytes to a door.
///
/// # Panics
///
/// If there is no such door, or if the reader behind it has a bug.
pub fn read(door: &str, bytes: &[u8]) -> Result<()> {
    let known = DOORS.iter().find(|known| known.0 == door);
    known.unwrap_or_else(|| panic!("no door is called {door}")).1(bytes)
}

/// All columns, one by one, since one that can't be read is no reason not to read the next.
fn columnar(bytes: &[u8]) -> Result<()> {
    use super::columnar::Columnar;
    let open = || Columnar::from_bytes(Path::new("table"), bytes.to_vec());
    let mut read = Ok(());
    for column in 0..open()?.names().len() {
        let rows = open()?.batches(&[column]).and_then(|mut batches| batches.try_for_each(|batch| batch.map(drop)));
        read = read.and(rows);
    }
    read
}

/// As edges; then as nodes, features and labels of a graph that is in order.
fn csv(bytes: &[u8]) -> Result<()> {
    let edges = with_file(bytes, |path| Dataset::from_files(path, &Input::default()).map(drop));
    let nodes = with_file(b"a b\nb 1\n", |graph| {
        with_file(bytes, |path| {
            let read = |input: Input| Dataset::from_files(graph, &input).map(drop);
            let labels = read(Input { labels: Some(path.to_path_buf()), ..Input::default() });
            let nodes = read(Input { nodes: Some(path.to_path_buf()), ..Input::default() });
            read(Input { features: Some(path.to_path_buf()), ..Input::default() }).and(labels).and(nodes)
        })
    });
    edges.and(nodes)
}

/// As the edges of a dataset of OGB.
fn gz(bytes: &[u8]) -> Result<()> {
    let mut number = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let number = number.write_all(b"1000000000\n").and_then(|()| number.finish()).expect("memory can be written");
    with_file(b"", |path| {
        let folder = path.parent().expect("a folder of its own");
        let files = [
            ("raw/num-edge-list.csv.gz", &number[..]),
            ("raw/num-node-list.csv.gz", &number),
            ("raw/edge.csv.gz", bytes),
            ("split/target/valid.pt", b""),
            ("split/target/test.pt", b""),
        ];
        for (name, content) in files {
            let file = folder.join(name);
            let parent = file.parent().expect("within the folder");
            let written = std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&file, content));
            written.map_err(Error::io(&file))?;
        }
        ogb::read(folder, "ogbl").map(drop)
    })
}

/// As a sparse matrix, and every member for itself.
fn npz(bytes: &[u8]) -> Result<()> {
    with_file(bytes, |path| {
        let mut archive = npy::Archive::open(path)?;
        let names: Vec<String> = archive.names().map(str::to_string).collect();
        for name in &names {
            let _ = archive.array(name).map(|array| array.ask_everything());
        }
        scipy::read(path).map(drop)
    })
}

fn pickle(bytes: &[u8]) -> Result<()> {
    let pickle = Pickle::read(bytes).map_err(|problem| Error::file(Path::new("pickle"), problem))?;
    for id in pickle.ids() {
        let _ = (pickle.text(id), pickle.bytes(id), pickle.entry(id, "edge"));
        let _ = (pickle::numpy::integers(&pickle, id), pickle::numpy::sparse_rows(&pickle, id));
    }
    Ok(())
}

impl npy::Array {
    fn ask_everything(&self) {
        let _ = (self.floats(), self.integers(), self.texts());
    }
}

/// For readers that want a file: in a folder of its own, gone afterwards.
fn with_file<T>(bytes: &[u8], read: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let unique = format!("nigh-door-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let folder = std::env::temp_dir().join(unique);
    let path = folder.join("file");
    std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, bytes)).map_err(Error::io(&path))?;
    let result = read(&path);
    std::fs::remove_dir_all(&folder).map_err(Error::io(&folder))?;
    result
}
