//! The program, end to end: what a user types, what they read, and what is on disk afterwards.

mod artefact;
mod bad_input;
mod certify;
mod demo;
mod folder;
mod graphs;
mod look;
mod resume;
mod train;
