//! Files made byte by byte, right or wrong.

use std::io::{Cursor, Write};

/// Whether files are to be made anew instead of read.
pub fn bless() -> bool {
    std::env::var_os("NIGH_BLESS").is_some()
}

/// A folder beside the sources.
pub fn folder(name: &str) -> std::path::PathBuf {
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

/// `{"edge": tensor}` as torch saves it, the tensor being 3 × 2 in a storage of six entries.
pub const TENSOR: &[u8] = b"\x80\x02}q\x00X\x04\x00\x00\x00edgeq\x01ctorch._utils\n_rebuild_tensor_v2\nq\x02((X\x07\x00\x00\
    \x00storageq\x03ctorch\nLongStorage\nq\x04X\x01\x00\x00\x000q\x05X\x03\x00\x00\x00cpuq\x06K\x06tq\x07QK\x00K\x03K\x02\
    \x86q\x08K\x02K\x01\x86q\x09\x89ccollections\nOrderedDict\nq\n)Rq\x0btq\x0cRq\x0ds.";

/// What torch saves: a pickle, and a storage beside it.
pub fn pt(pickle: &[u8]) -> Vec<u8> {
    let storage: Vec<u8> = (0..6i64).flat_map(|value| value.to_le_bytes()).collect();
    zipped(&[("edge/data.pkl", pickle), ("edge/data/0", &storage)])
}
