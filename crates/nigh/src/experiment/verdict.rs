//! Ours beside theirs, and what to think of it.

use super::{Cell, Experiment, Kind, Published, RecordSet};
use crate::train::mean_and_std;
use serde::Serialize;

/// What is to be said of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// `|ours - theirs| <= 2 sqrt(s1² + s2²) + 0.5`.
    Reproduced,
    /// Beyond that, on the good side; or a figure where the paper ran out of memory.
    Better,
    /// Beyond that, on the bad side.
    Short,
    /// There is no record.
    NotRun,
    /// The paper printed none.
    Unpublished,
}

/// What we found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Measured {
    /// In the unit of the table.
    pub mean: f64,
    /// Population standard deviation over repeats.
    pub std: f64,
    /// How many there are.
    pub repeats: usize,
    /// Mean time per epoch.
    pub millis_per_epoch: f64,
    /// The memory that one of them took: the least of what was seen, as a process may hold more than it needs.
    pub peak_bytes: Option<u64>,
}

/// One figure of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Its row.
    pub row: usize,
    /// Its column.
    pub column: usize,
    /// What it comes from.
    pub cell: Cell,
    /// What we found, if we looked.
    pub ours: Option<Measured>,
    /// What the paper printed, if it did.
    pub theirs: Option<Published>,
    /// The comparison.
    pub verdict: Verdict,
}

/// A table with what was found.
#[derive(Debug)]
pub struct ComparedTable {
    /// The table.
    pub table: Experiment,
    /// Row by row.
    pub figures: Vec<Figure>,
}

/// How many figures of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Summary {
    /// See `Verdict`.
    pub reproduced: usize,
    /// See `Verdict`.
    pub better: usize,
    /// See `Verdict`.
    pub short: usize,
    /// See `Verdict`.
    pub not_run: usize,
}

impl Summary {
    /// Of these figures; those that the paper did not print are not counted.
    pub fn of<'a>(figures: impl IntoIterator<Item = &'a Figure>) -> Summary {
        let mut summary = Summary::default();
        for figure in figures.into_iter().filter(|figure| figure.theirs.is_some()) {
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

    /// All of them.
    pub fn total(self) -> usize {
        self.reproduced + self.better + self.short + self.not_run
    }
}

impl ComparedTable {
    /// From the records alone.
    pub fn new(table: Experiment, found: &RecordSet) -> ComparedTable {
        let figures = table
            .places()
            .map(|(row, column)| {
                let cell = table.cell(row, column).expect("a figure at its place");
                let ours = ours(&cell, found, table.kind);
                let theirs = table.published(row, column);
                Figure { row, column, verdict: verdict(ours, theirs, table.kind), cell, ours, theirs }
            })
            .collect();
        ComparedTable { table, figures }
    }

    /// The figure at a place.
    pub fn at(&self, row: usize, column: usize) -> Option<&Figure> {
        self.figures.iter().find(|figure| (figure.row, figure.column) == (row, column))
    }

    /// What the figures of a column are.
    pub fn measure(&self, column: usize) -> &str {
        self.table.columns[column].measure.as_ref().unwrap_or(&self.table.measure)
    }

    /// Why a figure was not run.
    pub fn why(&self, figure: &Figure) -> String {
        let (row, column) = (&self.table.rows[figure.row], &self.table.columns[figure.column]);
        let command = || format!("{} --only {},{}", self.command(), column.dataset, row.model);
        column.missing.clone().unwrap_or_else(|| format!("no record yet; `{}` makes one", command()))
    }

    /// What makes the records.
    fn command(&self) -> String {
        let epochs = self.table.epochs.map_or(String::new(), |epochs| format!(" --epochs {epochs}"));
        format!("nigh reproduce {}{epochs}", self.table.asked_as)
    }

    /// Why figures were not run, each reason once.
    pub fn reasons(&self) -> Vec<String> {
        let missing = self.figures.iter().filter(|figure| figure.ours.is_none());
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
            reasons.push(format!("{many} no record yet; `{}` makes them", self.command()));
        }
        reasons
    }

    /// The best and the second of a column, of ours or of theirs, among the rows of a group.
    pub fn places_of_honour(
        &self,
        row: usize,
        column: usize,
        value: impl Fn(&Figure) -> Option<f64>,
    ) -> [Option<f64>; 2] {
        let group = &self.table.rows[row].group;
        let rivals =
            self.figures.iter().filter(|figure| figure.column == column && self.table.rows[figure.row].group == *group);
        let mut values: Vec<f64> = rivals.filter_map(value).collect();
        values.sort_by(|a, b| if self.table.kind == Kind::Time { a.total_cmp(b) } else { b.total_cmp(a) });
        values.dedup();
        [values.first().copied(), values.get(1).copied()]
    }
}

fn ours(cell: &Cell, found: &RecordSet, kind: Kind) -> Option<Measured> {
    let records: Vec<_> = found.of(cell).collect();
    if records.is_empty() {
        return None;
    }
    let values: Vec<f64> = records
        .iter()
        .map(|record| match kind {
            Kind::Metric => 100.0 * record.test,
            Kind::Time => record.millis_per_epoch,
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

/// The rule, in the unit of the table.
fn verdict(ours: Option<Measured>, theirs: Option<Published>, kind: Kind) -> Verdict {
    const SLACK: f64 = 0.5;
    match (ours, theirs) {
        (None, _) => Verdict::NotRun,
        (Some(_), None) => Verdict::Unpublished,
        (Some(_), Some(Published::OutOfMemory)) => Verdict::Better,
        (Some(ours), Some(Published::Figure { mean, std, .. })) => {
            let ahead = if kind == Kind::Time { mean - ours.mean } else { ours.mean - mean };
            if ahead.abs() <= 2.0 * ours.std.hypot(std.unwrap_or(0.0)) + SLACK {
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
    fn without_records_nothing_was_run() {
        let none = RecordSet::default();
        let tables: Vec<ComparedTable> =
            Experiment::all().into_iter().map(|table| ComparedTable::new(table, &none)).collect();
        let summary = Summary::of(tables.iter().flat_map(|judged| &judged.figures));
        assert_eq!(summary, Summary { not_run: 458, ..Summary::default() });
    }

    #[test]
    fn a_figure_is_reproduced_within_two_deviations_and_half_a_point() {
        let ours =
            |mean: f64, std: f64| Some(Measured { mean, std, repeats: 5, millis_per_epoch: 0.0, peak_bytes: None });
        let theirs = |mean: f64, std: Option<f64>| Some(Published::Figure { mean, std, decimals: 1 });
        let judge = |a, b| verdict(a, b, Kind::Metric);
        // 2 sqrt(0.3² + 0.4²) + 0.5 = 1.5.
        assert_eq!(judge(ours(91.5, 0.3), theirs(90.0, Some(0.4))), Verdict::Reproduced);
        assert_eq!(judge(ours(88.5, 0.3), theirs(90.0, Some(0.4))), Verdict::Reproduced);
        assert_eq!(judge(ours(91.51, 0.3), theirs(90.0, Some(0.4))), Verdict::Better);
        assert_eq!(judge(ours(88.49, 0.3), theirs(90.0, Some(0.4))), Verdict::Short);
        assert_eq!(judge(ours(50.5, 0.0), theirs(50.0, None)), Verdict::Reproduced);
        assert_eq!(judge(ours(1.0, 0.0), Some(Published::OutOfMemory)), Verdict::Better);
        assert_eq!(judge(None, Some(Published::OutOfMemory)), Verdict::NotRun);
        assert_eq!(judge(ours(1.0, 0.0), None), Verdict::Unpublished);
        // Of milliseconds fewer are better.
        assert_eq!(verdict(ours(3.0, 0.1), theirs(25.0, None), Kind::Time), Verdict::Better);
        assert_eq!(verdict(ours(30.0, 0.1), theirs(25.0, None), Kind::Time), Verdict::Short);
    }
}
