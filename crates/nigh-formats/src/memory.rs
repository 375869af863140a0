//! How much memory is left, and allocations that end in an error where there is too little of it. A failed allocation ends the whole
//! process, and with it that of a user of Python; so what is as large as a file or a caller says is checked or allocated here.

use crate::interrupt::{self, Stopped};
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Something that does not fit into memory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} would take {} of memory, {}", byte_size(*bytes), left_in_words(*left))]
pub struct TooLarge {
    /// What it is, with its shape.
    pub what: String,
    /// Bytes that it takes.
    pub bytes: u64,
    /// Bytes that are left, where the system says so.
    pub left: Option<u64>,
}

fn left_in_words(left: Option<u64>) -> String {
    left.map_or("which the system refuses".into(), |left| format!("and {} are left", byte_size(left)))
}

/// Smaller pieces are left to the system: to look takes about as long as to fill some MiB.
const LOOKED_AT: u64 = 32 << 20;

/// What stays free for all that is small.
const RESERVE: u64 = 16 << 20;

/// Whether so many bytes are left. `what` has its shape in words, such as `a matrix of 3 × 7`.
pub fn check(bytes: u64, what: impl FnOnce() -> String) -> Result<(), TooLarge> {
    if bytes < LOOKED_AT {
        return Ok(());
    }
    match left() {
        Some(left) if bytes > left.saturating_sub(RESERVE) => Err(TooLarge { what: what(), bytes, left: Some(left) }),
        _ => Ok(()),
    }
}

/// An empty vector with room for `count` items.
pub fn vector<T>(count: usize, what: impl FnOnce() -> String) -> Result<Vec<T>, TooLarge> {
    let bytes = (count as u64).saturating_mul(size_of::<T>() as u64);
    let mut what = Some(what);
    let mut shape = || what.take().map(|what| what()).unwrap_or_default();
    check(bytes, &mut shape)?;
    let mut items = Vec::new();
    match items.try_reserve_exact(count) {
        Ok(()) => Ok(items),
        Err(_) => Err(TooLarge { what: shape(), bytes, left: left().filter(|left| *left < bytes) }),
    }
}

/// `count` times `value`.
pub fn filled<T: Clone>(count: usize, value: T, what: impl FnOnce() -> String) -> Result<Vec<T>, TooLarge> {
    let mut items = vector(count, what)?;
    items.resize(count, value);
    Ok(items)
}

/// The result, or the end of the work: as after an interruption the stack unwinds to [`interrupt::catch`], which returns the error.
pub fn or_stop<T>(result: Result<T, TooLarge>) -> T {
    result.unwrap_or_else(|error| interrupt::stop(Stopped::TooLarge(error)))
}

/// Something that grows while it is read, on any number of threads.
#[derive(Debug)]
pub struct Growth {
    what: String,
    /// What it takes until it is done, as a multiple of what it takes now.
    ahead: f64,
    bytes: AtomicU64,
    next: AtomicU64,
}

impl Growth {
    /// A vector that is full moves to one of twice the length: then `ahead` is 2.
    pub fn new(what: impl Into<String>, ahead: f64) -> Growth {
        Growth { what: what.into(), ahead, bytes: AtomicU64::new(0), next: AtomicU64::new(LOOKED_AT) }
    }

    /// So many bytes more. An error if too little is left for what is ahead.
    pub fn add(&self, bytes: u64) -> Result<(), TooLarge> {
        let now = self.bytes.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        if now < self.next.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.next.store(now + LOOKED_AT, Ordering::Relaxed);
        let ahead = (now as f64 * self.ahead) as u64;
        check(ahead, String::new).map_err(|error| {
            let what = format!("{}, of which {} are read so far,", self.what, byte_size(now));
            TooLarge { what, bytes: now + ahead, ..error }
        })
    }
}

/// A source whose content is kept in memory in some form.
#[derive(Debug)]
pub struct KeptRead<R> {
    source: R,
    growth: Growth,
}

impl<R: Read> KeptRead<R> {
    /// `ahead` is what its content takes until it is done, as a multiple of what was read so far.
    pub fn new(source: R, ahead: f64) -> KeptRead<R> {
        KeptRead { source, growth: Growth::new("its content", ahead) }
    }
}

impl<R: Read> Read for KeptRead<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.growth.add(count as u64).map_err(io::Error::other)?;
        Ok(count)
    }
}

/// Advises the system to back a buffer with large pages; best before it is first written. Random accesses then miss the TLB
/// far less often, and a miss takes longer than the memory access itself.
pub fn prefer_large_pages<T>(buffer: &mut [T]) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        let range = buffer.as_mut_ptr_range();
        let start = (range.start as usize).next_multiple_of(PAGE);
        let length = (range.end as usize).saturating_sub(start) / PAGE * PAGE;
        if length >= 4 << 20 {
            // SAFETY: whole pages of a buffer that we borrow; the advice changes no content, and the system may ignore it.
            unsafe { libc::madvise(start as *mut libc::c_void, length, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = buffer;
}

/// What this process may still take, where the system says so: of the machine, of its control groups and by the limits of the process.
pub fn left() -> Option<u64> {
    let meminfo = fs::read_to_string("/proc/meminfo").ok()?;
    let machine = kilobytes(&meminfo, "MemAvailable:")?;
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let group = left_in_groups(Path::new("/sys/fs/cgroup"), &groups);
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    [group, left_in_limits(&limits, &status)].into_iter().flatten().chain([machine]).min()
}

/// The entry of a table of the system, in bytes.
fn kilobytes(table: &str, name: &str) -> Option<u64> {
    let line = table.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

/// What the limits of a process (`ulimit -v` and `-d`) leave, if there are any.
fn left_in_limits(limits: &str, status: &str) -> Option<u64> {
    let left = |(limit, used): (&str, &str)| {
        let line = limits.lines().find_map(|line| line.strip_prefix(limit))?;
        let limit: u64 = line.split_whitespace().next()?.parse().ok()?;
        Some(limit.saturating_sub(kilobytes(status, used)?))
    };
    [("Max address space", "VmSize:"), ("Max data size", "VmData:")].into_iter().filter_map(left).min()
}

/// The files of a control group, of the first and the second version: where it is mounted, its limit, what is used, and the entry of
/// `memory.stat` for pages of files that the system takes back first.
const GROUP_FILES: [(&str, &str, &str, &str); 2] = [
    ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ("", "memory.max", "memory.current", "inactive_file"),
];

/// What the limits of a process's control groups leave, if there are any. `groups` is `/proc/self/cgroup`. A group is bound by those above it
/// as well; inside a container its own may be mounted as the root.
fn left_in_groups(root: &Path, groups: &str) -> Option<u64> {
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
            let Ok(limit) = read(limit).trim().parse::<u64>() else { continue };
            let stat = read("memory.stat");
            let inactive = stat.lines().find_map(|line| line.strip_prefix(inactive)?.trim().parse().ok()).unwrap_or(0);
            let used = read(used).trim().parse::<u64>().unwrap_or(0).saturating_sub(inactive);
            left.push(limit.saturating_sub(used));
        }
    }
    left.into_iter().min()
}

/// `999 B`, `1.5 kB`, `199 kB`, `12.8 MB`.
pub fn byte_size(bytes: u64) -> String {
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    // 999.9 would be shown as 1000.
    let step = (1..6).find(|&step| (bytes as f64) < 999.5 * 1e3f64.powi(step)).unwrap_or(6);
    let (value, unit) = (bytes as f64 / 1e3f64.powi(step), ["", "kB", "MB", "GB", "TB", "PB", "EB"][step as usize]);
    if value < 99.95 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_an_error_with_its_shape_and_size() {
        let error = vector::<u64>(1 << 50, || "offsets of 2^50 columns".into()).unwrap_err().to_string();
        assert!(error.starts_with("offsets of 2^50 columns would take 9.0 PB of memory, "), "{error}");
        let error = filled(usize::MAX, 0u64, || "all".into()).unwrap_err();
        assert_eq!(error.bytes, u64::MAX);
        assert_eq!(filled(3, 7, String::new).unwrap(), [7, 7, 7]);
        let caught = interrupt::catch(|| or_stop(vector::<u8>(usize::MAX, || "all".into())));
        assert!(matches!(caught, Err(Stopped::TooLarge(error)) if error.what == "all"));
    }

    #[test]
    fn what_grows_is_stopped_before_it_has_grown_too_far() {
        let Some(free) = left() else { return };
        let growth = Growth::new("edges of x", 2.0);
        assert!(growth.add(LOOKED_AT - 1).is_ok());
        // Claimed and not taken: a third is here, and two thirds are ahead.
        let error = growth.add(free / 2).unwrap_err().to_string();
        assert!(error.starts_with("edges of x, of which ") && error.contains("are left"), "{error}");
    }

    #[test]
    fn limits_of_the_process_count() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max data size             unlimited            unlimited            bytes     \n\
                      Max address space         1000000              unlimited            bytes     \n";
        assert_eq!(
            left_in_limits(limits, "VmPeak:\t     700 kB\nVmSize:\t     500 kB\n"),
            Some(1_000_000 - 500 * 1024)
        );
        assert_eq!(left_in_limits(limits, ""), None);
        assert_eq!(left_in_limits("", "VmSize:\t 500 kB\n"), None);
    }

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
    fn sizes_have_three_digits() {
        let sizes = [(0, "0 B"), (999, "999 B"), (1_500, "1.5 kB"), (199_235, "199 kB"), (12_835_626, "12.8 MB")];
        sizes.iter().for_each(|&(bytes, text)| assert_eq!(byte_size(bytes), text));
        let edges = [(99_960, "100 kB"), (999_700, "1.0 MB"), (8 << 30, "8.6 GB"), (3 << 40, "3.3 TB")];
        edges.iter().for_each(|&(bytes, text)| assert_eq!(byte_size(bytes), text));
    }
}
