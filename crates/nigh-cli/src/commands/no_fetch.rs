//! Replaces `fetch.rs` in a program that was built without the feature `fetch`.

use crate::cli::Data;
use anyhow::{Result, anyhow};
use nigh::dataset::Folders;
use std::path::Path;

pub fn run(_names: &[String], _data: Option<&Path>, _force: bool, _quiet: bool) -> Result<()> {
    Err(anyhow!(
        "this program was built without the feature `fetch`; `nigh data show NAME` says where to put the files"
    ))
}

/// Does nothing: loading the dataset reports where its files go.
pub fn if_missing(_data: &Data, _folders: &Folders, _quiet: bool) -> Result<()> {
    Ok(())
}
