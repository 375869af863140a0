//! What a search may vary: the settings that the user left open, around what the model brings along.

use nigh::models::Dimensions;
use nigh::models::catalog::{self, Hyperparameters};
use nigh::{Auto, Config, Dataset, Decoder, Proximities, Purpose, Resolved, Result, Seeds, Signal, Source};
use toml::Value;

/// One setting and its values other than the default.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Dimension {
    pub name: &'static str,
    pub values: Vec<Value>,
}

/// The settings that may vary for the model of `resolved`. What the user set in `config` stays.
pub(super) fn dimensions(config: &Config, resolved: &Resolved, dataset: &Dataset) -> Result<Vec<Dimension>> {
    let base = resolved.hyperparameters(Dimensions::of(dataset));
    let shown = |hyperparameters: &Hyperparameters| {
        catalog::architecture(&resolved.model, hyperparameters).map(|architecture| format!("{architecture:?}"))
    };
    let unchanged = shown(&base)?;
    let architecture = resolved.architecture(Dimensions::of(dataset))?;
    let is_about_pairs = resolved.task.is_about_pairs();
    let learns = architecture.learns(!is_about_pairs, resolved.decoder);
    if !learns {
        return Ok(Vec::new());
    }
    let decodes = is_about_pairs && USUAL_DECODERS.contains(&resolved.decoder);
    let has_pair_head = is_about_pairs && architecture.has_pair_features();
    let uses_hops = shown(&Hyperparameters { hops: base.hops + 1, ..base })? != unchanged;
    let uses_dropout = shown(&Hyperparameters { dropout: base.dropout / 2.0 + 0.05, ..base })? != unchanged;
    let uses_signal = architecture.uses(Source::Signal);
    let signal_dim = Hyperparameters { signal_dim: base.signal_dim + 1, ..base };
    let estimates = architecture.has_pair_features() && resolved.proximities == Proximities::Estimated;
    let uses_signal_dim =
        uses_signal || estimates || architecture.uses(Source::Eigenvectors) || shown(&signal_dim)? != unchanged;
    let nodes = dataset.samples.iter().map(|sample| sample.graph.num_nodes()).max().unwrap_or(0);

    let mut space = Vec::new();
    let mut vary = |name, is_open: bool, matters: bool, values: Vec<Value>| {
        if is_open && matters && !values.is_empty() {
            space.push(Dimension { name, values });
        }
    };
    let numbers = |values: &[f32]| values.iter().map(|&value| Value::Float(shortest(value))).collect::<Vec<_>>();
    let around =
        |value: f32, factors: &[f32]| numbers(&factors.iter().map(|factor| value * factor).collect::<Vec<_>>());
    let others = |value: f32, choices: &[f32]| {
        numbers(&choices.iter().copied().filter(|choice| *choice != value).collect::<Vec<_>>())
    };
    let counts = |value: usize, factors: &[f32], [least, most]: [usize; 2]| -> Vec<Value> {
        let scaled = factors.iter().map(|factor| ((value as f32 * factor).round() as usize).clamp(least, most));
        let mut counts: Vec<usize> = scaled.filter(|count| *count != value).collect();
        counts.dedup();
        counts.into_iter().map(|count| Value::Integer(count as i64)).collect()
    };

    let rate = resolved.learning_rate;
    vary("learning-rate", is_open(&config.learning_rate), true, around(rate, &[0.2, 0.5, 2.0, 5.0]));
    let decay = others(resolved.weight_decay, &[0.0, 5e-5, 5e-4, 5e-3]);
    vary("weight-decay", is_open(&config.weight_decay), true, decay);
    let width = counts(resolved.width, &[0.5, 2.0, 4.0], [8, 1024]);
    vary("width", is_open(&config.width), true, width);
    let dropout = others(resolved.dropout, &[0.0, 0.2, 0.5, 0.7]);
    vary("dropout", is_open(&config.dropout), uses_dropout || decodes || has_pair_head, dropout);
    let hops = (1..=4).chain([6]).filter(|hops| *hops != resolved.hops).map(|hops| Value::Integer(hops as i64));
    vary("hops", is_open(&config.hops), uses_hops, hops.collect());
    // More eigenvectors than nodes there are none.
    let dim = counts(resolved.signal_dim, &[0.5, 2.0, 4.0, 8.0], [4, 1024.min(nodes.max(4))]);
    vary("signal-dim", is_open(&config.signal_dim), uses_signal_dim, dim);
    let scales = ["inverse-sqrt", "unit"].map(String::from);
    let scales = scales.into_iter().filter(|scale| *scale != resolved.signal_scale.to_string());
    vary("signal-scale", is_open(&config.signal_scale), uses_signal, scales.map(Value::String).collect());
    let is_default = config.signal == Config::default().signal;
    let signals = [Signal::Uniform, Signal::Rademacher].map(|signal| Value::String(signal.to_string()));
    vary("signal", is_default, uses_signal, signals.to_vec());
    let decoders = USUAL_DECODERS.iter().filter(|decoder| **decoder != resolved.decoder);
    let decoders = decoders.map(|decoder| Value::String(decoder.to_string()));
    vary("decoder", is_open(&config.decoder), decodes, decoders.collect());
    vary("epochs", is_open(&config.epochs), true, counts(resolved.epochs, &[0.5, 2.0], [1, 1 << 24]));
    let decay_at = if resolved.decay_at == 0 { resolved.epochs / 2 } else { 0 };
    vary("decay-at", is_open(&config.decay_at), true, vec![Value::Integer(decay_at as i64)]);
    let batches = counts(resolved.batch_size, &[0.25, 0.5, 2.0], [16, 1 << 20]);
    let negatives = [1, 2, 4].into_iter().filter(|count| *count != resolved.negatives_per_positive);
    let negatives = negatives.map(|count| Value::Integer(count as i64)).collect();
    vary("negatives-per-positive", is_open(&config.negatives_per_positive), is_about_pairs, negatives);
    vary("batch-size", is_open(&config.batch_size), is_about_pairs && resolved.batch_size > 0, batches);
    Ok(space)
}

/// Decoders of two representations, which a model may exchange for one another.
const USUAL_DECODERS: &[Decoder] = &[Decoder::Cosine, Decoder::InnerProduct, Decoder::HadamardMlp];

fn is_open<T>(choice: &Auto<T>) -> bool {
    matches!(choice, Auto::Auto)
}

/// Two significant digits, as the shortest number that means the same.
fn shortest(value: f32) -> f64 {
    format!("{value:.1e}").parse().expect("a number")
}

/// A point of the space: each setting keeps its default with probability 1/2, since what a model brings along is good.
pub(super) fn draw(space: &[Dimension], seeds: Seeds, address: [u64; 2]) -> toml::Table {
    let mut rng = seeds.rng(Purpose::Tune, &address);
    let mut settings = toml::Table::new();
    for Dimension { name, values } in space {
        // Both draws are made always, so that one setting does not move those after it.
        let (keeps, choice) = (rng.unit() < 0.5, rng.below(values.len()));
        if !keeps {
            settings.insert(name.to_string(), values[choice].clone());
        }
    }
    settings
}
