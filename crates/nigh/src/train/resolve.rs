//! From a configuration with open choices to one with none.

use super::Counts;
use super::config::{Config, Protocol};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::metric::Metric;
use crate::model::{Architecture, Decoder, Shape, catalog};
use crate::source::{Node2Vec, Refresh, SignalScale};
use crate::task::{Negatives, SameLabelPairs, Task};

/// Graphs up to this size ask about every pair of like nodes, as the paper does on Comm and Email.
const ALL_PAIRS_UP_TO: usize = 1_000;

impl Config {
    /// Checks every value and makes every choice that was left open.
    pub fn resolve(mut self, dataset: &Dataset) -> Result<Config> {
        self.check()?;
        dataset.check()?;
        if self.valid_fraction + self.test_fraction >= 1.0 {
            let sum = self.valid_fraction + self.test_fraction;
            return Err(Error::setting(
                "valid-fraction",
                self.valid_fraction,
                format!("with test-fraction it makes {sum}; nothing is left to train on"),
            ));
        }
        let several = dataset.samples.len() > 1;
        let architecture = catalog::architecture(&self.model)?;
        self.dropout = self.dropout.or(architecture.dropout);
        self.refresh = self.refresh.or(if several { Refresh::Resampled } else { Refresh::Fixed });
        self.signal_scale =
            self.signal_scale.or(dataset.paper_defaults.signal_scale.unwrap_or(SignalScale::InverseSqrt));
        let (decoder, negatives) = match self.protocol {
            Protocol::Published => (Decoder::Cosine, Negatives::Loose),
            Protocol::Strict => (Decoder::Cosine, Negatives::Exact),
        };
        let decoder = if architecture.heuristic.is_some() { Decoder::Graph } else { decoder };
        self.decoder = self.decoder.or(decoder);
        let at_once = if self.decoder.get() == Decoder::HadamardMlp { 1 << 16 } else { 0 };
        self.batch_size = self.batch_size.or(at_once);
        self.train_negatives = self.train_negatives.or(negatives);
        self.evaluation_negatives = self.evaluation_negatives.or(negatives);
        let asks_pairs = self.task.asks_pairs();
        self.metric = self.metric.or(if asks_pairs { Metric::Auc } else { Metric::Accuracy });
        if self.metric.get().judges_pairs() != asks_pairs {
            let right = if asks_pairs { "auc, ap, hits@K or mrr" } else { "accuracy or macro-f1" };
            return Err(Error::setting("metric", self.metric, format!("{} is judged by {right}", self.task)));
        }
        let [train, valid, test] = dataset.paper_defaults.per_class.unwrap_or([0, 0, 0]);
        self.train_per_class = self.train_per_class.or(train);
        // Shares leave no counts to the others.
        let (valid, test) = match self.train_per_class.get() {
            0 => (0, 0),
            asked => (if train > 0 { valid } else { asked }, test),
        };
        self.valid_per_class = self.valid_per_class.or(valid);
        self.test_per_class = self.test_per_class.or(test);
        let counts = [("valid-per-class", self.valid_per_class), ("test-per-class", self.test_per_class)];
        if let Some((name, count)) = counts.into_iter().find(|(_, count)| count.get() > 0)
            && self.train_per_class.get() == 0
        {
            return Err(Error::setting(name, count, "it counts only together with train-per-class"));
        }
        if self.train_per_class.get() > 0 && self.valid_per_class.get() == 0 {
            return Err(Error::setting("valid-per-class", 0, "the best epoch is chosen on validation nodes"));
        }
        let small = dataset.samples.iter().all(|sample| sample.graph.num_nodes() <= ALL_PAIRS_UP_TO);
        self.same_label_pairs =
            self.same_label_pairs.or(if small { SameLabelPairs::All } else { SameLabelPairs::Sampled });
        self.check_model(&architecture, several)?;
        if !architecture.learns(!asks_pairs, self.decoder.get()) {
            // One look is all there is to it.
            (self.epochs, self.decay_at) = (1, 0);
        }
        Ok(self)
    }

    /// Whether the model can answer the question on such data.
    fn check_model(&self, architecture: &Architecture, several: bool) -> Result<()> {
        let wrong = |problem: &str| Err(Error::setting("model", &self.model, problem));
        let counts_in_the_graph = self.decoder.get() == Decoder::Graph;
        if self.task == Task::NodeClassification && !architecture.can_classify() {
            return wrong("it answers for pairs alone; take smp-linear to classify nodes");
        }
        if several && architecture.knows_nodes_alone() {
            return wrong("all it learns belongs to the nodes of one graph, and these are several; take smp-linear");
        }
        if counts_in_the_graph != architecture.heuristic.is_some() {
            let (model, decoder) = (&self.model, self.decoder);
            let problem = match architecture.heuristic {
                Some(_) => format!("{model} counts in the graph and has no representations to decode; leave it out"),
                None => {
                    format!("it belongs to heuristics like common-neighbors; {model} has representations to decode")
                }
            };
            return Err(Error::setting("decoder", decoder, problem));
        }
        Ok(())
    }

    /// This configuration, if it is one that `resolve` gave.
    pub(crate) fn checked_as_resolved(self) -> Result<Config> {
        self.check()?;
        let table = toml::Table::try_from(&self).expect("a configuration can be written");
        match table.iter().find(|(_, value)| value.as_str() == Some("auto")) {
            Some((key, _)) => Err(Error::Data(format!("`{key}` is still auto"))),
            None => Ok(self),
        }
    }

    /// The shape of the model for data of such counts. Resolved configurations only.
    pub fn shape(&self, counts: Counts) -> Shape {
        Shape {
            // The constant takes the place of features that are not there or not used.
            num_features: if self.task.uses_features() { counts.features.max(1) } else { 1 },
            num_classes: (self.task == Task::NodeClassification).then_some(counts.classes),
            num_ids: counts.nodes,
            hops: self.hops,
            hop_storage: self.hop_storage,
            width: self.width,
            dropout: self.dropout.get(),
            signal: self.signal,
            signal_dim: self.signal_dim,
            signal_scale: self.signal_scale.get(),
            refresh: self.refresh.get(),
            walks: Node2Vec {
                walk_length: self.walk_length,
                walks_per_node: self.walks_per_node,
                context: self.walk_context,
                return_parameter: self.walk_p,
                in_out_parameter: self.walk_q,
                epochs: self.walk_epochs,
                ..Node2Vec::default()
            },
        }
    }

    /// The learning rate of an epoch, counted from one.
    pub fn learning_rate_at(&self, epoch: usize) -> f32 {
        let decayed = self.decay_at > 0 && epoch > self.decay_at;
        if decayed { self.learning_rate * self.decay_factor } else { self.learning_rate }
    }
}
