//! Files opened by path, with the path in every error.

use crate::error::{Error, Result};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// No file is read as a whole beyond this many bytes.
pub const MAX_BYTES: u64 = 1 << 30;

/// What can be read at any place.
pub trait ReadSeek: Read + Seek + Send {}

impl<T: Read + Seek + Send> ReadSeek for T {}

/// The whole content of a file of at most [`MAX_BYTES`].
pub fn read_bounded(path: &Path) -> Result<Vec<u8>> {
    if path.is_dir() {
        return Err(Error::file(path, "is a folder; expected a file"));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(Error::io(path))?;
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(Error::io(path))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Error::file(path, format!("is larger than {MAX_BYTES} bytes, the most that is read")));
    }
    Ok(bytes)
}

/// A regular file. A pipe is refused, because opening one waits for its writer.
pub(crate) fn open_regular(path: &Path) -> Result<File> {
    let metadata = path.metadata().map_err(Error::io(path))?;
    if !metadata.is_file() {
        return Err(Error::file(path, "is not a file"));
    }
    File::open(path).map_err(Error::io(path))
}

/// The length of what can be read, from its start, to which it is set.
pub(crate) fn length(source: &mut impl Seek) -> std::io::Result<u64> {
    let length = source.seek(SeekFrom::End(0))?;
    source.seek(SeekFrom::Start(0))?;
    Ok(length)
}
