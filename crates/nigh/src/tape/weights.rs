//! The weights of a model, by name. A weight starts from a stream addressed by its own name, so that adding a layer
//! moves no number of another.

use super::orthogonal::orthogonal;
use super::{Place, Var};
use crate::linalg::Matrix;
use crate::seeds::{self, Purpose, Seeds};

/// How a weight starts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Init {
    /// All zero, as the biases of convolutions.
    Zeros,
    /// All of one value, as the gains of layer normalisation.
    Constant {
        /// Each entry.
        value: f32,
    },
    /// Uniform in `±bound`.
    Uniform {
        /// The largest magnitude.
        bound: f32,
    },
    /// Columns at right angles to each other, all of one length; rows, if there are fewer of them. The `Q` of a Gaussian matrix, so
    /// that every direction is as likely. For the tables of nodes: rows of different nodes are then nearly orthogonal, and
    /// more evenly so than random ones.
    Orthogonal {
        /// The length of each column.
        scale: f32,
    },
}

impl Init {
    /// `±1/sqrt(fan_in)`, as in plain linear layers and their biases.
    pub fn fan_in(fan_in: usize) -> Init {
        Init::Uniform { bound: 1.0 / (fan_in as f32).sqrt() }
    }

    /// `±sqrt(6 / (fan_in + fan_out))` (Glorot and Bengio), as in convolutions.
    pub fn glorot([fan_in, fan_out]: [usize; 2]) -> Init {
        Init::Uniform { bound: (6.0 / fan_in.saturating_add(fan_out) as f32).sqrt() }
    }

    /// The same, larger by a factor.
    pub fn times(self, factor: f32) -> Init {
        match self {
            Init::Zeros => Init::Zeros,
            Init::Constant { value } => Init::Constant { value: factor * value },
            Init::Uniform { bound } => Init::Uniform { bound: factor * bound },
            Init::Orthogonal { scale } => Init::Orthogonal { scale: factor * scale },
        }
    }
}

/// How a map `X W + b` starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitScheme {
    /// Weight and bias by [`Init::fan_in`].
    FanIn,
    /// The weight by [`Init::glorot`], the bias zero.
    Glorot,
}

impl InitScheme {
    /// For the weight of a map from `fan_in` to `fan_out` columns.
    pub fn weight(self, fans: [usize; 2]) -> Init {
        match self {
            InitScheme::FanIn => Init::fan_in(fans[0]),
            InitScheme::Glorot => Init::glorot(fans),
        }
    }

    /// For its bias.
    pub fn bias(self, fan_in: usize) -> Init {
        match self {
            InitScheme::FanIn => Init::fan_in(fan_in),
            InitScheme::Glorot => Init::Zeros,
        }
    }
}

/// One matrix of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Weight {
    /// For instance `features/linear/weight`.
    pub name: String,
    /// Its current value.
    pub value: Matrix,
    /// The gradient accumulated since `clear_gradients`.
    pub gradient: Matrix,
    /// Training leaves it alone: pre-training sets it.
    pub frozen: bool,
}

/// All weights of one model.
#[derive(Debug, Clone)]
pub struct Weights {
    seeds: Seeds,
    entries: Vec<Weight>,
    /// One contribution to the gradient of each weight, before it is added.
    scratch: Vec<Matrix>,
    /// Whether a gradient is known to be zero, so that the first contribution replaces it.
    is_zero: Vec<bool>,
    /// How many more numbers may be declared; `None` when there were too many.
    room: Option<usize>,
    /// Numbers of all weights, also of those for which there was no room.
    numbers: usize,
}

impl Weights {
    /// None yet; random starts follow from `seeds`.
    pub fn new(seeds: Seeds) -> Weights {
        Weights::with_room(seeds, usize::MAX)
    }

    /// As `new`, for at most this many numbers. Weights beyond are declared without rows, so that a model of any size can
    /// be refused; see `fits`.
    pub fn with_room(seeds: Seeds, room: usize) -> Weights {
        Weights { seeds, entries: Vec::new(), scratch: Vec::new(), is_zero: Vec::new(), room: Some(room), numbers: 0 }
    }

    /// Whether there was room for all weights.
    pub fn fits(&self) -> bool {
        self.room.is_some()
    }

    /// Numbers of all weights that were declared, whether there was room or not.
    pub fn num_declared(&self) -> usize {
        self.numbers
    }

    /// A new weight. Its random start depends on its name and not on its place.
    pub fn declare_random(&mut self, name: &str, [rows, cols]: [usize; 2], init: Init) -> Var {
        self.room = self.room.and_then(|room| room.checked_sub(rows.checked_mul(cols)?));
        if !self.fits() {
            self.numbers = self.numbers.saturating_add(rows.saturating_mul(cols));
            return self.declare(name, Matrix::zeros(0, cols));
        }
        let stream = self.seeds.stream(Purpose::Weights, &[seeds::named(name)]);
        let mut rng = stream.rng();
        let value = match init {
            Init::Zeros => Matrix::zeros(rows, cols),
            Init::Constant { value } => Matrix::from_fn(rows, cols, |_, _| value),
            Init::Uniform { bound } => Matrix::from_fn(rows, cols, |_, _| (2.0 * rng.unit() - 1.0) * bound),
            Init::Orthogonal { scale } => orthogonal([rows, cols], scale, stream),
        };
        self.declare(name, value)
    }

    /// A new weight with a given value.
    pub fn declare(&mut self, name: &str, value: Matrix) -> Var {
        assert!(self.position(name).is_none(), "{name} is declared twice");
        self.numbers = self.numbers.saturating_add(value.data().len());
        let gradient = Matrix::zeros(value.rows(), value.cols());
        self.scratch.push(gradient.clone());
        self.is_zero.push(true);
        self.entries.push(Weight { name: name.to_string(), value, gradient, frozen: false });
        self.var(self.entries.len() - 1)
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

    /// A weight that was declared.
    fn find(&self, name: &str, shape: [usize; 2]) -> Var {
        let at = self.position(name).unwrap_or_else(|| panic!("{name} was not declared when the model was built"));
        assert!(!self.fits() || self.entries[at].value.shape() == shape, "shape of {name}");
        self.var(at)
    }

    fn var(&self, at: usize) -> Var {
        Var { place: Place::Weight(at), width: self.entries[at].value.cols() }
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

    /// Sets the gradients to zero.
    pub fn clear_gradients(&mut self) {
        for (weight, is_zero) in self.entries.iter_mut().zip(&mut self.is_zero).filter(|(_, is_zero)| !**is_zero) {
            weight.gradient.data_mut().fill(0.0);
            *is_zero = true;
        }
    }

    /// Scales all gradients so that their norm together is at most `limit` (PPA's protocol).
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

/// The weights while a model is recorded: declared over the first graph, looked up over all others.
#[derive(Debug)]
pub(crate) enum WeightAccess<'a> {
    /// A model is being built.
    Declare(&'a mut Weights),
    /// It was built.
    LookUp(&'a Weights),
}

impl WeightAccess<'_> {
    /// The weight of a name; layers may share one.
    pub fn weight(&mut self, name: &str, shape: [usize; 2], init: Init) -> Var {
        match self {
            WeightAccess::Declare(weights) if weights.position(name).is_none() => {
                weights.declare_random(name, shape, init)
            }
            WeightAccess::Declare(weights) => weights.find(name, shape),
            WeightAccess::LookUp(weights) => weights.find(name, shape),
        }
    }

    /// A matrix that training leaves alone, zero until pre-training fills it.
    pub fn frozen(&mut self, name: &str, shape: [usize; 2]) -> &Matrix {
        let Place::Weight(at) = self.weight(name, shape, Init::Zeros).place else { unreachable!("a weight") };
        match self {
            WeightAccess::Declare(weights) => {
                weights.entries[at].frozen = true;
                &weights.entries[at].value
            }
            WeightAccess::LookUp(weights) => &weights.entries[at].value,
        }
    }

    /// The same access for a shorter time.
    pub fn reborrow(&mut self) -> WeightAccess<'_> {
        match self {
            WeightAccess::Declare(weights) => WeightAccess::Declare(weights),
            WeightAccess::LookUp(weights) => WeightAccess::LookUp(weights),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_start_from_their_name_and_not_from_their_place() {
        let mut first = Weights::new(Seeds::new(3));
        first.declare_random("a", [4, 4], Init::fan_in(4));
        first.declare_random("b", [4, 4], Init::fan_in(4));
        let mut second = Weights::new(Seeds::new(3));
        second.declare_random("b", [4, 4], Init::fan_in(4));
        assert_eq!(first.entry(1).value, second.entry(0).value);
        assert_ne!(first.entry(0).value, first.entry(1).value);
        assert!(first.entry(0).value.data().iter().all(|w| w.abs() <= 0.5));
        assert!(first.entry(0).value.data().iter().any(|w| w.abs() > 0.25));
    }

    #[test]
    fn weights_beyond_the_room_take_no_memory() {
        for (shape, fits) in [([3, 4], true), ([4, 4], false), ([usize::MAX, 2], false), ([1 << 40, 1 << 20], false)] {
            let mut weights = Weights::with_room(Seeds::new(0), 20);
            weights.declare_random("a", [2, 4], Init::fan_in(4));
            weights.declare_random("b", shape, Init::Orthogonal { scale: 1.0 });
            assert_eq!((weights.fits(), weights.num_parameters()), (fits, if fits { 20 } else { 8 }), "{shape:?}");
            assert_eq!(weights.num_declared(), shape[0].saturating_mul(shape[1]).saturating_add(8), "{shape:?}");
        }
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
