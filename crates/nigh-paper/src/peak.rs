//! Peak memory of the process.

/// The peak memory of this process.
#[derive(Debug)]
pub struct Peak(());

impl Peak {
    /// Since the process started, or since the last `watch`.
    pub fn so_far() -> Peak {
        Peak(())
    }

    /// From now on. Where the system cannot reset the peak, earlier use counts as well.
    pub fn watch() -> Peak {
        // SAFETY: malloc_trim takes no pointers; it returns free memory to the system, which would otherwise count as used.
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        unsafe {
            libc::malloc_trim(0)
        };
        // 5 resets the peak to the current use.
        #[cfg(target_os = "linux")]
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        Peak(())
    }

    /// The peak in bytes, if the system records it.
    pub fn bytes(&self) -> Option<u64> {
        #[cfg(target_os = "linux")]
        {
            let status = std::fs::read_to_string("/proc/self/status").ok()?;
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
            line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
        }
        #[cfg(all(unix, not(target_os = "linux")))]
        {
            let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
            // SAFETY: getrusage fills the structure it is given, and zeroed memory is a valid one.
            let usage = unsafe {
                if libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) != 0 {
                    return None;
                }
                usage.assume_init()
            };
            // macOS counts in bytes, others in KiB.
            let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
            u64::try_from(usage.ru_maxrss).ok().map(|peak| peak * unit)
        }
        #[cfg(not(unix))]
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_peak_includes_memory_in_use() {
        // Other tests may reset the peak meanwhile, but not below the current use.
        let peak = Peak::watch();
        let block = std::hint::black_box(vec![1u8; 256 << 20]);
        assert!(peak.bytes().unwrap() >= block.len() as u64);
    }
}
