//! How much memory something takes.

/// The most memory that this process holds from now on.
#[derive(Debug)]
pub struct Peak(());

impl Peak {
    /// Begins to watch. Where the system keeps no such mark, or lets nobody move it, all that went before counts as well.
    pub fn watch() -> Peak {
        // Five sets the mark back to what is held now.
        #[cfg(target_os = "linux")]
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        Peak(())
    }

    /// The mark, in bytes.
    pub fn bytes(&self) -> Option<u64> {
        #[cfg(target_os = "linux")]
        {
            let status = std::fs::read_to_string("/proc/self/status").ok()?;
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
            line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
        }
        #[cfg(not(target_os = "linux"))]
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_from_now_on_is_seen() {
        let peak = Peak::watch();
        let before = peak.bytes().unwrap();
        let block = std::hint::black_box(vec![1u8; 256 << 20]);
        assert!(peak.bytes().unwrap() >= before + (200 << 20), "{}", block.len());
    }
}
