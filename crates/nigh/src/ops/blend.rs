//! A weighted mean of branches, with weights per node.

use crate::linalg::{Matrix, add_scaled, for_row_blocks};
use crate::tape::{Gradients, Inputs, Operation, Pass};

/// `inputs = [X]`; the output is `tanh(X)`.
#[derive(Debug)]
pub struct Tanh;

impl Operation for Tanh {
    fn forward(&mut self, inputs: Inputs<'_>, output: &mut Matrix, _: &Pass) {
        output.copy_from(inputs.get(0));
        let width = output.cols();
        for_row_blocks(output.data_mut(), width, 16 * width, |_, rows| {
            rows.iter_mut().for_each(|x| *x = x.tanh());
        });
    }

    fn backward(&mut self, _: Inputs<'_>, output: &Matrix, gradient: &Matrix, wanted: &mut Gradients<'_>) {
        if let Some(dx) = wanted.get(0) {
            dx.copy_from(gradient);
            dx.data_mut().iter_mut().zip(output.data()).for_each(|(g, y)| *g *= 1.0 - y * y);
        }
    }
}

/// `inputs = [Z_1, ..., Z_n, s_1, ..., s_n]`, matrices of one shape and a column of scores for each; the output is
/// `Σ_b α_b Z_b` with `α_i = softmax(s_1i, ..., s_ni)`, row by row.
#[derive(Debug)]
pub struct Blend;

/// `α` of one row.
fn shares(inputs: Inputs<'_>, row: usize) -> Vec<f32> {
    let branches = inputs.len() / 2;
    let scores = (0..branches).map(|branch| inputs.get(branches + branch).data()[row]);
    let top = scores.clone().fold(f32::NEG_INFINITY, f32::max);
    let mut shares: Vec<f32> = scores.map(|score| (score - top).exp()).collect();
    let sum: f32 = shares.iter().sum();
    shares.iter_mut().for_each(|share| *share /= sum);
    shares
}

impl Operation for Blend {
    fn forward(&mut self, inputs: Inputs<'_>, output: &mut Matrix, _: &Pass) {
        let [rows, width] = inputs.get(0).shape();
        output.reshape(rows, width);
        for row in 0..rows {
            let y = output.row_mut(row);
            y.fill(0.0);
            for (branch, &share) in shares(inputs, row).iter().enumerate() {
                add_scaled(y, share, inputs.get(branch).row(row));
            }
        }
    }

    fn backward(&mut self, inputs: Inputs<'_>, output: &Matrix, gradient: &Matrix, wanted: &mut Gradients<'_>) {
        let ([rows, width], branches) = (output.shape(), inputs.len() / 2);
        for branch in 0..branches {
            if let Some(dz) = wanted.get(branch) {
                dz.reshape(rows, width);
            }
            if let Some(ds) = wanted.get(branches + branch) {
                ds.reshape(rows, 1);
            }
        }
        for row in 0..rows {
            let (g, y) = (gradient.row(row), output.row(row));
            for (branch, &share) in shares(inputs, row).iter().enumerate() {
                if let Some(dz) = wanted.get(branch) {
                    dz.row_mut(row).iter_mut().zip(g).for_each(|(dz, g)| *dz = share * g);
                }
                if let Some(ds) = wanted.get(branches + branch) {
                    let apart = inputs.get(branch).row(row).iter().zip(y).zip(g).map(|((z, y), g)| g * (z - y));
                    ds.data_mut()[row] = share * apart.sum::<f32>();
                }
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
        check_gradients(&[[5, 3]], || Tanh);
        check_gradients(&[[4, 3], [4, 3], [4, 1], [4, 1]], || Blend);
        check_gradients(&[[4, 2], [4, 2], [4, 2], [4, 1], [4, 1], [4, 1]], || Blend);
    }

    #[test]
    fn a_branch_of_much_higher_score_takes_all_the_weight() {
        let z = [Matrix::ones(2, 2), Matrix::zeros(2, 2)];
        let s = [Matrix::from_rows(&[[200.0], [-200.0]]), Matrix::zeros(2, 1)];
        let inputs: Vec<Matrix> = z.into_iter().chain(s).collect();
        assert_eq!(value_and_gradients(&mut Blend, &inputs).0.data(), [1.0, 1.0, 0.0, 0.0]);
    }
}
