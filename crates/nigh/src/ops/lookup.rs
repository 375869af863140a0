//! `I W` for one-hot ids: rows of a table, without storing the identity.

use crate::linalg::{Matrix, add_scaled, look_up_into};
use crate::tape::{Gradients, Inputs, Operation, Pass};
use std::sync::Arc;

/// `inputs = [W]`; row `i` of the output is row `ids[i]` of `W`, or zero where `W` has no such row.
#[derive(Debug)]
pub struct Lookup {
    ids: Arc<[u32]>,
}

impl Lookup {
    /// One id per row of the output.
    pub fn new(ids: Arc<[u32]>) -> Lookup {
        Lookup { ids }
    }
}

impl Operation for Lookup {
    fn forward(&mut self, inputs: Inputs<'_>, output: &mut Matrix, _: &Pass) {
        look_up_into(inputs.get(0), &self.ids, output);
    }

    fn backward(&mut self, inputs: Inputs<'_>, _: &Matrix, gradient: &Matrix, wanted: &mut Gradients<'_>) {
        let w = inputs.get(0);
        if let Some(dw) = wanted.get(0) {
            dw.reshape(w.rows(), w.cols());
            dw.data_mut().fill(0.0);
            for (row, &id) in self.ids.iter().enumerate().filter(|entry| (*entry.1 as usize) < w.rows()) {
                add_scaled(dw.row_mut(id as usize), 1.0, gradient.row(row));
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
        check_gradients(&[[5, 3]], || Lookup::new([4, 0, 2, 9, 2].into()));
    }

    #[test]
    fn an_id_beyond_the_table_has_a_row_of_zeros() {
        let w = Matrix::from_rows(&[[1.0, 2.0], [3.0, 4.0]]);
        let (y, _) = value_and_gradients(&mut Lookup::new([1, 2, 0].into()), &[w]);
        assert_eq!(y.data(), [3.0, 4.0, 0.0, 0.0, 1.0, 2.0]);
    }
}
