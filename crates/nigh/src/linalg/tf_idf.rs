//! Weights of words: tf-idf, and rows of unit length.

use super::sparse::SparseMatrix;
use super::{Matrix, normalize_rows};

impl SparseMatrix {
    /// Term frequency times inverse document frequency, rows of unit length: entry `(i, w)` is multiplied by
    /// `ln((1 + n) / (1 + df_w)) + 1`, where `df_w` of the `n` rows have an entry in column `w`. What scikit-learn's
    /// `TfidfTransformer` gives: a word that all nodes share tells little about each, a rare one much.
    ///
    /// ```
    /// let words = nigh::SparseMatrix::from_rows(&[vec![(0, 1.0), (1, 1.0)], vec![(0, 1.0)]], 2);
    /// let row: Vec<(u32, f32)> = words.tf_idf().row(0).collect();
    /// assert!(row[1].1 > row[0].1, "the rarer word weighs more");
    /// ```
    pub fn tf_idf(&self) -> SparseMatrix {
        let idf = self.inverse_frequencies();
        self.with_unit_rows_of(|column, value| idf[column as usize] * f64::from(value))
    }

    /// `ln((1 + n) / (1 + df_w)) + 1` of every column `w`.
    pub(crate) fn inverse_document_frequencies(&self) -> Vec<f32> {
        self.inverse_frequencies().into_iter().map(|idf| idf as f32).collect()
    }

    fn inverse_frequencies(&self) -> Vec<f64> {
        let n = self.rows() as f64;
        let inverse = |df: &[usize]| ((1.0 + n) / (1.0 + (df[1] - df[0]) as f64)).ln() + 1.0;
        self.by_col.offsets.windows(2).map(inverse).collect()
    }

    /// Every row divided by its length; a row of zeros stays.
    pub fn with_unit_rows(&self) -> SparseMatrix {
        self.with_unit_rows_of(|_, value| f64::from(value))
    }

    fn with_unit_rows_of(&self, entry: impl Fn(u32, f32) -> f64) -> SparseMatrix {
        let (offsets, indices, values) = self.parts();
        let mut scaled = Vec::with_capacity(values.len());
        for row in offsets.windows(2).map(|row| row[0]..row[1]) {
            let entries = indices[row.clone()].iter().zip(&values[row]).map(|(&column, &value)| entry(column, value));
            let length = entries.clone().map(|entry| entry * entry).sum::<f64>().sqrt();
            let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
            scaled.extend(entries.map(|entry| (entry * scale) as f32));
        }
        SparseMatrix::from_parts(offsets.to_vec(), indices.to_vec(), scaled, self.cols())
            .expect("the entries of a matrix are where they were")
    }
}

impl Matrix {
    /// Every row divided by its length; a row of zeros stays.
    pub fn with_unit_rows(&self) -> Matrix {
        let mut rows = Matrix::default();
        normalize_rows(self, &mut rows, &mut Vec::new());
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_unit_length_or_none() {
        let rows = [vec![(0, 3.0), (2, 4.0)], vec![], vec![(1, 0.0)], vec![(0, 1.0), (1, 1.0), (2, 1.0)]];
        let matrix = SparseMatrix::from_rows(&rows, 3);
        for scaled in [matrix.with_unit_rows(), matrix.tf_idf()] {
            let length = |row: usize| scaled.row(row).map(|(_, value)| value * value).sum::<f32>().sqrt();
            for (row, expected) in [1.0, 0.0, 0.0, 1.0].into_iter().enumerate() {
                assert!((length(row) - expected).abs() < 1e-6, "{row}: {}", length(row));
            }
        }
        assert_eq!(matrix.with_unit_rows().row(0).collect::<Vec<_>>(), [(0, 0.6), (2, 0.8)]);
        let dense = Matrix::from_rows(&[[3.0, 0.0, 4.0], [0.0, 0.0, 0.0]]).with_unit_rows();
        assert!((dense.row(0)[2] - 0.8).abs() < 1e-6 && dense.row(1) == [0.0; 3]);
    }

    // scikit-learn's `TfidfTransformer`, with its default of smoothed frequencies.
    #[test]
    fn a_word_in_few_rows_weighs_more() {
        let matrix = SparseMatrix::from_rows(&[vec![(0, 1.0), (1, 1.0)], vec![(0, 1.0)], vec![(0, 1.0)]], 3);
        let expected = [1.0, (4f32 / 2.0).ln() + 1.0, 4f32.ln() + 1.0];
        let found = matrix.inverse_document_frequencies();
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?}");
        let row: Vec<(u32, f32)> = matrix.tf_idf().row(0).collect();
        assert!((row[1].1 / row[0].1 - expected[1]).abs() < 1e-6, "{row:?}");
    }
}
