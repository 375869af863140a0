//! Named sections of plain numbers in one file that is mapped and not read: opened in milliseconds, whatever its size.
//!
//! | bytes | |
//! |---|---|
//! | 0..8 | [`MAGIC`] |
//! | 8..12 | version of the layout, 1 |
//! | 12..16 | number of sections, at most 60 |
//! | 16..24 | length of the file |
//! | 24..24 + 64 n | a section each: name (40 bytes, zeros behind it), start, length in bytes, checksum |
//! | next 8 | checksum of all bytes before |
//! | 4096.. | the sections, each from a multiple of 4096 on |
//!
//! Numbers are little-endian, checksums XXH3 (64 bits). Opening checks the header and that the file has its length;
//! [`Sections::verify`] reads everything and checks the rest.

use crate::atomic::{PartialFile, unnamed_file};
use crate::error::{Error, Result};
use crate::files;
use memmap2::Mmap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// The first bytes: no text, and damaged by programs that change line ends.
pub const MAGIC: [u8; 8] = *b"\x8fNIGH\r\n\x1a";
const VERSION: u32 = 1;
/// Where sections start: a page, so that they can be mapped and released on their own.
const PAGE: usize = 4096;
const NAME: usize = 40;
const ENTRY: usize = NAME + 3 * 8;
const FIRST: usize = 24;
const MOST: usize = (PAGE - FIRST - 8) / ENTRY;

/// How much is read between two releases of pages.
const STRETCH: usize = 64 << 20;

/// An opened file of sections.
#[derive(Debug, Clone)]
pub struct Sections {
    path: PathBuf,
    map: Arc<Mmap>,
    entries: Arc<[Entry]>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    name: String,
    range: Range<usize>,
    checksum: u64,
}

/// A number whose bytes in a file are those in memory.
///
/// # Safety
///
/// Every pattern of bytes is a value, and nothing lies between its bytes.
pub unsafe trait Plain: Copy + Send + Sync + 'static {}

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

/// The numbers of a section, in the mapped file.
#[derive(Debug, Clone)]
pub struct Mapped<T> {
    map: Arc<Mmap>,
    start: usize,
    len: usize,
    kind: PhantomData<T>,
}

impl<T: Plain> Deref for Mapped<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: `Sections::get` checked that the range is in the map and aligned; any bytes are numbers.
        unsafe { std::slice::from_raw_parts(self.map.as_ptr().add(self.start).cast(), self.len) }
    }
}

impl<T: Plain> Mapped<T> {
    /// Gives the memory of these numbers back to the system. They stay in the file, and are there again when they are read.
    pub fn release(&self, numbers: Range<usize>) {
        let (first, end) = (self.start + numbers.start * size_of::<T>(), self.start + numbers.end * size_of::<T>());
        release(&self.map, first..end);
    }

    /// Tells the system that these numbers are used soon.
    pub fn will_need(&self, numbers: Range<usize>) {
        #[cfg(unix)]
        {
            let (first, length) = (self.start + numbers.start * size_of::<T>(), numbers.len() * size_of::<T>());
            let first = first / PAGE * PAGE;
            let length = (length + PAGE).min(self.map.len() - first);
            let _ = self.map.advise_range(memmap2::Advice::WillNeed, first, length);
        }
        #[cfg(not(unix))]
        let _ = numbers;
    }
}

fn release(map: &Mmap, bytes: Range<usize>) {
    // Whole pages: those at the ends may hold something else that is in use.
    let (first, end) = (bytes.start.next_multiple_of(PAGE), bytes.end / PAGE * PAGE);
    #[cfg(unix)]
    if first < end {
        // SAFETY: the map is of a file and is never written, so that released pages come back as they were.
        let _ = unsafe { map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, first, end - first) };
    }
    #[cfg(not(unix))]
    let _ = (map, first, end);
}

impl Sections {
    /// Opens a file and checks its header. The file must not change while it is in use.
    pub fn open(path: &Path) -> Result<Sections> {
        let wrong = |problem: &str| Error::file(path, problem);
        if !cfg!(all(target_endian = "little", target_pointer_width = "64")) {
            return Err(wrong("can be used on machines with 64 bits and the lowest byte first"));
        }
        Sections::of_file(files::open_regular(path)?, path)
    }

    /// Of a file that is open; `path` stands in messages.
    fn of_file(mut file: File, path: &Path) -> Result<Sections> {
        let wrong = |problem: &str| Error::file(path, problem);
        let length = file.metadata().map_err(Error::io(path))?.len();
        let mut header = Vec::new();
        file.seek(SeekFrom::Start(0)).map_err(Error::io(path))?;
        (&file).take(PAGE as u64).read_to_end(&mut header).map_err(Error::io(path))?;
        let entries = entries(&header, length).map_err(|problem| wrong(&problem))?;
        // SAFETY: a regular file that is only read. Who changes it meanwhile changes numbers that are checked at each use.
        let map = unsafe { Mmap::map(&file) }.map_err(Error::io(path))?;
        if (map.len() as u64) < length {
            return Err(wrong("became shorter while it was opened"));
        }
        Ok(Sections { path: path.to_path_buf(), map: map.into(), entries: entries.into() })
    }

    /// The numbers of a section, if there is one of this name.
    pub fn get<T: Plain>(&self, name: &str) -> Result<Option<Mapped<T>>> {
        let Some(Entry { range, .. }) = self.entries.iter().find(|entry| entry.name == name) else { return Ok(None) };
        if range.len() % size_of::<T>() != 0 {
            let problem = format!("section `{name}` has {} bytes; expected numbers of {}", range.len(), size_of::<T>());
            return Err(Error::file(&self.path, problem));
        }
        let len = range.len() / size_of::<T>();
        Ok(Some(Mapped { map: self.map.clone(), start: range.start, len, kind: PhantomData }))
    }

    /// Reads all sections and compares their checksums.
    pub fn verify(&self) -> Result<()> {
        for Entry { name, range, checksum } in self.entries.iter() {
            let mut found = Xxh3::new();
            for start in range.clone().step_by(STRETCH) {
                let stretch = start..(start + STRETCH).min(range.end);
                found.update(&self.map[stretch.clone()]);
                release(&self.map, stretch);
            }
            if found.digest() != *checksum {
                let problem = format!("section `{name}` is damaged: its checksum is another; write the file again");
                return Err(Error::file(&self.path, problem));
            }
        }
        Ok(())
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The size of the file.
    pub fn num_bytes(&self) -> usize {
        self.map.len()
    }
}

/// The table of a header.
fn entries(header: &[u8], file_length: u64) -> std::result::Result<Vec<Entry>, String> {
    let cut = || "ends within its header".to_string();
    let number = |at: usize| -> std::result::Result<u64, String> {
        let bytes = header.get(at..).and_then(|bytes| bytes.first_chunk()).ok_or_else(cut)?;
        Ok(u64::from_le_bytes(*bytes))
    };
    if !header.starts_with(&MAGIC) {
        return Err("is no graph file: it does not start with \\x8fNIGH".into());
    }
    let (version, count) = (number(8)? as u32, (number(8)? >> 32) as usize);
    if version != VERSION {
        return Err(format!("has version {version}; this program reads version {VERSION}"));
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
        found.push(Entry { name, range: start as usize..end as usize, checksum });
    }
    Ok(found)
}

/// Writes sections one after the other; the file appears when it is complete.
pub struct SectionWriter {
    path: PathBuf,
    file: OutputFile,
    position: usize,
    entries: Vec<Entry>,
    checksum: Xxh3,
    buffer: Vec<u8>,
}

/// A file that will have a name, or none.
enum OutputFile {
    Named(PartialFile),
    Unnamed(File),
}

impl OutputFile {
    fn file(&mut self) -> &mut File {
        match self {
            OutputFile::Named(file) => file.file(),
            OutputFile::Unnamed(file) => file,
        }
    }
}

/// Bytes that are written at once.
const BUFFER: usize = 1 << 20;

impl SectionWriter {
    /// A new file at `path`.
    pub fn create(path: &Path) -> Result<SectionWriter> {
        SectionWriter::to(OutputFile::Named(PartialFile::create(path).map_err(Error::io(path))?), path)
    }

    /// A new file without a name in this folder, which [`SectionWriter::into_sections`] completes. The system removes it when nobody uses
    /// it any more, however the process ends.
    pub fn unnamed(folder: &Path) -> Result<SectionWriter> {
        SectionWriter::to(OutputFile::Unnamed(unnamed_file(folder).map_err(Error::io(folder))?), folder)
    }

    fn to(mut file: OutputFile, path: &Path) -> Result<SectionWriter> {
        file.file().write_all(&[0; PAGE]).map_err(Error::io(path))?;
        let (entries, checksum, buffer) = (Vec::new(), Xxh3::new(), Vec::with_capacity(BUFFER));
        Ok(SectionWriter { path: path.to_path_buf(), file, position: PAGE, entries, checksum, buffer })
    }

    /// Begins a section; what is written from now on belongs to it.
    ///
    /// # Panics
    ///
    /// If there are too many, or if the name is too long.
    pub fn section(&mut self, name: &str) -> Result<()> {
        assert!(self.entries.len() < MOST && name.len() < NAME, "a section more, `{name}`");
        self.end_section();
        let padding = self.position.next_multiple_of(PAGE) - self.position;
        self.put(&vec![0; padding])?;
        self.checksum = Xxh3::new();
        self.entries.push(Entry { name: name.into(), range: self.position..self.position, checksum: 0 });
        Ok(())
    }

    /// Adds numbers to the section.
    pub fn write<T: Plain>(&mut self, numbers: &[T]) -> Result<()> {
        let bytes = bytes_of(numbers);
        self.checksum.update(bytes);
        self.put(bytes)
    }

    /// Adds the rest of a file to the section.
    pub fn copy(&mut self, source: &mut impl Read) -> Result<()> {
        let mut bytes = vec![0; BUFFER];
        loop {
            match source.read(&mut bytes).map_err(Error::io(&self.path))? {
                0 => return Ok(()),
                count => self.write(&bytes[..count])?,
            }
        }
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        if self.buffer.len() + bytes.len() > BUFFER {
            self.flush()?;
        }
        match bytes.len() > BUFFER {
            true => self.file.file().write_all(bytes).map_err(Error::io(&self.path))?,
            false => self.buffer.extend_from_slice(bytes),
        }
        self.position += bytes.len();
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.file.file().write_all(&self.buffer).map_err(Error::io(&self.path))?;
        self.buffer.clear();
        Ok(())
    }

    fn end_section(&mut self) {
        if let Some(entry) = self.entries.last_mut() {
            (entry.range.end, entry.checksum) = (self.position, self.checksum.digest());
        }
    }

    /// Writes the header and gives the file its name, if it is to have one.
    pub fn finish(mut self) -> Result<()> {
        self.write_header()?;
        match self.file {
            OutputFile::Named(file) => file.complete().map_err(Error::io(&self.path)),
            OutputFile::Unnamed(_) => Ok(()),
        }
    }

    /// Writes the header and opens the file, which has no name.
    ///
    /// # Panics
    ///
    /// If it has one.
    pub fn into_sections(mut self) -> Result<Sections> {
        self.write_header()?;
        let OutputFile::Unnamed(file) = self.file else { panic!("a file without a name") };
        Sections::of_file(file, &self.path)
    }

    fn write_header(&mut self) -> Result<()> {
        self.end_section();
        self.flush()?;
        let mut header = MAGIC.to_vec();
        header.extend(VERSION.to_le_bytes());
        header.extend((self.entries.len() as u32).to_le_bytes());
        header.extend((self.position as u64).to_le_bytes());
        for Entry { name, range, checksum } in &self.entries {
            header.extend(name.as_bytes());
            header.extend(std::iter::repeat_n(0, NAME - name.len()));
            let numbers = [range.start as u64, range.len() as u64, *checksum];
            header.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        }
        header.extend(xxh3_64(&header).to_le_bytes());
        let write = |file: &mut File| -> io::Result<()> {
            file.seek(SeekFrom::Start(0))?;
            file.write_all(&header)
        };
        write(self.file.file()).map_err(Error::io(&self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(folder: &Path) -> PathBuf {
        let path = folder.join("x.nigh");
        let mut writer = SectionWriter::create(&path).unwrap();
        writer.section("whole").unwrap();
        writer.write(&[1u64, 2, 3]).unwrap();
        writer.section("empty").unwrap();
        writer.section("large").unwrap();
        (0..3).for_each(|_| writer.write(&vec![0.5f32; BUFFER]).unwrap());
        writer.copy(&mut &[0, 0, 128, 63][..]).unwrap();
        assert!(!path.exists(), "it appears when it is complete");
        writer.finish().unwrap();
        path
    }

    #[test]
    fn sections_come_back_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let sections = Sections::open(&written(folder.path())).unwrap();
        assert_eq!(*sections.get::<u64>("whole").unwrap().unwrap(), [1, 2, 3]);
        assert_eq!(*sections.get::<usize>("whole").unwrap().unwrap(), [1, 2, 3]);
        assert!(sections.get::<u32>("empty").unwrap().unwrap().is_empty());
        let large = sections.get::<f32>("large").unwrap().unwrap();
        assert_eq!((large.len(), large[0], large[3 * BUFFER]), (3 * BUFFER + 1, 0.5, 1.0));
        large.release(0..large.len());
        assert_eq!(large[7], 0.5, "what was released is read again");
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
        assert!(problem(&|bytes| bytes[8] = 2).contains("has version 2; this program reads version 1"));
        assert!(problem(&|bytes| bytes[12] = 200).contains("announces 200 sections"));
        for at in (FIRST..FIRST + 3 * ENTRY + 8).step_by(11) {
            assert!(problem(&|bytes| bytes[at] ^= 1).contains("damaged header"), "{at}");
        }
        let last = whole.len() - 1;
        assert!(problem(&|bytes| bytes[last] ^= 1).contains("section `large` is damaged"));
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
    }
}
