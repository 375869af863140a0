//! A bounded search for settings, by successive halving, chosen on the validation metric alone.
//!
//! Candidate 0 has the default settings and is trained in full first. Then come rounds of nine candidates drawn at random:
//! all are trained for a ninth of their epochs (five at least), the best three for about a third, and the best of these in full,
//! with all repeats. The best of what was trained in full wins, so a search never ends worse than the defaults, wherever it is
//! stopped.
//!
//! Candidates are a function of seed and number, and every trial is deterministic: a search that was interrupted, or run on
//! another number of threads, finds the same.
//!
//! ```
//! use nigh_paper::tune::Search;
//! use nigh::{Config, Dataset};
//!
//! let dataset = Dataset::built_in("communities")?;
//! let config = Config { model: "smp-linear".into(), epochs: 9.into(), repeats: 1, ..Config::default() };
//! let search = Search::new(&dataset, config)?.candidates(10)?;
//! let trials = search.run(None, &mut ())?;
//! let best = search.best(&trials).expect("the defaults at least");
//! assert!(best.mean() >= trials[0].mean());
//! # Ok::<(), nigh::Error>(())
//! ```

mod space;

use crate::journal::{Entry, Identity, Journal};
use crate::measure::Limit;
use nigh::train::{Evaluation, Progress, Stage, mean_and_std};
use nigh::{Auto, Config, Dataset, Error, Memory, Observer, Reporting, Resolved, Result, Seeds, Training};
use serde::{Deserialize, Serialize};
use space::Dimension;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

/// Candidates of a round; a third of them goes on to the next rung, twice.
const ROUND: usize = 9;

/// Candidates of a search if the user does not say, the defaults not counted.
pub const CANDIDATES: usize = 27;

/// More candidates than any space has.
const MOST_CANDIDATES: usize = 1 << 16;

/// The rung on which candidates are trained in full.
const FULL: usize = 2;

/// On the first rung a candidate is trained for this part of its epochs.
const FIRST_RUNG: f64 = 1.0 / 9.0;

/// Fewer epochs say more about the learning rate than about the settings.
const LEAST_EPOCHS: f64 = 5.0;

/// How often a draw is tried again that is not new or does not fit the data.
const ATTEMPTS: u64 = 200;

/// A search over one graph for one task.
#[derive(Debug)]
pub struct Search<'d> {
    dataset: &'d Dataset,
    /// The user's settings, with the model chosen.
    base: Config,
    resolved: Resolved,
    space: Vec<Dimension>,
    candidates: Vec<toml::Table>,
    identity: Identity,
    limit: Option<Limit>,
}

/// A trial to run: a candidate on a rung.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedTrial {
    /// Its number; 0 has the defaults.
    pub candidate: usize,
    /// How far it is trained: 0 for a ninth of its epochs, 1 for about a third, 2 in full.
    pub rung: usize,
}

/// A finished trial. It has no test metric: nothing here may be chosen by it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// The number of the candidate; 0 has the defaults.
    pub candidate: usize,
    /// How far it was trained: 0 for a ninth of its epochs, 1 for about a third, 2 in full.
    pub rung: usize,
    /// The settings that it adds to the user's.
    pub settings: toml::Table,
    /// Epochs of each run.
    pub epochs: usize,
    /// The best validation metric of each run; empty if the training failed.
    pub valid: Vec<f64>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// How long it took.
    pub seconds: f64,
}

impl Entry for Trial {
    const NAME: &'static str = "trial";
    const WHOLE: &'static str = "search";

    fn is_same(&self, other: &Trial) -> bool {
        (self.candidate, self.rung) == (other.candidate, other.rung)
    }
}

/// The trials of a search in a file, which [`Search::log`] opens.
pub type TrialLog = Journal<Trial>;

impl Trial {
    /// The mean of the validation metric; below every metric if the training failed.
    pub fn mean(&self) -> f64 {
        if self.valid.is_empty() { f64::NEG_INFINITY } else { mean_and_std(&self.valid).0 }
    }

    /// Whether it was trained in full.
    pub fn is_full(&self) -> bool {
        self.rung == FULL
    }

    /// What the candidate sets, as text.
    pub fn about(&self) -> String {
        about(&self.settings)
    }
}

/// Settings as text: `hops 3, dropout 0.2`.
pub fn about(settings: &toml::Table) -> String {
    let text = |(name, value): (&String, &toml::Value)| match value {
        toml::Value::String(word) => format!("{name} {word}"),
        other => format!("{name} {other}"),
    };
    if settings.is_empty() { "defaults".into() } else { settings.iter().map(text).collect::<Vec<_>>().join(", ") }
}

/// Called as a search proceeds. `()` ignores it.
pub trait SearchObserver: Send {
    /// Whether to stop before the next trial. The defaults are always run.
    fn should_stop(&mut self) -> bool {
        false
    }

    /// A trial begins; `done` have ended.
    fn begins(&mut self, _trial: PlannedTrial, _done: usize) {}

    /// Steps of a trial that are not epochs.
    fn stage(&mut self, _stage: Stage, _done: usize, _total: usize) {}

    /// An epoch of a trial has ended, with the validation metric if it was measured.
    fn epoch(&mut self, _progress: &Progress, _valid: Option<f64>) {}

    /// A trial has ended.
    fn ends(&mut self, _trial: &Trial, _trials: &[Trial]) -> Result<()> {
        Ok(())
    }
}

impl SearchObserver for () {}

/// Passes the validation metric on, and nothing of the test.
struct ValidOnly<'a>(&'a mut dyn SearchObserver);

impl Observer for ValidOnly<'_> {
    fn stage(&mut self, stage: Stage, done: usize, total: usize) {
        self.0.stage(stage, done, total);
    }

    fn epoch(&mut self, progress: &Progress, evaluation: Option<&Evaluation>) -> ControlFlow<()> {
        self.0.epoch(progress, evaluation.map(|evaluation| evaluation.valid));
        ControlFlow::Continue(())
    }
}

impl<'d> Search<'d> {
    /// A search among the settings that `config` leaves open.
    pub fn new(dataset: &'d Dataset, config: Config) -> Result<Search<'d>> {
        let base = Config { model: Auto::Is(config.chosen_model().name), ..config };
        let resolved = base.clone().resolve(dataset)?;
        let space = space::dimensions(&base, &resolved, &base.node_features.seen(dataset))?;
        if space.is_empty() {
            let problem = "it has no setting that is open and matters, so there is nothing to search for";
            return Err(Error::setting("model", resolved.model, problem));
        }
        // As for a graph on disk, which need not be read into memory for this.
        let folder = std::env::temp_dir();
        let seen = base.node_features.seen(dataset);
        let split = resolved.fingerprint(&seen, Seeds::new(resolved.seed), Some(&folder))?;
        let identity = Identity {
            version: env!("CARGO_PKG_VERSION").to_string(),
            dataset: dataset.name.clone(),
            split,
            settings: base.to_table(),
        };
        Search { dataset, base, resolved, space, candidates: Vec::new(), identity, limit: None }.candidates(CANDIDATES)
    }

    /// Keeps every training to this memory, with anonymous temporary files in `folder`; one that can't is an error.
    pub fn within(self, memory: Memory, folder: &Path) -> Search<'d> {
        Search { limit: Some(Limit { memory, folder: folder.to_path_buf() }), ..self }
    }

    /// With this number of candidates in addition to the defaults. The first ones are the same whatever the number.
    pub fn candidates(self, count: usize) -> Result<Search<'d>> {
        if !(1..=MOST_CANDIDATES).contains(&count) {
            let problem = format!("expected a whole number from 1 to {MOST_CANDIDATES}");
            return Err(Error::setting("candidates", count, problem));
        }
        let mut candidates = vec![toml::Table::new()];
        while candidates.len() <= count {
            // A small space may have no more.
            let Some(next) = self.draw(candidates.len(), &candidates) else { break };
            candidates.push(next);
        }
        Ok(Search { candidates, ..self })
    }

    /// The candidate of a number: new, and such that the model can be trained with it.
    fn draw(&self, number: usize, known: &[toml::Table]) -> Option<toml::Table> {
        let seeds = Seeds::new(self.resolved.seed);
        let drawn = (0..ATTEMPTS).map(|attempt| space::draw(&self.space, seeds, [number as u64, attempt]));
        let fits = |settings: &toml::Table| {
            let config = self.with(settings);
            config.and_then(|config| config.resolve(self.dataset)).is_ok()
        };
        drawn.filter(|settings| !known.contains(settings)).find(fits)
    }

    /// The user's settings with those of a candidate.
    fn with(&self, settings: &toml::Table) -> Result<Config> {
        let mut table = toml::Table::try_from(&self.base).expect("settings are a table");
        table.extend(settings.clone());
        Config::from_table(table)
    }

    /// The data.
    pub fn dataset(&self) -> &'d Dataset {
        self.dataset
    }

    /// The settings of the default, with every choice made.
    pub fn defaults(&self) -> &Resolved {
        &self.resolved
    }

    /// The names of the settings that vary.
    pub fn varied(&self) -> Vec<&'static str> {
        self.space.iter().map(|dimension| dimension.name).collect()
    }

    /// The candidates, the defaults first: the settings that each adds to the user's.
    pub fn all_candidates(&self) -> &[toml::Table] {
        &self.candidates
    }

    /// How many trials the whole search has.
    pub fn num_trials(&self) -> usize {
        let rounds = self.candidates[1..].chunks(ROUND);
        1 + rounds.map(|round| round.len() + third(round.len()) + third(third(round.len()))).sum::<usize>()
    }

    /// The next trial after those that have ended, or `None` at the end of the search.
    pub fn next(&self, trials: &[Trial]) -> Option<PlannedTrial> {
        let find = |candidate: usize, rung: usize| {
            trials.iter().find(|trial| (trial.candidate, trial.rung) == (candidate, rung))
        };
        let missing = |candidates: &[usize], rung: usize| {
            let open = candidates.iter().find(|candidate| find(**candidate, rung).is_none());
            open.map(|&candidate| PlannedTrial { candidate, rung })
        };
        if let Some(defaults) = missing(&[0], FULL) {
            return Some(defaults);
        }
        let numbers: Vec<usize> = (1..self.candidates.len()).collect();
        for round in numbers.chunks(ROUND) {
            let mut left = round.to_vec();
            for rung in 0..=FULL {
                if let Some(trial) = missing(&left, rung) {
                    return Some(trial);
                }
                // The best first; of equals the one that was drawn first.
                let mean = |candidate: usize| find(candidate, rung).expect("it has ended").mean();
                left.sort_by(|&a, &b| mean(b).total_cmp(&mean(a)).then(a.cmp(&b)));
                left.truncate(third(left.len()));
            }
        }
        None
    }

    /// The settings of a trial: fewer epochs and one run below the last rung.
    pub fn config(&self, trial: PlannedTrial) -> Result<Config> {
        let config = self.with(&self.candidates[trial.candidate])?;
        if trial.rung == FULL {
            return Ok(config);
        }
        let Resolved { epochs, decay_at, .. } = config.clone().resolve(self.dataset)?;
        let part = part_of_epochs(epochs, trial.rung);
        let shortened = |count: usize| (part * count as f64).ceil() as usize;
        Ok(Config { epochs: shortened(epochs).into(), decay_at: shortened(decay_at).into(), repeats: 1, ..config })
    }

    /// Runs a trial.
    pub fn measure(&self, planned: PlannedTrial, observer: &mut dyn SearchObserver) -> Result<Trial> {
        let started = Instant::now();
        let training = Training::new(self.dataset, self.config(planned)?)?.reporting(Reporting::Nothing);
        let training = match &self.limit {
            Some(Limit { memory, folder }) => training.within(*memory, folder)?,
            None => training,
        };
        let epochs = training.config().epochs;
        let (valid, problem) = match training.observer(&mut ValidOnly(observer)).run() {
            Ok(trained) => (trained.summary.repeats.iter().map(|run| run.valid).collect(), None),
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            // Large learning rates may diverge. What is wrong with the defaults is wrong with the data.
            Err(error) if planned.candidate > 0 => (Vec::new(), Some(error.to_string())),
            Err(error) => return Err(error),
        };
        let PlannedTrial { candidate, rung } = planned;
        let (settings, seconds) = (self.candidates[candidate].clone(), started.elapsed().as_secs_f64());
        Ok(Trial { candidate, rung, settings, epochs, valid, problem, seconds })
    }

    /// The file of this search, which `run` writes and resumes from.
    pub fn log(&self, path: &Path) -> Result<TrialLog> {
        Journal::open(path, &self.identity, |trial| self.accepts(trial))
    }

    /// Runs what is left of the search, and writes every trial to the log as it ends.
    pub fn run(&self, mut log: Option<&mut TrialLog>, observer: &mut dyn SearchObserver) -> Result<Vec<Trial>> {
        let mut trials = log.as_ref().map_or(Vec::new(), |log| log.entries().to_vec());
        while let Some(planned) = self.next(&trials) {
            if !trials.is_empty() && observer.should_stop() {
                break;
            }
            observer.begins(planned, trials.len());
            let trial = self.measure(planned, observer)?;
            if let Some(log) = &mut log {
                log.push(&trial)?;
            }
            trials.push(trial);
            observer.ends(&trials[trials.len() - 1], &trials)?;
        }
        Ok(trials)
    }

    /// The best of what was trained in full; of equals the one that was drawn first, so the defaults before all.
    pub fn best<'t>(&self, trials: &'t [Trial]) -> Option<&'t Trial> {
        let full = trials.iter().filter(|trial| trial.is_full() && !trial.valid.is_empty());
        full.min_by(|a, b| b.mean().total_cmp(&a.mean()).then(a.candidate.cmp(&b.candidate)))
    }

    /// The last trial of every candidate, the best first: those that were trained further before the others.
    pub fn ranking<'t>(&self, trials: &'t [Trial]) -> Vec<&'t Trial> {
        let is_last =
            |trial: &&Trial| !trials.iter().any(|other| other.candidate == trial.candidate && other.rung > trial.rung);
        let mut last: Vec<&Trial> = trials.iter().filter(is_last).collect();
        last.sort_by(|a, b| {
            let by_metric = b.mean().total_cmp(&a.mean());
            b.rung.cmp(&a.rung).then(by_metric).then(a.candidate.cmp(&b.candidate))
        });
        last
    }

    /// The settings of a candidate as a TOML file that a training takes: those that are not the default.
    pub fn toml(&self, candidate: usize) -> Result<String> {
        Ok(self.with(&self.candidates[candidate])?.to_table().to_string())
    }

    /// Whether a trial that was read from a file is one of this search.
    fn accepts(&self, trial: &Trial) -> std::result::Result<(), String> {
        let Trial { candidate, rung, .. } = *trial;
        if trial.valid.iter().any(|valid| !(0.0..=1.0).contains(valid)) {
            return Err(format!("not a trial: a metric of {:?}; expected 0 to 1", trial.valid));
        }
        if rung > FULL {
            return Err(format!("not a trial: rung {rung}; the last is {FULL}"));
        }
        // A search with more candidates may have written it.
        let Some(settings) = self.candidates.get(candidate) else { return Ok(()) };
        if trial.settings != *settings {
            let (written, drawn) = (trial.about(), about(settings));
            return Err(format!("candidate {candidate} has {written}, but this search has {drawn} for it"));
        }
        Ok(())
    }
}

/// The part of its epochs that a candidate is trained for on a rung: equal factors between rungs.
fn part_of_epochs(epochs: usize, rung: usize) -> f64 {
    let first = FIRST_RUNG.max(LEAST_EPOCHS / epochs as f64).min(1.0);
    match rung {
        0 => first,
        FULL => 1.0,
        _ => first.sqrt(),
    }
}

/// How many candidates go on: a third, but one at least.
fn third(count: usize) -> usize {
    if count == 0 { 0 } else { (count / 3).max(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dataset() -> Dataset {
        Dataset::built_in("communities").unwrap()
    }

    fn config() -> Config {
        Config { model: "smp-linear".into(), epochs: 9.into(), repeats: 2, ..Config::default() }
    }

    fn without_times(trials: &[Trial]) -> Vec<Trial> {
        trials.iter().map(|trial| Trial { seconds: 0.0, ..trial.clone() }).collect()
    }

    /// A trial with a made-up metric.
    fn made_up(search: &Search<'_>, planned: PlannedTrial, valid: f64) -> Trial {
        let PlannedTrial { candidate, rung } = planned;
        let settings = search.all_candidates()[candidate].clone();
        Trial { candidate, rung, settings, epochs: 1, valid: vec![valid], problem: None, seconds: 0.0 }
    }

    #[test]
    fn the_defaults_come_first_and_a_third_of_every_round_goes_on() {
        let dataset = dataset();
        let search = Search::new(&dataset, Config::default()).unwrap();
        assert_eq!((search.all_candidates().len(), search.num_trials()), (28, 1 + 3 * 13));
        assert!(search.all_candidates()[0].is_empty());
        let mut trials = Vec::new();
        while let Some(planned) = search.next(&trials) {
            // The larger the number of a candidate, the better.
            let trial = made_up(&search, planned, planned.candidate as f64 / 100.0);
            trials.push(trial);
        }
        assert_eq!(trials.len(), search.num_trials());
        let order: Vec<(usize, usize)> = trials[..15].iter().map(|trial| (trial.candidate, trial.rung)).collect();
        let first = (1..=9).map(|candidate| (candidate, 0));
        let rest = [(9, 1), (8, 1), (7, 1), (9, 2), (10, 0)];
        assert_eq!(order, std::iter::once((0, 2)).chain(first).chain(rest).collect::<Vec<_>>());
        assert_eq!(search.best(&trials).unwrap().candidate, 27);
        // Wherever it is stopped, the defaults are beaten or kept.
        for stopped in 1..trials.len() {
            assert!(search.best(&trials[..stopped]).unwrap().mean() >= trials[0].mean());
        }
        let ranking = search.ranking(&trials);
        assert_eq!(ranking.len(), 28);
        assert!(ranking[..4].iter().all(|trial| trial.is_full()) && ranking[0].candidate == 27);
        // Of equals, the defaults.
        let equal: Vec<Trial> = trials.iter().map(|trial| Trial { valid: vec![0.5], ..trial.clone() }).collect();
        assert_eq!(search.best(&equal).unwrap().candidate, 0);
    }

    #[test]
    fn candidates_follow_from_seed_and_number_and_keep_what_the_user_set() {
        let dataset = dataset();
        let config = Config { model: "smp-linear".into(), hops: 3.into(), ..Config::default() };
        let search = |seed: u64, count: usize| {
            let config = Config { seed, ..config.clone() };
            Search::new(&dataset, config).unwrap().candidates(count).unwrap().all_candidates().to_vec()
        };
        let (few, many) = (search(1, 5), search(1, 40));
        assert_eq!(few[..], many[..6]);
        assert_ne!(few, search(2, 5));
        assert!(many.iter().all(|settings| !settings.contains_key("hops")));
        let mut distinct: Vec<String> = many.iter().map(about).collect();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), 41);
        let varied = Search::new(&dataset, config.clone()).unwrap().varied();
        assert!(varied.contains(&"learning-rate") && varied.contains(&"signal-dim") && !varied.contains(&"hops"));
        // A model without a signal has none to vary.
        let gcn = Search::new(&dataset, Config { model: "gcn".into(), ..config }).unwrap().varied();
        assert!(!gcn.contains(&"signal-dim") && !gcn.contains(&"signal") && gcn.contains(&"dropout"));
        let untrained = Config { model: "katz".into(), ..Config::default() };
        let error = Search::new(&dataset, untrained).unwrap_err().to_string();
        assert!(error.contains("nothing to search for"), "{error}");
        assert!(Search::new(&dataset, Config::default()).unwrap().candidates(0).is_err());
    }

    #[test]
    fn a_trial_below_the_last_rung_has_fewer_epochs_and_one_run() {
        let dataset = dataset();
        let config = Config { model: "smp-linear".into(), repeats: 4, ..Config::default() };
        let search = Search::new(&dataset, config).unwrap();
        let budget = |rung| {
            let config = search.config(PlannedTrial { candidate: 0, rung }).unwrap();
            let Resolved { epochs, decay_at, repeats, .. } = config.resolve(&dataset).unwrap();
            (epochs, decay_at, repeats)
        };
        let Resolved { epochs, decay_at, .. } = search.defaults().clone();
        assert_eq!(budget(2), (epochs, decay_at, 4));
        assert_eq!(epochs, 1000, "smp-linear's");
        assert_eq!((budget(1), budget(0)), ((334, 67, 1), (112, 23, 1)));
        // Short schedules are not cut to nothing.
        let epochs =
            |epochs: usize| [0, 1, 2].map(|rung| (part_of_epochs(epochs, rung) * epochs as f64).ceil() as usize);
        assert_eq!([epochs(1), epochs(9), epochs(15), epochs(45)], [[1, 1, 1], [5, 7, 9], [5, 9, 15], [5, 15, 45]]);
    }

    #[test]
    fn the_number_of_threads_changes_no_trial() {
        let dataset = dataset();
        let search = Search::new(&dataset, config()).unwrap().candidates(4).unwrap();
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            without_times(&pool.install(|| search.run(None, &mut ()).unwrap()))
        };
        assert_eq!(on(1), on(3));
    }

    /// Stops after a number of trials.
    struct StopAfter(usize);

    impl SearchObserver for StopAfter {
        fn should_stop(&mut self) -> bool {
            self.0 == 0
        }

        fn ends(&mut self, _: &Trial, _: &[Trial]) -> Result<()> {
            self.0 -= 1;
            Ok(())
        }
    }

    #[test]
    fn an_interrupted_search_resumes_and_finds_the_same() {
        let (dataset, folder) = (dataset(), tempfile::tempdir().unwrap());
        let search = Search::new(&dataset, config()).unwrap().candidates(4).unwrap();
        let whole = without_times(&search.run(None, &mut ()).unwrap());
        assert_eq!(whole.len(), search.num_trials());
        let path = folder.path().join("best.trials.jsonl");
        for stop in [1, 2, 20] {
            let mut log = search.log(&path).unwrap();
            search.run(Some(&mut log), &mut StopAfter(stop)).unwrap();
            drop(log);
            // The process may also be killed while it writes.
            let text = std::fs::read_to_string(&path).unwrap();
            std::fs::write(&path, format!("{text}{{\"candidate\":3,\"ru")).unwrap();
        }
        let log = search.log(&path).unwrap();
        assert_eq!(without_times(log.entries()), whole);
        assert!(!log.notes.is_empty() && log.notes[0].ends_with("unfinished trial skipped"));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains("test"), "{text}");
    }

    #[test]
    fn a_file_of_another_search_or_a_bad_line_is_named() {
        let (dataset, folder) = (dataset(), tempfile::tempdir().unwrap());
        let path = folder.path().join("trials.jsonl");
        let search = |config: Config| Search::new(&dataset, config).unwrap().candidates(3).unwrap();
        let first = search(config());
        let mut log = first.log(&path).unwrap();
        assert!(first.log(&path).unwrap_err().to_string().contains("another process"));
        log.push(&made_up(&first, PlannedTrial { candidate: 0, rung: 2 }, 0.5)).unwrap();
        drop(log);
        let message = |path: &Path, search: &Search<'_>| search.log(path).unwrap_err().to_string();
        let other = message(&path, &search(Config { seed: 7, ..config() }));
        assert!(other.contains("trials.jsonl:1: these are trials of another search, with epochs = 9"), "{other}");
        let good = std::fs::read_to_string(&path).unwrap();
        let with = |line: &str| {
            std::fs::write(&path, format!("{good}{line}\n")).unwrap();
            message(&path, &first)
        };
        assert!(with("{\"candidate\": 1}").contains("trials.jsonl:3: not a trial: missing field"));
        assert!(with("nonsense").contains("trials.jsonl:3: not a trial"));
        let trial = made_up(&first, PlannedTrial { candidate: 1, rung: 0 }, 0.5);
        let line = |trial: &Trial| serde_json::to_string(trial).unwrap();
        assert!(
            with(&line(&Trial { valid: vec![50.0], ..trial.clone() })).contains(":3: not a trial: a metric of [50.0]")
        );
        assert!(with(&line(&Trial { rung: 3, ..trial.clone() })).contains(":3: not a trial: rung 3"));
        let changed = with(&line(&Trial { settings: toml::Table::new(), ..trial }));
        assert!(changed.contains(":3: candidate 1 has defaults, but this search has "), "{changed}");
        std::fs::write(&path, "{}\n").unwrap();
        assert!(message(&path, &first).contains("trials.jsonl:1: not the first line of a search"));
    }

    #[test]
    fn the_best_settings_are_a_file_that_a_training_takes() {
        let (dataset, folder) = (dataset(), tempfile::tempdir().unwrap());
        let search = Search::new(&dataset, config()).unwrap().candidates(6).unwrap();
        for candidate in 0..search.all_candidates().len() {
            let path = folder.path().join("best.toml");
            std::fs::write(&path, search.toml(candidate).unwrap()).unwrap();
            let read = Config::from_table(Config::read_table(&path, &[]).unwrap()).unwrap();
            assert_eq!(read, search.config(PlannedTrial { candidate, rung: FULL }).unwrap());
            Training::new(&dataset, read).unwrap();
        }
    }
}
