//! Writing csv.

use std::borrow::Cow;

/// What becomes of texts that a spreadsheet would execute when it opens a csv file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Formulas {
    /// Texts are written as they are.
    #[default]
    Kept,
    /// An apostrophe in front makes them plain text, and is part of the text for every other program.
    Escaped,
}

impl Formulas {
    /// A csv field, quoted where necessary.
    pub fn field(self, text: &str) -> String {
        csv_field(&self.text(text))
    }

    /// Texts that begin with `=`, `+`, `-`, `@`, a tab or a carriage return, but for numbers, which mean what they say.
    fn text(self, text: &str) -> Cow<'_, str> {
        let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err();
        match self {
            Formulas::Escaped if is_formula => format!("'{text}").into(),
            _ => text.into(),
        }
    }
}

/// A csv field, quoted where necessary.
pub fn csv_field(text: &str) -> String {
    // A line that starts with `#` would be read as a comment.
    if text.contains([',', '"', '\n', '\r']) || text.starts_with('#') {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text_table::Separator;

    #[test]
    fn what_a_spreadsheet_would_execute_is_escaped_if_wanted() {
        let formulas = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "=HYPERLINK(\"x\",\"y\")"];
        for text in formulas {
            assert_eq!(Formulas::Kept.field(text), csv_field(text));
            assert_eq!(Formulas::Escaped.field(text), csv_field(&format!("'{text}")));
        }
        for text in ["-5", "+1e-3", "-0.25", "a=b", "", "'quoted"] {
            assert_eq!(Formulas::Escaped.field(text), csv_field(text));
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let fields = ["plain", "a, b", "say \"x\"", "#1", "", "Zürich"];
        let line = fields.map(csv_field).join(",");
        assert_eq!(line, "plain,\"a, b\",\"say \"\"x\"\"\",\"#1\",,Zürich");
        let mut read = Vec::new();
        Separator::Byte(b',').split(&line, &mut read).unwrap();
        assert_eq!(read, fields);
    }
}
