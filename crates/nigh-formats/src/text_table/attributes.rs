//! What networkx writes behind an edge: a dictionary of Python, such as `{'weight': 2, 'kind': 'road'}`.

use crate::error::Parsed;

/// Where the dictionary at the end of a line begins, if there is one behind a separator.
pub fn attributes_start(line: &str) -> Option<usize> {
    let line = line.trim_end().strip_suffix('}')?;
    let opens = line.match_indices('{').map(|found| found.0);
    opens.into_iter().find(|&at| line[..at].ends_with([' ', '\t', ',', ';']))
}

/// The value of a key, as it is written.
pub fn attribute<'a>(dictionary: &'a str, key: &str) -> Parsed<Option<&'a str>> {
    let wrong = || format!("`{}` is not a dictionary such as {{'weight': 2}}", dictionary.trim());
    let mut rest = dictionary.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).ok_or_else(wrong)?;
    let mut found = None;
    while !rest.trim().is_empty() {
        let colon = outside_end(rest, ':').ok_or_else(wrong)?;
        let end = outside_end(&rest[colon + 1..], ',').map_or(rest.len(), |end| colon + 1 + end);
        let name = rest[..colon].trim();
        let name = name.strip_prefix(['\'', '"']).and_then(|name| name.strip_suffix(['\'', '"'])).ok_or_else(wrong)?;
        if name == key {
            found = Some(rest[colon + 1..end].trim());
        }
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    Ok(found)
}

/// Where a character comes outside of quotes and brackets.
fn outside_end(text: &str, wanted: char) -> Option<usize> {
    let (mut quote, mut depth, mut escaped) = (None, 0, false);
    for (at, character) in text.char_indices() {
        match (quote, character) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(character),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth -= 1,
            (None, _) if character == wanted && depth == 0 => return Some(at),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_dictionary_is_found_at_the_end_of_a_line() {
        let rest = |line: &'static str| attributes_start(line).map(|at| &line[at..]);
        assert_eq!(rest("1 2 {}\r"), Some("{}\r"));
        assert_eq!(rest("a{b} c {'x': {}}"), Some("{'x': {}}"));
        assert_eq!(rest("a,b,{'x': 1}"), Some("{'x': 1}"));
        assert_eq!((rest("a b"), rest("a {b"), rest("{a}"), rest("a b{c}")), (None, None, None, None));
    }

    #[test]
    fn a_value_is_found_by_its_key() {
        let value = |text: &'static str| attribute(text, "weight").unwrap();
        assert_eq!(value("{}"), None);
        assert_eq!(value("{'weight': 2.5}"), Some("2.5"));
        assert_eq!(value("{'a': 'x, \\'weight\\': 1', \"b\": [1, {'weight': 7}], 'weight': 3,}"), Some("3"));
        assert_eq!(value("{'name': 'weight: 4'}"), None);
        for wrong in ["{weight: 1}", "{'weight'}", "{1: 2}", "x"] {
            assert!(attribute(wrong, "weight").unwrap_err().contains("is not a dictionary"), "{wrong}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn no_text_makes_it_panic(text in "[{}'\":, \\\\a\u{fc}\\[\\]]{0,30}") {
            let _ = (attributes_start(&text).map(|at| attribute(&text[at..], "a")), attribute(&text, "a"));
        }
    }
}
