//! Parquet: groups of rows, each with a chunk of pages for every column.

mod decode;
pub(super) mod footer;
mod page;
mod thrift;
pub(super) mod write;

use self::decode::{DecodedValues, Hybrid, behind_length};
use self::footer::{Footer, Leaf, RowGroup, ValueKind};
use self::page::{Page, PageKind, Pages};
use super::source::{Budget, SeekSource};
use super::{BATCH, Batch, ColumnValues, Parsed, missing, ragged, unsigned};
use crate::memory;

/// Values of a page, which are decoded at once. Writers end a page after a MiB or so, into which as many fit only where a value is
/// repeated for a whole group of rows.
const MOST_VALUES: u64 = 1 << 26;

/// The work of looking at a page, in bytes.
const PAGE_COST: u64 = 1 << 10;

/// The rows of some columns.
pub(super) struct ParquetBatches {
    source: SeekSource,
    budget: Budget,
    groups: std::vec::IntoIter<RowGroup>,
    columns: Vec<ColumnReader>,
    /// Rows of the current group that are still to be read.
    left: u64,
    next_row: usize,
}

impl ParquetBatches {
    pub fn new(source: SeekSource, footer: Footer, columns: &[usize]) -> Parsed<ParquetBatches> {
        let mut readings = Vec::with_capacity(columns.len());
        for &column in columns {
            let column = &footer.columns[column];
            readings.push(ColumnReader::new(column.name.clone(), column.leaf()?));
        }
        let groups = footer.groups.into_iter();
        Ok(ParquetBatches { budget: Budget::new(&source), source, groups, columns: readings, left: 0, next_row: 1 })
    }

    /// Moves to the next group with rows.
    fn next_group(&mut self) -> Parsed<bool> {
        while self.left == 0 {
            for column in &self.columns {
                column.finish(self.next_row)?;
            }
            let Some(group) = self.groups.next() else { return Ok(false) };
            self.left = group.rows;
            for column in &mut self.columns {
                column.start(&group)?;
            }
        }
        Ok(true)
    }

    fn next_batch(&mut self) -> Parsed<Option<Batch>> {
        if self.columns.is_empty() || !self.next_group()? {
            return Ok(None);
        }
        let mut count = self.left.min(BATCH as u64) as usize;
        for column in &mut self.columns {
            column.fill(&mut self.source, &mut self.budget, self.next_row)?;
            count = count.min(column.ready());
        }
        let first_row = self.next_row;
        self.next_row += count;
        self.left -= count as u64;
        let columns = self.columns.iter_mut().map(|column| column.take(count)).collect();
        Ok(Some(Batch { first_row, columns }))
    }
}

impl Iterator for ParquetBatches {
    type Item = Parsed<Batch>;

    fn next(&mut self) -> Option<Parsed<Batch>> {
        self.next_batch().transpose()
    }
}

/// A column while it is read.
struct ColumnReader {
    name: String,
    leaf: Leaf,
    pages: Option<Pages>,
    /// Values of the chunk that are still to be read.
    left: u64,
    dictionary: Option<DecodedValues>,
    /// Decoded and not taken yet, from `taken` on.
    values: DecodedValues,
    taken: usize,
    list: Lists,
}

/// Where the rows of a list end; all must have one width.
#[derive(Default)]
struct Lists {
    width: Option<usize>,
    /// The length so far of a row that may continue.
    open: Option<usize>,
}

impl ColumnReader {
    fn new(name: String, leaf: Leaf) -> ColumnReader {
        let values = DecodedValues::new(leaf.kind);
        ColumnReader { name, leaf, pages: None, left: 0, dictionary: None, values, taken: 0, list: Lists::default() }
    }

    fn wrong(&self, problem: impl std::fmt::Display) -> String {
        format!("column `{}`: {problem}", self.name)
    }

    fn start(&mut self, group: &RowGroup) -> Parsed<()> {
        let chunk = &group.chunks[self.leaf.index];
        if self.leaf.item.is_none() && chunk.values != group.rows {
            return Err(self.wrong(format!("{} values in {} rows", chunk.values, group.rows)));
        }
        self.pages = Some(Pages::new(chunk).map_err(|problem| self.wrong(problem))?);
        self.left = chunk.values;
        self.dictionary = None;
        Ok(())
    }

    /// Whole rows that can be taken.
    fn ready(&self) -> usize {
        let values = self.values.len() - self.taken;
        match (self.leaf.item.is_some(), self.list.width) {
            (false, _) => values,
            (true, Some(width)) => (values - self.list.open.unwrap_or(0)) / width,
            (true, None) => 0,
        }
    }

    /// Reads pages until there is a row.
    fn fill(&mut self, source: &mut SeekSource, budget: &mut Budget, row: usize) -> Parsed<()> {
        while self.ready() == 0 {
            if self.left == 0 {
                return Err(self.wrong("has fewer rows than its group announces"));
            }
            let pages = self.pages.as_mut().expect("started with the group");
            let page = pages.next(source).map_err(|problem| format!("column `{}`: {problem}", self.name))?;
            let page = page.ok_or_else(|| self.wrong(format!("ends {} values early", self.left)))?;
            // Several chunks may claim the same bytes.
            budget.spend(PAGE_COST + page.bytes.len() as u64).map_err(|problem| self.wrong(problem))?;
            self.forget_taken();
            self.read_page(&page, budget, row)?;
        }
        Ok(())
    }

    /// At the end of a group nothing may be left over.
    fn finish(&self, row: usize) -> Parsed<()> {
        let all = self.left == 0 && self.ready() == 0;
        if all { Ok(()) } else { Err(self.wrong(format!("continues after row {}, the last of its group", row - 1))) }
    }

    fn read_page(&mut self, page: &Page, budget: &mut Budget, row: usize) -> Parsed<()> {
        if page.kind == PageKind::Dictionary {
            // Every entry takes a byte at least, except booleans, which have no dictionary.
            if page.count > page.bytes.len() as u64 || self.dictionary.is_some() {
                return Err(self.wrong(format!("a dictionary of {} entries is out of place", page.count)));
            }
            budget.spend(8 * page.count).map_err(|problem| self.wrong(problem))?;
            let mut dictionary = DecodedValues::new(self.leaf.kind);
            let read = dictionary.plain(self.leaf.kind, &page.bytes, page.count as usize, budget);
            read.map_err(|problem| self.wrong(format!("its dictionary {problem}")))?;
            self.dictionary = Some(dictionary);
            return Ok(());
        }
        if page.count > MOST_VALUES {
            let problem = format!("a page of {} values; expected at most {MOST_VALUES}, in smaller pages", page.count);
            return Err(self.wrong(problem));
        }
        self.left = self.left.checked_sub(page.count).ok_or_else(|| self.wrong("has more values than it announces"))?;
        // From here on the count is backed by the length of the file.
        budget.spend(page.count.saturating_mul(8)).map_err(|problem| self.wrong(problem))?;
        let decoded = memory::check(16 * page.count, || format!("a page of {} values", page.count));
        decoded.map_err(|problem| self.wrong(problem))?;
        let count = page.count as usize;
        let (repetition, definition, bytes) = self.levels(page).map_err(|problem| self.wrong(problem))?;
        let first = row + self.ready();
        if self.leaf.item.is_some() {
            self.rows(repetition, definition, count, first)?;
        } else if self.leaf.defined > 0 {
            let mut at = 0;
            let read = Hybrid::new(definition, bits(self.leaf.defined))?.each(count, |level| {
                at += 1;
                if level == self.leaf.defined { Ok(()) } else { Err(missing(&self.name, first + at - 1)) }
            });
            read?;
        }
        let dictionary = self.dictionary.as_ref();
        let read = self.values.decode(self.leaf.kind, page.encoding, bytes, count, dictionary, budget);
        read.map_err(|problem| format!("column `{}`, row {first} or later: {problem}", self.name))
    }

    /// The two kinds of levels, and the values.
    fn levels<'p>(&self, page: &'p Page) -> Parsed<(&'p [u8], &'p [u8], &'p [u8])> {
        let bytes = &page.bytes[..];
        match page.kind {
            PageKind::Second { repetition, definition } => {
                let (repetition, bytes) = bytes.split_at(repetition);
                let (definition, bytes) = bytes.split_at(definition);
                Ok((repetition, definition, bytes))
            }
            PageKind::First { repetition, definition } => {
                let (lists, defined) = (self.leaf.item.is_some(), self.leaf.defined > 0);
                if lists && !repetition || defined && !definition {
                    return Err("has levels in an encoding that was given up in 2013".into());
                }
                let (repetition, bytes) = if lists { behind_length(bytes)? } else { (&[][..], bytes) };
                let (definition, bytes) = if defined { behind_length(bytes)? } else { (&[][..], bytes) };
                Ok((repetition, definition, bytes))
            }
            PageKind::Dictionary => unreachable!("read before"),
        }
    }

    /// Checks that every row of a page of lists is as long as the first, and that nothing is missing.
    fn rows(&mut self, repetition: &[u8], definition: &[u8], count: usize, first: usize) -> Parsed<()> {
        let mut starts = Vec::with_capacity(count);
        let read = Hybrid::new(repetition, 1)?.each(count, |level| {
            starts.push(level == 0);
            Ok(())
        });
        read.map_err(|problem| self.wrong(problem))?;
        let (list, name, defined) = (&mut self.list, &self.name, self.leaf.defined);
        let item = self.leaf.item.unwrap_or_default();
        let mut row = first;
        let mut starts = starts.into_iter();
        Hybrid::new(definition, bits(defined))?.each(count, |level| {
            match (starts.next(), &mut list.open) {
                (Some(true), open) => {
                    if let Some(length) = open.replace(0) {
                        list.close(name, row, length)?;
                        row += 1;
                    }
                }
                (_, Some(_)) => {}
                (_, None) => return Err(format!("column `{name}`: starts within a list")),
            }
            if level + 1 == item {
                return Err(ragged(name, row, 0, list.width));
            }
            if level != defined {
                return Err(missing(name, row));
            }
            list.open = list.open.map(|length| length + 1);
            Ok(())
        })?;
        // The last row of a chunk ends with it; the last row of a page may continue.
        if self.left == 0
            && let Some(length) = self.list.open.take()
        {
            self.list.close(&self.name, row, length)?;
        }
        Ok(())
    }

    fn forget_taken(&mut self) {
        match &mut self.values {
            DecodedValues::Integers(values) => drop(values.drain(..self.taken)),
            DecodedValues::Numbers(values) => drop(values.drain(..self.taken)),
            DecodedValues::Texts(texts) => *texts = texts.range(self.taken, texts.len() - self.taken),
        }
        self.taken = 0;
    }

    /// So many rows; they must be ready.
    fn take(&mut self, rows: usize) -> ColumnValues {
        let width = self.list.width.filter(|_| self.leaf.item.is_some());
        let range = self.taken..self.taken + rows * width.unwrap_or(1);
        self.taken = range.end;
        match (&self.values, width) {
            (DecodedValues::Integers(values), None) if self.leaf.kind == ValueKind::Uint64 => {
                unsigned(values[range].to_vec())
            }
            (DecodedValues::Integers(values), None) => ColumnValues::Integers(values[range].to_vec()),
            (DecodedValues::Numbers(values), None) => ColumnValues::Numbers(values[range].to_vec()),
            (DecodedValues::Texts(texts), _) => ColumnValues::Texts(texts.range(range.start, range.len())),
            (DecodedValues::Numbers(values), Some(width)) => {
                ColumnValues::Vectors { width, values: values[range].to_vec() }
            }
            (DecodedValues::Integers(values), Some(width)) => {
                let float =
                    |&value: &i64| if self.leaf.kind == ValueKind::Uint64 { value as u64 as f32 } else { value as f32 };
                ColumnValues::Vectors { width, values: values[range].iter().map(float).collect() }
            }
        }
    }
}

impl Lists {
    fn close(&mut self, name: &str, row: usize, length: usize) -> Parsed<()> {
        match *self.width.get_or_insert(length) {
            width if width == length => Ok(()),
            width => Err(ragged(name, row, length, Some(width))),
        }
    }
}

/// The bits of a level.
fn bits(most: u32) -> u8 {
    (u32::BITS - most.leading_zeros()) as u8
}
