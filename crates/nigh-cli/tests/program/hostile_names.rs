//! Ids, headers, cells and file names that command a terminal, a browser or a spreadsheet.

use crate::sample_graphs as graphs;
use crate::test_folder::TestFolder;

/// Clears the screen, sets a title, moves the cursor by a C1 control, and turns the direction of text.
const HOSTILE: &str = "\u{1b}[2J\u{1b}]owned\u{7}\u{9b}5A\u{202e}ada0";
const SHOWN: &str = "\\u{1b}[2J\\u{1b}]owned\\u{7}\\u{9b}5A\\u{202e}ada0";

/// The people's graph with one person of that name.
fn hostile_edges() -> String {
    graphs::edges().replace("ada0 ", &format!("{HOSTILE} ")).replace(" ada0\n", &format!(" {HOSTILE}\n"))
}

fn is_harmless(text: &str) -> bool {
    !text.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}')
}

#[test]
fn names_do_not_command_the_terminal() {
    let name = format!("{HOSTILE}.txt");
    let labels: String = graphs::labels().replace("ada3,", "nobody\u{1b}[31m,");
    let folder = TestFolder::with(&[
        (name.as_str(), hostile_edges()),
        ("labels.csv", labels),
        ("pairs.csv", "ada1,nobody\u{9d}0;x\u{9c}\n".into()),
    ]);
    let train = format!("train {name} --epochs 5 --repeats 1 --model smp-linear --out model");
    let trained = folder.nigh(&train);
    assert!(is_harmless(&trained.stderr), "{:?}", trained.stderr);
    let text = trained.ok();
    assert!(is_harmless(&text) && text.contains(&format!("smp-linear on {SHOWN}.txt")), "{text:?}");
    let table = folder.nigh(&format!("predict model {name} --node ada1 --include-existing --top 31 -q")).ok();
    assert!(is_harmless(&table) && table.contains(SHOWN), "{table:?}");
    // Every column starts at the same place.
    let widths: Vec<usize> = table.lines().skip(2).map(|line| line.chars().count()).collect();
    assert!(widths.iter().all(|width| *width == widths[0]), "{table}");
    for line in [
        format!("train {name} --labels labels.csv --task node-classification"),
        format!("predict model {name} --pairs pairs.csv"),
        format!("predict model {name} --node {HOSTILE}x"),
        format!("train {HOSTILE}-nowhere.txt"),
        format!("train {name} --mode{HOSTILE}"),
        format!("embed model {name} --out {HOSTILE}.unknown"),
        format!("data show {name} --source {HOSTILE}x"),
    ] {
        let answer = folder.nigh(&line);
        assert!(answer.code.is_some_and(|code| code > 0), "{line}");
        assert!(is_harmless(&answer.stderr) && answer.stderr.contains("\\u{"), "{line}: {:?}", answer.stderr);
    }
}

#[test]
fn data_for_programs_keep_every_character() {
    let name = format!("{HOSTILE}.txt");
    let folder = TestFolder::with(&[(name.as_str(), hostile_edges()), ("pairs.csv", format!("{HOSTILE},ada1\n"))]);
    let trained = folder.nigh(&format!("train {name} --epochs 5 --repeats 1 --model smp-linear -q --json --out model"));
    assert_eq!(trained.json()["dataset"], name.as_str());
    let scores = folder.nigh(&format!("predict model {name} --pairs pairs.csv -q")).ok();
    assert!(scores.starts_with(&format!("source,target,score\n{HOSTILE},ada1,")), "{scores:?}");
    folder.nigh(&format!("embed model {name} -q --out vectors.csv")).ok();
    assert!(folder.text("vectors.csv").contains(&format!("\n{HOSTILE},")));
    assert!(folder.text("model/ids.jsonl").contains("ada0"));
}

#[test]
fn a_line_break_in_a_name_begins_no_line_of_ours() {
    let folder = TestFolder::new();
    let mut command = folder.command("train");
    command.arg("nowhere\nerror: all is lost");
    let stderr = String::from_utf8(command.output().unwrap().stderr).unwrap();
    assert_eq!(stderr.lines().filter(|line| line.starts_with("error: ")).count(), 1, "{stderr}");
    assert!(stderr.contains("\n  error: all is lost"), "{stderr}");
}

#[test]
fn the_card_of_a_model_shows_names_as_text() {
    let name = "<img_src=x>[click](http:x)|`a`.txt".replace("http:x", "x");
    let folder = TestFolder::with(&[(name.as_str(), graphs::edges())]);
    folder.nigh(&format!("train {name} --epochs 5 --repeats 1 -q --out model")).ok();
    let card = folder.text("model/README.md");
    let title = card.lines().next().unwrap();
    assert!(title.ends_with(" on \\<img\\_src=x\\>\\[click\\](x)\\|\\`a\\`.txt"), "{title}");
    folder.nigh(&format!("evaluate model {name} -q")).ok();
}

#[test]
fn formulas_are_escaped_in_csv_if_wanted_and_only_there() {
    let formula = "=cmd|'/C_calc'!A0";
    let edges = graphs::edges().replace("ada0", formula).replace("ada1", "-7");
    let labels =
        graphs::labels().replace("ada0,", &format!("{formula},")).replace("ada1,", "-7,").replace("team-bob", "@bob");
    let folder =
        TestFolder::with(&[("edges.txt", edges), ("labels.csv", labels), ("pairs.csv", format!("{formula},bob1\n"))]);
    folder.nigh("train edges.txt --epochs 5 --repeats 1 --model smp-linear -q --out model").ok();
    folder
        .nigh("train edges.txt --labels labels.csv --task node-classification --epochs 5 --repeats 1 -q --out classes")
        .ok();
    let stdout = |line: &str| folder.nigh(line).ok();
    for (option, apostrophe) in [("", ""), ("--escape-formulas", "'")] {
        let scores = stdout(&format!("predict model edges.txt --pairs pairs.csv -q {option}"));
        assert!(scores.contains(&format!("\n{apostrophe}{formula},bob1,")), "{scores}");
        let classes = stdout(&format!("predict classes edges.txt -q {option}"));
        assert!(classes.contains(&format!("\n{apostrophe}{formula},")) && classes.contains("\n-7,"), "{classes}");
        assert!(classes.contains(&format!(",{apostrophe}@bob,")), "{classes}");
        folder.nigh(&format!("embed model edges.txt -q --out vectors.csv {option}")).ok();
        assert!(folder.text("vectors.csv").contains(&format!("\n{apostrophe}{formula},")));
        let out = format!("export{}", option.len());
        folder.nigh(&format!("data export edges.txt --labels labels.csv -q --out {out} {option}")).ok();
        for file in ["nodes.csv", "edges.csv", "labels.csv"] {
            let text = folder.text(&format!("{out}/{file}"));
            assert!(text.contains(&format!("{apostrophe}{formula}")) && !text.contains("'-7"), "{file}: {text}");
            assert_eq!(text.contains(&format!("'{formula}")), !option.is_empty(), "{file}");
        }
        assert!(folder.text(&format!("{out}/labels.csv")).contains(&format!(",{apostrophe}@bob")));
    }
    for line in [
        "embed model edges.txt --out vectors.npy --escape-formulas",
        "predict model edges.txt --pairs pairs.csv --out scores.parquet --escape-formulas",
        "predict model edges.txt --node bob1 --escape-formulas",
        "report poc --format json --escape-formulas",
    ] {
        folder.refuses(line, 2, &["--escape-formulas is for csv"]);
    }
}
