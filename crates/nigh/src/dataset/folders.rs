//! Where the files of named datasets are looked for: a given folder, then `NIGH_DATA`, then the user's cache.

use super::paper::{NamedDataset, Origin};
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

/// Of files that no list names, the one that is put in place last: where it is, the others are.
pub(super) const LAST: &str = "raw/edge.csv.gz";

/// The folders in which datasets are looked for, each with a folder per dataset.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Folders {
    given: Option<PathBuf>,
    variable: Option<PathBuf>,
    cache: Option<PathBuf>,
}

impl Folders {
    /// A folder given by the user, if any, then those of the environment.
    pub fn new(given: Option<&Path>) -> Folders {
        let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = || folder("HOME");
        let cache = if cfg!(target_os = "windows") {
            folder("LOCALAPPDATA")
        } else if cfg!(target_os = "macos") {
            home().map(|home| home.join("Library/Caches"))
        } else {
            folder("XDG_CACHE_HOME").or_else(|| home().map(|home| home.join(".cache")))
        };
        Folders {
            given: given.map(Path::to_path_buf),
            variable: folder("NIGH_DATA"),
            cache: cache.map(|cache| cache.join("nigh")),
        }
    }

    /// The user's cache, where converted copies are kept.
    pub fn cache(&self) -> Option<&Path> {
        self.cache.as_deref()
    }

    /// Where fetched datasets go: the folder that was given, else the user's cache.
    pub fn target(&self) -> Option<&Path> {
        self.given.as_deref().or(self.cache())
    }

    /// The folders in the order in which they are looked at, by what a user knows them as.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let named = [("--data", &self.given), ("NIGH_DATA", &self.variable), ("cache", &self.cache)];
        named.into_iter().filter_map(|(name, folder)| Some((name, folder.as_deref()?)))
    }

    fn all(&self) -> impl Iterator<Item = &Path> {
        self.named().map(|(_, folder)| folder)
    }

    /// The first folder that holds the dataset.
    pub fn find(&self, known: &NamedDataset) -> Option<PathBuf> {
        let holds = |folder: &PathBuf| match known.files {
            [] => folder.join(LAST).is_file(),
            files => files.iter().all(|file| folder.join(file.name).is_file()),
        };
        self.all().map(|folder| folder.join(known.name)).find(holds)
    }

    /// As `find`; if it is nowhere, the error says where to get it and where to put it.
    pub fn require(&self, known: &NamedDataset) -> Result<PathBuf> {
        self.find(known).ok_or_else(|| {
            let name = known.name;
            let looked: Vec<String> = self.all().map(|folder| folder.join(name).display().to_string()).collect();
            let files: Vec<&str> = known.files.iter().map(|file| file.name).collect();
            let what = match known.origin {
                Origin::Folder(address) => format!("the files {} from {address}", files.join(", ")),
                Origin::Archive(address) => format!("the content of {address}"),
            };
            Error::Data(format!(
                "{name} is not here; put {what} into one of {}",
                if looked.is_empty() { "a folder given with --data".to_string() } else { looked.join(", ") }
            ))
        })
    }
}
