//! Arrow's C data interface (<https://arrow.apache.org/docs/format/CDataInterface.html>): how pyarrow, polars, pandas and others
//! hand tables to each other within a process, without copying them.

mod export;
mod read;

pub use export::stream;
pub use read::{UnreadColumn, read_arrow};

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null, null_mut};

/// What a capsule with a stream is called.
pub const STREAM: &CStr = c"arrow_array_stream";

/// The type of a column, or of a table as the struct of its columns.
#[repr(C)]
struct ArrowSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut ArrowSchema,
    dictionary: *mut ArrowSchema,
    release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    private_data: *mut c_void,
}

/// The values of a column, or the columns of some rows.
#[repr(C)]
struct ArrowArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *const *const c_void,
    children: *mut *mut ArrowArray,
    dictionary: *mut ArrowArray,
    release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    private_data: *mut c_void,
}

/// A schema, and arrays of it one after the other.
#[repr(C)]
pub struct ArrowArrayStream {
    get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    private_data: *mut c_void,
}

/// A structure without `release` is empty: it was released, or moved elsewhere. An owned one is released when it is dropped.
macro_rules! released_once {
    ($($structure:ident { $($field:ident: $empty:expr),* })*) => {$(
        impl $structure {
            const fn empty() -> $structure {
                $structure { release: None, private_data: null_mut(), $($field: $empty),* }
            }
        }

        impl Drop for $structure {
            fn drop(&mut self) {
                if let Some(release) = self.release {
                    // SAFETY: the producer of the structure gave this function for it. It is called once: it clears `release`,
                    // and the structure is gone after this.
                    unsafe { release(self) }
                }
            }
        }

        // SAFETY: the interface allows a structure to be used and released by another thread than the one that made it, as
        // long as one thread uses it at a time.
        unsafe impl Send for $structure {}
    )*};
}

released_once! {
    ArrowSchema {
        format: null(), name: null(), metadata: null(), flags: 0, n_children: 0, children: null_mut(), dictionary: null_mut()
    }
    ArrowArray {
        length: 0, null_count: 0, offset: 0, n_buffers: 0, n_children: 0, buffers: null(), children: null_mut(),
        dictionary: null_mut()
    }
    ArrowArrayStream { get_schema: None, get_next: None, get_last_error: None }
}
