//! The tables of the paper as one HTML page without scripts or external files, for screens of any width.

use super::markup::escaped;
use super::paper::{COMPARISON_LEGEND, LEGEND, Rank, about, measured_text, name, published_text, ranks, sign, word};
use crate::experiment::{FigureKind, Published};
use crate::record::{Record, RecordSet};
use crate::verdict::{ComparedTable, ComparisonCounts, Verdict, VerdictCounts};
use nigh::display::{byte_size, pluralize};
use std::fmt::Write;

/// The whole page, with learning curves from the records.
pub fn page(tables: &[ComparedTable], records: &RecordSet) -> String {
    let mut body = String::new();
    let is_comparison = tables.iter().any(|compared| compared.table.is_comparison());
    let (title, legend) = match is_comparison {
        true => ("Our models beside what others printed", COMPARISON_LEGEND.to_string()),
        false => {
            ("The paper's tables, ours beside theirs", format!("Ours, and below it in grey the paper's. {LEGEND}"))
        }
    };
    let _ = write!(body, "<header><h1>{title}</h1>{}", tiles(&counts(tables)));
    let _ = write!(body, "<p>{legend}; best bold, second underlined.</p></header>");
    body += "<section id=\"summary\"><h2>Tables</h2><ul class=\"tables\">";
    for compared in tables {
        let summary = counts(std::slice::from_ref(compared));
        let (name, title) = (escaped(&compared.table.name), escaped(&compared.table.title));
        let _ = write!(body, "<li><a href=\"#{name}\">{title}</a> {}</li>", share_bar(&summary));
    }
    body += "</ul></section>";
    for compared in tables {
        let (name, title) = (escaped(&compared.table.name), escaped(&compared.table.title));
        let about = escaped(&about(compared));
        let _ = write!(body, "<section id=\"{name}\"><h2>{title}</h2><p>{about}</p>{}", table(compared));
        compared.reasons().iter().for_each(|reason| body += &format!("<p>{}.</p>", with_code(reason)));
        body += &if compared.table.kind == FigureKind::Time { times(compared) } else { curves(compared, records) };
        body += "</section>";
    }
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>nigh: the paper's tables</title><style>{STYLE}</style></head><body>{body}\
         <footer><p>A figure is reproduced when it differs by at most 2·√(s₁² + s₂²) + 0.5, s₁ and s₂ being the standard \
         deviations over repeats. Where the paper ran out of memory, a figure counts as better. {} records.</p></footer></body></html>\n",
        records.len()
    )
}

const STYLE: &str = "\
:root{--ink:#1c1c1c;--faint:#666;--line:#ddd;--page:#fff;--reproduced:#2e7d32;--better:#1565c0;--short:#c62828;\
--not-run:#8a8a8a}\
@media(prefers-color-scheme:dark){:root{--ink:#e8e8e8;--faint:#aaa;--line:#3a3a3a;--page:#161616;\
--reproduced:#81c784;--better:#64b5f6;--short:#ef9a9a}}\
*{box-sizing:border-box}body{margin:0 auto;max-width:78rem;padding:1rem;font:15px/1.45 system-ui,sans-serif;\
color:var(--ink);background:var(--page)}h1{font-size:1.5rem}h2{font-size:1.15rem;margin:2rem 0 .3rem}\
p{margin:.3rem 0;color:var(--faint)}a{color:inherit}\
.tiles{display:flex;flex-wrap:wrap;gap:.6rem}.tile{flex:1 1 7rem;border:1px solid var(--line);border-radius:.5rem;\
padding:.5rem .8rem}.tile b{display:block;font-size:1.6rem}\
.tables{list-style:none;padding:0;columns:22rem}.tables li{break-inside:avoid;padding:.15rem 0}\
.share{display:block;width:100%;height:.5rem}\
.scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;white-space:nowrap}\
th,td{padding:.25rem .6rem;border-bottom:1px solid var(--line);text-align:right;vertical-align:top}\
th:first-child{text-align:left;position:sticky;left:0;background:var(--page)}\
td small{display:block;color:var(--faint)}.group th{padding-top:.8rem;color:var(--faint)}\
.reproduced{color:var(--reproduced)}.better{color:var(--better)}.short{color:var(--short)}.not-run{color:var(--not-run)}\
.second{text-decoration:underline}\
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(16rem,1fr));gap:1rem}\
figure{margin:0}figcaption{color:var(--faint);font-size:.85rem}svg{width:100%;height:auto;display:block}\
svg text{fill:var(--faint);font:10px system-ui,sans-serif}summary{cursor:pointer;margin:.6rem 0}\
.key{display:flex;flex-wrap:wrap;gap:.3rem 1rem;font-size:.85rem}.key i{display:inline-block;width:1rem;height:.2rem;\
vertical-align:middle;margin-right:.3rem}footer{margin-top:2rem;border-top:1px solid var(--line)}";

/// Colours that can be told apart on a light and on a dark page.
const COLOURS: [&str; 9] =
    ["#1f77b4", "#e07b00", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#d65db1", "#7f7f7f", "#17a2b8"];

/// HTML of a text with code in backticks.
fn with_code(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts
        .map(|(at, part)| if at % 2 == 1 { format!("<code>{}</code>", escaped(part)) } else { escaped(part) })
        .collect()
}

/// The class of the style sheet: ahead, level and behind have the colours of better, reproduced and short.
fn class(verdict: Verdict) -> String {
    let verdict = match verdict {
        Verdict::Ahead => Verdict::Better,
        Verdict::Level => Verdict::Reproduced,
        Verdict::Behind => Verdict::Short,
        other => other,
    };
    word(verdict).replace(' ', "-")
}

/// How many figures of these tables have each verdict.
fn counts(tables: &[ComparedTable]) -> [(Verdict, usize); 4] {
    let figures = || tables.iter().flat_map(|compared| &compared.figures);
    if tables.iter().any(|compared| compared.table.is_comparison()) {
        let ComparisonCounts { ahead, level, behind, not_run } = ComparisonCounts::of(figures());
        let verdicts = [Verdict::Level, Verdict::Ahead, Verdict::Behind, Verdict::NotRun];
        let counts = [level, ahead, behind, not_run];
        return std::array::from_fn(|at| (verdicts[at], counts[at]));
    }
    let VerdictCounts { reproduced, better, short, not_run } = VerdictCounts::of(figures());
    let verdicts = [Verdict::Reproduced, Verdict::Better, Verdict::Short, Verdict::NotRun];
    let counts = [reproduced, better, short, not_run];
    std::array::from_fn(|at| (verdicts[at], counts[at]))
}

fn tiles(counts: &[(Verdict, usize)]) -> String {
    let tile = |(verdict, count): &(Verdict, usize)| {
        format!("<div class=\"tile {}\"><b>{count}</b>{}</div>", class(*verdict), word(*verdict))
    };
    let is_comparison = counts.iter().any(|(verdict, _)| *verdict == Verdict::Level);
    let what = if is_comparison { "figures of ours" } else { "figures printed" };
    let total: usize = counts.iter().map(|(_, count)| count).sum();
    let all = format!("<div class=\"tile\"><b>{total}</b>{what}</div>");
    format!("<div class=\"tiles\">{all}{}</div>", counts.iter().map(tile).collect::<String>())
}

fn share_bar(counts: &[(Verdict, usize)]) -> String {
    let total = counts.iter().map(|(_, count)| count).sum::<usize>().max(1) as f64;
    let (mut left, mut parts) = (0.0, String::new());
    for &(verdict, count) in counts {
        let width = 100.0 * count as f64 / total;
        let _ = write!(
            parts,
            "<rect x=\"{left:.2}\" width=\"{width:.2}\" height=\"4\" fill=\"var(--{})\"><title>{} {}</title></rect>",
            class(verdict),
            count,
            word(verdict)
        );
        left += width;
    }
    format!("<svg class=\"share\" viewBox=\"0 0 100 4\" preserveAspectRatio=\"none\" role=\"img\">{parts}</svg>")
}

fn table(compared: &ComparedTable) -> String {
    let columns = &compared.table.columns;
    let mut html = "<div class=\"scroll\"><table><thead><tr><th></th>".to_string();
    for column in columns {
        let small = |measure: &String| format!("<small>{}</small>", escaped(measure));
        let measure = column.measure.as_ref().map_or(String::new(), small);
        let _ = write!(html, "<th>{}{measure}</th>", escaped(&column.label));
    }
    html += "</tr></thead><tbody>";
    let mut group = &None;
    for (at, row) in compared.table.rows.iter().enumerate() {
        if row.group != *group {
            group = &row.group;
            let name = group.as_deref().unwrap_or_default();
            let _ =
                write!(html, "<tr class=\"group\"><th colspan=\"{}\">{}</th></tr>", columns.len() + 1, escaped(name));
        }
        let _ = write!(html, "<tr><th>{}</th>", escaped(&row.label));
        for column in 0..columns.len() {
            html += &cell(compared, at, column);
        }
        html += "</tr>";
    }
    html + "</tbody></table></div>"
}

fn cell(compared: &ComparedTable, row: usize, column: usize) -> String {
    let Some(figure) = compared.at(row, column) else { return "<td></td>".to_string() };
    let [measured_rank, published_rank] = ranks(compared, figure);
    let styled = |text: String, rank: Rank| match rank {
        Rank::Best => format!("<b>{text}</b>"),
        Rank::Second => format!("<span class=\"second\">{text}</span>"),
        Rank::None => text,
    };
    let value = match figure.measured {
        _ if figure.cell.is_none() => styled(published_text(figure), published_rank),
        Some(_) => format!("{} {}", styled(measured_text(compared, figure), measured_rank), sign(figure.verdict)),
        None => "not run".to_string(),
    };
    let about = match figure.measured {
        Some(measured) => {
            let memory = measured.peak_bytes.map_or(String::new(), |bytes| format!(", {}", byte_size(bytes)));
            format!(
                "{}; {}, {:.2} ms per epoch{memory}",
                word(figure.verdict),
                pluralize(measured.repeats, "repeat"),
                measured.millis_per_epoch
            )
        }
        None if figure.cell.is_none() => word(figure.verdict).to_string(),
        None => compared.why(figure),
    };
    let below = if figure.cell.is_none() { String::new() } else { styled(published_text(figure), published_rank) };
    format!(
        "<td title=\"{}\"><span class=\"{}\">{value}</span><small>{}</small></td>",
        escaped(&about),
        class(figure.verdict),
        below
    )
}

/// For each column, the mean validation curve of every row.
fn curves(compared: &ComparedTable, records: &RecordSet) -> String {
    let mut charts = String::new();
    for (column, about) in compared.table.columns.iter().enumerate() {
        let lines: Vec<(usize, Vec<(f64, f64)>)> = compared
            .figures
            .iter()
            .filter(|figure| figure.column == column)
            .filter_map(|figure| Some((figure.row, mean_curve(&records.of(figure.cell.as_ref()?).collect::<Vec<_>>()))))
            .filter(|(_, points)| points.len() > 1)
            .collect();
        if !lines.is_empty() {
            let _ =
                write!(charts, "<figure>{}<figcaption>{}</figcaption></figure>", chart(&lines), escaped(&about.label));
        }
    }
    if charts.is_empty() {
        return charts;
    }
    let key = (0..compared.table.rows.len()).map(|row| {
        let (colour, name) = (COLOURS[row % COLOURS.len()], escaped(&name(compared, row)));
        format!("<span><i style=\"background:{colour}\"></i>{name}</span>")
    });
    format!(
        "<details><summary>Learning curves: validation, %, by epoch, mean of the repeats</summary>\
         <div class=\"key\">{}</div><div class=\"charts\">{charts}</div></details>",
        key.collect::<String>()
    )
}

/// Epoch and metric in percent, at about fifty epochs including the last.
fn mean_curve(records: &[&Record]) -> Vec<(f64, f64)> {
    const POINTS: usize = 50;
    let Some(first) = records.first() else { return Vec::new() };
    let length = records.iter().map(|record| record.curve.valid.len()).min().unwrap_or(0);
    let step = length.div_ceil(POINTS).max(1);
    let mean = |at: usize| records.iter().map(|record| record.curve.valid[at]).sum::<f64>() / records.len() as f64;
    let epoch = |at: usize| ((at + 1) * first.curve.every).min(first.config.epochs.unwrap_or(usize::MAX)) as f64;
    let shown = (0..length).filter(|at| at.is_multiple_of(step) || at + 1 == length);
    shown.map(|at| (epoch(at), 100.0 * mean(at))).collect()
}

fn chart(lines: &[(usize, Vec<(f64, f64)>)]) -> String {
    const WIDTH: f64 = 320.0;
    const HEIGHT: f64 = 180.0;
    const LEFT: f64 = 30.0;
    const ABOVE: f64 = 8.0;
    const BELOW: f64 = 18.0;
    let points = || lines.iter().flat_map(|line| &line.1);
    let last = points().map(|point| point.0).fold(1.0, f64::max);
    let low = (points().map(|point| point.1).fold(100.0, f64::min) / 10.0).floor() * 10.0;
    let high = ((points().map(|point| point.1).fold(0.0, f64::max) / 10.0).ceil() * 10.0).max(low + 10.0);
    let x = |epoch: f64| LEFT + (WIDTH - LEFT - 4.0) * epoch / last;
    let y = |value: f64| ABOVE + (HEIGHT - BELOW - ABOVE) * (high - value) / (high - low);
    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">");
    let step = if high - low > 50.0 { 20.0 } else { 10.0 };
    let mut tick = low;
    while tick <= high {
        let at = y(tick);
        let _ = write!(
            svg,
            "<line x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"var(--line)\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{tick}</text>",
            LEFT - 4.0,
            at + 3.0
        );
        tick += step;
    }
    for epoch in [0.0, last / 2.0, last] {
        let anchor = if epoch == last { "end" } else { "middle" };
        let _ =
            write!(svg, "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"{anchor}\">{epoch}</text>", x(epoch), HEIGHT - 4.0);
    }
    for (row, points) in lines {
        let path: Vec<String> =
            points.iter().map(|&(epoch, value)| format!("{:.1},{:.1}", x(epoch), y(value))).collect();
        let _ = write!(
            svg,
            "<polyline fill=\"none\" stroke-width=\"1.5\" stroke=\"{}\" points=\"{}\"/>",
            COLOURS[row % COLOURS.len()],
            path.join(" ")
        );
    }
    svg + "</svg>"
}

/// For each column, measured and published times as bars on a logarithmic scale.
fn times(compared: &ComparedTable) -> String {
    const WIDTH: f64 = 320.0;
    const LEFT: f64 = 130.0;
    const LINE: f64 = 22.0;
    let published = |column: usize, row: usize| match compared.at(row, column)?.published {
        Some(Published::Figure { mean, .. }) => Some(mean),
        _ => None,
    };
    // Guessing takes no time, for which there is no power of ten.
    let measured =
        |column: usize, row: usize| Some(compared.at(row, column)?.measured?.mean).filter(|millis| *millis > 0.0);
    let values =
        compared.figures.iter().flat_map(|f| [measured(f.column, f.row), published(f.column, f.row)]).flatten();
    let (least, greatest) = values.fold((f64::MAX, 1.0f64), |(low, high), value| (low.min(value), high.max(value)));
    let (low, high) = (least.min(greatest).log10().floor(), greatest.log10().ceil());
    let length = |value: f64| (WIDTH - LEFT) * ((value.log10() - low) / (high - low).max(1.0)).max(0.005);
    let mut charts = String::new();
    for (column, about) in compared.table.columns.iter().enumerate() {
        let rows: Vec<usize> =
            (0..compared.table.rows.len()).filter(|&row| compared.at(row, column).is_some()).collect();
        let height = rows.len() as f64 * LINE + 14.0;
        let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">");
        let mut power = low;
        while power <= high {
            let at = LEFT + length(10f64.powf(power));
            let name = match power {
                ..0.0 => format!("{}", 10f64.powf(power)),
                ..3.0 => format!("{:.0}", 10f64.powf(power)),
                _ => format!("{:.0}k", 10f64.powf(power - 3.0)),
            };
            let anchor = if power == high { "end" } else { "middle" };
            let _ = write!(
                svg,
                "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"0\" y2=\"{:.0}\" stroke=\"var(--line)\"/>\
                 <text x=\"{at:.1}\" y=\"{:.0}\" text-anchor=\"{anchor}\">{name}</text>",
                height - 12.0,
                height - 2.0
            );
            power += 1.0;
        }
        for (line, &row) in rows.iter().enumerate() {
            let top = line as f64 * LINE + 2.0;
            let label = escaped(&compared.table.rows[row].label);
            let _ =
                write!(svg, "<text x=\"{}\" y=\"{:.0}\" text-anchor=\"end\">{label}</text>", LEFT - 6.0, top + 12.0);
            for (value, colour, below) in
                [(measured(column, row), "var(--better)", 0.0), (published(column, row), "var(--not-run)", 9.0)]
            {
                if let Some(value) = value {
                    let _ = write!(
                        svg,
                        "<rect x=\"{LEFT}\" y=\"{:.0}\" width=\"{:.1}\" height=\"8\" fill=\"{colour}\">\
                         <title>{value:.2} ms</title></rect>",
                        top + below,
                        length(value)
                    );
                }
            }
        }
        let _ = write!(charts, "<figure>{svg}</svg><figcaption>{}</figcaption></figure>", escaped(&about.label));
    }
    format!(
        "<div class=\"key\"><span><i style=\"background:var(--better)\"></i>ours, milliseconds per epoch</span>\
         <span><i style=\"background:var(--not-run)\"></i>the paper's GPU</span></div><div class=\"charts\">{charts}</div>"
    )
}
