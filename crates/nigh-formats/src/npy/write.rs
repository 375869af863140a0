//! Writing `.npy` and `.npz`.

use std::io::{self, BufWriter, Seek, Write};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// A type that an entry of a written array can have.
pub trait NpyNumber: Copy {
    /// NumPy's name of its type.
    const DESCR: &'static str;

    /// Writes its bytes, the lowest first.
    fn write(self, out: &mut impl Write) -> io::Result<()>;
}

macro_rules! number {
    ($NpyNumber:ident, $descr:literal) => {
        impl NpyNumber for $NpyNumber {
            const DESCR: &'static str = $descr;

            fn write(self, out: &mut impl Write) -> io::Result<()> {
                out.write_all(&self.to_le_bytes())
            }
        }
    };
}
number!(f32, "<f4");
number!(i32, "<i4");
number!(i64, "<i8");

/// Three ASCII letters.
impl NpyNumber for [u8; 3] {
    const DESCR: &'static str = "|S3";

    fn write(self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self)
    }
}

/// Writes an array of this shape, the last side running fastest, in NumPy's format 1.0.
pub fn write<N: NpyNumber>(
    out: &mut impl Write,
    shape: &[usize],
    entries: impl IntoIterator<Item = N>,
) -> io::Result<()> {
    write_header::<N>(out, shape)?;
    entries.into_iter().try_for_each(|entry| entry.write(out))
}

/// Writes what stands before the entries of an array of this shape, which the caller writes.
pub fn write_header<N: NpyNumber>(out: &mut impl Write, shape: &[usize]) -> io::Result<()> {
    let sides: String = shape.iter().map(|side| format!("{side}, ")).collect();
    // Python's tuple of one has a comma.
    let sides = if shape.len() == 1 { sides.trim_end() } else { sides.trim_end_matches(", ") };
    let mut header = format!("{{'descr': '{}', 'fortran_order': False, 'shape': ({sides}), }}", N::DESCR);
    // The data start at a multiple of 64, after magic, version, length and a newline.
    let padding = (64 - (10 + header.len() + 1) % 64) % 64;
    header.extend(std::iter::repeat_n(' ', padding));
    header.push('\n');
    out.write_all(b"\x93NUMPY\x01\x00")?;
    out.write_all(&(header.len() as u16).to_le_bytes())?;
    out.write_all(header.as_bytes())
}

/// Writes arrays into a `.npz` file, compressed, one after the other.
pub struct NpzWriter<W: Write + Seek> {
    zip: ZipWriter<W>,
    /// A member may be longer than 4 GiB and needs longer headers.
    long: bool,
}

impl<W: Write + Seek> NpzWriter<W> {
    /// Starts a file of which no array has more entries.
    pub fn new(out: W, most_entries: usize) -> NpzWriter<W> {
        NpzWriter { zip: ZipWriter::new(out), long: most_entries >= 1 << 28 }
    }

    /// Adds an array.
    pub fn array<N: NpyNumber>(
        &mut self,
        name: &str,
        shape: &[usize],
        entries: impl IntoIterator<Item = N>,
    ) -> io::Result<()> {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        self.zip.start_file(format!("{name}.npy"), options.large_file(self.long))?;
        let mut out = BufWriter::new(&mut self.zip);
        write(&mut out, shape, entries)?;
        out.flush()
    }

    /// Adds a vector of integers in 32 bits or, if `wide`, in 64.
    pub fn integers(
        &mut self,
        name: &str,
        count: usize,
        entries: impl IntoIterator<Item = i64>,
        wide: bool,
    ) -> io::Result<()> {
        if wide {
            self.array(name, &[count], entries)
        } else {
            self.array(name, &[count], entries.into_iter().map(|entry| entry as i32))
        }
    }

    /// Writes the list of members.
    pub fn finish(self) -> io::Result<()> {
        self.zip.finish()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_is_aligned_complete_and_read_back() {
        let mut bytes = Vec::new();
        write(&mut bytes, &[2, 3], [0.1f32, -2.0, 3e-9, 1.0, 0.0, 0.5]).unwrap();
        let header = u16::from_le_bytes([bytes[8], bytes[9]]) as usize;
        assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
        assert_eq!((10 + header) % 64, 0);
        assert_eq!(bytes.len(), 10 + header + 2 * 3 * 4);
        let array = crate::npy::read(std::path::Path::new("x.npy"), io::Cursor::new(bytes)).unwrap();
        assert_eq!((array.shape(), array.floats().unwrap()), (&[2, 3][..], vec![0.1, -2.0, 3e-9, 1.0, 0.0, 0.5]));
    }

    #[test]
    fn shapes_are_written_as_python_writes_tuples() {
        let header = |shape: &[usize]| {
            let mut bytes = Vec::new();
            write::<i64>(&mut bytes, shape, []).unwrap();
            String::from_utf8_lossy(&bytes[10..]).trim_end().to_string()
        };
        assert!(header(&[]).ends_with("'shape': (), }"));
        assert!(header(&[7]).ends_with("'shape': (7,), }"));
        assert!(header(&[7, 2]).ends_with("'shape': (7, 2), }"));
    }
}
