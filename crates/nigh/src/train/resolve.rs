//! From a configuration with open choices to one with none, and from that to what each stage needs.

use super::adam::Decay;
use super::config::{Choices, Config, Protocol, Resolved};
use super::schedule::Schedule;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::metric::{ClassMetric, Metric, PairMetric};
use crate::model::catalog::{self, Hyperparameters};
use crate::model::{Answer, Architecture, Decoder, Dimensions, Scoring, Shape};
use crate::source::{Node2Vec, Refresh, SignalScale};
use crate::task::{Negatives, SameLabelPairs, SplitSettings, Task};

/// Graphs up to this size take every pair of like nodes as a positive, as the paper does on Comm and Email.
const MAX_NODES_FOR_ALL_PAIRS: usize = 1_000;

impl Config {
    /// Checks every value against the others and the data, and makes every choice that was left open.
    pub fn resolve(self, dataset: &Dataset) -> Result<Resolved> {
        let model = catalog::find(&self.model)?;
        // Settings of encoders do not change what resolving asks of an architecture.
        let architecture = model.architecture(&Hyperparameters::default());
        self.resolve_for(dataset, &architecture, model.dropout)
    }

    /// As `resolve`, for an architecture that need not be in the catalog, with its usual dropout probability.
    pub(crate) fn resolve_for(self, dataset: &Dataset, architecture: &Architecture, dropout: f32) -> Result<Resolved> {
        self.check_values()?;
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
        let negatives = match self.protocol {
            Protocol::Published => Negatives::Loose,
            Protocol::Strict => Negatives::Exact,
        };
        let is_heuristic = architecture.heuristic.is_some();
        let decoder = self.decoder.unwrap_or(if is_heuristic { Decoder::Graph } else { Decoder::Cosine });
        let all_at_once = if decoder == Decoder::HadamardMlp { 1 << 16 } else { 0 };
        let [train_per_class, valid_per_class, test_per_class] = self.per_class(dataset)?;
        let small = dataset.samples.iter().all(|sample| sample.graph.num_nodes() <= MAX_NODES_FOR_ALL_PAIRS);
        let choices = Choices {
            dropout: self.dropout.unwrap_or(dropout),
            signal_scale: self
                .signal_scale
                .unwrap_or(dataset.paper_defaults.signal_scale.unwrap_or(SignalScale::InverseSqrt)),
            refresh: self.refresh.unwrap_or(if several { Refresh::Resampled } else { Refresh::Fixed }),
            decoder,
            metric: self.chosen_metric()?,
            batch_size: self.batch_size.unwrap_or(all_at_once),
            train_per_class,
            valid_per_class,
            test_per_class,
            train_negatives: self.train_negatives.unwrap_or(negatives),
            evaluation_negatives: self.evaluation_negatives.unwrap_or(negatives),
            same_label_pairs: self.same_label_pairs.unwrap_or(if small {
                SameLabelPairs::All
            } else {
                SameLabelPairs::Sampled
            }),
        };
        self.check_model(architecture, decoder, several)?;
        let learns = architecture.learns(!self.task.is_about_pairs(), decoder);
        let mut resolved = self.with(choices);
        if !learns {
            // One evaluation is all there is to it.
            (resolved.epochs, resolved.decay_at) = (1, 0);
        }
        Ok(resolved)
    }

    fn chosen_metric(&self) -> Result<Metric> {
        let is_about_pairs = self.task.is_about_pairs();
        let (default, right) = match is_about_pairs {
            true => (Metric::Pairs(PairMetric::Auc), "auc, ap, hits@K or mrr"),
            false => (Metric::Classes(ClassMetric::Accuracy), "accuracy or macro-f1"),
        };
        let metric = self.metric.unwrap_or(default);
        if matches!(metric, Metric::Pairs(_)) != is_about_pairs {
            return Err(Error::setting("metric", metric, format!("{} is judged by {right}", self.task)));
        }
        Ok(metric)
    }

    /// Labelled nodes per class in training, validation and test.
    fn per_class(&self, dataset: &Dataset) -> Result<[usize; 3]> {
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
    fn check_model(&self, architecture: &Architecture, decoder: Decoder, several: bool) -> Result<()> {
        let model = &self.model;
        let wrong = |problem: &str| Err(Error::setting("model", model, problem));
        if self.task == Task::NodeClassification && !architecture.can_classify() {
            return wrong("it answers for pairs alone; take smp-linear to classify nodes");
        }
        if several && architecture.knows_nodes_alone() {
            return wrong("all it learns belongs to the nodes of one graph, and these are several; take smp-linear");
        }
        if (decoder == Decoder::Graph) != architecture.heuristic.is_some() {
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
}

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
    pub decay: Decay,
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
    /// Epochs between two evaluations.
    pub evaluate_every: usize,
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
    /// How the data are split.
    pub fn split(&self) -> SplitSettings {
        let per_class = [self.train_per_class, self.valid_per_class, self.test_per_class];
        SplitSettings {
            task: self.task,
            valid_fraction: self.valid_fraction,
            test_fraction: self.test_fraction,
            per_class: (self.train_per_class > 0).then_some(per_class),
            train_negatives: self.train_negatives,
            evaluation_negatives: self.evaluation_negatives,
            same_label_pairs: self.same_label_pairs,
        }
    }

    /// How weights are fitted.
    pub fn fit(&self) -> FitSettings {
        FitSettings {
            epochs: self.epochs,
            learning_rate: self.learning_rate,
            weight_decay: self.weight_decay,
            decay: Decay::L2,
            schedule: Schedule::Step,
            decay_at: self.decay_at,
            decay_factor: self.decay_factor,
            clip_norm: self.clip_norm,
            batch_size: self.batch_size,
            evaluate_every: self.evaluate_every,
        }
    }

    /// The settings of encoders and heads.
    pub fn hyperparameters(&self) -> Hyperparameters {
        Hyperparameters {
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

    /// The architecture that the catalog has for the model.
    pub fn architecture(&self) -> Result<Architecture> {
        catalog::architecture(&self.model, &self.hyperparameters())
    }

    /// The shape of the model for data of such dimensions.
    pub fn shape(&self, dimensions: Dimensions) -> Shape {
        let Dimensions { features, classes, nodes } = dimensions;
        Shape {
            // The constant takes the place of features that are not there or not used.
            num_features: if self.task.uses_features() { features.max(1) } else { 1 },
            num_ids: nodes,
            width: self.width,
            signal: self.signal,
            signal_dim: self.signal_dim,
            signal_scale: self.signal_scale,
            refresh: self.refresh,
            answer: match self.metric {
                Metric::Classes(_) => Answer::Classes(classes),
                Metric::Pairs(_) => {
                    Answer::Scores(Scoring { decoder: self.decoder, hidden: self.width, dropout: self.dropout })
                }
            },
        }
    }
}
