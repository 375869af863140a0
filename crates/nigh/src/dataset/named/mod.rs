//! The public datasets: their registry, the readers of their files, downloads and the cache of converted copies.

mod cache;
mod coauthor;
mod email;
#[cfg(feature = "fetch")]
pub mod fetch;
mod folders;
mod ogb;
mod planetoid;
mod ppi;
mod registry;
mod unattributed;

pub use folders::{Folder, Folders};
pub use registry::{Counts, DatasetFile, NamedDataset, Origin, REGISTRY};
