//! Measured figures compared with published ones.

use super::{Cell, Experiment, FigureKind, Published, RecordSet};
use crate::train::mean_and_std;
use serde::Serialize;

/// How a measured figure compares with the published one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// `|measured - published| <= 2 sqrt(s1² + s2²) + 0.5`.
    Reproduced,
    /// Better by more than that; or measured where the paper ran out of memory.
    Better,
    /// Worse by more than that.
    Short,
    /// There is no record.
    NotRun,
    /// The paper printed no figure.
    Unpublished,
}

/// A measured figure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Measured {
    /// In the unit of the table.
    pub mean: f64,
    /// Population standard deviation over repeats.
    pub std: f64,
    /// Number of repeats.
    pub repeats: usize,
    /// Mean time per epoch.
    pub millis_per_epoch: f64,
    /// Peak memory of a repeat: the least over the repeats, since a process may hold more than it needs.
    pub peak_bytes: Option<u64>,
}

/// One figure of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Its row.
    pub row: usize,
    /// Its column.
    pub column: usize,
    /// What it is measured from.
    pub cell: Cell,
    /// The measured figure, if there are records.
    pub measured: Option<Measured>,
    /// The published figure, if there is one.
    pub published: Option<Published>,
    /// The comparison.
    pub verdict: Verdict,
}

/// A table with the measured figures.
#[derive(Debug)]
pub struct ComparedTable {
    /// The table.
    pub table: Experiment,
    /// Row by row.
    pub figures: Vec<Figure>,
}

/// Number of figures with each verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct VerdictCounts {
    /// See `Verdict`.
    pub reproduced: usize,
    /// See `Verdict`.
    pub better: usize,
    /// See `Verdict`.
    pub short: usize,
    /// See `Verdict`.
    pub not_run: usize,
}

impl VerdictCounts {
    /// Counts these figures, without those that the paper did not print.
    pub fn of<'a>(figures: impl IntoIterator<Item = &'a Figure>) -> VerdictCounts {
        let mut summary = VerdictCounts::default();
        for figure in figures.into_iter().filter(|figure| figure.published.is_some()) {
            match figure.verdict {
                Verdict::Reproduced => summary.reproduced += 1,
                Verdict::Better => summary.better += 1,
                Verdict::Short => summary.short += 1,
                Verdict::NotRun => summary.not_run += 1,
                Verdict::Unpublished => (),
            }
        }
        summary
    }

    /// Number of figures.
    pub fn total(self) -> usize {
        self.reproduced + self.better + self.short + self.not_run
    }
}

impl ComparedTable {
    /// Compares a table with records.
    pub fn new(table: Experiment, records: &RecordSet) -> ComparedTable {
        let figures = table
            .places()
            .map(|(row, column)| {
                let cell = table.cell(row, column).expect("a figure at its place");
                let measured = measured(&cell, records, table.kind);
                let published = table.published(row, column);
                Figure { row, column, verdict: verdict(measured, published, table.kind), cell, measured, published }
            })
            .collect();
        ComparedTable { table, figures }
    }

    /// The figure at a place.
    pub fn at(&self, row: usize, column: usize) -> Option<&Figure> {
        self.figures.iter().find(|figure| (figure.row, figure.column) == (row, column))
    }

    /// What the figures of a column measure.
    pub fn measure(&self, column: usize) -> &str {
        self.table.columns[column].measure.as_ref().unwrap_or(&self.table.measure)
    }

    /// Why a figure was not run.
    pub fn why(&self, figure: &Figure) -> String {
        let (row, column) = (&self.table.rows[figure.row], &self.table.columns[figure.column]);
        let command = || format!("{} --only {},{}", self.command(), column.dataset, row.model);
        column.missing.clone().unwrap_or_else(|| format!("no record yet; `{}` writes it", command()))
    }

    /// The command that writes the records.
    fn command(&self) -> String {
        let epochs = self.table.epochs.map_or(String::new(), |epochs| format!(" --epochs {epochs}"));
        format!("nigh reproduce {}{epochs}", self.table.typed_name)
    }

    /// The reasons why figures were not run, without repetition.
    pub fn reasons(&self) -> Vec<String> {
        let missing = self.figures.iter().filter(|figure| figure.measured.is_none());
        let (known, open): (Vec<&Figure>, Vec<&Figure>) =
            missing.partition(|figure| self.table.columns[figure.column].missing.is_some());
        let mut reasons: Vec<String> = Vec::new();
        for figure in known {
            let (column, why) = (&self.table.columns[figure.column].label, self.why(figure));
            let reason = format!("{column} was not run: {why}");
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        if !open.is_empty() {
            let many =
                if open.len() == 1 { "1 figure has".to_string() } else { format!("{} figures have", open.len()) };
            reasons.push(format!("{many} no record yet; `{}` writes them", self.command()));
        }
        reasons
    }

    /// The best and the second best value in a column, among the rows of the same group.
    pub fn best_two(&self, row: usize, column: usize, value: impl Fn(&Figure) -> Option<f64>) -> [Option<f64>; 2] {
        let group = &self.table.rows[row].group;
        let group_figures =
            self.figures.iter().filter(|figure| figure.column == column && self.table.rows[figure.row].group == *group);
        let mut values: Vec<f64> = group_figures.filter_map(value).collect();
        values.sort_by(|a, b| if self.table.kind == FigureKind::Time { a.total_cmp(b) } else { b.total_cmp(a) });
        values.dedup();
        [values.first().copied(), values.get(1).copied()]
    }
}

fn measured(cell: &Cell, records: &RecordSet, kind: FigureKind) -> Option<Measured> {
    let records: Vec<_> = records.of(cell).collect();
    if records.is_empty() {
        return None;
    }
    let values: Vec<f64> = records
        .iter()
        .map(|record| match kind {
            FigureKind::Metric => 100.0 * record.test,
            FigureKind::Time => record.millis_per_epoch,
        })
        .collect();
    let (mean, std) = mean_and_std(&values);
    let millis: Vec<f64> = records.iter().map(|record| record.millis_per_epoch).collect();
    Some(Measured {
        mean,
        std,
        repeats: records.len(),
        millis_per_epoch: mean_and_std(&millis).0,
        peak_bytes: records.iter().filter_map(|record| record.peak_bytes).min(),
    })
}

/// Applies the rule of [`Verdict`], in the unit of the table.
fn verdict(measured: Option<Measured>, published: Option<Published>, kind: FigureKind) -> Verdict {
    const SLACK: f64 = 0.5;
    match (measured, published) {
        (None, _) => Verdict::NotRun,
        (Some(_), None) => Verdict::Unpublished,
        (Some(_), Some(Published::OutOfMemory)) => Verdict::Better,
        (Some(measured), Some(Published::Figure { mean, std, .. })) => {
            let ahead = if kind == FigureKind::Time { mean - measured.mean } else { measured.mean - mean };
            if ahead.abs() <= 2.0 * measured.std.hypot(std.unwrap_or(0.0)) + SLACK {
                Verdict::Reproduced
            } else if ahead > 0.0 {
                Verdict::Better
            } else {
                Verdict::Short
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_records_every_figure_is_not_run() {
        let none = RecordSet::default();
        let tables: Vec<ComparedTable> =
            Experiment::all().into_iter().map(|table| ComparedTable::new(table, &none)).collect();
        let summary = VerdictCounts::of(tables.iter().flat_map(|compared| &compared.figures));
        assert_eq!(summary, VerdictCounts { not_run: 458, ..VerdictCounts::default() });
    }

    #[test]
    fn a_figure_is_reproduced_within_two_deviations_and_half_a_point() {
        let measured =
            |mean: f64, std: f64| Some(Measured { mean, std, repeats: 5, millis_per_epoch: 0.0, peak_bytes: None });
        let published = |mean: f64, std: Option<f64>| Some(Published::Figure { mean, std, decimals: 1 });
        let compare = |a, b| verdict(a, b, FigureKind::Metric);
        // 2 sqrt(0.3² + 0.4²) + 0.5 = 1.5.
        assert_eq!(compare(measured(91.5, 0.3), published(90.0, Some(0.4))), Verdict::Reproduced);
        assert_eq!(compare(measured(88.5, 0.3), published(90.0, Some(0.4))), Verdict::Reproduced);
        assert_eq!(compare(measured(91.51, 0.3), published(90.0, Some(0.4))), Verdict::Better);
        assert_eq!(compare(measured(88.49, 0.3), published(90.0, Some(0.4))), Verdict::Short);
        assert_eq!(compare(measured(50.5, 0.0), published(50.0, None)), Verdict::Reproduced);
        assert_eq!(compare(measured(1.0, 0.0), Some(Published::OutOfMemory)), Verdict::Better);
        assert_eq!(compare(None, Some(Published::OutOfMemory)), Verdict::NotRun);
        assert_eq!(compare(measured(1.0, 0.0), None), Verdict::Unpublished);
        // For times, lower is better.
        assert_eq!(verdict(measured(3.0, 0.1), published(25.0, None), FigureKind::Time), Verdict::Better);
        assert_eq!(verdict(measured(30.0, 0.1), published(25.0, None), FigureKind::Time), Verdict::Short);
    }
}
