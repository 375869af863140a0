//! The lines of a gzip file, one at a time, for files of a fixed layout whose lines are checked one by one.

use crate::error::{Error, Result};
use crate::files::{self, MAX_BYTES, ReadSeek};
use flate2::read::MultiGzDecoder;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Text may be this many times as large as its compressed form, and a MiB more. Real files stay below 200.
const MAX_RATIO: u64 = 500;

/// No line is longer.
const MAX_LINE: u64 = 1 << 20;

/// The lines of a compressed text. A decompression bomb ends in an error.
pub struct GzipLines {
    path: PathBuf,
    reader: BufReader<BoundedGzip>,
    line: Vec<u8>,
    number: usize,
}

/// One line.
#[derive(Debug)]
pub struct GzipLine<'l> {
    path: &'l Path,
    number: usize,
    /// Its content, without blanks at the end.
    pub text: &'l str,
}

impl GzipLines {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<GzipLines> {
        GzipLines::read(path, files::open_regular(path)?)
    }

    /// From anything whose length is known; `name` stands in messages.
    pub fn read(name: &Path, mut source: impl ReadSeek + 'static) -> Result<GzipLines> {
        let packed = files::length(&mut source).map_err(Error::io(name))?;
        let source: Box<dyn ReadSeek> = Box::new(source);
        let most = packed.saturating_mul(MAX_RATIO).saturating_add(1 << 20).min(MAX_BYTES);
        let text = BoundedGzip { decoder: MultiGzDecoder::new(BufReader::new(source)), packed, most, left: most };
        let reader = BufReader::with_capacity(1 << 16, text);
        Ok(GzipLines { path: name.to_path_buf(), reader, line: Vec::new(), number: 0 })
    }

    /// The next line, if there is one.
    pub fn next_line(&mut self) -> Result<Option<GzipLine<'_>>> {
        self.line.clear();
        self.number += 1;
        let read = self.reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut self.line);
        let count = read.map_err(|error| Error::line(&self.path, self.number, error.to_string()))?;
        if count as u64 == MAX_LINE && self.line.last() != Some(&b'\n') {
            return Err(Error::line(&self.path, self.number, format!("is longer than {MAX_LINE} bytes")));
        }
        let text = std::str::from_utf8(self.line.trim_ascii_end());
        let text = text.map_err(|_| Error::line(&self.path, self.number, "is no text"))?;
        Ok((count > 0).then_some(GzipLine { path: &self.path, number: self.number, text }))
    }
}

impl GzipLine<'_> {
    /// Something wrong with the line.
    pub fn error(&self, problem: impl Into<String>) -> Error {
        Error::line(self.path, self.number, problem)
    }
}

/// Decompresses at most this many bytes.
struct BoundedGzip {
    decoder: MultiGzDecoder<BufReader<Box<dyn ReadSeek>>>,
    packed: u64,
    most: u64,
    left: u64,
}

impl Read for BoundedGzip {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.decoder.read(buffer)?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| {
            let (packed, most) = (self.packed, self.most);
            io::Error::other(format!("{packed} compressed bytes make more than {most}, the most that is read"))
        })?;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Cursor, Write};

    fn lines(content: &[u8]) -> Result<Vec<String>> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(content).unwrap();
        let mut lines = GzipLines::read(Path::new("x.csv.gz"), Cursor::new(encoder.finish().unwrap()))?;
        let mut all = Vec::new();
        while let Some(line) = lines.next_line()? {
            all.push(line.text.to_string());
        }
        Ok(all)
    }

    #[test]
    fn lines_come_without_blanks_at_their_ends() {
        assert_eq!(lines(b"0,1\r\n\n2,3").unwrap(), ["0,1", "", "2,3"]);
        assert_eq!(lines(b"").unwrap(), [""; 0]);
    }

    #[test]
    fn bombs_long_lines_and_other_bytes_are_refused() {
        let message = |content: &[u8]| lines(content).unwrap_err().to_string();
        assert!(message(&b"0,1\n".repeat(2_000_000)).contains("the most that is read"));
        assert_eq!(message(&vec![b'1'; 1 << 20]), "x.csv.gz:1: is longer than 1048576 bytes");
        assert_eq!(message(b"a\n\xff\n"), "x.csv.gz:2: is no text");
    }
}
