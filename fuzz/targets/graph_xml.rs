#![no_main]

#[path = "../../crates/nigh-formats/tests/readers/mod.rs"]
mod readers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = readers::read("graph_xml", bytes);
});
