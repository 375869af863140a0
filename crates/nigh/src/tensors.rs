//! Matrices in safetensors files.

use crate::error::{Error, Result};
use crate::linalg::Matrix;
use nigh_formats::Parsed;
use nigh_formats::safetensors::TensorFile;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// Matrices by name, in the order of their names.
pub type Tensors = BTreeMap<String, Matrix>;

/// The bytes of a file of matrices and notes. At most one note, because the format leaves their order open.
pub fn to_bytes(tensors: &Tensors, notes: &[(&str, &str)]) -> Vec<u8> {
    assert!(notes.len() <= 1, "two notes would be written in no particular order");
    let mut file = TensorFile::default();
    for (name, matrix) in tensors {
        file.put(name, &matrix.shape(), matrix.data().iter().copied());
    }
    notes.iter().fold(file, |file, (key, text)| file.with_note(key, text)).to_bytes()
}

/// Reads matrices and notes.
pub fn read(path: &Path) -> Result<(Tensors, HashMap<String, String>)> {
    let bytes = nigh_formats::read_regular(path, u64::MAX)?;
    from_bytes(&bytes).map_err(|problem| Error::file(path, problem))
}

/// Matrices and notes from the bytes of a file, or what is wrong with it.
pub fn from_bytes(bytes: &[u8]) -> Parsed<(Tensors, HashMap<String, String>)> {
    let mut file = TensorFile::from_bytes(bytes)?;
    let names: Vec<String> = file.names().map(str::to_string).collect();
    let mut tensors = Tensors::new();
    for name in names {
        let matrix = match file.take::<f32>(&name) {
            Some((shape, data)) => <[usize; 2]>::try_from(shape).ok().map(|shape| (shape, data)),
            None => None,
        };
        let Some(([rows, cols], data)) = matrix else {
            return Err(format!("tensor `{name}` is not a matrix of f32"));
        };
        tensors.insert(name, Matrix::from_data(rows, cols, data));
    }
    Ok((tensors, file.notes().clone()))
}
