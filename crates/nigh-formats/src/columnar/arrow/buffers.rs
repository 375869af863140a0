//! From the buffers of a batch to values.

use super::flat::FlatTable;
use super::schema::{ArrowLayout, BufferCounts, IntegerLayout};
use crate::columnar::source::{Budget, SeekSource};
use crate::columnar::unpack::{Codec, unpack};
use crate::columnar::{ColumnValues, Parsed, Texts, missing, ragged, unsigned};
use crate::npy::half;
use std::collections::HashMap;
use std::sync::Arc;

/// Dictionaries by their numbers.
pub(super) type Dictionaries = HashMap<i64, Arc<ColumnValues>>;

/// Rows of all columns, of which the requested ones are loaded, in the order of the columns.
pub(super) struct RecordBatch<'a> {
    pub rows: usize,
    body: (u64, u64),
    codec: Codec,
    /// Length and number of missing values, of each column and each that is nested in one.
    nodes: std::slice::Iter<'a, [u8; 16]>,
    /// Start and length within the body.
    buffers: std::slice::Iter<'a, [u8; 16]>,
    /// Further buffers of each column of views.
    views: std::slice::Iter<'a, [u8; 8]>,
}

/// The buffers of a column.
#[derive(Debug)]
pub(super) struct Loaded {
    /// A bit per row, clear where the value is missing; none if nothing is.
    present: Option<Vec<u8>>,
    values: Buffers,
}

#[derive(Debug)]
enum Buffers {
    Bits(Vec<u8>),
    Integers(IntegerLayout, Vec<u8>),
    Floats(usize, Vec<u8>),
    Texts {
        offset_size: usize,
        offsets: Vec<u8>,
        bytes: Vec<u8>,
    },
    Views {
        views: Vec<u8>,
        bytes: Vec<Vec<u8>>,
    },
    Coded {
        index: IntegerLayout,
        indices: Vec<u8>,
        dictionary: Arc<ColumnValues>,
    },
    /// From item `first` on, `width` in each row, up to the row that has another length.
    Lists {
        width: usize,
        first: usize,
        uneven: Option<(usize, usize)>,
        items: Box<Loaded>,
    },
}

/// What keeps a row from being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BadValue {
    Missing,
    /// A list of another length than those above, if there are any.
    Length(usize, Option<usize>),
}

impl BadValue {
    pub fn message(self, column: &str, row: usize) -> String {
        match self {
            BadValue::Missing => missing(column, row),
            BadValue::Length(length, width) => ragged(column, row, length, width),
        }
    }
}

impl ArrowLayout {
    /// Whether it is read, or else the name of what is not.
    pub fn check(&self) -> Result<(), String> {
        match self {
            ArrowLayout::Other(name) => Err(name.clone()),
            ArrowLayout::Coded { values, .. } => match &**values {
                ArrowLayout::Texts(_) | ArrowLayout::TextViews | ArrowLayout::Integers(_) => Ok(()),
                _ => Err("dictionary of neither texts nor whole numbers".into()),
            },
            ArrowLayout::Lists(_, items) | ArrowLayout::FixedLists(_, items) => match &**items {
                ArrowLayout::Integers(_) | ArrowLayout::Floats(_) => Ok(()),
                _ => Err("list of other things than numbers".into()),
            },
            _ => Ok(()),
        }
    }
}

fn size(bytes: &[u8]) -> Parsed<u64> {
    let value = i64::from_le_bytes(*bytes.first_chunk().expect("eight bytes"));
    u64::try_from(value).map_err(|_| format!("{value} where a size is expected"))
}

impl<'a> RecordBatch<'a> {
    pub fn new(header: FlatTable<'a>, body: (u64, u64)) -> Parsed<RecordBatch<'a>> {
        let rows = header.i64(0)?;
        let codec = match header.table(3)? {
            None => Codec::None,
            Some(compression) => match compression.u8(0)? {
                0 => Codec::Lz4Frame,
                1 => Codec::Zstd,
                other => return Err(format!("rows are compressed in an unknown way, number {other}")),
            },
        };
        Ok(RecordBatch {
            rows: usize::try_from(rows).map_err(|_| format!("a batch of {rows} rows"))?,
            body,
            codec,
            nodes: header.list(1)?.items()?.iter(),
            buffers: header.list(2)?.items()?.iter(),
            views: header.list(4)?.items()?.iter(),
        })
    }

    /// Skips a column.
    pub fn skip(&mut self, takes: BufferCounts) -> Parsed<()> {
        let mut buffers = takes.buffers;
        for _ in 0..takes.views {
            buffers = buffers.saturating_add(self.further()?);
        }
        let skipped = takes.nodes <= self.nodes.len() && buffers <= self.buffers.len();
        if !skipped {
            return Err("a batch has fewer buffers than its columns need".into());
        }
        self.nodes = self.nodes.as_slice()[takes.nodes..].iter();
        self.buffers = self.buffers.as_slice()[buffers..].iter();
        Ok(())
    }

    /// Number of further buffers of a column of views.
    fn further(&mut self) -> Parsed<usize> {
        let count = size(self.views.next().ok_or("a batch does not say how many buffers its views have")?)?;
        usize::try_from(count).map_err(|_| format!("{count} buffers of views"))
    }

    /// Loads the buffers of a column of at least `rows` rows.
    pub fn load(
        &mut self,
        source: &mut SeekSource,
        layout: &ArrowLayout,
        rows: usize,
        dictionaries: &Dictionaries,
        budget: &mut Budget,
    ) -> Parsed<Loaded> {
        let node = self.nodes.next().ok_or("a batch has fewer columns than announced")?;
        let (length, missing) = (size(&node[..8])?, size(&node[8..])?);
        if length < rows as u64 {
            return Err(format!("has {length} values where {rows} are needed"));
        }
        let present = self.buffer(source, missing > 0, budget)?;
        let present = (missing > 0).then_some(present);
        if present.as_ref().is_some_and(|bits| bits.len() < rows.div_ceil(8)) {
            return Err("does not say which of its values are missing".into());
        }
        let mut next = || self.buffer(source, true, budget);
        let values = match layout {
            ArrowLayout::Bits => Buffers::Bits(at_least(next()?, rows.div_ceil(8))?),
            ArrowLayout::Integers(whole) => {
                Buffers::Integers(*whole, at_least(next()?, rows.saturating_mul(whole.bytes))?)
            }
            ArrowLayout::Floats(bytes) => Buffers::Floats(*bytes, at_least(next()?, rows.saturating_mul(*bytes))?),
            ArrowLayout::Texts(offset_size) => {
                let offsets = next()?;
                check_offsets(&offsets, *offset_size, rows)?;
                Buffers::Texts { offset_size: *offset_size, offsets, bytes: next()? }
            }
            ArrowLayout::TextViews => {
                let views = at_least(next()?, rows.saturating_mul(16))?;
                let further = self.further()?;
                let bytes = (0..further).map(|_| self.buffer(source, true, budget)).collect::<Parsed<_>>()?;
                Buffers::Views { views, bytes }
            }
            ArrowLayout::Coded { dictionary, index, .. } => {
                let indices = at_least(next()?, rows.saturating_mul(index.bytes))?;
                let known = dictionaries.get(dictionary).cloned();
                let dictionary =
                    known.ok_or_else(|| format!("dictionary {dictionary} is not in the file before it"))?;
                Buffers::Coded { index: *index, indices, dictionary }
            }
            ArrowLayout::Lists(offset_size, items) => {
                let offsets = next()?;
                check_offsets(&offsets, *offset_size, rows)?;
                let place = |row: usize| if rows == 0 { 0 } else { offset(&offsets, *offset_size, row) as usize };
                let items = Box::new(self.load(source, items, place(rows), dictionaries, budget)?);
                let (first, width) = (place(0), place(rows.min(1)) - place(0));
                let uneven = (1..rows).map(|row| (row, place(row + 1) - place(row))).find(|row| row.1 != width);
                Buffers::Lists { width, first, uneven, items }
            }
            ArrowLayout::FixedLists(width, items) => {
                let count = rows.saturating_mul(*width);
                let items = Box::new(self.load(source, items, count, dictionaries, budget)?);
                Buffers::Lists { width: *width, first: 0, uneven: None, items }
            }
            ArrowLayout::Other(name) => unreachable!("{name} was refused before"),
        };
        Ok(Loaded { present, values })
    }

    /// The next buffer, decompressed; empty if it is not needed.
    fn buffer(&mut self, source: &mut SeekSource, wanted: bool, budget: &mut Budget) -> Parsed<Vec<u8>> {
        let buffer = self.buffers.next().ok_or("a batch has fewer buffers than its columns need")?;
        if !wanted {
            return Ok(Vec::new());
        }
        let (start, length) = (size(&buffer[..8])?, size(&buffer[8..])?);
        let (body, room) = self.body;
        if start.checked_add(length).is_none_or(|end| end > room) {
            return Err(format!("a buffer of {length} bytes from byte {start} on, in a body of {room}"));
        }
        budget.spend(length)?;
        let mut bytes = source.bytes(body + start, length, "a buffer")?;
        if self.codec == Codec::None || bytes.is_empty() {
            return Ok(bytes);
        }
        // Its length comes first; -1 if it is not compressed.
        let unpacked = i64::from_le_bytes(*bytes.first_chunk().ok_or("a packed buffer without its length")?);
        bytes.drain(..8);
        if unpacked == -1 {
            return Ok(bytes);
        }
        let unpacked = u64::try_from(unpacked).map_err(|_| format!("a buffer of {unpacked} bytes"))?;
        budget.spend(unpacked)?;
        unpack(self.codec, bytes, unpacked).map_err(|problem| format!("a buffer {problem}"))
    }
}

fn at_least(bytes: Vec<u8>, needed: usize) -> Parsed<Vec<u8>> {
    match bytes.len() {
        length if length >= needed => Ok(bytes),
        length => Err(format!("has a buffer of {length} bytes where {needed} are needed")),
    }
}

/// The offset of a row, of four bytes or of eight.
fn offset(offsets: &[u8], size: usize, row: usize) -> i64 {
    match size {
        4 => i64::from(i32::from_le_bytes(offsets.as_chunks().0[row])),
        _ => i64::from_le_bytes(offsets.as_chunks().0[row]),
    }
}

/// Offsets must exist and ascend. Without rows there may be none.
fn check_offsets(offsets: &[u8], size: usize, rows: usize) -> Parsed<()> {
    if rows == 0 {
        return Ok(());
    }
    if offsets.len() / size <= rows {
        return Err(format!("has {} offsets for {rows} rows", offsets.len() / size));
    }
    let back = (0..rows).find(|&row| offset(offsets, size, row) > offset(offsets, size, row + 1));
    match back {
        Some(row) => Err(format!("has an offset that goes back, behind value {row}")),
        None if offset(offsets, size, 0) < 0 => Err("has a negative offset".into()),
        None => Ok(()),
    }
}

impl Loaded {
    /// The first row that can't be read.
    pub fn first_wrong(&self, rows: usize) -> Option<(usize, BadValue)> {
        let own = self.first_missing(0, rows).map(|row| (row, BadValue::Missing));
        let Buffers::Lists { width, first, uneven, items } = &self.values else { return own };
        if *width == 0 && rows > 0 {
            return own.filter(|own| own.0 == 0).or(Some((0, BadValue::Length(0, None))));
        }
        let even = uneven.map_or(rows, |uneven| uneven.0);
        let item = items.first_missing(*first, first + even * width);
        let nested = item.map(|item| ((item - first) / width, BadValue::Missing));
        let uneven = uneven.map(|(row, length)| (row, BadValue::Length(length, Some(*width))));
        // Of two problems of a row, the first is reported.
        own.into_iter().chain(nested).chain(uneven).min_by_key(|wrong| wrong.0)
    }

    /// The first missing value in a range.
    fn first_missing(&self, start: usize, end: usize) -> Option<usize> {
        self.present.as_ref().and_then(|bits| (start..end).find(|&row| bits[row / 8] >> (row % 8) & 1 == 0))
    }

    /// The values of some rows.
    pub fn rows(&self, start: usize, count: usize, budget: &mut Budget) -> Parsed<ColumnValues> {
        Ok(match &self.values {
            Buffers::Bits(bits) => {
                let bit = |row: usize| i64::from(bits[row / 8] >> (row % 8) & 1);
                ColumnValues::Integers((start..start + count).map(bit).collect())
            }
            Buffers::Integers(whole, bytes) => match whole {
                IntegerLayout { bytes: 8, signed: false } => unsigned(whole.read(bytes, start, count)),
                _ => ColumnValues::Integers(whole.read(bytes, start, count)),
            },
            Buffers::Floats(size, bytes) => ColumnValues::Numbers(floats(*size, bytes, start, count)),
            Buffers::Texts { offset_size, offsets, bytes } => {
                let mut texts = Texts::default();
                for row in start..start + count {
                    let [from, to] = [row, row + 1].map(|row| offset(offsets, *offset_size, row) as usize);
                    budget.spend((to - from) as u64)?;
                    texts.push_bytes(bytes.get(from..to).ok_or_else(|| outside(to, bytes.len()))?)?;
                }
                ColumnValues::Texts(texts)
            }
            Buffers::Views { views, bytes } => {
                let mut texts = Texts::default();
                for view in &views.as_chunks::<16>().0[start..start + count] {
                    let text = viewed(view, bytes)?;
                    budget.spend(text.len() as u64)?;
                    texts.push_bytes(text)?;
                }
                ColumnValues::Texts(texts)
            }
            Buffers::Coded { index, indices, dictionary } => {
                look_up(dictionary, &index.read(indices, start, count), budget)?
            }
            Buffers::Lists { width, first, items, .. } => {
                let (start, count) = (first + start * width, count * width);
                let values = match items.rows(start, count, budget)? {
                    ColumnValues::Integers(values) => values.into_iter().map(|value| value as f32).collect(),
                    ColumnValues::Numbers(values) => values,
                    // Integers beyond `i64`.
                    ColumnValues::Texts(texts) => texts.iter().map(|text| text.parse().unwrap_or(f32::NAN)).collect(),
                    ColumnValues::Vectors { .. } => return Err("has lists of lists".into()),
                };
                ColumnValues::Vectors { width: *width, values }
            }
        })
    }
}

fn outside(end: usize, length: usize) -> String {
    format!("a text ends at byte {end} of {length}")
}

/// A view is a length, and the text itself if it is short; otherwise its start, a buffer and a place there.
fn viewed<'b>(view: &'b [u8; 16], buffers: &'b [Vec<u8>]) -> Parsed<&'b [u8]> {
    let part = |at: usize| u32::from_le_bytes([view[at], view[at + 1], view[at + 2], view[at + 3]]) as usize;
    let length = part(0);
    if length <= 12 {
        return Ok(&view[4..4 + length]);
    }
    let (buffer, start) = (part(8), part(12));
    let bytes = buffers.get(buffer).ok_or_else(|| format!("a text lies in buffer {buffer} of {}", buffers.len()))?;
    bytes.get(start..start + length).ok_or_else(|| outside(start + length, bytes.len()))
}

fn look_up(dictionary: &ColumnValues, indices: &[i64], budget: &mut Budget) -> Parsed<ColumnValues> {
    let place = |index: i64| {
        let place = usize::try_from(index).ok().filter(|&place| place < dictionary.len());
        place.ok_or_else(|| format!("names entry {index} of a dictionary of {}", dictionary.len()))
    };
    match dictionary {
        ColumnValues::Texts(known) => {
            let mut texts = Texts::default();
            for &index in indices {
                let text = known.get(place(index)?);
                budget.spend(text.len() as u64)?;
                texts.push(text);
            }
            Ok(ColumnValues::Texts(texts))
        }
        ColumnValues::Integers(known) => {
            Ok(ColumnValues::Integers(indices.iter().map(|&index| Ok(known[place(index)?])).collect::<Parsed<_>>()?))
        }
        _ => Err("has a dictionary of neither texts nor whole numbers".into()),
    }
}

impl IntegerLayout {
    /// So many numbers from `start`; those of eight bytes without a sign as bits.
    fn read(self, bytes: &[u8], start: usize, count: usize) -> Vec<i64> {
        fn all<const SIZE: usize>(
            bytes: &[u8],
            start: usize,
            count: usize,
            value: impl Fn([u8; SIZE]) -> i64,
        ) -> Vec<i64> {
            bytes.as_chunks().0[start..start + count].iter().map(|&item| value(item)).collect()
        }
        match (self.bytes, self.signed) {
            (1, true) => all(bytes, start, count, |item| i8::from_le_bytes(item).into()),
            (1, false) => all(bytes, start, count, |item| u8::from_le_bytes(item).into()),
            (2, true) => all(bytes, start, count, |item| i16::from_le_bytes(item).into()),
            (2, false) => all(bytes, start, count, |item| u16::from_le_bytes(item).into()),
            (4, true) => all(bytes, start, count, |item| i32::from_le_bytes(item).into()),
            (4, false) => all(bytes, start, count, |item| u32::from_le_bytes(item).into()),
            _ => all(bytes, start, count, i64::from_le_bytes),
        }
    }
}

fn floats(size: usize, bytes: &[u8], start: usize, count: usize) -> Vec<f32> {
    let range = start..start + count;
    match size {
        2 => bytes.as_chunks().0[range].iter().map(|&item| half(u16::from_le_bytes(item))).collect(),
        4 => bytes.as_chunks().0[range].iter().map(|&item| f32::from_le_bytes(item)).collect(),
        _ => bytes.as_chunks().0[range].iter().map(|&item| f64::from_le_bytes(item) as f32).collect(),
    }
}
