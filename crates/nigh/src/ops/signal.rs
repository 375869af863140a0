//! The stochastic matrix `E` as a step of the tape.

use crate::linalg::Matrix;
use crate::seeds::{Purpose, Stream};
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

/// Where the entries of `E` are drawn in a pass.
pub(crate) fn signal_stream(refresh: Refresh, pass: &Pass) -> Stream {
    match refresh {
        Refresh::Fixed => pass.seeds.stream(Purpose::Signal, &[pass.graph]),
        Refresh::Resampled => pass.stream(Purpose::Signal, 0),
    }
}

impl Operation for Stochastic {
    fn width(&self, _: &[usize]) -> usize {
        self.dim
    }

    fn forward(&mut self, _: Inputs<'_>, output: &mut Matrix, pass: &Pass) {
        let stream = signal_stream(self.refresh, pass);
        self.signal.fill(stream, &self.nodes, 0..self.dim, self.scale.factor(self.dim), output);
    }

    fn backward(&mut self, _: Inputs<'_>, _: &Matrix, _: &Matrix, _: &mut Gradients<'_>) {}

    fn is_dynamic(&self) -> bool {
        self.refresh == Refresh::Resampled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeds::Seeds;
    use crate::tape::{Tape, Weights};

    #[test]
    fn a_resampled_signal_is_another_in_every_pass_and_a_fixed_one_is_not() {
        for (refresh, stays) in [(Refresh::Fixed, true), (Refresh::Resampled, false)] {
            let of_pass = |draw: u64, graph: u64| {
                let (signal, scale, nodes) = (Signal::Gaussian, SignalScale::Unit, Arc::from([0, 1, 2]));
                let (mut tape, seeds) = (Tape::default(), Seeds::new(1));
                let e = tape.push(Stochastic { signal, dim: 4, scale, refresh, nodes }, &[]);
                tape.forward(&Weights::new(seeds), &Pass { training: false, seeds, graph, draw });
                tape.value(e).clone()
            };
            assert_eq!(of_pass(1, 0) == of_pass(2, 0), stays, "{refresh}");
            assert_eq!(of_pass(1, 0), of_pass(1, 0), "{refresh}");
            assert_ne!(of_pass(1, 0), of_pass(1, 1), "{refresh}: graphs have signals of their own");
        }
    }
}
