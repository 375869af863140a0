//! Writing csv.

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
    fn what_is_written_is_read() {
        let fields = ["plain", "a, b", "say \"x\"", "#1", "", "Zürich"];
        let line = fields.map(csv_field).join(",");
        assert_eq!(line, "plain,\"a, b\",\"say \"\"x\"\"\",\"#1\",,Zürich");
        let mut read = Vec::new();
        Separator::Byte(b',').split(&line, &mut read).unwrap();
        assert_eq!(read, fields);
    }
}
