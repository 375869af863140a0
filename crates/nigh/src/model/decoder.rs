//! From representations to answers: a score per pair, or a class per node.

use super::{Answer, Heuristic, Model};
use crate::graph::Graph;
use crate::linalg::Matrix;
use crate::linalg::incidence::Incidence;
use crate::linalg::logistic::cross_entropies;
use crate::names::named;
use crate::ops::dropout::ReluDropout;
use crate::ops::linear::LinearMap;
use crate::ops::pairs::{self, PairLoss, Scale};
use crate::seeds::Seeds;
use crate::tape::{Init, Pass, Tape, Var, WeightAccess, Weights};
use std::sync::Arc;

named! {
    /// How two representations become one score.
    pub enum Decoder, "decoder" {
        /// `<h_i, h_j> / (|h_i| |h_j|)`: as in the paper's figures.
        Cosine = "cosine",
        /// `<h_i, h_j>`: as in the paper's text.
        InnerProduct = "inner-product",
        /// `MLP(h_i ⊙ h_j)`: three linear layers, PPA's predictor.
        HadamardMlp = "hadamard-mlp",
        /// Counted in the graph itself, as heuristics do.
        Graph = "graph",
    }
}

/// How a model scores pairs.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scoring {
    /// From two representations to a score.
    pub decoder: Decoder,
    /// Width of the pair predictor's hidden layers.
    pub hidden: usize,
    /// Its dropout probability.
    pub dropout: f32,
}

impl Scoring {
    /// Declares or looks up the weights, of which only the pair predictor has any.
    pub(super) fn record(self, weights: &mut WeightAccess<'_>, width: usize) -> Option<Predictor> {
        (self.decoder == Decoder::HadamardMlp).then(|| Predictor::record(self, weights, width))
    }
}

/// Pairs that are scored at a time, which bounds the memory of the pair predictor.
const PAIRS_AT_A_TIME: usize = 1 << 16;

/// A decoder of pairs with its buffers. The weights of the predictor are among those of the model.
#[doc(hidden)]
#[derive(Debug)]
pub struct PairDecoder {
    decoder: Decoder,
    heuristic: Option<Heuristic>,
    loss: PairLoss,
    predictor: Option<Predictor>,
    scores: Vec<f32>,
}

impl PairDecoder {
    /// The decoder of a model that scores pairs; `None` for one that classifies nodes.
    pub fn new(model: &Model) -> Option<PairDecoder> {
        let Answer::Scores(scoring) = model.shape().answer else { return None };
        let width = model.representation_width();
        let predictor = scoring.record(&mut WeightAccess::LookUp(&model.weights), width);
        let heuristic = model.architecture().heuristic;
        let loss = PairLoss::default();
        Some(PairDecoder { decoder: scoring.decoder, heuristic, loss, predictor, scores: Vec::new() })
    }

    /// Sets the pairs that should score high, for all losses to come.
    pub fn set_positives(&mut self, num_nodes: usize, positive: &[[u32; 2]]) {
        match &mut self.predictor {
            Some(predictor) => {
                predictor.positive.clear();
                predictor.positive.extend_from_slice(positive);
            }
            None => self.loss.positive.rebuild(num_nodes, positive),
        }
    }

    /// Sets the pairs that should score low, for the loss to come. Does not need `H`, so both can be made at once.
    pub fn set_negatives(&mut self, num_nodes: usize, negative: &[[u32; 2]]) {
        match &mut self.predictor {
            Some(predictor) => predictor.set_negatives(num_nodes, negative),
            None => self.loss.negative.rebuild(num_nodes, negative),
        }
    }

    /// Mean binary cross-entropy over the positive and the negative pairs. The gradient goes to `gradient` and, for the
    /// predictor's own weights, to `weights`.
    pub fn loss(&mut self, h: &Matrix, weights: &mut Weights, pass: &Pass, gradient: &mut Matrix) -> f64 {
        match &mut self.predictor {
            Some(predictor) => predictor.loss(h, weights, pass, gradient),
            None => self.loss.loss(h, self.scale(), gradient),
        }
    }

    /// The score of every pair, in order; `graph` is what message passing may see.
    pub fn scores(&mut self, graph: &Arc<Graph>, h: &Matrix, pairs: &[[u32; 2]], weights: &Weights) -> &[f32] {
        if let Some(heuristic) = self.heuristic {
            self.scores = heuristic.scores(graph, pairs);
        } else if let Some(predictor) = &mut self.predictor {
            self.scores.clear();
            for pairs in pairs.chunks(PAIRS_AT_A_TIME) {
                predictor.score(h, pairs, weights, &mut self.scores);
            }
        } else {
            let scale = self.scale();
            pairs::scores(h, pairs, scale, &mut self.scores);
        }
        &self.scores
    }

    fn scale(&self) -> Scale {
        if self.decoder == Decoder::Cosine { Scale::Unit } else { Scale::Raw }
    }
}

/// `MLP(h_i ⊙ h_j)`: linear, ReLU, dropout, twice, and a linear map to the score.
#[derive(Debug)]
pub(super) struct Predictor {
    tape: Tape,
    product: Var,
    score: Var,
    positive: Vec<[u32; 2]>,
    /// Positive pairs, then negative ones.
    pairs: Vec<[u32; 2]>,
    incidence: Incidence,
}

/// Linear layers of the predictor.
const PREDICTOR_LAYERS: usize = 3;

impl Predictor {
    fn record(scoring: Scoring, weights: &mut WeightAccess<'_>, width: usize) -> Predictor {
        let mut tape = Tape::default();
        let product = tape.feed(width);
        let mut x = product;
        for layer in 1..=PREDICTOR_LAYERS {
            let fan_in = x.width();
            let fan_out = if layer == PREDICTOR_LAYERS { 1 } else { scoring.hidden };
            let w = weights.weight(&format!("predictor/{layer}/weight"), [fan_in, fan_out], Init::fan_in(fan_in));
            let b = weights.weight(&format!("predictor/{layer}/bias"), [1, fan_out], Init::fan_in(fan_in));
            x = tape.push(LinearMap::new(1), &[x, w, b]);
            if layer < PREDICTOR_LAYERS {
                x = tape.push(ReluDropout::new(scoring.dropout, &format!("predictor/{layer}/dropout")), &[x]);
            }
        }
        Predictor {
            tape,
            product,
            score: x,
            positive: Vec::new(),
            pairs: Vec::new(),
            incidence: Incidence::with_pairs(),
        }
    }

    fn set_negatives(&mut self, num_nodes: usize, negative: &[[u32; 2]]) {
        self.pairs.clear();
        self.pairs.extend_from_slice(&self.positive);
        self.pairs.extend_from_slice(negative);
        self.incidence.rebuild(num_nodes, &self.pairs);
    }

    fn loss(&mut self, h: &Matrix, weights: &mut Weights, pass: &Pass, gradient: &mut Matrix) -> f64 {
        pairs::hadamard(h, &self.pairs, self.tape.value_mut(self.product));
        self.tape.forward(weights, pass);
        let (scores, slopes) = self.tape.output_and_gradient(self.score);
        slopes.reshape(self.pairs.len(), 1);
        let share = 1.0 / self.pairs.len() as f32;
        let mut loss = 0.0;
        for (pair, (&score, slope)) in scores.data().iter().zip(slopes.data_mut()).enumerate() {
            let label = if pair < self.positive.len() { 1.0 } else { 0.0 };
            let ([pair_loss], [pair_slope]) = cross_entropies(&[score], &[label]);
            loss += f64::from(pair_loss);
            *slope = pair_slope * share;
        }
        self.tape.backward(self.score, weights);
        pairs::hadamard_gradient(h, &self.incidence, self.tape.gradient(self.product), gradient);
        loss / self.pairs.len() as f64
    }

    fn score(&mut self, h: &Matrix, pairs: &[[u32; 2]], weights: &Weights, scores: &mut Vec<f32>) {
        pairs::hadamard(h, pairs, self.tape.value_mut(self.product));
        self.tape.forward(weights, &Pass { training: false, seeds: Seeds::new(0), graph: 0, draw: 0 });
        scores.extend_from_slice(self.tape.value(self.score).data());
    }
}
