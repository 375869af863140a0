//! The public datasets: their registry, the readers of their files and the cache of converted copies.

mod cache;
mod coauthor;
mod email;
mod ogb;
mod planetoid;
mod ppi;
mod registry;
mod unattributed;

#[cfg(feature = "fetch")]
pub use nigh_formats::fetch;
pub use nigh_formats::published::{DatasetFile, Folder, Folders, Origin};
pub use registry::{Counts, NamedDataset, REGISTRY};
