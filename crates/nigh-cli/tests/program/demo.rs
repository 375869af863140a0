//! `nigh demo`: the proof of concept and its picture.

use crate::test_folder::TestFolder;
use std::time::{Duration, Instant};

#[test]
fn the_picture_is_an_svg_or_a_png_by_its_name() {
    let folder = TestFolder::new();
    folder.nigh("demo --epochs 5 --repeats 1 --plot demo.svg -q").ok();
    let svg = folder.text("demo.svg");
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
    assert!(svg.contains("sgc") && svg.contains("smp-linear"), "both models have a panel");
    assert!(svg.matches("<circle").count() >= 2 * 400, "a dot per node and panel");
    folder.nigh("demo --epochs 5 --repeats 1 --plot demo.PNG -q").ok();
    let png = folder.read("demo.PNG");
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n") && png.ends_with(b"IEND\xae\x42\x60\x82"));
}

#[test]
fn another_extension_is_refused_before_training() {
    let folder = TestFolder::new();
    folder.refuses("demo --epochs 10000000 --plot demo.gif", 2, &["`plot` is demo.gif", ".svg or .png"]);
    folder.refuses("demo --epochs 10000000 --plot demo", 2, &["`plot` is demo", ".svg or .png"]);
}

#[test]
fn a_picture_that_can_not_be_written_is_refused_before_training() {
    let folder = TestFolder::new();
    let mut child = folder.command("demo --epochs 10000000 --plot missing/demo.svg").spawn().unwrap();
    let started = Instant::now();
    while child.try_wait().unwrap().is_none() && started.elapsed() < Duration::from_secs(3) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let ended = child.try_wait().unwrap();
    let _ = child.kill();
    let _ = child.wait();
    assert!(ended.is_some(), "it trains for a folder that does not exist");
}

#[test]
fn smp_finds_communities_that_others_miss() {
    let result = TestFolder::new().nigh("demo --epochs 50 --repeats 1 -q --json").json();
    let cells = result["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 9, "three models on three labellings");
    let mean = |model: &str, labels: &str| {
        let cell = cells.iter().find(|cell| cell["model"] == model && cell["labels"] == labels);
        cell.and_then(|cell| cell["mean"].as_f64()).unwrap()
    };
    assert!(mean("smp-linear", "community") > 0.9);
    assert!(mean("sgc", "community") < 0.3 && mean("gcn", "community") < 0.3);
}

#[test]
fn the_output_does_not_depend_on_the_number_of_threads() {
    let folder = TestFolder::new();
    let shown = |threads: usize| folder.nigh(&format!("demo --epochs 5 --repeats 2 --threads {threads} -q")).ok();
    assert_eq!(shown(1), shown(4));
}

#[test]
fn sizes_out_of_range_are_refused() {
    let folder = TestFolder::new();
    folder.refuses("demo --repeats 0", 2, &["`repeats` is 0"]);
    folder.refuses("demo --epochs 0", 2, &["`epochs` is 0"]);
    folder.refuses("demo --seed 9007199254740993", 2, &["--seed", "from 0 to 2^53"]);
}

#[test]
fn a_number_of_repeats_that_overflows_is_refused() {
    TestFolder::new().refuses("demo --repeats 18446744073709551615 --epochs 5", 2, &["repeats"]);
}

#[test]
fn a_negative_seed_is_a_wrong_value_and_not_a_wrong_option() {
    let folder = TestFolder::new();
    folder.refuses("demo --seed -1", 2, &["--seed", "-1"]);
    folder.refuses("certify grid --seed -1", 2, &["--seed", "-1"]);
}
