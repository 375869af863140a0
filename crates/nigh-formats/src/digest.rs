//! Checksums.

use crate::error::{Error, Result};
use crate::files;
use sha2::{Digest, Sha256};
use std::io::Read;
use std::path::Path;
use xxhash_rust::xxh3::Xxh3;

/// The sha256 of `bytes`, in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The XXH3 of a file (128 bits), in hexadecimal: tells contents apart as fast as they are read, but not against someone who wants two
/// of them to look the same.
pub fn xxh3_of_file(path: &Path) -> Result<String> {
    let mut file = files::open_regular(path)?;
    let (mut hash, mut block) = (Xxh3::new(), vec![0; 1 << 18]);
    loop {
        match file.read(&mut block).map_err(Error::io(path))? {
            0 => return Ok(format!("{:032x}", hash.digest128())),
            count => hash.update(&block[..count]),
        }
    }
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
