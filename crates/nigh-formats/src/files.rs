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

/// A regular file. A pipe is refused, because opening one waits for its writer, and a device, because it may have no end.
pub fn open_regular(path: &Path) -> Result<File> {
    let metadata = path.metadata().map_err(Error::io(path))?;
    if !metadata.is_file() {
        let what = if metadata.is_dir() { "a folder" } else { "a pipe, a device or a socket" };
        return Err(Error::file(path, format!("is {what}; expected a regular file")));
    }
    File::open(path).map_err(Error::io(path))
}

/// The whole content of a regular file of at most `most` bytes.
pub fn read_regular(path: &Path, most: u64) -> Result<Vec<u8>> {
    let file = open_regular(path)?;
    let mut length = file.metadata().map_err(Error::io(path))?.len();
    let mut bytes = Vec::new();
    if length <= most {
        // It may grow meanwhile.
        length = file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(Error::io(path))? as u64;
    }
    if length > most {
        return Err(Error::file(path, format!("is {length} bytes long, expected at most {most}")));
    }
    Ok(bytes)
}

/// The length of what can be read, from its start, to which it is set.
pub(crate) fn length(source: &mut impl Seek) -> std::io::Result<u64> {
    let length = source.seek(SeekFrom::End(0))?;
    source.seek(SeekFrom::Start(0))?;
    Ok(length)
}
