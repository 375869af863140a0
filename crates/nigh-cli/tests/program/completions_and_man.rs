//! `nigh completions` and `nigh man`, checked with bash, and with zsh and groff where `./check` finds them.

use crate::test_folder::TestFolder;
use std::process::Command;

const COMMANDS: [&str; 18] = [
    "estimate",
    "propagate",
    "demo",
    "train",
    "tune",
    "split",
    "evaluate",
    "embed",
    "predict",
    "certify",
    "models",
    "compare",
    "diagnose",
    "reproduce",
    "report",
    "data",
    "completions",
    "man",
];

/// The names of all settings.
fn settings() -> Vec<String> {
    let config = toml::Table::try_from(nigh::Config::default()).unwrap();
    config.keys().cloned().collect()
}

/// Asserts that a shell can parse its script.
#[track_caller]
fn assert_parses(shell: &str) {
    let folder = TestFolder::new();
    folder.write("script", folder.nigh(&format!("completions {shell}")).ok());
    let status = Command::new(shell).arg("-n").arg(folder.path("script")).status().expect("the shell is installed");
    assert!(status.success(), "{shell}");
}

#[test]
fn scripts_name_every_command_and_setting() {
    let folder = TestFolder::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = folder.nigh(&format!("completions {shell}")).ok();
        COMMANDS.iter().for_each(|command| assert!(script.contains(command), "{shell}: {command}"));
        settings().iter().for_each(|name| assert!(script.contains(name), "{shell}: {name}"));
        // The scripts of elvish and PowerShell complete no values.
        for value in ["pairwise-node-classification", "smp-linear-gcn-both", "hadamard-mlp", "rademacher"] {
            assert!(["elvish", "powershell"].contains(&shell) || script.contains(value), "{shell}: {value}");
        }
    }
    folder.refuses("completions tcsh", 2, &["tcsh", "bash, elvish, fish, powershell, zsh"]);
}

#[test]
fn names_of_datasets_and_tables_are_completed_beside_files() {
    let folder = TestFolder::new();
    let script = folder.nigh("completions zsh").ok();
    // train, tune, split, evaluate, embed, propagate, estimate, predict, certify, compare, diagnose, data show, data convert and data
    // export; report; reproduce.
    for (names, places) in [("(grid communities ", 14), ("beyond-ablation)", 1), ("beyond-ablation all)", 1)] {
        let both = |line: &&str| line.contains("_alternative") && line.contains(names) && line.contains("_files");
        assert_eq!(script.lines().filter(both).count(), places, "{names}");
    }
}

#[test]
fn the_script_can_be_parsed_by_bash() {
    assert_parses("bash");
}

#[test]
#[ignore = "needs zsh"]
fn the_script_can_be_parsed_in_zsh() {
    assert_parses("zsh");
}

#[test]
fn bash_completes_commands_settings_values_and_datasets() {
    let folder = TestFolder::new();
    folder.write("script", folder.nigh("completions bash").ok());
    let complete = |words: &str| {
        let count = words.split(' ').count();
        let (last, previous) = (words.split(' ').next_back().unwrap(), words.split(' ').nth(count - 2).unwrap());
        let line = format!(
            "source ./script; COMP_WORDS=({words}); COMP_CWORD={}; _nigh nigh '{last}' {previous}; echo ${{COMPREPLY[@]}}",
            count - 1
        );
        let output = Command::new("bash").args(["-c", &line]).current_dir(folder.path("")).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_string()
    };
    assert_eq!(complete("nigh eva"), "evaluate");
    assert_eq!(complete("nigh train --walk-l"), "--walk-length");
    assert_eq!(complete("nigh train --decoder had"), "hadamard-mlp");
    assert_eq!(complete("nigh train --model smp-li"), "smp-linear smp-linear-gcn-feat smp-linear-gcn-both");
    assert_eq!(complete("nigh train comm"), "communities");
    assert_eq!(complete("nigh data fetch pub"), "pubmed");
    assert_eq!(complete("nigh reproduce one"), "one-hot");
}

#[test]
fn the_manual_has_a_page_per_command_with_every_option() {
    let folder = TestFolder::new();
    // In a page a hyphen is escaped.
    let plain = |page: String| page.replace("\\-", "-").replace("\\fB", "").replace("\\fR", "");
    let program = plain(folder.nigh("man").ok());
    COMMANDS.iter().for_each(|command| assert!(program.contains(&format!("nigh-{command}(1)")), "{command}"));
    let train = plain(folder.nigh("man train").ok());
    settings().iter().for_each(|name| assert!(train.contains(&format!("--{name} ")), "--{name}: {train}"));
    assert!(train.contains("Nodes per random walk") && train.contains("ids of the source node"), "{train}");
    assert!(train.contains("nigh train edges.csv --labels labels.csv"), "{train}");
    assert!(plain(folder.nigh("man data fetch").ok()).contains("--force"));
    folder.refuses("man trian", 2, &["unknown command `trian`; did you mean `train`?"]);
    folder.refuses("man train fast", 2, &["`train` has no command `fast`"]);
    folder.nigh("man --out pages -q").ok();
    let pages: Vec<String> = folder.files("pages").keys().map(|page| page.display().to_string()).collect();
    for page in ["nigh.1", "nigh-train.1", "nigh-data-fetch.1", "nigh-man.1"] {
        assert!(pages.iter().any(|name| name == page), "{page}: {pages:?}");
    }
    assert_eq!(pages.len(), 1 + COMMANDS.len() + 5, "{pages:?}");
}

#[test]
#[ignore = "needs groff"]
fn every_page_is_free_of_warnings_in_groff() {
    let folder = TestFolder::new();
    folder.nigh("man --out pages -q").ok();
    for page in folder.files("pages").keys() {
        let path = folder.path("pages").join(page);
        let output = Command::new("groff").args(["-man", "-Tutf8", "-ww"]).arg(path).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{page:?}: {output:?}");
    }
}
