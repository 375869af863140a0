//! Large pages for large buffers.

/// Asks the system to back a buffer with large pages; best before it is first written. Memory that is touched all over
/// is then found without a walk through the page table, which otherwise takes longer than the memory itself.
pub fn prefer_large_pages<T>(buffer: &mut [T]) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        let range = buffer.as_mut_ptr_range();
        let start = (range.start as usize).next_multiple_of(PAGE);
        let length = (range.end as usize).saturating_sub(start) / PAGE * PAGE;
        if length >= 4 << 20 {
            // SAFETY: whole pages of a buffer that we hold; the advice changes no content, and may be refused.
            unsafe { libc::madvise(start as *mut libc::c_void, length, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = buffer;
}
