//! NumPy arrays and SciPy matrices in pickles.

use super::{Pickle, PickleClass, PickleValue, ValueId};
use crate::error::Parsed;
use std::borrow::Cow;

/// More columns than any dataset has features; the product with a sparse matrix allocates per column.
const MAX_COLUMNS: usize = 1 << 20;

/// An array of numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct NumpyArray<T> {
    /// The length of each side.
    pub shape: Vec<usize>,
    /// Every entry, the last side running fastest.
    pub data: Vec<T>,
}

/// A sparse matrix by rows of `(column, value)`, columns ascending.
#[derive(Debug, Clone, PartialEq)]
pub struct SparseRows {
    /// The entries of each row.
    pub rows: Vec<Vec<(u32, f32)>>,
    /// Number of columns.
    pub columns: usize,
}

/// An array of integers.
pub fn integers(pickle: &Pickle<'_>, id: ValueId) -> Parsed<NumpyArray<i64>> {
    let raw = RawArray::of(pickle, id)?;
    match raw.letter {
        b'i' | b'u' => Ok(raw.decoded(i64::from_le_bytes)),
        letter => Err(format!("expected integers, found `{}{}`", char::from(letter), raw.size)),
    }
}

/// An array of finite numbers.
fn numbers(pickle: &Pickle<'_>, id: ValueId) -> Parsed<NumpyArray<f32>> {
    let raw = RawArray::of(pickle, id)?;
    let array = match (raw.letter, raw.size) {
        (b'i' | b'u', _) => raw.decoded(|bytes| i64::from_le_bytes(bytes) as f32),
        (_, 4) => raw.decoded(|[a, b, c, d, ..]| f32::from_le_bytes([a, b, c, d])),
        _ => raw.decoded(|bytes| f64::from_le_bytes(bytes) as f32),
    };
    match array.data.iter().position(|value| !value.is_finite()) {
        Some(at) => Err(format!("entry {at} is {}, not a finite number", array.data[at])),
        None => Ok(array),
    }
}

/// A `csr_matrix`.
pub fn sparse_rows(pickle: &Pickle<'_>, id: ValueId) -> Parsed<SparseRows> {
    let &PickleValue::Object { class: PickleClass::CsrMatrix, state: Some(state), .. } = pickle.value(id) else {
        return Err(format!("expected a sparse matrix, found {}", pickle.value(id).kind()));
    };
    let part = |name: &str| pickle.entry(state, name)?.ok_or_else(|| format!("the sparse matrix has no `{name}`"));
    let shape = pickle.tuple(pickle.entry(state, "_shape")?.map_or_else(|| part("shape"), Ok)?)?;
    let [num_rows, columns] = shape else { return Err(format!("a sparse matrix of {} dimensions", shape.len())) };
    let (num_rows, columns) = (pickle.size(*num_rows)?, pickle.size(*columns)?);
    if columns > MAX_COLUMNS {
        return Err(format!("the sparse matrix has {columns} columns; at most {MAX_COLUMNS} are read"));
    }
    let within = |name: &'static str| move |problem: String| format!("`{name}` of the sparse matrix: {problem}");
    let ends = integers(pickle, part("indptr")?).map_err(within("indptr"))?.data;
    let indices = integers(pickle, part("indices")?).map_err(within("indices"))?.data;
    let values = numbers(pickle, part("data")?).map_err(within("data"))?.data;
    if indices.len() != values.len() {
        return Err(format!("the sparse matrix has {} columns for {} values", indices.len(), values.len()));
    }
    if num_rows.checked_add(1) != Some(ends.len()) {
        return Err(format!("the sparse matrix has {num_rows} rows but {} row ends", ends.len()));
    }
    if ends[0] != 0 || ends[num_rows] != indices.len() as i64 || !ends.is_sorted() {
        return Err(format!("the row ends of the sparse matrix do not ascend from 0 to {}", indices.len()));
    }
    if let Some(column) = indices.iter().find(|&&column| column < 0 || column >= columns as i64) {
        return Err(format!("the sparse matrix has an entry in column {column} of {columns}"));
    }
    let mut rows = Vec::with_capacity(num_rows);
    for (at, range) in ends.windows(2).map(|pair| pair[0] as usize..pair[1] as usize).enumerate() {
        let columns = indices[range.clone()].iter().map(|&column| column as u32);
        let mut row: Vec<(u32, f32)> = columns.zip(values[range].iter().copied()).collect();
        row.sort_unstable_by_key(|entry| entry.0);
        if let Some(pair) = row.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(format!("row {at} of the sparse matrix has two entries in column {}", pair[0].0));
        }
        rows.push(row);
    }
    Ok(SparseRows { rows, columns })
}

/// An array as it is stored.
struct RawArray<'a> {
    shape: Vec<usize>,
    /// `i`, `u` or `f`.
    letter: u8,
    /// Bytes per entry.
    size: usize,
    big_endian: bool,
    by_columns: bool,
    bytes: Cow<'a, [u8]>,
}

impl RawArray<'_> {
    fn of<'p>(pickle: &'p Pickle<'_>, id: ValueId) -> Parsed<RawArray<'p>> {
        let &PickleValue::Object { class: PickleClass::Reconstruct, state: Some(state), .. } = pickle.value(id) else {
            return Err(format!("expected a numpy array, found {}", pickle.value(id).kind()));
        };
        let &[_, shape, dtype, by_columns, bytes] = pickle.tuple(state)? else {
            return Err("a numpy array of an unknown layout".into());
        };
        let shape = pickle.tuple(shape)?.iter().map(|&size| pickle.size(size)).collect::<Parsed<Vec<_>>>()?;
        let &PickleValue::Object { class: PickleClass::Dtype, args, state } = pickle.value(dtype) else {
            return Err("a numpy array without a type".into());
        };
        let name = pickle.text(*pickle.tuple(args)?.first().ok_or("a numpy type without a name")?)?;
        let (letter, size) = match name {
            "i1" | "i2" | "i4" | "i8" | "u1" | "u2" | "u4" | "f4" | "f8" => {
                (name.as_bytes()[0], usize::from(name.as_bytes()[1] - b'0'))
            }
            _ => return Err(format!("numpy type `{}` is not read; integers and floats are", name.escape_debug())),
        };
        let order = match state.map(|state| pickle.tuple(state)).transpose()? {
            Some([_, order, ..]) => pickle.text(*order)?,
            _ => "<",
        };
        let big_endian = match order {
            "<" | "|" | "=" => false,
            ">" => true,
            _ => return Err(format!("`{}` is no order of bytes", order.escape_debug())),
        };
        let by_columns = match pickle.value(by_columns) {
            PickleValue::Bool(by_columns) => *by_columns,
            PickleValue::Integer(by_columns) => *by_columns != 0,
            other => return Err(format!("expected a truth value, found {}", other.kind())),
        };
        if by_columns && shape.len() > 2 {
            return Err(format!("an array of {} dimensions in the order of columns", shape.len()));
        }
        let bytes = pickle.bytes(bytes)?;
        let expected = shape.iter().try_fold(size, |product, &size| product.checked_mul(size));
        if expected != Some(bytes.len()) {
            return Err(format!("an array of shape {shape:?} and type {name} comes with {} bytes", bytes.len()));
        }
        Ok(RawArray { shape, letter, size, big_endian, by_columns, bytes })
    }

    /// Every entry, from its bytes in little-endian order.
    fn decoded<T: Copy>(&self, entry: impl Fn([u8; 8]) -> T) -> NumpyArray<T> {
        let decode = |bytes: &[u8]| {
            let sign = if self.big_endian { bytes[0] } else { bytes[bytes.len() - 1] } >= 0x80 && self.letter == b'i';
            let mut wide = [if sign { 0xff } else { 0 }; 8];
            wide[..bytes.len()].copy_from_slice(bytes);
            if self.big_endian {
                wide[..bytes.len()].reverse();
            }
            entry(wide)
        };
        let mut data: Vec<T> = self.bytes.chunks_exact(self.size).map(decode).collect();
        if let (true, &[rows, columns]) = (self.by_columns, &self.shape[..]) {
            let at = |at: usize| data[at % columns * rows + at / columns];
            data = (0..data.len()).map(at).collect();
        }
        NumpyArray { shape: self.shape.clone(), data }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::pickle as build;

    fn read_integers(kind: &str, shape: &[i32], by_columns: bool, data: &[u8]) -> Parsed<NumpyArray<i64>> {
        let bytes = build::pickle(build::array(kind, shape, by_columns, data));
        let pickle = Pickle::read(&bytes).unwrap();
        integers(&pickle, pickle.root())
    }

    fn read_sparse(shape: [i32; 2], ends: &[i32], columns: &[i32], values: &[f32]) -> Parsed<SparseRows> {
        let bytes = build::pickle(build::sparse(shape, ends, columns, values));
        let pickle = Pickle::read(&bytes).unwrap();
        sparse_rows(&pickle, pickle.root())
    }

    #[test]
    fn integers_of_every_width_and_order_of_bytes() {
        assert_eq!(read_integers("|i1", &[2], false, &[1, 0xff]).unwrap().data, [1, -1]);
        assert_eq!(read_integers("|u1", &[2], false, &[1, 0xff]).unwrap().data, [1, 255]);
        assert_eq!(read_integers("<i2", &[1], false, &[0xfe, 0xff]).unwrap().data, [-2]);
        assert_eq!(read_integers(">i2", &[2], false, &[0xff, 0xfe, 1, 0]).unwrap().data, [-2, 256]);
        assert_eq!(read_integers("<i8", &[1], false, &(-5i64).to_le_bytes()).unwrap().data, [-5]);
        assert_eq!(read_integers(">u4", &[1], false, &[0x80, 0, 0, 0]).unwrap().data, [1 << 31]);
    }

    #[test]
    fn columns_first_means_the_same_matrix() {
        let rows = read_integers("<i4", &[2, 3], false, &build::i4(&[1, 2, 3, 4, 5, 6])).unwrap();
        let columns = read_integers("<i4", &[2, 3], true, &build::i4(&[1, 4, 2, 5, 3, 6])).unwrap();
        assert_eq!(rows, columns);
        assert!(read_integers("<i4", &[0, 3], true, &[]).unwrap().data.is_empty());
    }

    #[test]
    fn shapes_are_held_against_the_bytes() {
        let error = read_integers("<i4", &[3], false, &build::i4(&[1, 2])).unwrap_err();
        assert_eq!(error, "an array of shape [3] and type i4 comes with 8 bytes");
        for shape in [&[i32::MAX; 8][..], &[-1], &[1, 1, 1]] {
            assert!(read_integers("<i4", shape, false, &[]).is_err());
        }
        assert!(read_integers("<f4", &[1], false, &[0; 4]).unwrap_err().contains("expected integers, found `f4`"));
        assert!(read_integers("|O8", &[1], false, &[0; 8]).unwrap_err().contains("numpy type `O8` is not read"));
        assert!(read_integers("?i4", &[1], false, &[0; 4]).unwrap_err().contains("no order of bytes"));
    }

    #[test]
    fn sparse_rows_are_sorted_and_checked() {
        let read = read_sparse([2, 3], &[0, 1, 3], &[2, 1, 0], &[1.0, 2.0, 3.0]).unwrap();
        assert_eq!(read, SparseRows { rows: vec![vec![(2, 1.0)], vec![(0, 3.0), (1, 2.0)]], columns: 3 });
        let message = |shape, ends: &[i32], columns: &[i32], values: &[f32]| {
            read_sparse(shape, ends, columns, values).unwrap_err()
        };
        assert!(message([2, 3], &[0, 1], &[2], &[1.0]).contains("2 rows but 2 row ends"));
        assert!(message([1, 3], &[0, 2], &[2], &[1.0]).contains("do not ascend from 0 to 1"));
        assert!(message([2, 3], &[0, 2, 1], &[2], &[1.0]).contains("do not ascend"));
        assert!(message([1, 3], &[0, 1], &[3], &[1.0]).contains("column 3 of 3"));
        assert!(message([1, 3], &[0, 1], &[-1], &[1.0]).contains("column -1 of 3"));
        assert!(message([1, 3], &[0, 2], &[1, 1], &[1.0, 2.0]).contains("two entries in column 1"));
        assert!(message([1, 3], &[0, 1], &[1], &[f32::NAN]).contains("`data` of the sparse matrix: entry 0 is NaN"));
        assert!(message([1, i32::MAX], &[0, 1], &[1], &[1.0]).contains("at most 1048576"));
        assert!(message([i32::MAX, 3], &[0, 1], &[1], &[1.0]).contains("2147483647 rows but 2 row ends"));
    }
}
