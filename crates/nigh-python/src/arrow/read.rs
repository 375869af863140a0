//! The columns of anything that offers itself as a stream of Arrow.
//!
//! What the interface promises without saying (how long a buffer is) has to be believed. All that it says is checked.
//! `nigh::formats::columnar` reads files by other rules: a null is an error there, and numbers have 32 bits.

use super::{ArrowArray, ArrowArrayStream, ArrowSchema, STREAM};
use crate::errors::input_error;
use nigh::formats::Parsed;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList, PyString};
use std::ffi::{CStr, c_char};

/// The columns of a table, in order, each with its name; a stream of one column is a table of one. Numbers are arrays,
/// unless they are integers or booleans with nulls; texts are lists of `str`, lists are in arrays of objects, and floats in
/// lists of one length are matrices. Null is NaN among floats and `None` elsewhere.
#[pyfunction]
pub fn read_arrow<'py>(object: &Bound<'py, PyAny>) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
    let py = object.py();
    let kind = object.get_type().name()?.to_string();
    let mut stream = ArrowArrayStream::of(object)?;
    let failed = |problem: String| input_error(py, format!("the Arrow stream of `{kind}` {problem}"));
    let schema = stream.schema(py).map_err(failed)?;
    let is_table = schema.format().map_err(failed)? == "+s" && schema.dictionary.is_null();
    let fields = if is_table { schema.children().map_err(failed)? } else { vec![&*schema] };
    let column = |field: &&ArrowSchema| Layout::new(field).map(|layout| (Column::new(&layout), layout));
    let mut columns: Vec<Parsed<(Column, Layout)>> = fields.iter().map(column).collect();
    let mut rows = 0;
    while let Some(batch) = stream.next(py).map_err(failed)? {
        let (start, count) = batch.range().map_err(failed)?;
        // The columns of a struct are not cut as it is.
        let (arrays, start) = if is_table { (batch.children().map_err(failed)?, start) } else { (vec![&*batch], 0) };
        if arrays.len() != fields.len() {
            return Err(failed(format!("has a batch of {} columns instead of {}", arrays.len(), fields.len())));
        }
        if is_table && let Some(row) = batch.nulls(0, count).map_err(failed)?.next() {
            return Err(failed(format!("has no values at all in row {} (null)", rows + row)));
        }
        for (column, array) in columns.iter_mut().zip(arrays) {
            if let Ok((read, layout)) = column
                && let Err(problem) = read.append(py, layout, array, start, count)
            {
                *column = Err(problem);
            }
        }
        rows += count;
        py.check_signals()?;
    }
    let named = fields.iter().zip(columns).map(|(field, column)| {
        let name = field.name();
        let values = match column {
            Ok((column, _)) => column.into_python(py)?,
            Err(problem) => Bound::new(py, UnreadColumn { problem: format!("column `{name}` {problem}") })?.into_any(),
        };
        Ok((name, values))
    });
    named.collect()
}

/// A column that can't be read. It is an error once it is used: a table may have any columns beside those of a graph.
#[pyclass(frozen, module = "nigh._nigh")]
pub struct UnreadColumn {
    problem: String,
}

#[pymethods]
impl UnreadColumn {
    /// Raises `nigh.InputError`.
    fn to_numpy(&self, py: Python<'_>) -> PyResult<()> {
        Err(input_error(py, &*self.problem))
    }
}

impl ArrowArrayStream {
    /// Takes the stream that an object makes.
    fn of(object: &Bound<'_, PyAny>) -> PyResult<ArrowArrayStream> {
        let (py, kind) = (object.py(), object.get_type().name()?);
        if !object.hasattr("__arrow_c_stream__")? {
            return Err(input_error(py, format!("`{kind}` is no table: it has no `__arrow_c_stream__`")));
        }
        let made = object.call_method0("__arrow_c_stream__")?;
        let wrong =
            |what: &str| input_error(py, format!("`{kind}.__arrow_c_stream__` returns {what}; expected a stream"));
        let capsule = made.cast::<PyCapsule>().map_err(|_| wrong("no capsule"))?;
        let pointer = capsule.pointer_checked(Some(STREAM)).map_err(|_| wrong("a capsule of another name"))?;
        // SAFETY: a capsule of this name holds a stream. Who takes it leaves it empty, so that it is released once.
        let stream =
            unsafe { std::mem::replace(pointer.cast::<ArrowArrayStream>().as_mut(), ArrowArrayStream::empty()) };
        if stream.release.is_none() {
            return Err(wrong("a stream that was read before"));
        }
        Ok(stream)
    }

    fn schema(&mut self, py: Python<'_>) -> Parsed<Box<ArrowSchema>> {
        let get = self.get_schema.ok_or("has no schema")?;
        // In a box: those who fill a structure may rely on its address.
        let mut schema = Box::new(ArrowSchema::empty());
        // The producer may wait for threads that need the interpreter.
        // SAFETY: the stream is not released, and nobody else uses it.
        let code = py.detach(|| unsafe { get(self, &mut *schema) });
        self.check(code)?;
        if schema.release.is_none() { Err("has an empty schema".into()) } else { Ok(schema) }
    }

    /// Some rows, or nothing at the end.
    fn next(&mut self, py: Python<'_>) -> Parsed<Option<Box<ArrowArray>>> {
        let get = self.get_next.ok_or("has no rows")?;
        let mut array = Box::new(ArrowArray::empty());
        // SAFETY: as in `schema`.
        let code = py.detach(|| unsafe { get(self, &mut *array) });
        self.check(code)?;
        Ok(array.release.is_some().then_some(array))
    }

    fn check(&mut self, code: i32) -> Parsed<()> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: as in `schema`; the text is valid until the next call.
        let message = self.get_last_error.and_then(|get| unsafe { text(get(self)) });
        Err(format!("failed: {}", message.unwrap_or_else(|| std::io::Error::from_raw_os_error(code).to_string())))
    }
}

/// A text that ends with zero, if there is one.
///
/// # Safety
/// The pointer is null or points to such a text.
unsafe fn text(pointer: *const c_char) -> Option<String> {
    // SAFETY: by contract.
    (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned())
}

/// `count` pointers as references.
///
/// # Safety
/// Unless it is null, `pointers` points to as many pointers, each of which is null or valid for `'a`.
unsafe fn references<'a, T>(pointers: *mut *mut T, count: i64) -> Parsed<Vec<&'a T>> {
    let wrong = || format!("has a structure of {count} parts without them");
    let count = usize::try_from(count).map_err(|_| wrong())?;
    if count > 0 && pointers.is_null() {
        return Err(wrong());
    }
    // SAFETY: by contract.
    (0..count).map(|at| unsafe { (*pointers.add(at)).as_ref() }.ok_or_else(wrong)).collect()
}

impl ArrowSchema {
    fn format(&self) -> Parsed<String> {
        // SAFETY: the schema is not released, so that its texts are valid.
        unsafe { text(self.format) }.ok_or_else(|| "has a schema without types".into())
    }

    fn name(&self) -> String {
        // SAFETY: as in `format`.
        unsafe { text(self.name) }.unwrap_or_default()
    }

    fn children(&self) -> Parsed<Vec<&ArrowSchema>> {
        // SAFETY: the schema owns its children, and is not released while it is borrowed.
        unsafe { references(self.children, self.n_children) }
    }
}

/// How the values of a column lie in its buffers.
enum Layout {
    Bits,
    Integers(IntegerType),
    /// Bytes of a float.
    Floats(usize),
    /// Bytes of an offset.
    Texts(usize),
    TextViews,
    /// Places in a dictionary, and what it holds.
    Coded(IntegerType, Box<Layout>),
    /// Bytes of an offset.
    Lists(usize, Box<Layout>),
    FixedLists(usize, Box<Layout>),
}

#[derive(Clone, Copy, PartialEq)]
struct IntegerType {
    bytes: usize,
    is_signed: bool,
}

fn unsupported(kind: &str) -> String {
    format!("holds values of type {kind}; expected integers, floats, booleans, texts, or lists of these")
}

impl Layout {
    /// The layout of a column, or why it is not read.
    fn new(schema: &ArrowSchema) -> Parsed<Layout> {
        let format = schema.format()?;
        // SAFETY: the schema owns its dictionary, and is not released while it is borrowed.
        if let Some(known) = unsafe { schema.dictionary.as_ref() } {
            return match (Layout::plain(&format), Layout::plain(&known.format()?)) {
                (
                    Some(Layout::Integers(index)),
                    Some(known @ (Layout::Texts(_) | Layout::TextViews | Layout::Integers(_))),
                ) => Ok(Layout::Coded(index, Box::new(known))),
                _ => Err(unsupported("dictionary of neither texts nor integers")),
            };
        }
        let items = || match schema.children()?[..] {
            [items] if !items.format()?.starts_with('+') => Ok(Box::new(Layout::new(items)?)),
            _ => Err(unsupported("list of other things than numbers and texts")),
        };
        match &*format {
            "+l" => Ok(Layout::Lists(4, items()?)),
            "+L" => Ok(Layout::Lists(8, items()?)),
            list if list.starts_with("+w:") => {
                let width = list[3..].parse().map_err(|_| unsupported(&format!("`{list}`")))?;
                Ok(Layout::FixedLists(width, items()?))
            }
            _ => Layout::plain(&format).ok_or_else(|| unsupported(&name_of_type(&format))),
        }
    }

    /// Of a type without parts.
    fn plain(format: &str) -> Option<Layout> {
        let integers = |bytes, is_signed| Layout::Integers(IntegerType { bytes, is_signed });
        Some(match format {
            "b" => Layout::Bits,
            "c" => integers(1, true),
            "C" => integers(1, false),
            "s" => integers(2, true),
            "S" => integers(2, false),
            "i" => integers(4, true),
            "I" => integers(4, false),
            "l" => integers(8, true),
            "L" => integers(8, false),
            "e" => Layout::Floats(2),
            "f" => Layout::Floats(4),
            "g" => Layout::Floats(8),
            // Bytes are read as text if they are UTF-8, as in files.
            "u" | "z" => Layout::Texts(4),
            "U" | "Z" => Layout::Texts(8),
            "vu" | "vz" => Layout::TextViews,
            _ => return None,
        })
    }
}

fn name_of_type(format: &str) -> String {
    let names = [
        ("n", "null"),
        ("d:", "decimal"),
        ("w:", "bytes of a fixed length"),
        ("td", "date"),
        ("tt", "time"),
        ("ts", "timestamp"),
        ("tD", "duration"),
        ("ti", "interval"),
        ("+s", "struct"),
        ("+m", "map"),
        ("+u", "union"),
        ("+r", "runs"),
        ("+v", "list view"),
    ];
    let known = names.iter().find(|name| format.starts_with(name.0));
    known.map_or_else(|| format!("`{format}`"), |name| name.1.to_string())
}

impl ArrowArray {
    /// Where its values start in its buffers, and how many there are.
    fn range(&self) -> Parsed<(usize, usize)> {
        match (usize::try_from(self.offset), usize::try_from(self.length)) {
            (Ok(offset), Ok(length)) if offset.checked_add(length).is_some() => Ok((offset, length)),
            _ => Err(format!("has {} values from {} on", self.length, self.offset)),
        }
    }

    fn children(&self) -> Parsed<Vec<&ArrowArray>> {
        // SAFETY: the array owns its children, and is not released while it is borrowed.
        unsafe { references(self.children, self.n_children) }
    }

    /// The one child of lists.
    fn items(&self) -> Parsed<&ArrowArray> {
        match self.children()?[..] {
            [items] => Ok(items),
            _ => Err("has lists without items".into()),
        }
    }

    /// Values `start..start + count` of a buffer, in their bytes.
    fn buffer<const SIZE: usize>(&self, at: usize, start: usize, count: usize) -> Parsed<&[[u8; SIZE]]> {
        if count == 0 {
            return Ok(&[]);
        }
        let end =
            start.checked_add(count).and_then(|end| end.checked_mul(SIZE)).filter(|&end| end <= isize::MAX as usize);
        let pointer = self.pointer(at)?.cast::<[u8; SIZE]>();
        match end {
            None => Err(format!("has a buffer of {count} values from {start} on")),
            Some(_) if pointer.is_null() => Err(format!("has no buffer {at} for its {count} values")),
            // SAFETY: callers ask for values that the array says it has, so that by the interface the buffer is as long, and
            // it is there while the array is borrowed. Bytes need no alignment.
            Some(_) => Ok(unsafe { std::slice::from_raw_parts(pointer.add(start), count) }),
        }
    }

    /// A buffer, or null.
    fn pointer(&self, at: usize) -> Parsed<*const u8> {
        if self.buffers.is_null() || usize::try_from(self.n_buffers).map_or(true, |buffers| at >= buffers) {
            return Err(format!("has {} buffers where {} are needed", self.n_buffers, at + 1));
        }
        // SAFETY: there are as many pointers.
        Ok(unsafe { *self.buffers.add(at) }.cast())
    }

    /// Which of the values `start..start + count` are null, counted from `start`.
    fn nulls(&self, start: usize, count: usize) -> Parsed<impl Iterator<Item = usize> + '_> {
        let first = self.range()?.0 + start;
        let bits = match self.null_count {
            0 => &[][..],
            unknown if unknown < 0 && self.pointer(0)?.is_null() => &[][..],
            _ => self.buffer::<1>(0, 0, (first + count).div_ceil(8))?,
        };
        let rows = if bits.is_empty() { 0..0 } else { 0..count };
        Ok(rows.filter(move |row| !bit(bits, first + row)))
    }

    /// The offsets before and behind each of `count` values, which ascend.
    fn offsets(&self, size: usize, first: usize, count: usize) -> Parsed<Vec<usize>> {
        let offsets: Option<Vec<usize>> = match size {
            4 => {
                let offsets = self.buffer::<4>(1, first, count + 1)?.iter();
                offsets.map(|&offset| usize::try_from(i32::from_ne_bytes(offset)).ok()).collect()
            }
            _ => {
                let offsets = self.buffer::<8>(1, first, count + 1)?.iter();
                offsets.map(|&offset| usize::try_from(i64::from_ne_bytes(offset)).ok()).collect()
            }
        };
        offsets.filter(|offsets| offsets.is_sorted()).ok_or_else(|| "has offsets that go back".into())
    }

    /// A view is a length, and the text itself if it is short; otherwise its start, a buffer and a place there.
    fn viewed<'a>(&'a self, view: &'a [u8; 16]) -> Parsed<&'a [u8]> {
        let part = |at: usize| u32::from_ne_bytes([view[at], view[at + 1], view[at + 2], view[at + 3]]) as usize;
        let (length, buffer, start) = (part(0), part(8), part(12));
        if length <= 12 {
            return Ok(&view[4..4 + length]);
        }
        // Behind validity and views come the texts, and then their lengths.
        let texts = usize::try_from(self.n_buffers).unwrap_or(0).saturating_sub(3);
        if buffer >= texts {
            return Err(format!("has a text in buffer {buffer} of {texts}"));
        }
        let [size] = self.buffer::<8>(2 + texts, buffer, 1)? else { unreachable!("one value was asked for") };
        match i64::from_ne_bytes(*size) {
            size if size < (start + length) as i64 => {
                Err(format!("has a text that ends at byte {} of {size}", start + length))
            }
            _ => Ok(self.buffer::<1>(2 + buffer, start, length)?.as_flattened()),
        }
    }
}

fn bit(bits: &[[u8; 1]], at: usize) -> bool {
    bits[at / 8][0] >> (at % 8) & 1 == 1
}

/// What was read of a column.
struct Column {
    len: usize,
    values: Values,
    /// Rows without a value. Not those of floats, which are NaN, and of texts.
    nulls: Vec<usize>,
}

enum Values {
    Bools(Vec<bool>),
    Integers(Vec<i64>),
    /// Of 64 bits.
    Unsigned(Vec<u64>),
    /// Their bits, which NumPy converts.
    Floats16(Vec<u16>),
    Floats32(Vec<f32>),
    Floats64(Vec<f64>),
    Texts(Vec<Option<Py<PyString>>>),
    Lists {
        ends: Vec<usize>,
        items: Box<Column>,
        is_fixed: bool,
    },
}

const NAN_16: u16 = 0x7e00;

impl IntegerType {
    /// Values of a buffer; those of 64 bits without a sign as bits.
    fn read(self, array: &ArrowArray, first: usize, count: usize, values: &mut Vec<i64>) -> Parsed<()> {
        macro_rules! extend {
            ($number:ty) => {{
                let numbers = array.buffer(1, first, count)?.iter();
                values.extend(numbers.map(|&number| <$number>::from_ne_bytes(number) as i64));
            }};
        }
        match (self.bytes, self.is_signed) {
            (1, true) => extend!(i8),
            (1, false) => extend!(u8),
            (2, true) => extend!(i16),
            (2, false) => extend!(u16),
            (4, true) => extend!(i32),
            (4, false) => extend!(u32),
            _ => extend!(i64),
        }
        Ok(())
    }
}

impl Column {
    fn new(layout: &Layout) -> Column {
        let lists = |items, is_fixed| Values::Lists { ends: Vec::new(), items: Box::new(Column::new(items)), is_fixed };
        let values = match layout {
            Layout::Bits => Values::Bools(Vec::new()),
            Layout::Integers(IntegerType { bytes: 8, is_signed: false }) => Values::Unsigned(Vec::new()),
            Layout::Integers(_) => Values::Integers(Vec::new()),
            Layout::Floats(2) => Values::Floats16(Vec::new()),
            Layout::Floats(4) => Values::Floats32(Vec::new()),
            Layout::Floats(_) => Values::Floats64(Vec::new()),
            Layout::Texts(_) | Layout::TextViews => Values::Texts(Vec::new()),
            Layout::Coded(_, known) => return Column::new(known),
            Layout::Lists(_, items) => lists(items, false),
            Layout::FixedLists(_, items) => lists(items, true),
        };
        Column { len: 0, values, nulls: Vec::new() }
    }

    /// Adds values `start..start + count` of an array.
    fn append(
        &mut self,
        py: Python<'_>,
        layout: &Layout,
        array: &ArrowArray,
        start: usize,
        count: usize,
    ) -> Parsed<()> {
        let (offset, length) = array.range()?;
        if start.checked_add(count).is_none_or(|end| end > length) {
            return Err(format!("has {length} values where {count} from {start} on are needed"));
        }
        if count == 0 {
            return Ok(());
        }
        let (first, before) = (offset + start, self.len);
        let mut nulls: Vec<usize> = array.nulls(start, count)?.collect();
        let is_null = |row: usize| nulls.binary_search(&row).is_ok();
        let text = |row: usize, bytes: &[u8]| {
            let text = std::str::from_utf8(bytes);
            let text = text.map_err(|_| format!("has a text that is not UTF-8 in row {}", before + row))?;
            Ok::<_, String>(PyString::new(py, text).unbind())
        };
        match (layout, &mut self.values) {
            (Layout::Bits, Values::Bools(values)) => {
                let bits = array.buffer(1, 0, (first + count).div_ceil(8))?;
                values.extend((first..first + count).map(|at| bit(bits, at)));
            }
            (Layout::Integers(_), Values::Unsigned(values)) => {
                values.extend(array.buffer(1, first, count)?.iter().map(|&number| u64::from_ne_bytes(number)));
            }
            (Layout::Integers(integers), Values::Integers(values)) => integers.read(array, first, count, values)?,
            (Layout::Floats(_), Values::Floats16(values)) => {
                values.extend(array.buffer(1, first, count)?.iter().map(|&number| u16::from_ne_bytes(number)));
                nulls.drain(..).for_each(|row| values[before + row] = NAN_16);
            }
            (Layout::Floats(_), Values::Floats32(values)) => {
                values.extend(array.buffer(1, first, count)?.iter().map(|&number| f32::from_ne_bytes(number)));
                nulls.drain(..).for_each(|row| values[before + row] = f32::NAN);
            }
            (Layout::Floats(_), Values::Floats64(values)) => {
                values.extend(array.buffer(1, first, count)?.iter().map(|&number| f64::from_ne_bytes(number)));
                nulls.drain(..).for_each(|row| values[before + row] = f64::NAN);
            }
            (Layout::Texts(size), Values::Texts(values)) => {
                let offsets = array.offsets(*size, first, count)?;
                let bytes = array.buffer::<1>(2, offsets[0], offsets[count] - offsets[0])?.as_flattened();
                for row in 0..count {
                    let own = &bytes[offsets[row] - offsets[0]..offsets[row + 1] - offsets[0]];
                    values.push(if is_null(row) { None } else { Some(text(row, own)?) });
                }
                nulls.clear();
            }
            (Layout::TextViews, Values::Texts(values)) => {
                for (row, view) in array.buffer(1, first, count)?.iter().enumerate() {
                    values.push(if is_null(row) { None } else { Some(text(row, array.viewed(view)?)?) });
                }
                nulls.clear();
            }
            (Layout::Coded(index, layout), values) => {
                // SAFETY: the array owns its dictionary, and is not released while it is borrowed.
                let dictionary = unsafe { array.dictionary.as_ref() }.ok_or("has no dictionary")?;
                let mut known = Column::new(layout);
                known.append(py, layout, dictionary, 0, dictionary.range()?.1)?;
                let mut places = Vec::new();
                index.read(array, first, count, &mut places)?;
                nulls = values.extend_from(py, &known, &places, &nulls)?;
            }
            (Layout::Lists(size, layout), Values::Lists { ends, items, .. }) => {
                let offsets = array.offsets(*size, first, count)?;
                let (start, base) = (offsets[0], items.len);
                items.append(py, layout, array.items()?, start, offsets[count] - start)?;
                ends.extend(offsets[1..].iter().map(|end| base + end - start));
            }
            (Layout::FixedLists(width, layout), Values::Lists { ends, items, .. }) => {
                let too_long = || format!("has {count} lists of {width}");
                let (end, base) = ((first + count).checked_mul(*width).ok_or_else(too_long)?, items.len);
                items.append(py, layout, array.items()?, first * width, end - first * width)?;
                ends.extend((1..=count).map(|lists| base + lists * width));
            }
            _ => unreachable!("`new` chose the values by the layout"),
        }
        self.nulls.extend(nulls.iter().map(|row| before + row));
        self.len += count;
        Ok(())
    }

    fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let array = match self.values {
            Values::Texts(texts) => return Ok(PyList::new(py, texts)?.into_any()),
            Values::Lists { ends, items, is_fixed } => return lists(py, &ends, *items, is_fixed, &self.nulls),
            Values::Bools(values) => values.into_pyarray(py).into_any(),
            Values::Integers(values) => values.into_pyarray(py).into_any(),
            Values::Unsigned(values) => match values.iter().map(|&value| i64::try_from(value)).collect() {
                Ok(values) => Vec::into_pyarray(values, py).into_any(),
                // They may be labels, and are refused as ids.
                Err(_) => values.into_pyarray(py).into_any(),
            },
            Values::Floats16(bits) => {
                bits.into_pyarray(py).call_method1("view", ("float16",))?.call_method1("astype", ("float32",))?
            }
            Values::Floats32(values) => values.into_pyarray(py).into_any(),
            Values::Floats64(values) => values.into_pyarray(py).into_any(),
        };
        if self.nulls.is_empty() {
            return Ok(array);
        }
        let list = listed(array)?;
        self.nulls.iter().try_for_each(|&row| list.set_item(row, py.None()))?;
        Ok(list.into_any())
    }
}

impl Values {
    /// Adds what is at these places of a dictionary; returns which of them are null, there or here.
    fn extend_from(&mut self, py: Python<'_>, known: &Column, places: &[i64], nulls: &[usize]) -> Parsed<Vec<usize>> {
        let place = |(row, &place): (usize, &i64)| match usize::try_from(place) {
            _ if nulls.binary_search(&row).is_ok() => Ok(None),
            Ok(place) if place < known.len => Ok(Some(place).filter(|place| known.nulls.binary_search(place).is_err())),
            _ => Err(format!("names entry {place} of a dictionary of {}", known.len)),
        };
        let places: Vec<Option<usize>> = places.iter().enumerate().map(place).collect::<Parsed<_>>()?;
        match (self, &known.values) {
            (Values::Integers(values), Values::Integers(known)) => {
                values.extend(places.iter().map(|place| place.map_or(0, |place| known[place])));
            }
            (Values::Unsigned(values), Values::Unsigned(known)) => {
                values.extend(places.iter().map(|place| place.map_or(0, |place| known[place])));
            }
            (Values::Texts(values), Values::Texts(known)) => {
                let text = |place: usize| known[place].as_ref().map(|text| text.clone_ref(py));
                values.extend(places.iter().map(|place| place.and_then(text)));
                return Ok(Vec::new());
            }
            _ => unreachable!("a column is of the type of its dictionary"),
        }
        Ok((0..places.len()).filter(|&row| places[row].is_none()).collect())
    }

    fn are_floats(&self) -> bool {
        matches!(self, Values::Floats16(_) | Values::Floats32(_) | Values::Floats64(_))
    }
}

/// A matrix of floats if all lists are as long, and of integers if their type says so; an array of lists otherwise, as of
/// several labels per node.
fn lists<'py>(
    py: Python<'py>,
    ends: &[usize],
    items: Column,
    is_fixed: bool,
    nulls: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    let width = ends.first().copied().unwrap_or(0);
    let is_even = width > 0 && ends.iter().enumerate().all(|(row, &end)| end == (row + 1) * width);
    let are_numbers = items.values.are_floats() || (is_fixed && !matches!(items.values, Values::Texts(_)));
    if is_even && are_numbers && nulls.is_empty() && items.nulls.is_empty() {
        return items.into_python(py)?.call_method1("reshape", (ends.len(), width));
    }
    let items = listed(items.into_python(py)?)?;
    let starts = std::iter::once(&0).chain(ends);
    let rows = starts.zip(ends).enumerate().map(|(row, (&start, &end))| match nulls.binary_search(&row) {
        Ok(_) => py.None(),
        Err(_) => items.get_slice(start, end).into_any().unbind(),
    });
    Ok(PyArray1::from_vec(py, rows.collect()).into_any())
}

/// The items of a list or an array as objects of Python.
fn listed(values: Bound<'_, PyAny>) -> PyResult<Bound<'_, PyList>> {
    match values.cast_into::<PyList>() {
        Ok(list) => Ok(list),
        Err(error) => Ok(error.into_inner().call_method0("tolist")?.cast_into()?),
    }
}
