//! The names of nodes in the user's files.

use crate::Texts;
use crate::records::RecordColumn;
use rayon::prelude::*;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;

/// The names of nodes.
#[derive(Debug, Clone, PartialEq)]
pub enum Ids {
    /// `0`, `1`, ...
    Numbers(usize),
    /// Integers.
    Integers(Vec<i64>),
    /// Any texts.
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

    /// As `from_names`, of integers.
    pub fn from_integers(numbers: Vec<i64>) -> Ids {
        let counted = numbers.iter().enumerate().all(|(at, &number)| number == at as i64);
        if counted { Ids::Numbers(numbers.len()) } else { Ids::Integers(numbers) }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        match self {
            Ids::Numbers(len) => *len,
            Ids::Integers(numbers) => numbers.len(),
            Ids::Names(names) => names.len(),
        }
    }

    /// Bytes in memory.
    pub fn num_bytes(&self) -> usize {
        match self {
            Ids::Numbers(_) => 0,
            Ids::Integers(numbers) => size_of_val(&numbers[..]),
            Ids::Names(names) => names.iter().map(|name| name.len() + size_of::<usize>()).sum(),
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

    /// The name of a node as an integer, if all names are integers.
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

    /// An error if a node has no name, or the name of another. The first of them is number `first`.
    pub fn check_distinct(&self, first: usize) -> Result<(), String> {
        let compare: &(dyn Fn(u32, u32) -> Ordering + Sync) = match self {
            Ids::Numbers(_) => return Ok(()),
            Ids::Integers(numbers) if numbers.is_sorted_by(|a, b| a < b) => return Ok(()),
            Ids::Integers(numbers) => &|a, b| numbers[a as usize].cmp(&numbers[b as usize]),
            Ids::Names(names) => {
                if let Some(node) = names.iter().position(str::is_empty) {
                    return Err(format!("node {} has an empty name; give every node a name of its own", first + node));
                }
                if names.iter().is_sorted_by(|a, b| a < b) {
                    return Ok(());
                }
                &|a, b| names[a as usize].cmp(&names[b as usize])
            }
        };
        let mut order: Vec<u32> = (0..self.len() as u32).collect();
        order.par_sort_unstable_by(|&a, &b| compare(a, b).then(a.cmp(&b)));
        match order.windows(2).find(|pair| compare(pair[0], pair[1]).is_eq()) {
            None => Ok(()),
            Some(pair) => {
                let [a, b] = [pair[0], pair[1]].map(|node| first + node as usize);
                let name = self.name(pair[0] as usize);
                Err(format!("nodes {a} and {b} are both called `{name}`; give every node a name of its own"))
            }
        }
    }

    /// Finds nodes by name.
    pub fn lookup(&self) -> IdLookup<'_> {
        match self {
            Ids::Numbers(len) => IdLookup::Numbers(*len),
            Ids::Integers(numbers) if numbers.is_sorted() => IdLookup::Sorted(numbers),
            Ids::Integers(numbers) => IdLookup::Integers(numbers.iter().copied().zip(0..).collect()),
            Ids::Names(names) => IdLookup::Names(names.iter().zip(0..).collect()),
        }
    }
}

/// Integers if all names are printed as such, texts otherwise.
impl From<&Ids> for RecordColumn {
    fn from(ids: &Ids) -> RecordColumn {
        match ids {
            Ids::Numbers(count) => RecordColumn::Counter(*count),
            Ids::Integers(numbers) => RecordColumn::from_integers(numbers.iter().copied()),
            Ids::Names(names) => RecordColumn::Texts(names.clone().into()),
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
pub enum IdLookup<'a> {
    /// Names are numbers of nodes.
    Numbers(usize),
    /// Names are ascending integers.
    Sorted(&'a [i64]),
    /// Names are integers.
    Integers(HashMap<i64, u32>),
    /// Names are texts.
    Names(HashMap<&'a str, u32>),
}

impl IdLookup<'_> {
    /// The node of this name. `7.0` is found as `7` and the reverse, since programs write integers as either.
    pub fn find(&self, name: &str) -> Option<u32> {
        match self {
            IdLookup::Names(names) => {
                let other = || respelled(name).and_then(|name| names.get(name.as_str()));
                names.get(name).or_else(other).copied()
            }
            _ => self.find_integer(whole_number(name.as_bytes()).or_else(|| whole_float(name))?),
        }
    }

    /// The node with this integer as its name.
    pub fn find_integer(&self, number: i64) -> Option<u32> {
        match self {
            IdLookup::Numbers(len) => (0..*len as i64).contains(&number).then_some(number as u32),
            IdLookup::Sorted(numbers) => numbers.binary_search(&number).ok().map(|node| node as u32),
            IdLookup::Integers(numbers) => numbers.get(&number).copied(),
            IdLookup::Names(names) => names.get(number.to_string().as_str()).copied(),
        }
    }
}

/// A whole number that is printed with a fraction of zero, such as `7.0`.
pub fn whole_float(text: &str) -> Option<i64> {
    let (number, zeros) = text.split_once('.')?;
    let is_whole = !zeros.is_empty() && zeros.bytes().all(|digit| digit == b'0');
    is_whole.then(|| whole_number(number.as_bytes()))?
}

/// `7` for `7.0`, and the reverse.
fn respelled(name: &str) -> Option<String> {
    let number = || whole_number(name.as_bytes()).map(|number| format!("{number}.0"));
    whole_float(name).map(|number| number.to_string()).or_else(number)
}

/// A whole number in the one way in which it is printed; `007`, `+7` and `-0` are names, not numbers.
pub fn whole_number(text: &[u8]) -> Option<i64> {
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
    use crate::columnar::{ColumnValues, Columnar};
    use crate::records::Records;
    use std::path::Path;

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
            assert_eq!((lookup.find("13"), lookup.find("13.0"), lookup.find("7.5")), (None, None, None));
            assert_eq!(lookup.find("7.0"), lookup.find("7"));
            assert_eq!(ids.select(&[2, 0]).iter().collect::<Vec<_>>(), [names[2], names[0]]);
        }
    }

    #[test]
    fn written_ids_are_integers_only_if_all_are_printed_as_such() {
        let written = |ids: &Ids| {
            let bytes = Records::default().with("id", ids.into()).to_parquet();
            let file = Columnar::from_bytes(Path::new("x"), bytes).unwrap();
            file.batches(&[0]).unwrap().next().unwrap().unwrap().columns.remove(0)
        };
        assert_eq!(written(&Ids::from_names(["7", "-3", "0"])), ColumnValues::Integers(vec![7, -3, 0]));
        for names in [["7", "x"], ["7", "007"], ["7", "+1"], ["7", "99999999999999999999"], ["7", "1.0"], ["7", "-0"]] {
            let ColumnValues::Texts(texts) = written(&Ids::from_names(names)) else { panic!("{names:?}") };
            assert_eq!(texts.iter().collect::<Vec<_>>(), names);
        }
        assert_eq!(written(&Ids::Numbers(3)), ColumnValues::Integers(vec![0, 1, 2]));
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
