//! From representations to answers: a score per pair, or a class per node.

use super::{Heuristic, Model, Shape};
use crate::graph::Graph;
use crate::linalg::Matrix;
use crate::linalg::incidence::Incidence;
use crate::linalg::logistic::cross_entropies;
use crate::names::named;
use crate::ops::dropout::ReluDropout;
use crate::ops::linear::Linear;
use crate::ops::pairs::{self, PairLoss, Scale};
use crate::seeds::Seeds;
use crate::tape::{Pass, Tape, Var, Weights};
use std::sync::Arc;

named! {
    /// How two representations become one score.
    pub enum Decoder, "decoder" {
        /// `<h_i, h_j> / (|h_i| |h_j|)`: how the paper's figures were made.
        Cosine = "cosine",
        /// `<h_i, h_j>`: what the paper's text says.
        InnerProduct = "inner-product",
        /// `MLP(h_i ⊙ h_j)`: three linear layers, PPA's predictor.
        HadamardMlp = "hadamard-mlp",
        /// Counted in the graph itself, as heuristics do.
        Graph = "graph",
    }
}

/// Pairs are scored so many at a time, which bounds the memory of the pair predictor.
const PAIRS_AT_A_TIME: usize = 1 << 16;

/// A decoder of pairs with its buffers. The weights of the predictor live with those of the model.
#[derive(Debug)]
pub struct PairDecoder {
    decoder: Decoder,
    heuristic: Option<Heuristic>,
    loss: PairLoss,
    predictor: Option<Predictor>,
    scores: Vec<f32>,
}

impl PairDecoder {
    /// A decoder for a model; the pair predictor declares its weights there.
    pub fn new(decoder: Decoder, model: &mut Model) -> PairDecoder {
        let shape = *model.shape();
        let width = model.representation_width();
        let predictor = (decoder == Decoder::HadamardMlp).then(|| Predictor::record(&mut model.weights, &shape, width));
        let heuristic = model.architecture().heuristic;
        PairDecoder { decoder, heuristic, loss: PairLoss::default(), predictor, scores: Vec::new() }
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

    /// Mean binary cross-entropy over the pairs that are expected and opposed. The gradient goes to `gradient` and, for the
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
struct Predictor {
    tape: Tape,
    product: Var,
    score: Var,
    positive: Vec<[u32; 2]>,
    /// Positive pairs, then negative ones.
    pairs: Vec<[u32; 2]>,
    incidence: Incidence,
}

/// How many linear layers the predictor has.
const PREDICTOR_LAYERS: usize = 3;

impl Predictor {
    fn record(weights: &mut Weights, shape: &Shape, width: usize) -> Predictor {
        let mut tape = Tape::default();
        let product = tape.feed();
        let (mut x, mut fan_in) = (product, width);
        for layer in 1..=PREDICTOR_LAYERS {
            let fan_out = if layer == PREDICTOR_LAYERS { 1 } else { shape.width };
            let w = weights.plain(&format!("predictor/{layer}/weight"), [fan_in, fan_out], fan_in);
            let b = weights.plain(&format!("predictor/{layer}/bias"), [1, fan_out], fan_in);
            x = tape.push(Linear::new(1), &[x, w, b]);
            if layer < PREDICTOR_LAYERS {
                x = tape.push(ReluDropout::new(shape.dropout, &format!("predictor/{layer}/dropout")), &[x]);
            }
            fan_in = fan_out;
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
