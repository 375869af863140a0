//! Measured figures compared with published ones.

use crate::cell::Cell;
use crate::experiment::{Experiment, FigureKind, Published};
use crate::record::RecordSet;
use nigh::train::mean_and_std;
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
    /// Of our models in a table with printed rows: more than half a point ahead of the best printed figure of the column.
    Ahead,
    /// Within half a point of it.
    Level,
    /// More than half a point behind it.
    Behind,
    /// Printed by others and not a model of ours.
    Printed,
    /// There is no record.
    NotRun,
    /// The paper printed no figure.
    Unpublished,
}

/// Figures that differ by no more, in the unit of the table, are the same.
const SLACK: f64 = 0.5;

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
    /// What it is measured from; `None` in a row that others printed.
    pub cell: Option<Cell>,
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

/// Number of our figures with each verdict in tables that compare them with what others printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct ComparisonCounts {
    /// See `Verdict`.
    pub ahead: usize,
    /// See `Verdict`.
    pub level: usize,
    /// See `Verdict`.
    pub behind: usize,
    /// See `Verdict`.
    pub not_run: usize,
}

impl ComparisonCounts {
    /// Counts these figures, without those that others printed and those of columns in which nothing is printed.
    pub fn of<'a>(figures: impl IntoIterator<Item = &'a Figure>) -> ComparisonCounts {
        let mut counts = ComparisonCounts::default();
        for figure in figures {
            match figure.verdict {
                Verdict::Ahead => counts.ahead += 1,
                Verdict::Level => counts.level += 1,
                Verdict::Behind => counts.behind += 1,
                Verdict::NotRun if figure.published.is_none() => counts.not_run += 1,
                _ => (),
            }
        }
        counts
    }

    /// Number of figures.
    pub fn total(self) -> usize {
        self.ahead + self.level + self.behind + self.not_run
    }
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
                Verdict::Unpublished | Verdict::Printed | Verdict::Ahead | Verdict::Level | Verdict::Behind => (),
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
                let cell = table.cell(row, column);
                let measured = cell.as_ref().and_then(|cell| measured(cell, records, table.kind));
                let published = table.published(row, column);
                let verdict = match (&cell, published, best_printed(&table, column)) {
                    (None, ..) => Verdict::Printed,
                    (Some(_), None, Some(best)) => against(measured, best, table.kind),
                    _ => verdict(measured, published, table.kind),
                };
                Figure { row, column, verdict, cell, measured, published }
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
        let model = row.model.as_deref().unwrap_or_default();
        let command = || format!("{} --only {},{model}", self.command(), column.dataset);
        column.missing.clone().unwrap_or_else(|| format!("no record yet; `{}` writes it", command()))
    }

    /// The command that writes the records.
    fn command(&self) -> String {
        let epochs = self.table.epochs.map_or(String::new(), |epochs| format!(" --epochs {epochs}"));
        format!("nigh reproduce {}{epochs}", self.table.typed_name)
    }

    /// The reasons why figures were not run, without repetition.
    pub fn reasons(&self) -> Vec<String> {
        let missing = self.figures.iter().filter(|figure| figure.verdict == Verdict::NotRun);
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

/// The best figure of a column among the rows that others printed.
fn best_printed(table: &Experiment, column: usize) -> Option<f64> {
    let printed = table.rows.iter().enumerate().filter(|(_, row)| row.model.is_none());
    let means = printed.filter_map(|(row, _)| match table.published(row, column)? {
        Published::Figure { mean, .. } => Some(mean),
        Published::OutOfMemory => None,
    });
    means.max_by(|a, b| if table.kind == FigureKind::Time { b.total_cmp(a) } else { a.total_cmp(b) })
}

/// The verdict on a figure of ours against the best that others printed. Deviations over splits do not widen the margin: a
/// model that varies more is not closer.
fn against(measured: Option<Measured>, best: f64, kind: FigureKind) -> Verdict {
    let Some(Measured { mean, .. }) = measured else { return Verdict::NotRun };
    let ahead = if kind == FigureKind::Time { best - mean } else { mean - best };
    if ahead.abs() <= SLACK {
        Verdict::Level
    } else if ahead > 0.0 {
        Verdict::Ahead
    } else {
        Verdict::Behind
    }
}

/// Applies the rule of [`Verdict`], in the unit of the table.
fn verdict(measured: Option<Measured>, published: Option<Published>, kind: FigureKind) -> Verdict {
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
    fn ours_are_compared_with_the_best_printed_figure_and_printed_rows_count_as_nothing() {
        let mut tables: Vec<ComparedTable> = Experiment::all_beyond()
            .into_iter()
            .map(|table| ComparedTable::new(table, &RecordSet::default()))
            .collect();
        for ComparedTable { table, figures } in &tables {
            assert_eq!(VerdictCounts::of(figures), VerdictCounts::default(), "{}", table.name);
            let ours = figures.iter().filter(|figure| figure.cell.is_some()).count();
            assert_eq!(ComparisonCounts::of(figures).not_run, ours, "{}", table.name);
        }
        let links = tables.remove(0);
        let best = best_printed(&links.table, 0).unwrap();
        assert_eq!(best, 89.65, "NCNC's Hits@100 on Cora");
        let at = |mean| Some(Measured { mean, std: 9.0, repeats: 10, millis_per_epoch: 0.0, peak_bytes: None });
        let compare = |mean| against(at(mean), best, FigureKind::Metric);
        assert_eq!(
            [89.1, 89.2, 90.1, 90.2].map(compare),
            [Verdict::Behind, Verdict::Level, Verdict::Level, Verdict::Ahead]
        );
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
