//! Settings that a user sets and that change nothing, for the model or for the task. What a model uses is read off its architecture and its
//! weights.

use super::config::{Config, Resolved};
use super::resolve::FitSettings;
use super::schedule::Schedule;
use super::setting::Setting;
use crate::dataset::{Dataset, FixedSplit};
use crate::error::Result;
use crate::model::{Answer, Architecture, Decoder, Dimensions, Model, PairSource, Scoring, Shape};
use crate::propagation::Proximities;
use crate::seeds::Seeds;
use crate::source::Source;
use crate::task::{
    EvaluationNegatives, Masking, Negatives, SameLabelPairs, SplitChoice, SplitSettings, Task, TestEdges,
};
use toml::Value;

/// Settings that choose others, or that always count.
const ALWAYS: [&str; 7] = ["task", "model", "protocol", "metric", "repeats", "seed", "without"];

impl Config {
    /// The settings that differ from their defaults and have no effect on this model and task.
    ///
    /// ```
    /// use nigh::{Config, Dataset};
    /// let config = Config { model: "smp-linear".into(), dropout: 0.0.into(), hops: 3.into(), ..Config::default() };
    /// assert_eq!(config.without_effect(&Dataset::built_in("grid")?)?, ["dropout"]);
    /// # Ok::<(), nigh::Error>(())
    /// ```
    pub fn without_effect(&self, dataset: &Dataset) -> Result<Vec<String>> {
        let set = self.to_table().into_iter().map(|(name, _)| name);
        let set: Vec<String> = set.filter(|name| !ALWAYS.contains(&name.as_str())).collect();
        if set.is_empty() {
            return Ok(set);
        }
        let resolved = self.clone().resolve(dataset)?;
        let before = resolved.in_effect(dataset)?;
        let table = toml::Table::try_from(&resolved).expect("settings are a table");
        let is_idle = |name: &String| {
            let mut others = alternatives(name, &table[name]).into_iter().filter_map(|value| {
                let changed = toml::Table::from_iter(table.clone().into_iter().chain([(name.clone(), value)]));
                let changed = Config::from_table(changed).and_then(Resolved::try_from).ok()?;
                changed.in_effect(dataset).ok()
            });
            // Where nothing else can be tried, it counts.
            others.next().is_some_and(|first| first == before && others.all(|other| other == before))
        };
        Ok(set.into_iter().filter(is_idle).collect())
    }
}

/// Other values of a setting.
fn alternatives(name: &str, value: &Value) -> Vec<Value> {
    let choices =
        Setting::all().iter().find(|setting| setting.name == name).map_or(&[][..], |setting| &setting.choices);
    match value {
        Value::Integer(number) => [number + 1, number / 2, 2 * number].map(Value::Integer).to_vec(),
        Value::Float(number) => [number / 2.0 + 0.05, number / 4.0 + 0.1].map(Value::Float).to_vec(),
        Value::String(word) => {
            let others = choices.iter().filter(|choice| **choice != word && **choice != "auto");
            others.map(|choice| Value::String(choice.to_string())).collect()
        }
        _ => Vec::new(),
    }
}

impl Resolved {
    /// All that decides about a training, as text: what every stage uses of its settings, and the rest as it is by default.
    fn in_effect(&self, dataset: &Dataset) -> Result<String> {
        let dimensions = Dimensions::of(&self.node_features.seen(dataset));
        let architecture = self.architecture(dimensions)?;
        let learns = architecture.learns(!self.task.is_about_pairs(), self.decoder);
        let shape = shape_in_use(self.shape(dimensions), &architecture);
        // Weights are declared for a few nodes and features, whose number no setting changes.
        let small = Shape { num_ids: shape.num_ids.min(2), num_features: shape.num_features.min(2), ..shape };
        let model = Model::build(architecture.clone(), small, Seeds::new(0))?;
        let weights: Vec<_> =
            model.weights.entries().iter().map(|weight| (&weight.name, weight.value.shape())).collect();
        let split = split_in_use(self.split(), dataset, learns);
        let fit = learns.then(|| fit_in_use(self.fit(), self.task));
        let (width, shape) = (model.representation_width(), Shape { width: 0, longest_walk: 0, ..shape });
        // Hard negatives are chosen by features as well.
        let features = (split.evaluation_negatives == EvaluationNegatives::Heart).then_some(dimensions.features);
        Ok(format!("{features:?} {split:?} {fit:?} {architecture:?} {shape:?} {width} {weights:?}"))
    }
}

/// The shape without what the architecture does not use. Widths and lengths show in its weights.
fn shape_in_use(shape: Shape, architecture: &Architecture) -> Shape {
    let usual = Shape::default();
    let uses_signal = architecture.uses(Source::Signal);
    let walks = architecture.pair_sources.contains(&PairSource::Walks);
    let is_estimated = walks && shape.proximities == Proximities::Estimated;
    let uses_width = uses_signal || is_estimated || architecture.uses(Source::Eigenvectors);
    Shape {
        // Vectors of a model that knows pairs are made from it as well.
        signal: if uses_signal || architecture.knows_pairs() { shape.signal } else { usual.signal },
        signal_dim: if uses_width { shape.signal_dim } else { usual.signal_dim },
        signal_scale: if uses_signal { shape.signal_scale } else { usual.signal_scale },
        refresh: if uses_signal { shape.refresh } else { usual.refresh },
        num_features: if architecture.uses(Source::Features) { shape.num_features } else { usual.num_features },
        proximities: if walks { shape.proximities } else { usual.proximities },
        answer: match (shape.answer, usual.answer) {
            (Answer::Scores(scoring), Answer::Scores(usual)) => Answer::Scores(match scoring.decoder {
                Decoder::HadamardMlp | Decoder::Proximity => scoring,
                decoder => Scoring { decoder, ..usual },
            }),
            (answer, _) => answer,
        },
        ..shape
    }
}

/// The settings of the fit without those of other schedules and of other tasks.
fn fit_in_use(fit: FitSettings, task: Task) -> FitSettings {
    let decays = fit.schedule == Schedule::Step && (1..fit.epochs).contains(&fit.decay_at);
    let is_patient = (1..fit.epochs).contains(&fit.patience);
    let fit = FitSettings {
        decay_at: if decays { fit.decay_at } else { 0 },
        decay_factor: if decays { fit.decay_factor } else { 1.0 },
        patience: if is_patient { fit.patience } else { 0 },
        ..fit
    };
    match task.is_about_pairs() {
        true => fit,
        false => {
            let (batch_size, pairs_per_epoch, masking) = (0, 0, Masking::None);
            FitSettings { batch_size, pairs_per_epoch, masking, negatives_per_positive: 1, ..fit }
        }
    }
}

/// The settings of the split without those of other tasks and those that a split of the data replaces.
fn split_in_use(split: SplitSettings, dataset: &Dataset, learns: bool) -> SplitSettings {
    let several = dataset.samples.len() > 1;
    let fits = match (&dataset.fixed_split, split.task) {
        (Some(FixedSplit::Pairs(_) | FixedSplit::Edges { .. }), Task::LinkPrediction) => !several,
        (Some(FixedSplit::Nodes(_)), Task::NodeClassification) => !several && split.per_class.is_none(),
        _ => false,
    };
    let is_fixed = fits && split.choice == SplitChoice::Given;
    let given = dataset.fixed_split.as_ref().and_then(FixedSplit::held_out).filter(|_| is_fixed);
    let has_negatives = given.is_some_and(|parts| parts.iter().all(|part| !part.negative.is_empty()));
    let mut used = SplitSettings { choice: if fits { split.choice } else { SplitChoice::Given }, ..split };
    let (mut has_fractions, mut ratios) = (!is_fixed, [true; 2]);
    match split.task {
        Task::LinkPrediction => {
            if split.evaluation_negatives == EvaluationNegatives::All {
                ratios = [false; 2];
            } else if has_negatives && split.evaluation_negatives.pooled().is_some() {
                (used.evaluation_negatives, ratios) = (EvaluationNegatives::Exact, [false; 2]);
            }
        }
        Task::NodeClassification => {
            (used.evaluation_negatives, ratios) = (EvaluationNegatives::Exact, [false; 2]);
            has_fractions &= split.per_class.is_none() && !(several && dataset.paper_defaults.graphs.is_some());
        }
        Task::PairwiseNodeClassification => (),
        Task::GraphReconstruction => (has_fractions, ratios[1]) = (false, false),
    }
    if split.task != Task::NodeClassification || several {
        used.per_class = None;
    }
    if split.task != Task::PairwiseNodeClassification {
        used.same_label_pairs = SameLabelPairs::All;
    }
    if split.task != Task::LinkPrediction {
        used.test_edges = TestEdges::Training;
    }
    if !learns || !split.task.is_about_pairs() {
        used.train_negatives = Negatives::Exact;
    }
    if !has_fractions {
        (used.valid_fraction, used.test_fraction) = (0.0, 0.0);
    }
    (0..2).filter(|&part| !ratios[part]).for_each(|part| used.negative_ratios[part] = 1.0);
    used
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Features;
    use crate::linalg::Matrix;
    use crate::model::catalog::MODELS;
    use crate::train::NodeFeatures;
    use crate::train::Reporting;
    use crate::train::SettingGroup;
    use crate::training::Training;
    use std::collections::BTreeSet;

    fn with(model: &str, task: Task, name: &str, value: Value) -> Config {
        let config = Config { model: model.into(), task, ..Config::default() };
        let mut table = toml::Table::try_from(&config).unwrap();
        table.insert(name.to_string(), value);
        Config::from_table(table).unwrap()
    }

    /// A value of a setting that is not its default.
    fn other_value(name: &str, resolved: &Resolved) -> Value {
        let table = toml::Table::try_from(resolved).unwrap();
        let default = &toml::Table::try_from(Config::default()).unwrap()[name];
        alternatives(name, &table[name]).into_iter().find(|value| value != default).unwrap()
    }

    #[test]
    fn every_setting_counts_for_some_model_and_task() {
        let dataset = Dataset::built_in("communities").unwrap();
        let mut idle: BTreeSet<&str> = Setting::all().iter().map(|setting| setting.name.as_str()).collect();
        // Communities have neither features nor a split of their own.
        ALWAYS.iter().chain(&["node-features", "split"]).for_each(|name| assert!(idle.remove(name)));
        for model in MODELS {
            for &task in Task::ALL {
                let config = Config { model: model.name.into(), task, ..Config::default() };
                let Ok(resolved) = config.resolve(&dataset) else { continue };
                idle.retain(|name| {
                    let config = with(model.name, task, name, other_value(name, &resolved));
                    config.without_effect(&dataset).is_ok_and(|unused| unused.iter().any(|unused| unused == name))
                });
            }
        }
        assert!(idle.is_empty(), "{idle:?}");
    }

    #[test]
    fn the_settings_of_a_model_have_no_effect_on_other_models() {
        let dataset = Dataset::built_in("communities").unwrap();
        for other in MODELS {
            let config = Config { model: other.name.into(), ..Config::default() };
            let resolved = config.resolve(&dataset).unwrap();
            for setting in Setting::all().iter().filter(|setting| !ALWAYS.contains(&setting.name.as_str())) {
                if let SettingGroup::Model(owner) = setting.group
                    && owner != other.name
                {
                    let name = &setting.name;
                    let config = with(other.name, Task::LinkPrediction, name, other_value(name, &resolved));
                    assert!(
                        config.without_effect(&dataset).unwrap().contains(name),
                        "{name} counts for {}",
                        other.name
                    );
                }
            }
        }
    }

    #[test]
    fn a_setting_without_effect_changes_no_bit() {
        let dataset = Dataset::built_in("leaders").unwrap();
        let short = |config: Config| Config { epochs: 3.into(), repeats: 1, ..config };
        let result = |config: Config| {
            let trained = Training::new(&dataset, short(config)).unwrap().reporting(Reporting::Nothing).run().unwrap();
            let run = trained.run();
            let values: Vec<_> = trained.model().weights.entries().iter().map(|weight| weight.value.clone()).collect();
            (run.test, run.valid, run.split.clone(), values)
        };
        let mut checked = 0;
        for (model, task) in [
            ("smp-linear", Task::LinkPrediction),
            ("smp-proximity", Task::LinkPrediction),
            ("smp-gated", Task::NodeClassification),
            ("gcn", Task::NodeClassification),
            ("katz", Task::GraphReconstruction),
            ("eigen-gnn", Task::PairwiseNodeClassification),
        ] {
            let config = Config { model: model.into(), task, ..Config::default() };
            let resolved = config.clone().resolve(&dataset).unwrap();
            let expected = result(config);
            for name in Setting::all().iter().map(|setting| setting.name.as_str()).filter(|name| !ALWAYS.contains(name))
            {
                let changed = with(model, task, name, other_value(name, &resolved));
                if !short(changed.clone())
                    .without_effect(&dataset)
                    .is_ok_and(|unused| unused.contains(&name.to_string()))
                {
                    continue;
                }
                if name != "epochs" {
                    assert_eq!(result(changed), expected, "{model}, {task}: {name}");
                    checked += 1;
                }
            }
        }
        assert!(checked > 60, "{checked}");
    }

    #[test]
    fn features_that_are_left_out_count_for_models_that_read_them() {
        let plain = Dataset::built_in("communities").unwrap();
        let mut rich = plain.clone();
        let nodes = rich.num_nodes();
        rich.samples[0].features =
            Features::Dense(Matrix::from_fn(nodes, 3, |row, column| (row * column) as f32).into());
        let unused = |dataset: &Dataset, model: &str, task: Task| {
            let config = Config { model: model.into(), task, node_features: NodeFeatures::None, ..Config::default() };
            config.without_effect(dataset).unwrap()
        };
        for model in ["gcn", "sgc", "smp-linear", "smp-proximity"] {
            assert!(unused(&rich, model, Task::LinkPrediction).is_empty(), "{model}");
            assert_eq!(unused(&plain, model, Task::LinkPrediction), ["node-features"], "{model}");
        }
        assert_eq!(unused(&rich, "katz", Task::LinkPrediction), ["node-features"]);
        let heart = Config {
            model: "katz".into(),
            node_features: NodeFeatures::None,
            evaluation_negatives: EvaluationNegatives::Heart.into(),
            ..Config::default()
        };
        assert!(heart.without_effect(&rich).unwrap().is_empty());
        assert_eq!(unused(&rich, "gcn", Task::GraphReconstruction), ["node-features"]);
    }

    #[test]
    fn what_a_model_or_a_task_does_not_use_is_named() {
        let dataset = Dataset::built_in("communities").unwrap();
        let unused = |settings: &str| {
            Config::from_table(settings.parse().unwrap()).unwrap().without_effect(&dataset).unwrap().join(" ")
        };
        assert_eq!(unused("model = 'smp-linear'\ndropout = 0.0"), "dropout");
        assert_eq!(unused("model = 'smp-linear'\ndropout = 0.0\ndecoder = 'hadamard-mlp'"), "");
        assert_eq!(unused("model = 'smp-linear'\nreconstruction = 'ridge'"), "reconstruction");
        assert_eq!(unused("model = 'smp-proximity'\nreconstruction = 'ridge'"), "");
        assert_eq!(unused("model = 'gcn'\ndropout = 0.0\nsignal-dim = 64\nwalk-length = 9"), "signal-dim walk-length");
        assert_eq!(
            unused("model = 'katz'\nepochs = 9\nlearning-rate = 0.1\ntest-fraction = 0.2"),
            "epochs learning-rate"
        );
        assert_eq!(
            unused("task = 'node-classification'\nmodel = 'gcn'\nbatch-size = 9\ntest-negative-ratio = 3.0"),
            "batch-size test-negative-ratio"
        );
        assert_eq!(unused("model = 'gcn'\ndecay-at = 90\nschedule = 'cosine'\npatience = 20"), "decay-at");
        assert_eq!(unused("model = 'gcn'\nhop-storage = 'float16'"), "");
        assert_eq!(unused("model = 'gat'\nhop-storage = 'float16'"), "hop-storage");
    }
}
