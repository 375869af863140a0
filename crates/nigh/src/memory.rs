//! A limit of memory, as users write it.

use crate::error::Error;
use std::fmt;
use std::str::FromStr;

/// Bytes of memory that a run may take: `8GiB`, `500MB`, `2G` or a number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Memory {
    bytes: usize,
}

/// Units and their size; the short ones are those of 1024, as other programs have them.
const UNITS: &[(&str, f64)] = &[
    ("KiB", 1024.0),
    ("MiB", 1048576.0),
    ("GiB", 1073741824.0),
    ("TiB", 1099511627776.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("K", 1024.0),
    ("M", 1048576.0),
    ("G", 1073741824.0),
    ("T", 1099511627776.0),
    ("B", 1.0),
];

impl Memory {
    /// An error for a run that needs at least `least`, more than this limit, with what to do.
    pub fn too_little(self, least: Memory, remedy: &str) -> Error {
        Error::setting("memory", self, format!("this run takes {least} at least; {remedy}"))
    }

    /// So many bytes.
    pub fn new(bytes: usize) -> Memory {
        Memory { bytes }
    }

    /// What this process may still take, where the system says so: of the machine, of its control groups and by the limits of the
    /// process (`ulimit -v`).
    pub fn available() -> Option<Memory> {
        let bytes = nigh_formats::memory::left()?;
        Some(Memory { bytes: bytes.try_into().unwrap_or(usize::MAX) })
    }

    /// In bytes.
    pub fn bytes(self) -> usize {
        self.bytes
    }
}

impl FromStr for Memory {
    type Err = String;

    fn from_str(text: &str) -> Result<Memory, String> {
        let lower = text.trim().to_lowercase();
        let unit = UNITS.iter().find_map(|(unit, size)| Some((lower.strip_suffix(&unit.to_lowercase())?, *size)));
        let (number, size) = unit.unwrap_or((&lower, 1.0));
        let bytes = number.trim().parse::<f64>().ok().map(|number| number * size);
        match bytes.filter(|bytes| (1.0..=9e15).contains(bytes)) {
            Some(bytes) => Ok(Memory { bytes: bytes as usize }),
            None => Err("expected a size of memory such as 8GiB or 500MB".into()),
        }
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.bytes as f64;
        let (unit, size) = UNITS[..4].iter().rev().find(|unit| bytes >= unit.1).copied().unwrap_or(("B", 1.0));
        let value = bytes / size;
        if value.fract() == 0.0 { write!(f, "{value} {unit}") } else { write!(f, "{value:.1} {unit}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in
            [("8GiB", 8 << 30), ("8 gib", 8 << 30), ("2G", 2 << 30), ("500MB", 500_000_000), ("1.5k", 1536), ("64", 64)]
        {
            assert_eq!(text.parse::<Memory>().unwrap().bytes(), bytes, "{text}");
        }
        for text in ["", "GiB", "-1GiB", "8 bytes", "NaN", "inf", "0", "1e30"] {
            assert!(text.parse::<Memory>().is_err(), "{text}");
        }
        for (bytes, text) in [(8 << 30, "8 GiB"), (1 << 29, "512 MiB"), (1_500_000, "1.4 MiB"), (7, "7 B")] {
            assert_eq!(Memory::new(bytes).to_string(), text);
        }
    }
}
