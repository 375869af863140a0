//! Downloads of public datasets. A file appears when it is complete and its checksum is right.
//!
//! Downloads have another name (`FILE.partial`, `NAME.zip.partial`) until they are checked. The next run resumes what a
//! killed one left behind.

mod download;
mod lock;
#[cfg(test)]
mod server;
#[cfg(test)]
mod tests;
mod unpack;

use self::download::{Download, TimeLimits};
use self::lock::Lock;
use crate::atomic;
use crate::digest::hex;
use crate::error::{Error, Result};
use crate::published::{DatasetFile, Folders, LAST, Origin, Published};
use sha2::{Digest, Sha256};
use std::io::Read;
use std::path::{Path, PathBuf};
use ureq::Agent;

/// The variable that names a mirror.
const MIRROR: &str = "NIGH_ORIGIN";

/// No archive may be longer, nor what is unpacked from one.
const LIMIT: u64 = 8 << 30;

/// Receives the progress of a download. `()` ignores it.
pub trait FetchObserver {
    /// A remark for the user.
    fn note(&mut self, _text: &str) {}

    /// So many bytes of a file have arrived, of `total` where that is known.
    fn progress(&mut self, _file: &str, _bytes: u64, _total: Option<u64>) {}

    /// A file is complete and checked.
    fn finished(&mut self, _file: &str, _bytes: u64) {}
}

impl FetchObserver for () {}

/// How datasets are fetched.
#[derive(Debug, Clone, Default)]
pub struct Fetch {
    mirror: Option<String>,
    force: bool,
    limits: TimeLimits,
}

/// Where a dataset is after it was fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fetched {
    /// It existed before.
    Here(PathBuf),
    /// A file was fetched; its size in bytes.
    New(PathBuf, u64),
}

/// A problem with a download.
#[derive(Debug)]
enum Trouble {
    /// Another attempt may succeed.
    Passing(String),
    /// Another attempt would fail as well.
    Lasting(String),
    /// A problem of this machine.
    Here(Error),
}

/// `Origin`, or its mirror.
enum Address {
    Folder(String),
    Archive(String),
}

impl Fetch {
    /// From the origin of each dataset.
    pub fn from_origin() -> Fetch {
        Fetch::default()
    }

    /// From a mirror: `FOLDER/FILE`, or `FOLDER.zip` of what comes as an archive, below this address, where the folder is
    /// mostly the dataset's name. A mirror may speak
    /// plain http, since what it sends is checked; archives without checksums should have a mirror that is trusted.
    pub fn from_mirror(address: &str) -> Result<Fetch> {
        let host = address.strip_prefix("https://").or(address.strip_prefix("http://")).unwrap_or_default();
        if host.is_empty() || host.starts_with('/') || address.contains(char::is_whitespace) {
            return Err(Error::setting(MIRROR, address, "expected an address that starts with https:// or http://"));
        }
        Ok(Fetch { mirror: Some(format!("{}/", address.trim_end_matches('/'))), ..Fetch::default() })
    }

    /// From the mirror that `NIGH_ORIGIN` names, else from the origin.
    pub fn from_environment() -> Result<Fetch> {
        match std::env::var_os(MIRROR).filter(|address| !address.is_empty()) {
            Some(address) => Fetch::from_mirror(&address.to_string_lossy()),
            None => Ok(Fetch::from_origin()),
        }
    }

    /// Downloads files again that exist already.
    pub fn again(self) -> Fetch {
        Fetch { force: true, ..self }
    }

    /// Where a dataset is fetched from; `None` if its files are published in no format that is read.
    pub fn address(&self, known: impl Into<Published>) -> Option<String> {
        self.source(known.into()).map(|source| match source {
            Address::Folder(address) | Address::Archive(address) => address,
        })
    }

    fn source(&self, known: Published) -> Option<Address> {
        Some(match (&self.mirror, known.origin) {
            (None, Origin::Folder(address)) => Address::Folder(address.to_string()),
            (None, Origin::Archive(address)) => Address::Archive(address.to_string()),
            (None, Origin::Converted(_)) => return None,
            (Some(mirror), Origin::Archive(_)) => Address::Archive(format!("{mirror}{}.zip", known.folder)),
            (Some(mirror), _) => Address::Folder(format!("{mirror}{}/", known.folder)),
        })
    }

    /// Fetches a dataset into the target folder, unless one of the folders has it. Several processes may try at once:
    /// one downloads, the others wait and then find the files.
    pub fn run(
        &self,
        known: impl Into<Published>,
        folders: &Folders,
        observer: &mut dyn FetchObserver,
    ) -> Result<Fetched> {
        let known = known.into();
        if let Some(folder) = self.here(known, folders) {
            return Ok(Fetched::Here(folder));
        }
        let name = known.name;
        let Some(source) = self.source(known) else {
            return folders.require(known).map(Fetched::Here);
        };
        let root = folders.target().ok_or_else(|| Error::NoDataFolder { name: name.to_string() })?;
        std::fs::create_dir_all(root).map_err(Error::io(root))?;
        let _lock = Lock::take(&root.join(format!("{name}.lock")), || {
            observer.note(&format!("{name} is being fetched by another process; waiting for it"));
        })?;
        if let Some(folder) = self.here(known, folders) {
            return Ok(Fetched::Here(folder));
        }
        let (Address::Folder(address) | Address::Archive(address)) = &source;
        let fetching = Fetching {
            fetch: self,
            known,
            agent: self.limits.agent(address),
            folder: root.join(known.folder),
            observer,
        };
        let folder = fetching.folder.clone();
        let result = match source {
            Address::Folder(address) => fetching.files(&address),
            Address::Archive(address) => fetching.archive(&address, root),
        };
        let bytes = result.inspect_err(|_| {
            // Only if it is empty: complete and partial files are for the next run.
            let _ = std::fs::remove_dir(&folder);
        })?;
        if let Some(first) = folders.find(known).filter(|first| *first != folder) {
            observer.note(&format!("{} is looked at first and has other files of {name}", first.display()));
        }
        Ok(Fetched::New(folder, bytes))
    }

    /// The folder that has the dataset, as far as names and lengths tell.
    fn here(&self, known: Published, folders: &Folders) -> Option<PathBuf> {
        let whole = |folder: &PathBuf| known.files.iter().all(|file| has_length(&folder.join(file.name), file.bytes));
        folders.find(known).filter(|folder| !self.force && whole(folder))
    }
}

/// The download of one dataset.
struct Fetching<'a> {
    fetch: &'a Fetch,
    known: Published,
    agent: Agent,
    folder: PathBuf,
    observer: &'a mut dyn FetchObserver,
}

impl Fetching<'_> {
    /// File by file.
    fn files(mut self, address: &str) -> Result<u64> {
        std::fs::create_dir_all(&self.folder).map_err(Error::io(&self.folder))?;
        let mut bytes = 0;
        for file in self.known.files {
            // An interrupted run may have completed this file.
            if self.fetch.force || !has_length(&self.folder.join(file.name), file.bytes) {
                self.file(&format!("{address}{}", file.name), file)?;
                bytes += file.bytes;
            }
        }
        Ok(bytes)
    }

    fn file(&mut self, address: &str, file: &DatasetFile) -> Result<()> {
        let place = self.folder.join(file.name);
        let partial = atomic::beside(&place, "partial");
        let download = Download {
            address,
            name: file.name,
            partial: &partial,
            length: Some(file.bytes),
            limit: file.bytes,
            remedy: format!("by hand, put the file at {}", place.display()),
        };
        loop {
            let resumed = download.run(&self.agent, &self.fetch.limits, self.observer)?;
            let checksum = checksum(&partial).map_err(Error::io(&partial))?;
            if checksum == file.sha256 {
                break;
            }
            std::fs::remove_file(&partial).map_err(Error::io(&partial))?;
            if !resumed {
                return Err(download.error(wrong_checksum(&checksum, file)));
            }
            // The bytes of an earlier run may be those of another file, or of a disk that lost power.
            self.observer.note(&format!("{}: what an earlier run left does not fit; starting over", file.name));
        }
        std::fs::rename(&partial, &place).map_err(Error::io(&place))?;
        self.observer.finished(file.name, file.bytes);
        Ok(())
    }

    /// As one archive, which is removed when its files are in place.
    fn archive(self, address: &str, root: &Path) -> Result<u64> {
        let name = format!("{}.zip", self.known.name);
        let partial = root.join(format!("{name}.partial"));
        let unpacked = root.join(format!("{}.unpacked", self.known.name));
        let first = self.known.files.first().map_or(LAST, |file| file.name);
        let download = Download {
            address,
            name: &name,
            partial: &partial,
            length: None,
            limit: LIMIT,
            remedy: format!("by hand, unpack it so that {} is there", self.folder.join(first).display()),
        };
        if self.known.files.is_empty() {
            let name = self.known.name;
            self.observer.note(&format!("no checksums of {name} are known; its counts are checked when it is read"));
        }
        let remove = |path: &Path| if path.is_dir() { std::fs::remove_dir_all(path) } else { Ok(()) };
        let files = loop {
            let resumed = download.run(&self.agent, &self.fetch.limits, self.observer)?;
            // Left by a process that was killed while it unpacked.
            remove(&unpacked).map_err(Error::io(&unpacked))?;
            let problem = match unpack::unpack(&partial, self.known, &unpacked, self.observer) {
                Ok(files) => break files,
                Err(Trouble::Here(error)) => {
                    let _ = remove(&unpacked);
                    return Err(error);
                }
                Err(Trouble::Passing(problem) | Trouble::Lasting(problem)) => problem,
            };
            let _ = remove(&unpacked);
            std::fs::remove_file(&partial).map_err(Error::io(&partial))?;
            if !resumed {
                return Err(download.error(problem));
            }
            self.observer.note(&format!("{name}: what an earlier run left does not fit ({problem}); starting over"));
        };
        for (file, bytes) in &files {
            let place = self.folder.join(file);
            if let Some(parent) = place.parent() {
                std::fs::create_dir_all(parent).map_err(Error::io(parent))?;
            }
            std::fs::rename(unpacked.join(file), &place).map_err(Error::io(&place))?;
            self.observer.finished(file, *bytes);
        }
        let _ = remove(&unpacked);
        let _ = std::fs::remove_file(&partial);
        Ok(files.iter().map(|file| file.1).sum())
    }
}

fn has_length(path: &Path, bytes: u64) -> bool {
    path.metadata().is_ok_and(|about| about.is_file() && about.len() == bytes)
}

fn wrong_checksum(got: &str, file: &DatasetFile) -> String {
    format!("its sha256 is {got}, expected {}; it was not kept", file.sha256)
}

/// The sha256 of a file of any length.
fn checksum(path: &Path) -> std::io::Result<String> {
    let mut file = std::fs::File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&hash.finalize())),
            count => hash.update(&buffer[..count]),
        }
    }
}
