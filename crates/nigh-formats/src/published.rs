//! Files of public datasets: where they are published, and where they are looked for: a given folder, then `NIGH_DATA`, then the
//! user's cache.

use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

/// What is published of a dataset.
#[derive(Debug, Clone, Copy)]
pub struct Published {
    /// What users type.
    pub name: &'static str,
    /// The name of its folder, which several datasets may share.
    pub folder: &'static str,
    /// The files that are needed; without a list, those in the layout of OGB.
    pub files: &'static [DatasetFile],
    /// Where they are.
    pub origin: Origin,
}

/// One file of a dataset, as it is published.
#[derive(Debug)]
pub struct DatasetFile {
    /// Below the folder of the dataset.
    pub name: &'static str,
    /// Its length.
    pub bytes: u64,
    /// Its checksum.
    pub sha256: &'static str,
}

/// Where the files of a dataset are published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// One by one, below this address.
    Folder(&'static str),
    /// Together, in this archive.
    Archive(&'static str),
    /// At this address, but in a format that is not read: its file is a conversion, and can't be downloaded.
    Converted(&'static str),
}

impl Origin {
    /// The address of the folder, of the archive, or of what was converted.
    pub fn address(self) -> &'static str {
        match self {
            Origin::Folder(address) | Origin::Archive(address) | Origin::Converted(address) => address,
        }
    }
}

/// The file that a download puts in place last, for datasets without a list of files: if it exists, so do the others.
pub(crate) const LAST: &str = "raw/edge.csv.gz";

/// The folders in which datasets are looked for, each with a folder per dataset or family of datasets.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Folders {
    given: Option<PathBuf>,
    variable: Option<PathBuf>,
    cache: Option<PathBuf>,
}

/// Why a folder is one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Folder {
    /// It was given.
    Given,
    /// The environment variable `NIGH_DATA` names it.
    Variable,
    /// It is the user's cache.
    Cache,
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

    /// The folders in the order in which they are searched.
    pub fn iter(&self) -> impl Iterator<Item = (Folder, &Path)> {
        let all = [(Folder::Given, &self.given), (Folder::Variable, &self.variable), (Folder::Cache, &self.cache)];
        all.into_iter().filter_map(|(kind, folder)| Some((kind, folder.as_deref()?)))
    }

    fn all(&self) -> impl Iterator<Item = &Path> {
        self.iter().map(|(_, folder)| folder)
    }

    /// The first folder that holds the dataset.
    pub fn find(&self, known: impl Into<Published>) -> Option<PathBuf> {
        let known = known.into();
        let holds = |folder: &PathBuf| match known.files {
            [] => folder.join(LAST).is_file(),
            files => files.iter().all(|file| folder.join(file.name).is_file()),
        };
        self.all().map(|folder| folder.join(known.folder)).find(holds)
    }

    /// As `find`; the error says where to get the files and where to put them.
    pub fn require(&self, known: impl Into<Published>) -> Result<PathBuf> {
        let known = known.into();
        self.find(known).ok_or_else(|| {
            let names: Vec<&str> = known.files.iter().map(|file| file.name).collect();
            let files = match known.origin {
                Origin::Folder(address) => format!("the files {} from {address}", names.join(", ")),
                Origin::Archive(address) => format!("the content of {address}"),
                Origin::Converted(address) => {
                    let names = names.join(", ");
                    format!("{names} (a line with two ids per link, made from {address}, which nigh can't read)")
                }
            };
            let folders = self.all().map(|folder| folder.join(known.folder)).collect();
            Error::NotDownloaded { name: known.name.to_string(), files, folders }
        })
    }
}
