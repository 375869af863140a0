//! The format of a file, recognised by its first bytes.

use crate::compressed;
use crate::error::{Error, Result};
use std::io::Read;
use std::path::Path;

/// The formats in which users keep tables, arrays and graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Lines of columns.
    Text,
    /// Parquet or Arrow.
    Columnar,
    /// A sparse matrix as text.
    MatrixMarket,
    /// An array of NumPy.
    Npy,
    /// A zip of arrays.
    Npz,
    /// JSON, for instance the node-link form of networkx.
    Json,
}

impl Format {
    /// The format of a file, which may be compressed.
    pub fn of(path: &Path) -> Result<Format> {
        // What is no regular file can be read only once; it is taken for text.
        if path.metadata().is_ok_and(|about| !about.is_file() && !about.is_dir()) {
            return Ok(Format::Text);
        }
        let mut start = Vec::new();
        compressed::open(path)?.take(64).read_to_end(&mut start).map_err(Error::io(path))?;
        Ok(Format::of_start(&start))
    }

    /// The format of content that starts with these bytes; 64 are enough.
    pub fn of_start(start: &[u8]) -> Format {
        match start {
            [b'P', b'A', b'R', b'1' | b'E', ..] | [b'A', b'R', b'R', b'O', b'W', b'1', ..] => Format::Columnar,
            // A stream of Arrow, and the first version of Feather.
            [0xff, 0xff, 0xff, 0xff, ..] | [b'F', b'E', b'A', b'1', ..] => Format::Columnar,
            [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Format::Npy,
            [b'P', b'K', 3 | 5, 4 | 6, ..] => Format::Npz,
            start if start.to_ascii_lowercase().starts_with(b"%%matrixmarket") => Format::MatrixMarket,
            start if start.trim_ascii_start().starts_with(b"{") => Format::Json,
            _ => Format::Text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_tell() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        for (start, format) in [
            (&b"PAR1\x15\x04"[..], Format::Columnar),
            (b"ARROW1\0\0", Format::Columnar),
            (b"\xff\xff\xff\xff\x10\0", Format::Columnar),
            (b"\x93NUMPY\x01\0", Format::Npy),
            (b"PK\x03\x04", Format::Npz),
            (b"%%MatrixMarket matrix", Format::MatrixMarket),
            (b" \n{\"nodes\"", Format::Json),
            (b"a,b\n", Format::Text),
            (b"PA,b\n", Format::Text),
            (b"", Format::Text),
        ] {
            std::fs::write(&path, start).unwrap();
            assert_eq!((Format::of(&path).unwrap(), Format::of_start(start)), (format, format), "{start:?}");
        }
    }
}
