//! The columns of an Arrow file, and how each is laid out in buffers.

use super::flat::FlatTable;
use crate::Parsed;

/// A column.
#[derive(Debug, Clone)]
pub(in super::super) struct ArrowField {
    pub name: String,
    pub layout: ArrowLayout,
    /// How many it takes of a batch, including nested columns.
    pub takes: BufferCounts,
}

/// What is skipped for a column that is not requested.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in super::super) struct BufferCounts {
    pub nodes: usize,
    pub buffers: usize,
    /// Columns of views: each has further buffers, whose number stands in the batch.
    pub views: usize,
}

/// What the buffers of a column hold.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) enum ArrowLayout {
    Bits,
    Integers(IntegerLayout),
    /// Bytes of a float.
    Floats(usize),
    /// Bytes of an offset.
    Texts(usize),
    TextViews,
    /// Places in a dictionary.
    Coded {
        dictionary: i64,
        index: IntegerLayout,
        values: Box<ArrowLayout>,
    },
    /// Bytes of an offset.
    Lists(usize, Box<ArrowLayout>),
    FixedLists(usize, Box<ArrowLayout>),
    /// Not read.
    Other(String),
}

/// An integer type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct IntegerLayout {
    pub bytes: usize,
    pub signed: bool,
}

/// Nothing sensible nests deeper.
const MAX_DEPTH: usize = 32;

/// The columns that a schema names.
pub(super) fn fields(schema: FlatTable<'_>, version: i16, length: usize) -> Parsed<Vec<ArrowField>> {
    if schema.i16(0)? != 0 {
        return Err("was written on a big-endian machine, which is not read".into());
    }
    let list = schema.list(1)?;
    // Nested fields may be repeated; as many as there are bytes are more than enough.
    let mut reader = SchemaReader { old_unions: version < 4, left: length };
    (0..list.len).map(|at| reader.field(list.table(at)?, 0)).collect()
}

struct SchemaReader {
    /// Before version 5 a union had a buffer for what is missing.
    old_unions: bool,
    /// Number of fields that may still be read.
    left: usize,
}

impl SchemaReader {
    fn field(&mut self, field: FlatTable<'_>, depth: usize) -> Parsed<ArrowField> {
        self.left = self.left.checked_sub(1).ok_or("names more columns than its length allows")?;
        if depth > MAX_DEPTH {
            return Err(format!("nests columns more than {MAX_DEPTH} levels deep"));
        }
        let list = field.list(5)?;
        let children = (0..list.len).map(|at| self.field(list.table(at)?, depth + 1));
        let children: Vec<ArrowField> = children.collect::<Parsed<_>>()?;
        let (mut layout, own) = self.layout(field, &children)?;
        let mut takes = children.iter().fold(own, |sum, child| BufferCounts {
            nodes: sum.nodes + child.takes.nodes,
            buffers: sum.buffers + child.takes.buffers,
            views: sum.views + child.takes.views,
        });
        if let Some(coding) = field.table(4)? {
            let index = coding.table(1)?.map_or(Ok(IntegerLayout { bytes: 4, signed: true }), whole)?;
            layout = ArrowLayout::Coded { dictionary: coding.i64(0)?, index, values: Box::new(layout) };
            takes = BufferCounts { nodes: 1, buffers: 2, views: 0 };
        }
        Ok(ArrowField { name: field.text(0)?.to_string(), layout, takes })
    }

    /// The layout of a type, and what it takes without its children.
    fn layout(&self, field: FlatTable<'_>, children: &[ArrowField]) -> Parsed<(ArrowLayout, BufferCounts)> {
        let kind = field.u8(2)?;
        let details = || field.table(3)?.ok_or_else(|| "names a column without a type".to_string());
        let child = || children.first().map(|child| Box::new(child.layout.clone()));
        let child = || child().ok_or("names a column of lists without their type".to_string());
        let other = |name: &str, buffers: usize| (ArrowLayout::Other(name.to_string()), buffers);
        let (layout, buffers) = match kind {
            1 => other("null", 0),
            2 => (ArrowLayout::Integers(whole(details()?)?), 2),
            3 => match details()?.i16(0)? {
                size @ 0..=2 => (ArrowLayout::Floats(2 << size), 2),
                size => return Err(format!("names a float of unknown size, number {size}")),
            },
            // Bytes are read as text if they are UTF-8.
            4 | 5 => (ArrowLayout::Texts(4), 3),
            19 | 20 => (ArrowLayout::Texts(8), 3),
            6 => (ArrowLayout::Bits, 2),
            7 => other("decimal", 2),
            8 => other("date", 2),
            9 => other("time", 2),
            10 => other("timestamp", 2),
            11 => other("interval", 2),
            18 => other("duration", 2),
            12 => (ArrowLayout::Lists(4, child()?), 2),
            21 => (ArrowLayout::Lists(8, child()?), 2),
            17 => other("map", 2),
            13 => other("struct", 1),
            14 => other("union", 1 + usize::from(details()?.i16(0)? == 1) + usize::from(self.old_unions)),
            15 => other("bytes of a fixed length", 2),
            16 => {
                let width = details()?.i32(0)?;
                let width = usize::try_from(width).map_err(|_| format!("names a list of {width} items"))?;
                (ArrowLayout::FixedLists(width, child()?), 1)
            }
            22 => other("runs", 0),
            23 | 24 => (ArrowLayout::TextViews, 2),
            25 | 26 => other("list view", 3),
            _ => return Err(format!("names a column of unknown type, number {kind}")),
        };
        let views = usize::from(layout == ArrowLayout::TextViews);
        Ok((layout, BufferCounts { nodes: 1, buffers, views }))
    }
}

fn whole(details: FlatTable<'_>) -> Parsed<IntegerLayout> {
    match (details.i32(0)?, details.u8(1)? != 0) {
        (bits @ (8 | 16 | 32 | 64), signed) => Ok(IntegerLayout { bytes: bits as usize / 8, signed }),
        (bits, _) => Err(format!("names an integer of {bits} bits")),
    }
}
