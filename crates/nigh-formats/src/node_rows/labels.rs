//! The labels in the rows of a file: one each, or several in a list, in columns of 0 and 1, or in repeated rows.

use crate::error::Error;
use crate::texts::Texts;
use std::collections::HashSet;
use std::path::Path;
use std::str::FromStr;

/// What stands between the labels of a cell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum LabelSeparator {
    /// `;` or `|` where a cell has one, a comma where the parts of cells recur in others, commas in brackets; nothing where ids repeat.
    #[default]
    Auto,
    /// Nothing: a cell is one label.
    None,
    /// This text.
    Text(String),
}

impl FromStr for LabelSeparator {
    type Err = Error;

    fn from_str(word: &str) -> Result<LabelSeparator, Error> {
        match word {
            "auto" => Ok(LabelSeparator::Auto),
            "none" => Ok(LabelSeparator::None),
            "" => Err(Error::setting("label-separator", "empty", "expected auto, none or what separates labels")),
            text => Ok(LabelSeparator::Text(text.to_string())),
        }
    }
}

/// Labels of rows, by name.
#[derive(Debug, Default)]
pub struct RowLabels {
    /// Those of all rows, one after the other; no label may be an empty text.
    pub names: Texts,
    /// Where the labels of each row start and the end of the last; `None` if each row has one.
    starts: Option<Vec<u32>>,
    /// How several labels of one row were written, for notes.
    written: &'static str,
}

impl From<Texts> for RowLabels {
    fn from(names: Texts) -> RowLabels {
        RowLabels { names, starts: None, written: "" }
    }
}

impl RowLabels {
    /// Of rows with any number of labels each, which were written in this way.
    pub fn several<R: IntoIterator<Item: AsRef<str>>>(
        rows: impl IntoIterator<Item = R>,
        written: &'static str,
    ) -> RowLabels {
        let (mut names, mut starts) = (Texts::default(), vec![0]);
        for row in rows {
            row.into_iter().for_each(|name| names.push(name.as_ref()));
            starts.push(names.len() as u32);
        }
        RowLabels { names, starts: Some(starts), written }
    }

    /// Of rows whose labels stand one after the other, from these places on.
    pub fn from_starts(names: Texts, starts: Vec<u32>, written: &'static str) -> RowLabels {
        RowLabels { names, starts: Some(starts), written }
    }

    /// The labels that cells hold as lists, if they are lists; and a remark on how they are separated. `has_repeats` says whether ids repeat.
    pub fn from_cells(
        path: &Path,
        cells: Texts,
        separator: &LabelSeparator,
        has_repeats: impl FnOnce() -> bool,
    ) -> (RowLabels, Option<String>) {
        let chosen = match separator {
            LabelSeparator::None => return (cells.into(), None),
            LabelSeparator::Text(text) => Some(Separator::Text(text.clone())),
            LabelSeparator::Auto => Separator::find(&cells).filter(|_| !has_repeats()),
        };
        let Some(chosen) = chosen else { return (cells.into(), None) };
        let labels = RowLabels::several(cells.iter().map(|cell| chosen.split(cell)), "lists");
        let how = match &chosen {
            Separator::Brackets => "in brackets".to_string(),
            Separator::Text(text) => format!("separated by `{text}`"),
        };
        let is_open = *separator == LabelSeparator::Auto;
        let note = is_open
            .then(|| format!("labels in {} are lists {how}; they can be taken as one label each", path.display()));
        (labels, note)
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.starts.as_ref().map_or(self.names.len(), |starts| starts.len() - 1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How several labels of one row were written, in words; empty if each row has one.
    pub fn written(&self) -> &'static str {
        self.written
    }

    /// How many rows have a label.
    pub fn num_labelled(&self) -> usize {
        (0..self.len()).filter(|&row| self.places(row).any(|at| !self.names[at].is_empty())).count()
    }

    /// The same labels under other names, one for each as it is now.
    pub fn renamed(self, names: Texts) -> RowLabels {
        RowLabels { names, ..self }
    }

    /// The places of the labels of a row among all.
    pub fn places(&self, row: usize) -> std::ops::Range<usize> {
        match &self.starts {
            None => row..row + 1,
            Some(starts) => starts[row] as usize..starts[row + 1] as usize,
        }
    }
}

/// How lists in cells are written.
#[derive(Debug, PartialEq)]
enum Separator {
    /// `[a, b]`, `['a', "b"]`, also with round or curly brackets.
    Brackets,
    Text(String),
}

impl Separator {
    /// What separates the labels in cells, if they are lists.
    fn find(cells: &Texts) -> Option<Separator> {
        let mut filled = cells.iter().filter(|cell| !cell.is_empty()).peekable();
        filled.peek()?;
        if filled.clone().all(|cell| inside_brackets(cell).is_some()) {
            return Some(Separator::Brackets);
        }
        let text = [";", "|", ","].into_iter().find(|text| filled.clone().any(|cell| cell.contains(text)))?;
        let separator = Separator::Text(text.to_string());
        // A comma may be part of the name of a class; lists are made of fewer parts than there are lists.
        let is_list = text != "," || {
            let cells: HashSet<&str> = filled.collect();
            let parts: HashSet<&str> = cells.iter().flat_map(|cell| separator.split(cell)).collect();
            parts.len() <= cells.len()
        };
        is_list.then_some(separator)
    }

    /// The labels in a cell.
    fn split<'a>(&self, cell: &'a str) -> Vec<&'a str> {
        let parts: Vec<&str> = match self {
            Separator::Text(text) => cell.split(text.as_str()).collect(),
            Separator::Brackets => outside_quotes(inside_brackets(cell).unwrap_or(cell)),
        };
        let unquoted = |part: &'a str| {
            let part = part.trim();
            let inside = |quote: char| part.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
            if *self == Separator::Brackets { inside('"').or(inside('\'')).unwrap_or(part) } else { part }
        };
        parts.into_iter().map(unquoted).filter(|part| !part.is_empty()).collect()
    }
}

fn inside_brackets(cell: &str) -> Option<&str> {
    let cell = cell.trim();
    [('[', ']'), ('(', ')'), ('{', '}')]
        .into_iter()
        .find_map(|(open, close)| cell.strip_prefix(open).and_then(|rest| rest.strip_suffix(close)))
}

/// Parts between commas that are not within quotes.
fn outside_quotes(text: &str) -> Vec<&str> {
    let (mut quote, mut before) = (None, ' ');
    text.split(move |letter: char| {
        let is_comma = quote.is_none() && letter == ',';
        match quote {
            Some(open) if letter == open => quote = None,
            // A quote in the middle of a word is an apostrophe.
            None if matches!(letter, '"' | '\'') && matches!(before, ' ' | ',') => quote = Some(letter),
            _ => {}
        }
        before = letter;
        is_comma
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists(cells: &[&str], separator: &LabelSeparator) -> Vec<Vec<String>> {
        let cells: Texts = cells.iter().collect();
        let (labels, _) = RowLabels::from_cells(Path::new("labels.csv"), cells, separator, || false);
        let row = |row| labels.places(row).map(|at| labels.names[at].to_string()).collect();
        (0..labels.len()).map(row).collect()
    }

    #[test]
    fn lists_are_recognised_by_what_stands_between_their_labels() {
        let auto = LabelSeparator::Auto;
        assert_eq!(lists(&["a;b", "c", ""], &auto), [vec!["a", "b"], vec!["c"], vec![]]);
        assert_eq!(lists(&["a | b", "b|c|"], &auto), [["a", "b"], ["b", "c"]]);
        assert_eq!(lists(&["a,b", "b,c", "a,c"], &auto), [["a", "b"], ["b", "c"], ["a", "c"]]);
        for cells in
            [["[\"a, x\",\"b\"]", "[]"], ["['a, x', 'b']", "[]"], ["('a, x', 'b')", "()"], ["{'a, x', 'b'}", "{}"]]
        {
            assert_eq!(lists(&cells, &auto), [vec!["a, x", "b"], vec![]], "{cells:?}");
        }
        assert_eq!(lists(&["[it's, b]", "[1, 2]"], &auto), [["it's", "b"], ["1", "2"]]);
    }

    #[test]
    fn a_comma_in_the_name_of_a_class_is_no_list_and_the_user_has_the_last_word() {
        let names = ["neural, nets", "theory", "neural, nets"];
        assert_eq!(lists(&names, &LabelSeparator::Auto), [[names[0]], [names[1]], [names[2]]]);
        assert_eq!(lists(&["a;b", "c"], &LabelSeparator::None), [["a;b"], ["c"]]);
        assert_eq!(lists(&["a;b//c"], &LabelSeparator::Text("//".into())), [["a;b", "c"]]);
        assert!("".parse::<LabelSeparator>().is_err());
        assert_eq!("//".parse::<LabelSeparator>().unwrap(), LabelSeparator::Text("//".into()));
        // Where ids repeat, each row has a label.
        let cells: Texts = ["a;b", "c"].iter().collect();
        let (labels, note) = RowLabels::from_cells(Path::new("x"), cells, &LabelSeparator::Auto, || true);
        assert_eq!((labels.len(), labels.names.len(), note), (2, 2, None));
    }
}
