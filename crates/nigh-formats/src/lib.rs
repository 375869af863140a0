//! Files to columns, arrays and tensors, and back. This crate knows no graphs and no models.
//!
//! | format | read | written |
//! |---|---|---|
//! | text tables: comma, semicolon, tab or blanks; plain, gzip, zstd, in a zip or tar | [`text_table`], [`table`] | [`text_table`], [`records`] |
//! | lines of gzip files | [`gzip_lines`] | |
//! | Parquet | [`columnar`], [`table`] | [`columnar`], [`records`] |
//! | Arrow: file, stream, Feather 2 | [`columnar`], [`table`] | |
//! | NumPy: npy, npz | [`npy`] | [`npy`] |
//! | SciPy: sparse matrices in npz | [`scipy`] | [`scipy`] |
//! | Matrix Market, METIS, Matlab 5 to 7 | [`matrix_market`], [`metis`], [`matlab`] | |
//! | GraphML, GEXF | [`graph_xml`] | |
//! | lists of edges in any of these, node-link JSON | [`edges`] | |
//! | ids, features and labels of nodes in any of these, JSON | [`node_rows`] | |
//! | Python pickle, PyTorch pt | [`pickle`], [`torch`] | |
//! | sections of plain numbers (`.nigh`) | [`sections`] | [`sections`] |
//! | safetensors | [`safetensors`] | [`safetensors`] |
//!
//! Readers take bytes, `Read` or `Read + Seek`, and a name for their messages; a function called `open` opens a path
//! and does the rest. A file is never trusted: memory is allocated for bytes that are present, not for bytes that a header
//! announces, and nothing in a file is executed.
//!
//! ```
//! use nigh_formats::npy;
//! use std::{io::Cursor, path::Path};
//!
//! let mut bytes = Vec::new();
//! npy::write(&mut bytes, &[2, 2], [1.0f32, 2.0, 3.0, 4.0]).expect("memory can be written");
//! let array = npy::read(Path::new("x.npy"), Cursor::new(bytes))?;
//! assert_eq!((array.shape(), array.floats()?), (&[2, 2][..], vec![1.0, 2.0, 3.0, 4.0]));
//! # Ok::<(), nigh_formats::Error>(())
//! ```

mod archive;
pub mod atomic;
pub mod bundle;
pub mod columnar;
pub mod compressed;
pub mod digest;
pub mod edges;
mod error;
#[cfg(feature = "fetch")]
pub mod fetch;
mod files;
mod format;
pub mod graph_xml;
pub mod gzip_lines;
pub mod ids;
pub mod interner;
pub mod interrupt;
mod lines;
pub mod matlab;
pub mod matrix_market;
pub mod memory;
pub mod metis;
pub mod node_rows;
pub mod npy;
pub mod pickle;
pub mod published;
pub mod records;
pub mod safetensors;
#[cfg(any(test, feature = "samples"))]
#[doc(hidden)]
pub mod samples;
pub mod scipy;
pub mod sections;
pub mod table;
pub mod text_table;
mod texts;
pub mod torch;
mod utf16;

pub use error::{Error, Parsed, Result, brief};
pub use files::{MAX_BYTES, ReadSeek, STDIN, is_stdin, open_regular, read_bounded, read_regular, read_text};
pub use format::{Format, is_named};
pub use texts::Texts;
