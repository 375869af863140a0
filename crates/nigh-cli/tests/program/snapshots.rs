//! Help, tables and errors, compared with the files in `snapshots/`. `NIGH_BLESS=1` rewrites them.

use crate::sample_graphs as graphs;
use crate::test_folder::TestFolder;
use std::path::Path;

#[track_caller]
fn assert_matches_snapshot(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program/snapshots").join(name);
    if std::env::var_os("NIGH_BLESS").is_some_and(|bless| bless == "1") {
        std::fs::write(&path, text).expect("a snapshot can be written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        text == expected,
        "{} does not match; if it should look like this, run with NIGH_BLESS=1:\n{text}",
        path.display()
    );
}

/// Fractions become `#`, gaps and rules a fixed width: what is left does not depend on the machine.
fn structure(text: &str) -> String {
    let word = |word: &str| match word.trim_end_matches(',') {
        number if number.contains('.') && number.parse::<f64>().is_ok() => word.replace(number, "#"),
        _ => word.to_string(),
    };
    let line = |line: &str| {
        let cells = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty());
        let cells = cells.map(|cell| cell.split(' ').map(word).collect::<Vec<_>>().join(" "));
        let line = cells.collect::<Vec<_>>().join("  ");
        if line.len() > 3 && line.bytes().all(|byte| byte == b'-') { "---\n".to_string() } else { line + "\n" }
    };
    text.lines().map(line).collect()
}

#[test]
fn help_fits_on_a_screen() {
    let folder = TestFolder::new();
    assert_matches_snapshot("help.txt", &folder.nigh("--help").ok());
    assert_matches_snapshot("help-train.txt", &folder.nigh("train --help").ok());
    assert_matches_snapshot("models.txt", &folder.nigh("models").ok());
    assert_matches_snapshot("help-reproduce.txt", &folder.nigh("reproduce --help").ok());
    assert_matches_snapshot("help-data-fetch.txt", &folder.nigh("data fetch --help").ok());
    let data = ["data list", "data show", "data fetch", "data export"];
    let tables = ["compare", "diagnose", "reproduce", "report"];
    let commands = ["demo", "train", "evaluate", "embed", "predict", "certify", "models", "data"];
    for command in commands.iter().chain(&data).chain(&tables) {
        let help = folder.nigh(&format!("{command} --help")).ok();
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    }
}

#[test]
fn the_list_shows_sizes_and_places() {
    let folder = TestFolder::with(&[("email.txt", "0 1\n"), ("email_labels.txt", "0 0\n")]);
    std::fs::create_dir_all(folder.path("data/email")).unwrap();
    for file in ["email.txt", "email_labels.txt"] {
        std::fs::rename(folder.path(file), folder.path("data/email").join(file)).unwrap();
    }
    let list = folder.nigh("data list --data data").ok();
    assert!(list.lines().all(|line| line.chars().count() <= 110), "{list}");
    assert_matches_snapshot("data-list.txt", &list);
}

#[test]
fn the_demo_shows_our_figures_beside_the_published_ones() {
    let text = TestFolder::new().nigh("demo --epochs 5 --repeats 1 -q").ok();
    let line = |line: &str| {
        let mut cells: Vec<&str> = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        if line.contains(" ± ") {
            // Measured and published figures alternate; the published ones stay.
            let measured = cells.iter_mut().skip(1).step_by(2);
            measured.for_each(|cell| *cell = if cell.contains(" ± ") { "# ± #" } else { "#" });
        }
        let line = cells.join("  ");
        if line.starts_with("---") { "---\n".to_string() } else { line + "\n" }
    };
    assert_matches_snapshot("demo.txt", &text.lines().map(line).collect::<String>());
}

#[test]
fn results_are_small_tables() {
    let folder = TestFolder::with(&[("edges.txt", graphs::edges())]);
    let mut shown = String::new();
    for line in [
        "train edges.txt --epochs 5 --repeats 2 --out model",
        "evaluate model edges.txt",
        "embed model edges.txt --out vectors.npy",
        "predict model edges.txt --node ada0 --top 1",
    ] {
        let answer = folder.nigh(line);
        shown += &format!("$ nigh {line}\n{}{}\n", structure(&answer.stderr), structure(&answer.ok()));
    }
    assert_matches_snapshot("tables.txt", &shown);
}

/// Compares two tables that may differ in the measured figures by at most `slack`. Gaps, rules and verdicts are not
/// compared; published figures must be equal.
#[track_caller]
fn assert_matches_snapshot_within(name: &str, text: &str, slack: f64) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program/snapshots").join(name);
    if std::env::var_os("NIGH_BLESS").is_some_and(|bless| bless == "1") {
        std::fs::write(&path, text).expect("a snapshot can be written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    // Measured figures end with a verdict: `mean =` or `mean ± std =`. The text without them, and what is in them.
    let parts = |text: &str| {
        let (mut rest, mut ours): (Vec<String>, Vec<f64>) = Default::default();
        for word in text.split_whitespace().filter(|word| !word.starts_with("---")) {
            rest.push(word.to_string());
            if matches!(word, "=" | "+" | "-") {
                let is_figure = |word: &&String| *word == "±" || word.parse::<f64>().is_ok();
                let length = rest.iter().rev().skip(1).take_while(is_figure).count().min(3);
                let figure = rest.split_off(rest.len() - 1 - length);
                ours.extend(figure.iter().filter_map(|word| word.parse::<f64>().ok()));
            }
        }
        (rest, ours)
    };
    let ((rest, found), (wanted_rest, wanted)) = (parts(text), parts(&expected));
    let near = found.iter().zip(&wanted).all(|(a, b)| (a - b).abs() <= slack);
    let matches = rest == wanted_rest && found.len() == wanted.len() && near && !found.is_empty();
    assert!(matches, "{} does not match; NIGH_BLESS=1 rewrites it:\n{text}", path.display());
}

#[test]
fn measured_figures_stand_beside_published_ones() {
    let folder = TestFolder::new();
    let text = folder.nigh("reproduce link-prediction --only communities,grid --repeats 1 --results records -q").ok();
    assert_matches_snapshot_within("link-prediction.txt", &text, 3.0);
}

#[test]
fn certify_states_the_theorem_and_the_measurement() {
    let text = TestFolder::new().nigh("certify communities -q").ok();
    let mut below_the_rule = false;
    let line = |line: &str| {
        below_the_rule |= line.starts_with("---");
        match line.rsplit_once(' ') {
            // The measured figures are the last column of the table.
            Some((name, figure)) if below_the_rule && figure.parse::<f64>().is_ok() => format!("{}  #\n", name.trim()),
            _ => format!("{line}\n"),
        }
    };
    assert_matches_snapshot("certify.txt", &text.lines().map(line).collect::<String>());
}

#[test]
fn errors_say_what_where_and_what_to_do() {
    let folder = TestFolder::with(&[
        ("edges.txt", graphs::edges()),
        ("broken.txt", "ada bob\nbob\n".to_string()),
        ("settings.toml", "epochs = 10\nhop = 3\n".to_string()),
    ]);
    folder.nigh("train edges.txt --epochs 5 --repeats 1 --out model").ok();
    std::fs::remove_file(folder.path("model/ids.jsonl")).unwrap();
    let mut shown = String::new();
    for line in [
        "train comunities",
        "train broken.txt",
        "train edges.txt --model smp-liner",
        "train edges.txt --task link-predicton",
        "train edges.txt --hops 0",
        "train edges.txt --metric accuracy",
        "train edges.txt --task node-classification",
        "train edges.txt --config settings.toml",
        "train edges.txt --out model",
        "train edges.txt --resume",
        "evaluate model edges.txt",
    ] {
        let answer = folder.nigh(line);
        shown += &format!("$ nigh {line}\n{}[exit {}]\n\n", answer.stderr, answer.code.expect("an exit code"));
    }
    assert_matches_snapshot("errors.txt", &shown);
}
