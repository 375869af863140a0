//! NumPy's arrays: `.npy`, and `.npz`, which is a zip of them. Nothing is executed, and memory is allocated only for
//! bytes that are present.
//!
//! The header is read by hand, since `npyz` trusts it: it allocates up to 4 GiB for the text before it looks, and its
//! product of the dimensions overflows.

mod header;
mod rows;
mod write;

pub use self::rows::NpyRows;
pub use self::write::{NpyNumber, NpzWriter, write, write_header};

use self::header::{EntryKind, NpyHeader};
use crate::Texts;
use crate::error::{Error, Result};
use crate::files::{self, ReadSeek};
use crate::memory;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use zip::ZipArchive;
use zip::result::ZipError;

/// No member of an archive may be longer; nor may an array without entries claim a side beyond it.
const LIMIT: u64 = 2 << 30;
/// A member that grows more than this, beyond `GROWTH_FREE`, is a bomb.
const GROWTH: u64 = 1000;
const GROWTH_FREE: u64 = 1 << 20;
/// Eight dimensions need a few hundred bytes.
const HEADER_LIMIT: u64 = 1 << 16;

/// An array, not decoded yet.
#[derive(Debug)]
pub struct NpyArray {
    origin: ArrayOrigin,
    kind: EntryKind,
    big_endian: bool,
    fortran_order: bool,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

/// Where an array was found, for messages.
#[derive(Debug, Clone)]
struct ArrayOrigin {
    path: PathBuf,
    member: Option<String>,
}

/// A `.npz` file, of which only the requested members are read.
pub struct NpzArchive {
    path: PathBuf,
    length: u64,
    zip: ZipArchive<BufReader<Box<dyn ReadSeek>>>,
}

/// Opens and reads a `.npy` file.
pub fn open(path: &Path) -> Result<NpyArray> {
    read(path, files::open_input(path)?)
}

/// Reads the content of a `.npy` file; `name` stands in messages.
pub fn read(name: &Path, mut source: impl ReadSeek) -> Result<NpyArray> {
    let length = files::length(&mut source).map_err(Error::io(name))?;
    let origin = ArrayOrigin { path: name.to_path_buf(), member: None };
    NpyArray::read(BufReader::new(source), length, length, origin)
}

impl NpzArchive {
    /// Opens a `.npz` file and reads its list of members.
    pub fn open(path: &Path) -> Result<NpzArchive> {
        NpzArchive::read(path, files::open_input(path)?)
    }

    /// Reads the list of members of a `.npz` file; `name` stands in messages.
    pub fn read(name: &Path, mut source: impl ReadSeek + 'static) -> Result<NpzArchive> {
        let length = files::length(&mut source).map_err(Error::io(name))?;
        let source: Box<dyn ReadSeek> = Box::new(source);
        let zip = ZipArchive::new(BufReader::new(source))
            .map_err(|error| Error::file(name, format!("is not a readable .npz archive: {error}")))?;
        if zip.has_duplicate_names() {
            return Err(Error::file(name, "holds two members of the same name"));
        }
        Ok(NpzArchive { path: name.to_path_buf(), length, zip })
    }

    /// The name of the file, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The names of the arrays, in the order of the file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let names = self.zip.file_names_raw().filter_map(|name| std::str::from_utf8(name).ok());
        names.filter_map(|name| name.strip_suffix(".npy"))
    }

    /// Whether there is an array of this name.
    pub fn holds(&self, name: &str) -> bool {
        self.names().any(|held| held == name)
    }

    /// Reads one array.
    pub fn array(&mut self, name: &str) -> Result<NpyArray> {
        let origin = ArrayOrigin { path: self.path.clone(), member: Some(name.to_string()) };
        let Some(index) = self.zip.index_for_name(&format!("{name}.npy")) else {
            let known: Vec<&str> = self.names().take(20).collect();
            return Err(Error::file(&self.path, format!("no member `{name}`; it holds {}", known.join(", "))));
        };
        let unreadable = |error: ZipError| origin.error(format!("can't be unpacked: {error}"));
        let entry = self.zip.by_index(index).map_err(unreadable)?;
        let (packed, length) = (entry.compressed_size(), entry.size());
        if packed > self.length {
            let problem = format!("claims {packed} packed bytes in a file of {}", self.length);
            return Err(origin.error(problem));
        }
        if length > LIMIT {
            return Err(origin.error(format!("claims {length} bytes, more than 2 GiB")));
        }
        if length > packed * GROWTH + GROWTH_FREE {
            let problem = format!("claims to unpack {packed} bytes into {length}; that is a zip bomb");
            return Err(origin.error(problem));
        }
        NpyArray::read(entry, length, packed, origin)
    }
}

impl ArrayOrigin {
    fn error(&self, problem: impl Into<String>) -> Error {
        let problem = problem.into();
        match &self.member {
            None => Error::file(&self.path, problem),
            Some(member) => Error::file(&self.path, format!("member `{member}`: {problem}")),
        }
    }
}

/// The header of an array, of whose bytes `take` gives the next: what they are, and how many.
fn read_header(origin: &ArrayOrigin, mut take: impl FnMut(&str, u64) -> Result<Vec<u8>>) -> Result<NpyHeader> {
    let start = take("first bytes", 8)?;
    if !start.starts_with(b"\x93NUMPY") {
        return Err(origin.error("is not a .npy array: it does not start with \\x93NUMPY"));
    }
    let size = match start[6] {
        1 => take("header length", 2)?,
        2 | 3 => take("header length", 4)?,
        version => return Err(origin.error(format!(".npy version {version} is unknown; versions are 1, 2 and 3"))),
    };
    let size = size.iter().rev().fold(0, |size, &byte| size << 8 | u64::from(byte));
    if size > HEADER_LIMIT {
        return Err(origin.error(format!("has a header of {size} bytes; {HEADER_LIMIT} are plenty")));
    }
    NpyHeader::parse(&take("header", size)?).map_err(|problem| origin.error(problem))
}

impl NpyArray {
    /// From a source that claims `length` bytes, of which `present` are known to exist.
    fn read(mut source: impl Read, length: u64, present: u64, origin: ArrayOrigin) -> Result<NpyArray> {
        let mut left = length;
        let mut take = |what: &str, count: u64| -> Result<Vec<u8>> {
            let short = |there: u64| {
                origin.error(format!("ends within its {what}, which should be {count} bytes and is {there}"))
            };
            left = left.checked_sub(count).ok_or_else(|| short(left))?;
            let room = memory::vector(count.min(present) as usize, || format!("its {what} of {count} bytes"));
            let mut bytes = room.map_err(|problem| origin.error(problem.to_string()))?;
            let got = source.by_ref().take(count).read_to_end(&mut bytes);
            let got = got.map_err(|error| origin.error(format!("can't be read: {error}")))?;
            if (got as u64) < count { Err(short(got as u64)) } else { Ok(bytes) }
        };
        let header = read_header(&origin, &mut take)?;
        let (kind, big_endian) = header.kind().map_err(|problem| origin.error(problem))?;
        let count = header.num_bytes(kind).map_err(|problem| origin.error(problem))?;
        let bytes = take("entries", count)?;
        // One byte further, an archive also compares its checksum.
        match source.read(&mut [0]) {
            Ok(0) => {}
            Ok(_) => return Err(origin.error("continues after its last entry")),
            Err(error) => return Err(origin.error(format!("can't be read: {error}"))),
        }
        let shape = header.shape.iter().map(|&side| side as usize).collect();
        Ok(NpyArray { origin, kind, big_endian, fortran_order: header.fortran_order, shape, bytes })
    }

    /// The length of each side; none for a single number.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Every entry as an integer, the last side running fastest.
    pub fn integers(&self) -> Result<Vec<i64>> {
        let unsigned = |values: Vec<u64>| -> Result<Vec<i64>> {
            let whole = |value: u64| i64::try_from(value).map_err(|_| self.error(format!("{value} is too large")));
            values.into_iter().map(whole).collect()
        };
        Ok(match self.kind {
            EntryKind::Bool => self.decode(|[byte]: [u8; 1]| i64::from(byte != 0))?,
            EntryKind::Int(1) => self.decode(|item| i8::from_le_bytes(item).into())?,
            EntryKind::Int(2) => self.decode(|item| i16::from_le_bytes(item).into())?,
            EntryKind::Int(4) => self.decode(|item| i32::from_le_bytes(item).into())?,
            EntryKind::Int(_) => self.decode(i64::from_le_bytes)?,
            EntryKind::Uint(1) => self.decode(|item| u8::from_le_bytes(item).into())?,
            EntryKind::Uint(2) => self.decode(|item| u16::from_le_bytes(item).into())?,
            EntryKind::Uint(4) => self.decode(|item| u32::from_le_bytes(item).into())?,
            EntryKind::Uint(_) => unsigned(self.decode(u64::from_le_bytes)?)?,
            EntryKind::Float(size) => {
                return Err(self.error(format!("holds {}-bit floats where whole numbers are expected", 8 * size)));
            }
            EntryKind::Bytes(_) | EntryKind::Characters(_) => {
                return Err(self.error("holds texts where numbers are expected"));
            }
        })
    }

    /// Every entry as a number, rounded to 32 bits, the last side running fastest. Infinities and NaN pass.
    pub fn floats(&self) -> Result<Vec<f32>> {
        Ok(match self.kind {
            EntryKind::Float(2) => self.decode(|item| half(u16::from_le_bytes(item)))?,
            EntryKind::Float(4) => self.decode(f32::from_le_bytes)?,
            EntryKind::Float(_) => self.decode(|item| f64::from_le_bytes(item) as f32)?,
            EntryKind::Uint(8) => self.decode(|item| u64::from_le_bytes(item) as f32)?,
            _ => {
                let integers = self.integers()?;
                let mut values = self.room(integers.len())?;
                values.extend(integers.into_iter().map(|value| value as f32));
                values
            }
        })
    }

    /// Every entry as text; integers are printed.
    pub fn texts(&self) -> Result<Texts> {
        let mut texts = Texts::default();
        // A text of each, and where it ends; twice while it grows.
        let count = self.shape.iter().fold(1u64, |count, &side| count.saturating_mul(side as u64));
        let bytes = count.saturating_mul(16).saturating_add(2 * self.bytes.len() as u64);
        memory::check(bytes, || self.in_words()).map_err(|problem| self.error(problem.to_string()))?;
        match self.kind {
            EntryKind::Bytes(size) => {
                for item in self.bytes.chunks_exact(size) {
                    let end = item.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
                    texts.push_bytes(&item[..end]).map_err(|problem| self.error(problem))?;
                }
            }
            EntryKind::Characters(count) => {
                for item in self.bytes.chunks_exact(4 * count) {
                    let codes = item.as_chunks::<4>().0.iter();
                    let code = |&code: &[u8; 4]| {
                        if self.big_endian { u32::from_be_bytes(code) } else { u32::from_le_bytes(code) }
                    };
                    let text: Option<String> =
                        codes.map(code).take_while(|&code| code != 0).map(char::from_u32).collect();
                    texts.push(&text.ok_or_else(|| self.error("holds a text with an invalid character"))?);
                }
            }
            _ => return Ok(self.integers()?.iter().map(i64::to_string).collect()),
        }
        Ok(texts)
    }

    /// Something wrong with the array.
    pub fn error(&self, problem: impl Into<String>) -> Error {
        self.origin.error(problem)
    }

    /// An empty vector for so many of its entries. A small archive may hold billions of zeros.
    fn room<T>(&self, count: usize) -> Result<Vec<T>> {
        memory::vector(count, || self.in_words()).map_err(|problem| self.error(problem.to_string()))
    }

    fn in_words(&self) -> String {
        let sides: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        format!("an array of {} entries", sides.join(" × "))
    }

    fn decode<const SIZE: usize, T: Copy>(&self, value: impl Fn([u8; SIZE]) -> T) -> Result<Vec<T>> {
        let items = self.bytes.as_chunks::<SIZE>().0.iter();
        let reversed = |mut item: [u8; SIZE]| {
            item.reverse();
            item
        };
        let mut values = self.room(items.len())?;
        match self.big_endian {
            false => values.extend(items.map(|&item| value(item))),
            true => values.extend(items.map(|&item| value(reversed(item)))),
        }
        // Without entries the sides may still be long.
        if !self.fortran_order || self.shape.len() < 2 || values.is_empty() {
            return Ok(values);
        }
        let mut ordered = self.room(values.len())?;
        last_side_fastest(&values, &self.shape, 0, 1, &mut ordered);
        Ok(ordered)
    }
}

/// Reorders entries whose first side runs fastest; `shape` are the sides still to be walked, from `start`.
fn last_side_fastest<T: Copy>(values: &[T], shape: &[usize], start: usize, stride: usize, ordered: &mut Vec<T>) {
    match shape {
        [] => ordered.push(values[start]),
        [side, rest @ ..] => {
            (0..*side).for_each(|at| last_side_fastest(values, rest, start + at * stride, stride * side, ordered));
        }
    }
}

/// A 16-bit float: 1 sign, 5 exponent and 10 fraction bits.
pub(crate) fn half(bits: u16) -> f32 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023));
    let size = match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1024.0 + fraction) * 2f32.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{damaged, headed, ints, npy, npz};
    use proptest::prelude::*;
    use zip::CompressionMethod::{Deflated, Stored};

    fn array(bytes: &[u8]) -> Result<NpyArray> {
        let (origin, length) = (ArrayOrigin { path: "x.npy".into(), member: None }, bytes.len() as u64);
        NpyArray::read(bytes, length, length, origin)
    }

    fn message(bytes: &[u8]) -> String {
        array(bytes).unwrap_err().to_string().strip_prefix("x.npy: ").unwrap().to_string()
    }

    fn with_archive<T>(bytes: &[u8], then: impl FnOnce(&mut NpzArchive) -> Result<T>) -> Result<T> {
        then(&mut NpzArchive::read(Path::new("x.npz"), std::io::Cursor::new(bytes.to_vec()))?)
    }

    fn archive_message(bytes: &[u8], name: &str) -> String {
        let error = with_archive(bytes, |archive| archive.array(name)).unwrap_err().to_string();
        error.split_once("x.npz: ").unwrap().1.to_string()
    }

    /// Writes a number into the entry of the only member in the list at the end of the archive.
    fn forged(mut bytes: Vec<u8>, offset: usize, value: u32) -> Vec<u8> {
        let entry = bytes.windows(4).rposition(|window| window == b"PK\x01\x02").unwrap();
        bytes[entry + offset..][..4].copy_from_slice(&value.to_le_bytes());
        bytes
    }
    const PACKED: usize = 20;
    const UNPACKED: usize = 24;

    #[test]
    fn every_type_is_read_in_either_byte_order() {
        let whole: [(&str, &[u8], i64); 10] = [
            ("|b1", &[1], 1),
            ("|i1", &[0xfe], -2),
            ("<i2", &[0xfe, 0xff], -2),
            (">i2", &[0xff, 0xfe], -2),
            ("<i4", &(-3i32).to_le_bytes(), -3),
            (">i8", &(-3i64).to_be_bytes(), -3),
            ("|u1", &[0xfe], 254),
            (">u2", &[1, 2], 258),
            ("<u4", &[0xff; 4], 0xffff_ffff),
            (">u8", &7u64.to_be_bytes(), 7),
        ];
        for (descr, data, value) in whole {
            let array = array(&npy(descr, "(1,)", data)).unwrap();
            assert_eq!(array.integers().unwrap(), [value], "{descr}");
            assert_eq!(array.floats().unwrap(), [value as f32], "{descr}");
        }
        let floats: [(&str, &[u8], f32); 6] = [
            ("<f4", &1.5f32.to_le_bytes(), 1.5),
            (">f4", &1.5f32.to_be_bytes(), 1.5),
            ("<f8", &(-0.1f64).to_le_bytes(), -0.1),
            (">f8", &0.1f64.to_be_bytes(), 0.1),
            ("<f2", &[0x00, 0xc1], -2.5),
            ("<u8", &[0xff; 8], u64::MAX as f32),
        ];
        for (descr, data, value) in floats {
            assert_eq!(array(&npy(descr, "(1,)", data)).unwrap().floats().unwrap(), [value], "{descr}");
        }
        let too_large = array(&npy("<u8", "(1,)", &[0xff; 8])).unwrap().integers().unwrap_err();
        assert_eq!(too_large.to_string(), "x.npy: 18446744073709551615 is too large");
        let floats = array(&npy("<f8", "(0,)", &[])).unwrap().integers().unwrap_err();
        assert_eq!(floats.to_string(), "x.npy: holds 64-bit floats where whole numbers are expected");
    }

    #[test]
    fn sixteen_bit_floats_are_exact() {
        let known = [(0x3c00, 1.0), (0x0001, 2f32.powi(-24)), (0x7bff, 65504.0), (0x8400, -(2f32.powi(-14)))];
        known.iter().for_each(|&(bits, value)| assert_eq!(half(bits), value));
        assert_eq!((half(0x7c00), half(0xfc00)), (f32::INFINITY, f32::NEG_INFINITY));
        assert!(half(0x7e00).is_nan() && half(0x8000).is_sign_negative());
    }

    #[test]
    fn both_orders_of_entries_and_all_versions_mean_the_same() {
        let c = npy("|u1", "(2, 3)", &[1, 2, 3, 4, 5, 6]);
        let fortran = headed("{\"fortran_order\":True,\"descr\":\"|u1\",\"shape\":(2L,3L)}  \n", &[1, 4, 2, 5, 3, 6]);
        for bytes in [&c, &fortran] {
            let array = array(bytes).unwrap();
            assert_eq!((array.shape(), array.integers().unwrap()), (&[2, 3][..], vec![1, 2, 3, 4, 5, 6]));
        }
        for version in [2, 3] {
            let mut bytes = c.clone();
            bytes[6] = version;
            bytes.splice(10..10, [0, 0]);
            assert_eq!(array(&bytes).unwrap().integers().unwrap(), [1, 2, 3, 4, 5, 6]);
        }
        let cube = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2, 2)}";
        let cube = array(&headed(cube, &[0, 4, 2, 6, 1, 5, 3, 7])).unwrap();
        assert_eq!(cube.integers().unwrap(), [0, 1, 2, 3, 4, 5, 6, 7]);
        let number = array(&npy("|u1", "()", &[9])).unwrap();
        assert_eq!((number.shape(), number.integers().unwrap()), (&[][..], vec![9]));
        let empty = array(&headed("{'descr': '|u1', 'fortran_order': True, 'shape': (1000000, 0)}", &[])).unwrap();
        assert!(empty.floats().unwrap().is_empty());
    }

    #[test]
    fn what_a_header_claims_is_not_believed() {
        let claims = |shape: &str| message(&npy("<f8", shape, &[0; 8]));
        let rows = "ends within its entries, which should be 9223372036854775800 bytes and is 8";
        assert_eq!(claims("(1152921504606846975,)"), rows);
        assert_eq!(claims("(1152921504606846976,)"), "claims 1152921504606846976 entries, more than any file holds");
        assert_eq!(
            claims("(4294967296, 4294967296)"),
            "claims 4294967296 × 4294967296 entries, more than any file holds"
        );
        assert_eq!(claims("(4294967296, 0)"), "claims 4294967296 × 0 entries, more than any file holds");
        assert_eq!(claims("(-3,)"), "has a negative dimension, -3");
        assert_eq!(
            claims("(99999999999999999999,)"),
            "has a dimension of 99999999999999999999, more than any file holds"
        );
        assert_eq!(claims("(1,1,1,1,1,1,1,1,1)"), "has more than 8 dimensions");
        assert_eq!(claims("(2,)"), "ends within its entries, which should be 16 bytes and is 8");
        assert_eq!(claims("(0,)"), "continues after its last entry");
    }

    #[test]
    fn errors_distinguish_broken_headers() {
        assert_eq!(message(b""), "ends within its first bytes, which should be 8 bytes and is 0");
        assert_eq!(message(b"PK\x03\x04 no array"), "is not a .npy array: it does not start with \\x93NUMPY");
        assert_eq!(message(b"\x93NUMPY\x04\0\x01\0"), ".npy version 4 is unknown; versions are 1, 2 and 3");
        let longer = message(b"\x93NUMPY\x01\0\xff\xff{'descr'");
        assert_eq!(longer, "ends within its header, which should be 65535 bytes and is 8");
        let endless = message(b"\x93NUMPY\x02\0\xff\xff\xff\xff{}");
        assert_eq!(endless, "has a header of 4294967295 bytes; 65536 are plenty");
    }

    #[test]
    fn members_are_read_stored_or_deflated_and_only_on_request() {
        let members = [("a", ints(&[1, 2, 3])), ("classes", npy("|O", "(2,)", b"a pickle")), ("b", ints(&[4]))];
        for method in [Stored, Deflated] {
            let bytes = npz(&members, method);
            let read = with_archive(&bytes, |archive| {
                assert_eq!(archive.names().collect::<Vec<_>>(), ["a", "classes", "b"]);
                Ok((archive.array("b")?.integers()?, archive.array("a")?.integers()?))
            });
            assert_eq!(read.unwrap(), (vec![4], vec![1, 2, 3]));
            let pickled =
                "member `classes`: holds pickled Python objects, which are never read; save it as plain numbers";
            assert_eq!(archive_message(&bytes, "classes"), pickled);
            assert_eq!(archive_message(&bytes, "c"), "no member `c`; it holds a, classes, b");
        }
    }

    #[test]
    fn bombs_and_forged_archives_are_refused() {
        let zeros = npz(&[("a", npy("|u1", "(3000000,)", &vec![0; 3_000_000]))], Deflated);
        assert!(with_archive(&zeros, |archive| archive.array("a")).is_ok(), "much alike is no bomb");
        let bomb = archive_message(&forged(zeros.clone(), UNPACKED, 2_000_000_000), "a");
        assert!(bomb.starts_with("member `a`: claims to unpack ") && bomb.ends_with("; that is a zip bomb"), "{bomb}");
        let huge = archive_message(&forged(zeros.clone(), UNPACKED, 3_000_000_000), "a");
        assert_eq!(huge, "member `a`: claims 3000000000 bytes, more than 2 GiB");
        let packed = archive_message(&forged(zeros.clone(), PACKED, 0x7fff_ffff), "a");
        assert!(packed.starts_with("member `a`: claims 2147483647 packed bytes in a file of "), "{packed}");
        // It unpacks to more than it claims.
        let more = archive_message(&forged(zeros, UNPACKED, 1000), "a");
        assert!(more.starts_with("member `a`: ends within its entries, which should be 3000000 bytes"), "{more}");

        let mut flipped = npz(&[("a", ints(&[1, 2, 3]))], Stored);
        let at = flipped.windows(4).position(|window| window == 3i32.to_le_bytes()).unwrap();
        flipped[at + 1] ^= 1;
        let checksum = archive_message(&flipped, "a");
        assert!(checksum.starts_with("member `a`: can't be read: ") && checksum.contains("hecksum"), "{checksum}");

        let mut twins = npz(&[("a", ints(&[1])), ("b", ints(&[2]))], Stored);
        while let Some(at) = twins.windows(5).position(|window| window == b"b.npy") {
            twins[at] = b'a';
        }
        assert_eq!(archive_message(&twins, "a"), "holds two members of the same name");
        let folder = tempfile::tempdir().unwrap();
        assert!(
            NpzArchive::open(folder.path())
                .err()
                .unwrap()
                .to_string()
                .ends_with(": is a folder; expected a regular file")
        );
        assert!(archive_message(b"no zip at all", "a").starts_with("is not a readable .npz archive: "));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn no_bytes_make_an_array_panic(
            noise in prop::collection::vec(any::<u8>(), 0..200),
            header in "[{}(),:'\"LTrueFalse0-9descr<>|fiu \\-]{0,80}",
            changes in prop::collection::vec((any::<usize>(), any::<u8>()), 0..4), cut in 0..3usize,
        ) {
            let fortran = "{'descr': '>f4', 'fortran_order': True, 'shape': (2, 3), }\n";
            for bytes in [noise.clone(), headed(&header, &noise), damaged(headed(fortran, &[7; 24]), &changes, cut)] {
                if let Ok(array) = array(&bytes) {
                    let length = array.floats().map_or_else(|_| array.texts().map_or(0, |texts| texts.len()), |floats| floats.len());
                    prop_assert!(length == 0 || length == array.shape().iter().product::<usize>());
                    let _ = array.integers();
                }
            }
        }

        #[test]
        fn no_bytes_make_an_archive_panic(
            noise in prop::collection::vec(any::<u8>(), 0..200), deflated: bool,
            changes in prop::collection::vec((any::<usize>(), any::<u8>()), 0..4), cut in 0..3usize,
        ) {
            let valid = npz(&[("a", ints(&[1, 2])), ("b", npy("<f8", "(1,)", &[1; 8]))], [Stored, Deflated][usize::from(deflated)]);
            for bytes in [noise, damaged(valid, &changes, cut)] {
                let _ = with_archive(&bytes, |archive| {
                    let names: Vec<String> = archive.names().map(str::to_string).collect();
                    names.iter().for_each(|name| drop(archive.array(name).map(|array| array.floats())));
                    Ok(())
                });
            }
        }
    }
}
