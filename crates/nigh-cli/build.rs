//! Tells the program which commit it was built from, if it was built from one: records say so.

use std::process::Command;

fn main() {
    let git_and_sources =
        ["../../.git/HEAD", "../../.git/refs", "../../.git/index", "../nigh/src", "src", "Cargo.toml"];
    git_and_sources.iter().for_each(|path| println!("cargo:rerun-if-changed={path}"));
    for path in std::fs::read_dir("../../experiments").into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.extension().is_some_and(|extension| extension == "toml") {
            println!("cargo:rerun-if-changed={}", path.display());
        }
    }
    let git = |arguments: &[&str]| Command::new("git").args(arguments).output().ok();
    let commit = git(&["describe", "--always", "--abbrev=10"]).filter(|output| output.status.success());
    let mut commit =
        commit.and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default().trim().to_owned();
    // Records and pages that wait for their commit change nothing in the program; its sources do.
    let sources = [":/crates", ":/experiments/*.toml", ":/Cargo.toml", ":/Cargo.lock"];
    let changed = git(&[&["status", "--porcelain", "--"], &sources[..]].concat());
    if changed.is_some_and(|output| !output.stdout.is_empty()) {
        commit += "-dirty";
    }
    let separator = if commit.is_empty() { "" } else { "+" };
    let version = std::env::var("CARGO_PKG_VERSION").expect("cargo says which version it builds");
    println!("cargo:rustc-env=NIGH_VERSION={version}{separator}{commit}");
}
