//! Tables to reproduce: which repeats have no record yet, and running them.

use crate::cell::Cell;
use crate::experiment::Experiment;
use crate::measure::measure;
use crate::record::{Record, RecordSet, Store};
use crate::verdict::ComparedTable;
use nigh::models::catalog;
use nigh::{Dataset, Error, Observer, Result, Silent};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Tables, or some datasets and models of them, with the folder of their records. Other processes may work on the same records.
///
/// ```
/// use nigh_paper::{Experiment, Reproduction};
/// use nigh::{Dataset, Silent};
///
/// let folder = std::env::temp_dir().join("nigh-example-of-a-reproduction");
/// let tables = vec![Experiment::named("poc")?.with(Some(2), Some(1))?];
/// let reproduction = Reproduction::new(tables, &["leaders", "gcn"], &folder)?;
/// let plan = reproduction.plan()?;
/// let load = |name: &str| Dataset::built_in(name).map_err(|error| error.to_string());
/// let reproduced = reproduction.run(&plan, "0", load, &mut Silent)?;
/// assert!(reproduced.failed.is_empty());
/// assert_eq!(reproduction.plan()?.repeats().len(), 0);
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), nigh::Error>(())
/// ```
#[derive(Debug)]
pub struct Reproduction {
    tables: Vec<Experiment>,
    only: Selection,
    cells: Vec<Cell>,
    store: Store,
}

/// What is to be run.
#[derive(Debug)]
pub struct ReproductionPlan<'a> {
    repeats: Vec<(&'a Cell, u64)>,
    /// How many different cells the tables have.
    pub num_cells: usize,
    /// Notes on the records that are there.
    pub notes: Vec<String>,
}

/// A repeat that is to be run.
#[derive(Debug, Clone, Copy)]
pub struct PlannedRepeat<'a> {
    /// Dataset and settings.
    pub cell: &'a Cell,
    /// Its seed.
    pub seed: u64,
    /// Its number, counted from zero.
    pub number: usize,
    /// About how long it takes, in units that all repeats share.
    pub cost: u64,
}

/// What running a plan leaves in addition to records.
#[derive(Debug, Default)]
pub struct Reproduced {
    /// What went wrong with datasets and repeats; the others were run.
    pub failed: Vec<String>,
    /// How many repeats another process is running.
    pub elsewhere: usize,
}

/// Called as tables are reproduced, in addition to what their trainings call.
pub trait ReproductionObserver: Observer {
    /// All that will be run, with datasets that are skipped.
    fn planned(&mut self, _repeats: &[PlannedRepeat<'_>], _notes: &[String]) {}

    /// A repeat begins.
    fn begins(&mut self, _repeat: &PlannedRepeat<'_>) {}

    /// A repeat has ended, and its record is written.
    fn ends(&mut self, _repeat: &PlannedRepeat<'_>, _record: &Record) {}
}

impl ReproductionObserver for Silent {}

impl Reproduction {
    /// Of these tables. `only` names datasets and models by our names or by those of the paper; nothing means all.
    pub fn new(tables: Vec<Experiment>, only: &[impl AsRef<str>], results: &Path) -> Result<Reproduction> {
        let words: Vec<&str> = only.iter().map(AsRef::as_ref).collect();
        let only = Selection::new(&words, &tables)?;
        let cells = tables.iter().flat_map(|table| table.places().filter_map(|(row, column)| table.cell(row, column)));
        let cells: Vec<Cell> = cells.filter(|cell| only.contains(cell)).collect();
        if cells.is_empty() && !words.is_empty() {
            return Err(Error::setting("only", words.join(","), "no figure has these together"));
        }
        Ok(Reproduction { tables, only, cells, store: Store::new(results) })
    }

    /// The repeats without a record, each once. The first repeat of every cell comes before the second of any, so that an
    /// interrupted run has figures for the whole table.
    pub fn plan(&self) -> Result<ReproductionPlan<'_>> {
        let records = self.store.read()?;
        let (mut cells, mut left) = (BTreeMap::<String, BTreeSet<u64>>::new(), Vec::new());
        for cell in &self.cells {
            let run: BTreeSet<u64> = records.of(cell).map(|record| record.seed).collect();
            let planned = cells.entry(address(cell)).or_default();
            let seeds = cell.seeds().enumerate().filter(|(_, seed)| !run.contains(seed));
            left.extend(seeds.filter(|(_, seed)| planned.insert(*seed)).map(|entry| (cell, entry)));
        }
        left.sort_by_key(|(_, (repeat, _))| *repeat);
        let repeats = left.into_iter().map(|(cell, (_, seed))| (cell, seed)).collect();
        Ok(ReproductionPlan { repeats, num_cells: cells.len(), notes: records.notes })
    }

    /// Runs a plan, and writes a record as soon as each repeat ends. `load` gets a dataset by its name: each once before anything is
    /// run, so that a missing one is reported before hours are spent on others; then when it is needed, so that others do not count
    /// in the memory of a repeat. `version` is that of the program.
    pub fn run(
        &self,
        plan: &ReproductionPlan<'_>,
        version: &str,
        mut load: impl FnMut(&str) -> std::result::Result<Dataset, String>,
        observer: &mut dyn ReproductionObserver,
    ) -> Result<Reproduced> {
        let (mut reproduced, mut notes, mut sizes) = (Reproduced::default(), Vec::new(), BTreeMap::new());
        let mut current: Option<(&str, Dataset)> = None;
        for name in plan.by_dataset().into_keys() {
            match load(name) {
                Ok(dataset) => {
                    sizes.insert(name, dataset.num_nodes() + dataset.num_edges());
                    current = Some((name, dataset));
                }
                Err(problem) if self.may_be_missing(name) => notes.push(format!("{name} is skipped: {problem}")),
                Err(problem) => reproduced.failed.push(format!("{name}: {problem}")),
            }
        }
        let there = plan.repeats.iter().filter_map(|&(cell, seed)| Some((cell, seed, *sizes.get(&cell.dataset[..])?)));
        let planned = |(number, (cell, seed, size))| PlannedRepeat { cell, seed, number, cost: cost(cell, size) };
        let repeats: Vec<PlannedRepeat<'_>> = there.enumerate().map(planned).collect();
        observer.planned(&repeats, &notes);
        let mut elsewhere = Vec::new();
        for repeat in &repeats {
            let PlannedRepeat { cell, seed, .. } = *repeat;
            observer.begins(repeat);
            let lock = self.store.try_lock(cell, seed)?;
            // Another process runs it, or has finished it since the records were read.
            if lock.is_none() || self.store.has(cell, seed)? {
                elsewhere.push((cell, seed));
                continue;
            }
            if current.as_ref().is_none_or(|(name, _)| *name != cell.dataset) {
                drop(current.take());
                current = load(&cell.dataset).ok().map(|dataset| (&cell.dataset[..], dataset));
            }
            let failed = |problem| {
                format!("{} {} {}, seed {seed}: {problem}", cell.dataset, cell.config.model, cell.config.task)
            };
            let Some((_, dataset)) = &current else {
                reproduced.failed.push(failed("the dataset has gone".to_string()));
                continue;
            };
            match measure(cell, dataset, seed, version, observer) {
                Ok(record) => {
                    self.store.append(&record)?;
                    observer.ends(repeat, &record);
                }
                Err(Error::Interrupted) => return Err(Error::Interrupted),
                Err(error) => reproduced.failed.push(failed(error.to_string())),
            }
        }
        let records = self.store.read()?;
        reproduced.elsewhere = elsewhere.into_iter().filter(|(cell, seed)| !records.has(cell, *seed)).count();
        Ok(reproduced)
    }

    fn may_be_missing(&self, dataset: &str) -> bool {
        let mut columns = self.tables.iter().flat_map(|table| &table.columns);
        columns.any(|column| column.dataset == dataset && column.missing.is_some())
    }

    /// The tables with the measured values of these datasets and models. Published values stay in columns that have one of ours; tables
    /// without any of ours are left out.
    pub fn compared(&self) -> Result<Vec<ComparedTable>> {
        let records: RecordSet = self.store.read()?;
        let compared = self.tables.iter().map(|table| ComparedTable::new(table.clone(), &records));
        Ok(compared.filter_map(|table| self.only.part_of(table)).collect())
    }
}

impl ReproductionPlan<'_> {
    /// Cells and seeds, in the order in which they are run.
    pub fn repeats(&self) -> &[(&Cell, u64)] {
        &self.repeats
    }

    /// How many cells lack a repeat.
    pub fn num_open_cells(&self) -> usize {
        self.repeats.iter().map(|(cell, _)| address(cell)).collect::<BTreeSet<_>>().len()
    }

    /// How many repeats each dataset lacks.
    pub fn by_dataset(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        self.repeats.iter().for_each(|(cell, _)| *counts.entry(&cell.dataset[..]).or_default() += 1);
        counts
    }
}

fn address(cell: &Cell) -> String {
    format!("{:?}", cell.address())
}

/// Approximate cost of a repeat, to estimate the time left.
fn cost(cell: &Cell, size: usize) -> u64 {
    let factor = catalog::find(&cell.config.chosen_model().name).map_or(1, |model| model.relative_cost());
    (cell.config.epochs.unwrap_or(1000) * (1000 + size)) as u64 * factor / 1000 + 1
}

/// Some datasets and models; an empty set means all.
#[derive(Debug, Default)]
struct Selection {
    datasets: BTreeSet<String>,
    models: BTreeSet<String>,
}

impl Selection {
    fn new(words: &[&str], tables: &[Experiment]) -> Result<Selection> {
        let columns = || tables.iter().flat_map(|table| &table.columns);
        let rows = || tables.iter().flat_map(|table| &table.rows);
        let mut only = Selection::default();
        for word in words {
            let is = |name: &str, label: &str| [name, label].iter().any(|name| word.eq_ignore_ascii_case(name));
            let datasets = columns().filter(|column| is(&column.dataset, &column.label)).map(|column| &column.dataset);
            let run = rows().filter_map(|row| Some((row.model.as_ref()?, &row.label)));
            let models = run.filter(|(model, label)| is(model, label)).map(|(model, _)| model);
            let (datasets, mut models): (BTreeSet<&String>, BTreeSet<&String>) = (datasets.collect(), models.collect());
            if models.len() > 1 {
                // Rows of several models share this label, so it names no model.
                models.clear();
            }
            if datasets.is_empty() && models.is_empty() {
                let datasets: BTreeSet<&str> = columns().map(|column| column.dataset.as_str()).collect();
                let models: BTreeSet<&str> = rows().filter_map(|row| row.model.as_deref()).collect();
                let list = |names: BTreeSet<&str>| names.into_iter().collect::<Vec<_>>().join(", ");
                let problem = format!("not in the table. Datasets: {}. Models: {}", list(datasets), list(models));
                return Err(Error::setting("only", word, problem));
            }
            only.datasets.extend(datasets.into_iter().cloned());
            only.models.extend(models.into_iter().cloned());
        }
        Ok(only)
    }

    fn contains(&self, cell: &Cell) -> bool {
        let in_set = |set: &BTreeSet<String>, name: &str| set.is_empty() || set.contains(name);
        in_set(&self.datasets, &cell.dataset) && in_set(&self.models, &cell.config.chosen_model().name)
    }

    fn part_of(&self, mut table: ComparedTable) -> Option<ComparedTable> {
        let ours = table.figures.iter().filter(|figure| figure.cell.as_ref().is_some_and(|cell| self.contains(cell)));
        let columns: BTreeSet<usize> = ours.map(|figure| figure.column).collect();
        table.figures.retain(|figure| match &figure.cell {
            Some(cell) => self.contains(cell),
            None => columns.contains(&figure.column),
        });
        (!columns.is_empty()).then_some(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reproduction(folder: &Path, only: &[&str]) -> Result<Reproduction> {
        Reproduction::new(vec![Experiment::named("poc")?.with(Some(2), Some(2))?], only, folder)
    }

    fn load(name: &str) -> std::result::Result<Dataset, String> {
        Dataset::built_in(name).map_err(|error| error.to_string())
    }

    #[derive(Default)]
    struct Counts {
        planned: usize,
        begun: Vec<u64>,
        ended: usize,
    }

    impl Observer for Counts {}

    impl ReproductionObserver for Counts {
        fn planned(&mut self, repeats: &[PlannedRepeat<'_>], _: &[String]) {
            self.planned = repeats.len();
            assert!(repeats.iter().all(|repeat| repeat.cost > 0));
        }

        fn begins(&mut self, repeat: &PlannedRepeat<'_>) {
            self.begun.push(repeat.seed);
        }

        fn ends(&mut self, _: &PlannedRepeat<'_>, _: &Record) {
            self.ended += 1;
        }
    }

    #[test]
    fn only_what_has_no_record_is_run_the_first_repeats_first() {
        let folder = tempfile::tempdir().unwrap();
        let part = reproduction(folder.path(), &["leaders", "gcn"]).unwrap();
        let plan = part.plan().unwrap();
        assert_eq!((plan.repeats().len(), plan.num_open_cells(), plan.num_cells), (2, 1, 1));
        assert!(part.run(&plan, "0", load, &mut Silent).unwrap().failed.is_empty());
        let whole = reproduction(folder.path(), &["leaders"]).unwrap();
        let plan = whole.plan().unwrap();
        assert_eq!(plan.num_open_cells() + 1, plan.num_cells);
        assert_eq!(plan.by_dataset(), BTreeMap::from([("leaders", plan.repeats().len())]));
        let mut counts = Counts::default();
        let reproduced = whole.run(&plan, "0", load, &mut counts).unwrap();
        assert_eq!((reproduced.failed.len(), reproduced.elsewhere), (0, 0));
        assert_eq!((counts.planned, counts.ended), (plan.repeats().len(), plan.repeats().len()));
        assert!(counts.begun.is_sorted() && counts.begun.len() == counts.planned, "{:?}", counts.begun);
        assert_eq!(whole.plan().unwrap().repeats().len(), 0);
        let tables = part.compared().unwrap();
        assert_eq!((tables.len(), tables[0].figures.iter().filter(|figure| figure.cell.is_some()).count()), (1, 1));
    }

    #[test]
    fn missing_data_and_unknown_names_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let error = reproduction(folder.path(), &["cora"]).unwrap_err().to_string();
        assert!(
            error.starts_with("`only` is cora, but not in the table. Datasets: ") && error.contains("leaders"),
            "{error}"
        );
        let part = reproduction(folder.path(), &["leaders", "gcn"]).unwrap();
        let reproduced = part.run(&part.plan().unwrap(), "0", |_| Err("not here".into()), &mut Silent).unwrap();
        assert_eq!(reproduced.failed, ["leaders: not here"]);
        assert_eq!(part.plan().unwrap().repeats().len(), 2);
    }
}
