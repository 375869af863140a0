//! Edges that do not fit their share of memory wait in a file without a name, bucket by bucket. The system removes it however the
//! process ends.

use crate::error::{Error, Result};
use nigh_formats::atomic::unnamed_file;
use nigh_formats::sections::{Plain, bytes_of, bytes_of_mut};
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Where edges wait, and how many bytes of them a thread keeps in memory.
#[derive(Debug, Clone)]
pub(crate) struct Spill {
    pub folder: PathBuf,
    pub bytes: usize,
}

/// Entries of a bucket: rows within it, neighbours, and weights if there are any.
#[derive(Debug, Default)]
pub(super) struct Entries {
    pub rows: Vec<u16>,
    pub neighbours: Vec<u32>,
    pub weights: Vec<f32>,
}

/// What a thread has spilled.
#[derive(Debug)]
pub(super) struct Spilled {
    spill: Spill,
    file: Option<Mutex<File>>,
    length: u64,
    /// The start and the number of the entries of each bucket, for each time that the memory was full.
    runs: Vec<Vec<(u64, usize)>>,
    weighted: bool,
    /// Edges are added where nothing can fail; the first error is kept for later.
    error: Option<io::Error>,
}

/// A part of a bucket, as it is in memory.
pub(super) type Part<'a> = (&'a [u16], &'a [u32], &'a [f32]);

impl Spilled {
    pub fn new(spill: &Spill, weighted: bool) -> Spilled {
        Spilled { spill: spill.clone(), file: None, length: 0, runs: Vec::new(), weighted, error: None }
    }

    /// Whether so many entries in memory are too many.
    pub fn is_due(&self, num_entries: usize) -> bool {
        num_entries * entry_bytes(self.weighted) >= self.spill.bytes
    }

    /// Writes all buckets that are in memory.
    pub fn write<'a, P: Iterator<Item = Part<'a>> + Clone>(&mut self, buckets: impl Iterator<Item = P>) {
        let result = self.try_write(buckets);
        self.error = self.error.take().or(result.err());
    }

    fn try_write<'a, P: Iterator<Item = Part<'a>> + Clone>(
        &mut self,
        buckets: impl Iterator<Item = P>,
    ) -> io::Result<()> {
        let file = match self.file.take() {
            Some(file) => file,
            None => unnamed_file(&self.spill.folder)?.into(),
        };
        let file = self.file.insert(file).get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut out = BufWriter::with_capacity(1 << 20, file);
        let mut run = Vec::new();
        for parts in buckets {
            let count = parts.clone().map(|part| part.0.len()).sum();
            run.push((self.length, count));
            parts.clone().try_for_each(|part| out.write_all(bytes_of(part.0)))?;
            parts.clone().try_for_each(|part| out.write_all(bytes_of(part.1)))?;
            parts.clone().try_for_each(|part| out.write_all(bytes_of(part.2)))?;
            self.length += (count * entry_bytes(self.weighted)) as u64;
        }
        out.flush()?;
        self.runs.push(run);
        Ok(())
    }

    /// How many entries of a bucket are in the file.
    pub fn len(&self, bucket: usize) -> usize {
        self.runs.iter().filter_map(|run| run.get(bucket)).map(|entries| entries.1).sum()
    }

    pub fn num_buckets(&self) -> usize {
        self.runs.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// Adds the entries of a bucket that are in the file; their rows alone if nothing else is needed.
    pub fn read(&self, bucket: usize, rows_alone: bool, entries: &mut Entries) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        for &(start, count) in self.runs.iter().filter_map(|run| run.get(bucket)).filter(|run| run.1 > 0) {
            file.seek(SeekFrom::Start(start))?;
            read_numbers(&mut *file, count, &mut entries.rows)?;
            if !rows_alone {
                read_numbers(&mut *file, count, &mut entries.neighbours)?;
                read_numbers(&mut *file, if self.weighted { count } else { 0 }, &mut entries.weights)?;
            }
        }
        Ok(())
    }

    /// The first error while edges were added.
    pub fn check(&mut self) -> Result<()> {
        self.error.take().map_or(Ok(()), |error| Err(Error::io(&self.spill.folder)(error)))
    }

    pub fn folder(&self) -> &Path {
        &self.spill.folder
    }
}

/// A row, a neighbour and perhaps a weight.
pub(super) fn entry_bytes(weighted: bool) -> usize {
    if weighted { 10 } else { 6 }
}

fn read_numbers<T: Plain + Default>(file: &mut impl Read, count: usize, numbers: &mut Vec<T>) -> io::Result<()> {
    let before = numbers.len();
    numbers.resize(before + count, T::default());
    file.read_exact(bytes_of_mut(&mut numbers[before..]))
}
