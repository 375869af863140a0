//! Tables of the paper with ours beside theirs: for the terminal, as Markdown, LaTeX and csv.

use super::table::Table;
use crate::experiment::{ComparedTable, Experiment, Figure, Kind, Measured, Published, Summary, Verdict};
use crate::metric::Metric;
use crate::names::Auto;
use nigh_formats::text_table::csv_field;
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
pub fn ours(judged: &ComparedTable, figure: &Figure) -> String {
    let Some(Measured { std, repeats, .. }) = figure.ours else { return String::new() };
    let (mean, decimals) = (mean(judged, figure), decimals(figure));
    let fewer = if repeats < figure.cell.config.repeats { format!(" ({repeats})") } else { String::new() };
    match judged.table.kind {
        // One repeat knows of no deviation.
        Kind::Metric if repeats > 1 => format!("{mean} ± {std:.decimals$}{fewer}"),
        _ => format!("{mean}{fewer}"),
    }
}

/// Our mean as it is printed.
fn mean(judged: &ComparedTable, figure: &Figure) -> String {
    let (mean, decimals) = (figure.ours.map_or(f64::NAN, |ours| ours.mean), decimals(figure));
    match judged.table.kind {
        Kind::Metric => format!("{mean:.decimals$}"),
        Kind::Time => millis(mean),
    }
}

fn decimals(figure: &Figure) -> usize {
    match figure.theirs {
        Some(Published::Figure { decimals, .. }) => decimals.max(1),
        _ if matches!(figure.cell.config.metric, Auto::Is(Metric::HitsAt(_))) => 2,
        _ => 1,
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
pub enum Rank {
    /// Bold.
    Best,
    /// Underlined.
    Second,
    /// Neither.
    None,
}

/// The ranks of ours and of theirs at a place.
pub fn ranks(judged: &ComparedTable, figure: &Figure) -> [Rank; 2] {
    // As they are printed: what looks the same is the same.
    let mine = |figure: &Figure| figure.ours.and_then(|_| mean(judged, figure).parse().ok());
    let published = |figure: &Figure| match figure.theirs {
        Some(Published::Figure { mean, .. }) => Some(mean),
        _ => None,
    };
    let of = |value: &dyn Fn(&Figure) -> Option<f64>| {
        let [best, second] = judged.places_of_honour(figure.row, figure.column, value);
        match value(figure) {
            Some(value) if Some(value) == best => Rank::Best,
            Some(value) if Some(value) == second => Rank::Second,
            _ => Rank::None,
        }
    };
    [of(&mine), of(&published)]
}

/// Those columns that have a figure in the rows, and rows that have a figure in the columns.
fn shape(judged: &ComparedTable) -> (Vec<usize>, Vec<usize>) {
    let rows = (0..judged.table.rows.len()).filter(|&row| judged.figures.iter().any(|figure| figure.row == row));
    let columns =
        (0..judged.table.columns.len()).filter(|&column| judged.figures.iter().any(|figure| figure.column == column));
    (rows.collect(), columns.collect())
}

/// What is above a column.
fn heading(judged: &ComparedTable, column: usize) -> String {
    let column = &judged.table.columns[column];
    column.measure.as_ref().map_or(column.label.clone(), |measure| format!("{}, {measure}", column.label))
}

/// A row by its group and label.
pub fn name(judged: &ComparedTable, row: usize) -> String {
    let row = &judged.table.rows[row];
    match &row.group {
        Some(group) => format!("{}: {}", group, row.label),
        None => row.label.clone(),
    }
}

/// Where in the paper, and what the figures are.
pub fn about(judged: &ComparedTable) -> String {
    let place = &judged.table.place;
    let (first, rest) = place.split_at(place.chars().next().map_or(0, char::len_utf8));
    format!("{}{rest}: {}.", first.to_uppercase(), judged.table.measure)
}

/// For the terminal: the best bold and the second underlined if it can show that.
pub fn text(judged: &ComparedTable, is_dressed: bool) -> String {
    let (rows, columns) = shape(judged);
    let dressed = |text: String, rank: Rank| match rank {
        Rank::Best if is_dressed => format!("\x1b[1m{text}\x1b[0m"),
        Rank::Second if is_dressed => format!("\x1b[4m{text}\x1b[0m"),
        _ => text,
    };
    let mut headings = vec![judged.table.measure.clone()];
    headings.extend(columns.iter().flat_map(|&column| [heading(judged, column), "paper".to_string()]));
    let mut table = Table::new(&headings);
    for row in rows {
        let mut cells = vec![name(judged, row)];
        for &column in &columns {
            cells.extend(match judged.at(row, column) {
                Some(figure) => {
                    let ours = if figure.ours.is_some() { ours(judged, figure) } else { "not run".to_string() };
                    let [mine, published] = ranks(judged, figure);
                    [format!("{} {:1}", dressed(ours, mine), sign(figure.verdict)), dressed(theirs(figure), published)]
                }
                None => [String::new(), String::new()],
            });
        }
        table.row(&cells);
    }
    let reasons: String = judged.reasons().iter().map(|reason| format!("{reason}\n")).collect();
    format!("{} ({})\n\n{table}\n{LEGEND}\n{reasons}", judged.table.title, judged.table.place)
}

/// For a page: the best bold, the second underlined.
pub fn markdown(judged: &ComparedTable) -> String {
    let (rows, columns) = shape(judged);
    let escaped = |text: &str| {
        let special = |c: char| if "\\`*_<|".contains(c) { format!("\\{c}") } else { c.to_string() };
        one_line(&text.chars().map(special).collect::<String>())
    };
    let mut text = format!("## {}\n\n{}\n\n|", escaped(&judged.table.title), escaped(&about(judged)));
    let columns_of = |text: &mut String, cells: [&str; 2]| write!(text, " {} | {} |", cells[0], cells[1]);
    let written = "memory can be written";
    text += " |";
    columns
        .iter()
        .for_each(|&column| columns_of(&mut text, [&escaped(&heading(judged, column)), "paper"]).expect(written));
    text += "\n|---|";
    columns.iter().for_each(|_| text += "--:|--:|");
    let dressed = |text: String, rank: Rank| match rank {
        Rank::Best if !text.is_empty() => format!("**{text}**"),
        // The one way to underline that every reader of Markdown shows.
        Rank::Second if !text.is_empty() => format!("<ins>{text}</ins>"),
        _ => text,
    };
    for row in rows {
        write!(text, "\n| {} |", escaped(&name(judged, row))).expect(written);
        for &column in &columns {
            let Some(figure) = judged.at(row, column) else {
                text += " | |";
                continue;
            };
            let [mine, published] = ranks(judged, figure);
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

/// Without breaks, where a line ends what it is in.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// All tables on a page, below their summary.
pub fn markdown_page(tables: &[ComparedTable]) -> String {
    let legend = format!("{LEGEND}; best **bold**, second <ins>underlined</ins>.");
    let summary = summary(tables).markdown();
    let tables: Vec<String> = tables.iter().map(markdown).collect();
    format!("# The paper's tables, ours beside theirs\n\n{summary}\n{legend}\n\n{}", tables.join("\n"))
}

/// How many figures of each table were reproduced.
pub fn summary(tables: &[ComparedTable]) -> Table {
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
pub fn latex(judged: &ComparedTable) -> String {
    let (rows, columns) = shape(judged);
    let escaped = |text: &str| {
        let special = |c: char| match c {
            '\\' => "\\textbackslash{}".to_string(),
            '~' => "\\textasciitilde{}".to_string(),
            '^' => "\\textasciicircum{}".to_string(),
            '±' => "$\\pm$".to_string(),
            c if "#$%&_{}".contains(c) => format!("\\{c}"),
            c => c.to_string(),
        };
        one_line(&text.chars().map(special).collect::<String>())
    };
    let dressed = |text: String, rank: Rank| match rank {
        Rank::Best if !text.is_empty() => format!("\\textbf{{{}}}", escaped(&text)),
        Rank::Second if !text.is_empty() => format!("\\underline{{{}}}", escaped(&text)),
        _ => escaped(&text),
    };
    let labels: Vec<String> = columns.iter().map(|&column| escaped(&heading(judged, column))).collect();
    let reasons: String = judged.reasons().iter().map(|reason| format!("% {}\n", one_line(reason))).collect();
    let Experiment { title, place, measure, .. } = &judged.table;
    let mut text = format!(
        "% {}\n{reasons}\\begin{{tabular}}{{ll{}}}\n\\hline\n & & {} \\\\\n\\hline\n",
        one_line(&format!("{title}, {place}: {measure}")),
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
                    let value = dressed(value, ranks(judged, figure)[at]);
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
pub const CSV_HEADER: &str = "table,task,row,model,signal,column,dataset,measure,ours_mean,ours_std,repeats,\
                              paper_mean,paper_std,paper_note,verdict,why,millis_per_epoch,peak_bytes\n";

/// A line for each figure, below `CSV_HEADER`.
pub fn csv(judged: &ComparedTable) -> String {
    let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    let mut text = String::new();
    for figure in &judged.figures {
        let column = &judged.table.columns[figure.column];
        let (mean, std, note) = match figure.theirs {
            Some(Published::Figure { mean, std, .. }) => (Some(mean), std, ""),
            Some(Published::OutOfMemory) => (None, None, "out of memory"),
            None => (None, None, ""),
        };
        let config = &figure.cell.config;
        let fields = [
            judged.table.name.clone(),
            config.task.to_string(),
            name(judged, figure.row),
            config.model.clone(),
            config.refresh.to_string(),
            column.label.clone(),
            column.dataset.clone(),
            judged.measure(figure.column).to_string(),
            number(figure.ours.map(|ours| ours.mean)),
            number(figure.ours.map(|ours| ours.std)),
            figure.ours.map_or(0, |ours| ours.repeats).to_string(),
            number(mean),
            number(std),
            note.to_string(),
            word(figure.verdict).to_string(),
            if figure.ours.is_none() { judged.why(figure) } else { String::new() },
            number(figure.ours.map(|ours| ours.millis_per_epoch)),
            figure.ours.and_then(|ours| ours.peak_bytes).map(|bytes| bytes.to_string()).unwrap_or_default(),
        ];
        text += &fields.map(|field| csv_field(&field)).join(",");
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::RecordSet;

    /// A table of one column, read as a user's, with means that were not measured.
    fn judged(means: &[f64], about: &str) -> ComparedTable {
        let rows = means.iter().enumerate().map(|(at, _)| {
            format!(
                "[[rows]]\nlabel = \"r_{at}\"\nmodel = \"gcn\"\nsettings = {{ hops = {} }}\npublished = {{}}\n",
                at + 1
            )
        });
        let (folder, rows) = (tempfile::tempdir().unwrap(), rows.collect::<String>());
        let path = folder.path().join("my,own.toml");
        std::fs::write(&path, format!("title = \"T\"\nwhere = \"here\"\n{about}\nlabel = \"A|B\"\n{rows}")).unwrap();
        let table = Experiment::read(&path).unwrap().with(Some(7), None).unwrap();
        let mut judged = ComparedTable::new(table, &RecordSet::default());
        for (figure, &mean) in judged.figures.iter_mut().zip(means) {
            figure.ours = Some(Measured { mean, std: 0.5, repeats: 5, millis_per_epoch: 1.0, peak_bytes: None });
            figure.verdict = Verdict::Unpublished;
        }
        judged
    }

    const AUC: &str = "measure = \"AUC, %\"\n[[columns]]\ndataset = \"grid\"";

    #[test]
    fn what_is_printed_alike_is_honoured_alike() {
        let honours_of = |means: &[f64], about: &str| -> Vec<Rank> {
            let judged = judged(means, about);
            judged.figures.iter().map(|figure| ranks(&judged, figure)[0]).collect()
        };
        use Rank::{Best, None, Second};
        assert_eq!(honours_of(&[98.68, 98.72, 98.6, 97.0, 98.58], AUC), [Best, Best, Second, None, Second]);
        // Dressed or not, columns keep their width.
        let two = judged(&[98.68, 5.0], AUC);
        let (plain, dressed) = (text(&two, false), text(&two, true));
        assert!(
            dressed.contains("\x1b[1m98.7 ± 0.5\x1b[0m") && dressed.contains(" \x1b[4m5.0 ± 0.5\x1b[0m"),
            "{dressed}"
        );
        assert_eq!(dressed.replace("\x1b[1m", "").replace("\x1b[4m", "").replace("\x1b[0m", ""), plain);
        // Of times the least is the best.
        let time = format!("figure = \"time\"\n{AUC}");
        assert_eq!(honours_of(&[3.001, 3.004, 20.0, 19.96, 21.0], &time), [Best, Best, Second, Second, None]);
    }

    #[test]
    fn names_of_any_kind_break_no_table() {
        let about = "measure = \"AUC, %\"\n[[columns]]\ndataset = \"grid\"\nmeasure = \"5 $ of\\n{<x>}\"";
        let judged = judged(&[50.0, 60.0], about);
        assert!(markdown(&judged).contains("| A\\|B, 5 $ of {\\<x>} | paper |"), "{}", markdown(&judged));
        assert!(latex(&judged).contains(" & & A|B, 5 \\$ of \\{<x>\\} \\\\"), "{}", latex(&judged));
        assert!(latex(&judged).contains("r\\_0 & ours"), "{}", latex(&judged));
        assert!(text(&judged, false).contains("A|B, 5 $ of"));
        let csv = csv(&judged);
        assert!(
            csv.starts_with("\"my,own\",link-prediction,r_0,gcn,auto,A|B,grid,\"5 $ of\n{<x>}\",50,0.5,5,"),
            "{csv}"
        );
        let page = crate::report::page::page(&[judged], &RecordSet::default());
        assert!(page.contains("<small>5 $ of\n{&lt;x&gt;}</small>") && !page.contains("<x>"), "{page}");
    }

    #[test]
    fn what_was_not_run_says_what_would_run_it() {
        let poc = Experiment::named("poc").unwrap().with(Some(7), None).unwrap();
        let poc = ComparedTable::new(poc, &RecordSet::default());
        let said = "18 figures have no record yet; `nigh reproduce poc --epochs 7` makes them";
        for shown in [text(&poc, false), markdown(&poc), latex(&poc)] {
            assert!(shown.contains(said), "{shown}");
        }
        assert!(csv(&poc).contains("`nigh reproduce poc --epochs 7 --only "), "{}", csv(&poc));
    }

    #[test]
    fn a_time_of_zero_has_no_bar() {
        let time = judged(&[0.0, 3.0], &format!("figure = \"time\"\n{AUC}"));
        let page = crate::report::page::page(&[time], &RecordSet::default());
        assert_eq!(page.matches(" ms</title>").count(), 1, "{page}");
    }
}
