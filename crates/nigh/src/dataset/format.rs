//! What kind of file it is, told by its first bytes.

use super::compressed;
use crate::error::{Error, Result};
use std::io::Read;
use std::path::Path;

/// The kinds of files that users come with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Lines of columns.
    Text,
    /// Parquet or Arrow.
    Columnar,
    MatrixMarket,
    Npy,
    /// A zip of arrays.
    Npz,
    /// The node-link form of networkx.
    Json,
}

impl Format {
    pub fn of(path: &Path) -> Result<Format> {
        // What is no file can be read only once; it is taken for text.
        if path.metadata().is_ok_and(|about| !about.is_file() && !about.is_dir()) {
            return Ok(Format::Text);
        }
        let mut start = Vec::new();
        compressed::open(path)?.take(64).read_to_end(&mut start).map_err(Error::io(path))?;
        Ok(match &start[..] {
            [b'P', b'A', b'R', b'1' | b'E', ..] | [b'A', b'R', b'R', b'O', b'W', b'1', ..] => Format::Columnar,
            // A stream of Arrow, and the first version of Feather.
            [0xff, 0xff, 0xff, 0xff, ..] | [b'F', b'E', b'A', b'1', ..] => Format::Columnar,
            [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Format::Npy,
            [b'P', b'K', 3 | 5, 4 | 6, ..] => Format::Npz,
            start if start.to_ascii_lowercase().starts_with(b"%%matrixmarket") => Format::MatrixMarket,
            start if start.trim_ascii_start().starts_with(b"{") => Format::Json,
            _ => Format::Text,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;

    #[test]
    fn the_first_bytes_tell() {
        let folder = TempDir::new();
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
            assert_eq!(Format::of(&path).unwrap(), format, "{start:?}");
        }
    }
}
