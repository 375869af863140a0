//! FlatBuffers, the encoding of Arrow's metadata: tables whose fields are found through offsets. Every offset is checked
//! against the length of the bytes.

use crate::Parsed;

const SHORT: &str = "points outside of itself";

/// A table within some bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct FlatTable<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The position of each field relative to `at`; 0 for an absent one.
    fields: &'a [u8],
}

/// Items side by side.
#[derive(Debug, Clone, Copy)]
pub(super) struct FlatList<'a> {
    bytes: &'a [u8],
    start: usize,
    pub len: usize,
}

fn number<const SIZE: usize>(bytes: &[u8], at: usize) -> Parsed<[u8; SIZE]> {
    let part = bytes.get(at..).and_then(|rest| rest.first_chunk::<SIZE>());
    part.copied().ok_or_else(|| SHORT.into())
}

/// The place that an offset at `at` points to; it always points forward.
fn follow(bytes: &[u8], at: usize) -> Parsed<usize> {
    Ok(at + u32::from_le_bytes(number(bytes, at)?) as usize)
}

impl<'a> FlatTable<'a> {
    /// The root table.
    pub fn root(bytes: &'a [u8]) -> Parsed<FlatTable<'a>> {
        FlatTable::at(bytes, follow(bytes, 0)?)
    }

    fn at(bytes: &'a [u8], at: usize) -> Parsed<FlatTable<'a>> {
        let back = i32::from_le_bytes(number(bytes, at)?);
        let list = i64::try_from(at).ok().and_then(|at| usize::try_from(at - i64::from(back)).ok()).ok_or(SHORT)?;
        let size = usize::from(u16::from_le_bytes(number(bytes, list)?));
        // Its own length and that of the table come before the fields.
        let fields = bytes.get(list..list + size).and_then(|list| list.get(4..)).ok_or(SHORT)?;
        Ok(FlatTable { bytes, at, fields })
    }

    /// The position of a field, unless it is absent.
    fn place(&self, field: usize) -> Option<usize> {
        let offset = self.fields.get(2 * field..2 * field + 2)?;
        match u16::from_le_bytes([offset[0], offset[1]]) {
            0 => None,
            offset => Some(self.at + usize::from(offset)),
        }
    }

    fn number<const SIZE: usize>(&self, field: usize) -> Parsed<[u8; SIZE]> {
        self.place(field).map_or(Ok([0; SIZE]), |at| number(self.bytes, at))
    }

    /// 0 if it is absent, like all numbers.
    pub fn u8(&self, field: usize) -> Parsed<u8> {
        Ok(u8::from_le_bytes(self.number(field)?))
    }

    pub fn i16(&self, field: usize) -> Parsed<i16> {
        Ok(i16::from_le_bytes(self.number(field)?))
    }

    pub fn i32(&self, field: usize) -> Parsed<i32> {
        Ok(i32::from_le_bytes(self.number(field)?))
    }

    pub fn i64(&self, field: usize) -> Parsed<i64> {
        Ok(i64::from_le_bytes(self.number(field)?))
    }

    pub fn table(&self, field: usize) -> Parsed<Option<FlatTable<'a>>> {
        self.place(field).map(|at| FlatTable::at(self.bytes, follow(self.bytes, at)?)).transpose()
    }

    /// Empty if it is absent.
    pub fn list(&self, field: usize) -> Parsed<FlatList<'a>> {
        let Some(at) = self.place(field) else { return Ok(FlatList { bytes: &[], start: 0, len: 0 }) };
        let at = follow(self.bytes, at)?;
        let len = u32::from_le_bytes(number(self.bytes, at)?) as usize;
        Ok(FlatList { bytes: self.bytes, start: at + 4, len })
    }

    pub fn text(&self, field: usize) -> Parsed<&'a str> {
        let list = self.list(field)?;
        let bytes = list.bytes.get(list.start..list.start + list.len).ok_or(SHORT)?;
        std::str::from_utf8(bytes).map_err(|_| "has a name that is not UTF-8".into())
    }
}

impl<'a> FlatList<'a> {
    pub fn table(&self, item: usize) -> Parsed<FlatTable<'a>> {
        FlatTable::at(self.bytes, follow(self.bytes, self.start + 4 * item)?)
    }

    /// Items of a fixed size.
    pub fn items<const SIZE: usize>(&self) -> Parsed<&'a [[u8; SIZE]]> {
        let bytes = self.len.checked_mul(SIZE).and_then(|size| self.bytes.get(self.start..)?.get(..size));
        Ok(bytes.ok_or(SHORT)?.as_chunks().0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A table of a number (7), a text ("ab") and a list of two bytes; at the end its list of fields.
    const SMALL: [u8; 48] = [
        4, 0, 0, 0, // the table is four bytes on
        0xe0, 0xff, 0xff, 0xff, // its fields are listed 32 bytes on
        7, 0, 8, 0, 0, 0, // the number; the text is eight bytes on
        10, 0, 0, 0, // the list is ten bytes on
        2, 0, 0, 0, b'a', b'b', // the text
        2, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, // the list
        12, 0, 14, 0, 4, 0, 6, 0, 10, 0, 0, 0, // three fields, and one that is left out
    ];

    #[test]
    fn fields_are_found_through_their_offsets() {
        let table = FlatTable::root(&SMALL).unwrap();
        assert_eq!((table.u8(0).unwrap(), table.i16(0).unwrap(), table.text(1).unwrap()), (7, 7, "ab"));
        assert_eq!(table.list(2).unwrap().items::<1>().unwrap(), [[1], [2]]);
        assert_eq!(
            (table.i64(3).unwrap(), table.list(9).unwrap().len, table.table(3).unwrap().is_none()),
            (0, 0, true)
        );
    }

    /// Reads every field as every type.
    fn read_everything(table: FlatTable<'_>, depth: usize) {
        for field in 0..5 {
            let _ = (table.u8(field), table.i16(field), table.i32(field), table.i64(field), table.text(field));
            let Ok(list) = table.list(field) else { continue };
            let _ = (list.items::<1>(), list.items::<16>(), list.items::<24>());
            let nested = [table.table(field).ok().flatten(), list.table(0).ok(), list.table(1).ok()];
            nested.into_iter().flatten().filter(|_| depth < 3).for_each(|table| read_everything(table, depth + 1));
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(
            changes in prop::collection::vec((0..48usize, any::<u8>()), 0..6), length in 0..=48usize,
            noise in prop::collection::vec(prop_oneof![any::<u8>(), 0..9u8], 0..60),
        ) {
            let mut bytes = SMALL;
            changes.iter().for_each(|&(at, byte)| bytes[at] = byte);
            for bytes in [&bytes[..length], &noise] {
                let _ = FlatTable::root(bytes).map(|table| read_everything(table, 0));
            }
        }
    }
}
