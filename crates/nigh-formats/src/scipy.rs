//! Sparse matrices of `scipy.sparse.save_npz`: a zip with the arrays of a csr, csc or coo matrix.

use crate::error::{Error, Result};
use crate::matrix_market::SparseEntries;
use crate::memory;
use crate::npy::{NpzArchive, NpzWriter};
use std::io::{self, Seek, Write};
use std::path::Path;

/// Whether an archive is such a matrix, and not just any arrays.
pub fn is_sparse(archive: &NpzArchive) -> bool {
    archive.holds("format") && archive.holds("shape") && archive.holds("data")
}

/// Whether an archive holds the arrays of a csr matrix under names that start so: `adj_data`, `adj_indices`, ...
pub fn holds_csr(archive: &NpzArchive, start: &str) -> bool {
    ["data", "indices", "indptr", "shape"].iter().all(|name| archive.holds(&format!("{start}{name}")))
}

/// Reads a matrix. Entries come row by row from csr, column by column from csc, as they stand from coo.
pub fn read(archive: &mut NpzArchive) -> Result<SparseEntries> {
    let path = &archive.path().to_path_buf();
    let format = archive.array("format")?.texts()?;
    match format.iter().next() {
        Some("coo") => {
            let [rows, cols] = sides(archive, "")?;
            let (row, col) = (indices(archive, "row", rows)?, indices(archive, "col", cols)?);
            if row.len() != col.len() {
                return Err(Error::file(path, format!("{} row numbers for {} column numbers", row.len(), col.len())));
            }
            let mut entries = room(archive, row.len())?;
            entries.extend(row.into_iter().zip(col).map(|(row, col)| [row, col]));
            with_values(archive, "", [rows, cols], entries)
        }
        Some(format @ ("csr" | "csc")) => read_lines(archive, "", format == "csr"),
        format => {
            let found = format.unwrap_or("nothing");
            let problem = format!("is a matrix in the format `{found}`; expected csr, csc or coo (`matrix.tocsr()`)");
            Err(Error::file(path, problem))
        }
    }
}

/// Reads a csr matrix whose arrays have names that start so.
pub fn read_csr(archive: &mut NpzArchive, start: &str) -> Result<SparseEntries> {
    read_lines(archive, start, true)
}

/// The entries line by line, a line being a row or a column.
fn read_lines(archive: &mut NpzArchive, start: &str, by_row: bool) -> Result<SparseEntries> {
    let [rows, cols] = sides(archive, start)?;
    let (major, minor) = if by_row { (rows, cols) } else { (cols, rows) };
    let indices = indices(archive, &format!("{start}indices"), minor)?;
    let bounds = archive.array(&format!("{start}indptr"))?;
    let (ends, count) = (bounds.integers()?, indices.len());
    if ends.len() != major + 1 {
        return Err(bounds.error(format!("has {} numbers; expected {}, one more than lines", ends.len(), major + 1)));
    }
    if let Some(line) = ends.windows(2).position(|ends| ends[0] > ends[1]) {
        let what = if by_row { "row" } else { "column" };
        return Err(bounds.error(format!("{what} {line}: falls from {} to {}", ends[line], ends[line + 1])));
    }
    if let (Some(&first), Some(&last)) = (ends.first(), ends.last())
        && (first, last) != (0, count as i64)
    {
        return Err(bounds.error(format!("goes from {first} to {last}; expected 0 to {count}, the number of entries")));
    }
    let mut entries = room(archive, count)?;
    let lines = (0..)
        .zip(ends.windows(2))
        .flat_map(|(line, ends)| indices[ends[0] as usize..ends[1] as usize].iter().map(move |&index| [line, index]));
    entries.extend(lines.map(|[line, index]| if by_row { [line, index] } else { [index, line] }));
    with_values(archive, start, [rows, cols], entries)
}

fn sides(archive: &mut NpzArchive, start: &str) -> Result<[usize; 2]> {
    let shape = archive.array(&format!("{start}shape"))?;
    match shape.integers()?[..] {
        [rows, cols] => Ok([side(archive.path(), rows)?, side(archive.path(), cols)?]),
        _ => Err(shape.error("expected two sides, rows and columns")),
    }
}

fn indices(archive: &mut NpzArchive, name: &str, limit: usize) -> Result<Vec<u32>> {
    let array = archive.array(name)?;
    let inside = |(at, index): (usize, i64)| {
        let beyond = || array.error(format!("entry {at} is {index}; expected 0 to {}", limit as i64 - 1));
        u32::try_from(index).ok().filter(|&index| (index as usize) < limit).ok_or_else(beyond)
    };
    let integers = array.integers()?;
    let mut indices = room(archive, integers.len())?;
    for entry in integers.into_iter().enumerate() {
        indices.push(inside(entry)?);
    }
    Ok(indices)
}

/// An empty vector for so many entries.
fn room<T>(archive: &NpzArchive, count: usize) -> Result<Vec<T>> {
    let room = memory::vector(count, || format!("a matrix of {count} entries"));
    room.map_err(|problem| Error::file(archive.path(), problem.to_string()))
}

fn with_values(
    archive: &mut NpzArchive,
    start: &str,
    [rows, cols]: [usize; 2],
    entries: Vec<[u32; 2]>,
) -> Result<SparseEntries> {
    let data = archive.array(&format!("{start}data"))?;
    let values = data.floats()?;
    if values.len() != entries.len() {
        return Err(data.error(format!("{} values for {} entries", values.len(), entries.len())));
    }
    SparseEntries { rows, cols, entries, values: Some(values), symmetric: false }.bounded(archive.path())
}

fn side(path: &Path, side: i64) -> Result<usize> {
    let fits = usize::try_from(side).ok().filter(|&side| side < 1 << 31);
    fits.ok_or_else(|| Error::file(path, format!("has a side of {side}; expected 0 to 2^31")))
}

/// A matrix by rows, to be written.
pub struct CsrRows<L, C, V> {
    /// Rows and columns.
    pub shape: [usize; 2],
    /// Number of entries of all rows.
    pub num_entries: usize,
    /// Number of entries of each row.
    pub lengths: L,
    /// Column of each entry, row by row.
    pub columns: C,
    /// Value of each entry, row by row.
    pub values: V,
}

/// Writes a csr matrix. Indices have 32 bits, as SciPy's own, unless they need more.
pub fn write<L, C, V>(out: impl Write + Seek, matrix: CsrRows<L, C, V>) -> io::Result<()>
where
    L: IntoIterator<Item = usize>,
    C: IntoIterator<Item = u32>,
    V: IntoIterator<Item = f32>,
{
    let ([rows, cols], entries) = (matrix.shape, matrix.num_entries);
    let ends = matrix.lengths.into_iter().scan(0, |end, length| {
        *end += length as i64;
        Some(*end)
    });
    let wide = entries.max(cols) > i32::MAX as usize;
    let mut npz = NpzWriter::new(out, entries.max(rows));
    npz.integers("indices", entries, matrix.columns.into_iter().map(i64::from), wide)?;
    npz.integers("indptr", rows + 1, std::iter::once(0).chain(ends), wide)?;
    npz.array("format", &[], [*b"csr"])?;
    npz.integers("shape", 2, [rows as i64, cols as i64], true)?;
    npz.array("data", &[entries], matrix.values)?;
    npz.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{damaged, ints, npy, npz};
    use proptest::prelude::*;
    use zip::CompressionMethod::{Deflated, Stored};

    fn read_bytes(bytes: &[u8]) -> Result<SparseEntries> {
        let mut archive = NpzArchive::read(Path::new("x.npz"), io::Cursor::new(bytes.to_vec()))?;
        match is_sparse(&archive) {
            true => read(&mut archive),
            false => Err(Error::file(archive.path(), "is no sparse matrix")),
        }
    }

    fn floats(values: &[f32]) -> Vec<u8> {
        let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        npy("<f4", &format!("({},)", values.len()), &data)
    }

    /// `[[0, 2, 0], [1, 0, 3]]` in a format that has lines.
    fn lines(format: &[u8], shape: &[i32], indices: &[i32], ends: &[i32]) -> Vec<(&'static str, Vec<u8>)> {
        vec![
            ("indices", ints(indices)),
            ("indptr", ints(ends)),
            ("format", npy("|S3", "()", format)),
            ("shape", ints(shape)),
            ("data", floats(&[2.0, 1.0, 3.0])),
        ]
    }

    fn csr() -> Vec<(&'static str, Vec<u8>)> {
        lines(b"csr", &[2, 3], &[1, 0, 2], &[0, 1, 3])
    }

    #[test]
    fn every_format_means_the_same() {
        let coo = vec![
            ("row", ints(&[0, 1, 1])),
            ("col", ints(&[1, 0, 2])),
            ("format", npy("<U3", "()", &[b'c', 0, 0, 0, b'o', 0, 0, 0, b'o', 0, 0, 0])),
            ("shape", ints(&[2, 3])),
            ("data", floats(&[2.0, 1.0, 3.0])),
        ];
        for members in [csr(), coo] {
            let matrix = read_bytes(&npz(&members, Deflated)).unwrap();
            assert_eq!((matrix.rows, matrix.cols, matrix.symmetric), (2, 3, false));
            assert_eq!(matrix.entries, [[0, 1], [1, 0], [1, 2]]);
            assert_eq!(matrix.values, Some(vec![2.0, 1.0, 3.0]));
        }
        let csc = read_bytes(&npz(&lines(b"csc", &[3, 2], &[1, 0, 2], &[0, 1, 3]), Stored)).unwrap();
        assert_eq!(csc.entries, [[1, 0], [0, 1], [2, 1]]);
    }

    #[test]
    fn what_is_no_matrix_is_refused() {
        let message = |members: Vec<(&'static str, Vec<u8>)>| {
            read_bytes(&npz(&members, Stored)).unwrap_err().to_string().split_once("x.npz: ").unwrap().1.to_string()
        };
        let wrong = |shape: &[i32], indices: &[i32], ends: &[i32]| message(lines(b"csr", shape, indices, ends));
        assert_eq!(wrong(&[2, 3], &[1, 0, 3], &[0, 1, 3]), "member `indices`: entry 2 is 3; expected 0 to 2");
        assert_eq!(wrong(&[2, 3], &[1, -1, 2], &[0, 1, 3]), "member `indices`: entry 1 is -1; expected 0 to 2");
        assert_eq!(wrong(&[2, 3], &[1, 0, 2], &[0, 3, 1]), "member `indptr`: row 1: falls from 3 to 1");
        assert_eq!(
            wrong(&[3, 3], &[1, 0, 2], &[0, 1, 3]),
            "member `indptr`: has 3 numbers; expected 4, one more than lines"
        );
        for ends in [[1, 1, 3], [0, 1, 2], [0, 1, 4], [-1, 1, 3]] {
            let problem = wrong(&[2, 3], &[1, 0, 2], &ends);
            let goes = format!("goes from {} to {}; expected 0 to 3, the number of entries", ends[0], ends[2]);
            assert_eq!(problem, format!("member `indptr`: {goes}"));
        }
        assert_eq!(wrong(&[2, 3, 4], &[], &[]), "member `shape`: expected two sides, rows and columns");
        assert_eq!(wrong(&[-1, 3], &[], &[]), "has a side of -1; expected 0 to 2^31");
        assert_eq!(wrong(&[1, 3], &[1], &[0, 1]), "member `data`: 3 values for 1 entries");
        let block = message(lines(b"bsr", &[2, 3], &[1, 0, 2], &[0, 1, 3]));
        assert_eq!(block, "is a matrix in the format `bsr`; expected csr, csc or coo (`matrix.tocsr()`)");
    }

    #[test]
    fn what_is_written_is_read() {
        let matrix =
            CsrRows { shape: [2, 3], num_entries: 3, lengths: [1, 2], columns: [1, 0, 2], values: [2.0, 1.0, 3.0] };
        let mut bytes = io::Cursor::new(Vec::new());
        write(&mut bytes, matrix).unwrap();
        assert_eq!(read_bytes(bytes.get_ref()).unwrap(), read_bytes(&npz(&csr(), Deflated)).unwrap());
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn no_damage_makes_it_panic(changes in prop::collection::vec((any::<usize>(), any::<u8>()), 0..4), cut in 0usize..200) {
            let _ = read_bytes(&damaged(npz(&csr(), Stored), &changes, cut % 100));
        }
    }
}
