//! Representations with the names of their nodes, in the formats that others read.

use crate::atomic;
use crate::dataset::{Ids, csv_field, npy};
use crate::error::{Error, Result};
use crate::kernel::Matrix;
use crate::tensors::{self, Tensors};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// `H`, and what the user calls its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding {
    /// A name per row.
    pub ids: Arc<Ids>,
    /// A row per node.
    pub matrix: Matrix,
}

impl Embedding {
    /// Writes `.npy` (ids beside it, one per line, in `FILE.ids.txt`), `.csv` or `.safetensors`. Returns every file
    /// written.
    pub fn write(&self, path: &Path) -> Result<Vec<PathBuf>> {
        Embedding::check_name(path)?;
        let mut files: Vec<(PathBuf, Vec<u8>)> = Vec::new();
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("npy") => {
                files.push((path.to_path_buf(), self.to_npy()));
                let ids: String = self.names().map(|name| name + "\n").collect();
                files.push((atomic::beside(path, "ids.txt"), ids.into_bytes()));
            }
            Some("csv") => files.push((path.to_path_buf(), self.to_csv().into_bytes())),
            _ => files.push((path.to_path_buf(), self.to_safetensors())),
        }
        for (at, (path, bytes)) in files.iter().enumerate() {
            if let Err(error) = atomic::write(path, bytes) {
                // Vectors without their ids are of no use to anyone.
                files[..at].iter().for_each(|(path, _)| drop(std::fs::remove_file(path)));
                return Err(Error::io(path)(error));
            }
        }
        Ok(files.into_iter().map(|file| file.0).collect())
    }

    /// Whether `write` knows the format of a name.
    pub fn check_name(path: &Path) -> Result<()> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("npy" | "csv" | "safetensors") => Ok(()),
            _ => Err(Error::setting("out", path.display(), "its name must end in .npy, .csv or .safetensors")),
        }
    }

    fn names(&self) -> impl Iterator<Item = String> + '_ {
        (0..self.ids.len()).map(|node| self.ids.name(node).into_owned())
    }

    fn to_npy(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let written = npy::write(&mut bytes, &self.matrix.shape(), self.matrix.data().iter().copied());
        written.expect("memory can be written");
        bytes
    }

    fn to_csv(&self) -> String {
        let mut text = "id".to_string();
        (0..self.matrix.cols()).for_each(|column| write!(text, ",h{column}").expect("memory can be written"));
        text.push('\n');
        for (row, name) in self.names().enumerate() {
            text += &csv_field(&name);
            // The shortest text that is read back to the same bits.
            self.matrix.row(row).iter().for_each(|value| write!(text, ",{value}").expect("memory can be written"));
            text.push('\n');
        }
        text
    }

    fn to_safetensors(&self) -> Vec<u8> {
        let tensors = Tensors::from([("embedding".to_string(), self.matrix.clone())]);
        let ids = serde_json::to_string(&self.names().collect::<Vec<_>>()).expect("names can be written");
        tensors::to_bytes(&tensors, &[("ids", &ids)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Embedding {
        let ids = Ids::Names(vec!["a".into(), "Paris, \"F\"".into()]).into();
        Embedding { ids, matrix: Matrix::from_rows(&[[0.1, -2.0, 3e-9], [1.0, 0.0, 0.5]]) }
    }

    #[test]
    fn csv_keeps_names_and_bits() {
        assert_eq!(example().to_csv(), "id,h0,h1,h2\na,0.1,-2,0.000000003\n\"Paris, \"\"F\"\"\",1,0,0.5\n");
    }

    #[test]
    fn safetensors_carry_the_names() {
        let (tensors, notes) = tensors::from_bytes(&example().to_safetensors()).unwrap();
        assert_eq!(tensors["embedding"], example().matrix);
        let ids: Vec<String> = serde_json::from_str(&notes["ids"]).unwrap();
        assert_eq!(ids, ["a", "Paris, \"F\""]);
    }
}
