//! Reading sections, block by block.

use super::{BLOCK, Entry, PAGE, Plain, WITHOUT_BLOCKS, bytes_of, bytes_of_mut, entries};
use crate::error::{Error, Result};
use crate::{files, interrupt};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::marker::PhantomData;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Bytes that are read at once: blocks are compared with their checksums while they are in the cache.
const PIECE: usize = 16 * BLOCK;

/// An opened file of sections. Clones share it.
#[derive(Debug, Clone)]
pub struct Sections(Arc<Opened>);

#[derive(Debug)]
struct Opened {
    path: PathBuf,
    file: File,
    length: usize,
    version: u32,
    entries: Vec<Entry>,
}

/// The numbers of a section, which stay in the file until they are read.
#[derive(Debug)]
pub struct Section<T> {
    file: Arc<Opened>,
    /// Which section.
    at: usize,
    len: usize,
    kind: PhantomData<T>,
}

impl<T> Clone for Section<T> {
    fn clone(&self) -> Section<T> {
        Section { file: self.file.clone(), at: self.at, len: self.len, kind: PhantomData }
    }
}

/// Numbers that were read. Reading into it again reuses its memory.
#[derive(Debug, Clone, Default)]
pub struct Numbers<T> {
    /// Of whole blocks.
    blocks: Vec<T>,
    skipped: usize,
    len: usize,
}

impl<T> Deref for Numbers<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.blocks[self.skipped..self.skipped + self.len]
    }
}

impl<T: Plain> Section<T> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.file.path
    }

    /// Reads some of them.
    ///
    /// # Panics
    ///
    /// If there are not as many.
    pub fn read(&self, numbers: Range<usize>) -> Result<Numbers<T>> {
        let mut into = Numbers::default();
        self.read_into(numbers, &mut into)?;
        Ok(into)
    }

    /// As [`Section::read`], into memory that was used before.
    pub fn read_into(&self, numbers: Range<usize>, into: &mut Numbers<T>) -> Result<()> {
        assert!(numbers.start <= numbers.end && numbers.end <= self.len, "numbers of the section");
        let per_block = BLOCK / size_of::<T>();
        let first = numbers.start / per_block;
        (into.skipped, into.len) = (numbers.start - first * per_block, numbers.len());
        if numbers.is_empty() {
            (into.skipped, into.len) = (0, 0);
            return Ok(());
        }
        let end = (numbers.end.next_multiple_of(per_block)).min(self.len);
        // A header may announce more than there is memory.
        let wanted = end - first * per_block;
        if into.blocks.try_reserve_exact(wanted.saturating_sub(into.blocks.len())).is_err() {
            let problem = format!("there is no memory for {} bytes of it", wanted * size_of::<T>());
            return Err(Error::file(self.path(), problem));
        }
        into.blocks.resize(wanted, T::default());
        self.file.read_blocks(&self.file.entries[self.at], first, bytes_of_mut(&mut into.blocks))
    }

    /// Reads all of them into memory.
    pub fn read_all(&self) -> Result<Vec<T>> {
        let mut all = Numbers::default();
        self.read_into(0..self.len, &mut all)?;
        Ok(all.blocks)
    }

    /// Reads all of them, so many at a time.
    pub fn chunks(&self, at_a_time: usize) -> impl Iterator<Item = Result<Numbers<T>>> + '_ {
        (0..self.len).step_by(at_a_time).map(move |first| {
            interrupt::check();
            self.read(first..(first + at_a_time).min(self.len))
        })
    }
}

impl Opened {
    /// Reads whole blocks of a section from the one with this number on, and checks them.
    fn read_blocks(&self, entry: &Entry, first: usize, bytes: &mut [u8]) -> Result<()> {
        let checksums = &self.checksums(entry)?[first..];
        let start = entry.range.start + first * BLOCK;
        for (piece, (part, checksums)) in bytes.chunks_mut(PIECE).zip(checksums.chunks(PIECE / BLOCK)).enumerate() {
            self.read_at(entry, start + piece * PIECE, part)?;
            let mut found = part.chunks(BLOCK).map(xxh3_64).zip(checksums);
            if let Some(at) = found.position(|(found, expected)| found != *expected) {
                return Err(self.damaged(entry, Some(first + piece * (PIECE / BLOCK) + at)));
            }
        }
        Ok(())
    }

    /// The checksums of the blocks of a section. A file of version 1 has none: all of the section is read, compared with its checksum
    /// and remembered by blocks, so that a later change is found.
    fn checksums<'a>(&self, entry: &'a Entry) -> Result<&'a [u64]> {
        if let Some(known) = entry.blocks.get() {
            return Ok(known);
        }
        let mut checksums = vec![0u64; entry.num_blocks()];
        let found = match self.version {
            WITHOUT_BLOCKS => {
                let (mut whole, mut piece) = (Xxh3::new(), vec![0; PIECE.min(entry.range.len())]);
                for (start, checksums) in entry.range.clone().step_by(PIECE).zip(checksums.chunks_mut(PIECE / BLOCK)) {
                    interrupt::check();
                    let piece = &mut piece[..PIECE.min(entry.range.end - start)];
                    self.read_at(entry, start, piece)?;
                    whole.update(piece);
                    checksums.iter_mut().zip(piece.chunks(BLOCK)).for_each(|(to, block)| *to = xxh3_64(block));
                }
                whole.digest()
            }
            _ => {
                self.read_at(entry, entry.table().start, bytes_of_mut(&mut checksums))?;
                xxh3_64(bytes_of(&checksums))
            }
        };
        if found != entry.checksum {
            return Err(self.damaged(entry, None));
        }
        Ok(entry.blocks.get_or_init(|| checksums.into()))
    }

    fn read_at(&self, entry: &Entry, start: usize, bytes: &mut [u8]) -> Result<()> {
        read_exact_at(&self.file, bytes, start as u64).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                let problem = format!(
                    "became shorter than {} bytes while it was in use, so that section `{}` can't be read; write it again",
                    self.length, entry.name
                );
                Error::file(&self.path, problem)
            }
            _ => Error::io(&self.path)(error),
        })
    }

    fn damaged(&self, entry: &Entry, block: Option<usize>) -> Error {
        let name = &entry.name;
        let place = match block {
            Some(block) => {
                let start = entry.range.start + block * BLOCK;
                let end = (start + BLOCK).min(entry.range.end);
                format!("the checksum of its block {block}, bytes {start} to {end} of the file, is another")
            }
            None => "its checksum is another".to_string(),
        };
        let problem =
            format!("section `{name}` is damaged, or was changed while it was in use: {place}; write the file again");
        Error::file(&self.path, problem)
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, bytes: &mut [u8], start: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, start)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut bytes: &mut [u8], mut start: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, start) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => (bytes, start) = (&mut bytes[count..], start + count as u64),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl Sections {
    /// Opens a file and checks its header.
    pub fn open(path: &Path) -> Result<Sections> {
        let wrong = |problem: &str| Error::file(path, problem);
        if !cfg!(all(target_endian = "little", target_pointer_width = "64")) {
            return Err(wrong("can be used on machines with 64 bits and the lowest byte first"));
        }
        Sections::of_file(files::open_regular(path)?, path)
    }

    /// Of a file that is open; `path` stands in messages.
    pub(super) fn of_file(mut file: File, path: &Path) -> Result<Sections> {
        let length = file.metadata().map_err(Error::io(path))?.len();
        let mut header = Vec::new();
        file.seek(SeekFrom::Start(0)).map_err(Error::io(path))?;
        (&file).take(PAGE as u64).read_to_end(&mut header).map_err(Error::io(path))?;
        let (version, entries) = entries(&header, length).map_err(|problem| Error::file(path, problem))?;
        Ok(Sections(Arc::new(Opened { path: path.to_path_buf(), file, length: length as usize, version, entries })))
    }

    /// The numbers of a section, if there is one of this name.
    pub fn get<T: Plain>(&self, name: &str) -> Result<Option<Section<T>>> {
        let Some(at) = self.0.entries.iter().position(|entry| entry.name == name) else { return Ok(None) };
        let bytes = self.0.entries[at].range.len();
        if !bytes.is_multiple_of(size_of::<T>()) {
            let problem = format!("section `{name}` has {bytes} bytes; expected numbers of {}", size_of::<T>());
            return Err(Error::file(self.path(), problem));
        }
        Ok(Some(Section { file: self.0.clone(), at, len: bytes / size_of::<T>(), kind: PhantomData }))
    }

    /// Reads all sections and compares their checksums.
    pub fn verify(&self) -> Result<()> {
        self.verify_all_but(&[])
    }

    /// As [`Sections::verify`], but for some sections, all of which are read elsewhere.
    pub fn verify_all_but(&self, names: &[&str]) -> Result<()> {
        for entry in self.0.entries.iter().filter(|entry| !names.contains(&entry.name.as_str())) {
            let known = self.0.version == WITHOUT_BLOCKS && entry.blocks.get().is_none();
            self.0.checksums(entry)?;
            if known {
                continue;
            }
            let mut piece = vec![0; PIECE.min(entry.range.len())];
            for start in (0..entry.range.len()).step_by(PIECE) {
                interrupt::check();
                let length = PIECE.min(entry.range.len() - start);
                self.0.read_blocks(entry, start / BLOCK, &mut piece[..length])?;
            }
        }
        Ok(())
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// The size of the file.
    pub fn num_bytes(&self) -> usize {
        self.0.length
    }
}
