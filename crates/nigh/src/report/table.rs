//! Tables for the terminal.

/// Rows of text under a heading, in columns as wide as they need to be.
#[derive(Debug, Clone, Default)]
pub struct Table {
    heading: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table.
    pub fn new<S: ToString>(heading: &[S]) -> Table {
        Table { heading: heading.iter().map(S::to_string).collect(), rows: Vec::new() }
    }

    /// With one more row, as long as the heading.
    pub fn row<S: ToString>(&mut self, cells: &[S]) {
        assert_eq!(cells.len(), self.heading.len(), "a cell per column");
        self.rows.push(cells.iter().map(S::to_string).collect());
    }
}

impl Table {
    /// The same for a page.
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let rule: String = "--:|".repeat(self.heading.len().saturating_sub(1));
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        format!("{}|---|{rule}\n{rows}", line(&self.heading))
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lines = || std::iter::once(&self.heading).chain(&self.rows);
        let widths: Vec<usize> =
            (0..self.heading.len()).map(|column| lines().map(|line| width(&line[column])).max().unwrap_or(0)).collect();
        for (at, line) in lines().enumerate() {
            // Words to the left, numbers to the right: the first column names, the others measure.
            let cells = line.iter().zip(&widths).enumerate().map(|(column, (cell, &widest))| {
                let gap = " ".repeat(widest - width(cell));
                if column == 0 { format!("{cell}{gap}") } else { format!("{gap}{cell}") }
            });
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
            if at == 0 {
                writeln!(f, "{}", "-".repeat(widths.iter().sum::<usize>() + 2 * (widths.len() - 1)))?;
            }
        }
        Ok(())
    }
}

/// Characters that are shown: not those that begin or end bold.
fn width(cell: &str) -> usize {
    let mut is_control = false;
    let shown = |c: &char| {
        let was_control = is_control;
        is_control = *c == '\x1b' || (is_control && *c != 'm');
        !is_control && !was_control
    };
    cell.chars().filter(shown).count()
}

/// A fraction of one as a percentage with one decimal.
pub fn percent(fraction: f64) -> String {
    format!("{:.1}", 100.0 * fraction)
}

/// `no nodes`, `1 node`, `2 nodes`.
pub fn pluralize(count: usize, what: &str) -> String {
    match count {
        0 => format!("no {what}s"),
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}

/// `999 B`, `1.5 kB`, `199 kB`, `12.8 MB`.
pub fn size(bytes: u64) -> String {
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    // 999.9 would be shown as 1000.
    let step = (1..4).find(|&step| (bytes as f64) < 999.5 * 1e3f64.powi(step)).unwrap_or(4);
    let (value, unit) = (bytes as f64 / 1e3f64.powi(step), ["", "kB", "MB", "GB", "TB"][step as usize]);
    if value < 99.95 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_three_digits() {
        let sizes = [(0, "0 B"), (999, "999 B"), (1_500, "1.5 kB"), (199_235, "199 kB"), (12_835_626, "12.8 MB")];
        sizes.iter().for_each(|&(bytes, text)| assert_eq!(size(bytes), text));
        let edges = [(99_960, "100 kB"), (999_700, "1.0 MB"), (8 << 30, "8.6 GB"), (3 << 40, "3.3 TB")];
        edges.iter().for_each(|&(bytes, text)| assert_eq!(size(bytes), text));
    }

    #[test]
    fn columns_align_under_their_headings() {
        let mut table = Table::new(&["model", "AUC"]);
        table.row(&["smp-linear", "97.7 ± 0.5"]);
        table.row(&["sgc", "51.9"]);
        let expected =
            "model              AUC\n----------------------\nsmp-linear  97.7 ± 0.5\nsgc               51.9\n";
        assert_eq!(table.to_string(), expected);
    }
}
