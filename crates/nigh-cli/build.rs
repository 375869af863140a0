//! Tells the program which commit it was built from, if it was built from one: records say so.

use std::process::Command;

fn main() {
    for path in ["../../.git/HEAD", "../../.git/refs", "../../.git/index", "../nigh/src", "src", "Cargo.toml"] {
        println!("cargo:rerun-if-changed={path}");
    }
    let git = |arguments: &[&str]| Command::new("git").args(arguments).output().ok();
    let commit = git(&["describe", "--always", "--abbrev=10"]).filter(|output| output.status.success());
    let mut commit =
        commit.and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default().trim().to_owned();
    // Records and pages that wait for their commit change nothing in the program; its sources do.
    let sources = [":/crates", ":/experiments/*.toml", ":/Cargo.toml", ":/Cargo.lock"];
    let changed = git(&[&["diff", "--quiet", "HEAD", "--"], &sources[..]].concat());
    if changed.is_some_and(|output| output.status.code() == Some(1)) {
        commit += "-dirty";
    }
    let separator = if commit.is_empty() { "" } else { "+" };
    let version = std::env::var("CARGO_PKG_VERSION").expect("cargo says which version it builds");
    println!("cargo:rustc-env=NIGH_VERSION={version}{separator}{commit}");
}
