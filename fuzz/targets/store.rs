#![no_main]

#[path = "../../crates/nigh/tests/graph_files/mod.rs"]
mod graph_files;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = graph_files::read("store", bytes);
});
