//! Representations with the names of their nodes, in the formats that others read.

use super::RowWriter;
use crate::dataset::Ids;
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::tensors::{self, Tensors};
use nigh_formats::atomic;
use nigh_formats::records::{RecordColumn, Records};
use nigh_formats::text_table::Formulas;
use serde_json::json;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// `H`, and what the user calls its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding {
    /// The graph of each row, if there are several.
    pub graphs: Option<Vec<String>>,
    /// A name per row.
    pub ids: Arc<Ids>,
    /// A row per node.
    pub matrix: Matrix,
}

/// Every format, by the end of the file's name.
const FORMATS: &str = ".npy, .csv, .parquet, .safetensors, .vec or .txt (word2vec)";

impl Embedding {
    /// The rows of several graphs below each other, given with their names.
    pub fn of_graphs(parts: Vec<(String, Embedding)>) -> Embedding {
        let names = parts.iter().flat_map(|(graph, part)| std::iter::repeat_n(graph.clone(), part.ids.len()));
        let ids = parts.iter().flat_map(|(_, part)| part.ids.iter());
        let (names, ids) = (names.collect(), Ids::from_names(ids).into());
        let cols = parts.first().map_or(0, |(_, part)| part.matrix.cols());
        let data: Vec<f32> = parts.iter().flat_map(|(_, part)| part.matrix.data()).copied().collect();
        Embedding { graphs: Some(names), ids, matrix: Matrix::from_data(data.len() / cols.max(1), cols, data) }
    }

    /// Writes `.npy` (ids next to it, one per line, in `FILE.ids.txt`), `.csv`, `.parquet`, `.safetensors`, or the text
    /// of word2vec as `.vec` or `.txt`. Returns every file written. `formulas` says what becomes of ids in csv that a
    /// spreadsheet would execute.
    pub fn write(&self, path: &Path, formulas: Formulas) -> Result<Vec<PathBuf>> {
        Embedding::check_name(path)?;
        let bytes = match path.extension().and_then(|extension| extension.to_str()) {
            Some("npy" | "parquet") => {
                let mut writer = RowWriter::of_graphs(path, self.graphs.clone(), self.ids.clone(), self.matrix.cols())?;
                writer.rows(&self.matrix)?;
                return writer.finish();
            }
            Some("csv") => self.to_records().with_formulas(formulas).to_csv().into_bytes(),
            Some("vec" | "txt") => self.to_word2vec(path)?.into_bytes(),
            _ => self.to_safetensors(),
        };
        atomic::write(path, &bytes).map_err(Error::io(path))?;
        Ok(vec![path.to_path_buf()])
    }

    /// Whether `write` knows the format of a name.
    pub fn check_name(path: &Path) -> Result<()> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("npy" | "csv" | "parquet" | "safetensors" | "vec" | "txt") => Ok(()),
            _ => Err(Error::setting("out", path.display(), format!("its name must end in {FORMATS}"))),
        }
    }

    /// Columns `id`, `h0`, `h1`, ..., behind `graph` if there are several.
    fn to_records(&self) -> Records {
        let graphs =
            self.graphs.clone().map(|graphs| Records::default().with("graph", RecordColumn::from_texts(graphs)));
        let column = |column: usize| (0..self.matrix.rows()).map(|row| self.matrix.row(row)[column]).collect();
        (0..self.matrix.cols()).fold(graphs.unwrap_or_default().with("id", self.ids.as_ref().into()), |records, at| {
            records.with(format!("h{at}"), RecordColumn::Numbers(column(at)))
        })
    }

    /// The text of word2vec: the numbers of rows and columns, then a line per row, with blanks between.
    fn to_word2vec(&self, path: &Path) -> Result<String> {
        let [rows, cols] = self.matrix.shape();
        let mut text = format!("{rows} {cols}\n");
        for (row, id) in self.ids.iter().enumerate() {
            let name = match &self.graphs {
                Some(graphs) => format!("{}/{id}", graphs[row]),
                None => id.into_owned(),
            };
            if name.is_empty() || name.contains(char::is_whitespace) {
                let problem = format!("a blank in `{name}` would end it in the text of word2vec; .csv can hold it");
                return Err(Error::file(path, problem));
            }
            text += &name;
            self.matrix.row(row).iter().for_each(|value| write!(text, " {value}").expect("memory can be written"));
            text.push('\n');
        }
        Ok(text)
    }

    fn to_safetensors(&self) -> Vec<u8> {
        let tensors = Tensors::from([("embedding".to_string(), self.matrix.clone())]);
        let ids = match &self.graphs {
            None => self.ids.iter().map(|id| json!(id)).collect::<Vec<_>>(),
            Some(graphs) => graphs.iter().zip(self.ids.iter()).map(|(graph, id)| json!([graph, id])).collect(),
        };
        tensors::to_bytes(&tensors, &[("ids", &serde_json::Value::from(ids).to_string())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Embedding {
        let ids = Ids::from_names(["a", "Paris, \"F\""]).into();
        Embedding { graphs: None, ids, matrix: Matrix::from_rows(&[[0.1, -2.0, 3e-9], [1.0, 0.0, 0.5]]) }
    }

    #[test]
    fn csv_keeps_names_and_bits() {
        assert_eq!(
            example().to_records().to_csv(),
            "id,h0,h1,h2\na,0.1,-2,0.000000003\n\"Paris, \"\"F\"\"\",1,0,0.5\n"
        );
    }

    #[test]
    fn word2vec_has_a_line_per_name_and_no_blank_in_one() {
        let mut embedding = example();
        let path = Path::new("x.vec");
        let error = embedding.to_word2vec(path).unwrap_err().to_string();
        assert!(error.contains("a blank in `Paris, \"F\"`"), "{error}");
        embedding.ids = Ids::from_names(["a", "7"]).into();
        assert_eq!(embedding.to_word2vec(path).unwrap(), "2 3\na 0.1 -2 0.000000003\n7 1 0 0.5\n");
        let both = Embedding::of_graphs(vec![("x".into(), embedding.clone()), ("y".into(), embedding)]);
        assert!(both.to_word2vec(path).unwrap().starts_with("4 3\nx/a 0.1 "));
        assert!(both.to_records().to_csv().ends_with("\ny,7,1,0,0.5\n"));
    }

    #[test]
    fn safetensors_carry_the_names() {
        let (tensors, notes) = tensors::from_bytes(&example().to_safetensors()).unwrap();
        assert_eq!(tensors["embedding"], example().matrix);
        let ids: Vec<String> = serde_json::from_str(&notes["ids"]).unwrap();
        assert_eq!(ids, ["a", "Paris, \"F\""]);
        // Of several graphs with the graph in front.
        let several = Embedding::of_graphs(vec![("one".into(), example()), ("two".into(), example())]);
        let (tensors, notes) = tensors::from_bytes(&several.to_safetensors()).unwrap();
        let ids: Vec<[String; 2]> = serde_json::from_str(&notes["ids"]).unwrap();
        assert_eq!((tensors["embedding"].rows(), &ids[2]), (4, &["two".to_string(), "a".to_string()]));
    }
}
