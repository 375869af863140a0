//! A limit of memory, as users write it.

use crate::error::Error;
use std::fmt;
use std::fs;
use std::path::Path;
use std::str::FromStr;

/// Bytes of memory that a run may take: `8GiB`, `500MB`, `2G` or a number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Memory {
    bytes: usize,
}

/// Units and their size; the short ones are those of 1024, as other programs have them.
const UNITS: &[(&str, f64)] = &[
    ("KiB", 1024.0),
    ("MiB", 1048576.0),
    ("GiB", 1073741824.0),
    ("TiB", 1099511627776.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("K", 1024.0),
    ("M", 1048576.0),
    ("G", 1073741824.0),
    ("T", 1099511627776.0),
    ("B", 1.0),
];

impl Memory {
    /// An error for a run that needs at least `least`, more than this limit, with what to do.
    pub fn too_little(self, least: Memory, remedy: &str) -> Error {
        Error::setting("memory", self, format!("this run takes {least} at least; {remedy}"))
    }

    /// So many bytes.
    pub fn new(bytes: usize) -> Memory {
        Memory { bytes }
    }

    /// What this process may still take, where the system says so: of the machine, and of its control groups.
    pub fn available() -> Option<Memory> {
        let meminfo = fs::read_to_string("/proc/meminfo").ok()?;
        let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        let machine = line.trim().strip_suffix(" kB")?.parse::<usize>().ok()? * 1024;
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let group = left_in_groups(Path::new("/sys/fs/cgroup"), &groups).unwrap_or(usize::MAX);
        Some(Memory { bytes: machine.min(group) })
    }

    /// In bytes.
    pub fn bytes(self) -> usize {
        self.bytes
    }
}

/// The files of a control group, of the first and the second version: where it is mounted, its limit, what is used, and the entry of
/// `memory.stat` for pages of files that the system takes back first.
const GROUP_FILES: [(&str, &str, &str, &str); 2] = [
    ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ("", "memory.max", "memory.current", "inactive_file"),
];

/// What the limits of a process's control groups leave, if there are any. `groups` is `/proc/self/cgroup`. A group is bound by those above it
/// as well; inside a container its own may be mounted as the root.
fn left_in_groups(root: &Path, groups: &str) -> Option<usize> {
    let mut left = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else { continue };
        let version = GROUP_FILES.iter().find(|files| controllers.split(',').any(|name| name == files.0));
        let Some(&(mount, limit, used, inactive)) = version else { continue };
        let (mount, group) = (root.join(mount), Path::new(group.trim_start_matches('/')));
        for folder in group.ancestors().map(|above| mount.join(above)) {
            let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
            // The limit is `max` where there is none.
            let Ok(limit) = read(limit).trim().parse::<usize>() else { continue };
            let stat = read("memory.stat");
            let inactive = stat.lines().find_map(|line| line.strip_prefix(inactive)?.trim().parse().ok()).unwrap_or(0);
            let used = read(used).trim().parse::<usize>().unwrap_or(0).saturating_sub(inactive);
            left.push(limit.saturating_sub(used));
        }
    }
    left.into_iter().min()
}

impl FromStr for Memory {
    type Err = String;

    fn from_str(text: &str) -> Result<Memory, String> {
        let lower = text.trim().to_lowercase();
        let unit = UNITS.iter().find_map(|(unit, size)| Some((lower.strip_suffix(&unit.to_lowercase())?, *size)));
        let (number, size) = unit.unwrap_or((&lower, 1.0));
        let bytes = number.trim().parse::<f64>().ok().map(|number| number * size);
        match bytes.filter(|bytes| (1.0..=9e15).contains(bytes)) {
            Some(bytes) => Ok(Memory { bytes: bytes as usize }),
            None => Err("expected a size of memory such as 8GiB or 500MB".into()),
        }
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.bytes as f64;
        let (unit, size) = UNITS[..4].iter().rev().find(|unit| bytes >= unit.1).copied().unwrap_or(("B", 1.0));
        let value = bytes / size;
        if value.fract() == 0.0 { write!(f, "{value} {unit}") } else { write!(f, "{value:.1} {unit}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tightest_control_group_counts() {
        let root = tempfile::tempdir().unwrap();
        let group = |folder: &str, files: &[(&str, &str)]| {
            let folder = root.path().join(folder);
            fs::create_dir_all(&folder).unwrap();
            files.iter().for_each(|(name, text)| fs::write(folder.join(name), text).unwrap());
        };
        group(
            "jobs",
            &[("memory.max", "8000\n"), ("memory.current", "3000\n"), ("memory.stat", "inactive_file 500\n")],
        );
        group("jobs/one", &[("memory.max", "max\n"), ("memory.current", "2000\n")]);
        group("memory/old", &[("memory.limit_in_bytes", "7000\n"), ("memory.usage_in_bytes", "1000\n")]);
        assert_eq!(left_in_groups(root.path(), "0::/jobs/one\n"), Some(5500));
        assert_eq!(left_in_groups(root.path(), "4:memory:/old\n3:cpuset:/\n"), Some(6000));
        assert_eq!(left_in_groups(root.path(), "4:cpu,memory:/old\n0::/jobs/one\n"), Some(5500));
        assert_eq!(left_in_groups(root.path(), "0::/elsewhere\n"), None);
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in
            [("8GiB", 8 << 30), ("8 gib", 8 << 30), ("2G", 2 << 30), ("500MB", 500_000_000), ("1.5k", 1536), ("64", 64)]
        {
            assert_eq!(text.parse::<Memory>().unwrap().bytes(), bytes, "{text}");
        }
        for text in ["", "GiB", "-1GiB", "8 bytes", "NaN", "inf", "0", "1e30"] {
            assert!(text.parse::<Memory>().is_err(), "{text}");
        }
        for (bytes, text) in [(8 << 30, "8 GiB"), (1 << 29, "512 MiB"), (1_500_000, "1.4 MiB"), (7, "7 B")] {
            assert_eq!(Memory::new(bytes).to_string(), text);
        }
    }
}
