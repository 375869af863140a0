//! How much memory something takes.

/// The most memory that this process holds.
#[derive(Debug)]
pub struct Peak(());

impl Peak {
    /// Since the process began, or was last watched.
    pub fn so_far() -> Peak {
        Peak(())
    }

    /// From now on. Where the system keeps no mark that can be set back, all that went before counts as well.
    pub fn watch() -> Peak {
        // SAFETY: it gives free memory back to the system, which would otherwise count as held.
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        unsafe {
            libc::malloc_trim(0)
        };
        // Five sets the mark back to what is held now.
        #[cfg(target_os = "linux")]
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        Peak(())
    }

    /// The mark, in bytes, if the system keeps one.
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
    fn what_is_held_is_seen() {
        // Other tests may set the mark back meanwhile, but not below what is held.
        let peak = Peak::watch();
        let block = std::hint::black_box(vec![1u8; 256 << 20]);
        assert!(peak.bytes().unwrap() >= block.len() as u64);
    }
}
