//! One line of an edge list.

use super::layout::EdgeLayout;
use crate::text_table::{BadLine, ParsedLine, Separator, TextTable, attribute, attributes_start};
use std::borrow::Cow;

/// The used columns of a line.
pub(super) struct EdgeRow<'a> {
    pub source: Cow<'a, str>,
    pub target: Cow<'a, str>,
    pub weight: Option<f32>,
    pub graph: Option<Cow<'a, str>>,
}

impl<'a> EdgeRow<'a> {
    pub fn parse(
        text: &'a str,
        line: usize,
        layout: &EdgeLayout,
        table: &TextTable,
        fields: &mut Vec<Cow<'a, str>>,
    ) -> ParsedLine<EdgeRow<'a>> {
        let wrong = |problem: String| BadLine::new(line, problem);
        let mut columns = text;
        let mut in_attributes = None;
        if let Some(key) = &layout.attributes {
            let start = attributes_start(text);
            let start = start
                .ok_or_else(|| wrong(format!("`{}` has no {{...}} at its end, as the lines above", text.trim())))?;
            columns = text[..start].trim_end_matches([' ', '\t', ',', ';']);
            in_attributes = match key {
                None => None,
                Some(key) => {
                    let found = attribute(&text[start..], key).map_err(wrong)?;
                    let missing = || wrong(format!("`{}` has no `{key}`, as the lines above", text[start..].trim()));
                    Some(found.ok_or_else(missing)?)
                }
            };
        }
        table.split(columns, layout.width, fields).map_err(wrong)?;
        let (count, width) = (fields.len(), layout.width);
        if count < 2 {
            return Err(wrong(format!("`{}` is one column; an edge needs two ids", text.trim())));
        }
        if count != width {
            return Err(wrong(format!("{count} columns, but the lines above have {width}")));
        }
        let mut take = |column: usize| match std::mem::take(&mut fields[column]) {
            field if field.is_empty() => Err(wrong(format!("column {} is empty", column + 1))),
            field => Ok(field),
        };
        let (source, target) = (take(layout.source)?, take(layout.target)?);
        let weight = match (layout.weight.map(&mut take).transpose()?, in_attributes) {
            (None, None) => None,
            (column, attribute) => {
                let text = column.or(attribute.map(Cow::Borrowed)).unwrap_or_default();
                match text.parse::<f32>() {
                    Ok(weight) if weight.is_finite() && weight > 0.0 => Some(weight),
                    _ => return Err(wrong(format!("weight `{text}` is not a positive number"))),
                }
            }
        };
        Ok(EdgeRow { source, target, weight, graph: layout.graph.map(take).transpose()? })
    }
}

/// `12,34` or `12,34,0.5` at the start of a line, and where the next begins. Other lines are parsed by `EdgeRow`.
pub(super) fn plain_line(
    bytes: &[u8],
    at: usize,
    separator: Separator,
    weighted: bool,
) -> Option<([u32; 2], Option<f32>, usize)> {
    let (source, at) = digits(bytes, at)?;
    let at = separated(bytes, at, separator)?;
    let (target, mut at) = digits(bytes, at)?;
    let mut weight = None;
    if weighted {
        let start = separated(bytes, at, separator)?;
        let length = bytes[start..].iter().position(|byte| matches!(byte, b'\n' | b'\r'))?;
        let text = std::str::from_utf8(&bytes[start..start + length]).ok()?;
        weight = Some(text.parse().ok().filter(|weight: &f32| weight.is_finite() && *weight > 0.0)?);
        at = start + length;
    }
    match bytes[at..] {
        [b'\n', ..] => Some(([source, target], weight, at + 1)),
        [b'\r', b'\n', ..] => Some(([source, target], weight, at + 2)),
        _ => None,
    }
}

/// A number of up to seven digits without zeros in front, and where it ends.
#[inline]
fn digits(bytes: &[u8], start: usize) -> Option<(u32, usize)> {
    // All digits at once: a loop would mispredict the end of every number.
    let word = u64::from_le_bytes(*bytes.get(start..)?.first_chunk()?) ^ 0x3030_3030_3030_3030;
    let others = (word.wrapping_add(0x7676_7676_7676_7676) | word) & 0x8080_8080_8080_8080;
    let count = others.trailing_zeros() / 8;
    if count == 0 || count == 8 || (count > 1 && bytes[start] == b'0') {
        return None;
    }
    // The last digit at the top and zeros below; then pairs, fours and eights are joined.
    let word = word << (64 - 8 * count);
    let pairs = word.wrapping_mul(10).wrapping_add(word >> 8);
    let upper = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
    let lower = (pairs >> 16 & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
    Some(((upper.wrapping_add(lower) >> 32) as u32, start + count as usize))
}

#[inline]
fn separated(bytes: &[u8], mut at: usize, separator: Separator) -> Option<usize> {
    match separator {
        Separator::Byte(byte) => (bytes.get(at) == Some(&byte)).then_some(at + 1),
        Separator::Blanks => {
            let start = at;
            while bytes.get(at) == Some(&b' ') {
                at += 1;
            }
            (at > start).then_some(at)
        }
    }
}

/// Two plain names with one separator. Other lines are parsed by `EdgeRow`.
pub(super) fn plain_pair(line: &str, separator: Separator) -> Option<[&str; 2]> {
    let separator = match separator {
        Separator::Byte(byte) => byte,
        Separator::Blanks => b' ',
    };
    let bytes = line.as_bytes();
    let mut between = None;
    for (at, &byte) in bytes.iter().enumerate() {
        if byte == separator {
            if between.replace(at).is_some() {
                return None;
            }
        } else if byte <= b'"' || byte >= 0x7f {
            // A blank, a quote, or beyond ASCII, where there are more kinds of blanks.
            return None;
        }
    }
    let (source, target) = (&line[..between?], &line[between? + 1..]);
    (!source.is_empty() && !target.is_empty()).then_some([source, target])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_read_at_once_as_one_by_one() {
        for number in (0..10_000_000u32).step_by(997).chain([0, 9, 10, 99, 100, 9_999_999]) {
            for behind in [",", " ", "\n", "x", "\u{ff}"] {
                let text = format!("{number}{behind}       ");
                assert_eq!(digits(text.as_bytes(), 0), Some((number, number.to_string().len())), "{text}");
            }
        }
        for other in ["07,      ", ",1       ", "12345678 ", "12", "-1      ", "\u{ff}        "] {
            assert_eq!(digits(other.as_bytes(), 0), None, "{other}");
        }
    }
}
