//! Every operation against finite differences.

use super::{Operation, Pass, Tape, Var, Weights};
use crate::linalg::Matrix;
use crate::seeds::{Purpose, Seeds};

fn random(shape: [usize; 2], address: u64) -> Matrix {
    let mut rng = Seeds::new(11).rng(Purpose::Generate, &[address]);
    // Away from zero, where ReLU has no derivative to compare with.
    let away = |x: f32| x + 0.05 * x.signum();
    Matrix::from_fn(shape[0], shape[1], |_, _| away(2.0 * rng.unit() - 1.0))
}

fn dot(a: &Matrix, b: &Matrix) -> f64 {
    a.data().iter().zip(b.data()).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
}

/// The value of an operation and the gradients of `<1, value>`-like sums: upstream is fixed and random.
pub(crate) fn value_and_gradients<O: Operation>(operation: &mut O, inputs: &[Matrix]) -> (Matrix, Vec<Matrix>) {
    let mut weights = Weights::new(Seeds::new(0));
    let vars: Vec<Var> = inputs.iter().enumerate().map(|(at, x)| weights.declare(&at.to_string(), x.clone())).collect();
    let places: Vec<super::Place> = vars.iter().map(|var| var.place).collect();
    let reading = super::Inputs { places: &places, values: &[], weights: &weights };
    let pass = Pass { training: true, seeds: Seeds::new(5), graph: 0, draw: 0 };
    let mut value = Matrix::default();
    operation.forward(reading, &mut value, &pass);
    let upstream = random(value.shape(), 99);
    let mut buffers: Vec<Option<Matrix>> = inputs.iter().cloned().map(Some).collect();
    operation.backward(reading, &value, &upstream, &mut super::Gradients { buffers: &mut buffers });
    (value, buffers.into_iter().flatten().collect())
}

/// Compares the gradient of each input with central differences.
pub(crate) fn check_gradients<O: Operation + 'static>(shapes: &[[usize; 2]], operation: impl Fn() -> O) {
    let inputs: Vec<Matrix> = shapes.iter().enumerate().map(|(at, &shape)| random(shape, at as u64)).collect();
    let (value, gradients) = value_and_gradients(&mut operation(), &inputs);
    let upstream = random(value.shape(), 99);
    for (input, gradient) in gradients.iter().enumerate() {
        for at in 0..inputs[input].data().len() {
            let moved = |by: f32| {
                let mut inputs = inputs.clone();
                inputs[input].data_mut()[at] += by;
                dot(&value_and_gradients(&mut operation(), &inputs).0, &upstream)
            };
            assert_close(gradient.data()[at], moved, &format!("input {input}, entry {at}"));
        }
    }
    // The same through a tape, where the last input is a weight and the others are steps.
    let mut weights = Weights::new(Seeds::new(0));
    let last = weights.declare("last", inputs[inputs.len() - 1].clone());
    let mut tape = Tape::default();
    let mut vars: Vec<Var> = inputs[..inputs.len() - 1].iter().map(|x| tape.constant(x.clone())).collect();
    vars.push(last);
    let output = tape.push(operation(), &vars);
    tape.forward(&weights, &Pass { training: true, seeds: Seeds::new(5), graph: 0, draw: 0 });
    assert_eq!(tape.value(output), &value);
    assert_eq!(output.width(), value.cols(), "the width that the operation announces");
    tape.output_and_gradient(output).1.copy_from(&upstream);
    tape.backward(output, &mut weights);
    assert_eq!(&weights.entry(0).gradient, gradients.last().expect("one input at least"));
}

/// Compares the gradient of a loss of `h` with central differences.
pub(crate) fn check_loss_gradient(shape: [usize; 2], mut loss: impl FnMut(&Matrix, &mut Matrix) -> f64) {
    let h = random(shape, 42);
    let mut gradient = Matrix::default();
    loss(&h, &mut gradient);
    for at in 0..h.data().len() {
        let moved = |by: f32| {
            let mut h = h.clone();
            h.data_mut()[at] += by;
            loss(&h, &mut Matrix::default())
        };
        assert_close(gradient.data()[at], moved, &format!("entry {at}"));
    }
}

fn assert_close(gradient: f32, mut moved: impl FnMut(f32) -> f64, place: &str) {
    const STEP: f32 = 1e-2;
    let difference = (moved(STEP) - moved(-STEP)) / (2.0 * f64::from(STEP));
    let error = (f64::from(gradient) - difference).abs();
    assert!(error < 5e-3 * difference.abs().max(0.2), "{place}: gradient {gradient}, difference {difference}");
}
