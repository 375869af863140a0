//! `nigh report`: the tables of the paper, measured beside published figures, from the records.

use super::{WrongUsage, check_writable, create_parents, is_styled, print_data, print_notes, print_page, reproduce};
use crate::cli::{Report, ReportFormat};
use anyhow::Result;
use nigh::Error;
use nigh::formats::atomic;
use nigh_paper::report::json::tables_json;
use nigh_paper::report::page::page;
use nigh_paper::report::paper;
use nigh_paper::{ComparedTable, Store};

pub fn run(options: &Report, quiet: bool) -> Result<()> {
    let tables = reproduce::tables(options.table.as_deref().unwrap_or("all"), options.epochs, options.repeats)?;
    let format = format(options)?;
    let formulas = options.formulas.of_csv(format == ReportFormat::Csv)?;
    if let Some(path) = &options.out {
        check_writable(path)?;
    }
    let records = Store::new(&options.results).read()?;
    print_notes(&records.notes, quiet);
    if records.is_empty() {
        let note = format!("{} has no records; `nigh reproduce` writes them", options.results.display());
        print_notes(&[note], quiet);
    }
    let tables: Vec<ComparedTable> = tables.into_iter().map(|table| ComparedTable::new(table, &records)).collect();
    let report = match format {
        ReportFormat::Text => text(&tables, options.out.is_none() && is_styled()),
        ReportFormat::Markdown => paper::markdown_page(&tables),
        ReportFormat::Latex => tables.iter().map(paper::latex).collect::<Vec<_>>().join("\n"),
        ReportFormat::Csv => {
            paper::CSV_HEADER.to_string()
                + &tables.iter().map(|table| paper::csv(table, formulas)).collect::<Vec<_>>().concat()
        }
        ReportFormat::Html => page(&tables, &records),
        ReportFormat::Json => format!("{}\n", serde_json::to_string_pretty(&tables_json(&tables))?),
    };
    match &options.out {
        Some(path) => {
            create_parents(path)?;
            atomic::write(path, report.as_bytes()).map_err(Error::io(path))?;
            print_notes(&[format!("the report is in {}", path.display())], quiet);
            Ok(())
        }
        None if format == ReportFormat::Text => print_page(&report),
        None => print_data(&report),
    }
}

/// The format of the options, or that of the file name.
fn format(options: &Report) -> Result<ReportFormat> {
    let chosen = options.format.or(options.json.then_some(ReportFormat::Json));
    let (None, Some(path)) = (chosen, &options.out) else { return Ok(chosen.unwrap_or(ReportFormat::Text)) };
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
            return Err(WrongUsage(format!("--out {}: unknown extension .{other}; {known}", path.display())).into());
        }
    })
}

fn text(tables: &[ComparedTable], is_styled: bool) -> String {
    let mut text: String = tables.iter().map(|compared| paper::text(compared, is_styled) + "\n").collect();
    text += &paper::summary(tables).to_string();
    text
}
