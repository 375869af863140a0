//! Files opened by path, with the path in every error.

use crate::error::{Error, Result};
use std::fs::{File, Metadata};
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// No file is read as a whole beyond this many bytes.
pub const MAX_BYTES: u64 = 1 << 30;

/// The path that stands for standard input, wherever a file is opened to be read.
pub const STDIN: &str = "-";

/// What can be read at any place.
pub trait ReadSeek: Read + Seek + Send {}

impl<T: Read + Seek + Send> ReadSeek for T {}

/// The whole content of a regular file, a pipe or standard input, of at most [`MAX_BYTES`].
pub fn read_bounded(path: &Path) -> Result<Vec<u8>> {
    match (is_stdin(path), is_stream(path)) {
        (true, _) => Ok(stdin(path)?.to_vec()),
        (_, true) => bounded(path, open_pipe(path)?),
        _ => read_regular(path, MAX_BYTES),
    }
}

/// The whole content of a text, such as settings: as `read_bounded`.
pub fn read_text(path: &Path) -> Result<String> {
    String::from_utf8(read_bounded(path)?).map_err(|_| Error::file(path, "is not UTF-8 text"))
}

/// The whole content of a source that says nothing of its length.
pub(crate) fn bounded(path: &Path, source: impl Read) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(Error::io(path))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Error::file(
            path,
            format!("is larger than {MAX_BYTES} bytes, the most that is read at once; name a file"),
        ));
    }
    Ok(bytes)
}

/// Whether this is standard input, and not a file.
pub fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == STDIN
}

/// Whether a file can be read only once, from its start: a pipe. Standard input is kept in memory.
pub(crate) fn is_stream(path: &Path) -> bool {
    !is_stdin(path) && path.metadata().is_ok_and(|about| kind(&about) == "a pipe")
}

/// A pipe, which `is_stream` has found. This waits for its writer.
pub(crate) fn open_pipe(path: &Path) -> Result<File> {
    File::open(path).map_err(Error::io(path))
}

/// What a path leads to.
fn kind(about: &Metadata) -> &'static str {
    let found = about.file_type();
    if found.is_file() {
        return "a file";
    }
    if found.is_dir() {
        return "a folder";
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if found.is_fifo() {
            return "a pipe";
        }
        if found.is_socket() {
            return "a socket";
        }
    }
    "a device"
}

/// A regular file, or standard input.
pub(crate) fn open_input(path: &Path) -> Result<Box<dyn ReadSeek>> {
    Ok(match is_stdin(path) {
        true => Box::new(Cursor::new(stdin(path)?)),
        false => Box::new(open_regular(path)?),
    })
}

/// A regular file. A pipe is refused, because opening one waits for its writer, and a device, because it may have no end.
pub fn open_regular(path: &Path) -> Result<File> {
    let metadata = path.metadata().map_err(Error::io(path))?;
    if !metadata.is_file() {
        return Err(Error::file(path, format!("is {}; expected a regular file", kind(&metadata))));
    }
    File::open(path).map_err(Error::io(path))
}

/// What came from standard input. It is read at the first use and kept, since a format is recognised before it is read.
fn stdin(path: &Path) -> Result<Arc<[u8]>> {
    static CONTENT: Mutex<Option<Arc<[u8]>>> = Mutex::new(None);
    let mut content = CONTENT.lock().unwrap_or_else(PoisonError::into_inner);
    if content.is_none() {
        *content = Some(bounded(path, io::stdin().lock())?.into());
    }
    Ok(content.clone().unwrap_or_default())
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::{Format, columnar, compressed, gzip_lines, npy, text_table, torch};
    use std::io::Write;

    #[test]
    fn devices_sockets_and_folders_are_refused_by_every_reader() {
        let folder = tempfile::tempdir().unwrap();
        let (socket, link) = (folder.path().join("socket"), folder.path().join("link"));
        let _bound = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        let readers: [fn(&Path) -> Result<()>; 10] = [
            |path| open_regular(path).map(drop),
            |path| open_input(path).map(drop),
            |path| read_bounded(path).map(drop),
            |path| read_text(path).map(drop),
            |path| read_regular(path, 10).map(drop),
            |path| compressed::open(path).map(drop),
            |path| Format::of(path).map(drop),
            |path| text_table::TextTable::open(path).map(drop),
            |path| columnar::Columnar::open(path).map(drop).and(npy::open(path).map(drop)),
            |path| gzip_lines::GzipLines::open(path).map(drop).and(torch::open(path, ["a"]).map(drop)),
        ];
        for (path, what) in [
            (Path::new("/dev/zero"), "a device"),
            (&link, "a device"),
            (Path::new("/dev/null"), "a device"),
            (&socket, "a socket"),
            (folder.path(), "a folder"),
        ] {
            for (number, reader) in readers.iter().enumerate() {
                let error = reader(path).unwrap_err().to_string();
                assert!(error.ends_with(&format!("is {what}; expected a regular file")), "{number}: {error}");
            }
        }
    }

    #[test]
    fn a_pipe_is_read_to_its_end() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"epochs = 3").unwrap();
        drop(writer);
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader));
        assert_eq!(read_text(Path::new(&path)).unwrap(), "epochs = 3");
    }
}
