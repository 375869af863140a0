//! Rows of length one: `y_i = x_i / max(|x_i|, 1e-12)`.

use crate::linalg::{Matrix, for_row_blocks, normalize_rows, project_rows};
use crate::tape::{Gradients, Inputs, Operation, Pass};

/// `inputs = [X]`.
#[derive(Debug, Default)]
pub struct NormalizeRows {
    scales: Vec<f32>,
}

impl Operation for NormalizeRows {
    fn is_row_wise(&self) -> bool {
        true
    }

    fn can_select(&self) -> bool {
        true
    }

    fn forward(&mut self, inputs: Inputs<'_>, output: &mut Matrix, _: &Pass) {
        normalize_rows(inputs.get(0), output, &mut self.scales);
    }

    fn backward(&mut self, _: Inputs<'_>, output: &Matrix, gradient: &Matrix, wanted: &mut Gradients<'_>) {
        if let Some(dx) = wanted.get(0) {
            let [rows, width] = output.shape();
            dx.reshape(rows, width);
            for_row_blocks(dx.data_mut(), width, 4 * width, |first, rows| {
                rows.copy_from_slice(&gradient.data()[first * width..][..rows.len()]);
                project_rows(output, &self.scales, first, rows);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::{check_gradients, value_and_gradients};

    #[test]
    fn gradients_agree_with_finite_differences() {
        check_gradients(&[[6, 5]], NormalizeRows::default);
    }

    #[test]
    fn a_zero_row_stays_zero() {
        let (y, _) =
            value_and_gradients(&mut NormalizeRows::default(), &[Matrix::from_rows(&[[0.0, 0.0], [3.0, 4.0]])]);
        assert_eq!(y.row(0), [0.0, 0.0]);
        assert!((y.row(1)[0] - 0.6).abs() < 1e-6 && (y.row(1)[1] - 0.8).abs() < 1e-6);
    }
}
