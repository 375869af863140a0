//! Small files, right or wrong, for the tests of readers.

#![allow(clippy::missing_panics_doc)]

pub mod matlab;
pub mod pickle;

use std::io::{Cursor, Write};
use zip::CompressionMethod;
use zip::write::SimpleFileOptions;

/// A version 1 array with this header.
pub fn headed(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

/// An array in C order; `shape` as Python writes it.
pub fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    headed(&format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n"), data)
}

/// A vector of 32-bit integers.
pub fn ints(values: &[i32]) -> Vec<u8> {
    npy("<i4", &format!("({},)", values.len()), &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())
}

/// An archive of `(name, content)`.
pub fn npz(members: &[(&str, Vec<u8>)], method: CompressionMethod) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in members {
        let options = SimpleFileOptions::default().compression_method(method);
        zip.start_file(format!("{name}.npy"), options).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// The same bytes after some small accidents.
pub fn damaged(mut bytes: Vec<u8>, changes: &[(usize, u8)], cut: usize) -> Vec<u8> {
    for &(at, byte) in changes {
        let length = bytes.len();
        bytes[at % length] = byte;
    }
    bytes.truncate(bytes.len().saturating_sub(cut));
    bytes
}

/// Content compressed by gzip.
pub fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// A zip of `(name, content)`; a name with a slash at its end is a folder.
pub fn zipped(members: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in members {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        match name.strip_suffix('/') {
            Some(folder) => zip.add_directory(folder, options).unwrap(),
            None => zip.start_file(*name, options).and_then(|()| Ok(zip.write_all(content.as_bytes())?)).unwrap(),
        }
    }
    zip.finish().unwrap().into_inner()
}

/// A tar of `(name, content)`; a name with a slash at its end is a folder.
pub fn tar(members: &[(&str, &str)]) -> Vec<u8> {
    let mut tar = Vec::new();
    for (name, content) in members {
        let mut header = [0; 512];
        let mut put = |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
        put(0, name);
        put(124, &format!("{:011o}", content.len()));
        put(148, &" ".repeat(8));
        put(156, if name.ends_with('/') { "5" } else { "0" });
        put(257, "ustar\x0000");
        let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        tar.extend(header);
        tar.extend(content.as_bytes());
        tar.resize(tar.len().next_multiple_of(512), 0);
    }
    tar.resize(tar.len() + 1024, 0);
    tar
}
