//! Matrices in safetensors files: an open format that executes nothing.

use crate::error::{Error, Result};
use crate::linalg::Matrix;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// Matrices by name, in the order of their names.
pub type Tensors = BTreeMap<String, Matrix>;

/// The bytes of a file of matrices and notes. At most one note, because the format leaves their order open.
pub fn to_bytes(tensors: &Tensors, notes: &[(&str, &str)]) -> Vec<u8> {
    assert!(notes.len() <= 1, "two notes would be written in no particular order");
    let bytes: Vec<(&String, Vec<u8>, Vec<usize>)> = tensors
        .iter()
        .map(|(name, matrix)| {
            (name, matrix.data().iter().flat_map(|value| value.to_le_bytes()).collect(), matrix.shape().to_vec())
        })
        .collect();
    let views = bytes.iter().map(|(name, bytes, shape)| {
        let view = TensorView::new(Dtype::F32, shape.clone(), bytes).expect("as many bytes as the shape asks for");
        (name.as_str(), view)
    });
    let notes: HashMap<String, String> = notes.iter().map(|(key, text)| (key.to_string(), text.to_string())).collect();
    let notes = (!notes.is_empty()).then_some(notes);
    safetensors::serialize(views, notes).expect("matrices can be written")
}

/// Reads matrices and notes.
pub fn read(path: &Path) -> Result<(Tensors, HashMap<String, String>)> {
    let bytes = std::fs::read(path).map_err(Error::io(path))?;
    from_bytes(&bytes).map_err(|problem| Error::file(path, problem))
}

/// Matrices and notes from the bytes of a file, or what is wrong with it.
pub fn from_bytes(bytes: &[u8]) -> std::result::Result<(Tensors, HashMap<String, String>), String> {
    let damaged = |error| format!("is not a whole safetensors file ({error})");
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(damaged)?;
    let file = SafeTensors::deserialize(bytes).map_err(damaged)?;
    let mut tensors = Tensors::new();
    for (name, view) in file.iter() {
        let (Dtype::F32, &[rows, cols]) = (view.dtype(), view.shape()) else {
            return Err(format!("tensor `{name}` is not a matrix of f32"));
        };
        let (words, _) = view.data().as_chunks::<4>();
        let data = words.iter().map(|&word| f32::from_le_bytes(word)).collect();
        tensors.insert(name.to_string(), Matrix::from_data(rows, cols, data));
    }
    Ok((tensors, header.metadata().clone().unwrap_or_default()))
}
