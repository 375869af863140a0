//! Pages: the pieces of a column, each with a header.

use super::footer::ColumnChunk;
use super::thrift::{SHORT, Thrift};
use crate::Parsed;
use crate::columnar::source::SeekSource;
use crate::columnar::unpack::{Codec, unpack};

/// Headers are tens of bytes; with the extremes of long texts they may be more.
const WINDOWS: [u64; 2] = [1 << 10, 1 << 20];

/// A decompressed page.
#[derive(Debug)]
pub(super) struct Page {
    pub kind: PageKind,
    /// Number of values, including missing ones.
    pub count: u64,
    pub encoding: i64,
    /// Levels and values.
    pub bytes: Vec<u8>,
}

/// How levels are stored before the values of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageKind {
    Dictionary,
    /// Each after its length; and whether each has the current encoding.
    First {
        repetition: bool,
        definition: bool,
    },
    /// Of these lengths.
    Second {
        repetition: usize,
        definition: usize,
    },
}

/// The header of a page.
#[derive(Debug, Default)]
struct PageHeader {
    kind: i64,
    unpacked: u64,
    packed: u64,
    count: u64,
    encoding: i64,
    level_encodings: [i64; 2],
    level_lengths: [u64; 2],
    plain_body: bool,
}

/// The encoding of levels.
const RLE: i64 = 3;

impl PageHeader {
    /// The header at the start of `bytes`, and how many bytes it takes.
    fn read(bytes: &[u8]) -> Parsed<(PageHeader, usize)> {
        let mut thrift = Thrift::new(bytes);
        let mut header = PageHeader { kind: -1, level_encodings: [RLE; 2], ..PageHeader::default() };
        thrift.fields(|field| {
            match field.id {
                1 => header.kind = field.integer()?,
                2 => header.unpacked = field.size()?,
                3 => header.packed = field.size()?,
                5 | 7 => field.fields(|field| {
                    match field.id {
                        1 => header.count = field.size()?,
                        2 => header.encoding = field.integer()?,
                        // In a dictionary this field says whether it is sorted.
                        3 if header.kind == 0 => header.level_encodings[0] = field.integer()?,
                        4 if header.kind == 0 => header.level_encodings[1] = field.integer()?,
                        _ => {}
                    }
                    Ok(())
                })?,
                8 => field.fields(|field| {
                    match field.id {
                        1 => header.count = field.size()?,
                        4 => header.encoding = field.integer()?,
                        5 => header.level_lengths[1] = field.size()?,
                        6 => header.level_lengths[0] = field.size()?,
                        7 => header.plain_body = !field.truth()?,
                        _ => {}
                    }
                    Ok(())
                })?,
                _ => {}
            }
            Ok(())
        })?;
        Ok((header, bytes.len() - thrift.rest().len()))
    }
}

/// The pages of a chunk, one after the other.
#[derive(Debug)]
pub(super) struct Pages {
    at: u64,
    end: u64,
    codec: Codec,
    number: usize,
}

impl Pages {
    pub fn new(chunk: &ColumnChunk) -> Parsed<Pages> {
        Ok(Pages { at: chunk.start, end: chunk.start + chunk.length, codec: chunk.codec()?, number: 0 })
    }

    /// The next page, if there is one.
    pub fn next(&mut self, source: &mut SeekSource) -> Parsed<Option<Page>> {
        while self.at < self.end {
            let page = self.read(source).map_err(|problem| format!("page {}: {problem}", self.number))?;
            self.number += 1;
            if page.is_some() {
                return Ok(page);
            }
        }
        Ok(None)
    }

    /// The next page, unless it is of a kind without values.
    fn read(&mut self, source: &mut SeekSource) -> Parsed<Option<Page>> {
        let (header, length) = self.header(source)?;
        self.at += length as u64;
        if header.packed > self.end - self.at {
            let (claimed, left) = (header.packed, self.end - self.at);
            return Err(format!("claims {claimed} bytes where its column has {left} left"));
        }
        let start = self.at;
        self.at += header.packed;
        let kind = match header.kind {
            0 => {
                let [definition, repetition] = header.level_encodings.map(|encoding| encoding == RLE);
                PageKind::First { repetition, definition }
            }
            1 => return Ok(None),
            2 => PageKind::Dictionary,
            3 => {
                let [repetition, definition] = header.level_lengths;
                let levels = repetition.checked_add(definition);
                let levels = levels.filter(|&levels| levels <= header.packed && levels <= header.unpacked);
                let levels = levels.ok_or("claims levels that are longer than itself")?;
                let mut bytes = source.bytes(start, levels, "levels")?;
                let body = source.bytes(start + levels, header.packed - levels, "values")?;
                let codec = if header.plain_body { Codec::None } else { self.codec };
                bytes.extend(unpack(codec, body, header.unpacked - levels)?);
                // Both fit, since they were read.
                let kind = PageKind::Second { repetition: repetition as usize, definition: definition as usize };
                return Ok(Some(Page { kind, count: header.count, encoding: header.encoding, bytes }));
            }
            other => return Err(format!("is of an unknown kind, number {other}")),
        };
        let packed = source.bytes(start, header.packed, "values")?;
        let bytes = unpack(self.codec, packed, header.unpacked)?;
        Ok(Some(Page { kind, count: header.count, encoding: header.encoding, bytes }))
    }

    fn header(&self, source: &mut SeekSource) -> Parsed<(PageHeader, usize)> {
        let left = self.end - self.at;
        for window in WINDOWS {
            let bytes = source.bytes(self.at, left.min(window), "header")?;
            match PageHeader::read(&bytes) {
                Err(problem) if problem == SHORT && left > window => {}
                read => return read.map_err(|problem| format!("its header {problem}")),
            }
        }
        Err("has a header of more than a MiB".into())
    }
}
