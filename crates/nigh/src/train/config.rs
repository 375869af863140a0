//! Every hyper-parameter. `Config::default()` is the paper's appendix.

use super::Counts;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::linalg::half::Storage;
use crate::metric::Metric;
use crate::model::{Architecture, Decoder, Shape, catalog};
use crate::names::{Auto, named};
use crate::source::{Node2Vec, Refresh, Signal, SignalScale};
use crate::task::{Negatives, SameLabelPairs, Task};
use serde::{Deserialize, Serialize};
use std::path::Path;

named! {
    /// Which reading of the evaluation protocol.
    pub enum Protocol, "protocol" {
        /// Cosine scores and loosely drawn negatives, as the authors' runs did.
        Published = "published",
        /// No negative is a known edge, in either direction.
        Strict = "strict",
    }
}

/// What is trained, how, and how it is judged. The names are those of the command's options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Config {
    /// What is asked of the model.
    pub task: Task,
    /// A name of the catalog.
    pub model: String,
    /// Sets `decoder`, `train-negatives` and `evaluation-negatives` unless they are set themselves.
    pub protocol: Protocol,
    /// `K`: propagation steps, or layers.
    pub hops: usize,
    /// How rows are stored between hops, in `linear`, `gcn` and `sage`.
    pub hop_storage: Storage,
    /// Width of hidden layers and of the representation.
    pub width: usize,
    /// Share of entries dropped between layers; `auto` is 0.6 for `gat`, which drops weights of neighbours as well, and
    /// 0.5 for all others.
    #[serde(serialize_with = "auto_as_typed")]
    pub dropout: Auto<f32>,
    /// Distribution of the entries of `E`.
    pub signal: Signal,
    /// `d`, the width of `E`, or of what takes its place: eigenvectors, node2vec's vectors.
    pub signal_dim: usize,
    /// Scale of `E`.
    pub signal_scale: Auto<SignalScale>,
    /// Whether `E` stays the same; `auto` keeps it for one graph and resamples it for several.
    pub refresh: Auto<Refresh>,
    /// Nodes on a walk of node2vec.
    pub walk_length: usize,
    /// Walks of node2vec from every node.
    pub walks_per_node: usize,
    /// How far apart two nodes of a walk may be that node2vec takes for a pair.
    pub walk_context: usize,
    /// `p` of node2vec: the larger, the less a walk goes back where it came from.
    #[serde(serialize_with = "as_typed")]
    pub walk_p: f32,
    /// `q` of node2vec: the larger, the more a walk stays near where it came from.
    #[serde(serialize_with = "as_typed")]
    pub walk_q: f32,
    /// Passes of node2vec over its walks.
    pub walk_epochs: usize,
    /// How two representations become one score.
    pub decoder: Auto<Decoder>,
    /// What is measured.
    pub metric: Auto<Metric>,
    /// Passes over the training data.
    pub epochs: usize,
    /// Step of Adam.
    #[serde(serialize_with = "as_typed")]
    pub learning_rate: f32,
    /// L2 penalty, as part of the gradient.
    #[serde(serialize_with = "as_typed")]
    pub weight_decay: f32,
    /// The epoch after which the learning rate is multiplied by `decay_factor`; 0 for never.
    pub decay_at: usize,
    /// See `decay_at`.
    #[serde(serialize_with = "as_typed")]
    pub decay_factor: f32,
    /// Longest gradient over all weights together; 0 for any length.
    #[serde(serialize_with = "as_typed")]
    pub clip_norm: f32,
    /// Positive pairs per step, 0 for all at once; `auto` is 0, or 65,536 for the pair predictor, whose memory grows with
    /// them.
    pub batch_size: Auto<usize>,
    /// Epochs between two evaluations; the first epoch and the last are always evaluated.
    pub evaluate_every: usize,
    /// Runs with seeds `seed`, `seed + 1`, ...
    pub repeats: usize,
    /// The root of all randomness of the first repeat.
    pub seed: u64,
    /// Share of edges, pairs or labelled nodes for validation.
    #[serde(serialize_with = "as_typed")]
    pub valid_fraction: f32,
    /// Share of edges, pairs or labelled nodes for the test.
    #[serde(serialize_with = "as_typed")]
    pub test_fraction: f32,
    /// Labelled nodes per class for training, instead of shares; 0 for shares.
    pub train_per_class: Auto<usize>,
    /// Labelled nodes per class for validation.
    pub valid_per_class: Auto<usize>,
    /// Labelled nodes per class for the test; 0 for all the rest.
    pub test_per_class: Auto<usize>,
    /// How negatives for training are drawn.
    pub train_negatives: Auto<Negatives>,
    /// How negatives for validation and test are drawn.
    pub evaluation_negatives: Auto<Negatives>,
    /// Which pairs of like nodes pairwise classification asks about.
    pub same_label_pairs: Auto<SameLabelPairs>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            task: Task::LinkPrediction,
            model: "smp-linear".to_string(),
            protocol: Protocol::Strict,
            hops: 2,
            hop_storage: Storage::Single,
            width: 32,
            dropout: Auto::Auto,
            signal: Signal::Gaussian,
            signal_dim: 32,
            signal_scale: Auto::Auto,
            refresh: Auto::Auto,
            walk_length: Node2Vec::default().walk_length,
            walks_per_node: Node2Vec::default().walks_per_node,
            walk_context: Node2Vec::default().context,
            walk_p: Node2Vec::default().return_parameter,
            walk_q: Node2Vec::default().in_out_parameter,
            walk_epochs: Node2Vec::default().epochs,
            decoder: Auto::Auto,
            metric: Auto::Auto,
            epochs: 1000,
            learning_rate: 0.01,
            weight_decay: 5e-4,
            decay_at: 200,
            decay_factor: 0.1,
            clip_norm: 0.0,
            batch_size: Auto::Auto,
            evaluate_every: 5,
            repeats: 5,
            seed: 1,
            valid_fraction: 0.1,
            test_fraction: 0.1,
            train_per_class: Auto::Auto,
            valid_per_class: Auto::Auto,
            test_per_class: Auto::Auto,
            train_negatives: Auto::Auto,
            evaluation_negatives: Auto::Auto,
            same_label_pairs: Auto::Auto,
        }
    }
}

/// What the parser says, without the names of its types.
fn in_words(message: &str) -> String {
    let words =
        [(" as i128", ", too large"), ("usize", "a whole number"), ("u64", "a whole number"), ("f32", "a number")];
    words.iter().fold(message.to_string(), |text, (jargon, word)| text.replace(jargon, word))
}

/// The line that sets a key, counted from one.
fn line_of(text: &str, key: &str) -> usize {
    let sets = |line: &str| {
        let line = line.trim_start().trim_start_matches(['[', '"']);
        line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(['=', ']', '.', '"']))
    };
    text.lines().position(sets).map_or(1, |at| at + 1)
}

/// No count of anything is larger.
const MOST: usize = u32::MAX as usize;

/// As the shortest number that means the same, and not with the noise of a wider type behind it.
fn as_typed<S: serde::Serializer>(value: &f32, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_f64(value.to_string().parse().unwrap_or(f64::from(*value)))
}

/// As `as_typed`, or `auto`.
fn auto_as_typed<S: serde::Serializer>(value: &Auto<f32>, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    match value {
        Auto::Auto => serializer.serialize_str("auto"),
        Auto::Is(value) => as_typed(value, serializer),
    }
}

/// Graphs up to this size ask about every pair of like nodes, as the paper does on Comm and Email.
const ALL_PAIRS_UP_TO: usize = 1_000;

impl Config {
    /// Reads a table of settings over the defaults; an unknown key is answered with the nearest known one.
    pub fn from_table(table: toml::Table) -> Result<Config> {
        let known = Config::names();
        if let Some(key) = table.keys().find(|key| !known.contains(key)) {
            return Err(Error::UnknownName { kind: "setting", name: key.clone(), known });
        }
        let read = |table: toml::Table| {
            let written = table.to_string();
            table
                .try_into::<Config>()
                .map_err(|error| Error::Data(format!("`{}`: {}", written.trim(), in_words(error.message()))))
        };
        // One by one first, so that what is wrong is shown alone.
        let mut alone = table.iter().map(|(key, value)| toml::Table::from_iter([(key.clone(), value.clone())]));
        alone.try_for_each(|setting| read(setting).map(drop))?;
        read(table)
    }

    /// Reads a TOML file into a table, checked key by key and value by value. `others` are keys that mean something to
    /// the caller; they are left in the table.
    pub fn read_table(path: &Path, others: &[&str]) -> Result<toml::Table> {
        let text = std::fs::read_to_string(path).map_err(Error::io(path))?;
        let problem = |error: toml::de::Error| match error.span() {
            Some(span) => {
                let line = text[..span.start.min(text.len())].matches('\n').count();
                let written = text.lines().nth(line).unwrap_or_default().trim();
                Error::line(path, line + 1, format!("`{written}`: {}", in_words(error.message())))
            }
            None => Error::file(path, in_words(error.message())),
        };
        let table: toml::Table = text.parse().map_err(problem)?;
        // One by one, so that an error has the line of its key.
        for (key, value) in table.iter().filter(|(key, _)| !others.contains(&key.as_str())) {
            let alone = toml::Table::from_iter([(key.clone(), value.clone())]);
            let wrong = |error: Error| Error::line(path, line_of(&text, key), error.to_string());
            Config::from_table(alone).and_then(|config| config.check()).map_err(wrong)?;
        }
        Ok(table)
    }

    /// Every setting, as users type it.
    pub fn names() -> Vec<String> {
        let table = toml::Table::try_from(Config::default()).expect("the defaults can be written");
        table.keys().cloned().collect()
    }

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

    /// Each value on its own; what depends on several is checked in `resolve`.
    pub(crate) fn check(&self) -> Result<()> {
        catalog::architecture(&self.model)?;
        let counts = [
            ("hops", self.hops, 64),
            ("width", self.width, 1 << 16),
            ("signal-dim", self.signal_dim, 1 << 16),
            // The pairs of a walk are held at once.
            ("walk-length", self.walk_length, 1 << 12),
            ("walks-per-node", self.walks_per_node, 1 << 16),
            ("walk-context", self.walk_context, 1 << 12),
            ("walk-epochs", self.walk_epochs, 1 << 16),
            ("epochs", self.epochs, 1 << 24),
            ("evaluate-every", self.evaluate_every, 1 << 24),
            ("repeats", self.repeats, 1 << 16),
        ];
        let most = MOST;
        let at_most = [("decay-at", self.decay_at)];
        let choices = [
            ("batch-size", self.batch_size),
            ("train-per-class", self.train_per_class),
            ("valid-per-class", self.valid_per_class),
            ("test-per-class", self.test_per_class),
        ];
        let chosen = choices.into_iter().filter_map(|(name, count)| match count {
            Auto::Is(count) => Some((name, count)),
            Auto::Auto => None,
        });
        if let Some((name, value)) = at_most.into_iter().chain(chosen).find(|(_, value)| *value > most) {
            return Err(Error::setting(name, value, format!("expected a whole number up to {most}")));
        }
        for (name, value, most) in counts {
            if !(1..=most).contains(&value) {
                return Err(Error::setting(name, value, format!("expected a whole number from 1 to {most}")));
            }
        }
        if let Auto::Is(dropout) = self.dropout
            && !(0.0..1.0).contains(&dropout)
        {
            return Err(Error::setting("dropout", dropout, "expected a share from 0 up to, not including, 1"));
        }
        let positive = [
            ("learning-rate", self.learning_rate),
            ("decay-factor", self.decay_factor),
            ("walk-p", self.walk_p),
            ("walk-q", self.walk_q),
        ];
        for (name, value) in positive {
            if !(value.is_finite() && value > 0.0) {
                return Err(Error::setting(name, value, "expected a number above 0"));
            }
        }
        for (name, value) in [("weight-decay", self.weight_decay), ("clip-norm", self.clip_norm)] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(Error::setting(name, value, "expected 0 or more"));
            }
        }
        for (name, value) in [("valid-fraction", self.valid_fraction), ("test-fraction", self.test_fraction)] {
            if !(value > 0.0 && value < 1.0) {
                return Err(Error::setting(name, value, "expected a share between 0 and 1"));
            }
        }
        if self.seed > (1 << 53) {
            return Err(Error::setting("seed", self.seed, "expected at most 2^53, which every file format can hold"));
        }
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_survives_its_file() {
        let dataset = Dataset::built_in("leaders").unwrap();
        let config = Config { task: Task::NodeClassification, ..Config::default() }.resolve(&dataset).unwrap();
        let text = toml::to_string(&config).unwrap();
        assert_eq!(Config::from_table(text.parse().unwrap()).unwrap(), config);
        assert_eq!(config.train_per_class.get(), 5);
        assert_eq!(config.signal_scale.get(), SignalScale::Unit);
    }

    #[test]
    fn a_wrong_key_or_value_is_answered_with_what_would_be_right() {
        let error = |text: &str| {
            Config::from_table(text.parse().unwrap())
                .and_then(|c| c.resolve(&Dataset::built_in("grid").unwrap()))
                .unwrap_err()
                .to_string()
        };
        assert_eq!(error("hop = 3"), "unknown setting `hop`; did you mean `hops`?");
        assert!(error("hops = 0").starts_with("`hops` is 0, but expected a whole number from 1"));
        assert!(error("hops = -1").contains("-1"), "{}", error("hops = -1"));
        assert!(error("refresh = \"fixd\"").contains("did you mean `fixed`"));
        assert!(error("learning-rate = 0").contains("above 0"));
        assert!(error("metric = \"accuracy\"").contains("link-prediction is judged by auc"));
        assert!(error("model = \"smp-liner\"").contains("did you mean `smp-linear`"));
    }
}
