//! The lines of a text one at a time, in the same memory.

use crate::error::{Error, Result};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// Lines with their numbers.
pub(crate) struct Lines<'a, R> {
    path: &'a Path,
    source: R,
    /// Longer ones are refused.
    longest: u64,
    /// Of the line, counted from one.
    pub number: usize,
    pub line: Vec<u8>,
}

impl<'a, R: Read> Lines<'a, BufReader<R>> {
    pub fn new(path: &'a Path, source: R, longest: u64) -> Self {
        Lines { path, source: BufReader::with_capacity(1 << 18, source), longest, number: 0, line: Vec::new() }
    }
}

impl<R: BufRead> Lines<'_, R> {
    /// Reads the next line; false at the end.
    pub fn next(&mut self) -> Result<bool> {
        self.line.clear();
        let mut source = self.source.by_ref().take(self.longest);
        let read = source.read_until(b'\n', &mut self.line).map_err(Error::io(self.path))?;
        self.number += 1;
        if read as u64 == self.longest {
            return Err(self.error(format!("a line of more than {} bytes", self.longest)));
        }
        Ok(read > 0)
    }

    pub fn text(&self) -> Result<&str> {
        std::str::from_utf8(&self.line).map_err(|_| self.error("is not UTF-8 text"))
    }

    /// Something wrong with the line.
    pub fn error(&self, problem: impl Into<String>) -> Error {
        Error::line(self.path, self.number, problem)
    }
}
