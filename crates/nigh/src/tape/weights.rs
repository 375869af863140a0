//! The weights of a model, by name. A weight starts from a stream addressed by its own name, so that adding a layer
//! moves no number of another.

use crate::linalg::Matrix;
use crate::seeds::{self, Purpose, Rng, Seeds};

/// How the weights of a linear map start: uniform within a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// `±1/sqrt(fan_in)`, as plain linear layers do.
    Plain,
    /// `±sqrt(6 / (fan_in + fan_out))` (Glorot and Bengio), as convolutions do.
    Glorot,
}

impl Start {
    /// The bound for a map from `fan_in` to `fan_out` columns.
    pub fn bound(self, [fan_in, fan_out]: [usize; 2]) -> f32 {
        match self {
            Start::Plain => 1.0 / (fan_in as f32).sqrt(),
            Start::Glorot => (6.0 / (fan_in + fan_out) as f32).sqrt(),
        }
    }
}

/// One matrix of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Weight {
    /// For instance `features/linear/weight`.
    pub name: String,
    /// Its present value.
    pub value: Matrix,
    /// The gradient gathered since `clear_gradients`.
    pub gradient: Matrix,
    /// Training leaves it alone: it was learnt before.
    pub frozen: bool,
}

/// All weights of one model.
#[derive(Debug, Clone)]
pub struct Weights {
    seeds: Seeds,
    entries: Vec<Weight>,
    /// Where one contribution to the gradient of each weight is written before it is added.
    scratch: Vec<Matrix>,
    /// Whether a gradient is known to be zero, so that what comes takes its place.
    is_zero: Vec<bool>,
}

impl Weights {
    /// None yet; those to come start from `seeds`.
    pub fn new(seeds: Seeds) -> Weights {
        Weights { seeds, entries: Vec::new(), scratch: Vec::new(), is_zero: Vec::new() }
    }

    /// Uniform in `±1/sqrt(fan_in)`, as plain linear layers and their biases start.
    pub fn plain(&mut self, name: &str, shape: [usize; 2], fan_in: usize) -> super::Var {
        self.uniform(name, shape, Start::Plain.bound([fan_in, shape[1]]))
    }

    /// Zero, as the biases of convolutions start.
    pub fn zeros(&mut self, name: &str, shape: [usize; 2]) -> super::Var {
        self.start(name, shape, |_| 0.0)
    }

    /// A matrix that training leaves alone, zero until someone fills it.
    pub fn frozen(&mut self, name: &str, shape: [usize; 2]) -> &Matrix {
        let super::Var::Weight(at) = self.zeros(name, shape) else { unreachable!("a weight") };
        self.entries[at].frozen = true;
        &self.entries[at].value
    }

    /// Uniform in `±bound`.
    pub fn uniform(&mut self, name: &str, shape: [usize; 2], bound: f32) -> super::Var {
        self.start(name, shape, |rng| (2.0 * rng.unit() - 1.0) * bound)
    }

    /// The weight of that name, made if this is its first mention: several graphs share one model.
    fn start(&mut self, name: &str, [rows, cols]: [usize; 2], entry: impl Fn(&mut Rng) -> f32) -> super::Var {
        if let Some(at) = self.position(name) {
            assert_eq!(self.entries[at].value.shape(), [rows, cols], "shape of {name}");
            return super::Var::Weight(at);
        }
        let mut rng = self.seeds.rng(Purpose::Weights, &[seeds::named(name)]);
        self.declare(name, Matrix::from_fn(rows, cols, |_, _| entry(&mut rng)))
    }

    /// A weight with a given start.
    pub fn declare(&mut self, name: &str, value: Matrix) -> super::Var {
        assert!(self.position(name).is_none(), "{name} is declared twice");
        let gradient = Matrix::zeros(value.rows(), value.cols());
        self.scratch.push(gradient.clone());
        self.is_zero.push(true);
        self.entries.push(Weight { name: name.to_string(), value, gradient, frozen: false });
        super::Var::Weight(self.entries.len() - 1)
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.entries.iter().position(|weight| weight.name == name)
    }

    /// The weight of a name, to change.
    pub fn named(&mut self, name: &str) -> Option<&mut Weight> {
        let at = self.position(name)?;
        self.is_zero[at] = false;
        Some(&mut self.entries[at])
    }

    /// The weight of a name, to look at.
    pub fn get(&self, name: &str) -> Option<&Weight> {
        self.position(name).map(|at| &self.entries[at])
    }

    /// In order of declaration.
    pub fn entries(&self) -> &[Weight] {
        &self.entries
    }

    /// In order of declaration.
    pub fn entries_mut(&mut self) -> &mut [Weight] {
        self.is_zero.fill(false);
        &mut self.entries
    }

    /// One of them.
    pub fn entry(&self, weight: usize) -> &Weight {
        &self.entries[weight]
    }

    /// New values for all of them, in order and of the same shapes.
    pub fn set_values(&mut self, values: Vec<Matrix>) {
        assert_eq!(values.len(), self.entries.len(), "a value per weight");
        for (weight, value) in self.entries.iter_mut().zip(values) {
            assert_eq!(value.shape(), weight.value.shape(), "shape of {}", weight.name);
            weight.value = value;
        }
    }

    /// How many numbers are trained.
    pub fn num_parameters(&self) -> usize {
        self.entries.iter().filter(|weight| !weight.frozen).map(|weight| weight.value.data().len()).sum()
    }

    /// Forgets the gradients.
    pub fn clear_gradients(&mut self) {
        for (weight, is_zero) in self.entries.iter_mut().zip(&mut self.is_zero).filter(|(_, is_zero)| !**is_zero) {
            weight.gradient.data_mut().fill(0.0);
            *is_zero = true;
        }
    }

    /// Scales all gradients so that together they are at most `limit` long (PPA's protocol).
    pub fn clip_gradients(&mut self, limit: f32) {
        let squares = self.entries.iter().flat_map(|w| w.gradient.data()).map(|&g| f64::from(g) * f64::from(g));
        let length = squares.sum::<f64>().sqrt();
        if length > f64::from(limit) {
            let scale = (f64::from(limit) / length) as f32;
            let gradients = self.entries_mut().iter_mut().flat_map(|w| w.gradient.data_mut());
            gradients.for_each(|g| *g *= scale);
        }
    }

    pub(super) fn value(&self, weight: usize) -> &Matrix {
        &self.entries[weight].value
    }

    pub(super) fn take_scratch(&mut self, weight: usize) -> Matrix {
        std::mem::take(&mut self.scratch[weight])
    }

    pub(super) fn add_gradient(&mut self, weight: usize, mut contribution: Matrix) {
        let gradient = &mut self.entries[weight].gradient;
        if std::mem::take(&mut self.is_zero[weight]) {
            std::mem::swap(gradient, &mut contribution);
        } else {
            gradient.add(&contribution);
        }
        self.scratch[weight] = contribution;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_start_from_their_name_and_not_from_their_place() {
        let mut first = Weights::new(Seeds::new(3));
        first.plain("a", [4, 4], 4);
        first.plain("b", [4, 4], 4);
        let mut second = Weights::new(Seeds::new(3));
        second.plain("b", [4, 4], 4);
        assert_eq!(first.entry(1).value, second.entry(0).value);
        assert_ne!(first.entry(0).value, first.entry(1).value);
        assert!(first.entry(0).value.data().iter().all(|w| w.abs() <= 0.5));
        assert!(first.entry(0).value.data().iter().any(|w| w.abs() > 0.25));
    }

    #[test]
    fn clipping_shortens_only_what_is_too_long() {
        let mut weights = Weights::new(Seeds::new(0));
        weights.declare("a", Matrix::zeros(1, 2));
        weights.entries_mut()[0].gradient = Matrix::from_rows(&[[3.0, 4.0]]);
        weights.clip_gradients(10.0);
        assert_eq!(weights.entry(0).gradient.data(), [3.0, 4.0]);
        weights.clip_gradients(1.0);
        let g = weights.entry(0).gradient.data();
        assert!((g[0] - 0.6).abs() < 1e-6 && (g[1] - 0.8).abs() < 1e-6);
    }
}
