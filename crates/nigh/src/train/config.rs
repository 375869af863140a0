//! Every setting, with its default and range. What `auto` means for a model is in `preset.rs`: the paper's appendix for its models.

use super::adam::Optimizer;
use super::schedule::Schedule;
use super::setting::{self, Setting, settings};
use crate::error::{Error, Result};
use crate::linalg::half::Storage;
use crate::metric::Metric;
use crate::model::catalog::NodeTable;
use crate::model::{Decoder, Without, catalog};
use crate::names::{Auto, named};
use crate::source::walks::MAX_LENGTH;
use crate::source::{Node2Vec, Proximities, Reconstruction, Refresh, Signal, SignalScale};
use crate::task::{EvaluationNegatives, Masking, Negatives, SameLabelPairs, SplitChoice, Task, TestEdges};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::LazyLock;

named! {
    /// Which reading of the evaluation protocol.
    pub enum Protocol, "protocol" {
        /// Cosine scores and loosely drawn negatives, as in the authors' runs.
        Published = "published",
        /// No negative is a known edge, in either direction.
        Strict = "strict",
        /// Links as NCN is judged (Wang et al., ICLR 2024): 70/10/20 % of the edges, Hits@100, strict negatives, of which
        /// validation has twice as many as positives.
        Ncn = "ncn",
    }
}

named! {
    /// Whether a model sees the features of the nodes.
    pub enum NodeFeatures, "choice of features" {
        /// Those that the data have.
        Given = "given",
        /// None: only the structure counts.
        None = "none",
    }
}

settings! {
    /// `link-prediction`, `node-classification`, `pairwise-node-classification` or `graph-reconstruction`
    task: {Task = Task::LinkPrediction}, "TASK";
    /// A model of the catalog (`nigh models`), or `auto`: the one that answers the task best
    model: [String], "MODEL";
    /// `strict`; `published`: cosine scores and loosely drawn negatives, as in the paper's figures; or `ncn`: links as NCN is
    /// judged, 70/10/20 % of the edges and Hits@100
    protocol: {Protocol = Protocol::Strict}, "PROTOCOL";
    /// Features of the nodes: `given`, or `none`, which leaves them out so that only the structure counts
    node_features: {NodeFeatures = NodeFeatures::Given}, "CHOICE";
    /// Number K of propagation steps or layers: `auto` (by model; 2 for the paper's) or a number
    hops: [usize], "K";
    /// How rows are stored between hops (linear, gcn, sage): `float32`, or `float16`, which is faster on graphs larger than
    /// the caches; its error is reported
    hop_storage: {Storage = Storage::Single}, "STORAGE";
    /// Width of hidden layers and of the representation: `auto` (by model; 32 for the paper's) or a number
    width: [usize], "W";
    /// Dropout probability: `auto` (by model; 0.6 for gat, 0.5 for the paper's others) or a number
    dropout: [f32], "P";
    /// Distribution of the stochastic matrix E: `gaussian`, `uniform`, `rademacher` or `sparse`
    signal: {Signal = Signal::Gaussian}, "SIGNAL";
    /// Width d of the stochastic matrix E; number of eigenvectors (eigen-gnn); width of the vectors (node2vec); `auto` (by
    /// model; 32 for the paper's) or a number
    signal_dim: [usize], "D";
    /// Scale of E: `auto`, `inverse-sqrt` (d^-1/2) or `unit`
    signal_scale: [SignalScale], "SCALE";
    /// Whether E stays the same: `auto` (fixed for one graph, resampled for several), `fixed` or `resampled`; a resampled
    /// model can embed graphs it has never seen
    refresh: [Refresh], "REFRESH";
    /// node2vec: nodes per walk
    walk_length: {usize = Node2Vec::default().walk_length}, "N";
    /// node2vec: walks started at every node
    walks_per_node: {usize = Node2Vec::default().walks_per_node}, "N";
    /// node2vec: context size, the largest distance on a walk between two nodes of a pair
    walk_context: {usize = Node2Vec::default().context}, "N";
    /// node2vec: return parameter p; the larger, the less a walk returns to the node before
    walk_p: {f32 = Node2Vec::default().return_parameter}, "P";
    /// node2vec: in-out parameter q; the larger, the closer a walk stays to its start
    walk_q: {f32 = Node2Vec::default().in_out_parameter}, "Q";
    /// node2vec: passes over the walks
    walk_epochs: {usize = Node2Vec::default().epochs}, "N";
    /// Score of a pair: `auto`, `cosine`, `inner-product` or `hadamard-mlp`
    decoder: [Decoder], "DECODER";
    /// The metric that chooses the epoch and is reported first: `auto`, `auc`, `ap`, `hits@K`, `mrr`, `accuracy`, `micro-f1` or
    /// `macro-f1`; the usual ones are reported beside it
    metric: [Metric], "METRIC";
    /// Passes over the training data: `auto` (by model; 1000 for the paper's) or a number
    epochs: [usize], "N";
    /// Learning rate of Adam: `auto` (by model; 0.01 for the paper's) or a number
    learning_rate: [f32], "LR";
    /// Penalty on the weights: `auto` (by model; 0.0005 for the paper's) or a number
    weight_decay: [f32], "WD";
    /// `adam` (the penalty is part of the gradient), `adamw` (it shrinks the weights themselves) or `auto` (by model; adam for the
    /// paper's)
    optimizer: [Optimizer], "NAME";
    /// Learning rate over the epochs: `step` (see `decay-at`), `cosine` (to zero at the last epoch), `constant` or `auto` (by model;
    /// step for the paper's)
    schedule: [Schedule], "SCHEDULE";
    /// Epoch after which the learning rate is multiplied by `decay-factor`, 0 for never; `auto` (by model; 200 for the
    /// paper's) or a number
    decay_at: [usize], "N";
    /// Factor of the learning rate after `decay-at`
    decay_factor: {f32 = 0.1}, "X";
    /// Clip the gradient to this norm, 0 for off
    clip_norm: {f32 = 0.0}, "X";
    /// Positive pairs per step, 0 for all at once; `auto` (by model; for the paper's 0, or 65536 for hadamard-mlp, whose memory
    /// grows with them) or a number
    batch_size: [usize], "N";
    /// Positive training pairs of an epoch, drawn at random in each; 0 for all. Link prediction with smp-linear and its like then
    /// draws all pairs beforehand and holds out 100000 edges at most for validation and for the test: graphs beyond memory
    pairs_per_epoch: {usize = 0}, "N";
    /// Epochs between two evaluations; the first and the last epoch are always evaluated; `auto` (by model; 5 for the
    /// paper's) or a number
    evaluate_every: [usize], "N";
    /// Stop a run after this many epochs without a better validation metric, 0 for never; `auto` (300; 0 by protocol published and
    /// with a cosine schedule, whose last epochs count most) or a number
    patience: [usize], "N";
    /// Number of runs, with random seeds SEED, SEED+1, ...
    repeats: {usize = 5}, "N";
    /// Random seed of the first run
    seed: {u64 = 1}, "SEED";
    /// Which split: `given` (that of the dataset, if it has one), `random`, drawn anew for every run, or a folder of `nigh split`
    split: {SplitChoice = SplitChoice::Given}, "CHOICE";
    /// Fraction of edges, pairs or labelled nodes held out for validation: `auto` (0.1) or a number
    valid_fraction: [f32], "X";
    /// Fraction of edges, pairs or labelled nodes held out for the test: `auto` (0.1, or 0.2 by protocol ncn) or a number
    test_fraction: [f32], "X";
    /// Edges that message passing sees in the test of link prediction: `training`, or `training-and-validation`
    test_edges: {TestEdges = TestEdges::Training}, "EDGES";
    /// Training nodes per class, 0 to split by fractions
    train_per_class: [usize], "N";
    /// Validation nodes per class
    valid_per_class: [usize], "N";
    /// Test nodes per class, 0 for all others
    test_per_class: [usize], "N";
    /// Negative pairs in training: `auto` (by protocol), `loose` or `exact`
    train_negatives: [Negatives], "KIND";
    /// Negative pairs in evaluation: `auto` (by protocol), `loose`, `exact`, `heart` (hard ones for each positive, by
    /// resource allocation, PageRank and features) or `all` (every node in place of either end)
    evaluation_negatives: [EvaluationNegatives], "KIND";
    /// Negatives per positive in validation: `auto` (1, or 2 by protocol ncn; 500 for heart) or a number
    valid_negative_ratio: [f32], "X";
    /// Negatives per positive in the test: `auto` (1; 500 for heart) or a number
    test_negative_ratio: [f32], "X";
    /// Training pairs that message passing does not see while the model is asked about them, degrees included: `folds`, `batch`
    /// (other folds in every epoch), `none`, or `auto` (by model; none for the paper's)
    mask_training_pairs: [Masking], "KIND";
    /// Negative pairs per positive pair in training: `auto` (by model; 1 for the paper's) or a number
    negatives_per_positive: [usize], "N";
    /// Walk proximities of smp-proximity: `exact`, `estimated` from a Gaussian E of width `signal-dim`, or `auto` (exact where
    /// counting walks says that it is cheap)
    proximities: [Proximities], "KIND";
    /// Length of the longest walks of smp-proximity, from 2 to 10: `auto` (10 where they are few, otherwise 6) or a number
    longest_walk: [usize], "N";
    /// Whether smp-proximity learns a row of numbers for every node: `learnt` or `none`
    node_table: {NodeTable = NodeTable::None}, "KIND";
    /// Whether smp-proximity reconstructs the edges of a node from those of others: by `ridge` regression, `none`, or `auto` (ridge
    /// in graphs without features of at most 10000 nodes with 50 edges per node)
    reconstruction: [Reconstruction], "KIND";
    /// Parts that smp-proximity does without: `none`, or names with commas of `walks`, `degrees`, `shared-neighbours`,
    /// `reconstruction`, `similarities` (of features) and `representations` (what is learnt of both nodes)
    without: {Without = Without::default()}, "PARTS";
    /// Positive pairs of pairwise classification: `auto`, `all` or `sampled`
    same_label_pairs: [SameLabelPairs], "CHOICE";
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

/// Negatives per positive in evaluation.
const MOST_NEGATIVES: f32 = 100_000.0;

impl Config {
    /// Reads a table of settings over the defaults; an unknown key is answered with the nearest known one.
    pub fn from_table(table: toml::Table) -> Result<Config> {
        let known = Config::names();
        if let Some(key) = table.keys().find(|key| !known.contains(key)) {
            return Err(Error::UnknownName { kind: "setting", name: key.clone(), known });
        }
        let read = |table: toml::Table| {
            let written = table.to_string();
            table.try_into::<Config>().map_err(|error| Error::SettingValue {
                written: written.trim().to_string(),
                problem: in_words(error.message()),
            })
        };
        // One by one first, so that what is wrong is shown alone.
        let mut alone = table.iter().map(|(key, value)| toml::Table::from_iter([(key.clone(), value.clone())]));
        alone.try_for_each(|setting| read(setting).map(drop))?;
        read(table)
    }

    /// Reads a TOML file into a table, checked key by key and value by value. `others` are keys that mean something to
    /// the caller; they are left in the table.
    pub fn read_table(path: &Path, others: &[&str]) -> Result<toml::Table> {
        let text = nigh_formats::read_text(path)?;
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

    /// The settings that are not the default, and the task. [`Config::from_table`] reads them back.
    pub fn to_table(&self) -> toml::Table {
        let table = |config: &Config| toml::Table::try_from(config).expect("settings are a table");
        let defaults = table(&Config::default());
        let is_set = |(name, value): &(String, toml::Value)| defaults.get(name) != Some(value) || name == "task";
        table(self).into_iter().filter(is_set).collect()
    }

    /// Every setting, as users type it.
    pub fn names() -> Vec<String> {
        SETTINGS.iter().map(|setting| setting.name.clone()).collect()
    }

    /// Each value on its own, and whether the catalog has the model; what depends on several is checked in `resolve`.
    pub fn check(&self) -> Result<()> {
        if let Auto::Is(model) = &self.model {
            catalog::find(model)?;
        }
        self.check_values()
    }

    /// Each value but the name of the model, which may be one of the user's own.
    pub(super) fn check_values(&self) -> Result<()> {
        let counts = [
            // The pairs of a walk are held at once.
            ("walk-length", self.walk_length, 1 << 12),
            ("walks-per-node", self.walks_per_node, 1 << 16),
            ("walk-context", self.walk_context, 1 << 12),
            ("walk-epochs", self.walk_epochs, 1 << 16),
            ("repeats", self.repeats, 1 << 16),
        ];
        let open_counts = [
            ("hops", self.hops, 64),
            ("width", self.width, 1 << 16),
            ("signal-dim", self.signal_dim, 1 << 16),
            ("epochs", self.epochs, 1 << 24),
            ("evaluate-every", self.evaluate_every, 1 << 24),
            ("negatives-per-positive", self.negatives_per_positive, 1 << 10),
        ];
        let made = open_counts.into_iter().filter_map(|(name, count, most)| Some((name, count.made()?, most)));
        let most = MOST;
        let choices = [
            ("decay-at", self.decay_at),
            ("batch-size", self.batch_size),
            ("patience", self.patience),
            ("train-per-class", self.train_per_class),
            ("valid-per-class", self.valid_per_class),
            ("test-per-class", self.test_per_class),
        ];
        let mut chosen = choices.into_iter().filter_map(|(name, count)| Some((name, count.made()?)));
        if let Some((name, value)) = chosen.find(|(_, value)| *value > most) {
            return Err(Error::setting(name, value, format!("expected a whole number up to {most}")));
        }
        for (name, value, most) in counts.into_iter().chain(made) {
            if !(1..=most).contains(&value) {
                return Err(Error::setting(name, value, format!("expected a whole number from 1 to {most}")));
            }
        }
        if self.pairs_per_epoch > most {
            let problem = format!("expected a whole number up to {most}");
            return Err(Error::setting("pairs-per-epoch", self.pairs_per_epoch, problem));
        }
        if let Auto::Is(longest) = self.longest_walk
            && !(2..=MAX_LENGTH).contains(&longest)
        {
            let problem = format!("expected a whole number from 2 to {MAX_LENGTH}");
            return Err(Error::setting("longest-walk", longest, problem));
        }
        if let Auto::Is(dropout) = self.dropout
            && !(0.0..1.0).contains(&dropout)
        {
            return Err(Error::setting("dropout", dropout, "expected a probability from 0 up to, not including, 1"));
        }
        let positive = [
            ("learning-rate", self.learning_rate.unwrap_or(1.0)),
            ("decay-factor", self.decay_factor),
            ("walk-p", self.walk_p),
            ("walk-q", self.walk_q),
        ];
        for (name, value) in positive {
            if !(value.is_finite() && value > 0.0) {
                return Err(Error::setting(name, value, "expected a number above 0"));
            }
        }
        for (name, value) in [("weight-decay", self.weight_decay.unwrap_or(0.0)), ("clip-norm", self.clip_norm)] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(Error::setting(name, value, "expected 0 or more"));
            }
        }
        let fractions = [("valid-fraction", self.valid_fraction), ("test-fraction", self.test_fraction)];
        for (name, value) in fractions.into_iter().filter_map(|(name, value)| Some((name, value.made()?))) {
            if !(value > 0.0 && value < 1.0) {
                return Err(Error::setting(name, value, "expected a fraction between 0 and 1"));
            }
        }
        let ratios =
            [("valid-negative-ratio", self.valid_negative_ratio), ("test-negative-ratio", self.test_negative_ratio)];
        for (name, value) in ratios.into_iter().filter_map(|(name, value)| Some((name, value.made()?))) {
            if !(value > 0.0 && value <= MOST_NEGATIVES) {
                return Err(Error::setting(name, value, format!("expected a number above 0, up to {MOST_NEGATIVES}")));
            }
        }
        if self.seed > (1 << 53) {
            return Err(Error::setting("seed", self.seed, "expected at most 2^53, which every file format can hold"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Dataset;

    #[test]
    fn a_configuration_survives_its_file() {
        let dataset = Dataset::built_in("leaders").unwrap();
        let config = Config { task: Task::NodeClassification, ..Config::default() }.resolve(&dataset).unwrap();
        let text = toml::to_string(&config).unwrap();
        let read = Config::from_table(text.parse().unwrap()).unwrap();
        assert_eq!(Resolved::try_from(read).unwrap(), config);
        assert_eq!((config.train_per_class, config.signal_scale), (5, SignalScale::Unit));
    }

    #[test]
    fn a_configuration_with_an_open_choice_is_not_a_resolved_one() {
        let error = Resolved::try_from(Config::default()).unwrap_err().to_string();
        assert_eq!(error, "`model` is still auto");
    }

    #[test]
    fn every_setting_reads_its_own_default_and_lists_its_choices() {
        assert_eq!(SETTINGS.len(), toml::Table::try_from(Config::default()).unwrap().len());
        for setting in SETTINGS.iter() {
            let table = toml::Table::from_iter([(setting.name.clone(), setting.parse(&setting.default).unwrap())]);
            assert_eq!(Config::from_table(table).unwrap(), Config::default(), "{}", setting.name);
            assert!(setting.choices.iter().all(|choice| setting.parse(choice).is_ok()), "{}", setting.name);
            assert!(!setting.help.is_empty() && !setting.help.contains('`'), "{}", setting.name);
        }
        let problem = |name: &str, text: &str| {
            SETTINGS.iter().find(|setting| setting.name == name).unwrap().parse(text).unwrap_err()
        };
        assert_eq!(problem("dropout", "much"), "expected `auto` or a number");
        assert!(problem("signal", "gausian").contains("did you mean `gaussian`"));
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
