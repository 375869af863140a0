//! Extraction of the needed files from the archive of a dataset.

use super::{FetchObserver, LIMIT, Trouble, wrong_checksum};
use crate::atomic;
use crate::digest::hex;
use crate::error::Error;
use crate::published::{DatasetFile, LAST, Published};
use sha2::{Digest, Sha256};
use std::io::{BufReader, Read, Write};
use std::path::Path;
use zip::ZipArchive;

type Result<T> = std::result::Result<T, Trouble>;

/// A member that grows more than this, beyond `GROWTH_FREE`, is a bomb.
const GROWTH: u64 = 1000;
const GROWTH_FREE: u64 = 1 << 20;

/// A member to be extracted, and its path.
struct Member {
    index: usize,
    place: String,
    /// Its expected length and checksum, if known.
    file: Option<&'static DatasetFile>,
}

/// Unpacks what the reader needs into a new folder. Returns names and lengths, in the order in which they should be put
/// in place.
pub(super) fn unpack(
    archive: &Path,
    known: Published,
    into: &Path,
    observer: &mut dyn FetchObserver,
) -> Result<Vec<(String, u64)>> {
    let file = std::fs::File::open(archive).map_err(|error| Trouble::Here(Error::io(archive)(error)))?;
    let mut zip = ZipArchive::new(BufReader::new(file))
        .map_err(|error| Trouble::Lasting(format!("is not a readable zip archive: {error}")))?;
    if zip.has_duplicate_names() {
        return Err(Trouble::Lasting("it holds two members of the same name".into()));
    }
    let members = choose(&zip, known)?;
    let mut left = LIMIT;
    let mut files = Vec::new();
    for member in members {
        let bytes = extract(&mut zip, &member, left, into, observer)?;
        left -= bytes;
        files.push((member.place, bytes));
    }
    Ok(files)
}

/// The members that are needed. If one would leave the folder, none is extracted.
fn choose(zip: &ZipArchive<BufReader<std::fs::File>>, known: Published) -> Result<Vec<Member>> {
    let mut members: Vec<Member> = Vec::new();
    for index in 0..zip.len() {
        let name = match zip.name_for_index(index) {
            Some(Ok(name)) => name.into_owned(),
            _ => return Err(Trouble::Lasting(format!("member {index} has no readable name"))),
        };
        let inside = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\\', ':', '\0']);
        if !name.strip_suffix('/').unwrap_or(&name).split('/').all(inside) {
            return Err(Trouble::Lasting(format!("its member `{name}` would leave the folder; nothing was unpacked")));
        }
        // Most archives have one folder on top, whose name is of no interest.
        let below = name.split_once('/').map_or("", |(_, below)| below);
        let wanted = |place: &str| match known.files {
            [] => needed(place).then_some(None),
            files => files.iter().find(|file| file.name == place).map(Some),
        };
        let Some((place, file)) = [&name[..], below].iter().find_map(|&place| Some((place, wanted(place)?))) else {
            continue;
        };
        if members.iter().any(|member| member.place == place) {
            return Err(Trouble::Lasting(format!("it holds `{place}` twice")));
        }
        members.push(Member { index, place: place.to_string(), file });
    }
    let has = |place: &str| members.iter().any(|member| member.place == place);
    let missing = match known.files {
        [] => REQUIRED.iter().copied().find(|place| !has(place)).or(SPLIT.iter().copied().find(|end| {
            !members.iter().any(|member| member.place.starts_with("split/") && member.place.ends_with(end))
        })),
        files => files.iter().map(|file| file.name).find(|place| !has(place)),
    };
    if let Some(missing) = missing {
        return Err(Trouble::Lasting(format!("it does not hold `{missing}`")));
    }
    members.sort_by_key(|member| member.place == LAST);
    Ok(members)
}

/// Without a list of files: those that `ogb` reads. The training part repeats the edges and is not needed.
fn needed(place: &str) -> bool {
    let name = place.rsplit('/').next().unwrap_or_default();
    let visible = !name.is_empty() && !name.starts_with('.');
    visible && (place.starts_with("raw/") || place.starts_with("split/") && name != "train.pt")
}

/// Without a list of files: those that are required.
const REQUIRED: [&str; 3] = [LAST, "raw/num-node-list.csv.gz", "raw/num-edge-list.csv.gz"];
const SPLIT: [&str; 2] = ["/valid.pt", "/test.pt"];

/// Writes one member, at most `left` bytes.
fn extract(
    zip: &mut ZipArchive<BufReader<std::fs::File>>,
    member: &Member,
    left: u64,
    into: &Path,
    observer: &mut dyn FetchObserver,
) -> Result<u64> {
    let Member { index, place, file } = member;
    let wrong = |problem: String| Trouble::Lasting(format!("its member `{place}` {problem}"));
    let mut entry = zip.by_index(*index).map_err(|error| wrong(format!("can't be unpacked: {error}")))?;
    let (packed, length) = (entry.compressed_size(), entry.size());
    if !entry.is_file() {
        return Err(wrong("is not a file".into()));
    }
    if let Some(file) = file.filter(|file| file.bytes != length) {
        return Err(wrong(format!("is {length} bytes long, expected {}", file.bytes)));
    }
    if length > left {
        return Err(wrong(format!("is {length} bytes long, more than the {left} that are left of {LIMIT}")));
    }
    if length > packed.saturating_mul(GROWTH).saturating_add(GROWTH_FREE) {
        return Err(wrong(format!("claims to unpack {packed} bytes into {length}; that is a zip bomb")));
    }
    let path = into.join(place);
    let here = |error| Trouble::Here(Error::io(&path)(error));
    std::fs::create_dir_all(path.parent().unwrap_or(into)).map_err(here)?;
    let mut out = atomic::create_afresh(&path).map_err(here)?;
    let (mut hash, mut buffer, mut written) = (Sha256::new(), vec![0; 1 << 16], 0);
    loop {
        observer.progress(place, written, Some(length));
        // At the end of the member its own checksum is compared.
        let count = entry.read(&mut buffer).map_err(|error| wrong(format!("can't be unpacked: {error}")))?;
        if count == 0 {
            break;
        }
        written += count as u64;
        if written > length {
            return Err(wrong(format!("continues after the {length} bytes that it claims")));
        }
        hash.update(&buffer[..count]);
        out.write_all(&buffer[..count]).map_err(here)?;
    }
    if written < length {
        return Err(wrong(format!("ends after {written} of {length} bytes")));
    }
    if let Some(file) = file {
        let checksum = hex(&hash.finalize());
        if checksum != file.sha256 {
            return Err(wrong(format!("is not the expected one: {}", wrong_checksum(&checksum, file))));
        }
    }
    out.sync_all().map_err(here)?;
    Ok(length)
}
