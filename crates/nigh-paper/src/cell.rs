//! What one figure is measured from.

use nigh::dataset::NamedDataset;
use nigh::models::catalog::{self, CatalogModel};
use nigh::{Auto, Config, Error, Protocol, Refresh, Result, Task};
use std::collections::BTreeMap;

/// The row of random guesses.
pub(crate) const RANDOM: &str = "random";

/// What one figure is measured from: a dataset and settings, repeated with several seeds.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Name of the dataset.
    pub dataset: String,
    /// The settings, with choices left open.
    pub config: Config,
}

impl Cell {
    /// The seeds of its repeats.
    pub fn seeds(&self) -> impl Iterator<Item = u64> + use<> {
        let first = self.config.seed;
        (0..self.config.repeats as u64).map(move |repeat| first + repeat)
    }

    /// Dataset and every setting that is not the default, without seed and number of repeats. Cells with the same address are
    /// the same cell.
    pub fn address(&self) -> BTreeMap<String, serde_json::Value> {
        let mut config = Config { repeats: 0, seed: 0, ..self.config.clone() };
        let several =
            NamedDataset::named(&self.dataset).and_then(|known| known.paper).is_some_and(|counts| counts.graphs > 1);
        // A setting that equals what `auto` would choose is left out.
        if config.refresh == Auto::Is(if several { Refresh::Resampled } else { Refresh::Fixed }) {
            config.refresh = Auto::Auto;
        }
        // Records of earlier versions have no patience.
        if config.patience == Auto::Is(0) {
            config.patience = Auto::Auto;
        }
        leave_open_what_the_paper_has(&mut config);
        for (choice, usual) in [(&mut config.valid_fraction, 0.1), (&mut config.test_fraction, 0.1)] {
            if *choice == Auto::Is(usual) && config.protocol != Protocol::Ncn {
                *choice = Auto::Auto;
            }
        }
        let settings = |config: &Config| match serde_json::to_value(config) {
            Ok(serde_json::Value::Object(settings)) => settings,
            _ => unreachable!("settings are an object"),
        };
        let defaults = settings(&Config { repeats: 0, seed: 0, ..Config::default() });
        let chosen = settings(&config).into_iter().filter(|(key, value)| {
            key == "model" || key == "task" || defaults.get(key).is_none_or(|default| default != value)
        });
        chosen.chain([("dataset".to_string(), self.dataset.clone().into())]).collect()
    }
}

/// Leaves the settings open that have the values of the paper's appendix. The paper's models have these by default, so a record says the
/// same with or without them. Models beyond the paper have other defaults.
fn leave_open_what_the_paper_has(config: &mut Config) {
    if let Auto::Is(name) = &config.model
        && catalog::find(name).is_ok_and(|model| !model.has_settings_of_the_paper())
    {
        return;
    }
    fn open<T: PartialEq>(choice: &mut Auto<T>, paper: T) {
        if *choice == Auto::Is(paper) {
            *choice = Auto::Auto;
        }
    }
    open(&mut config.hops, 2);
    open(&mut config.width, 32);
    open(&mut config.signal_dim, 32);
    open(&mut config.epochs, 1000);
    open(&mut config.learning_rate, 0.01);
    open(&mut config.weight_decay, 5e-4);
    open(&mut config.decay_at, 200);
    open(&mut config.evaluate_every, 5);
}

/// Checks the settings of a cell as far as that is possible without the data.
pub(crate) fn check(config: &Config) -> Result<()> {
    if is_random(config) && config.task != Task::NodeClassification {
        let problem = format!("it guesses classes of nodes, which {} does not have", config.task);
        return Err(Error::setting("model", RANDOM, problem));
    }
    learning(config).check()
}

/// The settings with a model of the catalog in place of `random`.
pub(crate) fn learning(config: &Config) -> Config {
    let model = if is_random(config) { CatalogModel::knowing(false, true).name.into() } else { config.model.clone() };
    Config { model, ..config.clone() }
}

pub(crate) fn is_random(config: &Config) -> bool {
    config.model == Auto::from(RANDOM)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use nigh::Dataset;

    fn address(config: Config) -> BTreeMap<String, serde_json::Value> {
        Cell { dataset: "cora".into(), config }.address()
    }

    #[test]
    fn what_was_recorded_keeps_its_address() {
        let given = Config { valid_fraction: 0.1.into(), test_fraction: 0.1.into(), ..Config::default() };
        assert_eq!(address(given.clone()), address(Config::default()));
        let ncn = |config: Config| Config { protocol: Protocol::Ncn, ..config };
        assert_ne!(address(ncn(given)), address(ncn(Config::default())));
    }

    #[test]
    fn the_address_leaves_out_the_settings_that_the_papers_models_have_by_default() {
        let dataset = Dataset::built_in("communities").unwrap();
        for (model, is_of_the_paper) in [("smp-linear", true), ("gcn", true), ("smp-proximity", false)] {
            let open = Config { model: model.into(), protocol: Protocol::Published, ..Config::default() };
            let resolved = open.clone().resolve(&dataset).unwrap();
            let chosen = Config {
                hops: resolved.hops.into(),
                width: resolved.width.into(),
                signal_dim: resolved.signal_dim.into(),
                epochs: resolved.epochs.into(),
                learning_rate: resolved.learning_rate.into(),
                weight_decay: resolved.weight_decay.into(),
                decay_at: resolved.decay_at.into(),
                evaluate_every: resolved.evaluate_every.into(),
                ..open.clone()
            };
            assert_eq!(address(chosen) == address(open), is_of_the_paper, "{model}");
        }
    }

    #[test]
    fn tables_train_all_epochs_and_cells_with_patience_say_so() {
        for table in Experiment::all().into_iter().chain(Experiment::all_beyond()) {
            for cell in table.places().filter_map(|(row, column)| table.cell(row, column)) {
                assert_eq!(cell.config.patience, Auto::Is(0), "{}", table.name);
                assert!(!cell.address().contains_key("patience"), "records of earlier versions have none");
            }
        }
        let patient = Config { model: "smp-linear".into(), patience: 9.into(), ..Config::default() };
        assert_eq!(address(patient)["patience"], 9);
    }
}
