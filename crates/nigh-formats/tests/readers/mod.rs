//! Every reader of this crate by name, for any bytes: for fuzzing, and for the replay of what fuzzing found.

use nigh_formats::columnar::Columnar;
use nigh_formats::npy::{self, NpyArray, NpzArchive};
use nigh_formats::pickle::{Pickle, numpy};
use nigh_formats::{Error, Result, compressed, graph_xml, matlab, matrix_market, metis, scipy, torch};
use std::io::{Cursor, copy, sink};
use std::path::Path;

/// A reader of any bytes. Its result matters only where it is an error.
pub type Reader = fn(&[u8]) -> Result<()>;

/// The readers by name.
pub const READERS: &[(&str, Reader)] = &[
    ("archive", read_archive),
    ("arrow", read_columnar),
    ("graph_xml", |bytes| graph_xml::read(Path::new("xml"), bytes, Some("weight")).map(drop)),
    ("matlab", |bytes| matlab::read(Path::new("mat"), bytes).map(drop)),
    ("matrix_market", read_matrix_market),
    ("metis", |bytes| metis::read(Path::new("graph"), bytes).map(drop)),
    ("npy", |bytes| npy::read(Path::new("npy"), Cursor::new(bytes)).map(|array| read_entries(&array))),
    ("npz", read_npz),
    ("parquet", read_columnar),
    ("pickle", read_pickle),
    ("pt", |bytes| torch::read(Path::new("pt"), bytes, ["edge"]).map(drop)),
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

/// All columns, one by one, since one that can't be read is no reason not to read the next.
fn read_columnar(bytes: &[u8]) -> Result<()> {
    let open = || Columnar::from_bytes(Path::new("table"), bytes.to_vec());
    let mut read = Ok(());
    for column in 0..open()?.names().len() {
        let rows = open()?.batches(&[column]).and_then(|mut batches| batches.try_for_each(|batch| batch.map(drop)));
        read = read.and(rows);
    }
    read
}

/// All of what is packed.
fn read_archive(bytes: &[u8]) -> Result<()> {
    let name = Path::new("archive");
    let mut content = compressed::from_bytes(name, bytes.to_vec())?;
    copy(&mut content, &mut sink()).map(drop).map_err(Error::io(name))
}

fn read_matrix_market(bytes: &[u8]) -> Result<()> {
    let name = Path::new("matrix");
    let content = compressed::from_bytes(name, bytes.to_vec())?;
    matrix_market::read(name, content).map(drop)
}

/// As a sparse matrix, and every member for itself.
fn read_npz(bytes: &[u8]) -> Result<()> {
    let mut archive = NpzArchive::read(Path::new("npz"), Cursor::new(bytes.to_vec()))?;
    let names: Vec<String> = archive.names().map(str::to_string).collect();
    for name in &names {
        let _ = archive.array(name).map(|array| read_entries(&array));
    }
    match scipy::holds_csr(&archive, "adj_") {
        true => scipy::read_csr(&mut archive, "adj_").map(drop),
        false => scipy::read(&mut archive).map(drop),
    }
}

fn read_pickle(bytes: &[u8]) -> Result<()> {
    let pickle = Pickle::read(bytes).map_err(|problem| Error::file(Path::new("pickle"), problem))?;
    for id in pickle.ids() {
        let _ = (pickle.text(id), pickle.bytes(id), pickle.entry(id, "edge"));
        let _ = (numpy::integers(&pickle, id), numpy::sparse_rows(&pickle, id));
    }
    Ok(())
}

fn read_entries(array: &NpyArray) {
    let _ = (array.floats(), array.integers(), array.texts());
}
