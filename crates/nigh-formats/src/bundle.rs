//! Several files in one piece of memory: a zip without compression, the same bytes for the same files.

use crate::error::Parsed;
use std::collections::BTreeMap;
use std::io::{Cursor, Read, Write};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

/// Packs files, in their order.
pub fn pack(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .last_modified_time(DateTime::default())
            .large_file(bytes.len() as u64 >= u32::MAX.into());
        let started = archive.start_file(*name, options);
        started.map_err(std::io::Error::other).and_then(|()| archive.write_all(bytes)).expect("memory can be written");
    }
    archive.finish().expect("memory can be written").into_inner()
}

/// The files that `pack` packed. Nothing is unpacked beyond the bytes that are present.
pub fn unpack(bytes: &[u8]) -> Parsed<BTreeMap<String, Vec<u8>>> {
    let damaged = |error: &dyn std::fmt::Display| format!("is damaged: {error}");
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| damaged(&error))?;
    let mut files = BTreeMap::new();
    for at in 0..archive.len() {
        let file = archive.by_index(at).map_err(|error| damaged(&error))?;
        let name = file.name().map_err(|error| damaged(&error))?.into_owned();
        if file.compression() != CompressionMethod::Stored {
            return Err(format!("is damaged: {name} is compressed"));
        }
        let mut content = Vec::new();
        file.take(bytes.len() as u64).read_to_end(&mut content).map_err(|error| damaged(&error))?;
        if files.insert(name.clone(), content).is_some() {
            return Err(format!("is damaged: it has {name} twice"));
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked_and_damage_is_told() {
        let files = [("b", b"two".to_vec()), ("a", Vec::new()), ("c", vec![7; 100_000])];
        let packed = pack(&files);
        assert_eq!(pack(&files), packed);
        assert_eq!(unpack(&packed).unwrap(), files.map(|(name, bytes)| (name.to_string(), bytes)).into());
        let mut changed = packed.clone();
        let at = changed.windows(3).position(|window| window == b"two").unwrap();
        changed[at] = b'T';
        for wrong in [&b""[..], b"no archive", &packed[..packed.len() - 9], &changed] {
            let problem = unpack(wrong).unwrap_err();
            assert!(problem.starts_with("is damaged: "), "{problem}");
        }
    }
}
