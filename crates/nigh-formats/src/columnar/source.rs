//! The bytes of a file, by place, and how much memory may be made of them.

use crate::files::{self, ReadSeek};
use crate::{Parsed, memory};
use std::io::{Read, Seek, SeekFrom};

/// A file and its length, with which every claim is compared.
pub(super) struct SeekSource {
    input: Box<dyn ReadSeek>,
    length: u64,
}

impl SeekSource {
    pub fn new(mut input: impl ReadSeek + 'static) -> std::io::Result<SeekSource> {
        let length = files::length(&mut input)?;
        Ok(SeekSource { input: Box::new(input), length })
    }

    pub fn length(&self) -> u64 {
        self.length
    }

    /// `count` bytes from `start`. Memory is allocated only if the file has them.
    pub fn bytes(&mut self, start: u64, count: u64, what: &str) -> Parsed<Vec<u8>> {
        let end = start.checked_add(count).filter(|&end| end <= self.length);
        if end.is_none() {
            return Err(format!("{what}: {count} bytes from byte {start} on, but the file ends at {}", self.length));
        }
        let bytes = memory::vector(count as usize, || format!("{what} of {count} bytes"));
        let mut bytes = bytes.map_err(|problem| problem.to_string())?;
        let read = self.input.seek(SeekFrom::Start(start));
        let read = read.and_then(|_| self.input.by_ref().take(count).read_to_end(&mut bytes));
        match read {
            Ok(got) if got as u64 == count => Ok(bytes),
            Ok(got) => Err(format!("{what}: {count} bytes from byte {start} on, of which only {got} could be read")),
            Err(error) => Err(format!("{what} can't be read: {error}")),
        }
    }
}

/// A repeated value takes next to nothing in a file. What all values together may take in memory is bounded by the
/// length of the file, generously: a wide table that is mostly zeros is no attack.
pub(super) struct Budget {
    length: u64,
    left: u64,
}

const GROWTH: u64 = 2000;
const GROWTH_FREE: u64 = 256 << 20;

impl Budget {
    pub fn new(source: &SeekSource) -> Budget {
        let length = source.length();
        Budget { length, left: length.saturating_mul(GROWTH).saturating_add(GROWTH_FREE) }
    }

    /// To be called before this many bytes of values are allocated.
    pub fn spend(&mut self, bytes: u64) -> Parsed<()> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| {
            format!("claims more values than {GROWTH} times its length of {} bytes; that is a bomb", self.length)
        })?;
        Ok(())
    }
}
