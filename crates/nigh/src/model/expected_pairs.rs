//! Pairs that will be scored over a view several times: in validation, in the test, and for what is reported of either.

use super::pair_scalars::PairSettings;
use super::pair_scalars::PairSource;
use crate::linalg::Matrix;
use rayon::prelude::*;
use std::sync::OnceLock;

/// Pairs that will be scored, and what is known of them once somebody asks. Message passing is then the same for all portions.
#[derive(Debug)]
pub(crate) struct ExpectedPairs {
    /// In ascending order.
    pairs: Vec<[u32; 2]>,
    known: OnceLock<(KnownBy, Matrix)>,
}

/// What decides about the numbers that are known of pairs over one view.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct KnownBy {
    pub sources: Vec<PairSource>,
    pub settings: PairSettings,
    pub seed: u64,
}

impl ExpectedPairs {
    pub fn new(mut pairs: Vec<[u32; 2]>) -> ExpectedPairs {
        pairs.par_sort_unstable();
        pairs.dedup();
        ExpectedPairs { pairs, known: OnceLock::new() }
    }

    /// The numbers of some pairs: from those of all that are expected, or computed for themselves if others are among them.
    pub(super) fn numbers(&self, by: KnownBy, pairs: &[[u32; 2]], compute: impl Fn(&[[u32; 2]]) -> Matrix) -> Matrix {
        let place = |pair: &[u32; 2]| self.pairs.binary_search(pair).ok().map(|place| place as u32);
        let places: Option<Vec<u32>> = pairs.par_iter().map(place).collect();
        if let Some(places) = places {
            let (known_by, known) = self.known.get_or_init(|| (by.clone(), compute(&self.pairs)));
            if *known_by == by {
                return known.permute_rows(&places);
            }
        }
        compute(pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::propagation::Proximities;
    use crate::source::Signal;
    use std::cell::Cell;

    #[test]
    fn numbers_of_expected_pairs_are_computed_once_and_belong_to_one_model() {
        let expected = ExpectedPairs::new(vec![[3, 1], [0, 2], [3, 1], [5, 4]]);
        let settings =
            PairSettings { proximities: Proximities::Exact, longest_walk: 4, signal: Signal::Gaussian, signal_dim: 8 };
        let by = |seed: u64| KnownBy { sources: vec![PairSource::Walks], settings, seed };
        let count = Cell::new(0);
        let numbers = |seed: u64, pairs: &[[u32; 2]]| {
            let compute = |pairs: &[[u32; 2]]| {
                count.set(count.get() + 1);
                Matrix::from_fn(pairs.len(), 1, |at, _| seed as f32 + (10 * pairs[at][0] + pairs[at][1]) as f32)
            };
            expected.numbers(by(seed), pairs, compute).data().to_vec()
        };
        assert_eq!((numbers(0, &[[3, 1]]), count.get()), (vec![31.0], 1));
        assert_eq!((numbers(0, &[[5, 4], [0, 2], [5, 4]]), count.get()), (vec![54.0, 2.0, 54.0], 1));
        assert_eq!((numbers(0, &[[5, 4], [1, 3]]), count.get()), (vec![54.0, 13.0], 2), "another pair");
        assert_eq!((numbers(7, &[[0, 2]]), count.get()), (vec![9.0], 3), "another model");
    }
}
