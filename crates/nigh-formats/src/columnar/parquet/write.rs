//! Writing Parquet: plain columns without nulls, compressed with snappy. The same values give the same bytes.

use super::thrift::{BINARY, I32, STRUCT, ThriftWriter};
use std::borrow::Cow;
use std::io::{self, Write};

/// A column to be written. All columns of a table have the same number of rows.
pub enum OutputColumn<'a> {
    /// Integers.
    Integers(Box<dyn Iterator<Item = i64> + 'a>),
    /// Numbers.
    Numbers(Box<dyn Iterator<Item = f32> + 'a>),
    /// Texts.
    Texts(Box<dyn Iterator<Item = Cow<'a, str>> + 'a>),
    /// Booleans.
    Bools(Box<dyn Iterator<Item = bool> + 'a>),
}

/// Rows of a group. Readers work on groups in parallel, and keep a page in memory.
pub const GROUP: usize = 1 << 20;
const PAGE: usize = 1 << 17;
/// A page of long texts ends earlier.
const PAGE_BYTES: usize = 1 << 20;

/// The pages of a column of a group.
#[derive(Debug)]
struct WrittenChunk {
    start: usize,
    rows: usize,
    unpacked: usize,
    packed: usize,
}

/// A table of `rows` rows as a Parquet file.
///
/// # Panics
///
/// If a column has fewer rows.
pub fn write_parquet(rows: usize, mut columns: Vec<(String, OutputColumn<'_>)>) -> Vec<u8> {
    let in_memory = "memory can be written";
    let mut writer = ParquetWriter::new(Vec::new(), &columns).expect(in_memory);
    for start in (0..rows).step_by(GROUP) {
        writer.group(GROUP.min(rows - start), &mut columns).expect(in_memory);
    }
    writer.finish().expect(in_memory)
}

/// Writes a Parquet file group by group, so that no more than a column of a group is in memory.
#[derive(Debug)]
pub struct ParquetWriter<W> {
    out: W,
    position: usize,
    /// Names, and Parquet's numbers for their types.
    columns: Vec<(String, i32)>,
    groups: Vec<(usize, Vec<WrittenChunk>)>,
}

impl<W: Write> ParquetWriter<W> {
    /// A table with columns of these names and types.
    pub fn new(mut out: W, columns: &[(String, OutputColumn<'_>)]) -> io::Result<ParquetWriter<W>> {
        out.write_all(b"PAR1")?;
        let columns = columns.iter().map(|(name, column)| (name.clone(), column.kind())).collect();
        Ok(ParquetWriter { out, position: 4, columns, groups: Vec::new() })
    }

    /// The next rows.
    ///
    /// # Panics
    ///
    /// If a column has fewer rows or another type than it had.
    pub fn group(&mut self, rows: usize, columns: &mut [(String, OutputColumn<'_>)]) -> io::Result<()> {
        assert!(columns.iter().map(|column| column.1.kind()).eq(self.columns.iter().map(|column| column.1)));
        let mut chunks = Vec::with_capacity(columns.len());
        for (_, column) in columns {
            let mut bytes = Vec::new();
            let chunk = write_chunk(&mut bytes, column, rows);
            self.out.write_all(&bytes)?;
            chunks.push(WrittenChunk { start: self.position, ..chunk });
            self.position += bytes.len();
        }
        self.groups.push((rows, chunks));
        Ok(())
    }

    /// Writes the footer.
    pub fn finish(mut self) -> io::Result<W> {
        let rows = self.groups.iter().map(|group| group.0).sum();
        let footer = footer(rows, &self.columns, &self.groups);
        self.out.write_all(&footer)?;
        self.out.write_all(&(footer.len() as u32).to_le_bytes())?;
        self.out.write_all(b"PAR1")?;
        Ok(self.out)
    }
}

fn write_chunk(bytes: &mut Vec<u8>, column: &mut OutputColumn<'_>, rows: usize) -> WrittenChunk {
    let start = bytes.len();
    let (mut unpacked, mut left) = (0, rows);
    while left > 0 {
        let (count, values) = column.page(left.min(PAGE));
        left -= count;
        let packed = snap::raw::Encoder::new().compress_vec(&values).expect("a page is smaller than 4 GiB");
        let mut header = ThriftWriter::default();
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
    WrittenChunk { start, rows, unpacked, packed: bytes.len() - start }
}

impl OutputColumn<'_> {
    /// The next values, at most this many, one after the other; and how many they are.
    fn page(&mut self, most: usize) -> (usize, Vec<u8>) {
        let (mut bytes, mut count) = (Vec::new(), 0);
        while count < most && bytes.len() < PAGE_BYTES {
            let written = match self {
                OutputColumn::Integers(values) => values.next().map(|value| bytes.extend(value.to_le_bytes())),
                OutputColumn::Numbers(values) => values.next().map(|value| bytes.extend(value.to_le_bytes())),
                OutputColumn::Texts(texts) => texts.next().map(|text| {
                    bytes.extend((text.len() as u32).to_le_bytes());
                    bytes.extend(text.as_bytes());
                }),
                OutputColumn::Bools(values) => values.next().map(|value| {
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
            OutputColumn::Bools(_) => 0,
            OutputColumn::Integers(_) => 2,
            OutputColumn::Numbers(_) => 4,
            OutputColumn::Texts(_) => 6,
        }
    }
}

fn footer(rows: usize, columns: &[(String, i32)], groups: &[(usize, Vec<WrittenChunk>)]) -> Vec<u8> {
    let mut footer = ThriftWriter::default();
    let schema: Vec<Option<&(String, i32)>> = std::iter::once(None).chain(columns.iter().map(Some)).collect();
    footer.fields(|footer| {
        footer.i32(1, 1);
        footer.list(2, STRUCT, &schema, |writer, element| {
            writer.fields(|writer| match element {
                None => {
                    writer.text(4, "schema");
                    writer.i32(5, columns.len() as i32);
                }
                Some((name, kind)) => {
                    writer.i32(1, *kind);
                    // No value is missing.
                    writer.i32(3, 0);
                    writer.text(4, name);
                    if *kind == 6 {
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
                group.list(1, STRUCT, &with_columns, |writer, (chunk, (name, kind))| {
                    writer.fields(|writer| {
                        writer.i64(2, chunk.start as i64);
                        writer.within(3, |about| {
                            about.i32(1, *kind);
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
    use crate::Result;
    use crate::columnar::{Batch, ColumnValues, Columnar};
    use std::path::Path;

    fn read(bytes: Vec<u8>, columns: &[usize]) -> Vec<Batch> {
        let file = Columnar::from_bytes(Path::new("x"), bytes).unwrap();
        file.batches(columns).unwrap().collect::<Result<_>>().unwrap()
    }

    /// One column of `rows` times the same number: a dictionary of one entry, and a page of numbers of no bits.
    fn repeated(rows: usize) -> Vec<u8> {
        let mut bytes = b"PAR1".to_vec();
        let mut page = |kind: i32, field: u8, count: usize, encoding: i32, values: &[u8]| {
            let packed = snap::raw::Encoder::new().compress_vec(values).unwrap();
            let mut header = ThriftWriter::default();
            header.fields(|header| {
                header.i32(1, kind);
                header.i32(2, values.len() as i32);
                header.i32(3, packed.len() as i32);
                header.within(field, |about| {
                    about.i32(1, count as i32);
                    about.i32(2, encoding);
                });
            });
            bytes.extend(header.bytes);
            bytes.extend(packed);
        };
        page(2, 7, 1, 0, &7i64.to_le_bytes());
        page(0, 5, rows, 8, &[0]);
        let length = bytes.len() - 4;
        let chunk = WrittenChunk { start: 4, rows, unpacked: length, packed: length };
        let footer = footer(rows, &[("a".into(), 2)], &[(rows, vec![chunk])]);
        [&bytes[..], &footer, &(footer.len() as u32).to_le_bytes(), b"PAR1"].concat()
    }

    #[test]
    fn a_page_of_a_repeated_value_is_read_up_to_a_size_that_writers_reach() {
        let batches = read(repeated(100_000), &[0]);
        assert_eq!(batches.iter().map(|batch| batch.columns[0].len()).sum::<usize>(), 100_000);
        assert!(matches!(&batches[1].columns[0], ColumnValues::Integers(values) if values[0] == 7));
        let file = Columnar::from_bytes(Path::new("x"), repeated(1 << 27)).unwrap();
        assert_eq!(file.num_rows(), Some(1 << 27));
        let error = file.batches(&[0]).unwrap().next().unwrap().unwrap_err().to_string();
        assert_eq!(error, "x: column `a`: a page of 134217728 values; expected at most 67108864, in smaller pages");
    }

    fn table(rows: usize) -> Vec<u8> {
        let numbers = |step: f32| OutputColumn::Numbers(Box::new((0..rows).map(move |row| row as f32 * step)));
        let texts = OutputColumn::Texts(Box::new((0..rows).map(|row| format!("node {row}").into())));
        let bools = OutputColumn::Bools(Box::new((0..rows).map(|row| row % 3 == 0)));
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
                let [
                    ColumnValues::Texts(ids),
                    ColumnValues::Numbers(h0),
                    ColumnValues::Numbers(h1),
                    ColumnValues::Integers(flags),
                ] = &batch.columns[..]
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
}
