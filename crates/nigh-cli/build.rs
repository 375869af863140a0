//! Writes two things for the program to include: the version with the commit it was built from (records carry it), and the
//! list of the model pages in `models/`.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rustc-env=NIGH_VERSION={}{}", variable("CARGO_PKG_VERSION"), commit());
    std::fs::write(PathBuf::from(variable("OUT_DIR")).join("pages.rs"), pages()).expect("OUT_DIR is writable");
}

fn variable(name: &str) -> String {
    std::env::var(name).expect("set by cargo")
}

/// `+COMMIT` in a checkout of the repository, with `-dirty` if sources have changed since; empty in a published package.
fn commit() -> String {
    if !Path::new("../../.git").exists() {
        return String::new();
    }
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
        String::from_utf8(output.stdout).ok()
    };
    // In a linked worktree these are not below `.git`.
    let state = git(&["rev-parse", "--git-path", "HEAD", "--git-path", "refs", "--git-path", "index"]);
    let sources = ["../nigh/src", "../nigh-paper/src", "../nigh-paper/experiments", "src", "Cargo.toml"];
    let watched = state.iter().flat_map(|paths| paths.lines()).chain(sources);
    watched.for_each(|path| println!("cargo:rerun-if-changed={path}"));
    let Some(commit) = git(&["describe", "--always", "--abbrev=10"]) else { return String::new() };
    // Uncommitted records and pages change nothing in the program; sources do.
    let changed = git(&["status", "--porcelain", "--", ":/crates", ":/Cargo.toml", ":/Cargo.lock"]);
    let dirty = if changed.is_some_and(|files| !files.is_empty()) { "-dirty" } else { "" };
    format!("+{}{dirty}", commit.trim())
}

/// `&[("gat", include_str!("..."))]`, a row per page.
fn pages() -> String {
    println!("cargo:rerun-if-changed=models");
    let folder = Path::new(&variable("CARGO_MANIFEST_DIR")).join("models");
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut pages: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry of the folder").path()).collect();
    pages.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    pages.sort();
    let row = |path: &PathBuf| {
        let name = path.file_stem().expect("a file name").to_string_lossy();
        format!("    ({name:?}, include_str!({:?})),\n", path.to_str().expect("a path in UTF-8"))
    };
    format!("&[\n{}]\n", pages.iter().map(row).collect::<String>())
}
