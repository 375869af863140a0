//! Text inside XML and HTML.

/// Text as XML content or within quotes. Characters that XML forbids even when escaped become the replacement character.
pub(super) fn escaped(text: &str) -> String {
    let mut content = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => content.push_str("&amp;"),
            '<' => content.push_str("&lt;"),
            '>' => content.push_str("&gt;"),
            '"' => content.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => content.push(char::REPLACEMENT_CHARACTER),
            c if c.is_ascii_control() && !c.is_ascii_whitespace() => content.push(char::REPLACEMENT_CHARACTER),
            c => content.push(c),
        }
    }
    content
}
