//! Text that goes into a csv file.

/// A csv field, quoted where it has to be.
pub fn csv_field(text: &str) -> String {
    // A line that starts with `#` would be read as a comment.
    if text.contains([',', '"', '\n', '\r']) || text.starts_with('#') {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_string()
    }
}
