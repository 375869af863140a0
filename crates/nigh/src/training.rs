//! The one way to train: data, settings and, if wanted, an architecture, a split, an observer and a checkpoint of your own.

use crate::dataset::Dataset;
use crate::error::Result;
use crate::model::catalog::Hyperparameters;
use crate::model::{Architecture, Dimensions};
use crate::task::Split;
use crate::train::preset::Preset;
use crate::train::{self, Checkpoint, Config, Job, Observer, Resolved, Silent};
use crate::trained::Trained;

/// A training that is ready to run.
///
/// ```
/// use nigh::{Config, Dataset, Training};
///
/// let dataset = Dataset::built_in("communities")?;
/// let config = Config { epochs: 40.into(), repeats: 1, ..Config::default() };
/// let trained = Training::new(&dataset, config)?.run()?;
/// assert!(trained.summary.mean > 0.9);
/// # Ok::<(), nigh::Error>(())
/// ```
pub struct Training<'d, 'o> {
    dataset: &'d Dataset,
    config: Resolved,
    architecture: Architecture,
    split: Option<Split>,
    observer: Option<&'o mut (dyn Observer + 'o)>,
    checkpoint: Option<Checkpoint>,
}

impl<'d> Training<'d, 'static> {
    /// Of a model of the catalog. The settings are checked and resolved.
    pub fn new(dataset: &'d Dataset, config: Config) -> Result<Training<'d, 'static>> {
        let config = config.resolve(dataset)?;
        let architecture = config.architecture(Dimensions::of(dataset))?;
        Ok(Training { dataset, config, architecture, split: None, observer: None, checkpoint: None })
    }

    /// Of an architecture of your own, made from the settings. `config.model` is the name that the folder of the model
    /// remembers, and [`Trained::load_with`] reads that folder.
    pub fn with_architecture(
        dataset: &'d Dataset,
        config: Config,
        architecture: impl Fn(&Hyperparameters) -> Architecture,
    ) -> Result<Training<'d, 'static>> {
        let model = config.chosen_model().name;
        let config = config.resolve_for(dataset, model, &architecture(&Hyperparameters::default()), Preset::PAPER)?;
        let architecture = architecture(&config.hyperparameters(Dimensions::of(dataset)));
        Ok(Training { dataset, config, architecture, split: None, observer: None, checkpoint: None })
    }
}

impl<'d, 'o> Training<'d, 'o> {
    /// Learns from, chooses by and reports this split in every repeat.
    pub fn split(self, split: Split) -> Training<'d, 'o> {
        Training { split: Some(split), ..self }
    }

    /// Calls `observer` as the training proceeds; it may stop it.
    pub fn observer<'p>(self, observer: &'p mut (dyn Observer + 'p)) -> Training<'d, 'p> {
        let Training { dataset, config, architecture, split, checkpoint, .. } = self;
        Training { dataset, config, architecture, split, checkpoint, observer: Some(observer) }
    }

    /// Writes the state of the training to a file, and resumes from it if it is there.
    pub fn checkpoint(self, checkpoint: Checkpoint) -> Training<'d, 'o> {
        Training { checkpoint: Some(checkpoint), ..self }
    }

    /// Every setting, with all choices made.
    pub fn config(&self) -> &Resolved {
        &self.config
    }

    /// Trains, and keeps the model of the best repeat.
    pub fn run(self) -> Result<Trained> {
        let Training { dataset, config, architecture, split, observer, checkpoint } = self;
        let job = Job { dataset, config: &config, architecture: &architecture, split: split.as_ref() };
        let mut silent = Silent;
        let outcome = train::fit(&job, observer.unwrap_or(&mut silent), checkpoint.as_ref())?;
        Ok(Trained::new(dataset, config, outcome))
    }
}
