//! From the bytes of a page to values: the encodings of Parquet.

use super::footer::ValueKind;
use super::thrift::Thrift;
use crate::columnar::source::Budget;
use crate::columnar::{Parsed, Texts};
use crate::npy::half;

/// Values of one type.
#[derive(Debug, Clone)]
pub(super) enum DecodedValues {
    Integers(Vec<i64>),
    Numbers(Vec<f32>),
    Texts(Texts),
}

impl DecodedValues {
    pub fn new(kind: ValueKind) -> DecodedValues {
        match kind {
            ValueKind::Half | ValueKind::Float | ValueKind::Double => DecodedValues::Numbers(Vec::new()),
            ValueKind::Text => DecodedValues::Texts(Texts::default()),
            _ => DecodedValues::Integers(Vec::new()),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            DecodedValues::Integers(values) => values.len(),
            DecodedValues::Numbers(values) => values.len(),
            DecodedValues::Texts(texts) => texts.len(),
        }
    }

    /// Appends the values of a page.
    pub fn decode(
        &mut self,
        kind: ValueKind,
        encoding: i64,
        bytes: &[u8],
        count: usize,
        dictionary: Option<&DecodedValues>,
        budget: &mut Budget,
    ) -> Parsed<()> {
        match (encoding, kind) {
            (0, _) => self.plain(kind, bytes, count, budget),
            (2 | 8, _) => {
                let dictionary = dictionary.ok_or("refers to a dictionary that is not there")?;
                let (&width, bytes) = bytes.split_first().ok_or("ends before its values")?;
                self.look_up(dictionary, Hybrid::new(bytes, width)?, count, budget)
            }
            (3, ValueKind::Bool) => {
                let (bytes, _) = behind_length(bytes)?;
                self.integers(|values| {
                    let bits = Hybrid::new(bytes, 1)?;
                    bits.each(count, |bit| {
                        values.push(bit.into());
                        Ok(())
                    })
                })
            }
            (5, ValueKind::Int32) => self.deltas(bytes, count, |value| i64::from(value as i32)),
            (5, ValueKind::Uint32) => self.deltas(bytes, count, |value| i64::from(value as u32)),
            (5, ValueKind::Int64 | ValueKind::Uint64) => self.deltas(bytes, count, |value| value),
            (6, ValueKind::Text) => self.delta_lengths(bytes, count, budget),
            (7, ValueKind::Text) => self.delta_texts(bytes, count, budget),
            (9, ValueKind::Half) => self.plain(kind, &joined::<2>(bytes), count, budget),
            (9, ValueKind::Int32 | ValueKind::Uint32 | ValueKind::Float) => {
                self.plain(kind, &joined::<4>(bytes), count, budget)
            }
            (9, ValueKind::Int64 | ValueKind::Uint64 | ValueKind::Double) => {
                self.plain(kind, &joined::<8>(bytes), count, budget)
            }
            _ => Err(format!("has values in encoding {encoding}, which is not read for {kind:?}")),
        }
    }

    /// Plain values; dictionaries are stored like this too.
    pub fn plain(&mut self, kind: ValueKind, mut bytes: &[u8], count: usize, budget: &mut Budget) -> Parsed<()> {
        match (kind, self) {
            (ValueKind::Bool, DecodedValues::Integers(values)) => {
                let bits = bytes.get(..count.div_ceil(8)).ok_or_else(|| short(bytes.len(), count))?;
                values.extend((0..count).map(|at| i64::from(bits[at / 8] >> (at % 8) & 1)));
            }
            (ValueKind::Int32, DecodedValues::Integers(values)) => {
                values.extend(fixed(bytes, count)?.iter().map(|&item| i64::from(i32::from_le_bytes(item))));
            }
            (ValueKind::Uint32, DecodedValues::Integers(values)) => {
                values.extend(fixed(bytes, count)?.iter().map(|&item| i64::from(u32::from_le_bytes(item))));
            }
            (ValueKind::Int64 | ValueKind::Uint64, DecodedValues::Integers(values)) => {
                values.extend(fixed(bytes, count)?.iter().map(|&item| i64::from_le_bytes(item)));
            }
            (ValueKind::Half, DecodedValues::Numbers(values)) => {
                values.extend(fixed(bytes, count)?.iter().map(|&item| half(u16::from_le_bytes(item))));
            }
            (ValueKind::Float, DecodedValues::Numbers(values)) => {
                values.extend(fixed(bytes, count)?.iter().map(|&item| f32::from_le_bytes(item)));
            }
            (ValueKind::Double, DecodedValues::Numbers(values)) => {
                values.extend(fixed(bytes, count)?.iter().map(|&item| f64::from_le_bytes(item) as f32));
            }
            (ValueKind::Text, DecodedValues::Texts(texts)) => {
                for _ in 0..count {
                    let (text, rest) = behind_length(bytes)?;
                    budget.spend(text.len() as u64)?;
                    texts.push_bytes(text)?;
                    bytes = rest;
                }
            }
            _ => return Err("mixes types".into()),
        }
        Ok(())
    }

    fn look_up(
        &mut self,
        dictionary: &DecodedValues,
        indices: Hybrid<'_>,
        count: usize,
        budget: &mut Budget,
    ) -> Parsed<()> {
        let unknown = |index: u32| format!("names entry {index} of a dictionary of {}", dictionary.len());
        match (self, dictionary) {
            (DecodedValues::Integers(values), DecodedValues::Integers(known)) => {
                gather(values, known, indices, count, unknown)
            }
            (DecodedValues::Numbers(values), DecodedValues::Numbers(known)) => {
                gather(values, known, indices, count, unknown)
            }
            (DecodedValues::Texts(texts), DecodedValues::Texts(known)) => indices.each(count, |index| {
                if index as usize >= known.len() {
                    return Err(unknown(index));
                }
                let text = known.get(index as usize);
                budget.spend(text.len() as u64)?;
                texts.push(text);
                Ok(())
            }),
            _ => Err("mixes types".into()),
        }
    }

    fn integers(&mut self, read: impl FnOnce(&mut Vec<i64>) -> Parsed<()>) -> Parsed<()> {
        match self {
            DecodedValues::Integers(values) => read(values),
            _ => Err("mixes types".into()),
        }
    }

    fn deltas(&mut self, bytes: &[u8], count: usize, value: impl Fn(i64) -> i64) -> Parsed<()> {
        self.integers(|values| {
            let push = |sum| {
                values.push(value(sum));
                Ok(())
            };
            deltas(bytes, count, push).map(drop)
        })
    }

    /// All lengths, then all texts.
    fn delta_lengths(&mut self, bytes: &[u8], count: usize, budget: &mut Budget) -> Parsed<()> {
        let DecodedValues::Texts(texts) = self else { return Err("mixes types".into()) };
        let (lengths, mut bytes) = lengths(bytes, count)?;
        for length in lengths {
            let (text, rest) = bytes.split_at_checked(length).ok_or("ends within a text")?;
            budget.spend(length as u64)?;
            texts.push_bytes(text)?;
            bytes = rest;
        }
        Ok(())
    }

    /// Lengths of prefixes shared with the text before, then the suffixes.
    fn delta_texts(&mut self, bytes: &[u8], count: usize, budget: &mut Budget) -> Parsed<()> {
        let DecodedValues::Texts(texts) = self else { return Err("mixes types".into()) };
        let (repeated, bytes) = lengths(bytes, count)?;
        let (lengths, mut bytes) = lengths(bytes, count)?;
        let mut last: Vec<u8> = Vec::new();
        for (repeated, length) in repeated.into_iter().zip(lengths) {
            let (text, rest) = bytes.split_at_checked(length).ok_or("ends within a text")?;
            if repeated > last.len() {
                return Err(format!("repeats {repeated} bytes of a text of {}", last.len()));
            }
            budget.spend((repeated + length) as u64)?;
            last.truncate(repeated);
            last.extend(text);
            texts.push_bytes(&last)?;
            bytes = rest;
        }
        Ok(())
    }
}

fn short(length: usize, count: usize) -> String {
    format!("has {length} bytes, too few for {count} values")
}

/// Values of the same length.
fn fixed<const SIZE: usize>(bytes: &[u8], count: usize) -> Parsed<&[[u8; SIZE]]> {
    bytes.as_chunks().0.get(..count).ok_or_else(|| short(bytes.len(), count))
}

/// Bytes after their length, and the rest.
pub(super) fn behind_length(bytes: &[u8]) -> Parsed<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>().ok_or("ends before a length")?;
    let length = u32::from_le_bytes(*length) as usize;
    rest.split_at_checked(length).ok_or_else(|| format!("claims {length} bytes where {} are left", rest.len()))
}

/// Joins values that are stored as all first bytes, then all second bytes, ...
fn joined<const SIZE: usize>(bytes: &[u8]) -> Vec<u8> {
    let count = bytes.len() / SIZE;
    (0..count).flat_map(|at| (0..SIZE).map(move |part| bytes[part * count + at])).collect()
}

fn gather<T: Copy>(
    values: &mut Vec<T>,
    known: &[T],
    indices: Hybrid<'_>,
    count: usize,
    unknown: impl Fn(u32) -> String,
) -> Parsed<()> {
    values.reserve(count);
    indices.each(count, |index| {
        values.push(*known.get(index as usize).ok_or_else(|| unknown(index))?);
        Ok(())
    })
}

/// Small numbers of a fixed width, repeated or packed bit by bit.
pub(super) struct Hybrid<'a> {
    bytes: &'a [u8],
    width: u32,
}

impl<'a> Hybrid<'a> {
    pub fn new(bytes: &'a [u8], width: u8) -> Parsed<Hybrid<'a>> {
        match width {
            0..=32 => Ok(Hybrid { bytes, width: width.into() }),
            _ => Err(format!("has numbers of {width} bits; 32 are the most")),
        }
    }

    /// The first `count` numbers.
    pub fn each(self, count: usize, mut visit: impl FnMut(u32) -> Parsed<()>) -> Parsed<()> {
        let mut left = count;
        // Numbers of zero bits need no bytes.
        if self.width == 0 {
            return (0..left).try_for_each(|_| visit(0));
        }
        let mut thrift = Thrift::new(self.bytes);
        while left > 0 {
            let head = thrift.unsigned()?;
            let run = usize::try_from(head >> 1).unwrap_or(usize::MAX);
            if head & 1 == 0 {
                let size = self.width.div_ceil(8) as usize;
                let value = (0..size)
                    .try_fold(0, |value, at| Ok::<_, String>(value | u32::from(thrift.byte()?) << (8 * at)))?;
                let run = run.min(left);
                (0..run).try_for_each(|_| visit(value))?;
                left -= run;
            } else {
                // Eight numbers take as many bytes as a number takes bits. The last may be cut short.
                let rest = thrift.rest();
                let size = run.saturating_mul(self.width as usize).min(rest.len());
                let run = run.saturating_mul(8).min(left);
                unpack_bits(&rest[..size], self.width, run, |value| visit(value as u32))?;
                left -= run;
                thrift = Thrift::new(&rest[size..]);
            }
        }
        Ok(())
    }
}

/// Numbers of `width` bits, the lowest bit first.
fn unpack_bits(bytes: &[u8], width: u32, count: usize, mut visit: impl FnMut(u64) -> Parsed<()>) -> Parsed<()> {
    if (bytes.len() as u64) < (count as u64).saturating_mul(width.into()).div_ceil(8) {
        return Err(short(bytes.len(), count));
    }
    // The widest number and a byte of which a part is taken already.
    let (mut window, mut filled) = (0u128, 0);
    let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
    let mut bytes = bytes.iter();
    for _ in 0..count {
        while filled < width {
            window |= u128::from(bytes.next().copied().unwrap_or(0)) << filled;
            filled += 8;
        }
        visit(window as u64 & mask)?;
        window >>= width;
        filled -= width;
    }
    Ok(())
}

/// Lengths that are stored as deltas, and the rest.
fn lengths(bytes: &[u8], count: usize) -> Parsed<(Vec<usize>, &[u8])> {
    let mut lengths = Vec::new();
    let rest = deltas(bytes, count, |length| {
        lengths.push(usize::try_from(length).map_err(|_| format!("has a text of {length} bytes"))?);
        Ok(())
    })?;
    Ok((lengths, rest))
}

/// A first number and the difference from each to the next, in blocks of miniblocks of packed bits. Returns the rest.
fn deltas(bytes: &[u8], count: usize, mut visit: impl FnMut(i64) -> Parsed<()>) -> Parsed<&[u8]> {
    let mut thrift = Thrift::new(bytes);
    let [block, minis, total] = [thrift.unsigned()?, thrift.unsigned()?, thrift.unsigned()?];
    let mut value = thrift.signed()?;
    if total != count as u64 {
        return Err(format!("has {total} deltas where {count} values are announced"));
    }
    let mini = block.checked_div(minis).unwrap_or(0);
    if block > 1 << 20 || mini == 0 || mini % 8 != 0 || mini * minis != block {
        return Err(format!("has deltas in blocks of {block} in {minis} parts"));
    }
    if count == 0 {
        return Ok(thrift.rest());
    }
    visit(value)?;
    let mut left = count - 1;
    while left > 0 {
        let least = thrift.signed()?;
        let (widths, mut rest) = thrift.rest().split_at_checked(minis as usize).ok_or("ends within its deltas")?;
        for &width in widths {
            if left == 0 {
                break;
            }
            if width > 64 {
                return Err(format!("has deltas of {width} bits; 64 are the most"));
            }
            let run = left.min(mini as usize);
            // The last may be cut short.
            let size = (mini as usize / 8 * usize::from(width)).min(rest.len());
            unpack_bits(&rest[..size], width.into(), run, |delta| {
                value = value.wrapping_add(least).wrapping_add(delta as i64);
                visit(value)
            })?;
            rest = &rest[size..];
            left -= run;
        }
        thrift = Thrift::new(rest);
    }
    Ok(thrift.rest())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columnar::source::SeekSource;
    use proptest::prelude::*;

    const KINDS: [ValueKind; 9] = [
        ValueKind::Bool,
        ValueKind::Int32,
        ValueKind::Uint32,
        ValueKind::Int64,
        ValueKind::Uint64,
        ValueKind::Half,
        ValueKind::Float,
        ValueKind::Double,
        ValueKind::Text,
    ];

    /// As of a file of no length.
    fn budget() -> Budget {
        Budget::new(&SeekSource::new(std::io::empty()).unwrap())
    }

    fn decoded(kind: ValueKind, encoding: i64, bytes: &[u8], count: usize) -> Parsed<Vec<i64>> {
        let mut values = DecodedValues::new(kind);
        values.decode(kind, encoding, bytes, count, Some(&DecodedValues::Integers(vec![10, 20, 30])), &mut budget())?;
        let DecodedValues::Integers(values) = values else { return Err("no integers".into()) };
        Ok(values)
    }

    #[test]
    fn runs_and_packed_bits_alternate() {
        // Two bits each: five times entry 2; eight packed ones, of which three are wanted.
        let bytes = [2, 5 << 1, 2, 1 << 1 | 1, 0b0001_0010, 0];
        assert_eq!(decoded(ValueKind::Int64, 8, &bytes, 8).unwrap(), [30, 30, 30, 30, 30, 30, 10, 20]);
        assert_eq!(
            decoded(ValueKind::Int64, 8, &bytes[..5], 8).unwrap(),
            [30, 30, 30, 30, 30, 30, 10, 20],
            "cut short"
        );
        assert_eq!(decoded(ValueKind::Int64, 8, &bytes[..4], 8).unwrap_err(), "has 0 bytes, too few for 3 values");
        assert_eq!(decoded(ValueKind::Int64, 8, &[2, 2, 3], 1).unwrap_err(), "names entry 3 of a dictionary of 3");
        assert_eq!(decoded(ValueKind::Int64, 8, &[0], 3).unwrap(), [10; 3], "a dictionary of one needs no bits");
        assert_eq!(decoded(ValueKind::Int64, 8, &[33, 1], 3).unwrap_err(), "has numbers of 33 bits; 32 are the most");
    }

    #[test]
    fn deltas_wrap_and_are_bounded() {
        // Blocks of 128 in 4 parts, 3 values from 7 on, at least -1 more each, in 2 bits, 1 2 0.
        let bytes = [128, 1, 4, 3, 14, 1, 2, 0, 0, 0, 0b0000_1001];
        assert_eq!(decoded(ValueKind::Int64, 5, &bytes, 3).unwrap(), [7, 7, 8]);
        assert_eq!(decoded(ValueKind::Int64, 5, &bytes, 4).unwrap_err(), "has 3 deltas where 4 values are announced");
        let at_most = [128, 1, 4, 2, 0xfe, 0xff, 0xff, 0xff, 0x0f, 2, 0, 0, 0, 0];
        assert_eq!(decoded(ValueKind::Int32, 5, &at_most, 2).unwrap(), [0x7fff_ffff, -0x8000_0000]);
        assert_eq!(decoded(ValueKind::Uint32, 5, &at_most, 2).unwrap(), [0x7fff_ffff, 0x8000_0000]);
        let blocks = |block: &[u8]| decoded(ValueKind::Int64, 5, &[block, &[3, 0]].concat(), 3).unwrap_err();
        assert_eq!(blocks(&[0, 0]), "has deltas in blocks of 0 in 0 parts");
        assert_eq!(blocks(&[128, 1, 3]), "has deltas in blocks of 128 in 3 parts");
        assert_eq!(blocks(&[0xff, 0xff, 0xff, 0x7f, 1]), "has deltas in blocks of 268435455 in 1 parts");
    }

    #[test]
    fn a_text_that_is_repeated_for_ever_is_a_bomb() {
        let mut known = Texts::default();
        known.push(&"x".repeat(1 << 20));
        let run = [1, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0];
        let mut values = DecodedValues::new(ValueKind::Text);
        let read = values.decode(ValueKind::Text, 8, &run, 1 << 30, Some(&DecodedValues::Texts(known)), &mut budget());
        assert!(read.unwrap_err().ends_with("that is a bomb"));
    }

    proptest! {
        #[test]
        fn packed_bits_come_back(width in 0..=64u32, values in prop::collection::vec(any::<u64>(), 0..40)) {
            let values: Vec<u64> = values.iter().map(|value| value & u64::MAX.checked_shr(64 - width).unwrap_or(0)).collect();
            let bit = |at: u64| values[(at / u64::from(width)) as usize] >> (at % u64::from(width)) & 1;
            let bits: Vec<u64> = (0..values.len() as u64 * u64::from(width)).map(bit).collect();
            let bytes: Vec<u8> = bits.chunks(8).map(|byte| byte.iter().rev().fold(0, |sum, &bit| sum << 1 | bit as u8)).collect();
            let mut read = Vec::new();
            unpack_bits(&bytes, width, values.len(), |value| { read.push(value); Ok(()) }).unwrap();
            prop_assert_eq!(read, values);
        }

        #[test]
        fn no_bytes_make_it_panic(
            kind in prop::sample::select(&KINDS[..]), encoding in 0..10i64, count in 0..300usize,
            bytes in prop::collection::vec(prop_oneof![any::<u8>(), 0..9u8, Just(128)], 0..100),
        ) {
            let mut values = DecodedValues::new(kind);
            let mut dictionary = DecodedValues::new(kind);
            let _ = dictionary.plain(kind, &bytes, count.min(bytes.len()), &mut budget());
            let read = values.decode(kind, encoding, &bytes, count, Some(&dictionary), &mut budget());
            prop_assert!(read.is_err() || values.len() == count);
        }
    }
}
