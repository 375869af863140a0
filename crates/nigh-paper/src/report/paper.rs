//! Tables of the paper with measured and published values: for the terminal, as Markdown, LaTeX and csv.

use crate::experiment::{Experiment, FigureKind, Published};
use crate::verdict::{ComparedTable, ComparisonCounts, Figure, Measured, Verdict, VerdictCounts};
use nigh::display::{self, AlignedTable, visible, visible_name};
use nigh::metric::PairMetric;
use nigh::{Config, Metric};
use nigh_formats::text_table::Formulas;
use std::fmt::Write;

/// The sign that stands for a verdict.
pub fn sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced | Verdict::Level => "=",
        Verdict::Better | Verdict::Ahead => "+",
        Verdict::Short | Verdict::Behind => "-",
        Verdict::NotRun | Verdict::Unpublished | Verdict::Printed => "",
    }
}

/// What the signs mean.
pub const LEGEND: &str = "= reproduced, + better, - short, (n) fewer repeats than requested";

/// What the signs mean in a table that compares our models with what others printed.
pub const COMPARISON_LEGEND: &str = "+ more than half a point ahead of the best printed figure of the column, = within half a \
                                     point, - behind; (n) fewer repeats than requested";

/// The same where nobody printed anything.
const PLAIN_LEGEND: &str = "(n) fewer repeats than requested";

/// What the signs in a table mean.
pub fn legend(compared: &ComparedTable) -> &'static str {
    match (compared.table.is_comparison(), compared.table.has_printed_rows()) {
        (true, true) => COMPARISON_LEGEND,
        (true, false) => PLAIN_LEGEND,
        (false, _) => LEGEND,
    }
}

/// `mean ± std`, with the paper's decimals.
pub fn measured_text(compared: &ComparedTable, figure: &Figure) -> String {
    let Some(Measured { std, repeats, .. }) = figure.measured else { return String::new() };
    let (mean, decimals) = (mean(compared, figure), decimals(figure));
    let requested = figure.cell.as_ref().map_or(0, |cell| cell.config.repeats);
    let fewer = if repeats < requested { format!(" ({repeats})") } else { String::new() };
    match compared.table.kind {
        // One repeat has no deviation.
        FigureKind::Metric if repeats > 1 => format!("{mean} ± {std:.decimals$}{fewer}"),
        _ => format!("{mean}{fewer}"),
    }
}

/// The measured mean as it is printed.
fn mean(compared: &ComparedTable, figure: &Figure) -> String {
    let (mean, decimals) = (figure.measured.map_or(f64::NAN, |measured| measured.mean), decimals(figure));
    match compared.table.kind {
        FigureKind::Metric => format!("{mean:.decimals$}"),
        FigureKind::Time => millis(mean),
    }
}

fn decimals(figure: &Figure) -> usize {
    let metric = figure.cell.as_ref().and_then(|cell| cell.config.metric.made());
    match figure.published {
        Some(Published::Figure { decimals, .. }) => decimals.max(1),
        _ if matches!(metric, Some(Metric::Pairs(PairMetric::HitsAt(_) | PairMetric::MeanReciprocalRank))) => 2,
        _ => 1,
    }
}

/// Three significant digits.
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
pub fn published_text(figure: &Figure) -> String {
    match figure.published {
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

/// The ranks of the measured and of the published figure.
pub fn ranks(compared: &ComparedTable, figure: &Figure) -> [Rank; 2] {
    // As they are printed: what looks the same is the same.
    let measured = |figure: &Figure| figure.measured.and_then(|_| mean(compared, figure).parse().ok());
    let published = |figure: &Figure| match figure.published {
        Some(Published::Figure { mean, .. }) => Some(mean),
        _ => None,
    };
    let either = |figure: &Figure| measured(figure).or(published(figure));
    let of = |value: &dyn Fn(&Figure) -> Option<f64>| {
        let [best, second] = compared.best_two(figure.row, figure.column, value);
        match value(figure) {
            Some(value) if Some(value) == best => Rank::Best,
            Some(value) if Some(value) == second => Rank::Second,
            _ => Rank::None,
        }
    };
    if compared.table.is_comparison() {
        // Ours and printed figures are of different models, and one ranking has them all.
        return [of(&either); 2];
    }
    [of(&measured), of(&published)]
}

/// The figure of a table that has one per row and column: ours with its sign, or what was printed.
fn either_text(compared: &ComparedTable, figure: &Figure) -> String {
    match (&figure.cell, figure.measured) {
        (None, _) => published_text(figure),
        (Some(_), None) => "not run".to_string(),
        (Some(_), Some(_)) => measured_text(compared, figure),
    }
}

/// The rows and the columns that have a figure.
fn shape(compared: &ComparedTable) -> (Vec<usize>, Vec<usize>) {
    let rows = (0..compared.table.rows.len()).filter(|&row| compared.figures.iter().any(|figure| figure.row == row));
    let columns = (0..compared.table.columns.len())
        .filter(|&column| compared.figures.iter().any(|figure| figure.column == column));
    (rows.collect(), columns.collect())
}

/// The heading of a column.
fn heading(compared: &ComparedTable, column: usize) -> String {
    let column = &compared.table.columns[column];
    column.measure.as_ref().map_or(column.label.clone(), |measure| format!("{}, {measure}", column.label))
}

/// The name of a row: its group and label.
pub fn name(compared: &ComparedTable, row: usize) -> String {
    let row = &compared.table.rows[row];
    match &row.group {
        Some(group) => format!("{}: {}", group, row.label),
        None => row.label.clone(),
    }
}

/// Where the table is in the paper, and what its figures measure.
pub fn about(compared: &ComparedTable) -> String {
    let place = &compared.table.place;
    let (first, rest) = place.split_at(place.chars().next().map_or(0, char::len_utf8));
    format!("{}{rest}: {}.", first.to_uppercase(), compared.table.measure)
}

/// A table for the terminal: with styles, the best is bold and the second underlined.
pub fn text(compared: &ComparedTable, is_styled: bool) -> String {
    let (rows, columns) = shape(compared);
    let styled = |text: String, rank: Rank| match rank {
        Rank::Best if is_styled => format!("\x1b[1m{text}\x1b[0m"),
        Rank::Second if is_styled => format!("\x1b[4m{text}\x1b[0m"),
        _ => text,
    };
    let is_comparison = compared.table.is_comparison();
    let mut headings = vec![compared.table.measure.clone()];
    headings.extend(columns.iter().flat_map(|&column| {
        let paper = (!is_comparison).then(|| "paper".to_string());
        std::iter::once(heading(compared, column)).chain(paper)
    }));
    let mut table = AlignedTable::new(&headings);
    for row in rows {
        let mut cells = vec![visible_name(&name(compared, row)).into_owned()];
        for &column in &columns {
            let figure = compared.at(row, column);
            if is_comparison {
                cells.push(figure.map_or(String::new(), |figure| {
                    let shown = styled(either_text(compared, figure), ranks(compared, figure)[0]);
                    format!("{shown} {:1}", sign(figure.verdict))
                }));
                continue;
            }
            cells.extend(match figure {
                Some(figure) => {
                    let measured =
                        if figure.measured.is_some() { measured_text(compared, figure) } else { "not run".to_string() };
                    let [measured_rank, published_rank] = ranks(compared, figure);
                    [
                        format!("{} {:1}", styled(measured, measured_rank), sign(figure.verdict)),
                        styled(published_text(figure), published_rank),
                    ]
                }
                None => [String::new(), String::new()],
            });
        }
        table.styled_row(cells);
    }
    let reasons: String = compared.reasons().iter().map(|reason| visible(reason).into_owned() + "\n").collect();
    let legend = legend(compared);
    let [title, place] = [&compared.table.title, &compared.table.place].map(|text| visible_name(text));
    format!("{title} ({place})\n\n{table}\n{legend}\n{reasons}")
}

/// A table in Markdown: the best is bold, the second underlined.
pub fn markdown(compared: &ComparedTable) -> String {
    let (rows, columns) = shape(compared);
    let escaped = |text: &str| display::markdown(&one_line(text));
    let mut text = format!("## {}\n\n{}\n\n|", escaped(&compared.table.title), escaped(&about(compared)));
    let is_comparison = compared.table.is_comparison();
    let columns_of = |text: &mut String, cells: [&str; 2]| match is_comparison {
        true => write!(text, " {} |", cells[0]),
        false => write!(text, " {} | {} |", cells[0], cells[1]),
    };
    let written = "memory can be written";
    text += " |";
    columns
        .iter()
        .for_each(|&column| columns_of(&mut text, [&escaped(&heading(compared, column)), "paper"]).expect(written));
    text += "\n|---|";
    columns.iter().for_each(|_| text += if is_comparison { "--:|" } else { "--:|--:|" });
    let styled = |text: String, rank: Rank| match rank {
        Rank::Best if !text.is_empty() => format!("**{text}**"),
        // Markdown has no underline; `<ins>` is shown as one everywhere.
        Rank::Second if !text.is_empty() => format!("<ins>{text}</ins>"),
        _ => text,
    };
    for row in rows {
        write!(text, "\n| {} |", escaped(&name(compared, row))).expect(written);
        for &column in &columns {
            let Some(figure) = compared.at(row, column) else {
                columns_of(&mut text, ["", ""]).expect(written);
                continue;
            };
            let [measured_rank, published_rank] = ranks(compared, figure);
            let measured = match figure.measured {
                _ if figure.cell.is_none() => styled(published_text(figure), published_rank),
                Some(_) => {
                    format!("{} {}", styled(measured_text(compared, figure), measured_rank), sign(figure.verdict))
                }
                None => "not run".to_string(),
            };
            columns_of(&mut text, [measured.trim_end(), &styled(published_text(figure), published_rank)])
                .expect(written);
        }
    }
    text += "\n";
    compared.reasons().iter().for_each(|reason| writeln!(text, "\n{reason}.").expect(written));
    text
}

/// The text without line breaks, which would end a table cell or a comment.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// All tables in Markdown, below a summary.
pub fn markdown_page(tables: &[ComparedTable]) -> String {
    let is_comparison = tables.iter().any(|compared| compared.table.is_comparison());
    let (title, legend) = match is_comparison {
        true => ("Our models beside what others printed", COMPARISON_LEGEND),
        false => ("The paper's tables, ours beside theirs", LEGEND),
    };
    let legend = format!("{legend}; best **bold**, second <ins>underlined</ins>.");
    let summary = summary(tables).markdown();
    let tables: Vec<String> = tables.iter().map(markdown).collect();
    format!("# {title}\n\n{summary}\n{legend}\n\n{}", tables.join("\n"))
}

/// Number of figures of each table with each verdict.
pub fn summary(tables: &[ComparedTable]) -> AlignedTable {
    if tables.iter().any(|compared| compared.table.is_comparison()) {
        return comparison_summary(tables);
    }
    let mut table = AlignedTable::new(&["table", "reproduced", "better", "short", "not run", "of"]);
    let mut line = |name: &str, summary: VerdictCounts| {
        let VerdictCounts { reproduced, better, short, not_run } = summary;
        let counts = [reproduced, better, short, not_run, summary.total()].map(|count| count.to_string());
        table.row(&[&[name.to_string()], &counts[..]].concat());
    };
    tables.iter().for_each(|compared| line(&compared.table.name, VerdictCounts::of(&compared.figures)));
    if tables.len() > 1 {
        line("all", VerdictCounts::of(tables.iter().flat_map(|compared| &compared.figures)));
    }
    table
}

/// Number of our figures of each table that are ahead of the best printed one, level with it or behind.
fn comparison_summary(tables: &[ComparedTable]) -> AlignedTable {
    let mut table = AlignedTable::new(&["table", "ahead", "level", "behind", "not run", "of"]);
    for compared in tables.iter().filter(|compared| compared.table.has_printed_rows()) {
        let counts = ComparisonCounts::of(&compared.figures);
        let ComparisonCounts { ahead, level, behind, not_run } = counts;
        let counts = [ahead, level, behind, not_run, counts.total()].map(|count| count.to_string());
        table.row(&[std::slice::from_ref(&compared.table.name), &counts[..]].concat());
    }
    table
}

/// A table in LaTeX: a `tabular` with the measured above the published figures.
pub fn latex(compared: &ComparedTable) -> String {
    let (rows, columns) = shape(compared);
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
    let styled = |text: String, rank: Rank| match rank {
        Rank::Best if !text.is_empty() => format!("\\textbf{{{}}}", escaped(&text)),
        Rank::Second if !text.is_empty() => format!("\\underline{{{}}}", escaped(&text)),
        _ => escaped(&text),
    };
    let labels: Vec<String> = columns.iter().map(|&column| escaped(&heading(compared, column))).collect();
    let reasons: String = compared.reasons().iter().map(|reason| format!("% {}\n", one_line(reason))).collect();
    let Experiment { title, place, measure, .. } = &compared.table;
    let mut text = format!(
        "% {}\n{reasons}\\begin{{tabular}}{{ll{}}}\n\\hline\n & & {} \\\\\n\\hline\n",
        one_line(&format!("{title}, {place}: {measure}")),
        "r".repeat(columns.len()),
        labels.join(" & "),
    );
    for row in rows {
        let lines: &[(&str, usize)] = match (&compared.table.rows[row].model, compared.table.is_comparison()) {
            (None, _) => &[("printed", 1)],
            (Some(_), true) => &[("ours", 0)],
            (Some(_), false) => &[("ours", 0), ("paper", 1)],
        };
        for (line, &(who, at)) in lines.iter().enumerate() {
            let cells = columns.iter().map(|&column| match compared.at(row, column) {
                None => String::new(),
                Some(figure) => {
                    let value = if at == 0 { measured_text(compared, figure) } else { published_text(figure) };
                    let sign = if at == 0 { format!(" ${}$", sign(figure.verdict)) } else { String::new() };
                    let value = styled(value, ranks(compared, figure)[at]);
                    if value.is_empty() { "---".to_string() } else { value + &sign.replace(" $$", "") }
                }
            });
            let label = if line == 0 { escaped(&name(compared, row)) } else { String::new() };
            let cells: Vec<String> = cells.collect();
            writeln!(text, "{label} & {who} & {} \\\\", cells.join(" & ")).expect("memory can be written");
        }
    }
    text + "\\hline\n\\end{tabular}\n"
}

/// The header of `csv`.
pub const CSV_HEADER: &str = "table,task,row,model,signal,column,dataset,measure,ours_mean,ours_std,repeats,\
                              paper_mean,paper_std,paper_note,verdict,why,millis_per_epoch,peak_bytes\n";

/// A line per figure, to follow `CSV_HEADER`.
pub fn csv(compared: &ComparedTable, formulas: Formulas) -> String {
    let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    let mut text = String::new();
    for figure in &compared.figures {
        let column = &compared.table.columns[figure.column];
        let (mean, std, note) = match figure.published {
            Some(Published::Figure { mean, std, .. }) => (Some(mean), std, ""),
            Some(Published::OutOfMemory) => (None, None, "out of memory"),
            None => (None, None, ""),
        };
        let config = figure.cell.as_ref().map(|cell| &cell.config);
        let setting = |value: fn(&Config) -> String| config.map_or(String::new(), value);
        let fields = [
            compared.table.name.clone(),
            setting(|config| config.task.to_string()),
            name(compared, figure.row),
            setting(|config| config.model.to_string()),
            setting(|config| config.refresh.to_string()),
            column.label.clone(),
            column.dataset.clone(),
            compared.measure(figure.column).to_string(),
            number(figure.measured.map(|measured| measured.mean)),
            number(figure.measured.map(|measured| measured.std)),
            figure.measured.map_or(0, |measured| measured.repeats).to_string(),
            number(mean),
            number(std),
            note.to_string(),
            word(figure.verdict).to_string(),
            if figure.verdict == Verdict::NotRun { compared.why(figure) } else { String::new() },
            number(figure.measured.map(|measured| measured.millis_per_epoch)),
            figure.measured.and_then(|measured| measured.peak_bytes).map(|bytes| bytes.to_string()).unwrap_or_default(),
        ];
        text += &fields.map(|field| formulas.field(&field)).join(",");
        text.push('\n');
    }
    text
}

/// The word for a verdict.
pub fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "reproduced",
        Verdict::Better => "better",
        Verdict::Short => "short",
        Verdict::NotRun => "not run",
        Verdict::Unpublished => "unpublished",
        Verdict::Ahead => "ahead",
        Verdict::Level => "level",
        Verdict::Behind => "behind",
        Verdict::Printed => "printed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RecordSet;

    /// A table with one column, read from a file, with made-up means.
    fn compared(means: &[f64], about: &str) -> ComparedTable {
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
        let mut compared = ComparedTable::new(table, &RecordSet::default());
        for (figure, &mean) in compared.figures.iter_mut().zip(means) {
            figure.measured = Some(Measured { mean, std: 0.5, repeats: 5, millis_per_epoch: 1.0, peak_bytes: None });
            figure.verdict = Verdict::Unpublished;
        }
        compared
    }

    #[test]
    fn a_table_without_printed_figures_has_no_column_for_them() {
        let shown = text(&compared(&[98.68, 5.0], AUC), false);
        assert!(!shown.contains("paper") && shown.contains("(n) fewer repeats") && !shown.contains("ahead"), "{shown}");
    }

    const AUC: &str = "measure = \"AUC, %\"\n[[columns]]\ndataset = \"grid\"";

    #[test]
    fn figures_that_print_the_same_have_the_same_rank() {
        let ranks_of = |means: &[f64], about: &str| -> Vec<Rank> {
            let compared = compared(means, about);
            compared.figures.iter().map(|figure| ranks(&compared, figure)[0]).collect()
        };
        use Rank::{Best, None, Second};
        assert_eq!(ranks_of(&[98.68, 98.72, 98.6, 97.0, 98.58], AUC), [Best, Best, Second, None, Second]);
        // Styles do not change the width of a column.
        let two = compared(&[98.68, 5.0], AUC);
        let (plain, styled) = (text(&two, false), text(&two, true));
        assert!(styled.contains("\x1b[1m98.7 ± 0.5\x1b[0m") && styled.contains(" \x1b[4m5.0 ± 0.5\x1b[0m"), "{styled}");
        assert_eq!(styled.replace("\x1b[1m", "").replace("\x1b[4m", "").replace("\x1b[0m", ""), plain);
        // The shortest time is the best.
        let time = format!("figure = \"time\"\n{AUC}");
        assert_eq!(ranks_of(&[3.001, 3.004, 20.0, 19.96, 21.0], &time), [Best, Best, Second, Second, None]);
    }

    #[test]
    fn special_characters_in_names_are_escaped() {
        let about = "measure = \"AUC, %\"\n[[columns]]\ndataset = \"grid\"\nmeasure = \"5 $ of\\n{<x>}\"";
        let compared = compared(&[50.0, 60.0], about);
        assert!(markdown(&compared).contains("| A\\|B, 5 $ of {\\<x\\>} |"), "{}", markdown(&compared));
        assert!(latex(&compared).contains(" & & A|B, 5 \\$ of \\{<x>\\} \\\\"), "{}", latex(&compared));
        assert!(latex(&compared).contains("r\\_0 & ours"), "{}", latex(&compared));
        assert!(text(&compared, false).contains("A|B, 5 $ of"));
        let csv = csv(&compared, Formulas::Kept);
        assert!(
            csv.starts_with("\"my,own\",link-prediction,r_0,gcn,auto,A|B,grid,\"5 $ of\n{<x>}\",50,0.5,5,"),
            "{csv}"
        );
        let page = crate::report::page::page(&[compared], &RecordSet::default());
        assert!(page.contains("<small>5 $ of\n{&lt;x&gt;}</small>") && !page.contains("<x>"), "{page}");
    }

    #[test]
    fn figures_that_were_not_run_name_the_command_that_runs_them() {
        let poc = Experiment::named("poc").unwrap().with(Some(7), None).unwrap();
        let poc = ComparedTable::new(poc, &RecordSet::default());
        let said = "18 figures have no record yet; `nigh reproduce poc --epochs 7` writes them";
        for shown in [text(&poc, false), markdown(&poc), latex(&poc)] {
            assert!(shown.contains(said), "{shown}");
        }
        assert!(
            csv(&poc, Formulas::Kept).contains("`nigh reproduce poc --epochs 7 --only "),
            "{}",
            csv(&poc, Formulas::Kept)
        );
    }

    #[test]
    fn a_time_of_zero_has_no_bar() {
        let time = compared(&[0.0, 3.0], &format!("figure = \"time\"\n{AUC}"));
        let page = crate::report::page::page(&[time], &RecordSet::default());
        assert_eq!(page.matches(" ms</title>").count(), 1, "{page}");
    }
}
