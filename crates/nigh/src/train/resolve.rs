//! From a configuration with open choices to one with none, and from that to what each stage needs.

use super::config::{Choices, Config, NodeFeatures, Protocol, Resolved};
use crate::choices::{Optimizer, Schedule};
use crate::dataset::{Dataset, FixedSplit, PaperDefaults};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::metric::{ClassMetric, Metric, PairMetric, SetMetric};
use crate::models::catalog::{self, CatalogModel, Hyperparameters};
use crate::models::preset::Preset;
use crate::models::{Answer, Architecture, Decoder, Dimensions, PairSource, Scoring, Shape};
use crate::names::Auto;
use crate::propagation::Execution;
use crate::propagation::Proximities;
use crate::propagation::walks::ExactCost;
use crate::seeds::Seeds;
use crate::source::{Node2Vec, Refresh, SignalScale};
use crate::task::{
    EvaluationNegatives, ListedSplit, Masking, Negatives, SameLabelPairs, Split, SplitChoice, SplitSettings, Task,
};
use std::borrow::Cow;
use std::path::Path;

/// Graphs up to this size take every pair of like nodes as a positive, as the paper does on Comm and Email.
const MAX_NODES_FOR_ALL_PAIRS: usize = 1_000;

/// Epochs without a better validation metric after which a run stops. Over 1,800 recorded runs of 1,000 epochs it costs 0.2 points of the
/// validation metric on average and saves two epochs in five; half as many cost 0.5.
const PATIENCE: usize = 300;

/// The model of a training.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenModel {
    /// Its name in the catalog.
    pub name: String,
    /// Why, if the user left the choice open.
    pub reason: Option<&'static str>,
}

impl Config {
    /// Checks every value against the others and the data, and makes every choice that was left open.
    pub fn resolve(self, dataset: &Dataset) -> Result<Resolved> {
        let model = self.chosen_model().name;
        // Settings of encoders do not change what resolving asks of an architecture.
        let of_catalog = catalog::find(&model)?;
        let architecture = of_catalog.architecture(&Hyperparameters::default());
        let dataset = self.node_features.seen(dataset);
        let preset = of_catalog.preset(Dimensions::of(&dataset));
        self.resolve_for(&dataset, model, &architecture, preset)
    }

    /// As `resolve`, for a graph without features of which only these counts are known: so large that proximities are estimated.
    pub(crate) fn resolve_counts(self, dimensions: Dimensions) -> Result<Resolved> {
        let model = self.chosen_model().name;
        let of_catalog = catalog::find(&model)?;
        let architecture = of_catalog.architecture(&Hyperparameters::default());
        let config = Config {
            proximities: Auto::Is(self.proximities.unwrap_or(Proximities::Estimated)),
            longest_walk: Auto::Is(self.longest_walk.unwrap_or(LONGEST_WALKS[1])),
            same_label_pairs: Auto::Is(self.same_label_pairs.unwrap_or(SameLabelPairs::Sampled)),
            ..self
        };
        let smallest = Dataset::from_graph("a graph file", Graph::from_edges(2, &[[0, 1]])?.0);
        config.resolve_for(&smallest, model, &architecture, of_catalog.preset(dimensions))
    }

    /// The data with a split of one's own, on which every repeat is then trained. It has to fit the task and the other settings.
    pub fn with_split(&self, dataset: Dataset, split: FixedSplit) -> Result<Dataset> {
        self.task.check_split(&split)?;
        if self.split == SplitChoice::Random {
            return Err(Error::setting("split", self.split, "there is a split of its own with the data"));
        }
        if let Auto::Is(count @ 1..) = self.train_per_class {
            return Err(Error::setting("train-per-class", count, "the split says which nodes are for training"));
        }
        let paper_defaults = PaperDefaults { per_class: None, ..dataset.paper_defaults };
        Ok(Dataset { fixed_split: Some(split), paper_defaults, ..dataset })
    }

    /// The model that the user chose, or the one that answers the task best.
    pub fn chosen_model(&self) -> ChosenModel {
        if let Auto::Is(name) = &self.model {
            return ChosenModel { name: name.clone(), reason: None };
        }
        let (model, reason) = match self.protocol {
            Protocol::Published => (CatalogModel::main(), "the paper's main model, since the protocol is the paper's"),
            Protocol::Strict | Protocol::Ncn => CatalogModel::default_for(self.task),
        };
        ChosenModel { name: model.name.to_string(), reason: Some(reason) }
    }

    /// As `resolve`, for an architecture that need not be in the catalog, with what it brings along, and for the data as it
    /// sees them.
    pub(crate) fn resolve_for(
        self,
        dataset: &Dataset,
        model: String,
        architecture: &Architecture,
        preset: Preset,
    ) -> Result<Resolved> {
        self.check_values()?;
        dataset.check()?;
        let judging = self.judging(dataset)?;
        let several = dataset.samples.len() > 1;
        let negatives = match self.protocol {
            Protocol::Published => Negatives::Loose,
            Protocol::Strict | Protocol::Ncn => Negatives::Exact,
        };
        let decoder = self.decoder.unwrap_or(architecture.usual_decoder());
        let all_at_once = if decoder == Decoder::HadamardMlp { 1 << 16 } else { 0 };
        let [train_per_class, valid_per_class, test_per_class] = self.per_class(dataset)?;
        let small = dataset.samples.iter().all(|sample| sample.graph.num_nodes() <= MAX_NODES_FOR_ALL_PAIRS);
        self.check_model(&model, architecture, decoder, several)?;
        let (longest_walk, proximities) = self.walks(dataset, architecture);
        let choices = Choices {
            model,
            hops: self.hops.unwrap_or(preset.hops),
            width: self.width.unwrap_or(preset.width),
            signal_dim: self.signal_dim.unwrap_or(preset.signal_dim),
            patience: self.patience.unwrap_or(match (self.protocol, self.schedule.unwrap_or(preset.schedule)) {
                (Protocol::Published, _) | (_, Schedule::Cosine) => 0,
                _ => PATIENCE,
            }),
            epochs: self.epochs.unwrap_or(preset.epochs),
            learning_rate: self.learning_rate.unwrap_or(preset.learning_rate),
            weight_decay: self.weight_decay.unwrap_or(preset.weight_decay),
            decay_at: self.decay_at.unwrap_or(preset.decay_at),
            optimizer: self.optimizer.unwrap_or(preset.optimizer),
            schedule: self.schedule.unwrap_or(preset.schedule),
            evaluate_every: self.evaluate_every.unwrap_or(preset.evaluate_every),
            dropout: self.dropout.unwrap_or(preset.dropout),
            signal_scale: self
                .signal_scale
                .unwrap_or(dataset.paper_defaults.signal_scale.unwrap_or(SignalScale::InverseSqrt)),
            refresh: self.refresh.unwrap_or(if several { Refresh::Resampled } else { Refresh::Fixed }),
            decoder,
            metric: judging.metric,
            batch_size: self.batch_size.unwrap_or(preset.batch_size.unwrap_or(all_at_once)),
            train_per_class,
            valid_per_class,
            test_per_class,
            train_negatives: self.train_negatives.unwrap_or(negatives),
            evaluation_negatives: judging.negatives,
            valid_fraction: judging.fractions[0],
            test_fraction: judging.fractions[1],
            valid_negative_ratio: judging.ratios[0],
            test_negative_ratio: judging.ratios[1],
            mask_training_pairs: self.mask_training_pairs.unwrap_or(match self.task {
                Task::LinkPrediction => preset.mask_training_pairs,
                // Nothing is held out, or pairs are not edges.
                _ => Masking::None,
            }),
            negatives_per_positive: self.negatives_per_positive.unwrap_or(preset.negatives_per_positive),
            reconstruction: self.reconstruction.unwrap_or(preset.reconstruction),
            longest_walk,
            proximities: self.proximities.unwrap_or(proximities),
            same_label_pairs: self.same_label_pairs.unwrap_or(if small {
                SameLabelPairs::All
            } else {
                SameLabelPairs::Sampled
            }),
        };
        dataset.samples.iter().try_for_each(|sample| choices.reconstruction.check(sample.graph.num_nodes()))?;
        let learns = architecture.learns(!self.task.is_about_pairs(), decoder);
        let mut resolved = self.with(choices);
        if !learns {
            // One evaluation is all there is to it.
            (resolved.epochs, resolved.decay_at, resolved.patience) = (1, 0, 0);
        }
        Ok(resolved)
    }

    /// What follows from protocol and kind of negatives, where the user left it open.
    fn judging(&self, dataset: &Dataset) -> Result<Judging> {
        let is_ncn = self.protocol == Protocol::Ncn;
        let is_about_links = self.task == Task::LinkPrediction;
        if is_ncn && !is_about_links {
            return Err(Error::setting("protocol", self.protocol, "it judges link-prediction; take strict"));
        }
        let drawn = match self.protocol {
            Protocol::Published => EvaluationNegatives::Loose,
            Protocol::Strict | Protocol::Ncn => EvaluationNegatives::Exact,
        };
        let negatives = self.evaluation_negatives.unwrap_or(drawn);
        let has_own = negatives.pooled().is_none();
        if has_own && !is_about_links {
            return Err(Error::setting("evaluation-negatives", negatives, "it is for link-prediction; take exact"));
        }
        let [valid, test] =
            [self.valid_fraction.unwrap_or(0.1), self.test_fraction.unwrap_or(if is_ncn { 0.2 } else { 0.1 })];
        if valid + test >= 1.0 {
            let sum = valid + test;
            let problem = format!("with test-fraction it makes {sum}; nothing is left to train on");
            return Err(Error::setting("valid-fraction", valid, problem));
        }
        let usual = match negatives {
            EvaluationNegatives::Heart => [HEART_NEGATIVES; 2],
            _ if is_ncn => [2.0, 1.0],
            _ => [1.0; 2],
        };
        let given = [self.valid_negative_ratio, self.test_negative_ratio];
        for (name, ratio) in ["valid-negative-ratio", "test-negative-ratio"].into_iter().zip(given) {
            let Some(ratio) = ratio.made() else { continue };
            let problem = match negatives {
                EvaluationNegatives::Heart if ratio % 2.0 != 0.0 => "heart needs an even number, half for each end",
                EvaluationNegatives::All if ratio != 1.0 => "all nodes are the negatives; leave it out",
                _ => continue,
            };
            return Err(Error::setting(name, ratio, problem));
        }
        let metric = match (is_about_links, has_own, is_ncn) {
            (true, true, _) => PairMetric::MeanReciprocalRank,
            (true, false, true) => PairMetric::HitsAt(100),
            _ => PairMetric::Auc,
        };
        Ok(Judging {
            fractions: [valid, test],
            negatives,
            ratios: [given[0].unwrap_or(usual[0]), given[1].unwrap_or(usual[1])],
            metric: self.chosen_metric(metric, dataset.is_multi_label())?,
        })
    }

    /// The user's metric, or `usual` for pairs.
    fn chosen_metric(&self, usual: PairMetric, multi_label: bool) -> Result<Metric> {
        let (default, right) = match self.task.is_about_pairs() {
            true => (usual.into(), "auc, ap, hits@K or mrr"),
            false if multi_label => {
                (SetMetric::MicroF1.into(), "micro-f1, macro-f1 or ap where nodes have several labels")
            }
            false => (ClassMetric::Accuracy.into(), "accuracy, micro-f1 or macro-f1"),
        };
        let metric = self.metric.unwrap_or(default);
        let fits = match self.task.is_about_pairs() {
            true => metric.of_pairs().is_some(),
            false if multi_label => metric.of_sets().is_some(),
            false => metric.of_classes().is_some(),
        };
        match fits {
            true => Ok(metric),
            false => Err(Error::setting("metric", metric, format!("{} is judged by {right}", self.task))),
        }
    }

    /// Labelled nodes per class in training, validation and test.
    fn per_class(&self, dataset: &Dataset) -> Result<[usize; 3]> {
        if self.task == Task::NodeClassification && dataset.is_multi_label() {
            let counts = [
                ("train-per-class", self.train_per_class),
                ("valid-per-class", self.valid_per_class),
                ("test-per-class", self.test_per_class),
            ];
            let set =
                |(name, count): (&'static str, Auto<usize>)| Some((name, count.made().filter(|count| *count > 0)?));
            return match counts.into_iter().find_map(set) {
                Some((name, count)) => {
                    let problem = "nodes have several labels each, so they are not counted by class; set valid-fraction and test-fraction";
                    Err(Error::setting(name, count, problem))
                }
                None => Ok([0; 3]),
            };
        }
        let [usual_train, usual_valid, usual_test] = dataset.paper_defaults.per_class.unwrap_or([0, 0, 0]);
        let train = self.train_per_class.unwrap_or(usual_train);
        let (usual_valid, usual_test) = match train {
            // Fractions leave no counts to the others.
            0 => (0, 0),
            train => (if usual_train > 0 { usual_valid } else { train }, usual_test),
        };
        let valid = self.valid_per_class.unwrap_or(usual_valid);
        let test = self.test_per_class.unwrap_or(usual_test);
        let counts = [("valid-per-class", valid), ("test-per-class", test)];
        if let Some((name, count)) = counts.into_iter().find(|(_, count)| *count > 0)
            && train == 0
        {
            return Err(Error::setting(name, count, "it counts only together with train-per-class"));
        }
        if train > 0 && valid == 0 {
            return Err(Error::setting("valid-per-class", 0, "the best epoch is chosen on validation nodes"));
        }
        Ok([train, valid, test])
    }

    /// Whether the model can do the task on such data.
    fn check_model(&self, model: &str, architecture: &Architecture, decoder: Decoder, several: bool) -> Result<()> {
        let wrong = |problem: String| Err(Error::setting("model", model, problem));
        let instead = CatalogModel::main().name;
        if self.task == Task::NodeClassification && !architecture.can_classify() {
            return wrong(format!("it answers for pairs alone; take {instead} to classify nodes"));
        }
        if several && architecture.knows_nodes_alone() {
            let problem = "all it learns belongs to the nodes of one graph, and these are several";
            return wrong(format!("{problem}; take {instead}"));
        }
        architecture.check_decoder(model, decoder)
    }
}

impl NodeFeatures {
    /// The data as a model sees them.
    pub fn seen(self, dataset: &Dataset) -> Cow<'_, Dataset> {
        match self {
            NodeFeatures::Given => Cow::Borrowed(dataset),
            NodeFeatures::None => Cow::Owned(dataset.without_features()),
        }
    }
}

/// Multiplications that exact proximities may take, over all folds and evaluations: some seconds.
const EXACT_MULTIPLICATIONS: f64 = 1e10;

/// Multiplications that the longest walks may take: a second.
const FEW_MULTIPLICATIONS: f64 = 1e9;

/// Bytes that their rows may take.
const EXACT_BYTES: f64 = 512e6;

/// The longest walks, and those where there are too many of them.
const LONGEST_WALKS: [usize; 2] = [10, 6];

impl Config {
    /// The length of the longest walks, and whether proximities are exact: where walks are few, the longest of them still say
    /// something, and counting them all is cheap.
    fn walks(&self, dataset: &Dataset, architecture: &Architecture) -> (usize, Proximities) {
        /// Folds, validation and test each expand all rows.
        const EXPANSIONS: f64 = 12.0;
        /// Pairs of all epochs for each edge.
        const PAIRS_PER_EDGE: f64 = 32.0;
        let [long, short] = LONGEST_WALKS.map(|length| self.longest_walk.unwrap_or(length));
        if !architecture.pair_sources.contains(&PairSource::Walks) || self.without.leaves_out(PairSource::Walks) {
            return (short, Proximities::Exact);
        }
        let takes = |longest: usize, most: f64| {
            dataset.samples.iter().all(|sample| {
                let pairs = PAIRS_PER_EDGE * sample.graph.num_edges() as f64;
                let affordable = |cost: &ExactCost| {
                    EXPANSIONS * cost.expansion + pairs * cost.per_pair <= most && cost.bytes <= EXACT_BYTES
                };
                ExactCost::within(&sample.graph, longest, affordable).is_some()
            })
        };
        if takes(long, FEW_MULTIPLICATIONS) {
            (long, Proximities::Exact)
        } else if takes(short, EXACT_MULTIPLICATIONS) {
            (short, Proximities::Exact)
        } else {
            (short, Proximities::Estimated)
        }
    }
}

/// How a model is judged.
struct Judging {
    /// Of validation and test.
    fractions: [f32; 2],
    negatives: EvaluationNegatives,
    /// Of validation and test.
    ratios: [f32; 2],
    metric: Metric,
}

/// Negatives per positive of HeaRT.
const HEART_NEGATIVES: f32 = 500.0;

/// How weights are fitted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FitSettings {
    /// Passes over the training data.
    pub epochs: usize,
    /// Learning rate of Adam.
    pub learning_rate: f32,
    /// Weight decay.
    pub weight_decay: f32,
    /// What it changes.
    pub optimizer: Optimizer,
    /// How the learning rate changes.
    pub schedule: Schedule,
    /// Of [`Schedule::Step`]: the epoch after which the learning rate is multiplied by `decay_factor`; 0 for never.
    pub decay_at: usize,
    /// See `decay_at`.
    pub decay_factor: f32,
    /// The largest norm of the gradient of all weights together; 0 for any.
    pub clip_norm: f32,
    /// Positive pairs per step; 0 for all at once.
    pub batch_size: usize,
    /// Positive pairs of an epoch; 0 for all.
    pub pairs_per_epoch: usize,
    /// Epochs between two evaluations.
    pub evaluate_every: usize,
    /// Epochs without a better validation metric after which a repeat ends; 0 for never.
    pub patience: usize,
    /// Which training pairs message passing does not see.
    pub masking: Masking,
    /// Negative pairs per positive pair.
    pub negatives_per_positive: usize,
    /// Masked positive pairs of one graph in an epoch, at most.
    pub masked_pairs: usize,
}

impl FitSettings {
    /// The learning rate of an epoch, counted from one.
    pub fn learning_rate_at(&self, epoch: usize) -> f32 {
        self.learning_rate_within(epoch, 0, 1)
    }

    /// The learning rate of step number `batch`, counted from zero, of the `num_batches` of an epoch, counted from one.
    pub fn learning_rate_within(&self, epoch: usize, batch: usize, num_batches: usize) -> f32 {
        match self.schedule {
            Schedule::Step if self.decay_at > 0 && epoch > self.decay_at => self.learning_rate * self.decay_factor,
            Schedule::Step | Schedule::Constant => self.learning_rate,
            Schedule::Cosine => {
                let epochs_done = (epoch - 1) as f64 + batch as f64 / num_batches as f64;
                (f64::from(self.learning_rate) * Schedule::cosine(epochs_done / self.epochs as f64)) as f32
            }
        }
    }

    /// Whether the model is evaluated after an epoch. Some models are never better than after the first: GAT on the links of
    /// a graph with good features.
    pub fn evaluates_after(&self, epoch: usize) -> bool {
        epoch.is_multiple_of(self.evaluate_every) || epoch == 1 || epoch == self.epochs
    }
}

impl Resolved {
    /// The split of a seed: the parts that each repeat learns from, chooses its epoch by and reports.
    pub fn draw_split(&self, dataset: &Dataset, seeds: Seeds) -> Result<Split> {
        self.split().split(dataset, seeds)
    }

    /// As `draw_split`, for questions about validation and test alone: training edges that are too many are not listed, and graphs without
    /// held-out edges stay on disk, in anonymous temporary files in `folder`, if there is one.
    pub fn draw_questions(&self, dataset: &Dataset, seeds: Seeds, folder: Option<&Path>) -> Result<Split> {
        self.split().split_within(dataset, seeds, false, &Execution::on_disk(folder).into())
    }

    /// The fingerprint of the split of a seed, as models that are trained on it have it; `folder` as above.
    pub fn fingerprint(&self, dataset: &Dataset, seeds: Seeds, folder: Option<&Path>) -> Result<String> {
        Ok(self.split().fingerprint(dataset, &self.draw_questions(dataset, seeds, folder)?))
    }

    /// The split of a seed as lists of nodes or edges, to be used elsewhere or again. Where each positive has negatives of its own, they
    /// are not listed.
    pub fn list_split(&self, dataset: &Dataset, seeds: Seeds) -> Result<ListedSplit> {
        self.split().listed(dataset, seeds)
    }

    /// How the data are split.
    pub(crate) fn split(&self) -> SplitSettings {
        let per_class = [self.train_per_class, self.valid_per_class, self.test_per_class];
        SplitSettings {
            task: self.task,
            choice: self.split,
            valid_fraction: self.valid_fraction,
            test_fraction: self.test_fraction,
            per_class: (self.train_per_class > 0).then_some(per_class),
            train_negatives: self.train_negatives,
            evaluation_negatives: self.evaluation_negatives,
            negative_ratios: [self.valid_negative_ratio, self.test_negative_ratio],
            test_edges: self.test_edges,
            same_label_pairs: self.same_label_pairs,
        }
    }

    /// How weights are fitted.
    pub fn fit(&self) -> FitSettings {
        FitSettings {
            epochs: self.epochs,
            learning_rate: self.learning_rate,
            weight_decay: self.weight_decay,
            optimizer: self.optimizer,
            schedule: self.schedule,
            decay_at: self.decay_at,
            decay_factor: self.decay_factor,
            clip_norm: self.clip_norm,
            batch_size: self.batch_size,
            pairs_per_epoch: self.pairs_per_epoch,
            evaluate_every: self.evaluate_every,
            patience: self.patience,
            masking: self.mask_training_pairs,
            negatives_per_positive: self.negatives_per_positive,
            masked_pairs: self.decoder.most_masked_pairs(self.node_table),
        }
    }

    /// The settings of encoders and heads.
    pub fn hyperparameters(&self, dimensions: Dimensions) -> Hyperparameters {
        Hyperparameters {
            has_features: dimensions.features > 0 && self.task.uses_features(),
            node_table: self.node_table,
            reconstruction: self.reconstruction,
            hops: self.hops,
            hop_storage: self.hop_storage,
            width: self.width,
            dropout: self.dropout,
            signal_dim: self.signal_dim,
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

    /// The architecture that the catalog has for the model, without what the user leaves out.
    pub fn architecture(&self, dimensions: Dimensions) -> Result<Architecture> {
        self.architecture_of(dimensions, |settings| catalog::architecture(&self.model, settings))
    }

    /// The architecture of these settings, without what the user leaves out.
    pub(crate) fn architecture_of(
        &self,
        dimensions: Dimensions,
        build: impl FnOnce(&Hyperparameters) -> Result<Architecture>,
    ) -> Result<Architecture> {
        build(&self.hyperparameters(dimensions))?.without(&self.model, &self.without)
    }

    /// The shape of the model for data of such dimensions.
    pub(crate) fn shape(&self, dimensions: Dimensions) -> Shape {
        let Dimensions { features, classes, multi_label, nodes, .. } = dimensions;
        Shape {
            // The constant takes the place of features that are not there or not used.
            num_features: if self.task.uses_features() { features.max(1) } else { 1 },
            num_ids: nodes,
            width: self.width,
            signal: self.signal,
            signal_dim: self.signal_dim,
            signal_scale: self.signal_scale,
            refresh: self.refresh,
            proximities: self.proximities,
            longest_walk: self.longest_walk,
            answer: match self.task {
                Task::NodeClassification if multi_label => Answer::Sets(classes),
                Task::NodeClassification => Answer::Classes(classes),
                _ => Answer::Scores(Scoring { decoder: self.decoder, hidden: self.width, dropout: self.dropout }),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit() -> FitSettings {
        Config::default().resolve(&Dataset::built_in("communities").unwrap()).unwrap().fit()
    }

    #[test]
    fn the_learning_rate_is_lower_behind_the_epoch_that_is_set_and_not_in_it() {
        let step =
            FitSettings { schedule: Schedule::Step, learning_rate: 0.5, decay_at: 3, decay_factor: 0.1, ..fit() };
        assert_eq!([1, 3, 4, 9].map(|epoch| step.learning_rate_at(epoch)), [0.5, 0.5, 0.05, 0.05]);
        let never = FitSettings { decay_at: 0, ..step };
        assert_eq!(never.learning_rate_at(9), 0.5);
    }

    #[test]
    fn half_a_cosine_starts_at_the_learning_rate_and_falls_with_every_step() {
        let cosine = FitSettings { schedule: Schedule::Cosine, learning_rate: 0.5, epochs: 10, ..fit() };
        assert_eq!(cosine.learning_rate_at(1), 0.5);
        let near = |a: f32, b: f32| (a - b).abs() < 1e-6;
        assert!(near(cosine.learning_rate_at(6), 0.25), "{}", cosine.learning_rate_at(6));
        assert!(near(cosine.learning_rate_within(5, 4, 4), cosine.learning_rate_at(6)));
        assert!(cosine.learning_rate_within(5, 1, 4) > cosine.learning_rate_within(5, 2, 4));
    }

    #[test]
    fn the_first_epoch_every_few_and_the_last_are_evaluated() {
        let fit = FitSettings { epochs: 7, evaluate_every: 3, ..fit() };
        assert_eq!((1..=7).filter(|&epoch| fit.evaluates_after(epoch)).collect::<Vec<_>>(), [1, 3, 6, 7]);
    }
}
