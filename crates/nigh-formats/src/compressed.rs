//! Content of files, decompressed if it is gzip or zstd, or the only table of a zip or tar, which the first bytes show.

use crate::archive::{self, TarMember};
use crate::error::{Error, Result};
use crate::files::{self, ReadSeek};
use crate::interrupt;
use crate::utf16::Utf16Read;
use flate2::bufread::{DeflateDecoder, MultiGzDecoder};
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Text that shrinks by more than this, beyond `GROWTH_FREE`, is a bomb: lists of edges shrink by 10 or 20.
const GROWTH: u64 = 200;
const GROWTH_FREE: u64 = 8 << 20;

/// The content of a file, decompressed. A pipe can be read as well, once.
pub fn open(path: &Path) -> Result<Box<dyn Read + Send>> {
    match files::is_stream(path) {
        true => read(files::open_pipe(path)?).map_err(Error::io(path)),
        false => unpacked(path, files::open_input(path)?),
    }
}

/// As `open`, from memory; `name` stands in messages.
pub fn from_bytes(name: &Path, bytes: Vec<u8>) -> Result<Box<dyn Read + Send>> {
    unpacked(name, Box::new(Cursor::new(bytes)))
}

/// The content of a source, which may also be a zip, whose list of members is at its end.
fn unpacked(name: &Path, mut source: Box<dyn ReadSeek>) -> Result<Box<dyn Read + Send>> {
    let mut start = Vec::new();
    source.by_ref().take(4).read_to_end(&mut start).map_err(Error::io(name))?;
    let member = match start[..] {
        [b'P', b'K', 3 | 5, 4 | 6] => archive::find_in_zip(name, &mut source)?,
        _ => None,
    };
    let content = match member {
        None => source.seek(SeekFrom::Start(0)).and_then(|_| read(source)),
        Some(member) => member.content(source).and_then(|packed| {
            let unpacked = bounded(packed, |packed| match member.deflated {
                true => Box::new(DeflateDecoder::new(packed)),
                false => Box::new(packed),
            });
            read(member.checked(unpacked))
        }),
    };
    content.map_err(Error::io(name))
}

/// The content of a source as it comes, decompressed, as UTF-8 if it is UTF-16. A zip can't be read in this way.
pub fn read(source: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    let (start, whole) = peek(source, 4)?;
    let content: Box<dyn Read + Send> = match start[..] {
        [0x1f, 0x8b, ..] => Box::new(bounded(whole, |packed| Box::new(MultiGzDecoder::new(packed)))),
        [0x28, 0xb5, 0x2f, 0xfd] => Box::new(bounded(whole, |packed| Box::new(ZstdFrames::Between(packed)))),
        _ => Box::new(whole),
    };
    let (start, whole) = peek(content, 512)?;
    let content: Box<dyn Read + Send> = match archive::is_tar(&start) {
        true => Box::new(TarMember::new(whole)),
        false => Box::new(whole),
    };
    let (start, mut whole) = peek(content, 4)?;
    Ok(match start[..] {
        // The same two bytes and two zeros are UTF-32.
        [0xff, 0xfe, 0, 0] => Box::new(whole),
        [0xff, 0xfe, ..] => Box::new(Utf16Read::new(whole, false)),
        [0xfe, 0xff, ..] => Box::new(Utf16Read::new(whole, true)),
        [0xef, 0xbb, 0xbf, ..] => {
            whole.read_exact(&mut [0; 3])?;
            Box::new(whole)
        }
        _ => Box::new(whole),
    })
}

/// The first bytes, and all of them.
fn peek<R: Read>(mut source: R, count: u64) -> io::Result<(Vec<u8>, impl Read + use<R>)> {
    let mut start = Vec::new();
    source.by_ref().take(count).read_to_end(&mut start)?;
    Ok((start.clone(), Cursor::new(start).chain(source)))
}

/// Unpacks, and stops when far more comes out than went in.
fn bounded<R: Read + Send + 'static>(
    source: R,
    unpack: impl FnOnce(BufReader<CountedRead<R>>) -> Box<dyn Read + Send>,
) -> BoundedRead {
    let taken = Arc::new(AtomicU64::new(0));
    let packed = BufReader::with_capacity(1 << 18, CountedRead { source, taken: taken.clone() });
    BoundedRead { source: unpack(packed), taken, given: 0 }
}

/// The frames of a zstd file, one after the other; skippable ones are skipped.
enum ZstdFrames<R: BufRead> {
    Between(R),
    Within(Box<StreamingDecoder<R, FrameDecoder>>),
    Failed,
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            // What fails is not read again.
            *self = match std::mem::replace(self, ZstdFrames::Failed) {
                ZstdFrames::Failed => return Ok(0),
                ZstdFrames::Within(mut frame) => match frame.read(buffer)? {
                    0 if !buffer.is_empty() => ZstdFrames::Between(frame.into_inner()),
                    count => {
                        *self = ZstdFrames::Within(frame);
                        return Ok(count);
                    }
                },
                ZstdFrames::Between(mut source) => match source.fill_buf()? {
                    [] => return Ok(0),
                    // A skippable frame, with its length.
                    [0x50..=0x5f, ..] => {
                        let mut header = [0; 8];
                        source.read_exact(&mut header)?;
                        let length = u32::from_le_bytes([header[4], header[5], header[6], header[7]]);
                        io::copy(&mut source.by_ref().take(length.into()), &mut io::sink())?;
                        ZstdFrames::Between(source)
                    }
                    _ => ZstdFrames::Within(Box::new(StreamingDecoder::new(source).map_err(io::Error::other)?)),
                },
            }
        }
    }
}

/// Counts what it passes on.
struct CountedRead<R> {
    source: R,
    taken: Arc<AtomicU64>,
}

impl<R: Read> Read for CountedRead<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        interrupt::check();
        let count = self.source.read(buffer)?;
        self.taken.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Stops when far more comes out than went in.
struct BoundedRead {
    source: Box<dyn Read + Send>,
    taken: Arc<AtomicU64>,
    given: u64,
}

impl Read for BoundedRead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.given += count as u64;
        let taken = self.taken.load(Ordering::Relaxed);
        if self.given > taken * GROWTH + GROWTH_FREE {
            let problem = format!("{taken} bytes unpack into more than {}; that is a bomb, not a table", self.given);
            return Err(io::Error::other(problem));
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::gzip;

    fn zstd(content: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(content, ruzstd::encoding::CompressionLevel::Fastest)
    }

    fn read(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        super::read(Cursor::new(bytes.to_vec()))?.read_to_end(&mut content).map(|_| content)
    }

    #[test]
    fn a_file_is_read_and_a_folder_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("x"), gzip(b"1 2\n")).unwrap();
        let mut content = Vec::new();
        open(&folder.path().join("x")).unwrap().read_to_end(&mut content).unwrap();
        assert_eq!(content, b"1 2\n");
        let error = open(folder.path()).err().unwrap().to_string();
        assert!(error.ends_with(": is a folder; expected a regular file"), "{error}");
    }

    #[test]
    fn packed_or_not_the_content_is_the_same() {
        let content = b"1 2\n2 3\n".repeat(1000);
        assert_eq!(read(&content).unwrap(), content);
        assert_eq!(read(&gzip(&content)).unwrap(), content);
        assert_eq!(read(&[gzip(&content), gzip(b"3 4\n")].concat()).unwrap(), [&content[..], b"3 4\n"].concat());
        let packed = zstd(&content);
        assert_eq!(read(&packed).unwrap(), content);
        let note = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
        assert_eq!(read(&[&packed[..], &note, &zstd(b"3 4\n")].concat()).unwrap(), [&content[..], b"3 4\n"].concat());
        assert_eq!(read(b"").unwrap(), b"");
        assert_eq!(read(b"ab").unwrap(), b"ab");
        assert_eq!(read(b"\xef\xbb\xbfa b").unwrap(), b"a b", "without the mark of UTF-8");
    }

    #[test]
    fn bombs_and_ruins_are_refused() {
        let zeros = vec![0u8; 100 << 20];
        for bomb in [gzip(&zeros), zstd(&zeros)] {
            let error = read(&bomb).unwrap_err().to_string();
            assert!(error.contains("that is a bomb"), "{error}");
            assert!(read(&bomb[..bomb.len() / 2]).is_err());
        }
        let packed = gzip(&b"1 2\n".repeat(99));
        assert!(read(&packed[..packed.len() - 5]).is_err());
    }
}
