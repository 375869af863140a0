//! Tables: a file holds the settings to run and the figures that the paper printed.

use crate::cell::{Cell, check};
use nigh::{Auto, Config, Error, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Names and files of tables.
macro_rules! tables {
    ($($name:literal)+) => { &[$(($name, include_str!(concat!("../experiments/", $name, ".toml")))),+] };
}

/// The tables of the paper, in its order.
const TABLES: &[(&str, &str)] = tables! {
    "poc"
    "link-prediction"
    "ppa"
    "node-classification"
    "pairwise-node-classification"
    "graph-reconstruction"
    "ablation-link"
    "ablation-signal"
    "runtime"
    "one-hot"
    "link-prediction-citation"
    "ablation-node"
    "ablation-pairwise"
    "position-encoding"
};

/// Tables beyond the paper: our models next to values that others published.
const BEYOND: &[(&str, &str)] = tables! {
    "beyond-links"
    "beyond-unattributed"
    "beyond-classes"
    "beyond-heart"
    "beyond-paper"
    "beyond-ablation"
};

/// One table: models in rows, data in columns, and what the paper printed.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// Its name.
    pub name: String,
    /// What a user types to name it: the name, or the path of a file.
    pub typed_name: String,
    /// Its title.
    pub title: String,
    /// Where it is in the paper.
    pub place: String,
    /// What its figures measure, as text.
    pub measure: String,
    /// Whether its figures are metrics or times.
    pub kind: FigureKind,
    /// From left to right.
    pub columns: Vec<TableColumn>,
    /// From top to bottom.
    pub rows: Vec<TableRow>,
    /// Settings that replace the defaults of `Config`.
    settings: toml::Table,
    /// Replaces the number in the settings.
    pub(crate) epochs: Option<usize>,
    repeats: Option<usize>,
}

/// What the figures of a table measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FigureKind {
    /// The metric on the test part, in percent: higher is better.
    #[default]
    Metric,
    /// Milliseconds per epoch: lower is better.
    Time,
}

/// A column: a dataset.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableColumn {
    /// Name of the dataset.
    pub dataset: String,
    /// Its name in the paper.
    pub label: String,
    /// What its figures measure, where that differs from the table.
    pub measure: Option<String>,
    /// Why its figures may be missing.
    pub missing: Option<String>,
    /// The models to run in a column that the paper does not have; all if `None`.
    models: Option<Vec<String>>,
    #[serde(default)]
    settings: toml::Table,
}

/// A row: a model.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableRow {
    /// Its name in the paper.
    pub label: String,
    /// A model of the catalog, or `random`. A row without one is not run: it has figures that others printed, to compare
    /// ours with.
    pub model: Option<String>,
    /// The group of rows that it belongs to.
    pub group: Option<String>,
    /// The columns to run it in, by their labels; all if `None`.
    columns: Option<Vec<String>>,
    #[serde(default)]
    settings: toml::Table,
    #[serde(default)]
    published: BTreeMap<String, Published>,
}

/// What the paper printed.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub enum Published {
    /// A mean and usually a standard deviation, in the unit of the table.
    Figure {
        /// The mean.
        mean: f64,
        /// The standard deviation.
        std: Option<f64>,
        /// Digits after the decimal point.
        decimals: usize,
    },
    /// The model ran out of memory.
    OutOfMemory,
}

impl TryFrom<String> for Published {
    type Error = String;

    fn try_from(text: String) -> std::result::Result<Published, String> {
        if text == "out of memory" {
            return Ok(Published::OutOfMemory);
        }
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        let (mean, std) = text.split_once('±').map_or((text.as_str(), None), |(mean, std)| (mean, Some(std)));
        let wrong = || format!("`{text}`: expected `mean ± std`, a number, or `out of memory`");
        Ok(Published::Figure {
            mean: number(mean).ok_or_else(wrong)?,
            std: std.map(|std| number(std).filter(|std| *std >= 0.0).ok_or_else(wrong)).transpose()?,
            decimals: mean.trim().split_once('.').map_or(0, |(_, digits)| digits.len()),
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExperimentFile {
    title: String,
    #[serde(rename = "where")]
    place: String,
    measure: String,
    #[serde(default)]
    figure: FigureKind,
    #[serde(default)]
    settings: toml::Table,
    columns: Vec<TableColumn>,
    rows: Vec<TableRow>,
}

impl Experiment {
    /// The names of the paper's tables.
    pub fn names() -> Vec<&'static str> {
        TABLES.iter().map(|table| table.0).collect()
    }

    /// Every table of the paper.
    pub fn all() -> Vec<Experiment> {
        TABLES.iter().map(|(name, text)| Experiment::parse(name, text).expect("a table that ships is valid")).collect()
    }

    /// The names of the tables beyond the paper.
    pub fn names_beyond() -> Vec<&'static str> {
        BEYOND.iter().map(|table| table.0).collect()
    }

    /// Every table beyond the paper.
    pub fn all_beyond() -> Vec<Experiment> {
        BEYOND.iter().map(|(name, text)| Experiment::parse(name, text).expect("a table that ships is valid")).collect()
    }

    /// A table of the paper, or one beyond it.
    pub fn named(name: &str) -> Result<Experiment> {
        let mut tables = Experiment::all().into_iter().chain(Experiment::all_beyond());
        tables.find(|table| table.name == name).ok_or_else(|| {
            let known = [Experiment::names(), Experiment::names_beyond()].concat();
            Error::UnknownName {
                kind: "table",
                name: name.to_string(),
                known: known.into_iter().map(String::from).collect(),
            }
        })
    }

    /// The tables that a word names: `all` of the paper, those `beyond` it, a TOML file, or the name of one.
    pub fn tables(word: &str) -> Result<Vec<Experiment>> {
        Ok(match word {
            "all" => Experiment::all(),
            "beyond" => Experiment::all_beyond(),
            file if file.ends_with(".toml") => vec![Experiment::read(Path::new(file))?],
            name => vec![Experiment::named(name)?],
        })
    }

    /// Whether no row of ours has values of the paper. Rows that others published, if there are any, are then what ours are compared with.
    pub fn is_comparison(&self) -> bool {
        self.rows.iter().all(|row| row.model.is_none() || row.published.is_empty())
    }

    /// Whether others printed figures of it, which ours are compared with.
    pub fn has_printed_rows(&self) -> bool {
        self.rows.iter().any(|row| row.model.is_none())
    }

    /// A table from a TOML file, named after the file.
    pub fn read(path: &Path) -> Result<Experiment> {
        let text = nigh_formats::read_text(path)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let table = Experiment::parse(&name, &text).map_err(|problem| Error::file(path, problem))?;
        Ok(Experiment { typed_name: path.display().to_string(), ..table })
    }

    fn parse(name: &str, text: &str) -> std::result::Result<Experiment, String> {
        let file: ExperimentFile = toml::from_str(text).map_err(|error| error.to_string())?;
        let ExperimentFile { title, place, measure, figure, settings, columns, rows } = file;
        for row in &rows {
            if let Some(label) = row.published.keys().find(|label| columns.iter().all(|column| column.label != **label))
            {
                return Err(format!("row `{}` has a figure for `{label}`, which is not a column", row.label));
            }
            if row.model.is_none() && row.published.is_empty() {
                return Err(format!("row `{}` has neither a model nor published figures", row.label));
            }
            if row.model.is_none() && !row.settings.is_empty() {
                return Err(format!("row `{}` has settings but no model to run with them", row.label));
            }
            let Some(labels) = &row.columns else { continue };
            if let Some(label) = labels.iter().find(|label| columns.iter().all(|column| column.label != **label)) {
                return Err(format!("row `{}` is run in `{label}`, which is not a column", row.label));
            }
            if !row.published.is_empty() {
                return Err(format!(
                    "row `{}` has both `columns` and published figures; the figures say which columns it has",
                    row.label
                ));
            }
        }
        for column in &columns {
            let models = column.models.iter().flatten();
            if let Some(model) =
                models.into_iter().find(|model| rows.iter().all(|row| row.model.as_ref() != Some(*model)))
            {
                return Err(format!("column `{}` has a model `{model}`, which is not a row", column.label));
            }
            let is_printed = |row: &TableRow| row.model.is_some() && row.published.contains_key(&column.label);
            if column.models.is_some() && rows.iter().any(is_printed) {
                return Err(format!(
                    "column `{}` has both `models` and published figures; the figures say which models it has",
                    column.label
                ));
            }
        }
        let (name, typed_name) = (name.to_string(), name.to_string());
        let (kind, epochs, repeats) = (figure, None, None);
        let table =
            Experiment { name, typed_name, title, place, measure, kind, columns, rows, settings, epochs, repeats };
        for (row, column) in table.places().filter(|&(row, _)| table.rows[row].model.is_some()) {
            table.config(row, column).and_then(|config| check(&config)).map_err(|error| {
                format!("row `{}`, column `{}`: {error}", table.rows[row].label, table.columns[column].label)
            })?;
        }
        Ok(table)
    }

    /// The table with other numbers of epochs and repeats; `None` keeps those of the table.
    pub fn with(self, epochs: Option<usize>, repeats: Option<usize>) -> Result<Experiment> {
        let table = Experiment { epochs, repeats, ..self };
        let mut run = table.places().filter(|&(row, _)| table.rows[row].model.is_some());
        run.try_for_each(|(row, column)| check(&table.config(row, column)?))?;
        drop(run);
        Ok(table)
    }

    /// Row and column of every figure.
    pub fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        let in_rows = |row: usize| (0..self.columns.len()).map(move |column| (row, column));
        (0..self.rows.len())
            .flat_map(in_rows)
            .filter(|&(row, column)| self.published(row, column).is_some() || self.is_ours(row, column))
    }

    /// Whether a figure is measured in a row or column that the paper does not have.
    fn is_ours(&self, row: usize, column: usize) -> bool {
        let (row, column) = (&self.rows[row], &self.columns[column]);
        let Some(model) = &row.model else { return false };
        let is_printed = self.rows.iter().any(|row| row.published.contains_key(&column.label));
        (row.published.is_empty() || !is_printed)
            && column.models.as_ref().is_none_or(|models| models.contains(model))
            && row.columns.as_ref().is_none_or(|labels| labels.contains(&column.label))
    }

    /// What the paper printed at this place.
    pub fn published(&self, row: usize, column: usize) -> Option<Published> {
        self.rows[row].published.get(&self.columns[column].label).copied()
    }

    /// The cell at this place, if there is a figure that a model of ours gives.
    pub fn cell(&self, row: usize, column: usize) -> Option<Cell> {
        let is_run = self.rows.get(row)?.model.is_some() && self.places().any(|place| place == (row, column));
        is_run.then(|| Cell {
            dataset: self.columns[column].dataset.clone(),
            config: self.config(row, column).expect("settings that were checked"),
        })
    }

    fn config(&self, row: usize, column: usize) -> Result<Config> {
        let (row, column) = (&self.rows[row], &self.columns[column]);
        let mut settings = self.settings.clone();
        settings.extend(column.settings.clone());
        settings.extend(row.settings.clone());
        let model = row.model.clone().expect("a row that is run");
        settings.insert("model".into(), model.into());
        let config = Config::from_table(settings)?;
        let epochs = self.epochs.map_or(config.epochs, Auto::Is);
        // What others printed was trained for all epochs.
        let patience = Auto::Is(config.patience.unwrap_or(0));
        Ok(Config { epochs, patience, repeats: self.repeats.unwrap_or(config.repeats), ..config })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of each table as it was printed: figures, the sum of their means, the sum of their deviations, and how often
    /// memory ran out.
    const TOTALS: [(&str, usize, f64, f64, usize); 14] = [
        ("poc", 18, 739.7, 37.0, 0),
        ("link-prediction", 35, 2755.8, 79.2, 1),
        ("ppa", 7, 157.64, 7.79, 1),
        ("node-classification", 28, 1933.4, 38.4, 2),
        ("pairwise-node-classification", 40, 3445.1, 49.7, 2),
        ("graph-reconstruction", 52, 4075.3, 55.2, 2),
        ("ablation-link", 35, 2677.9, 66.35, 0),
        ("ablation-signal", 24, 2020.6, 40.3, 0),
        ("runtime", 53, 41280.0, 0.0, 1),
        ("one-hot", 41, 3615.8, 53.0, 3),
        ("link-prediction-citation", 26, 2268.9, 27.4, 1),
        ("ablation-node", 24, 1973.9, 30.7, 0),
        ("ablation-pairwise", 35, 3167.5, 64.4, 0),
        ("position-encoding", 27, 2303.7, 39.7, 0),
    ];

    #[test]
    fn the_tables_carry_all_that_the_paper_printed() {
        let mut all = 0;
        for (name, count, means, stds, without_memory) in TOTALS {
            let table = Experiment::named(name).unwrap();
            let printed: Vec<Published> =
                table.places().filter_map(|(row, column)| table.published(row, column)).collect();
            let figures: Vec<(f64, f64)> = printed
                .iter()
                .filter_map(|printed| match printed {
                    Published::Figure { mean, std, .. } => Some((*mean, std.unwrap_or(0.0))),
                    Published::OutOfMemory => None,
                })
                .collect();
            let sum = |of: fn(&(f64, f64)) -> f64| (figures.iter().map(of).sum::<f64>() * 100.0).round() / 100.0;
            let found = (name, figures.len(), sum(|f| f.0), sum(|f| f.1), printed.len() - figures.len());
            assert_eq!(found, (name, count, means, stds, without_memory));
            all += printed.len();
        }
        assert_eq!((all, Experiment::all().len()), (458, TOTALS.len()));
    }

    #[test]
    fn tables_beyond_the_paper_print_what_others_reached_and_run_our_models() {
        for table in Experiment::all_beyond() {
            let name = &table.name;
            assert!(table.is_comparison(), "{name}");
            for (at, row) in table.rows.iter().enumerate() {
                let figures = table.places().filter(|place| place.0 == at).count();
                assert!(figures > 0, "{name}: {}", row.label);
                // Either ours, then nothing was printed; or printed, then nothing is run.
                assert_eq!(row.model.is_none(), !row.published.is_empty(), "{name}: {}", row.label);
                assert!((0..table.columns.len()).all(|column| row.model.is_some() || table.cell(at, column).is_none()));
            }
            for column in 0..table.columns.len() {
                assert!((0..table.rows.len()).any(|row| table.cell(row, column).is_some()), "{name}");
                let is_printed = (0..table.rows.len()).any(|row| table.published(row, column).is_some());
                assert_eq!(is_printed, table.has_printed_rows(), "{name}");
            }
            assert_eq!(Experiment::named(name).unwrap().title, table.title);
            assert!(!Experiment::names().contains(&name.as_str()));
        }
    }

    #[test]
    fn cells_with_the_same_settings_have_the_same_address() {
        let cell =
            |table: &str, row: usize, column: usize| Experiment::named(table).unwrap().cell(row, column).unwrap();
        // SMP-Linear on Grid: link prediction, its ablation, E fixed, one-hot ids, position encoding.
        let same = [("link-prediction", 5), ("ablation-link", 1), ("ablation-signal", 2), ("position-encoding", 2)];
        let addresses = same.map(|(table, row)| cell(table, row, 0).address());
        assert!(addresses.iter().all(|address| *address == addresses[0]), "{addresses:?}");
        let other = ["link-prediction", "graph-reconstruction", "runtime"].map(|table| cell(table, 5, 0).address());
        assert!(other[0] != other[1] && other[0] != other[2]);
        // Epochs make another cell, repeats do not.
        let address = |epochs, repeats| {
            let table = Experiment::named("link-prediction").unwrap().with(epochs, repeats).unwrap();
            table.cell(5, 0).unwrap().address()
        };
        assert_ne!(address(Some(7), None), addresses[0]);
        assert_eq!(address(None, Some(7)), addresses[0]);
        assert_eq!(addresses[0]["dataset"], "grid");
        let wrong = |epochs, repeats| Experiment::named("poc").unwrap().with(epochs, repeats).unwrap_err().to_string();
        assert!(wrong(Some(0), None).contains("epochs") && wrong(None, Some(usize::MAX)).contains("repeats"));
        // Resampled is the default for several graphs.
        let email = |row: usize| cell("ablation-signal", row, 4).address();
        assert_eq!(email(3), cell("link-prediction", 5, 2).address());
        assert_ne!(email(2), email(3));
        // What a model does without is part of the address, and nothing is the default.
        let ablation = |row: usize| cell("beyond-ablation", row, 0).address();
        assert_eq!(ablation(0), cell("beyond-links", 8, 0).address());
        assert!(!ablation(0).contains_key("without"));
        assert_eq!(ablation(1)["without"], "walks");
    }

    #[test]
    fn errors_in_a_file_name_the_place() {
        let wrong = |text: &str, says: &str| {
            let problem = Experiment::parse("mine", text).unwrap_err();
            assert!(problem.contains(says), "{problem}");
        };
        let head = "title = \"a\"\nwhere = \"b\"\nmeasure = \"c\"\n";
        let column = "[[columns]]\ndataset = \"grid\"\nlabel = \"Grid\"\n";
        wrong("title = \"a\"", "where");
        wrong(&format!("{head}figures = 1\ncolumns = []\nrows = []"), "figures");
        let row = |model: &str, published: &str| {
            format!("{head}{column}[[rows]]\nlabel = \"x\"\nmodel = \"{model}\"\npublished = {{ {published} }}\n")
        };
        wrong(&row("gnc", ""), "gnc");
        wrong(&row("gcn", "Grid = \"9 +- 1\""), "mean ± std");
        wrong(&row("gcn", "Grid = \"9 ± -1\""), "mean ± std");
        wrong(&(row("gcn", "") + "settings = { repeats = \"x\" }\n"), "`repeats = \"x\"`: invalid type");
        wrong(&row("gcn", "Gird = \"9 ± 1\""), "Gird");
        wrong(&(row("gcn", "") + "settings = { epochs = 0 }\n"), "epochs");
        wrong(&row("random", ""), "classes of nodes");
        let models = |models: &str, published: &str| {
            row("gcn", published).replace("label = \"Grid\"\n", &format!("label = \"Grid\"\nmodels = {models}\n"))
        };
        wrong(&models("[\"sgc\"]", ""), "sgc");
        wrong(&models("[\"gcn\"]", "Grid = \"9 ± 1\""), "both `models` and published");
        assert_eq!(Experiment::parse("mine", &models("[]", "")).unwrap().places().count(), 0);
        let printed = |rest: &str| format!("{head}{column}[[rows]]\nlabel = \"x\"\n{rest}");
        wrong(&printed(""), "neither a model nor published");
        wrong(&printed("published = { Grid = \"9\" }\nsettings = { hops = 3 }\n"), "settings but no model");
        wrong(&(row("gcn", "") + "columns = [\"Gird\"]\n"), "run in `Gird`, which is not a column");
        wrong(&(row("gcn", "Grid = \"9\"") + "columns = [\"Grid\"]\n"), "both `columns` and published");
        assert_eq!(Experiment::parse("mine", &(row("gcn", "") + "columns = []\n")).unwrap().places().count(), 0);
        // Rows with and without published figures may share a table.
        let two = row("gcn", "Grid = \"9 ± 1\"") + "[[rows]]\nlabel = \"y\"\nmodel = \"sgc\"\n";
        assert_eq!(Experiment::parse("mine", &two).unwrap().places().count(), 2);
    }
}
