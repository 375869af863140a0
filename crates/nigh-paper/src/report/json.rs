//! Tables for other programs.

use crate::experiment::Published;
use crate::verdict::{ComparedTable, ComparisonCounts, Figure, Verdict, VerdictCounts};
use serde_json::{Value, json};

/// Every figure of some tables, and how many are reproduced.
pub fn tables_json(tables: &[ComparedTable]) -> Value {
    let figures = |compared: &ComparedTable| {
        compared.figures.iter().map(|figure| figure_json(compared, figure)).collect::<Vec<_>>()
    };
    let summary = |figures: &mut dyn Iterator<Item = &Figure>| match tables.iter().any(|one| one.table.is_comparison())
    {
        true => json!(ComparisonCounts::of(figures)),
        false => json!(VerdictCounts::of(figures)),
    };
    json!({
        "summary": summary(&mut tables.iter().flat_map(|compared| &compared.figures)),
        "tables": tables.iter().map(|compared| {
            json!({
                "name": compared.table.name,
                "title": compared.table.title,
                "measure": compared.table.measure,
                "summary": summary(&mut compared.figures.iter()),
                "figures": figures(compared),
            })
        }).collect::<Vec<_>>(),
    })
}

fn figure_json(compared: &ComparedTable, figure: &Figure) -> Value {
    let (row, column) = (&compared.table.rows[figure.row], &compared.table.columns[figure.column]);
    let published = match figure.published {
        Some(Published::Figure { mean, std, .. }) => json!({ "mean": mean, "std": std }),
        Some(Published::OutOfMemory) => json!("out of memory"),
        None => Value::Null,
    };
    json!({
        "table": compared.table.name,
        "row": row.label,
        "model": row.model,
        "column": column.label,
        "dataset": column.dataset,
        "task": figure.cell.as_ref().map(|cell| cell.config.task),
        "measure": compared.measure(figure.column),
        "ours": figure.measured,
        "theirs": published,
        "verdict": figure.verdict,
        "why": (figure.verdict == Verdict::NotRun).then(|| compared.why(figure)),
    })
}
