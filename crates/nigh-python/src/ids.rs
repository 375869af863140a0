//! Ids of nodes: integers in an array, or texts in a list.

use crate::errors::input_error;
use nigh::dataset::{IdColumn, IntegerColumn};
use nigh::formats::Texts;
use nigh::{Error, Ids};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

/// What Python hands over: an `int64` array or a list of `str`.
pub enum IdArray<'py> {
    Integers(PyReadonlyArray1<'py, i64>),
    Texts(Texts),
}

impl<'py> IdArray<'py> {
    pub fn new(ids: &Bound<'py, PyAny>) -> PyResult<IdArray<'py>> {
        if let Ok(list) = ids.cast::<PyList>() {
            return Ok(IdArray::Texts(texts(list)?));
        }
        Ok(IdArray::Integers(ids.cast::<PyArray1<i64>>()?.try_readonly()?))
    }

    /// As the library takes them, without a copy of the array.
    pub fn column(&self) -> IdColumn<'_> {
        match self {
            IdArray::Texts(texts) => IdColumn::Texts(texts.clone()),
            IdArray::Integers(array) => IdColumn::Integers(integers(array)),
        }
    }

    /// The node of each in a graph.
    pub fn find(&self, ids: &Ids) -> nigh::Result<Vec<u32>> {
        let lookup = ids.lookup();
        let found = |node: Option<u32>, name: &dyn Fn() -> String| node.ok_or_else(|| unknown(ids, name()));
        match self {
            IdArray::Integers(array) => {
                let array = array.as_array();
                array.iter().map(|&id| found(lookup.find_integer(id), &|| id.to_string())).collect()
            }
            IdArray::Texts(texts) => texts.iter().map(|id| found(lookup.find(id), &|| id.to_string())).collect(),
        }
    }
}

/// The texts of a list.
pub fn texts(list: &Bound<'_, PyList>) -> PyResult<Texts> {
    let mut texts = Texts::default();
    for text in list {
        let text = text.cast::<PyString>()?;
        // Python's texts may hold halves of characters, which stand for bytes that were no text.
        let whole = text.to_str().map_err(|_| match text.repr() {
            Ok(shown) => input_error(list.py(), format!("{shown} can't be written as UTF-8")),
            Err(error) => error,
        })?;
        texts.push(whole);
    }
    Ok(texts)
}

fn unknown(ids: &Ids, name: String) -> Error {
    // As many as a reader would look through for a misspelt one.
    let known = ids.iter().take(MOST_SUGGESTED).map(|name| name.into_owned()).collect();
    Error::UnknownName { kind: "node", name, known }
}

const MOST_SUGGESTED: usize = 100_000;

/// A view of an array as the library takes it.
fn integers<'a>(array: &'a PyReadonlyArray1<'_, i64>) -> IntegerColumn<'a> {
    let (len, step) = (array.len(), array.strides()[0] / size_of::<i64>() as isize);
    if len < 2 {
        return IntegerColumn::new(array.as_slice().unwrap_or_default(), 1);
    }
    assert!(step > 0 && array.strides()[0] % size_of::<i64>() as isize == 0, "_inputs.py copies other arrays");
    // SAFETY: the elements lie `step` apart, from the first on, in one allocation; what is between them belongs to the
    // array of which this is a row or a column. The borrow is counted by `PyReadonlyArray1`.
    let values = unsafe { std::slice::from_raw_parts(array.data(), (len - 1) * step as usize + 1) };
    IntegerColumn::new(values, step as usize)
}

/// Ids for Python: an `int64` array, or a list of `str` where they are texts or the user's were.
pub fn to_python<'py>(py: Python<'py>, ids: &Ids, as_texts: bool) -> PyResult<Bound<'py, PyAny>> {
    match ids {
        Ids::Names(_) => Ok(PyList::new(py, ids.iter())?.into_any()),
        _ if as_texts => Ok(PyList::new(py, ids.iter())?.into_any()),
        Ids::Integers(numbers) => Ok(PyArray1::from_slice(py, numbers).into_any()),
        Ids::Numbers(count) => Ok(PyArray1::from_iter(py, 0..*count as i64).into_any()),
    }
}
