//! Some rows of a matrix, where only these are asked about.

use crate::linalg::{Matrix, look_up_into};
use crate::tape::{Gradients, Inputs, Operation, Pass};
use std::sync::Arc;

/// `inputs = [X]`; the output has row `rows[i]` of `X` at place `i`. No row comes twice.
#[derive(Debug)]
pub struct SelectRows {
    rows: Arc<[u32]>,
}

impl SelectRows {
    /// Rows in the order of the output.
    pub fn new(rows: Arc<[u32]>) -> SelectRows {
        SelectRows { rows }
    }
}

impl Operation for SelectRows {
    fn forward(&mut self, inputs: Inputs<'_>, output: &mut Matrix, _: &Pass) {
        look_up_into(inputs.get(0), &self.rows, output);
    }

    fn backward(&mut self, inputs: Inputs<'_>, _: &Matrix, gradient: &Matrix, wanted: &mut Gradients<'_>) {
        if let Some(dx) = wanted.get(0) {
            let [rows, cols] = inputs.get(0).shape();
            dx.reshape(rows, cols);
            dx.data_mut().fill(0.0);
            for (at, &row) in self.rows.iter().enumerate() {
                dx.row_mut(row as usize).copy_from_slice(gradient.row(at));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::{check_gradients, value_and_gradients};

    #[test]
    fn gradients_agree_with_finite_differences() {
        check_gradients(&[[5, 3]], || SelectRows::new([4, 0, 2].into()));
    }

    #[test]
    fn rows_come_in_the_order_asked() {
        let x = Matrix::from_rows(&[[1.0], [2.0], [3.0]]);
        assert_eq!(value_and_gradients(&mut SelectRows::new([2, 0].into()), &[x]).0.data(), [3.0, 1.0]);
    }
}
