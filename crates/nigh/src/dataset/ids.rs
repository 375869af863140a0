//! What the user calls the nodes.

use super::Texts;
use std::borrow::Cow;
use std::collections::HashMap;

/// The names of nodes.
#[derive(Debug, Clone, PartialEq)]
pub enum Ids {
    /// Nodes are called `0`, `1`, ...
    Numbers(usize),
    /// Nodes are called by whole numbers.
    Integers(Vec<i64>),
    /// Nodes have names of their own.
    Names(Texts),
}

impl Ids {
    /// In the smallest form that holds them all.
    pub fn from_names<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> Ids {
        Ids::from_texts(names.into_iter().collect())
    }

    /// As `from_names`.
    pub fn from_texts(names: Texts) -> Ids {
        match names.iter().map(|name| whole_number(name.as_bytes())).collect() {
            Some(numbers) => Ids::from_integers(numbers),
            None => Ids::Names(names),
        }
    }

    /// As `from_names`, of whole numbers.
    pub fn from_integers(numbers: Vec<i64>) -> Ids {
        let counted = numbers.iter().enumerate().all(|(at, &number)| number == at as i64);
        if counted { Ids::Numbers(numbers.len()) } else { Ids::Integers(numbers) }
    }

    /// How many nodes.
    pub fn len(&self) -> usize {
        match self {
            Ids::Numbers(len) => *len,
            Ids::Integers(numbers) => numbers.len(),
            Ids::Names(names) => names.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name of a node.
    pub fn name(&self, node: usize) -> Cow<'_, str> {
        match self {
            Ids::Numbers(_) => Cow::Owned(node.to_string()),
            Ids::Integers(numbers) => Cow::Owned(numbers[node].to_string()),
            Ids::Names(names) => Cow::Borrowed(&names[node]),
        }
    }

    /// The name of a node as a whole number, if all names are.
    pub fn integer(&self, node: usize) -> Option<i64> {
        match self {
            Ids::Numbers(_) => Some(node as i64),
            Ids::Integers(numbers) => numbers.get(node).copied(),
            Ids::Names(_) => None,
        }
    }

    /// Every name, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Cow<'_, str>> {
        (0..self.len()).map(|node| self.name(node))
    }

    /// The names of some nodes.
    pub fn select(&self, nodes: &[u32]) -> Ids {
        let nodes = nodes.iter().map(|&node| node as usize);
        match self {
            Ids::Names(names) => Ids::Names(nodes.map(|node| &names[node]).collect()),
            _ => Ids::from_integers(nodes.filter_map(|node| self.integer(node)).collect()),
        }
    }

    /// The nodes behind the names.
    pub fn lookup(&self) -> Lookup<'_> {
        match self {
            Ids::Numbers(len) => Lookup::Numbers(*len),
            Ids::Integers(numbers) if numbers.is_sorted() => Lookup::Sorted(numbers),
            Ids::Integers(numbers) => Lookup::Integers(numbers.iter().copied().zip(0..).collect()),
            Ids::Names(names) => Lookup::Names(names.iter().zip(0..).collect()),
        }
    }
}

impl Default for Ids {
    fn default() -> Ids {
        Ids::Numbers(0)
    }
}

/// Finds nodes by their names.
#[derive(Debug)]
pub enum Lookup<'a> {
    /// Each is called by its number.
    Numbers(usize),
    /// Each is called by one of these, which ascend.
    Sorted(&'a [i64]),
    /// Each is called by one of these.
    Integers(HashMap<i64, u32>),
    /// Each has a name.
    Names(HashMap<&'a str, u32>),
}

impl Lookup<'_> {
    /// The node of this name.
    pub fn find(&self, name: &str) -> Option<u32> {
        match self {
            Lookup::Names(names) => names.get(name).copied(),
            _ => self.find_integer(whole_number(name.as_bytes())?),
        }
    }

    /// The node that is called by this number.
    pub fn find_integer(&self, number: i64) -> Option<u32> {
        match self {
            Lookup::Numbers(len) => (0..*len as i64).contains(&number).then_some(number as u32),
            Lookup::Sorted(numbers) => numbers.binary_search(&number).ok().map(|node| node as u32),
            Lookup::Integers(numbers) => numbers.get(&number).copied(),
            Lookup::Names(names) => names.get(number.to_string().as_str()).copied(),
        }
    }
}

/// A whole number in the one way in which it is printed; `007`, `+7` and `-0` are names, not numbers.
pub(crate) fn whole_number(text: &[u8]) -> Option<i64> {
    let (sign, digits) = match text {
        [b'-', digits @ ..] => (-1, digits),
        digits => (1, digits),
    };
    // Eighteen digits fit in any case.
    let printed = match digits {
        [b'0'] => sign == 1,
        [first, ..] => *first != b'0' && digits.len() <= 18,
        [] => false,
    };
    if !printed || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(sign * digits.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_take_the_smallest_form_and_are_found_in_each() {
        for (names, expected) in [
            (vec!["0", "1", "2"], Ids::Numbers(3)),
            (vec!["-5", "7", "12"], Ids::Integers(vec![-5, 7, 12])),
            (vec!["7", "-5", "12"], Ids::Integers(vec![7, -5, 12])),
            (vec!["7", "007", "x"], Ids::Names(["7", "007", "x"].iter().collect())),
        ] {
            let ids = Ids::from_names(&names);
            assert_eq!(ids, expected);
            let lookup = ids.lookup();
            for (node, name) in names.iter().enumerate() {
                assert_eq!((ids.name(node).as_ref(), lookup.find(name)), (*name, Some(node as u32)));
            }
            assert_eq!(lookup.find("13"), None);
            assert_eq!(ids.select(&[2, 0]).iter().collect::<Vec<_>>(), [names[2], names[0]]);
        }
    }

    #[test]
    fn only_what_is_printed_like_a_number_is_one() {
        for (text, number) in [("0", 0), ("-1", -1), ("123456789012345678", 123456789012345678)] {
            assert_eq!(whole_number(text.as_bytes()), Some(number));
        }
        for text in ["", "-", "-0", "00", "01", "+1", "1.0", "1e3", " 1", "1234567890123456789"] {
            assert_eq!(whole_number(text.as_bytes()), None, "{text}");
        }
    }
}
