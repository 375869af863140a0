//! `nigh report`: the tables of the paper with ours beside theirs, from the records alone.

use super::{check_place, print, reproduce, say};
use crate::cli::{Report, ReportFormat};
use anyhow::Result;
use nigh::experiment::{Figure, Judged, Published, Store, Summary};
use nigh::report::page::page;
use nigh::report::paper;
use nigh::{Error, atomic};
use serde_json::{Value, json};

pub fn run(options: &Report, quiet: bool) -> Result<()> {
    let tables = reproduce::tables(options.table.as_deref().unwrap_or("all"))?;
    if let Some(path) = &options.out {
        check_place(path)?;
    }
    let found = Store::new(&options.results).read()?;
    say(&found.notes, quiet);
    if found.is_empty() {
        let note = format!("{} has no records; `nigh reproduce` makes them", options.results.display());
        say(&[note], quiet);
    }
    let tables: Vec<Judged> =
        tables.into_iter().map(|table| Judged::new(table, &found, options.epochs, options.repeats)).collect();
    let report = if options.json {
        format!("{}\n", serde_json::to_string_pretty(&as_json(&tables))?)
    } else {
        match format(options) {
            ReportFormat::Text => text(&tables),
            ReportFormat::Markdown => paper::markdown_page(&tables),
            ReportFormat::Latex => tables.iter().map(paper::latex).collect::<Vec<_>>().join("\n"),
            ReportFormat::Csv => {
                paper::CSV_HEADER.to_string() + &tables.iter().map(paper::csv).collect::<Vec<_>>().concat()
            }
            ReportFormat::Html => page(&tables, &found),
        }
    };
    match &options.out {
        Some(path) => {
            atomic::write(path, report.as_bytes()).map_err(Error::io(path))?;
            say(&[format!("the report is in {}", path.display())], quiet);
            Ok(())
        }
        None => print(&report),
    }
}

fn format(options: &Report) -> ReportFormat {
    let by_name = || {
        let extension = options.out.as_ref()?.extension()?.to_str()?.to_ascii_lowercase();
        Some(match extension.as_str() {
            "md" => ReportFormat::Markdown,
            "tex" => ReportFormat::Latex,
            "csv" => ReportFormat::Csv,
            "html" | "htm" => ReportFormat::Html,
            _ => return None,
        })
    };
    options.format.or_else(by_name).unwrap_or(ReportFormat::Text)
}

fn text(tables: &[Judged]) -> String {
    let mut text: String = tables.iter().map(|judged| paper::text(judged) + "\n").collect();
    text += &paper::summary(tables).to_string();
    text
}

fn as_json(tables: &[Judged]) -> Value {
    let figures = |judged: &Judged| judged.figures.iter().map(|figure| figure_json(judged, figure)).collect::<Vec<_>>();
    json!({
        "summary": Summary::of(tables.iter().flat_map(|judged| &judged.figures)),
        "tables": tables.iter().map(|judged| {
            json!({
                "name": judged.table.name,
                "title": judged.table.title,
                "measure": judged.table.measure,
                "summary": Summary::of(&judged.figures),
                "figures": figures(judged),
            })
        }).collect::<Vec<_>>(),
    })
}

fn figure_json(judged: &Judged, figure: &Figure) -> Value {
    let (row, column) = (&judged.table.rows[figure.row], &judged.table.columns[figure.column]);
    let theirs = match figure.theirs {
        Some(Published::Figure { mean, std, .. }) => json!({ "mean": mean, "std": std }),
        Some(Published::OutOfMemory) => json!("out of memory"),
        None => Value::Null,
    };
    json!({
        "table": judged.table.name,
        "row": row.label,
        "model": row.model,
        "column": column.label,
        "dataset": column.dataset,
        "task": figure.cell.config.task,
        "ours": figure.ours,
        "theirs": theirs,
        "verdict": figure.verdict,
        "why": figure.ours.is_none().then(|| judged.why(figure)),
    })
}
