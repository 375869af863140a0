#![no_main]

#[path = "../../crates/nigh/tests/graph_files/mod.rs"]
mod graph_files;
mod one_thread;

libfuzzer_sys::fuzz_target!(init: one_thread::work_here(), |bytes: &[u8]| {
    let _ = graph_files::read("gz", bytes);
});
