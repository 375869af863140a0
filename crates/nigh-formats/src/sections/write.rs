//! Writing sections, one after the other.

use super::{BLOCK, Entry, MAGIC, MOST, NAME, PAGE, Plain, Sections, VERSION, bytes_of};
use crate::atomic::{PartialFile, unnamed_file};
use crate::error::{Error, Result};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Writes sections one after the other; the file appears when it is complete.
pub struct SectionWriter {
    path: PathBuf,
    file: OutputFile,
    position: usize,
    entries: Vec<Entry>,
    /// Of the blocks of the last section.
    blocks: Vec<u64>,
    block: Xxh3,
    /// Bytes of its last block so far.
    block_bytes: usize,
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

    /// A new anonymous temporary file in this folder, which [`SectionWriter::into_sections`] completes. The system removes it when nobody uses
    /// it any more, however the process ends.
    pub fn unnamed(folder: &Path) -> Result<SectionWriter> {
        SectionWriter::to(OutputFile::Unnamed(unnamed_file(folder).map_err(Error::io(folder))?), folder)
    }

    fn to(mut file: OutputFile, path: &Path) -> Result<SectionWriter> {
        file.file().write_all(&[0; PAGE]).map_err(Error::io(path))?;
        Ok(SectionWriter {
            path: path.to_path_buf(),
            file,
            position: PAGE,
            entries: Vec::new(),
            blocks: Vec::new(),
            block: Xxh3::new(),
            block_bytes: 0,
            buffer: Vec::with_capacity(BUFFER),
        })
    }

    /// Begins a section; what is written from now on belongs to it.
    ///
    /// # Panics
    ///
    /// If there are too many, or if the name is too long.
    pub fn section(&mut self, name: &str) -> Result<()> {
        assert!(self.entries.len() < MOST && name.len() < NAME, "a section more, `{name}`");
        self.end_section()?;
        self.pad(PAGE)?;
        let range = self.position..self.position;
        self.entries.push(Entry { name: name.into(), range, checksum: 0, blocks: OnceLock::new() });
        Ok(())
    }

    /// Adds numbers to the section.
    pub fn write<T: Plain>(&mut self, numbers: &[T]) -> Result<()> {
        let bytes = bytes_of(numbers);
        let mut rest = bytes;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(BLOCK - self.block_bytes));
            self.block.update(now);
            self.block_bytes += now.len();
            if self.block_bytes == BLOCK {
                self.end_block();
            }
            rest = later;
        }
        self.put(bytes)
    }

    fn end_block(&mut self) {
        self.blocks.push(self.block.digest());
        self.block.reset();
        self.block_bytes = 0;
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

    fn pad(&mut self, multiple: usize) -> Result<()> {
        let padding = self.position.next_multiple_of(multiple) - self.position;
        self.put(&vec![0; padding])
    }

    /// The checksums of its blocks follow a section.
    fn end_section(&mut self) -> Result<()> {
        if self.block_bytes > 0 {
            self.end_block();
        }
        let blocks = std::mem::take(&mut self.blocks);
        let Some(entry) = self.entries.last_mut() else { return Ok(()) };
        (entry.range.end, entry.checksum) = (self.position, xxh3_64(bytes_of(&blocks)));
        self.pad(8)?;
        self.put(bytes_of(&blocks))
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
        let OutputFile::Unnamed(file) = self.file else { panic!("an anonymous temporary file") };
        Sections::of_file(file, &self.path)
    }

    fn write_header(&mut self) -> Result<()> {
        self.end_section()?;
        self.flush()?;
        let mut header = MAGIC.to_vec();
        header.extend(VERSION.to_le_bytes());
        header.extend((self.entries.len() as u32).to_le_bytes());
        header.extend((self.position as u64).to_le_bytes());
        for Entry { name, range, checksum, .. } in &self.entries {
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
