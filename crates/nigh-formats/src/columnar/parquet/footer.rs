//! The footer of a Parquet file: its columns, and where their values are stored.

use super::thrift::{Thrift, ThriftField};
use crate::columnar::source::SeekSource;
use crate::columnar::unpack::Codec;
use crate::columnar::{Parsed, unsupported};

/// The types that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum ValueKind {
    Bool,
    Int32,
    Uint32,
    Int64,
    Uint64,
    Half,
    Float,
    Double,
    Text,
}

/// The footer of a file.
#[derive(Debug)]
pub(in super::super) struct Footer {
    pub columns: Vec<ParquetColumn>,
    pub(super) groups: Vec<RowGroup>,
    /// Number of stored columns; a nested column is stored as several.
    stored: usize,
}

/// A column as a user sees it.
#[derive(Debug)]
pub(in super::super) struct ParquetColumn {
    pub name: String,
    /// What is stored of it, or the type that is not read.
    leaf: Result<Leaf, String>,
}

/// A column as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Leaf {
    /// Its number among all that are stored.
    pub index: usize,
    pub kind: ValueKind,
    /// The level of a value that is present; below it something is missing.
    pub defined: u32,
    /// For lists, the level of an item, missing or not.
    pub item: Option<u32>,
}

/// Some rows of all columns.
#[derive(Debug)]
pub(super) struct RowGroup {
    pub rows: u64,
    pub chunks: Vec<ColumnChunk>,
}

/// A column of a group.
#[derive(Debug, Clone, Copy)]
pub(super) struct ColumnChunk {
    codec: i64,
    pub values: u64,
    pub start: u64,
    pub length: u64,
}

impl Footer {
    /// From the end of a file.
    pub fn read(source: &mut SeekSource) -> Parsed<Footer> {
        let length = source.length();
        let tail = source.bytes(length.saturating_sub(8), length.min(8), "its last bytes")?;
        let (size, magic) = tail.split_first_chunk::<4>().ok_or("ends within its first bytes")?;
        match magic {
            b"PAR1" => {}
            b"PARE" => return Err("is encrypted; save it without encryption".into()),
            _ => return Err("does not end with PAR1: it was cut off, or is no Parquet file".into()),
        }
        let size = u64::from(u32::from_le_bytes(*size));
        // Magic, footer, its length, magic.
        let start = length.checked_sub(12).and_then(|room| room.checked_sub(size)).map(|before| before + 4);
        let start = start.ok_or_else(|| format!("claims a footer of {size} bytes in a file of {length}"))?;
        let bytes = source.bytes(start, size, "its footer")?;
        let footer = Footer::parse(&bytes).map_err(|problem| format!("its footer {problem}"))?;
        footer.check(start)?;
        Ok(footer)
    }

    /// Rows of all groups.
    pub fn num_rows(&self) -> u64 {
        self.groups.iter().fold(0, |sum, group| sum.saturating_add(group.rows))
    }

    fn parse(bytes: &[u8]) -> Parsed<Footer> {
        let mut elements = Vec::new();
        let mut groups = Vec::new();
        Thrift::new(bytes).fields(|field| {
            match field.id {
                2 => field.structs(|thrift| SchemaElement::read(thrift).map(|element| elements.push(element)))?,
                4 => field.structs(|thrift| RowGroup::read(thrift).map(|group| groups.push(group)))?,
                _ => {}
            }
            Ok(())
        })?;
        let (columns, stored) = columns(&elements)?;
        Ok(Footer { columns, groups, stored })
    }

    /// Every chunk is between the first magic and the footer.
    fn check(&self, end: u64) -> Parsed<()> {
        for (number, group) in self.groups.iter().enumerate() {
            if group.chunks.len() != self.stored {
                let (found, stored) = (group.chunks.len(), self.stored);
                return Err(format!("row group {number} has {found} columns, but {stored} are announced"));
            }
            for chunk in &group.chunks {
                let (start, length) = (chunk.start, chunk.length);
                if start < 4 || start.checked_add(length).is_none_or(|stop| stop > end) {
                    return Err(format!(
                        "row group {number}: {length} bytes from byte {start} on, but the values end at {end}"
                    ));
                }
            }
        }
        Ok(())
    }
}

impl ParquetColumn {
    /// What is stored, unless it can't be read.
    pub(super) fn leaf(&self) -> Parsed<Leaf> {
        self.leaf.clone().map_err(|kind| unsupported(&self.name, &kind))
    }
}

impl ColumnChunk {
    pub fn codec(&self) -> Parsed<Codec> {
        let names = ["LZO", "Brotli", "LZ4 of Hadoop"];
        Ok(match self.codec {
            0 => Codec::None,
            1 => Codec::Snappy,
            2 => Codec::Gzip,
            6 => Codec::Zstd,
            7 => Codec::Lz4Block,
            3..=5 => {
                let name = names[self.codec as usize - 3];
                return Err(format!("is compressed with {name}; save it with snappy, gzip, zstd or lz4_raw"));
            }
            other => return Err(format!("is compressed in an unknown way, number {other}")),
        })
    }

    fn read(thrift: &mut Thrift<'_>) -> Parsed<ColumnChunk> {
        let mut chunk = ColumnChunk { codec: 0, values: 0, start: 0, length: 0 };
        let (mut dictionary, mut elsewhere, mut described) = (0, false, false);
        thrift.fields(|field| {
            match field.id {
                1 => elsewhere = true,
                3 => {
                    described = true;
                    field.fields(|field| {
                        match field.id {
                            4 => chunk.codec = field.integer()?,
                            5 => chunk.values = field.size()?,
                            7 => chunk.length = field.size()?,
                            9 => chunk.start = field.size()?,
                            11 => dictionary = field.size()?,
                            _ => {}
                        }
                        Ok(())
                    })?;
                }
                8 => return Err("names an encrypted column; save it without encryption".into()),
                _ => {}
            }
            Ok(())
        })?;
        if elsewhere || !described {
            return Err("names values in another file, which are not read".into());
        }
        // The dictionary comes first where there is one; some writers use 0 for none.
        if (1..chunk.start).contains(&dictionary) {
            chunk.start = dictionary;
        }
        Ok(chunk)
    }
}

impl RowGroup {
    fn read(thrift: &mut Thrift<'_>) -> Parsed<RowGroup> {
        let mut group = RowGroup { rows: 0, chunks: Vec::new() };
        thrift.fields(|field| {
            match field.id {
                1 => field.structs(|thrift| ColumnChunk::read(thrift).map(|chunk| group.chunks.push(chunk)))?,
                3 => group.rows = field.size()?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(group)
    }
}

/// A node of the tree of columns, which is listed with every parent before its children.
#[derive(Debug, Default)]
struct SchemaElement<'a> {
    name: &'a str,
    physical: Option<i64>,
    width: i64,
    repetition: i64,
    children: u64,
    converted: Option<i64>,
    logical: Option<i64>,
    /// Bits and sign of an annotated integer.
    integer: Option<(u8, bool)>,
}

const OPTIONAL: i64 = 1;
const REPEATED: i64 = 2;

impl<'a> SchemaElement<'a> {
    fn read(thrift: &mut Thrift<'a>) -> Parsed<SchemaElement<'a>> {
        let mut element = SchemaElement::default();
        thrift.fields(|field| {
            match field.id {
                1 => element.physical = Some(field.integer()?),
                2 => element.width = field.integer()?,
                3 => element.repetition = field.integer()?,
                4 => element.name = field.text()?,
                5 => element.children = field.size()?,
                6 => element.converted = Some(field.integer()?),
                10 => field.fields(|field| element.logical(field))?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(element)
    }

    fn logical(&mut self, field: ThriftField<'_, 'a>) -> Parsed<()> {
        self.logical = Some(field.id);
        if field.id != 10 {
            return Ok(());
        }
        let (mut bits, mut signed) = (0, true);
        field.fields(|field| {
            match field.id {
                1 => bits = field.small()?,
                2 => signed = field.truth()?,
                _ => {}
            }
            Ok(())
        })?;
        self.integer = Some((bits, signed));
        Ok(())
    }

    fn is_list(&self) -> bool {
        self.logical == Some(3) || self.converted == Some(3) || self.repetition == REPEATED
    }

    /// The type of its values, or the name of a type that is not read.
    fn kind(&self) -> Result<ValueKind, String> {
        let not_read = match (self.logical, self.converted) {
            (Some(5), _) | (_, Some(5)) => "decimal",
            (Some(6), _) | (_, Some(6)) => "date",
            (Some(7), _) | (_, Some(7 | 8)) => "time",
            (Some(8), _) | (_, Some(9 | 10)) => "timestamp",
            (Some(11), _) => "null",
            (_, Some(20)) | (Some(13), _) => "BSON",
            (_, Some(21)) => "interval",
            (Some(14), _) => "UUID",
            (Some(16), _) => "variant",
            (Some(17 | 18), _) => "geometry",
            _ => "",
        };
        if !not_read.is_empty() {
            return Err(not_read.into());
        }
        let signed = match (self.integer, self.converted) {
            (Some((_, signed)), _) => signed,
            (None, Some(11..=14)) => false,
            _ => true,
        };
        match (self.physical, signed) {
            (Some(0), _) => Ok(ValueKind::Bool),
            (Some(1), true) => Ok(ValueKind::Int32),
            (Some(1), false) => Ok(ValueKind::Uint32),
            (Some(2), true) => Ok(ValueKind::Int64),
            (Some(2), false) => Ok(ValueKind::Uint64),
            (Some(3), _) => Err("timestamp (INT96)".into()),
            (Some(4), _) => Ok(ValueKind::Float),
            (Some(5), _) => Ok(ValueKind::Double),
            // Old writers do not mark bytes as text.
            (Some(6), _) => Ok(ValueKind::Text),
            (Some(7), _) if self.logical == Some(15) && self.width == 2 => Ok(ValueKind::Half),
            (Some(7), _) => Err(format!("bytes of length {}", self.width)),
            (other, _) => Err(format!("number {}", other.unwrap_or(-1))),
        }
    }
}

/// A parent with children still to come.
struct Parent {
    left: u64,
    defined: u32,
    repeated: u32,
    /// The level of definition of what was repeated last.
    item: Option<u32>,
}

/// Nothing sensible nests deeper; a list takes two levels.
const MAX_LEVELS: usize = 64;

/// Walks the tree and keeps its first level, and how many leaves there are. It does not recurse.
fn columns(elements: &[SchemaElement<'_>]) -> Parsed<(Vec<ParquetColumn>, usize)> {
    let (root, elements) = elements.split_first().ok_or("names no columns")?;
    let mut parents = vec![Parent { left: root.children, defined: 0, repeated: 0, item: None }];
    let mut columns: Vec<ParquetColumn> = Vec::new();
    let (mut stored, mut first, mut top) = (0, 0, root);
    for element in elements {
        while parents.last().is_some_and(|parent| parent.left == 0) {
            parents.pop();
        }
        let is_top = parents.len() == 1;
        let parent = parents.last_mut().ok_or("names more columns than it announces")?;
        parent.left -= 1;
        let defined = parent.defined + u32::from([OPTIONAL, REPEATED].contains(&element.repetition));
        let repeated = parent.repeated + u32::from(element.repetition == REPEATED);
        let item = if element.repetition == REPEATED { Some(defined) } else { parent.item };
        if is_top {
            (first, top) = (stored, element);
            columns.push(ParquetColumn { name: element.name.to_string(), leaf: Err("struct".into()) });
        }
        if element.children > 0 {
            parents.push(Parent { left: element.children, defined, repeated, item });
            if parents.len() > MAX_LEVELS {
                return Err(format!("nests columns more than {MAX_LEVELS} levels deep"));
            }
            continue;
        }
        let column = columns.last_mut().expect("its first level was there before");
        let leaf = |kind| Leaf { index: stored, kind, defined, item };
        column.leaf = match repeated {
            _ if stored > first => Err("struct or map".into()),
            0 if is_top => element.kind().map(leaf),
            1 if top.is_list() => match element.kind() {
                Ok(ValueKind::Text) => Err("list of texts".into()),
                kind => kind.map(leaf).map_err(|kind| format!("list of {kind}")),
            },
            0 | 1 => Err("struct".into()),
            _ => Err("list of lists".into()),
        };
        stored += 1;
    }
    if parents.iter().any(|parent| parent.left > 0) {
        return Err("announces more columns than it names".into());
    }
    Ok((columns, stored))
}

#[cfg(test)]
mod tests {
    use super::super::thrift::{STRUCT, ThriftWriter};
    use super::*;

    /// A footer of columns `(name, type, children)`, without rows.
    fn footer(elements: &[(&str, Option<i32>, i32)]) -> Vec<u8> {
        let mut writer = ThriftWriter::default();
        writer.fields(|writer| {
            writer.list(2, STRUCT, elements, |writer, &(name, kind, children)| {
                writer.fields(|writer| {
                    if let Some(kind) = kind {
                        writer.i32(1, kind);
                    }
                    writer.i32(3, 0);
                    writer.text(4, name);
                    writer.i32(5, children);
                });
            });
        });
        writer.bytes
    }

    fn problem(elements: &[(&str, Option<i32>, i32)]) -> String {
        Footer::parse(&footer(elements)).unwrap_err()
    }

    #[test]
    fn a_tree_of_columns_is_not_believed() {
        let (root, leaf) = (|children| ("schema", None, children), ("a", Some(2), 0));
        assert_eq!(Footer::parse(&footer(&[root(1), leaf])).unwrap().columns[0].leaf().unwrap().kind, ValueKind::Int64);
        assert_eq!(problem(&[]), "names no columns");
        assert_eq!(problem(&[root(i32::MAX), leaf]), "announces more columns than it names");
        assert_eq!(problem(&[root(1), leaf, leaf]), "names more columns than it announces");
        assert_eq!(problem(&[root(-1), leaf]), "has field 5 of -1 where a size is expected");
        let deep = [vec![("deep", None, 1); 100_000], vec![leaf]].concat();
        assert_eq!(problem(&deep), "nests columns more than 64 levels deep");
    }

    #[test]
    fn a_footer_lies_within_its_file() {
        let read =
            |bytes: Vec<u8>| Footer::read(&mut SeekSource::new(std::io::Cursor::new(bytes)).unwrap()).unwrap_err();
        let of_size = |size: u32| [&b"PAR1...."[..], &size.to_le_bytes(), b"PAR1"].concat();
        assert_eq!(read(of_size(u32::MAX)), "claims a footer of 4294967295 bytes in a file of 16");
        assert_eq!(read(of_size(5)), "claims a footer of 5 bytes in a file of 16");
        assert_eq!(read(b"PAR1PAR2".to_vec()), "does not end with PAR1: it was cut off, or is no Parquet file");
        assert_eq!(read(b"PAR1".to_vec()), "does not end with PAR1: it was cut off, or is no Parquet file");
        assert_eq!(read(b"PAR1\x01\0\0\0PARE".to_vec()), "is encrypted; save it without encryption");
    }
}
