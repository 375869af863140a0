//! Arrow: a stream of messages, of which the first names the columns and the others hold some rows each. A file is a
//! stream with a list of its messages at the end.

mod buffers;
mod flat;
mod schema;

use self::buffers::{Dictionaries, Loaded, RecordBatch};
use self::flat::FlatTable;
use self::schema::{ArrowField, ArrowLayout};
use super::source::{Budget, SeekSource};
use super::{BATCH, Batch, ColumnValues, Parsed, ragged, unsupported};
use std::collections::VecDeque;
use std::sync::Arc;

/// The columns, and where the messages are.
pub(super) struct ArrowFile {
    pub fields: Vec<ArrowField>,
    messages: Messages,
}

enum Messages {
    /// From here on, one after the other.
    Stream(u64),
    /// At these places.
    File(VecDeque<u64>),
}

/// The kinds of messages.
const SCHEMA: u8 = 1;
const DICTIONARY: u8 = 2;
const ROWS: u8 = 3;

/// A message without its body.
struct Message {
    description: Vec<u8>,
    /// Where the body starts and how long it is.
    body: (u64, u64),
}

impl Message {
    /// The message at a place; none at the end of the stream.
    fn read(source: &mut SeekSource, mut at: u64) -> Parsed<Option<Message>> {
        let mut length = four(source, at)?;
        at += 4;
        // Before 2019 there was only the length.
        if length == -1 {
            length = four(source, at)?;
            at += 4;
        }
        if length == 0 {
            return Ok(None);
        }
        let length = u64::try_from(length).map_err(|_| format!("a message of {length} bytes"))?;
        let description = source.bytes(at, length, "a message")?;
        let body = FlatTable::root(&description)?.i64(3)?;
        let body = u64::try_from(body).map_err(|_| format!("a message with a body of {body} bytes"))?;
        let start = at + length;
        if body > source.length() - start {
            let left = source.length() - start;
            return Err(format!("a message claims a body of {body} bytes where {left} are left"));
        }
        Ok(Some(Message { description, body: (start, body) }))
    }

    /// Version, kind and content.
    fn header(&self) -> Parsed<(i16, u8, FlatTable<'_>)> {
        let message = FlatTable::root(&self.description)?;
        Ok((message.i16(0)?, message.u8(1)?, message.table(2)?.ok_or("a message without content")?))
    }
}

fn four(source: &mut SeekSource, at: u64) -> Parsed<i32> {
    let bytes = source.bytes(at, 4, "the length of a message")?;
    Ok(i32::from_le_bytes(bytes.try_into().expect("four bytes")))
}

impl ArrowFile {
    pub fn read(source: &mut SeekSource, is_file: bool) -> Parsed<ArrowFile> {
        if is_file {
            return ArrowFile::read_footer(source).map_err(|problem| format!("its footer: {problem}"));
        }
        let first = Message::read(source, 0)?.ok_or("is an empty stream")?;
        let (version, kind, schema) = first.header()?;
        if kind != SCHEMA {
            return Err("does not start with the names of its columns".into());
        }
        let fields = schema::fields(schema, version, first.description.len())?;
        Ok(ArrowFile { fields, messages: Messages::Stream(first.body.0 + first.body.1) })
    }

    fn read_footer(source: &mut SeekSource) -> Parsed<ArrowFile> {
        // Magic and padding, footer, its length, magic.
        let end = source.length().checked_sub(10).ok_or("the file ends within its first bytes")?;
        let tail = source.bytes(end, 10, "the last bytes")?;
        let (size, magic) = tail.split_first_chunk::<4>().expect("ten bytes");
        if magic != b"ARROW1" {
            return Err("the file does not end with ARROW1; it was cut off".into());
        }
        let size = i32::from_le_bytes(*size);
        let start = u64::try_from(size).ok().and_then(|size| end.checked_sub(size));
        let start = start.ok_or_else(|| format!("claims {size} bytes in a file of {}", source.length()))?;
        let bytes = source.bytes(start, end - start, "the footer")?;
        let footer = FlatTable::root(&bytes)?;
        let schema = footer.table(1)?.ok_or("does not name the columns")?;
        let fields = schema::fields(schema, footer.i16(0)?, bytes.len())?;
        let mut places = VecDeque::new();
        for list in [footer.list(2)?, footer.list(3)?] {
            for block in list.items::<24>()? {
                let (place, _) = block.split_first_chunk::<8>().expect("24 bytes");
                let place = i64::from_le_bytes(*place);
                places.push_back(u64::try_from(place).map_err(|_| format!("a message at byte {place}"))?);
            }
        }
        Ok(ArrowFile { fields, messages: Messages::File(places) })
    }
}

/// The rows of some columns.
pub(super) struct ArrowBatches {
    source: SeekSource,
    budget: Budget,
    opened: ArrowFile,
    columns: Vec<usize>,
    dictionaries: Dictionaries,
    widths: Vec<Option<usize>>,
    /// Of the current message.
    loaded: Vec<Loaded>,
    rows: usize,
    taken: usize,
    next_row: usize,
}

impl ArrowBatches {
    pub fn new(source: SeekSource, opened: ArrowFile, columns: &[usize]) -> Parsed<ArrowBatches> {
        for &column in columns {
            let field = &opened.fields[column];
            field.layout.check().map_err(|kind| unsupported(&field.name, &kind))?;
        }
        Ok(ArrowBatches {
            budget: Budget::new(&source),
            source,
            opened,
            columns: columns.to_vec(),
            dictionaries: Dictionaries::new(),
            widths: vec![None; columns.len()],
            loaded: Vec::new(),
            rows: 0,
            taken: 0,
            next_row: 1,
        })
    }

    fn next_message(&mut self) -> Parsed<Option<Message>> {
        let place = match &mut self.opened.messages {
            Messages::File(places) => places.pop_front(),
            Messages::Stream(at) => Some(*at).filter(|&at| at < self.source.length()),
        };
        let Some(place) = place else { return Ok(None) };
        let message = Message::read(&mut self.source, place)?;
        // A footer may name the same place many times.
        self.budget.spend(message.as_ref().map_or(0, |message| message.description.len() as u64))?;
        match (&mut self.opened.messages, &message) {
            (Messages::File(_), None) => return Err("its footer names an empty message".into()),
            (Messages::File(_), Some(_)) => {}
            (Messages::Stream(at), None) => *at = self.source.length(),
            (Messages::Stream(at), Some(message)) => *at = message.body.0 + message.body.1,
        }
        Ok(message)
    }

    /// Moves to the next message with rows.
    fn next_rows(&mut self) -> Parsed<bool> {
        while self.taken == self.rows {
            let Some(message) = self.next_message()? else { return Ok(false) };
            let (_, kind, header) = message.header()?;
            match kind {
                ROWS => self.read_rows(header, message.body)?,
                DICTIONARY => self.read_dictionary(header, message.body)?,
                other => return Err(format!("has a message of kind {other} among its rows")),
            }
        }
        Ok(true)
    }

    fn read_rows(&mut self, header: FlatTable<'_>, body: (u64, u64)) -> Parsed<()> {
        let mut block = RecordBatch::new(header, body)?;
        let rows = block.rows;
        self.loaded.clear();
        let mut loaded: Vec<Option<Loaded>> = self.columns.iter().map(|_| None).collect();
        for (at, field) in self.opened.fields.iter().enumerate() {
            let Some(place) = self.columns.iter().position(|&column| column == at) else {
                block.skip(field.takes)?;
                continue;
            };
            self.budget.spend((rows as u64).saturating_mul(8))?;
            let named = |problem: String| format!("column `{}`: {problem}", field.name);
            let read = block.load(&mut self.source, &field.layout, rows, &self.dictionaries, &mut self.budget);
            let read = read.map_err(named)?;
            if let Some((at, wrong)) = read.first_wrong(rows) {
                return Err(wrong.message(&field.name, self.next_row + at));
            }
            loaded[place] = Some(read);
        }
        self.loaded = loaded.into_iter().flatten().collect();
        (self.rows, self.taken) = (rows, 0);
        Ok(())
    }

    /// A dictionary, or an addition to one.
    fn read_dictionary(&mut self, header: FlatTable<'_>, body: (u64, u64)) -> Parsed<()> {
        let id = header.i64(0)?;
        let coded = |&column: &usize| match &self.opened.fields[column].layout {
            ArrowLayout::Coded { dictionary, values, .. } if *dictionary == id => Some(values),
            _ => None,
        };
        // Those of other columns are not read.
        let Some(layout) = self.columns.iter().find_map(coded) else { return Ok(()) };
        let mut block = RecordBatch::new(header.table(1)?.ok_or("a dictionary without values")?, body)?;
        let named = |problem: String| format!("dictionary {id}: {problem}");
        let rows = block.rows;
        self.budget.spend((rows as u64).saturating_mul(8)).map_err(named)?;
        let loaded = block.load(&mut self.source, layout, rows, &Dictionaries::new(), &mut self.budget);
        let loaded = loaded.map_err(named)?;
        if let Some((at, _)) = loaded.first_wrong(rows) {
            return Err(named(format!("entry {at} has no value (null); fill it in or leave it out")));
        }
        let added = loaded.rows(0, rows, &mut self.budget).map_err(named)?;
        let known = self.dictionaries.get_mut(&id).filter(|_| header.u8(2).is_ok_and(|delta| delta != 0));
        match (known.map(Arc::make_mut), added) {
            (None, added) => drop(self.dictionaries.insert(id, added.into())),
            (Some(ColumnValues::Texts(known)), ColumnValues::Texts(added)) => {
                added.iter().for_each(|text| known.push(text))
            }
            (Some(ColumnValues::Integers(known)), ColumnValues::Integers(added)) => known.extend(added),
            _ => return Err(named("mixes types".into())),
        }
        Ok(())
    }

    fn next_batch(&mut self) -> Parsed<Option<Batch>> {
        if self.columns.is_empty() || !self.next_rows()? {
            return Ok(None);
        }
        let count = BATCH.min(self.rows - self.taken);
        let first_row = self.next_row;
        let mut columns = Vec::with_capacity(self.columns.len());
        for (at, loaded) in self.loaded.iter().enumerate() {
            let name = &self.opened.fields[self.columns[at]].name;
            let wrong = |problem: String| format!("column `{name}`, row {first_row} or later: {problem}");
            let column = loaded.rows(self.taken, count, &mut self.budget).map_err(wrong)?;
            if let ColumnValues::Vectors { width, .. } = column {
                let expected = *self.widths[at].get_or_insert(width);
                if width != expected {
                    return Err(ragged(name, first_row, width, Some(expected)));
                }
            }
            columns.push(column);
        }
        self.taken += count;
        self.next_row += count;
        Ok(Some(Batch { first_row, columns }))
    }
}

impl Iterator for ArrowBatches {
    type Item = Parsed<Batch>;

    fn next(&mut self) -> Option<Parsed<Batch>> {
        self.next_batch().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &[u8] =
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/tables/pyarrow-stream.arrows"));

    fn source(bytes: &[u8]) -> SeekSource {
        SeekSource::new(std::io::Cursor::new(bytes.to_vec())).unwrap()
    }

    /// The first wrong row of the first column, or all of them.
    fn problem(bytes: &[u8]) -> Parsed<()> {
        let mut source = source(bytes);
        let opened = ArrowFile::read(&mut source, false)?;
        ArrowBatches::new(source, opened, &[0])?.try_for_each(|batch| batch.map(drop))
    }

    /// The first message with rows, every `from` in its description replaced.
    fn forged(from: i64, to: i64) -> Vec<u8> {
        let mut source = source(STREAM);
        let start = Message::read(&mut source, 0).unwrap().unwrap().body.0;
        let end = Message::read(&mut source, start).unwrap().unwrap().body.0 as usize;
        let mut bytes = STREAM.to_vec();
        let mut found = false;
        for at in start as usize..end - 8 {
            if bytes[at..at + 8] == from.to_le_bytes() {
                bytes[at..at + 8].copy_from_slice(&to.to_le_bytes());
                found = true;
            }
        }
        assert!(found, "{from} is in the message");
        bytes
    }

    #[test]
    fn what_a_message_claims_is_not_believed() {
        problem(STREAM).unwrap();
        let mut source = source(STREAM);
        let start = Message::read(&mut source, 0).unwrap().unwrap().body.0;
        let body = Message::read(&mut source, start).unwrap().unwrap().body.1 as i64;
        let claims = problem(&forged(body, 1 << 60)).unwrap_err();
        assert!(claims.starts_with("a message claims a body of 1152921504606846976 bytes where "), "{claims}");
        assert_eq!(problem(&forged(body, -1)).unwrap_err(), "a message with a body of -1 bytes");
        // The batch has 23 rows.
        assert_eq!(problem(&forged(23, -1)).unwrap_err(), "a batch of -1 rows");
        let many = problem(&forged(23, 1 << 60)).unwrap_err();
        assert!(many.ends_with("that is a bomb"), "{many}");
        let more = problem(&forged(23, 1000)).unwrap_err();
        assert_eq!(more, "column `id`: has a buffer of 184 bytes where 8000 are needed");
        let buffer = problem(&forged(184, 1 << 40)).unwrap_err();
        assert!(
            buffer.starts_with("column `id`: a buffer of 1099511627776 bytes from byte 0 on, in a body of "),
            "{buffer}"
        );
    }

    #[test]
    fn a_message_lies_within_its_file() {
        let of_length = |length: i32| problem(&[&[0xff; 4], &length.to_le_bytes()[..], &[0; 8]].concat()).unwrap_err();
        assert_eq!(of_length(i32::MAX), "a message: 2147483647 bytes from byte 8 on, but the file ends at 16");
        assert_eq!(of_length(-5), "a message of -5 bytes");
        assert_eq!(of_length(0), "is an empty stream");
        assert_eq!(of_length(8), "points outside of itself");
    }
}
