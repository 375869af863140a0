//! From representations to answers: a score per pair, or a class per node.

use super::catalog::NodeTable;
use super::proximity::pair_head::PairHead;
use super::{Answer, Heuristic, Model, View};
use crate::linalg::{Matrix, rows_of};
use crate::names::named;
use crate::ops::pairs::{self, PairLoss, Scale};
use crate::tape::{Pass, WeightAccess, Weights};

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
        /// One head over `h_i ⊙ h_j` and over what is known of a pair: walk proximities, degrees, similarities.
        Proximity = "proximity",
    }
}

impl Decoder {
    /// Whether it has weights of its own.
    pub(crate) fn learns(self) -> bool {
        match self {
            Decoder::Cosine | Decoder::InnerProduct | Decoder::Graph => false,
            Decoder::HadamardMlp | Decoder::Proximity => true,
        }
    }

    /// Whether its scores can be any number, as logits are. A cosine is from -1 to 1, however sure the model is.
    pub(crate) fn is_unbounded(self) -> bool {
        match self {
            Decoder::InnerProduct | Decoder::HadamardMlp | Decoder::Proximity => true,
            Decoder::Cosine | Decoder::Graph => false,
        }
    }

    /// Masked positive pairs of one graph in an epoch, at most.
    pub(crate) fn most_masked_pairs(self, node_table: NodeTable) -> usize {
        match (self, node_table) {
            (Decoder::Proximity, NodeTable::None) => PAIRS_FOR_A_HEAD,
            // What belongs to a node is learnt from its own pairs.
            _ => usize::MAX,
        }
    }

    /// The share of links among the pairs of the training, as the loss weighs them. A learnt decoder gives both kinds half of the loss,
    /// others the same to every pair.
    pub(crate) fn training_prior(self, negatives_per_positive: usize) -> f64 {
        if self.learns() { 0.5 } else { 1.0 / (1.0 + negatives_per_positive as f64) }
    }
}

/// Pairs from which a head over a few dozen numbers is learnt: more of them change nothing.
pub(crate) const PAIRS_FOR_A_HEAD: usize = 300_000;

/// How a model scores pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scoring {
    /// From two representations to a score.
    pub decoder: Decoder,
    /// Width of the hidden layers of a learnt decoder.
    pub hidden: usize,
    /// Its dropout probability.
    pub dropout: f32,
}

impl Scoring {
    /// Declares or looks up the weights, if the decoder has any.
    pub(super) fn record(self, weights: &mut WeightAccess<'_>, width: usize, num_scalars: usize) -> Option<PairHead> {
        self.decoder.learns().then(|| PairHead::record(self, weights, width, num_scalars))
    }
}

/// Pairs that are scored at a time, which bounds the memory of the layers.
const PAIRS_AT_A_TIME: usize = 1 << 16;

/// Pairs whose scalars are computed at a time: several calls expand the same rows again.
const SCALARS_AT_A_TIME: usize = 1 << 21;

/// A decoder of pairs with its buffers. The weights of the head are among those of the model.
#[derive(Debug)]
pub(crate) struct PairDecoder {
    decoder: Decoder,
    heuristic: Option<Heuristic>,
    loss: PairLoss,
    head: Option<PairHead>,
    scores: Vec<f32>,
}

impl PairDecoder {
    /// The decoder of a model that scores pairs; `None` for one that classifies nodes.
    pub fn new(model: &Model) -> Option<PairDecoder> {
        let Answer::Scores(scoring) = model.shape().answer else { return None };
        let width = model.representation_width();
        let head = scoring.record(&mut WeightAccess::LookUp(&model.weights), width, model.num_pair_scalars());
        let heuristic = model.architecture().heuristic;
        let loss = PairLoss::default();
        Some(PairDecoder { decoder: scoring.decoder, heuristic, loss, head, scores: Vec::new() })
    }

    /// Sets the pairs that should score high, for all losses to come.
    pub fn set_positives(&mut self, num_nodes: usize, positive: &[[u32; 2]]) {
        match &mut self.head {
            Some(head) => head.set_positives(positive),
            None => self.loss.positive.rebuild(num_nodes, positive),
        }
    }

    /// Sets the pairs that should score low, for the loss to come. Does not need `H`, so both can be made at once.
    pub fn set_negatives(&mut self, num_nodes: usize, negative: &[[u32; 2]]) {
        match &mut self.head {
            Some(head) => head.set_negatives(num_nodes, negative),
            None => self.loss.negative.rebuild(num_nodes, negative),
        }
    }

    /// Where the scalars of these pairs belong, if the decoder reads any: positive ones first, then negative ones.
    pub fn scalars_mut(&mut self) -> Option<&mut Matrix> {
        self.head.as_mut().and_then(PairHead::scalars_mut)
    }

    /// Mean binary cross-entropy over the positive and the negative pairs, weighed as in [`Decoder::training_prior`]. The gradient goes
    /// to `gradient` and, for weights of the decoder, to `weights`.
    pub fn loss(&mut self, h: &Matrix, weights: &mut Weights, pass: &Pass, gradient: &mut Matrix) -> f64 {
        match &mut self.head {
            Some(head) => head.loss(h, weights, pass, gradient),
            None => self.loss.loss(h, self.scale(), gradient),
        }
    }

    /// The score of every pair, in order; `view` is what message passing may see.
    pub fn scores(&mut self, model: &Model, view: &View, h: &Matrix, pairs: &[[u32; 2]]) -> &[f32] {
        if self.scalars_mut().is_none() {
            return self.scores_given(model, view, h, pairs, None);
        }
        let mut scores = Vec::with_capacity(pairs.len());
        for pairs in pairs.chunks(SCALARS_AT_A_TIME) {
            let scalars = model.pair_scalars(view, pairs);
            scores.extend_from_slice(self.scores_given(model, view, h, pairs, Some(&scalars)));
        }
        self.scores = scores;
        &self.scores
    }

    /// As `scores`, with the scalars of the pairs, if the decoder reads any.
    pub fn scores_given(
        &mut self,
        model: &Model,
        view: &View,
        h: &Matrix,
        pairs: &[[u32; 2]],
        scalars: Option<&Matrix>,
    ) -> &[f32] {
        if let Some(heuristic) = self.heuristic {
            self.scores = heuristic.scores(view.operator.graph(), pairs);
        } else if let Some(head) = &mut self.head {
            self.scores.clear();
            for (block, pairs) in pairs.chunks(PAIRS_AT_A_TIME).enumerate() {
                if let (Some(place), Some(scalars)) = (head.scalars_mut(), scalars) {
                    place.reshape(pairs.len(), scalars.cols());
                    place.data_mut().copy_from_slice(rows_of(scalars, block * PAIRS_AT_A_TIME, pairs.len()));
                }
                head.score(h, pairs, &model.weights, &mut self.scores);
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
