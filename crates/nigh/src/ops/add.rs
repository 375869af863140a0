//! Sums of matrices of one shape.

use crate::linalg::{Matrix, add_scaled, for_row_blocks};
use crate::tape::{Gradients, Inputs, Operation, Pass};

/// `inputs = [X, Y]`; the output is `X + Y`.
#[derive(Debug)]
pub struct Add;

impl Operation for Add {
    fn is_row_wise(&self) -> bool {
        true
    }

    fn forward(&mut self, inputs: Inputs<'_>, output: &mut Matrix, _: &Pass) {
        sum(inputs.get(0), 1.0, inputs.get(1), output);
    }

    fn backward(&mut self, _: Inputs<'_>, _: &Matrix, gradient: &Matrix, wanted: &mut Gradients<'_>) {
        for input in 0..2 {
            if let Some(dx) = wanted.get(input) {
                dx.copy_from(gradient);
            }
        }
    }
}

/// `inputs = [X, Y, s]`; the output is `X + s Y`, with `s` a single number.
#[derive(Debug)]
pub struct AddScaled;

impl Operation for AddScaled {
    fn forward(&mut self, inputs: Inputs<'_>, output: &mut Matrix, _: &Pass) {
        sum(inputs.get(0), inputs.get(2).data()[0], inputs.get(1), output);
    }

    fn backward(&mut self, inputs: Inputs<'_>, _: &Matrix, gradient: &Matrix, wanted: &mut Gradients<'_>) {
        let (y, s) = (inputs.get(1), inputs.get(2).data()[0]);
        if let Some(dx) = wanted.get(0) {
            dx.copy_from(gradient);
        }
        if let Some(dy) = wanted.get(1) {
            dy.copy_from(gradient);
            dy.data_mut().iter_mut().for_each(|g| *g *= s);
        }
        if let Some(ds) = wanted.get(2) {
            let products = gradient.data().iter().zip(y.data()).map(|(&g, &y)| f64::from(g) * f64::from(y));
            ds.data_mut()[0] = products.sum::<f64>() as f32;
        }
    }
}

/// `out = x + scale y`.
fn sum(x: &Matrix, scale: f32, y: &Matrix, out: &mut Matrix) {
    assert_eq!(x.shape(), y.shape(), "matrices of one shape");
    out.copy_from(x);
    let width = x.cols();
    for_row_blocks(out.data_mut(), width, width, |first, rows| {
        add_scaled(rows, scale, &y.data()[first * width..][..rows.len()]);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::check_gradients;

    #[test]
    fn gradients_agree_with_finite_differences() {
        check_gradients(&[[5, 3], [5, 3]], || Add);
        check_gradients(&[[5, 3], [5, 3], [1, 1]], || AddScaled);
    }
}
