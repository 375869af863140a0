//! An embedding as a stream of one batch, whose vectors are the memory of the matrix.

use super::{ArrowArray, ArrowArrayStream, ArrowSchema};
use nigh::Ids;
use nigh::answer::Embedding;
use std::any::Any;
use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::null;
use std::sync::Arc;

/// The bit of a field that may hold nulls. Ours hold none, but other tables that rows are appended to say so of all fields.
const NULLABLE: i64 = 2;

/// Columns `graph` if there are several, `id` as integers or texts, and `vector` as lists of fixed size.
pub fn stream(embedding: &Arc<Embedding>, as_texts: bool) -> ArrowArrayStream {
    let rows = embedding.matrix.rows();
    let mut columns = Vec::new();
    if let Some(graphs) = &embedding.graphs {
        columns.push(texts("graph", graphs.iter()));
    }
    columns.push(match &*embedding.ids {
        Ids::Integers(numbers) if !as_texts => {
            let owner = embedding.ids.clone();
            ArrowColumn::new("id", "l", rows, vec![null(), numbers.as_ptr().cast()], owner)
        }
        Ids::Numbers(count) if !as_texts => {
            let numbers: Arc<[i64]> = (0..*count as i64).collect();
            ArrowColumn::new("id", "l", rows, vec![null(), numbers.as_ptr().cast()], Arc::new(numbers))
        }
        ids => texts("id", ids.iter()),
    });
    let matrix = &embedding.matrix;
    let buffers = vec![null(), matrix.data().as_ptr().cast()];
    let items = ArrowColumn::new("item", "f", matrix.data().len(), buffers, embedding.clone());
    let lists = ArrowColumn::new("vector", format!("+w:{}", matrix.cols()), rows, vec![null()], Arc::new(()));
    columns.push(ArrowColumn { children: vec![items], ..lists });
    let table = ArrowColumn::new("", "+s", rows, vec![null()], Arc::new(()));
    let source = StreamSource { table: ArrowColumn { children: columns, ..table }, is_given: false };
    ArrowArrayStream {
        get_schema: Some(get_schema),
        get_next: Some(get_next),
        get_last_error: Some(get_last_error),
        release: Some(release_stream),
        private_data: Box::into_raw(Box::new(source)).cast(),
    }
}

/// A column, from which any number of structures can be made.
struct ArrowColumn {
    name: &'static str,
    format: String,
    length: usize,
    /// Where the buffers are, in memory that `owner` neither moves nor changes. The first would tell nulls.
    buffers: Vec<*const c_void>,
    owner: Arc<dyn Any + Send + Sync>,
    children: Vec<ArrowColumn>,
}

/// Texts with offsets of 64 bits, so that any number of them fits.
fn texts<T: AsRef<str>>(name: &'static str, texts: impl Iterator<Item = T>) -> ArrowColumn {
    let (mut offsets, mut bytes) = (vec![0i64], Vec::new());
    for text in texts {
        bytes.extend_from_slice(text.as_ref().as_bytes());
        offsets.push(bytes.len() as i64);
    }
    let (length, buffers) = (offsets.len() - 1, vec![null(), offsets.as_ptr().cast(), bytes.as_ptr().cast()]);
    ArrowColumn::new(name, "U", length, buffers, Arc::new((offsets, bytes)))
}

impl ArrowColumn {
    fn new(
        name: &'static str,
        format: impl Into<String>,
        length: usize,
        buffers: Vec<*const c_void>,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> ArrowColumn {
        ArrowColumn { name, format: format.into(), length, buffers, owner, children: Vec::new() }
    }

    fn schema(&self) -> ArrowSchema {
        let text = |text: &str| CString::new(text).expect("names and formats hold no zero");
        let (format, name) = (text(&self.format), text(self.name));
        let children = Children::new(self.children.iter().map(ArrowColumn::schema));
        let mut parts = Box::new(SchemaParts { format, name, children });
        ArrowSchema {
            format: parts.format.as_ptr(),
            name: parts.name.as_ptr(),
            flags: NULLABLE,
            n_children: parts.children.0.len() as i64,
            children: parts.children.0.as_mut_ptr(),
            release: Some(release_schema),
            private_data: Box::into_raw(parts).cast(),
            ..ArrowSchema::empty()
        }
    }

    fn array(&self) -> ArrowArray {
        let children = Children::new(self.children.iter().map(ArrowColumn::array));
        let mut parts = Box::new(ArrayParts { buffers: self.buffers.clone(), children, _owner: self.owner.clone() });
        ArrowArray {
            length: self.length as i64,
            n_buffers: parts.buffers.len() as i64,
            n_children: parts.children.0.len() as i64,
            buffers: parts.buffers.as_ptr(),
            children: parts.children.0.as_mut_ptr(),
            release: Some(release_array),
            private_data: Box::into_raw(parts).cast(),
            ..ArrowArray::empty()
        }
    }
}

/// What a schema points to.
struct SchemaParts {
    format: CString,
    name: CString,
    children: Children<ArrowSchema>,
}

/// What an array points to. Every array has its own share of the owner, since a consumer may keep a child beyond its parent.
struct ArrayParts {
    buffers: Vec<*const c_void>,
    children: Children<ArrowArray>,
    _owner: Arc<dyn Any + Send + Sync>,
}

/// Structures in allocations of their own, released when this is dropped, unless a consumer moved them elsewhere.
struct Children<T>(Vec<*mut T>);

impl<T> Children<T> {
    fn new(children: impl Iterator<Item = T>) -> Children<T> {
        Children(children.map(|child| Box::into_raw(Box::new(child))).collect())
    }
}

impl<T> Drop for Children<T> {
    fn drop(&mut self) {
        for &child in &self.0 {
            // SAFETY: `new` made it from a box, and this is the only place that takes it back.
            drop(unsafe { Box::from_raw(child) });
        }
    }
}

/// # Safety
/// A schema of `ArrowColumn::schema` that is not released yet.
unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: by contract; `private_data` is the box of its parts, and who releases a structure owns it.
    unsafe {
        (*schema).release = None;
        drop(Box::from_raw((*schema).private_data.cast::<SchemaParts>()));
    }
}

/// # Safety
/// An array of `ArrowColumn::array` that is not released yet.
unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: as for a schema.
    unsafe {
        (*array).release = None;
        drop(Box::from_raw((*array).private_data.cast::<ArrayParts>()));
    }
}

/// What a stream points to.
struct StreamSource {
    table: ArrowColumn,
    is_given: bool,
}

/// # Safety
/// A stream of `stream` that is not released, and a place for a schema.
unsafe extern "C" fn get_schema(stream: *mut ArrowArrayStream, out: *mut ArrowSchema) -> c_int {
    // SAFETY: by contract. What was at `out` is not dropped: it may be uninitialised.
    unsafe { out.write((*(*stream).private_data.cast::<StreamSource>()).table.schema()) };
    0
}

/// # Safety
/// A stream of `stream` that is not released, and a place for an array.
unsafe extern "C" fn get_next(stream: *mut ArrowArrayStream, out: *mut ArrowArray) -> c_int {
    // SAFETY: by contract; nobody else uses the stream meanwhile.
    let source = unsafe { &mut *(*stream).private_data.cast::<StreamSource>() };
    let is_end = std::mem::replace(&mut source.is_given, true);
    // SAFETY: as in `get_schema`. An empty array is the end.
    unsafe { out.write(if is_end { ArrowArray::empty() } else { source.table.array() }) };
    0
}

/// Nothing fails.
unsafe extern "C" fn get_last_error(_: *mut ArrowArrayStream) -> *const c_char {
    null()
}

/// # Safety
/// A stream of `stream` that is not released yet.
unsafe extern "C" fn release_stream(stream: *mut ArrowArrayStream) {
    // SAFETY: as for a schema.
    unsafe {
        (*stream).release = None;
        drop(Box::from_raw((*stream).private_data.cast::<StreamSource>()));
    }
}
