//! The program, end to end: command lines, output, and files written.
//!
//! Tests that need the real datasets or a browser are ignored unless `./check` finds these.

mod bad_input;
mod certify;
mod changed_files;
mod compare;
mod completions_and_man;
mod data_convert;
mod data_export;
#[cfg(feature = "fetch")]
mod data_fetch;
mod demo;
mod diagnose;
mod hostile_names;
mod input_formats;
mod label_sets;
mod limits;
mod memory;
mod model_folder;
mod models;
mod report_page;
mod reproduce;
mod resume;
mod sample_graphs;
// The server of the library's tests, of which some functions are not needed here.
#[cfg(feature = "fetch")]
#[allow(dead_code)]
#[path = "../../../nigh-formats/src/fetch/server.rs"]
mod server;
mod snapshots;
mod split;
mod test_folder;
mod train;
mod tune;
