//! The header of a `.npy` array: a Python dictionary that names the type of the entries, their order and the shape.

use crate::error::Parsed;

const MAX_RANK: usize = 8;

/// The type of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    Bool,
    Int(usize),
    Uint(usize),
    Float(usize),
    /// So many bytes of ASCII, padded with zeros.
    Bytes(usize),
    /// So many characters of four bytes, padded with zeros.
    Characters(usize),
}

/// A header: `{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }`.
#[derive(Debug, PartialEq)]
pub struct NpyHeader {
    descr: String,
    pub fortran_order: bool,
    pub shape: Vec<u64>,
}

impl NpyHeader {
    pub fn parse(bytes: &[u8]) -> Parsed<NpyHeader> {
        let text = std::str::from_utf8(bytes).map_err(|_| "its header is not text")?;
        let mut literal = Literal { text, at: 0 };
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        literal.expect('{')?;
        while !literal.accept('}') {
            let key = literal.string()?;
            literal.expect(':')?;
            let repeated = match key {
                "descr" => descr.replace(literal.string()?.to_string()).is_some(),
                "fortran_order" => fortran_order.replace(literal.boolean()?).is_some(),
                "shape" => shape.replace(literal.shape()?).is_some(),
                _ => return Err(format!("its header names an unknown `{key}`")),
            };
            if repeated {
                return Err(format!("its header names `{key}` twice"));
            }
            if !literal.accept(',') {
                literal.expect('}')?;
                break;
            }
        }
        if !literal.rest().is_empty() {
            return Err(literal.unexpected("the end"));
        }
        let missing = |key: &str| format!("its header lacks `{key}`");
        Ok(NpyHeader {
            descr: descr.ok_or_else(|| missing("descr"))?,
            fortran_order: fortran_order.ok_or_else(|| missing("fortran_order"))?,
            shape: shape.ok_or_else(|| missing("shape"))?,
        })
    }

    /// The type of the entries, and whether their highest byte comes first.
    pub fn kind(&self) -> Parsed<(EntryKind, bool)> {
        let descr = self.descr.as_str();
        let (order, name) = match descr.split_at_checked(1) {
            Some((order @ ("<" | ">" | "|"), name)) => (order, name),
            _ => ("", descr),
        };
        let kind = match name {
            "b1" => EntryKind::Bool,
            "i1" => EntryKind::Int(1),
            "i2" => EntryKind::Int(2),
            "i4" => EntryKind::Int(4),
            "i8" => EntryKind::Int(8),
            "u1" => EntryKind::Uint(1),
            "u2" => EntryKind::Uint(2),
            "u4" => EntryKind::Uint(4),
            "u8" => EntryKind::Uint(8),
            "f2" => EntryKind::Float(2),
            "f4" => EntryKind::Float(4),
            "f8" => EntryKind::Float(8),
            _ if text_length(name, 'S').is_some() => EntryKind::Bytes(text_length(name, 'S').unwrap_or_default()),
            _ if text_length(name, 'U').is_some() => EntryKind::Characters(text_length(name, 'U').unwrap_or_default()),
            _ if name.starts_with('O') => {
                return Err("holds pickled Python objects, which are never read; save it as plain numbers".into());
            }
            _ => return Err(format!("has entries of type `{descr}`; expected bool, int, uint, float or short texts")),
        };
        match (order, kind.size()) {
            _ if matches!(kind, EntryKind::Bytes(_)) => Ok((kind, false)),
            ("<" | ">", _) | (_, 1) => Ok((kind, order == ">")),
            _ => Err(format!("has entries of type `{descr}` without a byte order")),
        }
    }

    /// Length of the entries in bytes; an error if no file could hold them.
    pub fn num_bytes(&self, kind: EntryKind) -> Parsed<u64> {
        let times = |product: u64, side: u64| product.checked_mul(side);
        let claims = || {
            let sides: Vec<String> = self.shape.iter().map(u64::to_string).collect();
            format!("claims {} entries, more than any file holds", sides.join(" × "))
        };
        let sides = self.shape.iter().copied();
        // A side of zero does not excuse the others.
        let full = sides.clone().map(|side| side.max(1)).try_fold(kind.size() as u64, times);
        let full = full.filter(|&bytes| isize::try_from(bytes).is_ok()).ok_or_else(claims)?;
        match sides.min() {
            Some(0) if full > super::LIMIT => Err(claims()),
            Some(0) => Ok(0),
            _ => Ok(full),
        }
    }
}

impl EntryKind {
    fn size(self) -> usize {
        match self {
            EntryKind::Bool => 1,
            EntryKind::Int(size) | EntryKind::Uint(size) | EntryKind::Float(size) | EntryKind::Bytes(size) => size,
            EntryKind::Characters(count) => 4 * count,
        }
    }
}

/// The length in `S12` or `U12`, from 1 to 4096.
fn text_length(name: &str, kind: char) -> Option<usize> {
    name.strip_prefix(kind)?.parse().ok().filter(|length| (1..=4096).contains(length))
}

/// A parser of the Python literals that headers use.
struct Literal<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Literal<'a> {
    /// What is left, without leading blanks.
    fn rest(&mut self) -> &'a str {
        let rest = self.text[self.at..].trim_start();
        self.at = self.text.len() - rest.len();
        rest
    }

    fn accept(&mut self, wanted: char) -> bool {
        let found = self.rest().starts_with(wanted);
        self.at += if found { wanted.len_utf8() } else { 0 };
        found
    }

    fn expect(&mut self, wanted: char) -> Parsed<()> {
        if self.accept(wanted) { Ok(()) } else { Err(self.unexpected(&format!("`{wanted}`"))) }
    }

    fn string(&mut self) -> Parsed<&'a str> {
        let rest = self.rest();
        let quoted = ['\'', '"'].iter().find_map(|&quote| rest.strip_prefix(quote)?.split_once(quote));
        let (string, _) = quoted.ok_or_else(|| self.unexpected("a quoted word"))?;
        self.at += string.len() + 2;
        Ok(string)
    }

    fn boolean(&mut self) -> Parsed<bool> {
        let rest = self.rest();
        let word = ["True", "False"].into_iter().find(|word| rest.starts_with(word));
        let word = word.ok_or_else(|| self.unexpected("True or False"))?;
        self.at += word.len();
        Ok(word == "True")
    }

    fn shape(&mut self) -> Parsed<Vec<u64>> {
        let mut shape = Vec::new();
        self.expect('(')?;
        while !self.accept(')') {
            if shape.len() == MAX_RANK {
                return Err(format!("has more than {MAX_RANK} dimensions"));
            }
            shape.push(self.side()?);
            if !self.accept(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(shape)
    }

    fn side(&mut self) -> Parsed<u64> {
        let rest = self.rest();
        let length = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        if let Some(negative) = rest.strip_prefix('-') {
            return Err(format!("has a negative dimension, -{}", &negative[..length(negative)]));
        }
        let digits = &rest[..length(rest)];
        if digits.is_empty() {
            return Err(self.unexpected("a dimension"));
        }
        self.at += digits.len();
        // Python 2 wrote long numbers as 3L.
        self.accept('L');
        digits.parse().map_err(|_| format!("has a dimension of {digits}, more than any file holds"))
    }

    fn unexpected(&mut self, wanted: &str) -> String {
        let found: String = self.rest().chars().take(20).collect();
        format!("its header reads `{found}` where {wanted} is expected")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        let read = NpyHeader::parse(text.as_bytes()).and_then(|header| header.kind());
        read.unwrap_err()
    }

    #[test]
    fn keys_come_in_any_order_and_blanks_do_not_matter() {
        let expected = NpyHeader { descr: "<f8".into(), fortran_order: true, shape: vec![3, 4] };
        for text in [
            "{'descr': '<f8', 'fortran_order': True, 'shape': (3, 4), }          \n",
            "{ \"shape\" : ( 3L , 4L , ) , \"fortran_order\" : True,\"descr\":\"<f8\"}",
        ] {
            assert_eq!(NpyHeader::parse(text.as_bytes()).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn errors_show_what_was_found() {
        assert_eq!(problem(""), "its header reads `` where `{` is expected");
        assert_eq!(problem("{'descr': <f8}"), "its header reads `<f8}` where a quoted word is expected");
        assert_eq!(problem("{'fortran_order': 0}"), "its header reads `0}` where True or False is expected");
        assert_eq!(problem("{'shape': (a)}"), "its header reads `a)}` where a dimension is expected");
        assert_eq!(problem("{'shape': (1 2)}"), "its header reads `2)}` where `)` is expected");
        assert_eq!(problem("{'shape': (), 'shape': ()}"), "its header names `shape` twice");
        assert_eq!(problem("{'size': 3}"), "its header names an unknown `size`");
        assert_eq!(problem("{'shape': ()} more"), "its header reads `more` where the end is expected");
        assert_eq!(problem("{'descr': '<f8', 'shape': ()}"), "its header lacks `fortran_order`");
        assert_eq!(NpyHeader::parse(b"{'\xff").unwrap_err(), "its header is not text");
    }

    #[test]
    fn types_without_numbers_are_refused() {
        let of = |descr: &str| problem(&format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ()}}"));
        assert!(of("|O").starts_with("holds pickled Python objects"));
        for descr in ["<U0", "|S99999", "<c16", "ü"] {
            let expected = "expected bool, int, uint, float or short texts";
            assert_eq!(of(descr), format!("has entries of type `{descr}`; {expected}"));
        }
        assert_eq!(of("|f8"), "has entries of type `|f8` without a byte order");
        let records = "{'descr': [('x', '<f8')], 'fortran_order': False, 'shape': ()}";
        assert_eq!(problem(records), "its header reads `[('x', '<f8')], 'for` where a quoted word is expected");
    }
}
