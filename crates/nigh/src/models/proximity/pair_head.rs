//! Learnt scores of pairs: what is made of `h_i ⊙ h_j` and of the scalars of a pair.

use crate::linalg::Matrix;
use crate::linalg::incidence::Incidence;
use crate::linalg::logistic::cross_entropies;
use crate::models::decoder::{Decoder, Scoring};
use crate::ops::dropout::ReluDropout;
use crate::ops::layer_norm::LayerNorm;
use crate::ops::linear::LinearMap;
use crate::ops::pairs;
use crate::propagation::Footprint;
use crate::seeds::Seeds;
use crate::tape::{Init, Pass, Tape, Var, WeightAccess, Weights};

/// Linear layers of PPA's predictor.
const PREDICTOR_LAYERS: usize = 3;

/// Hidden layers over the scalars of a pair, their width and their dropout probability at most: there are a few dozen scalars,
/// whatever the graph.
const SCALAR_LAYERS: usize = 2;
const SCALAR_WIDTH: usize = 64;
const MAX_SCALAR_DROPOUT: f32 = 0.2;

/// Hidden layers over `h_i ⊙ h_j`.
const PRODUCT_LAYERS: usize = 2;

/// A network from pairs to scores, with its buffers. Its weights are among those of the model.
#[derive(Debug)]
pub(in crate::models) struct PairHead {
    tape: Tape,
    /// `h_i ⊙ h_j`, if there are representations.
    product: Option<Var>,
    /// What is known of a pair, if the model has sources of pairs.
    scalars: Option<Var>,
    score: Var,
    num_positive: usize,
    /// Positive pairs, then negative ones.
    pairs: Vec<[u32; 2]>,
    incidence: Incidence,
}

/// Records layers one after the other.
struct Layers<'a, 'w> {
    tape: &'a mut Tape,
    weights: &'a mut WeightAccess<'w>,
}

impl Layers<'_, '_> {
    fn linear(&mut self, inputs: &[Var], name: &str, fan_out: usize) -> Var {
        let fan_in = inputs.iter().map(|input| input.width()).sum();
        let w = self.weights.weight(&format!("{name}/weight"), [fan_in, fan_out], Init::fan_in(fan_in));
        let b = self.weights.weight(&format!("{name}/bias"), [1, fan_out], Init::fan_in(fan_in));
        self.tape.push(LinearMap::new(inputs.len()), &[inputs, &[w, b]].concat())
    }

    fn layer_norm(&mut self, x: Var, name: &str) -> Var {
        let gain = self.weights.weight(&format!("{name}/gain"), [1, x.width()], Init::Constant { value: 1.0 });
        let bias = self.weights.weight(&format!("{name}/shift"), [1, x.width()], Init::Zeros);
        self.tape.push(LayerNorm::default(), &[x, gain, bias])
    }

    fn relu_dropout(&mut self, x: Var, dropout: f32, name: &str) -> Var {
        self.tape.push(ReluDropout::new(dropout, &format!("{name}/dropout")), &[x])
    }
}

impl PairHead {
    /// `width` is that of the representations, `num_scalars` what is known of a pair.
    pub fn record(scoring: Scoring, weights: &mut WeightAccess<'_>, width: usize, num_scalars: usize) -> PairHead {
        let mut tape = Tape::default();
        let product = (width > 0).then(|| tape.feed(width));
        let is_proximity = scoring.decoder == Decoder::Proximity;
        let scalars = (is_proximity && num_scalars > 0).then(|| tape.feed(num_scalars));
        let mut layers = Layers { tape: &mut tape, weights };
        let score = match product {
            Some(product) if !is_proximity => predictor(scoring, &mut layers, product),
            _ => {
                let hidden = product.map(|x| {
                    (1..=PRODUCT_LAYERS).fold(x, |x, layer| {
                        let name = format!("pairs/product/{layer}");
                        let x = layers.linear(&[x], &name, scoring.hidden);
                        let x = layers.layer_norm(x, &name);
                        layers.relu_dropout(x, scoring.dropout, &name)
                    })
                });
                let known = scalars.map(|x| {
                    (1..=SCALAR_LAYERS).fold(x, |x, layer| {
                        let name = format!("pairs/scalars/{layer}");
                        let x = layers.linear(&[x], &name, SCALAR_WIDTH);
                        layers.relu_dropout(x, scoring.dropout.min(MAX_SCALAR_DROPOUT), &name)
                    })
                });
                let both: Vec<Var> = hidden.into_iter().chain(known).collect();
                layers.linear(&both, "pairs/score", 1)
            }
        };
        let (num_positive, pairs) = (0, Vec::new());
        PairHead { tape, product, scalars, score, num_positive, pairs, incidence: Incidence::with_pairs() }
    }

    /// Columns of values and of gradients for every pair.
    pub fn footprint(&self) -> [usize; 2] {
        let Footprint { values, gradients, .. } = self.tape.footprint();
        [values, gradients]
    }

    /// Sets the pairs that should score high, for all losses to come.
    pub fn set_positives(&mut self, positive: &[[u32; 2]]) {
        self.num_positive = positive.len();
        self.pairs.clear();
        self.pairs.extend_from_slice(positive);
    }

    /// Sets the pairs that should score low, for the loss to come.
    pub fn set_negatives(&mut self, num_nodes: usize, negative: &[[u32; 2]]) {
        self.pairs.truncate(self.num_positive);
        self.pairs.extend_from_slice(negative);
        if self.product.is_some() {
            self.incidence.rebuild(num_nodes, &self.pairs);
        }
    }

    /// Where the scalars of the pairs belong: the positive ones first, then the negative ones.
    pub fn scalars_mut(&mut self) -> Option<&mut Matrix> {
        self.scalars.map(|scalars| self.tape.value_mut(scalars))
    }

    /// Binary cross-entropy, both kinds of pairs with the same weight. The gradient of `h` goes to `gradient`.
    pub fn loss(&mut self, h: &Matrix, weights: &mut Weights, pass: &Pass, gradient: &mut Matrix) -> f64 {
        if let Some(product) = self.product {
            pairs::hadamard(h, &self.pairs, self.tape.value_mut(product));
        }
        self.tape.forward(weights, pass);
        let (scores, slopes) = self.tape.output_and_gradient(self.score);
        slopes.reshape(self.pairs.len(), 1);
        let counts = [self.pairs.len() - self.num_positive, self.num_positive];
        let shares = counts.map(|count| 0.5 / count.max(1) as f32);
        let mut sums = [0.0; 2];
        for (pair, (&score, slope)) in scores.data().iter().zip(slopes.data_mut()).enumerate() {
            let label = usize::from(pair < self.num_positive);
            let ([pair_loss], [pair_slope]) = cross_entropies(&[score], &[label as f32]);
            sums[label] += f64::from(pair_loss);
            *slope = pair_slope * shares[label];
        }
        self.tape.backward(self.score, weights);
        if let Some(product) = self.product {
            pairs::hadamard_gradient(h, &self.incidence, self.tape.gradient(product), gradient);
        }
        let means = [0, 1].map(|label| 0.5 * sums[label] / counts[label].max(1) as f64);
        means[0] + means[1]
    }

    /// Appends the scores of pairs, whose scalars are in place.
    pub fn score(&mut self, h: &Matrix, pairs: &[[u32; 2]], weights: &Weights, scores: &mut Vec<f32>) {
        if let Some(product) = self.product {
            pairs::hadamard(h, pairs, self.tape.value_mut(product));
        }
        self.tape.forward(weights, &Pass { training: false, seeds: Seeds::ZERO, graph: 0, draw: 0 });
        scores.extend_from_slice(self.tape.value(self.score).data());
    }
}

/// PPA's predictor, `MLP(h_i ⊙ h_j)`: linear, ReLU, dropout, twice, and a linear map to the score.
fn predictor(scoring: Scoring, layers: &mut Layers<'_, '_>, product: Var) -> Var {
    (1..=PREDICTOR_LAYERS).fold(product, |x, layer| {
        let (name, is_last) = (format!("predictor/{layer}"), layer == PREDICTOR_LAYERS);
        let x = layers.linear(&[x], &name, if is_last { 1 } else { scoring.hidden });
        if is_last { x } else { layers.relu_dropout(x, scoring.dropout, &name) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::check_loss_gradient;

    const POSITIVE: [[u32; 2]; 2] = [[0, 1], [2, 4]];
    const NEGATIVE: [[u32; 2]; 3] = [[1, 3], [0, 4], [3, 2]];

    fn head(weights: &mut Weights, width: usize) -> PairHead {
        let scoring = Scoring { decoder: Decoder::Proximity, hidden: 6, dropout: 0.0 };
        let mut head = PairHead::record(scoring, &mut WeightAccess::Declare(weights), width, 3);
        head.set_positives(&POSITIVE);
        head.set_negatives(5, &NEGATIVE);
        *head.scalars_mut().unwrap() = Matrix::from_fn(5, 3, |pair, column| (pair * 3 + column) as f32 * 0.2 - 1.0);
        head
    }

    // Evaluation drops nothing, so that two passes can be compared.
    const PASS: Pass = Pass { training: false, seeds: Seeds::ZERO, graph: 0, draw: 0 };

    #[test]
    fn gradients_agree_with_finite_differences() {
        let mut weights = Weights::new(Seeds::new(2));
        let mut head_of_h = head(&mut weights, 4);
        check_loss_gradient([5, 4], |h, gradient| head_of_h.loss(h, &mut weights, &PASS, gradient));
        // The weights themselves, of both networks.
        let h = Matrix::from_fn(5, 4, |node, column| ((node * 7 + column * 3) % 11) as f32 * 0.2 - 1.0);
        weights.clear_gradients();
        head_of_h.loss(&h, &mut weights, &PASS, &mut Matrix::default());
        let gradients: Vec<Matrix> = weights.entries().iter().map(|weight| weight.gradient.clone()).collect();
        let (mut compared, mut beside_kinks) = (0, 0);
        for (at, gradient) in gradients.iter().enumerate() {
            for (entry, &expected) in gradient.data().iter().enumerate().step_by(7) {
                let mut moved = |by: f32| {
                    weights.entries_mut()[at].value.data_mut()[entry] += by;
                    let loss = head_of_h.loss(&h, &mut weights, &PASS, &mut Matrix::default());
                    weights.entries_mut()[at].value.data_mut()[entry] -= by;
                    loss
                };
                let difference = (moved(5e-3) - moved(-5e-3)) / 1e-2;
                let error = (f64::from(expected) - difference).abs();
                beside_kinks += usize::from(error > 5e-3 * difference.abs().max(0.2));
                compared += usize::from(expected != 0.0);
            }
        }
        // A step may cross the kink of a ReLU.
        assert!(50 * beside_kinks <= compared, "{beside_kinks} of {compared}");
        assert!(compared > 100, "{compared}");
    }

    #[test]
    fn both_kinds_of_pairs_have_the_same_weight_in_the_loss() {
        let mut weights = Weights::new(Seeds::new(2));
        let mut head = head(&mut weights, 0);
        weights.entries_mut().iter_mut().for_each(|weight| weight.value.data_mut().fill(0.0));
        // Scores of zero: a loss of ln 2 for every pair, and slopes that cancel.
        let loss = head.loss(&Matrix::zeros(5, 0), &mut weights, &PASS, &mut Matrix::default());
        assert!((loss - 2f64.ln()).abs() < 1e-6, "{loss}");
        assert!(weights.get("pairs/score/bias").unwrap().gradient.data()[0].abs() < 1e-7);
    }

    #[test]
    fn new_negatives_take_the_place_of_those_before() {
        let mut weights = Weights::new(Seeds::new(2));
        let mut head = head(&mut weights, 0);
        let loss = |head: &mut PairHead, weights: &mut Weights| {
            head.loss(&Matrix::zeros(5, 0), weights, &PASS, &mut Matrix::default())
        };
        let before = loss(&mut head, &mut weights);
        head.set_negatives(5, &NEGATIVE);
        assert_eq!(head.pairs.len(), POSITIVE.len() + NEGATIVE.len());
        assert_eq!(loss(&mut head, &mut weights), before);
    }

    #[test]
    fn no_more_than_a_fifth_of_what_is_known_of_pairs_is_dropped() {
        let loss = |dropout: f32| {
            let mut weights = Weights::new(Seeds::new(2));
            let scoring = Scoring { decoder: Decoder::Proximity, hidden: 6, dropout };
            let mut head = PairHead::record(scoring, &mut WeightAccess::Declare(&mut weights), 0, 3);
            head.set_positives(&POSITIVE);
            head.set_negatives(5, &NEGATIVE);
            *head.scalars_mut().unwrap() = Matrix::ones(5, 3);
            let pass = Pass { training: true, seeds: Seeds::new(1), graph: 0, draw: 1 };
            head.loss(&Matrix::zeros(5, 0), &mut weights, &pass, &mut Matrix::default())
        };
        assert_eq!(loss(0.8), loss(0.2));
        assert_ne!(loss(0.1), loss(0.2));
    }
}
