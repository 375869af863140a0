//! Matlab's `.mat` files of version 5, which Matlab calls 5, 6 and 7: matrices of numbers, sparse or full, compressed or not.

use crate::compressed;
use crate::error::{Error, Parsed, Result};
use crate::files::MAX_BYTES;
use crate::matrix_market::SparseEntries;
use crate::memory;
use flate2::read::ZlibDecoder;
use std::io::{BufReader, Read};
use std::path::Path;

/// A named matrix.
#[derive(Debug, PartialEq)]
pub struct MatVariable {
    /// Its name in Matlab.
    pub name: String,
    /// What it holds.
    pub value: MatValue,
}

/// What a variable holds.
#[derive(Debug, PartialEq)]
pub enum MatValue {
    /// A sparse matrix, its entries column by column.
    Sparse(SparseEntries),
    /// A full matrix.
    Full {
        /// Number of rows.
        rows: usize,
        /// Number of columns.
        cols: usize,
        /// Row by row, rounded to 32 bits.
        values: Vec<f32>,
    },
    /// Something else, in words.
    Other(&'static str),
}

const HEADER: usize = 128;

/// Types of elements.
const MATRIX: u32 = 14;
const COMPRESSED: u32 = 15;

/// Whether content that starts with these bytes is such a file.
pub fn is_start(start: &[u8]) -> bool {
    matches!(start.get(124..HEADER), Some([0, 1, b'I', b'M'] | [1, 0, b'M', b'I']))
}

/// Opens and reads a file.
pub fn open(path: &Path) -> Result<Vec<MatVariable>> {
    read(path, compressed::open(path)?)
}

/// Reads all variables; `name` stands in messages.
pub fn read(name: &Path, source: impl Read) -> Result<Vec<MatVariable>> {
    let wrong = |problem: String| Error::file(name, problem);
    let mut source = BufReader::with_capacity(1 << 18, source);
    let header = take(&mut source, HEADER as u64).map_err(Error::io(name))?;
    if !is_start(&header) {
        return Err(wrong("is not a Matlab file of version 5".into()));
    }
    let big_endian = header[126] == b'M';
    let mut variables = Vec::new();
    loop {
        let tag = take(&mut source, 8).map_err(Error::io(name))?;
        if tag.is_empty() {
            return Ok(variables);
        }
        let number = variables.len() + 1;
        let Some((kind, length)) = tag.split_first_chunk().map(|(kind, rest)| {
            let number =
                |bytes: [u8; 4]| if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) };
            (number(*kind), rest.first_chunk().map_or(0, |length| u64::from(number(*length))))
        }) else {
            return Err(wrong(format!("ends within variable {number}")));
        };
        let mut bytes = take(&mut source, length).map_err(Error::io(name))?;
        if (bytes.len() as u64) < length {
            let problem =
                format!("variable {number} should be {length} bytes, but the file ends after {}", bytes.len());
            return Err(wrong(problem));
        }
        match kind {
            MATRIX => {}
            COMPRESSED => {
                let unpacked = unpacked(&bytes, big_endian, MAX_BYTES);
                bytes = unpacked.map_err(|problem| wrong(format!("variable {number} {problem}")))?;
            }
            // What programs add, such as the workspace of functions.
            _ => continue,
        }
        let variable = Elements { bytes: &bytes, big_endian }.variable();
        variables.push(variable.map_err(|problem| wrong(format!("variable {number} {problem}")))?);
    }
}

/// At most so many bytes, and no memory for those that are not there.
fn take(source: &mut impl Read, count: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.by_ref().take(count).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The content of the only element that was compressed, of at most so many bytes.
fn unpacked(packed: &[u8], big_endian: bool, most: u64) -> Parsed<Vec<u8>> {
    let bytes = take(&mut ZlibDecoder::new(packed), most + 1).map_err(|error| format!("can't be unpacked: {error}"))?;
    if bytes.len() as u64 > most {
        return Err(format!("unpacks {} bytes into more than {most}; that is a bomb", packed.len()));
    }
    match (Elements { bytes: &bytes, big_endian }).next()? {
        (MATRIX, content) => {
            let mut matrix = room(content.len())?;
            matrix.extend_from_slice(content);
            Ok(matrix)
        }
        (kind, _) => Err(format!("is compressed and of type {kind}; expected a matrix")),
    }
}

/// Elements within a variable: type, length and content, padded to eight bytes.
struct Elements<'a> {
    bytes: &'a [u8],
    big_endian: bool,
}

impl<'a> Elements<'a> {
    fn word(&self, bytes: &[u8]) -> Option<u32> {
        let word = bytes.first_chunk()?;
        Some(if self.big_endian { u32::from_be_bytes(*word) } else { u32::from_le_bytes(*word) })
    }

    fn next(&mut self) -> Parsed<(u32, &'a [u8])> {
        let short = || "ends too early".to_string();
        let first = self.word(self.bytes).ok_or_else(short)?;
        // A short element has its length in the upper half of the type, and its content behind.
        let (kind, length, start) = match first >> 16 {
            0 => (first, self.bytes.get(4..).and_then(|rest| self.word(rest)).ok_or_else(short)? as usize, 8),
            length => (first & 0xffff, length as usize, 4),
        };
        let content = self.bytes[start..].get(..length).ok_or_else(short)?;
        let padded = if start == 4 { 8 } else { start + length.next_multiple_of(8) };
        self.bytes = self.bytes.get(padded..).unwrap_or_default();
        Ok((kind, content))
    }

    /// The next element as numbers.
    fn numbers<T>(&mut self, from_integer: fn(i64) -> T, from_float: fn(f64) -> T) -> Parsed<Vec<T>> {
        let big = self.big_endian;
        let (kind, bytes) = self.next()?;
        Ok(match kind {
            1 => decoded(bytes, big, |item| from_integer(i8::from_le_bytes(item).into()))?,
            2 => decoded(bytes, big, |item| from_integer(u8::from_le_bytes(item).into()))?,
            3 => decoded(bytes, big, |item| from_integer(i16::from_le_bytes(item).into()))?,
            4 => decoded(bytes, big, |item| from_integer(u16::from_le_bytes(item).into()))?,
            5 => decoded(bytes, big, |item| from_integer(i32::from_le_bytes(item).into()))?,
            6 => decoded(bytes, big, |item| from_integer(u32::from_le_bytes(item).into()))?,
            7 => decoded(bytes, big, |item| from_float(f32::from_le_bytes(item).into()))?,
            9 => decoded(bytes, big, |item| from_float(f64::from_le_bytes(item)))?,
            12 => decoded(bytes, big, |item| from_integer(i64::from_le_bytes(item)))?,
            13 => decoded(bytes, big, |item| from_float(u64::from_le_bytes(item) as f64))?,
            _ => return Err(format!("has an element of type {kind} where numbers are expected")),
        })
    }

    fn floats(&mut self) -> Parsed<Vec<f32>> {
        self.numbers(|value| value as f32, |value| value as f32)
    }

    /// Fractions become -1, which is no index.
    fn integers(&mut self) -> Parsed<Vec<i64>> {
        self.numbers(|value| value, |value| if value.fract() == 0.0 { value as i64 } else { -1 })
    }

    fn variable(mut self) -> Parsed<MatVariable> {
        let flags = self.integers()?.first().copied().unwrap_or(0);
        let sides = self.integers()?;
        let name = String::from_utf8_lossy(self.next()?.1).into_owned();
        let value = self.value(flags, &sides).map_err(|problem| format!("(`{name}`) {problem}"))?;
        Ok(MatVariable { name, value })
    }

    fn value(&mut self, flags: i64, sides: &[i64]) -> Parsed<MatValue> {
        const COMPLEX: i64 = 0x800;
        match flags & 0xff {
            1 => return Ok(MatValue::Other("a cell array")),
            2 => return Ok(MatValue::Other("a struct")),
            4 => return Ok(MatValue::Other("text")),
            5..=15 => {}
            _ => return Ok(MatValue::Other("an object")),
        }
        if flags & COMPLEX != 0 {
            return Ok(MatValue::Other("a matrix of complex numbers"));
        }
        let &[rows, cols] = sides else { return Ok(MatValue::Other("an array of more than two dimensions")) };
        let side = |side: i64| usize::try_from(side).ok().filter(|&side| side < 1 << 31);
        let (Some(rows), Some(cols)) = (side(rows), side(cols)) else {
            return Err(format!("is {rows} × {cols}; sides must stay below 2^31"));
        };
        if flags & 0xff == 5 { self.sparse(rows, cols).map(MatValue::Sparse) } else { self.full(rows, cols) }
    }

    fn full(&mut self, rows: usize, cols: usize) -> Parsed<MatValue> {
        let by_columns = self.floats()?;
        if by_columns.len() != rows * cols {
            return Err(format!("is {rows} × {cols} and has {} values", by_columns.len()));
        }
        let mut values = room(by_columns.len())?;
        if !by_columns.is_empty() {
            (0..rows).for_each(|row| values.extend(by_columns[row..].iter().step_by(rows)));
        }
        Ok(MatValue::Full { rows, cols, values })
    }

    fn sparse(&mut self, rows: usize, cols: usize) -> Parsed<SparseEntries> {
        let (row_numbers, ends, values) = (self.integers()?, self.integers()?, self.floats()?);
        let count = ends.last().and_then(|&end| usize::try_from(end).ok()).unwrap_or(0);
        if ends.len() != cols + 1 || ends[0] != 0 || !ends.is_sorted() {
            return Err(format!("is {rows} × {cols}; expected {} bounds of columns that rise from 0", cols + 1));
        }
        // Memory that Matlab reserved may follow the entries.
        if count > row_numbers.len().min(values.len()) {
            let (there, values) = (row_numbers.len(), values.len());
            return Err(format!("announces {count} entries, but has {there} row numbers and {values} values"));
        }
        let mut entries = room(count)?;
        for (col, bounds) in (0..).zip(ends.windows(2)) {
            for &row in &row_numbers[bounds[0] as usize..bounds[1] as usize] {
                let inside = u32::try_from(row).ok().filter(|&row| (row as usize) < rows);
                entries
                    .push([inside.ok_or_else(|| format!("has an entry in row {row} of {rows}, counted from 0"))?, col]);
            }
        }
        let values = Some(values[..count].to_vec());
        SparseEntries { rows, cols, entries, values, symmetric: false }.checked()
    }
}

/// An empty vector with room for so many values. A small file may hold billions of zeros.
fn room<T>(count: usize) -> Parsed<Vec<T>> {
    memory::vector(count, || format!("{count} values")).map_err(|problem| format!("can't be held: {problem}"))
}

fn decoded<const SIZE: usize, T>(bytes: &[u8], big_endian: bool, value: impl Fn([u8; SIZE]) -> T) -> Parsed<Vec<T>> {
    let item = |&item: &[u8; SIZE]| {
        let mut item = item;
        if big_endian {
            item.reverse();
        }
        value(item)
    };
    let items = bytes.as_chunks::<SIZE>().0;
    let mut values = room(items.len())?;
    values.extend(items.iter().map(item));
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::damaged;
    use crate::samples::matlab::{MatSample, mat};
    use proptest::prelude::*;

    fn read_bytes(bytes: &[u8]) -> Result<Vec<MatVariable>> {
        read(Path::new("x.mat"), bytes)
    }

    fn message(bytes: &[u8]) -> String {
        read_bytes(bytes).unwrap_err().to_string().strip_prefix("x.mat: ").unwrap().to_string()
    }

    /// `[[0, 2, 0], [1, 0, 3]]`, and the same in full.
    const SPARSE: MatSample<'_> =
        MatSample::Sparse { shape: [2, 3], rows: &[1, 0, 1], ends: &[0, 1, 2, 3], values: &[1.0, 2.0, 3.0] };
    const FULL: MatSample<'_> = MatSample::Full { shape: [2, 3], values: &[0.0, 1.0, 2.0, 0.0, 0.0, 3.0] };

    #[test]
    fn matrices_are_read_in_either_byte_order_packed_or_not() {
        for (big_endian, packed) in [(false, false), (false, true), (true, false), (true, true)] {
            let bytes = mat(&[("net", SPARSE), ("words", MatSample::Text("hello")), ("x", FULL)], big_endian, packed);
            let read = read_bytes(&bytes).unwrap();
            let names: Vec<&str> = read.iter().map(|variable| variable.name.as_str()).collect();
            assert_eq!(names, ["net", "words", "x"]);
            let entries = vec![[1, 0], [0, 1], [1, 2]];
            let values = Some(vec![1.0, 2.0, 3.0]);
            let net = SparseEntries { rows: 2, cols: 3, entries, values, symmetric: false };
            assert_eq!(read[0].value, MatValue::Sparse(net));
            assert_eq!(read[1].value, MatValue::Other("text"));
            assert_eq!(read[2].value, MatValue::Full { rows: 2, cols: 3, values: vec![0.0, 2.0, 0.0, 1.0, 0.0, 3.0] });
        }
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        let sparse = |shape: [i32; 2], rows: &[i32], ends: &[i32]| {
            message(&mat(&[("net", MatSample::Sparse { shape, rows, ends, values: &[1.0] })], false, true))
        };
        assert_eq!(sparse([2, 2], &[2], &[0, 1, 1]), "variable 1 (`net`) has an entry in row 2 of 2, counted from 0");
        assert_eq!(sparse([2, 2], &[-1], &[0, 1, 1]), "variable 1 (`net`) has an entry in row -1 of 2, counted from 0");
        let bounds = "variable 1 (`net`) is 2 × 2; expected 3 bounds of columns that rise from 0";
        assert_eq!(sparse([2, 2], &[0], &[0, 1]), bounds);
        assert_eq!(sparse([2, 2], &[0], &[0, 2, 1]), bounds);
        assert_eq!(
            sparse([2, 2], &[0], &[0, 1, 5]),
            "variable 1 (`net`) announces 5 entries, but has 1 row numbers and 1 values"
        );
        assert_eq!(sparse([-1, 2], &[0], &[0, 1]), "variable 1 (`net`) is -1 × 2; sides must stay below 2^31");
        assert!(sparse([2_000_000_000, 1], &[0], &[0, 1]).contains("expected sides up to 10000000"));
        let full = mat(&[("x", MatSample::Full { shape: [2, 2], values: &[1.0] })], false, false);
        assert_eq!(message(&full), "variable 1 (`x`) is 2 × 2 and has 1 values");
        assert_eq!(message(b"MATLAB"), "is not a Matlab file of version 5");
        let whole = mat(&[("x", FULL)], false, false);
        assert!(message(&whole[..whole.len() - 9]).contains("but the file ends after"));
        assert_eq!(message(&whole[..130]), "ends within variable 1");
        let packed = mat(&[("x", MatSample::Full { shape: [100, 100], values: &[0.0; 10_000] })], false, true);
        let bomb = unpacked(&packed[HEADER + 8..], false, 50_000).unwrap_err();
        assert!(bomb.contains("into more than 50000; that is a bomb"), "{bomb}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn no_damage_makes_it_panic(
            packed: bool, changes in prop::collection::vec((any::<usize>(), any::<u8>()), 0..6), cut in 0usize..300,
        ) {
            let bytes = mat(&[("net", SPARSE), ("x", FULL)], false, packed);
            let _ = read_bytes(&damaged(bytes, &changes, cut));
        }
    }
}
