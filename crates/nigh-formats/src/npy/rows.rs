//! Rows of a `.npy` matrix, some at a time: for matrices beyond memory.

use super::header::EntryKind;
use super::{ArrayOrigin, read_header};
use crate::error::{Error, Result};
use crate::files;
use crate::sections::bytes_of_mut;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A matrix of single-precision numbers in a file, row by row.
#[derive(Debug)]
pub struct NpyRows {
    path: PathBuf,
    file: File,
    /// Where the first row starts.
    start: u64,
    shape: [usize; 2],
}

impl NpyRows {
    /// Reads the header, and checks that the file has all rows.
    pub fn open(path: &Path) -> Result<NpyRows> {
        let mut file = files::open_regular(path)?;
        let length = file.metadata().map_err(Error::io(path))?.len();
        let origin = ArrayOrigin { path: path.to_path_buf(), member: None };
        let mut start = 0;
        let header = read_header(&origin, |what, count| {
            start += count;
            let mut bytes = Vec::new();
            let got = (&mut file).take(count).read_to_end(&mut bytes).map_err(Error::io(path))?;
            let short = || origin.error(format!("ends within its {what}"));
            if (got as u64) < count { Err(short()) } else { Ok(bytes) }
        })?;
        let (kind, big_endian) = header.kind().map_err(|problem| origin.error(problem))?;
        let count = header.num_bytes(kind).map_err(|problem| origin.error(problem))?;
        let &[rows, cols] = &header.shape[..] else {
            return Err(origin.error(format!("has {} dimensions; expected rows and columns", header.shape.len())));
        };
        if kind != EntryKind::Float(4) || big_endian || (header.fortran_order && rows > 1 && cols > 1) {
            return Err(origin.error("expected rows of single-precision numbers, lowest byte first"));
        }
        if length != start + count {
            let problem = format!("has {length} bytes, its header says {}; was it copied to the end?", start + count);
            return Err(origin.error(problem));
        }
        Ok(NpyRows { path: path.to_path_buf(), file, start, shape: [rows as usize, cols as usize] })
    }

    /// Rows and columns.
    pub fn shape(&self) -> [usize; 2] {
        self.shape
    }

    /// Some rows, one after the other.
    pub fn read(&mut self, rows: Range<usize>, values: &mut Vec<f32>) -> Result<()> {
        let cols = self.shape[1];
        values.resize(rows.len() * cols, 0.0);
        let place = self.start + (rows.start * cols * size_of::<f32>()) as u64;
        let read = self.file.seek(SeekFrom::Start(place)).and_then(|_| self.file.read_exact(bytes_of_mut(values)));
        read.map_err(Error::io(&self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::npy::{self, write};

    #[test]
    fn rows_are_those_of_the_whole_array() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        let written: Vec<f32> = (0..60).map(|number| number as f32 / 7.0).collect();
        write(&mut File::create(&path).unwrap(), &[20, 3], written.iter().copied()).unwrap();
        let (mut rows, mut some) = (NpyRows::open(&path).unwrap(), Vec::new());
        assert_eq!(rows.shape(), [20, 3]);
        for range in [0..20, 7..9, 19..20, 4..4] {
            rows.read(range.clone(), &mut some).unwrap();
            assert_eq!(some, written[3 * range.start..3 * range.end]);
        }
        assert_eq!(npy::open(&path).unwrap().floats().unwrap(), written);
        let problem = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            NpyRows::open(&path).unwrap_err().to_string()
        };
        let bytes = std::fs::read(&path).unwrap();
        assert!(problem(&bytes[..bytes.len() - 1]).contains("was it copied to the end?"));
        assert!(problem(&bytes[..20]).contains("ends within its header"));
        let mut flat = Vec::new();
        write(&mut flat, &[60], written.iter().copied()).unwrap();
        assert!(problem(&flat).contains("has 1 dimensions"));
        let mut integers = Vec::new();
        write(&mut integers, &[2, 1], [1i64, 2]).unwrap();
        assert!(problem(&integers).contains("single-precision"));
    }
}
