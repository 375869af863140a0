//! Hints to the memory about what is read soon. Without effect on machines other than x86.

/// Prefetches `count` entries from `start` on, into the nearest cache.
#[inline(always)]
pub(crate) fn prefetch<T>(entries: &[T], start: usize, count: usize) {
    #[cfg(all(target_arch = "x86_64", not(nigh_portable)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let mut at = 0;
        while at < count {
            // SAFETY: a hint, which reads nothing and may name any address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(entries.as_ptr().wrapping_add(start + at).cast()) };
            at += 64 / size_of::<T>();
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(nigh_portable))))]
    let _ = (entries, start, count);
}

/// Prefetches the cache line at the start of a slice, into the second cache.
#[inline(always)]
pub(crate) fn prefetch_line(line: &[f32]) {
    #[cfg(all(target_arch = "x86_64", not(nigh_portable)))]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: a hint, which reads nothing and may name any address.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(line.as_ptr().cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(nigh_portable))))]
    let _ = line;
}
