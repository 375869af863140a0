//! Writing Parquet: the little that results need. The same values give the same bytes.

use super::thrift::{BINARY, I32, STRUCT, Writer};
use crate::dataset::Ids;
use std::borrow::Cow;

/// A column to be written. All columns of a table have the same number of rows.
pub(crate) enum OutColumn<'a> {
    /// Whole numbers.
    Integers(Box<dyn Iterator<Item = i64> + 'a>),
    /// Numbers.
    Numbers(Box<dyn Iterator<Item = f32> + 'a>),
    /// Texts.
    Texts(Box<dyn Iterator<Item = Cow<'a, str>> + 'a>),
    /// Truth values.
    Bools(Box<dyn Iterator<Item = bool> + 'a>),
}

/// Ids: whole numbers if that is how every one of them is written, texts otherwise.
pub(crate) fn ids(ids: &Ids) -> OutColumn<'_> {
    let nodes = 0..ids.len();
    if ids.integer(0).is_some() {
        return OutColumn::Integers(Box::new(nodes.filter_map(|node| ids.integer(node))));
    }
    OutColumn::Texts(Box::new(nodes.map(|node| ids.name(node))))
}

/// Readers work on groups in parallel, and keep a page in memory.
const GROUP: usize = 1 << 20;
const PAGE: usize = 1 << 17;
/// A page of long texts ends earlier.
const PAGE_BYTES: usize = 1 << 20;

/// Where the pages of a column of a group lie.
struct Chunk {
    start: usize,
    rows: usize,
    unpacked: usize,
    packed: usize,
}

/// A table of `rows` rows as a Parquet file: snappy, no value is missing.
pub(crate) fn write_parquet(rows: usize, mut columns: Vec<(String, OutColumn<'_>)>) -> Vec<u8> {
    let mut bytes = b"PAR1".to_vec();
    let mut groups: Vec<(usize, Vec<Chunk>)> = Vec::new();
    for start in (0..rows).step_by(GROUP) {
        let group = GROUP.min(rows - start);
        let chunks = columns.iter_mut().map(|(_, column)| write_chunk(&mut bytes, column, group)).collect();
        groups.push((group, chunks));
    }
    let footer = footer(rows, &columns, &groups);
    bytes.extend(&footer);
    bytes.extend((footer.len() as u32).to_le_bytes());
    bytes.extend(b"PAR1");
    bytes
}

fn write_chunk(bytes: &mut Vec<u8>, column: &mut OutColumn<'_>, rows: usize) -> Chunk {
    let start = bytes.len();
    let (mut unpacked, mut left) = (0, rows);
    while left > 0 {
        let (count, values) = column.page(left.min(PAGE));
        left -= count;
        let packed = snap::raw::Encoder::new().compress_vec(&values).expect("a page is smaller than 4 GiB");
        let mut header = Writer::default();
        header.fields(|header| {
            header.i32(1, 0);
            header.i32(2, values.len() as i32);
            header.i32(3, packed.len() as i32);
            header.within(5, |data| {
                data.i32(1, count as i32);
                // Plain values, and levels in the usual encoding, of which there are none.
                data.i32(2, 0);
                data.i32(3, 3);
                data.i32(4, 3);
            });
        });
        unpacked += header.bytes.len() + values.len();
        bytes.extend(header.bytes);
        bytes.extend(packed);
    }
    Chunk { start, rows, unpacked, packed: bytes.len() - start }
}

impl OutColumn<'_> {
    /// The next values, at most so many, one after the other; and how many they are.
    fn page(&mut self, most: usize) -> (usize, Vec<u8>) {
        let (mut bytes, mut count) = (Vec::new(), 0);
        while count < most && bytes.len() < PAGE_BYTES {
            let written = match self {
                OutColumn::Integers(values) => values.next().map(|value| bytes.extend(value.to_le_bytes())),
                OutColumn::Numbers(values) => values.next().map(|value| bytes.extend(value.to_le_bytes())),
                OutColumn::Texts(texts) => texts.next().map(|text| {
                    bytes.extend((text.len() as u32).to_le_bytes());
                    bytes.extend(text.as_bytes());
                }),
                OutColumn::Bools(values) => values.next().map(|value| {
                    bytes.resize(count / 8 + 1, 0);
                    bytes[count / 8] |= u8::from(value) << (count % 8);
                }),
            };
            written.expect("every column has all rows");
            count += 1;
        }
        (count, bytes)
    }

    /// Parquet's number for the type.
    fn kind(&self) -> i32 {
        match self {
            OutColumn::Bools(_) => 0,
            OutColumn::Integers(_) => 2,
            OutColumn::Numbers(_) => 4,
            OutColumn::Texts(_) => 6,
        }
    }
}

fn footer(rows: usize, columns: &[(String, OutColumn<'_>)], groups: &[(usize, Vec<Chunk>)]) -> Vec<u8> {
    let mut footer = Writer::default();
    let schema: Vec<Option<&(String, OutColumn<'_>)>> = std::iter::once(None).chain(columns.iter().map(Some)).collect();
    footer.fields(|footer| {
        footer.i32(1, 1);
        footer.list(2, STRUCT, &schema, |writer, element| {
            writer.fields(|writer| match element {
                None => {
                    writer.text(4, "schema");
                    writer.i32(5, columns.len() as i32);
                }
                Some((name, column)) => {
                    writer.i32(1, column.kind());
                    // No value is missing.
                    writer.i32(3, 0);
                    writer.text(4, name);
                    if column.kind() == 6 {
                        // Text, for readers old and new.
                        writer.i32(6, 0);
                        writer.within(10, |logical| logical.within(1, |_| {}));
                    }
                }
            });
        });
        footer.i64(3, rows as i64);
        footer.list(4, STRUCT, groups, |writer, (rows, chunks)| {
            writer.fields(|group| {
                let with_columns: Vec<_> = chunks.iter().zip(columns).collect();
                group.list(1, STRUCT, &with_columns, |writer, (chunk, (name, column))| {
                    writer.fields(|writer| {
                        writer.i64(2, chunk.start as i64);
                        writer.within(3, |about| {
                            about.i32(1, column.kind());
                            about.list(2, I32, &[0, 3], |writer, &encoding| writer.i32_item(encoding));
                            about.list(3, BINARY, &[name], |writer, name| writer.text_item(name));
                            about.i32(4, 1);
                            about.i64(5, chunk.rows as i64);
                            about.i64(6, chunk.unpacked as i64);
                            about.i64(7, chunk.packed as i64);
                            about.i64(9, chunk.start as i64);
                        });
                    });
                });
                group.i64(2, chunks.iter().map(|chunk| chunk.unpacked as i64).sum());
                group.i64(3, *rows as i64);
            });
        });
        footer.text(6, "nigh");
    });
    footer.bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::columnar::{Batch, Column, Columnar};
    use crate::error::Result;
    use std::path::Path;

    fn read(bytes: Vec<u8>, columns: &[usize]) -> Vec<Batch> {
        let file = Columnar::from_bytes(Path::new("x"), bytes).unwrap();
        file.batches(columns).unwrap().collect::<Result<_>>().unwrap()
    }

    fn table(rows: usize) -> Vec<u8> {
        let numbers = |step: f32| OutColumn::Numbers(Box::new((0..rows).map(move |row| row as f32 * step)));
        let texts = OutColumn::Texts(Box::new((0..rows).map(|row| format!("node {row}").into())));
        let bools = OutColumn::Bools(Box::new((0..rows).map(|row| row % 3 == 0)));
        let columns = vec![
            ("id".into(), texts),
            ("h0".into(), numbers(0.5)),
            ("h1".into(), numbers(-1.0)),
            ("flag".into(), bools),
        ];
        write_parquet(rows, columns)
    }

    #[test]
    fn what_is_written_is_read() {
        for rows in [0, 1, 9, 300_000, GROUP + 3] {
            let bytes = table(rows);
            assert_eq!(bytes, table(rows), "the same values give the same bytes");
            let file = Columnar::from_bytes(Path::new("x"), bytes.clone()).unwrap();
            assert_eq!(file.names().join(" "), "id h0 h1 flag");
            let mut row = 0;
            for batch in read(bytes, &[0, 1, 2, 3]) {
                let [Column::Texts(ids), Column::Numbers(h0), Column::Numbers(h1), Column::Integers(flags)] =
                    &batch.columns[..]
                else {
                    panic!("{:?}", batch.columns)
                };
                for at in 0..ids.len() {
                    let values = (ids.get(at), h0[at], h1[at], flags[at]);
                    let expected = (format!("node {row}"), row as f32 * 0.5, -(row as f32), i64::from(row % 3 == 0));
                    assert_eq!(values, (expected.0.as_str(), expected.1, expected.2, expected.3));
                    row += 1;
                }
            }
            assert_eq!(row, rows);
        }
    }

    #[test]
    fn ids_are_numbers_only_if_all_are_written_as_such() {
        let written = |names: &[&str]| {
            let names = Ids::from_names(names);
            let bytes = write_parquet(names.len(), vec![("id".into(), ids(&names))]);
            read(bytes, &[0]).remove(0).columns.remove(0)
        };
        assert_eq!(written(&["7", "-3", "0"]), Column::Integers(vec![7, -3, 0]));
        for names in [["7", "x"], ["7", "007"], ["7", "+1"], ["7", "99999999999999999999"], ["7", "1.0"], ["7", "-0"]] {
            let Column::Texts(texts) = written(&names) else { panic!("{names:?}") };
            assert_eq!(texts.iter().collect::<Vec<_>>(), names);
        }
        let bytes = write_parquet(3, vec![("id".into(), ids(&Ids::Numbers(3)))]);
        assert_eq!(read(bytes, &[0])[0].columns, [Column::Integers(vec![0, 1, 2])]);
    }
}
