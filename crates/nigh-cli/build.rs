//! Tells the program which commit it was built from, if it was built from one: records say so.

use std::process::Command;

fn main() {
    for path in ["../../.git/HEAD", "../../.git/refs", "../../.git/index", "../nigh/src", "src", "Cargo.toml"] {
        println!("cargo:rerun-if-changed={path}");
    }
    let git = Command::new("git").args(["describe", "--always", "--dirty", "--abbrev=10"]).output();
    let commit = git.ok().filter(|output| output.status.success());
    let commit = commit.and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
    let separator = if commit.is_empty() { "" } else { "+" };
    let version = std::env::var("CARGO_PKG_VERSION").expect("cargo says which version it builds");
    println!("cargo:rustc-env=NIGH_VERSION={version}{separator}{}", commit.trim());
}
