//! `nigh data fetch`, and datasets that are downloaded when they are needed.

use super::{print, print_notes};
use crate::cli::Data;
use crate::progress::DownloadBar;
use anyhow::{Result, anyhow};
use nigh::Error;
use nigh::dataset::fetch::{Fetch, Fetched};
use nigh::dataset::{BUILT_IN, Folders, NamedDataset, REGISTRY};
use nigh::display::byte_size;
use std::path::Path;

/// Larger datasets are downloaded by `nigh data fetch` only.
const MAX_AUTOMATIC_DOWNLOAD: u64 = 1 << 30;

pub fn run(names: &[String], data: Option<&Path>, force: bool, quiet: bool) -> Result<()> {
    // Every name is checked before anything is downloaded.
    let datasets = names.iter().map(|name| dataset(name)).collect::<Result<Vec<_>, Error>>()?;
    let fetch = Fetch::from_environment().map_err(Error::from)?;
    let fetch = if force { fetch.again() } else { fetch };
    let folders = Folders::new(data);
    for (name, known) in names.iter().zip(datasets) {
        let Some(known) = known else {
            print(&format!("{name} is built in; nothing to fetch\n"))?;
            continue;
        };
        match fetch.run(known, &folders, &mut DownloadBar::new(quiet)).map_err(Error::from)? {
            Fetched::Here(folder) => print(&format!("{name} is here already, in {}\n", folder.display()))?,
            Fetched::New(folder, bytes) => print(&format!("{name}: {} in {}\n", byte_size(bytes), folder.display()))?,
        }
    }
    Ok(())
}

/// `None` for a graph that is built in.
fn dataset(name: &str) -> Result<Option<&'static NamedDataset>, Error> {
    if BUILT_IN.iter().any(|known| known.0 == name) {
        return Ok(None);
    }
    let known = || REGISTRY.iter().map(|known| known.name.to_string()).collect();
    let unknown = || Error::UnknownName { kind: "dataset", name: name.to_string(), known: known() };
    NamedDataset::named(name).ok_or_else(unknown).map(Some)
}

/// Downloads a named dataset that is in no folder. Does nothing where loading will report the problem.
pub fn if_missing(data: &Data, folders: &Folders, quiet: bool) -> Result<()> {
    let (Some(known), Some(target)) = (NamedDataset::named(&data.graph), folders.target()) else { return Ok(()) };
    if data.features.is_some() || data.labels.is_some() || folders.find(known).is_some() {
        return Ok(());
    }
    let name = known.name;
    if known.bytes().is_none_or(|bytes| bytes > MAX_AUTOMATIC_DOWNLOAD) {
        let into = data.data.as_ref().map_or(String::new(), |folder| format!(" --data {}", folder.display()));
        return Err(anyhow!("{name} is not here and is more than 1 GB; `nigh data fetch {name}{into}` downloads it"));
    }
    let fetch = Fetch::from_environment().map_err(Error::from)?;
    let Some(address) = fetch.address(known) else { return Ok(()) };
    let folder = target.join(known.folder);
    print_notes(&[format!("{name} is not here; fetching it from {address} into {}", folder.display())], quiet);
    fetch.run(known, folders, &mut DownloadBar::new(quiet)).map_err(Error::from)?;
    Ok(())
}
