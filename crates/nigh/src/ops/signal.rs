//! The stochastic matrix `E` as a step of the tape.

use crate::linalg::Matrix;
use crate::seeds::Purpose;
use crate::source::{Refresh, Signal, SignalScale};
use crate::tape::{Gradients, Inputs, Operation, Pass};
use std::sync::Arc;

/// The step of the tape that yields `E`.
#[derive(Debug)]
pub struct Stochastic {
    /// Distribution of an entry.
    pub signal: Signal,
    /// `d`.
    pub dim: usize,
    /// Scale of an entry.
    pub scale: SignalScale,
    /// Drawn once or in every pass.
    pub refresh: Refresh,
    /// The address of each node: its number in the graph that the model was trained on.
    pub nodes: Arc<[u32]>,
}

impl Operation for Stochastic {
    fn width(&self, _: &[usize]) -> usize {
        self.dim
    }

    fn forward(&mut self, _: Inputs<'_>, output: &mut Matrix, pass: &Pass) {
        let stream = match self.refresh {
            Refresh::Fixed => pass.seeds.stream(Purpose::Signal, &[pass.graph]),
            Refresh::Resampled => pass.stream(Purpose::Signal, 0),
        };
        self.signal.fill(stream, &self.nodes, 0..self.dim, self.scale.factor(self.dim), output);
    }

    fn backward(&mut self, _: Inputs<'_>, _: &Matrix, _: &Matrix, _: &mut Gradients<'_>) {}

    fn is_dynamic(&self) -> bool {
        self.refresh == Refresh::Resampled
    }
}
