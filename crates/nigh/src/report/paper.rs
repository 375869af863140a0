//! Tables of the paper with ours beside theirs: for the terminal, as Markdown, LaTeX and csv.

use super::table::Table;
use crate::dataset::csv_field;
use crate::experiment::{Figure, Judged, Kind, Ours, Published, Summary, Verdict};
use std::fmt::Write;

/// The sign of a verdict.
pub fn sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "=",
        Verdict::Better => "+",
        Verdict::Short => "-",
        Verdict::NotRun => "",
        Verdict::Unpublished => "",
    }
}

/// What the signs mean.
pub const LEGEND: &str = "= reproduced, + better, - short, (n) fewer repeats than asked for";

/// `mean ± std`, with the paper's decimals.
pub fn ours(judged: &Judged, figure: &Figure) -> String {
    let Some(Ours { mean, std, repeats, .. }) = figure.ours else { return String::new() };
    let decimals = match figure.theirs {
        Some(Published::Figure { decimals, .. }) => decimals.max(1),
        _ if figure.cell.config.metric.to_string().starts_with("hits") => 2,
        _ => 1,
    };
    let fewer = if repeats < figure.cell.config.repeats { format!(" ({repeats})") } else { String::new() };
    match judged.table.kind {
        Kind::Metric => format!("{mean:.decimals$} ± {std:.decimals$}{fewer}"),
        Kind::Time => format!("{}{fewer}", millis(mean)),
    }
}

/// Three digits, whatever the size.
fn millis(value: f64) -> String {
    if value < 10.0 {
        format!("{value:.2}")
    } else if value < 100.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

/// As the paper printed it.
pub fn theirs(figure: &Figure) -> String {
    match figure.theirs {
        None => String::new(),
        Some(Published::OutOfMemory) => "OOM".to_string(),
        Some(Published::Figure { mean, std: None, decimals }) => format!("{mean:.decimals$}"),
        Some(Published::Figure { mean, std: Some(std), decimals }) => format!("{mean:.decimals$} ± {std:.decimals$}"),
    }
}

/// Whether a figure is the best of its column, or the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Honour {
    /// Bold.
    Best,
    /// Underlined.
    Second,
    /// Neither.
    None,
}

/// The honours of ours and of theirs at a place.
pub fn honours(judged: &Judged, figure: &Figure) -> [Honour; 2] {
    // As they are printed: what looks the same is the same.
    let mine = |figure: &Figure| figure.ours.map(|ours| (ours.mean * 100.0).round() / 100.0);
    let published = |figure: &Figure| match figure.theirs {
        Some(Published::Figure { mean, .. }) => Some(mean),
        _ => None,
    };
    let of = |value: &dyn Fn(&Figure) -> Option<f64>| {
        let [best, second] = judged.places_of_honour(figure.row, figure.column, value);
        match value(figure) {
            Some(value) if Some(value) == best => Honour::Best,
            Some(value) if Some(value) == second => Honour::Second,
            _ => Honour::None,
        }
    };
    [of(&mine), of(&published)]
}

/// Those columns that have a figure in the rows, and rows that have a figure in the columns.
fn shape(judged: &Judged) -> (Vec<usize>, Vec<usize>) {
    let rows = (0..judged.table.rows.len()).filter(|&row| judged.figures.iter().any(|figure| figure.row == row));
    let columns =
        (0..judged.table.columns.len()).filter(|&column| judged.figures.iter().any(|figure| figure.column == column));
    (rows.collect(), columns.collect())
}

fn name(judged: &Judged, row: usize) -> String {
    let row = &judged.table.rows[row];
    match &row.group {
        Some(group) => format!("{}: {}", group, row.label),
        None => row.label.clone(),
    }
}

/// Where in the paper, and what the figures are.
pub fn about(judged: &Judged) -> String {
    let place = &judged.table.place;
    let (first, rest) = place.split_at(place.chars().next().map_or(0, char::len_utf8));
    format!("{}{rest}: {}.", first.to_uppercase(), judged.table.measure)
}

/// For the terminal.
pub fn text(judged: &Judged) -> String {
    let (rows, columns) = shape(judged);
    let mut heading = vec![judged.table.measure.clone()];
    heading
        .extend(columns.iter().flat_map(|&column| [judged.table.columns[column].label.clone(), "paper".to_string()]));
    let mut table = Table::new(&heading);
    for row in rows {
        let mut cells = vec![name(judged, row)];
        for &column in &columns {
            cells.extend(match judged.at(row, column) {
                Some(figure) => {
                    let ours = if figure.ours.is_some() { ours(judged, figure) } else { "not run".to_string() };
                    [format!("{ours} {:1}", sign(figure.verdict)), theirs(figure)]
                }
                None => [String::new(), String::new()],
            });
        }
        table.row(&cells);
    }
    format!("{} ({})\n\n{table}\n{LEGEND}\n", judged.table.title, judged.table.place)
}

/// For a page: the best bold, the second underlined, as in the paper.
pub fn markdown(judged: &Judged) -> String {
    let (rows, columns) = shape(judged);
    let mut text = format!("## {}\n\n{}\n\n|", judged.table.title, about(judged));
    let columns_of = |text: &mut String, cells: [&str; 2]| write!(text, " {} | {} |", cells[0], cells[1]);
    let written = "memory can be written";
    text += " |";
    columns
        .iter()
        .for_each(|&column| columns_of(&mut text, [&judged.table.columns[column].label, "paper"]).expect(written));
    text += "\n|---|";
    columns.iter().for_each(|_| text += "--:|--:|");
    let dressed = |text: String, honour: Honour| match honour {
        Honour::Best if !text.is_empty() => format!("**{text}**"),
        Honour::Second if !text.is_empty() => format!("<u>{text}</u>"),
        _ => text,
    };
    for row in rows {
        write!(text, "\n| {} |", name(judged, row).replace('_', "\\_")).expect(written);
        for &column in &columns {
            let Some(figure) = judged.at(row, column) else {
                text += " | |";
                continue;
            };
            let [mine, published] = honours(judged, figure);
            let ours = match figure.ours {
                Some(_) => format!("{} {}", dressed(ours(judged, figure), mine), sign(figure.verdict)),
                None => "not run".to_string(),
            };
            columns_of(&mut text, [ours.trim_end(), &dressed(theirs(figure), published)]).expect(written);
        }
    }
    text += "\n";
    judged.reasons().iter().for_each(|reason| writeln!(text, "\n{reason}.").expect(written));
    text
}

/// All tables on a page, below their summary.
pub fn markdown_page(tables: &[Judged]) -> String {
    let legend = format!("{LEGEND}; best **bold**, second <u>underlined</u>.");
    let summary = summary(tables).markdown();
    let tables: Vec<String> = tables.iter().map(markdown).collect();
    format!("# The paper's tables, ours beside theirs\n\n{summary}\n{legend}\n\n{}", tables.join("\n"))
}

/// How many figures of each table were reproduced.
pub fn summary(tables: &[Judged]) -> Table {
    let mut table = Table::new(&["table", "reproduced", "better", "short", "not run", "of"]);
    let mut line = |name: &str, summary: Summary| {
        let Summary { reproduced, better, short, not_run } = summary;
        let counts = [reproduced, better, short, not_run, summary.total()].map(|count| count.to_string());
        table.row(&[&[name.to_string()], &counts[..]].concat());
    };
    tables.iter().for_each(|judged| line(&judged.table.name, Summary::of(&judged.figures)));
    if tables.len() > 1 {
        line("all", Summary::of(tables.iter().flat_map(|judged| &judged.figures)));
    }
    table
}

/// For a paper: a `tabular` with ours above theirs.
pub fn latex(judged: &Judged) -> String {
    let (rows, columns) = shape(judged);
    let escaped = |text: &str| {
        let text = text.replace('\\', "\\textbackslash ").replace('_', "\\_").replace('%', "\\%").replace('&', "\\&");
        text.replace('±', "$\\pm$")
    };
    let dressed = |text: String, honour: Honour| match honour {
        Honour::Best if !text.is_empty() => format!("\\textbf{{{}}}", escaped(&text)),
        Honour::Second if !text.is_empty() => format!("\\underline{{{}}}", escaped(&text)),
        _ => escaped(&text),
    };
    let labels: Vec<String> = columns.iter().map(|&column| escaped(&judged.table.columns[column].label)).collect();
    let mut text = format!(
        "% {}, {}: {}\n\\begin{{tabular}}{{ll{}}}\n\\hline\n & & {} \\\\\n\\hline\n",
        judged.table.title,
        judged.table.place,
        judged.table.measure,
        "r".repeat(columns.len()),
        labels.join(" & "),
    );
    for row in rows {
        for (who, at) in [("ours", 0), ("paper", 1)] {
            let cells = columns.iter().map(|&column| match judged.at(row, column) {
                None => String::new(),
                Some(figure) => {
                    let value = if at == 0 { ours(judged, figure) } else { theirs(figure) };
                    let sign = if at == 0 { format!(" ${}$", sign(figure.verdict)) } else { String::new() };
                    let value = dressed(value, honours(judged, figure)[at]);
                    if value.is_empty() { "---".to_string() } else { value + &sign.replace(" $$", "") }
                }
            });
            let label = if at == 0 { escaped(&name(judged, row)) } else { String::new() };
            let cells: Vec<String> = cells.collect();
            writeln!(text, "{label} & {who} & {} \\\\", cells.join(" & ")).expect("memory can be written");
        }
    }
    text + "\\hline\n\\end{tabular}\n"
}

/// The columns of `csv`.
pub const CSV_HEADER: &str = "table,task,model,signal,dataset,label,ours_mean,ours_std,repeats,paper_mean,paper_std,\
                              paper_note,verdict,millis_per_epoch,peak_bytes\n";

/// A line for each figure, below `CSV_HEADER`.
pub fn csv(judged: &Judged) -> String {
    let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    let mut text = String::new();
    for figure in &judged.figures {
        let (row, column) = (&judged.table.rows[figure.row], &judged.table.columns[figure.column]);
        let (mean, std, note) = match figure.theirs {
            Some(Published::Figure { mean, std, .. }) => (Some(mean), std, ""),
            Some(Published::OutOfMemory) => (None, None, "out of memory"),
            None => (None, None, ""),
        };
        let config = &figure.cell.config;
        let fields = [
            judged.table.name.clone(),
            config.task.to_string(),
            row.model.clone(),
            config.refresh.to_string(),
            column.dataset.clone(),
            csv_field(&column.label),
            number(figure.ours.map(|ours| ours.mean)),
            number(figure.ours.map(|ours| ours.std)),
            figure.ours.map_or(0, |ours| ours.repeats).to_string(),
            number(mean),
            number(std),
            note.to_string(),
            word(figure.verdict).to_string(),
            number(figure.ours.map(|ours| ours.millis_per_epoch)),
            figure.ours.and_then(|ours| ours.peak_bytes).map(|bytes| bytes.to_string()).unwrap_or_default(),
        ];
        text += &fields.join(",");
        text.push('\n');
    }
    text
}

/// A verdict in a word.
pub fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "reproduced",
        Verdict::Better => "better",
        Verdict::Short => "short",
        Verdict::NotRun => "not run",
        Verdict::Unpublished => "unpublished",
    }
}
