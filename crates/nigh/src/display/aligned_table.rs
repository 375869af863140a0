//! Tables as aligned text.

use super::visible_name;

/// Rows of text under a heading, in aligned columns.
#[derive(Debug, Clone, Default)]
pub struct AlignedTable {
    heading: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl AlignedTable {
    /// A table without rows.
    pub fn new<S: ToString>(heading: &[S]) -> AlignedTable {
        AlignedTable { heading: heading.iter().map(shown).collect(), rows: Vec::new() }
    }

    /// Adds a row, with a cell per column.
    pub fn row<S: ToString>(&mut self, cells: &[S]) {
        self.styled_row(cells.iter().map(shown).collect());
    }

    /// As `row`, of cells that may have styles for a terminal in them.
    pub fn styled_row(&mut self, cells: Vec<String>) {
        assert_eq!(cells.len(), self.heading.len(), "a cell per column");
        self.rows.push(cells);
    }
}

impl AlignedTable {
    /// The table in Markdown.
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let rule: String = "--:|".repeat(self.heading.len().saturating_sub(1));
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        format!("{}|---|{rule}\n{rows}", line(&self.heading))
    }
}

impl std::fmt::Display for AlignedTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lines = || std::iter::once(&self.heading).chain(&self.rows);
        let widths: Vec<usize> =
            (0..self.heading.len()).map(|column| lines().map(|line| width(&line[column])).max().unwrap_or(0)).collect();
        for (at, line) in lines().enumerate() {
            // The first column has names, aligned to the left; the others have numbers, aligned to the right.
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

fn shown(cell: &impl ToString) -> String {
    visible_name(&cell.to_string()).into_owned()
}

/// Number of visible characters: escape sequences are not counted.
fn width(cell: &str) -> usize {
    let mut is_control = false;
    let shown = |c: &char| {
        let was_control = is_control;
        is_control = *c == '\x1b' || (is_control && *c != 'm');
        !is_control && !was_control
    };
    cell.chars().filter(shown).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_do_not_command_the_terminal() {
        let mut table = AlignedTable::new(&["node", "score"]);
        table.row(&["a\u{1b}[2Jb", "1"]);
        assert_eq!(table.to_string(), "node         score\n------------------\na\\u{1b}[2Jb      1\n");
    }

    #[test]
    fn columns_align_under_their_headings() {
        let mut table = AlignedTable::new(&["model", "AUC"]);
        table.row(&["smp-linear", "97.7 ± 0.5"]);
        table.row(&["sgc", "51.9"]);
        let expected =
            "model              AUC\n----------------------\nsmp-linear  97.7 ± 0.5\nsgc               51.9\n";
        assert_eq!(table.to_string(), expected);
    }
}
