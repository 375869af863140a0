//! The program, end to end: what a user types, what they read, and what is on disk afterwards.

mod artefact;
mod bad_input;
mod certify;
mod compare;
mod demo;
mod doors;
mod export;
#[cfg(feature = "fetch")]
mod fetch;
mod folder;
mod graphs;
mod look;
mod models;
mod page;
mod reproduce;
mod resume;
// The library's tests ask the same server; not all of it is needed here.
#[cfg(feature = "fetch")]
#[allow(dead_code)]
#[path = "../../../nigh/src/dataset/named/fetch/server.rs"]
mod server;
mod train;
