//! Named sections of plain numbers in one file: opened in milliseconds, whatever its size, and read in parts that are checked.
//!
//! | bytes | |
//! |---|---|
//! | 0..8 | [`MAGIC`] |
//! | 8..12 | version of the layout, 2 |
//! | 12..16 | number of sections, at most 60 |
//! | 16..24 | length of the file |
//! | 24..24 + 64 n | a section each: name (40 bytes, zeros behind it), start, length in bytes, checksum |
//! | next 8 | checksum of all bytes before |
//! | 4096.. | the sections, each from a multiple of 4096 on |
//!
//! Behind each section, from the next multiple of 8 on, stand the checksums of its blocks of 16,384 bytes; the last block may be
//! shorter. The checksum of a section is that of these. In version 1 there are none, and the checksum of a section is that of its bytes.
//!
//! Numbers are little-endian, checksums XXH3 (64 bits). Opening checks the header and that the file has its length. Each later read
//! compares the blocks that it takes with their checksums, in the memory that is handed on: a file that is cut, overwritten or damaged
//! while it is in use is an error, and never other numbers. So files are read and not mapped, where the first would end the process.

mod read;
mod write;

pub use read::{Numbers, Section, Sections};
pub use write::SectionWriter;

use std::ops::Range;
use std::sync::OnceLock;
use xxhash_rust::xxh3::xxh3_64;

/// The first bytes: no text, and damaged by programs that change line ends.
pub const MAGIC: [u8; 8] = *b"\x8fNIGH\r\n\x1a";
/// What is written.
const VERSION: u32 = 2;
/// What is read, too: it has no checksums of blocks.
const WITHOUT_BLOCKS: u32 = 1;
/// Where sections start.
const PAGE: usize = 4096;
const NAME: usize = 40;
const ENTRY: usize = NAME + 3 * 8;
const FIRST: usize = 24;
const MOST: usize = (PAGE - FIRST - 8) / ENTRY;

/// Bytes with a checksum of their own: few enough to read them for a single row, and enough for the checksums to be
/// a two-thousandth of the file.
pub const BLOCK: usize = 1 << 14;

/// A section in the header.
#[derive(Debug)]
struct Entry {
    name: String,
    range: Range<usize>,
    checksum: u64,
    /// Of its blocks, once they are known.
    blocks: OnceLock<Box<[u64]>>,
}

impl Entry {
    fn num_blocks(&self) -> usize {
        self.range.len().div_ceil(BLOCK)
    }

    /// Where the checksums of its blocks are.
    fn table(&self) -> Range<usize> {
        let start = self.range.end.next_multiple_of(8);
        start..start + 8 * self.num_blocks()
    }
}

/// A number whose bytes in a file are those in memory.
///
/// # Safety
///
/// Every pattern of bytes is a value, and nothing lies between its bytes.
pub unsafe trait Plain: Copy + Default + Send + Sync + 'static {}

// SAFETY: plain numbers.
unsafe impl Plain for u8 {}
// SAFETY: as above.
unsafe impl Plain for u16 {}
// SAFETY: as above.
unsafe impl Plain for u32 {}
// SAFETY: as above.
unsafe impl Plain for u64 {}
// SAFETY: as above.
unsafe impl Plain for i64 {}
// SAFETY: as above.
unsafe impl Plain for f32 {}
// SAFETY: as above; files are opened where it has 64 bits.
unsafe impl Plain for usize {}

/// The bytes of numbers, as they are written.
pub fn bytes_of<T: Plain>(numbers: &[T]) -> &[u8] {
    // SAFETY: the bytes of a slice of plain numbers, borrowed as long as it.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) }
}

/// The bytes of numbers, to be read into.
pub fn bytes_of_mut<T: Plain>(numbers: &mut [T]) -> &mut [u8] {
    // SAFETY: as above; whatever is written is a value of the type.
    unsafe { std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast(), size_of_val(numbers)) }
}

/// The version and the table of a header.
fn entries(header: &[u8], file_length: u64) -> std::result::Result<(u32, Vec<Entry>), String> {
    let cut = || "ends within its header".to_string();
    let number = |at: usize| -> std::result::Result<u64, String> {
        let bytes = header.get(at..).and_then(|bytes| bytes.first_chunk()).ok_or_else(cut)?;
        Ok(u64::from_le_bytes(*bytes))
    };
    if !header.starts_with(&MAGIC) {
        return Err("is no graph file: it does not start with \\x8fNIGH".into());
    }
    let (version, count) = (number(8)? as u32, (number(8)? >> 32) as usize);
    if version != VERSION && version != WITHOUT_BLOCKS {
        return Err(format!("has version {version}; this program reads versions {WITHOUT_BLOCKS} and {VERSION}"));
    }
    if count > MOST {
        return Err(format!("announces {count} sections; there can be {MOST}"));
    }
    let end = FIRST + count * ENTRY;
    let checksum = number(end)?;
    if xxh3_64(&header[..end]) != checksum {
        return Err("has a damaged header: its checksum is another".into());
    }
    let length = number(16)?;
    if length != file_length {
        return Err(format!("has {file_length} bytes, its header says {length}; was it copied to the end?"));
    }
    let mut found: Vec<Entry> = Vec::new();
    for at in (FIRST..end).step_by(ENTRY) {
        let name = header[at..at + NAME].split(|&byte| byte == 0).next().unwrap_or_default();
        let name = std::str::from_utf8(name).map_err(|_| "has a section whose name is no text")?.to_string();
        let (start, bytes, checksum) = (number(at + NAME)?, number(at + NAME + 8)?, number(at + NAME + 16)?);
        let end = start.checked_add(bytes).filter(|&end| end <= length);
        let (Some(end), true) = (end, start % PAGE as u64 == 0 && start >= PAGE as u64) else {
            return Err(format!("section `{name}` is said to be {bytes} bytes at {start}, in a file of {length}"));
        };
        if found.iter().any(|entry| entry.name == name) {
            return Err(format!("has two sections `{name}`"));
        }
        let entry = Entry { name, range: start as usize..end as usize, checksum, blocks: OnceLock::new() };
        if version != WITHOUT_BLOCKS && entry.table().end as u64 > length {
            return Err(format!("section `{}` has no room behind it for the checksums of its blocks", entry.name));
        }
        found.push(entry);
    }
    Ok((version, found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};

    /// Numbers of the largest section that are written at once.
    const COUNT: usize = 1 << 20;

    fn written(folder: &Path) -> PathBuf {
        let path = folder.join("x.nigh");
        let mut writer = SectionWriter::create(&path).unwrap();
        writer.section("whole").unwrap();
        writer.write(&[1u64, 2, 3]).unwrap();
        writer.section("empty").unwrap();
        writer.section("large").unwrap();
        (0..3).for_each(|_| writer.write(&vec![0.5f32; COUNT]).unwrap());
        writer.copy(&mut &[0, 0, 128, 63][..]).unwrap();
        assert!(!path.exists(), "it appears when it is complete");
        writer.finish().unwrap();
        path
    }

    #[test]
    fn sections_come_back_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let sections = Sections::open(&written(folder.path())).unwrap();
        assert_eq!(sections.get::<u64>("whole").unwrap().unwrap().read_all().unwrap(), [1, 2, 3]);
        assert_eq!(*sections.get::<usize>("whole").unwrap().unwrap().read(1..3).unwrap(), [2, 3]);
        assert!(sections.get::<u32>("empty").unwrap().unwrap().is_empty());
        let large = sections.get::<f32>("large").unwrap().unwrap();
        assert_eq!(large.len(), 3 * COUNT + 1);
        let all = large.read_all().unwrap();
        assert!(all[3 * COUNT] == 1.0 && all[..3 * COUNT].iter().all(|&number| number == 0.5));
        let mut some = Numbers::default();
        for range in
            [0..1, 5..5, 4_095..4_097, 4_096..9_000, 3 * COUNT - 1..3 * COUNT + 1, 3 * COUNT + 1..3 * COUNT + 1]
        {
            large.read_into(range.clone(), &mut some).unwrap();
            assert_eq!(*some, all[range]);
        }
        assert_eq!(large.chunks(COUNT).map(|chunk| chunk.unwrap().len()).collect::<Vec<_>>(), [COUNT, COUNT, COUNT, 1]);
        assert!(sections.get::<u32>("none").unwrap().is_none());
        sections.verify().unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn a_file_that_is_not_finished_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = SectionWriter::create(&folder.path().join("x.nigh")).unwrap();
        writer.section("one").unwrap();
        drop(writer);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn damage_is_found_wherever_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path());
        let whole = std::fs::read(&path).unwrap();
        let problem = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = whole.clone();
            change(&mut bytes);
            std::fs::write(&path, bytes).unwrap();
            Sections::open(&path).and_then(|sections| sections.verify()).unwrap_err().to_string()
        };
        assert!(problem(&|bytes| bytes.truncate(20)).contains("ends within its header"));
        assert!(problem(&|bytes| bytes.truncate(5000)).contains("has 5000 bytes, its header says"));
        assert!(problem(&|bytes| bytes[0] = 0).contains("is no graph file"));
        assert!(problem(&|bytes| bytes[8] = 3).contains("has version 3; this program reads versions 1 and 2"));
        assert!(problem(&|bytes| bytes[12] = 200).contains("announces 200 sections"));
        for at in (FIRST..FIRST + 3 * ENTRY + 8).step_by(11) {
            assert!(problem(&|bytes| bytes[at] ^= 1).contains("damaged header"), "{at}");
        }
        let large = 2 * PAGE;
        for at in [large, large + BLOCK, large + 4 * COUNT] {
            assert!(problem(&|bytes| bytes[at] ^= 1).contains("section `large` is damaged"), "{at}");
        }
        assert!(problem(&|bytes| *bytes.last_mut().unwrap() ^= 1).contains("section `large` is damaged"), "a checksum");
        // A header that is in order and lies.
        let lie = |at: usize, value: u64| {
            problem(&|bytes| {
                bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
                let end = FIRST + 3 * ENTRY;
                let checksum = xxh3_64(&bytes[..end]).to_le_bytes();
                bytes[end..end + 8].copy_from_slice(&checksum);
            })
        };
        assert!(lie(FIRST + NAME, 8).contains("section `whole` is said to be 24 bytes at 8"));
        assert!(lie(FIRST + NAME + 8, u64::MAX - 9).contains("is said to be"));
        assert!(lie(FIRST + NAME + 8, 1 << 40).contains("is said to be"));
        assert!(lie(FIRST + NAME + 8, 23).contains("section `whole` is damaged"));
        let behind = whole.len() as u64;
        assert!(lie(FIRST + 2 * ENTRY + NAME + 8, behind - 2 * PAGE as u64).contains("no room behind it"));
    }

    /// Ways to spoil an open file, and what is then said.
    #[test]
    fn a_file_that_changes_while_it_is_open_is_an_error_at_the_next_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path());
        let whole = std::fs::read(&path).unwrap();
        let start = 2 * PAGE;
        for version in [2, 1] {
            for (at, end) in
                [(start + 5, start), (start + 3 * BLOCK, start + 3 * BLOCK - 1), (start + 4 * COUNT, whole.len() - 1)]
            {
                for is_cut in [false, true] {
                    std::fs::write(&path, &whole).unwrap();
                    if version == 1 {
                        as_version_1(&path);
                    }
                    let large = Sections::open(&path).unwrap().get::<f32>("large").unwrap().unwrap();
                    large.read(0..3 * COUNT + 1).unwrap();
                    let file = std::fs::File::options().write(true).open(&path).unwrap();
                    match is_cut {
                        true => file.set_len(end.min(start + 12 * COUNT) as u64).unwrap(),
                        false => {
                            use std::io::{Seek, SeekFrom, Write};
                            let mut file = &file;
                            file.seek(SeekFrom::Start(at as u64)).unwrap();
                            file.write_all(&[9]).unwrap();
                        }
                    }
                    let error = large.read_all().unwrap_err().to_string();
                    let expected =
                        if is_cut { "became shorter than" } else { "section `large` is damaged, or was changed" };
                    assert!(error.contains("x.nigh: ") && error.contains(expected), "{version} {at} {error}");
                }
            }
        }
    }

    #[test]
    fn files_of_the_first_version_are_read_and_checked() {
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path());
        let large = |path: &Path| Sections::open(path).unwrap().get::<f32>("large").unwrap().unwrap();
        let expected = large(&path).read_all().unwrap();
        as_version_1(&path);
        Sections::open(&path).unwrap().verify().unwrap();
        assert_eq!(large(&path).read_all().unwrap(), expected);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[2 * PAGE + 8 * COUNT] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let error = large(&path).read(0..1).unwrap_err().to_string();
        assert!(error.contains("section `large` is damaged"), "the first use reads all of a section: {error}");
    }

    /// Turns a file into one of version 1, in place.
    fn as_version_1(path: &Path) {
        let mut bytes = std::fs::read(path).unwrap();
        let (_, found) = entries(&bytes[..PAGE], bytes.len() as u64).unwrap();
        bytes[8] = 1;
        for (number, entry) in found.iter().enumerate() {
            let at = FIRST + number * ENTRY + NAME + 16;
            let checksum = xxh3_64(&bytes[entry.range.clone()]).to_le_bytes();
            bytes[at..at + 8].copy_from_slice(&checksum);
            bytes[entry.table()].fill(0);
        }
        let end = FIRST + found.len() * ENTRY;
        let checksum = xxh3_64(&bytes[..end]).to_le_bytes();
        bytes[end..end + 8].copy_from_slice(&checksum);
        std::fs::write(path, bytes).unwrap();
    }
}
