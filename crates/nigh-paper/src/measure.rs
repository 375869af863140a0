//! One repeat of one cell.

use crate::cell::{Cell, RANDOM, check, is_random, learning};
use crate::peak::Peak;
use crate::record::{Curve, Record};
use nigh::task::{LabelledNodes, Part};
use nigh::{
    Config, Dataset, Error, Memory, Observer, Purpose, Reporting, Resolved, Result, Run, Seeds, Split, Training,
};
use std::path::PathBuf;

/// Runs one repeat. `version` is that of the program.
///
/// ```
/// use nigh_paper::{Experiment, measure};
/// use nigh::{Dataset, Silent};
///
/// let cell = Experiment::named("poc")?.with(Some(5), None)?.cell(1, 0).unwrap();
/// let record = measure(&cell, &Dataset::built_in(&cell.dataset)?, 1, "0", &mut Silent)?;
/// assert_eq!((record.config.epochs, record.curve.test.len()), (5.into(), 1));
/// # Ok::<(), nigh::Error>(())
/// ```
pub fn measure(
    cell: &Cell,
    dataset: &Dataset,
    seed: u64,
    version: &str,
    observer: &mut dyn Observer,
) -> Result<Record> {
    measure_reporting(cell, dataset, seed, version, observer, Reporting::Nothing, None)
}

/// What trainings keep to, and where they put anonymous temporary files.
#[derive(Debug, Clone)]
pub(crate) struct Limit {
    pub memory: Memory,
    pub folder: PathBuf,
}

/// As `measure`, with more than the metric measured if `reporting` says so.
pub(crate) fn measure_reporting(
    cell: &Cell,
    dataset: &Dataset,
    seed: u64,
    version: &str,
    observer: &mut (dyn Observer + '_),
    reporting: Reporting,
    limit: Option<&Limit>,
) -> Result<Record> {
    check(&cell.config)?;
    let config = Config { repeats: 1, seed, ..learning(&cell.config) };
    let peak = Peak::watch();
    let (run, millis_per_epoch, config) = if is_random(&cell.config) {
        let config = config.resolve(dataset)?;
        (guess(dataset, &config)?, 0.0, config)
    } else {
        let training = Training::new(dataset, config)?.reporting(reporting);
        let training = match limit {
            Some(Limit { memory, folder }) => training.within(*memory, folder)?,
            None => training,
        };
        let mut trained = training.observer(observer).run()?;
        (trained.summary.repeats.remove(0), trained.millis_per_epoch.unwrap_or(0.0), trained.config)
    };
    Ok(Record {
        cell: cell.address(),
        seed,
        test: run.test,
        valid: run.valid,
        best_epoch: run.best_epoch,
        split: run.split,
        millis_per_epoch,
        peak_bytes: peak.bytes(),
        threads: rayon::current_num_threads(),
        version: version.to_string(),
        curve: Curve::of(config.evaluate_every, &run.curve),
        vectors_auc: run.vectors_auc,
        agreement: run.agreement,
        metrics: run.metrics,
        config: Config { model: cell.config.model.clone(), ..config.into() },
    })
}

/// A random class for every node.
fn guess(dataset: &Dataset, config: &Resolved) -> Result<Run> {
    if dataset.class_names.is_empty() {
        return Err(Error::setting("model", RANDOM, "it guesses classes, and the data has none"));
    }
    let seeds = Seeds::new(config.seed);
    let split = config.draw_split(dataset, seeds)?;
    let Split::Nodes(parts) = &split else {
        return Err(Error::setting("model", RANDOM, "it guesses classes of nodes"));
    };
    let accuracy = |parts: &[Part<LabelledNodes>], number: u64| {
        let mut rng = seeds.rng(Purpose::Guess, &[number]);
        let classes = dataset.class_names.len();
        let labels = parts.iter().flat_map(|part| &part.question.labels);
        let hits: Vec<bool> = labels.map(|&label| rng.below(classes) == label as usize).collect();
        hits.iter().filter(|&&hit| hit).count() as f64 / hits.len().max(1) as f64
    };
    let (valid, test) = (accuracy(&parts.valid, 0), accuracy(parts.test(), 1));
    let (seed, split) = (config.seed, split.digest());
    Ok(Run { seed, test, valid, split, ..Run::default() })
}
