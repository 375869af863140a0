//! Sparse matrices of `scipy.sparse.save_npz`: a zip with the arrays of a csr, csc or coo matrix.

use super::matrix_market::Entries;
use super::npy::Archive;
use crate::error::{Error, Result};
use std::path::Path;

/// Whether an archive is such a matrix, and not just any arrays.
pub(crate) fn is_sparse(path: &Path) -> Result<bool> {
    let archive = Archive::open(path)?;
    let holds = |name: &str| archive.names().any(|held| held == name);
    Ok(holds("format") && holds("shape") && holds("data"))
}

/// Reads a matrix. Entries come row by row from csr, column by column from csc, as they stand from coo.
pub(crate) fn read(path: &Path) -> Result<Entries> {
    let mut archive = Archive::open(path)?;
    let format = archive.array("format")?.texts()?;
    let shape = archive.array("shape")?;
    let (rows, cols) = match shape.integers()?[..] {
        [rows, cols] => (side(path, rows)?, side(path, cols)?),
        _ => return Err(shape.error("expected two sides, rows and columns")),
    };
    let indices = |archive: &mut Archive, name: &str, limit: usize| -> Result<Vec<u32>> {
        let array = archive.array(name)?;
        let inside = |(at, index): (usize, i64)| {
            let beyond = || array.error(format!("entry {at} is {index}; expected 0 to {}", limit as i64 - 1));
            u32::try_from(index).ok().filter(|&index| (index as usize) < limit).ok_or_else(beyond)
        };
        array.integers()?.into_iter().enumerate().map(inside).collect()
    };
    let entries: Vec<[u32; 2]> = match format.iter().next() {
        Some("coo") => {
            let (row, col) = (indices(&mut archive, "row", rows)?, indices(&mut archive, "col", cols)?);
            if row.len() != col.len() {
                return Err(Error::file(path, format!("{} row numbers for {} column numbers", row.len(), col.len())));
            }
            row.into_iter().zip(col).map(|(row, col)| [row, col]).collect()
        }
        Some(format @ ("csr" | "csc")) => {
            let by_row = format == "csr";
            let (major, minor) = if by_row { (rows, cols) } else { (cols, rows) };
            let indices = indices(&mut archive, "indices", minor)?;
            let bounds = archive.array("indptr")?;
            let ends = bounds.integers()?;
            let whole = ends.first() == Some(&0) && ends.last() == Some(&(indices.len() as i64)) && ends.is_sorted();
            if !whole || ends.len() != major + 1 {
                let problem = format!("expected {} numbers that rise from 0 to {}", major + 1, indices.len());
                return Err(bounds.error(problem));
            }
            let lines = (0..).zip(ends.windows(2)).flat_map(|(line, ends)| {
                indices[ends[0] as usize..ends[1] as usize].iter().map(move |&index| [line, index])
            });
            lines.map(|[line, index]| if by_row { [line, index] } else { [index, line] }).collect()
        }
        format => {
            let found = format.unwrap_or("nothing");
            let problem = format!("is a matrix in the format `{found}`; expected csr, csc or coo (`matrix.tocsr()`)");
            return Err(Error::file(path, problem));
        }
    };
    let data = archive.array("data")?;
    let values = data.floats()?;
    if values.len() != entries.len() {
        return Err(data.error(format!("{} values for {} entries", values.len(), entries.len())));
    }
    Entries { rows, cols, entries, values: Some(values), symmetric: false }.bounded(path)
}

fn side(path: &Path, side: i64) -> Result<usize> {
    let fits = usize::try_from(side).ok().filter(|&side| side < 1 << 31);
    fits.ok_or_else(|| Error::file(path, format!("has a side of {side}; expected 0 to 2^31")))
}

#[cfg(test)]
mod tests {
    use super::super::npy::samples::{damaged, ints, npy, npz};
    use super::*;
    use crate::testing::TempDir;
    use proptest::prelude::*;
    use zip::CompressionMethod::{Deflated, Stored};

    fn read_bytes(bytes: &[u8]) -> Result<Entries> {
        let folder = TempDir::new();
        let path = folder.path().join("x.npz");
        std::fs::write(&path, bytes).unwrap();
        if is_sparse(&path)? { read(&path) } else { Err(Error::file(&path, "is no sparse matrix")) }
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
        assert_eq!(wrong(&[2, 3], &[1, 0, 2], &[0, 3, 1]), "member `indptr`: expected 3 numbers that rise from 0 to 3");
        assert_eq!(wrong(&[3, 3], &[1, 0, 2], &[0, 1, 3]), "member `indptr`: expected 4 numbers that rise from 0 to 3");
        assert_eq!(wrong(&[2, 3, 4], &[], &[]), "member `shape`: expected two sides, rows and columns");
        assert_eq!(wrong(&[-1, 3], &[], &[]), "has a side of -1; expected 0 to 2^31");
        assert_eq!(wrong(&[1, 3], &[1], &[0, 1]), "member `data`: 3 values for 1 entries");
        let block = message(lines(b"bsr", &[2, 3], &[1, 0, 2], &[0, 1, 3]));
        assert_eq!(block, "is a matrix in the format `bsr`; expected csr, csc or coo (`matrix.tocsr()`)");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn no_damage_makes_it_panic(changes in prop::collection::vec((any::<usize>(), any::<u8>()), 0..4), cut in 0usize..200) {
            let _ = read_bytes(&damaged(npz(&csr(), Stored), &changes, cut % 100));
        }
    }
}
