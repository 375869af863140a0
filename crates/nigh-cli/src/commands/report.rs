//! `nigh report`: the tables of the paper with ours beside theirs, from the records alone.

use super::{WrongUsage, check_place, is_dressed, make_room, print, print_notes, reproduce};
use crate::cli::{Report, ReportFormat};
use anyhow::Result;
use nigh::Error;
use nigh::experiment::{ComparedTable, Figure, Published, Store, Summary};
use nigh::formats::atomic;
use nigh::report::page::page;
use nigh::report::paper;
use serde_json::{Value, json};

pub fn run(options: &Report, quiet: bool) -> Result<()> {
    let tables = reproduce::tables(options.table.as_deref().unwrap_or("all"), options.epochs, options.repeats)?;
    let format = format(options)?;
    if let Some(path) = &options.out {
        check_place(path)?;
    }
    let found = Store::new(&options.results).read()?;
    print_notes(&found.notes, quiet);
    if found.is_empty() {
        let note = format!("{} has no records; `nigh reproduce` makes them", options.results.display());
        print_notes(&[note], quiet);
    }
    let tables: Vec<ComparedTable> = tables.into_iter().map(|table| ComparedTable::new(table, &found)).collect();
    let report = match format {
        ReportFormat::Text => text(&tables, options.out.is_none() && is_dressed()),
        ReportFormat::Markdown => paper::markdown_page(&tables),
        ReportFormat::Latex => tables.iter().map(paper::latex).collect::<Vec<_>>().join("\n"),
        ReportFormat::Csv => {
            paper::CSV_HEADER.to_string() + &tables.iter().map(paper::csv).collect::<Vec<_>>().concat()
        }
        ReportFormat::Html => page(&tables, &found),
        ReportFormat::Json => format!("{}\n", serde_json::to_string_pretty(&as_json(&tables))?),
    };
    match &options.out {
        Some(path) => {
            make_room(path)?;
            atomic::write(path, report.as_bytes()).map_err(Error::io(path))?;
            print_notes(&[format!("the report is in {}", path.display())], quiet);
            Ok(())
        }
        None => print(&report),
    }
}

/// As asked for, or as the name of the file says.
fn format(options: &Report) -> Result<ReportFormat> {
    let asked = options.format.or(options.json.then_some(ReportFormat::Json));
    let (None, Some(path)) = (asked, &options.out) else { return Ok(asked.unwrap_or(ReportFormat::Text)) };
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    Ok(match extension.as_deref() {
        None | Some("txt") => ReportFormat::Text,
        Some("md" | "markdown") => ReportFormat::Markdown,
        Some("tex") => ReportFormat::Latex,
        Some("csv") => ReportFormat::Csv,
        Some("html" | "htm") => ReportFormat::Html,
        Some("json") => ReportFormat::Json,
        Some(other) => {
            let known = "expected .txt, .md, .tex, .csv, .html or .json, or --format";
            return Err(WrongUsage(format!("--out {}: no report is called .{other}; {known}", path.display())).into());
        }
    })
}

fn text(tables: &[ComparedTable], is_dressed: bool) -> String {
    let mut text: String = tables.iter().map(|judged| paper::text(judged, is_dressed) + "\n").collect();
    text += &paper::summary(tables).to_string();
    text
}

fn as_json(tables: &[ComparedTable]) -> Value {
    let figures =
        |judged: &ComparedTable| judged.figures.iter().map(|figure| figure_json(judged, figure)).collect::<Vec<_>>();
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

fn figure_json(judged: &ComparedTable, figure: &Figure) -> Value {
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
        "measure": judged.measure(figure.column),
        "ours": figure.ours,
        "theirs": theirs,
        "verdict": figure.verdict,
        "why": figure.ours.is_none().then(|| judged.why(figure)),
    })
}
