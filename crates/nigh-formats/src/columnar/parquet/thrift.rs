//! Thrift's compact protocol, the encoding of Parquet's metadata.

use crate::Parsed;

/// Nothing in Parquet nests deeper.
const MAX_DEPTH: usize = 32;

/// The types of fields.
pub(super) const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
pub(super) const I32: u8 = 5;
pub(super) const I64: u8 = 6;
const DOUBLE: u8 = 7;
pub(super) const BINARY: u8 = 8;
pub(super) const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
pub(super) const STRUCT: u8 = 12;

/// The bytes still to be read.
pub(super) struct Thrift<'a> {
    rest: &'a [u8],
    depth: usize,
}

/// A field of a struct, to be read or skipped.
pub(super) struct ThriftField<'t, 'a> {
    pub id: i64,
    kind: u8,
    thrift: &'t mut Thrift<'a>,
    read: &'t mut bool,
}

/// The problem with metadata that end early; a longer piece of the file may help.
pub(super) const SHORT: &str = "ends within its description";

impl<'a> Thrift<'a> {
    pub fn new(bytes: &'a [u8]) -> Thrift<'a> {
        Thrift { rest: bytes, depth: 0 }
    }

    /// The bytes after those that were read.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Shows every field of a struct to `visit`; those that it does not read are skipped.
    pub fn fields(&mut self, mut visit: impl FnMut(ThriftField<'_, 'a>) -> Parsed<()>) -> Parsed<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("describes itself more than {MAX_DEPTH} levels deep"));
        }
        let mut id = 0;
        loop {
            let head = self.byte()?;
            let kind = head & 15;
            if kind == 0 {
                break;
            }
            // Small steps from one field to the next are stored in the byte of the type.
            id = if head >> 4 == 0 { self.signed()? } else { id + i64::from(head >> 4) };
            let mut read = false;
            visit(ThriftField { id, kind, thrift: self, read: &mut read })?;
            if !read {
                self.skip(kind)?;
            }
        }
        self.depth -= 1;
        Ok(())
    }

    pub fn byte(&mut self) -> Parsed<u8> {
        let (&byte, rest) = self.rest.split_first().ok_or(SHORT)?;
        self.rest = rest;
        Ok(byte)
    }

    /// Seven bits a byte, the lowest first.
    pub fn unsigned(&mut self) -> Parsed<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Ok(value);
            }
        }
        Err("has a number of more than ten bytes".into())
    }

    /// 0, -1, 1, -2, ...
    pub fn signed(&mut self) -> Parsed<i64> {
        let value = self.unsigned()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    fn bytes(&mut self) -> Parsed<&'a [u8]> {
        let length = self.unsigned()?;
        let split = usize::try_from(length).ok().and_then(|length| self.rest.split_at_checked(length));
        let (bytes, rest) = split.ok_or(SHORT)?;
        self.rest = rest;
        Ok(bytes)
    }

    /// The type and the number of items; each takes a byte at least.
    fn list(&mut self) -> Parsed<(u8, usize)> {
        let head = self.byte()?;
        let count = if head >> 4 == 15 { self.unsigned()? } else { u64::from(head >> 4) };
        if count > self.rest.len() as u64 {
            return Err(SHORT.into());
        }
        Ok((head & 15, count as usize))
    }

    fn skip(&mut self, kind: u8) -> Parsed<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("describes itself more than {MAX_DEPTH} levels deep"));
        }
        match kind {
            TRUE | FALSE => {}
            BYTE => drop(self.byte()?),
            I16 | I32 | I64 => drop(self.unsigned()?),
            DOUBLE => self.rest = self.rest.split_at_checked(8).ok_or(SHORT)?.1,
            BINARY => drop(self.bytes()?),
            LIST | SET => {
                let (kind, count) = self.list()?;
                for _ in 0..count {
                    self.item(kind)?;
                }
            }
            MAP => {
                let count = self.unsigned()?;
                let kinds = if count == 0 { 0 } else { self.byte()? };
                for _ in 0..count {
                    self.item(kinds >> 4)?;
                    self.item(kinds & 15)?;
                }
            }
            STRUCT => self.fields(|_| Ok(()))?,
            _ => return Err(format!("has a field of unknown type {kind}")),
        }
        self.depth -= 1;
        Ok(())
    }

    /// Skips an item of a list; a boolean takes a byte there.
    fn item(&mut self, kind: u8) -> Parsed<()> {
        self.skip(if kind == TRUE || kind == FALSE { BYTE } else { kind })
    }
}

impl<'a> ThriftField<'_, 'a> {
    fn expect(&mut self, kinds: &[u8]) -> Parsed<()> {
        *self.read = true;
        if kinds.contains(&self.kind) { Ok(()) } else { Err(format!("has field {} of an unexpected type", self.id)) }
    }

    pub fn integer(mut self) -> Parsed<i64> {
        self.expect(&[I16, I32, I64])?;
        self.thrift.signed()
    }

    /// An integer that counts something.
    pub fn size(self) -> Parsed<u64> {
        let id = self.id;
        let value = self.integer()?;
        u64::try_from(value).map_err(|_| format!("has field {id} of {value} where a size is expected"))
    }

    pub fn small(mut self) -> Parsed<u8> {
        self.expect(&[BYTE])?;
        self.thrift.byte()
    }

    pub fn truth(mut self) -> Parsed<bool> {
        self.expect(&[TRUE, FALSE])?;
        Ok(self.kind == TRUE)
    }

    pub fn text(mut self) -> Parsed<&'a str> {
        self.expect(&[BINARY])?;
        std::str::from_utf8(self.thrift.bytes()?).map_err(|_| "has a name that is not UTF-8".into())
    }

    /// The fields of a struct within.
    pub fn fields(mut self, visit: impl FnMut(ThriftField<'_, 'a>) -> Parsed<()>) -> Parsed<()> {
        self.expect(&[STRUCT])?;
        self.thrift.fields(visit)
    }

    /// Every struct of a list.
    pub fn structs(mut self, mut item: impl FnMut(&mut Thrift<'a>) -> Parsed<()>) -> Parsed<()> {
        self.expect(&[LIST])?;
        let (kind, count) = self.thrift.list()?;
        if kind != STRUCT && count > 0 {
            return Err(format!("has a list of unexpected items in field {}", self.id));
        }
        (0..count).try_for_each(|_| item(self.thrift))
    }
}

/// Writes what [`Thrift`] reads.
#[derive(Default)]
pub(super) struct ThriftWriter {
    pub bytes: Vec<u8>,
    /// The last field of each open struct.
    last: Vec<u8>,
}

impl ThriftWriter {
    /// A struct of these fields, which must come in order.
    pub fn fields(&mut self, write: impl FnOnce(&mut ThriftWriter)) {
        self.last.push(0);
        write(self);
        self.last.pop();
        self.bytes.push(0);
    }

    fn head(&mut self, id: u8, kind: u8) {
        let last = self.last.last_mut().expect("within a struct");
        self.bytes.push((id - *last) << 4 | kind);
        *last = id;
    }

    pub fn unsigned(&mut self, mut value: u64) {
        while value > 127 {
            self.bytes.push(value as u8 | 128);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    fn signed(&mut self, value: i64) {
        self.unsigned((value << 1 ^ value >> 63) as u64);
    }

    pub fn i32(&mut self, id: u8, value: i32) {
        self.head(id, I32);
        self.signed(value.into());
    }

    pub fn i64(&mut self, id: u8, value: i64) {
        self.head(id, I64);
        self.signed(value);
    }

    pub fn text(&mut self, id: u8, text: &str) {
        self.head(id, BINARY);
        self.unsigned(text.len() as u64);
        self.bytes.extend(text.as_bytes());
    }

    pub fn within(&mut self, id: u8, write: impl FnOnce(&mut ThriftWriter)) {
        self.head(id, STRUCT);
        self.fields(write);
    }

    /// A list of items of this type, each written by `item` with nothing around it.
    pub fn list<T>(&mut self, id: u8, kind: u8, items: &[T], mut item: impl FnMut(&mut ThriftWriter, &T)) {
        self.head(id, LIST);
        self.bytes.push(0xf0 | kind);
        self.unsigned(items.len() as u64);
        items.iter().for_each(|of| item(self, of));
    }

    /// An item of a list of texts.
    pub fn text_item(&mut self, text: &str) {
        self.unsigned(text.len() as u64);
        self.bytes.extend(text.as_bytes());
    }

    /// An item of a list of integers.
    pub fn i32_item(&mut self, value: i32) {
        self.signed(value.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read_all(bytes: &[u8]) -> Parsed<Vec<(i64, i64)>> {
        let mut found = Vec::new();
        Thrift::new(bytes).fields(|field| match field.id {
            1 | 3 => {
                found.push((field.id, field.integer()?));
                Ok(())
            }
            _ => Ok(()),
        })?;
        Ok(found)
    }

    #[test]
    fn what_is_written_is_read_and_the_rest_passed_over() {
        let mut writer = ThriftWriter::default();
        writer.fields(|writer| {
            writer.i32(1, -3);
            writer.list(2, STRUCT, &[1, 2], |writer, &number| {
                writer.fields(|writer| {
                    writer.i32(1, number);
                    writer.text(7, "text");
                });
            });
            writer.i64(3, i64::MIN);
        });
        assert_eq!(read_all(&writer.bytes).unwrap(), [(1, -3), (3, i64::MIN)]);
        for end in 0..writer.bytes.len() {
            assert_eq!(read_all(&writer.bytes[..end]).unwrap_err(), SHORT, "cut at {end}");
        }
    }

    #[test]
    fn claims_and_depth_are_bounded() {
        assert_eq!(read_all(&[0x1c; 100_000]).unwrap_err(), "has field 1 of an unexpected type");
        assert_eq!(read_all(&[0x2c; 100_000]).unwrap_err(), "describes itself more than 32 levels deep");
        assert_eq!(read_all(&[0x29, 0xf9, 0xff, 0xff, 0xff, 0xff, 0x0f]).unwrap_err(), SHORT, "a long list");
        assert_eq!(read_all(&[0x28, 0xff, 0xff, 0xff, 0xff, 0x0f, 0]).unwrap_err(), SHORT, "a long text");
        assert_eq!(
            read_all(&[[0x16].as_slice(), &[0xff; 20]].concat()).unwrap_err(),
            "has a number of more than ten bytes"
        );
        assert_eq!(read_all(&[0x2b, 0xff, 0xff, 0x0f, 0x33]).unwrap_err(), SHORT, "a long map");
        assert_eq!(read_all(&[0x2e, 0]).unwrap_err(), "has a field of unknown type 14");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read_all(&bytes);
        }
    }
}
