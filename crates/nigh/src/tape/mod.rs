//! Reverse-mode differentiation on a tape that is recorded once and run every epoch. Values and gradients keep their storage,
//! and steps that do not change between epochs are computed once.

mod orthogonal;
mod weights;

#[cfg(test)]
mod check;
#[cfg(test)]
pub(crate) use check::{check_gradients, check_loss_gradient, value_and_gradients};

pub(crate) use weights::WeightAccess;
pub use weights::{Init, InitScheme, Weight, Weights};

use crate::linalg::Matrix;
use crate::propagation::Footprint;
use crate::seeds::{Purpose, Seeds, Stream};
use crate::threads;

/// What differs between two runs of one tape: training or evaluation, and the address of its randomness.
#[derive(Debug, Clone, Copy)]
pub struct Pass {
    /// Whether dropout is active.
    pub training: bool,
    /// The root of this run's randomness.
    pub seeds: Seeds,
    /// The number of the graph.
    pub graph: u64,
    /// The number of the draw: the step of training, or the epoch that is evaluated.
    pub draw: u64,
}

impl Pass {
    /// Randomness for this pass alone.
    pub fn stream(&self, purpose: Purpose, layer: u64) -> Stream {
        self.seeds.stream(purpose, &[u64::from(self.training), self.graph, self.draw, layer])
    }
}

/// One step of a computation, with value and gradient side by side.
pub trait Operation: Send + std::fmt::Debug {
    /// Columns of the output, given those of the inputs: as many as the first input has, for most.
    fn width(&self, inputs: &[usize]) -> usize {
        inputs[0]
    }

    /// Writes the value of the operation to `output`, whose shape it sets.
    fn forward(&mut self, inputs: Inputs<'_>, output: &mut Matrix, pass: &Pass);

    /// Writes, for each input that wants one, the gradient of `<gradient, output>` with respect to it.
    fn backward(&mut self, inputs: Inputs<'_>, output: &Matrix, gradient: &Matrix, wanted: &mut Gradients<'_>);

    /// Columns of buffers with a row for each node that it keeps between passes, given the columns of its inputs.
    fn buffered_width(&self, inputs: &[usize]) -> usize {
        let _ = inputs;
        0
    }

    /// Whether row `i` of the output follows from row `i` of the inputs that are steps, and from nothing else of them.
    fn is_row_wise(&self) -> bool {
        false
    }

    /// Whether the operation can compute some rows alone, given those rows of its inputs that are steps, and learn the same: see `select`.
    fn can_select(&self) -> bool {
        false
    }

    /// Computes these rows of `num_rows` alone from now on, in ascending order, or all of them again. Rows and gradients have the bits that they would
    /// have among all rows, if those left out had no gradient: sums over rows keep their order.
    fn select(&mut self, rows: Option<&[u32]>, num_rows: usize) {
        let _ = (rows, num_rows);
    }

    /// Whether two passes with the same inputs may differ, for a reason other than training or evaluating.
    fn is_dynamic(&self) -> bool {
        false
    }
}

/// A matrix of known width that is computed or learnt: the output of a step on the tape, or a weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Var {
    place: Place,
    width: usize,
}

impl Var {
    /// Number of columns.
    pub fn width(self) -> usize {
        self.width
    }

    fn step(self) -> usize {
        match self.place {
            Place::Step(step) => step,
            Place::Weight(_) => panic!("a weight is not a step of the tape"),
        }
    }
}

/// Where a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The output of a step.
    Step(usize),
    /// A weight of the model.
    Weight(usize),
}

/// The values that a step reads.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    places: &'a [Place],
    values: &'a [Matrix],
    weights: &'a Weights,
}

impl<'a> Inputs<'a> {
    /// The value of an input.
    pub fn get(&self, input: usize) -> &'a Matrix {
        match self.places[input] {
            Place::Step(step) => &self.values[step],
            Place::Weight(weight) => self.weights.value(weight),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether the step is a source.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

/// Where a step writes the gradients of its inputs.
pub struct Gradients<'a> {
    buffers: &'a mut [Option<Matrix>],
}

impl Gradients<'_> {
    /// The buffer for the gradient of an input, if anyone wants it.
    pub fn get(&mut self, input: usize) -> Option<&mut Matrix> {
        self.buffers.get_mut(input)?.as_mut()
    }
}

#[derive(Debug)]
struct Step {
    operation: Box<dyn Operation>,
    width: usize,
    buffered_width: usize,
    inputs: Vec<Place>,
    /// The gradient passes here on its way to a weight.
    differentiable: bool,
    /// Something before or at this step changes between passes.
    is_dynamic: bool,
}

/// A recorded computation over one graph.
#[derive(Debug, Default)]
pub struct Tape {
    steps: Vec<Step>,
    values: Vec<Matrix>,
    gradients: Vec<Matrix>,
    has_gradient: Vec<bool>,
    constants_are_known: bool,
    /// All rows of constants of which only some are in use.
    whole: Vec<Option<Matrix>>,
    spare: Matrix,
    /// Gradients of the inputs of one step; kept for its storage.
    buffers: Vec<Option<Matrix>>,
}

impl Tape {
    /// Records a step.
    pub fn push(&mut self, operation: impl Operation + 'static, inputs: &[Var]) -> Var {
        let any = |test: &dyn Fn(&Step) -> bool| {
            inputs.iter().any(|input| match input.place {
                Place::Weight(_) => true,
                Place::Step(step) => test(&self.steps[step]),
            })
        };
        let widths: Vec<usize> = inputs.iter().map(|input| input.width).collect();
        let width = operation.width(&widths);
        let step = Step {
            differentiable: any(&|step| step.differentiable),
            is_dynamic: operation.is_dynamic() || any(&|step| step.is_dynamic),
            inputs: inputs.iter().map(|input| input.place).collect(),
            buffered_width: operation.buffered_width(&widths),
            operation: Box::new(operation),
            width,
        };
        self.steps.push(step);
        self.values.push(Matrix::default());
        self.gradients.push(Matrix::default());
        self.has_gradient.push(false);
        self.whole.push(None);
        Var { place: Place::Step(self.steps.len() - 1), width }
    }

    /// Records a value that stays.
    pub fn constant(&mut self, value: Matrix) -> Var {
        let var = self.push(Constant { width: value.cols() }, &[]);
        self.values[var.step()] = value;
        var
    }

    /// Records a place that is filled with `value_mut` before each pass, and whose gradient can be read after it.
    pub fn feed(&mut self, width: usize) -> Var {
        let var = self.push(Constant { width }, &[]);
        let step = &mut self.steps[var.step()];
        (step.is_dynamic, step.differentiable) = (true, true);
        var
    }

    /// Takes over the storage of another recording of the same steps, which keeps its constants.
    pub fn borrow_buffers(&mut self, other: &mut Tape) {
        let dynamic = |at: &usize| self.steps[*at].is_dynamic;
        for at in (0..self.steps.len()).filter(dynamic) {
            self.values[at] = std::mem::take(&mut other.values[at]);
        }
        self.gradients = std::mem::take(&mut other.gradients);
        self.gradients.resize_with(self.steps.len(), Matrix::default);
        self.spare = std::mem::take(&mut other.spare);
    }

    /// Takes over the storage of another recording of the same steps, that of its constants included.
    pub fn reuse(&mut self, mut other: Tape) {
        self.borrow_buffers(&mut other);
        for (own, storage) in self.values.iter_mut().zip(other.values).filter(|(own, _)| own.data().is_empty()) {
            *own = storage;
        }
    }

    /// The memory of values that stay from pass to pass.
    pub fn constant_bytes(&self) -> usize {
        let constant = |at: &usize| !self.steps[*at].is_dynamic;
        let bytes = |matrix: &Matrix| size_of_val(matrix.data());
        (0..self.steps.len())
            .filter(constant)
            .map(|at| bytes(&self.values[at]) + self.whole[at].as_ref().map_or(0, bytes))
            .sum()
    }

    /// Columns of all that is held for every row.
    pub(crate) fn footprint(&self) -> Footprint {
        let mut found = Footprint { in_blocks: self.can_restrict(), ..Footprint::default() };
        for (at, step) in self.steps.iter().enumerate() {
            let mut readers = self.steps.iter().filter(|other| other.inputs.contains(&Place::Step(at))).peekable();
            let is_inner = !step.is_dynamic && readers.peek().is_some() && readers.all(|reader| !reader.is_dynamic);
            match (is_inner, step.is_dynamic) {
                (true, _) => found.inner += step.width,
                (false, false) => found.kept += step.width,
                (false, true) => found.values += step.width,
            }
            match step.is_dynamic {
                false => found.kept += step.buffered_width,
                true => found.values += step.buffered_width,
            }
            found.gradients += if step.differentiable { step.width } else { 0 };
        }
        found
    }

    /// Whether a value stays the same from pass to pass.
    pub fn is_constant(&self, var: Var) -> bool {
        matches!(var.place, Place::Step(step) if !self.steps[step].is_dynamic)
    }

    /// The last value of a step.
    pub fn value(&self, var: Var) -> &Matrix {
        &self.values[var.step()]
    }

    /// The value of a fed place.
    pub fn value_mut(&mut self, var: Var) -> &mut Matrix {
        &mut self.values[var.step()]
    }

    /// Whether `restrict` works: every dynamic step is row-wise, and one of them reads a constant.
    pub fn can_restrict(&self) -> bool {
        let varying = || self.steps.iter().filter(|step| step.is_dynamic);
        let constant = |input: &Place| matches!(input, Place::Step(step) if !self.steps[*step].is_dynamic);
        varying().all(|step| step.operation.is_row_wise()) && varying().any(|step| step.inputs.iter().any(constant))
    }

    /// Computes only these rows from now on, in this order; or all of them.
    pub fn restrict(&mut self, rows: Option<&[u32]>, weights: &Weights, pass: &Pass) {
        assert!(rows.is_none() || self.can_restrict(), "a tape with `can_restrict`");
        self.steps.iter_mut().for_each(|step| step.operation.select(None, 0));
        self.take_rows(rows, weights, pass);
    }

    /// Whether `select` works: every dynamic step can.
    pub fn can_select(&self) -> bool {
        self.steps.iter().filter(|step| step.is_dynamic).all(|step| step.operation.can_select())
    }

    /// As `restrict`, in ascending order, with the gradients of weights that they would have if all `num_rows` rows were computed and the others had
    /// no gradient, to the bit.
    pub fn select(&mut self, rows: &[u32], num_rows: usize, weights: &Weights, pass: &Pass) {
        assert!(self.can_select(), "a tape with `can_select`");
        self.take_rows(Some(rows), weights, pass);
        let dynamic = self.steps.iter_mut().filter(|step| step.is_dynamic);
        dynamic.for_each(|step| step.operation.select(Some(rows), num_rows));
    }

    /// Takes these rows of the constants that are read, or all of them.
    fn take_rows(&mut self, rows: Option<&[u32]>, weights: &Weights, pass: &Pass) {
        self.compute_constants(weights, pass);
        for at in 0..self.steps.len() {
            let read = self.steps.iter().any(|step| step.is_dynamic && step.inputs.contains(&Place::Step(at)));
            if self.steps[at].is_dynamic {
                continue;
            }
            if !read {
                // Only other constants were computed from it, and these are known.
                self.values[at] = Matrix::default();
                continue;
            }
            match rows {
                Some(rows) => {
                    let whole = self.whole[at].get_or_insert_with(|| std::mem::take(&mut self.values[at]));
                    self.values[at].copy_rows(whole, rows);
                }
                None => {
                    if let Some(whole) = self.whole[at].take() {
                        self.values[at] = whole;
                    }
                }
            }
        }
    }

    /// Computes every step; constant ones only the first time.
    pub fn forward(&mut self, weights: &Weights, pass: &Pass) {
        self.compute_constants(weights, pass);
        self.compute(true, weights, pass);
    }

    fn compute_constants(&mut self, weights: &Weights, pass: &Pass) {
        if !self.constants_are_known {
            self.compute(false, weights, pass);
            self.constants_are_known = true;
            self.free_inner_constants();
        }
    }

    /// Frees the constants from which only other constants were computed.
    fn free_inner_constants(&mut self) {
        for at in (0..self.steps.len()).filter(|&at| !self.steps[at].is_dynamic) {
            let mut readers = self.steps.iter().filter(|step| step.inputs.contains(&Place::Step(at))).peekable();
            if readers.peek().is_some() && readers.all(|step| !step.is_dynamic) {
                self.values[at] = Matrix::default();
            }
        }
    }

    /// All dynamic steps, or all others.
    fn compute(&mut self, is_dynamic: bool, weights: &Weights, pass: &Pass) {
        for at in 0..self.steps.len() {
            let step = &mut self.steps[at];
            if step.is_dynamic == is_dynamic {
                threads::check();
                let (before, rest) = self.values.split_at_mut(at);
                step.operation.forward(Inputs { places: &step.inputs, values: before, weights }, &mut rest[0], pass);
            }
        }
    }

    /// Value and gradient buffer of the step at which `backward` will start.
    pub fn output_and_gradient(&mut self, var: Var) -> (&Matrix, &mut Matrix) {
        let step = var.step();
        (&self.values[step], &mut self.gradients[step])
    }

    /// The gradient that reached a step in the last `backward`.
    pub fn gradient(&self, var: Var) -> &Matrix {
        &self.gradients[var.step()]
    }

    /// Carries the gradient at `from` back to the weights, where it is added.
    pub fn backward(&mut self, from: Var, weights: &mut Weights) {
        self.has_gradient.fill(false);
        self.has_gradient[from.step()] = true;
        for at in (0..=from.step()).rev() {
            if self.has_gradient[at] && self.steps[at].differentiable {
                self.step_back(at, weights);
            }
        }
    }

    fn step_back(&mut self, at: usize, weights: &mut Weights) {
        threads::check();
        let mut buffers = std::mem::take(&mut self.buffers);
        for input in &self.steps[at].inputs {
            buffers.push(match *input {
                Place::Step(before) if !self.steps[before].differentiable => None,
                // The gradients of a value with two readers are added; the second is written to a buffer of its own.
                Place::Step(before) if self.has_gradient[before] => Some(std::mem::take(&mut self.spare)),
                Place::Step(before) => Some(std::mem::take(&mut self.gradients[before])),
                Place::Weight(weight) => Some(weights.take_scratch(weight)),
            });
        }
        let step = &mut self.steps[at];
        let inputs = Inputs { places: &step.inputs, values: &self.values, weights };
        let mut wanted = Gradients { buffers: &mut buffers };
        step.operation.backward(inputs, &self.values[at], &self.gradients[at], &mut wanted);
        for (input, buffer) in step.inputs.iter().zip(buffers.drain(..)) {
            let Some(buffer) = buffer else { continue };
            match *input {
                Place::Step(before) if self.has_gradient[before] => {
                    self.gradients[before].add(&buffer);
                    self.spare = buffer;
                }
                Place::Step(before) => {
                    self.gradients[before] = buffer;
                    self.has_gradient[before] = true;
                }
                Place::Weight(weight) => weights.add_gradient(weight, buffer),
            }
        }
        self.buffers = buffers;
    }
}

/// A value that is set from outside.
#[derive(Debug)]
struct Constant {
    width: usize,
}

impl Operation for Constant {
    fn width(&self, _: &[usize]) -> usize {
        self.width
    }

    fn forward(&mut self, _: Inputs<'_>, _: &mut Matrix, _: &Pass) {}

    fn backward(&mut self, _: Inputs<'_>, _: &Matrix, _: &Matrix, _: &mut Gradients<'_>) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::linear::LinearMap;
    use crate::ops::normalize::NormalizeRows;

    #[test]
    fn some_rows_alone_give_the_rows_of_the_whole_and_its_gradients() {
        let mut weights = Weights::new(Seeds::new(0));
        let w = weights.declare("w", Matrix::from_fn(3, 2, |i, c| (i + 2 * c) as f32 - 1.5));
        let mut tape = Tape::default();
        let x = tape.constant(Matrix::from_fn(5, 3, |i, c| (i * c) as f32 - 1.0));
        let y = tape.push(LinearMap::new(1), &[x, w]);
        let z = tape.push(NormalizeRows::default(), &[y]);
        let pass = Pass { training: true, seeds: Seeds::new(0), graph: 0, draw: 0 };
        let run = |tape: &mut Tape, weights: &mut Weights, upstream: &Matrix| {
            tape.forward(weights, &pass);
            tape.output_and_gradient(z).1.copy_from(upstream);
            weights.clear_gradients();
            tape.backward(z, weights);
            (tape.value(z).clone(), weights.entry(0).gradient.clone())
        };
        // Rows 0 and 3 are left out.
        let kept = [4, 1, 2];
        let upstream = Matrix::from_fn(5, 2, |i, c| if [0, 3].contains(&i) { 0.0 } else { (i + c) as f32 });
        let (whole, gradient) = run(&mut tape, &mut weights, &upstream);
        assert!(tape.can_restrict());
        tape.restrict(Some(&kept), &weights, &pass);
        let (some, gradient_of_some) = run(&mut tape, &mut weights, &upstream.permute_rows(&kept));
        assert_eq!(some, whole.permute_rows(&kept));
        assert!(gradient.data().iter().zip(gradient_of_some.data()).all(|(a, b)| (a - b).abs() < 1e-6));
        tape.restrict(None, &weights, &pass);
        assert_eq!(run(&mut tape, &mut weights, &upstream), (whole, gradient));
    }

    #[test]
    fn a_value_with_two_readers_gathers_both_gradients() {
        // H = (X W) V + (X W) V: the gradient of W is twice that of one path.
        let mut weights = Weights::new(Seeds::new(0));
        let w = weights.declare("w", Matrix::from_fn(3, 2, |i, c| (i + c) as f32));
        let v = weights.declare("v", Matrix::from_fn(2, 2, |i, c| (2 * i + c) as f32));
        let both = weights.declare("both", Matrix::from_rows(&[[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]));
        let gradient_of_w = |paths: usize, weights: &mut Weights| {
            let mut tape = Tape::default();
            let x = tape.constant(Matrix::from_fn(4, 3, |i, c| (i * c) as f32));
            let xw = tape.push(LinearMap::new(1), &[x, w]);
            let ends: Vec<Var> = (0..paths).map(|_| tape.push(LinearMap::new(1), &[xw, v])).collect();
            let h = if paths == 1 { ends[0] } else { tape.push(LinearMap::new(2), &[ends[0], ends[1], both]) };
            let pass = Pass { training: true, seeds: Seeds::new(0), graph: 0, draw: 0 };
            tape.forward(weights, &pass);
            tape.output_and_gradient(h).1.copy_from(&Matrix::ones(4, 2));
            weights.clear_gradients();
            tape.backward(h, weights);
            weights.entry(0).gradient.clone()
        };
        let once = gradient_of_w(1, &mut weights);
        let twice = gradient_of_w(2, &mut weights);
        assert!(once.data().iter().any(|&g| g != 0.0));
        assert!(once.data().iter().zip(twice.data()).all(|(a, b)| 2.0 * a == *b));
    }
}
