//! `nigh reproduce` and `nigh report`: tables from records, with interrupted runs.

use crate::test_folder::TestFolder;
use nigh::{Dataset, Silent};
use nigh_paper::{Experiment, Record, Store, measure};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A table whose cells take a moment each.
const SMALL: &str = "reproduce poc --epochs 20 --repeats 2 --results results";

fn records(folder: &TestFolder) -> Vec<Record> {
    let files = folder.files("results");
    let lines = files.iter().filter(|(path, _)| path.extension().is_some_and(|extension| extension == "jsonl"));
    lines
        .flat_map(|(_, bytes)| {
            String::from_utf8(bytes.clone().unwrap()).unwrap().lines().map(String::from).collect::<Vec<_>>()
        })
        .filter_map(|line| serde_json::from_str(&line).ok())
        .collect()
}

/// Cell and figures of each record, without times.
fn findings(records: &[Record]) -> BTreeSet<String> {
    records.iter().map(|r| format!("{:?} {} {} {} {}", r.cell, r.seed, r.test, r.best_epoch, r.split)).collect()
}

#[test]
fn recorded_repeats_are_not_run_again() {
    let folder = TestFolder::new();
    let first = folder.nigh(SMALL).ok();
    let before = records(&folder);
    // Six rows, three labellings, two repeats.
    assert_eq!(before.len(), 36);
    assert_eq!(folder.nigh(SMALL).ok(), first);
    assert_eq!(records(&folder), before);
    // Another repeat is one more of each; other epochs are other cells.
    folder.nigh("reproduce poc --epochs 20 --repeats 3 --results results -q").ok();
    assert_eq!(records(&folder).len(), 54);
    folder.nigh("reproduce poc --epochs 10 --repeats 1 --only GCN,both --results results -q").ok();
    assert_eq!(records(&folder).len(), 55);
}

#[test]
fn a_killed_run_resumes_where_it_stopped() {
    let (whole, killed) = (TestFolder::new(), TestFolder::new());
    whole.nigh(SMALL).ok();
    let (expected, mut kills) = (findings(&records(&whole)), 0);
    for wait in 1.. {
        let mut child = killed.command(SMALL).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let started = Instant::now();
        while started.elapsed() < Duration::from_millis(60 * wait) && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = child.kill();
        kills += 1;
        if child.wait().unwrap().success() {
            break;
        }
    }
    assert!(kills > 2, "it was never killed");
    let found = records(&killed);
    assert_eq!(findings(&found), expected);
    assert_eq!(found.len(), expected.len(), "no repeat twice");
}

#[test]
fn a_repeat_with_an_unfinished_record_is_run_again() {
    let folder = TestFolder::new();
    folder.nigh(SMALL).ok();
    let (name, expected) = ("results/leaders.jsonl", findings(&records(&folder)));
    let text = folder.text(name);
    folder.write(name, &text[..text.len() - 300]);
    let answer = folder.nigh(SMALL);
    assert!(answer.stderr.contains("unfinished record skipped"), "{}", answer.stderr);
    answer.ok();
    assert_eq!(findings(&records(&folder)), expected);
    // A complete line that is not a record is an error.
    folder.write(name, "{\"seed\": 1}\n");
    let before = folder.files("");
    let answer = folder.nigh(SMALL);
    assert_eq!(answer.code, Some(1));
    assert!(answer.stderr.contains("leaders.jsonl") && answer.stderr.contains("line 1"), "{}", answer.stderr);
    assert!(folder.files("") == before);
}

#[test]
fn several_processes_share_the_work_without_repetition() {
    let (alone, shared) = (TestFolder::new(), TestFolder::new());
    alone.nigh(SMALL).ok();
    let children: Vec<_> =
        (0..3).map(|_| shared.command(SMALL).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()).collect();
    children.into_iter().for_each(|mut child| assert!(child.wait().unwrap().success()));
    let found = records(&shared);
    assert_eq!(findings(&found), findings(&records(&alone)));
    assert_eq!(found.len(), 36);
}

#[test]
fn the_work_continues_when_stderr_is_closed() {
    let folder = TestFolder::new();
    let line = "reproduce poc --epochs 5 --repeats 2 --only both --results results";
    let mut child = folder.command(line).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    assert!(child.wait().unwrap().success());
    assert_eq!(records(&folder).len(), 12);
}

#[test]
fn a_report_is_made_from_records_in_every_format() {
    let folder = TestFolder::new();
    folder.nigh(SMALL).ok();
    let before = folder.files("results");
    let of = |rest: &str| folder.nigh(&format!("report poc --epochs 20 --repeats 2 --results results {rest}"));
    assert!(of("").ok().contains("SMP-Linear"));
    let markdown = of("--format markdown").ok();
    assert!(markdown.contains("| SMP-Linear |") && markdown.contains("**"), "{markdown}");
    let latex = of("--format latex").ok();
    assert!(latex.contains("\\begin{tabular}") && latex.contains("\\textbf{") && latex.contains("\\pm"), "{latex}");
    let csv = of("--format csv").ok();
    assert_eq!(csv.lines().count(), 1 + 18);
    // The measure is the one field with a comma in it.
    let commas = |line: &str| line.replace("\"Accuracy, %\"", "").matches(',').count();
    assert!(csv.lines().all(|line| commas(line) == commas(csv.lines().next().unwrap())), "{csv}");
    of("--out page.html").ok();
    let html = folder.text("page.html");
    assert!(html.starts_with("<!doctype html>") && html.contains("<polyline"), "a page with curves");
    assert!(!html.contains("http") && !html.contains("<script") && !html.contains("src="), "it needs nothing else");
    of("--out same.json").ok();
    assert_eq!(serde_json::from_str::<Value>(&folder.text("same.json")).unwrap(), of("--json").json());
    folder.refuses("report poc --results results --out page.foo", 2, &["page.foo", ".html"]);
    let json: Value = of("--json").json();
    let counts = ["reproduced", "better", "short", "not_run"];
    let sum = |summary: &Value| counts.iter().map(|key| summary[key].as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum(&json["summary"]), sum(&json["tables"][0]["summary"])), (18, 18));
    let figure = &json["tables"][0]["figures"][17];
    assert_eq!((figure["row"].as_str(), figure["column"].as_str()), (Some("SMP-Linear"), Some("Both")));
    assert_eq!((figure["theirs"]["mean"].as_f64(), figure["theirs"]["std"].as_f64()), (Some(93.8), Some(1.6)));
    let found: Vec<f64> = records(&folder)
        .iter()
        .filter(|record| record.cell["dataset"] == "leaders" && record.cell["model"] == "smp-linear")
        .map(|record| 100.0 * record.test)
        .collect();
    let mean = found.iter().sum::<f64>() / found.len() as f64;
    assert!((figure["ours"]["mean"].as_f64().unwrap() - mean).abs() < 1e-9 && found.len() == 2);
    // There are no records with the thousand epochs of the table.
    let none = folder.nigh("report poc --results results --json").json();
    assert_eq!(none["summary"]["not_run"], 18);
    assert_eq!(none["tables"][0]["figures"][0]["verdict"], "not_run");
    assert!(none["tables"][0]["figures"][0]["why"].as_str().unwrap().contains("nigh reproduce poc"));
    assert!(folder.files("results") == before, "a report changes nothing");
}

#[test]
fn unknown_names_are_refused() {
    let folder = TestFolder::with(&[
        ("mine.toml", "title = 1\n"),
        (
            "other.toml",
            "title = \"a\"\nwhere = \"b\"\nmeasure = \"c\"\ncolumns = []\n[[rows]]\nlabel = \"x\"\n\
                        model = \"gcn\"\npublished = { Cora = \"9 ± 1\" }\n",
        ),
    ]);
    folder.refuses("reproduce link-predicton", 2, &["link-predicton", "link-prediction"]);
    folder.refuses("reproduce poc --only ,", 2, &["--only"]);
    folder.refuses("reproduce poc --only cora", 2, &["--only cora", "leaders", "smp-linear"]);
    folder.refuses("reproduce ppa --only ppa-sized,gcn", 2, &["--only ppa-sized,gcn", "no figure has these together"]);
    folder.refuses("reproduce poc --repeats 0", 2, &["repeats", "from 1"]);
    folder.refuses("reproduce poc --epochs 0", 2, &["epochs", "from 1"]);
    folder.refuses("reproduce all --dry-run --repeats 9007199254740992", 2, &["repeats", "65536"]);
    folder.refuses("report poc --repeats 0", 2, &["repeats", "from 1"]);
    folder.refuses("reproduce ablation-signal --only fixed", 2, &["--only fixed", "smp-linear"]);
    folder.refuses("reproduce mine.toml", 1, &["mine.toml", "title"]);
    folder.refuses("reproduce other.toml", 1, &["other.toml", "Cora", "not a column"]);
    folder.refuses("reproduce missing.toml", 1, &["missing.toml"]);
    folder.refuses("report pocc", 2, &["pocc", "poc"]);
}

#[test]
fn a_table_of_a_user_is_run_like_one_of_the_paper() {
    let table = "title = \"Mine\"\nwhere = \"here\"\nmeasure = \"AUC, %\"\n[settings]\nepochs = 5\nrepeats = 1\n\
                 [[columns]]\ndataset = \"grid\"\nlabel = \"Grid\"\n[[rows]]\nlabel = \"GCN\"\nmodel = \"gcn\"\npublished = {}\n";
    let folder = TestFolder::with(&[("mine.toml", table)]);
    let text = folder.nigh("reproduce mine.toml --results results -q").ok();
    assert!(text.starts_with("Mine (here)") && text.contains("GCN"), "{text}");
    assert_eq!(folder.text("results/grid.jsonl").lines().count(), 1);
    let report = folder.nigh("report mine.toml --results results --json").json();
    assert_eq!(report["tables"][0]["figures"][0]["verdict"], "unpublished");
    let report = folder.nigh("report mine.toml --results results --epochs 6").ok();
    assert!(report.contains("`nigh reproduce mine.toml --epochs 6` writes them"), "{report}");
    // Rows that differ in their seeds alone are repeats of one cell, and all of them are run.
    let seeds =
        table.to_string() + "[[rows]]\nlabel = \"later\"\nmodel = \"gcn\"\nsettings = { seed = 100 }\npublished = {}\n";
    folder.write("seeds.toml", seeds);
    folder.nigh("reproduce seeds.toml --results results -q").ok();
    let mut found: Vec<u64> = records(&folder).iter().map(|record| record.seed).collect();
    found.sort();
    assert_eq!(found, [1, 100]);
}

/// The folder of the records in the repository.
fn repository_records() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/results")
}

#[test]
fn docs_tables_md_is_up_to_date_with_the_records() {
    let (folder, page) = (TestFolder::new(), Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tables.md"));
    let report = folder.nigh(&format!("report --format markdown --results {}", repository_records().display())).ok();
    if std::env::var_os("NIGH_BLESS").is_some_and(|bless| bless == "1") {
        std::fs::write(&page, &report).unwrap();
    }
    let shown = std::fs::read_to_string(&page).unwrap_or_default();
    assert!(shown == report, "docs/tables.md: `nigh report --out docs/tables.md` brings it up to date");
}

fn has_fused_products() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

#[test]
#[cfg_attr(not(target_arch = "x86_64"), ignore = "the records are from x86-64 processors with AVX2 and FMA")]
fn a_recorded_cell_run_again_gives_the_same_figures_to_the_last_digit() {
    assert!(
        has_fused_products(),
        "the records are from processors with AVX2 and FMA; on this one, run with --skip to_the_last_digit"
    );
    let found = Store::new(&repository_records()).read().unwrap();
    let cells = [("poc", 5, 2, 3), ("link-prediction", 5, 1, 2), ("node-classification", 1, 0, 1)];
    for (table, row, column, seed) in cells {
        let cell = Experiment::named(table).unwrap().cell(row, column).unwrap();
        let recorded = found.of(&cell).find(|record| record.seed == seed).unwrap_or_else(|| panic!("{cell:?}"));
        let dataset = Dataset::built_in(&cell.dataset).unwrap();
        let again = measure(&cell, &dataset, seed, "", &mut Silent).unwrap();
        assert_eq!(again.test.to_bits(), recorded.test.to_bits(), "{table}: {} {}", again.test, recorded.test);
        let of =
            |record: &Record| (record.valid.to_bits(), record.best_epoch, record.split.clone(), record.curve.clone());
        assert_eq!(of(&again), of(recorded));
        // Settings that did not exist then are open in the record.
        let settings = |record: &Record| serde_json::to_value(&record.config).unwrap().as_object().unwrap().clone();
        let (now, then) = (settings(&again), settings(recorded));
        let differs = |(name, value): &(&String, &serde_json::Value)| **value != "auto" && now[*name] != **value;
        assert_eq!(then.iter().find(differs), None);
    }
}
