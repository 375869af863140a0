//! Every setting, with its default and range. What `auto` means for a model is in the family of the model: the paper's appendix for its models.

use super::setting::{self, Setting, SettingGroup, settings};
use crate::choices::{Optimizer, Schedule};
use crate::error::{Error, Result};
use crate::linalg::half::Storage;
use crate::metric::Metric;
use crate::models::catalog::NodeTable;
use crate::models::{self, Decoder, Without, catalog};
use crate::names::{Auto, named};
use crate::propagation::Proximities;
use crate::propagation::walks::MAX_LENGTH;
use crate::source::{Node2Vec, Reconstruction, Refresh, Signal, SignalScale};
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
    SettingGroup::Common => {
        /// `link-prediction`, `node-classification`, `pairwise-node-classification` or `graph-reconstruction`
        task: {Task = Task::LinkPrediction}, "TASK";
        /// Model (`nigh models`), or `auto`: the best for the task
        model: [String], "MODEL";
        /// `given`, or `none` to hide node features from the model
        node_features: {NodeFeatures = NodeFeatures::Given}, "CHOICE";
        /// Number K of propagation steps or layers (`auto`: by model, 2 in the paper)
        hops: [usize], "K";
        /// Width of hidden layers and representations (`auto`: by model, 32 in the paper)
        width: [usize], "W";
        /// Metric that selects the epoch and is reported first: `auto` (by task), `auc`, `ap`, `hits@K`, `mrr`, `accuracy`, `micro-f1`
        /// or `macro-f1`
        metric: [Metric], "METRIC";
        /// Passes over the training data (`auto`: by model, 1000 in the paper)
        epochs: [usize], "N";
        /// Learning rate (`auto`: by model, 0.01 in the paper)
        learning_rate: [f32], "LR";
        /// Number of runs, with random seeds SEED, SEED+1, ...
        repeats: {usize = 5}, "N";
        /// Random seed of the first run
        seed: {u64 = 1}, "SEED";
    }
    SettingGroup::Evaluation => {
        /// Evaluation protocol: `strict`; `published`, the paper's (cosine scores, negatives that may be edges); or `ncn`, the
        /// one of NCN (70/10/20 % of the edges, Hits@100)
        protocol: {Protocol = Protocol::Strict}, "PROTOCOL";
        /// Split: `given` (the dataset's own, if it has one), `random` (resampled for every run), or a folder written by `nigh split`
        split: {SplitChoice = SplitChoice::Given}, "CHOICE";
        /// Fraction of edges, pairs or labelled nodes held out for validation (`auto`: 0.1)
        valid_fraction: [f32], "X";
        /// Fraction of edges, pairs or labelled nodes held out for the test (`auto`: 0.1, or 0.2 by protocol ncn)
        test_fraction: [f32], "X";
        /// Training nodes per class, 0 to split by fractions (`auto`: the paper's number for its datasets, otherwise 0)
        train_per_class: [usize], "N";
        /// Validation nodes per class (`auto`: the paper's number for its datasets, otherwise as many as for training)
        valid_per_class: [usize], "N";
        /// Test nodes per class, 0 for all other nodes (`auto`: the paper's number for its datasets, otherwise 0)
        test_per_class: [usize], "N";
        /// Edges that message passing uses in the test of link prediction: `training`, or `training-and-validation`
        test_edges: {TestEdges = TestEdges::Training}, "EDGES";
        /// Negative pairs in evaluation: `auto` (by protocol), `loose` (not listed as an edge in this order), `exact` (no edge in
        /// either direction), `heart` (hard negatives for each positive, by resource allocation, PageRank and features) or `all`
        /// (every node in place of either end)
        evaluation_negatives: [EvaluationNegatives], "KIND";
        /// Negatives per positive in validation (`auto`: 1, 2 by protocol ncn, 500 for heart)
        valid_negative_ratio: [f32], "X";
        /// Negatives per positive in the test (`auto`: 1, 500 for heart)
        test_negative_ratio: [f32], "X";
    }
    SettingGroup::Optimisation => {
        /// Optimiser: `adam` (adds weight decay to the gradient), `adamw` (shrinks the weights themselves) or `auto` (by model, adam
        /// in the paper)
        optimizer: [Optimizer], "NAME";
        /// Weight decay (`auto`: by model, 0.0005 in the paper)
        weight_decay: [f32], "WD";
        /// Dropout probability (`auto`: by model; in the paper 0.6 for gat, 0.5 for other models)
        dropout: [f32], "P";
        /// Learning rate schedule: `step` (see `decay-at`), `cosine` (to zero at the last epoch), `constant` or `auto` (by model, step
        /// in the paper)
        schedule: [Schedule], "SCHEDULE";
        /// Epoch after which the learning rate is multiplied by `decay-factor`, 0 for never (`auto`: by model, 200 in the paper)
        decay_at: [usize], "N";
        /// Factor of the learning rate after `decay-at`
        decay_factor: {f32 = 0.1}, "X";
        /// Clip the gradient to this norm, 0 for off
        clip_norm: {f32 = 0.0}, "X";
        /// Epochs between two evaluations; the first and the last epoch are always evaluated (`auto`: by model, 5 in the paper)
        evaluate_every: [usize], "N";
        /// Stop a run after this many epochs without a better validation metric, 0 for never (`auto`: 300, or 0 with protocol
        /// published or a cosine schedule)
        patience: [usize], "N";
    }
    SettingGroup::Pairs => {
        /// Score of a pair of nodes: `auto` (by model), `cosine`, `inner-product` or `hadamard-mlp`
        decoder: [Decoder], "DECODER";
        /// Positive pairs per step, 0 for all (`auto`: by model; in the paper 0, or 65536 for hadamard-mlp, which needs memory for
        /// every pair)
        batch_size: [usize], "N";
        /// Positive pairs per epoch, sampled at random, 0 for all. Required to train on graphs larger than memory, with models that
        /// propagate before they learn, such as smp-linear
        pairs_per_epoch: {usize = 0}, "N";
        /// Negative pairs in training: `auto` (by protocol), `loose` (any pair) or `exact` (no training edge in either direction)
        train_negatives: [Negatives], "KIND";
        /// Negative pairs per positive pair in training (`auto`: by model, 1 in the paper)
        negatives_per_positive: [usize], "N";
        /// Hide training pairs from message passing and degrees while they are training targets: in fixed `folds`, by `batch` (new
        /// folds in every epoch), `none`, or `auto` (by model, none in the paper)
        mask_training_pairs: [Masking], "KIND";
        /// Positive pairs of pairwise node classification: `all` pairs of nodes with the same label, `sampled` (as many as there are
        /// edges), or `auto` (all in small graphs)
        same_label_pairs: [SameLabelPairs], "CHOICE";
    }
    SettingGroup::Signal => {
        /// Distribution of the stochastic matrix E: `gaussian`, `uniform`, `rademacher` or `sparse`
        signal: {Signal = Signal::Gaussian}, "SIGNAL";
        /// Number of columns d of the stochastic matrix E, of eigenvectors for eigen-gnn, of vector components for node2vec (`auto`: by
        /// model, 32 in the paper)
        signal_dim: [usize], "D";
        /// Scale of E: `inverse-sqrt` (d^-1/2), `unit`, or `auto` (the paper's for its datasets, otherwise inverse-sqrt)
        signal_scale: [SignalScale], "SCALE";
        /// Whether E is `fixed` or `resampled` during training, or `auto` (fixed for one graph, resampled for several); a model with a
        /// resampled E can embed graphs that it has not seen
        refresh: [Refresh], "REFRESH";
        /// Storage of rows between hops (linear, gcn and sage layers): `float32`, or `float16`, which is faster on graphs larger than
        /// the CPU caches; its error is reported
        hop_storage: {Storage = Storage::Single}, "STORAGE";
    }
    SettingGroup::Model(models::proximity::NAME) => {
        /// Walk proximities: `exact`, `estimated` (from a Gaussian E with `signal-dim` columns), or `auto` (exact where counting walks
        /// is cheap)
        proximities: [Proximities], "KIND";
        /// Length of the longest walks, from 2 to 10 (`auto`: 10 in graphs with few walks, otherwise 6)
        longest_walk: [usize], "N";
        /// Table with a learnt row for every node: `learnt` or `none`
        node_table: {NodeTable = NodeTable::None}, "KIND";
        /// Reconstruction of the edges of each node from those of the other nodes: by `ridge` regression, `none`, or `auto` (ridge
        /// in graphs without features that have at most 10000 nodes and at least 50 edges per node)
        reconstruction: [Reconstruction], "KIND";
        /// Parts to leave out: `none`, or a comma-separated list of `walks`, `degrees`, `shared-neighbours`, `reconstruction`,
        /// `similarities` (of features) and `representations` (of both nodes)
        without: {Without = Without::default()}, "PARTS";
    }
    SettingGroup::Model(models::node2vec::NAME) => {
        /// Nodes per random walk
        walk_length: {usize = Node2Vec::default().walk_length}, "N";
        /// Random walks started at every node
        walks_per_node: {usize = Node2Vec::default().walks_per_node}, "N";
        /// Context size: the largest distance on a walk between the two nodes of a pair
        walk_context: {usize = Node2Vec::default().context}, "N";
        /// Return parameter p; a larger p makes walks return less often to the previous node
        walk_p: {f32 = Node2Vec::default().return_parameter}, "P";
        /// In-out parameter q; a larger q keeps walks closer to their start
        walk_q: {f32 = Node2Vec::default().in_out_parameter}, "Q";
        /// Passes over the random walks
        walk_epochs: {usize = Node2Vec::default().epochs}, "N";
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
        Setting::all().iter().map(|setting| setting.name.clone()).collect()
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
    use std::collections::BTreeSet;

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
        assert_eq!(Setting::all().len(), toml::Table::try_from(Config::default()).unwrap().len());
        for setting in Setting::all().iter() {
            let table = toml::Table::from_iter([(setting.name.clone(), setting.parse(&setting.default).unwrap())]);
            assert_eq!(Config::from_table(table).unwrap(), Config::default(), "{}", setting.name);
            assert!(setting.choices.iter().all(|choice| setting.parse(choice).is_ok()), "{}", setting.name);
            assert!(!setting.help.is_empty() && !setting.help.contains('`'), "{}", setting.name);
        }
        let problem = |name: &str, text: &str| {
            Setting::all().iter().find(|setting| setting.name == name).unwrap().parse(text).unwrap_err()
        };
        assert_eq!(problem("dropout", "much"), "expected `auto` or a number");
        assert!(problem("signal", "gausian").contains("did you mean `gaussian`"));
    }

    #[test]
    fn settings_are_declared_group_by_group_with_about_ten_common_ones_first() {
        let groups = Setting::all().chunk_by(|one, next| one.group == next.group);
        let headings: Vec<&str> = groups.map(|group| group[0].group.heading()).collect();
        let distinct: BTreeSet<&&str> = headings.iter().collect();
        assert_eq!(distinct.len(), headings.len(), "a group is declared in one block: {headings:?}");
        assert_eq!(headings[0], "Common settings");
        let common = Setting::all().iter().filter(|setting| setting.group == SettingGroup::Common).count();
        assert!((8..=12).contains(&common), "{common}");
        for setting in Setting::all().iter() {
            if let SettingGroup::Model(name) = setting.group {
                assert!(catalog::find(name).is_ok(), "{}: no model is called {name}", setting.name);
            }
        }
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
