//! Archives with one table in them: zip and tar. Files that only accompany it are passed over.

use crate::error::{Error, Result};
use crate::files::ReadSeek;
use flate2::Crc;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use zip::{CompressionMethod, ZipArchive};

/// Where the only table of a zip is.
#[derive(Debug)]
pub(crate) struct ZipMember {
    start: u64,
    packed: u64,
    crc: u32,
    pub deflated: bool,
}

/// Whether a name is of a file that only accompanies others: a folder, what a system adds, a readme.
fn is_beside(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or(name);
    let lower = last.to_ascii_lowercase();
    let words = ["readme", "license", "licence", "citation"];
    name.starts_with("__MACOSX/")
        || last.is_empty()
        || last.starts_with('.')
        || words.iter().any(|w| lower.starts_with(w))
}

/// The problem with an archive of these files, unless it is one.
fn only_one(names: &[String]) -> std::result::Result<(), String> {
    match names {
        [] => Err("is an archive without a file in it".into()),
        [_] => Ok(()),
        [first, ..] if names.len() > 8 => {
            Err(format!("is an archive of {} files, such as {first}; unpack it and name one", names.len()))
        }
        _ => Err(format!("is an archive of {} files: {}; unpack it and name one", names.len(), names.join(", "))),
    }
}

/// Finds the only table of a zip. `None` if it is no zip after all, or one of NumPy's arrays, which is a format of its own.
pub(crate) fn find_in_zip(name: &Path, source: &mut Box<dyn ReadSeek>) -> Result<Option<ZipMember>> {
    let Ok(mut archive) = ZipArchive::new(BufReader::new(source)) else { return Ok(None) };
    let (mut names, mut found) = (Vec::new(), None);
    for index in 0..archive.len() {
        let unreadable = |error: zip::result::ZipError| Error::file(name, format!("can't be unpacked: {error}"));
        let member = archive.by_index_raw(index).map_err(unreadable)?;
        let member_name = member.name().map_err(unreadable)?.into_owned();
        let refused = match member_name.as_str() {
            "xl/workbook.xml" => Some("is an Excel workbook; save the sheet as csv"),
            "content.xml" => Some("is a spreadsheet; save the sheet as csv"),
            name if name.ends_with("/data.pkl") => {
                Some("is a file of PyTorch; save its arrays with numpy.save or numpy.savez")
            }
            _ => None,
        };
        if let Some(problem) = refused {
            return Err(Error::file(name, problem));
        }
        if member_name.ends_with(".npy") {
            return Ok(None);
        }
        if is_beside(&member_name) {
            continue;
        }
        let deflated = match member.compression() {
            CompressionMethod::Deflated => Ok(true),
            CompressionMethod::Stored => Ok(false),
            method => Err(format!("`{member_name}` is packed with {method}; expected deflate")),
        };
        let deflated = match member.encrypted() {
            true => Err(format!("`{member_name}` is encrypted; unpack it first")),
            false => deflated,
        };
        let start = member.data_start().ok_or_else(|| Error::file(name, "can't be unpacked: it has no content"))?;
        let (packed, crc) = (member.compressed_size(), member.crc32());
        found = Some(deflated.map(|deflated| ZipMember { start, packed, crc, deflated }));
        names.push(member_name);
    }
    only_one(&names).map_err(|problem| Error::file(name, problem))?;
    found.transpose().map_err(|problem| Error::file(name, problem))
}

impl ZipMember {
    /// The packed content.
    pub fn content(&self, mut source: Box<dyn ReadSeek>) -> io::Result<impl Read + Send + use<>> {
        source.seek(SeekFrom::Start(self.start))?;
        Ok(source.take(self.packed))
    }

    /// Fails at the end of the unpacked content if that is not what was packed.
    pub fn checked(&self, source: impl Read + Send + 'static) -> impl Read + Send + 'static {
        CheckedRead { source, sum: Crc::new(), expected: self.crc }
    }
}

/// Compares a checksum at the end.
struct CheckedRead<R> {
    source: R,
    sum: Crc,
    expected: u32,
}

impl<R: Read> Read for CheckedRead<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.sum.update(&buffer[..count]);
        if count == 0 && !buffer.is_empty() && self.sum.sum() != self.expected {
            return Err(io::Error::other("the archive is damaged: its content has another checksum"));
        }
        Ok(count)
    }
}

/// Headers and contents of a tar come in blocks of this size.
const BLOCK: usize = 512;

/// Whether content that starts with these bytes is a tar.
pub(crate) fn is_tar(start: &[u8]) -> bool {
    start.get(257..262) == Some(b"ustar") && start.len() == BLOCK && TarHeader::parse(start).is_some()
}

/// The only table of a tar.
pub(crate) struct TarMember<R> {
    source: R,
    /// Bytes of the table that are still to come, once it is found; and of the padding behind it.
    left: Option<(u64, u64)>,
    names: Vec<String>,
    ended: bool,
}

/// What matters of a header.
struct TarHeader {
    name: String,
    size: u64,
    is_file: bool,
}

impl TarHeader {
    fn parse(block: &[u8]) -> Option<TarHeader> {
        let text = |bytes: &[u8]| {
            let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
            String::from_utf8_lossy(&bytes[..end]).into_owned()
        };
        let octal = |bytes: &[u8]| u64::from_str_radix(text(bytes).trim(), 8).ok();
        let size = match block[124] {
            // A size beyond eight GiB, in base 256.
            0x80 => u64::from_be_bytes(*block[128..136].first_chunk()?),
            _ => octal(&block[124..136])?,
        };
        let sum: u64 = block.iter().map(|&byte| u64::from(byte)).sum();
        let stored: u64 = block[148..156].iter().map(|&byte| u64::from(byte)).sum();
        let is_sound = octal(&block[148..156]) == Some(sum - stored + 8 * u64::from(b' '));
        let is_file = matches!(block[156], 0 | b'0' | b'7');
        // Beyond any file, and safe to add to.
        (is_sound && size < 1 << 50).then(|| TarHeader { name: text(&block[..100]), size, is_file })
    }
}

impl<R: Read> TarMember<R> {
    pub fn new(source: R) -> TarMember<R> {
        TarMember { source, left: None, names: Vec::new(), ended: false }
    }

    /// Goes to the content of the next table; false at the end of the archive.
    fn next_table(&mut self) -> io::Result<bool> {
        loop {
            let mut block = Vec::with_capacity(BLOCK);
            self.source.by_ref().take(BLOCK as u64).read_to_end(&mut block)?;
            if block.iter().all(|&byte| byte == 0) {
                return Ok(false);
            }
            let whole = Some(&block).filter(|block| block.len() == BLOCK);
            let header = whole.and_then(|block| TarHeader::parse(block));
            let header =
                header.ok_or_else(|| io::Error::other("the archive is damaged: a header is not one of tar"))?;
            let padding = header.size.next_multiple_of(BLOCK as u64) - header.size;
            if header.is_file && !is_beside(&header.name) {
                self.names.push(header.name);
                self.left = Some((header.size, padding));
                return Ok(true);
            }
            self.skip(header.size)?;
            self.skip(padding)?;
        }
    }

    fn skip(&mut self, count: u64) -> io::Result<()> {
        let skipped = io::copy(&mut self.source.by_ref().take(count), &mut io::sink())?;
        if skipped == count { Ok(()) } else { Err(cut_off()) }
    }
}

fn cut_off() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the archive is cut off")
}

impl<R: Read> Read for TarMember<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.ended || buffer.is_empty() {
            return Ok(0);
        }
        if self.left.is_none() && !self.next_table()? {
            self.ended = true;
            return Err(io::Error::other("is an archive without a file in it"));
        }
        let (size, padding) = self.left.unwrap_or_default();
        if size > 0 {
            let most = buffer.len().min(usize::try_from(size).unwrap_or(usize::MAX));
            let count = self.source.read(&mut buffer[..most])?;
            self.left = Some((size - count as u64, padding));
            return if count > 0 { Ok(count) } else { Err(cut_off()) };
        }
        // There must be no second one.
        self.ended = true;
        self.skip(padding)?;
        while self.names.len() < 100 && self.next_table()? {
            let (size, padding) = self.left.unwrap_or_default();
            self.skip(size)?;
            self.skip(padding)?;
        }
        only_one(&self.names).map_err(io::Error::other)?;
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compressed;
    use crate::samples::{damaged, gzip, tar, zipped};
    use proptest::prelude::*;

    fn read(bytes: Vec<u8>) -> std::result::Result<String, String> {
        let mut content = String::new();
        let source = compressed::from_bytes(Path::new("x"), bytes).map_err(|error| error.to_string());
        let read = source.and_then(|mut source| source.read_to_string(&mut content).map_err(|error| error.to_string()));
        // Short content is read when it is opened, which adds the name.
        read.map(|_| content).map_err(|problem| problem.trim_start_matches("x: ").to_string())
    }

    const EDGES: &str = "1 2\n2 3\n";

    #[test]
    fn one_table_is_found_beside_what_accompanies_it() {
        let members =
            [("data/", ""), ("data/README.md", "hello"), ("data/edges.txt", EDGES), ("data/._edges.txt", "x")];
        for archive in [zipped(&members), tar(&members), gzip(&tar(&members)), zipped(&[("x.csv", EDGES)])] {
            assert_eq!(read(archive).unwrap(), EDGES);
        }
        let long = "1 2\n".repeat(5000);
        assert_eq!(read(gzip(&tar(&[("x", &long)]))).unwrap(), long, "longer than a block");
        assert_eq!(read(tar(&[("x", &"y".repeat(512)), ("LICENSE", "z")])).unwrap().len(), 512, "a whole block");
    }

    #[test]
    fn several_tables_and_none_are_refused() {
        let several = [("edges.csv", "a"), ("labels.csv", "b")];
        let named = "is an archive of 2 files: edges.csv, labels.csv; unpack it and name one";
        assert_eq!(read(zipped(&several)).unwrap_err(), named);
        assert_eq!(read(gzip(&tar(&several))).unwrap_err(), named);
        assert_eq!(read(zipped(&[("README", "b")])).unwrap_err(), "is an archive without a file in it");
        assert_eq!(read(tar(&[("README", "b")])).unwrap_err(), "is an archive without a file in it");
        let many: Vec<String> = (0..20).map(|at| format!("{at}.csv")).collect();
        let many: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "a")).collect();
        assert_eq!(
            read(zipped(&many)).unwrap_err(),
            "is an archive of 20 files, such as 0.csv; unpack it and name one"
        );
        assert_eq!(
            read(zipped(&[("[Content_Types].xml", ""), ("xl/workbook.xml", "")])).unwrap_err(),
            "is an Excel workbook; save the sheet as csv"
        );
        assert!(read(zipped(&[("archive/data.pkl", "")])).unwrap_err().contains("is a file of PyTorch"));
    }

    #[test]
    fn bombs_and_damage_are_refused() {
        let zeros = "\n".repeat(40 << 20);
        assert!(read(zipped(&[("x", &zeros)])).unwrap_err().contains("that is a bomb"));
        assert!(read(gzip(&tar(&[("x", &zeros)]))).unwrap_err().contains("that is a bomb"));
        let mut other = zipped(&[("x", EDGES)]);
        let sum = other.windows(4).position(|window| window == b"PK\x01\x02").unwrap() + 16;
        other[sum] ^= 1;
        assert_eq!(read(other).unwrap_err(), "the archive is damaged: its content has another checksum");
        let whole = tar(&[("x", &EDGES.repeat(200))]);
        assert_eq!(read(whole[..1000].to_vec()).unwrap_err(), "the archive is cut off");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn no_damage_makes_it_panic(
            zip: bool, changes in prop::collection::vec((any::<usize>(), any::<u8>()), 0..6), cut in 0usize..1500,
        ) {
            let members = [("a/README", "x"), ("a/edges.txt", EDGES)];
            let _ = read(damaged(if zip { zipped(&members) } else { tar(&members) }, &changes, cut));
        }
    }
}
