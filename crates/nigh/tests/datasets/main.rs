//! Datasets: the public ones in their files, graph files, columns in memory, and what is written of them.

mod coauthor;
mod columns;
mod email;
mod export;
mod ogb;
mod planetoid;
mod ppi;
mod split_folder;
mod stored;
mod unattributed;
