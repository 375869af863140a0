//! Arrays by name in safetensors files: an open format that executes nothing. The same arrays give the same bytes.

use crate::digest::sha256;
use crate::error::Parsed;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::collections::{BTreeMap, HashMap};

/// Arrays by name, in the order of their names, and a note.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TensorFile {
    tensors: BTreeMap<String, Tensor>,
    notes: HashMap<String, String>,
}

/// An array of any shape, as little-endian bytes.
#[derive(Debug, Clone, PartialEq)]
struct Tensor {
    kind: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

/// A number that an array can hold.
pub trait TensorNumber: Sized {
    #[doc(hidden)]
    const KIND: Dtype;
    #[doc(hidden)]
    fn append(self, bytes: &mut Vec<u8>);
    #[doc(hidden)]
    fn read(bytes: &[u8]) -> Vec<Self>;
}

macro_rules! tensor_number {
    ($Number:ident, $Kind:ident) => {
        impl TensorNumber for $Number {
            const KIND: Dtype = Dtype::$Kind;

            fn append(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }

            fn read(bytes: &[u8]) -> Vec<$Number> {
                let (words, _) = bytes.as_chunks();
                words.iter().map(|&word| $Number::from_le_bytes(word)).collect()
            }
        }
    };
}
tensor_number!(u32, U32);
tensor_number!(u64, U64);
tensor_number!(f32, F32);

impl TensorFile {
    /// Adds an array, or replaces the one of this name.
    ///
    /// # Panics
    ///
    /// If there are not as many numbers as the shape needs.
    pub fn put<N: TensorNumber>(
        &mut self,
        name: impl Into<String>,
        shape: &[usize],
        numbers: impl IntoIterator<Item = N>,
    ) {
        let mut bytes = Vec::with_capacity(shape.iter().product::<usize>() * size_of::<N>());
        numbers.into_iter().for_each(|number| number.append(&mut bytes));
        assert_eq!(bytes.len(), shape.iter().product::<usize>() * size_of::<N>(), "as many numbers as the shape needs");
        self.tensors.insert(name.into(), Tensor { kind: N::KIND, shape: shape.to_vec(), bytes });
    }

    /// Adds an array of one side, as long as there are numbers.
    pub fn put_vector<N: TensorNumber>(&mut self, name: impl Into<String>, numbers: impl IntoIterator<Item = N>) {
        let mut bytes = Vec::new();
        numbers.into_iter().for_each(|number| number.append(&mut bytes));
        let shape = vec![bytes.len() / size_of::<N>()];
        self.tensors.insert(name.into(), Tensor { kind: N::KIND, shape, bytes });
    }

    /// Removes an array of this type and returns its shape and numbers.
    pub fn take<N: TensorNumber>(&mut self, name: &str) -> Option<(Vec<usize>, Vec<N>)> {
        let tensor = self.tensors.remove(name)?;
        (tensor.kind == N::KIND).then(|| (tensor.shape, N::read(&tensor.bytes)))
    }

    /// The names of the arrays, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// With this note, the only one, because the format leaves the order of several open.
    pub fn with_note(mut self, key: &str, text: &str) -> TensorFile {
        self.notes = HashMap::from([(key.to_string(), text.to_string())]);
        self
    }

    /// The texts beside the arrays, by key.
    pub fn notes(&self) -> &HashMap<String, String> {
        &self.notes
    }

    /// A fingerprint of names and contents.
    pub fn checksum(&self) -> String {
        let line = |(name, tensor): (&String, &Tensor)| format!("{name} {}\n", sha256(&tensor.bytes));
        sha256(self.tensors.iter().map(line).collect::<String>().as_bytes())
    }

    /// The bytes of the file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let views = self.tensors.iter().map(|(name, tensor)| {
            let view = TensorView::new(tensor.kind, tensor.shape.clone(), &tensor.bytes);
            (name.as_str(), view.expect("as many bytes as the shape needs"))
        });
        let notes = (!self.notes.is_empty()).then(|| self.notes.clone());
        safetensors::serialize(views, notes).expect("arrays can be written")
    }

    /// Reads the bytes of a file.
    pub fn from_bytes(bytes: &[u8]) -> Parsed<TensorFile> {
        let notes = read_notes(bytes)?;
        let file = SafeTensors::deserialize(bytes).map_err(damaged)?;
        let tensor = |view: TensorView<'_>| Tensor {
            kind: view.dtype(),
            shape: view.shape().to_vec(),
            bytes: view.data().to_vec(),
        };
        let tensors = file.iter().map(|(name, view)| (name.to_string(), tensor(view))).collect();
        Ok(TensorFile { tensors, notes })
    }
}

/// The texts beside the arrays, by key, without reading the arrays.
pub fn read_notes(bytes: &[u8]) -> Parsed<HashMap<String, String>> {
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(damaged)?;
    Ok(header.metadata().clone().unwrap_or_default())
}

fn damaged(error: safetensors::SafeTensorError) -> String {
    format!("is not a whole safetensors file ({error})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_and_the_note_come_back_and_the_bytes_are_always_the_same() {
        let mut file = TensorFile::default().with_note("about", "three arrays");
        file.put("b", &[2, 2], [0.5f32, -1.0, f32::MIN_POSITIVE, 3.0]);
        file.put_vector("a", [1u32, 2, u32::MAX]);
        file.put("c", &[0], [0u64; 0]);
        let bytes = file.to_bytes();
        assert_eq!(bytes, file.to_bytes());
        let mut back = TensorFile::from_bytes(&bytes).unwrap();
        assert_eq!(back, file);
        assert_eq!((back.checksum(), read_notes(&bytes).unwrap()), (file.checksum(), file.notes().clone()));
        assert_eq!(back.names().collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(back.take::<u32>("a"), Some((vec![3], vec![1, 2, u32::MAX])));
        assert_eq!(back.take::<u32>("b"), None, "of another type");
        assert_eq!(back.take::<u64>("c"), Some((vec![0], vec![])));
        assert_eq!(back.take::<u64>("c"), None, "taken before");
        for end in 0..bytes.len() {
            let problem = TensorFile::from_bytes(&bytes[..end]).unwrap_err();
            assert!(problem.starts_with("is not a whole safetensors file"), "{problem}");
        }
    }
}
