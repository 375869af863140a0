#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = nigh::dataset::doors::read("pt", bytes);
});
